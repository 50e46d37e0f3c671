//! The choice of an engine's solver, on one rank or on all.

use super::Stages;
use crate::cuda::device::{CudaError, CudaReal};
use crate::cuda::peers::{Peers, SlabSolver};
use crate::cuda::solve::{FieldSolver, ThreePass, solver_of_maps, three_pass};
use crate::engine::{Choice, Pipeline};
use crate::grid::BinGrid;

/// Solvers by [`Pipeline::ALL`].
pub(super) type Solvers<T> = [Option<Solver<T>>; Pipeline::ALL.len()];

/// Solves the maps of all regions.
pub(super) enum Solver<T: CudaReal> {
    /// On the first rank.
    Alone(Box<dyn FieldSolver<T>>),
    /// In three passes on all ranks.
    Slabs(SlabSolver<T>),
}

/// A solver for some maps, and why it was chosen.
pub(in super::super) struct Planned<T: CudaReal> {
    solver: Solver<T>,
    choice: Choice,
}

impl<T: CudaReal> Planned<T> {
    /// Returns the solver of the requested pipeline, or otherwise the fastest solver for the grid.
    /// On an H200, f32 and f64, grids from 8² to 8192² were measured, odd and prime sizes among
    /// them. The three-pass solve is 1.9 to 2.7 times as fast as the fused one on all grids for
    /// which it has kernels. The fused solve is 1.3 to 3.4 times as fast as the row-column one.
    /// Several ranks solve in three passes together, unless the bits of one device are requested.
    pub(in super::super) fn new(
        peers: &Peers,
        grid: &BinGrid,
        maps: usize,
        asked_for: Option<Pipeline>,
        deterministic: bool,
    ) -> Result<Self, CudaError> {
        let gpu = peers.gpu(0);
        let mut why_alone = None;
        if peers.count() > 1 && asked_for.is_none_or(|of| of == Pipeline::ThreePass) {
            let slabs = match deterministic {
                // The three-pass kernels differ, and the compiler may round them differently.
                true => Err("the bits of one device are wanted".to_owned()),
                false => match SlabSolver::new(peers, grid) {
                    Err(error) if error.allows_fallback() => Err(error.to_string()),
                    made => Ok(made?),
                },
            };
            match slabs {
                Ok(slabs) => {
                    let choice = match asked_for {
                        Some(pipeline) => Choice::asked_for(pipeline),
                        None => fastest(),
                    };
                    return Ok(Planned { solver: Solver::Slabs(slabs), choice });
                }
                Err(why) => why_alone = Some(why),
            }
        }
        let of = |pipeline| solver_of_maps(gpu, grid, pipeline, maps);
        let (solver, mut choice) = match asked_for {
            Some(pipeline) => (of(pipeline)?, Choice::asked_for(pipeline)),
            None => match three_pass(gpu, grid, maps) {
                Ok(solver) => (solver, fastest()),
                Err(error) if error.allows_fallback() => {
                    let (pipeline, reason) = (Pipeline::Fused, error.to_string());
                    (of(pipeline)?, Choice { pipeline, reason })
                }
                Err(error) => return Err(error),
            },
        };
        if peers.count() > 1 {
            let why = why_alone.unwrap_or(choice.reason);
            choice.reason = format!("{why}; the first device solves alone");
        }
        Ok(Planned { solver: Solver::Alone(solver), choice })
    }
}

fn fastest() -> Choice {
    let reason = "fastest on a GPU wherever it has kernels".to_owned();
    Choice { pipeline: Pipeline::ThreePass, reason }
}

impl<T: CudaReal> Stages<T> {
    /// Returns the pipeline that runs if one is requested: the pipeline of its solver once there is
    /// one, and before that the one the grid allows.
    pub(in super::super) fn path(&self, pipeline: Pipeline) -> Pipeline {
        match &self.solvers[pipeline as usize] {
            Some(Solver::Alone(solver)) => solver.pipeline(),
            None if pipeline == Pipeline::ThreePass
                && !ThreePass::<T>::is_made_for(self.peers.gpu(0), self.bodies().grid()) =>
            {
                Pipeline::Fused
            }
            Some(Solver::Slabs(_)) | None => pipeline,
        }
    }

    /// Makes the solver of a pipeline, if there is none yet.
    pub(in super::super) fn plan(&mut self, pipeline: Pipeline) -> Result<(), CudaError> {
        if self.solvers[pipeline as usize].is_none() {
            let peers = self.peers.clone();
            let _launching = peers.launch_lock();
            let (grid, maps) = (self.bodies().grid(), self.regions());
            let asked_for = Some(pipeline);
            let planned = Planned::new(&peers, grid, maps, asked_for, self.deterministic)?;
            self.take(planned);
        }
        Ok(())
    }

    /// Stores a solver, and returns which one it is and why.
    pub(in super::super) fn take(&mut self, planned: Planned<T>) -> Choice {
        let Planned { solver, choice } = planned;
        self.solvers[choice.pipeline as usize] = Some(solver);
        choice
    }

    /// Returns the solver of all ranks, if they solve together.
    pub(super) fn slabs(&self, pipeline: Pipeline) -> Option<&SlabSolver<T>> {
        match &self.solvers[pipeline as usize] {
            Some(Solver::Slabs(slabs)) => Some(slabs),
            _ => None,
        }
    }
}

/// Returns the solver of the first rank.
pub(super) fn alone<T: CudaReal>(
    solvers: &mut Solvers<T>,
    pipeline: Pipeline,
) -> &mut dyn FieldSolver<T> {
    match &mut solvers[pipeline as usize] {
        Some(Solver::Alone(solver)) => &mut **solver,
        _ => panic!("`plan` comes before every use"),
    }
}
