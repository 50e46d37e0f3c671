//! Readers of each Bookshelf file: what they take, what they count, and what they say of an error.

use placefield::bookshelf::*;
use placefield::design::*;
use std::fs;
use std::path::Path;

mod aux {
    use super::*;

    fn read(text: &str) -> Result<Aux, String> {
        parse_aux(text.as_bytes(), Path::new("dir/a.aux")).map_err(|e| e.to_string())
    }

    #[test]
    fn aux_files_may_be_listed_in_any_order() {
        let aux = read(
            "#RowBasedPlacement : old.nodes\r\n\
             RowBasedPlacement :\tb.scl  b.x.pl b.nodes extra\r\n",
        );
        let aux = aux.unwrap();
        assert_eq!(aux.nodes, Path::new("dir/b.nodes"));
        assert_eq!(aux.pl.as_deref(), Some(Path::new("dir/b.x.pl")));
        assert_eq!((aux.nets, aux.wts), (None, None));
        assert_eq!(aux.others, ["extra"]);
    }

    #[test]
    fn wrong_kind_of_file_is_named() {
        let error = read("# made by hand\nUCLA nodes 1.0\nNumNodes : 1\n").unwrap_err();
        let want = "expected an .aux file, which names the design's other files, found `UCLA`";
        assert_eq!(error, format!("dir/a.aux:2:1: {want}"));
    }

    #[test]
    fn label_and_line_breaks_are_free() {
        assert!(read("b.nodes\nb.scl").is_ok());
        assert!(read("RowBasedPlacement: b.nodes b.NETS\n : b.scl # end").unwrap().nets.is_some());
    }

    #[test]
    fn names_with_blanks_are_quoted_or_escaped() {
        let aux = read("R : \"my design.nodes\" 'it\\ is.scl' my\\ old\\\\one.pl b\\c.nets # \"\n")
            .unwrap();
        assert_eq!(aux.nodes, Path::new("dir/my design.nodes"));
        assert_eq!(aux.scl, Path::new("dir/it\\ is.scl"));
        assert_eq!(aux.pl.as_deref(), Some(Path::new("dir/my old\\one.pl")));
        assert_eq!(aux.nets.as_deref(), Some(Path::new("dir/b\\c.nets")));
        let open = read("R : a.scl \"a b.nodes\n").unwrap_err();
        assert!(
            open.starts_with("dir/a.aux:1:11: expected a closing quote behind the file name"),
            "{open}"
        );
        assert!(read("R : a.scl \"\"").is_err());
    }

    #[test]
    fn compressed_files_go_by_their_inner_extension() {
        let aux = read("R : a.nodes.gz a.SCL.GZ a.pl b.gz").unwrap();
        assert_eq!(aux.nodes, Path::new("dir/a.nodes.gz"));
        assert_eq!(
            (aux.scl.as_path(), &aux.others[..]),
            (Path::new("dir/a.SCL.GZ"), &["b.gz".to_owned()][..])
        );
    }

    #[test]
    fn missing_and_doubled_files_are_errors() {
        let cases = [
            ("", "dir/a.aux:1:1: expected the name of a .nodes file, found end of file"),
            ("R : a.nodes\n", "dir/a.aux:2:1: expected the name of a .scl file, found end of file"),
            (
                "R : a.nodes b.nodes",
                "dir/a.aux:1:13: expected one file of each kind, found `b.nodes`",
            ),
            ("R : a\0.nodes", "dir/a.aux:1:5: expected a file name, found `a\\0.nodes`"),
        ];
        for (text, want) in cases {
            assert_eq!(read(text).unwrap_err(), want);
        }
    }
}

mod nodes {
    use super::*;

    fn read(text: &str) -> Result<Contents<Nodes>, String> {
        parse_nodes(text.as_bytes(), Path::new("d.nodes")).map_err(|e| e.to_string())
    }

