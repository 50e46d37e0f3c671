//! Designs in LEF and DEF: what every command makes of them, and DEF that is written.

use crate::{Words, close, eval_json, failure, json_of, placefield, run, run_json, text_of};
use predicates::prelude::predicate;
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const LEF: &str = "\
VERSION 5.8 ;
UNITS
  DATABASE MICRONS 1000 ;
END UNITS
LAYER M1
  TYPE ROUTING ;
  DIRECTION HORIZONTAL ;
  PITCH 0.2 ;
  WIDTH 0.1 ;
END M1
SITE core
  CLASS CORE ;
  SIZE 0.2 BY 2 ;
  SYMMETRY Y ;
END core
MACRO inv
  CLASS CORE ;
  ORIGIN 0 0 ;
  SIZE 0.6 BY 2 ;
  SYMMETRY X Y ;
  SITE core ;
  PIN A
    DIRECTION INPUT ;
    PORT
      LAYER M1 ;
      RECT 0 0.9 0.2 1.1 ;
    END
  END A
  PIN Y
    DIRECTION OUTPUT ;
    PORT
      LAYER M1 ;
      RECT 0.4 0.2 0.6 0.4 ;
      RECT 0.4 0.4 0.6 1.4 ;
    END
  END Y
END inv
MACRO ram
  CLASS BLOCK ;
  SIZE 4 BY 8 ;
  SYMMETRY X Y R90 ;
  PIN D
    DIRECTION INOUT ;
    PORT
      LAYER M1 ;
      RECT 0 0 0.2 0.2 ;
    END
  END D
END ram
END LIBRARY
";

/// Cells of the design.
const CELLS: usize = 120;

/// A die of 20 × 20 µm at 2000 units: ten rows of 100 sites, cells in a chain of nets that is not
/// placed, a block that lies turned, and whatever else.
fn def(sections: &str) -> String {
    let rows: String = (0..10)
        .map(|k| {
            let orientation = if k % 2 == 0 { "N" } else { "FS" };
            format!("ROW r{k} core 0 {} {orientation} DO 100 BY 1 STEP 400 0 ;\n", 4000 * k)
        })
        .collect();
    let component = |k: usize| match k {
        0 => "- u0 inv + SOURCE DIST + PLACED ( 400 0 ) N ;\r\n".to_owned(),
        k => format!("- u{k} inv + SOURCE DIST + UNPLACED ;\n"),
    };
    let components: String = (0..CELLS).map(component).collect();
    let net = |k: usize| format!("- n{k} ( u{k} Y ) ( u{} A ) ;\n", k + 1);
    let nets: String = (0..CELLS - 1).map(net).collect();
    format!(
        "# a comment\nVERSION 5.8 ;\nDESIGN chip ;\nUNITS DISTANCE MICRONS 2000 ;\n\
         DIEAREA ( 0 0 ) ( 40000 40000 ) ;\n{rows}\
         COMPONENTS {} ;\n{components}- ram1 ram + FIXED ( 20000 20000 ) W ;\nEND COMPONENTS\n\
         PINS 1 ;\n- in + NET in + DIRECTION INPUT + LAYER M1 ( 0 0 ) ( 200 200 ) + PLACED ( 0 \
         8000 ) N ;\nEND PINS\n\
         NETS {} ;\n{nets}- in ( PIN in ) ( u0 A ) ( ram1 D ) ;\nEND NETS\n{sections}END DESIGN\n",
        CELLS + 1,
        CELLS,
    )
}

/// A DEF file with these sections besides, and its LEF file, in a folder of their own.
struct Chip {
    folder: TempDir,
}

