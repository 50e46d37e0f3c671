//! The paper's tables and figures, and claims of its text, as rows.

use super::measure::{Case, Content, Experiment, Measured, Medians, Row, Session};
use super::printed::{
    DCT_FUSED, DCT_ROW_COLUMN, DESIGNS, DEVIATION, Design, EFFICIENT, GATHER, IDCT_FUSED,
    IDCT_IDXST, IDCT_ROW_COLUMN, IRFFT, LINES, MATLAB, NAIVE, ONE_DIMENSIONAL, Operations,
    POSTPROCESS, PRE_AND_POST_SHARE, PREPROCESS, RFFT, SCATTER, SHAPES,
};
use super::table::{Claim, Group, Observed, Rule, ratio, within};
use super::work::{BenchError, Direction, Work, element_bytes, reason};
use crate::engine::Pipeline::{self, Fused, RowColumn, ThreePass};
use crate::paper::PostProcessing::{self, Efficient, Naive};
use crate::paper::{Algorithm1d, Reorder};
use crate::real::Precision::{F32, F64};
use crate::transform::Transform;
use std::sync::Arc;

/// All experiments, in the paper's order.
#[rustfmt::skip]
pub static EXPERIMENTS: [Experiment; 12] = [
    Experiment { name: "reordering", weight: 1.0, measure: reordering,
        paper: "table II", title: "Pre-processing of a 2-D DCT by gather and scatter",
        help: "Table II: pre-processing by gather and scatter" },
    Experiment { name: "post-processing", weight: 1.0, measure: post_processing,
        paper: "table III", title: "Post-processing of a 2-D DCT, naive and efficient",
        help: "Table III: naive and efficient post-processing, operations and time" },
    Experiment { name: "one-dimensional", weight: 0.5, measure: one_dimensional,
        paper: "table IV", title: "Four algorithms of the 1-D DCT",
        help: "Table IV: four algorithms of the 1-D DCT" },
    Experiment { name: "two-dimensional", weight: 4.0, measure: two_dimensional,
        paper: "table V", title: "2-D DCT and IDCT",
        help: "Table V: 2-D DCT and IDCT, row-column, fused and FFT alone" },
    Experiment { name: "single-precision", weight: 1.0, measure: single_precision,
        paper: "section \"Settings\"", title: "2-D DCT and IDCT, the speed-up in f32 and in f64",
        help: "Settings: the speed-up in f32 beside that in f64" },
    Experiment { name: "breakdown", weight: 0.5, measure: breakdown,
        paper: "figure 6", title: "Stages of the fused 2-D DCT",
        help: "Figure 6: stages of the fused 1024 x 1024 DCT" },
    Experiment { name: "utilisation", weight: 0.5, measure: utilisation,
        paper: "table VI", title: "Kernels of the fused 2-D DCT",
        help: "Table VI: occupancy and memory throughput of the fused DCT's kernels" },
    Experiment { name: "three-dimensional", weight: 1.0, measure: three_dimensional,
        paper: "section \"Other Transforms and Platforms\"", title: "3-D DCT and IDCT",
        help: "Other transforms: 3-D DCT and IDCT" },
    Experiment { name: "compression", weight: 1.0, measure: compression,
        paper: "section \"Image compression\"", title: "Image compression",
        help: "Image compression: DCT, thresholding, IDCT" },
    Experiment { name: "idct-idxst", weight: 1.0, measure: idct_idxst,
        paper: "section \"DREAMPlace\"", title: "2-D IDCT_IDXST beside IDCT",
        help: "DREAMPlace: IDCT_IDXST for four sizes" },
    Experiment { name: "amdahl", weight: 2.0, measure: amdahl,
        paper: "equation of \"Case studies\"", title: "Amdahl's estimate of a step's speed-up",
        help: "Case studies: Amdahl's estimate beside the measured speed-up" },
    Experiment { name: "designs", weight: 4.0, measure: designs,
        paper: "table VII", title: "One step at the statistics of the ISPD 2005 designs",
        help: "Table VII: one step on the eight ISPD2005 designs" },
];

