//! Small DEF designs that legality, or the reader, once judged wrongly.

use crate::{Words, failure, json_of, placefield, run, run_json, said, text_of, texts};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Returns a file of `tests/data/cases`.
fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases").join(name)
}

/// Returns the text of a case, with what `changes` names replaced.
fn changed(name: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text_of(case(name)), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    })
}

/// Files of a test, in a folder of their own.
struct Files(TempDir);

impl Files {
    fn new() -> Files {
        Files(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }
}

fn eval(def: &Path, lef: &Path, more: &[&dyn Words]) -> Value {
    run_json(&[&"eval", &def, &"--lef", &lef, &"--engine cpu --bins 4 --legality --json -", &more])
}

/// Returns the messages of the warnings about a design.
fn warnings(def: &Path, lef: &Path) -> Vec<String> {
    let report = eval(def, lef, &[]);
    texts(&report["warnings"], "message").into_iter().map(str::to_owned).collect()
}

/// Runs a command that ends with this exit code, and returns its standard error.
fn ends_with(code: i32, args: &[&dyn Words]) -> String {
    said(&placefield(args).assert().code(code))
}

#[test]
fn routing_layers_alone_define_rails() {
    let (files, def) = (Files::new(), case("rail_good.def"));
    for lef in ["rail_nwell.lef", "rail_clean.lef"].map(case) {
        run(&[&"eval", &def, &"--lef", &lef, &"--bins 4 --engine cpu --require-legal"]);
        // The technology in a file of its own.
        let text = text_of(&lef);
        let split = text.find("MACRO S1").unwrap();
        let tech = files.write("tech.lef", &format!("{}END LIBRARY\n", &text[..split]));
        let cells = files.write("cells.lef", &text[split..]);
        let both: &[&dyn Words] = &[&"--lef", &tech, &"--lef", &cells];
        run(&[&"eval", &def, &both, &"--bins 4 --engine cpu --require-legal"]);
    }
}

#[test]
fn the_top_edge_decides_where_the_bottom_has_no_rail() {
    let (files, lef) = (Files::new(), case("top.lef"));
    let legality = eval(&case("top.def"), &lef, &[])["legality"].clone();
    assert_eq!((&legality["wrong_row"], &legality["legal"]), (&1.into(), &false.into()));
    assert_eq!(legality["worst"][0]["cells"][0], "d");
    let moved = changed("top.def", &[("( 0 2000 ) N", "( 0 4000 ) N")]);
    assert_eq!(eval(&files.write("d.def", &moved), &lef, &[])["legality"]["legal"], true);
}

/// With a library all cells must lie as their rows ask, also if none does.
#[test]
fn single_row_cells_turn_with_their_rows() {
    let (files, lef) = (Files::new(), case("a.lef"));
    let change =
        [("UNPLACED ( 400 0 ) N", "PLACED ( 400 2000 ) N"), ("UNPLACED ( 4000", "PLACED ( 4000")];
    let placed = changed("unplpt.def", &change).replace("( 4000 2000 ) FS", "( 4000 2000 ) N");
    let legality = eval(&files.write("d.def", &placed), &lef, &[])["legality"].clone();
    assert_eq!(legality["orientation"], 2);
    assert_eq!(legality["orientations_assigned"], true);
}

#[test]
fn rows_are_cut_to_the_die_area() {
    let (files, def, lef) = (Files::new(), case("rowsout.def"), case("a.lef"));
    let (out, json) = (files.path("o.def"), files.path("o.json"));
    let command: &[&dyn Words] = &[&"place", &def, &"--lef", &lef, &"-o", &out, &"--json", &json];
    // 24 of the 36 cells have room.
    ends_with(3, &[&command, &"--engine cpu"]);
    assert_eq!(json_of(&json)["failed"].as_array().unwrap().len(), 12);
    let legality = eval(&out, &lef, &[])["legality"].clone();
    assert_eq!(legality["outside_die"], 0, "{legality}");
    let rows = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with("ROW")).map(str::to_owned).collect()
    };
    assert_eq!(rows(&text_of(&out)), rows(&text_of(&def)));

    let beyond = changed("rowsout.def", &[("- c0 A1 ;", "- c0 A1 + PLACED ( 9000 0 ) N ;")]);
    let beyond = files.write("beyond.def", &beyond);
    let legality = eval(&beyond, &lef, &[])["legality"].clone();
    assert_eq!((&legality["outside_die"], &legality["unplaced"]), (&1.into(), &35.into()));
    for option in ["--require-legal", "--require-on-die"] {
        ends_with(1, &[&"eval", &beyond, &"--lef", &lef, &"--engine cpu --bins 4", &option]);
    }
}

