//! The field solve: ρ in; φ, Ex, Ey and the energy out.
//!
//! The row-column and the fused pipeline compute the four 2-D transforms
//! ([`Plan`](super::transforms::Plan)) by two methods, and the same code composes the solve
//! (`composed`). The three-pass pipeline is a separate solve. [`VolumeSolver`] composes a solve in
//! three dimensions.

mod composed;
mod fields;
mod multipliers;
mod three_pass;
mod volume;

pub use fields::{FieldSlices, Fields};
pub use volume::{VolumeFields, VolumeSolver};

use crate::engine::Pipeline;
use crate::engine::{EngineError, check_lengths};
use crate::grid::{BinGrid, Map};
use crate::real::Real;
use crate::spectral::Spectrum;
use crate::transform::Method;
use composed::Composed;
use multipliers::Multipliers;
use std::time::Instant;
use three_pass::ThreePass;

/// Milliseconds of the solve's two halves.
#[derive(Clone, Copy, Debug, Default)]
pub struct SolveTimes {
    /// The DCT, with Green's function.
    pub forward: f64,
    /// The three inverses.
    pub inverse: f64,
}

impl SolveTimes {
    /// Returns the times of two solves that run side by side.
    pub(super) fn at_least(self, other: SolveTimes) -> Self {
        SolveTimes {
            forward: self.forward.max(other.forward),
            inverse: self.inverse.max(other.inverse),
        }
    }
}

/// A planned solve of one grid by one pipeline. No call allocates.
///
/// Work is spread over the rayon pool it is called in. A density of one's own, say
/// one full bin in an empty die:
///
/// ```
/// use placefield::cpu::solve::{Fields, Solver};
/// use placefield::engine::Pipeline;
/// use placefield::grid::{BinGrid, Map, Rect};
///
/// let grid = BinGrid::new(Rect::at(0.0, 0.0, 640.0, 480.0), 64, 48)?;
/// let mut rho = Map::filled(64, 48, 0.0);
/// rho[(20, 30)] = 1.0;
/// // Three-pass is the fastest; 0: for as many threads as this pool has.
/// let mut solver = Solver::<f64>::new(&grid, Pipeline::ThreePass, 0);
/// let mut fields = Fields::new(64, 48);
/// let (energy, _times) = solver.solve(&rho, &mut fields);
/// assert!(energy > 0.0);
/// // The field points away from the full bin.
/// assert!(fields.field_x[(19, 30)] < 0.0 && fields.field_x[(21, 30)] > 0.0);
/// # Ok::<(), placefield::grid::GridError>(())
/// ```
pub struct Solver<T: Real> {
    nx: usize,
    ny: usize,
    passes: Passes<T>,
}

enum Passes<T: Real> {
    /// Transform by transform.
    Composed(Box<Composed<T>>),
    ThreePass(Box<(Multipliers<T>, ThreePass<T>)>),
}

impl<T: Real> Solver<T> {
    /// Plans a solve for a pool of `threads` threads, or for 0 of as many as the pool has that this
    /// is called in. In a larger pool threads wait for one another's working memory.
    pub fn new(grid: &BinGrid, pipeline: Pipeline, threads: usize) -> Self {
        let threads = if threads == 0 { rayon::current_num_threads() } else { threads };
        let (nx, ny, spectrum) = (grid.nx(), grid.ny(), Spectrum::new(grid));
        let composed =
            |method| Passes::Composed(Box::new(Composed::new(&spectrum, method, threads)));
        let passes = match pipeline {
            Pipeline::RowColumn => composed(Method::RowColumn),
            Pipeline::Fused => composed(Method::Fused),
            Pipeline::ThreePass => {
                let plan = ThreePass::new(nx, ny, threads);
                Passes::ThreePass(Box::new((Multipliers::new(&spectrum), plan)))
            }
        };
        Solver { nx, ny, passes }
    }

    /// Computes φ, Ex and Ey of `rho`; returns the energy Σ φ·ρ and the time of each half.
    ///
    /// Fields do not depend on a constant in `rho`, but their rounding does. For a flat ρ in `f32`
    /// subtract about its mean before rounding it
    /// ([`Charge::background`](crate::charge::Charge::background)).
    ///
    /// # Panics
    /// When a map is not of the grid's size.
    pub fn solve(&mut self, rho: &Map<T>, fields: &mut Fields<T>) -> (f64, SolveTimes) {
        for map in [rho, &fields.potential, &fields.field_x, &fields.field_y] {
            assert_eq!((map.nx(), map.ny()), (self.nx, self.ny), "a map of another grid");
        }
        self.run(rho.as_slice(), fields.into())
    }

    /// Solves as [`Solver::solve`] does, from and to memory of the caller's, without a copy.
    ///
    /// # Errors
    /// When a slice does not have `nx × ny` values.
    pub fn solve_slices(
        &mut self,
        rho: &[T],
        fields: FieldSlices<'_, T>,
    ) -> Result<(f64, SolveTimes), EngineError> {
        let lengths = [
            ("density", rho.len()),
            ("potential", fields.potential.len()),
            ("field along x", fields.field_x.len()),
            ("field along y", fields.field_y.len()),
        ];
        check_lengths(self.nx * self.ny, &lengths)?;
        Ok(self.run(rho, fields))
    }

