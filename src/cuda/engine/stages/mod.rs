//! Every stage of an evaluation on one device or several, with its memory.
//!
//! An evaluation is a list of [`Command`]s, which the ranks (devices) run one after the other. One
//! rank alone skips the commands between ranks.
//!
//! With several ranks, every rank knows the constants of all bodies and processes the bodies in its
//! own tiles. These are an interval of tiles along x that every order of the bodies chooses anew
//! ([`Bodies::on_each`]). Each rank owns an equal number of bins. It adds its bodies to sums of all
//! bins in its own memory. Sums of bins of other ranks are then added to the sums of their owners
//! (`kernels/peers/sums.cu`), and each rank computes ρ of its own bins. The maps lie at
//! one address for all ranks, rows in their owner's memory ([`SharedMap`]). The solve by slabs
//! leaves the fields there, and a body that reaches into another rank's rows reads them over the
//! link. The force on a body goes to the rank that has the body in its share ([`BodyDivision`]).
//! The share never changes, and this rank moves the body: it sends the position to the rank that
//! processes the body. Shares are intervals of the bodies' order in the charge. If consecutive
//! bodies are near each other, as fillers are, most bodies are processed by the rank of their
//! share, and little goes over the link.
//!
//! The sums are integers in the same units for all bodies, so that ρ, overflow and maximum have the
//! bits of one device. If the grid has no solve by slabs, the first rank solves alone.
//!
//! Functions here only enqueue, unless their description says that they wait. All work except
//! planning a pipeline and making an order can be captured in a [`Graph`]: no buffer moves or is
//! replaced after its creation.

mod copies;
mod placer;
mod solvers;

use crate::charge::Charge;
use crate::cuda::bodies::{
    BINS_PER_BLOCK, Bodies, BodyDivision, Density, Force, Permutation, PositionLayout,
};
use crate::cuda::device::bindings::bodies::{AllBodies, AllForces, OrderOutputs, Positions};
use crate::cuda::device::bindings::peers::SpreadPositions;
use crate::cuda::device::{
    CudaError, CudaReal, DeviceSlice, DeviceVec, Gpu, Graph, Kernel, Pinned, pointers,
};
use crate::cuda::peers::{Peers, SendSums, SharedMap, SlabSolver, first_rows};
use crate::cuda::solve::{FieldsMut, with_total};
use crate::engine::{Layout, Pipeline};
use smallvec::{SmallVec, smallvec};
use solvers::{Solver, Solvers, alone};
use std::ops::Range;
use std::sync::Arc;

pub(crate) use placer::{BEGIN, END, Placer, PlacerCommand};
pub(super) use solvers::Planned;

/// Commands, which a step of one rank builds without an allocation.
pub(super) type Commands = SmallVec<[Command; 12]>;

/// Work that every rank enqueues, one command after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Command {
    /// Ranks wait for each other.
    Barrier,
    /// Sends the positions of the bodies in a rank's share to the ranks that process them.
    SendPositions,
    /// Copies the positions of all bodies from the first rank to a rank.
    CopyPositions,
    /// The first half of an order of the bodies on several ranks; not in graphs.
    CountBodies,
    /// The second half of an order, or the whole order on one rank; not in graphs.
    Order,
    /// Adds a rank's bodies to its own sums, at exact sizes or smoothed.
    Deposit { exact: bool },
    /// Sends a rank's sums of others' bins to their owners.
    SendSums,
    /// Makes ρ of a rank's own bins, and their part of overflow and maximum.
    Finish { exact: bool },
    /// A pass of the solve by slabs.
    Pass(usize),
    /// The forward transform of ρ, by the first rank.
    Forward(Pipeline),
    /// The rest of the solve, by the first rank. Without `potential` it leaves φ out if the
    /// pipeline can.
    Inverse { pipeline: Pipeline, potential: bool },
    /// φ, if the previous solve has left it out.
    Potential(Pipeline),
    /// Computes the force on a rank's bodies and sends it to the ranks that have them in their
    /// share.
    Force,
    /// Sends the forces on all bodies to the first rank.
    CollectForces,
    /// A part of a placement.
    Placer(PlacerCommand),
}

