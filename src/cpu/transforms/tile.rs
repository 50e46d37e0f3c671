//! Tiles: loads and stores two lines of an array for each lane of a vector.
//!
//! Along one axis an array is `[outer][n][inner]`, and a line has `n` values with stride `inner`.
//! Row k of a tile has value k of [`Vectors::LANES`](crate::cpu::simd::Vectors) lines, the real
//! parts of its FFTs, and then of as many other lines, the imaginary parts. Both lines of a pair
//! are in one array, so that arrays of a batch do not share rounding or values that are not finite.
//!
//! Code for the vector unit uses loops, not `for_each`: the compiler may make a separate function
//! of the closure and compile it without vector instructions.

use super::coefficients::Modify;
use crate::cpu::matrix::{AHEAD, SharedSlice, prefetch};
use crate::cpu::simd::Row;
use crate::real::Real;
use crate::transform::permutation;
use std::ops::Range;

/// Numbers in a row of a tile at most.
pub(super) const MOST: usize = 32;

/// As many rows as lines of a tile are transposed at a time: [`Vectors::LANES`] of them are in use.
///
/// [`Vectors::LANES`]: crate::cpu::simd::Vectors::LANES
pub(super) type Block<T> = [Row<T>; MOST / 2];

/// Distance, in values, by which a tile prefetches contiguous lines. If the distance of lines is a
/// power of two, the processor's own prefetching is too slow.
const LINES_AHEAD: usize = 64;

/// Rows of the neighbouring tiles that one task takes together. Each row of a strided tile is on
/// another page: with several tiles a page is visited once for as many cache lines.
const TOGETHER: usize = 4096;

/// An array seen along one axis, or an array of such arrays.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) n: usize,
    pub(super) outer: usize,
    pub(super) inner: usize,
}

/// Lines of a tile that are evenly apart in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// The first row of their tile among those of a task.
    row: usize,
    /// Their position in a row of the tile.
    pub(super) slot: usize,
    pub(super) len: usize,
    /// The array and the first line.
    pub(super) array: usize,
    pub(super) line: usize,
    /// The first value of the first line.
    at: usize,
    /// From a value of a line to that of the next.
    apart: usize,
}

/// Returns the number of neighbouring tiles of lines of `n` values that one task takes at most.
pub(super) fn most_tiles(n: usize) -> usize {
    (TOGETHER / n).clamp(1, 4)
}

impl View {
    /// Returns the view of an array of `shape` along `axis`.
    pub(super) fn new(shape: &[usize], axis: usize) -> Self {
        View {
            n: shape[axis],
            outer: shape[..axis].iter().product(),
            inner: shape[axis + 1..].iter().product(),
        }
    }

    /// Returns the number of lines of an array.
    pub(super) fn lines(&self) -> usize {
        self.outer * self.inner
    }

    /// Returns the number of values of an array.
    pub(super) fn size(&self) -> usize {
        self.lines() * self.n
    }

    /// Returns where line `line` of an array begins in it.
    pub(super) fn start(&self, line: usize) -> usize {
        line / self.inner * self.n * self.inner + line % self.inner
    }

    /// Whether its lines are transposed into tiles, block by block: contiguous ones, if a block has
    /// so many values of them.
    fn is_transposed<T: Real>(&self) -> bool {
        self.inner == 1 && self.n >= T::LANES
    }

    /// Returns how many arrays a tile has lines of, and how many tiles an array.
    fn division<T: Real>(&self) -> (usize, usize) {
        let pairs = self.lines().div_ceil(2);
        ((T::LANES / pairs).max(1), pairs.div_ceil(T::LANES))
    }

    /// Returns the number of tiles of so many arrays.
    pub(super) fn tiles<T: Real>(&self, arrays: usize) -> usize {
        let (together, tiles) = self.division::<T>();
        arrays.div_ceil(together) * tiles
    }

