//! A design by itself: names, rows and die, nets by body, area that is blocked, and how far cells
//! moved.

use placefield::charge::{Charge, ChargeOptions};
use placefield::design::*;
use placefield::displacement;
use placefield::grid::{BinGrid, Rect};
use placefield::wirelength::{FIXED_PIN, LARGE_NET, Netlist};

mod columns {
    use super::*;

    fn names<'a>(list: impl IntoIterator<Item = &'a str>) -> Names {
        let mut names = Names::default();
        list.into_iter().for_each(|n| names.push(n));
        names
    }

    #[test]
    fn names_are_appended_in_order() {
        let mut all = names(["a", "", "bc"]);
        all.append(&names(["d", "", "é"])).unwrap();
        all.append(&Names::default()).unwrap();
        assert_eq!(all, names(["a", "", "bc", "d", "", "é"]));
        assert_eq!(all.iter().len(), 6);
        assert_eq!((all.get(1), all.get(5)), ("", "é"));
    }

    #[test]
    fn the_row_height_is_the_most_frequent_one() {
        let of = |heights: &[f64]| {
            let row =
                |&height| Row { height, site_width: 1.0, pitch: 1.0, sites: 1, ..Row::default() };
            Design { rows: heights.iter().map(row).collect(), ..Design::default() }.row_height()
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[9.0, 12.0, 12.0]), Some(12.0));
        assert_eq!(of(&[12.0, 9.0, 12.0, 9.0, 1.0]), Some(9.0));
    }

    #[test]
    fn nodes_are_fixed_and_made_movable() {
        use NodeKind::*;
        let nodes =
            Nodes { kind: vec![Movable, Fixed, FixedOverlappable, Movable], ..Nodes::default() };
        let mut design = Design { nodes, ..Design::default() };
        for node in 0..3 {
            design.set_movable(node, false).unwrap();
        }
        assert_eq!(design.nodes.kind, [Fixed, Fixed, FixedOverlappable, Movable]);
        for node in 1..4 {
            design.set_movable(node, true).unwrap();
        }
        assert_eq!(design.movable().collect::<Vec<_>>(), [1, 2, 3]);
        let error = design.set_movable(4, true).unwrap_err();
        assert_eq!(error.to_string(), "there is no node 4: the design has 4");
    }

    #[test]
    fn the_die_holds_all_rows_with_their_pitch() {
        let row = Row {
            x: -5.0,
            y: 2.0,
            height: 3.0,
            site_width: 1.0,
            pitch: 4.0,
            sites: 3,
            ..Row::default()
        };
        assert_eq!(row.rect(), Rect { xl: -5.0, yl: 2.0, xh: 4.0, yh: 5.0 });
        let rows = vec![row, Row { x: 1.0, y: 7.0, sites: 1, ..row }];
        let design = Design { rows, ..Design::default() };
        assert_eq!(design.die(), Some(Rect { xl: -5.0, yl: 2.0, xh: 4.0, yh: 10.0 }));
    }
}

mod netlist {
    use super::*;

    /// Two movable cells and a fixed one; nets of pins 0, 1 and 2, 3, 4.
    fn design() -> Design {
        use NodeKind::{Fixed, Movable};
        Design {
            nodes: Nodes {
                width: vec![2.0; 3],
                height: vec![4.0; 3],
                kind: vec![Movable, Fixed, Movable],
                ..Nodes::default()
            },
            placement: Placement {
                x: vec![0.0, 10.0, 20.0],
                y: vec![0.0; 3],
                orientation: vec![Orientation::N; 3],
            },
            nets: Some(Nets {
                net_start: vec![0, 2, 5],
                weight: vec![1.0, 2.0],
                pin_node: vec![0, 1, 2, 0, 1],
                pin_dx: vec![0.0; 5],
                pin_dy: vec![0.0; 5],
                ..Nets::default()
            }),
            ..Design::default()
        }
    }

    fn nets(design: &mut Design) -> &mut Nets {
        design.nets.as_mut().unwrap()
    }

