//! A whole step on several ranks, against one device: ρ, overflow and maximum to the bit; the field
//! within its bound, and forces to the bit of one device's for the same field. Ranks are streams of
//! one device here; with more devices, those as well.

use crate::common::bodies::{mixed, some};
use crate::common::fences::{self, Cells};
use crate::common::{limit, pairs, relative_rms, wide};
use crate::device::{close, fill, gpu, gpu_alone};
use crate::engine::{Seen, positions, see};
use crate::slabs::places;
use placefield::charge::Charge;
use placefield::cuda::Bodies;
use placefield::cuda::internals::{Density, Force};
use placefield::cuda::interop;
use placefield::cuda::{CudaEngine, CudaReal, Gpu, Graph, Peers};
use placefield::engine::{
    Engine, EngineError, EngineOptions, Evaluation, GradientOptions, Layout, MapKind, Pipeline,
    Timed,
};
use placefield::grid::Map;
use std::ops::Range;
use std::sync::{Arc, mpsc};
use std::thread::spawn;
use std::time::Duration;

fn several<T: CudaReal>(devices: &[usize], charge: &Charge) -> CudaEngine<T> {
    let peers = Peers::open(devices).unwrap_or_else(|e| panic!("{e}"));
    CudaEngine::on_peers(&peers, charge.clone(), &EngineOptions::default()).unwrap()
}

/// The force on every body in a given field, by one device.
fn force_in<T: CudaReal>(
    gpu: &Gpu,
    charge: &Charge,
    [x, y]: &[Vec<T>; 2],
    field: [&[T]; 2],
) -> Vec<T> {
    let mut bodies = Bodies::<T>::new(gpu, charge.clone()).unwrap();
    let corners = gpu.upload(&pairs(x, y)).unwrap();
    bodies.order(&corners).unwrap();
    let mut density = Density::new(&bodies, 0.0).unwrap();
    let mut rho = gpu.zeros(charge.grid().bins()).unwrap();
    density.run(&bodies, false, (Layout::Pairs, &corners), &mut rho).unwrap();
    let [ex, ey] = field.map(|map| gpu.upload(map).unwrap());
    let mut forces = gpu.zeros(2 * charge.bodies()).unwrap();
    Force::new(&bodies).unwrap().run(&bodies, (&ex, &ey), &mut forces).unwrap();
    gpu.download(&forces).unwrap()
}

fn same<T: CudaReal>(
    gpu: &Gpu,
    what: &str,
    charge: &Charge,
    at: &[Vec<T>; 2],
    (got, want): (&Seen<T>, &Seen<T>),
    (now, one): (Evaluation, Evaluation),
) {
    assert_eq!(now.density, one.density, "{what}: overflow and maximum");
    assert!(got.maps[0] == want.maps[0], "{what}: density");
    close(&format!("{what}: energy"), now.energy, one.energy, 40.0 * limit::<T>());
    for (kind, (got, want)) in MapKind::ALL.iter().zip(got.maps.iter().zip(&want.maps)).skip(1) {
        let error = relative_rms(&wide(got), &wide(want));
        assert!(error <= limit::<T>(), "{what}: {} is off by {error:e}", kind.name());
    }
    let own = force_in(gpu, charge, at, [&got.maps[2], &got.maps[3]]);
    assert!(own == pairs(&got.force[0], &got.force[1]), "{what}: forces");
}

