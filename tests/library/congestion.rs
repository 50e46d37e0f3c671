//! Congestion maps against an independent calculation, and what has to hold of any.

use crate::common::{golden, numbers};
use placefield::congestion::{
    Capacity, CongestionError, CongestionKind, CongestionMaps, CongestionOptions, Convention,
    Demand, RoutingGrid,
};
use placefield::design::{Design, DesignError, Nets, NodeKind, Nodes, Orientation, Placement, Row};
use placefield::grid::{BinGrid, Map, Rect};
use serde_json::Value;

/// A net's weight, and of each pin its node and its offset from the node's centre.
type Net = (f64, Vec<(u32, f64, f64)>);

/// A design with nodes `[x, y, width, height]`, macros fixed, and nets of `(weight, pins)`, where a
/// pin is a node and an offset from its centre.
fn design(nodes: &[([f64; 4], bool)], row: f64, nets: &[Net]) -> Design {
    let column = |k: usize| nodes.iter().map(|(rect, _)| rect[k]).collect::<Vec<f64>>();
    let kind = |&(_, is_macro): &_| if is_macro { NodeKind::Fixed } else { NodeKind::Movable };
    let mut of = Nets { net_start: vec![0], ..Nets::default() };
    for (weight, pins) in nets {
        of.weight.push(*weight);
        for &(node, dx, dy) in pins {
            of.pin_node.push(node);
            of.pin_dx.push(dx);
            of.pin_dy.push(dy);
        }
        of.net_start.push(of.pin_node.len() as u32);
    }
    Design {
        nodes: Nodes {
            width: column(2),
            height: column(3),
            kind: nodes.iter().map(kind).collect(),
            ..Nodes::default()
        },
        placement: Placement {
            x: column(0),
            y: column(1),
            orientation: vec![Orientation::N; nodes.len()],
        },
        nets: Some(of),
        rows: vec![Row { height: row, sites: 1, pitch: row, ..Row::default() }],
        ..Design::default()
    }
}

/// A design of the golden file, and its bins.
fn from_json(value: &Value) -> (Design, RoutingGrid, Option<Capacity>) {
    let nodes = value["nodes"].as_array().unwrap().iter().map(|node| {
        let rect = numbers(&node["rect"]).try_into().unwrap();
        (rect, node["macro"].as_bool().unwrap())
    });
    let nets = value["nets"].as_array().unwrap().iter().map(|net| {
        let pins = net["pins"].as_array().unwrap().iter().map(|pin| {
            let pin = numbers(pin);
            (pin[0] as u32, pin[1], pin[2])
        });
        (net["weight"].as_f64().unwrap(), pins.collect())
    });
    let row = value["row"].as_f64().unwrap();
    let design = design(&nodes.collect::<Vec<_>>(), row, &nets.collect::<Vec<_>>());
    let edges = |key: &str| numbers(&value[key]);
    let capacity = value["capacity"]
        .as_array()
        .map(|c| Capacity { horizontal: c[0].as_f64().unwrap(), vertical: c[1].as_f64().unwrap() });
    (design, RoutingGrid::from_edges(edges("x_edges"), edges("y_edges")).unwrap(), capacity)
}

/// Returns `grid` as one whose bins are known to be equally wide.
fn even(grid: &RoutingGrid) -> RoutingGrid {
    let ends = |edges: &[f64]| (edges[0], edges[edges.len() - 1]);
    let ((xl, xh), (yl, yh)) = (ends(grid.x_edges()), ends(grid.y_edges()));
    let die = Rect { xl, yl, xh, yh };
    RoutingGrid::from(&BinGrid::new(die, grid.nx(), grid.ny()).unwrap())
}

fn maps(
    design: &Design,
    grid: &RoutingGrid,
    convention: Convention,
    capacity: Option<Capacity>,
) -> CongestionMaps {
    let options = CongestionOptions::default().convention(convention).capacity(capacity);
    CongestionMaps::of(design, grid, &options).unwrap()
}

fn assert_near(found: &Map<f64>, expected: &[f64], what: &str) {
    let largest = expected.iter().fold(1e-300, |most: f64, v| most.max(v.abs()));
    assert_eq!(found.as_slice().len(), expected.len(), "{what}");
    for (k, (found, expected)) in found.as_slice().iter().zip(expected).enumerate() {
        let far = (found - expected).abs() / largest;
        assert!(far < 1e-9, "{what}: bin {k} is {found}, not {expected}");
    }
}

