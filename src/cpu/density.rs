//! ρ on the CPU: sums the area of every rectangle by bin.
//!
//! ρ(i, j) = (fixed area + Σ ratio · overlap of the body's stretched rectangle with the bin) / bin
//! area, dimensionless (ePlace, Lu et al., TODAES 2015; DREAMPlace, Lin et al., TCAD 2021).
//! Overflow is Σ max(0, ρ − T) · bin area plus the area of movable cells off the die, divided by
//! the movable area. Overflow and the maximum of ρ are computed before fillers are added.
//!
//! Each fence region ([`Charge::set_fences`]) has a map. The maps are adjacent along x, so together
//! they are one map of `regions · nx × ny` bins; usually there is one region.
//!
//! # Parallelism
//! Bodies are kept in an order by bin (`bodies`). One task takes the bodies of a chunk and adds
//! them to the chunk's patch of bins, which stays in cache. Then the map is cut into strips of
//! columns, and the task of a strip adds up the patches' parts of it. A body that does not fit its
//! patch (a macro, one that has moved far) is added by the strips, each the part that the body
//! covers of it.
//!
//! Areas are added as integers, in a unit small enough for `f64` and large enough for all bodies in
//! one bin: the sums do not depend on the order, so that the bits are the same for any number of
//! threads and do not depend on earlier positions. No two tasks write the same bin.

use super::bodies::{
    Bins, Bodies, Extent, Footprint, Footprints, NOT_IN_PATCH, Order, PATCH, blocks, low_bits,
};
use super::simd::vectorised;
use crate::charge::Charge;
use crate::engine::{DensityStats, Layout};
use crate::grid::Map;
use crate::parallel::{self, chunks, chunks_mut, each_mut};
use crate::real::Real;
use std::ops::Range;

/// Columns of bins of a strip.
const STRIP: usize = 16;

/// The density of the bodies, and the force on them: made once for a [`Charge`], then used every
/// iteration, for either precision: positions and maps are of a type `T`, sizes and sums are `f64`.
///
/// Positions are lower-left corners in layout units, movable cells then fillers. One that is not
/// finite adds nothing to the map; parts outside the die are clipped. Nothing is allocated after
/// [`CpuDensity::new`].
#[derive(Debug)]
pub struct CpuDensity {
    pub(super) bodies: Bodies,
    regions: Vec<OfRegion>,
    /// Target density of every bin, where they have their own.
    targets: Option<Vec<f64>>,
    /// Overflowing density of all regions, summed over bins, to overflow.
    per_movable: f64,
    movable_area: f64,
    /// Integers per bin area, in which the area off the die is added up.
    off_die_scale: f64,
    /// Integers per bin area: a power of two.
    scale: f64,
    /// Fixed density of every bin, then of that and what has been added so far; scaled.
    fixed: Vec<i64>,
    sums: Vec<i64>,
    patches: Patches,
    /// Overflowing density and maximum of every strip of every region.
    partial: Vec<(f64, f64)>,
    /// By slot, of movable cells, then of fillers: the force, x and y; an `f64` each or two `f32`.
    pub(super) forces: Vec<[u64; 2]>,
}

/// State of one region.
#[derive(Clone, Copy, Debug)]
struct OfRegion {
    target: f64,
    background: f64,
    /// [`CpuDensity::per_movable`] of the region's cells.
    per_movable: f64,
    /// Layout units squared, and in the integers of the area off the die.
    movable_area: f64,
    movable: u128,
    /// Statistics as last computed, and the movable area off the die.
    stats: DensityStats,
    off_die: u128,
}

/// Sums of bodies of one kind, each in the patch of its chunk.
#[derive(Debug)]
struct Patches {
    /// A patch for each chunk, [`PATCH`]² bins.
    bins: Vec<i64>,
    /// The slots of each chunk that the strips are to add.
    outside: Vec<u32>,
    of_chunk: Vec<Spill>,
}

