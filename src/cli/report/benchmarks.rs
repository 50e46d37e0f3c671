//! The page of `placefield bench`: the paper's tables beside this machine's numbers.

use super::assemble::{command, machine};
use super::page::Page;
use super::part::{Fact, Group, Image, Part, Table};
use crate::cli::failure::Failure;
use crate::paper::bench::{self as bench, Line, Report, pictures, short};
use crate::warning::{Warning, WarningCode};

impl Page {
    /// Returns every table with its claims and pictures.
    pub(crate) fn of_benchmarks(report: &Report) -> Result<Page, Failure> {
        let of = &report.machine;
        let mut program = command();
        if report.version != env!("CARGO_PKG_VERSION") {
            program.facts.push(Fact::new("Measured by", format!("placefield {}", report.version)));
        }
        let mut here = machine(&of.engine, &of.device);
        here.facts.extend(of.threads.map(|n| Fact::new("Threads", n)));
        here.facts.extend(of.software.as_ref().map(|s| Fact::new("Software", s)));
        here.facts.push(Fact::new("Timing", &of.timing));
        let parts = report.tables.iter().map(|table| part(report, table));
        Ok(Page {
            title: "The paper's tables beside this machine's".to_owned(),
            subtitle: format!("{}; the paper: {}", of.device, report.paper_hardware),
            summary: vec![
                Fact::new("Tables", report.tables.len()),
                Fact::new("Repetitions asked for", report.repetitions),
                Fact::new("Seconds in all", format!("{:.1}", report.seconds)),
            ],
            warnings: report
                .failures()
                .into_iter()
                .map(|of| Warning::new(WarningCode::NotMeasured, of))
                .collect(),
            parts: parts.collect::<Result<_, Failure>>()?,
            made: vec![
                program,
                here,
                Group {
                    title: "Notes",
                    facts: report.notes.iter().map(|note| Fact::new("Note", note)).collect(),
                },
            ],
            ..Page::default()
        })
    }
}

fn part(report: &Report, table: &bench::Table) -> Result<Part, Failure> {
    let number = |value: Option<f64>| value.map_or(String::new(), short);
    let row = |case: &str, line: &Line| {
        let here = match &line.skipped {
            Some(why) => why.clone(),
            None => number(line.here),
        };
        let spread = line.sample.map_or(String::new(), |s| {
            format!("{} ({}–{})", short(s.median), short(s.min), short(s.max))
        });
        let ratios = [line.paper_ratio, line.here_ratio].map(number);
        let [paper_ratio, here_ratio] = ratios;
        let (what, unit) = (line.what.clone(), line.unit.clone());
        vec![case.to_owned(), what, unit, number(line.paper), here, spread, paper_ratio, here_ratio]
    };
    let lines = table.groups.iter().flat_map(|g| g.lines.iter().map(|line| row(&g.case, line)));
    let numbers = Table {
        caption: format!("{}, {}", table.paper, table.precision),
        header: [
            "Case",
            "What",
            "Unit",
            "Paper",
            "Here",
            "Median (least–most)",
            "Paper's ratio",
            "Ratio here",
        ]
        .map(str::to_owned)
        .to_vec(),
        words: 3,
        rows: lines.collect(),
        notes: table.notes.clone(),
    };
    let claims = Table {
        caption: "What the paper says, and what is so here".to_owned(),
        header: ["The paper", "Here", "Verdict"].map(str::to_owned).to_vec(),
        words: 3,
        rows: table
            .claims
            .iter()
            .map(|c| vec![c.paper.clone(), c.here.clone(), c.verdict.words().to_owned()])
            .collect(),
        notes: Vec::new(),
    };
    let of_one = match &table.groups[..] {
        [only] => format!(", {}", only.case),
        _ => String::new(),
    };
    let image = |(what, picture)| Image::of(format!("{what}{of_one}"), &picture);
    let tables = match claims.rows.is_empty() {
        true => vec![numbers],
        false => vec![numbers, claims],
    };
    Ok(Part {
        title: table.title.clone(),
        tables,
        pictures: pictures(table, &report.machine, false)
            .into_iter()
            .map(image)
            .collect::<Result<_, _>>()?,
    })
}
