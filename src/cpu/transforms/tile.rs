//! Tiles: as many lines of an array as a vector has lanes, twice, brought together and back.
//!
//! An array seen along one axis is `[outer][n][inner]`, and a line of it `n` values `inner` apart.
//! Row k of a tile has value k of [`Vectors::LANES`](crate::cpu::simd::Vectors) lines, the real parts of its FFTs, and then of
//! as many others, the imaginary parts. Both lines of a pair are of one array, so that arrays of a
//! batch do not share their rounding, nor what is not finite.

use super::coefficients::Modify;
use crate::cpu::matrix::{AHEAD, SharedSlice, prefetch};
use crate::cpu::simd::Row;
use crate::real::Real;
use crate::transform::permutation;

/// Numbers in a row of a tile at most.
pub(super) const MOST: usize = 32;

/// As many rows as lines of a tile are transposed at a time: [`Vectors::LANES`] of them are in use.
///
/// [`Vectors::LANES`]: crate::cpu::simd::Vectors::LANES
pub(super) type Block<T> = [Row<T>; MOST / 2];

/// How many values ahead of its lines a tile fetches them, where they are contiguous: in lines that
/// are a power of two apart the processor's own prefetching does not keep up.
const LINES_AHEAD: usize = 64;

/// An array seen along one axis, or an array of such arrays.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) n: usize,
    pub(super) outer: usize,
    pub(super) inner: usize,
}

/// Lines of a tile whose values are neighbours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Where they stand in a row of the tile.
    pub(super) slot: usize,
    pub(super) len: usize,
    /// The array and the first line.
    pub(super) array: usize,
    pub(super) line: usize,
    /// The first value of the first line.
    at: usize,
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

    /// Lists the lines of a tile of so many arrays.
    pub(super) fn list<T: Real>(&self, arrays: usize, tile: usize, runs: &mut Vec<Run>) {
        let (together, tiles) = self.division::<T>();
        let first_array = tile / tiles * together;
        let first = tile % tiles * 2 * T::LANES;
        let count = (self.lines() - first).min(2 * T::LANES);
        let pairs = count.div_ceil(2);
        runs.clear();
        for array in first_array..arrays.min(first_array + together) {
            let lane = (array - first_array) * pairs;
            let halves = [(first, pairs, lane), (first + pairs, count - pairs, T::LANES + lane)];
            for (mut line, mut count, mut slot) in halves {
                while count > 0 {
                    let len = count.min(self.inner - line % self.inner);
                    let at = array * self.size() + self.start(line);
                    runs.push(Run { slot, len, array, line, at });
                    (line, slot, count) = (line + len, slot + len, count - len);
                }
            }
        }
    }
}

