//! One type of plan for every transform: lines, maps, volumes and arrays of more axes.

use super::{Stage, check_shape};
use crate::cuda::device::bindings::fft::Kept;
use crate::cuda::device::{
    CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Function, Gpu, Input, KernelUse,
    WIDEST, check_aligned, check_length,
};
use crate::cuda::fft::{Rounds, Sines, Threshold, TransformSpec};
use crate::cuda::lines::{Arrays, LineTransform};
use crate::transform::variants::{PostProcessing, Reorder};
use crate::transform::{Method, Transform, Transform1d, TransformNd};
use std::marker::PhantomData;

/// The method of a [`Plan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Path {
    /// One pass along each axis, with all steps before and after a line's FFT done in registers: 2
    /// values read or written for each value and axis.
    Lines,
    /// Pre-processing, one real FFT of all axes by cuFFT, post-processing. More than three axes are
    /// transformed two or three at a time, with transposes between.
    Fused,
    /// One axis at a time, with transposes between: four passes along each axis.
    RowColumn,
}

/// A plan for a batch of arrays in precision `T`; its input holds values of type `I`.
pub struct Plan<T: CudaReal, I: Input<T> = T> {
    gpu: Gpu,
    forward: bool,
    shape: Vec<usize>,
    batch: usize,
    implementation: Implementation<T>,
    /// The counter of a plan that is ready for thresholds.
    counter: Option<DeviceVec<Kept>>,
    of: PhantomData<fn(I)>,
}

enum Implementation<T: CudaReal> {
    Lines(Box<LineTransform<T>>),
    /// The rounds, and the sines of every round.
    Rounds(Box<Rounds<T>>, Vec<Sines>),
}

/// Returns the number of axes of every round, the last axes first.
fn rounds(method: Method, axes: usize) -> Vec<usize> {
    match axes {
        _ if method == Method::RowColumn => vec![1; axes],
        0..=3 => vec![axes],
        _ if axes.is_multiple_of(2) => vec![2; axes / 2],
        _ => [vec![2; (axes - 3) / 2], vec![3]].concat(),
    }
}

impl<T: CudaReal, I: Input<T>> Plan<T, I> {
    /// Returns a plan for `batch` lines of `n` values, one after the other in memory.
    /// [`Method::Fastest`] is [`Path::Lines`] if the device supports such lines. Otherwise it is
    /// one FFT of `n` values, as is any other method.
    ///
    /// # Errors
    /// See [`Plan::of_maps`].
    pub fn of_lines(
        gpu: &Gpu,
        kind: Transform1d,
        n: usize,
        method: Method,
        batch: usize,
    ) -> Result<Self, CudaError> {
        let (forward, sines) = (kind == Transform1d::Dct, &[kind == Transform1d::Idxst]);
        Self::any(gpu, &Arrays { forward, sines, shape: &[n], batch }, method)
    }

    /// Returns a plan for one map, by the fastest method.
    ///
    /// # Errors
    /// See [`Plan::of_maps`].
    pub fn of_map(gpu: &Gpu, kind: Transform, nx: usize, ny: usize) -> Result<Self, CudaError> {
        Self::of_maps(gpu, kind, nx, ny, Method::default(), 1)
    }

    /// Returns a plan for `batch` maps of `nx` × `ny` values, one after the other in memory.
    ///
    /// [`Method::Fastest`] is [`Path::Lines`] if both lengths are multiples of 4, have no prime
    /// factor above 5 and fit the device's shared memory. Otherwise it is [`Method::Fused`].
    ///
    /// # Errors
    /// [`CudaError::Shape`] for lengths or batches of zero or beyond any memory,
    /// [`CudaError::NoTransform`] for those beyond what cuFFT and a launch can take; else when
    /// kernels cannot be compiled, cuFFT refuses the lengths, or memory runs out.
    pub fn of_maps(
        gpu: &Gpu,
        kind: Transform,
        nx: usize,
        ny: usize,
        method: Method,
        batch: usize,
    ) -> Result<Self, CudaError> {
        let Sines { x, y } = Sines::of(kind);
        let forward = kind == Transform::Dct;
        Self::any(gpu, &Arrays { forward, sines: &[x, y], shape: &[nx, ny], batch }, method)
    }