impl Chip {
    fn new(sections: &str) -> Chip {
        let chip = Chip { folder: tempfile::tempdir().unwrap() };
        std::fs::write(chip.file("chip.def"), def(sections)).unwrap();
        std::fs::write(chip.file("chip.lef"), LEF).unwrap();
        chip
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn eval(&self, more: &[&dyn Words]) -> Value {
        let (def, lef) = (self.file("chip.def"), self.file("chip.lef"));
        eval_json(&[&def, &"--lef", &lef, &"--engine cpu", &more])
    }

    /// Places into `out`.
    fn place(&self, out: &Path, more: &[&dyn Words]) -> Value {
        let (def, lef, json) = (self.file("chip.def"), self.file("chip.lef"), self.file("p.json"));
        let files: &[&dyn Words] = &[&def, &"--lef", &lef, &"-o", &out, &"--json", &json];
        run(&[&"place --until global --engine cpu", &files, &more]);
        json_of(json)
    }
}

/// DEF statements of blockages and fences.
const BLOCKED: &str = "\
BLOCKAGES 3 ;
- PLACEMENT RECT ( 0 32000 ) ( 8000 40000 ) ;
- PLACEMENT + SOFT RECT ( 8000 32000 ) ( 12000 40000 ) ;
- PLACEMENT + PARTIAL 60.0 RECT ( 32000 32000 ) ( 40000 40000 ) ;
END BLOCKAGES
";
const FENCED: &str = "\
REGIONS 1 ;
- corner ( 24000 0 ) ( 40000 12000 ) + TYPE FENCE ;
END REGIONS
GROUPS 1 ;
- g u1* + REGION corner ;
END GROUPS
";

#[test]
fn eval_reports_def_contents_and_micrometres() {
    let chip = Chip::new(BLOCKED);
    let json = chip.eval(&[&"--bins 10x10 --precision f64"]);
    let (design, def) = (&json["design"], &json["design"]["def"]);
    assert_eq!(design["name"], "chip");
    assert_eq!((&design["movable"], &design["fixed"]), (&120.into(), &2.into()));
    assert_eq!(
        (&def["components"], &def["pins"], &def["nets"]),
        (&121.into(), &1.into(), &120.into())
    );
    assert_eq!((&def["unplaced"], &def["connections"]), (&119.into(), &240.into()));
    assert_eq!((&def["version"], &def["units"]), (&"5.8".into(), &2000.0.into()));
    assert_eq!((&def["rows"], &def["blockages"]), (&10.into(), &3.into()));
    assert_eq!(design["die_um"], serde_json::json!([0.0, 0.0, 20.0, 20.0]));
    assert_eq!(json["grid"]["bin_size_um"], serde_json::json!([2.0, 2.0]));
    let number = |key: &str| json["result"][key].as_f64().unwrap();
    close("hpwl", number("hpwl_um"), number("hpwl") / 2000.0, 1.0, 1e-9);
    assert_eq!(json["options"]["row_blockage"], true);
    let text = run(&[&"eval", &chip.file("chip.def"), &"--lef", &chip.file("chip.lef")]);
    assert!(
        text.contains(" µm\n") && text.contains("DEF        version 5.8, 2000 units"),
        "{text}"
    );
}

#[test]
fn blockages_are_taken_by_their_kind() {
    let total = |sections: &str| {
        let json = Chip::new(sections).eval(&[&"--bins 10x10 --precision f64"]);
        json["density"]["total_area"].as_f64().unwrap()
    };
    // Two bins of 4000 × 4000 by two and one by two, and two by two of which 40 % are taken.
    let bins = 4.0 + 2.0 + 0.4 * 4.0;
    close("area", total(BLOCKED) - total(""), bins * 16e6, 16e6, 1e-9);
    let json = Chip::new(BLOCKED).eval(&[&"--bins 10x10"]);
    close("blocked", json["density"]["blocked_area"].as_f64().unwrap(), bins * 16e6, 16e6, 1e-9);
    // The block lies on 16000 × 8000; its halo is one unit of 2000 at its left before it is turned.
    let halo = def("").replace("ram1 ram +", "ram1 ram + HALO 2000 0 0 0 +");
    let chip = Chip::new("");
    std::fs::write(chip.file("chip.def"), halo).unwrap();
    let json = chip.eval(&[&"--bins 10x10 --precision f64"]);
    let with_halo = json["density"]["total_area"].as_f64().unwrap();
    close("halo", with_halo - total(""), 16000.0 * 2000.0, 16e6, 1e-9);
}

/// Two blocks of 4 × 8 µm that overlap: one of them on its side, none with a halo.
#[test]
fn macros_keep_distances_in_microns() {
    let blocks = "- ram1 ram + PLACED ( 12000 20000 ) W ;\n- ram2 ram + PLACED ( 22000 18000 ) N ;";
    let two = def("").replace("- ram1 ram + FIXED ( 20000 20000 ) W ;", blocks);
    let two =
        two.replace(&format!("COMPONENTS {} ;", CELLS + 1), &format!("COMPONENTS {} ;", CELLS + 2));
    let chip = Chip::new("");
    std::fs::write(chip.file("chip.def"), two).unwrap();
    let (def, lef, out) = (chip.file("chip.def"), chip.file("chip.lef"), chip.file("out.def"));
    let files: &[&dyn Words] = &[&def, &"--lef", &lef, &"-o", &out];
    let corners = || {
        let text = std::fs::read_to_string(&out).unwrap();
        let found = text.lines().filter(|line| line.starts_with("- ") && line.contains(" + "));
        let words = found.map(|line| line.split_whitespace().collect::<Vec<_>>());
        let placed = words.filter_map(|words| {
            let at = words.iter().position(|word| *word == "(")?;
            let number = |k: usize| words[at + k].parse::<f64>().ok();
            Some((words[1].to_owned(), [number(1)? / 2000.0, number(2)? / 2000.0]))
        });
        placed.collect::<std::collections::HashMap<String, [f64; 2]>>()
    };
    let sizes = |name: &str| match name {
        "ram1" => [8.0, 4.0],
        "ram2" => [4.0, 8.0],
        _ => [0.6, 2.0],
    };
    let gaps = |a: (&str, [f64; 2]), b: (&str, [f64; 2])| {
        let (of_a, of_b) = (sizes(a.0), sizes(b.0));
        [0, 1].map(|k| (b.1[k] - a.1[k] - of_a[k]).max(a.1[k] - b.1[k] - of_b[k]))
    };
    let options = "--macro-halo 0.4,2 --macro-channel 1,6";
    for command in ["legalize", "place --engine cpu"] {
        let json = run_json(&[&command, &files, &options, &"--json -"]);
        assert_eq!(json["options"]["macro_halo"], serde_json::json!([0.4, 2.0]));
        assert_eq!(json["legality"]["legal"], true);
        assert!(!json["warnings"].to_string().contains("halos"), "{}", json["warnings"]);
        let at = corners();
        assert_eq!(at.len(), CELLS + 3);
        for ram in ["ram1", "ram2"] {
            for (name, place) in at.iter().filter(|(name, _)| *name != ram && *name != "in") {
                let [dx, dy] = gaps((ram, at[ram]), (name, *place));
                let [x, y] = if name.starts_with("ram") { [1.0, 6.0] } else { [0.4, 2.0] };
                assert!(dx > x - 1e-9 || dy > y - 1e-9, "{ram} and {name}: {dx} and {dy}");
            }
        }
        run(&[&"eval", &out, &"--lef", &lef, &"--engine cpu --require-legal"]);
    }
    // Halos that leave no room, and distances that are none.
    let none: &[&dyn Words] = &[&"legalize", &files, &"--macro-halo 1e9"];
    placefield(none).assert().code(3).stderr(predicate::str::contains("no legal place was found"));
    for bad in ["-1", "1,nan", "inf", "1,2,3", "1e10", ""] {
        let bad: &[&dyn Words] = &[&"place", &files, &format!("--macro-channel={bad}")];
        placefield(bad)
            .assert()
            .code(2)
            .stderr(predicate::str::contains("expected one or two numbers"));
    }
}

#[test]
fn fences_hold_their_cells() {
    let chip = Chip::new(FENCED);
    let json = chip.eval(&[&"--bins 10x10"]);
    let regions = json["regions"].as_array().unwrap();
    assert_eq!(regions.len(), 2);
    assert_eq!((&regions[0]["fence"], &regions[1]["fence"]), (&"corner".into(), &Value::Null));
    // u1, u10 to u19, u100 to u119.
    assert_eq!((&regions[0]["movable"], &regions[1]["movable"]), (&31.into(), &89.into()));
    let out = chip.file("out.def");
    let placed = chip.place(&out, &[&"--bins 10x10 --target-density 1"]);
    let of = |json: &Value, key: &str| {
        let regions = json["regions"].as_array().unwrap().iter();
        regions.map(|region| region[key].clone()).collect::<Vec<_>>()
    };
    for key in ["fence", "movable", "movable_area", "target_density"] {
        assert_eq!(of(&placed, key), of(&json, key), "{key}");
    }
    let total = placed["result"]["overflow_smoothed"].as_f64().unwrap();
    let area = of(&placed, "movable_area").into_iter().map(|v| v.as_f64().unwrap());
    let over = of(&placed, "overflow_smoothed").into_iter().map(|v| v.as_f64().unwrap());
    let (of_all, areas) =
        area.zip(over).fold((0.0, 0.0), |(o, a), (area, of)| (o + area * of, a + area));
    assert!((of_all / areas - total).abs() < 1e-5, "{} and {total}", of_all / areas);
    let text = text_of(&out);
    let mut inside = 0;
    for line in text.lines().filter(|line| line.starts_with("- u") && line.contains(" inv ")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "PLACED").unwrap();
        let [x, y] = [at + 2, at + 3].map(|k| words[k].parse::<f64>().unwrap());
        let (x, y) = (x + 600.0, y + 2000.0);
        let member = words[1].starts_with("u1");
        let within = x > 24000.0 && y < 12000.0;
        inside += usize::from(member == within);
    }
    // A global placement: a few may lie across the edge.
    assert!(inside >= CELLS - 6, "{inside}");
}

