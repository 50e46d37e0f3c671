//! The field solve: every pipeline, size and precision against the definitions.
//!
//! Accuracy is relative RMS: at most 2e-6 in f32 and 1e-13 in f64.

use crate::common::{limit, relative_rms, wide};
use placefield::Real;
use placefield::cpu::solve::{Fields, Solver, VolumeFields, VolumeSolver};
use placefield::engine::Pipeline;
use placefield::grid::{BinGrid, Map, Rect};
use placefield::transform::{Method, oracle};

/// Odd, prime, one, rectangular, powers of two.
const SIZES: [(usize, usize); 24] = [
    (1, 1),
    (1, 2),
    (2, 1),
    (2, 2),
    (1, 7),
    (7, 1),
    (2, 3),
    (3, 2),
    (3, 3),
    (5, 7),
    (4, 4),
    (6, 10),
    (16, 4),
    (4, 16),
    (8, 8),
    (13, 31),
    (31, 12),
    (1, 64),
    (64, 1),
    (33, 34),
    (64, 64),
    (100, 30),
    (128, 96),
    (101, 103),
];

/// A cloud off both axes, noise, and a gradient: no symmetry to hide behind.
fn density(nx: usize, ny: usize) -> Map<f64> {
    let mut state = 12345_u64;
    let values = (0..nx * ny).map(|b| {
        let (i, j) = ((b / ny) as f64 / nx as f64, (b % ny) as f64 / ny as f64);
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let noise = (state >> 40) as f64 / (1u64 << 24) as f64;
        (-((i - 0.2) / 0.1).powi(2) - ((j - 0.7) / 0.2).powi(2)).exp() + 0.3 * noise + 0.2 * i
    });
    Map::from_vec(nx, ny, values.collect())
}

fn round<T: Real>(map: &Map<f64>) -> Map<T> {
    Map::from_vec(map.nx(), map.ny(), map.as_slice().iter().map(|&v| T::cast(v)).collect())
}

/// The input as `T` holds it, so that only the transform's own error is measured.
fn seen_by<T: Real>(map: &Map<f64>) -> (Map<T>, Map<f64>) {
    let rounded = round::<T>(map);
    let exact = Map::from_vec(map.nx(), map.ny(), wide(rounded.as_slice()));
    (rounded, exact)
}

fn check_solve<T: Real>() {
    for (nx, ny) in SIZES {
        // Bins that are not square, unlike on the two axes.
        let grid = BinGrid::new(Rect::at(-3.0, 2.0, 1.5 * nx as f64, ny as f64), nx, ny).unwrap();
        let (rho, exact) = seen_by::<T>(&density(nx, ny));
        let want = oracle::solve(&grid, &exact);
        let energy: f64 = exact.as_slice().iter().zip(want[0].as_slice()).map(|(r, p)| r * p).sum();
        for pipeline in Pipeline::ALL {
            for threads in [1, 2] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut solver = Solver::<T>::new(&grid, pipeline, threads);
                let mut fields = Fields::new(nx, ny);
                let (got_energy, _) = pool.install(|| solver.solve(&rho, &mut fields));
                let got = [&fields.potential, &fields.field_x, &fields.field_y];
                for ((got, want), name) in got.iter().zip(&want).zip(["potential", "Ex", "Ey"]) {
                    let error = relative_rms(&wide(got.as_slice()), want.as_slice());
                    assert!(
                        error <= limit::<T>(),
                        "{name} of {nx}x{ny}, {pipeline}, {}: {error:e}",
                        T::PRECISION
                    );
                }
                let scale = energy.abs().max(1e-3);
                assert!((got_energy - energy).abs() <= 10.0 * limit::<T>() * scale);
            }
        }
    }
}

#[test]
fn solve_f64() {
    check_solve::<f64>();
}

#[test]
fn solve_f32() {
    check_solve::<f32>();
}

