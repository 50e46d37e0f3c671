//! Planted faults, each of which is found and nothing else with it; and designs without one.

use crate::common::design_dir;
use placefield::bookshelf::{PinOffset, ReadOptions, read_design};
use placefield::causes::{Kind, find};
use placefield::charge::{Charge, ChargeOptions};
use placefield::design::{Design, Nets, NodeKind, Row};
use placefield::grid::BinGrid;

/// A design to plant a fault in, and how it is evaluated.
struct Case {
    design: Design,
    bins: usize,
    options: ChargeOptions,
}

impl Case {
    /// 400 cells of 4 × 2 on a die of 80 × 80 with 40 rows, spread evenly, each wired to the next.
    fn sound() -> Case {
        let mut case = Case {
            design: Design {
                rows: (0..40)
                    .map(|k| Row {
                        x: 0.0,
                        y: 2.0 * f64::from(k),
                        height: 2.0,
                        site_width: 1.0,
                        pitch: 1.0,
                        sites: 80,
                        ..Row::default()
                    })
                    .collect(),
                ..Design::default()
            },
            bins: 16,
            options: ChargeOptions::default(),
        };
        for k in 0..400 {
            let (x, y) = (4.0 * f64::from(k / 20), 4.0 * f64::from(k % 20));
            case.add(&format!("c{k}"), NodeKind::Movable, [x, y, 4.0, 2.0]);
        }
        let mut nets = Nets { net_start: vec![0], ..Nets::default() };
        for k in 0..399 {
            nets.names.push(&format!("n{k}"));
            nets.weight.push(1.0);
            nets.pin_node.extend([k, k + 1]);
            nets.pin_dx.extend([1.0, -1.5]);
            nets.pin_dy.extend([0.5, -0.5]);
            nets.net_start.push(2 * (k + 1));
        }
        case.design.nets = Some(nets);
        case
    }

    fn add(&mut self, name: &str, kind: NodeKind, [x, y, w, h]: [f64; 4]) {
        let Design { nodes, placement, .. } = &mut self.design;
        nodes.names.push(name);
        nodes.width.push(w);
        nodes.height.push(h);
        nodes.kind.push(kind);
        placement.x.push(x);
        placement.y.push(y);
        placement.orientation.push(Default::default());
    }

    /// Every cell of another size, where it is.
    fn resize(&mut self, w: f64, h: f64) {
        self.design.nodes.width.fill(w);
        self.design.nodes.height.fill(h);
    }

    fn nets(&mut self) -> &mut Nets {
        self.design.nets.as_mut().unwrap()
    }

    fn find(&self) -> Vec<placefield::causes::Cause> {
        let grid = BinGrid::new(self.design.die().unwrap(), self.bins, self.bins).unwrap();
        let charge = Charge::from_design(&self.design, grid, &self.options).unwrap();
        find(&self.design, &charge, &self.options, PinOffset::Center)
    }

    /// Checks that only this kind of cause is found. Returns its text and the names in it.
    fn finds(&self, kind: Kind) -> (String, Vec<String>) {
        let found = self.find();
        let kinds: Vec<Kind> = found.iter().map(|c| c.kind).collect();
        assert_eq!(kinds, [kind], "{found:#?}");
        let name = |&i: &usize| self.design.nodes.names.get(i).to_owned();
        let cause = &found[0];
        (format!("{} {}", cause.finding, cause.advice), cause.nodes.iter().map(name).collect())
    }
}

#[test]
fn a_sound_design_has_no_cause() {
    let mut case = Case::sound();
    assert_eq!(case.find(), []);
    case.options = case.options.fillers(true).target_density(0.6).row_blockage(true);
    assert_eq!(case.find(), []);
    assert_eq!(Case { design: Design { nets: None, ..case.design }, ..case }.find(), []);
}

#[test]
fn cells_with_more_area_than_the_die_cannot_fit() {
    let mut case = Case::sound();
    for k in 0..500 {
        let (x, y) = (3.0 * f64::from(k / 20), 4.0 * f64::from(k % 20));
        case.add(&format!("more{k}"), NodeKind::Movable, [x, y, 4.0, 2.0]);
    }
    let (said, _) = case.finds(Kind::CellsCannotFit);
    assert!(said.contains("7200") && said.contains("6400"), "{said}");
}