impl Command {
    /// Whether a single rank skips it.
    fn is_between_ranks(self) -> bool {
        use Command::*;
        matches!(
            self,
            Barrier | SendPositions | CopyPositions | CountBodies | SendSums | CollectForces
        )
    }
}

/// The force on every body.
pub(super) const FORCE: [Command; 2] = [Command::Barrier, Command::Force];

/// Sends the forces on all bodies to the first rank, once all have been computed.
const COLLECT: [Command; 3] = [Command::Barrier, Command::CollectForces, Command::Barrier];

/// Bodies of a rank, and the stages that process them. Arrays of bodies hold a pair (x, y) for each
/// of all bodies.
pub(super) struct RankStages<T: CudaReal> {
    gpu: Gpu,
    pub(super) bodies: Bodies<T>,
    pub(super) density: Density<T>,
    force: Force<T>,
    /// Lower-left corners, layout units. With several ranks only the corners of bodies in the
    /// share, or processed by this rank, are valid.
    pub(super) corners: DeviceVec<T>,
    /// Valid for the bodies of the share, and on the first rank for all bodies once they are
    /// collected.
    pub(super) forces: DeviceVec<T>,
    /// The energy of all regions, and then of each if there are several. If the first rank solves
    /// alone, only its own is valid.
    pub(super) energy: DeviceVec<f64>,
}

/// Data that several ranks share with each other.
struct Several<T: CudaReal> {
    bodies: AllBodies<T>,
    forces: AllForces<T>,
    /// For each body of a rank's share, the rank that processes the body.
    worker: Vec<DeviceVec<u8>>,
    send_positions: Vec<Kernel<SpreadPositions<T>>>,
    send_sums: SendSums<T>,
    /// The identity permutation of the caller's order, on the first rank.
    identity: Permutation,
}

/// Where the current positions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PositionsIn {
    /// In [`RankStages::corners`], in the caller's order.
    Own,
    /// In [`RankStages::corners`], in slot order; forces are then in slot order, too.
    Slots,
    /// In the caller's array; the bodies have kept the positions that they read.
    Callers,
}

/// Memory and kernels of all ranks for one charge.
pub(super) struct Stages<T: CudaReal> {
    pub(super) peers: Peers,
    pub(super) ranks: Vec<RankStages<T>>,
    several: Option<Several<T>>,
    blocks: BodyDivision,
    /// The first bin of each rank, and the number of bins. A rank computes ρ of its own bins.
    first: Vec<usize>,
    /// By [`Pipeline::ALL`]; made when a pipeline is first requested.
    solvers: Solvers<T>,
    deterministic: bool,
    pub(super) positions_in: PositionsIn,
    /// A pair for each body on the first rank, for conversions between orders, or between pairs and
    /// the host's two arrays.
    spare: DeviceVec<T>,
    /// ρ less the background, a map for each region, like all maps here. The second is the same at
    /// exact sizes; only its overflow and maximum are used.
    centered: SharedMap<T>,
    exact: SharedMap<T>,
    /// φ, Ex and Ey.
    fields: [SharedMap<T>; 3],
    energy: Pinned<f64>,
    placer: Option<Placer<T>>,
}

