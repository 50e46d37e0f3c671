//! The order of a device's work, and the stream that the work goes to.
//!
//! All work of a [`Gpu`] runs in the order in which it was requested. Work goes to the `Gpu`'s own
//! stream, except for work requested in [`Gpu::on_stream`], which goes to a caller's stream. When
//! the stream changes, the new stream waits, on the device, for an event after the work on the old
//! one. The host never waits.

use super::error::CudaError;
use super::gpu::{Gpu, Shared};
#[cfg(feature = "python")]
use super::probe::driver_version;
use cudarc::driver::sys::{self, CUstreamCaptureMode, CUstreamCaptureStatus};
use cudarc::driver::{CudaContext, CudaEvent, CudaGraph, CudaStream, DriverError, result};
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::cell::Cell;
use std::ffi::c_void;
use std::panic::resume_unwind;
use std::ptr::{null, null_mut};
use std::sync::Arc;
#[cfg(feature = "python")]
use std::sync::atomic::AtomicU64;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{Builder, Scope};

/// The streams that work has gone to.
pub(super) struct StreamOrder {
    /// Read-locked while something is enqueued to the own stream or waited for. Write-locked during
    /// a capture and while work goes to another stream.
    capture_lock: RwLock<()>,
    /// Resources dropped during a capture, which are freed after it.
    to_free: Mutex<Vec<Resource>>,
    /// Whether work has gone to the own stream and no other stream has waited for it.
    own: AtomicBool,
    /// Whether work has gone to another stream and the own stream has not waited for it.
    other: AtomicBool,
    /// Events recorded after the latest work on the own stream and on the other stream.
    after_own: CudaEvent,
    after_other: CudaEvent,
}

impl StreamOrder {
    pub(super) fn new(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        Ok(StreamOrder {
            capture_lock: RwLock::default(),
            to_free: Mutex::default(),
            own: AtomicBool::new(true),
            other: AtomicBool::new(false),
            after_own: context.new_event(None)?,
            after_other: context.new_event(None)?,
        })
    }
}

/// Resources of the driver that must be returned to it.
pub(crate) enum Resource {
    /// Memory of the device.
    Device(sys::CUdeviceptr),
    /// Page-locked memory of the host.
    Host(*mut c_void),
    /// A graph that may still be running.
    Graph(CudaGraph),
    /// The call that destroys a library's object.
    Other(Box<dyn FnOnce() + Send>),
}

// SAFETY: the addresses are not used any more, and the graph is only destroyed; the driver accepts
// both from any thread.
unsafe impl Send for Resource {}

/// The stream of this thread's work for one device. Set if it is not the device's own stream, or
/// during a capture.
#[derive(Clone, Copy)]
struct Current {
    of: *const Shared,
    stream: sys::CUstream,
    capturing: bool,
    /// Whether the captured graph belongs to the caller.
    #[cfg_attr(not(feature = "python"), allow(dead_code))]
    for_caller: bool,
}

/// A caller's capture, and the stream in it. Work on two of its streams may run at the same time.
#[cfg(feature = "python")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallersCapture {
    pub(crate) number: u64,
    pub(crate) stream: usize,
}

/// The first driver with the function that returns a capture's number (CUDA 12.3).
#[cfg(feature = "python")]
const NUMBERS_CAPTURES: (i32, i32) = (12, 3);

thread_local! {
    static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
    /// The number of this thread's [`NoCapture`]s, for any device.
    static GUARDS: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread has exclusive use of a device, or keeps other threads from capturing on one.
fn blocks_others() -> bool {
    GUARDS.get() > 0 || CURRENT.get().is_some()
}

/// Keeps other threads from capturing on a device. A thread may hold any number of these guards.
struct NoCapture<'a> {
    _lock: RwLockReadGuard<'a, ()>,
}

impl<'a> NoCapture<'a> {
    /// Waits for the end of another thread's capture, and lets waiting captures go first. If a
    /// waiting capture may wait for this thread, this thread goes before it.
    fn new(capture_lock: &'a RwLock<()>) -> Self {
        let lock = match blocks_others() {
            true => capture_lock.read_recursive(),
            false => capture_lock.read(),
        };
        GUARDS.set(GUARDS.get() + 1);
        NoCapture { _lock: lock }
    }
}

