//! Density on a device: `kernels/bodies/density.cu`.
//!
//! ρ of every bin (fixed, movable and fillers over the bin area), and the overflow and maximum of
//! fixed and movable area (ePlace, section IV; see [`crate::charge`]). All sums are integers: the
//! same positions give the same bits on every run, in any order of the bodies.

use super::bodies::Bodies;
use super::order::PositionLayout;
use super::setup::TILE;
use crate::cuda::device::bindings::bodies::{
    DensityFinish, DensityLarge, DensityOffDie, DensitySlots, Rounding, Setup,
};
use crate::cuda::device::{
    Array, BLOCK, CudaError, CudaReal, DeviceSlice, DeviceVec, Gpu, Kernel, Pinned, blocks_for,
    check_length, grid_of,
};
use crate::cuda::solve::with_total;
use crate::engine::DensityStats;
use crate::grid::Map;
use crate::real::Precision;
use std::ops::Range;

/// Bins whose excess a block of density_finish adds up.
pub(crate) const BINS_PER_BLOCK: usize = 4 * BLOCK as usize;

/// Statistics of one density evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DensityReport {
    /// Overflow and maximum without fillers.
    pub stats: DensityStats,
    /// Area of the movable cells off the die, layout units squared; this area is overflow.
    pub area_off_die: f64,
    /// Bodies that reached beyond the halo of the tile that they were ordered into. They are
    /// counted, but more slowly: [`Bodies::order_is_due`] says when a new order pays.
    pub outside_halo: u64,
}

/// Statistics of one density evaluation, as stored on the device (`Stats` in
/// `kernels/bodies/density.cu`), with the area off the die. [`Density::report_of`] interprets them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawStatistics {
    /// Σ over bins of the excess above the target, in fixed point.
    excess: u64,
    /// The largest density, as the bits of an f64.
    max: u64,
    outside_halo: u64,
    /// Movable area off the die, in the fixed point of the excess; counted separately.
    off_die: u64,
}

impl From<[u64; 3]> for RawStatistics {
    /// Returns the statistics with no area off the die.
    fn from([excess, max, outside_halo]: [u64; 3]) -> Self {
        RawStatistics { excess, max, outside_halo, off_die: 0 }
    }
}

impl RawStatistics {
    /// Returns the statistics of the bins of both.
    pub(crate) fn and(self, other: Self) -> Self {
        RawStatistics {
            excess: self.excess + other.excess,
            // The bits order like the numbers, which are not negative.
            max: self.max.max(other.max),
            outside_halo: self.outside_halo + other.outside_halo,
            off_die: self.off_die + other.off_die,
        }
    }

    /// Returns the report for bodies of this movable area, if `unit` is the area of one unit of the
    /// sums.
    fn interpreted(self, unit: f64, movable_area: f64) -> DensityReport {
        let area_off_die = self.off_die as f64 * unit;
        let excess = self.excess as f64 * unit + area_off_die;
        let overflow = if movable_area > 0.0 { excess / movable_area } else { 0.0 };
        let stats = DensityStats { overflow, max: f64::from_bits(self.max) };
        DensityReport { stats, area_off_die, outside_halo: self.outside_halo }
    }
}

