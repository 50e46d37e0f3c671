//! Every stage of an evaluation on a device, with the memory it works in.
//!
//! Everything here only enqueues. All of it but planning a pipeline and making
//! an order can be captured in a [`Graph`](crate::cuda::Graph): no buffer moves or is
//! replaced once it is made.

use crate::charge::Charge;
use crate::cuda::bodies::{Arrangement, Bodies, Density, Force, Outputs, Permutation};
use crate::cuda::device::{
    CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Gpu, Pinned, check_length,
};
use crate::cuda::solve::{
    FieldSolver, Fields, SolverOptions, ThreePass, solver_of_maps, three_pass, with_total,
};
use crate::engine::{Choice, Done, EngineError, GradientOptions, Layout, MapKind, Pipeline};
use crate::grid::BinGrid;
use std::sync::Arc;

/// Device memory and kernels for one charge. Arrays of bodies hold a pair (x, y)
/// per body.
pub(super) struct Stages<T: CudaReal> {
    gpu: Gpu,
    /// By [`Pipeline::ALL`]; made when a pipeline is first asked for.
    solvers: [Option<Box<dyn FieldSolver<T>>>; Pipeline::ALL.len()],
    pub(super) bodies: Bodies<T>,
    pub(super) density: Density<T>,
    force: Force<T>,
    /// The order that positions and forces are in.
    pub(super) arrangement: Arrangement,
    /// Lower-left corners, layout units.
    pub(super) corners: DeviceVec<T>,
    /// Whether the positions at hand are those of an array of the caller's, of which the bodies
    /// have kept what they saw, and not the corners.
    pub(super) elsewhere: bool,
    pub(super) forces: DeviceVec<T>,
    /// As much, for values brought from one order to another, or between
    /// pairs and the host's two arrays.
    moved: DeviceVec<T>,
    /// ρ less the background, a map for each region, as all maps here.
    pub(super) centered: DeviceVec<T>,
    /// The map at exact sizes, of which only overflow and maximum are wanted.
    exact: DeviceVec<T>,
    pub(super) fields: Fields<T>,
    energy: Pinned<f64>,
}

/// A solver for some maps, and why it was chosen.
pub(super) struct Planned<T: CudaReal> {
    solver: Box<dyn FieldSolver<T>>,
    choice: Choice,
}

impl<T: CudaReal> Planned<T> {
    /// The solver of the pipeline asked for, else that which is fastest for the grid. Measured on
    /// an H200, f32 and f64, from 8² to 8192², odd and prime sizes among them: the three-pass solve
    /// is 1.9 to 2.7 times as fast as the fused one wherever it has kernels, and that 1.3 to 3.4
    /// times as fast as the row-column one.
    pub(super) fn new(
        gpu: &Gpu,
        grid: &BinGrid,
        maps: usize,
        asked_for: Option<Pipeline>,
    ) -> Result<Self, CudaError> {
        let of = |pipeline| solver_of_maps(gpu, grid, pipeline, SolverOptions::default(), maps);
        if let Some(pipeline) = asked_for {
            return Ok(Planned { solver: of(pipeline)?, choice: Choice::asked_for(pipeline) });
        }
        let (solver, pipeline, reason) = match three_pass(gpu, grid, maps) {
            Ok(solver) => {
                (solver, Pipeline::ThreePass, "fastest on a GPU wherever it has kernels".to_owned())
            }
            Err(error) if error.lets_another_stand_in() => {
                (of(Pipeline::Fused)?, Pipeline::Fused, error.to_string())
            }
            Err(error) => return Err(error),
        };
        Ok(Planned { solver, choice: Choice { pipeline, reason } })
    }
}

