//! The CUDA engine against the CPU's in float64, and what it refuses.

use crate::common::bodies::{flat, mixed};
use crate::common::{pairs, relative_rms, wide};
use crate::device::{close, gpu, gpu_alone};
use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::cpu::engine::CpuEngine;
use placefield::cpu::solve::{Fields, Solver};
use placefield::cuda::{Bodies, MOST_STEPS_PER_ORDER};
use placefield::cuda::{CudaEngine, CudaReal, Gpu};
use placefield::engine::{
    DensityStats, Engine, EngineError, EngineOptions, Evaluation, Layout, MapKind, Pipeline, Timed,
};
use placefield::grid::{BinGrid, Map, Rect};
use placefield::{Precision, Real};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The charge's own positions, each moved by up to `shift`, as `T` holds them.
pub(crate) fn positions<T: Real>(charge: &Charge, shift: f64, seed: u64) -> [Vec<T>; 2] {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    [charge.initial_x(), charge.initial_y()].map(|values| {
        values.iter().map(|v| T::cast(v + shift * (2.0 * random.random::<f64>() - 1.0))).collect()
    })
}

/// Overflow and maximum as a caller reads them from the device.
fn taken(engine: &mut CudaEngine<f32>) -> DensityStats {
    let (statistics, energy) = engine.evaluation_device(0);
    let first: [u64; 3] =
        engine.gpu().download(statistics.slice(0..3)).unwrap().try_into().unwrap();
    let energy = engine.gpu().download(energy).unwrap()[0];
    engine.take_evaluation(first.into(), energy).unwrap().density
}

#[test]
fn an_exact_density_leaves_the_statistics_of_the_step() {
    let (gpu, charge) = (gpu(), mixed(64, 96, 5000, 0.9));
    let [x, y] = positions::<f32>(&charge, 40.0, 7);
    let options = EngineOptions::default();
    let mut engine = CudaEngine::<f32>::on(&gpu, charge, &options).unwrap();
    engine.evaluate(&x, &y).unwrap();
    let step = taken(&mut engine);
    assert_ne!(engine.exact_density().unwrap(), step);
    assert_eq!(taken(&mut engine), step);
}

#[test]
fn timing_an_order_leaves_slot_order_to_the_caller() {
    let (gpu, charge) = (gpu(), mixed(64, 96, 5000, 0.9));
    let [x, y] = positions::<f32>(&charge, 40.0, 7);
    let options = EngineOptions::default();
    let mut engine = CudaEngine::<f32>::on(&gpu, charge, &options).unwrap();
    engine.set_positions(&x, &y).unwrap();
    assert!(engine.order_time(1).unwrap() > 0.0);
    engine.use_slots(true).unwrap();
    let slots = gpu.download(engine.positions_device(0)).unwrap();
    assert!(matches!(engine.order_time(1), Err(EngineError::OutOfOrder { .. })));
    assert!(engine.is_in_slots() && gpu.download(engine.positions_device(0)).unwrap() == slots);
}

/// Relative error allowed for sums of areas, and with it for all that follows.
fn bound<T: Real>() -> f64 {
    if T::PRECISION == Precision::F32 { 2e-6 } else { 1e-12 }
}

/// Last results of an engine, in the order of [`MapKind::ALL`], then forces.
pub(crate) struct Seen<T> {
    pub(crate) maps: Vec<Vec<T>>,
    pub(crate) force: [Vec<T>; 2],
}

pub(crate) fn see<T: Real>(engine: &mut dyn Engine<T>) -> Seen<T> {
    let (grid, bodies) = (engine.charge().grid(), engine.charge().bodies());
    let mut map = Map::filled(engine.charge().regions() * grid.nx(), grid.ny(), T::nan());
    let mut read = |kind| {
        engine.read_map(kind, &mut map).unwrap();
        map.as_slice().to_vec()
    };
    let maps = MapKind::ALL.into_iter().map(&mut read).collect();
    let mut force = [vec![T::nan(); bodies], vec![T::nan(); bodies]];
    let [fx, fy] = &mut force;
    engine.read_force(fx, fy).unwrap();
    Seen { maps, force }
}

