//! A whole placement: global, legal, detailed, with any engine.
//!
//! [`place`] runs all stages for a design with its charge and its nets:
//!
//! * for each seed, a global placement ([`crate::place`]);
//! * if macros move, legal places of the macros and a global placement of the other cells beside
//!   them;
//! * routability rounds, if requested ([`crate::place::routability`]);
//! * legalization ([`crate::legalize`]);
//! * detailed placement ([`crate::refine`]) of the legal placement with the shortest wires.
//!
//! A [`Host`] makes the engines and follows the iterations.
//!
//! ```
//! use placefield::charge::Charge;
//! use placefield::cpu::engine::CpuEngine;
//! use placefield::design::{Design, Nets, NodeKind, Nodes, Orientation, Placement, Row};
//! use placefield::engine::EngineOptions;
//! use placefield::flow::{self, FlowOptions, Host};
//! use placefield::place::{Backend, HostBackend};
//! use placefield::wirelength::Netlist;
//! use std::sync::Arc;
//!
//! struct OnCpu;
//!
//! impl Host for OnCpu {
//!     type Error = Box<dyn std::error::Error>;
//!
//!     fn backend(
//!         &mut self,
//!         charge: &Arc<Charge>,
//!         netlist: &Netlist,
//!     ) -> Result<Box<dyn Backend>, Self::Error> {
//!         let options = EngineOptions::default().threads(1);
//!         let engine = CpuEngine::<f32>::new(charge.clone(), &options)?;
//!         Ok(Box::new(HostBackend::new(engine, netlist)?))
//!     }
//! }
//!
//! // A chain of 40 cells of 4 × 10 on ten rows of 80 sites.
//! let row = |k: u32| Row {
//!     y: 10.0 * f64::from(k),
//!     height: 10.0,
//!     site_width: 1.0,
//!     pitch: 1.0,
//!     sites: 80,
//!     ..Row::default()
//! };
//! let mut design = Design {
//!     nodes: Nodes {
//!         width: vec![4.0; 40],
//!         height: vec![10.0; 40],
//!         kind: vec![NodeKind::Movable; 40],
//!         ..Nodes::default()
//!     },
//!     placement: Placement {
//!         x: vec![0.0; 40],
//!         y: vec![0.0; 40],
//!         orientation: vec![Orientation::N; 40],
//!     },
//!     nets: Some(Nets {
//!         net_start: (0..40).map(|e| 2 * e).collect(),
//!         weight: vec![1.0; 39],
//!         pin_node: (0..39).flat_map(|e| [e, e + 1]).collect(),
//!         pin_dx: vec![0.0; 78],
//!         pin_dy: vec![0.0; 78],
//!         ..Nets::default()
//!     }),
//!     rows: (0..10).map(row).collect(),
//!     ..Design::default()
//! };
//! let options = FlowOptions::default();
//! let (charge, netlist) = options.bodies.of(&design)?;
//! let placed = flow::place(&mut design, &charge, &netlist, &options, &mut OnCpu)?;
//! assert!(placed.stages.is_legal());
//! assert_eq!(placed.stages.last().1.hpwl, design.hpwl().map(|hpwl| hpwl.unweighted));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(any(feature = "cli", feature = "python"))]
pub(crate) mod checkpoint;
mod global;
mod kept;
mod mirror;
mod seeds;
mod stages;

use crate::charge::{Charge, ChargeError, ChargeOptions, origin_for};
use crate::design::{Design, DesignError, Placement};
use crate::grid::{BinGrid, GridError};
use crate::legality::LegalityError;
use crate::legalize::{self, LegalizeOptions};
use crate::parallel::join;
use crate::place::routability::{Round, Rounds, RoundsEnd, RoutabilityError, RoutabilityOptions};
use crate::place::{
    Backend, Checkpoint, Outcome, PlaceError, PlaceOptions, Placer, Record, limits, placement_bins,
};
use crate::real::Precision;
use crate::refine::{self, RefineError, RefineOptions, WirePrice};
use crate::rows::RowsError;
use crate::warning::{Warning, WarningCode};
use crate::wirelength::Netlist;
pub use global::Global;
pub use kept::{Kept, KeptReport};
use seeds::Seeds;
use serde::Serialize;
pub use stages::{
    DetailedReport, DisplacementReport, Distances, FailedReport, FarthestReport, LastReport,
    LegalReport, Overflow, ShortenedReport, Stage, StageReport, Stages, StagesReport, shorten,
};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Default target density. It leaves free sites near the cells, so legalization moves them little.
/// `benchmarks/experiments.md` has the measurements.
pub const TARGET_DENSITY: f64 = 0.95;

