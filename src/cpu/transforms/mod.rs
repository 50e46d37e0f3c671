//! The transforms as a library: DCT, IDCT and IDXST of arrays of any rank.
//!
//! A [`Plan`] is made once for a kind, a shape and a batch. [`Plan::new`] makes a plan of one
//! transform by the fastest method; [`Plan::batched`] has options and makes plans of several
//! transforms. Input may be integers (see [`InputElement`]) and is not changed. The
//! [crate's table](crate#the-transforms-and-their-scaling) has definitions and scalings.
//! `cuda::transforms` has the same plans for a GPU.
//!
//! ```
//! use placefield::cpu::transforms::Plan;
//! use placefield::transform::Transform;
//!
//! let (nx, ny) = (3, 4);
//! let mut dct = Plan::<f64>::new(Transform::Dct, &[nx, ny])?;
//! let mut idct = Plan::<f64>::new(Transform::Idct, &[nx, ny])?;
//!
//! let pixels: [u8; 12] = [9, 0, 3, 255, 17, 4, 80, 2, 1, 1, 0, 30];
//! let (mut spectrum, mut back) = ([0.0; 12], [0.0; 12]);
//! dct.run(&pixels, &mut spectrum)?;
//! idct.run(&spectrum, &mut back)?;
//!
//! assert!((spectrum[0] - 402.0).abs() < 1e-12); // the sum
//! let scale = (nx * ny) as f64 / 4.0;
//! assert!(back.iter().zip(pixels).all(|(b, p)| (b / scale - f64::from(p)).abs() < 1e-12));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

//!
//! # Method
//! All axes and ranks use the same code, with one pass over memory for each axis (`pass`). A task
//! loads lines into a *tile*, one line into each lane of the widest vectors (`tile`). It transforms
//! them by one FFT (`LaneFft`) with pre- or post-processing (`axis`) and stores them.
//! [`Method`] composes the passes: `row_column` transforms along one axis after the other,
//! and `fused` is one real FFT of all axes between pre- and post-processing.

pub(super) mod axis;
pub(super) mod coefficients;
mod fused;
mod pass;
mod pipeline;
mod row_column;
pub(super) mod scratch;
#[cfg(test)]
mod tests;
mod tile;

pub use crate::transform::{InputElement, LengthError, Method, ShapeError};
pub(super) use pipeline::Pipeline;

use crate::cpu::simd::Row;
use crate::memory::{filled, require};
use crate::parallel::{self, chunks, chunks_mut};
use crate::real::{Real, in_type};
use crate::transform::{TransformNd, check_kind, check_length, check_shape};
use coefficients::{Modify, Threshold, Unchanged};
use scratch::Threads;

/// Values of the arrays that go through the passes together: small arrays in groups, so that every
/// pass has work for all threads.
const GROUP: usize = 1 << 20;

/// Values that a task converts.
const VALUES: usize = 1 << 16;

/// A plan for transforms of `batch` arrays of one shape, the last axis contiguous.
///
/// It owns its tables and its working memory, for the threads that it was planned for
/// ([`Plan::threads`]). A run spreads its work over as many of the rayon pool it is called in and
/// allocates nothing.
pub struct Plan<T: Real> {
    kind: TransformNd,
    shape: Vec<usize>,
    batch: usize,
    method: Method,
    /// Values of the arrays that go through the passes together.
    group: usize,
    pipeline: Pipeline<T>,
    panels: Vec<Row<T>>,
    threads: Threads<T>,
}

// A plan may go to another thread.
const _: () = {
    const fn sent<P: Send + Sync>() {}
    sent::<Plan<f32>>();
};

impl<T: Real> Plan<T> {
    /// Plans `kind` of one array of `shape`, slowest axis first, by the fastest method.
    ///
    /// # Errors
    /// See [`Plan::batched`].
    pub fn new(kind: impl Into<TransformNd>, shape: &[usize]) -> Result<Self, ShapeError> {
        Plan::batched(kind, shape, Method::default(), 1)
    }

