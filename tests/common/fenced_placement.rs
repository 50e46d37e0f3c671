//! A placement in which cells have fences, by any backend.

use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::design::{Design, Names, Nets, NodeKind, Nodes, Orientation, Placement};
use placefield::grid::{BinGrid, Rect};
use placefield::place::{Backend, ClassOverflow, Outcome, PlaceOptions, Placer, start};
use placefield::wirelength::Netlist;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const CELLS: usize = 600;
const DIE: Rect = Rect { xl: 10.0, yl: -20.0, xh: 130.0, yh: 60.0 };

/// Cells of one height that nets of three join, whatever their fences are.
fn design() -> Design {
    let mut random = Pcg64Mcg::seed_from_u64(8);
    let nets = 2 * CELLS;
    let mut names = Names::default();
    (0..CELLS).for_each(|i| names.push(&format!("c{i}")));
    Design {
        nodes: Nodes {
            names,
            width: (0..CELLS).map(|_| 1.0 + 3.0 * random.random::<f64>()).collect(),
            height: vec![2.0; CELLS],
            kind: vec![NodeKind::Movable; CELLS],
            ..Nodes::default()
        },
        placement: Placement {
            x: vec![0.0; CELLS],
            y: vec![0.0; CELLS],
            orientation: vec![Orientation::N; CELLS],
        },
        nets: Some(Nets {
            names: Names::default(),
            net_start: (0..=nets as u32).map(|e| 3 * e).collect(),
            weight: vec![1.0; nets],
            pin_node: (0..3 * nets)
                .map(|_| (random.random::<f64>() * CELLS as f64) as u32)
                .collect(),
            pin_dx: vec![0.0; 3 * nets],
            pin_dy: vec![0.0; 3 * nets],
        }),
        ..Design::default()
    }
}

/// That a placement by the backend that `make` makes ends with the cells in their fences.
pub fn cells_end_in_their_fences(make: impl FnOnce(&Charge, &Netlist) -> Box<dyn Backend>) {
    let design = design();
    let grid = BinGrid::new(DIE, 32, 32).unwrap();
    let nodes = &design.nodes;
    let at = &design.placement;
    let cells = Rectangles::movable(&nodes.width, &nodes.height, &at.x, &at.y).row_height(2.0);
    let options = ChargeOptions::default().fillers(true);
    let mut charge = Charge::from_rectangles(grid, &cells, &options).unwrap();
    // An L on the left, an upright strip on the right; a third of the cells has none.
    let fences = vec![
        vec![Rect::at(14.0, -16.0, 20.0, 70.0), Rect::at(34.0, -16.0, 30.0, 20.0)],
        vec![Rect::at(100.0, -10.0, 25.0, 65.0)],
    ];
    let region: Vec<u32> = (0..CELLS as u32).map(|i| i % 3).collect();
    charge.set_fences(&fences, &region).unwrap();
    let netlist = Netlist::from_design(&design, Netlist::ALL).unwrap();
    let mut backend = make(&charge, &netlist);
    let (x, y) = start::centred(&charge, 5);
    let options = PlaceOptions::default().stop_overflow(0.07);
    let mut placer = Placer::new(&mut *backend, &x, &y, &options).unwrap();
    let own = |x: &[f64], y: &[f64]| {
        let inside = |i: usize| {
            let cell = Rect::at(x[i], y[i], nodes.width[i], nodes.height[i]);
            let share = |fence: &Vec<Rect>| fence.iter().map(|r| r.overlap(&cell)).sum::<f64>();
            match fences.get(i % 3) {
                Some(fence) => share(fence),
                None => cell.area() - fences.iter().map(share).sum::<f64>(),
            }
        };
        (0..CELLS).map(inside).sum::<f64>() / charge.movable_area()
    };
    assert!(own(&x, &y) < 0.6);
    while placer.step().unwrap().is_some() {}
    assert_eq!(placer.outcome(), Some(Outcome::Converged));
    let (x, y) = placer.positions().unwrap();
    let share = own(&x, &y);
    assert!(share > 0.9, "{share} of the cells' area is where it may be");
    // Not only the sum: no fence has more overflow than was asked for.
    let of_regions = ClassOverflow::of(&charge).unwrap().of_regions(&x, &y);
    assert_eq!(of_regions.len(), 3);
    assert!(of_regions.iter().all(|overflow| *overflow <= 0.0701), "{of_regions:?}");
}