/// A placement with more fillers than this has larger ones, because an iteration takes time for
/// every body. `benchmarks/experiments.md` has the measurements.
pub const MANY_FILLERS: usize = 1 << 19;
/// … and so does one with so many for each movable cell: on a sparse die most bodies are fillers.
const FILLERS_PER_CELL: usize = 8;

/// Returns beyond how many fillers a placement of `design` has larger ones
/// ([`ChargeOptions::many_fillers`]).
pub fn many_fillers(design: &Design) -> usize {
    MANY_FILLERS.min(FILLERS_PER_CELL.saturating_mul(design.movable().count()))
}

/// Options of [`place`]; changes of the fields replace the defaults.
///
/// ```
/// use placefield::flow::{FlowOptions, Stage};
/// let mut options = FlowOptions::default();
/// (options.until, options.seeds) = (Some(Stage::Legal), 4);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FlowOptions<'a> {
    /// How bins, charge and nets are made once macros stand legally; those at first are given.
    pub bodies: Bodies,
    /// The last stage; unless given the last there is, which without rows is the global one.
    pub until: Option<Stage>,
    /// Options of global placement. With [`PlaceOptions::warm`] cells start where the charge has
    /// them, else at the die's centre.
    pub place: PlaceOptions,
    /// Whether the start is also legalized and refined without a global placement; the result is
    /// the better of both. Only with a warm start; no by default. If the legal stage limits
    /// displacements ([`LegalizeOptions::max_displacement`]), a warm start is always compared, and
    /// the limit applies from the start to the result.
    pub compare_start: bool,
    /// At the start every body moves by up to half of this many times its size; 0 by default.
    pub noise: f64,
    /// Seed of the start; 1000 by default.
    pub seed: u64,
    /// So many seeds are placed, from [`FlowOptions::seed`] on; 1 by default, and at least one.
    /// At a smoothed overflow of 0.4 only the quarter with the shortest wires goes on, except where
    /// wires do not tell so early which seed will be the best: where macros move, with a warm start
    /// and with [`FlowOptions::routability`]. With a deadline no seed begins after half of the time.
    /// Of those that ended, the one with the shortest wires in the legal stage is refined.
    pub seeds: u32,
    /// When the time is spent; the best so far is the result then.
    pub deadline: Option<Instant>,
    /// The part of the time before the deadline that is kept for the later stages; none by default.
    pub reserve: Duration,
    /// Rounds in which cells grow where wires are crowded; none by default.
    pub routability: Option<RoutabilityOptions>,
    /// Options of the legal stage.
    pub legalize: LegalizeOptions,
    /// Options of the detailed stage.
    pub refine: RefineOptions<'a>,
    /// How many variants are placed in addition. [`Effort::Low`] by default: there are none, and a
    /// host follows the iterations of one placement.
    pub effort: Effort,
    /// Whether variants keep the target density of [`FlowOptions::bodies`]; no by default.
    pub keeps_density: bool,
}

impl Default for FlowOptions<'_> {
    fn default() -> Self {
        FlowOptions {
            bodies: Bodies::default(),
            until: None,
            place: PlaceOptions::default(),
            compare_start: false,
            noise: 0.0,
            seed: 1000,
            seeds: 1,
            deadline: None,
            reserve: Duration::ZERO,
            routability: None,
            legalize: LegalizeOptions::default(),
            refine: RefineOptions::default(),
            effort: Effort::Low,
            keeps_density: false,
        }
    }
}

