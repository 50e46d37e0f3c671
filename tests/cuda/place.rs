//! The placer's operators on a device against those on the CPU: wirelength,
//! its gradient, the descent's steps and sums.

use crate::arrays::new_stream;
use crate::common::{golden, numbers, relative_rms, rounded, wide};
use crate::device::{close, gpu, gpu_alone};
use placefield::charge::{Charge, ChargeOptions};
use placefield::cpu::engine::CpuEngine;
use placefield::cpu::wirelength::CpuWirelength;
use placefield::cuda::interop::cudarc::driver::sys;
use placefield::cuda::interop::{self, DeviceCells, DeviceTerm, on_stream};
use placefield::cuda::{
    CudaBackend, CudaEngine, CudaError, CudaReal, CudaWirelength, DeviceVec, Gpu, Graph,
};
use placefield::design::{Design, Nets, NodeKind, Nodes, Orientation, Placement};
use placefield::engine::{Engine, EngineOptions, MapKind};
use placefield::generate::{Spec, generate};
use placefield::grid::{BinGrid, Map};
use placefield::place::{
    Backend, HostBackend, Outcome, PlaceOptions, Placer, PointVector, Sample, Weights, start,
};
use placefield::wirelength::{Netlist, Wirelength};
use placefield::{Precision, Real};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

/// A generated design of `cells` cells, in which one cell is on every 20th net, and all are on a
/// net of their own.
pub(crate) fn design(cells: u64) -> Design {
    let mut design = generate(&Spec::with_cells(cells)).unwrap();
    let hub = design.movable().nth(7).unwrap() as u32;
    let nets = design.nets.as_mut().unwrap();
    for net in (0..nets.len()).step_by(20) {
        let first = nets.net_start[net] as usize;
        nets.pin_node[first] = hub;
    }
    let cells = Vec::from_iter(design.movable());
    let nets = design.nets.as_mut().unwrap();
    nets.names.push("clock");
    nets.weight.push(1.5);
    for (k, &cell) in cells.iter().enumerate() {
        nets.pin_node.push(cell as u32);
        nets.pin_dx.push((k % 7) as f64 - 3.0);
        nets.pin_dy.push((k % 5) as f64 - 2.0);
    }
    nets.net_start.push(nets.pin_node.len() as u32);
    design
}

pub(crate) fn charge(design: &Design, bins: usize) -> Charge {
    let options = ChargeOptions::default().fillers(true);
    // Bins that are not square, so that a swap of the axes shows.
    let grid = BinGrid::new(design.die().unwrap(), bins, bins + bins / 2).unwrap();
    Charge::from_design(design, grid, &options).unwrap()
}

/// Lower-left corners anywhere on the die, wider spread along x.
pub(crate) fn scattered(charge: &Charge, seed: u64) -> [Vec<f64>; 2] {
    let (die, mut random) = (charge.grid().die(), Pcg64Mcg::seed_from_u64(seed));
    let mut along = |low: f64, size: f64| -> Vec<f64> {
        (0..charge.bodies()).map(|_| low + size * random.random::<f64>()).collect()
    };
    [along(die.xl, 0.9 * die.width()), along(die.yl + 0.3 * die.height(), 0.5 * die.height())]
}

/// Wirelength and gradient by the device.
fn on_device<T: CudaReal>(
    gpu: &Gpu,
    operator: &mut CudaWirelength<T>,
    at: &[Vec<T>; 2],
    gamma: f64,
) -> (Wirelength, [Vec<f64>; 2]) {
    let [x, y] = at;
    let corners: Vec<T> = x.iter().zip(y).flat_map(|(&x, &y)| [x, y]).collect();
    operator.run(&gpu.upload(&[gamma]).unwrap(), &gpu.upload(&corners).unwrap()).unwrap();
    let (gx, gy) = operator.gradient();
    let gradient = [gx, gy].map(|g| wide(&gpu.download(g).unwrap()));
    (operator.read().unwrap(), gradient)
}

