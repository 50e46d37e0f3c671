//! `placefield report`: one placement as a page.

use super::page::Page;
use crate::cli::evaluation::evaluate;
use crate::cli::failure::Failure;
use crate::cli::input::{open_design, with_precision};
use crate::cli::options::EvaluationArgs;
use crate::cli::outputs::{Outputs, design_files, one_standard_input};
use crate::cli::results::{list, tell};
use clap::Args;
use std::path::PathBuf;

/// Options of `placefield report`.
#[derive(Args)]
pub(crate) struct ReportArgs {
    /// The design's .aux file
    #[arg(value_name = "DESIGN.aux")]
    aux: PathBuf,
    #[command(flatten)]
    evaluation: EvaluationArgs,
    /// The page, an HTML file that needs no other
    #[arg(long, value_name = "FILE.html")]
    out: PathBuf,
}

/// Reads, evaluates, writes the page and says where it is.
pub(crate) fn run(args: &ReportArgs) -> Result<(), Failure> {
    args.evaluation.options.engine.only_one()?;
    let pl = args.evaluation.pl.as_deref();
    one_standard_input([Some(&*args.aux), pl].into_iter().flatten())?;
    Outputs::default().file("--out", Some(&args.out)).check(&design_files(&args.aux, pl))?;
    let opened = open_design(&args.aux, &args.evaluation)?;
    let options = &args.evaluation.options;
    with_precision!(options.precision(), T => {
        let evaluated = evaluate::<T>(&opened, options)?;
        let mut page = Page::of_evaluation(&opened, &evaluated, &args.evaluation)?;
        page.write(Some(&opened.design), &args.out)?;
        tell(&evaluated.notes, &evaluated.report.warnings);
    });
    match args.out.as_os_str() == "-" {
        true => Ok(()),
        false => Ok(list(&[&args.out])?),
    }
}
