//! `legalize` and `place` on small designs, each of which stands for a kind; limits on how far
//! cells may go, and stopping.

use crate::tiny::Tiny;
use crate::{Words, json_of, placefield, run, run_json, said, text_of};
use serde_json::{Value, json};
use std::path::PathBuf;
use tempfile::TempDir;

/// The files of `tests/data/cases`.
const FILES: [(&str, &str); 14] = [
    ("a.lef", include_str!("../data/cases/a.lef")),
    ("flip.def", include_str!("../data/cases/flip.def")),
    ("halo.lef", include_str!("../data/cases/halo.lef")),
    ("halo3.def", include_str!("../data/cases/halo3.def")),
    ("mixed.lef", include_str!("../data/cases/mixed.lef")),
    ("rail_clean.lef", include_str!("../data/cases/rail_clean.lef")),
    ("rail_good.def", include_str!("../data/cases/rail_good.def")),
    ("rail_nwell.lef", include_str!("../data/cases/rail_nwell.lef")),
    ("rowsout.def", include_str!("../data/cases/rowsout.def")),
    ("top.def", include_str!("../data/cases/top.def")),
    ("top.lef", include_str!("../data/cases/top.lef")),
    ("turn.def", include_str!("../data/cases/turn.def")),
    ("turn.lef", include_str!("../data/cases/turn.lef")),
    ("wide6.def", include_str!("../data/cases/wide6.def")),
];

/// A DEF and a LEF file in a folder of their own.
struct Case {
    folder: TempDir,
    lef: &'static str,
}

