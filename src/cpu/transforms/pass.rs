//! One pass over memory: a transform along one axis of an array of any rank.
//!
//! A task brings a tile of lines together, transforms them and takes them back. Where there are
//! fewer lines than a tile is worth, or lines so long that a tile leaves the cache, each is
//! transformed by itself.

use super::axis::Axis;
use super::coefficients::{Modify, Unchanged};
use super::scratch::{ScratchLen, Threads};
use super::tile::{Passage, View};
use crate::cpu::simd::vectorised;
use crate::memory::reals_mut;
use crate::real::Real;
use crate::transform::fft::Ways;
use crate::transform::line::{Line, Wave};
use num_complex::Complex;

/// Fewer lines than these are transformed by themselves.
const FEW: usize = 8;

/// Longer lines are transformed by themselves: a tile of them has 2 MiB.
pub(super) const LONG: usize = 1 << 14;

/// Values that a task takes at least, where lines are transformed by themselves.
const VALUES: usize = 4096;

/// The transforms along one axis.
pub(super) struct Pass<T: Real> {
    view: View,
    lines: Lines<T>,
}

enum Lines<T: Real> {
    Tiles(Axis<T>),
    Single(Line<T>),
}

/// The transform of a line by itself: its number in the array, the line, where its transform goes,
/// working memory.
type OfLine<'a, T> = dyn Fn(usize, &[T], &mut [T], &mut [Complex<T>]) + Sync + 'a;

impl<T: Real> Pass<T> {
    /// Plans transforms of `arrays` arrays of `shape` along `axis`.
    pub(super) fn new(shape: &[usize], axis: usize, arrays: usize, ways: Ways) -> Self {
        let view = View::new(shape, axis);
        let lines = match view.lines() * arrays < FEW || view.n > LONG {
            true => Lines::Single(Line::new(view.n, ways)),
            false => Lines::Tiles(Axis::new(view.n)),
        };
        Pass { view, lines }
    }

    pub(super) fn scratch_len(&self) -> ScratchLen {
        match &self.lines {
            Lines::Tiles(axis) => ScratchLen { rows: axis.n, fft: axis.fft.scratch_len(), line: 0 },
            Lines::Single(line) => {
                ScratchLen { line: line.scratch_len() + line.n(), ..ScratchLen::default() }
            }
        }
    }

    /// `to` = DCT of `from`, or of `to`; coefficients are changed by `by`.
    pub(super) fn forward(
        &self,
        from: Option<&[T]>,
        to: &mut [T],
        by: &impl Modify<T>,
        threads: &Threads<T>,
    ) {
        let (view, arrays, passage) =
            (&self.view, to.len() / self.view.size(), Passage::new(from, to));
        let axis = match &self.lines {
            Lines::Tiles(axis) => axis,
            Lines::Single(line) => {
                return self.each_line(arrays, &passage, threads, &|l, x, out, s| {
                    line.forward(x, out, s, |k, value| changed(by, k, l, value));
                });
            }
        };
        threads.for_each(view.tiles::<T>(arrays), |tile, s| {
            view.list::<T>(arrays, tile, &mut s.runs);
            let (tile, runs) = (&mut s.tiles[0][..view.n], &s.runs[..]);
            vectorised(
                #[inline(always)]
                // SAFETY: tiles share no lines, and each is one task.
                || unsafe {
                    passage.load(view, runs, |k| axis.of_sample[k] as usize, &Unchanged, tile);
                },
            );
            axis.dct(tile, None, &mut s.fft);
            vectorised(
                #[inline(always)]
                // SAFETY: as above.
                || unsafe { passage.store(view, runs, by, tile) },
            );
        });
    }

    /// `to` = IDCT or IDXST of `from`, or of `to`; coefficients are changed by `by` before.
    pub(super) fn inverse(
        &self,
        wave: Wave,
        from: Option<&[T]>,
        to: &mut [T],
        by: &impl Modify<T>,
        threads: &Threads<T>,
    ) {
        let (view, arrays, passage) =
            (&self.view, to.len() / self.view.size(), Passage::new(from, to));
        let axis = match &self.lines {
            Lines::Tiles(axis) => axis,
            Lines::Single(line) => {
                return self.each_line(arrays, &passage, threads, &|l, x, out, s| {
                    line.inverse(wave, |k| changed(by, k, l, x[k]), out, s);
                });
            }
        };
        threads.for_each(view.tiles::<T>(arrays), |tile, s| {
            view.list::<T>(arrays, tile, &mut s.runs);
            let [tile, work] = s.tiles.each_mut().map(|tile| &mut tile[..view.n]);
            let runs = &s.runs[..];
            vectorised(
                #[inline(always)]
                // SAFETY: tiles share no lines, and each is one task.
                || unsafe { passage.load(view, runs, |k| k, by, tile) },
            );
            axis.inverse(tile, wave, None, work, &mut s.fft);
            vectorised(
                #[inline(always)]
                // SAFETY: as above.
                || unsafe { passage.store_samples(view, runs, wave == Wave::Sine, work) },
            );
        });
    }

    /// Calls `transform(line, x, out, working memory)` for each line by itself.
    fn each_line(
        &self,
        arrays: usize,
        passage: &Passage<'_, T>,
        threads: &Threads<T>,
        transform: &OfLine<'_, T>,
    ) {
        let View { n, inner, .. } = self.view;
        let (lines, together) = (self.view.lines(), (VALUES / n).max(1));
        threads.for_each((arrays * lines).div_ceil(together), |task, s| {
            let (own, work) = s.line.split_at_mut(n);
            let (x, out) = reals_mut(own).split_at_mut(n);
            for line in task * together..(arrays * lines).min((task + 1) * together) {
                let (array, line) = (line / lines, line % lines);
                let start = array * self.view.size() + self.view.start(line);
                // SAFETY: lines share no values, and each is in one task.
                let part = |at, len| unsafe { passage.to.part(at, len) };
                if let (1, Some(from)) = (inner, passage.from) {
                    vectorised(
                        #[inline(always)]
                        || transform(line, &from[start..][..n], part(start, n), work),
                    );
                    continue;
                }
                for (k, x) in x.iter_mut().enumerate() {
                    // SAFETY: as above.
                    *x = unsafe { passage.read(start + k * inner, 1) }[0];
                }
                transform(line, x, out, work);
                for (k, &value) in out.iter().enumerate() {
                    part(start + k * inner, 1)[0] = value;
                }
            }
        });
    }
}

#[inline(always)]
fn changed<T: Real>(by: &impl Modify<T>, u: usize, j: usize, mut value: T) -> T {
    by.apply(u, j, std::slice::from_mut(&mut value));
    value
}
