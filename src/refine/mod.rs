//! Detailed placement: shortens the wires of a legal placement and keeps it legal.
//!
//! The objective is weighted half-perimeter wirelength by exact pins. In each round
//! * cells move near to where their nets are shortest: into a gap, between cells that give way, or
//!   in exchange with another cell;
//! * from the second round on, in designs that are not too large ([`RefineOptions::insert_up_to`]),
//!   cells are inserted on one or several rows, and many other cells give way;
//! * neighbours in a row are reordered;
//! * cells of a row are shifted, in their order, to where their nets are shortest;
//! * cells are mirrored left and right if row and library allow it.
//!
//! Each step searches for better positions on all threads, for some thousand cells at a time (for
//! more in a large design). The placement does not change during the search. Then the moves that
//! are still legal and shorten wires by exact count are made. Independent moves (`claims`) are made
//! on all threads, then the independent ones of the rest, and so on. So the placement is always
//! legal, and the result is the same for any number of threads.
//!
//! In the first rounds with insertion a swap may lengthen wires by a share of the median length of a
//! net, which falls from round to round (threshold accepting, Dueck and Scheuer, J. Comput. Phys.
//! 1990). If wires are longer at the end, cells go back. So the result never has longer wires.
//!
//! With a price P of wire beyond the tracks ([`RefineOptions::wire_price`]) the objective is
//!
//! ```text
//! Σ weight · HPWL + P · Σ_bins Σ_directions max(0, demand − capacity) · area
//! ```
//!
//! Then wirelength may rise, but not the sum. Moves are made one after the other. Demand is that of
//! [`Convention::DreamPlace`](crate::congestion::Convention::DreamPlace): a net of weight w with a
//! box of width W and height H has w · r · W of horizontal and w · r · H of vertical wire, spread
//! evenly over the box. r is the wire over the half perimeter of a net with this number of pins.
//!
//! A [`Device`], such as `cuda::Gpu`, refines with a bit-identical result
//! ([`RefineOptions::device`]). Sums that affect decisions are sums of integers, so that they do
//! not depend on the order of their terms.
//!
//! Cells stand on whole sites and within or outside fences, as in [`rows`](crate::rows). Cells of
//! several rows are moved into gaps, inserted between others and exchanged with cells of the same
//! kind. Cells and macros that lie on their side or have a halo do not move.
//!
//! ```
//! use placefield::design::{Design, Nets, NodeKind, Nodes, Orientation, Placement, Row};
//! use placefield::refine::{self, RefineOptions};
//! use std::ops::{ControlFlow, Range};
//!
//! // Cell 0 has a net with the fixed cell beyond cell 1, and cell 1 with the one beyond cell 0.
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
mod crowding;
mod density;
mod host;
mod insert;
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
use crate::parallel;
use crate::rows::{RowsError, Sites};
use crate::setters::setters;
use crowding::Crowding;
pub use crowding::WirePrice;
use host::Host;
pub use medians::to_medians;
use state::{Spot, State};
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};

/// Least number of cells that search at the same time. With more, more cells find the same
/// positions; with fewer, some threads idle.
const CELLS_AT_ONCE: usize = 1024;
/// The cells of a large design are processed in this number of parts. The share of the die that a
/// part covers decides how often its cells find the same positions.
const PARTS_OF_ALL: usize = 64;
/// The number of stretches shifted in the same placement is lower than that of cells by this
/// factor.
const CELLS_TO_A_STRETCH: usize = 16;
/// Rounds with insertion end at a gain that is lower than in other rounds by this factor: insertion
/// shortens wires for longer.
const MORE_ROUNDS: f64 = 20.0;
/// Number of rounds with insertion in which swaps may lengthen wires, so that cells leave positions
/// from which no single move shortens wires. In the last two rounds no swap may.
const ROUNDS_WITH_LOSS: usize = 5;
/// The most by which a swap may lengthen wires in the first of these rounds, over the median length
/// of a net. With the mean length, which few long nets decide, ariane133 became 0.09 % longer.
const LOSS: f64 = 0.7;
/// The factor of this length from round to round.
const LOSS_DECAY: f64 = 0.9;
/// Distance of consecutive cells in this order, so that cells that search at the same time are all
/// over the die and seldom want the same position. Compared with consecutive neighbours, wires are
/// 0.3 to 0.6 % shorter after the first round.
const APART: usize = 31;

