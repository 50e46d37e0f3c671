//! Effects that safe code must not have on a device: read or write out of bounds, race, or replay
//! what is gone. Each attempt is refused or does no harm.

use crate::common::bodies::mixed;
use crate::common::pairs;
use crate::device::{check, gpu};
use crate::maps::{grid, off_axis};
use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::cuda::Bodies;
use placefield::cuda::internals::compile::Code;
use placefield::cuda::internals::{Density, Descent, DescentBodies, Force};
use placefield::cuda::interop;
use placefield::cuda::interop::cudarc::driver::sys::{
    CUgraphInstantiate_flags, CUstreamCaptureMode,
};
use placefield::cuda::transforms::Plan;
use placefield::cuda::{
    CudaEngine, CudaError, CudaReal, Fields, Gpu, GpuOptions, Graph, Peers, RealFft, solver,
};
use placefield::engine::{Engine, EngineError, EngineOptions, Layout, MapKind, Pipeline};
use placefield::grid::{BinGrid, Map, Rect};
use placefield::transform::Transform;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;

fn starts(charge: &Charge) -> [Vec<f32>; 2] {
    [charge.initial_x(), charge.initial_y()].map(|v| v.iter().map(|&v| v as f32).collect())
}

fn is_other_gpu(result: Result<(), CudaError>) -> bool {
    matches!(result, Err(CudaError::OtherGpu))
}

#[test]
fn memory_of_another_gpu_handle_is_refused() {
    let gpu = gpu();
    let other = Gpu::open(0).unwrap();
    let n = 64 * 64;
    for pipeline in Pipeline::ALL {
        let mut solver = solver::<f32>(&gpu, &grid(64, 64), pipeline).unwrap();
        let (mine, theirs) = (gpu.zeros(n).unwrap(), other.zeros(n).unwrap());
        let mut fields = Fields::new(&gpu, n).unwrap();
        assert!(is_other_gpu(solver.solve(&theirs, &mut fields)), "{pipeline}");
        let mut fields = Fields::new(&other, n).unwrap();
        assert!(is_other_gpu(solver.solve(&mine, &mut fields)), "{pipeline}");
    }
    let mut plan = Plan::<f32>::of_map(&gpu, Transform::Dct, 64, 64).unwrap();
    let (mine, mut theirs) = (gpu.zeros(n).unwrap(), other.zeros(n).unwrap());
    assert!(is_other_gpu(plan.run(&mine, &mut theirs)));
    assert!(is_other_gpu(plan.run(&theirs, &mut gpu.zeros(n).unwrap())));
    assert!(is_other_gpu(gpu.copy(&mine, &mut theirs)));
    assert!(matches!(gpu.download(&theirs), Err(CudaError::OtherGpu)));

    let charge = mixed(40, 50, 500, 1.0);
    let [x, y] = starts(&charge);
    let corners = other.upload(&pairs(&x, &y)).unwrap();
    let mut bodies = Bodies::<f32>::new(&gpu, charge.clone()).unwrap();
    assert!(is_other_gpu(bodies.order(&corners)));
    bodies.order(&gpu.upload(&pairs(&x, &y)).unwrap()).unwrap();
    let mut moved = gpu.zeros(corners.len()).unwrap();
    assert!(is_other_gpu(bodies.rearrange_pairs(bodies.id_of(), &corners, &mut moved)));
    let mut density = Density::new(&bodies, 0.0).unwrap();
    let mut rho = gpu.zeros(40 * 50).unwrap();
    assert!(is_other_gpu(density.run(&bodies, false, (Layout::Pairs, &corners), &mut rho)));

    let mut engine = CudaEngine::<f32>::on(&gpu, charge, &EngineOptions::default()).unwrap();
    engine.evaluate(&x, &y).unwrap();
    let theirs = [other.upload(&x).unwrap(), other.upload(&y).unwrap()];
    let refused = engine.set_positions_device(&theirs[0], &theirs[1]).unwrap_err();
    assert!(matches!(refused, EngineError::Device(_)), "{refused}");
    assert!(engine.enqueue_step().is_ok(), "usable as before");
}