/// Steps at several places, and every stage by itself, on ranks of `devices`.
pub(crate) fn steps_like_one<T: CudaReal>(gpu: &Gpu, devices: &[usize], charge: &Charge) {
    let options = EngineOptions::default();
    let grid = charge.grid();
    let mut one = CudaEngine::<T>::on(gpu, charge.clone(), &options).unwrap();
    let mut ranks = several::<T>(devices, charge);
    // A little further from where bodies were ordered, then so far that they are ordered anew.
    for (turn, shift) in [0.0, 3.0, 10.0, 10.0, 150.0, 1.0].into_iter().enumerate() {
        let what = format!(
            "{} x {} {} on {devices:?}, {shift} bins off",
            grid.nx(),
            grid.ny(),
            T::PRECISION
        );
        let at = positions::<T>(charge, shift * grid.bin_x(), turn as u64);
        let want = one.evaluate(&at[0], &at[1]).unwrap();
        let now = ranks.evaluate(&at[0], &at[1]).unwrap();
        let (seen, wanted) = (see(&mut ranks), see(&mut one));
        same(gpu, &what, charge, &at, (&seen, &wanted), (now, want));
        assert_eq!(ranks.exact_density().unwrap(), one.exact_density().unwrap(), "{what}: exact");
        // Again, by graphs: what a step left behind would show.
        let again = ranks.evaluate(&at[0], &at[1]).unwrap();
        assert_eq!(again, now, "{what}: again");
        let twice = see(&mut ranks);
        assert!(twice.maps == seen.maps && twice.force == seen.force, "{what}: again");
    }
    let at = positions::<T>(charge, 2.0 * grid.bin_x(), 9);
    one.set_positions(&at[0], &at[1]).unwrap();
    ranks.set_positions_in(Layout::Pairs, &pairs(&at[0], &at[1])).unwrap();
    assert_eq!(ranks.exact_density().unwrap(), one.exact_density().unwrap());
    for pipeline in Pipeline::ALL {
        let what = format!("{pipeline} {} on {devices:?}", T::PRECISION);
        let stages = |engine: &mut dyn Engine<T>| {
            let density = engine.compute_density().unwrap();
            let energy = engine.solve(pipeline).unwrap();
            engine.compute_force().unwrap();
            let mut found = [Evaluation::default()];
            engine.read_regions(&mut found).unwrap();
            assert_eq!((found[0].density, found[0].energy), (density, energy));
            (see(engine), found[0])
        };
        let (wanted, want) = stages(&mut one);
        let (seen, now) = stages(&mut ranks);
        same(gpu, &what, charge, &at, (&seen, &wanted), (now, want));
        let times = ranks.step_times(pipeline, 2).unwrap().unwrap();
        assert!(times.step_graph > 0.0 && times.solve_plain > 0.0);
        let after = see(&mut ranks);
        assert!(after.maps == seen.maps && after.force == seen.force, "{what}: timed");
    }
}

fn all<T: CudaReal>(gpu: &Gpu) {
    // Even and odd divisions, rows that are no whole blocks of bins, and no solve by slabs.
    for (nx, ny, target) in [(128, 96, 0.9), (100, 72, 0.6), (64, 256, 1.0), (67, 40, 0.8)] {
        let charge = mixed(nx, ny, 500, target);
        for ranks in 1..=4 {
            for devices in places(ranks) {
                steps_like_one::<T>(gpu, &devices, &charge);
            }
        }
    }
}

#[test]
fn one_to_four_ranks_step_like_one_device_in_f32() {
    all::<f32>(&gpu());
}

#[test]
fn one_to_four_ranks_step_like_one_device_in_f64() {
    all::<f64>(&gpu());
}

/// Maps of which the field along x is solved in a pass of its own, stage by stage and by graphs.
#[test]
fn large_maps_are_stepped_like_one_device() {
    let gpu = gpu();
    let charge = mixed(4096, 4096, 500, 0.8);
    let mut one = CudaEngine::<f32>::on(&gpu, charge.clone(), &EngineOptions::default()).unwrap();
    let at = positions::<f32>(&charge, 0.0, 1);
    let want = one.evaluate(&at[0], &at[1]).unwrap();
    let wanted = see(&mut one);
    for devices in places(3) {
        let mut ranks = several::<f32>(&devices, &charge);
        for turn in 0..2 {
            let now = ranks.evaluate(&at[0], &at[1]).unwrap();
            let what = format!("on {devices:?}, turn {turn}");
            same(&gpu, &what, &charge, &at, (&see(&mut ranks), &wanted), (now, want));
        }
    }
}

