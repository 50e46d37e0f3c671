//! The paper's tables and figures, and claims of its text, as rows.

use super::counted::operations;
use super::designs::Designs;
use super::printed::{
    ALGORITHMS, DCT_1024, DESIGNS, Design, EFFICIENT, IDCT_IDXST, NAIVE, ONE_DIMENSIONAL,
    Operations, POSTPROCESS, PRE_AND_POST_SHARE, PREPROCESS, REORDERING, TWO_DIMENSIONAL,
    TwoDimensional, Utilisation,
};
use super::rows::{Block, Medians, Row, run};
use super::session::{Session, Unit};
use super::table::{Claim, Group, Observed, Rule, Table, ratio};
use super::target::{BenchError, Direction, Work, element_bytes, reason};
use crate::engine::Pipeline;
use crate::real::Precision;
use crate::transform::{Algorithm1d, PostProcessing, Reorder, Transform};

/// The results of an experiment.
struct Content {
    groups: Vec<Group>,
    claims: Vec<Claim>,
    notes: Vec<String>,
}

impl Content {
    fn new(groups: Vec<Group>, claims: Vec<Claim>) -> Content {
        Content { groups, claims, notes: Vec::new() }
    }

    fn note(mut self, note: impl Into<String>) -> Content {
        self.notes.push(note.into());
        self
    }
}

type Measured = Result<Content, BenchError>;

/// A table or figure of the paper, or a claim of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Experiment {
    /// Gather and scatter in the DCT's pre-processing (table II).
    Reordering,
    /// Naive and efficient post-processing (table III).
    PostProcessing,
    /// Four algorithms of the 1-D DCT (table IV).
    OneDimensional,
    /// DCT and IDCT: row-column, fused, FFT alone (table V).
    TwoDimensional,
    /// Those transforms in `f32` ("Settings").
    SinglePrecision,
    /// Share of every stage of the 1024 × 1024 DCT (figure 6).
    Breakdown,
    /// Occupancy and memory throughput of pre- and post-processing (table VI).
    Utilisation,
    /// 3-D DCT and IDCT ("Other Transforms and Platforms").
    ThreeDimensional,
    /// Compression of an image ("Image compression").
    Compression,
    /// IDCT_IDXST, fused ("DREAMPlace").
    IdctIdxst,
    /// Amdahl's law on four designs ("Case studies").
    Amdahl,
    /// A placer's step on eight designs (table VII).
    Designs,
}

/// The description of an experiment: its name, title, place in the paper and part of the time.
type About = (&'static str, &'static str, &'static str, f64, Measure);
type Measure = fn(&mut Session<'_>, &mut Designs) -> Measured;

impl Experiment {
    /// All, in the paper's order.
    pub const ALL: [Experiment; 12] = [
        Experiment::Reordering,
        Experiment::PostProcessing,
        Experiment::OneDimensional,
        Experiment::TwoDimensional,
        Experiment::SinglePrecision,
        Experiment::Breakdown,
        Experiment::Utilisation,
        Experiment::ThreeDimensional,
        Experiment::Compression,
        Experiment::IdctIdxst,
        Experiment::Amdahl,
        Experiment::Designs,
    ];

    #[rustfmt::skip]
    fn about(self) -> About {
        match self {
            Experiment::Reordering =>
                ("reordering", "Pre-processing of a 2-D DCT by gather and scatter",
                 "table II", 1.0, reordering),
            Experiment::PostProcessing =>
                ("post-processing", "Post-processing of a 2-D DCT, naive and efficient",
                 "table III", 1.0, post_processing),
            Experiment::OneDimensional =>
                ("one-dimensional", "Four algorithms of the 1-D DCT",
                 "table IV", 0.5, one_dimensional),
            Experiment::TwoDimensional =>
                ("two-dimensional", "2-D DCT and IDCT",
                 "table V", 4.0, two_dimensional),
            Experiment::SinglePrecision =>
                ("single-precision", "2-D DCT and IDCT, the speed-up in f32 and in f64",
                 "section \"Settings\"", 1.0, single_precision),
            Experiment::Breakdown =>
                ("breakdown", "Stages of the fused 2-D DCT",
                 "figure 6", 0.5, breakdown),
            Experiment::Utilisation =>
                ("utilisation", "Kernels of the fused 2-D DCT",
                 "table VI", 0.5, utilisation),
            Experiment::ThreeDimensional =>
                ("three-dimensional", "3-D DCT and IDCT",
                 "section \"Other Transforms and Platforms\"", 1.0, three_dimensional),
            Experiment::Compression =>
                ("compression", "Image compression",
                 "section \"Image compression\"", 1.0, compression),
            Experiment::IdctIdxst =>
                ("idct-idxst", "2-D IDCT_IDXST beside IDCT",
                 "section \"DREAMPlace\"", 1.0, idct_idxst),
            Experiment::Amdahl =>
                ("amdahl", "Amdahl's estimate of a step's speed-up",
                 "equation of \"Case studies\"", 2.0, amdahls_law),
            Experiment::Designs =>
                ("designs", "One step at the statistics of the ISPD 2005 designs",
                 "table VII", 4.0, designs),
        }
    }

    /// Returns the name of its subcommand.
    pub fn name(self) -> &'static str {
        self.about().0
    }

    /// Returns a title.
    pub fn title(self) -> &'static str {
        self.about().1
    }

    /// Returns its place in the paper.
    pub fn source(self) -> &'static str {
        self.about().2
    }

    /// Returns its part of the time, relative to the others'.
    pub fn weight(self) -> f64 {
        self.about().3
    }

    /// Measures it within the session's time.
    ///
    /// # Errors
    /// When a design cannot be generated.
    pub fn run(
        self,
        session: &mut Session<'_>,
        designs: &mut Designs,
    ) -> Result<Table, BenchError> {
        let Content { groups, claims, notes } = (self.about().4)(session, designs)?;
        Ok(Table {
            name: self.name().to_owned(),
            title: self.title().to_owned(),
            paper: self.source().to_owned(),
            precision: session.settings.precision,
            groups,
            claims,
            notes,
            budget_s: session.budget(),
            seconds: session.elapsed(),
        })
    }
}

