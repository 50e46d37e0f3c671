//! Transforms of one to three axes through one real FFT: `kernels/fft`, around cuFFT.
//!
//! A forward transform is a reordering, the FFT and a post-processing. An inverse is a
//! pre-processing, the FFT and a reordering (Jiang et al., algorithms 1 and 2, and on higher
//! dimensions). For each value, pre- and post-processing read or write 2 each. cuFFT reads or
//! writes 2 or more for each axis between them.

use super::cufft::RealFft;
use crate::cuda::device::bindings::fft::{
    DctPost, DctPostThreshold, IdctPre, Kept, ReorderScatter, RestoreScatter,
};
use crate::cuda::device::{
    Array, CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Function, Gpu, Input,
    Kernel, MOST_BLOCKS, WIDEST, check_aligned, check_length, cover_lines, fit, stacked,
};
use crate::cuda::lines::spectral;
use crate::transform::Transform;
use crate::transform::twiddle::quarter_wave;
use crate::transform::variants::{PostProcessing, Reorder};
use cudarc::driver::CudaModule;
use std::sync::Arc;

/// The stages of a transform through one FFT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Reordering of a forward transform; twiddling of an inverse one.
    Pre,
    /// The real FFT, by cuFFT. An inverse destroys its input: run it after [`Stage::Pre`] if values
    /// matter.
    Fft,
    /// Twiddling of a forward transform; reordering of an inverse one.
    Post,
}

impl Stage {
    /// All three stages, in order.
    pub const ALL: [Stage; 3] = [Stage::Pre, Stage::Fft, Stage::Post];

    /// Returns `pre`, `fft` or `post`.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Pre => "pre",
            Stage::Fft => "fft",
            Stage::Post => "post",
        }
    }
}

/// The axes of a map along which an inverse uses sines: it negates odd output rows (x) or columns
/// (y).
#[derive(Clone, Copy, Default)]
pub(crate) struct Sines {
    pub(crate) x: bool,
    pub(crate) y: bool,
}

impl Sines {
    /// Returns the sines of a 2-D transform.
    pub(crate) fn of(transform: Transform) -> Sines {
        Sines { x: transform == Transform::IdxstIdct, y: transform == Transform::IdctIdxst }
    }
}

/// The threshold for a DCT's coefficients: `kernels/fft/keep.cuh`. Coefficients smaller in
/// magnitude than `epsilon` become zero, and `kept`, one number, becomes the count of the others.
pub(crate) struct Threshold<'a, T> {
    pub(crate) epsilon: T,
    pub(crate) kept: &'a mut DeviceVec<u64>,
    pub(crate) parts: &'a mut DeviceVec<Kept>,
}

/// Returns e^{-jπk/2n} for k = 0…n, computed in `f64` and rounded once.
pub(crate) fn twiddles<T: CudaReal>(
    gpu: &Gpu,
    n: usize,
) -> Result<DeviceVec<T::Complex>, CudaError> {
    let table: Vec<T::Complex> =
        quarter_wave(n).into_iter().map(|w| T::complex(w.re, w.im)).collect();
    gpu.upload(&table)
}

/// The transforms that a plan is for, and how they are computed.
#[derive(Clone, Copy)]
pub(crate) struct TransformSpec<'a> {
    /// Kernel file that includes `fft/spectra.cuh`: `transforms`, or `spectral` for a solve.
    pub(crate) unit: &'a str,
    /// Lengths, slowest axis first.
    pub(crate) shape: &'a [usize],
    pub(crate) batch: usize,
    /// Forward, inverse, or both.
    pub(crate) directions: &'a [bool],
    pub(crate) reorder: Reorder,
    pub(crate) post: PostProcessing,
    /// The [`Input::TYPE`] of the first values read.
    pub(crate) input: &'static str,
}

