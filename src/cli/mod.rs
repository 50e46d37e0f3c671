//! The command line. It is not part of the library's API, and the only module that prints or exits.
//!
//! Exit codes: 0 done; 1 the input is wrong or the run failed, with one line on stderr; 2 wrong
//! usage, values out of range or an output over an input; 3 a placement was written that stopped
//! before its goal or is not legal although that was requested; 130 interrupted by SIGINT, SIGTERM
//! or SIGHUP. If interrupted, placements, legalizations, refinements, comparisons and benchmarks
//! write partial results, and other commands write nothing. A broken pipe is not an error.

mod arrays;
mod bench;
mod compare;
mod compress;
mod config;
mod congestion;
mod convert;
mod demo;
mod diff;
mod document;
mod engines;
mod eval;
mod evaluation;
mod failure;
mod generate;
mod help;
mod info;
mod input;
mod legality;
mod legalize;
mod log;
mod maps;
mod memory;
mod microns;
mod options;
mod out_of_memory;
mod outputs;
mod picture_args;
mod pictures;
mod place;
mod plot;
mod ranks;
mod refine;
mod report;
mod results;
mod schema;
mod shell;
mod stages;
mod stop;
mod terminal;
#[cfg(feature = "cuda")]
mod tune;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use failure::Failure;
use log::say;
pub use out_of_memory::Allocator;
use std::io::{self, Write};
use std::process::ExitCode;
pub use terminal::standard_output_is_closed;
use terminal::{print_error, raw_stdout};

/// Places the cells of a chip and evaluates placements: density, potential, field and forces.
#[derive(Parser)]
#[command(name = "placefield", bin_name = "placefield", version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    log: log::LogArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Evaluate a placement: density, overflow, energy, field, forces
    Eval(eval::EvalArgs),
    /// Compare placements of a design, or results of runs: wirelength, density, displacement
    Diff(diff::DiffArgs),
    /// Run pipelines side by side while the cells spread
    Compare(compare::CompareArgs),
    /// Draw density, potential, field and force as PNG, SVG and PDF
    Plot(plot::PlotArgs),
    /// Write an HTML page: linked maps, the largest overflows and the causes of a bad density
    Report(report::ReportArgs),
    /// Place a design: global placement, legalization and detailed placement
    Place(place::PlaceArgs),
    /// Make a placement legal: move every cell to a nearby legal place
    Legalize(legalize::LegalizeArgs),
    /// Shorten the wires of a legal placement and keep it legal
    Refine(refine::RefineArgs),
    /// Compute potential and field of a density in a NumPy file
    Solve(arrays::solve::SolveArrayArgs),
    /// Compute cosine and sine transforms of a NumPy array
    Dct(arrays::dct::DctArgs),
    /// Write a design in another format: DEF with LEF to Bookshelf and back
    Convert(convert::ConvertArgs),
    Generate(generate::GenerateArgs),
    Compress(compress::CompressArgs),
    /// Evaluate, draw, compare and place a generated design; needs no files
    Demo(demo::DemoArgs),
    /// Measure the paper's tables and figures on this machine, beside the printed numbers
    Bench(bench::BenchArgs),
    /// List engines and devices, and reasons for missing ones
    Info(info::InfoArgs),
    /// Find the fastest kernels for this GPU and save them
    #[cfg(feature = "cuda")]
    Tune(tune::TuneArgs),
    /// Print the JSON Schema of a command's JSON
    Schema(schema::SchemaArgs),
    /// Print a completion script for a shell
    Completions(shell::CompletionsArgs),
    /// Print the manual page, or write one page per command
    Man(shell::ManArgs),
}

/// A command line that has been read.
pub struct CommandLine {
    matches: clap::ArgMatches,
    cli: Result<Cli, Failure>,
}

impl CommandLine {
    /// Reads this process's command line.
    ///
    /// # Errors
    /// The exit code, after help or a usage error has been printed.
    pub fn read() -> Result<Self, ExitCode> {
        let words = match config::with_config(std::env::args_os().collect(), &command()) {
            Ok(words) => words,
            Err(e) => {
                return Err(match e.downcast::<clap::Error>() {
                    Ok(usage) => print(&usage),
                    Err(e) => failed(&*e),
                });
            }
        };
        let matches = command().try_get_matches_from(words).map_err(|help| print(&help))?;
        let cli = Cli::from_arg_matches(&matches).map_err(Failure::from);
        Ok(CommandLine { matches, cli })
    }

