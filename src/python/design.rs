//! Designs from files: their columns, other placements of them, wirelength, legality.

use super::arrays::Array;
use super::dlpack::ImportedArray;
use super::errors::{Failure, detached, plain};
use super::options::Options;
use crate::bookshelf::{self, PinOffset};
use crate::cpu::wirelength::CpuWirelength;
use crate::design::{Design as Core, Names, Nets, NodeKind, Placement};
use crate::displacement::{self, Displacement};
use crate::formats::{self, Format, ReadOptions};
use crate::lefdef::{self, GcellGrid, PinPosition, RoutingLayer};
use crate::legality::{LegalityOptions, LegalityReport};
use crate::maps::{blockages, fixed, movable};
use crate::memory::{OutOfMemory, require};
use crate::scaled_hpwl;
use crate::wirelength::Netlist;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A design, on which the package's `Design` is built.
#[pyclass(frozen, subclass, module = "placefield._placefield")]
pub(super) struct Design {
    pub(super) design: Arc<Core>,
    pub(super) source: Arc<Source>,
    /// A copy with its nodes at positions of the caller's.
    elsewhere: Mutex<Option<Box<Core>>>,
    /// Movable nodes without a position.
    unplaced: Vec<u32>,
    /// Nets of this many pins or more left out.
    wirelength: Mutex<Option<(usize, Netlist, CpuWirelength<f64>)>>,
    /// Maps of congestion on a device.
    #[cfg(feature = "cuda")]
    pub(super) congestion: super::on_device::KeptCongestion,
}

/// The input files.
#[derive(Serialize, Deserialize)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    warnings: Vec<String>,
    /// Where the design's own placement has the nodes, and which of them it fixes.
    home: (Placement, Vec<NodeKind>),
    /// Movable nodes that it gives no position, ascending.
    unplaced: Vec<u32>,
    pub(super) layers: Vec<RoutingLayer>,
    pub(super) gcell_grid: Vec<GcellGrid>,
}

/// Reads the design at `path`: a Bookshelf design by its .aux file, or a .def file with its LEF
/// files.
#[pyfunction]
pub(super) fn read_design(
    py: Python<'_>,
    path: PathBuf,
    options: &Bound<'_, PyDict>,
) -> PyResult<Design> {
    let options = Options(options);
    let offsets = [("center", PinOffset::Center), ("lower-left", PinOffset::LowerLeft)];
    let positions = [("center", PinPosition::Center), ("mean", PinPosition::Mean)];
    let pin_offset = options.word("pin_offset", &offsets)?;
    let pin_position = options.word("pin_position", &positions)?;
    let row_blockage = options.flag("row_blockage")?;
    let keep_fillers = options.flag("keep_fillers")?;
    let is_def = Format::of(&path) == Format::Def;
    let beside = [
        ("pin_offset", pin_offset.is_some() && is_def, ".aux"),
        ("pin_position", pin_position.is_some() && !is_def, ".def"),
        ("keep_fillers", keep_fillers && !is_def, ".def"),
    ];
    for (name, is_wrong, kind) in beside {
        if is_wrong {
            let text = format!("{name} is for {kind} designs: {}", path.display());
            return Err(PyValueError::new_err(text));
        }
    }
    let mut reading = ReadOptions::default()
        .lef(options.paths("lef")?)
        .pin_offset(pin_offset.unwrap_or_default())
        .pin_position(pin_position.unwrap_or_default())
        .keep_fillers(keep_fillers);
    reading.placement = options.taken("pl", "one path", |value| value.extract().ok())?;
    reading.net_weights = options.taken("net_weights", "one path", |value| value.extract().ok())?;
    detached(py, move || {
        let loaded = formats::read_design(&path, &reading)?;
        let (mut design, mut warnings) = (loaded.design, loaded.warnings);
        if !is_def {
            warnings.extend(bookshelf::pin_offset_hint(&design, reading.pin_offset));
        }
        let (home, unplaced) = match &loaded.own_placement {
            Some(own) => {
                let own = formats::read_placement(own, &design.nodes, reading.pin_position)?;
                ((own.placement, own.kind), own.unplaced)
            }
            None => {
                let home = (design.placement.clone(), design.nodes.kind.clone());
                (home, loaded.unplaced.clone())
            }
        };
        design.row_blockage |= row_blockage;
        let (layers, gcell_grid) = (loaded.layers, loaded.gcell_grid);
        let warnings = warnings.iter().map(ToString::to_string).collect();
        let source = Source { path, warnings, home, unplaced, layers, gcell_grid };
        Ok(Design::new_of(Arc::new(design), Arc::new(source), loaded.unplaced))
    })
}

