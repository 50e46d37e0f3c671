//! The number types of engines and transforms.

use serde::{Deserialize, Serialize};
use std::any::TypeId;
use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// Traits that only this crate implements, and those that its own arithmetic needs.
mod sealed {
    use crate::cpu::simd::{Exp, Vectors};
    use num_traits::{Float, FloatConst, NumAssign};

    /// A type that transforms read.
    pub trait Sealed: bytemuck::Pod + Send + Sync {}

    /// A type that is computed in.
    pub trait Number:
        rustfft::FftNum + Float + FloatConst + NumAssign + bytemuck::Pod + Vectors + Exp
    {
    }
}

/// `f32` or `f64`: the type maps, positions and forces are held in.
///
/// Tables (twiddles, wavenumbers) are always computed in `f64` and rounded
/// once with [`Real::cast`]. The trait is sealed: no other type can implement it.
pub trait Real:
    sealed::Number
    + InputElement
    + Default
    + Debug
    + Display
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Sum
{
    /// The run-time name of this type.
    const PRECISION: Precision;

    /// Rounds an `f64` to this type, as the operator `as` does.
    fn cast(value: f64) -> Self;

    /// Widens to `f64`, exactly.
    fn widen(self) -> f64;
}

/// A number that transforms take and convert as they read it: the two
/// floating-point types, and integers, which no FFT takes as they are (Jiang,
/// Gu and Pan, §IV-A).
///
/// Integers of up to 32 bits are rounded once, to the transform's own type.
/// The trait is sealed: no other type can implement it.
pub trait InputElement: sealed::Sealed {
    /// Returns the value, exactly.
    fn to_f64(self) -> f64;
}

/// Runs `$body` with `$t` standing for the precision's type.
#[cfg(feature = "cli")]
macro_rules! with_precision {
    ($precision:expr, $t:ident => $body:expr) => {
        match $precision {
            crate::Precision::F32 => {
                type $t = f32;
                $body
            }
            crate::Precision::F64 => {
                type $t = f64;
                $body
            }
        }
    };
}
#[cfg(feature = "cli")]
pub(crate) use with_precision;

macro_rules! samples {
    ($($t:ty),*) => {
        $(impl sealed::Sealed for $t {}
        impl InputElement for $t {
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        })*
    };
}

samples!(f32, f64, i8, i16, i32, u8, u16, u32);

impl sealed::Number for f32 {}
impl sealed::Number for f64 {}

impl Real for f32 {
    const PRECISION: Precision = Precision::F32;
    #[inline(always)]
    fn cast(value: f64) -> Self {
        value as f32
    }
    #[inline(always)]
    fn widen(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    const PRECISION: Precision = Precision::F64;
    #[inline(always)]
    fn cast(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn widen(self) -> f64 {
        self
    }
}

/// Floating-point precision, as named on the command line and in reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// IEEE 754 single precision.
    #[default]
    F32,
    /// IEEE 754 double precision.
    F64,
}

impl Precision {
    /// Returns `"f32"` or `"f64"`.
    pub fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::F64 => "f64",
        }
    }
}

impl std::fmt::Display for Precision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the numbers themselves if they are of type `T`.
pub(crate) fn in_type<S: InputElement, T: Real>(x: &[S]) -> Option<&[T]> {
    (TypeId::of::<S>() == TypeId::of::<T>()).then(|| bytemuck::cast_slice(x))
}

/// Sorts numbered values, the largest first, equal ones by number.
pub(crate) fn largest_first(values: &mut [(f64, usize)]) {
    values.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
}

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
