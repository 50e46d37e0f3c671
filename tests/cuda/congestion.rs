//! Congestion maps of a device have the bits of the CPU's.

use crate::device::{gpu, output};
use crate::place::design;
use placefield::congestion::{
    Capacity, CongestionKind, CongestionMaps, CongestionOptions, Convention, RoutingGrid,
};
use placefield::cuda::{CudaCongestion, CudaCongestionError, CudaError, CudaReal, Gpu};
use placefield::design::{Design, Halo, Names, NodeKind, Orientation};
use placefield::grid::{BinGrid, Map, Rect};

/// Cells of all orientations, some beyond the die, one where no number is; macros with halos; nets
/// of no pin, of pins on one cell, in a line or not, and of many pins.
pub(crate) fn varied() -> Design {
    let mut design = design(3000);
    let orientations = [Orientation::N, Orientation::W, Orientation::FS, Orientation::FE];
    let die = design.die().unwrap();
    for (i, orientation) in design.placement.orientation.iter_mut().enumerate() {
        *orientation = orientations[i % 4];
    }
    let cells: Vec<usize> = design.movable().collect();
    for (k, &i) in cells.iter().enumerate() {
        // Wider spread along x.
        design.placement.x[i] = die.xl + die.width() * ((k * 37 % 1009) as f64 / 1009.0 - 0.004);
        design.placement.y[i] = die.yl + 0.6 * die.height() * (k * 53 % 997) as f64 / 997.0;
    }
    design.placement.x[cells[5]] = f64::NAN;
    let taller = 3.0 * design.row_height().unwrap();
    for (k, &i) in cells.iter().step_by(500).enumerate() {
        design.nodes.kind[i] = NodeKind::Fixed;
        (design.nodes.width[i], design.nodes.height[i]) = (2.0 * taller, taller);
        let sides = [1.0, 2.0, 3.0, 4.0].map(|side| side * k as f64);
        let [left, bottom, right, top] = sides;
        let soft = k % 2 == 0;
        design.halos.push(Halo { node: i as u32, left, bottom, right, top, soft });
    }
    let nets = design.nets.as_mut().unwrap();
    for (net, dx) in (3..nets.len()).step_by(25).zip([0.0, 0.125].into_iter().cycle()) {
        let pins = nets.net_start[net] as usize..nets.net_start[net + 1] as usize;
        let first = pins.start;
        for p in pins {
            let k = (p - first) as f64;
            nets.pin_node[p] = nets.pin_node[first];
            (nets.pin_dx[p], nets.pin_dy[p]) = (dx * k, 0.25 * k);
        }
    }
    nets.names = Names::default();
    let last = *nets.net_start.last().unwrap();
    nets.net_start.push(last);
    nets.weight.push(1.0);
    for p in 0..700 {
        nets.pin_node.push(cells[p * 4 % cells.len()] as u32);
        nets.pin_dx.push(0.5);
        nets.pin_dy.push(-0.25);
    }
    nets.net_start.push(last + 700);
    nets.weight.push(2.5);
    design
}

#[test]
fn congestion_maps_have_the_bits_of_the_cpu() {
    let gpu = gpu();
    let design = varied();
    let Rect { xl, yl, xh, yh } = design.die().unwrap();
    let even = |nx, ny| RoutingGrid::from(&BinGrid::new(Rect { xl, yl, xh, yh }, nx, ny).unwrap());
    let edges = |low: f64, high: f64, bins: usize| {
        let at = |k: usize| low + (high - low) * (k as f64 / bins as f64).powf(1.5);
        (0..=bins).map(at).collect::<Vec<f64>>()
    };
    let uneven = RoutingGrid::from_edges(edges(xl, xh, 45), edges(yl, yh, 70)).unwrap();
    for grid in [even(64, 48), even(300, 33), even(1, 1), even(2, 1000), uneven] {
        for convention in Convention::ALL {
            let capacity = Some(Capacity { horizontal: 2.0, vertical: 3.0 });
            let options = CongestionOptions::default().convention(convention).capacity(capacity);
            let want = CongestionMaps::of(&design, &grid, &options).unwrap();
            let mut device = CudaCongestion::new(&gpu, &design, &grid, &options).unwrap();
            let x = gpu.upload(&design.placement.x).unwrap();
            let y = gpu.upload(&design.placement.y).unwrap();
            // The second time nothing may be left of the first.
            for _ in 0..2 {
                device.enqueue(&x, &y).unwrap();
            }
            let got = device.download().unwrap();
            for kind in CongestionKind::ALL {
                let (got, want) = (got.map(kind).as_slice(), want.map(kind).as_slice());
                let wrong = got.iter().zip(want).position(|(a, b)| a != b);
                let (nx, ny) = (grid.nx(), grid.ny());
                let what = format!("{convention} {} {nx} x {ny}", kind.name());
                // There is some of everything in a grid of many bins.
                assert!(want.iter().any(|v| *v != 0.0) || (nx, ny) != (64, 48), "{what}: none");
                let values = wrong.map(|at| (at, got[at], want[at]));
                assert_eq!(values, None, "{what}: first bin that differs");
            }
            assert_eq!(got.demand, want.demand, "{convention}");
            assert_eq!(got.figures(&grid), want.figures(&grid));
        }
    }
}

