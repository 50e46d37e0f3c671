//! An engine on a device that goes on with a charge that has changed, against new ones there and
//! on the CPU.

use crate::common::bodies::mixed;
use crate::common::{relative_rms, wide};
use crate::device::{close, gpu, gpu_alone};
use crate::engine::positions;
use placefield::Precision;
use placefield::charge::Charge;
use placefield::cpu::engine::CpuEngine;
use placefield::cuda::{CudaEngine, CudaError, CudaReal, Gpu, interop};
use placefield::engine::{Engine, EngineError, EngineOptions, Layout, MapKind};
use placefield::grid::{BinGrid, Map};

const BINS: [usize; 2] = [64, 96];

/// Returns copies of the charge, each with one more change.
fn changes(first: &Charge) -> Vec<(&'static str, Charge)> {
    let grid = first.grid();
    let cells = first.movable();
    let mut charge = first.clone();
    let mut all = Vec::new();
    // Small cells become large ones, and large ones small.
    let factor = |i: usize| {
        if i.is_multiple_of(3) {
            1.6
        } else if i.is_multiple_of(7) {
            0.2
        } else {
            1.0
        }
    };
    let width: Vec<f64> = first.width().iter().enumerate().map(|(i, w)| w * factor(i)).collect();
    let height: Vec<f64> = first.height().iter().map(|h| h * 1.5).collect();
    charge.set_sizes(&width, &height).unwrap();
    all.push(("other sizes", charge.clone()));
    let stays: Vec<bool> = (0..cells).map(|i| i % 11 == 5).collect();
    let [x, y] = [charge.initial_x(), charge.initial_y()].map(|v| v[..cells].to_vec());
    charge.set_fixed_cells(&stays, &x, &y).unwrap();
    all.push(("cells that stay", charge.clone()));
    let bins = || (0..grid.bins()).map(|k| (k % 13) as f64 / 13.0);
    let taken = Map::from_vec(BINS[0], BINS[1], bins().map(|v| v * grid.bin_area()).collect());
    charge.set_blocked_area(Some(taken)).unwrap();
    all.push(("taken area", charge.clone()));
    let targets = Map::from_vec(BINS[0], BINS[1], bins().map(|v| 0.4 + 0.6 * v).collect());
    charge.set_target_densities(Some(targets)).unwrap();
    all.push(("target densities", charge.clone()));
    charge.refill().unwrap();
    assert_eq!(charge.fillers(), 0, "none were asked for");
    all.push(("no fillers", charge));
    all
}