impl<T: CudaReal> Stages<T> {
    /// Uploads what stays the same and allocates all but the solvers.
    pub(super) fn new(gpu: &Gpu, charge: Arc<Charge>) -> Result<Self, CudaError> {
        let bodies = Bodies::new(gpu, charge)?;
        let (pairs, regions) = (2 * bodies.len(), bodies.charge().regions());
        let bins = bodies.grid().bins();
        Ok(Stages {
            gpu: gpu.clone(),
            solvers: [const { None }; Pipeline::ALL.len()],
            density: Density::centered(&bodies)?,
            force: Force::new(&bodies)?,
            bodies,
            arrangement: Arrangement::Caller,
            corners: gpu.zeros(pairs)?,
            elsewhere: false,
            forces: gpu.zeros(pairs)?,
            moved: gpu.zeros(pairs)?,
            centered: gpu.zeros(regions * bins)?,
            exact: gpu.zeros(regions * bins)?,
            fields: Fields::of_maps(gpu, bins, regions)?,
            energy: Pinned::zeros(gpu, with_total(regions))?,
        })
    }

    /// Takes another charge over the same grid. The solvers stay where it has as many regions; else
    /// there is one of `pipeline` afterwards. Nothing is changed where this fails.
    pub(super) fn set_charge(
        &mut self,
        charge: Arc<Charge>,
        pipeline: Pipeline,
    ) -> Result<(), CudaError> {
        let mut fresh = Stages::new(&self.gpu, charge)?;
        match fresh.regions() == self.regions() {
            true => std::mem::swap(&mut fresh.solvers, &mut self.solvers),
            false => fresh.plan(pipeline)?,
        }
        *self = fresh;
        Ok(())
    }

    pub(super) fn regions(&self) -> usize {
        self.bodies.charge().regions()
    }

    /// What runs when a pipeline is asked for: what its solver says once there is
    /// one, and before that what the grid allows.
    pub(super) fn path(&self, pipeline: Pipeline) -> Pipeline {
        match &self.solvers[pipeline as usize] {
            Some(solver) => solver.pipeline(),
            None if pipeline == Pipeline::ThreePass
                && !ThreePass::<T>::is_made_for(&self.gpu, self.bodies.grid()) =>
            {
                Pipeline::Fused
            }
            None => pipeline,
        }
    }

    /// Makes the solver of a pipeline, if it is not there yet.
    pub(super) fn plan(&mut self, pipeline: Pipeline) -> Result<(), CudaError> {
        let place = &mut self.solvers[pipeline as usize];
        if place.is_none() {
            let (grid, maps) = (self.bodies.grid(), self.bodies.charge().regions());
            *place = Some(Planned::new(&self.gpu, grid, maps, Some(pipeline))?.solver);
        }
        Ok(())
    }

    /// Keeps a solver, and tells which one it is and why.
    pub(super) fn take(&mut self, planned: Planned<T>) -> Choice {
        let Planned { solver, choice } = planned;
        self.solvers[choice.pipeline as usize] = Some(solver);
        choice
    }

    /// Makes a new order of the bodies from where they stand, in caller order.
    pub(super) fn order(&mut self) -> Result<(), CudaError> {
        match self.elsewhere {
            true => self.bodies.order_staged(&mut self.moved),
            false => self.bodies.order(&self.corners),
        }
    }

    /// The density at corners in an array of the caller's.
    pub(super) fn density_in(
        &mut self,
        layout: Layout,
        corners: DeviceSlice<'_, T>,
    ) -> Result<(), CudaError> {
        self.density.run_in(&mut self.bodies, layout, corners, &mut self.centered)?;
        self.elsewhere = true;
        Ok(())
    }

    /// The force on every body, in an array of the caller's.
    pub(super) fn gradient(
        &mut self,
        options: &GradientOptions,
        factor: Option<DeviceSlice<'_, T>>,
        gradient: DeviceSliceMut<'_, T>,
    ) -> Result<(), CudaError> {
        let field = (&self.fields.field_x, &self.fields.field_y);
        let corners = (self.arrangement == Arrangement::Slots).then_some(&self.corners);
        self.force.run_gradient(&self.bodies, corners, field, options, factor, gradient)
    }

