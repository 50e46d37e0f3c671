//! Reading a design and making its bins and charge.

use super::engines::prefetch_device;
use super::failure::Failure;
use super::log::spinner;
use super::memory;
use super::options::{Bins, DesignArgs, EvaluationArgs, SolveArgs};
use crate::Precision;
use crate::bookshelf;
use crate::charge::{Charge, ChargeError, origin_for, region_count};
use crate::cpu::engine::milliseconds;
use crate::design::{Design, Hpwl};
use crate::engine::{EngineError, check_range, check_range_of};
use crate::evaluate::Summaries;
use crate::formats::{self, Format, Loaded};
use crate::grid::BinGrid;
use crate::lefdef::{self, DefSummary, GcellGrid, LefSummary, RoutingLayer};
use crate::place::default_bins;
use crate::real::with_precision;
use crate::refine::to_medians;
use crate::warning::{Warning, WarningCode};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Instant;

/// Has all that follows run on this many threads, 0 for as many as there are; later calls
/// change nothing.
///
/// # Errors
/// When they cannot be started.
pub(crate) fn use_threads(threads: usize) -> Result<(), Failure> {
    static STARTED: Once = Once::new();
    let mut started = Ok(());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    STARTED.call_once(|| started = pool.build_global());
    started.map_err(|e| format!("no threads could be started: {e}").into())
}

/// A design in memory, and warnings of reading it.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) design: Design,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) parse_ms: f64,
    /// The files read.
    pub(crate) files: Vec<PathBuf>,
    /// The file of the design's own placement, if another placement was read instead.
    pub(crate) own_placement: Option<PathBuf>,
    /// Movable nodes that the file gives no position.
    pub(crate) unplaced: Vec<u32>,
    /// Summaries of the DEF file and of its LEF files.
    pub(crate) def: Option<DefSummary>,
    pub(crate) lef: Option<LefSummary>,
    /// For a DEF design: the lines of its `GCELLGRID`, and the routing layers of its LEF files.
    pub(crate) gcell_grid: Vec<GcellGrid>,
    pub(crate) layers: Vec<RoutingLayer>,
}

impl Opened {
    /// Returns the summaries of a DEF design's files.
    pub(crate) fn summaries(&self) -> Summaries<'_> {
        (self.def.as_ref(), self.lef.as_ref())
    }
}

impl Opened {
    /// Puts the cells without a position where their nets are shortest, with a warning.
    pub(crate) fn locate_unplaced(&mut self) {
        if !self.unplaced.is_empty() {
            to_medians(&mut self.design, &self.unplaced);
            let count = self.unplaced.len();
            let message = format!(
                "{count} cells without a position start at the median of their nets instead"
            );
            self.warnings.push(Warning::new(WarningCode::NotPlaced, message));
        }
    }

    /// Returns the wirelength of the placement that was read, if it has a position for every
    /// movable cell and they are not all the same.
    pub(crate) fn given_hpwl(&self) -> Option<Hpwl> {
        let at = &self.design.placement;
        let mut corners = self.design.movable().map(|node| (at.x[node], at.y[node]));
        let first = corners.next()?;
        let is_placed = self.unplaced.is_empty() && corners.any(|corner| corner != first);
        is_placed.then(|| self.design.hpwl()).flatten()
    }
}

/// Reads the design; a spinner turns meanwhile on a terminal.
pub(crate) fn open_design(args: &EvaluationArgs) -> Result<Opened, Failure> {
    use_threads(args.options.threads)?;
    prefetch_device(&args.options, false);
    read_design(&args.design)
}

/// Returns the same without an engine to open.
pub(crate) fn read_design(args: &DesignArgs) -> Result<Opened, Failure> {
    let start = Instant::now();
    let spinner = spinner(format!("reading {}", args.path.display()));
    let loaded = formats::read_design(&args.path, &args.read_options())?;
    let parse_ms = milliseconds(start);
    let mut warnings = loaded.warnings;
    let design = loaded.design;
    if !args.is_def() {
        warnings.extend(bookshelf::pin_offset_hint(&design, args.pin_offset()));
    }
    spinner.finish_and_clear();
    let Loaded { files, own_placement, unplaced, def, lef, gcell_grid, layers, .. } = loaded;
    Ok(Opened {
        design,
        warnings,
        parse_ms,
        files,
        own_placement,
        unplaced,
        def,
        lef,
        gcell_grid,
        layers,
    })
}