impl<T: CudaReal> Stages<T> {
    /// Uploads constants and allocates everything except the solvers.
    pub(super) fn new(
        peers: &Peers,
        charge: &Arc<Charge>,
        deterministic: bool,
    ) -> Result<Self, CudaError> {
        let (grid, count, regions) = (charge.grid(), peers.count(), charge.regions());
        if count > 1 && regions > 1 {
            let reason = format!("{regions} fence regions: several devices take one");
            return Err(CudaError::Peers(reason));
        }
        // The bins of the rows that the rank has in a solve by slabs, in whole blocks.
        let begin = |row: &usize| match *row {
            row if row == grid.nx() => grid.bins(),
            row => row * grid.ny() / BINS_PER_BLOCK * BINS_PER_BLOCK,
        };
        let first: Vec<usize> = first_rows(grid.nx(), count).iter().map(begin).collect();
        let gpus = peers.gpus();
        let made = Bodies::on_each(&gpus, charge, |rank, bodies, worker| {
            let gpu = gpus[rank];
            let density = Density::centered(&bodies)?;
            let force = Force::new(&bodies)?;
            let pairs = || gpu.zeros(2 * bodies.len());
            let (corners, forces) = (pairs()?, pairs()?);
            let energy = gpu.zeros(with_total(regions))?;
            let gpu = gpu.clone();
            Ok((RankStages { gpu, bodies, density, force, corners, forces, energy }, worker))
        })?;
        let (ranks, worker): (Vec<_>, Vec<_>) = made.into_iter().unzip();
        let blocks = BodyDivision::new(charge.movable(), charge.bodies());
        let worker: Option<Vec<_>> = worker.into_iter().collect();
        let several = worker.map(|worker| Several::new(peers, &ranks, worker, blocks, &first));
        let shared = || SharedMap::new(peers, regions * grid.bins(), &first);
        let stages = Stages {
            peers: peers.clone(),
            several: several.transpose()?,
            blocks,
            solvers: [const { None }; Pipeline::ALL.len()],
            deterministic,
            positions_in: PositionsIn::Own,
            spare: gpus[0].zeros(2 * charge.bodies())?,
            centered: shared()?,
            exact: shared()?,
            fields: [shared()?, shared()?, shared()?],
            energy: Pinned::zeros(gpus[0], with_total(regions))?,
            placer: None,
            first,
            ranks,
        };
        // The zeros must be there before another rank writes.
        stages.peers.wait_for_each_other()?;
        Ok(stages)
    }

    /// Sets another charge over the same grid. If it has as many regions, the solvers are kept;
    /// otherwise only a solver of `pipeline` exists afterwards. If this fails, nothing has changed.
    pub(super) fn set_charge(
        &mut self,
        charge: &Arc<Charge>,
        pipeline: Pipeline,
    ) -> Result<(), CudaError> {
        self.peers.wait_for_each_other()?;
        let mut fresh = Stages::new(&self.peers, charge, self.deterministic)?;
        match fresh.regions() == self.regions() {
            true => std::mem::swap(&mut fresh.solvers, &mut self.solvers),
            false => fresh.plan(pipeline)?,
        }
        *self = fresh;
        Ok(())
    }

    /// Returns the bodies on the first rank.
    pub(super) fn bodies(&self) -> &Bodies<T> {
        &self.ranks[0].bodies
    }

    pub(super) fn charge(&self) -> &Charge {
        self.bodies().charge()
    }

    pub(super) fn regions(&self) -> usize {
        self.charge().regions()
    }

    /// Returns the background subtracted from each region's map.
    pub(super) fn backgrounds(&self) -> &[f64] {
        self.ranks[0].density.backgrounds()
    }

    /// Whether there are several ranks.
    pub(super) fn is_shared(&self) -> bool {
        self.several.is_some()
    }

    /// Returns the bodies of a rank's share: movable cells and fillers.
    pub(super) fn share(&self, rank: usize) -> [Range<usize>; 2] {
        self.blocks.share(rank, self.ranks.len())
    }

    /// Returns the commands for ρ less the background, overflow and maximum, smoothed or at exact
    /// sizes.
    pub(super) fn density(exact: bool) -> [Command; 5] {
        use Command::*;
        [Deposit { exact }, Barrier, SendSums, Barrier, Finish { exact }]
    }

    /// Returns the commands of a solve.
    pub(super) fn solve(&self, pipeline: Pipeline, potential: bool) -> Commands {
        self.solve_halves(pipeline, potential).into_iter().flatten().collect()
    }

