//! Generated designs: their statistics, their geometry, and their files.

use placefield::bookshelf::{ReadOptions, read_design};
use placefield::design::{Design, NodeKind, Orientation};
use placefield::generate::{GenerateError, Spec, generate, write_bookshelf};
use placefield::grid::Rect;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Nodes, movable, nets, pins, density % and utilisation % of the contest's table.
const TABLE: [(&str, usize, usize, usize, usize, f64, f64); 8] = [
    ("adaptec1", 211_447, 210_904, 221_142, 944_053, 75.71, 57.34),
    ("adaptec2", 255_023, 254_457, 266_009, 1_069_482, 78.56, 44.32),
    ("adaptec3", 451_650, 450_927, 466_758, 1_875_039, 74.58, 33.66),
    ("adaptec4", 496_045, 494_716, 515_951, 1_912_420, 62.67, 27.23),
    ("bigblue1", 278_164, 277_604, 284_479, 1_144_691, 54.19, 44.67),
    ("bigblue2", 557_866, 534_782, 577_235, 2_122_282, 61.80, 37.94),
    ("bigblue3", 1_096_812, 1_095_519, 1_123_170, 3_833_218, 85.65, 56.68),
    ("bigblue4", 2_177_353, 2_169_183, 2_229_886, 8_900_078, 65.30, 44.35),
];

/// Density and utilisation in percent, fixed area counted on the die only.
fn density_and_utilisation(design: &Design) -> (f64, f64) {
    let die = design.die().unwrap();
    let (mut movable, mut fixed) = (0.0, 0.0);
    for i in 0..design.nodes.len() {
        let rect = design.rect(i);
        match design.nodes.kind[i] {
            NodeKind::Movable => movable += rect.area(),
            _ => fixed += rect.overlap(&die),
        }
    }
    (100.0 * (movable + fixed) / die.area(), 100.0 * movable / (die.area() - fixed))
}

fn inside(outer: &Rect, inner: &Rect) -> bool {
    outer.xl <= inner.xl && outer.yl <= inner.yl && inner.xh <= outer.xh && inner.yh <= outer.yh
}

/// Everything that holds for any generated design.
fn check_shape(design: &Design) {
    let die = design.die().unwrap();
    let nets = design.nets.as_ref().unwrap();
    let mut pads = 0;
    let mut blocking = Vec::new();
    for i in 0..design.nodes.len() {
        let rect = design.rect(i);
        match design.nodes.kind[i] {
            NodeKind::Movable => {
                assert!(inside(&die, &rect), "cell {i} at {rect:?} leaves {die:?}");
                assert_eq!(rect.height(), 12.0);
                assert!((3.0..=77.0).contains(&design.nodes.width[i]));
                assert_eq!(design.nodes.width[i].fract(), 0.0);
            }
            NodeKind::Fixed if inside(&die, &rect) => {
                assert_eq!((rect.xl - die.xl).fract(), 0.0, "{rect:?} is off the sites");
                assert_eq!((rect.yl - die.yl) % 12.0, 0.0, "{rect:?} is off the rows");
                blocking.push(rect);
            }
            _ => {
                assert_eq!(rect.overlap(&die), 0.0, "pad {i} at {rect:?} lies on {die:?}");
                pads += 1;
                blocking.push(rect);
            }
        }
    }
    assert!(pads > 0);
    no_overlap(blocking);

    // For each node the last net that has it, counted from 1.
    let mut last_net = vec![0; design.nodes.len()];
    for e in 0..nets.len() {
        for p in nets.pins_of(e) {
            let node = nets.pin_node[p] as usize;
            let (w, h) = (design.nodes.width[node], design.nodes.height[node]);
            assert!(nets.pin_dx[p].abs() <= w / 2.0, "pin {p} is beside its node");
            assert!(nets.pin_dy[p].abs() <= h / 2.0, "pin {p} is above or below its node");
            assert!(last_net[node] <= e, "net {e} has node {node} twice");
            last_net[node] = e + 1;
        }
    }
    assert!(last_net.iter().all(|&net| net > 0), "a node is without a net");
}

/// Sweeps along x over the rectangles.
fn no_overlap(mut rects: Vec<Rect>) {
    rects.sort_by(|a, b| a.xl.total_cmp(&b.xl));
    for (i, a) in rects.iter().enumerate() {
        for b in rects[i + 1..].iter().take_while(|b| b.xl < a.xh) {
            assert_eq!(a.overlap(b), 0.0, "{a:?} and {b:?} overlap");
        }
    }
}

