//! `placefield eval`: evaluates placements.

use super::congestion::CongestionArgs;
use super::document::{Content, write_document, write_documents};
use super::evaluation::{evaluate, map_names};
use super::failure::{Failure, usage};
use super::input::{Opened, open_design};
use super::legality;
use super::options::{DesignArgs, EvaluationArgs};
use super::outputs::{Names, ResultArgs, one_standard_input, to_stdout};
use super::pictures;
use super::results::{list, tell, write_output, write_table};
use super::terminal::{escaped, stdout};
use crate::charge::Clipped;
use crate::congestion::RoutingGrid;
use crate::evaluate::{NetReport, Report, window_reports};
use crate::grid::Rect;
use crate::real::with_precision;
use crate::scaled_hpwl;
use crate::warning::Warning;
use clap::Args;
use clap::error::ErrorKind;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Options of `placefield eval`.
#[derive(Args)]
pub(crate) struct EvalArgs {
    #[command(flatten)]
    evaluation: EvaluationArgs,
    /// More designs, evaluated with the same options. For several designs or several --pl the
    /// output is one table, and the JSON is a list
    #[arg(value_name = "MORE")]
    more: Vec<PathBuf>,
    /// Write a table as CSV, one line per placement; - for standard output
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Add the numbers of a window of the die, in layout units (DEF units of a .def design); repeat
    /// it for more windows
    #[arg(long, value_name = "X0,Y0,X1,Y1", value_parser = window, allow_hyphen_values = true)]
    region: Vec<Rect>,
    #[command(flatten)]
    congestion: CongestionArgs,
    /// Use the gcells of the DEF file's GCELLGRID as bins of congestion
    #[arg(long, requires = "congestion")]
    gcells: bool,
    #[command(flatten)]
    results: ResultArgs,
    /// Check legality: overlaps, rows, sites, die area, orientations, fences, blockages, halos and
    /// spacing. With --pl also check that fixed cells have the design's positions
    #[arg(long)]
    legality: bool,
    /// Also report gaps of exactly one site
    #[arg(long)]
    no_one_site_gaps: bool,
    /// Fail with exit code 1 if movable cells extend beyond the die
    #[arg(long)]
    require_on_die: bool,
    /// Fail with exit code 1 if the placement is not legal
    #[arg(long)]
    require_legal: bool,
    /// Add the ISPD2006 contest's score: HPWL scaled by the area above the target density in bins
    /// of ten rows
    #[arg(long)]
    scaled_hpwl: bool,
}