    /// Plans `kind` of `batch` arrays of `shape`, slowest axis first, one after the other in memory,
    /// for the pool this is called in.
    ///
    /// # Errors
    /// When there is no axis, a size or the batch is zero, the axis of an IDXST is not one of them,
    /// or there is not enough memory.
    pub fn batched(
        kind: impl Into<TransformNd>,
        shape: &[usize],
        method: Method,
        batch: usize,
    ) -> Result<Self, ShapeError> {
        Plan::for_threads(kind, shape, method, batch, 0)
    }

    /// Plans as [`Plan::batched`] does, for `threads` threads, or for 0 of as many as the pool has
    /// that this is called in. With one thread all work is done by the thread that calls
    /// [`Plan::run`], whatever pool it is in. Results do not depend on the number of threads.
    ///
    /// # Errors
    /// See [`Plan::batched`].
    pub fn for_threads(
        kind: impl Into<TransformNd>,
        shape: &[usize],
        method: Method,
        batch: usize,
        threads: usize,
    ) -> Result<Self, ShapeError> {
        let kind = kind.into();
        let values = check_shape(shape, batch)?;
        check_kind(kind, shape)?;
        let size = values / batch;
        let arrays = (GROUP / size).clamp(1, batch);
        let pipeline = Pipeline::new(shape, arrays, method, kind.ways());
        let rows = arrays * pipeline.rows();
        let threads = if threads == 0 { parallel::threads() } else { threads };
        let (bytes, len) = ((rows * size_of::<Row<T>>()) as u64, pipeline.scratch_len());
        require("the arrays of the plan", bytes.saturating_add(len.bytes::<T>(threads)))?;
        Ok(Plan {
            kind,
            shape: shape.to_vec(),
            batch,
            method,
            group: arrays * size,
            pipeline,
            panels: filled(rows, T::ROW),
            threads: len.threads(threads),
        })
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

    /// Returns the number of threads that it has working memory for: one is the caller alone, more
    /// are those of the pool that a run is called in.
    pub fn threads(&self) -> usize {
        self.threads.count()
    }

    /// Returns how it was to be computed.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Returns how it is computed: [`Method::RowColumn`], which is the fastest and also takes what
    /// [`Method::Fused`] does not (one axis, last axes of less than a vector, axes of more than
    /// 65536 values), or [`Method::Fused`].
    pub fn computed_by(&self) -> Method {
        self.pipeline.method()
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
        self.run_changed(input, &Unchanged, output)
    }

    /// Runs the plan as [`Plan::run`] does, with every coefficient of a magnitude below `threshold`
    /// counted as zero, as a DCT writes it and as an inverse reads it (Jiang, Gu and Pan, §V-A).
    ///
    /// Coefficients are in the scaling of [`Transform`](crate::transform::Transform): unnormalised
    /// sums.
    ///
    /// # Errors
    /// See [`Plan::run`].
    pub fn run_thresholded<S: InputElement>(
        &mut self,
        input: &[S],
        threshold: T,
        output: &mut [T],
    ) -> Result<(), LengthError> {
        self.run_changed(input, &Threshold(threshold), output)
    }

    fn run_changed<S: InputElement>(
        &mut self,
        input: &[S],
        by: &impl Modify<T>,
        output: &mut [T],
    ) -> Result<(), LengthError> {
        let values = self.batch * self.shape.iter().product::<usize>();
        check_length("input", values, input.len())?;
        check_length("output", values, output.len())?;
        for (input, out) in input.chunks(self.group).zip(output.chunks_mut(self.group)) {
            // A separate pass converts values of another type, so that transforms are compiled for
            // one type only.
            let x = in_type(input);
            if x.is_none() {
                convert(input, out, self.threads());
            }
            self.pipeline.run(self.kind, x, out, by, &mut self.panels, &self.threads);
        }
        Ok(())
    }
}

/// Writes `x`, in another type, to `out`.
fn convert<S: InputElement, T: Real>(x: &[S], out: &mut [T], threads: usize) {
    let convert = |out: &mut [T], x: &[S]| {
        out.iter_mut().zip(x).for_each(|(value, x)| *value = T::cast(x.to_f64()));
    };
    match threads {
        1 => convert(out, x),
        _ => {
            let parts = (chunks_mut(out, VALUES), chunks(x, VALUES));
            parallel::for_each(parts, |_, (out, x)| convert(out, x));
        }
    }
}
