//! The three-pass solve on a device: against the definition and, where that
//! takes too long, against the fused pipeline.

use crate::common::{limit, relative_rms, wide};
use crate::device::{gpu, must_have_lines, poisoned};
use crate::maps::{grid, off_axis};
use crate::solve::{Expected, expected};
use placefield::Precision;
use placefield::cuda::internals::{Spectral, ThreePass};
use placefield::cuda::solver;
use placefield::cuda::{CudaError, CudaReal, FieldSolver, Fields, Gpu, Graph};
use placefield::engine::Pipeline;
use placefield::grid::BinGrid;
use placefield::transform::Transform;

/// φ, Ex, Ey and the energy, on the host.
#[derive(PartialEq)]
struct Solved {
    maps: [Vec<f64>; 3],
    energy: f64,
}

fn read<T: CudaReal>(gpu: &Gpu, fields: &Fields<T>) -> Solved {
    let maps = [&fields.potential, &fields.field_x, &fields.field_y];
    Solved {
        maps: maps.map(|map| wide(&gpu.download(map).unwrap())),
        energy: gpu.download(&fields.energy).unwrap()[0],
    }
}

/// Compares all but φ when that is left out.
fn check(got: &Solved, want: &Solved, limit: f64, potential: bool, what: &str) {
    let names = ["phi", "Ex", "Ey"];
    for ((got, want), name) in got.maps.iter().zip(&want.maps).zip(names) {
        if name == "phi" && !potential {
            assert!(got.iter().all(|v| v.is_nan()), "{what}: phi was written");
            continue;
        }
        let error = relative_rms(got, want);
        println!("{what} {name}: {error:.1e}");
        assert!(error <= limit, "{what}: {name} is off by {error:e}");
    }
    let error = (got.energy - want.energy).abs();
    println!("{what} energy: {error:.1e}");
    assert!(
        error <= limit * want.energy.abs(),
        "{what}: energy {} for {}",
        got.energy,
        want.energy
    );
}

/// Solves with and without the potential, each twice: nothing may be left over. The potential made
/// afterwards has the bits of that made at once.
fn solves_like<T: CudaReal>(gpu: &Gpu, grid: &BinGrid, rho: &[T], want: &Solved, limit: f64) {
    let (nx, ny) = (grid.nx(), grid.ny());
    let rho = gpu.upload(rho).unwrap();
    let mut solver = ThreePass::<T>::new(gpu, grid).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(solver.pipeline(), Pipeline::ThreePass);
    for turn in 0..2 {
        let what = format!("{nx} x {ny} {} turn {turn}", T::PRECISION);
        let mut fields = poisoned(gpu, nx * ny);
        solver.solve(&rho, &mut fields).unwrap();
        let at_once = read(gpu, &fields);
        check(&at_once, want, limit, true, &what);
        let mut fields = poisoned(gpu, nx * ny);
        solver.forward(rho.as_view()).unwrap();
        solver.inverse_field(fields.as_mut()).unwrap();
        check(&read(gpu, &fields), want, limit, false, &format!("{what}, field only"));
        solver.potential(fields.as_mut()).unwrap();
        assert!(read(gpu, &fields) == at_once, "{what}, potential afterwards");
    }
}

/// With [`LONG`] 60 sizes: powers of two, 3- and 5-smooth, oblong either way; 1, 2, odd and prime
/// lengths and others there are no lines of, for which the fused pipeline stands in.
const SHORT: [(usize, usize); 47] = [
    (1, 1),
    (1, 2),
    (2, 1),
    (3, 3),
    (5, 7),
    (9, 1),
    (13, 31),
    (31, 64),
    (64, 31),
    (1, 64),
    (64, 2),
    (101, 103),
    (127, 16),
    (36, 250),
    (225, 40),
    (18, 72),
    (16, 16),
    (16, 64),
    (36, 16),
    (20, 96),
    (40, 36),
    (36, 40),
    (24, 216),
    (120, 48),
    (60, 100),
    (72, 100),
    (100, 72),
    (120, 160),
    (240, 300),
    (320, 48),
    (64, 64),
    (64, 256),
    (128, 64),
    (256, 128),
    (512, 64),
    (128, 512),
    (16, 1000),
    (1280, 32),
    (20, 1536),
    (60, 1500),
    (1800, 64),
    (2000, 36),
    (2000, 16),
    (1800, 100),
    (36, 1500),
    (1280, 216),
    (320, 1000),
];

