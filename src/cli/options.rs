//! The options that subcommands share.

use super::failure::{Failure, usage};
use super::outputs::one_standard_input;
use crate::Precision;
use crate::bookshelf::PinOffset;
use crate::charge::{Charge, ChargeOptions};
use crate::design::Design;
use crate::engine::{EngineError, EngineOptions, MAX_THREADS, Pipeline, Timed};
use crate::engines::{self, EngineChoice, EngineReal, Opened};
use crate::flow::many_fillers;
use crate::formats::{self, Format, ReadOptions};
use crate::grid::{BinGrid, Rect};
use crate::lefdef::PinPosition;
use crate::memory;
use crate::place::Backend;
use crate::text::compression::{MOST_UNPACKED, set_most_unpacked};
use crate::wirelength::Netlist;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// The design that a subcommand reads.
#[derive(Args, Clone, Debug)]
pub(crate) struct DesignArgs {
    /// The design: an .aux file, or a .def file (.gz, .xz, .bz2) with its LEF files
    #[arg(value_name = "DESIGN")]
    pub(crate) path: PathBuf,
    /// LEF file of a .def design; repeat it for each file, the technology first
    #[arg(long, value_name = "FILE")]
    lef: Vec<PathBuf>,
    /// Read this placement, a .pl or .def file, instead of the design's own. Nodes that are not in
    /// it keep the design's positions. `eval` accepts several
    #[arg(long, value_name = "FILE")]
    pub(crate) pl: Vec<PathBuf>,
    /// Net weights, a name and a weight on each line, as in a .wts file; other nets do not change
    #[arg(long, value_name = "FILE")]
    net_weights: Option<PathBuf>,
    /// Origin of the pin offsets in the .nets file, relative to the cell [default: center]
    #[arg(long, value_parser = pin_offset(), value_name = "ORIGIN")]
    pin_offset: Option<PinOffset>,
    /// Position of a LEF pin: the centre of its bounding box, or the mean of its rectangles'
    /// centres [default: center]
    #[arg(long, value_parser = pin_position(), value_name = "WHERE")]
    pin_position: Option<PinPosition>,
    /// Treat filler cells (CLASS CORE SPACER) of a .def design as movable cells. Without this
    /// option they are left out and written UNPLACED
    #[arg(long)]
    pub(crate) keep_fillers: bool,
    /// Largest size that a compressed file may unpack to, as 500M, 4G or 1T [default: 64G, or 90 %
    /// of the available memory if that is less]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    max_unpacked: Option<u64>,
}

/// The options of every subcommand that evaluates a design.
#[derive(Args, Clone, Debug)]
pub(crate) struct EvaluationArgs {
    #[command(flatten)]
    pub(crate) design: DesignArgs,
    #[command(flatten)]
    pub(crate) options: SolveArgs,
}

/// The options that need no file.
#[derive(Args, Clone, Debug)]
pub(crate) struct SolveArgs {
    /// Bins along x and y [default: DREAMPlace's choice for the design]
    #[arg(long, value_name = "NX[xNY]")]
    pub(crate) bins: Option<Bins>,
    /// Target density, above 0 and at most 1 [default: 1]
    #[arg(long, value_name = "T", allow_hyphen_values = true, value_parser = target_density)]
    pub(crate) target_density: Option<f64>,
    /// Fill the free space with fillers
    #[arg(long)]
    pub(crate) fillers: bool,
    /// Number of fillers above which fillers become larger
    #[arg(skip = usize::MAX)]
    many_fillers: usize,
    /// Sites at both sides of every cell
    #[arg(skip)]
    padding: u32,
    /// Whether halos of movable nodes take area
    #[arg(skip)]
    halos: bool,
    /// Whether a fence whose members do not fit is a warning
    #[arg(skip)]
    allow_overfull: bool,
    /// Count area outside every row as fixed
    #[arg(long)]
    row_blockage: bool,
    /// Engine: auto, cpu, cuda, cuda:N, cuda:N,M… or cuda:all. If several devices are slower than
    /// one, only the first is used
    #[arg(long, value_name = "ENGINE", default_value = "auto")]
    pub(crate) engine: EngineChoice,
    /// Method of the solve; auto uses the fastest for the engine and the bins
    #[arg(long, value_parser = pipeline(), default_value = "auto", value_name = "NAME")]
    pub(crate) pipeline: PipelineArg,
    /// Working precision
    #[arg(long, value_parser = precision(), default_value = "f32", value_name = "TYPE")]
    pub(crate) precision: Precision,
    /// Threads on the CPU; 0 uses all processors
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = thread_count)]
    pub(crate) threads: usize,
    /// Make multi-GPU results bit-identical to those of one GPU: only the first GPU solves. (Equal
    /// runs always give equal bits)
    #[arg(long)]
    pub(crate) deterministic: bool,
    /// Seed of the fillers' positions and of a placement's start
    #[arg(long, value_name = "SEED", default_value_t = 1000, allow_hyphen_values = true,
          value_parser = seed)]
    pub(crate) seed: u64,
}

