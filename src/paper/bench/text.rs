//! Tables as a person reads them, in a terminal.

use super::printed::REPETITIONS;
use super::table::{Claim, Line, Report, Table, Timing, short};
use super::work::Machine;
use std::fmt::{self, Display, Formatter};

const HEAD: [&str; 9] = ["", "", "paper", "here", "± sd", "median", "quartiles", "paper", "here"];

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(f, "paper: {}", self.paper_hardware)?;
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        for table in &self.tables {
            write!(f, "\n{table}")?;
        }
        Ok(())
    }
}

impl Display for Machine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.engine, self.device)?;
        if let Some(threads) = self.threads {
            write!(f, ", {threads} thread{}", if threads == 1 { "" } else { "s" })?;
        }
        if let Some(software) = &self.software {
            write!(f, ", {software}")?;
        }
        write!(f, "; {}", self.timing)
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({}), {}", self.title, self.paper, self.precision)?;
        let rows = self.cells();
        let width = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([HEAD[column].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
        write_row(f, &widths, &HEAD.map(str::to_owned), "", "ratio")?;
        let lines = self.groups.iter().flat_map(|g| &g.lines);
        for (row, line) in rows.iter().zip(lines) {
            write_row(f, &widths, row, &remark(line), "")?;
        }
        for claim in &self.claims {
            writeln!(f, "{claim}")?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        writeln!(f, "{:.1} s of {:.0} s", self.seconds, self.budget_s)
    }
}

impl Display for Claim {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} Here: {}", self.verdict.words(), self.paper, self.here)
    }
}

impl Table {
    /// Returns one row of texts per line, in the order of [`HEAD`].
    fn cells(&self) -> Vec<[String; HEAD.len()]> {
        let mut rows = Vec::new();
        for group in &self.groups {
            for (k, line) in group.lines.iter().enumerate() {
                let number = |v: Option<f64>| v.map_or("–".to_owned(), short);
                let sample = |text: &dyn Fn(&Timing) -> String| {
                    line.sample.as_ref().map_or(String::new(), text)
                };
                let ratio = |v: Option<f64>| v.map_or(String::new(), |v| format!("{v:.2}"));
                rows.push([
                    if k == 0 { group.case.clone() } else { String::new() },
                    if line.unit.is_empty() {
                        line.what.clone()
                    } else {
                        format!("{}, {}", line.what, line.unit)
                    },
                    number(line.paper),
                    number(line.here),
                    sample(&|s| short(s.deviation)),
                    sample(&|s| short(s.median)),
                    sample(&|s| format!("{}…{}", short(s.quartiles[0]), short(s.quartiles[1]))),
                    ratio(line.paper_ratio),
                    ratio(line.here_ratio),
                ]);
            }
        }
        rows
    }
}

/// Writes the first two cells on the left of their columns, the rest on the right of theirs;
/// `ratio` comes before the last two.
fn write_row(
    f: &mut Formatter<'_>,
    widths: &[usize],
    row: &[String],
    remark: &str,
    ratio: &str,
) -> fmt::Result {
    let mut text = String::new();
    for (k, (cell, &width)) in row.iter().zip(widths).enumerate() {
        text += &if k < 2 { format!("{cell:<width$}  ") } else { format!("{cell:>width$}  ") };
        if k == 6 {
            text += &format!("{ratio:>5}  ");
        }
    }
    writeln!(f, "{}", (text + remark).trim_end())
}

/// Returns fewer repetitions than the rest, or none, and why.
fn remark(line: &Line) -> String {
    match (&line.skipped, &line.sample) {
        (Some(why), _) => format!("not run: {why}"),
        (None, Some(sample)) if sample.repetitions != REPETITIONS => {
            format!("({} repetitions)", sample.repetitions)
        }
        _ => String::new(),
    }
}
