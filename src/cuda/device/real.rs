//! Requirements on a floating-point type to compute with it on a device.

use super::input::Input;
use super::value::DeviceValue;
use crate::real::Real;
use num_complex::Complex;

/// `f32` or `f64` on a device. Sealed: it chooses kernels.
pub trait CudaReal: Real + DeviceValue + Input<Self> + private::Cufft<Self::Complex> {
    /// A complex number: real part, imaginary part.
    type Complex: DeviceValue;
    /// An unsigned integer as wide as it.
    type Word: DeviceValue + From<u32>;

    /// Rounds a complex number held in `f64`.
    fn complex(re: f64, im: f64) -> Self::Complex;
}

pub(in crate::cuda) mod private {
    use cudarc::cufft::result::{self, CufftError};
    use cudarc::cufft::sys::{cufftHandle, cufftType};
    use num_complex::Complex;

    /// Names of a type for cuFFT, and its transforms of it.
    pub trait Cufft<C> {
        /// cuFFT's type of a real-to-complex transform.
        const FORWARD: cufftType;
        /// cuFFT's type of a complex-to-real transform.
        const INVERSE: cufftType;
        /// cuFFT's type of a complex-to-complex transform.
        const COMPLEX: cufftType;

        /// Enqueues a real-to-complex transform.
        ///
        /// # Safety
        /// `plan` is a live plan of type [`Cufft::FORWARD`], its context is
        /// current, and both pointers are device memory of the lengths it was made for.
        unsafe fn run_forward(
            plan: cufftHandle,
            input: *mut Self,
            output: *mut C,
        ) -> Result<(), CufftError>;

        /// Enqueues a complex-to-real transform, which overwrites its input.
        ///
        /// # Safety
        /// See [`Cufft::run_forward`], with a plan of type [`Cufft::INVERSE`].
        unsafe fn run_inverse(
            plan: cufftHandle,
            input: *mut C,
            output: *mut Self,
        ) -> Result<(), CufftError>;

        /// Enqueues a complex-to-complex transform in place, forward or inverse.
        ///
        /// # Safety
        /// See [`Cufft::run_forward`], with a plan of type [`Cufft::COMPLEX`].
        unsafe fn run_complex(
            plan: cufftHandle,
            values: *mut C,
            forward: bool,
        ) -> Result<(), CufftError>;
    }

    macro_rules! cufft {
        ($real:ty, $forward:ident $exec_forward:ident,
         $inverse:ident $exec_inverse:ident, $complex:ident $exec_complex:ident) => {
            impl Cufft<Complex<$real>> for $real {
                const FORWARD: cufftType = cufftType::$forward;
                const INVERSE: cufftType = cufftType::$inverse;
                const COMPLEX: cufftType = cufftType::$complex;

                unsafe fn run_forward(
                    plan: cufftHandle,
                    input: *mut $real,
                    output: *mut Complex<$real>,
                ) -> Result<(), CufftError> {
                    // SAFETY: the caller's promise is cuFFT's; its complex numbers
                    // are two reals in C order, as `Complex` is.
                    unsafe { result::$exec_forward(plan, input, output.cast()) }
                }
                unsafe fn run_inverse(
                    plan: cufftHandle,
                    input: *mut Complex<$real>,
                    output: *mut $real,
                ) -> Result<(), CufftError> {
                    // SAFETY: as above.
                    unsafe { result::$exec_inverse(plan, input.cast(), output) }
                }
                unsafe fn run_complex(
                    plan: cufftHandle,
                    values: *mut Complex<$real>,
                    forward: bool,
                ) -> Result<(), CufftError> {
                    // cuFFT's CUFFT_FORWARD and CUFFT_INVERSE.
                    let direction = if forward { -1 } else { 1 };
                    let values = values.cast();
                    // SAFETY: as above.
                    unsafe { result::$exec_complex(plan, values, values, direction) }
                }
            }
        };
    }
    cufft!(f32, CUFFT_R2C exec_r2c, CUFFT_C2R exec_c2r, CUFFT_C2C exec_c2c);
    cufft!(f64, CUFFT_D2Z exec_d2z, CUFFT_Z2D exec_z2d, CUFFT_Z2Z exec_z2z);
}

impl CudaReal for f32 {
    type Complex = Complex<f32>;
    type Word = u32;
    fn complex(re: f64, im: f64) -> Complex<f32> {
        Complex::new(re as f32, im as f32)
    }
}

impl CudaReal for f64 {
    type Complex = Complex<f64>;
    type Word = u64;
    fn complex(re: f64, im: f64) -> Complex<f64> {
        Complex::new(re, im)
    }
}
