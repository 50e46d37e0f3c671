//! Density on a device: `kernels/density.cu`, typed.
//!
//! ρ of every bin (fixed, movable and fillers over the bin area), and the
//! overflow and maximum of fixed and movable area (ePlace, section IV; see
//! [`crate::charge`]). All sums are integers: the same positions give the same
//! bits on every run, in any order of the bodies.

use super::bodies::{Arrangement, Bodies, blocks_for};
use super::device::Gpu;
use super::error::CudaError;
use super::launch::{BLOCK, Overlap, address, address_mut, argument, check_length, launch};
use super::plan::{Plan, TILE};
use super::real::CudaReal;
use crate::charge::Charge;
use crate::engine::DensityStats;
use crate::real::Precision;
use cudarc::driver::{CudaFunction, CudaSlice, LaunchConfig, PushKernelArg};

/// What one density evaluation found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DensityReport {
    /// Overflow and maximum without fillers.
    pub stats: DensityStats,
    /// Bodies that reached beyond the surroundings of the tile they stood in
    /// when they were ordered. They count all the same, but more slowly:
    /// [`Bodies::is_worn`] says when a new order pays.
    pub strays: u64,
}

/// The density stage for one charge.
#[derive(Debug)]
pub struct Density<T: CudaReal> {
    gpu: Gpu,
    caller: CudaFunction,
    slots: CudaFunction,
    spread: CudaFunction,
    finish: CudaFunction,
    pub(super) background: f64,
    /// Fixed area per bin over the bin area, less the background.
    fixed: CudaSlice<T>,
    /// Sums of the movable cells, then of the fillers, 4 bytes each in f32 and 8
    /// in f64. These and the next four are zero between steps.
    sums: CudaSlice<u32>,
    /// What 4 bytes do not hold.
    beside: CudaSlice<u64>,
    /// Weight of the strays that began in each tile.
    guests: CudaSlice<u32>,
    /// Differences of large bodies, tile by tile, and the tiles that have any.
    differences: CudaSlice<u64>,
    flags: CudaSlice<u32>,
    strays: CudaSlice<u32>,
    /// `Stats` in the kernels: excess in fixed point, bits of the maximum, strays.
    stats: CudaSlice<u64>,
    overlap: Overlap,
    excess_unit: f64,
    movable_area: f64,
    bin_area: f64,
    bins: usize,
}

impl<T: CudaReal> Density<T> {
    /// Uploads the fixed area and allocates the sums. Maps are written less
    /// `background`: 0 for ρ itself, [`Charge::background`] for a solve.
    ///
    /// # Errors
    /// When kernels cannot be compiled or memory runs out.
    pub fn new(bodies: &Bodies<T>, charge: &Charge, background: f64) -> Result<Self, CudaError> {
        let gpu = bodies.gpu.clone();
        let (bins, bin_area) = (charge.grid().bins(), charge.grid().bin_area());
        let fixed = charge.fixed().as_slice().iter().map(|a| T::of(a / bin_area - background));
        let fixed: Vec<T> = fixed.collect();
        let module = gpu.kernels::<T>("density")?;
        let narrow = T::PRECISION == Precision::F32;
        let tiled = if bodies.plan.large > 0 { bodies.tiles() * TILE * TILE } else { 0 };
        Ok(Density {
            caller: module.load_function("density_caller")?,
            slots: module.load_function("density_slots")?,
            spread: module.load_function("density_large")?,
            finish: module.load_function("density_finish")?,
            background,
            fixed: gpu.upload(&fixed)?,
            sums: gpu.zeros(2 * bins * size_of::<T>() / 4)?,
            beside: gpu.zeros(if narrow { 2 * bins } else { 1 })?,
            guests: gpu.zeros(bodies.tiles())?,
            differences: gpu.zeros((2 * tiled).max(1))?,
            flags: gpu.zeros(bodies.tiles())?,
            strays: gpu.zeros(1)?,
            stats: gpu.zeros(3)?,
            overlap: Overlap::where_possible(&gpu),
            excess_unit: bodies.plan.excess_unit(),
            movable_area: charge.movable_area(),
            bin_area,
            bins,
            gpu,
        })
    }

    /// Enqueues ρ of all bodies, less the background, at lower-left corners, layout
    /// units, a pair each.
    ///
    /// # Errors
    /// When the bodies were never ordered, an array has the wrong length, or a
    /// launch fails.
    pub fn run(
        &mut self,
        bodies: &mut Bodies<T>,
        arrangement: Arrangement,
        corners: &CudaSlice<T>,
        rho: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        let plan = bodies.plan;
        self.run_as(bodies, &plan, arrangement, corners, rho)
    }