    /// Lists the lines of some tiles of so many arrays; returns the number of rows of the tiles.
    pub(super) fn list<T: Real>(
        &self,
        arrays: usize,
        which: Range<usize>,
        runs: &mut Vec<Run>,
    ) -> usize {
        let (together, tiles) = self.division::<T>();
        let (neighbours, apart) =
            if self.inner == 1 { (self.outer, self.n) } else { (self.inner, 1) };
        runs.clear();
        for (row, tile) in (0..).step_by(self.n).zip(which.clone()) {
            let first_array = tile / tiles * together;
            let first = tile % tiles * 2 * T::LANES;
            let count = (self.lines() - first).min(2 * T::LANES);
            let pairs = count.div_ceil(2);
            for array in first_array..arrays.min(first_array + together) {
                let lane = (array - first_array) * pairs;
                // Both halves of a row are neighbours, if the first one is full.
                let half = if pairs == T::LANES { count } else { pairs };
                let parts = [(first, half, lane), (first + half, count - half, T::LANES + lane)];
                for (mut line, mut count, mut slot) in parts {
                    while count > 0 {
                        let len = count.min(neighbours - line % neighbours);
                        let at = array * self.size() + self.start(line);
                        runs.push(Run { row, slot, len, array, line, at, apart });
                        (line, slot, count) = (line + len, slot + len, count - len);
                    }
                }
            }
        }
        which.len() * self.n
    }
}

/// Input and output of a pass: different memory, or the same.
pub(super) struct Passage<'a, T> {
    pub(super) from: Option<&'a [T]>,
    pub(super) to: SharedSlice<'a, T>,
}

impl<'a, T: Real> Passage<'a, T> {
    pub(super) fn new(from: Option<&'a [T]>, to: &'a mut [T]) -> Self {
        Passage { from, to: SharedSlice::new(to) }
    }

    /// Returns `len` values from `at` on.
    ///
    /// # Safety
    /// In place, no other task reads or writes these values while they are borrowed.
    #[inline(always)]
    pub(super) unsafe fn read(&self, at: usize, len: usize) -> &[T] {
        match self.from {
            Some(from) => &from[at..][..len],
            // SAFETY: as the caller promises.
            None => unsafe { self.to.part(at, len) },
        }
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, at: usize, len: usize) {
        let from = self.from.map_or(self.to.start().cast_const(), <[T]>::as_ptr);
        prefetch(from.wrapping_add(at), len);
    }

    /// Brings the lines of a tile: value k goes to row `place(k)`, changed by `by`.
    ///
    /// # Safety
    /// In place, no other tile that is worked on has a line in common.
    #[inline(always)]
    pub(super) unsafe fn load<M: Modify<T>>(
        &self,
        view: &View,
        runs: &[Run],
        place: impl Fn(usize) -> usize,
        by: &M,
        tile: &mut [Row<T>],
    ) {
        let lines: usize = runs.iter().map(|run| run.len).sum();
        if lines < tile.len() / view.n * 2 * T::LANES {
            tile.fill(T::ROW);
        }
        if !view.is_transposed::<T>() {
            for k in 0..view.n {
                let place = place(k);
                for run in runs {
                    let row = &mut tile[run.row + place].numbers_mut()[run.slot..][..run.len];
                    if run.apart == 1 {
                        let at = run.at + k * view.inner;
                        self.prefetch(at + AHEAD * view.inner, run.len);
                        // SAFETY: as the caller promises.
                        copy(unsafe { self.read(at, run.len) }, row);
                    } else {
                        // SAFETY: as the caller promises.
                        let lines = unsafe { self.read(run.at, run.len * view.n) };
                        let lines = lines.chunks_exact(view.n);
                        for (v, line) in row.iter_mut().zip(lines) {
                            *v = line[k];
                        }
                    }
                }
            }
            return change_lines(view, runs, place, by, tile);
        }
        let (zeros, mut block) = ([T::zero(); MOST / 2], [T::ROW; MOST / 2]);
        let mut lines: [&[T]; MOST] = [&[]; MOST];
        for run in runs {
            for line in 0..run.len {
                // SAFETY: as the caller promises.
                lines[run.slot + line] = unsafe { self.read(run.at + line * view.n, view.n) };
            }
        }
        for first in blocks::<T>(view.n) {
            for (four, lines) in lines[..2 * T::LANES].chunks_exact(4).enumerate() {
                let part = |line: usize| match lines[line] {
                    [] => &zeros[..T::LANES],
                    line => {
                        prefetch(line.as_ptr().wrapping_add(first + LINES_AHEAD), 1);
                        &line[first..][..T::LANES]
                    }
                };
                bring_four([part(0), part(1), part(2), part(3)], 4 * four, &mut block);
            }
            for (k, row) in (first..).zip(&block[..T::LANES]) {
                tile[place(k)] = *row;
            }
        }
        change_lines(view, runs, place, by, tile);
    }

