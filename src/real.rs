//! The two floating-point types every engine works in.

use crate::transform::Sample;
use num_traits::{Float, FloatConst, NumAssign};
use rustfft::FftNum;
use serde::{Deserialize, Serialize};
use std::iter::Sum;

/// `f32` or `f64`: the type maps, positions and forces are held in.
///
/// Tables (twiddles, wavenumbers) are always computed in `f64` and rounded
/// once with [`Real::of`].
pub trait Real: FftNum + Float + FloatConst + NumAssign + Default + Sum + Sample {
    /// The run-time name of this type.
    const PRECISION: Precision;

    /// Rounds an `f64` to this type.
    fn of(value: f64) -> Self;

    /// Widens to `f64`, exactly.
    fn wide(self) -> f64;
}

impl Real for f32 {
    const PRECISION: Precision = Precision::F32;
    #[inline(always)]
    fn of(value: f64) -> Self {
        value as f32
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    const PRECISION: Precision = Precision::F64;
    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
}

/// Floating-point precision, as named on the command line and in reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// IEEE 754 single precision.
    #[default]
    F32,
    /// IEEE 754 double precision.
    F64,
}

impl Precision {
    /// `"f32"` or `"f64"`.
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
