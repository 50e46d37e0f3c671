//! The `placefield` program from outside: what it prints, writes and exits with.

mod arrays;
mod bad_input;
mod bench;
mod browser;
mod cases;
#[path = "../common/mod.rs"]
mod common;
mod compress;
mod compression;
mod contract;
mod def;
mod files;
mod kept;
mod legality;
mod legalize;
mod pictures;
mod place;
mod ranks;
mod real;
mod refine;
mod report;
mod runs;
mod schema;
mod scripts;
mod sparse;
#[cfg(target_os = "linux")]
mod system;
mod tables;
mod tiny;
mod usage;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Every pipeline by name, in the order of the tables.
const PIPELINES: [&str; 3] = ["row-column", "fused", "three-pass"];

/// A part of a command line.
trait Words {
    /// A text is split at its blanks; a path is one word.
    fn words(&self) -> Vec<&OsStr>;
}

impl Words for str {
    fn words(&self) -> Vec<&OsStr> {
        self.split_whitespace().map(OsStr::new).collect()
    }
}

impl Words for String {
    fn words(&self) -> Vec<&OsStr> {
        self.as_str().words()
    }
}

impl Words for Path {
    fn words(&self) -> Vec<&OsStr> {
        vec![self.as_os_str()]
    }
}

impl Words for PathBuf {
    fn words(&self) -> Vec<&OsStr> {
        self.as_path().words()
    }
}

impl<T: Words> Words for [T] {
    fn words(&self) -> Vec<&OsStr> {
        self.iter().flat_map(T::words).collect()
    }
}

impl<T: Words, const N: usize> Words for [T; N] {
    fn words(&self) -> Vec<&OsStr> {
        self.as_slice().words()
    }
}

impl<T: Words + ?Sized> Words for &T {
    fn words(&self) -> Vec<&OsStr> {
        (**self).words()
    }
}

/// The program with these arguments, in no folder of its own.
fn placefield(args: &[&dyn Words]) -> Command {
    let mut command = Command::cargo_bin("placefield").unwrap();
    command.args(args.words());
    // However slow the machine is, what is said is the same.
    command.env("PLACEFIELD_PROGRESS", "0");
    command
}

/// Runs it; it must succeed. Gives standard output.
fn run(args: &[&dyn Words]) -> String {
    let output = placefield(args).assert().success().get_output().clone();
    String::from_utf8(output.stdout).unwrap()
}

/// Runs it; it must succeed and print JSON.
fn run_json(args: &[&dyn Words]) -> Value {
    serde_json::from_str(&run(args)).unwrap()
}

/// Runs it; it must exit with 1, print nothing and say one line. Gives that line.
fn failure(args: &[&dyn Words]) -> String {
    let one_line = predicate::str::is_match(r"\Aplacefield: [^\n]+\n\z").unwrap();
    let assert = placefield(args).assert().code(1).stdout("").stderr(one_line);
    said(&assert).trim_end().to_owned()
}

/// Standard error of a run.
fn said(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

/// The command with no signal ignored, whatever this process ignores.
#[cfg(target_os = "linux")]
fn heeding(command: &mut std::process::Command) -> &mut std::process::Command {
    use std::os::unix::process::CommandExt;
    let heed = || {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: no code of this program's handles the signal.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: what runs between fork and exec calls `signal` alone, which may be called there.
    unsafe { command.pre_exec(heed) }
}

/// Returns the output and status of a run that is interrupted as soon as it handles the signal.
#[cfg(target_os = "linux")]
fn interrupted(args: &[&dyn Words]) -> std::process::Output {
    interrupted_at("an interruption ends the run with what there is", args)
}

/// Returns the output and status of a run that is interrupted once it says this with --verbose.
#[cfg(target_os = "linux")]
fn interrupted_at(work: &str, args: &[&dyn Words]) -> std::process::Output {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("placefield"));
    let command = command.args(args.words()).arg("--verbose").env("PLACEFIELD_PROGRESS", "0");
    let command = heeding(command).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Running::start(command);
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    said.find(|line: &String| line.ends_with(work)).expect("ended before it was interrupted");
    interrupt(child.id());
    // The lines that --verbose adds begin with a time.
    let added =
        |line: &String| line.split_once(" s: ").is_some_and(|(s, _)| s.parse::<f64>().is_ok());
    let rest: String = said.filter(|line| !added(line)).map(|line| line + "\n").collect();
    std::process::Output { stderr: rest.into_bytes(), ..child.output() }
}

/// A program that runs beside a test. It is killed if the test fails before it has ended.
#[cfg(target_os = "linux")]
struct Running(Option<std::process::Child>);

#[cfg(target_os = "linux")]
impl Running {
    fn start(command: &mut std::process::Command) -> Self {
        Running(Some(command.spawn().unwrap()))
    }

    /// Waits for the program to end; returns its status and its output.
    fn output(mut self) -> std::process::Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

#[cfg(target_os = "linux")]
impl std::ops::Deref for Running {
    type Target = std::process::Child;

    fn deref(&self) -> &Self::Target {
        self.0.as_ref().unwrap()
    }
}

#[cfg(target_os = "linux")]
impl std::ops::DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.0.as_mut().unwrap()
    }
}

#[cfg(target_os = "linux")]
impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Sends one interruption.
#[cfg(target_os = "linux")]
fn interrupt(process: u32) {
    let kill = || std::process::Command::new("kill").args(["-INT", &process.to_string()]).output();
    assert!(kill().unwrap().status.success());
    // A second signal at once is of the same interruption. It may come too late.
    let _ = kill().unwrap();
}

/// Evaluates and gives the JSON of standard output.
fn eval_json(args: &[&dyn Words]) -> Value {
    run_json(&[&"eval --json -", &args])
}

/// A design of so many cells in a folder of its own, and the path of its `.aux` file.
fn generated(cells: usize) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    run(&[&format!("generate --cells {cells} --out"), &folder.path()]);
    let aux = folder.path().join(format!("cells{cells}.aux"));
    (folder, aux)
}

fn text_of(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn json_of(path: impl AsRef<Path>) -> Value {
    serde_json::from_str(&text_of(path)).unwrap()
}

/// The texts that the items of a list have under `key`.
fn texts<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|item| item[key].as_str().unwrap()).collect()
}

/// Shape and values of a NumPy file, which must be little-endian, in C order
/// and of the precision of `T`.
fn npy<T: npyz::Deserialize>(path: &Path) -> (Vec<u64>, Vec<T>) {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let file = npyz::NpyFile::new(&bytes[..]).unwrap();
    assert_eq!(file.order(), npyz::Order::C);
    (file.shape().to_vec(), file.into_vec().unwrap())
}

/// Names in a folder, sorted.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// `|got − want| ≤ tolerance · scale`, with the place named.
fn close(what: &str, got: f64, want: f64, scale: f64, tolerance: f64) {
    assert!((got - want).abs() <= tolerance * scale, "{what}: got {got:e}, want {want:e}");
}
