//! Any number of dimensions, factorised into rounds of fewer (Jiang, Gu and
//! Pan, §III-D).
//!
//! An array is seen as `[rest][last]`, where `last` are the axes of one round.
//! A round transforms the `rest` arrays of that shape, which lie one after the
//! other, and transposes to `[last][rest]`, so that the next round's axes come
//! last. After all rounds every axis is where it was.

use super::plan1d::Plan1d;
use super::plan2d::Plan2d;
use super::plan3d::Plan3d;
use crate::cpu::lines::transpose;
use crate::cpu::modify::Unchanged;
use crate::cpu::scratch::{Parts, Scratch, ScratchLen};
use crate::memory::reals_mut;
use crate::real::Real;
use crate::transform::{
    Algorithm1d, LengthError, Method, Plan2dOptions, Sample, ShapeError, Transform, Transform1d,
    TransformNd, check_length, check_shape,
};

/// A plan for transforms of `batch` arrays of one or more dimensions, the last axis contiguous.
///
/// The fused method takes two axes at a time and three where one would be left
/// over (four dimensions are two rounds of two); row-column takes one.
pub struct PlanNd<T: Real> {
    kind: TransformNd,
    shape: Vec<usize>,
    batch: usize,
    method: Method,
    rounds: Rounds<T>,
}

impl<T: Real> PlanNd<T> {
    /// Plans `kind` of `batch` arrays of `shape`, slowest axis first.
    ///
    /// # Errors
    /// When there is no axis, a size or the batch is zero, or they are beyond any memory.
    pub fn new(
        kind: TransformNd,
        shape: &[usize],
        method: Method,
        batch: usize,
    ) -> Result<Self, ShapeError> {
        check_shape(shape, batch)?;
        let rounds = Rounds::new(kind, shape, method, batch)?;
        Ok(PlanNd { kind, shape: shape.to_vec(), batch, method, rounds })
    }

    /// The transform.
    pub fn kind(&self) -> TransformNd {
        self.kind
    }

    /// Sizes, slowest axis first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of arrays.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// How it computes.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Dimensions of every round, in the order they are taken, last axes first.
    pub fn rounds(&self) -> Vec<usize> {
        self.rounds.rounds.iter().map(Round::dimensions).collect()
    }

    /// Working memory of a call.
    pub fn scratch_len(&self) -> ScratchLen {
        self.rounds.scratch_len()
    }

    /// Working memory for the pool this is called in.
    pub fn make_scratch(&self) -> Scratch<T> {
        Scratch::new(self.scratch_len(), rayon::current_num_threads())
    }

    /// `output = kind(input)`, both `batch` times the shape.
    ///
    /// # Errors
    /// When a slice has another length, or `scratch` is smaller than [`PlanNd::scratch_len`].
    pub fn process<S: Sample>(
        &self,
        input: &[S],
        output: &mut [T],
        scratch: &mut Scratch<T>,
    ) -> Result<(), LengthError> {
        let values = self.rounds.values;
        check_length("input", values, input.len())?;
        check_length("output", values, output.len())?;
        let mut s = scratch.parts(self.scratch_len())?;
        self.rounds.run(input, output, &mut s);
        Ok(())
    }
}

/// The rounds, first the one of the last axes.
pub(super) struct Rounds<T: Real> {
    /// Values in all.
    values: usize,
    batch: usize,
    rounds: Vec<Round<T>>,
}

/// A plan over all arrays of one round.
enum Round<T: Real> {
    Lines(Plan1d<T>),
    Maps(Plan2d<T>),
    Volumes(Plan3d<T>),
}

impl<T: Real> Rounds<T> {
    pub(super) fn new(
        kind: TransformNd,
        shape: &[usize],
        method: Method,
        batch: usize,
    ) -> Result<Self, ShapeError> {
        let values = check_shape(shape, batch)?;
        let (line, map) = match kind {
            TransformNd::Dct => (Transform1d::Dct, Transform::Dct),
            TransformNd::Idct => (Transform1d::Idct, Transform::Idct),
        };
        let options = Plan2dOptions { method, ..Plan2dOptions::default() };
        let mut rounds = Vec::new();
        let mut axes = shape;
        while !axes.is_empty() {
            let count = match (method, axes.len()) {
                (Method::RowColumn, _) => 1,
                (Method::Fused, 1 | 3) => axes.len(),
                (Method::Fused, _) => 2,
            };
            let (rest, last) = axes.split_at(axes.len() - count);
            let arrays = values / last.iter().product::<usize>();
            rounds.push(match *last {
                [n] => Round::Lines(Plan1d::new(line, n, arrays, Algorithm1d::default())?),
                [nx, ny] => Round::Maps(Plan2d::new(map, nx, ny, options, arrays)?),
                [n0, n1, n2] => Round::Volumes(Plan3d::new(kind, [n0, n1, n2], method, arrays)?),
                _ => unreachable!("a round has one to three axes"),
            });
            axes = rest;
        }
        Ok(Rounds { values, batch, rounds })
    }

    /// Two arrays between rounds, if there are several, and what a round works in.
    pub(super) fn scratch_len(&self) -> ScratchLen {
        let of_rounds = self.rounds.iter().map(Round::scratch_len);
        let mut len = of_rounds.fold(ScratchLen::default(), ScratchLen::max);
        len.shared += self.between();
        len
    }

    /// Complex numbers that hold the arrays between rounds.
    fn between(&self) -> usize {
        if self.rounds.len() > 1 { self.values } else { 0 }
    }

    pub(super) fn run<S: Sample>(&self, input: &[S], output: &mut [T], s: &mut Parts<'_, T>) {
        let (between, mut s) = s.split(self.between());
        let (first, later) = self.rounds.split_first().expect("there is an axis");
        if later.is_empty() {
            return first.run(input, output, &mut s);
        }
        let (transformed, turned) = reals_mut(between).split_at_mut(self.values);
        first.run(input, transformed, &mut s);
        for (round, next) in self.rounds.iter().zip(later) {
            self.turn(round, transformed, turned);
            next.run(turned, transformed, &mut s);
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
    fn dimensions(&self) -> usize {
        match self {
            Round::Lines(_) => 1,
            Round::Maps(_) => 2,
            Round::Volumes(_) => 3,
        }
    }

    /// Values of one array.
    fn size(&self) -> usize {
        match self {
            Round::Lines(plan) => plan.n(),
            Round::Maps(plan) => plan.shape().iter().product(),
            Round::Volumes(plan) => plan.shape().iter().product(),
        }
    }

    fn scratch_len(&self) -> ScratchLen {
        match self {
            Round::Lines(plan) => plan.scratch_len(),
            Round::Maps(plan) => plan.scratch_len(),
            Round::Volumes(plan) => plan.scratch_len(),
        }
    }

    fn run<S: Sample>(&self, input: &[S], output: &mut [T], s: &mut Parts<'_, T>) {
        match self {
            Round::Lines(plan) => plan.run(input, output, s),
            Round::Maps(plan) => plan.run(input, &Unchanged, output, s),
            Round::Volumes(plan) => plan.run(input, output, s),
        }
    }
}
