//! Detailed placement: shorter wires between cells that are placed legally, and still are
//! afterwards.
//!
//! The length that falls is weighted half-perimeter wirelength by exact pins. In rounds
//! * cells go near where their nets are shortest: into a gap, between cells that give way, or in
//!   place of another cell;
//! * neighbours in a row are put into another order;
//! * cells of a row are shifted, in their order, to where their nets are shortest;
//! * cells are mirrored left and right where row and library allow it.
//!
//! Each of these looks for better places on all threads, for some thousand cells at a time (of a
//! large design for more) and in a placement that does not change meanwhile. What was found is then
//! made, as far as it still is legal and shortens wires by exact count: on all threads what is not
//! in one another's way (`claims`), and so on with the rest. So wirelength never rises, the
//! placement is legal at every moment, and the result is the same for any number of threads.
//!
//! Cells stand on whole sites and within or outside fences as
//! [`rows`](crate::rows) has them. Cells of several rows are moved into gaps
//! and exchanged with others like them. Cells and macros that lie on their side or have a halo of
//! their own stay where they are.
//!
//! ```
//! use placefield::design::{Design, Nets, NodeKind, Nodes, Orientation, Placement, Row};
//! use placefield::refine::{self, RefineOptions};
//! use std::ops::ControlFlow;
//!
//! // Cells 0 and 1 each have a net with the fixed cell at the far side of the other.
//! let design = Design {
//!     nodes: Nodes {
//!         width: vec![2.0; 4],
//!         height: vec![10.0; 4],
//!         kind: [[NodeKind::Movable; 2], [NodeKind::Fixed; 2]].concat(),
//!         ..Nodes::default()
//!     },
//!     placement: Placement {
//!         x: vec![2.0, 4.0, 0.0, 6.0],
//!         y: vec![0.0; 4],
//!         orientation: vec![Orientation::N; 4],
//!     },
//!     nets: Some(Nets {
//!         net_start: vec![0, 2, 4],
//!         weight: vec![1.0; 2],
//!         pin_node: vec![0, 3, 1, 2],
//!         pin_dx: vec![0.0; 4],
//!         pin_dy: vec![0.0; 4],
//!         ..Nets::default()
//!     }),
//!     rows: vec![Row { height: 10.0, site_width: 1.0, pitch: 1.0, sites: 8, ..Row::default() }],
//!     ..Design::default()
//! };
//! let refined =
//!     refine::refine(&design, &RefineOptions::default(), &mut |_| ControlFlow::Continue(()))?;
//! assert_eq!((refined.hpwl_before, refined.hpwl_after), (8.0, 4.0));
//! assert_eq!(refined.placement.x[..2], [4.0, 2.0]);
//! # Ok::<(), refine::RefineError>(())
//! ```

mod claims;
mod density;
mod medians;
mod mirror;
mod reorder;
mod setup;
mod shift;
mod state;
mod swap;
mod update;
mod wires;

use crate::charge::Charge;
use crate::design::{Design, DesignError, Nets, Placement};
use crate::legality::{self, LegalityError, LegalityOptions, Violation};
use crate::lists::Lists;
use crate::parallel::{self, PerThread};
use crate::rows::{RowsError, Sites};
use crate::setters::setters;
use claims::Claims;
pub use medians::to_medians;
use state::{Change, State, Trial};
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};

/// Cells that look for a better place in the same placement, at least: more find what others take,
/// fewer keep fewer threads busy.
const CELLS_AT_ONCE: usize = 1024;
/// The cells of a large design are dealt with in so many parts: what makes them find what others
/// take is their share of the die.
const PARTS_OF_ALL: usize = 64;
/// How many times fewer stretches of cells are shifted in the same placement.
const CELLS_TO_A_STRETCH: usize = 16;
/// Proposals that a thread judges at least.
const FEW: usize = 8;
/// Cells next to one another in this order are this many apart, so that those that look at once are
/// all over the die and seldom want the same. Measured against neighbours at once: 0.3 to 0.6 %
/// shorter after the first round.
const APART: usize = 31;

/// How to refine: the default, and what is to differ from it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RefineOptions<'a> {
    /// Most rounds; 8 by default.
    pub rounds: usize,
    /// A round that shortens wires by less than this share ends the work; 0.002 by default.
    pub least_gain: f64,
    /// Whether cells may be mirrored left and right; yes by default.
    pub mirror: bool,
    /// Sites that cells keep free on each side; none by default. Those that do not when this begins
    /// stay where they are.
    pub padding: u32,
    /// The bins, of this design, that are not to be filled beyond their target density, or not
    /// further where they are already; none by default. At a target density of 1 no legal
    /// placement does that.
    pub density: Option<&'a Charge>,
    /// How far cells may be from where they were at first, |Δx| + |Δy| in row heights; no limit by
    /// default.
    pub max_displacement: Option<f64>,
    /// The placement that the limit counts from; by default the one that is refined. Cells that are
    /// already farther away do not move.
    pub origin: Option<&'a Placement>,
    /// Whether no gaps of one site may come between cells; no by default.
    pub no_one_site_gaps: bool,
}

