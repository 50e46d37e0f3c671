//! Detailed placement: shorter wires between cells that are placed legally, and still are afterwards.
//!
//! What is shortened is weighted half-perimeter wirelength by exact pins. In rounds
//! * cells go near where their nets are shortest: into a gap, between cells that give way, or in place
//!   of another cell;
//! * neighbours in a row are put into another order;
//! * cells of a row are shifted, in their order, to where their nets are shortest;
//! * cells are mirrored left and right where row and library allow it.
//!
//! Each of these looks for better places on all threads, for some thousand cells at a time and in a
//! placement that does not change meanwhile; what was found is then made in a fixed order, as far as it
//! still is legal and shortens wires by exact count. So wirelength never rises, the placement is legal
//! at every moment, and the result is the same for any number of threads.
//!
//! Cells stand on whole sites and within or outside fences as [`legalize::sites`](crate::legalize::sites)
//! has them. Cells of several rows are moved into gaps and exchanged with others like them. Macros stay
//! where they are, and so do cells that lie on their side or have a halo of their own.
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

mod density;
mod mirror;
mod reorder;
mod rows;
mod setup;
mod shift;
mod state;
mod swap;
mod wires;

use crate::charge::Charge;
use crate::design::{Design, DesignError, Nets, Placement};
use crate::legality::{self, LegalityError, LegalityOptions, Violation};
use crate::legalize::LegalizeError;
use crate::legalize::sites::Sites;
use rayon::prelude::*;
use state::{Change, State, Trial};
use std::ops::ControlFlow;

/// Cells that look for a better place in the same placement: more find what others take, fewer keep
/// fewer threads busy.
const CELLS_AT_ONCE: usize = 1024;
/// Stretches of cells that are shifted in the same placement.
const STRETCHES_AT_ONCE: usize = 64;
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
}

impl Default for RefineOptions<'_> {
    fn default() -> Self {
        RefineOptions { rounds: 8, least_gain: 0.002, mirror: true, padding: 0, density: None }
    }
}

impl<'a> RefineOptions<'a> {
    /// With at most so many rounds.
    #[must_use]
    pub fn rounds(self, rounds: usize) -> Self {
        RefineOptions { rounds, ..self }
    }

    /// Ending after a round that shortens wires by less than this share.
    #[must_use]
    pub fn least_gain(self, least_gain: f64) -> Self {
        RefineOptions { least_gain, ..self }
    }

    /// With cells mirrored left and right, or not.
    #[must_use]
    pub fn mirror(self, mirror: bool) -> Self {
        RefineOptions { mirror, ..self }
    }

    /// With so many sites free on each side of a cell.
    #[must_use]
    pub fn padding(self, padding: u32) -> Self {
        RefineOptions { padding, ..self }
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
    /// Movable nodes with area that had to stay: macros, cells that lie on their side, with a halo of
    /// their own or with less padding than was asked for.
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
    Sites(#[from] LegalizeError),
    /// The placement is not legal; this is the worst that is wrong with it.
    #[error("the placement is not legal: {0}")]
    NotLegal(Violation),
    /// A number that is not finite, or a negative weight.
    #[error("{what} {index}: {value}: expected a finite number, of weights not below 0")]
    BadNumber {
        /// What has the number.
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
/// `watch` is called some thousand times in all; when it breaks, the placement so far is the result.
///
/// # Errors
/// When the design's columns do not fit together, it has no nets or no rows, a number is not finite,
/// a weight is negative or the placement is not legal.
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
    let mut still = setup::without_nets(design);
    for lattice in 0..Sites::new(&still)?.lattices().len() {
        let state = setup::state(&still, nets, lattice, legality.orientations_assigned, options)?;
        refined.stayed -= state.cells.len();
        if state.cells.is_empty() || refined.interrupted {
            continue;
        }
        let mut work = Work { state, trial: Trial::default(), refined: &mut refined, watch };
        work.rounds(options);
        let state = work.state;
        refined.moved += setup::write_back(&state, &mut still.placement);
    }
    refined.placement = still.placement;
    Ok(refined)
}

fn check_numbers(nets: &Nets) -> Result<(), RefineError> {
    let columns = [
        ("x offset of pin", &nets.pin_dx, f64::NEG_INFINITY),
        ("y offset of pin", &nets.pin_dy, f64::NEG_INFINITY),
        ("weight of net", &nets.weight, 0.0),
    ];
    for (what, values, least) in columns {
        let wrong = |v: &f64| !(v.is_finite() && *v >= least);
        if let Some(index) = values.par_iter().position_first(wrong) {
            return Err(RefineError::BadNumber { what, index, value: values[index] });
        }
    }
    Ok(())
}

/// The cells of one lattice, and what has come of them.
struct Work<'a> {
    state: State,
    trial: Trial,
    refined: &'a mut Refined,
    watch: &'a mut dyn FnMut(&Progress) -> ControlFlow<()>,
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
        let apart = (0..APART).flat_map(|k| (k..cells).step_by(APART)).map(|k| k as u32);
        match step {
            Step::Swap => {
                let cells: Vec<u32> = apart.collect();
                self.make(round, step, &cells, CELLS_AT_ONCE, |state, &cell, search, changes| {
                    swap::propose(state, cell, search, changes);
                })
            }
            Step::Reorder => (0..reorder::WINDOW).try_for_each(|offset| {
                let windows = reorder::windows(&self.state, offset);
                self.make(round, step, &windows, CELLS_AT_ONCE, |state, &window, nets, changes| {
                    reorder::propose(state, window, nets, changes);
                })
            }),
            Step::Shift => [0, shift::RUN / 2].into_iter().try_for_each(|offset| {
                let stretches = shift::stretches(&self.state, offset);
                let at_once = STRETCHES_AT_ONCE;
                self.make(round, step, &stretches, at_once, |state, &stretch, shifts, changes| {
                    shift::propose(state, stretch, shifts, changes);
                })
            }),
            Step::Mirror => {
                let cells: Vec<u32> = apart.collect();
                let at_once = 4 * CELLS_AT_ONCE;
                self.make(round, step, &cells, at_once, |state, &cell, (): &mut (), changes| {
                    mirror::propose(state, cell, changes);
                })
            }
        }
    }

    /// Has `propose` look at `at_once` tasks in the same placement, on all threads, and then makes in
    /// their order what it proposes; and so on for all tasks.
    fn make<T: Sync, W: Default>(
        &mut self,
        round: usize,
        step: Step,
        tasks: &[T],
        at_once: usize,
        propose: impl Fn(&State, &T, &mut W, &mut Vec<Change>) + Sync,
    ) -> ControlFlow<()> {
        for tasks in tasks.chunks(at_once) {
            let state = &self.state;
            // Changes one after the other, and where those of each proposal end.
            let found: Vec<(Vec<Change>, Vec<usize>)> = tasks
                .par_chunks(tasks.len().div_ceil(32))
                .map_init(W::default, |work, tasks| {
                    let (mut changes, mut ends) = (Vec::new(), Vec::new());
                    for task in tasks {
                        propose(state, task, work, &mut changes);
                        ends.push(changes.len());
                    }
                    (changes, ends)
                })
                .collect();
            let mut gain = 0.0;
            for (changes, ends) in &found {
                let mut from = 0;
                for &end in ends {
                    gain += self.state.apply(&changes[from..end], &mut self.trial);
                    from = end;
                }
            }
            self.refined.hpwl_after -= gain;
            self.refined.shortened[step as usize] += gain;
            (self.watch)(&Progress { round, step, hpwl: self.refined.hpwl_after })?;
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests;