#[test]
fn a_placed_def_differs_in_placements_alone() {
    let chip = Chip::new("");
    let (out, packed, pl) = (chip.file("out.def"), chip.file("out.def.gz"), chip.file("out.pl"));
    let placed = chip.place(&out, &[]);
    assert!(placed["result"]["hpwl_um"].as_f64().unwrap() > 0.0);
    let global = &placed["stages"]["global"];
    let [plain, microns] = ["hpwl", "hpwl_um"].map(|key| global[key].as_f64().unwrap());
    assert!((plain / 2000.0 - microns).abs() < 1e-9, "in every part");
    let strip = |text: &str| -> Vec<String> {
        let strip = |line: &str| match line.starts_with("- u") && line.contains(" inv ") {
            true => line
                .split(" + UNPLACED")
                .next()
                .unwrap()
                .split(" + PLACED")
                .next()
                .unwrap()
                .to_owned(),
            false => line.to_owned(),
        };
        text.split('\n').map(strip).collect()
    };
    let before = text_of(chip.file("chip.def"));
    let after = text_of(&out);
    assert_eq!(strip(&before), strip(&after));
    assert!(!after.contains("UNPLACED") && after.contains(") N ;\r\n"));

    chip.place(&packed, &[]);
    chip.place(&pl, &[]);
    let hpwl =
        |placement: &Path| chip.eval(&[&"--pl", &placement])["result"]["hpwl"].as_f64().unwrap();
    let want = placed["result"]["hpwl"].as_f64().unwrap();
    close("pl", hpwl(&pl), want, want, 1e-12);
    // Rounded to whole units.
    close("def", hpwl(&out), want, want, 1e-3);
    assert_eq!(hpwl(&out), hpwl(&packed));
    assert_eq!(chip.eval(&[&"--pl", &pl])["warnings"], serde_json::json!([]));
    let unplaced = &chip.eval(&[])["warnings"][0];
    assert!(
        unplaced["message"].as_str().unwrap().contains("119 components are not placed"),
        "{unplaced}"
    );

    let design: &[&dyn Words] = &[&chip.file("chip.def"), &"--lef", &chip.file("chip.lef")];
    let diff = run_json(&[&"diff", &design, &pl, &out, &"--json -"]);
    let moved = &diff["placements"][1]["change"]["displacement"];
    assert!(moved["max"].as_f64().unwrap() <= 1.0, "{moved}");
    let text = run(&[&"convert", &design, &"--pl", &pl, &chip.file("c.def")]);
    assert!(text.ends_with("c.def\n"), "{text}");
    assert_eq!(std::fs::read(chip.file("c.def")).unwrap(), std::fs::read(&out).unwrap());
}

