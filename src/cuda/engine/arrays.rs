//! The CUDA engine's interface for a placer that has positions and gradient in arrays of its own
//! on the device, in its own order: they are read and written where they are, without a copy.
//!
//! A step is [`CudaEngine::enqueue_energy`] and [`CudaEngine::enqueue_gradient`], or both in
//! [`CudaEngine::enqueue_energy_and_gradient`]. Neither allocates nor waits. How memory and a
//! stream of another library become what these take is in [`interop`](crate::cuda::interop).

use super::stages::{PositionsIn, Stages};
use super::{CudaEngine, Reports};
use crate::cuda::device::{Captured, CudaReal, DeviceSlice, DeviceSliceMut, Graph};
use crate::engine::{Done, EngineError, GradientOptions, Layout, Progress, check_weight};

/// Steps on arrays of the caller's, by their addresses, at most [`MOST_REPLAYS`], the last used
/// first. A caller that gives the same ones in turn, as an optimiser in PyTorch does, has a step in
/// one launch.
#[derive(Default)]
pub(super) struct Replays(Vec<(Arrays, Captured<Graph>)>);

/// Kernels that run for arrays of the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ArrayKernels {
    DensityAndSolve,
    Force,
    ForceByRegion,
    /// The copy of the energy.
    Energy,
}

/// Steps that are kept. Addresses that return after as many others are never captured.
const MOST_REPLAYS: usize = 8;

/// The arguments of a captured step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arrays {
    /// Addresses; 0 for a gradient that is not wanted.
    positions: u64,
    energy: u64,
    gradient: u64,
    layout: Layout,
    /// The bits of an f64.
    weight: u64,
    accumulate: bool,
}

impl Arrays {
    fn of(options: &GradientOptions, positions: u64, energy: u64, gradient: u64) -> Self {
        let GradientOptions { layout, weight, accumulate, .. } = *options;
        Arrays { positions, energy, gradient, layout, weight: weight.to_bits(), accumulate }
    }
}

impl Replays {
    /// Returns the step on these arrays.
    fn of(&mut self, arrays: Arrays) -> &mut Captured<Graph> {
        let found = self.0.iter().position(|(of, _)| *of == arrays);
        let at = found.unwrap_or_else(|| {
            self.0.truncate(MOST_REPLAYS - 1);
            self.0.push((arrays, Captured::New));
            self.0.len() - 1
        });
        self.0[..=at].rotate_right(1);
        &mut self.0[0].1
    }

    /// Whether a graph is kept for these arrays.
    #[cfg(feature = "python")]
    fn holds(&self, arrays: &Arrays) -> bool {
        self.0.iter().any(|(of, step)| of == arrays && matches!(step, Captured::Ready(_)))
    }
}

