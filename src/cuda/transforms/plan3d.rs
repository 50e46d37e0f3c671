//! 3-D transforms: by lines, row-column or fused (`kernels/transforms/transforms_3d.cu`).
//!
//! By lines there are three passes, of our own kernels, 6 values read or written for each.
//! Fused is one 3-D real FFT between a reordering along all axes and a
//! post-processing with four complex reads and eight real writes a thread (Jiang
//! et al., on higher dimensions); an inverse runs backwards. Row-column is four
//! passes along each axis, 24 values read or written for each.

use super::{Stage, check_grid, check_shape};
use crate::cuda::device::{
    CudaError, CudaReal, DeviceVec, Gpu, Input, Kernel, KernelUse, check_length, cover, stacked,
};
use crate::cuda::fft::{Maps, Passes, RealFft, Reordering, Sines, twiddles};
use crate::cuda::lines::{Direction, LineTransform};
use crate::transform::{Method, Reorder, TransformNd};
use std::marker::PhantomData;

/// A plan for a batch of volumes in precision `T`; its input holds
/// values of type `I`.
pub struct Plan3d<T: CudaReal, I: Input<T> = T> {
    gpu: Gpu,
    kind: TransformNd,
    shape: [usize; 3],
    batch: usize,
    method: Method,
    implementation: Implementation<T>,
    of: PhantomData<fn(I)>,
}

enum Implementation<T: CudaReal> {
    RowColumn(Box<Passes<T>>),
    Fused(Box<FusedStages<T>>),
    Lines(Box<LineTransform<T>>),
}

impl<T: CudaReal, I: Input<T>> Plan3d<T, I> {
    /// A plan for one volume of `shape`, slowest axis first, by the default method.
    ///
    /// # Errors
    /// As [`Plan3d::batched`].
    pub fn new(gpu: &Gpu, kind: TransformNd, shape: [usize; 3]) -> Result<Self, CudaError> {
        Self::batched(gpu, kind, shape, Method::default(), 1)
    }

    /// A plan for `batch` volumes, one after the other in memory.
    ///
    /// # Errors
    /// [`CudaError::Shape`] for lengths or batches of zero or beyond any memory,
    /// [`CudaError::NoTransform`] for those beyond what cuFFT and a launch can
    /// take; else when kernels cannot be compiled, cuFFT refuses the lengths, or
    /// memory runs out.
    pub fn batched(
        gpu: &Gpu,
        kind: TransformNd,
        shape: [usize; 3],
        method: Method,
        batch: usize,
    ) -> Result<Self, CudaError> {
        check_shape(&shape, batch)?;
        let lines = match method {
            Method::Fastest => LineTransform::new::<I>(gpu, Direction::of(kind), &shape, batch)?,
            _ => None,
        };
        let implementation = match (lines, method) {
            (Some(lines), _) => Implementation::Lines(Box::new(lines)),
            (None, Method::RowColumn) => {
                let (unit, how) = ("transforms_1d", Reorder::Wide);
                let passes = Passes::new(gpu, unit, &shape, batch, how, I::TYPE)?;
                Implementation::RowColumn(Box::new(passes))
            }
            (None, _) => {
                let fused = FusedStages::new(gpu, kind, shape, batch, I::TYPE)?;
                Implementation::Fused(Box::new(fused))
            }
        };
        Ok(Plan3d { gpu: gpu.clone(), kind, shape, batch, method, implementation, of: PhantomData })
    }

    /// What it transforms to.
    pub fn kind(&self) -> TransformNd {
        self.kind
    }

    /// Lengths, slowest axis first.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Number of volumes.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// How it was asked to compute.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Values of all volumes.
    fn values(&self) -> usize {
        self.batch * self.shape.iter().product::<usize>()
    }

    /// Enqueues the transform of every volume.
    ///
    /// # Errors
    /// When a buffer has the wrong length or a launch fails.
    pub fn run(
        &mut self,
        input: &DeviceVec<I>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        check_length("volume to transform", input.len(), self.values())?;
        check_length("transformed volume", output.len(), self.values())?;
        match (&mut self.implementation, self.kind) {
            (Implementation::RowColumn(passes), TransformNd::Dct) => {
                passes.dct(input, output, None)
            }
            (Implementation::RowColumn(passes), TransformNd::Idct) => {
                passes.pre(input, false)?;
                passes.inverse(&[false; 3], output)
            }
            (Implementation::Lines(lines), _) => lines.run(input, output, None),
            (Implementation::Fused(fused), _) => {
                Stage::ALL.into_iter().try_for_each(|stage| fused.run(stage, input, output))
            }
        }
    }

    /// Enqueues one stage of a fused transform on what the one before it left in
    /// the plan, or for a DCT, whose first stage leaves it there, in `output`.
    ///
    /// # Errors
    /// [`CudaError::NotPlanned`] for a plan that is not made of stages; else as [`Plan3d::run`].
    pub fn run_stage(
        &mut self,
        stage: Stage,
        input: &DeviceVec<I>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        check_length("volume to transform", input.len(), self.values())?;
        check_length("transformed volume", output.len(), self.values())?;
        match &mut self.implementation {
            Implementation::Fused(fused) => fused.run(stage, input, output),
            _ => Err(CudaError::NotPlanned { what: "a single stage", needs: "a fused plan" }),
        }
    }

