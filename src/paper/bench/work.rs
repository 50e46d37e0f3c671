//! Pieces of work that can be timed, and the engine that times them.

use crate::charge::Charge;
use crate::engine::Pipeline;
use crate::paper::{Algorithm1d, PostProcessing, Reorder};
use crate::real::{Precision, Real};
use crate::transform::Transform;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Instant;

/// A piece of work to time: the same pieces on every engine. Inputs are
/// uniform random numbers in memory of the engine (a million of them, repeated);
/// plans and tables are made beforehand and are no part of the time.
#[derive(Clone, Debug)]
pub enum Work {
    /// The reordering before a 2-D DCT, alone.
    Reorder([usize; 2], Reorder),
    /// A copy of a map: what memory allows.
    Copy([usize; 2]),
    /// The FFT inside a 2-D DCT or IDCT, alone.
    Fft([usize; 2], Direction),
    /// The steps after the FFT in a 2-D DCT, alone.
    PostProcess([usize; 2], PostProcessing),
    /// A fused 2-D DCT with its pre- and post-processing chosen.
    Variant([usize; 2], Reorder, PostProcessing),
    /// A DCT of one line.
    Line(usize, Algorithm1d),
    /// One 2-D transform.
    Map([usize; 2], Transform, Pipeline),
    /// One 3-D DCT or IDCT.
    Volume([usize; 3], Direction, Pipeline),
    /// DCT, thresholding and IDCT of an image of one channel. Coefficients below the
    /// threshold become zero.
    Compress([usize; 2], Pipeline, f64),
    /// Density, solve and force of a design.
    Step(Arc<Charge>, Pipeline),
    /// The solve of a design's density alone.
    Solve(Arc<Charge>, Pipeline),
}

/// The direction of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Real to complex, or DCT.
    Forward,
    /// Complex to real, or IDCT.
    Inverse,
}

impl Work {
    /// Returns the bytes that all its buffers take, roughly and rather too many.
    pub fn bytes(&self, precision: Precision) -> f64 {
        // Input, output, and the arrays between: spectra and transposed maps.
        let elements = match self {
            Work::Copy([a, b]) => 2 * a * b,
            Work::Reorder([a, b], _) | Work::Fft([a, b], _) => 3 * a * b,
            Work::PostProcess([a, b], _) | Work::Variant([a, b], ..) => 4 * a * b,
            Work::Map([a, b], ..) => 5 * a * b,
            Work::Compress([a, b], ..) => 8 * a * b,
            Work::Line(n, _) => 12 * n,
            Work::Volume([a, b, c], ..) => 5 * a * b * c,
            Work::Step(charge, _) | Work::Solve(charge, _) => {
                12 * charge.grid().bins() + 16 * charge.bodies()
            }
        };
        elements as f64 * element_bytes(precision)
    }

    /// Whether it is a single transform by kernels for lines, neither of the paper's pipelines:
    /// [`Pipeline::ThreePass`] selects them, and only a device has them.
    pub(super) fn is_by_lines(&self) -> bool {
        use Pipeline::ThreePass;
        use Work::{Compress, Map, Volume};
        matches!(self, Map(.., ThreePass) | Volume(.., ThreePass) | Compress(_, ThreePass, _))
    }
}

/// Returns the bytes of a real number.
pub(super) fn element_bytes(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 4.0,
        Precision::F64 => 8.0,
    }
}

/// The machine that measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// `"cpu"` or `"cuda"`.
    pub engine: String,
    /// The processor's or the device's name.
    pub device: String,
    /// Threads on the CPU; none on a device.
    pub threads: Option<usize>,
    /// The CUDA version of the driver and the version of cuFFT, on a device.
    pub software: Option<String>,
    /// The method of timing.
    pub timing: String,
}

/// An engine to measure.
pub struct Target {
    /// The machine's description.
    pub machine: Machine,
    /// Returns the bytes of free memory, if the system reports them.
    pub free_memory: Box<dyn Fn() -> Option<f64>>,
    /// Returns the seconds since some moment, in which time limits count.
    pub clock: Box<dyn Fn() -> f64>,
    /// Bytes per second that the device's memory moves at most; none on a CPU.
    pub peak_bandwidth: Option<f64>,
    /// Plans a piece of work and fills its input. [`BenchError::Unavailable`] for work this engine
    /// has no such form of, and any error of planning.
    pub prepare: Box<Prepare>,
    /// Returns the share of a multiprocessor's threads that the blocks of the kernel behind
    /// [`Work::Reorder`] or [`Work::PostProcess`] can fill, by the driver's occupancy calculator.
    pub occupancy: Box<Occupancy>,
}

/// Returns a clock of the seconds since now.
pub(super) fn seconds_from_now() -> Box<dyn Fn() -> f64> {
    let start = Instant::now();
    Box::new(move || start.elapsed().as_secs_f64())
}

type Prepare = dyn Fn(&Work, Precision) -> Result<Run, BenchError>;
type Occupancy = dyn Fn(&Work, Precision) -> Result<f64, BenchError>;

/// Planned work. A call runs it once and returns the milliseconds that took; where that was the
/// replay of a graph, also those of the same as plain launches.
pub type Run = Box<dyn FnMut() -> Result<(f64, Option<f64>), BenchError>>;

/// Why something was not measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// There is no such thing to measure on this engine.
    #[error("{0}")]
    Unavailable(String),
    /// The engine failed.
    #[error("{what}: {source}")]
    Failed {
        /// The measurement in progress.
        what: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl BenchError {
    /// Returns a failure of `what`.
    pub fn failed(
        what: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> BenchError {
        BenchError::Failed { what: what.into(), source: source.into() }
    }
}

/// Beginning of the reason for a missing number where the engine failed.
pub(super) const FAILED: &str = "failed: ";

/// Returns the text a table has in the place of a number.
pub(super) fn reason(error: BenchError) -> String {
    match error {
        BenchError::Unavailable(why) => why,
        failure => format!("{FAILED}{failure}").replace('\n', " "),
    }
}

/// Random numbers that [`random`] draws before it repeats them.
const DRAWN: usize = 1 << 20;

/// Returns `n` uniform random numbers between 0 and 1, the same every time.
pub(super) fn random<T: Real>(n: usize) -> Vec<T> {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let drawn: Vec<T> = (0..n.min(DRAWN)).map(|_| T::cast(random.random())).collect();
    drawn.iter().copied().cycle().take(n).collect()
}
