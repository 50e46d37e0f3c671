//! The CUDA engine's interface for a placer that has positions and gradient in arrays of its own
//! on the device, in its own order: they are read and written where they are, without a copy.
//!
//! A step is [`CudaEngine::enqueue_energy`] and [`CudaEngine::enqueue_gradient`]. Neither allocates
//! nor waits. How memory and a stream of another library become what these take is in
//! [`interop`](crate::cuda::interop).

use super::CudaEngine;
use crate::cuda::bodies::Arrangement;
use crate::cuda::device::{CudaReal, DeviceSlice, DeviceSliceMut};
use crate::engine::{Done, EngineError, GradientOptions, Layout, check_weight};

impl<T: CudaReal> CudaEngine<T> {
    /// Enqueues density and solve at `positions`, lower-left corners in layout units, two values per
    /// body in the caller's order (movable cells, then fillers), and returns at once. The pipeline is that
    /// of [`Engine::choice`](crate::engine::Engine::choice). The energy and what the density found are then
    /// on the device ([`CudaEngine::evaluation_device`]), or come to the host with
    /// [`CudaEngine::read_evaluation`]. Numbers that are not finite are not refused; such a body counts
    /// nowhere.
    ///
    /// The array is read by what this enqueues alone; afterwards it may change. The engine's own
    /// positions ([`CudaEngine::positions_device`]) stay what they were, but what is computed next
    /// (the gradient, [`Engine::exact_density`](crate::engine::Engine::exact_density),
    /// [`Engine::compute_force`](crate::engine::Engine::compute_force)) is of those given here.
    ///
    /// In a capture (of the caller's stream, or by [`Graph::capture`](crate::cuda::Graph::capture)) no order of the
    /// bodies is made: runs of the graph stay right wherever bodies move, and
    /// [`CudaEngine::order_if_due`] between them keeps them fast. What is read after a run is of that run.
    ///
    /// # Errors
    /// When there are not two values per body, they are another [`Gpu`](crate::cuda::Gpu)'s or, as pairs, do not begin
    /// where a pair can be read at once; when the engine's arrangement is not
    /// [`Arrangement::Caller`]; in a capture, when no such step has run before, which loads what a
    /// capture cannot; and when a launch fails.
    pub fn enqueue_energy<'a>(
        &mut self,
        layout: Layout,
        positions: impl Into<DeviceSlice<'a, T>>,
    ) -> Result<(), EngineError> {
        self.require_callers_order("a step on an array of the caller's")?;
        let positions = positions.into();
        let bodies = &mut self.stages.bodies;
        if self.gpu.is_capturing() {
            require_run(self.ran[0][layout as usize])?;
            self.captured = true;
        } else if bodies.age.decide(bodies.len()) {
            bodies.order_in(layout, positions)?;
            self.outside_halo = 0;
        }
        self.stages.density_in(layout, positions)?;
        self.done = Done::Density;
        self.density = None;
        self.stages.solve(self.choice.pipeline)?;
        self.stages.bodies.age.stepped();
        self.done = Done::Solve;
        self.ran[0][layout as usize] = true;
        Ok(())
    }

    /// Enqueues the force on every body, times the weight of `options` and, where there is a
    /// `factor`, times that one number on the device (what an optimiser multiplies the
    /// density by, and what the gradient that comes in from behind is), to `gradient`: two values
    /// per body in the caller's order, written or added to what is there. Returns at once.
    ///
    /// The force is that of [`Engine::read_force`](crate::engine::Engine::read_force), at the positions that were
    /// last solved for; a weight of −1 gives the direction in which density rises.
    ///
    /// # Errors
    /// When nothing was solved for the positions at hand, `gradient` does not have two values per body,
    /// the factor is not one, either is another [`Gpu`](crate::cuda::Gpu)'s, pairs do not begin where one can be read
    /// at once, the weight is not finite, a capture comes before a first run or in another arrangement than
    /// [`Arrangement::Caller`], or a launch fails.
    pub fn enqueue_gradient<'a>(
        &mut self,
        options: &GradientOptions,
        factor: Option<DeviceSlice<'_, T>>,
        gradient: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<(), EngineError> {
        self.done.require("the gradient", Done::Solve)?;
        check_weight::<T>(options, 1)?;
        let layout = options.layout as usize;
        if self.gpu.is_capturing() {
            self.require_callers_order("the capture of a gradient")?;
            require_run(self.ran[1][layout])?;
        }
        self.stages.gradient(options, factor, gradient.into())?;
        self.ran[1][layout] = true;
        Ok(())
    }

    /// An error where bodies are in slots for the caller too.
    fn require_callers_order(&self, stage: &'static str) -> Result<(), EngineError> {
        match self.stages.arrangement {
            Arrangement::Caller => Ok(()),
            Arrangement::Slots => {
                let needs = "the arrangement was made the caller's";
                Err(EngineError::OutOfOrder { stage, needs })
            }
        }
    }
}

/// An error in a capture of what has not run before.
fn require_run(ran: bool) -> Result<(), EngineError> {
    let stage = "the capture of a step on arrays of the caller's";
    let needs = "one was run";
    if ran { Ok(()) } else { Err(EngineError::OutOfOrder { stage, needs }) }
}
