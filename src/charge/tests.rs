//! Totals, fillers, blockage, and rejected input.

use super::*;
use crate::design::{Fence as DesignFence, Halo, Nodes, Orientation, Placement};

const DIE: Rect = Rect { xl: 10.0, yl: 20.0, xh: 110.0, yh: 80.0 };

fn grid() -> BinGrid {
    BinGrid::new(DIE, 20, 6).unwrap()
}

fn options(target_density: f64) -> ChargeOptions {
    ChargeOptions { target_density, ..ChargeOptions::default() }
}

/// Returns `n` cells of 4 × 2 in a line.
fn cells(n: usize) -> [Vec<f64>; 4] {
    let x = (0..n).map(|i| 10.0 + i as f64).collect();
    [vec![4.0; n], vec![2.0; n], x, vec![30.0; n]]
}

fn rectangles<'a>(cells: &'a [Vec<f64>; 4], fixed: &'a [Rect]) -> Rectangles<'a> {
    let [width, height, x, y] = cells;
    Rectangles { width, height, x, y, fixed, row_height: Some(2.0), ..Rectangles::default() }
}

#[test]
fn fillers_take_the_space_that_is_left() {
    let cells = cells(100);
    // 600 taken, 200 of it twice, and 400 of a third cell outside.
    let fixed = [
        Rect::at(20.0, 30.0, 20.0, 20.0),
        Rect::at(30.0, 30.0, 20.0, 20.0),
        Rect::at(100.0, 60.0, 20.0, 20.0),
    ];
    let options = ChargeOptions { fillers: true, ..options(0.5) };
    let charge = Charge::from_rectangles(grid(), &rectangles(&cells, &fixed), &options).unwrap();
    assert_eq!((charge.movable_area, charge.fixed_area), (800.0, 1000.0));
    assert_eq!(charge.fixed_clipped, Clipped { area: 200.0, wholly: 0, partly: 1 });
    // (6000 − 600 − 200) · 0.5 − 800 = 1800 in fillers of 4 × 2
    assert_eq!((charge.fillers(), charge.filler_area()), (225, 1800.0));
    for f in charge.movable..charge.bodies() {
        let at = Rect::at(charge.initial_x[f], charge.initial_y[f], 4.0, 2.0);
        assert!(fixed::contains(&DIE, &at));
    }
    let again = Charge::from_rectangles(grid(), &rectangles(&cells, &fixed), &options).unwrap();
    assert_eq!(again.initial_x, charge.initial_x);
    let other = ChargeOptions { seed: 2, ..options };
    let other = Charge::from_rectangles(grid(), &rectangles(&cells, &fixed), &other).unwrap();
    assert_ne!(other.initial_x, charge.initial_x);
    assert_eq!(other.initial_x[..charge.movable], charge.initial_x[..charge.movable]);
}

#[test]
fn fillers_raise_a_target_that_is_too_low() {
    let cells = cells(300); // 2400 of 6000
    let asked = options(0.25);
    let fillers = ChargeOptions { fillers: true, ..asked };
    let plain = Charge::from_rectangles(grid(), &rectangles(&cells, &[]), &asked).unwrap();
    assert_eq!((plain.target_density(), plain.warnings.len()), (0.25, 0));
    let block = [Rect::at(10.0, 20.0, 10.0, 60.0)];
    let raised = Charge::from_rectangles(grid(), &rectangles(&cells, &block), &fillers).unwrap();
    assert_eq!((raised.target_density(), raised.fillers()), (2400.0 / 5400.0, 0));
    assert!(raised.warnings[0].message.contains("raised from 0.25"), "{:?}", raised.warnings);
    assert!((raised.fixed()[(1, 3)] - 50.0 * 2400.0 / 5400.0).abs() < 1e-12);
    let full = [DIE];
    let full = Charge::from_rectangles(grid(), &rectangles(&cells, &full), &fillers).unwrap();
    assert_eq!(full.target_density(), 1.0);
    assert_eq!(
        full.warnings[0],
        "target density raised from 0.25 to 1: there is no free space, \
         and the movable cells cannot fit"
    );
    // 2400 of 2000, and nothing left to raise.
    let most = [Rect::at(10.0, 20.0, 80.0, 50.0)];
    let fillers = ChargeOptions { fillers: true, ..options(1.0) };
    let crowded = Charge::from_rectangles(grid(), &rectangles(&cells, &most), &fillers).unwrap();
    assert_eq!(
        crowded.warnings,
        ["the movable cells fill 1.2000 of the free space and cannot fit"]
    );
}

