use super::*;
use crate::design::{BlockageKind, Fence, Halo, Hpwl, Row, StandsOn};
use crate::grid::Rect;
use std::collections::BTreeMap;
use std::fs;

/// Cells of one and of two rows, ground at the bottom of both of one row.
const LEF: &str = "
VERSION 5.8 ; UNITS DATABASE MICRONS 1000 ; END UNITS
SITE core CLASS CORE ; SYMMETRY Y ; SIZE 0.2 BY 2 ; END core
LAYER m1 TYPE ROUTING ; DIRECTION HORIZONTAL ; PITCH 0.4 ; WIDTH 0.1 ; PROPERTY p \"a ; END m1\" ; END m1
LAYER cut TYPE CUT ; END cut
VIA v DEFAULT LAYER m1 ; RECT 0 0 1 1 ; END v
MACRO inv CLASS CORE ; SIZE 1 BY 2 ; SYMMETRY X Y ; SITE core ;
  PIN A DIRECTION INPUT ; PORT LAYER m1 ; RECT 0.1 0.1 0.3 0.3 ; RECT 0.1 0.3 0.2 0.7 ; END END A
  PIN END DIRECTION OUTPUT ; PORT LAYER m1 ; POLYGON 0.6 0.6 0.6 1 0.8 1 0.8 0.6 ; END END END
  PIN VSS USE GROUND ; PORT LAYER m1 ; RECT 0 -0.1 1 0.1 ; END END VSS
  PIN VDD USE POWER ; PORT LAYER m1 ; RECT 0 1.9 1 2.1 ; END END VDD
  OBS LAYER m1 ; RECT 0 0 1 1 ; END
END inv
MACRO high CLASS CORE ; SIZE 2 BY 4 ; ORIGIN 0.5 0.5 ; SITE core ;
  PIN A PORT LAYER m1 ; RECT ITERATE -0.5 -0.5 -0.3 -0.3 DO 2 BY 1 STEP 1 0 ; END END A
  PIN VDD USE POWER ; PORT LAYER m1 ; RECT -0.5 -0.6 1.5 -0.4 ; END END VDD
END high
MACRO pad CLASS PAD ; SIZE 5 BY 5; END pad
MACRO ram CLASS BLOCK ; SIZE 10 BY 8 ; END ram
END LIBRARY this is not read";

const HEAD: &str = "VERSION 5.8 ; DIVIDERCHAR \"/\" ; DESIGN END ;\nUNITS DISTANCE MICRONS 2000 ;
DIEAREA ( 0 0 ) ( 40000 40000 ) ;
ROW r0 core 0 0 N DO 50 BY 1 STEP 400 0 ;
ROW r1 core 0 4000 FS DO 50 BY 1 STEP 400 0 + PROPERTY p \"a ; b\" ;\n";

fn read_with(def: &str, options: ReadOptions) -> Result<Loaded, String> {
    let error = |e: FileError| format!("{}:{}: {}", e.line, e.column, e.kind);
    read_files(&[LEF], def, options).map_err(error)
}

fn read(body: &str) -> Result<Loaded, String> {
    read_with(&format!("{HEAD}{body}"), ReadOptions::default())
}

fn def(loaded: &Loaded) -> &DefSummary {
    loaded.def.as_ref().unwrap()
}

fn good(body: &str) -> Loaded {
    let loaded = read(&format!("{body}\nEND DESIGN\n")).unwrap();
    loaded.design.check().unwrap();
    let cut =
        |of: &Loaded| of.warnings.iter().filter(|w| w.message.contains("no END DESIGN")).count();
    assert_eq!((cut(&loaded), cut(&read(body).unwrap())), (0, 1));
    loaded
}

const SMALL: &str = "COMPONENTS 99 ;
- u1 inv + SOURCE DIST + PLACED ( 0 0 ) N\n ;
- u\\[2\\] inv + FIXED ( 4000 4000 ) FS ; - NETS inv + UNPLACED ;
# - u9 none ;
- u4 high ;
- END ram + COVER ( -100 -200 ) E ;
- p pad + PLACED ( 20000 20000 ) N ;
END COMPONENTS
PINS 2 ;
- OUT + NET n + DIRECTION OUTPUT + USE SIGNAL
  + PORT + LAYER m1 ( -100 0 ) ( 100 400 ) + PLACED ( 40000 2000 ) W
  + PORT + LAYER m1 MASK 2 ( 0 0 ) ( 100 100 ) + FIXED ( 0 0 ) N ;
