//! Real FFTs by cuFFT, with work areas that we allocate: nothing is allocated and nothing waits
//! when a transform runs.

use crate::cuda::device::{
    CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Gpu, Resource, StreamGuard,
    check_aligned, check_cufft,
};
use crate::transform::check_shape;
use cudarc::cufft::result::{self, CufftError};
use cudarc::cufft::sys::{cufftHandle, cufftType};
use cudarc::driver::sys;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Real FFTs of dense arrays in one direction, unnormalised: forward the last axis of length n
/// becomes n/2 + 1 complex numbers; the inverse is that of the forward one times the number of
/// elements.
pub struct RealFft<T: CudaReal> {
    gpu: Gpu,
    forward: bool,
    /// Takes real numbers, or complex ones for a last axis of one value; none for an FFT of one
    /// value, of which cuFFT 12 has no plans.
    plan: Option<CufftPlan>,
    work: Option<Arc<DeviceVec<u8>>>,
    /// Real elements of one run, all batches.
    reals: usize,
    /// Complex elements of one run, all batches.
    complexes: usize,
    of: PhantomData<fn(T)>,
}

/// A cuFFT plan; destroyed when dropped.
struct CufftPlan {
    gpu: Gpu,
    handle: cufftHandle,
    /// Whether it is of complex numbers in place.
    complex: bool,
    work_bytes: usize,
    /// The stream that runs go to.
    stream: AtomicPtr<sys::CUstream_st>,
}

impl CufftPlan {
    /// Plans FFTs of dense arrays one after the other, without a work area.
    fn new<T: CudaReal>(
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
            complex: kind == T::COMPLEX,
            work_bytes: 0,
            stream: AtomicPtr::new(null_mut()),
        };
        let (handle, lengths) = (plan.handle, lengths.as_mut_ptr());
        // Without lengths to embed in both sides are dense and the distances are ignored.
        let (embed, stride, distance) = (null_mut(), 1, 0);
        // SAFETY: the handle is live and its context current; `lengths` holds
        // one length per axis and outlives the call.
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

    /// Sets the stream of the next run to the current one.
    fn on(&self, stream: &StreamGuard<'_>) -> Result<cufftHandle, CudaError> {
        if self.stream.load(Relaxed) != stream.raw() {
            // SAFETY: the handle is live, and the stream is of its context, which is current.
            unsafe { result::set_stream(self.handle, stream.raw().cast()) }.map_err(failure)?;
            self.stream.store(stream.raw(), Relaxed);
        }
        Ok(self.handle)
    }
}

fn failure(answer: CufftError) -> CudaError {
    CudaError::cufft("transform", answer)
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

/// Gives all one work area. They run one after the other on one stream,
/// so one that fits the largest is enough.
pub(in crate::cuda) fn share_work_area<T: CudaReal>(
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
            unsafe { result::set_work_area(plan.handle, area) }.map_err(failure)?;
        }
        fft.work = Some(work.clone());
    }
    Ok(())
}

impl<T: CudaReal> RealFft<T> {
    /// Without a work area.
    pub(in crate::cuda) fn new(
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
        let kind = match (last, forward) {
            (1, _) => T::COMPLEX,
            (_, true) => T::FORWARD,
            (_, false) => T::INVERSE,
        };
        let plan = (!lengths.is_empty()).then(|| CufftPlan::new::<T>(gpu, kind, &lengths, batch));
        let complexes = reals / last * (last / 2 + 1);
        let (gpu, plan, of) = (gpu.clone(), plan.transpose()?, PhantomData);
        Ok(RealFft { gpu, forward, plan, work: None, reals, complexes, of })
    }

    fn alone(gpu: &Gpu, forward: bool, shape: &[usize], batch: usize) -> Result<Self, CudaError> {
        let mut fft = Self::new(gpu, forward, shape, batch)?;
        share_work_area(gpu, &mut [&mut fft])?;
        Ok(fft)
    }

    /// Returns `batch` real-to-complex FFTs of arrays of this shape (slowest axis first), one after
    /// the other in memory, with a work area of their own.
    ///
    /// # Errors
    /// When a length or the batch is zero or beyond what cuFFT counts, cuFFT refuses
    /// the shape, or memory runs out.
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

