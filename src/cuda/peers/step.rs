//! Every stage of an evaluation on all ranks, with the memory it works in.
//!
//! Every rank knows what all bodies are, and works on those in tiles of its own, an interval of
//! tiles along x that every order of the bodies draws anew ([`Bodies::on_each`]), and owns as many
//! of the bins. It adds its bodies to sums of all bins in its own memory; what lies in bins of
//! others goes to their sums (`kernels/peers/sums.cu`), and of what its own then hold it makes ρ.
//! The maps lie at one address for all ranks, rows in their owner's memory ([`SharedMap`]): the
//! solve by slabs leaves the fields there, and a body that reaches into another rank's rows reads
//! them over the link. The force on a body goes to the rank that has it in its share
//! ([`BodyBlocks`]), for good, and that moves it: the position goes from there to the rank that
//! works on it. Shares are intervals of the bodies' order in the charge; where bodies that follow
//! one another stand together, as fillers do, most are worked on by the rank that has them, and
//! little goes over the link.
//!
//! The sums are integers in the units of all bodies, so that ρ, overflow and maximum have the bits
//! of one device. Where the grid has no solve by slabs, rank 0 solves alone.

use super::shared::{SharedMap, lend};
use super::slabs::SlabSolver;
use super::sums::SendSums;
use super::{Peers, divide};
use crate::charge::Charge;
use crate::cuda::bodies::{
    Addresses, AllBodies, AllForces, BINS_PER_BLOCK, Bodies, BodyBlocks, Density, Force, Positions,
    RawStatistics,
};
use crate::cuda::device::{CudaError, CudaReal, DeviceVec, Gpu, Graph, Launch, function};
use crate::cuda::solve::{FieldSolver, SolverOptions, ThreePass, solver};
use crate::engine::{Choice, EngineOptions, Pipeline};
use crate::grid::BinGrid;
use cudarc::driver::CudaFunction;
use std::ops::Range;
use std::sync::Arc;

/// What is enqueued on every rank in turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cuda) enum Stage {
    /// Ranks wait for each other.
    Meet,
    /// The positions of the bodies in a rank's share to those that work on them.
    Spread,
    /// Two halves of an order of the bodies; not in graphs.
    Count,
    Order,
    /// A rank's bodies to its own sums; at exact sizes or smoothed.
    Deposit {
        exact: bool,
    },
    /// Its sums of others' bins to them.
    Send,
    /// ρ of its own bins, and their part of overflow and maximum.
    Finish {
        exact: bool,
    },
    /// A pass of the solve by slabs.
    Pass(usize),
    /// The whole solve, by rank 0.
    Alone(Pipeline),
    /// The force on its bodies, to those that have them in their share.
    Force,
}

/// A rank's bodies, and what works on them.
pub(super) struct Part<T: CudaReal> {
    pub(super) bodies: Bodies<T>,
    pub(super) density: Density<T>,
    force: Force<T>,
    /// Lower-left corners, layout units: pairs of all bodies, of which those hold that are in the
    /// share or worked on.
    pub(super) corners: DeviceVec<T>,
    /// Pairs of all bodies, of which those of the share hold.
    pub(super) forces: DeviceVec<T>,
    /// Of each body of the share, the rank that works on it.
    worker: DeviceVec<u8>,
}

/// Memory and kernels of all ranks for one charge.
pub(super) struct Step<T: CudaReal> {
    pub(super) peers: Peers,
    pub(super) charge: Arc<Charge>,
    pub(super) blocks: BodyBlocks,
    pub(super) parts: Vec<Part<T>>,
    /// Of all ranks.
    together: AllBodies,
    forces: AllForces,
    spread: Vec<CudaFunction>,
    send: SendSums,
    /// The first bin of each rank, and their number: those of which it makes ρ.
    first: Vec<usize>,
    /// The three passes of all ranks together, where they have any.
    slabs: Option<SlabSolver<T>>,
    /// Solvers of rank 0, by [`Pipeline::ALL`].
    alone: [Option<Box<dyn FieldSolver<T>>>; Pipeline::ALL.len()],
    /// ρ less the background, smoothed; at exact sizes; φ, Ex and Ey.
    pub(super) centered: SharedMap<T>,
    exact: SharedMap<T>,
    pub(super) fields: [SharedMap<T>; 3],
    /// Of every rank; where rank 0 solves alone, its own holds.
    energy: Vec<DeviceVec<f64>>,
}