- u1 + NET n + LAYER m1 ( 0 0 ) ( 10 10 ) + FIXED ( 10 10 ) N ;
- off + NET n ;
END PINS
NETS 3 ;
- n ( u1 END ) ( PIN OUT ) ( NETS A + SYNTHESIZED ) ( PIN off ) + USE CLOCK + WEIGHT 3
  + ROUTED m1 ( 0 0 ) ( 5 * ) ;
- vdd ( u1 VDD ) + USE POWER ;
- OUT ( PIN u1 ) ( u\\[2\\] A ) ( u4 A ) ;
END NETS\n";

#[test]
fn a_small_design_is_read() {
    let loaded = good(SMALL);
    let design = &loaded.design;
    use NodeKind::*;
    assert_eq!(design.name, "END");
    let names: Vec<&str> = design.nodes.names.iter().collect();
    assert_eq!(names, ["u1", "u\\[2\\]", "NETS", "u4", "END", "p", "OUT", "PIN/u1"]);
    let kinds =
        [Movable, Fixed, Movable, Movable, Fixed, Fixed, FixedOverlappable, FixedOverlappable];
    assert_eq!(design.nodes.kind, kinds);
    assert_eq!(design.nodes.width[..6], [2000.0, 2000.0, 2000.0, 4000.0, 20000.0, 10000.0]);
    assert_eq!(design.rect(4), Rect::at(-100.0, -200.0, 16000.0, 20000.0));
    let nets = design.nets.as_ref().unwrap();
    assert_eq!((nets.len(), &nets.weight[..]), (2, &[3.0, 1.0][..]));
    assert_eq!(nets.pins_of(0).map(|p| nets.pin_node[p]).collect::<Vec<_>>(), [0, 6, 2]);
    assert_eq!(design.pin_position(nets, 0), (1400.0, 1600.0));
    // Both ports: [39600, 40000] x [1900, 2100] and [0, 100] x [0, 100].
    assert_eq!(design.pin_position(nets, 1), (20000.0, 1050.0));
    assert_eq!(design.pin_position(nets, 3), (15.0, 15.0));
    // Upside down: the height above the bottom edge counts from the top.
    assert_eq!(design.pin_position(nets, 4), (4400.0, 7200.0));
    let DefSummary { units, components, pins, nets, connections, rows, unplaced, version, .. } =
        def(&loaded).clone();
    assert_eq!((units, components, pins, nets, connections), (2000.0, 6, 3, 3, 5));
    assert_eq!((rows, unplaced, version.as_deref()), (2, 2, Some("5.8")));
    assert_eq!(loaded.layers.len(), 1);
    assert_eq!(design.units_per_micron, Some(2000.0));
}

#[test]
fn pin_position_mean_averages_rectangles() {
    let text = format!("{HEAD}{SMALL}END DESIGN");
    let mean = ReadOptions::default().pin_position(PinPosition::Mean);
    let of = |options| {
        let design = read_with(&text, options).unwrap().design;
        let nets = design.nets.clone().unwrap();
        [1, 4].map(|pin| design.pin_position(&nets, pin))
    };
    assert_eq!(of(ReadOptions::default()), [(20000.0, 1050.0), (4400.0, 7200.0)]);
    assert_eq!(of(mean), [((39800.0 + 50.0) / 2.0, 1025.0), (4350.0, 7300.0)]);
}

#[test]
fn cells_of_two_rows_stand_where_their_rails_fit() {
    let loaded = good(SMALL);
    let of = |name: &str| loaded.design.masters.iter().find(|m| m.name == name).unwrap().clone();
    assert_eq!((of("inv").stands_on, of("inv").site), (StandsOn::Any, Some(0)));
    assert_eq!(of("high").stands_on, StandsOn::UpsideDown);
    assert_eq!(loaded.design.nodes.master[3], Some(1));
    let rows = &loaded.design.rows;
    assert_eq!(
        (rows[1].orientation, rows[1].site, rows[1].pitch),
        (Orientation::FS, Some(0), 400.0)
    );
    assert!(rows[1].symmetry.y && !rows[1].symmetry.x && loaded.design.row_blockage);
}

