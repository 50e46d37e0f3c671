//! The stages of a placement: global, legal and detailed, with their results.

use super::{FlowError, KeptReport};
use crate::charge::Charge;
use crate::cpu::density::CpuDensity;
use crate::design::{Design, Hpwl, Placement};
use crate::displacement::{self, Displacement, Moved};
use crate::legality::{self, LegalityOptions, LegalityReport};
use crate::legalize::{self, Failed, LegalizeOptions, Reason, legalize, too_far};
use crate::parallel::join;
use crate::place::Outcome;
use crate::refine::{self, RefineOptions, Refined, refine};
use serde::Serialize;
use std::ops::ControlFlow;
use std::time::Instant;

/// A stage, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Cells are spread, but some overlap
    Global,
    /// Cells are on rows and sites, without overlap
    Legal,
    /// Wires are shorter, and the placement is still legal
    Detailed,
}

impl Stage {
    /// All of them, in their order.
    pub const ALL: [Stage; 3] = [Stage::Global, Stage::Legal, Stage::Detailed];

    /// Returns the name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Global => "global",
            Stage::Legal => "legal",
            Stage::Detailed => "detailed",
        }
    }
}

/// Both overflows of a placement, on the bins that it was made on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Overflow {
    /// Smoothed overflow.
    #[serde(rename = "overflow_smoothed")]
    pub smoothed: f64,
    /// Overflow with every cell at its exact size.
    #[serde(rename = "overflow_exact")]
    pub exact: f64,
    /// Smoothed overflow of the standard cells alone, if macros move too and it is known.
    #[serde(rename = "overflow_standard_cells", skip_serializing_if = "Option::is_none")]
    pub standard_cells: Option<f64>,
}

impl Overflow {
    /// Returns the overflow of `charge` with the lower-left corners of its movable cells at `x` and
    /// `y`, layout units.
    pub fn at(charge: &Charge, x: &[f64], y: &[f64]) -> Self {
        let [from_x, from_y] = charge.origin();
        let at = |cell: usize| [x[cell] - from_x, y[cell] - from_y];
        let [smoothed, exact] =
            CpuDensity::new(charge, 0.0).of_cells(at).map(|stats| stats.overflow);
        Overflow { smoothed, exact, standard_cells: None }
    }

    /// Returns the overflow of the placement of `design`, whose charge is given.
    pub(super) fn of(design: &Design, charge: &Charge) -> Self {
        // Fillers count nowhere.
        let (mut x, mut y) = (vec![0.0; charge.movable()], vec![0.0; charge.movable()]);
        charge.corners(design, &mut x, &mut y);
        Overflow::at(charge, &x, &y)
    }
}

/// Results of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StageReport {
    /// Half-perimeter wirelength, every net weighing 1, layout units.
    pub hpwl: Option<f64>,
    /// Half-perimeter wirelength with the nets' weights, layout units.
    pub hpwl_weighted: Option<f64>,
    /// `None` if it was not counted.
    #[serde(flatten)]
    pub overflow: Option<Overflow>,
    /// `None` for an input placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
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

    /// Returns the report on the placement that `design` has. Overflow is counted on the bins of
    /// `charge`, which is of the same design.
    pub fn of(design: &Design, charge: Option<&Charge>, seconds: Option<f64>) -> Self {
        let overflow = charge.map(|charge| Overflow::of(design, charge));
        StageReport::new(design.hpwl(), overflow, seconds)
    }
}

/// The numbers of the written placement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct LastReport {
    /// The stage that made it: `global`, `legal` or `detailed`.
    pub stage: &'static str,
    /// Its numbers.
    #[serde(flatten)]
    pub report: StageReport,
}

/// Results of legalization.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LegalReport {
    /// `converged`; `stopped` or `interrupted` if it ended before every cell was processed.
    #[serde(serialize_with = "super::as_status")]
    #[cfg_attr(feature = "cli", schemars(with = "String"))]
    pub status: Outcome,
    /// Results of the stage.
    #[serde(flatten)]
    pub stage: StageReport,
}

/// Results of detailed placement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DetailedReport {
    /// `converged`, `stopped` or `interrupted`.
    #[serde(serialize_with = "super::as_status")]
    #[cfg_attr(feature = "cli", schemars(with = "String"))]
    pub status: Outcome,
    /// Results of the stage.
    #[serde(flatten)]
    pub stage: StageReport,
    /// Rounds.
    pub rounds: usize,
    /// Cells moved or mirrored.
    pub moved: usize,
    /// Movable cells that could not move.
    pub stayed: usize,
    /// Reduction of weighted HPWL by each step.
    pub shortened: ShortenedReport,
    /// Whether a device refined.
    pub on_device: bool,
    /// Reason that the CPU refined instead of the requested device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_on_device: Option<String>,
}

