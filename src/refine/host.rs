//! The work for a lattice's cells on all threads.

use super::claims::Claims;
use super::crowding::Crowding;
use super::state::{Change, Spot, State, Trial};
use super::{Engine, Pass, Tasks, insert, mirror, reorder, shift, swap};
use crate::lists::Lists;
use crate::parallel::{self, PerThread};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Least number of proposals that a thread judges.
const FEW: usize = 8;

/// A lattice's cells on the CPU.
pub(super) struct Host<'a> {
    pub(super) state: State,
    trials: PerThread<Trial>,
    memory: PerThread<Memory>,
    claims: Claims,
    tasks: Of,
    /// What swaps may lengthen wires by, layout units times weight.
    loss: f64,
    /// The least gain of a state in all other passes.
    least_gain: f64,
    /// Spots before swaps that may lengthen wires, and the units saved since then.
    best: Vec<Spot>,
    since_best: i128,
    /// Whether the work must end within a batch.
    stops: &'a AtomicBool,
}

/// The tasks of a pass.
enum Of {
    Swap,
    Insert,
    Reorder(Vec<reorder::Window>),
    Shift(Vec<shift::Stretch>),
    Mirror,
}

/// Working memory of a thread.
#[derive(Default)]
struct Memory {
    search: swap::Search,
    inserts: insert::Search,
    nets: super::wires::WindowNets,
    shifts: shift::Shifts,
}

impl<'a> Host<'a> {
    pub(super) fn new(state: State, stops: &'a AtomicBool) -> Self {
        let threads = rayon::current_num_threads();
        Host {
            trials: PerThread::new(threads, Trial::default),
            memory: PerThread::new(threads, Memory::default),
            claims: Claims::new(state.resources()),
            tasks: Of::Mirror,
            loss: 0.0,
            least_gain: state.least_gain,
            best: Vec::new(),
            since_best: 0,
            state,
            stops,
        }
    }

    /// Ends the work. If swaps have made wires longer, cells go back to where wires were shorter.
    /// Returns the state and the wirelength that this saves.
    pub(super) fn end(mut self) -> (State, f64) {
        if self.best.is_empty() || self.since_best >= 0 {
            return (self.state, 0.0);
        }
        self.state.go_to(self.best);
        let saved = self.state.wires.length_of_units(-self.since_best);
        (self.state, saved)
    }

    /// Makes the proposals that are still legal and gain enough in their turn. Returns the
    /// wirelength saved by all of them together.
    ///
    /// Each turn makes every remaining proposal that conflicts with no earlier one. If bins must
    /// not be filled too far or their tracks are few, proposals are made one after the other.
    fn commit_independent(&mut self, found: &[Lists<Change>]) -> f64 {
        let proposals = (0u32..).zip(found.iter().flat_map(Lists::iter));
        let mut waiting: Vec<(u32, &[Change])> =
            proposals.filter(|(_, changes)| !changes.is_empty()).collect();
        let trials = &self.trials;
        let mut gain = 0;
        if self.state.density.is_some() || self.state.crowding.is_some() {
            for (_, changes) in waiting.drain(..) {
                gain += i128::from(trials.with(|trial| self.state.apply(changes, trial)));
            }
        }
        while !waiting.is_empty() {
            self.claims.begin();
            let (state, claims) = (&self.state, &self.claims);
            let part = parallel::at_once(waiting.len()).max(FEW);
            let judge = |trial: &mut Trial, range: Range<usize>| {
                let (mut claimed, mut gains) = (Lists::new(), Vec::new());
                for (_, changes) in &waiting[range.clone()] {
                    gains.push(state.judge(changes, trial, &mut claimed.values));
                    claimed.end();
                }
                for ((number, _), claimed) in waiting[range].iter().zip(claimed.iter()) {
                    claims.stake(*number, claimed);
                }
                (claimed, gains)
            };
            let judged = parallel::map_blocks(waiting.len(), part, |range| {
                trials.with(|trial| judge(trial, range))
            });
            let hold = parallel::map(judged.len(), |index| {
                let numbered = waiting[index * part..].iter().zip(judged[index].0.iter());
                let hold = numbered.map(|((number, _), claimed)| claims.hold(*number, claimed));
                hold.collect::<Vec<bool>>()
            });
            let gains = judged.iter().flat_map(|(_, gains)| gains.iter().copied());
            let all = gains.zip(hold.into_iter().flatten());
            let (mut left, mut made) = (Vec::new(), Vec::new());
            for ((number, changes), (shorter, hold)) in waiting.into_iter().zip(all) {
                if shorter != 0 && hold {
                    gain += i128::from(shorter);
                    made.extend_from_slice(changes);
                } else if shorter != 0 {
                    left.push((number, changes));
                }
            }
            self.state.apply_all(&mut made);
            waiting = left;
        }
        self.since_best += gain;
        self.state.wires.length_of_units(gain)
    }
}

impl Engine for Host<'_> {
    fn cost(&self) -> f64 {
        self.state.crowding.as_ref().map_or(0.0, Crowding::cost_of_all)
    }

    fn accept(&mut self, loss: f64) {
        self.loss = loss;
        if loss > 0.0 && self.since_best >= 0 {
            self.best = self.state.cells.iter().map(|cell| cell.spot).collect();
            self.since_best = 0;
        }
    }

    fn begin(&mut self, pass: Pass) -> Result<usize, String> {
        self.state.reweigh();
        self.state.least_gain = match pass {
            Pass::Swap if self.loss > 0.0 => -self.loss,
            _ => self.least_gain,
        };
        let (state, cells) = (&self.state, self.state.cells.len());
        let (tasks, count) = match pass {
            Pass::Swap => (Of::Swap, cells),
            Pass::Insert => (Of::Insert, cells),
            Pass::Reorder(offset) => {
                let windows = reorder::windows(state, offset);
                let count = windows.len();
                (Of::Reorder(windows), count)
            }
            Pass::Shift(offset) => {
                let stretches = shift::stretches(state, offset);
                let count = stretches.len();
                (Of::Shift(stretches), count)
            }
            Pass::Mirror => (Of::Mirror, cells),
        };
        self.tasks = tasks;
        Ok(count)
    }

    fn batch(&mut self, tasks: Tasks) -> Result<f64, String> {
        let Host { state, memory, tasks: of, stops, .. } = &*self;
        let propose = |task: usize, memory: &mut Memory, changes: &mut Vec<Change>| match of {
            Of::Swap => swap::propose(state, task as u32, &mut memory.search, changes),
            Of::Insert => insert::propose(state, task as u32, &mut memory.inserts, changes),
            Of::Reorder(all) => reorder::propose(state, all[task], &mut memory.nets, changes),
            Of::Shift(all) => shift::propose(state, all[task], &mut memory.shifts, changes),
            Of::Mirror => mirror::propose(state, task as u32, changes),
        };
        let propose_some = |memory: &mut Memory, places: Range<usize>| {
            let mut found = Lists::new();
            for place in places.filter(|_| !stops.load(Ordering::Relaxed)) {
                propose(tasks.nth(tasks.first + place), memory, &mut found.values);
                found.end();
            }
            found
        };
        let part = parallel::at_once(tasks.count);
        let found = parallel::map_blocks(tasks.count, part, |range| {
            memory.with(|memory| propose_some(memory, range))
        });
        if stops.load(Ordering::Relaxed) {
            return Ok(0.0);
        }
        Ok(self.commit_independent(&found))
    }
}
