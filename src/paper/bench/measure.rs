//! The one runner: a table's rows become lines within the table's share of the clock.
//!
//! Rows that are compared take turns, one run each per round, so that a slow moment of the machine
//! falls on all of them. Rounds are as many as given, or as the time allows; a number that cannot
//! be measured in the available time or memory stays in the table, with the reason in the number's
//! place.

use super::printed::{Design, HARDWARE};
use super::table::{Claim, Group, Line, Report, Table, Timing};
use super::work::{BenchError, Run, Target, Work, reason};
use crate::charge::{Charge, ChargeOptions};
use crate::generate::{Spec, generate};
use crate::grid::BinGrid;
use crate::real::Precision;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::HashMap;
use std::sync::Arc;

/// A table or figure of the paper, or a claim of its text.
pub struct Experiment {
    /// The name of its subcommand.
    pub name: &'static str,
    /// Its place in the paper.
    pub paper: &'static str,
    /// Its part of the time, relative to the others'.
    pub weight: f64,
    /// The title.
    pub title: &'static str,
    /// Its line of help.
    pub help: &'static str,
    pub(super) measure: fn(&mut Session<'_>) -> Measured,
}

/// The results of an experiment.
pub(super) struct Content {
    pub(super) groups: Vec<Group>,
    pub(super) claims: Vec<Claim>,
    pub(super) notes: Vec<String>,
}

/// The groups, claims and notes of a table; an error when a design cannot be generated.
pub(super) type Measured = Result<Content, BenchError>;

/// Most bytes that the sides of a comparison hold together on the host; beyond, each is measured by
/// itself.
const MOST_BYTES: f64 = 3.0e9;

/// Rounds before anything counts.
const WARM_UP: usize = 3;

/// Fewest rounds that make a number.
pub const FEWEST: usize = 3;

/// How a run of the benchmarks is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Working precision.
    pub precision: Precision,
    /// Rounds, where the time allows them.
    pub repetitions: usize,
    /// Only the smallest size of each table.
    pub quick: bool,
}

/// The observer of a run.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Gets the name of the measurement in progress.
    pub progress: &'a dyn Fn(&str),
    /// Gets every table that is whole.
    pub finished: &'a dyn Fn(&Table),
    /// Whether to measure no more.
    pub stop: &'a dyn Fn() -> bool,
}

impl Watch<'_> {
    /// No observer, and no interruption.
    pub const NONE: Watch<'static> =
        Watch { progress: &|_| {}, finished: &|_| {}, stop: &|| false };
}

/// Runs experiments one after the other within `seconds`. Each gets a part of the time left by its
/// weight, so that time one does not need goes to those after it.
///
/// # Errors
/// When a design cannot be generated. Measurements that the engine does not support or fails at
/// ([`Report::failures`]), or that do not fit time or memory, are marked in the tables.
pub fn run(
    experiments: &[&Experiment],
    target: &Target,
    settings: Settings,
    seconds: f64,
    watch: Watch<'_>,
) -> Result<Report, BenchError> {
    let start = (target.clock)();
    let mut session = Session::new(target, settings, watch);
    let mut tables = Vec::with_capacity(experiments.len());
    for (k, experiment) in experiments.iter().enumerate() {
        let left = (seconds - ((target.clock)() - start)).max(0.0);
        let weights: f64 = experiments[k..].iter().map(|e| e.weight).sum();
        session.begin(experiment.name, left * experiment.weight / weights);
        let Content { groups, claims, notes } = (experiment.measure)(&mut session)?;
        let table = Table {
            name: experiment.name.to_owned(),
            title: experiment.title.to_owned(),
            paper: experiment.paper.to_owned(),
            precision: settings.precision,
            groups,
            claims,
            notes,
            budget_s: session.budget,
            seconds: session.elapsed(),
        };
        (watch.finished)(&table);
        tables.push(table);
        if (watch.stop)() {
            break;
        }
    }
    Ok(Report {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: target.machine.clone(),
        paper_hardware: HARDWARE.to_owned(),
        repetitions: settings.repetitions,
        quick: settings.quick,
        seconds: (target.clock)() - start,
        notes: Vec::new(),
        tables,
    })
}