    /// Returns a plan for `batch` arrays of `shape`, slowest axis first, one after the other in
    /// memory.
    ///
    /// # Errors
    /// See [`Plan::of_maps`]; [`CudaError::NoTransform`] also for an IDXST.
    pub fn of_arrays(
        gpu: &Gpu,
        kind: TransformNd,
        shape: &[usize],
        method: Method,
        batch: usize,
    ) -> Result<Self, CudaError> {
        if let TransformNd::Idxst(_) = kind {
            let reason = "expected a DCT or an IDCT, or an IDXST of lines or maps";
            return Err(CudaError::NoTransform { shape: shape.to_vec(), batch, reason });
        }
        let (forward, sines) = (kind == TransformNd::Dct, &vec![false; shape.len()]);
        Self::any(gpu, &Arrays { forward, sines, shape, batch }, method)
    }

    /// Returns a plan for the DCT of one map by the fused method, for the paper's tables.
    pub(crate) fn fused_dct(
        gpu: &Gpu,
        shape: [usize; 2],
        reorder: Reorder,
        post: PostProcessing,
    ) -> Result<Self, CudaError> {
        let arrays = Arrays { forward: true, sines: &[false; 2], shape: &shape, batch: 1 };
        Self::with_stages(gpu, &arrays, Method::Fused, reorder, post)
    }

    fn any(gpu: &Gpu, arrays: &Arrays<'_>, method: Method) -> Result<Self, CudaError> {
        Self::with_stages(gpu, arrays, method, Reorder::default(), PostProcessing::default())
    }

    fn with_stages(
        gpu: &Gpu,
        arrays: &Arrays<'_>,
        method: Method,
        reorder: Reorder,
        post: PostProcessing,
    ) -> Result<Self, CudaError> {
        let &Arrays { forward, sines, shape, batch } = arrays;
        check_shape(shape, batch)?;
        let lines = match method {
            Method::Fastest => LineTransform::new::<I>(gpu, arrays)?,
            _ => None,
        };
        let implementation = match lines {
            Some(lines) => Implementation::Lines(Box::new(lines)),
            None => {
                let (unit, input, directions) = ("transforms", I::TYPE, &[forward]);
                let spec = TransformSpec { unit, shape, batch, directions, reorder, post, input };
                let taken = rounds(method, shape.len());
                let rounds = Rounds::new(gpu, &spec, &taken, 1)?;
                let mut left = sines;
                let of_round = taken.iter().map(|&axes| {
                    let (rest, own) = left.split_at(left.len() - axes);
                    left = rest;
                    let sine = |before: usize| own.iter().rev().nth(before) == Some(&true);
                    Sines { x: sine(1), y: sine(0) }
                });
                Implementation::Rounds(Box::new(rounds), of_round.collect())
            }
        };
        let (gpu, shape, counter) = (gpu.clone(), shape.to_vec(), None);
        Ok(Plan { gpu, forward, shape, batch, implementation, counter, of: PhantomData })
    }

    /// Prepares a DCT's plan for [`Plan::run_thresholded`].
    ///
    /// # Errors
    /// [`CudaError::NotPlanned`] for an inverse; else when a kernel cannot be compiled.
    pub fn with_threshold(mut self) -> Result<Self, CudaError> {
        match &mut self.implementation {
            Implementation::Lines(lines) if self.forward => lines.prepare_threshold::<I>()?,
            Implementation::Rounds(..) if self.forward => {}
            _ => return Err(CudaError::NotPlanned { what: "a threshold", needs: "a DCT" }),
        }
        self.counter = Some(self.gpu.zeros(1)?);
        Ok(self)
    }

    /// Returns the lengths, slowest axis first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the number of arrays.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Returns the number of values of all arrays.
    fn values(&self) -> usize {
        self.batch * self.shape.iter().product::<usize>()
    }

    /// Returns the plan's method.
    pub fn path(&self) -> Path {
        match &self.implementation {
            Implementation::Lines(_) => Path::Lines,
            Implementation::Rounds(_, sines)
                if sines.len() == self.shape.len() && sines.len() > 1 =>
            {
                Path::RowColumn
            }
            Implementation::Rounds(..) => Path::Fused,
        }
    }

