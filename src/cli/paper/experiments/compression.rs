//! Image compression: DCT, thresholding, IDCT ("Image compression", where
//! p = 1 in Amdahl's law).

use super::content::{Content, cases, size, within};
use super::two_dimensional::works;
use crate::cli::paper::printed::TWO_DIMENSIONAL;
use crate::cli::paper::session::{Session, Unit};
use crate::cli::paper::table::{Claim, Group, Line, Observation, ratio};
use crate::cli::paper::target::{BenchError, Direction, Work};
use crate::engine::Pipeline;

const SIZES: [usize; 4] = [512, 1024, 2048, 4096];
const NAMES: [&str; 5] = [
    "compression row-column",
    "compression fused",
    "DCT and IDCT row-column",
    "DCT and IDCT fused",
    "compression by lines",
];

pub(super) fn run(session: &mut Session<'_>) -> Result<Content, BenchError> {
    let cases = cases(session, &SIZES);
    session.expect(cases.len());
    let mut groups = Vec::new();
    for &n in cases {
        let shape = [n, n];
        // Of random numbers in 0 … 1, this keeps about every other coefficient.
        let threshold = n as f64 / 10.0;
        let [forward, inverse] = [Direction::Forward, Direction::Inverse].map(|d| works(shape, d));
        let mut all = vec![
            Work::Compress(shape, Pipeline::RowColumn, threshold),
            Work::Compress(shape, Pipeline::Fused, threshold),
            forward[0].clone(),
            forward[1].clone(),
            inverse[0].clone(),
            inverse[1].clone(),
        ];
        if session.has_lines() {
            all.push(Work::Compress(shape, Pipeline::ThreePass, threshold));
        }
        let outcomes = session.measure(&size(shape), &all);
        let sum =
            |a: usize, b: usize| outcomes[a].median().zip(outcomes[b].median()).map(|(a, b)| a + b);
        let row = TWO_DIMENSIONAL.iter().find(|row| row.shape == shape);
        let printed =
            row.map(|r| [r.dct_row_column + r.idct_row_column, r.dct_fused + r.idct_fused]);
        let [row_column, fused] = printed.map_or([None; 2], |printed| printed.map(Some));
        let ms = Unit::Milliseconds;
        let mut lines = vec![
            Line::timed(NAMES[0], ms, &outcomes[0]).over(NAMES[1]),
            Line::timed(NAMES[1], ms, &outcomes[1]).over(NAMES[1]),
            Line::new(NAMES[2], ms.name()).printed(row_column).counted(sum(2, 4)).over(NAMES[3]),
            Line::new(NAMES[3], ms.name()).printed(fused).counted(sum(3, 5)).over(NAMES[3]),
        ];
        let by_lines = outcomes.get(6).map(|outcome| Line::timed(NAMES[4], ms, outcome));
        lines.extend(by_lines.map(|line| line.over(NAMES[1])));
        groups.push(Group::new(size(shape), Some(n * n), lines));
    }
    let shared = Claim::of(
        "Compression shares the transforms' speed-up, for the threshold is fused with them.",
        "Speed-up of compression over speed-up of DCT and IDCT together",
        "within 10 %",
        "",
        &compared(&groups),
    );
    let notes = vec!["the paper's times are sums of table V's DCT and IDCT".to_owned()];
    Ok(Content { groups, claims: vec![shared], notes })
}

fn compared(groups: &[Group]) -> Vec<Observation> {
    let observe = |group: &Group| {
        let value = ratio(group.ratio(NAMES[0], NAMES[1]), group.ratio(NAMES[2], NAMES[3]))?;
        Some(Observation { case: group.case.clone(), value, agrees: within(0.10)(value) })
    };
    groups.iter().filter_map(observe).collect()
}
