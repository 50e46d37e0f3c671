//! Force on every body on a device: `kernels/bodies/force.cu`.
//!
//! F = ratio · Σ over the body's bins of overlap area · (Ex, Ey), the direction
//! that spreads (ePlace, Lu et al., TODAES 2015, eq. 20), in layout area × bin
//! widths. Each body's sum runs in one fixed order: the same bits on every run.

use super::bodies::Bodies;
use crate::cuda::device::{
    CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Gpu, Launch, Overlap, blocks_for,
    check_length, function,
};
use crate::engine::{GradientOptions, Layout};
use cudarc::driver::CudaFunction;

/// Bodies per thread of force_pairs and force_halves: `RETURN_EACH` in `kernels/bodies/force.cu`.
const RETURN_EACH: usize = 4;

/// The force stage for the bodies it was made for.
pub struct Force<T: CudaReal> {
    gpu: Gpu,
    /// [`Bodies`]' own number.
    bodies: u64,
    slots: CudaFunction,
    /// To the caller's order, by [`Layout`].
    pairs: CudaFunction,
    halves: CudaFunction,
    /// Forces in slot order, before they are brought to the caller's.
    in_slots: DeviceVec<T>,
    overlap: Overlap,
}

impl<T: CudaReal> Force<T> {
    /// Loads the kernels and allocates memory for forces in slot order.
    ///
    /// # Errors
    /// When kernels cannot be compiled or memory runs out.
    pub fn new(bodies: &Bodies<T>) -> Result<Self, CudaError> {
        let gpu = bodies.gpu.clone();
        let module = gpu.kernels::<T>("force")?;
        let slots = function(&module, "force_slots")?;
        Ok(Force {
            overlap: Overlap::where_possible(&slots),
            slots,
            pairs: function(&module, "force_pairs")?,
            halves: function(&module, "force_halves")?,
            in_slots: gpu.zeros(2 * bodies.len())?,
            bodies: bodies.id,
            gpu,
        })
    }

    /// Enqueues the force on every body, a pair each in the caller's order, where
    /// the last [`Density::run`](super::Density::run) with
    /// [`Arrangement::Caller`](super::Arrangement::Caller) saw it, from maps Ex
    /// and Ey, `[nx][ny]`, in bin widths.
    ///
    /// # Errors
    /// When the bodies were never ordered or are not those it was made for, an
    /// array has the wrong length or is another [`Gpu`]'s, or a launch fails.
    pub fn run(
        &mut self,
        bodies: &Bodies<T>,
        field: (&DeviceVec<T>, &DeviceVec<T>),
        forces: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        let as_it_is = GradientOptions::default().layout(Layout::Pairs).weight(1.0);
        self.run_gradient(bodies, None, field, &as_it_is, None, forces)
    }

    /// As [`Force::run`], at lower-left corners in slot order where they are given, times the weight of `options`, and times the number at `factor` on the
    /// device where there is one, in an array laid out as `options` has it; written, or added to what
    /// is there.
    ///
    /// # Errors
    /// As [`Force::run`], and when there is not one factor, or pairs do not begin where one can be
    /// read at once.
    pub fn run_gradient<'a>(
        &mut self,
        bodies: &Bodies<T>,
        corners: Option<&DeviceVec<T>>,
        field: (&DeviceVec<T>, &DeviceVec<T>),
        options: &GradientOptions,
        factor: Option<DeviceSlice<'_, T>>,
        gradient: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<(), CudaError> {
        const NO_FACTOR: u64 = 0;
        let gradient = gradient.into();
        let corners = corners.unwrap_or(&bodies.staged);
        bodies.check_corners(corners)?;
        self.check(bodies, field, &gradient.as_view())?;
        Bodies::<T>::check_layout("forces", options.layout, *gradient.address())?;
        // Before anything is enqueued.
        self.gpu.check_own(gradient.gpu())?;
        if let Some(factor) = factor {
            self.gpu.check_own(factor.gpu())?;
            check_length("factor of the gradient", factor.len(), 1)?;
        }
        if bodies.is_empty() {
            return Ok(()); // the kernel reads a force even for threads without a body
        }
        let slot_of = bodies.slot_of()?.indices();
        self.gather(bodies, corners, field, &self.in_slots)?;
        let kernel = match options.layout {
            Layout::Pairs => &self.pairs,
            Layout::Halves => &self.halves,
        };
        let of_region = options.region_weights.first().unwrap_or(&1.0);
        let (weight, add) = (T::of(options.weight * of_region), i32::from(options.accumulate));
        let mut launch = Launch::new(&self.gpu, kernel);
        launch.overlap(self.overlap);
        launch.arg(&bodies.plan).arg(&slot_of).arg(&self.in_slots).arg(&gradient).arg(&weight);
        match &factor {
            Some(factor) => launch.arg(factor),
            None => launch.arg(&NO_FACTOR),
        };
        launch.arg(&add);
        // SAFETY: arguments are those of force_pairs and force_halves; arrays hold one value or two
        // per body, the factor is one. Before it waits the kernel reads slots, the factor and the
        // gradient, which the one before it does not write.
        unsafe { launch.launch(blocks_for(bodies.len().div_ceil(RETURN_EACH))) }
    }

    /// As [`Force::run`], for lower-left corners in slot order; forces come in
    /// slot order too.
    ///
    /// # Errors
    /// As [`Force::run`].
    pub fn run_slots(
        &self,
        bodies: &Bodies<T>,
        corners: &DeviceVec<T>,
        field: (&DeviceVec<T>, &DeviceVec<T>),
        forces: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        bodies.check_corners(corners)?;
        self.check(bodies, field, &forces.as_view())?;
        self.gather(bodies, corners, field, forces)
    }

    /// Launches the gathering kernel; lengths have been checked.
    fn gather(
        &self,
        bodies: &Bodies<T>,
        corners: &DeviceVec<T>,
        (ex, ey): (&DeviceVec<T>, &DeviceVec<T>),
        forces: &DeviceVec<T>,
    ) -> Result<(), CudaError> {
        // SAFETY: arguments are those of force_slots; chunks and slots come from an
        // order of these bodies, corners and forces hold a pair per body, the maps
        // one value per bin.
        unsafe {
            Launch::new(&self.gpu, &self.slots)
                .arg(&bodies.plan)
                .arg(&bodies.chunks)
                .arg(&bodies.large)
                .arg(&bodies.records)
                .arg(corners)
                .arg(ex)
                .arg(ey)
                .arg(forces)
                // A pair per bin of the patch.
                .launch(bodies.config(bodies.plan.large, 2 * size_of::<T>() / 4))
        }
    }

    fn check(
        &self,
        bodies: &Bodies<T>,
        (ex, ey): (&DeviceVec<T>, &DeviceVec<T>),
        forces: &DeviceSlice<'_, T>,
    ) -> Result<(), CudaError> {
        bodies.check_own("a force", self.bodies)?;
        bodies.check_ordered()?;
        check_length("field along x", ex.len(), bodies.grid().bins())?;
        check_length("field along y", ey.len(), bodies.grid().bins())?;
        check_length("forces", forces.len(), 2 * bodies.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::device::kernel_constant;

    #[test]
    fn a_thread_takes_as_many_bodies_as_in_the_kernels() {
        assert_eq!(kernel_constant("force", "RETURN_EACH"), RETURN_EACH.to_string());
    }
}
