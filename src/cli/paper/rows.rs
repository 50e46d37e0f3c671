//! A table of the paper as data: cases, each of some rows that are timed in turn, follow from
//! those times or are counted, with the number that the paper prints; and the one runner of them.

use super::session::{Outcome, Session, Unit};
use super::table::{Group, Line};
use super::target::{BenchError, Work};
use crate::engine::Pipeline;
use crate::real::Precision;

/// The medians of a case's timed rows, in their order, in milliseconds.
pub(super) type Medians = [Option<f64>];

/// Where a row has its number from.
enum Number {
    Timed(Work, Unit),
    Follows(Box<Follow>),
    Counted(f64),
    Skipped(String),
}

type Follow = dyn Fn(&Medians) -> Option<f64>;

/// A row: its subject, the source of its number, and the paper's number.
pub(super) struct Row {
    what: String,
    unit: &'static str,
    number: Number,
    printed: Option<f64>,
    over: Option<String>,
    /// Equal for rows that are timed in turn, which are consecutive.
    turn: usize,
    precision: Option<Precision>,
    shown: bool,
}

impl Row {
    fn new(what: impl Into<String>, unit: &'static str, number: Number) -> Row {
        let what = what.into();
        let (turn, precision, shown) = (0, None, true);
        Row { what, unit, number, printed: None, over: None, turn, precision, shown }
    }

    /// Returns a time in milliseconds.
    pub(super) fn timed(what: impl Into<String>, work: Work) -> Row {
        Row::timed_in(Unit::Milliseconds, what, work)
    }

    /// Returns a time in `unit`.
    pub(super) fn timed_in(unit: Unit, what: impl Into<String>, work: Work) -> Row {
        Row::new(what, unit.name(), Number::Timed(work, unit))
    }

    /// Returns a number that follows from the times.
    pub(super) fn follows(
        what: impl Into<String>,
        unit: &'static str,
        from: impl Fn(&Medians) -> Option<f64> + 'static,
    ) -> Row {
        Row::new(what, unit, Number::Follows(Box::new(from)))
    }

    /// Returns a number that is known.
    pub(super) fn counted(what: &str, unit: &'static str, here: f64) -> Row {
        Row::new(what, unit, Number::Counted(here))
    }

    /// Makes a row without a number, for this reason.
    pub(super) fn skipped(what: &str, unit: &'static str, why: impl Into<String>) -> Row {
        Row::new(what, unit, Number::Skipped(why.into()))
    }

    /// Sets the paper's number.
    pub(super) fn printed(self, printed: impl Into<Option<f64>>) -> Row {
        Row { printed: printed.into(), ..self }
    }

    /// Sets that ratios are over the row of this name.
    pub(super) fn over(self, what: impl Into<String>) -> Row {
        Row { over: Some(what.into()), ..self }
    }

    /// Sets the turn it is timed in.
    pub(super) fn turn(self, turn: usize) -> Row {
        Row { turn, ..self }
    }

    /// Sets the precision it is timed in, whatever the table's.
    pub(super) fn precision(self, precision: Precision) -> Row {
        Row { precision: Some(precision), ..self }
    }

    /// Makes it timed for rows that follow, and not shown.
    pub(super) fn hidden(self) -> Row {
        Row { shown: false, ..self }
    }

    fn work(&self) -> Option<&Work> {
        if let Number::Timed(work, _) = &self.number { Some(work) } else { None }
    }

    /// Whether it is of single transforms by kernels for lines.
    fn is_by_lines(&self) -> bool {
        use Work::{Compress, Map, Volume};
        let pipeline = match self.work() {
            Some(Map(.., pipeline) | Volume(.., pipeline) | Compress(_, pipeline, _)) => pipeline,
            _ => return false,
        };
        *pipeline == Pipeline::ThreePass
    }

    /// Returns the line of a table, `outcomes` being those of the timed rows from this one on.
    fn line<'o>(
        self,
        outcomes: &mut impl Iterator<Item = &'o Outcome>,
        medians: &Medians,
    ) -> Option<Line> {
        let line = match self.number {
            Number::Timed(_, unit) => Line::timed(self.what, unit, outcomes.next()?),
            Number::Follows(from) => Line::new(self.what, self.unit).counted(from(medians)),
            Number::Counted(here) => Line::new(self.what, self.unit).counted(here),
            Number::Skipped(why) => Line::new(self.what, self.unit).skipped(why),
        };
        let line = Line { over: self.over, ..line.printed(self.printed) };
        self.shown.then_some(line)
    }
}

/// The rows of one block of a table.
pub(super) struct Block {
    pub(super) name: String,
    /// Elements of a map or bodies of a design.
    pub(super) elements: Option<usize>,
    pub(super) rows: Vec<Row>,
}

impl Block {
    pub(super) fn new(name: impl Into<String>, elements: Option<usize>, rows: Vec<Row>) -> Block {
        Block { name: name.into(), elements, rows }
    }
}

/// Measures the blocks of a case, one after the other; `case` is reported as progress.
fn measure(session: &mut Session<'_>, case: &str, mut blocks: Vec<Block>) -> Vec<Group> {
    let has_lines = session.has_lines();
    for block in &mut blocks {
        block.rows.retain(|row| has_lines || !row.is_by_lines());
    }
    let rows = blocks.iter().flat_map(|block| &block.rows);
    let timed: Vec<(&Row, &Work)> = rows.filter_map(|row| Some((row, row.work()?))).collect();
    let mut outcomes = Vec::new();
    for turn in timed.chunk_by(|(a, _), (b, _)| a.turn == b.turn) {
        let works: Vec<Work> = turn.iter().map(|(_, work)| (*work).clone()).collect();
        outcomes.extend(match turn[0].0.precision {
            Some(precision) => {
                session.measure_in(precision, &format!("{case} in {precision}"), &works)
            }
            None => session.measure(case, &works),
        });
    }
    let medians: Vec<Option<f64>> = outcomes.iter().map(Outcome::median).collect();
    let mut outcomes = outcomes.iter();
    let mut group = |block: Block| {
        let lines = block.rows.into_iter().filter_map(|row| row.line(&mut outcomes, &medians));
        Group::new(block.name, block.elements, lines.collect())
    };
    blocks.into_iter().map(&mut group).collect()
}

/// Measures all cases, or the first for a quick run: `size` orders them, smallest first, so that
/// those are the largest that the time does not suffice for; `blocks` has the rows of one, which
/// are timed in `turns` turns. Groups come in the order of `cases`.
///
/// # Errors
/// The first error of `blocks`.
pub(super) fn run<C>(
    session: &mut Session<'_>,
    cases: &[C],
    turns: usize,
    size: impl Fn(&C) -> usize,
    mut blocks: impl FnMut(&Session<'_>, &C) -> Result<(String, Vec<Block>), BenchError>,
) -> Result<Vec<Group>, BenchError> {
    let cases = if session.settings.quick { &cases[..1.min(cases.len())] } else { cases };
    session.expect(turns * cases.len());
    let mut order: Vec<usize> = (0..cases.len()).collect();
    order.sort_by_key(|&k| size(&cases[k]));
    let mut groups = vec![Vec::new(); cases.len()];
    for k in order {
        let (case, blocks) = blocks(session, &cases[k])?;
        groups[k] = measure(session, &case, blocks);
    }
    Ok(groups.concat())
}
