//! The paper's tables and figures on this machine, beside the printed numbers.
//!
//! An [`Experiment`] is one table or figure. It asks a [`Target`] (the CPU or a CUDA device) for
//! [`Work`] to time and lays the times out as a [`Table`], with the paper's number and both ratios
//! on every line, and with the paper's claims compared with them. As in the paper, times are of
//! `f64` by default, means over 100 runs after a warm-up, of data in the engine's memory, with
//! plans and tables made beforehand; with median, quartiles and standard deviation.

mod counted;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod designs;
mod experiments;
mod pictures;
pub mod printed;
mod rows;
mod run;
mod session;
mod statistics;
mod table;
mod target;
mod text;

pub use counted::operations;
pub use cpu::{CpuTarget, processor};
#[cfg(feature = "cuda")]
pub use cuda::CudaTarget;
pub use designs::Designs;
pub use experiments::Experiment;
pub use pictures::{draw, pictures};
pub use run::{Listener, Unattended, run};
pub use session::{FEWEST, Outcome, Session, Settings, Unit, WARM_UP};
pub use statistics::Timing;
pub use table::{Claim, Group, Line, Observed, Report, Rule, Table, Verdict, short};
pub use target::{BenchError, Direction, Machine, Target, Work, Workload};
