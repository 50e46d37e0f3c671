//! Arguments that the descent's kernels take by value: `kernels/place/descent.cu`.

use crate::cuda::bodies::Addresses;
use crate::cuda::device::{CudaReal, DeviceVec, KernelArgument};
use cudarc::driver::sys::CUdeviceptr;

/// `Vector` in `kernels/place/descent.cu`.
pub(super) type Pair = [CUdeviceptr; 2];

/// `Vectors` in `kernels/place/descent.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Vectors {
    pub(super) v: [Pair; 3],
    pub(super) u: [Pair; 2],
    pub(super) g: [Pair; 2],
}

// SAFETY: addresses in C order, as the kernels declare them.
unsafe impl KernelArgument for Vectors {}

/// `Vector` as an argument of its own.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(super) struct Vector(pub(super) Pair);

// SAFETY: as above.
unsafe impl KernelArgument for Vector {}

/// `Bodies` in `kernels/place/descent.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Constants<T> {
    pub(super) high: Pair,
    pub(super) area: CUdeviceptr,
    pub(super) pin_weight: CUdeviceptr,
    pub(super) low: [T; 2],
    pub(super) uniform: u32,
}

// SAFETY: addresses and plain numbers in C order, as the kernels declare them.
unsafe impl<T: CudaReal> KernelArgument for Constants<T> {}

/// Results of an evaluation on every rank: `RankReports` in `kernels/place/descent.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct RankReports {
    statistics: Addresses,
    missing: Addresses,
    ranks: u32,
    unused: u32,
}

// SAFETY: as above.
unsafe impl KernelArgument for RankReports {}

impl RankReports {
    /// Three statistics of the density each, and the word in which each of several ranks says whom
    /// it has waited for in vain.
    pub(super) fn of<'a>(
        statistics: impl ExactSizeIterator<Item = &'a DeviceVec<u64>>,
        missing: Addresses,
    ) -> Self {
        let ranks = statistics.len() as u32;
        RankReports { statistics: Addresses::of(statistics), missing, ranks, unused: 0 }
    }
}

pub(super) fn pair<T: CudaReal>([x, y]: &[DeviceVec<T>; 2]) -> Pair {
    [*x.address(), *y.address()]
}
