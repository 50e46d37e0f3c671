//! Real FFTs by cuFFT, with work areas that the crate allocates. Running a transform neither
//! allocates nor waits.

use crate::cuda::device::{
    CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Gpu, Resource, StreamGuard,
    check_aligned, check_cufft,
};
use crate::real::Precision;
use crate::transform::check_shape;
use cudarc::cufft::result::{self, CufftError};
use cudarc::cufft::sys::cufftHandle;
use cudarc::cufft::sys::cufftType::{self, *};
use cudarc::driver::sys::{self, CUdeviceptr};
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Real FFTs of dense arrays in one direction, unnormalised. Forward, a last axis of length n
/// becomes n/2 + 1 complex numbers. The inverse undoes the forward FFT, times the number of
/// elements.
pub struct RealFft<T: CudaReal> {
    gpu: Gpu,
    forward: bool,
    /// Whether the FFT is a complex one in place, for a last axis of one value.
    complex: bool,
    /// `None` for an FFT of one value, because cuFFT 12 has no plans for it.
    plan: Option<CufftPlan>,
    work: Option<Arc<DeviceVec<u8>>>,
    /// Real elements of one run, in all batches.
    reals: usize,
    /// Complex elements of one run, in all batches.
    complexes: usize,
    of: PhantomData<fn(T)>,
}

/// A cuFFT plan; destroyed when dropped.
struct CufftPlan {
    gpu: Gpu,
    handle: cufftHandle,
    kind: cufftType,
    work_bytes: usize,
    /// The stream that runs go to.
    stream: AtomicPtr<sys::CUstream_st>,
}

impl CufftPlan {
    /// Plans FFTs of dense arrays one after the other, without a work area.
    fn new(
        gpu: &Gpu,
        kind: cufftType,
        shape: &[usize],
        batch: usize,
    ) -> Result<CufftPlan, CudaError> {
        let fail = |answer: CufftError| {
            CudaError::cufft(format!("plan of {batch} transforms of {shape:?}"), answer)
        };
        check_cufft()?;
        let integer = |n: usize| {
            i32::try_from(n).map_err(|_| CudaError::NoTransform {
                shape: shape.to_vec(),
                batch,
                reason: "cuFFT counts lengths and batches in 31 bits",
            })
        };
        let mut lengths = shape.iter().map(|&n| integer(n)).collect::<Result<Vec<i32>, _>>()?;
        let (rank, count) = (lengths.len() as i32, integer(batch)?);
        let stream = gpu.stream_guard()?;
        let mut plan = CufftPlan {
            gpu: gpu.clone(),
            handle: result::create().map_err(fail)?,
            kind,
            work_bytes: 0,
            stream: AtomicPtr::new(null_mut()),
        };
        let (handle, lengths) = (plan.handle, lengths.as_mut_ptr());
        // If both sides have no embedding lengths, they are dense and the distances are ignored.
        let (embed, stride, distance) = (null_mut(), 1, 0);
        // SAFETY: the handle is live and its context current; `lengths` holds one length per axis
        // and outlives the call.
        plan.work_bytes = unsafe {
            result::set_auto_allocation(handle, false).map_err(fail)?;
            let bytes = result::make_plan_many(
                handle, rank, lengths, embed, stride, distance, embed, stride, distance, kind,
                count,
            );
            result::set_stream(handle, stream.raw().cast()).map_err(fail)?;
            bytes.map_err(fail)?
        };
        plan.stream = AtomicPtr::new(stream.raw());
        Ok(plan)
    }