impl<T: Real> Seen<T> {
    fn is_near(&self, want: &Seen<f64>, bound: f64, what: &str) {
        let forces = self.force.iter().zip(&want.force);
        for (k, (got, want)) in self.maps.iter().zip(&want.maps).chain(forces).enumerate() {
            let error = relative_rms(&wide(got), want);
            let name = MapKind::ALL.get(k).map_or("force", |kind| kind.name());
            assert!(error <= bound, "{what}: {name} is off by {error:e}");
        }
    }

    fn has_bits_of(&self, other: &Seen<T>, what: &str) {
        assert!(self.maps == other.maps, "{what}: maps");
        assert!(self.force == other.force, "{what}: forces");
    }
}

fn stats_near(what: &str, got: DensityStats, want: DensityStats, bound: f64) {
    close(&format!("{what}: overflow"), got.overflow, want.overflow, 20.0 * bound);
    close(&format!("{what}: maximum"), got.max, want.max, 20.0 * bound);
}

#[test]
fn the_default_is_three_pass_if_it_has_kernels() {
    let gpu = gpu();
    let choice = |nx, ny, pipeline| {
        let options = EngineOptions::default().pipeline(pipeline);
        let mut engine = CudaEngine::<f32>::on(&gpu, mixed(nx, ny, 100, 0.9), &options).unwrap();
        let [x, y] = positions::<f32>(engine.charge(), 0.0, 0);
        engine.evaluate(&x, &y).unwrap();
        let choice = engine.choice().clone();
        (choice.pipeline, engine.path(choice.pipeline), choice.reason)
    };
    let (pipeline, path, reason) = choice(128, 64, None);
    assert_eq!((pipeline, path), (Pipeline::ThreePass, "three-pass"), "{reason}");
    let (pipeline, path, reason) = choice(64, 97, None);
    assert_eq!((pipeline, path), (Pipeline::Fused, "fused"), "{reason}");
    assert!(reason.contains("64 x 97") && reason.contains("no lines of 97"), "{reason}");
    for asked in Pipeline::ALL {
        let found = choice(128, 64, Some(asked));
        assert_eq!(found, (asked, asked.name(), "asked for".to_owned()));
    }
    // The pipeline that replaces the one asked for is named too.
    let (pipeline, path, _) = choice(64, 97, Some(Pipeline::ThreePass));
    assert_eq!((pipeline, path), (Pipeline::ThreePass, "fused"));
}

/// Every stage of every pipeline, one by one, against the CPU at the same positions.
pub(crate) fn agrees<T: CudaReal>(gpu: &Gpu, charge: &Charge) {
    let (nx, ny) = (charge.grid().nx(), charge.grid().ny());
    let mut cpu = CpuEngine::<f64>::new(charge.clone(), &EngineOptions::default()).unwrap();
    let mut engine = CudaEngine::<T>::on(gpu, charge.clone(), &EngineOptions::default()).unwrap();
    // Where the bodies are ordered, then up to 10 bins from there.
    for shift in [0.0, 10.0 * charge.grid().bin_x()] {
        let [x, y] = positions::<T>(charge, shift, 3);
        cpu.set_positions(&wide(&x), &wide(&y)).unwrap();
        engine.set_positions(&x, &y).unwrap();
        let what = format!("{nx} x {ny} {} {shift}", T::PRECISION);
        let want = cpu.compute_density().unwrap();
        stats_near(&what, engine.compute_density().unwrap(), want, bound::<T>());
        let want = cpu.exact_density().unwrap();
        stats_near(&what, engine.exact_density().unwrap(), want, bound::<T>());
        let energy = cpu.solve(Pipeline::RowColumn).unwrap();
        cpu.compute_force().unwrap();
        let want = see(&mut cpu);
        let mut regions = [(); 2].map(|()| vec![Evaluation::default(); charge.regions()]);
        cpu.read_regions(&mut regions[0]).unwrap();
        for pipeline in Pipeline::ALL {
            let what = format!("{what} {pipeline}");
            close(&what, engine.solve(pipeline).unwrap(), energy, 4.0 * bound::<T>());
            engine.compute_force().unwrap();
            see(&mut engine).is_near(&want, 2.0 * bound::<T>(), &what);
            engine.read_regions(&mut regions[1]).unwrap();
            for (want, got) in regions[0].iter().zip(&regions[1]) {
                stats_near(&what, got.density, want.density, bound::<T>());
                close(&what, got.energy, want.energy, 4.0 * bound::<T>());
                close(&what, got.area_off_die, want.area_off_die, 4.0 * bound::<T>());
            }
            let times = engine.times();
            assert!(times.density > 0.0 && times.forward > 0.0 && times.inverse > 0.0);
            assert!(times.force > 0.0 && times.scaling == 0.0);
        }
    }
}