impl Default for RefineOptions<'_> {
    fn default() -> Self {
        RefineOptions {
            rounds: 8,
            least_gain: 0.002,
            mirror: true,
            padding: 0,
            density: None,
            max_displacement: None,
            origin: None,
            no_one_site_gaps: false,
        }
    }
}

impl<'a> RefineOptions<'a> {
    setters! {
        /// With at most so many rounds.
        rounds: usize,
        /// Ending after a round that shortens wires by less than this share.
        least_gain: f64,
        /// With cells mirrored left and right, or not.
        mirror: bool,
        /// With so many sites free on each side of a cell.
        padding: u32,
        /// With cells at most so many row heights from where they were at first.
        max_displacement: Option<f64>,
        /// Without new gaps of one site, or with.
        no_one_site_gaps: bool,
    }

    /// With displacements counted from this placement.
    #[must_use]
    pub fn origin(self, origin: &'a Placement) -> Self {
        RefineOptions { origin: Some(origin), ..self }
    }

    /// With bins that are not to be filled beyond their target.
    #[must_use]
    pub fn density(self, density: &'a Charge) -> Self {
        RefineOptions { density: Some(density), ..self }
    }
}

/// A step of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Cells go elsewhere.
    Swap,
    /// Neighbours change their order.
    Reorder,
    /// Cells are shifted in their rows.
    Shift,
    /// Cells are mirrored.
    Mirror,
}

impl Step {
    /// All of them, in the order of a round.
    pub const ALL: [Step; 4] = [Step::Swap, Step::Reorder, Step::Shift, Step::Mirror];
}

/// How far the work is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The round, from 0 on.
    pub round: usize,
    /// The step at work.
    pub step: Step,
    /// The share of the step that is done, from 0 to 1.
    pub done: f64,
    /// Weighted HPWL now, layout units.
    pub hpwl: f64,
}

/// A refined placement.
#[derive(Clone, Debug, PartialEq)]
pub struct Refined {
    /// The placement; nodes that did not move are where they were, bit for bit.
    pub placement: Placement,
    /// Weighted HPWL at first, layout units.
    pub hpwl_before: f64,
    /// Weighted HPWL now.
    pub hpwl_after: f64,
    /// By how much each step shortened it, by [`Step::ALL`].
    pub shortened: [f64; 4],
    /// Rounds that were begun.
    pub rounds: usize,
    /// Cells that were moved or mirrored.
    pub moved: usize,
    /// Movable nodes with area that had to stay: those that lie on their side, have a halo of their
    /// own, or less padding than was asked for.
    pub stayed: usize,
    /// Whether it was ended from outside, before a round brought too little.
    pub interrupted: bool,
}

/// Why a placement cannot be refined.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RefineError {
    /// The columns of the design do not fit together, or it has no nets.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// Legality cannot be judged.
    #[error(transparent)]
    Legality(#[from] LegalityError),
    /// Nothing says where cells may stand.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// The placement is not legal; this is the worst that is wrong with it.
    #[error("the placement is not legal: {0}")]
    NotLegal(Violation),
    /// A number that is not finite, or a negative weight.
    #[error("{what} {index}: {value}: expected a finite number, of weights not below 0")]
    BadNumber {
        /// The column that has the number.
        what: &'static str,
        /// Its index in the design.
        index: usize,
        /// The number.
        value: f64,
    },
}

