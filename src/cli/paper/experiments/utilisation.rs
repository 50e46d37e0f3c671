//! Table VI: how far pre- and post-processing use the device.
//!
//! Occupancy is what the driver's calculator allows for the kernel's registers
//! and shared memory, memory throughput the bytes that a stage must read and
//! write (every element once) over its time. The paper's are a profiler's.

use super::content::{Content, cases, size};
use crate::cli::paper::printed::{POSTPROCESS, PREPROCESS, Utilisation};
use crate::cli::paper::session::{Outcome, Session, Unit};
use crate::cli::paper::table::{Claim, Group, Line, Observation};
use crate::cli::paper::target::{BenchError, Work, element_bytes, reason};
use crate::transform::{PostProcessing, Reorder};

/// Beyond the caches of today's devices, so that traffic goes to their memory.
const SIZES: [usize; 1] = [4096];
/// For a quick look.
const SMALL: [usize; 1] = [512];

const GBS: &str = "GB/s";
const OF_PEAK: &str = "memory throughput";
const OF_COPY: &str = "throughput over a copy's";

pub(super) fn run(session: &mut Session<'_>) -> Result<Content, BenchError> {
    let sizes = if session.settings.quick { SMALL } else { SIZES };
    let n = cases(session, &sizes)[0];
    session.expect(1);
    let kernels = [
        ("pre-processing", Work::Reorder([n, n], Reorder::default()), PREPROCESS),
        ("post-processing", Work::PostProcess([n, n], PostProcessing::default()), POSTPROCESS),
    ];
    let works = [kernels[0].1.clone(), kernels[1].1.clone(), Work::Copy([n, n])];
    let outcomes = session.measure(&size([n, n]), &works);
    let precision = session.settings.precision;
    let element = element_bytes(precision);
    let throughput =
        |outcome: &Outcome, values: f64| outcome.median().map(|ms| values * element / (ms * 1e-3));
    let map = (n * n) as f64;
    // A map in and a map out; a onesided spectrum in and a map out; a copy.
    let values = [2.0 * map, (n * (n + 2) + n * n) as f64, 2.0 * map];
    let copy = throughput(&outcomes[2], values[2]);
    let mut groups = Vec::new();
    for (k, (name, work, printed)) in kernels.iter().enumerate() {
        let achieved = throughput(&outcomes[k], values[k]);
        let share = |of: Option<f64>| achieved.zip(of).map(|(achieved, of)| 100.0 * achieved / of);
        let peak = Line::new(OF_PEAK, "% of peak").printed(printed.bandwidth);
        let peak = match share(session.target.peak_bandwidth()) {
            Some(share) => peak.counted(share),
            None => peak.skipped("no peak is known"),
        };
        let occupancy = Line::new("occupancy", "%").printed(printed.occupancy);
        let mut lines = vec![
            match session.target.occupancy(work, precision) {
                Ok(share) => occupancy.counted(100.0 * share),
                Err(error) => occupancy.skipped(reason(error)),
            },
            peak,
            Line::new(OF_COPY, "%").counted(share(copy)),
            Line::new("bytes read and written per second", GBS).counted(achieved.map(|b| b / 1e9)),
            Line::timed("time", Unit::Milliseconds, &outcomes[k]),
        ];
        lines.extend(profiled(printed));
        groups.push(Group::new(*name, None, lines));
    }
    let observe = |group: &Group| {
        let value = group.typical(OF_COPY)?;
        Some(Observation { case: group.case.clone(), value, agrees: value >= 75.0 })
    };
    let bound = Claim::of(
        "Pre- and post-processing are bounded by memory: over 75 % of its bandwidth is in use.",
        "Throughput over that of a copy",
        "at least 75 %",
        " %",
        &groups.iter().filter_map(observe).collect::<Vec<_>>(),
    );
    let notes = vec![format!(
        "maps of {n} × {n}; occupancy is the most that registers and shared memory allow, where \
         the paper has a profiler's; scripts/utilisation-ncu asks NVIDIA's profiler on a device"
    )];
    Ok(Content { groups, claims: vec![bound], notes })
}

/// What only a profiler can say.
fn profiled(printed: &Utilisation) -> [Line; 2] {
    let why = "needs a profiler: scripts/utilisation-ncu";
    [
        Line::new("compute", "%").printed(printed.compute).skipped(why),
        Line::new("multiprocessors in use", "%").printed(printed.multiprocessors).skipped(why),
    ]
}