#[test]
fn area_off_the_die_is_overflow_wherever_positions_are() {
    let gpu = gpu();
    let charge = mixed(64, 64, 100, 1.0);
    let (n, die) = (charge.bodies(), charge.grid().die());
    let mut cpu = CpuEngine::<f64>::new(charge.clone(), &EngineOptions::default()).unwrap();
    let mut engine =
        CudaEngine::<f32>::on(&gpu, charge.clone(), &EngineOptions::default()).unwrap();
    let all = charge.movable_area();
    let on_die = |low: f64, high: f64, size: &[f64], at: &[f32]| -> Vec<f32> {
        let clamped =
            at.iter().zip(size).map(|(at, size)| at.clamp(low as f32, (high - size) as f32));
        clamped.collect()
    };
    let [x, y] = positions::<f32>(&charge, 20.0, 4);
    let clamped =
        [on_die(die.xl, die.xh, charge.width(), &x), on_die(die.yl, die.yh, charge.height(), &y)];
    let far = [vec![-1e6; n], y.clone()];
    for (at, share) in [([x, y], None), (clamped, Some(0.0)), (far, Some(1.0))] {
        let want = cpu.evaluate(&wide(&at[0]), &wide(&at[1])).unwrap();
        let found = engine.evaluate(&at[0], &at[1]).unwrap();
        match share {
            Some(0.0) => assert_eq!(found.area_off_die, 0.0),
            Some(share) => close("area", found.area_off_die, share * all, 1e-6),
            None => assert!(want.area_off_die > 0.0 && want.area_off_die < all),
        }
        // What rounding alone takes off the die counts in f64 only.
        if share != Some(0.0) {
            close("area off the die", found.area_off_die, want.area_off_die, 2e-6);
        }
        close("overflow", found.density.overflow, want.density.overflow, 2e-5);
        let exact = engine.exact_density().unwrap();
        close("exact", exact.overflow, cpu.exact_density().unwrap().overflow, 2e-5);
        // The same from slot order, and from an array of the caller's.
        engine.use_slots(true).unwrap();
        assert_eq!(engine.evaluate_on_device().unwrap(), found);
        engine.use_slots(false).unwrap();
        let corners = gpu.upload(&[&at[0][..], &at[1]].concat()).unwrap();
        engine.enqueue_energy(Layout::Halves, &corners).unwrap();
        assert_eq!(engine.read_evaluation().unwrap(), found);
    }
}

#[test]
fn every_stage_matches_the_cpu() {
    let gpu = gpu();
    for (nx, ny) in [(64, 64), (100, 37), (33, 128), (7, 200), (1, 1), (5, 3)] {
        for (fillers, target) in [(0, 1.0), (3 * nx * ny, 0.8)] {
            let charge = mixed(nx, ny, fillers, target);
            assert!(nx * ny < 100 || charge.macros().is_empty() == (target == 1.0));
            agrees::<f32>(&gpu, &charge);
            agrees::<f32>(&gpu, &charge);
            agrees::<f64>(&gpu, &charge);
        }
    }
}

