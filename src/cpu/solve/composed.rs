//! A solve composed of single transforms, of any number of axes: one DCT, then an inverse for the
//! potential and one for the field along each axis. The last pass of the DCT multiplies by Green's
//! function, and the first pass of an inverse by the wavenumbers.

use crate::cpu::simd::{Row, vectorised};
use crate::cpu::transforms::Pipeline;
use crate::cpu::transforms::coefficients::{AlongFirst, AlongOthers, Modify, Unchanged};
use crate::cpu::transforms::scratch::Threads;
use crate::memory::filled;
use crate::parallel::{self, chunks, each_mut};
use crate::real::Real;
use crate::spectral::Spectrum;
use crate::transform::fft::Ways;
use crate::transform::{Method, TransformNd};

/// Plans, tables and buffers for one shape.
pub(super) struct Composed<T: Real> {
    transforms: Pipeline<T>,
    panels: Vec<Row<T>>,
    threads: Threads<T>,
    green: ArrayGreen<T>,
    /// The wavenumbers along the first axis, and those along each other one for every place among
    /// the values with one index along the first.
    first: Vec<T>,
    others: Vec<Vec<T>>,
    /// DCT of ρ, times Green's function.
    spectrum: Vec<T>,
    /// Σ φ·ρ for every index along the first axis.
    energy: Vec<f64>,
}

/// Green's function: `normalisation / (first + others)`.
struct ArrayGreen<T> {
    first: Vec<T>,
    others: Vec<T>,
    normalisation: T,
}

impl<T: Real> Modify<T> for ArrayGreen<T> {
    #[inline(always)]
    fn apply(&self, u: usize, j: usize, values: &mut [T]) {
        let first = self.first[u];
        let others = &self.others[j..][..values.len()];
        for (value, &others) in values.iter_mut().zip(others) {
            let square = first + others;
            // Only (0, 0, …) has no wavenumber: the mean, which is dropped.
            *value *= if square > T::zero() { self.normalisation / square } else { T::zero() };
        }
    }
}

impl<T: Real> Composed<T> {
    pub(super) fn new(spectrum: &Spectrum, method: Method, threads: usize) -> Self {
        let (first, waves) = spectrum.waves().split_first().expect("a grid has an axis");
        let shape: Vec<usize> = spectrum.waves().iter().map(Vec::len).collect();
        let inner: usize = shape[1..].iter().product();
        let other = |axis: usize| -> Vec<f64> {
            let (n, inner_of): (usize, usize) = (shape[axis], shape[axis + 1..].iter().product());
            (0..inner).map(|j| waves[axis - 1][j / inner_of % n]).collect()
        };
        let others: Vec<Vec<f64>> = (1..shape.len()).map(other).collect();
        let sum = |j: usize| others.iter().map(|w| w[j] * w[j]).sum::<f64>();
        let rounded = |w: &[f64]| w.iter().map(|&w| T::cast(w)).collect();
        let transforms = Pipeline::new(&shape, 1, method, Ways::Both);
        Composed {
            panels: filled(transforms.rows(), T::ROW),
            threads: transforms.scratch_len().threads(threads),
            transforms,
            green: ArrayGreen {
                first: first.iter().map(|w| T::cast(w * w)).collect(),
                others: (0..inner).map(|j| T::cast(sum(j))).collect(),
                normalisation: T::cast(spectrum.normalisation()),
            },
            first: rounded(first),
            others: others.iter().map(|w| rounded(w)).collect(),
            spectrum: filled(shape[0] * inner, T::zero()),
            energy: vec![0.0; shape[0]],
        }
    }

    /// The DCT of ρ, times Green's function.
    pub(super) fn forward(&mut self, rho: &[T]) {
        let Composed { transforms, panels, threads, green, spectrum, .. } = self;
        transforms.run(TransformNd::Dct, Some(rho), spectrum, green, panels, threads);
    }

    /// The potential, and the field along every axis; returns Σ φ·ρ.
    pub(super) fn inverse(
        &mut self,
        rho: &[T],
        potential: &mut [T],
        field: &mut [&mut [T]],
    ) -> f64 {
        let Composed { transforms, panels, threads, first, others, spectrum, energy, .. } = self;
        let from = Some(&spectrum[..]);
        transforms.run(TransformNd::Idct, from, potential, &Unchanged, panels, threads);
        for (axis, field) in field.iter_mut().enumerate() {
            let kind = TransformNd::Idxst(axis);
            match axis.checked_sub(1) {
                None => transforms.run(kind, from, field, &AlongFirst(first), panels, threads),
                Some(other) => {
                    let by = AlongOthers(&others[other]);
                    transforms.run(kind, from, field, &by, panels, threads);
                }
            }
        }
        let inner = rho.len() / energy.len();
        let parts = (each_mut(energy), chunks(rho, inner), chunks(potential, inner));
        parallel::for_each(parts, |_, (sum, rho, potential)| {
            *sum = vectorised(
                #[inline(always)]
                || dot(rho, potential),
            );
        });
        // Part by part and then over parts: the same for any number of threads.
        energy.iter().sum()
    }
}

/// Returns Σ a·b in `f64`. Eight running sums, so that the additions overlap.
#[inline(always)]
fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = a.remainder().iter().zip(b.remainder());
    let rest: f64 = rest.map(|(a, b)| a.widen() * b.widen()).sum();
    let mut sums = [0.0; 8];
    for (a, b) in a.zip(b) {
        for i in 0..8 {
            sums[i] += a[i].widen() * b[i].widen();
        }
    }
    sums.iter().sum::<f64>() + rest
}