#[test]
fn rows_of_sites_one_above_the_other_are_rows() {
    let rows = good("ROW v core 100 200 N DO 1 BY 3 STEP 0 4000 ; ROW w core 0 0 E ;").design.rows;
    let of = |r: &crate::design::Row| (r.x, r.y, r.site_width, r.height, r.sites);
    let want = [
        (100.0, 200.0, 400.0, 4000.0, 1),
        (100.0, 4200.0, 400.0, 4000.0, 1),
        (100.0, 8200.0, 400.0, 4000.0, 1),
        (0.0, 0.0, 4000.0, 400.0, 1),
    ];
    assert_eq!(rows[2..].iter().map(of).collect::<Vec<_>>(), want);
}

#[test]
fn fences_have_the_members_of_groups() {
    let loaded = good(
        "REGIONS 2 ; - f ( 0 0 ) ( 100 100 ) ( 100 0 ) ( 300 50 ) + TYPE FENCE ;
         - g ( 0 0 ) ( 9 9 ) + TYPE GUIDE ; END REGIONS
         COMPONENTS 1 ; - a/1 inv ; - a/2 inv + PLACED ( 1 1 ) N ; - b inv + REGION f ; - c inv ;
         - d/x/e inv ; END COMPONENTS
         GROUPS 2 ; - one a/* d/*/e + SOFT + REGION f ; - two c + REGION g ; END GROUPS",
    );
    let rects = vec![Rect::at(0.0, 0.0, 100.0, 100.0), Rect::at(100.0, 0.0, 200.0, 50.0)];
    assert_eq!(loaded.design.fences, [Fence { name: "f".to_owned(), rects, ..Fence::default() }]);
    assert_eq!(loaded.design.nodes.fence, [Some(0), Some(0), Some(0), None, Some(0)]);
    assert_eq!(def(&loaded).regions, 2);
}

#[test]
fn blockages_halos_and_a_die_with_a_notch() {
    let loaded = good(
        "DIEAREA ( 0 0 ) ( 0 40 ) ( 20 40 ) ( 20 20 ) ( 40 20 ) ( 40 0 ) ;
         COMPONENTS 1 ; - a ram + HALO SOFT 1 2 3 4 + HALO 4 3 2 1 + HALO 1 1 1 5 + FIXED ( 0 0 ) N ;
         END COMPONENTS
         BLOCKAGES 3 ; - PLACEMENT + SOFT RECT ( 5 5 ) ( 1 1 ) RECT ( 0 0 ) ( 9 9 ) ;
         - PLACEMENT + PARTIAL 40 + PUSHDOWN + COMPONENT a RECT ( 0 0 ) ( 2 2 ) ;
         - LAYER m1 + SPACING 3 RECT ( 0 0 ) ( 1 1 ) ;
         - PLACEMENT RECT ( 0 0 ) ( 3 3 ) ; END BLOCKAGES
         GCELLGRID X 0 DO 3 STEP 600 ;",
    );
    let of = |b: &crate::design::Blockage| (b.rect.xl, b.rect.yl, b.rect.xh, b.rect.yh, b.kind);
    let want = [
        (1.0, 1.0, 5.0, 5.0, BlockageKind::Soft),
        (0.0, 0.0, 9.0, 9.0, BlockageKind::Soft),
        (0.0, 0.0, 2.0, 2.0, BlockageKind::Partial(0.4)),
        (0.0, 0.0, 3.0, 3.0, BlockageKind::Hard),
    ];
    assert_eq!(loaded.design.blockages.iter().map(of).collect::<Vec<_>>(), want);
    let soft = Halo { node: 0, left: 1.0, bottom: 2.0, right: 3.0, top: 4.0, soft: true };
    let hard = Halo { node: 0, left: 4.0, bottom: 3.0, right: 2.0, top: 5.0, soft: false };
    assert_eq!(loaded.design.halos, [soft, hard]);
    let area = [Rect::at(0.0, 0.0, 40.0, 20.0), Rect::at(0.0, 20.0, 20.0, 20.0)];
    assert_eq!(loaded.design.die_area, area);
    let grid = GcellGrid { axis: GridAxis::X, start: 0.0, count: 3, step: 600.0 };
    assert_eq!((def(&loaded).blockages, &loaded.gcell_grid[..]), (4, &[grid][..]));
    assert_eq!(def(&loaded).skipped["BLOCKAGES LAYER"], 1);
}