impl Drop for NoCapture<'_> {
    fn drop(&mut self) {
        GUARDS.set(GUARDS.get() - 1);
    }
}

/// The current stream, whose context is current on this thread. While it exists, no other thread
/// captures.
pub(crate) struct StreamGuard<'a> {
    stream: sys::CUstream,
    capturing: bool,
    _no_capture: Option<NoCapture<'a>>,
}

impl StreamGuard<'_> {
    pub(crate) fn raw(&self) -> sys::CUstream {
        self.stream
    }

    /// Whether work becomes part of a graph and does not run yet.
    pub(crate) fn is_capturing(&self) -> bool {
        self.capturing
    }

    /// Refuses operations that a graph cannot hold.
    pub(crate) fn check_not_capturing(&self) -> Result<(), CudaError> {
        if self.capturing { Err(CudaError::Capturing) } else { Ok(()) }
    }

    /// Waits until everything enqueued so far has run.
    pub(crate) fn synchronize(&self) -> Result<(), CudaError> {
        self.check_not_capturing()?;
        // SAFETY: the stream belongs to the current context and lives: the own stream as long as
        // the `Gpu`, another stream as `on_stream` requires.
        Ok(unsafe { result::stream::synchronize(self.stream) }?)
    }

    /// Marks this point of the stream's work.
    pub(crate) fn record(&self, event: &CudaEvent) -> Result<(), CudaError> {
        // SAFETY: as in `synchronize`; the event belongs to the same context.
        Ok(unsafe { result::event::record(event.cu_event(), self.stream) }?)
    }

    /// Makes later work wait for the work before the event's last mark, on this device or another.
    pub(crate) fn wait_for(&self, event: &CudaEvent) -> Result<(), CudaError> {
        wait_for(event, self.stream)
    }

    /// Enqueues the copy of `count` lines of `bytes` bytes. Each side has the address of its first
    /// line and its pitch: the bytes between the beginnings of consecutive lines.
    ///
    /// # Safety
    /// Both addresses hold this many lines in memory of the stream's context, and the memory lives
    /// until the stream has passed this copy.
    pub(crate) unsafe fn copy_lines(
        &self,
        (from, from_pitch): (sys::CUdeviceptr, usize),
        (to, to_pitch): (sys::CUdeviceptr, usize),
        (bytes, count): (usize, usize),
    ) -> Result<(), CudaError> {
        let copy = sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcHost: null(),
            srcDevice: from,
            srcArray: null_mut(),
            srcPitch: from_pitch,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstHost: null_mut(),
            dstDevice: to,
            dstArray: null_mut(),
            dstPitch: to_pitch,
            WidthInBytes: bytes,
            Height: count,
        };
        // SAFETY: the caller promises it.
        Ok(unsafe { sys::cuMemcpy2DAsync_v2(&copy, self.stream) }.result()?)
    }
}

/// Exclusive use of a [`Gpu`] or one of its streams: only this thread may enqueue to it. Dropping
/// the guard restores the previous state.
pub(crate) struct CaptureGuard<'a> {
    gpu: &'a Gpu,
    before: Option<Current>,
    lock: Option<RwLockWriteGuard<'a, ()>>,
}

impl Drop for CaptureGuard<'_> {
    fn drop(&mut self) {
        CURRENT.set(self.before);
        drop(self.lock.take());
        self.gpu.free_resources();
    }
}

impl Gpu {
    fn current(&self) -> Option<Current> {
        CURRENT.get().filter(|current| current.of == Arc::as_ptr(&self.0))
    }

