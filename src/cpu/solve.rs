//! The field solve: ρ in; φ, Ex, Ey and the energy out.
//!
//! The row-column and the fused pipeline are ways of computing the four 2-D
//! transforms ([`Transforms`]), and the solve composes them the same way for
//! both: one DCT with Green's function folded into its last stage, then three
//! inverses with the wavenumbers folded into their first. The three-pass
//! pipeline is a solve of its own.

use super::fused::Fused;
use super::row_column::RowColumn;
use super::shared::{dot, vectorised};
use super::three_pass::ThreePass;
use crate::engine::Pipeline;
use crate::grid::{BinGrid, Map};
use crate::memory::filled;
use crate::real::Real;
use crate::spectral::Spectrum;
use crate::transform::{LengthError, Transform, check_length};
use rayon::prelude::*;
use std::time::Instant;

/// The potential and the field of one density, each `nx × ny`.
#[derive(Clone, Debug)]
pub struct Fields<T> {
    /// φ, in bin widths squared.
    pub potential: Map<T>,
    /// E along x, in bin widths.
    pub field_x: Map<T>,
    /// E along y, in bin widths.
    pub field_y: Map<T>,
}

impl<T: Real> Fields<T> {
    /// Zero maps.
    pub fn new(nx: usize, ny: usize) -> Self {
        let zero = || Map::filled(nx, ny, T::zero());
        Fields { potential: zero(), field_x: zero(), field_y: zero() }
    }
}

/// The wavenumbers of a grid in working precision: what passes multiply by.
#[derive(Clone, Debug)]
pub(crate) struct Multipliers<T> {
    pub(crate) wx: Vec<T>,
    pub(crate) wy: Vec<T>,
    pub(crate) wx_squared: Vec<T>,
    pub(crate) wy_squared: Vec<T>,
    pub(crate) normalisation: T,
}

impl<T: Real> Multipliers<T> {
    fn new(grid: &BinGrid) -> Self {
        let spectrum = Spectrum::new(grid);
        let squares = |w: &[f64]| w.iter().map(|w| T::of(w * w)).collect();
        Multipliers {
            wx: spectrum.wx().iter().map(|&w| T::of(w)).collect(),
            wy: spectrum.wy().iter().map(|&w| T::of(w)).collect(),
            wx_squared: squares(spectrum.wx()),
            wy_squared: squares(spectrum.wy()),
            normalisation: T::of(spectrum.normalisation()),
        }
    }
}

/// What a pass multiplies the coefficient `(u, v)` by.
///
/// A type per case, so that every pass is compiled with its multiplication inlined.
pub(crate) trait Multiply<T>: Sync {
    fn at(&self, u: usize, v: usize) -> T;
}

/// Leaves coefficients as they are.
pub(crate) struct One;

impl<T: Real> Multiply<T> for One {
    #[inline(always)]
    fn at(&self, _: usize, _: usize) -> T {
        T::one()
    }
}

/// Green's function.
pub(crate) struct Green<'a, T>(pub(crate) &'a Multipliers<T>);

impl<T: Real> Multiply<T> for Green<'_, T> {
    #[inline(always)]
    fn at(&self, u: usize, v: usize) -> T {
        let square = self.0.wx_squared[u] + self.0.wy_squared[v];
        // Only (0, 0) has no wavenumber: the mean, which is dropped.
        if square > T::zero() { self.0.normalisation / square } else { T::zero() }
    }
}

/// `w_x(u)`.
pub(crate) struct AlongX<'a, T>(&'a [T]);

impl<T: Real> Multiply<T> for AlongX<'_, T> {
    #[inline(always)]
    fn at(&self, u: usize, _: usize) -> T {
        self.0[u]
    }
}

/// `w_y(v)`.
pub(crate) struct AlongY<'a, T>(&'a [T]);

impl<T: Real> Multiply<T> for AlongY<'_, T> {
    #[inline(always)]
    fn at(&self, _: usize, v: usize) -> T {
        self.0[v]
    }
}

/// The inverse transforms, by what runs along each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inverse {
    Idct,
    IdctIdxst,
    IdxstIdct,
}

/// One way of computing the 2-D transforms of `nx × ny` maps, planned once.
pub(crate) trait Transforms2d<T: Real>: Send {
    /// `out = DCT2(x) · by`.
    fn forward(&mut self, x: &[T], by: &impl Multiply<T>, out: &mut [T]);

    /// `out = inverse(x · by)`.
    fn inverse(&mut self, kind: Inverse, x: &[T], by: &impl Multiply<T>, out: &mut [T]);
}

/// Milliseconds of the solve's two halves.
#[derive(Clone, Copy, Debug, Default)]
pub struct SolveTimes {
    /// The DCT, with Green's function.
    pub forward: f64,
    /// The three inverses.
    pub inverse: f64,
}

/// A planned solve of one grid by one pipeline. No call allocates.
///
/// Work is spread over the rayon pool it is called in.
pub struct Solver<T: Real> {
    nx: usize,
    ny: usize,
    multipliers: Multipliers<T>,
    /// Σ φ·ρ of every row of bins.
    row_energy: Vec<f64>,
    plan: Plan<T>,
}

enum Plan<T: Real> {
    /// Transform by transform, with DCT2(ρ)·G between the halves.
    Composed {
        transforms: Transforms<T>,
        spectrum: Vec<T>,
    },
    ThreePass(ThreePass<T>),
}

