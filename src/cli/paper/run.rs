//! Experiments one after the other.

use super::designs::Designs;
use super::experiments::Experiment;
use super::printed::HARDWARE;
use super::session::{Session, Settings};
use super::table::Report;
use super::target::{BenchError, Target};
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
        paper_hardware: HARDWARE.to_owned(),
        repetitions: settings.repetitions,
        quick: settings.quick,
        seconds: start.elapsed().as_secs_f64(),
        notes: Vec::new(),
        tables,
    })
}
