//! A step with fence regions beside one without: what several density systems cost.
//!
//! `cargo bench --no-default-features --bench regions -- [BINS] [THREADS]` (512 and all there are)
//! `cargo bench --bench regions -- cuda [BINS]`
//!
//! The same 200 000 cells over the die and as many fillers, in one region or in eight, each fenced
//! into a strip of the die. Before every step all bodies move by half a bin, to and fro. The sides
//! take turns; a number is the median of 31 steps and the least of them, milliseconds, with
//! density, solve and force apart.
//!
//! With `cuda` on the first device: in the same places, everything in device memory, steps and
//! solves replayed as graphs and as plain launches. The sides take turns in five rounds of 5
//! samples of 10 runs; a number is the median of the rounds' medians and the least of them,
//! microseconds.

use placefield::Real;
use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::cpu::engine::CpuEngine;
use placefield::engine::{Engine, EngineOptions, Timed};
use placefield::grid::{BinGrid, Rect};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::time::Instant;

const CELLS: usize = 200_000;
const REGIONS: [usize; 2] = [1, 8];
const STEPS: usize = 31;

/// Cells of half the die's area, in so many strips of it.
fn charge(bins: usize, regions: usize) -> Charge {
    let side = 10_000.0;
    let grid = BinGrid::new(Rect::at(0.0, 0.0, side, side), bins, bins).unwrap();
    let mut random = Pcg64Mcg::seed_from_u64(5);
    let height = 10.0;
    let mean = 0.5 * side * side / (CELLS as f64 * height);
    let mut draw = |low: f64, high: f64| low + (high - low) * random.random::<f64>();
    let width: Vec<f64> = (0..CELLS).map(|_| mean * draw(0.5, 1.5)).collect();
    let x: Vec<f64> = width.iter().map(|w| draw(0.0, side - w)).collect();
    let y: Vec<f64> = width.iter().map(|_| draw(0.0, side - height)).collect();
    let heights = vec![height; CELLS];
    let cells = Rectangles::movable(&width, &heights, &x, &y);
    let options = ChargeOptions::default().fillers(true);
    let mut charge = Charge::from_rectangles(grid, &cells, &options).unwrap();
    if regions > 1 {
        let strip = side / regions as f64;
        let fence = |r: usize| vec![Rect::at(strip * r as f64, 0.0, strip, side)];
        let fences: Vec<_> = (0..regions).map(fence).collect();
        let region: Vec<u32> = x.iter().map(|x| (x / strip) as u32).collect();
        charge.set_fences(&fences, &region).unwrap();
    }
    assert_eq!(charge.regions(), regions);
    charge
}

/// An engine, its two places for all bodies, and the time of every step: all, density, solve,
/// force.
struct Side<T: Real> {
    engine: CpuEngine<T>,
    places: [[Vec<T>; 2]; 2],
    times: [Vec<f64>; 4],
}

impl<T: Real> Side<T> {
    fn new(bins: usize, regions: usize, threads: usize) -> Self {
        let charge = charge(bins, regions);
        let bin = charge.grid().bin_x();
        let mut random = Pcg64Mcg::seed_from_u64(6);
        let (x, y) = charge.initial_positions::<T>();
        let mut moved = |at: &[T]| -> Vec<T> {
            at.iter().map(|v| *v + T::cast(bin * (random.random::<f64>() - 0.5))).collect()
        };
        let places = [[moved(&x), moved(&y)], [x, y]];
        let engine = CpuEngine::new(charge, &EngineOptions::default().threads(threads)).unwrap();
        Side { engine, places, times: Default::default() }
    }

    fn step(&mut self, k: usize) {
        let [x, y] = &self.places[k % 2];
        let start = Instant::now();
        let evaluation = self.engine.evaluate(x, y).unwrap();
        let all = start.elapsed().as_secs_f64() * 1e3;
        assert!(evaluation.energy > 0.0);
        let stages = self.engine.times();
        let found = [all, all - stages.solve() - stages.force, stages.solve(), stages.force];
        self.times.iter_mut().zip(found).for_each(|(times, time)| times.push(time));
    }
}

