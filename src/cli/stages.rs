//! The stages of a placement: global, legal, detailed. What each comes to, in words and as JSON.

use super::diff::moves_drawn;
use super::failure::{Failure, Stopped};
use super::input::Opened;
use super::legality::{LegalityReport, report};
use super::log;
use super::refine::{self, DetailedReport, Ended};
use super::report::page::{Image, Part, Table};
use super::results::in_microns;
use super::views::node_name;
use crate::charge::Charge;
use crate::cpu::density::CpuDensity;
use crate::design::{Design, Hpwl, Placement};
use crate::displacement::{self, Displacement};
use crate::grid::Map;
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
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct StageReport {
    /// Half-perimeter wirelength, every net weighing 1, layout units.
    pub(crate) hpwl: Option<f64>,
    /// The same with the nets' weights.
    pub(crate) hpwl_weighted: Option<f64>,
    #[serde(flatten)]
    pub(crate) overflow: Option<Overflow>,
    /// None of a placement that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seconds: Option<f64>,
}

/// Both overflows of a placement, on the bins that it was made on.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct Overflow {
    /// Smoothed overflow.
    #[serde(rename = "overflow_smoothed")]
    pub(crate) smoothed: f64,
    /// Overflow with every cell at its exact size.
    #[serde(rename = "overflow_exact")]
    pub(crate) exact: f64,
    /// Of the standard cells alone, smoothed, where macros move too and it is known.
    #[serde(rename = "overflow_standard_cells", skip_serializing_if = "Option::is_none")]
    pub(crate) standard_cells: Option<f64>,
}

impl Overflow {
    /// Of all bodies of `charge` with their lower-left corners at `x` and `y` on the die.
    pub(crate) fn at(charge: &Charge, x: &[f64], y: &[f64]) -> Self {
        let [from_x, from_y] = charge.origin();
        let less = |at: &[f64], from: f64| at.iter().map(|at| at - from).collect::<Vec<f64>>();
        let (x, y) = (less(x, from_x), less(y, from_y));
        let [nx, ny] = charge.stacked_bins();
        let mut density = CpuDensity::new(charge, 0.0);
        Overflow {
            smoothed: density.smoothed(&x, &y, &mut Map::filled(nx, ny, 0.0)).overflow,
            exact: density.exact(&x, &y).overflow,
            standard_cells: None,
        }
    }
}

impl StageReport {
    pub(crate) fn new(
        hpwl: Option<Hpwl>,
        overflow: Option<Overflow>,
        seconds: Option<f64>,
    ) -> Self {
        let (plain, weighted) = hpwl.map(|h| (h.unweighted, h.weighted)).unzip();
        StageReport { hpwl: plain, hpwl_weighted: weighted, overflow, seconds }
    }