#[test]
fn stages_refuse_bodies_of_another_charge() {
    let gpu = gpu();
    let [small, large] = [50, 5000].map(|cells| mixed(40, 50, cells, 1.0));
    let make = |charge: &Charge| {
        let [x, y] = starts(charge);
        let corners = gpu.upload(&pairs(&x, &y)).unwrap();
        let mut bodies = Bodies::<f32>::new(&gpu, charge.clone()).unwrap();
        bodies.order(&corners).unwrap();
        (bodies, corners)
    };
    let (few, _) = make(&small);
    let (mut many, corners) = make(&large);
    let mut rho = gpu.zeros(40 * 50).unwrap();
    let mut density = Density::new(&few, 0.0).unwrap();
    let wrong = density.run(&many, false, (Layout::Pairs, &corners), &mut rho);
    assert!(matches!(wrong, Err(CudaError::OtherBodies(_))));
    let wrong = density.run(&many, true, (Layout::Pairs, &corners), &mut rho);
    assert!(matches!(wrong, Err(CudaError::OtherBodies(_))));
    let mut force = Force::new(&few).unwrap();
    let mut forces = gpu.zeros(corners.len()).unwrap();
    let wrong = force.run(&many, (&rho, &rho), &mut forces);
    assert!(matches!(wrong, Err(CudaError::OtherBodies(_))));
    let wrong = force.run_slots(&many, &corners, (&rho, &rho), &mut forces);
    assert!(matches!(wrong, Err(CudaError::OtherBodies(_))));
    // Nor do indices of many bodies rearrange few, or the other way round.
    let mut moved = gpu.zeros(corners.len()).unwrap();
    let wrong = many.rearrange_pairs(few.id_of(), &corners, &mut moved);
    assert!(matches!(wrong, Err(CudaError::OtherBodies(_))));
    let wrong =
        few.deinterleave(Some(many.id_of()), &corners, (&mut gpu.zeros(1).unwrap(), &mut moved));
    assert!(wrong.is_err());
    let mut order = few.permutation().unwrap();
    let wrong = many.order_slots(&mut moved, &mut order);
    assert!(matches!(wrong, Err(CudaError::OtherBodies(_))));
}

/// A refusal comes before anything is enqueued: sums left over would count twice.
#[test]
fn a_density_refused_leaves_nothing_behind() {
    let (gpu, charge) = (gpu(), mixed(40, 50, 500, 1.0));
    let other = Gpu::open(0).unwrap();
    let [x, y] = starts(&charge);
    let corners = gpu.upload(&pairs(&x, &y)).unwrap();
    let mut bodies = Bodies::<f32>::new(&gpu, charge).unwrap();
    bodies.order(&corners).unwrap();
    let mut density = Density::new(&bodies, 0.0).unwrap();
    let (mut rho, mut theirs) = (gpu.zeros(40 * 50).unwrap(), other.zeros(40 * 50).unwrap());
    density.run(&bodies, false, (Layout::Pairs, &corners), &mut rho).unwrap();
    let (want, report) = (gpu.download(&rho).unwrap(), density.report(&bodies, None).unwrap());
    assert!(is_other_gpu(density.run(&bodies, false, (Layout::Pairs, &corners), &mut theirs)));
    density.run(&bodies, false, (Layout::Pairs, &corners), &mut rho).unwrap();
    assert!(gpu.download(&rho).unwrap() == want);
    assert_eq!(density.report(&bodies, None).unwrap(), report);
}

