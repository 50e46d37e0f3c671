//! A table of the paper beside this machine's numbers, as JSON has it, and its claims.

use super::work::{FAILED, Machine};
use crate::real::Precision;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything one run of `placefield bench` measured; its JSON keys are stable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The version of placefield that measured.
    #[serde(skip_serializing)]
    pub version: String,
    /// The machine of these measurements.
    pub machine: Machine,
    /// The machine of the paper's measurements.
    pub paper_hardware: String,
    /// Requested repetitions, if the time allows them.
    pub repetitions: usize,
    /// Whether the run was limited to the smallest sizes.
    pub quick: bool,
    /// Wall-clock seconds in all.
    pub seconds: f64,
    /// Notes for readers of the numbers.
    pub notes: Vec<String>,
    /// The tables, in the paper's order.
    pub tables: Vec<Table>,
}

impl Report {
    /// Returns why numbers are missing where the engine failed, each reason once.
    pub fn failures(&self) -> Vec<&str> {
        let lines = self.tables.iter().flat_map(|t| &t.groups).flat_map(|g| &g.lines);
        let reasons = lines.filter_map(|l| l.skipped.as_deref()?.strip_prefix(FAILED));
        let mut reasons: Vec<&str> = reasons.collect();
        reasons.sort_unstable();
        reasons.dedup();
        reasons
    }
}

/// One table or figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// The subcommand that makes the table.
    pub name: String,
    /// The title.
    pub title: String,
    /// The paper's table, figure or section.
    pub paper: String,
    /// The working precision.
    pub precision: Precision,
    /// One block of lines per size or design.
    pub groups: Vec<Group>,
    /// The paper's claims, and the findings here.
    pub claims: Vec<Claim>,
    /// Notes for readers of the numbers.
    pub notes: Vec<String>,
    /// Wall-clock seconds that the run was given.
    pub budget_s: f64,
    /// Wall-clock seconds of the run.
    pub seconds: f64,
}

/// The lines of one size or design.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// The size or design, as in the table.
    pub case: String,
    /// Elements of a map or bodies of a design: the x of a plot.
    pub elements: Option<usize>,
    /// The measurements.
    pub lines: Vec<Line>,
}

/// One number, in the paper and here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// The subject.
    pub what: String,
    /// Unit of every number but the ratios.
    pub unit: String,
    /// The number in the paper.
    pub paper: Option<f64>,
    /// This machine's number: the mean if it was timed.
    pub here: Option<f64>,
    /// The line of the same group by which ratios divide.
    pub over: Option<String>,
    /// The paper's number divided by that line's.
    pub paper_ratio: Option<f64>,
    /// This machine's number divided by that line's; the ratio of medians if both were timed.
    pub here_ratio: Option<f64>,
    /// The statistics of `here`, if it was timed.
    pub sample: Option<Timing>,
    /// On a device: the same as plain launches, where `sample` is of graph replays.
    pub plain: Option<Timing>,
    /// Reason that there is no number.
    pub skipped: Option<String>,
}

/// Statistics of repeated measurements, in the unit of the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// Arithmetic mean, as in the paper.
    pub mean: f64,
    /// Standard deviation of the sample (over n − 1); zero for one measurement.
    pub deviation: f64,
    /// The middle value.
    pub median: f64,
    /// First and third quartile, interpolated.
    pub quartiles: [f64; 2],
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// Number of measurements.
    pub repetitions: usize,
}

impl Timing {
    /// Returns the statistics of measurements in any order; `None` without any.
    pub fn of(values: &[f64]) -> Option<Timing> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let n = sorted.len();
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let squares: f64 = sorted.iter().map(|v| (v - mean) * (v - mean)).sum();
        let deviation = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
        let at = |share: f64| {
            let place = (n - 1) as f64 * share;
            let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            low + (high - low) * place.fract()
        };
        let quartiles = [at(0.25), at(0.75)];
        Some(Timing { mean, deviation, median: at(0.5), quartiles, min, max, repetitions: n })
    }

    /// Returns the same in another unit.
    #[must_use]
    pub fn scaled(self, by: f64) -> Timing {
        Timing {
            mean: self.mean * by,
            deviation: self.deviation * by,
            median: self.median * by,
            quartiles: self.quartiles.map(|q| q * by),
            min: self.min * by,
            max: self.max * by,
            repetitions: self.repetitions,
        }
    }
}