/// `--pipeline`, `None` for `auto`. clap treats a field of type `Option` as an optional argument;
/// this alias hides the type.
pub(crate) type PipelineArg = Option<Pipeline>;

/// Parses the arguments of a command, given without its name.
///
/// # Panics
/// When they are wrong.
pub(crate) fn parsed<A: Args>(words: &[&OsStr]) -> A {
    let command = A::augment_args(clap::Command::new("demo").no_binary_name(true));
    let parsed = command.try_get_matches_from(words).and_then(|found| A::from_arg_matches(&found));
    parsed.expect("they are right")
}

/// Parses a name of a table.
pub(crate) fn named<T, const N: usize>(
    table: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(table.map(|(name, _)| name)).map(move |word| {
        let found = table.iter().find(|(name, _)| *name == word);
        found.expect("clap lets no other name through").1
    })
}

/// Parses `--pipeline`.
pub(crate) fn pipeline() -> impl TypedValueParser<Value = PipelineArg> {
    let [row_column, fused, three_pass] = Pipeline::ALL.map(|one| (one.name(), Some(one)));
    named([("auto", None), row_column, fused, three_pass])
}

/// Parses `--precision`.
pub(crate) fn precision() -> impl TypedValueParser<Value = Precision> {
    named([Precision::F32, Precision::F64].map(|one| (one.name(), one)))
}

/// Parses `--pin-offset`.
fn pin_offset() -> impl TypedValueParser<Value = PinOffset> {
    named([("center", PinOffset::Center), ("lower-left", PinOffset::LowerLeft)])
}

/// Parses `--pin-position`.
fn pin_position() -> impl TypedValueParser<Value = PinPosition> {
    named([("center", PinPosition::Center), ("mean", PinPosition::Mean)])
}

/// `--bins`: one number for both axes or `NXxNY`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bins(pub(crate) usize, pub(crate) usize);

impl FromStr for Bins {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (nx, ny) = text.split_once('x').unwrap_or((text, text));
        match (nx.parse(), ny.parse()) {
            (Ok(nx), Ok(ny)) => {
                // The die does not matter here.
                let unit = Rect::at(0.0, 0.0, 1.0, 1.0);
                BinGrid::new(unit, nx, ny).map_err(|e| e.to_string())?;
                Ok(Bins(nx, ny))
            }
            _ => Err("expected a whole number or two joined by x, as in 512 or 512x256".to_owned()),
        }
    }
}

/// Returns a finite number that `holds`, or an error that names the `expected` number.
pub(crate) fn number(
    text: &str,
    holds: impl Fn(f64) -> bool,
    expected: &str,
) -> Result<f64, String> {
    let number = text.parse().ok().filter(|v: &f64| v.is_finite() && holds(*v));
    number.ok_or_else(|| format!("expected {expected}"))
}

/// `--time-limit`.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    number(text, |v| (0.0..=1e9).contains(&v), "a number of seconds from 0 to 1e9")
}

/// Parses `--max-displacement`.
pub(crate) fn rows(text: &str) -> Result<f64, String> {
    number(text, |v| (0.0..=1e9).contains(&v), "a number of row heights from 0 to 1e9")
}