#[test]
fn macros_are_large_and_tall_below_target_1() {
    let mut cells = cells(400);
    cells[0][7] = 40.0;
    cells[1][7] = 30.0;
    cells[0][8] = 1000.0; // large but no taller than two rows
    cells[1][8] = 4.0;
    let at = |t| Charge::from_rectangles(grid(), &rectangles(&cells, &[]), &options(t)).unwrap();
    let charge = at(0.8);
    assert_eq!((&charge.macros[..], charge.ratio[7]), (&[7][..], 0.8));
    assert_ne!(charge.ratio[8], 0.8);
    assert!(at(1.0).macros.is_empty() && at(1.0).ratio[7] == 1.0);
    let marks: Vec<bool> = (0..400).map(|i| i == 3).collect();
    let marked = Rectangles { macros: Some(&marks), ..rectangles(&cells, &[]) };
    assert_eq!(Charge::from_rectangles(grid(), &marked, &options(0.8)).unwrap().macros, [3]);
}

/// Marked cells of a tenth of a bin up to several bins along each axis.
#[test]
fn a_macro_counts_the_target_density_times_its_area() {
    let (bin_x, bin_y) = (grid().bin_x(), grid().bin_y());
    let sides = [0.1, 1.0, 1.3, 1.5, 4.0];
    let mut cells = cells(25);
    for k in 0..25 {
        (cells[0][k], cells[1][k]) = (sides[k % 5] * bin_x, sides[k / 5] * bin_y);
    }
    let marked = Rectangles { macros: Some(&[true; 25]), ..rectangles(&cells, &[]) };
    let charge = Charge::from_rectangles(grid(), &marked, &options(0.8)).unwrap();
    assert_eq!(charge.macros.len(), 25);
    for ((w, h), ratio) in charge.width.iter().zip(&charge.height).zip(&charge.ratio) {
        let charged = ratio * stretch(*w, bin_x) * stretch(*h, bin_y);
        assert!((charged - 0.8 * w * h).abs() < 1e-12 * w * h, "{w} x {h}: {charged}");
    }
}

/// Returns a design of one cell, a fixed block, a pad that blocks nothing and two rows.
fn design() -> Design {
    let row = |x, y, sites| Row {
        x,
        y,
        height: 10.0,
        site_width: 1.0,
        pitch: 1.0,
        sites,
        ..Row::default()
    };
    let mut design = Design {
        nodes: Nodes {
            width: vec![4.0, 10.0, 20.0],
            height: vec![2.0, 5.0, 20.0],
            kind: vec![NodeKind::Movable, NodeKind::Fixed, NodeKind::FixedOverlappable],
            ..Nodes::default()
        },
        placement: Placement {
            x: vec![10.0, 60.0, 10.0],
            y: vec![20.0, 40.0, 20.0],
            orientation: vec![Default::default(); 3],
        },
        rows: vec![row(10.0, 20.0, 100), row(10.0, 30.0, 50), row(40.0, 30.0, 30)],
        ..Design::default()
    };
    design.rows.push(row(10.0, 70.0, 100));
    design
}

#[test]
fn a_node_without_image_blocks_nothing() {
    let charge = Charge::from_design(&design(), grid(), &options(1.0)).unwrap();
    assert_eq!((charge.movable, charge.fixed_area), (1, 50.0));
    assert!((charge.fixed().as_slice().iter().sum::<f64>() - 50.0).abs() < 1e-10);
    assert!((charge.fixed()[(10, 2)] - 25.0).abs() < 1e-10, "5 of its 10 from x = 60, y = 40");
}