/// A batch of transforms along one, two or three axes, forward, inverse or both ways.
pub(crate) struct FusedTransform<T: CudaReal> {
    pub(crate) gpu: Gpu,
    /// The number of axes that it transforms.
    pub(crate) rank: usize,
    pub(crate) module: Arc<CudaModule>,
    /// The lengths in the kernels' order, slowest axis first: `[1, lines, n]` for lines, `[1, m,
    /// n]` for maps.
    pub(crate) lengths: [u32; 3],
    /// e^{-jπk/2N} of each transformed axis.
    twiddles: [DeviceVec<T::Complex>; 3],
    /// Values of all arrays, and complex numbers of all spectra.
    pub(crate) values: usize,
    pub(crate) half_spectra: usize,
    /// Whether the spectra fit in the device's cache.
    cached: i32,
    /// `None` if it was not made for this direction.
    forward: Option<RealFft<T>>,
    inverse: Option<RealFft<T>>,
    reorder: Kernel<ReorderScatter<T>>,
    post: Kernel<DctPost<T>>,
    /// `post` with a threshold, for single transforms.
    threshold: Option<Kernel<DctPostThreshold<T>>>,
    pre: Kernel<IdctPre<T>>,
    restore: Kernel<RestoreScatter<T>>,
    /// The [`Input::TYPE`] of the input.
    input: &'static str,
}

impl<T: CudaReal> FusedTransform<T> {
    /// Returns a transform of arrays of one to three axes. The FFTs, one for each direction, have
    /// no work area yet.
    pub(crate) fn new(gpu: &Gpu, spec: &TransformSpec<'_>) -> Result<Self, CudaError> {
        let &TransformSpec { unit, shape, batch, directions, reorder, post, input } = spec;
        let module = gpu.instance::<T>(unit, &spectral(shape.len(), input))?;
        let (lengths, batch_of_maps) = match *shape {
            [n] => ([1, batch, n], 1),
            [m, n] => ([1, m, n], batch),
            [l, m, n] => ([l, m, n], batch),
            _ => unreachable!("one to three axes are transformed at once"),
        };
        let [l, m, n] = lengths;
        if batch_of_maps * l > MOST_BLOCKS as usize {
            let reason = "more maps than one launch takes (65535 blocks along an axis)";
            return Err(CudaError::NoTransform { shape: shape.to_vec(), batch, reason });
        }
        let table = |axis: usize| match axis + shape.len() >= 3 {
            true => twiddles::<T>(gpu, lengths[axis]),
            false => gpu.zeros(0),
        };
        let fft = |forward| match directions.contains(&forward) {
            true => RealFft::new(gpu, forward, shape, batch).map(Some),
            false => Ok(None),
        };
        // One thread for each position and all its mirror images.
        let images = (n / 2 + 1, if shape.len() == 1 { m } else { m / 2 + 1 });
        let over_slices = |config| stacked(config, batch_of_maps * (l / 2 + 1));
        let all = over_slices(cover_lines(128, images));
        let (post, config) = match (post, shape.len()) {
            (PostProcessing::Naive, 2) => ("dct_post_naive", over_slices(cover_lines(128, (n, m)))),
            (_, 2) => ("dct_post", over_slices(fit(128, images))),
            _ => ("dct_post", all),
        };
        // Twice LANES in `kernels/device/common.cuh`: 32 bytes per thread.
        let chunk = 32 / size_of::<T>();
        let wide = n.is_multiple_of(chunk);
        // Integers are read one at a time.
        let (there, width_there) = match reorder {
            Reorder::Wide if wide && input == T::TYPE => ("reorder_wide", n / chunk),
            Reorder::Wide | Reorder::Scatter => ("reorder_scatter", n),
            Reorder::Gather => ("reorder_gather", n),
        };
        let (back, width_back) =
            if wide { ("restore_wide", n / chunk) } else { ("restore_scatter", n) };
        let maps = |width| stacked(cover_lines(32, (width, m)), batch_of_maps * l);
        let half_spectra = batch_of_maps * l * m * (n / 2 + 1);
        let cached = half_spectra * size_of::<T::Complex>() <= gpu.info().l2_cache;
        Ok(FusedTransform {
            gpu: gpu.clone(),
            rank: shape.len(),
            lengths: lengths.map(|n| n as u32),
            twiddles: [table(0)?, table(1)?, table(2)?],
            values: batch_of_maps * l * m * n,
            half_spectra,
            cached: i32::from(cached),
            forward: fft(true)?,
            inverse: fft(false)?,
            reorder: Kernel::named(&module, there)?.with(maps(width_there)),
            post: Kernel::named(&module, post)?.with(config),
            threshold: match unit {
                "transforms" => Some(Kernel::new(&module)?.with(all)),
                _ => None,
            },
            pre: Kernel::new(&module)?.with(all),
            restore: Kernel::named(&module, back)?.with(maps(width_back)),
            input,
            module,
        })
    }