#[test]
fn designs_without_bodies_have_a_field() {
    let gpu = gpu();
    let grid = BinGrid::new(Rect::at(2.0, 3.0, 40.0, 90.0), 20, 30).unwrap();
    let fixed = [Rect::at(4.0, 10.0, 7.0, 30.0)];
    let none = Rectangles::default().fixed(&fixed).row_height(1.0);
    let charge = Charge::from_rectangles(grid, &none, &ChargeOptions::default()).unwrap();
    assert_eq!(charge.bodies(), 0);
    agrees::<f32>(&gpu, &charge);
    agrees::<f64>(&gpu, &charge);
    let mut engine = CudaEngine::<f32>::on(&gpu, charge, &EngineOptions::default()).unwrap();
    for _ in 0..3 {
        assert!(engine.evaluate(&[], &[]).unwrap().energy > 0.0);
    }
    assert!(engine.force_device(0).unwrap().is_empty());
    engine.use_slots(true).unwrap();
    engine.evaluate_on_device().unwrap();
}

fn replay_is_stage_by_stage<T: CudaReal>(gpu: &Gpu) {
    let charge = mixed(96, 80, 9000, 0.9);
    let [x, y] = positions::<T>(&charge, 0.0, 0);
    for pipeline in Pipeline::ALL {
        let options = EngineOptions::default().pipeline(pipeline);
        let mut engine = CudaEngine::<T>::on(gpu, charge.clone(), &options).unwrap();
        engine.set_positions(&x, &y).unwrap();
        let density = engine.compute_density().unwrap();
        let energy = engine.solve(pipeline).unwrap();
        engine.compute_force().unwrap();
        let want = see(&mut engine);
        // The first runs as plain launches, the others are replays.
        for k in 0..3 {
            let found = engine.evaluate(&x, &y).unwrap();
            assert_eq!((found.density, found.energy), (density, energy), "{pipeline} {k}");
            see(&mut engine).has_bits_of(&want, &format!("{pipeline} {k}"));
        }
        // An exact density in between takes nothing away.
        engine.enqueue_step().unwrap();
        assert_ne!(engine.exact_density().unwrap(), density);
        let found = engine.read_evaluation().unwrap();
        assert_eq!((found.density, found.energy), (density, energy));
        see(&mut engine).has_bits_of(&want, "after an exact density");
        // Neither does timing.
        let times = engine.step_times(pipeline, 2).unwrap().unwrap();
        assert!(times.step_graph > times.solve_graph && times.solve_graph > 0.0, "{times:?}");
        // Plain launches wait for the host, which may have others to run.
        assert!(times.step_plain > 0.0 && times.solve_plain > 0.0, "{times:?}");
        see(&mut engine).has_bits_of(&want, "after timing");
        assert_eq!(engine.read_evaluation().unwrap(), found);
    }
}

#[test]
fn replayed_steps_equal_single_stages() {
    let gpu = gpu();
    replay_is_stage_by_stage::<f32>(&gpu);
    replay_is_stage_by_stage::<f64>(&gpu);
}

#[test]
fn the_same_positions_give_the_same_bits() {
    let gpu = gpu();
    let charge = mixed(90, 70, 5000, 1.0);
    let [x, y] = positions::<f32>(&charge, 0.0, 0);
    let fresh = |far: bool| {
        let mut engine =
            CudaEngine::<f32>::on(&gpu, charge.clone(), &EngineOptions::default()).unwrap();
        if far {
            let [x, y] = positions::<f32>(&charge, 300.0, 5);
            for _ in 0..5 {
                engine.evaluate(&x, &y).unwrap();
            }
        }
        let evaluation = engine.evaluate(&x, &y).unwrap();
        (evaluation, see(&mut engine))
    };
    let (evaluation, first) = fresh(false);
    for k in 0..6 {
        let (again, seen) = fresh(k % 2 == 1);
        assert_eq!(again, evaluation);
        seen.has_bits_of(&first, &format!("run {k}"));
    }
    let mut cpu = CpuEngine::<f64>::new(charge.clone(), &EngineOptions::default()).unwrap();
    cpu.evaluate(&wide(&x), &wide(&y)).unwrap();
    first.is_near(&see(&mut cpu), 4e-6, "against the CPU");
}