/// The density stage for the bodies that it was made for.
pub struct Density<T: CudaReal> {
    gpu: Gpu,
    /// [`Bodies`]' unique id.
    bodies: u64,
    /// For corners in each [`PositionLayout`].
    deposit: [Kernel<DensitySlots<T>>; 3],
    spread: Kernel<DensityLarge<T>>,
    finish: Kernel<DensityFinish<T>>,
    off_die: Kernel<DensityOffDie<T>>,
    rounding: Rounding,
    /// One for each region.
    backgrounds: Vec<f64>,
    /// Fixed area per bin over the bin area, less the background. Like all maps here, it has a map
    /// of every region.
    fixed: DeviceVec<T>,
    /// The target density of every bin less the background. If it is the same everywhere, a single
    /// unused value.
    targets: DeviceVec<T>,
    /// For each region its target density less the background, and the background.
    levels: DeviceVec<T>,
    /// Sums of the movable cells, then of the fillers. This and the next five arrays are zero
    /// between steps.
    sums: DeviceVec<T::Word>,
    /// The parts of sums beyond 4 bytes.
    carry: DeviceVec<u64>,
    /// Weight of the bodies outside their halo that began in each tile.
    outside_weight: DeviceVec<u32>,
    /// Differences of large bodies, tile by tile, and the tiles that have any.
    differences: DeviceVec<u64>,
    flags: DeviceVec<u32>,
    outside_halo: DeviceVec<u32>,
    /// Whether they are not zero, because the second half of a density is still to follow, or
    /// failed.
    has_sums: bool,
    /// The three values of [`RawStatistics`] for all bodies, and with several regions then for
    /// each.
    stats: DeviceVec<u64>,
    received: Pinned<u64>,
    /// Movable area off the die for all bodies, and with several regions then for each, in the
    /// fixed point of the excess.
    off_die_sums: DeviceVec<u64>,
    received_off_die: Pinned<u64>,
    /// The last result of [`Density::raw`], kept so that a step allocates nothing.
    raw: Vec<RawStatistics>,
    /// Bin areas in one unit of the overflow's fixed-point sum.
    excess_unit: f64,
    movable_area: f64,
    /// One for each region.
    movable_areas: Vec<f64>,
    bin_area: f64,
    /// Bins of a region's map.
    bins: usize,
}

impl<T: CudaReal> Density<T> {
    /// Uploads the fixed area and allocates the sums. Maps are written less `background`, which is
    /// 0 for ρ itself.
    ///
    /// # Errors
    /// If kernels cannot be compiled or memory runs out.
    pub fn new(bodies: &Bodies<T>, background: f64) -> Result<Self, CudaError> {
        Self::less(bodies, vec![background; bodies.charge().regions()])
    }

    /// Like [`Density::new`], for a solve: the map of every region is written less its
    /// [background](crate::charge::Charge::backgrounds).
    ///
    /// # Errors
    /// Those of [`Density::new`].
    pub fn centered(bodies: &Bodies<T>) -> Result<Self, CudaError> {
        Self::less(bodies, bodies.charge().backgrounds())
    }

    fn less(bodies: &Bodies<T>, backgrounds: Vec<f64>) -> Result<Self, CudaError> {
        let (gpu, charge) = (bodies.gpu.clone(), bodies.charge());
        let bin_area = charge.grid().bin_area();
        let bins = charge.grid().bins();
        let less_background = |value: f64, region: usize| T::cast(value - backgrounds[region]);
        let fixed = |k: usize| {
            let area = charge.region_fixed(k / bins).as_slice()[k % bins];
            less_background(area / bin_area, k / bins)
        };
        let fixed = gpu.upload_each(bodies.bins(), fixed)?;
        let targets = charge.target_densities().map_or(&[][..], Map::as_slice);
        let target_bins = if targets.is_empty() { 0 } else { bodies.bins() };
        let target = |k: usize| less_background(targets[k % bins], k / bins);
        let targets = gpu.upload_each(target_bins, target)?;
        let levels = |(region, background): (usize, &f64)| {
            let Setup { target, background, .. } = bodies.setup_of(region, *background);
            [target, background]
        };
        let levels: Vec<T> = backgrounds.iter().enumerate().flat_map(levels).collect();
        let module = bodies.kernels("density", false)?;
        let narrow = T::PRECISION == Precision::F32;
        let tiled = if bodies.setup.large > 0 { bodies.tiles() * TILE * TILE } else { 0 };
        let names = ["density_slots", "density_pairs", "density_halves"];
        let finish = match charge.target_densities() {
            Some(_) => "density_finish_targets",
            None => "density_finish",
        };
        let [x, y] = charge.rounding_at_edges(T::epsilon().widen());
        Ok(Density {
            deposit: Kernel::each(&module, names)?,
            spread: Kernel::new(&module)?.with(grid_of(bodies.tiles())),
            finish: Kernel::named(&module, finish)?.overlapping(),
            off_die: Kernel::new(&module)?,
            rounding: Rounding { x, y },
            backgrounds,
            fixed,
            targets,
            levels: gpu.upload(&levels)?,
            sums: gpu.zeros(2 * bodies.bins())?,
            carry: gpu.zeros(if narrow { 2 * bodies.bins() } else { 0 })?,
            outside_weight: gpu.zeros(bodies.tiles())?,
            differences: gpu.zeros(2 * tiled)?,
            flags: gpu.zeros(bodies.tiles())?,
            outside_halo: gpu.zeros(1)?,
            has_sums: false,
            stats: gpu.zeros(3 * with_total(charge.regions()))?,
            received: Pinned::zeros(&gpu, 3 * with_total(charge.regions()))?,
            off_die_sums: gpu.zeros(with_total(charge.regions()))?,
            received_off_die: Pinned::zeros(&gpu, with_total(charge.regions()))?,
            raw: Vec::new(),
            excess_unit: 1.0 / bodies.setup.excess_scale.widen(),
            movable_area: charge.movable_area(),
            movable_areas: (0..charge.regions()).map(|r| charge.region_movable_area(r)).collect(),
            bin_area,
            bins,
            bodies: bodies.id,
            gpu,
        })
    }

