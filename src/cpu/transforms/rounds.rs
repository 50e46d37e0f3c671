//! Arrays of any number of dimensions, factorised into rounds of one to three
//! (Jiang, Gu and Pan, §III-D).
//!
//! An array is seen as `[rest][last]`, where `last` are the axes of one round.
//! A round transforms the `rest` arrays of that shape, which lie one after the
//! other, and transposes to `[last][rest]`, so that the next round's axes come
//! last. After all rounds every axis is where it was.

use super::coefficients::Threshold;
use super::lines::{Lines, transpose};
use super::maps::MapBatch;
use super::scratch::{Parts, ScratchLen};
use super::volume::VolumeTransform;
use crate::memory::reals_mut;
use crate::real::Real;
use crate::transform::{InputElement, Method, Transform, Transform1d, TransformNd};

/// The rounds of a batch of arrays, first the one of the last axes.
pub(super) struct Rounds<T: Real> {
    kind: TransformNd,
    /// Values in all.
    values: usize,
    batch: usize,
    rounds: Vec<Round<T>>,
}

/// The transform of all arrays of one round.
enum Round<T: Real> {
    Lines(Transform1d, Lines<T>),
    Maps(MapBatch<T>),
    Volumes(VolumeTransform<T>),
}

impl<T: Real> Rounds<T> {
    /// Plans the rounds of `batch` arrays of `shape`, both checked.
    pub(super) fn new(kind: TransformNd, shape: &[usize], method: Method, batch: usize) -> Self {
        let values = batch * shape.iter().product::<usize>();
        let (line, map) = match kind {
            TransformNd::Dct => (Transform1d::Dct, Transform::Dct),
            TransformNd::Idct => (Transform1d::Idct, Transform::Idct),
        };
        let mut rounds = Vec::new();
        let mut axes = shape;
        while !axes.is_empty() {
            let count = match (method, axes.len()) {
                (Method::RowColumn, _) => 1,
                (_, 1 | 3) => axes.len(),
                (_, _) => 2,
            };
            let (rest, last) = axes.split_at(axes.len() - count);
            let arrays = values / last.iter().product::<usize>();
            rounds.push(match *last {
                [n] => Round::Lines(line, Lines::new(n, line.into())),
                [nx, ny] => Round::Maps(MapBatch::new(map, [nx, ny], method, arrays)),
                [n0, n1, n2] => Round::Volumes(VolumeTransform::new([n0, n1, n2])),
                _ => unreachable!("a round has one to three axes"),
            });
            axes = rest;
        }
        Rounds { kind, values, batch, rounds }
    }

    /// Returns the number of values in all.
    pub(super) fn values(&self) -> usize {
        self.values
    }

    /// Dimensions of every round, in the order they are taken.
    pub(super) fn dimensions(&self) -> impl Iterator<Item = usize> {
        self.rounds.iter().map(|round| match round {
            Round::Lines(..) => 1,
            Round::Maps(_) => 2,
            Round::Volumes(_) => 3,
        })
    }

    /// Returns two arrays between rounds, if there are several, and the memory a round works in.
    pub(super) fn scratch_len(&self) -> ScratchLen {
        let of_rounds = self.rounds.iter().map(Round::scratch_len);
        let mut len = of_rounds.fold(ScratchLen::default(), ScratchLen::max);
        len.shared += self.between();
        len
    }

    /// Returns the number of complex numbers that hold the arrays between rounds.
    fn between(&self) -> usize {
        if self.rounds.len() > 1 { self.values } else { 0 }
    }

    pub(super) fn run<S: InputElement>(&self, input: &[S], output: &mut [T], s: &mut Parts<'_, T>) {
        let (between, mut s) = s.split(self.between());
        let (first, later) = self.rounds.split_first().expect("there is an axis");
        if later.is_empty() {
            return first.run(self.kind, input, output, &mut s);
        }
        let (transformed, turned) = reals_mut(between).split_at_mut(self.values);
        first.run(self.kind, input, transformed, &mut s);
        for (round, next) in self.rounds.iter().zip(later) {
            self.turn(round, transformed, turned);
            next.run(self.kind, turned, transformed, &mut s);
        }
        self.turn(&self.rounds[later.len()], transformed, output);
    }

    /// `[rest][last]` of every array of the batch to `[last][rest]`.
    fn turn(&self, round: &Round<T>, x: &[T], out: &mut [T]) {
        let last = round.size();
        transpose(x, self.values / self.batch / last, last, out);
    }
}

impl<T: Real> Round<T> {
    /// Returns the number of values of one array.
    fn size(&self) -> usize {
        match self {
            Round::Lines(_, lines) => lines.n(),
            Round::Maps(maps) => maps.size(),
            Round::Volumes(volumes) => volumes.size(),
        }
    }

    fn scratch_len(&self) -> ScratchLen {
        match self {
            Round::Lines(_, lines) => ScratchLen { shared: 0, per_thread: lines.scratch_len() },
            Round::Maps(maps) => maps.scratch_len(),
            Round::Volumes(volumes) => volumes.scratch_len(),
        }
    }

    fn run<S: InputElement>(
        &self,
        kind: TransformNd,
        input: &[S],
        output: &mut [T],
        s: &mut Parts<'_, T>,
    ) {
        match self {
            Round::Lines(kind, lines) => lines.run(*kind, input, output, s.threads),
            Round::Maps(maps) => maps.run(input, &Threshold::none(), output, s),
            Round::Volumes(volumes) => volumes.run(kind, input, output, s),
        }
    }
}
