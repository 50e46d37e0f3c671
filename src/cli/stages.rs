//! The stages of a placement: text for a page and a terminal, and the exit code.

use super::diff::moves_drawn;
use super::failure::{Failure, Interrupted, Stopped};
use super::options::{distances, rows};
use super::report::part::{Image, Part, Table};
use super::results::{in_microns, write_farthest};
use super::stop;
use crate::design::{Design, Placement};
use crate::flow::{FailedReport, KeptReport, Overflow, Stage, StageReport, Stages};
use crate::legalize::{LegalizeOptions, Progress};
use crate::place::Outcome;
use crate::refine::RefineOptions;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// The options of legalization.
#[derive(Args, Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct LegalArgs {
    /// Free sites at either side of every legal cell
    #[arg(long, value_name = "SITES", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub(crate) padding: u32,
    /// Do not move cells that have a position (DEF: PLACED; Bookshelf: a line in the .pl file).
    /// Place only the other cells
    #[arg(long)]
    pub(crate) keep_placed: bool,
    /// Space to keep free around every movable macro without a halo, along x and along y: in
    /// micrometres for LEF/DEF, else in layout units. One number is for both axes
    #[arg(long, value_name = "X[,Y]", allow_hyphen_values = true, value_parser = distances)]
    macro_halo: Option<[f64; 2]>,
    /// Least distance between two macros, along x or along y, in the unit of --macro-halo. Cells may
    /// lie between them. The larger distance counts where halos need one, too
    #[arg(long, value_name = "X[,Y]", allow_hyphen_values = true, value_parser = distances)]
    macro_channel: Option<[f64; 2]>,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) limits: LimitArgs,
}

impl LegalArgs {
    /// Returns the options of legalization for `design`, after its movable macros got their halos.
    pub(crate) fn apply(&self, design: &mut Design) -> LegalizeOptions {
        let unit = design.length_unit().size;
        let [halo, channel] = [self.macro_halo, self.macro_channel]
            .map(|distances| distances.unwrap_or_default().map(|distance| distance * unit));
        design.add_macro_halos(halo);
        LegalizeOptions::default()
            .padding(self.padding)
            .macro_channel(channel)
            .max_displacement(self.limits.max_displacement)
            .no_one_site_gaps(self.limits.no_one_site_gaps)
    }
}

/// Limits on the places of cells, in legalization and in detailed placement.
#[derive(Args, Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct LimitArgs {
    /// Largest displacement of a cell in a stage: |dx| + |dy| of its centre, in heights of the most
    /// frequent rows. With place --init file, from the start to the result. Cells beyond it are
    /// named, and the exit code is 3
    #[arg(long, value_name = "ROWS", value_parser = rows)]
    pub(crate) max_displacement: Option<f64>,
    /// Close or widen gaps of one site between neighbours in a row. Remaining gaps count as
    /// faults, with exit code 3
    #[arg(long)]
    pub(crate) no_one_site_gaps: bool,
}

impl LimitArgs {
    pub(crate) fn refine<'a>(&self, options: RefineOptions<'a>) -> RefineOptions<'a> {
        options.max_displacement(self.max_displacement).no_one_site_gaps(self.no_one_site_gaps)
    }
}

/// Says how far legalization is.
pub(crate) fn legalizing(progress: &Progress) -> String {
    format!("making the placement legal: {} of {} cells", progress.placed, progress.cells)
}

/// Returns what ends a stage now: an interruption or the clock.
pub(crate) fn asked(deadline: Option<Instant>) -> Option<Outcome> {
    let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    match stop::is_asked() {
        true => Some(Outcome::Interrupted),
        false => is_late().then_some(Outcome::OutOfTime),
    }
}

/// Returns when a command that `begun` then has spent its time.
pub(crate) fn deadline(begun: Instant, limit: Option<f64>) -> Option<Instant> {
    limit.and_then(|limit| begun.checked_add(Duration::from_secs_f64(limit)))
}

/// Returns the HPWL of a later stage over that of the global one, less one, in percent.
fn relative(stages: &Stages, stage: &StageReport) -> Option<String> {
    let (before, after) = (stages.stages.global.hpwl?, stage.hpwl?);
    Some(format!("{:+.2} %", 100.0 * (after / before.max(f64::MIN_POSITIVE) - 1.0)))
}

/// Returns the stages side by side, for a page; `None` if the global one is all there is. The
/// placement before the others is `global`.
pub(crate) fn part(
    stages: &Stages,
    design: &Design,
    global: &Placement,
) -> Result<Option<Part>, Failure> {
    let Some(moved) = &stages.moved else { return Ok(None) };
    let number = |value: Option<f64>, text: &dyn Fn(f64) -> String| {
        value.map_or_else(|| "-".to_owned(), text)
    };
    let unit = design.length_unit();
    let row = |(name, stage): (Stage, &StageReport)| {
        vec![
            name.name().to_owned(),
            number(stage.hpwl, &|v| format!("{:.6e}", unit.of(v))),
            relative(stages, stage).filter(|_| name != Stage::Global).unwrap_or_default(),
            number(stage.overflow.map(|o| o.smoothed), &|v| format!("{v:.6}")),
            number(stage.overflow.map(|o| o.exact), &|v| format!("{v:.6}")),
            number(stage.seconds, &|v| format!("{v:.3}")),
        ]
    };
    let hpwl = format!("HPWL, {}", unit.name);
    let header =
        ["Stage", &hpwl, "Against global", "Overflow, smoothed", "Overflow, exact", "Seconds"];
    let [places, distances] = moves_drawn("", design, global, moved)?;
    let pictures = [
        ("Where cells moved from the global placement on", places),
        ("How far they moved", distances),
    ];
    Ok(Some(Part {
        title: "Stages".to_owned(),
        tables: vec![Table {
            caption: "Results of each stage; the last one was written".to_owned(),
            header: header.map(str::to_owned).to_vec(),
            words: 1,
            rows: stages.all().map(row).collect(),
            notes: stages
                .legality
                .iter()
                .map(|legality| format!("The placement is {legality}."))
                .collect(),
        }],
        pictures: pictures
            .iter()
            .map(|(title, picture)| Image::of((*title).to_owned(), picture))
            .collect::<Result<_, _>>()?,
    }))
}