    /// Of the placement that `design` has; its overflow is counted on the bins of `charge`.
    pub(crate) fn of(design: &Design, charge: Option<&Charge>, seconds: Option<f64>) -> Self {
        let overflow = charge.map(|charge| {
            // Fillers count nowhere.
            let at = |column: &[f64], first: &[f64]| {
                let cells = design.movable().map(|node| column[node]);
                cells.chain(first[charge.movable()..].iter().copied()).collect::<Vec<f64>>()
            };
            let (x, y) = (&design.placement.x, &design.placement.y);
            Overflow::at(charge, &at(x, charge.initial_x()), &at(y, charge.initial_y()))
        });
        StageReport::new(design.hpwl(), overflow, seconds)
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
    /// The stage that was run last, whose placement is the result, and its name.
    pub(crate) fn last(&self) -> (&'static str, &StageReport) {
        self.all().last().expect("the global stage is always there")
    }

    /// The global stage.
    pub(crate) fn global(&self) -> &StageReport {
        &self.stages.global
    }

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

    /// Legalises the placement of `design` and judges what comes out; overflow is counted where
    /// there is a charge.
    pub(crate) fn legalize(
        &mut self,
        design: &mut Design,
        args: &LegalArgs,
        charge: Option<&Charge>,
    ) -> Result<(), Failure> {
        log::begin("making the placement legal");
        let begun = Instant::now();
        let options = LegalizeOptions::default().padding(args.padding);
        let legalized = legalize(design, &options)?;
        let before = std::mem::replace(&mut design.placement, legalized.placement);
        let seconds = begun.elapsed().as_secs_f64();
        self.stages.legal = Some(StageReport::of(design, charge, Some(seconds)));
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

    /// Shortens the wires of the legal placement of `opened`, with overflow counted on the bins of
    /// `charge` and those of `kept` not filled beyond their target, and judges the result beside
    /// `global`, the placement that was legalised.
    pub(crate) fn refine(
        &mut self,
        opened: &mut Opened,
        args: &LegalArgs,
        charge: &Charge,
        kept: Option<&Charge>,
        global: &Placement,
        deadline: Option<Instant>,
    ) -> Result<(), Failure> {
        let begun = Instant::now();
        let mut options = RefineOptions::default().padding(args.padding);
        options.density = kept;
        let (refined, ended) = refine::detailed(opened, &options, deadline)?;
        let seconds = begun.elapsed().as_secs_f64();
        let report = DetailedReport::new(&opened.design, charge, &refined, ended, seconds);
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

    /// Every stage with its name, in their order.
    fn all(&self) -> impl Iterator<Item = (&'static str, &StageReport)> {
        let StagesReport { global, legal, detailed } = &self.stages;
        let detailed = detailed.as_ref().map(|detailed| &detailed.stage);
        [("global", Some(global)), ("legal", legal.as_ref()), ("detailed", detailed)]
            .into_iter()
            .filter_map(|(name, stage)| Some((name, stage?)))
    }

    /// The HPWL of a later stage over that of the global one, less one, in percent.
    fn relative(&self, stage: &StageReport) -> Option<String> {
        let (before, after) = (self.stages.global.hpwl?, stage.hpwl?);
        Some(format!("{:+.2} %", 100.0 * (after / before.max(f64::MIN_POSITIVE) - 1.0)))
    }

    /// The stages side by side, for a page; none where the global one is all there is. The
    /// placement before the others is `global`.
    pub(crate) fn part(
        &self,
        design: &Design,
        global: &Placement,
    ) -> Result<Option<Part>, Failure> {
        let Some(moved) = &self.moved else { return Ok(None) };
        let number = |value: Option<f64>, text: &dyn Fn(f64) -> String| {
            value.map_or_else(|| "-".to_owned(), text)
        };
        let row = |(name, stage): (&str, &StageReport)| {
            vec![
                name.to_owned(),
                number(stage.hpwl, &|v| format!("{v:.6e}")),
                self.relative(stage).filter(|_| name != "global").unwrap_or_default(),
                number(stage.overflow.map(|o| o.smoothed), &|v| format!("{v:.6}")),
                number(stage.overflow.map(|o| o.exact), &|v| format!("{v:.6}")),
                number(stage.seconds, &|v| format!("{v:.3}")),
            ]
        };
        let header =
            ["Stage", "HPWL", "Against global", "Overflow, smoothed", "Overflow, exact", "Seconds"];
        let [places, distances] =
            moves_drawn("from the global placement on", design, global, moved)?;
        let pictures = [("Where cells moved", places), ("How far cells moved", distances)];
        Ok(Some(Part {
            title: "Stages".to_owned(),
            tables: vec![Table {
                caption: "What each stage came to; the last one is what was written".to_owned(),
                header: header.map(str::to_owned).to_vec(),
                words: 1,
                rows: self.all().map(row).collect(),
                notes: self.legality.iter().map(|legality| format!("It is {legality}.")).collect(),
            }],
            pictures: pictures
                .iter()
                .map(|(title, picture)| Image::of((*title).to_owned(), picture))
                .collect::<Result<_, _>>()?,
            notes: Vec::new(),
        }))
    }

    /// What every stage came to, as a person reads it; each beside the global placement.
    pub(crate) fn print(&self, design: &Design, out: &mut impl Write) -> io::Result<()> {
        for (name, stage) in self.all().filter(|_| self.stages.legal.is_some()) {
            let mut said = Vec::new();
            if let Some(hpwl) = stage.hpwl {
                let relative = self.relative(stage).filter(|_| name != "global");
                let relative = relative.map(|by| format!(" ({by})")).unwrap_or_default();
                said.push(format!("HPWL {hpwl:.6e}{relative}{}", in_microns(design, hpwl)));
            }
            if let Some(Overflow { smoothed, exact, .. }) = stage.overflow {
                said.push(format!("overflow {smoothed:.4} smoothed, {exact:.4} exact"));
            }
            said.extend(stage.seconds.map(|seconds| format!("{seconds:.3} s")));
            writeln!(out, "{name:<10} {}", said.join(", "))?;
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