/// What a pass reads and what it writes: other memory, or the same.
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
    /// In place, nothing writes these values while they are borrowed.
    #[inline(always)]
    pub(super) unsafe fn read(&self, at: usize, len: usize) -> &[T] {
        match self.from {
            Some(from) => &from[at..][..len],
            // SAFETY: as the caller promises.
            None => unsafe { self.to.part(at, len) },
        }
    }

    #[inline(always)]
    fn prefetch(&self, at: usize, len: usize) {
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
        if runs.iter().map(|run| run.len).sum::<usize>() < 2 * T::LANES {
            tile.fill(T::ROW);
        }
        if view.inner > 1 || view.n == 1 {
            for k in 0..view.n {
                let row = tile[place(k)].numbers_mut();
                for run in runs {
                    let at = run.at + k * view.inner;
                    self.prefetch(at + AHEAD * view.inner, run.len);
                    let row = &mut row[run.slot..][..run.len];
                    // SAFETY: as the caller promises.
                    copy(unsafe { self.read(at, run.len) }, row);
                    change(by, k, run.line, row);
                }
            }
            return;
        }
        let (zeros, mut block) = ([T::zero(); MOST / 2], [T::ROW; MOST / 2]);
        let mut lines: [&[T]; MOST] = [&[]; MOST];
        for run in runs {
            // SAFETY: as the caller promises.
            lines[run.slot] = unsafe { self.read(run.at, view.n) };
        }
        for (first, count) in blocks::<T>(view.n) {
            for (four, lines) in lines[..2 * T::LANES].chunks_exact(4).enumerate() {
                let part = |line: usize| match lines[line] {
                    [] => &zeros[..count],
                    line => {
                        prefetch(line.as_ptr().wrapping_add(first + LINES_AHEAD), 1);
                        &line[first..][..count]
                    }
                };
                bring_four([part(0), part(1), part(2), part(3)], 4 * four, &mut block);
            }
            (first..).zip(&block[..count]).for_each(|(k, row)| tile[place(k)] = *row);
        }
        for k in 0..if M::CHANGES { view.n } else { 0 } {
            let row = tile[place(k)].numbers_mut();
            runs.iter().for_each(|run| by.apply(k, run.line, &mut row[run.slot..][..1]));
        }
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
        if view.inner > 1 || view.n == 1 {
            for (k, row) in tile.iter_mut().enumerate() {
                for run in runs {
                    let row = &mut row.numbers_mut()[run.slot..][..run.len];
                    change(by, k, run.line, row);
                    // SAFETY: as the caller promises.
                    let to = unsafe { self.to.part(run.at + k * view.inner, run.len) };
                    copy(row, to);
                }
            }
            return;
        }
        for (k, row) in tile.iter_mut().enumerate().take(if M::CHANGES { view.n } else { 0 }) {
            let row = row.numbers_mut();
            runs.iter().for_each(|run| by.apply(k, run.line, &mut row[run.slot..][..1]));
        }
        // SAFETY: as the caller promises.
        unsafe { self.store_lines(view, runs, |k| k, 0, T::one(), tile) };
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
        let place = |k| permutation::position(k, n);
        if view.inner > 1 || n == 1 {
            for k in 0..n {
                let mut row = tile[place(k)];
                if sine && k % 2 == 1 {
                    row.numbers_mut().iter_mut().for_each(|v| *v = -*v);
                }
                for run in runs {
                    let row = &row.numbers()[run.slot ^ T::LANES..][..run.len];
                    // SAFETY: as the caller promises.
                    let to = unsafe { self.to.part(run.at + k * view.inner, run.len) };
                    copy(row, to);
                }
            }
            return;
        }
        // SAFETY: as the caller promises.
        unsafe { self.store_lines(view, runs, place, T::LANES, odd, tile) };
    }

    /// Takes contiguous lines back: value k from row `place(k)`, slots `exchange` apart, odd values
    /// times `odd`.
    ///
    /// # Safety
    /// See [`Passage::store`].
    #[inline(always)]
    unsafe fn store_lines(
        &self,
        view: &View,
        runs: &[Run],
        place: impl Fn(usize) -> usize,
        exchange: usize,
        odd: T,
        tile: &[Row<T>],
    ) {
        let mut block = [T::ROW; MOST / 2];
        let mut lines: [&mut [T]; MOST] = [(); MOST].map(|()| &mut [][..]);
        for run in runs {
            // SAFETY: as the caller promises.
            lines[run.slot ^ exchange] = unsafe { self.to.part(run.at, view.n) };
        }
        for (first, count) in blocks::<T>(view.n) {
            for (k, row) in (first..).zip(&mut block[..count]) {
                *row = tile[place(k)];
                if k % 2 == 1 {
                    row.numbers_mut().iter_mut().for_each(|v| *v *= odd);
                }
            }
            for (four, lines) in lines[..2 * T::LANES].chunks_exact_mut(4).enumerate() {
                let [a, b, c, d] = lines else { unreachable!("four lines") };
                let lines = [a, b, c, d].map(|line| match line {
                    [] => &mut [][..],
                    line => &mut line[first..][..count],
                });
                take_four(&block, 4 * four, lines);
            }
        }
    }
}

/// Returns the first value and the number of values of each block that lines of `n` values are
/// transposed in. If the last one would be short, it has values of the one before it once more.
fn blocks<T: Real>(n: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = n.min(T::LANES);
    (0..n.div_ceil(T::LANES)).map(move |block| ((block * T::LANES).min(n - count), count))
}

/// Transposes four lines of at most [`Vectors::LANES`](crate::cpu::simd::Vectors) values into the
/// numbers of rows from `slot` on.
#[inline(always)]
pub(super) fn bring_four<T: Real>(lines: [&[T]; 4], slot: usize, block: &mut Block<T>) {
    let count = lines[0].len();
    if count < T::LANES {
        for (k, row) in block.iter_mut().take(count).enumerate() {
            let row = &mut row.numbers_mut()[slot..][..4];
            row.iter_mut().zip(lines).for_each(|(to, line)| *to = line[k]);
        }
        return;
    }
    let [a, b, c, d] = lines.map(|line| &line[..T::LANES]);
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
    if [a.len(), b.len(), c.len(), d.len()] != [T::LANES; 4] {
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

/// Copies values; half a row, which is most often, in whole vectors.
#[inline(always)]
pub(super) fn copy<T: Real>(from: &[T], to: &mut [T]) {
    if from.len() == T::LANES {
        to[..T::LANES].copy_from_slice(&from[..T::LANES]);
    } else {
        from.iter().zip(to).for_each(|(&v, to)| *to = v);
    }
}

/// Changes coefficients, [`Modify::apply`]; half a row in whole vectors.
#[inline(always)]
pub(super) fn change<T: Real>(by: &impl Modify<T>, u: usize, j: usize, values: &mut [T]) {
    if values.len() == T::LANES {
        by.apply(u, j, &mut values[..T::LANES]);
    } else {
        by.apply(u, j, values);
    }
}
