//! Messages of a run: on standard error, and with `--log` also in a file.

use super::failure::{Failure, named};
use super::terminal::{escaped, print_error};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget};
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Options of every command.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct LogArgs {
    /// Print only warnings and errors on standard error
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Also print the start of each part on standard error, with the time since the start
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Append all messages to a file, with the time since the start, also without --verbose
    #[arg(long, global = true, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Read options from a TOML file by their long names without dashes; options without a value are
    /// true or false. Options at its top are for all commands, those in a table for the command of
    /// that name. The command line overrides the file
    #[arg(long, global = true, value_name = "FILE.toml")]
    config: Option<PathBuf>,
}

/// Seconds from one line of progress to the next where standard error is no terminal.
const EVERY: f64 = 10.0;

/// Where messages go.
struct Log {
    begun: Instant,
    quiet: bool,
    verbose: bool,
    path: Option<PathBuf>,
    config: Option<PathBuf>,
    /// Not open at first; the error if a line could not be written.
    file: Mutex<io::Result<Option<File>>>,
    /// The work in progress, for the lines of progress.
    doing: Mutex<String>,
}

static LOG: OnceLock<Log> = OnceLock::new();

fn held<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets where messages go from now on, as `args` say.
pub(crate) fn start(args: &LogArgs) -> Result<(), Failure> {
    let log = Log {
        begun: Instant::now(),
        quiet: args.quiet,
        verbose: args.verbose,
        path: args.log.clone(),
        config: args.config.clone(),
        file: Mutex::new(Ok(None)),
        doing: Mutex::default(),
    };
    let _ = LOG.set(log);
    if let Some(config) = &args.config {
        begin(&format!("options from {}", config.display()));
    }
    let every = match std::env::var("PLACEFIELD_PROGRESS") {
        Ok(text) => {
            text.parse().ok().filter(|s: &f64| (0.0..=1e9).contains(s)).ok_or_else(|| {
                format!("PLACEFIELD_PROGRESS={text}: expected seconds from 0 (no progress) to 1e9")
            })?
        }
        Err(_) => EVERY,
    };
    let to_stderr = !args.quiet && !io::stderr().is_terminal();
    if every > 0.0 && (to_stderr || args.log.is_some()) {
        let every = Duration::from_secs_f64(every);
        // Without a thread there is no progress, which is no reason to fail.
        let _ = std::thread::Builder::new().name("progress".to_owned()).spawn(move || {
            loop {
                std::thread::sleep(every);
                tell_progress(to_stderr);
            }
        });
    }
    Ok(())
}

/// Opens the file of `--log`, to whose end lines are added; called once it is known that it is no
/// input.
pub(crate) fn open() -> Result<(), Failure> {
    let Some(log) = LOG.get() else { return Ok(()) };
    let (Some(path), mut file) = (&log.path, held(&log.file)) else { return Ok(()) };
    if !matches!(*file, Ok(None)) {
        return Ok(());
    }
    let opened = OpenOptions::new().create(true).append(true).open(path);
    *file = Ok(Some(opened.map_err(|e| named(path, e))?));
    drop(file);
    let words: Vec<_> = std::env::args_os().map(|w| w.to_string_lossy().into_owned()).collect();
    keep(log, &words.join(" "));
    finish()
}

/// Returns the file of `--log`.
pub(crate) fn path() -> Option<&'static Path> {
    LOG.get()?.path.as_deref()
}

/// Returns the file of `--config`, an input of every command.
pub(crate) fn config() -> Option<&'static Path> {
    LOG.get()?.config.as_deref()
}

fn keep(log: &Log, line: &str) {
    let mut file = held(&log.file);
    if let Ok(Some(open)) = &mut *file {
        // One write a line, for those who follow the file.
        let line = format!("{:10.3} {}\n", seconds(log), escaped(line));
        // A full disk must not end the run; `finish` returns the error.
        if let Err(error) = open.write_all(line.as_bytes()) {
            *file = Err(error);
        }
    }
}

/// Returns the error if a line could not be written to the file of `--log`.
pub(crate) fn finish() -> Result<(), Failure> {
    let Some(log) = LOG.get() else { return Ok(()) };
    let mut file = held(&log.file);
    match (&*file, &log.path) {
        (Err(_), Some(path)) => {
            std::mem::replace(&mut *file, Ok(None)).map(drop).map_err(|error| named(path, error))
        }
        _ => Ok(()),
    }
}

fn seconds(log: &Log) -> f64 {
    log.begun.elapsed().as_secs_f64()
}

/// Prints a line on standard error.
fn print(line: &str) {
    print_error(&format!("{}\n", escaped(line)));
}

fn tell_progress(to_stderr: bool) {
    let Some(log) = LOG.get() else { return };
    let doing = held(&log.doing).clone();
    if doing.is_empty() {
        return;
    }
    keep(log, &doing);
    if to_stderr {
        print(&format!("{:.0} s: {doing}", seconds(log)));
    }
}

/// An error or a warning.
pub(crate) fn say(line: &str) {
    print(line);
    LOG.get().inspect(|log| keep(log, line));
}

/// Prints a message that is no warning; left out with `--quiet`.
pub(crate) fn note(line: &str) {
    if LOG.get().is_none_or(|log| !log.quiet) {
        print(line);
    }
    LOG.get().inspect(|log| keep(log, line));
}

/// Reports work that begins: a line with `--verbose`, and the text of the lines of progress.
pub(crate) fn begin(what: &str) {
    let Some(log) = LOG.get() else { return };
    if log.verbose {
        print(&format!("{:.3} s: {what}", seconds(log)));
    }
    keep(log, what);
    what.clone_into(&mut held(&log.doing));
}

/// Sets the text of the next line of progress.
pub(crate) fn progress(what: impl FnOnce() -> String) {
    if let Some(log) = LOG.get() {
        *held(&log.doing) = what();
    }
}

/// Returns a bar of so many steps on a terminal; none with `--quiet`.
pub(crate) fn bar(steps: u64) -> ProgressBar {
    match LOG.get().is_some_and(|log| log.quiet) {
        true => ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden()),
        false => ProgressBar::new(steps),
    }
}

/// Work in progress: a line on a terminal, and the text of the lines of progress.
pub(crate) struct Doing(ProgressBar);

impl Doing {
    pub(crate) fn begin(what: &str) -> Self {
        Doing(spinner(what.to_owned()))
    }

    pub(crate) fn show(&self, message: impl Fn() -> String) {
        if !self.0.is_hidden() {
            self.0.set_message(message());
        }
        progress(message);
    }
}

impl Drop for Doing {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Returns a spinner that turns on a terminal; none with `--quiet`.
pub(crate) fn spinner(message: String) -> ProgressBar {
    begin(&message);
    let spinner = match LOG.get().is_some_and(|log| log.quiet) {
        true => ProgressBar::hidden(),
        false => ProgressBar::new_spinner().with_message(escaped(&message).into_owned()),
    };
    // Without a terminal no thread is started to turn it.
    if !spinner.is_hidden() {
        spinner.enable_steady_tick(Duration::from_millis(100));
    }
    spinner
}
