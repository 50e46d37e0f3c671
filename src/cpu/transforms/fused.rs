//! The fused method: pre-processing, one real FFT of all axes, post-processing (Jiang, Gu and Pan,
//! §III).
//!
//! With `V` the FFT of an array reordered along every axis, `w = e^{−jπk/2N}` of an axis but the
//! last and `b = e^{−jπv/2n}` of the last one, which has n values,
//!
//! ```text
//! Y[k]   = ½(w·V[k] + w̄·V[N−k])   along every axis but the last, V[N] = V[0]
//! X[v]   = Re b·Y[v]              X[n−v] = −Im b·Y[v]
//! ```
//!
//! so that in two dimensions two complex numbers `V[u][v]` and `V[nx−u][v]` give the four coefficients
//! X(u, v), X(nx−u, v), X(u, ny−v) and X(nx−u, ny−v), and in d dimensions 2^(d−1) give 2^d. Backwards,
//! with X = 0 where an index reaches the size of its axis,
//!
//! ```text
//! Y[v]   = ½b̄(X[v] − jX[n−v])      V[k] = ½w̄(Y[k] − jY[N−k])
//! ```
//!
//! One pass takes real FFTs of pairs of lines along the last axis and leaves their spectra, v = 0 …
//! ⌈n/2⌉ − 1, in *panels*: a row of a panel has [`Vectors::LANES`](crate::cpu::simd::Vectors)
//! neighbours v of a line. The number at v = 0 has `V[0]`, which is real, and `V[n/2]`, if there is
//! one and which is real too, as its parts. A pass along each other axis takes complex FFTs within
//! the panels, and the one along the first post-processes as it writes. The inverse takes the same
//! passes backwards.

use super::axis::Axis;
use super::coefficients::{Modify, Unchanged};
use super::pass::LONG;
use super::scratch::{ScratchLen, Threads};
use super::tile::{
    Block, MOST, Passage, Run, View, bring_four, change, copy, most_tiles, part, take_four, taken,
};
use crate::cpu::fft::Lanes;
use crate::cpu::matrix::{AHEAD, SharedSlice, prefetch};
use crate::cpu::simd::{Row, SimdKernel, Unit, Vector, dispatch, vectorised};
use crate::real::Real;
use crate::transform::line::Wave;
use crate::transform::{permutation, twiddle};
use std::ops::Range;

/// Plans and tables for arrays of one shape.
pub(crate) struct Fused<T: Real> {
    last: View,
    along_last: Axis<T>,
    /// Of every axis but the last, and a panel seen along it.
    others: Vec<(Axis<T>, View)>,
    /// `½b` of every column of every panel, but 1 at v = 0.
    half_b: Vec<Row<T>>,
}

impl<T: Real> Fused<T> {
    /// Plans arrays of `shape`, if it has at least two axes of which the last fills panels and none
    /// is so long that a tile of its lines leaves the cache.
    pub(crate) fn new(shape: &[usize]) -> Option<Self> {
        let (&n, rest) = shape.split_last()?;
        if rest.is_empty() || n < T::LANES || shape.iter().any(|&n| n > LONG) {
            return None;
        }
        let b = twiddle::scaled_quarter_wave::<T>(n, 0.5);
        let half_b = |panel: usize| {
            let mut row = T::ROW;
            let numbers = row.numbers_mut();
            for (lane, b) in
                b[..n.div_ceil(2)].iter().skip(panel * T::LANES).take(T::LANES).enumerate()
            {
                (numbers[lane], numbers[T::LANES + lane]) = (b.re, b.im);
            }
            if panel == 0 {
                numbers[0] = T::one();
            }
            row
        };
        Some(Fused {
            last: View::new(shape, rest.len()),
            along_last: Axis::new(n),
            others: (0..rest.len())
                .map(|axis| (Axis::new(rest[axis]), View::new(rest, axis)))
                .collect(),
            half_b: (0..n.div_ceil(2).div_ceil(T::LANES)).map(half_b).collect(),
        })
    }

