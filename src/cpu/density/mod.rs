//! ρ on the CPU: the area of every rectangle, added up bin by bin.
//!
//! ρ(i, j) = (fixed area + Σ ratio · overlap of the body's stretched rectangle
//! with the bin) / bin area, dimensionless (ePlace, Lu et al., TODAES 2015;
//! DREAMPlace, Lin et al., TCAD 2021). Overflow is Σ max(0, ρ − T) · bin
//! area over the movable area and the maximum is that of ρ, both before the
//! fillers are added.
//!
//! # How it runs in parallel
//! The map is cut into strips of bin columns. First the bodies are sorted by the
//! strip their left edge lies in: chunks of bodies are sorted side by side, each
//! within itself, into records that hold what adding needs. Then each strip is
//! filled by one task, which walks the chunks in order. A body of a few columns
//! may reach past its strip: a strip has a margin to its right for that, which is
//! added to its neighbour afterwards. Wider bodies (macros) are read
//! for every strip, which adds what they cover of it. Strips and chunks depend on the grid and
//! on the number of bodies alone, no two tasks write the same bin, and every bin
//! sums its contributions in a set order in `f64`: the bits are the same for any
//! number of threads, without atomics, and a macro is shared by all of them.

mod strips;

use super::bodies::{Bodies, Extent};
use crate::charge::Charge;
use crate::engine::DensityStats;
use crate::grid::Map;
use crate::real::Real;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use strips::{CHUNK, MARGIN, Record, Strips};

/// The density of the bodies: made once for a [`Charge`], then asked every iteration,
/// for either precision: positions and maps are of a type `T`, sizes and sums are `f64`.
///
/// Positions are lower-left corners in layout units, movable cells then
/// fillers. One that is not finite adds nothing to the map; what lies
/// outside the die is clipped. Nothing is allocated after [`CpuDensity::new`].
#[derive(Debug)]
pub struct CpuDensity {
    /// Shared with the force.
    pub(super) bodies: Arc<Bodies>,
    strips: Strips,
    target: f64,
    pub(super) background: f64,
    /// Overflowing density, summed over bins, to overflow.
    per_movable: f64,
    /// Fixed density of every bin.
    fixed: Vec<f64>,
    /// Strips with their margins, each `(columns + MARGIN) × ny`.
    work: Vec<f64>,
    /// Footprints, each chunk sorted by strip.
    records: Vec<Record>,
    /// Where each strip begins in each chunk: `count + 1` per chunk.
    starts: Vec<u32>,
    /// Width of the widest body that fits a margin, layout units.
    widest: f64,
    /// Bodies wider than that, ascending, and how many of them are movable.
    wide: Vec<u32>,
    wide_movable: usize,
    wide_records: Vec<Option<Record>>,
    /// Overflowing density and maximum of every strip.
    partial: Vec<(f64, f64)>,
}

impl CpuDensity {
    /// Allocates what the densities of `charge` are computed in; the maps it writes are
    /// each less `background`: 0 for ρ itself, [`Charge::background`] for a solve.
    ///
    /// # Panics
    /// When there are 2³² bodies or more.
    pub fn new(charge: &Charge, background: f64) -> Self {
        let grid = charge.grid();
        let bodies = Arc::new(Bodies::new(charge));
        let strips = Strips::new(grid.nx(), grid.ny());
        let count = u32::try_from(bodies.len()).expect("bodies are numbered in 32 bits");
        // A body of up to seven bins covers eight columns, one more where both its edges are
        // within rounding of theirs: a margin holds what is behind the first. Stretching to √2
        // bins makes no body wider than that.
        let widest = (MARGIN - 1) as f64 * grid.bin_x();
        let wide: Vec<u32> = (0..count).filter(|&i| bodies.width(i as usize) > widest).collect();
        let wide_movable = wide.partition_point(|&i| (i as usize) < charge.movable());
        let longest = charge.movable().max(charge.fillers());
        let bin_area = grid.bin_area();
        let movable_area = charge.movable_area();
        CpuDensity {
            target: charge.target_density(),
            background,
            per_movable: if movable_area > 0.0 { bin_area / movable_area } else { 0.0 },
            fixed: charge.fixed().as_slice().iter().map(|area| area / bin_area).collect(),
            work: vec![0.0; strips.count * strips.stride()],
            records: vec![Record::default(); longest],
            starts: vec![0; longest.div_ceil(CHUNK) * (strips.count + 1)],
            wide_records: vec![None; wide.len()],
            wide,
            wide_movable,
            partial: vec![(0.0, 0.0); strips.count],
            bodies,
            strips,
            widest,
        }
    }

    /// Writes ρ of everything, less the background, to `rho`, `nx × ny`; returns
    /// the smoothed overflow and maximum of fixed and movable cells.
    ///
    /// # Panics
    /// When `x` or `y` is not one entry per body or `rho` is not `nx × ny`.
    pub fn smoothed<T: Real>(&mut self, x: &[T], y: &[T], rho: &mut Map<T>) -> DensityStats {
        assert_eq!((rho.nx(), rho.ny()), (self.strips.nx, self.strips.ny), "bins of rho");
        let (movable, all) = (self.bodies.movable, self.bodies.len());
        assert_eq!((x.len(), y.len()), (all, all), "positions");
        self.begin();
        self.add(0..movable, 0..self.wide_movable, Extent::Smoothed, x, y);
        let stats = self.stats();
        self.add(movable..all, self.wide_movable..self.wide.len(), Extent::Smoothed, x, y);
        self.write(rho.as_mut_slice());
        stats
    }

