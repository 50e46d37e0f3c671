//! The numbers that one step yields besides maps and forces, and arrays that are written on the
//! host.

use super::dlpack::ImportedArray;
use super::errors::Failure;
use crate::cpu::energy_gradient::energy_gradient;
use crate::engine::MapKind;
use crate::engines::{DeviceEngine, EngineReal};
use crate::grid::Map;
use pyo3::prelude::*;

/// Overflow, largest density and energy of one step.
#[pyclass(frozen, get_all, module = "placefield")]
#[derive(Clone)]
pub(super) struct Evaluation {
    /// Smoothed overflow, what placers log, with the area off the die.
    overflow: f64,
    /// Largest area of a bin over the bin area, smoothed.
    max_density: f64,
    /// Σ φ·ρ over bins.
    energy: f64,
    /// Area of the movable cells off the die, layout units squared.
    area_off_die: f64,
}

impl From<crate::engine::Evaluation> for Evaluation {
    fn from(evaluation: crate::engine::Evaluation) -> Self {
        Evaluation {
            overflow: evaluation.density.overflow,
            max_density: evaluation.density.max,
            energy: evaluation.energy,
            area_off_die: evaluation.area_off_die,
        }
    }
}

#[pymethods]
impl Evaluation {
    fn __repr__(&self) -> String {
        let Evaluation { overflow, max_density, energy, area_off_die } = self;
        format!(
            "Evaluation(overflow={overflow:.6}, max_density={max_density:.4}, \
             energy={energy:.6e}, area_off_die={area_off_die})"
        )
    }
}

/// Where the bodies start: x of all, then y.
pub(super) fn write_start<T: EngineReal>(
    engine: &mut DeviceEngine<T>,
    out: &mut ImportedArray,
) -> Result<(), Failure> {
    let (x, y) = engine.as_dyn().charge().initial_positions::<T>();
    let (to_x, to_y) = out.values_mut::<T>()?.split_at_mut(x.len());
    to_x.copy_from_slice(&x);
    to_y.copy_from_slice(&y);
    Ok(())
}

/// The derivative of the energy of the current step, at `positions`.
pub(super) fn write_exact<T: EngineReal>(
    engine: &mut DeviceEngine<T>,
    positions: &ImportedArray,
    out: &mut ImportedArray,
) -> Result<(), Failure> {
    let engine = engine.as_dyn();
    let [nx, ny] = engine.charge().stacked_bins();
    let mut potential = Map::filled(nx, ny, T::cast(0.0));
    engine.read_map(MapKind::Potential, &mut potential)?;
    let bodies = engine.charge().bodies();
    let (x, y) = positions.values::<T>()?.split_at(bodies);
    let (to_x, to_y) = out.values_mut::<T>()?.split_at_mut(bodies);
    Ok(energy_gradient(engine.charge(), &potential, [x, y], [to_x, to_y])?)
}
