//! Three dimensions.

use super::plan_nd::PlanNd;
use crate::real::Real;
use crate::transform::{InputElement, LengthError, Method, ShapeError, TransformNd};

/// A plan for transforms of `batch` volumes of `[n0][n1][n2]` values, the last axis contiguous:
/// by one 3-D FFT, or one axis after the other.
pub struct Plan3d<T: Real> {
    shape: [usize; 3],
    plan: PlanNd<T>,
}

impl<T: Real> Plan3d<T> {
    /// Plans `kind` of one volume of `shape`, slowest axis first, by the default method.
    ///
    /// # Errors
    /// See [`Plan3d::batched`].
    pub fn new(kind: TransformNd, shape: [usize; 3]) -> Result<Self, ShapeError> {
        Plan3d::batched(kind, shape, Method::default(), 1)
    }

    /// Plans `kind` of `batch` volumes of `shape`, slowest axis first, for the pool this is
    /// called in.
    ///
    /// # Errors
    /// When a size or the batch is zero, or there is not enough memory.
    pub fn batched(
        kind: TransformNd,
        shape: [usize; 3],
        method: Method,
        batch: usize,
    ) -> Result<Self, ShapeError> {
        Ok(Plan3d { shape, plan: PlanNd::batched(kind, &shape, method, batch)? })
    }

    /// Returns the transform.
    pub fn kind(&self) -> TransformNd {
        self.plan.kind()
    }

    /// Returns the sizes, slowest axis first.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Returns the number of volumes.
    pub fn batch(&self) -> usize {
        self.plan.batch()
    }

    /// Returns how it computes.
    pub fn method(&self) -> Method {
        self.plan.method()
    }

    /// Computes `output = kind(input)`, both `batch × n0 × n1 × n2` values.
    ///
    /// # Errors
    /// When a slice has another length.
    pub fn run<S: InputElement>(
        &mut self,
        input: &[S],
        output: &mut [T],
    ) -> Result<(), LengthError> {
        self.plan.run(input, output)
    }
}
