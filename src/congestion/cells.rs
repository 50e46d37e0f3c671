//! Maps of cells: macros, area or number of cells per bin, and pins spread over their cells.

use super::{Convention, DREAMPLACE_PIN_CAPACITY, RoutingGrid};
use crate::charge::smoothing::LEAST_EXTENT;
use crate::cpu::boxes::{BoxSums, scale};
use crate::design::{Design, NodeKind};
use crate::grid::{Map, Rect};

/// The maps.
pub(super) struct Cells {
    pub(super) macro_region: Map<f64>,
    pub(super) density: Map<f64>,
}

/// Macros and cells of `design`, whose columns fit together.
pub(super) fn cells(design: &Design, grid: &RoutingGrid, convention: Convention) -> Cells {
    let macros = macros(design);
    let halos = halos(design, &macros);
    let around: Vec<Rect> = macros
        .iter()
        .zip(&halos)
        .map(|(&i, halo)| {
            let rect = design.rect(i);
            let [[left, low], [right, high]] = *halo;
            Rect { xl: rect.xl + left, yl: rect.yl + low, xh: rect.xh + right, yh: rect.yh + high }
        })
        .collect();
    let nodes = design.nodes.len();
    let rect = |i: usize| takes_area(design, i).then(|| design.rect(i));
    let covered = add_up(grid, around.len(), |k| Some(around[k]), convention, true);
    let at_most_1: Vec<f64> = covered.iter().map(|v| v.min(1.0)).collect();
    let density = add_up(grid, nodes, rect, convention, false);
    let map = |values| Map::from_vec(grid.nx(), grid.ny(), values);
    Cells { macro_region: map(at_most_1), density: map(density) }
}

/// Whether a node takes area.
pub(super) fn takes_area(design: &Design, node: usize) -> bool {
    let (width, height) = design.size(node);
    design.nodes.kind[node] != NodeKind::FixedOverlappable && width > 0.0 && height > 0.0
}

/// Returns what the halos of `macros`, ascending, add to the lower left corner of each, and to its
/// upper right one.
pub(super) fn halos(design: &Design, macros: &[usize]) -> Vec<[[f64; 2]; 2]> {
    let mut added = vec![[[0.0; 2]; 2]; macros.len()];
    for halo in &design.halos {
        let node = halo.node as usize;
        if let Ok(k) = macros.binary_search(&node) {
            let point = Rect::at(0.0, 0.0, 0.0, 0.0);
            let around = halo.around(&point, design.placement.orientation[node]);
            let [[left, low], [right, high]] = &mut added[k];
            *left += around.xl;
            *low += around.yl;
            *right += around.xh;
            *high += around.yh;
        }
    }
    added
}

/// Returns the pins of every node.
pub(super) fn pins_of_nodes(design: &Design) -> Vec<u32> {
    let mut pins = vec![0_u32; design.nodes.len()];
    if let Some(nets) = &design.nets {
        nets.pin_node.iter().for_each(|&node| pins[node as usize] += 1);
    }
    pins
}

/// Returns the integers per unit that pin utilization is counted in.
pub(super) fn pin_utilization_scale(pins: &[u32], grid: &RoutingGrid) -> f64 {
    let (x, y) = grid.axes();
    let (sum, largest) = pins
        .iter()
        .fold((0.0, 0.0_f64), |(sum, most), &pins| (sum + f64::from(pins), most.max(pins.into())));
    let most = 1.0 / (x.least_width() * y.least_width());
    scale(sum * most, largest * most)
}

/// Fixed nodes taller than two rows, and movable macros, ascending.
pub(super) fn macros(design: &Design) -> Vec<usize> {
    let row = design.row_height().unwrap_or(0.0);
    let is_tall = |&i: &usize| {
        let (width, height) = design.size(i);
        design.nodes.kind[i] == NodeKind::Fixed && height > 2.0 * row && width > 0.0
    };
    let mut macros: Vec<usize> = (0..design.nodes.len()).filter(is_tall).collect();
    macros.extend(design.movable_macros());
    macros.sort_unstable();
    macros
}

/// Shares of bins that rectangles cover, or with CircuitNet's convention their number; of several
/// bins along an axis it leaves out the last, and of macros within one bin there is nothing.
fn add_up(
    grid: &RoutingGrid,
    count: usize,
    rect: impl Fn(usize) -> Option<Rect> + Sync,
    convention: Convention,
    are_macros: bool,
) -> Vec<f64> {
    let (x, y) = grid.axes();
    let mut sums = BoxSums::<1>::new(grid.nx(), grid.ny(), scale(count as f64, 1.0));
    let counting = convention.counting();
    sums.add(count, |i, adder| {
        let Some(rect) = rect(i) else { return };
        let across = x.cover(rect.xl, rect.xh, counting);
        let up = y.cover(rect.yl, rect.yh, counting);
        let (Some(across), Some(up)) = (across, up) else { return };
        if convention != Convention::CircuitNet {
            adder.add_box(&across.part([across.shares()]), &up.part([up.shares()]));
        } else if !are_macros || (across.bins() > 1 && up.bins() > 1) {
            let ones = |bins: usize| if bins > 1 { [1.0, 1.0, 0.0] } else { [1.0, 0.0, 0.0] };
            adder.add_box(&across.part([ones(across.bins())]), &up.part([ones(up.bins())]));
        }
    });
    let [map] = sums.finish().boxes;
    map
}

/// DREAMPlace's pin utilization: the pins of a node spread over it, which is stretched to √2 bins
/// at least, over the bin's area and [`DREAMPLACE_PIN_CAPACITY`].
pub(super) fn pin_utilization(design: &Design, grid: &RoutingGrid) -> Map<f64> {
    let pins = pins_of_nodes(design);
    let (x, y) = grid.axes();
    let mut sums = BoxSums::<1>::new(grid.nx(), grid.ny(), pin_utilization_scale(&pins, grid));
    let counting = Convention::DreamPlace.counting();
    let least = [x, y].map(|axis| LEAST_EXTENT * axis.mean_width());
    sums.add(pins.len(), |i, adder| {
        if pins[i] == 0 {
            return;
        }
        let rect = design.rect(i);
        let width = rect.width().max(least[0]);
        let height = rect.height().max(least[1]);
        let (cx, cy) = (f64::midpoint(rect.xl, rect.xh), f64::midpoint(rect.yl, rect.yh));
        let across = x.cover(cx - 0.5 * width, cx + 0.5 * width, counting);
        let up = y.cover(cy - 0.5 * height, cy + 0.5 * height, counting);
        if let (Some(across), Some(up)) = (across, up) {
            let of_pins = across.shares_per_length(x, width).map(|v| v * f64::from(pins[i]));
            adder.add_box(&across.part([of_pins]), &up.part([up.shares_per_length(y, height)]));
        }
    });
    let [mut map] = sums.finish().boxes;
    map.iter_mut().for_each(|v| *v /= DREAMPLACE_PIN_CAPACITY);
    Map::from_vec(grid.nx(), grid.ny(), map)
}