    pub(crate) fn scratch_len(&self) -> ScratchLen {
        let axes = self.others.iter().map(|(axis, _)| axis).chain([&self.along_last]);
        let len = axes.map(|axis| ScratchLen {
            rows: axis.n * most_tiles(axis.n) + 1,
            fft: axis.fft.scratch_len(),
            line: 0,
        });
        len.fold(ScratchLen::default(), ScratchLen::max)
    }

    /// Returns the number of values of an array.
    pub(super) fn size(&self) -> usize {
        self.last.size()
    }

    /// Returns the number of rows of the panels of an array.
    pub(crate) fn rows(&self) -> usize {
        self.half_b.len() * self.last.lines()
    }

    /// `to` = DCT of `from`, or of `to`, along every axis; `panels` has the rows of as many arrays.
    pub(crate) fn forward(
        &self,
        from: Option<&[T]>,
        to: &mut [T],
        by: &impl Modify<T>,
        panels: &mut [Row<T>],
        threads: &Threads<T>,
    ) {
        self.real_ffts(&Passage::new(from, &mut *to), panels, threads);
        let panels = SharedSlice::new(panels);
        let out = SharedSlice::new(to);
        for (number, (axis, view)) in self.others.iter().enumerate().rev() {
            self.each_tile(
                out.len(),
                view,
                threads,
                #[inline(always)]
                |at, tiles, _, fft| {
                    self.each_row(
                        &at,
                        &panels,
                        #[inline(always)]
                        |row, place, k| tiles[place + axis.of_sample[k] as usize] = *row,
                    );
                    for tile in tiles.chunks_exact_mut(view.n) {
                        axis.dct(tile, None, fft);
                    }
                    match number {
                        0 => self.post_process(&at, tiles, by, &out),
                        _ => self.each_row(
                            &at,
                            &panels,
                            #[inline(always)]
                            |row, place, k| *row = tiles[place + k],
                        ),
                    }
                },
            );
        }
    }

    /// `to` = IDXST of `from`, or of `to`, along the axis `sine` and IDCT along the others.
    pub(crate) fn inverse(
        &self,
        sine: Option<usize>,
        from: Option<&[T]>,
        to: &mut [T],
        by: &impl Modify<T>,
        panels: &mut [Row<T>],
        threads: &Threads<T>,
    ) {
        let count = to.len();
        let passage = Passage::new(from, &mut *to);
        let shared = SharedSlice::new(&mut *panels);
        let sine_last = sine == Some(self.others.len());
        for (number, (axis, view)) in self.others.iter().enumerate() {
            let wave = Wave::along(number, sine);
            let odd = if wave == Wave::Sine { -T::one() } else { T::one() };
            self.each_tile(
                count,
                view,
                threads,
                #[inline(always)]
                |at, tile, work, fft| {
                    match number {
                        0 => self.pre_process(&at, &passage, by, sine_last, tile),
                        _ => self.each_row(
                            &at,
                            &shared,
                            #[inline(always)]
                            |row, place, k| tile[place + k] = *row,
                        ),
                    }
                    let tiles = tile.chunks_exact(view.n);
                    for (tile, work) in tiles.zip(work.chunks_exact_mut(view.n)) {
                        axis.inverse(tile, wave, None, work, fft);
                    }
                    self.each_row(
                        &at,
                        &shared,
                        #[inline(always)]
                        |row, place, k| {
                            let from = &work[place + permutation::position(k, view.n)];
                            *row = taken(from, true, if k % 2 == 1 { odd } else { T::one() });
                        },
                    );
                },
            );
        }
        self.real_inverse_ffts(&Passage::new(None, to), sine_last, panels, threads);
    }

