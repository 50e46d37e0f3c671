//! Three dimensions.

use super::plan_nd::Rounds;
use super::volume::Volume;
use crate::cpu::scratch::{Parts, Scratch, ScratchLen};
use crate::real::Real;
use crate::transform::{
    LengthError, Method, Sample, ShapeError, TransformNd, check_length, check_shape,
};

/// A plan for transforms of `batch` volumes of `[n0][n1][n2]` values, the last axis contiguous.
pub struct Plan3d<T: Real> {
    kind: TransformNd,
    shape: [usize; 3],
    batch: usize,
    method: Method,
    way: Way<T>,
}

enum Way<T: Real> {
    /// One axis after the other.
    RowColumn(Rounds<T>),
    Fused(Box<Volume<T>>),
}

impl<T: Real> Plan3d<T> {
    /// Plans `kind` of `batch` volumes of `shape`, slowest axis first.
    ///
    /// # Errors
    /// When a size or the batch is zero or they are beyond any memory.
    pub fn new(
        kind: TransformNd,
        shape: [usize; 3],
        method: Method,
        batch: usize,
    ) -> Result<Self, ShapeError> {
        check_shape(&shape, batch)?;
        let way = match method {
            Method::RowColumn => Way::RowColumn(Rounds::new(kind, &shape, method, batch)?),
            Method::Fused => Way::Fused(Box::new(Volume::new(shape))),
        };
        Ok(Plan3d { kind, shape, batch, method, way })
    }

    /// The transform.
    pub fn kind(&self) -> TransformNd {
        self.kind
    }

    /// Sizes, slowest axis first.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Number of volumes.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// How it computes.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Working memory of a call.
    pub fn scratch_len(&self) -> ScratchLen {
        match &self.way {
            Way::RowColumn(rounds) => rounds.scratch_len(),
            Way::Fused(volume) => volume.scratch_len(),
        }
    }

    /// Working memory for the pool this is called in.
    pub fn make_scratch(&self) -> Scratch<T> {
        Scratch::new(self.scratch_len(), rayon::current_num_threads())
    }

    /// `output = kind(input)`, both `batch × n0 × n1 × n2`.
    ///
    /// # Errors
    /// When a slice has another length, or `scratch` is smaller than [`Plan3d::scratch_len`].
    pub fn process<S: Sample>(
        &self,
        input: &[S],
        output: &mut [T],
        scratch: &mut Scratch<T>,
    ) -> Result<(), LengthError> {
        let values = self.batch * self.shape.iter().product::<usize>();
        check_length("input", values, input.len())?;
        check_length("output", values, output.len())?;
        let mut s = scratch.parts(self.scratch_len())?;
        self.run(input, output, &mut s);
        Ok(())
    }

    /// [`Plan3d::process`] of slices whose lengths are known to be right.
    pub(super) fn run<S: Sample>(&self, input: &[S], output: &mut [T], s: &mut Parts<'_, T>) {
        let volume = match &self.way {
            Way::RowColumn(rounds) => return rounds.run(input, output, s),
            Way::Fused(volume) => volume,
        };
        let size = self.shape.iter().product();
        for (x, out) in input.chunks(size).zip(output.chunks_mut(size)) {
            match self.kind {
                TransformNd::Dct => volume.forward(x, out, s.reborrow()),
                TransformNd::Idct => volume.inverse(x, out, s.reborrow()),
            }
        }
    }
}
