//! Memory on a device, and page-locked memory of the host.
//!
//! A [`DeviceVec`] belongs to the [`Gpu`] it was made on. That `Gpu`'s work runs in the order in
//! which it was enqueued, so the memory is freed after the last use. Work of another `Gpu` refuses
//! the memory ([`CudaError::OtherGpu`]).
//!
//! Public copies between host and device wait until they are done. [`Gpu::write_later`],
//! [`Gpu::read_later`], [`Gpu::write_each`] and [`Pinned`] memory do not; only the crate uses them.

use super::arguments::Pointer;
use super::error::{CudaError, check_length};
use super::gpu::Gpu;
use super::real::CudaReal;
use super::stream::{Resource, StreamGuard};
use super::value::DeviceValue;
use cudarc::driver::result;
use cudarc::driver::sys::CUdeviceptr;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Values of one type in device memory; freed when dropped.
///
/// Views do not outlive the vector, and a mutable view excludes other views:
///
/// ```compile_fail
/// # use placefield::cuda::DeviceVec;
/// fn outlives(values: DeviceVec<f32>) {
///     let view = values.as_view();
///     drop(values);
///     assert!(view.len() > 0);
/// }
/// ```
///
/// ```compile_fail
/// # use placefield::cuda::DeviceVec;
/// fn reads_and_writes(values: &mut DeviceVec<f32>) {
///     let written = values.as_view_mut();
///     let read = values.as_view();
///     assert!(written.len() == read.len());
/// }
/// ```
pub struct DeviceVec<E: DeviceValue> {
    gpu: Gpu,
    address: CUdeviceptr,
    length: usize,
    of: PhantomData<E>,
}

impl<E: DeviceValue> std::fmt::Debug for DeviceVec<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceVec").field("len", &self.length).finish_non_exhaustive()
    }
}

impl<E: DeviceValue> DeviceVec<E> {
    /// Returns `length` zeros. Allocates memory even if `length` is 0, so that there is an address.
    pub(super) fn zeros(gpu: &Gpu, length: usize) -> Result<Self, CudaError> {
        let bytes = length
            .checked_mul(size_of::<E>())
            .ok_or(CudaError::OutOfMemory { needed: usize::MAX, free: 0 })?
            .max(size_of::<E>());
        let address = gpu.allocate(bytes)?;
        let zeros = DeviceVec { gpu: gpu.clone(), address, length, of: PhantomData };
        let stream = gpu.stream_guard()?;
        // SAFETY: the context is current and the memory, `bytes` long, was
        // allocated on this stream; `zeros` frees it where this fails.
        unsafe { result::memset_d8_async(address, 0, bytes, stream.raw()) }?;
        Ok(zeros)
    }

    /// Takes ownership of memory.
    ///
    /// # Safety
    /// `address` is the address of `length` values in memory that was allocated for `gpu`'s stream
    /// (asynchronously, if the device allocates so). Nothing else frees or uses the memory from
    /// here on.
    pub(crate) unsafe fn from_raw(gpu: &Gpu, address: CUdeviceptr, length: usize) -> Self {
        DeviceVec { gpu: gpu.clone(), address, length, of: PhantomData }
    }

    /// Returns a copy of the values in new memory; the copy is enqueued.
    ///
    /// # Errors
    /// When memory runs out or the copy fails.
    pub fn try_clone(&self) -> Result<Self, CudaError> {
        let mut copy = DeviceVec::zeros(&self.gpu, self.length)?;
        self.gpu.copy(self, &mut copy)?;
        Ok(copy)
    }

    /// Releases ownership of the memory and returns its device, address and number of values.
    pub(crate) fn into_raw(self) -> (Gpu, CUdeviceptr, usize) {
        let memory = std::mem::ManuallyDrop::new(self);
        // SAFETY: `memory` is neither used nor dropped after this.
        let gpu = unsafe { std::ptr::read(&memory.gpu) };
        (gpu, memory.address, memory.length)
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the device it belongs to.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Returns a read-only view of all values.
    pub fn as_view(&self) -> DeviceSlice<'_, E> {
        DeviceSlice { gpu: &self.gpu, address: self.address, length: self.length, of: PhantomData }
    }

