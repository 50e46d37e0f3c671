//! Force on every body on a device: `kernels/force.cu`, typed.
//!
//! F = ratio · Σ over the body's bins of overlap area · (Ex, Ey), the direction
//! that spreads (ePlace, Lu et al., TODAES 2015, eq. 20), in layout area × bin
//! widths. Each body's sum runs in one fixed order: the same bits on every run.

use super::bodies::{Bodies, blocks_for};
use super::device::Gpu;
use super::error::CudaError;
use super::launch::{address, address_mut, check_length};
use super::real::CudaReal;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaFunction, CudaSlice, PushKernelArg};

/// The force stage for one charge.
#[derive(Debug)]
pub struct Force<T: CudaReal> {
    gpu: Gpu,
    slots: CudaFunction,
    staged: CudaFunction,
    give_back: CudaFunction,
    /// Forces as pairs in slot order, on their way to the caller's order.
    pairs: CudaSlice<T>,
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
            staged: module.load_function("force_staged")?,
            give_back: module.load_function("force_return")?,
            pairs: gpu.zeros((2 * bodies.len()).max(1))?,
            gpu,
        })
    }

    /// Enqueues the force on every body, in the caller's order, where the last
    /// [`Density::run`](super::Density::run) with
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
        (fx, fy): (&mut CudaSlice<T>, &mut CudaSlice<T>),
    ) -> Result<(), CudaError> {
        check(bodies, field, (fx, fy))?;
        let to = [0, 0, address_mut(&self.gpu, &mut self.pairs)];
        let from = [0, 0, address(&self.gpu, &bodies.staged)];
        // SAFETY: pairs come from the density stage and go to `pairs`; both
        // hold one per body, and the lengths of maps were checked.
        unsafe { self.gather(&self.staged, bodies, from, field, to) }?;
        // SAFETY: arguments are those of force_return; every array holds one
        // value (`pairs` a pair) per body.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.give_back)
                .arg(&bodies.plan)
                .arg(&bodies.slot_of)
                .arg(&self.pairs)
                .arg(fx)
                .arg(fy)
                .launch(blocks_for(bodies.len()))?;
        }
        Ok(())
    }

    /// As [`Force::run`], for lower-left corners `x`, `y` in slot order; forces
    /// come in slot order too.
    ///
    /// # Errors
    /// As [`Force::run`].
    pub fn run_slots(
        &self,
        bodies: &Bodies<T>,
        (x, y): (&CudaSlice<T>, &CudaSlice<T>),
        field: (&CudaSlice<T>, &CudaSlice<T>),
        (fx, fy): (&mut CudaSlice<T>, &mut CudaSlice<T>),
    ) -> Result<(), CudaError> {
        bodies.check(x, y)?;
        check(bodies, field, (fx, fy))?;
        let from = [address(&self.gpu, x), address(&self.gpu, y), 0];
        let to = [address_mut(&self.gpu, fx), address_mut(&self.gpu, fy), 0];
        // SAFETY: all lengths were checked.
        unsafe { self.gather(&self.slots, bodies, from, field, to) }
    }

    /// Launches a gathering kernel. `from` is the addresses of x, y and pairs,
    /// `to` those of fx, fy and pairs of forces.
    ///
    /// # Safety
    /// Each address the kernel uses (x and y, or pairs) is that of one value (a
    /// pair) per body, the maps hold one value per bin, and all outlive the
    /// launch on the stream.
    unsafe fn gather(
        &self,
        kernel: &CudaFunction,
        bodies: &Bodies<T>,
        from: [CUdeviceptr; 3],
        (ex, ey): (&CudaSlice<T>, &CudaSlice<T>),
        to: [CUdeviceptr; 3],
    ) -> Result<(), CudaError> {
        // SAFETY: arguments are those of force_slots and force_staged; chunks
        // and slots come from an order of these bodies, the rest is the
        // caller's promise.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(kernel)
                .arg(&bodies.plan)
                .arg(&bodies.chunks)
                .arg(&bodies.large)
                .arg(&bodies.records)
                .arg(&from[0])
                .arg(&from[1])
                .arg(&from[2])
                .arg(ex)
                .arg(ey)
                .arg(&to[0])
                .arg(&to[1])
                .arg(&to[2])
                // A pair per bin of the patch.
                .launch(bodies.config(bodies.plan.large, 2 * size_of::<T>() / 4))?;
        }
        Ok(())
    }
}

fn check<T: CudaReal>(
    bodies: &Bodies<T>,
    (ex, ey): (&CudaSlice<T>, &CudaSlice<T>),
    (fx, fy): (&CudaSlice<T>, &CudaSlice<T>),
) -> Result<(), CudaError> {
    bodies.check_ordered()?;
    check_length("field along x", ex.len(), bodies.grid().bins())?;
    check_length("field along y", ey.len(), bodies.grid().bins())?;
    check_length("x of forces", fx.len(), bodies.room())?;
    check_length("y of forces", fy.len(), bodies.room())
}