    /// Calls `work(place, tiles, tiles, FFT's own)` for the tiles of each task, of the panels of
    /// arrays of so many values along an axis other than the last. `work` is compiled for the
    /// vector unit.
    #[inline(always)]
    fn each_tile(
        &self,
        values: usize,
        view: &View,
        threads: &Threads<T>,
        work: impl Fn(Place<'_>, &mut [Row<T>], &mut [Row<T>], &mut [Row<T>]) + Sync,
    ) {
        let lines = values / self.last.size() * view.lines();
        let panels = self.half_b.len();
        let together = threads.at_once(lines * panels, most_tiles(view.n));
        let tasks = panels.div_ceil(together);
        threads.for_each(lines * tasks, |task, s| {
            // Panels of one line lie next to one another in the array.
            let (line, first) = (task / tasks, task % tasks * together);
            let (array, line) = (line / view.lines(), line % view.lines());
            let place = Place { view, array, panels: first..panels.min(first + together), line };
            let rows = place.panels.len() * view.n;
            let [tile, other] = s.tiles.each_mut().map(|tile| &mut tile[..rows]);
            vectorised(
                #[inline(always)]
                || work(place, tile, other, &mut s.fft),
            );
        });
    }

    /// Calls `work(row, first row of its tile, its number in the tile)` for each row of the panels
    /// of a task.
    #[inline(always)]
    fn each_row(
        &self,
        at: &Place<'_>,
        panels: &SharedSlice<'_, Row<T>>,
        mut work: impl FnMut(&mut Row<T>, usize, usize),
    ) {
        for (tile, panel) in at.panels.clone().enumerate() {
            let first = at.array * self.rows() + panel * self.last.lines() + at.view.start(at.line);
            for k in 0..at.view.n {
                // SAFETY: tasks have different lines or different panels, so they share no rows.
                let row = unsafe { panels.part(first + k * at.view.inner, 1) };
                work(&mut row[0], tile * at.view.n, k);
            }
        }
    }

    /// Real FFTs along the last axis, into panels.
    fn real_ffts(&self, passage: &Passage<'_, T>, panels: &mut [Row<T>], threads: &Threads<T>) {
        let (axis, view) = (&self.along_last, &self.last);
        let arrays = panels.len() / self.rows();
        let panels = SharedSlice::new(panels);
        threads.for_each(view.tiles::<T>(arrays), |tile, s| {
            view.list::<T>(arrays, tile..tile + 1, &mut s.runs);
            let (tile, runs) = (&mut s.tiles[0][..view.n + 1], &s.runs[..]);
            vectorised(
                #[inline(always)]
                || {
                    let (lines, place) = (&mut tile[..view.n], |k| axis.of_sample[k] as usize);
                    // SAFETY: tiles share no lines, and each is one task.
                    unsafe { passage.load(view, runs, place, &Unchanged, lines) };
                    axis.fft.run(lines, &mut s.fft);
                    dispatch(Separate { tile: &mut *tile });
                    self.put(tile, runs, &panels);
                },
            );
        });
    }

    /// Real inverse FFTs along the last axis, from panels.
    fn real_inverse_ffts(
        &self,
        passage: &Passage<'_, T>,
        sine: bool,
        panels: &[Row<T>],
        threads: &Threads<T>,
    ) {
        let (axis, view) = (&self.along_last, &self.last);
        let arrays = panels.len() / self.rows();
        threads.for_each(view.tiles::<T>(arrays), |tile, s| {
            view.list::<T>(arrays, tile..tile + 1, &mut s.runs);
            let [tile, work] = &mut s.tiles;
            let (tile, work) = (&mut tile[..view.n + 1], &mut work[..view.n]);
            let runs = &s.runs[..];
            vectorised(
                #[inline(always)]
                || {
                    self.bring(panels, runs, tile);
                    dispatch(Join { tile, place: &axis.place, to: &mut *work });
                    axis.fft.run(work, &mut s.fft);
                    // SAFETY: tiles share no lines, and each is one task.
                    unsafe { passage.store_samples(view, runs, sine, work) };
                },
            );
        });
    }

    /// Takes spectra from a tile to their panels.
    #[inline(always)]
    fn put(&self, tile: &[Row<T>], runs: &[Run], panels: &SharedSlice<'_, Row<T>>) {
        let (n, lines) = (self.last.n, self.lines_of(runs));
        for panel in 0..self.half_b.len() {
            let Columns { first, width, .. } = self.columns(panel);
            for (second, lines) in lines[..2 * T::LANES].chunks_exact(T::LANES).enumerate() {
                let mut block: Block<T> = [T::ROW; MOST / 2];
                for (v, row) in (first..first + width).zip(&mut block) {
                    *row = tile[if second == 1 { n - v } else { v }];
                }
                for (four, lines) in lines.chunks_exact(4).enumerate() {
                    let row = |line: usize| -> &mut [T] {
                        if lines[line] == usize::MAX {
                            return &mut [];
                        }
                        let at = lines[line] + panel * self.last.lines();
                        // SAFETY: tiles share no lines, and each is one task.
                        let row = unsafe { panels.part(at, 1) };
                        row[0].numbers_mut()
                    };
                    let [a, b, c, d] = &mut [row(0), row(1), row(2), row(3)];
                    for at in [0, T::LANES] {
                        let halves = [part(a, at), part(b, at), part(c, at), part(d, at)];
                        take_four(&block, at + 4 * four, halves);
                    }
                }
            }
        }
    }

    /// Brings spectra from their panels into a tile.
    #[inline(always)]
    fn bring(&self, panels: &[Row<T>], runs: &[Run], tile: &mut [Row<T>]) {
        let (n, lines, zero) = (self.last.n, self.lines_of(runs), T::ROW);
        for panel in 0..self.half_b.len() {
            let Columns { first, width, .. } = self.columns(panel);
            for (second, lines) in lines[..2 * T::LANES].chunks_exact(T::LANES).enumerate() {
                let mut block: Block<T> = [T::ROW; MOST / 2];
                for (four, lines) in lines.chunks_exact(4).enumerate() {
                    let row = |line: usize| match lines[line] {
                        usize::MAX => zero.numbers(),
                        line => panels[line + panel * self.last.lines()].numbers(),
                    };
                    let [a, b, c, d] = [row(0), row(1), row(2), row(3)];
                    for at in [0, T::LANES] {
                        let halves = [&a[at..], &b[at..], &c[at..], &d[at..]];
                        bring_four(halves, at + 4 * four, &mut block);
                    }
                }
                for (v, row) in (first..first + width).zip(&block) {
                    tile[if second == 1 { n - v } else { v }] = *row;
                }
            }
        }
    }

    /// Returns the row of the first panel for each slot of a tile with a line.
    #[inline(always)]
    fn lines_of(&self, runs: &[Run]) -> [usize; MOST] {
        let mut lines = [usize::MAX; MOST];
        for run in runs {
            for line in 0..run.len {
                lines[run.slot + line] = run.array * self.rows() + run.line + line;
            }
        }
        lines
    }

    /// Writes the coefficients of a tile along the first axis.
    #[inline(always)]
    fn post_process(
        &self,
        at: &Place<'_>,
        tiles: &[Row<T>],
        by: &impl Modify<T>,
        out: &SharedSlice<'_, T>,
    ) {
        let root = T::cast(std::f64::consts::FRAC_1_SQRT_2);
        let (mut near, mut far) = ([T::zero(); 16], [T::zero(); 16]);
        for (u, panel, row) in at.rows() {
            let Columns { n, first, width, edge } = self.columns(panel);
            let (b_re, b_im) = self.half_b[panel].numbers().split_at(T::LANES);
            let (re, im) = tiles[row].numbers().split_at(T::LANES);
            for lane in 0..T::LANES {
                let (b_re, b_im) = (b_re[lane], b_im[lane]);
                near[lane] = b_re * re[lane] - b_im * im[lane];
                far[T::LANES - 1 - lane] = -(b_re * im[lane] + b_im * re[lane]);
            }
            let start = at.array * self.last.size() + u * at.view.inner * n;
            let (j, mirrors) = (at.line * n, n + 1 - first - width);
            for column in [first, mirrors] {
                let ahead = start + j + column + AHEAD * at.view.inner * n;
                prefetch(out.start().wrapping_add(ahead), width);
            }
            let far = &mut far[T::LANES - width..T::LANES - edge];
            write(out, start, by, u, j + first, &mut near[..width]);
            write(out, start, by, u, j + mirrors, far);
            if edge == 1 && n.is_multiple_of(2) {
                write(out, start, by, u, j + n / 2, &mut [root * im[0]]);
            }
        }
    }

    /// Reads the coefficients of a tile along the first axis.
    #[inline(always)]
    fn pre_process(
        &self,
        at: &Place<'_>,
        passage: &Passage<'_, T>,
        by: &impl Modify<T>,
        sine: bool,
        tiles: &mut [Row<T>],
    ) {
        let root = T::cast(std::f64::consts::FRAC_1_SQRT_2);
        let (mut near, mut far) = ([T::zero(); 16], [T::zero(); 16]);
        for (u, panel, row) in at.rows() {
            let Columns { n, first, width, edge } = self.columns(panel);
            let (b_re, b_im) = self.half_b[panel].numbers().split_at(T::LANES);
            let start = at.array * self.last.size() + u * at.view.inner * n;
            let (j, mirrors) = (at.line * n, n + 1 - first - width);
            for column in [first, mirrors] {
                passage.prefetch(start + j + column + AHEAD * at.view.inner * n, width);
            }
            read(passage, start, by, u, j + first, &mut near[..width]);
            let opposite = &mut far[T::LANES - width..T::LANES - edge];
            read(passage, start, by, u, j + mirrors, opposite);
            let (re, im) = tiles[row].numbers_mut().split_at_mut(T::LANES);
            for lane in 0..T::LANES {
                let (mut x, mut y) = (near[lane], far[T::LANES - 1 - lane]);
                if sine {
                    (x, y) = (y, x);
                }
                let (b_re, b_im) = (b_re[lane], b_im[lane]);
                (re[lane], im[lane]) = (x * b_re - y * b_im, -(x * b_im + y * b_re));
            }
            if edge == 1 {
                re[0] = if sine { T::zero() } else { T::cast(0.5) * near[0] };
                let mut middle = [T::zero()];
                if n.is_multiple_of(2) {
                    read(passage, start, by, u, j + n / 2, &mut middle);
                }
                im[0] = root * middle[0];
            }
        }
    }

    /// Returns the columns of a panel.
    #[inline(always)]
    fn columns(&self, panel: usize) -> Columns {
        let (n, first) = (self.last.n, panel * T::LANES);
        let width = T::LANES.min(n.div_ceil(2) - first);
        Columns { n, first, width, edge: usize::from(panel == 0) }
    }
}

/// Changes coefficients of row `u`, which begins at `start`, and writes them.
#[inline(always)]
fn write<T: Real>(
    out: &SharedSlice<'_, T>,
    start: usize,
    by: &impl Modify<T>,
    u: usize,
    j: usize,
    values: &mut [T],
) {
    change(by, u, j, values);
    // SAFETY: tiles share no line, and panels no column; each is one task.
    copy(values, unsafe { out.part(start + j, values.len()) });
}

/// Reads coefficients of row `u`, which begins at `start`, and changes them.
#[inline(always)]
fn read<T: Real>(
    passage: &Passage<'_, T>,
    start: usize,
    by: &impl Modify<T>,
    u: usize,
    j: usize,
    values: &mut [T],
) {
    // SAFETY: this pass writes only panels, and no two tasks read the same coefficients.
    copy(unsafe { passage.read(start + j, values.len()) }, values);
    change(by, u, j, values);
}

/// The tiles of a task: the panels as seen along an axis, the array, the panels, and which line of
/// them it is.
struct Place<'a> {
    view: &'a View,
    array: usize,
    panels: Range<usize>,
    line: usize,
}