/// A die without its upper right quarter.
#[test]
fn cells_in_the_notch_of_a_die_are_outside() {
    let (files, lef) = (Files::new(), case("a.lef"));
    let area = "DIEAREA ( 0 0 ) ( 0 8000 ) ( 4000 8000 ) ( 4000 4000 ) ( 8000 4000 ) ( 8000 0 ) ;";
    let notch = |at: &str| {
        let change = [("DIEAREA ( 0 0 ) ( 8000 8000 ) ;", area), ("( 4000 2000 ) FS", at)];
        files.write("d.def", &changed("grpu.def", &change))
    };
    let on_die: &[&dyn Words] = &[&"--lef", &lef, &"--engine cpu --bins 4 --require-on-die"];
    let legality = eval(&notch("( 4000 4000 ) N"), &lef, &[])["legality"].clone();
    assert_eq!(legality["outside_die"], 1, "{legality}");
    let told = ends_with(1, &[&"eval", &files.path("d.def"), &on_die]);
    assert!(told.contains("1 movable cells reach beyond the die area"), "{told}");
    notch("( 3200 4000 ) N");
    run(&[&"eval", &files.path("d.def"), &on_die, &"--require-legal"]);
}

#[test]
fn unplaced_components_are_a_fault_of_their_own() {
    let (files, def, lef) = (Files::new(), case("unplpt.def"), case("a.lef"));
    let legality = eval(&def, &lef, &[])["legality"].clone();
    assert_eq!((&legality["unplaced"], &legality["overlaps"]), (&2.into(), &0.into()));
    assert_eq!(legality["legal"], false);
    let warnings = warnings(&def, &lef);
    let with_position = "2 of them are UNPLACED with a position, which is ignored";
    assert!(warnings.iter().any(|w| w.contains(with_position)), "{warnings:?}");
    let out = files.path("o.def");
    let refine: &[&dyn Words] = &[&"refine", &def, &"--lef", &lef, &"-o", &out];
    let told = failure(&[&refine]);
    let want = "not legal: 2 unplaced (a): refine needs a legal placement: run `placefield \
                legalize` first";
    assert!(told.contains(want), "{told}");
    // A placement in place of the design's own has its own unplaced components.
    run(&[&"legalize", &def, &"--lef", &lef, &"-o", &out]);
    let legality = eval(&def, &lef, &[&"--pl", &out])["legality"].clone();
    assert_eq!((&legality["unplaced"], &legality["legal"]), (&0.into(), &true.into()));
    assert_eq!(eval(&out, &lef, &[&"--pl", &def])["legality"]["unplaced"], 2);
}

#[test]
fn regions_that_are_not_defined_are_named() {
    for name in ["grpu.def", "regu.def"] {
        let warnings = warnings(&case(name), &case("a.lef"));
        let named = |w: &String| w.contains("not defined") && w.contains("`nosuch`");
        assert_eq!(warnings.iter().filter(|w| named(w)).count(), 1, "{warnings:?}");
    }
}