/// Returns `N₁ × N₂`, or `N²` where they are equal.
fn size([n1, n2]: [usize; 2]) -> String {
    if n1 == n2 { format!("{n1}²") } else { format!("{n1} × {n2}") }
}

/// Measures square maps, whose rows are timed in so many turns.
fn squares<C>(
    session: &mut Session<'_>,
    cases: &[C],
    turns: usize,
    n: impl Fn(&C) -> usize,
    rows: impl Fn(&C) -> Vec<Row>,
) -> Result<Vec<Group>, BenchError> {
    run(session, cases, turns, &n, |_, case| {
        let shape = [n(case); 2];
        Ok((size(shape), vec![Block::new(size(shape), Some(shape[0] * shape[0]), rows(case))]))
    })
}

/// Returns one value per group: the ratio of two lines.
fn ratios(groups: &[Group], what: &str, over: &str) -> Vec<Observed> {
    groups.iter().filter_map(|g| Some((g.case.clone(), g.ratio(what, over)?))).collect()
}

/// Returns the printed row of a square map.
fn printed(n: usize) -> Option<&'static TwoDimensional> {
    TWO_DIMENSIONAL.iter().find(|row| row.shape == [n, n])
}

/// Table II: the DCT's pre-processing by gather and by scatter.
fn reordering(session: &mut Session<'_>, _: &mut Designs) -> Measured {
    let whole = |way: &str| format!("whole DCT, {way}");
    let groups = squares(
        session,
        &REORDERING,
        1,
        |row| row.0,
        |&(n, gather, scatter)| {
            let ways = [
                ("gather", Reorder::Gather, Some(gather)),
                ("scatter", Reorder::Scatter, Some(scatter)),
                ("as used here", Reorder::default(), None),
            ];
            let post = PostProcessing::default();
            let alone = ways.map(|(name, how, printed)| {
                Row::timed(name, Work::Reorder([n, n], how)).printed(printed).over("scatter")
            });
            let wholes = ways.map(|(name, how, _)| {
                Row::timed(whole(name), Work::Variant([n, n], how, post)).over(whole("scatter"))
            });
            alone.into_iter().chain(wholes).collect()
        },
    )?;
    let alike = |claim: &str, what: &str, over: &str| {
        let observed = ratios(&groups, what, over);
        Claim::of(claim, "Gather over scatter", &Rule::within(10.0), "", &observed)
    };
    let claims = vec![
        alike("Gather and scatter take about the same time.", "gather", "scatter"),
        alike(
            "So a DCT takes about the same time with either.",
            &whole("gather"),
            &whole("scatter"),
        ),
    ];
    Ok(Content::new(groups, claims))
}

