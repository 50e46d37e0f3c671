//! The density engine.

use super::dlpack::ImportedArray;
use super::errors::{Failure, detached};
use super::evaluation::{Evaluation, write_exact, write_start};
use super::options::{Charging, Options, map_of};
use crate::charge::{Charge, ChargeError, MAX_BODIES, Rectangles};
use crate::engine::{EngineOptions, GradientOptions, Layout};
use crate::engines::Device;
use crate::ffi::{AnyEngine, open_any_engine, with_engine};
use crate::grid::{BinGrid, Map, Rect};
use crate::memory::require;
use crate::real::Precision;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, MutexGuard};

/// Density → field → force. Threads that use one engine wait for one another.
#[pyclass(frozen, module = "placefield")]
pub(super) struct Engine {
    inner: Mutex<Inner>,
    grid: BinGrid,
    movable: usize,
    regions: usize,
    precision: Precision,
    device: Device,
    pipeline: &'static str,
    warnings: Vec<String>,
}

struct Inner {
    engine: AnyEngine,
    bodies: usize,
    /// Counts evaluations and changes, to detect a gradient of older positions.
    generation: u64,
}

impl Inner {
    /// An error unless `array` is two values of every body.
    fn check_bodies(&self, array: &ImportedArray) -> Result<(), Failure> {
        array.check_shape(&[&[2, self.bodies], &[2 * self.bodies]])
    }

    /// One step at positions in host memory, or in that of the engine's `device`.
    fn evaluate(
        &mut self,
        positions: &ImportedArray,
        device: Device,
        stream: usize,
    ) -> Result<crate::engine::Evaluation, Failure> {
        self.generation += 1;
        let bodies = self.bodies;
        Ok(with_engine!(&mut self.engine, engine => match positions.place {
            Device::Cpu => {
                let (x, y) = positions.values()?.split_at(bodies);
                engine.settled()?.evaluate(x, y)?
            }
            Device::Cuda(_) => {
                positions.check_place(device)?;
                // SAFETY: the array's owner, kept by the caller, keeps its memory until the step
                // has been waited for; the stream is a live one, as the caller says.
                unsafe {
                    engine.enqueue_energy(positions.address as u64, None, stream)?;
                    engine.read_evaluation(stream)?
                }
            }
        }))
    }

    /// Writes the gradient of the last step to `out`, host memory or that of the engine's `device`.
    fn gradient(
        &mut self,
        out: &mut ImportedArray,
        options: &GradientOptions,
        device: Device,
        stream: usize,
    ) -> Result<(), Failure> {
        with_engine!(&mut self.engine, engine => match out.place {
            Device::Cpu => engine.settled()?.write_gradient(out.values_mut()?, options)?,
            Device::Cuda(_) => {
                out.check_place(device)?;
                // SAFETY: memory of the array's, which its owner frees in the order of the
                // stream that it is used on.
                unsafe { engine.enqueue_gradient(options, None, out.address as u64, stream) }?;
            }
        });
        Ok(())
    }

    /// For arrays that the package has looked at: an error where the engine has other bodies by
    /// now.
    fn check_count(&self, bodies: usize) -> Result<(), Failure> {
        if bodies == self.bodies {
            return Ok(());
        }
        Err(Failure::Value(format!("positions of {bodies} bodies, expected {}", self.bodies)))
    }
}

/// Where and how an engine works.
struct Target {
    precision: Precision,
    device: Device,
    options: EngineOptions,
}

impl Target {
    fn of(options: &Options<'_, '_>) -> PyResult<Self> {
        let (precision, device) = (options.precision()?, options.device()?);
        Ok(Target { precision, device, options: options.engine()? })
    }
}

impl Engine {
    fn made(charge: Charge, work: Target, py: Python<'_>) -> PyResult<Self> {
        let Target { precision, device, options } = work;
        let warnings = charge.warnings().iter().map(ToString::to_string).collect();
        let (grid, movable, bodies) = (charge.grid(), charge.movable(), charge.bodies());
        let regions = charge.regions();
        let mut engine =
            detached(py, move || Ok(open_any_engine(charge, precision, device, &options)?))?;
        let pipeline = with_engine!(&mut engine, engine => engine.as_dyn().choice().pipeline);
        let inner = Mutex::new(Inner { engine, bodies, generation: 0 });
        let pipeline = pipeline.name();
        Ok(Engine { inner, grid, movable, regions, precision, device, pipeline, warnings })
    }

