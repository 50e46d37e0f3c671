//! Counting what the two forms of a 2-D DCT's post-processing do.
//!
//! Both forms are written down once more over a number that counts the operations done with it, and
//! run on a whole spectrum: the counts are those of the formulas, before a compiler or a processor
//! makes fused multiply-additions of them. The factor 2 (here ½) in front of each output is left
//! out, as the paper leaves it out of its counts.

use crate::cli::paper::printed::Operations;
use crate::transform::twiddle::quarter_wave;
use num_complex::Complex;
use std::cell::Cell;
use std::ops::{Add, Mul, Neg, Sub};

thread_local! {
    static MULTIPLICATIONS: Cell<usize> = const { Cell::new(0) };
    static ADDITIONS: Cell<usize> = const { Cell::new(0) };
}

fn count(counter: &'static std::thread::LocalKey<Cell<usize>>) {
    counter.with(|c| c.set(c.get() + 1));
}

/// A real number that counts what is done with it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counted(f64);

impl Mul for Counted {
    type Output = Counted;
    fn mul(self, by: Counted) -> Counted {
        count(&MULTIPLICATIONS);
        Counted(self.0 * by.0)
    }
}

impl Add for Counted {
    type Output = Counted;
    fn add(self, other: Counted) -> Counted {
        count(&ADDITIONS);
        Counted(self.0 + other.0)
    }
}

impl Sub for Counted {
    type Output = Counted;
    fn sub(self, other: Counted) -> Counted {
        count(&ADDITIONS);
        Counted(self.0 - other.0)
    }
}

/// A change of sign is part of the addition that follows, and no operation.
impl Neg for Counted {
    type Output = Counted;
    fn neg(self) -> Counted {
        Counted(-self.0)
    }
}

#[derive(Clone, Copy)]
struct Pair {
    re: Counted,
    im: Counted,
}

impl Pair {
    fn conj(self) -> Pair {
        Pair { re: self.re, im: -self.im }
    }

    fn times(self, by: Pair) -> Pair {
        Pair { re: self.re * by.re - self.im * by.im, im: self.re * by.im + self.im * by.re }
    }

    /// Returns the real part of a product alone.
    fn real_of_times(self, by: Pair) -> Counted {
        self.re * by.re - self.im * by.im
    }

    fn plus(self, other: Pair) -> Pair {
        Pair { re: self.re + other.re, im: self.im + other.im }
    }

    fn minus(self, other: Pair) -> Pair {
        Pair { re: self.re - other.re, im: self.im - other.im }
    }
}

/// The onesided spectrum of an `n1 × n2` map, with its reads counted.
struct Spectrum<'a> {
    values: &'a [Complex<f64>],
    n1: usize,
    n2: usize,
    reads: Cell<usize>,
}

impl Spectrum<'_> {
    /// Returns `V[u mod n1][v]`, from its mirror image where the spectrum does not hold it.
    fn read(&self, u: usize, v: usize) -> Pair {
        self.reads.set(self.reads.get() + 1);
        let (u, half) = (u % self.n1, self.n2 / 2 + 1);
        let (row, column) = if v < half { (u, v) } else { ((self.n1 - u) % self.n1, self.n2 - v) };
        let value = self.values[row * half + column];
        let pair = Pair { re: Counted(value.re), im: Counted(value.im) };
        if v < half { pair } else { pair.conj() }
    }
}

/// Returns `e^{−jπk/2n}` for k = 0 … n.
fn factors(n: usize) -> Vec<Pair> {
    let pair = |w: Complex<f64>| Pair { re: Counted(w.re), im: Counted(w.im) };
    quarter_wave(n).into_iter().map(pair).collect()
}

/// Algorithm 2's post-processing as printed, an output at a time, without its factor 2.
fn naive(spectrum: &Spectrum<'_>, out: &mut [f64]) {
    let (n1, n2) = (spectrum.n1, spectrum.n2);
    let (a, b) = (factors(n1), factors(n2));
    for u in 0..n1 {
        for v in 0..n2 {
            let (p, q) = (spectrum.read(u, v), spectrum.read(n1 - u, v));
            let sum = a[u].times(p).plus(a[u].conj().times(q));
            out[u * n2 + v] = b[v].real_of_times(sum).0;
        }
    }
}

