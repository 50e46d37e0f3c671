//! `placefield eval`: one placement in numbers.

use super::congestion::CongestionArgs;
use super::evaluation::evaluate;
use super::failure::Failure;
use super::input::{Opened, open_design, with_precision};
use super::legality;
use super::options::EvaluationArgs;
use super::outputs::{Names, ResultArgs};
use super::pictures;
use super::report::Report;
use super::results::{list, tell, write_json};
use crate::charge::Clipped;
use crate::congestion::RoutingGrid;
use crate::scaled_hpwl;
use clap::Args;
use std::io::{self, Write};

/// Options of `placefield eval`.
#[derive(Args)]
pub(crate) struct EvalArgs {
    #[command(flatten)]
    evaluation: EvaluationArgs,
    #[command(flatten)]
    congestion: CongestionArgs,
    /// Count congestion in the gcells of the DEF file's GCELLGRID, not in the evaluation's bins
    #[arg(long, requires = "congestion")]
    gcells: bool,
    #[command(flatten)]
    results: ResultArgs,
    /// Say whether the placement is legal: overlaps, rows, sites, the die, orientations, and with
    /// --pl fixed cells that are not where the design's own placement has them
    #[arg(long)]
    legality: bool,
    /// Fail, with exit code 1, when movable cells reach beyond the die
    #[arg(long)]
    require_on_die: bool,
    /// Fail, with exit code 1, when the placement is not legal
    #[arg(long)]
    require_legal: bool,
    /// Add the ISPD2006 contest's score: HPWL scaled by what is above the target density in bins
    /// of ten rows
    #[arg(long)]
    scaled_hpwl: bool,
}

impl EvalArgs {
    /// The bins of `--gcells`.
    fn gcells(&self, opened: &Opened) -> Result<Option<RoutingGrid>, Failure> {
        if !self.gcells {
            return Ok(None);
        }
        match RoutingGrid::from_gcells(&opened.gcell_grid) {
            Some(grid) => Ok(Some(grid.map_err(|error| format!("GCELLGRID: {error}"))?)),
            None => Err("'--gcells': the design has no GCELLGRID along both axes".into()),
        }
    }
}

/// What `--maps` writes.
const MAPS: Names = Names::These(&[
    "density.npy",
    "potential.npy",
    "field_x.npy",
    "field_y.npy",
    "force_x.npy",
    "force_y.npy",
    "density.csv",
    "potential.csv",
    "field_x.csv",
    "field_y.csv",
    "force_x.csv",
    "force_y.csv",
    "rudy.npy",
    "pin_rudy.npy",
    "rudy_long.npy",
    "rudy_short.npy",
    "macro_region.npy",
    "cell_density.npy",
    "pin_density.npy",
    "demand_horizontal.npy",
    "demand_vertical.npy",
    "rudy.csv",
    "pin_rudy.csv",
    "rudy_long.csv",
    "rudy_short.csv",
    "macro_region.csv",
    "cell_density.csv",
    "pin_density.csv",
    "demand_horizontal.csv",
    "demand_vertical.csv",
]);

/// Reads, evaluates, prints.
pub(crate) fn run(args: &EvalArgs) -> Result<(), Failure> {
    args.evaluation.options.engine.only_one()?;
    args.evaluation.design.check()?;
    // Outputs first: a run of minutes must not end on one that cannot be written.
    let results = &args.results;
    results.check(MAPS, &args.evaluation.design.files())?;
    let mut opened = open_design(&args.evaluation)?;
    let legality = match args.legality || args.require_legal {
        true => Some(legality::judge(&mut opened)?),
        false => None,
    };
    let options = &args.evaluation.options;
    let off_die = with_precision!(options.precision(), T => {
        let mut evaluated = evaluate::<T>(&opened, options)?;
        evaluated.add_congestion(&opened, &args.congestion, args.gcells(&opened)?)?;
        let report = &mut evaluated.report;
        report.legality.clone_from(&legality);
        if args.scaled_hpwl {
            report.scaled_hpwl = Some(scaled_hpwl::score(&opened.design, options.target_density())?);
        }
        let mut files = Vec::new();
        if let Some(folder) = &results.maps {
            files.extend(evaluated.write_maps(folder, results.maps_as)?);
        }
        if let Some(folder) = &results.plots {
            let subject =
                pictures::Subject { design: &opened.design, evaluated: &evaluated, folder };
            files.extend(pictures::draw(&[subject], &Default::default())?);
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
        evaluated.off_die
    });
    let Clipped { wholly, partly, .. } = off_die;
    if args.require_on_die && wholly + partly > 0 {
        let message = format!(
            "{} movable cells are not on the die: {wholly} wholly, {partly} partly",
            wholly + partly
        );
        return Err(message.into());
    }
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
        "die        [{xl}, {xh}] x [{yl}, {yh}], {} x {} bins of {:.4} x {:.4}{}",
        g.bins[0],
        g.bins[1],
        g.bin_size[0],
        g.bin_size[1],
        g.bin_size_um.map_or(String::new(), |[x, y]| format!("; {x:.4} x {y:.4} µm"))
    )?;
    if let Some(def) = &d.def {
        writeln!(
            out,
            "DEF        version {}, {} units in a µm: {} components ({} not placed), {} pins, {} nets, {} connections",
            def.version.as_deref().unwrap_or("not said"),
            def.units,
            def.components,
            def.unplaced,
            def.pins,
            def.nets,
            def.connections
        )?;
    }
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
    let off_die = match v.overflow_off_die {
        0.0 => String::new(),
        share => format!(", {share:.6} of it of cells off the die"),
    };
    writeln!(
        out,
        "overflow   {:.6} smoothed, {:.6} exact{off_die}",
        v.overflow_smoothed, v.overflow_exact
    )?;
    writeln!(
        out,
        "maximum    {:.6} smoothed, {:.6} exact (area / bin area)",
        v.max_smoothed, v.max_exact
    )?;
    writeln!(
        out,
        "area       {:.6e} in the map, {:.6e} clipped, {:.6e} lost over the edge by stretching, layout units²",
        v.total_area, v.clipped_area, v.edge_loss_area
    )?;
    for region in &report.regions {
        writeln!(
            out,
            "           {}: {} cells, overflow {:.6} smoothed, maximum {:.6}",
            region
                .fence
                .as_deref()
                .map_or("outside the fences".to_owned(), |f| format!("fence {f}")),
            region.movable,
            region.overflow_smoothed,
            region.max_smoothed
        )?;
    }
    let f = &report.field;
    writeln!(
        out,
        "field      energy {:.6e} and potential {:.4} to {:.4} bin widths², |Ex| <= {:.4} and |Ey| <= {:.4} bin widths",
        f.energy, f.potential_min, f.potential_max, f.field_x_max, f.field_y_max
    )?;
    match (report.hpwl, report.hpwl_weighted) {
        (Some(plain), Some(weighted)) => {
            write!(out, "wirelength HPWL {plain:.6e}, weighted {weighted:.6e} layout units")?;
            match report.hpwl_um.zip(report.hpwl_weighted_um) {
                Some((plain, weighted)) => writeln!(out, "; {plain:.1} and {weighted:.1} µm")?,
                None => writeln!(out)?,
            }
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
    if let Some(congestion) = &report.congestion {
        writeln!(out, "congestion {congestion}")?;
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
