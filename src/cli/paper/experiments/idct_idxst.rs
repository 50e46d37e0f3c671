//! The times of IDCT_IDXST in the section on DREAMPlace: "similar to those of
//! 2D IDCT".

use super::content::{Content, cases, ratios, size, within};
use crate::cli::paper::printed::{IDCT_IDXST, TWO_DIMENSIONAL};
use crate::cli::paper::session::{Session, Unit};
use crate::cli::paper::table::{Claim, Group, Line};
use crate::cli::paper::target::{BenchError, Work};
use crate::engine::Pipeline;
use crate::transform::Transform;

const NAMES: [&str; 5] = [
    "IDCT_IDXST row-column",
    "IDCT_IDXST fused",
    "IDCT fused",
    "IDCT_IDXST by lines",
    "IDCT by lines",
];

pub(super) fn run(session: &mut Session<'_>) -> Result<Content, BenchError> {
    let cases = cases(session, &IDCT_IDXST);
    session.expect(cases.len());
    let mut groups = Vec::new();
    for &(n, printed) in cases {
        let shape = [n, n];
        let idct = TWO_DIMENSIONAL.iter().find(|row| row.shape == shape).map(|r| r.idct_fused);
        let works = [
            Work::Map(shape, Transform::IdctIdxst, Pipeline::RowColumn),
            Work::Map(shape, Transform::IdctIdxst, Pipeline::Fused),
            Work::Map(shape, Transform::Idct, Pipeline::Fused),
            Work::Map(shape, Transform::IdctIdxst, Pipeline::ThreePass),
            Work::Map(shape, Transform::Idct, Pipeline::ThreePass),
        ];
        let count = if session.has_lines() { 5 } else { 3 };
        let outcomes = session.measure(&size(shape), &works[..count]);
        let printed = [None, Some(printed), idct, None, None];
        let lines = NAMES.iter().zip(printed).zip(&outcomes).map(|((name, paper), outcome)| {
            Line::timed(*name, Unit::Milliseconds, outcome).printed(paper).over(NAMES[1])
        });
        groups.push(Group::new(size(shape), Some(n * n), lines.collect()));
    }
    let claims = vec![Claim::of(
        "IDCT_IDXST takes as long as IDCT: the time does not depend on the transform.",
        "IDCT over IDCT_IDXST, both fused",
        "within 10 %",
        "",
        &ratios(&groups, NAMES[2], NAMES[1], within(0.10)),
    )];
    Ok(Content { groups, claims, ..Content::default() })
}
