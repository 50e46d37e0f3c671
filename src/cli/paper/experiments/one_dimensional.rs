//! Table IV: the DCT of one line by four algorithms.

use super::content::{Content, cases};
use crate::cli::paper::printed::{ALGORITHMS, ONE_DIMENSIONAL};
use crate::cli::paper::session::{Session, Unit};
use crate::cli::paper::table::{Claim, Group, Line, Observation};
use crate::cli::paper::target::{BenchError, Work};
use crate::transform::Algorithm1d;

pub(super) fn run(session: &mut Session<'_>) -> Result<Content, BenchError> {
    let cases = cases(session, &ONE_DIMENSIONAL);
    session.expect(cases.len());
    let reference = Algorithm1d::NPoint.name();
    let mut groups = Vec::new();
    for (log, printed) in cases {
        let n = 1 << log;
        let case = format!("2^{log}");
        let works = ALGORITHMS.map(|algorithm| Work::Line(n, algorithm));
        let outcomes = session.measure(&case, &works);
        let lines = ALGORITHMS.iter().zip(printed).zip(&outcomes).map(|((by, &paper), outcome)| {
            Line::timed(by.name(), Unit::Microseconds, outcome).printed(paper).over(reference)
        });
        groups.push(Group::new(case, Some(n), lines.collect()));
    }
    let fastest = Claim::of(
        "The N-point algorithm is the fastest at every length.",
        "The fastest other algorithm over N-point",
        "above 1",
        "",
        &next_best(&groups),
    );
    Ok(Content { groups, claims: vec![fastest], ..Content::default() })
}

/// The fastest of the three others over the N-point algorithm.
fn next_best(groups: &[Group]) -> Vec<Observation> {
    let observe = |group: &Group| {
        let others = ALGORITHMS.iter().filter(|a| **a != Algorithm1d::NPoint);
        let ratios = others.map(|a| group.ratio(a.name(), Algorithm1d::NPoint.name()));
        let value = ratios.collect::<Option<Vec<f64>>>()?.into_iter().fold(f64::INFINITY, f64::min);
        Some(Observation { case: group.case.clone(), value, agrees: value > 1.0 })
    };
    groups.iter().filter_map(observe).collect()
}