impl<T: CudaReal> Step<T> {
    /// Makes everything but the graphs.
    pub(super) fn new(
        peers: &Peers,
        charge: &Arc<Charge>,
        options: &EngineOptions,
    ) -> Result<(Self, Choice), CudaError> {
        check_regions(charge)?;
        peers.check_reach()?;
        let (grid, count) = (charge.grid(), peers.count());
        let (slabs, choice) = plan(peers, &grid, options)?;
        let rows = |rank| slabs.as_ref().map(|slabs: &SlabSolver<T>| slabs.rows(rank));
        let bin_blocks = divide(grid.bins().div_ceil(BINS_PER_BLOCK), count);
        let begin = |rank| match rows(rank) {
            Some(Range { start, .. }) => start * grid.ny() / BINS_PER_BLOCK * BINS_PER_BLOCK,
            None => bin_blocks[rank] * BINS_PER_BLOCK,
        };
        let first: Vec<usize> = (0..count).map(begin).chain([grid.bins()]).collect();
        let parts = parts(peers, charge)?;
        let blocks = BodyBlocks::new(charge.movable(), charge.bodies());
        let (together, forces) = of_all(&parts, blocks);
        let spread = |rank| function(&peers.gpu(rank).kernels::<T>("spread")?, "spread_positions");
        let send = send(peers, &parts, &first)?;
        let shared = || SharedMap::new(peers, grid.bins(), &first);
        let mut step = Step {
            charge: charge.clone(),
            blocks,
            together,
            forces,
            spread: (0..count).map(spread).collect::<Result<_, _>>()?,
            parts,
            send,
            centered: shared()?,
            exact: shared()?,
            fields: [shared()?, shared()?, shared()?],
            energy: (0..count).map(|rank| peers.gpu(rank).zeros(1)).collect::<Result<_, _>>()?,
            first,
            slabs,
            alone: [const { None }; Pipeline::ALL.len()],
            peers: peers.clone(),
        };
        step.plan(choice.pipeline)?;
        // Zeros must be there before another rank writes.
        peers.synchronize()?;
        Ok((step, choice))
    }

    /// Takes another charge over the same grid; the solvers stay. Graphs made before hold what is
    /// no more. Nothing is changed where this fails.
    pub(super) fn set_charge(&mut self, charge: Arc<Charge>) -> Result<(), CudaError> {
        check_regions(&charge)?;
        self.peers.synchronize()?;
        let parts = parts(&self.peers, &charge)?;
        self.send = send(&self.peers, &parts, &self.first)?;
        self.blocks = BodyBlocks::new(charge.movable(), charge.bodies());
        (self.together, self.forces) = of_all(&parts, self.blocks);
        (self.charge, self.parts) = (charge, parts);
        self.peers.synchronize()
    }

    /// What runs when a pipeline is asked for.
    pub(super) fn path(&self, pipeline: Pipeline) -> Pipeline {
        match &self.alone[pipeline as usize] {
            Some(solver) => solver.pipeline(),
            None if pipeline == Pipeline::ThreePass && self.slabs.is_none() => {
                match ThreePass::<T>::is_made_for(self.peers.gpu(0), &self.charge.grid()) {
                    true => pipeline,
                    false => Pipeline::Fused,
                }
            }
            None => pipeline,
        }
    }

    /// What all ranks solve with together in a pipeline.
    fn slabs_of(&self, pipeline: Pipeline) -> Option<&SlabSolver<T>> {
        self.slabs.as_ref().filter(|_| pipeline == Pipeline::ThreePass)
    }

