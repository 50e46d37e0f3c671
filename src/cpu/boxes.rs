//! Sums of boxes over bins: maps to which every box adds a product of a part along x and a part
//! along y.
//!
//! A box covers the columns `first..=last` and adds `x[a] · y[b]` to the bins that it covers, where
//! a part has three values: for its first bin, its last bin and all bins between ([`AxisPart`]).
//! RUDY, the area of cells and counts of them are all of this form (`crate::congestion`).
//!
//! # Method
//! The nine different products of a box are rounded to integers, and their second differences,
//! along both axes, are added to a map of differences: 16 numbers, however large the box is. Prefix
//! sums along both axes make bins of them. Beyond the box the integers add up to exactly zero, and
//! the sums do not depend on the order: the bits are the same for any number of threads.
//!
//! Every thread has a separate map if all together have at most [`MOST_BYTES`]. Otherwise threads
//! share one map and wait for each other.

use super::bodies::low_bits;
use super::simd::vectorised;
use crate::memory::{filled, with_room};
use crate::parallel::{self, PerThread, chunks, chunks_mut};

/// Items of one task.
const BLOCK: usize = 2048;
/// Bytes that the maps of all threads may take together, unless one takes more.
const MOST_BYTES: usize = 512 << 20;
/// Columns of a task where differences become bins.
const STRIP: usize = 16;

/// The bins `first..=last` of one axis, and a box's values there: in the first bin, in each of
/// those between, in the last bin. Where there is one bin, its value is the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AxisPart<V> {
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) values: [V; 3],
}

/// Maps of `nx × ny` bins with `C` values each: sums of boxes, and separately sums of single bins.
pub(crate) struct BoxSums<const C: usize> {
    nx: usize,
    ny: usize,
    threads: PerThread<Adder<C>>,
    scale: f64,
}

/// The sums of one thread. A value is from 0 to the bound that the maps were made for.
pub(crate) struct Adder<const C: usize> {
    columns: usize,
    /// Numbers from one column to the next: there is a row beyond the last for boxes that end
    /// there.
    stride: usize,
    /// Integers per unit: a power of two.
    scale: f64,
    /// Second differences, `columns × stride`; empty before the first box.
    of_boxes: Vec<[i64; C]>,
    /// Values of bins, in the same order; empty before the first.
    of_bins: Vec<[i64; C]>,
}

/// Sums in units: a map for each channel, `[nx][ny]`.
pub(crate) struct Sums<const C: usize> {
    pub(crate) boxes: [Vec<f64>; C],
    pub(crate) bins: [Vec<f64>; C],
}

/// Returns the integers per unit for values of which those of a bin are `most` at most, all
/// together, and `largest` at most each: a power of two.
pub(crate) fn scale(most: f64, largest: f64) -> f64 {
    // Sums stay below 2^61, and a number within what `low_bits` takes.
    let room = |bits: f64, most: f64| bits - most.max(f64::MIN_POSITIVE).log2().ceil();
    room(61.0, most).min(room(51.0, largest)).clamp(-1000.0, 1000.0).exp2()
}

impl<const C: usize> BoxSums<C> {
    /// Maps of integers; [`scale`] is the number of integers per unit.
    pub(crate) fn new(nx: usize, ny: usize, scale: f64) -> Self {
        let (columns, stride) = (nx + 1, ny + 1);
        let bytes = columns * stride * size_of::<[i64; C]>();
        let copies = rayon::current_num_threads().min(MOST_BYTES / bytes);
        let (of_boxes, of_bins) = (Vec::new(), Vec::new());
        let make = || Adder {
            columns,
            stride,
            scale,
            of_boxes: of_boxes.clone(),
            of_bins: of_bins.clone(),
        };
        BoxSums { nx, ny, threads: PerThread::new(copies, make), scale }
    }

    /// Calls `add` for each of `0..count`, in any order and on any thread.
    pub(crate) fn add(&mut self, count: usize, add: impl Fn(usize, &mut Adder<C>) + Sync) {
        parallel::each(count.div_ceil(BLOCK), &|block| {
            self.threads.with(|own| {
                vectorised(
                    #[inline(always)]
                    || (block * BLOCK..count.min((block + 1) * BLOCK)).for_each(|i| add(i, own)),
                );
            });
        });
    }

    /// Returns the sums.
    pub(crate) fn finish(mut self) -> Sums<C> {
        let (mut of_boxes, mut of_bins) = (Vec::new(), Vec::new());
        self.threads.each(|own| {
            of_boxes.push(std::mem::take(&mut own.of_boxes));
            of_bins.push(std::mem::take(&mut own.of_bins));
        });
        Sums { boxes: self.bins(of_boxes, true), bins: self.bins(of_bins, false) }
    }

