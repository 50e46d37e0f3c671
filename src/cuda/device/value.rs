//! Types of values in device memory.

use num_complex::Complex;

mod sealed {
    pub trait Sealed {}
}
pub(super) use sealed::Sealed;

/// A type whose values lie in device memory: numbers, complex numbers as real and imaginary part,
/// and structures of them that are private to the crate. Sealed, because kernels and copies rely on
/// every bit pattern being a valid value.
///
/// ```compile_fail
/// #[derive(Clone, Copy)]
/// struct Pointer(&'static u8);
/// impl placefield::cuda::DeviceValue for Pointer {}
/// ```
pub trait DeviceValue: sealed::Sealed + Copy + Send + Sync + 'static {}

macro_rules! device_values {
    ($($value:ty),*) => {
        $(impl Sealed for $value {}
        impl DeviceValue for $value {})*
    };
}
device_values!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, Complex<f32>, Complex<f64>);