    /// Returns a mutable view of all values.
    pub fn as_view_mut(&mut self) -> DeviceSliceMut<'_, E> {
        DeviceSliceMut {
            gpu: &self.gpu,
            address: self.address,
            length: self.length,
            of: PhantomData,
        }
    }

    /// Returns a read-only view of a part.
    ///
    /// # Panics
    /// When `range` is not inside the vector.
    pub fn slice(&self, range: Range<usize>) -> DeviceSlice<'_, E> {
        self.as_view().part(range)
    }

    /// Returns a mutable view of a part.
    ///
    /// # Panics
    /// When `range` is not inside the vector.
    pub fn slice_mut(&mut self, range: Range<usize>) -> DeviceSliceMut<'_, E> {
        self.as_view_mut().part(range)
    }

    /// Returns the first `middle` values and the others.
    ///
    /// # Panics
    /// If there are fewer than `middle` values.
    pub fn split_at_mut(
        &mut self,
        middle: usize,
    ) -> (DeviceSliceMut<'_, E>, DeviceSliceMut<'_, E>) {
        self.as_view_mut().split_at(middle)
    }

    pub(crate) fn address(&self) -> &CUdeviceptr {
        &self.address
    }
}

/// Returns the address of a part of a vector of values of `size` bytes.
fn part(address: CUdeviceptr, length: usize, range: &Range<usize>, size: usize) -> CUdeviceptr {
    let Range { start, end } = *range;
    assert!(start <= end && end <= length, "values {start}..{end} of {length}");
    address + (start * size) as CUdeviceptr
}

impl<E: DeviceValue> Drop for DeviceVec<E> {
    fn drop(&mut self) {
        // SAFETY: the address came from `Gpu::allocate` or fulfils the conditions of `from_raw`,
        // and nothing uses it after this; work enqueued before runs before.
        unsafe { self.gpu.free(Resource::Device(self.address)) };
    }
}

