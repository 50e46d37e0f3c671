//! Causes in the positions of pins.

use super::{Case, Cause, Kind, percent};
use crate::bookshelf::{PinOffset, PinsOutside, count_outside, is_outside};
use crate::design::NodeKind;
use crate::real::largest_first;
use std::collections::BTreeSet;

/// Pins beyond their cell's edge by less than this share of its size are rounded.
const ROUNDING: f64 = 1e-3;
/// Largest share of pins outside their cells for a right origin.
const OUTSIDE: f64 = 1e-3;
/// The other origin must leave at most this share of these pins outside.
const LEFT: f64 = 0.1;
/// The cells of this number of pins outside are named.
const FIRST: usize = 64;
/// Pins this many times the die's longer side from the die are far off.
const FAR: f64 = 1.0;

/// Checks whether the other origin of pin offsets would bring pins into their cells.
pub(super) fn origin(case: &Case<'_>) -> Option<Cause> {
    let (design, nets) = (case.design, case.design.nets.as_ref()?);
    let found = count_outside(design, case.pin_offset, ROUNDING);
    let PinsOutside { pins, outside: now, otherwise: then, .. } = found;
    let enough = now as f64 > OUTSIDE * pins as f64 && now >= 4;
    if !enough || then as f64 > LEFT * now as f64 {
        return None;
    }
    let (other, option) = match case.pin_offset {
        PinOffset::Center => ("the lower-left corner", "lower-left"),
        PinOffset::LowerLeft => ("the centre", "center"),
    };
    let finding = format!(
        "{now} pins ({} of all) lie outside their cells; with offsets read from {other}, \
         {then} do.",
        percent(now as f64 / pins as f64)
    );
    let advice = format!("Read the file with --pin-offset {option}.");
    let outside = |p: &usize| {
        let node = nets.pin_node[*p] as usize;
        let (w, h) = (design.nodes.width[node], design.nodes.height[node]);
        w > 0.0 && h > 0.0 && is_outside((nets.pin_dx[*p], nets.pin_dy[*p]), (w, h), ROUNDING)
    };
    let nodes = (0..nets.pins()).filter(outside).map(|p| nets.pin_node[p] as usize);
    let nodes: BTreeSet<usize> = nodes.take(FIRST).collect();
    Some(Cause::new(Kind::PinOffset, finding, advice).about(nodes))
}

/// Checks whether fixed cells with pins lie around the die, or somewhere else.
pub(super) fn far_off(case: &Case<'_>) -> Option<Cause> {
    let (design, die) = (case.design, case.die);
    let nets = design.nets.as_ref()?;
    let mut has_pin = vec![false; design.nodes.len()];
    nets.pin_node.iter().for_each(|&node| has_pin[node as usize] = true);
    let beyond = |i: usize| {
        let r = design.rect(i);
        let x = (die.xl - r.xh).max(r.xl - die.xh);
        let y = (die.yl - r.yh).max(r.yl - die.yh);
        x.max(y)
    };
    let longer = die.width().max(die.height());
    let fixed = (0..design.nodes.len())
        .filter(|&i| has_pin[i] && design.nodes.kind[i] != NodeKind::Movable);
    let mut far: Vec<(f64, usize)> =
        fixed.map(|i| (beyond(i), i)).filter(|(by, _)| *by > FAR * longer).collect();
    largest_first(&mut far);
    let (farthest, _) = *far.first()?;
    let finding = format!(
        "{} fixed cells with pins lie further from the die than it is long, the farthest {} away; \
         the die is {} × {}.",
        far.len(),
        case.length(farthest),
        case.length(die.width()),
        case.length(die.height())
    );
    let advice =
        "Check their places in the .pl file and its unit: their nets pull cells to the die's edge.";
    Some(Cause::new(Kind::PinsFarOff, finding, advice).about(far.iter().map(|f| f.1)))
}
