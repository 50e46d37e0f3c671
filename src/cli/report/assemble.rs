//! Pages of the commands' results.

use super::maps::{Maps, number};
use super::page::{CauseView, HotSpotView, Page};
use super::part::{Chart, Fact, Group, Part, Table};
use crate::Real;
use crate::causes::{self, Cause};
use crate::charge::Charge;
use crate::cli::evaluation::Evaluated;
use crate::cli::failure::Failure;
use crate::cli::input::Opened;
use crate::cli::options::EvaluationArgs;
use crate::cli::picture_args::FieldArgs;
use crate::design::{Blockage, BlockageKind, Design, LengthUnit};
use crate::engine::MapKind;
use crate::evaluate::{OptionsReport, RegionReport, Report, cells_and_overflow, hot_spots};
use crate::grid::{Map, Rect};
use crate::maps::Kind;
use crate::paper::bench::processor;
use crate::plot::{Curves, Histogram};

/// Most hot spots listed.
const MOST_SPOTS: usize = 15;
/// Bars of the histogram.
const BARS: usize = 60;
/// Most fences and blockages listed.
const MOST_LISTED: usize = 100;

impl Page {
    /// Returns maps, hot spots, numbers and options of an evaluation.
    pub(crate) fn of_evaluation<T: Real>(
        opened: &Opened,
        evaluated: &Evaluated<T>,
        args: &EvaluationArgs,
        field: &FieldArgs,
    ) -> Result<Page, Failure> {
        let (design, report) = (&opened.design, &evaluated.report);
        let charge = evaluated.engine.charge();
        let grid = charge.grid();
        let shown = cells_and_overflow(charge);
        let unit = design.length_unit();
        // If no cells overlap, density above the target is no fault.
        let legal = report.legality.as_ref().is_some_and(|legality| legality.legal);
        let spots = match legal {
            true => Vec::new(),
            false => hot_spots(design, &grid, &shown, MOST_SPOTS),
        };
        let mut charts = vec![histogram(&shown[0], charge.target_density())?];
        for of in [MapKind::Density, MapKind::Potential] {
            let (kind, map) = (Kind::Engine(of), evaluated.map(of));
            if let Some(curve) = field.cut_of("", kind, map, &grid.die(), unit)? {
                let title = format!("The {} along a line", of.name());
                let curve = Curves { title: String::new(), size: Chart::size(), ..curve };
                charts.push(Chart::of(&title, title.clone(), &curve.draw(), false)?);
            }
        }
        Ok(Page {
            title: design.name.clone(),
            subtitle: "Density, potential and field of a placement".to_owned(),
            summary: summary(report, unit),
            causes: Some(causes(design, charge, args)),
            warnings: report.warnings.clone(),
            maps: Some(Maps::of(design, evaluated, &shown, field)?),
            floorplan: floorplan(design, &report.regions),
            hot_spots: spots.iter().map(|spot| HotSpotView::of(spot, unit)).collect(),
            unit: unit.name,
            charts_title: "How dense the bins are",
            charts,
            made: made(report),
            ..Page::default()
        })
    }
}

/// Returns why the density is bad, if it is.
fn causes(design: &Design, charge: &Charge, args: &EvaluationArgs) -> Vec<CauseView> {
    let options = args.options.charge_options();
    let view = |cause: Cause| CauseView {
        title: cause.kind.title(),
        finding: cause.finding,
        advice: cause.advice,
        names: cause.nodes.iter().map(|&i| design.node_name(i)).collect(),
    };
    causes::find(design, charge, &options, args.design.pin_offset()).into_iter().map(view).collect()
}

/// Returns lists of the fences, as their rectangles and as regions, and of the blockages; `None` if
/// there are none.
pub(super) fn floorplan(design: &Design, regions: &[RegionReport]) -> Option<Part> {
    let unit = design.length_unit();
    let row = |kind: String, name: &str, rect: &Rect| {
        let range = |lo: f64, hi: f64| format!("{} – {}", number(unit.of(lo)), number(unit.of(hi)));
        vec![kind, name.to_owned(), range(rect.xl, rect.xh), range(rect.yl, rect.yh)]
    };
    let fences = design.fences.iter().flat_map(|fence| {
        let kind = if fence.admits_others { "region" } else { "fence" };
        fence.rects.iter().map(|rect| row(kind.to_owned(), &fence.name, rect)).collect::<Vec<_>>()
    });
    let blockage = |Blockage { rect, kind }: &Blockage| match kind {
        BlockageKind::Hard => row("blockage".to_owned(), "", rect),
        BlockageKind::Soft => row("soft blockage".to_owned(), "", rect),
        BlockageKind::Partial(share) => {
            row(format!("blockage, {} % usable", number(100.0 * share)), "", rect)
        }
    };
    let mut rows: Vec<_> = fences.chain(design.blockages.iter().map(blockage)).collect();
    let more = rows.len().saturating_sub(MOST_LISTED);
    rows.truncate(MOST_LISTED);
    let header = |names: [&str; 4]| names.map(str::to_owned).to_vec();
    let rectangles = Table {
        caption: format!("Rectangles, {}", unit.name),
        header: header(["Kind", "Name", "x", "y"]),
        words: 2,
        rows,
        notes: Vec::from_iter((more > 0).then(|| format!("{more} more are not listed."))),
    };
    let of_region = |region: &RegionReport| {
        vec![
            region.fence.clone().unwrap_or_else(|| "outside the fences".to_owned()),
            region.movable.to_string(),
            format!("{:.6}", region.overflow_smoothed),
            number(region.max_smoothed),
        ]
    };
    let by_region = Table {
        caption: "Density by fence".to_owned(),
        header: header(["Fence", "Cells", "Overflow, smoothed", "Largest density, smoothed"]),
        words: 1,
        rows: regions.iter().map(of_region).collect(),
        notes: Vec::new(),
    };
    let tables = [rectangles, by_region].into_iter().filter(|table| !table.rows.is_empty());
    let title = "Fences and blockages".to_owned();
    let part = Part { title, tables: tables.collect(), pictures: Vec::new() };
    Some(part).filter(|part| !part.tables.is_empty())
}

