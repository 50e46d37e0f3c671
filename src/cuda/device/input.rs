//! What a transform on a device can read.

use super::value::DeviceValue;
use crate::transform::Sample;

/// A type that a transform in precision `T` takes its input in: `T` itself, and
/// integers of up to 32 bits, which the first kernel converts as it reads, for
/// cuFFT has no integers (Jiang et al., "Settings"). An integer of more digits
/// than `T` has is rounded. Sealed, as [`DeviceValue`] is: it chooses kernels.
pub trait Input<T>: DeviceValue + Sample {
    #[doc(hidden)]
    /// What the names of the kernels that read it end in (`kernels/fft/inputs.cuh`).
    const SUFFIX: &'static str;
    #[doc(hidden)]
    /// Its number among the integers there, for kernels that take any of them;
    /// none for `T` itself.
    const INTEGER: Option<i32>;
}

impl Input<f32> for f32 {
    const SUFFIX: &'static str = "";
    const INTEGER: Option<i32> = None;
}
impl Input<f64> for f64 {
    const SUFFIX: &'static str = "";
    const INTEGER: Option<i32> = None;
}

macro_rules! integers {
    ($($integer:ident $suffix:literal $number:literal),*) => {
        $(impl<T> Input<T> for $integer {
            const SUFFIX: &'static str = $suffix;
            const INTEGER: Option<i32> = Some($number);
        })*
    };
}
integers!(u8 "_u8" 0, i8 "_i8" 1, u16 "_u16" 2, i16 "_i16" 3, u32 "_u32" 4, i32 "_i32" 5);