impl EvalArgs {
    /// Returns the bins of `--gcells`.
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

impl Content for Report {
    const COMMAND: &'static str = "eval";
    const LISTS: bool = true;
}

/// Parses `--region`.
pub(crate) fn window(text: &str) -> Result<Rect, String> {
    let numbers: Vec<f64> = text.split(',').filter_map(|v| v.trim().parse().ok()).collect();
    match numbers[..] {
        [xl, yl, xh, yh]
            if text.split(',').count() == 4
                && xl < xh
                && yl < yh
                && numbers.iter().all(|v| v.is_finite()) =>
        {
            Ok(Rect { xl, yl, xh, yh })
        }
        _ => Err("expected X0,Y0,X1,Y1 with X0 below X1 and Y0 below Y1".to_owned()),
    }
}

/// One of the placements that are evaluated.
struct Row {
    /// The file of the placement, or of the design if the design's own placement is used.
    placement: String,
    report: Report,
    /// The choices of each `auto`.
    notes: Vec<String>,
    files: Vec<PathBuf>,
    clipped: Clipped,
    /// Movable cells that reach beyond the die area.
    off_die_area: usize,
}

/// Reads, evaluates, prints.
pub(crate) fn run(args: &EvalArgs) -> Result<(), Failure> {
    let designs = args.designs()?;
    let several = designs.len() > 1;
    let results = &args.results;
    if several && (results.maps.is_some() || results.plots.is_some()) {
        let message = "'--maps' and '--plots' are of one placement";
        return Err(usage(ErrorKind::ArgumentConflict, message));
    }
    // Outputs first: a run of minutes must not end on one that cannot be written.
    let inputs: Vec<PathBuf> = designs.iter().flat_map(DesignArgs::files).collect();
    results.outputs(Names::Maps(map_names())).file("--csv", args.csv.as_ref()).check(&inputs)?;
    let mut rows = Vec::new();
    let mut outputs = Vec::new();
    let alone = to_stdout(&results.json) || to_stdout(&args.csv);
    for design in designs {
        let evaluation = EvaluationArgs { design, options: args.evaluation.options.clone() };
        rows.push(evaluated(args, &evaluation, &mut outputs)?);
    }
    if let Some(path) = &args.csv {
        write_csv(path, &rows)?;
        outputs.push(path.clone());
    }
    if let Some(path) = &results.json {
        let all: Vec<_> = rows.iter().map(|row| (&row.files[..], &row.report)).collect();
        match &all[..] {
            [(files, report)] => write_document(Some(path), files, &outputs, *report)?,
            all => write_documents(path, all, &outputs)?,
        }
        outputs.push(path.clone());
    }
    // The warnings are in the JSON, too.
    let warnings: Vec<Warning> = match to_stdout(&results.json) {
        true => Vec::new(),
        false => rows.iter().flat_map(|row| row.warnings(several)).collect(),
    };
    tell(&rows[0].notes, &warnings);
    if !alone {
        match several {
            true => print_table(&rows)?,
            false => print(&rows[0].report)?,
        }
        list(&outputs)?;
    }
    let failed = rows.iter().find_map(|row| args.failed(row).map(|why| (row, why)));
    match failed {
        Some((row, why)) if several => Err(format!("{}: {why}", row.placement).into()),
        Some((_, why)) => Err(why.into()),
        None => Ok(()),
    }
}

/// Evaluates one placement, and writes its separate outputs.
fn evaluated(
    args: &EvalArgs,
    evaluation: &EvaluationArgs,
    outputs: &mut Vec<PathBuf>,
) -> Result<Row, Failure> {
    let results = &args.results;
    let placement = evaluation.design.pl.first().unwrap_or(&evaluation.design.path);
    let placement = placement.display().to_string();
    let mut opened = open_design(evaluation)?;
    let design = &opened.design;
    let off_die_area = design.movable_beyond_die();
    let legality = match args.legality || args.require_legal || args.no_one_site_gaps {
        true => {
            let position = evaluation.design.pin_position();
            Some(legality::judge(&mut opened, position, args.no_one_site_gaps)?)
        }
        false => None,
    };
    let options = &evaluation.options;
    with_precision!(options.precision, T => {
        let mut evaluated = evaluate::<T>(&opened, options)?;
        evaluated.add_congestion(&opened, &args.congestion, args.gcells(&opened)?)?;
        let report = &mut evaluated.report;
        report.legality = legality;
        report.longest_nets = NetReport::longest(&opened.design);
        let charge = evaluated.engine.charge();
        report.windows = window_reports(&opened.design, charge, &args.region);
        if args.scaled_hpwl {
            let score = scaled_hpwl::score(&opened.design, options.target_density())?;
            report.scaled_hpwl = Some(score);
        }
        if let Some(folder) = &results.maps {
            outputs.extend(evaluated.write_maps(folder, results.maps_as)?);
        }
        if let Some(folder) = &results.plots {
            let subject =
                pictures::Subject { design: &opened.design, evaluated: &evaluated, folder };
            outputs.extend(pictures::draw(&[subject], &Default::default())?);
        }
        let (report, notes) = (evaluated.report, evaluated.notes);
        let (files, clipped) = (opened.files, evaluated.off_die);
        Ok(Row { placement, report, notes, files, clipped, off_die_area })
    })
}

impl EvalArgs {
    /// Returns every design with every placement.
    fn designs(&self) -> Result<Vec<DesignArgs>, Failure> {
        let first = &self.evaluation.design;
        if !self.more.is_empty() && !first.pl.is_empty() {
            let message = "'--pl' is of one design: expected one DESIGN";
            return Err(usage(ErrorKind::ArgumentConflict, message));
        }
        let more = self.more.iter().map(|path| first.with_path(path));
        let all: Vec<DesignArgs> = match &first.pl[..] {
            [] | [_] => std::iter::once(first.clone()).chain(more).collect(),
            several => several.iter().map(|pl| first.with_placement(pl)).collect(),
        };
        all.iter().try_for_each(DesignArgs::check)?;
        one_standard_input(all.iter().map(|design| &*design.path))?;
        Ok(all)
    }

    /// Returns the violation of `--require-on-die` or `--require-legal` by a placement.
    fn failed(&self, row: &Row) -> Option<String> {
        let Clipped { wholly, partly, .. } = row.clipped;
        if self.require_on_die && wholly + partly > 0 {
            return Some(format!(
                "{} movable cells are not on the die: {wholly} wholly, {partly} partly",
                wholly + partly
            ));
        }
        if self.require_on_die && row.off_die_area > 0 {
            return Some(format!("{} movable cells reach beyond the die area", row.off_die_area));
        }
        match &row.report.legality {
            Some(legality) if self.require_legal && !legality.legal => {
                Some(format!("the placement is {legality}"))
            }
            _ => None,
        }
    }
}

/// The columns of a table of several placements.
const COLUMNS: [&str; 11] = [
    "design",
    "placement",
    "movable",
    "nets",
    "bins",
    "target_density",
    "hpwl",
    "hpwl_weighted",
    "overflow_smoothed",
    "overflow_exact",
    "legal",
];

impl Row {
    /// Returns the warnings; of several placements each names its own.
    fn warnings(&self, several: bool) -> Vec<Warning> {
        let named = |warning: &Warning| {
            Warning::new(warning.code, format!("{}: {warning}", self.placement))
        };
        match several {
            true => self.report.warnings.iter().map(named).collect(),
            false => self.report.warnings.clone(),
        }
    }

