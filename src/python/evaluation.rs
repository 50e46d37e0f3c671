//! What one step yields besides maps and forces.

use pyo3::prelude::*;

/// Overflow, largest density and energy of one step.
#[pyclass(frozen, get_all, module = "placefield")]
#[derive(Clone)]
pub(super) struct Evaluation {
    /// Smoothed overflow, what placers log.
    overflow: f64,
    /// Largest area of a bin over the bin area, smoothed.
    max_density: f64,
    /// Σ φ·ρ over bins.
    energy: f64,
}

impl From<crate::engine::Evaluation> for Evaluation {
    fn from(evaluation: crate::engine::Evaluation) -> Self {
        Evaluation {
            overflow: evaluation.density.overflow,
            max_density: evaluation.density.max,
            energy: evaluation.energy,
        }
    }
}

#[pymethods]
impl Evaluation {
    fn __repr__(&self) -> String {
        let Evaluation { overflow, max_density, energy } = self;
        format!(
            "Evaluation(overflow={overflow:.6}, max_density={max_density:.4}, energy={energy:.6e})"
        )
    }
}
