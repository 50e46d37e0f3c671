//! The part of a placement in an engine: descent and wirelength of every rank, and the commands of
//! an evaluation.

use super::{Command, RankStages, Stages};
use crate::cuda::bodies::BodyForces;
use crate::cuda::device::bindings::place::RankReports;
use crate::cuda::device::{Branch, CudaError, CudaReal, DeviceVec, Gpu, Graph, Marks, pointers};
use crate::cuda::engine::CudaEngine;
use crate::cuda::place::{CudaWirelength, Descent, DeviceCells, DeviceTerm};
use crate::engine::EngineError;
use crate::place::PointVector;

/// Marks before and after the wirelength; before the density, after it, after the solve and after
/// the force; before and after all of it ([`BEGIN`], [`END`]).
const MARKS: usize = 8;
pub(crate) const BEGIN: usize = 6;
pub(crate) const END: usize = 7;

/// Descent and wirelength of all ranks.
pub(crate) struct Placer<T: CudaReal> {
    pub(crate) ranks: Vec<(Descent<T>, CudaWirelength<T>)>,
    /// On the first rank.
    pub(crate) marks: Marks,
    /// The caller's terms, which only a single rank can have, and the sum of their values.
    pub(crate) terms: Vec<Box<dyn DeviceTerm>>,
    pub(crate) value: DeviceVec<f64>,
}

impl<T: CudaReal> Placer<T> {
    /// Returns a placer with these ranks, the first of which is on `gpu`.
    pub(crate) fn new(
        gpu: &Gpu,
        ranks: Vec<(Descent<T>, CudaWirelength<T>)>,
    ) -> Result<Self, CudaError> {
        let (marks, value) = (Marks::new(gpu, MARKS)?, gpu.zeros(1)?);
        Ok(Placer { ranks, marks, terms: Vec::new(), value })
    }
}

/// A command of an engine with a placer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PlacerCommand {
    /// Copies positions from one of the vectors, which exists.
    Place(PointVector),
    /// Takes a step and writes its positions.
    Step,
    /// Gradients of pins, and lengths of nets.
    Nets,
    /// The sums over the pins of cells, and on the first rank HPWL and WA.
    Gather,
    /// The caller's terms.
    Terms,
    /// Like [`Command::Force`], except that forces of one rank stay in slot order.
    Force,
    /// The gradient of the bodies.
    Gradient { proposed: bool },
    /// The numbers of the evaluation, on the first rank.
    Sample { proposed: bool },
    /// A mark on the first rank.
    Mark(usize),
}

/// The commands of an evaluation: the commands before its two sides (wirelength and density), the
/// commands of both sides, and the commands after them.
struct Evaluation {
    before: Vec<Command>,
    wirelength: Vec<Command>,
    density: Vec<Command>,
    after: Vec<Command>,
}

impl<T: CudaReal> Stages<T> {
    /// Enqueues a placer's command on one rank.
    pub(super) fn enqueue_placer(
        &mut self,
        rank: usize,
        command: PlacerCommand,
    ) -> Result<(), CudaError> {
        use PlacerCommand::*;
        let to = self.positions(rank);
        let Stages { peers, ranks, several, fields, placer, .. } = self;
        let placer = placer.as_mut().expect("an engine of a placement");
        let Placer { ranks: placers, marks, terms, value } = placer;
        let (descent, wirelength) = &mut placers[rank];
        let to = wirelength.needed().map_or(to, |nets| to.needed_by_nets(nets));
        let RankStages { gpu, bodies, force, corners, forces, .. } = &mut ranks[rank];
        match command {
            // SAFETY: positions of all ranks hold a pair for every body and can be reached from
            // each (`Peers::open`). Ranks have met since positions were last read, and meet before
            // they are read again (`evaluation`, `CudaEngine::place`).
            Place(vector) => unsafe { descent.place(vector, to) },
            // SAFETY: as above.
            Step => unsafe { descent.step_to(to) },
            // SAFETY: the ranks' operators were made together and live equally long. Ranks meet
            // before they use the data sent to them, and have met since the last use.
            Nets => unsafe { wirelength.nets(descent.gamma(), corners) },
            Gather => wirelength.gather(),
            Terms => {
                gpu.clear(value)?;
                let (x, y) = wirelength.gradient();
                let stream = gpu.stream_guard()?;
                let cells = DeviceCells {
                    stream: stream.raw(),
                    cells: x.len(),
                    corners: *corners.address(),
                    gradient: [*x.address(), *y.address()],
                    value: *value.address(),
                };
                terms.iter_mut().try_for_each(|term| term.enqueue(&cells))
            }
            Force if several.is_some() => self.enqueue_on(rank, Command::Force),
            Force => force.run_staged(bodies, (fields[1].of(rank), fields[2].of(rank))),
            Gradient { proposed } => {
                let forces = match several {
                    None => force.staged(bodies)?,
                    Some(_) => BodyForces { values: forces, slot_of: None },
                };
                descent.gradient(proposed, wirelength, &forces)
            }
            Sample { proposed } if rank == 0 => {
                let all = RankReports {
                    statistics: pointers(ranks.iter().map(|rank| rank.density.statistics())),
                    missing: peers.missing(),
                    ranks: ranks.len() as u32,
                    padding: 0,
                };
                // SAFETY: statistics and signals belong to these stages, which keep them.
                unsafe { descent.sample(proposed, wirelength, &ranks[0].energy, all) }
            }
            Mark(mark) if rank == 0 => marks.set(mark),
            Sample { .. } | Mark(_) => Ok(()),
        }
    }
}

