//! `eval --legality`, `--require-legal`, `--scaled-hpwl` and `diff`: what they find and say.

use crate::tiny::{Tiny, flipped_rows};
use crate::{Words, eval_json, json_of, names_in, npy, placefield, run, run_json, text_of};
use predicates::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

/// A die of 40 × 16 with 8 rows of height 2, N and FS in turn; eight cells of 4 × 2, two in each
/// of four rows, a movable macro of 6 × 4 and a fixed one.
struct Legal(Tiny);

impl Legal {
    fn new() -> Self {
        let tiny = Tiny::new();
        tiny.write("scl", flipped_rows().as_bytes());
        let mut nodes = "NumNodes : 10\nNumTerminals : 1\n".to_owned();
        let mut places = String::new();
        for i in 0..8 {
            nodes += &format!("c{i} 4 2\n");
            let orientation = if i / 2 % 2 == 0 { "N" } else { "FS" };
            places += &format!("c{i} {} {} : {orientation}\n", 4 + 6 * (i % 2), 2 * (i / 2));
        }
        tiny.write("nodes", (nodes + "big 6 4\nfix 8 7 terminal\n").as_bytes());
        tiny.write("pl", (places + "big 20 4 : N\nfix 30 3.5 : N /FIXED\n").as_bytes());
        tiny.write("nets", b"NumNets : 1\nNumPins : 2\nNetDegree : 2 n0\n c0 I\n c7 O\n");
        tiny.write("wts", b"n0 1\n");
        Legal(tiny)
    }

    /// Another placement: the design's own with one place changed.
    fn moved(&self, from: &str, to: &str) -> std::path::PathBuf {
        let text = self.0.text("pl");
        assert!(text.contains(from), "no {from:?}");
        let path = self.0.folder().join("other.pl");
        std::fs::write(&path, text.replace(from, to)).unwrap();
        path
    }
}

fn legality(args: &[&dyn Words]) -> Value {
    eval_json(&[&"--legality --bins 8", &args])["legality"].clone()
}

#[test]
fn a_legal_placement_is_clean() {
    let design = Legal::new();
    let found = legality(&[&design.0.aux()]);
    let none = json!({
        "legal": true, "overlaps": 0, "overlap_area": 0.0, "off_row": 0, "off_site": 0,
        "outside": 0, "outside_die": 0, "outside_row": 0, "orientation": 0,
        "orientations_assigned": true, "fixed_moved": 0, "fence": 0, "blocked": 0, "halo": 0,
        "wrong_row": 0, "unplaced": 0, "edge_spacing": 0, "one_site_gap": 0, "overfilled": 0,
        "worst": [],
    });
    assert_eq!(found, none);
    let printed = run(&[&"eval", &design.0.aux(), &"--bins 8 --require-legal"]);
    assert!(printed.contains("\nlegality   legal\n"), "{printed}");
    // Only where it is asked for.
    assert!(eval_json(&[&design.0.aux(), &"--bins 8"]).get("legality").is_none());
}