/// Returns the most important numbers.
fn summary(report: &Report, unit: LengthUnit) -> Vec<Fact> {
    let (design, density) = (&report.design, &report.density);
    // For one placement it differs a thousandfold between runs with fillers and without.
    let energy = match report.options.filler_count {
        0 => "Energy, bin widths²",
        _ => "Energy with fillers, bin widths²",
    };
    let legality = report.legality.as_ref().map(|legality| Fact::new("Legality", legality));
    let mut facts = Vec::from_iter(legality);
    if let Some(hpwl) = report.result.hpwl {
        facts.push(Fact::new(format!("HPWL, {}", unit.name), format!("{:.6e}", unit.of(hpwl))));
    }
    facts.extend([
        Fact::new("Overflow, smoothed", format!("{:.6}", report.result.overflow.smoothed)),
        Fact::new("Overflow, exact", format!("{:.6}", report.result.overflow.exact)),
        Fact::new("Largest density, smoothed, area / bin area", number(density.max_smoothed)),
        Fact::new("Largest density, exact, area / bin area", number(density.max_exact)),
        Fact::new(energy, format!("{:.6e}", report.field.energy)),
    ]);
    if let Some(congestion) = &report.congestion {
        facts.push(Fact::new("Congestion", congestion.to_string()));
    }
    let [xl, yl, xh, yh] = design.die;
    facts.extend([
        Fact::new("Movable cells", design.movable),
        Fact::new("Fixed cells", design.fixed),
        Fact::new("Nets", design.nets),
        Fact::new("Pins", design.pins),
        Fact::new("Rows", design.rows),
        Fact::new(
            format!("Die, {}", unit.name),
            format!("{} × {}", number(unit.of(xh - xl)), number(unit.of(yh - yl))),
        ),
        Fact::new(
            "Movable area over the die's",
            format!("{:.1} %", 100.0 * design.movable_area / ((xh - xl) * (yh - yl))),
        ),
    ]);
    facts
}

/// Returns the number of bins at each density.
fn histogram(cells: &Map<f64>, target: f64) -> Result<Chart, Failure> {
    let (_, most) = cells.range();
    let hi = most.max(1.2 * target);
    let histogram = Histogram {
        x_label: "density (area / bin area)".to_owned(),
        y_label: "bins".to_owned(),
        mark: Some((target, "target".to_owned())),
        size: Chart::size(),
        ..Histogram::of(cells.as_slice().iter().copied(), (0.0, hi), false, BARS)
    };
    let description = format!("{} bins from 0 to {hi:.3}", cells.as_slice().len());
    let title = "Bins by density of cells, without fillers";
    Chart::of(title, description, &histogram.draw(), false)
}

/// Returns options, machine and times.
fn made(report: &Report) -> Vec<Group> {
    let (options, t) = (&report.options, &report.timings_ms);
    let OptionsReport { engine, device, pipeline, path, precision, .. } = options;
    let ran = if *path == pipeline.name() { String::new() } else { format!(" (ran {path})") };
    let yes = |yes: bool| if yes { "yes" } else { "no" };
    let milliseconds = |name: &str, ms: f64| Fact::new(name, format!("{ms:.2} ms"));
    vec![
        command(),
        Group {
            title: "Options",
            facts: vec![
                Fact::new("Bins", format!("{} × {}", report.grid.bins[0], report.grid.bins[1])),
                Fact::new("Target density", options.target_density),
                Fact::new("Fillers", options.filler_count),
                Fact::new("Row blockage", yes(options.row_blockage)),
                Fact::new("Pipeline", format!("{pipeline}{ran}")),
                Fact::new("Precision", precision),
            ],
        },
        machine(engine, device),
        Group {
            title: "Times",
            facts: vec![
                milliseconds("Reading", t.parse),
                milliseconds("Setup", t.setup),
                milliseconds("Density", t.density),
                milliseconds("Solve", t.solve),
                milliseconds("Force", t.force),
            ],
        },
    ]
}

/// Returns the program and its command line.
pub(crate) fn command() -> Group {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    Group {
        title: "Program",
        facts: vec![
            Fact::new("Version", format!("placefield {}", env!("CARGO_PKG_VERSION"))),
            Fact::new("Command", format!("placefield {}", arguments.join(" "))),
        ],
    }
}

/// Returns the machine of the run.
pub(crate) fn machine(engine: &str, device: &str) -> Group {
    let system = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    Group {
        title: "Machine",
        facts: vec![
            Fact::new("Engine", format!("{engine} ({device})")),
            Fact::new("Processor", processor()),
            Fact::new("System", system),
        ],
    }
}