    /// Enqueues the FFTs, `forward` or inverse, to the stream.
    ///
    /// # Safety
    /// Both addresses are of the stream's device, and hold the values that FFTs of this kind read
    /// and write. They are the same only for complex FFTs.
    unsafe fn run(
        &self,
        stream: &StreamGuard<'_>,
        [from, to]: [CUdeviceptr; 2],
        forward: bool,
    ) -> Result<(), CudaError> {
        let failure = |answer| CudaError::cufft("transform", answer);
        let plan = self.handle;
        if self.stream.load(Relaxed) != stream.raw() {
            // SAFETY: the handle is live, and the stream is of its context, which is current.
            unsafe { result::set_stream(plan, stream.raw().cast()) }.map_err(failure)?;
            self.stream.store(stream.raw(), Relaxed);
        }
        // cuFFT's CUFFT_FORWARD and CUFFT_INVERSE.
        let direction = if forward { -1 } else { 1 };
        // SAFETY: the plan is live and of this kind, and its context is current; the rest is the
        // caller's promise.
        let enqueued = unsafe {
            match self.kind {
                CUFFT_R2C => result::exec_r2c(plan, from as *mut _, to as *mut _),
                CUFFT_C2R => result::exec_c2r(plan, from as *mut _, to as *mut _),
                CUFFT_C2C => result::exec_c2c(plan, from as *mut _, to as *mut _, direction),
                CUFFT_D2Z => result::exec_d2z(plan, from as *mut _, to as *mut _),
                CUFFT_Z2D => result::exec_z2d(plan, from as *mut _, to as *mut _),
                CUFFT_Z2Z => result::exec_z2z(plan, from as *mut _, to as *mut _, direction),
            }
        };
        enqueued.map_err(failure)
    }
}

impl Drop for CufftPlan {
    fn drop(&mut self) {
        let handle = self.handle;
        let destroy = move || {
            // SAFETY: the handle is live and not used again.
            let _ = unsafe { result::destroy(handle) };
        };
        // SAFETY: a plan of this device, which is not run any more.
        unsafe { self.gpu.free(Resource::Other(Box::new(destroy))) };
    }
}

/// Gives all FFTs one work area. They run one after the other on one stream, so an area for the
/// largest is enough.
pub(crate) fn share_work_area<T: CudaReal>(
    gpu: &Gpu,
    ffts: &mut [&mut RealFft<T>],
) -> Result<(), CudaError> {
    let plans = ffts.iter().filter_map(|fft| fft.plan.as_ref());
    let bytes = plans.map(|plan| plan.work_bytes).max().unwrap_or(0);
    let work = Arc::new(gpu.zeros(bytes.max(1))?);
    for fft in ffts {
        let _current = gpu.enter_with(work.as_ref())?;
        let area = *work.address() as *mut _;
        if let Some(plan) = &fft.plan {
            // SAFETY: the handle is live, and the area (kept as long as the plan) is at least as
            // large as the plan needs.
            unsafe { result::set_work_area(plan.handle, area) }
                .map_err(|answer| CudaError::cufft("work area", answer))?;
        }
        fft.work = Some(work.clone());
    }
    Ok(())
}

impl<T: CudaReal> RealFft<T> {
    /// Without a work area.
    pub(crate) fn new(
        gpu: &Gpu,
        forward: bool,
        shape: &[usize],
        batch: usize,
    ) -> Result<Self, CudaError> {
        let reals = check_shape(shape, batch)?;
        let (&last, slow) = shape.split_last().expect("checked: a shape has an axis");
        let mut lengths: Vec<usize> = slow.iter().copied().filter(|&n| n > 1).collect();
        if last > 1 {
            lengths.push(last);
        }
        let kind = match (T::PRECISION, last, forward) {
            (Precision::F32, 1, _) => CUFFT_C2C,
            (Precision::F32, _, true) => CUFFT_R2C,
            (Precision::F32, _, false) => CUFFT_C2R,
            (Precision::F64, 1, _) => CUFFT_Z2Z,
            (Precision::F64, _, true) => CUFFT_D2Z,
            (Precision::F64, _, false) => CUFFT_Z2D,
        };
        let plan = (!lengths.is_empty()).then(|| CufftPlan::new(gpu, kind, &lengths, batch));
        let complexes = reals / last * (last / 2 + 1);
        let (gpu, plan, of) = (gpu.clone(), plan.transpose()?, PhantomData);
        let complex = last == 1;
        Ok(RealFft { gpu, forward, complex, plan, work: None, reals, complexes, of })
    }

    fn alone(gpu: &Gpu, forward: bool, shape: &[usize], batch: usize) -> Result<Self, CudaError> {
        let mut fft = Self::new(gpu, forward, shape, batch)?;
        share_work_area(gpu, &mut [&mut fft])?;
        Ok(fft)
    }