#[test]
fn unused_statements_are_skipped_and_counted() {
    let loaded = good(
        "TRACKS X 0 DO 5 STEP 4 LAYER m1 ; TRACKS Y 0 DO 5 STEP 4 ;
         PROPERTYDEFINITIONS DESIGN a STRING \"x ; y\" ; COMPONENT b INTEGER ; END PROPERTYDEFINITIONS
         VIAS 1 ; - v + RECT m1 ( 0 0 ) ( 1 1 ) ; END VIAS
         STRANGE 1 ; - odd ( thing ) ; END STRANGE
         COMPONENTS 1 ; - a inv + PROPERTY b 7 + ROUTEHALO 1 m1 m1 ; END COMPONENTS
         SPECIALNETS 2 ; - s ( * VDD ) + ROUTED m1 9 ( 0 0 ) ( 1 * ) ; - t ; END SPECIALNETS
         NETS 1 ; - n ( * A ) ; - MUSTJOIN ( a A ) ; END NETS
         BEGINEXT \"t\" - CREATOR x ; END DESIGN ENDEXT",
    );
    let skipped = &def(&loaded).skipped;
    let of = |key: &str| skipped.get(key).copied().unwrap_or(0);
    assert_eq!([of("TRACKS"), of("PROPERTYDEFINITIONS"), of("VIAS"), of("STRANGE")], [2, 2, 1, 1]);
    assert_eq!([of("COMPONENTS + PROPERTY"), of("COMPONENTS + ROUTEHALO")], [1, 1]);
    assert_eq!((def(&loaded).special_nets, def(&loaded).nets, def(&loaded).connections), (2, 2, 2));
    assert_eq!(loaded.design.hpwl(), Some(Hpwl { unweighted: 0.0, weighted: 0.0 }));
    assert_eq!(loaded.design.nets.unwrap().pin_node, [0]);
}

#[test]
fn errors_name_line_and_column() {
    let lines = HEAD.lines().count() as u64;
    let cases = [
        ("ROW a none 0 0 N ;", "6:7: row a: site none is in none of the LEF files given"),
        (
            "COMPONENTS 1 ;\n- u INVX1 ;",
            "7:5: component u: macro INVX1, of 1 component, is in none of the LEF files given",
        ),
        (
            "COMPONENTS 1 ;\n- u INVX1 ; - v inv ; - w INVX1 ; - x Y ; END COMPONENTS",
            "7:5: component u: macro INVX1, of 2 components, is in none of the LEF files given",
        ),
        ("COMPONENTS 1 ; - u", "6:19: expected the macro of the component, found end of file"),
        ("COMPONENTS 1 ; - u INV", "6:23: expected the macro of the component, found end of file"),
        ("ROW a co", "6:9: expected the site of the row, found end of file"),
        ("NETS 1 ; - n (", "6:15: expected the name of a component, found end of file"),
        ("NETS 1 ; - n ( PIN", "6:19: expected the name of a pin, found end of file"),
        (
            "COMPONENTS 1 ; - u inv",
            "6:23: expected `;` at the end of a statement, found end of file",
        ),
        ("COMPONENTS 1 ; - u inv + PLACED ( 1 x ) N ;", "6:37: expected a y coordinate, found `x`"),
        (
            "COMPONENTS 1 ; - u inv + PLACED ( 1 1 ) Q ;",
            "6:41: expected an orientation: N S E W FN FS FE FW, found `Q`",
        ),
        (
            "COMPONENTS 1 ; - u inv ; - v inv ;\n- u ram ; END COMPONENTS",
            "7:3: component u stands a second time",
        ),
        ("COMPONENTS 1 ; - u inv ; END NETS", "6:30: expected `COMPONENTS`, found `NETS`"),
        ("COMPONENTS 1 ; - u inv ;", "6:25: expected `END COMPONENTS`, found end of file"),
        ("NETS 1 ; - n ( u A ) ;", "6:16: component u is not among COMPONENTS"),
        ("NETS 1 ; - n ( PIN u ) ;", "6:20: pin u is not among PINS"),
        ("NETS 1 ; - n ( u A ;", "6:20: expected `)`, found `;`"),
        (
            "COMPONENTS 1 ; - u inv ; END COMPONENTS NETS 1 ; - n ( u ZZ ) ;",
            "6:58: component u: its macro inv has no pin ZZ",
        ),
        (
            "UNITS DISTANCE MICRONS 0 ;",
            "6:24: expected units per micrometre, at least 1, before all nets, found `0`",
        ),
    ];
    for (body, want) in cases {
        let want = want.replacen('6', &(lines + 1).to_string(), 1);
        assert_eq!(read(body).unwrap_err(), want, "{body}");
    }
}

