//! `--report` of a comparison: its iterations, and the maps of the last one.

use crate::cli::evaluation::evaluate_charge;
use crate::cli::failure::Failure;
use crate::cli::input::{Opened, charge_of};
use crate::cli::options::{EvaluationArgs, SolveArgs};
use crate::cli::picture_args::FieldArgs;
use crate::cli::place::frames::{Frames, FramesWanted};
use crate::cli::report::page::Page;
use crate::cli::report::run::{ChartOf, Column, Film, Run};
use crate::compare::Iteration;
use crate::design::LengthUnit;
use crate::engine::Pipeline;
use crate::engines::EngineReal;

/// Frames that a comparison of unknown length begins with one of so many iterations.
const FRAME_EVERY: usize = 10;

/// Keeps what a page shows of every iteration.
pub(crate) struct Watcher {
    /// The design at the last iteration.
    last: Opened,
    hpwl: Vec<f64>,
    frames: Option<Frames>,
    /// Positions of every body in the last iteration.
    positions: [Vec<f64>; 2],
}

impl Watcher {
    /// Watches at most so many iterations.
    pub(crate) fn new(
        opened: &Opened,
        options: &SolveArgs,
        iterations: usize,
    ) -> Result<Watcher, Failure> {
        let charge = charge_of(&opened.design, options)?;
        let every = if iterations <= 50 { 1 } else { FRAME_EVERY };
        let wanted = FramesWanted { folder: None, page: true };
        Ok(Watcher {
            last: opened.clone(),
            hpwl: Vec::new(),
            frames: Frames::start(&wanted, every, &opened.design, &charge)?,
            positions: [Vec::new(), Vec::new()],
        })
    }

    /// Takes the positions of all bodies that an iteration was measured at.
    pub(crate) fn see(&mut self, iteration: &Iteration, positions: [Vec<f64>; 2]) {
        self.positions = positions;
        let [x, y] = &self.positions;
        self.last.design.set_movable_positions(|i| (x[i], y[i]));
        self.hpwl.push(self.last.design.hpwl().map_or(f64::NAN, |h| h.unweighted));
        if let Some(frames) = self.frames.as_mut().filter(|f| f.is_due(iteration.iteration)) {
            frames.take(iteration.iteration, String::new(), x, y);
        }
    }
}

/// Waits for the frames and returns the page of a comparison that was watched.
pub(super) fn page<T: EngineReal>(
    opened: &Opened,
    args: &EvaluationArgs,
    options: &SolveArgs,
    rows: &[Iteration],
    watcher: Watcher,
) -> Result<Page, Failure> {
    let Watcher { last, hpwl, frames, positions: [x, y] } = watcher;
    let film = frames.map(Frames::finish).transpose()?.flatten();
    let mut charge = charge_of(&opened.design, options)?;
    if x.len() == charge.bodies() {
        charge.set_initial(&x, &y)?;
    }
    let evaluated = evaluate_charge::<T>(&last, options, charge)?;
    let mut page = Page::of_evaluation(&last, &evaluated, args, &FieldArgs::default())?;
    page.subtitle =
        "Pipelines compared while the cells spread; maps of the last iteration".to_owned();
    page.run = run(rows, hpwl, last.design.length_unit(), film).transpose()?;
    Ok(page)
}

/// Iterations with HPWL, overflow, energy and every side's times.
fn run(
    rows: &[Iteration],
    hpwl: Vec<f64>,
    unit: LengthUnit,
    film: Option<Film>,
) -> Option<Result<Run, Failure>> {
    let first = rows.first()?;
    let column = |name: &str, value: &dyn Fn(&Iteration) -> f64| Column {
        name: name.to_owned(),
        values: rows.iter().map(value).collect(),
    };
    let mut columns = vec![
        Column {
            name: format!("HPWL, {}", unit.name),
            values: hpwl.into_iter().map(|length| unit.of(length)).collect(),
        },
        column("Overflow, smoothed", &|row| row.density.overflow),
        column("Largest density", &|row| row.density.max),
        column("Energy", &|row| row.energy),
    ];
    let sides: Vec<String> =
        first.sides.iter().map(|s| format!("{} {}", s.engine, s.pipeline)).collect();
    let solves = columns.len();
    for (s, side) in sides.iter().enumerate() {
        columns.push(column(&format!("Solve by {side}, ms"), &|row| row.sides[s].solve));
    }
    let ratios = columns.len();
    for (s, side) in sides.iter().enumerate().skip(1) {
        columns.push(column(&format!("Solve by {} over {side}'s", sides[0]), &|row| {
            row.sides[s].ratio
        }));
    }
    for s in (0..sides.len()).step_by(Pipeline::ALL.len()) {
        let engine = first.sides[s].engine;
        columns.push(column(&format!("Density on {engine}, ms"), &|row| row.sides[s].density));
        columns.push(column(&format!("Force on {engine}, ms"), &|row| row.sides[s].force));
    }
    let one = |k: usize| vec![(k, String::new())];
    let named = |from: usize, names: &[String]| (from..).zip(names.iter().cloned()).collect();
    let charts = [
        ChartOf { title: "Overflow", y_label: "smoothed", columns: one(1), log: true },
        ChartOf { title: "HPWL", y_label: unit.name, columns: one(0), log: false },
        ChartOf { title: "Solve", y_label: "ms", columns: named(solves, &sides), log: true },
        ChartOf {
            title: "Ratio of solve times",
            y_label: "the first pipeline's over this one's",
            columns: named(ratios, &sides[1..]),
            log: false,
        },
    ];
    let iterations = rows.iter().map(|row| row.iteration).collect();
    Some(Run::new("Iterations", iterations, columns, &charts, film))
}