/// Table III: the DCT's post-processing one output at a time and four at a time. Operations are
/// counted over a map of `COUNTED` rows and columns.
fn post_processing(session: &mut Session<'_>, _: &mut Designs) -> Measured {
    const COUNTED: usize = 1024;
    type Count = (&'static str, &'static str, fn(&Operations) -> f64);
    let counts: [Count; 4] = [
        ("complex reads", "per output", |o| o.reads),
        ("real multiplications", "per output", |o| o.multiplications),
        ("real additions", "per output", |o| o.additions),
        ("operations per read", "", Operations::intensity),
    ];
    let [naive, efficient] = operations(COUNTED);
    let mut groups = run(
        session,
        &[()],
        0,
        |()| 0,
        |_, ()| {
            let block = |(name, unit, count): Count| {
                let row = |what, printed, here| {
                    Row::counted(what, unit, count(here)).printed(count(printed)).over("efficient")
                };
                let rows =
                    vec![row("naive", &NAIVE, &naive), row("efficient", &EFFICIENT, &efficient)];
                Block::new(name, None, rows)
            };
            Ok((String::new(), counts.map(block).into()))
        },
    )?;
    let lines = groups.iter().flat_map(|g| g.lines.iter().map(move |l| (g, l)));
    let observe = |(group, line): (&Group, &super::table::Line)| {
        Some((format!("{}, {}", line.what, group.case), line.here? / line.paper?))
    };
    let counted: Vec<Observed> = lines.filter_map(observe).collect();
    let timed = squares(
        session,
        &[512, 1024, 2048, 4096, 8192],
        1,
        |&n| n,
        |&n| {
            let ways = [("naive", PostProcessing::Naive), ("efficient", PostProcessing::Efficient)];
            let alone = ways.map(|(name, how)| {
                Row::timed(name, Work::PostProcess([n, n], how)).over("efficient")
            });
            let wholes = ways.map(|(name, how)| {
                let work = Work::Variant([n, n], Reorder::default(), how);
                Row::timed(format!("whole DCT, {name}"), work).over("whole DCT, efficient")
            });
            alone.into_iter().chain(wholes).collect()
        },
    )?;
    let claims = vec![
        Claim::of(
            "The efficient form reads a quarter as much and computes 2/5 and 3/7 as much.",
            "Counted over printed operations",
            &Rule::within(1.0),
            "",
            &counted,
        ),
        Claim::of(
            "The efficient form is the faster one.",
            "Naive over efficient, in time",
            &Rule::above(1.0),
            "",
            &ratios(&timed, "naive", "efficient"),
        ),
        Claim::of(
            "So is the DCT that ends in it.",
            "DCT with naive over DCT with efficient post-processing",
            &Rule::above(1.0),
            "",
            &ratios(&timed, "whole DCT, naive", "whole DCT, efficient"),
        ),
    ];
    groups.extend(timed);
    Ok(Content::new(groups, claims).note(format!(
        "operations are counted on the two formulas, over a {COUNTED} × {COUNTED} map; a 2 in front \
         of every output is left out, as in the paper"
    )))
}

/// Table IV: the DCT of one line by four algorithms.
fn one_dimensional(session: &mut Session<'_>, _: &mut Designs) -> Measured {
    let reference = Algorithm1d::NPoint.name();
    let groups = run(
        session,
        &ONE_DIMENSIONAL,
        1,
        |row| row.0 as usize,
        |_, (log, printed)| {
            let n = 1 << log;
            let row = |(by, &printed): (&Algorithm1d, &f64)| {
                let row = Row::timed_in(Unit::Microseconds, by.name(), Work::Line(n, *by));
                row.printed(printed).over(reference)
            };
            let rows = ALGORITHMS.iter().zip(printed).map(row).collect();
            let case = format!("2^{log}");
            Ok((case.clone(), vec![Block::new(case, Some(n), rows)]))
        },
    )?;
    // The fastest of the three others over the N-point algorithm.
    let next_best = |group: &Group| {
        let others = ALGORITHMS.iter().filter(|a| **a != Algorithm1d::NPoint);
        let ratios = others.map(|a| group.ratio(a.name(), reference));
        let value = ratios.collect::<Option<Vec<f64>>>()?.into_iter().fold(f64::INFINITY, f64::min);
        Some((group.case.clone(), value))
    };
    let fastest = Claim::of(
        "The N-point algorithm is the fastest at every length.",
        "The fastest other algorithm over N-point",
        &Rule::above(1.0),
        "",
        &groups.iter().filter_map(next_best).collect::<Vec<_>>(),
    );
    Ok(Content::new(groups, vec![fastest]))
}

/// The speedup over row-column from which a transform counts as about twice as fast.
const ABOUT_TWICE: f64 = 1.8;

