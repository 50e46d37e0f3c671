//! DCT, IDCT and IDXST of the lines of a tile, one vector at a time.
//!
//! One FFT transforms two real lines p and q as z = p + jq (Makhoul, "A Fast Cosine Transform in
//! One and Two Dimensions", 1980). With `V` the FFT of z reordered and `w = e^{−jπk/2N}`,
//!
//! ```text
//! DCT(p) + jDCT(q)   = ½(w·V[k] + w̄·V[N−k])                     V[N] = V[0]
//! IDCT(p) + jIDCT(q) = unnormalised IFFT of ½w̄(z[k] − j·z[N−k])  z[N] := 0, reordering undone
//! ```
//!
//! so a pair needs no unpacking, complex lines are not a special case, and the formulas hold for
//! every N ≥ 1. The IDXST is the IDCT of the reversed line with odd samples negated.

use crate::cpu::fft::{LaneFft, Lanes};
use crate::cpu::simd::{Row, SimdKernel, Unit, Vector, Vectors, dispatch};
use crate::real::Real;
use crate::transform::line::Wave;
use crate::transform::{permutation, twiddle};
use num_complex::Complex;

/// Rows that are added up in working precision before their sum is widened.
const TOGETHER: usize = 16;

/// The tables of transforms of `n` values.
pub(crate) struct Axis<T: Real> {
    pub(crate) n: usize,
    pub(crate) fft: LaneFft<T>,
    /// `½e^{−jπk/2n}`, k = 0 … n.
    half_w: Vec<Complex<T>>,
    /// Row of a tile for each point of the FFT, and for each sample of a line.
    pub(super) place: Vec<u32>,
    pub(crate) of_sample: Vec<u32>,
}

impl<T: Real> Axis<T> {
    pub(crate) fn new(n: usize) -> Self {
        let fft = LaneFft::new(n);
        let place: Vec<u32> = (0..n).map(|i| fft.place(i) as u32).collect();
        Axis {
            n,
            half_w: twiddle::scaled_quarter_wave(n, 0.5),
            of_sample: (0..n).map(|i| place[permutation::position(i, n)]).collect(),
            place,
            fft,
        }
    }

    /// Computes the DCTs of lines whose samples lie in the rows `of_sample`, in place; with
    /// `green` times Green's function. Returns Σ X²·G, see [`Dct`].
    pub(crate) fn dct(
        &self,
        tile: &mut [Row<T>],
        green: Option<AxisGreen<'_, T>>,
        scratch: &mut [Row<T>],
    ) -> f64 {
        self.fft.run(tile, scratch);
        dispatch(Dct { half_w: &self.half_w, tile, green })
    }

    /// Computes the IDCTs or IDXSTs of lines of coefficients, times `scale` along the lines if
    /// given (of an IDXST only). Sample i of the first lines of the pairs is the imaginary part of
    /// row `position(i)`, of the second ones the real part, and negated for odd i of a sine.
    pub(crate) fn inverse(
        &self,
        coefficients: &[Row<T>],
        wave: Wave,
        scale: Option<&[T]>,
        tile: &mut [Row<T>],
        scratch: &mut [Row<T>],
    ) {
        let (half_w, place) = (&self.half_w[..], &self.place[..]);
        dispatch(Inverse { half_w, coefficients, wave, scale, place, tile: &mut *tile });
        self.fft.run(tile, scratch);
    }
}

/// Computes the DCTs of packed lines from their FFT in place; with `green`, times Green's function.
/// Returns Σ X²·G of all coefficients, with half of the term of k = 0 and without the normalisation
/// of the other axis.
struct Dct<'a, T: Real> {
    half_w: &'a [Complex<T>],
    tile: &'a mut [Row<T>],
    green: Option<AxisGreen<'a, T>>,
}

/// Green's function of lines along one axis: `normalisation / (across + along)`.
pub(crate) struct AxisGreen<'a, T: Real> {
    /// Squared wavenumbers of the two lines of every lane, none of them zero.
    pub(crate) across: &'a Row<T>,
    /// Squared wavenumber of every coefficient.
    pub(crate) along: &'a [T],
    pub(crate) normalisation: T,
}

impl<T: Real> SimdKernel<T> for Dct<'_, T> {
    type Output = f64;

    #[inline(always)]
    fn run<V: Vector<Number = T>>(self, unit: Unit<V>) -> f64 {
        let Dct { half_w, tile, green } = self;
        match green {
            None => {
                dct(
                    unit,
                    half_w,
                    tile,
                    #[inline(always)]
                    |_, _, z| z,
                );
                0.0
            }
            Some(green) => {
                let mut energy = 0.0;
                let mut sums = T::ROW;
                let (mut added, half) = (0, T::cast(0.5));
                let normalisation = unit.splat(green.normalisation);
                dct(
                    unit,
                    half_w,
                    tile,
                    #[inline(always)]
                    |k, at, z| {
                        if added == TOGETHER {
                            energy += widen(&mut sums);
                            added = 0;
                        }
                        added += usize::from(at == 0);
                        let along = unit.splat(green.along[k]);
                        let across = Lanes::load(unit, green.across, at);
                        let g = Lanes {
                            re: normalisation / (across.re + along),
                            im: normalisation / (across.im + along),
                        };
                        let scaled = Lanes { re: z.re * g.re, im: z.im * g.im };
                        let share = unit.splat(if k == 0 { half } else { T::one() });
                        let sum = Lanes::load(unit, &sums, at);
                        Lanes {
                            re: (z.re * share).mul_add(scaled.re, sum.re),
                            im: (z.im * share).mul_add(scaled.im, sum.im),
                        }
                        .store(unit, &mut sums, at);
                        scaled
                    },
                );
                energy + widen(&mut sums)
            }
        }
    }
}

