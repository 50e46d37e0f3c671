//! Small cases that run every kernel once: what `scripts/gpu-check.sh` gives to
//! compute-sanitizer, each in a process of its own. The sanitizer finds accesses out
//! of bounds, races, reads of what was never written and barriers that not every
//! thread meets; a case itself checks which kernels ran and that every value of an
//! output was written.

use crate::common::bodies::mixed;
use crate::common::rounded;
use crate::congestion::callers_maps_are_the_cpus;
use crate::device::{MAPS, gpu, must_have_lines, output, poisoned, values};
use crate::engine::{agrees, positions};
use crate::fences::runs;
use crate::maps::{grid, off_axis};
use crate::peers::steps_like_one;
use crate::refine::{refined_alike, varied};
use crate::slabs::ranks_solve_like_one;
use crate::solve::variants;
use crate::transforms::{LINES, VOLUMES, stages};
use placefield::Precision;
use placefield::cuda::Bodies;
use placefield::cuda::internals::{Density, Force, ThreePass, compile};
use placefield::cuda::transforms::{Input, Path, Plan};
use placefield::cuda::{
    CudaEngine, CudaError, CudaReal, DeviceVec, FieldSolver, Fields, Gpu, VolumeFields,
    VolumeSolver, solver,
};
use placefield::engine::{Engine, EngineOptions, Layout, Pipeline};
use placefield::paper::Algorithm1d;
use placefield::paper::cuda::{Dct1d, dct_2d};
use placefield::refine::RefineOptions;
use placefield::transform::{Method, Transform};
use rayon::prelude::*;
use std::collections::HashSet;

/// Tests of one case each, and the list of them all.
macro_rules! cases {
    ($($name:ident: $run:expr;)*) => {
        const CASES: &[(&str, fn(&Gpu))] = &[$((stringify!($name), $run)),*];
        $(
            #[test]
            fn $name() {
                let case: fn(&Gpu) = $run;
                case(&gpu());
            }
        )*
    };
}

cases! {
    case_engine_f32: engine::<f32>;
    case_engine_f64: engine::<f64>;
    case_many_tiles_f32: many_tiles::<f32>;
    case_many_tiles_f64: many_tiles::<f64>;
    case_regions_f32: runs::<f32>;
    case_regions_f64: runs::<f64>;
    case_solvers_f32: solvers::<f32>;
    case_solvers_f64: solvers::<f64>;
    case_three_pass_f32: three_pass::<f32>;
    case_three_pass_f64: three_pass::<f64>;
    case_three_pass_long_f32: three_pass_long::<f32>;
    case_three_pass_long_f64: three_pass_long::<f64>;
    case_lines_f32: lines::<f32>;
    case_lines_f64: lines::<f64>;
    case_maps_f32: maps::<f32>;
    case_maps_f64: maps::<f64>;
    case_line_transforms_f32: line_transforms::<f32>;
    case_line_transforms_f64: line_transforms::<f64>;
    case_line_transforms_long_f32: line_transforms_long::<f32>;
    case_line_transforms_long_f64: line_transforms_long::<f64>;
    case_volumes_f32: volumes::<f32>;
    case_volumes_f64: volumes::<f64>;
    case_placer_f32: placer::<f32>;
    case_placer_f64: placer::<f64>;
    case_congestion_f32: callers_maps_are_the_cpus::<f32>;
    case_congestion_f64: callers_maps_are_the_cpus::<f64>;
    case_refine: refine;
    case_slabs_f32: slabs::<f32>;
    case_slabs_f64: slabs::<f64>;
    case_peers_f32: peers::<f32>;
    case_peers_f64: peers::<f64>;
}