impl<T: Real> Solver<T> {
    /// Plans a solve for a pool of `threads` threads.
    pub fn new(grid: &BinGrid, pipeline: Pipeline, threads: usize) -> Self {
        let (nx, ny) = (grid.nx(), grid.ny());
        Solver {
            nx,
            ny,
            multipliers: Multipliers::new(grid),
            row_energy: vec![0.0; nx],
            plan: match Transforms::new(nx, ny, pipeline, threads) {
                Some(transforms) => {
                    Plan::Composed { transforms, spectrum: filled(nx * ny, T::zero()) }
                }
                None => Plan::ThreePass(ThreePass::new(nx, ny, threads)),
            },
        }
    }

    /// φ, Ex and Ey of `rho`; returns the energy Σ φ·ρ and the time of each half.
    ///
    /// # Panics
    /// When a map is not of the grid's size.
    pub fn solve(&mut self, rho: &Map<T>, fields: &mut Fields<T>) -> (f64, SolveTimes) {
        for map in [rho, &fields.potential, &fields.field_x, &fields.field_y] {
            assert_eq!((map.nx(), map.ny()), (self.nx, self.ny), "a map of another grid");
        }
        let by = &self.multipliers;
        let start = Instant::now();
        let elapsed = || start.elapsed().as_secs_f64() * 1e3;
        let forward;
        match &mut self.plan {
            Plan::Composed { transforms, spectrum } => {
                transforms.forward(rho.as_slice(), &Green(by), spectrum);
                forward = elapsed();
                transforms.fields(by, spectrum, fields);
                row_energies(rho, &fields.potential, &mut self.row_energy);
            }
            Plan::ThreePass(plan) => {
                plan.forward(rho);
                forward = elapsed();
                plan.inverse(by, rho, fields, &mut self.row_energy);
            }
        }
        // Row by row and then over rows: the same for any number of threads.
        let energy = self.row_energy.iter().sum();
        (energy, SolveTimes { forward, inverse: elapsed() - forward })
    }
}

fn row_energies<T: Real>(rho: &Map<T>, potential: &Map<T>, sums: &mut [f64]) {
    let ny = rho.ny();
    let rows = rho.as_slice().par_chunks(ny).zip(potential.as_slice().par_chunks(ny));
    sums.par_iter_mut().zip(rows).for_each(|(sum, (rho, potential))| {
        *sum = vectorised(
            #[inline(always)]
            || dot(rho, potential),
        );
    });
}

/// Single 2-D transforms of `nx × ny` maps, planned once. No call allocates.
///
/// Work is spread over the rayon pool it is called in.
pub struct Transforms<T: Real> {
    bins: usize,
    plan: TransformPlan<T>,
}

enum TransformPlan<T: Real> {
    RowColumn(RowColumn<T>),
    Fused(Fused<T>),
}

impl<T: Real> Transforms<T> {
    /// Plans transforms for a pool of `threads` threads; `None` for a pipeline
    /// that fuses across transforms and so has no single ones.
    pub fn new(nx: usize, ny: usize, pipeline: Pipeline, threads: usize) -> Option<Self> {
        let plan = match pipeline {
            Pipeline::RowColumn => TransformPlan::RowColumn(RowColumn::new(nx, ny, threads)),
            Pipeline::Fused => TransformPlan::Fused(Fused::new(nx, ny, threads)),
            Pipeline::ThreePass => return None,
        };
        Some(Transforms { bins: nx * ny, plan })
    }

    /// `out = kind(x)`, both `nx × ny`, y contiguous.
    ///
    /// # Errors
    /// When a slice does not hold `nx · ny` values.
    pub fn transform(
        &mut self,
        kind: Transform,
        x: &[T],
        out: &mut [T],
    ) -> Result<(), LengthError> {
        check_length("input", self.bins, x.len())?;
        check_length("output", self.bins, out.len())?;
        match kind {
            Transform::Dct => self.forward(x, &One, out),
            Transform::Idct => self.inverse(Inverse::Idct, x, &One, out),
            Transform::IdctIdxst => self.inverse(Inverse::IdctIdxst, x, &One, out),
            Transform::IdxstIdct => self.inverse(Inverse::IdxstIdct, x, &One, out),
        }
        Ok(())
    }

    /// φ, Ex and Ey from DCT2(ρ)·G.
    fn fields(&mut self, by: &Multipliers<T>, spectrum: &[T], fields: &mut Fields<T>) {
        let Fields { potential, field_x, field_y } = fields;
        self.inverse(Inverse::Idct, spectrum, &One, potential.as_mut_slice());
        self.inverse(Inverse::IdxstIdct, spectrum, &AlongX(&by.wx), field_x.as_mut_slice());
        self.inverse(Inverse::IdctIdxst, spectrum, &AlongY(&by.wy), field_y.as_mut_slice());
    }
}

impl<T: Real> Transforms2d<T> for Transforms<T> {
    fn forward(&mut self, x: &[T], by: &impl Multiply<T>, out: &mut [T]) {
        match &mut self.plan {
            TransformPlan::RowColumn(p) => p.forward(x, by, out),
            TransformPlan::Fused(p) => p.forward(x, by, out),
        }
    }

    fn inverse(&mut self, kind: Inverse, x: &[T], by: &impl Multiply<T>, out: &mut [T]) {
        match &mut self.plan {
            TransformPlan::RowColumn(p) => p.inverse(kind, x, by, out),
            TransformPlan::Fused(p) => p.inverse(kind, x, by, out),
        }
    }
}