/// Tiles of 2047 cells and as many fillers are two chunks, the first of 1024 of either:
/// one body more than a chunk has of one class, and all of them outside their halo.
#[test]
fn all_bodies_of_full_chunks_may_leave_the_halo() {
    const EACH: usize = 2047;
    let gpu = gpu();
    // As many as the largest chunks are made for.
    let tiles = (4096 * gpu.info().multiprocessors as usize).div_ceil(2 * EACH);
    let height = 32.0 * tiles as f64;
    let grid = BinGrid::new(Rect::at(0.0, 0.0, 32.0, height), 32, 32 * tiles).unwrap();
    let place = |k: usize| {
        let (tile, i) = (k / EACH, k % EACH);
        ((8 + i % 16) as f64, (32 * tile + 8 + i / 16 % 16) as f64)
    };
    let (x, y): (Vec<f64>, Vec<f64>) = (0..tiles * EACH).map(place).unzip();
    let size = vec![0.5; x.len()];
    let cells = Rectangles::movable(&size, &size, &x, &y).row_height(0.5);
    let mut charge = Charge::from_rectangles(grid, &cells, &ChargeOptions::default()).unwrap();
    charge.add_fillers(0.5, 0.5, &x, &y).unwrap();
    let [x, y] = starts(&charge);
    let away: Vec<f32> = y.iter().map(|y| (y + 64.0) % height as f32).collect();
    let [start, moved] = [&y, &away].map(|y| gpu.upload(&pairs(&x, y)).unwrap());
    let mut bodies = Bodies::<f32>::new(&gpu, charge).unwrap();
    let mut density = Density::new(&bodies, 0.0).unwrap();
    let mut rho = gpu.zeros(32 * 32 * tiles).unwrap();
    let mut found = [&start, &moved].map(|order| {
        bodies.order(order).unwrap();
        density.run(&bodies, false, (Layout::Pairs, &moved), &mut rho).unwrap();
        (gpu.download(&rho).unwrap(), density.report(&bodies, None).unwrap())
    });
    assert_eq!((found[0].1.outside_halo, found[1].1.outside_halo), (x.len() as u64, 0));
    found[0].1.outside_halo = 0;
    assert!(found[0] == found[1], "the same bits in either order");
}

fn steps_without_bodies<T: CudaReal>(gpu: &Gpu) {
    let grid = BinGrid::new(Rect::at(0.0, 0.0, 64.0, 64.0), 64, 64).unwrap();
    let none = Rectangles::movable(&[], &[], &[], &[]).row_height(1.0);
    let charge = Charge::from_rectangles(grid, &none, &ChargeOptions::default()).unwrap();
    let mut engine = CudaEngine::<T>::on(gpu, charge, &EngineOptions::default()).unwrap();
    for in_slots in [false, true] {
        engine.evaluate(&[], &[]).unwrap();
        engine.use_slots(in_slots).unwrap();
        let evaluation = engine.evaluate(&[], &[]).unwrap();
        assert_eq!((evaluation.energy, evaluation.density.max), (0.0, 0.0));
        engine.read_force(&mut [], &mut []).unwrap();
    }
}

#[test]
fn sanitize_steps_without_a_body() {
    let gpu = gpu();
    steps_without_bodies::<f32>(&gpu);
    steps_without_bodies::<f64>(&gpu);
}

#[test]
fn views_that_begin_between_pairs_are_refused() {
    let gpu = gpu();
    let refused = |result| matches!(result, Err(CudaError::Misaligned { .. }));
    let bounds = [1f32; 4];
    let bodies = DescentBodies {
        low: [0.0; 2],
        high_x: &bounds,
        high_y: &bounds,
        area: &bounds,
        pin_weight: &[],
    };
    let mut descent = Descent::new(&gpu, &bodies).unwrap();
    let mut positions = gpu.zeros::<f32>(10).unwrap();
    assert!(refused(descent.step(positions.slice_mut(1..9))));
    descent.step(positions.slice_mut(2..10)).unwrap();
    let mut spectrum = gpu.zeros(5).unwrap();
    let mut forward = RealFft::<f32>::forward(&gpu, &[8], 1).unwrap();
    assert!(refused(forward.run_forward(positions.slice(1..9), &mut spectrum)));
    let mut inverse = RealFft::<f32>::inverse(&gpu, &[8], 1).unwrap();
    assert!(refused(inverse.run_inverse(&mut spectrum, positions.slice_mut(1..9))));
    forward.run_forward(positions.slice(2..10), &mut spectrum).unwrap();
    // Memory of another library can begin between the parts of a complex number.
    let between = interop::address(&positions) + 4;
    // SAFETY: four numbers end within the ten values there, which nothing else uses.
    let numbers = unsafe { interop::view_mut::<<f32 as CudaReal>::Complex>(&gpu, between, 4) };
    let mut numbers = numbers.unwrap();
    let mut short = RealFft::<f32>::forward(&gpu, &[6], 1).unwrap();
    let values = gpu.zeros::<f32>(8).unwrap();
    assert!(refused(short.run_forward(&values, numbers.reborrow())));
    let mut short = RealFft::<f32>::inverse(&gpu, &[6], 1).unwrap();
    assert!(refused(short.run_inverse(numbers, &mut gpu.zeros::<f32>(8).unwrap())));
    gpu.synchronize().unwrap();
}