    /// Refuses an array that a gradient cannot be written to.
    pub(super) fn check_gradient(
        &self,
        layout: Layout,
        gradient: &DeviceSliceMut<'_, T>,
    ) -> Result<(), CudaError> {
        self.gpu.check_own(gradient.gpu())?;
        check_length("forces", gradient.len(), 2 * self.bodies.len())?;
        Bodies::<T>::check_layout("forces", layout, *gradient.address())
    }

    /// Density and solve at corners in an array of the caller's, and what is wanted of the gradient
    /// and the energy, in arrays of the caller's.
    pub(super) fn evaluate_in(
        &mut self,
        pipeline: Pipeline,
        options: &GradientOptions,
        corners: DeviceSlice<'_, T>,
        energy: DeviceSliceMut<'_, T>,
        gradient: Option<DeviceSliceMut<'_, T>>,
    ) -> Result<(), CudaError> {
        self.density_in(options.layout, corners)?;
        self.solve(pipeline)?;
        let field = (&self.fields.field_x, &self.fields.field_y);
        let outputs = Outputs { gradient, energy: Some((&self.fields.energy, energy)) };
        self.force.run_outputs(&self.bodies, None, field, options, None, outputs)
    }

    /// As [`Stages::order`] in slot order; corners follow, and `from` says how.
    pub(super) fn order_slots(&mut self, from: &mut Permutation) -> Result<(), CudaError> {
        self.bodies.order_slots(&mut self.corners, from)
    }

    /// Brings corners to another arrangement.
    pub(super) fn arrange(&mut self, arrangement: Arrangement) -> Result<(), CudaError> {
        if self.arrangement != arrangement {
            let from = match arrangement {
                Arrangement::Slots => self.bodies.id_of(),
                Arrangement::Caller => self.bodies.slot_of()?,
            };
            self.bodies.rearrange_pairs(from, &self.corners, &mut self.moved)?;
            // Corners stay where they are in memory: graphs hold their address.
            self.gpu.copy(&self.moved, &mut self.corners)?;
            self.arrangement = arrangement;
        }
        Ok(())
    }

    /// Corners from x and y of the host, in the caller's order.
    pub(super) fn receive(&mut self, x: &[T], y: &[T]) -> Result<(), CudaError> {
        let (mut to_x, mut to_y) = self.moved.split_at_mut(self.bodies.len());
        self.gpu.write(x, to_x.reborrow())?;
        self.gpu.write(y, to_y.reborrow())?;
        let from = (self.arrangement == Arrangement::Slots).then(|| self.bodies.id_of());
        self.bodies.join(from, (to_x.as_view(), to_y.as_view()), &mut self.corners)
    }

    /// As [`Stages::receive`], from pairs.
    pub(super) fn receive_pairs(&mut self, pairs: &[T]) -> Result<(), CudaError> {
        if self.arrangement == Arrangement::Caller {
            return self.gpu.write(pairs, &mut self.corners);
        }
        self.gpu.write(pairs, &mut self.moved)?;
        self.bodies.rearrange_pairs(self.bodies.id_of(), &self.moved, &mut self.corners)
    }

    /// Corners from x and y on the device, in the arrangement at hand.
    pub(super) fn join(&mut self, x: &DeviceVec<T>, y: &DeviceVec<T>) -> Result<(), CudaError> {
        self.bodies.join(None, (x, y), &mut self.corners)
    }

    /// Forces to x and y of the host, in the caller's order; waits for them.
    pub(super) fn send(&mut self, x: &mut [T], y: &mut [T]) -> Result<(), CudaError> {
        let (mut from_x, mut from_y) = self.moved.split_at_mut(self.bodies.len());
        let from = match self.arrangement {
            Arrangement::Slots => Some(self.bodies.slot_of()?),
            Arrangement::Caller => None,
        };
        let halves = (from_x.reborrow(), from_y.reborrow());
        self.bodies.split(from, &self.forces, halves)?;
        self.gpu.read(from_x.as_view(), x)?;
        self.gpu.read(from_y.as_view(), y)
    }

