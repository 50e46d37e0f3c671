//! `place` on ordinary designs of few cells, each of which represents a kind.

use crate::{json_of, placefield, text_of};
use serde_json::Value;

const LEF: &str = include_str!("../data/cases/few.lef");
const FILES: [(&str, &[u8]); 6] = [
    ("few6.def", include_bytes!("../data/cases/few6.def")),
    ("bus.def", include_bytes!("../data/cases/bus.def")),
    ("lu300.def", include_bytes!("../data/cases/lu300.def")),
    ("nonets.def", include_bytes!("../data/cases/nonets.def")),
    ("pad50.def", include_bytes!("../data/cases/pad50.def")),
    ("huge.def.xz", include_bytes!("../data/cases/huge.def.xz")),
];

/// Places a file to the end, which must succeed with a legal placement. Returns the report and
/// standard error.
fn place(name: &str, more: &str) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let contents = FILES.iter().find(|(file, _)| *file == name).expect("a file").1;
    std::fs::write(file(name), contents).unwrap();
    std::fs::write(file("few.lef"), LEF).unwrap();
    let (out, json) = (file("out.def"), file("s.json"));
    let output = placefield(&[
        &"place",
        &file(name),
        &"--lef",
        &file("few.lef"),
        &"--engine cpu -o",
        &out,
        &"--json",
        &json,
        &more,
    ])
    .output()
    .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{name}: {said}");
    let report = json_of(json);
    assert_eq!(report["legality"]["legal"], true, "{name}");
    assert!(!text_of(out).contains("UNPLACED"), "{name}");
    (report, said)
}

#[test]
fn wires_of_few_cells_are_short() {
    for (name, more, most) in [
        ("few6.def", "", 15_000.0),
        ("bus.def", "", 79_700_000.0),
        ("lu300.def", "", 9_300_000.0),
        ("pad50.def", "--padding 2", 15_500_000.0),
    ] {
        let (report, _) = place(name, more);
        let hpwl = report["result"]["hpwl"].as_f64().unwrap();
        assert!(hpwl <= most, "{name}: HPWL {hpwl}");
    }
}

#[test]
fn bins_and_fillers_follow_the_cells_and_not_the_die() {
    let (report, _) = place("huge.def.xz", "");
    let bins: u64 =
        report["grid"]["bins"].as_array().unwrap().iter().flat_map(Value::as_u64).product();
    assert!(bins <= 1 << 14, "{bins} bins for 12 cells");
    let fillers = report["options"]["filler_count"].as_u64().unwrap();
    assert!(fillers <= bins, "{fillers} fillers");
}

#[test]
fn cells_without_nets_are_spread_with_a_warning() {
    let (report, said) = place("nonets.def", "");
    assert!(said.contains("no net pulls"), "{said}");
    let codes = report["warnings"].as_array().unwrap().iter().map(|warning| &warning["code"]);
    assert_eq!(codes.filter(|code| **code == "nothing_pulls").count(), 1);
}