#[test]
fn def_becomes_bookshelf_and_def_again() {
    let chip = Chip::new(BLOCKED);
    let (aux, back, lef) = (chip.file("b.aux"), chip.file("back.def"), chip.file("chip.lef"));
    let json = run_json(&[&"convert", &chip.file("chip.def"), &"--lef", &lef, &aux, &"--json -"]);
    assert_eq!(json["outputs"].as_array().unwrap().len(), 6);
    let lost = &json["lost"];
    for (what, count) in [("hard blockages", 1), ("soft blockages", 1), ("partial blockages", 1)] {
        assert_eq!(lost[what], count, "{lost}");
    }
    let listed = run(&[&"convert", &aux, &back]);
    assert_eq!(listed.lines().count(), 2);
    let hpwl = |args: &[&dyn Words]| eval_json(args)["result"]["hpwl"].as_f64().unwrap();
    let want = json["result"]["hpwl"].as_f64().unwrap();
    close("aux", hpwl(&[&aux]), want, want, 1e-12);
    close("def", hpwl(&[&back, &"--lef", &chip.file("back.lef")]), want, want, 1e-12);
}

#[test]
fn wrong_usage_of_lef_and_def_is_reported() {
    let chip = Chip::new("");
    let tiny = crate::tiny::Tiny::new();
    let (def, lef, aux) = (chip.file("chip.def"), chip.file("chip.lef"), tiny.aux());
    let lef: &dyn Words = &lef;
    let refused = |args: &[&dyn Words], want: &str| {
        let text = crate::said(&placefield(args).assert().code(2).stdout(""));
        assert!(text.contains(want), "{text}");
    };
    refused(&[&"eval", &def], "a .def design needs its LEF files: expected '--lef FILE'");
    refused(&[&"eval", &aux, &"--lef", lef], "'--lef' is for .def designs");
    refused(&[&"eval", &aux, &"--pin-position mean"], "'--pin-position' is for .def designs");
    let corner: &[&dyn Words] = &[&"eval", &def, &"--lef", lef, &"--pin-offset lower-left"];
    refused(corner, "'--pin-offset' is for .aux designs");
    refused(
        &[&"place", &aux, &"-o", &chip.file("o.def")],
        "expected a .pl file, for the design is no .def",
    );
    refused(
        &[&"place", &def, &"--lef", lef, &"-o", &chip.file("o.txt")],
        "expected a name that ends in .def or .pl",
    );
    refused(&[&"place", &def, &"--lef", lef, &"-o", &def], "is an input of the run");
    refused(&[&"place", &def, &"--lef", lef, &"-o", lef], "is an input of the run");
    refused(&[&"convert", &aux, &chip.file("o.txt")], "expected a name that ends in .aux or .def");
    let missing = failure(&[&"eval", &def, &"--lef", &chip.file("none.lef")]);
    assert!(missing.contains("none.lef: "), "{missing}");
    let swapped = failure(&[&"eval", &def, &"--lef", &def]);
    assert!(swapped.contains("chip.def:3:1: expected a statement of LEF"), "{swapped}");
}

