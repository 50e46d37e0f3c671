//! The floating-point types that a device computes with.

use super::input::Input;
use super::value::DeviceValue;
use crate::real::Real;
use num_complex::Complex;

/// `f32` or `f64` on a device. Sealed, because the type chooses kernels.
pub trait CudaReal: Real + DeviceValue + Input<Self> {
    /// A complex number: real part, then imaginary part.
    type Complex: DeviceValue;
    /// An unsigned integer of the same width.
    type Word: DeviceValue + From<u32>;

    /// Rounds a complex number held in `f64`.
    fn complex(re: f64, im: f64) -> Self::Complex;
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
