//! Designs from the caller's columns in memory. Errors use the caller's names.

use super::{Design, Names, NamesTooLong, Nets, NodeKind, Orientation, Placement, Row};
use crate::grid::Rect;
use std::collections::HashMap;

/// The numbers of a row: x, y, height, site width and sites.
pub(crate) const ROW: usize = 5;

/// A design as C and Python give it. Lengths are layout units; columns of nodes and of nets have one
/// value each.
pub(crate) struct Columns {
    pub(crate) name: String,
    pub(crate) names: Names,
    /// Sizes of nodes on the die, rotated by `orientation`.
    pub(crate) width: Vec<f64>,
    pub(crate) height: Vec<f64>,
    /// Lower-left corners.
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    pub(crate) orientation: Vec<Orientation>,
    pub(crate) kind: Vec<NodeKind>,
    /// [`ROW`] numbers of each row.
    pub(crate) rows: Vec<f64>,
    pub(crate) row_orientation: Vec<Orientation>,
    pub(crate) die: Option<Rect>,
    pub(crate) row_blockage: bool,
    pub(crate) units_per_micron: Option<f64>,
    /// Offsets of pins are those on the die, from the centres of nodes.
    pub(crate) nets: Option<Nets>,
}

/// Fails at the first value that is not finite or does not `hold`.
fn check(
    name: &str,
    values: &[f64],
    expected: &str,
    holds: impl Fn(f64) -> bool,
) -> Result<(), String> {
    match values.iter().position(|&value| !value.is_finite() || !holds(value)) {
        Some(at) => Err(format!("{name} {at}: {}: expected {expected}", values[at])),
        None => Ok(()),
    }
}

/// Returns these names.
pub(crate) fn names(list: &[impl AsRef<str>]) -> Result<Names, NamesTooLong> {
    if list.iter().map(|name| name.as_ref().len()).sum::<usize>() > u32::MAX as usize {
        return Err(NamesTooLong);
    }
    let mut names = Names::with_capacity(list.len(), 0);
    list.iter().for_each(|name| names.push(name.as_ref()));
    Ok(names)
}

/// Fails if two names are the same, other than empty ones: no node is looked up by an empty name.
fn check_unique(name: &str, names: &Names) -> Result<(), String> {
    let mut first = HashMap::with_capacity(names.len());
    for (at, of) in names.iter().enumerate().filter(|(_, of)| !of.is_empty()) {
        if let Some(other) = first.insert(of, at) {
            return Err(format!("{name} {at}: '{of}' is also number {other}"));
        }
    }
    Ok(())
}

impl Columns {
    /// Returns the design. The lengths of columns are left to [`Design::check`].
    ///
    /// # Errors
    /// Names the first value that is outside its range.
    pub(crate) fn design(mut self) -> Result<Design, String> {
        let nets = self.nets.as_ref();
        check_unique("names", &self.names)?;
        nets.map_or(Ok(()), |nets| check_unique("net_names", &nets.names))?;
        let of_nets = |of: fn(&Nets) -> &Vec<f64>| nets.map_or(&[][..], |nets| of(nets));
        for (name, values) in [
            ("width", &self.width[..]),
            ("height", &self.height),
            ("net_weight", of_nets(|nets| &nets.weight)),
        ] {
            check(name, values, "a finite number, not negative", |value| value >= 0.0)?;
        }
        for (name, values) in [
            ("x", &self.x[..]),
            ("y", &self.y),
            ("rows", &self.rows),
            ("pin_dx", of_nets(|nets| &nets.pin_dx)),
            ("pin_dy", of_nets(|nets| &nets.pin_dy)),
        ] {
            check(name, values, "a finite number", |_| true)?;
        }
        if let Some(units) = self.units_per_micron.filter(|v| !(v.is_finite() && *v > 0.0)) {
            return Err(format!("units_per_micron: {units}: expected a number above 0"));
        }
        let sizes = self.width.iter_mut().zip(&mut self.height);
        for ((width, height), of) in sizes.zip(&self.orientation) {
            if of.swaps_axes() {
                std::mem::swap(width, height);
            }
        }
        let mut design = Design {
            name: self.name,
            placement: Placement { x: self.x, y: self.y, orientation: self.orientation },
            row_blockage: self.row_blockage,
            units_per_micron: self.units_per_micron,
            ..Design::default()
        };
        (design.nodes.width, design.nodes.height) = (self.width, self.height);
        (design.nodes.kind, design.nodes.names) = (self.kind, self.names);
        if let Some(die) = self.die {
            let Rect { xl, yl, xh, yh } = die;
            if !(die.width() > 0.0 && die.height() > 0.0 && die.area().is_finite()) {
                return Err(format!("die: ({xl}, {yl}, {xh}, {yh}) has no area"));
            }
            design.die_area.push(die);
        }
        let (rows, rest) = self.rows.as_chunks::<ROW>();
        debug_assert!(rest.is_empty());
        for (at, (row, &orientation)) in rows.iter().zip(&self.row_orientation).enumerate() {
            let &[x, y, height, site_width, sites] = row;
            let is_count = (1.0..=u32::MAX as f64).contains(&sites) && sites.fract() == 0.0;
            if !(height > 0.0 && site_width > 0.0 && is_count) {
                return Err(format!(
                    "rows {at}: {row:?}: expected x, y, a height and a site width above 0 and a \
                     whole number of sites from 1 on"
                ));
            }
            let (pitch, sites) = (site_width, sites as u64);
            let row = Row { x, y, height, site_width, pitch, sites, orientation, ..Row::default() };
            design.rows.push(row);
        }
        if let Some(mut nets) = self.nets {
            let offsets = nets.pin_dx.iter_mut().zip(&mut nets.pin_dy);
            for (p, (&node, (dx, dy))) in nets.pin_node.iter().zip(offsets).enumerate() {
                let orientation =
                    design.placement.orientation.get(node as usize).ok_or_else(|| {
                        let nodes = design.nodes.len();
                        format!("pin_node {p}: {node}: expected a node below {nodes}")
                    })?;
                (*dx, *dy) = orientation.inverse().turn((*dx, *dy));
            }
            design.nets = Some(nets);
        }
        Ok(design)
    }
}
