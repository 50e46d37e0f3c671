//! `placefield bench`: the CPU's numbers beside the paper's.

use crate::{failure, json_of, names_in, placefield, run, run_json, texts};
use serde_json::Value;
use std::path::Path;

#[test]
fn tables_are_written_and_read_back_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lines.json");
    let table = "bench one-dimensional --engine cpu --quick --json";
    let text = run(&[&table, &file, &"--note", &Path::new("a remark")]);
    assert!(text.contains("Four algorithms of the 1-D DCT (table IV), f64"), "{text}");

    let json = json_of(&file);
    assert_eq!(json["machine"]["engine"], "cpu");
    assert_eq!((&json["quick"], &json["notes"][0]), (&Value::Bool(true), &Value::from("a remark")));
    let lines = &json["tables"][0]["groups"][0]["lines"];
    let names = texts(lines, "what");
    assert_eq!(names, ["4n", "mirrored-2n", "padded-2n", "n"]);
    for line in lines.as_array().unwrap() {
        assert!(line["here"].as_f64().unwrap() > 0.0, "{line}");
        // 5, or fewer on a busy machine.
        assert!((3..=5).contains(&line["sample"]["repetitions"].as_u64().unwrap()), "{line}");
    }
    assert_eq!(lines[3]["paper"], 101.62);

    // Tables as they came, and what was written.
    assert_eq!(format!("{}{}\n", run(&[&"bench show", &file]), file.display()), text);
    // Numbers come back as they were.
    let mut shown = run_json(&[&"bench show", &file, &"--json -"]);
    assert_eq!(shown["inputs"], serde_json::json!([file]));
    shown["inputs"] = json["inputs"].clone();
    assert_eq!(shown, json);
    let plots = folder.path().join("plots");
    run(&[&"bench show", &file, &"--plots", &plots]);
    // One size is no curve.
    assert_eq!(names_in(&plots), ["one-dimensional_ratio.png", "one-dimensional_ratio.svg"]);
}

#[test]
fn a_run_that_is_broken_off_keeps_its_tables() {
    use placefield::paper::bench::{self, EXPERIMENTS, Settings, Watch};
    let target = bench::cpu_target(1).unwrap();
    let settings = Settings { precision: placefield::Precision::F64, repetitions: 3, quick: true };
    let tables = std::cell::Cell::new(0);
    let finished = |table: &bench::Table| {
        assert!(!table.groups.is_empty());
        tables.set(tables.get() + 1);
    };
    // After its first table.
    let stop = || tables.get() > 0;
    let watch = Watch { finished: &finished, stop: &stop, ..Watch::NONE };
    let both = [&EXPERIMENTS[2], &EXPERIMENTS[0]];
    let report = bench::run(&both, &target, settings, 60.0, watch).unwrap();
    assert_eq!((report.tables.len(), tables.get()), (1, 1));
    assert_eq!(report.tables[0].name, "one-dimensional");
}

#[test]
fn every_experiment_has_a_subcommand() {
    let help = run(&[&"bench --help"]);
    for experiment in &placefield::paper::bench::EXPERIMENTS {
        let line = help.lines().find(|l| l.trim_start().starts_with(experiment.name));
        assert!(line.is_some_and(|l| l.ends_with(experiment.help)), "{}: {help}", experiment.name);
    }
}

#[test]
fn bad_benchmark_arguments_are_one_error_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("no.json");
    std::fs::write(&file, "{\"version\": 1}").unwrap();
    assert!(failure(&[&"bench show", &file]).contains("no.json: "));
    let missing = folder.path().join("none").join("x.json");
    failure(&[&"bench breakdown --engine cpu --json", &missing]);
    for wrong in ["--repetitions 0", "--engine both", "--precision f16"] {
        placefield(&[&"bench breakdown", &wrong]).assert().code(2).stdout("");
    }
}