/// Parses `--macro-halo` and `--macro-channel`: a distance along x and along y, or one for both.
pub(crate) fn distances(text: &str) -> Result<[f64; 2], String> {
    let (x, y) = text.split_once(',').unwrap_or((text, text));
    let expected = "one or two numbers from 0 to 1e9, as in 10 or 10,20";
    let [x, y] = [x, y].map(|text| number(text, |v| (0.0..=1e9).contains(&v), expected));
    Ok([x?, y?])
}

/// Parses `--target-density`.
pub(crate) fn target_density(text: &str) -> Result<f64, String> {
    number(text, |t| t > 0.0 && t <= 1.0, "a number above 0 and at most 1")
}

/// Parses `--seed`.
fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// Parses a count of at least one.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| *n > 0);
    number.ok_or_else(|| "expected a whole number of at least 1".to_owned())
}

/// Parses `--threads`.
pub(crate) fn thread_count(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| *n <= MAX_THREADS);
    number.ok_or_else(|| format!("expected a whole number from 0 to {MAX_THREADS}"))
}

/// Parses `--max-unpacked`.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 1.0,
        "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => f64::NAN,
    };
    let bytes = digits.parse::<f64>().ok().map(|number| number * unit);
    let bytes = bytes.filter(|bytes| (1.0..=1e18).contains(bytes)).map(|bytes| bytes as u64);
    bytes.ok_or_else(|| "expected a number of bytes, alone or with K, M, G or T".to_owned())
}

/// Whether a list names something twice.
pub(crate) fn has_repeats<A: PartialEq>(list: &[A]) -> bool {
    (1..list.len()).any(|k| list[..k].contains(&list[k]))
}

impl DesignArgs {
    /// Returns how to read the design.
    pub(crate) fn read_options(&self) -> ReadOptions {
        let options = ReadOptions::default().pin_offset(self.pin_offset()).lef(&self.lef);
        let options = options.pin_position(self.pin_position());
        let mut options = options.keep_fillers(self.keep_fillers);
        options.placement = self.pl.first().cloned();
        options.net_weights.clone_from(&self.net_weights);
        options
    }

    /// Returns the origin of pin offsets in the .nets file.
    pub(crate) fn pin_offset(&self) -> PinOffset {
        self.pin_offset.unwrap_or(PinOffset::Center)
    }

    /// Returns the position of LEF pins.
    pub(crate) fn pin_position(&self) -> PinPosition {
        self.pin_position.unwrap_or(PinPosition::Center)
    }

    /// Returns the same options with another placement instead of the design's own.
    pub(crate) fn with_placement(&self, pl: &Path) -> DesignArgs {
        DesignArgs { pl: vec![pl.to_owned()], ..self.clone() }
    }

    /// Returns the same options with filler cells kept.
    pub(crate) fn keeping_fillers(&self) -> DesignArgs {
        DesignArgs { keep_fillers: true, ..self.clone() }
    }

    /// Returns the same options for another design.
    pub(crate) fn with_path(&self, path: &Path) -> DesignArgs {
        DesignArgs { path: path.to_owned(), ..self.clone() }
    }

    /// Whether the design is a DEF.
    pub(crate) fn is_def(&self) -> bool {
        Format::of(&self.path) == Format::Def
    }

    /// Returns the existing files that are read.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        formats::files_of(&self.path, &self.read_options())
    }

    /// Fails with a usage error if options are not for this kind of design, or more than one
    /// input is standard input. Also sets the limit of `--max-unpacked`.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let memory = || memory::available().map_or(u64::MAX, |there| there / 10 * 9);
        let most = || MOST_UNPACKED.min(memory());
        set_most_unpacked(self.max_unpacked.unwrap_or_else(most));
        let only_for = |option: &str, kind: &str| {
            let message = format!("'{option}' is for {kind} designs: {}", self.path.display());
            Err(usage(ErrorKind::ArgumentConflict, &message))
        };
        if self.is_def() {
            if self.lef.is_empty() {
                let message = format!(
                    "{}: a .def design needs its LEF files: expected '--lef FILE' once for each, \
                     the one with the technology first",
                    self.path.display()
                );
                return Err(usage(ErrorKind::MissingRequiredArgument, &message));
            }
            if self.pin_offset.is_some() {
                return only_for("--pin-offset", ".aux");
            }
        } else if !self.lef.is_empty() {
            return only_for("--lef", ".def");
        } else if self.pin_position.is_some() {
            return only_for("--pin-position", ".def");
        } else if self.keep_fillers {
            return only_for("--keep-fillers", ".def");
        }
        if self.pl.len() > 1 {
            let message =
                "the argument '--pl <FILE>' cannot be used multiple times with this command";
            return Err(usage(ErrorKind::ArgumentConflict, message));
        }
        let inputs = [&self.path].into_iter().chain(&self.lef).chain(&self.pl);
        one_standard_input(inputs.map(PathBuf::as_path))
    }
}

