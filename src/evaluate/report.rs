//! The numbers that are printed or written, with stable names.

use super::WindowReport;
use crate::congestion::{Convention, Figures};
use crate::design::{Design, NodeKind};
use crate::engine::{EngineError, Evaluation, Pipeline, Timed};
use crate::flow::Overflow;
use crate::grid::BinGrid;
use crate::lefdef::{DefSummary, LefSummary};
use crate::legality::LegalityReport;
use crate::real::{Precision, Real};
use crate::scaled_hpwl::ScaledHpwl;
use crate::warning::Warning;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The results of one evaluation; its JSON keys are a contract.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Report {
    /// The design evaluated.
    pub design: DesignReport,
    /// The bins.
    pub grid: GridReport,
    /// The options.
    pub options: OptionsReport,
    /// Wirelength and overflow.
    pub result: ResultReport,
    /// The ten longest nets, the longest first, if they were searched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub longest_nets: Vec<NetReport>,
    /// Maximum and areas.
    pub density: DensityReport,
    /// Energy and extremes of φ and E.
    pub field: FieldReport,
    /// Each fence, and the area outside all fences; none without fences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<RegionReport>,
    /// The windows of `--region`, in their order; none without `--region`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<WindowReport>,
    /// The ISPD2006 contest's score, if enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaled_hpwl: Option<ScaledHpwl>,
    /// The placement's legality, if enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub legality: Option<LegalityReport>,
    /// Congestion, if enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<CongestionReport>,
    /// Milliseconds per stage.
    pub timings_ms: Timings,
    /// Warnings for readers of the numbers.
    pub warnings: Vec<Warning>,
}

impl Report {
    /// Returns the overflow in words, with `digits` decimals.
    pub fn overflow(&self, digits: usize) -> String {
        let off_die = match self.density.overflow_off_die {
            0.0 => String::new(),
            share => format!(", {share:.digits$} of it of cells off the die"),
        };
        let Overflow { smoothed, exact, .. } = self.result.overflow;
        format!("{smoothed:.digits$} smoothed, {exact:.digits$} exact{off_die}")
    }
}

/// The design in numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[allow(missing_docs)] // named by their keys
pub struct DesignReport {
    /// Its name.
    pub name: String,
    /// All nodes.
    pub nodes: usize,
    /// Movable nodes.
    pub movable: usize,
    /// All other nodes.
    pub fixed: usize,
    /// Nets.
    pub nets: usize,
    /// Pins of all nets.
    pub pins: usize,
    /// Rows.
    pub rows: usize,
    /// Layout units in a micrometre, if this is known. Then each length also has a key in
    /// micrometres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub units_per_micron: Option<f64>,
    /// `[xl, yl, xh, yh]`, layout units.
    pub die: [f64; 4],
    /// Σ width × height of the movable nodes.
    pub movable_area: f64,
    /// Σ area inside the die of the fixed nodes, overlaps counted twice.
    pub fixed_area: f64,
    /// A summary of the DEF file, for a design that is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub def: Option<DefSummary>,
    /// A summary of its LEF files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lef: Option<LefSummary>,
}

/// The summaries of a DEF design's files.
pub type Summaries<'a> = (Option<&'a DefSummary>, Option<&'a LefSummary>);

impl DesignReport {
    /// Returns the numbers of a design, areas as its charge would have them.
    pub fn without_charge(design: &Design, files: Summaries<'_>) -> DesignReport {
        let movable = design.movable().map(|i| design.rect(i).area()).sum();
        let die = design.die();
        let inside = |i: usize| die.map_or(0.0, |die| design.rect(i).overlap(&die));
        let is_fixed = |i: &usize| design.nodes.kind[*i] == NodeKind::Fixed;
        let fixed = (0..design.nodes.len()).filter(is_fixed).map(inside).sum();
        Self::of(design, files, [movable, fixed])
    }