/// Bodies of a chunk that are left to the strips, and those off the die.
#[derive(Clone, Copy, Debug)]
struct Spill {
    /// Area off the die ([`Order::off_die`]).
    off_die: u128,
    count: u32,
    /// The columns of bins that they reach, first and last.
    columns: [usize; 2],
}

impl CpuDensity {
    /// Allocates what the densities of `charge` are computed in; the maps it writes are
    /// each less `background`: 0 for ρ itself.
    pub fn new(charge: &Charge, background: f64) -> Self {
        CpuDensity::less(charge, &vec![background; charge.regions()])
    }

    /// Makes a density whose maps lack their region's background, as a solve takes them
    /// ([`CpuDensity::new`]).
    pub(super) fn centered(charge: &Charge) -> Self {
        CpuDensity::less(charge, &charge.backgrounds())
    }

    fn less(charge: &Charge, backgrounds: &[f64]) -> Self {
        let bodies = Bodies::new(charge);
        let Bins { nx, ny, area, .. } = bodies.bins;
        // The integers of a bin's fixed area and all bodies stay below 2^62, and those
        // of one body within what `low_bits` takes.
        let most = (1.0 + bodies.most_in_a_bin()).log2().ceil();
        let scale = (62.0 - 1.0 - most).min(52.0).exp2();
        let chunks = bodies.movable.most_chunks().max(bodies.fillers.most_chunks());
        let per_movable = |movable: f64| if movable > 0.0 { area / movable } else { 0.0 };
        // All of the movable area stays below 2^127.
        let most = (charge.movable_area() / area).log2().ceil();
        let off_die_scale = (126.0 - most).min(1e3).exp2();
        let movable = bodies.movable.areas(off_die_scale);
        let of_region = |region| OfRegion {
            target: charge.region_target_density(region),
            background: backgrounds[region],
            per_movable: per_movable(charge.region_movable_area(region)),
            movable_area: charge.region_movable_area(region),
            movable: movable[region],
            stats: DensityStats::default(),
            off_die: 0,
        };
        let regions = charge.regions();
        let fixed = |k: usize| {
            let fixed = charge.region_fixed(k / (nx * ny)).as_slice()[k % (nx * ny)];
            low_bits(fixed / area * scale) as i64
        };
        CpuDensity {
            regions: (0..regions).map(of_region).collect(),
            targets: charge.target_densities().map(|targets| targets.as_slice().to_vec()),
            per_movable: per_movable(charge.movable_area()),
            movable_area: charge.movable_area(),
            off_die_scale,
            scale,
            fixed: parallel::map(regions * nx * ny, fixed),
            sums: vec![0; regions * nx * ny],
            patches: Patches {
                bins: vec![0; chunks * PATCH * PATCH],
                outside: vec![0; chunks * Order::MOST_SLOTS],
                of_chunk: vec![Spill::NONE; chunks],
            },
            forces: vec![[0; 2]; bodies.len()],
            partial: vec![(0.0, 0.0); regions * nx.div_ceil(STRIP)],
            bodies,
        }
    }

    /// Sets the bodies' positions without computing anything, for a force at positions whose
    /// density is not needed. The methods below do this first.
    ///
    /// # Panics
    /// When `x` or `y` is not one entry per body.
    pub fn set_positions<T: Real>(&mut self, x: &[T], y: &[T]) {
        let all = self.bodies.len();
        assert_eq!((x.len(), y.len()), (all, all), "positions");
        self.set_positions_by(|i| [x[i], y[i]]);
    }

    /// Sets the bodies' positions as [`CpuDensity::set_positions`] does, from one array of two values per body.
    ///
    /// # Panics
    /// When `positions` is not two values per body.
    pub fn set_positions_in<T: Real>(&mut self, layout: Layout, positions: &[T]) {
        let all = self.bodies.len();
        assert_eq!(positions.len(), 2 * all, "positions");
        match layout {
            Layout::Halves => self.set_positions(&positions[..all], &positions[all..]),
            Layout::Pairs => self.set_positions_by(|i| [positions[2 * i], positions[2 * i + 1]]),
        }
    }