impl Source {
    /// Returns that of a design that no file has, with these nodes without a position.
    pub(super) fn of_memory(design: &Core, unplaced: Vec<u32>) -> Self {
        let home = (design.placement.clone(), design.nodes.kind.clone());
        let (path, warnings) = (PathBuf::new(), Vec::new());
        Source { path, warnings, home, unplaced, layers: Vec::new(), gcell_grid: Vec::new() }
    }

    /// Returns the movable nodes that the design's own placement gives no position, ascending.
    pub(super) fn unplaced(&self) -> &[u32] {
        &self.unplaced
    }
}

/// The version that wrote a pickled design, which is read by the same version alone.
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn unfit(error: postcard::Error) -> Failure {
    Failure::Value(format!("the pickled design cannot be read: {error}"))
}

/// The design of a `_state`.
#[pyfunction]
pub(super) fn design_of_state(py: Python<'_>, state: &[u8]) -> PyResult<Design> {
    detached(py, || {
        let (version, rest) = postcard::take_from_bytes::<&str>(state).map_err(unfit)?;
        if version != VERSION {
            let text = format!("the design was pickled by placefield {version}, not {VERSION}");
            return Err(Failure::Value(text));
        }
        let (design, source, unplaced): (Core, Source, Vec<u32>) =
            postcard::from_bytes(rest).map_err(unfit)?;
        design.check()?;
        let (home, kinds) = &source.home;
        let nodes = design.nodes.len();
        home.check(nodes)?;
        let mut all_unplaced = unplaced.iter().chain(&source.unplaced);
        if kinds.len() != nodes || all_unplaced.any(|&node| node as usize >= nodes) {
            return Err(unfit(postcard::Error::DeserializeBadEncoding));
        }
        Ok(Design::new_of(Arc::new(design), Arc::new(source), unplaced))
    })
}

impl Design {
    pub(super) fn new_of(design: Arc<Core>, source: Arc<Source>, unplaced: Vec<u32>) -> Self {
        Design {
            design,
            source,
            unplaced,
            elsewhere: Mutex::default(),
            wirelength: Mutex::default(),
            #[cfg(feature = "cuda")]
            congestion: Mutex::default(),
        }
    }

    /// Returns the movable nodes without a position, ascending.
    pub(super) fn unplaced(&self) -> &[u32] {
        &self.unplaced
    }

    /// Returns these files with another placement of the design.
    pub(super) fn placed(&self, design: Core) -> Self {
        Design::new_of(Arc::new(design), self.source.clone(), Vec::new())
    }

    /// Does `work` with the design, its nodes at `x` and `y` where these are given.
    pub(super) fn at<R>(
        &self,
        x: Option<&ImportedArray>,
        y: Option<&ImportedArray>,
        work: impl FnOnce(&Core) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let (x, y) = match (x, y) {
            (None, None) => return work(&self.design),
            (Some(x), Some(y)) => (x, y),
            _ => return Err(Failure::Value("x, y: expected both or none of them".to_owned())),
        };
        let mut elsewhere = self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        if elsewhere.is_none() {
            *elsewhere = Some(Box::new(copied(&self.design)?));
        }
        let design = elsewhere.as_mut().expect("made above");
        design.placement.x.clone_from(&self.design.placement.x);
        design.placement.y.clone_from(&self.design.placement.y);
        put(design, x, y)?;
        work(design)
    }
}

/// Checks that there is memory for another `design`: its nodes, nets and pins.
fn check_memory(design: &Core) -> Result<(), OutOfMemory> {
    let names = |names: &Names| names.text().len() + 4 * names.len();
    let nodes = 56 * design.nodes.len() + names(&design.nodes.names);
    let nets = |nets: &Nets| 20 * nets.pins() + 12 * nets.len() + names(&nets.names);
    require("the nodes and nets", (nodes + design.nets.as_ref().map_or(0, nets)) as u64)
}

fn copied(design: &Core) -> Result<Core, Failure> {
    check_memory(design)?;
    Ok(design.clone())
}

