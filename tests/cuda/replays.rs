//! Energy and gradient in one call: the first time by plain launches, then captured, then replayed.

use crate::arrays::{LAYOUTS, charge, copy, has, laid_out, make, new_stream, want};
use crate::device::{gpu, gpu_alone};
use crate::engine::positions;
use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::cuda::interop::on_stream;
use placefield::cuda::{CudaEngine, CudaReal, DeviceVec, Gpu};
use placefield::engine::{Engine, EngineError, GradientOptions, Layout};
use placefield::grid::{BinGrid, Rect};
use std::sync::Arc;

/// The energy and the gradient of one step, of another energy and gradient before it.
fn found<T: CudaReal>(
    gpu: &Gpu,
    engine: &mut CudaEngine<T>,
    options: &GradientOptions,
    corners: &DeviceVec<T>,
    (energy, gradient): (&mut DeviceVec<T>, &mut DeviceVec<T>),
) -> (T, Vec<T>) {
    let nothing = vec![T::nan(); corners.len()];
    gpu.write(&nothing[..1], &mut *energy).unwrap();
    gpu.write(&nothing, &mut *gradient).unwrap();
    let to = Some(gradient.as_view_mut());
    engine.enqueue_energy_and_gradient(options, corners, &mut *energy, to).unwrap();
    (gpu.download(&*energy).unwrap()[0], gpu.download(&*gradient).unwrap())
}

fn are_the_hosts<T: CudaReal>(gpu: &Gpu) {
    let charge = charge();
    let places = [0.0, 40.0, 300.0].map(|shift| positions::<T>(&charge, shift, 9));
    let wants = [0, 1, 2].map(|k| want(gpu, &charge, &places[k]));
    let n = 2 * charge.bodies();
    for layout in LAYOUTS {
        let mut engine = make::<T>(gpu, &charge);
        // More arrays than graphs are kept for.
        let mut arrays: Vec<[DeviceVec<T>; 3]> = (0..10)
            .map(|_| [gpu.zeros(n).unwrap(), gpu.zeros(1).unwrap(), gpu.zeros(n).unwrap()])
            .collect();
        let options = GradientOptions::default().layout(layout).weight(-2.0);
        for (count, turns) in [(1, 6), (3, 4), (10, 3)] {
            for turn in 0..turns {
                for (k, [corners, energy, gradient]) in arrays[..count].iter_mut().enumerate() {
                    let (at, what) = ((turn + k) % 3, format!("{layout:?} {count} {turn} {k}"));
                    let [x, y] = &places[at];
                    gpu.write(&laid_out(layout, x, y), &mut *corners).unwrap();
                    let (energy, gradient) =
                        found(gpu, &mut engine, &options, corners, (energy, gradient));
                    let want = &wants[at];
                    assert_eq!(energy, T::cast(want.energy), "{what}");
                    let forces = laid_out(layout, &want.force[0], &want.force[1]);
                    let right = gradient.iter().zip(&forces).all(|(g, f)| *g == T::cast(-2.0) * *f);
                    assert!(right, "{what}");
                    has(&mut engine, want, &what);
                }
            }
        }
        // The energy alone, with other options, and after another charge.
        let [corners, energy, gradient] = &mut arrays[0];
        for _ in 0..3 {
            let [x, y] = &places[1];
            gpu.write(&laid_out(layout, x, y), &mut *corners).unwrap();
            engine.enqueue_energy_and_gradient(&options, &*corners, &mut *energy, None).unwrap();
            assert_eq!(gpu.download(&*energy).unwrap()[0], T::cast(wants[1].energy));
            let once = options.weight(1.0);
            let (_, forces) =
                found(gpu, &mut engine, &once, corners, (&mut *energy, &mut *gradient));
            assert!(forces == laid_out(layout, &wants[1].force[0], &wants[1].force[1]));
        }
        let mut grown = charge.clone();
        let width: Vec<f64> = charge.width().iter().map(|width| 1.5 * width).collect();
        grown.set_sizes(&width, charge.height()).unwrap();
        let after = crate::arrays::want(gpu, &grown, &places[1]);
        assert_ne!(after.energy, wants[1].energy);
        engine.set_charge(Arc::new(grown)).unwrap();
        for _ in 0..3 {
            let (energy, _) =
                found(gpu, &mut engine, &options, corners, (&mut *energy, &mut *gradient));
            assert_eq!(energy, T::cast(after.energy), "{layout:?}: another charge");
        }
    }
}

