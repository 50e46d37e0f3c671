//! Tables of constant data, for a device.

use super::{Convention, RoutingGrid, cells, wires};
use crate::cpu::boxes::scale;
use crate::design::{Design, DesignError};

/// Is set in [`Tables::node_pins`] where the node takes area: `TAKES_AREA` in the kernels.
const TAKES_AREA: u32 = 1 << 31;

/// A design's nets, cells and macros as one convention counts them, and the scales of its sums.
pub(crate) struct Tables {
    /// First pin of each net, and the number of pins at the end.
    pub(crate) net_start: Vec<u32>,
    /// 0 for a net without wires.
    pub(crate) net_weight: Vec<f64>,
    pub(crate) pin_node: Vec<u32>,
    /// From the node's centre, turned as the node is: x and y of each pin.
    pub(crate) pin_offset: Vec<f64>,
    /// Width and height of each node in its orientation.
    pub(crate) size: Vec<f64>,
    /// Pins of each node, and 2³¹ more where it takes area.
    pub(crate) node_pins: Vec<u32>,
    pub(crate) macros: Vec<u32>,
    /// Offsets added to the lower left corner of each macro, and to its upper right one.
    pub(crate) halo: Vec<f64>,
    /// Sides that pin RUDY divides by at least.
    pub(crate) least: [f64; 2],
    /// Integers per unit.
    pub(crate) wires_scale: f64,
    pub(crate) pins_scale: f64,
    pub(crate) density_scale: f64,
    pub(crate) utilization_scale: f64,
    pub(crate) macros_scale: f64,
}

impl Tables {
    /// Makes the tables of `design` over the bins of `grid`.
    ///
    /// # Errors
    /// When the design has no nets or its columns do not fit together.
    pub(crate) fn of(
        design: &Design,
        grid: &RoutingGrid,
        convention: Convention,
    ) -> Result<Self, DesignError> {
        let placed = wires::PlacedNets::of(design)?;
        let nets = placed.nets;
        let orientation = &design.placement.orientation;
        let offset = |p: usize| {
            let turn = orientation[nets.pin_node[p] as usize];
            <[f64; 2]>::from(turn.turn((nets.pin_dx[p], nets.pin_dy[p])))
        };
        let nodes = design.nodes.len();
        let pins = cells::pins_of_nodes(design);
        let utilization_scale = cells::pin_utilization_scale(&pins, grid);
        let with_area = |(node, &pins): (usize, &u32)| match cells::takes_area(design, node) {
            true => pins | TAKES_AREA,
            false => pins,
        };
        let macros = cells::macros(design);
        Ok(Tables {
            net_start: nets.net_start.clone(),
            net_weight: (0..nets.len()).map(|net| placed.weight(net, convention)).collect(),
            pin_node: nets.pin_node.clone(),
            pin_offset: (0..nets.pins()).flat_map(offset).collect(),
            size: (0..nodes).flat_map(|i| <[f64; 2]>::from(design.size(i))).collect(),
            node_pins: pins.iter().enumerate().map(with_area).collect(),
            halo: cells::halos(design, &macros).into_iter().flatten().flatten().collect(),
            least: wires::least_sides(grid),
            wires_scale: placed.wires_scale(grid, convention),
            pins_scale: placed.pins_scale(grid, convention),
            density_scale: scale(nodes as f64, 1.0),
            utilization_scale,
            macros_scale: scale(macros.len() as f64, 1.0),
            macros: macros.into_iter().map(|node| node as u32).collect(),
        })
    }
}
