//! `--history`: every iteration's numbers, as CSV or JSON.

use super::summary::{Common, Summary};
use crate::cli::failure::Failure;
use crate::cli::results::{write_json, write_output};
use crate::place::{Outcome, Record};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A file whose name says which of the two it is.
#[derive(Clone, Debug)]
pub(crate) enum HistoryFile {
    Csv(PathBuf),
    Json(PathBuf),
}

impl FromStr for HistoryFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        let extension = path.extension().unwrap_or_default();
        if extension.eq_ignore_ascii_case("csv") {
            Ok(HistoryFile::Csv(path))
        } else if extension.eq_ignore_ascii_case("json") {
            Ok(HistoryFile::Json(path))
        } else {
            Err("expected a file name that ends in .csv or .json".to_owned())
        }
    }
}

/// The JSON file; its keys are a contract.
#[derive(Serialize)]
struct Document<'a> {
    outcome: Outcome,
    seconds: f64,
    #[serde(flatten)]
    common: Common<'a>,
    history: &'a [Record],
}

impl HistoryFile {
    pub(super) fn path(&self) -> &Path {
        match self {
            HistoryFile::Csv(path) | HistoryFile::Json(path) => path,
        }
    }

    pub(super) fn write(&self, summary: &Summary<'_>) -> Result<(), Failure> {
        match self {
            HistoryFile::Csv(path) => write_csv(path, summary.records),
            HistoryFile::Json(path) => {
                let document = Document {
                    outcome: summary.outcome,
                    seconds: summary.seconds(),
                    common: summary.common(),
                    history: summary.records,
                };
                write_json(path, &document)
            }
        }
    }
}

/// One line per iteration.
fn write_csv(path: &Path, records: &[Record]) -> Result<(), Failure> {
    write_output(path, |out| {
        writeln!(
            out,
            "iteration,hpwl,wirelength,overflow,max_density,energy,gamma,lambda,step,tries,\
             wirelength_ms,density_ms,solve_ms,force_ms,other_ms,pressure"
        )?;
        for r in records {
            let (s, t) = (&r.sample, &r.times);
            writeln!(
                out,
                "{},{},{},{},{},{},{},{:e},{:e},{},{},{},{},{},{},{}",
                r.iteration,
                s.hpwl,
                s.wirelength,
                s.density.overflow,
                s.density.max,
                s.energy,
                r.gamma,
                r.lambda,
                r.step,
                r.tries,
                t.wirelength,
                t.density,
                t.solve,
                t.force,
                t.other,
                r.pressure
            )?;
        }
        Ok(())
    })
}