    /// Returns the stream for work or for waiting.
    pub(crate) fn stream_guard(&self) -> Result<StreamGuard<'_>, CudaError> {
        if let Some(Current { stream, capturing, .. }) = self.current() {
            self.bind()?;
            return Ok(StreamGuard { stream, capturing, _no_capture: None });
        }
        let stream_order = &self.0.stream_order;
        let no_capture = NoCapture::new(&stream_order.capture_lock);
        self.bind()?;
        let stream = self.stream().cu_stream();
        if stream_order.other.load(SeqCst) {
            // Threads that get here at the same time all wait before any of them enqueues more.
            wait_for(&stream_order.after_other, stream)?;
            stream_order.other.store(false, SeqCst);
        }
        stream_order.own.store(true, SeqCst);
        Ok(StreamGuard { stream, capturing: false, _no_capture: Some(no_capture) })
    }

    /// Returns both results, which two threads compute at the same time. If another thread might
    /// wait for this one, this thread runs `first` and then `here`.
    pub(crate) fn in_parallel<A: Send, B>(
        first: impl FnOnce() -> A + Send,
        here: impl FnOnce() -> B,
    ) -> (A, B) {
        if blocks_others() {
            return (first(), here());
        }
        let first = Mutex::new(Some(first));
        let take = || first.lock().take();
        std::thread::scope(|scope| {
            let run = || take().map(|first| first());
            let first = in_a_thread(scope, run);
            let here = here();
            (first().expect("it has run once"), here)
        })
    }

    /// Returns the results of `make` on each of several devices, computed at the same time by one
    /// thread for each. If there is one device, or another thread might wait for this one, they run
    /// one after the other.
    pub(crate) fn on_each<R: Send, E: Send>(
        gpus: &[&Gpu],
        make: impl Fn(usize, &Gpu) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        if gpus.len() == 1 || blocks_others() {
            return gpus.iter().enumerate().map(|(rank, gpu)| make(rank, gpu)).collect();
        }
        let made: Vec<_> = std::thread::scope(|scope| {
            let make = &make;
            let start = |(rank, &gpu)| in_a_thread(scope, move || make(rank, gpu));
            let started: Vec<_> = gpus.iter().enumerate().map(start).collect();
            // All threads are waited for before the first error is returned.
            started.into_iter().map(|result| result()).collect()
        });
        made.into_iter().collect()
    }

    /// Waits for all work on the device, on every stream.
    pub(crate) fn wait_for_device(&self) -> Result<(), CudaError> {
        // The guard lives during the wait, which would break another thread's capture.
        let stream = self.stream_guard()?;
        stream.check_not_capturing()?;
        // The context's own wait would return an error that a drop has recorded, and not wait.
        Ok(result::ctx::synchronize()?)
    }

    /// Whether this thread's work currently becomes part of a graph and does not run yet.
    pub(crate) fn is_capturing(&self) -> bool {
        self.current().is_some_and(|current| current.capturing)
    }

    /// Returns the caller's capture that this thread's work becomes a part of.
    ///
    /// # Errors
    /// When the driver does not report it.
    #[cfg(feature = "python")]
    pub(crate) fn callers_capture(&self) -> Result<Option<CallersCapture>, CudaError> {
        /// For drivers that do not number captures.
        static UNNUMBERED: AtomicU64 = AtomicU64::new(0);
        let Some(current) = self.current().filter(|current| current.for_caller) else {
            return Ok(None);
        };
        let stream = current.stream as usize;
        if driver_version().is_none_or(|version| version < NUMBERS_CAPTURES) {
            let number = UNNUMBERED.fetch_add(1, SeqCst);
            return Ok(Some(CallersCapture { number, stream }));
        }
        let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        let mut number = 0;
        let (graph, nodes, edges, count) = (null_mut(), null_mut(), null_mut(), null_mut());
        // SAFETY: the stream lives, as the caller of `on_stream` promises; the call writes a status
        // and a number, and the other outputs may be omitted.
        let told = unsafe {
            sys::cuStreamGetCaptureInfo_v3(
                current.stream,
                &mut status,
                &mut number,
                graph,
                nodes,
                edges,
                count,
            )
        };
        told.result()?;
        Ok(Some(CallersCapture { number, stream }))
    }

    /// Returns the own stream for this thread alone, in a capture: every other thread waits.
    pub(crate) fn capture_guard(&self) -> Result<CaptureGuard<'_>, CudaError> {
        self.reserve(self.stream().cu_stream(), true)
    }

    fn reserve(
        &self,
        stream: sys::CUstream,
        capturing: bool,
    ) -> Result<CaptureGuard<'_>, CudaError> {
        let before = CURRENT.get();
        let of = Arc::as_ptr(&self.0);
        let lock = match before {
            // The capture would wait for this thread.
            None if blocks_others() => return Err(CudaError::Enqueuing),
            None => Some(self.0.stream_order.capture_lock.write()),
            // This thread already has exclusive use of the device.
            Some(current) if current.of == of && !current.capturing => None,
            Some(_) => return Err(CudaError::Capturing),
        };
        self.bind()?;
        CURRENT.set(Some(Current { of, stream, capturing, for_caller: false }));
        Ok(CaptureGuard { gpu: self, before, lock })
    }

    /// Sends everything that `body` enqueues to this device to `stream`. That work runs after all
    /// work enqueued before it, and before all work enqueued later.
    ///
    /// # Safety
    /// See [`interop::on_stream`](crate::cuda::interop::on_stream).
    pub(crate) unsafe fn on_stream<R>(
        &self,
        stream: sys::CUstream,
        body: impl FnOnce() -> R,
    ) -> Result<R, CudaError> {
        // Both sides would have to wait for a stream within a stream.
        if CURRENT.get().is_some() {
            return Err(CudaError::Capturing);
        }
        let reserved = self.reserve(stream, false)?;
        self.check_stream(stream)?;
        // SAFETY: the stream belongs to the current context.
        let status = unsafe { result::stream::is_capturing(stream) }?;
        if status == CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE {
            self.enter_stream(stream)?;
            let end = LeaveStream { gpu: self, stream };
            let result = body();
            end.now()?;
            drop(reserved);
            return Ok(result);
        }
        // The graph may run on any stream, so all work enqueued before must have finished.
        let _lenient = Lenient::begin()?;
        // Dropped before `_lenient`, also if `body` panics. Resources dropped meanwhile are freed
        // on the own stream before waiting is forbidden again.
        let _reserved = reserved;
        self.wait_for_streams()?;
        let of = Arc::as_ptr(&self.0);
        CURRENT.set(Some(Current { of, stream, capturing: true, for_caller: true }));
        Ok(body())
    }

    /// Frees a resource that is no longer used, once everything enqueued before has run. During
    /// this thread's capture, the resource is freed after the capture: freed at once, it would
    /// become a part of the graph, and a wait would break the capture. If this thread has exclusive
    /// use of another device, it does not wait for this one, whose thread might wait for the other.
    /// A resource that cannot be freed at once is freed later.
    ///
    /// # Safety
    /// The resource was made on this device, and work that is enqueued later does not use it.
    pub(crate) unsafe fn free(&self, resource: Resource) {
        let stream_order = &self.0.stream_order;
        let to_free = || stream_order.to_free.lock();
        let has_another = CURRENT.get().is_some() && self.current().is_none();
        let held = has_another.then(|| stream_order.capture_lock.try_read_recursive());
        if self.is_capturing() || matches!(held, Some(None)) {
            return to_free().push(resource);
        }
        let Ok(stream) = self.stream_guard() else { return };
        let left = std::mem::take(&mut *to_free());
        for resource in left.into_iter().chain([resource]) {
            // SAFETY: the caller that dropped the resource promised it.
            unsafe { self.free_on(&stream, resource) };
        }
    }

    /// Frees the resource once the stream has passed this point.
    ///
    /// # Safety
    /// As [`Gpu::free`].
    unsafe fn free_on(&self, stream: &StreamGuard<'_>, resource: Resource) {
        // SAFETY: the caller's promise; the context is current, and the stream is waited for if the
        // driver does not wait itself.
        let freed = unsafe {
            match resource {
                Resource::Device(address) if self.context().has_async_alloc() => {
                    result::free_async(address, stream.raw())
                }
                Resource::Device(address) => result::stream::synchronize(stream.raw())
                    .and_then(|()| result::free_sync(address)),
                Resource::Host(start) => result::stream::synchronize(stream.raw())
                    .and_then(|()| result::free_host(start)),
                Resource::Graph(graph) => {
                    result::stream::synchronize(stream.raw()).map(|()| drop(graph))
                }
                Resource::Other(destroy) => {
                    result::stream::synchronize(stream.raw()).map(|()| destroy())
                }
            }
        };
        self.context().record_err(freed);
    }

    /// Frees resources dropped during a capture that has ended.
    fn free_resources(&self) {
        if self.is_capturing() {
            return;
        }
        let all = std::mem::take(&mut *self.0.stream_order.to_free.lock());
        for resource in all {
            // SAFETY: as promised when it was dropped.
            unsafe { self.free(resource) };
        }
    }

    /// Refuses a stream of another context.
    fn check_stream(&self, stream: sys::CUstream) -> Result<(), CudaError> {
        let mut context = null_mut();
        // SAFETY: the stream lives, as the caller of `on_stream` promises; one context is written.
        unsafe { sys::cuStreamGetCtx(stream, &mut context) }.result()?;
        if context == self.context().cu_ctx() { Ok(()) } else { Err(CudaError::OtherContext) }
    }

    /// Makes `stream` wait for all work enqueued before.
    fn enter_stream(&self, stream: sys::CUstream) -> Result<(), CudaError> {
        let stream_order = &self.0.stream_order;
        if stream_order.own.swap(false, SeqCst) {
            // The own stream has waited for the last other one before its own work, if it did any.
            // SAFETY: event and stream belong to the current context.
            unsafe {
                result::event::record(stream_order.after_own.cu_event(), self.stream().cu_stream())
            }?;
            wait_for(&stream_order.after_own, stream)?;
        }
        if stream_order.other.load(SeqCst) {
            // Also if the stream is the same: a destroyed stream may have had the same address.
            wait_for(&stream_order.after_other, stream)?;
        }
        Ok(())
    }

    /// Marks the work that went to `stream`, so that the next stream can wait for it.
    fn leave_stream(&self, stream: sys::CUstream) -> Result<(), CudaError> {
        let stream_order = &self.0.stream_order;
        // SAFETY: event and stream belong to the current context; the stream lives, as the caller
        // of `on_stream` promises.
        unsafe { result::event::record(stream_order.after_other.cu_event(), stream) }?;
        stream_order.other.store(true, SeqCst);
        Ok(())
    }

    /// Waits for everything enqueued so far.
    fn wait_for_streams(&self) -> Result<(), CudaError> {
        let stream_order = &self.0.stream_order;
        // Work that comes meanwhile sets the flags again. After an error it is still not waited for.
        let wait = |flag: &AtomicBool, wait: &dyn Fn() -> Result<(), DriverError>| match flag
            .swap(false, SeqCst)
        {
            true => wait().inspect_err(|_| flag.store(true, SeqCst)),
            false => Ok(()),
        };
        // SAFETY: the own stream belongs to the current context.
        let own = || unsafe { result::stream::synchronize(self.stream().cu_stream()) };
        wait(&stream_order.own, &own)?;
        // The event's own wait would return an error that a drop has recorded, and not wait.
        // SAFETY: the event lives.
        let other = || unsafe { result::event::synchronize(stream_order.after_other.cu_event()) };
        Ok(wait(&stream_order.other, &other)?)
    }
}

