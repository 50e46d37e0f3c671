//! The report on a finished placement: on standard output, as JSON, by the exit code.

use super::PlaceArgs;
use crate::Precision;
use crate::charge::Charge;
use crate::cli::document::Content;
use crate::cli::memory;
use crate::cli::results::in_microns;
use crate::cli::stages::{self, LegalArgs};
use crate::cli::terminal::stdout;
use crate::design::{Design, Hpwl};
use crate::engine::{Descriptor, Pipeline};
use crate::evaluate::{DesignReport, GridReport, RegionReport, Summaries};
use crate::flow::{
    Candidate, Effort, FlowOptions, Global, LastReport, Overflow, Placed, Stage, StageReport,
    Stages,
};
use crate::place::routability::{Round, RoundsEnd, RoutabilityOptions};
use crate::place::{Outcome, Record, Schedule, StageSplit};
use crate::warning::Warning;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

/// A finished placement.
pub(super) struct Summary<'a> {
    pub(super) design: &'a Design,
    /// Contents of the DEF file, if the design came from one.
    pub(super) summaries: Summaries<'a>,
    pub(super) charge: &'a Charge,
    pub(super) args: &'a PlaceArgs,
    pub(super) flow: &'a FlowOptions<'a>,
    pub(super) descriptor: &'a Descriptor,
    pub(super) pipeline: Pipeline,
    pub(super) precision: Precision,
    /// The placement of the best seed.
    pub(super) placed: &'a Placed,
    /// Whether the start was also legalized and refined, and compared with the result.
    pub(super) compared: bool,
    /// Wirelength of the input placement, if there is one.
    pub(super) given: Option<Hpwl>,
    /// The requested target density, and whether a higher one is accepted.
    pub(super) target_asked: f64,
    pub(super) raise_density: bool,
    /// Fence regions of the global placement; empty without fences.
    pub(super) regions: &'a [RegionReport],
    pub(super) times: PlaceTimings,
    pub(super) warnings: &'a [Warning],
}

/// Returns how it ended.
pub(super) fn in_words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Converged => "done",
        Outcome::OutOfIterations => "stopped before the overflow asked for",
        Outcome::OutOfTime => "out of time",
        Outcome::Stopped => "stopped by the caller",
        Outcome::Plateau => "stopped where overflow does not fall any more",
        Outcome::Diverged => "diverged",
        Outcome::NotFinite => "broken off",
        Outcome::Interrupted => "interrupted",
    }
}

/// Why it ended, in words.
fn reason(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Converged => "the overflow asked for was reached",
        Outcome::OutOfIterations => "the iterations were spent",
        Outcome::OutOfTime => "the time was spent",
        Outcome::Stopped => "the caller stopped it",
        Outcome::Plateau => "overflow does not fall any more",
        Outcome::Diverged => "wirelength and overflow grew",
        Outcome::NotFinite => "a number was not finite",
        Outcome::Interrupted => "it was interrupted",
    }
}

/// The part that `--json` and `--history` share; the keys are a contract.
#[derive(Serialize, JsonSchema)]
pub(super) struct Common<'a> {
    /// The numbers of the design.
    design: DesignReport,
    /// The bins.
    grid: GridReport,
    /// The options.
    options: PlaceOptionsReport<'a>,
    /// Numbers of the written placement.
    result: ResultReport,
    /// Wirelength of the input placement; none if a movable cell had no position.
    #[serde(skip_serializing_if = "Option::is_none")]
    given: Option<StageReport>,
    /// Each fence, and the area outside all fences, in the global placement; none without fences.
    #[serde(skip_serializing_if = "<[RegionReport]>::is_empty")]
    regions: &'a [RegionReport],
    /// The best trade-off of overflow and wirelength among all iterations.
    best: Best,
    /// Milliseconds of each part.
    timings_ms: PlaceTimings,
    #[serde(flatten)]
    stages: &'a Stages,
    /// Warnings about the design and its numbers.
    warnings: &'a [Warning],
}