/// Options of a refinement.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RefineOptions<'a> {
    /// Most rounds; 8 by default.
    pub rounds: usize,
    /// A round that lowers the objective by less than this share ends the work; 0.002 by default.
    pub least_gain: f64,
    /// Whether cells may be mirrored left and right; yes by default.
    pub mirror: bool,
    /// Free sites that cells keep on each side; none by default. Cells that begin with less padding
    /// do not move.
    pub padding: u32,
    /// Bins of this design that must not be filled beyond their target density, or not further if
    /// they already are; none by default. At a target density of 1 every legal placement satisfies
    /// this.
    pub density: Option<&'a Charge>,
    /// What wire beyond the tracks of its bin costs; nothing by default. With a price cells move if
    /// that lowers wirelength and cost together, even if wires get longer.
    pub wire_price: Option<WirePrice>,
    /// Largest distance of cells from their first positions, |Δx| + |Δy| in row heights; no limit
    /// by default.
    pub max_displacement: Option<f64>,
    /// The placement that the limit counts from; by default the input placement. Cells that are
    /// already farther away do not move.
    pub origin: Option<&'a Placement>,
    /// Whether new gaps of one site between cells are forbidden; no by default.
    pub no_one_site_gaps: bool,
    /// Insertion runs only in designs with at most this number of movable cells; 100,000 by
    /// default. It makes wires 0.4 to 1.6 % shorter and takes 4 to 9 times as long. It runs on the
    /// CPU, even if a device refines.
    pub insert_up_to: usize,
    /// The device that refines, with the same result as the CPU; none by default. The CPU refines
    /// if the device cannot: with cells on several lattices of sites, with `density`, `wire_price` or
    /// `no_one_site_gaps`, or if the device lacks memory.
    pub device: Option<&'a dyn Device>,
}

impl Default for RefineOptions<'_> {
    fn default() -> Self {
        RefineOptions {
            rounds: 8,
            least_gain: 0.002,
            mirror: true,
            padding: 0,
            density: None,
            wire_price: None,
            max_displacement: None,
            origin: None,
            no_one_site_gaps: false,
            insert_up_to: 100_000,
            device: None,
        }
    }
}

impl<'a> RefineOptions<'a> {
    setters! {
        /// Sets the largest number of rounds.
        rounds: usize,
        /// Sets the share: a round that lowers the objective by less ends the work.
        least_gain: f64,
        /// Sets whether cells may be mirrored left and right.
        mirror: bool,
        /// Sets the number of free sites on each side of a cell.
        padding: u32,
        /// Sets what wire beyond the tracks of its bin costs.
        wire_price: Option<WirePrice>,
        /// Sets the largest distance of cells from their first positions, in row heights.
        max_displacement: Option<f64>,
        /// Sets whether new gaps of one site are forbidden.
        no_one_site_gaps: bool,
        /// Sets the largest number of movable cells of a design with insertion.
        insert_up_to: usize,
    }

    /// Sets the placement that displacements count from.
    #[must_use]
    pub fn origin(self, origin: &'a Placement) -> Self {
        RefineOptions { origin: Some(origin), ..self }
    }

    /// Sets the bins that must not be filled beyond their target density.
    #[must_use]
    pub fn density(self, density: &'a Charge) -> Self {
        RefineOptions { density: Some(density), ..self }
    }

    /// Sets the device that refines.
    #[must_use]
    pub fn device(self, device: &'a dyn Device) -> Self {
        RefineOptions { device: Some(device), ..self }
    }
}

/// A step of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Cells move elsewhere.
    Swap,
    /// Cells are inserted, and many others give way.
    Insert,
    /// Neighbours change their order.
    Reorder,
    /// Cells are shifted in their rows.
    Shift,
    /// Cells are mirrored.
    Mirror,
}

impl Step {
    /// All steps, in the order of a round.
    pub const ALL: [Step; 5] = [Step::Swap, Step::Insert, Step::Reorder, Step::Shift, Step::Mirror];
}

/// Progress of the work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The round, from 0 on.
    pub round: usize,
    /// The step at work.
    pub step: Step,
    /// The completed share of the step, from 0 to 1.
    pub done: f64,
    /// Present weighted HPWL, layout units. It may rise in rounds with insertion.
    pub hpwl: f64,
}