#[test]
fn area_outside_the_rows_blocks_on_request() {
    let on = ChargeOptions { row_blockage: true, ..options(0.5) };
    let charge = Charge::from_design(&design(), grid(), &on).unwrap();
    // Rows cover 20 + 10 of the height in full and 60 of 100 once: 3600 of 6000, and the
    // block covers 50 of the remaining area.
    assert!((charge.blockage_area - (6000.0 - 2600.0 - 50.0)).abs() < 1e-9);
    let taken = charge.fixed().as_slice().iter().sum::<f64>();
    assert!((taken - 0.5 * 3400.0).abs() < 1e-9, "{taken}");
    assert_eq!(charge.fixed()[(0, 0)], 0.0);
    assert!((charge.fixed()[(19, 1)] - 25.0).abs() < 1e-9, "right of the short rows");
    assert!((charge.fixed()[(11, 1)]).abs() < 1e-9, "in the short row");
    let sites = Charge::from_design(&design(), grid(), &options(0.5)).unwrap();
    assert_eq!(sites.blockage_area, 0.0);
}

#[test]
fn a_turned_node_has_its_sides_swapped() {
    let mut design = design();
    design.placement.orientation[0] = crate::design::Orientation::E;
    let charge = Charge::from_design(&design, grid(), &options(1.0)).unwrap();
    assert_eq!((charge.width[0], charge.height[0]), (2.0, 4.0));
}

#[test]
fn clipped_area_counts_cells_beyond_the_die() {
    let [width, height, _, _] = cells(4);
    let cells = [width, height, vec![8.0, 10.0, -50.0, 108.0], vec![30.0, 20.0, 30.0, 79.0]];
    let charge = Charge::from_rectangles(grid(), &rectangles(&cells, &[]), &options(1.0)).unwrap();
    let x: Vec<f32> = charge.initial_x.iter().map(|&v| v as f32).collect();
    let clipped = charge.clipped_area(&x, &x.iter().map(|_| 30.0).collect::<Vec<f32>>());
    assert_eq!(clipped, Clipped { area: 4.0 + 8.0 + 4.0, wholly: 1, partly: 2 });
    let clipped = charge.clipped_area(&charge.initial_x, &charge.initial_y);
    assert_eq!(clipped.area, 4.0 + 8.0 + 6.0);
}

#[test]
fn bad_input_is_an_error() {
    let good = cells(3);
    for t in [0.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
        let result = Charge::from_rectangles(grid(), &rectangles(&good, &[]), &options(t));
        assert!(matches!(result, Err(ChargeError::TargetDensity(_))), "{t}");
    }
    for (column, value) in [(0, -1.0), (1, f64::NAN), (2, f64::INFINITY), (0, 1e308)] {
        let mut bad = cells(3);
        bad[column][2] = value;
        bad[1][2] *= 10.0;
        let result = Charge::from_rectangles(grid(), &rectangles(&bad, &[]), &options(1.0));
        assert!(matches!(result, Err(ChargeError::BadNumber { index: 2, .. })), "{column} {value}");
    }
    let bad = [Rect::at(0.0, f64::NAN, 1.0, 1.0)];
    let result = Charge::from_rectangles(grid(), &rectangles(&good, &bad), &options(1.0));
    assert!(result.is_err());
    let short = Rectangles { x: &good[2][..2], ..rectangles(&good, &[]) };
    let result = Charge::from_rectangles(grid(), &short, &options(1.0));
    assert!(matches!(result, Err(ChargeError::Length { expected: 3, found: 2, .. })));
    let tiny = [vec![1e-4], vec![1e-4], vec![20.0], vec![20.0]];
    let tiny = Rectangles { row_height: Some(1e-4), ..rectangles(&tiny, &[]) };
    let fillers = ChargeOptions { fillers: true, ..options(1.0) };
    let result = Charge::from_rectangles(grid(), &tiny, &fillers);
    assert!(matches!(result, Err(ChargeError::TooManyFillers { .. })));
}

#[test]
fn charges_without_cells_are_accepted() {
    let fillers = ChargeOptions { fillers: true, ..options(0.9) };
    let charge = Charge::from_rectangles(grid(), &Rectangles::default(), &fillers).unwrap();
    assert_eq!((charge.bodies(), charge.movable_area), (0, 0.0));
}