#[test]
fn maps_are_those_that_numpy_gives() {
    let file = golden("congestion_maps.json");
    let designs = file["designs"].as_object().unwrap();
    assert_eq!(designs.len(), 5);
    for (name, value) in designs {
        let (design, uneven, capacity) = from_json(value);
        for convention in Convention::ALL {
            let capacity = match convention {
                Convention::OpenRoad => capacity.or(Some(Capacity::DREAMPLACE)),
                _ => capacity,
            };
            let grids = if name == "gcells" {
                vec![uneven.clone()]
            } else {
                vec![uneven.clone(), even(&uneven)]
            };
            for grid in grids {
                let found = maps(&design, &grid, convention, capacity);
                let expected = &value["maps"][convention.name()];
                for kind in CongestionKind::ALL {
                    let what = format!("{name}, {convention}, {}", kind.name());
                    assert_near(found.map(kind), &numbers(&expected[kind.name()]), &what);
                }
                let total = found.demand.total();
                let demand = [
                    ("demand_horizontal", &total.horizontal),
                    ("demand_vertical", &total.vertical),
                ];
                for (key, map) in demand {
                    let what = format!("{name}, {convention}, {key}");
                    assert_near(map, &numbers(&expected[key]), &what);
                }
            }
        }
    }
}

/// Cells of 1 × 1 at these places, their pins in the middle; a net for each group.
fn dots(groups: &[&[(f64, f64)]]) -> Design {
    let at = groups.iter().flat_map(|group| group.iter());
    let nodes: Vec<_> = at.map(|&(x, y)| ([x - 0.5, y - 0.5, 1.0, 1.0], false)).collect();
    let mut next = 0..nodes.len() as u32;
    let pins =
        |group: &&[(f64, f64)]| next.by_ref().take(group.len()).map(|n| (n, 0.0, 0.0)).collect();
    let nets: Vec<_> = groups.iter().map(pins).map(|pins| (1.0, pins)).collect();
    design(&nodes, 1.0, &nets)
}

fn bins(width: f64, height: f64, nx: usize, ny: usize) -> RoutingGrid {
    RoutingGrid::from(&BinGrid::new(Rect::at(0.0, 0.0, width, height), nx, ny).unwrap())
}

#[test]
fn demand_splits_by_the_box_of_a_net() {
    // 4 × 1 in bins of 1 × 1, lower left.
    let design = dots(&[&[(0.0, 0.0), (4.0, 1.0)]]);
    let demand = Demand::of(&design, &bins(8.0, 4.0, 8, 4), Convention::DreamPlace).unwrap();
    let total = demand.total();
    for i in 0..8 {
        for j in 0..4 {
            let inside = i < 4 && j == 0;
            let expected = if inside { (1.0, 0.25) } else { (0.0, 0.0) };
            assert_eq!((total.horizontal[(i, j)], total.vertical[(i, j)]), expected, "{i} {j}");
        }
    }
}

#[test]
fn a_mirrored_design_has_mirrored_maps() {
    let file = golden("congestion_maps.json");
    for (name, value) in file["designs"].as_object().unwrap() {
        let (design, grid, _) = from_json(value);
        let mut other = design.clone();
        let (nodes, placement) = (&mut other.nodes, &mut other.placement);
        std::mem::swap(&mut nodes.width, &mut nodes.height);
        std::mem::swap(&mut placement.x, &mut placement.y);
        let nets = other.nets.as_mut().unwrap();
        std::mem::swap(&mut nets.pin_dx, &mut nets.pin_dy);
        let turned =
            RoutingGrid::from_edges(grid.y_edges().to_vec(), grid.x_edges().to_vec()).unwrap();
        for convention in Convention::ALL {
            let one = Demand::of(&design, &grid, convention).unwrap().total();
            let two = Demand::of(&other, &turned, convention).unwrap().total();
            for (a, b) in [(&one.horizontal, &two.vertical), (&one.vertical, &two.horizontal)] {
                let expected: Vec<f64> = (0..grid.nx())
                    .flat_map(|i| (0..grid.ny()).map(move |j| (j, i)))
                    .map(|at| b[at])
                    .collect();
                assert_near(a, &expected, &format!("{name}, {convention}"));
            }
        }
    }
}

#[test]
fn wires_and_cells_are_all_there() {
    let design = dots(&[
        &[(1.5, 1.25), (6.75, 3.5)],
        &[(0.5, 0.5), (7.5, 0.75), (3.0, 3.5)],
        &[(2.1, 1.2), (2.3, 1.9)],
    ]);
    let (grid, area) = (bins(8.0, 4.0, 4, 8), 2.0 * 0.5);
    for convention in [Convention::DreamPlace, Convention::OpenRoad] {
        let maps = maps(&design, &grid, convention, Some(Capacity::DREAMPLACE));
        let demand = maps.demand.total();
        let sum = |map: &Map<f64>| map.as_slice().iter().sum::<f64>();
        let wire = [5.25 + 7.0 + 0.2, 2.25 + 3.0 + 0.7];
        for (map, wire) in [&demand.horizontal, &demand.vertical].into_iter().zip(wire) {
            assert!((sum(map) * area - wire).abs() < 1e-9, "{convention}: {}", sum(map) * area);
        }
        let cells = sum(maps.map(CongestionKind::CellDensity)) * area;
        assert!((cells - 7.0).abs() < 1e-9, "{convention}: {cells}");
        let figures = maps.figures(&grid);
        assert!((figures.horizontal.wire - wire[0]).abs() < 1e-9);
        if convention == Convention::OpenRoad {
            assert_eq!(sum(maps.map(CongestionKind::PinDensity)), 7.0);
        }
    }
}

