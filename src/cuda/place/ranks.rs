//! The parts of an evaluation of a placer on devices: tasks, and how they are enqueued on every
//! rank.

use super::descent::{Descent, DescentVector};
use super::term::{DeviceCells, DeviceTerm};
use super::wirelength::CudaWirelength;
use crate::cuda::device::bindings::place::RankReports;
use crate::cuda::device::{Branch, CudaReal, DeviceVec, Gpu, Marks, pointers};
use crate::cuda::engine::{Command, CudaEngine};
use crate::engine::EngineError;
use crate::place::PointVector;
use crate::place::ready::NOTHING_KEPT;

/// Marks before an evaluation and behind it.
pub(super) const BEGIN: usize = 6;
pub(super) const END: usize = 7;

/// The part of a backend on one device, besides the engine.
pub(super) struct RankPlacer<T: CudaReal> {
    pub(super) gpu: Gpu,
    pub(super) descent: Descent<T>,
    pub(super) wirelength: CudaWirelength<T>,
}

impl<T: CudaReal> RankPlacer<T> {
    /// Returns one of the vectors.
    pub(super) fn vector(&self, vector: PointVector) -> Result<&[DeviceVec<T>; 2], EngineError> {
        match in_descent(vector) {
            Some(which) => Ok(self.descent.vector(which)),
            None => self.descent.kept().ok_or(NOTHING_KEPT),
        }
    }
}

/// The parts of an evaluation.
pub(super) struct PlacerRanks<T: CudaReal> {
    pub(super) ranks: Vec<RankPlacer<T>>,
    /// On the first rank.
    pub(super) marks: Marks,
    /// Terms of the caller, which only one rank alone has, and the sum of their values.
    pub(super) terms: Vec<Box<dyn DeviceTerm>>,
    pub(super) value: DeviceVec<f64>,
    pub(super) engine: CudaEngine<T>,
}

/// Work that is enqueued on every rank in turn.
#[derive(Clone, Copy)]
pub(super) enum Task {
    /// Positions from one of the vectors, or where a step leads.
    Place(PointVector),
    Step,
    /// Gradients of pins, and the sums over those of cells; on the first rank HPWL and WA, too.
    Nets,
    Pulls,
    /// The caller's.
    Terms,
    /// The engine's.
    Engine(Command),
    /// The gradient of the bodies, and on the first rank the numbers of the evaluation.
    Gradient {
        proposed: bool,
    },
    Sample {
        proposed: bool,
    },
    /// On the first rank.
    Mark(usize),
}

impl Task {
    /// Several ranks wait for each other.
    pub(super) const BARRIER: Self = Task::Engine(Command::Barrier);
}

/// The tasks of an evaluation: those before its two sides, the wirelength's and the density's,
/// those of both sides, and those after them.
pub(super) struct Tasks {
    before: Vec<Task>,
    wirelength: Vec<Task>,
    density: Vec<Task>,
    after: Vec<Task>,
}

impl<T: CudaReal> PlacerRanks<T> {
    /// Of an evaluation where `first` leads, of a point `proposed` or of the current one.
    pub(super) fn tasks(&self, first: Task, proposed: bool) -> Tasks {
        let mut wirelength = vec![Task::Mark(0), Task::Nets];
        let mut after = vec![Task::BARRIER];
        // Of several ranks gradients of pins come from other ranks.
        if self.ranks.len() == 1 { &mut wirelength } else { &mut after }.push(Task::Pulls);
        if !self.terms.is_empty() {
            wirelength.push(Task::Terms);
        }
        wirelength.push(Task::Mark(1));
        let mut density = vec![Task::Mark(2)];
        for (k, commands) in self.engine.commands().into_iter().enumerate() {
            density.extend(commands.into_iter().map(Task::Engine));
            density.push(Task::Mark(3 + k));
        }
        // So do forces, then sums.
        after.extend([Task::Gradient { proposed }, Task::BARRIER, Task::Sample { proposed }]);
        after.push(Task::Mark(END));
        Tasks { before: vec![Task::Mark(BEGIN), first, Task::BARRIER], wirelength, density, after }
    }

    /// Enqueues an evaluation by plain launches, each task on all ranks before the next.
    pub(super) fn enqueue_all(&mut self, first: Task, proposed: bool) -> Result<(), EngineError> {
        let Tasks { before, wirelength, density, after } = self.tasks(first, proposed);
        self.place(&before)?;
        self.engine.order_if_due()?;
        [wirelength, density, after].iter().try_for_each(|tasks| self.enqueue_each(tasks))?;
        Ok(self.engine.step_enqueued()?)
    }

