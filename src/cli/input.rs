//! Reading a design and making its bins and charge.

use super::failure::Failure;
use super::memory;
use super::options::{Bins, EvaluationArgs, SolveArgs};
use crate::bookshelf::{self, ReadOptions};
use crate::charge::Charge;
use crate::design::Design;
use crate::engine::{EngineError, check_range};
use crate::grid::{BinGrid, MAX_BINS_PER_AXIS, Rect};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Has all that follows run on this many threads, 0 for as many as there are: once a run.
pub(crate) fn use_threads(threads: usize) -> Result<(), Failure> {
    if threads > 0 {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    Ok(())
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
    let spinner =
        indicatif::ProgressBar::new_spinner().with_message(format!("reading {}", aux.display()));
    spinner.enable_steady_tick(std::time::Duration::from_millis(100));
    let start = Instant::now();
    use_threads(args.options.threads())?;
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
    let Bins(nx, ny) =
        args.bins().unwrap_or_else(|| default_bins(design, die, args.target_density()));
    let grid = BinGrid::new(die, nx, ny)?;
    memory::check_bins(&grid, args.precision())?;
    let charge = Charge::from_design(design, grid, &args.charge_options())?;
    // The engine asks this too; here the body has a name.
    with_precision!(args.precision(), T => check_range::<T>(&charge))
        .map_err(|error| name_node(design, error))?;
    Ok(charge)
}

/// An error about a body, after the name of the node that it is.
fn name_node(design: &Design, error: EngineError) -> Failure {
    match error {
        EngineError::OutOfRange { index, .. } => match design.movable().nth(index) {
            Some(node) => format!("node `{}`: {error}", design.nodes.names.get(node)).into(),
            None => error.into(),
        },
        _ => error.into(),
    }
}

/// DREAMPlace's bins: its own choice for the ISPD2005 designs, its heuristic
/// for the rest, which asks for 1 to 4 mean cells per bin. Where no movable
/// cell has an area, the fixed ones are asked.
fn default_bins(design: &Design, die: Rect, target_density: f64) -> Bins {
    let fixed_choice = match design.name.split('.').next().unwrap_or_default() {
        "adaptec1" | "bigblue1" => Some(512),
        "adaptec2" | "adaptec3" | "adaptec4" | "bigblue2" => Some(1024),
        "bigblue3" | "bigblue4" => Some(2048),
        _ => None,
    };
    if let Some(n) = fixed_choice {
        return Bins(n, n);
    }
    let mean = |nodes: &mut dyn Iterator<Item = usize>| {
        let (area, count) = nodes.fold((0.0, 0usize), |(area, count), i| {
            let (w, h) = design.size(i);
            (area + w * h, count + 1)
        });
        Some(area / count as f64).filter(|mean| *mean > 0.0)
    };
    let mean = mean(&mut design.movable()).or_else(|| mean(&mut (0..design.nodes.len())));
    let ideal = mean.map_or(1.0, |mean| die.area() * target_density / mean);
    // The longer side takes a power of two times the bins of the shorter.
    let aspect = (die.width() / die.height()).log2().round().clamp(-12.0, 12.0);
    let (along_x, along_y) = if aspect >= 0.0 { (aspect, 0.0) } else { (0.0, -aspect) };
    let times = 2f64.powf(aspect.abs());
    // At most 4096² in all, for a very narrow die too.
    let enough = |n: &f64| ideal / 4.0 < n * n * times || 4.0 * n * n * times > 4096.0 * 4096.0;
    let n = (1..=12).map(|k| 2f64.powi(k)).find(enough).unwrap_or(4096.0);
    let bins = |along: f64| ((n * 2f64.powf(along)) as usize).min(MAX_BINS_PER_AXIS);
    Bins(bins(along_x), bins(along_y))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_follow_names_and_the_heuristic() {
        let mut design = Design { name: "adaptec1.mms".to_owned(), ..Design::default() };
        let die = Rect::at(0.0, 0.0, 400.0, 100.0);
        let Bins(nx, ny) = default_bins(&design, die, 1.0);
        assert_eq!((nx, ny), (512, 512));
        // 100 cells of 20 x 10 on 40000: 200 ideal bins, 4 times as wide as high.
        design.name = "other".to_owned();
        design.nodes.width = vec![20.0; 100];
        design.nodes.height = vec![10.0; 100];
        design.nodes.kind = vec![crate::design::NodeKind::Movable; 100];
        design.placement.orientation = vec![Default::default(); 100];
        let Bins(nx, ny) = default_bins(&design, die, 1.0);
        assert_eq!((nx, ny), (16, 4));
        // The same when all are fixed; the fewest without any area.
        design.nodes.kind = vec![crate::design::NodeKind::Fixed; 100];
        let Bins(nx, ny) = default_bins(&design, die, 1.0);
        assert_eq!((nx, ny), (16, 4));
        design.nodes.width = vec![0.0; 100];
        let Bins(nx, ny) = default_bins(&design, die, 1.0);
        assert_eq!((nx, ny), (8, 2));
        // A very narrow die still has a grid, whatever its cells.
        design.nodes.width = vec![1e-9; 100];
        let thread = Rect::at(0.0, 0.0, 1.0, 1e9);
        let Bins(nx, ny) = default_bins(&design, thread, 1.0);
        assert!(BinGrid::new(thread, nx, ny).is_ok(), "{nx} x {ny}");
        assert!((1 << 20..=1 << 24).contains(&(nx * ny)), "{nx} x {ny}");
        let Bins(nx, ny) = default_bins(&design, Rect::at(0.0, 0.0, 1e6, 1e6), 1.0);
        assert_eq!((nx, ny), (4096, 4096));
    }
}
