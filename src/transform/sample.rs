//! What a transform's input may hold.

/// A number that transforms take and convert as they read it: the two
/// floating-point types, and integers, which no FFT takes as they are (Jiang,
/// Gu and Pan, §IV-A).
///
/// Integers of up to 32 bits are rounded once, to the transform's own type.
pub trait Sample: Copy + Send + Sync + 'static {
    /// The value, exactly.
    fn to_f64(self) -> f64;
}

macro_rules! samples {
    ($($t:ty),*) => {
        $(impl Sample for $t {
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        })*
    };
}

samples!(f32, f64, i8, i16, i32, u8, u16, u32);
