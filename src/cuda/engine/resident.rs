//! The CUDA engine's interface for a placer that lives on the device: positions and
//! forces stay there, and steps are enqueued without the host waiting.

use super::{CudaEngine, RUNS_PER_SAMPLE, RankStages, Reports, Sharing};
use crate::cuda::bodies::{Permutation, RawStatistics};
use crate::cuda::device::{CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, measure};
use crate::engine::{Done, EngineError, Evaluation, MapKind, Progress};

impl<T: CudaReal> CudaEngine<T> {
    /// Returns a rank's positions on its device (with one device rank 0's). They are lower-left
    /// corners in layout units, x and y of a body side by side (two values per body), in the
    /// engine's order. This is the caller's order unless [`CudaEngine::use_slots`] was called. Work
    /// on the stream of the rank's device may write them. Results of the previous positions are
    /// stale from here on. Numbers that are not finite are not refused; such a body counts nowhere.
    ///
    /// With several ranks each writes the bodies of its share ([`CudaEngine::share`]), in an array
    /// of all bodies. Other ranks write the other corners, without waiting for this rank. If work
    /// on this rank writes them, too, any mixture of both may result.
    ///
    /// The forces at the previous positions cannot be borrowed at the same time
    /// ([`CudaEngine::force_and_positions_device`] returns both):
    ///
    /// ```compile_fail
    /// # use placefield::cuda::CudaEngine;
    /// fn stale(engine: &mut CudaEngine<f32>) {
    ///     let forces = engine.force_device(0).unwrap();
    ///     let corners = engine.positions_device_mut(0);
    ///     assert!(forces.len() == corners.len());
    /// }
    /// ```
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn positions_device_mut(&mut self, rank: usize) -> DeviceSliceMut<'_, T> {
        self.positions_changed(Sharing::Written { given: 0 });
        self.stages.ranks[rank].corners.as_view_mut()
    }

    /// Returns a rank's positions on its device, to be read. They are the last positions set or
    /// written, with the layout of [`CudaEngine::positions_device_mut`], and zeros before.
    /// Positions that [`CudaEngine::enqueue_energy`] read from other memory on one device are not
    /// here.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn positions_device(&self, rank: usize) -> &DeviceVec<T> {
        &self.stages.ranks[rank].corners
    }

    /// Returns a rank's forces of the last step to be read and positions to be written, in one
    /// call: [`CudaEngine::force_device`] and [`CudaEngine::positions_device_mut`]. With several
    /// ranks, call it once for each.
    ///
    /// # Errors
    /// If forces have not been computed for the current positions.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn force_and_positions_device(
        &mut self,
        rank: usize,
    ) -> Result<(DeviceSlice<'_, T>, DeviceSliceMut<'_, T>), EngineError> {
        let own = 1 << rank;
        let given = match self.sharing {
            Sharing::Written { given } if given != 0 && given & own == 0 => given,
            _ => {
                self.done.require("the forces", Done::Force)?;
                0
            }
        };
        self.positions_changed(Sharing::Written { given: given | own });
        let RankStages { forces, corners, .. } = &mut self.stages.ranks[rank];
        Ok((forces.as_view(), corners.as_view_mut()))
    }

    /// Enqueues the copy of lower-left corners on the (first) device, from an array for x and one
    /// for y (one value per body), in the engine's order.
    ///
    /// # Errors
    /// If an array has the wrong length, or the launch fails.
    pub fn set_positions_device(
        &mut self,
        x: &DeviceVec<T>,
        y: &DeviceVec<T>,
    ) -> Result<(), EngineError> {
        self.stages.interleave(x, y)?;
        self.positions_written();
        Ok(())
    }

    /// Enqueues density, solve and force for the positions on the devices, by the
    /// pipeline of [`Engine::choice`](crate::engine::Engine::choice), and returns
    /// at once. In a capture its kernels become part of the graph.
    ///
    /// # Errors
    /// If positions were never given, a launch fails, or in a capture on several devices. If a
    /// launch fails on one of several devices, ranks that have enqueued more then wait in vain, and
    /// this engine is no longer usable.
    pub fn enqueue_step(&mut self) -> Result<(), EngineError> {
        self.require_own_positions("a step")?;
        if self.gpu().is_capturing() {
            self.require_one_device("the capture of a step")?;
            // A graph cannot contain a step that is ready to run.
            let step = self.stages.step(self.choice.pipeline, true);
            self.stages.enqueue(&step)?;
            self.reports = Reports::OfGraphs;
            return Ok(self.step_enqueued(self.choice.pipeline)?);
        }
        self.prepare()?;
        Ok(self.enqueue_by(self.choice.pipeline)?)
    }

    /// Records that positions have been written for all ranks that need them.
    pub(super) fn positions_written(&mut self) {
        self.positions_changed(Sharing::Sent);
    }

    /// Returns the arrays that [`CudaEngine::read_evaluation`] reads, on the device: the density's
    /// three statistics and the energy. With several ranks the statistics are of a rank's bins, and
    /// the first rank has the energy. With several regions the values of each region follow. Once
    /// the values are on the host, [`CudaEngine::take_evaluation`] interprets them.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn evaluation_device(&self, rank: usize) -> (&DeviceVec<u64>, &DeviceVec<f64>) {
        let ranks = &self.stages.ranks;
        (ranks[rank].density.statistics(), &ranks[0].energy)
    }

    /// Returns the evaluation of the last step, of all ranks together, from the first values in the
    /// arrays of [`CudaEngine::evaluation_device`] after it. Area off the die is not among these
    /// values: the overflow is right if the caller keeps its cells on the die.
    /// [`CudaEngine::read_evaluation`] counts that area, too.
    ///
    /// # Errors
    /// If nothing was solved for the current positions.
    pub fn take_evaluation(
        &mut self,
        statistics: RawStatistics,
        energy: f64,
    ) -> Result<Evaluation, EngineError> {
        self.require_evaluation()?;
        let report = self.stages.report_of(statistics);
        self.outside_halo = report.outside_halo;
        Ok(Evaluation { density: report.stats, energy, area_off_die: 0.0 })
    }

    /// Refuses to read results that do not exist yet.
    fn require_evaluation(&self) -> Result<(), EngineError> {
        self.done.require("the evaluation's read-back", Done::Solve)
    }

    /// Returns overflow, maximum and energy of the last solve, enqueued by
    /// [`CudaEngine::enqueue_step`] or [`CudaEngine::enqueue_energy`]; waits for it.
    ///
    /// # Errors
    /// If nothing was solved for the current positions, or a device failed.
    pub fn read_evaluation(&mut self) -> Result<Evaluation, EngineError> {
        self.require_evaluation()?;
        let (density, area_off_die) = self.read_density()?;
        Ok(Evaluation { density, energy: self.stages.read_energy()?, area_off_die })
    }

    /// [`CudaEngine::enqueue_step`] and [`CudaEngine::read_evaluation`].
    ///
    /// # Errors
    /// Those of both.
    pub fn evaluate_on_device(&mut self) -> Result<Evaluation, EngineError> {
        self.enqueue_step()?;
        self.read_evaluation()
    }

    /// Returns a rank's forces on its device, along x and y on a body side by side, in the engine's
    /// order. Work on the stream of that device may read them. With several ranks each has the
    /// forces on the bodies of its share, in an array of all bodies.
    /// [`Bodies::deinterleave`](crate::cuda::Bodies::deinterleave) makes two arrays of them.
    ///
    /// # Errors
    /// If they have not been computed for the current positions.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn force_device(&self, rank: usize) -> Result<&DeviceVec<T>, EngineError> {
        self.done.require("the forces", Done::Force)?;
        Ok(&self.stages.ranks[rank].forces)
    }

    /// Returns φ on the device, `[nx][ny]` for each region, in bin widths squared. The three-pass
    /// solve leaves φ out, except in a caller's capture; this call enqueues it.
    ///
    /// # Errors
    /// If the field has not been computed for the current positions, or the launch fails.
    pub fn potential_device(&mut self) -> Result<&DeviceVec<T>, EngineError> {
        self.map(MapKind::Potential)
    }

    /// Returns Ex and Ey on the device, `[nx][ny]` each for each region, in bin widths.
    ///
    /// # Errors
    /// If they have not been computed for the current positions.
    pub fn field_device(&self) -> Result<(&DeviceVec<T>, &DeviceVec<T>), EngineError> {
        let map = |kind| self.stages.map(kind, self.done);
        Ok((map(MapKind::FieldX)?, map(MapKind::FieldY)?))
    }

    /// Returns the solve's input density on the device, `[nx][ny]` for each region, one region
    /// after the other: ρ less [`Charge::backgrounds`](crate::charge::Charge::backgrounds). (ρ
    /// itself comes from [`Engine::read_map`](crate::engine::Engine::read_map).)
    ///
    /// # Errors
    /// If it has not been computed for the current positions.
    pub fn centered_density_device(&self) -> Result<&DeviceVec<T>, EngineError> {
        self.stages.map(MapKind::Density, self.done)
    }

    /// Whether positions and forces on the device are in slot order instead of the caller's order.
    pub fn is_in_slots(&self) -> bool {
        self.stages.in_slots()
    }

    /// Keeps positions and forces on the device in slot order from now on, or in the caller's
    /// order. In slot order a step is faster (no random access per body). The caller then makes
    /// slots anew ([`CudaEngine::reorder_slots`]) if [`CudaEngine::order_is_due`], and its own
    /// arrays on the device must move with the slots. The trait's methods take and return the
    /// caller's order in either case.
    ///
    /// # Errors
    /// If positions were never given, a launch fails, or there are several devices.
    pub fn use_slots(&mut self, in_slots: bool) -> Result<(), EngineError> {
        self.require_one_device("slot order")?;
        self.require_own_positions("slot order")?;
        self.gpu().stream_guard()?.check_not_capturing()?;
        if in_slots != self.stages.in_slots() {
            self.order_if_due()?;
            // A step then uses different kernels.
            self.steps = Default::default();
            self.stages.use_slots(in_slots)?;
            self.positions_changed(self.sharing);
        }
        Ok(())
    }

    /// Makes a new order of slots from the positions on the device, which move with it. `from[s]`
    /// becomes the previous slot of the body that now has slot s. The caller's arrays move by it
    /// with [`rearrange`](crate::cuda::Bodies::rearrange). Forces are stale afterwards.
    ///
    /// # Errors
    /// When positions are not in slot order, `from` is of other
    /// bodies, or a launch fails.
    pub fn reorder_slots(&mut self, from: &mut Permutation) -> Result<(), EngineError> {
        if !self.stages.in_slots() {
            let needs = "slot order was asked for";
            return Err(EngineError::OutOfOrder { stage: "a new order of slots", needs });
        }
        self.stages.order_slots(from)?;
        self.outside_halo = 0;
        self.done = self.done.min(Done::Solve);
        Ok(())
    }

    /// Returns whether a new order pays. Only steps that have already run count. In the caller's
    /// order a step checks this by itself; in slot order the caller checks it before each step.
    /// Does not wait. Orders never change a result, so a late answer costs only time.
    pub fn order_is_due(&self) -> bool {
        self.stages.bodies().order_is_due()
    }

    /// Returns the number of bodies outside the halo of their slot's tile when the density was last
    /// read.
    pub fn outside_halo(&self) -> u64 {
        self.outside_halo
    }

    /// Returns the median time of making an order over `repetitions`, in milliseconds; only in the
    /// caller's order.
    ///
    /// # Errors
    /// When positions were never given or are in slot order, or a device failed.
    pub fn order_time(&mut self, repetitions: usize) -> Result<f64, EngineError> {
        self.require_own_positions("an order")?;
        self.require_callers_order("the time of an order")?;
        if self.sharing != Sharing::Sent {
            self.prepare()?;
        }
        let gpu = self.gpu().clone();
        let time = measure(&gpu, repetitions, RUNS_PER_SAMPLE, || self.stages.order())?;
        self.outside_halo = 0;
        self.positions_changed(Sharing::Sent);
        Ok(time.median / 1e3)
    }
}
