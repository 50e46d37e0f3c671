//! The CPU field solve: this crate's pipelines beside a row-column solve on `rustdct`.
//!
//! `cargo bench --features rustdct --bench solve -- [--json FILE]`. Timed: ρ in, φ, Ex and Ey out
//! (and the energy, for ours), data resident, tables made beforehand. All
//! sides take turns within one run.

mod harness;

use harness::Sample;
use placefield::Real;
use placefield::cpu::solve::{Fields, Solver};
use placefield::engine::Pipeline;
use placefield::grid::{BinGrid, Map, Rect};
use placefield::spectral::Spectrum;
use rayon::prelude::*;
use rustdct::{DctNum, DctPlanner, TransformType2And3};
use serde::Serialize;
use std::sync::Arc;

/// A solve written with `rustdct`: lines, transposes, multiplications.
struct Peer<T: DctNum> {
    n: usize,
    line: Arc<dyn TransformType2And3<T>>,
    green: Vec<T>,
    w: Vec<T>,
    spectrum: Vec<T>,
    work: [Vec<T>; 2],
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Dct,
    Idct,
    Idxst,
}

impl<T: Real + DctNum> Peer<T> {
    fn new(n: usize, grid: &BinGrid) -> Self {
        let spectrum = Spectrum::new(grid);
        let map = || vec![T::zero(); n * n];
        Peer {
            n,
            line: DctPlanner::new().plan_dct2(n),
            green: (0..n * n).map(|i| T::cast(spectrum.green(i / n, i % n))).collect(),
            w: spectrum.wx().iter().map(|&w| T::cast(w)).collect(),
            spectrum: map(),
            work: [map(), map()],
        }
    }

    fn lines(&self, kind: Kind, map: &mut [T]) {
        let n = self.n;
        map.par_chunks_exact_mut(n).for_each_init(
            || vec![T::zero(); self.line.get_scratch_len()],
            |scratch, line| match kind {
                Kind::Dct => self.line.process_dct2_with_scratch(line, scratch),
                Kind::Idct => self.line.process_dct3_with_scratch(line, scratch),
                Kind::Idxst => {
                    line[0] = T::zero();
                    line[1..].reverse();
                    self.line.process_dct3_with_scratch(line, scratch);
                    line.iter_mut().skip(1).step_by(2).for_each(|v| *v = -*v);
                }
            },
        );
    }

    fn transpose(&self, x: &[T], out: &mut [T]) {
        let n = self.n;
        out.par_chunks_mut(32 * n).enumerate().for_each(|(b, panel)| {
            for i in (0..n).step_by(32) {
                for (j, line) in panel.chunks_exact_mut(n).enumerate() {
                    for (k, v) in line[i..n.min(i + 32)].iter_mut().enumerate() {
                        *v = x[(i + k) * n + b * 32 + j];
                    }
                }
            }
        });
    }

    fn both(&self, along_x: Kind, along_y: Kind, a: &mut [T], b: &mut [T]) {
        self.lines(along_y, a);
        self.transpose(a, b);
        self.lines(along_x, b);
        self.transpose(b, a);
    }

    fn solve(&mut self, rho: &[T], fields: &mut Fields<T>) {
        let n = self.n;
        let [mut a, mut b] = std::mem::take(&mut self.work);
        a.copy_from_slice(rho);
        self.both(Kind::Dct, Kind::Dct, &mut a, &mut b);
        let scaled = self.spectrum.par_iter_mut().zip(&a).zip(&self.green);
        scaled.for_each(|((s, &a), &g)| *s = a * g);
        a.copy_from_slice(&self.spectrum);
        self.both(Kind::Idct, Kind::Idct, &mut a, &mut b);
        fields.potential.as_mut_slice().copy_from_slice(&a);
        for (along_x, out) in [(true, &mut fields.field_x), (false, &mut fields.field_y)] {
            let rows = a.par_chunks_exact_mut(n).zip(self.spectrum.par_chunks_exact(n));
            rows.enumerate().for_each(|(u, (a, s))| {
                for (v, (a, &s)) in a.iter_mut().zip(s).enumerate() {
                    *a = s * self.w[if along_x { u } else { v }];
                }
            });
            let (x, y) =
                if along_x { (Kind::Idxst, Kind::Idct) } else { (Kind::Idct, Kind::Idxst) };
            self.both(x, y, &mut a, &mut b);
            out.as_mut_slice().copy_from_slice(&a);
        }
        self.work = [a, b];
    }
}