impl Case {
    /// The DEF file is that of [`FILES`] with some words changed.
    fn new(def: &str, lef: &'static str, changes: &[(&str, &str)]) -> Case {
        let of = |name: &str| FILES.iter().find(|(file, _)| *file == name).expect("a file").1;
        let case = Case { folder: tempfile::tempdir().unwrap(), lef };
        let mut text = of(def).to_owned();
        for (from, to) in changes {
            assert!(text.contains(from), "{def}: no {from}");
            text = text.replace(from, to);
        }
        std::fs::write(case.file("in.def"), text).unwrap();
        std::fs::write(case.file(lef), of(lef)).unwrap();
        case
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a command on a DEF file of the folder. Returns the exit code, and its JSON.
    fn run(&self, command: &str, def: &str, more: &[&dyn Words]) -> (i32, Value) {
        let (def, lef, json) = (self.file(def), self.file(self.lef), self.file("s.json"));
        let args: &[&dyn Words] = &[&command, &def, &"--lef", &lef, &"--json", &json, &more];
        let output = placefield(args).output().unwrap();
        (output.status.code().expect("an exit code"), json_of(json))
    }

    /// Legalizes into `out.def`.
    fn legalize(&self, more: &str) -> (i32, Value) {
        self.run("legalize", "in.def", &[&"-o", &self.file("out.def"), &more])
    }

    /// Returns the exit code and the legality that `eval --require-legal` finds.
    fn eval(&self, def: &str) -> (i32, Value) {
        let (code, report) = self.run("eval", def, &[&"--require-legal --engine cpu"]);
        (code, report["legality"].clone())
    }

    /// Returns where `out.def` has its components: name, x, y, orientation.
    fn placed(&self) -> Vec<(String, i64, i64, String)> {
        let text = text_of(self.file("out.def"));
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines = text.lines().map(words).filter(|words| words.first().is_some_and(|w| w == "-"));
        lines
            .filter_map(|words| {
                let at = words.iter().position(|word| word == "(")?;
                words[at - 1].ends_with("ED").then_some(())?;
                let number = |k: usize| words[at + k].parse().unwrap();
                Some((words[1].clone(), number(1), number(2), words[at + 4].clone()))
            })
            .collect()
    }

    fn place_of(&self, name: &str) -> (i64, i64, String) {
        let found = self.placed().into_iter().find(|(other, ..)| other == name);
        let (_, x, y, orientation) = found.expect("it is placed");
        (x, y, orientation)
    }

    /// Legalizes, which must succeed, and returns the places of some cells.
    fn legal<const N: usize>(&self, names: [&str; N]) -> [(i64, i64, String); N] {
        let (code, report) = self.legalize("");
        assert_eq!((code, &report["legality"]["legal"]), (0, &json!(true)), "{report:#}");
        let (code, legality) = self.eval("out.def");
        assert_eq!(code, 0, "{legality:#}");
        names.map(|name| self.place_of(name))
    }
}

fn at(x: i64, y: i64, orientation: &str) -> (i64, i64, String) {
    (x, y, orientation.to_owned())
}

#[test]
fn turned_blocks_are_placed_by_the_size_they_have() {
    let case = Case::new("turn.def", "turn.lef", &[]);
    let want = [at(4000, 6000, "E"), at(14000, 6000, "N"), at(30000, 30000, "FS")];
    assert_eq!(case.legal(["ra", "rb", "s"]), want);
}

#[test]
fn legal_blocks_stay_as_they_lie() {
    let case = Case::new("flip.def", "turn.lef", &[]);
    let want = [at(4000, 6000, "N"), at(20000, 6000, "N"), at(30000, 30000, "FS")];
    assert_eq!(case.legal(["ra", "rb", "s"]), want);
}

#[test]
fn halos_of_movable_blocks_are_kept_free() {
    for (block, height) in [("TALL3", 6000), ("TALL5", 10000)] {
        let case = Case::new("halo3.def", "halo.lef", &[("TALL3", block)]);
        let [(x, y, _)] = case.legal(["k"]);
        for (name, left, bottom, _) in case.placed().iter().filter(|(name, ..)| name != "k") {
            let beside = left + 800 <= x - 1000 || x + 7000 <= *left;
            let above = bottom + 2000 <= y - 1000 || y + height + 1000 <= *bottom;
            assert!(beside || above, "{name} of {block}");
        }
    }
}

#[test]
fn six_cells_that_fit_are_placed() {
    Case::new("wide6.def", "mixed.lef", &[]).legal([]);
}

#[test]
fn no_cell_is_placed_beyond_the_die_area() {
    let case = Case::new("rowsout.def", "a.lef", &[]);
    let out = case.file("out.def");
    let (code, report) = case.run("place", "in.def", &[&"--engine cpu -o", &out]);
    assert!(code == 0 || code == 3, "{code}");
    assert_eq!(report["legality"]["outside_die"], 0, "{}", report["legality"]);
    let placed = case.placed();
    let outside: Vec<_> =
        placed.iter().filter(|(_, x, y, _)| x + 800 > 8000 || y + 2000 > 8000).collect();
    assert_eq!((placed.len(), outside.len()), (36, 0), "{outside:?}");

    // On a row and on a site, which the die area does not hold.
    let case = Case::new("rowsout.def", "a.lef", &[("c0 A1 ;", "c0 A1 + PLACED ( 9000 0 ) N ;")]);
    let (code, legality) = case.eval("in.def");
    assert_eq!((code, &legality["outside_die"]), (1, &json!(1)), "{legality:#}");
}

#[test]
fn shapes_on_routing_layers_alone_are_rails() {
    for lef in ["rail_clean.lef", "rail_nwell.lef"] {
        let case = Case::new("rail_good.def", lef, &[]);
        let (code, legality) = case.eval("in.def");
        assert_eq!(code, 0, "{lef}: {legality:#}");
        let want = [at(0, 4000, "N"), at(4000, 2000, "N"), at(6000, 0, "N")];
        assert_eq!(case.legal(["d", "e", "s"]), want, "{lef}");
        // One row higher the rails are the other way round.
        let wrong = [("( 0 4000 )", "( 0 6000 )")];
        let (code, legality) = Case::new("rail_good.def", lef, &wrong).eval("in.def");
        assert_eq!((code, &legality["wrong_row"]), (1, &json!(1)), "{lef}: {legality:#}");
    }
}

#[test]
fn without_a_rail_at_the_bottom_the_top_decides() {
    let case = Case::new("top.def", "top.lef", &[]);
    let (code, legality) = case.eval("in.def");
    assert_eq!((code, &legality["wrong_row"]), (1, &json!(1)), "{legality:#}");
    let [(_, y, _), s] = case.legal(["d", "s"]);
    assert!(y % 4000 == 0, "{y}");
    assert_eq!(s, at(6000, 0, "N"));
}

#[test]
fn cells_beyond_the_largest_displacement_are_named() {
    // Of three cells one has to move, by 200 of a row of 2000.
    let case = Case::new("flip.def", "turn.lef", &[]);
    let (code, report) = case.legalize("--max-displacement 0.1");
    assert_eq!((code, report.get("failed")), (0, None));
    let far = json!({
        "cell": "s", "distance": 200.0, "distance_um": 0.2, "rows": 0.1,
        "from": [30500.0, 31100.0], "from_um": [30.5, 31.1],
        "to": [30400.0, 31000.0], "to_um": [30.4, 31.0],
    });
    assert_eq!(report["displacement"]["farthest"], json!([far]));
    let (code, report) = case.legalize("--max-displacement 0.09");
    assert_eq!((code, &report["failed"][0]["cell"]), (3, &json!("s")), "{report:#}");
    assert_eq!(report["failed"].as_array().unwrap().len(), 1);
    let (def, lef, out) = (case.file("in.def"), case.file("turn.lef"), case.file("out.def"));
    let args: &[&dyn Words] = &[&"legalize", &def, &"--lef", &lef, &"-o", &out];
    let text = run(&[&args]);
    assert!(text.contains("  s by 0.200000 µm (0.100 rows): (30.5, 31.1) -> (30.4, 31)\n"));
    let assert = placefield(&[&args, &"--max-displacement 0"]).assert().code(3);
    assert!(said(&assert).contains("no legal place was found for `s`: "), "{}", said(&assert));
    for wrong in ["-1", "far", "nan"] {
        placefield(&[&args, &"--max-displacement", &wrong]).assert().code(2);
    }
}

#[test]
fn gaps_of_one_site_are_left_where_they_are_allowed() {
    // The second cell begins one site behind the first, which is two sites wide.
    let second = "- s S1 + PLACED ( 30000 30000 ) FS ;\n- t S1 + PLACED ( 31200 30000 ) FS ;";
    let changes =
        [("- s S1 + PLACED ( 30100 30100 ) FS ;", second), ("COMPONENTS 3 ;", "COMPONENTS 4 ;")];
    let case = Case::new("flip.def", "turn.lef", &changes);
    let want = [at(30000, 30000, "FS"), at(31200, 30000, "FS")];
    assert_eq!(case.legal(["s", "t"]), want);
    let (code, report) = case.legalize("--no-one-site-gaps");
    let [s, t] = ["s", "t"].map(|name| case.place_of(name));
    let is_gap = s.1 == t.1 && [s.0 + 1200, s.0 - 1200].contains(&t.0);
    // Who leaves the gap says so.
    assert_eq!((code, is_gap), if report["failed"].is_null() { (0, false) } else { (3, true) });
}

#[test]
fn out_of_time_the_placement_so_far_is_written() {
    let case = Case::new("turn.def", "turn.lef", &[]);
    let (code, report) = case.legalize("--time-limit 0");
    assert_eq!((code, &report["stages"]["legal"]["status"]), (3, &json!("stopped")));
    assert_eq!(case.place_of("ra"), at(4100, 6100, "E"));
    let (_, report) = case.legalize("--time-limit 1000");
    assert_eq!(report["stages"]["legal"]["status"], "converged");
}

#[test]
fn place_tells_the_farthest_cells_and_keeps_to_limits() {
    let tiny = Tiny::new();
    let (aux, out) = (tiny.aux(), tiny.folder().join("out.pl"));
    let args: &[&dyn Words] = &[&"place", &aux, &"-o", &out, &"--engine cpu --json -"];
    let report = run_json(&[&args]);
    let moved = &report["displacement"];
    let farthest = moved["farthest"].as_array().unwrap();
    assert!((1..=10).contains(&farthest.len()));
    assert_eq!(farthest[0]["distance"], moved["max"]);
    assert_eq!(farthest[0]["rows"], moved["rows"]["max"]);
    assert_eq!(report["stages"]["legal"]["status"], "converged");
    let limited = placefield(&[&args, &"--max-displacement 0"]).assert().code(3);
    let report: Value = serde_json::from_slice(&limited.get_output().stdout).unwrap();
    assert!(report["failed"].as_array().is_some_and(|failed| !failed.is_empty()), "{report:#}");
}
