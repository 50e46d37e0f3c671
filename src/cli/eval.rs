//! `placefield eval`: one placement in numbers.

use super::evaluation::evaluate;
use super::failure::Failure;
use super::input::{open_design, with_precision};
use super::legality;
use super::options::EvaluationArgs;
use super::outputs::{Names, ResultArgs, design_files, one_standard_input};
use super::pictures;
use super::report::Report;
use super::results::{list, tell, write_json};
use crate::scaled_hpwl;
use clap::Args;
use std::io::{self, Write};
use std::path::PathBuf;

/// Options of `placefield eval`.
#[derive(Args)]
pub(crate) struct EvalArgs {
    /// The design's .aux file
    #[arg(value_name = "DESIGN.aux")]
    aux: PathBuf,
    #[command(flatten)]
    evaluation: EvaluationArgs,
    #[command(flatten)]
    results: ResultArgs,
    /// Say whether the placement is legal: overlaps, rows, sites, the die, orientations, and with
    /// --pl fixed cells that are not where the .aux file's placement has them
    #[arg(long)]
    legality: bool,
    /// Fail, with exit code 1, when the placement is not legal
    #[arg(long)]
    require_legal: bool,
    /// Add the ISPD2006 contest's score: HPWL scaled by what is above the target density in bins
    /// of ten rows
    #[arg(long)]
    scaled_hpwl: bool,
}

/// What `--maps` writes.
const MAPS: Names = Names::These(&[
    "density.npy",
    "potential.npy",
    "field_x.npy",
    "field_y.npy",
    "force_x.npy",
    "force_y.npy",
]);

/// Reads, evaluates, prints.
pub(crate) fn run(args: &EvalArgs) -> Result<(), Failure> {
    args.evaluation.options.engine.only_one()?;
    let pl = args.evaluation.pl.as_deref();
    one_standard_input([Some(&*args.aux), pl].into_iter().flatten())?;
    // Outputs first: a run of minutes must not end on one that cannot be written.
    let results = &args.results;
    results.check(MAPS, &design_files(&args.aux, pl))?;
    let mut opened = open_design(&args.aux, &args.evaluation)?;
    let legality = match args.legality || args.require_legal {
        true => Some(legality::judge(&mut opened)?),
        false => None,
    };
    let options = &args.evaluation.options;
    with_precision!(options.precision(), T => {
        let mut evaluated = evaluate::<T>(&opened, options)?;
        let report = &mut evaluated.report;
        report.legality.clone_from(&legality);
        if args.scaled_hpwl {
            report.scaled_hpwl = Some(scaled_hpwl::score(&opened.design, options.target_density())?);
        }
        let mut files = Vec::new();
        if let Some(folder) = &results.maps {
            files.extend(evaluated.write_maps(folder)?);
        }
        if let Some(folder) = &results.plots {
            files.extend(pictures::draw(&opened.design, &evaluated, folder, &Default::default())?);
        }
        if let Some(path) = &results.json {
            write_json(path, &evaluated.report)?;
            files.push(path.clone());
        }
        if results.json_alone() {
            tell(&evaluated.notes, &[]); // the warnings are in the JSON
        } else {
            tell(&evaluated.notes, &evaluated.report.warnings);
            print(&evaluated.report)?;
            list(&files)?;
        }
    });
    match legality {
        Some(legality) if args.require_legal && !legality.legal => {
            Err(format!("the placement is {legality}").into())
        }
        _ => Ok(()),
    }
}

/// The report as a person reads it, without the warnings.
pub(crate) fn print(report: &Report) -> Result<(), Failure> {
    let (d, g, o) = (&report.design, &report.grid, &report.options);
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{}: {} nodes ({} movable, {} fixed), {} nets, {} pins, {} rows",
        d.name, d.nodes, d.movable, d.fixed, d.nets, d.pins, d.rows
    )?;
    let [xl, yl, xh, yh] = d.die;
    writeln!(
        out,
        "die        [{xl}, {xh}] x [{yl}, {yh}], {} x {} bins of {:.4} x {:.4}",
        g.bins[0], g.bins[1], g.bin_size[0], g.bin_size[1]
    )?;
    writeln!(
        out,
        "engine     {} ({}), {}{}, {}; target density {}, {} fillers{}",
        o.engine,
        o.device,
        o.pipeline,
        if o.path == o.pipeline.name() { String::new() } else { format!(" (ran {})", o.path) },
        o.precision,
        o.target_density,
        o.filler_count,
        if o.row_blockage { ", row blockage" } else { "" }
    )?;
    let v = &report.density;
    writeln!(out, "overflow   {:.6} smoothed, {:.6} exact", v.overflow_smoothed, v.overflow_exact)?;
    writeln!(out, "maximum    {:.6} smoothed, {:.6} exact", v.max_smoothed, v.max_exact)?;
    writeln!(
        out,
        "area       {:.6e} in the map, {:.6e} clipped, {:.6e} lost over the edge by stretching",
        v.total_area, v.clipped_area, v.edge_loss_area
    )?;
    let f = &report.field;
    writeln!(
        out,
        "field      energy {:.6e}, potential {:.4} to {:.4}, |Ex| <= {:.4}, |Ey| <= {:.4}",
        f.energy, f.potential_min, f.potential_max, f.field_x_max, f.field_y_max
    )?;
    match (report.hpwl, report.hpwl_weighted) {
        (Some(plain), Some(weighted)) => {
            writeln!(out, "wirelength HPWL {plain:.6e}, weighted {weighted:.6e}")?;
        }
        _ => writeln!(out, "wirelength none: the design has no nets")?,
    }
    if let Some(s) = &report.scaled_hpwl {
        let scaled = s.scaled_hpwl.map_or(String::new(), |h| format!("scaled HPWL {h:.6e}, "));
        writeln!(
            out,
            "ISPD2006   {scaled}scaled overflow {:.6} %: {} of {} x {} bins of ten rows are above {}",
            s.scaled_overflow, s.crowded_bins, s.bins[0], s.bins[1], s.target_density
        )?;
    }
    if let Some(legality) = &report.legality {
        writeln!(out, "legality   {legality}")?;
    }
    let t = &report.timings_ms;
    writeln!(
        out,
        "time, ms   parse {:.1}, setup {:.1}, density {:.2}, solve {:.2}, force {:.2}",
        t.parse, t.setup, t.density, t.solve, t.force
    )?;
    Ok(())
}
