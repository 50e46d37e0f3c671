//! What the subcommands share: the evaluation's options, opening a design and
//! an engine for it, and writing results.

use super::Failure;
use super::engines::EngineChoice;
use crate::Precision;
use crate::bookshelf::{self, PinOffset, ReadOptions};
use crate::charge::{Charge, ChargeOptions};
use crate::design::Design;
use crate::engine::{EngineError, EngineOptions, MAX_THREADS, Pipeline, check_range};
use crate::grid::{BinGrid, MAX_BINS_PER_AXIS, Rect};
use clap::{Args, ValueEnum};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

/// The options of every subcommand that evaluates a design.
#[derive(Args, Clone, Debug)]
pub(crate) struct EvaluationArgs {
    /// Placement to read in place of the one the .aux names
    #[arg(long, value_name = "FILE")]
    pub(crate) pl: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) options: SolveArgs,
    /// Where the .nets file counts pin offsets from
    #[arg(long, value_enum, default_value_t = PinOffsetArg::Center, value_name = "ORIGIN")]
    pin_offset: PinOffsetArg,
}

/// The options that need no file.
#[derive(Args, Clone, Debug)]
pub(crate) struct SolveArgs {
    /// Bins along x and y; DREAMPlace's choice for the design unless given
    #[arg(long, value_name = "NX[xNY]")]
    bins: Option<Bins>,
    /// Target density, above 0 and at most 1
    #[arg(long, value_name = "T", default_value_t = 1.0, allow_hyphen_values = true)]
    target_density: f64,
    /// Fill the free space with fillers
    #[arg(long)]
    fillers: bool,
    /// Count area outside every row as fixed
    #[arg(long)]
    row_blockage: bool,
    /// Engine: auto, cpu, cuda or cuda:N; for compare also both or both:N
    #[arg(long, value_name = "ENGINE", default_value = "auto")]
    pub(crate) engine: EngineChoice,
    /// How the solve is composed of transforms; auto takes the fastest for engine and bins
    #[arg(long, value_enum, default_value_t = PipelineArg::Auto, value_name = "NAME")]
    pipeline: PipelineArg,
    /// Working precision
    #[arg(long, value_enum, default_value_t = PrecisionArg::F32, value_name = "TYPE")]
    precision: PrecisionArg,
    /// Threads on the CPU; 0 takes all there are
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = thread_count)]
    threads: usize,
    /// The same bits on every run: every engine always gives them
    #[arg(long)]
    #[allow(dead_code)] // accepted, and without effect
    deterministic: bool,
    /// Seed of the fillers' positions, and of a placement's start
    #[arg(long, value_name = "SEED", default_value_t = 1000)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PinOffsetArg {
    Center,
    LowerLeft,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PipelineArg {
    Auto,
    RowColumn,
    Fused,
    ThreePass,
}

impl PipelineArg {
    fn pipeline(self) -> Option<Pipeline> {
        match self {
            PipelineArg::Auto => None,
            PipelineArg::RowColumn => Some(Pipeline::RowColumn),
            PipelineArg::Fused => Some(Pipeline::Fused),
            PipelineArg::ThreePass => Some(Pipeline::ThreePass),
        }
    }
}

/// `--precision`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PrecisionArg {
    F32,
    F64,
}

impl From<PrecisionArg> for Precision {
    fn from(arg: PrecisionArg) -> Precision {
        match arg {
            PrecisionArg::F32 => Precision::F32,
            PrecisionArg::F64 => Precision::F64,
        }
    }
}

/// `--bins`: one number for both axes or `NXxNY`.
#[derive(Clone, Copy, Debug)]
struct Bins(usize, usize);

impl FromStr for Bins {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (nx, ny) = text.split_once('x').unwrap_or((text, text));
        match (nx.parse(), ny.parse()) {
            (Ok(nx), Ok(ny)) => Ok(Bins(nx, ny)),
            _ => Err("expected a whole number or two joined by x, as in 512 or 512x256".to_owned()),
        }
    }
}

/// `--threads`.
pub(crate) fn thread_count(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| *n <= MAX_THREADS);
    number.ok_or_else(|| format!("expected a whole number from 0 to {MAX_THREADS}"))
}

