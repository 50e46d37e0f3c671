//! Steps on the lines of a tile before and after the FFTs, a vector of them at a time.

use super::Waves;
use crate::cpu::matrix::{AHEAD, Block};
use crate::cpu::simd::{Row, SimdKernel, Unit, Vector, Vectors};
use crate::cpu::solve::lane_fft::Lanes;
use crate::real::Real;
use crate::transform::permutation;
use num_complex::Complex;

/// Rows that are added up in working precision before their sum is widened.
const TOGETHER: usize = 16;

/// The DCTs of packed lines from their FFT, in place; with `green` each times Green's function.
/// Returns Σ X²·G of all coefficients, that of k = 0 halved, without the normalisation of the other
/// axis.
pub(super) struct Dct<'a, T: Real> {
    /// `½e^{−jπk/2n}`, k = 0 … n/2.
    pub(super) half_w: &'a [Complex<T>],
    pub(super) tile: &'a mut [Row<T>],
    pub(super) green: Option<Green<'a, T>>,
}

/// Green's function of lines along one axis: `normalisation / (across + along)`.
pub(super) struct Green<'a, T: Real> {
    /// Squared wavenumbers of the two lines of every lane, none of them zero.
    pub(super) across: &'a Row<T>,
    /// Squared wavenumber of every coefficient.
    pub(super) along: &'a [T],
    pub(super) normalisation: T,
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
                let (mut added, half) = (0, T::of(0.5));
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
    let sum = sums.numbers().iter().map(|v| v.wide()).sum();
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

/// From coefficients to the input of an FFT that gives their IDCT, or the IDXST of `sine` times
/// them: ½w̄(z\[k\] − j·z\[n−k\]), real and imaginary parts exchanged, in the order the FFT takes.
pub(super) struct Inverse<'a, T: Real> {
    pub(super) half_w: &'a [Complex<T>],
    pub(super) coefficients: &'a [Row<T>],
    /// For the IDXST the wavenumbers.
    pub(super) wave: Waves<'a, T>,
    /// Row of the FFT's input that each number goes to.
    pub(super) place: &'a [u32],
    pub(super) tile: &'a mut [Row<T>],
}

impl<T: Real> SimdKernel<T> for Inverse<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Number = T>>(self, unit: Unit<V>) {
        match self.wave {
            Waves::Cosine => self.convert::<V, false>(unit, &[]),
            Waves::Sine(w) => self.convert::<V, true>(unit, w),
        }
    }
}

impl<T: Real> Inverse<'_, T> {
    #[inline(always)]
    fn convert<V: Vector<Number = T>, const SINE: bool>(self, unit: Unit<V>, waves: &[T]) {
        let Inverse { half_w, coefficients, place, tile, .. } = self;
        let n = coefficients.len();
        assert_eq!((place.len(), tile.len()), (n, n), "rows of a tile");
        let half = unit.splat(if SINE { T::zero() } else { T::of(0.5) });
        for at in (0..T::LANES).step_by(V::LANES) {
            let z = Lanes::load(unit, &coefficients[0], at);
            z.exchanged().scaled(half).store(unit, &mut tile[place[0] as usize], at);
        }
        for k in 1..n.div_ceil(2) {
            let w = Lanes::splat(unit, half_w[k]);
            for at in (0..T::LANES).step_by(V::LANES) {
                let mut near = Lanes::load(unit, &coefficients[k], at);
                let mut far = Lanes::load(unit, &coefficients[n - k], at);
                if SINE {
                    // The line backwards.
                    let (here, there) = (unit.splat(waves[k]), unit.splat(waves[n - k]));
                    (near, far) = (far.scaled(there), near.scaled(here));
                }
                let (low, high) = (near.minus_j(far).times_conj(w), near.plus_j(far).times(w));
                low.exchanged().store(unit, &mut tile[place[k] as usize], at);
                high.exchanged().store(unit, &mut tile[place[n - k] as usize], at);
            }
        }
        if n.is_multiple_of(2) {
            let h = n / 2;
            let quarter = half_w[h].re + half_w[h].re;
            let factor = unit.splat(if SINE { quarter * waves[h] } else { quarter });
            for at in (0..T::LANES).step_by(V::LANES) {
                let z = Lanes::load(unit, &coefficients[h], at);
                z.exchanged().scaled(factor).store(unit, &mut tile[place[h] as usize], at);
            }
        }
    }
}

/// Writes the lines of an inverse's tile, parts exchanged, to as many columns of a map.
pub(super) struct Write<'a, 'b, T: Real> {
    pub(super) tile: &'a [Row<T>],
    /// Odd samples are negated.
    pub(super) sine: bool,
    /// Past the caches, where columns are whole cache lines.
    pub(super) streamed: bool,
    pub(super) to: &'a mut Block<'b, T>,
}

impl<T: Real> SimdKernel<T> for Write<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Number = T>>(self, unit: Unit<V>) {
        let Write { tile, sine, streamed, to } = self;
        let line = size_of::<Row<T>>() / 2;
        let streamed = streamed && to.begins_at_multiples_of(line);
        for x in 0..tile.len() {
            let row = tile[permutation::position(x, tile.len())].numbers();
            let sign = if sine && x % 2 == 1 { -T::one() } else { T::one() };
            if !streamed {
                to.prefetch(x + AHEAD);
            }
            let to = to.row(x);
            if to.len() < 2 * T::LANES {
                let numbers = row[T::LANES..].iter().chain(row);
                to.iter_mut().zip(numbers).for_each(|(to, &v)| *to = sign * v);
                continue;
            }
            let sign = unit.splat(sign);
            for at in (0..2 * T::LANES).step_by(V::LANES) {
                let exchanged = unit.load(row, (at + T::LANES) % (2 * T::LANES)) * sign;
                match streamed {
                    // SAFETY: the fence follows.
                    true => unsafe { unit.stream(exchanged, to, at) },
                    false => unit.store(exchanged, to, at),
                }
            }
        }
        if streamed {
            V::fence();
        }
    }
}
