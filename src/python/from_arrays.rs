//! Designs from arrays of the caller's. The package checks types and lengths; values are checked
//! here, and by [`Core::check`].

use super::design::{Design, Source};
use super::dlpack::ImportedArray;
use super::errors::{Failure, detached};
use crate::design::{
    Design as Core, Names, NamesTooLong, Nets, NodeKind, Orientation, Placement, Row,
};
use crate::grid::Rect;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;

/// The arrays by their names, in the caller's words.
struct Arrays<'a, 'py>(&'a Bound<'py, PyDict>);

impl Arrays<'_, '_> {
    fn get<T>(&self, name: &str) -> PyResult<T>
    where
        T: for<'a, 'py> FromPyObject<'a, 'py, Error: Into<PyErr>>,
    {
        let value = self.0.as_any().get_item(name)?;
        value.extract().map_err(Into::into)
    }

    /// Numbers of which each `holds`, which errors call `expected`.
    fn numbers(
        &self,
        name: &'static str,
        expected: &str,
        holds: impl Fn(f64) -> bool,
    ) -> PyResult<Vec<f64>> {
        let array = ImportedArray::take(&self.0.as_any().get_item(name)?, name, 1)?;
        let values = array.values::<f64>()?;
        match values.iter().position(|&value| !value.is_finite() || !holds(value)) {
            Some(at) => {
                let text = format!("{name} {at}: {}: expected {expected}", values[at]);
                Err(Failure::Value(text).into())
            }
            None => Ok(values.to_vec()),
        }
    }

    /// Distances and positions.
    fn finite(&self, name: &'static str) -> PyResult<Vec<f64>> {
        self.numbers(name, "a finite number", |_| true)
    }

    /// Lengths and weights.
    fn not_negative(&self, name: &'static str) -> PyResult<Vec<f64>> {
        self.numbers(name, "a finite number, not negative", |value| value >= 0.0)
    }

    fn orientations(&self, name: &'static str) -> PyResult<Vec<Orientation>> {
        let of = |(at, name_of): (usize, &String)| {
            let found = Orientation::ALL.into_iter().find(|known| known.name() == name_of);
            found.ok_or_else(|| {
                let names = Orientation::ALL.map(Orientation::name).join(", ");
                Failure::Value(format!("{name} {at}: expected {names}, found '{name_of}'")).into()
            })
        };
        self.get::<Vec<String>>(name)?.iter().enumerate().map(of).collect()
    }

    fn names(&self, name: &'static str) -> PyResult<Names> {
        let list: Vec<String> = self.get(name)?;
        if list.iter().map(String::len).sum::<usize>() > u32::MAX as usize {
            return Err(Failure::Value(format!("{name}: {NamesTooLong}")).into());
        }
        let mut names = Names::with_capacity(list.len(), 0);
        list.iter().for_each(|name| names.push(name));
        Ok(names)
    }
}

/// An error if two names are the same; none are looked up by an empty name.
fn check_unique(name: &str, names: &Names) -> Result<(), Failure> {
    let mut first = HashMap::with_capacity(names.len());
    for (at, of) in names.iter().enumerate().filter(|(_, of)| !of.is_empty()) {
        if let Some(other) = first.insert(of, at) {
            return Err(Failure::Value(format!("{name} {at}: '{of}' is also number {other}")));
        }
    }
    Ok(())
}

