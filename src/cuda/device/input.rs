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
    /// Its name in the kernels.
    const TYPE: &'static str;
}

impl Input<f32> for f32 {
    const SUFFIX: &'static str = "";
    const TYPE: &'static str = "real";
}
impl Input<f64> for f64 {
    const SUFFIX: &'static str = "";
    const TYPE: &'static str = "real";
}

macro_rules! integers {
    ($($integer:ident $suffix:literal $name:literal),*) => {
        $(impl<T> Input<T> for $integer {
            const SUFFIX: &'static str = $suffix;
            const TYPE: &'static str = $name;
        })*
    };
}
integers!(
    u8 "_u8" "u8",
    i8 "_i8" "signed char",
    u16 "_u16" "u16",
    i16 "_i16" "short",
    u32 "_u32" "u32",
    i32 "_i32" "int"
);
