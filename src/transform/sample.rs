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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_keeps_its_value() {
        let extremes = [
            (i8::MIN.to_f64(), -128.0),
            (u8::MAX.to_f64(), 255.0),
            (i16::MIN.to_f64(), -32_768.0),
            (u16::MAX.to_f64(), 65_535.0),
            (i32::MIN.to_f64(), -2_147_483_648.0),
            (u32::MAX.to_f64(), 4_294_967_295.0),
            (0.5_f32.to_f64(), 0.5),
            (0.1_f64.to_f64(), 0.1),
        ];
        assert!(extremes.iter().all(|(got, want)| got == want));
    }
}
