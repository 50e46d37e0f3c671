//! Designs as they lie on disk: real ones, small made-up ones, and broken ones.

use crate::common::design_dir;
use placefield::bookshelf::{Loaded, PinOffset, ReadOptions, read_design, write_pl};
use placefield::design::{Design, NodeKind, Orientation};
use placefield::grid::Rect;
use std::fs;
use std::path::{Path, PathBuf};

fn read(aux: &Path, options: &ReadOptions) -> Loaded {
    read_design(aux, options).unwrap_or_else(|e| panic!("{e}"))
}

/// Nodes, fixed nodes, nets, pins, rows.
fn counts(d: &Design) -> [usize; 5] {
    let fixed = d.nodes.kind.iter().filter(|&&k| k != NodeKind::Movable).count();
    let (nets, pins) = d.nets.as_ref().map_or((0, 0), |n| (n.len(), n.pins()));
    [d.nodes.len(), fixed, nets, pins, d.rows.len()]
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn real_designs_have_their_published_counts() {
    let designs = [
        ("adaptec1", "adaptec1.aux", [211_447, 543, 0, 0, 890]),
        ("adaptec1", "adaptec1.mms.aux", [210_967, 63, 0, 0, 890]),
        ("ibm01", "ibm01-cu85.aux", [12_028, 0, 11_507, 44_266, 132]),
        ("ibm07", "ibm07-cu90.aux", [44_811, 0, 44_394, 164_369, 233]),
        ("ibm05", "ibm05.aux", [29_347, 1_201, 28_446, 126_308, 148]),
        ("ibm01-ms", "ibm01.aux", [12_752, 246, 14_111, 50_566, 144]),
        ("intel", "intel.aux", [3_286, 545, 2_842, 9_851, 24]),
        ("simple", "simple.aux", [10, 2, 8, 26, 8]),
        ("acc64", "acc64.aux", [3_355, 576, 7_481, 20_111, 2]),
    ];
    for (archive, aux, want) in designs {
        let dir = design_dir(archive);
        let Loaded { design, bytes_read, .. } = read(&dir.join(aux), &ReadOptions::default());
        assert_eq!(counts(&design), want, "{aux}");
        assert_eq!(design.name, aux.strip_suffix(".aux").unwrap());
        assert!(bytes_read > 0);
    }
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn adaptec1_lies_where_it_is_published_to_lie() {
    let dir = design_dir("adaptec1");
    let Loaded { design, warnings, .. } = read(&dir.join("adaptec1.aux"), &ReadOptions::default());
    let die = Rect { xl: 459.0, yl: 459.0, xh: 11_151.0, yh: 11_139.0 };
    assert_eq!((design.die(), design.row_height()), (Some(die), Some(12.0)));
    // The last node of the file: a macro wider than high.
    let last = design.nodes.len() - 1;
    assert_eq!(design.nodes.names.get(last), "o211446");
    assert_eq!(design.rect(last), Rect::at(4797.0, 5451.0, 2304.0, 24.0));
    assert_eq!(design.nodes.kind[last], NodeKind::Fixed);
    assert!(design.nets.is_none());
    let absent = warnings.iter().filter(|w| w.message.contains("adaptec1.nets: no such file"));
    assert_eq!(absent.count(), 1, "{warnings:?}");
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn wirelength_of_ibm_place_is_as_published() {
    for (archive, name, want) in [("ibm01", "ibm01-cu85", 5.34e7), ("ibm07", "ibm07-cu90", 3.71e8)]
    {
        let dir = design_dir(archive);
        let pl = dir.join(format!("{name}.gp.pl"));
        let options = ReadOptions::default().placement(pl).pin_offset(PinOffset::LowerLeft);
        let aux = dir.join(format!("{name}.aux"));
        let hpwl = read(&aux, &options).design.hpwl().unwrap();
        assert!((hpwl.unweighted / want - 1.0).abs() < 2e-3, "{name}: {hpwl:?}");
        assert_eq!(hpwl.unweighted, hpwl.weighted);

        let center = read(&aux, &options.pin_offset(PinOffset::Center));
        assert_ne!(center.design.hpwl().unwrap().unweighted, hpwl.unweighted);
    }
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn rows_of_other_suites_are_read() {
    let dir = design_dir("rows");
    for (name, rows, spans) in [("adaptec3.scl", 1944, 3), ("newblue5.scl", 2130, 3)] {
        let path = dir.join(name);
        let text = fs::read(&path).unwrap();
        let file = placefield::bookshelf::parse_scl(&text, &path).unwrap();
        assert_eq!(file.content.len(), rows, "{name}");
        let mut seen: Vec<_> = file.content.iter().map(|r| (r.x as i64, r.sites)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), spans, "{name}: {seen:?}");
    }
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn real_designs_warn_once_of_each_anomaly() {
    let dir = design_dir("acc64");
    let Loaded { warnings, design, .. } = read(&dir.join("acc64.aux"), &ReadOptions::default());
    let has = |text: &str| warnings.iter().filter(|w| w.message.contains(text)).count() == 1;
    assert!(has("`acc64_GP_res` is not read"), "{warnings:?}");
    assert!(has("3350 nodes are not placed and lie at 0 0"), "{warnings:?}");
    let nets = design.nets.unwrap();
    assert_eq!(nets.weight.iter().filter(|&&w| w != 1.0).count(), 2);
    let dir = design_dir("ibm01-ms");
    let Loaded { warnings, .. } = read(&dir.join("ibm01.aux"), &ReadOptions::default());
    // Its weights are of nodes, as the contests' are.
    assert!(!warnings.iter().any(|w| w.message.contains(".wts")), "{warnings:?}");
}

/// A small design in a folder of its own.
struct Small {
    folder: tempfile::TempDir,
}

const AUX: &str = "RowBasedPlacement : d.nodes d.nets d.wts d.pl d.scl\n";
const NODES: &str = "UCLA nodes 1.0\nNumTerminals : 2\nNumNodes : 4\n\
    a 10 4\nb 6 2\nt 1 1 terminal\nni 3 5 terminal_NI\n";
const NETS: &str = "UCLA nets 1.0\nNumNets : 2\nNumPins : 4\n\
    NetDegree : 2 n0\na I : 5 2\nb O : -1 0.5\nNetDegree : 2 n1\nb\nt\n";
const WTS: &str = "UCLA wts 1.0\nn0 3\n";
const PL: &str =
    "UCLA pl 1.0\na 100 200 : N\nb 20.25 -7 : E\nt 0 50 : N\nni 1e2 1 : FS /FIXED_NI\n";
const SCL: &str = "UCLA scl 1.0\nNumRows : 1\nCoreRow Horizontal\nCoordinate : 0\nHeight : 4\n\
    Sitewidth : 1\nSitespacing : 1\nSubrowOrigin : 0 NumSites : 50\n\
    SubrowOrigin : 60 NumSites : 40\nEnd\n";

impl Small {
    fn new() -> Self {
        let small = Small { folder: tempfile::tempdir().unwrap() };
        let files = [("aux", AUX), ("nodes", NODES), ("nets", NETS), ("wts", WTS), ("pl", PL)];
        files.into_iter().chain([("scl", SCL)]).for_each(|(e, text)| small.write(e, text));
        small
    }

    fn path(&self, extension: &str) -> PathBuf {
        self.folder.path().join(format!("d.{extension}"))
    }

    fn write(&self, extension: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(extension), text).unwrap();
    }

    fn load(&self) -> Loaded {
        read(&self.path("aux"), &ReadOptions::default())
    }

    /// The message, without the folder.
    fn error(&self) -> String {
        let error = read_design(&self.path("aux"), &ReadOptions::default()).unwrap_err();
        let message = error.to_string();
        assert!(!message.contains('\n'), "{message}");
        message.replace(&format!("{}/", self.folder.path().display()), "")
    }
}

#[test]
fn a_small_design_is_read_whole() {
    let small = Small::new();
    let Loaded { design, warnings, bytes_read, files, .. } = small.load();
    assert_eq!(files, ["aux", "nodes", "pl", "scl", "nets", "wts"].map(|e| small.path(e)));
    let texts = [AUX, NODES, NETS, WTS, PL, SCL];
    assert_eq!(bytes_read, texts.iter().map(|t| t.len() as u64).sum::<u64>());
    assert!(warnings.is_empty(), "{warnings:?}");
    use NodeKind::*;
    assert_eq!(design.nodes.kind, [Movable, Movable, Fixed, FixedOverlappable]);
    assert_eq!(design.die(), Some(Rect::at(0.0, 0.0, 100.0, 4.0)));
    // `b` is turned clockwise by a quarter: 2 wide and 6 high, its centre at (21.25, -4).
    assert_eq!(design.rect(1), Rect::at(20.25, -7.0, 2.0, 6.0));
    let nets = design.nets.as_ref().unwrap();
    // Its pin at (-1, 0.5) from the centre goes to (0.5, 1).
    assert_eq!(design.pin_position(nets, 1), (21.75, -3.0));
    assert_eq!(design.pin_position(nets, 0), (110.0, 204.0));
    let n0 = (110.0 - 21.75) + (204.0 + 3.0);
    let n1 = (21.25 - 0.5) + (50.5 + 4.0);
    let hpwl = design.hpwl().unwrap();
    assert_eq!((hpwl.unweighted, hpwl.weighted), (n0 + n1, 3.0 * n0 + n1));
}

#[test]
fn pins_turn_with_their_cell() {
    // The right end of the upper edge, by eye on a cell turned each way.
    use Orientation::*;
    let turned = [
        (N, (3.0, 1.0)),
        (W, (-1.0, 3.0)),
        (S, (-3.0, -1.0)),
        (E, (1.0, -3.0)),
        (FN, (-3.0, 1.0)),
        (FW, (1.0, 3.0)),
        (FS, (3.0, -1.0)),
        (FE, (-1.0, -3.0)),
    ];
    for (orientation, want) in turned {
        assert_eq!(orientation.turn((3.0, 1.0)), want, "{orientation:?}");
        assert_eq!(orientation.swaps_axes(), want.0.abs() == 1.0, "{orientation:?}");
    }
}

/// A cell of 30 × 20 with its lower-left corner at (500, 500) and a pin at (11, 5) from its centre,
/// wired to a point at the origin. The turned offsets are those of LEF/DEF: HPWL is the sum of the
/// pin's coordinates, with (515, 510) as the centre, or (510, 515) of a cell on its side.
#[test]
fn wirelength_of_a_turned_cell_is_that_of_def() {
    let nodes = "NumNodes : 2\na 30 20\no 0 0 terminal\n";
    let nets = "NumNets : 1\nNumPins : 2\nNetDegree : 2 n\na O : 11 5\no I : 0 0\n";
    for (name, dx, dy) in [
        ("N", 11.0, 5.0),
        ("S", -11.0, -5.0),
        ("E", 5.0, -11.0),
        ("W", -5.0, 11.0),
        ("FN", -11.0, 5.0),
        ("FS", 11.0, -5.0),
        ("FE", -5.0, -11.0),
        ("FW", 5.0, 11.0),
    ] {
        let small = Small::new();
        small.write("nodes", nodes);
        small.write("nets", nets);
        small.write("wts", "");
        small.write("pl", format!("a 500 500 : {name}\no 0 0 : N\n"));
        let design = small.load().design;
        let centre =
            if ["E", "W", "FE", "FW"].contains(&name) { (510.0, 515.0) } else { (515.0, 510.0) };
        let pin = (centre.0 + dx, centre.1 + dy);
        assert_eq!(design.pin_position(design.nets.as_ref().unwrap(), 0), pin, "{name}");
        assert_eq!(design.hpwl().unwrap().unweighted, pin.0 + pin.1, "{name}");
        let netlist = placefield::wirelength::Netlist::from_design(&design, 100).unwrap();
        assert_eq!(
            (netlist.pin_x()[0], netlist.pin_y()[0]),
            (pin.0 - 500.0, pin.1 - 500.0),
            "{name}"
        );
        let want = match name {
            "FE" => 1009.0,
            "FW" => 1041.0,
            _ => continue,
        };
        assert_eq!(design.hpwl().unwrap().unweighted, want, "{name}");
    }
}

#[test]
fn nets_and_weights_may_be_absent() {
    let small = Small::new();
    fs::remove_file(small.path("wts")).unwrap();
    let Loaded { design, warnings, .. } = small.load();
    assert_eq!(design.nets.unwrap().weight, [1.0, 1.0]);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    fs::remove_file(small.path("nets")).unwrap();
    assert_eq!(small.load().warnings.len(), 2);
    small.write("aux", "RowBasedPlacement : d.nodes d.pl d.scl");
    let Loaded { design, warnings, .. } = small.load();
    assert!(design.nets.is_none() && design.hpwl().is_none());
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

#[test]
fn only_headerless_empty_weight_files_warn() {
    let small = Small::new();
    for (text, warnings) in [("", 1), (" \n\n", 1), ("UCLA wts 1.0\n# none\n", 0)] {
        small.write("wts", text);
        let loaded = small.load();
        assert_eq!(loaded.design.nets.unwrap().weight, [1.0, 1.0]);
        assert_eq!(loaded.warnings.len(), warnings, "{text:?}: {:?}", loaded.warnings);
    }
}

#[test]
fn the_pl_option_replaces_the_placement_file() {
    let small = Small::new();
    let pl = small.folder.path().join("other.pl");
    fs::write(&pl, "a 1 2 : S\n").unwrap();
    fs::remove_file(small.path("pl")).unwrap();
    let options = ReadOptions::default().placement(pl);
    let Loaded { design, warnings, .. } = read(&small.path("aux"), &options);
    assert_eq!((design.placement.x[0], design.placement.y[0]), (1.0, 2.0));
    assert_eq!(design.placement.orientation[0], Orientation::S);
    assert!(warnings[0].message.ends_with("other.pl: 3 nodes are not placed and lie at 0 0"));
}

#[test]
fn a_placement_of_some_nodes_leaves_the_others_in_their_places() {
    let small = Small::new();
    let own = small.load().design;
    let pl = small.folder.path().join("other.pl");
    fs::write(&pl, "a 1 2 : S\n").unwrap();
    let options = ReadOptions::default().placement(&pl);
    let Loaded { design, warnings, unplaced, .. } = read(&small.path("aux"), &options);
    assert_eq!((design.placement.x[0], design.placement.y[0]), (1.0, 2.0));
    assert_eq!(design.placement.x[1..], own.placement.x[1..]);
    assert_eq!(design.placement.y[1..], own.placement.y[1..]);
    assert_eq!(design.placement.orientation[1..], own.placement.orientation[1..]);
    assert_eq!((&design.nodes.kind[1..], unplaced), (&own.nodes.kind[1..], Vec::new()));
    let said = |text: &str| warnings.iter().any(|warning| warning.message.contains(text));
    assert!(said("other.pl: 3 nodes are not in it and keep the positions of "), "{warnings:?}");
    // A node that neither file has is still not placed.
    small.write("pl", PL.replace("b 20.25 -7 : E\n", ""));
    let Loaded { design, unplaced, .. } = read(&small.path("aux"), &options);
    assert_eq!((design.placement.x[1], design.placement.y[1]), (0.0, 0.0));
    assert_eq!(unplaced, [1]);
}

/// Every file compressed, some called so and some not, read as the plain ones.
#[cfg(feature = "gzip")]
#[test]
fn compressed_files_are_read_as_plain_ones() {
    use std::io::Write;
    let pack = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let small = Small::new();
    let want = small.load();
    // Named by the .aux as they are called, or as they were called before `gzip *`.
    small.write("aux", AUX.replace("d.nodes", "d.nodes.gz").replace("d.pl", "d.pl.gz"));
    for (extension, text) in [("nodes", NODES), ("pl", PL), ("scl", SCL), ("wts", WTS)] {
        fs::remove_file(small.path(extension)).unwrap();
        small.write(&format!("{extension}.gz"), pack(text));
    }
    small.write("nets", pack(NETS)); // called as if it were not compressed
    let got = small.load();
    assert_eq!(got.design, want.design);
    assert_eq!(got.bytes_read, want.bytes_read + 6);
    assert_eq!(got.files[1..3], [small.path("nodes.gz"), small.path("pl.gz")]);

    let whole = pack(SCL);
    small.write("scl.gz", &whole[..whole.len() - 3]);
    let error = small.error();
    assert!(error.starts_with("d.scl.gz: damaged gzip data: "), "{error}");
    small.write("scl.gz", pack("NumRows : x\n"));
    assert_eq!(small.error(), "d.scl.gz:1:11: expected a count, found `x`");
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_to_its_end() {
    let small = Small::new();
    let want = small.load().design;
    fs::remove_file(small.path("pl")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(small.path("pl")).status().unwrap();
    assert!(made.success());
    let pipe = small.path("pl");
    let writer = std::thread::spawn(move || fs::write(pipe, PL).unwrap());
    assert_eq!(small.load().design, want);
    writer.join().unwrap();
}

#[test]
fn placements_are_read_for_given_nodes() {
    let small = Small::new();
    let design = small.load().design;
    small.write("pl", "a 1 2 : S /FIXED\nb 3 4 : FW\n");
    let loaded = placefield::bookshelf::read_placement(&small.path("pl"), &design.nodes).unwrap();
    assert_eq!(loaded.placement.x, [1.0, 3.0, 0.0, 0.0]);
    assert_eq!(loaded.placement.orientation[1], Orientation::FW);
    use NodeKind::*;
    assert_eq!(loaded.kind, [Fixed, Movable, Fixed, FixedOverlappable]);
    assert_eq!(loaded.warnings.len(), 2, "{:?}", loaded.warnings);
    small.write("pl", "z 1 2 : S\n");
    let error = placefield::bookshelf::read_placement(&small.path("pl"), &design.nodes);
    assert!(error.unwrap_err().to_string().contains("expected a node"));
}

#[test]
fn line_ends_do_not_matter() {
    let small = Small::new();
    let want = small.load().design;
    for (extension, text) in
        [("nodes", NODES), ("nets", NETS), ("wts", WTS), ("pl", PL), ("scl", SCL)]
    {
        small.write(extension, text.replace('\n', "\r\n").replace(' ', "\t \t"));
    }
    small.write("aux", AUX.replace('\n', "\r\n"));
    assert_eq!(small.load().design, want);
}

#[test]
fn a_written_placement_reads_back_bit_for_bit() {
    let small = Small::new();
    let mut design = small.load().design;
    let values = [1.0 / 3.0, -0.0, 1e-300, -12_345_678.901_234_567, 5e-324, 1.5e300, 7.0, 0.1];
    design.placement.x.copy_from_slice(&values[..4]);
    design.placement.y.copy_from_slice(&values[4..]);
    design.nodes.kind[0] = NodeKind::Fixed;
    for chunk in Orientation::ALL.chunks(4) {
        design.placement.orientation.copy_from_slice(chunk);
        write_pl(&small.path("pl"), &design).unwrap();
        let got = small.load().design;
        assert_eq!(got, design);
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&got.placement.x), bits(&design.placement.x));
        assert_eq!(bits(&got.placement.y), bits(&design.placement.y));
    }
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn a_real_placement_survives_the_writer() {
    let dir = design_dir("ibm05");
    let options = ReadOptions::default().placement(dir.join("ibm05.dp.pl"));
    let want = read(&dir.join("ibm05.aux"), &options);
    let folder = tempfile::tempdir().unwrap();
    let pl = folder.path().join("again.pl");
    write_pl(&pl, &want.design).unwrap();
    let again = read(&dir.join("ibm05.aux"), &options.placement(pl));
    assert_eq!(again.design, want.design);
}

#[test]
fn every_broken_file_is_one_clear_error() {
    let half = |text: &str, keep: &str| text[..text.find(keep).unwrap() + keep.len()].to_owned();
    let cases: Vec<(&str, String, &str)> = vec![
        ("aux", String::new(), "d.aux:1:1: expected the name of a .nodes file, found end of file"),
        ("aux", "R : d.nodes d.scl".into(), "d.aux: expected the name of a .pl file, found none"),
        ("nodes", String::new(), "d.nodes:1:1: expected a node, found end of file"),
        (
            "nodes",
            half(NODES, "b 6"),
            "d.nodes:5:4: expected a height from 0 to 1e100, found end of file",
        ),
        (
            "nodes",
            half(NODES, "b 6 2\n"),
            "d.nodes:3:12: expected 4 nodes as the header counts, found 2",
        ),
        (
            "nodes",
            NODES.replace(": 4", ": 4000000000000"),
            "d.nodes:3:12: expected 4000000000000 nodes as the header counts, found 4",
        ),
        (
            "nodes",
            NODES.replace("b 6", "b -6"),
            "d.nodes:5:3: expected a width from 0 to 1e100, found `-6`",
        ),
        (
            "nodes",
            NODES.replace("b 6", "b NaN"),
            "d.nodes:5:3: expected a width from 0 to 1e100, found `NaN`",
        ),
        (
            "nodes",
            NODES.replace("b 6", "a 6"),
            "d.nodes:5:1: expected each node once, found `a` again (first on line 4)",
        ),
        ("pl", String::new(), "d.pl:1:1: expected the place of a node, found end of file"),
        ("pl", half(PL, "b 20."), "d.pl:3:6: expected a y coordinate, found end of file"),
        (
            "pl",
            PL.replace("b 20", "c 20"),
            "d.pl:3:1: expected a node that the .nodes file describes, found `c`",
        ),
        (
            "pl",
            PL.replace("b 20", "a 20"),
            "d.pl:3:1: expected each node once, found `a` again (first on line 2)",
        ),
        ("nets", String::new(), "d.nets:1:1: expected `NetDegree`, found end of file"),
        (
            "nets",
            half(NETS, "a I : 5 2\n"),
            "d.nets:6:1: expected pin 2 of the 2 of net `n0`, found end of file",
        ),
        (
            "nets",
            NETS.replace("b O", "zz O"),
            "d.nets:6:1: expected a node that the .nodes file describes, found `zz`",
        ),
        (
            "nets",
            NETS.replace("Pins : 4", "Pins : 5"),
            "d.nets:3:11: expected 5 pins as the header counts, found 4",
        ),
        ("wts", "n0 heavy\n".into(), "d.wts:1:4: expected a weight from 0 to 1e100, found `heavy`"),
        ("scl", String::new(), "d.scl:1:1: expected `CoreRow`, found end of file"),
        (
            "scl",
            "UCLA scl 1.0\nNumRows : 0\n".into(),
            "d.scl:3:1: expected `CoreRow`, found end of file",
        ),
        ("scl", half(SCL, "Height :"), "d.scl:5:9: expected a height above 0, found end of file"),
        (
            "scl",
            half(SCL, "40\n"),
            "d.scl:10:1: expected a key of a row or `End`, found end of file",
        ),
        (
            "scl",
            SCL.replace("Rows : 1", "Rows : 2"),
            "d.scl:2:11: expected 2 rows as the header counts, found 1",
        ),
    ];
    for (extension, text, want) in cases {
        let small = Small::new();
        small.write(extension, &text);
        assert_eq!(small.error(), want, "{text}");
    }
}

#[test]
fn a_file_cut_short_anywhere_is_noticed() {
    // The rest of `terminal_NI` or `/FIXED_NI` may be a word of its own or nothing.
    let files = [
        ("aux", AUX, ""),
        ("nodes", NODES, "terminal"),
        ("nets", NETS, ""),
        ("pl", PL, "/FIXED"),
        ("scl", SCL, ""),
    ];
    for (extension, text, word) in files {
        let small = Small::new();
        for end in 0..text.trim_end().len() {
            small.write(extension, &text[..end]);
            match read_design(&small.path("aux"), &ReadOptions::default()) {
                Err(e) => assert!(e.path == small.path(extension) || extension == "aux", "{e}"),
                Ok(loaded) if extension == "pl" => {
                    let text = text[..end].trim_end();
                    let whole = text.ends_with("FS") || text.ends_with(word);
                    assert!(whole || !loaded.warnings.is_empty(), "{text}");
                }
                Ok(_) => assert!(!word.is_empty() && text[..end].ends_with(word), "{end}"),
            }
        }
    }
}

#[test]
fn binary_junk_is_an_error_in_every_file() {
    let junk: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 23) as u8).collect();
    for extension in ["aux", "nodes", "nets", "wts", "pl", "scl"] {
        let small = Small::new();
        small.write(extension, &junk);
        let message = small.error();
        assert!(message.starts_with(&format!("d.{extension}:")), "{message}");
        assert!(message.len() < 200 && message.contains("expected"), "{message}");
    }
}

#[test]
fn folders_and_absent_files_are_errors() {
    for extension in ["aux", "nodes", "nets", "wts", "pl", "scl"] {
        let small = Small::new();
        fs::remove_file(small.path(extension)).unwrap();
        if !["nets", "wts"].contains(&extension) {
            let message = small.error();
            assert!(message.starts_with(&format!("d.{extension}: ")), "{message}");
            assert!(message.to_lowercase().contains("no such file"), "{message}");
        }
        fs::create_dir(small.path(extension)).unwrap();
        assert_eq!(small.error(), format!("d.{extension}: is a directory"));
    }
}

#[cfg(unix)]
#[test]
fn devices_and_unreadable_files_are_errors() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let small = Small::new();
    fs::remove_file(small.path("nets")).unwrap();
    symlink("/dev/zero", small.path("nets")).unwrap();
    assert_eq!(small.error(), "d.nets: neither a file nor a pipe");

    let small = Small::new();
    fs::set_permissions(small.path("wts"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(small.path("wts")).is_err() {
        // Not so for root, who may read anything.
        assert!(small.error().to_lowercase().starts_with("d.wts: permission denied"));
    }
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn the_number_of_threads_changes_nothing() {
    let dir = design_dir("ibm07");
    let load = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| read(&dir.join("ibm07-cu90.aux"), &ReadOptions::default()))
    };
    let one = load(1);
    assert_eq!(load(2), one);
    assert_eq!(load(5), one);
}
