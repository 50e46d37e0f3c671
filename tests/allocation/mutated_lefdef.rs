//! Mutated LEF and DEF files: whatever happens to a file, the reader gives a sound design or an
//! error of one line that is in the file, without panicking and in memory bounded by the files.

use crate::common::design_dir;
use crate::mutated::{check_nets, check_nodes, config, mutate, mutation_with};
use crate::{alone, most_held};
use placefield::lefdef::{Loaded, ReadOptions, read_design, read_placement, write_placement};
use proptest::prelude::*;
use std::cell::Cell;
use std::fs;
use std::path::Path;

/// A LEF file and a DEF file.
pub(crate) type Files = [Vec<u8>; 2];

/// A design with something of every statement.
pub(crate) fn small() -> Files {
    let lef = "VERSION 5.8 ; UNITS DATABASE MICRONS 1000 ; END UNITS\n\
        PROPERTYDEFINITIONS LAYER p STRING ; END PROPERTYDEFINITIONS\n\
        SITE core CLASS CORE ; SYMMETRY Y ; SIZE 0.2 BY 2 ; END core # a site\n\
        LAYER m1 TYPE ROUTING ; DIRECTION VERTICAL ; PITCH 0.4 0.5 ; WIDTH 0.1 ; \
        PROPERTY p \"a ; b\" ; END m1\n\
        VIA v DEFAULT LAYER m1 ; RECT 0 0 1 1 ; END v\n\
        MACRO inv CLASS CORE ; SIZE 1 BY 2 ; ORIGIN 0.1 0 ; SYMMETRY X Y ; SITE core ;\n\
        PIN A DIRECTION INPUT ; PORT LAYER m1 ; RECT 0.1 0.1 0.3 0.3 ; PATH 0 0 1 0 ; END END A\n\
        PIN Z PORT LAYER m1 ; POLYGON 0 0 0 1 1 1 1 0 ; \
        RECT ITERATE 0 0 1 1 DO 2 BY 3 STEP 1 1 ; END END Z\n\
        PIN VSS USE GROUND ; PORT LAYER m1 ; RECT 0 0 1 0.1 ; END END VSS\n\
        OBS LAYER m1 ; RECT 0 0 1 1 ; END END inv\n\
        MACRO ram CLASS BLOCK ; SIZE 10 BY 8 ; END ram\n\
        MACRO pad CLASS PAD ; SIZE 5 BY 5; END pad\n\
        END LIBRARY\n";
    let def = "VERSION 5.8 ; DIVIDERCHAR \"/\" ; BUSBITCHARS \"[]\" ; DESIGN d ;\n\
        UNITS DISTANCE MICRONS 2000 ;\n\
        DIEAREA ( 0 0 ) ( 0 400 ) ( 200 400 ) ( 200 200 ) ( 400 200 ) ( 400 0 ) ;\n\
        ROW r core 0 0 N DO 50 BY 1 STEP 400 0 ;\nROW v core 0 0 W DO 1 BY 20 STEP 0 400 ;\n\
        TRACKS X 0 DO 5 STEP 4 LAYER m1 ;\nGCELLGRID X 0 DO 3 STEP 600 ;\n\
        PROPERTYDEFINITIONS DESIGN a STRING \"x ; y\" ; END PROPERTYDEFINITIONS\n\
        REGIONS 1 ; - f ( 0 0 ) ( 100 100 ) + TYPE FENCE ; END REGIONS\n\
        COMPONENTS 5 ;\n- u1 inv + SOURCE DIST + PLACED ( 0 0 ) N\n ;\n# - none\n\
        - u\\[2\\] inv + FIXED ( 4000 4000 ) FS ;\n- NETS inv + UNPLACED + REGION f ;\n\
        - m ram + HALO SOFT 1 2 3 4 + COVER ( -100 -200 ) E ;\n- p pad ;\nEND COMPONENTS\n\
        PINS 2 ;\n- OUT + NET n + PORT + LAYER m1 MASK 2 ( -100 0 ) ( 100 400 ) \
        + PLACED ( 40 20 ) W\n\
        + PORT + POLYGON m1 ( 0 0 ) ( 0 9 ) ( 9 9 ) + FIXED ( 0 0 ) N ;\n- off + NET n ;\n\
        END PINS\n\
        BLOCKAGES 2 ; - PLACEMENT + PARTIAL 40 RECT ( 0 0 ) ( 2 2 ) \
        POLYGON ( 0 0 ) ( 0 9 ) ( 9 9 ) ( 9 0 ) ;\n\
        - LAYER m1 RECT ( 0 0 ) ( 1 1 ) ; END BLOCKAGES\n\
        SPECIALNETS 1 ; - VSS ( * VSS ) + USE GROUND + ROUTED m1 9 ( 0 0 ) ( 1 * ) ; \
        END SPECIALNETS\n\
        NETS 3 ;\n- n ( u1 Z ) ( PIN OUT ) ( NETS A + SYNTHESIZED ) ( PIN off ) + WEIGHT 3 \
        + ROUTED m1 ( 0 0 ) ( 5 * ) ;\n\
        - all ( * A ) ;\n- g ( u1 VSS ) + USE GROUND ;\nEND NETS\n\
        GROUPS 1 ; - g u* NE*S + REGION f ; END GROUPS\nBEGINEXT \"t\" - x ; ENDEXT\nEND DESIGN\n";
    [lef, def].map(|text| text.as_bytes().to_vec())
}

/// The first 8 KiB of the library and of the DEF file of a real design.
fn real(lef: &Path, def: &Path) -> Files {
    [lef, def].map(|path| {
        let mut text = fs::read(path).unwrap();
        text.truncate(8192);
        text
    })
}

