//! Ranks that send each other messages over NCCL: devices that do not reach each other's memory,
//! and processes with a rank each, on one host or several.
//!
//! NCCL itself connects the ranks: ranks of several processes meet at the address in
//! `NCCL_COMM_ID`.
//!
//! Exchanges are enqueued on the ranks' streams, like kernels. NCCL itself would wait for ever for
//! a rank that does not come. So communicators are non-blocking, and a thread watches pending
//! exchanges. If NCCL has lost a rank, or one exchange takes longer than the ranks' patience, the
//! thread ends the communicators. Calls that wait for the devices then return an error.
//!
//! Only messages from rank to rank are used, so that NCCL needs no NVLink multicast.

mod library;

use super::RankOptions;
use crate::cuda::device::{CudaError, DeviceVec, Gpu, StreamGuard};
use cudarc::driver::CudaEvent;
use cudarc::driver::sys::{self, CUresult};
use library::{CLOSE, Comm, EXCHANGE, Nccl};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Returns the library's version, if the library is usable.
pub(super) fn version() -> Option<String> {
    Nccl::get().ok().map(Nccl::version_text)
}

/// How long NCCL may take to connect ranks of one process.
const CONNECTING: Duration = Duration::from_secs(60);
/// How long ranks wait for each other by default.
pub(super) const PATIENCE: Duration = Duration::from_secs(8);
/// Time between two checks of pending exchanges.
const LOOK: Duration = Duration::from_millis(20);
/// How long ranks wait for each other when they end their work.
const CLOSING: Duration = Duration::from_secs(3);
/// Numbers that each rank sends to each other rank in the test.
const PATTERN: usize = 256;

/// Bytes that a rank sends to another one, or gets from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    pub(super) send: bool,
    pub(super) peer: usize,
    pub(super) address: u64,
    pub(super) bytes: usize,
}

/// The communicators of this process's ranks.
pub(super) struct Messages {
    shared: Arc<Shared>,
    watch: Option<JoinHandle<()>>,
}

struct Shared {
    nccl: &'static Nccl,
    patience: Duration,
    gpus: Vec<Gpu>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Empty once the communicators are aborted.
    comms: Vec<Comm>,
    /// Exchanges of each rank that are enqueued and not known to have finished.
    under_way: Vec<VecDeque<Exchange>>,
    /// Why exchanges are no longer possible.
    failure: Option<String>,
    closing: bool,
}

// SAFETY: communicators may be used from any thread, one at a time: they are behind a mutex.
unsafe impl Send for State {}

/// An exchange on one rank's stream.
struct Exchange {
    reached: CudaEvent,
    over: CudaEvent,
    /// When the stream was first seen to have reached the exchange.
    since: Option<Instant>,
}

impl Messages {
    /// Connects devices of one process, one rank each.
    pub(super) fn open(gpus: &[Gpu]) -> Result<Messages, CudaError> {
        let nccl = Nccl::get()?;
        let own = |gpu: &Gpu| gpu.context().cu_device();
        for (k, gpu) in gpus.iter().enumerate() {
            if gpus[..k].iter().any(|other| own(other) == own(gpu)) {
                let reason = format!("device {} is named twice: NCCL takes each once", own(gpu));
                return Err(CudaError::Peers(reason));
            }
        }
        Messages::connect(nccl, gpus, (0, gpus.len()), (CONNECTING, PATIENCE))
    }

    /// Connects this process's device with the devices of other processes.
    pub(super) fn join(gpu: &Gpu, options: &RankOptions) -> Result<Messages, CudaError> {
        // Without the variable every process would wait for others at a different address.
        if std::env::var_os("NCCL_COMM_ID").is_none() {
            let reason = "ranks need an address where they meet: NCCL_COMM_ID=HOST:PORT";
            return Err(CudaError::Peers(reason.to_owned()));
        }
        let RankOptions { rank, size, patience, .. } = *options;
        Messages::connect(
            Nccl::get()?,
            std::slice::from_ref(gpu),
            (rank, size),
            (patience, patience),
        )
    }