    /// Makes the solver of a pipeline, if it is not there yet.
    pub(super) fn plan(&mut self, pipeline: Pipeline) -> Result<(), CudaError> {
        let (k, grid, options) = (pipeline as usize, self.charge.grid(), SolverOptions::default());
        if self.slabs_of(pipeline).is_some() || self.alone[k].is_some() {
            return Ok(());
        }
        self.alone[k] = Some(solver(self.peers.gpu(0), &grid, pipeline, options)?);
        Ok(())
    }

    pub(super) fn density(exact: bool) -> impl Iterator<Item = Stage> {
        let [deposit, finish] = [Stage::Deposit { exact }, Stage::Finish { exact }];
        [deposit, Stage::Meet, Stage::Send, Stage::Meet, finish].into_iter()
    }

    pub(super) fn solve(&self, pipeline: Pipeline) -> impl Iterator<Item = Stage> + use<T> {
        let stages = match self.slabs_of(pipeline) {
            Some(slabs) => {
                let passes = 0..slabs.passes_of_a_solve();
                let passes = passes.flat_map(|pass| [Stage::Meet, Stage::Pass(pass)]);
                // A rank whose rows begin within a block of bins has some of them from the one
                // before.
                let ny = self.charge.grid().ny();
                let own_rows = |rank| slabs.rows(rank).start * ny == self.first[rank];
                passes.skip(usize::from((0..self.parts.len()).all(own_rows))).collect()
            }
            None => vec![Stage::Meet, Stage::Alone(pipeline)],
        };
        stages.into_iter()
    }

    pub(super) fn force() -> impl Iterator<Item = Stage> {
        [Stage::Meet, Stage::Force].into_iter()
    }

    /// A whole step.
    pub(super) fn whole(&self, pipeline: Pipeline) -> Vec<Stage> {
        let step = Self::density(false).chain(self.solve(pipeline)).chain(Self::force());
        step.chain([Stage::Meet]).collect()
    }

    /// Orders the bodies on all ranks where that is due on one, where they stand by what is
    /// enqueued so far; ranks have met since.
    pub(super) fn order_if_due(&mut self) -> Result<(), CudaError> {
        // It costs each of them what it costs one device, of as many bodies.
        let each = self.charge.bodies().div_ceil(self.parts.len());
        let decide = |due, part: &mut Part<T>| part.bodies.age.decide(each) | due;
        if self.parts.iter_mut().fold(false, decide) {
            // After it, too: a rank that goes on writes where bodies stand next, which others have
            // to have read where they stand now, and uses slots that others write.
            self.enqueue([Stage::Count, Stage::Meet, Stage::Order, Stage::Meet])?;
        }
        Ok(())
    }

    /// Enqueues stages on all ranks, each on all of them before the next; not in a capture.
    pub(super) fn enqueue(
        &mut self,
        stages: impl IntoIterator<Item = Stage>,
    ) -> Result<(), CudaError> {
        for stage in stages {
            match stage {
                Stage::Meet => self.peers.meet()?,
                _ => (0..self.parts.len()).try_for_each(|rank| self.enqueue_on(rank, stage))?,
            }
        }
        Ok(())
    }

    /// A graph of stages that have run before, for each rank. All are launched equally often.
    ///
    /// # Safety
    /// This lives, and is not given another division or charge, for as long as they are launched.
    pub(super) unsafe fn graphs(&mut self, stages: &[Stage]) -> Result<Vec<Graph>, CudaError> {
        let mut graphs = Vec::new();
        for rank in 0..self.parts.len() {
            let gpu = self.peers.gpu(rank).clone();
            let all = || stages.iter().try_for_each(|&stage| self.enqueue_on(rank, stage));
            // SAFETY: the caller's promise.
            graphs.push(unsafe { Graph::capture(&gpu, all) }?);
        }
        Ok(graphs)
    }

