//! The field solve on a device against a float64 reference: both pipelines,
//! both precisions, every kind of size.

use crate::common::{limit, relative_rms, wide};
use crate::device::{self, MAPS, gpu, output, poisoned};
use crate::maps::{grid, off_axis};
use crate::reference::{Line, transform_2d};
use placefield::cpu::solve as cpu;
use placefield::cuda::internals::Spectral;
use placefield::cuda::{
    CudaError, CudaReal, FieldSolver, Fields, Gpu, Graph, VolumeFields, VolumeSolver, solver,
};
use placefield::engine::Pipeline;
use placefield::grid::BinGrid;
use placefield::transform::Method;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::f64::consts::PI;

/// Odd, prime, one bin wide, rectangular either way, powers of two.
const SIZES: [(usize, usize); 18] = [
    (1, 1),
    (1, 2),
    (2, 1),
    (1, 7),
    (9, 1),
    (2, 3),
    (5, 7),
    (8, 8),
    (16, 4),
    (13, 31),
    (24, 40),
    (64, 64),
    (100, 30),
    (128, 256),
    (101, 103),
    (512, 512),
    (10000, 24),
    (100, 10000),
];

/// φ, Ex, Ey and the energy of ρ.
pub(crate) struct Expected(pub(crate) [Vec<f64>; 3], pub(crate) f64);

pub(crate) fn expected(grid: &BinGrid, rho: &[f64]) -> Expected {
    let (nx, ny) = (grid.nx(), grid.ny());
    let spectrum = transform_2d(rho, nx, ny, Line::Dct, Line::Dct);
    let wx = |k: usize| PI * (k / ny) as f64 / nx as f64;
    let wy = |k: usize| PI * (k % ny) as f64 / ny as f64 * (grid.bin_x() / grid.bin_y());
    let potential = |k: usize| match k {
        0 => 0.0,
        _ => 4.0 / (nx * ny) as f64 * spectrum[k] / (wx(k).powi(2) + wy(k).powi(2)),
    };
    let map = |weight: &dyn Fn(usize) -> f64, along_x, along_y| {
        let scaled: Vec<f64> = (0..nx * ny).map(|k| weight(k) * potential(k)).collect();
        transform_2d(&scaled, nx, ny, along_x, along_y)
    };
    let phi = map(&|_| 1.0, Line::Idct, Line::Idct);
    let energy = phi.iter().zip(rho).map(|(p, r)| p * r).sum();
    let ex = map(&wx, Line::Idxst, Line::Idct);
    let ey = map(&wy, Line::Idct, Line::Idxst);
    Expected([phi, ex, ey], energy)
}

fn check<T: CudaReal>(gpu: &Gpu, fields: &Fields<T>, want: &Expected, what: &str) {
    let maps = [&fields.potential, &fields.field_x, &fields.field_y];
    for ((map, want), name) in maps.into_iter().zip(&want.0).zip(["phi", "Ex", "Ey"]) {
        let error = relative_rms(&wide(&gpu.download(map).unwrap()), want);
        println!("{what} {name}: {error:.1e}");
        assert!(error <= limit::<T>(), "{what}: {name} is off by {error:e}");
    }
    let energy = gpu.download(&fields.energy).unwrap()[0];
    let error = (energy - want.1).abs();
    assert!(error <= limit::<T>() * want.1.abs(), "{what}: energy {energy} for {}", want.1);
}