    #[test]
    fn errors_name_line_and_column() {
        let cases = [
            ("", "1:1: expected a node, found end of file"),
            ("a 1 1\na2 x 1\n", "2:4: expected a width from 0 to 1e100, found `x`"),
            ("a 1\nb 1 1", "1:4: expected a height from 0 to 1e100, found end of line"),
            ("a 1", "1:4: expected a height from 0 to 1e100, found end of file"),
            ("a 1 -2\n", "1:5: expected a height from 0 to 1e100, found `-2`"),
            ("a nan 1\n", "1:3: expected a width from 0 to 1e100, found `nan`"),
            ("a 1 1e999\n", "1:5: expected a height from 0 to 1e100, found `1e999`"),
            ("a\x01 1 1\n", "1:1: expected the name of a node, found `a\\u{1}`"),
            ("NumNodes : 2\na 1 1\n", "1:12: expected 2 nodes as the header counts, found 1"),
            (
                "NumNodes : 1000000000000\na 1 1\n",
                "1:12: expected 1000000000000 nodes as the header counts, found 1",
            ),
            (
                "NumTerminals : 2\na 1 1 terminal\n",
                "1:16: expected 2 terminals as the header counts, found 1",
            ),
            (
                "NumNodes : 3\na 1 1\nb 1 1\n#\n a 2 2\n",
                "5:2: expected each node once, found `a` again (first on line 2)",
            ),
            ("UCLA pl 1.0\na 1 1\n", "1:6: expected a `nodes` file, found `pl`"),
        ];
        for (text, want) in cases {
            assert_eq!(read(text).unwrap_err(), format!("d.nodes:{want}"));
        }
    }

    #[test]
    fn terminal_ni_may_count_as_terminals_or_not() {
        for n in [1, 2] {
            assert!(
                read(&format!("NumTerminals : {n}\na 1 1 terminal\nb 1 1 terminal_NI\n")).is_ok()
            );
        }
    }

    #[test]
    fn headers_may_count_fewer() {
        let text = "NumNodes : 1\nNumTerminals : 0\na 1 1\nb 1 1 terminal\nc 1 1 terminal_NI\n";
        let file = read(text).unwrap();
        assert_eq!(file.content.len(), 3);
        assert_eq!(
            file.warnings,
            [
                "d.nodes: 2 nodes more than the header counts (counted on line 1: `1`)",
                "d.nodes: 2 terminals more than the header counts (counted on line 2: `0`)",
            ]
        );
    }

    #[test]
    fn unread_words_and_empty_nodes_are_counted() {
        let file = read("a 1 1 FOO\nb 1 1 BAR\nc 0 4\nd 0 0 terminal\n").unwrap();
        assert_eq!(
            file.warnings,
            [
                "d.nodes: 2 node lines end in words that are not read (first on line 1: `FOO`)",
                "d.nodes: 1 movable nodes have no area",
            ]
        );
    }
}

mod pl {
    use super::*;

    fn read(text: &str) -> Result<(Contents<Placement>, Vec<NodeKind>), String> {
        let mut names = Names::default();
        ["a", "b", "t", "ni"].iter().for_each(|n| names.push(n));
        let (m, f, ni) = (NodeKind::Movable, NodeKind::Fixed, NodeKind::FixedOverlappable);
        let mut kind = vec![m, m, f, ni];
        let file = parse_pl(text.as_bytes(), Path::new("d.pl"), &NameIndex::new(&names), &mut kind);
        file.map(|f| (f, kind)).map_err(|e| e.to_string())
    }

    #[test]
    fn placement_line_variants_are_read() {
        let (file, _) = read(
            "UCLA pl 1.0\r\n# c\r\nb\t-58377.6  12089.5 : FS\r\n  a  1e3 .5:W # c\r\n\
             t 0 0 : fe /Fixed\n\
             ni 459 470 : E /FIXED_NI",
        )
        .unwrap();
        assert_eq!(file.content.x, [1000.0, -58377.6, 0.0, 459.0]);
        assert_eq!(file.content.y, [0.5, 12089.5, 0.0, 470.0]);
        use Orientation::*;
        assert_eq!(file.content.orientation, [W, FS, FE, E]);
        assert!(file.warnings.is_empty());
    }

    #[test]
    fn nodes_without_an_orientation_lie_n() {
        let (file, kind) = read("\u{feff}a 1 2\nb 3 4 # c\nt 5 6 /FIXED\nni 7 8\t\r\n").unwrap();
        assert_eq!((&file.content.x[..], file.content.y[3]), (&[1.0, 3.0, 5.0, 7.0][..], 8.0));
        assert_eq!(file.content.orientation, [Orientation::N; 4]);
        assert_eq!((kind[2], file.warnings.len()), (NodeKind::Fixed, 0));
    }