#[test]
fn presets_have_the_contests_statistics() {
    assert_eq!(Spec::NAMES.to_vec(), TABLE.map(|row| row.0).to_vec());
    for (name, nodes, movable, nets, pins, density, utilisation) in TABLE {
        let design = generate(&Spec::preset(name).unwrap()).unwrap();
        assert_eq!(design.name, name);
        assert_eq!(design.nodes.len(), nodes, "{name}");
        assert_eq!(design.movable().count(), movable, "{name}");
        let netlist = design.nets.as_ref().unwrap();
        assert_eq!((netlist.len(), netlist.pins()), (nets, pins), "{name}");
        let (d, u) = density_and_utilisation(&design);
        println!("{name}: density {d:.3} of {density}, utilisation {u:.3} of {utilisation}");
        assert!((d / density - 1.0).abs() < 0.01, "{name}: density {d} of {density}");
        assert!((u / utilisation - 1.0).abs() < 0.01, "{name}: utilisation {u} of {utilisation}");
        check_shape(&design);
    }
}

#[test]
fn adaptec1_looks_like_the_original() {
    let design = generate(&Spec::preset("adaptec1").unwrap()).unwrap();
    let die = design.die().unwrap();
    // The original's die is 10692 x 10680 in 890 rows.
    assert!(design.rows.len().abs_diff(890) <= 9, "{} rows", design.rows.len());
    assert!((die.width() / 10_692.0 - 1.0).abs() < 0.01, "{die:?}");
    let fixed: Vec<Rect> = (210_904..211_447).map(|i| design.rect(i)).collect();
    let (macros, pads): (Vec<Rect>, Vec<Rect>) = fixed.into_iter().partition(|r| inside(&die, r));
    assert_eq!((macros.len(), pads.len()), (63, 480));
    let wide = pads.iter().filter(|r| (r.width(), r.height()) == (432.0, 72.0)).count();
    let tall = pads.iter().filter(|r| (r.width(), r.height()) == (72.0, 432.0)).count();
    assert_eq!((wide, tall), (240, 240));
    assert!(macros.iter().any(|r| r.xl == die.xl) && macros.iter().any(|r| r.yh == die.yh));

    let cells = 210_904.0;
    let mean = design.nodes.width[..210_904].iter().sum::<f64>() / cells;
    let spread = design.nodes.width[..210_904].iter().map(|w| (w - mean).powi(2)).sum::<f64>();
    let deviation = (spread / cells).sqrt();
    // Counted in the original: 14.73 and 7.14.
    assert!((mean - 14.73).abs() < 0.1 && (deviation - 7.14).abs() < 0.3, "{mean}, {deviation}");
}

#[test]
fn nets_are_local() {
    let mut design = generate(&Spec::with_cells(20_000)).unwrap();
    let related = design.hpwl().unwrap().unweighted;
    // The same cells in the same heaps, dealt out anew: a stride coprime to the count.
    let (x, y) = (design.placement.x.clone(), design.placement.y.clone());
    for i in 0..20_000 {
        design.placement.x[i] = x[i * 7_919 % 20_000];
        design.placement.y[i] = y[i * 7_919 % 20_000];
    }
    let unrelated = design.hpwl().unwrap().unweighted;
    assert!(related < 0.5 * unrelated, "{related} against {unrelated}");
}

#[test]
fn any_number_of_cells_works() {
    for cells in [1, 2, 3, 5, 10, 77, 500, 1000, 12_345] {
        for seed in 0..20 {
            let spec = Spec::with_cells(cells).seeded(seed);
            let design = generate(&spec).unwrap_or_else(|e| panic!("{cells} cells: {e}"));
            assert_eq!(design.movable().count() as u64, cells);
            assert_eq!(design.nets.as_ref().unwrap().pins() as u64, spec.pins);
            check_shape(&design);
            if cells >= 1000 {
                let (d, u) = density_and_utilisation(&design);
                assert!((d / 75.71 - 1.0).abs() < 0.01, "{cells} cells: density {d}");
                assert!((u / 57.34 - 1.0).abs() < 0.01, "{cells} cells: utilisation {u}");
            }
        }
    }
}

#[test]
fn designs_depend_on_seed_but_not_on_threads() {
    let spec = Spec::with_cells(70_000);
    let alone = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| generate(&spec).unwrap())
    };
    let one = alone(1);
    assert_eq!(one, alone(5));
    let other = generate(&spec.clone().seeded(1)).unwrap();
    assert_ne!(one.nodes.width, other.nodes.width);
    assert_ne!(one.placement.x, other.placement.x);
    assert_ne!(one.nets.unwrap().pin_node, other.nets.unwrap().pin_node);
}