impl FlowOptions<'_> {
    /// Sets the deadline, and the reserve for the later stages of so many cells: a tenth of the time
    /// from now on, and 50 µs for each cell, but half of that time at most.
    pub fn end_at(&mut self, deadline: Option<Instant>, cells: usize) {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let left = left.unwrap_or_default();
        let for_cells = Duration::from_micros(50 * cells as u64);
        (self.deadline, self.reserve) = (deadline, (left / 10 + for_cells).min(left / 2));
    }

    /// Returns the variants that are placed of `design` once the placement asked for is spread.
    fn variants(&self, design: &Design, charge: &Charge) -> Vec<Variant> {
        let ends_early = self.until == Some(Stage::Global) || design.rows.is_empty();
        match ends_early || self.place.warm || self.routability.is_some() {
            true => Vec::new(),
            false => {
                self.effort.variants(&self.bodies.charge, self.keeps_density, charge.movable())
            }
        }
    }

    /// Returns how many of `begun` seeds go on where seeds are compared.
    fn continued(&self, charge: &Charge, begun: usize) -> usize {
        let tells_early = charge.movable_macros().is_empty() && !self.place.warm;
        match tells_early && self.routability.is_none() {
            true => begun.div_ceil(4),
            false => begun,
        }
    }

    /// Returns when the time of the global stage is spent.
    fn global_deadline(&self) -> Option<Instant> {
        let reserve = if self.until == Some(Stage::Global) { Duration::ZERO } else { self.reserve };
        self.deadline.map(|deadline| deadline.checked_sub(reserve).unwrap_or(deadline))
    }
}

/// How long shorter wires are searched for: how many variants of a placement are placed, and whether
/// detailed placement inserts cells where many others give way.
///
/// Variants share the first three quarters of the iterations. Each is made legal, and the one with
/// the shortest wires then is refined. There are none if macros move, if cells start from a
/// placement, or with [`FlowOptions::routability`]. `benchmarks/experiments.md` has the
/// measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum, schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// No variants and no insertion
    Low,
    /// For designs of up to 100,000 cells two variants (a target density of 0.98 instead of 0.95, and
    /// wider large cells) and insertion
    #[default]
    Medium,
    /// Four variants (also target densities of 1 and 0.93, both with wider large cells) and insertion
    High,
}

/// Designs of more movable cells have no variants by [`Effort::Medium`], for to prepare and legalize
/// them takes longer than the descents that they share, and no insertion.
const MANY_CELLS: usize = 100_000;

impl Effort {
    /// Returns the most movable cells of a design whose cells are also inserted where others give
    /// way ([`RefineOptions::insert_up_to`]).
    pub fn insert_up_to(self) -> usize {
        match self {
            Effort::Low => 0,
            Effort::Medium => MANY_CELLS,
            Effort::High => usize::MAX,
        }
    }

    /// Returns the variants of a placement by these options.
    fn variants(self, given: &ChargeOptions, keeps_density: bool, cells: usize) -> Vec<Variant> {
        let asked = Variant::of(given);
        let all = [(0.0, true), (0.03, false), (0.05, true), (-0.02, true)];
        let count = match self {
            Effort::Low => 0,
            Effort::Medium if cells > MANY_CELLS => 0,
            Effort::Medium => 2,
            Effort::High => 4,
        };
        let mut variants = Vec::new();
        for (denser, widen_large) in all.into_iter().take(count) {
            let denser = if keeps_density { 0.0 } else { denser };
            let target_density = (asked.target_density + denser).min(1.0);
            let widen_large = widen_large || asked.widen_large;
            let variant = Variant { target_density, widen_large };
            if variant != asked && target_density > 0.0 && !variants.contains(&variant) {
                variants.push(variant);
            }
        }
        variants
    }
}

/// What variants of a placement differ in.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Variant {
    /// The target density asked for, above 0 and at most 1.
    pub target_density: f64,
    /// Whether large cells are wider ([`ChargeOptions::widen_large`]).
    pub widen_large: bool,
}

impl std::fmt::Display for Variant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "target density {}", self.target_density)?;
        if self.widen_large { write!(f, ", large cells wider") } else { Ok(()) }
    }
}

impl Variant {
    fn of(options: &ChargeOptions) -> Variant {
        let ChargeOptions { target_density, widen_large, .. } = *options;
        Variant { target_density, widen_large }
    }
}

/// How bins, charge and nets are made of a design.
///
/// ```
/// use placefield::flow::Bodies;
/// let mut bodies = Bodies::default();
/// bodies.bins = Some([512, 512]);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Bodies {
    /// Bins along x and y; [`placement_bins`] unless given.
    pub bins: Option<[usize; 2]>,
    /// Options of the charge; by default with fillers, halos and [`TARGET_DENSITY`]. Its number of
    /// many fillers is at most [`many_fillers`].
    pub charge: ChargeOptions,
    /// Nets of this many pins or more are left out of the objective; by default no net is.
    pub large_net: usize,
    /// Precision of the engine, in which positions are held. `f32` by default.
    pub precision: Precision,
}