#[test]
fn the_background_is_the_mean_rounded_for_f32() {
    let cells = cells(100);
    // 800 of cells and half of 600 fixed, of 6000.
    let block = [Rect::at(10.0, 20.0, 10.0, 60.0)];
    let half = Charge::from_rectangles(grid(), &rectangles(&cells, &block), &options(0.5)).unwrap();
    assert_eq!(half.background(), 188.0 / 1024.0);
    // A macro is weighted by the target density.
    let macros: Vec<bool> = (0..100).map(|i| i < 50).collect();
    let marked = Rectangles { macros: Some(&macros), ..rectangles(&cells, &[]) };
    let marked = Charge::from_rectangles(grid(), &marked, &options(0.5)).unwrap();
    assert_eq!(marked.background(), 102.0 / 1024.0);
    // Full, however much lies in one place.
    let mut heap =
        Charge::from_rectangles(grid(), &rectangles(&cells, &[DIE]), &options(1.0)).unwrap();
    assert_eq!(heap.background(), 1.0);
    heap.width.fill(1e100);
    heap.height.fill(1e200);
    assert_eq!(heap.background(), 1.0);
    let none = Charge::from_rectangles(grid(), &Rectangles::default(), &options(1.0)).unwrap();
    assert_eq!(none.background(), 0.0);
}

#[test]
fn inconsistent_designs_are_errors() {
    for change in [
        |d: &mut Design| d.nodes.height.truncate(2),
        |d: &mut Design| d.placement.x.push(1.0),
        |d: &mut Design| d.placement.orientation.clear(),
        |d: &mut Design| {
            d.nets = Some(crate::design::Nets { pin_node: vec![9], ..Default::default() })
        },
    ] {
        let mut bad = design();
        change(&mut bad);
        let result = Charge::from_design(&bad, grid(), &options(1.0));
        assert!(matches!(result, Err(ChargeError::Design(_))), "{result:?}");
    }
}

#[test]
fn refused_fillers_leave_the_charge_unchanged() {
    let cells = cells(3);
    let mut charge =
        Charge::from_rectangles(grid(), &rectangles(&cells, &[]), &options(1.0)).unwrap();
    let error = charge.add_fillers(1.0, 1.0, &[20.0, 30.0], &[30.0]).unwrap_err();
    assert_eq!(error, ChargeError::Length { what: "y of fillers", expected: 2, found: 1 });
    for (width, height, x) in [
        (-1.0, 1.0, 20.0),
        (1.0, f64::NAN, 20.0),
        (f64::INFINITY, 0.0, 20.0),
        (1e200, 1e200, 20.0),
        (1.0, 1.0, f64::NEG_INFINITY),
    ] {
        let result = charge.add_fillers(width, height, &[x], &[30.0]);
        assert!(matches!(result, Err(ChargeError::BadNumber { index: 0, .. })), "{width} {x}");
    }
    let result = charge.add_fillers(1e154, 1e154, &[20.0; 2], &[30.0; 2]);
    assert_eq!(result, Err(ChargeError::TotalArea("fillers")));
    assert!(charge.set_initial(&[20.0; 2], &[30.0; 3]).is_err());
    assert!(charge.set_initial(&[20.0; 3], &[30.0, f64::NAN, 30.0]).is_err());
    assert_eq!(
        (charge.bodies(), charge.initial_x(), charge.initial_y()),
        (3, &cells[2][..], &cells[3][..])
    );
    charge.add_fillers(2.0, 1.0, &[20.0, 30.0], &[30.0, 40.0]).unwrap();
    assert_eq!((charge.bodies(), charge.fillers(), charge.filler_area()), (5, 2, 4.0));
    assert!(
        [charge.width(), charge.height(), charge.ratio(), charge.initial_x(), charge.initial_y()]
            .iter()
            .all(|column| column.len() == 5)
    );
    charge.set_initial(&[20.0; 5], &[30.0; 5]).unwrap();
    assert_eq!(charge.initial_positions::<f32>(), (vec![20.0; 5], vec![30.0; 5]));
}

