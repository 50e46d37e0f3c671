//! Table VII: one step at the statistics of the eight ISPD 2005 designs.

use super::content::{Content, cases, ratios};
use crate::cli::paper::designs::Designs;
use crate::cli::paper::printed::DESIGNS;
use crate::cli::paper::session::{Session, Unit};
use crate::cli::paper::table::{Claim, Group, Line, Observation};
use crate::cli::paper::target::{BenchError, Work};
use crate::engine::Pipeline;

/// What the paper's mean speed-up rounds to.
const MEAN: f64 = 1.7;

pub(super) fn run(session: &mut Session<'_>, designs: &mut Designs) -> Result<Content, BenchError> {
    let cases = cases(session, &DESIGNS);
    session.expect(cases.len());
    let [row_column, fused, three_pass] = Pipeline::ALL.map(Pipeline::name);
    let mut groups = Vec::new();
    // The smallest first: what the time does not suffice for is the largest.
    for bins in [512, 1024, 2048] {
        for design in cases.iter().filter(|d| d.bins == bins) {
            (session.progress)(&format!("generating {}", design.name));
            let charge = designs.charge(design.name, design.bins)?;
            let works = Pipeline::ALL.map(|pipeline| Work::Step(charge.clone(), pipeline));
            let outcomes = session.measure(design.name, &works);
            let printed = [Some(design.row_column), Some(design.fused), None];
            let names = [row_column, fused, three_pass];
            let lines = names.iter().zip(printed).zip(&outcomes).map(|((name, paper), outcome)| {
                Line::timed(*name, Unit::Milliseconds, outcome).printed(paper).over(fused)
            });
            groups.push(Group::new(design.name, Some(charge.bodies()), lines.collect()));
        }
    }
    let in_the_paper = |g: &Group| DESIGNS.iter().position(|d| d.name == g.case);
    groups.sort_by_key(in_the_paper);
    let each = ratios(&groups, row_column, fused, |r| r > 1.0);
    let mean = each.iter().map(|o| o.value).sum::<f64>() / each.len().max(1) as f64;
    let case = format!("mean of {} designs", each.len());
    let mean = Observation { case, value: mean, agrees: mean >= MEAN };
    let claims = vec![
        Claim::of(
            format!("The fused step is {MEAN} times as fast as the row-column one on average."),
            "Row-column over fused",
            &format!("at least {MEAN}"),
            "",
            if each.is_empty() { &[] } else { std::slice::from_ref(&mean) },
        ),
        Claim::of(
            "The fused step is the faster one on every design.",
            "Row-column over fused",
            "above 1",
            "",
            &each,
        ),
        Claim::of(
            "The speed-up is smaller on larger designs.",
            "Speed-up on bigblue4 over that on adaptec1",
            "below 1",
            "",
            &Vec::from_iter(shrinking(&each)),
        ),
    ];
    let mut notes = vec![
        "designs are generated at the circuits' statistics, with fillers; a step is density, solve \
         and the force on every body, where the paper's is potential and force"
            .to_owned(),
    ];
    if session.target.machine().engine == "cuda" {
        notes.push("means hold the ordering of bodies every 32 steps, medians do not".to_owned());
    }
    Ok(Content { groups, claims, notes })
}

/// The largest design's speed-up over the smallest's.
fn shrinking(each: &[Observation]) -> Option<Observation> {
    let of = |name: &str| each.iter().find(|o| o.case == name).map(|o| o.value);
    let value = of("bigblue4")? / of("adaptec1")?;
    let case = "bigblue4 over adaptec1".to_owned();
    Some(Observation { case, value, agrees: value < 1.0 })
}