pub(crate) fn wirelength_is_the_cpus<T: CudaReal>(gpu: &Gpu, cells: u64) {
    let design = design(cells);
    let charge = charge(&design, 32);
    for large in [8, 30, 100, Netlist::ALL] {
        let netlist = Netlist::from_design(&design, large).unwrap();
        let degree = |e: usize| netlist.pins_of(e).len();
        let all = large == Netlist::ALL;
        assert!(all || netlist.smooth() < netlist.nets(), "there are nets left out");
        assert!(
            large == 8 || (0..netlist.smooth()).any(|e| degree(e) > 16),
            "there are large nets"
        );
        let pins = netlist.body_start().windows(2).map(|w| w[1] - w[0]);
        assert!(pins.max().unwrap() > 64, "there is a cell of many pins");
        let mut operator =
            CudaWirelength::<T>::new(gpu, &netlist, charge.bodies(), [0.0; 2]).unwrap();
        let mut cpu = CpuWirelength::<T>::new(&netlist, [0.0; 2]);
        for (seed, gamma) in [(1, 3.0), (2, 40.0), (3, 1e4), (4, 1e-3)] {
            let at = scattered(&charge, seed).map(|values| rounded::<T>(&values));
            let (found, gradient) = on_device(gpu, &mut operator, &at, gamma);
            let [x, y] = &at;
            let (mut gx, mut gy) = (vec![T::nan(); x.len()], vec![T::nan(); x.len()]);
            let want = cpu.evaluate(x, y, gamma, &mut gx, &mut gy).unwrap();
            let what = format!("{} large {large} gamma {gamma}", T::PRECISION);
            let bound = if T::PRECISION == Precision::F32 { 1e-5 } else { 1e-11 };
            close(&format!("{what}: HPWL"), found.hpwl, want.hpwl, 0.1 * bound);
            close(&format!("{what}: WA"), found.smooth, want.smooth, bound);
            let movable = netlist.movable();
            for (got, want) in gradient.iter().zip([&gx, &gy]) {
                let error = relative_rms(&got[..movable], &wide(&want[..movable]));
                assert!(error <= bound, "{what}: the gradient is off by {error:e}");
            }
        }
    }
}

#[test]
fn wirelength_and_gradient_match_the_cpu() {
    let gpu = gpu();
    wirelength_is_the_cpus::<f32>(&gpu, 4000);
    wirelength_is_the_cpus::<f64>(&gpu, 4000);
}

#[test]
fn hpwl_matches_the_designs() {
    let gpu = gpu();
    let design = design(3000);
    let charge = charge(&design, 32);
    let netlist = Netlist::from_design(&design, 30).unwrap();
    let mut operator =
        CudaWirelength::<f64>::new(&gpu, &netlist, charge.bodies(), [0.0; 2]).unwrap();
    let at = [charge.initial_x().to_vec(), charge.initial_y().to_vec()];
    let (found, _) = on_device(&gpu, &mut operator, &at, 10.0);
    close("HPWL", found.hpwl, design.hpwl().unwrap().weighted, 1e-12);
}

/// Nets of pins on bodies of no size.
pub(crate) fn bare_netlist(nets: &[Vec<usize>], weights: &[f64], bodies: usize) -> Netlist {
    let mut net_start = vec![0];
    net_start.extend(nets.iter().scan(0, |end, pins| {
        *end += pins.len() as u32;
        Some(*end)
    }));
    let pin_node: Vec<u32> = nets.iter().flatten().map(|&pin| pin as u32).collect();
    let zeros = vec![0.0; pin_node.len()];
    let nets = Nets {
        net_start,
        weight: weights.to_vec(),
        pin_node,
        pin_dx: zeros.clone(),
        pin_dy: zeros,
        ..Nets::default()
    };
    let none = vec![0.0; bodies];
    let design = Design {
        nodes: Nodes {
            width: none.clone(),
            height: none.clone(),
            kind: vec![NodeKind::Movable; bodies],
            ..Nodes::default()
        },
        placement: Placement {
            x: none.clone(),
            y: none,
            orientation: vec![Orientation::N; bodies],
        },
        nets: Some(nets),
        ..Design::default()
    };
    Netlist::from_design(&design, usize::MAX).unwrap()
}

