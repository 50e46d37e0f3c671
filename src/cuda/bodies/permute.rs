//! Values of bodies from one order to another, and pairs from two arrays.

use crate::cuda::device::bindings::bodies::{OrderDeinterleave, OrderInterleave, OrderMove};
use crate::cuda::device::{CudaError, CudaReal, DeviceSlice, DeviceVec, Kernel, blocks_for};
use cudarc::driver::CudaModule;
use std::sync::Arc;

/// Which body's value goes where when values are rearranged: one index per body, each below their
/// number. Only [`Bodies`](super::Bodies) write one; none is made of indices from elsewhere:
///
/// ```compile_fail
/// # use placefield::cuda::{DeviceVec, Permutation};
/// fn of_any_indices(from: DeviceVec<u32>) -> Permutation {
///     Permutation { bodies: 0, from }
/// }
/// ```
#[derive(Debug)]
pub struct Permutation {
    /// [`Bodies`](super::Bodies)' own number.
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
    /// Of so many bodies.
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