    /// Returns the transform's FFTs, for [`share_work_area`](super::share_work_area).
    pub(crate) fn ffts(&mut self) -> impl Iterator<Item = &mut RealFft<T>> {
        self.forward.iter_mut().chain(&mut self.inverse)
    }

    /// Returns the lengths and twiddles in the form that kernels around its FFTs take.
    pub(crate) fn axes(&self) -> ([u32; 3], [Array<T::Complex>; 3]) {
        (self.lengths, self.twiddles.each_ref().map(Array::from))
    }

    /// Returns the kernels before and after the FFT.
    pub(crate) fn kernels(&self, forward: bool) -> [&Function; 2] {
        if forward { [&self.reorder, &self.post] } else { [&self.pre, &self.restore] }
    }

    /// Enqueues a forward transform, using the output and the spectra for intermediate values.
    pub(crate) fn dct<I: Input<T>>(
        &mut self,
        input: DeviceSlice<'_, I>,
        spectra: &mut DeviceVec<T::Complex>,
        mut output: DeviceSliceMut<'_, T>,
        threshold: Option<Threshold<T>>,
    ) -> Result<(), CudaError> {
        self.reorder(input, output.reborrow())?;
        self.forward_fft(output.as_view(), &mut *spectra)?;
        self.post(spectra, output, threshold)
    }

    /// Enqueues the forward FFT.
    pub(crate) fn forward_fft<'a, 'b>(
        &mut self,
        values: impl Into<DeviceSlice<'a, T>>,
        spectra: impl Into<DeviceSliceMut<'b, T::Complex>>,
    ) -> Result<(), CudaError> {
        self.forward.as_mut().expect("made for forward transforms").run_forward(values, spectra)
    }

    /// Enqueues the inverse FFT, which overwrites the spectra.
    pub(crate) fn inverse_fft(
        &mut self,
        spectra: &mut DeviceVec<T::Complex>,
        values: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        self.inverse.as_mut().expect("made for inverse transforms").run_inverse(spectra, values)
    }