/// Returns the sum of a row's numbers, which are then zero.
#[inline(always)]
fn widen<T: Real>(sums: &mut Row<T>) -> f64 {
    let sum = sums.numbers().iter().map(|v| v.widen()).sum();
    *sums = T::ROW;
    sum
}

/// X\[k\] = ½(w·V\[k\] + w̄·V\[n−k\]), every one passed through `finish(k, lane, X)`.
#[inline(always)]
fn dct<V: Vector>(
    unit: Unit<V>,
    half_w: &[Complex<V::Number>],
    tile: &mut [Row<V::Number>],
    mut finish: impl FnMut(usize, usize, Lanes<V>) -> Lanes<V>,
) where
    V::Number: Real,
{
    let n = tile.len();
    for at in (0..<V::Number as Vectors>::LANES).step_by(V::LANES) {
        let z = Lanes::load(unit, &tile[0], at);
        finish(0, at, z).store(unit, &mut tile[0], at);
    }
    for k in 1..n.div_ceil(2) {
        let w = Lanes::splat(unit, half_w[k]);
        for at in (0..<V::Number as Vectors>::LANES).step_by(V::LANES) {
            let s = Lanes::load(unit, &tile[k], at).times(w);
            let t = Lanes::load(unit, &tile[n - k], at).times_conj(w);
            finish(k, at, s + t).store(unit, &mut tile[k], at);
            // j(s − t): the coefficient at n − k.
            let back = Lanes { re: t.im - s.im, im: s.re - t.re };
            finish(n - k, at, back).store(unit, &mut tile[n - k], at);
        }
    }
    if n.is_multiple_of(2) {
        let h = n / 2;
        let whole = unit.splat(half_w[h].re + half_w[h].re);
        for at in (0..<V::Number as Vectors>::LANES).step_by(V::LANES) {
            let z = Lanes::load(unit, &tile[h], at);
            finish(h, at, z.scaled(whole)).store(unit, &mut tile[h], at);
        }
    }
}

/// From coefficients to the input of an FFT that gives their IDCT, or the IDXST of `scale` times
/// them: ½w̄(z\[k\] − j·z\[n−k\]), real and imaginary parts exchanged, in the order the FFT takes.
struct Inverse<'a, T: Real> {
    half_w: &'a [Complex<T>],
    coefficients: &'a [Row<T>],
    wave: Wave,
    scale: Option<&'a [T]>,
    /// Row of the FFT's input that each number goes to.
    place: &'a [u32],
    tile: &'a mut [Row<T>],
}

impl<T: Real> SimdKernel<T> for Inverse<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Number = T>>(self, unit: Unit<V>) {
        match (self.wave, self.scale) {
            (Wave::Cosine, _) => self.convert::<V, false, false>(unit, &[]),
            (Wave::Sine, None) => self.convert::<V, true, false>(unit, &[]),
            (Wave::Sine, Some(scale)) => self.convert::<V, true, true>(unit, scale),
        }
    }
}

impl<T: Real> Inverse<'_, T> {
    #[inline(always)]
    fn convert<V: Vector<Number = T>, const SINE: bool, const SCALED: bool>(
        self,
        unit: Unit<V>,
        scale: &[T],
    ) {
        let Inverse { half_w, coefficients, place, tile, .. } = self;
        let n = coefficients.len();
        assert_eq!((place.len(), tile.len()), (n, n), "rows of a tile");
        let half = unit.splat(if SINE { T::zero() } else { T::cast(0.5) });
        for at in (0..T::LANES).step_by(V::LANES) {
            let z = Lanes::load(unit, &coefficients[0], at);
            z.exchanged().scaled(half).store(unit, &mut tile[place[0] as usize], at);
        }
        for k in 1..n.div_ceil(2) {
            let w = Lanes::splat(unit, half_w[k]);
            for at in (0..T::LANES).step_by(V::LANES) {
                let mut near = Lanes::load(unit, &coefficients[k], at);
                let mut far = Lanes::load(unit, &coefficients[n - k], at);
                if SCALED {
                    near = near.scaled(unit.splat(scale[k]));
                    far = far.scaled(unit.splat(scale[n - k]));
                }
                if SINE {
                    // The line backwards.
                    (near, far) = (far, near);
                }
                let (low, high) = (near.minus_j(far).times_conj(w), near.plus_j(far).times(w));
                low.exchanged().store(unit, &mut tile[place[k] as usize], at);
                high.exchanged().store(unit, &mut tile[place[n - k] as usize], at);
            }
        }
        if n.is_multiple_of(2) {
            let h = n / 2;
            let quarter = half_w[h].re + half_w[h].re;
            let factor = unit.splat(if SCALED { quarter * scale[h] } else { quarter });
            for at in (0..T::LANES).step_by(V::LANES) {
                let z = Lanes::load(unit, &coefficients[h], at);
                z.exchanged().scaled(factor).store(unit, &mut tile[place[h] as usize], at);
            }
        }
    }
}
