//! The CUDA engine's door for a placer that lives on the device: positions and
//! forces stay there, and steps are enqueued without the host waiting.

use super::bodies::Arrangement;
use super::engine::{CudaEngine, RUNS_PER_SAMPLE};
use super::error::CudaError;
use super::graph::Graph;
use super::real::CudaReal;
use super::timing::measure;
use crate::engine::{Done, EngineError, Evaluation, MapKind, Pipeline};
use cudarc::driver::{CudaSlice, CudaViewMut};

impl<T: CudaReal> CudaEngine<T> {
    /// Positions on the device, lower-left corners in layout units, x and y of a
    /// body side by side, in the engine's [`Arrangement`], to be written by work on
    /// [`CudaEngine::gpu`]'s stream. What followed from the positions before is
    /// stale from here on. Numbers that are not finite are not refused; such a
    /// body counts nowhere.
    pub fn positions_device_mut(&mut self) -> CudaViewMut<'_, T> {
        self.moved();
        self.stages.corners.slice_mut(..2 * self.charge.bodies())
    }

    /// Enqueues the copy of lower-left corners that stand on the device in an
    /// array for x and one for y (one value per body, and one where there is
    /// none), in the engine's [`Arrangement`].
    ///
    /// # Errors
    /// When an array has the wrong length, or the launch fails.
    pub fn set_positions_device(
        &mut self,
        x: &CudaSlice<T>,
        y: &CudaSlice<T>,
    ) -> Result<(), EngineError> {
        self.stages.join(x, y)?;
        self.moved();
        Ok(())
    }

    /// Enqueues density, solve and force for the positions on the device, by the
    /// pipeline of [`Engine::choice`](crate::engine::Engine::choice), and returns
    /// at once.
    ///
    /// # Errors
    /// When positions were never given, or a launch fails.
    pub fn enqueue_step(&mut self) -> Result<(), EngineError> {
        self.done.require("a step", Done::Positions)?;
        self.order_if_due()?;
        let pipeline = self.choice.pipeline;
        match &mut self.steps[pipeline as usize] {
            Some(graph) => graph.launch()?,
            None => {
                // What a kernel's first launch loads is loaded by this one, so
                // that nothing is left to be loaded during capture.
                self.stages.step(pipeline)?;
                self.capture_step(pipeline)?;
            }
        }
        self.stepped();
        Ok(())
    }

    /// As [`CudaEngine::enqueue_step`], by plain launches; `after` is called
    /// behind density, solve and force each, to enqueue what the caller wants
    /// there. Between [`CudaEngine::order_if_due`] and the next step it can be
    /// captured with work of the caller's in one [`Graph`], which keeps the
    /// addresses of this engine's memory and is run by [`CudaEngine::replay`].
    ///
    /// # Errors
    /// When positions were never given, a launch fails, or `after` returns one.
    pub fn enqueue_stages(
        &mut self,
        mut after: impl FnMut() -> Result<(), CudaError>,
    ) -> Result<(), EngineError> {
        self.done.require("a step", Done::Positions)?;
        self.order_if_due()?;
        self.stages.density()?;
        after()?;
        self.stages.solve(self.choice.pipeline)?;
        after()?;
        self.stages.force()?;
        after()?;
        self.stepped();
        Ok(())
    }

    /// Enqueues a graph captured around [`CudaEngine::enqueue_stages`], before it
    /// a new order of the bodies if one is due.
    ///
    /// # Errors
    /// When positions were never given, or a launch fails.
    pub fn replay(&mut self, graph: &mut Graph) -> Result<(), EngineError> {
        self.done.require("a step", Done::Positions)?;
        self.order_if_due()?;
        graph.launch()?;
        self.stepped();
        Ok(())
    }

    /// What [`CudaEngine::read_evaluation`] reads, on the device: three words of
    /// the density's statistics, and the energy. Once their values have come to
    /// the host, [`CudaEngine::take_evaluation`] says what they mean.
    pub fn evaluation_device(&self) -> (&CudaSlice<u64>, &CudaSlice<f64>) {
        (self.stages.density.statistics(), &self.stages.fields.energy)
    }

    /// The evaluation of the last step from what
    /// [`CudaEngine::evaluation_device`] held after it.
    ///
    /// # Errors
    /// When no step followed the last positions.
    pub fn take_evaluation(
        &mut self,
        statistics: [u64; 3],
        energy: f64,
    ) -> Result<Evaluation, EngineError> {
        self.done.require("the evaluation's read-back", Done::Force)?;
        let report = self.stages.density.report_of(statistics);
        self.strays = report.strays;
        self.density = Some(report.stats);
        Ok(Evaluation { density: report.stats, energy })
    }

    /// Overflow, maximum and energy of the last [`CudaEngine::enqueue_step`];
    /// waits for it.
    ///
    /// # Errors
    /// When no step followed the last positions, or the device failed.
    pub fn read_evaluation(&mut self) -> Result<Evaluation, EngineError> {
        self.done.require("the evaluation's read-back", Done::Force)?;
        Ok(Evaluation { density: self.read_density()?, energy: self.read_energy()? })
    }

    /// [`CudaEngine::enqueue_step`] and [`CudaEngine::read_evaluation`].
    ///
    /// # Errors
    /// As those two.
    pub fn evaluate_on_device(&mut self) -> Result<Evaluation, EngineError> {
        self.enqueue_step()?;
        self.read_evaluation()
    }

    /// Forces on the device, those along x and y on a body side by side, in the
    /// engine's [`Arrangement`]; to be read by work on [`CudaEngine::gpu`]'s
    /// stream. One pair where there is no body. [`Bodies::split`](super::Bodies::split)
    /// makes two arrays of them.
    ///
    /// # Errors
    /// When they have not been computed for the positions at hand.
    pub fn force_device(&self) -> Result<&CudaSlice<T>, EngineError> {
        self.done.require("the forces", Done::Force)?;
        Ok(&self.stages.forces)
    }

    /// A map on the device, `[nx][ny]`. That of the density is what is solved: ρ
    /// less [`Charge::background`](crate::charge::Charge::background).
    ///
    /// # Errors
    /// When it has not been computed for the positions at hand.
    pub fn map_device(&self, kind: MapKind) -> Result<&CudaSlice<T>, EngineError> {
        let fields = &self.stages.fields;
        let (map, needs) = match kind {
            MapKind::Density => (&self.stages.neutral, Done::Density),
            MapKind::Potential => (&fields.potential, Done::Solve),
            MapKind::FieldX => (&fields.field_x, Done::Solve),
            MapKind::FieldY => (&fields.field_y, Done::Solve),
        };
        self.done.require(kind.name(), needs)?;
        Ok(map)
    }

    /// The order that positions and forces on the device are in.
    pub fn arrangement(&self) -> Arrangement {
        self.stages.arrangement
    }

    /// Keeps positions and forces on the device in this order from now on. In
    /// [`Arrangement::Slots`] a step is faster (no random access per body), and
    /// the caller makes slots anew ([`CudaEngine::reorder_slots`]) when
    /// [`CudaEngine::order_is_due`]: its own arrays on the device must move with
    /// them. The trait's methods speak the caller's order in either.
    ///
    /// # Errors
    /// When positions were never given, or a launch fails.
    pub fn arrange(&mut self, arrangement: Arrangement) -> Result<(), EngineError> {
        self.done.require("another arrangement", Done::Positions)?;
        if arrangement != self.stages.arrangement {
            self.order_if_due()?;
            // The kernels of a step are other ones.
            self.steps = [const { None }; Pipeline::ALL.len()];
            self.stages.arrange(arrangement)?;
            self.moved();
        }
        Ok(())
    }

    /// Makes a new order of slots from the positions on the device, which move
    /// with it; `from[s]` (one value per body) becomes the slot before of the
    /// body that now has slot s, for [`rearrange`](super::Bodies::rearrange) to move the caller's
    /// arrays by. Forces are stale afterwards.
    ///
    /// # Errors
    /// When the arrangement is not [`Arrangement::Slots`], `from` has another
    /// length, or a launch fails.
    pub fn reorder_slots(&mut self, from: &mut CudaSlice<u32>) -> Result<(), EngineError> {
        if self.stages.arrangement != Arrangement::Slots {
            let needs = "the arrangement was made one of slots";
            return Err(EngineError::OutOfOrder { stage: "a new order of slots", needs });
        }
        self.stages.order_slots(from)?;
        self.strays = 0;
        self.done = self.done.min(Done::Solve);
        Ok(())
    }

    /// Whether a new order pays, as far as the steps enqueued have run: what a
    /// step asks by itself in [`Arrangement::Caller`], and the caller before each
    /// step in [`Arrangement::Slots`]. Does not wait, and orders never change a
    /// result: a late answer costs time and nothing else.
    pub fn order_is_due(&self) -> bool {
        self.stages.bodies.is_worn()
    }

    /// Bodies beyond the surroundings of their slot's tile when the density was
    /// last read.
    pub fn strays(&self) -> u64 {
        self.strays
    }

    /// Milliseconds that making an order takes, the median of `repetitions`; the
    /// caller's order only.
    ///
    /// # Errors
    /// When positions were never given, or the device failed.
    pub fn order_time(&mut self, repetitions: usize) -> Result<f64, EngineError> {
        self.done.require("an order", Done::Positions)?;
        self.stages.arrange(Arrangement::Caller)?;
        self.steps = [const { None }; Pipeline::ALL.len()];
        let time = measure(&self.gpu, repetitions, RUNS_PER_SAMPLE, || self.stages.order())?;
        self.strays = 0;
        self.moved();
        Ok(time.median / 1e3)
    }
}