/// Ten faults, each alone, found by name: the key that counts it, the fault, its cells, its amount.
#[test]
fn every_planted_fault_is_found_by_name() {
    for (from, to, key, fault, cells, amount) in [
        ("c1 10 0", "c1 6 0", "overlaps", "overlap", &["c0", "c1"][..], 4.0),
        ("c7 10 6", "c7 22 6", "overlaps", "overlap", &["c7", "big"], 8.0),
        ("big 20 4", "big 25 4", "overlaps", "overlap", &["big", "fix"], 4.0),
        ("c6 4 6", "c6 4 6.5", "off_row", "off_row", &["c6"], 0.5),
        ("c2 4 2", "c2 4.25 2", "off_site", "off_site", &["c2"], 0.25),
        ("c4 4 4", "c4 -1 4", "outside_die", "outside_die", &["c4"], 2.0),
        ("c4 4 4", "c4 37 12", "outside", "outside_die", &["c4"], 2.0),
        ("big 20 4", "big 20 14", "outside_die", "outside_die", &["big"], 12.0),
        ("c2 4 2 : FS", "c2 4 2 : N", "orientation", "orientation", &["c2"], 8.0),
        ("c0 4 0 : N", "c0 4 0 : S", "orientation", "orientation", &["c0"], 8.0),
        ("fix 30 3.5", "fix 31 3", "fixed_moved", "fixed_moved", &["fix"], 1.5),
    ] {
        let design = Legal::new();
        let pl = design.moved(from, to);
        let found = legality(&[&design.0.aux(), &"--pl", &pl]);
        assert_eq!((&found[key], &found["legal"]), (&json!(1), &json!(false)), "{to}: {found}");
        let [worst] = &found["worst"].as_array().unwrap()[..] else { panic!("{to}: {found}") };
        assert_eq!((&worst["fault"], &worst["cells"]), (&json!(fault), &json!(cells)), "{to}");
        assert_eq!(worst["amount"], json!(amount), "{to}");
        assert_eq!(worst["place"].as_array().unwrap().len(), 4);
    }
    // Beyond the end of a row that is shorter than the die.
    let design = Legal::new();
    let scl = design.0.text("scl");
    let place = scl.find("Coordinate : 2\n").unwrap();
    let shorter = scl[place..].replacen("NumSites : 40", "NumSites : 12", 1);
    design.0.write("scl", format!("{}{shorter}", &scl[..place]).as_bytes());
    let found = legality(&[&design.0.aux()]);
    assert_eq!((&found["outside_row"], &found["outside"]), (&json!(1), &json!(1)));
    assert_eq!(found["worst"][0]["cells"], json!(["c3"]));
}

#[test]
fn commands_agree_on_the_area_of_cells() {
    let Legal(tiny) = Legal::new();
    let nodes = tiny.text("nodes").replace("10\nNumTerminals : 1", "12\nNumTerminals : 3");
    // Half of `out` is outside the die, and nothing stands on `ni`.
    tiny.write("nodes", (nodes + "ni 3 3 terminal_NI\nout 4 4 terminal\n").as_bytes());
    let places = tiny.text("pl") + "ni 1 1 : N /FIXED_NI\nout 38 4 : N /FIXED\n";
    tiny.write("pl", places.as_bytes());
    let (placed, converted) = (tiny.folder().join("a.pl"), tiny.folder().join("b.aux"));
    let compare = "--bins 8 --iterations 1 --json -";
    let reports = [
        eval_json(&[&tiny.aux(), &"--bins 8"]),
        run_json(&[&"legalize", &tiny.aux(), &"--json - -o", &placed]),
        run_json(&[&"convert", &tiny.aux(), &converted, &"--json -"]),
        run_json(&[&"compare", &tiny.aux(), &compare]),
    ];
    for report in reports {
        let areas = [&report["design"]["movable_area"], &report["design"]["fixed_area"]];
        assert_eq!(areas, [8.0 * 8.0 + 24.0, 8.0 * 7.0 + 2.0 * 4.0], "{}", report["command"]);
    }
}

#[test]
fn only_require_legal_fails_illegal_placements() {
    let design = Legal::new();
    let (aux, pl) = (design.0.aux(), design.moved("c1 10 0", "c1 6 0"));
    let json = design.0.folder().join("eval.json");
    let says = predicate::str::contains(
        "legality   not legal: 1 overlaps of area 4.000000e0 (c0 and c1 by 4.000000e0)",
    );
    let args: &[&dyn Words] = &[&"eval", &aux, &"--pl", &pl, &"--bins 8"];
    placefield(&[&args, &"--legality"]).assert().success().stdout(says);
    let line =
        predicate::str::contains("placefield: the placement is not legal: 1 overlaps of area");
    placefield(&[&args, &"--require-legal --json", &json]).assert().code(1).stderr(line);
    // The outputs asked for are written all the same.
    let report = json_of(json);
    assert_eq!(report["legality"]["overlaps"], 1);
}

#[test]
fn cells_fixed_in_the_designs_pl_stay_fixed() {
    let design = Legal::new();
    let nodes = design.0.text("nodes").replace("NumTerminals : 1", "NumTerminals : 0");
    design.0.write("nodes", nodes.replace(" terminal", "").as_bytes());
    let pl = design.moved("fix 30 3.5 : N /FIXED", "fix 31 3.5 : N");
    let found = legality(&[&design.0.aux(), &"--pl", &pl]);
    assert_eq!((&found["fixed_moved"], &found["off_row"]), (&json!(1), &json!(0)));
}