    /// Makes the communicators of `count` ranks from rank `first` on, and tries them.
    fn connect(
        nccl: &'static Nccl,
        gpus: &[Gpu],
        (first, count): (usize, usize),
        (connecting, patience): (Duration, Duration),
    ) -> Result<Messages, CudaError> {
        let id = nccl.unique_id()?;
        let state = State {
            comms: Vec::new(),
            under_way: gpus.iter().map(|_| VecDeque::new()).collect(),
            failure: None,
            closing: false,
        };
        let shared = Arc::new(Shared {
            nccl,
            patience,
            gpus: gpus.to_vec(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        let what = "communicators of all ranks";
        let mut state = shared.state.lock();
        // If one fails, the communicators made before are ended with the others.
        let begun = nccl.group(what, || {
            for (rank, gpu) in (first..).zip(gpus) {
                let current = gpu.stream_guard()?;
                state.comms.push(nccl.begin(id, rank, count)?);
                drop(current);
            }
            Ok(())
        });
        let made = begun.and_then(|()| shared.settle(&state, what, connecting));
        made.map_err(|error| shared.end(&mut state, error))?;
        drop(state);
        // If the thread cannot start, the communicators end with the messages.
        let mut messages = Messages { shared: shared.clone(), watch: None };
        let watch = std::thread::Builder::new().spawn(move || shared.watch());
        let refused = |error: std::io::Error| CudaError::Nccl { what, reason: error.to_string() };
        messages.watch = Some(watch.map_err(refused)?);
        messages.try_all((first, count), connecting)?;
        Ok(messages)
    }

    /// Every rank sends every other rank a pattern, which also makes the connections between them.
    fn try_all(&self, (first, count): (usize, usize), limit: Duration) -> Result<(), CudaError> {
        let pattern = |from: usize, to: usize| {
            let seed = (from * count + to) as u32 + 1;
            (0..PATTERN as u32).map(move |i| (i + 1).wrapping_mul(2_654_435_761).wrapping_mul(seed))
        };
        let mut rooms: Vec<(DeviceVec<u32>, DeviceVec<u32>)> = Vec::new();
        for (rank, gpu) in (first..).zip(&self.shared.gpus) {
            let out: Vec<u32> = (0..count).flat_map(|to| pattern(rank, to)).collect();
            rooms.push((gpu.upload(&out)?, gpu.zeros(count * PATTERN)?));
        }
        let of = |rank: usize, (out, room): &(DeviceVec<u32>, DeviceVec<u32>)| {
            let bytes = PATTERN * size_of::<u32>();
            let to = |peer: usize, send: bool| {
                let start = if send { *out.address() } else { *room.address() };
                Transfer { send, peer, address: start + (peer * bytes) as u64, bytes }
            };
            let others = (0..count).filter(|&peer| peer != rank);
            others.flat_map(|peer| [to(peer, true), to(peer, false)]).collect()
        };
        let transfers: Vec<Vec<_>> =
            rooms.iter().enumerate().map(|(k, room)| of(first + k, room)).collect();
        // SAFETY: every buffer has this many numbers; all are waited for below.
        unsafe { self.exchange_within(&transfers, limit) }?;
        self.synchronize()?;
        for (rank, (gpu, (_, room))) in (first..).zip(self.shared.gpus.iter().zip(&rooms)) {
            let got = gpu.download(room)?;
            for from in (0..count).filter(|&from| from != rank) {
                let got = &got[from * PATTERN..][..PATTERN];
                if !got.iter().copied().eq(pattern(from, rank)) {
                    let reason = format!("what NCCL brought rank {rank} from rank {from} is wrong");
                    return Err(CudaError::Peers(reason));
                }
            }
        }
        Ok(())
    }

    /// Returns the numbers of all `count` ranks, given those of this process's ranks, which begin
    /// at `first`.
    pub(super) fn gather(
        &self,
        first: usize,
        count: usize,
        own: &[u64],
    ) -> Result<Vec<u64>, CudaError> {
        let mut rooms: Vec<DeviceVec<u64>> = Vec::new();
        for (gpu, &value) in self.shared.gpus.iter().zip(own) {
            rooms.push(gpu.upload(&vec![value; count])?);
        }
        let bytes = size_of::<u64>();
        let of = |(rank, room): (usize, &DeviceVec<u64>)| {
            let at = |k: usize| *room.address() + (k * bytes) as u64;
            let to = |peer| Transfer { send: true, peer, address: at(rank), bytes };
            let from = |peer| Transfer { send: false, peer, address: at(peer), bytes };
            let others = (0..count).filter(|&peer| peer != rank);
            others.flat_map(|peer| [to(peer), from(peer)]).collect()
        };
        let transfers: Vec<Vec<_>> = (first..).zip(&rooms).map(of).collect();
        // SAFETY: every buffer has a number for each rank; all are waited for below.
        unsafe { self.exchange(&transfers) }?;
        self.synchronize()?;
        self.shared.gpus[0].download(&rooms[0])
    }

    /// Enqueues the transfers of each rank of this process. A rank sends data to another rank in
    /// the order in which that rank receives it.
    ///
    /// # Safety
    /// The memory is of the ranks' devices and lives until their streams have passed this. Until
    /// then no one writes the memory to be sent or uses the memory to be received.
    pub(super) unsafe fn exchange(&self, transfers: &[Vec<Transfer>]) -> Result<(), CudaError> {
        // SAFETY: the caller's promise.
        unsafe { self.exchange_within(transfers, self.shared.patience) }
    }

    /// # Safety
    /// See [`Messages::exchange`].
    unsafe fn exchange_within(
        &self,
        transfers: &[Vec<Transfer>],
        limit: Duration,
    ) -> Result<(), CudaError> {
        if transfers.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let Shared { nccl, gpus, .. } = &*self.shared;
        // No other thread begins a capture until it is enqueued. Lock devices first, then the
        // state: a thread that has a device exclusively may wait for the state, so a thread that
        // holds the state must not wait for a device.
        let streams =
            gpus.iter().map(Gpu::stream_guard).collect::<Result<Vec<StreamGuard<'_>>, _>>()?;
        streams.iter().try_for_each(StreamGuard::check_not_capturing)?;
        let mut state = self.shared.state.lock();
        self.shared.check(&state)?;
        let reached = self.shared.marks(&streams)?;
        let comms = state.comms.clone();
        let enqueued = nccl.group(EXCHANGE, || {
            for ((comm, stream), of) in comms.iter().zip(&streams).zip(transfers) {
                for &Transfer { send, peer, address, bytes } in of.iter().filter(|t| t.bytes > 0) {
                    // SAFETY: communicators are ready (every call is waited for) and not aborted
                    // (`check`); the rest is the caller's promise.
                    unsafe { nccl.transfer(*comm, stream.raw(), (send, peer), (address, bytes)) }?;
                }
            }
            Ok(())
        });
        let enqueued = enqueued.and_then(|()| self.shared.settle(&state, EXCHANGE, limit));
        // An exchange that is not marked would not be watched.
        let over = enqueued.and_then(|()| self.shared.marks(&streams));
        let over = over.map_err(|error| self.shared.end(&mut state, error))?;
        for (queue, (reached, over)) in
            state.under_way.iter_mut().zip(reached.into_iter().zip(over))
        {
            queue.push_back(Exchange { reached, over, since: None });
        }
        Ok(())
    }

    /// Waits for the devices.
    pub(super) fn synchronize(&self) -> Result<(), CudaError> {
        let mut outcome = Ok(());
        for gpu in &self.shared.gpus {
            outcome = outcome.and(gpu.synchronize());
        }
        // This is the caller's mistake, which does not affect other ranks.
        if let Err(CudaError::Capturing) = outcome {
            return outcome;
        }
        // Results of aborted work are invalid.
        let mut state = self.shared.state.lock();
        match outcome.and_then(|()| self.shared.check(&state)) {
            Err(error) if state.failure.is_none() => Err(self.shared.end(&mut state, error)),
            outcome => outcome,
        }
    }

    /// Returns the version of NCCL.
    pub(super) fn version(&self) -> String {
        self.shared.nccl.version_text()
    }
}

impl Shared {
    /// Fails if an exchange has failed before.
    fn check(&self, state: &State) -> Result<(), CudaError> {
        let failed = |reason: &String| CudaError::Nccl { what: EXCHANGE, reason: reason.clone() };
        state.failure.as_ref().map(failed).map_or(Ok(()), Err)
    }

    /// Returns a mark on every stream.
    fn marks(&self, streams: &[StreamGuard<'_>]) -> Result<Vec<CudaEvent>, CudaError> {
        let mark = |(gpu, stream): (&Gpu, &StreamGuard<'_>)| {
            gpu.bind()?;
            let event = gpu.context().new_event(None)?;
            stream.record(&event)?;
            Ok(event)
        };
        self.gpus.iter().zip(streams).map(mark).collect()
    }

    /// Waits on this host until NCCL has finished the operation.
    fn settle(&self, state: &State, what: &'static str, limit: Duration) -> Result<(), CudaError> {
        let start = Instant::now();
        for &comm in &state.comms {
            // SAFETY: made by `begin`; aborted ones are no longer in the list.
            while !unsafe { self.nccl.is_ready(what, comm) }? {
                self.check(state)?;
                if start.elapsed() > limit {
                    return Err(late(what, limit));
                }
                match start.elapsed() < Duration::from_millis(1) {
                    true => std::thread::yield_now(),
                    false => std::thread::sleep(Duration::from_micros(50)),
                }
            }
        }
        Ok(())
    }

    /// Ends the communicators for this reason, or for an earlier one.
    fn end(&self, state: &mut State, error: CudaError) -> CudaError {
        if state.failure.is_none() {
            state.failure = Some(match &error {
                CudaError::Nccl { reason, .. } => reason.clone(),
                other => other.to_string(),
            });
        }
        let comms = std::mem::take(&mut state.comms);
        // SAFETY: they are no longer in the list.
        unsafe { self.nccl.abort(&comms) };
        error
    }

    /// Watches pending exchanges until the ranks are closed.
    fn watch(&self) {
        let mut state = self.state.lock();
        while !state.closing && state.failure.is_none() {
            if let Err(error) = self.look(&mut state) {
                self.end(&mut state, error);
                return;
            }
            self.changed.wait_for(&mut state, LOOK);
        }
    }

    fn look(&self, state: &mut State) -> Result<(), CudaError> {
        self.check(state)?;
        for &comm in &state.comms {
            // SAFETY: made by `begin`; aborted ones are no longer in the list.
            unsafe { self.nccl.is_ready(EXCHANGE, comm) }?;
        }
        for (gpu, queue) in self.gpus.iter().zip(&mut state.under_way) {
            gpu.bind()?;
            while let Some(first) = queue.front_mut() {
                if passed(&first.over)? {
                    queue.pop_front();
                    continue;
                }
                if passed(&first.reached)? {
                    let since = *first.since.get_or_insert_with(Instant::now);
                    if since.elapsed() > self.patience {
                        return Err(late(EXCHANGE, self.patience));
                    }
                }
                break;
            }
        }
        Ok(())
    }
}

fn late(what: &'static str, limit: Duration) -> CudaError {
    let seconds = limit.as_secs_f32();
    let reason = format!(
        "not over after {seconds} s: another rank has not come, has failed, or was not asked for it"
    );
    CudaError::Nccl { what, reason }
}

/// Whether a stream has passed the event.
fn passed(event: &CudaEvent) -> Result<bool, CudaError> {
    // SAFETY: the event lives, and its context is current.
    match unsafe { sys::cuEventQuery(event.cu_event()) } {
        CUresult::CUDA_ERROR_NOT_READY => Ok(false),
        answer => Ok(answer.result().map(|()| true)?),
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        // Memory that another rank still reads must not be freed: ranks end together, unless one
        // has failed.
        let _ = self.synchronize();
        let mut state = self.shared.state.lock();
        let comms = state.comms.clone();
        // SAFETY: communicators in the list are not aborted, and no other call uses them while the
        // state is locked.
        let ended = self.shared.nccl.group(CLOSE, || unsafe { self.shared.nccl.finalize(&comms) });
        let ended = ended.and_then(|()| self.shared.settle(&state, CLOSE, CLOSING));
        state.closing = true;
        self.shared.changed.notify_all();
        let comms = std::mem::take(&mut state.comms);
        drop(state);
        // SAFETY: they are no longer in the list; those that are destroyed have been finalized.
        unsafe {
            match ended {
                Ok(()) => self.shared.nccl.destroy(&comms),
                Err(_) => self.shared.nccl.abort(&comms),
            }
        }
        if let Some(watch) = self.watch.take() {
            let _ = watch.join();
        }
    }
}