    /// Enqueues ρ of all bodies, less the background, at lower-left corners, layout units, in an
    /// array of this layout. ρ has `nx × ny` values for each region, one region after the other.
    /// With `exact`, cells have their exact size, not smoothed, and fillers are left out.
    ///
    /// # Errors
    /// If the bodies were never ordered or are not those it was made for, or a launch fails. Also
    /// if an array has the wrong length or is another [`Gpu`]'s, or pairs are not aligned for a
    /// read at once.
    pub fn run<'a>(
        &mut self,
        bodies: &Bodies<T>,
        exact: bool,
        (layout, corners): (impl Into<PositionLayout>, impl Into<DeviceSlice<'a, T>>),
        rho: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        // Checked before anything is enqueued: sums that no kernel takes would count twice.
        self.gpu.check("density map", &*rho, bodies.bins())?;
        self.deposit(bodies, exact, Some((layout.into(), corners.into())))?;
        self.finish(bodies, exact, 0..self.bins, rho)
    }

    /// Returns the sums of every bin between the two halves of a density, and the sums' parts
    /// beyond 4 bytes: for movable cells, then for fillers.
    pub(crate) fn sums(&self) -> (&DeviceVec<T::Word>, &DeviceVec<u64>) {
        (&self.sums, &self.carry)
    }

    fn setup_of(&self, bodies: &Bodies<T>, exact: bool) -> Setup<T> {
        let setup = if exact { bodies.setup.at_exact_size() } else { bodies.setup };
        // For the first region; kernels for several regions read each region's levels from
        // `levels`.
        setup.of_region(bodies.charge().region_target_density(0), self.backgrounds[0])
    }

