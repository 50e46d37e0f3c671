//! The stages of a placement in words: for a page, for a person, as an exit code.

use super::diff::moves_drawn;
use super::failure::{Failure, Interrupted, Stopped};
use super::report::part::{Image, Part, Table};
use super::results::in_microns;
use crate::design::{Design, Placement};
use crate::flow::{FailedReport, Overflow, Stage, StageReport, Stages};
use crate::legalize::LegalizeOptions;
use crate::place::Outcome;
use clap::Args;
use std::io::{self, Write};

/// The options of legalisation.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct LegalArgs {
    /// Sites that stay free at either side of every cell once it is legal
    #[arg(long, value_name = "SITES", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub(crate) padding: u32,
}

impl LegalArgs {
    pub(crate) fn options(&self) -> LegalizeOptions {
        LegalizeOptions::default().padding(self.padding)
    }
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
    let row = |(name, stage): (Stage, &StageReport)| {
        vec![
            name.name().to_owned(),
            number(stage.hpwl, &|v| format!("{v:.6e}")),
            relative(stages, stage).filter(|_| name != Stage::Global).unwrap_or_default(),
            number(stage.overflow.map(|o| o.smoothed), &|v| format!("{v:.6}")),
            number(stage.overflow.map(|o| o.exact), &|v| format!("{v:.6}")),
            number(stage.seconds, &|v| format!("{v:.3}")),
        ]
    };
    let header =
        ["Stage", "HPWL", "Against global", "Overflow, smoothed", "Overflow, exact", "Seconds"];
    let [places, distances] = moves_drawn("from the global placement on", design, global, moved)?;
    let pictures = [("Where cells moved", places), ("How far cells moved", distances)];
    Ok(Some(Part {
        title: "Stages".to_owned(),
        tables: vec![Table {
            caption: "What each stage came to; the last one is what was written".to_owned(),
            header: header.map(str::to_owned).to_vec(),
            words: 1,
            rows: stages.all().map(row).collect(),
            notes: stages.legality.iter().map(|legality| format!("It is {legality}.")).collect(),
        }],
        pictures: pictures
            .iter()
            .map(|(title, picture)| Image::of((*title).to_owned(), picture))
            .collect::<Result<_, _>>()?,
    }))
}

/// Prints the results of every stage as text, each beside the global placement.
pub(crate) fn print(stages: &Stages, design: &Design, out: &mut impl Write) -> io::Result<()> {
    for (name, stage) in stages.all().filter(|_| stages.stages.legal.is_some()) {
        let mut said = Vec::new();
        if let Some(hpwl) = stage.hpwl {
            let relative = relative(stages, stage).filter(|_| name != Stage::Global);
            let relative = relative.map(|by| format!(" ({by})")).unwrap_or_default();
            said.push(format!("HPWL {hpwl:.6e}{relative}{}", in_microns(design, hpwl)));
        }
        if let Some(Overflow { smoothed, exact, .. }) = stage.overflow {
            said.push(format!("overflow {smoothed:.4} smoothed, {exact:.4} exact"));
        }
        said.extend(stage.seconds.map(|seconds| format!("{seconds:.3} s")));
        writeln!(out, "{:<10} {}", name.name(), said.join(", "))?;
    }
    if let Some(moved) = &stages.displacement {
        let (far, rows) = (moved.distances, moved.rows);
        writeln!(
            out,
            "moved      {} of {} cells; mean {:.6} ({:.3} rows), 95 % within {:.6} ({:.3}), \
             at most {:.6} ({:.3})",
            moved.moved, moved.cells, far.mean, rows.mean, far.p95, rows.p95, far.max, rows.max
        )?;
    }
    if let Some(legality) = &stages.legality {
        writeln!(out, "legality   {legality}")?;
    }
    const SHOWN: usize = 10;
    for failed in stages.failed.iter().take(SHOWN) {
        writeln!(out, "  {}: {}", failed.cell, failed.reason)?;
    }
    if stages.failed.len() > SHOWN {
        writeln!(out, "  and {} more", stages.failed.len() - SHOWN)?;
    }
    Ok(())
}

/// Returns the exit code's failure for a placement that is not legal where that was required.
pub(crate) fn ended(stages: &Stages) -> Result<(), Failure> {
    match (&stages.failed[..], &stages.legality) {
        ([first, rest @ ..], _) => {
            let FailedReport { cell, reason } = first;
            let more = match rest.len() {
                0 => String::new(),
                count => format!("; and for {count} more"),
            };
            Err(Stopped(format!("no legal place was found for `{cell}`: {reason}{more}")).into())
        }
        ([], Some(legality)) if !legality.legal => {
            Err(Stopped(format!("the placement is {legality}")).into())
        }
        _ => {
            let detailed = stages.stages.detailed.as_ref();
            detailed.map_or(Ok(()), |detailed| refined(detailed.status, "the placement"))
        }
    }
}

/// Fails where wires could be shorter still, by how refining ended; `name` is what is legal all the
/// same.
pub(crate) fn refined(status: Outcome, name: &str) -> Result<(), Failure> {
    let said = || format!("{name} is legal, and wires could be shorter still");
    match status {
        Outcome::Converged => Ok(()),
        Outcome::Interrupted => Err(Interrupted(format!("interrupted: {}", said())).into()),
        _ => Err(Stopped(format!("the time was spent: {}", said())).into()),
    }
}