impl Place<'_> {
    /// Returns k, the panel and the row of the tiles, for each k along the axis and each panel.
    #[inline(always)]
    fn rows(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let (n, panels) = (self.view.n, self.panels.clone());
        let of_k = move |k| panels.clone().enumerate().map(move |(i, panel)| (k, panel, i * n + k));
        (0..n).flat_map(of_k)
    }
}

/// The columns `first..first + width` of a panel of lines of `n` values; the first `edge` of them
/// have no mirror n − v.
struct Columns {
    n: usize,
    first: usize,
    width: usize,
    edge: usize,
}

/// Twice the spectra P and Q of the real lines of each pair, from the FFT Z of p + jq: P\[v\] goes to
/// row v and Q\[v\] to row n − v; P\[0\] and P\[n/2\], not doubled, to the parts of row 0, those of Q
/// to row n.
struct Separate<'a, T: Real> {
    tile: &'a mut [Row<T>],
}

impl<T: Real> SimdKernel<T> for Separate<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Number = T>>(self, unit: Unit<V>) {
        let n = self.tile.len() - 1;
        for at in (0..T::LANES).step_by(V::LANES) {
            let start = Lanes::load(unit, &self.tile[0], at);
            let middle = match n % 2 {
                0 => Lanes::load(unit, &self.tile[n / 2], at),
                _ => Lanes { re: unit.splat(T::zero()), im: unit.splat(T::zero()) },
            };
            Lanes { re: start.re, im: middle.re }.store(unit, &mut self.tile[0], at);
            Lanes { re: start.im, im: middle.im }.store(unit, &mut self.tile[n], at);
            for v in 1..n.div_ceil(2) {
                let near = Lanes::load(unit, &self.tile[v], at);
                let far = Lanes::load(unit, &self.tile[n - v], at);
                let p = Lanes { re: near.re + far.re, im: near.im - far.im };
                let q = Lanes { re: near.im + far.im, im: far.re - near.re };
                p.store(unit, &mut self.tile[v], at);
                q.store(unit, &mut self.tile[n - v], at);
            }
        }
    }
}