    /// Enqueues tasks that write positions.
    pub(super) fn place(&mut self, tasks: &[Task]) -> Result<(), EngineError> {
        self.engine.positions_written();
        self.enqueue_each(tasks)
    }

    fn enqueue_each(&mut self, tasks: &[Task]) -> Result<(), EngineError> {
        for &task in tasks {
            match task {
                Task::Engine(command) => self.engine.enqueue(command)?,
                _ => (0..self.ranks.len()).try_for_each(|rank| self.enqueue(rank, task))?,
            }
        }
        Ok(())
    }

    /// Enqueues a proposal on a rank during a capture, with marks or without.
    pub(super) fn capture(
        &mut self,
        rank: usize,
        branch: &Branch,
        has_marks: bool,
    ) -> Result<(), EngineError> {
        let Tasks { before, wirelength, density, after } = self.tasks(Task::Step, true);
        let all = |work: &mut Self, tasks: Vec<Task>| {
            let wanted = |task: &Task| has_marks || !matches!(task, Task::Mark(_));
            tasks.into_iter().filter(wanted).try_for_each(|task| work.enqueue(rank, task))
        };
        all(self, before)?;
        // SAFETY: both read the engine's positions and write arrays of their own.
        unsafe { branch.fork(self, |work| all(work, wirelength), |work| all(work, density)) }?;
        all(self, after)
    }

    /// Enqueues a task on one rank; of several ranks a barrier only in a capture.
    fn enqueue(&mut self, number: usize, task: Task) -> Result<(), EngineError> {
        let PlacerRanks { ranks, marks, terms, value, engine } = self;
        let first = number == 0;
        let count = ranks.len();
        let rank = &mut ranks[number];
        let positions = || {
            let positions = engine.positions(number);
            rank.wirelength.needed().map_or(positions, |nets| positions.needed_by_nets(nets))
        };
        match task {
            Task::Place(vector) => {
                let (to, vector) = (positions(), rank.vector(vector)?);
                // SAFETY: positions of all ranks hold a pair for every body and can be reached from
                // each (`Peers::open`); ranks have met since they were last read, and meet before
                // they are read again (`tasks`, `exact_density`).
                unsafe { rank.descent.place(vector, to) }?;
            }
            Task::Step => {
                let to = positions();
                // SAFETY: as above.
                unsafe { rank.descent.step_to(to) }?;
            }
            Task::Nets => {
                let (gamma, positions) = (rank.descent.gamma(), engine.positions_device(number));
                // SAFETY: the ranks' operators were made together and live as long; they meet
                // before they use what goes to them, and have met since.
                unsafe { rank.wirelength.nets(gamma, positions) }?;
            }
            Task::Pulls => rank.wirelength.gather()?,
            Task::Terms => {
                rank.gpu.clear(value)?;
                let (x, y) = rank.wirelength.gradient();
                let stream = rank.gpu.stream_guard()?;
                let cells = DeviceCells {
                    stream: stream.raw(),
                    cells: x.len(),
                    corners: *engine.positions_device(number).address(),
                    gradient: [*x.address(), *y.address()],
                    value: *value.address(),
                };
                terms.iter_mut().try_for_each(|term| term.enqueue(&cells))?;
            }
            Task::Engine(command) => engine.enqueue_on(number, command)?,
            Task::Gradient { proposed } => {
                let forces = engine.forces(number)?;
                rank.descent.gradient(proposed, &rank.wirelength, &forces)?;
            }
            Task::Sample { proposed } if first => {
                let statistics = (0..count).map(|rank| engine.evaluation_device(rank).0);
                let statistics = pointers(statistics);
                let missing = engine.peers().missing();
                let all = RankReports { statistics, missing, ranks: count as u32, padding: 0 };
                let energy = engine.evaluation_device(0).1;
                // SAFETY: statistics and signals are the engine's, which lives as long as this.
                unsafe { rank.descent.sample(proposed, &rank.wirelength, energy, all) }?;
            }
            Task::Mark(mark) if first => marks.set(mark)?,
            Task::Sample { .. } | Task::Mark(_) => {}
        }
        Ok(())
    }
}

/// Returns the vector of the current point; none for the placement kept.
pub(super) fn in_descent(vector: PointVector) -> Option<DescentVector> {
    match vector {
        PointVector::Reference => Some(DescentVector::V),
        PointVector::Solution => Some(DescentVector::U),
        PointVector::Gradient => Some(DescentVector::G),
        PointVector::Best => None,
    }
}