/// Returns both pipelines of cuFFT, and the fused one with every transform on its own.
pub(crate) fn variants<T: CudaReal>(gpu: &Gpu, grid: &BinGrid) -> [(&'static str, Spectral<T>); 3] {
    let of = |pipeline| Spectral::new(gpu, grid, pipeline).unwrap();
    [
        ("row-column", of(Pipeline::RowColumn)),
        ("fused", of(Pipeline::Fused)),
        ("fused, per transform", Spectral::per_transform(gpu, grid).unwrap()),
    ]
}

fn solves_agree<T: CudaReal>() {
    let gpu = gpu();
    for (nx, ny) in SIZES {
        let (grid, rho) = (grid(nx, ny), off_axis::<T>(nx, ny));
        let want = expected(&grid, &wide(&rho));
        let rho = gpu.upload(&rho).unwrap();
        for (name, mut solver) in variants::<T>(&gpu, &grid) {
            let what = format!("{nx} x {ny} {} {name}", T::PRECISION);
            let mut fields = poisoned(&gpu, nx * ny);
            // Twice: nothing may be left over from the first.
            for _ in 0..2 {
                solver.solve(&rho, &mut fields).unwrap_or_else(|e| panic!("{what}: {e}"));
                check(&gpu, &fields, &want, &what);
            }
        }
    }
}

#[test]
fn solves_agree_with_the_reference_in_f32() {
    solves_agree::<f32>();
}

#[test]
fn solves_agree_with_the_reference_in_f64() {
    solves_agree::<f64>();
}

fn transforms_agree<T: CudaReal>() {
    let gpu = gpu();
    for (nx, ny) in SIZES {
        let x = off_axis::<T>(nx, ny);
        let input = gpu.upload(&x).unwrap();
        let wants =
            MAPS.map(|(_, along_x, along_y)| transform_2d(&wide(&x), nx, ny, along_x, along_y));
        for (name, mut solver) in variants::<T>(&gpu, &grid(nx, ny)) {
            for ((kind, ..), want) in MAPS.into_iter().zip(&wants) {
                let what = format!("{nx} x {ny} {} {name} {kind:?}", T::PRECISION);
                let got = output(&gpu, nx * ny, |out| {
                    solver.transform(kind, input.as_view(), out.as_view_mut())
                });
                device::check(&got, want, &what);
            }
        }
    }
}

#[test]
fn transforms_agree_with_the_reference_in_f32() {
    transforms_agree::<f32>();
}

#[test]
fn transforms_agree_with_the_reference_in_f64() {
    transforms_agree::<f64>();
}

#[test]
fn a_replayed_graph_gives_the_same_bits() {
    let gpu = gpu();
    let (nx, ny) = (320, 480);
    let rho = gpu.upload(&off_axis::<f32>(nx, ny)).unwrap();
    for pipeline in Pipeline::ALL {
        let mut solver = solver::<f32>(&gpu, &grid(nx, ny), pipeline).unwrap();
        let read = |fields: &Fields<f32>| {
            let maps = [&fields.potential, &fields.field_x, &fields.field_y]
                .map(|map| gpu.download(map).unwrap());
            (maps, gpu.download(&fields.energy).unwrap()[0].to_bits())
        };
        let mut fields = poisoned(&gpu, nx * ny);
        solver.solve(&rho, &mut fields).unwrap();
        let plain = read(&fields);
        let mut fields = poisoned(&gpu, nx * ny);
        // SAFETY: solver, ρ and fields outlive the graph and stay where they are.
        let mut graph =
            unsafe { Graph::capture(&gpu, || solver.solve(&rho, &mut fields)) }.unwrap();
        assert!(gpu.download(&fields.potential).unwrap().iter().all(|v| v.is_nan()));
        for _ in 0..3 {
            graph.launch().unwrap();
            assert!(read(&fields) == plain, "{pipeline}");
        }
    }
}

#[test]
fn a_capture_that_fails_leaves_the_stream_usable() {
    let gpu = gpu();
    let mut short = Spectral::<f32>::new(&gpu, &grid(8, 8), Pipeline::Fused).unwrap();
    let rho = gpu.zeros::<f32>(63).unwrap();
    let mut fields = Fields::new(&gpu, 64).unwrap();
    // SAFETY: the graph is never launched.
    let failed = unsafe { Graph::capture(&gpu, || short.solve(&rho, &mut fields)) };
    assert!(matches!(failed.err().unwrap(), CudaError::Length { expected: 64, found: 63, .. }));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        // SAFETY: the graph is never launched.
        unsafe { Graph::capture::<CudaError>(&gpu, || panic!("on purpose")) }
    }));
    assert!(panicked.is_err());
    let rho = gpu.upload(&off_axis::<f32>(8, 8)).unwrap();
    short.solve(&rho, &mut fields).unwrap();
    gpu.synchronize().unwrap();
}

#[test]
fn refusals_are_typed() {
    assert!(matches!(Gpu::open(4096), Err(CudaError::NoSuchDevice { ordinal: 4096, .. })));
    let gpu = gpu();
    let much = gpu.zeros::<f64>(1 << 44).err().unwrap();
    assert!(matches!(much, CudaError::OutOfMemory { needed, .. } if needed == 1 << 47), "{much}");
    let mut solver = solver::<f64>(&gpu, &grid(4, 6), Pipeline::RowColumn).unwrap();
    let mut short = Fields::new(&gpu, 23).unwrap();
    let rho = gpu.zeros(24).unwrap();
    let wrong = solver.solve(&rho, &mut short).unwrap_err();
    assert!(matches!(wrong, CudaError::Length { expected: 24, found: 23, .. }), "{wrong}");
    let wrong = solver.forward(gpu.zeros(25).unwrap().as_view()).unwrap_err();
    assert!(matches!(wrong, CudaError::Length { expected: 24, found: 25, .. }), "{wrong}");
    solver.solve(&rho, &mut Fields::new(&gpu, 24).unwrap()).unwrap();
    gpu.synchronize().unwrap();
}

