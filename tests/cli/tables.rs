//! The paper's tables on an engine whose times are known beforehand.

use crate::text_of;
use placefield::Precision;
use placefield::engine::Pipeline;
use placefield::paper::Algorithm1d;
use placefield::paper::bench::{
    self, BenchError, EXPERIMENTS, Experiment, FEWEST, Machine, Report, Session, Settings, Table,
    Target, Verdict, Watch, Work,
};
use std::cell::Cell;
use std::rc::Rc;

/// Returns a target that takes no time and says what `times` gives, in milliseconds.
fn target(times: fn(&Work) -> Option<f64>, memory: f64) -> Target {
    Target {
        machine: Machine {
            engine: "known".into(),
            device: "a machine of known times".into(),
            threads: Some(1),
            software: None,
            timing: "as given".into(),
        },
        free_memory: Box::new(move || Some(memory)),
        clock: Box::new(|| 0.0),
        peak_bandwidth: None,
        prepare: Box::new(move |work, _| {
            let time =
                times(work).ok_or_else(|| BenchError::Unavailable("no form of it".into()))?;
            Ok(Box::new(move || Ok((time, Some(2.0 * time)))))
        }),
        occupancy: Box::new(|_, _| Err(BenchError::Unavailable("only kernels have one".into()))),
    }
}

/// Row-column takes twice what fused does, a longer FFT longer.
fn as_claimed(work: &Work) -> Option<f64> {
    let map = |shape: &[usize]| shape.iter().product::<usize>() as f64 * 1e-6;
    let by = |pipeline: &Pipeline| match pipeline {
        Pipeline::RowColumn => 2.0,
        Pipeline::Fused => 1.0,
        _ => 0.5, // three-pass
    };
    Some(match work {
        Work::Copy(shape) | Work::Reorder(shape, _) => 0.1 * map(shape),
        Work::Fft(shape, _) => 0.8 * map(shape),
        Work::PostProcess(shape, _) => 0.1 * map(shape),
        Work::Variant(shape, ..) => map(shape),
        Work::Line(n, algorithm) => {
            let place = Algorithm1d::ALL.iter().position(|a| a == algorithm)?;
            *n as f64 * (5 - place) as f64
        }
        Work::Map(shape, _, pipeline) => by(pipeline) * map(shape),
        Work::Volume(shape, _, pipeline) => by(pipeline) * map(shape),
        Work::Compress(shape, pipeline, _) => 2.0 * by(pipeline) * map(shape),
        Work::Solve(charge, pipeline) => by(pipeline) * charge.grid().bins() as f64,
        Work::Step(charge, pipeline) => {
            by(pipeline) * charge.grid().bins() as f64 + charge.bodies() as f64
        }
    })
}

const SETTINGS: Settings = Settings { precision: Precision::F64, repetitions: 7, quick: false };

fn run(experiments: &[&Experiment], target: &Target, settings: Settings) -> Report {
    bench::run(experiments, target, settings, 1e4, Watch::NONE).unwrap()
}

fn known(experiments: &[&Experiment], times: fn(&Work) -> Option<f64>, memory: f64) -> Report {
    run(experiments, &target(times, memory), SETTINGS)
}

fn named(name: &str) -> &'static Experiment {
    EXPERIMENTS.iter().find(|e| e.name == name).unwrap()
}

/// All but those that generate designs.
fn transforms() -> Vec<&'static Experiment> {
    EXPERIMENTS.iter().filter(|e| !["designs", "amdahl"].contains(&e.name)).collect()
}

fn verdicts(table: &Table) -> Vec<Verdict> {
    table.claims.iter().map(|c| c.verdict).collect()
}

fn table<'r>(report: &'r Report, name: &str) -> &'r Table {
    report.tables.iter().find(|t| t.name == name).unwrap()
}

#[test]
fn every_line_has_a_number_or_a_reason() {
    let report = known(&transforms(), as_claimed, 1e15);
    assert_eq!(report.tables.len(), transforms().len());
    for table in &report.tables {
        assert!(!table.groups.is_empty() && !table.claims.is_empty(), "{}", table.name);
        for line in table.groups.iter().flat_map(|g| &g.lines) {
            assert!(line.here.is_some() != line.skipped.is_some(), "{}: {line:?}", table.name);
            if let Some(sample) = line.sample {
                assert_eq!((sample.repetitions, line.plain.unwrap().repetitions), (7, 7));
                assert!(sample.deviation < 1e-12 * sample.mean, "{sample:?}");
                assert_eq!(line.plain.unwrap().median, 2.0 * sample.median);
            }
        }
    }
}

