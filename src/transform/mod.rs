//! The cosine and sine transforms: definitions, a direct oracle, and code that the
//! fast algorithms share.
//!
//! # Definitions
//! For a line of N values, k = 0 … N−1 (Jiang, Gu and Pan, "A New Acceleration Paradigm for
//! Discrete Cosine Transform and Other Fourier-Related Transforms", §II):
//!
//! * DCT:   `X_k = Σ_n x_n cos(π(n+½)k/N)`
//! * IDCT:  `X_k = ½x_0 + Σ_{n≥1} x_n cos(πn(k+½)/N)`, so `IDCT(DCT(x)) = (N/2)·x`
//! * IDXST: `X_k = (−1)^k IDCT(x_{N−n})_k` with `x_N = 0`,
//!   which is `Σ_{n≥1} x_n sin(πn(k+½)/N)`
//!
//! In two dimensions the first part of a name belongs to x (the slow axis) and the second to y:
//! [`Transform::IdctIdxst`] has the cosine along x and the sine along y.
//!
//! # The N-point algorithm
//! A DCT of N values takes one real FFT of N values. The input is reordered to its even samples
//! followed by its odd samples backwards ([`permutation`]); with `V` the FFT of that and `w_k =
//! e^{−jπk/2N}` ([`twiddle`]), `X_k = Re(w_k V_k)` and `X_{N−k} = −Im(w_k V_k)`. The inverse runs
//! the same way backwards: `V_k = ½ w̄_k (X_k − j X_{N−k})` with `X_N = 0`, an inverse FFT without
//! normalisation, and the reordering undone. Both hold for every N ≥ 1, odd ones included.

pub(crate) mod fft;
pub(crate) mod line;
pub mod oracle;
pub mod permutation;
pub mod twiddle;
pub(crate) mod variants;

pub use crate::real::InputElement;

use crate::memory::{OutOfMemory, require};

/// A two-dimensional transform of an `nx × ny` map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Transform {
    /// DCT along both axes.
    Dct,
    /// IDCT along both axes.
    Idct,
    /// IDCT along x, IDXST along y: gives E_y.
    IdctIdxst,
    /// IDXST along x, IDCT along y: gives E_x.
    IdxstIdct,
}

impl Transform {
    /// All four.
    pub const ALL: [Transform; 4] =
        [Transform::Dct, Transform::Idct, Transform::IdctIdxst, Transform::IdxstIdct];
}

/// A one-dimensional transform of lines of N values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Transform1d {
    /// DCT.
    Dct,
    /// IDCT.
    Idct,
    /// IDXST.
    Idxst,
}

impl Transform1d {
    /// All three.
    pub const ALL: [Transform1d; 3] = [Transform1d::Dct, Transform1d::Idct, Transform1d::Idxst];
}

/// A transform of an array of any number of dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TransformNd {
    /// DCT along every axis.
    Dct,
    /// IDCT along every axis.
    Idct,
    /// IDXST along one axis, counted from the slowest, and IDCT along all others: gives the field
    /// along that axis.
    Idxst(usize),
}

impl TransformNd {
    /// Transforms without a separate axis.
    pub const ALL: [TransformNd; 2] = [TransformNd::Dct, TransformNd::Idct];

    /// Returns the FFTs that it takes.
    pub(crate) fn ways(self) -> fft::Ways {
        if self == TransformNd::Dct { fft::Ways::Forward } else { fft::Ways::Inverse }
    }
}

impl From<Transform1d> for TransformNd {
    fn from(kind: Transform1d) -> Self {
        match kind {
            Transform1d::Dct => TransformNd::Dct,
            Transform1d::Idct => TransformNd::Idct,
            Transform1d::Idxst => TransformNd::Idxst(0),
        }
    }
}

impl From<Transform> for TransformNd {
    fn from(kind: Transform) -> Self {
        match kind {
            Transform::Dct => TransformNd::Dct,
            Transform::Idct => TransformNd::Idct,
            Transform::IdctIdxst => TransformNd::Idxst(1),
            Transform::IdxstIdct => TransformNd::Idxst(0),
        }
    }
}

/// How a transform of two or more dimensions is composed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// One-dimensional transforms along one axis after the other, on a GPU with transposes.
    RowColumn,
    /// Pre-processing, one real FFT of all dimensions, post-processing (Jiang et al., §III).
    Fused,
    /// The one measured to be fastest: on a CPU [`Method::RowColumn`], on a GPU one pass along each
    /// axis by kernels of our own where there are such and else [`Method::Fused`].
    #[default]
    Fastest,
}

impl Method {
    /// All of them, the baseline first.
    pub const ALL: [Method; 3] = [Method::RowColumn, Method::Fused, Method::Fastest];

    /// Returns `row-column`, `fused` or `fastest`.
    pub fn name(self) -> &'static str {
        match self {
            Method::RowColumn => "row-column",
            Method::Fused => "fused",
            Method::Fastest => "fastest",
        }
    }
}

/// A slice whose length is not the one a plan was made for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} has {found} values, the plan is for {expected}")]
pub struct LengthError {
    /// Which argument.
    pub what: &'static str,
    /// Length the plan was made for.
    pub expected: usize,
    /// Length given.
    pub found: usize,
}

/// A shape that no plan is made for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// There is no axis, a size or the batch is zero, or there are too many values.
    #[error(
        "{batch} arrays of {shape:?} values: expected sizes of at least 1 and at most 2^48 values \
         in all"
    )]
    Size {
        /// Sizes, slowest axis first.
        shape: Vec<usize>,
        /// Number of arrays.
        batch: usize,
    },
    /// An IDXST runs along an axis that the arrays do not have.
    #[error("an IDXST along axis {axis} of arrays of {axes} axes: expected an axis from 0 on")]
    Axis {
        /// The axis of the IDXST.
        axis: usize,
        /// Number of axes.
        axes: usize,
    },
    /// A bin whose lengths or their ratios are not above zero and finite.
    #[error("bins of {} x {} x {}: expected lengths above zero with finite ratios", .0[0], .0[1], .0[2])]
    Bin([f64; 3]),
    /// There is not enough memory for the plan's tables or working memory.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

/// Bytes of tables for each value of an axis, at most about: twiddle factors in both precisions,
/// and those of FFTs that are padded to another length.
const TABLES: u64 = 128;

/// Returns the number of values of `batch` arrays of one shape.
///
/// # Errors
/// When there is no axis, a size or the batch is zero, there are more than 2^48 values, or there
/// is no memory for tables of every axis.
pub(crate) fn check_shape(shape: &[usize], batch: usize) -> Result<usize, ShapeError> {
    let values = shape.iter().try_fold(batch, |product, &n| product.checked_mul(n));
    match values {
        Some(values) if values > 0 && !shape.is_empty() && values <= 1 << 48 => {
            require("the tables of the plan", TABLES * shape.iter().sum::<usize>() as u64)?;
            Ok(values)
        }
        _ => Err(ShapeError::Size { shape: shape.to_vec(), batch }),
    }
}

/// `Ok` when arrays of `shape` have the axis of an IDXST.
pub(crate) fn check_kind(kind: TransformNd, shape: &[usize]) -> Result<(), ShapeError> {
    match kind {
        TransformNd::Idxst(axis) if axis >= shape.len() => {
            Err(ShapeError::Axis { axis, axes: shape.len() })
        }
        _ => Ok(()),
    }
}

/// `Ok` when `found == expected`.
pub(crate) fn check_length(
    what: &'static str,
    expected: usize,
    found: usize,
) -> Result<(), LengthError> {
    if found == expected { Ok(()) } else { Err(LengthError { what, expected, found }) }
}
