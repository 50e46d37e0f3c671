//! FFTs of as many lines at once as a vector has lanes: every butterfly is one of whole
//! vectors, twiddles are shared by all lanes, and nothing is ever moved within a vector.
//!
//! A tile has a [`Row`] for each point: the real parts of [`Vectors::LANES`] lines, then their
//! imaginary parts. Lengths 2^a·3^b·5^c are transformed in place by decimation in time: points come
//! in an order of their own ([`LaneFft::place`]) and go out in order. The blocks of a stage are
//! finished before the next block begins, so that the first stages stay in the nearest cache. Other
//! lengths are transformed a line at a time.

use crate::cpu::simd::{Row, SimdKernel, Unit, Vector, Vectors, dispatch};
use crate::memory::filled;
use crate::real::Real;
use crate::transform::fft::ComplexFft;
use crate::transform::twiddle;
use num_complex::Complex;
use std::ops::{Add, Sub};

/// The forward FFT of the lines of a tile, unnormalised. The inverse is the same with real and
/// imaginary parts exchanged before and after.
pub(super) struct LaneFft<T: Real> {
    n: usize,
    kind: Kind<T>,
}

enum Kind<T: Real> {
    /// From the shortest transforms to the longest.
    Stages(Vec<Stage<T>>),
    /// For lengths with other prime factors.
    Lines(ComplexFft<T>),
}

/// `radix` transforms of `len` points made into one.
struct Stage<T> {
    radix: usize,
    len: usize,
    /// `e^{−2πjkq/(radix·len)}` for k = 0 … len − 1 and, for each, q = 1 … radix − 1.
    twiddles: Vec<Complex<T>>,
}

impl<T: Real> LaneFft<T> {
    pub(super) fn new(n: usize) -> Self {
        let kind = match radices(n) {
            Some(radices) => {
                let mut len = 1;
                let stages = radices.into_iter().map(|radix| {
                    let stage = Stage::new(radix, len);
                    len *= radix;
                    stage
                });
                Kind::Stages(stages.collect())
            }
            None => {
                let [forward, _] = ComplexFft::both(n);
                Kind::Lines(forward)
            }
        };
        LaneFft { n, kind }
    }

    /// Returns the number of complex numbers of working memory.
    pub(super) fn scratch_len(&self) -> usize {
        match &self.kind {
            Kind::Stages(_) => 0,
            Kind::Lines(fft) => self.n + fft.scratch_len(),
        }
    }

    /// Returns the row of a tile for point `i`.
    pub(super) fn place(&self, i: usize) -> usize {
        let Kind::Stages(stages) = &self.kind else { return i };
        let (mut i, mut place) = (i, 0);
        for stage in stages.iter().rev() {
            place += i % stage.radix * stage.len;
            i /= stage.radix;
        }
        place
    }

    /// Transforms the lines of a tile of `n` rows.
    pub(super) fn run(&self, tile: &mut [Row<T>], scratch: &mut [Complex<T>]) {
        assert_eq!(tile.len(), self.n, "rows of the tile");
        match &self.kind {
            Kind::Stages(stages) => dispatch(Transform { stages, tile }),
            Kind::Lines(fft) => {
                let (line, scratch) = scratch.split_at_mut(self.n);
                for lane in 0..T::LANES {
                    for (z, row) in line.iter_mut().zip(&*tile) {
                        let row = row.numbers();
                        *z = Complex::new(row[lane], row[T::LANES + lane]);
                    }
                    fft.run(line, scratch);
                    for (z, row) in line.iter().zip(&mut *tile) {
                        let row = row.numbers_mut();
                        (row[lane], row[T::LANES + lane]) = (z.re, z.im);
                    }
                }
            }
        }
    }
}

/// Returns the radices of a length's stages, eights first, when it has no prime factor above 5.
fn radices(n: usize) -> Option<Vec<usize>> {
    let (mut rest, mut twos, mut radices) = (n, 0, Vec::new());
    while rest.is_multiple_of(2) {
        (rest, twos) = (rest / 2, twos + 1);
    }
    // Fours rather than an eight and a two.
    let fours = match twos % 3 {
        1 if twos > 1 => 2,
        2 => 1,
        _ => 0,
    };
    radices.extend(std::iter::repeat_n(8, (twos - 2 * fours) / 3));
    radices.extend(std::iter::repeat_n(4, fours));
    radices.extend(std::iter::repeat_n(2, (twos - 2 * fours) % 3));
    for factor in [5, 3] {
        while rest.is_multiple_of(factor) {
            rest /= factor;
            radices.push(factor);
        }
    }
    (rest == 1).then_some(radices)
}