impl Default for Bodies {
    fn default() -> Self {
        Bodies {
            bins: None,
            charge: ChargeOptions::default()
                .fillers(true)
                .halos(true)
                .target_density(TARGET_DENSITY),
            large_net: Netlist::ALL,
            precision: Precision::F32,
        }
    }
}

impl Bodies {
    /// Returns the charge and the nets of `design`.
    ///
    /// # Errors
    /// When the design has no die or no nets, or the bins or the charge cannot be made.
    pub fn of(&self, design: &Design) -> Result<(Arc<Charge>, Netlist), FlowError> {
        let (charge, netlist) =
            join(|| Netlist::from_design(design, self.large_net), || self.charge_of(design));
        Ok((charge?, netlist?))
    }

    fn charge_of(&self, design: &Design) -> Result<Arc<Charge>, FlowError> {
        let die = design.die().ok_or(FlowError::NoDie)?;
        let [nx, ny] =
            self.bins.unwrap_or_else(|| placement_bins(design, die, self.charge.target_density));
        let many = self.charge.many_fillers.min(many_fillers(design));
        let options = self.charge.many_fillers(many);
        let mut charge = Charge::from_design(design, BinGrid::new(die, nx, ny)?, &options)?;
        charge.set_origin(origin_for(&die, design.row_height(), self.precision)?)?;
        Ok(Arc::new(charge))
    }
}

/// A placement in progress, read from a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Resumed {
    /// Its state.
    pub checkpoint: Checkpoint,
    /// The iterations so far, from 0, the start, on.
    pub records: Vec<Record>,
}

/// A part of a placement that begins.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Part {
    /// The global placement of a seed.
    Seed(u64),
    /// The global placement of a seed goes on, which was among the shortest of several.
    Continued(u64),
    /// The cells are placed again beside this number of legal macros.
    Beside(usize),
    /// A round by congestion, counted from 1.
    Round(usize),
    /// The cells are placed once more from where they were less spread, as a variant.
    Variant(Variant),
    /// Legalization.
    Legal,
    /// Detailed placement.
    Detailed,
}

/// Sets the cells of a design to positions of the bodies.
type SetPositions<'a> = &'a dyn Fn(&mut Design, &[f64], &[f64]);

/// A placement between two iterations of a descent.
pub struct Between<'a, 'b> {
    design: &'a mut Design,
    placer: &'a mut Placer<'b>,
    set_positions: SetPositions<'a>,
}

impl<'b> Between<'_, 'b> {
    /// Returns the last iteration.
    pub fn last(&self) -> &Record {
        self.placer.last()
    }

    /// Returns the placer, to read the bodies' positions and maps from.
    pub fn placer(&mut self) -> &mut Placer<'b> {
        self.placer
    }

    /// Ends the descent: this placement is its result, and the later stages follow.
    pub fn stop(&mut self) {
        self.placer.stop(Outcome::Stopped);
    }

    /// Returns the design with its cells where the last iteration has them; they are copied at
    /// each call.
    ///
    /// # Errors
    /// When the device failed.
    pub fn design(&mut self) -> Result<&Design, FlowError> {
        let (x, y) = self.placer.positions()?;
        (self.set_positions)(self.design, &x, &y);
        Ok(self.design)
    }
}

/// The caller of a placement: it provides the backend and follows the progress.
pub trait Host {
    /// Error of the host or of the placement.
    type Error: From<FlowError>;

    /// Makes the backend for the bodies of `charge`, connected by `netlist`.
    ///
    /// # Errors
    /// When it cannot be made.
    fn backend(
        &mut self,
        charge: &Arc<Charge>,
        netlist: &Netlist,
    ) -> Result<Box<dyn Backend>, Self::Error>;

    /// Returns the state that the first seed continues from, or `None` to begin at a start; called
    /// once, after `backend` was made.
    ///
    /// # Errors
    /// If the state cannot be read or belongs to another placement.
    fn resume(&mut self, _backend: &mut dyn Backend) -> Result<Option<Resumed>, Self::Error> {
        Ok(None)
    }

    /// A part begins.
    fn begin(&mut self, _part: Part) {}