/// Has all that follows run on this many threads, 0 for as many as there are: once a run.
pub(crate) fn use_threads(threads: usize) -> Result<(), Failure> {
    if threads > 0 {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    Ok(())
}

impl EvaluationArgs {
    /// The defaults, with fillers.
    pub(crate) fn for_demo(engine: EngineChoice) -> Self {
        #[derive(clap::Parser)]
        struct Defaults {
            #[command(flatten)]
            evaluation: EvaluationArgs,
        }
        let mut args = <Defaults as clap::Parser>::parse_from(["demo", "--fillers"]).evaluation;
        args.options.engine = engine;
        args
    }
}

impl SolveArgs {
    pub(crate) fn precision(&self) -> Precision {
        self.precision.into()
    }

    /// The pipeline asked for, none for `auto`.
    pub(crate) fn pipeline(&self) -> Option<Pipeline> {
        self.pipeline.pipeline()
    }

    pub(crate) fn fillers(&self) -> bool {
        self.fillers
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// The same with fillers.
    pub(crate) fn with_fillers(&self) -> SolveArgs {
        SolveArgs { fillers: true, ..self.clone() }
    }

    /// The same by `pipeline`.
    pub(crate) fn with_pipeline(&self, pipeline: Pipeline) -> SolveArgs {
        let mut names = PipelineArg::value_variants().iter().copied();
        let pipeline = names.find(|arg| arg.pipeline() == Some(pipeline));
        SolveArgs { pipeline: pipeline.expect("every pipeline has a name"), ..self.clone() }
    }

    pub(crate) fn row_blockage(&self) -> bool {
        self.row_blockage
    }

    fn charge_options(&self) -> ChargeOptions {
        ChargeOptions::default()
            .target_density(self.target_density)
            .fillers(self.fillers)
            .row_blockage(self.row_blockage)
            .seed(self.seed)
    }

    pub(crate) fn engine_options(&self) -> EngineOptions {
        EngineOptions::default().pipeline(self.pipeline()).threads(self.threads)
    }
}

/// A design in memory, and what reading it said.
pub(crate) struct Opened {
    pub(crate) design: Design,
    pub(crate) warnings: Vec<String>,
    pub(crate) parse_ms: f64,
}

/// Reads the design; a spinner turns meanwhile on a terminal.
pub(crate) fn open_design(aux: &Path, args: &EvaluationArgs) -> Result<Opened, Failure> {
    let spinner =
        indicatif::ProgressBar::new_spinner().with_message(format!("reading {}", aux.display()));
    spinner.enable_steady_tick(std::time::Duration::from_millis(100));
    let pin_offset = match args.pin_offset {
        PinOffsetArg::Center => PinOffset::Center,
        PinOffsetArg::LowerLeft => PinOffset::LowerLeft,
    };
    let start = Instant::now();
    use_threads(args.options.threads)?;
    let mut options = ReadOptions::default().pin_offset(pin_offset);
    options.pl = args.pl.clone();
    let loaded = bookshelf::read_design(aux, &options)?;
    let parse_ms = start.elapsed().as_secs_f64() * 1e3;
    spinner.finish_and_clear();
    Ok(Opened { design: loaded.design, warnings: loaded.warnings, parse_ms })
}

/// Bins and charge of a design.
pub(crate) fn charge_of(design: &Design, args: &SolveArgs) -> Result<Charge, Failure> {
    let die = design.die().ok_or("the design has no rows, so it has no die")?;
    let Bins(nx, ny) = args.bins.unwrap_or_else(|| default_bins(design, die, args.target_density));
    let grid = BinGrid::new(die, nx, ny)?;
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
    // At most 4096² in all, a die like a thread not excepted.
    let enough = |n: &f64| ideal / 4.0 < n * n * times || 4.0 * n * n * times > 4096.0 * 4096.0;
    let n = (1..=12).map(|k| 2f64.powi(k)).find(enough).unwrap_or(4096.0);
    let bins = |along: f64| ((n * 2f64.powf(along)) as usize).min(MAX_BINS_PER_AXIS);
    Bins(bins(along_x), bins(along_y))
}

/// Writes `path` (`-`: standard output) through `write`, whole or not at all.
pub(crate) fn write_output(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    if path == Path::new("-") {
        let mut out = io::stdout().lock();
        write(&mut out)?;
        out.flush()?;
        return Ok(());
    }
    crate::output::write_whole(path, write).map_err(|e| named(path, e))
}

/// Writes pretty JSON to `path` (`-`: standard output).
pub(crate) fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), Failure> {
    write_output(path, |out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        writeln!(out)
    })
}

/// Makes sure that [`write_output`] will be able to write `path`.
pub(crate) fn check_output(path: &Path) -> Result<(), Failure> {
    if path == Path::new("-") {
        return Ok(());
    }
    crate::output::check_writable(path).map_err(|e| named(path, e))
}

/// Makes a folder for output and makes sure that files can be written there.
pub(crate) fn make_folder(path: &Path) -> Result<(), Failure> {
    if path.exists() && !path.is_dir() {
        return Err(named(path, io::ErrorKind::NotADirectory.into()));
    }
    std::fs::create_dir_all(path).map_err(|e| named(path, e))?;
    crate::output::check_writable(&path.join(".placefield")).map_err(|e| named(path, e))
}

/// Says on stderr what a reader of the results should know; called once they
/// are written, so that a run that fails says nothing but its error.
pub(crate) fn tell(notes: &[String], warnings: &[String]) {
    for note in notes {
        super::say(note);
    }
    for warning in warnings {
        super::say(&format!("warning: {warning}"));
    }
}

/// The error with the file it is about.
pub(crate) fn named(path: &Path, error: io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return error.into();
    }
    format!("{}: {error}", path.display()).into()
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
        // A die like a thread still has a grid, whatever its cells.
        design.nodes.width = vec![1e-9; 100];
        let thread = Rect::at(0.0, 0.0, 1.0, 1e9);
        let Bins(nx, ny) = default_bins(&design, thread, 1.0);
        assert!(BinGrid::new(thread, nx, ny).is_ok(), "{nx} x {ny}");
        assert!((1 << 20..=1 << 24).contains(&(nx * ny)), "{nx} x {ny}");
        let Bins(nx, ny) = default_bins(&design, Rect::at(0.0, 0.0, 1e6, 1e6), 1.0);
        assert_eq!((nx, ny), (4096, 4096));
    }
}
