//! Designs from arrays of the caller's. The package checks types and lengths; values are checked by
//! [`Columns::design`] and by [`Design::check`](crate::design::Design::check).

use super::design::{Design, Source};
use super::dlpack::ImportedArray;
use super::errors::{Failure, detached};
use crate::design::columns::{self, Columns};
use crate::design::{Names, Nets, NodeKind, Orientation};
use crate::grid::Rect;
use pyo3::prelude::*;
use pyo3::types::PyDict;

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

    fn numbers(&self, name: &'static str) -> PyResult<Vec<f64>> {
        let array = ImportedArray::take(&self.0.as_any().get_item(name)?, name, 1)?;
        Ok(array.values::<f64>()?.to_vec())
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
        Ok(columns::names(&list).map_err(|text| Failure::Value(format!("{name}: {text}")))?)
    }
}

/// The design of these arrays: sizes, pins' offsets and rows as the package's `Design` has them.
#[pyfunction]
pub(super) fn design_of_arrays(py: Python<'_>, arrays: &Bound<'_, PyDict>) -> PyResult<Design> {
    let arrays = Arrays(arrays);
    let width = arrays.numbers("width")?;
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
    let die = arrays.get::<Option<(f64, f64, f64, f64)>>("die")?;
    let pin_node = arrays.get::<Option<Vec<u32>>>("pin_node")?;
    let nets = |pin_node| {
        Ok::<_, PyErr>(Nets {
            names: arrays.names("net_names")?,
            net_start: arrays.get("net_start")?,
            weight: arrays.numbers("net_weight")?,
            pin_dx: arrays.numbers("pin_dx")?,
            pin_dy: arrays.numbers("pin_dy")?,
            pin_node,
        })
    };
    let columns = Columns {
        name: arrays.get("name")?,
        names: arrays.names("names")?,
        width,
        height: arrays.numbers("height")?,
        x: arrays.numbers("x")?,
        y: arrays.numbers("y")?,
        orientation: arrays.orientations("orientation")?,
        kind,
        rows: arrays.numbers("rows")?,
        row_orientation: arrays.orientations("row_orientation")?,
        die: die.map(|(xl, yl, xh, yh)| Rect { xl, yl, xh, yh }),
        row_blockage: arrays.get("row_blockage")?,
        units_per_micron: arrays.get("units_per_micron")?,
        nets: pin_node.map(nets).transpose()?,
    };
    let placed: bool = arrays.get("placed")?;
    detached(py, || {
        let design = columns.design().map_err(Failure::Value)?;
        design.check()?;
        let unplaced = match placed {
            true => Vec::new(),
            false => design.movable().map(|node| node as u32).collect(),
        };
        let source = Source::of_memory(&design, unplaced.clone());
        Ok(Design::new_of(design.into(), source.into(), unplaced))
    })
}