/// A speed-up over row-column of about two.
const ABOUT_TWICE: Rule = Rule("at least 1.8", "", |ratio| ratio >= 1.8);
const ABOVE_1: Rule = Rule("above 1", "", |ratio| ratio > 1.0);
const BELOW_1: Rule = Rule("below 1", "", |ratio| ratio < 1.0);
const WITHIN_10: Rule = Rule("within 10 %", "", |ratio| within(10.0, ratio));

fn content<const NOTES: usize>(
    groups: Vec<Group>,
    claims: impl Into<Vec<Claim>>,
    notes: [&str; NOTES],
) -> Measured {
    Ok(Content { groups, claims: claims.into(), notes: notes.map(str::to_owned).into() })
}

/// Returns `N₁ × N₂`, or `N²` if they are equal.
fn size([n1, n2]: [usize; 2]) -> String {
    if n1 == n2 { format!("{n1}²") } else { format!("{n1} × {n2}") }
}

/// Measures rows of maps. Curves are over squares alone.
fn maps(session: &mut Session<'_>, shapes: &[[usize; 2]], rows: Vec<Row<[usize; 2]>>) -> Groups {
    let area = |[n1, n2]: &[usize; 2]| n1 * n2;
    let case = |_: &mut Session<'_>, &of: &[usize; 2]| {
        Ok(Case { name: size(of), elements: (of[0] == of[1]).then_some(area(&of)), of })
    };
    session.groups(shapes, area, case, rows)
}

type Groups = Result<Vec<Group>, BenchError>;

/// Returns one value per group: the ratio of two lines.
fn ratios(groups: &[Group], what: &str, over: &str) -> Vec<Observed> {
    groups.iter().filter_map(|g| Some((g.case.clone(), g.ratio(what, over)?))).collect()
}

/// Table II: the DCT's pre-processing by gather and by scatter.
fn reordering(session: &mut Session<'_>) -> Measured {
    let ways = [
        ("gather", Reorder::Gather, GATHER.to_vec()),
        ("scatter", Reorder::Scatter, SCATTER.to_vec()),
        ("as used here", Reorder::default(), Vec::new()),
    ];
    let alone = ways.clone().map(|(name, how, printed)| {
        Row::timed(name, move |&map| Work::Reorder(map, how)).printed(printed).over("scatter")
    });
    let wholes = ways.map(|(name, how, _)| {
        Row::timed(format!("whole DCT, {name}"), move |&map| Work::Variant(map, how, Efficient))
            .over("whole DCT, scatter")
    });
    let groups = maps(session, &SHAPES[..5], alone.into_iter().chain(wholes).collect())?;
    let alike = |claim, what, over| {
        Claim::of(claim, "Gather over scatter", WITHIN_10, &ratios(&groups, what, over))
    };
    let claims = [
        alike("Gather and scatter take about the same time.", "gather", "scatter"),
        alike(
            "So a DCT takes about the same time with either.",
            "whole DCT, gather",
            "whole DCT, scatter",
        ),
    ];
    content(groups, claims, [])
}

/// Returns the operations per output of the naive and of the efficient post-processing of a map of
/// `n × n`, n even, by their formulas: one thread for each output,
/// `X = Re b(aP + āQ)`, or for four of them, `s = b(aP + āQ)` and `t = b(aP − āQ)`, with P and Q
/// read. The borders, where fewer than four outputs come of a thread, add O(1/n) to the second.
fn operations(n: usize) -> [Operations; 2] {
    // Real multiplications and additions of a complex product, of its real part, of a sum.
    let (product, real_part, sum) = ([4, 2], [2, 1], [0, 2]);
    let count = |terms: &[[usize; 2]], k: usize| terms.iter().map(|term| term[k]).sum::<usize>();
    let per_output = |threads: usize, terms: &[[usize; 2]]| {
        [2, count(terms, 0), count(terms, 1)].map(|each| (threads * each) as f64 / (n * n) as f64)
    };
    [
        per_output(n * n, &[product, product, sum, real_part]),
        per_output((n / 2 + 1) * (n / 2 + 1), &[product, product, sum, sum, product, product]),
    ]
}