/// Four outputs from two complex numbers (section "Efficient Postprocessing"),
/// without the factor 2. `n1` and `n2` are even, as in table III.
fn efficient(spectrum: &Spectrum<'_>, out: &mut [f64]) {
    let (n1, n2) = (spectrum.n1, spectrum.n2);
    let (a, b) = (factors(n1), factors(n2));
    let mut put = |u: usize, v: usize, value: Counted| {
        // The mirror images of row 0 and column 0 lie outside the map.
        if u < n1 && v < n2 {
            out[u * n2 + v] = value.0;
        }
    };
    for (u, &a) in a.iter().enumerate().take(n1 / 2 + 1) {
        for (v, &b) in b.iter().enumerate().take(n2 / 2 + 1) {
            let (p, q) = (spectrum.read(u, v), spectrum.read(n1 - u, v));
            let (ap, aq) = (a.times(p), a.conj().times(q));
            let (s, t) = (b.times(ap.plus(aq)), b.times(ap.minus(aq)));
            put(n1 - u, n2 - v, -t.re);
            put(n1 - u, v, -t.im);
            put(u, n2 - v, -s.im);
            put(u, v, s.re);
        }
    }
}

/// A form of the post-processing: from a spectrum to twice the coefficients.
type Form = fn(&Spectrum<'_>, &mut [f64]);

fn counts(form: Form, values: &[Complex<f64>], [n1, n2]: [usize; 2]) -> (Operations, Vec<f64>) {
    let spectrum = Spectrum { values, n1, n2, reads: Cell::new(0) };
    let mut out = vec![0.0; n1 * n2];
    let start = (MULTIPLICATIONS.get(), ADDITIONS.get());
    form(&spectrum, &mut out);
    let per = |n: usize| n as f64 / (n1 * n2) as f64;
    let operations = Operations {
        reads: per(spectrum.reads.get()),
        multiplications: per(MULTIPLICATIONS.get() - start.0),
        additions: per(ADDITIONS.get() - start.1),
    };
    (operations, out)
}

/// Returns the operations per output element of the naive and of the efficient form, counted over a
/// map of `n × n`, n even. The borders, where fewer than four outputs come of a thread, add O(1/n)
/// to the second.
pub fn operations(n: usize) -> [Operations; 2] {
    let spectrum: Vec<Complex<f64>> =
        (0..n * (n / 2 + 1)).map(|k| Complex::new(k as f64, 1.0)).collect();
    [naive as Form, efficient].map(|form| counts(form, &spectrum, [n, n]).0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::paper::printed::{EFFICIENT, NAIVE};
    use crate::grid::Map;
    use crate::transform::{Transform, oracle, permutation};
    use std::f64::consts::TAU;

    /// Returns the onesided DFT of a map reordered along both axes, directly.
    fn spectrum(x: &[f64], [n1, n2]: [usize; 2]) -> Vec<Complex<f64>> {
        let mut out = Vec::new();
        for u in 0..n1 {
            for v in 0..=n2 / 2 {
                let mut sum = Complex::new(0.0, 0.0);
                for p in 0..n1 {
                    for q in 0..n2 {
                        let turns = (u * p) as f64 / n1 as f64 + (v * q) as f64 / n2 as f64;
                        let value = x[permutation::sample(p, n1) * n2 + permutation::sample(q, n2)];
                        sum += Complex::from_polar(value, -TAU * turns);
                    }
                }
                out.push(sum);
            }
        }
        out
    }

    #[test]
    fn both_counted_forms_compute_the_dct() {
        let shape = [6, 4];
        let x: Vec<f64> = (0..24).map(|k| f64::from(k * k % 17) - 3.0).collect();
        let spectrum = spectrum(&x, shape);
        let want = oracle::transform2(Transform::Dct, &Map::from_vec(6, 4, x));
        for form in [naive as Form, efficient] {
            let (_, got) = counts(form, &spectrum, shape);
            for (got, want) in got.iter().zip(want.as_slice()) {
                assert!((0.5 * got - want).abs() < 1e-12, "{got} {want}");
            }
        }
    }

    #[test]
    fn operation_counts_match_the_paper() {
        let [naive, efficient] = operations(256);
        assert_eq!(naive, NAIVE);
        for (got, want) in [
            (efficient.reads, EFFICIENT.reads),
            (efficient.multiplications, EFFICIENT.multiplications),
            (efficient.additions, EFFICIENT.additions),
        ] {
            assert!(got >= want && got < 1.02 * want, "{got} {want}");
        }
    }
}