impl<T: CudaReal> CudaEngine<T> {
    /// Sets a placer with a part for each rank. The engine accepts no other charge from then on.
    pub(crate) fn set_placer(&mut self, placer: Placer<T>) {
        self.stages.placer = Some(placer);
    }

    /// Returns the placer of an engine that has one.
    pub(crate) fn placer(&self) -> &Placer<T> {
        self.stages.placer.as_ref().expect("an engine of a placement")
    }

    pub(crate) fn placer_mut(&mut self) -> &mut Placer<T> {
        self.stages.placer.as_mut().expect("an engine of a placement")
    }

    /// Returns the commands of an evaluation at the positions that `first` writes, for a `proposed`
    /// point or for the current one.
    fn evaluation(&self, first: PlacerCommand, proposed: bool) -> Evaluation {
        use Command::{Barrier, Placer as Of};
        use PlacerCommand::{Force, Gather, Gradient, Mark, Nets, Sample, Terms};
        let mut wirelength = vec![Of(Mark(0)), Of(Nets)];
        let mut after = vec![Barrier];
        // With several ranks, gradients of pins come from other ranks.
        if self.stages.is_shared() { &mut after } else { &mut wirelength }.push(Of(Gather));
        if !self.placer().terms.is_empty() {
            wirelength.push(Of(Terms));
        }
        wirelength.push(Of(Mark(1)));
        let solve = self.stages.solve(self.choice.pipeline, false);
        let density = [
            &[Of(Mark(2))],
            &Stages::<T>::density(false)[..],
            &[Of(Mark(3))],
            &solve,
            &[Of(Mark(4)), Barrier, Of(Force), Of(Mark(5))],
        ];
        // Forces, too, come from other ranks, and then sums.
        let sample = Of(Sample { proposed });
        after.extend([Of(Gradient { proposed }), Barrier, sample, Of(Mark(END))]);
        let before = vec![Of(Mark(BEGIN)), Of(first), Barrier];
        Evaluation { before, wirelength, density: density.concat(), after }
    }

    /// Enqueues the copy of positions from one of the vectors.
    pub(crate) fn place(&mut self, vector: PointVector) -> Result<(), CudaError> {
        self.positions_written();
        self.stages.enqueue_with_barrier(&[Command::Placer(PlacerCommand::Place(vector))])
    }

    /// Enqueues an evaluation by plain launches, each command on all ranks before the next.
    pub(crate) fn enqueue_evaluation(
        &mut self,
        first: PlacerCommand,
        proposed: bool,
    ) -> Result<(), EngineError> {
        let Evaluation { before, wirelength, density, after } = self.evaluation(first, proposed);
        self.positions_written();
        self.stages.enqueue(&before)?;
        self.order_if_due()?;
        [wirelength, density, after]
            .iter()
            .try_for_each(|commands| self.stages.enqueue(commands))?;
        Ok(self.evaluation_enqueued()?)
    }

    /// Returns the graphs of a proposal, with marks or without. Both sides of a rank run at the
    /// same time, the wirelength in the rank's branch. No order of the bodies is made in a capture.
    ///
    /// # Safety
    /// This engine and the branches live as long as the graphs are launched.
    pub(crate) unsafe fn proposal(
        &mut self,
        branches: &[Branch],
        has_marks: bool,
    ) -> Result<Vec<Graph>, CudaError> {
        let evaluation = self.evaluation(PlacerCommand::Step, true);
        let Evaluation { before, wirelength, density, after } = &evaluation;
        let is_mark =
            |command: &Command| matches!(command, Command::Placer(PlacerCommand::Mark(_)));
        let all = |stages: &mut Stages<T>, rank, commands: &[Command]| {
            let wanted = commands.iter().filter(|command| has_marks || !is_mark(command));
            wanted.copied().try_for_each(|command| stages.enqueue_on(rank, command))
        };
        let enqueue = |stages: &mut Stages<T>, rank: usize| {
            all(stages, rank, before)?;
            let branch = &branches[rank];
            // SAFETY: both read the engine's positions and write to separate arrays.
            unsafe {
                branch.fork(stages, |on| all(on, rank, wirelength), |on| all(on, rank, density))
            }?;
            all(stages, rank, after)
        };
        // SAFETY: the caller's promise.
        unsafe { self.stages.graphs(enqueue) }
    }

    /// Launches the graphs of a proposal, after an order if one is due.
    pub(crate) fn launch_proposal(&mut self, graphs: &mut [Graph]) -> Result<(), EngineError> {
        self.order_if_due()?;
        self.peers.launch(graphs)?;
        Ok(self.evaluation_enqueued()?)
    }

    /// Records that an evaluation has been enqueued, which has written positions.
    fn evaluation_enqueued(&mut self) -> Result<(), CudaError> {
        self.positions_written();
        self.step_enqueued(self.choice.pipeline)
    }
}
