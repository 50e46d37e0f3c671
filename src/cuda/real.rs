//! What a floating-point type needs to be computed with on a device.

use super::input::Input;
use crate::real::Real;
use cudarc::cufft::result::{self, CufftError};
use cudarc::cufft::sys::{cufftHandle, cufftType, double2, float2};
use cudarc::driver::{DeviceRepr, ValidAsZeroBits};

/// `f32` or `f64` on a device.
pub trait CudaReal: Real + DeviceRepr + ValidAsZeroBits + Input<Self> {
    /// A complex number as cuFFT lays it out.
    type Complex: DeviceRepr + ValidAsZeroBits + Copy + Send + Sync + 'static;
    /// The type's name in CUDA C++.
    const C_NAME: &'static str;
    /// cuFFT's type of a real-to-complex transform.
    const FORWARD: cufftType;
    /// cuFFT's type of a complex-to-real transform.
    const INVERSE: cufftType;

    /// Rounds a complex number held in `f64`.
    fn complex(re: f64, im: f64) -> Self::Complex;

    /// Enqueues a real-to-complex transform.
    ///
    /// # Safety
    /// `plan` is a live plan of type [`CudaReal::FORWARD`], its context is
    /// current, and both pointers are device memory of the lengths it was made for.
    unsafe fn run_forward(
        plan: cufftHandle,
        input: *mut Self,
        output: *mut Self::Complex,
    ) -> Result<(), CufftError>;

    /// Enqueues a complex-to-real transform, which overwrites its input.
    ///
    /// # Safety
    /// As [`CudaReal::run_forward`], with a plan of type [`CudaReal::INVERSE`].
    unsafe fn run_inverse(
        plan: cufftHandle,
        input: *mut Self::Complex,
        output: *mut Self,
    ) -> Result<(), CufftError>;
}

impl CudaReal for f32 {
    type Complex = float2;
    const C_NAME: &'static str = "float";
    const FORWARD: cufftType = cufftType::CUFFT_R2C;
    const INVERSE: cufftType = cufftType::CUFFT_C2R;

    fn complex(re: f64, im: f64) -> float2 {
        float2 { x: re as f32, y: im as f32 }
    }
    unsafe fn run_forward(
        plan: cufftHandle,
        input: *mut f32,
        output: *mut float2,
    ) -> Result<(), CufftError> {
        // SAFETY: the caller's promise is cuFFT's.
        unsafe { result::exec_r2c(plan, input, output) }
    }
    unsafe fn run_inverse(
        plan: cufftHandle,
        input: *mut float2,
        output: *mut f32,
    ) -> Result<(), CufftError> {
        // SAFETY: the caller's promise is cuFFT's.
        unsafe { result::exec_c2r(plan, input, output) }
    }
}

impl CudaReal for f64 {
    type Complex = double2;
    const C_NAME: &'static str = "double";
    const FORWARD: cufftType = cufftType::CUFFT_D2Z;
    const INVERSE: cufftType = cufftType::CUFFT_Z2D;

    fn complex(re: f64, im: f64) -> double2 {
        double2 { x: re, y: im }
    }
    unsafe fn run_forward(
        plan: cufftHandle,
        input: *mut f64,
        output: *mut double2,
    ) -> Result<(), CufftError> {
        // SAFETY: the caller's promise is cuFFT's.
        unsafe { result::exec_d2z(plan, input, output) }
    }
    unsafe fn run_inverse(
        plan: cufftHandle,
        input: *mut double2,
        output: *mut f64,
    ) -> Result<(), CufftError> {
        // SAFETY: the caller's promise is cuFFT's.
        unsafe { result::exec_z2d(plan, input, output) }
    }
}
