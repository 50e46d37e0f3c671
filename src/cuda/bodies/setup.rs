//! The constant properties of bodies, as kernels receive them (`Setup` in
//! `kernels/bodies/bodies.cuh`), and the sizes from which they are made.

use crate::charge::Charge;
use crate::charge::smoothing::LEAST_EXTENT;
use crate::cuda::device::CudaReal;
use crate::cuda::device::bindings::bodies::{Axis, Record, Setup};
pub(super) use crate::cuda::device::constants::{LARGEST_CHUNK, PATCH, TILE};
use crate::parallel;
use crate::real::Precision;
use rayon::slice::ParallelSliceMut;
use std::collections::BTreeMap;
use std::ops::Range;

/// A body that may cover more bins than this is processed separately.
const LARGE: usize = 64;

/// Bodies in one task.
const BLOCK: usize = 1 << 16;
/// The largest chunk if larger ones would leave multiprocessors idle.
pub(super) const SMALL_CHUNK: usize = 1023;
/// Bodies per multiprocessor from which on [`LARGEST_CHUNK`] is used.
pub(super) const BUSY: usize = 4096;

impl<T: CudaReal> Axis<T> {
    fn new(origin: f64, bin: f64) -> Self {
        let split = |value: f64| {
            let near = T::cast(value);
            [near, T::cast(value - near.widen())]
        };
        let ([origin_hi, origin_lo], [bin_hi, bin_lo]) = (split(origin), split(bin));
        Axis { origin_hi, origin_lo, bin_hi, bin_lo, inverse: T::cast(1.0 / bin) }
    }
}

impl<T: CudaReal> Setup<T> {
    /// Returns the setup for the map of a region of target density `target`, from which
    /// `background` is subtracted.
    pub(super) fn of_region(mut self, target: f64, background: f64) -> Self {
        self.target = T::cast(T::cast(target).widen() - background);
        self.background = T::cast(background);
        self
    }

    /// Returns the setup for a device that processes only its part of the bodies, of `ranks`.
    pub(super) fn of_rank(mut self, rank: usize, ranks: usize) -> Self {
        (self.rank, self.ranks) = (rank as i32, ranks as i32);
        self
    }

    /// Returns the same bodies at their exact size, not stretched, and without fillers.
    pub(super) fn at_exact_size(mut self) -> Self {
        self.stretch = T::cast(0.0);
        self.exact_size = 1;
        self
    }
}

/// A body in bins, on the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sizes {
    w: f64,
    h: f64,
    /// Negative for a macro, which counts with the target density at its exact size instead of 1.
    ratio: f64,
}

impl Sizes {
    /// Returns the most bins it may cover along x and y, at any position.
    fn extent(&self) -> (usize, usize) {
        let along = |size: f64| (size.max(LEAST_EXTENT).ceil() as usize).saturating_add(1);
        (along(self.w), along(self.h))
    }

    fn is_large(&self) -> bool {
        let (x, y) = self.extent();
        x.saturating_mul(y) > LARGE
    }

    /// Returns the most that it covers of one bin, stretched or not.
    fn most(&self) -> f64 {
        self.area().min(1.0)
    }

    /// Returns the most that it covers of all bins, stretched or not.
    fn area(&self) -> f64 {
        let stretched = self.w.max(LEAST_EXTENT) * self.h.max(LEAST_EXTENT);
        (self.w * self.h).max(self.ratio.abs() * stretched)
    }
}

/// The units of the sums over bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Units {
    /// Most bodies in a chunk.
    chunk: usize,
    /// Fraction bits of an area in a bin, and of the overflow.
    area_bits: i32,
    excess_bits: i32,
}

/// Returns the number of bits of the lower limb of a fixed-point number that sums a chunk of this
/// many bodies.
fn limb_bits(chunk: usize) -> u32 {
    32 - (chunk + 1).next_power_of_two().ilog2()
}

