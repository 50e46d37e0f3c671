//! The paper's tables and figures on this machine, beside the printed numbers.
//!
//! An [`Experiment`] is one table or figure, or a claim of the text, as data ([`EXPERIMENTS`]):
//! rows of [`Work`] to time, with the number that the paper prints of each, and claims about them.
//! [`run`] times the rows on a [`Target`] (the CPU or a CUDA device) and makes a [`Table`] of them,
//! which prints itself, is drawn by [`draw`] and goes into JSON. As in the paper, times are of
//! `f64` by default, means over 100 runs after a warm-up, of data in the engine's memory, with
//! plans and tables made beforehand; with median, quartiles and standard deviation.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod measure;
mod pictures;
mod printed;
mod table;
mod tables;
mod text;
mod work;

pub use cpu::{cpu_target, processor};
#[cfg(feature = "cuda")]
pub use cuda::cuda_target;
pub use measure::{Experiment, FEWEST, Outcome, Session, Settings, Watch, run};
pub use pictures::draw;
pub use printed::{DESIGNS, Design, HARDWARE, REPETITIONS};
pub use table::{Claim, Group, Line, Report, Table, Timing, Verdict};
pub use tables::EXPERIMENTS;
pub use work::{BenchError, Direction, Machine, Run, Target, Work};
