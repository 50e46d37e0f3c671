//! Designs from files, and whole placements.

use super::arguments::device_of;
use super::arrays::Array;
use super::errors::{Failure, detached};
use crate::border::{EngineReal, open_backend};
use crate::charge::{Charge, ChargeOptions, origin_for};
use crate::design::NodeKind;
use crate::engine::EngineOptions;
use crate::formats::{self, ReadOptions};
use crate::grid::BinGrid;
use crate::lefdef::PinPosition;
use crate::place::{Outcome, PlaceOptions, Placer, default_bins, start};
use crate::real::Precision;
use crate::wirelength::Netlist;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// A design: nodes, their placement, nets and rows. Columns are by node; positions are lower-left
/// corners in layout units.
#[pyclass(frozen, module = "placefield")]
pub(super) struct Design {
    pub(super) design: Arc<crate::design::Design>,
    warnings: Vec<String>,
    /// The file it was read from.
    source: PathBuf,
}

/// Reads a design: the Bookshelf files that an .aux file names, or a .def file with its LEF files, `lef`, the one
/// with the technology first. `pl` is a .pl or .def file whose placement is read in place of the
/// design's own; `pin_position` says where LEF pins are, "center" or "mean".
#[pyfunction]
#[pyo3(signature = (path, *, lef=Vec::new(), pl=None, pin_position="center"))]
pub(super) fn read_design(
    py: Python<'_>,
    path: PathBuf,
    lef: Vec<PathBuf>,
    pl: Option<PathBuf>,
    pin_position: &str,
) -> PyResult<Design> {
    let pin_position = match pin_position {
        "center" => PinPosition::Center,
        "mean" => PinPosition::Mean,
        other => {
            let text = format!("pin_position: expected \"center\" or \"mean\", found {other:?}");
            return Err(PyValueError::new_err(text));
        }
    };
    detached(py, || {
        let mut options = ReadOptions::default().lef(lef).pin_position(pin_position);
        options.placement = pl;
        let loaded = formats::read_design(&path, &options)?;
        let design = Arc::new(loaded.design);
        Ok(Design { design, warnings: loaded.warnings, source: path })
    })
}

impl Design {
    fn column(&self, values: Vec<f64>) -> Array {
        let length = values.len();
        Array::new(values, &[length])
    }
}

#[pymethods]
impl Design {
    /// As its .aux file is called, or as its .def file says.
    #[getter]
    fn name(&self) -> &str {
        &self.design.name
    }

    /// Number of nodes.
    #[getter]
    fn nodes(&self) -> usize {
        self.design.nodes.len()
    }

    /// Number of nets; 0 where they are not known.
    #[getter]
    fn nets(&self) -> usize {
        self.design.nets.as_ref().map_or(0, |nets| nets.len())
    }

    /// Number of pins.
    #[getter]
    fn pins(&self) -> usize {
        self.design.nets.as_ref().map_or(0, |nets| nets.pins())
    }

    /// Layout units in a micrometre; None where that is not known.
    #[getter]
    fn units_per_micron(&self) -> Option<f64> {
        self.design.units_per_micron
    }

    /// The bounding box of the rows, (xl, yl, xh, yh).
    #[getter]
    fn die(&self) -> PyResult<(f64, f64, f64, f64)> {
        let die = self.design.die();
        let die = die.ok_or_else(|| PyValueError::new_err("the design has no rows"))?;
        Ok((die.xl, die.yl, die.xh, die.yh))
    }

    /// What was odd about the files, one line each.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Names of the nodes.
    fn names(&self) -> Vec<&str> {
        self.design.nodes.names.iter().collect()
    }

    /// Indices of the movable nodes, in the order of an engine's bodies.
    fn movable(&self) -> Vec<usize> {
        self.design.movable().collect()
    }

    /// Indices of the nodes that stay and block the area under them.
    fn fixed(&self) -> Vec<usize> {
        let kinds = self.design.nodes.kind.iter().enumerate();
        kinds.filter(|(_, kind)| **kind == NodeKind::Fixed).map(|(i, _)| i).collect()
    }

    /// Left edges.
    #[getter]
    fn x(&self) -> Array {
        self.column(self.design.placement.x.clone())
    }

    /// Bottom edges.
    #[getter]
    fn y(&self) -> Array {
        self.column(self.design.placement.y.clone())
    }

    /// Widths, as the nodes lie.
    #[getter]
    fn width(&self) -> Array {
        self.column((0..self.design.nodes.len()).map(|i| self.design.size(i).0).collect())
    }

    /// Heights, as the nodes lie.
    #[getter]
    fn height(&self) -> Array {
        self.column((0..self.design.nodes.len()).map(|i| self.design.size(i).1).collect())
    }

    /// Half-perimeter wirelength of all nets, layout units; None where nets are not known.
    fn hpwl(&self, py: Python<'_>) -> Option<f64> {
        py.detach(|| self.design.hpwl().map(|hpwl| hpwl.unweighted))
    }

    /// Writes the placement to a .pl file; the file appears whole or not at all.
    fn write_pl(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        detached(py, || Ok(crate::bookshelf::write_pl(&path, &self.design)?))
    }

