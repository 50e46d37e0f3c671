//! Real FFTs by cuFFT, with their work area in our hands: nothing is allocated
//! and nothing waits when a transform runs.

use crate::cuda::device::{
    CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Entered, Gpu, check_aligned,
    check_cufft,
};
use crate::transform::check_shape;
use cudarc::cufft::result::{self, CufftError};
use cudarc::cufft::sys::{cufftHandle, cufftType};
use cudarc::driver::sys;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// A cuFFT plan; destroyed when dropped.
struct Plan {
    gpu: Gpu,
    handle: cufftHandle,
    work_bytes: usize,
    work: Option<Arc<DeviceVec<u8>>>,
    /// Real elements of one run, all batches.
    reals: usize,
    /// Complex elements of one run, all batches.
    complexes: usize,
    /// The stream that runs go to.
    stream: AtomicPtr<sys::CUstream_st>,
}

impl Plan {
    /// Of dense arrays one after the other, or `by_columns`: complex ones of the columns of an array
    /// `[shape[0]][batch]`.
    fn new(
        gpu: &Gpu,
        kind: cufftType,
        shape: &[usize],
        batch: usize,
        by_columns: bool,
    ) -> Result<Plan, CudaError> {
        let fail = |answer: CufftError| {
            CudaError::cufft(format!("plan of {batch} transforms of {shape:?}"), answer)
        };
        check_cufft()?;
        check_shape(shape, batch)?;
        let integer = |n: usize| {
            i32::try_from(n).map_err(|_| CudaError::NoTransform {
                shape: shape.to_vec(),
                batch,
                reason: "cuFFT counts lengths and batches in 31 bits",
            })
        };
        let mut lengths = shape.iter().map(|&n| integer(n)).collect::<Result<Vec<i32>, _>>()?;
        let count = integer(batch)?;
        let mut same = lengths.clone();
        // Without lengths to embed in both sides are dense and the distances are ignored.
        let (embed, stride, distance) =
            if by_columns { (same.as_mut_ptr(), count, 1) } else { (null_mut(), 1, 0) };
        let stream = gpu.enter()?;
        let (last, slow) = shape.split_last().expect("a transform has at least one axis");
        let slow: usize = slow.iter().product();
        let mut plan = Plan {
            gpu: gpu.clone(),
            handle: result::create().map_err(fail)?,
            work_bytes: 0,
            work: None,
            reals: batch * slow * last,
            complexes: batch * slow * if by_columns { *last } else { last / 2 + 1 },
            stream: AtomicPtr::new(null_mut()),
        };
        // SAFETY: the handle is live and its context current; `lengths` holds
        // one length per axis, as `embed` does if it is any, and both outlive the call.
        unsafe {
            result::set_auto_allocation(plan.handle, false).map_err(fail)?;
            plan.work_bytes = result::make_plan_many(
                plan.handle,
                lengths.len() as i32,
                lengths.as_mut_ptr(),
                embed,
                stride,
                distance,
                embed,
                stride,
                distance,
                kind,
                count,
            )
            .map_err(fail)?;
            result::set_stream(plan.handle, stream.raw().cast()).map_err(fail)?;
        }
        plan.stream = AtomicPtr::new(stream.raw());
        Ok(plan)
    }

    fn set_work_area(&mut self, work: &Arc<DeviceVec<u8>>) -> Result<(), CudaError> {
        let _current = self.gpu.enter_with(work.as_ref())?;
        let area = *work.address() as *mut _;
        // SAFETY: the handle is live, and the area (kept as long as the plan)
        // is at least as large as the plan asked for: see `share_work_area`.
        unsafe { result::set_work_area(self.handle, area) }.map_err(|e| self.failure(e))?;
        self.work = Some(work.clone());
        Ok(())
    }

    /// Has the next run go where work goes at present.
    fn bind(&self, stream: &Entered<'_>) -> Result<(), CudaError> {
        if self.stream.swap(stream.raw(), Relaxed) != stream.raw() {
            // SAFETY: the handle is live, and the stream is of its context, which is current.
            unsafe { result::set_stream(self.handle, stream.raw().cast()) }
                .map_err(|e| self.failure(e))?;
        }
        Ok(())
    }

    fn failure(&self, answer: CufftError) -> CudaError {
        CudaError::cufft("transform", answer)
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        // A run of this plan may still be under way.
        let _ = self.gpu.synchronize();
        let _current = self.gpu.enter();
        // SAFETY: the handle is live and not used again.
        let _ = unsafe { result::destroy(self.handle) };
    }
}

/// A plan of either direction, for [`share_work_area`].
pub(in crate::cuda) trait Planned {
    /// Bytes its work area must have.
    fn work_bytes(&self) -> usize;
    /// Gives it its work area.
    fn set_work_area(&mut self, work: &Arc<DeviceVec<u8>>) -> Result<(), CudaError>;
}

/// Gives all plans one work area. They run one after the other on one stream,
/// so one that fits the largest is enough.
pub(in crate::cuda) fn share_work_area(
    gpu: &Gpu,
    plans: &mut [&mut dyn Planned],
) -> Result<(), CudaError> {
    let bytes = plans.iter().map(|plan| plan.work_bytes()).max().unwrap_or(0);
    let work = Arc::new(gpu.zeros(bytes.max(1))?);
    plans.iter_mut().try_for_each(|plan| plan.set_work_area(&work))
}

/// Real-to-complex FFTs of dense arrays, unnormalised; the last axis of length
/// n becomes n/2 + 1 complex numbers.
pub struct ForwardFft<T>(Plan, PhantomData<fn(T)>);

