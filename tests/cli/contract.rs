//! The promises of `eval`: the JSON's keys, the maps' layout, the same bits again.

use crate::tiny::{Tiny, row};
use crate::{
    PIPELINES, Words, close, eval_json, generated, json_of, names_in, npy, placefield, run, texts,
};
use predicates::prelude::*;
use serde_json::Value;
use std::path::Path;

/// Every key with the type of its value, in order.
const KEYS: &str = "\
schema: number
command: string
version: string
inputs: [string string string string string string]
outputs: []
design.name: string
design.nodes: number
design.movable: number
design.fixed: number
design.nets: number
design.pins: number
design.rows: number
design.die: [number number number number]
design.movable_area: number
design.fixed_area: number
grid.bins: [number number]
grid.bin_size: [number number]
options.engine: string
options.device: string
options.pipeline: string
options.path: string
options.precision: string
options.target_density: number
options.target_density_asked: number
options.fillers: bool
options.filler_count: number
options.row_blockage: bool
options.deterministic: bool
result.hpwl: number
result.hpwl_weighted: number
result.overflow_smoothed: number
result.overflow_exact: number
longest_nets: [object object]
density.overflow_off_die: number
density.max_smoothed: number
density.max_exact: number
density.total_area: number
density.clipped_area: number
density.blocked_area: number
density.edge_loss_area: number
field.energy: number
field.potential_min: number
field.potential_max: number
field.field_x_max: number
field.field_y_max: number
timings_ms.parse: number
timings_ms.setup: number
timings_ms.density: number
timings_ms.solve: number
timings_ms.force: number
timings_ms.exact_density: number
warnings: [object]
";

fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(kind).collect::<Vec<_>>().join(" "))
        }
        Value::Object(_) => "object".to_owned(),
    }
}

fn keys(path: &str, value: &Value, lines: &mut String) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let dot = if path.is_empty() { "" } else { "." };
                keys(&format!("{path}{dot}{key}"), value, lines);
            }
        }
        other => *lines += &format!("{path}: {}\n", kind(other)),
    }
}

#[test]
fn the_json_has_these_keys() {
    let tiny = Tiny::new();
    let json = eval_json(&[&tiny.aux(), &"--bins 8x4 --precision f64"]);
    let mut lines = String::new();
    keys("", &json, &mut lines);
    assert_eq!(lines, KEYS);

    let d = &json["design"];
    assert_eq!((&d["name"], &d["nodes"], &d["movable"]), (&"t".into(), &4.into(), &3.into()));
    assert_eq!((&d["nets"], &d["pins"], &d["rows"]), (&2.into(), &4.into(), &8.into()));
    assert_eq!(d["die"], serde_json::json!([0.0, 0.0, 40.0, 16.0]));
    assert_eq!((&d["movable_area"], &d["fixed_area"]), (&14.0.into(), &16.0.into()));
    assert_eq!(json["grid"], serde_json::json!({"bins": [8, 4], "bin_size": [5.0, 4.0]}));
    assert_eq!(json["options"]["precision"], "f64");
    // n0: pins at (8, 3) and (12, 4); n1: at (19.5, 6) and (32, 10.5).
    assert_eq!(json["result"]["hpwl"], 5.0 + 17.0);
    assert_eq!(json["result"]["hpwl_weighted"], 5.0 + 2.0 * 17.0);
    let longest = serde_json::json!([
        {"net": "n1", "number": 1, "pins": 2, "hpwl": 17.0},
        {"net": "n0", "number": 0, "pins": 2, "hpwl": 5.0},
    ]);
    assert_eq!(json["longest_nets"], longest);
    close("area", json["density"]["total_area"].as_f64().unwrap(), 30.0, 30.0, 1e-12);
    assert_eq!(
        json["warnings"],
        serde_json::json!([{
            "code": "no_area",
            "message": format!("{}: 1 movable nodes have no area", tiny.file("nodes").display()),
        }])
    );
}