/// A refined placement.
#[derive(Clone, Debug, PartialEq)]
pub struct Refined {
    /// The placement; nodes that did not move have bit-identical positions.
    pub placement: Placement,
    /// Weighted HPWL before refinement, layout units.
    pub hpwl_before: f64,
    /// Weighted HPWL after refinement, layout units.
    pub hpwl_after: f64,
    /// Wirelength saved by each step, by [`Step::ALL`].
    pub shortened: [f64; 5],
    /// Number of rounds begun.
    pub rounds: usize,
    /// Cells that were moved or mirrored.
    pub moved: usize,
    /// Movable nodes with area that could not move: nodes that lie on their side, have a halo, or
    /// have less padding than requested.
    pub stayed: usize,
    /// Whether the caller ended the work before a round gained too little.
    pub interrupted: bool,
    /// Why the CPU refined instead of the requested device.
    pub not_on_device: Option<String>,
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
    /// The design does not say where cells may stand.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// The placement is not legal, with its worst violation.
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
    /// The price is out of its range, or the capacity is.
    #[error(
        "price {} of wire beyond {}, {} tracks: expected a price from 0 to 1e6, and finite numbers \
         of tracks above 0",
        .0.price, .0.capacity.horizontal, .0.capacity.vertical
    )]
    BadPrice(WirePrice),
    /// The device failed.
    #[error("{0}")]
    Device(String),
}

/// Shortens the wires of the design's placement, which must be legal, on all threads of the current
/// rayon pool. The result is the same for any number of threads.
///
/// `watch` is called several times a second, also during a step. The calls come from a thread of a
/// pool, some hundred to some thousand times in all. If it breaks, the placement so far is the
/// result.
///
/// # Errors
/// If the design's columns do not fit together, or it has no nets or no rows. Also if a number is
/// not finite, a weight is negative or the placement is not legal.
pub fn refine(
    design: &Design,
    options: &RefineOptions<'_>,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Refined, RefineError> {
    let legality = legality::check(design, &LegalityOptions::default())?;
    if let (false, Some(worst)) = (legality.is_legal(), legality.worst.first()) {
        return Err(RefineError::NotLegal(*worst));
    }
    refine_legal(design, legality.orientations_assigned, options, watch)
}

