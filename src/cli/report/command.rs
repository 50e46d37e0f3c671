//! `placefield report`: shows one placement as a page.

use super::page::Page;
use crate::cli::congestion::CongestionArgs;
use crate::cli::evaluation::evaluate;
use crate::cli::failure::Failure;
use crate::cli::input::open_design;
use crate::cli::legality::judge;
use crate::cli::options::EvaluationArgs;
use crate::cli::outputs::Outputs;
use crate::cli::picture_args::FieldArgs;
use crate::cli::results::{list, tell};
use crate::real::with_precision;
use clap::Args;
use std::path::PathBuf;

/// Options of `placefield report`.
#[derive(Args)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    evaluation: EvaluationArgs,
    #[command(flatten)]
    congestion: CongestionArgs,
    #[command(flatten)]
    field: FieldArgs,
    /// Write the page, one HTML file that needs no other file
    #[arg(long, value_name = "FILE.html")]
    out: PathBuf,
}

/// Reads, evaluates, writes the page and prints its path.
pub(crate) fn run(args: &ReportArgs) -> Result<(), Failure> {
    args.evaluation.design.check()?;
    Outputs::default().file("--out", Some(&args.out)).check(&args.evaluation.design.files())?;
    let mut opened = open_design(&args.evaluation)?;
    // A design without rows has no legal placement.
    let legality = match opened.design.rows.is_empty() {
        true => None,
        false => Some(judge(&mut opened, args.evaluation.design.pin_position(), false)?),
    };
    let options = &args.evaluation.options;
    with_precision!(options.precision, T => {
        let mut evaluated = evaluate::<T>(&opened, options)?;
        evaluated.add_congestion(&opened, &args.congestion, None)?;
        evaluated.report.legality = legality.clone();
        let mut page = Page::of_evaluation(&opened, &evaluated, &args.evaluation, &args.field)?;
        page.write(Some(&opened.design), &args.out)?;
        tell(&evaluated.notes, &evaluated.report.warnings);
    });
    match args.out.as_os_str() == "-" {
        true => Ok(()),
        false => Ok(list(&[&args.out])?),
    }
}
