//! `--keep-placed`: cells with a position keep it, and the others are placed beside them.

use crate::{Words, generated, json_of, placefield, run, said, text_of};
use serde_json::{Value, json};
use std::path::PathBuf;
use tempfile::TempDir;

const LEF: &str = include_str!("../data/cases/a.lef");
/// Rows, and cells in each of them.
const ROWS: usize = 8;
const COLUMNS: usize = 10;

/// A grid of cells with nets between neighbours, in a folder of its own. Every second pair of sites
/// is free.
struct Grid(TempDir);

impl Grid {
    /// `status` returns the placement of the cell at a row and a column.
    fn new(status: impl Fn(usize, usize) -> String) -> Grid {
        let (width, height) = (1600 * COLUMNS, 2000 * ROWS);
        let orientation = |row: usize| if row.is_multiple_of(2) { "N" } else { "FS" };
        let mut text = format!(
            "VERSION 5.8 ;\nDIVIDERCHAR \"/\" ;\nBUSBITCHARS \"[]\" ;\nDESIGN grid ;\n\
             UNITS DISTANCE MICRONS 1000 ;\nDIEAREA ( 0 0 ) ( {width} {height} ) ;\n"
        );
        for row in 0..ROWS {
            let (y, sites, turn) = (2000 * row, 4 * COLUMNS, orientation(row));
            text += &format!("ROW r{row} ks 0 {y} {turn} DO {sites} BY 1 STEP 400 0 ;\n");
        }
        text += &format!("COMPONENTS {} ;\n", ROWS * COLUMNS);
        for (row, column) in cells() {
            text += &format!("- c{row}_{column} A1 + {} ;\n", status(row, column));
        }
        text += &format!("END COMPONENTS\nNETS {} ;\n", 2 * ROWS * COLUMNS - ROWS - COLUMNS);
        for (row, column) in cells() {
            if column + 1 < COLUMNS {
                let next = column + 1;
                text += &format!("- h{row}_{column} ( c{row}_{column} Z ) ( c{row}_{next} A ) ;\n");
            }
            if row + 1 < ROWS {
                let next = row + 1;
                text +=
                    &format!("- v{row}_{column} ( c{row}_{column} Z ) ( c{next}_{column} A ) ;\n");
            }
        }
        text += "END NETS\nEND DESIGN\n";
        let grid = Grid(tempfile::tempdir().unwrap());
        std::fs::write(grid.file("in.def"), text).unwrap();
        std::fs::write(grid.file("a.lef"), LEF).unwrap();
        grid
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a command that writes `out.def`. Returns the exit code, its JSON and standard error.
    fn run(&self, command: &str) -> (i32, Value, String) {
        let files = ["in.def", "a.lef", "out.def", "s.json"].map(|name| self.file(name));
        let [def, lef, out, json] = &files;
        let args: &[&dyn Words] = &[&command, &def, &"--lef", &lef, &"-o", &out, &"--json", &json];
        let output = placefield(args).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code().expect("an exit code"), json_of(json), said)
    }

    /// Returns the statement of a component in a file.
    fn component(&self, file: &str, row: usize, column: usize) -> String {
        let name = format!("- c{row}_{column} ");
        let text = text_of(self.file(file));
        text.lines().find(|line| line.starts_with(&name)).expect("the component").to_owned()
    }
}

fn cells() -> impl Iterator<Item = (usize, usize)> + Clone {
    (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| (row, column)))
}

/// The place of a cell in the grid.
fn placed(row: usize, column: usize) -> String {
    let orientation = if row.is_multiple_of(2) { "N" } else { "FS" };
    format!("PLACED ( {} {} ) {orientation}", 1600 * column, 2000 * row)
}

/// Every seventh cell.
fn is_new(row: usize, column: usize) -> bool {
    (row * COLUMNS + column) % 7 == 3
}

fn some_are_new(row: usize, column: usize) -> String {
    if is_new(row, column) { "UNPLACED".to_owned() } else { placed(row, column) }
}

