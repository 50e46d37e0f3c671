//! Reading a design and making its bins and charge.

use super::engines;
use super::failure::Failure;
use super::memory;
use super::options::{Bins, EvaluationArgs, SolveArgs};
use super::results::spinner;
use crate::Precision;
use crate::bookshelf::{self, ReadOptions};
use crate::charge::Charge;
use crate::design::Design;
use crate::engine::{EngineError, check_range};
use crate::grid::{BinGrid, Rect};
use crate::place::default_bins;
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

/// A design in memory, and what reading it said.
pub(crate) struct Opened {
    pub(crate) design: Design,
    pub(crate) warnings: Vec<String>,
    pub(crate) parse_ms: f64,
    /// What was read.
    pub(crate) files: Vec<PathBuf>,
    /// The placement that the .aux file names, where another was read in its place.
    pub(crate) own_pl: Option<PathBuf>,
}

impl Opened {
    /// The same with its cells elsewhere, and what there is to warn of then.
    pub(crate) fn with(&self, design: Design, warnings: Vec<String>) -> Opened {
        let (files, own_pl) = (self.files.clone(), self.own_pl.clone());
        Opened { design, warnings, parse_ms: self.parse_ms, files, own_pl }
    }
}

/// Reads the design; a spinner turns meanwhile on a terminal.
pub(crate) fn open_design(aux: &Path, args: &EvaluationArgs) -> Result<Opened, Failure> {
    let start = Instant::now();
    use_threads(args.options.threads())?;
    let spinner = spinner(format!("reading {}", aux.display()));
    engines::open_ahead(&args.options, false);
    let mut options = ReadOptions::default().pin_offset(args.pin_offset());
    options.pl = args.pl.clone();
    let loaded = bookshelf::read_design(aux, &options)?;
    let parse_ms = start.elapsed().as_secs_f64() * 1e3;
    let bookshelf::Loaded { design, mut warnings, files, aux, .. } = loaded;
    warnings.extend(bookshelf::pin_offset_hint(&design, args.pin_offset()));
    spinner.finish_and_clear();
    let own_pl = aux.pl.filter(|_| args.pl.is_some());
    Ok(Opened { design, warnings, parse_ms, files, own_pl })
}

/// Bins and charge of a design.
pub(crate) fn charge_of(design: &Design, args: &SolveArgs) -> Result<Charge, Failure> {
    let die = design.die().ok_or("the design has no rows, so it has no die")?;
    let [nx, ny] = match args.bins() {
        Some(Bins(nx, ny)) => [nx, ny],
        None => default_bins(design, die, args.target_density()),
    };
    let grid = BinGrid::new(die, nx, ny)?;
    check_coordinates(design, die, args.precision())?;
    memory::check_bins(&grid, args.precision())?;
    let charge = Charge::from_design(design, grid, &args.charge_options())?;
    // The engine asks this too; here the body has a name.
    with_precision!(args.precision(), T => check_range::<T>(&charge))
        .map_err(|error| name_node(design, error))?;
    Ok(charge)
}

/// Of a row's height, the most that coordinates may be rounded by.
const COARSEST: f64 = 1.0 / 64.0;

/// Refuses single precision for a die so far from the origin that cells cannot be told apart in it.
fn check_coordinates(design: &Design, die: Rect, precision: Precision) -> Result<(), Failure> {
    let farthest = [die.xl, die.yl, die.xh, die.yh].map(f64::abs).into_iter().fold(0.0, f64::max);
    // Between numbers of single precision there.
    let step = farthest * f64::from(f32::EPSILON);
    match design.row_height() {
        Some(row) if precision == Precision::F32 && step > COARSEST * row => Err(format!(
            "f32 holds coordinates of {farthest:e} in steps of {step:.1}, for rows that are {row} high: expected --precision f64"
        )
        .into()),
        _ => Ok(()),
    }
}

/// An error about a body, after the name of the node that it is; one about single precision, with
/// the way out.
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

/// Runs `$body` with `$t` standing for the precision's type.
macro_rules! with_precision {
    ($precision:expr, $t:ident => $body:expr) => {
        match $precision {
            crate::Precision::F32 => {
                type $t = f32;
                $body
            }
            crate::Precision::F64 => {
                type $t = f64;
                $body
            }
        }
    };
}
pub(crate) use with_precision;