impl<T: Real> Stage<T> {
    fn new(radix: usize, len: usize) -> Self {
        let n = radix * len;
        // Steps of a quarter of a turn over n, so that angles are computed in the first octant.
        let quarter = twiddle::quarter_wave(n);
        let turn = |step: usize| {
            // e^{−2πj·step/n} = e^{−jπ·4step/2n}: quarter turns are taken off exactly.
            let (quarters, part) = (4 * step / n % 4, 4 * step % n);
            let w = quarter[part];
            let (re, im) = match quarters {
                0 => (w.re, w.im),
                1 => (w.im, -w.re),
                2 => (-w.re, -w.im),
                _ => (-w.im, w.re),
            };
            Complex::new(T::of(re), T::of(im))
        };
        let mut twiddles = filled(len * (radix - 1), Complex::default());
        for (k, of_k) in twiddles.chunks_mut(radix - 1).enumerate() {
            of_k.iter_mut().enumerate().for_each(|(q, w)| *w = turn(k * (q + 1)));
        }
        Stage { radix, len, twiddles }
    }
}

struct Transform<'a, T: Real> {
    stages: &'a [Stage<T>],
    tile: &'a mut [Row<T>],
}

impl<T: Real> SimdKernel<T> for Transform<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Number = T>>(self, unit: Unit<V>) {
        let Transform { stages, tile } = self;
        let Some((first, later)) = stages.split_first() else { return };
        let constants = Constants::new(unit);
        for block in 0..tile.len() / first.radix {
            let start = block * first.radix;
            let rows = &mut tile[start..start + first.radix];
            match first.radix {
                8 => butterfly::<V, 8>(&constants, rows),
                5 => butterfly::<V, 5>(&constants, rows),
                4 => butterfly::<V, 4>(&constants, rows),
                3 => butterfly::<V, 3>(&constants, rows),
                _ => butterfly::<V, 2>(&constants, rows),
            }
            let (end, mut finished) = (start + first.radix, block + 1);
            for stage in later {
                if !finished.is_multiple_of(stage.radix) {
                    break;
                }
                finished /= stage.radix;
                let rows = &mut tile[end - stage.radix * stage.len..end];
                match stage.radix {
                    8 => combine::<V, 8>(&constants, stage, rows),
                    5 => combine::<V, 5>(&constants, stage, rows),
                    4 => combine::<V, 4>(&constants, stage, rows),
                    3 => combine::<V, 3>(&constants, stage, rows),
                    _ => combine::<V, 2>(&constants, stage, rows),
                }
            }
        }
    }
}

/// A vector of complex numbers.
#[derive(Clone, Copy)]
pub(super) struct Lanes<V> {
    pub(super) re: V,
    pub(super) im: V,
}

impl<V: Vector> Add for Lanes<V> {
    type Output = Self;
    #[inline(always)]
    fn add(self, z: Self) -> Self {
        Lanes { re: self.re + z.re, im: self.im + z.im }
    }
}

impl<V: Vector> Sub for Lanes<V> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, z: Self) -> Self {
        Lanes { re: self.re - z.re, im: self.im - z.im }
    }
}

impl<V: Vector> Lanes<V>
where
    V::Number: Real,
{
    /// Returns the lanes of a row from `at` on.
    #[inline(always)]
    pub(super) fn load(unit: Unit<V>, row: &Row<V::Number>, at: usize) -> Self {
        let (row, im) = (row.numbers(), <V::Number as Vectors>::LANES + at);
        Lanes { re: unit.load(row, at), im: unit.load(row, im) }
    }

    #[inline(always)]
    pub(super) fn store(self, unit: Unit<V>, row: &mut Row<V::Number>, at: usize) {
        let (row, im) = (row.numbers_mut(), <V::Number as Vectors>::LANES + at);
        unit.store(self.re, row, at);
        unit.store(self.im, row, im);
    }

    /// Returns the same number in every lane.
    #[inline(always)]
    pub(super) fn splat(unit: Unit<V>, z: Complex<V::Number>) -> Self {
        Lanes { re: unit.splat(z.re), im: unit.splat(z.im) }
    }

    /// Returns real and imaginary parts exchanged.
    #[inline(always)]
    pub(super) fn exchanged(self) -> Self {
        Lanes { re: self.im, im: self.re }
    }

    /// Returns it times w.
    #[inline(always)]
    pub(super) fn times(self, w: Self) -> Self {
        Lanes {
            re: self.re.mul_sub(w.re, self.im * w.im),
            im: self.re.mul_add(w.im, self.im * w.re),
        }
    }

    /// Times the conjugate of w.
    #[inline(always)]
    pub(super) fn times_conj(self, w: Self) -> Self {
        Lanes {
            re: self.re.mul_add(w.re, self.im * w.im),
            im: self.im.mul_sub(w.re, self.re * w.im),
        }
    }

    /// Returns self + j·z.
    #[inline(always)]
    pub(super) fn plus_j(self, z: Self) -> Self {
        Lanes { re: self.re - z.im, im: self.im + z.re }
    }

    /// Returns self − j·z.
    #[inline(always)]
    pub(super) fn minus_j(self, z: Self) -> Self {
        Lanes { re: self.re + z.im, im: self.im - z.re }
    }

    /// Returns self + a·z.
    #[inline(always)]
    fn plus_scaled(self, a: V, z: Self) -> Self {
        Lanes { re: z.re.mul_add(a, self.re), im: z.im.mul_add(a, self.im) }
    }

    /// Times a.
    #[inline(always)]
    pub(super) fn scaled(self, a: V) -> Self {
        Lanes { re: self.re * a, im: self.im * a }
    }
}