    /// Called at the start of a descent and after each of its iterations; `records` has all its
    /// iterations so far, the last of them the placer's. If the placer has an outcome, no other
    /// iteration follows; [`Placer::stop`] with [`Outcome::Stopped`] makes this placement the
    /// result of the descent, and the later stages follow.
    ///
    /// # Errors
    /// An error ends the placement without a result.
    fn follow(&mut self, _placer: &mut Placer<'_>, _records: &[Record]) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Called after [`Host::follow`], with the design. Returns new weights of the design's nets, one
    /// for each in the design's order, or `None` to go on with the present ones. The design then has
    /// them, also in the later stages and seeds.
    ///
    /// # Errors
    /// An error ends the placement without a result.
    fn between(&mut self, _between: &mut Between<'_, '_>) -> Result<Option<Vec<f64>>, Self::Error> {
        Ok(None)
    }

    /// Whether to end the placement with its present result. Called after every iteration, and
    /// often in the later stages.
    fn is_asked_to_stop(&mut self) -> bool {
        false
    }

    /// Called with the congestion after a round.
    fn round(&mut self, _round: &Round) {}

    /// Called after the last round.
    fn rounds_end(&mut self, _end: &RoundsEnd) {}

    /// Called with the progress of the legal stage.
    fn legalizing(&mut self, _progress: &legalize::Progress) {}

    /// Called with the progress of the detailed stage.
    fn refining(&mut self, _progress: &refine::Progress) {}
}

/// Error of a placement that could not begin or continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlowError {
    /// The global stage.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A round by congestion.
    #[error(transparent)]
    Routability(#[from] RoutabilityError),
    /// The legal stage.
    #[error(transparent)]
    Legalize(#[from] RowsError),
    /// The detailed stage.
    #[error(transparent)]
    Refine(#[from] RefineError),
    /// Legality cannot be checked.
    #[error(transparent)]
    Legality(#[from] LegalityError),
    /// The design's columns do not fit together.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// No charge can be made.
    #[error(transparent)]
    Charge(#[from] ChargeError),
    /// No bins can be made.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// The design has no die.
    #[error("the design has neither rows nor a die area, so it has no die")]
    NoDie,
    /// A movable node is larger than the die.
    #[error(
        "node `{node}`: {} x {}: expected a movable node no larger than the die, {} x {}",
        .size.0, .size.1, .most.0, .most.1
    )]
    TooLarge {
        /// Its name.
        node: String,
        /// Its width and height, layout units.
        size: (f64, f64),
        /// Width and height of the die, layout units.
        most: (f64, f64),
    },
}

pub(crate) fn as_status<S: serde::Serializer>(outcome: &Outcome, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(outcome.status())
}

/// The result of one of several global placements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Candidate {
    /// The seed.
    pub seed: u64,
    /// T as asked for.
    pub target_density: f64,
    /// Whether large cells were wider ([`ChargeOptions::widen_large`]).
    pub widen_large: bool,
    /// How its global stage ended; `stopped` for a seed that did not go on.
    #[serde(serialize_with = "as_status")]
    #[cfg_attr(feature = "cli", schemars(with = "String"))]
    pub status: Outcome,
    /// Number of iterations, including those that candidates share.
    pub iterations: usize,
    /// Weighted, of the legal stage if there is one.
    #[serde(rename = "hpwl_weighted")]
    pub hpwl: f64,
    /// Smoothed overflow of its global stage.
    pub overflow_smoothed: f64,
    /// Whether this is the result.
    pub is_result: bool,
}

/// A placement that has ended; its positions are in the design.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Placed {
    /// Seed of the result.
    pub seed: u64,
    /// The global stage.
    pub global: Global,
    /// Results of every stage.
    pub stages: Stages,
    /// The placement after the global stage, if other stages followed.
    pub before: Option<Placement>,
    /// Every global placement: of each seed that asked for, and variants.
    pub candidates: Vec<Candidate>,
    /// The routability rounds.
    pub rounds: Rounds,
    /// Cause of a plateau: what keeps the overflow from falling.
    pub limit: Option<String>,
    /// Reason that only the global stage ran, if more stages were requested and this is no failure.
    pub left_out: Option<&'static str>,
    /// Seconds of the global stages of all seeds.
    pub seconds: f64,
}

/// The charge and the nets that are placed.
#[derive(Clone, Copy)]
struct PlacementInput<'a> {
    charge: &'a Arc<Charge>,
    /// With pins counted from the left edges of the bodies.
    netlist: &'a Netlist,
    /// With pins counted from the left edges of the cells.
    cells_netlist: &'a Netlist,
}