#[test]
fn clones_of_one_device_are_no_peers() {
    let gpu = gpu();
    let found = Peers::on(vec![gpu.clone(), gpu.clone()]);
    assert!(matches!(found, Err(CudaError::Peers(_))));
}

#[test]
fn lengths_beyond_what_cufft_counts_are_refused() {
    let gpu = gpu();
    let shapes: [(&[usize], usize); 6] = [
        (&[], 1),
        (&[8], 0),
        (&[(1 << 32) + 8], 1),
        (&[8], (1 << 32) + 1),
        (&[1 << 20; 3], 16),
        (&[1 << 63, 2], 1),
    ];
    for (shape, batch) in shapes {
        let found = RealFft::<f32>::forward(&gpu, shape, batch);
        let refused = matches!(found, Err(CudaError::Shape(_) | CudaError::NoTransform { .. }));
        assert!(refused, "{batch} of {shape:?}");
    }
}

/// Returns the results of a step by an engine on `gpu`.
fn step_bits(engine: &mut CudaEngine<f32>, x: &[f32], y: &[f32]) -> Vec<u32> {
    let evaluation = engine.evaluate(x, y).unwrap();
    let [nx, ny] = [engine.charge().grid().nx(), engine.charge().grid().ny()];
    let mut map = Map::filled(nx, ny, f32::NAN);
    engine.read_map(MapKind::FieldX, &mut map).unwrap();
    let (mut fx, mut fy) = (vec![0f32; x.len()], vec![0f32; x.len()]);
    engine.read_force(&mut fx, &mut fy).unwrap();
    let numbers = [evaluation.energy as f32, evaluation.density.overflow as f32];
    let all = map.as_slice().iter().chain(&fx).chain(&fy).chain(&numbers);
    all.map(|v| v.to_bits()).collect()
}

/// Engines capture their second step: were the others' launches to land in it, or the
/// capture to break, bits would differ or calls fail.
#[test]
fn engines_on_several_threads_do_not_interfere() {
    let gpu = gpu();
    let charges: Vec<Charge> = [(64, 128, 3000), (100, 80, 2000), (128, 64, 4000)]
        .map(|(a, b, n)| mixed(a, b, n, 0.9))
        .into();
    let alone: Vec<Vec<u32>> = charges
        .iter()
        .map(|charge| {
            let [x, y] = starts(charge);
            let options = EngineOptions::default();
            let mut engine = CudaEngine::on(&gpu, charge.clone(), &options).unwrap();
            step_bits(&mut engine, &x, &y)
        })
        .collect();
    for _ in 0..5 {
        let together = Barrier::new(charges.len());
        std::thread::scope(|scope| {
            for (charge, want) in charges.iter().zip(&alone) {
                let (gpu, together) = (&gpu, &together);
                scope.spawn(move || {
                    let [x, y] = starts(charge);
                    together.wait();
                    let options = EngineOptions::default();
                    let mut engine = CudaEngine::on(gpu, charge.clone(), &options).unwrap();
                    for step in 0..20 {
                        assert!(step_bits(&mut engine, &x, &y) == *want, "step {step}");
                    }
                });
            }
        });
    }
}

