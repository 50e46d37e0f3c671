//! What an evaluation of a placer on devices is made of: tasks, and how they are enqueued on every
//! rank.

use super::arguments::RankReports;
use super::descent::{Descent, PointVector};
use super::wirelength::CudaWirelength;
use crate::cuda::bodies::{Addresses, Positions, RawStatistics};
use crate::cuda::device::{Branch, CudaReal, DeviceVec, Gpu, Marks};
use crate::cuda::engine::CudaEngine;
use crate::cuda::peers::{PeersEngine, Stage};
use crate::engine::{Engine, EngineError, Evaluation};
use crate::place::Held;
use crate::place::ready::NOTHING_KEPT;

/// What of a backend a device has besides the engine.
pub(super) struct Rank<T: CudaReal> {
    pub(super) gpu: Gpu,
    pub(super) descent: Descent<T>,
    pub(super) wirelength: CudaWirelength<T>,
}

impl<T: CudaReal> Rank<T> {
    /// One of the vectors.
    pub(super) fn held(&self, held: Held) -> Result<&[DeviceVec<T>; 2], EngineError> {
        match vector(held) {
            Some(which) => Ok(self.descent.vector(which)),
            None => self.descent.kept().ok_or(NOTHING_KEPT),
        }
    }
}

/// What evaluates density, field and force.
pub(super) enum Devices<T: CudaReal> {
    One(Box<CudaEngine<T>>),
    Several(Box<PeersEngine<T>>),
}

impl<T: CudaReal> Devices<T> {
    pub(super) fn engine(&self) -> &dyn Engine<T> {
        match self {
            Devices::One(engine) => &**engine,
            Devices::Several(engine) => &**engine,
        }
    }

    pub(super) fn engine_mut(&mut self) -> &mut dyn Engine<T> {
        match self {
            Devices::One(engine) => &mut **engine,
            Devices::Several(engine) => &mut **engine,
        }
    }

    /// Where a rank's positions are to be written, which makes stale what followed from those
    /// before; `nets` are the ranks whose nets each movable cell is on.
    pub(super) fn positions_mut(
        &mut self,
        rank: usize,
        nets: Option<&DeviceVec<u16>>,
    ) -> Positions {
        match self {
            Devices::One(engine) => Positions::alone(*engine.positions_device_mut().address()),
            Devices::Several(engine) => {
                let positions = engine.positions(rank);
                nets.map_or(positions, |nets| positions.needed_by_nets(nets))
            }
        }
    }

    pub(super) fn positions(&self, rank: usize) -> &DeviceVec<T> {
        match self {
            Devices::One(engine) => engine.positions_device(),
            Devices::Several(engine) => engine.positions_device(rank),
        }
    }

    pub(super) fn forces(&self, rank: usize) -> Result<&DeviceVec<T>, EngineError> {
        match self {
            Devices::One(engine) => engine.force_device(),
            Devices::Several(engine) => Ok(engine.forces_device(rank)),
        }
    }

    /// The energy, and what every rank knows of the evaluation.
    pub(super) fn evaluation(&self) -> (&DeviceVec<f64>, RankReports) {
        match self {
            Devices::One(engine) => {
                let (statistics, energy) = engine.evaluation_device();
                (energy, RankReports::of([statistics].into_iter(), Addresses::NONE))
            }
            Devices::Several(engine) => {
                let of = |rank| engine.evaluation_device(rank).0;
                let statistics = (0..engine.peers().count()).map(of);
                let missing = engine.peers().missing();
                (engine.evaluation_device(0).1, RankReports::of(statistics, missing))
            }
        }
    }

    pub(super) fn take_evaluation(
        &mut self,
        statistics: RawStatistics,
        energy: f64,
    ) -> Result<Evaluation, EngineError> {
        match self {
            Devices::One(engine) => engine.take_evaluation(statistics, energy),
            Devices::Several(engine) => engine.take_evaluation(statistics, energy),
        }
    }
}

/// What an evaluation is made of.
pub(super) struct Work<T: CudaReal> {
    pub(super) ranks: Vec<Rank<T>>,
    /// On the first rank.
    pub(super) marks: Marks,
    pub(super) engine: Devices<T>,
}

/// What is enqueued on every rank in turn.
#[derive(Clone, Copy)]
pub(super) enum Task {
    /// Positions from one of the vectors, or where a step leads.
    Place(Held),
    Step,
    /// Several ranks wait for each other.
    Meet,
    /// Gradients of pins, and the sums over those of cells; on the first rank HPWL and WA, too.
    Nets,
    Pulls,
    /// Density, solve and force, on one device, and a part of them on several.
    Stages,
    Stage(Stage),
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

/// What of an evaluation comes before its two sides, the wirelength's and the density's, and after
/// them.
pub(super) struct Tasks {
    before: Vec<Task>,
    aside: Vec<Task>,
    ahead: Vec<Task>,
    after: Vec<Task>,
}

impl<T: CudaReal> Work<T> {
    /// Of an evaluation where `first` leads, of a point `proposed` or of the current one.
    pub(super) fn tasks(&self, first: Task, proposed: bool) -> Tasks {
        let [gradient, sample] = [Task::Gradient { proposed }, Task::Sample { proposed }];
        match &self.engine {
            Devices::One(_) => Tasks {
                before: vec![first],
                aside: vec![Task::Mark(0), Task::Nets, Task::Pulls, Task::Mark(1)],
                ahead: vec![Task::Stages],
                after: vec![gradient, sample],
            },
            Devices::Several(engine) => {
                let mut ahead = vec![Task::Mark(2)];
                for (k, stages) in engine.stages().into_iter().enumerate() {
                    ahead.extend(stages.into_iter().map(Task::Stage));
                    ahead.push(Task::Mark(3 + k));
                }
                Tasks {
                    before: vec![first, Task::Meet],
                    aside: vec![Task::Mark(0), Task::Nets, Task::Mark(1)],
                    ahead,
                    // What came from other ranks: pins' gradients and forces, then sums.
                    after: vec![Task::Meet, Task::Pulls, gradient, Task::Meet, sample],
                }
            }
        }
    }