/// Returns the bins and charge of a design.
pub(crate) fn charge_of(design: &Design, args: &SolveArgs) -> Result<Charge, Failure> {
    let die = design.die().ok_or("the design has neither rows nor a die area, so it has no die")?;
    let [nx, ny] = match args.bins {
        Some(Bins(nx, ny)) => [nx, ny],
        None => default_bins(design, die, args.target_density()),
    };
    let grid = BinGrid::new(die, nx, ny)?;
    let origin = origin_for(&die, design.row_height(), args.precision)
        .map_err(|error| format!("{error}: expected --precision f64"))?;
    memory::check_bins(&grid, region_count(design), args.precision)?;
    let mut charge = Charge::from_design(design, grid, &args.charge_options())
        .map_err(|error| name_fence(design, error))?;
    charge.set_origin(origin)?;
    // The engine checks this too; here the body has a name.
    with_precision!(args.precision, T => check_range::<T>(&charge))
        .map_err(|error| name_node(design, error))?;
    Ok(charge)
}

/// Returns a warning if `eval` and `place` refuse `design`, which is written, in single precision.
pub(crate) fn needs_f64(design: &Design) -> Option<Warning> {
    let die = design.die()?;
    let [nx, ny] = default_bins(design, die, 1.0);
    let grid = BinGrid::new(die, nx, ny).ok()?;
    let (nodes, at) = (&design.nodes, &design.placement);
    let range = check_range_of::<f32>(&grid, [&nodes.width, &nodes.height, &at.x, &at.y]);
    let coarse = origin_for(&die, design.row_height(), Precision::F32).err();
    let why = coarse.map(|e| e.to_string()).or_else(|| range.err().map(|e| e.to_string()))?;
    let message = format!("the design that was written needs --precision f64: {why}");
    Some(Warning::new(WarningCode::NeedsF64, message))
}

/// Rounds positions to whole units for the DEF file `output`, if they must be legal. Returns
/// whether this changed some, with a warning.
pub(crate) fn rounded_for(output: &Path, design: &mut Design, warnings: &mut Vec<Warning>) -> bool {
    let count = match Format::of(output) {
        Format::Def => lefdef::round_positions(design),
        Format::Bookshelf => 0,
    };
    if count > 0 {
        let message = format!(
            "{count} cells lie between whole units and are rounded to these in the DEF file; \
             a .pl file would hold them as they are"
        );
        warnings.push(Warning::new(WarningCode::Rounded, message));
    }
    count > 0
}

/// Returns an error about fences with the name of the fence.
fn name_fence(design: &Design, error: ChargeError) -> Failure {
    let of = match error {
        ChargeError::EmptyFence(fence) | ChargeError::BadFence { fence, .. } => fence,
        ChargeError::FencesOverlap { first, .. } => first,
        ChargeError::DoesNotFit { region, .. } => region,
        ChargeError::TooManyRegions { .. } => {
            return format!("{error}: expected fewer with --bins").into();
        }
        _ => return error.into(),
    };
    match (design.fences.get(of), &error) {
        (Some(fence), _) => format!("fence `{}`: {error}", fence.name).into(),
        (None, ChargeError::DoesNotFit { area, free, .. }) => format!(
            "outside the fences: the movable cells have an area of {area}, and only {free} is free"
        )
        .into(),
        (None, _) => error.into(),
    }
}

/// Returns an error about a body, after the name of the node that it is; one about single
/// precision, with the way out.
fn name_node(design: &Design, error: EngineError) -> Failure {
    match error {
        EngineError::OutOfRange { index, .. } => match design.movable().nth(index) {
            Some(node) => format!("node `{}`: {error}", design.nodes.names.get(node)).into(),
            None => error.into(),
        },
        EngineError::AreaOutOfRange { precision, .. } if precision == Precision::F32.name() => {
            format!("{error}: expected --precision f64").into()
        }
        _ => error.into(),
    }
}