/// Device memory and copies of it.
impl Gpu {
    /// Refuses memory of another device and memory with another number of values.
    pub(crate) fn check<'a, E: DeviceValue>(
        &self,
        what: &'static str,
        memory: impl Into<DeviceSlice<'a, E>>,
        length: usize,
    ) -> Result<(), CudaError> {
        let memory = memory.into();
        check_length(what, memory.len(), length)?;
        self.check_own(memory.gpu())
    }

    /// Returns the stream for work on memory, which must belong to this device.
    pub(crate) fn enter_with<'a, E: DeviceValue>(
        &self,
        memory: impl Into<DeviceSlice<'a, E>>,
    ) -> Result<StreamGuard<'_>, CudaError> {
        self.check_own(memory.into().gpu())?;
        self.stream_guard()
    }

    /// Returns `length` zeros in device memory.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`] if they do not fit.
    pub fn zeros<E: DeviceValue>(&self, length: usize) -> Result<DeviceVec<E>, CudaError> {
        DeviceVec::zeros(self, length)
    }

    /// Enqueues setting all of `values` to zero.
    pub(crate) fn clear<E: DeviceValue>(&self, values: &mut DeviceVec<E>) -> Result<(), CudaError> {
        let stream = self.enter_with(&*values)?;
        let bytes = values.len() * size_of::<E>();
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the memory has this many bytes, and `values` is borrowed exclusively; zero bits
        // are a value of `E`.
        Ok(unsafe { result::memset_d8_async(*values.address(), 0, bytes, stream.raw()) }?)
    }

    /// Returns a copy of `values` in device memory.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`] if they do not fit.
    pub fn upload<E: DeviceValue>(&self, values: &[E]) -> Result<DeviceVec<E>, CudaError> {
        let mut copy = self.zeros(values.len())?;
        self.write(values, &mut copy)?;
        Ok(copy)
    }

    /// Copies `values` to device memory of the same length and waits for the copy.
    ///
    /// # Errors
    /// When the lengths differ, `to` belongs to another [`Gpu`], or the copy fails.
    pub fn write<'a, E: DeviceValue>(
        &self,
        values: &[E],
        to: impl Into<DeviceSliceMut<'a, E>>,
    ) -> Result<(), CudaError> {
        // SAFETY: the values are borrowed until the wait below; the copy from page-locked memory
        // itself does not wait.
        let copied = unsafe { self.write_later(values, to) };
        if !values.is_empty() {
            self.stream_guard()?.synchronize()?;
        }
        copied
    }

    /// Enqueues the copy of [`Gpu::write`] without waiting for it.
    ///
    /// # Safety
    /// The values stay unchanged until the stream has been waited for.
    pub(crate) unsafe fn write_later<'a, E: DeviceValue>(
        &self,
        values: &[E],
        to: impl Into<DeviceSliceMut<'a, E>>,
    ) -> Result<(), CudaError> {
        let to = to.into();
        check_length("destination of the copy", to.len(), values.len())?;
        let stream = self.enter_with(to.as_view())?;
        if values.is_empty() {
            return Ok(());
        }
        stream.check_not_capturing()?;
        // SAFETY: both hold the same number of values; the caller promises that the host's do not
        // change.
        Ok(unsafe { result::memcpy_htod_async(*to.address(), values, stream.raw()) }?)
    }

    /// Returns a copy of device memory on the host; waits for the work before it.
    ///
    /// # Errors
    /// When `values` belong to another [`Gpu`]; a failure on the device since the last wait.
    pub fn download<'a, E: DeviceValue + Default>(
        &self,
        values: impl Into<DeviceSlice<'a, E>>,
    ) -> Result<Vec<E>, CudaError> {
        let values = values.into();
        let mut host = vec![E::default(); values.len()];
        self.read(values, &mut host)?;
        Ok(host)
    }

    /// Copies device memory to the same number of values on the host; waits for the work before it.
    ///
    /// # Errors
    /// When the lengths differ, and as [`Gpu::download`].
    pub fn read<'a, E: DeviceValue>(
        &self,
        values: impl Into<DeviceSlice<'a, E>>,
        to: &mut [E],
    ) -> Result<(), CudaError> {
        // SAFETY: the host's values are borrowed until the wait below.
        let copied = unsafe { self.read_later(values, to) };
        self.stream_guard()?.synchronize()?;
        copied?;
        Ok(self.context().check_err()?)
    }

    /// Enqueues the copy of [`Gpu::read`] without waiting for it.
    ///
    /// # Safety
    /// Nothing uses `to` until the stream has been waited for.
    pub(crate) unsafe fn read_later<'a, E: DeviceValue>(
        &self,
        values: impl Into<DeviceSlice<'a, E>>,
        to: &mut [E],
    ) -> Result<(), CudaError> {
        let values = values.into();
        check_length("destination of the copy", to.len(), values.len())?;
        let stream = self.enter_with(values)?;
        stream.check_not_capturing()?;
        if to.is_empty() {
            return Ok(());
        }
        // SAFETY: both hold the same number of values; the caller promises that nothing uses the
        // host's.
        Ok(unsafe { result::memcpy_dtoh_async(to, *values.address(), stream.raw()) }?)
    }

    /// Enqueues the copy of device memory to other device memory of the same length.
    ///
    /// # Errors
    /// When the lengths differ, either belongs to another [`Gpu`], or the copy fails.
    pub fn copy<'a, 'b, E: DeviceValue>(
        &self,
        from: impl Into<DeviceSlice<'a, E>>,
        to: impl Into<DeviceSliceMut<'b, E>>,
    ) -> Result<(), CudaError> {
        let (from, to) = (from.into(), to.into());
        check_length("destination of the copy", to.len(), from.len())?;
        self.check_own(to.gpu())?;
        let stream = self.enter_with(from)?;
        if from.is_empty() {
            return Ok(());
        }
        let bytes = from.len() * size_of::<E>();
        // SAFETY: both are `bytes` long and distinct, because one of them is borrowed exclusively.
        let copied = unsafe {
            result::memcpy_dtod_async(*to.address(), *from.address(), bytes, stream.raw())
        };
        Ok(copied?)
    }
}

/// A read-only view of values in device memory.
pub struct DeviceSlice<'a, E: DeviceValue> {
    gpu: &'a Gpu,
    address: CUdeviceptr,
    length: usize,
    of: PhantomData<&'a E>,
}

impl<E: DeviceValue> Clone for DeviceSlice<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: DeviceValue> Copy for DeviceSlice<'_, E> {}

/// A mutable view of values in device memory.
pub struct DeviceSliceMut<'a, E: DeviceValue> {
    gpu: &'a Gpu,
    address: CUdeviceptr,
    length: usize,
    of: PhantomData<&'a mut E>,
}