/// Bodies that all stand in bins of other ranks, few bodies for many ranks, and none.
#[test]
fn bodies_may_be_anywhere_few_or_none() {
    let gpu = gpu();
    for count in [0, 1, 3, 2000] {
        let charge = some(count, [64, 64], 0, 1.0);
        for devices in places(4) {
            let mut one =
                CudaEngine::<f32>::on(&gpu, charge.clone(), &EngineOptions::default()).unwrap();
            let mut ranks = several::<f32>(&devices, &charge);
            let at = positions::<f32>(&charge, 0.0, 1);
            let want = one.evaluate(&at[0], &at[1]).unwrap();
            let now = ranks.evaluate(&at[0], &at[1]).unwrap();
            let seen = (&see(&mut ranks), &see(&mut one));
            same(&gpu, &format!("{count} bodies"), &charge, &at, seen, (now, want));
            // On the devices: each to the other side of the die.
            let die = charge.grid().die();
            let mirrored: Vec<f32> = at[0].iter().map(|x| (die.xl + die.xh) as f32 - x).collect();
            let corners = pairs(&mirrored, &at[1]);
            for rank in 0..4 {
                // Of bodies that are not its own a rank knows nothing.
                let mut own = vec![f32::NAN; corners.len()];
                for Range { start, end } in ranks.share(rank) {
                    own[2 * start..2 * end].copy_from_slice(&corners[2 * start..2 * end]);
                }
                let on = ranks.peers().gpu(rank).clone();
                let (_, to) = ranks.force_and_positions_device(rank).unwrap();
                on.write(&own, to).unwrap();
            }
            assert!(ranks.force_and_positions_device(0).is_err(), "given before");
            ranks.enqueue_step().unwrap();
            let now = ranks.read_evaluation().unwrap();
            let want = one.evaluate(&mirrored, &at[1]).unwrap();
            let at = [mirrored, at[1].clone()];
            let seen = (&see(&mut ranks), &see(&mut one));
            same(&gpu, &format!("{count} bodies, mirrored"), &charge, &at, seen, (now, want));
            // Given by the host.
            assert_eq!(ranks.evaluate(&at[0], &at[1]).unwrap(), now);
        }
    }
}

/// Sizes, fixed cells and fillers that change between steps.
#[test]
fn another_charge_gives_the_bits_of_a_new_engine() {
    let _gpu = gpu();
    let before = mixed(64, 64, 100, 1.0);
    let after = mixed(64, 64, 300, 0.7);
    for devices in places(3) {
        let mut engine = several::<f32>(&devices, &before);
        let at = positions::<f32>(&before, 0.0, 1);
        engine.evaluate(&at[0], &at[1]).unwrap();
        engine.set_charge(Arc::new(after.clone())).unwrap();
        assert!(matches!(engine.enqueue_step(), Err(EngineError::OutOfOrder { .. })));
        let mut fresh = several::<f32>(&devices, &after);
        let at = positions::<f32>(&after, 20.0, 2);
        assert_eq!(
            engine.evaluate(&at[0], &at[1]).unwrap(),
            fresh.evaluate(&at[0], &at[1]).unwrap()
        );
        let (seen, want) = (see(&mut engine), see(&mut fresh));
        assert!(seen.maps == want.maps && seen.force == want.force);
        let options = GradientOptions::default().layout(Layout::Pairs).weight(-2.0);
        let gradients = [&mut engine, &mut fresh].map(|engine| {
            let mut gradient = vec![1.0; 2 * after.bodies()];
            engine.write_gradient(&mut gradient, &options.accumulate(true)).unwrap();
            gradient
        });
        assert!(gradients[0] == gradients[1]);
    }
}

/// Returns values of either sign, zeros among them.
fn before<T: CudaReal>(values: usize) -> Vec<T> {
    (0..values).map(|i| T::cast(-0.3 * (f64::from(i as u32 % 7) - 3.0))).collect()
}

fn bits<T: CudaReal>(values: &[T]) -> Vec<u64> {
    values.iter().map(|v| v.widen().to_bits()).collect()
}