    #[test]
    fn fixed_marks_fix_and_never_free() {
        let all = |mark: &str| ["a", "t", "ni"].map(|n| format!("{n} 0 0 : N {mark}\n")).concat();
        use NodeKind::*;
        for (mark, want) in [
            ("", [Movable, Movable, Fixed, FixedOverlappable]),
            ("/FIXED", [Fixed, Movable, Fixed, FixedOverlappable]),
            ("/FIXED_NI", [FixedOverlappable, Movable, FixedOverlappable, FixedOverlappable]),
        ] {
            let (file, kind) = read(&all(mark)).unwrap();
            assert_eq!(kind, want, "{mark}");
            assert_eq!(file.warnings, ["d.pl: 1 nodes are not placed and lie at 0 0"]);
        }
    }

    #[test]
    fn unplaced_fixed_nodes_are_counted_separately() {
        let (file, _) = read("a 0 0 : N\nni 0 0 : N\n").unwrap();
        let said = [
            "2 nodes are not placed and lie at 0 0",
            "1 of the nodes that are not placed are fixed",
        ];
        assert_eq!(file.warnings, said.map(|said| format!("d.pl: {said}")));
    }

    #[test]
    fn errors_name_line_and_column() {
        let cases = [
            ("", "1:1: expected the place of a node, found end of file"),
            (
                "a 1 2 : N\nzz 1 2 : N",
                "2:1: expected a node that the .nodes file describes, found `zz`",
            ),
            ("a 1 x : N", "1:5: expected a y coordinate, found `x`"),
            ("a inf 1 : N", "1:3: expected an x coordinate, found `inf`"),
            ("a 1 2", "1:6: expected `:` and an orientation, found end of file"),
            (
                "a 1 2 : X\n",
                "1:9: expected an orientation (N, S, E, W, FN, FS, FE or FW), found `X`",
            ),
            (
                "a 1 2 : N\nb 1 2 : N\n\n a 1 3 : S",
                "4:2: expected each node once, found `a` again (first on line 1)",
            ),
        ];
        for (text, want) in cases {
            assert_eq!(read(text).unwrap_err(), format!("d.pl:{want}"));
        }
    }

    #[test]
    fn unread_words_are_counted() {
        let (file, _) = read("a 1 2 : N /PLACED\nb 1 2 : N\nt 0 0 : N\nni 0 0 : N\n").unwrap();
        let want = "d.pl: 1 places end in words that are not read (first on line 1: `/PLACED`)";
        assert_eq!(file.warnings, [want]);
    }
}

mod nets {
    use super::*;

    fn nodes() -> Nodes {
        let mut names = Names::default();
        ["a", "b|c", "d"].iter().for_each(|n| names.push(n));
        let kind = vec![NodeKind::Movable; 3];
        let (width, height) = (vec![10.0, 20.0, 30.0], vec![4.0, 6.0, 8.0]);
        Nodes { names, width, height, kind, ..Nodes::default() }
    }

    fn read(text: &str, offset: PinOffset) -> Result<Contents<Nets>, String> {
        let nodes = nodes();
        let index = NameIndex::new(&nodes.names);
        parse_nets(text.as_bytes(), Path::new("d.nets"), &nodes, &index, offset)
            .map_err(|e| e.to_string())
    }

    const DIALECTS: &str = "UCLA nets 1.0\r\n# c\r\nNumPins : 6\r\nNumNets : 3\r\n\
        NetDegree : 2   n0\r\n\ta\tI : -1.5\t-6e0\r\n\td O: 2 3\r\n\r\n\
        netdegree: 3 # unnamed\r\n b|c B \r\n# c\r\n a\r\n d I : 0.0 0.0 : 0.06 4.38 X.0\r\n\
        NetDegree : 1 n0\r\nb|c : 1 1";

