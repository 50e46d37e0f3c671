//! The stages of a placement: global, legal, detailed. What each comes to, in words and as JSON.

use super::failure::{Failure, Stopped};
use super::input::Opened;
use super::legality::{LegalityReport, report};
use super::log;
use super::refine::{self, DetailedReport, Ended};
use super::results::in_microns;
use super::views::node_name;
use crate::charge::Charge;
use crate::design::{Design, Hpwl, Placement};
use crate::displacement::{self, Displacement};
use crate::legality::{self, LegalityOptions};
use crate::legalize::{LegalizeOptions, legalize};
use crate::refine::RefineOptions;
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};
use std::time::Instant;

/// `--until`: the last stage, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Until {
    /// Cells are spread, and overlap here and there
    Global,
    /// Cells stand on rows and sites, without overlap
    Legal,
    /// Wires are shorter, and cells still stand legally
    Detailed,
}

/// The options of legalisation.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct LegalArgs {
    /// Sites that stay free at either side of every cell once it is legal
    #[arg(long, value_name = "SITES", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    padding: u32,
}

/// What a stage came to; its JSON keys are a contract.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct StageReport {
    /// Half-perimeter wirelength, every net weighing 1, layout units.
    hpwl: Option<f64>,
    /// The same with the nets' weights.
    hpwl_weighted: Option<f64>,
    /// None of a placement that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
}

impl StageReport {
    pub(crate) fn new(hpwl: Option<Hpwl>, seconds: Option<f64>) -> Self {
        let (plain, weighted) = hpwl.map(|h| (h.unweighted, h.weighted)).unzip();
        StageReport { hpwl: plain, hpwl_weighted: weighted, seconds }
    }
}

/// Every stage that was run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct StagesReport {
    /// The placement that was spread, or was read.
    global: StageReport,
    /// The legal placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    legal: Option<StageReport>,
    /// The refined placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    detailed: Option<DetailedReport>,
}

/// How far the movable cells went from the global placement on, layout units.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct DisplacementReport {
    /// Movable cells.
    cells: usize,
    /// Those whose centre is somewhere else.
    moved: usize,
    /// Those that were turned or mirrored.
    turned: usize,
    #[serde(flatten)]
    pub(crate) distances: Distances,
    /// The same in heights of the rows that are most.
    rows: Distances,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct Distances {
    /// Mean of all movable cells.
    pub(crate) mean: f64,
    /// 95 % of them moved by at most this.
    pub(crate) p95: f64,
    /// The largest.
    pub(crate) max: f64,
}

impl DisplacementReport {
    pub(crate) fn of(design: &Design, moved: &Displacement) -> DisplacementReport {
        let Displacement { mean, p95, largest: max, .. } = *moved;
        let row = design.row_height().unwrap_or(1.0);
        DisplacementReport {
            cells: moved.cells,
            moved: moved.moved,
            turned: moved.turned,
            distances: Distances { mean, p95, max },
            rows: Distances { mean: mean / row, p95: p95 / row, max: max / row },
        }
    }
}

/// A cell for which no legal place was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct FailedReport {
    /// Its name.
    cell: String,
    /// Why there is none.
    reason: String,
}

/// What the stages after the global one came to.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Stages {
    /// What every stage came to.
    stages: StagesReport,
    /// How legal the placement is.
    #[serde(skip_serializing_if = "Option::is_none")]
    legality: Option<LegalityReport>,
    /// How far the movable cells went from the global placement on.
    #[serde(skip_serializing_if = "Option::is_none")]
    displacement: Option<DisplacementReport>,
    /// Cells for which no legal place was found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<FailedReport>,
    /// The same with all there is to know, for pictures.
    #[serde(skip)]
    pub(crate) moved: Option<Displacement>,
    /// How the detailed stage ended.
    #[serde(skip)]
    refined: Option<Ended>,
}

impl Stages {
    /// A global placement alone.
    pub(crate) fn of_global(global: StageReport) -> Self {
        Stages {
            stages: StagesReport { global, legal: None, detailed: None },
            legality: None,
            displacement: None,
            failed: Vec::new(),
            moved: None,
            refined: None,
        }
    }

    /// Legalises the placement of `design` and judges what comes out.
    pub(crate) fn legalize(
        &mut self,
        design: &mut Design,
        args: &LegalArgs,
    ) -> Result<(), Failure> {
        log::begin("making the placement legal");
        let begun = Instant::now();
        let options = LegalizeOptions::default().padding(args.padding);
        let legalized = legalize(design, &options)?;
        let before = std::mem::replace(&mut design.placement, legalized.placement);
        let seconds = begun.elapsed().as_secs_f64();
        self.stages.legal = Some(StageReport::new(design.hpwl(), Some(seconds)));
        self.failed = legalized
            .failed
            .iter()
            .map(|failed| FailedReport {
                cell: node_name(design, failed.node as usize),
                reason: failed.reason.to_string(),
            })
            .collect();
        self.judge(design, &before)
    }