/// Two dies, axes and bins of three lengths, one axis or bin, primes, powers of two.
const VOLUMES: [([usize; 3], [f64; 3]); 9] = [
    ([1, 1, 1], [1.0, 1.0, 1.0]),
    ([7, 1, 1], [2.0, 1.0, 1.0]),
    ([1, 2, 5], [1.0, 3.0, 1.0]),
    ([6, 5, 35], [6.0, 3.0, 15.0]),
    ([13, 31, 7], [1.0, 2.0, 0.5]),
    ([32, 24, 2], [10.0, 10.0, 40.0]),
    ([64, 128, 8], [1.0, 2.0, 8.0]),
    ([128, 64, 32], [1.0, 1.0, 1.0]),
    ([100, 96, 100], [1.0, 0.7, 1.3]),
];

fn volumes_agree<T: CudaReal>(gpu: &Gpu) {
    let mut random = Pcg64Mcg::seed_from_u64(11);
    for (shape, bin) in VOLUMES {
        let bins: usize = shape.iter().product();
        // Noise has as much of every wave. Where low ones are weak, the rounding of others shows.
        let mut rho: Vec<f64> = (0..bins).map(|_| random.random()).collect();
        let mean = rho.iter().sum::<f64>() / bins as f64;
        rho.iter_mut().for_each(|v| *v -= mean);
        let rounded: Vec<T> = rho.iter().map(|&v| T::cast(v)).collect();
        let rho: Vec<f64> = wide(&rounded);
        let mut want = [(); 4].map(|()| vec![0.0; bins]);
        let [potential, x, y, z] = &mut want;
        let fields = cpu::VolumeFields { potential, field: [x, y, z] };
        let mut on_cpu = cpu::VolumeSolver::<f64>::new(shape, bin, Method::Fastest, 1).unwrap();
        let energy = on_cpu.solve(&rho, fields).unwrap();
        for method in Method::ALL {
            let what = format!("{shape:?} {} {}", method.name(), T::PRECISION);
            let mut solver = VolumeSolver::<T>::new(gpu, shape, bin, method).unwrap();
            let mut fields = VolumeFields::new(gpu, bins).unwrap();
            let rho = gpu.upload(&rounded).unwrap();
            let mut first = None;
            for _ in 0..2 {
                solver.solve(&rho, &mut fields).unwrap();
                let [x, y, z] = &fields.field;
                let maps = [&fields.potential, x, y, z].map(|map| gpu.download(map).unwrap());
                for (axis, (map, want)) in maps.iter().zip(&want).enumerate() {
                    let error = relative_rms(&wide(map), want);
                    assert!(error <= limit::<T>(), "{what}: map {axis} is off by {error:e}");
                }
                let got = gpu.download(&fields.energy).unwrap()[0];
                let error = (got - energy).abs();
                assert!(error <= limit::<T>() * energy.abs(), "{what}: energy {got} for {energy}");
                let all = (maps.map(|map| wide(&map)), got.to_bits());
                assert_eq!(*first.get_or_insert_with(|| all.clone()), all, "{what}: other bits");
            }
            let short = gpu.upload(&rounded[1..]).unwrap();
            assert!(matches!(solver.solve(&short, &mut fields), Err(CudaError::Length { .. })));
        }
    }
    let new = |shape, bin| VolumeSolver::<T>::new(gpu, shape, bin, Method::Fastest).err();
    assert!(matches!(new([4, 0, 4], [1.0; 3]), Some(CudaError::Shape(_))));
    assert!(matches!(new([4; 3], [1.0, -1.0, 1.0]), Some(CudaError::Shape(_))));
    assert!(matches!(new([2048; 3], [1.0; 3]), Some(CudaError::NoTransform { .. })));
}

#[test]
fn volumes_agree_with_the_cpu_in_f32() {
    volumes_agree::<f32>(&gpu());
}

#[test]
fn volumes_agree_with_the_cpu_in_f64() {
    volumes_agree::<f64>(&gpu());
}