#[test]
fn target_densities_below_the_cells_are_found() {
    let mut case = Case::sound();
    case.options = case.options.target_density(0.4);
    let (said, _) = case.finds(Kind::TargetDensityOutOfReach);
    assert!(said.contains("--target-density 0.50"), "{said}");
    // A macro keeps its whole area: (3200 + 1200 − 1200) / (6400 − 1200).
    case.add("macro", NodeKind::Movable, [0.0, 0.0, 40.0, 30.0]);
    let (said, _) = case.finds(Kind::TargetDensityOutOfReach);
    assert!(said.contains("density of 0.615"), "{said}");
}

#[test]
fn a_macro_between_walls_fits_nowhere() {
    let mut case = Case::sound();
    case.add("wall", NodeKind::Fixed, [39.0, 0.0, 2.0, 80.0]);
    case.add("macro", NodeKind::Movable, [0.0, 0.0, 39.0, 20.0]);
    // It lies on cells, but would fit somewhere.
    case.finds(Kind::OverflowAtMacros);
    *case.design.nodes.width.last_mut().unwrap() = 39.5;
    let (_, names) = case.finds(Kind::CellTooLarge);
    assert_eq!(names, ["macro"]);
}

#[test]
fn fixed_cells_on_one_another_are_named() {
    let mut case = Case::sound();
    case.add("alone", NodeKind::Fixed, [60.0, 60.0, 8.0, 8.0]);
    case.add("below", NodeKind::Fixed, [0.0, 0.0, 10.0, 10.0]);
    case.add("above", NodeKind::Fixed, [2.0, 0.0, 10.0, 10.0]);
    let (said, names) = case.finds(Kind::FixedCellsOverlap);
    assert!(said.contains("share 80 of area"), "{said}");
    assert_eq!(names, ["below", "above"]);
}

#[test]
fn gaps_between_rows_ask_for_row_blockage() {
    let mut case = Case::sound();
    case.design.rows.retain(|row| !(30.0..50.0).contains(&row.y));
    let (said, _) = case.finds(Kind::RowsLeaveGaps);
    assert!(said.contains("25 %") && said.contains("--row-blockage"), "{said}");
    case.options = case.options.row_blockage(true);
    assert_eq!(case.find(), []);
    // A block in the gap leaves none.
    case.options = ChargeOptions::default();
    case.add("block", NodeKind::Fixed, [0.0, 30.0, 80.0, 20.0]);
    case.finds(Kind::CellsOnFixed);
}

#[test]
fn fillers_that_outnumber_the_cells_are_too_many() {
    let mut case = Case::sound();
    case.resize(0.4, 2.0);
    case.nets().pin_dx.fill(0.0);
    assert_eq!(case.find(), []);
    case.options = case.options.fillers(true);
    let (said, _) = case.finds(Kind::TooManyFillers);
    assert!(said.contains("7600 fillers") && said.contains("--target-density 0.15"), "{said}");
}

#[test]
fn cells_of_another_unit_than_the_rows_are_found() {
    let mut case = Case::sound();
    case.resize(0.4, 0.2);
    case.nets().pin_dx.fill(0.0);
    case.nets().pin_dy.fill(0.0);
    case.bins = 64;
    let (said, _) = case.finds(Kind::UnitsDiffer);
    assert!(said.contains("at most 0.2 high") && said.contains("rows 2"), "{said}");
}

#[test]
fn cells_outside_the_die_are_counted_and_named() {
    let mut case = Case::sound();
    case.design.placement.y.iter_mut().for_each(|y| *y += 41.0);
    let (said, names) = case.finds(Kind::CellsOffDie);
    assert!(said.contains("200 of 400"), "{said}");
    assert_eq!(names.len(), 8);
}