fn agrees_with_the_definition<T: CudaReal>() {
    let gpu = gpu();
    for (nx, ny) in SHORT {
        let (grid, rho) = (grid(nx, ny), off_axis::<T>(nx, ny));
        let Expected(maps, energy) = expected(&grid, &wide(&rho));
        let want = Solved { maps, energy };
        if ThreePass::<T>::is_made_for(&gpu, &grid) {
            solves_like(&gpu, &grid, &rho, &want, limit::<T>());
            continue;
        }
        let of_lines = |n: usize| n >= 16 && n.is_multiple_of(4);
        let both = of_lines(nx) && of_lines(ny);
        assert!(!both || !must_have_lines::<T>(&gpu, nx.max(ny)), "{nx} x {ny}");
        let mut solver = solver::<T>(&gpu, &grid, Pipeline::ThreePass).unwrap();
        assert_eq!(solver.pipeline(), Pipeline::Fused);
        let mut fields = poisoned(&gpu, nx * ny);
        solver.solve(&gpu.upload(&rho).unwrap(), &mut fields).unwrap();
        let what = format!("{nx} x {ny} {} by another", T::PRECISION);
        check(&read(&gpu, &fields), &want, limit::<T>(), true, &what);
    }
}

#[test]
fn agrees_with_the_definition_in_f32() {
    agrees_with_the_definition::<f32>();
}

#[test]
fn agrees_with_the_definition_in_f64() {
    agrees_with_the_definition::<f64>();
}

/// Whether the device has three passes of these numbers in `f32`: with 163 KB of shared memory a
/// block it must, whatever lines there are.
fn is_made_for(gpu: &Gpu, grid: &BinGrid) -> bool {
    let is = ThreePass::<f32>::is_made_for(gpu, grid);
    assert!(is || gpu.info().shared_memory < 163 << 10, "{} x {}", grid.nx(), grid.ny());
    is
}

/// Sizes for which the definition takes too long.
const LONG: [(usize, usize); 13] = [
    (512, 512),
    (1024, 1024),
    (2048, 512),
    (512, 4096),
    (2048, 2048),
    (4096, 4096),
    (8192, 64),
    (64, 8192),
    (1000, 1000),
    (1536, 1280),
    (2000, 3000),
    (10000, 100),
    (100, 10000),
];

/// The fused pipeline in `f64` is the reference: it has its own tests against
/// the definition.
#[test]
fn agrees_with_the_fused_pipeline_on_long_lines() {
    let gpu = gpu();
    for (nx, ny) in LONG {
        let grid = grid(nx, ny);
        if !is_made_for(&gpu, &grid) {
            continue;
        }
        // Numbers that both precisions hold.
        let rho: Vec<f32> = off_axis(nx, ny);
        let exact: Vec<f64> = wide(&rho);
        let want = {
            let mut fused = Spectral::<f64>::new(&gpu, &grid, Pipeline::Fused).unwrap();
            let mut fields = poisoned(&gpu, nx * ny);
            fused.solve(&gpu.upload(&exact).unwrap(), &mut fields).unwrap();
            read(&gpu, &fields)
        };
        solves_like::<f32>(&gpu, &grid, &rho, &want, limit::<f32>());
        if ThreePass::<f64>::is_made_for(&gpu, &grid) {
            solves_like::<f64>(&gpu, &grid, &exact, &want, 2.0 * limit::<f64>());
        }
    }
}

/// φ, Ex, Ey and the energy, as they are.
fn bits<T: CudaReal>(gpu: &Gpu, fields: &Fields<T>) -> ([Vec<T>; 3], u64) {
    let maps = [&fields.potential, &fields.field_x, &fields.field_y];
    let energy = gpu.download(&fields.energy).unwrap()[0].to_bits();
    (maps.map(|map| gpu.download(map).unwrap()), energy)
}

/// Between two solves of one map another of a much larger one. In `f32` the last panel has columns
/// that these maps have not; of 37 columns the fused pipeline stands in.
fn the_same_bits_after_another_map<T: CudaReal>(gpu: &Gpu) {
    for (nx, ny) in [(40, 36), (40, 37), (64, 20), (512, 60), (1024, 100), (2048, 36), (4096, 20)] {
        let grid = grid(nx, ny);
        let mut solver = solver::<T>(gpu, &grid, Pipeline::ThreePass).unwrap();
        let three = solver.pipeline() == Pipeline::ThreePass;
        assert!(three == (ny != 37) || !must_have_lines::<T>(gpu, nx), "{nx} x {ny}");
        let rho = off_axis::<T>(nx, ny);
        let other: Vec<T> = rho.iter().rev().map(|&v| v * T::cast(1e3)).collect();
        let [rho, other] = [rho, other].map(|map| gpu.upload(&map).unwrap());
        let mut solve = |map| {
            let mut fields = poisoned(gpu, nx * ny);
            solver.solve(map, &mut fields).unwrap();
            bits(gpu, &fields)
        };
        let first = solve(&rho);
        assert!(solve(&other) != first);
        for _ in 0..2 {
            assert!(solve(&rho) == first, "{nx} x {ny} in {}", T::PRECISION);
        }
    }
}