/// Complex-to-real FFTs, unnormalised: the inverse of [`ForwardFft`] times the
/// number of elements.
pub struct InverseFft<T>(Plan, PhantomData<fn(T)>);

macro_rules! planned {
    ($name:ident, $kind:ident) => {
        impl<T: CudaReal> $name<T> {
            pub(in crate::cuda) fn new(
                gpu: &Gpu,
                shape: &[usize],
                batch: usize,
            ) -> Result<Self, CudaError> {
                Ok($name(Plan::new(gpu, T::$kind, shape, batch, false)?, PhantomData))
            }

            /// `batch` transforms of arrays of this shape (slowest axis first),
            /// one after the other in memory, with a work area of their own.
            ///
            /// # Errors
            /// When a length or the batch is zero or beyond what cuFFT counts, cuFFT refuses
            /// the shape, or memory runs out.
            pub fn alone(gpu: &Gpu, shape: &[usize], batch: usize) -> Result<Self, CudaError> {
                let mut plan = Self::new(gpu, shape, batch)?;
                share_work_area(gpu, &mut [&mut plan])?;
                Ok(plan)
            }
        }
    };
}
planned!(ForwardFft, FORWARD);
planned!(InverseFft, INVERSE);

macro_rules! shares_work_area {
    ($($name:ident),*) => {
        $(impl<T: CudaReal> Planned for $name<T> {
            fn work_bytes(&self) -> usize {
                self.0.work_bytes
            }
            fn set_work_area(&mut self, work: &Arc<DeviceVec<u8>>) -> Result<(), CudaError> {
                self.0.set_work_area(work)
            }
        })*
    };
}
shares_work_area!(ForwardFft, InverseFft, ColumnFft);

/// Complex FFTs along the slow axis of arrays `[n][width]`, in place and unnormalised.
pub(in crate::cuda) struct ColumnFft<T>(Plan, PhantomData<fn(T)>);

impl<T: CudaReal> ColumnFft<T> {
    /// Of all columns of an array.
    pub(in crate::cuda) fn new(gpu: &Gpu, n: usize, width: usize) -> Result<Self, CudaError> {
        Ok(ColumnFft(Plan::new(gpu, T::COMPLEX, &[n], width, true)?, PhantomData))
    }

    /// Enqueues it, forward or inverse.
    ///
    /// # Panics
    /// When the array has another size than it was made for.
    pub(in crate::cuda) fn run(
        &mut self,
        values: DeviceSliceMut<'_, T::Complex>,
        forward: bool,
    ) -> Result<(), CudaError> {
        let plan = &self.0;
        assert!(values.len() == plan.complexes && plan.work.is_some());
        let stream = plan.gpu.enter_with(values.as_view())?;
        plan.bind(&stream)?;
        let at = *values.address() as *mut T::Complex;
        // SAFETY: the plan is live and of this type, its context is current and the array is as
        // large as it needs (asserted above).
        unsafe { T::run_complex(plan.handle, at, forward) }.map_err(|e| plan.failure(e))
    }
}

impl<T: CudaReal> ForwardFft<T> {
    /// Enqueues the transform. `input` is left as it is.
    ///
    /// # Errors
    /// When a buffer belongs to another [`Gpu`] or the real one does not begin where a
    /// complex number can, or cuFFT refuses.
    ///
    /// # Panics
    /// When a buffer is shorter than the plan's shape and batch need.
    pub fn run<'a, 'b>(
        &mut self,
        input: impl Into<DeviceSlice<'a, T>>,
        output: impl Into<DeviceSliceMut<'b, T::Complex>>,
    ) -> Result<(), CudaError> {
        let (plan, input, output) = (&self.0, input.into(), output.into());
        assert!(input.len() >= plan.reals && output.len() >= plan.complexes && plan.work.is_some());
        check_aligned("values to transform", *input.address(), size_of::<T::Complex>())?;
        plan.gpu.check_own(output.gpu())?;
        let stream = plan.gpu.enter_with(input)?;
        plan.bind(&stream)?;
        let (from, to) = (*input.address() as *mut T, *output.address() as *mut T::Complex);
        // SAFETY: the plan is live and of this type, its context is current and
        // the buffers are as long as it needs (asserted above); a transform out
        // of place does not write its real input.
        unsafe { T::run_forward(plan.handle, from, to) }.map_err(|e| plan.failure(e))
    }
}

impl<T: CudaReal> InverseFft<T> {
    /// Enqueues the transform, which overwrites `input`.
    ///
    /// # Errors
    /// When a buffer belongs to another [`Gpu`] or the real one does not begin where a
    /// complex number can, or cuFFT refuses.
    ///
    /// # Panics
    /// When a buffer is shorter than the plan's shape and batch need.
    pub fn run<'a, 'b>(
        &mut self,
        input: impl Into<DeviceSliceMut<'a, T::Complex>>,
        output: impl Into<DeviceSliceMut<'b, T>>,
    ) -> Result<(), CudaError> {
        let (plan, input, output) = (&self.0, input.into(), output.into());
        assert!(input.len() >= plan.complexes && output.len() >= plan.reals && plan.work.is_some());
        check_aligned("transformed values", *output.address(), size_of::<T::Complex>())?;
        plan.gpu.check_own(output.gpu())?;
        let stream = plan.gpu.enter_with(input.as_view())?;
        plan.bind(&stream)?;
        let (from, to) = (*input.address() as *mut T::Complex, *output.address() as *mut T);
        // SAFETY: the plan is live and of this type, its context is current and
        // the buffers are as long as it needs (asserted above).
        unsafe { T::run_inverse(plan.handle, from, to) }.map_err(|e| plan.failure(e))
    }
}