#[test]
fn hints_name_a_kind_of_statement_that_no_lef_file_has() {
    let error = |lef: &str, def: &str| {
        let error = read_files(&[lef], &format!("{UNITS}{def}"), ReadOptions::default());
        error.unwrap_err().to_string()
    };
    let cell = "MACRO c SIZE 1 BY 2 ; END c";
    let found = error(cell, "ROW r core 0 0 N ;");
    assert!(found.ends_with("the LEF files given, which have no sites: is it in another?"));
    let found = error("END LIBRARY", "COMPONENTS 1 ; - u c ; END COMPONENTS");
    assert!(found.ends_with("the LEF files given, which have no macros: is it in another?"));
}

#[test]
fn empty_statements_and_byte_order_marks_are_passed() {
    let plain = read_with(&format!("{HEAD}{SMALL}END DESIGN"), ReadOptions::default()).unwrap();
    let text = format!("\u{feff}{HEAD}{SMALL}END DESIGN").replace(" ;", " ; ;");
    let marked = read_with(&text, ReadOptions::default()).unwrap();
    assert_eq!((&plain.design, &plain.def), (&marked.design, &marked.def));
    let text =
        format!("{UNITS}COMPONENTS 1 ; - c c + PLACED ( 7 8 ) N ; END COMPONENTS END DESIGN");
    let lef = "\u{feff}MACRO c ; SIZE 1 BY 2 ; ; END c";
    let design = read_files(&[lef], &text, ReadOptions::default()).unwrap().design;
    assert_eq!((design.nodes.width[0], design.placement.x[0]), (1000.0, 7.0));
}

#[test]
fn a_library_given_twice_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.lef"), LEF).unwrap();
    fs::write(path("d.def"), format!("{HEAD}{SMALL}END DESIGN")).unwrap();
    let read = |files: &[&str]| {
        let files = files.iter().map(|name| path(name));
        read_design(&path("d.def"), &ReadOptions::default().lef(files)).unwrap()
    };
    let (once, twice) = (read(&["a.lef"]), read(&["a.lef", "a.lef"]));
    assert_eq!((&once.design, &once.layers), (&twice.design, &twice.layers));
    assert_eq!(once.warnings.len() + 1, twice.warnings.len());
    assert!(twice.warnings[0].message.ends_with("a.lef: it is given twice and read once"));
    // A copy under another name has the same layers.
    fs::copy(path("a.lef"), path("b.lef")).unwrap();
    assert_eq!(once.layers, read(&["a.lef", "b.lef"]).layers);
}

#[test]
fn supply_shapes_and_repeated_points_are_read_at_any_coordinates() {
    let loaded = good(
        "DIEAREA ( 0 0 ) ( 0 0 ) ( 4000000000 4000000000 ) ( 4000000000 4000000000 ) ;
         SPECIALNETS 1 ; - VDD ( * VDD ) + USE POWER
         + RECT m1 ( -4000000000000 0 ) ( 4000000000000 900719925474099 )
         + POLYGON m1 ( 0 0 ) ( 0 123456789012345 ) ( 5 * ) ( * 0 ) ; END SPECIALNETS",
    );
    assert_eq!(loaded.design.die_area, [Rect::at(0.0, 0.0, 4e9, 4e9)]);
    assert_eq!(def(&loaded).special_nets, 1);
    let simplified = |w: &&Warning| w.code == WarningCode::FloorplanSimplified;
    assert_eq!(loaded.warnings.iter().find(simplified), None);
}

#[test]
fn no_cut_of_a_file_makes_the_reader_fail_hard() {
    let text = format!("{HEAD}{SMALL}END DESIGN");
    for end in 0..text.len() {
        let _ = read_with(&text[..end], ReadOptions::default());
    }
}

/// Components, pins and nets that fill several parts.
fn large(count: usize) -> String {
    let line = |of: &dyn Fn(usize) -> String| (0..count).map(of).collect::<String>();
    let components = line(&|i| match i % 3 {
        0 => format!("- u{i} inv + PLACED ( {} {} ) FS ;\n", i * 7, i % 99),
        1 => format!("- u{i} inv\n ;\n"),
        _ => format!("- u{i} high + UNPLACED ;\n"),
    });
    let nets = line(&|i| {
        format!("- n{i} ( u{i} A ) ( u{} A )\n  ( PIN p ) + USE SIGNAL ;\n", i * 31 % count)
    });
    format!(
        "{HEAD}COMPONENTS 5 ;\n{components}END COMPONENTS\nPINS 1 ;\n\
         - p + LAYER m1 ( 0 0 ) ( 10 10 ) + PLACED ( 0 0 ) N ;\nEND PINS\nNETS 1 ;\n\
         {nets}END NETS\n\
         REGIONS 1 ; - f ( 0 0 ) ( 1 1 ) + TYPE FENCE ; END REGIONS\nEND DESIGN\n"
    )
}

