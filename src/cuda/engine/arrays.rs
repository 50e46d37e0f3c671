//! The CUDA engine's interface for a placer that stores positions and gradient in its own arrays on
//! the device, in its own order. The engine reads and writes these arrays directly, without a copy.
//!
//! A step is [`CudaEngine::enqueue_energy`] and [`CudaEngine::enqueue_gradient`], or both in
//! [`CudaEngine::enqueue_energy_and_gradient`]. Neither allocates nor waits.
//! [`interop`](crate::cuda::interop) describes how to pass memory and a stream of another library.

use super::stages::{PositionsIn, Stages};
use super::{CudaEngine, Reports};
use crate::cuda::device::{Captured, CudaReal, DeviceSlice, DeviceSliceMut, Graph};
use crate::engine::{Done, EngineError, GradientOptions, Layout, Progress, check_weight};

/// Steps on the caller's arrays, by their addresses: at most [`MOST_REPLAYS`], the last used first.
/// A caller that passes the same arrays in turn, like an optimiser in PyTorch, gets a step in one
/// launch.
#[derive(Default)]
pub(super) struct Replays(Vec<(Arrays, Captured<Graph>)>);

/// Kernels that run on the caller's arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ArrayKernels {
    DensityAndSolve,
    Force,
    ForceByRegion,
    /// The copy of the energy.
    Energy,
}

/// Number of kept steps. If this many other combinations come between two uses of one combination,
/// that combination is never captured.
const MOST_REPLAYS: usize = 8;

/// The arguments of a captured step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arrays {
    /// Addresses; 0 for a gradient that is not requested.
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
    /// pipeline is [`Engine::choice`](crate::engine::Engine::choice)'s. The energy and the
    /// density's statistics are then on the device ([`CudaEngine::evaluation_device`]), or come to
    /// the host with [`CudaEngine::read_evaluation`]. Numbers that are not finite are not refused;
    /// such a body counts nowhere.
    ///
    /// Only the work enqueued here reads the array, which is on the (first) device; afterwards the
    /// array may change. The engine's own positions ([`CudaEngine::positions_device`]) do not
    /// change. But the next results (the gradient,
    /// [`Engine::exact_density`](crate::engine::Engine::exact_density),
    /// [`Engine::compute_force`](crate::engine::Engine::compute_force)) are for the positions given
    /// here. On several devices these positions become the engine's own.
    ///
    /// In a capture (of the caller's stream, or by [`Graph::capture`](crate::cuda::Graph::capture))
    /// no order of the bodies is made. Runs of the graph are correct for any positions, and
    /// [`CudaEngine::order_if_due`] between them keeps them fast. Results read after a run belong
    /// to that run.
    ///
    /// # Errors
    /// If there are not two values per body, they are another [`Gpu`](crate::cuda::Gpu)'s or, as
    /// pairs, are not aligned for a read at once; if the engine's positions are in slot order; in a
    /// capture, on several devices or if no such step has run before, which loads code that a
    /// capture cannot load; and if a launch fails.
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

    /// Enqueues an order of the bodies if one is due, or in a capture checks its conditions.
    /// Several devices copy the positions.
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

    /// Enqueues [`CudaEngine::enqueue_energy`] at `positions`, in the layout of `options`. If a
    /// `gradient` is requested, it also enqueues [`CudaEngine::enqueue_gradient`] without a factor.
    /// The energy of all regions, in `T`, is written to `energy`, one value. Returns at once.
    ///
    /// If the same addresses come a second time with the same options, all of it becomes one
    /// launch, of a graph that is kept for them. The second call makes the graph. The graph of a
    /// ninth combination replaces the graph of the combination not used for longest, and waits for
    /// the device. The caller's captures record its kernels.
    ///
    /// # Errors
    /// Those of both, and if `energy` is not one value.
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
        // Checked before anything is enqueued.
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
                    let before = stages.positions_in;
                    // SAFETY: the graph is kept beside `stages`, whose buffers and plans it uses,
                    // and is dropped before them or together with them. It is launched only for
                    // these addresses of the caller, whose memory lives until that launch has run.
                    let graph = unsafe { Graph::capture(&gpu, || evaluate(stages)) };
                    stages.positions_in = before; // nothing has run yet
                    graph
                },
                |(stages, _), graph| {
                    graph.launch()?;
                    stages.positions_in = PositionsIn::Callers;
                    Ok(())
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

    /// Enqueues the force on every body, times the weight of `options`, to `gradient`: two values
    /// per body in the caller's order, written or added to the present values. If there is a
    /// `factor`, the force is also multiplied by that one number on the device. (It is the
    /// optimiser's factor on the density, and the gradient that arrives in backpropagation.)
    /// Returns at once.
    ///
    /// The force equals [`Engine::read_force`](crate::engine::Engine::read_force), at the positions
    /// of the last solve. A weight of −1 gives the direction in which density rises.
    ///
    /// # Errors
    /// If nothing was solved for the current positions, a capture comes before a first run or in
    /// slot order, or a launch fails. Also if `gradient` does not have two values per body, the
    /// factor is not one value, or the weight is not finite. Also if either array is another
    /// [`Gpu`](crate::cuda::Gpu)'s, or pairs are not aligned for a read at once.
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

    /// [`CudaEngine::enqueue_energy_and_gradient`] at addresses. Their driver data is looked up
    /// unless a graph is kept for them.
    ///
    /// # Safety
    /// The requirements of [`view`](crate::cuda::interop::view) and
    /// [`view_mut`](crate::cuda::interop::view_mut), for two values per body and one energy.
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

    /// Returns the kernels that write forces as in `options`.
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

    /// Fails if the caller, too, keeps bodies in slots.
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
