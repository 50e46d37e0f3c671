//! One interface to all methods, for a [`Plan`](super::Plan) and a field solve.

use super::coefficients::Modify;
use super::fused::Fused;
use super::row_column::RowColumn;
use super::scratch::{ScratchLen, Threads};
use crate::cpu::simd::Row;
use crate::real::Real;
use crate::transform::fft::Ways;
use crate::transform::{Method, TransformNd};

/// Plans and tables for arrays of one shape; immutable.
pub(crate) enum Pipeline<T: Real> {
    RowColumn(RowColumn<T>),
    Fused(Box<Fused<T>>),
}

impl<T: Real> Pipeline<T> {
    /// Plans `arrays` arrays of `shape` at once. The fused method does not take every shape.
    pub(crate) fn new(shape: &[usize], arrays: usize, method: Method, ways: Ways) -> Self {
        let fused = if method == Method::Fused { Fused::new(shape) } else { None };
        match fused {
            Some(fused) => Pipeline::Fused(Box::new(fused)),
            None => Pipeline::RowColumn(RowColumn::new(shape, arrays, ways)),
        }
    }

    pub(super) fn method(&self) -> Method {
        match self {
            Pipeline::RowColumn(_) => Method::RowColumn,
            Pipeline::Fused(_) => Method::Fused,
        }
    }

    pub(crate) fn scratch_len(&self) -> ScratchLen {
        match self {
            Pipeline::RowColumn(plan) => plan.scratch_len(),
            Pipeline::Fused(plan) => plan.scratch_len(),
        }
    }

    /// Returns the number of rows that an array takes between passes.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Pipeline::RowColumn(_) => 0,
            Pipeline::Fused(plan) => plan.rows(),
        }
    }

    /// `to = kind(from)`, or `to = kind(to)`. `by` changes the coefficients that a DCT writes or an
    /// inverse reads.
    pub(crate) fn run(
        &self,
        kind: TransformNd,
        from: Option<&[T]>,
        to: &mut [T],
        by: &impl Modify<T>,
        panels: &mut [Row<T>],
        threads: &Threads<T>,
    ) {
        let panels = match self {
            Pipeline::RowColumn(_) => panels,
            Pipeline::Fused(plan) => &mut panels[..to.len() / plan.size() * plan.rows()],
        };
        let sine = match kind {
            TransformNd::Dct => {
                return match self {
                    Pipeline::RowColumn(plan) => plan.forward(from, to, by, threads),
                    Pipeline::Fused(plan) => plan.forward(from, to, by, panels, threads),
                };
            }
            TransformNd::Idct => None,
            TransformNd::Idxst(axis) => Some(axis),
        };
        match self {
            Pipeline::RowColumn(plan) => plan.inverse(sine, from, to, by, threads),
            Pipeline::Fused(plan) => plan.inverse(sine, from, to, by, panels, threads),
        }
    }
}