    /// Takes the lines of a tile back: value k from row k, changed by `by`.
    ///
    /// # Safety
    /// No other tile that is worked on has a line in common.
    #[inline(always)]
    pub(super) unsafe fn store<M: Modify<T>>(
        &self,
        view: &View,
        runs: &[Run],
        by: &M,
        tile: &mut [Row<T>],
    ) {
        change_lines(view, runs, |k| k, by, tile);
        // SAFETY: as the caller promises.
        unsafe { self.store_rows(view, runs, |k| k, false, T::one(), tile) };
    }

    /// Takes the samples of an inverse back: sample k from row `position(k)` with parts exchanged,
    /// negated for odd k of a sine.
    ///
    /// # Safety
    /// See [`Passage::store`].
    #[inline(always)]
    pub(super) unsafe fn store_samples(
        &self,
        view: &View,
        runs: &[Run],
        sine: bool,
        tile: &[Row<T>],
    ) {
        let (n, odd) = (view.n, if sine { -T::one() } else { T::one() });
        // SAFETY: as the caller promises.
        unsafe { self.store_rows(view, runs, |k| permutation::position(k, n), true, odd, tile) };
    }

    /// Takes lines back: value k from row `place(k)`, real and imaginary parts exchanged if
    /// `exchange`, and then odd values times `odd`.
    ///
    /// # Safety
    /// See [`Passage::store`].
    #[inline(always)]
    unsafe fn store_rows(
        &self,
        view: &View,
        runs: &[Run],
        place: impl Fn(usize) -> usize,
        exchange: bool,
        odd: T,
        tile: &[Row<T>],
    ) {
        let sign = |k: usize| if k % 2 == 1 { odd } else { T::one() };
        if !view.is_transposed::<T>() {
            for k in 0..view.n {
                for run in runs {
                    let row = taken(&tile[run.row + place(k)], exchange, sign(k));
                    let row = &row.numbers()[run.slot..][..run.len];
                    if run.apart == 1 {
                        let at = run.at + k * view.inner;
                        prefetch(self.to.start().wrapping_add(at + AHEAD * view.inner), run.len);
                        // SAFETY: as the caller promises.
                        copy(row, unsafe { self.to.part(at, run.len) });
                    } else {
                        // SAFETY: as the caller promises.
                        let lines = unsafe { self.to.part(run.at, run.len * view.n) };
                        let lines = lines.chunks_exact_mut(view.n);
                        for (line, &v) in lines.zip(row) {
                            line[k] = v;
                        }
                    }
                }
            }
            return;
        }
        let mut block = [T::ROW; MOST / 2];
        let mut lines: [&mut [T]; MOST] = [(); MOST].map(|()| &mut [][..]);
        for run in runs {
            for line in 0..run.len {
                // SAFETY: as the caller promises.
                let to = unsafe { self.to.part(run.at + line * view.n, view.n) };
                lines[run.slot + line] = to;
            }
        }
        for first in blocks::<T>(view.n) {
            for (k, to) in (first..).zip(&mut block[..T::LANES]) {
                *to = taken(&tile[place(k)], exchange, sign(k));
            }
            for (four, lines) in lines[..2 * T::LANES].chunks_exact_mut(4).enumerate() {
                let [a, b, c, d] = lines else { unreachable!("four lines") };
                let lines = [part(a, first), part(b, first), part(c, first), part(d, first)];
                take_four(&block, 4 * four, lines);
            }
        }
    }
}

/// Changes the coefficients of lines: value k in row `place(k)`.
#[inline(always)]
fn change_lines<T: Real, M: Modify<T>>(
    view: &View,
    runs: &[Run],
    place: impl Fn(usize) -> usize,
    by: &M,
    tile: &mut [Row<T>],
) {
    for k in 0..if M::CHANGES { view.n } else { 0 } {
        for run in runs {
            let row = tile[run.row + place(k)].numbers_mut();
            change(by, k, run.line, &mut row[run.slot..][..run.len]);
        }
    }
}

/// Returns the first value of each block that lines of `n` values are transposed in,
/// [`Vectors::LANES`](crate::cpu::simd::Vectors) at a time. If the last one would be short, it has
/// values of the one before it once more.
fn blocks<T: Real>(n: usize) -> impl Iterator<Item = usize> {
    (0..n.div_ceil(T::LANES)).map(move |block| (block * T::LANES).min(n - T::LANES))
}

/// Returns [`Vectors::LANES`](crate::cpu::simd::Vectors) values from `first` on, or none of none.
#[inline(always)]
pub(super) fn part<T: Real>(values: &mut [T], first: usize) -> &mut [T] {
    if values.is_empty() { values } else { &mut values[first..][..T::LANES] }
}

