//! An engine allocates nothing once it is made, neither on the CPU nor, as far as the
//! host's memory goes, on a device.

use crate::{alone, asked, most_held};
use placefield::Real;
use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::cpu::engine::CpuEngine;
use placefield::engine::{
    Engine, EngineOptions, Evaluation, GradientOptions, Layout, MapKind, Pipeline,
};
use placefield::grid::{BinGrid, Map, Rect};

/// Many bodies of one size, one macro and fillers, on 128 × `ny` bins.
fn charge(ny: usize) -> Charge {
    charge_in(ny, 2.5, &[])
}

/// Returns such a charge in three regions, two of them fenced.
fn fenced(ny: usize) -> Charge {
    let [left, right] = [0.0, 270.0].map(|x| vec![Rect::at(x, 20.0, 130.0, 270.0)]);
    charge_in(ny, 0.5, &[left, right])
}

fn charge_in(ny: usize, width: f64, fences: &[Vec<Rect>]) -> Charge {
    let grid = BinGrid::new(Rect::at(0.0, 0.0, 400.0, 300.0), 128, ny).unwrap();
    let count = 40_000;
    let mut width = vec![width; count];
    width[7] = 90.0;
    let height = vec![3.0; count];
    let x: Vec<f64> = (0..count).map(|i| (i * 37 % 3970) as f64 / 10.0).collect();
    let y: Vec<f64> = (0..count).map(|i| (i * 53 % 2960) as f64 / 10.0).collect();
    let cells = Rectangles::movable(&width, &height, &x, &y);
    let mut charge = Charge::from_rectangles(grid, &cells, &ChargeOptions::default()).unwrap();
    let regions = fences.len() + 1;
    let region: Vec<u32> = (0..count).map(|i| (i % regions) as u32).collect();
    charge.set_fences(fences, &region).unwrap();
    for region in 0..regions {
        charge.add_fillers_in(region, 2.0, 3.0, &y, &y).unwrap();
    }
    charge
}

/// Allocations that the thread pool's own queue may make in a few iterations: it grows by blocks of
/// 1.5 kB, one for every 63 tasks, whatever the tasks are.
const QUEUES: usize = 2 * 1520;

/// Runs `iterate` and checks that it allocates nothing but the thread pool's own queue,
/// far less than any array of bodies or bins takes.
fn allocates_nothing(bodies: usize, what: &str, mut iterate: impl FnMut()) {
    assert!(QUEUES < bodies);
    // Memory that threads and stages keep is set up at first use.
    (0..3).for_each(|_| iterate());
    let bytes = asked(|| (0..5).for_each(|_| iterate()));
    assert!(bytes <= QUEUES, "{what}: {bytes} bytes in five iterations");
}

fn cpu<T: Real>() {
    let _alone = alone();
    for charge in [charge(100), fenced(100)] {
        cpu_of::<T>(&charge);
    }
}

fn cpu_of<T: Real>(charge: &Charge) {
    let [x, y] = [charge.initial_x(), charge.initial_y()].map(|v| crate::common::rounded::<T>(v));
    let weights = vec![0.5; charge.regions()];
    let mut regions = vec![Evaluation::default(); charge.regions()];
    for pipeline in Pipeline::ALL {
        let options = EngineOptions::default().threads(2).pipeline(pipeline);
        let mut engine = CpuEngine::<T>::new(charge.clone(), &options).unwrap();
        let positions = crate::common::pairs(&x, &y);
        let mut gradient = vec![T::zero(); positions.len()];
        allocates_nothing(x.len(), &format!("{pipeline} {}", T::PRECISION), || {
            let evaluation = engine.evaluate(&x, &y).unwrap();
            engine.read_regions(&mut regions).unwrap();
            let exact = engine.exact_density().unwrap();
            assert!(evaluation.energy > 0.0 && exact.max > 0.0);
            for layout in [Layout::Halves, Layout::Pairs] {
                engine.set_positions_in(layout, &positions).unwrap();
                engine.compute_density().unwrap();
                engine.solve(pipeline).unwrap();
                engine.compute_force().unwrap();
                let options = GradientOptions::default().layout(layout).accumulate(true);
                let options = options.region_weights(&weights);
                engine.write_gradient(&mut gradient, &options).unwrap();
            }
        });
    }
}