    /// Overflow and maximum of fixed and movable cells, each at its exact size.
    ///
    /// # Panics
    /// When `x` or `y` has fewer entries than there are movable cells.
    pub fn exact<T: Real>(&mut self, x: &[T], y: &[T]) -> DensityStats {
        self.begin();
        self.add(0..self.bodies.movable, 0..self.wide_movable, Extent::Exact, x, y);
        self.stats()
    }

    /// [`CpuDensity::exact`], and the density it is taken from, less the
    /// background, in `map`, `nx × ny`.
    ///
    /// # Panics
    /// When `x` or `y` has fewer entries than there are movable cells or `map`
    /// is not `nx × ny`.
    pub fn exact_map<T: Real>(&mut self, x: &[T], y: &[T], map: &mut Map<T>) -> DensityStats {
        assert_eq!((map.nx(), map.ny()), (self.strips.nx, self.strips.ny), "bins of the map");
        let stats = self.exact(x, y);
        self.write(map.as_mut_slice());
        stats
    }

    /// Puts the fixed density in every strip and clears the margins.
    fn begin(&mut self) {
        let strips = self.strips;
        let fixed = self.fixed.par_chunks(strips.own());
        self.work.par_chunks_mut(strips.stride()).zip(fixed).for_each(|(work, fixed)| {
            work[..fixed.len()].copy_from_slice(fixed);
            work[fixed.len()..].fill(0.0);
        });
    }

    /// Adds a range of bodies, and the wide ones among them.
    fn add<T: Real>(
        &mut self,
        range: Range<usize>,
        wide: Range<usize>,
        extent: Extent,
        x: &[T],
        y: &[T],
    ) {
        if range.is_empty() {
            return;
        }
        self.sort(range.clone(), extent, x, y);
        let bodies = &*self.bodies;
        let wide_of = &self.wide[wide.clone()];
        self.wide_records[wide.clone()].par_iter_mut().zip(wide_of).for_each(|(record, &i)| {
            let i = i as usize;
            *record = bodies.footprint(i, extent, x[i], y[i]).map(|f| Record::new(&f));
        });

        let (strips, records, starts) = (self.strips, &self.records[..range.len()], &self.starts);
        let wide_records = &self.wide_records[wide];
        self.work.par_chunks_mut(strips.stride()).enumerate().for_each(|(s, work)| {
            strips.fill(s, work, records, starts);
            for record in wide_records.iter().flatten() {
                record.add_part(work, strips.columns_of(s), strips.ny);
            }
        });
        self.fold_margins();
    }

    /// Turns a range of bodies into records, each chunk sorted by strip.
    fn sort<T: Real>(&mut self, range: Range<usize>, extent: Extent, x: &[T], y: &[T]) {
        let (strips, bodies, widest) = (self.strips, &*self.bodies, self.widest);
        let records = self.records[..range.len()].par_chunks_mut(CHUNK);
        let starts = self.starts.par_chunks_mut(strips.count + 1);
        records.zip(starts).enumerate().for_each(|(c, (records, starts))| {
            let first = range.start + c * CHUNK;
            let columns = |i: usize| match bodies.width(i) > widest {
                true => None,
                false => bodies.columns(i, extent, x[i]),
            };
            let footprint = |i: usize| bodies.footprint(i, extent, x[i], y[i]);
            strips.sort(first, records, starts, columns, footprint);
        });
    }

    /// Adds what strips hold in their margins to their right neighbours.
    fn fold_margins(&mut self) {
        let strips = self.strips;
        // From the first margin on, every chunk is a margin and the strip it belongs to.
        self.work[strips.own()..].par_chunks_mut(strips.stride()).for_each(|chunk| {
            let (margin, strip) = chunk.split_at_mut(strips.margin());
            strip.iter_mut().zip(margin.iter()).for_each(|(own, more)| *own += more);
            margin.fill(0.0);
        });
    }

    /// Overflow and maximum of what has been added so far.
    fn stats(&mut self) -> DensityStats {
        let (strips, target) = (self.strips, self.target);
        let work = self.work.par_chunks(strips.stride()).enumerate();
        work.zip(&mut self.partial).for_each(|((s, work), partial)| {
            let own = &work[..strips.columns_of(s).len() * strips.ny];
            *partial = own.chunks_exact(strips.ny).fold((0.0, 0.0_f64), |(over, max), column| {
                let (o, m) = overflow_and_max(column, target);
                (over + o, max.max(m))
            });
        });
        let (over, max) =
            self.partial.iter().fold((0.0, 0.0_f64), |(o, m), &(over, max)| (o + over, m.max(max)));
        DensityStats { overflow: over * self.per_movable, max }
    }

    /// Writes what has been added so far, rounded once the background is off it.
    fn write<T: Real>(&self, rho: &mut [T]) {
        let background = self.background;
        let work = self.work.par_chunks(self.strips.stride());
        rho.par_chunks_mut(self.strips.own()).zip(work).for_each(|(rho, work)| {
            rho.iter_mut().zip(work).for_each(|(out, &density)| *out = T::of(density - background));
        });
    }
}

/// Σ max(0, density − target) and the largest density of one column of bins, in
/// four lanes so that the additions do not wait for one another.
fn overflow_and_max(column: &[f64], target: f64) -> (f64, f64) {
    let (lanes, rest) = column.as_chunks::<4>();
    let (mut over, mut max) = ([0.0; 4], [0.0_f64; 4]);
    for densities in lanes {
        for k in 0..4 {
            let excess = densities[k] - target;
            over[k] += if excess > 0.0 { excess } else { 0.0 };
            max[k] = if densities[k] > max[k] { densities[k] } else { max[k] };
        }
    }
    let mut sum = (over[0] + over[1]) + (over[2] + over[3]);
    let mut top = max.into_iter().fold(0.0, f64::max);
    for &density in rest {
        sum += (density - target).max(0.0);
        top = top.max(density);
    }
    (sum, top)
}
