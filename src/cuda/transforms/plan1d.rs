//! 1-D transforms by a real FFT of 4N, 2N or N values:
//! `kernels/transforms/transforms_1d.cu`.
//!
//! Jiang et al., algorithm "Four algorithms of 1D DCT via 1D FFT", without the 2
//! that its outputs have over the definitions. The inverses take the same steps
//! backwards. In values of a line, a transform moves 2N + 2L with its own kernels,
//! L the FFT's length, and its FFT at least 2L; that is why the N-point one is
//! fastest.
//!
//! [`Algorithm1d::Fastest`] is one pass by kernels of our own where they have such lines.

use super::{Stage, check_shape};
use crate::cuda::device::{
    CudaError, CudaReal, DeviceValue, DeviceVec, Gpu, Input, Kernel, KernelUse, check_length,
    cover_lines,
};
use crate::cuda::fft::{CufftLines, RealFft, Sines, share_work_area, twiddles};
use crate::cuda::lines::{Direction, LineTransform};
use crate::transform::{Algorithm1d, Reorder, Transform1d};
use cudarc::driver::CudaModule;
use std::marker::PhantomData;
use std::sync::Arc;

/// A plan for a batch of lines in precision `T`; its input holds
/// values of type `I`.
pub struct Plan1d<T: CudaReal, I: Input<T> = T> {
    gpu: Gpu,
    kind: Transform1d,
    algorithm: Algorithm1d,
    n: usize,
    batch: usize,
    implementation: Implementation<T>,
    /// The FFT's real side and its complex one.
    values: DeviceVec<T>,
    spectra: DeviceVec<T::Complex>,
    of: PhantomData<fn(I)>,
}

/// By kernels of our own, or by cuFFT: the N-point algorithm or one of the longer ones.
enum Implementation<T: CudaReal> {
    Short(Box<CufftLines<T>>),
    Lines(Box<LineTransform<T>>),
    Long(Box<Long<T>>),
}

impl<T: CudaReal, I: Input<T>> Plan1d<T, I> {
    /// A plan for one line of `n` values, by the fastest algorithm.
    ///
    /// # Errors
    /// As [`Plan1d::batched`].
    pub fn new(gpu: &Gpu, kind: Transform1d, n: usize) -> Result<Self, CudaError> {
        Self::batched(gpu, kind, n, Algorithm1d::default(), 1)
    }

    /// A plan for `batch` lines of `n` values, one after the other in memory.
    ///
    /// # Errors
    /// [`CudaError::Shape`] for lengths or batches of zero or beyond any memory,
    /// [`CudaError::NoTransform`] for those beyond what cuFFT counts; else when
    /// kernels cannot be compiled, cuFFT refuses the length, or memory runs out.
    pub fn batched(
        gpu: &Gpu,
        kind: Transform1d,
        n: usize,
        algorithm: Algorithm1d,
        batch: usize,
    ) -> Result<Self, CudaError> {
        check_shape(&[n], batch)?;
        let direction = match kind {
            Transform1d::Dct => Direction::Forward,
            Transform1d::Idct => Direction::Inverse { sines: &[false] },
            Transform1d::Idxst => Direction::Inverse { sines: &[true] },
        };
        let lines = match algorithm {
            Algorithm1d::Fastest => LineTransform::new::<I>(gpu, direction, &[n], batch)?,
            _ => None,
        };
        let by_cufft = || -> Result<_, CudaError> {
            let module = gpu.kernels_reading::<T>(I::TYPE, "transforms_1d")?;
            if matches!(algorithm, Algorithm1d::Fastest | Algorithm1d::NPoint) {
                let mut lines = CufftLines::new(gpu, &module, (batch, n), Reorder::Wide, I::TYPE)?;
                share_work_area(gpu, &mut lines.ffts())?;
                return Ok((Implementation::Short(Box::new(lines)), n));
            }
            let long = Long::new(gpu, &module, kind, (batch, n), algorithm, I::TYPE)?;
            let length = long.length as usize;
            Ok((Implementation::Long(Box::new(long)), length))
        };
        let (implementation, length) = match lines {
            Some(lines) => (Implementation::Lines(Box::new(lines)), 0),
            None => by_cufft()?,
        };
        Ok(Plan1d {
            gpu: gpu.clone(),
            kind,
            algorithm,
            n,
            batch,
            values: gpu.zeros(batch * length)?,
            spectra: gpu.zeros(if length > 0 { batch * (length / 2 + 1) } else { 0 })?,
            implementation,
            of: PhantomData,
        })
    }

    /// What it transforms to.
    pub fn kind(&self) -> Transform1d {
        self.kind
    }

    /// How.
    pub fn algorithm(&self) -> Algorithm1d {
        self.algorithm
    }