/// A kernel file that no case loads would go unchecked without notice.
#[test]
fn cases_load_all_kernels_in_both_precisions() {
    let _turn = gpu();
    let loads = |(_, case): &(&str, fn(&Gpu))| {
        let gpu = Gpu::open(0).unwrap();
        case(&gpu);
        gpu.kernel_origins().iter().map(|of| (of.unit, of.precision)).collect::<Vec<_>>()
    };
    // At once, each on its own, for most of it is compiling; but those of several ranks, whose
    // kernels wait for one another: other streams' can stand in the way of one that is waited for.
    let of_ranks = |name: &str| name.contains("slabs") || name.contains("peers");
    let (ranks, others): (Vec<_>, Vec<_>) = CASES.iter().partition(|(name, _)| of_ranks(name));
    let mut loaded: HashSet<(&str, Precision)> =
        others.into_par_iter().with_max_len(1).flat_map_iter(loads).collect();
    loaded.extend(ranks.into_iter().flat_map(loads));
    // Ranks open devices of their own, and load these there.
    let of_ranks = ["lines", "meet", "spread", "sums"];
    for unit in compile::units().filter(|unit| !of_ranks.contains(unit)) {
        for precision in [Precision::F32, Precision::F64] {
            // Energies, congestion and refinement are f64 whatever the maps are.
            if ["energies", "congestion", "swap", "rows", "commit"].contains(&unit)
                && precision == Precision::F32
            {
                continue;
            }
            assert!(loaded.contains(&(unit, precision)), "{unit} in {precision}");
        }
    }
}

/// Detailed placement of a design with fences, blockages, cells of several rows and large nets.
fn refine(gpu: &Gpu) {
    let design = varied(3);
    let refined = refined_alike(gpu, &design, &RefineOptions::default().rounds(1));
    assert!(refined.moved > 0);
}

/// Runs into a buffer of NaN, of which none may be left.
fn fills<T: CudaReal>(
    gpu: &Gpu,
    count: usize,
    run: impl FnOnce(&mut DeviceVec<T>) -> Result<(), CudaError>,
) {
    let got = output(gpu, count, run);
    assert!(got.iter().all(|v| !v.is_nan()), "not all of {count} values were written");
}

/// Every stage by every pipeline against the CPU, plain and replayed, in both
/// arrangements; lines of 33 have no kernels of the three-pass solve.
fn engine<T: CudaReal>(gpu: &Gpu) {
    for (nx, ny) in [(40, 36), (33, 64), (64, 128)] {
        let charge = mixed(nx, ny, 300, 0.9);
        agrees::<T>(gpu, &charge);
        let [x, y] = positions::<T>(&charge, 0.0, 0);
        let mut engine = CudaEngine::<T>::on(gpu, charge, &EngineOptions::default()).unwrap();
        engine.evaluate(&x, &y).unwrap();
        engine.evaluate(&x, &y).unwrap();
        let ran = if nx == 33 { "fused" } else { "three-pass" };
        assert_eq!(engine.path(Pipeline::ThreePass), ran);
        engine.use_slots(true).unwrap();
        let mut from = engine.bodies().permutation().unwrap();
        engine.reorder_slots(&mut from).unwrap();
        engine.evaluate_on_device().unwrap();
        engine.exact_density().unwrap();
    }
}

/// More tiles than a block that makes an order can count in shared memory.
fn many_tiles<T: CudaReal>(gpu: &Gpu) {
    let charge = crate::common::bodies::some(500, [2432, 2400], 200, 0.9);
    let mut bodies = Bodies::<T>::new(gpu, charge.clone()).unwrap();
    let mut density = Density::new(&bodies, 0.0).unwrap();
    let mut force = Force::new(&bodies).unwrap();
    let corners = rounded::<T>(&crate::common::pairs(charge.initial_x(), charge.initial_y()));
    let corners = gpu.upload(&corners).unwrap();
    bodies.order(&corners).unwrap();
    let mut rho = gpu.upload(&vec![T::nan(); charge.grid().bins()]).unwrap();
    density.run(&bodies, false, (Layout::Pairs, &corners), &mut rho).unwrap();
    assert!(gpu.download(&rho).unwrap().iter().all(|v| !v.is_nan()));
    fills(gpu, corners.len(), |forces| force.run(&bodies, (&rho, &rho), forces));
}