/// Table III: the DCT's post-processing one output at a time and four at a time. Operations are
/// counted over a map of 1024 rows and columns.
fn post_processing(session: &mut Session<'_>) -> Measured {
    type Count = (&'static str, &'static str, fn(&Operations) -> f64);
    let counts: [Count; 4] = [
        ("complex reads", "per output", |[reads, ..]| *reads),
        ("real multiplications", "per output", |[_, multiplications, _]| *multiplications),
        ("real additions", "per output", |[.., additions]| *additions),
        ("operations per read", "", |[reads, operations @ ..]| {
            operations.iter().sum::<f64>() / reads
        }),
    ];
    let [naive, efficient] = operations(1024);
    let counted = counts.map(|(block, unit, count)| {
        [("naive", NAIVE, naive), ("efficient", EFFICIENT, efficient)].map(|(name, paper, here)| {
            Row::known(name, unit, Ok(count(&here)))
                .printed([count(&paper)])
                .over("efficient")
                .block(block)
        })
    });
    let counted = maps(session, &[[1024; 2]], counted.into_iter().flatten().collect())?;
    let lines = counted.iter().flat_map(|group| group.lines.iter().map(move |line| (group, line)));
    let over_printed: Vec<Observed> = lines
        .filter_map(|(group, line)| {
            Some((format!("{}, {}", line.what, group.case), line.here? / line.paper?))
        })
        .collect();
    let ways = [("naive", Naive), ("efficient", Efficient)];
    let alone = ways.map(|(name, how)| {
        Row::timed(name, move |&map| Work::PostProcess(map, how)).over("efficient")
    });
    let wholes = ways.map(|(name, how)| {
        let work = move |&map: &[usize; 2]| Work::Variant(map, Reorder::default(), how);
        Row::timed(format!("whole DCT, {name}"), work).over("whole DCT, efficient")
    });
    let timed = maps(session, &SHAPES[..5], alone.into_iter().chain(wholes).collect())?;
    let claims = [
        Claim::of(
            "The efficient form reads a quarter as much and computes 2/5 and 3/7 as much.",
            "Counted over printed operations",
            Rule("within 1 %", "", |ratio| within(1.0, ratio)),
            &over_printed,
        ),
        Claim::of(
            "The efficient form is the faster one.",
            "Naive over efficient, in time",
            ABOVE_1,
            &ratios(&timed, "naive", "efficient"),
        ),
        Claim::of(
            "So is the DCT that ends in it.",
            "DCT with naive over DCT with efficient post-processing",
            ABOVE_1,
            &ratios(&timed, "whole DCT, naive", "whole DCT, efficient"),
        ),
    ];
    let note = "operations are counted on the two formulas, over a 1024 × 1024 map; a 2 in front \
                of every output is left out, as in the paper";
    content([counted, timed].concat(), claims, [note])
}

/// Table IV: the DCT of one line by four algorithms.
fn one_dimensional(session: &mut Session<'_>) -> Measured {
    let reference = Algorithm1d::NPoint.name();
    let rows = ONE_DIMENSIONAL.map(|(by, printed)| {
        let row = Row::timed(by.name(), move |&log: &usize| Work::Line(1 << log, by));
        row.in_microseconds().printed(printed).over(reference)
    });
    let case = |_: &mut Session<'_>, &of: &usize| {
        Ok(Case { name: format!("2^{of}"), elements: Some(1 << of), of })
    };
    let groups = session.groups(&LINES, |&log| log, case, rows.into())?;
    // The fastest of the three others over the N-point algorithm.
    let next_best = |group: &Group| {
        let others = ONE_DIMENSIONAL[..3].iter().map(|(by, _)| group.ratio(by.name(), reference));
        let value = others.collect::<Option<Vec<f64>>>()?.into_iter().fold(f64::INFINITY, f64::min);
        Some((group.case.clone(), value))
    };
    let fastest = Claim::of(
        "The N-point algorithm is the fastest at every length.",
        "The fastest other algorithm over N-point",
        ABOVE_1,
        &groups.iter().filter_map(next_best).collect::<Vec<_>>(),
    );
    content(groups, [fastest], [])
}

