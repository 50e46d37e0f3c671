//! `placefield bench`: the paper's tables and figures on this machine.

use super::document::{Content, write_document};
use super::engines::open_target;
use super::failure::{Failure, Interrupted};
use super::input::use_threads;
use super::log::{self, spinner};
use super::options::{only_one_device, precision, thread_count};
use super::outputs::{Outputs, PICTURES, read_input, to_stdout};
use super::results::list;
use super::stop;
use super::terminal::{Escaping, stdout};
use crate::engines::{EngineChoice, Opened};
use crate::paper::bench::{self, EXPERIMENTS, Experiment, Report, Settings, Watch};
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of `placefield bench`.
#[derive(Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

/// Tables to measure, or existing results to show.
enum What {
    Run(Vec<&'static Experiment>, RunArgs),
    Show(ShowArgs),
}

/// One subcommand for every table, one for all of them, and `show`.
impl Subcommand for What {
    fn augment_subcommands(bench: Command) -> Command {
        let measure = |name, help| RunArgs::augment_args(Command::new(name)).about(help);
        let all = "All tables below, within 5 minutes on a GPU and 10 on two CPU cores";
        let show = "Print or draw the JSON of an earlier run";
        bench
            .subcommand(measure("all", all))
            .subcommands(EXPERIMENTS.iter().map(|e| measure(e.name, e.help)))
            .subcommand(ShowArgs::augment_args(Command::new("show")).about(show))
    }

    fn augment_subcommands_for_update(bench: Command) -> Command {
        Self::augment_subcommands(bench)
    }

    fn has_subcommand(name: &str) -> bool {
        ["all", "show"].contains(&name) || EXPERIMENTS.iter().any(|e| e.name == name)
    }
}

impl FromArgMatches for What {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (name, args) = matches.subcommand().expect("clap requires one");
        if name == "show" {
            return Ok(What::Show(ShowArgs::from_arg_matches(args)?));
        }
        let asked = EXPERIMENTS.iter().filter(|e| name == "all" || e.name == name);
        Ok(What::Run(asked.collect(), RunArgs::from_arg_matches(args)?))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// How to measure, and where results go.
#[derive(Args)]
struct RunArgs {
    /// Engine: auto, cpu, cuda or cuda:N
    #[arg(long, value_name = "ENGINE", default_value = "auto")]
    engine: EngineChoice,
    /// Working precision; the paper's is f64
    #[arg(long, value_parser = precision(), default_value = "f64", value_name = "TYPE")]
    precision: crate::Precision,
    /// Threads on the CPU; 0 uses all processors
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = thread_count)]
    threads: usize,
    /// Repetitions, fewer if time is short [default: 100, 5 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: Option<u32>,
    /// Seconds for all sizes; sizes that do not fit are marked [default: 270 on a GPU, 540 on a CPU;
    /// one table gets its share]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
    /// Measure only the smallest size of every table, with few repetitions
    #[arg(long)]
    quick: bool,
    /// A remark to save with the results
    #[arg(long, value_name = "TEXT")]
    note: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args)]
struct OutputArgs {
    /// Write the tables as JSON; - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw curves over sizes as PNG and SVG
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

/// Options of `placefield bench show`.
#[derive(Args)]
struct ShowArgs {
    /// JSON that `placefield bench … --json FILE` wrote
    #[arg(value_name = "FILE")]
    report: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

impl Content for Report {
    const COMMAND: &'static str = "bench";