/// By step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct ShortenedReport {
    /// Cells to better places.
    pub swap: f64,
    /// Cells to places where others gave way.
    pub insert: f64,
    /// Neighbours in order.
    pub reorder: f64,
    /// Cells in their rows.
    pub shift: f64,
    /// Mirrored cells.
    pub mirror: f64,
}

/// Shortens the wires of `design`'s placement in place; overflow is counted on the bins of
/// `charge`. `watch` is called with the progress and returns an outcome to stop with, if any.
/// Returns the report and the result of [`refine()`], with the placement before.
///
/// # Errors
/// See [`refine()`].
pub fn shorten(
    design: &mut Design,
    options: &RefineOptions<'_>,
    charge: &Charge,
    watch: &mut dyn FnMut(&refine::Progress) -> Option<Outcome>,
) -> Result<(DetailedReport, Refined), refine::RefineError> {
    shorten_by(design, options, charge, watch, |design, watch| refine(design, options, watch))
}

/// [`shorten`] by a given function, which refines the design.
fn shorten_by(
    design: &mut Design,
    options: &RefineOptions<'_>,
    charge: &Charge,
    watch: &mut dyn FnMut(&refine::Progress) -> Option<Outcome>,
    work: impl FnOnce(
        &Design,
        &mut dyn FnMut(&refine::Progress) -> ControlFlow<()>,
    ) -> Result<Refined, refine::RefineError>,
) -> Result<(DetailedReport, Refined), refine::RefineError> {
    let begun = Instant::now();
    let mut status = Outcome::Converged;
    let mut watch = broken_by(&mut status, watch);
    let mut refined = work(design, &mut watch)?;
    drop(watch);
    std::mem::swap(&mut design.placement, &mut refined.placement);
    let seconds = begun.elapsed().as_secs_f64();
    let [swap, insert, reorder, shift, mirror] = refined.shortened;
    let report = DetailedReport {
        status,
        stage: StageReport::of(design, Some(charge), Some(seconds)),
        rounds: refined.rounds,
        moved: refined.moved,
        stayed: refined.stayed,
        shortened: ShortenedReport { swap, insert, reorder, shift, mirror },
        on_device: options.device.is_some() && refined.not_on_device.is_none(),
        not_on_device: refined.not_on_device.take(),
    };
    Ok((report, refined))
}

/// Returns a watch that breaks with the outcome that `watch` gives, and sets `status` to it.
fn broken_by<P>(
    status: &mut Outcome,
    watch: &mut dyn FnMut(&P) -> Option<Outcome>,
) -> impl FnMut(&P) -> ControlFlow<()> {
    move |progress| match watch(progress) {
        None => ControlFlow::Continue(()),
        Some(outcome) => {
            *status = outcome;
            ControlFlow::Break(())
        }
    }
}

/// Every stage that ran.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StagesReport {
    /// The global placement or the input placement.
    pub global: StageReport,
    /// The legal placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub legal: Option<LegalReport>,
    /// The refined placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detailed: Option<DetailedReport>,
}

/// The displacement of the movable cells from the global placement, layout units.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DisplacementReport {
    /// Movable cells.
    pub cells: usize,
    /// Cells whose centre has moved.
    pub moved: usize,
    /// Cells that were rotated or mirrored.
    pub turned: usize,
    /// Distances, layout units.
    #[serde(flatten)]
    pub distances: Distances,
    /// Distances in heights of the most frequent rows.
    pub rows: Distances,
    /// The ten cells that moved farthest, the farthest first.
    pub farthest: Vec<FarthestReport>,
}

/// A moved cell, with its centre before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct FarthestReport {
    /// Its name.
    pub cell: String,
    /// |Δx| + |Δy|, layout units.
    pub distance: f64,
    /// The distance in heights of the most frequent rows.
    pub rows: f64,
    /// `[x, y]` before, layout units.
    pub from: (f64, f64),
    /// `[x, y]` after, layout units.
    pub to: (f64, f64),
}

impl FarthestReport {
    /// Returns the cells of `design` that moved farthest.
    pub fn of(design: &Design, moved: &Displacement) -> Vec<FarthestReport> {
        let row = design.row_height().unwrap_or(1.0);
        let of = |&Moved { node, distance, from, to }: &Moved| {
            let cell = design.node_name(node as usize);
            FarthestReport { cell, distance, rows: distance / row, from, to }
        };
        moved.farthest.iter().map(of).collect()
    }
}