/// The rows of a direction: row-column, fused, the FFT alone and, not the paper's, by line kernels.
type Names = [&'static str; 4];
const DCT: Names = ["DCT row-column", "DCT fused", "RFFT alone", "DCT by lines"];
const IDCT: Names = ["IDCT row-column", "IDCT fused", "IRFFT alone", "IDCT by lines"];
const DIRECTIONS: [(Names, Direction, Transform); 2] =
    [(DCT, Direction::Forward, Transform::Dct), (IDCT, Direction::Inverse, Transform::Idct)];

/// The pipelines of a direction, by the places of their names.
const SIDES: [(usize, Pipeline); 3] = [(0, RowColumn), (1, Fused), (3, ThreePass)];

/// Table V: 2-D DCT and IDCT, row-column, fused, and the FFT alone.
fn two_dimensional(session: &mut Session<'_>) -> Measured {
    let matlab = Row::known("DCT, MATLAB", "ms", Err("only in the paper".to_owned()));
    let mut rows = vec![matlab.printed(MATLAB).over(DCT[1])];
    let printed = [[DCT_ROW_COLUMN, DCT_FUSED, RFFT], [IDCT_ROW_COLUMN, IDCT_FUSED, IRFFT]];
    for (turn, (names, direction, transform)) in DIRECTIONS.into_iter().enumerate() {
        let by = |pipeline| move |&map: &[usize; 2]| Work::Map(map, transform, pipeline);
        let [row_column, fused, fft] = printed[turn];
        rows.extend(
            [
                Row::timed(names[0], by(RowColumn)).printed(row_column),
                Row::timed(names[1], by(Fused)).printed(fused),
                Row::timed(names[2], move |&map| Work::Fft(map, direction)).printed(fft),
                Row::timed(names[3], by(ThreePass)),
            ]
            .map(|row| row.over(names[1]).turn(turn)),
        );
    }
    let groups = maps(session, &SHAPES, rows)?;
    let twice = |of: &str, names: Names| {
        Claim::of(
            format!("The fused {of} is about twice as fast as the row-column one at every size."),
            "Row-column over fused",
            ABOUT_TWICE,
            &ratios(&groups, names[0], names[1]),
        )
    };
    // The two shapes of one area that are each other's transpose.
    let find = |shape| groups.iter().find(|g| g.case == size(shape));
    let elongated = [DCT[1], IDCT[1]].into_iter().filter_map(|what| {
        let (wide, tall) = (find(SHAPES[5])?, find(SHAPES[6])?);
        Some((what.to_owned(), ratio(wide.typical(what), tall.typical(what))?))
    });
    let fused = groups.iter().flat_map(|g| [DCT[1], IDCT[1]].map(|what| (g, what)));
    let deviations = fused.filter_map(|(group, what)| {
        let sample = group.line(what)?.sample?;
        Some((format!("{}, {what}", group.case), 100.0 * sample.deviation / sample.mean))
    });
    let claims = [
        twice("DCT", DCT),
        twice("IDCT", IDCT),
        Claim::of(
            "The FFT takes most of the fused transform's time.",
            "FFT alone over DCT or IDCT",
            Rule("more than half", "", |share| share > 0.5),
            &[DCT, IDCT].map(|names| ratios(&groups, names[2], names[1])).concat(),
        ),
        Claim::of(
            "100 × 10000 and 10000 × 100 run equally fast.",
            "100 × 10000 over 10000 × 100",
            Rule("within 5 %", "", |ratio| within(5.0, ratio)),
            &elongated.collect::<Vec<_>>(),
        ),
        Claim::of(
            format!(
                "The standard deviation is less than 1 % of the mean ({:.2} % for the DCT of \
                 1024²).",
                100.0 * DEVIATION
            ),
            "Deviation of the fused transforms",
            Rule("less than 1 %", " %", |percent| percent < 1.0),
            &deviations.collect::<Vec<_>>(),
        ),
    ];
    content(groups, claims, [])
}

/// "The speedup on the single-precision floating-point is similar to that of the double-precision
/// floating-point" (section "Settings"), held to sizes of table V.
fn single_precision(session: &mut Session<'_>) -> Measured {
    let mut rows = Vec::new();
    for (d, (names, _, transform)) in DIRECTIONS.into_iter().enumerate() {
        for (p, precision) in [F32, F64].into_iter().enumerate() {
            rows.extend(SIDES.map(|(k, pipeline)| {
                let name = format!("{}, {precision}", names[k]);
                Row::timed(name, move |&map| Work::Map(map, transform, pipeline))
                    .over(format!("{}, {precision}", names[1]))
                    .turn(2 * d + p)
                    .precision(precision)
            }));
        }
    }
    let groups = maps(session, &SHAPES[..4], rows)?;
    let observe = |group: &Group, names: Names| {
        let [single, double] = [F32, F64].map(|precision| {
            let [row_column, fused, ..] = names.map(|name| format!("{name}, {precision}"));
            group.ratio(&row_column, &fused)
        });
        Some((format!("{} {}", names[1], group.case), ratio(single, double)?))
    };
    let both = [DCT, IDCT].into_iter().flat_map(|names| groups.iter().map(move |g| (g, names)));
    let similar = Claim::of(
        "The speed-up in f32 is similar to that in f64.",
        "Speed-up in f32 over speed-up in f64",
        Rule("within 15 %", "", |ratio| within(15.0, ratio)),
        &both.filter_map(|(group, names)| observe(group, names)).collect::<Vec<_>>(),
    );
    content(groups, [similar], ["both precisions, whatever was asked for"])
}

/// Figure 6: the time of each stage of the fused 1024 × 1024 DCT.
fn breakdown(session: &mut Session<'_>) -> Measured {
    const BOTH: &str = "pre- and post-processing";
    const BEYOND: &str = "DCT beyond the FFT alone";
    // Its printed times are table V's second ones.
    let [fft, whole] = [RFFT[1], DCT_FUSED[1]];
    let beyond = |fft: f64, whole: f64| 1.0 - fft / whole;
    let both = |of: &Medians| Some(of[0]? + of[2]?);
    let sum = move |of: &Medians| Some(both(of)? + of[1]?);
    let stages = [
        Row::timed("pre-processing", |&map| Work::Reorder(map, Reorder::default())),
        Row::timed("RFFT", |&map| Work::Fft(map, Direction::Forward)).printed([fft]),
        Row::timed("post-processing", |&map| Work::PostProcess(map, PostProcessing::default())),
        Row::timed("whole DCT", |&map| Work::Map(map, Transform::Dct, Fused)).printed([whole]),
    ];
    let shares = [
        Row::follows(BOTH, "of the stages' sum", move |of| ratio(both(of), sum(of)))
            .printed([PRE_AND_POST_SHARE]),
        Row::follows(BEYOND, "of the DCT", move |of| Some(beyond(of[1]?, of[3]?)))
            .printed([beyond(fft, whole)]),
        Row::follows("sum of the stages", "of the DCT", move |of| ratio(sum(of), of[3])),
    ];
    let stages = stages.into_iter().map(|row| row.over("whole DCT"));
    let rows = stages.chain(shares.map(|row| row.block("shares")));
    let groups = maps(session, &SHAPES[1..2], rows.collect())?;
    let percent = |what: &str| Some((what.to_owned(), 100.0 * groups[1].typical(what)?));
    let claim = Claim::of(
        "Pre- and post-processing take only around 20 % of the time; the FFT takes the rest.",
        "Share of the time",
        Rule("at most 30 %", " %", |percent| percent <= 30.0),
        &[BOTH, BEYOND].into_iter().filter_map(percent).collect::<Vec<_>>(),
    );
    let note = "stages are timed one by one; the whole transform may keep in cache what they hand \
                on, or work on two stages at once";
    content(groups, [claim], [note])
}

/// Table VI: how far pre- and post-processing use the device.
///
/// Occupancy is what the driver's calculator allows for the kernel's registers
/// and shared memory, memory throughput the bytes that a stage must read and
/// write (every element once) over its time. The paper's are a profiler's.
fn utilisation(session: &mut Session<'_>) -> Measured {
    const OF_COPY: &str = "throughput over a copy's";
    // Beyond the caches of today's devices, so that traffic goes to their memory.
    let n = if session.settings.quick { 512 } else { 4096 };
    let (shape, precision) = ([n, n], session.settings.precision);
    let (map, spectrum) = ((n * n) as f64, (n * (n + 2)) as f64);
    let kernels = [
        ("pre-processing", Work::Reorder(shape, Reorder::default()), PREPROCESS, 2.0 * map),
        (
            "post-processing",
            Work::PostProcess(shape, PostProcessing::default()),
            POSTPROCESS,
            spectrum + map,
        ),
    ];
    let mut rows = Vec::new();
    for (k, (block, work, printed, values)) in kernels.into_iter().enumerate() {
        let per_second = move |ms: Option<f64>, values: f64| {
            Some(values * element_bytes(precision) / (ms? * 1e-3))
        };
        let achieved = move |of: &Medians| per_second(of[k], values);
        let copied = move |of: &Medians| per_second(of[2], 2.0 * map);
        let occupancy = (session.target.occupancy)(&work, precision);
        let occupancy = occupancy.map(|share| 100.0 * share).map_err(reason);
        let (throughput, percent) = ("memory throughput", "% of peak");
        let of_peak = match session.target.peak_bandwidth {
            Some(peak) => {
                Row::follows(throughput, percent, move |of| Some(100.0 * achieved(of)? / peak))
            }
            None => Row::known(throughput, percent, Err("no peak is known".to_owned())),
        };
        let of_copy = move |of: &Medians| Some(100.0 * achieved(of)? / copied(of)?);
        // Only a profiler can measure it.
        let profiled = |what, printed: f64| {
            let why = "needs a profiler: benchmarks/utilisation-ncu".to_owned();
            Row::known(what, "%", Err(why)).printed([printed])
        };
        let speed = "bytes read and written per second";
        let of_kernel = [
            Row::known("occupancy", "%", occupancy).printed([printed.occupancy]),
            of_peak.printed([printed.bandwidth]),
            Row::follows(OF_COPY, "%", of_copy),
            Row::follows(speed, "GB/s", move |of| Some(achieved(of)? / 1e9)),
            Row::timed("time", move |_| work.clone()),
            profiled("compute", printed.compute),
            profiled("multiprocessors in use", printed.multiprocessors),
        ];
        rows.extend(of_kernel.map(|row| row.block(block)));
    }
    rows.push(Row::timed("copy", |&map| Work::Copy(map)).hidden().block("post-processing"));
    let groups = maps(session, &[shape], rows)?;
    let throughput = |group: &Group| Some((group.case.clone(), group.typical(OF_COPY)?));
    let bound = Claim::of(
        "Pre- and post-processing are bounded by memory: over 75 % of its bandwidth is in use.",
        "Throughput over that of a copy",
        Rule("at least 75 %", " %", |percent| percent >= 75.0),
        &groups.iter().filter_map(throughput).collect::<Vec<_>>(),
    );
    let note = format!(
        "maps of {n} × {n}; occupancy is the most that registers and shared memory allow, where \
         the paper has a profiler's; benchmarks/utilisation-ncu asks NVIDIA's profiler on a device"
    );
    content(groups, [bound], [&*note])
}

/// The 3-D DCT through a 3-D FFT, which the paper describes and does not time.
fn three_dimensional(session: &mut Session<'_>) -> Measured {
    let mut rows = Vec::new();
    for (turn, (names, direction, _)) in DIRECTIONS.into_iter().enumerate() {
        rows.extend(SIDES.map(|(k, pipeline)| {
            Row::timed(names[k], move |&n: &usize| Work::Volume([n; 3], direction, pipeline))
                .over(names[1])
                .turn(turn)
        }));
    }
    let case = |_: &mut Session<'_>, &of: &usize| {
        Ok(Case { name: format!("{of}³"), elements: Some(of * of * of), of })
    };
    let groups = session.groups(&[64, 128, 256], |&n| n, case, rows)?;
    let extends = Claim::of(
        "The paradigm extends to 3-D (no times are printed).",
        "Row-column over fused",
        ABOUT_TWICE,
        &[DCT, IDCT].map(|names| ratios(&groups, names[0], names[1])).concat(),
    );
    content(groups, [extends], [])
}