#[test]
fn captures_exclude_work_of_other_threads() {
    let gpu = gpu();
    let n = 1 << 16;
    let ones = gpu.upload(&vec![1f32; n]).unwrap();
    let twos = gpu.upload(&vec![2f32; n]).unwrap();
    let (mut captured, mut direct) = (gpu.zeros::<f32>(n).unwrap(), gpu.zeros::<f32>(n).unwrap());
    let inside = Barrier::new(2);
    let mut graph = std::thread::scope(|scope| {
        let graph = scope.spawn(|| {
            let body = || {
                inside.wait();
                std::thread::sleep(std::time::Duration::from_millis(50));
                gpu.copy(&ones, &mut captured)
            };
            // SAFETY: both vectors outlive the graph and stay where they are.
            unsafe { Graph::capture::<CudaError>(&gpu, body) }.unwrap()
        });
        inside.wait();
        // Allocates, copies both ways, frees and waits, all during the capture.
        let twice = twos.try_clone().unwrap();
        gpu.copy(&twice, &mut direct).unwrap();
        drop(twice);
        assert!(gpu.download(&direct).unwrap().iter().all(|&v| v == 2.0));
        graph.join().unwrap()
    });
    assert!(gpu.download(&captured).unwrap().iter().all(|&v| v == 0.0), "not run yet");
    gpu.copy(&ones, &mut direct).unwrap();
    graph.launch().unwrap();
    assert!(gpu.download(&captured).unwrap().iter().all(|&v| v == 1.0));
    assert!(gpu.download(&direct).unwrap().iter().all(|&v| v == 1.0), "no part of the graph");
}

#[test]
fn failed_captures_leave_the_engine_usable() {
    let gpu = gpu();
    let charge = mixed(64, 64, 1000, 1.0);
    let [x, y] = starts(&charge);
    let mut engine = CudaEngine::<f32>::on(&gpu, charge, &EngineOptions::default()).unwrap();
    let want = step_bits(&mut engine, &x, &y);
    let mut calls = 0;
    // SAFETY: the graph is never launched: the capture fails.
    let failed = unsafe {
        Graph::capture::<EngineError>(&gpu, || {
            engine.enqueue_step()?;
            calls += 1;
            Err(CudaError::NotOrdered.into())
        })
    };
    assert!(failed.is_err() && calls == 1);
    assert!(step_bits(&mut engine, &x, &y) == want);
    // Waiting cannot be captured; that breaks the capture, and nothing else.
    // SAFETY: as above.
    let waits = unsafe { Graph::capture::<CudaError>(&gpu, || gpu.synchronize()) };
    assert!(waits.is_err());
    // A capture within a capture is refused.
    // SAFETY: as above.
    let twice = unsafe {
        Graph::capture::<CudaError>(&gpu, || Graph::capture(&gpu, || Ok(())).map(|_: Graph| ()))
    };
    assert!(matches!(twice, Err(CudaError::Capturing)));
    // Nor is there memory to be had that would be the graph's own.
    // SAFETY: as above.
    let allocates = unsafe { Graph::capture::<CudaError>(&gpu, || gpu.zeros::<f32>(8).map(drop)) };
    assert!(matches!(allocates, Err(CudaError::Capturing)));
    assert!(step_bits(&mut engine, &x, &y) == want);
}

