//! `placefield eval`: one placement in numbers.

use super::evaluation::evaluate;
use super::failure::Failure;
use super::input::{open_design, with_precision};
use super::options::EvaluationArgs;
use super::pictures;
use super::report::Report;
use super::results::{check_output, make_folder, tell, write_json};
use clap::Args;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Options of `placefield eval`.
#[derive(Args)]
pub(crate) struct EvalArgs {
    /// The design's .aux file
    #[arg(value_name = "DESIGN.aux")]
    aux: PathBuf,
    #[command(flatten)]
    evaluation: EvaluationArgs,
    /// Write the numbers as JSON; - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write density, potential, field and forces as NumPy files
    #[arg(long, value_name = "DIR")]
    maps: Option<PathBuf>,
    /// Draw density, potential, field and force as PNG and SVG
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

/// Reads, evaluates, prints.
pub(crate) fn run(args: &EvalArgs) -> Result<(), Failure> {
    args.evaluation.options.engine.only_one()?;
    // Outputs first: a run of minutes must not end on one that cannot be written.
    args.json.as_deref().map_or(Ok(()), check_output)?;
    for folder in [&args.maps, &args.plots].into_iter().flatten() {
        make_folder(folder)?;
    }
    let opened = open_design(&args.aux, &args.evaluation)?;
    let options = &args.evaluation.options;
    with_precision!(options.precision(), T => {
        let evaluated = evaluate::<T>(&opened, options)?;
        if let Some(folder) = &args.maps {
            evaluated.write_maps(folder)?;
        }
        if let Some(folder) = &args.plots {
            pictures::draw(&opened.design, &evaluated, folder)?;
        }
        if let Some(path) = &args.json {
            write_json(path, &evaluated.report)?;
        }
        if args.json.as_deref() == Some(Path::new("-")) {
            tell(&evaluated.notes, &[]); // the warnings are in the JSON
            return Ok(());
        }
        tell(&evaluated.notes, &evaluated.report.warnings);
        print(&evaluated.report)
    })
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
    writeln!(out, "area       {:.6e} in the map, {:.6e} clipped", v.total_area, v.clipped_area)?;
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
    let t = &report.timings_ms;
    writeln!(
        out,
        "time, ms   parse {:.1}, setup {:.1}, density {:.2}, solve {:.2}, force {:.2}",
        t.parse, t.setup, t.density, t.solve, t.force
    )?;
    Ok(())
}