#[test]
fn cells_that_jump_are_ordered_anew() {
    let gpu = gpu();
    let charge = mixed(128, 96, 20_000, 1.0);
    let mut cpu = CpuEngine::<f64>::new(charge.clone(), &EngineOptions::default()).unwrap();
    let mut engine =
        CudaEngine::<f32>::on(&gpu, charge.clone(), &EngineOptions::default()).unwrap();
    let many = charge.bodies() as u64 / 100;
    for jump in 0..4 {
        let [x, y] = positions::<f32>(&charge, if jump == 0 { 0.0 } else { 400.0 }, jump);
        let want = cpu.evaluate(&wide(&x), &wide(&y)).unwrap();
        let maps = see(&mut cpu);
        // Far from where they were ordered, then in an order of their own.
        for again in [false, true] {
            let found = engine.evaluate(&x, &y).unwrap();
            let what = format!("jump {jump}, again {again}");
            assert_eq!(engine.outside_halo() > many, jump > 0 && !again, "{what}");
            stats_near(&what, found.density, want.density, bound::<f32>());
            see(&mut engine).is_near(&maps, 4e-6, &what);
        }
    }
}

#[test]
fn jumps_are_reordered_without_being_queried() {
    let gpu = gpu();
    let charge = mixed(128, 96, 20_000, 1.0);
    let orders = |engine: &CudaEngine<f32>| engine.bodies().orders();
    let mut engine =
        CudaEngine::<f32>::on(&gpu, charge.clone(), &EngineOptions::default()).unwrap();
    let [x, y] = positions::<f32>(&charge, 0.0, 0);
    engine.set_positions(&x, &y).unwrap();
    for _ in 0..10 {
        engine.enqueue_step().unwrap();
        gpu.synchronize().unwrap();
        assert!(!engine.order_is_due());
    }
    assert_eq!(orders(&engine), 1, "nothing has moved");
    let [x, y] = positions::<f32>(&charge, 400.0, 99);
    let mut fresh = CudaEngine::<f32>::on(&gpu, charge.clone(), &EngineOptions::default()).unwrap();
    let evaluation = fresh.evaluate(&x, &y).unwrap();
    let want = see(&mut fresh);
    engine.set_positions(&x, &y).unwrap();
    for (step, due) in [(0, true), (1, false), (2, false)] {
        engine.enqueue_step().unwrap();
        gpu.synchronize().unwrap();
        assert_eq!(engine.order_is_due(), due, "step {step}");
        assert_eq!(orders(&engine), if step == 0 { 1 } else { 2 }, "step {step}");
        assert_eq!(engine.read_evaluation().unwrap(), evaluation, "step {step}");
        see(&mut engine).has_bits_of(&want, &format!("step {step}"));
    }
    // A host that never waits orders now and then without knowing.
    for _ in 0..2 * MOST_STEPS_PER_ORDER {
        engine.enqueue_step().unwrap();
    }
    assert!((3..=4).contains(&orders(&engine)), "{} orders", orders(&engine));
    assert_eq!(engine.read_evaluation().unwrap(), evaluation);
    see(&mut engine).has_bits_of(&want, "orders later");
}

/// Bodies outside their halo wherever they are ordered, being longer than a tile's
/// surroundings: no order mends that, and none is made in vain.
#[test]
fn bodies_longer_than_halos_cause_no_reorder() {
    let gpu = gpu();
    let grid = BinGrid::new(Rect::at(0.0, 0.0, 640.0, 640.0), 64, 64).unwrap();
    let (width, height) = (vec![195.0; 500], vec![5.0; 500]);
    let x: Vec<f64> = (0..500).map(|i| f64::from(i * 13 % 440)).collect();
    let y: Vec<f64> = (0..500).map(|i| f64::from(i * 29 % 630)).collect();
    let rectangles = Rectangles::movable(&width, &height, &x, &y).row_height(5.0);
    let charge = Charge::from_rectangles(grid, &rectangles, &ChargeOptions::default()).unwrap();
    let [x, y] = positions::<f32>(&charge, 0.0, 0);
    let mut engine = CudaEngine::<f32>::on(&gpu, charge, &EngineOptions::default()).unwrap();
    for _ in 0..20 {
        engine.evaluate(&x, &y).unwrap();
        assert!(engine.outside_halo() > 50, "{} outside", engine.outside_halo());
        assert!(!engine.order_is_due());
    }
    assert_eq!(engine.bodies().orders(), 1);
}