#[test]
fn pictures_and_pages_of_a_fenced_design() {
    let chip = Chip::new(&format!("{FENCED}{BLOCKED}"));
    let (def, lef) = (chip.file("chip.def"), chip.file("chip.lef"));
    let drawn = run(&[&"plot", &def, &"--lef", &lef, &"--out", &chip.file("p"), &"--format png"]);
    assert_eq!(drawn.lines().count(), 9);
    run(&[&"report", &def, &"--lef", &lef, &"--out", &chip.file("r.html")]);
    let page = text_of(chip.file("r.html"));
    for part in ["chip", "Die, µm", "HPWL, µm", "20 × 20", "x, µm"] {
        assert!(page.contains(part), "{part}");
    }
    let maps = &crate::report::data(&page)["maps"];
    assert_eq!(maps["unit"], serde_json::json!(["µm", 2000.0]));
    assert_eq!((&maps["fences"]["total"], &maps["blockages"]["total"]), (&1.into(), &3.into()));
    // Lengths in micrometres, and the names of fences and kinds.
    let svg = "--format svg --pictures cells,density --out";
    run(&[&"plot", &def, &"--lef", &lef, &svg, &chip.file("p")]);
    for (name, parts) in [
        ("cells", &["x (µm)", ">20<", ">corner<", ">fences<", ">fixed<", ">blockages<"][..]),
        ("density", &["y (µm)", ">corner<", ">fences<"]),
    ] {
        let text = text_of(chip.file("p").join(name).with_extension("svg"));
        for part in parts {
            assert!(text.contains(part), "{name}: {part}");
        }
    }
    // A fence is outlined once, by a line and its rim; kinds have colours of their own.
    let fence = |text: &str| {
        let stroke = text.lines().find(|line| line.contains("stroke=\"#CC79A7\"")).unwrap();
        let points = stroke.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
        text.matches(points).count()
    };
    let text = |name: &str| text_of(chip.file("p").join(name).with_extension("svg"));
    let (cells, density) = (text("cells"), text("density"));
    assert_eq!([fence(&cells), fence(&density)], [2, 2]);
    for color in ["#B4B4B4", "#445566"] {
        assert!(cells.contains(&format!("fill=\"{color}\"")), "{color}");
    }
    assert!(page.contains("Fences and blockages") && page.contains("soft blockage"));
    assert!(page.contains(">corner</td>"), "the fence is listed");
    assert!(page.find(">Maps<") < page.find(">Fences and blockages<"), "maps come first");
    // Nothing is cut on a picture as wide as a column of a paper.
    run(&[&"plot", &def, &"--lef", &lef, &"--width 85 --format svg --out", &chip.file("column")]);
    for name in crate::pictures::PICTURES {
        let text = text_of(chip.file("column").join(name).with_extension("svg"));
        assert!(!text.contains('…'), "{name}");
    }
    run(&[&"compare", &def, &"--lef", &lef, &"--engine cpu --iterations 3 --bins 16"]);
}