#[derive(Serialize, JsonSchema)]
struct PlaceOptionsReport<'a> {
    /// `"cpu"` or `"cuda"`.
    engine: &'static str,
    /// The device's name.
    device: &'a str,
    /// Whether `--deterministic` was given.
    deterministic: bool,
    /// The pipeline that ran.
    pipeline: Pipeline,
    /// Working precision.
    precision: Precision,
    /// The target density in use, which may be above the requested one.
    target_density: f64,
    /// The requested target density.
    target_density_asked: f64,
    /// Whether there are fillers.
    fillers: bool,
    /// Number of fillers.
    filler_count: usize,
    /// Seed of the start and the fillers; the best of several.
    seed: u64,
    /// The last requested stage.
    until: &'static str,
    #[serde(flatten)]
    legal: LegalArgs,
    /// Whether area outside every row counted as fixed.
    row_blockage: bool,
    /// Whether a higher target density was accepted.
    raise_density: bool,
    /// Largest number of seconds; none without a limit.
    time_limit: Option<f64>,
    /// Number of seeds.
    seeds: u32,
    /// The options of the routability rounds; none without `--routability`.
    routability: Option<RoutabilityOptions>,
    /// The requested number of variants.
    effort: Effort,
    /// Largest density to which detailed placement fills a bin; none without a limit.
    keep_density: Option<f64>,
    /// Smoothed overflow at which the placement stops.
    stop_overflow: f64,
    /// Largest number of iterations.
    iterations: usize,
    /// Whether cells started at the positions in the file.
    warm_start: bool,
    /// Whether gradients are preconditioned.
    precondition: bool,
    /// Nets of more pins are left out.
    ignore_net_degree: Option<u32>,
    /// Noise of the start.
    noise: f64,
    /// The schedules of γ and λ.
    schedule: Schedule,
}

/// The numbers of `eval` for the written placement.
#[derive(Serialize, JsonSchema)]
struct ResultReport {
    /// Of the global stage whose placement the later stages use.
    iteration: usize,
    #[serde(flatten)]
    last: LastReport,
}

#[derive(Serialize, JsonSchema)]
struct Best {
    /// From 0.
    iteration: usize,
    /// Weighted wirelength, layout units.
    hpwl_weighted: f64,
    /// Smoothed overflow.
    overflow_smoothed: f64,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
pub(super) struct PlaceTimings {
    /// Reading the design.
    pub(super) parse: f64,
    /// Bodies, nets, engine.
    pub(super) setup: f64,
    /// Times of all iterations together.
    #[serde(flatten)]
    pub(super) stages: StageSplit,
    /// Drawing frames.
    pub(super) frames: f64,
    /// Writing checkpoints.
    pub(super) checkpoints: f64,
    /// From the first evaluation to the last, including all parts above except the first two.
    pub(super) descent: f64,
    /// From the start of the command to the written placement.
    pub(super) total: f64,
}

/// `--json`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PlaceReport<'a> {
    /// The end of the run.
    outcome: OutcomeReport<'a>,
    #[serde(flatten)]
    common: Common<'a>,
    /// Peak memory of the command, bytes; none if the system does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_memory_bytes: Option<u64>,
    /// Every global placement, if there are several seeds or variants.
    #[serde(skip_serializing_if = "<[Candidate]>::is_empty")]
    candidates: &'a [Candidate],
    /// Every round of --routability.
    #[serde(skip_serializing_if = "<[Round]>::is_empty")]
    routability: &'a [Round],
    /// The round of the result, and why no other round followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    routability_end: Option<RoundsEnd>,
}

#[derive(Serialize, JsonSchema)]
struct OutcomeReport<'a> {
    /// `converged`, `stopped`, `plateau`, `interrupted` or `diverged`.
    status: &'static str,
    /// The reason of the end, as a sentence.
    reason: String,
    /// Cause of a plateau: what keeps the overflow from falling.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'a str>,
    /// Iterations.
    iterations: usize,
    /// Number of evaluations; more than iterations if steps were repeated.
    evaluations: u32,
    /// Seconds of all iterations.
    seconds: f64,
}

impl Content for PlaceReport<'_> {
    const COMMAND: &'static str = "place";
}