#[test]
fn device_positions_need_no_host_copies() {
    let gpu = gpu_alone();
    let charge = mixed(80, 100, 4000, 1.0);
    let [x, y] = positions::<f32>(&charge, 30.0, 8);
    let mut engine =
        CudaEngine::<f32>::on(&gpu, charge.clone(), &EngineOptions::default()).unwrap();
    let evaluation = engine.evaluate(&x, &y).unwrap();
    let want = see(&mut engine);

    let mut other = CudaEngine::<f32>::on(&gpu, charge.clone(), &EngineOptions::default()).unwrap();
    let new = gpu.upload(&pairs(&x, &y)).unwrap();
    let [x0, y0] = positions::<f32>(&charge, 0.0, 0);
    other.set_positions(&x0, &y0).unwrap();
    for _ in 0..3 {
        gpu.copy(&new, other.positions_device_mut(0)).unwrap();
        assert!(other.force_device(0).is_err(), "stale");
        other.enqueue_step().unwrap();
        let forces = gpu.download(other.force_device(0).unwrap()).unwrap();
        assert!(forces == pairs(&want.force[0], &want.force[1]));
        assert!(gpu.download(other.potential_device().unwrap()).unwrap() == want.maps[1]);
        assert!(gpu.download(other.field_device().unwrap().1).unwrap() == want.maps[3]);
        assert_eq!(other.read_evaluation().unwrap(), evaluation);
    }
    // From two arrays it is the same.
    let (new_x, new_y) = (gpu.upload(&x).unwrap(), gpu.upload(&y).unwrap());
    other.set_positions_device(&new_x, &new_y).unwrap();
    assert!(other.force_device(0).is_err(), "stale");
    assert_eq!(other.evaluate_on_device().unwrap(), evaluation);
    assert!(other.set_positions_device(&new_x, &new).is_err(), "a wrong length");
    // From here on nothing is allocated.
    gpu.synchronize().unwrap();
    let free = gpu.memory().unwrap().free;
    for _ in 0..2 * MOST_STEPS_PER_ORDER {
        other.enqueue_step().unwrap();
    }
    gpu.synchronize().unwrap();
    assert_eq!(gpu.memory().unwrap().free, free);
    // On another thread it goes on as before.
    let seen = std::thread::spawn(move || {
        other.evaluate(&x, &y).unwrap();
        see(&mut other)
    });
    seen.join().unwrap().has_bits_of(&want, "on another thread");
}