    #[test]
    fn net_and_pin_line_variants_are_read() {
        let Contents { content: nets, warnings } = read(DIALECTS, PinOffset::Center).unwrap();
        assert_eq!(nets.names.iter().collect::<Vec<_>>(), ["n0", "", "n0"]);
        assert_eq!(nets.net_start, [0, 2, 5, 6]);
        assert_eq!(nets.pin_node, [0, 2, 1, 0, 2, 1]);
        assert_eq!(nets.pin_dx, [-1.5, 2.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(nets.pin_dy, [-6.0, 3.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(nets.weight, [1.0; 3]);
        assert_eq!(warnings, ["d.nets: 1 nets have fewer than two pins and no wirelength"]);
    }

    #[test]
    fn lower_left_offsets_are_moved_to_the_centre() {
        let Contents { content: nets, .. } = read(DIALECTS, PinOffset::LowerLeft).unwrap();
        assert_eq!(nets.pin_dx, [-6.5, -13.0, 0.0, 0.0, -15.0, -9.0]);
        assert_eq!(nets.pin_dy, [-8.0, -1.0, 0.0, 0.0, -4.0, -2.0]);
    }

    #[test]
    fn nets_without_pins_and_pins_twice_are_kept() {
        let nets = read("NetDegree : 0 e\nNetDegree : 2 f\na I\na I\n", PinOffset::Center)
            .unwrap()
            .content;
        assert_eq!((nets.net_start, nets.pin_node), (vec![0, 0, 2], vec![0, 0]));
        assert_eq!(read("NumNets : 0\n", PinOffset::Center).unwrap().content.net_start, [0]);
        let fewer = read("NumPins : 1\nNetDegree : 2\na\nd\n", PinOffset::Center).unwrap();
        let warning = "d.nets: 1 pins more than the header counts (counted on line 1: `1`)";
        assert_eq!(fewer.content.pins(), 2);
        assert_eq!(fewer.warnings, [warning]);
    }

    #[test]
    fn errors_name_line_and_column() {
        let cases = [
            ("", "1:1: expected `NetDegree`, found end of file"),
            ("a I : 1 1\n", "1:1: expected `NetDegree`, found `a`"),
            ("NetDegree : 1\na I\nd I\n", "3:1: expected `NetDegree`, found `d`"),
            (
                "NetDegree : 2 n\na I\n",
                "3:1: expected pin 2 of the 2 of net `n`, found end of file",
            ),
            (
                "NetDegree : 2 n\na I : 1 0",
                "2:10: expected pin 2 of the 2 of net `n`, found end of file",
            ),
            (
                "NetDegree : 2 n\na I\nNetDegree : 0\n",
                "3:1: expected pin 2 of the 2 of net `n`, found `NetDegree`",
            ),
            (
                "NetDegree : 1000000000000\na I\n",
                "3:1: expected pin 2 of the 1000000000000 of net ``, found end of file",
            ),
            ("NetDegree : -1\n", "1:13: expected a number of pins, found `-1`"),
            (
                "NetDegree : 1\nq I\n",
                "2:1: expected a node that the .nodes file describes, found `q`",
            ),
            ("NetDegree : 1\na I : x 1\n", "2:7: expected an x offset, found `x`"),
            ("NetDegree : 1\na I : 1", "2:8: expected a y offset, found end of file"),
            ("NetDegree : 1\na I : 1 nan\n", "2:9: expected a y offset, found `nan`"),
            ("NetDegree : 1\na X : 1 1\n", "2:3: expected a pin direction (I, O or B), found `X`"),
            ("NetDegree : 1\na 1 1\n", "2:3: expected a direction, `:` or end of line, found `1`"),
            ("NumNets : 2\nNetDegree : 0\n", "1:11: expected 2 nets as the header counts, found 1"),
            (
                "NumPins : 2\nNetDegree : 1\na\n",
                "1:11: expected 2 pins as the header counts, found 1",
            ),
        ];
        for (text, want) in cases {
            let got = read(text, PinOffset::Center).unwrap_err();
            assert_eq!(got, format!("d.nets:{want}"));
        }
    }
}

mod wts {
    use super::*;

    fn read(text: &str) -> Result<Contents<Vec<f64>>, String> {
        let mut nets = Names::default();
        ["n0", "", "n.1", "n0"].iter().for_each(|n| nets.push(n));
        let mut nodes = Names::default();
        ["o5", "o6"].iter().for_each(|n| nodes.push(n));
        let nodes = NameIndex::new(&nodes);
        parse_wts(text.as_bytes(), Path::new("d.wts"), &nets, &nodes).map_err(|e| e.to_string())
    }

    #[test]
    fn nets_are_weighed_by_name() {
        let file = read("UCLA wts 1.0\r\n# c\r\n\r\n\tn.1  1.428e+06\r\nn0\t0 # c\r\n").unwrap();
        assert_eq!(file.content, [0.0, 1.0, 1.428e6, 1.0]);
        assert!(file.warnings.is_empty());
    }

    #[test]
    fn a_file_without_weights_is_fine() {
        for text in ["", "UCLA wts 1.0\n", "# only\n# comments"] {
            assert_eq!(read(text).unwrap().content, [1.0; 4], "{text}");
        }
    }

    #[test]
    fn weights_of_unknown_names_are_counted() {
        let file = read("o5 9\no1 3\nn0 2\no2 4\no6 1").unwrap();
        assert_eq!(file.content, [2.0, 1.0, 1.0, 1.0]);
        let want =
            "d.wts: 2 weights are of names that no net and no node has (first on line 2: `o1`)";
        assert_eq!(file.warnings, [want]);
    }

    #[test]
    fn errors_name_line_and_column() {
        let cases = [
            ("n0", "1:3: expected a weight from 0 to 1e100, found end of file"),
            ("n0 x\n", "1:4: expected a weight from 0 to 1e100, found `x`"),
            ("n0 -1\n", "1:4: expected a weight from 0 to 1e100, found `-1`"),
            ("n0 inf\n", "1:4: expected a weight from 0 to 1e100, found `inf`"),
            ("n0 1 2\n", "1:6: expected end of line, found `2`"),
            ("UCLA pl 1.0\n", "1:6: expected a `wts` file, found `pl`"),
        ];
        for (text, want) in cases {
            assert_eq!(read(text).unwrap_err(), format!("d.wts:{want}"));
        }
    }
}

mod scl {
    use super::*;

    fn read(text: &str) -> Result<Vec<Row>, String> {
        let file = parse_scl(text.as_bytes(), Path::new("d.scl"));
        file.map(|f| f.content).map_err(|e| e.to_string())
    }

    #[test]
    fn row_variants_are_read() {
        let want = Row {
            x: -5.5,
            y: 459.0,
            height: 12.0,
            site_width: 1.0,
            pitch: 2.0,
            sites: 96,
            orientation: Orientation::FS,
            ..Row::default()
        };
        let rest =
            "Siteorient : FS\nSitesymmetry : Y\nSitewidth : 1 \n Sitespacing : 2\nHeight:12\n";
        for text in [
            format!(
                "UCLA scl 1.0\n\nNumRows : 1\nCoreRow Horizontal\nCoordinate : 459\n\
                 {rest}SubrowOrigin : -5.5\tNumSites : 96\nEnd\n"
            ),
            format!(
                "Numrows : \t1\nCoreRow Horizontal\n{rest}SubrowOrigin : -5.5\nNumsites : 96\n\
                 Coordinate : 459\nEnd"
            ),
            format!(
                "\u{feff}CoreRow Horizontal\n{rest}# c\nNumSites : 96.0 SubrowOrigin : -5.5 # c\n\
                 Coordinate : 4.59e2\nEnd\n"
            ),
            format!(
                "corerow horizontal\r\n{}numsites : 96\r\nsubroworigin : -5.5\r\n\
                 coordinate : 459\r\nend\r\n",
                rest.replace('\n', "\r\n").replace(": Y", ":")
            ),
        ] {
            assert_eq!(read(&text).unwrap(), [want], "{text}");
        }
    }

    #[test]
    fn subrows_become_rows() {
        let text = "NumRows : 2\nCoreRow Horizontal\nCoordinate : 0\nHeight : 2\nSitewidth : 1\n\
            SubrowOrigin : 0 NumSites : 10\nSubrowOrigin : 20 NumSites : 5\nEnd\n\
            CoreRow Horizontal\nCoordinate : 2\nHeight : 2\nSitespacing : 1\n\
            NumSites : 7\nSubrowOrigin : 3\nNumSites : 0\nSubrowOrigin : 30\nEnd\n";
        let rows = read(text).unwrap();
        let spans: Vec<_> = rows.iter().map(|r| (r.x, r.y, r.sites)).collect();
        assert_eq!(spans, [(0.0, 0.0, 10), (20.0, 0.0, 5), (3.0, 2.0, 7)]);
        let warnings = parse_scl(text.as_bytes(), Path::new("d.scl")).unwrap().warnings;
        assert_eq!(warnings, ["d.scl: 1 subrows have no sites and are left out"]);
    }

    #[test]
    fn errors_name_line_and_column() {
        let row = |lines: &str| format!("CoreRow Horizontal\n{lines}\nEnd\n");
        let whole = "Coordinate : 0\nHeight : 2\nSitewidth : 1\nSubrowOrigin : 0 NumSites : 10";
        let cases = [
            (String::new(), "1:1: expected `CoreRow`, found end of file"),
            ("NumRows : 0\n".into(), "2:1: expected `CoreRow`, found end of file"),
            (
                format!("NumRows : 2\n{}", row(whole)),
                "1:11: expected 2 rows as the header counts, found 1",
            ),
            (row(whole) + "junk", "7:1: expected `CoreRow`, found `junk`"),
            ("CoreRow Vertical\n".into(), "1:9: expected `Horizontal`, found `Vertical`"),
            (
                format!("CoreRow Horizontal\n{whole}"),
                "5:31: expected a key of a row or `End`, found end of file",
            ),
            (row("Height : 0"), "2:10: expected a height above 0, found `0`"),
            (row("Height 5"), "2:8: expected `:`, found `5`"),
            (row("Depth : 5"), "2:1: expected a key of a row or `End`, found `Depth`"),
            (row("Coordinate : 0"), "3:1: expected `Height` of the row, found `End`"),
            (
                row(&whole.replace("NumSites : 10", "")),
                "6:1: expected `NumSites` of the subrow, found `End`",
            ),
            (row(&whole.replace(": 10", ": -1")), "5:29: expected a number of sites, found `-1`"),
            (
                row(&whole.replace(": 10", ": 0")),
                "7:1: expected a subrow with sites, found end of file",
            ),
            (
                row("SubrowOrigin : 1\nSubrowOrigin : 2"),
                "3:1: expected `NumSites` of the subrow before, found `SubrowOrigin`",
            ),
        ];
        for (text, want) in cases {
            assert_eq!(read(&text).unwrap_err(), format!("d.scl:{want}"), "{text}");
        }
    }
}

mod pin_offset {
    use super::*;

    /// Returns one cell of 10 × 4 with pins at these offsets from its centre.
    fn design(pins: &[(f64, f64)]) -> Design {
        Design {
            nodes: Nodes {
                width: vec![10.0],
                height: vec![4.0],
                kind: vec![NodeKind::Movable],
                ..Nodes::default()
            },
            placement: Placement { x: vec![0.0], y: vec![0.0], orientation: vec![Orientation::E] },
            nets: Some(Nets {
                net_start: vec![0, pins.len() as u32],
                weight: vec![1.0],
                pin_node: vec![0; pins.len()],
                pin_dx: pins.iter().map(|p| p.0).collect(),
                pin_dy: pins.iter().map(|p| p.1).collect(),
                ..Nets::default()
            }),
            ..Design::default()
        }
    }

    #[test]
    fn wrong_pin_offset_conventions_are_noticed() {
        // From the corner: (0, 0), (10, 1), (9, 4), (3, 3); read as if from the centre.
        let read = design(&[(0.0, 0.0), (10.0, 1.0), (9.0, 4.0), (3.0, 3.0)]);
        let found = pins_outside(&read, PinOffset::Center);
        assert_eq!((found.pins, found.outside, found.otherwise, found.first), (4, 3, 0, Some(1)));
        let hint = pin_offset_hint(&read, PinOffset::Center).unwrap();
        assert!(
            hint.message.ends_with("0 with --pin-offset lower-left")
                && hint.message.contains("node 0"),
            "{hint}"
        );
        // The other way round: centred ones, from which half a cell was taken.
        let read = design(&[(-9.0, -3.0), (-1.0, -1.0), (-5.0, -2.0)]);
        let hint = pin_offset_hint(&read, PinOffset::LowerLeft).unwrap();
        assert!(hint.message.ends_with("0 with --pin-offset center"), "{hint}");
    }

    #[test]
    fn pins_on_the_edge_are_inside_the_cell() {
        let read = design(&[(5.0, 2.0), (-5.0, -2.0)]);
        assert_eq!(pin_offset_hint(&read, PinOffset::Center), None);
        assert_eq!(pins_outside(&design(&[(2.0, 5.0)]), PinOffset::Center).outside, 1);
    }
}

mod large {
    use super::*;

    const NODES: usize = 70_000;

    /// Returns a design whose `.nodes`, `.pl` and `.nets` are read chunk by chunk, each with its
    /// end as given.
    fn design(ends: [&str; 3]) -> (tempfile::TempDir, Result<Loaded, FileError>) {
        let lines = |head: &str, line: &dyn Fn(usize) -> String, end: &str| {
            let text = head.to_owned() + &(0..NODES).map(line).collect::<String>() + end;
            assert!(text.len() > 1 << 20);
            text
        };
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let [nodes, pl, nets] = ends;
        write(
            "d.nodes",
            &lines("UCLA nodes 1.0\n", &|i| format!("node{i}\t{}\t12\n", i % 40), nodes),
        );
        let place = |i| format!("node{i}\t{}.5\t{} : N\n", i % 999, i * 7);
        write("d.pl", &lines("UCLA pl 1.0\n", &place, pl));
        let net =
            |i| format!("NetDegree : 2 n{i}\nnode{i} I : -0.5 3\nnode{} O\n", (i * 31) % NODES);
        write("d.nets", &lines("NumPins : 140000\n", &net, nets));
        write(
            "d.scl",
            "CoreRow Horizontal\nCoordinate : 0\nHeight : 12\nSitewidth : 1\n\
             SubrowOrigin : 0 NumSites : 10\nEnd\n",
        );
        write("d.aux", "RowBasedPlacement : d.nodes d.nets d.pl d.scl");
        let loaded = read_design(&folder.path().join("d.aux"), &ReadOptions::default());
        (folder, loaded)
    }

    #[test]
    fn large_files_hold_what_their_texts_do() {
        let (folder, loaded) = design(["", "", ""]);
        let Loaded { design, bytes_read, files, .. } = loaded.unwrap();
        let text = |name: &str| fs::read(folder.path().join(name)).unwrap();
        let path = Path::new("d");
        let mut nodes = parse_nodes(&text("d.nodes"), path).unwrap().content;
        let index = NameIndex::new(&nodes.names);
        let pl = parse_pl(&text("d.pl"), path, &index, &mut nodes.kind).unwrap();
        let nets = parse_nets(&text("d.nets"), path, &nodes, &index, PinOffset::Center).unwrap();
        assert_eq!(design.nets.unwrap(), nets.content);
        assert_eq!(design.placement, pl.content);
        assert_eq!(design.nodes, nodes);
        let sizes = files.iter().map(|file| fs::metadata(file).unwrap().len());
        assert_eq!((files.len(), bytes_read), (5, sizes.sum()));
    }

    #[test]
    fn complaints_about_large_files_name_the_place() {
        let pins = "NetDegree : 1 e\nnode7 I : 1 x\n";
        for (ends, file, want) in [
            (
                ["a 1\n", "", ""],
                "d.nodes",
                "70002:4: expected a height from 0 to 1e100, found end of line",
            ),
            (
                ["node7 1 1\n", "", ""],
                "d.nodes",
                "70002:1: expected each node once, found `node7` again (first on line 9)",
            ),
            (
                ["", "zz 1 1 : N\n", ""],
                "d.pl",
                "70002:1: expected a node that the .nodes file describes, found `zz`",
            ),
            (
                ["", "node7 1 1 : N\n", ""],
                "d.pl",
                "70002:1: expected each node once, found `node7` again (first on line 9)",
            ),
            (["", "", pins], "d.nets", "210003:13: expected a y offset, found `x`"),
        ] {
            let (folder, loaded) = design(ends);
            let path = folder.path().join(file);
            assert_eq!(loaded.unwrap_err().to_string(), format!("{}:{want}", path.display()));
        }
        let (folder, loaded) = design(["a 1 1 FOO\n", "", ""]);
        let odd = "1 node lines end in words that are not read (first on line 70002: `FOO`)";
        let odd = format!("{}: {odd}", folder.path().join("d.nodes").display());
        assert!(loaded.unwrap().warnings.iter().any(|w| *w == odd));
        let (folder, loaded) = design(["", "", "NetDegree : 1 e\nnode7\n"]);
        let more = "1 pins more than the header counts (counted on line 1: `140000`)";
        let more = format!("{}: {more}", folder.path().join("d.nets").display());
        assert!(loaded.unwrap().warnings.iter().any(|w| *w == more));
    }
}
