//! What Python names by a word: devices, pipelines, types, maps.

use crate::border::Device;
use crate::engine::{MapKind, Pipeline};
use crate::real::Precision;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// "cpu", "cuda" or "cuda:N".
pub(super) fn device_of(name: &str) -> PyResult<Device> {
    let ordinal = match name {
        "cpu" => return Ok(Device::Cpu),
        "cuda" => Some(0),
        other => other.strip_prefix("cuda:").and_then(|n| n.parse().ok()),
    };
    let wrong =
        || PyValueError::new_err(format!("device: expected cpu, cuda or cuda:N, found {name}"));
    ordinal.map(Device::Cuda).ok_or_else(wrong)
}

pub(super) fn pipeline_of(name: Option<&str>) -> PyResult<Option<Pipeline>> {
    let Some(name) = name else { return Ok(None) };
    let found = Pipeline::ALL.into_iter().find(|pipeline| pipeline.name() == name);
    let names = Pipeline::ALL.map(Pipeline::name).join(", ");
    let wrong =
        || PyValueError::new_err(format!("pipeline: expected one of {names}, found {name}"));
    found.map(Some).ok_or_else(wrong)
}

pub(super) fn precision_of(dtype: &str) -> PyResult<Precision> {
    match dtype {
        "float32" => Ok(Precision::F32),
        "float64" => Ok(Precision::F64),
        other => {
            let text = format!("dtype: expected float32 or float64, found {other}");
            Err(PyTypeError::new_err(text))
        }
    }
}

pub(super) fn map_of(name: &str) -> PyResult<MapKind> {
    let found = MapKind::ALL.into_iter().find(|map| map.name() == name);
    found.ok_or_else(|| PyValueError::new_err(format!("map: no map is called {name}")))
}