/// A second branch of the graphs that are captured on a [`Gpu`].
pub(crate) struct Branch {
    gpu: Gpu,
    stream: Arc<CudaStream>,
    begun: CudaEvent,
    ended: CudaEvent,
}

impl Branch {
    pub(crate) fn new(gpu: &Gpu) -> Result<Self, CudaError> {
        let (stream, context) = (gpu.context().new_stream()?, gpu.context());
        let (begun, ended) = (context.new_event(None)?, context.new_event(None)?);
        Ok(Branch { gpu: gpu.clone(), stream, begun, ended })
    }

    /// Enqueues the work of `branched` and `straight`, both `on` the same object. In a capture they
    /// become two branches of the graph: both may run at the same time, and later work waits for
    /// both. Otherwise they run one after the other.
    ///
    /// # Errors
    /// The error of `branched`, else of `straight`, or of the driver.
    ///
    /// # Safety
    /// No work of `branched` writes memory that work of `straight` reads or writes, and vice versa.
    pub(crate) unsafe fn fork<C, E: From<CudaError>>(
        &self,
        on: &mut C,
        branched: impl FnOnce(&mut C) -> Result<(), E>,
        straight: impl FnOnce(&mut C) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(current) = self.gpu.current().filter(|current| current.capturing) else {
            branched(on)?;
            return straight(on);
        };
        let stream = self.stream.cu_stream();
        self.gpu.stream_guard()?.record(&self.begun)?;
        wait_for(&self.begun, stream)?;
        let outcome = {
            let _back = CaptureGuard { gpu: &self.gpu, before: Some(current), lock: None };
            CURRENT.set(Some(Current { stream, ..current }));
            let outcome = branched(on);
            self.gpu.stream_guard()?.record(&self.ended)?;
            outcome
        };
        let outcome = outcome.and_then(|()| straight(on));
        // Also if one has failed: a capture ends with all its branches.
        wait_for(&self.ended, current.stream)?;
        outcome
    }
}