fn run<T: Real>(bins: usize, threads: usize) {
    let mut sides = REGIONS.map(|regions| Side::<T>::new(bins, regions, threads));
    for k in 0..STEPS + 3 {
        sides.iter_mut().for_each(|side| side.step(k));
    }
    let mut least = [0.0; 2];
    for (k, (side, regions)) in sides.iter_mut().zip(REGIONS).enumerate() {
        let (bodies, threads) = (side.engine.charge().bodies(), side.engine.threads());
        print!("{bins}², {}, {threads} threads, {regions} regions, {bodies} bodies:", T::PRECISION);
        for (name, times) in ["step", "density", "solve", "force"].iter().zip(&mut side.times) {
            let times = &mut times[3..];
            times.sort_by(f64::total_cmp);
            print!("  {name} {:.2} ({:.2})", times[STEPS / 2], times[0]);
        }
        least[k] = side.times[0][3];
        println!();
    }
    println!("eight to one, the least of each: {:.2}", least[1] / least[0]);
}

fn main() {
    let numbers = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let numbers: Vec<usize> = numbers.collect();
    let bins = numbers.first().copied().unwrap_or(512);
    let threads = numbers.get(1).copied().unwrap_or(0);
    #[cfg(feature = "cuda")]
    if std::env::args().any(|argument| argument == "cuda") {
        on_device::run::<f32>(bins);
        on_device::run::<f64>(bins);
        return;
    }
    run::<f32>(bins, threads);
    run::<f64>(bins, threads);
}

#[cfg(feature = "cuda")]
mod on_device {
    use super::{REGIONS, charge};
    use placefield::cuda::{CudaEngine, CudaReal, Gpu};
    use placefield::engine::{Engine, EngineOptions, StepTimes, Timed};

    const ROUNDS: usize = 5;
    const SAMPLES: usize = 5;
    const NAMES: [&str; 4] = ["step", "launched", "solve", "launched"];

    fn values(times: &StepTimes) -> [f64; NAMES.len()] {
        let StepTimes { step_graph, step_plain, solve_graph, solve_plain } = *times;
        [step_graph, step_plain, solve_graph, solve_plain].map(|ms| 1e3 * ms)
    }

    pub(super) fn run<T: CudaReal>(bins: usize) {
        let gpu = Gpu::open(0).unwrap();
        let mut engines = REGIONS.map(|regions| {
            let charge = charge(bins, regions);
            let (x, y) = charge.initial_positions::<T>();
            let mut engine = CudaEngine::on(&gpu, charge, &EngineOptions::default()).unwrap();
            assert!(engine.evaluate(&x, &y).unwrap().energy > 0.0);
            engine
        });
        let mut rounds = [const { Vec::new() }; REGIONS.len()];
        for _ in 0..ROUNDS {
            for (engine, rounds) in engines.iter_mut().zip(&mut rounds) {
                let pipeline = engine.choice().pipeline;
                rounds.extend(engine.step_times(pipeline, SAMPLES).unwrap());
            }
        }
        let mut steps = [0.0; REGIONS.len()];
        for (k, (engine, rounds)) in engines.iter().zip(&rounds).enumerate() {
            let (name, bodies) = (&gpu.info().name, engine.charge().bodies());
            print!("{bins}², {}, {name}, {} regions, {bodies} bodies:", T::PRECISION, REGIONS[k]);
            for (k, what) in NAMES.iter().enumerate() {
                let mut times: Vec<f64> = rounds.iter().map(|round| values(round)[k]).collect();
                times.sort_by(f64::total_cmp);
                print!("  {what} {:.1} ({:.1})", times[ROUNDS / 2], times[0]);
            }
            steps[k] = rounds.iter().map(|round| round.step_graph).fold(f64::INFINITY, f64::min);
            println!();
        }
        println!("eight to one, the least step of each: {:.2}", steps[1] / steps[0]);
    }
}