/// [`refine`] of a design that was found legal. `turned` is
/// [`Legality::orientations_assigned`](legality::Legality::orientations_assigned).
pub(crate) fn refine_legal(
    design: &Design,
    turned: bool,
    options: &RefineOptions<'_>,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Refined, RefineError> {
    let nets = design.nets.as_ref().ok_or(DesignError::NoNets)?;
    check_numbers(nets)?;
    if let Some(price) = options.wire_price
        && !price.is_valid()
    {
        return Err(RefineError::BadPrice(price));
    }
    let crowding = |price| Crowding::new(design, price);
    let mut crowding = options.wire_price.as_ref().map(crowding).transpose()?;
    let hpwl = design.hpwl().map_or(0.0, |hpwl| hpwl.weighted);
    let mut refined = Refined {
        placement: Placement::default(),
        hpwl_before: hpwl,
        hpwl_after: hpwl,
        shortened: [0.0; 5],
        rounds: 0,
        moved: 0,
        stayed: setup::with_area(design).count(),
        interrupted: false,
        not_on_device: None,
    };
    let first = Progress { round: 0, step: Step::Swap, done: 0.0, hpwl };
    parallel::watched(first, watch, |report, stops| {
        let mut still = setup::without_nets(design);
        let sites = Sites::new(&still)?;
        for lattice in 0..sites.lattices().len() {
            let mut state = setup::state(&still, nets, &sites, lattice, turned, options)?;
            refined.stayed -= state.cells.len();
            if state.cells.is_empty() || refined.interrupted {
                continue;
            }
            state.crowding = crowding.take();
            let device = on_device(&state, sites.lattices().len(), options);
            let of_device = device.transpose().unwrap_or_else(|why| {
                refined.not_on_device = Some(why);
                None
            });
            let mut rounds =
                Rounds { cells: state.cells.len(), refined: &mut refined, report, stops };
            // The CPU does rounds with insertion, and the first round has none.
            let inserts = state.cells.len() <= options.insert_up_to;
            let plan = Plan {
                rounds: 0..if inserts { options.rounds.min(1) } else { options.rounds },
                least_gain: options.least_gain,
                inserts: false,
                mirrors: options.mirror,
                loss: 0.0,
            };
            match of_device {
                Some(mut device) => {
                    rounds.run(&mut *device, &plan)?;
                    let spots = device.spots().map_err(RefineError::Device)?;
                    let spots = parallel::map(spots.len(), |cell| {
                        let (row, site, mirrored) = spots[cell];
                        Spot { row, site, mirrored }
                    });
                    if inserts { state.go_to(spots) } else { state.end_at(&spots) }
                }
                None => state = rounds.run_on_host(state, &plan)?,
            }
            if inserts && !rounds.refined.interrupted {
                let (later, least_gain) =
                    (plan.rounds.end..options.rounds, options.least_gain / MORE_ROUNDS);
                // With a price, moves must lower the objective.
                let loss = match options.wire_price {
                    None => LOSS * state.wires.median_length(),
                    Some(_) => 0.0,
                };
                let plan = Plan { rounds: later, least_gain, inserts, loss, ..plan };
                state = rounds.run_on_host(state, &plan)?;
            }
            refined.moved += setup::write_back(&state, &mut still.placement);
            crowding = state.crowding;
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

/// A pass over all cells, windows or stretches of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Every cell may move elsewhere.
    Swap,
    /// Every cell may be inserted, and many others give way.
    Insert,
    /// Windows that begin with the cell at this index in each row.
    Reorder(usize),
    /// Stretches; the first in each row is this number of cells shorter.
    Shift(usize),
    /// Every cell may be mirrored.
    Mirror,
}

impl Pass {
    /// Returns the passes of a step, each with the share of the step completed before it.
    fn all_of(round: usize, step: Step) -> Vec<(Pass, f64)> {
        match step {
            Step::Swap => vec![(Pass::Swap, 0.0)],
            Step::Insert => vec![(Pass::Insert, 0.0)],
            // Every second round shifts its windows by one cell.
            Step::Reorder => {
                vec![(Pass::Reorder(round % 2), 0.0), (Pass::Reorder(round % 2 + 2), 0.5)]
            }
            Step::Shift => vec![(Pass::Shift(0), 0.0), (Pass::Shift(shift::RUN / 2), 0.5)],
            Step::Mirror => vec![(Pass::Mirror, 0.0)],
        }
    }

    /// Returns the largest number of changes in a proposal.
    #[cfg(feature = "cuda")]
    pub(crate) const fn most_changes(self) -> usize {
        match self {
            Pass::Swap => 1 + swap::MOST_PUSHED,
            Pass::Insert => insert::MOST_MOVED,
            Pass::Reorder(_) => reorder::WINDOW,
            Pass::Shift(_) => shift::RUN,
            Pass::Mirror => 1,
        }
    }

    /// Returns the distance of consecutive tasks, and how many tasks search in the same placement,
    /// for a design with this number of cells.
    pub(crate) fn order(self, cells: usize) -> (usize, usize) {
        let at_once = CELLS_AT_ONCE.max(cells / PARTS_OF_ALL);
        match self {
            Pass::Swap | Pass::Insert => (APART, at_once),
            Pass::Reorder(_) => (1, at_once),
            Pass::Shift(_) => (APART, at_once / CELLS_TO_A_STRETCH),
            Pass::Mirror => (1, 4 * at_once),
        }
    }
}

/// The work for one lattice's cells, on the CPU or a device.
pub trait Engine {
    /// Begins a pass. Returns the number of its tasks.
    ///
    /// # Errors
    /// A failure of the device.
    fn begin(&mut self, pass: Pass) -> Result<usize, String>;

    /// Sets what each swap may lengthen wires by from now on, layout units times weight. Only the
    /// CPU accepts any loss.
    fn accept(&mut self, _loss: f64) {}

    /// Returns what wire beyond the tracks costs now, layout units. Only the CPU knows a price.
    fn cost(&self) -> f64 {
        0.0
    }

    /// Searches better positions for tasks of the current pass in the same placement, and makes the
    /// moves found. Returns the wirelength saved, layout units times weight.
    ///
    /// # Errors
    /// A failure of the device.
    fn batch(&mut self, tasks: Tasks) -> Result<f64, String>;
}

/// Tasks of a pass: `count` tasks from position `first` on in an order of `all`.
#[derive(Clone, Copy, Debug)]
pub struct Tasks {
    /// The number of tasks of the pass.
    pub all: usize,
    /// Distance of consecutive tasks in their order.
    pub apart: usize,
    /// Position of the first task.
    pub first: usize,
    /// Their number.
    pub count: usize,
}

impl Tasks {
    /// Returns the task at a position in the order. The order begins with the first task and all
    /// tasks at multiples of `apart` after it. Then come the second task and all at multiples of
    /// `apart` after it, and so on.
    fn nth(&self, place: usize) -> usize {
        let (each, longer) = (self.all / self.apart, self.all % self.apart);
        let of_longer = longer * (each + 1);
        if place < of_longer {
            return place / (each + 1) + place % (each + 1) * self.apart;
        }
        let place = place - of_longer;
        longer + place / each + place % each * self.apart
    }
}

/// A placement for a device to refine.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "only a device reads it"))]
    pub(crate) state: &'a State,
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A device that refines with the same result as the CPU. The trait is sealed, because callers rely
/// on legal results.
pub trait Device: fmt::Debug + Sync + sealed::Sealed {
    /// Begins to refine a placement.
    ///
    /// # Errors
    /// The reason why the device cannot refine: no memory, or no kernels.
    fn begin(&self, start: Start<'_>) -> Result<Box<dyn OnDevice>, String>;
}

/// A placement on a device.
pub trait OnDevice: Engine {
    /// Returns the present spots of the cells: row, site, and whether they are mirrored.
    ///
    /// # Errors
    /// A failure of the device.
    fn spots(&mut self) -> Result<Vec<(u32, i32, bool)>, String>;
}

/// Copies the placement to the device, if there is one.
fn on_device(
    state: &State,
    lattices: usize,
    options: &RefineOptions<'_>,
) -> Option<Result<Box<dyn OnDevice>, String>> {
    let reasons = [
        (lattices > 1, "cells stand on several lattices of sites"),
        (options.density.is_some(), "bins have a target density"),
        (options.wire_price.is_some(), "wire beyond the tracks has a price"),
        (options.no_one_site_gaps, "gaps of one site are forbidden"),
    ];
    let begin = |device: &dyn Device| match reasons.into_iter().find(|(is, _)| *is) {
        Some((_, why)) => Err(why.to_owned()),
        None => device.begin(Start { state }),
    };
    options.device.map(begin)
}

/// Rounds and their steps.
struct Plan {
    rounds: Range<usize>,
    /// A round that lowers the objective by less than this share is the last one.
    least_gain: f64,
    inserts: bool,
    mirrors: bool,
    /// The most by which a swap of the first round may lengthen wires, layout units times weight.
    loss: f64,
}

impl Plan {
    /// Returns the most by which a swap may lengthen wires in a round.
    fn loss(&self, round: usize) -> f64 {
        let (nth, left) = (round - self.rounds.start, self.rounds.end - round);
        match nth < ROUNDS_WITH_LOSS && left > 2 {
            true => self.loss * LOSS_DECAY.powi(nth as i32),
            false => 0.0,
        }
    }
}

/// Rounds of all steps.
struct Rounds<'a> {
    cells: usize,
    refined: &'a mut Refined,
    report: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    /// Whether the work must end without another report.
    stops: &'a AtomicBool,
}

impl Rounds<'_> {
    fn run_on_host(&mut self, state: State, plan: &Plan) -> Result<State, RefineError> {
        let mut host = Host::new(state, self.stops);
        self.run(&mut host, plan)?;
        let (state, saved) = host.end();
        self.refined.hpwl_after -= saved;
        self.refined.shortened[Step::Swap as usize] += saved;
        Ok(state)
    }

    fn run(&mut self, on: &mut dyn Engine, plan: &Plan) -> Result<(), RefineError> {
        let is_in_plan = |step: &Step| match step {
            Step::Insert => plan.inserts,
            Step::Mirror => plan.mirrors,
            _ => true,
        };
        for round in plan.rounds.clone() {
            let (before, loss) = (self.refined.hpwl_after + on.cost(), plan.loss(round));
            on.accept(loss);
            self.refined.rounds = self.refined.rounds.max(round + 1);
            for step in Step::ALL.into_iter().filter(is_in_plan) {
                if self.step(on, round, step)?.is_break() {
                    self.refined.interrupted = true;
                    return Ok(());
                }
            }
            let after = self.refined.hpwl_after + on.cost();
            if loss == 0.0 && before - after <= plan.least_gain * before {
                return Ok(());
            }
        }
        Ok(())
    }

    fn step(
        &mut self,
        on: &mut dyn Engine,
        round: usize,
        step: Step,
    ) -> Result<ControlFlow<()>, RefineError> {
        let passes = Pass::all_of(round, step);
        for &(pass, before) in &passes {
            let all = on.begin(pass).map_err(RefineError::Device)?;
            let (apart, at_once) = pass.order(self.cells);
            for first in (0..all).step_by(at_once) {
                let count = at_once.min(all - first);
                let tasks = Tasks { all, apart, first, count };
                let gain = on.batch(tasks).map_err(RefineError::Device)?;
                self.refined.hpwl_after -= gain;
                self.refined.shortened[step as usize] += gain;
                let of_pass = (first + count) as f64 / all as f64 / passes.len() as f64;
                let (done, hpwl) = (before + of_pass, self.refined.hpwl_after);
                let progress = Progress { round, step, done, hpwl };
                let ended = self.stops.load(Ordering::Relaxed);
                if ended || (self.report)(progress).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests;
