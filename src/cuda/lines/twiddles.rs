//! The twiddles that a line's FFT reads.

use super::shapes::Shape;

/// As `Stages` of `kernels/lines/block_fft.cuh` has them: for every stage but the
/// first, of radix X after stages of total length L, and for every power of two p < X,
/// e^{-2πipm/(LX)} for m < L; then e^{iπk/2n} for k up to the number of a line's threads.
pub(super) fn twiddles(shape: &Shape) -> Vec<(f64, f64)> {
    let Shape { n, elements, middle: [second, third], .. } = *shape;
    let end = elements / 2;
    let mut table = Vec::new();
    let mut length = end;
    for radix in [second, third, end] {
        let powers = std::iter::successors(Some(1), |p| Some(2 * p)).take_while(|&p| p < radix);
        for power in powers {
            table.extend((0..length).map(|m| {
                let (sin, cos) = turn(power * m, length * radix);
                (cos, -sin)
            }));
        }
        length *= radix;
    }
    debug_assert_eq!(length, n);
    table.extend((0..=shape.per_line()).map(|k| {
        let (sin, cos) = turn(k, 4 * n);
        (cos, sin)
    }));
    table
}

/// Sine and cosine of the `part`-th of `whole` parts of a turn, by those of an
/// angle in the first octant: neither is taken of a large rounded angle.
fn turn(part: usize, whole: usize) -> (f64, f64) {
    let eighths = 8 * (part % whole);
    let angle = |parts: usize| std::f64::consts::TAU * parts as f64 / (8 * whole) as f64;
    let octant = eighths / whole;
    // From the nearest multiple of a quarter turn.
    let quarter = octant.div_ceil(2);
    let (sin, cos) = if octant.is_multiple_of(2) {
        angle(eighths - 2 * quarter * whole).sin_cos()
    } else {
        let (sin, cos) = angle(2 * quarter * whole - eighths).sin_cos();
        (-sin, cos)
    };
    match quarter % 4 {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

#[cfg(test)]
mod tests {
    use super::super::shapes::{Limits, Role, choose};
    use super::*;

    #[test]
    fn turns_are_exact_at_the_quarters_and_right_between() {
        for (part, want) in [(0, (0.0, 1.0)), (1, (1.0, 0.0)), (2, (0.0, -1.0)), (3, (-1.0, 0.0))] {
            assert_eq!(turn(part, 4), want);
            assert_eq!(turn(8 * part, 32), want);
        }
        for part in 0..64 {
            let (sin, cos) = (std::f64::consts::TAU * part as f64 / 64.0).sin_cos();
            let (s, c) = turn(part, 64);
            assert!((s - sin).abs() < 1e-15 && (c - cos).abs() < 1e-15, "{part}");
        }
    }

    #[test]
    fn a_table_holds_every_stage_and_a_quarter_wave() {
        let limits = Limits { shared: 227 << 10, threads: 2048 };
        let shape = choose(Role::Rows, 4, 2048, limits).unwrap();
        assert_eq!((shape.elements, shape.middle), (16, [8, 4]));
        let table = twiddles(&shape);
        // Powers 1, 2, 4 of 8 twiddles, 1 and 2 of 64, 1, 2 and 4 of 256; k = 0…128.
        let stages = 3 * 8 + 2 * 64 + 3 * 256;
        assert_eq!(table.len(), stages + 129);
        let angle = -std::f64::consts::TAU * 4.0 * 3.0 / 64.0;
        assert!((table[2 * 8 + 3].0 - angle.cos()).abs() < 1e-15);
        assert!((table[2 * 8 + 3].1 - angle.sin()).abs() < 1e-15);
        let angle = std::f64::consts::PI * 128.0 / 4096.0;
        assert!((table[stages + 128].1 - angle.sin()).abs() < 1e-15);
    }
}