#[test]
fn parts_give_what_the_whole_text_gives() {
    let text = large(30_000);
    assert!(text.len() > 4 * PART);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.lef"), LEF).unwrap();
    let options = ReadOptions::default().lef([path("a.lef")]);
    let library = read_library(&options).unwrap();
    let whole = |source, size| {
        let all = everything(source, size, &library, &ReadOptions::default()).unwrap();
        let nets = all.nets.unwrap();
        (all.names, all.cell, nets, all.gathered.plan.counts, all.gathered.plan.regions.len())
    };
    let want = whole(Source::Held(text.as_bytes()), text.len());
    assert_eq!((want.0.len(), want.2.len(), want.4), (30_000, 30_000, 1));
    assert!(whole(Source::Held(text.as_bytes()), PART) == want);
    assert!(whole(Source::Held(text.as_bytes()), 1000) == want);
    fs::write(path("d.def"), &text).unwrap();
    let input = Input::open(&path("d.def"), Text::open).unwrap();
    assert!(matches!(input, Input::Large(_)) && whole(input.source(), PART) == want);
    let wrong = text.replace("- n29000 ( u29000 A )", "- n29000 ( u29000 B )");
    fs::write(path("w.def"), &wrong).unwrap();
    let error = read_design(&path("w.def"), &options).unwrap_err().to_string();
    let line = wrong.lines().position(|line| line.contains("u29000 B")).unwrap() + 1;
    let want = format!(":{line}:19: component u29000: its macro high has no pin B");
    assert!(error.ends_with(&want), "{error}");
}

#[test]
fn a_written_file_differs_in_placements_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = format!("{HEAD}{SMALL}END DESIGN\r\nrest").replace("u1 inv + S", "u1 inv \t + S");
    fs::write(path("a.lef"), LEF).unwrap();
    fs::write(path("d.def"), &text).unwrap();
    let options = ReadOptions::default().lef([path("a.lef")]);
    let mut design = read_design(&path("d.def"), &options).unwrap().design;
    for (node, x) in [(0, 400.4), (2, -799.6), (3, 1200.0)] {
        (design.placement.x[node], design.placement.y[node]) = (x, 4000.0);
        design.placement.orientation[node] = Orientation::FS;
    }
    write_placement(&path("out.def"), &path("d.def"), &design).unwrap();
    let written = fs::read_to_string(path("out.def")).unwrap();
    let want = text
        .replace("( 0 0 ) N\n ;", "( 400 4000 ) FS\n ;")
        .replace("+ UNPLACED", "+ PLACED ( -800 4000 ) FS")
        .replace("- u4 high ;", "- u4 high + PLACED ( 1200 4000 ) FS ;");
    assert_eq!(written, want);
    let nodes = &design.nodes;
    let again = read_placement(&path("out.def"), nodes, PinPosition::Center).unwrap().placement;
    assert_eq!((again.x[0], again.x[2], again.orientation[3]), (400.0, -800.0, Orientation::FS));
    assert_eq!((again.x[6], again.y[6]), (design.placement.x[6], design.placement.y[6]));

    #[cfg(feature = "gzip")]
    {
        write_placement(&path("out.def.gz"), &path("d.def"), &design).unwrap();
        assert_eq!(&*Text::open(&path("out.def.gz")).unwrap(), written.as_bytes());
    }
    assert!(write_placement(&path("out.def.xz"), &path("d.def"), &design).is_err());
    fs::write(path("less.def"), text.replace("- u4 high ;", "")).unwrap();
    let error = write_placement(&path("o.def"), &path("less.def"), &design).unwrap_err();
    assert!(error.to_string().ends_with("found no component u4"), "{error}");
    assert!(!path("o.def").exists());
}

/// Reads `def` with these LEF files.
fn read_files(lef: &[&str], def: &str, options: ReadOptions) -> Result<Loaded, FileError> {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (k, text) in lef.iter().enumerate() {
        paths.push(folder.path().join(format!("{k}.lef")));
        fs::write(&paths[k], text).unwrap();
    }
    let path = folder.path().join("d.def");
    fs::write(&path, def).unwrap();
    read_design(&path, &options.lef(paths))
}