    /// As [`Density::run`], for cells at their own size, not smoothed, without
    /// fillers.
    ///
    /// # Errors
    /// As [`Density::run`].
    pub fn run_own_size(
        &mut self,
        bodies: &mut Bodies<T>,
        arrangement: Arrangement,
        corners: &CudaSlice<T>,
        rho: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        let plan = bodies.plan.at_own_size();
        self.run_as(bodies, &plan, arrangement, corners, rho)
    }

    fn run_as(
        &mut self,
        bodies: &mut Bodies<T>,
        plan: &Plan<T>,
        arrangement: Arrangement,
        corners: &CudaSlice<T>,
        rho: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        let plan = &plan.less(self.background);
        bodies.check_ordered()?;
        bodies.check(corners)?;
        check_length("bins of the bodies' grid", bodies.grid().bins(), self.bins)?;
        check_length("density map", rho.len(), self.bins)?;
        let kernel = match arrangement {
            Arrangement::Caller => &self.caller,
            Arrangement::Slots => &self.slots,
        };
        // A warp for each large body. A class's patch has one word per bin in
        // f32, two limbs in f64.
        let warps = BLOCK as usize / 32;
        let large = (plan.large as usize).div_ceil(warps) as i32;
        let config = bodies.config(large, 2 * size_of::<T>() / 4);
        let stream = self.gpu.stream();
        // SAFETY: arguments are those of kernels/density.cu; arrays of bodies
        // hold one value (`corners` and `staged` a pair) per body, maps one per
        // bin (`sums` and, where it is used, `beside` two), `differences` two per
        // bin of every tile where there are large bodies, `flags` and `guests`
        // one per tile; chunks and slots come from an order of these bodies.
        unsafe {
            stream
                .launch_builder(kernel)
                .arg(plan)
                .arg(&bodies.chunks)
                .arg(&bodies.large)
                .arg(&bodies.records)
                .arg(&bodies.ids)
                .arg(corners)
                .arg(&mut bodies.staged)
                .arg(&mut self.sums)
                .arg(&mut self.beside)
                .arg(&mut self.guests)
                .arg(&mut self.differences)
                .arg(&mut self.flags)
                .arg(&mut self.strays)
                .arg(&mut self.stats)
                .launch(config)?;
        }
        if plan.large > 0 {
            // SAFETY: as above.
            unsafe {
                stream
                    .launch_builder(&self.spread)
                    .arg(plan)
                    .arg(&mut self.sums)
                    .arg(&mut self.beside)
                    .arg(&mut self.differences)
                    .arg(&mut self.flags)
                    .launch(LaunchConfig {
                        grid_dim: (bodies.tiles() as u32, 1, 1),
                        block_dim: (BLOCK, 1, 1),
                        shared_mem_bytes: 0,
                    })?;
            }
        }
        self.finish(bodies, plan, rho)
    }

    fn finish(
        &mut self,
        bodies: &mut Bodies<T>,
        plan: &Plan<T>,
        rho: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        let gpu = self.gpu.clone();
        let addresses = [
            address(&gpu, &self.fixed),
            address_mut(&gpu, &mut self.sums),
            address_mut(&gpu, &mut self.beside),
            address_mut(&gpu, &mut self.guests),
            address_mut(&gpu, rho),
            address_mut(&gpu, &mut self.strays),
            address_mut(&gpu, &mut self.stats),
            address_mut(&gpu, &mut bodies.wear.device),
            bodies.wear.post(),
        ];
        // Four bins per thread, and a block for the strays.
        let mut config = blocks_for(self.bins.div_ceil(4));
        config.grid_dim.0 += 1;
        let mut arguments = vec![argument(plan)];
        arguments.extend(addresses.iter().map(argument));
        // SAFETY: arguments are those of density_finish, arrays as in `run_as`;
        // before it waits the kernel reads the fixed area alone, which is never
        // written.
        unsafe { launch(&gpu, &self.finish, config, self.overlap, &mut arguments) }
    }

    /// What the last evaluation found; waits for it.
    ///
    /// # Errors
    /// What failed on the device since the last wait.
    pub fn report(&self) -> Result<DensityReport, CudaError> {
        let found = self.gpu.download(&self.stats)?;
        Ok(self.report_of([found[0], found[1], found[2]]))
    }

    /// What [`Density::report`] downloads: three words that
    /// [`Density::report_of`] reads.
    pub fn statistics(&self) -> &CudaSlice<u64> {
        &self.stats
    }

    /// The report in [`Density::statistics`]' words.
    pub fn report_of(&self, [excess, max, strays]: [u64; 3]) -> DensityReport {
        let excess = excess as f64 * self.excess_unit * self.bin_area;
        let overflow = if self.movable_area > 0.0 { excess / self.movable_area } else { 0.0 };
        DensityReport { stats: DensityStats { overflow, max: f64::from_bits(max) }, strays }
    }
}