/// Gradients to the host and to arrays on the first device, with what is computed there.
fn gradients_like_one<T: CudaReal>(devices: &[usize], charge: &Charge) {
    let peers = Peers::open(devices).unwrap();
    let deterministic = EngineOptions::default().deterministic(true);
    let mut ranks = CudaEngine::<T>::on_peers(&peers, charge.clone(), &deterministic).unwrap();
    let first = peers.gpu(0).clone();
    let mut one = CudaEngine::<T>::on(&first, charge.clone(), &EngineOptions::default()).unwrap();
    let layouts = [Layout::Halves, Layout::Pairs];
    for (turn, shift) in [0.0, 5.0, 120.0].into_iter().enumerate() {
        let [x, y] = positions::<T>(charge, shift * charge.grid().bin_x(), turn as u64);
        for (layout, add) in layouts.into_iter().flat_map(|of| [(of, false), (of, true)]) {
            let what = format!("{} on {devices:?}, {layout:?}, added: {add}", T::PRECISION);
            let options = GradientOptions::default().layout(layout).weight(-0.3).accumulate(add);
            let at = first.upload(&match layout {
                Layout::Halves => [x.as_slice(), &y].concat(),
                Layout::Pairs => pairs(&x, &y),
            });
            let at = at.unwrap();
            let found = [&mut one, &mut ranks].map(|engine| {
                let mut found = Vec::new();
                engine.evaluate(&x, &y).unwrap();
                let mut gradient = before::<T>(2 * charge.bodies());
                engine.write_gradient(&mut gradient, &options).unwrap();
                found.push(bits(&gradient));
                // Of arrays of the caller's, the energy with the gradient and apart.
                let mut to = first.upload(&before::<T>(2 * charge.bodies())).unwrap();
                let mut energy = first.upload(&[T::cast(f64::NAN)]).unwrap();
                let gradient = Some(to.as_view_mut());
                engine.enqueue_energy_and_gradient(&options, &at, &mut energy, gradient).unwrap();
                found.extend([bits(&first.download(&to).unwrap())]);
                found.push(bits(&first.download(&energy).unwrap()));
                engine.enqueue_energy(layout, &at).unwrap();
                let factor = first.upload(&[T::cast(1.7)]).unwrap();
                let mut to = first.upload(&before::<T>(2 * charge.bodies())).unwrap();
                engine.enqueue_gradient(&options, Some(factor.as_view()), &mut to).unwrap();
                found.push(bits(&first.download(&to).unwrap()));
                let Evaluation { density, energy, area_off_die } =
                    engine.read_evaluation().unwrap();
                found.push(vec![density.overflow.to_bits(), density.max.to_bits()]);
                found.push(vec![energy.to_bits(), area_off_die.to_bits()]);
                engine.compute_force().unwrap();
                found.extend(see(engine).force.iter().map(|of| bits(of)));
                found
            });
            for (k, (one, ranks)) in found[0].iter().zip(&found[1]).enumerate() {
                assert!(one == ranks, "{what}: number {k} of what was found");
            }
        }
    }
}

#[test]
fn gradients_have_the_bits_of_one_device() {
    let _gpu = gpu();
    for charge in [mixed(128, 96, 500, 0.9), mixed(67, 40, 300, 0.8)] {
        for devices in (1..=3).flat_map(places) {
            gradients_like_one::<f32>(&devices, &charge);
            gradients_like_one::<f64>(&devices, &charge);
        }
    }
}

/// A solve or a force that fails leaves nothing of the one before to be read.
#[test]
fn failed_stages_leave_nothing_to_read() {
    let _gpu = gpu();
    let charge = mixed(64, 64, 100, 1.0);
    let [x, y] = positions::<f32>(&charge, 0.0, 0);
    for devices in (1..=2).flat_map(places) {
        let mut engine = several::<f32>(&devices, &charge);
        let (gpu, pipeline) = (engine.gpu().clone(), engine.choice().pipeline);
        let want = engine.evaluate(&x, &y).unwrap();
        // Waiting cannot be captured.
        // SAFETY: the graph is never launched: the capture fails.
        let failed =
            unsafe { Graph::capture::<EngineError>(&gpu, || engine.solve(pipeline).map(|_| ())) };
        assert!(failed.is_err());
        let mut map = Map::filled(64, 64, 0.0);
        let refused = engine.read_map(MapKind::Potential, &mut map);
        assert!(matches!(refused, Err(EngineError::OutOfOrder { .. })), "{refused:?}");
        assert_eq!(engine.evaluate(&x, &y).unwrap(), want);
        // SAFETY: as above.
        let failed = unsafe { Graph::capture::<EngineError>(&gpu, || engine.compute_force()) };
        assert!(failed.is_err());
        let mut force = [vec![0.0; x.len()], vec![0.0; x.len()]];
        let [fx, fy] = &mut force;
        let refused = engine.read_force(fx, fy);
        assert!(matches!(refused, Err(EngineError::OutOfOrder { .. })), "{refused:?}");
        assert_eq!(engine.evaluate(&x, &y).unwrap(), want);
    }
}

