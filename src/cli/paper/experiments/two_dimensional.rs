//! Table V: 2-D DCT and IDCT, row-column, fused, and the FFT alone.

use super::content::{Content, cases, ratios, size, within};
use crate::cli::paper::printed::{DCT_1024, TWO_DIMENSIONAL, TwoDimensional};
use crate::cli::paper::session::{Session, Unit};
use crate::cli::paper::table::{Claim, Group, Line, Observation, ratio};
use crate::cli::paper::target::{BenchError, Direction, Work};
use crate::engine::Pipeline;
use crate::transform::Transform;

/// What a transform must be faster than row-column by to count as about twice as fast.
pub(super) const ABOUT_TWICE: f64 = 1.8;

const MATLAB: &str = "DCT, MATLAB";
/// Row-column, fused, FFT and, neither of the paper's, line kernels, as lines are called.
pub(super) const DCT: [&str; 4] = ["DCT row-column", "DCT fused", "RFFT alone", "DCT by lines"];
pub(super) const IDCT: [&str; 4] =
    ["IDCT row-column", "IDCT fused", "IRFFT alone", "IDCT by lines"];

pub(super) fn run(session: &mut Session<'_>) -> Result<Content, BenchError> {
    let cases = cases(session, &TWO_DIMENSIONAL);
    session.expect(2 * cases.len());
    let mut groups = Vec::new();
    for row in in_order(cases) {
        let shape = row.shape;
        let matlab = Line::new(MATLAB, Unit::Milliseconds.name())
            .printed(row.matlab)
            .skipped("only in the paper");
        let mut lines = vec![matlab.over(DCT[1])];
        let halves = [
            (DCT, Direction::Forward, [row.dct_row_column, row.dct_fused, row.rfft].map(Some)),
            (IDCT, Direction::Inverse, [row.idct_row_column, row.idct_fused, row.irfft].map(Some)),
        ];
        for (names, direction, printed) in halves {
            let mut works = works(shape, direction).to_vec();
            if session.has_lines() {
                works.push(by_lines(shape, direction));
            }
            let outcomes = session.measure(&size(shape), &works);
            let printed = printed.into_iter().chain([None]);
            lines.extend(names.iter().zip(printed).zip(&outcomes).map(
                |((name, paper), outcome)| {
                    Line::timed(*name, Unit::Milliseconds, outcome).printed(paper).over(names[1])
                },
            ));
        }
        // Curves are over squares alone.
        let elements = (shape[0] == shape[1]).then_some(shape[0] * shape[1]);
        groups.push(Group::new(size(shape), elements, lines));
    }
    let in_the_paper = |g: &Group| TWO_DIMENSIONAL.iter().position(|row| size(row.shape) == g.case);
    groups.sort_by_key(in_the_paper);
    let claims = claims(&groups);
    Ok(Content { groups, claims, ..Content::default() })
}

/// Smallest first, so that what the time does not suffice for is the largest.
fn in_order(rows: &[TwoDimensional]) -> Vec<&TwoDimensional> {
    let mut rows: Vec<_> = rows.iter().collect();
    rows.sort_by_key(|row| row.shape[0] * row.shape[1]);
    rows
}

fn transform(direction: Direction) -> Transform {
    match direction {
        Direction::Forward => Transform::Dct,
        Direction::Inverse => Transform::Idct,
    }
}

/// By line kernels.
pub(super) fn by_lines(shape: [usize; 2], direction: Direction) -> Work {
    Work::Map(shape, transform(direction), Pipeline::ThreePass)
}

/// Row-column, fused and FFT of one direction.
pub(super) fn works(shape: [usize; 2], direction: Direction) -> [Work; 3] {
    let transform = transform(direction);
    [
        Work::Map(shape, transform, Pipeline::RowColumn),
        Work::Map(shape, transform, Pipeline::Fused),
        Work::Fft(shape, direction),
    ]
}

fn claims(groups: &[Group]) -> Vec<Claim> {
    let twice = |names: [&str; 4], of: &str| {
        Claim::of(
            format!("The fused {of} is about twice as fast as the row-column one at every size."),
            "Row-column over fused",
            &format!("at least {ABOUT_TWICE}"),
            "",
            &ratios(groups, names[0], names[1], |r| r >= ABOUT_TWICE),
        )
    };
    let mut fft = ratios(groups, DCT[2], DCT[1], |r| r > 0.5);
    fft.extend(ratios(groups, IDCT[2], IDCT[1], |r| r > 0.5));
    vec![
        twice(DCT, "DCT"),
        twice(IDCT, "IDCT"),
        Claim::of(
            "The FFT takes most of the fused transform's time.",
            "FFT alone over DCT or IDCT",
            "more than half",
            "",
            &fft,
        ),
        Claim::of(
            "100 × 10000 and 10000 × 100 run equally fast.",
            "100 × 10000 over 10000 × 100",
            "within 5 %",
            "",
            &elongated(groups),
        ),
        Claim::of(
            format!(
                "The standard deviation is less than 1 % of the mean ({:.2} % for the DCT of 1024²).",
                100.0 * DCT_1024.1 / DCT_1024.0
            ),
            "Deviation of the fused transforms",
            "less than 1 %",
            " %",
            &deviations(groups),
        ),
    ]
}

/// The two shapes of one area that are each other's transpose, DCT and IDCT.
fn elongated(groups: &[Group]) -> Vec<Observation> {
    let find = |shape| groups.iter().find(|g| g.case == size(shape));
    let (Some(wide), Some(tall)) = (find([100, 10000]), find([10000, 100])) else {
        return Vec::new();
    };
    let observe = |what: &str| {
        let value = ratio(wide.typical(what), tall.typical(what))?;
        Some(Observation { case: what.to_owned(), value, agrees: within(0.05)(value) })
    };
    [DCT[1], IDCT[1]].into_iter().filter_map(observe).collect()
}

fn deviations(groups: &[Group]) -> Vec<Observation> {
    let lines = groups.iter().flat_map(|g| [DCT[1], IDCT[1]].map(|what| (g, g.line(what))));
    let observe = |(group, line): (&Group, Option<&Line>)| {
        let (line, sample) = (line?, line?.sample?);
        let value = 100.0 * sample.deviation / sample.mean;
        let case = format!("{}, {}", group.case, line.what);
        Some(Observation { case, value, agrees: value < 1.0 })
    };
    lines.filter_map(observe).collect()
}