/// Puts the nodes of `design`, all or the movable ones, at `x`, `y`.
fn put(design: &mut Core, x: &ImportedArray, y: &ImportedArray) -> Result<(), Failure> {
    let (nodes, movable) = (design.nodes.len(), design.movable().count());
    x.check_shape(&[&[movable], &[nodes]])?;
    y.check_shape(&[&x.shape])?;
    let columns = [(x.values::<f64>()?, 'x'), (y.values::<f64>()?, 'y')];
    for (values, axis) in columns {
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            let text = format!("{axis} {at}: {}: expected a finite number", values[at]);
            return Err(Failure::Value(text));
        }
    }
    let [(x, _), (y, _)] = columns;
    if x.len() == nodes {
        design.placement.x.copy_from_slice(x);
        design.placement.y.copy_from_slice(y);
    } else {
        design.set_movable_positions(|i| (x[i], y[i]));
    }
    Ok(())
}

/// Positions along one axis, if they are given.
pub(super) fn positions(
    given: Option<&Bound<'_, PyAny>>,
    what: &'static str,
) -> PyResult<Option<ImportedArray>> {
    given.map(|given| ImportedArray::take(given, what, 1)).transpose()
}

#[pymethods]
impl Design {
    /// The design that `other` is: for classes on top of this one.
    #[new]
    fn new(other: &Bound<'_, Design>) -> Self {
        let other = other.get();
        Design::new_of(other.design.clone(), other.source.clone(), other.unplaced.clone())
    }

    /// Name of the design: that of its .aux file, or the one in its .def file.
    #[getter]
    fn name(&self) -> &str {
        &self.design.name
    }

    /// Number of nodes.
    #[getter]
    fn nodes(&self) -> usize {
        self.design.nodes.len()
    }

    /// Number of nets; 0 if the design has none.
    #[getter]
    fn nets(&self) -> usize {
        self.design.nets.as_ref().map_or(0, |nets| nets.len())
    }

    /// Number of pins.
    #[getter]
    fn pins(&self) -> usize {
        self.design.nets.as_ref().map_or(0, |nets| nets.pins())
    }

    /// Layout units in a micrometre; `None` if that is not known.
    #[getter]
    fn units_per_micron(&self) -> Option<f64> {
        self.design.units_per_micron
    }

    /// The bounding box of the rows, (xl, yl, xh, yh).
    #[getter]
    fn die(&self) -> PyResult<(f64, f64, f64, f64)> {
        let die = self.design.die();
        let die = die.ok_or_else(|| {
            PyValueError::new_err("the design has neither rows nor a die area, so it has no die")
        })?;
        Ok((die.xl, die.yl, die.xh, die.yh))
    }

