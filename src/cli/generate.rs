//! `placefield generate`: synthetic Bookshelf designs at ISPD2005 statistics.

use super::failure::{Failure, usage};
use super::input::use_threads;
use super::options::at_least_one;
use super::outputs::{DESIGN, Outputs};
use super::results::list;
use crate::generate::{GenerateError, Spec, generate, write_bookshelf};
use clap::error::ErrorKind;
use clap::{ArgGroup, Args};
use std::path::PathBuf;

/// Options of `placefield generate`.
#[derive(Args, Debug)]
#[command(about = "Write a synthetic Bookshelf design with the statistics of an ISPD2005 circuit")]
#[command(group(ArgGroup::new("what").args(["name", "cells"]).required(true)))]
pub(crate) struct GenerateArgs {
    /// Circuit to imitate: adaptec1 to adaptec4 or bigblue1 to bigblue4
    name: Option<String>,
    /// Instead of a name, scale adaptec1's statistics to N movable cells
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    cells: Option<usize>,
    /// Folder of the files, created if needed
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Random seed; the same seed gives the same files
    #[arg(long, value_name = "SEED", default_value_t = 0, allow_hyphen_values = true)]
    seed: u64,
}

/// Generates the design, writes it and lists its files on standard output.
pub(crate) fn run(args: &GenerateArgs) -> Result<(), Failure> {
    use_threads(0)?;
    // Every error in the statistics comes from the command line.
    let wrong = |e: GenerateError| usage(ErrorKind::ValueValidation, &e.to_string());
    let spec = match (&args.name, args.cells) {
        (_, Some(cells)) => Spec::with_cells(cells as u64),
        (name, None) => Spec::preset(name.as_deref().unwrap_or_default()).map_err(wrong)?,
    };
    let design = generate(&spec.seeded(args.seed)).map_err(wrong)?;
    Outputs::default().folder("--out", Some(&args.out), DESIGN).check(&[])?;
    Ok(list(&write_bookshelf(&design, &args.out)?)?)
}