/// The design of these arrays: sizes, pins' offsets and rows as the package's `Design` has them.
#[pyfunction]
pub(super) fn design_of_arrays(py: Python<'_>, arrays: &Bound<'_, PyDict>) -> PyResult<Design> {
    let arrays = Arrays(arrays);
    let (mut width, mut height) = (arrays.not_negative("width")?, arrays.not_negative("height")?);
    let (x, y) = (arrays.finite("x")?, arrays.finite("y")?);
    let orientation = arrays.orientations("orientation")?;
    for ((width, height), of) in width.iter_mut().zip(&mut height).zip(&orientation) {
        if of.swaps_axes() {
            std::mem::swap(width, height);
        }
    }
    let mut kind = vec![NodeKind::Movable; width.len()];
    for (name, of) in [("fixed", NodeKind::Fixed), ("overlappable", NodeKind::FixedOverlappable)] {
        for (at, node) in arrays.get::<Vec<u32>>(name)?.into_iter().enumerate() {
            match kind.get_mut(node as usize) {
                Some(kind @ NodeKind::Movable) => *kind = of,
                found => {
                    let why = if found.is_some() { "named before" } else { "no node" };
                    return Err(Failure::Value(format!("{name} {at}: {node} is {why}")).into());
                }
            }
        }
    }
    let mut design = Core {
        name: arrays.get("name")?,
        placement: Placement { x, y, orientation },
        row_blockage: arrays.get("row_blockage")?,
        units_per_micron: arrays.get("units_per_micron")?,
        ..Core::default()
    };
    (design.nodes.width, design.nodes.height, design.nodes.kind) = (width, height, kind);
    design.nodes.names = arrays.names("names")?;
    if let Some((xl, yl, xh, yh)) = arrays.get::<Option<(f64, f64, f64, f64)>>("die")? {
        let die = Rect { xl, yl, xh, yh };
        if !(die.width() > 0.0 && die.height() > 0.0 && die.area().is_finite()) {
            return Err(Failure::Value(format!("die: ({xl}, {yl}, {xh}, {yh}) has no area")).into());
        }
        design.die_area.push(die);
    }
    let rows = arrays.finite("rows")?;
    let ways = arrays.orientations("row_orientation")?;
    for (at, (row, orientation)) in rows.chunks_exact(5).zip(ways).enumerate() {
        let &[x, y, height, site_width, sites] = row else { unreachable!("chunks of five") };
        let is_count = (1.0..=u32::MAX as f64).contains(&sites) && sites.fract() == 0.0;
        if !(height > 0.0 && site_width > 0.0 && is_count) {
            let text = format!(
                "rows {at}: {row:?}: expected x, y, a height and a site width above 0 and a whole \
                 number of sites from 1 on"
            );
            return Err(Failure::Value(text).into());
        }
        let (pitch, sites) = (site_width, sites as u64);
        let row = Row { x, y, height, site_width, pitch, sites, orientation, ..Row::default() };
        design.rows.push(row);
    }
    if let Some(pin_node) = arrays.get::<Option<Vec<u32>>>("pin_node")? {
        let mut nets = Nets {
            names: arrays.names("net_names")?,
            net_start: arrays.get("net_start")?,
            weight: arrays.not_negative("net_weight")?,
            pin_dx: arrays.finite("pin_dx")?,
            pin_dy: arrays.finite("pin_dy")?,
            pin_node,
        };
        let offsets = nets.pin_dx.iter_mut().zip(&mut nets.pin_dy);
        for (p, (&node, (dx, dy))) in nets.pin_node.iter().zip(offsets).enumerate() {
            let orientation = design.placement.orientation.get(node as usize).ok_or_else(|| {
                let nodes = design.nodes.len();
                Failure::Value(format!("pin_node {p}: {node}: expected a node below {nodes}"))
            })?;
            (*dx, *dy) = orientation.inverse().turn((*dx, *dy));
        }
        design.nets = Some(nets);
    }
    let placed: bool = arrays.get("placed")?;
    detached(py, || {
        check_unique("names", &design.nodes.names)?;
        if let Some(nets) = &design.nets {
            check_unique("net_names", &nets.names)?;
        }
        design.check()?;
        let unplaced = match placed {
            true => Vec::new(),
            false => design.movable().map(|node| node as u32).collect(),
        };
        let source = Source::of_memory(&design);
        Ok(Design::new_of(design.into(), source.into(), unplaced))
    })
}
