//! Any number of dimensions.

use super::rounds::Rounds;
use super::scratch::Scratch;
use crate::real::Real;
use crate::transform::{
    InputElement, LengthError, Method, ShapeError, TransformNd, check_length, check_shape,
};

/// A plan for transforms of `batch` arrays of one or more dimensions, the last axis contiguous.
///
/// The fused method takes two axes at a time and three where one would be left
/// over (four dimensions are two rounds of two); row-column takes one.
pub struct PlanNd<T: Real> {
    kind: TransformNd,
    shape: Vec<usize>,
    batch: usize,
    method: Method,
    rounds: Rounds<T>,
    scratch: Scratch<T>,
}

impl<T: Real> PlanNd<T> {
    /// Plans `kind` of one array of `shape`, slowest axis first, by the default method.
    ///
    /// # Errors
    /// See [`PlanNd::batched`].
    pub fn new(kind: TransformNd, shape: &[usize]) -> Result<Self, ShapeError> {
        PlanNd::batched(kind, shape, Method::default(), 1)
    }

    /// Plans `kind` of `batch` arrays of `shape`, slowest axis first, for the pool this is
    /// called in.
    ///
    /// # Errors
    /// When there is no axis, a size or the batch is zero, or there is not enough memory.
    pub fn batched(
        kind: TransformNd,
        shape: &[usize],
        method: Method,
        batch: usize,
    ) -> Result<Self, ShapeError> {
        check_shape(shape, batch)?;
        let rounds = Rounds::new(kind, shape, method, batch);
        let scratch = Scratch::for_this_pool(rounds.scratch_len())?;
        Ok(PlanNd { kind, shape: shape.to_vec(), batch, method, rounds, scratch })
    }

    /// Returns the transform.
    pub fn kind(&self) -> TransformNd {
        self.kind
    }

    /// Returns the sizes, slowest axis first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the number of arrays.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Returns how it computes.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Returns the dimensions of every round in their order, last axes first.
    pub fn rounds(&self) -> Vec<usize> {
        self.rounds.dimensions().collect()
    }

    /// Computes `output = kind(input)`, both `batch` times the shape's values.
    ///
    /// # Errors
    /// When a slice has another length.
    pub fn run<S: InputElement>(
        &mut self,
        input: &[S],
        output: &mut [T],
    ) -> Result<(), LengthError> {
        let values = self.rounds.values();
        check_length("input", values, input.len())?;
        check_length("output", values, output.len())?;
        self.rounds.run(input, output, &mut self.scratch.parts());
        Ok(())
    }
}
