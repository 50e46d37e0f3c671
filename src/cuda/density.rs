//! Density on a device: `kernels/density.cu`, typed.
//!
//! ρ of every bin (fixed, movable and fillers over the bin area), and the
//! overflow and maximum of fixed and movable area (ePlace, section IV; see
//! [`crate::charge`]). A block sums its bodies as integers in shared memory;
//! what blocks add to one another is a floating-point number in f32, an integer
//! in f64 and wherever the same bits are asked for.

use super::bodies::{Arrangement, Bodies, blocks_for};
use super::device::Gpu;
use super::error::CudaError;
use super::launch::check_length;
use super::plan::Plan;
use super::real::CudaReal;
use crate::charge::Charge;
use crate::engine::DensityStats;
use crate::real::Precision;
use cudarc::driver::{CudaFunction, CudaSlice, PushKernelArg};

/// What one density evaluation found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DensityReport {
    /// Overflow and maximum without fillers.
    pub stats: DensityStats,
    /// Bodies that reached beyond the surroundings of the tile they stood in
    /// when they were ordered. They count all the same, but slowly: from a few
    /// per cent of all on, a new order pays.
    pub strays: u64,
}

/// The density stage for one charge.
#[derive(Debug)]
pub struct Density<T: CudaReal> {
    gpu: Gpu,
    caller: CudaFunction,
    slots: CudaFunction,
    finish: CudaFunction,
    /// Fixed area per bin over the bin area.
    fixed: CudaSlice<T>,
    /// Sums of the movable cells, then of the fillers; zero between steps.
    sums: CudaSlice<u64>,
    strays: CudaSlice<u32>,
    /// `Stats` in the kernels: excess in fixed point, bits of the maximum, strays.
    stats: CudaSlice<u64>,
    excess_unit: f64,
    movable_area: f64,
    bin_area: f64,
    bins: usize,
}

impl<T: CudaReal> Density<T> {
    /// Uploads the fixed area and allocates the sums. With `deterministic` the
    /// same positions give the same bits on every run (f64 always does).
    ///
    /// # Errors
    /// When kernels cannot be compiled or memory runs out.
    pub fn new(
        bodies: &Bodies<T>,
        charge: &Charge,
        deterministic: bool,
    ) -> Result<Self, CudaError> {
        let gpu = bodies.gpu.clone();
        let (bins, bin_area) = (charge.grid.bins(), charge.grid.bin_area());
        let fixed: Vec<T> = charge.fixed.as_slice().iter().map(|a| T::of(a / bin_area)).collect();
        let exact = deterministic || T::PRECISION == Precision::F64;
        let suffix = if exact { "_exact" } else { "" };
        let module = gpu.kernels::<T>("density")?;
        let load = |name: &str| module.load_function(&format!("density_{name}{suffix}"));
        Ok(Density {
            caller: load("caller")?,
            slots: load("slots")?,
            finish: load("finish")?,
            fixed: gpu.upload(&fixed)?,
            // Two words per bin, of 8 bytes or of 4.
            sums: gpu.zeros(if exact { 2 * bins } else { bins })?,
            strays: gpu.zeros(1)?,
            stats: gpu.zeros(3)?,
            excess_unit: bodies.plan.excess_unit(),
            movable_area: charge.movable_area,
            bin_area,
            bins,
            gpu,
        })
    }

    /// Enqueues ρ of all bodies at lower-left corners `x`, `y`, layout units.
    ///
    /// # Errors
    /// When the bodies were never ordered, an array has the wrong length, or a
    /// launch fails.
    pub fn run(
        &mut self,
        bodies: &mut Bodies<T>,
        arrangement: Arrangement,
        (x, y): (&CudaSlice<T>, &CudaSlice<T>),
        rho: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        let plan = bodies.plan;
        self.run_as(bodies, &plan, arrangement, (x, y), rho)
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
        (x, y): (&CudaSlice<T>, &CudaSlice<T>),
        rho: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        let plan = bodies.plan.at_own_size();
        self.run_as(bodies, &plan, arrangement, (x, y), rho)
    }

    fn run_as(
        &mut self,
        bodies: &mut Bodies<T>,
        plan: &Plan<T>,
        arrangement: Arrangement,
        (x, y): (&CudaSlice<T>, &CudaSlice<T>),
        rho: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        bodies.check_ordered()?;
        bodies.check(x, y)?;
        check_length("bins of the bodies' grid", bodies.grid().bins(), self.bins)?;
        check_length("density map", rho.len(), self.bins)?;
        let kernel = match arrangement {
            Arrangement::Caller => &self.caller,
            Arrangement::Slots => &self.slots,
        };
        // A class's patch has one word per bin in f32, two limbs in f64.
        let config = bodies.config(plan.pieces, 2 * size_of::<T>() / 4);
        let finish = blocks_for(self.bins.div_ceil(4));
        let stream = self.gpu.stream();
        // SAFETY: arguments are those of kernels/density.cu; arrays of bodies
        // hold one value (`staged` a pair) per body, maps one per bin (`sums`
        // two, of the width that goes with the kernels chosen in `new`), chunks
        // and slots come from an order of these bodies.
        unsafe {
            stream
                .launch_builder(kernel)
                .arg(plan)
                .arg(&bodies.chunks)
                .arg(&bodies.pieces)
                .arg(&bodies.large)
                .arg(&bodies.records)
                .arg(&bodies.id_of)
                .arg(x)
                .arg(y)
                .arg(&mut bodies.staged)
                .arg(&mut self.sums)
                .arg(&mut self.strays)
                .arg(&mut self.stats)
                .launch(config)?;
            stream
                .launch_builder(&self.finish)
                .arg(plan)
                .arg(&self.fixed)
                .arg(&mut self.sums)
                .arg(rho)
                .arg(&mut self.strays)
                .arg(&mut self.stats)
                .launch(finish)?;
        }
        Ok(())
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