    #[test]
    fn pins_are_by_body() {
        let list = Netlist::from_design(&design(), LARGE_NET).unwrap();
        assert_eq!(list.pin_body(), [0, FIXED_PIN, 1, 0, FIXED_PIN]);
        assert_eq!((list.body_start(), list.body_pin()), (&[0, 2, 3][..], &[0, 3, 2][..]));
        assert_eq!((list.pin_x()[0], list.pin_x()[1], list.pin_y()[1]), (1.0, 11.0, 2.0));
    }

    #[test]
    fn inconsistent_netlists_are_errors() {
        type Change = fn(&mut Design);
        let changes: [(Change, &str); 12] = [
            (|d| d.nets = None, "the design has no nets"),
            (|d| nets(d).pin_node[3] = 3, "pin 3 is on node 3, of 3"),
            (|d| nets(d).pin_node[0] = FIXED_PIN, "pin 0 is on node 4294967295, of 3"),
            (|d| nets(d).net_start[1] = 7, "net 0: its pins are 0..7 of 5"),
            (|d| nets(d).net_start = vec![3, 2, 5], "net 0: its pins are 3..2 of 5"),
            (|d| nets(d).net_start[2] = 4, "pins 0..4 of all nets, expected 0..5"),
            (|d| nets(d).net_start[0] = 1, "pins 1..5 of all nets, expected 0..5"),
            (
                |d| nets(d).net_start.truncate(2),
                "first pins of nets and their end: 2 values, expected 3",
            ),
            (
                |d| nets(d).weight.push(1.0),
                "first pins of nets and their end: 3 values, expected 4",
            ),
            (|d| nets(d).pin_dx.truncate(2), "x offsets of pins: 2 values, expected 5"),
            (|d| d.nodes.width.truncate(1), "widths of nodes: 1 values, expected 3"),
            (|d| d.placement.orientation.clear(), "orientations of nodes: 0 values, expected 3"),
        ];
        for (change, want) in changes {
            let mut bad = design();
            change(&mut bad);
            let error = Netlist::from_design(&bad, LARGE_NET).unwrap_err();
            assert_eq!(error.to_string(), want);
        }
        let mut unnamed = design();
        unnamed.nodes.names.push("one of three");
        let error = Netlist::from_design(&unnamed, LARGE_NET).unwrap_err();
        assert_eq!(error.to_string(), "names of nodes: 1 values, expected 3");
    }
}

mod blocked {
    use super::*;

    const DIE: Rect = Rect { xl: 0.0, yl: 0.0, xh: 80.0, yh: 40.0 };

    /// Returns two movable cells of 4 × 2, and a block of 10 × 20 that is rotated, on 20 × 10, at
    /// (20, 10).
    fn design() -> Design {
        let mut names = Names::default();
        ["a", "b", "block"].iter().for_each(|name| names.push(name));
        let nodes = Nodes {
            names,
            width: vec![4.0, 4.0, 10.0],
            height: vec![2.0, 2.0, 20.0],
            kind: vec![NodeKind::Movable, NodeKind::Movable, NodeKind::Fixed],
            ..Nodes::default()
        };
        let orientation = vec![Orientation::N, Orientation::N, Orientation::W];
        let placement =
            Placement { x: vec![50.0, 4.0, 20.0], y: vec![30.0, 4.0, 10.0], orientation };
        Design { nodes, placement, die_area: vec![DIE], ..Design::default() }
    }

    fn blockage(rect: Rect, kind: BlockageKind) -> Blockage {
        Blockage { rect, kind }
    }

    fn charge(design: &Design) -> Charge {
        let grid = BinGrid::new(DIE, 8, 4).unwrap();
        Charge::from_design(design, grid, &ChargeOptions::default()).unwrap()
    }

