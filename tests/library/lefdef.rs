//! Real LEF and DEF files: what OpenROAD counted and measured of them, what Si2's own reader
//! printed, and that nothing else changes when placements are written.

use crate::common::design_dir;
use placefield::design::{BlockageKind, Design, NodeKind};
use placefield::grid::Rect;
use placefield::lefdef::{
    Loaded, PinPosition, ReadOptions, read_design, read_placement, write_placement,
};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

fn read(def: &Path, lef: &[PathBuf], position: PinPosition) -> Loaded {
    let options = ReadOptions::default().pin_position(position).lef(lef);
    let loaded = read_design(def, &options).unwrap_or_else(|e| panic!("{e}"));
    loaded.design.check().unwrap_or_else(|e| panic!("{}: {e}", def.display()));
    loaded
}

/// A DEF file, its LEF files and what is known of it.
struct Case {
    name: String,
    def: PathBuf,
    lef: Vec<PathBuf>,
    known: serde_json::Value,
}

/// The pairs of OpenROAD's tests, with what OpenROAD logged of them.
fn cases() -> Vec<Case> {
    let root = design_dir("openroad-lefdef");
    let text = fs::read_to_string(root.join("cases.json")).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let case = |known: &serde_json::Value| {
        let name = known["def"].as_str().unwrap().to_owned();
        let lef = known["lef"].as_array().unwrap().iter();
        Case {
            def: root.join(&name),
            lef: lef.map(|lef| root.join(lef.as_str().unwrap())).collect(),
            known: known.clone(),
            name,
        }
    };
    all.as_array().unwrap().iter().map(case).collect()
}

fn adaptec1() -> (PathBuf, Vec<PathBuf>) {
    let dir = design_dir("adaptec1-sky130hd");
    let lef = ["sky130hd.tlef", "sky130_fd_sc_hd_merged.lef", "adaptec1_macro.lef"];
    (dir.join("adaptec1.finish.def"), lef.map(|lef| dir.join(lef)).to_vec())
}