const UNITS: &str = "VERSION 5.8 ; DESIGN d ; UNITS DISTANCE MICRONS 1000 ;\n";

/// The library of a technology file comes from another file than the macros.
#[test]
fn shapes_on_overlap_layers_are_the_outline_of_a_block() {
    let tech = "LAYER OVERLAP TYPE OVERLAP ; END OVERLAP LAYER notch TYPE OVERLAP ; END notch
        LAYER m1 TYPE ROUTING ; END m1 END LIBRARY";
    let cells = "MACRO l CLASS BLOCK ; SIZE 4 BY 6 ; ORIGIN 1 0 ;
        OBS LAYER m1 ; RECT 0 0 3 6 ; LAYER OVERLAP ; POLYGON -1 0 -1 6 1 6 1 3 3 3 3 0 ; END END l
        MACRO whole CLASS BLOCK ; SIZE 4 BY 6 ; OBS LAYER OVERLAP ; RECT 0 0 4 3 ; RECT 0 2 4 6 ;
        END END whole
        MACRO other CLASS BLOCK ; SIZE 4 BY 6 ; OBS LAYER m1 ; RECT 0 0 1 1 ; END END other
        END LIBRARY";
    let def =
        format!("{UNITS}COMPONENTS 1 ; - a l + FIXED ( 1000 0 ) FN ; END COMPONENTS END DESIGN");
    for lef in [&[tech, cells][..], &[&format!("{}{cells}", tech.replace("END LIBRARY", ""))]] {
        let design = read_files(lef, &def, ReadOptions::default()).unwrap().design;
        let outlines: Vec<usize> = design.masters.iter().map(|m| m.outline.len()).collect();
        assert_eq!(outlines, [2, 0, 0]);
        let mut solid: Vec<Rect> = design.solid_rects(0).collect();
        solid.sort_by(|a, b| a.yl.total_cmp(&b.yl));
        // Mirrored: the notch is at the upper left.
        let want =
            [Rect::at(1000.0, 0.0, 4000.0, 3000.0), Rect::at(3000.0, 3000.0, 2000.0, 3000.0)];
        assert_eq!(solid, want);
    }
}

#[test]
fn edge_types_and_their_spacings_are_read() {
    let table = "CELLEDGESPACINGTABLE EDGETYPE a b 0.4 EDGETYPE a a EXCEPTABUTTED 0.2 ; ";
    let cells = "MACRO c CLASS CORE ; SIZE 1 BY 2 ; PROPERTY x 3 LEF58_EDGETYPE \"
        EDGETYPE LEFT a ; EDGETYPE LEFT b CELLROW 2 ; EDGETYPE RIGHT a ; \" ; END c
        MACRO p CLASS CORE ; SIZE 1 BY 2 ; END p END LIBRARY";
    let in_definitions = format!(
        "PROPERTYDEFINITIONS LIBRARY LEF58_CELLEDGESPACINGTABLE STRING \"{table}\" ;
         MACRO LEF58_EDGETYPE STRING ; END PROPERTYDEFINITIONS\n{cells}"
    );
    let in_property = format!("PROPERTY LEF58_CELLEDGESPACINGTABLE \"{table}\" ;\n{cells}");
    let def = format!("{UNITS}END DESIGN");
    for lef in [in_definitions, in_property] {
        let loaded = read_files(&[&lef], &def, ReadOptions::default()).unwrap();
        let design = &loaded.design;
        let (a, b) = (Some(0), Some(1));
        assert_eq!(design.edge_spacing.between(a, b), 400.0);
        assert!(design.edge_spacing.may_abut(a, a) && !design.edge_spacing.may_abut(a, b));
        // Both types of the left edge keep 0.4 from some other.
        assert!([a, b].contains(&design.masters[0].edge[0]) && design.masters[0].edge[1] == a);
        assert_eq!(design.masters[1].edge, [None; 2]);
        assert_eq!(loaded.lef.unwrap().skipped, BTreeMap::from([("MACRO x".to_owned(), 1)]));
    }
    // A table that is not understood is counted, and binds nobody.
    let odd = format!("PROPERTY LEF58_CELLEDGESPACINGTABLE \"EDGETYPE a\" ;\n{cells}");
    let loaded = read_files(&[&odd], &def, ReadOptions::default()).unwrap();
    assert!(loaded.design.edge_spacing.is_empty());
    assert_eq!(loaded.lef.unwrap().skipped["PROPERTY LEF58_CELLEDGESPACINGTABLE"], 1);
}