#[test]
fn memory_dropped_in_a_capture_is_freed_after_it() {
    let gpu = gpu();
    let n = 1 << 22;
    let ones = gpu.upload(&vec![1f32; n]).unwrap();
    let mut to = gpu.zeros::<f32>(n).unwrap();
    let dropped = gpu.zeros::<f32>(n).unwrap();
    let charge = mixed(64, 64, 1000, 1.0);
    let [x, y] = starts(&charge);
    // An engine has graphs and page-locked memory, too.
    let mut engine = CudaEngine::<f32>::on(&gpu, charge, &EngineOptions::default()).unwrap();
    for _ in 0..3 {
        step_bits(&mut engine, &x, &y);
    }
    gpu.synchronize().unwrap();
    // SAFETY: what is captured uses `ones` and `to` alone, which outlive the graph.
    let mut graph = unsafe {
        Graph::capture::<CudaError>(&gpu, || {
            drop(dropped);
            drop(engine);
            gpu.copy(&ones, &mut to)
        })
    }
    .unwrap();
    gpu.synchronize().expect("nothing failed meanwhile");
    for _ in 0..2 {
        graph.launch().unwrap();
    }
    assert!(gpu.download(&to).unwrap().iter().all(|&v| v == 1.0));
    // The memory can be had again: it is no part of the graph.
    let again = gpu.upload(&vec![2f32; n]).unwrap();
    graph.launch().unwrap();
    assert!(gpu.download(&again).unwrap().iter().all(|&v| v == 2.0));
}

/// A plan waits before it is destroyed, which a capture by the caller forbids its thread.
#[test]
fn a_panic_in_a_capture_of_the_callers_does_not_break_it() {
    let gpu = gpu();
    let ones = gpu.upload(&vec![1f32; 1000]).unwrap();
    let mut to = gpu.zeros::<f32>(1000).unwrap();
    let plan = RealFft::<f32>::forward(&gpu, &[64], 1).unwrap();
    // SAFETY: no memory is made through the context.
    let stream = unsafe { interop::context(&gpu) }.new_stream().unwrap();
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL).unwrap();
    let body = || {
        gpu.copy(&ones, &mut to).unwrap();
        drop(plan);
        panic!("of the caller's");
    };
    // SAFETY: the stream lives, and `ones` and `to` outlive the graph.
    let run = || unsafe { interop::on_stream(&gpu, stream.cu_stream(), body) };
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    let graph = stream.end_capture(CUgraphInstantiate_flags(0)).expect("not broken");
    graph.expect("a copy").launch().unwrap();
    stream.synchronize().unwrap();
    assert!(gpu.download(&to).unwrap().iter().all(|&v| v == 1.0));
}

/// An engine with steps in a caller's graph waits for the whole device before it is dropped.
#[test]
fn waits_for_the_device_do_not_break_captures_of_other_threads() {
    let gpu = gpu();
    let charge = mixed(64, 64, 1000, 1.0);
    let [x, y] = starts(&charge);
    let ones = gpu.upload(&vec![1f32; 1000]).unwrap();
    let mut to = gpu.zeros::<f32>(1000).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..1000 {
                let body = || {
                    std::thread::sleep(std::time::Duration::from_millis(2));
                    gpu.copy(&ones, &mut to)
                };
                // SAFETY: the graph is never launched.
                drop(unsafe { Graph::capture::<CudaError>(&gpu, body) }.expect("not broken"));
            }
        });
        let options = EngineOptions::default();
        for _ in 0..20 {
            let mut engine = CudaEngine::<f32>::on(&gpu, charge.clone(), &options).unwrap();
            engine.evaluate(&x, &y).unwrap();
            // SAFETY: the graph is never launched.
            drop(unsafe { Graph::capture(&gpu, || engine.enqueue_step()) }.unwrap());
        }
    });
}

#[test]
fn slots_asked_for_in_a_capture_that_never_runs_are_found_later() {
    let (gpu, charge) = (gpu(), mixed(40, 50, 3000, 1.0));
    let [x, y] = starts(&charge);
    let mut bodies = Bodies::<f32>::new(&gpu, charge).unwrap();
    bodies.order(&gpu.upload(&pairs(&x, &y)).unwrap()).unwrap();
    // Other corners in slot order: the next order differs, and nobody asks it for slots.
    let mut corners = gpu.upload(&pairs(&y, &x)).unwrap();
    let mut from = bodies.permutation().unwrap();
    bodies.order_slots(&mut corners, &mut from).unwrap();
    // SAFETY: the graph is never launched.
    drop(unsafe { Graph::capture::<CudaError>(&gpu, || bodies.slot_of().map(|_| ())) }.unwrap());
    let slot_of = gpu.download(bodies.slot_of().unwrap().indices()).unwrap();
    let id_of = gpu.download(bodies.id_of().indices()).unwrap();
    assert!(id_of.iter().enumerate().all(|(slot, &id)| slot_of[id as usize] as usize == slot));
}