    /// Called without the interpreter: whoever waits here holds nobody up.
    fn lock(&self) -> Result<MutexGuard<'_, Inner>, Failure> {
        self.inner.lock().map_err(|_| {
            Failure::Runtime("an earlier call on this engine was a fault of placefield".to_owned())
        })
    }

    /// Discards the positions and results before an evaluation, which may refuse new ones.
    fn discard_positions(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || {
            let mut inner = self.lock()?;
            inner.generation += 1;
            with_engine!(&mut inner.engine, engine => engine.as_dyn().discard_positions());
            Ok(())
        })
    }

    fn bits(&self) -> u8 {
        match self.precision {
            Precision::F32 => 32,
            Precision::F64 => 64,
        }
    }

    /// The engine, once `arrays` are known to be two values of every body, of its precision.
    fn lock_for<'a>(
        &self,
        arrays: impl IntoIterator<Item = &'a ImportedArray> + Clone,
    ) -> Result<MutexGuard<'_, Inner>, Failure> {
        arrays.clone().into_iter().try_for_each(|array| array.check_type(self.bits()))?;
        let inner = self.lock()?;
        arrays.into_iter().try_for_each(|array| inner.check_bodies(array))?;
        Ok(inner)
    }

    /// A copy of a map in host memory.
    fn map_of_bins(
        &self,
        map: Option<&Bound<'_, PyAny>>,
        what: &'static str,
    ) -> PyResult<Option<Map<f64>>> {
        let Some(map) = map else { return Ok(None) };
        let (map, (nx, ny)) =
            (ImportedArray::take(map, what, 1)?, (self.grid.nx(), self.grid.ny()));
        map.check_shape(&[&[nx, ny]])?;
        require("the bins", 8 * map.len() as u64).map_err(Failure::from)?;
        Ok(Some(Map::from_vec(nx, ny, map.values()?.to_vec())))
    }

    /// Gives the engine its charge changed, which makes older gradients too old.
    fn change(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut Charge) -> Result<(), ChargeError> + Send,
    ) -> PyResult<()> {
        detached(py, || {
            let mut inner = self.lock()?;
            inner.engine.change::<Failure>(change)?;
            inner.generation += 1;
            inner.bodies = inner.engine.charge().bodies();
            Ok(())
        })
    }
}

