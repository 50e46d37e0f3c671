//! Types that a transform on a device can read.

use super::value::DeviceValue;
use crate::transform::InputElement;

/// A type that a transform in precision `T` takes its input in: `T` itself, and
/// integers of up to 32 bits, which the first kernel converts as it reads, for
/// cuFFT has no integers (Jiang et al., "Settings"). An integer of more digits
/// than `T` has is rounded. Sealed, as [`DeviceValue`] is: it chooses kernels.
pub trait Input<T>: DeviceValue + InputElement {
    #[doc(hidden)]
    /// Its name in the kernels, with which those that read it are compiled
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