/// A small case for the sanitizers: positions that no placer should give, which device
/// code may write without anyone having looked at them.
#[test]
fn sanitize_positions_far_away_or_nan_do_no_harm() {
    let gpu = gpu();
    // No cuFFT, as in `sanitizer::peers`.
    let charge = mixed(40, 36, 400, 1.0);
    let [x, y] = starts(&charge);
    let mut engine =
        CudaEngine::<f32>::on(&gpu, charge.clone(), &EngineOptions::default()).unwrap();
    let want = step_bits(&mut engine, &x, &y);
    let bad = [f32::NAN, f32::INFINITY, -f32::INFINITY, f32::MAX, f32::MIN, 1e30, -1e10, 0.0];
    let spoilt = |values: &[f32], every: usize| -> Vec<f32> {
        let spoil = |(i, &v): (usize, &f32)| if i % every == 0 { bad[i / every % 8] } else { v };
        values.iter().enumerate().map(spoil).collect()
    };
    for (every_x, every_y) in [(1, 1), (3, 5), (2, 1000)] {
        let corners = pairs(&spoilt(&x, every_x), &spoilt(&y, every_y));
        gpu.copy(&gpu.upload(&corners).unwrap(), engine.positions_device_mut(0)).unwrap();
        for _ in 0..3 {
            engine.enqueue_step().unwrap();
        }
        // In the order that such positions make, too.
        engine.use_slots(true).unwrap();
        engine.enqueue_step().unwrap();
        let mut from = engine.bodies().permutation().unwrap();
        engine.reorder_slots(&mut from).unwrap();
        engine.enqueue_step().unwrap();
        let mut moved = gpu.download(from_indices(&from)).unwrap();
        moved.sort_unstable();
        assert!(moved.iter().enumerate().all(|(k, &slot)| k == slot as usize), "a permutation");
        engine.use_slots(false).unwrap();
        engine.order_if_due().unwrap();
        engine.enqueue_step().unwrap();
        gpu.synchronize().unwrap();
    }
    assert!(step_bits(&mut engine, &x, &y) == want, "and good ones give what they gave");
}

fn from_indices(from: &placefield::cuda::Permutation) -> placefield::cuda::DeviceSlice<'_, u32> {
    placefield::cuda::PermutationView::from(from).indices()
}

#[test]
fn ptx_and_compiled_kernels_agree() {
    let charge = mixed(64, 128, 2000, 0.9);
    let [x, y] = starts(&charge);
    let rho = off_axis::<f64>(128, 64);
    let seen = [Code::Compiled, Code::Ptx, Code::Quickest].map(|code| {
        let gpu = Gpu::open_with(0, GpuOptions::default().code(code)).unwrap();
        let mut engine =
            CudaEngine::<f32>::on(&gpu, charge.clone(), &EngineOptions::default()).unwrap();
        let evaluation = engine.evaluate(&x, &y).unwrap();
        let mut fields = Fields::<f64>::new(&gpu, rho.len()).unwrap();
        let mut solved = Vec::new();
        for pipeline in Pipeline::ALL {
            let mut solver = solver::<f64>(&gpu, &grid(128, 64), pipeline).unwrap();
            solver.solve(&gpu.upload(&rho).unwrap(), &mut fields).unwrap();
            solved.push(gpu.download(&fields.potential).unwrap());
        }
        (evaluation, solved)
    });
    for (evaluation, solved) in &seen[1..] {
        assert_eq!(evaluation.density, seen[0].0.density, "sums of integers");
        let energies = (evaluation.energy, seen[0].0.energy);
        assert!((energies.0 - energies.1).abs() <= 1e-6 * energies.1.abs(), "{energies:?}");
        for (got, want) in solved.iter().zip(&seen[0].1) {
            check(got, want, "the potential by PTX");
        }
    }
}