    /// Enqueues a stage on one rank; meetings only in a capture.
    pub(super) fn enqueue_on(&mut self, rank: usize, stage: Stage) -> Result<(), CudaError> {
        let several = self.parts.len() > 1;
        let Part { bodies, density, force, corners, .. } = &mut self.parts[rank];
        match stage {
            Stage::Meet if several => self.peers.meet_on(rank),
            Stage::Spread if several => self.spread_from(rank),
            // SAFETY: bodies are replaced once all ranks have been waited for (`set_charge`,
            // `drop`); ranks meet between the two, and after them (`order_if_due`).
            Stage::Count => unsafe { bodies.count_own(corners, &self.together) },
            // SAFETY: as above.
            Stage::Order => unsafe { bodies.place_own(corners, &self.together) },
            Stage::Deposit { exact } => density.deposit_part(bodies, exact, corners),
            // SAFETY: densities are replaced once all ranks have been waited for (`set_charge`,
            // `drop`); ranks meet between deposits, this, and where bins are finished (`density`),
            // and before deposits that follow none reads or writes another rank's sums.
            Stage::Send if several => unsafe { self.send.run(self.peers.gpu(rank), rank) },
            Stage::Meet | Stage::Send | Stage::Spread => Ok(()),
            Stage::Finish { exact } => {
                let rho = if exact { &mut self.exact } else { &mut self.centered };
                let all = 0..rho.of(rank).len();
                let own = self.first[rank]..self.first[rank + 1];
                density.finish_part(bodies, exact, own, &rho.part_mut(rank, all))
            }
            Stage::Pass(pass) => {
                let slabs = self.slabs.as_mut().expect("passes are of a solve by slabs");
                let Range { start, end } = slabs.rows(rank);
                let ny = self.charge.grid().ny();
                let own = start * ny..end * ny;
                match pass {
                    0 => slabs.first_pass(rank, &self.centered.of(rank).slice(own)),
                    1 => slabs.second_pass(rank),
                    _ => {
                        let maps = self.fields.each_mut();
                        let maps = maps.map(|map| map.part_mut(rank, own.clone()));
                        slabs.last_pass(rank, pass, maps, self.energy[rank].as_view_mut())
                    }
                }
            }
            Stage::Alone(_) if rank > 0 => Ok(()),
            Stage::Alone(pipeline) => {
                let solver = self.alone[pipeline as usize].as_mut();
                let solver = solver.expect("`plan` comes before every use");
                let rho = self.centered.of(0);
                lend(self.fields.each_mut(), &mut self.energy[0], |to| solver.solve(rho, to))
            }
            Stage::Force => {
                let [_, ex, ey] = &self.fields;
                let field = (ex.of(rank), ey.of(rank));
                // SAFETY: every rank's forces hold a pair for each body, are replaced once all
                // ranks have been waited for, can be reached from here (`Peers::open`), and are
                // read after ranks have met again.
                unsafe { force.run_shares(bodies, field, &self.forces) }
            }
        }
    }

    fn spread_from(&self, rank: usize) -> Result<(), CudaError> {
        let Some((own, config)) = self.blocks.launch(rank, self.parts.len()) else {
            return Ok(());
        };
        let positions = self.positions(rank);
        // SAFETY: the arguments are those of spread_positions in kernels/peers/spread.cu; every
        // rank's corners hold a pair for each body, as the forces do above; others read them after
        // ranks have met.
        unsafe {
            Launch::new(self.peers.gpu(rank), &self.spread[rank])
                .arg(&own)
                .arg(&positions)
                .launch(config)
        }
    }

    /// Positions of all ranks, to be written by one.
    pub(super) fn positions(&self, rank: usize) -> Positions {
        let worker = &self.parts[rank].worker;
        Positions::on_rank(self.together.corners, worker, [rank, self.parts.len()])
    }

