//! `placefield refine`: shortens the wires of a legal placement.

use super::document::{Content, write_document};
use super::failure::{Failure, Stopped};
use super::input::{Opened, needs_f64, read_design, rounded_for, use_threads};
use super::legality;
use super::log::Doing;
use super::options::{
    Bins, DesignArgs, at_least_one, only_one_device, seconds, target_density, thread_count,
};
use super::outputs::{Outputs, check_names, check_placement_output, to_stdout};
use super::results::{in_microns, tell, write_farthest};
use super::stages::{LimitArgs, asked, deadline, print_kept, refined};
use super::stop;
use super::terminal::stdout;
use crate::charge::{Charge, ChargeOptions};
use crate::design::Design;
use crate::displacement;
use crate::engines::{self, EngineChoice, Opened as OpenedEngine};
use crate::evaluate::{DesignReport, GridReport};
use crate::flow::{
    DetailedReport, DisplacementReport, Distances, Kept, KeptReport, LastReport, Stage,
};
use crate::flow::{Effort, StageReport, shorten};
use crate::formats::{read_placement, write_placement};
use crate::grid::BinGrid;
use crate::legality::LegalityReport;
use crate::place::default_bins;
use crate::refine::{Progress, RefineError, RefineOptions, Step};
use crate::warning::Warning;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

/// Options of `placefield refine`.
#[derive(Args)]
pub(crate) struct RefineArgs {
    #[command(flatten)]
    design: DesignArgs,
    /// Write the refined placement: a .pl file, or a copy of the .def file
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Largest number of rounds; detailed placement ends earlier if a round gains too little
    #[arg(long, value_name = "K", default_value_t = RefineOptions::default().rounds,
          value_parser = at_least_one)]
    rounds: usize,
    /// Whether cells are also inserted where many others give way. Wires get 0.4 to 1.6 % shorter,
    /// and the command takes several times as long
    #[arg(long, value_enum, default_value_t = Effort::default(), value_name = "EFFORT")]
    effort: Effort,
    /// Do not mirror cells left to right
    #[arg(long)]
    no_mirror: bool,
    /// Free sites at either side of every cell, if they are free before
    #[arg(long, value_name = "SITES", default_value_t = 0)]
    padding: u32,
    /// Do not move cells that the design's own files place; move only cells that --pl places
    #[arg(long)]
    keep_placed: bool,
    #[command(flatten)]
    limits: LimitArgs,
    /// Target density, above 0 and at most 1: no bin rises above it
    #[arg(long, value_name = "T", default_value_t = 1.0, allow_hyphen_values = true,
          value_parser = target_density)]
    target_density: f64,
    /// Bins along x and y [default: DREAMPlace's choice for the design]
    #[arg(long, value_name = "NX[xNY]")]
    bins: Option<Bins>,
    /// Engine: auto, cpu, cuda or cuda:N, all with the same result
    #[arg(long, value_name = "ENGINE", default_value = "auto")]
    engine: EngineChoice,
    /// Threads on the CPU; 0 uses all processors
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = thread_count)]
    threads: usize,
    /// Stop after this time and write the placement so far
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time_limit: Option<f64>,
    /// Write the numbers as JSON; - for standard output, instead of the text
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Contents of `--json`; its keys are a contract.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RefineReport<'a> {
    /// The numbers of the design.
    design: DesignReport,
    /// The bins.
    grid: GridReport,
    /// The options.
    options: RefineOptionsReport,
    /// The numbers of the refined placement.
    result: LastReport,
    /// The input placement, and the refined placement.
    stages: RefineStages,
    /// The legality of the refined placement.
    legality: LegalityReport,
    /// Cells that did not move, with `--keep-placed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<KeptReport>,
    /// The displacement of the movable cells.
    displacement: DisplacementReport,
    /// Milliseconds of each part.
    timings_ms: RefineTimings,
    /// Warnings about the design and its numbers.
    warnings: &'a [Warning],
}

impl Content for RefineReport<'_> {
    const COMMAND: &'static str = "refine";
}

#[derive(Serialize, JsonSchema)]
struct RefineOptionsReport {
    /// Largest number of rounds.
    rounds: usize,
    /// Whether cells were also inserted where many others give way.
    effort: Effort,
    /// Whether cells may be mirrored left and right.
    mirror: bool,
    /// Free sites on each side of a cell.
    padding: u32,
    /// Largest displacement of a cell, heights of rows.
    max_displacement: Option<f64>,
    /// Whether gaps of one site are forbidden.
    no_one_site_gaps: bool,
    /// T.
    target_density: f64,
    /// Threads on the CPU.
    threads: usize,
}

