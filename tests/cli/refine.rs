//! `refine`: shorter wires, legal cells, the JSON's keys and the exit codes.

use crate::tiny::{Tiny, flipped_rows, row};
use crate::{Words, eval_json, failure, json_of, placefield, run};
use serde_json::Value;
use std::path::PathBuf;

/// Twelve cells of 4 × 2 on a die of 40 × 16, in pairs that are each far apart, and rows N and FS
/// in turn.
fn pairs() -> Tiny {
    let tiny = Tiny::new();
    tiny.write("scl", flipped_rows().as_bytes());
    let mut nodes = "NumNodes : 13\nNumTerminals : 1\n".to_owned();
    let (mut places, mut nets, mut weights) =
        (String::new(), "NumNets : 6\nNumPins : 12\n".to_owned(), String::new());
    for i in 0..12 {
        nodes += &format!("c{i} 4 2\n");
        let orientation = if i / 2 % 2 == 0 { "N" } else { "FS" };
        places += &format!("c{i} {} {} : {orientation}\n", 6 + 24 * (i % 2), 2 * (i / 2));
    }
    for i in 0..6 {
        nets += &format!("NetDegree : 2 n{i}\n c{i} I : 1 0.5\n c{} O : -1 0\n", 11 - i);
        weights += &format!("n{i} {}\n", i + 1);
    }
    tiny.write("nodes", (nodes + "fix 4 4 terminal\n").as_bytes());
    tiny.write("pl", (places + "fix 18 4 : N /FIXED\n").as_bytes());
    tiny.write("nets", nets.as_bytes());
    tiny.write("wts", weights.as_bytes());
    tiny
}

fn refined(tiny: &Tiny, more: &str) -> (PathBuf, Value) {
    let (out, json) = (tiny.folder().join("refined.pl"), tiny.folder().join("refined.json"));
    run(&[&"refine", &tiny.aux(), &"--json", &json, &"-o", &out, &more]);
    (out, json_of(json))
}

#[test]
fn wires_get_shorter_and_the_summary_says_so() {
    let tiny = pairs();
    let (out, report) = refined(&tiny, "");
    let before = eval_json(&[&tiny.aux(), &"--bins 8"]);
    let after = eval_json(&[&tiny.aux(), &"--pl", &out, &"--bins 8 --legality"]);
    assert_eq!(after["legality"]["legal"], true);
    let (legal, detailed) = (&report["stages"]["legal"], &report["stages"]["detailed"]);
    for key in ["hpwl", "hpwl_weighted"] {
        assert_eq!(legal[key], before["result"][key]);
        assert_eq!(detailed[key], after["result"][key]);
    }
    let [was, is] = [legal, detailed].map(|stage| stage["hpwl_weighted"].as_f64().unwrap());
    assert!(is < 0.5 * was, "{was} to {is}");
    assert_eq!(detailed["status"], "converged");
    assert_eq!(report["legality"]["legal"], true);
    assert!(report["displacement"]["max"].as_f64() >= report["displacement"]["p95"].as_f64());
    let steps = ["swap", "insert", "reorder", "shift", "mirror"];
    let steps = steps.map(|step| detailed["shortened"][step].as_f64());
    let all: f64 = steps.into_iter().map(Option::unwrap).sum();
    assert!((was - is - all).abs() < 1e-9 * was);
}

#[test]
fn effort_decides_whether_cells_are_inserted() {
    let tiny = Tiny::new();
    let file = |name: &str| tiny.folder().join(name);
    run(&[&"generate --cells 800 --out", &tiny.folder()]);
    let (design, legal) = (file("cells800.aux"), file("legal.pl"));
    run(&[&"place", &design, &"--until legal --effort low -o", &legal]);
    let hpwl = |effort: &str| {
        let (out, json) = (file("refined.pl"), file("refined.json"));
        run(&[
            &"refine",
            &design,
            &"--pl",
            &legal,
            &"--effort",
            &effort,
            &"-o",
            &out,
            &"--json",
            &json,
        ]);
        let report = json_of(json);
        assert_eq!(report["options"]["effort"], effort);
        assert_eq!(report["legality"]["legal"], true);
        let inserted = report["stages"]["detailed"]["shortened"]["insert"].as_f64().unwrap();
        assert_eq!(inserted > 0.0, effort != "low", "{effort}: {inserted}");
        report["result"]["hpwl"].as_f64().unwrap()
    };
    let [low, medium, high] = ["low", "medium", "high"].map(hpwl);
    assert!(medium < 0.999 * low && high == medium, "{low}, {medium}, {high}");
}