    /// Enqueues the first half of [`Density::run`]: the sums of all bodies, or of some, to which
    /// other sums will be added. Positions are `corners`, or without them those of the last density
    /// in the caller's order.
    pub(crate) fn deposit(
        &mut self,
        bodies: &Bodies<T>,
        exact: bool,
        corners: Option<(PositionLayout, DeviceSlice<'_, T>)>,
    ) -> Result<(), CudaError> {
        let slots = || (PositionLayout::Slots, bodies.staged.as_view());
        let (setup, (layout, corners)) =
            (self.setup_of(bodies, exact), corners.unwrap_or_else(slots));
        bodies.check_own("a density", self.bodies)?;
        bodies.check_ordered()?;
        bodies.check_corners(layout, corners)?;
        if self.has_sums {
            self.gpu.clear(&mut self.sums)?;
            self.gpu.clear(&mut self.carry)?;
            self.gpu.clear(&mut self.outside_weight)?;
            self.gpu.clear(&mut self.differences)?;
            self.gpu.clear(&mut self.flags)?;
            self.gpu.clear(&mut self.outside_halo)?;
        }
        self.set_has_sums(true);
        // A warp for each large body. A class's patch has one 32-bit value
        // per bin in f32, two limbs in f64.
        let warps = BLOCK as usize / 32;
        let large = (setup.large as usize).div_ceil(warps) as i32;
        let config = bodies.config(large, 2 * size_of::<T>() / 4);
        let (values, carry) = ((&self.sums).into(), (&self.carry).into());
        let (differences, flags) = ((&self.differences).into(), (&self.flags).into());
        let arguments = DensitySlots {
            setup,
            chunks: (&bodies.chunks).into(),
            large: (&bodies.large).into(),
            records: (&bodies.records).into(),
            id_of: (&bodies.ids).into(),
            corners: (&corners).into(),
            staged: (&bodies.staged).into(),
            values,
            carry,
            outside_weight: (&self.outside_weight).into(),
            differences,
            flags,
            outside: (&self.outside_halo).into(),
            stats: Array::from(&self.stats).cast(),
            regions: bodies.region_tables(),
        };
        // SAFETY: these are the bodies that the arrays were made for. Arrays of bodies hold one
        // value (`corners` and `staged` a pair) per body. Maps hold one value per bin (`sums` and,
        // if it is used, `carry` two). `differences` holds two values per bin of every tile if
        // there are large bodies. `flags` and `outside_weight` hold one per tile. All of these
        // exist for every region. Chunks and slots come from an order of these bodies.
        unsafe { self.deposit[layout.index()].launch_as(&self.gpu, config, &arguments) }?;
        if setup.large > 0 {
            let arguments = DensityLarge { setup, values, carry, differences, flags };
            // SAFETY: as above.
            unsafe { self.spread.launch(&self.gpu, &arguments) }?;
        }
        Ok(())
    }

    /// Enqueues the second half, for all bins or some: the bins' sums become ρ, in the map of all
    /// bins, and overflow and maximum of these bins. If the first bin is a multiple of
    /// [`BINS_PER_BLOCK`], the parts' overflows add up to the bits of the whole.
    pub(crate) fn finish(
        &mut self,
        bodies: &Bodies<T>,
        exact: bool,
        bins: Range<usize>,
        rho: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        bodies.check_own("a density", self.bodies)?;
        check_length("density map", rho.len(), bodies.bins())?;
        assert!(bins.start <= bins.end && bins.end <= self.bins, "bins {bins:?}");
        // Four bins per thread, and a block for the bodies outside their halos; for every region.
        let mut config = blocks_for(bins.len().div_ceil(4));
        config.grid_dim.0 += 1;
        config.grid_dim.1 = self.backgrounds.len() as u32;
        let arguments = DensityFinish {
            setup: self.setup_of(bodies, exact),
            fixed: (&self.fixed).into(),
            targets: (&self.targets).into(),
            values: (&self.sums).into(),
            carry: (&self.carry).into(),
            outside_weight: (&self.outside_weight).into(),
            first: bins.start as u32,
            end: bins.end as u32,
            rho: (&*rho).into(),
            outside: (&self.outside_halo).into(),
            stats: Array::from(&self.stats).cast(),
            age: (&bodies.staleness.age).into(),
            posted: bodies.staleness.post(),
            levels: (&self.levels).into(),
        };
        // SAFETY: density_finish_targets is chosen if there is a target per bin. Arrays are as in
        // `deposit`, and ρ has a value for every bin that the sums cover (checked above). Before it
        // waits, the kernel reads only the fixed area and levels, which are never written. `posted`
        // is one value of memory that host and device share and that the bodies keep until all work
        // has run.
        unsafe { self.finish.launch_as(&self.gpu, config, &arguments) }?;
        self.set_has_sums(false);
        Ok(())
    }

    /// Records whether sums are not zero. Work in a capture does not change them yet.
    fn set_has_sums(&mut self, has_sums: bool) {
        if !self.gpu.is_capturing() {
            self.has_sums = has_sums;
        }
    }

    /// Returns the background subtracted from each region's map.
    pub fn backgrounds(&self) -> &[f64] {
        &self.backgrounds
    }

    /// Returns the statistics of the last evaluation of `bodies`; waits for it. `slots` are the
    /// corners of that evaluation if they were in slot order.
    ///
    /// # Errors
    /// If the bodies are not those it was made for, `slots` has the wrong length, the stream is
    /// being captured, or the device failed since the last wait.
    pub fn report(
        &mut self,
        bodies: &Bodies<T>,
        slots: Option<&DeviceVec<T>>,
    ) -> Result<DensityReport, CudaError> {
        let all = self.raw(bodies, slots)?[0];
        Ok(self.report_of(all))
    }

    /// Returns the statistics as stored on the device, with the area off the die: for all bodies,
    /// and with several regions then for each.
    pub(crate) fn raw(
        &mut self,
        bodies: &Bodies<T>,
        slots: Option<&DeviceVec<T>>,
    ) -> Result<&[RawStatistics], CudaError> {
        bodies.check_own("a density", self.bodies)?;
        bodies.check_ordered()?;
        let corners = slots.unwrap_or(&bodies.staged);
        bodies.check_corners(PositionLayout::Slots, corners)?;
        // A capture would add this launch to the caller's graph.
        self.gpu.stream_guard()?.check_not_capturing()?;
        self.gpu.clear(&mut self.off_die_sums)?;
        let large = (bodies.setup.large as u32).div_ceil(BLOCK) as i32;
        let arguments = DensityOffDie {
            setup: bodies.setup,
            rounding: self.rounding,
            chunks: (&bodies.chunks).into(),
            large: (&bodies.large).into(),
            records: (&bodies.records).into(),
            corners: corners.into(),
            sums: (&self.off_die_sums).into(),
            regions: bodies.region_tables(),
        };
        // SAFETY: chunks and slots come from an order of these bodies, and `corners` and `staged`
        // hold a pair for each body in it. There are as many sums as regions, and with several
        // regions one more before those.
        unsafe { self.off_die.launch_as(&self.gpu, bodies.config(large, 0), &arguments) }?;
        let off_die = self.received_off_die.receive(&self.off_die_sums)?;
        let found = self.received.receive(&self.stats)?.chunks_exact(3).zip(off_die);
        let raw =
            |(of, &off_die): (&[u64], _)| RawStatistics { off_die, ..[of[0], of[1], of[2]].into() };
        self.raw.clear();
        self.raw.extend(found.map(raw));
        Ok(&self.raw)
    }

    /// Returns overflow and maximum of every region in the last evaluation, and its movable area
    /// off the die (layout units squared). Otherwise like [`Density::report`].
    ///
    /// # Errors
    /// Those of [`Density::report`].
    pub fn report_regions(
        &mut self,
        bodies: &Bodies<T>,
        slots: Option<&DeviceVec<T>>,
    ) -> Result<Vec<DensityReport>, CudaError> {
        self.raw(bodies, slots)?;
        // After the statistics of all bodies, if these differ.
        let of_regions =
            self.raw[self.raw.len() - self.movable_areas.len()..].iter().zip(&self.movable_areas);
        Ok(of_regions.map(|(raw, &area)| raw.interpreted(self.unit(), area)).collect())
    }

    /// Returns the values that [`Density::report`] reads: the three of [`RawStatistics`], and with
    /// several regions then three for each.
    pub fn statistics(&self) -> &DeviceVec<u64> {
        &self.stats
    }

    /// Enqueues the copy of earlier values of [`Density::statistics`].
    pub(crate) fn restore_statistics(&mut self, before: &DeviceVec<u64>) -> Result<(), CudaError> {
        self.gpu.copy(before, &mut self.stats)
    }

    /// Returns the report in the first three of [`Density::statistics`]' values, without the area
    /// off the die: the overflow is right if all cells are on the die.
    pub fn report_of(&self, raw: RawStatistics) -> DensityReport {
        raw.interpreted(self.unit(), self.movable_area)
    }

    /// Returns the area of one unit of the fixed-point sums, layout units squared.
    fn unit(&self) -> f64 {
        self.excess_unit * self.bin_area
    }
}
