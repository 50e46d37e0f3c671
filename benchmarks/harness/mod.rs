//! Code that every benchmark shares: repetition, medians, the machine's name, JSON.
//!
//! Sides of a comparison take turns within one run, so that a slow moment of
//! the machine falls on all of them.
#![allow(dead_code, unreachable_pub)] // each benchmark uses its own part

use serde::Serialize;
use std::time::Instant;

/// Median and spread of repeated times, in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sample {
    pub median_ms: f64,
    /// Interquartile range.
    pub spread_ms: f64,
    pub repetitions: usize,
}

impl Sample {
    pub fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let at = |q: f64| times[((times.len() - 1) as f64 * q).round() as usize];
        Sample { median_ms: at(0.5), spread_ms: at(0.75) - at(0.25), repetitions: times.len() }
    }
}

/// Times every side `repetitions` times in turn, after one warm-up round.
pub fn interleaved(repetitions: usize, sides: &mut [&mut dyn FnMut()]) -> Vec<Sample> {
    let mut times = vec![Vec::with_capacity(repetitions); sides.len()];
    for round in 0..=repetitions {
        for (side, times) in sides.iter_mut().zip(&mut times) {
            let start = Instant::now();
            side();
            if round > 0 {
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    times.into_iter().map(Sample::of).collect()
}

/// The processor's own name and the number of hardware threads.
pub fn machine() -> String {
    let name = placefield::paper::bench::processor();
    format!("{name}, {} threads", std::thread::available_parallelism().map_or(1, |n| n.get()))
}

/// Returns the argument that follows `name` on the command line.
pub fn option(name: &str) -> Option<String> {
    std::env::args().skip_while(|a| a != name).nth(1)
}

/// Writes results to the file named by `--json FILE`, if one is.
pub fn save(results: &impl Serialize) {
    if let Some(path) = option("--json") {
        let text = serde_json::to_string_pretty(results).expect("results are plain data");
        std::fs::write(&path, text + "\n").unwrap_or_else(|e| panic!("{path}: {e}"));
    }
}