#[test]
fn one_call_steps_give_the_bits_of_host_steps() {
    let gpu = gpu();
    are_the_hosts::<f32>(&gpu);
    are_the_hosts::<f64>(&gpu);
}

/// Captures and replays on a stream of the caller's, and what they are refused for.
#[test]
fn one_call_steps_replay_on_the_callers_stream() {
    let (gpu, charge) = (gpu_alone(), charge());
    let places = [0.0, 40.0].map(|shift| positions::<f32>(&charge, shift, 9));
    let wants = [0, 1].map(|k| want(&gpu, &charge, &places[k]));
    let n = 2 * charge.bodies();
    let mut engine = make::<f32>(&gpu, &charge);
    let sources = [0, 1].map(|k| gpu.upload(&[&places[k][0][..], &places[k][1]].concat()).unwrap());
    let (mut corners, mut energy) = (gpu.zeros(n).unwrap(), gpu.zeros(1).unwrap());
    let mut gradient = gpu.zeros(n).unwrap();
    let stream = new_stream(&gpu);
    gpu.synchronize().unwrap();
    for turn in 0..6 {
        // SAFETY: the stream lives, and so does all memory until it has been waited for.
        unsafe {
            copy(stream.cu_stream(), &sources[turn % 2], &mut corners);
            on_stream(&gpu, stream.cu_stream(), || {
                let to = Some(gradient.as_view_mut());
                let options = GradientOptions::default();
                engine.enqueue_energy_and_gradient(&options, &corners, &mut energy, to).unwrap();
            })
            .unwrap();
        }
        assert_eq!(gpu.download(&energy).unwrap()[0], wants[turn % 2].energy as f32, "{turn}");
        has(&mut engine, &wants[turn % 2], "on another stream");
    }
    // Lengths are refused before anything is enqueued.
    let (mut pair, mut other) = (gpu.zeros(2).unwrap(), gpu.zeros(n - 1).unwrap());
    let options = GradientOptions::default();
    let short = Some(other.as_view_mut());
    let refused = engine.enqueue_energy_and_gradient(&options, &corners, &mut energy, short);
    assert!(matches!(refused, Err(EngineError::Device(_))), "{refused:?}");
    let refused = engine.enqueue_energy_and_gradient(&options, &corners, &mut pair, None);
    assert!(matches!(refused, Err(EngineError::Device(_))), "{refused:?}");
    let refused = engine.enqueue_energy_and_gradient(
        &options.weight(f64::NAN),
        &corners,
        &mut energy,
        Some(gradient.as_view_mut()),
    );
    assert!(matches!(refused, Err(EngineError::Weight(_))), "{refused:?}");
    // Results of earlier positions are gone.
    assert!(matches!(engine.read_evaluation(), Err(EngineError::OutOfOrder { .. })));
}

#[test]
fn without_bodies_the_energy_is_of_fixed_cells() {
    let gpu = gpu();
    let grid = BinGrid::new(Rect::at(0.0, 0.0, 32.0, 16.0), 32, 16).unwrap();
    let fixed = [Rect::at(3.0, 4.0, 7.0, 5.0)];
    let cells = Rectangles::movable(&[], &[], &[], &[]).fixed(&fixed);
    let charge = Charge::from_rectangles(grid, &cells, &ChargeOptions::default()).unwrap();
    let want = make::<f32>(&gpu, &charge).evaluate(&[], &[]).unwrap().energy;
    assert!(want > 0.0);
    let mut engine = make::<f32>(&gpu, &charge);
    let (corners, mut gradient) = (gpu.zeros(0).unwrap(), gpu.zeros(0).unwrap());
    for _ in 0..3 {
        let mut energy = gpu.zeros(1).unwrap();
        let (options, to) = (GradientOptions::default(), Some(gradient.as_view_mut()));
        let options = options.layout(Layout::Pairs);
        engine.enqueue_energy_and_gradient(&options, &corners, &mut energy, to).unwrap();
        assert_eq!(gpu.download(&energy).unwrap()[0], want as f32);
    }
}