#[test]
fn areas_that_overflow_together_are_an_error() {
    let huge = [vec![1e154; 2], vec![1e154; 2], vec![0.0; 2], vec![0.0; 2]];
    let result = Charge::from_rectangles(grid(), &rectangles(&huge, &[]), &options(1.0));
    assert_eq!(result.unwrap_err(), ChargeError::TotalArea("movable cells"));
    let blocks = [Rect::at(0.0, 0.0, 1e154, 1e154); 2];
    let result = Charge::from_rectangles(grid(), &rectangles(&cells(1), &blocks), &options(1.0));
    assert_eq!(result.unwrap_err(), ChargeError::TotalArea("fixed cells"));
}

#[test]
fn area_outside_the_die_area_is_blocked() {
    let mut design = design();
    // The die [10, 110] × [20, 80] without its upper half from x = 60 on.
    design.die_area = vec![Rect::at(0.0, 0.0, 200.0, 50.0), Rect::at(0.0, 50.0, 60.0, 50.0)];
    let charge = Charge::from_design(&design, grid(), &options(1.0)).unwrap();
    assert_eq!(charge.blockage_area(), 50.0 * 30.0);
    assert_eq!((charge.fixed()[(10, 3)], charge.fixed()[(9, 3)]), (50.0, 0.0));
}

/// A region of 20 × 30 with one member of 8, and one cell of no region.
#[test]
fn a_fence_that_admits_others_is_not_blocked_for_them() {
    let mut design = design();
    let rects = vec![Rect::at(10.0, 20.0, 20.0, 30.0)];
    design.fences = vec![DesignFence { rects, admits_others: true, ..DesignFence::default() }];
    design.nodes.kind[1] = NodeKind::Movable;
    design.nodes.fence = vec![Some(0), None, None];
    let charge = Charge::from_design(&design, grid(), &options(1.0)).unwrap();
    assert_eq!(charge.regions(), 2);
    let members = charge.region_fixed(0);
    assert_eq!((members[(0, 0)], members[(4, 0)], members[(0, 3)]), (0.0, 50.0, 50.0));
    // The member's share of the region is taken from the others.
    let others = charge.region_fixed(1);
    assert!((others[(0, 0)] - 50.0 * 8.0 / 600.0).abs() < 1e-12 && others[(4, 0)] == 0.0);
    // An exclusive fence in the region is closed to its members.
    let rects = vec![Rect::at(10.0, 20.0, 5.0, 10.0)];
    design.fences.push(DesignFence { rects, ..DesignFence::default() });
    design.nodes.fence[1] = Some(1);
    let options = options(1.0).allow_overfull(true);
    let charge = Charge::from_design(&design, grid(), &options).unwrap();
    assert_eq!((charge.region_fixed(0)[(0, 0)], charge.region_fixed(0)[(1, 0)]), (50.0, 0.0));
    assert!(charge.warnings().is_empty(), "{:?}", charge.warnings());
    design.nodes.width[1] = 11.0;
    let charge = Charge::from_design(&design, grid(), &options).unwrap();
    assert!(charge.warnings()[0].message.ends_with("more area than is free in it"));
}