#[test]
fn impossible_designs_are_errors() {
    let error = Spec::preset("adaptec9").unwrap_err();
    assert_eq!(error, GenerateError::UnknownPreset { name: "adaptec9".into() });
    assert!(Spec::NAMES.iter().all(|name| error.to_string().contains(name)), "{error}");
    assert_eq!(generate(&Spec::with_cells(0)), Err(GenerateError::NoCells));
    for cells in [1 << 28, 1 << 40, u64::MAX] {
        let error = generate(&Spec::with_cells(cells)).unwrap_err();
        assert!(matches!(error, GenerateError::TooLarge { .. }), "{error}");
    }
    let base = Spec::with_cells(100);
    for spec in [
        Spec { density: 0.3, ..base.clone() },
        Spec { density: 1.0, ..base.clone() },
        Spec { density: f64::NAN, ..base.clone() },
        Spec { utilisation: 0.0, ..base.clone() },
        Spec { utilisation: f64::NAN, ..base.clone() },
        Spec { mean_width: f64::INFINITY, ..base.clone() },
        Spec { pins: base.nets - 1, ..base.clone() },
        Spec { macros: 0, ..base.clone() },
        Spec { utilisation: 1e-12, ..base.clone() },
    ] {
        let error = generate(&spec).unwrap_err();
        assert!(matches!(error, GenerateError::Contradiction(_)), "{spec:?}: {error}");
    }
    for spec in [
        Spec { macros: 1 << 20, ..base.clone() },
        Spec { blocks: 1 << 20, ..base.clone() },
        Spec { density: 0.99, utilisation: 0.5, ..base.clone() },
    ] {
        let error = generate(&spec).unwrap_err();
        assert!(matches!(error, GenerateError::DoesNotFit { .. }), "{spec:?}: {error}");
    }
}

#[test]
fn a_design_may_do_without_nets_or_fixed_nodes() {
    let bare = Spec {
        macros: 0,
        pads: 0,
        nets: 0,
        pins: 0,
        density: 0.6,
        utilisation: 0.6,
        ..Spec::with_cells(3000)
    };
    let design = generate(&bare).unwrap();
    assert_eq!((design.nodes.len(), design.nets.as_ref().unwrap().len()), (3000, 0));
    let (density, utilisation) = density_and_utilisation(&design);
    assert!((density - 60.0).abs() < 0.6 && density == utilisation, "{density}");
}

/// Nodes, positions and pins read from the files by the plainest of means.
fn reread(dir: &Path, name: &str) -> Reread {
    let text = |extension: &str| {
        let path = dir.join(format!("{name}.{extension}"));
        let text = fs::read_to_string(&path).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let number = |word: &str| word.parse::<f64>().unwrap();
    let nodes = text("nodes")
        .iter()
        .filter(|line| line.starts_with('\t'))
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (words[0].to_owned(), (number(words[1]), number(words[2]), words.len() == 4))
        })
        .collect();
    let places = text("pl")
        .iter()
        .filter(|line| line.contains(": N"))
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let fixed = words.get(5) == Some(&"/FIXED");
            (words[0].to_owned(), (number(words[1]), number(words[2]), fixed))
        })
        .collect();
    let mut nets: Vec<Vec<(String, char, f64, f64)>> = Vec::new();
    for line in text("nets") {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["NetDegree", ":", degree, _] => nets.push(Vec::with_capacity(degree.parse().unwrap())),
            [node, direction, ":", dx, dy] => nets.last_mut().unwrap().push((
                node.to_owned(),
                direction.parse().unwrap(),
                number(dx),
                number(dy),
            )),
            _ => {}
        }
    }
    Reread { nodes, places, nets, headers: [text("nodes"), text("nets"), text("scl")].concat() }
}

struct Reread {
    nodes: HashMap<String, (f64, f64, bool)>,
    places: HashMap<String, (f64, f64, bool)>,
    nets: Vec<Vec<(String, char, f64, f64)>>,
    headers: Vec<String>,
}