/// All host data that is fixed once the bodies are known.
pub(super) struct BodySizes {
    pub(super) sizes: Vec<Sizes>,
    /// Indices of bodies that are processed separately, in the order of slots.
    pub(super) large: Vec<u32>,
    /// Large movable cells among them.
    large_movable: usize,
    /// Size of every filler of each region, if the fillers of a region are all the same.
    fillers: Option<Vec<Sizes>>,
    movable: usize,
    /// The body of every slot before the first order, and the first slots of the regions' movable
    /// cells, fillers, large movable cells and large fillers.
    pub(super) first_ids: Vec<u32>,
    pub(super) starts: Vec<u32>,
}

impl BodySizes {
    pub(super) fn new(charge: &Charge) -> BodySizes {
        let (bin_x, bin_y) = (charge.grid().bin_x(), charge.grid().bin_y());
        let mut sizes: Vec<Sizes> = parallel::map(charge.bodies(), |i| {
            // The area of a fixed body is part of the fixed area.
            let ratio = charge.ratio()[i];
            let size = |size: f64| if ratio == 0.0 { 0.0 } else { size };
            let (w, h) = (size(charge.width()[i]) / bin_x, size(charge.height()[i]) / bin_y);
            Sizes { w, h, ratio }
        });
        for &i in charge.macros() {
            sizes[i as usize].ratio *= -1.0;
        }
        let (movable, regions) = (charge.movable(), charge.regions());
        // In the given order, large ones last, and within each kind by region.
        let kind = |i: u32| {
            let large = sizes[i as usize].is_large();
            2 * usize::from(large) + usize::from(i as usize >= movable)
        };
        let (mut ids, mut large) = (Vec::with_capacity(sizes.len()), Vec::new());
        for (of_block, large_of_block) in parallel::map_blocks(sizes.len(), BLOCK, |bodies| {
            let bodies = bodies.start as u32..bodies.end as u32;
            bodies.partition::<Vec<u32>, _>(|&i| kind(i) < 2)
        }) {
            ids.extend(of_block);
            large.extend(large_of_block);
        }
        let place = |i: u32| kind(i) * regions + charge.region(i as usize);
        if regions > 1 {
            ids.par_sort_by_key(|&i| place(i));
            large.par_sort_by_key(|&i| place(i));
        }
        let large_movable = large.partition_point(|&i| (i as usize) < movable);
        let mut first_ids = ids;
        first_ids.extend_from_slice(&large);
        let first_slot = |k| first_ids.partition_point(|&i| place(i) < k) as u32;
        BodySizes {
            starts: (0..4 * regions).map(first_slot).collect(),
            fillers: fillers(&sizes, charge),
            first_ids,
            large,
            large_movable,
            movable,
            sizes,
        }
    }

    /// Returns the slots of movable cells, and of all bodies that are not large.
    pub(super) fn slots(&self) -> (usize, usize) {
        (self.movable - self.large_movable, self.sizes.len() - self.large.len())
    }

    /// Returns the width, height and ratio of every region's fillers. The values are not used if
    /// fillers have several sizes.
    pub(super) fn fillers<T: CudaReal>(&self) -> Vec<T> {
        let sizes = self.fillers.clone().unwrap_or(vec![NO_SIZE; self.starts.len() / 4]);
        sizes.iter().flat_map(|size| [size.w, size.h, size.ratio].map(T::cast)).collect()
    }

    fn sum(&self, of: impl Fn(&Sizes) -> f64 + Sync) -> f64 {
        parallel::sum(self.sizes.len(), |i| of(&self.sizes[i]))
    }

    /// Returns the units of the sums over these bodies, in chunks of this size.
    pub(super) fn units<T: CudaReal>(&self, charge: &Charge, chunk: usize) -> Units {
        let most = self.sum(Sizes::most);
        // All bodies' share of one bin must fit into 64 bits.
        let room = 64 - (most + 2.0).log2().ceil() as u32;
        let area_bits = match T::PRECISION {
            Precision::F32 => limb_bits(chunk),
            Precision::F64 => (2 * limb_bits(chunk)).min(room),
        } as i32;
        // No overflow exceeds the area of all bodies plus the die's, once for each region.
        let area = self.sum(Sizes::area);
        let dies = (charge.regions() * charge.grid().bins()) as f64;
        let excess_bits = 62 - (area + dies).log2().ceil() as i32;
        Units { chunk, area_bits, excess_bits }
    }

