use super::*;
use crate::cpu::simd::Simd;
use std::f64::consts::TAU;

fn check<T: Real>(n: usize, limit: f64) {
    let fft = LaneFft::<T>::new(n);
    let value = |k: usize, lane: usize| {
        let at = |m: usize| T::cast(((k * 37 + lane * 11 + m) % 23) as f64 - 9.0);
        Complex::new(at(0), at(k % 7))
    };
    let mut tile = vec![T::ROW; n];
    for k in 0..n {
        let row = tile[fft.place(k)].numbers_mut();
        for lane in 0..T::LANES {
            let z = value(k, lane);
            (row[lane], row[T::LANES + lane]) = (z.re, z.im);
        }
    }
    let mut scratch = vec![T::ROW; fft.scratch_len()];
    fft.run(&mut tile, &mut scratch);
    for lane in 0..T::LANES {
        let (mut off, mut all) = (0.0, 0.0);
        for (u, row) in tile.iter().enumerate() {
            let want: Complex<f64> = (0..n)
                .map(|k| {
                    let z = value(k, lane);
                    let turn = Complex::from_polar(1.0, -TAU * (u * k % n) as f64 / n as f64);
                    Complex::new(z.re.widen(), z.im.widen()) * turn
                })
                .sum();
            let row = row.numbers();
            let got = Complex::new(row[lane].widen(), row[T::LANES + lane].widen());
            off += (got - want).norm_sqr();
            all += want.norm_sqr();
        }
        assert!(off.sqrt() <= limit * all.sqrt(), "{n} in {}, lane {lane}", T::PRECISION);
    }
}

#[test]
fn every_unit_gives_the_dft() {
    let lengths = [
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 25, 31, 32, 37, 60, 64, 74, 77, 100, 128, 221,
        240, 331,
    ];
    let most = if cfg!(miri) { 10 } else { 1000 };
    for simd in Simd::available() {
        for &n in lengths.iter().filter(|&&n| n < most) {
            simd.force(|| check::<f32>(n, 5e-7));
            simd.force(|| check::<f64>(n, 2e-15));
        }
    }
}

#[test]
fn lengths_are_split_into_few_radices() {
    assert_eq!(radices(1024), Some(vec![8, 8, 4, 4]));
    assert_eq!(radices(4096), Some(vec![8, 8, 8, 8]));
    assert_eq!(radices(2048), Some(vec![8, 8, 8, 4]));
    assert_eq!(radices(2 * 9 * 5), Some(vec![2, 5, 3, 3]));
    assert_eq!((radices(1), radices(4)), (Some(vec![]), Some(vec![4])));
    assert_eq!((radices(2 * 7 * 31), radices(74)), (Some(vec![2, 7, 31]), None));
    assert_eq!([1, 17, 73, 2041].map(convolution_points), [1, 18, 80, 2048]);
}