    /// Values in a line.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.n
    }

    /// Lines of one run.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Enqueues the transform of every line; both buffers hold `batch · n` values.
    ///
    /// # Errors
    /// When a buffer has the wrong length or a launch fails.
    pub fn run(
        &mut self,
        input: &DeviceVec<I>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        if let Implementation::Lines(lines) = &mut self.implementation {
            return lines.run(input, output, None);
        }
        Stage::ALL.into_iter().try_for_each(|stage| self.run_stage(stage, input, output))
    }

    /// Enqueues one stage on what the one before it left in the plan.
    ///
    /// # Errors
    /// [`CudaError::NotPlanned`] for a plan that is not made of stages; else as [`Plan1d::run`].
    pub fn run_stage(
        &mut self,
        stage: Stage,
        input: &DeviceVec<I>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        check_length("lines to transform", input.len(), self.batch * self.n)?;
        check_length("transformed lines", output.len(), self.batch * self.n)?;
        let Plan1d { kind, implementation, values, spectra, .. } = self;
        let sine = *kind == Transform1d::Idxst;
        let forward = *kind == Transform1d::Dct;
        match (implementation, stage, forward) {
            (Implementation::Short(lines), Stage::Pre, true) => {
                lines.reordering.reorder(input, values.as_view_mut())
            }
            (Implementation::Short(lines), Stage::Fft, true) => {
                lines.forward_fft.run(&*values, &mut *spectra)
            }
            (Implementation::Short(lines), Stage::Post, true) => lines.post(spectra, output),
            (Implementation::Short(lines), Stage::Pre, false) => lines.pre(input, spectra, sine),
            (Implementation::Short(lines), Stage::Fft, false) => {
                lines.inverse_fft.run(&mut *spectra, &mut *values)
            }
            (Implementation::Short(lines), Stage::Post, false) => {
                lines.reordering.restore(values, [output], [Sines { x: false, y: sine }])
            }
            (Implementation::Lines(_), ..) => Err(CudaError::NotPlanned {
                what: "a single stage",
                needs: "an algorithm of a chosen length",
            }),
            (Implementation::Long(long), Stage::Pre, true) => long.forward_pre(input, values),
            (Implementation::Long(long), Stage::Pre, false) => {
                long.inverse_pre(input, spectra, sine)
            }
            (Implementation::Long(long), Stage::Fft, _) => long.fft(values, spectra),
            (Implementation::Long(long), Stage::Post, true) => long.forward_post(spectra, output),
            (Implementation::Long(long), Stage::Post, false) => {
                long.inverse_post(values, output, sine)
            }
        }
    }

    /// The plan's own kernels, before and after the FFT.
    ///
    /// # Errors
    /// When the driver refuses to say.
    pub fn kernels(&self) -> Result<Vec<KernelUse>, CudaError> {
        let forward = self.kind == Transform1d::Dct;
        let [before, after] = match &self.implementation {
            Implementation::Lines(lines) => return lines.uses(size_of::<I>()),
            Implementation::Short(lines) if forward => {
                [lines.reordering.reorder_kernel(), &lines.dct_post]
            }
            Implementation::Short(lines) => [&lines.idct_pre, lines.reordering.restore_kernel()],
            Implementation::Long(long) => [&long.pre, &long.post],
        };
        let lines = self.batch * self.n;
        // What the kernels move on the FFT's side; a long transform's last one
        // takes only what it needs.
        let (real, complex) = (bytes_of(&self.values), bytes_of(&self.spectra));
        let needed = match (&self.implementation, forward) {
            (Implementation::Long(_), true) => lines * size_of::<T::Complex>(),
            (Implementation::Long(_), false) => lines * size_of::<T>(),
            (_, true) => complex,
            (_, false) => real,
        };
        let given = if forward { real } else { complex };
        Ok(vec![
            KernelUse::of_kernel(&self.gpu, before, lines * size_of::<I>() + given)?,
            KernelUse::of_kernel(&self.gpu, after, needed + lines * size_of::<T>())?,
        ])
    }
}

/// Bytes of a buffer.
fn bytes_of<E: DeviceValue>(buffer: &DeviceVec<E>) -> usize {
    buffer.len() * size_of::<E>()
}

/// The 4N- and 2N-point algorithms.
struct Long<T: CudaReal> {
    gpu: Gpu,
    algorithm: Algorithm1d,
    rows: u32,
    n: u32,
    /// Of the FFT.
    length: u32,
    twiddles: DeviceVec<T::Complex>,
    fft: RealFft<T>,
    pre: Kernel,
    post: Kernel,
    input: &'static str,
}