#[test]
fn flat_nets_divide_by_nothing() {
    let flat: [&[(f64, f64)]; 3] =
        [&[(3.5, 0.5), (3.5, 3.5)], &[(0.5, 1.5), (6.5, 1.5)], &[(2.5, 2.5), (2.5, 2.5)]];
    let (design, grid) = (dots(&flat), bins(8.0, 4.0, 8, 4));
    let capacity = Some(Capacity::DREAMPLACE);
    for convention in Convention::ALL {
        let maps = maps(&design, &grid, convention, capacity);
        let finite = |map: &Map<f64>| map.as_slice().iter().all(|v| v.is_finite() && *v >= 0.0);
        assert!(maps.maps.iter().all(finite), "{convention}");
        let total = maps.demand.total();
        let sum = |map: &Map<f64>| map.as_slice().iter().sum::<f64>();
        let sums = (sum(&total.horizontal), sum(&total.vertical));
        match convention {
            // The limit: all of the wire that there is, but for the last bin.
            Convention::CircuitNet => assert_eq!(sums, (5.5, 2.5)),
            _ => assert_eq!(sums, (0.0, 0.0)),
        }
    }
    // Nearly flat nets are near the limit, whatever rounding makes of their sides.
    for side in [1e-300, 1e-15, 1e-12, 1e-6] {
        let net = dots(&[&[(0.5, 0.0), (0.5 + side, 1.0)]]);
        let demand = Demand::of(&net, &grid, Convention::CircuitNet).unwrap().total();
        let (horizontal, vertical) = (demand.horizontal[(0, 0)], demand.vertical[(0, 0)]);
        assert!(horizontal <= 2.0 * side + 1e-12, "{side}: {horizontal}");
        assert!((vertical - 1.0).abs() < 1e-3, "{side}: {vertical}");
    }
}

#[test]
fn nets_beyond_the_grid_are_clipped() {
    let beyond: [&[(f64, f64)]; 4] = [
        &[(-5.0, 1.0), (3.0, 3.0)],
        &[(9.0, 1.0), (12.0, 3.0)],
        &[(f64::NAN, 1.0), (12.0, 3.0)],
        &[(f64::NEG_INFINITY, 1.0), (1e300, 3.0)],
    ];
    let demand = Demand::of(&dots(&beyond), &bins(8.0, 4.0, 8, 4), Convention::DreamPlace).unwrap();
    let total = demand.total();
    let sum = |map: &Map<f64>| map.as_slice().iter().sum::<f64>();
    assert!((sum(&total.horizontal) - 3.0).abs() < 1e-9, "{}", sum(&total.horizontal));
    assert!((sum(&total.vertical) - 2.0 * 3.0 / 8.0).abs() < 1e-9);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let file = golden("congestion_maps.json");
    let (design, grid, capacity) = from_json(&file["designs"]["wide, shifted"]);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let bits = |map: &Map<f64>| map.as_slice().iter().map(|v| v.to_bits()).collect();
        let of = |convention| maps(&design, &grid, convention, capacity).maps.each_ref().map(bits);
        let bits: Vec<[Vec<u64>; 7]> = pool.install(|| Convention::ALL.map(of)).into();
        bits
    };
    let one = run(1);
    assert!([2, 5].into_iter().all(|threads| run(threads) == one));
}

#[test]
fn missing_nets_and_bad_capacities_are_refused() {
    let (design, grid) = (dots(&[&[(1.0, 1.0), (2.0, 2.0)]]), bins(8.0, 4.0, 8, 4));
    let options = CongestionOptions::default();
    let refused = |design: &Design, options: &CongestionOptions| {
        CongestionMaps::of(design, &grid, options).unwrap_err()
    };
    let openroad = options.convention(Convention::OpenRoad);
    assert_eq!(refused(&design, &openroad), CongestionError::NoCapacity);
    let none = Some(Capacity::of_layers([(true, 0.5), (false, 0.0)]));
    let bad = CongestionError::BadCapacity { horizontal: 2.0, vertical: 0.0 };
    assert_eq!(refused(&design, &options.capacity(none)), bad);
    let without = Design { nets: None, ..design };
    assert_eq!(refused(&without, &options), CongestionError::Design(DesignError::NoNets));
    let layers = Capacity::of_layers([(true, 0.5), (false, 0.25), (true, 1.0)]);
    assert_eq!(layers, Capacity { horizontal: 3.0, vertical: 4.0 });
    assert_eq!(layers.wire_width(), 1.25 / 7.0);
}