    pub(super) fn setup<T: CudaReal>(&self, charge: &Charge, units: Units) -> Setup<T> {
        let Units { chunk, area_bits, excess_bits } = units;
        let (grid, die) = (&charge.grid(), charge.grid_from_origin().die());
        let tiles = |bins: usize| bins.div_ceil(TILE);
        let (movable, bodies) = self.slots();
        let filler = self.fillers.as_ref().map_or(NO_SIZE, |fillers| fillers[0]);
        let regions = charge.regions();
        let tile_count = regions * tiles(grid.nx()) * tiles(grid.ny());
        Setup {
            x: Axis::new(die.xl, grid.bin_x()),
            y: Axis::new(die.yl, grid.bin_y()),
            stretch: T::cast(LEAST_EXTENT),
            filler_w: T::cast(filler.w),
            filler_h: T::cast(filler.h),
            filler_ratio: T::cast(filler.ratio),
            scale: T::cast(2f64.powi(area_bits)),
            unscale: T::cast(2f64.powi(-area_bits)),
            target: T::cast(charge.target_density()),
            background: T::cast(0.0),
            force_unit: T::cast(grid.bin_area()),
            excess_scale: T::cast(2f64.powi(excess_bits)),
            nx: grid.nx() as i32,
            ny: grid.ny() as i32,
            bodies: bodies as i32,
            movable: movable as i32,
            records: if self.fillers.is_some() { movable } else { bodies } as i32,
            exact_size: 0,
            large: self.large.len() as i32,
            movable_ids: self.movable as i32,
            max_chunks: (tile_count + bodies / chunk + 1) as i32,
            tiles_x: tiles(grid.nx()) as i32,
            tiles_y: tiles(grid.ny()) as i32,
            chunk: chunk as i32,
            limb_bits: limb_bits(chunk) as i32,
            regions: regions as i32,
            rank: 0,
            ranks: 1,
        }
    }
}

const NO_SIZE: Sizes = Sizes { w: 0.0, h: 0.0, ratio: 0.0 };

/// Returns the size of every filler of each region, if they are all the same and not large.
fn fillers(sizes: &[Sizes], charge: &Charge) -> Option<Vec<Sizes>> {
    let first = charge.movable();
    let of_block = |fillers: Range<usize>| {
        let mut of_regions = BTreeMap::new();
        let mut same = |i: usize| {
            let size = sizes[i];
            *of_regions.entry(charge.region(i)).or_insert(size) == size && !size.is_large()
        };
        fillers.into_iter().all(|k| same(first + k)).then_some(of_regions)
    };
    let mut all = vec![None; charge.regions()];
    for of_regions in parallel::map_blocks(sizes.len() - first, BLOCK, of_block) {
        for (region, size) in of_regions? {
            if *all[region].get_or_insert(size) != size {
                return None;
            }
        }
    }
    Some(all.into_iter().map(|size| size.unwrap_or(NO_SIZE)).collect())
}

/// Returns the macros of kernels for the bodies of a charge, shared by several ranks or not. The
/// density's macros include thin macros.
pub(super) fn defines(unit: &str, charge: &Charge, several: bool) -> Vec<(&'static str, String)> {
    let (bin_x, bin_y) = (charge.grid().bin_x(), charge.grid().bin_y());
    let is_thin = |&i: &u32| {
        let (w, h) = (charge.width()[i as usize], charge.height()[i as usize]);
        w < LEAST_EXTENT * bin_x || h < LEAST_EXTENT * bin_y
    };
    let of = |name, wanted: bool| wanted.then(|| (name, "1".to_owned()));
    let wanted = [
        of("PF_REGIONS", charge.regions() > 1),
        of("PF_SEVERAL", several),
        of("PF_THIN_MACROS", unit == "density" && charge.macros().iter().any(is_thin)),
    ];
    wanted.into_iter().flatten().collect()
}

