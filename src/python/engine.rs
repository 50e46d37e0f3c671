//! The density engine.

use super::dlpack::{Foreign, Place};
use super::errors::{Failure, detached};
use crate::border::{AnyEngine, Device, DeviceEngine, EngineReal, open_any_engine};
use crate::charge::{Charge, ChargeOptions, Rectangles};
use crate::cpu::energy_gradient::energy_gradient;
use crate::engine::{EngineOptions, GradientOptions, Layout, MapKind, Pipeline};
use crate::grid::{BinGrid, Map, Rect};
use crate::real::Precision;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard};

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

fn map_of(name: &str) -> PyResult<MapKind> {
    let found = MapKind::ALL.into_iter().find(|map| map.name() == name);
    found.ok_or_else(|| PyValueError::new_err(format!("map: no map is called {name}")))
}

/// A stream as DLPack numbers it (1 the legacy default, 2 the default of a thread, others an
/// address), and 0, as PyTorch calls the legacy default.
#[cfg(feature = "cuda")]
pub(super) fn stream_of(number: isize) -> crate::cuda::interop::cudarc::driver::sys::CUstream {
    std::ptr::without_provenance_mut(number as usize)
}

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

/// Density → field → force. Threads that use one engine wait for one another.
#[pyclass(frozen, module = "placefield")]
pub(super) struct Engine {
    inner: Mutex<Inner>,
    grid: BinGrid,
    movable: usize,
    bodies: usize,
    precision: Precision,
    place: Place,
    pipeline: &'static str,
}

struct Inner {
    engine: AnyEngine,
    /// Counts the evaluations, so that a gradient can be told to be of older positions.
    generation: u64,
}

fn write_start<T: EngineReal>(
    engine: &mut DeviceEngine<T>,
    out: &mut Foreign,
) -> Result<(), Failure> {
    let (x, y) = engine.as_dyn().charge().initial_positions::<T>();
    let (to_x, to_y) = out.values_mut::<T>()?.split_at_mut(x.len());
    to_x.copy_from_slice(&x);
    to_y.copy_from_slice(&y);
    Ok(())
}

fn write_exact<T: EngineReal>(
    engine: &mut DeviceEngine<T>,
    positions: &Foreign,
    out: &mut Foreign,
) -> Result<(), Failure> {
    let engine = engine.as_dyn();
    let grid = engine.charge().grid();
    let mut potential = Map::filled(grid.nx(), grid.ny(), T::of(0.0));
    engine.read_map(MapKind::Potential, &mut potential)?;
    let bodies = engine.charge().bodies();
    let (x, y) = positions.values::<T>()?.split_at(bodies);
    let (to_x, to_y) = out.values_mut::<T>()?.split_at_mut(bodies);
    Ok(energy_gradient(engine.charge(), &potential, [x, y], [to_x, to_y])?)
}

/// Calls `$body` with the engine, in whichever precision it is.
macro_rules! with_engine {
    ($inner:expr, $engine:ident => $body:expr) => {
        match &mut $inner.engine {
            AnyEngine::F32($engine) => $body,
            AnyEngine::F64($engine) => $body,
        }
    };
}

impl Engine {
    fn made(
        charge: Charge,
        dtype: &str,
        device: &str,
        threads: usize,
        pipeline: Option<&str>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let (device, pipeline) = (device_of(device)?, pipeline_of(pipeline)?);
        let precision = precision_of(dtype)?;
        let options = EngineOptions::default().pipeline(pipeline).threads(threads);
        let (grid, movable, bodies) = (charge.grid(), charge.movable(), charge.bodies());
        let mut engine =
            detached(py, move || Ok(open_any_engine(charge, precision, device, &options)?))?;
        let pipeline = match &mut engine {
            AnyEngine::F32(engine) => engine.as_dyn().choice().pipeline,
            AnyEngine::F64(engine) => engine.as_dyn().choice().pipeline,
        };
        let place = match device {
            Device::Cpu => Place::Host,
            Device::Cuda(ordinal) => Place::Cuda(ordinal),
        };
        let inner = Mutex::new(Inner { engine, generation: 0 });
        Ok(Engine { inner, grid, movable, bodies, precision, place, pipeline: pipeline.name() })
    }