/// A DEF file with these statements and cells (name, statement), and no nets.
fn def_of(units: u32, die: u32, statements: &str, cells: &[String], sections: &str) -> String {
    let cells: String = cells.iter().map(|cell| format!("- {cell} ;\n")).collect();
    format!(
        "VERSION 5.8 ;\nDESIGN d ;\nUNITS DISTANCE MICRONS {units} ;\n\
         DIEAREA ( 0 0 ) ( {die} {die} ) ;\n{statements}COMPONENTS {} ;\n{cells}\
         END COMPONENTS\n{sections}END DESIGN\n",
        cells.lines().count()
    )
}

#[test]
fn bins_fall_with_fences_and_cells() {
    let chip = Chip::new("");
    let bins = |text: String| {
        std::fs::write(chip.file("chip.def"), text).unwrap();
        let json = chip.eval(&[]);
        let bins = [0, 1].map(|k| json["grid"]["bins"][k].as_u64().unwrap());
        (bins[0] * bins[1], json["regions"].as_array().map_or(0, Vec::len))
    };
    let row = |y: u32| format!("ROW r{y} core 0 {y} N DO 50000 BY 1 STEP 400 0 ;\n");
    let rows = row(0) + &row(19_996_000);
    // 15 cells on 10 mm, each in a fence of its own.
    let cell = |k: u32| format!("u{k} inv + PLACED ( {} 0 ) N + REGION f{k}", 1_000_000 * k);
    let cells: Vec<String> = (0..15).map(cell).collect();
    let fence = |k: u32| {
        let x = 1_000_000 * k;
        format!("- f{k} ( {x} 0 ) ( {} 1000000 ) + TYPE FENCE ;\n", x + 900_000)
    };
    let fences =
        format!("{rows}REGIONS 15 ;\n{}END REGIONS\n", (0..15).map(fence).collect::<String>());
    let fenced = def_of(2000, 20_000_000, &fences, &cells, "");
    let (few, regions) = bins(fenced.clone());
    assert!(regions == 15 && few <= 15 * 256, "{few} bins, {regions} regions");
    // 13 cells, and a unit as coarse as a micrometre.
    let cells: Vec<String> = (0..13).map(|k| format!("u{k} inv + PLACED ( {k} 0 ) N")).collect();
    let row =
        "ROW r core 0 0 N DO 4000 BY 1 STEP 1 0 ;\nROW s core 0 3998 N DO 4000 BY 1 STEP 1 0 ;\n";
    let (few, _) = bins(def_of(1, 4000, row, &cells, ""));
    assert!(few <= 13 * 256, "{few}");
    // Bins that are asked for are refused with the option's name.
    let (def, lef) = (chip.file("chip.def"), chip.file("chip.lef"));
    let line = {
        std::fs::write(&def, &fenced).unwrap();
        failure(&[&"eval", &def, &"--lef", &lef, &"--engine cpu --bins 8192"])
    };
    assert!(line.contains("15 regions") && line.contains("--bins"), "{line}");
}