/// Shortens the wires of the design's placement, which must be legal, on all threads of the current
/// rayon pool. The same result for any number of threads.
///
/// `watch` is called several times a second, also while a step is under way; on a thread of a pool,
/// some hundred to some thousand times in all. When it breaks, the placement so far is the result.
///
/// # Errors
/// When the design's columns do not fit together, it has no nets or no rows, a number is not
/// finite, a weight is negative or the placement is not legal.
pub fn refine(
    design: &Design,
    options: &RefineOptions<'_>,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Refined, RefineError> {
    let legality = legality::check(design, &LegalityOptions::default())?;
    let nets = design.nets.as_ref().ok_or(DesignError::NoNets)?;
    check_numbers(nets)?;
    if let (false, Some(worst)) = (legality.is_legal(), legality.worst.first()) {
        return Err(RefineError::NotLegal(*worst));
    }
    let hpwl = design.hpwl().map_or(0.0, |hpwl| hpwl.weighted);
    let mut refined = Refined {
        placement: Placement::default(),
        hpwl_before: hpwl,
        hpwl_after: hpwl,
        shortened: [0.0; 4],
        rounds: 0,
        moved: 0,
        stayed: setup::with_area(design).count(),
        interrupted: false,
    };
    let first = Progress { round: 0, step: Step::Swap, done: 0.0, hpwl };
    parallel::watched(first, watch, |report, stops| {
        let mut still = setup::without_nets(design);
        let sites = Sites::new(&still)?;
        for lattice in 0..sites.lattices().len() {
            let turned = legality.orientations_assigned;
            let state = setup::state(&still, nets, &sites, lattice, turned, options)?;
            refined.stayed -= state.cells.len();
            if state.cells.is_empty() || refined.interrupted {
                continue;
            }
            let claims = Claims::new(state.resources());
            let trials = PerThread::new(rayon::current_num_threads(), Trial::default);
            let mut work = Work { state, trials, claims, refined: &mut refined, report, stops };
            work.rounds(options);
            let state = work.state;
            refined.moved += setup::write_back(&state, &mut still.placement);
        }
        refined.placement = still.placement;
        Ok(refined)
    })
}