    /// Returns environment variables, with their values, that libraries read for this command. Set
    /// them before it runs.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        match &self.cli {
            Ok(Cli { command: Command::Solve(args), .. }) => args.ranks.variables(),
            _ => Vec::new(),
        }
    }

    /// Runs the command and returns the exit code.
    pub fn run(self) -> ExitCode {
        let CommandLine { matches, cli } = self;
        let result = cli.and_then(|cli| run(&cli));
        #[cfg(feature = "cuda")]
        crate::engines::finish_prefetch();
        // Buffered output has to arrive too.
        let result = result.and_then(|()| Ok(io::stdout().flush()?));
        let code = match result {
            Ok(()) => None,
            Err(e) => Some(match e.downcast::<clap::Error>() {
                Ok(usage) => print(&usage.format(&mut called(&matches))),
                Err(e) => failed(&*e),
            }),
        };
        let logged = log::finish().map_or_else(|e| failed(&*e), |()| ExitCode::SUCCESS);
        code.unwrap_or(logged)
    }
}

/// Runs the command.
fn run(cli: &Cli) -> Result<(), Failure> {
    log::start(&cli.log)?;
    // Some commands listen once there is something to write; until then an interruption ends all of
    // them.
    stop::end_when_asked()?;
    match &cli.command {
        Command::Eval(args) => eval::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Plot(args) => plot::run(args),
        Command::Report(args) => report::run_command(args),
        Command::Place(args) => place::run(args),
        Command::Legalize(args) => legalize::run(args),
        Command::Refine(args) => refine::run(args),
        Command::Solve(args) => arrays::solve::run(args),
        Command::Dct(args) => arrays::dct::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Generate(args) => generate::run(args),
        Command::Compress(args) => compress::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Info(args) => info::run(args),
        #[cfg(feature = "cuda")]
        Command::Tune(args) => tune::run(args),
        Command::Schema(args) => schema::run(args),
        Command::Completions(args) => shell::completions(args, command()),
        Command::Man(args) => shell::man(args, command()),
    }
}

/// Prints help, the version or an error of the command line.
fn print(help_or_usage: &clap::Error) -> ExitCode {
    if help_or_usage.use_stderr() {
        // Words of the command line are in it.
        print_error(&help_or_usage.to_string());
    } else if let Err(e) =
        raw_stdout().and_then(|_| help_or_usage.print()).and_then(|()| io::stdout().flush())
    {
        return failed(&e);
    }
    ExitCode::from(help_or_usage.exit_code() as u8)
}

/// Prints why a run failed; returns its exit code.
fn failed(error: &(dyn std::error::Error + 'static)) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    // Errors about files name them; other I/O errors are about standard output.
    let what = if error.is::<io::Error>() { "standard output: " } else { "" };
    say(&format!("placefield: {what}{}", error.to_string().replace('\n', " ")));
    if error.is::<failure::Interrupted>() {
        ExitCode::from(stop::INTERRUPTED)
    } else if error.is::<failure::Stopped>() {
        ExitCode::from(3)
    } else {
        ExitCode::FAILURE
    }
}

/// Returns the command line. A word like a negative number is a value, so that errors name the
/// expected value.
fn command() -> clap::Command {
    fn with_negative_numbers(command: clap::Command) -> clap::Command {
        let values = |arg: clap::Arg| match arg.get_action().takes_values() {
            true => arg.allow_negative_numbers(true),
            false => arg,
        };
        command.mut_args(values).mut_subcommands(with_negative_numbers)
    }
    help::with_more(with_negative_numbers(Cli::command()))
}

/// Returns the subcommand that was called, whose usage an error shows.
fn called(mut matches: &clap::ArgMatches) -> clap::Command {
    let mut command = command();
    command.build();
    while let Some((name, below)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name).cloned() else { break };
        (command, matches) = (found, below);
    }
    command
}

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(e) = cause {
        if e.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
            return true;
        }
        cause = e.source();
    }
    false
}