impl<T: CudaReal> CudaEngine<T> {
    /// Enqueues density and solve at `positions`, lower-left corners in layout units, two values
    /// per body in the caller's order (movable cells, then fillers), and returns at once. The
    /// pipeline is that of [`Engine::choice`](crate::engine::Engine::choice). The energy and what
    /// the density found are then on the device ([`CudaEngine::evaluation_device`]), or come to the
    /// host with [`CudaEngine::read_evaluation`]. Numbers that are not finite are not refused; such
    /// a body counts nowhere.
    ///
    /// The array, on the (first) device, is read by what this enqueues alone; afterwards it may
    /// change. The engine's own positions ([`CudaEngine::positions_device`]) stay what they were,
    /// but what is computed next (the gradient,
    /// [`Engine::exact_density`](crate::engine::Engine::exact_density),
    /// [`Engine::compute_force`](crate::engine::Engine::compute_force)) is of those given here. On
    /// several devices these become the engine's own.
    ///
    /// In a capture (of the caller's stream, or by [`Graph::capture`](crate::cuda::Graph::capture))
    /// no order of the bodies is made: runs of the graph stay right wherever bodies move, and
    /// [`CudaEngine::order_if_due`] between them keeps them fast. Results read after a run are of
    /// that run.
    ///
    /// # Errors
    /// When there are not two values per body, they are another [`Gpu`](crate::cuda::Gpu)'s or, as
    /// pairs, do not begin where a pair can be read at once; when the engine's positions are in
    /// slot order; in a capture, when no such step has run before, which loads what a
    /// capture cannot, or on several devices; and when a launch fails.
    pub fn enqueue_energy<'a>(
        &mut self,
        layout: Layout,
        positions: impl Into<DeviceSlice<'a, T>>,
    ) -> Result<(), EngineError> {
        let positions = positions.into();
        self.invalidate();
        self.begin_step_in(layout, positions)?;
        self.stages.density_in(layout, positions)?;
        let solve = self.stages.solve(self.choice.pipeline, self.gpu().is_capturing());
        self.stages.enqueue_with_barrier(&solve)?;
        self.density_enqueued();
        self.solve_enqueued(self.choice.pipeline)?;
        self.ran.insert((ArrayKernels::DensityAndSolve, layout));
        Ok(())
    }

    /// Enqueues an order of the bodies where one is due, or in a capture checks its conditions;
    /// several devices take the positions.
    fn begin_step_in(
        &mut self,
        layout: Layout,
        positions: DeviceSlice<'_, T>,
    ) -> Result<(), EngineError> {
        self.require_callers_order("a step on an array of the caller's")?;
        self.stages.bodies().check_corners(layout, positions)?;
        if self.gpu().is_capturing() {
            self.require_one_device("the capture of a step")?;
            self.require_run(ArrayKernels::DensityAndSolve, layout)?;
            self.reports = Reports::OfGraphs;
        } else if self.stages.is_shared() {
            self.stages.take_positions(layout, positions)?;
            self.positions_written();
            self.prepare()?;
        } else {
            let bodies = &mut self.stages.ranks[0].bodies;
            if bodies.staleness.decide(bodies.len()) {
                bodies.order_in(layout, positions)?;
                self.outside_halo = 0;
            }
        }
        Ok(())
    }

    /// Enqueues [`CudaEngine::enqueue_energy`] at `positions`, in the layout of `options`, and
    /// where a `gradient` is wanted [`CudaEngine::enqueue_gradient`] without a factor; the energy,
    /// in `T` and of all regions, is written to `energy`, one value. Returns at once.
    ///
    /// From the second time on that the same addresses are given with the same options, all of it
    /// is one launch, of a graph that is kept for them; the second time makes it. The graph of a
    /// ninth combination replaces that of the combination not used for longest, and waits for the
    /// device. The caller's captures take its kernels.
    ///
    /// # Errors
    /// Those of both, and when `energy` is not one value.
    pub fn enqueue_energy_and_gradient<'a>(
        &mut self,
        options: &GradientOptions,
        positions: impl Into<DeviceSlice<'a, T>>,
        energy: impl Into<DeviceSliceMut<'a, T>>,
        gradient: Option<DeviceSliceMut<'_, T>>,
    ) -> Result<(), EngineError> {
        self.invalidate();
        check_weight::<T>(options, self.stages.regions())?;
        let (positions, energy, layout) = (positions.into(), energy.into(), options.layout);
        // Before anything is enqueued.
        self.gpu().check("energy", energy.as_view(), 1)?;
        if let Some(gradient) = &gradient {
            self.stages.bodies().check_pairs("forces", layout, gradient.as_view())?;
        }
        let (capturing, forces) = (self.gpu().is_capturing(), gradient.is_some());
        if capturing {
            self.require_run(ArrayKernels::Energy, layout)?;
            if forces {
                self.require_run(self.force_kernels(options), layout)?;
            }
        }
        self.begin_step_in(layout, positions)?;
        let to = gradient.as_ref().map_or(0, |gradient| *gradient.address());
        let arrays = Arrays::of(options, *positions.address(), *energy.address(), to);
        let plain = capturing || !options.region_weights.is_empty() || self.stages.is_shared();
        let gpu = self.gpu().clone();
        let (stages, pipeline) = (&mut *self.stages, self.choice.pipeline);
        let (mut energy, mut gradient) = (energy, gradient);
        let mut evaluate = |stages: &mut Stages<T>| {
            let gradient = gradient.as_mut().map(DeviceSliceMut::reborrow);
            stages.density_in(layout, positions)?;
            stages.enqueue(&stages.solve(pipeline, capturing))?;
            stages.outputs(options, None, gradient, Some(energy.reborrow()))
        };
        match plain {
            true => evaluate(stages)?,
            false => self.replays.of(arrays).run(
                &mut (stages, evaluate),
                |(stages, evaluate)| evaluate(stages),
                |(stages, evaluate)| {
                    stages.bodies().slot_of()?; // no capture is to find it missing
                    // SAFETY: the graph is kept beside `stages`, whose buffers and plans it uses,
                    // and given up before them or when they are; it is launched for these addresses
                    // of the caller's alone, whose memory lives until that launch has run.
                    unsafe { Graph::capture(&gpu, || evaluate(stages)) }
                },
                |(stages, _), graph| {
                    stages.positions_in = PositionsIn::Callers;
                    graph.launch()
                },
            )?,
        }
        self.density_enqueued();
        self.solve_enqueued(pipeline)?;
        let force = forces.then(|| self.force_kernels(options));
        let both = [ArrayKernels::DensityAndSolve, ArrayKernels::Energy];
        self.ran.extend(both.into_iter().chain(force).map(|kernels| (kernels, layout)));
        Ok(())
    }

    /// Enqueues the force on every body, times the weight of `options` and, where there is a
    /// `factor`, times that one number on the device (what an optimiser multiplies the
    /// density by, and what the gradient that comes in from behind is), to `gradient`: two values
    /// per body in the caller's order, written or added to what is there. Returns at once.
    ///
    /// The force is that of [`Engine::read_force`](crate::engine::Engine::read_force), at the
    /// positions that were last solved for; a weight of −1 gives the direction in which density
    /// rises.
    ///
    /// # Errors
    /// When nothing was solved for the current positions, `gradient` does not have two values per
    /// body, the factor is not one, either is another [`Gpu`](crate::cuda::Gpu)'s, pairs do not
    /// begin where one can be read at once, the weight is not finite, a capture comes before a
    /// first run or in slot order, or a launch fails.
    pub fn enqueue_gradient<'a>(
        &mut self,
        options: &GradientOptions,
        factor: Option<DeviceSlice<'_, T>>,
        gradient: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<(), EngineError> {
        self.done.require("the gradient", Done::Solve)?;
        check_weight::<T>(options, self.stages.regions())?;
        if self.gpu().is_capturing() {
            self.require_one_device("the capture of a gradient")?;
            self.require_callers_order("the capture of a gradient")?;
            self.require_run(self.force_kernels(options), options.layout)?;
        }
        self.stages.outputs(options, factor, Some(gradient.into()), None)?;
        self.ran.insert((self.force_kernels(options), options.layout));
        Ok(())
    }

    /// [`CudaEngine::enqueue_energy_and_gradient`] at addresses. The driver's data of them is
    /// looked up except where a graph is kept for them.
    ///
    /// # Safety
    /// As [`view`](crate::cuda::interop::view) and [`view_mut`](crate::cuda::interop::view_mut)
    /// ask, of two values per body and of one energy.
    #[cfg(feature = "python")]
    pub(crate) unsafe fn enqueue_at(
        &mut self,
        options: &GradientOptions,
        positions: u64,
        energy: u64,
        gradient: Option<u64>,
    ) -> Result<(), EngineError> {
        let (gpu, values) = (self.gpu().clone(), 2 * self.stages.bodies().len());
        let known =
            self.replays.holds(&Arrays::of(options, positions, energy, gradient.unwrap_or(0)));
        // SAFETY: the caller's promise.
        unsafe {
            if !known {
                crate::cuda::interop::view::<T>(&gpu, positions, values)?;
                crate::cuda::interop::view_mut::<T>(&gpu, energy, 1)?;
                gradient
                    .map(|to| crate::cuda::interop::view_mut::<T>(&gpu, to, values))
                    .transpose()?;
            }
            let positions = DeviceSlice::from_raw(&gpu, positions, values);
            let energy = DeviceSliceMut::from_raw(&gpu, energy, 1);
            let gradient = gradient.map(|to| DeviceSliceMut::from_raw(&gpu, to, values));
            self.enqueue_energy_and_gradient(options, positions, energy, gradient)
        }
    }

    /// Returns the kernels that bring forces back by `options`.
    fn force_kernels(&self, options: &GradientOptions) -> ArrayKernels {
        match self.stages.regions() > 1 && !options.region_weights.is_empty() {
            true => ArrayKernels::ForceByRegion,
            false => ArrayKernels::Force,
        }
    }

    /// Fails in a capture of kernels that have not run before.
    fn require_run(&self, kernels: ArrayKernels, layout: Layout) -> Result<(), EngineError> {
        let stage = "the capture of a step on arrays of the caller's";
        let needs = "one was run";
        match self.ran.contains(&(kernels, layout)) {
            true => Ok(()),
            false => Err(EngineError::OutOfOrder { stage, needs }),
        }
    }

    /// Fails where bodies are in slots for the caller too.
    pub(crate) fn require_callers_order(&self, stage: &'static str) -> Result<(), EngineError> {
        match self.stages.in_slots() {
            false => Ok(()),
            true => {
                let needs = "the caller's order was asked for";
                Err(EngineError::OutOfOrder { stage, needs })
            }
        }
    }
}