#[test]
fn earlier_solves_leave_no_trace() {
    let gpu = gpu();
    the_same_bits_after_another_map::<f32>(&gpu);
    the_same_bits_after_another_map::<f64>(&gpu);
}

#[test]
fn a_graph_of_several_solves_gives_the_same_bits() {
    let gpu = gpu();
    for (nx, ny) in [(512, 256), (2048, 1024), (4096, 2048)] {
        let rho = gpu.upload(&off_axis::<f32>(nx, ny)).unwrap();
        let mut solver = ThreePass::<f32>::new(&gpu, &grid(nx, ny)).unwrap();
        let mut fields = poisoned(&gpu, nx * ny);
        solver.solve(&rho, &mut fields).unwrap();
        let plain = bits(&gpu, &fields);
        let mut fields = poisoned(&gpu, nx * ny);
        let body = || (0..5).try_for_each(|_| solver.solve(&rho, &mut fields));
        // SAFETY: solver, ρ and fields outlive the graph and stay where they are.
        let mut graph = unsafe { Graph::capture(&gpu, body) }.unwrap();
        for _ in 0..3 {
            graph.launch().unwrap();
            assert!(bits(&gpu, &fields) == plain, "{nx} x {ny}");
        }
    }
}

#[test]
fn fallback_to_fused_is_named() {
    let gpu = gpu();
    for (nx, ny) in [(31, 64), (64, 97), (14, 64), (64, 122)] {
        let refused = ThreePass::<f32>::new(&gpu, &grid(nx, ny)).err().unwrap();
        assert!(matches!(refused, CudaError::NoThreePass { .. }), "{refused}");
        let solver = solver::<f32>(&gpu, &grid(nx, ny), Pipeline::ThreePass).unwrap();
        assert_eq!(solver.pipeline(), Pipeline::Fused);
    }
    let solver = solver::<f32>(&gpu, &grid(64, 128), Pipeline::ThreePass).unwrap();
    assert_eq!(solver.pipeline(), Pipeline::ThreePass);
}

/// On any device a power of two up to 4096 in `f32` and 2048 in `f64`, and nothing of a kernel's
/// registers in local memory.
fn powers_of_two_fit<T: CudaReal>(gpu: &Gpu) {
    let longest = if T::PRECISION == Precision::F32 { 4096 } else { 2048 };
    for n in (6..13).map(|k| 1 << k).filter(|&n| n <= longest) {
        let kernels = ThreePass::<T>::new(gpu, &grid(n, n)).unwrap().kernels().unwrap();
        for kernel in kernels {
            println!("{} {kernel:?}", T::PRECISION);
            assert_eq!(kernel.local, 0, "{kernel:?}");
            assert!(kernel.blocks_per_sm > 0, "{kernel:?}");
        }
    }
}

#[test]
fn powers_of_two_fit_without_local_memory() {
    let gpu = gpu();
    powers_of_two_fit::<f32>(&gpu);
    powers_of_two_fit::<f64>(&gpu);
}

#[test]
fn refusals_are_typed() {
    let gpu = gpu();
    let mut solver = ThreePass::<f64>::new(&gpu, &grid(64, 128)).unwrap();
    let rho = gpu.zeros(64 * 128).unwrap();
    let wrong = solver.solve(&rho, &mut Fields::new(&gpu, 64).unwrap()).unwrap_err();
    assert!(matches!(wrong, CudaError::Length { expected: 8192, found: 64, .. }), "{wrong}");
    let wrong = solver.forward(gpu.zeros(63).unwrap().as_view()).unwrap_err();
    assert!(matches!(wrong, CudaError::Length { expected: 8192, found: 63, .. }), "{wrong}");
    let mut map = gpu.zeros(64 * 128).unwrap();
    let none = solver.transform(Transform::Dct, rho.as_view(), map.as_view_mut()).unwrap_err();
    assert_eq!(none.to_string(), "the three-pass pipeline has no transform of a single map");
    gpu.synchronize().unwrap();
}
