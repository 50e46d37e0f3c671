//! `--history`: every iteration's numbers, as CSV or JSON.

use super::summary::{Common, Summary};
use crate::cli::document::{Content, write_document};
use crate::cli::failure::{Failure, named};
use crate::cli::results::write_output;
use crate::place::{Outcome, Record};
use schemars::JsonSchema;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A file; its name says which of the two formats it has.
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
#[derive(Serialize, JsonSchema)]
pub(crate) struct HistoryReport<'a> {
    /// The end of the run.
    outcome: Outcome,
    /// Seconds of all iterations.
    seconds: f64,
    #[serde(flatten)]
    common: Common<'a>,
    /// Every iteration.
    history: &'a [Record],
}

impl Content for HistoryReport<'_> {
    const COMMAND: &'static str = "place-history";
}

impl HistoryFile {
    pub(super) fn path(&self) -> &Path {
        match self {
            HistoryFile::Csv(path) | HistoryFile::Json(path) => path,
        }
    }

    /// Returns the file as one that is written while the iterations run. `None` for JSON, which is
    /// written as a whole.
    pub(super) fn live(&self) -> Option<Live> {
        match self {
            HistoryFile::Csv(path) => Some(Live { path: path.clone(), file: None, failed: Ok(()) }),
            HistoryFile::Json(_) => None,
        }
    }

    /// Writes the whole file.
    pub(super) fn write(
        &self,
        summary: &Summary<'_>,
        inputs: &[PathBuf],
        outputs: &[&Path],
    ) -> Result<(), Failure> {
        match self {
            HistoryFile::Csv(path) => write_output(path, |out| {
                writeln!(out, "{}", header())?;
                summary.records().iter().try_for_each(|record| writeln!(out, "{}", line(record)))
            }),
            HistoryFile::Json(path) => {
                let document = HistoryReport {
                    outcome: summary.placed.global.outcome,
                    seconds: summary.seconds(),
                    common: summary.common(),
                    history: summary.records(),
                };
                write_document(Some(path), inputs, outputs, &document)
            }
        }
    }
}

/// The first line of a CSV file.
fn header() -> String {
    Record::COLUMNS.map(|(name, _)| name).join(",")
}

/// Returns an iteration in the columns of [`header`].
fn line(record: &Record) -> String {
    let text = |value: f64| match value.abs() {
        1e-4.. | 0.0 => value.to_string(),
        _ => format!("{value:e}"),
    };
    Record::COLUMNS.map(|(_, value)| text(value(record))).join(",")
}

/// A CSV file that gets a line as soon as an iteration is done, for readers who follow it.
pub(super) struct Live {
    path: PathBuf,
    /// `None` once a line could not be written; this must not stop the placement.
    file: Option<File>,
    /// The error, if a line could not be written.
    failed: Result<(), Failure>,
}

impl Live {
    /// Replaces the content of the file with the iterations so far.
    pub(super) fn begin(&mut self, records: &[Record]) {
        let written = File::create(&self.path).and_then(|mut file| {
            let lines = std::iter::once(header()).chain(records.iter().map(line));
            lines.into_iter().try_for_each(|line| file.write_all((line + "\n").as_bytes()))?;
            Ok(file)
        });
        self.keep(written);
    }

    /// Adds an iteration, in one write.
    pub(super) fn add(&mut self, record: &Record) {
        if let Some(mut file) = self.file.take() {
            let written = file.write_all((line(record) + "\n").as_bytes());
            self.keep(written.map(|()| file));
        }
    }

    fn keep(&mut self, written: io::Result<File>) {
        match written {
            Ok(file) => self.file = Some(file),
            Err(error) => self.failed = Err(named(&self.path, error)),
        }
    }

    /// Returns the error if a line could not be written.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.failed
    }
}