#[test]
fn kept_cells_stay_byte_for_byte_and_others_come_near_their_nets() {
    let whole = Grid::new(placed);
    let (_, before, _) = whole.run("legalize");
    let hpwl = before["stages"]["legal"]["hpwl"].as_f64().unwrap();
    for command in ["legalize --keep-placed", "place --engine cpu --keep-placed"] {
        let grid = Grid::new(some_are_new);
        let (code, report, said) = grid.run(command);
        assert_eq!(code, 0, "{command}: {said}");
        assert_eq!(report["legality"]["legal"], true, "{command}");
        let kept = cells().filter(|&(row, column)| !is_new(row, column));
        assert_eq!(report["kept"]["cells"], kept.clone().count(), "{command}");
        assert_eq!(report["kept"]["legality"]["legal"], true, "{command}");
        for (row, column) in kept {
            let [from, to] = ["in.def", "out.def"].map(|file| grid.component(file, row, column));
            assert_eq!(from, to, "{command}");
        }
        let is_placed = |&(row, column): &(usize, usize)| {
            grid.component("out.def", row, column).contains("+ PLACED ( ")
        };
        assert!(cells().all(|cell| is_placed(&cell)), "{command}");
        // In the places that they left, or near them.
        let stages = &report["stages"];
        let last =
            if stages["detailed"].is_null() { &stages["legal"] } else { &stages["detailed"] };
        let after = last["hpwl"].as_f64().unwrap();
        assert!(after < 1.1 * hpwl, "{command}: {after}, and {hpwl} before");
        let (def, lef) = (grid.file("out.def"), grid.file("a.lef"));
        run(&[&"eval", &def, &"--lef", &lef, &"--engine cpu --bins 4 --require-legal"]);
    }
}

#[test]
fn kept_cells_that_are_not_legal_are_named_and_stay() {
    // The first two cells overlap by one site.
    let status = |row, column| match (row, column) {
        (0, 1) => "PLACED ( 400 0 ) N".to_owned(),
        _ => some_are_new(row, column),
    };
    for command in ["legalize --keep-placed", "place --engine cpu --keep-placed"] {
        let grid = Grid::new(status);
        let (code, report, said) = grid.run(command);
        assert_eq!(code, 3, "{command}: {said}");
        assert!(
            said.contains("the cells that keep their places are not legal: 1 overlaps"),
            "{said}"
        );
        assert_eq!(report["kept"]["legality"]["overlaps"], 1, "{command}");
        assert_eq!(report["legality"]["overlaps"], 1, "{command}");
        let [from, to] = ["in.def", "out.def"].map(|file| grid.component(file, 0, 1));
        assert_eq!(from, to, "{command}");
    }
}

#[test]
fn without_the_option_new_cells_start_at_their_nets() {
    let grid = Grid::new(some_are_new);
    let (code, report, said) = grid.run("legalize");
    assert_eq!((code, &report["kept"]), (0, &Value::Null), "{said}");
    assert!(
        said.contains("11 cells without a position start at the median of their nets"),
        "{said}"
    );
    // The grid has room for them there: none is many rows away.
    assert!(report["displacement"]["rows"]["max"].as_f64().unwrap() < 4.0, "{report:#}");
}