/// The constants of the butterflies.
struct Constants<V> {
    unit: Unit<V>,
    /// √½
    half_root: V,
    /// −½ and sin 120°
    third: [V; 2],
    /// cos 72°, cos 144°, sin 72°, sin 144°
    fifth: [V; 4],
}

impl<V: Vector> Constants<V>
where
    V::Number: Real,
{
    #[inline(always)]
    fn new(unit: Unit<V>) -> Self {
        let turn = std::f64::consts::TAU / 5.0;
        let ((s1, c1), (s2, c2)) = (turn.sin_cos(), (2.0 * turn).sin_cos());
        let [root, half, third] = [std::f64::consts::FRAC_1_SQRT_2, -0.5, 0.75_f64.sqrt()];
        let [root, half, third] = [root, half, third].map(V::Number::of);
        let [c1, c2, s1, s2] = [c1, c2, s1, s2].map(V::Number::of);
        Constants {
            unit,
            half_root: unit.splat(root),
            third: [unit.splat(half), unit.splat(third)],
            fifth: [unit.splat(c1), unit.splat(c2), unit.splat(s1), unit.splat(s2)],
        }
    }
}

/// The FFT of `R` rows, a vector of their lanes at a time.
#[inline(always)]
fn butterfly<V: Vector, const R: usize>(constants: &Constants<V>, rows: &mut [Row<V::Number>])
where
    V::Number: Real,
{
    let rows: &mut [Row<V::Number>; R] = rows.try_into().expect("as many rows as the radix");
    let unit = constants.unit;
    for at in (0..<V::Number as Vectors>::LANES).step_by(V::LANES) {
        // No closures here: code that is not inlined is not compiled for the unit.
        let mut z = [Lanes::load(unit, &rows[0], at); R];
        for q in 1..R {
            z[q] = Lanes::load(unit, &rows[q], at);
        }
        fft(constants, &mut z);
        for q in 0..R {
            z[q].store(unit, &mut rows[q], at);
        }
    }
}

/// A stage: `R` transforms of `stage.len` rows made into one.
#[inline(always)]
fn combine<V: Vector, const R: usize>(
    constants: &Constants<V>,
    stage: &Stage<V::Number>,
    rows: &mut [Row<V::Number>],
) where
    V::Number: Real,
{
    let (unit, len) = (constants.unit, stage.len);
    let mut parts = rows.chunks_exact_mut(len);
    let parts: [&mut [Row<V::Number>]; R] =
        std::array::from_fn(|_| parts.next().expect("radix times len rows"));
    for (k, twiddles) in stage.twiddles.chunks_exact(R - 1).enumerate() {
        for at in (0..<V::Number as Vectors>::LANES).step_by(V::LANES) {
            let mut z = [Lanes::load(unit, &parts[0][k], at); R];
            for q in 1..R {
                let w = Lanes::splat(unit, twiddles[q - 1]);
                z[q] = Lanes::load(unit, &parts[q][k], at).times(w);
            }
            fft(constants, &mut z);
            for q in 0..R {
                z[q].store(unit, &mut parts[q][k], at);
            }
        }
    }
}