/// Returns warnings about placing `charge` by `netlist` to a smoothed overflow of `stop_overflow`.
pub fn warnings(charge: &Charge, netlist: &Netlist, stop_overflow: f64) -> Vec<Warning> {
    let obstacles = limits::obstacles(charge, stop_overflow);
    let nothing_pulls = (netlist.pull().most == 0.0).then(|| {
        let message = "no net pulls at a movable node: the cells are only spread";
        Warning::new(WarningCode::NothingPulls, message)
    });
    charge.warnings().iter().cloned().chain(nothing_pulls).chain(obstacles).collect()
}

/// Places the movable cells of `design`, whose charge and nets are given, stage by stage. The
/// design then has the result of the last one.
///
/// The legal and the detailed stage run on the current rayon pool. Every stage is deterministic if
/// the engine is.
///
/// # Errors
/// When a movable node is larger than the die, an option is outside its range, a stage cannot be
/// begun, or the host failed; the cells of the design may then be anywhere.
pub fn place<H: Host>(
    design: &mut Design,
    charge: &Arc<Charge>,
    netlist: &Netlist,
    options: &FlowOptions<'_>,
    host: &mut H,
) -> Result<Placed, H::Error> {
    check_sizes(design, charge)?;
    let wanted = options.routability.as_ref().map_or(Ok(()), RoutabilityOptions::check);
    wanted.map_err(|error| FlowError::Routability(error.into()))?;
    let (mut seeds, all) = Seeds::begin(charge, netlist, design, options, host)?;
    let mut candidates = Vec::new();
    let all = seeds.compare(all, &mut candidates, design, options, host)?;
    let mut seconds = seeds.seconds;
    let mut best: Option<(Placed, Placement)> = None;
    for descent in all {
        let seed = descent.seed;
        let global = seeds.end(descent, design, options, host)?;
        if best.is_some() && global.was_stopped() {
            seconds += global.seconds;
            candidates.push(Candidate::of(seed, Variant::of(&options.bodies.charge), &global));
            break;
        }
        let mut placed = stages_of(design, seeds.input(), global, seed, options, host)?;
        seconds += placed.global.seconds;
        let ended = placed.global.was_stopped() || ended(host, options.global_deadline()).is_some();
        let is_best = best.as_ref().is_none_or(|(best, _)| placed.is_better_than(best));
        let others = if is_best { &mut candidates } else { &mut placed.candidates };
        others.iter_mut().for_each(|other| other.is_result = false);
        candidates.append(&mut placed.candidates);
        if is_best {
            best = Some((placed, design.placement.clone()));
        }
        if ended {
            break;
        }
    }
    let (mut placed, placement) = best.expect("one seed at least");
    design.placement = placement;
    if placed.stages.stages.detailed.is_none() {
        placed.refine(design, charge, None, options, host)?;
    }
    if let (Some(before), None) = (&placed.before, &placed.stages.stages.detailed) {
        placed.stages.measure_legal(design, Some(charge), before)?;
    }
    if placed.global.outcome == Outcome::Plateau {
        let Global { x, y, .. } = &placed.global;
        placed.limit = Some(limits::limit(charge, x, y).map_err(FlowError::from)?);
    }
    (placed.candidates, placed.seconds) = (candidates, seconds);
    Ok(placed)
}

/// Returns the nets with pins counted from the corners of the bodies ([`Charge::margin`]), where
/// `netlist` counts them from those of the cells.
fn of_bodies<'a>(netlist: &'a Netlist, charge: &Charge) -> Cow<'a, Netlist> {
    let margins = charge.margins();
    match margins.is_empty() {
        true => Cow::Borrowed(netlist),
        false => {
            let [x, y] = [0, 1].map(|axis| margins.iter().map(|by| by[axis]).collect::<Vec<f64>>());
            Cow::Owned(netlist.with_pins_moved(&x, &y))
        }
    }
}