    fn run(&mut self, rho: &[T], fields: FieldSlices<'_, T>) -> (f64, SolveTimes) {
        let start = Instant::now();
        let elapsed = || start.elapsed().as_secs_f64() * 1e3;
        let (forward, energy);
        match &mut self.passes {
            Passes::Composed(plan) => {
                plan.forward(rho);
                forward = elapsed();
                let FieldSlices { potential, field_x, field_y } = fields;
                energy = plan.inverse(rho, potential, &mut [field_x, field_y]);
            }
            Passes::ThreePass(parts) => {
                let (by, plan) = &mut **parts;
                plan.forward(rho);
                forward = elapsed();
                energy = plan.inverse(by, fields);
            }
        }
        (energy, SolveTimes { forward, inverse: elapsed() - forward })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::simd::Simd;
    use crate::grid::Rect;
    use crate::transform::oracle;

    /// Small enough for Miri (`scripts/miri`): whole tiles and parts of one, lines without a
    /// partner. The sizes that are used are in `tests/library/conformance.rs`.
    #[test]
    fn small_solves() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        // In this one everything runs on this thread, with the vector unit given.
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        let alone = alone.build().unwrap();
        // Under Miri the transforms that the other pipelines compose are tested by themselves.
        let shapes = [(2, 35), (35, 4), (1, 1), (3, 6), (36, 80), (7, 22)];
        let (shapes, pipelines) = match cfg!(miri) {
            true => (&shapes[..2], &[Pipeline::ThreePass][..]),
            false => (&shapes[..], &Pipeline::ALL[..]),
        };
        for &(nx, ny) in shapes {
            let die = Rect::at(0.0, 0.0, 3.0 * nx as f64, 2.0 * ny as f64);
            let grid = BinGrid::new(die, nx, ny).unwrap();
            let rho: Vec<f64> = (0..nx * ny).map(|i| ((i * i * 31 + 7 * i) % 17) as f64).collect();
            let rho = Map::from_vec(nx, ny, rho);
            let [potential, field_x, field_y] = oracle::solve(&grid, &rho);
            let products = potential.as_slice().iter().zip(rho.as_slice());
            let want_energy: f64 = products.map(|(phi, rho)| phi * rho).sum();
            for &pipeline in pipelines {
                let (mut solver, mut fields) =
                    (Solver::new(&grid, pipeline, 2), Fields::new(nx, ny));
                let mut check = |solve: &mut dyn FnMut(&mut Fields<f64>) -> f64, how: &str| {
                    let energy = solve(&mut fields);
                    assert!((energy - want_energy).abs() <= 1e-9 * want_energy.abs().max(1.0));
                    let got = [&fields.potential, &fields.field_x, &fields.field_y];
                    for (got, want) in got.into_iter().zip([&potential, &field_x, &field_y]) {
                        let mut pairs = got.as_slice().iter().zip(want.as_slice());
                        let close = pairs.all(|(a, b)| (a - b).abs() < 1e-9);
                        assert!(close, "{pipeline} {nx} x {ny}, {how}");
                    }
                };
                check(&mut |fields| pool.install(|| solver.solve(&rho, fields).0), "two threads");
                for simd in Simd::available() {
                    let mut solve = |fields: &mut Fields<f64>| {
                        simd.force(|| alone.install(|| solver.solve(&rho, fields).0))
                    };
                    check(&mut solve, simd.name());
                }
            }
        }
    }
    /// Maps from a size on are written past the caches where their rows begin with cache lines. The
    /// last columns are fewer than a tile has.
    #[test]
    #[cfg_attr(miri, ignore = "large")]
    fn fields_are_the_same_wherever_they_are_written() {
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        let alone = alone.build().unwrap();
        for (nx, ny) in [(1024, 1032), (1023, 1040)] {
            let grid =
                BinGrid::new(Rect::at(0.0, 0.0, nx as f64, 2.0 * ny as f64), nx, ny).unwrap();
            let rho = Map::from_vec(nx, ny, (0..nx * ny).map(|i| (i * i % 1009) as f64).collect());
            for simd in Simd::available() {
                let mut solver = Solver::<f64>::new(&grid, Pipeline::ThreePass, 1);
                let mut maps = Fields::new(nx, ny);
                // One beside the beginning of a line.
                let mut values = Fields::new(nx, ny + 1);
                let Fields { potential, field_x, field_y } = &mut values;
                let [potential, field_x, field_y] = [potential, field_x, field_y]
                    .map(|map| &mut map.as_mut_slice()[1..][..nx * ny]);
                let fields = FieldSlices { potential, field_x, field_y };
                simd.force(|| {
                    alone.install(|| {
                        solver.solve(&rho, &mut maps);
                        solver.solve_slices(rho.as_slice(), fields).unwrap();
                    })
                });
                for (map, beside) in [
                    (&maps.potential, &values.potential),
                    (&maps.field_x, &values.field_x),
                    (&maps.field_y, &values.field_y),
                ] {
                    let beside = &beside.as_slice()[1..][..nx * ny];
                    assert!(map.as_slice() == beside, "{} of {nx} x {ny}", simd.name());
                    assert!(beside.iter().any(|&v| v != 0.0));
                }
            }
        }
    }
}