#[test]
fn the_automatic_pipeline_is_named_with_a_reason() {
    let aux = Tiny::new();
    let aux = aux.aux();
    let evaluate = |asked: &str| {
        let args: &[&dyn Words] = &[&"eval", &aux, &"--engine cpu --json - --pipeline", &asked];
        let output = placefield(args).assert().success().get_output().clone();
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let path = &json["options"]["path"];
        assert_eq!(path, &json["options"]["pipeline"]);
        (path.as_str().unwrap().to_owned(), String::from_utf8(output.stderr).unwrap())
    };
    let why = "pipeline: three-pass (fastest on a CPU at every size)\n";
    assert_eq!(evaluate("auto"), ("three-pass".to_owned(), why.to_owned()));
    for asked in PIPELINES {
        assert_eq!(evaluate(asked), (asked.to_owned(), String::new()));
    }
}

#[test]
fn absent_nets_mean_no_hpwl_and_a_warning() {
    let tiny = Tiny::new();
    std::fs::remove_file(tiny.file("nets")).unwrap();
    std::fs::remove_file(tiny.file("wts")).unwrap();
    let json = eval_json(&[&tiny.aux(), &"--bins 8"]);
    assert_eq!(
        (&json["result"]["hpwl"], &json["result"]["hpwl_weighted"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(json["design"]["nets"], 0);
    let warnings = texts(&json["warnings"], "message");
    for file in ["t.nets", "t.wts"] {
        assert!(warnings.iter().any(|w| w.contains(file)), "{warnings:?}");
    }
    // A person gets them on stderr.
    let told = predicate::str::contains("warning: ").count(3);
    let summary = predicate::str::contains("wirelength none");
    let assert = placefield(&[&"eval", &tiny.aux(), &"--bins 8"]).assert();
    assert.success().stderr(told).stdout(summary);
}

#[test]
fn weights_of_comments_alone_are_a_warning_and_those_of_no_nets_are_not_read() {
    let tiny = Tiny::new();
    tiny.write("wts", b"# nothing\n\n# here\n");
    let json = eval_json(&[&tiny.aux(), &"--bins 8"]);
    assert_eq!(json["result"]["hpwl"], json["result"]["hpwl_weighted"]);
    let warnings = texts(&json["warnings"], "message");
    assert!(warnings.iter().any(|w| w.contains("t.wts") && w.contains("weighs 1")), "{warnings:?}");

    tiny.write("wts", b"n0 heavy\n");
    placefield(&[&"eval", &tiny.aux(), &"--bins 8"]).assert().failure();
    std::fs::remove_file(tiny.file("nets")).unwrap();
    let json = eval_json(&[&tiny.aux(), &"--bins 8"]);
    assert_eq!(json["result"]["hpwl_weighted"], Value::Null);
}

#[test]
fn json_goes_to_a_file_beside_the_summary() {
    let tiny = Tiny::new();
    let (aux, path) = (tiny.aux(), tiny.folder().join("eval.json"));
    let summary = run(&[&"eval", &aux, &"--bins 8x4 --json", &path]);
    assert!(summary.contains("8 x 4 bins"), "{summary}");
    let json = json_of(&path);
    assert_eq!(json["grid"]["bins"], serde_json::json!([8, 4]));
    assert!(names_in(tiny.folder()).iter().all(|n| n.starts_with("t.") || n == "eval.json"));
}

#[test]
fn maps_are_x_then_y_and_forces_go_by_node() {
    let tiny = Tiny::new();
    let (aux, maps) = (tiny.aux(), tiny.folder().join("maps"));
    run(&[&"eval", &aux, &"--bins 8x4 --precision f64 --maps", &maps]);
    let names = ["density", "field_x", "field_y", "force_x", "force_y", "potential"];
    assert_eq!(names_in(&maps), names.map(|n| format!("{n}.npy")));
    for name in ["density", "potential", "field_x", "field_y"] {
        let (shape, values) = npy::<f64>(&maps.join(name).with_extension("npy"));
        assert_eq!((shape, values.len()), (vec![8, 4], 32), "{name}");
    }
    // p is 4 x 4 at (30, 8): all of it in bin (6, 2), of 5 x 4. Nothing else comes near.
    let (_, density) = npy::<f64>(&maps.join("density.npy"));
    close("density of p", density[6 * 4 + 2], 16.0 / 20.0, 1.0, 1e-12);
    for (ix, iy) in [(5, 2), (7, 2), (6, 1), (6, 3)] {
        assert_eq!(density[ix * 4 + iy], 0.0, "bin ({ix}, {iy})");
    }
    // Movable nodes in the order of .nodes: a (left of everything), b (no area), c.
    for name in ["force_x", "force_y"] {
        let (shape, force) = npy::<f64>(&maps.join(name).with_extension("npy"));
        assert_eq!(shape, [3]);
        assert!(force[0] != 0.0 && force[1] == 0.0 && force[2] != 0.0, "{name}: {force:?}");
    }
    let (_, force_x) = npy::<f64>(&maps.join("force_x.npy"));
    assert!(force_x[0] < 0.0, "a is pushed to the left: {force_x:?}");

    // f32 unless asked for f64.
    run(&[&"eval", &aux, &"--bins 8x4 --maps", &maps]);
    assert_eq!(npy::<f32>(&maps.join("density.npy")).0, [8, 4]);
}

/// Everything of a report that must not depend on the run.
fn numbers(mut json: Value) -> Value {
    let report = json.as_object_mut().unwrap();
    report.remove("timings_ms");
    report.remove("outputs");
    report["options"].as_object_mut().unwrap().remove("device");
    json
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (folder, aux) = generated(3000);
    let evaluate = |extra: &str, maps: &Path| {
        let how = "--fillers --engine cpu --bins 96x64 --maps";
        let mut json = numbers(eval_json(&[&aux, &how, &maps, &extra]));
        let said = json["options"].as_object_mut().unwrap().remove("deterministic");
        assert_eq!(said, Some(extra.contains("--deterministic").into()));
        let files = names_in(maps);
        let bytes: Vec<_> = files.iter().map(|f| std::fs::read(maps.join(f)).unwrap()).collect();
        (json, bytes)
    };
    let first = evaluate("--threads 1", &folder.path().join("m"));
    assert_eq!(first.1.len(), 6);
    let again = evaluate("--threads 3 --deterministic", &folder.path().join("n"));
    assert!(first == again, "runs with 1 and 3 threads differ");
}

#[test]
fn rows_can_block_what_lies_outside_them() {
    let tiny = Tiny::new();
    // The upper four rows reach from 10 to 30 only: 2 × 10 × 8 is no place for cells,
    // of which p at (30, 8) takes 16 already.
    let rows: String =
        (0..8).map(|i| if i < 4 { row(2 * i, 0, 40) } else { row(2 * i, 10, 20) }).collect();
    tiny.write("scl", format!("UCLA scl 1.0\nNumRows : 8\n{rows}").as_bytes());
    let (aux, f64s) = (tiny.aux(), ["--bins", "8", "--precision", "f64"]);
    let plain = eval_json(&[&aux, &f64s[0], &f64s[1], &f64s[2], &f64s[3]]);
    let blocked = eval_json(&[&aux, &f64s[0], &f64s[1], &f64s[2], &f64s[3], &"--row-blockage"]);
    assert_eq!(plain["options"]["row_blockage"], false);
    assert_eq!(blocked["options"]["row_blockage"], true);
    let area = |json: &Value| json["density"]["total_area"].as_f64().unwrap();
    close("blocked area", area(&blocked) - area(&plain), 2.0 * 10.0 * 8.0 - 16.0, 144.0, 1e-12);
}

#[test]
fn a_design_without_movable_nodes_is_evaluated() {
    let tiny = Tiny::new();
    let nodes = "NumNodes : 2\nNumTerminals : 2\na 4 2 terminal\np 4 4 terminal\n";
    tiny.write("nodes", nodes.as_bytes());
    tiny.write("pl", b"a 1 2 : N\np 30 8 : N\n");
    std::fs::remove_file(tiny.file("nets")).unwrap();
    let maps = tiny.folder().join("maps");
    let json = eval_json(&[&tiny.aux(), &"--bins 8x4 --maps", &maps]);
    assert_eq!(json["design"]["movable"], 0);
    assert_eq!(json["result"]["overflow_smoothed"], 0.0);
    close("area", json["density"]["total_area"].as_f64().unwrap(), 24.0, 24.0, 1e-6);
    assert_eq!(npy::<f32>(&maps.join("force_x.npy")), (vec![0], vec![]));
}