/// Solves and checks that nothing was left unwritten, and that a second solve finds nothing of the
/// first.
fn solve<T: CudaReal>(gpu: &Gpu, (nx, ny): (usize, usize), solver: &mut dyn FieldSolver<T>) {
    let rho = gpu.upload(&off_axis::<T>(nx, ny)).unwrap();
    let energies = [0, 1].map(|_| {
        let mut fields: Fields<T> = poisoned(gpu, nx * ny);
        solver.solve(&rho, &mut fields).unwrap();
        for map in [&fields.potential, &fields.field_x, &fields.field_y] {
            assert!(gpu.download(map).unwrap().iter().all(|v| !v.is_nan()), "{nx} x {ny}");
        }
        gpu.download(&fields.energy).unwrap()[0]
    });
    assert!(energies[0] > 0.0 && energies[0] == energies[1], "{nx} x {ny}: {energies:?}");
}

/// Row-column and fused in every variant, and their single transforms.
fn solvers<T: CudaReal>(gpu: &Gpu) {
    for (nx, ny) in [(24, 40), (13, 31), (64, 64)] {
        let map = gpu.upload(&off_axis::<T>(nx, ny)).unwrap();
        for (_, mut solver) in variants::<T>(gpu, &grid(nx, ny)) {
            solve(gpu, (nx, ny), &mut solver);
            for (kind, ..) in MAPS {
                fills(gpu, nx * ny, |out| solver.transform(kind, map.as_view(), out.as_view_mut()));
            }
        }
    }
}

fn three_passes<T: CudaReal>(gpu: &Gpu, sizes: &[(usize, usize)]) {
    for &(nx, ny) in sizes {
        if !ThreePass::<T>::is_made_for(gpu, &grid(nx, ny)) {
            assert!(!must_have_lines::<T>(gpu, nx.max(ny)), "{nx} x {ny}");
            continue;
        }
        let mut whole = solver::<T>(gpu, &grid(nx, ny), Pipeline::ThreePass).unwrap();
        assert_eq!(whole.pipeline(), Pipeline::ThreePass, "{nx} x {ny}");
        solve(gpu, (nx, ny), &mut *whole);
        // The potential is left out, then made.
        let mut solver = ThreePass::<T>::new(gpu, &grid(nx, ny)).unwrap();
        let rho = gpu.upload(&off_axis::<T>(nx, ny)).unwrap();
        let mut fields: Fields<T> = poisoned(gpu, nx * ny);
        solver.forward(rho.as_view()).unwrap();
        solver.inverse_field(fields.as_mut()).unwrap();
        for map in [&fields.field_x, &fields.field_y] {
            assert!(gpu.download(map).unwrap().iter().all(|v| !v.is_nan()), "{nx} x {ny}");
        }
        assert!(gpu.download(&fields.potential).unwrap().iter().all(|v| v.is_nan()));
        solver.potential(fields.as_mut()).unwrap();
        assert!(gpu.download(&fields.potential).unwrap().iter().all(|v| !v.is_nan()));
    }
}

/// Lines up to 512 along either axis.
fn three_pass<T: CudaReal>(gpu: &Gpu) {
    three_passes::<T>(gpu, &[(64, 128), (128, 64), (256, 512), (512, 256)]);
}

/// Longer lines along either axis, so many that blocks take several pieces of work.
fn three_pass_long<T: CudaReal>(gpu: &Gpu) {
    three_passes::<T>(gpu, &[(1024, 2048), (2048, 1024), (4096, 1024), (64, 4096)]);
    three_passes::<T>(gpu, &[(8192, 1024), (64, 8192)]);
}