#[test]
fn a_design_without_rows_ends_after_the_global_stage() {
    let (files, lef) = (Files::new(), case("a.lef"));
    let text = text_of(case("rowsout.def"));
    let rowless: String =
        text.lines().filter(|line| !line.starts_with("ROW")).collect::<Vec<_>>().join("\n");
    let (def, out) = (files.write("d.def", &rowless), files.path("o.def"));
    let told = ends_with(3, &[&"place", &def, &"--lef", &lef, &"-o", &out, &"--engine cpu"]);
    assert!(told.contains("no rows: place stopped after the global stage"), "{told}");
    assert!(text_of(&out).contains("PLACED"));
}

/// Members of 16 µm² in a fence of 4 µm².
#[test]
fn eval_takes_a_fence_that_its_members_overfill() {
    let (files, lef) = (Files::new(), case("a.lef"));
    let region =
        "REGIONS 1 ;\n- tight ( 0 0 ) ( 2000 2000 ) + TYPE FENCE ;\nEND REGIONS\nCOMPONENTS";
    let group =
        "GROUPS 1 ;\n- g c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 + REGION tight ;\nEND GROUPS\nNETS 36";
    let change = [("COMPONENTS 36", &*format!("{region} 36")), ("NETS 36", group)];
    let text = changed("rowsout.def", &change[..1]).replacen("NETS 36", change[1].1, 1);
    let def = files.write("d.def", &text);
    let warned = warnings(&def, &lef);
    let want = "fence `tight`: its members have more area than is free in it";
    assert!(warned.iter().any(|w| w == want), "{warned:?}");
    let out = files.path("o.def");
    let refused = failure(&[&"place", &def, &"--lef", &lef, &"-o", &out, &"--engine cpu"]);
    assert!(refused.contains("fence `tight`"), "{refused}");
}

/// A fence that its two members fill, half of it under a soft blockage.
#[test]
fn members_of_a_fence_use_its_soft_blockage_if_they_have_to() {
    let (files, lef) = (Files::new(), case("a.lef"));
    let regions = "REGIONS 1 ;\n- tight ( 0 0 ) ( 1600 2000 ) + TYPE FENCE ;\nEND REGIONS\n";
    let blockages =
        "BLOCKAGES 1 ;\n- PLACEMENT + SOFT RECT ( 800 0 ) ( 1600 2000 ) ;\nEND BLOCKAGES\n";
    let change = [
        ("COMPONENTS 2", &*format!("{regions}COMPONENTS 2")),
        ("nosuch", "tight"),
        ("GROUPS 1", &*format!("{blockages}GROUPS 1")),
    ];
    let (mut def, out) = (files.write("d.def", &changed("grpu.def", &change)), files.path("o.def"));
    for command in ["place --engine cpu", "legalize", "refine"] {
        run(&[&command, &def, &"--lef", &lef, &"-o", &out]);
        assert_eq!(eval(&out, &lef, &[])["legality"]["legal"], true, "{command}");
        if command == "legalize" {
            def = files.write("legal.def", &text_of(&out));
        }
    }
}

/// The library of `a.lef` with a filler, a tap and an end cap.
fn with_fillers() -> String {
    let text = text_of(case("a.lef"));
    let a1 = &text[text.find("MACRO A1").unwrap()..text.find("END LIBRARY").unwrap()];
    let of = |name: &str, class: &str| a1.replace("A1", name).replace("CLASS CORE ;", class);
    let kinds = [
        ("FILL", "CLASS CORE SPACER ;"),
        ("TAP", "CLASS CORE WELLTAP ;"),
        ("CAP", "CLASS ENDCAP PRE ;"),
    ];
    let more: String = kinds.iter().map(|(name, class)| of(name, class)).collect();
    text.replace("END LIBRARY", &format!("{more}END LIBRARY"))
}