#[test]
fn one_engine_refines() {
    let tiny = pairs();
    let (out, report) = refined(&tiny, "--engine cpu");
    assert_eq!(report["stages"]["detailed"]["on_device"], false);
    assert_eq!(report["stages"]["detailed"]["not_on_device"], Value::Null);
    for several in ["both", "cuda:0,1"] {
        let args: &[&dyn Words] = &[&"refine", &tiny.aux(), &"-o", &out, &"--engine", &several];
        placefield(args).assert().code(2);
    }
}

#[test]
fn a_placement_that_is_not_legal_is_refused() {
    let tiny = pairs();
    tiny.edit("pl", "c1 30 0 : N", "c1 7 0 : N");
    let out = tiny.folder().join("refined.pl");
    let said = failure(&[&"refine", &tiny.aux(), &"-o", &out]);
    let want = "placefield: the placement is not legal: 1 overlaps of area 6.000000e0 (c0 and c1 \
                by 6.000000e0): refine needs a legal placement: run `placefield legalize` first";
    assert!(said.starts_with(want), "{said}");
    assert!(!out.exists());
}

#[test]
fn cells_beyond_the_largest_displacement_are_named() {
    let tiny = pairs();
    let (_, report) = refined(&tiny, "--max-displacement 1000");
    assert_eq!(report.get("failed"), None);
    assert_eq!(report["options"]["max_displacement"], 1000.0);
    let farthest = &report["displacement"]["farthest"];
    assert_eq!(farthest[0]["distance"], report["displacement"]["max"]);
    let cells = farthest.as_array().unwrap().len();
    let (out, json) = (tiny.folder().join("refined.pl"), tiny.folder().join("refined.json"));
    let args: &[&dyn Words] = &[&"refine", &tiny.aux(), &"--json", &json, &"-o", &out];
    // Cells move by a row or more, or not at all.
    let assert = placefield(&[&args, &"--max-displacement 0.5"]).assert();
    let failed = json_of(&json)["failed"].as_array().map_or(0, Vec::len);
    assert!(cells > 0 && assert.get_output().status.code() == Some(if failed > 0 { 3 } else { 0 }));
    let far = json_of(&json)["displacement"]["rows"]["max"].as_f64().unwrap();
    assert_eq!(failed > 0, far > 0.5);
}

#[test]
fn out_of_time_the_placement_so_far_is_written() {
    let tiny = pairs();
    let out = tiny.folder().join("refined.pl");
    placefield(&[&"refine", &tiny.aux(), &"-o", &out, &"--time-limit 0"])
        .assert()
        .code(3)
        .stderr(predicates::str::contains("the time was spent: "));
    let after = eval_json(&[&tiny.aux(), &"--pl", &out, &"--bins 8 --legality"]);
    assert_eq!(after["legality"]["legal"], true);
}

/// Two cells in a row with one free site, which is a gap wherever they lie.
#[test]
fn gaps_of_one_site_that_are_left_end_with_code_3() {
    let tiny = pairs();
    tiny.write("nodes", b"NumNodes : 2\nNumTerminals : 0\na 19 2\nb 20 2\n");
    tiny.write("pl", b"a 0 0 : N\nb 20 0 : N\n");
    tiny.write("nets", b"NumNets : 1\nNumPins : 2\nNetDegree : 2 n0\n a I\n b O\n");
    tiny.write("wts", b"n0 1\n");
    tiny.write("scl", format!("NumRows : 1\n{}", row(0, 0, 40)).as_bytes());
    let out = tiny.folder().join("refined.pl");
    let args: &[&dyn Words] = &[&"refine", &tiny.aux(), &"-o", &out];
    placefield(&[&args]).assert().success();
    std::fs::remove_file(&out).unwrap();
    placefield(&[&args, &"--no-one-site-gaps"])
        .assert()
        .code(3)
        .stderr(predicates::str::contains("the placement is not legal: 1 gaps of one site"));
    assert!(out.exists());
}