#[test]
fn rows_of_pads_and_of_patterns_have_their_own_sites() {
    let sites = "SITE core CLASS CORE ; SIZE 0.2 BY 2 ; END core
        SITE io CLASS PAD ; SIZE 1 BY 40 ; END io
        SITE tall SIZE 0.2 BY 3 ; END tall
        SITE both SIZE 0.2 BY 5 ; ROWPATTERN core N tall FS ; END both
        SITE odd SIZE 0.2 BY 5 ; ROWPATTERN core N none N ; END odd END LIBRARY";
    let rows = "ROW a io 0 0 N DO 9 BY 1 STEP 1000 0 ; ROW b core 0 0 N DO 9 BY 1 STEP 200 0 ;
        ROW c both 0 2000 N DO 4 BY 2 STEP 200 0 ;";
    let design =
        read_files(&[sites], &format!("{UNITS}{rows}"), ReadOptions::default()).unwrap().design;
    let of = |r: &Row| (r.y, r.height, r.sites, r.orientation, r.site);
    use Orientation::{FS, N};
    let want = [
        (0.0, 2000.0, 9, N, Some(0)),
        (2000.0, 2000.0, 4, N, Some(0)),
        (4000.0, 3000.0, 4, FS, Some(2)),
        (7000.0, 2000.0, 4, N, Some(0)),
        (9000.0, 3000.0, 4, FS, Some(2)),
    ];
    assert_eq!(design.rows.iter().map(of).collect::<Vec<_>>(), want);
    assert_eq!(design.row_height(), Some(2000.0));
    let odd = format!("{UNITS}ROW d odd 0 0 N DO 1 BY 1 STEP 200 0 ;");
    let error = read_files(&[sites], &odd, ReadOptions::default()).unwrap_err().to_string();
    let want = "2:7: row d: site none of the pattern of site odd is in none of the LEF files";
    assert!(error.ends_with(want), "{error}");
}

#[test]
fn regions_without_a_type_admit_others() {
    let loaded = good(
        "REGIONS 2 ; - f ( 0 0 ) ( 100 100 ) ; - h ( 0 0 ) ( 9 9 ) + TYPE FENCE ; END REGIONS
         COMPONENTS 1 ; - a inv + REGION f ; - b inv + REGION h ; END COMPONENTS",
    );
    let admit: Vec<bool> = loaded.design.fences.iter().map(|fence| fence.admits_others).collect();
    assert_eq!(admit, [true, false]);
    assert_eq!(loaded.design.nodes.fence, [Some(0), Some(1)]);
    let error = read("REGIONS 1 ; - f ( 0 0 ) ( 1 1 ) + TYPE none ; END REGIONS").unwrap_err();
    assert!(error.ends_with("expected `FENCE` or `GUIDE`, found `none`"), "{error}");
}

#[test]
fn classes_of_core_cells_say_what_moves() {
    let of =
        |name: &str, class: &str| format!("MACRO {name} CLASS {class}; SIZE 1 BY 2 ; END {name}\n");
    let lef = [
        ("c", "CORE TIEHIGH "),
        ("f", "CORE SPACER"),
        ("t", "CORE WELLTAP "),
        ("e", "ENDCAP TOPLEFT "),
    ];
    let lef: String = lef.iter().map(|(name, class)| of(name, class)).collect();
    let placed = |status: &str| {
        let all = ["c", "f", "t", "e"].map(|of| format!("- {of} {of} {status} ;"));
        format!("{UNITS}COMPONENTS 4 ; {} END COMPONENTS END DESIGN", all.join(" "))
    };
    let kinds = |status: &str, keep| {
        let options = ReadOptions::default().keep_fillers(keep);
        read_files(&[&lef], &placed(status), options).unwrap().design.nodes.kind
    };
    use NodeKind::{Fixed, FixedOverlappable, Movable};
    let at = "+ PLACED ( 0 0 ) N";
    assert_eq!(kinds(at, false), [Movable, FixedOverlappable, Fixed, Fixed]);
    assert_eq!(kinds(at, true), [Movable, Movable, Fixed, Fixed]);
    assert_eq!(kinds("", false), [Movable, FixedOverlappable, Movable, Movable]);
    assert_eq!(kinds("+ FIXED ( 0 0 ) N", false), [Fixed; 4]);
}
