//! Two dimensions.

use super::coefficients::Threshold;
use super::maps::MapBatch;
use super::scratch::Scratch;
use crate::real::Real;
use crate::transform::{
    InputElement, LengthError, Method, ShapeError, Transform, check_length, check_shape,
};

/// A plan for transforms of `batch` maps of `nx × ny` values, y contiguous.
pub struct Plan2d<T: Real> {
    shape: [usize; 2],
    batch: usize,
    method: Method,
    maps: MapBatch<T>,
    scratch: Scratch<T>,
}

impl<T: Real> Plan2d<T> {
    /// Plans `kind` of one map of `nx × ny` values by the fastest method.
    ///
    /// # Errors
    /// See [`Plan2d::batched`].
    pub fn new(kind: Transform, nx: usize, ny: usize) -> Result<Self, ShapeError> {
        Plan2d::batched(kind, nx, ny, Method::default(), 1)
    }

    /// Plans `kind` of `batch` maps of `nx × ny` values, one after the other in
    /// memory, for the pool this is called in.
    ///
    /// # Errors
    /// When `nx`, `ny` or `batch` is zero, or there is not enough memory.
    pub fn batched(
        kind: Transform,
        nx: usize,
        ny: usize,
        method: Method,
        batch: usize,
    ) -> Result<Self, ShapeError> {
        let shape = [nx, ny];
        check_shape(&shape, batch)?;
        let maps = MapBatch::new(kind, shape, method, batch);
        let scratch = Scratch::for_this_pool(maps.scratch_len())?;
        Ok(Plan2d { shape, batch, method, maps, scratch })
    }

    /// Returns the transform.
    pub fn kind(&self) -> Transform {
        self.maps.kind()
    }

    /// Returns `[nx, ny]`.
    pub fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// Returns the number of maps.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Returns how it computes.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Computes `output = kind(input)`, both `batch × nx × ny` values.
    ///
    /// # Errors
    /// When a slice has another length.
    pub fn run<S: InputElement>(
        &mut self,
        input: &[S],
        output: &mut [T],
    ) -> Result<(), LengthError> {
        self.run_thresholded(input, T::zero(), output)
    }

    /// Runs the plan as [`Plan2d::run`] does, with every coefficient of a magnitude below
    /// `threshold` counted as zero, in the post-processing of a DCT and in the pre-processing of an
    /// inverse (Jiang, Gu and Pan, §V-A).
    ///
    /// Coefficients are in the scaling of [`Transform`]: unnormalised sums.
    ///
    /// # Errors
    /// See [`Plan2d::run`].
    pub fn run_thresholded<S: InputElement>(
        &mut self,
        input: &[S],
        threshold: T,
        output: &mut [T],
    ) -> Result<(), LengthError> {
        let values = self.batch * self.maps.size();
        check_length("input", values, input.len())?;
        check_length("output", values, output.len())?;
        self.maps.run(input, &Threshold(threshold), output, &mut self.scratch.parts());
        Ok(())
    }
}
