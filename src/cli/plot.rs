//! `placefield plot`: one placement in pictures.

use super::evaluation::evaluate;
use super::failure::Failure;
use super::input::{open_design, with_precision};
use super::options::EvaluationArgs;
use super::outputs::{Outputs, PICTURES, design_files, one_standard_input};
use super::pictures;
use super::results::{list, tell};
use clap::Args;
use std::path::PathBuf;

/// Options of `placefield plot`.
#[derive(Args)]
pub(crate) struct PlotArgs {
    /// The design's .aux file
    #[arg(value_name = "DESIGN.aux")]
    aux: PathBuf,
    #[command(flatten)]
    evaluation: EvaluationArgs,
    /// Folder the pictures go to; made when it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Reads, evaluates, draws, and lists the files on standard output.
pub(crate) fn run(args: &PlotArgs) -> Result<(), Failure> {
    args.evaluation.options.engine.only_one()?;
    let pl = args.evaluation.pl.as_deref();
    one_standard_input([Some(&*args.aux), pl].into_iter().flatten())?;
    Outputs::default()
        .folder("--out", Some(&args.out), PICTURES)
        .check(&design_files(&args.aux, pl))?;
    let opened = open_design(&args.aux, &args.evaluation)?;
    let options = &args.evaluation.options;
    with_precision!(options.precision(), T => {
        let evaluated = evaluate::<T>(&opened, options)?;
        let files = pictures::draw(&opened.design, &evaluated, &args.out)?;
        tell(&evaluated.notes, &evaluated.report.warnings);
        Ok(list(&files)?)
    })
}
