//! Values of bodies from one order to another, and pairs from two arrays.

use crate::cuda::device::{
    CudaError, DeviceSlice, DeviceVec, Gpu, KernelArgument, Launch, blocks_for, function,
};
use cudarc::driver::{CudaFunction, CudaModule};
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

/// Kernels of `kernels/bodies/order.cu` that only move values.
pub(super) struct Moves {
    pub(super) single: CudaFunction,
    pub(super) pairs: CudaFunction,
    pub(super) join: CudaFunction,
    pub(super) split: CudaFunction,
}

impl Moves {
    pub(super) fn new(order: &Arc<CudaModule>) -> Result<Self, CudaError> {
        let load = |name: &str| function(order, name);
        Ok(Moves {
            single: load("order_move")?,
            pairs: load("order_move_pairs")?,
            join: load("order_join")?,
            split: load("order_split")?,
        })
    }
}

/// Launches one of them for `count` bodies.
///
/// # Safety
/// `arrays` are those that the kernel declares, of `count` bodies, and so is `from`, of indices
/// below `count`; what is written is borrowed by the caller alone.
pub(super) unsafe fn launch<'a, const N: usize>(
    gpu: &'a Gpu,
    kernel: &'a CudaFunction,
    count: &'a u32,
    from: Option<&'a DeviceSlice<'_, u32>>,
    arrays: [&'a dyn KernelArgument; N],
) -> Result<(), CudaError> {
    const NO_PERMUTATION: u64 = 0;
    let mut launch = Launch::new(gpu, kernel);
    launch.arg(count);
    match from {
        Some(from) => launch.arg(from),
        None => launch.arg(&NO_PERMUTATION),
    };
    for array in arrays {
        launch.arg(array);
    }
    // SAFETY: the caller's promise: order_move, order_move_pairs, order_join and
    // order_split take the number of bodies, the permutation or null, and arrays.
    unsafe { launch.launch(blocks_for(*count as usize)) }
}