    #[test]
    fn halos_turn_with_the_node() {
        let halo = Halo { node: 2, left: 1.0, bottom: 2.0, right: 3.0, top: 4.0, soft: true };
        // A quarter turn counter-clockwise: the left halo is at the bottom, the top one at the
        // left.
        let design = Design { halos: vec![halo], ..design() };
        let want = Rect { xl: 16.0, yl: 9.0, xh: 42.0, yh: 23.0 };
        assert_eq!(halo.around(&design.rect(2), Orientation::W), want);
        let charge = charge(&design);
        assert_eq!(charge.fixed_area(), 200.0);
        assert_eq!(charge.blockage_area(), want.area() - 200.0);
        let taken: f64 = charge.fixed().as_slice().iter().sum();
        assert!((taken - want.area()).abs() < 1e-9);
        assert!(charge.warnings().is_empty());
        let movable = Design { halos: vec![Halo { node: 0, ..halo }], ..design };
        let charge = super::blocked::charge(&movable);
        assert_eq!((charge.blockage_area(), charge.warnings().len()), (0.0, 1));
    }

    #[test]
    fn blockages_take_area_once() {
        let mut design = design();
        design.blockages = vec![
            blockage(Rect::at(15.0, 10.0, 10.0, 10.0), BlockageKind::Hard),
            blockage(Rect::at(15.0, 10.0, 5.0, 20.0), BlockageKind::Soft),
            // 20 × 10, of which the block and what is closed cover 15 × 10.
            blockage(Rect::at(10.0, 10.0, 20.0, 10.0), BlockageKind::Partial(0.6)),
            // Over the same: 5 × 10 more.
            blockage(Rect::at(5.0, 10.0, 20.0, 10.0), BlockageKind::Partial(0.9)),
            blockage(Rect::at(0.0, 30.0, 30.0, 10.0), BlockageKind::Partial(1.0)),
        ];
        let charge = charge(&design);
        let closed = 5.0 * 20.0;
        let want = closed + 50.0 * 0.4 + 50.0 * 0.1;
        assert!((charge.blockage_area() - want).abs() < 1e-9, "{}", charge.blockage_area());
        let map = charge.fixed();
        assert!((map.as_slice().iter().sum::<f64>() - want - 200.0).abs() < 1e-9);
        assert!((map[(0, 1)] - 5.0).abs() < 1e-9 && map[(0, 3)] == 0.0, "{map:?}");
        assert!((map[(1, 1)] - 70.0).abs() < 1e-9, "{map:?}");
    }

    #[test]
    fn shares_beyond_one_are_refused() {
        let mut design = design();
        for share in [-0.1, 1.5, f64::NAN] {
            design.blockages = vec![blockage(DIE, BlockageKind::Partial(share))];
            let grid = BinGrid::new(DIE, 8, 4).unwrap();
            let error = Charge::from_design(&design, grid, &ChargeOptions::default()).unwrap_err();
            assert!(error.to_string().starts_with("partial blockage 0: "), "{error}");
        }
    }

    #[test]
    fn row_blockage_of_a_design_blocks_area() {
        let row = |y: f64, sites: u64| Row {
            y,
            height: 2.0,
            site_width: 1.0,
            pitch: 1.0,
            sites,
            ..Row::default()
        };
        let mut design = design();
        design.row_blockage = true;
        assert_eq!(charge(&design).blockage_area(), 0.0);
        design.rows =
            (0..20).map(|k| row(2.0 * f64::from(k), if k < 10 { 60 } else { 80 })).collect();
        assert!(charge(&design).row_blockage());
        assert_eq!(charge(&design).blockage_area(), 20.0 * 20.0);
        design.blockages = vec![blockage(Rect::at(50.0, 0.0, 20.0, 10.0), BlockageKind::Hard)];
        assert_eq!(charge(&design).blockage_area(), 20.0 * 20.0 + 10.0 * 10.0);
    }