/// The medians of a case's timed rows, in their order, in milliseconds.
pub(super) type Medians = [Option<f64>];

type Follow = dyn Fn(&Medians) -> Option<f64>;

/// The source of a row's number.
enum Number<C> {
    /// The time of a case's work.
    Timed(Box<dyn Fn(&C) -> Work>),
    /// The times of other rows.
    Follows(Box<Follow>),
    /// Known beforehand, or the reason why there is none.
    Known(Result<f64, String>),
}

/// A row of a table: its subject, the source of its number, and the numbers that the paper prints.
pub(super) struct Row<C> {
    what: String,
    unit: &'static str,
    number: Number<C>,
    /// By case.
    printed: Vec<f64>,
    over: Option<String>,
    /// Equal for rows that are timed in turn, which are consecutive.
    turn: usize,
    precision: Option<Precision>,
    block: Option<&'static str>,
    shown: bool,
}

impl<C> Row<C> {
    fn new(what: impl Into<String>, unit: &'static str, number: Number<C>) -> Row<C> {
        let (what, printed) = (what.into(), Vec::new());
        let (over, turn, precision, block, shown) = (None, 0, None, None, true);
        Row { what, unit, number, printed, over, turn, precision, block, shown }
    }

    /// Returns a row of the time of `work`.
    pub(super) fn timed(what: impl Into<String>, work: impl Fn(&C) -> Work + 'static) -> Row<C> {
        Row::new(what, "ms", Number::Timed(Box::new(work)))
    }

    /// Returns a row of a number that follows from the times.
    pub(super) fn follows(
        what: impl Into<String>,
        unit: &'static str,
        from: impl Fn(&Medians) -> Option<f64> + 'static,
    ) -> Row<C> {
        Row::new(what, unit, Number::Follows(Box::new(from)))
    }

    /// Returns a row of a known number, or of none for a reason.
    pub(super) fn known(
        what: impl Into<String>,
        unit: &'static str,
        here: Result<f64, String>,
    ) -> Row<C> {
        Row::new(what, unit, Number::Known(here))
    }

    /// Sets the paper's numbers, of as many cases as it has.
    pub(super) fn printed(self, printed: impl Into<Vec<f64>>) -> Row<C> {
        Row { printed: printed.into(), ..self }
    }

    /// Sets that ratios are over the row of this name.
    pub(super) fn over(self, what: impl Into<String>) -> Row<C> {
        Row { over: Some(what.into()), ..self }
    }

    /// Sets that a time is in microseconds.
    pub(super) fn in_microseconds(self) -> Row<C> {
        Row { unit: "µs", ..self }
    }

    /// Sets the turn it is timed in.
    pub(super) fn turn(self, turn: usize) -> Row<C> {
        Row { turn, ..self }
    }

    /// Sets the precision it is timed in, whatever the table's.
    pub(super) fn precision(self, precision: Precision) -> Row<C> {
        Row { precision: Some(precision), ..self }
    }

    /// Sets the block of lines it stands in, if not that of its case.
    pub(super) fn block(self, block: &'static str) -> Row<C> {
        Row { block: Some(block), ..self }
    }

    /// Makes it timed for rows that follow, and not shown.
    pub(super) fn hidden(self) -> Row<C> {
        Row { shown: false, ..self }
    }

    /// Returns its line of the `k`-th case; `outcome` is that of a timed row.
    fn line(&self, k: usize, outcome: Option<&Outcome>, medians: &Medians) -> Line {
        let mut line = Line {
            what: self.what.clone(),
            unit: self.unit.to_owned(),
            paper: self.printed.get(k).copied(),
            over: self.over.clone(),
            ..Line::default()
        };
        match (&self.number, outcome) {
            (Number::Follows(from), _) => line.here = from(medians),
            (Number::Known(Ok(here)), _) => line.here = Some(*here),
            (Number::Known(Err(why)), _) | (Number::Timed(_), Some(Err(why))) => {
                line.skipped = Some(why.clone());
            }
            (Number::Timed(_), Some(Ok((sample, plain)))) => {
                let in_unit = if self.unit == "µs" { 1e3 } else { 1.0 };
                line.sample = Some(sample.scaled(in_unit));
                line.plain = plain.map(|plain| plain.scaled(in_unit));
                line.here = line.sample.map(|sample| sample.mean);
            }
            (Number::Timed(_), None) => unreachable!("every timed row has an outcome"),
        }
        line
    }
}