    /// Enqueues the transform of every array. Both buffers hold the values of all arrays.
    ///
    /// # Errors
    /// When a buffer has the wrong length or does not begin at a multiple of 16 bytes, or a launch
    /// fails.
    pub fn run<'a, 'b>(
        &mut self,
        input: impl Into<DeviceSlice<'a, I>>,
        output: impl Into<DeviceSliceMut<'b, T>>,
    ) -> Result<(), CudaError> {
        self.run_with(input.into(), output.into(), None)
    }

    /// Enqueues a DCT whose coefficients smaller in magnitude than `epsilon` become zero. The last
    /// kernel zeroes them as it writes, without an additional pass (Jiang et al., "Image
    /// Compression"). `kept`, one number, becomes the count of the others.
    ///
    /// # Errors
    /// [`CudaError::NotPlanned`] for a plan without [`Plan::with_threshold`]; else as
    /// [`Plan::run`].
    pub fn run_thresholded(
        &mut self,
        input: &DeviceVec<I>,
        epsilon: T,
        output: &mut DeviceVec<T>,
        kept: &mut DeviceVec<u64>,
    ) -> Result<(), CudaError> {
        check_length("count of kept coefficients", kept.len(), 1)?;
        let Some(mut parts) = self.counter.take() else {
            let needs = "a DCT's plan made ready by with_threshold";
            return Err(CudaError::NotPlanned { what: "a threshold", needs });
        };
        let threshold = Threshold { epsilon, kept, parts: &mut parts };
        let done = self.run_with(input.as_view(), output.as_view_mut(), Some(threshold));
        self.counter = Some(parts);
        done
    }

    fn run_with(
        &mut self,
        input: DeviceSlice<'_, I>,
        output: DeviceSliceMut<'_, T>,
        threshold: Option<Threshold<T>>,
    ) -> Result<(), CudaError> {
        self.check(input, output.as_view())?;
        match &mut self.implementation {
            Implementation::Lines(lines) => lines.run(input, output, threshold),
            Implementation::Rounds(rounds, _) if self.forward => {
                rounds.dct(input, output, threshold)
            }
            Implementation::Rounds(rounds, sines) => rounds.inverse(input, output, sines),
        }
    }

    /// Enqueues one stage of a transform through one FFT. Its input is the previous stage's output
    /// in the plan, or in `output` after the first stage of a DCT.
    ///
    /// # Errors
    /// [`CudaError::NotPlanned`] for a plan that does not consist of stages; else as [`Plan::run`].
    pub fn run_stage(
        &mut self,
        stage: Stage,
        input: &DeviceVec<I>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        self.check(input.as_view(), output.as_view())?;
        match &mut self.implementation {
            Implementation::Rounds(rounds, sines) if sines.len() == 1 => {
                let (input, output) = (input.as_view(), output.as_view_mut());
                rounds.stage((stage, self.forward), input, output, sines[0])
            }
            _ => {
                let needs = "a plan of one FFT";
                Err(CudaError::NotPlanned { what: "a single stage", needs })
            }
        }
    }

    fn check(
        &self,
        input: DeviceSlice<'_, I>,
        output: DeviceSlice<'_, T>,
    ) -> Result<(), CudaError> {
        check_length("array to transform", input.len(), self.values())?;
        check_length("transformed array", output.len(), self.values())?;
        check_aligned("array to transform", *input.address(), WIDEST)?;
        check_aligned("transformed array", *output.address(), WIDEST)
    }

    /// Returns the plan's own kernels in the order in which they run, without the FFTs.
    ///
    /// # Errors
    /// When the driver does not report it.
    pub fn kernels(&self) -> Result<Vec<KernelUse>, CudaError> {
        let map = self.values() * size_of::<T>();
        let of = |(kernel, bytes): (&Function, usize)| {
            KernelUse::of(&self.gpu, kernel.name, kernel, bytes)
        };
        match &self.implementation {
            Implementation::Lines(lines) => lines.uses(size_of::<I>()),
            Implementation::Rounds(rounds, sines) => {
                let read = self.values() * size_of::<I>();
                let spectra = rounds.rounds[0].half_spectra * size_of::<T::Complex>();
                let bytes = match (sines.len(), self.forward) {
                    (1, true) => vec![read + map, spectra + map],
                    (1, false) => vec![read + spectra, 2 * map],
                    (rounds, _) => vec![2 * map; 3 * rounds],
                };
                rounds.kernels(self.forward).into_iter().zip(bytes).map(of).collect()
            }
        }
    }
}