    /// The gradient, as `options` has it, to or onto an array of the host; waits for it.
    pub(super) fn send_gradient(
        &mut self,
        options: &GradientOptions,
        gradient: &mut [T],
    ) -> Result<(), CudaError> {
        if options.accumulate {
            self.gpu.write(gradient, &mut self.moved)?;
        }
        let field = (&self.fields.field_x, &self.fields.field_y);
        let corners = (self.arrangement == Arrangement::Slots).then_some(&self.corners);
        self.force.run_gradient(&self.bodies, corners, field, options, None, &mut self.moved)?;
        self.gpu.read(&self.moved, gradient)
    }

    /// Σ φ·ρ of the last solve, of all regions; waits for it.
    pub(super) fn read_energy(&mut self) -> Result<f64, CudaError> {
        Ok(self.energy.receive(&self.fields.energy)?[0])
    }

    /// The same of every region, by its index.
    pub(super) fn read_energies(&mut self) -> Result<&[f64], CudaError> {
        let regions = self.regions();
        let found = self.energy.receive(&self.fields.energy)?;
        Ok(&found[found.len() - regions..])
    }

    /// ρ less the background, overflow and maximum, smoothed.
    pub(super) fn density(&mut self) -> Result<(), CudaError> {
        if self.elsewhere {
            return self.density.run_staged(&mut self.bodies, false, &mut self.centered);
        }
        self.density.run(&mut self.bodies, self.arrangement, &self.corners, &mut self.centered)
    }

    /// Overflow and maximum at exact sizes.
    pub(super) fn exact_density(&mut self) -> Result<(), CudaError> {
        if self.elsewhere {
            return self.density.run_staged(&mut self.bodies, true, &mut self.exact);
        }
        self.density.run_exact(&mut self.bodies, self.arrangement, &self.corners, &mut self.exact)
    }

    /// The forward transform of ρ.
    pub(super) fn forward(&mut self, pipeline: Pipeline) -> Result<(), CudaError> {
        planned(&mut self.solvers, pipeline).forward(&self.centered)
    }

    /// Scaling and inverse transforms.
    pub(super) fn inverse(&mut self, pipeline: Pipeline) -> Result<(), CudaError> {
        planned(&mut self.solvers, pipeline).inverse(&mut self.fields)
    }

    /// φ, Ex, Ey and the energy.
    pub(super) fn solve(&mut self, pipeline: Pipeline) -> Result<(), CudaError> {
        planned(&mut self.solvers, pipeline).solve(&self.centered, &mut self.fields)
    }

    /// A map, if what is `done` includes it: that of the density is ρ less the
    /// background.
    pub(super) fn map(&self, kind: MapKind, done: Done) -> Result<&DeviceVec<T>, EngineError> {
        let (map, needs) = match kind {
            MapKind::Density => (&self.centered, Done::Density),
            MapKind::Potential => (&self.fields.potential, Done::Solve),
            MapKind::FieldX => (&self.fields.field_x, Done::Solve),
            MapKind::FieldY => (&self.fields.field_y, Done::Solve),
        };
        done.require(kind.name(), needs)?;
        Ok(map)
    }

    /// The force on every body.
    pub(super) fn force(&mut self) -> Result<(), CudaError> {
        let field = (&self.fields.field_x, &self.fields.field_y);
        match self.arrangement {
            Arrangement::Caller => self.force.run(&self.bodies, field, &mut self.forces),
            Arrangement::Slots => {
                self.force.run_slots(&self.bodies, &self.corners, field, &mut self.forces)
            }
        }
    }

    /// Density, solve and force.
    pub(super) fn step(&mut self, pipeline: Pipeline) -> Result<(), CudaError> {
        self.density()?;
        self.solve(pipeline)?;
        self.force()
    }
}

fn planned<T: CudaReal>(
    solvers: &mut [Option<Box<dyn FieldSolver<T>>>],
    pipeline: Pipeline,
) -> &mut dyn FieldSolver<T> {
    solvers[pipeline as usize].as_deref_mut().expect("`plan` comes before every use")
}