const TELLING: [&str; 34] = [
    "DO 1 BY 18446744073709551615 STEP 0 1 ",
    "DO 4294967295 BY 16000 STEP 1 1 ",
    "COMPONENTS 99999999999 ;\n",
    "NETS 18446744073709551615 ;\n",
    "UNITS DISTANCE MICRONS 1e99 ;\n",
    "END COMPONENTS\n",
    "END NETS\n",
    "END DESIGN\n",
    "END LIBRARY\n",
    "COMPONENTS 1 ;\n",
    "PINS 1 ;\n",
    "NETS 1 ;\n",
    "BEGINEXT ",
    "( * A ) ",
    "( PIN OUT ) ",
    "+ PLACED ( 1 1 ) N ",
    "+ UNPLACED ",
    "+ USE POWER ",
    "- ",
    "+ ",
    "; ",
    "( ",
    ") ",
    "\"",
    "#",
    "\\",
    "*",
    "1e400 ",
    "-1e100 ",
    "nan ",
    "inf ",
    "\0",
    "\n",
    "\u{feff}",
];

/// Bytes that reading files of this length may hold at once.
fn allowance(bytes: usize) -> usize {
    200 * bytes + (4 << 20)
}

fn check(loaded: &Loaded) {
    let design = &loaded.design;
    design.check().unwrap();
    check_nodes(&design.nodes);
    if let Some(nets) = &design.nets {
        check_nets(nets, design.nodes.len());
        assert!(design.hpwl().is_some());
    }
    let at = &design.placement;
    assert!(at.x.iter().chain(&at.y).all(|v| v.is_finite()));
    assert!(design.rows.iter().all(|row| row.height.is_finite() && row.pitch.is_finite()));
}

/// Mutates one file of a design and reads, writes and reads it again; how often that went well.
fn mutated_designs(seeds: &[Files], cases: u32) -> u32 {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let paths = [path("a.lef"), path("d.def")];
    let good = Cell::new(0);
    let mutations = prop::collection::vec(mutation_with(&TELLING), 1..6);
    let one_file = (any::<prop::sample::Index>(), 0..2usize, mutations);
    proptest!(config(cases), |((design, file, mutations) in one_file)| {
        let mut files = design.get(seeds).clone();
        mutate(&mut files[file], &mutations, seeds);
        for (path, text) in paths.iter().zip(&files) {
            fs::write(path, text).unwrap();
        }
        let options = ReadOptions::default().lef([&paths[0]]);
        let mut read = None;
        let held = most_held(|| read = Some(read_design(&paths[1], &options)));
        let bytes = files[0].len() + files[1].len();
        prop_assert!(held <= allowance(bytes), "{held} bytes for {bytes}");
        match read.unwrap() {
            Ok(loaded) => {
                check(&loaded);
                let out = path("out.def");
                if write_placement(&out, &paths[1], &loaded.design).is_ok() {
                    let nodes = &loaded.design.nodes;
                    let again = read_placement(&out, nodes, options.pin_position).unwrap();
                    let places = loaded.design.movable().zip(again.placement.x.iter());
                    prop_assert!(places.count() > 0 || loaded.design.movable().count() == 0);
                }
                good.set(good.get() + 1);
            }
            Err(error) => {
                let message = error.to_string();
                prop_assert!(!message.contains('\n') && message.len() < 600, "{message}");
                let text = &files[usize::from(error.path == paths[1])];
                let lines = text.iter().filter(|&&b| b == b'\n').count() as u64 + 1;
                prop_assert!((1..=lines).contains(&error.line) && error.column >= 1, "{message}");
            }
        }
    });
    good.get()
}

/// A cut file is refused, or the last word says that it may be cut; none is taken for the whole.
#[test]
fn every_cut_of_a_lef_and_a_def_file_is_told() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.lef", "d.def"].map(|name| folder.path().join(name));
    for (cut, whole) in [(0, 1), (1, 0)] {
        fs::write(&paths[whole], &small()[whole]).unwrap();
        let text = &small()[cut];
        for end in 0..text.len() {
            fs::write(&paths[cut], &text[..end]).unwrap();
            let mut read = None;
            let options = ReadOptions::default().lef([&paths[0]]);
            let held = most_held(|| read = Some(read_design(&paths[1], &options)));
            assert!(held <= allowance(small().concat().len()), "{held} bytes");
            match read.unwrap() {
                Ok(loaded) if cut == 1 && end < text.trim_ascii_end().len() => {
                    check(&loaded);
                    let told = |warning: &&str| warning.contains("no END DESIGN");
                    let warnings = loaded.warnings.iter().map(|w| w.message.as_str());
                    assert!(warnings.clone().any(|w| told(&w)), "cut at {end}");
                }
                Ok(loaded) => check(&loaded),
                Err(error) => {
                    let message = error.to_string();
                    assert!(!message.contains('\n') && error.line > 0, "{message}");
                }
            }
        }
    }
}

#[test]
fn mutated_lef_and_def_files_are_read_or_refused() {
    let _alone = alone();
    let good = mutated_designs(&[small()], 3000);
    assert!((100..2900).contains(&good), "{good} of 3000 designs still read");
}

#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn mutated_real_lef_and_def_are_read_or_refused() {
    let _alone = alone();
    let (openroad, si2) = (design_dir("openroad-lefdef"), design_dir("si2-complete-5.8"));
    let seeds = [
        small(),
        real(
            &openroad.join("dpl/test/Nangate45_data/Nangate45.lef"),
            &openroad.join("dpl/test/fence01.def"),
        ),
        real(&si2.join("complete.5.8.lef"), &si2.join("complete.5.8.def")),
    ];
    mutated_designs(&seeds, 3000);
}