/// Compares maps of all nodes, and of the movable ones, from positions and to maps of precision
/// `T`.
pub(crate) fn callers_maps_are_the_cpus<T: CudaReal>(gpu: &Gpu) {
    let mut design = varied();
    let rounded = |at: &f64| T::cast(*at);
    for column in [&mut design.placement.x, &mut design.placement.y] {
        column.iter_mut().for_each(|at| *at = rounded(at).widen());
    }
    let grid = RoutingGrid::from(&BinGrid::new(design.die().unwrap(), 40, 30).unwrap());
    let options = CongestionOptions::default();
    let mut device = CudaCongestion::new(gpu, &design, &grid, &options).unwrap();
    let movable: Vec<usize> = design.movable().collect();
    let all: Vec<usize> = (0..design.nodes.len()).collect();
    for (turn, nodes) in [&all, &movable, &all, &movable].into_iter().enumerate() {
        let mut moved = design.clone();
        for &node in nodes {
            let x = moved.placement.x[node] + 3.0 * turn as f64;
            moved.placement.x[node] = rounded(&x).widen();
        }
        let column = |of: &[f64]| nodes.iter().map(|&i| rounded(&of[i])).collect::<Vec<T>>();
        let x = gpu.upload(&column(&moved.placement.x)).unwrap();
        let y = gpu.upload(&column(&moved.placement.y)).unwrap();
        device.enqueue(&x, &y).unwrap();
        let want = CongestionMaps::of(&moved, &grid, &options).unwrap();
        let of_map = |map: &Map<f64>| map.as_slice().iter().map(rounded).collect::<Vec<T>>();
        for kind in CongestionKind::ALL {
            let got = output::<T>(gpu, 1200, |to| device.copy_map(kind, to));
            assert!(got == of_map(want.map(kind)), "{} in turn {turn}", kind.name());
        }
        let (mut horizontal, mut vertical) =
            (gpu.zeros::<T>(1200).unwrap(), gpu.zeros(1200).unwrap());
        device.copy_demand(&mut horizontal, &mut vertical).unwrap();
        let total = want.demand.total();
        assert!(gpu.download(&horizontal).unwrap() == of_map(&total.horizontal), "turn {turn}");
        assert!(gpu.download(&vertical).unwrap() == of_map(&total.vertical), "turn {turn}");
    }
}

#[test]
fn congestion_of_callers_positions_is_the_cpus() {
    let gpu = gpu();
    callers_maps_are_the_cpus::<f32>(&gpu);
    callers_maps_are_the_cpus::<f64>(&gpu);
}

#[test]
fn congestion_of_other_lengths_is_refused() {
    let gpu = gpu();
    let design = design(300);
    let grid = RoutingGrid::from(&BinGrid::new(design.die().unwrap(), 8, 8).unwrap());
    let options = CongestionOptions::default();
    let mut device = CudaCongestion::new(&gpu, &design, &grid, &options).unwrap();
    let (x, short) = (&design.placement.x, &design.placement.y[1..]);
    let refused = device.enqueue(&gpu.upload(x).unwrap(), &gpu.upload(short).unwrap());
    assert!(matches!(refused, Err(CudaError::Length { .. })), "{refused:?}");
    let openroad = options.convention(Convention::OpenRoad);
    let refused = CudaCongestion::new(&gpu, &design, &grid, &openroad).err();
    assert!(matches!(refused, Some(CudaCongestionError::Congestion(_))));
}