    /// Returns the numbers of a design, with the summaries of its files, and its movable and its
    /// fixed area.
    pub fn of(
        design: &Design,
        (def, lef): Summaries<'_>,
        [movable_area, fixed_area]: [f64; 2],
    ) -> DesignReport {
        let movable = design.movable().count();
        let nets = design.nets.as_ref();
        let die = design.die().map_or([0.0; 4], |d| [d.xl, d.yl, d.xh, d.yh]);
        DesignReport {
            name: design.name.clone(),
            nodes: design.nodes.len(),
            movable,
            fixed: design.nodes.len() - movable,
            nets: nets.map_or(0, |n| n.len()),
            pins: nets.map_or(0, |n| n.pins()),
            rows: design.rows.len(),
            units_per_micron: design.units_per_micron,
            die,
            movable_area,
            fixed_area,
            def: def.cloned(),
            lef: lef.cloned(),
        }
    }
}

/// The bins.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct GridReport {
    /// `[nx, ny]`.
    pub bins: [usize; 2],
    /// `[bin_x, bin_y]`, layout units.
    pub bin_size: [f64; 2],
}

impl GridReport {
    /// Returns the numbers of the bins that a design is on.
    pub fn of(grid: &BinGrid) -> GridReport {
        GridReport { bins: [grid.nx(), grid.ny()], bin_size: [grid.bin_x(), grid.bin_y()] }
    }
}

/// The options of the evaluation.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct OptionsReport {
    /// `"cpu"` or `"cuda"`.
    pub engine: &'static str,
    /// The device's name.
    pub device: String,
    /// The given pipeline, or the choice of `auto`.
    pub pipeline: Pipeline,
    /// The name of the pipeline that ran: this one or its replacement.
    pub path: &'static str,
    /// Working precision.
    pub precision: Precision,
    /// The target density in use, which may be above the given one.
    pub target_density: f64,
    /// The given target density.
    pub target_density_asked: f64,
    /// Whether there are fillers.
    pub fillers: bool,
    /// Number of fillers.
    pub filler_count: usize,
    /// Whether area outside every row counted as fixed.
    pub row_blockage: bool,
    /// Whether `--deterministic` was given: the bits of one device on several.
    pub deterministic: bool,
}

/// A net and its length.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct NetReport {
    /// Its name; empty without one.
    pub net: String,
    /// Its number among the nets, from 0.
    pub number: usize,
    /// Its pins.
    pub pins: usize,
    /// Half the perimeter of its pins' bounding box, layout units.
    pub hpwl: f64,
}

impl NetReport {
    /// Returns the ten longest nets of `design`, the longest first.
    pub fn longest(design: &Design) -> Vec<NetReport> {
        const MOST: usize = 10;
        let (Some(nets), Some(lengths)) = (&design.nets, design.net_lengths()) else {
            return Vec::new();
        };
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        let longer = |&a: &usize, &b: &usize| lengths[b].total_cmp(&lengths[a]).then(a.cmp(&b));
        if order.len() > MOST {
            order.select_nth_unstable_by(MOST, longer);
            order.truncate(MOST);
        }
        order.sort_unstable_by(longer);
        let name = |net: usize| (net < nets.names.len()).then(|| nets.names.get(net));
        let of = |number: usize| NetReport {
            net: name(number).unwrap_or_default().to_owned(),
            number,
            pins: nets.pins_of(number).len(),
            hpwl: lengths[number],
        };
        order.into_iter().map(of).collect()
    }
}

/// Wirelength and overflow of a placement.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct ResultReport {
    /// Half-perimeter wirelength, every net weighing 1, layout units; none without nets.
    pub hpwl: Option<f64>,
    /// Half-perimeter wirelength with the nets' weights, layout units.
    pub hpwl_weighted: Option<f64>,
    /// Both overflows, with the area of cells off the die.
    #[serde(flatten)]
    pub overflow: Overflow,
}

/// The numbers of the density.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct DensityReport {
    /// The share of movable area off the die, which is a part of both overflows.
    pub overflow_off_die: f64,
    /// Largest smoothed density.
    pub max_smoothed: f64,
    /// Largest density with every cell at its exact size.
    pub max_exact: f64,
    /// Area of fixed cells, movable cells and fillers in the smoothed map, layout units squared. It
    /// leaves out clipped area, area that fixed cells share, and area that stretching to √2 bins
    /// moves beyond the die's edge.
    pub total_area: f64,
    /// Area of movable and fixed cells outside the die, which is in no map.
    pub clipped_area: f64,
    /// Area of blockages, halos and gaps between rows, without area under fixed cells.
    pub blocked_area: f64,
    /// Area of movable cells on the die that stretching to √2 bins takes over its edge, where no
    /// map holds it.
    pub edge_loss_area: f64,
}

