//! Checks whether pins are on their cells, with the given origin of offsets and with the other one.

use crate::design::Design;
use crate::parallel;
use crate::text::loaded::PinOffset;
use crate::warning::{Warning, WarningCode};
use std::ops::Range;

/// Pins that lie outside their cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PinsOutside {
    /// Pins on nodes that have an area.
    pub pins: usize,
    /// Pins outside their node.
    pub outside: usize,
    /// Pins that would, if the offsets of the file were counted from the other place.
    pub otherwise: usize,
    /// The first pin outside, by its index.
    pub first: Option<usize>,
}

impl PinsOutside {
    /// Whether many fewer pins would lie outside if offsets were counted from the other place.
    pub fn suggests_other(&self) -> bool {
        self.outside > 2 * self.otherwise
    }
}

/// Counts the pins of `design` that lie outside their nodes; `offset` is the one it was read with.
///
/// # Panics
/// Where the columns do not fit together ([`Design::check`]).
pub fn pins_outside(design: &Design, offset: PinOffset) -> PinsOutside {
    count_outside(design, offset, ROUNDING)
}

/// A pin beyond its cell's edge by less than this share of the cell's size is on it.
const ROUNDING: f64 = 1e-6;
/// Pins that one task looks at.
const BLOCK: usize = 1 << 12;

/// Returns [`pins_outside`] with another `rounding` than [`ROUNDING`].
pub(crate) fn count_outside(design: &Design, offset: PinOffset, rounding: f64) -> PinsOutside {
    let Some(nets) = &design.nets else { return PinsOutside::default() };
    // Conversion between offsets from the centre and from the corner adds or subtracts half a cell.
    let back = match offset {
        PinOffset::Center => -0.5,
        PinOffset::LowerLeft => 0.5,
    };
    let one = |p: usize| {
        let node = nets.pin_node[p] as usize;
        let (w, h) = (design.nodes.width[node], design.nodes.height[node]);
        if w <= 0.0 || h <= 0.0 {
            return PinsOutside::default();
        }
        let (dx, dy) = (nets.pin_dx[p], nets.pin_dy[p]);
        let outside = is_outside((dx, dy), (w, h), rounding);
        let otherwise = is_outside((dx + back * w, dy + back * h), (w, h), rounding);
        PinsOutside {
            pins: 1,
            outside: usize::from(outside),
            otherwise: usize::from(otherwise),
            first: outside.then_some(p),
        }
    };
    let sum = |a: PinsOutside, b: PinsOutside| PinsOutside {
        pins: a.pins + b.pins,
        outside: a.outside + b.outside,
        otherwise: a.otherwise + b.otherwise,
        first: a.first.into_iter().chain(b.first).min(),
    };
    let sum_of = |pins: Range<usize>| pins.map(one).fold(PinsOutside::default(), sum);
    let blocks = parallel::map_blocks(nets.pins(), BLOCK, sum_of);
    blocks.into_iter().fold(PinsOutside::default(), sum)
}

/// Whether a pin at `(dx, dy)` from the centre of a cell of this size lies outside it.
pub(crate) fn is_outside((dx, dy): (f64, f64), (w, h): (f64, f64), rounding: f64) -> bool {
    let beyond = |distance: f64, length: f64| distance.abs() > length * (0.5 + rounding);
    beyond(dx, w) || beyond(dy, h)
}

/// Returns a warning about [`pins_outside`] for the reader of a design, where there is reason.
pub fn pin_offset_hint(design: &Design, offset: PinOffset) -> Option<Warning> {
    let found = pins_outside(design, offset);
    let nets = design.nets.as_ref()?;
    let node = nets.pin_node[found.first?] as usize;
    let example = match design.nodes.names.is_empty() {
        true => format!("node {node}"),
        false => format!("`{}`", design.nodes.names.get(node)),
    };
    let PinsOutside { pins, outside, otherwise, .. } = found;
    let start = format!("{outside} of {pins} pins lie outside their cells (first on {example})");
    let (now, other) = match offset {
        PinOffset::Center => ("centre", "lower-left"),
        PinOffset::LowerLeft => ("lower-left corner", "center"),
    };
    let message = if found.suggests_other() {
        format!(
            "{start} with offsets counted from the {now}, {otherwise} with --pin-offset {other}"
        )
    } else if outside * 100 > pins {
        format!("{start}, {otherwise} with --pin-offset {other}")
    } else {
        return None;
    };
    Some(Warning::new(WarningCode::PinsOutsideCells, message))
}