/// The FFT of `R` numbers of every lane.
#[inline(always)]
fn fft<V: Vector, const R: usize>(c: &Constants<V>, z: &mut [Lanes<V>; R])
where
    V::Number: Real,
{
    match R {
        2 => (z[0], z[1]) = (z[0] + z[1], z[0] - z[1]),
        3 => {
            let ([minus_half, sin], sum, difference) = (c.third, z[1] + z[2], z[1] - z[2]);
            let (middle, turned) = (z[0].plus_scaled(minus_half, sum), difference.scaled(sin));
            (z[0], z[1], z[2]) = (z[0] + sum, middle.minus_j(turned), middle.plus_j(turned));
        }
        4 => [z[0], z[1], z[2], z[3]] = four([z[0], z[1], z[2], z[3]]),
        5 => {
            let [c1, c2, s1, s2] = c.fifth;
            let (s14, d14, s23, d23) = (z[1] + z[4], z[1] - z[4], z[2] + z[3], z[2] - z[3]);
            let near = z[0].plus_scaled(c1, s14).plus_scaled(c2, s23);
            let far = z[0].plus_scaled(c2, s14).plus_scaled(c1, s23);
            let turned_near = d14.scaled(s1).plus_scaled(s2, d23);
            let turned_far = d14.scaled(s2) - d23.scaled(s1);
            z[0] = z[0] + s14 + s23;
            (z[1], z[4]) = (near.minus_j(turned_near), near.plus_j(turned_near));
            (z[2], z[3]) = (far.minus_j(turned_far), far.plus_j(turned_far));
        }
        _ => {
            let even = four([z[0], z[2], z[4], z[6]]);
            let odd = four([z[1], z[3], z[5], z[7]]);
            // Odd terms times e^{−jπ/4}, −j and e^{−3jπ/4}.
            let first = Lanes { re: odd[1].re + odd[1].im, im: odd[1].im - odd[1].re };
            let third = Lanes { re: odd[3].im - odd[3].re, im: odd[3].re + odd[3].im };
            (z[0], z[4]) = (even[0] + odd[0], even[0] - odd[0]);
            let first = first.scaled(c.half_root);
            (z[1], z[5]) = (even[1] + first, even[1] - first);
            (z[2], z[6]) = (even[2].minus_j(odd[2]), even[2].plus_j(odd[2]));
            // The imaginary part has the other sign.
            let third = third.scaled(c.half_root);
            z[3] = Lanes { re: even[3].re + third.re, im: even[3].im - third.im };
            z[7] = Lanes { re: even[3].re - third.re, im: even[3].im + third.im };
        }
    }
}

/// Returns the FFT of four numbers of every lane.
#[inline(always)]
fn four<V: Vector>(z: [Lanes<V>; 4]) -> [Lanes<V>; 4]
where
    V::Number: Real,
{
    let (a, b, c, d) = (z[0] + z[2], z[0] - z[2], z[1] + z[3], z[1] - z[3]);
    [a + c, b.minus_j(d), a - c, b.plus_j(d)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::simd::Simd;
    use std::f64::consts::TAU;

    fn check<T: Real>(n: usize, limit: f64) {
        let fft = LaneFft::<T>::new(n);
        let value = |k: usize, lane: usize| {
            let at = |m: usize| T::of(((k * 37 + lane * 11 + m) % 23) as f64 - 9.0);
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
        let mut scratch = vec![Complex::default(); fft.scratch_len()];
        fft.run(&mut tile, &mut scratch);
        for lane in 0..T::LANES {
            let (mut off, mut all) = (0.0, 0.0);
            for (u, row) in tile.iter().enumerate() {
                let want: Complex<f64> = (0..n)
                    .map(|k| {
                        let z = value(k, lane);
                        let turn = Complex::from_polar(1.0, -TAU * (u * k % n) as f64 / n as f64);
                        Complex::new(z.re.wide(), z.im.wide()) * turn
                    })
                    .sum();
                let row = row.numbers();
                let got = Complex::new(row[lane].wide(), row[T::LANES + lane].wide());
                off += (got - want).norm_sqr();
                all += want.norm_sqr();
            }
            assert!(off.sqrt() <= limit * all.sqrt(), "{n} in {}, lane {lane}", T::PRECISION);
        }
    }

    #[test]
    fn every_unit_gives_the_dft() {
        let lengths =
            [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 25, 32, 60, 64, 77, 100, 128, 240];
        let most = if cfg!(miri) { 10 } else { 1000 };
        for simd in Simd::available() {
            for &n in lengths.iter().filter(|&&n| n < most) {
                simd.force(|| check::<f32>(n, 4e-7));
                simd.force(|| check::<f64>(n, 1e-15));
            }
        }
    }

    #[test]
    fn lengths_are_split_into_few_radices() {
        assert_eq!(radices(1024), Some(vec![8, 8, 4, 4]));
        assert_eq!(radices(4096), Some(vec![8, 8, 8, 8]));
        assert_eq!(radices(2048), Some(vec![8, 8, 8, 4]));
        assert_eq!(radices(2 * 9 * 5), Some(vec![2, 5, 3, 3]));
        assert_eq!((radices(1), radices(14), radices(4)), (Some(vec![]), None, Some(vec![4])));
    }
}