/// Image compression: DCT, thresholding, IDCT ("Image compression", where p = 1 in Amdahl's law).
fn compression(session: &mut Session<'_>) -> Measured {
    const NAMES: [&str; 2] = ["compression row-column", "compression fused"];
    const SUMS: [&str; 2] = ["DCT and IDCT row-column", "DCT and IDCT fused"];
    let compress = |name, pipeline| {
        // For random numbers in 0 … 1, this threshold keeps about every other coefficient.
        let work = move |&map: &[usize; 2]| Work::Compress(map, pipeline, map[0] as f64 / 10.0);
        Row::timed(name, work).over(NAMES[1])
    };
    let mut rows = vec![compress(NAMES[0], RowColumn), compress(NAMES[1], Fused)];
    for (_, _, transform) in DIRECTIONS {
        rows.extend([RowColumn, Fused].map(|pipeline| {
            Row::timed("", move |&map| Work::Map(map, transform, pipeline)).hidden()
        }));
    }
    let sum = |k: usize, dct: [f64; 7], idct: [f64; 7]| {
        let printed: Vec<f64> = dct.into_iter().zip(idct).map(|(dct, idct)| dct + idct).collect();
        let from = move |of: &Medians| Some(of[2 + k]? + of[4 + k]?);
        Row::follows(SUMS[k], "ms", from).over(SUMS[1]).printed(printed)
    };
    rows.extend([
        sum(0, DCT_ROW_COLUMN, IDCT_ROW_COLUMN),
        sum(1, DCT_FUSED, IDCT_FUSED),
        compress("compression by lines", ThreePass),
    ]);
    let groups = maps(session, &SHAPES[..4], rows)?;
    let compared = |group: &Group| {
        let value = ratio(group.ratio(NAMES[0], NAMES[1]), group.ratio(SUMS[0], SUMS[1]))?;
        Some((group.case.clone(), value))
    };
    let shared = Claim::of(
        "Compression shares the transforms' speed-up, for the threshold is fused with them.",
        "Speed-up of compression over speed-up of DCT and IDCT together",
        WITHIN_10,
        &groups.iter().filter_map(compared).collect::<Vec<_>>(),
    );
    content(groups, [shared], ["the paper's times are sums of table V's DCT and IDCT"])
}