#[test]
fn slots_reorder_the_same_values() {
    let gpu = gpu();
    let charge = mixed(80, 100, 4000, 0.9);
    let n = charge.bodies();
    let [x, y] = positions::<f64>(&charge, 0.0, 0);
    let mut engine =
        CudaEngine::<f64>::on(&gpu, charge.clone(), &EngineOptions::default()).unwrap();
    let evaluation = engine.evaluate(&x, &y).unwrap();
    let exact = engine.exact_density().unwrap();
    let want = see(&mut engine);
    let mut order = engine.bodies().permutation().unwrap();
    assert!(engine.reorder_slots(&mut order).is_err(), "not in slots yet");

    engine.use_slots(true).unwrap();
    assert!(engine.is_in_slots());
    for _ in 0..3 {
        assert_eq!(engine.evaluate_on_device().unwrap(), evaluation);
        see(&mut engine).has_bits_of(&want, "in slots");
    }
    assert_eq!(engine.exact_density().unwrap(), exact);
    assert!(!engine.order_is_due());
    // A new order from elsewhere: an array of the caller's follows its bodies.
    let [x1, y1] = positions::<f64>(&charge, 500.0, 4);
    engine.evaluate(&x1, &y1).unwrap();
    assert!(
        engine.order_is_due() && engine.outside_halo() > 0,
        "{} outside",
        engine.outside_halo()
    );
    engine.evaluate(&x1, &y1).unwrap();
    assert!(engine.order_is_due(), "in slots the caller makes it");
    let mut mine = gpu.zeros::<f64>(n).unwrap();
    let weights = gpu.upload(charge.width()).unwrap();
    engine.bodies().rearrange(engine.bodies().id_of(), &weights, &mut mine).unwrap();
    let mut from = engine.bodies().permutation().unwrap();
    let other = Bodies::<f64>::new(&gpu, charge.clone()).unwrap();
    let mut of_other = other.permutation().unwrap();
    assert!(engine.reorder_slots(&mut of_other).is_err(), "of other bodies");
    engine.reorder_slots(&mut from).unwrap();
    assert!(engine.force_device(0).is_err(), "forces of the order before");
    let (mut follows, mut home) = (gpu.zeros(n).unwrap(), gpu.zeros(n).unwrap());
    engine.bodies().rearrange(&from, &mine, &mut follows).unwrap();
    let bodies = engine.bodies();
    bodies.rearrange(bodies.slot_of().unwrap(), &follows, &mut home).unwrap();
    assert!(gpu.download(&home).unwrap() == charge.width());
    engine.evaluate_on_device().unwrap();
    assert_eq!(engine.outside_halo(), 0);
    assert!(!engine.order_is_due());
    // The trait speaks the caller's order, and there is a way back.
    assert_eq!(engine.evaluate(&x, &y).unwrap(), evaluation);
    see(&mut engine).has_bits_of(&want, "given again");
    engine.use_slots(false).unwrap();
    assert_eq!(engine.evaluate_on_device().unwrap(), evaluation);
    see(&mut engine).has_bits_of(&want, "back in the caller's order");
}

fn rms(values: &[f64]) -> f64 {
    (values.iter().map(|v| v * v).sum::<f64>() / values.len() as f64).sqrt()
}

#[test]
fn a_flat_density_is_solved_in_single_precision() {
    let gpu = gpu();
    for n in [64, 96, 512] {
        let charge = flat(n);
        let background = charge.background();
        let mut exact = Solver::<f64>::new(&charge.grid(), Pipeline::Fused, 2);
        for pipeline in Pipeline::ALL {
            let options = EngineOptions::default().pipeline(pipeline);
            let mut engine = CudaEngine::<f32>::on(&gpu, charge.clone(), &options).unwrap();
            let [x, y] = positions::<f32>(&charge, 0.0, 0);
            engine.evaluate(&x, &y).unwrap();
            // The map that is solved is the one that is read, less the background.
            let centered = gpu.download(engine.centered_density_device().unwrap()).unwrap();
            let centered = Map::from_vec(n, n, wide(&centered));
            let got: Vec<Vec<f64>> = see(&mut engine).maps.iter().map(|map| wide(map)).collect();
            let back = |v: &f64| f64::from((v + background) as f32);
            assert!(got[0] == centered.as_slice().iter().map(back).collect::<Vec<f64>>());
            let mut want = Fields::new(n, n);
            exact.solve(&centered, &mut want);
            let want = [&want.potential, &want.field_x, &want.field_y];
            // As if every rounding of ρ were one of its longest wave.
            let rounding = f64::from(f32::EPSILON) * rms(centered.as_slice());
            let wave = n as f64 / std::f64::consts::PI;
            for ((got, want), most) in got[1..].iter().zip(want).zip([wave * wave, wave, wave]) {
                let want = want.as_slice();
                let (error, most) = (relative_rms(got, want), rounding * most / rms(want));
                assert!(error <= most, "{n} x {n} by {pipeline}: {error:e} of {most:e}");
            }
        }
    }
}