    /// Warnings about the files, one line each.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.source.warnings)
    }

    /// All of the design, for `pickle`: [`design_of_state`] makes it again.
    fn _state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = (VERSION, &*self.design, &*self.source, &self.unplaced);
        let bytes = detached(py, || {
            check_memory(&self.design)?;
            postcard::to_allocvec(&state).map_err(unfit)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Names of the nodes.
    fn _names(&self) -> Vec<&str> {
        self.design.nodes.names.iter().collect()
    }

    /// Names of the nets.
    fn _net_names(&self) -> Vec<&str> {
        self.design.nets.iter().flat_map(|nets| nets.names.iter()).collect()
    }

    /// How the nodes lie, by the names of the files.
    fn _orientations(&self) -> Vec<&str> {
        self.design.placement.orientation.iter().map(|of| of.name()).collect()
    }

    /// A column as an array of NumPy's that nobody may write.
    fn _column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let design = &*self.design;
        let nodes = 0..design.nodes.len();
        let empty = Nets { net_start: vec![0], ..Nets::default() };
        let nets = design.nets.as_ref().unwrap_or(&empty);
        let indices = |of: &mut dyn Iterator<Item = usize>| of.map(|i| i as i64).collect();
        let counts = |of: &[u32]| of.iter().map(|&i| i64::from(i)).collect();
        // A pin's offset from the centre of its node, as that lies.
        let offset = |p: usize| {
            let orientation = design.placement.orientation[nets.pin_node[p] as usize];
            orientation.turn((nets.pin_dx[p], nets.pin_dy[p]))
        };
        let array = match name {
            "x" => Array::column(design.placement.x.clone()),
            "y" => Array::column(design.placement.y.clone()),
            "width" => Array::column(nodes.map(|i| design.size(i).0).collect::<Vec<f64>>()),
            "height" => Array::column(nodes.map(|i| design.size(i).1).collect::<Vec<f64>>()),
            "movable" => Array::column::<i64>(indices(&mut design.movable())),
            "fixed" => {
                let is_fixed = |i: &usize| design.nodes.kind[*i] == NodeKind::Fixed;
                Array::column::<i64>(indices(&mut nodes.filter(is_fixed)))
            }
            "net_start" => Array::column::<i64>(counts(&nets.net_start)),
            "net_weight" => Array::column(nets.weight.clone()),
            "pin_node" => Array::column::<i64>(counts(&nets.pin_node)),
            "pin_dx" => Array::column((0..nets.pins()).map(|p| offset(p).0).collect::<Vec<f64>>()),
            "pin_dy" => Array::column((0..nets.pins()).map(|p| offset(p).1).collect::<Vec<f64>>()),
            other => return Err(PyValueError::new_err(format!("no column is called {other}"))),
        };
        array.numpy(py)
    }

    /// Outlines of macros, blockages and fences, shape (rectangles, 4): x, y, width, height.
    fn _outlines<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let design = &self.design;
        let fences = design.fences.iter().flat_map(|fence| fence.rects.clone()).collect();
        let found = design.die().map_or(Vec::new(), |die| {
            [fixed(design, die), movable(design, die), blockages(design, die), fences].concat()
        });
        let values: Vec<f64> =
            found.iter().flat_map(|r| [r.xl, r.yl, r.width(), r.height()]).collect();
        Array::new(values, &[found.len(), 4]).numpy(py)
    }

    /// The design with its nodes at `x`, `y`.
    fn _with_positions(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
    ) -> PyResult<Design> {
        let (x, y) = (ImportedArray::take(x, "x", 1)?, ImportedArray::take(y, "y", 1)?);
        detached(py, || {
            let mut design = copied(&self.design)?;
            put(&mut design, &x, &y)?;
            Ok(self.placed(design))
        })
    }

    /// Half-perimeter wirelength of all nets, of each once and by weight.
    fn _hpwl(
        &self,
        py: Python<'_>,
        x: Option<&Bound<'_, PyAny>>,
        y: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<(f64, f64)>> {
        let (x, y) = (positions(x, "x")?, positions(y, "y")?);
        detached(py, || {
            let hpwl = self.at(x.as_ref(), y.as_ref(), |design| Ok(design.hpwl()))?;
            Ok(hpwl.map(|hpwl| (hpwl.unweighted, hpwl.weighted)))
        })
    }

    /// Weighted-average wirelength and HPWL with the movable cells at `x`, `y`; writes the gradient
    /// to `gradient`, shape (2, movable).
    fn _wirelength(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        gradient: &Bound<'_, PyAny>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<(f64, f64)> {
        let options = Options(options);
        let gamma = options.number("gamma", "a length above 0", |gamma| gamma > 0.0)?;
        let gamma = gamma.ok_or_else(|| PyValueError::new_err("gamma: expected a length"))?;
        let most = options.count("ignore_net_degree", 2..=u64::from(u32::MAX))?;
        let large = most.map_or(Netlist::ALL, |most| most as usize + 1);
        let (x, y) = (ImportedArray::take(x, "x", 1)?, ImportedArray::take(y, "y", 1)?);
        let mut gradient = ImportedArray::take(gradient, "gradient", 1)?;
        let weights = options.get("weights")?;
        let weights = weights.map(|weights| ImportedArray::take(&weights, "weights", 1));
        let weights = weights.transpose()?;
        detached(py, || {
            let movable = self.design.movable().count();
            x.check_shape(&[&[movable]])?;
            y.check_shape(&[&[movable]])?;
            gradient.check_shape(&[&[2, movable]])?;
            let (gradient_x, gradient_y) = gradient.values_mut::<f64>()?.split_at_mut(movable);
            let mut kept = self.wirelength.lock().unwrap_or_else(PoisonError::into_inner);
            let (_, netlist, wirelength) = match &mut *kept {
                Some(kept) if kept.0 == large => kept,
                kept => {
                    let netlist = Netlist::from_design(&self.design, large)?;
                    let wirelength = CpuWirelength::new(&netlist, [0.0; 2]);
                    kept.insert((large, netlist, wirelength))
                }
            };
            let own = self.design.nets.as_ref().map_or(&[][..], |nets| &nets.weight);
            if let Some(weights) = &weights {
                weights.check_shape(&[&[own.len()]])?;
            }
            netlist.set_weights(match &weights {
                Some(weights) => weights.values()?,
                None => own,
            })?;
            wirelength.set_weights(netlist)?;
            let found =
                wirelength.evaluate(x.values()?, y.values()?, gamma, gradient_x, gradient_y)?;
            Ok((found.smooth, found.hpwl))
        })
    }

    /// The legality of the placement.
    fn _legality<'py>(
        &self,
        py: Python<'py>,
        options: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let tolerance = Options(options)
            .number("tolerance", "a number from 0 to 1", |t| (0.0..=1.0).contains(&t))?;
        let found = detached(py, || self.judged(&self.design, tolerance, &self.unplaced))?;
        plain(py, &found)
    }

    /// The score of the ISPD 2006 contest.
    fn _scaled_hpwl<'py>(
        &self,
        py: Python<'py>,
        target_density: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let score = detached(py, || Ok(scaled_hpwl::score(&self.design, target_density)?))?;
        plain(py, &score)
    }

    /// Writes the placement to a .pl file; the file appears whole or not at all.
    fn write_pl(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        detached(py, || Ok(crate::bookshelf::write_pl(&path, &self.design)?))
    }

    /// Writes the design as Bookshelf files: the .aux file, and beside it, with its name, .nodes,
    /// .nets, .wts, .pl and .scl. They appear together once all are written. Fences, blockages,
    /// halos, the die area and library cells are left out: the format has none.
    fn write_bookshelf(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        detached(py, || Ok(crate::bookshelf::write_design(&path, &self.design).map(drop)?))
    }

    /// Writes the design's .def file with the present positions of its movable cells. Everything
    /// else is unchanged. The file is compressed if the path ends in .gz. It appears whole or not
    /// at all.
    fn write_def(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        if Format::of(&self.source.path) != Format::Def {
            return Err(PyValueError::new_err("the design was not read from a .def file"));
        }
        detached(py, || Ok(lefdef::write_placement(&path, &self.source.path, &self.design)?))
    }

    fn __repr__(&self) -> String {
        let nodes = self.design.nodes.len();
        format!("placefield.Design({:?}, nodes={nodes}, nets={})", self.design.name, self.nets())
    }
}