/// The times of IDCT_IDXST in the section on DREAMPlace: "similar to those of 2D IDCT".
fn idct_idxst(session: &mut Session<'_>) -> Measured {
    use Transform::{Idct, IdctIdxst};
    let row = |what, transform, pipeline| {
        let row = Row::timed(what, move |&map| Work::Map(map, transform, pipeline));
        row.over("IDCT_IDXST fused")
    };
    let rows = vec![
        row("IDCT_IDXST row-column", IdctIdxst, RowColumn),
        row("IDCT_IDXST fused", IdctIdxst, Fused).printed(IDCT_IDXST),
        row("IDCT fused", Idct, Fused).printed(IDCT_FUSED),
        row("IDCT_IDXST by lines", IdctIdxst, ThreePass),
        row("IDCT by lines", Idct, ThreePass),
    ];
    let groups = maps(session, &SHAPES[..4], rows)?;
    let claim = Claim::of(
        "IDCT_IDXST takes as long as IDCT: the time does not depend on the transform.",
        "IDCT over IDCT_IDXST, both fused",
        WITHIN_10,
        &ratios(&groups, "IDCT fused", "IDCT_IDXST fused"),
    );
    content(groups, [claim], [])
}

/// Returns the value of the largest design over that of the smallest.
fn largest_over_smallest(of: impl Fn(&str) -> Option<f64>) -> Vec<Observed> {
    let value = ratio(of("bigblue4"), of("adaptec1"));
    Vec::from_iter(value.map(|value| ("bigblue4 over adaptec1".to_owned(), value)))
}

