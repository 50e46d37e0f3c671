//! Requirements on a floating-point type to compute with it on a device.

use super::input::Input;
use super::value::DeviceValue;
use crate::real::Real;
use num_complex::Complex;

/// `f32` or `f64` on a device. Sealed: it chooses kernels.
pub trait CudaReal: Real + DeviceValue + Input<Self> {
    /// A complex number: real part, imaginary part.
    type Complex: DeviceValue;
    /// An unsigned integer as wide as it.
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