impl Design {
    /// The legality of another placement of this design: fixed cells belong where its own placement
    /// has them. `unplaced` nodes have no position.
    pub(super) fn judged(
        &self,
        design: &Core,
        tolerance: Option<f64>,
        unplaced: &[u32],
    ) -> Result<LegalityReport, Failure> {
        let options = LegalityOptions::default().unplaced(unplaced);
        let options = tolerance.map_or(options, |tolerance| options.tolerance(tolerance));
        let (home, kinds) = &self.source.home;
        check_memory(design)?;
        Ok(LegalityReport::of_other_placement(design, (home, kinds), &options)?)
    }
}

/// How far the movable cells of a design have `moved`.
pub(super) fn described(design: &Core, moved: &Displacement) -> Value {
    let farthest = moved.farthest.iter().map(|far| {
        let cell = design.node_name(far.node as usize);
        json!({"cell": cell, "distance": far.distance, "before": far.from, "after": far.to})
    });
    json!({
        "cells": moved.cells,
        "moved": moved.moved,
        "turned": moved.turned,
        "mean": moved.mean,
        "median": moved.median,
        "p95": moved.p95,
        "max": moved.largest,
        "farthest": farthest.collect::<Vec<Value>>(),
    })
}

/// Returns the difference of two placements of one design.
#[pyfunction]
pub(super) fn diff<'py>(
    py: Python<'py>,
    before: &Bound<'py, Design>,
    after: &Bound<'py, Design>,
) -> PyResult<Bound<'py, PyAny>> {
    let (before, after) = (&before.get().design, &after.get().design);
    if before.nodes.names != after.nodes.names {
        let text = "before, after: expected two placements of one design, found other nodes";
        return Err(PyValueError::new_err(text));
    }
    let found = detached(py, || {
        let moved = displacement::between(after, &before.placement, &after.placement)?;
        Ok(described(after, &moved))
    })?;
    plain(py, &found)
}