#[test]
fn scaled_hpwl_is_the_contests_formula() {
    let design = Legal::new();
    // Two bins of 20 × 16: 64 of cells in 320, and 24 in the 264 that the fixed cell leaves; T =
    // 0.15.
    let how = "--bins 8 --scaled-hpwl --target-density 0.15";
    let score = &eval_json(&[&design.0.aux(), &how])["scaled_hpwl"];
    assert_eq!(score["bins"], json!([2, 1]));
    let overflow = 64.0 - 0.15 * 320.0;
    let scaled = f64::powi(36.0 * 0.15 * overflow / 88.0, 2);
    let close = |key: &str, want: f64| {
        let got = score[key].as_f64().unwrap();
        assert!((got - want).abs() < 1e-9 * want, "{key}: {got} for {want}");
    };
    close("overflow_area", overflow);
    close("scaled_overflow", scaled);
    close("scaled_hpwl", score["hpwl"].as_f64().unwrap() * (1.0 + scaled / 100.0));
}

#[test]
fn pins_outside_their_cells_lead_to_a_hint() {
    let tiny = Tiny::new();
    tiny.edit("nets", "a I : 1 0", "a I : 4 2");
    tiny.edit("nets", "c I : 0 0", "c I : 2 1.5");
    let warnings =
        |more: &str| eval_json(&[&tiny.aux(), &"--bins 8", &more])["warnings"].to_string();
    let hint = warnings("");
    assert!(hint.contains("2 of 3 pins lie outside their cells (first on `a`)"), "{hint}");
    assert!(hint.contains("0 with --pin-offset lower-left"), "{hint}");
    let none = warnings("--pin-offset lower-left");
    assert!(!none.contains("pins lie outside"), "{none}");
}

#[test]
fn two_placements_are_compared() {
    let design = Legal::new();
    let aux = design.0.aux();
    let (from, folder) = (design.0.file("pl"), design.0.folder());
    // c0 goes up by 8 and right by 1, big left by 3.
    let to = design.moved("c0 4 0", "c0 5 8");
    let text = text_of(&to).replace("big 20 4", "big 17 4");
    std::fs::write(&to, text).unwrap();
    let (maps, plots) = (folder.join("maps"), folder.join("plots"));
    let sides: &[&dyn Words] = &[&from, &to];
    let outputs: &[&dyn Words] = &[&"--maps", &maps, &"--plots", &plots, &"--json -"];
    let report = run_json(&[&"diff", &aux, &sides, &"--bins 8x4 --precision f64", &outputs]);
    let [before, after] = [0, 1].map(|k| &report["placements"][k]);
    let change = &after["change"];
    let moved = &change["displacement"];
    assert_eq!(
        (&moved["cells"], &moved["moved"], &moved["turned"]),
        (&json!(9), &json!(2), &json!(0))
    );
    assert_eq!((&moved["max"], &moved["median"]), (&json!(9.0), &json!(0.0)));
    assert_eq!(
        change["farthest"][0],
        json!({
            "cell": "c0", "distance": 9.0, "rows": 4.5, "from": [6.0, 1.0], "to": [7.0, 9.0],
        })
    );
    assert_eq!(change["farthest"][1]["cell"], "big");
    // The net reaches from c0 to c7 at (12, 7): 6 + 6 before, 5 + 2 after.
    assert_eq!((&before["result"]["hpwl"], &after["result"]["hpwl"]), (&json!(12.0), &json!(7.0)));
    assert_eq!(change["hpwl"], json!(-5.0));
    // Both sides are what eval says of them.
    for (side, pl) in [(before, &from), (after, &to)] {
        let alone = eval_json(&[&aux, &"--pl", pl, &"--bins 8x4 --precision f64"]);
        for key in ["result", "density", "field"] {
            assert_eq!(side[key], alone[key], "{key}");
        }
    }
    let (shape, difference) = npy::<f64>(&maps.join("density_difference.npy"));
    assert_eq!(shape, [8, 4]);
    let (_, before) = npy::<f64>(&maps.join("density_from.npy"));
    let (_, after) = npy::<f64>(&maps.join("density_to.npy"));
    assert!((0..32).all(|i| difference[i] == after[i] - before[i]));
    // In the order of .nodes: c0 and big, the last of the nine.
    let (_, x) = npy::<f64>(&maps.join("displacement_x.npy"));
    let (_, y) = npy::<f64>(&maps.join("displacement_y.npy"));
    assert_eq!((x.len(), x[0], y[0], x[8], y[8]), (9, 1.0, 8.0, -3.0, 0.0));
    let pictures = [
        "density_from",
        "density_to",
        "density_difference",
        "displacement",
        "displacement_histogram",
    ];
    crate::pictures::check_pictures(&plots, &pictures);
    assert_eq!(names_in(&plots).len(), 2 * pictures.len());
}

