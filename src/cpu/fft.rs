//! FFTs of one line in each lane of a vector: `V[u] = Σ_k z[k] e^{−2πjuk/n}`, every
//! butterfly computes whole vectors. All lanes share the twiddles, and no number changes its lane.
//!
//! A tile has a [`Row`] for each point: the real parts of [`Vectors::LANES`] lines, then their
//! imaginary parts. Lengths whose prime factors are at most 31 are transformed in place by
//! decimation in time (Cooley and Tukey, 1965): input is in the order of [`LaneFft::place`] and
//! output in natural order. The blocks of a stage are finished before the next block begins, so
//! that the first stages stay in the nearest cache.
//!
//! Other lengths are convolutions with a chirp of twice the length or more (Bluestein, "A Linear
//! Filtering Approach to the Computation of Discrete Fourier Transform", 1970): with
//! `c[k] = e^{−jπk²/n}`, `V[u] = c[u] Σ_k (z[k]·c[k])·c̄[u−k]`.

use crate::cpu::simd::{Row, SimdKernel, Unit, Vector, Vectors, dispatch};
use crate::memory::filled;
use crate::real::Real;
use crate::transform::fft::ComplexFft;
use crate::transform::twiddle;
use num_complex::Complex;
use std::f64::consts::PI;
use std::ops::{Add, Sub};

/// The largest prime factor with a specialised stage.
const LARGEST: usize = 31;

/// The forward FFT of the lines of a tile, unnormalised. The inverse is the same with real and
/// imaginary parts exchanged before and after.
pub(super) struct LaneFft<T: Real> {
    n: usize,
    /// From the shortest transforms to the longest, of `n` points or of the convolution's.
    stages: Vec<Stage<T>>,
    chirp: Option<Chirp<T>>,
}

/// `radix` transforms of `len` points made into one.
struct Stage<T> {
    radix: usize,
    len: usize,
    /// `e^{−2πjkq/(radix·len)}` for k = 0 … len − 1 and, for each, q = 1 … radix − 1.
    twiddles: Vec<Complex<T>>,
    /// `e^{−2πjk/radix}` for k = 0 … radix − 1.
    roots: Vec<Complex<T>>,
}

/// The tables of a convolution.
struct Chirp<T> {
    /// c\[k\], k = 0 … n − 1.
    c: Vec<Complex<T>>,
    /// The FFT of c̄, periodic, divided by its length.
    spectrum: Vec<Complex<T>>,
    /// Row of a tile for each point of the convolution.
    place: Vec<u32>,
}

impl<T: Real> LaneFft<T> {
    pub(super) fn new(n: usize) -> Self {
        if let Some(radices) = radices(n) {
            return LaneFft { n, stages: stages(radices), chirp: None };
        }
        let points = convolution_points(2 * n - 1);
        let stages = stages(radices(points).expect("a length of small factors"));
        let place = (0..points).map(|i| place(&stages, i) as u32).collect();
        LaneFft { n, chirp: Some(Chirp::new(n, points, place)), stages }
    }

    /// Returns the number of rows of working memory.
    pub(super) fn scratch_len(&self) -> usize {
        self.chirp.as_ref().map_or(0, |chirp| 2 * chirp.spectrum.len())
    }

    /// Returns the row of a tile for point `i`.
    pub(super) fn place(&self, i: usize) -> usize {
        if self.chirp.is_some() { i } else { place(&self.stages, i) }
    }

    /// Transforms the lines of a tile of `n` rows.
    ///
    /// # Panics
    /// When the tile has another number of rows, or the working memory too few.
    pub(super) fn run(&self, tile: &mut [Row<T>], scratch: &mut [Row<T>]) {
        assert_eq!(tile.len(), self.n, "rows of the tile");
        let stages = &self.stages[..];
        let Some(chirp) = &self.chirp else { return dispatch(Transform { stages, tile }) };
        let points = chirp.spectrum.len();
        let (first, second) = scratch[..2 * points].split_at_mut(points);
        first.fill(T::ROW);
        let (c, place) = (chirp.c.iter(), &chirp.place[..]);
        dispatch(Multiply { from: &*tile, by: c.clone(), to: &mut *first, place, exchange: false });
        dispatch(Transform { stages, tile: &mut *first });
        let by = chirp.spectrum.iter();
        dispatch(Multiply { from: first, by, to: &mut *second, place, exchange: true });
        dispatch(Transform { stages, tile: &mut *second });
        dispatch(Finish { from: second, by: c, to: tile });
    }
}

fn stages<T: Real>(radices: Vec<usize>) -> Vec<Stage<T>> {
    let mut len = 1;
    let stages = radices.into_iter().map(|radix| {
        let stage = Stage::new(radix, len);
        len *= radix;
        stage
    });
    stages.collect()
}

/// Returns the row of a tile for point `i`: the digits of `i` backwards.
fn place<T>(stages: &[Stage<T>], mut i: usize) -> usize {
    let mut place = 0;
    for stage in stages.iter().rev() {
        place += i % stage.radix * stage.len;
        i /= stage.radix;
    }
    place
}

/// Returns the radices of a length's stages, eights first, when it has no prime factor above
/// [`LARGEST`].
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
    for factor in [5, 3].into_iter().chain((7..=LARGEST).step_by(2)) {
        while rest.is_multiple_of(factor) {
            rest /= factor;
            radices.push(factor);
        }
    }
    (rest == 1).then_some(radices)
}