    /// Enqueues a forward FFT. `input` is left as it is.
    ///
    /// # Errors
    /// When a buffer belongs to another [`Gpu`] or the real one does not begin where a
    /// complex number can, or cuFFT refuses.
    ///
    /// # Panics
    /// When it is an inverse, or a buffer is shorter than its shape and batch need.
    pub fn run_forward<'a, 'b>(
        &mut self,
        input: impl Into<DeviceSlice<'a, T>>,
        output: impl Into<DeviceSliceMut<'b, T::Complex>>,
    ) -> Result<(), CudaError> {
        let (input, output) = (input.into(), output.into());
        assert!(self.forward && self.work.is_some());
        assert!(input.len() >= self.reals && output.len() >= self.complexes);
        check_aligned("values to transform", *input.address(), size_of::<T::Complex>())?;
        self.gpu.check_own(output.gpu())?;
        let stream = self.gpu.enter_with(input)?;
        let (from, to) = (*input.address(), *output.address());
        let reals = (size_of::<T>(), self.reals);
        if let Some(plan @ CufftPlan { complex: false, .. }) = &self.plan {
            let (handle, from, to) = (plan.on(&stream)?, from as *mut T, to as *mut T::Complex);
            // SAFETY: the plan is live and of this type, its context is current and
            // the buffers are as long as it needs (asserted above); a transform out
            // of place does not write its real input.
            return unsafe { T::run_forward(handle, from, to) }.map_err(failure);
        }
        // SAFETY: there is a complex number for each real one (asserted above), of the current
        // context.
        unsafe {
            let bytes = self.complexes * size_of::<T::Complex>();
            sys::cuMemsetD8Async(to, 0, bytes, stream.raw()).result()?;
            stream.copy_lines((from, size_of::<T>()), (to, size_of::<T::Complex>()), reals)?;
        }
        self.run_complex(to, self.forward, &stream)
    }

    /// Enqueues an inverse FFT, which overwrites `input`.
    ///
    /// # Errors
    /// See [`RealFft::run_forward`].
    ///
    /// # Panics
    /// When it is a forward one, or a buffer is shorter than its shape and batch need.
    pub fn run_inverse<'a, 'b>(
        &mut self,
        input: impl Into<DeviceSliceMut<'a, T::Complex>>,
        output: impl Into<DeviceSliceMut<'b, T>>,
    ) -> Result<(), CudaError> {
        let (input, output) = (input.into(), output.into());
        assert!(!self.forward && self.work.is_some());
        assert!(input.len() >= self.complexes && output.len() >= self.reals);
        check_aligned("transformed values", *output.address(), size_of::<T::Complex>())?;
        self.gpu.check_own(output.gpu())?;
        let stream = self.gpu.enter_with(input.as_view())?;
        let (from, to) = (*input.address(), *output.address());
        let reals = (size_of::<T>(), self.reals);
        if let Some(plan @ CufftPlan { complex: false, .. }) = &self.plan {
            let (handle, from, to) = (plan.on(&stream)?, from as *mut T::Complex, to as *mut T);
            // SAFETY: the plan is live and of this type, its context is current and
            // the buffers are as long as it needs (asserted above).
            return unsafe { T::run_inverse(handle, from, to) }.map_err(failure);
        }
        self.run_complex(from, self.forward, &stream)?;
        // SAFETY: there is a complex number for each real one (asserted above), of the current
        // context.
        unsafe { stream.copy_lines((from, size_of::<T::Complex>()), (to, size_of::<T>()), reals) }
    }

    /// A complex FFT in place, where there is one.
    fn run_complex(
        &self,
        values: sys::CUdeviceptr,
        forward: bool,
        stream: &StreamGuard<'_>,
    ) -> Result<(), CudaError> {
        let Some(plan @ CufftPlan { complex: true, .. }) = &self.plan else { return Ok(()) };
        let (handle, values) = (plan.on(stream)?, values as *mut T::Complex);
        // SAFETY: as above; such an FFT may be in place.
        unsafe { T::run_complex(handle, values, forward) }.map_err(failure)
    }
}