    /// Enqueues an evaluation by plain launches, each task on all ranks before the next.
    pub(super) fn enqueue_all(&mut self, first: Task, proposed: bool) -> Result<(), EngineError> {
        let Tasks { before, aside, ahead, after } = self.tasks(first, proposed);
        self.enqueue_each(&before)?;
        if let Devices::Several(engine) = &mut self.engine {
            engine.order_if_due()?;
        }
        [aside, ahead, after].iter().try_for_each(|tasks| self.enqueue_each(tasks))?;
        if let Devices::Several(engine) = &mut self.engine {
            engine.stages_enqueued();
        }
        Ok(())
    }

    pub(super) fn enqueue_each(&mut self, tasks: &[Task]) -> Result<(), EngineError> {
        for &task in tasks {
            match (task, &mut self.engine) {
                (Task::Meet, Devices::Several(engine)) => engine.enqueue(Stage::Meet)?,
                (Task::Stage(stage), Devices::Several(engine)) => engine.enqueue(stage)?,
                _ => (0..self.ranks.len()).try_for_each(|rank| self.enqueue(rank, task))?,
            }
        }
        Ok(())
    }

    /// Enqueues a proposal on a rank during a capture.
    pub(super) fn capture(&mut self, rank: usize, branch: &Branch) -> Result<(), EngineError> {
        let Tasks { before, aside, ahead, after } = self.tasks(Task::Step, true);
        let all = |work: &mut Self, tasks: Vec<Task>| {
            tasks.into_iter().try_for_each(|task| work.enqueue(rank, task))
        };
        all(self, before)?;
        // SAFETY: both read the engine's positions and write arrays of their own.
        unsafe { branch.side_by_side(self, |work| all(work, aside), |work| all(work, ahead)) }?;
        all(self, after)
    }

    /// Enqueues a task on one rank; meetings only in a capture.
    fn enqueue(&mut self, number: usize, task: Task) -> Result<(), EngineError> {
        let Work { ranks, marks, engine } = self;
        let first = number == 0;
        let rank = &mut ranks[number];
        match task {
            Task::Place(held) => {
                let to = engine.positions_mut(number, rank.wirelength.needed());
                let vector = rank.held(held)?;
                // SAFETY: positions of all ranks hold a pair for every body and can be reached from
                // each (`Peers::open`); ranks have met since they were last read, and meet before
                // they are read again (`tasks`, `exact_density`).
                unsafe { rank.descent.place(vector, &to) }?;
            }
            Task::Step => {
                let to = engine.positions_mut(number, rank.wirelength.needed());
                // SAFETY: as above.
                unsafe { rank.descent.step_to(&to) }?;
            }
            Task::Meet => {
                if let Devices::Several(engine) = engine {
                    engine.enqueue_on(number, Stage::Meet)?;
                }
            }
            Task::Nets => {
                let (gamma, positions) = (rank.descent.gamma(), engine.positions(number));
                // SAFETY: the ranks' operators were made together and live as long; they meet
                // before they use what goes to them, and have met since.
                unsafe { rank.wirelength.nets(gamma, positions) }?;
            }
            Task::Pulls => rank.wirelength.gather()?,
            Task::Stages => {
                if let Devices::One(engine) = engine {
                    let mut mark = 2;
                    marks.set(mark)?;
                    engine.enqueue_stages(|| {
                        mark += 1;
                        marks.set(mark)
                    })?;
                }
            }
            Task::Stage(stage) => {
                if let Devices::Several(engine) = engine {
                    engine.enqueue_on(number, stage)?;
                }
            }
            Task::Gradient { proposed } => {
                let forces = engine.forces(number)?;
                rank.descent.gradient_of_share(proposed, &rank.wirelength, forces)?;
            }
            Task::Sample { proposed } if first => {
                let (energy, all) = engine.evaluation();
                // SAFETY: statistics and signals are the engine's, which lives as long as this.
                unsafe { rank.descent.sample(proposed, &rank.wirelength, energy, &all) }?;
            }
            Task::Mark(mark) if first => marks.set(mark)?,
            Task::Sample { .. } | Task::Mark(_) => {}
        }
        Ok(())
    }
}

/// Which of the current point's vectors is meant; none for the placement kept.
pub(super) fn vector(held: Held) -> Option<PointVector> {
    match held {
        Held::Current => Some(PointVector::V),
        Held::Sequence => Some(PointVector::U),
        Held::Gradient => Some(PointVector::G),
        Held::Kept => None,
    }
}