/// A statement of the paper, compared with this machine's numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// The paper's statement.
    pub paper: String,
    /// The finding on this machine, in a sentence.
    pub here: String,
    /// Whether they agree.
    pub verdict: Verdict,
}

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// In every case measured.
    Holds,
    /// In some cases and not in others.
    HoldsInPart,
    /// In no case.
    DoesNotHold,
    /// No measurement can decide it.
    NotMeasured,
}

impl Verdict {
    /// Returns it in words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::HoldsInPart => "holds in part",
            Verdict::DoesNotHold => "does not hold",
            Verdict::NotMeasured => "not measured",
        }
    }
}

/// The condition under which a claim holds for a value: in words, the unit of a value, and the
/// test.
#[derive(Clone, Copy)]
pub(super) struct Rule(
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) fn(f64) -> bool,
);

/// Whether two numbers of this ratio are within so many percent of each other.
pub(super) fn within(percent: f64, ratio: f64) -> bool {
    let most = 1.0 + percent / 100.0;
    ratio <= most && ratio >= 1.0 / most
}

/// A value, and the case that it was observed in.
pub(super) type Observed = (String, f64);

impl Claim {
    /// Returns a claim with the verdict of the observations in every case measured: `quantity`
    /// names the values, and `rule` says which of them agree.
    pub(super) fn of(
        paper: impl Into<String>,
        quantity: &str,
        rule: Rule,
        observed: &[Observed],
    ) -> Claim {
        let paper = paper.into();
        let by_value = |a: &&Observed, b: &&Observed| a.1.total_cmp(&b.1);
        let ends = (observed.iter().min_by(by_value), observed.iter().max_by(by_value));
        let (Some((least_case, least)), Some((most_case, most))) = ends else {
            let here = format!("{quantity}: no size was measured.");
            return Claim { paper, here, verdict: Verdict::NotMeasured };
        };
        let Rule(text, unit, holds) = rule;
        let mut range = format!("{}{unit} ({least_case})", short(*least));
        let all = observed.len();
        if all > 1 {
            range += &format!(" to {}{unit} ({most_case})", short(*most));
        }
        let agreeing = observed.iter().filter(|(_, value)| holds(*value)).count();
        let (verdict, found) = match agreeing {
            1 if all == 1 => (Verdict::Holds, text.to_owned()),
            0 if all == 1 => (Verdict::DoesNotHold, format!("not {text}")),
            n if n == all => (Verdict::Holds, format!("{text} in all {all} cases")),
            0 => (Verdict::DoesNotHold, format!("{text} in 0 of {all} cases")),
            n => (Verdict::HoldsInPart, format!("{text} in {n} of {all} cases")),
        };
        Claim { paper, here: format!("{quantity}: {range}; {found}."), verdict }
    }
}

impl Line {
    /// Returns the median where it was timed, else the number there is.
    fn typical(&self) -> Option<f64> {
        self.sample.map(|s| s.median).or(self.here)
    }
}

impl Group {
    /// Returns a block of lines, with their ratios. A line without a number and without a reason
    /// gets one: the number it follows from is missing.
    pub fn new(case: impl Into<String>, elements: Option<usize>, mut lines: Vec<Line>) -> Group {
        let numbers: Vec<(String, Option<f64>, Option<f64>)> =
            lines.iter().map(|l| (l.what.clone(), l.paper, l.typical())).collect();
        for line in &mut lines {
            if line.here.is_none() && line.skipped.is_none() {
                line.skipped = Some("it follows from what was not run".to_owned());
            }
            let Some(over) = &line.over else { continue };
            let Some((_, paper, here)) = numbers.iter().find(|(what, ..)| what == over) else {
                continue;
            };
            line.paper_ratio = ratio(line.paper, *paper);
            line.here_ratio = ratio(line.typical(), *here);
        }
        Group { case: case.into(), elements, lines }
    }

    /// Returns the line of this name.
    pub fn line(&self, what: &str) -> Option<&Line> {
        self.lines.iter().find(|l| l.what == what)
    }

    /// Returns this machine's number on the line of this name: the median where it was timed, which
    /// a slow moment of the machine does not move.
    pub fn typical(&self, what: &str) -> Option<f64> {
        self.line(what)?.typical()
    }

    /// Returns [`Group::typical`] of two lines, the first over the second.
    pub fn ratio(&self, what: &str, over: &str) -> Option<f64> {
        ratio(self.typical(what), self.typical(over))
    }
}

/// Returns `a / b` where both are there and the quotient is a number.
pub(crate) fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? / b?).filter(|r| r.is_finite())
}

/// Returns a number with three digits that count, plain.
pub(super) fn short(value: f64) -> String {
    let magnitude = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    let decimals = (2.0 - magnitude).clamp(0.0, 6.0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests;