/// Returns the least 2^a·{1, 3, 5, 9, 15} that is not less than `least`.
fn convolution_points(least: usize) -> usize {
    let points = |odd: usize| odd * least.div_ceil(odd).next_power_of_two();
    [1, 3, 5, 9, 15].map(points).into_iter().min().expect("five lengths")
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
            Complex::new(T::cast(re), T::cast(im))
        };
        let mut twiddles = filled(len * (radix - 1), Complex::default());
        for (k, of_k) in twiddles.chunks_mut(radix - 1).enumerate() {
            of_k.iter_mut().enumerate().for_each(|(q, w)| *w = turn(k * (q + 1)));
        }
        Stage { radix, len, twiddles, roots: (0..radix).map(|k| turn(k * len)).collect() }
    }
}

impl<T: Real> Chirp<T> {
    fn new(n: usize, points: usize, place: Vec<u32>) -> Self {
        // k² mod 2n: the angles stay small, and the products exact.
        let square = |k: usize| ((k as u128 * k as u128) % (2 * n as u128)) as f64;
        let c = |k: usize| Complex::from_polar(1.0, -PI * square(k) / n as f64);
        let mut spectrum = filled(points, Complex::new(0.0, 0.0));
        for k in 0..n {
            let w = c(k).conj() / points as f64;
            (spectrum[k], spectrum[(points - k) % points]) = (w, w);
        }
        let [forward, _] = ComplexFft::<f64>::both(points);
        forward.run(&mut spectrum, &mut filled(forward.scratch_len(), Complex::new(0.0, 0.0)));
        let rounded = |z: Complex<f64>| Complex::new(T::cast(z.re), T::cast(z.im));
        Chirp {
            c: (0..n).map(|k| rounded(c(k))).collect(),
            spectrum: spectrum.into_iter().map(rounded).collect(),
            place,
        }
    }
}

/// Rows times numbers, parts exchanged or not, each to its place.
struct Multiply<'a, T: Real, I> {
    from: &'a [Row<T>],
    by: I,
    to: &'a mut [Row<T>],
    place: &'a [u32],
    exchange: bool,
}

impl<'a, T: Real, I: Iterator<Item = &'a Complex<T>>> SimdKernel<T> for Multiply<'a, T, I> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Number = T>>(self, unit: Unit<V>) {
        for ((from, &w), &place) in self.from.iter().zip(self.by).zip(self.place) {
            let (w, to) = (Lanes::splat(unit, w), &mut self.to[place as usize]);
            for at in (0..T::LANES).step_by(V::LANES) {
                let z = Lanes::load(unit, from, at).times(w);
                if self.exchange { z.exchanged() } else { z }.store(unit, to, at);
            }
        }
    }
}

/// Rows with parts exchanged times numbers, in order.
struct Finish<'a, T: Real, I> {
    from: &'a [Row<T>],
    by: I,
    to: &'a mut [Row<T>],
}

impl<'a, T: Real, I: Iterator<Item = &'a Complex<T>>> SimdKernel<T> for Finish<'a, T, I> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Number = T>>(self, unit: Unit<V>) {
        for ((from, &w), to) in self.from.iter().zip(self.by).zip(self.to) {
            for at in (0..T::LANES).step_by(V::LANES) {
                let z = Lanes::load(unit, from, at).exchanged();
                z.times(Lanes::splat(unit, w)).store(unit, to, at);
            }
        }
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
                2 => butterfly::<V, 2>(&constants, rows),
                _ => combine_any(unit, first, rows),
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
                    2 => combine::<V, 2>(&constants, stage, rows),
                    _ => combine_any(unit, stage, rows),
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
        let [root, half, third] = [root, half, third].map(V::Number::cast);
        let [c1, c2, s1, s2] = [c1, c2, s1, s2].map(V::Number::cast);
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

/// A stage of any odd radix up to [`LARGEST`], from sums and differences of numbers at opposite
/// places.
#[inline(always)]
fn combine_any<V: Vector>(unit: Unit<V>, stage: &Stage<V::Number>, rows: &mut [Row<V::Number>])
where
    V::Number: Real,
{
    let (radix, len) = (stage.radix, stage.len);
    for (k, twiddles) in stage.twiddles.chunks_exact(radix - 1).enumerate() {
        for at in (0..<V::Number as Vectors>::LANES).step_by(V::LANES) {
            let first = Lanes::load(unit, &rows[k], at);
            let (mut sums, mut differences) = ([first; LARGEST / 2], [first; LARGEST / 2]);
            let mut total = first;
            for q in 1..=radix / 2 {
                let back = radix - q;
                let near = Lanes::load(unit, &rows[q * len + k], at)
                    .times(Lanes::splat(unit, twiddles[q - 1]));
                let far = Lanes::load(unit, &rows[back * len + k], at)
                    .times(Lanes::splat(unit, twiddles[back - 1]));
                (sums[q - 1], differences[q - 1]) = (near + far, near - far);
                total = total + sums[q - 1];
            }
            total.store(unit, &mut rows[k], at);
            for u in 1..=radix / 2 {
                let (mut even, mut odd) = (first, Lanes::splat(unit, Complex::default()));
                let mut step = 0;
                for q in 0..radix / 2 {
                    step += u;
                    if step >= radix {
                        step -= radix;
                    }
                    let root = stage.roots[step];
                    even = even.plus_scaled(unit.splat(root.re), sums[q]);
                    odd = odd.plus_scaled(unit.splat(root.im), differences[q]);
                }
                even.plus_j(odd).store(unit, &mut rows[u * len + k], at);
                even.minus_j(odd).store(unit, &mut rows[(radix - u) * len + k], at);
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
mod tests;
