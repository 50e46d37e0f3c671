//! Tables of twiddle factors in device memory.

use crate::cuda::device::{CudaError, CudaReal, DeviceVec, Gpu};
use crate::transform::twiddle::quarter_wave;

/// e^{-jπk/2n} for k = 0…n, computed in `f64` and rounded once.
pub(in crate::cuda) fn twiddles<T: CudaReal>(
    gpu: &Gpu,
    n: usize,
) -> Result<DeviceVec<T::Complex>, CudaError> {
    let table: Vec<T::Complex> =
        quarter_wave(n).into_iter().map(|w| T::complex(w.re, w.im)).collect();
    gpu.upload(&table)
}