/// A size or design that rows are measured of.
pub(super) struct Case<C> {
    pub(super) name: String,
    /// Elements of a map or bodies of a design.
    pub(super) elements: Option<usize>,
    /// The part of it that the rows' work is of.
    pub(super) of: C,
}

/// Milliseconds as measured, and as plain launches where that differs; or the reason why there are
/// none.
pub type Outcome = Result<(Timing, Option<Timing>), String>;

/// A planned side of a comparison, or the reason why there is none.
type Side = Result<Run, String>;

/// How much more time each measurement gets than the one before it: sizes grow.
const GROWTH: f64 = 1.3;

/// Returns the share of the time left that is due to the first of `left` measurements.
fn share(left: usize) -> f64 {
    (GROWTH - 1.0) / (GROWTH.powi(left.max(1) as i32) - 1.0)
}

/// Seconds that a measurement cost.
#[derive(Clone, Copy, Debug)]
struct Cost {
    bytes: f64,
    planning: f64,
    round: f64,
}

/// Tables being measured on one engine, one after the other.
pub struct Session<'a> {
    /// The engine.
    pub target: &'a Target,
    /// Settings of the measurements.
    pub settings: Settings,
    watch: Watch<'a>,
    /// Those of the contest's designs, generated once for all tables.
    charges: HashMap<&'static str, Arc<Charge>>,
    table: &'static str,
    /// The time when it was begun.
    start: f64,
    /// Seconds for the whole table.
    budget: f64,
    /// Measurements that are still to come, this one included.
    left: usize,
    /// That of the last measurement.
    last: Option<Cost>,
}