#[derive(Serialize)]
struct Row {
    bins: usize,
    precision: &'static str,
    threads: usize,
    row_column: Sample,
    fused: Sample,
    three_pass: Sample,
    rustdct: Sample,
    /// How many times as fast: the first named over the second.
    fused_over_row_column: f64,
    three_pass_over_fused: f64,
    three_pass_over_rustdct: f64,
}

fn measure<T: Real + DctNum>(n: usize, threads: usize) -> Row {
    let grid = BinGrid::new(Rect::at(0.0, 0.0, n as f64, n as f64), n, n).unwrap();
    let values = (0..n * n).map(|i| T::cast(((i * 7919) % 1009) as f64 / 1009.0)).collect();
    let rho: Map<T> = Map::from_vec(n, n, values);
    let mut row_column = Solver::new(&grid, Pipeline::RowColumn, threads);
    let mut fused = Solver::new(&grid, Pipeline::Fused, threads);
    let mut three_pass = Solver::new(&grid, Pipeline::ThreePass, threads);
    let mut peer = Peer::new(n, &grid);
    let mut fields = [(); 4].map(|()| Fields::<T>::new(n, n));
    let [a, b, c, d] = &mut fields;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let samples = pool.install(|| {
        harness::interleaved(
            (20_000_000 / (n * n)).clamp(5, 40),
            &mut [
                &mut || {
                    row_column.solve(&rho, a);
                },
                &mut || {
                    fused.solve(&rho, b);
                },
                &mut || {
                    three_pass.solve(&rho, d);
                },
                &mut || peer.solve(rho.as_slice(), c),
            ],
        )
    });
    // The sides must have solved the same problem.
    for other in &fields[1..] {
        let pairs = fields[0].field_y.as_slice().iter().zip(other.field_y.as_slice());
        let worst = pairs.map(|(a, b)| (a.widen() - b.widen()).abs()).fold(0.0, f64::max);
        let scale = fields[0].field_y.range().1.widen();
        assert!(worst < 1e-3 * scale, "the sides disagree by {worst} of {scale}");
    }
    let [row_column, fused, three_pass, rustdct] = samples[..] else { unreachable!() };
    let over = |a: Sample, b: Sample| a.median_ms / b.median_ms;
    let row = Row {
        bins: n,
        precision: T::PRECISION.name(),
        threads,
        fused_over_row_column: over(row_column, fused),
        three_pass_over_fused: over(fused, three_pass),
        three_pass_over_rustdct: over(rustdct, three_pass),
        row_column,
        fused,
        three_pass,
        rustdct,
    };
    println!(
        "{n:5}² {} {threads} thread{} | row-column {:8.2} ms | fused {:8.2} ms ({:.2}x) | \
         three-pass {:8.2} ms ({:.2}x) | rustdct {:8.2} ms ({:.2}x)",
        T::PRECISION,
        if threads == 1 { " " } else { "s" },
        row.row_column.median_ms,
        row.fused.median_ms,
        row.fused_over_row_column,
        row.three_pass.median_ms,
        row.three_pass_over_fused,
        row.rustdct.median_ms,
        row.three_pass_over_rustdct,
    );
    row
}

#[derive(Serialize)]
struct Results {
    machine: String,
    timed: &'static str,
    rows: Vec<Row>,
}

fn main() {
    let mut rows = Vec::new();
    for threads in [1, 2] {
        for n in [512, 1024, 2048] {
            rows.push(measure::<f32>(n, threads));
            rows.push(measure::<f64>(n, threads));
        }
    }
    harness::save(&Results {
        machine: harness::machine(),
        timed: "density in, potential and both field components out; median of repetitions in turn",
        rows,
    });
}