/// Transposes [`Vectors::LANES`](crate::cpu::simd::Vectors) values of four lines into the numbers of
/// rows from `slot` on.
#[inline(always)]
pub(super) fn bring_four<T: Real>(lines: [&[T]; 4], slot: usize, block: &mut Block<T>) {
    let [a, b, c, d] = lines;
    let (a, b) = (&a[..T::LANES], &b[..T::LANES]);
    let (c, d) = (&c[..T::LANES], &d[..T::LANES]);
    for k in (0..T::LANES).step_by(4) {
        let mut square = [[T::zero(); 4]; 4];
        square[0].copy_from_slice(&a[k..k + 4]);
        square[1].copy_from_slice(&b[k..k + 4]);
        square[2].copy_from_slice(&c[k..k + 4]);
        square[3].copy_from_slice(&d[k..k + 4]);
        let turned = T::transposed(square);
        for q in 0..4 {
            block[k + q].numbers_mut()[slot..slot + 4].copy_from_slice(&turned[q]);
        }
    }
}

/// The way back, to lines that may be empty.
#[inline(always)]
pub(super) fn take_four<T: Real>(block: &Block<T>, slot: usize, lines: [&mut [T]; 4]) {
    let [a, b, c, d] = lines;
    // One by one: an array of the four lengths was stored and loaded again, which took a sixth of an
    // inverse.
    let full = |line: &[T]| line.len() == T::LANES;
    if !(full(a) && full(b) && full(c) && full(d)) {
        for (lane, line) in [a, b, c, d].into_iter().enumerate() {
            line.iter_mut().zip(block).for_each(|(to, row)| *to = row.numbers()[slot + lane]);
        }
        return;
    }
    let (a, b) = (&mut a[..T::LANES], &mut b[..T::LANES]);
    let (c, d) = (&mut c[..T::LANES], &mut d[..T::LANES]);
    for k in (0..T::LANES).step_by(4) {
        let mut square = [[T::zero(); 4]; 4];
        for q in 0..4 {
            square[q].copy_from_slice(&block[k + q].numbers()[slot..slot + 4]);
        }
        let turned = T::transposed(square);
        a[k..k + 4].copy_from_slice(&turned[0]);
        b[k..k + 4].copy_from_slice(&turned[1]);
        c[k..k + 4].copy_from_slice(&turned[2]);
        d[k..k + 4].copy_from_slice(&turned[3]);
    }
}

/// Returns a row, or, if `exchange`, `sign` times the row with real and imaginary parts exchanged.
#[inline(always)]
pub(super) fn taken<T: Real>(row: &Row<T>, exchange: bool, sign: T) -> Row<T> {
    if !exchange {
        return *row;
    }
    let mut to = T::ROW;
    let (im, re) = row.numbers().split_at(T::LANES);
    let (to_re, to_im) = to.numbers_mut().split_at_mut(T::LANES);
    for lane in 0..T::LANES {
        (to_re[lane], to_im[lane]) = (sign * re[lane], sign * im[lane]);
    }
    to
}

/// Copies values; a whole row or half of one, which is most often, in whole vectors.
#[inline(always)]
pub(super) fn copy<T: Real>(from: &[T], to: &mut [T]) {
    if from.len() == 2 * T::LANES {
        to[..2 * T::LANES].copy_from_slice(&from[..2 * T::LANES]);
    } else if from.len() == T::LANES {
        to[..T::LANES].copy_from_slice(&from[..T::LANES]);
    } else {
        copy_some(from, to);
    }
}

/// Copies values. Not inlined: else LLVM makes one call of `memmove` of all branches of [`copy`].
#[inline(never)]
fn copy_some<T: Real>(from: &[T], to: &mut [T]) {
    let (from, from_rest) = from.as_chunks::<4>();
    let (to, to_rest) = to.as_chunks_mut::<4>();
    from.iter().zip(to).for_each(|(from, to)| *to = *from);
    from_rest.iter().zip(to_rest).for_each(|(&v, to)| *to = v);
}

/// Changes coefficients, [`Modify::apply`]; a whole row or half of one in whole vectors.
#[inline(always)]
pub(super) fn change<T: Real>(by: &impl Modify<T>, u: usize, j: usize, values: &mut [T]) {
    if values.len() == 2 * T::LANES {
        by.apply(u, j, &mut values[..2 * T::LANES]);
    } else if values.len() == T::LANES {
        by.apply(u, j, &mut values[..T::LANES]);
    } else {
        by.apply(u, j, values);
    }
}
