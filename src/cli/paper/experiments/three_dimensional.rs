//! The 3-D DCT through a 3-D FFT, which the paper describes and does not time.

use super::content::{Content, cases, ratios};
use super::two_dimensional::ABOUT_TWICE;
use crate::cli::paper::session::{Session, Unit};
use crate::cli::paper::table::{Claim, Group, Line};
use crate::cli::paper::target::{BenchError, Direction, Work};
use crate::engine::Pipeline;

const SIZES: [usize; 3] = [64, 128, 256];
const DCT: [&str; 3] = ["DCT row-column", "DCT fused", "DCT by lines"];
const IDCT: [&str; 3] = ["IDCT row-column", "IDCT fused", "IDCT by lines"];

pub(super) fn run(session: &mut Session<'_>) -> Result<Content, BenchError> {
    let cases = cases(session, &SIZES);
    session.expect(2 * cases.len());
    let mut groups = Vec::new();
    for &n in cases {
        let case = format!("{n}³");
        let mut lines = Vec::new();
        for (names, direction) in [(DCT, Direction::Forward), (IDCT, Direction::Inverse)] {
            let sides = [Pipeline::RowColumn, Pipeline::Fused, Pipeline::ThreePass];
            let works = sides.map(|pipeline| Work::Volume([n; 3], direction, pipeline));
            let count = if session.has_lines() { 3 } else { 2 };
            let outcomes = session.measure(&case, &works[..count]);
            lines.extend(names.iter().zip(&outcomes).map(|(name, outcome)| {
                Line::timed(*name, Unit::Milliseconds, outcome).over(names[1])
            }));
        }
        groups.push(Group::new(case, Some(n * n * n), lines));
    }
    let mut observations = ratios(&groups, DCT[0], DCT[1], |r| r >= ABOUT_TWICE);
    observations.extend(ratios(&groups, IDCT[0], IDCT[1], |r| r >= ABOUT_TWICE));
    let extends = Claim::of(
        "The paradigm extends to 3-D (no times are printed).",
        "Row-column over fused",
        &format!("at least {ABOUT_TWICE}"),
        "",
        &observations,
    );
    Ok(Content { groups, claims: vec![extends], ..Content::default() })
}