#[test]
fn wirelength_matches_golden_values() {
    let pieces = golden("placer_pieces.json");
    let case = &pieces["weighted_average"];
    let nets: Vec<Vec<usize>> = serde_json::from_value(case["nets"].clone()).unwrap();
    let weights = numbers(&case["net_weights"]);
    let pins: Vec<[f64; 2]> = serde_json::from_value(case["pin_pos_xy"].clone()).unwrap();
    let want: Vec<[f64; 2]> = serde_json::from_value(case["grad_xy"].clone()).unwrap();
    let gpu = gpu();
    let netlist = bare_netlist(&nets, &weights, pins.len());
    let mut operator = CudaWirelength::<f64>::new(&gpu, &netlist, pins.len(), [0.0; 2]).unwrap();
    let at = [0, 1].map(|axis| pins.iter().map(|p| p[axis]).collect::<Vec<f64>>());
    let gamma = case["gamma"].as_f64().unwrap();
    let (found, gradient) = on_device(&gpu, &mut operator, &at, gamma);
    close("WA", found.smooth, case["wirelength"].as_f64().unwrap(), 1e-13);
    close("HPWL", found.hpwl, case["hpwl_weighted"].as_f64().unwrap(), 1e-14);
    for axis in 0..2 {
        for (body, want) in want.iter().enumerate() {
            let got = gradient[axis][body];
            assert!((got - want[axis]).abs() < 1e-12, "{body}: {got}, expected {}", want[axis]);
        }
    }
}

#[test]
fn the_gradient_is_the_slope_of_the_wirelength() {
    let gpu = gpu();
    let design = design(2000);
    let charge = charge(&design, 24);
    let netlist = Netlist::from_design(&design, 100).unwrap();
    let mut operator =
        CudaWirelength::<f64>::new(&gpu, &netlist, charge.bodies(), [0.0; 2]).unwrap();
    let mut at = scattered(&charge, 5);
    let (gamma, shift) = (60.0, 1e-3);
    let (_, gradient) = on_device(&gpu, &mut operator, &at, gamma);
    let hub = (0..netlist.movable())
        .max_by_key(|&b| netlist.body_start()[b + 1] - netlist.body_start()[b])
        .unwrap();
    for body in [0, 11, 500, hub, 1999] {
        for axis in 0..2 {
            let here = at[axis][body];
            let mut value = |position: f64| {
                at[axis][body] = position;
                on_device(&gpu, &mut operator, &at, gamma).0.smooth
            };
            let slope = (value(here + shift) - value(here - shift)) / (2.0 * shift);
            at[axis][body] = here;
            let got = gradient[axis][body];
            assert!((got - slope).abs() <= 1e-5 * slope.abs().max(0.1), "{got}, slope {slope}");
        }
    }
}

fn host<T: Real>(charge: &Charge, netlist: &Netlist) -> HostBackend<T> {
    let engine = CpuEngine::<T>::new(charge.clone(), &EngineOptions::default()).unwrap();
    HostBackend::new(engine, netlist).unwrap()
}

pub(crate) fn device<T: CudaReal>(gpu: &Gpu, charge: &Charge, netlist: &Netlist) -> CudaBackend<T> {
    let options = EngineOptions::default();
    let engine = CudaEngine::<T>::on(gpu, charge.clone(), &options).unwrap();
    CudaBackend::new(engine, netlist).unwrap()
}

fn samples_agree(what: &str, got: &Sample, want: &Sample, bound: f64) {
    let pairs = [
        ("HPWL", got.hpwl, want.hpwl),
        ("WA", got.wirelength, want.wirelength),
        ("overflow", got.density.overflow, want.density.overflow),
        ("maximum", got.density.max, want.density.max),
        ("energy", got.energy, want.energy),
        ("norm of WA's gradient", got.wirelength_norm, want.wirelength_norm),
        ("norm of the force", got.density_norm, want.density_norm),
        ("gradient", got.gradient_squared, want.gradient_squared),
        ("move", got.moved_squared, want.moved_squared),
        ("change", got.changed_squared, want.changed_squared),
    ];
    for (name, got, want) in pairs {
        close(&format!("{what}: {name}"), got, want, bound);
    }
}

