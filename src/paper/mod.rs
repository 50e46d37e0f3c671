//! Slower algorithms of a DCT, only for the paper's tables (`placefield bench`), which compare them
//! with this crate's plans.
//!
//! * [`Dct1d`]: one line by an FFT of 4N, 2N or N values (table IV).
//! * [`Dct2d`]: one map by the fused method, reordered by gather or scatter before the FFT
//!   (table II), with naive or efficient post-processing after it (table III).
//!
//! `paper::cuda` has the same algorithms for a GPU.
//!
//! The plans of [`cpu::transforms`](crate::cpu::transforms) and `cuda::transforms` use the fastest
//! algorithms.

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod bench;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod compress;
#[cfg(feature = "cuda")]
pub mod cuda;
mod fused;
mod longer;

pub use crate::transform::variants::{Algorithm1d, PostProcessing, Reorder};
pub use fused::{Dct2d, Fft2d};

use crate::cpu::transforms::{LengthError, Plan, ShapeError};
use crate::real::Real;
use crate::transform::{Transform1d, check_shape};
use longer::Longer;

/// The DCT of one line on the CPU by one of four algorithms.
pub struct Dct1d<T: Real>(Line<T>);

enum Line<T: Real> {
    NPoint(Box<Plan<T>>),
    Longer(Longer<T>),
}

impl<T: Real> Dct1d<T> {
    /// Plans the DCT of a line of `n` values.
    ///
    /// # Errors
    /// When `n` is zero or beyond any memory.
    pub fn new(n: usize, algorithm: Algorithm1d) -> Result<Self, ShapeError> {
        check_shape(&[n], 1)?;
        Ok(Dct1d(match algorithm {
            Algorithm1d::NPoint => Line::NPoint(Box::new(Plan::new(Transform1d::Dct, &[n])?)),
            longer => Line::Longer(Longer::new(n, longer)),
        }))
    }

    /// Computes `output = DCT(input)`, both `n` values.
    ///
    /// # Errors
    /// When a slice has another length.
    pub fn run(&mut self, input: &[T], output: &mut [T]) -> Result<(), LengthError> {
        match &mut self.0 {
            Line::NPoint(plan) => plan.run(input, output),
            Line::Longer(line) => line.run(input, output),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Map;
    use crate::transform::{Transform, oracle};

    fn values(count: usize) -> Vec<f64> {
        (0..count).map(|i| ((i * i * 31 + 7 * i) % 17) as f64 - 6.5).collect()
    }

    fn assert_close(got: &[f64], want: &[f64], what: &dyn std::fmt::Debug) {
        for (a, b) in got.iter().zip(want) {
            assert!((a - b).abs() < 1e-9, "{what:?}: {a} and {b}");
        }
    }

    #[test]
    fn every_algorithm_gives_the_dct() {
        for n in [1, 2, 3, 4, 7, 8, 9, 16, 31] {
            let (x, mut out) = (values(n), vec![f64::NAN; n]);
            for algorithm in Algorithm1d::ALL {
                Dct1d::new(n, algorithm).unwrap().run(&x, &mut out).unwrap();
                assert_close(&out, &oracle::dct(&x), &(n, algorithm));
            }
        }
        assert!(Dct1d::<f64>::new(0, Algorithm1d::FourN).is_err());
        let mut line = Dct1d::<f32>::new(4, Algorithm1d::FourN).unwrap();
        assert!(line.run(&[0.0; 5], &mut [0.0; 4]).is_err());
    }

    /// Shapes that reach whole panels and parts of one, and columns that are their own mirrors.
    #[test]
    fn every_choice_of_stages_gives_the_dct() {
        let shapes = [(1, 1), (2, 35), (3, 36), (18, 5), (5, 37), (1, 64), (13, 31)];
        for (nx, ny) in shapes.into_iter().take(if cfg!(miri) { 3 } else { 7 }) {
            let (x, mut out) = (values(nx * ny), vec![f64::NAN; nx * ny]);
            let want = oracle::transform2(Transform::Dct, &Map::from_vec(nx, ny, x.clone()));
            for reorder in Reorder::ALL {
                for post in PostProcessing::ALL {
                    Dct2d::new([nx, ny], reorder, post).unwrap().run(&x, &mut out).unwrap();
                    assert_close(&out, want.as_slice(), &(nx, ny, reorder, post));
                }
            }
        }
        assert!(Dct2d::<f64>::new([0, 4], Reorder::Wide, PostProcessing::Naive).is_err());
    }
}