/// The way back, to the input of an FFT with parts exchanged: Z = P + jQ.
struct Join<'a, T: Real> {
    tile: &'a [Row<T>],
    /// Row of the FFT's input that each number goes to.
    place: &'a [u32],
    to: &'a mut [Row<T>],
}

impl<T: Real> SimdKernel<T> for Join<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Number = T>>(self, unit: Unit<V>) {
        let Join { tile, place, to } = self;
        let n = tile.len() - 1;
        for at in (0..T::LANES).step_by(V::LANES) {
            let (p, q) = (Lanes::load(unit, &tile[0], at), Lanes::load(unit, &tile[n], at));
            Lanes { re: q.re, im: p.re }.store(unit, &mut to[place[0] as usize], at);
            if n.is_multiple_of(2) {
                Lanes { re: q.im, im: p.im }.store(unit, &mut to[place[n / 2] as usize], at);
            }
            for v in 1..n.div_ceil(2) {
                let p = Lanes::load(unit, &tile[v], at);
                let q = Lanes::load(unit, &tile[n - v], at);
                p.plus_j(q).exchanged().store(unit, &mut to[place[v] as usize], at);
                let far = Lanes { re: q.re - p.im, im: p.re + q.im };
                far.store(unit, &mut to[place[n - v] as usize], at);
            }
        }
    }
}