/// Compares steps of both backends: taken, not taken, and evaluated again.
fn steps_are_the_hosts<T: CudaReal>(gpu: &Gpu, bound: f64) {
    let design = design(3000);
    let charge = charge(&design, 48);
    let netlist = Netlist::from_design(&design, 30).unwrap();
    let (mut cpu, mut cuda) = (host::<f64>(&charge, &netlist), device::<T>(gpu, &charge, &netlist));
    let [x, y] = scattered(&charge, 9).map(|values| wide(&rounded::<T>(&values)));
    cpu.start(&x, &y).unwrap();
    cuda.start(&x, &y).unwrap();
    let mut weights = Weights { gamma: 80.0, lambda: 1e-3, pin_factor: 1.0, area_factor: 1.0 };
    let want = cpu.evaluate(&weights).unwrap();
    samples_agree("the start", &cuda.evaluate(&weights).unwrap(), &want, bound);
    assert_eq!((want.moved_squared, want.changed_squared), (0.0, 0.0));
    weights.lambda = 0.5 * want.wirelength_norm / want.density_norm;
    samples_agree(
        "another weight",
        &cuda.evaluate(&weights).unwrap(),
        &cpu.evaluate(&weights).unwrap(),
        bound,
    );
    let bodies = charge.bodies();
    let mut seen = [const { Vec::new() }; 4].map(|_: Vec<f64>| vec![0.0; bodies]);
    let unit = charge.grid().bin_x() / (want.gradient_squared / (2 * bodies) as f64).sqrt();
    for k in 0..8 {
        let momentum = 0.1 * f64::from(k);
        for step in [0.5 * unit, 0.2 * unit] {
            let want = cpu.propose(step, momentum, &weights).unwrap();
            let got = cuda.propose(step, momentum, &weights).unwrap();
            samples_agree(&format!("step {k}"), &got, &want, bound);
            assert!(got.allowed_step().is_some());
            let times = cuda.times();
            assert!(times.wirelength > 0.0 && times.density > 0.0 && times.solve > 0.0);
            assert!(times.force > 0.0 && times.other >= 0.0 && times.total() < 1e3);
        }
        if k != 3 {
            cpu.accept().unwrap();
            cuda.accept().unwrap();
        }
        if k == 4 {
            cpu.keep().unwrap();
            cuda.keep().unwrap();
        }
        weights.lambda *= 1.05;
        weights.gamma *= 0.9;
    }
    for held in PointVector::ALL {
        let [x, y, want_x, want_y] = &mut seen;
        cuda.read(held, x, y).unwrap();
        cpu.read(held, want_x, want_y).unwrap();
        for (got, want) in [(&*x, &*want_x), (&*y, &*want_y)] {
            let error = relative_rms(got, want);
            assert!(error <= bound, "{held:?} is off by {error:e}");
        }
        if matches!(held, PointVector::Reference | PointVector::Best) {
            assert!(charge_holds(&charge, x, y), "inside the die");
        }
    }
    let (nx, ny) = (charge.grid().nx(), charge.grid().ny());
    let (mut got, mut want) = (Map::filled(nx, ny, 0.0), Map::filled(nx, ny, 0.0));
    cuda.read_map(MapKind::Potential, &mut got).unwrap();
    cpu.read_map(MapKind::Potential, &mut want).unwrap();
    let error = relative_rms(got.as_slice(), want.as_slice());
    assert!(error <= bound, "the potential is off by {error:e}");
}

fn charge_holds(charge: &Charge, x: &[f64], y: &[f64]) -> bool {
    let die = charge.grid().die();
    (0..charge.bodies()).all(|i| {
        x[i] >= die.xl
            && y[i] >= die.yl
            && x[i] + charge.width()[i] <= die.xh
            && y[i] + charge.height()[i] <= die.yh
    })
}

#[test]
fn steps_and_their_sums_match_the_cpu() {
    let gpu = gpu();
    steps_are_the_hosts::<f64>(&gpu, 1e-8);
    steps_are_the_hosts::<f32>(&gpu, 1e-4);
}

pub(crate) fn place(
    backend: &mut dyn Backend,
    iterations: usize,
) -> (Option<Outcome>, Sample, Vec<f64>) {
    let (x, y) = start::centred(backend.charge(), 3);
    let options = PlaceOptions::default().iterations(iterations);
    let mut placer = Placer::new(backend, &x, &y, &options).unwrap();
    while placer.step().unwrap().is_some() {}
    let (mut at, y) = placer.positions().unwrap();
    at.extend(y);
    (placer.outcome(), placer.last().sample, at)
}

