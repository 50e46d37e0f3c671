//! The paper's tables and figures on this machine, beside the printed numbers.
//!
//! An [`Experiment`] is one table or figure. It asks a [`Target`] (the CPU or a
//! CUDA device) for [`Work`] to time and lays the times out as a [`Table`], with
//! the paper's number and both ratios on every line, and with what the paper
//! claims held against them. As in the paper, times are of `f64` unless asked
//! otherwise, means over 100 runs after a warm-up, of data in the engine's
//! memory, with plans and tables made beforehand; median, quartiles and
//! standard deviation stand beside.

mod counted;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod designs;
mod experiments;
mod pictures;
pub mod printed;
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
pub use pictures::draw;
pub use session::{FEWEST, Outcome, Session, Settings, Unit, WARM_UP};
pub use statistics::Sample;
pub use table::{Claim, Group, Line, Machine, Observation, Report, Table, Verdict, short};
pub use target::{BenchError, Direction, Target, Work, Workload};

use std::time::Instant;

/// Runs experiments one after the other within `seconds`. Each gets a part of
/// what is left by its weight, so that time one does not need goes to those
/// after it. `progress` is told what is being measured.
///
/// # Errors
/// When a design cannot be generated. What the engine cannot do or fails at
/// ([`Report::failures`]), or what does not fit time or memory, is marked in the
/// tables.
pub fn run(
    experiments: &[Experiment],
    target: &dyn Target,
    settings: Settings,
    seconds: f64,
    progress: &dyn Fn(&str),
) -> Result<Report, BenchError> {
    let start = Instant::now();
    let mut designs = Designs::default();
    let mut tables = Vec::with_capacity(experiments.len());
    for (k, &experiment) in experiments.iter().enumerate() {
        let left = (seconds - start.elapsed().as_secs_f64()).max(0.0);
        let weights: f64 = experiments[k..].iter().map(|e| e.weight()).sum();
        let budget = left * experiment.weight() / weights;
        let say = |what: &str| progress(&format!("{}: {what}", experiment.name()));
        let mut session = Session::new(target, settings, budget, &say);
        tables.push(experiment.run(&mut session, &mut designs)?);
    }
    Ok(Report {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: target.machine(),
        paper_hardware: printed::HARDWARE.to_owned(),
        repetitions: settings.repetitions,
        quick: settings.quick,
        seconds: start.elapsed().as_secs_f64(),
        notes: Vec::new(),
        tables,
    })
}