fn check_numbers(nets: &Nets) -> Result<(), RefineError> {
    let columns = [
        ("x offset of pin", &nets.pin_dx, f64::NEG_INFINITY),
        ("y offset of pin", &nets.pin_dy, f64::NEG_INFINITY),
        ("weight of net", &nets.weight, 0.0),
    ];
    for (what, values, least) in columns {
        let wrong = |index: usize| {
            let value = values[index];
            let is_right = value.is_finite() && value >= least;
            (!is_right).then_some(RefineError::BadNumber { what, index, value })
        };
        parallel::first(values.len(), wrong).map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// The cells of one lattice, and what has come of them.
struct Work<'a> {
    state: State,
    trials: PerThread<Trial>,
    claims: Claims,
    refined: &'a mut Refined,
    report: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    /// Whether the work is to end without another report.
    stops: &'a AtomicBool,
}

impl Work<'_> {
    fn rounds(&mut self, options: &RefineOptions<'_>) {
        for round in 0..options.rounds {
            let before = self.refined.hpwl_after;
            self.refined.rounds = self.refined.rounds.max(round + 1);
            let all = Step::ALL.into_iter().filter(|step| options.mirror || *step != Step::Mirror);
            for step in all {
                if self.step(round, step).is_break() {
                    self.refined.interrupted = true;
                    return;
                }
            }
            if before - self.refined.hpwl_after <= options.least_gain * before {
                return;
            }
        }
    }

    fn step(&mut self, round: usize, step: Step) -> ControlFlow<()> {
        let cells = self.state.cells.len();
        let at_once = CELLS_AT_ONCE.max(cells / PARTS_OF_ALL);
        let tasks = |count, apart, at_once, before| {
            let passes = if matches!(step, Step::Reorder | Step::Shift) { 2.0 } else { 1.0 };
            Tasks { round, step, count, apart, at_once, done: (before, 1.0 / passes) }
        };
        match step {
            Step::Swap => {
                let tasks = tasks(cells, APART, at_once, 0.0);
                self.propose_and_commit(tasks, |state, cell, search, changes| {
                    swap::propose(state, cell as u32, search, changes);
                })
            }
            // Every second round begins its windows one cell further on.
            Step::Reorder => [(round % 2, 0.0), (round % 2 + 2, 0.5)].into_iter().try_for_each(
                |(offset, done)| {
                    let windows = reorder::windows(&self.state, offset);
                    let tasks = tasks(windows.len(), 1, at_once, done);
                    self.propose_and_commit(tasks, |state, k, nets, changes| {
                        reorder::propose(state, windows[k], nets, changes);
                    })
                },
            ),
            Step::Shift => {
                [(0, 0.0), (shift::RUN / 2, 0.5)].into_iter().try_for_each(|(offset, done)| {
                    let stretches = shift::stretches(&self.state, offset);
                    let tasks = tasks(stretches.len(), APART, at_once / CELLS_TO_A_STRETCH, done);
                    self.propose_and_commit(tasks, |state, k, shifts, changes| {
                        shift::propose(state, stretches[k], shifts, changes);
                    })
                })
            }
            Step::Mirror => {
                let tasks = tasks(cells, 1, 4 * at_once, 0.0);
                self.propose_and_commit(tasks, |state, cell, (): &mut (), changes| {
                    mirror::propose(state, cell as u32, changes);
                })
            }
        }
    }

    /// Has `propose` look at some of the tasks in the same placement, on all threads, and then
    /// makes what it proposes; and so on for all tasks.
    fn propose_and_commit<W: Default + Send>(
        &mut self,
        tasks: Tasks,
        propose: impl Fn(&State, usize, &mut W, &mut Vec<Change>) + Sync,
    ) -> ControlFlow<()> {
        let Tasks { round, step, count, at_once, done: (before, share), .. } = tasks;
        let memory = PerThread::new(rayon::current_num_threads(), W::default);
        for first in (0..count).step_by(at_once) {
            let (state, stops) = (&self.state, self.stops);
            let end = count.min(first + at_once);
            let propose_some = |work: &mut W, places: Range<usize>| {
                let mut found = Lists::new();
                for place in places.filter(|_| !stops.load(Ordering::Relaxed)) {
                    propose(state, tasks.nth(first + place), work, &mut found.values);
                    found.end();
                }
                found
            };
            let part = parallel::at_once(end - first);
            let found = parallel::map_blocks(end - first, part, |range| {
                memory.with(|work| propose_some(work, range))
            });
            if stops.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            let gain = self.commit_independent(&found);
            self.refined.hpwl_after -= gain;
            self.refined.shortened[step as usize] += gain;
            let (done, hpwl) = (end as f64 / count as f64, self.refined.hpwl_after);
            (self.report)(Progress { round, step, done: before + share * done, hpwl })?;
        }
        ControlFlow::Continue(())
    }

    /// Makes those proposals that still are legal and shorten the wires when it is their turn.
    /// Returns by how much they do together.
    ///
    /// In turns: of those that are left, every one is made that none before it is in the way of.
    /// With bins that must not be filled too far, one after the other.
    fn commit_independent(&mut self, found: &[Lists<Change>]) -> f64 {
        let proposals = found.iter().flat_map(Lists::iter);
        let mut waiting: Vec<&[Change]> = proposals.filter(|all| !all.is_empty()).collect();
        let trials = &self.trials;
        let mut gain = 0;
        if self.state.density.is_some() {
            for changes in waiting.drain(..) {
                gain += i128::from(trials.with(|trial| self.state.apply(changes, trial)));
            }
        }
        while !waiting.is_empty() {
            self.claims.begin();
            let (state, claims) = (&self.state, &self.claims);
            let part = parallel::at_once(waiting.len()).max(FEW);
            let judge = |trial: &mut Trial, range: Range<usize>| {
                let (mut claimed, mut gains) = (Lists::new(), Vec::new());
                for changes in &waiting[range.clone()] {
                    gains.push(state.judge(changes, trial, &mut claimed.values));
                    claimed.end();
                }
                for (k, claimed) in range.zip(claimed.iter()) {
                    claims.stake(k as u32, claimed);
                }
                (claimed, gains)
            };
            let judged = parallel::map_blocks(waiting.len(), part, |range| {
                trials.with(|trial| judge(trial, range))
            });
            let hold = parallel::map(judged.len(), |index| {
                let numbered = (index * part..).zip(judged[index].0.iter());
                let hold = numbered.map(|(k, claimed)| claims.hold(k as u32, claimed));
                hold.collect::<Vec<bool>>()
            });
            let gains = judged.iter().flat_map(|(_, gains)| gains.iter().copied());
            let all = gains.zip(hold.into_iter().flatten());
            let (mut left, mut made) = (Vec::new(), Vec::new());
            for (changes, (shorter, hold)) in waiting.into_iter().zip(all) {
                if shorter > 0 && hold {
                    gain += i128::from(shorter);
                    made.extend_from_slice(changes);
                } else if shorter > 0 {
                    left.push(changes);
                }
            }
            self.state.apply_all(&mut made);
            waiting = left;
        }
        self.state.wires.length_of_units(gain)
    }
}

/// The tasks of a step.
#[derive(Clone, Copy)]
struct Tasks {
    round: usize,
    step: Step,
    count: usize,
    /// From one to the next in their order.
    apart: usize,
    /// As many are looked at in the same placement.
    at_once: usize,
    /// The share of the step that is done before, and the share that they are.
    done: (f64, f64),
}

impl Tasks {
    /// Returns the task at a place in their order: those `apart` from one another from the first
    /// one on, then those from the second one on, and so on.
    fn nth(&self, place: usize) -> usize {
        let (each, longer) = (self.count / self.apart, self.count % self.apart);
        let of_longer = longer * (each + 1);
        if place < of_longer {
            return place / (each + 1) + place % (each + 1) * self.apart;
        }
        let place = place - of_longer;
        longer + place / each + place % each * self.apart
    }
}

#[cfg(test)]
mod tests;
