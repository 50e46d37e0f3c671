//! The NCCL functions that this crate calls, opened at run time (`libnccl.so.2`).
//!
//! The declarations follow NCCL's documentation, "NCCL API", version 2.14 and later. Results are
//! plain numbers: a newer library may have more of them.

use crate::cuda::device::CudaError;
use cudarc::driver::sys::CUstream;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// `ncclComm_t`.
pub(super) type Comm = *mut c_void;
/// `ncclResult_t`.
type Status = c_int;

const SUCCESS: Status = 0;
const IN_PROGRESS: Status = 7;
/// `ncclInt8`: lengths are bytes.
const BYTES: c_int = 0;
/// The oldest version with non-blocking communicators.
const OLDEST: (i32, i32) = (2, 14);

/// `ncclUniqueId`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct UniqueId([u8; 128]);

/// `ncclConfig_t` as of version 2.14; later versions read its size and take defaults for the rest.
#[repr(C)]
struct Config {
    size: usize,
    magic: u32,
    version: u32,
    blocking: c_int,
}

pub(super) struct Nccl {
    version: c_int,
    get_unique_id: unsafe extern "C" fn(*mut UniqueId) -> Status,
    comm_init_rank_config:
        unsafe extern "C" fn(*mut Comm, c_int, UniqueId, c_int, *mut Config) -> Status,
    comm_finalize: unsafe extern "C" fn(Comm) -> Status,
    comm_destroy: unsafe extern "C" fn(Comm) -> Status,
    comm_abort: unsafe extern "C" fn(Comm) -> Status,
    comm_get_async_error: unsafe extern "C" fn(Comm, *mut Status) -> Status,
    get_error_string: unsafe extern "C" fn(Status) -> *const c_char,
    get_last_error: unsafe extern "C" fn(Comm) -> *const c_char,
    group_start: unsafe extern "C" fn() -> Status,
    group_end: unsafe extern "C" fn() -> Status,
    send: unsafe extern "C" fn(*const c_void, usize, c_int, c_int, Comm, CUstream) -> Status,
    recv: unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, Comm, CUstream) -> Status,
    /// Keeps the functions loaded.
    _library: Library,
}