    /// Plans `batch` real-to-complex FFTs of arrays of this shape (slowest axis first), one after
    /// the other in memory, with a separate work area.
    ///
    /// # Errors
    /// When a length or the batch is zero or beyond what cuFFT counts, cuFFT refuses the shape, or
    /// memory runs out.
    pub fn forward(gpu: &Gpu, shape: &[usize], batch: usize) -> Result<Self, CudaError> {
        Self::alone(gpu, true, shape, batch)
    }

    /// Plans `batch` complex-to-real FFTs of `shape`, the inverse of [`RealFft::forward`].
    ///
    /// # Errors
    /// See [`RealFft::forward`].
    pub fn inverse(gpu: &Gpu, shape: &[usize], batch: usize) -> Result<Self, CudaError> {
        Self::alone(gpu, false, shape, batch)
    }

    /// Enqueues a forward FFT. `input` stays unchanged.
    ///
    /// # Errors
    /// When a buffer belongs to another [`Gpu`] or is not aligned to complex numbers, or cuFFT
    /// refuses.
    ///
    /// # Panics
    /// If it is an inverse, or a buffer is shorter than its shape and batch require.
    pub fn run_forward<'a, 'b>(
        &mut self,
        input: impl Into<DeviceSlice<'a, T>>,
        output: impl Into<DeviceSliceMut<'b, T::Complex>>,
    ) -> Result<(), CudaError> {
        let (input, output) = (input.into(), output.into());
        assert!(self.forward && self.work.is_some());
        assert!(input.len() >= self.reals && output.len() >= self.complexes);
        check_aligned("values to transform", *input.address(), size_of::<T::Complex>())?;
        check_aligned("transformed values", *output.address(), size_of::<T::Complex>())?;
        self.gpu.check_own(output.gpu())?;
        let stream = self.gpu.enter_with(input)?;
        let (from, to) = (*input.address(), *output.address());
        // SAFETY: the buffers belong to the current context and are as long as the FFT requires. A
        // complex FFT requires a complex number for each real one (asserted above). Out of place,
        // the FFT does not write its real input.
        unsafe {
            if !self.complex {
                return self.run(&stream, [from, to]);
            }
            let bytes = self.complexes * size_of::<T::Complex>();
            sys::cuMemsetD8Async(to, 0, bytes, stream.raw()).result()?;
            let reals = (size_of::<T>(), self.reals);
            stream.copy_lines((from, size_of::<T>()), (to, size_of::<T::Complex>()), reals)?;
            self.run(&stream, [to, to])
        }
    }

    /// Enqueues an inverse FFT, which overwrites `input`.
    ///
    /// # Errors
    /// See [`RealFft::run_forward`].
    ///
    /// # Panics
    /// If it is a forward one, or a buffer is shorter than its shape and batch require.
    pub fn run_inverse<'a, 'b>(
        &mut self,
        input: impl Into<DeviceSliceMut<'a, T::Complex>>,
        output: impl Into<DeviceSliceMut<'b, T>>,
    ) -> Result<(), CudaError> {
        let (input, output) = (input.into(), output.into());
        assert!(!self.forward && self.work.is_some());
        assert!(input.len() >= self.complexes && output.len() >= self.reals);
        check_aligned("values to transform", *input.address(), size_of::<T::Complex>())?;
        check_aligned("transformed values", *output.address(), size_of::<T::Complex>())?;
        self.gpu.check_own(output.gpu())?;
        let stream = self.gpu.enter_with(input.as_view())?;
        let (from, to) = (*input.address(), *output.address());
        // SAFETY: as in `run_forward`; the input may be overwritten.
        unsafe {
            if !self.complex {
                return self.run(&stream, [from, to]);
            }
            self.run(&stream, [from, from])?;
            let reals = (size_of::<T>(), self.reals);
            stream.copy_lines((from, size_of::<T::Complex>()), (to, size_of::<T>()), reals)
        }
    }

    /// # Safety
    /// See [`CufftPlan::run`].
    unsafe fn run(
        &self,
        stream: &StreamGuard<'_>,
        between: [CUdeviceptr; 2],
    ) -> Result<(), CudaError> {
        // SAFETY: the caller's promise.
        let run = |plan: &CufftPlan| unsafe { plan.run(stream, between, self.forward) };
        self.plan.as_ref().map_or(Ok(()), run)
    }
}