#[test]
fn ratios_and_claims_follow_from_the_times() {
    let report = known(&transforms(), as_claimed, 1e15);
    let maps = table(&report, "two-dimensional");
    assert_eq!(maps.groups.len(), 7);
    assert_eq!(maps.groups[6].case, "10000 × 100");
    for group in &maps.groups {
        assert_eq!(group.ratio("DCT row-column", "DCT fused"), Some(2.0));
        assert_eq!(group.ratio("RFFT alone", "DCT fused"), Some(0.8));
    }
    assert!(verdicts(maps).iter().all(|v| *v == Verdict::Holds), "{:?}", maps.claims);
    let row = &maps.groups[3].lines[1];
    assert_eq!((row.what.as_str(), row.paper), ("DCT row-column", Some(12.28)));
    assert!((row.paper_ratio.unwrap() - 12.28 / 5.80).abs() < 1e-12);
    // 2^24 elements at 2 · 10⁻⁶ ms, and microseconds in table IV.
    assert!((row.here.unwrap() - 2e-6 * 4096.0 * 4096.0).abs() < 1e-9);
    let lines = table(&report, "one-dimensional");
    assert_eq!(lines.groups[0].lines[3].unit, "µs");
    assert_eq!(lines.groups[0].lines[3].here, Some(1e3 * 2.0 * 16384.0));
    assert_eq!(verdicts(lines), [Verdict::Holds]);
    let stages = table(&report, "breakdown");
    let both = stages.groups[1].typical("pre- and post-processing").unwrap();
    assert!((both - 0.2).abs() < 1e-12, "{both}");

    // The other way round nothing of it holds.
    let reversed = |work: &Work| Some(1.0 / as_claimed(work)?);
    let report = known(&[named("two-dimensional"), named("one-dimensional")], reversed, 1e15);
    assert_eq!(
        verdicts(&report.tables[0])[..3],
        [Verdict::DoesNotHold, Verdict::DoesNotHold, Verdict::Holds]
    );
    assert_eq!(verdicts(&report.tables[1]), [Verdict::DoesNotHold]);
}

#[test]
fn amdahls_estimate_is_exact_for_additive_times() {
    let quick = Settings { quick: true, ..SETTINGS };
    let both = [named("amdahl"), named("designs")];
    let report = run(&both, &target(as_claimed, 1e15), quick);
    let group = &report.tables[0].groups[0];
    let estimate = group.ratio("estimate of the step's speed-up", "speed-up of the step");
    assert!((estimate.unwrap() - 1.0).abs() < 1e-12);
    assert_eq!(group.typical("s, speed-up of the solve"), Some(2.0));
    let step = &report.tables[1].groups[0];
    assert_eq!((step.case.as_str(), step.lines.len()), ("adaptec1", 3));
    assert!(step.ratio("three-pass", "fused").unwrap() < 1.0);
}

#[test]
fn unsupported_lines_are_marked_and_others_run() {
    let no_naive_stage = |work: &Work| match work {
        Work::PostProcess(..) => None,
        _ => as_claimed(work),
    };
    let report = known(&[named("post-processing")], no_naive_stage, 1e15);
    let group = report.tables[0].groups.iter().find(|g| g.case == "512²").unwrap();
    assert_eq!(group.line("naive").unwrap().skipped.as_deref(), Some("no form of it"));
    assert!(group.line("whole DCT, naive").unwrap().here.is_some());
    assert_eq!(report.tables[0].claims[1].verdict, Verdict::NotMeasured);
    assert!(report.to_string().contains("not run: no form of it"), "{report}");
}

#[test]
fn failing_lines_are_marked_and_others_run() {
    let known = target(as_claimed, 0.0);
    let partly = Target {
        free_memory: Box::new(|| None),
        prepare: Box::new(move |work, precision| match work {
            Work::Map(_, _, Pipeline::RowColumn) => {
                Ok(Box::new(|| Err(BenchError::failed("a run", "out of order"))))
            }
            _ => (known.prepare)(work, precision),
        }),
        ..target(as_claimed, 0.0)
    };
    let report = run(&[named("two-dimensional")], &partly, SETTINGS);
    let group = &report.tables[0].groups[0];
    let failed = group.line("DCT row-column").unwrap();
    assert_eq!(failed.skipped.as_deref(), Some("failed: a run: out of order"));
    assert!(group.typical("DCT fused").is_some());
    assert_eq!(report.failures(), ["a run: out of order"]);
}

#[test]
fn lines_beyond_the_memory_are_marked() {
    // 1 GiB holds the maps of 1024² and not those of 8192².
    let report = known(&[named("two-dimensional")], as_claimed, f64::from(1 << 30));
    let groups = &report.tables[0].groups;
    let reason = |k: usize| groups[k].line("DCT fused").unwrap().skipped.clone();
    assert_eq!(reason(1), None);
    assert!(reason(4).unwrap().starts_with("needs 6.5 GiB, 1.0 are free"), "{:?}", reason(4));
}

