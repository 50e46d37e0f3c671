//! Table III: the DCT's post-processing one output at a time and four at a time.

use super::content::{Content, cases, ratios, size};
use crate::cli::paper::counted::operations;
use crate::cli::paper::printed::{EFFICIENT, NAIVE, Operations};
use crate::cli::paper::session::{Session, Unit};
use crate::cli::paper::table::{Claim, Group, Line, Observation};
use crate::cli::paper::target::{BenchError, Work};
use crate::transform::{PostProcessing, Reorder};

const SIZES: [usize; 5] = [512, 1024, 2048, 4096, 8192];

/// Operations are counted over a map of this many rows and columns.
const COUNTED: usize = 1024;

/// What is timed, and what it is compared with.
const LINES: [(&str, &str); 4] = [
    ("naive", "efficient"),
    ("efficient", "efficient"),
    ("whole DCT, naive", "whole DCT, efficient"),
    ("whole DCT, efficient", "whole DCT, efficient"),
];

/// A count of [`Operations`] and its name.
type Count = (&'static str, fn(&Operations) -> f64);

const COUNTS: [Count; 4] = [
    ("complex reads", |o| o.reads),
    ("real multiplications", |o| o.multiplications),
    ("real additions", |o| o.additions),
    ("operations per read", Operations::intensity),
];

pub(super) fn run(session: &mut Session<'_>) -> Result<Content, BenchError> {
    let [naive, efficient] = operations(COUNTED);
    let mut groups = Vec::new();
    for (name, count) in COUNTS {
        let unit = if name.ends_with("per read") { "" } else { "per output" };
        let lines = vec![
            Line::new("naive", unit).printed(count(&NAIVE)).counted(count(&naive)),
            Line::new("efficient", unit).printed(count(&EFFICIENT)).counted(count(&efficient)),
        ];
        let lines = lines.into_iter().map(|line| line.over("efficient")).collect();
        groups.push(Group::new(name, None, lines));
    }
    let counted = observed_counts(&groups);
    let cases = cases(session, &SIZES);
    session.expect(cases.len());
    let mut timed = Vec::new();
    for &n in cases {
        let ways = [("naive", PostProcessing::Naive), ("efficient", PostProcessing::Efficient)];
        let alone = ways.iter().map(|(_, how)| Work::PostProcess([n, n], *how));
        let whole = ways.iter().map(|(_, how)| Work::Variant([n, n], Reorder::default(), *how));
        let works: Vec<Work> = alone.chain(whole).collect();
        let outcomes = session.measure(&size([n, n]), &works);
        let lines = LINES.iter().zip(&outcomes).map(|((name, over), outcome)| {
            Line::timed(*name, Unit::Milliseconds, outcome).over(over)
        });
        timed.push(Group::new(size([n, n]), Some(n * n), lines.collect()));
    }
    let claims = vec![
        Claim::of(
            "The efficient form reads a quarter as much and computes 2/5 and 3/7 as much.",
            "Counted over printed operations",
            "within 1 %",
            "",
            &counted,
        ),
        Claim::of(
            "The efficient form is the faster one.",
            "Naive over efficient, in time",
            "above 1",
            "",
            &ratios(&timed, LINES[0].0, LINES[0].1, |r| r > 1.0),
        ),
        Claim::of(
            "So is the DCT that ends in it.",
            "DCT with naive over DCT with efficient post-processing",
            "above 1",
            "",
            &ratios(&timed, LINES[2].0, LINES[2].1, |r| r > 1.0),
        ),
    ];
    groups.extend(timed);
    let notes = vec![format!(
        "operations are counted on the two formulas, over a {COUNTED} × {COUNTED} map; a 2 in front \
         of every output is left out, as in the paper"
    )];
    Ok(Content { groups, claims, notes })
}

/// Counted over printed, for every count.
fn observed_counts(groups: &[Group]) -> Vec<Observation> {
    let lines = groups.iter().flat_map(|g| g.lines.iter().map(move |l| (g, l)));
    let observe = |(group, line): (&Group, &Line)| {
        let value = line.here? / line.paper?;
        let case = format!("{}, {}", line.what, group.case);
        Some(Observation { case, value, agrees: (value - 1.0).abs() < 0.01 })
    };
    lines.filter_map(observe).collect()
}