#[test]
fn nodes_without_a_line_in_the_pl_file_are_placed() {
    let (folder, aux) = generated(400);
    let [first, some, out] = ["first.pl", "some.pl", "out.pl"].map(|name| folder.path().join(name));
    run(&[&"place", &aux, &"-o", &first, &"--engine cpu"]);
    let text = text_of(&first);
    let name = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
    let is_cell = |line: &str| name(line).starts_with('o') && !line.contains("/FIXED");
    let is_new = |line: &&str| is_cell(line) && name(line).ends_with('7');
    let kept: Vec<&str> = text.lines().filter(|line| !is_new(line)).collect();
    let new = text.lines().count() - kept.len();
    assert!(new > 10, "{new}");
    std::fs::write(&some, kept.join("\n") + "\n").unwrap();
    // The design's own file must not have them either.
    std::fs::copy(&some, aux.with_extension("pl")).unwrap();
    let report = folder.path().join("s.json");
    run(&[&"place", &aux, &"-o", &out, &"--engine cpu --keep-placed --json", &report]);
    let report = json_of(report);
    assert_eq!(report["legality"]["legal"], true);
    let moved = &report["design"]["movable"];
    assert_eq!(moved.as_u64(), Some(new as u64), "{}", report["design"]);
    let after = text_of(&out);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let after: Vec<Vec<String>> = after.lines().map(words).collect();
    for line in kept.iter().filter(|line| line.contains(':')) {
        assert!(after.contains(&words(line)), "{line}");
    }
}

#[test]
fn placements_of_some_nodes_leave_the_others_in_their_places() {
    let grid = Grid::new(placed);
    let (def, lef) = (grid.file("in.def"), grid.file("a.lef"));
    let moved = Grid::new(|row, column| match (row, column) {
        (0, 0) => "PLACED ( 800 4000 ) N".to_owned(),
        _ => placed(row, column),
    });
    let eval = |def: &PathBuf, more: &[&dyn Words]| {
        crate::eval_json(&[def, &"--lef", &lef, &"--engine cpu --bins 4", &more])
    };
    let want = eval(&moved.file("in.def"), &[])["result"]["hpwl"].clone();
    assert_ne!(want, eval(&def, &[])["result"]["hpwl"]);
    let (pl, part) = (grid.file("some.pl"), grid.file("some.def"));
    std::fs::write(&pl, "UCLA pl 1.0\nc0_0 800 4000 : N\n").unwrap();
    let some = "VERSION 5.8 ;\nDESIGN grid ;\nUNITS DISTANCE MICRONS 1000 ;\nCOMPONENTS 1 ;\n\
                - c0_0 A1 + PLACED ( 800 4000 ) N ;\nEND COMPONENTS\nEND DESIGN\n";
    std::fs::write(&part, some).unwrap();
    for file in [&pl, &part] {
        let report = eval(&def, &[&"--pl", file]);
        assert_eq!(report["result"]["hpwl"], want, "{}", file.display());
        let message = report["warnings"][0]["message"].as_str().unwrap();
        assert!(message.ends_with("79 nodes are not in it and keep the design's own positions"));
    }
    // Cells that neither file places are without a position.
    let new = Grid::new(some_are_new);
    let report = eval(&new.file("in.def"), &[&"--pl", &pl, &"--legality"]);
    assert_eq!(report["legality"]["unplaced"], 11, "{}", report["legality"]);
}

#[test]
fn given_placements_are_compared_and_unused_ones_named() {
    let grid = Grid::new(placed);
    let (code, report, said) = grid.run("place --engine cpu");
    assert_eq!(code, 0, "{said}");
    let unused = "80 of 80 movable cells have a position, which is not used: \
                  --init file starts from it, --keep-placed keeps it";
    assert!(said.contains(unused), "{said}");
    assert_eq!(report["warnings"][0]["code"], "placement_not_used");
    let (def, lef) = (grid.file("in.def"), grid.file("a.lef"));
    let eval = crate::eval_json(&[&def, &"--lef", &lef, &"--engine cpu --bins 4"]);
    assert_eq!(report["given"]["hpwl"], eval["result"]["hpwl"]);
    assert_eq!(report["given"]["hpwl_um"], eval["result"]["hpwl_um"]);
    let (_, report, said) = grid.run("place --engine cpu --init file");
    assert!(
        !said.contains("is not used") && report["given"]["hpwl"] == eval["result"]["hpwl"],
        "{said}"
    );
    // Without a position for every cell there is nothing to compare with.
    let (_, report, _) = Grid::new(some_are_new).run("place --engine cpu");
    assert_eq!(report["given"], Value::Null);
}

