//! Types that a transform on a device can read.

use super::value::DeviceValue;
use crate::transform::InputElement;

/// A type that a transform in precision `T` takes its input in: `T` itself, or an integer of up to
/// 32 bits. The first kernel converts integers as it reads, because cuFFT has no integers (Jiang et
/// al., "Settings"). An integer of more digits than `T` has is rounded. Sealed like
/// [`DeviceValue`], because the type chooses kernels.
pub trait Input<T>: DeviceValue + InputElement {
    #[doc(hidden)]
    /// The type's name in the kernels. Kernels that read the type are compiled with it
    /// (`kernels/fft/inputs.cuh`).
    const TYPE: &'static str;
}

impl Input<f32> for f32 {
    const TYPE: &'static str = "real";
}
impl Input<f64> for f64 {
    const TYPE: &'static str = "real";
}

macro_rules! integers {
    ($($integer:ident),*) => {
        $(impl<T> Input<T> for $integer {
            const TYPE: &'static str = stringify!($integer);
        })*
    };
}
integers!(u8, i8, u16, i16, u32, i32);
