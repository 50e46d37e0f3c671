//! `placefield generate`: synthetic Bookshelf designs at ISPD2005 statistics.

use super::{GenerateError, Spec, WriteError, generate, write_bookshelf};
use clap::{ArgGroup, Args};
use std::io::{self, Write};
use std::path::PathBuf;

/// Options of `placefield generate`.
#[derive(Args, Debug)]
#[command(about = "Write a synthetic Bookshelf design with the statistics of an ISPD2005 circuit")]
#[command(group(ArgGroup::new("what").args(["name", "cells"]).required(true)))]
pub(crate) struct GenerateArgs {
    /// Circuit to imitate: adaptec1 to adaptec4 or bigblue1 to bigblue4
    name: Option<String>,
    /// Instead of a name: adaptec1's statistics scaled to N movable cells
    #[arg(long, value_name = "N")]
    cells: Option<u64>,
    /// Folder the files go to; made when it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Random seed: the same seed gives the same files
    #[arg(long, value_name = "SEED", default_value_t = 0, allow_hyphen_values = true)]
    seed: u64,
}

/// Why nothing was generated.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GenerateCommandError {
    /// The design cannot be made.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The files cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Standard output cannot be written.
    #[error("standard output: {0}")]
    Output(#[from] io::Error),
}

/// Generates the design, writes it and lists its files on standard output.
pub(crate) fn run(args: &GenerateArgs) -> Result<(), GenerateCommandError> {
    let spec = match (&args.name, args.cells) {
        (_, Some(cells)) => Spec::with_cells(cells),
        (name, None) => Spec::preset(name.as_deref().unwrap_or_default())?,
    };
    let design = generate(&spec.seeded(args.seed))?;
    let mut out = io::stdout().lock();
    for path in write_bookshelf(&design, &args.out)? {
        writeln!(out, "{}", path.display())?;
    }
    Ok(())
}
