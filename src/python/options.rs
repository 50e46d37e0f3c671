//! Options, as the package hands them over: a dictionary with what the caller named and the
//! defaults of the rest. An option that is None is not there. A value that does not fit is a
//! `ValueError` with the option's name.

use super::errors::Failure;
use crate::charge::{Charge, ChargeOptions};
use crate::design::Design;
use crate::engine::{EngineOptions, MAX_THREADS, MapKind, Pipeline};
use crate::engines::{Device, EngineChoice};
use crate::grid::BinGrid;
use crate::place::default_bins;
use crate::real::Precision;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// The options of one call.
pub(super) struct Options<'a, 'py>(pub(super) &'a Bound<'py, PyDict>);

impl<'py> Options<'_, 'py> {
    /// An option, if it is there.
    pub(super) fn get(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.0.get_item(name)?.filter(|value| !value.is_none()))
    }

    /// Returns the value that `take` makes of an option, or an error if it makes none.
    pub(super) fn taken<T>(
        &self,
        name: &str,
        expected: &str,
        take: impl FnOnce(&Bound<'py, PyAny>) -> Option<T>,
    ) -> PyResult<Option<T>> {
        let Some(value) = self.get(name)? else { return Ok(None) };
        let Some(taken) = take(&value) else {
            let found = value.repr()?;
            let text = format!("{name}: expected {expected}, found {found}");
            return Err(PyValueError::new_err(text));
        };
        Ok(Some(taken))
    }

    pub(super) fn flag(&self, name: &str) -> PyResult<bool> {
        let flag = self.taken(name, "True or False", |value| value.extract().ok())?;
        Ok(flag.unwrap_or(false))
    }

    pub(super) fn count(&self, name: &str, range: RangeInclusive<u64>) -> PyResult<Option<u64>> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let take = |value: &Bound<'py, PyAny>| value.extract().ok().filter(|n| range.contains(n));
        self.taken(name, &expected, take)
    }

    pub(super) fn number(
        &self,
        name: &str,
        expected: &str,
        holds: impl Fn(f64) -> bool,
    ) -> PyResult<Option<f64>> {
        let holds = |v: &f64| v.is_finite() && holds(*v);
        self.taken(name, expected, |value| value.extract().ok().filter(holds))
    }

    /// One of some names.
    pub(super) fn word<T: Copy>(&self, name: &str, names: &[(&str, T)]) -> PyResult<Option<T>> {
        let expected: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        self.taken(name, &expected.join(", "), |value| {
            let text: String = value.extract().ok()?;
            names.iter().find(|(name, _)| *name == text).map(|(_, meant)| *meant)
        })
    }

    pub(super) fn text(&self, name: &str) -> PyResult<String> {
        Ok(self.taken(name, "text", |value| value.extract().ok())?.unwrap_or_default())
    }

    /// One path or several.
    pub(super) fn paths(&self, name: &str) -> PyResult<Vec<PathBuf>> {
        let paths = self.taken(name, "a path or a list of paths", |value| {
            value.extract().map(|path| vec![path]).or_else(|_| value.extract()).ok()
        })?;
        Ok(paths.unwrap_or_default())
    }

    /// Two numbers for which something holds.
    pub(super) fn pair(
        &self,
        name: &str,
        expected: &str,
        holds: impl Fn(f64, f64) -> bool,
    ) -> PyResult<Option<(f64, f64)>> {
        let holds = |&(a, b): &(f64, f64)| a.is_finite() && b.is_finite() && holds(a, b);
        self.taken(name, expected, |value| value.extract().ok().filter(holds))
    }

    /// Bins along x and y, or one number for both.
    pub(super) fn bins(&self, name: &str) -> PyResult<Option<(usize, usize)>> {
        let expected = "a whole number, or two as in (512, 256)";
        self.taken(name, expected, |value| {
            value.extract().map(|n| (n, n)).or_else(|_| value.extract()).ok()
        })
    }

    /// "cpu", "cuda" or "cuda:N".
    pub(super) fn device(&self) -> PyResult<Device> {
        let device = self.taken("device", "cpu, cuda or cuda:N", |value| {
            match value.extract::<String>().ok()?.parse().ok()? {
                EngineChoice::Cpu => Some(Device::Cpu),
                EngineChoice::Cuda(ordinal) => Some(Device::Cuda(ordinal)),
                EngineChoice::Auto | EngineChoice::Several(_) => None,
            }
        })?;
        Ok(device.unwrap_or(Device::Cpu))
    }

    pub(super) fn precision(&self) -> PyResult<Precision> {
        let names = [("float32", Precision::F32), ("float64", Precision::F64)];
        Ok(self.word("dtype", &names)?.unwrap_or(Precision::F32))
    }

    pub(super) fn threads(&self) -> PyResult<usize> {
        Ok(self.count("threads", 0..=MAX_THREADS as u64)?.unwrap_or(0) as usize)
    }

    /// How an engine or a solver is made.
    pub(super) fn engine(&self) -> PyResult<EngineOptions> {
        let pipeline = self.word("pipeline", &Pipeline::ALL.map(|p| (p.name(), p)))?;
        Ok(EngineOptions::default().pipeline(pipeline).threads(self.threads()?))
    }

    /// How a charge is made.
    pub(super) fn charge(&self) -> PyResult<ChargeOptions> {
        let target =
            self.number("target_density", "a target density above 0 and at most 1", |t| {
                t > 0.0 && t <= 1.0
            })?;
        Ok(ChargeOptions::default()
            .target_density(target.unwrap_or(1.0))
            .fillers(self.flag("fillers")?)
            .row_blockage(self.flag("row_blockage")?)
            .seed(self.count("seed", 0..=u64::MAX)?.unwrap_or(1000)))
    }
}

/// How the bins and the charge of a design are made.
#[derive(Clone, Copy)]
pub(super) struct Charging {
    pub(super) bins: Option<(usize, usize)>,
    pub(super) options: ChargeOptions,
}

impl Charging {
    /// Bins stand under `bins`.
    pub(super) fn of(options: &Options<'_, '_>, bins: &str) -> PyResult<Self> {
        Ok(Charging { bins: options.bins(bins)?, options: options.charge()? })
    }

    /// The bins asked for, or DREAMPlace's choice.
    pub(super) fn grid(&self, design: &Design) -> Result<BinGrid, Failure> {
        let die = design.die().ok_or_else(|| {
            let text = "the design has neither rows nor a die area, so it has no die";
            Failure::Value(text.to_owned())
        })?;
        let (nx, ny) = self.bins.unwrap_or_else(|| {
            let [nx, ny] = default_bins(design, die, self.options.target_density);
            (nx, ny)
        });
        Ok(BinGrid::new(die, nx, ny)?)
    }

    pub(super) fn charge(&self, design: &Design) -> Result<Charge, Failure> {
        Ok(Charge::from_design(design, self.grid(design)?, &self.options)?)
    }
}

pub(super) fn map_of(name: &str) -> PyResult<MapKind> {
    let found = MapKind::ALL.into_iter().find(|map| map.name() == name);
    found.ok_or_else(|| PyValueError::new_err(format!("map: no map is called {name}")))
}