#[test]
fn all_cells_stay_if_all_have_a_position() {
    let grid = Grid::new(placed);
    for command in ["place --engine cpu", "legalize", "refine"] {
        let (code, report, said) = grid.run(&format!("{command} --keep-placed"));
        assert_eq!((code, &report["kept"]["cells"]), (0, &json!(ROWS * COLUMNS)), "{said}");
        for (row, column) in cells() {
            let [from, to] = ["in.def", "out.def"].map(|file| grid.component(file, row, column));
            assert_eq!(from, to, "{command}");
        }
    }
}

/// Every cell of a row lies somewhere else in it; some have no position in the design's file.
#[test]
fn refine_moves_only_cells_that_the_design_does_not_place() {
    let shuffled = |row, column| placed(row, column * 3 % COLUMNS);
    let all = Grid::new(shuffled);
    let grid = Grid::new(|row, column| match is_new(row, column) {
        true => "UNPLACED".to_owned(),
        false => shuffled(row, column),
    });
    let pl = all.file("in.def").display().to_string();
    let (code, report, said) = grid.run(&format!("refine --keep-placed --pl {pl}"));
    assert_eq!((code, &report["legality"]["legal"]), (0, &json!(true)), "{said}");
    let stays = |&(row, column): &(usize, usize)| {
        all.component("in.def", row, column) == grid.component("out.def", row, column)
    };
    let kept = cells().filter(|&(row, column)| !is_new(row, column));
    assert_eq!(report["kept"]["cells"], kept.clone().count());
    assert!(kept.clone().all(|cell| stays(&cell)));
    assert!(!cells().all(|cell| stays(&cell)), "no cell moved");
    let stages = &report["stages"];
    assert!(stages["detailed"]["hpwl"].as_f64() < stages["legal"]["hpwl"].as_f64());
}

#[test]
fn displacement_is_limited_from_the_given_placement() {
    for rows in [1.0, 2.5] {
        let grid = Grid::new(placed);
        let (code, report, said) =
            grid.run(&format!("place --engine cpu --init file --max-displacement {rows}"));
        assert_eq!((code, report.get("failed")), (0, None), "{said}");
        let (def, lef, out) = (grid.file("in.def"), grid.file("a.lef"), grid.file("out.def"));
        let json = grid.file("d.json");
        let between: &[&dyn Words] = &[&def, &out, &"--json", &json];
        run(&[&"diff", &def, &"--lef", &lef, &between, &"--engine cpu"]);
        let most =
            json_of(json)["placements"][1]["change"]["displacement"]["max"].as_f64().unwrap();
        assert!(most > 0.0 && most <= 2000.0 * rows * (1.0 + 1e-9), "{most} of {rows} rows");
    }
}

#[test]
fn legal_results_of_a_plateau_are_done_and_a_run_says_what_it_took() {
    let (folder, aux) = generated(300);
    let (out, json) = (folder.path().join("out.pl"), folder.path().join("s.json"));
    let args: &[&dyn Words] = &[&"place", &aux, &"-o", &out, &"--engine cpu --json", &json];
    let assert = placefield(&[&args, &"--stop-overflow 0.001"]).assert().code(0);
    let (report, said) = (json_of(&json), said(&assert));
    assert_eq!(report["outcome"]["status"], "plateau");
    assert!(said.contains("warning: the global stage stopped at iteration"), "{said}");
    assert!(said.contains("holds the legal placement made of it"), "{said}");
    let codes = report["warnings"].as_array().unwrap().iter().map(|warning| &warning["code"]);
    assert_eq!(codes.filter(|code| **code == json!("spread_incomplete")).count(), 1);
    assert!(report["peak_memory_bytes"].as_u64().unwrap() > 1 << 20);
    let time = |key: &str| report["timings_ms"][key].as_f64().unwrap();
    assert!(time("total") >= time("parse") + time("descent"), "{}", report["timings_ms"]);
}