/// Returns from another stream, also if its body panics.
struct LeaveStream<'a> {
    gpu: &'a Gpu,
    stream: sys::CUstream,
}

impl LeaveStream<'_> {
    fn now(self) -> Result<(), CudaError> {
        let ended = self.gpu.leave_stream(self.stream);
        std::mem::forget(self);
        ended
    }
}

impl Drop for LeaveStream<'_> {
    fn drop(&mut self) {
        let _ = self.gpu.leave_stream(self.stream);
    }
}

/// Starts `run` in a thread of `scope`. The returned function waits for its result; if no thread
/// can be started, it runs `run` itself.
fn in_a_thread<'scope, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    run: impl Fn() -> R + Copy + Send + 'scope,
) -> impl FnOnce() -> R {
    let thread = Builder::new().spawn_scoped(scope, run);
    move || match thread {
        Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
        Err(_) => run(),
    }
}

fn wait_for(event: &CudaEvent, stream: sys::CUstream) -> Result<(), CudaError> {
    let plain = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
    // SAFETY: the stream belongs to the current context; the event lives, and may belong to
    // another.
    Ok(unsafe { result::stream::wait_event(stream, event.cu_event(), plain) }?)
}

/// While this lives, captures do not forbid its thread to wait for other streams or to load code.
pub(super) struct Lenient(CUstreamCaptureMode);