#[test]
fn placements_converge_like_the_cpu_and_repeat() {
    let gpu = gpu();
    let design = generate(&Spec::with_cells(3000)).unwrap();
    let charge = charge(&design, 48);
    let netlist = Netlist::from_design(&design, 100).unwrap();
    let (outcome, first, at) = place(&mut device::<f32>(&gpu, &charge, &netlist), 1000);
    assert_eq!(outcome, Some(Outcome::Converged));
    for _ in 0..2 {
        let (_, again, same) = place(&mut device::<f32>(&gpu, &charge, &netlist), 1000);
        assert_eq!(first, again);
        assert!(at == same, "the same bits");
    }
    let (outcome, hosts, _) = place(&mut host::<f32>(&charge, &netlist), 1000);
    assert_eq!(outcome, Some(Outcome::Converged));
    close("HPWL of the placement", first.hpwl, hosts.hpwl, 5e-3);
}

#[test]
fn fixed_cells_of_a_charge_do_not_move() {
    let design = design(2_000);
    let mut charge = charge(&design, 32);
    let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
    let [x, y] = scattered(&charge, 4);
    let cells = charge.movable();
    let fixed: Vec<bool> = (0..cells).map(|i| i % 3 == 0).collect();
    charge.set_fixed_cells(&fixed, &x[..cells], &y[..cells]).unwrap();
    let mut backend = device::<f64>(&gpu(), &charge, &netlist);
    let factor = f64::from(f32::MIN_POSITIVE);
    for (pin_factor, area_factor) in [(1.0, 1.0), (factor, factor)] {
        let weights = Weights { gamma: 50.0, lambda: 1e-3, pin_factor, area_factor };
        backend.start(&x, &y).unwrap();
        backend.evaluate(&weights).unwrap();
        let (mut from_x, mut from_y) = (x.clone(), y.clone());
        backend.read(PointVector::Reference, &mut from_x, &mut from_y).unwrap();
        for _ in 0..5 {
            backend.propose(1e-2, 0.5, &weights).unwrap();
            backend.accept().unwrap();
        }
        let (mut to_x, mut to_y) = (x.clone(), y.clone());
        backend.read(PointVector::Reference, &mut to_x, &mut to_y).unwrap();
        let stays = |i: &usize| (to_x[*i], to_y[*i]) == (from_x[*i], from_y[*i]);
        assert!((0..cells).filter(|&i| fixed[i]).all(|i| stays(&i)));
        // Of the others some are held by the edge of the die.
        let free = (0..cells).filter(|&i| !fixed[i]);
        assert!(free.filter(stays).count() < cells / 20);
    }
}

#[test]
fn new_net_weights_are_those_of_a_new_backend() {
    let gpu = gpu();
    let design = design(2_000);
    let charge = charge(&design, 32);
    let new: Vec<f64> =
        (0..design.nets.as_ref().unwrap().len()).map(|e| (e % 5) as f64 / 2.0).collect();
    let mut other = design.clone();
    other.nets.as_mut().unwrap().weight = new.clone();
    let [x, y] = scattered(&charge, 6);
    let weights = Weights { gamma: 50.0, lambda: 1e-3, pin_factor: 0.8, area_factor: 0.6 };
    let of = |design: &Design| Netlist::from_design(design, 30).unwrap();
    let mut replaced = device::<f64>(&gpu, &charge, &of(&design));
    let mut anew = device::<f64>(&gpu, &charge, &of(&other));
    // Graphs of proposals exist before the weights change.
    replaced.start(&x, &y).unwrap();
    let before = replaced.evaluate(&weights).unwrap();
    for _ in 0..3 {
        replaced.propose(1e-3, 0.1, &weights).unwrap();
    }
    replaced.set_net_weights(&new).unwrap();
    assert!(replaced.propose(1e-3, 0.1, &weights).is_err(), "the gradient is of old weights");
    anew.start(&x, &y).unwrap();
    let after = replaced.evaluate(&weights).unwrap();
    assert_eq!(after, anew.evaluate(&weights).unwrap());
    assert!(after.hpwl != before.hpwl && after.gradient_squared != before.gradient_squared);
    for _ in 0..3 {
        let got = replaced.propose(1e-3, 0.1, &weights).unwrap();
        assert_eq!(got, anew.propose(1e-3, 0.1, &weights).unwrap());
        replaced.accept().unwrap();
        anew.accept().unwrap();
    }
    assert_eq!(replaced.netlist(), anew.netlist());
}

