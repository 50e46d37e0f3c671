//! The CUDA engine's interface for a placer that lives on the device: positions and
//! forces stay there, and steps are enqueued without the host waiting.

use super::{CudaEngine, RUNS_PER_SAMPLE};
use crate::cuda::bodies::{Arrangement, Permutation, RawStatistics};
use crate::cuda::device::{
    CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Graph, measure,
};
use crate::engine::{Done, EngineError, Evaluation, MapKind, Pipeline};

impl<T: CudaReal> CudaEngine<T> {
    /// Positions on the device, lower-left corners in layout units, x and y of a
    /// body side by side (two values per body), in the engine's [`Arrangement`]
    /// ([`Arrangement::Caller`] unless [`CudaEngine::arrange`] was called), to be
    /// written by work on [`CudaEngine::gpu`]'s stream. What followed from the positions before is
    /// stale from here on. Numbers that are not finite are not refused; such a
    /// body counts nowhere.
    ///
    /// Forces of the positions before cannot be kept beside them
    /// ([`CudaEngine::force_and_positions_device`] gives both):
    ///
    /// ```compile_fail
    /// # use placefield::cuda::CudaEngine;
    /// fn stale(engine: &mut CudaEngine<f32>) {
    ///     let forces = engine.force_device().unwrap();
    ///     let corners = engine.positions_device_mut();
    ///     assert!(forces.len() == corners.len());
    /// }
    /// ```
    pub fn positions_device_mut(&mut self) -> DeviceSliceMut<'_, T> {
        self.moved();
        self.stages.corners.as_view_mut()
    }

    /// Positions on the device, to be read: those last set or written, as
    /// [`CudaEngine::positions_device_mut`] has them. Zeros before the first. Those that
    /// [`CudaEngine::enqueue_energy`] read are not copied here.
    pub fn positions_device(&self) -> &DeviceVec<T> {
        &self.stages.corners
    }

    /// Forces of the last step to be read and positions to be written, in one
    /// call: [`CudaEngine::force_device`] and [`CudaEngine::positions_device_mut`].
    ///
    /// # Errors
    /// When forces have not been computed for the positions at hand.
    pub fn force_and_positions_device(
        &mut self,
    ) -> Result<(DeviceSlice<'_, T>, DeviceSliceMut<'_, T>), EngineError> {
        self.done.require("the forces", Done::Force)?;
        self.moved();
        Ok((self.stages.forces.as_view(), self.stages.corners.as_view_mut()))
    }

    /// Enqueues the copy of lower-left corners that stand on the device in an
    /// array for x and one for y (one value per body), in the engine's
    /// [`Arrangement`].
    ///
    /// # Errors
    /// When an array has the wrong length, or the launch fails.
    pub fn set_positions_device(
        &mut self,
        x: &DeviceVec<T>,
        y: &DeviceVec<T>,
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
        self.require_own_positions("a step")?;
        self.order_if_due()?;
        let pipeline = self.choice.pipeline;
        if self.gpu.is_capturing() {
            self.stages.step(pipeline)?; // a graph cannot hold one that is ready to run
            self.captured = true;
            self.stepped();
            return Ok(());
        }
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
    /// after density, solve and force each, to enqueue work of the caller's
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
        self.require_own_positions("a step")?;
        self.order_if_due()?;
        // Runs of one by `Graph::capture` are by `replay`.
        self.captured |= self.gpu.is_capturing_for_caller();
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
    /// When positions were never given, the graph is another [`Gpu`](crate::cuda::Gpu)'s,
    /// or a launch fails.
    pub fn replay(&mut self, graph: &mut Graph) -> Result<(), EngineError> {
        self.done.require("a step", Done::Positions)?;
        self.gpu.check_own(graph.gpu())?;
        self.order_if_due()?;
        graph.launch()?;
        self.stepped();
        if self.stages.elsewhere {
            self.done = Done::Solve; // forces went to an array of the caller's
        }
        Ok(())
    }

    /// What [`CudaEngine::read_evaluation`] reads, on the device: the
    /// density's three statistics, and the energy; of several regions those of each
    /// follow. Once their values have come to the host,
    /// [`CudaEngine::take_evaluation`] says what they mean.
    pub fn evaluation_device(&self) -> (&DeviceVec<u64>, &DeviceVec<f64>) {
        (self.stages.density.statistics(), &self.stages.fields.energy)
    }

    /// The evaluation of the last step from the first of what
    /// [`CudaEngine::evaluation_device`] held after it.
    ///
    /// # Errors
    /// When no step followed the last positions.
    pub fn take_evaluation(
        &mut self,
        statistics: RawStatistics,
        energy: f64,
    ) -> Result<Evaluation, EngineError> {
        self.require_evaluation()?;
        let report = self.stages.density.report_of(statistics);
        self.outside_halo = report.outside_halo;
        self.density = Some(report.stats);
        Ok(Evaluation { density: report.stats, energy })
    }

    /// Refuses to read back what is not there yet.
    fn require_evaluation(&self) -> Result<(), EngineError> {
        // Where forces go to an array of the caller's, nobody asks for any here.
        let needed = if self.stages.elsewhere { Done::Solve } else { Done::Force };
        self.done.require("the evaluation's read-back", needed)
    }

    /// Overflow, maximum and energy of the last [`CudaEngine::enqueue_step`] or
    /// [`CudaEngine::enqueue_energy`]; waits for it.
    ///
    /// # Errors
    /// When no step followed the last positions, or the device failed.
    pub fn read_evaluation(&mut self) -> Result<Evaluation, EngineError> {
        self.require_evaluation()?;
        Ok(Evaluation { density: self.read_density()?, energy: self.stages.read_energy()? })
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
    /// stream. [`Bodies::split`](crate::cuda::Bodies::split) makes two arrays of them.
    ///
    /// # Errors
    /// When they have not been computed for the positions at hand.
    pub fn force_device(&self) -> Result<&DeviceVec<T>, EngineError> {
        self.done.require("the forces", Done::Force)?;
        Ok(&self.stages.forces)
    }

    /// φ on the device, `[nx][ny]` for each region, in bin widths squared.
    ///
    /// # Errors
    /// When it has not been computed for the positions at hand.
    pub fn potential_device(&self) -> Result<&DeviceVec<T>, EngineError> {
        self.stages.map(MapKind::Potential, self.done)
    }

    /// Ex and Ey on the device, `[nx][ny]` each for each region, in bin widths.
    ///
    /// # Errors
    /// When they have not been computed for the positions at hand.
    pub fn field_device(&self) -> Result<(&DeviceVec<T>, &DeviceVec<T>), EngineError> {
        let map = |kind| self.stages.map(kind, self.done);
        Ok((map(MapKind::FieldX)?, map(MapKind::FieldY)?))
    }

    /// What is solved, on the device, `[nx][ny]` for each region, one after the other: ρ less
    /// [`Charge::backgrounds`](crate::charge::Charge::backgrounds). (ρ itself comes
    /// from [`Engine::read_map`](crate::engine::Engine::read_map).)
    ///
    /// # Errors
    /// When it has not been computed for the positions at hand.
    pub fn centered_density_device(&self) -> Result<&DeviceVec<T>, EngineError> {
        self.stages.map(MapKind::Density, self.done)
    }

    /// The order that positions and forces on the device are in.
    pub fn arrangement(&self) -> Arrangement {
        self.stages.arrangement
    }

    /// Keeps positions and forces on the device in this order from now on. In
    /// [`Arrangement::Slots`] a step is faster (no random access per body), and
    /// the caller makes slots anew ([`CudaEngine::reorder_slots`]) when
    /// [`CudaEngine::order_is_due`]: its own arrays on the device must move with
    /// them. The trait's methods take and return the caller's order in either.
    ///
    /// # Errors
    /// When positions were never given, or a launch fails.
    pub fn arrange(&mut self, arrangement: Arrangement) -> Result<(), EngineError> {
        self.require_own_positions("another arrangement")?;
        self.gpu.enter()?.check_not_capturing()?;
        if arrangement != self.stages.arrangement {
            self.order_if_due()?;
            // The kernels of a step are other ones.
            self.steps = [const { None }; Pipeline::ALL.len()];
            self.stages.arrange(arrangement)?;
            self.moved();
        }
        Ok(())
    }

    /// Makes a new order of slots from the positions on the device, which move with it; `from[s]`
    /// becomes the slot before of the body that now has slot s, for
    /// [`rearrange`](crate::cuda::Bodies::rearrange) to move the caller's arrays by. Forces are
    /// stale afterwards.
    ///
    /// # Errors
    /// When the arrangement is not [`Arrangement::Slots`], `from` is of other
    /// bodies, or a launch fails.
    pub fn reorder_slots(&mut self, from: &mut Permutation) -> Result<(), EngineError> {
        if self.stages.arrangement != Arrangement::Slots {
            let needs = "the arrangement was made one of slots";
            return Err(EngineError::OutOfOrder { stage: "a new order of slots", needs });
        }
        self.stages.order_slots(from)?;
        self.outside_halo = 0;
        self.done = self.done.min(Done::Solve);
        Ok(())
    }

    /// Whether a new order pays, as far as the steps enqueued have run: what a
    /// step asks by itself in [`Arrangement::Caller`], and the caller before each
    /// step in [`Arrangement::Slots`]. Does not wait, and orders never change a
    /// result: a late answer costs time and nothing else.
    pub fn order_is_due(&self) -> bool {
        self.stages.bodies.order_is_due()
    }

    /// Bodies outside the halo of their slot's tile when the density was last read.
    pub fn outside_halo(&self) -> u64 {
        self.outside_halo
    }

    /// Milliseconds that making an order takes, the median of `repetitions`; the
    /// caller's order only.
    ///
    /// # Errors
    /// When positions were never given, or the device failed.
    pub fn order_time(&mut self, repetitions: usize) -> Result<f64, EngineError> {
        self.require_own_positions("an order")?;
        self.stages.arrange(Arrangement::Caller)?;
        self.steps = [const { None }; Pipeline::ALL.len()];
        let time = measure(&self.gpu, repetitions, RUNS_PER_SAMPLE, || self.stages.order())?;
        self.outside_halo = 0;
        self.moved();
        Ok(time.median / 1e3)
    }
}