/// Runs the stages of a seed after its first descent, up to the legal stage. A start that is
/// compared with it is also refined, without a descent.
fn stages_of<H: Host>(
    design: &mut Design,
    input: PlacementInput<'_>,
    mut global: Global,
    seed: u64,
    options: &FlowOptions<'_>,
    host: &mut H,
) -> Result<Placed, H::Error> {
    let charge = input.charge;
    // An interrupted placement is not changed further.
    let spread =
        !matches!(global.outcome, Outcome::Interrupted | Outcome::Diverged | Outcome::NotFinite);
    let limit = options.legalize.max_displacement.filter(|_| options.place.warm);
    let compares = options.place.warm && (options.compare_start || limit.is_some());
    let goes_on = (spread || compares) && options.until != Some(Stage::Global);
    let rowless = goes_on && design.rows.is_empty();
    let goes_on = goes_on && !rowless;
    let mut rounds = Rounds::default();
    // Only a limit on displacements counts from the start.
    let origin = limit.map(|rows| {
        charge.set_movable_positions(design, charge.initial_x(), charge.initial_y());
        (design.placement.clone(), rows)
    });
    let within = origin.as_ref().map(|(origin, rows)| (origin, *rows));
    charge.set_movable_positions(design, &global.x, &global.y);
    let mut home = design.placement.clone();
    let mut beside = None;
    // Of cells that are not spread macros do not stand where they belong.
    let has_spread = matches!(global.outcome, Outcome::Converged | Outcome::Plateau);
    if goes_on && has_spread {
        beside = global.beside_macros(design, input, &mut rounds, options, host)?;
        home.orientation.clone_from(&design.placement.orientation);
    }
    let start = compares.then(|| global.at_start(charge));
    let mut candidates = match beside {
        // Cells may stand better beside legal macros where they were before these moved a little.
        Some(beside) if rounds.rounds.is_empty() && beside.outcome != Outcome::Interrupted => {
            (global.records, global.seconds) = (beside.records.clone(), beside.seconds);
            vec![beside, global]
        }
        Some(beside) => vec![beside],
        None => {
            let global = global.run_routability(design, input, &mut rounds, options, host)?;
            let mut variants = match has_spread {
                true => global.variants(design, input, options, host)?,
                false => Vec::new(),
            };
            variants.insert(0, global);
            variants
        }
    };
    // Where cells have grown, wires fit the tracks better than at the start, even if they are longer.
    candidates.extend(start.filter(|_| rounds.end.is_none_or(|end| end.result == 0)));
    if !spread && candidates.len() > 1 {
        candidates.remove(0);
    }
    let left_out =
        rowless.then_some("the design has no rows: place stopped after the global stage");
    let mut best: Option<(Placed, Placement)> = None;
    let mut tried = Vec::new();
    for global in candidates {
        design.placement.clone_from(&home);
        charge.set_movable_positions(design, &global.x, &global.y);
        let report = StageReport::new(design.hpwl(), Some(global.overflow), Some(global.seconds));
        let mut stages = Stages::of_global(report);
        let mut before = None;
        if goes_on && global.outcome != Outcome::Interrupted {
            let mut legalize = options.legalize;
            if let Some((origin, rows)) = within.filter(|_| global.iteration > 0) {
                // One half is for the global stage, the other one for the legal stage.
                legalize = legalize.max_displacement(Some(rows / 2.0));
                pull_back(design, origin, rows / 2.0);
            }
            host.begin(Part::Legal);
            let mut watch = |progress: &legalize::Progress| {
                host.legalizing(progress);
                ended(host, options.deadline)
            };
            before = Some(stages.legalize_within(design, &legalize, within, &mut watch)?);
        }
        let mut placed = Placed {
            seed,
            global,
            stages,
            before,
            candidates: Vec::new(),
            rounds: rounds.clone(),
            limit: None,
            left_out,
            seconds: 0.0,
        };
        if compares {
            placed.refine(design, charge, within.map(|(origin, _)| origin), options, host)?;
        }
        let mut candidate = placed.candidate(&options.bodies.charge);
        if best.as_ref().is_none_or(|(best, _)| placed.is_better_than(best)) {
            tried.iter_mut().for_each(|other: &mut Candidate| other.is_result = false);
            candidate.is_result = true;
            best = Some((placed, design.placement.clone()));
        }
        tried.push(candidate);
    }
    let (mut placed, placement) = best.expect("one candidate at least");
    placed.candidates = tried;
    design.placement = placement;
    Ok(placed)
}

/// Moves the movable nodes of `design` towards their positions in `origin`, until no node is
/// farther than `rows` heights of the most frequent rows.
fn pull_back(design: &mut Design, origin: &Placement, rows: f64) {
    let most = rows * design.row_height().unwrap_or(0.0);
    for node in design.movable_nodes() {
        let at = &mut design.placement;
        let (dx, dy) = (at.x[node] - origin.x[node], at.y[node] - origin.y[node]);
        let share = most / (dx.abs() + dy.abs());
        if share < 1.0 {
            at.x[node] = origin.x[node] + share * dx;
            at.y[node] = origin.y[node] + share * dy;
        }
    }
}

