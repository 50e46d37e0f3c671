//! Table II: the DCT's pre-processing by gather and by scatter.

use super::content::{Content, cases, ratios, size, within};
use crate::cli::paper::printed::REORDERING;
use crate::cli::paper::session::{Session, Unit};
use crate::cli::paper::table::{Claim, Group, Line};
use crate::cli::paper::target::{BenchError, Work};
use crate::transform::{PostProcessing, Reorder};

fn whole_dct(way: &str) -> String {
    format!("whole DCT, {way}")
}

pub(super) fn run(session: &mut Session<'_>) -> Result<Content, BenchError> {
    let cases = cases(session, &REORDERING);
    session.expect(cases.len());
    let mut groups = Vec::new();
    for &(n, gather, scatter) in cases {
        let ways = [
            ("gather", Reorder::Gather, Some(gather)),
            ("scatter", Reorder::Scatter, Some(scatter)),
            ("as used here", Reorder::default(), None),
        ];
        let alone = ways.iter().map(|(_, how, _)| Work::Reorder([n, n], *how));
        let post = PostProcessing::default();
        let whole = ways.iter().map(|(_, how, _)| Work::Variant([n, n], *how, post));
        let works: Vec<Work> = alone.chain(whole).collect();
        let outcomes = session.measure(&size([n, n]), &works);
        let (alone, whole) = outcomes.split_at(ways.len());
        let mut lines = Vec::new();
        for ((name, _, printed), outcome) in ways.into_iter().zip(alone) {
            let line = Line::timed(name, Unit::Milliseconds, outcome);
            lines.push(line.printed(printed).over("scatter"));
        }
        for ((name, ..), outcome) in ways.into_iter().zip(whole) {
            let line = Line::timed(whole_dct(name), Unit::Milliseconds, outcome);
            lines.push(line.over(&whole_dct("scatter")));
        }
        groups.push(Group::new(size([n, n]), Some(n * n), lines));
    }
    let alike = |claim: &str, over: &str, what: &str| {
        Claim::of(
            claim,
            "Gather over scatter",
            "within 10 %",
            "",
            &ratios(&groups, what, over, within(0.10)),
        )
    };
    let claims = vec![
        alike("Gather and scatter take about the same time.", "scatter", "gather"),
        alike(
            "So a DCT takes about the same time with either.",
            &whole_dct("scatter"),
            &whole_dct("gather"),
        ),
    ];
    Ok(Content { groups, claims, ..Content::default() })
}