/// A few waves, whose potential is known in closed form, on sizes too large to sum directly.
fn check_waves<T: Real>(nx: usize, ny: usize) {
    use std::f64::consts::PI;
    let grid = BinGrid::new(Rect::at(0.0, 0.0, nx as f64, 2.0 * ny as f64), nx, ny).unwrap();
    let modes =
        [(1, 2, 1.0), (3, 0, 0.5), (0, 5, 0.25), (nx / 3, ny / 5, 0.7), (nx - 1, ny - 2, 0.3)];
    let mut maps = [(); 4].map(|()| Map::filled(nx, ny, 0.0));
    for (u, v, amplitude) in modes {
        let (wx, wy) = (PI * u as f64 / nx as f64, PI * v as f64 / ny as f64 / 2.0);
        let green = amplitude / (wx * wx + wy * wy);
        let angle = |k: usize, i: usize, n: usize| {
            PI * ((k * (2 * i + 1)) % (4 * n)) as f64 / (2 * n) as f64
        };
        let along_y: Vec<(f64, f64)> = (0..ny).map(|j| angle(v, j, ny).sin_cos()).collect();
        for i in 0..nx {
            let (sin_x, cos_x) = angle(u, i, nx).sin_cos();
            for (j, &(sin_y, cos_y)) in along_y.iter().enumerate() {
                maps[0][(i, j)] += amplitude * cos_x * cos_y;
                maps[1][(i, j)] += green * cos_x * cos_y;
                maps[2][(i, j)] += green * wx * sin_x * cos_y;
                maps[3][(i, j)] += green * wy * cos_x * sin_y;
            }
        }
    }
    let rho = round::<T>(&maps[0]);
    for pipeline in Pipeline::ALL {
        let mut solver = Solver::<T>::new(&grid, pipeline, 2);
        let mut fields = Fields::new(nx, ny);
        solver.solve(&rho, &mut fields);
        for (got, want) in
            [&fields.potential, &fields.field_x, &fields.field_y].into_iter().zip(&maps[1..])
        {
            let error = relative_rms(&wide(got.as_slice()), want.as_slice());
            // The input's own rounding is amplified by nothing here: every mode keeps its error.
            assert!(error <= 2.0 * limit::<T>(), "{nx}x{ny} {pipeline}: {error:e}");
        }
    }
}

#[test]
fn waves_on_large_and_long_maps() {
    for (nx, ny) in [(512, 512), (100, 10_000), (10_000, 100), (1021, 509)] {
        check_waves::<f64>(nx, ny);
        check_waves::<f32>(nx, ny);
    }
}

fn check_volume<T: Real>() {
    let shapes = [
        [1, 1, 1],
        [2, 1, 3],
        [4, 5, 6],
        [7, 1, 40],
        [3, 33, 2],
        [16, 12, 34],
        [1, 9, 17],
        [37, 4, 16],
    ];
    // Bins of three lengths: no two axes can be exchanged unnoticed.
    let bin = [1.5, 1.0, 4.0];
    for shape in shapes {
        let (rho, exact) = seen_by::<T>(&density(shape[0] * shape[1], shape[2]));
        let want = oracle::solve_volume(shape, bin, exact.as_slice());
        let energy: f64 = exact.as_slice().iter().zip(&want[0]).map(|(r, p)| r * p).sum();
        for method in Method::ALL {
            for threads in [1, 2] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut solver = VolumeSolver::<T>::new(shape, bin, method, threads).unwrap();
                let mut maps = vec![vec![T::zero(); rho.as_slice().len()]; 4];
                let [potential, x, y, z] = &mut maps[..] else { unreachable!() };
                let fields = VolumeFields { potential, field: [x, y, z] };
                let got = pool.install(|| solver.solve(rho.as_slice(), fields)).unwrap();
                for (got, want) in maps.iter().zip(&want) {
                    let error = relative_rms(&wide(got), want);
                    assert!(error <= limit::<T>(), "{shape:?} {method:?}: {error:e}");
                }
                let off = (got - energy).abs();
                assert!(off <= 10.0 * limit::<T>() * energy.abs(), "{shape:?}: {got} for {energy}");
            }
        }
    }
}

#[test]
fn solves_of_volumes_meet_the_definitions() {
    check_volume::<f32>();
    check_volume::<f64>();
}

#[test]
fn volumes_that_cannot_be_solved_are_errors() {
    let plan = |shape, bin| VolumeSolver::<f32>::new(shape, bin, Method::Fastest, 1);
    assert!(plan([2, 0, 2], [1.0; 3]).is_err());
    assert!(plan([usize::MAX, 2, 2], [1.0; 3]).is_err());
    for length in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-320] {
        assert!(plan([2; 3], [1.0, length, 1.0]).is_err(), "{length}");
    }
    let mut solver = plan([2, 3, 4], [1.0; 3]).unwrap();
    let (mut map, mut short) = (vec![0.0; 24], vec![0.0; 23]);
    let (mut x, mut y) = (map.clone(), map.clone());
    let rho = map.clone();
    let fields = VolumeFields { potential: &mut map, field: [&mut x, &mut y, &mut short] };
    let error = solver.solve(&rho, fields).unwrap_err();
    assert_eq!(error.to_string(), "field along z has 23 values, the plan is for 24");
}