/// Replaces the gradient along y, so that no kernel is needed.
struct Replaced {
    gradient: DeviceVec<f64>,
    value: DeviceVec<f64>,
}

impl DeviceTerm for Replaced {
    fn enqueue(&mut self, cells: &DeviceCells) -> Result<(), CudaError> {
        assert_eq!(cells.cells, self.gradient.len());
        let copies = [(cells.gradient[1], &self.gradient), (cells.value, &self.value)];
        for (to, from) in copies {
            let (from, bytes) = (interop::address(from), 8 * from.len());
            // SAFETY: both are of so many bytes in memory of the device, which lives.
            let done = unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes, cells.stream) };
            assert_eq!(done, sys::CUresult::CUDA_SUCCESS);
        }
        Ok(())
    }
}

#[test]
fn terms_of_the_caller_are_the_hosts() {
    let gpu = gpu();
    let design = design(1_500);
    let charge = charge(&design, 32);
    let netlist = Netlist::from_design(&design, 30).unwrap();
    let pull: Vec<f64> = (0..charge.movable()).map(|i| (i % 3) as f64 - 0.5).collect();
    let (mut cpu, mut cuda) =
        (host::<f64>(&charge, &netlist), device::<f64>(&gpu, &charge, &netlist));
    let (gradient, value) = (gpu.upload(&pull).unwrap(), gpu.upload(&[12.5]).unwrap());
    cuda.add_term(Replaced { gradient, value }).unwrap();
    cpu.add_term(move |_: &[f64], _: &[f64], [_, gradient_y]: [&mut [f64]; 2]| {
        gradient_y.copy_from_slice(&pull);
        12.5
    });
    let [x, y] = scattered(&charge, 9);
    let weights = Weights { gamma: 50.0, lambda: 1e-3, pin_factor: 1.0, area_factor: 1.0 };
    cpu.start(&x, &y).unwrap();
    cuda.start(&x, &y).unwrap();
    let want = cpu.evaluate(&weights).unwrap();
    samples_agree("the start", &cuda.evaluate(&weights).unwrap(), &want, 1e-8);
    assert_eq!(want.terms, 12.5);
    // The first proposal as plain launches, the others as graphs.
    for k in 0..4 {
        let want = cpu.propose(0.1, 0.3, &weights).unwrap();
        let got = cuda.propose(0.1, 0.3, &weights).unwrap();
        samples_agree(&format!("step {k}"), &got, &want, 1e-8);
        assert_eq!(got.terms, 12.5);
        cpu.accept().unwrap();
        cuda.accept().unwrap();
    }
}

/// Drops memory of the device while another thread's capture waits for this one, and then begins a
/// capture itself.
struct Captures {
    gpu: Gpu,
    memory: Option<DeviceVec<f64>>,
    waiting: Option<JoinHandle<bool>>,
    refused: Sender<bool>,
}

/// Whether a graph of nothing can be captured.
fn captures(gpu: &Gpu) -> Result<(), CudaError> {
    // SAFETY: nothing is captured.
    unsafe { Graph::capture(gpu, || Ok(())) }.map(drop)
}

impl DeviceTerm for Captures {
    fn enqueue(&mut self, _: &DeviceCells) -> Result<(), CudaError> {
        if let Some(memory) = self.memory.take() {
            let gpu = self.gpu.clone();
            self.waiting = Some(spawn(move || captures(&gpu).is_ok()));
            sleep(Duration::from_millis(100));
            drop(memory);
            let refused = matches!(captures(&self.gpu), Err(CudaError::Enqueuing));
            self.refused.send(refused).unwrap();
        }
        Ok(())
    }
}

