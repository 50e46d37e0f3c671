//! Strips of bin columns, and bodies as the strips read them.

use crate::charge::overlap::Span;
use crate::cpu::bodies::{Footprint, window};
use std::ops::Range;

/// Bodies sorted by one task.
pub(super) const CHUNK: usize = 16_384;
/// Columns of bins a strip can take up to the right of its own.
pub(super) const MARGIN: usize = 8;
/// Bins of a strip with its margin, about: 1 MiB of `f64`, to stay in a core's L2.
const STRIP_BINS: usize = 1 << 17;
/// Strips there should be at least, so that many cores share them evenly.
const STRIPS: usize = 64;
/// The strip of a body that is in none.
const NOWHERE: u16 = u16::MAX;

/// A footprint as the strips read it: 48 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
    column: u16,
    /// Columns after the first.
    columns: u16,
    row: u16,
    /// Rows after the first.
    rows: u16,
    left: f64,
    right: f64,
    bottom: f64,
    top: f64,
    weight: f64,
}

/// How the map is cut, see the module's text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strips {
    pub(super) nx: usize,
    pub(super) ny: usize,
    /// Columns of a strip, a power of two; the last one may own fewer.
    columns: usize,
    pub(super) count: usize,
}

impl Strips {
    pub(super) fn new(nx: usize, ny: usize) -> Self {
        let least = 2 * MARGIN;
        let columns = (nx / STRIPS).clamp(least, (STRIP_BINS / ny).max(least));
        let columns = 1 << columns.ilog2();
        Strips { nx, ny, columns, count: nx.div_ceil(columns) }
    }

    /// Bins of a strip.
    pub(super) fn own(&self) -> usize {
        self.columns * self.ny
    }

    /// Bins of a margin.
    pub(super) fn margin(&self) -> usize {
        MARGIN * self.ny
    }

    /// Bins of a strip and its margin.
    pub(super) fn stride(&self) -> usize {
        self.own() + self.margin()
    }

    /// The columns of the map that strip `s` owns.
    pub(super) fn columns_of(&self, s: usize) -> Range<usize> {
        s * self.columns..self.nx.min((s + 1) * self.columns)
    }

    /// Makes records of the bodies from `first` on, sorted by strip and in order
    /// within each; strip `s` gets `starts[s]..starts[s + 1]`.
    #[inline(never)]
    pub(super) fn sort(
        &self,
        first: usize,
        records: &mut [Record],
        starts: &mut [u32],
        columns: impl Fn(usize) -> Option<Span>,
        footprint: impl Fn(usize) -> Option<Footprint>,
    ) {
        let mut strip_of = [NOWHERE; CHUNK];
        let strip_of = &mut strip_of[..records.len()];
        let shift = self.columns.ilog2();
        // Counts go to the entry after next: once summed up, entry s + 1 is where
        // strip s begins, and once the strip is filled, where it ends.
        starts.fill(0);
        for (k, strip) in strip_of.iter_mut().enumerate() {
            if let Some(span) = columns(first + k) {
                let s = span.first >> shift;
                *strip = s as u16;
                if s + 2 <= self.count {
                    starts[s + 2] += 1;
                }
            }
        }
        for s in 1..starts.len() {
            starts[s] += starts[s - 1];
        }
        for (k, &strip) in strip_of.iter().enumerate() {
            if strip == NOWHERE {
                continue;
            }
            let at = &mut starts[strip as usize + 1];
            records[*at as usize] = match footprint(first + k) {
                Some(footprint) => Record::new(&footprint),
                // Above or below the die: a record that adds nothing.
                None => {
                    Record { column: (strip as usize * self.columns) as u16, ..Record::default() }
                }
            };
            *at += 1;
        }
    }

    /// Adds to strip `s` its records of every chunk, in order.
    #[inline(never)]
    pub(super) fn fill(&self, s: usize, work: &mut [f64], records: &[Record], starts: &[u32]) {
        let first = s * self.columns;
        for (chunk, starts) in records.chunks(CHUNK).zip(starts.chunks(self.count + 1)) {
            for record in &chunk[starts[s] as usize..starts[s + 1] as usize] {
                record.add(work, record.column as usize - first, self.ny);
            }
        }
    }
}

impl Record {
    #[inline(always)]
    pub(super) fn new(footprint: &Footprint) -> Self {
        let (x, y) = (&footprint.x, &footprint.y);
        Record {
            column: x.first as u16,
            columns: (x.last - x.first) as u16,
            row: y.first as u16,
            rows: (y.last - y.first) as u16,
            left: x.head,
            right: x.tail,
            bottom: y.head,
            top: y.tail,
            weight: footprint.weight,
        }
    }

    /// Adds the body to a strip that all of it fits, its first column
    /// being the strip's `column`-th.
    #[inline(always)]
    fn add(&self, strip: &mut [f64], column: usize, ny: usize) {
        let (columns, rows, row) = (self.columns as usize, self.rows as usize, self.row as usize);
        let start = column * ny + row;
        // Most bodies cover 2 or 3 columns and rows. Adding a window of set size,
        // zeros where the body does not reach, has no branch to mispredict.
        if columns < 3 && rows < 4 && row + 4 <= ny {
            let across = window::<3>(columns, self.left, self.right);
            let up = window::<4>(rows, self.bottom, self.top);
            for (k, of_column) in across.into_iter().enumerate() {
                let of_column = of_column * self.weight;
                let bins = &mut strip[start + k * ny..][..4];
                for (bin, of_row) in bins.iter_mut().zip(up) {
                    *bin += of_column * of_row;
                }
            }
        } else {
            for k in 0..=columns {
                self.add_column(&mut strip[start + k * ny..][..=rows], k);
            }
        }
    }

    /// Adds what a wide body has in `owned`, the columns of one strip.
    pub(super) fn add_part(&self, strip: &mut [f64], owned: Range<usize>, ny: usize) {
        let (first, row) = (self.column as usize, self.row as usize);
        let end = (first + self.columns as usize + 1).min(owned.end);
        for i in first.max(owned.start)..end {
            let start = (i - owned.start) * ny + row;
            self.add_column(&mut strip[start..][..=self.rows as usize], i - first);
        }
    }

    /// Adds the body's `k`-th column to the bins it covers.
    fn add_column(&self, bins: &mut [f64], k: usize) {
        let of_column = match k {
            0 => self.left,
            k if k == self.columns as usize => self.right,
            _ => 1.0,
        } * self.weight;
        let (bottom, above) = bins.split_first_mut().expect("a footprint has a row at least");
        *bottom += of_column * self.bottom;
        if let Some((top, middle)) = above.split_last_mut() {
            middle.iter_mut().for_each(|bin| *bin += of_column);
            *top += of_column * self.top;
        }
    }
}