/// Prints the results of every stage as text, each beside the first placement, called `first`.
pub(crate) fn print(
    stages: &Stages,
    first: &str,
    design: &Design,
    out: &mut impl Write,
) -> io::Result<()> {
    for (name, stage) in stages.all().filter(|_| stages.stages.legal.is_some()) {
        let mut said = Vec::new();
        if let Some(hpwl) = stage.hpwl {
            let relative = relative(stages, stage).filter(|_| name != Stage::Global);
            let relative =
                relative.map(|by| format!(" ({by} against {first})")).unwrap_or_default();
            said.push(format!("HPWL {hpwl:.6e}{relative}{}", in_microns(design, hpwl)));
        }
        if let Some(Overflow { smoothed, exact, .. }) = stage.overflow {
            said.push(format!("overflow {smoothed:.4} smoothed, {exact:.4} exact"));
        }
        said.extend(stage.seconds.map(|seconds| format!("{seconds:.3} s")));
        let name = if name == Stage::Global { first } else { name.name() };
        writeln!(out, "{name:<10} {}", said.join(", "))?;
    }
    if let Some(moved) = &stages.displacement {
        let (far, rows) = (moved.distances, moved.rows);
        let unit = design.length_unit();
        let [mean, p95, max] = [far.mean, far.p95, far.max].map(|far| unit.of(far));
        let microns = if design.units_per_micron.is_some() { " µm" } else { "" };
        writeln!(
            out,
            "moved      {} of {} cells; mean {mean:.6}{microns} ({:.3} rows), \
             95 % within {p95:.6}{microns} ({:.3}), at most {max:.6}{microns} ({:.3})",
            moved.moved, moved.cells, rows.mean, rows.p95, rows.max
        )?;
    }
    if let Some(moved) = &stages.displacement {
        write_farthest(out, &moved.farthest, design.length_unit())?;
    }
    print_kept(stages.kept.as_ref(), out)?;
    if let Some(legality) = &stages.legality {
        writeln!(out, "legality   {legality}")?;
    }
    write_failed(&stages.failed, out)
}

/// Prints the cells that kept their places.
pub(crate) fn print_kept(kept: Option<&KeptReport>, out: &mut impl Write) -> io::Result<()> {
    kept.map_or(Ok(()), |kept| {
        writeln!(out, "kept       {} cells where they were: {}", kept.cells, kept.legality)
    })
}

/// Prints cells without a place within the options.
fn write_failed(failed: &[FailedReport], out: &mut impl Write) -> io::Result<()> {
    const SHOWN: usize = 10;
    for failed in failed.iter().take(SHOWN) {
        writeln!(out, "  {}: {}", failed.cell, failed.reason)?;
    }
    if failed.len() > SHOWN {
        writeln!(out, "  and {} more", failed.len() - SHOWN)?;
    }
    Ok(())
}

/// Returns the exit code's failure for a placement that is not legal where that was required.
pub(crate) fn ended(stages: &Stages) -> Result<(), Failure> {
    if let Some(legal) = &stages.stages.legal {
        stopped(legal.status, "legalization has not ended")?;
    }
    all_placed(&stages.failed)?;
    if let Some(kept) = stages.kept.as_ref().filter(|kept| !kept.legality.legal) {
        let said = format!("the cells that keep their places are {}", kept.legality);
        return Err(Stopped(said).into());
    }
    match (&stages.legality, &stages.stages.detailed) {
        (Some(legality), _) if !legality.legal => {
            Err(Stopped(format!("the placement is {legality}")).into())
        }
        (_, Some(detailed)) => refined(detailed.status, "the placement"),
        _ => Ok(()),
    }
}

/// Fails where cells have no place within the options.
fn all_placed(failed: &[FailedReport]) -> Result<(), Failure> {
    let [FailedReport { cell, reason }, rest @ ..] = failed else { return Ok(()) };
    let more = match rest.len() {
        0 => String::new(),
        count => format!("; and for {count} more"),
    };
    Err(Stopped(format!("no legal place was found for `{cell}`: {reason}{more}")).into())
}

/// Fails if refinement ended early, so wires could be shorter. `name` is the placement, which is
/// legal.
pub(crate) fn refined(status: Outcome, name: &str) -> Result<(), Failure> {
    stopped(status, &format!("{name} is legal, and wires could be shorter still"))
}

/// Fails if an interruption or the clock ended a stage; `said` names its result.
fn stopped(status: Outcome, said: &str) -> Result<(), Failure> {
    match status {
        Outcome::Converged => Ok(()),
        Outcome::Interrupted => Err(Interrupted(format!("interrupted: {said}")).into()),
        _ => Err(Stopped(format!("the time was spent: {said}")).into()),
    }
}
