//! Figure 6: what each stage of the fused 1024 × 1024 DCT takes.

use super::content::{Content, size};
use crate::cli::paper::printed::{PRE_AND_POST_SHARE, TWO_DIMENSIONAL};
use crate::cli::paper::session::{Session, Unit};
use crate::cli::paper::table::{Claim, Group, Line, Observation, ratio};
use crate::cli::paper::target::{BenchError, Direction, Work};
use crate::engine::Pipeline;
use crate::transform::{PostProcessing, Reorder, Transform};

const SHAPE: [usize; 2] = [1024, 1024];
const STAGES: [&str; 4] = ["pre-processing", "RFFT", "post-processing", "whole DCT"];
const BOTH: &str = "pre- and post-processing";
const BEYOND: &str = "DCT beyond the FFT alone";

/// Pre- and post-processing are small if they take no more than this, where the paper has a fifth.
const SMALL: f64 = 0.3;

pub(super) fn run(session: &mut Session<'_>) -> Result<Content, BenchError> {
    session.expect(1);
    let works = [
        Work::Reorder(SHAPE, Reorder::default()),
        Work::Fft(SHAPE, Direction::Forward),
        Work::PostProcess(SHAPE, PostProcessing::default()),
        Work::Map(SHAPE, Transform::Dct, Pipeline::Fused),
    ];
    let outcomes = session.measure(&size(SHAPE), &works);
    let row = TWO_DIMENSIONAL.iter().find(|row| row.shape == SHAPE);
    let printed = [None, row.map(|r| r.rfft), None, row.map(|r| r.dct_fused)];
    let lines = STAGES.iter().zip(printed).zip(&outcomes).map(|((name, paper), outcome)| {
        Line::timed(*name, Unit::Milliseconds, outcome).printed(paper).over(STAGES[3])
    });
    let stages = Group::new(size(SHAPE), Some(SHAPE[0] * SHAPE[1]), lines.collect());
    let time = |k: usize| stages.typical(STAGES[k]);
    let both = time(0).zip(time(2)).map(|(pre, post)| pre + post);
    let sum = both.zip(time(1)).map(|(both, fft)| both + fft);
    let beyond = |fft: f64, whole: f64| 1.0 - fft / whole;
    let shares = vec![
        Line::new(BOTH, "of the stages' sum").printed(PRE_AND_POST_SHARE).counted(ratio(both, sum)),
        Line::new(BEYOND, "of the DCT")
            .printed(row.map(|r| beyond(r.rfft, r.dct_fused)))
            .counted(time(1).zip(time(3)).map(|(fft, whole)| beyond(fft, whole))),
        Line::new("sum of the stages", "of the DCT").counted(ratio(sum, time(3))),
    ];
    let shares = Group::new("shares", None, shares);
    let observe = |what: &str| {
        let value = shares.typical(what)?;
        Some(Observation { case: what.to_owned(), value: 100.0 * value, agrees: value <= SMALL })
    };
    let claim = Claim::of(
        "Pre- and post-processing take only around 20 % of the time; the FFT takes the rest.",
        "Share of the time",
        &format!("at most {:.0} %", 100.0 * SMALL),
        " %",
        &[BOTH, BEYOND].into_iter().filter_map(observe).collect::<Vec<_>>(),
    );
    let notes = vec![
        "stages are timed one by one; the whole transform may keep in cache what they hand on, or \
         work on two stages at once"
            .to_owned(),
    ];
    Ok(Content { groups: vec![stages, shares], claims: vec![claim], notes })
}