    /// Called without the interpreter: whoever waits here holds nobody up.
    fn lock(&self) -> Result<MutexGuard<'_, Inner>, Failure> {
        self.inner.lock().map_err(|_| {
            Failure::Runtime("an earlier call on this engine was a fault of placefield".to_owned())
        })
    }

    fn bits(&self) -> u8 {
        match self.precision {
            Precision::F32 => 32,
            Precision::F64 => 64,
        }
    }

    /// An error unless `array` is two values of every body, of the engine's precision.
    fn check_bodies(&self, array: &Foreign) -> Result<(), Failure> {
        array.check_type(self.bits())?;
        array.check_shape(&[&[2, self.bodies], &[2 * self.bodies]])
    }
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (die, bins, width, height, x, y, *, fixed, row_height, macros, target_density,
                        fillers, seed, filler, dtype, device, threads, pipeline))]
    #[allow(clippy::too_many_arguments)] // Python's, by name
    fn new(
        py: Python<'_>,
        die: (f64, f64, f64, f64),
        bins: (usize, usize),
        width: &Bound<'_, PyAny>,
        height: &Bound<'_, PyAny>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        fixed: &Bound<'_, PyAny>,
        row_height: Option<f64>,
        macros: Option<Vec<bool>>,
        target_density: f64,
        fillers: bool,
        seed: u64,
        filler: Option<(usize, f64, f64)>,
        dtype: &str,
        device: &str,
        threads: usize,
        pipeline: Option<&str>,
    ) -> PyResult<Self> {
        let width = Foreign::take(width, "width", 1)?;
        let height = Foreign::take(height, "height", 1)?;
        let (x, y) = (Foreign::take(x, "x", 1)?, Foreign::take(y, "y", 1)?);
        let fixed = Foreign::take(fixed, "fixed", 1)?;
        let charge = detached(py, || {
            let grid =
                BinGrid::new(Rect { xl: die.0, yl: die.1, xh: die.2, yh: die.3 }, bins.0, bins.1)?;
            fixed.check_shape(&[&[fixed.shape.first().copied().unwrap_or(0), 4]])?;
            let rects =
                fixed.values::<f64>()?.chunks_exact(4).map(|r| Rect::at(r[0], r[1], r[2], r[3]));
            let rects: Vec<Rect> = rects.collect();
            let cells =
                Rectangles::movable(width.values()?, height.values()?, x.values()?, y.values()?)
                    .fixed(&rects)
                    .row_height(row_height)
                    .macros(macros.as_deref());
            let options =
                ChargeOptions::default().target_density(target_density).fillers(fillers).seed(seed);
            let mut charge = Charge::from_rectangles(grid, &cells, &options)?;
            if let Some((count, width, height)) = filler {
                // They start in the die's corner: whoever brings fillers has places for them.
                charge.add_fillers(width, height, &vec![die.0; count], &vec![die.1; count])?;
            }
            Ok(charge)
        })?;
        Engine::made(charge, dtype, device, threads, pipeline, py)
    }

    /// An engine for a design.
    #[staticmethod]
    #[pyo3(signature = (design, bins, *, target_density, fillers, seed, dtype, device, threads, pipeline))]
    #[allow(clippy::too_many_arguments)] // Python's, by name
    fn from_design(
        py: Python<'_>,
        design: &Bound<'_, super::design::Design>,
        bins: (usize, usize),
        target_density: f64,
        fillers: bool,
        seed: u64,
        dtype: &str,
        device: &str,
        threads: usize,
        pipeline: Option<&str>,
    ) -> PyResult<Self> {
        let design = design.get().design.clone();
        let charge = detached(py, || {
            let die = design.die();
            let die = die.ok_or_else(|| Failure::Value("the design has no rows".to_owned()))?;
            let grid = BinGrid::new(die, bins.0, bins.1)?;
            let options =
                ChargeOptions::default().target_density(target_density).fillers(fillers).seed(seed);
            Ok(Charge::from_design(&design, grid, &options)?)
        })?;
        Engine::made(charge, dtype, device, threads, pipeline, py)
    }

    /// Bins along x and y.
    #[getter]
    fn bins(&self) -> (usize, usize) {
        (self.grid.nx(), self.grid.ny())
    }

    /// Width and height of a bin, layout units.
    #[getter]
    fn bin_size(&self) -> (f64, f64) {
        (self.grid.bin_x(), self.grid.bin_y())
    }

    /// The die, (xl, yl, xh, yh).
    #[getter]
    fn die(&self) -> (f64, f64, f64, f64) {
        let die = self.grid.die();
        (die.xl, die.yl, die.xh, die.yh)
    }

    /// Number of movable cells, which are the first bodies.
    #[getter]
    fn movable(&self) -> usize {
        self.movable
    }

    /// Number of bodies: movable cells, then fillers.
    #[getter]
    fn bodies(&self) -> usize {
        self.bodies
    }

    /// "float32" or "float64".
    #[getter]
    fn dtype(&self) -> &'static str {
        match self.precision {
            Precision::F32 => "float32",
            Precision::F64 => "float64",
        }
    }

    /// "cpu" or "cuda:N".
    #[getter]
    fn device(&self) -> String {
        match self.place {
            Place::Host => "cpu".to_owned(),
            Place::Cuda(ordinal) => format!("cuda:{ordinal}"),
        }
    }

    /// How the field is solved.
    #[getter]
    fn pipeline(&self) -> &'static str {
        self.pipeline
    }

    /// How many evaluations there were.
    #[getter]
    fn generation(&self, py: Python<'_>) -> PyResult<u64> {
        detached(py, || Ok(self.lock()?.generation))
    }

    /// Writes where the bodies start to `out`, lower-left corners: x of all bodies, then y.
    fn start(&self, py: Python<'_>, out: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut out = Foreign::take(out, "out", 1)?;
        detached(py, || {
            self.check_bodies(&out)?;
            let mut inner = self.lock()?;
            with_engine!(inner, engine => write_start(engine, &mut out))
        })
    }

    /// One step at `positions`: x of all bodies, then y; host memory, or of the engine's device.
    #[pyo3(signature = (positions, *, stream=1))]
    fn evaluate(
        &self,
        py: Python<'_>,
        positions: &Bound<'_, PyAny>,
        stream: usize,
    ) -> PyResult<Evaluation> {
        let positions = Foreign::take(positions, "positions", stream)?;
        detached(py, || {
            self.check_bodies(&positions)?;
            let mut inner = self.lock()?;
            inner.generation += 1;
            let evaluation = with_engine!(inner, engine => match positions.place {
                Place::Host => {
                    let (x, y) = positions.values()?.split_at(self.bodies);
                    engine.as_dyn().evaluate(x, y)?
                }
                Place::Cuda(_) => {
                    positions.check_place(self.place)?;
                    // SAFETY: the array's owner, kept here, keeps its memory until the step has
                    // been waited for below; the stream is a live one, as the caller says.
                    unsafe {
                        engine.enqueue_energy(positions.address as u64, None, stream)?;
                        engine.read_evaluation(stream)?
                    }
                }
            });
            Ok(evaluation.into())
        })
    }

    /// Writes weight · force to `out`, or adds it: x of all bodies, then y; host memory, or of the
    /// engine's device.
    #[pyo3(signature = (out, *, weight, accumulate=false, stream=1))]
    fn gradient(
        &self,
        py: Python<'_>,
        out: &Bound<'_, PyAny>,
        weight: f64,
        accumulate: bool,
        stream: usize,
    ) -> PyResult<()> {
        let mut out = Foreign::take(out, "out", stream)?;
        detached(py, || {
            self.check_bodies(&out)?;
            out.check_writable(&[])?;
            let options = GradientOptions::default()
                .layout(Layout::Halves)
                .weight(weight)
                .accumulate(accumulate);
            let mut inner = self.lock()?;
            with_engine!(inner, engine => match out.place {
                Place::Host => engine.as_dyn().write_gradient(out.values_mut()?, &options)?,
                Place::Cuda(_) => {
                    out.check_place(self.place)?;
                    // SAFETY: memory of the array's, which its owner frees in the order of the
                    // stream that it is used on.
                    unsafe { engine.enqueue_gradient(&options, None, out.address as u64, stream) }?;
                }
            });
            Ok(())
        })
    }

    /// Writes the derivative of the energy by `positions`, those of the last step, to `out`: of engines
    /// on the CPU, x of all bodies, then y.
    fn exact_gradient(
        &self,
        py: Python<'_>,
        positions: &Bound<'_, PyAny>,
        out: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let positions = Foreign::take(positions, "positions", 1)?;
        let mut out = Foreign::take(out, "out", 1)?;
        detached(py, || {
            self.check_bodies(&positions)?;
            self.check_bodies(&out)?;
            out.check_writable(&[&positions])?;
            let mut inner = self.lock()?;
            with_engine!(inner, engine => write_exact(engine, &positions, &mut out))
        })
    }

    /// For `placefield.torch`, which has checked what it gives: enqueues density and solve at
    /// `positions` to `stream`, and the copy of the energy, a double, to `energy`; device addresses.
    /// Returns the generation.
    fn _enqueue_energy(
        &self,
        py: Python<'_>,
        positions: u64,
        energy: u64,
        stream: usize,
    ) -> PyResult<u64> {
        detached(py, || {
            let mut inner = self.lock()?;
            inner.generation += 1;
            let energy = (energy != 0).then_some(energy);
            // SAFETY: the package sees to it that both are tensors' of the engine's device, of so many
            // values, and that the stream is PyTorch's current one.
            with_engine!(inner, engine => unsafe { engine.enqueue_energy(positions, energy, stream) }?);
            Ok(inner.generation)
        })
    }

    /// For `placefield.torch`: enqueues weight · factor · force to `gradient`; `factor` is one value on
    /// the device, or 0.
    fn _enqueue_gradient(
        &self,
        py: Python<'_>,
        gradient: u64,
        weight: f64,
        factor: u64,
        stream: usize,
    ) -> PyResult<()> {
        detached(py, || {
            let options = GradientOptions::default().layout(Layout::Halves).weight(weight);
            let factor = (factor != 0).then_some(factor);
            let mut inner = self.lock()?;
            // SAFETY: as in `_enqueue_energy`.
            with_engine!(inner, engine => unsafe { engine.enqueue_gradient(&options, factor, gradient, stream) }?);
            Ok(())
        })
    }

    /// Between replays of a CUDA graph that holds steps of this engine: makes a new order of the
    /// bodies if one is due, so that the replays stay fast. Results do not change.
    #[pyo3(signature = (*, stream=1))]
    fn order_if_due(&self, py: Python<'_>, stream: usize) -> PyResult<()> {
        detached(py, || {
            let mut inner = self.lock()?;
            // SAFETY: a live stream, as the caller says.
            with_engine!(inner, engine => unsafe { engine.order_if_due(stream) }?);
            Ok(())
        })
    }

    /// Overflow, largest density and energy of the last step; waits for it.
    #[pyo3(signature = (*, stream=1))]
    fn read_evaluation(&self, py: Python<'_>, stream: usize) -> PyResult<Evaluation> {
        detached(py, || {
            let mut inner = self.lock()?;
            let evaluation = with_engine!(inner, engine => {
                // SAFETY: a live stream, as the caller says.
                unsafe { engine.read_evaluation(stream) }?
            });
            Ok(evaluation.into())
        })
    }

    /// Writes a map of the last step to `out`, host memory of shape (nx, ny): "density", "potential",
    /// "field_x" or "field_y".
    fn read_map(&self, py: Python<'_>, kind: &str, out: &Bound<'_, PyAny>) -> PyResult<()> {
        let kind = map_of(kind)?;
        let mut out = Foreign::take(out, "out", 1)?;
        detached(py, || {
            let (nx, ny) = self.bins();
            out.check_type(self.bits())?;
            out.check_shape(&[&[nx, ny]])?;
            let mut inner = self.lock()?;
            with_engine!(inner, engine => {
                let to = out.values_mut()?;
                let mut map = Map::filled(nx, ny, to[0]);
                engine.as_dyn().read_map(kind, &mut map)?;
                to.copy_from_slice(map.as_slice());
            });
            Ok(())
        })
    }

    /// A copy of a map of the last step on the engine's device, lent by DLPack.
    #[cfg(feature = "cuda")]
    fn device_map(&self, py: Python<'_>, kind: &str) -> PyResult<super::arrays::Array> {
        let ((nx, ny), kind) = (self.bins(), map_of(kind)?);
        detached(py, || {
            use super::arrays::Memory;
            let mut inner = self.lock()?;
            let memory =
                with_engine!(inner, engine => Memory::Cuda(Box::new(engine.device_map(kind)?)));
            Ok(super::arrays::Array::new(memory, &[nx, ny]))
        })
    }

    /// Overflow and largest density of the last positions with every cell at its exact size.
    fn exact(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        detached(py, || {
            let mut inner = self.lock()?;
            let stats = with_engine!(inner, engine => engine.as_dyn().exact_density()?);
            Ok((stats.overflow, stats.max))
        })
    }

    fn __repr__(&self) -> String {
        let ((nx, ny), dtype, device) = (self.bins(), self.dtype(), self.device());
        format!(
            "placefield.Engine(bins=({nx}, {ny}), bodies={}, dtype={dtype:?}, device={device:?})",
            self.bodies
        )
    }
}
