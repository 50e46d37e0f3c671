//! `--report` of a placement: its iterations and frames, and the maps of the result.

use super::summary::Summary;
use crate::charge::Charge;
use crate::cli::evaluation::evaluate_charge;
use crate::cli::failure::Failure;
use crate::cli::input::Opened;
use crate::cli::options::{EvaluationArgs, SolveArgs};
use crate::cli::picture_args::FieldArgs;
use crate::cli::report::page::Page;
use crate::cli::report::part::Fact;
use crate::cli::report::run::{ChartOf, Column, Film, Run};
use crate::cli::stages;
use crate::engines::EngineReal;
use crate::place::Record;

/// A placement that has ended.
pub(super) struct Ended<'a> {
    /// The design, with its cells at their final positions.
    pub(super) opened: &'a Opened,
    pub(super) args: &'a EvaluationArgs,
    pub(super) options: &'a SolveArgs,
    pub(super) summary: &'a Summary<'a>,
    pub(super) film: Option<Film>,
}

/// Returns the page; `x` and `y` are the positions of all bodies, including fillers.
pub(super) fn page<T: EngineReal>(
    ended: Ended<'_>,
    mut charge: Charge,
    x: &[f64],
    y: &[f64],
) -> Result<Page, Failure> {
    charge.set_initial(x, y)?;
    let mut evaluated = evaluate_charge::<T>(ended.opened, ended.options, charge)?;
    evaluated.report.legality = ended.summary.placed.stages.legality.clone();
    let mut page =
        Page::of_evaluation(ended.opened, &evaluated, ended.args, &FieldArgs::default())?;
    let Summary { placed, .. } = ended.summary;
    let (how, last, seconds) = (ended.summary.how(), ended.summary.last(), ended.summary.seconds());
    page.subtitle = format!("A placement: {how} after {last} iterations, {seconds:.2} s");
    page.summary.insert(0, Fact::new("Outcome", how));
    if let Some(before) = &placed.before {
        page.parts.extend(stages::part(&placed.stages, &ended.opened.design, before)?);
    }
    page.run = Some(run(ended)?);
    Ok(page)
}

/// Returns the numbers of every iteration.
fn run(ended: Ended<'_>) -> Result<Run, Failure> {
    let (records, unit) = (ended.summary.records(), ended.opened.design.length_unit());
    let column = |name: &str, value: &dyn Fn(&Record) -> f64| Column {
        name: name.to_owned(),
        values: records.iter().map(value).collect(),
    };
    let columns = vec![
        column(&format!("HPWL, {}", unit.name), &|r| unit.of(r.sample.hpwl)),
        column("Overflow, smoothed", &|r| r.sample.density.overflow),
        column("Largest density, area / bin area", &|r| r.sample.density.max),
        column("Energy, bin widths²", &|r| r.sample.energy),
        column(&format!("γ, {}", unit.name), &|r| unit.of(r.gamma)),
        column("λ", &|r| r.lambda),
        column("Wirelength, ms", &|r| r.times.wirelength),
        column("Density, ms", &|r| r.times.density),
        column(&format!("Solve by {}, ms", ended.summary.pipeline), &|r| r.times.solve),
        column("Force, ms", &|r| r.times.force),
        column("Other, ms", &|r| r.times.step + r.times.gradient + r.times.other),
    ];
    let one = |k: usize| vec![(k, String::new())];
    let stages = ["wirelength", "density", "solve", "force", "other"];
    let stages = (6..).zip(stages.map(str::to_owned)).collect();
    let charts = [
        ChartOf { title: "HPWL", y_label: unit.name, columns: one(0), log: false },
        ChartOf { title: "Overflow", y_label: "smoothed", columns: one(1), log: true },
        ChartOf { title: "Weight of the density, λ", y_label: "", columns: one(5), log: true },
        ChartOf { title: "Time of an iteration", y_label: "ms", columns: stages, log: true },
    ];
    let iterations = records.iter().map(|r| r.iteration).collect();
    Run::new("Iterations", iterations, columns, &charts, ended.film)
}