impl Drop for Captures {
    fn drop(&mut self) {
        let captured = self.waiting.take().is_some_and(|thread| thread.join().unwrap());
        self.refused.send(captured).unwrap();
    }
}

/// Returns a backend of 1,500 cells in f64, and scattered positions.
fn small(gpu: &Gpu) -> (CudaBackend<f64>, [Vec<f64>; 2]) {
    let design = design(1_500);
    let charge = charge(&design, 32);
    let netlist = Netlist::from_design(&design, 30).unwrap();
    (device(gpu, &charge, &netlist), scattered(&charge, 9))
}

#[test]
fn captures_beside_a_term_of_the_caller_block_no_thread() {
    let gpu = gpu();
    let (mut backend, [x, y]) = small(&gpu);
    let (refused, answers) = channel();
    let memory = Some(gpu.zeros(1000).unwrap());
    backend.add_term(Captures { gpu: gpu.clone(), memory, waiting: None, refused }).unwrap();
    let placed = spawn(move || {
        let weights = Weights { gamma: 50.0, lambda: 1e-3, pin_factor: 1.0, area_factor: 1.0 };
        backend.start(&x, &y).unwrap();
        backend.evaluate(&weights).unwrap();
    });
    // The term's capture is refused; that of the other thread succeeds.
    for _ in 0..2 {
        assert_eq!(answers.recv_timeout(Duration::from_secs(60)), Ok(true));
    }
    placed.join().unwrap();
}

/// Fails from its third call on, which the second proposal captures.
struct Fails(u32);

impl DeviceTerm for Fails {
    fn enqueue(&mut self, _: &DeviceCells) -> Result<(), CudaError> {
        self.0 += 1;
        if self.0 < 3 { Ok(()) } else { Err(CudaError::Enqueuing) }
    }
}

#[test]
fn a_step_that_failed_cannot_be_accepted() {
    let gpu = gpu();
    let (mut backend, [x, y]) = small(&gpu);
    backend.add_term(Fails(0)).unwrap();
    let weights = Weights { gamma: 50.0, lambda: 1e-3, pin_factor: 1.0, area_factor: 1.0 };
    backend.start(&x, &y).unwrap();
    backend.evaluate(&weights).unwrap();
    backend.propose(1e-3, 0.0, &weights).unwrap();
    assert!(backend.propose(1e-3, 0.0, &weights).is_err());
    assert!(backend.accept().is_err());
    assert!(backend.evaluate(&weights).is_err());
    assert!(backend.propose(1e-3, 0.0, &weights).is_err(), "no gradient was computed");
}

#[test]
fn an_engine_in_slot_order_is_refused() {
    let gpu = gpu();
    let design = design(1_500);
    let charge = charge(&design, 32);
    let netlist = Netlist::from_design(&design, 30).unwrap();
    let [x, y] = scattered(&charge, 9);
    let mut engine =
        CudaEngine::<f64>::on(&gpu, charge.clone(), &EngineOptions::default()).unwrap();
    engine.set_positions(&x, &y).unwrap();
    engine.use_slots(true).unwrap();
    let refused = CudaBackend::new(engine, &netlist).err().expect("not the caller's order");
    assert_eq!(
        refused.to_string(),
        "a placement was asked for before the caller's order was asked for"
    );
}

#[test]
fn an_iteration_allocates_nothing() {
    let gpu = gpu_alone();
    let design = design(2000);
    let charge = charge(&design, 32);
    let netlist = Netlist::from_design(&design, 100).unwrap();
    let mut backend = device::<f32>(&gpu, &charge, &netlist);
    let [x, y] = scattered(&charge, 2);
    backend.start(&x, &y).unwrap();
    let weights = Weights { gamma: 80.0, lambda: 1e-4, pin_factor: 1.0, area_factor: 1.0 };
    backend.evaluate(&weights).unwrap();
    let mut walk = |steps: usize| {
        for _ in 0..steps {
            backend.propose(1e-3, 0.5, &weights).unwrap();
            backend.accept().unwrap();
            backend.keep().unwrap();
        }
    };
    walk(4);
    gpu.synchronize().unwrap();
    let free = gpu.memory().unwrap().free;
    walk(100);
    assert_eq!(gpu.memory().unwrap().free, free);
}