impl EvaluationArgs {
    /// Returns the default options of a design, with fillers.
    pub(crate) fn for_demo(aux: &Path, engine: EngineChoice) -> Self {
        let mut args: EvaluationArgs = parsed(&[aux.as_ref(), OsStr::new("--fillers")]);
        args.options.engine = engine;
        args
    }
}

impl SolveArgs {
    pub(crate) fn target_density(&self) -> f64 {
        self.target_density.unwrap_or(1.0)
    }

    /// Returns these arguments, with `bins` and `target_density` as defaults.
    pub(crate) fn or(&self, bins: [usize; 2], target_density: f64) -> SolveArgs {
        let [nx, ny] = bins;
        SolveArgs {
            bins: self.bins.or(Some(Bins(nx, ny))),
            target_density: self.target_density.or(Some(target_density)),
            ..self.clone()
        }
    }

    /// Returns the same options, with a warning about a fence whose members do not fit.
    pub(crate) fn allowing_overfull(&self) -> SolveArgs {
        SolveArgs { allow_overfull: true, ..self.clone() }
    }

    /// Returns the same options with halos, and this number of free sites at both sides of every
    /// cell.
    pub(crate) fn with_room(&self, padding: u32) -> SolveArgs {
        SolveArgs { padding, halos: true, ..self.clone() }
    }

    /// Returns the same options with the fillers of a placement of `design`.
    pub(crate) fn with_fillers(&self, design: &Design) -> SolveArgs {
        SolveArgs { fillers: true, many_fillers: many_fillers(design), ..self.clone() }
    }

    /// Returns the same options with `pipeline`.
    pub(crate) fn with_pipeline(&self, pipeline: Pipeline) -> SolveArgs {
        SolveArgs { pipeline: Some(pipeline), ..self.clone() }
    }

    pub(crate) fn charge_options(&self) -> ChargeOptions {
        ChargeOptions::default()
            .target_density(self.target_density())
            .fillers(self.fillers)
            .many_fillers(self.many_fillers)
            .padding(self.padding)
            .halos(self.halos)
            .row_blockage(self.row_blockage)
            .seed(self.seed)
            .allow_overfull(self.allow_overfull)
    }

    pub(crate) fn engine_options(&self) -> EngineOptions {
        let options = EngineOptions::default().pipeline(self.pipeline).threads(self.threads);
        options.deterministic(self.deterministic)
    }

    /// Opens the engine.
    pub(crate) fn open<T: EngineReal>(
        &self,
        charge: Charge,
    ) -> Result<Opened<Box<dyn Timed<T>>>, EngineError> {
        engines::open(charge, self.engine, &self.engine_options())
    }

    /// Opens what places on the engine.
    pub(crate) fn open_backend<T: EngineReal>(
        &self,
        charge: Arc<Charge>,
        netlist: &Netlist,
    ) -> Result<Opened<Box<dyn Backend>>, EngineError> {
        let options = self.engine_options();
        engines::open_backend(charge, netlist, self.engine, &options, engines::no_terms::<T>())
    }
}

/// Returns a usage error for a command that runs on one device if several are given.
pub(crate) fn only_one_device(engine: EngineChoice) -> Result<(), Failure> {
    match engine {
        EngineChoice::Several(_) => {
            let message = "this command runs on one device: expected '--engine' auto, cpu, cuda \
                           or cuda:N";
            Err(usage(ErrorKind::InvalidValue, message))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
