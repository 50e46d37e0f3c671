//! `compare --trajectory place`: a real placement, led by the first pipeline, whose every iteration
//! all pipelines solve; and beside it the same placement led by each of the others, to see that
//! they come out alike. One more shows how alike they can be, led by the first pipeline again from
//! a start in which one coordinate of one cell has another last digit.

use crate::cli::failure::Failure;
use crate::cli::input::{Opened, charge_of};
use crate::cli::options::SolveArgs;
use crate::cli::pictures::over_iterations;
use crate::compare::{Comparison, Iteration, Side};
use crate::engine::Pipeline;
use crate::engines::EngineReal;
use crate::place::{Backend, Outcome, PlaceOptions, Placer, Record, start};
use crate::plot::{Curves, Series};
use crate::wirelength::Netlist;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One placement per pipeline and the nudged one, iteration by iteration.
pub(crate) struct Runs<'b> {
    /// By [`LEADERS`]; the first one leads.
    runs: Vec<Placer<'b>>,
    records: Vec<Vec<Record>>,
    /// The leading placement has ended and its last positions were measured.
    over: bool,
}

/// The pipelines whose solves a placement follows, and whether its start is nudged.
const LEADERS: [(Pipeline, bool); Pipeline::ALL.len() + 1] = {
    let [a, b, c] = Pipeline::ALL;
    [(a, false), (b, false), (c, false), (a, true)]
};

/// Returns a backend for every one of [`LEADERS`].
pub(crate) fn open_backends<T: EngineReal>(
    opened: &Opened,
    options: &SolveArgs,
) -> Result<Vec<Box<dyn Backend>>, Failure> {
    let charge = Arc::new(charge_of(&opened.design, options)?);
    let netlist = Netlist::from_design(&opened.design, Netlist::ALL)
        .map_err(|e| format!("{e}, so there is nothing to place by"))?;
    let open = |(pipeline, _)| -> Result<Box<dyn Backend>, Failure> {
        let options = options.with_pipeline(pipeline);
        Ok(options.open_backend::<T>(charge.clone(), &netlist)?.engine)
    };
    LEADERS.into_iter().map(open).collect()
}

/// The shares of solves in a whole placement.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Placement {
    /// The end of the leading placement.
    outcome: Outcome,
    /// Evaluations of every iteration, beside the rows of the table.
    #[serde(skip)]
    tries: Vec<u32>,
    /// Number of evaluations; more than iterations if steps were repeated.
    evaluations: u32,
    /// Every engine with every pipeline.
    totals: Vec<Total>,
    /// That placement, led by each pipeline.
    led: Vec<Led>,
    /// The placement of the first pipeline again, from a start that differs in the last digit.
    nudged: Led,
}

/// One side in the whole placement, milliseconds.
#[derive(Serialize, JsonSchema)]
struct Total {
    /// `"cpu"` or `"cuda"`.
    engine: &'static str,
    /// The pipeline.
    pipeline: Pipeline,
    /// Its solves.
    solve_ms: f64,
    /// Density, solve and force of this pipeline, and all other parts of the placement.
    placement_ms: f64,
    /// The share of solves in this time.
    solve_share: f64,
    /// The first side's whole placement divided by this side's.
    speedup: f64,
    /// Upper bound of the speedup: the ratio if solves took no time.
    most_speedup: f64,
}

#[derive(Serialize, JsonSchema)]
struct Led {
    /// The pipeline.
    pipeline: Pipeline,
    /// Number of iterations.
    iterations: usize,
    /// Weighted wirelength of every iteration, layout units.
    hpwl: Vec<f64>,
    /// Largest |HPWL − the first's| / the first's HPWL, iteration by iteration.
    largest_difference: f64,
}

impl<'b> Runs<'b> {
    /// Starts every placement from the same centred start, the last one nudged.
    pub(crate) fn new<T: EngineReal>(
        backends: &'b mut [Box<dyn Backend>],
        seed: u64,
        iterations: usize,
    ) -> Result<Self, Failure> {
        let mut runs = Vec::new();
        for (backend, (_, nudged)) in backends.iter_mut().zip(LEADERS) {
            let (mut x, y) = start::centred(backend.charge(), seed);
            if let (Some(x), true) = (x.first_mut(), nudged) {
                *x += T::epsilon().widen() * backend.charge().grid().die().width();
            }
            let options = PlaceOptions::default().iterations(iterations);
            runs.push(Placer::new(&mut **backend, &x, &y, &options)?);
        }
        let records = runs.iter().map(|run| vec![*run.last()]).collect();
        Ok(Runs { runs, records, over: false })
    }

    /// Measures the leading placement, then takes a step in each placement; returns `None` if the
    /// leading one has ended.
    pub(crate) fn advance<T: EngineReal>(
        &mut self,
        comparison: &mut Comparison<'_, T>,
    ) -> Result<Option<Iteration>, Failure> {
        if self.over {
            return Ok(None);
        }
        let (x, y) = self.runs[0].positions()?;
        let row = comparison.measure(&x, &y)?;
        self.over = self.runs[0].outcome().is_some();
        for (run, records) in self.runs.iter_mut().zip(&mut self.records) {
            if let Some(record) = run.step()? {
                records.push(*record);
            }
        }
        Ok(Some(row))
    }