#[test]
fn rows_of_one_site_with_any_pitch_are_legalized_or_refused() {
    let chip = Chip::new("");
    let (def, lef, out) = (chip.file("chip.def"), chip.file("chip.lef"), chip.file("o.def"));
    let cells: Vec<String> =
        (0..4).map(|k| format!("u{k} inv + PLACED ( {} 4000 ) N", 1200 * k)).collect();
    let sound = |args: &[&dyn Words]| {
        let output = placefield(args).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let code = output.status.code();
        assert!(code.is_some_and(|code| code <= 3) && !said.contains("panic"), "{code:?}: {said}");
    };
    for step in [400_u32, 3_000_000, 1_000_000_000] {
        let rows = format!(
            "ROW r0 core 0 0 N DO 100 BY 1 STEP 400 0 ;\n\
             ROW r1 core 1000 4000 FS DO 1 BY 1 STEP {step} 0 ;\n"
        );
        std::fs::write(&def, def_of(2000, 40_000, &rows, &cells, "")).unwrap();
        for command in ["legalize", "place"] {
            sound(&[&command, &def, &"--lef", &lef, &"-o", &out]);
        }
    }
    let tiny = crate::tiny::Tiny::new();
    tiny.edit("scl", "Sitespacing : 1\n", "Sitespacing : 1e6\n");
    tiny.edit("scl", "NumSites : 40", "NumSites : 1");
    sound(&[&"legalize", &tiny.aux(), &"-o", &tiny.folder().join("o.pl")]);
}

#[test]
fn what_is_called_legal_is_what_the_def_holds() {
    let chip = Chip::new("");
    let (def, lef, out) = (chip.file("chip.def"), chip.file("chip.lef"), chip.file("o.def"));
    let cells: Vec<String> =
        (0..4).map(|k| format!("u{k} inv + PLACED ( {} 0 ) N", 1200 * k)).collect();
    let nets = "NETS 1 ;\n- n ( u0 A ) ( u3 A ) ;\nEND NETS\n";
    let rows = "ROW r0 core 0.5 0 N DO 100 BY 1 STEP 400 0 ;\n";
    std::fs::write(&def, def_of(2000, 40_000, rows, &cells, nets)).unwrap();
    let args: &[&dyn Words] = &[&"legalize", &def, &"--lef", &lef, &"--json", &chip.file("j")];
    let assert = placefield(&[&args, &"-o", &out]).assert().code(3);
    let said = crate::said(&assert);
    assert!(said.contains("4 cells lie between whole units and are rounded"), "{said}");
    assert_eq!(json_of(chip.file("j"))["legality"]["legal"], false);
    // A .pl file holds them.
    let pl = chip.file("o.pl");
    run(&[&args, &"-o", &pl]);
    assert_eq!(json_of(chip.file("j"))["legality"]["legal"], true);
    let refine: &[&dyn Words] = &[&"refine", &def, &"--lef", &lef, &"--pl", &pl, &"-o"];
    run(&[&refine, &chip.file("r.pl")]);
    placefield(&[&refine, &out]).assert().code(3);
    placefield(&[&"place", &def, &"--lef", &lef, &"--engine cpu -o", &out]).assert().code(3);
    run(&[&"eval", &def, &"--lef", &lef, &"--pl", &pl, &"--require-legal"]);
}

