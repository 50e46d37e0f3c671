//! One pass over memory: a transform along one axis of an array of any rank.
//!
//! A task loads a tile of lines, transforms them and stores them. If there are
//! too few lines for a tile, or lines are so long that a tile exceeds the cache, each line is
//! transformed separately.

use super::axis::Axis;
use super::coefficients::{Modify, Unchanged};
use super::scratch::{ScratchLen, Threads};
use super::tile::{Passage, View, most_tiles};
use crate::cpu::simd::vectorised;
use crate::memory::reals_mut;
use crate::real::Real;
use crate::transform::fft::Ways;
use crate::transform::line::{Line, Wave};
use num_complex::Complex;

/// So few lines, and a quarter of a vector more, are transformed by themselves.
const FEW: usize = 8;

/// Longer lines are transformed by themselves: a tile of them has 8 MiB.
pub(super) const LONG: usize = 1 << 16;

/// Values that a task takes at least, where lines are transformed by themselves.
const VALUES: usize = 4096;

/// Values of neighbouring lines that are brought together at most, if there is more than one.
const BROUGHT: usize = 1 << 22;

/// Values between lines that are brought together, so that they do not share their places in the
/// cache.
const APART: usize = 16;

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
        let few = view.lines() * arrays <= FEW + T::LANES / 4;
        let lines = match few || view.n > LONG {
            true => Lines::Single(Line::new(view.n, ways)),
            false => Lines::Tiles(Axis::new(view.n)),
        };
        Pass { view, lines }
    }

    pub(super) fn scratch_len(&self) -> ScratchLen {
        match &self.lines {
            Lines::Tiles(axis) => ScratchLen {
                rows: axis.n * self.most_tiles(),
                fft: axis.fft.scratch_len(),
                line: 0,
            },
            Lines::Single(line) => {
                ScratchLen { line: line.scratch_len() + self.brought(), ..ScratchLen::default() }
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
                    vectorised(
                        #[inline(always)]
                        || line.forward(x, out, s, |k, value| changed(by, k, l, value)),
                    );
                });
            }
        };
        threads.for_each_range(view.tiles::<T>(arrays), self.most_tiles(), |tiles, s| {
            let rows = view.list::<T>(arrays, tiles, &mut s.runs);
            let (tile, runs) = (&mut s.tiles[0][..rows], &s.runs[..]);
            vectorised(
                #[inline(always)]
                || {
                    let place = |k| axis.of_sample[k] as usize;
                    // SAFETY: tiles share no lines, and each is in one task.
                    unsafe { passage.load(view, runs, place, &Unchanged, tile) };
                    for tile in tile.chunks_exact_mut(view.n) {
                        axis.dct(tile, None, &mut s.fft);
                    }
                    // SAFETY: as above.
                    unsafe { passage.store(view, runs, by, tile) };
                },
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
                    vectorised(
                        #[inline(always)]
                        || line.inverse(wave, |k| changed(by, k, l, x[k]), out, s),
                    );
                });
            }
        };
        threads.for_each_range(view.tiles::<T>(arrays), self.most_tiles(), |tiles, s| {
            let rows = view.list::<T>(arrays, tiles, &mut s.runs);
            let [tile, work] = s.tiles.each_mut().map(|tile| &mut tile[..rows]);
            let runs = &s.runs[..];
            vectorised(
                #[inline(always)]
                || {
                    // SAFETY: tiles share no lines, and each is in one task.
                    unsafe { passage.load(view, runs, |k| k, by, tile) };
                    let tiles = tile.chunks_exact(view.n);
                    for (tile, work) in tiles.zip(work.chunks_exact_mut(view.n)) {
                        axis.inverse(tile, wave, None, work, &mut s.fft);
                    }
                    // SAFETY: as above.
                    unsafe { passage.store_samples(view, runs, wave == Wave::Sine, work) };
                },
            );
        });
    }

    /// Calls `transform(line, x, out, working memory)` for each line by itself. Lines that are not
    /// contiguous are brought together and back, a cache line of neighbours at a time.
    fn each_line(
        &self,
        arrays: usize,
        passage: &Passage<'_, T>,
        threads: &Threads<T>,
        transform: &OfLine<'_, T>,
    ) {
        let View { n, outer, inner } = self.view;
        let (groups, lines, together) = match inner {
            1 => (1, arrays * outer, (VALUES / n).max(1)),
            _ => (arrays * outer, inner, self.neighbours()),
        };
        let tasks = lines.div_ceil(together);
        threads.for_each(groups * tasks, |task, s| {
            let (group, first) = (task / tasks, task % tasks * together);
            let count = together.min(lines - first);
            let start = if inner == 1 { first * n } else { group * n * inner + first };
            let number = |line| (group * lines + first + line) % self.view.lines();
            // SAFETY: lines share no values, and each is in one task.
            let part = |at, len| unsafe { passage.to.part(start + at, len) };
            // SAFETY: as above.
            let read = |at, len| unsafe { passage.read(start + at, len) };
            let (own, work) = s.line.split_at_mut(self.brought());
            let (x, out) = reals_mut(own).split_at_mut(self.brought());
            if inner == 1 {
                for line in 0..count {
                    let x = match passage.from {
                        Some(from) => &from[start + line * n..][..n],
                        None => {
                            x[..n].copy_from_slice(read(line * n, n));
                            &x[..n]
                        }
                    };
                    transform(number(line), x, part(line * n, n), work);
                }
                return;
            }
            let apart = n + APART;
            for k in 0..n {
                let row = read(k * inner, count);
                row.iter().enumerate().for_each(|(line, &v)| x[line * apart + k] = v);
            }
            for line in 0..count {
                let (x, out) = (&x[line * apart..][..n], &mut out[line * apart..][..n]);
                transform(number(line), x, out, work);
            }
            for k in 0..n {
                let row = part(k * inner, count);
                row.iter_mut().enumerate().for_each(|(line, v)| *v = out[line * apart + k]);
            }
        });
    }

    /// Returns the number of tiles that a task takes at most.
    fn most_tiles(&self) -> usize {
        if self.view.inner == 1 { 1 } else { most_tiles(self.view.n) }
    }

    /// Returns the number of neighbouring lines that are brought together.
    fn neighbours(&self) -> usize {
        (BROUGHT / self.view.n).clamp(1, T::LANES.min(self.view.inner))
    }

    /// Returns the number of values of working memory for them.
    fn brought(&self) -> usize {
        self.neighbours() * (self.view.n + APART)
    }
}

#[inline(always)]
fn changed<T: Real>(by: &impl Modify<T>, u: usize, j: usize, mut value: T) -> T {
    by.apply(u, j, std::slice::from_mut(&mut value));
    value
}