#[test]
fn refusals_leave_multi_device_engines_usable() {
    let _gpu = gpu();
    let charge = mixed(64, 64, 100, 1.0);
    let mut engine = several::<f32>(&[0, 0], &charge);
    assert_eq!(engine.descriptor().engine, "cuda");
    assert!(engine.descriptor().device.starts_with("2 x "), "{}", engine.descriptor().device);
    assert!(matches!(engine.enqueue_step(), Err(EngineError::OutOfOrder { .. })));
    assert!(matches!(engine.evaluate(&[0.0], &[0.0]), Err(EngineError::Length { .. })));
    let [x, mut y] = positions::<f32>(&charge, 0.0, 0);
    let good = y.clone();
    y[5] = f32::NAN;
    assert!(matches!(
        engine.evaluate(&x, &y),
        Err(EngineError::NotFinite { what: "y of body", index: 5, .. })
    ));
    let other = mixed(64, 32, 100, 1.0);
    assert!(matches!(engine.set_charge(Arc::new(other)), Err(EngineError::OtherGrid { .. })));
    let peers = engine.peers().clone();
    let fenced = Cells::new().together(&fences::options());
    let fenced = CudaEngine::<f32>::on_peers(&peers, fenced, &EngineOptions::default());
    assert!(fenced.err().unwrap().to_string().contains("fence regions"));
    engine.evaluate(&x, &good).unwrap();
    let slots = engine.use_slots(true).unwrap_err().to_string();
    assert!(slots.contains("on 2 devices: expected one"), "{slots}");
    // SAFETY: the graph is never launched: the capture fails.
    let step = unsafe { Graph::capture::<EngineError>(peers.gpu(0), || engine.enqueue_step()) };
    let step = step.err().unwrap().to_string();
    assert!(step.contains("on 2 devices: expected one"), "{step}");
    let first = engine.evaluate(&x, &good).unwrap();
    assert_eq!(engine.evaluate(&x, &good).unwrap(), first);
}

/// Two threads, each with an engine on the same ranks: what one asks ranks to wait for does not let
/// the other's go on.
#[test]
fn two_threads_step_on_the_same_ranks() {
    let _gpu = gpu();
    for devices in (2..=3).flat_map(places) {
        let peers = Peers::open(&devices).unwrap();
        let charges = [mixed(128, 96, 700, 0.9), mixed(64, 256, 300, 0.8)];
        let steps = |charge: &Charge, count: u64| -> Vec<(Evaluation, Vec<Vec<f32>>)> {
            let options = EngineOptions::default();
            let mut engine = CudaEngine::<f32>::on_peers(&peers, charge.clone(), &options).unwrap();
            let step = |turn: u64| {
                let shift = (turn % 3) as f64 * 5.0 * charge.grid().bin_x();
                let at = positions::<f32>(charge, shift, turn);
                let found = engine.evaluate(&at[0], &at[1]).unwrap();
                let seen = see(&mut engine);
                (found, seen.maps.into_iter().chain(seen.force).collect())
            };
            (0..count).map(step).collect()
        };
        let alone = charges.each_ref().map(|charge| steps(charge, 30));
        let together = std::thread::scope(|scope| {
            let steps = &steps;
            let threads = charges.each_ref().map(|charge| scope.spawn(move || steps(charge, 30)));
            threads.map(|thread| thread.join().unwrap())
        });
        assert!(together == alone, "on {devices:?}");
    }
}

/// Far more work on one rank than on the other, before they work together.
/// What was written to a rank's own share is sent before bodies are ordered by it.
#[test]
fn an_order_asked_for_is_by_the_positions_written() {
    let (gpu, charge) = (gpu(), mixed(128, 96, 5000, 0.9));
    let mut one = CudaEngine::<f32>::on(&gpu, charge.clone(), &EngineOptions::default()).unwrap();
    for devices in places(2) {
        let mut ranks = several::<f32>(&devices, &charge);
        // So far from where they were ordered that the next order is due.
        for shift in [0.0, 40.0] {
            let [x, y] = positions::<f32>(&charge, shift * charge.grid().bin_x(), 1);
            ranks.evaluate(&x, &y).unwrap();
        }
        let orders = ranks.bodies().orders();
        let at = positions::<f32>(&charge, 40.0 * charge.grid().bin_x(), 2);
        for rank in 0..2 {
            let gpu = ranks.peers().gpu(rank).clone();
            let corners = gpu.upload(&pairs(&at[0], &at[1])).unwrap();
            gpu.copy(&corners, ranks.positions_device_mut(rank)).unwrap();
        }
        ranks.order_if_due().unwrap();
        assert!(ranks.bodies().orders() > orders, "an order was due");
        ranks.enqueue_step().unwrap();
        let now = ranks.read_evaluation().unwrap();
        let want = one.evaluate(&at[0], &at[1]).unwrap();
        let (seen, wanted) = (see(&mut ranks), see(&mut one));
        let what = format!("on {devices:?}");
        same(&gpu, &what, &charge, &at, (&seen, &wanted), (now, want));
    }
}