/// Returns the outcome if the host or the clock ends the placement now.
fn ended<H: Host>(host: &mut H, deadline: Option<Instant>) -> Option<Outcome> {
    let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    match host.is_asked_to_stop() {
        true => Some(Outcome::Interrupted),
        false => is_late().then_some(Outcome::OutOfTime),
    }
}

impl Placed {
    /// Runs the detailed stage, if it is requested and the placement of `design` is legal. A limit
    /// on displacements counts from `origin`, or from the legal placement.
    fn refine<H: Host>(
        &mut self,
        design: &mut Design,
        charge: &Charge,
        origin: Option<&Placement>,
        options: &FlowOptions<'_>,
        host: &mut H,
    ) -> Result<(), H::Error> {
        let detailed = options.until.is_none_or(|until| until >= Stage::Detailed);
        if let (Some(before), true) = (&self.before, detailed && self.stages.is_legal()) {
            host.begin(Part::Detailed);
            let mut watch = |progress: &refine::Progress| {
                host.refining(progress);
                ended(host, options.deadline)
            };
            let wire_price =
                options.routability.filter(|of| of.price > 0.0).zip(self.rounds.capacity);
            let wire_price = wire_price.map(|(of, capacity)| WirePrice {
                grid: charge.grid(),
                capacity,
                price: of.price,
            });
            let wire_price = wire_price.or(options.refine.wire_price);
            let refine = RefineOptions { origin, wire_price, ..options.refine };
            self.stages.refine(design, &refine, charge, before, &mut watch)?;
        }
        Ok(())
    }

    fn hpwl(&self) -> f64 {
        self.stages.last().1.hpwl_weighted.unwrap_or(0.0)
    }

    /// Orders placements, the best first. If legality was requested, legal placements come before
    /// others; then converged before others; then shorter wires of the last stage. Placements
    /// that are neither legal nor converged are ordered by overflow first.
    fn is_better_than(&self, other: &Placed) -> bool {
        let goals = |placed: &Placed| {
            let all_placed = placed.stages.failed.is_empty();
            let converged = placed.global.outcome == Outcome::Converged;
            (placed.stages.is_legal(), all_placed, converged)
        };
        let key = |placed: &Placed| match goals(placed) {
            (false, _, false) => (placed.global.overflow.smoothed, placed.hpwl()),
            _ => (0.0, placed.hpwl()),
        };
        goals(self) > goals(other) || (goals(self) == goals(other) && key(self) < key(other))
    }

    fn candidate(&self, asked: &ChargeOptions) -> Candidate {
        let Global { overflow, variant, .. } = &self.global;
        let (hpwl, overflow_smoothed) = (self.hpwl(), overflow.smoothed);
        let asked = Variant::of(asked);
        let candidate = Candidate::of(self.seed, variant.unwrap_or(asked), &self.global);
        Candidate { hpwl, overflow_smoothed, ..candidate }
    }
}

impl Candidate {
    /// Returns a global placement at its end.
    fn of(seed: u64, variant: Variant, global: &Global) -> Self {
        let last = global.records.last().map_or(0, |record| record.iteration);
        let result = &global.records[global.iteration];
        let candidate = Candidate::at(seed, variant, result, global.outcome);
        Candidate { iterations: last, ..candidate }
    }

    /// Returns a global placement at an iteration.
    fn at(seed: u64, variant: Variant, record: &Record, status: Outcome) -> Self {
        Candidate {
            seed,
            target_density: variant.target_density,
            widen_large: variant.widen_large,
            status,
            iterations: record.iteration,
            hpwl: record.sample.hpwl,
            overflow_smoothed: record.sample.density.overflow,
            is_result: false,
        }
    }
}

/// Returns an error if a movable cell is larger than the die.
fn check_sizes(design: &Design, charge: &Charge) -> Result<(), FlowError> {
    let Some(cell) = limits::too_large(charge) else { return Ok(()) };
    let node = design.movable().nth(cell).expect("a movable cell is a node");
    let die = charge.grid().die();
    let (size, most) = (design.size(node), (die.width(), die.height()));
    Err(FlowError::TooLarge { node: design.node_name(node), size, most })
}

#[cfg(test)]
mod tests;