macro_rules! view {
    ($view:ident) => {
        impl<'a, E: DeviceValue> $view<'a, E> {
            /// Returns the number of values.
            pub fn len(&self) -> usize {
                self.length
            }

            /// Whether there are no values.
            pub fn is_empty(&self) -> bool {
                self.length == 0
            }

            /// Returns the device that the values belong to.
            pub fn gpu(&self) -> &'a Gpu {
                self.gpu
            }

            /// Returns a part of the values.
            ///
            /// # Panics
            /// If `range` is not inside the view.
            pub fn part(self, range: Range<usize>) -> $view<'a, E> {
                let address = part(self.address, self.length, &range, size_of::<E>());
                $view { address, length: range.len(), ..self }
            }

            pub(crate) fn address(&self) -> &CUdeviceptr {
                &self.address
            }

            /// Makes a view of memory owned elsewhere.
            ///
            /// # Safety
            /// At `address` there are `length` values in memory of `gpu`'s device. The work that
            /// the view is given to may use them as the view allows.
            pub(crate) unsafe fn from_raw(
                gpu: &'a Gpu,
                address: CUdeviceptr,
                length: usize,
            ) -> Self {
                $view { gpu, address, length, of: PhantomData }
            }
        }
    };
}
view!(DeviceSlice);
view!(DeviceSliceMut);

impl<'a, E: DeviceValue> DeviceSliceMut<'a, E> {
    /// Returns the first `middle` values and the others.
    ///
    /// # Panics
    /// If there are fewer than `middle` values.
    pub fn split_at(self, middle: usize) -> (DeviceSliceMut<'a, E>, DeviceSliceMut<'a, E>) {
        let address = part(self.address, self.length, &(middle..self.length), size_of::<E>());
        let (gpu, of) = (self.gpu, PhantomData);
        (
            DeviceSliceMut { gpu, address: self.address, length: middle, of },
            DeviceSliceMut { gpu, address, length: self.length - middle, of },
        )
    }

    /// Returns a read-only view of the same values.
    pub fn as_view(&self) -> DeviceSlice<'_, E> {
        DeviceSlice { gpu: self.gpu, address: self.address, length: self.length, of: PhantomData }
    }

    /// Returns a view of the same memory with a shorter lifetime.
    pub fn reborrow(&mut self) -> DeviceSliceMut<'_, E> {
        DeviceSliceMut {
            gpu: self.gpu,
            address: self.address,
            length: self.length,
            of: PhantomData,
        }
    }
}

/// Returns complex numbers as the real numbers they consist of.
pub(crate) fn reals<T: CudaReal>(values: DeviceSliceMut<'_, T::Complex>) -> DeviceSliceMut<'_, T> {
    const { assert!(size_of::<T::Complex>() == 2 * size_of::<T>()) };
    let DeviceSliceMut { gpu, address, length, .. } = values;
    DeviceSliceMut { gpu, address, length: 2 * length, of: PhantomData }
}

impl<'a, E: DeviceValue> From<&'a DeviceVec<E>> for DeviceSlice<'a, E> {
    fn from(values: &'a DeviceVec<E>) -> Self {
        values.as_view()
    }
}

impl<'a, E: DeviceValue> From<&'a mut DeviceVec<E>> for DeviceSliceMut<'a, E> {
    fn from(values: &'a mut DeviceVec<E>) -> Self {
        values.as_view_mut()
    }
}

/// DeviceArrays on one device that only the arguments of kernels lead to.
pub(crate) struct DeviceArrays {
    gpu: Gpu,
    all: Vec<Box<dyn Send + Sync>>,
}

impl DeviceArrays {
    pub(crate) fn new(gpu: &Gpu) -> Self {
        DeviceArrays { gpu: gpu.clone(), all: Vec::new() }
    }

    fn keep<E: DeviceValue>(&mut self, array: DeviceVec<E>) -> Pointer<E> {
        let pointer = (&array).into();
        self.all.push(Box::new(array));
        pointer
    }

    pub(crate) fn upload<E: DeviceValue>(&mut self, values: &[E]) -> Result<Pointer<E>, CudaError> {
        Ok(self.keep(self.gpu.upload(values)?))
    }

    pub(crate) fn upload_each<E: DeviceValue>(
        &mut self,
        count: usize,
        of: impl Fn(usize) -> E + Sync,
    ) -> Result<Pointer<E>, CudaError> {
        Ok(self.keep(self.gpu.upload_each(count, of)?))
    }