/// Two threads have a device each for themselves; one waits for the other, which drops memory of
/// the first one's device.
#[test]
fn memory_of_a_device_that_another_thread_has_is_freed_later() {
    const PATIENCE: Duration = Duration::from_secs(20);
    // Two handles of one device are as separate as two devices.
    let gpus = [Gpu::open(0).unwrap(), Gpu::open(0).unwrap()];
    // SAFETY: nothing is enqueued to the streams but work of `on_stream`.
    let streams = gpus.each_ref().map(|gpu| unsafe { interop::stream(gpu) });
    let theirs = gpus[1].zeros::<f32>(1 << 20).unwrap();
    let (begun, other_has_begun) = mpsc::channel();
    let (dropped, is_dropped) = mpsc::channel();
    let [first, second] = gpus.clone();
    let [own, other] = streams;
    let waiting = spawn(move || {
        let wait = || {
            begun.send(()).unwrap();
            is_dropped.recv_timeout(PATIENCE)
        };
        // SAFETY: the stream lives.
        unsafe { interop::on_stream(&second, other.cu_stream(), wait) }.unwrap()
    });
    other_has_begun.recv_timeout(PATIENCE).unwrap();
    let body = || {
        drop(theirs);
        dropped.send(()).unwrap();
    };
    // SAFETY: the stream lives.
    unsafe { interop::on_stream(&first, own.cu_stream(), body) }.unwrap();
    waiting.join().unwrap().expect("no deadlock");
    gpus[1].synchronize().unwrap();
}

#[test]
fn steps_wait_for_a_rank_far_behind() {
    let _alone = gpu_alone();
    let charge = mixed(64, 64, 300, 0.9);
    let mut engine = several::<f32>(&places(2).pop().unwrap(), &charge);
    let at = positions::<f32>(&charge, 0.0, 1);
    let want = engine.evaluate(&at[0], &at[1]).unwrap();
    let late = engine.peers().gpu(1).clone();
    let from = late.zeros::<u8>(1 << 30).unwrap();
    let mut to = late.zeros::<u8>(1 << 30).unwrap();
    // Some five seconds at 4 TB/s, in one launch: of single copies only a thousand can be under
    // way.
    let copies = || (0..10_000).try_for_each(|_| late.copy(&from, to.as_view_mut()));
    // SAFETY: the arrays live until all of it has run.
    let mut copies = unsafe { Graph::capture(&late, copies) }.unwrap();
    copies.launch().unwrap();
    engine.enqueue_step().unwrap();
    assert_eq!(engine.read_evaluation().unwrap(), want);
}

/// One device without room for its share: an error that says so, at once, and nothing kept.
#[test]
fn device_out_of_memory_is_an_error() {
    let gpu = gpu_alone();
    let charge = some(1000, [1024, 1024], 0, 1.0);
    let devices = places(2).pop().unwrap();
    let peers = Peers::open(&devices).unwrap();
    let last = peers.gpu(1).clone();
    let kept = fill(&last);
    let start = std::time::Instant::now();
    let make = || CudaEngine::<f64>::on_peers(&peers, charge.clone(), &EngineOptions::default());
    assert!(matches!(make().err(), Some(EngineError::OutOfMemory { .. })));
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    drop(kept);
    last.synchronize().unwrap();
    let mut engine = make().unwrap();
    let mut one = CudaEngine::<f64>::on(&gpu, charge.clone(), &EngineOptions::default()).unwrap();
    let at = positions::<f64>(&charge, 0.0, 0);
    let (now, want) =
        (engine.evaluate(&at[0], &at[1]).unwrap(), one.evaluate(&at[0], &at[1]).unwrap());
    assert_eq!(now.density, want.density);
}