/// Returns the records of the bodies `ids`.
pub(super) fn records<T: CudaReal>(sizes: &[Sizes], ids: &[u32]) -> Vec<Record<T>> {
    parallel::map(ids.len(), |k| {
        let Sizes { w, h, ratio } = sizes[ids[k] as usize];
        Record { w: T::cast(w), h: T::cast(h), ratio: T::cast(ratio), id: ids[k].into() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::{ChargeOptions, Rectangles};
    use crate::grid::{BinGrid, Rect};
    use crate::real::Real;

    /// Returns the cells of the given sizes, in bins of 10 × 5.
    fn charge(sizes: &[(f64, f64)], target_density: f64) -> Charge {
        let grid = BinGrid::new(Rect::at(-7.0, 3.0, 400.0, 300.0), 40, 60).unwrap();
        let (width, height): (Vec<f64>, Vec<f64>) = sizes.iter().copied().unzip();
        let at = vec![0.0; sizes.len()];
        let rectangles = Rectangles {
            width: &width,
            height: &height,
            x: &at,
            y: &at,
            fixed: &[],
            row_height: Some(5.0),
            macros: None,
            rows: &[],
            blockages: &[],
        };
        let options = ChargeOptions::default().target_density(target_density);
        Charge::from_rectangles(grid, &rectangles, &options).unwrap()
    }

    fn setup<T: CudaReal>(charge: &Charge, chunk: usize) -> Setup<T> {
        let bodies = BodySizes::new(charge);
        bodies.setup(charge, bodies.units::<T>(charge, chunk))
    }

    #[test]
    fn large_bodies_stand_in_slots_of_their_own() {
        // 70 x 2 bins: along x it may touch 71, along y 3.
        let bodies = BodySizes::new(&charge(&[(8.0, 5.0), (700.0, 10.0), (30.0, 5.0)], 1.0));
        assert_eq!(bodies.large, [1]);
        assert_eq!(bodies.sizes[1].extent(), (71, 3));
        assert_eq!(bodies.first_ids, [0, 2, 1]);
        assert_eq!(bodies.starts, [0, 2, 2, 3]);
    }

    #[test]
    fn stacked_macros_do_not_wrap_the_overflow_sum() {
        let charge = charge(&[(400.0, 300.0); 3000], 1.0);
        let setup = setup::<f32>(&charge, SMALL_CHUNK);
        let all = 3000.0 * charge.grid().bins() as f64;
        assert!(all * setup.excess_scale.widen() < 2f64.powi(64));
    }

    #[test]
    fn fillers_of_one_size_need_no_records() {
        let mut charge = charge(&[(8.0, 5.0); 4], 1.0);
        charge.add_fillers(12.0, 5.0, &[0.0, 9.0], &[0.0, 9.0]).unwrap();
        let same = setup::<f32>(&charge, SMALL_CHUNK);
        assert_eq!((same.records, same.movable, same.bodies), (4, 4, 6));
        assert_eq!((same.filler_w, same.filler_h), (1.2, 1.0));
        charge.add_fillers(13.0, 5.0, &[0.0], &[0.0]).unwrap();
        let mixed = setup::<f32>(&charge, SMALL_CHUNK);
        assert_eq!((mixed.records, mixed.movable, mixed.bodies), (7, 4, 7));
    }

    #[test]
    fn no_value_in_shared_memory_can_wrap_around() {
        let charge = charge(&[(8.0, 5.0); 4], 1.0);
        for chunk in [SMALL_CHUNK, LARGEST_CHUNK] {
            let narrow = setup::<f32>(&charge, chunk);
            assert!((chunk as f64) * narrow.scale.widen() < 2f64.powi(32));
            assert!(narrow.scale.widen() >= 2f64.powi(21), "a contribution's rounding");
            let wide = setup::<f64>(&charge, chunk);
            assert!((chunk as f64) * 2f64.powi(wide.limb_bits) < 2f64.powi(32));
            assert!(wide.scale <= 2f64.powi(2 * wide.limb_bits));
        }
    }

    #[test]
    fn macros_keep_their_weight_at_their_exact_size() {
        let mut sizes = vec![(8.0, 5.0); 99];
        sizes.push((200.0, 50.0));
        let charge = charge(&sizes, 0.5);
        assert_eq!(charge.macros(), [99]);
        let bodies = BodySizes::new(&charge);
        assert_eq!(bodies.sizes[99].ratio, -0.5);
        assert!(bodies.sizes[0].ratio > 0.0);
    }
}
