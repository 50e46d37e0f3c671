//! Taking times within a table's share of the clock.
//!
//! The sides of a comparison take turns, one run each per round, so that a slow moment of the
//! machine falls on all of them. Rounds are as many as given, or as the time allows; a number that
//! cannot be measured in the available time or memory stays in the table, with the reason in the
//! number's place.

use super::statistics::Timing;
use super::table::Line;
use super::target::{Target, Work, Workload, reason};
use crate::real::Precision;
use std::time::Instant;

/// Most bytes that the sides of a comparison hold together on the host; beyond, each is measured by
/// itself.
const MOST_BYTES: f64 = 3.0e9;

/// Rounds before anything counts.
pub const WARM_UP: usize = 3;

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

/// One table being measured on one engine.
pub struct Session<'a> {
    /// The engine.
    pub target: &'a dyn Target,
    /// How.
    pub settings: Settings,
    /// Gets the name of the measurement in progress.
    pub progress: &'a dyn Fn(&str),
    /// Whether to measure no more.
    stop: &'a dyn Fn() -> bool,
    start: Instant,
    /// Seconds for the whole table.
    budget: f64,
    /// Measurements that are still to come, this one included.
    left: usize,
    /// Seconds per byte that the last one cost for planning and for a round.
    last: Option<Cost>,
}

/// A planned side of a comparison, or why there is none.
type Side = Result<Box<dyn Workload>, String>;

/// How much more time each measurement gets than the one before it: sizes grow.
const GROWTH: f64 = 1.3;

/// Returns the share of the time left that is due to the first of `left` measurements.
fn share(left: usize) -> f64 {
    (GROWTH - 1.0) / (GROWTH.powi(left.max(1) as i32) - 1.0)
}

#[derive(Clone, Copy, Debug)]
struct Cost {
    bytes: f64,
    planning: f64,
    round: f64,
}

/// A time, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Milliseconds: as measured, and as plain launches where that differs.
    Timed(Timing, Option<Timing>),
    /// Why not.
    Skipped(String),
}

impl Outcome {
    /// Returns the median, in milliseconds.
    pub fn median(&self) -> Option<f64> {
        match self {
            Outcome::Timed(sample, _) => Some(sample.median),
            Outcome::Skipped(_) => None,
        }
    }
}

/// Milliseconds and microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// 10⁻³ s.
    Milliseconds,
    /// 10⁻⁶ s.
    Microseconds,
}

impl Unit {
    /// Returns its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Milliseconds => "ms",
            Unit::Microseconds => "µs",
        }
    }

    fn per_millisecond(self) -> f64 {
        match self {
            Unit::Milliseconds => 1.0,
            Unit::Microseconds => 1e3,
        }
    }
}

impl Line {
    /// Returns a line for what was timed.
    pub fn timed(what: impl Into<String>, unit: Unit, outcome: &Outcome) -> Line {
        let line = Line::new(what, unit.name());
        match outcome {
            Outcome::Skipped(why) => line.skipped(why.clone()),
            Outcome::Timed(sample, plain) => {
                let sample = sample.scaled(unit.per_millisecond());
                let plain = plain.map(|p| p.scaled(unit.per_millisecond()));
                Line { sample: Some(sample), plain, ..line.counted(sample.mean) }
            }
        }
    }
}