fn aes() -> (PathBuf, Vec<PathBuf>) {
    let dir = design_dir("aes-asap7-ispd26");
    let lef = fs::read_dir(dir.join("lef")).unwrap().map(|entry| entry.unwrap().path());
    let mut lef: Vec<PathBuf> = lef.collect();
    lef.sort();
    (dir.join("contest.def"), lef)
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn openroads_counts_are_met() {
    let cases = cases();
    assert_eq!(cases.len(), 273);
    let mut compared = 0;
    for Case { name, def, lef, known } in &cases {
        let of = read(def, lef, PinPosition::Center).def.unwrap();
        let mut counts = vec![
            ("components", of.components),
            ("pins", of.pins),
            ("nets", of.nets),
            ("special_nets", of.special_nets),
        ];
        // Where OpenROAD logged no nets, the connections it logged are those of supply nets.
        if known.get("nets").is_some() {
            counts.push(("connections", of.connections));
        }
        for (what, count) in counts {
            if let Some(want) = known[what].as_u64() {
                assert_eq!(count, want, "{name}: {what}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 975);
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn wirelengths_equal_openroads_to_the_last_digit() {
    let (mut met, mut not_met) = (0, Vec::new());
    for Case { name, def, lef, known } in cases() {
        let Some(want) = known["hpwl_before_um"].as_f64() else { continue };
        let loaded = read(&def, &lef, PinPosition::Mean);
        let hpwl = loaded.design.hpwl().map_or(0.0, |hpwl| hpwl.unweighted);
        let hpwl = hpwl / loaded.def.unwrap().units;
        if format!("{hpwl:.1}") == format!("{want:.1}") {
            met += 1;
        } else {
            not_met.push(name);
        }
    }
    // Both were logged after the design had been changed.
    assert_eq!(not_met, ["grt/test/gcd.def", "rsz/test/repair_hold10.def"]);
    assert_eq!(met, 35);
}

/// The placement in `entry`, a movable component's statement: from its `+` to its orientation.
fn placement_in(entry: &str) -> Option<std::ops::Range<usize>> {
    let start = entry.find("+ PLACED").or_else(|| entry.find("+ UNPLACED"))?;
    let behind = &entry[start..];
    let length = match behind.starts_with("+ UNPLACED") {
        true => "+ UNPLACED".len(),
        false => {
            let close = behind.find(')').unwrap() + 1;
            let orientation = behind[close..].split_whitespace().next().unwrap();
            close + behind[close..].find(orientation).unwrap() + orientation.len()
        }
    };
    // And the blank behind it.
    Some(start..start + length + 1)
}

/// The text of a DEF file without the placements of movable components.
fn stripped(text: &str, design: &Design) -> String {
    let kinds = design.nodes.names.iter().zip(&design.nodes.kind);
    let movable: HashSet<&str> =
        kinds.filter(|(_, kind)| **kind == NodeKind::Movable).map(|(name, _)| name).collect();
    let (mut kept, mut inside) = (String::with_capacity(text.len()), false);
    // Each piece is a statement, its `;` included.
    for statement in text.split_inclusive(';') {
        let mut words = statement.split_whitespace();
        let (first, second) = (words.next(), words.next());
        let range = match (inside, first, second) {
            (true, Some("-"), Some(name)) if movable.contains(name) => placement_in(statement),
            _ => None,
        };
        let range = range.unwrap_or(0..0);
        kept += &statement[..range.start];
        kept += &statement[range.end..];
        let starts = statement.split_whitespace().rev().nth(2) == Some("COMPONENTS");
        inside = starts || inside && first == Some("-");
    }
    kept
}

/// Writes the design moved by a few units, and compares what was written.
fn round_trip(def: &Path, lef: &[PathBuf], out: &Path) {
    // Fillers that are left out lose their placements.
    let options = ReadOptions::default().lef(lef).keep_fillers(true);
    let mut design = read_design(def, &options).unwrap_or_else(|e| panic!("{e}")).design;
    let movable: Vec<usize> = design.movable().collect();
    for &node in &movable {
        design.placement.x[node] = design.placement.x[node].round() + 13.0;
        design.placement.y[node] = design.placement.y[node].round() - 7.0;
    }
    write_placement(out, def, &design).unwrap_or_else(|e| panic!("{e}"));
    let texts = [def, out].map(|path| String::from_utf8(fs::read(path).unwrap()).unwrap());
    let [before, after] = texts.each_ref().map(|text| stripped(text, &design));
    assert!(before == after, "{}: more than placements changed", def.display());
    let again = read_placement(out, &design.nodes, PinPosition::Center).unwrap();
    for node in movable {
        assert_eq!(again.placement.x[node], design.placement.x[node], "{}", def.display());
        assert_eq!(again.placement.y[node], design.placement.y[node], "{}", def.display());
    }
    assert_eq!(again.kind, design.nodes.kind, "{}", def.display());
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn only_placements_change_when_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.def");
    for Case { def, lef, .. } in cases() {
        round_trip(&def, &lef, &out);
    }
    for (def, lef) in [adaptec1(), aes()] {
        round_trip(&def, &lef, &out);
    }
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn adaptec1_on_sky130_has_its_published_counts() {
    let (def, lef) = adaptec1();
    let Loaded { design, def, .. } = read(&def, &lef, PinPosition::Center);
    let def = def.unwrap();
    assert_eq!((def.components, def.nets, def.connections), (201_714, 238_480, 803_352));
    assert_eq!((def.unplaced, def.rows, def.pins), (201_172, 1067, 1));
    let fixed = design.nodes.kind.iter().filter(|&&kind| kind == NodeKind::Fixed);
    assert_eq!((design.nodes.len(), fixed.count()), (201_714, 542));
    let nets = design.nets.as_ref().unwrap();
    let largest = (0..nets.len()).map(|net| nets.pins_of(net).len()).max();
    // The clock's port is not placed.
    assert_eq!((nets.len(), largest), (238_480, Some(47_806 - 1)));
    assert_eq!(design.row_height(), Some(2720.0));
    assert_eq!(design.die_area, [Rect::at(0.0, 0.0, 3_158_375.0, 3_152_270.0)]);
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn soft_blockages_and_fences_are_read() {
    let of = |name: &str| cases().into_iter().find(|case| case.name == name).unwrap();
    let case = of("dpl/test/blockage01.def");
    let design = read(&case.def, &case.lef, PinPosition::Center).design;
    let kinds: Vec<BlockageKind> = design.blockages.iter().map(|b| b.kind).collect();
    assert_eq!(kinds, [BlockageKind::Hard, BlockageKind::Soft]);
    assert_eq!(design.blockages[1].rect, Rect { xl: 9880.0, yl: 2800.0, xh: 15960.0, yh: 14000.0 });

    let fence = of("dpl/test/fence01.def");
    let design = read(&fence.def, &fence.lef, PinPosition::Center).design;
    let rects: Vec<Rect> = design.fences.iter().flat_map(|fence| fence.rects.clone()).collect();
    let want =
        [Rect::at(0.0, 0.0, 33_890.0, 61_600.0), Rect::at(33_890.0, 0.0, 33_890.0, 61_600.0)];
    assert_eq!(rects, want);
    let members = (0..design.nodes.len()).map(|node| {
        let name = design.nodes.names.get(node);
        let of = ["f0/", "f1/"].iter().position(|prefix| name.starts_with(prefix));
        (design.nodes.fence_of(node), of)
    });
    assert!(members.clone().all(|(fence, of)| fence == of));
    assert_eq!(members.filter(|(fence, _)| fence.is_some()).count(), 10);
}

/// LEF statements that Si2's DEF file needs and its LEF file lacks.
const SI2_MORE: &str = "
SITE ARRAYSITE CLASS CORE ; SIZE 16 BY 7 ; END ARRAYSITE
MACRO A CLASS CORE ; SIZE 1 BY 1 ; PIN A PORT LAYER M1 ; RECT 0 0 1 1 ; END END A END A
MACRO B CLASS CORE ; SIZE 1 BY 1 ; PIN A PORT LAYER M1 ; RECT 0 0 1 1 ; END END A END B
MACRO CHK3A CLASS RING ; SIZE 10.8 BY 28.8 ; PIN PA10 END PA10 PIN PA2 END PA2 END CHK3A
END LIBRARY\n";

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn si2s_files_are_read_as_its_own_reader_does() {
    let dir = design_dir("si2-complete-5.8");
    let folder = tempfile::tempdir().unwrap();
    let more = folder.path().join("more.lef");
    fs::write(&more, SI2_MORE).unwrap();
    let lef = [more, dir.join("complete.5.8.lef")];
    let Loaded { design, def, gcell_grid, .. } =
        read(&dir.join("complete.5.8.def"), &lef, PinPosition::Center);
    let def = def.unwrap();

    // The dump: `- NAME MACRO [+ STATUS x y O …] ;` between the headers of the sections.
    let dump =
        String::from_utf8_lossy(&fs::read(dir.join("complete.5.8.def.au")).unwrap()).into_owned();
    let section = |from: &str, to: &str| {
        let start = dump.find(from).unwrap();
        dump[start..start + dump[start..].find(to).unwrap()].to_owned()
    };
    let entries = |text: &str| {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        text.lines().filter(|line| line.starts_with("- ")).map(words).collect::<Vec<_>>()
    };
    let components = entries(&section("\nCOMPONENTS 13", "\nPINS 11"));
    assert_eq!((components.len() as u64, def.components), (43, 43));
    for (node, of) in components.iter().enumerate() {
        assert_eq!(design.nodes.names.get(node), of[1]);
        let cell = design.nodes.master[node].unwrap() as usize;
        assert_eq!(design.masters[cell].name, of[2]);
        if let [_, _, _, _, status, x, y, orientation, ..] = &of[..] {
            assert_eq!(x.parse(), Ok(design.placement.x[node]), "{of:?}");
            assert_eq!(y.parse(), Ok(design.placement.y[node]), "{of:?}");
            assert_eq!(design.placement.orientation[node].name(), orientation);
            let kind = if status == "PLACED" { NodeKind::Movable } else { NodeKind::Fixed };
            assert_eq!(design.nodes.kind[node], kind, "{of:?}");
        }
    }
    let pins = entries(&section("\nPINS 11", "\nPINPROPERTIES"));
    assert_eq!(pins.len() as u64, def.pins);
    let nets = entries(&section("\nNETS 6", "\nSCANCHAINS"));
    assert_eq!((nets.len() as u64, nets.len()), (def.nets, 12));
    let special = entries(&section("\nSPECIALNETS", "\nNETS 6"));
    assert_eq!(special.len() as u64, def.special_nets);
    let rows = dump.lines().filter(|line| line.starts_with("ROW ROW_"));
    assert_eq!(rows.count() as u64, def.rows);
    let grids: Vec<String> = gcell_grid
        .iter()
        .map(|grid| {
            format!(
                "GCELLGRID {:?} {} DO {} STEP {} ;",
                grid.axis, grid.start, grid.count, grid.step
            )
        })
        .collect();
    assert_eq!(grids.len(), 2);
    assert!(grids.iter().all(|grid| dump.lines().any(|line| line.trim_end() == grid)), "{grids:?}");

    // The rest of the file, read by eye.
    let fence = &design.fences[0];
    assert_eq!((design.fences.len(), &fence.name[..], fence.rects.len()), (1, "region1", 2));
    let inside: HashMap<&str, Option<usize>> = (0..design.nodes.len())
        .map(|node| (design.nodes.names.get(node), design.nodes.fence_of(node)))
        .collect();
    assert_eq!(
        [inside["I1"], inside["I2"], inside["I3"], inside["I4"]],
        [Some(0), Some(0), Some(0), None]
    );
    let corner = Rect { xl: 190_000.0, yl: 190_000.0, xh: 190_360.0, yh: 350_000.0 };
    assert_eq!(design.area_outside_die(&corner), corner.area());
    assert_eq!(design.halos.iter().map(|halo| halo.soft).collect::<Vec<_>>(), [false, true]);
    assert_eq!(def.blockages, 11);
}