    /// The plan's own kernels in the order in which they run, the FFTs left out.
    ///
    /// # Errors
    /// When the driver refuses to say.
    pub fn kernels(&self) -> Result<Vec<KernelUse>, CudaError> {
        let forward = self.kind == TransformNd::Dct;
        let volumes = self.values() * size_of::<T>();
        let one =
            |(kernel, bytes): (&Kernel, usize)| KernelUse::of_kernel(&self.gpu, kernel, bytes);
        match &self.implementation {
            Implementation::RowColumn(passes) => {
                let kernels = passes.kernels(forward).into_iter();
                kernels.map(|kernel| one((kernel, 2 * volumes))).collect()
            }
            Implementation::Lines(lines) => lines.uses(size_of::<I>()),
            Implementation::Fused(fused) => {
                let read = self.values() * size_of::<I>();
                let spectra = fused.spectra.len() * size_of::<T::Complex>();
                let bytes = match forward {
                    true => [read + volumes, spectra + volumes],
                    false => [read + spectra, 2 * volumes],
                };
                fused.kernels().into_iter().zip(bytes).map(one).collect()
            }
        }
    }
}

/// A fused transform's three stages.
struct FusedStages<T: CudaReal> {
    gpu: Gpu,
    kind: TransformNd,
    /// Lengths, slowest axis first, and e^{-jπk/2N} of each.
    shape: [u32; 3],
    twiddles: [DeviceVec<T::Complex>; 3],
    values: usize,
    reordering: Reordering<T>,
    fft: RealFft<T>,
    /// dct3_post or idct3_pre.
    turn: Kernel,
    spectra: DeviceVec<T::Complex>,
    /// What an inverse FFT leaves. (A forward one reads from the output.)
    reordered: Option<DeviceVec<T>>,
    input: &'static str,
}

impl<T: CudaReal> FusedStages<T> {
    fn new(
        gpu: &Gpu,
        kind: TransformNd,
        shape: [usize; 3],
        batch: usize,
        input: &'static str,
    ) -> Result<Self, CudaError> {
        let [l, m, n] = shape;
        let forward = kind == TransformNd::Dct;
        let values = batch * l * m * n;
        let module = gpu.kernels_reading::<T>(input, "transforms_3d")?;
        let maps = Maps { count: batch * l, depth: l, rows: m, cols: n };
        // One thread for eight elements.
        let config = stacked(cover(128, (n / 2 + 1, m / 2 + 1)), batch * (l / 2 + 1));
        check_grid(&shape, batch, batch * l, config.grid_dim.1 as usize)?;
        let name = if forward { "dct3_post" } else { "idct3_pre" };
        Ok(FusedStages {
            gpu: gpu.clone(),
            kind,
            shape: shape.map(|n| n as u32),
            twiddles: [twiddles::<T>(gpu, l)?, twiddles::<T>(gpu, m)?, twiddles::<T>(gpu, n)?],
            values,
            reordering: Reordering::new(gpu, &module, Reorder::Wide, maps, true, input)?,
            fft: RealFft::new(gpu, forward, &shape, batch)?,
            turn: Kernel::new(&module, name, config)?,
            spectra: gpu.zeros(batch * l * m * (n / 2 + 1))?,
            reordered: if forward { None } else { Some(gpu.zeros(values)?) },
            input,
        })
    }

    /// The kernels before and after the FFT.
    fn kernels(&self) -> [&Kernel; 2] {
        match self.kind {
            TransformNd::Dct => [self.reordering.reorder_kernel(), &self.turn],
            TransformNd::Idct => [&self.turn, self.reordering.restore_kernel()],
        }
    }

    fn run<I: Input<T>>(
        &mut self,
        stage: Stage,
        input: &DeviceVec<I>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        match (stage, &mut self.reordered) {
            (Stage::Pre, None) => self.reordering.reorder(input, output.as_view_mut()),
            (Stage::Fft, None) => self.fft.run(output, &mut self.spectra),
            (Stage::Post, None) => self.post(output),
            (Stage::Pre, Some(_)) => self.pre(input),
            (Stage::Fft, Some(reordered)) => self.fft.run(reordered, &mut self.spectra),
            (Stage::Post, Some(reordered)) => {
                self.reordering.restore(reordered, [output], [Sines::default()])
            }
        }
    }

    fn post(&self, output: &mut DeviceVec<T>) -> Result<(), CudaError> {
        let ([l, m, n], [wl, wm, wn]) = (&self.shape, &self.twiddles);
        assert_eq!(output.len(), self.values);
        // SAFETY: the types are those of dct3_post in kernels/transforms/transforms_3d.cu;
        // the spectra were made for this shape and batch, the output's length is
        // asserted, and the tables hold at least l, m and n elements.
        unsafe { self.turn.launch(&self.gpu, &[&self.spectra, output, l, m, n, wl, wm, wn]) }
    }

    fn pre<I: Input<T>>(&mut self, input: &DeviceVec<I>) -> Result<(), CudaError> {
        let ([l, m, n], [wl, wm, wn]) = (&self.shape, &self.twiddles);
        assert!(input.len() == self.values && I::TYPE == self.input);
        // SAFETY: the types are those of idct3_pre in kernels/transforms/transforms_3d.cu,
        // `input` of the type it was chosen for; lengths as above.
        unsafe { self.turn.launch(&self.gpu, &[input, &self.spectra, l, m, n, wl, wm, wn]) }
    }
}