#[test]
fn nan_shows_and_calls_out_of_order_are_refused() {
    let gpu = gpu();
    let design = design(2000);
    let charge = charge(&design, 32);
    let netlist = Netlist::from_design(&design, 100).unwrap();
    let weights = Weights { gamma: 80.0, lambda: 1e-4, pin_factor: 1.0, area_factor: 1.0 };
    let mut backend = device::<f32>(&gpu, &charge, &netlist);
    assert!(backend.evaluate(&weights).is_err() && backend.keep().is_err());
    let [mut x, y] = scattered(&charge, 2);
    assert!(backend.start(&x[1..], &y).is_err());
    backend.start(&x, &y).unwrap();
    assert!(backend.propose(1.0, 0.0, &weights).is_err() && backend.accept().is_err());
    assert!(backend.evaluate(&weights).unwrap().is_finite());
    assert!(backend.read(PointVector::Best, &mut x.clone(), &mut y.clone()).is_err());
    let mut few = Map::filled(3, 3, 0.0);
    assert!(backend.read_map(MapKind::Density, &mut few).is_err());
    assert!(!backend.propose(f64::NAN, 0.0, &weights).unwrap().is_finite());
    // Not taken, it has changed nothing.
    assert!(backend.propose(1e-3, 0.0, &weights).unwrap().is_finite());
    // A filler: no pin sees it.
    let last = x.len() - 1;
    x[last] = f64::NAN;
    backend.start(&x, &y).unwrap();
    assert!(!backend.evaluate(&weights).unwrap().is_finite());
    let other = Netlist::from_design(&self::design(1000), 100).unwrap();
    let engine = CudaEngine::<f32>::on(&gpu, charge, &EngineOptions::default()).unwrap();
    assert!(CudaBackend::new(engine, &other).is_err());
}

/// Kernels that another thread has loaded, a thread that has used no device before, and one that
/// has the device for itself.
#[test]
fn any_thread_can_make_a_backend() {
    let gpu = Gpu::open(0).unwrap();
    let design = design(2000);
    let charge = Arc::new(charge(&design, 64));
    let netlist = Netlist::from_design(&design, 30).unwrap();
    let [x, y] = scattered(&charge, 5).map(|values| wide(&rounded::<f32>(&values)));
    let weights = Weights { gamma: 80.0, lambda: 1e-3, pin_factor: 1.0, area_factor: 1.0 };
    let sample = |mut backend: CudaBackend<f32>| {
        backend.start(&x, &y).unwrap();
        backend.evaluate(&weights).unwrap()
    };
    let make = || CudaBackend::on(&gpu, charge.clone(), &EngineOptions::default(), &netlist);
    std::thread::scope(|scope| {
        scope.spawn(|| CudaBackend::<f32>::load_kernels(&gpu).unwrap());
        scope.spawn(|| CudaBackend::<f32>::load_kernels(&gpu).unwrap());
    });
    let elsewhere =
        std::thread::scope(|scope| scope.spawn(|| sample(make().unwrap())).join().unwrap());
    let stream = new_stream(&gpu);
    // SAFETY: the stream is of this device and lives on; nobody else uses it.
    let alone = unsafe { on_stream(&gpu, stream.cu_stream(), || sample(make().unwrap())) };
    let here = sample(device::<f32>(&gpu, &charge, &netlist));
    assert_eq!(format!("{elsewhere:?}"), format!("{here:?}"));
    assert_eq!(format!("{:?}", alone.unwrap()), format!("{here:?}"));
}

#[test]
fn bare_netlists_hold_the_given_nets() {
    let list = bare_netlist(&[vec![0, 2], vec![1, 2, 0]], &[1.0, 2.0], 3);
    assert_eq!((list.nets(), list.pins(), list.movable()), (2, 5, 3));
    assert_eq!(list.body_start(), [0, 2, 3, 5]);
    assert_eq!(list.body_pin(), [0, 4, 2, 1, 3]);
    let still = |kind: &NodeKind| *kind != NodeKind::Movable;
    assert!(design(500).nodes.kind.iter().any(still), "generated designs have fixed pins");
}