    /// In the order of [`COLUMNS`]; `None` if there is no such number.
    fn cells(&self) -> [Option<String>; COLUMNS.len()] {
        let report = &self.report;
        let (d, o, overflow) = (&report.design, &report.options, report.result.overflow);
        let [nx, ny] = report.grid.bins;
        [
            Some(d.name.clone()),
            Some(self.placement.clone()),
            Some(d.movable.to_string()),
            Some(d.nets.to_string()),
            Some(format!("{nx}x{ny}")),
            Some(o.target_density.to_string()),
            report.result.hpwl.map(|v| v.to_string()),
            report.result.hpwl_weighted.map(|v| v.to_string()),
            Some(overflow.smoothed.to_string()),
            Some(overflow.exact.to_string()),
            report.legality.as_ref().map(|legality| legality.legal.to_string()),
        ]
    }
}

/// Writes a line for every placement; absent values are empty.
fn write_csv(path: &Path, rows: &[Row]) -> Result<(), Failure> {
    write_output(path, |out| {
        writeln!(out, "{}", COLUMNS.join(","))?;
        for row in rows {
            let cells = row.cells().map(|cell| csv_cell(&cell.unwrap_or_default()));
            writeln!(out, "{}", cells.join(","))?;
        }
        Ok(())
    })
}

/// Returns a cell of a CSV file, quoted where it must be. Spreadsheets take a text that begins with
/// `=`, `+`, `-`, `@`, a tab or a carriage return for a formula: such a text, and one that begins
/// with an apostrophe, gets an apostrophe before it. Hidden characters are escaped.
fn csv_cell(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\'']);
    let mark = if formula && text.parse::<f64>().is_err() { "'" } else { "" };
    let cell = format!("{mark}{}", escaped(text));
    match cell.contains([',', '"']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}

fn print_table(rows: &[Row]) -> io::Result<()> {
    let header = COLUMNS.map(|name| name.replace('_', " "));
    let shown = |(name, cell): (&str, Option<String>)| match (name, cell) {
        (_, None) => "-".to_owned(),
        // In as many digits as of one placement.
        (name, Some(text)) => match text.parse::<f64>() {
            Ok(value) if name.starts_with("hpwl") => format!("{value:.6e}"),
            Ok(value) if name.starts_with("overflow") => format!("{value:.6}"),
            _ => text,
        },
    };
    let cells = |row: &Row| COLUMNS.into_iter().zip(row.cells()).map(shown).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
    write_table(&mut stdout()?, &header, &rows, 2)
}

/// Prints the report as text, without the warnings.
pub(crate) fn print(report: &Report) -> Result<(), Failure> {
    let (d, g, o) = (&report.design, &report.grid, &report.options);
    let mut out = stdout()?;
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
        match d.units_per_micron {
            Some(units) => {
                format!("; {:.4} x {:.4} µm", g.bin_size[0] / units, g.bin_size[1] / units)
            }
            None => String::new(),
        }
    )?;
    if let Some(def) = &d.def {
        writeln!(
            out,
            "DEF        version {}, {} units in a µm: {} components ({} not placed), {} pins, \
             {} nets, {} connections",
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
    writeln!(out, "overflow   {}", report.overflow(6))?;
    writeln!(
        out,
        "maximum    {:.6} smoothed, {:.6} exact (area / bin area)",
        v.max_smoothed, v.max_exact
    )?;
    writeln!(
        out,
        "area       {:.6e} in the map, {:.6e} clipped, {:.6e} lost over the edge by stretching, \
         layout units²",
        v.total_area, v.clipped_area, v.edge_loss_area
    )?;
    for window in &report.windows {
        writeln!(out, "window     {window}")?;
    }
    for region in &report.regions {
        writeln!(out, "{}", region.line())?;
    }
    let f = &report.field;
    writeln!(
        out,
        "field      energy {:.6e} and potential {:.4} to {:.4} bin widths², \
         |Ex| <= {:.4} and |Ey| <= {:.4} bin widths",
        f.energy, f.potential_min, f.potential_max, f.field_x_max, f.field_y_max
    )?;
    match (report.result.hpwl, report.result.hpwl_weighted) {
        (Some(plain), Some(weighted)) => {
            write!(out, "wirelength HPWL {plain:.6e}, weighted {weighted:.6e} layout units")?;
            match d.units_per_micron {
                Some(units) => {
                    writeln!(out, "; {:.1} and {:.1} µm", plain / units, weighted / units)?;
                }
                None => writeln!(out)?,
            }
        }
        _ => writeln!(out, "wirelength none: the design has no nets")?,
    }
    if let Some(s) = &report.scaled_hpwl {
        let scaled = s.scaled_hpwl.map_or(String::new(), |h| format!("scaled HPWL {h:.6e}, "));
        writeln!(
            out,
            "ISPD2006   {scaled}scaled overflow {:.6} %: {} of {} x {} bins of ten rows are above \
             {}",
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

#[cfg(test)]
mod tests;