    fn version(&self) -> &str {
        &self.version
    }
}

/// Measures or reads, writes, draws, prints.
pub(crate) fn run(args: &BenchArgs) -> Result<(), Failure> {
    let printed = |output: &OutputArgs| !to_stdout(&output.json);
    let (report, output, inputs, asked) = match &args.what {
        What::Show(show) => {
            let inputs = std::slice::from_ref(&show.report);
            stop::end_when_asked()?;
            prepare(&show.output, inputs)?;
            let report = read(&show.report)?;
            if printed(&show.output) {
                write!(stdout()?, "{report}")?;
            }
            (report, &show.output, inputs, 0)
        }
        What::Run(experiments, run) => {
            prepare(&run.output, &[])?;
            // Tables are printed as they come.
            let report = measure(experiments, run, printed(&run.output))?;
            (report, &run.output, &[][..], experiments.len())
        }
    };
    let mut files = Vec::new();
    if let Some(folder) = &output.plots {
        for table in &report.tables {
            files.extend(bench::draw(table, &report.machine, folder)?);
        }
    }
    write_document(output.json.as_ref(), inputs, &files, &report)?;
    files.extend(output.json.clone());
    if printed(output) {
        list(&files)?;
    }
    if asked > 0 && stop::is_asked() {
        let (there, of) = (report.tables.len(), if asked == 1 { "" } else { "s" });
        let message =
            format!("interrupted: {there} of {asked} table{of} begun, the last one not to its end");
        return Err(Interrupted(message).into());
    }
    match report.failures()[..] {
        [] => Ok(()),
        [failure, ..] => Err(format!("not all was measured: {failure}").into()),
    }
}

/// Makes sure that results can be written before they are measured.
fn prepare(output: &OutputArgs, inputs: &[PathBuf]) -> Result<(), Failure> {
    Outputs::default()
        .file("--json", output.json.as_ref())
        .folder("--plots", output.plots.as_ref(), PICTURES)
        .check(inputs)
}

fn read(path: &Path) -> Result<Report, Failure> {
    let report = serde_json::from_slice(&read_input(path)?);
    Ok(report.map_err(|e| format!("{}: {e}", path.display()))?)
}

/// Measures, and prints meanwhile unless disabled.
fn measure(experiments: &[&Experiment], args: &RunArgs, tables: bool) -> Result<Report, Failure> {
    only_one_device(args.engine)?;
    use_threads(args.threads)?;
    let Opened { engine: target, note } = open_target(args.engine, args.threads)?;
    let repetitions = if args.quick { 5 } else { bench::REPETITIONS };
    let settings = Settings {
        precision: args.precision,
        repetitions: args.repetitions.map_or(repetitions, |n| n as usize),
        quick: args.quick,
    };
    let seconds = match args.seconds {
        Some(seconds) => f64::from(seconds),
        None => default_seconds(experiments, &target.machine.engine, args.quick),
    };
    super::results::tell(note.as_slice(), &[]);
    stop::listen()?;
    if tables {
        let mut out = stdout()?;
        writeln!(out, "{}\npaper: {}", target.machine, bench::HARDWARE)?;
        args.note.iter().try_for_each(|note| writeln!(out, "note: {note}"))?;
        out.flush()?;
    }
    let bar = spinner(String::new());
    let watch = Watch {
        progress: &|what| {
            bar.set_message(what.to_owned());
            log::progress(|| what.to_owned());
        },
        finished: &|table| {
            if tables {
                // A reader that has gone away is noticed when the report is written.
                bar.suspend(|| {
                    let print =
                        |mut out: Escaping<_>| write!(out, "\n{table}").and_then(|()| out.flush());
                    let _ = stdout().and_then(print);
                });
            }
        },
        stop: &stop::is_asked,
    };
    let report = bench::run(experiments, &target, settings, seconds, watch);
    bar.finish_and_clear();
    let mut report = report?;
    report.notes.clone_from(&args.note);
    Ok(report)
}

/// Less than the 5 and 10 minutes promised, for a last size may take longer than foreseen.
fn default_seconds(experiments: &[&Experiment], engine: &str, quick: bool) -> f64 {
    let all = match (engine, quick) {
        (_, true) => 60.0,
        ("cuda", _) => 270.0,
        _ => 540.0,
    };
    let asked: f64 = experiments.iter().map(|e| e.weight).sum();
    all * asked / EXPERIMENTS.iter().map(|e| e.weight).sum::<f64>()
}