#[test]
fn sizes_that_do_not_fit_the_time_are_marked() {
    let settings = Settings { repetitions: 1000, ..SETTINGS };
    let now = Rc::new(Cell::new(0.0));
    let run_by = now.clone();
    // Four nanoseconds per value of a map.
    let slow = Target {
        free_memory: Box::new(|| None),
        clock: Box::new(move || now.get()),
        prepare: Box::new(move |work, _| {
            let Work::Copy([a, b]) = work else { panic!("unexpected {work:?}") };
            let (seconds, now) = (4e-9 * (a * b) as f64, run_by.clone());
            Ok(Box::new(move || {
                assert!(seconds < 4.0, "a run that is known not to fit");
                now.set(now.get() + seconds);
                Ok((1.0, None))
            }))
        }),
        ..target(as_claimed, 0.0)
    };
    let mut session = Session::new(&slow, settings, Watch::NONE);
    session.begin("copies", 2.4);
    session.expect(3);
    // 4 ms a run: as many as fit a third of the time, fewer than asked for.
    let first = session.measure("1000", &[Work::Copy([1000, 1000])]);
    let Ok((sample, None)) = &first[0] else { panic!("{first:?}") };
    assert!((FEWEST..400).contains(&sample.repetitions), "{}", sample.repetitions);
    // A thousand times as large: known not to fit without being run.
    let large = session.measure("large", &[Work::Copy([1000, 1_000_000])]);
    let Err(why) = &large[0] else { panic!("{large:?}") };
    assert!(why.starts_with("would take about ") && why.ends_with(" of 2"), "{why}");
    // 200 ms a run: the fewest, whatever the share.
    let last = session.measure("last", &[Work::Copy([5000, 10_000])]);
    let Ok((sample, None)) = &last[0] else { panic!("{last:?}") };
    assert!((FEWEST..12).contains(&sample.repetitions), "{}", sample.repetitions);
}

#[test]
fn a_report_survives_json_with_its_keys() {
    let report = known(&[named("two-dimensional")], as_claimed, 1e15);
    let mut json = serde_json::to_value(&report).unwrap();
    let keys = |value: &serde_json::Value| {
        value.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(keys(&json), "machine paper_hardware repetitions quick seconds notes tables");
    assert_eq!(keys(&json["machine"]), "engine device threads software timing");
    let table = &json["tables"][0];
    assert_eq!(keys(table), "name title paper precision groups claims notes budget_s seconds");
    assert_eq!(keys(&table["claims"][0]), "paper here verdict");
    assert_eq!(table["claims"][0]["verdict"], "holds");
    assert_eq!(keys(&table["groups"][0]), "case elements lines");
    let line = &table["groups"][0]["lines"][1];
    assert_eq!(keys(line), "what unit paper here over paper_ratio here_ratio sample plain skipped");
    assert_eq!(keys(&line["sample"]), "mean deviation median quartiles min max repetitions");
    // The version is the whole document's.
    json["version"] = report.version.clone().into();
    assert_eq!(serde_json::from_value::<Report>(json).unwrap(), report);
}

#[test]
fn the_text_shows_paper_and_machine_side_by_side() {
    let text = known(&[named("two-dimensional")], as_claimed, 1e15).to_string();
    let row = text.lines().find(|l| l.contains("DCT row-column, ms")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    // Case, name, unit, paper, here, deviation, median, quartiles, ratios, fewer repetitions.
    let want = [
        "DCT",
        "row-column,",
        "ms",
        "0.190",
        "0.524",
        "0.00",
        "0.524",
        "0.524…0.524",
        "1.58",
        "2.00",
    ];
    assert_eq!(cells[..10], want, "{row}");
    assert!(row.ends_with("(7 repetitions)"), "{row}");
    assert!(text.lines().any(|l| l.starts_with("holds: The fused DCT")), "{text}");
    assert!(text.contains("not run: only in the paper"), "{text}");
}

#[test]
fn tables_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let report = known(&[named("two-dimensional"), named("breakdown")], as_claimed, 1e15);
    let mut files = Vec::new();
    for table in &report.tables {
        files.extend(bench::draw(table, &report.machine, folder.path()).unwrap());
    }
    let names: Vec<_> = files.iter().map(|f| f.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "two-dimensional_time.png",
            "two-dimensional_time.svg",
            "two-dimensional_ratio.png",
            "two-dimensional_ratio.svg",
            "breakdown_ratio.png",
            "breakdown_ratio.svg"
        ]
    );
    let svg = text_of(&files[3]);
    for text in ["IDCT row-column", "IDCT row-column (paper)", "2-D DCT and IDCT"] {
        assert!(svg.contains(text), "{text}");
    }
    let bars = text_of(&files[5]);
    for text in ["post-processing", "time over whole DCT", "paper"] {
        assert!(bars.contains(text), "{text}");
    }
}