    #[test]
    fn fences_of_a_design_are_regions() {
        let mut design = design();
        let fence = |name: &str, rects: Vec<Rect>| Fence {
            name: name.to_owned(),
            rects,
            ..Fence::default()
        };
        let off_die = Rect::at(100.0, 0.0, 5.0, 5.0);
        design.fences = vec![
            fence("empty", vec![Rect::at(0.0, 20.0, 10.0, 10.0)]),
            fence("f", vec![Rect::at(40.0, 20.0, 20.0, 20.0), off_die]),
        ];
        design.nodes.fence = vec![Some(1), None, None];
        let charge = charge(&design);
        assert_eq!((charge.regions(), charge.region(0), charge.region(1)), (2, 0, 1));
        assert_eq!((charge.region_name(0), charge.region_name(1)), (Some("f"), None));
        assert_eq!(charge.blockage_area(), 100.0);
        let taken = |region| charge.region_fixed(region).as_slice().iter().sum::<f64>();
        assert!((taken(0) - (3200.0 - 400.0)).abs() < 1e-9);
        assert!((taken(1) - (400.0 + 100.0 + 200.0)).abs() < 1e-9);
        let error = |design: &Design| {
            let grid = BinGrid::new(DIE, 8, 4).unwrap();
            let made = Charge::from_design(design, grid, &ChargeOptions::default());
            made.unwrap_err().to_string()
        };
        design.fences[1].rects = vec![off_die];
        assert!(error(&design).starts_with("fence 1, rectangle 0: "), "{}", error(&design));
        design.fences[1].rects = vec![Rect::at(0.0, 0.0, 2.0, 1.0)];
        assert!(error(&design).starts_with("region 1: "), "{}", error(&design));
    }
}

mod moved {
    use super::*;

    /// Cells of 4 × 2 in rows of height 2.
    fn design(count: usize) -> Design {
        Design {
            nodes: Nodes {
                width: vec![4.0; count],
                height: vec![2.0; count],
                kind: vec![NodeKind::Movable; count],
                ..Nodes::default()
            },
            placement: Placement {
                x: vec![0.0; count],
                y: vec![0.0; count],
                orientation: vec![Orientation::N; count],
            },
            rows: vec![Row { height: 2.0, sites: 9, ..Row::default() }],
            ..Design::default()
        }
    }

    #[test]
    fn distances_are_those_of_centres() {
        let mut design = design(4);
        design.nodes.kind[3] = NodeKind::Fixed;
        let from = design.placement.clone();
        let mut to = from.clone();
        (to.x, to.y) = (vec![3.0, 0.0, 1.0, 99.0], vec![-4.0, 0.0, -1.0, 99.0]);
        // Turned about its centre: 2 × 4 with the corner at (1, -1).
        to.orientation[2] = Orientation::W;
        let moved = displacement::between(&design, &from, &to).unwrap();
        assert_eq!((moved.cells, moved.moved, moved.turned), (3, 1, 1));
        assert_eq!(
            (moved.total, moved.mean, moved.median, moved.p95, moved.largest),
            (7.0, 7.0 / 3.0, 0.0, 7.0, 7.0)
        );
        let far = displacement::Moved { node: 0, distance: 7.0, from: (2.0, 1.0), to: (5.0, -3.0) };
        assert_eq!(moved.farthest, [far]);
    }

    #[test]
    fn the_histogram_holds_every_cell_once() {
        let design = design(40);
        let from = design.placement.clone();
        let mut to = from.clone();
        // 8 stay; the others move by 1, 2, 4, 8 … 128: half a row to 64 rows.
        to.x.iter_mut().enumerate().skip(8).for_each(|(i, x)| *x = 2f64.powi(i as i32 % 8));
        let moved = displacement::between(&design, &from, &to).unwrap();
        assert_eq!(moved.histogram[0], displacement::Range { from: 0.0, to: 0.0, cells: 8 });
        assert!(moved.histogram[1..].iter().all(|r| r.cells == 4 && r.to == 2.0 * r.from));
        assert_eq!((moved.histogram[1].from, moved.histogram[8].to), (1.0, 256.0));
        assert_eq!(moved.p95, 128.0);
        assert_eq!((moved.median, moved.farthest.len(), moved.farthest[0].node), (6.0, 10, 15));
        let still = displacement::between(&design, &from, &from).unwrap();
        assert_eq!((still.histogram.len(), still.largest, still.farthest.len()), (1, 0.0, 0));
    }

    #[test]
    fn placements_of_other_designs_are_refused() {
        let (design, other) = (design(3), design(2));
        let error =
            displacement::between(&design, &design.placement, &other.placement).unwrap_err();
        assert_eq!(error.to_string(), "x of nodes: 2 values, expected 3");
    }
}
