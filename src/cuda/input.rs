//! What a transform on a device can read.

use crate::transform::Sample;
use cudarc::driver::DeviceRepr;

/// A type that a transform in precision `T` takes its input in: `T` itself, and
/// integers of up to 32 bits, which the first kernel converts as it reads, for
/// cuFFT has no integers (Jiang et al., "Settings"). An integer of more digits
/// than `T` has is rounded.
pub trait Input<T>: DeviceRepr + Sample {
    /// What the names of the kernels that read it end in (`kernels/inputs.cuh`).
    const SUFFIX: &'static str;
}

impl Input<f32> for f32 {
    const SUFFIX: &'static str = "";
}
impl Input<f64> for f64 {
    const SUFFIX: &'static str = "";
}

macro_rules! integers {
    ($($integer:ident $suffix:literal),*) => {
        $(impl<T> Input<T> for $integer {
            const SUFFIX: &'static str = $suffix;
        })*
    };
}
integers!(u8 "_u8", i8 "_i8", u16 "_u16", i16 "_i16", u32 "_u32", i32 "_i32");
