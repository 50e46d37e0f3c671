//! `--report` of a placement: its iterations and frames, and the maps of the result.

use crate::charge::Charge;
use crate::cli::engines::EngineReal;
use crate::cli::evaluation::evaluate_charge;
use crate::cli::failure::Failure;
use crate::cli::input::Opened;
use crate::cli::options::{EvaluationArgs, SolveArgs};
use crate::cli::report::page::Page;
use crate::cli::report::part::Fact;
use crate::cli::report::run::{ChartOf, Column, Film, Run};
use crate::cli::stages;
use crate::design::Placement;
use crate::engine::Pipeline;
use crate::flow::Stages;
use crate::place::Record;

/// A placement that has ended.
pub(super) struct Ended<'a> {
    /// With its cells where they were placed.
    pub(super) opened: &'a Opened,
    pub(super) args: &'a EvaluationArgs,
    pub(super) options: &'a SolveArgs,
    pub(super) pipeline: Pipeline,
    /// How it ended, in words.
    pub(super) how: &'a str,
    pub(super) seconds: f64,
    pub(super) stages: &'a Stages,
    /// The placement before the stages after the global one, where there were any.
    pub(super) before: Option<&'a Placement>,
    pub(super) records: &'a [Record],
    pub(super) film: Option<Film>,
}

/// Returns the page; `x` and `y` are where all bodies are, fillers too.
pub(super) fn page<T: EngineReal>(
    ended: Ended<'_>,
    mut charge: Charge,
    x: &[f64],
    y: &[f64],
) -> Result<Page, Failure> {
    charge.set_initial(x, y)?;
    let evaluated = evaluate_charge::<T>(ended.opened, ended.options, charge)?;
    let mut page = Page::of_evaluation(ended.opened, &evaluated, ended.args)?;
    let last = ended.records.last().map_or(0, |r| r.iteration);
    page.subtitle =
        format!("A placement: {} after {last} iterations, {:.2} s", ended.how, ended.seconds);
    page.summary.insert(0, Fact::new("Outcome", ended.how));
    if let Some(before) = ended.before {
        page.parts.extend(stages::part(ended.stages, &ended.opened.design, before)?);
    }
    page.run = Some(run(ended));
    Ok(page)
}

/// Returns every iteration in numbers.
fn run(ended: Ended<'_>) -> Run {
    let records = ended.records;
    let column = |name: &str, value: &dyn Fn(&Record) -> f64| Column {
        name: name.to_owned(),
        values: records.iter().map(value).collect(),
    };
    let columns = vec![
        column("HPWL, layout units", &|r| r.sample.hpwl),
        column("Overflow, smoothed", &|r| r.sample.density.overflow),
        column("Largest density, area / bin area", &|r| r.sample.density.max),
        column("Energy, bin widths²", &|r| r.sample.energy),
        column("γ, layout units", &|r| r.gamma),
        column("λ", &|r| r.lambda),
        column("Wirelength, ms", &|r| r.times.wirelength),
        column("Density, ms", &|r| r.times.density),
        column(&format!("Solve by {}, ms", ended.pipeline), &|r| r.times.solve),
        column("Force, ms", &|r| r.times.force),
        column("Other, ms", &|r| r.times.step + r.times.gradient + r.times.other),
    ];
    let one = |k: usize| vec![(k, String::new())];
    let stages = ["wirelength", "density", "solve", "force", "other"];
    let stages = (6..).zip(stages.map(str::to_owned)).collect();
    let charts = [
        ChartOf { title: "HPWL", y_label: "layout units", columns: one(0), log: false },
        ChartOf { title: "Overflow", y_label: "smoothed", columns: one(1), log: true },
        ChartOf { title: "Weight of the density, λ", y_label: "", columns: one(5), log: true },
        ChartOf { title: "Time of an iteration", y_label: "ms", columns: stages, log: true },
    ];
    let iterations = records.iter().map(|r| r.iteration).collect();
    Run::new("Iterations", iterations, columns, &charts, ended.film)
}