    /// Returns the commands for Ex, Ey, the energy and, if requested, φ. The first part ends with
    /// the spectrum of ρ, and the second begins there. By slabs all commands are in the second
    /// part.
    pub(super) fn solve_halves(&self, pipeline: Pipeline, potential: bool) -> [Commands; 2] {
        match self.slabs(pipeline) {
            Some(slabs) => [Commands::new(), self.passes(slabs)],
            None => [
                smallvec![Command::Barrier, Command::Forward(pipeline)],
                smallvec![Command::Inverse { pipeline, potential }],
            ],
        }
    }

    /// Returns the commands of a solve by slabs.
    fn passes(&self, slabs: &SlabSolver<T>) -> Commands {
        let passes = 0..slabs.passes_of_a_solve();
        let mut commands: Commands =
            passes.flat_map(|pass| [Command::Barrier, Command::Pass(pass)]).collect();
        // A rank whose rows begin within a block of bins receives some of these bins from the
        // previous rank.
        let ny = self.bodies().grid().ny();
        if (0..self.ranks.len()).all(|rank| slabs.rows(rank).start * ny == self.first[rank]) {
            commands.remove(0);
        }
        commands
    }

    /// Returns the commands for density, solve and force.
    pub(super) fn step(&self, pipeline: Pipeline, potential: bool) -> Commands {
        let mut step = Commands::from_slice(&Self::density(false));
        step.extend(self.solve(pipeline, potential));
        step.extend(FORCE);
        step.push(Command::Barrier);
        step
    }

    /// Enqueues commands on all ranks, each command on all ranks before the next. With several
    /// ranks this is not allowed in a capture.
    pub(super) fn enqueue(&mut self, commands: &[Command]) -> Result<(), CudaError> {
        for &command in commands {
            match command {
                Command::Barrier => self.peers.barrier()?,
                _ => (0..self.ranks.len()).try_for_each(|rank| self.enqueue_on(rank, command))?,
            }
        }
        Ok(())
    }

    /// Enqueues commands and then a barrier.
    pub(super) fn enqueue_with_barrier(&mut self, commands: &[Command]) -> Result<(), CudaError> {
        self.enqueue(commands)?;
        self.enqueue(&[Command::Barrier])
    }

    /// Returns, for each rank, a graph of the work that `body` enqueues there, which has run
    /// before. All are launched equally often.
    ///
    /// # Safety
    /// While they are launched, this lives and gets no other charge.
    pub(super) unsafe fn graphs(
        &mut self,
        mut body: impl FnMut(&mut Self, usize) -> Result<(), CudaError>,
    ) -> Result<Vec<Graph>, CudaError> {
        self.peers.wait_for_each_other()?;
        let peers = self.peers.clone();
        // SAFETY: the caller's promise.
        unsafe { peers.graphs(|rank| body(self, rank)) }
    }