#[derive(Serialize, JsonSchema)]
struct RefineStages {
    /// The legal input placement.
    legal: StageReport,
    /// The written refined placement.
    detailed: DetailedReport,
}

#[derive(Serialize, JsonSchema)]
struct RefineTimings {
    /// Reading the design.
    parse: f64,
    /// Detailed placement.
    refine: f64,
    /// From the start of the command to this point.
    total: f64,
}

/// Says why the CPU refined in place of a device, if it did.
pub(crate) fn not_on_device(detailed: &DetailedReport) -> Option<String> {
    detailed.not_on_device.as_ref().map(|why| format!("engine: the CPU refined, for {why}"))
}

/// Says how far refining is.
pub(crate) fn refining(progress: &Progress) -> String {
    let (round, step) = (progress.round + 1, in_words(progress.step));
    let percent = (100.0 * progress.done).floor();
    format!("refining: round {round}, {step}, {percent} %: HPWL {:.6e}", progress.hpwl)
}

fn in_words(step: Step) -> &'static str {
    match step {
        Step::Swap => "cells to better places",
        Step::Insert => "cells between others that give way",
        Step::Reorder => "neighbours in order",
        Step::Shift => "cells in their rows",
        Step::Mirror => "mirrored cells",
    }
}

/// Reads, refines, writes, and says what came of it.
pub(crate) fn run(args: &RefineArgs) -> Result<(), Failure> {
    let begun = Instant::now();
    args.design.check()?;
    only_one_device(args.engine)?;
    check_placement_output(&args.output, &args.design.path)?;
    Outputs::default()
        .file("--output", Some(&args.output))
        .file("--json", args.json.as_ref())
        .check(&args.design.files())?;
    use_threads(args.threads)?;
    let mut opened = read_design(&args.design)?;
    if !opened.unplaced.is_empty() {
        return Err(not_legal(args, &mut opened)?);
    }
    check_names(&args.output, &opened.design)?;
    let unplaced = args.keep_placed.then(|| own_unplaced(args, &opened)).transpose()?;
    let mut kept = unplaced.map(|unplaced| Kept::new(&mut opened.design, &unplaced));
    let charge = charge(args, &opened.design)?;
    let before = StageReport::of(&opened.design, Some(&charge), None);
    if before.hpwl.is_none() {
        return Err("the design has no nets, so there is nothing to shorten".into());
    }
    stop::listen()?;
    let deadline = deadline(begun, args.time_limit);
    let mut options = args.limits.refine(RefineOptions::default());
    options = options.rounds(args.rounds).mirror(!args.no_mirror).padding(args.padding);
    options = options.insert_up_to(args.effort.insert_up_to());
    let OpenedEngine { engine: device, note } = engines::open_refiner(args.engine)?;
    options.device = device.as_deref();
    if args.target_density < 1.0 || charge.target_densities().is_some() {
        options = options.density(&charge);
    }
    let doing = Doing::begin("refining");
    let shortened = shorten(&mut opened.design, &options, &charge, &mut |progress| {
        doing.show(|| refining(progress));
        asked(deadline)
    });
    drop(doing);
    let (detailed, found) = match shortened {
        Err(RefineError::NotLegal(_)) => return Err(not_legal(args, &mut opened)?),
        other => other?,
    };
    let kept_report = match &mut kept {
        Some(kept) => {
            let report = kept.report(&mut opened.design)?;
            kept.swap(&mut opened.design);
            Some(report)
        }
        None => None,
    };
    let not_on_device = not_on_device(&detailed);
    let (status, seconds) = (detailed.status, detailed.stage.seconds.unwrap_or(0.0));
    rounded_for(&args.output, &mut opened.design, &mut opened.warnings);
    write_placement(&args.output, &args.design.path, &opened.design)?;
    opened.warnings.extend(needs_f64(&opened.design));
    // From the old positions in `found` to the present ones.
    let design = &opened.design;
    let moved = displacement::between(design, &found.placement, &design.placement)?;
    let displacement = DisplacementReport::of(design, &moved);
    let report = RefineReport {
        design: DesignReport::of(&opened.design, opened.summaries(), charge.areas()),
        grid: GridReport::of(&charge.grid()),
        options: RefineOptionsReport {
            rounds: options.rounds,
            effort: args.effort,
            mirror: options.mirror,
            padding: options.padding,
            max_displacement: options.max_displacement,
            no_one_site_gaps: options.no_one_site_gaps,
            target_density: args.target_density,
            threads: rayon::current_num_threads(),
        },
        result: LastReport {
            stage: Stage::Detailed.name(),
            report: StageReport { seconds: None, ..detailed.stage },
        },
        stages: RefineStages { legal: before, detailed },
        displacement,
        legality: legality::judge(
            &mut opened,
            args.design.pin_position(),
            args.limits.no_one_site_gaps,
        )?,
        kept: kept_report,
        timings_ms: RefineTimings {
            parse: opened.parse_ms,
            refine: 1e3 * seconds,
            total: 1e3 * begun.elapsed().as_secs_f64(),
        },
        warnings: &opened.warnings,
    };
    write_document(args.json.as_ref(), &opened.files, &[&args.output], &report)?;
    if !to_stdout(&args.json) {
        print(args, &opened, &report)?;
    }
    let notes: Vec<String> = note.into_iter().chain(not_on_device).collect();
    tell(&notes, &opened.warnings);
    if !report.legality.legal {
        return Err(Stopped(format!("the placement is {}", report.legality)).into());
    }
    refined(status, &args.output.display().to_string())
}

