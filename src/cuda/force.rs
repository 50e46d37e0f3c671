//! Force on every body on a device: `kernels/force.cu`, typed.
//!
//! F = ratio · Σ over the body's bins of overlap area · (Ex, Ey), the direction
//! that spreads (ePlace, Lu et al., TODAES 2015, eq. 20), in layout area × bin
//! widths. Each body's sum runs in one fixed order: the same bits on every run.

use super::bodies::{Bodies, blocks_for};
use super::device::Gpu;
use super::error::CudaError;
use super::launch::{Overlap, address, address_mut, argument, check_length, launch};
use super::real::CudaReal;
use cudarc::driver::{CudaFunction, CudaSlice, PushKernelArg};

/// Bodies per thread of force_return: as in the kernels.
const RETURN_EACH: usize = 4;

/// The force stage for one charge.
#[derive(Debug)]
pub struct Force<T: CudaReal> {
    gpu: Gpu,
    slots: CudaFunction,
    give_back: CudaFunction,
    /// Forces in slot order, on their way to the caller's.
    in_slots: CudaSlice<T>,
    overlap: Overlap,
}

impl<T: CudaReal> Force<T> {
    /// Loads the kernels and allocates what forces need on their way.
    ///
    /// # Errors
    /// When kernels cannot be compiled or memory runs out.
    pub fn new(bodies: &Bodies<T>) -> Result<Self, CudaError> {
        let gpu = bodies.gpu.clone();
        let module = gpu.kernels::<T>("force")?;
        Ok(Force {
            slots: module.load_function("force_slots")?,
            give_back: module.load_function("force_return")?,
            in_slots: gpu.zeros((2 * bodies.len()).max(1))?,
            overlap: Overlap::where_possible(&gpu),
            gpu,
        })
    }

    /// Enqueues the force on every body, a pair each in the caller's order, where
    /// the last [`Density::run`](super::Density::run) with
    /// [`Arrangement::Caller`](super::Arrangement::Caller) saw it, from maps Ex
    /// and Ey, `[nx][ny]`, in bin widths.
    ///
    /// # Errors
    /// When the bodies were never ordered, an array has the wrong length, or a
    /// launch fails.
    pub fn run(
        &mut self,
        bodies: &Bodies<T>,
        field: (&CudaSlice<T>, &CudaSlice<T>),
        forces: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        check(bodies, field, forces)?;
        let slot_of = address(&self.gpu, bodies.slot_of()?);
        gather(&self.gpu, &self.slots, bodies, &bodies.staged, field, &mut self.in_slots)?;
        let plan = bodies.plan;
        let in_slots = address(&self.gpu, &self.in_slots);
        let back = address_mut(&self.gpu, forces);
        // SAFETY: arguments are those of force_return; arrays hold one value or
        // pair per body. Before it waits the kernel reads slots alone, which the
        // one before it does not write.
        unsafe {
            launch(
                &self.gpu,
                &self.give_back,
                blocks_for(bodies.len().div_ceil(RETURN_EACH)),
                self.overlap,
                &mut [argument(&plan), argument(&slot_of), argument(&in_slots), argument(&back)],
            )
        }
    }

    /// As [`Force::run`], for lower-left corners in slot order; forces come in
    /// slot order too.
    ///
    /// # Errors
    /// As [`Force::run`].
    pub fn run_slots(
        &self,
        bodies: &Bodies<T>,
        corners: &CudaSlice<T>,
        field: (&CudaSlice<T>, &CudaSlice<T>),
        forces: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        bodies.check(corners)?;
        check(bodies, field, forces)?;
        gather(&self.gpu, &self.slots, bodies, corners, field, forces)
    }
}

/// Launches the gathering kernel; lengths have been checked.
fn gather<T: CudaReal>(
    gpu: &Gpu,
    kernel: &CudaFunction,
    bodies: &Bodies<T>,
    corners: &CudaSlice<T>,
    (ex, ey): (&CudaSlice<T>, &CudaSlice<T>),
    forces: &mut CudaSlice<T>,
) -> Result<(), CudaError> {
    // SAFETY: arguments are those of force_slots; chunks and slots come from an
    // order of these bodies, corners and forces hold a pair per body, the maps
    // one value per bin.
    unsafe {
        gpu.stream()
            .launch_builder(kernel)
            .arg(&bodies.plan)
            .arg(&bodies.chunks)
            .arg(&bodies.large)
            .arg(&bodies.records)
            .arg(corners)
            .arg(ex)
            .arg(ey)
            .arg(forces)
            // A pair per bin of the patch.
            .launch(bodies.config(bodies.plan.large, 2 * size_of::<T>() / 4))?;
    }
    Ok(())
}

fn check<T: CudaReal>(
    bodies: &Bodies<T>,
    (ex, ey): (&CudaSlice<T>, &CudaSlice<T>),
    forces: &CudaSlice<T>,
) -> Result<(), CudaError> {
    bodies.check_ordered()?;
    check_length("field along x", ex.len(), bodies.grid().bins())?;
    check_length("field along y", ey.len(), bodies.grid().bins())?;
    check_length("forces", forces.len(), 2 * bodies.room())
}