/// Single lines by every method and algorithm, from bytes too, and split where they are long.
fn lines<T: CudaReal>(gpu: &Gpu) {
    let long = 1 << 13;
    let bytes = gpu.upload(&vec![3u8; 33 * 20]).unwrap();
    let floats = gpu.upload(&values::<T>(33 * 20)).unwrap();
    let one = gpu.upload(&values::<T>(long)).unwrap();
    let one_of_bytes = gpu.upload(&vec![5u8; long]).unwrap();
    for (kind, _) in LINES {
        for method in [Method::Fused, Method::Fastest] {
            let mut plan = Plan::<T, u8>::of_lines(gpu, kind, 33, method, 20).unwrap();
            fills(gpu, 33 * 20, |out| plan.run(&bytes, out));
            let mut plan = Plan::<T, T>::of_lines(gpu, kind, 33, method, 20).unwrap();
            fills(gpu, 33 * 20, |out| plan.run(&floats, out));
        }
        let mut plan = Plan::<T, T>::of_lines(gpu, kind, long, Method::Fastest, 1).unwrap();
        fills(gpu, long, |out| plan.run(&one, out));
        let mut plan = Plan::<T, u8>::of_lines(gpu, kind, long, Method::Fastest, 1).unwrap();
        fills(gpu, long, |out| plan.run(&one_of_bytes, out));
    }
    for algorithm in Algorithm1d::ALL {
        let mut plan = Dct1d::<T>::new(gpu, 33 * 20, algorithm).unwrap();
        fills(gpu, 33 * 20, |out| plan.run(&floats, out));
    }
}

/// Two maps by every kind of transform, a DCT with a threshold too; `path` must be
/// the plan's, if given.
fn transforms<T: CudaReal, I: Input<T>>(
    gpu: &Gpu,
    (nx, ny): (usize, usize),
    input: &[I],
    method: Method,
    path: Option<Path>,
) {
    let count = 2 * nx * ny;
    let input = gpu.upload(input).unwrap();
    let check = |plan: &Plan<T, I>| {
        assert!(path.is_none_or(|p| plan.path() == p), "{nx} x {ny}: {:?}", plan.path());
    };
    for (kind, ..) in MAPS {
        let mut plan = Plan::<T, I>::of_maps(gpu, kind, nx, ny, method, 2).unwrap();
        check(&plan);
        fills(gpu, count, |out| plan.run(&input, out));
    }
    let mut kept = gpu.zeros::<u64>(1).unwrap();
    let plan = Plan::<T, I>::of_maps(gpu, Transform::Dct, nx, ny, method, 2).unwrap();
    let mut plan = plan.with_threshold().unwrap();
    fills(gpu, count, |out| plan.run_thresholded(&input, T::one(), out, &mut kept));
    let kept = gpu.download(&kept).unwrap()[0];
    assert!((1..=count as u64).contains(&kept), "{nx} x {ny}: {kept} kept");
}

/// By cuFFT and by lines, in every way.
fn maps<T: CudaReal>(gpu: &Gpu) {
    for method in Method::ALL {
        transforms::<T, u8>(gpu, (33, 20), &vec![3; 2 * 33 * 20], method, None);
        transforms::<T, T>(gpu, (48, 30), &values(2 * 48 * 30), method, None);
        transforms::<T, T>(gpu, (64, 64), &values(2 * 64 * 64), method, None);
    }
    for (nx, ny) in [(33, 20), (48, 30), (64, 64)] {
        let input = gpu.upload(&values::<T>(nx * ny)).unwrap();
        for (reorder, post) in stages() {
            let mut plan = dct_2d::<T>(gpu, [nx, ny], reorder, post).unwrap();
            fills(gpu, nx * ny, |out| plan.run(&input, out));
        }
    }
}

