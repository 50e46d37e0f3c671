//! The twiddles that a line's FFT reads.

use super::shapes::Shape;
use crate::transform::twiddle::quarter_wave;
use num_complex::Complex;

/// Returns twiddles in the layout of `Stages` in `kernels/lines/block_fft.cuh`. For every stage
/// except the first, of radix X after stages of total length L, and every power of two p < X:
/// e^{-2πipm/(LX)} for m < L. Then e^{iπk/2n} for k up to the number of a line's threads.
pub(super) fn twiddles(shape: &Shape) -> Vec<Complex<f64>> {
    let Shape { n, elements, middle: [second, third], .. } = *shape;
    let end = elements / 2;
    let mut table = Vec::new();
    let mut length = end;
    for radix in [second, third, end] {
        let quarter = quarter_wave(length * radix);
        let powers = std::iter::successors(Some(1), |p| Some(2 * p)).take_while(|&p| p < radix);
        for power in powers {
            table.extend((0..length).map(|m| root(&quarter, power * m)));
        }
        length *= radix;
    }
    debug_assert_eq!(length, n);
    table.extend(quarter_wave(n)[..=shape.per_line()].iter().map(Complex::conj));
    table
}

/// Returns e^{-2πik/n} from `quarter`, which [`quarter_wave`] of n returns.
fn root(quarter: &[Complex<f64>], k: usize) -> Complex<f64> {
    let n = quarter.len() - 1;
    quarter[4 * k % n] * Complex::new(0.0, -1.0).powu((4 * k / n % 4) as u32)
}

#[cfg(test)]
mod tests {
    use super::super::shapes::{Limits, Role, choose};
    use super::*;

    #[test]
    fn roots_are_exact_at_quarter_turns() {
        for (k, want) in [(0, (1.0, 0.0)), (1, (0.0, -1.0)), (2, (-1.0, 0.0)), (3, (0.0, 1.0))] {
            for n in [4, 32] {
                let w = root(&quarter_wave(n), k * n / 4);
                assert_eq!((w.re, w.im), want);
            }
        }
        for n in [6, 64] {
            let quarter = quarter_wave(n);
            for k in 0..2 * n {
                let want = Complex::cis(-std::f64::consts::TAU * k as f64 / n as f64);
                assert!((root(&quarter, k) - want).norm() < 4e-15, "{k} of {n}");
            }
        }
    }

    #[test]
    fn a_table_holds_every_stage_and_a_quarter_wave() {
        let limits = Limits { shared: 227 << 10, threads: 2048 };
        let shape = choose(Role::Rows, 4, (2048, 1024), limits).unwrap();
        assert_eq!((shape.elements, shape.middle), (16, [8, 4]));
        let table = twiddles(&shape);
        // Powers 1, 2, 4 of 8 twiddles, 1 and 2 of 64, 1, 2 and 4 of 256; k = 0…128.
        let stages = 3 * 8 + 2 * 64 + 3 * 256;
        assert_eq!(table.len(), stages + 129);
        let angle = -std::f64::consts::TAU * 4.0 * 3.0 / 64.0;
        assert!((table[2 * 8 + 3].re - angle.cos()).abs() < 1e-15);
        assert!((table[2 * 8 + 3].im - angle.sin()).abs() < 1e-15);
        let angle = std::f64::consts::PI * 128.0 / 4096.0;
        assert!((table[stages + 128].im - angle.sin()).abs() < 1e-15);
    }
}
