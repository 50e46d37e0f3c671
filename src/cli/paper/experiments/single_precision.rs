//! "The speedup on the single-precision floating-point is similar to that of
//! the double-precision floating-point" (section "Settings"), held to sizes of
//! table V.

use super::content::{Content, cases, size, within};
use super::two_dimensional::{DCT, IDCT, by_lines, works};
use crate::cli::paper::session::{Session, Unit};
use crate::cli::paper::table::{Claim, Group, Line, Observation, ratio};
use crate::cli::paper::target::{BenchError, Direction};
use crate::real::Precision;

const SIZES: [usize; 4] = [512, 1024, 2048, 4096];
const BOTH: [Precision; 2] = [Precision::F32, Precision::F64];

pub(super) fn run(session: &mut Session<'_>) -> Result<Content, BenchError> {
    let cases = cases(session, &SIZES);
    session.expect(cases.len() * 2 * BOTH.len());
    let mut groups = Vec::new();
    for &n in cases {
        let mut lines = Vec::new();
        for (names, direction) in [(DCT, Direction::Forward), (IDCT, Direction::Inverse)] {
            let works = works([n, n], direction);
            for precision in BOTH {
                let case = format!("{} in {precision}", size([n, n]));
                let mut works = works[..2].to_vec();
                if session.has_lines() {
                    works.push(by_lines([n, n], direction));
                }
                let outcomes = session.measure_in(precision, &case, &works);
                let name = |k: usize| format!("{}, {precision}", names[if k == 2 { 3 } else { k }]);
                lines.extend(outcomes.iter().enumerate().map(|(k, outcome)| {
                    Line::timed(name(k), Unit::Milliseconds, outcome).over(&name(1))
                }));
            }
        }
        groups.push(Group::new(size([n, n]), Some(n * n), lines));
    }
    let mut observations = compared(&groups, DCT);
    observations.extend(compared(&groups, IDCT));
    let similar = Claim::of(
        "The speed-up in f32 is similar to that in f64.",
        "Speed-up in f32 over speed-up in f64",
        "within 15 %",
        "",
        &observations,
    );
    let notes = vec!["both precisions, whatever was asked for".to_owned()];
    Ok(Content { groups, claims: vec![similar], notes })
}

fn compared(groups: &[Group], names: [&str; 4]) -> Vec<Observation> {
    let observe = |group: &Group| {
        let speed_up = |precision: Precision| {
            let name = |k: usize| format!("{}, {precision}", names[k]);
            group.ratio(&name(0), &name(1))
        };
        let value = ratio(speed_up(Precision::F32), speed_up(Precision::F64))?;
        let case = format!("{} {}", names[1], group.case);
        Some(Observation { case, value, agrees: within(0.15)(value) })
    };
    groups.iter().filter_map(observe).collect()
}