#[pymethods]
impl Engine {
    #[new]
    #[allow(clippy::too_many_arguments)] // the package's, by place
    fn new(
        py: Python<'_>,
        die: (f64, f64, f64, f64),
        width: &Bound<'_, PyAny>,
        height: &Bound<'_, PyAny>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        fixed: &Bound<'_, PyAny>,
        row_height: Option<f64>,
        macros: Option<Vec<bool>>,
        fences: Vec<Vec<[f64; 4]>>,
        regions: Option<Vec<u32>>,
        filler: Option<(usize, f64, f64)>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let options = Options(options);
        let (charging, work) = (Charging::of(&options, "bins")?, Target::of(&options)?);
        let wanted = || Failure::Value("bins: expected their number along x and y".to_owned());
        let bins = charging.bins.ok_or_else(wanted)?;
        let width = ImportedArray::take(width, "width", 1)?;
        let height = ImportedArray::take(height, "height", 1)?;
        let (x, y) = (ImportedArray::take(x, "x", 1)?, ImportedArray::take(y, "y", 1)?);
        let fixed = ImportedArray::take(fixed, "fixed", 1)?;
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
            let mut charge = Charge::from_rectangles(grid, &cells, &charging.options)?;
            if !fences.is_empty() || regions.is_some() {
                let rect = |&[x, y, width, height]: &[f64; 4]| Rect::at(x, y, width, height);
                let fences: Vec<Vec<Rect>> =
                    fences.iter().map(|rects| rects.iter().map(rect).collect()).collect();
                let none = || vec![fences.len() as u32; charge.movable()];
                charge.set_fences(&fences, &regions.unwrap_or_else(none))?;
            }
            if let Some((count, width, height)) = filler {
                if count > MAX_BODIES {
                    return Err(ChargeError::TooManyBodies(count).into());
                }
                require("the fillers", 16 * count as u64)?;
                // They start in the die's corner: whoever brings fillers has places for them.
                charge.add_fillers(width, height, &vec![die.0; count], &vec![die.1; count])?;
            }
            Ok(charge)
        })?;
        Engine::made(charge, work, py)
    }

    /// An engine for a design.
    #[staticmethod]
    fn from_design(
        py: Python<'_>,
        design: &Bound<'_, super::design::Design>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let options = Options(options);
        let (charging, work) = (Charging::of(&options, "bins")?, Target::of(&options)?);
        let design = design.get().design.clone();
        Engine::made(detached(py, || charging.charge(&design))?, work, py)
    }

    /// New sizes of all bodies.
    fn set_sizes(
        &self,
        py: Python<'_>,
        width: &Bound<'_, PyAny>,
        height: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (width, height) =
            (ImportedArray::take(width, "width", 1)?, ImportedArray::take(height, "height", 1)?);
        let (width, height) = (width.values()?, height.values()?);
        self.change(py, |charge| charge.set_sizes(width, height))
    }

    /// Which of the movable cells stay, and where.
    fn set_fixed_cells(
        &self,
        py: Python<'_>,
        fixed: Vec<bool>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (x, y) = (ImportedArray::take(x, "x", 1)?, ImportedArray::take(y, "y", 1)?);
        let (x, y) = (x.values()?, y.values()?);
        self.change(py, |charge| charge.set_fixed_cells(&fixed, x, y))
    }

    /// Area taken in every bin besides fixed cells.
    fn set_blocked_area(&self, py: Python<'_>, area: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let area = self.map_of_bins(area, "area")?;
        self.change(py, |charge| charge.set_blocked_area(area))
    }

    /// A target density of every bin.
    fn set_target_densities(
        &self,
        py: Python<'_>,
        target_densities: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let targets = self.map_of_bins(target_densities, "target_densities")?;
        self.change(py, |charge| charge.set_target_densities(targets))
    }

    /// Fillers anew.
    fn refill(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, Charge::refill)
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
    fn bodies(&self, py: Python<'_>) -> PyResult<usize> {
        detached(py, || Ok(self.lock()?.bodies))
    }

    /// Number of fence regions, which have separate densities; 1 without fences.
    #[getter]
    fn regions(&self) -> usize {
        self.regions
    }

    /// The region of every body.
    fn region_of_bodies(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        detached(py, || {
            let mut inner = self.lock()?;
            let charge = inner.engine.charge();
            Ok((0..charge.bodies()).map(|body| charge.region(body)).collect())
        })
    }

    /// The target density of every region: the given one, or the least at which its cells fit.
    fn region_target_densities(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        detached(py, || {
            let mut inner = self.lock()?;
            let charge = inner.engine.charge();
            Ok((0..charge.regions()).map(|region| charge.region_target_density(region)).collect())
        })
    }

    /// Widths of all bodies, then heights.
    fn sizes(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        detached(py, || {
            let mut inner = self.lock()?;
            let charge = inner.engine.charge();
            Ok([charge.width(), charge.height()].concat())
        })
    }

    /// The evaluation of every region at the positions last evaluated.
    fn evaluations(&self, py: Python<'_>) -> PyResult<Vec<Evaluation>> {
        detached(py, || {
            let mut found = vec![crate::engine::Evaluation::default(); self.regions];
            let mut inner = self.lock()?;
            with_engine!(&mut inner.engine, engine => engine.settled()?.read_regions(&mut found)?);
            Ok(found.into_iter().map(Evaluation::from).collect())
        })
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
        match self.device {
            Device::Cpu => "cpu".to_owned(),
            Device::Cuda(ordinal) => format!("cuda:{ordinal}"),
        }
    }

    /// How the field is solved.
    #[getter]
    fn pipeline(&self) -> &'static str {
        self.pipeline
    }

    /// Warnings about the cells when the engine was made, one line each.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Writes where the bodies start to `out`, lower-left corners: x of all bodies, then y.
    fn start(&self, py: Python<'_>, out: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut out = ImportedArray::take(out, "out", 1)?;
        detached(py, || {
            let mut inner = self.lock_for([&out])?;
            with_engine!(&mut inner.engine, engine => write_start(engine, &mut out))
        })
    }

    /// One step at `positions`: x of all bodies, then y; host memory, or of the engine's device.
    /// The force is written to `force`, if given, before another thread may use the engine.
    #[pyo3(signature = (positions, *, force=None, stream=1))]
    fn evaluate(
        &self,
        py: Python<'_>,
        positions: &Bound<'_, PyAny>,
        force: Option<&Bound<'_, PyAny>>,
        stream: usize,
    ) -> PyResult<Evaluation> {
        self.discard_positions(py)?;
        let positions = ImportedArray::take(positions, "positions", stream)?;
        let mut force = force.map(|out| ImportedArray::take(out, "out", stream)).transpose()?;
        detached(py, || {
            if let Some(out) = &force {
                out.check_writable(&[&positions])?;
            }
            let arrays = [Some(&positions), force.as_ref()];
            let mut inner = self.lock_for(arrays.into_iter().flatten())?;
            let evaluation = inner.evaluate(&positions, self.device, stream)?;
            if let Some(out) = &mut force {
                let options = GradientOptions::default().layout(Layout::Halves).weight(1.0);
                inner.gradient(out, &options, self.device, stream)?;
            }
            Ok(evaluation.into())
        })
    }

    /// Writes weight · force to `out`, or adds it: x of all bodies, then y; host memory, or of the
    /// engine's device. `region_weights`: one for each region besides, or none.
    #[pyo3(signature = (out, *, weight, region_weights=Vec::new(), accumulate=false, stream=1))]
    fn gradient(
        &self,
        py: Python<'_>,
        out: &Bound<'_, PyAny>,
        weight: f64,
        region_weights: Vec<f64>,
        accumulate: bool,
        stream: usize,
    ) -> PyResult<()> {
        let mut out = ImportedArray::take(out, "out", stream)?;
        detached(py, || {
            out.check_writable(&[])?;
            let options = GradientOptions::default()
                .layout(Layout::Halves)
                .weight(weight)
                .region_weights(&region_weights)
                .accumulate(accumulate);
            self.lock_for([&out])?.gradient(&mut out, &options, self.device, stream)
        })
    }

    /// For `placefield.torch`: the energy at `positions` in host memory. Where there is an `out`,
    /// host memory too, weight · force is written to it; without a weight the derivative of the
    /// energy.
    fn _step_at(
        &self,
        py: Python<'_>,
        positions: &Bound<'_, PyAny>,
        out: Option<&Bound<'_, PyAny>>,
        weight: Option<f64>,
    ) -> PyResult<f64> {
        self.discard_positions(py)?;
        let positions = ImportedArray::take(positions, "positions", 1)?;
        let mut out = out.map(|out| ImportedArray::take(out, "out", 1)).transpose()?;
        detached(py, || {
            if let Some(out) = &out {
                out.check_writable(&[&positions])?;
            }
            let arrays = [Some(&positions), out.as_ref()];
            let mut inner = self.lock_for(arrays.into_iter().flatten())?;
            let evaluation = inner.evaluate(&positions, self.device, 1)?;
            let Some(out) = &mut out else { return Ok(evaluation.energy) };
            with_engine!(&mut inner.engine, engine => match weight {
                None => write_exact(engine, &positions, out)?,
                Some(weight) => {
                    let options = GradientOptions::default().layout(Layout::Halves).weight(weight);
                    engine.settled()?.write_gradient(out.values_mut()?, &options)?;
                }
            });
            Ok(evaluation.energy)
        })
    }

    /// Enqueues a step at `positions` to `stream`. The step writes the energy, one value, to
    /// `energy` and weight · force to `gradient`, or no gradient if `gradient` is 0. All are device
    /// addresses. Returns the generation. `placefield.torch` calls it with checked arguments,
    /// except `bodies`, whose number may have changed.
    #[allow(clippy::too_many_arguments)] // addresses and numbers of one call
    fn _enqueue_step(
        &self,
        py: Python<'_>,
        positions: u64,
        bodies: usize,
        energy: u64,
        gradient: u64,
        weight: f64,
        stream: usize,
    ) -> PyResult<u64> {
        detached(py, || {
            let options = GradientOptions::default().layout(Layout::Halves).weight(weight);
            let gradient = (gradient != 0).then_some(gradient);
            let mut inner = self.lock()?;
            inner.check_count(bodies)?;
            inner.generation += 1;
            // SAFETY: the package sees to it that these are tensors' of the engine's device, of so
            // many values of its precision, and that the stream is PyTorch's current one.
            with_engine!(&mut inner.engine, engine => unsafe {
                engine.enqueue_step(&options, positions, energy, gradient, stream)?;
            });
            Ok(inner.generation)
        })
    }

    /// For `placefield.torch`: enqueues weight · factor · force at `positions` to `gradient`;
    /// `factor` is one value on the device. Density and solve are enqueued again where the engine
    /// has gone on since `generation`. Returns the generation.
    #[allow(clippy::too_many_arguments)] // addresses and numbers of one call
    fn _enqueue_gradient(
        &self,
        py: Python<'_>,
        positions: u64,
        bodies: usize,
        generation: u64,
        gradient: u64,
        weight: f64,
        factor: u64,
        stream: usize,
    ) -> PyResult<u64> {
        detached(py, || {
            let options = GradientOptions::default().layout(Layout::Halves).weight(weight);
            let mut inner = self.lock()?;
            inner.check_count(bodies)?;
            let stale = inner.generation != generation;
            inner.generation += u64::from(stale);
            // SAFETY: as in `_enqueue_step`.
            with_engine!(&mut inner.engine, engine => unsafe {
                if stale {
                    engine.enqueue_energy(positions, None, stream)?;
                }
                engine.enqueue_gradient(&options, Some(factor), gradient, stream)?;
            });
            Ok(inner.generation)
        })
    }

    /// Between replays of a CUDA graph that holds steps of this engine: makes a new order of the
    /// bodies if one is due, so that the replays stay fast. Results do not change.
    #[pyo3(signature = (*, stream=1))]
    fn order_if_due(&self, py: Python<'_>, stream: usize) -> PyResult<()> {
        detached(py, || {
            let mut inner = self.lock()?;
            // SAFETY: a live stream, as the caller says.
            with_engine!(&mut inner.engine, engine => unsafe { engine.order_if_due(stream) }?);
            Ok(())
        })
    }

    /// Overflow, largest density and energy of the last step; waits for it.
    #[pyo3(signature = (*, stream=1))]
    fn read_evaluation(&self, py: Python<'_>, stream: usize) -> PyResult<Evaluation> {
        detached(py, || {
            let mut inner = self.lock()?;
            let evaluation = with_engine!(&mut inner.engine, engine => {
                // SAFETY: a live stream, as the caller says.
                unsafe { engine.read_evaluation(stream) }?
            });
            Ok(evaluation.into())
        })
    }

    /// Writes a map of the last step to `out`, host memory of shape (nx, ny), or with several
    /// regions (regions, nx, ny): "density", "potential", "field_x" or "field_y".
    fn read_map(&self, py: Python<'_>, kind: &str, out: &Bound<'_, PyAny>) -> PyResult<()> {
        let kind = map_of(kind)?;
        let mut out = ImportedArray::take(out, "out", 1)?;
        detached(py, || {
            let (nx, ny) = self.bins();
            out.check_type(self.bits())?;
            match self.regions {
                1 => out.check_shape(&[&[nx, ny]])?,
                regions => out.check_shape(&[&[regions, nx, ny]])?,
            }
            let mut inner = self.lock()?;
            with_engine!(&mut inner.engine, engine => {
                let to = out.values_mut()?;
                let mut map = Map::filled(self.regions * nx, ny, to[0]);
                engine.settled()?.read_map(kind, &mut map)?;
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
            let memory = with_engine!(&mut inner.engine, engine => {
                Memory::Cuda(Box::new(engine.device_map(kind)?))
            });
            Ok(super::arrays::Array::new(memory, &[nx, ny]))
        })
    }

    /// Overflow and largest density of the last positions with every cell at its exact size.
    fn exact(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        detached(py, || {
            let mut inner = self.lock()?;
            let stats =
                with_engine!(&mut inner.engine, engine => engine.settled()?.exact_density()?);
            Ok((stats.overflow, stats.max))
        })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let ((nx, ny), bodies) = (self.bins(), self.bodies(py)?);
        let (dtype, device) = (self.dtype(), self.device());
        Ok(format!(
            "placefield.Engine(bins=({nx}, {ny}), bodies={bodies}, \
             dtype={dtype:?}, device={device:?})"
        ))
    }
}