impl Lenient {
    pub(super) fn begin() -> Result<Self, CudaError> {
        let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the call exchanges the mode for the previous one.
        unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) }.result()?;
        Ok(Lenient(mode))
    }
}

impl Drop for Lenient {
    fn drop(&mut self) {
        // SAFETY: as in `begin`.
        let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread::{sleep, spawn};
    use std::time::Duration;

    /// Fails a test that would otherwise wait for ever.
    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn a_waiting_capture_does_not_block_a_thread_that_it_waits_for() {
        let lock = Arc::new(RwLock::new(()));
        let (done, finished) = mpsc::channel();
        spawn(move || {
            let first = NoCapture::new(&lock);
            let alone = lock.clone();
            let capture = spawn(move || drop(alone.write()));
            while lock.try_read().is_some() {
                sleep(Duration::from_millis(1));
            }
            let second = NoCapture::new(&lock);
            // The first guard may be dropped before the second.
            drop(first);
            assert!(blocks_others() && !capture.is_finished());
            drop(second);
            assert!(!blocks_others());
            capture.join().unwrap();
            done.send(()).unwrap();
        });
        finished.recv_timeout(PATIENCE).expect("no deadlock");
    }

    #[test]
    fn a_waiting_capture_goes_before_later_work_of_other_threads() {
        let lock = Arc::new(RwLock::new(()));
        let first = NoCapture::new(&lock);
        let (order, ran) = mpsc::channel();
        let start = |name: &'static str, run: fn(&RwLock<()>, &mut dyn FnMut())| {
            let (lock, order) = (lock.clone(), order.clone());
            spawn(move || run(&lock, &mut || order.send(name).unwrap()))
        };
        let capture = start("capture", |lock, ran| {
            let _alone = lock.write();
            ran();
        });
        while lock.try_read().is_some() {
            sleep(Duration::from_millis(1));
        }
        let work = start("work", |lock, ran| {
            let _no_capture = NoCapture::new(lock);
            ran();
        });
        assert!(ran.recv_timeout(Duration::from_millis(50)).is_err(), "both wait");
        drop(first);
        assert_eq!([ran.recv(), ran.recv()], [Ok("capture"), Ok("work")]);
        for thread in [capture, work] {
            thread.join().unwrap();
        }
    }
}
