//! The bar that advances on a terminal while cells are placed.

use crate::cli::log;
use crate::place::{PlaceOptions, Record};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Iterations over which the overflow's fall is measured.
const WINDOW: usize = 50;
/// Time of the descent beside legal macros over the time of the descent before: 0.66 and 0.82 on
/// generated designs of 400 and 2000 cells.
const SECOND: f64 = 0.75;

/// A bar with the iteration's numbers and the time left. If stderr is no terminal, progress lines
/// show the same.
pub(super) struct Progress {
    bar: ProgressBar,
    stop_overflow: f64,
    iterations: usize,
    /// Overflow of the last iterations, and when they were done.
    recent: VecDeque<(f64, Instant)>,
    begun: Instant,
    /// Whether another descent follows.
    again: bool,
}

impl Progress {
    /// Returns the progress of a descent of at most `most` iterations; `again` if the cells are
    /// placed once more after it.
    pub(super) fn new(options: &PlaceOptions, most: usize, again: bool) -> Self {
        let bar = log::bar(most as u64);
        let template = "{bar:20} {pos}/{len} {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let recent = VecDeque::with_capacity(WINDOW + 1);
        let (stop_overflow, begun) = (options.stop_overflow, Instant::now());
        Progress { bar, stop_overflow, iterations: most, recent, begun, again }
    }

    pub(super) fn show(&mut self, record: &Record) {
        self.recent.push_back((record.sample.density.overflow, Instant::now()));
        if self.recent.len() > WINDOW {
            self.recent.pop_front();
        }
        let left = self.time_left(record.iteration).map_or_else(String::new, |left| {
            format!(", about {} left", indicatif::HumanDuration(left))
        });
        let message = format!(
            "HPWL {:.4e}, overflow {:.4}, λ {:.2e}, γ {:.3}{left}",
            record.sample.hpwl, record.sample.density.overflow, record.lambda, record.gamma
        );
        log::progress(|| {
            format!("iteration {} of at most {}: {message}", record.iteration, self.iterations)
        });
        if !self.bar.is_hidden() {
            self.bar.set_position(record.iteration as u64);
            self.bar.set_message(message);
        }
    }

    /// Estimates the time from the fall of overflow in the last iterations, and at most to the last
    /// iteration. A second descent is expected to take [`SECOND`] times as long as the first.
    fn time_left(&self, iteration: usize) -> Option<Duration> {
        let (&(from, begun), &(now, ended)) = (self.recent.front()?, self.recent.back()?);
        let steps = self.recent.len().checked_sub(1).filter(|&n| n > 0)? as f64;
        let most = self.iterations.saturating_sub(iteration) as f64;
        let fall = (from - now) / steps;
        let left = if fall > 0.0 { ((now - self.stop_overflow) / fall).min(most) } else { most };
        let left = (ended - begun).mul_f64(left.max(0.0) / steps);
        let second = if self.again { SECOND } else { 0.0 };
        Some(left + (self.begun.elapsed() + left).mul_f64(second))
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