    /// Copies added up, in units; they hold differences or not.
    fn bins(&self, mut copies: Vec<Vec<[i64; C]>>, differences: bool) -> [Vec<f64>; C] {
        let (nx, ny, unit) = (self.nx, self.ny, 1.0 / self.scale);
        let stride = ny + 1;
        copies.retain(|copy| !copy.is_empty());
        let mut maps = [(); C].map(|()| filled(nx * ny, 0.0));
        let Some(mut sums) = copies.pop() else { return maps };
        // First every strip by itself, then with what those before it leave.
        parallel::for_each(chunks_mut(&mut sums, STRIP * stride), |strip, sums| {
            for copy in &copies {
                let from = &copy[strip * STRIP * stride..][..sums.len()];
                sums.iter_mut().zip(from).for_each(|(to, from)| add(to, from));
            }
            if differences {
                integrate(sums, stride);
            }
        });
        let mut carries = vec![vec![[0; C]; stride]];
        for strip in sums.chunks(STRIP * stride) {
            let mut carry = carries[carries.len() - 1].clone();
            if differences {
                let last = &strip[strip.len() - stride..];
                carry.iter_mut().zip(last).for_each(|(to, from)| add(to, from));
            }
            carries.push(carry);
        }
        for (channel, map) in maps.iter_mut().enumerate() {
            let strips = (chunks_mut(map, STRIP * ny), chunks(&sums, STRIP * stride));
            parallel::for_each(strips, |strip, (map, sums)| {
                let carry = &carries[strip];
                for (map, sums) in map.chunks_mut(ny).zip(sums.chunks(stride)) {
                    for ((to, sum), carry) in map.iter_mut().zip(sums).zip(carry) {
                        *to = sum[channel].wrapping_add(carry[channel]) as f64 * unit;
                    }
                }
            });
        }
        maps
    }
}

/// Makes sums of second differences in some columns, where there is nothing before them.
fn integrate<const C: usize>(columns: &mut [[i64; C]], stride: usize) {
    for column in 0..columns.len() / stride {
        let (before, here) = columns.split_at_mut(column * stride);
        let mut running = [0; C];
        for (row, here) in here[..stride].iter_mut().enumerate() {
            add(&mut running, here);
            *here = running;
            if column > 0 {
                add(here, &before[(column - 1) * stride + row]);
            }
        }
    }
}

/// Adds without a check for overflow: bounded sums are right even if partial sums wrap.
#[inline(always)]
fn add<const C: usize>(to: &mut [i64; C], from: &[i64; C]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = to.wrapping_add(*from));
}

/// Returns so many zeros on large pages. This thread alone touches them: it holds its own value, so
/// no work may be divided.
#[cold]
fn zeros<const C: usize>(n: usize) -> Vec<[i64; C]> {
    let mut zeros = with_room(n);
    zeros.resize(n, [0; C]);
    zeros
}

impl<const C: usize> Adder<C> {
    /// Adds to the bins that two parts cover the products of their values, channel by channel.
    ///
    /// # Panics
    /// When a part reaches beyond the bins.
    #[inline(always)]
    pub(crate) fn add_box(&mut self, x: &AxisPart<[f64; C]>, y: &AxisPart<[f64; C]>) {
        if self.of_boxes.is_empty() {
            self.of_boxes = zeros(self.columns * self.stride);
        }
        let mut products = [[[0_i64; C]; 3]; 3];
        for (products, x) in products.iter_mut().zip(&x.values) {
            for (product, y) in products.iter_mut().zip(&y.values) {
                for c in 0..C {
                    product[c] = low_bits(x[c] * self.scale * y[c]) as i64;
                }
            }
        }
        let columns = [x.first, x.first + 1, x.last, x.last + 1];
        let rows = [y.first, y.first + 1, y.last, y.last + 1];
        for (a, column) in columns.into_iter().enumerate() {
            let own = &mut self.of_boxes[column * self.stride..][..self.stride];
            let across = |b: usize, c: usize| match a {
                0 => products[0][b][c],
                3 => -products[2][b][c],
                _ => products[a][b][c] - products[a - 1][b][c],
            };
            for (b, row) in rows.into_iter().enumerate() {
                for (c, to) in own[row].iter_mut().enumerate() {
                    *to = to.wrapping_add(match b {
                        0 => across(0, c),
                        3 => -across(2, c),
                        _ => across(b, c) - across(b - 1, c),
                    });
                }
            }
        }
    }

    /// Adds to bin `(i, j)`.
    ///
    /// # Panics
    /// When there is no such bin.
    #[inline(always)]
    pub(crate) fn add_bin(&mut self, (i, j): (usize, usize), values: [f64; C]) {
        if self.of_bins.is_empty() {
            self.of_bins = zeros(self.columns * self.stride);
        }
        let to = &mut self.of_bins[i * self.stride..][..self.stride][j];
        add(to, &values.map(|value| low_bits(value * self.scale) as i64));
    }
}

#[cfg(test)]
mod tests;