    /// Overflow and maximum of all ranks' last density, and bodies outside their halos.
    pub(super) fn statistics(&self) -> Result<RawStatistics, CudaError> {
        self.peers.synchronize()?;
        let mut all = [0; 3];
        for (rank, Part { density, .. }) in self.parts.iter().enumerate() {
            let own = self.peers.gpu(rank).download(density.statistics())?;
            // The maximum's bits order as the numbers do, which are not negative.
            all = [all[0] + own[0], all[1].max(own[1]), all[2] + own[2]];
        }
        Ok(all.into())
    }

    /// Σ φ·ρ of the last solve.
    pub(super) fn energy_device(&self) -> &DeviceVec<f64> {
        &self.energy[0]
    }

    /// The same; waits for it.
    pub(super) fn energy(&self) -> Result<f64, CudaError> {
        self.peers.synchronize()?;
        Ok(self.peers.gpu(0).download(&self.energy[0])?[0])
    }
}

impl<T: CudaReal> Drop for Step<T> {
    fn drop(&mut self) {
        // What writes into one rank's memory may run on another one's stream.
        let _ = self.peers.synchronize();
    }
}

fn check_regions(charge: &Charge) -> Result<(), CudaError> {
    match charge.regions() {
        1 => Ok(()),
        regions => Err(CudaError::Peers(format!("{regions} fence regions: expected one"))),
    }
}

/// The three passes by slabs, where the grid has them, and the pipeline that is asked for or the
/// fastest.
fn plan<T: CudaReal>(
    peers: &Peers,
    grid: &BinGrid,
    options: &EngineOptions,
) -> Result<(Option<SlabSolver<T>>, Choice), CudaError> {
    let by_slabs = || match SlabSolver::new(peers, grid) {
        Ok(slabs) => Ok((Some(slabs), None)),
        Err(error) if error.lets_another_stand_in() => Ok((None, Some(error.to_string()))),
        Err(error) => Err(error),
    };
    let (slabs, stood_in) = match options.deterministic {
        // Other kernels, which the compiler may round differently.
        true => (None, Some("the bits of one device are wanted".to_owned())),
        false => by_slabs()?,
    };
    let choice = match (options.pipeline, stood_in) {
        (Some(pipeline), _) => Choice::asked_for(pipeline),
        (None, None) => {
            let reason = "fastest on GPUs wherever it has kernels".to_owned();
            Choice { pipeline: Pipeline::ThreePass, reason }
        }
        (None, Some(why)) => {
            let reason = format!("{why}; the first device solves alone");
            Choice { pipeline: Pipeline::ThreePass, reason }
        }
    };
    Ok((slabs, choice))
}

fn parts<T: CudaReal>(peers: &Peers, charge: &Arc<Charge>) -> Result<Vec<Part<T>>, CudaError> {
    let gpus: Vec<&Gpu> = (0..peers.count()).map(|rank| peers.gpu(rank)).collect();
    Bodies::on_each(&gpus, charge, |rank, bodies, worker| {
        let pairs = || gpus[rank].zeros(2 * charge.bodies());
        Ok(Part {
            density: Density::new(&bodies, charge.background())?,
            force: Force::new(&bodies)?,
            corners: pairs()?,
            forces: pairs()?,
            worker,
            bodies,
        })
    })
}

/// What kernels take of all ranks.
fn of_all<T: CudaReal>(parts: &[Part<T>], blocks: BodyBlocks) -> (AllBodies, AllForces) {
    let corners = Addresses::of(parts.iter().map(|part| &part.corners));
    let worker = Addresses::of(parts.iter().map(|part| &part.worker));
    let bodies = parts.iter().map(|part| &part.bodies);
    let together = Bodies::together(bodies, corners, worker, blocks);
    let of = Addresses::of(parts.iter().map(|part| &part.forces));
    (together, AllForces { of, shares: together.shares })
}

fn send<T: CudaReal>(
    peers: &Peers,
    parts: &[Part<T>],
    first: &[usize],
) -> Result<SendSums, CudaError> {
    let densities: Vec<&Density<T>> = parts.iter().map(|part| &part.density).collect();
    SendSums::new(peers, &densities, first)
}