/// The numbers of the field, in bin widths.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct FieldReport {
    /// Σ φ·ρ over bins.
    pub energy: f64,
    /// Smallest φ.
    pub potential_min: f64,
    /// Largest φ.
    pub potential_max: f64,
    /// Largest |Ex|.
    pub field_x_max: f64,
    /// Largest |Ey|.
    pub field_y_max: f64,
}

/// The numbers of a fence region.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct RegionReport {
    /// The name of the fence; none for the region outside all fences.
    pub fence: Option<String>,
    /// Movable cells in it.
    pub movable: usize,
    /// Σ width × height of these.
    pub movable_area: f64,
    /// The target density in use there.
    pub target_density: f64,
    /// Smoothed overflow of the region's cells, divided by their area.
    pub overflow_smoothed: f64,
    /// Largest smoothed density.
    pub max_smoothed: f64,
    /// Σ φ·ρ over bins, of the region's density.
    pub energy: f64,
}

impl RegionReport {
    /// Returns a line of a report.
    pub fn line(&self) -> String {
        let fence = self.fence.as_ref().map(|fence| format!("fence {fence}"));
        format!(
            "           {}: {} cells, overflow {:.6} smoothed, maximum {:.6}",
            fence.as_deref().unwrap_or("outside the fences"),
            self.movable,
            self.overflow_smoothed,
            self.max_smoothed
        )
    }

    /// Returns the reports of an engine that has solved the field.
    pub fn of<T: Real>(engine: &mut dyn Timed<T>) -> Result<Vec<RegionReport>, EngineError> {
        let regions = engine.charge().regions();
        if regions == 1 {
            return Ok(Vec::new());
        }
        let mut evaluations = vec![Evaluation::default(); regions];
        engine.read_regions(&mut evaluations)?;
        let charge = engine.charge();
        let mut movable = vec![0; regions];
        (0..charge.movable()).for_each(|i| movable[charge.region(i)] += 1);
        let report = |(region, of): (usize, &Evaluation)| RegionReport {
            fence: charge.region_name(region).map(str::to_owned),
            movable: movable[region],
            movable_area: charge.region_movable_area(region),
            target_density: charge.region_target_density(region),
            overflow_smoothed: of.density.overflow,
            max_smoothed: of.density.max,
            energy: of.energy,
        };
        Ok(evaluations.iter().enumerate().map(report).collect())
    }
}

/// Milliseconds per stage.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Timings {
    /// Reading the files.
    pub parse: f64,
    /// Construction of the charge and the engine: tables, fixed map, fillers.
    pub setup: f64,
    /// Density map, overflow and maximum.
    pub density: f64,
    /// φ, Ex, Ey and energy.
    pub solve: f64,
    /// Force on every body.
    pub force: f64,
    /// Density at exact sizes.
    pub exact_density: f64,
}

/// The numbers of congestion; the JSON keys are stable.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct CongestionReport {
    /// The convention whose formulas are used.
    pub convention: Convention,
    /// `[nx, ny]`.
    pub bins: [usize; 2],
    /// Milliseconds.
    pub time_ms: f64,
    /// Demand, and over capacity.
    #[serde(flatten)]
    pub figures: Figures,
}

impl fmt::Display for CongestionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { horizontal, vertical, worst_demand, worst_utilization, overflow, .. } =
            &self.figures;
        write!(
            f,
            "{}: wires {:.4e} horizontal, {:.4e} vertical; worst 5 % {:.4} per unit",
            self.convention, horizontal.wire, vertical.wire, worst_demand.five_percent
        )?;
        if let (Some(utilization), Some(overflow)) = (worst_utilization, overflow) {
            write!(
                f,
                ", {:.4} of capacity; overflow {:.4} % of the wire",
                utilization.five_percent,
                100.0 * overflow
            )?;
        }
        Ok(())
    }
}