impl<'a> Session<'a> {
    /// Returns a session without a table.
    pub fn new(target: &'a Target, settings: Settings, watch: Watch<'a>) -> Session<'a> {
        let (charges, table, start) = (HashMap::new(), "", (target.clock)());
        let (budget, left, last) = (0.0, 1, None);
        Session { target, settings, watch, charges, table, start, budget, left, last }
    }

    /// Begins a table with `budget` seconds.
    pub fn begin(&mut self, table: &'static str, budget: f64) {
        (self.table, self.budget, self.start) = (table, budget, (self.target.clock)());
        self.expect(1);
    }

    /// Says how many calls of [`Session::measure`] are to come: each gets its
    /// share of the time that those before left over, later ones a larger one.
    pub fn expect(&mut self, measurements: usize) {
        self.left = measurements;
        self.last = None;
    }

    /// Returns the seconds since the table was begun.
    pub fn elapsed(&self) -> f64 {
        (self.target.clock)() - self.start
    }

    fn remaining(&self) -> f64 {
        (self.budget - self.elapsed()).max(0.0)
    }

    fn progress(&self, what: &str) {
        (self.watch.progress)(&format!("{}: {what}", self.table));
    }

    /// Measures rows of all cases, or of the first for a quick run: `size` orders them, smallest
    /// first, so that those are the largest that the time does not suffice for; `case` makes one.
    /// Groups come in the order of `cases`.
    ///
    /// # Errors
    /// The first error of `case`.
    pub(super) fn groups<K, C>(
        &mut self,
        cases: &[K],
        size: impl Fn(&K) -> usize,
        mut case: impl FnMut(&mut Self, &K) -> Result<Case<C>, BenchError>,
        mut rows: Vec<Row<C>>,
    ) -> Result<Vec<Group>, BenchError> {
        let cases = if self.settings.quick { &cases[..1.min(cases.len())] } else { cases };
        let timed = rows.iter().filter(|row| matches!(row.number, Number::Timed(_)));
        let turns = timed.map(|row| row.turn + 1).max().unwrap_or(0);
        self.expect(turns * cases.len());
        let mut order: Vec<_> = cases.iter().map(size).zip(0..).collect();
        order.sort();
        let mut groups: Vec<Vec<Group>> = cases.iter().map(|_| Vec::new()).collect();
        for (_, k) in order {
            let case = case(self, &cases[k])?;
            groups[k] = self.groups_of(k, &case, &mut rows);
        }
        Ok(groups.concat())
    }

    /// Measures the `k`-th case.
    fn groups_of<C>(&mut self, k: usize, case: &Case<C>, rows: &mut Vec<Row<C>>) -> Vec<Group> {
        // Only a device has transforms by line kernels.
        let by_lines = self.target.machine.engine == "cuda";
        let work = |row: &Row<C>| match &row.number {
            Number::Timed(work) => Some(work(&case.of)),
            _ => None,
        };
        rows.retain(|row| by_lines || !work(row).is_some_and(|work| work.is_by_lines()));
        let timed: Vec<(&Row<C>, Work)> =
            rows.iter().filter_map(|row| Some((row, work(row)?))).collect();
        let mut outcomes = Vec::new();
        for turn in timed.chunk_by(|(a, _), (b, _)| a.turn == b.turn) {
            let works: Vec<Work> = turn.iter().map(|(_, work)| work.clone()).collect();
            outcomes.extend(match turn[0].0.precision {
                Some(precision) => {
                    self.measure_in(precision, &format!("{} in {precision}", case.name), &works)
                }
                None => self.measure(&case.name, &works),
            });
        }
        let median = |outcome: &Outcome| outcome.as_ref().ok().map(|(sample, _)| sample.median);
        let medians: Vec<Option<f64>> = outcomes.iter().map(median).collect();
        let mut outcomes = outcomes.iter();
        let blocks = rows.chunk_by(|a, b| a.block == b.block);
        let group = |block: &[Row<C>]| {
            let lines = block.iter().filter_map(|row| {
                let timed = matches!(row.number, Number::Timed(_));
                let outcome = if timed { outcomes.next() } else { None };
                row.shown.then(|| row.line(k, outcome, &medians))
            });
            let lines = lines.collect();
            match block[0].block {
                Some(name) => Group::new(name, None, lines),
                None => Group::new(&case.name, case.elements, lines),
            }
        };
        blocks.map(group).collect()
    }

    /// Measures rows of a step's designs.
    ///
    /// # Errors
    /// When one cannot be generated.
    pub(super) fn designs(
        &mut self,
        designs: &[Design],
        rows: Vec<Row<Arc<Charge>>>,
    ) -> Result<Vec<Group>, BenchError> {
        let case = |session: &mut Self, &Design { name, bins, .. }: &Design| {
            if !session.charges.contains_key(name) {
                session.progress(&format!("generating {name}"));
                let charge = uniform_charge(name, bins)
                    .map_err(|e| BenchError::failed(format!("generating {name}"), e))?;
                session.charges.insert(name, Arc::new(charge));
            }
            let of = session.charges[name].clone();
            Ok(Case { name: name.to_owned(), elements: Some(of.bodies()), of })
        };
        self.groups(designs, |design| design.bins, case, rows)
    }

    /// Times every piece of work in turn; `case` is reported as progress.
    ///
    /// Work that the engine has no form of or fails at, or that time or memory do
    /// not suffice for, has the reason, and the rest is measured without it.
    pub fn measure(&mut self, case: &str, works: &[Work]) -> Vec<Outcome> {
        self.measure_in(self.settings.precision, case, works)
    }

    /// Measures as [`Session::measure`] does, in another precision than the table's.
    fn measure_in(&mut self, precision: Precision, case: &str, works: &[Work]) -> Vec<Outcome> {
        let end = self.elapsed() + self.remaining() * share(self.left);
        self.left = self.left.saturating_sub(1);
        let none = |why: String| vec![Err(why); works.len()];
        let bytes: f64 = works.iter().map(|w| w.bytes(precision)).sum();
        if bytes > MOST_BYTES && works.len() > 1 && self.target.machine.engine == "cpu" {
            // One at a time, then: they take no turns, but they need no more than one does.
            self.left += works.len();
            let one = |work| self.measure_in(precision, case, std::slice::from_ref(work));
            return works.iter().flat_map(one).collect();
        }
        if let Some(why) = self.obstacle(bytes) {
            return none(why);
        }
        self.progress(case);
        let planning = self.elapsed();
        let prepare = |work| (self.target.prepare)(work, precision).map_err(reason);
        let mut sides: Vec<Side> = works.iter().map(prepare).collect();
        let planning = self.elapsed() - planning;
        let round = self.warm_up(&mut sides, end);
        self.last = Some(Cost { bytes, planning, round });
        let left = self.remaining();
        if round * FEWEST as f64 > left {
            let of = self.budget;
            return none(format!("takes {round:.1} s a run, {left:.0} s were left of {of:.0}"));
        }
        let mut times = vec![[const { Vec::<f64>::new() }; 2]; sides.len()];
        for done in 0..self.settings.repetitions {
            if done >= FEWEST && self.elapsed() > end || (self.watch.stop)() {
                break;
            }
            one_round(&mut sides, &mut times);
        }
        let outcome = |(side, [times, plain]): (Side, &[Vec<f64>; 2])| {
            drop(side?);
            let sample = Timing::of(times).ok_or("interrupted before the first repetition")?;
            Ok((sample, Timing::of(plain)))
        };
        sides.into_iter().zip(&times).map(outcome).collect()
    }

    /// Runs rounds that do not count, fewer where they take long, and returns
    /// the seconds that the last one took.
    fn warm_up(&self, sides: &mut [Side], end: f64) -> f64 {
        let mut round = 0.0;
        for _ in 0..WARM_UP {
            let start = self.elapsed();
            one_round(sides, &mut []);
            round = self.elapsed() - start;
            if self.elapsed() + round * (FEWEST + 1) as f64 > end {
                break;
            }
        }
        round
    }

    /// Returns why a measurement is left out: the user interrupted, or time or memory, as far as
    /// known, do not suffice.
    fn obstacle(&self, bytes: f64) -> Option<String> {
        if (self.watch.stop)() {
            return Some("interrupted".to_owned());
        }
        if let Some(free) = (self.target.free_memory)().filter(|&free| bytes > 0.9 * free) {
            let gib = |bytes: f64| bytes / f64::from(1 << 30);
            return Some(format!("needs {:.1} GiB, {:.1} are free", gib(bytes), gib(free)));
        }
        let cost = self.last?;
        // Times grow no slower than sizes; one round more is to warm up.
        let growth = bytes / cost.bytes;
        let seconds = growth * (cost.planning + cost.round * (FEWEST + 1) as f64);
        let (left, of) = (self.remaining(), self.budget);
        (growth >= 1.0 && seconds > left)
            .then(|| format!("would take about {seconds:.0} s, {left:.0} s were left of {of:.0}"))
    }
}