/// A direction: the names of its rows, row-column, fused, the FFT alone and, not the paper's, by
/// line kernels.
type Names = [&'static str; 4];
const DCT: Names = ["DCT row-column", "DCT fused", "RFFT alone", "DCT by lines"];
const IDCT: Names = ["IDCT row-column", "IDCT fused", "IRFFT alone", "IDCT by lines"];
const DIRECTIONS: [(Names, Direction, Transform); 2] =
    [(DCT, Direction::Forward, Transform::Dct), (IDCT, Direction::Inverse, Transform::Idct)];

/// Table V: 2-D DCT and IDCT, row-column, fused, and the FFT alone.
fn two_dimensional(session: &mut Session<'_>, _: &mut Designs) -> Measured {
    let area = |row: &TwoDimensional| row.shape[0] * row.shape[1];
    let groups = run(session, &TWO_DIMENSIONAL, 2, area, |_, row| {
        let shape = row.shape;
        let matlab = Row::skipped("DCT, MATLAB", "ms", "only in the paper").printed(row.matlab);
        let mut rows = vec![matlab.over(DCT[1])];
        let printed = [
            [row.dct_row_column, row.dct_fused, row.rfft],
            [row.idct_row_column, row.idct_fused, row.irfft],
        ];
        for (k, (names, direction, transform)) in DIRECTIONS.into_iter().enumerate() {
            let works = [
                Work::Map(shape, transform, Pipeline::RowColumn),
                Work::Map(shape, transform, Pipeline::Fused),
                Work::Fft(shape, direction),
                Work::Map(shape, transform, Pipeline::ThreePass),
            ];
            let printed = printed[k].map(Some).into_iter().chain([None]);
            rows.extend(names.into_iter().zip(works).zip(printed).map(
                |((name, work), printed)| {
                    Row::timed(name, work).printed(printed).over(names[1]).turn(k)
                },
            ));
        }
        // Curves are over squares alone.
        let elements = (shape[0] == shape[1]).then_some(area(row));
        Ok((size(shape), vec![Block::new(size(shape), elements, rows)]))
    })?;
    let twice = |names: Names, of: &str| {
        Claim::of(
            format!("The fused {of} is about twice as fast as the row-column one at every size."),
            "Row-column over fused",
            &Rule::at_least(ABOUT_TWICE),
            "",
            &ratios(&groups, names[0], names[1]),
        )
    };
    let fft = [DCT, IDCT].map(|names| ratios(&groups, names[2], names[1])).concat();
    let deviation = 100.0 * DCT_1024.1 / DCT_1024.0;
    let claims = vec![
        twice(DCT, "DCT"),
        twice(IDCT, "IDCT"),
        Claim::of(
            "The FFT takes most of the fused transform's time.",
            "FFT alone over DCT or IDCT",
            &Rule::new("more than half", |share| share > 0.5),
            "",
            &fft,
        ),
        Claim::of(
            "100 × 10000 and 10000 × 100 run equally fast.",
            "100 × 10000 over 10000 × 100",
            &Rule::within(5.0),
            "",
            &elongated(&groups),
        ),
        Claim::of(
            format!(
                "The standard deviation is less than 1 % of the mean ({deviation:.2} % for the DCT \
                 of 1024²)."
            ),
            "Deviation of the fused transforms",
            &Rule::new("less than 1 %", |percent| percent < 1.0),
            " %",
            &deviations(&groups),
        ),
    ];
    Ok(Content::new(groups, claims))
}

/// Returns the two shapes of one area that are each other's transpose, DCT and IDCT.
fn elongated(groups: &[Group]) -> Vec<Observed> {
    let find = |shape| groups.iter().find(|g| g.case == size(shape));
    let (Some(wide), Some(tall)) = (find([100, 10000]), find([10000, 100])) else {
        return Vec::new();
    };
    let value = |what: &str| ratio(wide.typical(what), tall.typical(what));
    [DCT[1], IDCT[1]].into_iter().filter_map(|what| Some((what.to_owned(), value(what)?))).collect()
}

fn deviations(groups: &[Group]) -> Vec<Observed> {
    let lines = groups.iter().flat_map(|g| [DCT[1], IDCT[1]].map(|what| (g, what)));
    let observe = |(group, what): (&Group, &str)| {
        let sample = group.line(what)?.sample?;
        Some((format!("{}, {what}", group.case), 100.0 * sample.deviation / sample.mean))
    };
    lines.filter_map(observe).collect()
}

/// "The speedup on the single-precision floating-point is similar to that of the double-precision
/// floating-point" (section "Settings"), held to sizes of table V.
fn single_precision(session: &mut Session<'_>, _: &mut Designs) -> Measured {
    const BOTH: [Precision; 2] = [Precision::F32, Precision::F64];
    let groups = squares(
        session,
        &[512, 1024, 2048, 4096],
        4,
        |&n| n,
        |&n| {
            let mut rows = Vec::new();
            for (d, (names, _, transform)) in DIRECTIONS.into_iter().enumerate() {
                for (p, precision) in BOTH.into_iter().enumerate() {
                    let name = |k: usize| format!("{}, {precision}", names[k]);
                    let sides =
                        [(0, Pipeline::RowColumn), (1, Pipeline::Fused), (3, Pipeline::ThreePass)];
                    rows.extend(sides.map(|(k, pipeline)| {
                        let row = Row::timed(name(k), Work::Map([n, n], transform, pipeline));
                        row.over(name(1)).turn(2 * d + p).precision(precision)
                    }));
                }
            }
            rows
        },
    )?;
    let speed_up = |group: &Group, names: Names, precision: Precision| {
        let name = |k: usize| format!("{}, {precision}", names[k]);
        group.ratio(&name(0), &name(1))
    };
    let mut observed = Vec::new();
    for (names, group) in [DCT, IDCT].into_iter().flat_map(|n| groups.iter().map(move |g| (n, g))) {
        let [single, double] = BOTH.map(|precision| speed_up(group, names, precision));
        let case = format!("{} {}", names[1], group.case);
        observed.extend(ratio(single, double).map(|value| (case, value)));
    }
    let similar = Claim::of(
        "The speed-up in f32 is similar to that in f64.",
        "Speed-up in f32 over speed-up in f64",
        &Rule::within(15.0),
        "",
        &observed,
    );
    let note = "both precisions, whatever was asked for";
    Ok(Content::new(groups, vec![similar]).note(note))
}

/// Figure 6: the time of each stage of the fused 1024 × 1024 DCT.
fn breakdown(session: &mut Session<'_>, _: &mut Designs) -> Measured {
    const N: usize = 1024;
    const SHAPE: [usize; 2] = [N, N];
    const BOTH: &str = "pre- and post-processing";
    const BEYOND: &str = "DCT beyond the FFT alone";
    /// The most that counts as small, where the paper has a fifth.
    const SMALL: f64 = 0.3;
    let beyond = |fft: f64, whole: f64| 1.0 - fft / whole;
    let both = |of: &Medians| Some(of[0]? + of[2]?);
    let sum = move |of: &Medians| Some(both(of)? + of[1]?);
    let row = printed(N);
    let groups = run(
        session,
        &[()],
        1,
        |()| 0,
        |_, ()| {
            let whole = Work::Map(SHAPE, Transform::Dct, Pipeline::Fused);
            let stages = vec![
                Row::timed("pre-processing", Work::Reorder(SHAPE, Reorder::default())),
                Row::timed("RFFT", Work::Fft(SHAPE, Direction::Forward))
                    .printed(row.map(|r| r.rfft)),
                Row::timed("post-processing", Work::PostProcess(SHAPE, PostProcessing::default())),
                Row::timed("whole DCT", whole).printed(row.map(|r| r.dct_fused)),
            ];
            let stages = stages.into_iter().map(|row| row.over("whole DCT")).collect();
            let shares = vec![
                Row::follows(BOTH, "of the stages' sum", move |of| ratio(both(of), sum(of)))
                    .printed(PRE_AND_POST_SHARE),
                Row::follows(BEYOND, "of the DCT", move |of| Some(beyond(of[1]?, of[3]?)))
                    .printed(row.map(|r| beyond(r.rfft, r.dct_fused))),
                Row::follows("sum of the stages", "of the DCT", move |of| ratio(sum(of), of[3])),
            ];
            let stages = Block::new(size(SHAPE), Some(N * N), stages);
            Ok((size(SHAPE), vec![stages, Block::new("shares", None, shares)]))
        },
    )?;
    let percent = |what: &str| Some((what.to_owned(), 100.0 * groups[1].typical(what)?));
    let claim = Claim::of(
        "Pre- and post-processing take only around 20 % of the time; the FFT takes the rest.",
        "Share of the time",
        &Rule::new(format!("at most {:.0} %", 100.0 * SMALL), |percent| percent <= 100.0 * SMALL),
        " %",
        &[BOTH, BEYOND].into_iter().filter_map(percent).collect::<Vec<_>>(),
    );
    Ok(Content::new(groups, vec![claim]).note(
        "stages are timed one by one; the whole transform may keep in cache what they hand on, or \
         work on two stages at once",
    ))
}

/// Table VI: how far pre- and post-processing use the device.
///
/// Occupancy is what the driver's calculator allows for the kernel's registers
/// and shared memory, memory throughput the bytes that a stage must read and
/// write (every element once) over its time. The paper's are a profiler's.
fn utilisation(session: &mut Session<'_>, _: &mut Designs) -> Measured {
    const OF_COPY: &str = "throughput over a copy's";
    // Beyond the caches of today's devices, so that traffic goes to their memory.
    let n = if session.settings.quick { 512 } else { 4096 };
    let precision = session.settings.precision;
    let map = (n * n) as f64;
    let bytes = move |values: f64| values * element_bytes(precision);
    // A map in and a map out; a onesided spectrum in and a map out.
    let kernels: [(_, _, &Utilisation, f64); 2] = [
        ("pre-processing", Work::Reorder([n, n], Reorder::default()), &PREPROCESS, 2.0 * map),
        (
            "post-processing",
            Work::PostProcess([n, n], PostProcessing::default()),
            &POSTPROCESS,
            (n * (n + 2) + n * n) as f64,
        ),
    ];
    let groups = run(
        session,
        &[()],
        1,
        |()| 0,
        |session, ()| {
            let mut blocks = Vec::new();
            for (k, (name, work, printed, values)) in kernels.clone().into_iter().enumerate() {
                let per_second = move |of: &Medians, k: usize, values: f64| {
                    of[k].map(|ms| bytes(values) / (ms * 1e-3))
                };
                let achieved = move |of: &Medians| per_second(of, k, values);
                let share = |of: Option<f64>, all: Option<f64>| Some(100.0 * of? / all?);
                let copied = move |of: &Medians| per_second(of, 2, 2.0 * map);
                let occupancy = match session.target.occupancy(&work, precision) {
                    Ok(share) => Row::counted("occupancy", "%", 100.0 * share),
                    Err(error) => Row::skipped("occupancy", "%", reason(error)),
                };
                let (throughput, percent) = ("memory throughput", "% of peak");
                let peak = match session.target.peak_bandwidth() {
                    Some(peak) => {
                        Row::follows(throughput, percent, move |of| share(achieved(of), Some(peak)))
                    }
                    None => Row::skipped(throughput, percent, "no peak is known"),
                };
                // Only a profiler can measure it.
                let profiled = |what, printed: f64| {
                    Row::skipped(what, "%", "needs a profiler: scripts/utilisation-ncu")
                        .printed(printed)
                };
                let speed = "bytes read and written per second";
                let mut rows = vec![
                    occupancy.printed(printed.occupancy),
                    peak.printed(printed.bandwidth),
                    Row::follows(OF_COPY, "%", move |of| share(achieved(of), copied(of))),
                    Row::follows(speed, "GB/s", move |of| Some(achieved(of)? / 1e9)),
                    Row::timed("time", work),
                    profiled("compute", printed.compute),
                    profiled("multiprocessors in use", printed.multiprocessors),
                ];
                if k == 1 {
                    rows.push(Row::timed("copy", Work::Copy([n, n])).hidden());
                }
                blocks.push(Block::new(name, None, rows));
            }
            Ok((size([n, n]), blocks))
        },
    )?;
    let throughput = |group: &Group| Some((group.case.clone(), group.typical(OF_COPY)?));
    let bound = Claim::of(
        "Pre- and post-processing are bounded by memory: over 75 % of its bandwidth is in use.",
        "Throughput over that of a copy",
        &Rule::new("at least 75 %", |percent| percent >= 75.0),
        " %",
        &groups.iter().filter_map(throughput).collect::<Vec<_>>(),
    );
    Ok(Content::new(groups, vec![bound]).note(format!(
        "maps of {n} × {n}; occupancy is the most that registers and shared memory allow, where \
         the paper has a profiler's; scripts/utilisation-ncu asks NVIDIA's profiler on a device"
    )))
}

/// Returns the 3-D DCT through a 3-D FFT, which the paper describes and does not time.
fn three_dimensional(session: &mut Session<'_>, _: &mut Designs) -> Measured {
    let groups = run(
        session,
        &[64, 128, 256],
        2,
        |&n| n,
        |_, &n: &usize| {
            let mut rows = Vec::new();
            for (turn, (names, direction, _)) in DIRECTIONS.into_iter().enumerate() {
                let sides =
                    [(0, Pipeline::RowColumn), (1, Pipeline::Fused), (3, Pipeline::ThreePass)];
                rows.extend(sides.map(|(k, pipeline)| {
                    let work = Work::Volume([n; 3], direction, pipeline);
                    Row::timed(names[k], work).over(names[1]).turn(turn)
                }));
            }
            let case = format!("{n}³");
            Ok((case.clone(), vec![Block::new(case, Some(n * n * n), rows)]))
        },
    )?;
    let extends = Claim::of(
        "The paradigm extends to 3-D (no times are printed).",
        "Row-column over fused",
        &Rule::at_least(ABOUT_TWICE),
        "",
        &[DCT, IDCT].map(|names| ratios(&groups, names[0], names[1])).concat(),
    );
    Ok(Content::new(groups, vec![extends]))
}

/// Image compression: DCT, thresholding, IDCT ("Image compression", where p = 1 in Amdahl's law).
fn compression(session: &mut Session<'_>, _: &mut Designs) -> Measured {
    const NAMES: [&str; 4] = [
        "compression row-column",
        "compression fused",
        "DCT and IDCT row-column",
        "DCT and IDCT fused",
    ];
    let groups = squares(
        session,
        &[512, 1024, 2048, 4096],
        1,
        |&n| n,
        |&n| {
            let shape = [n, n];
            // For random numbers in 0 … 1, this keeps about every other coefficient.
            let threshold = n as f64 / 10.0;
            let compress = |name, pipeline| {
                Row::timed(name, Work::Compress(shape, pipeline, threshold)).over(NAMES[1])
            };
            let [row_column, fused] = [Pipeline::RowColumn, Pipeline::Fused];
            let mut rows = vec![compress(NAMES[0], row_column), compress(NAMES[1], fused)];
            for (_, _, transform) in DIRECTIONS {
                rows.extend([row_column, fused].map(|pipeline| {
                    Row::timed("", Work::Map(shape, transform, pipeline)).hidden()
                }));
            }
            let sum = |name, a: usize, b: usize| {
                Row::follows(name, "ms", move |of| Some(of[a]? + of[b]?)).over(NAMES[3])
            };
            let row = printed(n);
            let (by_rows, by_one) = (
                row.map(|r| r.dct_row_column + r.idct_row_column),
                row.map(|r| r.dct_fused + r.idct_fused),
            );
            rows.extend([
                sum(NAMES[2], 2, 4).printed(by_rows),
                sum(NAMES[3], 3, 5).printed(by_one),
                compress("compression by lines", Pipeline::ThreePass),
            ]);
            rows
        },
    )?;
    let compared = |group: &Group| {
        let value = ratio(group.ratio(NAMES[0], NAMES[1]), group.ratio(NAMES[2], NAMES[3]))?;
        Some((group.case.clone(), value))
    };
    let shared = Claim::of(
        "Compression shares the transforms' speed-up, for the threshold is fused with them.",
        "Speed-up of compression over speed-up of DCT and IDCT together",
        &Rule::within(10.0),
        "",
        &groups.iter().filter_map(compared).collect::<Vec<_>>(),
    );
    let note = "the paper's times are sums of table V's DCT and IDCT";
    Ok(Content::new(groups, vec![shared]).note(note))
}

/// Returns the times of IDCT_IDXST in the section on DREAMPlace: "similar to those of 2D IDCT".
fn idct_idxst(session: &mut Session<'_>, _: &mut Designs) -> Measured {
    let groups = squares(
        session,
        &IDCT_IDXST,
        1,
        |row| row.0,
        |&(n, time)| {
            let row = |what, transform, pipeline| {
                Row::timed(what, Work::Map([n, n], transform, pipeline)).over("IDCT_IDXST fused")
            };
            use Transform::{Idct, IdctIdxst};
            vec![
                row("IDCT_IDXST row-column", IdctIdxst, Pipeline::RowColumn),
                row("IDCT_IDXST fused", IdctIdxst, Pipeline::Fused).printed(time),
                row("IDCT fused", Idct, Pipeline::Fused).printed(printed(n).map(|r| r.idct_fused)),
                row("IDCT_IDXST by lines", IdctIdxst, Pipeline::ThreePass),
                row("IDCT by lines", Idct, Pipeline::ThreePass),
            ]
        },
    )?;
    let claim = Claim::of(
        "IDCT_IDXST takes as long as IDCT: the time does not depend on the transform.",
        "IDCT over IDCT_IDXST, both fused",
        &Rule::within(10.0),
        "",
        &ratios(&groups, "IDCT fused", "IDCT_IDXST fused"),
    );
    Ok(Content::new(groups, vec![claim]))
}

/// Returns the speed-up of a whole of which the share `p` becomes `s` times as fast.
fn amdahl(p: f64, s: f64) -> f64 {
    1.0 / ((1.0 - p) + p / s)
}

/// Returns the value of the largest design over that of the smallest.
fn largest_over_smallest(of: impl Fn(&str) -> Option<f64>) -> Vec<Observed> {
    let value = ratio(of("bigblue4"), of("adaptec1"));
    Vec::from_iter(value.map(|value| ("bigblue4 over adaptec1".to_owned(), value)))
}

/// Amdahl's law on a placer's step: 1/((1 − p) + p/s), with p the transforms'
/// share of the row-column step and s their speed-up ("Case studies").
fn amdahls_law(session: &mut Session<'_>, designs: &mut Designs) -> Measured {
    // The small and the large designs that the paper compares.
    const NAMES: [&str; 4] = ["adaptec1", "bigblue1", "adaptec4", "bigblue4"];
    const SHARE: &str = "p, share of the solve";
    const SPEED_UP: &str = "s, speed-up of the solve";
    const ESTIMATE: &str = "estimate of the step's speed-up";
    const MEASURED: &str = "speed-up of the step";
    let cases: Vec<&Design> =
        NAMES.iter().filter_map(|name| DESIGNS.iter().find(|d| d.name == *name)).collect();
    let groups = run(
        session,
        &cases,
        1,
        |design| design.bins,
        |_, design| {
            let charge = designs.charge(design.name, design.bins)?;
            let share = |of: &Medians| ratio(of[2], of[0]);
            let speed_up = |of: &Medians| ratio(of[2], of[3]);
            let [row_column, fused] = [Pipeline::RowColumn, Pipeline::Fused];
            let rows = vec![
                Row::timed("step row-column", Work::Step(charge.clone(), row_column)),
                Row::timed("step fused", Work::Step(charge.clone(), fused)),
                Row::timed("solve row-column", Work::Solve(charge.clone(), row_column)),
                Row::timed("solve fused", Work::Solve(charge.clone(), fused)),
                Row::follows(SHARE, "", share),
                Row::follows(SPEED_UP, "", speed_up),
                Row::follows(ESTIMATE, "", move |of| Some(amdahl(share(of)?, speed_up(of)?))),
                Row::follows(MEASURED, "", |of| ratio(of[0], of[1]))
                    .printed(design.row_column / design.fused),
            ];
            let block = Block::new(design.name, Some(charge.bodies()), rows);
            Ok((design.name.to_owned(), vec![block]))
        },
    )?;
    let of = |name: &str, what: &str| groups.iter().find(|g| g.case == name)?.typical(what);
    let claims = vec![
        Claim::of(
            "Amdahl's law tells the step's speed-up from the transforms'.",
            "Estimate over measured speed-up",
            &Rule::within(10.0),
            "",
            &ratios(&groups, ESTIMATE, MEASURED),
        ),
        Claim::of(
            "Larger designs have a larger speed-up s of the transforms.",
            "Ratio of s",
            &Rule::above(1.0),
            "",
            &largest_over_smallest(|name| of(name, SPEED_UP)),
        ),
        Claim::of(
            "Larger designs have a smaller share p of the transforms.",
            "Ratio of p",
            &Rule::below(1.0),
            "",
            &largest_over_smallest(|name| of(name, SHARE)),
        ),
    ];
    Ok(Content::new(groups, claims).note(
        "the solve is the transforms with Green's function folded into them; the paper prints \
         neither p nor s",
    ))
}

/// Table VII: one step at the statistics of the eight ISPD 2005 designs.
fn designs(session: &mut Session<'_>, designs: &mut Designs) -> Measured {
    /// The paper's mean speed-up, rounded.
    const MEAN: f64 = 1.7;
    let [row_column, fused, _] = Pipeline::ALL.map(Pipeline::name);
    let groups = run(
        session,
        &DESIGNS,
        1,
        |design| design.bins,
        |session, design| {
            (session.progress)(&format!("generating {}", design.name));
            let charge = designs.charge(design.name, design.bins)?;
            let printed = [Some(design.row_column), Some(design.fused), None];
            let row = |(pipeline, printed): (Pipeline, Option<f64>)| {
                let row = Row::timed(pipeline.name(), Work::Step(charge.clone(), pipeline));
                row.printed(printed).over(fused)
            };
            let rows = Pipeline::ALL.into_iter().zip(printed).map(row).collect();
            let block = Block::new(design.name, Some(charge.bodies()), rows);
            Ok((design.name.to_owned(), vec![block]))
        },
    )?;
    let each = ratios(&groups, row_column, fused);
    let mean = each.iter().map(|(_, value)| value).sum::<f64>() / each.len().max(1) as f64;
    let mean = (!each.is_empty()).then(|| (format!("mean of {} designs", each.len()), mean));
    let of = |name: &str| each.iter().find(|(case, _)| case == name).map(|(_, value)| *value);
    let claims = vec![
        Claim::of(
            format!("The fused step is {MEAN} times as fast as the row-column one on average."),
            "Row-column over fused",
            &Rule::at_least(MEAN),
            "",
            &Vec::from_iter(mean),
        ),
        Claim::of(
            "The fused step is the faster one on every design.",
            "Row-column over fused",
            &Rule::above(1.0),
            "",
            &each,
        ),
        Claim::of(
            "The speed-up is smaller on larger designs.",
            "Speed-up on bigblue4 over that on adaptec1",
            &Rule::below(1.0),
            "",
            &largest_over_smallest(of),
        ),
    ];
    let content = Content::new(groups, claims).note(
        "designs are generated at the circuits' statistics, with fillers; a step is density, solve \
         and the force on every body, where the paper's is potential and force",
    );
    Ok(match session.target.machine().engine.as_str() {
        "cuda" => content.note("means hold the ordering of bodies every 32 steps, medians do not"),
        _ => content,
    })
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