#[test]
fn pictures_of_a_difference_take_options() {
    let design = Legal::new();
    let (aux, from, folder) = (design.0.aux(), design.0.file("pl"), design.0.folder());
    let (to, plots) = (design.moved("c0 4 0", "c0 5 8"), folder.join("plots"));
    let base: &[&dyn Words] = &[&"diff", &aux, &from, &to, &"--bins 8x4"];
    let drawn = |more: &str| {
        run(&[&base, &"--plots", &plots, &"--format svg", &more]);
        |name: &str| text_of(plots.join(name))
    };
    let one = "--pictures density_difference --range -0.1:0.1 --no-title";
    let svg = drawn(one)("density_difference.svg");
    assert!(svg.contains(">0.10<") && !svg.contains("difference of the densities"));
    assert_eq!(names_in(&plots), ["density_difference.svg"]);
    let moves = drawn("--pictures displacement")("displacement.svg");
    assert!(moves.contains("no cells"), "squares without cells are not said to stay");
    // Without pictures nothing can be said of them.
    placefield(&[&base, &"--scale log"]).assert().code(2);
}

/// The numbers are those of the library, of C and of Python.
#[test]
fn overflow_off_the_die_is_the_librarys() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/off_die");
    let numbers = json_of(folder.join("numbers.json"));
    let json = eval_json(&[&folder.join("t.aux"), &"--bins 8x4 --precision f64 --engine cpu"]);
    for (part, key, expected) in [
        ("result", "overflow_smoothed", "overflow"),
        ("result", "overflow_exact", "overflow"),
        ("result", "hpwl", "hpwl"),
        ("density", "clipped_area", "area_off_die"),
        ("design", "movable_area", "movable_area"),
    ] {
        let [found, expected] =
            [&json[part][key], &numbers[expected]].map(|number| number.as_f64().unwrap());
        assert!((found - expected).abs() < 1e-12 * expected, "{key}: {found}");
    }
}

#[test]
fn cells_off_the_die_count_as_overflow() {
    let tiny = Tiny::new();
    // Half of `a` is off the die; of 14 of area 4.
    tiny.edit("pl", "a 5 2", "a -2 2");
    let aux = tiny.aux();
    let json = eval_json(&[&aux, &"--bins 8x4"]);
    let number = |part: &str, key: &str| json[part][key].as_f64().unwrap();
    assert!((number("density", "overflow_off_die") - 4.0 / 14.0).abs() < 1e-12, "{json}");
    for overflow in ["overflow_exact", "overflow_smoothed"] {
        assert!(number("result", overflow) >= 4.0 / 14.0, "{json}");
    }
    let required: &[&dyn Words] = &[&"eval", &aux, &"--bins 8x4 --require-on-die"];
    let said = placefield(required).assert().code(1).get_output().clone();
    let line = String::from_utf8(said.stderr).unwrap();
    assert!(line.contains("1 movable cells are not on the die: 0 wholly, 1 partly"), "{line}");
    assert!(String::from_utf8(said.stdout).unwrap().contains("of it of cells off the die"));
    // All of them, as where a design has no placement yet.
    for (from, to) in [("a -2 2", "a -20 2"), ("c 18 5", "c 90 5"), ("b 12 4", "b 99 4")] {
        tiny.edit("pl", from, to);
    }
    assert_eq!(eval_json(&[&aux, &"--bins 8x4"])["result"]["overflow_exact"], 1.0);
    tiny.edit("pl", "a -20 2", "a 5 2");
    tiny.edit("pl", "c 90 5", "c 18 5");
    tiny.edit("pl", "b 99 4", "b 12 4");
    run(required);
}
