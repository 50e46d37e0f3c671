//! The slower forms of a DCT that the paper's tables compare with those of this crate's plans: for
//! these tables (`placefield bench`), and of no use elsewhere.
//!
//! * [`Dct1d`]: one line by an FFT of 4N, 2N or N values (table IV).
//! * [`Dct2d`]: one map by the fused method, reordered by gather or scatter before the FFT
//!   (table II), with naive or efficient post-processing after it (table III).
//!
//! On a device `paper::cuda` has the same.
//!
//! The plans of [`cpu::transforms`](crate::cpu::transforms) and `cuda::transforms` have the fastest
//! form of each.

#[cfg(feature = "cuda")]
pub mod cuda;
mod longer;

pub use crate::transform::variants::{Algorithm1d, PostProcessing, Reorder};

use crate::cpu::transforms::{FusedMaps, LengthError, Plan1d, Scratch, ShapeError, Threshold};
use crate::real::Real;
use crate::transform::{Transform1d, check_length, check_shape};
use longer::Longer;

/// The DCT of one line on the CPU by one of four algorithms.
pub struct Dct1d<T: Real>(Line<T>);

enum Line<T: Real> {
    NPoint(Plan1d<T>),
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
            Algorithm1d::NPoint => Line::NPoint(Plan1d::new(Transform1d::Dct, n)?),
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

/// The DCT of one map on the CPU by the fused method, as it lies, with its stages chosen.
pub struct Dct2d<T: Real> {
    values: usize,
    maps: FusedMaps<T>,
    reorder: Reorder,
    post: PostProcessing,
    scratch: Scratch<T>,
}

impl<T: Real> Dct2d<T> {
    /// Plans the DCT of a map of `nx × ny` values, for the pool this is called in.
    ///
    /// # Errors
    /// When `nx` or `ny` is zero or they are beyond any memory.
    pub fn new(
        [nx, ny]: [usize; 2],
        reorder: Reorder,
        post: PostProcessing,
    ) -> Result<Self, ShapeError> {
        let values = check_shape(&[nx, ny], 1)?;
        let maps = FusedMaps::new(nx, ny);
        let scratch = Scratch::for_this_pool(maps.scratch_len(1))?;
        Ok(Dct2d { values, maps, reorder, post, scratch })
    }

    /// Computes `output = DCT2(input)`, both `nx × ny` values.
    ///
    /// # Errors
    /// When a slice has another length.
    pub fn run(&mut self, input: &[T], output: &mut [T]) -> Result<(), LengthError> {
        check_length("input", self.values, input.len())?;
        check_length("output", self.values, output.len())?;
        let Dct2d { maps, scratch, .. } = self;
        let parts = scratch.parts();
        match self.reorder {
            Reorder::Gather => maps.rows_in::<true, T>(input, parts.shared, parts.threads),
            _ => maps.rows_in::<false, T>(input, parts.shared, parts.threads),
        }
        match self.post {
            PostProcessing::Naive => {
                maps.panels_out::<true>(parts.shared, &Threshold::none(), output, parts.threads);
            }
            PostProcessing::Efficient => {
                maps.panels_out::<false>(parts.shared, &Threshold::none(), output, parts.threads);
            }
        }
        Ok(())
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