/// Distances of cells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Distances {
    /// Mean of all movable cells.
    pub mean: f64,
    /// 95 % of these cells moved by at most this.
    pub p95: f64,
    /// The largest.
    pub max: f64,
}

impl DisplacementReport {
    /// Returns the report on `moved`, the displacement of cells of `design`.
    pub fn of(design: &Design, moved: &Displacement) -> DisplacementReport {
        let Displacement { mean, p95, largest: max, .. } = *moved;
        let row = design.row_height().unwrap_or(1.0);
        DisplacementReport {
            cells: moved.cells,
            moved: moved.moved,
            turned: moved.turned,
            distances: Distances { mean, p95, max },
            rows: Distances { mean: mean / row, p95: p95 / row, max: max / row },
            farthest: FarthestReport::of(design, moved),
        }
    }
}

/// A cell without a legal place within the options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct FailedReport {
    /// Its name.
    pub cell: String,
    /// Reason that there is none.
    pub reason: String,
}

impl FailedReport {
    /// Returns the reports on `failed` cells of `design`.
    pub fn of<'a>(
        design: &Design,
        failed: impl IntoIterator<Item = &'a Failed>,
    ) -> Vec<FailedReport> {
        let of = |failed: &Failed| FailedReport {
            cell: design.node_name(failed.node as usize),
            reason: failed.reason.to_string(),
        };
        failed.into_iter().map(of).collect()
    }
}

/// Results of the stages; its JSON has the keys of the command's.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Stages {
    /// Results of every stage.
    pub stages: StagesReport,
    /// The legality of the placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub legality: Option<LegalityReport>,
    /// The displacement of the movable cells from the global placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub displacement: Option<DisplacementReport>,
    /// Cells that did not move while others were placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptReport>,
    /// Cells without a legal place within the options.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedReport>,
    /// The complete displacement, for pictures.
    #[serde(skip)]
    pub moved: Option<Displacement>,
    /// Whether gaps of one site are faults.
    #[serde(skip)]
    no_one_site_gaps: bool,
    /// Nodes that had no turn before legalization was stopped, ascending.
    #[serde(skip)]
    unplaced: Vec<u32>,
}

impl Stages {
    /// Returns the stages of a global placement alone.
    pub fn of_global(global: StageReport) -> Self {
        Stages {
            stages: StagesReport { global, legal: None, detailed: None },
            legality: None,
            displacement: None,
            kept: None,
            failed: Vec::new(),
            moved: None,
            no_one_site_gaps: false,
            unplaced: Vec::new(),
        }
    }

    /// Returns the report on the placement of the stage that was run last.
    pub fn result(&self) -> LastReport {
        let (stage, report) = self.last();
        LastReport { stage: stage.name(), report: StageReport { seconds: None, ..*report } }
    }

    /// Returns the stage that was run last, whose placement is the result.
    pub fn last(&self) -> (Stage, &StageReport) {
        self.all().last().expect("the global stage is always there")
    }

    /// Returns the stages that were run, in order.
    pub fn all(&self) -> impl Iterator<Item = (Stage, &StageReport)> {
        let StagesReport { global, legal, detailed } = &self.stages;
        let legal = legal.as_ref().map(|legal| &legal.stage);
        let detailed = detailed.as_ref().map(|detailed| &detailed.stage);
        Stage::ALL
            .into_iter()
            .zip([Some(global), legal, detailed])
            .filter_map(|(stage, report)| Some((stage, report?)))
    }

    /// Returns the nodes that had no turn before legalization was stopped, ascending.
    #[cfg(feature = "capi")]
    pub(crate) fn unplaced(&self) -> &[u32] {
        &self.unplaced
    }

    /// Whether every cell stands legally, so that wires can be shortened.
    pub fn is_legal(&self) -> bool {
        self.legality.as_ref().is_some_and(|legality| legality.legal)
    }

    /// Legalises the placement of `design` and checks the result; overflow is counted if there is a
    /// charge. `watch` is called with the progress and returns an outcome to stop with, if any.
    ///
    /// # Errors
    /// See [`legalize`](legalize()).
    pub fn legalize(
        &mut self,
        design: &mut Design,
        options: &LegalizeOptions,
        charge: Option<&Charge>,
        watch: &mut dyn FnMut(&legalize::Progress) -> Option<Outcome>,
    ) -> Result<(), FlowError> {
        let before = self.legalize_within(design, options, None, watch)?;
        self.measure_legal(design, charge, &before)
    }