impl<T: CudaReal> Long<T> {
    fn new(
        gpu: &Gpu,
        module: &Arc<CudaModule>,
        kind: Transform1d,
        (rows, n): (usize, usize),
        algorithm: Algorithm1d,
        input: &'static str,
    ) -> Result<Self, CudaError> {
        let length = if algorithm == Algorithm1d::FourN { 4 * n } else { 2 * n };
        let forward = kind == Transform1d::Dct;
        let (pre, width, post) = match (forward, algorithm) {
            (true, Algorithm1d::FourN) => ("dct_pre_4n", 2 * n, "dct_post_long"),
            (true, Algorithm1d::PaddedTwoN) => ("dct_pre_padded", 2 * n, "dct_post_long"),
            (true, _) => ("dct_pre_mirrored", 2 * n, "dct_post_long"),
            (false, Algorithm1d::FourN) => ("idct_pre_4n", 2 * n + 1, "idct_post_long"),
            (false, _) => ("idct_pre_2n", n + 1, "idct_post_long"),
        };
        Ok(Long {
            gpu: gpu.clone(),
            algorithm,
            rows: rows as u32,
            n: n as u32,
            length: length as u32,
            twiddles: twiddles::<T>(gpu, n)?,
            fft: RealFft::new(gpu, forward, &[length], rows)?,
            pre: Kernel::new(module, pre, cover_lines(128, (width, rows)))?,
            post: Kernel::new(module, post, cover_lines(128, (n, rows)))?,
            input,
        })
    }

    fn fft(
        &mut self,
        values: &mut DeviceVec<T>,
        spectra: &mut DeviceVec<T::Complex>,
    ) -> Result<(), CudaError> {
        self.fft.run(values, spectra)
    }

    /// Values of all lines as they are, on the FFT's real side and on its complex one.
    fn sizes(&self) -> (usize, usize, usize) {
        let (rows, n, length) = (self.rows as usize, self.n as usize, self.length as usize);
        (rows * n, rows * length, rows * (length / 2 + 1))
    }

    fn forward_pre<I: Input<T>>(
        &self,
        input: &DeviceVec<I>,
        values: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        let (lines, real, _) = self.sizes();
        assert!(input.len() == lines && values.len() >= real && I::TYPE == self.input);
        let Long { gpu, rows, n, .. } = self;
        // SAFETY: the types are those of dct_pre_* in kernels/transforms/transforms_1d.cu,
        // `input` of the type it was chosen for; lengths are asserted.
        unsafe { self.pre.launch(gpu, &[input, values, rows, n]) }
    }

    fn forward_post(
        &self,
        spectra: &DeviceVec<T::Complex>,
        output: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        let (lines, _, complex) = self.sizes();
        assert!(output.len() == lines && spectra.len() >= complex);
        // The sum has every term twice in a mirrored line, and the 4N-point line
        // is placed so that nothing is left to turn.
        let (scale, turned) = match self.algorithm {
            Algorithm1d::FourN => (0.5, 0i32),
            Algorithm1d::MirroredTwoN => (0.5, 1),
            _ => (1.0, 1),
        };
        let (scale, half) = (T::of(scale), self.length / 2 + 1);
        let Long { gpu, rows, n, twiddles, post, .. } = self;
        // SAFETY: the types are those of dct_post_long in
        // kernels/transforms/transforms_1d.cu; lengths are asserted, the table holds n + 1
        // elements.
        unsafe { post.launch(gpu, &[spectra, output, rows, n, &half, twiddles, &scale, &turned]) }
    }

    fn inverse_pre<I: Input<T>>(
        &self,
        input: &DeviceVec<I>,
        spectra: &mut DeviceVec<T::Complex>,
        sine: bool,
    ) -> Result<(), CudaError> {
        let (lines, _, complex) = self.sizes();
        assert!(input.len() == lines && spectra.len() >= complex && I::TYPE == self.input);
        let Long { gpu, rows, n, twiddles, .. } = self;
        let sine = i32::from(sine);
        // SAFETY: the types are those of idct_pre_2n and idct_pre_4n in
        // kernels/transforms/transforms_1d.cu, `input` of the type it was chosen for;
        // lengths are asserted, the table holds n + 1 elements.
        unsafe { self.pre.launch(gpu, &[input, spectra, rows, n, twiddles, &sine]) }
    }

    fn inverse_post(
        &self,
        values: &DeviceVec<T>,
        output: &mut DeviceVec<T>,
        sine: bool,
    ) -> Result<(), CudaError> {
        let (lines, real, _) = self.sizes();
        assert!(output.len() == lines && values.len() >= real);
        let (step, first) = match self.algorithm {
            Algorithm1d::FourN => (2u32, 1u32),
            _ => (1, 0),
        };
        let Long { gpu, rows, n, length, post, .. } = self;
        let sine = i32::from(sine);
        // SAFETY: the types are those of idct_post_long in
        // kernels/transforms/transforms_1d.cu; lengths are asserted, and the last element
        // read of a row, step·(n-1) + first, is one of `length`.
        unsafe { post.launch(gpu, &[values, output, rows, n, length, &step, &first, &sine]) }
    }
}
