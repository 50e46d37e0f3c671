//! Uploads computed values through page-locked memory. All threads fill one block while the device
//! copies the other.
//!
//! The host needs no array of all values, whose memory it would have to touch first. The driver
//! makes no second copy in page-locked memory.

use super::error::CudaError;
use super::gpu::Gpu;
use super::memory::{DeviceSliceMut, DeviceVec};
use super::value::DeviceValue;
use crate::parallel::{self, chunks_mut};
use cudarc::driver::{CudaContext, CudaEvent, DriverError, result};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;

/// Bytes in a block.
const BLOCK: usize = 4 << 20;
/// Up to this many bytes are copied in one copy, from ordinary memory, because allocating the
/// blocks takes some milliseconds.
const FEW: usize = 1 << 18;

/// Two blocks of page-locked memory. One upload at a time uses them; the device keeps them for the
/// next upload.
pub(super) struct Staging {
    context: Arc<CudaContext>,
    blocks: Vec<Block>,
}

struct Block {
    start: NonNull<u8>,
    /// Recorded after the last copy from the block.
    copied: CudaEvent,
}

impl Block {
    /// Waits for the last copy. If something that was dropped has recorded an error, the event's
    /// own wait would return that error and not wait.
    fn wait(&self) -> Result<(), DriverError> {
        // SAFETY: the event lives.
        unsafe { result::event::synchronize(self.copied.cu_event()) }
    }
}

// SAFETY: the value owns the memory and shares none of it.
unsafe impl Send for Staging {}

impl Staging {
    fn new(gpu: &Gpu) -> Result<Self, CudaError> {
        let mut staging = Staging { context: gpu.context().clone(), blocks: Vec::new() };
        for _ in 0..2 {
            let copied = staging.context.new_event(None)?;
            let stream = gpu.stream_guard()?;
            stream.check_not_capturing()?;
            // SAFETY: the context is current.
            let start = unsafe { result::malloc_host(BLOCK, 0) }?.cast::<u8>();
            let start = NonNull::new(start).expect("the driver gives memory or an error");
            staging.blocks.push(Block { start, copied });
        }
        Ok(staging)
    }

    /// Enqueues copies that set value `i` of `to` to `of(i)`.
    fn write<E: DeviceValue>(
        &self,
        gpu: &Gpu,
        mut to: DeviceSliceMut<'_, E>,
        of: impl Fn(usize) -> E + Sync,
    ) -> Result<(), CudaError> {
        const TASK: usize = 1 << 13;
        let (count, most) = (to.len(), BLOCK / size_of::<E>());
        for (block, first) in self.blocks.iter().cycle().zip((0..count).step_by(most)) {
            let stream = gpu.stream_guard()?;
            stream.check_not_capturing()?;
            block.wait()?;
            drop(stream);
            let length = most.min(count - first);
            let start = block.start.cast::<MaybeUninit<E>>();
            // SAFETY: there is room for this many values, and pages are aligned for them; the last
            // copy from the block is over, and nothing else uses this block.
            let values = unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), length) };
            parallel::for_each(chunks_mut(values, TASK), |task, values| {
                for (i, value) in (first + task * TASK..).zip(values) {
                    value.write(of(i));
                }
            });
            let to = to.reborrow().part(first..first + length);
            // SAFETY: all values have been written.
            let values = unsafe { std::slice::from_raw_parts(start.cast::<E>().as_ptr(), length) };
            // SAFETY: nothing writes to the block before the event has passed.
            unsafe { gpu.write_later(values, to) }?;
            gpu.stream_guard()?.record(&block.copied)?;
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // SAFETY: the context lives.
        self.context.record_err(unsafe { result::ctx::set_current(self.context.cu_ctx()) });
        for block in &self.blocks {
            self.context.record_err(block.wait());
            // SAFETY: `malloc_host` returned the address, and no copy from it is under way.
            self.context.record_err(unsafe { result::free_host(block.start.as_ptr().cast()) });
        }
    }
}

impl Gpu {
    /// Returns `of(i)` for each `i` of `0..count` in device memory; the copies are enqueued.
    pub(crate) fn upload_each<E: DeviceValue>(
        &self,
        count: usize,
        of: impl Fn(usize) -> E + Sync,
    ) -> Result<DeviceVec<E>, CudaError> {
        let mut all = self.zeros(count)?;
        self.write_each(&mut all, of)?;
        Ok(all)
    }

    /// Enqueues copies that set value `i` of `to` to `of(i)`.
    pub(crate) fn write_each<'a, E: DeviceValue>(
        &self,
        to: impl Into<DeviceSliceMut<'a, E>>,
        of: impl Fn(usize) -> E + Sync,
    ) -> Result<(), CudaError> {
        let to = to.into();
        if to.len() * size_of::<E>() <= FEW {
            return self.write(&(0..to.len()).map(of).collect::<Vec<_>>(), to);
        }
        let kept = self.0.staging.lock().pop();
        let staging = kept.map_or_else(|| Staging::new(self), Ok)?;
        let written = staging.write(self, to, of);
        match written {
            Ok(()) => self.0.staging.lock().push(staging),
            // A copy after the last event may still be running.
            Err(_) => self.stream_guard()?.synchronize()?,
        }
        written
    }
}