    /// Returns the sums over the rows measured, one per iteration of the leading placement.
    pub(crate) fn finish(self, rows: &[Iteration]) -> Placement {
        let leading = &self.records[0];
        let steps = || rows.iter().zip(leading);
        let rest: f64 = leading
            .iter()
            .map(|r| r.times.total() - (r.times.density + r.times.solve + r.times.force))
            .sum();
        let sides = rows.first().map_or(0, |row| row.sides.len());
        let mut totals: Vec<Total> = Vec::with_capacity(sides);
        for s in 0..sides {
            let sum = |value: &dyn Fn(&Side) -> f64| -> f64 {
                steps().map(|(row, record)| f64::from(record.tries) * value(&row.sides[s])).sum()
            };
            let solve_ms = sum(&|side| side.solve);
            let placement_ms = rest + sum(&|side| side.density + side.solve + side.force);
            let first = totals.first().map_or(placement_ms, |total| total.placement_ms);
            totals.push(Total {
                engine: rows[0].sides[s].engine,
                pipeline: rows[0].sides[s].pipeline,
                solve_ms,
                placement_ms,
                solve_share: solve_ms / placement_ms,
                speedup: first / placement_ms,
                most_speedup: placement_ms / (placement_ms - solve_ms),
            });
        }
        let hpwl = |records: &[Record]| records.iter().map(|r| r.sample.hpwl).collect::<Vec<_>>();
        let led = |((pipeline, _), records): (_, &Vec<Record>)| {
            let pairs = records.iter().zip(leading);
            let apart = pairs.map(|(a, b)| (a.sample.hpwl / b.sample.hpwl - 1.0).abs());
            Led {
                pipeline,
                iterations: records.len() - 1,
                hpwl: hpwl(records),
                largest_difference: apart.fold(0.0, f64::max),
            }
        };
        let mut led: Vec<Led> = LEADERS.into_iter().zip(&self.records).map(led).collect();
        let nudged = led.pop().expect("one after the pipelines");
        Placement {
            outcome: self.runs[0].outcome().unwrap_or(Outcome::Interrupted),
            tries: leading.iter().map(|r| r.tries).collect(),
            evaluations: leading.iter().map(|r| r.tries).sum(),
            totals,
            led,
            nudged,
        }
    }
}

impl Placement {
    /// The totals as a person reads them.
    pub(crate) fn print(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let iterations = self.led.first().map_or(0, |led| led.iterations);
        writeln!(
            out,
            "the whole placement ({iterations} iterations, {} evaluations):",
            self.evaluations
        )?;
        for t in &self.totals {
            writeln!(
                out,
                "  {:<4} {:<10} {:>10.1} ms of solves, {:>5.1} % of {:>10.1} ms; \
                 {:.3}x the first's, at most {:.3}x with free solves",
                t.engine,
                t.pipeline.name(),
                t.solve_ms,
                100.0 * t.solve_share,
                t.placement_ms,
                t.speedup,
                t.most_speedup
            )?;
        }
        writeln!(out, "the same placement led by each pipeline:")?;
        let nudged = [(&self.nudged, " (with another last digit in one cell's place)")];
        for (led, how) in self.led.iter().map(|led| (led, "")).chain(nudged) {
            writeln!(
                out,
                "  {:<10} {:>5} iterations, HPWL {:.6e}, apart by at most {:.1e}{how}",
                led.pipeline.name(),
                led.iterations,
                led.hpwl.last().copied().unwrap_or(0.0),
                led.largest_difference
            )?;
        }
        Ok(())
    }

    /// Solve time so far of every side, and HPWL led by every pipeline; returns the files.
    pub(crate) fn draw(
        &self,
        name: &str,
        rows: &[Iteration],
        folder: &Path,
    ) -> Result<Vec<PathBuf>, Failure> {
        let solves = self.totals.iter().enumerate().map(|(s, total)| Series {
            name: format!("{} {}", total.engine, total.pipeline),
            points: so_far(rows, &self.tries, s),
            ..Series::default()
        });
        // The curves of HPWL would hide one another: what differs is drawn.
        let first = self.led.first().map_or(&[][..], |led| &led.hpwl);
        let apart = |led: &Led| {
            let pairs = led.hpwl.iter().zip(first).enumerate();
            pairs.map(|(k, (a, b))| (k as f64, (a / b - 1.0).abs())).collect()
        };
        let others = self.led.iter().skip(1).map(|led| (format!("led by {}", led.pipeline), led));
        let nudged = std::iter::once(("with another last digit".to_owned(), &self.nudged));
        let lengths = others.chain(nudged).map(|(name, led)| Series {
            name,
            points: apart(led),
            ..Series::default()
        });
        let mut files = Vec::new();
        let (title, solves) = ("solves of a placement so far", solves.collect());
        let total = over_iterations(name, title, "time (ms)", solves);
        total.draw().save(folder, "compare_total", &mut files)?;
        let title = format!("HPWL apart from that led by {}", self.totals[0].pipeline);
        let hpwl = over_iterations(name, &title, "relative difference", lengths.collect());
        let hpwl = Curves { log_y: true, ..hpwl };
        hpwl.draw().save(folder, "compare_wirelength", &mut files)?;
        Ok(files)
    }
}

/// Returns the milliseconds of side `s`'s solves up to every iteration, of which each is solved as
/// often as the placement tried it.
fn so_far(rows: &[Iteration], tries: &[u32], s: usize) -> Vec<(f64, f64)> {
    let mut sum = 0.0;
    let point = |(row, &tries): (&Iteration, &u32)| {
        sum += f64::from(tries) * row.sides[s].solve;
        (row.iteration as f64, sum)
    };
    rows.iter().zip(tries).map(point).collect()
}

#[cfg(test)]
mod tests;
