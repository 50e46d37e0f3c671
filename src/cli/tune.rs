//! `placefield tune`: times the candidates for every kernel of given line lengths on this device
//! and saves the fastest beside the kernel cache.

use super::document::{Content, NO_FILES, write_document};
use super::failure::Failure;
use super::options::precision;
use super::outputs::{Outputs, to_stdout};
use super::terminal::stdout;
use crate::cuda::internals::tuning::{Tuned, file, keep, tune};
use crate::cuda::{CudaReal, Gpu};
use crate::real::Precision;
use crate::real::with_precision;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;

/// Options of `placefield tune`.
#[derive(Args)]
pub(crate) struct TuneArgs {
    /// Line lengths: numbers of bins along an axis
    #[arg(value_name = "N", default_values_t = [512, 1024, 2048, 4096])]
    lengths: Vec<usize>,
    /// Number of the GPU
    #[arg(long, value_name = "N", default_value_t = 0)]
    device: usize,
    /// Tune only this precision [default: both]
    #[arg(long, value_parser = precision(), value_name = "TYPE")]
    precision: Option<Precision>,
    /// Time the candidates, but save nothing
    #[arg(long)]
    dry_run: bool,
    /// Write the results as JSON, a row for each pass of each length; - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The JSON document of the findings.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TuneReport {
    /// The device's name.
    device: String,
    /// A pass of a line length and a precision each.
    rows: Vec<Tuned>,
}

impl Content for TuneReport {
    const COMMAND: &'static str = "tune";
}

/// Tunes each length, and keeps the findings as it goes.
pub(crate) fn run(args: &TuneArgs) -> Result<(), Failure> {
    Outputs::default().file("--json", args.json.as_ref()).check(&[])?;
    let gpu = Gpu::open(args.device)?;
    let device = gpu.info().name.clone();
    let mut out = stdout()?;
    if !to_stdout(&args.json) {
        writeln!(out, "{device}: solves, and a DCT with an IDCT_IDXST, of N x N maps")?;
    }
    let mut rows = Vec::new();
    for &n in &args.lengths {
        for precision in [Precision::F32, Precision::F64] {
            if args.precision.is_some_and(|only| only != precision) {
                continue;
            }
            let found = with_precision!(precision, T => one::<T>(&gpu, n, args, &mut out))?;
            if !args.dry_run {
                keep(&gpu, &found).map_err(|e| match file(&gpu) {
                    Some(path) => format!("{}: {e}", path.display()),
                    None => e.to_string(),
                })?;
            }
            rows.extend(found);
        }
    }
    if let (false, false, Some(path)) = (to_stdout(&args.json), args.dry_run, file(&gpu)) {
        writeln!(out, "kept in {}; without this file the built-in table counts", path.display())?;
    }
    drop(out);
    let report = TuneReport { device, rows };
    write_document(args.json.as_ref(), NO_FILES, NO_FILES, &report)
}

fn one<T: CudaReal>(
    gpu: &Gpu,
    n: usize,
    args: &TuneArgs,
    out: &mut impl Write,
) -> Result<Vec<Tuned>, Failure> {
    let mut failed = Ok(());
    let rows = tune::<T>(gpu, n, |row| {
        if !to_stdout(&args.json) && failed.is_ok() {
            failed = line(row, T::PRECISION, out);
        }
    })?;
    failed?;
    Ok(rows)
}

fn line(row: &Tuned, precision: Precision, out: &mut impl Write) -> io::Result<()> {
    let [best, table] = row.microseconds;
    let [timed, failed] = row.candidates;
    let keep = ["", ", an eighth in shared memory", ", half in shared memory", ", P and Q apart"]
        [usize::from(row.keep.min(3))];
    writeln!(
        out,
        "{precision} {:>6} {:<8} {best:>9.2} us, table {table:>9.2} ({:+.1} %): \
         {} elements a thread, \
         {} lines side by side, {} groups{}{}{keep}, {} threads' registers; {timed} timed, \
         {failed} failed",
        row.n,
        row.role,
        100.0 * (best / table - 1.0),
        row.elements,
        row.lanes,
        row.groups,
        if row.split { ", in halves" } else { "" },
        if row.recompute { ", addresses twice" } else { "" },
        row.resident,
    )?;
    out.flush()
}