fn goes_on<T: CudaReal>(gpu: &Gpu) {
    let first = mixed(BINS[0], BINS[1], 4000, 0.9);
    let options = EngineOptions::default();
    let mut engine = CudaEngine::<T>::on(gpu, first.clone(), &options).unwrap();
    let [x, y] = positions::<T>(&first, 0.0, 4);
    // Twice: the second one replays a graph, which must not outlive what it was made of.
    for _ in 0..2 {
        engine.evaluate(&x, &y).unwrap();
    }
    let bound = if T::PRECISION == Precision::F32 { 2e-6 } else { 1e-12 };
    for (what, charge) in changes(&first) {
        let what = format!("{what} {}", T::PRECISION);
        engine.set_charge(charge.clone().into()).unwrap();
        assert!(matches!(engine.enqueue_step(), Err(EngineError::OutOfOrder { .. })), "{what}");
        let [x, y] = positions::<T>(&charge, 20.0, 4);
        let mut fresh = CudaEngine::<T>::on(gpu, charge.clone(), &options).unwrap();
        let mut cpu = CpuEngine::<f64>::new(charge.clone(), &options).unwrap();
        let want = fresh.evaluate(&x, &y).unwrap();
        let on_cpu = cpu.evaluate(&wide(&x), &wide(&y)).unwrap();
        for turn in 0..2 {
            let found = engine.evaluate(&x, &y).unwrap();
            assert_eq!(found, want, "{what} {turn}");
        }
        close(&what, want.density.overflow, on_cpu.density.overflow, 20.0 * bound);
        close(&what, want.density.max, on_cpu.density.max, 20.0 * bound);
        close(&what, want.energy, on_cpu.energy, 4.0 * bound);
        let exact = engine.exact_density().unwrap();
        assert_eq!(exact, fresh.exact_density().unwrap(), "{what}");
        close(&what, exact.overflow, cpu.exact_density().unwrap().overflow, 20.0 * bound);
        let mut maps = [(); 3].map(|()| Map::filled(BINS[0], BINS[1], T::zero()));
        engine.read_map(MapKind::Density, &mut maps[0]).unwrap();
        fresh.read_map(MapKind::Density, &mut maps[1]).unwrap();
        assert!(maps[0].as_slice() == maps[1].as_slice(), "{what}: density");
        let bodies = charge.bodies();
        let mut force = [(); 4].map(|()| vec![T::nan(); bodies]);
        let [fx, fy, want_x, want_y] = &mut force;
        engine.read_force(fx, fy).unwrap();
        fresh.read_force(want_x, want_y).unwrap();
        assert!(fx == want_x && fy == want_y, "{what}: forces");
        let (cpu_x, cpu_y) = cpu.force().unwrap();
        assert!(relative_rms(&wide(fx), cpu_x) < 2.0 * bound, "{what}: force along x");
        assert!(relative_rms(&wide(fy), cpu_y) < 2.0 * bound, "{what}: force along y");
        let stay = (0..charge.movable()).filter(|&i| charge.is_fixed(i));
        assert!(stay.into_iter().all(|i| fx[i] == T::zero() && fy[i] == T::zero()), "{what}");
        // From an array on the device as well.
        let corners = gpu.upload(&[x.as_slice(), &y].concat()).unwrap();
        engine.enqueue_energy(Layout::Halves, &corners).unwrap();
        assert_eq!(engine.read_evaluation().unwrap(), want, "{what}");
    }
}

#[test]
fn an_engine_goes_on_with_another_charge() {
    let gpu = gpu();
    goes_on::<f32>(&gpu);
    goes_on::<f64>(&gpu);
}

#[test]
fn a_charge_refused_leaves_the_engine_as_it_was() {
    let gpu = gpu_alone();
    let charge = mixed(BINS[0], BINS[1], 400, 0.9);
    let mut engine =
        CudaEngine::<f32>::on(&gpu, charge.clone(), &EngineOptions::default()).unwrap();
    let [x, y] = positions::<f32>(&charge, 0.0, 4);
    let want = engine.evaluate(&x, &y).unwrap();
    let refused = engine.set_charge(mixed(96, 64, 400, 0.9).into()).unwrap_err();
    assert!(matches!(refused, EngineError::OtherGrid { .. }), "{refused}");
    let grid = charge.grid();
    assert_ne!(grid, BinGrid::new(grid.die(), 96, 64).unwrap());
    let mut wide = charge.clone();
    let mut width = charge.width().to_vec();
    width[3] = 1e39;
    wide.set_sizes(&width, charge.height()).unwrap();
    let refused = engine.set_charge(wide.into()).unwrap_err();
    assert!(matches!(refused, EngineError::OutOfRange { .. }), "{refused}");
    // In a capture nothing is allocated, and so nothing changed.
    // SAFETY: the stream lives and what is captured is never run.
    unsafe {
        let stream = interop::context(&gpu).new_stream().unwrap();
        stream
            .begin_capture(
                interop::cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL,
            )
            .unwrap();
        let refused = interop::on_stream(&gpu, stream.cu_stream(), || {
            engine.set_charge(charge.clone().into())
        });
        let Err(EngineError::Device(refused)) = refused.unwrap() else { panic!("not refused") };
        assert!(matches!(refused.downcast_ref(), Some(CudaError::Capturing)));
        let empty = stream.end_capture(interop::cudarc::driver::sys::CUgraphInstantiate_flags(0));
        drop(empty);
    }
    let mut again = engine.read_evaluation().unwrap();
    assert_eq!(again, want);
    again = engine.evaluate(&x, &y).unwrap();
    assert_eq!(again, want);
}
