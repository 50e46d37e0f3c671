//! `placefield legalize`: makes a placement legal.

use super::diff::write_moves;
use super::document::{Content, write_document};
use super::failure::Failure;
use super::input::{needs_f64, read_design, rounded_for, use_threads};
use super::legality::own_placement;
use super::log::Doing;
use super::options::{DesignArgs, seconds, thread_count};
use super::outputs::{Outputs, PICTURES, check_names, check_placement_output, to_stdout};
use super::results::{list, tell};
use super::stages::{self, LegalArgs, asked, deadline, legalizing};
use super::stop;
use super::terminal::stdout;
use crate::cpu::engine::milliseconds;
use crate::evaluate::DesignReport;
use crate::flow::{Kept, LastReport, StageReport, Stages};
use crate::formats::write_placement;
use crate::warning::Warning;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Options of `placefield legalize`.
#[derive(Args)]
pub(crate) struct LegalizeArgs {
    #[command(flatten)]
    design: DesignArgs,
    /// Write the legal placement: a .pl file, or a copy of the .def file (.gz) with its movable
    /// cells placed
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Threads on the CPU; 0 uses all processors
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = thread_count)]
    threads: usize,
    #[command(flatten)]
    legal: LegalArgs,
    /// Stop after this time and write the placement so far
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time_limit: Option<f64>,
    /// Write the numbers as JSON; - for standard output, instead of the text
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw the displacement of the cells
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

/// `--json`; its keys are a contract.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LegalizeReport<'a> {
    /// The numbers of the design.
    design: DesignReport,
    /// The options.
    options: LegalArgs,
    /// The numbers of the legal placement.
    result: LastReport,
    #[serde(flatten)]
    stages: &'a Stages,
    /// Milliseconds of each part.
    timings_ms: Timings,
    /// Warnings about the design and its numbers.
    warnings: &'a [Warning],
}

impl Content for LegalizeReport<'_> {
    const COMMAND: &'static str = "legalize";
}

#[derive(Serialize, JsonSchema)]
struct Timings {
    /// Reading the design.
    parse: f64,
    /// Legalization, and the check of legality.
    legalize: f64,
    /// From the start of the command to this point.
    total: f64,
}

/// Reads, legalises, writes, and says how it went.
pub(crate) fn run(args: &LegalizeArgs) -> Result<(), Failure> {
    let begun = Instant::now();
    args.design.check()?;
    Outputs::default()
        .file("--output", Some(&args.output))
        .file("--json", args.json.as_ref())
        .folder("--plots", args.plots.as_ref(), PICTURES)
        .check(&args.design.files())?;
    check_placement_output(&args.output, &args.design.path)?;
    use_threads(args.threads)?;
    let mut opened = read_design(&args.design)?;
    check_names(&args.output, &opened.design)?;
    if let Some(home) = own_placement(&mut opened, args.design.pin_position())? {
        opened.design.nodes.kind = home.kind;
    }
    opened.locate_unplaced();
    let design = &mut opened.design;
    let mut kept = args.legal.keep_placed.then(|| Kept::new(design, &opened.unplaced));
    let options = args.legal.apply(design);
    let before = design.placement.clone();
    let mut reached = Stages::of_global(StageReport::of(design, None, None));
    let started = Instant::now();
    stop::listen()?;
    let deadline = deadline(begun, args.time_limit);
    let doing = Doing::begin("making the placement legal");
    reached.legalize(design, &options, None, &mut |progress| {
        doing.show(|| legalizing(progress));
        asked(deadline)
    })?;
    drop(doing);
    let legalize_ms = milliseconds(started);
    if let Some(kept) = &mut kept {
        reached.kept = Some(kept.report(design)?);
        kept.swap(design);
    }
    if rounded_for(&args.output, design, &mut opened.warnings) || kept.is_some() {
        reached.judge(design, &before)?;
    }
    write_placement(&args.output, &args.design.path, design)?;
    opened.warnings.extend(needs_f64(design));
    let mut files = vec![args.output.clone()];
    if let (Some(folder), Some(moved)) = (&args.plots, &reached.moved) {
        write_moves("by legalisation", design, &before, moved, folder, &mut files)?;
    }
    let document = LegalizeReport {
        design: DesignReport::without_charge(design, (opened.def.as_ref(), opened.lef.as_ref())),
        options: args.legal,
        result: reached.result(),
        stages: &reached,
        timings_ms: Timings {
            parse: opened.parse_ms,
            legalize: legalize_ms,
            total: milliseconds(begun),
        },
        warnings: &opened.warnings,
    };
    write_document(args.json.as_ref(), &opened.files, &files, &document)?;
    files.extend(args.json.clone());
    if !to_stdout(&args.json) {
        tell(&[], &opened.warnings);
        let mut out = stdout()?;
        let d = &document.design;
        writeln!(
            out,
            "{}: {} movable cells, {} fixed, {} nets, {} rows",
            d.name, d.movable, d.fixed, d.nets, d.rows
        )?;
        stages::print(&reached, "given", design, &mut out)?;
        drop(out);
        list(&files)?;
    }
    stages::ended(&reached)
}