#[test]
fn pins_of_one_name_convert_to_a_design_that_reads() {
    let chip = Chip::new("");
    let (def, lef, aux) = (chip.file("chip.def"), chip.file("chip.lef"), chip.file("b.aux"));
    let pin = |x: u32| format!("- in + NET n + LAYER M1 ( 0 0 ) ( 2 2 ) + PLACED ( {x} 0 ) N ;\n");
    let pins = format!("PINS 3 ;\n{}{}{}END PINS\n", pin(0), pin(400), pin(800));
    let nets = "NETS 1 ;\n- n ( PIN in ) ( u0 A ) ;\nEND NETS\n";
    let rows = "ROW r0 core 0 0 N DO 100 BY 1 STEP 400 0 ;\n";
    let cells =
        ["u0 inv + PLACED ( 0 0 ) N".to_owned(), "in.2 inv + PLACED ( 4000 0 ) N".to_owned()];
    let text = def_of(2000, 40_000, rows, &cells, &format!("{pins}{nets}"));
    std::fs::write(&def, text).unwrap();
    let design: &[&dyn Words] = &[&def, &"--lef", &lef];
    let said = crate::said(&placefield(&[&"convert", &design, &aux]).assert().success());
    assert!(said.contains("2 nodes have the name of another and are renamed"), "{said}");
    let hpwl = |args: &[&dyn Words]| eval_json(args)["result"]["hpwl"].as_f64().unwrap();
    close("hpwl", hpwl(&[&aux]), hpwl(&[&design]), 1.0, 1e-9);
    let nodes = text_of(chip.file("b.nodes"));
    assert!(nodes.contains("\tin.3\t") && nodes.contains("\tin.4\t"), "{nodes}");
    // A pin of this name would be read as the next net.
    let cells = ["u0 inv + PLACED ( 0 0 ) N".to_owned(), "netDegree inv".to_owned()];
    let other = chip.file("other.def");
    std::fs::write(&other, def_of(2000, 40_000, rows, &cells, "")).unwrap();
    let line = failure(&[&"convert", &other, &"--lef", &lef, &chip.file("o.aux")]);
    assert!(
        line.ends_with("expected node names other than NetDegree, found `netDegree`"),
        "{line}"
    );
    // A .pl file of this design would not read back.
    let line = failure(&[&"legalize", &design, &"-o", &chip.file("o.pl")]);
    assert!(line.contains("expected each name once for a .pl file, found `in` again"), "{line}");
}

#[test]
fn designs_that_need_double_precision_are_named() {
    let chip = Chip::new("");
    let (def, lef, out) = (chip.file("chip.def"), chip.file("chip.lef"), chip.file("o.def"));
    let cells = ["u0 inv + PLACED ( 0 0 ) N".to_owned()];
    let rows = "ROW r0 core 0 0 N DO 4000000 BY 1 STEP 400 0 ;\n";
    let text = def_of(2000, 2_000_000_000, rows, &cells, "");
    std::fs::write(&def, text).unwrap();
    let design: &[&dyn Words] = &[&def, &"--lef", &lef];
    assert!(failure(&[&"eval", &design]).contains("expected --precision f64"));
    let needs = "needs --precision f64";
    for args in [
        &[&"legalize -o" as &dyn Words, &out, &design],
        &[&"convert", &design, &chip.file("b.aux")],
    ] {
        let said = crate::said(&placefield(args).assert().success());
        assert!(said.contains(needs), "{said}");
    }
    run(&[&"eval", &design, &"--precision f64 --bins 16"]);
}