#[test]
fn iterations_on_the_cpu_allocate_nothing_f32() {
    cpu::<f32>();
}

#[test]
fn iterations_on_the_cpu_allocate_nothing_f64() {
    cpu::<f64>();
}

fn bytes_per_bin<T: Real>() {
    let _alone = alone();
    let grid = BinGrid::new(Rect::at(0.0, 0.0, 400.0, 300.0), 600, 500).unwrap();
    let one = [1.0];
    let mut most = 0;
    for pipeline in Pipeline::ALL {
        let held = most_held(|| {
            let cells = Rectangles::movable(&one, &one, &one, &one);
            let charge = Charge::from_rectangles(grid, &cells, &ChargeOptions::default()).unwrap();
            let options = EngineOptions::default().threads(2).pipeline(pipeline);
            let mut engine = CpuEngine::<T>::new(charge, &options).unwrap();
            engine.evaluate(&[T::one()], &[T::one()]).unwrap();
            engine.exact_density().unwrap();
            let maps = MapKind::ALL.map(|kind| {
                let mut map = Map::filled(grid.nx(), grid.ny(), T::zero());
                engine.read_map(kind, &mut map).unwrap();
                map
            });
            assert!(maps[0].as_slice().iter().any(|&v| v > T::zero()));
        });
        most = most.max(held.div_ceil(grid.bins()));
    }
    let said = CpuEngine::<T>::BYTES_PER_BIN;
    assert!(most <= said && most > said * 3 / 4, "{most} bytes per bin, expected about {said}");
}

#[test]
fn bytes_per_bin_are_what_an_evaluation_takes() {
    bytes_per_bin::<f32>();
    bytes_per_bin::<f64>();
}

/// A whole evaluation from the host, a step on the device alone, and reading it back.
#[cfg(feature = "cuda")]
fn cuda<T: placefield::cuda::CudaReal>() {
    let _alone = alone();
    // Sizes that every pipeline has kernels of its own for.
    for charge in [charge(64), fenced(64)] {
        cuda_of::<T>(&charge);
    }
}

#[cfg(feature = "cuda")]
fn cuda_of<T: placefield::cuda::CudaReal>(charge: &Charge) {
    let [x, y] = [charge.initial_x(), charge.initial_y()].map(|v| crate::common::rounded::<T>(v));
    let weights = vec![0.5; charge.regions()];
    let mut regions = vec![Evaluation::default(); charge.regions()];
    for pipeline in Pipeline::ALL {
        let options = EngineOptions::default().pipeline(pipeline);
        let mut engine =
            placefield::cuda::CudaEngine::<T>::new(charge.clone(), &options, 0).unwrap();
        let corners = engine.gpu().upload(&crate::common::pairs(&x, &y)).unwrap();
        let mut gradient = engine.gpu().zeros(corners.len()).unwrap();
        allocates_nothing(x.len(), &format!("{pipeline} {}", T::PRECISION), || {
            assert!(engine.evaluate(&x, &y).unwrap().energy > 0.0);
            engine.read_regions(&mut regions).unwrap();
            engine.enqueue_step().unwrap();
            for layout in [Layout::Halves, Layout::Pairs] {
                engine.enqueue_energy(layout, &corners).unwrap();
                let options = GradientOptions::default().layout(layout).accumulate(true);
                let options = options.region_weights(&weights);
                engine.enqueue_gradient(&options, None, &mut gradient).unwrap();
            }
            assert!(engine.read_evaluation().unwrap().energy > 0.0);
        });
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
#[cfg(feature = "cuda")]
fn iterations_on_a_device_allocate_nothing_f32() {
    cuda::<f32>();
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
#[cfg(feature = "cuda")]
fn iterations_on_a_device_allocate_nothing_f64() {
    cuda::<f64>();
}