    /// Enqueues the reordering before a forward FFT. `output` may be longer than the arrays.
    pub(crate) fn reorder<'a, I: Input<T>>(
        &self,
        input: impl Into<DeviceSlice<'a, I>>,
        output: DeviceSliceMut<'_, T>,
    ) -> Result<(), CudaError> {
        let input = input.into();
        check_length("array to transform", input.len(), self.values)?;
        assert!(output.len() >= self.values && I::TYPE == self.input);
        check_aligned("array to transform", *input.address(), WIDEST)?;
        check_aligned("reordered array", *output.address(), WIDEST)?;
        let [l, m, n] = self.lengths;
        let r#in = Array::from(&input).cast();
        let arguments = ReorderScatter { r#in, out: (&output).into(), l, m, n };
        // SAFETY: both buffers hold every value, and the input has the type that the kernel was
        // chosen for (checked above). They are distinct borrows, and begin at addresses where the
        // kernel can read and write as many bytes at once.
        unsafe { self.reorder.launch(&self.gpu, &arguments) }
    }

    /// Enqueues the post-processing after a forward FFT.
    pub(crate) fn post(
        &self,
        spectra: &DeviceVec<T::Complex>,
        output: DeviceSliceMut<'_, T>,
        threshold: Option<Threshold<T>>,
    ) -> Result<(), CudaError> {
        check_length("transformed array", output.len(), self.values)?;
        assert!(spectra.len() >= self.half_spectra);
        let ([l, m, n], [wl, wm, wn]) = self.axes();
        let (r#in, out, cached) = (spectra.into(), (&output).into(), self.cached);
        // SAFETY: the buffers hold the spectra and all values (checked above), and each table has
        // one element more than its length.
        unsafe {
            let Some(Threshold { epsilon, kept, parts }) = threshold else {
                let arguments = DctPost { r#in, out, l, m, n, wl, wm, wn, cached };
                return self.post.launch(&self.gpu, &arguments);
            };
            let kernel = self.threshold.as_ref().expect("a kernel file of single transforms");
            let (kept, parts) = ((&*kept).into(), (&*parts).into());
            let arguments =
                DctPostThreshold { r#in, out, l, m, n, wl, wm, wn, cached, epsilon, kept, parts };
            kernel.launch(&self.gpu, &arguments)
        }
    }

    /// Enqueues the pre-processing before an inverse FFT.
    pub(crate) fn pre<I: Input<T>>(
        &self,
        input: DeviceSlice<'_, I>,
        spectra: &mut DeviceVec<T::Complex>,
        sines: Sines,
    ) -> Result<(), CudaError> {
        check_length("array to transform", input.len(), self.values)?;
        assert!(spectra.len() >= self.half_spectra && I::TYPE == self.input);
        let sines = i32::from(sines.y) + 2 * i32::from(sines.x);
        let ([l, m, n], [wl, wm, wn]) = self.axes();
        let (r#in, out) = (Array::from(&input).cast(), (&*spectra).into());
        let arguments = IdctPre { r#in, out, l, m, n, wl, wm, wn, sines };
        // SAFETY: `input` has the type that the kernel was compiled for; lengths as above.
        unsafe { self.pre.launch(&self.gpu, &arguments) }
    }

    /// Enqueues the reordering after an inverse FFT. A single output takes all arrays, with the
    /// signs that `sines[0]` requires. With several outputs, `outputs[k]` takes map k of `input`
    /// with the signs that `sines[k]` requires, and the transform must be made for one map.
    pub(crate) fn restore<'a, const MAPS: usize>(
        &self,
        input: &DeviceVec<T>,
        outputs: [impl Into<DeviceSliceMut<'a, T>>; MAPS],
        sines: [Sines; MAPS],
    ) -> Result<(), CudaError> {
        const { assert!(MAPS >= 1 && MAPS <= 3, "the kernel takes one to three maps") };
        let mut config = self.restore.config;
        assert!(input.len() >= MAPS * self.values && (MAPS == 1 || config.grid_dim.2 == 1));
        config.grid_dim.2 *= MAPS as u32;
        let mut targets = [Array::NULL; 3];
        for (target, output) in targets.iter_mut().zip(outputs.map(Into::into)) {
            check_length("transformed array", output.len(), self.values)?;
            check_aligned("transformed array", *output.address(), WIDEST)?;
            *target = (&output).into();
        }
        let mask = |of: fn(&Sines) -> bool| {
            sines.iter().enumerate().map(|(k, s)| u32::from(of(s)) << k).sum::<u32>()
        };
        let (alternate_x, alternate_y) = (mask(|s| s.x), mask(|s| s.y));
        let ([l, m, n], [out0, out1, out2], r#in) = (self.lengths, targets, input.into());
        let arguments =
            RestoreScatter { r#in, out0, out1, out2, l, m, n, alternate_x, alternate_y };
        // SAFETY: `input` and the outputs hold the maps of the launch (checked above) and are all
        // distinct borrows. Every map begins at a 16-byte boundary if the wide form is chosen,
        // because its rows then are multiples of 32 bytes. If the second address is zero, the
        // kernel uses the first for all maps.
        unsafe { self.restore.launch_as(&self.gpu, config, &arguments) }
    }
}
