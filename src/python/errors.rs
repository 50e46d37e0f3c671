//! Errors as exceptions, with the same text.

use crate::charge::ChargeError;
use crate::congestion::CongestionError;
use crate::design::DesignError;
use crate::engine::EngineError;
use crate::flow::FlowError;
use crate::flow::checkpoint::CheckpointError;
use crate::formats::{ErrorKind, FileError};
use crate::grid::GridError;
use crate::legality::LegalityError;
use crate::memory::OutOfMemory;
use crate::place::PlaceError;
use crate::place::routability::RoutabilityError;
use crate::plot::PlotError;
use crate::refine::RefineError;
use crate::rows::RowsError;
use crate::scaled_hpwl::ScoreError;
use crate::transform::{LengthError, ShapeError};
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::Serialize;
use std::fmt::Display;
use std::sync::OnceLock;

/// Errors that arise outside Python.
pub(super) enum Failure {
    /// `ValueError`.
    Value(String),
    /// `RuntimeError`.
    Runtime(String),
    /// `MemoryError`.
    Memory(String),
    /// `OSError`.
    File(String),
    /// An exception already.
    Python(PyErr),
}

impl Failure {
    #[cfg(not(feature = "cuda"))]
    pub(super) fn without_cuda() -> Self {
        Failure::Runtime(crate::engines::NO_CUDA.to_owned())
    }

    /// Returns that of a file: one that could not be read, or whose content is wrong.
    fn of_file(error: &impl Display, is_io: bool) -> Self {
        let kind = if is_io { Failure::File } else { Failure::Value };
        kind(error.to_string())
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Value(text) => PyValueError::new_err(text),
            Failure::Runtime(text) => PyRuntimeError::new_err(text),
            Failure::Memory(text) => PyMemoryError::new_err(text),
            Failure::File(text) => PyOSError::new_err(text),
            Failure::Python(error) => error,
        }
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Failure::Python(error)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let text = error.to_string();
        if crate::ffi::is_the_callers(&error) {
            return Failure::Value(text);
        }
        match error {
            EngineError::OutOfMemory { .. } | EngineError::HostMemory(_) => Failure::Memory(text),
            EngineError::OutOfOrder { .. } => {
                Failure::Runtime(format!("{text}: call evaluate(positions) first"))
            }
            EngineError::Device(_) => Failure::Runtime(text),
            _ => Failure::Value(text),
        }
    }
}

#[cfg(feature = "cuda")]
impl From<crate::cuda::CudaError> for Failure {
    fn from(error: crate::cuda::CudaError) -> Self {
        EngineError::from(error).into()
    }
}

impl From<PlaceError> for Failure {
    fn from(error: PlaceError) -> Self {
        match error {
            PlaceError::Engine(error) => error.into(),
            PlaceError::Charge(error) => error.into(),
            other => Failure::Value(other.to_string()),
        }
    }
}

impl From<FlowError> for Failure {
    fn from(error: FlowError) -> Self {
        match error {
            FlowError::Place(error) => error.into(),
            FlowError::Charge(error) => error.into(),
            other => Failure::Value(other.to_string()),
        }
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Self {
        Failure::of_file(&error, matches!(error, CheckpointError::Io(..)))
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Failure::of_file(&error, matches!(error.kind, ErrorKind::Io(_)))
    }
}

impl From<OutOfMemory> for Failure {
    fn from(error: OutOfMemory) -> Self {
        Failure::Memory(error.to_string())
    }
}

impl From<ChargeError> for Failure {
    fn from(error: ChargeError) -> Self {
        match error {
            ChargeError::Memory(error) => error.into(),
            other => Failure::Value(other.to_string()),
        }
    }
}

impl From<ShapeError> for Failure {
    fn from(error: ShapeError) -> Self {
        match error {
            ShapeError::Memory(error) => error.into(),
            other => Failure::Value(other.to_string()),
        }
    }
}

impl From<PlotError> for Failure {
    fn from(error: PlotError) -> Self {
        match error {
            PlotError::Memory(error) => error.into(),
            other => Failure::Value(other.to_string()),
        }
    }
}

macro_rules! values {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::Value(error.to_string())
            }
        })*
    };
}

values!(
    GridError,
    CongestionError,
    DesignError,
    LegalityError,
    RowsError,
    LengthError,
    RefineError,
    RoutabilityError,
    ScoreError
);

/// Returns a value of the library as Python's own lists, dictionaries and numbers.
pub(super) fn plain<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(|e| PyValueError::new_err(e.to_string()))?;
    py.import("json")?.call_method1("loads", (text,))
}

/// The process that placefield has worked in first.
static FIRST_PROCESS: OnceLock<u32> = OnceLock::new();

/// Runs `body` without the interpreter.
///
/// # Errors
/// That of `body`. In a process that was forked after placefield had worked: a fork copies neither
/// its threads nor the state of CUDA, so work would wait for them for ever.
pub(super) fn detached<R: Send>(
    py: Python<'_>,
    body: impl FnOnce() -> Result<R, Failure> + Send,
) -> PyResult<R> {
    let process = std::process::id();
    if *FIRST_PROCESS.get_or_init(|| process) != process {
        return Err(PyRuntimeError::new_err(
            "this process was forked from one in which placefield had worked, and a fork does not \
             copy its threads: start processes by multiprocessing's method \"spawn\" or \
             \"forkserver\", or fork before the first use of placefield",
        ));
    }
    py.detach(body).map_err(PyErr::from)
}