    fn set_positions_by<T: Real>(&mut self, at: impl Fn(usize) -> [T; 2] + Copy + Sync) {
        let (cells, fillers) = (&mut self.bodies.movable, &mut self.bodies.fillers);
        let movable = cells.len();
        rayon::join(|| cells.set_positions(at), || fillers.set_positions(|i| at(movable + i)));
    }

    /// Writes ρ of all bodies and the fixed area, less the background, to `rho`, `nx × ny` for each
    /// region; returns the smoothed overflow and maximum of fixed and movable cells.
    ///
    /// # Panics
    /// When `x` or `y` is not one entry per body or `rho` is not `nx × ny` for each region.
    pub fn smoothed<T: Real>(&mut self, x: &[T], y: &[T], rho: &mut Map<T>) -> DensityStats {
        self.set_positions(x, y);
        self.smoothed_here(rho)
    }

    /// Does [`CpuDensity::smoothed`] at the last positions.
    pub(super) fn smoothed_here<T: Real>(&mut self, rho: &mut Map<T>) -> DensityStats {
        self.check(rho);
        let stats = self.cells(Extent::Smoothed);
        let CpuDensity { bodies, patches, sums, scale, regions, .. } = self;
        let (order, extent) = (&bodies.fillers, Extent::Smoothed);
        let (bins, patches) = (&bodies.bins, &mut *patches);
        patches.fill(order, bins, extent, *scale, None);
        let patches = &*patches;
        let (map, strip) = (bins.nx * bins.ny, STRIP * bins.ny);
        let maps = (chunks_mut(sums, map), chunks_mut(rho.as_mut_slice(), map));
        parallel::for_each(maps, |region, (sums, out)| {
            let strips = (chunks_mut(sums, strip), chunks_mut(out, strip));
            parallel::for_each(strips, |s, (sums, out)| {
                patches.add_to_strip(order, bins, extent, *scale, (region, s), sums);
                write(sums, *scale, regions[region].background, out);
            });
        });
        stats
    }

