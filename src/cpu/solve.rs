//! The field solve: ρ in; φ, Ex, Ey and the energy out.
//!
//! The row-column and the fused pipeline are ways of computing the four 2-D
//! transforms ([`Plan2d`](super::transforms::Plan2d)), and the solve composes them the same way for
//! both: one DCT with Green's function folded into its last stage, then three
//! inverses with the wavenumbers folded into their first. The three-pass
//! pipeline is a solve of its own.

use super::maps::{Inverse, Maps};
use super::modify::{AlongX, AlongY, Modify, Unchanged};
use super::scratch::{Parts, Scratch};
use super::shared::{dot, vectorised};
use super::three_pass::ThreePass;
use crate::engine::Pipeline;
use crate::grid::{BinGrid, Map};
use crate::memory::filled;
use crate::real::Real;
use crate::spectral::Spectrum;
use crate::transform::{Method, Plan2dOptions};
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

/// Multiplies by Green's function.
pub(crate) struct Green<'a, T>(pub(crate) &'a Multipliers<T>);

impl<T: Real> Green<'_, T> {
    /// Green's function at `(u, v)`.
    #[inline(always)]
    pub(crate) fn at(&self, u: usize, v: usize) -> T {
        let square = self.0.wx_squared[u] + self.0.wy_squared[v];
        // Only (0, 0) has no wavenumber: the mean, which is dropped.
        if square > T::zero() { self.0.normalisation / square } else { T::zero() }
    }
}

impl<T: Real> Modify<T> for Green<'_, T> {
    #[inline(always)]
    fn apply(&self, u: usize, v: usize, value: T) -> T {
        value * self.at(u, v)
    }
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
        maps: Maps<T>,
        scratch: Scratch<T>,
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
            plan: match pipeline {
                Pipeline::RowColumn => Plan::composed(nx, ny, Method::RowColumn, threads),
                Pipeline::Fused => Plan::composed(nx, ny, Method::Fused, threads),
                Pipeline::ThreePass => Plan::ThreePass(ThreePass::new(nx, ny, threads)),
            },
        }
    }

    /// φ, Ex and Ey of `rho`; returns the energy Σ φ·ρ and the time of each half.
    ///
    /// Fields do not depend on a constant in `rho`, but their rounding does. Of a flat
    /// ρ in `f32` give what is left when about its mean has been taken off, before it
    /// is rounded ([`Charge::background`](crate::charge::Charge::background)).
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
            Plan::Composed { maps, scratch, spectrum } => {
                let mut s = scratch.parts(maps.scratch_len(1)).expect("it is made for these maps");
                maps.forward(rho.as_slice(), &Green(by), spectrum, s.reborrow());
                forward = elapsed();
                inverses(maps, by, spectrum, fields, s);
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

impl<T: Real> Plan<T> {
    fn composed(nx: usize, ny: usize, method: Method, threads: usize) -> Self {
        let maps = Maps::new(nx, ny, &Plan2dOptions { method, ..Plan2dOptions::default() });
        let scratch = Scratch::new(maps.scratch_len(1), threads);
        Plan::Composed { maps, scratch, spectrum: filled(nx * ny, T::zero()) }
    }
}

/// φ, Ex and Ey from DCT2(ρ)·G.
fn inverses<T: Real>(
    maps: &Maps<T>,
    by: &Multipliers<T>,
    spectrum: &[T],
    fields: &mut Fields<T>,
    mut s: Parts<'_, T>,
) {
    let Fields { potential, field_x, field_y } = fields;
    maps.inverse(Inverse::Idct, spectrum, &Unchanged, potential.as_mut_slice(), s.reborrow());
    let (wx, wy) = (AlongX(&by.wx), AlongY(&by.wy));
    maps.inverse(Inverse::IdxstIdct, spectrum, &wx, field_x.as_mut_slice(), s.reborrow());
    maps.inverse(Inverse::IdctIdxst, spectrum, &wy, field_y.as_mut_slice(), s);
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