#[test]
fn fillers_are_left_out_and_taps_stay() {
    let files = Files::new();
    let lef = files.write("a.lef", &with_fillers());
    let components = "- a A1 + PLACED ( 400 0 ) N ;\n- b A1 + PLACED ( 800 0 ) N ;\n\
                      - f FILL + PLACED ( 1600 0 ) N ;\n- g FILL + FIXED ( 3200 0 ) N ;\n\
                      - h FILL ;\n- t TAP + PLACED ( 0 2000 ) FS ;\n\
                      - e CAP + PLACED ( 7200 0 ) N ;\n";
    let text = changed(
        "grpu.def",
        &[
            ("- a A1 + PLACED ( 400 0 ) N ;\n", components),
            ("- b A1 + PLACED ( 4000 2000 ) FS ;\n", ""),
        ],
    );
    let (def, out) = (files.write("d.def", &text), files.path("o.def"));
    let report = eval(&def, &lef, &[]);
    let design = &report["design"];
    assert_eq!((&design["movable"], &design["movable_area"]), (&2.into(), &3.2e6.into()));
    // The one that is fixed stays.
    assert_eq!(design["fixed_area"], 4.8e6);
    let message = "2 filler cells (CLASS CORE SPACER) are left out";
    assert!(warnings(&def, &lef).iter().any(|w| w.contains(message)), "{}", report["warnings"]);

    let legalize: &[&dyn Words] = &[&"legalize", &def, &"--lef", &lef, &"-o", &out];
    let told = ends_with(0, &[&legalize]);
    assert!(told.contains(message), "{told}");
    let written = text_of(&out);
    for line in [
        "- f FILL + UNPLACED ;",
        "- g FILL + FIXED ( 3200 0 ) N ;",
        "- h FILL ;",
        "- t TAP + PLACED ( 0 2000 ) FS ;",
        "- e CAP + PLACED ( 7200 0 ) N ;",
    ] {
        assert!(written.contains(line), "{line} in {written}");
    }
    assert_eq!(eval(&out, &lef, &[])["legality"]["legal"], true);
    // As a placement of the first file, in which `f` has a place.
    assert_eq!(eval(&def, &lef, &[&"--pl", &out])["legality"]["legal"], true);

    ends_with(0, &[&legalize, &"--keep-fillers"]);
    let written = text_of(&out);
    assert!(!written.contains("UNPLACED") && written.contains("- h FILL + PLACED"), "{written}");
    assert_eq!(eval(&out, &lef, &[&"--keep-fillers"])["design"]["movable"], 4);
    let aux = files.path("c.aux");
    run(&[&"convert", &def, &"--lef", &lef, &aux]);
    assert!(
        text_of(files.path("c.nodes")).contains("\n f")
            || text_of(files.path("c.nodes")).contains("f\t")
    );
}

#[test]
fn gaps_of_one_site_are_reported_if_asked_for() {
    let (files, lef) = (Files::new(), case("a.lef"));
    let change = [("( 4000 2000 ) FS", "( 1600 0 ) N"), ("( 400 0 ) N", "( 400 0 ) N")];
    let def = files.write("d.def", &changed("grpu.def", &change));
    assert_eq!(eval(&def, &lef, &[])["legality"]["legal"], true);
    let legality = eval(&def, &lef, &[&"--no-one-site-gaps"])["legality"].clone();
    // From the row's end to `a`, and from `a` to `b`.
    assert_eq!(legality["one_site_gap"], 2, "{legality}");
    assert_eq!(legality["legal"], false);
}

#[test]
fn statements_of_lef_that_are_passed_over_are_counted() {
    let files = Files::new();
    let more = "VIA v DEFAULT\n LAYER m1 ;\n RECT 0 0 1 1 ;\nEND v\nMACRO A1\n FOREIGN x ;";
    let lef = text_of(case("a.lef")).replacen("MACRO A1", more, 1);
    let lef = files.write("a.lef", &lef);
    let skipped = eval(&case("grpu.def"), &lef, &[])["design"]["lef"]["skipped"].clone();
    assert_eq!(skipped, serde_json::json!({"MACRO FOREIGN": 1, "PIN DIRECTION": 2, "VIA": 1}));
}