    /// Returns overflow and maximum of every region, as last computed, and the area of its movable
    /// cells off the die, layout units squared.
    pub(super) fn stats(&self) -> impl Iterator<Item = (DensityStats, f64)> + '_ {
        self.regions.iter().map(|region| {
            let share = share_off_die(std::slice::from_ref(region));
            (region.stats, share * region.movable_area)
        })
    }

    /// Returns the area of the movable cells off the die when a density was last computed, layout
    /// units squared.
    pub fn area_off_die(&self) -> f64 {
        share_off_die(&self.regions) * self.movable_area
    }

    /// Returns the backgrounds subtracted from the regions' maps.
    pub(super) fn backgrounds(&self) -> impl Iterator<Item = f64> + '_ {
        self.regions.iter().map(|region| region.background)
    }

    /// Returns overflow and maximum of fixed and movable cells, smoothed and at their exact sizes.
    ///
    /// # Panics
    /// When `at` has no position of a movable cell.
    pub(crate) fn of_cells(
        &mut self,
        at: impl Fn(usize) -> [f64; 2] + Copy + Sync,
    ) -> [DensityStats; 2] {
        self.bodies.movable.set_positions(at);
        [Extent::Smoothed, Extent::Exact].map(|extent| self.cells(extent))
    }

    /// Returns overflow and maximum of fixed and movable cells, each at its exact size.
    ///
    /// # Panics
    /// When `x` or `y` has fewer entries than there are movable cells.
    pub fn exact<T: Real>(&mut self, x: &[T], y: &[T]) -> DensityStats {
        let movable = self.bodies.movable.len();
        let (x, y) = (&x[..movable], &y[..movable]);
        self.bodies.movable.set_positions(|i| [x[i], y[i]]);
        self.exact_here()
    }

    /// Does [`CpuDensity::exact`] at the last positions.
    pub(super) fn exact_here(&mut self) -> DensityStats {
        self.cells(Extent::Exact)
    }

    /// Does [`CpuDensity::exact`] and writes the density that it is computed from, less the
    /// background, to `map`, `nx × ny` for each region.
    ///
    /// # Panics
    /// When `x` or `y` has fewer entries than there are movable cells or `map`
    /// is not `nx × ny` for each region.
    pub fn exact_map<T: Real>(&mut self, x: &[T], y: &[T], map: &mut Map<T>) -> DensityStats {
        self.check(map);
        let stats = self.exact(x, y);
        let Bins { nx, ny, .. } = self.bodies.bins;
        let maps = (chunks(&self.sums, nx * ny), chunks_mut(map.as_mut_slice(), nx * ny));
        parallel::for_each(maps, |region, (sums, out)| {
            let background = self.regions[region].background;
            let strips = (chunks(sums, STRIP * ny), chunks_mut(out, STRIP * ny));
            parallel::for_each(strips, |_, (sums, out)| write(sums, self.scale, background, out));
        });
        stats
    }

    pub(super) fn check<T>(&self, map: &Map<T>) {
        let (bins, regions) = (self.bodies.bins, self.regions.len());
        assert_eq!((map.nx(), map.ny()), (regions * bins.nx, bins.ny), "bins of the map");
    }

    /// Returns the sums of fixed and movable cells, and their overflow.
    fn cells(&mut self, extent: Extent) -> DensityStats {
        let CpuDensity { bodies, patches, sums, fixed, partial, scale, regions, targets, .. } =
            self;
        let (targets, bins) = (targets.as_deref(), &bodies.bins);
        let (order, scale, off_die_scale) = (&bodies.movable, *scale, self.off_die_scale);
        patches.fill(order, bins, extent, scale, Some(off_die_scale));
        let (map, strip) = (bins.nx * bins.ny, STRIP * bins.ny);
        let patches = &*patches;
        let maps = (
            chunks_mut(sums, map),
            chunks(fixed, map),
            chunks_mut(partial, bins.nx.div_ceil(STRIP)),
            each_mut(regions),
        );
        parallel::for_each(maps, |region, (sums, fixed, partial, of)| {
            let strips = (chunks_mut(sums, strip), chunks(fixed, strip), each_mut(partial));
            parallel::for_each(strips, |s, (sums, fixed, partial)| {
                sums.copy_from_slice(fixed);
                patches.add_to_strip(order, bins, extent, scale, (region, s), sums);
                *partial = match targets {
                    Some(targets) => overflow_by_bin(sums, 1.0 / scale, &targets[s * strip..]),
                    None => vectorised(
                        #[inline(always)]
                        || overflow_and_max(sums, 1.0 / scale, of.target),
                    ),
                };
            });
            let (over, max) = total(partial);
            let chunks = &patches.of_chunk[order.chunks_of(region)];
            of.off_die = chunks.iter().map(|of| of.off_die).sum();
            let off_die = share_off_die(std::slice::from_ref(of));
            of.stats = DensityStats { overflow: over * of.per_movable + off_die, max };
        });
        let (over, max) = total(partial);
        let overflow = over * self.per_movable + share_off_die(regions);
        DensityStats { overflow, max }
    }
}

/// Returns the share of the movable area of regions that is off the die: 1 exactly for all of it.
fn share_off_die(regions: &[OfRegion]) -> f64 {
    let sum = |of: fn(&OfRegion) -> u128| regions.iter().map(of).sum::<u128>() as f64;
    match sum(|of| of.movable) {
        0.0 => 0.0,
        movable => sum(|of| of.off_die) / movable,
    }
}