    /// Writes the .def file that the design was read from, with its movable cells where they are now, all else as it
    /// was; compressed where the path ends in .gz. The file appears whole or not at all.
    fn write_def(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        if formats::Format::of(&self.source) != formats::Format::Def {
            return Err(PyValueError::new_err("the design was not read from a .def file"));
        }
        detached(py, || Ok(crate::lefdef::write_placement(&path, &self.source, &self.design)?))
    }

    fn __repr__(&self) -> String {
        let nodes = self.design.nodes.len();
        format!("placefield.Design({:?}, nodes={nodes}, nets={})", self.design.name, self.nets())
    }
}

/// How a placement ended, and where the cells are.
#[pyclass(frozen, get_all, module = "placefield")]
pub(super) struct Placement {
    /// The design with its movable nodes placed.
    design: Py<Design>,
    /// "converged", "out-of-iterations", "plateau", "diverged" or "not-finite".
    status: String,
    /// Iterations done.
    iterations: usize,
    /// Weighted half-perimeter wirelength of the result, layout units.
    hpwl: f64,
    /// Smoothed overflow of the result.
    overflow: f64,
}

/// A global placement of `design`, not legalised.
#[pyfunction]
#[pyo3(signature = (design, *, bins=None, target_density=1.0, stop_overflow=0.07, iterations=2000,
                    init="center", seed=1000, dtype="float32", device="cpu", threads=0, progress=None))]
#[allow(clippy::too_many_arguments)] // Python's, by name
pub(super) fn place(
    py: Python<'_>,
    design: &Bound<'_, Design>,
    bins: Option<(usize, usize)>,
    target_density: f64,
    stop_overflow: f64,
    iterations: usize,
    init: &str,
    seed: u64,
    dtype: &str,
    device: &str,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Placement> {
    let source = design.get().source.clone();
    let design = design.get().design.clone();
    let device = device_of(device)?;
    let warm = match init {
        "center" => false,
        "file" => true,
        other => {
            let text = format!("init: expected \"center\" or \"file\", found {other:?}");
            return Err(PyValueError::new_err(text));
        }
    };
    if !(0.0..=1.0).contains(&stop_overflow) {
        let text = format!("stop_overflow: expected a number from 0 to 1, found {stop_overflow}");
        return Err(PyValueError::new_err(text));
    }
    let options =
        PlaceOptions::default().stop_overflow(stop_overflow).iterations(iterations).warm(warm);
    let precision = super::arguments::precision_of(dtype)?;
    let (placed, status, iterations, hpwl, overflow) = detached(py, move || {
        let die =
            design.die().ok_or_else(|| Failure::Value("the design has no rows".to_owned()))?;
        let [nx, ny] = match bins {
            Some((nx, ny)) => [nx, ny],
            None => default_bins(&design, die, target_density),
        };
        let grid = BinGrid::new(die, nx, ny)?;
        let charging =
            ChargeOptions::default().target_density(target_density).fillers(true).seed(seed);
        let mut charge = Charge::from_design(&design, grid, &charging)?;
        charge.set_origin(origin_for(&die, design.row_height(), precision)?)?;
        let netlist = Netlist::from_design(&design, Netlist::ALL)
            .map_err(|e| Failure::Value(e.to_string()))?;
        let engine = EngineOptions::default().threads(threads);
        let (x, y) = match warm {
            true => (charge.initial_x().to_vec(), charge.initial_y().to_vec()),
            false => start::centred(&charge, seed),
        };
        fn backend<T: EngineReal>(
            charge: Charge,
            netlist: &Netlist,
            device: crate::border::Device,
            engine: &EngineOptions,
        ) -> Result<Box<dyn crate::place::Backend>, Failure> {
            Ok(open_backend::<T>(charge, netlist, device, engine)?)
        }
        let mut backend = match precision {
            Precision::F32 => backend::<f32>(charge, &netlist, device, &engine)?,
            Precision::F64 => backend::<f64>(charge, &netlist, device, &engine)?,
        };
        let mut placer = Placer::new(&mut *backend, &x, &y, &options)?;
        let mut records = vec![*placer.last()];
        while let Some(record) = placer.step()?.copied() {
            records.push(record);
            // Ctrl-C, and whoever wants to know how it goes.
            Python::attach(|py| -> PyResult<()> {
                py.check_signals()?;
                if let Some(progress) = &progress {
                    let (hpwl, overflow) = (record.sample.hpwl, record.sample.density.overflow);
                    progress.call1(py, (record.iteration, hpwl, overflow))?;
                }
                Ok(())
            })?;
        }
        let (x, y) = placer.positions()?;
        let result = &records[placer.result_iteration()].sample;
        let status = match placer.outcome() {
            Some(Outcome::Converged) => "converged",
            Some(Outcome::Plateau) => "plateau",
            Some(Outcome::Diverged) => "diverged",
            Some(Outcome::NotFinite) => "not-finite",
            _ => "out-of-iterations",
        };
        let mut placed = (*design).clone();
        placed.settle(&x, &y);
        let iterations = records.last().map_or(0, |record| record.iteration);
        Ok((placed, status, iterations, result.hpwl, result.density.overflow))
    })?;
    let design = Design { design: Arc::new(placed), warnings: Vec::new(), source };
    let design = Py::new(py, design)?;
    Ok(Placement { design, status: status.to_owned(), iterations, hpwl, overflow })
}