    pub(crate) fn zeros<E: DeviceValue>(&mut self, count: usize) -> Result<Pointer<E>, CudaError> {
        Ok(self.keep(self.gpu.zeros(count)?))
    }
}

/// How long the host polls a kernel's numbers before it asks the driver, which also reports
/// failures. Polling is faster than the driver's wait: an iteration of a placement took 84 instead
/// of 88 µs at adaptec1's statistics on an H100.
const POLLED: Duration = Duration::from_millis(20);

/// Page-locked memory of the host. Copies from and to it need not wait, and the device reads and
/// writes it at its host address.
pub(crate) struct Pinned<E: DeviceValue> {
    gpu: Gpu,
    start: NonNull<E>,
    length: usize,
}

// SAFETY: the memory holds plain values and this owns it; all access is by `&mut self`, or atomic.
unsafe impl<E: DeviceValue> Send for Pinned<E> {}

impl<E: DeviceValue> Pinned<E> {
    /// Returns `length` zeros and allocates at least one value.
    pub(crate) fn zeros(gpu: &Gpu, length: usize) -> Result<Self, CudaError> {
        let bytes = length.max(1) * size_of::<E>();
        let stream = gpu.stream_guard()?;
        stream.check_not_capturing()?;
        // SAFETY: the context is current.
        let start = unsafe { result::malloc_host(bytes, 0) }?.cast::<E>();
        let start = NonNull::new(start).expect("the driver gives memory or an error");
        // SAFETY: nothing else uses these `bytes` bytes; zero bits are a value of `E`.
        unsafe { std::ptr::write_bytes(start.as_ptr().cast::<u8>(), 0, bytes) };
        Ok(Pinned { gpu: gpu.clone(), start, length })
    }

    /// Returns the memory's start, for values that the device writes at any time and the host reads
    /// atomically.
    pub(crate) fn start(&self) -> NonNull<E> {
        self.start
    }

    /// Returns the address that kernels write to: page-locked memory has one for host and device.
    pub(crate) fn address(&self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }

    /// Copies `from`, which has this memory's length, to the host and waits for all enqueued work.
    pub(crate) fn receive(&mut self, from: &DeviceVec<E>) -> Result<&[E], CudaError> {
        // SAFETY: this owns the `length` values, and all have been written; nothing else uses them,
        // because `self` is borrowed exclusively.
        let kept = unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) };
        // SAFETY: the function waits below.
        let copied = unsafe { self.gpu.read_later(from, kept) };
        self.gpu.synchronize()?;
        copied?;
        Ok(kept)
    }
}

impl Pinned<f64> {
    /// Waits until a kernel has written `number` at each of the last `flags` values, and returns
    /// the values before them. The kernel writes nothing here after the flags, but may still run.
    ///
    /// # Errors
    /// The device's failure since the last wait, if the number does not come within [`POLLED`].
    pub(crate) fn wait_for(&mut self, number: f64, flags: usize) -> Result<&[f64], CudaError> {
        self.gpu.stream_guard()?.check_not_capturing()?;
        let values = self.length - flags;
        let is_there = |at: usize| {
            // SAFETY: the value is one of `length` that this owns and is aligned; the device writes
            // it whole, and the host only reads it meanwhile.
            let flag = unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(at).cast()) };
            flag.load(Ordering::Acquire) == number.to_bits()
        };
        let begun = Instant::now();
        while !(values..self.length).all(is_there) {
            if begun.elapsed() > POLLED {
                self.gpu.synchronize()?;
                break;
            }
            std::hint::spin_loop();
        }
        // SAFETY: this owns the values, which are zeros at first; nothing writes them until more
        // work is enqueued, when `self` is no longer borrowed.
        Ok(unsafe { std::slice::from_raw_parts(self.start.as_ptr(), values) })
    }
}

impl<E: DeviceValue> Drop for Pinned<E> {
    fn drop(&mut self) {
        // SAFETY: `malloc_host` allocated it, and work that is enqueued later does not use it.
        unsafe { self.gpu.free(Resource::Host(self.start.as_ptr().cast())) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_begin_where_they_should_and_stay_inside() {
        assert_eq!(part(1024, 10, &(3..7), 8), 1048);
        assert_eq!(part(1024, 10, &(10..10), 4), 1064);
        for bad in [3..11, 11..11] {
            assert!(std::panic::catch_unwind(|| part(0, 10, &bad, 4)).is_err());
        }
    }
}