/// Runs every side once; times go to `times` unless that is empty. A side that
/// fails stays as the reason.
fn one_round(sides: &mut [Side], times: &mut [[Vec<f64>; 2]]) {
    for (k, side) in sides.iter_mut().enumerate() {
        let Ok(run) = side else { continue };
        match run() {
            Ok((time, plain)) => {
                if let Some([times, plains]) = times.get_mut(k) {
                    times.push(time);
                    plains.extend(plain);
                }
            }
            Err(error) => *side = Err(reason(error)),
        }
    }
}

/// Returns the charge of a design at the statistics of the ISPD 2005 circuit `name`: cells and
/// fillers on `bins × bins` bins, all of them uniform over the die as in the middle of a placement,
/// without nets, which play no part here.
fn uniform_charge(
    name: &str,
    bins: usize,
) -> Result<Charge, Box<dyn std::error::Error + Send + Sync>> {
    let design = generate(&Spec { nets: 0, pins: 0, ..Spec::preset(name)? })?;
    let die = design.die().ok_or("no rows")?;
    let options = ChargeOptions::default().fillers(true);
    let mut charge = Charge::from_design(&design, BinGrid::new(die, bins, bins)?, &options)?;
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let (mut x, mut y) = (charge.initial_x().to_vec(), charge.initial_y().to_vec());
    for i in 0..charge.movable() {
        let (width, height) = (charge.width()[i], charge.height()[i]);
        x[i] = die.xl + (die.width() - width) * random.random::<f64>();
        y[i] = die.yl + (die.height() - height) * random.random::<f64>();
    }
    charge.set_initial(&x, &y)?;
    Ok(charge)
}

#[cfg(test)]
mod tests;
