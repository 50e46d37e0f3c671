//! Conversion of bodies' values between orders, and of pairs from two arrays.

use crate::cuda::device::bindings::bodies::{OrderDeinterleave, OrderInterleave, OrderMove};
use crate::cuda::device::{CudaError, CudaReal, DeviceSlice, DeviceVec, Kernel, blocks_for};
use cudarc::driver::CudaModule;
use std::sync::Arc;

/// The body whose value goes to each position in a rearrangement: one index per body, each below
/// the number of bodies. Only [`Bodies`](super::Bodies) write one; it cannot be made of other
/// indices:
///
/// ```compile_fail
/// # use placefield::cuda::{DeviceVec, Permutation};
/// fn of_any_indices(from: DeviceVec<u32>) -> Permutation {
///     Permutation { bodies: 0, from }
/// }
/// ```
#[derive(Debug)]
pub struct Permutation {
    /// [`Bodies`](super::Bodies)' unique id.
    pub(super) bodies: u64,
    pub(super) from: DeviceVec<u32>,
}

/// A [`Permutation`], to be read.
#[derive(Clone, Copy)]
pub struct PermutationView<'a> {
    pub(super) bodies: u64,
    pub(super) from: DeviceSlice<'a, u32>,
}

impl<'a> PermutationView<'a> {
    /// Returns the indices.
    pub fn indices(&self) -> DeviceSlice<'a, u32> {
        self.from
    }
}

impl<'a> From<&'a Permutation> for PermutationView<'a> {
    fn from(permutation: &'a Permutation) -> Self {
        PermutationView { bodies: permutation.bodies, from: permutation.from.as_view() }
    }
}

/// Kernels that only move values.
pub(super) struct Moves<T: CudaReal> {
    pub(super) single: Kernel<OrderMove<T>>,
    pub(super) pairs: Kernel<OrderMove<T>>,
    pub(super) interleave: Kernel<OrderInterleave<T>>,
    pub(super) deinterleave: Kernel<OrderDeinterleave<T>>,
}

impl<T: CudaReal> Moves<T> {
    /// Returns the kernels for this number of bodies.
    pub(super) fn new(order: &Arc<CudaModule>, bodies: usize) -> Result<Self, CudaError> {
        let config = blocks_for(bodies);
        Ok(Moves {
            single: Kernel::new(order)?.with(config),
            pairs: Kernel::named(order, "order_move_pairs")?.with(config),
            interleave: Kernel::new(order)?.with(config),
            deinterleave: Kernel::new(order)?.with(config),
        })
    }
}