#[test]
fn cells_on_a_heap_are_no_placement() {
    let mut case = Case::sound();
    case.design.placement.x.iter_mut().for_each(|x| *x = 38.0 + *x / 40.0);
    case.design.placement.y.iter_mut().for_each(|y| *y = 20.0 + *y / 2.0);
    let (said, _) = case.finds(Kind::CellsNotSpread);
    assert!(said.contains("--pl FILE"), "{said}");
}

#[test]
fn cells_on_a_fixed_block_are_named() {
    let mut case = Case::sound();
    case.add("block", NodeKind::Fixed, [20.0, 0.0, 20.0, 80.0]);
    let (said, names) = case.finds(Kind::CellsOnFixed);
    assert!(said.contains("100 movable cells, 25 %"), "{said}");
    assert_eq!(names[0], "c100", "the first in the fixed columns");
}

#[test]
fn overflow_over_and_between_macros_is_found() {
    // Two blocks with a channel of 8 between them, and around it room for the cells.
    let blocked = || {
        let mut case = Case::sound();
        let Design { nodes, placement, .. } = &mut case.design;
        for k in 0..400 {
            (nodes.width[k], nodes.height[k]) = (2.0, 2.0);
            (placement.x[k], placement.y[k]) =
                (f64::from(k as u32 / 10) * 2.0, 2.0 * (k % 10) as f64);
        }
        case.add("left", NodeKind::Fixed, [10.0, 40.0, 26.0, 30.0]);
        case.add("right", NodeKind::Fixed, [44.0, 40.0, 26.0, 30.0]);
        case
    };
    assert_eq!(blocked().find(), []);
    // Forty cells too many in the channel, then over a block.
    for (x, what) in [(38.0, "in channels"), (20.0, "half under macros")] {
        let mut case = blocked();
        for k in 0..40 {
            let at = &mut case.design.placement;
            (at.x[k], at.y[k]) = (x, 44.0 + (k % 5) as f64 * 4.0);
        }
        let (said, names) = case.finds(Kind::OverflowAtMacros);
        assert!(
            said.contains(&format!("100 % {what}"))
                || said.contains("100 % of that in bins at least half under macros"),
            "{said}"
        );
        assert!(names.contains(&"left".to_owned()), "{names:?}");
    }
    // As much of it elsewhere has another cause.
    let mut case = blocked();
    for k in 0..40 {
        (case.design.placement.x[k], case.design.placement.y[k]) = (4.0, 30.0);
    }
    assert_eq!(case.find(), []);
}

#[test]
fn pins_counted_from_the_corner_are_found_out() {
    let mut case = Case::sound();
    case.nets().pin_dx.fill(3.0);
    case.nets().pin_dy.fill(1.5);
    let (said, names) = case.finds(Kind::PinOffset);
    assert!(said.contains("798 pins") && said.contains("--pin-offset lower-left"), "{said}");
    assert_eq!(names[0], "c0");
    // Outside either way is no matter of the origin.
    case.nets().pin_dx.fill(7.0);
    assert_eq!(case.find(), []);
}

#[test]
fn ports_far_from_the_die_are_named() {
    let mut case = Case::sound();
    case.add("pad", NodeKind::Fixed, [-9.0, 10.0, 4.0, 4.0]);
    case.add("lost", NodeKind::FixedOverlappable, [40.0, 800.0, 1.0, 1.0]);
    case.add("unwired", NodeKind::Fixed, [900.0, 40.0, 1.0, 1.0]);
    let nets = case.nets();
    nets.pin_node[1] = 400;
    nets.pin_node[3] = 401;
    [1, 3].into_iter().for_each(|p| (nets.pin_dx[p], nets.pin_dy[p]) = (0.0, 0.0));
    let (said, names) = case.finds(Kind::PinsFarOff);
    assert!(said.starts_with("1 fixed cells") && said.contains("720"), "{said}");
    assert_eq!(names, ["lost"]);
}

#[test]
fn too_fine_and_too_coarse_bins_are_found() {
    let mut case = Case::sound();
    case.bins = 256;
    let (said, _) = case.finds(Kind::BinsTooFine);
    assert!(said.contains("--bins 16x16"), "{said}");
    case.bins = 3;
    let (said, _) = case.finds(Kind::BinsTooCoarse);
    assert!(said.contains("--bins 16x16"), "{said}");
}

