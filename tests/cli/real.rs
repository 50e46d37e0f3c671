//! Real designs, against published numbers and an independent evaluation.

use crate::common::{design_dir, golden};
use crate::pictures::{PICTURES, check_pictures};
use crate::{PIPELINES, Words, close, eval_json, json_of, npy, run, run_json, text_of};
use serde_json::Value;
use std::path::Path;

fn number(json: &Value, path: &str) -> f64 {
    let value = json.pointer(path).unwrap_or_else(|| panic!("no {path}"));
    value.as_f64().unwrap_or_else(|| panic!("{path}: {value}"))
}

fn warns(json: &Value, what: &str) -> bool {
    json["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .any(|w| w["message"].as_str().unwrap().contains(what))
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn every_design_is_read_and_evaluated() {
    // Archive, .aux, nodes, fixed, nets and pins as counted in the files.
    for (archive, aux, counts) in [
        ("adaptec1", "adaptec1", [211_447, 543, 0, 0]),
        ("adaptec1", "adaptec1.mms", [210_967, 63, 0, 0]),
        ("ibm01", "ibm01-cu85", [12_028, 0, 11_507, 44_266]),
        ("ibm05", "ibm05", [29_347, 1_201, 28_446, 126_308]),
        ("ibm07", "ibm07-cu90", [44_811, 0, 44_394, 164_369]),
        ("ibm01-ms", "ibm01", [12_752, 246, 14_111, 50_566]),
        ("intel", "intel", [3_286, 545, 2_842, 9_851]),
        ("simple", "simple", [10, 2, 8, 26]),
        ("acc64", "acc64", [3_355, 576, 7_481, 20_111]),
    ] {
        let folder = design_dir(archive);
        let json = eval_json(&[&folder.join(format!("{aux}.aux"))]);
        let design = &json["design"];
        for (key, want) in ["nodes", "fixed", "nets", "pins"].iter().zip(counts) {
            assert_eq!(design[key], want, "{aux}: {key}");
        }
        assert_eq!(json["result"]["hpwl"].is_null(), archive == "adaptec1", "{aux}");
        assert!(number(&json, "/density/total_area") > 0.0, "{aux}");
        assert!(number(&json, "/field/energy").is_finite(), "{aux}");
    }
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn cells_outside_the_die_are_clipped_and_counted() {
    let folder = design_dir("adaptec1");
    let json = eval_json(&[&folder.join("adaptec1.aux"), &"--precision f64"]);
    assert!(warns(&json, "movable cells reach beyond the die: 210904 of 210904 wholly"));
    assert!(warns(&json, "480 wholly"), "{}", json["warnings"]);
    let movable = number(&json, "/design/movable_area");
    assert!(number(&json, "/density/clipped_area") >= movable);
    // Smoothing reaches no farther than √2 bins, which is not into the die: only fixed area is
    // there.
    let fixed = number(&json, "/design/fixed_area");
    assert!(number(&json, "/density/total_area") <= fixed * (1.0 + 1e-12));
    // Area off the die is overflow.
    assert_eq!(number(&json, "/density/overflow_off_die"), 1.0);
    assert_eq!(number(&json, "/result/overflow_exact"), 1.0);
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn wirelength_of_published_placements() {
    for (archive, aux, pl, want, half_a_digit) in [
        ("ibm01", "ibm01-cu85.aux", "ibm01-cu85.gp.pl", 5.34e7, 0.005e7),
        ("ibm07", "ibm07-cu90.aux", "ibm07-cu90.gp.pl", 3.71e8, 0.005e8),
    ] {
        let folder = design_dir(archive);
        let (aux, pl) = (folder.join(aux), folder.join(pl));
        let json = eval_json(&[&aux, &"--pl", &pl, &"--pin-offset lower-left"]);
        close(archive, number(&json, "/result/hpwl"), want, half_a_digit, 1.0);
        let centered = eval_json(&[&aux, &"--pl", &pl]);
        assert_ne!(centered["result"]["hpwl"], json["result"]["hpwl"]);
    }
}

/// The legal placements are clean; of them and of the others, what their rows and cells say.
#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn legal_placements_are_legal_and_others_are_not() {
    for (archive, aux, pl, legal) in [
        ("ibm01", "ibm01-cu85.aux", Some("ibm01-cu85.legal.pl"), true),
        ("ibm07", "ibm07-cu90.aux", Some("ibm07-cu90.legal.pl"), true),
        ("ibm05", "ibm05.aux", Some("ibm05.dp.pl"), true),
        ("adaptec1", "adaptec1.mms.aux", None, true),
        ("ibm01", "ibm01-cu85.aux", Some("ibm01-cu85.gp.pl"), false),
        ("adaptec1", "adaptec1.aux", None, false),
    ] {
        let folder = design_dir(archive);
        let aux = folder.join(aux);
        let found = match pl {
            Some(pl) => eval_json(&[&aux, &"--bins 64 --legality --pl", &folder.join(pl)]),
            None => eval_json(&[&aux, &"--bins 64 --legality"]),
        };
        let found = &found["legality"];
        assert_eq!(found["legal"], legal, "{archive}: {found}");
        assert_eq!(found["fixed_moved"], 0, "{archive}");
    }
    // Every cell on every other, before placement: n(n − 1)/2 pairs.
    let json = eval_json(&[&design_dir("adaptec1").join("adaptec1.aux"), &"--legality --bins 64"]);
    let cells = number(&json, "/design/movable");
    assert_eq!(number(&json, "/legality/overlaps"), cells * (cells - 1.0) / 2.0);
}

/// The offsets of these are counted from the corner, of ICCAD04's from the centre.
#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn only_wrong_pin_offsets_lead_to_a_hint() {
    for (archive, aux, right, wrong) in [
        ("ibm01", "ibm01-cu85.aux", "lower-left", "center"),
        ("ibm07", "ibm07-cu90.aux", "lower-left", "center"),
        ("ct_ariane", "ct_ariane.fixed.aux", "center", "lower-left"),
        ("mempool_tile_ng45", "mempool_tile_ng45.fixed.aux", "center", "lower-left"),
    ] {
        let aux = design_dir(archive).join(aux);
        let hint = |offset: &str| {
            warns(&eval_json(&[&aux, &"--bins 64 --pin-offset", &offset]), "--pin-offset")
        };
        assert!(hint(wrong) && !hint(right), "{archive}");
    }
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn pictures_of_real_designs() {
    let out = tempfile::tempdir().unwrap();
    for (archive, aux) in [("simple", "simple.aux"), ("ibm01", "ibm01-cu85.aux")] {
        let folder = design_dir(archive);
        let out = out.path().join(archive);
        run(&[&"plot", &folder.join(aux), &"--out", &out]);
        check_pictures(&out, &PICTURES);
    }
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn pipelines_agree_while_ibm01_spreads() {
    let folder = design_dir("ibm01");
    let (aux, pl) = (folder.join("ibm01-cu85.aux"), folder.join("ibm01-cu85.gp.pl"));
    let table = run_json(&[&"compare", &aux, &"--pl", &pl, &"--iterations 40 --json -"]);
    let rows = table["iterations"].as_array().unwrap();
    let (first, last) =
        (number(&rows[0], "/overflow_smoothed"), number(&rows[39], "/overflow_smoothed"));
    assert!(last < 0.9 * first, "overflow from {first} to {last}");
    for side in table["summary"].as_array().unwrap() {
        let difference = number(side, "/largest_difference");
        assert!(difference < 1e-5, "{}: {difference:e}", side["pipeline"]);
        assert!((difference == 0.0) == (side["pipeline"] == "row-column"));
    }
}

/// Places a design globally from the centre of its die; the history.
fn placed(archive: &str, aux: &str, pin_offset: &str) -> (Value, Value) {
    let aux = design_dir(archive).join(aux);
    let out = tempfile::tempdir().unwrap();
    let (pl, history) = (out.path().join("out.pl"), out.path().join("history.json"));
    let base: &[&dyn Words] = &[&aux, &"--pin-offset", &pin_offset, &"--engine cpu"];
    run(&[&"place", &base, &"-o", &pl, &"--history", &history, &"--until global"]);
    let read = eval_json(&[&base, &"--pl", &pl, &"--bins 64"]);
    (json_of(history), read)
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn real_designs_are_placed() {
    // HPWL a little above what was measured (4.31e7, 2.83e8, 9.12e6, 1.91e6);
    // of ibm01 and ibm07 far below their given placements' 5.34e7 and 3.71e8.
    for (archive, aux, pin_offset, most) in [
        ("ibm01", "ibm01-cu85.aux", "lower-left", 4.45e7),
        ("ibm07", "ibm07-cu90.aux", "lower-left", 2.95e8),
        ("ibm05", "ibm05.aux", "center", 9.2e6),
        ("ibm01-ms", "ibm01.aux", "center", 1.97e6),
    ] {
        let (history, read) = placed(archive, aux, pin_offset);
        assert_eq!(history["outcome"], "converged", "{archive}");
        assert!(number(&history, "/result/overflow_smoothed") <= 0.07, "{archive}");
        assert!(number(&history, "/options/target_density") == 0.95, "{archive}");
        assert!(history["history"].as_array().unwrap().len() <= 1001, "{archive}");
        let hpwl = number(&read, "/result/hpwl");
        assert!(hpwl <= most, "{archive}: {hpwl:e}");
        // On the bins and with the sizes that the given placements' overflow is counted with.
        if pin_offset == "lower-left" {
            assert!(number(&read, "/result/overflow_exact") <= 0.25, "{archive}");
        }
    }
}

/// Names of the movable nodes in the order of a `.nodes` file without `/FIXED` places.
fn movable_names(nodes: &Path) -> Vec<String> {
    let text = text_of(nodes);
    let words = text.lines().map(|l| l.split_whitespace().collect::<Vec<_>>());
    let movable = words.filter(|w| w.len() == 3 && w[1].parse::<f64>().is_ok() && w[0] != "UCLA");
    movable.map(|w| w[0].to_owned()).collect()
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn adaptec1_agrees_with_independent_values() {
    let (golden, folder) = (golden("adaptec1_legal.json"), design_dir("adaptec1"));
    let names = movable_names(&folder.join("adaptec1.mms.nodes"));
    let index_of = |name: &str| names.iter().position(|n| n == name).unwrap();
    let (aux, maps) = (folder.join("adaptec1.mms.aux"), tempfile::tempdir().unwrap());
    for case in golden["cases"].as_array().unwrap() {
        let forces: Vec<(usize, &Value)> = case["forces"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| (index_of(f["node"].as_str().unwrap()), f))
            .collect();
        let bins = format!("{}x{}", case["bins"][0], case["bins"][1]);
        let density = case["target_density"].to_string();
        for pipeline in PIPELINES {
            for (precision, tolerance) in [("f64", 1e-9), ("f32", 1e-5)] {
                let json = eval_json(&[
                    &aux,
                    &"--bins",
                    &bins,
                    &"--target-density",
                    &density,
                    &"--pipeline",
                    &pipeline,
                    &"--precision",
                    &precision,
                    &"--maps",
                    &maps.path(),
                ]);
                let run = format!("{bins} {density} {pipeline} {precision}");
                check_scalars(&run, &json, case, tolerance);
                let read = |name: &str| {
                    let path = maps.path().join(name).with_extension("npy");
                    if precision == "f64" {
                        npy::<f64>(&path)
                    } else {
                        let (shape, values) = npy::<f32>(&path);
                        (shape, values.into_iter().map(f64::from).collect())
                    }
                };
                check_maps(&run, read, case, tolerance);
                for axis in ["force_x", "force_y"] {
                    let (_, force) = read(axis);
                    assert_eq!(force.len(), names.len());
                    let largest = force.iter().fold(0.0, |m: f64, f| m.max(f.abs()));
                    for (i, want) in &forces {
                        let want = want[axis].as_f64().unwrap();
                        close(&format!("{run}: {axis} {i}"), force[*i], want, largest, tolerance);
                    }
                }
            }
        }
    }
}

fn check_scalars(run: &str, json: &Value, case: &Value, tolerance: f64) {
    for (path, key) in [
        ("/design/movable", "movable"),
        ("/design/fixed", "fixed"),
        ("/design/movable_area", "movable_area"),
        ("/result/overflow_smoothed", "overflow_smoothed"),
        ("/density/max_smoothed", "max_smoothed"),
        ("/density/max_exact", "max_exact"),
        ("/field/energy", "energy"),
        ("/field/potential_min", "potential_min"),
        ("/field/potential_max", "potential_max"),
        ("/field/field_x_max", "field_x_max"),
        ("/field/field_y_max", "field_y_max"),
    ] {
        let want = case[key].as_f64().unwrap_or_else(|| panic!("golden {key}"));
        close(&format!("{run}: {key}"), number(json, path), want, want.abs(), tolerance);
    }
    let want = case["overflow_exact"].as_f64().unwrap();
    close(
        &format!("{run}: overflow_exact"),
        number(json, "/result/overflow_exact"),
        want,
        1.0,
        tolerance,
    );
    assert_eq!(json["design"]["die"], case["die"]);
}

fn check_maps(
    run: &str,
    read: impl Fn(&str) -> (Vec<u64>, Vec<f64>),
    case: &Value,
    tolerance: f64,
) {
    let [nx, ny] = [0, 1].map(|k| case["bins"][k].as_u64().unwrap());
    for map in ["density", "potential", "field_x", "field_y"] {
        let (shape, values) = read(map);
        assert_eq!(shape, [nx, ny], "{run}: {map}");
        let largest = values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        for sample in case["samples"].as_array().unwrap() {
            let [ix, iy] = ["ix", "iy"].map(|k| sample[k].as_u64().unwrap());
            let got = values[(ix * ny + iy) as usize];
            let want = sample[map].as_f64().unwrap();
            close(&format!("{run}: {map} at ({ix}, {iy})"), got, want, largest, tolerance);
        }
    }
}

/// `eval` of a DEF file of OpenROAD's tests, with pins where OpenROAD has them.
fn of_openroad(def: &str, lef: &str, more: &[&dyn Words]) -> Value {
    let folder = design_dir("openroad-lefdef");
    let (def, lef) = (folder.join(def), folder.join(lef));
    eval_json(&[&def, &"--lef", &lef, &"--pin-position mean --engine cpu", &more])
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn fences_of_real_designs_are_regions() {
    // The core is 11780 by 5600 units, which the fences divide along x, or along y.
    for (name, width, height) in [("fence01", 5890.0, 5600.0), ("fence03", 11780.0, 2800.0)] {
        let lef = "test/Nangate45/Nangate45.lef";
        let json = of_openroad(&format!("dpl/test/{name}.def"), lef, &[]);
        // As OpenROAD's log of the test says.
        assert_eq!((number(&json, "/result/hpwl_um") * 10.0).round(), 792.0, "{name}");
        let core = number(&json, "/design/die_um/2") - number(&json, "/design/die_um/0");
        close("core", core, 5.89, 5.89, 1e-12);
        let regions = json["regions"].as_array().unwrap();
        assert_eq!(regions.len(), 2, "{name}");
        let area: f64 = (0..2)
            .map(|k| number(&json, &format!("/regions/{k}/movable_area")))
            .inspect(|&area| assert!(area < width * height))
            .sum();
        assert_eq!(area, number(&json, "/design/movable_area"));
        for (region, fence) in regions.iter().zip(["er0", "er1"]) {
            assert_eq!((&region["fence"], &region["movable"]), (&fence.into(), &5.into()));
        }
    }
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn blockages_of_real_designs_are_taken() {
    let lef = "gpl/test/nangate45.lef";
    // 20000 × 20000 hard, and 20000 × 40000 of which cells may fill 50 %.
    let json = of_openroad("gpl/test/simple01-obs.def", lef, &[]);
    assert_eq!(number(&json, "/density/blocked_area"), 4e8 + 0.5 * 8e8);
    assert_eq!(
        (number(&json, "/design/movable_area"), json["design"]["fixed_area"].as_f64()),
        (2_279_088_000.0, Some(0.0))
    );
    // Half of the core hard, the other half soft.
    let lef = "test/Nangate45/Nangate45.lef";
    let json = of_openroad("dpl/test/blockage01.def", lef, &[]);
    assert_eq!(number(&json, "/density/blocked_area"), 2.0 * 6080.0 * 11200.0);
}