    /// Whether every cell stands legally, so that wires can be shortened.
    pub(crate) fn is_legal(&self) -> bool {
        self.failed.is_empty() && self.legality.as_ref().is_some_and(|legality| legality.legal)
    }

    /// Shortens the wires of the legal placement of `opened` on the bins of `charge`, which has no
    /// fillers, and judges the result beside `global`, the placement that was legalised.
    pub(crate) fn refine(
        &mut self,
        opened: &mut Opened,
        args: &LegalArgs,
        charge: &Charge,
        global: &Placement,
        deadline: Option<Instant>,
    ) -> Result<(), Failure> {
        let begun = Instant::now();
        let mut options = RefineOptions::default().padding(args.padding);
        if charge.target_density() < 1.0 {
            options = options.density(charge);
        }
        let (refined, ended) = refine::detailed(opened, &options, deadline)?;
        let seconds = begun.elapsed().as_secs_f64();
        let report = DetailedReport::new(&opened.design, charge, &refined, ended, seconds)?;
        self.stages.detailed = Some(report);
        self.refined = Some(ended);
        self.judge(&opened.design, global)
    }

    /// How legal the placement of `design` is, and how far it is from the one before.
    fn judge(&mut self, design: &Design, before: &Placement) -> Result<(), Failure> {
        log::begin("judging how legal it is");
        let options = LegalityOptions::default().reference(before);
        self.legality = Some(report(design, &legality::check(design, &options)?));
        let moved = displacement::between(design, before, &design.placement)?;
        self.displacement = Some(DisplacementReport::of(design, &moved));
        self.moved = Some(moved);
        Ok(())
    }

    /// What came after the global placement, as a person reads it.
    pub(crate) fn print(&self, design: &Design, out: &mut impl Write) -> io::Result<()> {
        let Some(legal) = &self.stages.legal else { return Ok(()) };
        let seconds = legal.seconds.unwrap_or(0.0);
        match (self.stages.global.hpwl, legal.hpwl) {
            (Some(before), Some(after)) => {
                let relative = 100.0 * (after - before) / before.max(f64::MIN_POSITIVE);
                writeln!(
                    out,
                    "legalised  HPWL {before:.6e} -> {after:.6e}, {relative:+.2} %, in {seconds:.3} s{}",
                    in_microns(design, after)
                )?;
            }
            _ => writeln!(out, "legalised  in {seconds:.3} s")?,
        }
        if let (Some(before), Some(detailed)) = (legal.hpwl, &self.stages.detailed) {
            let (after, seconds) = (detailed.hpwl, detailed.seconds);
            let relative = 100.0 * (after - before) / before.max(f64::MIN_POSITIVE);
            writeln!(
                out,
                "refined    HPWL {before:.6e} -> {after:.6e}, {relative:+.2} %, in {seconds:.3} s{}",
                in_microns(design, after)
            )?;
        }
        if let Some(moved) = &self.displacement {
            let (far, rows) = (moved.distances, moved.rows);
            writeln!(
                out,
                "moved      {} of {} cells; mean {:.6} ({:.3} rows), 95 % within {:.6} ({:.3}), at most {:.6} ({:.3})",
                moved.moved, moved.cells, far.mean, rows.mean, far.p95, rows.p95, far.max, rows.max
            )?;
        }
        if let Some(legality) = &self.legality {
            writeln!(out, "legality   {legality}")?;
        }
        const SHOWN: usize = 10;
        for failed in self.failed.iter().take(SHOWN) {
            writeln!(out, "  {}: {}", failed.cell, failed.reason)?;
        }
        if self.failed.len() > SHOWN {
            writeln!(out, "  and {} more", self.failed.len() - SHOWN)?;
        }
        Ok(())
    }

    /// A placement that is not legal though that was asked for ends with another exit code.
    pub(crate) fn ended(&self) -> Result<(), Failure> {
        match (&self.failed[..], &self.legality) {
            ([first, rest @ ..], _) => {
                let FailedReport { cell, reason } = first;
                let more = match rest.len() {
                    0 => String::new(),
                    count => format!("; and for {count} more"),
                };
                Err(Stopped(format!("no legal place was found for `{cell}`: {reason}{more}"))
                    .into())
            }
            ([], Some(legality)) if !legality.legal => {
                Err(Stopped(format!("the placement is {legality}")).into())
            }
            _ => self.refined.map_or(Ok(()), |ended| ended.result("the placement")),
        }
    }
}
