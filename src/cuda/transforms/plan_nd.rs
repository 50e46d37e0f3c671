//! Transforms of any number of dimensions, by lines or by rounds of 2-D and 3-D ones (Jiang et
//! al., on higher dimensions): along the last axes, a transpose that brings the
//! axes before them to the end, and so on, until the array lies as it did.

use super::check_shape;
use super::plan1d::Plan1d;
use super::plan2d::Plan2d;
use super::plan3d::Plan3d;
use crate::cuda::device::{CudaError, CudaReal, DeviceVec, Gpu, Input, check_length};
use crate::cuda::fft::Transpose;
use crate::cuda::lines::{Direction, LineTransform};
use crate::transform::{Algorithm1d, Method, Plan2dOptions, Transform, Transform1d, TransformNd};

/// A plan for a batch of arrays of one or more dimensions in precision `T`, the
/// last axis contiguous; its input holds values of type `I`.
///
/// By lines every axis is a pass. Else two axes are taken at a time, and three where one would
/// be left over.
pub struct PlanNd<T: CudaReal, I: Input<T> = T> {
    kind: TransformNd,
    shape: Vec<usize>,
    batch: usize,
    method: Method,
    first: AnyPlan<T, I>,
    others: Vec<AnyPlan<T>>,
    /// After each round, where there is more than one: from `[others][taken]` to
    /// `[taken][others]`.
    transposes: Vec<Transpose<T>>,
    between: [DeviceVec<T>; 2],
}

/// A round.
enum AnyPlan<T: CudaReal, I: Input<T> = T> {
    One(Plan1d<T, I>),
    Two(Plan2d<T, I>),
    Three(Plan3d<T, I>),
    /// All axes by kernels of our own.
    Lines(LineTransform<T>),
}

impl<T: CudaReal, I: Input<T>> AnyPlan<T, I> {
    fn new(
        gpu: &Gpu,
        kind: TransformNd,
        axes: &[usize],
        method: Method,
        batch: usize,
    ) -> Result<Self, CudaError> {
        let (line, map) = match kind {
            TransformNd::Dct => (Transform1d::Dct, Transform::Dct),
            TransformNd::Idct => (Transform1d::Idct, Transform::Idct),
        };
        Ok(match *axes {
            [n] => {
                let algorithm = match method {
                    Method::Fastest => Algorithm1d::Fastest,
                    _ => Algorithm1d::NPoint,
                };
                AnyPlan::One(Plan1d::batched(gpu, line, n, algorithm, batch)?)
            }
            [nx, ny] => {
                let options = Plan2dOptions { method, ..Plan2dOptions::default() };
                AnyPlan::Two(Plan2d::batched(gpu, map, nx, ny, options, batch)?)
            }
            [l, m, n] => AnyPlan::Three(Plan3d::batched(gpu, kind, [l, m, n], method, batch)?),
            _ => unreachable!("a round takes one to three axes"),
        })
    }

    fn run(&mut self, input: &DeviceVec<I>, output: &mut DeviceVec<T>) -> Result<(), CudaError> {
        match self {
            AnyPlan::One(plan) => plan.run(input, output),
            AnyPlan::Two(plan) => plan.run(input, output),
            AnyPlan::Three(plan) => plan.run(input, output),
            AnyPlan::Lines(lines) => lines.run(input, output, None),
        }
    }
}

/// How many of the last axes every round takes, the last ones first.
fn rounds(axes: usize) -> Vec<usize> {
    match axes {
        0..=3 => vec![axes],
        _ if axes.is_multiple_of(2) => vec![2; axes / 2],
        _ => [vec![2; (axes - 3) / 2], vec![3]].concat(),
    }
}

impl<T: CudaReal, I: Input<T>> PlanNd<T, I> {
    /// A plan for one array of `shape`, slowest axis first, by the default method.
    ///
    /// # Errors
    /// As [`PlanNd::batched`].
    pub fn new(gpu: &Gpu, kind: TransformNd, shape: &[usize]) -> Result<Self, CudaError> {
        Self::batched(gpu, kind, shape, Method::default(), 1)
    }

    /// A plan for `batch` arrays of `shape`, slowest axis first, one after the other
    /// in memory.
    ///
    /// # Errors
    /// As [`Plan2d::batched`], whose batches are products of all other lengths.
    pub fn batched(
        gpu: &Gpu,
        kind: TransformNd,
        shape: &[usize],
        method: Method,
        batch: usize,
    ) -> Result<Self, CudaError> {
        check_shape(shape, batch)?;
        let each: usize = shape.iter().product();
        let lines = match method {
            Method::Fastest => LineTransform::new::<I>(gpu, Direction::of(kind), shape, batch)?,
            _ => None,
        };
        if let Some(lines) = lines {
            return Ok(PlanNd {
                kind,
                shape: shape.to_vec(),
                batch,
                method,
                first: AnyPlan::Lines(lines),
                others: Vec::new(),
                transposes: Vec::new(),
                between: [gpu.zeros(0)?, gpu.zeros(0)?],
            });
        }
        let module = gpu.kernels::<T>("transforms_1d")?;
        let rounds = rounds(shape.len());
        let mut end = shape.len();
        let mut axes = rounds.iter().map(|taken| {
            let begin = end - taken;
            let axes = &shape[begin..end];
            end = begin;
            (axes, each / axes.iter().product::<usize>())
        });
        let (last_axes, rest) = axes.next().expect("a shape has an axis");
        let first = AnyPlan::new(gpu, kind, last_axes, method, batch * rest)?;
        let mut transposes = Vec::new();
        let mut others = Vec::new();
        let transpose = |rest: usize| Transpose::new(gpu, &module, batch, (rest, each / rest));
        if rounds.len() > 1 {
            transposes.push(transpose(rest)?);
            for (axes, rest) in axes {
                others.push(AnyPlan::new(gpu, kind, axes, method, batch * rest)?);
                transposes.push(transpose(rest)?);
            }
        }
        let room = if rounds.len() > 1 { batch * each } else { 0 };
        Ok(PlanNd {
            kind,
            shape: shape.to_vec(),
            batch,
            method,
            first,
            others,
            transposes,
            between: [gpu.zeros(room)?, gpu.zeros(room)?],
        })
    }

    /// The transform.
    pub fn kind(&self) -> TransformNd {
        self.kind
    }

    /// Lengths, slowest axis first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of arrays.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// How rounds are composed.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Enqueues the transform of every array.
    ///
    /// # Errors
    /// When a buffer has the wrong length or a launch fails.
    pub fn run(
        &mut self,
        input: &DeviceVec<I>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        let values = self.batch * self.shape.iter().product::<usize>();
        check_length("array to transform", input.len(), values)?;
        check_length("transformed array", output.len(), values)?;
        let [one, other] = &mut self.between;
        let Some((last, transposes)) = self.transposes.split_last() else {
            return self.first.run(input, output);
        };
        self.first.run(input, one)?;
        for (transpose, plan) in transposes.iter().zip(&mut self.others) {
            transpose.run(one, other, None)?;
            plan.run(other, one)?;
        }
        last.run(one, output, None)
    }
}

#[cfg(test)]
mod tests {
    use super::rounds;

    #[test]
    fn every_axis_is_taken_once_and_none_is_left_alone() {
        assert_eq!([rounds(1), rounds(2), rounds(3)], [[1], [2], [3]]);
        for axes in 4..12 {
            let rounds = rounds(axes);
            assert_eq!(rounds.iter().sum::<usize>(), axes);
            assert!(rounds.iter().all(|&taken| taken == 2 || taken == 3));
        }
    }
}