impl Summary<'_> {
    pub(super) fn records(&self) -> &[Record] {
        &self.placed.global.records
    }

    /// Returns the last iteration.
    pub(super) fn last(&self) -> usize {
        self.records().last().map_or(0, |r| r.iteration)
    }

    /// Whether the cells fit only at a higher target density than requested, and such a density is
    /// not accepted.
    pub(super) fn target_is_missed(&self) -> bool {
        self.charge.target_density() > self.target_asked && !self.raise_density
    }

    /// Whether it reached its goal, but at another target density than requested.
    fn is_beside_target(&self) -> bool {
        self.placed.global.outcome == Outcome::Converged && self.target_is_missed()
    }

    fn status(&self) -> &'static str {
        if self.is_beside_target() { "stopped" } else { self.placed.global.outcome.status() }
    }

    fn reason(&self) -> String {
        match self.is_beside_target() {
            true => format!(
                "the cells do not fit at a target density of {}: \
                 {:.6} was taken (--raise-density allows it)",
                self.target_asked,
                self.charge.target_density()
            ),
            false => reason(self.placed.global.outcome).to_owned(),
        }
    }

    /// Returns how it ended.
    pub(super) fn how(&self) -> &'static str {
        match self.is_beside_target() {
            true => "done, but at another target density than asked for",
            false => in_words(self.placed.global.outcome),
        }
    }

    fn evaluations(&self) -> u32 {
        self.records().iter().map(|r| r.tries).sum()
    }

    pub(super) fn seconds(&self) -> f64 {
        self.times.descent / 1e3
    }

    pub(super) fn json(&self) -> PlaceReport<'_> {
        PlaceReport {
            outcome: OutcomeReport {
                status: self.status(),
                reason: self.reason(),
                limit: self.placed.limit.as_deref(),
                iterations: self.last(),
                evaluations: self.evaluations(),
                seconds: self.seconds(),
            },
            common: self.common(),
            peak_memory_bytes: memory::peak(),
            candidates: Some(&self.placed.candidates[..])
                .filter(|all| all.len() > 1)
                .unwrap_or(&[]),
            routability: &self.placed.rounds.rounds,
            routability_end: self.placed.rounds.end,
        }
    }

    pub(super) fn common(&self) -> Common<'_> {
        let (charge, grid) = (self.charge, &self.charge.grid());
        let best = &self.records()[self.placed.global.iteration];
        Common {
            design: DesignReport::of(self.design, self.summaries, charge.areas()),
            grid: GridReport::of(grid),
            options: PlaceOptionsReport {
                engine: self.descriptor.engine,
                device: &self.descriptor.device,
                deterministic: self.args.evaluation.options.deterministic,
                pipeline: self.pipeline,
                precision: self.precision,
                target_density: charge.target_density(),
                target_density_asked: self.target_asked,
                fillers: self.args.experts.fillers(),
                filler_count: charge.fillers(),
                seed: self.placed.seed,
                until: self.flow.until.unwrap_or(Stage::Detailed).name(),
                legal: self.args.legal,
                row_blockage: charge.row_blockage(),
                raise_density: self.raise_density,
                time_limit: self.args.time_limit,
                seeds: self.args.seeds,
                routability: self.flow.routability,
                effort: self.flow.effort,
                keep_density: self.args.keep_density,
                stop_overflow: self.flow.place.stop_overflow,
                iterations: self.flow.place.iterations,
                warm_start: self.flow.place.warm,
                precondition: self.flow.place.precondition,
                ignore_net_degree: self.args.experts.ignore_net_degree,
                noise: self.args.experts.noise,
                schedule: self.flow.place.schedule,
            },
            result: ResultReport {
                iteration: self.placed.global.iteration,
                last: self.placed.stages.result(),
            },
            given: self.given.map(|of| StageReport::new(Some(of), None, None)),
            regions: self.regions,
            best: Best {
                iteration: best.iteration,
                hpwl_weighted: best.sample.hpwl,
                overflow_smoothed: best.sample.density.overflow,
            },
            timings_ms: self.times,
            stages: &self.placed.stages,
            warnings: self.warnings,
        }
    }

    /// Prints the placement for human readers.
    pub(super) fn print<'p>(&self, files: impl Iterator<Item = &'p Path>) -> io::Result<()> {
        let mut out = stdout()?;
        let grid = &self.charge.grid();
        writeln!(
            out,
            "{}: {} movable cells, {} fillers, {} x {} bins, {} ({}), {}, {}",
            self.design.name,
            self.charge.movable(),
            self.charge.fillers(),
            grid.nx(),
            grid.ny(),
            self.descriptor.engine,
            self.descriptor.device,
            self.pipeline,
            self.precision
        )?;
        let how = self.how();
        let (last, seconds) = (self.last(), self.seconds());
        writeln!(
            out,
            "global stage {how} after {last} iterations, {} evaluations, {seconds:.2} s",
            self.evaluations()
        )?;
        if self.compared && self.placed.global.iteration == 0 && last > 0 {
            writeln!(
                out,
                "the start itself, made legal, gave shorter wires than the global stage"
            )?;
        } else if self.placed.global.iteration != last {
            writeln!(
                out,
                "the global stage's result is the best trade-off seen, of iteration {}",
                self.placed.global.iteration
            )?;
        }
        if let Some(limit) = self.placed.limit.as_deref() {
            writeln!(out, "limit      {limit}")?;
        }
        let Placed { seed, candidates, .. } = self.placed;
        if candidates.len() > 1 {
            let variant = self.placed.global.variant.map(|variant| format!(", {variant}"));
            let (variant, count) = (variant.unwrap_or_default(), candidates.len());
            writeln!(out, "result     seed {seed}{variant}: the shortest of {count} candidates")?;
        }
        let total = self.times.stages;
        let share = |part: f64| 100.0 * part / total.total().max(f64::MIN_POSITIVE);
        writeln!(
            out,
            "time       {:.2} ms per iteration: wirelength {:.0} %, density {:.0} %, \
             solve {:.0} %, force {:.0} %, step {:.0} %, gradient {:.0} %, other {:.0} %",
            total.total() / last.max(1) as f64,
            share(total.wirelength),
            share(total.density),
            share(total.solve),
            share(total.force),
            share(total.step),
            share(total.gradient),
            share(total.other)
        )?;
        if self.times.frames > 0.0 {
            writeln!(
                out,
                "           of the {seconds:.2} s, frames took {:.2} s",
                self.times.frames / 1e3
            )?;
        }
        let (_, result) = self.placed.stages.last();
        if let Some(Overflow { smoothed, exact, standard_cells }) = result.overflow {
            let of_cells = standard_cells
                .map(|v| format!(", {v:.6} of the standard cells alone"))
                .unwrap_or_default();
            writeln!(out, "overflow   {smoothed:.6} smoothed, {exact:.6} exact{of_cells}")?;
        }
        for region in self.regions {
            writeln!(out, "{}", region.line())?;
        }
        if let (Some(hpwl), Some(weighted)) = (result.hpwl, result.hpwl_weighted) {
            writeln!(
                out,
                "wirelength HPWL {hpwl:.6e}, weighted {weighted:.6e} (start {:.6e}) layout units{}",
                self.records()[0].sample.hpwl,
                in_microns(self.design, hpwl)
            )?;
            if let Some(given) = self.given {
                let change = 100.0 * (hpwl / given.unweighted.max(f64::MIN_POSITIVE) - 1.0);
                writeln!(
                    out,
                    "given      HPWL {:.6e}{}; the result differs by {change:+.2} % of it",
                    given.unweighted,
                    in_microns(self.design, given.unweighted)
                )?;
            }
        }
        stages::print(&self.placed.stages, "global", self.design, &mut out)?;
        files.into_iter().try_for_each(|file| writeln!(out, "{}", file.display()))
    }

    /// Returns one line on a placement that did not reach its goal.
    pub(super) fn shortfall(&self, output: &Path) -> String {
        if self.is_beside_target() {
            return format!(
                "done at iteration {}, in {}, but {}",
                self.last(),
                output.display(),
                self.reason()
            );
        }
        shortfall(self.placed, output)
    }
}

/// Returns one line on a global stage that did not reach its goal, and on the content of the file.
pub(super) fn shortfall(placed: &Placed, output: &Path) -> String {
    let Global { outcome, iteration, overflow, records, .. } = &placed.global;
    let last = records.last().map_or(0, |record| record.iteration);
    let mut line =
        format!("the global stage stopped at iteration {last}, for {}", reason(*outcome));
    line += &format!(": smoothed overflow {:.4} of iteration {iteration}", overflow.smoothed);
    if let Some(cells) = overflow.standard_cells {
        line += &format!(", {cells:.4} of the standard cells alone");
    }
    if let Some(limit) = placed.limit.as_deref() {
        line += &format!("; {limit}");
    }
    let (stage, result) = placed.stages.last();
    let kind = match (stage, placed.stages.is_legal()) {
        (Stage::Global, _) => "best trade-off seen",
        (_, true) => "legal placement made of it",
        (_, false) => "placement made of it, which is not legal",
    };
    line += &format!("; {} holds the {kind}", output.display());
    match result.overflow.filter(|_| stage != Stage::Global) {
        Some(overflow) => format!("{line}, smoothed overflow {:.4}", overflow.smoothed),
        None => line,
    }
}