/// Returns the movable nodes that the design's own placement gives no position, ascending.
fn own_unplaced(args: &RefineArgs, opened: &Opened) -> Result<Vec<u32>, Failure> {
    let Some(own) = &opened.own_placement else { return Ok(opened.unplaced.clone()) };
    Ok(read_placement(own, &opened.design.nodes, args.design.pin_position())?.unplaced)
}

/// Returns the error of a placement that is not legal.
fn not_legal(args: &RefineArgs, opened: &mut Opened) -> Result<Failure, Failure> {
    let found = legality::judge(opened, args.design.pin_position(), false)?;
    let message = "refine needs a legal placement: run `placefield legalize` first";
    Ok(format!("the placement is {found}: {message}").into())
}

/// Returns the bins that are looked at, and what fixed cells leave of them.
fn charge(args: &RefineArgs, design: &Design) -> Result<Charge, Failure> {
    let die = design.die().ok_or("the design has no rows, so there is nothing to stand on")?;
    let [nx, ny] = match args.bins {
        Some(Bins(nx, ny)) => [nx, ny],
        None => default_bins(design, die, args.target_density),
    };
    // The room of a fence counts without its soft blockages, but a legal placement may use them.
    let options = ChargeOptions::default().target_density(args.target_density).allow_overfull(true);
    Ok(Charge::from_design(design, BinGrid::new(die, nx, ny)?, &options)?)
}

/// The summary on standard output.
fn print(args: &RefineArgs, opened: &Opened, report: &RefineReport<'_>) -> io::Result<()> {
    let mut out = stdout()?;
    let (legal, detailed) = (&report.stages.legal, &report.stages.detailed);
    writeln!(out, "design     {}", report.design.name)?;
    writeln!(
        out,
        "refined    {} in {:.2} s: {} rounds, {} cells moved or mirrored{}",
        detailed.status.status(),
        detailed.stage.seconds.unwrap_or(0.0),
        detailed.rounds,
        detailed.moved,
        match detailed.stayed {
            0 => String::new(),
            stayed => format!(", {stayed} had to stay"),
        }
    )?;
    let after = &detailed.stage;
    let weighted = legal.hpwl_weighted.zip(after.hpwl_weighted);
    if let (Some(hpwl), Some((was, is))) = (after.hpwl, weighted) {
        let change = 100.0 * (is / was - 1.0);
        let microns = in_microns(&opened.design, hpwl);
        writeln!(
            out,
            "wirelength HPWL {hpwl:.6e}, weighted {is:.6e} ({change:+.2} % against given){microns}"
        )?;
    }
    if let (Some(was), Some(is)) = (legal.overflow, after.overflow) {
        writeln!(out, "overflow   exact {:.4} (before: {:.4})", is.exact, was.exact)?;
    }
    let Distances { mean, p95, max } = report.displacement.distances;
    let unit = opened.design.length_unit();
    let [mean, p95, max] = [mean, p95, max].map(|far| unit.of(far));
    let microns = if opened.design.units_per_micron.is_some() { " µm" } else { "" };
    writeln!(
        out,
        "moved by   {mean:.1}{microns} on average, 95 % by at most {p95:.1}{microns}, \
         at most {max:.1}{microns}"
    )?;
    write_farthest(&mut out, &report.displacement.farthest, unit)?;
    print_kept(report.kept.as_ref(), &mut out)?;
    writeln!(out, "legality   {}", report.legality)?;
    writeln!(out, "{}", args.output.display())?;
    args.json.iter().try_for_each(|path| writeln!(out, "{}", path.display()))
}