impl<'a> Session<'a> {
    /// Begins a table with `budget` seconds.
    pub fn new(
        target: &'a dyn Target,
        settings: Settings,
        budget: f64,
        progress: &'a dyn Fn(&str),
        stop: &'a dyn Fn() -> bool,
    ) -> Session<'a> {
        let start = Instant::now();
        Session { target, settings, progress, stop, start, budget, left: 1, last: None }
    }

    /// Says how many calls of [`Session::measure`] are to come: each gets its
    /// share of the time that those before left over, later ones a larger one.
    pub fn expect(&mut self, measurements: usize) {
        self.left = measurements;
        self.last = None;
    }

    /// Whether the engine has single transforms by kernels for lines, neither of the paper's
    /// pipelines: [`Pipeline::ThreePass`] selects them.
    pub fn has_lines(&self) -> bool {
        self.target.machine().engine == "cuda"
    }

    /// Returns the seconds since the table was begun.
    pub fn elapsed(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Returns the seconds for the whole table.
    pub fn budget(&self) -> f64 {
        self.budget
    }

    fn remaining(&self) -> f64 {
        (self.budget - self.elapsed()).max(0.0)
    }

    /// Times every piece of work in turn; `case` is reported as progress.
    ///
    /// Work that the engine has no form of or fails at, or that time or memory do
    /// not suffice for, is [`Outcome::Skipped`], and the rest is measured without it.
    pub fn measure(&mut self, case: &str, works: &[Work]) -> Vec<Outcome> {
        self.measure_in(self.settings.precision, case, works)
    }

    /// Measures as [`Session::measure`] does, in another precision than the table's.
    pub fn measure_in(&mut self, precision: Precision, case: &str, works: &[Work]) -> Vec<Outcome> {
        let end = self.elapsed() + self.remaining() * share(self.left);
        self.left = self.left.saturating_sub(1);
        let none = |why: String| vec![Outcome::Skipped(why); works.len()];
        let bytes: f64 = works.iter().map(|w| w.bytes(precision)).sum();
        if bytes > MOST_BYTES && works.len() > 1 && self.target.is_host() {
            // One at a time, then: they take no turns, but they need no more than one does.
            self.left += works.len();
            let one = |work| self.measure_in(precision, case, std::slice::from_ref(work));
            return works.iter().flat_map(one).collect();
        }
        if let Some(why) = self.obstacle(bytes) {
            return none(why);
        }
        (self.progress)(case);
        let planning = Instant::now();
        let mut sides = self.prepare(precision, works);
        let planning = planning.elapsed().as_secs_f64();
        let round = self.warm_up(&mut sides, end);
        self.last = Some(Cost { bytes, planning, round });
        if round * FEWEST as f64 > self.remaining() {
            let left = self.remaining();
            return none(format!(
                "takes {round:.1} s a run, {left:.0} s were left of {:.0}",
                self.budget
            ));
        }
        let mut times = vec![[const { Vec::<f64>::new() }; 2]; sides.len()];
        for done in 0..self.settings.repetitions {
            if done >= FEWEST && self.elapsed() > end || (self.stop)() {
                break;
            }
            self.round(&mut sides, &mut times);
        }
        let outcome = |(side, [times, plain]): (Side, &[Vec<f64>; 2])| match side {
            Err(why) => Outcome::Skipped(why),
            Ok(_) => match Timing::of(times) {
                Some(sample) => Outcome::Timed(sample, Timing::of(plain)),
                None => Outcome::Skipped("interrupted before the first repetition".to_owned()),
            },
        };
        sides.into_iter().zip(&times).map(outcome).collect()
    }

    /// Plans every side; one that cannot be planned stays as the reason.
    fn prepare(&self, precision: Precision, works: &[Work]) -> Vec<Side> {
        let prepare = |work| self.target.prepare(work, precision).map_err(reason);
        works.iter().map(prepare).collect()
    }

    /// Runs rounds that do not count, fewer where they take long, and returns
    /// the seconds that the last one took.
    fn warm_up(&self, sides: &mut [Side], end: f64) -> f64 {
        let mut round = 0.0;
        for _ in 0..WARM_UP {
            let start = Instant::now();
            self.round(sides, &mut []);
            round = start.elapsed().as_secs_f64();
            if self.elapsed() + round * (FEWEST + 1) as f64 > end {
                break;
            }
        }
        round
    }

    /// Runs every side once; times go to `times` unless that is empty. A side that
    /// fails stays as the reason.
    fn round(&self, sides: &mut [Side], times: &mut [[Vec<f64>; 2]]) {
        for (k, side) in sides.iter_mut().enumerate() {
            let Ok(workload) = side else { continue };
            match workload.run().and_then(|time| Ok((time, workload.run_plain()?))) {
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

    /// Returns why a measurement is left out: the user interrupted, or time or memory, as far as
    /// known, do not suffice.
    fn obstacle(&self, bytes: f64) -> Option<String> {
        if (self.stop)() {
            return Some("interrupted".to_owned());
        }
        if let Some(free) = self.target.free_memory().filter(|&free| bytes > 0.9 * free) {
            let gib = |bytes: f64| bytes / f64::from(1 << 30);
            return Some(format!("needs {:.1} GiB, {:.1} are free", gib(bytes), gib(free)));
        }
        let cost = self.last?;
        // Times grow no slower than sizes; one round more is to warm up.
        let growth = bytes / cost.bytes;
        let seconds = growth * (cost.planning + cost.round * (FEWEST + 1) as f64);
        let left = self.remaining();
        (growth >= 1.0 && seconds > left).then(|| {
            format!("would take about {seconds:.0} s, {left:.0} s were left of {:.0}", self.budget)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_grow_and_use_all_the_time() {
        assert!((share(1) - 1.0).abs() < 1e-12 && (share(0) - 1.0).abs() < 1e-12);
        let (mut left, mut before) = (1.0, 0.0);
        for k in (1..=14).rev() {
            let mine = left * share(k);
            assert!(mine > before, "{k}");
            (left, before) = (left - mine, mine);
        }
        assert!(left.abs() < 1e-12);
    }
}