/// Maps with one axis of each of these lengths, the other of 64 or 20, by lines.
fn by_lines<T: CudaReal>(gpu: &Gpu, lengths: &[usize]) {
    let auto = Method::Fastest;
    for (nx, ny) in lengths.iter().flat_map(|&n| [(n, 64), (20, n)]) {
        let path = must_have_lines::<T>(gpu, nx.max(ny)).then_some(Path::Lines);
        transforms::<T, T>(gpu, (nx, ny), &values(2 * nx * ny), auto, path);
        transforms::<T, u8>(gpu, (nx, ny), &vec![3; 2 * nx * ny], auto, path);
    }
}

/// Runs line transforms with every number of elements per thread, and with partial blocks.
fn line_transforms<T: CudaReal>(gpu: &Gpu) {
    by_lines::<T>(gpu, &[32, 36, 96, 100, 120, 128, 256, 400, 512, 720, 1000, 1024]);
}

fn line_transforms_long<T: CudaReal>(gpu: &Gpu) {
    by_lines::<T>(gpu, &[1536, 2000, 2048, 2500, 3072, 4096, 5000, 8192, 10000]);
}

fn volumes<T: CudaReal>(gpu: &Gpu) {
    let bytes = gpu.upload(&vec![3u8; 33 * 20]).unwrap();
    let floats = gpu.upload(&values::<T>(16 * 16 * 16)).unwrap();
    for (kind, _) in VOLUMES {
        for method in Method::ALL {
            let mut plan = Plan::<T, u8>::of_arrays(gpu, kind, &[3, 11, 20], method, 1).unwrap();
            fills(gpu, 33 * 20, |out| plan.run(&bytes, out));
            let mut plan = Plan::<T, T>::of_arrays(gpu, kind, &[16, 16, 16], method, 1).unwrap();
            fills(gpu, 16 * 16 * 16, |out| plan.run(&floats, out));
            let mut plan = Plan::<T, T>::of_arrays(gpu, kind, &[4, 8, 8, 16], method, 1).unwrap();
            fills(gpu, 16 * 16 * 16, |out| plan.run(&floats, out));
        }
    }
    for shape in [[16, 16, 16], [4, 32, 32]] {
        let mut solver = VolumeSolver::<T>::new(gpu, shape, [1.0; 3], Method::Fastest).unwrap();
        let mut fields = VolumeFields::new(gpu, 16 * 16 * 16).unwrap();
        solver.solve(&floats, &mut fields).unwrap();
        let [x, y, z] = &fields.field;
        for map in [&fields.potential, x, y, z] {
            assert!(gpu.download(map).unwrap().iter().all(|v| v.is_finite()));
        }
        assert!(gpu.download(&fields.energy).unwrap()[0] > 0.0);
    }
}

/// Wirelength, its gradient, and a few steps of the descent.
fn placer<T: CudaReal>(gpu: &Gpu) {
    use crate::place::{charge, design, device, place, wirelength_is_the_cpus};
    wirelength_is_the_cpus::<T>(gpu, 1500);
    let design = design(1500);
    let charge = charge(&design, 24);
    let netlist = placefield::wirelength::Netlist::from_design(&design, 100).unwrap();
    let (_, sample, _) = place(&mut device::<T>(gpu, &charge, &netlist), 4);
    assert!(sample.is_finite());
}

/// Two ranks, with each way of keeping spectra in the second pass.
fn slabs<T: CudaReal>(gpu: &Gpu) {
    ranks_solve_like_one::<T>(gpu, 2, &[(64, 128), (512, 64), (1024, 64), (2048, 64)]);
}

/// Whole steps on two ranks, of rows that are no whole blocks of bins, and a few steps of a
/// placement. Lines of these lengths need no cuFFT: while one thread makes a plan of cuFFT's and
/// another loads kernels, the driver of CUDA 13.0 and its sanitizers wait for each other forever.
fn peers<T: CudaReal>(gpu: &Gpu) {
    steps_like_one::<T>(gpu, &[0, 0], &crate::common::bodies::some(400, [36, 40], 50, 0.9));
    crate::place_peers::placed_like_one::<T>(gpu, &[0, 0], 40, 3);
}