/// Returns the overflowing density and maximum of strips.
fn total(strips: &[(f64, f64)]) -> (f64, f64) {
    strips.iter().fold((0.0, 0.0_f64), |(o, m), &(over, max)| (o + over, m.max(max)))
}

impl Spill {
    const NONE: Spill = Spill { off_die: 0, count: 0, columns: [usize::MAX, 0] };
}

impl Patches {
    /// Adds up the bodies of `order`, each in the patch of its chunk, and with a scale for it their
    /// area off the die.
    fn fill(
        &mut self,
        order: &Order,
        bins: &Bins,
        extent: Extent,
        scale: f64,
        off_die_scale: Option<f64>,
    ) {
        let room = (
            chunks_mut(&mut self.bins, PATCH * PATCH),
            chunks_mut(&mut self.outside, Order::MOST_SLOTS),
            each_mut(&mut self.of_chunk[..order.chunks().len()]),
        );
        parallel::for_each(room, |chunk, (patch, outside, of_chunk)| {
            let chunk = &order.chunks()[chunk];
            patch.fill(0);
            *of_chunk = Spill::NONE;
            if let Some(scale) = off_die_scale {
                of_chunk.off_die = order.off_die(chunk.slots(), scale);
            }
            let mut footprints = Footprints::<f64>::new();
            vectorised(
                #[inline(always)]
                || {
                    for slots in blocks(chunk.slots()) {
                        let inputs = order.inputs(slots.clone(), extent);
                        footprints.compute(bins, chunk.corner(), extent, inputs, scale);
                        for (k, slot) in slots.enumerate() {
                            if footprints.at[k] != NOT_IN_PATCH {
                                add_window(patch, &footprints, k);
                                continue;
                            }
                            let Some(body) = order.footprint(slot, extent) else { continue };
                            let range =
                                BinRange { corner: chunk.corner(), columns: PATCH, rows: PATCH };
                            if range.holds(&body) {
                                range.add(&body, scale, patch);
                            } else {
                                outside[of_chunk.count as usize] = slot as u32;
                                of_chunk.count += 1;
                                let [first, last] = &mut of_chunk.columns;
                                *first = body.x.first.min(*first);
                                *last = body.x.last.max(*last);
                            }
                        }
                    }
                },
            );
        });
    }

    /// Adds to strip `s` of a region what patches and outside have of it.
    fn add_to_strip(
        &self,
        order: &Order,
        bins: &Bins,
        extent: Extent,
        scale: f64,
        (region, s): (usize, usize),
        sums: &mut [i64],
    ) {
        let &Bins { nx, ny, .. } = bins;
        let columns = s * STRIP..nx.min((s + 1) * STRIP);
        for c in order.chunks_over(region, columns.clone()) {
            let (chunk, patch) = (&order.chunks()[c], &self.bins[c * PATCH * PATCH..]);
            let ([left, bottom], rows) = (chunk.corner(), chunk.on_map(1, ny));
            let own = chunk.on_map(0, nx);
            let first_row = (rows.start as i64 - bottom) as usize;
            for u in own.start.max(columns.start)..own.end.min(columns.end) {
                let to = &mut sums[(u - columns.start) * ny..][rows.clone()];
                let from = &patch[(u as i64 - left) as usize * PATCH + first_row..][..to.len()];
                to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
            }
        }
        let range =
            BinRange { corner: [columns.start as i64, 0], columns: columns.len(), rows: ny };
        for c in order.chunks_of(region) {
            let Spill { count, columns: [first, last], .. } = self.of_chunk[c];
            let outside = &self.outside[c * Order::MOST_SLOTS..];
            if first >= columns.end || last < columns.start {
                continue;
            }
            for &slot in &outside[..count as usize] {
                if let Some(body) = order.footprint(slot as usize, extent) {
                    range.add(&body, scale, sums);
                }
            }
        }
    }
}

