//! Experiments one after the other.

use super::designs::Designs;
use super::experiments::Experiment;
use super::printed::HARDWARE;
use super::session::{Session, Settings};
use super::table::{Report, Table};
use super::target::{BenchError, Target};
use std::time::Instant;

/// An observer of a run of the benchmarks.
pub trait Listener {
    /// Reports the measurement in progress.
    fn progress(&self, what: &str);

    /// A table that is whole.
    fn finished(&self, table: &Table);

    /// Whether to measure no more.
    fn stop(&self) -> bool;
}

/// No observer, and no interruption.
pub struct Unattended;

impl Listener for Unattended {
    fn progress(&self, _: &str) {}

    fn finished(&self, _: &Table) {}

    fn stop(&self) -> bool {
        false
    }
}

/// Runs experiments one after the other within `seconds`. Each gets a part of the time left by its
/// weight, so that time one does not need goes to those after it. `progress` gets the name of the
/// measurement.
///
/// # Errors
/// When a design cannot be generated. Measurements that the engine does not support or fails at
/// ([`Report::failures`]), or that do not fit time or memory, are marked in the tables.
pub fn run(
    experiments: &[Experiment],
    target: &dyn Target,
    settings: Settings,
    seconds: f64,
    listener: &dyn Listener,
) -> Result<Report, BenchError> {
    let start = Instant::now();
    let mut designs = Designs::default();
    let mut tables = Vec::with_capacity(experiments.len());
    for (k, &experiment) in experiments.iter().enumerate() {
        let left = (seconds - start.elapsed().as_secs_f64()).max(0.0);
        let weights: f64 = experiments[k..].iter().map(|e| e.weight()).sum();
        let budget = left * experiment.weight() / weights;
        let say = |what: &str| listener.progress(&format!("{}: {what}", experiment.name()));
        let stop = || listener.stop();
        let mut session = Session::new(target, settings, budget, &say, &stop);
        let table = experiment.run(&mut session, &mut designs)?;
        listener.finished(&table);
        tables.push(table);
        if stop() {
            break;
        }
    }
    Ok(Report {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: target.machine(),
        paper_hardware: HARDWARE.to_owned(),
        repetitions: settings.repetitions,
        quick: settings.quick,
        seconds: start.elapsed().as_secs_f64(),
        notes: Vec::new(),
        tables,
    })
}
