//! `--history`: every iteration's numbers, as CSV or JSON.

use crate::charge::Charge;
use crate::cli::failure::Failure;
use crate::cli::options::SolveArgs;
use crate::cli::report::{DesignReport, GridReport};
use crate::cli::results::{write_json, write_output};
use crate::cpu::density::CpuDensity;
use crate::design::{Design, Hpwl};
use crate::engine::{Descriptor, Pipeline};
use crate::place::{Outcome, PlaceOptions, Record, StageSplit};
use crate::{Precision, Real};
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

impl HistoryFile {
    pub(super) fn path(&self) -> &Path {
        match self {
            HistoryFile::Csv(path) | HistoryFile::Json(path) => path,
        }
    }
}

/// A placement that has ended.
pub(super) struct History<'a> {
    pub(super) design: &'a Design,
    pub(super) charge: &'a Charge,
    pub(super) options: &'a SolveArgs,
    pub(super) place_options: &'a PlaceOptions,
    pub(super) descriptor: &'a Descriptor,
    pub(super) pipeline: Pipeline,
    pub(super) precision: Precision,
    pub(super) outcome: Outcome,
    /// The one whose placement was written.
    pub(super) iteration: usize,
    pub(super) result: Quality,
    pub(super) seconds: f64,
    pub(super) records: &'a [Record],
    pub(super) warnings: &'a [String],
}

/// What `eval` says of the placement that was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quality {
    pub(super) hpwl: Hpwl,
    pub(super) smoothed: f64,
    pub(super) exact: f64,
}

impl Quality {
    pub(super) fn of<T: Real>(
        design: &Design,
        charge: &Charge,
        x: &[f64],
        y: &[f64],
        record: &Record,
    ) -> Quality {
        let round = |values: &[f64]| values.iter().map(|&v| T::of(v)).collect::<Vec<T>>();
        let exact = CpuDensity::new(charge, 0.0).exact(&round(x), &round(y));
        Quality {
            hpwl: design.hpwl().unwrap_or(Hpwl { unweighted: 0.0, weighted: 0.0 }),
            smoothed: record.sample.density.overflow,
            exact: exact.overflow,
        }
    }
}

/// The JSON file; its keys are a contract.
#[derive(Serialize)]
struct Document<'a> {
    design: DesignReport,
    grid: GridReport,
    options: Options<'a>,
    outcome: Outcome,
    result: ResultReport,
    seconds: f64,
    /// Milliseconds of all iterations together.
    times_ms: StageSplit,
    history: &'a [Record],
    warnings: &'a [String],
}

#[derive(Serialize)]
struct Options<'a> {
    engine: &'static str,
    device: &'a str,
    deterministic: bool,
    pipeline: Pipeline,
    precision: Precision,
    target_density: f64,
    fillers: usize,
    seed: u64,
    stop_overflow: f64,
    iterations: usize,
    warm_start: bool,
}

#[derive(Serialize)]
struct ResultReport {
    iteration: usize,
    hpwl: f64,
    hpwl_weighted: f64,
    overflow_smoothed: f64,
    overflow_exact: f64,
}

impl History<'_> {
    /// The stages' milliseconds, all iterations together.
    pub(super) fn times(&self) -> StageSplit {
        let mut sum = StageSplit::default();
        self.records.iter().for_each(|r| sum.add(&r.times));
        sum
    }

    pub(super) fn write(&self, file: &HistoryFile) -> Result<(), Failure> {
        match file {
            HistoryFile::Csv(path) => self.write_csv(path),
            HistoryFile::Json(path) => write_json(path, &self.document()),
        }
    }

    fn document(&self) -> Document<'_> {
        let (charge, grid) = (self.charge, &self.charge.grid());
        let Quality { hpwl, smoothed, exact } = self.result;
        Document {
            design: DesignReport::of(self.design, charge.movable_area(), charge.fixed_area()),
            grid: GridReport {
                bins: [grid.nx(), grid.ny()],
                bin_size: [grid.bin_x(), grid.bin_y()],
            },
            options: Options {
                engine: self.descriptor.engine,
                device: &self.descriptor.device,
                deterministic: true,
                pipeline: self.pipeline,
                precision: self.precision,
                target_density: charge.target_density(),
                fillers: charge.fillers(),
                seed: self.options.seed(),
                stop_overflow: self.place_options.stop_overflow,
                iterations: self.place_options.iterations,
                warm_start: self.place_options.warm,
            },
            outcome: self.outcome,
            result: ResultReport {
                iteration: self.iteration,
                hpwl: hpwl.unweighted,
                hpwl_weighted: hpwl.weighted,
                overflow_smoothed: smoothed,
                overflow_exact: exact,
            },
            seconds: self.seconds,
            times_ms: self.times(),
            history: self.records,
            warnings: self.warnings,
        }
    }

    /// One line per iteration.
    fn write_csv(&self, path: &Path) -> Result<(), Failure> {
        write_output(path, |out| {
            writeln!(
                out,
                "iteration,hpwl,wirelength,overflow,max_density,energy,gamma,lambda,step,tries,\
                 wirelength_ms,density_ms,solve_ms,force_ms,other_ms"
            )?;
            for r in self.records {
                let (s, t) = (&r.sample, &r.times);
                writeln!(
                    out,
                    "{},{},{},{},{},{},{},{:e},{:e},{},{},{},{},{},{}",
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
                    t.other
                )?;
            }
            Ok(())
        })
    }
}