#[test]
fn files_hold_the_design_to_the_last_bit() {
    let mut design = generate(&Spec::with_cells(2000).seeded(3)).unwrap();
    design.placement.x[7] = 459.1 + 0.2; // needs all 17 digits
    design.placement.y[8] = 1e-300;
    design.nets.as_mut().unwrap().weight[5] = 2.5;
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("not/there/yet");
    let paths = write_bookshelf(&design, &deep).unwrap();
    let names: Vec<_> = paths.iter().map(|p| p.file_name().unwrap().to_str().unwrap()).collect();
    let extensions = ["nodes", "nets", "wts", "pl", "scl", "aux"];
    assert_eq!(names, extensions.map(|e| format!("cells2000.{e}")));
    assert_eq!(fs::read_dir(&deep).unwrap().count(), 6, "temporary files are left");
    assert_eq!(
        fs::read_to_string(&paths[5]).unwrap(),
        "RowBasedPlacement :  cells2000.nodes  cells2000.nets  cells2000.wts  cells2000.pl  \
         cells2000.scl\n"
    );
    assert!(fs::read_to_string(&paths[2]).unwrap().ends_with("\n\tn5\t2.5\n"));

    let read = reread(&deep, "cells2000");
    let nets = design.nets.as_ref().unwrap();
    assert_eq!((read.nodes.len(), read.places.len()), (design.nodes.len(), design.nodes.len()));
    for i in 0..design.nodes.len() {
        let name = design.nodes.names.get(i);
        let fixed = design.nodes.kind[i] == NodeKind::Fixed;
        assert_eq!(read.nodes[name], (design.nodes.width[i], design.nodes.height[i], fixed));
        assert_eq!(read.places[name], (design.placement.x[i], design.placement.y[i], fixed));
    }
    assert_eq!(read.nets.len(), nets.len());
    for (e, pins) in read.nets.iter().enumerate() {
        assert_eq!(pins.len(), nets.pins_of(e).len());
        for (p, (node, direction, dx, dy)) in nets.pins_of(e).zip(pins) {
            let index = nets.pin_node[p] as usize;
            assert_eq!(node, design.nodes.names.get(index));
            assert_eq!((*dx, *dy), (nets.pin_dx[p], nets.pin_dy[p]));
            let fixed = design.nodes.kind[index] == NodeKind::Fixed;
            let first = p == nets.net_start[e] as usize;
            assert_eq!(
                *direction,
                if fixed {
                    'B'
                } else if first {
                    'O'
                } else {
                    'I'
                }
            );
        }
    }
    let row = &design.rows[1];
    for line in [
        format!("NumNodes : \t\t{}", design.nodes.len()),
        format!("NumTerminals : \t\t{}", design.nodes.len() - 2000),
        format!("NumNets : {}", nets.len()),
        format!("NumPins : {}", nets.pins()),
        format!("NumRows : {}", design.rows.len()),
        format!("  Coordinate    :   {}", row.y),
        format!("  SubrowOrigin  :    {}\tNumSites  :  {}", row.x, row.sites),
    ] {
        assert!(read.headers.contains(&line), "no line {line:?}");
    }
}

#[test]
fn generated_designs_read_back_identically() {
    let specs = [1, 2, 333, 40_000].map(Spec::with_cells).into_iter();
    for spec in specs.chain(Spec::preset("bigblue2")) {
        let mut design = generate(&spec).unwrap();
        design.nets.as_mut().unwrap().weight[1] = 0.3;
        (design.placement.x[0], design.placement.y[0]) = (-1e-300, 1e22);
        design.nodes.kind[0] = NodeKind::FixedOverlappable;
        design.placement.orientation[0] = Orientation::FE;
        let dir = tempfile::tempdir().unwrap();
        let paths = write_bookshelf(&design, dir.path()).unwrap();
        let loaded = read_design(&paths[5], &ReadOptions::default()).unwrap();
        assert_eq!(loaded.warnings, Vec::<String>::new(), "{}", spec.name);
        assert!(loaded.design == design, "{} has changed on the way", spec.name);
    }
}

#[test]
fn unwritable_designs_leave_no_file() {
    let design = generate(&Spec::with_cells(10)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = write_bookshelf(&design, &file).unwrap_err();
    assert!(error.to_string().starts_with(file.to_str().unwrap()), "{error}");

    let out = dir.path().join("out");
    let bad_name = Design { name: "../escaped".into(), ..design.clone() };
    let error = write_bookshelf(&bad_name, &out).unwrap_err().to_string();
    assert!(error.ends_with("expected a design's name of one word, found `../escaped`"), "{error}");
    let mut unnamed = design.clone();
    let nets = unnamed.nets.as_mut().unwrap();
    nets.names = Default::default();
    (0..nets.weight.len()).for_each(|_| nets.names.push(""));
    nets.weight[2] = 3.0;
    let refused = |design: &Design, want: &str| {
        let error = write_bookshelf(design, &out).unwrap_err().to_string();
        assert!(error.ends_with(want), "{error}");
    };
    let want = "expected a name for a net with a weight, found none for net 2, of weight 3";
    refused(&unnamed, want);
    let mut nowhere = design.clone();
    (nowhere.placement.x[4], nowhere.placement.y[4]) = (0.0, f64::NAN);
    refused(&nowhere, ", found `o4` at 0 NaN");
    let mut endless = design.clone();
    endless.rows[1].x = f64::INFINITY;
    refused(&endless, "expected finite numbers, found inf of row 1");
    assert!(!out.exists());

    let unconnected = Design { nets: None, ..design };
    assert_eq!(write_bookshelf(&unconnected, &out).unwrap().len(), 4);
}