    /// Enqueues a command on one rank; with several ranks a barrier is allowed only in a capture.
    pub(super) fn enqueue_on(&mut self, rank: usize, command: Command) -> Result<(), CudaError> {
        if let Command::Placer(command) = command {
            return self.enqueue_placer(rank, command);
        }
        let Stages { peers, ranks, several, blocks, solvers, fields, centered, .. } = self;
        let several = match several {
            None if command.is_between_ranks() => return Ok(()),
            several => several.as_ref(),
        };
        let RankStages { gpu, bodies, density, force, corners, forces, energy } = &mut ranks[rank];
        let here = match self.positions_in {
            PositionsIn::Own => Some((Layout::Pairs.into(), &*corners)),
            PositionsIn::Slots => Some((PositionLayout::Slots, &*corners)),
            PositionsIn::Callers => None,
        };
        match (command, several) {
            (Command::Barrier, _) => peers.barrier_on(rank),
            (Command::SendPositions, Some(several)) => {
                let launch = blocks.launch(rank, ranks.len());
                let Some((blocks, config)) = launch else { return Ok(()) };
                let arguments = SpreadPositions { blocks, all: several.positions(rank) };
                let send = &several.send_positions[rank];
                // SAFETY: every rank's corners hold a pair for each body. They are replaced only
                // once all ranks have been waited for, can be reached from here (`Peers::open`),
                // and are read after a barrier.
                unsafe { send.launch_as(peers.gpu(rank), config, &arguments) }
            }
            (Command::CopyPositions, _) if rank > 0 => {
                let [first, to] = ranks.get_disjoint_mut([0, rank]).expect("two ranks");
                to.gpu.copy(reached(&to.gpu, first.corners.as_view()), &mut to.corners)
            }
            (Command::CollectForces, _) if rank == 0 => {
                let count = ranks.len();
                let (first, others) = ranks.split_first_mut().expect("a rank at least");
                let collect = |(k, other): (usize, &RankStages<T>)| {
                    blocks.share(k + 1, count).into_iter().try_for_each(|Range { start, end }| {
                        let from = other.forces.slice(2 * start..2 * end);
                        let to = first.forces.slice_mut(2 * start..2 * end);
                        first.gpu.copy(reached(&first.gpu, from), to)
                    })
                };
                others.iter().enumerate().try_for_each(collect)
            }
            // SAFETY: corners hold a pair per body. Bodies are replaced only once all ranks have
            // been waited for (`set_charge`, `drop`). Barriers come between the two halves and
            // after them (`order`).
            (Command::CountBodies, Some(several)) => unsafe {
                let corners = (Layout::Pairs.into(), (&*corners).into());
                bodies.count(corners, Some(&several.bodies))
            },
            // SAFETY: as above.
            (Command::Order, Some(several)) => unsafe {
                bodies.place(OrderOutputs::NONE, Some(&several.bodies))
            },
            (Command::Order, None) => match here {
                Some(_) => bodies.order(corners),
                None => bodies.order_staged(&mut self.spare),
            },
            (Command::Deposit { exact }, _) => {
                density.deposit(bodies, exact, here.map(|(layout, at)| (layout, at.as_view())))
            }
            // SAFETY: densities are replaced only once all ranks have been waited for
            // (`set_charge`, `drop`). Barriers come between deposits, this, and the step that
            // finishes bins (`density`). Between that step and the next deposits no rank reads or
            // writes another rank's sums.
            (Command::SendSums, Some(several)) => unsafe { several.send_sums.run(gpu, rank) },
            (Command::Finish { exact }, _) => {
                let rho = if exact { &mut self.exact } else { centered };
                let own = self.first[rank]..self.first[rank + 1];
                density.finish(bodies, exact, own, rho.of_mut(rank))
            }
            (Command::Pass(pass), _) => {
                let Some(Solver::Slabs(slabs)) = &mut solvers[Pipeline::ThreePass as usize] else {
                    panic!("passes are of a solve by slabs");
                };
                let Range { start, end } = slabs.rows(rank);
                let ny = bodies.grid().ny();
                let own = start * ny..end * ny;
                let rho = centered.of(rank).slice(own.clone());
                slabs.pass(rank, pass, rho, rows(fields, rank, own, energy))
            }
            (Command::Forward(pipeline), _) if rank == 0 => {
                alone(solvers, pipeline).forward(centered.of(0).as_view())
            }
            (Command::Inverse { pipeline, potential }, _) if rank == 0 => {
                let solver = alone(solvers, pipeline);
                let fields = rows(fields, 0, 0..bodies.bins(), energy);
                if potential { solver.inverse(fields) } else { solver.inverse_field(fields) }
            }
            (Command::Potential(pipeline), _) if rank == 0 => match &mut solvers[pipeline as usize]
            {
                Some(Solver::Alone(solver)) => {
                    solver.potential(rows(fields, 0, 0..bodies.bins(), energy))
                }
                _ => Ok(()), // slabs leave nothing out
            },
            (Command::Force, several) => {
                let field = (fields[1].of(rank), fields[2].of(rank));
                match (several, self.positions_in == PositionsIn::Slots) {
                    // SAFETY: every rank's forces hold a pair for each body. They are replaced only
                    // once all ranks have been waited for, can be reached from here
                    // (`Peers::open`), and are read after another barrier.
                    (Some(several), _) => unsafe {
                        force.run_shares(bodies, field, several.forces)
                    },
                    (None, false) => force.run(bodies, field, forces),
                    (None, true) => force.run_slots(bodies, corners, field, forces),
                }
            }
            _ => Ok(()), // another rank's
        }
    }