impl Nccl {
    /// Returns the library, opened once for the process.
    pub(super) fn get() -> Result<&'static Nccl, CudaError> {
        static NCCL: OnceLock<Option<Nccl>> = OnceLock::new();
        let nccl =
            NCCL.get_or_init(|| ["libnccl.so.2", "libnccl.so"].into_iter().find_map(Self::open));
        let nccl = nccl.as_ref().ok_or(CudaError::NoNccl)?;
        if nccl.version() < OLDEST {
            let (found, (major, minor)) = (nccl.version_text(), OLDEST);
            let reason = format!("NCCL {found} is too old: {major}.{minor} or newer is needed");
            return Err(CudaError::Peers(reason));
        }
        Ok(nccl)
    }

    fn open(name: &str) -> Option<Nccl> {
        // SAFETY: NCCL's initialisers have no requirements on the caller.
        let library = unsafe { Library::new(name) }.ok()?;
        // SAFETY: the types match NCCL's header, and have not changed since version 2.14
        // (`ncclGetVersion`: 2.0). Copies of the pointers live as long as the library, which is
        // never closed.
        unsafe {
            let get_version = *library
                .get::<unsafe extern "C" fn(*mut c_int) -> Status>(b"ncclGetVersion\0")
                .ok()?;
            let mut version = 0;
            if get_version(&mut version) != SUCCESS {
                return None;
            }
            Some(Nccl {
                version,
                get_unique_id: *library.get(b"ncclGetUniqueId\0").ok()?,
                comm_init_rank_config: *library.get(b"ncclCommInitRankConfig\0").ok()?,
                comm_finalize: *library.get(b"ncclCommFinalize\0").ok()?,
                comm_destroy: *library.get(b"ncclCommDestroy\0").ok()?,
                comm_abort: *library.get(b"ncclCommAbort\0").ok()?,
                comm_get_async_error: *library.get(b"ncclCommGetAsyncError\0").ok()?,
                get_error_string: *library.get(b"ncclGetErrorString\0").ok()?,
                get_last_error: *library.get(b"ncclGetLastError\0").ok()?,
                group_start: *library.get(b"ncclGroupStart\0").ok()?,
                group_end: *library.get(b"ncclGroupEnd\0").ok()?,
                send: *library.get(b"ncclSend\0").ok()?,
                recv: *library.get(b"ncclRecv\0").ok()?,
                _library: library,
            })
        }
    }

    fn version(&self) -> (i32, i32) {
        // Two digits each since 2.9.
        match self.version {
            ..10000 => (self.version / 1000, self.version % 1000 / 100),
            _ => (self.version / 10000, self.version % 10000 / 100),
        }
    }

    pub(super) fn version_text(&self) -> String {
        let (major, minor) = self.version();
        format!("{major}.{minor}.{}", self.version % 100)
    }

    /// Returns whether NCCL has finished; false while it still runs.
    fn answer(&self, what: &'static str, comm: Comm, status: Status) -> Result<bool, CudaError> {
        if status == SUCCESS || status == IN_PROGRESS {
            return Ok(status == SUCCESS);
        }
        // SAFETY: any number may be passed. The texts are constant, or describe the last error, and
        // end with a zero.
        let texts = unsafe { [(self.get_error_string)(status), (self.get_last_error)(comm)] };
        let text = |text: *const c_char| match text.is_null() {
            true => String::new(),
            // SAFETY: as above.
            false => unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned(),
        };
        let [reason, last] = texts.map(text);
        // The first line is the cause, if there is one.
        let last = last.lines().next().unwrap_or_default();
        let reason = if last.is_empty() { reason } else { format!("{reason}: {last}") };
        Err(CudaError::Nccl { what, reason })
    }

    /// Returns the id that all ranks of one communicator need.
    pub(super) fn unique_id(&self) -> Result<UniqueId, CudaError> {
        let mut id = UniqueId([0; 128]);
        // SAFETY: writes one id.
        let status = unsafe { (self.get_unique_id)(&mut id) };
        self.answer("an id for the ranks", std::ptr::null_mut(), status)?;
        Ok(id)
    }

    /// Begins to make a rank's communicator for the current context's device. [`Nccl::is_ready`]
    /// returns whether it is complete.
    pub(super) fn begin(&self, id: UniqueId, rank: usize, count: usize) -> Result<Comm, CudaError> {
        let mut config =
            Config { size: size_of::<Config>(), magic: 0xcafe_beef, version: 21400, blocking: 0 };
        let (mut comm, rank, count) = (std::ptr::null_mut(), rank as c_int, count as c_int);
        // SAFETY: writes one communicator; the configuration outlives the call and states its own
        // size.
        let status =
            unsafe { (self.comm_init_rank_config)(&mut comm, count, id, rank, &mut config) };
        self.answer("a communicator", comm, status)?;
        Ok(comm)
    }

    /// Whether NCCL has finished a communicator's last call.
    ///
    /// # Safety
    /// The communicator was returned by [`Nccl::begin`] and is not aborted.
    pub(super) unsafe fn is_ready(
        &self,
        what: &'static str,
        comm: Comm,
    ) -> Result<bool, CudaError> {
        let mut state = SUCCESS;
        // SAFETY: the caller's promise; writes one number.
        let status = unsafe { (self.comm_get_async_error)(comm, &mut state) };
        Ok(self.answer(what, comm, status)? && self.answer(what, comm, state)?)
    }

    /// Groups the calls of `body` into one.
    pub(super) fn group<R>(
        &self,
        what: &'static str,
        body: impl FnOnce() -> Result<R, CudaError>,
    ) -> Result<R, CudaError> {
        // SAFETY: a group has no requirements; it is ended whatever `body` does.
        self.answer(what, std::ptr::null_mut(), unsafe { (self.group_start)() })?;
        let outcome = body();
        // SAFETY: one was started.
        let ended = unsafe { (self.group_end)() };
        let result = outcome?;
        self.answer(what, std::ptr::null_mut(), ended)?;
        Ok(result)
    }

    /// Enqueues a transfer of `bytes` bytes to a rank, or from it.
    ///
    /// # Safety
    /// The communicator is ready and not aborted, and the stream is of its device. The address has
    /// this much memory, which nothing else uses until the stream has passed this. Received data is
    /// written there.
    pub(super) unsafe fn transfer(
        &self,
        comm: Comm,
        stream: CUstream,
        (send, peer): (bool, usize),
        (address, bytes): (u64, usize),
    ) -> Result<(), CudaError> {
        let (at, peer) = (address as *mut c_void, peer as c_int);
        // SAFETY: the caller's promise.
        let status = unsafe {
            match send {
                true => (self.send)(at, bytes, BYTES, peer, comm, stream),
                false => (self.recv)(at, bytes, BYTES, peer, comm, stream),
            }
        };
        self.answer(EXCHANGE, comm, status).map(|_| ())
    }

    /// Begins to end communicators in agreement with the other ranks. [`Nccl::is_ready`] returns
    /// whether all their operations have finished. Must be called in a group.
    ///
    /// # Safety
    /// They are ready and were returned by [`Nccl::begin`].
    pub(super) unsafe fn finalize(&self, comms: &[Comm]) -> Result<(), CudaError> {
        comms.iter().try_for_each(|&comm| {
            // SAFETY: the caller's promise.
            let status = unsafe { (self.comm_finalize)(comm) };
            self.answer(CLOSE, comm, status).map(|_| ())
        })
    }

    /// Frees communicators that are finalized.
    ///
    /// # Safety
    /// They were returned by [`Nccl::begin`], are finalized, and are not used again.
    pub(super) unsafe fn destroy(&self, comms: &[Comm]) {
        for &comm in comms {
            // SAFETY: the caller's promise.
            unsafe { (self.comm_destroy)(comm) };
        }
    }

    /// Ends communicators, with all their pending operations.
    ///
    /// # Safety
    /// They were returned by [`Nccl::begin`] and are not used again.
    pub(super) unsafe fn abort(&self, comms: &[Comm]) {
        // SAFETY: the caller's promise; communicators of one process end as a group.
        unsafe {
            (self.group_start)();
            for &comm in comms {
                (self.comm_abort)(comm);
            }
            (self.group_end)();
        }
    }
}

/// The usual operation of ranks.
pub(super) const EXCHANGE: &str = "an exchange between ranks";
/// The last operation of ranks.
pub(super) const CLOSE: &str = "the end of the ranks' work";