    /// Like [`Stages::legalize`], but counts neither overflow nor displacements. Returns the
    /// placement before. With `within`, a cell is too far if it is this number of row heights from
    /// its position in another placement; the limit of `options` does not apply.
    pub(super) fn legalize_within(
        &mut self,
        design: &mut Design,
        options: &LegalizeOptions,
        within: Option<(&Placement, f64)>,
        watch: &mut dyn FnMut(&legalize::Progress) -> Option<Outcome>,
    ) -> Result<Placement, FlowError> {
        let begun = Instant::now();
        let mut status = Outcome::Converged;
        let legalized = legalize(design, options, &mut broken_by(&mut status, watch))?;
        let before = std::mem::replace(&mut design.placement, legalized.placement);
        let seconds = begun.elapsed().as_secs_f64();
        let stage = StageReport::new(design.hpwl(), None, Some(seconds));
        self.stages.legal = Some(LegalReport { status, stage });
        // Cells that had no turn before the end came are not placed, and have no other fault.
        let (waiting, failed): (Vec<Failed>, Vec<Failed>) =
            legalized.failed.into_iter().partition(|failed| failed.reason == Reason::Interrupted);
        let too_far = match within {
            Some((from, rows)) => {
                let mut far = too_far(design, from, &design.placement, Some(rows));
                far.retain(|far| failed.iter().chain(&waiting).all(|cell| cell.node != far.node));
                far
            }
            None => legalized.too_far,
        };
        self.failed = FailedReport::of(design, failed.iter().chain(&too_far));
        self.unplaced = waiting.into_iter().map(|cell| cell.node).collect();
        self.no_one_site_gaps = options.no_one_site_gaps;
        self.check(design, &before)?;
        Ok(before)
    }

    /// Counts the overflow of the legal stage, whose placement `design` has, on the bins of
    /// `charge`, and the displacement from the placement before.
    pub(super) fn measure_legal(
        &mut self,
        design: &Design,
        charge: Option<&Charge>,
        before: &Placement,
    ) -> Result<(), FlowError> {
        if let Some(legal) = &mut self.stages.legal {
            legal.stage.overflow = charge.map(|charge| Overflow::of(design, charge));
        }
        self.compare(design, before)
    }

    /// Shortens the wires of the legal placement of `design`, with overflow counted on the bins of
    /// `charge`, and compares the result with `global`, the placement that was legalised. `watch`
    /// is that of [`shorten`]. A placement that the legal stage found legal is not checked again. The
    /// overflow of that stage is counted meanwhile: while a device refines, the CPU has time for it.
    ///
    /// # Errors
    /// See [`refine()`].
    pub fn refine(
        &mut self,
        design: &mut Design,
        options: &RefineOptions<'_>,
        charge: &Charge,
        global: &Placement,
        watch: &mut dyn FnMut(&refine::Progress) -> Option<Outcome>,
    ) -> Result<(), FlowError> {
        let legality = self.legality.as_ref().filter(|legality| legality.legal);
        let turned = legality.map(|legality| legality.orientations_assigned);
        let mut overflow = None;
        let (report, _) = shorten_by(design, options, charge, watch, |design, watch| {
            let (refined, of_legal) = join(
                || Overflow::of(design, charge),
                || match turned {
                    Some(turned) => refine::refine_legal(design, turned, options, watch),
                    None => refine(design, options, watch),
                },
            );
            overflow = Some(of_legal);
            refined
        })?;
        self.stages.legal.iter_mut().for_each(|legal| legal.stage.overflow = overflow);
        self.stages.detailed = Some(report);
        self.no_one_site_gaps = options.no_one_site_gaps;
        self.judge(design, global)
    }

    /// Checks how legal the placement of `design` is now, and how far it is from the one before.
    ///
    /// # Errors
    /// See [`legality::check`].
    pub(crate) fn judge(&mut self, design: &Design, before: &Placement) -> Result<(), FlowError> {
        self.check(design, before)?;
        self.compare(design, before)
    }

    /// Counts the faults of the placement of `design`. A fixed cell that is not at its position in
    /// `before` is one.
    fn check(&mut self, design: &Design, before: &Placement) -> Result<(), FlowError> {
        let options = LegalityOptions::default().reference(before);
        let options = options.no_one_site_gaps(self.no_one_site_gaps).unplaced(&self.unplaced);
        let found = legality::check(design, &options)?;
        self.legality = Some(LegalityReport::of(design, &found));
        Ok(())
    }

    /// Measures how far the placement of `design` is from the one before.
    fn compare(&mut self, design: &Design, before: &Placement) -> Result<(), FlowError> {
        let moved = displacement::between(design, before, &design.placement)?;
        self.displacement = Some(DisplacementReport::of(design, &moved));
        self.moved = Some(moved);
        Ok(())
    }
}