#[test]
fn bodies_of_large_cells_are_wider() {
    // Areas 40, 40, 320 and 6000, of which the last is a macro: the mean is 400 / 3.
    let design = Design {
        nodes: Nodes {
            width: vec![4.0, 4.0, 32.0, 100.0],
            height: vec![10.0, 10.0, 10.0, 60.0],
            kind: vec![NodeKind::Movable; 4],
            ..Nodes::default()
        },
        placement: Placement {
            x: vec![10.0, 20.0, 30.0, 10.0],
            y: vec![20.0; 4],
            orientation: vec![Default::default(); 4],
        },
        rows: (0..6)
            .map(|k| Row {
                x: 10.0,
                y: 20.0 + 10.0 * f64::from(k),
                height: 10.0,
                site_width: 1.0,
                pitch: 1.0,
                sites: 100,
                ..Row::default()
            })
            .collect(),
        ..Design::default()
    };
    let grid = BinGrid::new(Rect::at(10.0, 20.0, 1000.0, 600.0), 20, 12).unwrap();
    let plain = Charge::from_design(&design, grid, &ChargeOptions::default()).unwrap();
    assert!(plain.margins().is_empty());
    let options = ChargeOptions::default().widen_large(true);
    let wider = Charge::from_design(&design, grid, &options).unwrap();
    // 4 % for each doubling of the mean area.
    let width = 32.0 * (1.0 + 0.04 * (320.0 / (400.0 / 3.0_f64)).log2());
    assert!((wider.width()[2] - width).abs() < 1e-12, "{}", wider.width()[2]);
    assert_eq!([wider.width()[0], wider.width()[1], wider.width()[3]], [4.0, 4.0, 100.0]);
    assert_eq!(wider.height(), plain.height());
    // About the same centre.
    assert!((wider.initial_x()[2] - (46.0 - width / 2.0)).abs() < 1e-12);
    let (mut x, mut y) = (vec![0.0; 4], vec![0.0; 4]);
    wider.corners(&design, &mut x, &mut y);
    let mut settled = design.clone();
    wider.set_movable_positions(&mut settled, &x, &y);
    assert_eq!(settled.placement.x, design.placement.x);
}

/// A macro with a halo of four different sides on its side, a soft one, and a cell without a halo.
#[test]
fn halos_of_movable_nodes_belong_to_bodies_on_request() {
    let mut design = design();
    let count = design.nodes.len();
    for (width, height, orientation) in [(6.0, 50.0, Orientation::W), (9.0, 10.0, Orientation::N)] {
        design.nodes.width.push(width);
        design.nodes.height.push(height);
        design.nodes.kind.push(NodeKind::Movable);
        design.placement.x.push(20.0);
        design.placement.y.push(40.0);
        design.placement.orientation.push(orientation);
    }
    let node = count as u32;
    design.halos = vec![
        Halo { node, left: 1.0, bottom: 2.0, right: 3.0, top: 4.0, soft: false },
        Halo { node: node + 1, right: 5.0, soft: true, ..Halo::default() },
    ];
    let of = |design: &Design, halos| {
        Charge::from_design(design, grid(), &ChargeOptions::default().halos(halos)).unwrap()
    };
    let plain = of(&design, false);
    assert_eq!(plain.warnings()[0].code, WarningCode::HalosNotHeeded);
    assert!(plain.margins().is_empty());
    let charge = of(&design, true);
    assert!(charge.warnings().is_empty(), "{:?}", charge.warnings());
    let [block, cell] = [charge.movable() - 2, charge.movable() - 1];
    // Turned to the left, the top is at the left and the left side below.
    assert_eq!(charge.margin(block), [4.0, 1.0]);
    assert_eq!(
        (charge.width()[block], charge.height()[block]),
        (50.0 + 2.0 + 4.0, 6.0 + 1.0 + 3.0)
    );
    assert_eq!((charge.margin(cell), charge.width()[cell]), ([0.0; 2], 9.0 + 5.0));
    assert_eq!(charge.movable_area() - plain.movable_area(), 560.0 - 300.0 + 50.0);
    assert_eq!(charge.movable_macros(), plain.movable_macros());
    let (mut x, mut y) = (charge.initial_x().to_vec(), charge.initial_y().to_vec());
    assert_eq!([x[block], y[block]], [16.0, 39.0]);
    charge.corners(&design, &mut x, &mut y);
    assert_eq!((&x[..], &y[..]), (charge.initial_x(), charge.initial_y()));
    let mut settled = design.clone();
    charge.set_movable_positions(&mut settled, &x, &y);
    assert_eq!(settled.placement, design.placement);
    // No body is larger than the die, and halos shrink if the cells would not fit.
    design.halos[1].right = 1e9;
    let charge = of(&design, true);
    let die = grid().die();
    assert!(charge.width()[cell] <= die.width() && charge.width()[block] > 50.0);
    design.halos[0] = Halo { left: 1e9, top: 1e9, ..design.halos[0] };
    let charge = of(&design, true);
    assert!(charge.movable_area() <= die.area() - charge.fixed_area(), "{}", charge.movable_area());
}