/// Amdahl's law on a placer's step: 1/((1 − p) + p/s), with p the transforms'
/// share of the row-column step and s their speed-up ("Case studies").
fn amdahl(session: &mut Session<'_>) -> Measured {
    const SHARE: &str = "p, share of the solve";
    const SPEED_UP: &str = "s, speed-up of the solve";
    const ESTIMATE: &str = "estimate of the step's speed-up";
    const MEASURED: &str = "speed-up of the step";
    // The small and the large designs that the paper compares.
    let [adaptec1, _, _, adaptec4, bigblue1, _, _, bigblue4] = DESIGNS;
    let cases = [adaptec1, bigblue1, adaptec4, bigblue4];
    let share = |of: &Medians| ratio(of[2], of[0]);
    let speed_up = |of: &Medians| ratio(of[2], of[3]);
    let estimate = move |of: &Medians| Some(amdahls_law(share(of)?, speed_up(of)?));
    let rows = vec![
        Row::timed("step row-column", |charge| Work::Step(Arc::clone(charge), RowColumn)),
        Row::timed("step fused", |charge| Work::Step(Arc::clone(charge), Fused)),
        Row::timed("solve row-column", |charge| Work::Solve(Arc::clone(charge), RowColumn)),
        Row::timed("solve fused", |charge| Work::Solve(Arc::clone(charge), Fused)),
        Row::follows(SHARE, "", share),
        Row::follows(SPEED_UP, "", speed_up),
        Row::follows(ESTIMATE, "", estimate),
        Row::follows(MEASURED, "", |of| ratio(of[0], of[1]))
            .printed(cases.map(|design| design.row_column / design.fused)),
    ];
    let groups = session.designs(&cases, rows)?;
    let of = |name: &str, what: &str| groups.iter().find(|g| g.case == name)?.typical(what);
    let claims = [
        Claim::of(
            "Amdahl's law tells the step's speed-up from the transforms'.",
            "Estimate over measured speed-up",
            WITHIN_10,
            &ratios(&groups, ESTIMATE, MEASURED),
        ),
        Claim::of(
            "Larger designs have a larger speed-up s of the transforms.",
            "Ratio of s",
            ABOVE_1,
            &largest_over_smallest(|name| of(name, SPEED_UP)),
        ),
        Claim::of(
            "Larger designs have a smaller share p of the transforms.",
            "Ratio of p",
            BELOW_1,
            &largest_over_smallest(|name| of(name, SHARE)),
        ),
    ];
    let note = "the solve is the transforms with Green's function folded into them; the paper \
                prints neither p nor s";
    content(groups, claims, [note])
}