/// Placements of real designs that are what they should be.
#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn good_placements_of_real_designs_have_no_cause() {
    let good = [
        ("ibm01", "ibm01-cu85.aux", "ibm01-cu85.gp.pl", PinOffset::LowerLeft, 64),
        ("ibm01", "ibm01-cu85.aux", "ibm01-cu85.legal.pl", PinOffset::LowerLeft, 64),
        ("ibm07", "ibm07-cu90.aux", "ibm07-cu90.gp.pl", PinOffset::LowerLeft, 128),
        ("ibm07", "ibm07-cu90.aux", "ibm07-cu90.legal.pl", PinOffset::LowerLeft, 128),
        ("ibm05", "ibm05.aux", "ibm05.pl", PinOffset::Center, 128),
        ("ibm05", "ibm05.aux", "ibm05.dp.pl", PinOffset::Center, 128),
        ("adaptec1", "adaptec1.mms.aux", "adaptec1.mms.legal.pl", PinOffset::Center, 512),
        (
            "ariane133_ng45",
            "ariane133_ng45.fixed.aux",
            "ariane133_ng45.fixed.pl",
            PinOffset::Center,
            512,
        ),
        (
            "ariane133_ng45",
            "ariane133_ng45.mixed.aux",
            "ariane133_ng45.mixed.pl",
            PinOffset::Center,
            512,
        ),
        (
            "mempool_tile_ng45",
            "mempool_tile_ng45.fixed.aux",
            "mempool_tile_ng45.fixed.pl",
            PinOffset::Center,
            512,
        ),
        (
            "mempool_tile_ng45",
            "mempool_tile_ng45.mixed.aux",
            "mempool_tile_ng45.mixed.pl",
            PinOffset::Center,
            512,
        ),
    ];
    for (folder, aux, pl, pin_offset, bins) in good {
        let folder = design_dir(folder);
        let read = ReadOptions::default().pin_offset(pin_offset).placement(folder.join(pl));
        let design = read_design(&folder.join(aux), &read).unwrap().design;
        let grid = BinGrid::new(design.die().unwrap(), bins, bins).unwrap();
        for options in [ChargeOptions::default(), ChargeOptions::default().fillers(true)] {
            let charge = Charge::from_design(&design, grid, &options).unwrap();
            assert_eq!(find(&design, &charge, &options, pin_offset), [], "{aux}, {pl}");
        }
    }
}

/// Faults of real files, or of how they are read, are reported.
#[test]
#[ignore = "needs real designs: PLACEFIELD_DATA"]
fn causes_in_real_designs_are_found() {
    let kinds = |folder: &str, aux: &str, pin_offset, bins| {
        let read = ReadOptions::default().pin_offset(pin_offset);
        let design = read_design(&design_dir(folder).join(aux), &read).unwrap().design;
        let grid = BinGrid::new(design.die().unwrap(), bins, bins).unwrap();
        let options = ChargeOptions::default();
        let charge = Charge::from_design(&design, grid, &options).unwrap();
        let found = find(&design, &charge, &options, pin_offset);
        found.iter().map(|c| c.kind).collect::<Vec<_>>()
    };
    let center = PinOffset::Center;
    assert_eq!(
        kinds("adaptec1", "adaptec1.aux", center, 512),
        [Kind::CellsOffDie, Kind::CellsNotSpread]
    );
    assert_eq!(kinds("intel", "intel.aux", center, 64), [Kind::PinOffset]);
    assert_eq!(
        kinds("ibm01", "ibm01-cu85.aux", center, 64),
        [Kind::CellsNotSpread, Kind::PinOffset]
    );
    // Cells over macros and between them.
    for ariane in ["ct_ariane.fixed.aux", "ct_ariane.mixed.aux"] {
        assert_eq!(kinds("ct_ariane", ariane, center, 512), [Kind::OverflowAtMacros], "{ariane}");
    }
    let mempool = "mempool_tile_ng45.fixed.aux";
    assert_eq!(kinds("mempool_tile_ng45", mempool, PinOffset::LowerLeft, 512), [Kind::PinOffset]);
}
