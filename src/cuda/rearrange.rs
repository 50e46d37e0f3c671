//! Values of bodies from one order to another, and pairs from two arrays.

use super::bodies::{Bodies, blocks_for};
use super::error::CudaError;
use super::launch::{address, address_mut, check_length};
use super::real::CudaReal;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{
    CudaFunction, CudaModule, CudaSlice, CudaView, DevicePtr, DevicePtrMut, PushKernelArg,
};
use std::sync::Arc;

/// Kernels of `kernels/order.cu` that only move values.
pub(super) struct Moves {
    shift: CudaFunction,
    shift_pairs: CudaFunction,
    join: CudaFunction,
    split: CudaFunction,
}

impl Moves {
    pub(super) fn new(order: &Arc<CudaModule>) -> Result<Self, CudaError> {
        let load = |name: &str| order.load_function(name);
        Ok(Moves {
            shift: load("order_move")?,
            shift_pairs: load("order_move_pairs")?,
            join: load("order_join")?,
            split: load("order_split")?,
        })
    }
}

impl<T: CudaReal> Bodies<T> {
    /// Enqueues `moved[k] = values[from[k]]` for every body.
    ///
    /// # Errors
    /// When an array has not one value per body, or the launch fails.
    pub fn rearrange(
        &self,
        from: &impl DevicePtr<u32>,
        values: &CudaSlice<T>,
        moved: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        self.shift(&self.moves.shift, 1, from, values, moved)
    }

    /// As [`Bodies::rearrange`] for pairs: two values per body, side by side, as
    /// positions and forces are.
    ///
    /// # Errors
    /// As [`Bodies::rearrange`].
    pub fn rearrange_pairs(
        &self,
        from: &impl DevicePtr<u32>,
        pairs: &CudaSlice<T>,
        moved: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        self.shift(&self.moves.shift_pairs, 2, from, pairs, moved)
    }

    fn shift(
        &self,
        kernel: &CudaFunction,
        values_per_body: usize,
        from: &impl DevicePtr<u32>,
        values: &CudaSlice<T>,
        moved: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        check_length("values to move", values.len(), values_per_body * self.room())?;
        check_length("moved values", moved.len(), values_per_body * self.room())?;
        let arrays = [address(&self.gpu, values), address_mut(&self.gpu, moved)];
        self.launch(kernel, Some(from), arrays)
    }

    /// Enqueues `pairs[k] = (x[f], y[f])` for every body, where f is `from[k]`
    /// or, without `from`, k.
    ///
    /// # Errors
    /// When an array has the wrong length, or the launch fails.
    pub fn join(
        &self,
        from: Option<&CudaView<'_, u32>>,
        (x, y): (&impl DevicePtr<T>, &impl DevicePtr<T>),
        pairs: &mut CudaSlice<T>,
    ) -> Result<(), CudaError> {
        check_length("x of bodies", x.len(), self.room())?;
        check_length("y of bodies", y.len(), self.room())?;
        check_length("pairs", pairs.len(), 2 * self.room())?;
        let arrays = [address(&self.gpu, x), address(&self.gpu, y)];
        let pairs = address_mut(&self.gpu, pairs);
        self.launch(&self.moves.join, from, [arrays[0], arrays[1], pairs])
    }

    /// Enqueues `(x[k], y[k]) = pairs[f]` for every body, f as in [`Bodies::join`].
    ///
    /// # Errors
    /// As [`Bodies::join`].
    pub fn split(
        &self,
        from: Option<&CudaView<'_, u32>>,
        pairs: &CudaSlice<T>,
        (x, y): (&mut impl DevicePtrMut<T>, &mut impl DevicePtrMut<T>),
    ) -> Result<(), CudaError> {
        check_length("pairs", pairs.len(), 2 * self.room())?;
        check_length("x of bodies", x.len(), self.room())?;
        check_length("y of bodies", y.len(), self.room())?;
        let pairs = address(&self.gpu, pairs);
        let arrays = [address_mut(&self.gpu, x), address_mut(&self.gpu, y)];
        self.launch(&self.moves.split, from, [pairs, arrays[0], arrays[1]])
    }

    fn launch<const N: usize>(
        &self,
        kernel: &CudaFunction,
        from: Option<&impl DevicePtr<u32>>,
        arrays: [CUdeviceptr; N],
    ) -> Result<(), CudaError> {
        if let Some(from) = from {
            check_length("places before", from.len(), self.room())?;
        }
        let from: CUdeviceptr = from.map_or(0, |from| address(&self.gpu, from));
        let count = self.len() as u32;
        let mut builder = self.gpu.stream().launch_builder(kernel);
        builder.arg(&count).arg(&from);
        for array in &arrays {
            builder.arg(array);
        }
        // SAFETY: arguments are those of order_move, order_move_pairs, order_join and
        // order_split, addresses those of arrays whose lengths the callers have
        // checked. A `from` of other indices than those of bodies would read beyond
        // them: it comes from `order_slots` or from this type's own maps.
        unsafe { builder.launch(blocks_for(self.len())) }?;
        Ok(())
    }
}