#[test]
fn stale_results_and_bad_shapes_are_refused() {
    let gpu = gpu();
    let charge = mixed(24, 20, 100, 1.0);
    let n = charge.bodies();
    let [x, y] = positions::<f32>(&charge, 0.0, 0);
    let mut engine = CudaEngine::<f32>::on(&gpu, charge, &EngineOptions::default()).unwrap();
    let mut map = Map::filled(24, 20, 0.0);
    let mut short = vec![0.0; n - 1];
    assert!(engine.compute_density().is_err());
    assert!(engine.enqueue_step().is_err());
    assert!(engine.use_slots(true).is_err());
    assert!(engine.step_times(Pipeline::Fused, 1).is_err());
    engine.set_positions(&x, &y).unwrap();
    assert!(engine.solve(Pipeline::Fused).is_err());
    let density = engine.compute_density().unwrap();
    assert!(engine.read_evaluation().is_err());
    engine.read_map(MapKind::Density, &mut map).unwrap();
    let error = engine.read_map(MapKind::FieldX, &mut map).unwrap_err();
    assert_eq!(error.to_string(), "field_x was asked for before the field was solved");
    let energy = engine.solve(Pipeline::Fused).unwrap();
    assert!(engine.read_force(&mut vec![0.0; n], &mut vec![0.0; n]).is_err());
    let found = engine.read_evaluation().unwrap();
    assert_eq!((found.density, found.energy), (density, energy));
    engine.compute_force().unwrap();
    let error = engine.read_force(&mut short, &mut vec![0.0; n]).unwrap_err();
    assert_eq!(error.to_string(), format!("x forces: {} values, expected {n}", n - 1));
    let mut wrong = Map::filled(20, 23, 0.0);
    assert!(engine.read_map(MapKind::FieldX, &mut wrong).is_err());
    // None of that took the forces away; new positions do, those that are refused too.
    engine.read_force(&mut vec![0.0; n], &mut vec![0.0; n]).unwrap();
    assert!(engine.evaluate(&x, &short).is_err());
    let mut bad = y.clone();
    bad[1] = f32::NAN;
    let error = engine.evaluate(&x, &bad).unwrap_err();
    assert_eq!(error.to_string(), "y of body 1: NaN: expected a finite number");
    for positions in [&bad, &y] {
        engine.evaluate(&x, &y).unwrap();
        assert_eq!(engine.set_positions(&x, positions).is_ok(), positions == &y);
        assert!(engine.read_force(&mut vec![0.0; n], &mut vec![0.0; n]).is_err());
        assert!(engine.read_map(MapKind::Density, &mut map).is_err());
    }
    let corners = engine.gpu().upload(&x).unwrap();
    engine.evaluate(&x, &y).unwrap();
    assert!(engine.enqueue_energy(Layout::Halves, &corners).is_err());
    assert!(engine.read_evaluation().is_err() && engine.potential_device().is_err());
    engine.evaluate(&x, &y).unwrap();
}

#[test]
fn a_full_device_is_an_error_and_stays_usable() {
    let gpu = gpu_alone();
    let charge = mixed(64, 64, 0, 1.0);
    let [x, y] = positions::<f64>(&charge, 0.0, 0);
    let big = BinGrid::new(charge.grid().die(), 4096, 4096).unwrap();
    let none = Rectangles::default().row_height(1.0);
    let big = Charge::from_rectangles(big, &none, &ChargeOptions::default()).unwrap();
    // The engine would take some 3 GiB; leave 1.
    let free = gpu.memory().unwrap().free;
    let hog = gpu.zeros::<u8>(free - (1 << 30)).unwrap();
    gpu.synchronize().unwrap();
    let error =
        CudaEngine::<f64>::on(&gpu, big.clone(), &EngineOptions::default()).err().expect("no room");
    assert!(matches!(error, EngineError::OutOfMemory { .. }), "{error}");
    drop(hog);
    gpu.synchronize().unwrap();
    CudaEngine::<f64>::on(&gpu, big, &EngineOptions::default()).unwrap();
    let mut engine = CudaEngine::<f64>::on(&gpu, charge, &EngineOptions::default()).unwrap();
    engine.evaluate(&x, &y).unwrap();
}

#[test]
fn missing_devices_are_errors() {
    let charge = mixed(8, 8, 0, 1.0);
    let error =
        CudaEngine::<f32>::new(charge, &EngineOptions::default(), 4096).err().expect("no device");
    let message = error.to_string();
    assert!(message.contains("CUDA") && !message.contains('\n'), "{message}");
}
