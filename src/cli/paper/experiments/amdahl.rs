//! Amdahl's law on a placer's step: 1/((1 − p) + p/s), with p the transforms'
//! share of the row-column step and s their speed-up ("Case studies").

use super::content::{Content, cases, within};
use crate::cli::paper::designs::Designs;
use crate::cli::paper::printed::DESIGNS;
use crate::cli::paper::session::{Session, Unit};
use crate::cli::paper::table::{Claim, Group, Line, Observation, ratio};
use crate::cli::paper::target::{BenchError, Work};
use crate::engine::Pipeline;

/// The small and the large designs that the paper compares.
const NAMES: [&str; 4] = ["adaptec1", "bigblue1", "adaptec4", "bigblue4"];

const SHARE: &str = "p, share of the solve";
const SPEED_UP: &str = "s, speed-up of the solve";
const ESTIMATE: &str = "estimate of the step's speed-up";
const MEASURED: &str = "speed-up of the step";
const TIMES: [&str; 4] = ["step row-column", "step fused", "solve row-column", "solve fused"];

/// The speed-up of a whole of which the share `p` becomes `s` times as fast.
fn amdahl(p: f64, s: f64) -> f64 {
    1.0 / ((1.0 - p) + p / s)
}

pub(super) fn run(session: &mut Session<'_>, designs: &mut Designs) -> Result<Content, BenchError> {
    let cases = cases(session, &NAMES);
    session.expect(cases.len());
    let mut groups = Vec::new();
    for &name in cases {
        let Some(design) = DESIGNS.iter().find(|d| d.name == name) else { continue };
        let charge = designs.charge(design.name, design.bins)?;
        let works = [
            Work::Step(charge.clone(), Pipeline::RowColumn),
            Work::Step(charge.clone(), Pipeline::Fused),
            Work::Solve(charge.clone(), Pipeline::RowColumn),
            Work::Solve(charge.clone(), Pipeline::Fused),
        ];
        let outcomes = session.measure(name, &works);
        let over = |a: usize, b: usize| ratio(outcomes[a].median(), outcomes[b].median());
        let (p, s, measured) = (over(2, 0), over(2, 3), over(0, 1));
        let estimate = p.zip(s).map(|(p, s)| amdahl(p, s));
        let times = TIMES.iter().zip(&outcomes);
        let timed = times.map(|(what, outcome)| Line::timed(*what, Unit::Milliseconds, outcome));
        let mut lines: Vec<Line> = timed.collect();
        lines.extend([
            Line::new(SHARE, "").counted(p),
            Line::new(SPEED_UP, "").counted(s),
            Line::new(ESTIMATE, "").counted(estimate),
            Line::new(MEASURED, "").printed(design.row_column / design.fused).counted(measured),
        ]);
        groups.push(Group::new(name, Some(charge.bodies()), lines));
    }
    let claims = claims(&groups);
    let notes = vec![
        "the solve is the transforms with Green's function folded into them; the paper prints \
         neither p nor s"
            .to_owned(),
    ];
    Ok(Content { groups, claims, notes })
}

fn claims(groups: &[Group]) -> Vec<Claim> {
    let estimates = groups.iter().filter_map(|group| {
        let value = group.ratio(ESTIMATE, MEASURED)?;
        Some(Observation { case: group.case.clone(), value, agrees: within(0.10)(value) })
    });
    // Of bigblue4 over adaptec1, the largest over the smallest.
    let largest_over_smallest = |what: &str, agrees: &dyn Fn(f64) -> bool| {
        let of = |name: &str| groups.iter().find(|g| g.case == name)?.typical(what);
        let value = of("bigblue4").zip(of("adaptec1")).map(|(large, small)| large / small);
        let case = || "bigblue4 over adaptec1".to_owned();
        value.map(|value| Observation { case: case(), value, agrees: agrees(value) })
    };
    vec![
        Claim::of(
            "Amdahl's law tells the step's speed-up from the transforms'.",
            "Estimate over measured speed-up",
            "within 10 %",
            "",
            &estimates.collect::<Vec<_>>(),
        ),
        Claim::of(
            "Larger designs have a larger speed-up s of the transforms.",
            "Ratio of s",
            "above 1",
            "",
            &Vec::from_iter(largest_over_smallest(SPEED_UP, &|r| r > 1.0)),
        ),
        Claim::of(
            "Larger designs have a smaller share p of the transforms.",
            "Ratio of p",
            "below 1",
            "",
            &Vec::from_iter(largest_over_smallest(SHARE, &|r| r < 1.0)),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::amdahl;

    #[test]
    fn amdahls_law() {
        assert_eq!(amdahl(1.0, 2.0), 2.0);
        assert_eq!(amdahl(0.0, 2.0), 1.0);
        assert_eq!(amdahl(0.5, 2.0), 4.0 / 3.0);
    }
}