/// Returns the speed-up of a whole of which the share `p` becomes `s` times as fast.
fn amdahls_law(p: f64, s: f64) -> f64 {
    1.0 / ((1.0 - p) + p / s)
}

/// Table VII: one step at the statistics of the eight ISPD 2005 designs.
fn designs(session: &mut Session<'_>) -> Measured {
    let times: [fn(&Design) -> f64; 2] = [|design| design.row_column, |design| design.fused];
    let rows = Pipeline::ALL.into_iter().enumerate().map(|(k, pipeline)| {
        let printed = times.get(k).map_or(Vec::new(), |of| DESIGNS.iter().map(of).collect());
        let row =
            Row::timed(pipeline.name(), move |charge| Work::Step(Arc::clone(charge), pipeline));
        row.printed(printed).over(Fused.name())
    });
    let groups = session.designs(&DESIGNS, rows.collect())?;
    let each = ratios(&groups, RowColumn.name(), Fused.name());
    let mean = each.iter().map(|(_, value)| value).sum::<f64>() / each.len().max(1) as f64;
    let mean = (!each.is_empty()).then(|| (format!("mean of {} designs", each.len()), mean));
    let of = |name: &str| each.iter().find(|(case, _)| case == name).map(|(_, value)| *value);
    let claims = [
        Claim::of(
            // The paper's mean, rounded.
            "The fused step is 1.7 times as fast as the row-column one on average.",
            "Row-column over fused",
            Rule("at least 1.7", "", |ratio| ratio >= 1.7),
            &Vec::from_iter(mean),
        ),
        Claim::of(
            "The fused step is the faster one on every design.",
            "Row-column over fused",
            ABOVE_1,
            &each,
        ),
        Claim::of(
            "The speed-up is smaller on larger designs.",
            "Speed-up on bigblue4 over that on adaptec1",
            BELOW_1,
            &largest_over_smallest(of),
        ),
    ];
    let note = "designs are generated at the circuits' statistics, with fillers; a step is \
                density, solve and the force on every body, where the paper's is potential and \
                force";
    let ordering = "means hold the ordering of bodies every 32 steps, medians do not";
    match session.target.machine.engine.as_str() {
        "cuda" => content(groups, claims, [note, ordering]),
        _ => content(groups, claims, [note]),
    }
}

#[cfg(test)]
mod tests;