    /// Makes a new order of the bodies from their positions, in caller order. A barrier has come
    /// after the positions were copied there.
    pub(super) fn order(&mut self) -> Result<(), CudaError> {
        // Another barrier follows: a rank that continues writes new positions, after others have
        // read the current ones, and uses slots that others write.
        self.enqueue(&[Command::CountBodies, Command::Barrier, Command::Order, Command::Barrier])
    }

    /// Like [`Stages::order`] in slot order; corners move with the slots, and `from` records the
    /// moves.
    pub(super) fn order_slots(&mut self, from: &mut Permutation) -> Result<(), CudaError> {
        let RankStages { bodies, corners, .. } = &mut self.ranks[0];
        bodies.order_slots(corners, from)
    }

    /// Returns the memory to which a rank writes positions, for all ranks that need them.
    fn positions(&self, rank: usize) -> Positions<T> {
        match &self.several {
            Some(several) => several.positions(rank),
            None => Positions::alone((&self.ranks[0].corners).into()),
        }
    }
}

impl<T: CudaReal> Drop for Stages<T> {
    fn drop(&mut self) {
        // Work on another rank's stream may write into one rank's memory.
        let _ = self.peers.wait_for_each_other();
    }
}

impl<T: CudaReal> Several<T> {
    /// `worker` has, for each of `ranks`, the ranks that process its bodies.
    fn new(
        peers: &Peers,
        ranks: &[RankStages<T>],
        worker: Vec<DeviceVec<u8>>,
        blocks: BodyDivision,
        first: &[usize],
    ) -> Result<Self, CudaError> {
        let corners = pointers(ranks.iter().map(|rank| &rank.corners));
        let all = ranks.iter().map(|rank| &rank.bodies);
        let bodies = Bodies::together(all, corners, pointers(&worker), blocks);
        let of = pointers(ranks.iter().map(|rank| &rank.forces));
        let forces = AllForces { of, shares: bodies.shares };
        let send = |rank: &RankStages<T>| Kernel::new(&rank.gpu.kernels::<T>("spread")?);
        let densities: Vec<&Density<T>> = ranks.iter().map(|rank| &rank.density).collect();
        Ok(Several {
            bodies,
            forces,
            worker,
            send_positions: ranks.iter().map(send).collect::<Result<_, _>>()?,
            send_sums: SendSums::new(peers, &densities, first)?,
            identity: ranks[0].bodies.permutation()?,
        })
    }

    /// Returns the positions of all ranks, for one rank to write.
    fn positions(&self, rank: usize) -> Positions<T> {
        let worker = (&self.worker[rank]).into();
        Positions::on_rank(self.bodies.corners, worker, [rank, self.worker.len()])
    }
}

/// Returns a rank's part of each map of the fields.
fn rows<'a, T: CudaReal>(
    fields: &'a mut [SharedMap<T>; 3],
    rank: usize,
    bins: Range<usize>,
    energy: &'a mut DeviceVec<f64>,
) -> FieldsMut<'a, T> {
    let maps = fields.each_mut().map(|map| map.of_mut(rank).slice_mut(bins.clone()));
    let [potential, field_x, field_y] = maps;
    FieldsMut { potential, field_x, field_y, energy: energy.as_view_mut() }
}

/// Returns memory of another rank's device, for work of `gpu`.
fn reached<'a, T: CudaReal>(gpu: &'a Gpu, values: DeviceSlice<'a, T>) -> DeviceSlice<'a, T> {
    // SAFETY: borrowed for as long; the ranks' devices reach each other's memory (`Peers::open`).
    unsafe { DeviceSlice::from_raw(gpu, *values.address(), values.len()) }
}
