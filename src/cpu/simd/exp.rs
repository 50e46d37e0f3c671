//! Exponentials that LLVM vectorises: no branch, no table, no call.
//!
//! With n = x/ln 2 rounded and r = x − n·ln 2, |r| ≤ ½ln 2, exp x = 2ⁿ·exp r, and exp r is its
//! Taylor polynomial: of degree 7 in `f32`, whose remainder is below 6·10⁻⁹, and of degree 13 in
//! `f64`, below 5·10⁻¹⁸. Including rounding the relative error is at most 2 ulp.

/// Numbers with such an exponential.
pub trait Exp: Copy {
    /// Returns exp of a number that is not above zero; of one so low that the result would be
    /// subnormal, zero. NaN gives NaN.
    fn exp_of_non_positive(self) -> Self;
}

macro_rules! exp {
    ($number:ident, bias: $bias:literal, mantissa: $mantissa:literal, least: $least:literal,
     ln_2: $high:literal + $low:literal, $($coefficient:expr),+) => {
        impl Exp for $number {
            #[inline(always)]
            fn exp_of_non_positive(self) -> Self {
                // Adding this rounds to an integer and leaves it in the lowest bits.
                const INTEGERS: $number = 1.5 / $number::EPSILON;
                let x = if self < $least { $least } else { self };
                let shifted = x * std::$number::consts::LOG2_E + INTEGERS;
                let n = shifted - INTEGERS;
                let r = (x - n * $high) - n * $low;
                let mut sum = 0.0;
                $(sum = sum * r + $coefficient;)+
                let power = $number::from_bits(shifted.to_bits().wrapping_add($bias) << $mantissa);
                if self < $least { 0.0 } else { sum * power }
            }
        }
    };
}

exp!(
    f32, bias: 127, mantissa: 23, least: -87.0, ln_2: 0.693_359_4 + -2.121_944_4e-4,
    1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0
);
exp!(
    f64, bias: 1023, mantissa: 52, least: -708.0,
    ln_2: 6.931_471_803_691_238e-1 + 1.908_214_929_270_587_7e-10,
    1.0 / 6_227_020_800.0, 1.0 / 479_001_600.0, 1.0 / 39_916_800.0, 1.0 / 3_628_800.0,
    1.0 / 362_880.0, 1.0 / 40_320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0,
    1.0 / 6.0, 0.5, 1.0, 1.0
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_within_two_ulp() {
        let count = if cfg!(miri) { 100 } else { 200_000 };
        let (mut single, mut double) = (0.0_f64, 0.0_f64);
        for k in 0..=count {
            let x = -87.0 * f64::from(k) / f64::from(count);
            let want = f64::from(x as f32).exp();
            single = single.max((f64::from((x as f32).exp_of_non_positive()) / want - 1.0).abs());
            let x = 8.0 * x;
            double = double.max((x.exp_of_non_positive() / x.exp() - 1.0).abs());
        }
        assert!(single <= f64::from(2.0 * f32::EPSILON), "{single:e}");
        assert!(double <= 2.0 * f64::EPSILON, "{double:e}");
    }

    #[test]
    fn ends_are_exact() {
        assert_eq!((0.0_f32.exp_of_non_positive(), 0.0_f64.exp_of_non_positive()), (1.0, 1.0));
        for low in [-1e30, f64::NEG_INFINITY] {
            assert_eq!((low as f32).exp_of_non_positive(), 0.0);
            assert_eq!(low.exp_of_non_positive(), 0.0);
        }
        assert!(f32::NAN.exp_of_non_positive().is_nan() && f64::NAN.exp_of_non_positive().is_nan());
    }
}