/// Writes sums as density, rounded once the background is off it.
fn write<T: Real>(sums: &[i64], scale: f64, background: f64, out: &mut [T]) {
    let unit = 1.0 / scale;
    vectorised(
        #[inline(always)]
        || {
            for (out, &sum) in out.iter_mut().zip(sums) {
                *out = T::cast(sum as f64 * unit - background);
            }
        },
    );
}

/// Some columns and rows of a map, in a separate buffer.
#[derive(Clone, Copy)]
struct BinRange {
    /// First column and row on the map.
    corner: [i64; 2],
    columns: usize,
    rows: usize,
}

impl BinRange {
    /// Whether all of a body is in it.
    fn holds(&self, body: &Footprint) -> bool {
        let inside = |first: usize, last: usize, corner: i64, count: usize| {
            first as i64 >= corner && (last as i64) < corner + count as i64
        };
        inside(body.x.first, body.x.last, self.corner[0], self.columns)
            && inside(body.y.first, body.y.last, self.corner[1], self.rows)
    }

    /// Adds a body to the columns it shares with this range, whose rows hold it.
    fn add(&self, body: &Footprint, scale: f64, bins: &mut [i64]) {
        let [left, bottom] = self.corner;
        let (x, y, weight) = (&body.x, &body.y, body.weight * scale);
        let columns: Range<i64> =
            left.max(x.first as i64)..(left + self.columns as i64).min(x.last as i64 + 1);
        for u in columns {
            let of_column = x.of_bin(u as usize) * weight;
            let start = (u - left) as usize * self.rows + (y.first as i64 - bottom) as usize;
            let bins = &mut bins[start..][..=y.last - y.first];
            let (head, above) = bins.split_first_mut().expect("a footprint has a row at least");
            *head += low_bits(of_column * y.head) as i64;
            if let Some((tail, middle)) = above.split_last_mut() {
                let whole = low_bits(of_column) as i64;
                middle.iter_mut().for_each(|bin| *bin += whole);
                *tail += low_bits(of_column * y.tail) as i64;
            }
        }
    }
}

/// Adds the `k`-th body of a block, all of it in a window.
#[inline(always)]
fn add_window(patch: &mut [i64], footprints: &Footprints<f64>, k: usize) {
    let bins = &mut patch[footprints.at[k] as usize..][..Footprints::<f64>::SPAN];
    let up = footprints.up.each_ref().map(|up| up[k]);
    for (i, across) in footprints.across.iter().enumerate() {
        let bins = &mut bins[i * PATCH..][..4];
        for l in 0..4 {
            bins[l] = bins[l].wrapping_add(low_bits(across[k] * up[l]) as i64);
        }
    }
}

/// Returns the values of [`overflow_and_max`] for a target density per bin.
fn overflow_by_bin(sums: &[i64], unit: f64, targets: &[f64]) -> (f64, f64) {
    sums.iter().zip(targets).fold((0.0, 0.0), |(over, max), (&sum, target)| {
        let density = sum as f64 * unit;
        (over + (density - target).max(0.0), density.max(max))
    })
}

/// Returns Σ max(0, density − target) and the largest density, in eight lanes so that the additions
/// do not wait for one another.
#[inline(always)]
fn overflow_and_max(sums: &[i64], unit: f64, target: f64) -> (f64, f64) {
    let (lanes, rest) = sums.as_chunks::<8>();
    let (mut over, mut max) = ([0.0; 8], [0.0_f64; 8]);
    for sums in lanes {
        for k in 0..8 {
            let density = sums[k] as f64 * unit;
            let excess = density - target;
            over[k] += if excess > 0.0 { excess } else { 0.0 };
            max[k] = if density > max[k] { density } else { max[k] };
        }
    }
    let mut sum = over.into_iter().sum::<f64>();
    let mut top = max.into_iter().fold(0.0, f64::max);
    for &bin in rest {
        let density = bin as f64 * unit;
        sum += (density - target).max(0.0);
        top = top.max(density);
    }
    (sum, top)
}
