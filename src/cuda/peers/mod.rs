//! Work that several devices share, of one machine or of several.
//!
//! [`Peers`] are ranks, one device each. Ranks of one process write into each other's memory, over
//! NVLink or PCIe, if the driver allows it ([`Peers::open`]). One thread drives all of them and
//! enqueues work on every rank's stream. Ranks wait for each other on the devices, by flags in each
//! other's memory (`kernels/peers`), not on the host. In two cases ranks send each other messages
//! by NCCL, which also connects them: if devices do not reach each other's memory
//! ([`Peers::open_by_nccl`]), and if each rank is a separate process, on one host or several
//! ([`Peers::join`]).
//!
//! [`SlabSolver`] solves one large map on all ranks, and [`BatchSolver`] independent maps side by
//! side; both work with any link. [`CudaEngine`](crate::cuda::CudaEngine) runs whole steps of one
//! design on ranks that reach each other's memory, or on a single rank.
//!
//! Ranks that write into each other's memory may share a device. They are then several streams on
//! it, which is useful only for tests.

mod batch;
mod choose;
mod exchange;
mod nccl;
mod options;
mod reach;
mod shared;
mod signals;
mod slabs;
mod sums;

pub use batch::BatchSolver;
pub use choose::Workload;
pub use options::RankOptions;
pub(crate) use shared::SharedMap;
pub use slabs::SlabSolver;
pub(crate) use slabs::first_rows;
pub(crate) use sums::SendSums;

use crate::cuda::bodies::MOST_RANKS;
use crate::cuda::device::{CudaError, Gpu, Graph, Pointer};
use crate::hash::Fnv1a;
use nccl::{Messages, Transfer};
use parking_lot::{ReentrantMutex, ReentrantMutexGuard};
use signals::Signals;
use std::ops::Range;
use std::sync::Arc;

/// Returns the start of each of `parts` intervals of `0..count`, and the end of the last.
fn divide(count: usize, parts: usize) -> Vec<usize> {
    (0..=parts).map(|k| count * k / parts).collect()
}

/// Devices that share work and wait for each other. Clones share the same devices.
#[derive(Clone)]
pub struct Peers(Arc<Ranks>);

/// The ranks, which wait for each other's work before their memory is freed.
struct Ranks {
    link: Link,
    /// The devices of this process.
    gpus: Vec<Gpu>,
    /// The rank of the first of them, and the number of ranks in all processes.
    first: usize,
    count: usize,
    /// Held while barriers are enqueued: every rank needs them in the same order.
    launch_lock: ReentrantMutex<()>,
}

/// How ranks receive data from each other.
enum Link {
    /// They write into each other's memory, with barriers between.
    Memory(Signals),
    Messages(Messages),
}

impl Peers {
    /// Fewest devices that solve a large map by NCCL in less time than one device: estimated from
    /// two H200s, which take longer than one (benchmarks/experiments.md).
    pub const FEWEST_BY_NCCL: usize = 4;

    /// Opens a rank on each of `devices`, by ordinal; one may be named more than once.
    ///
    /// Every rank writes to the memory of every other rank, which checks the data, and reads it
    /// back: some machines claim that devices reach each other and lose data.
    ///
    /// # Errors
    /// [`CudaError::Peers`] for no device or more than 16, and for devices that do not reach each
    /// other's memory or get wrong data there; otherwise as [`Gpu::open`].
    pub fn open(devices: &[usize]) -> Result<Peers, CudaError> {
        check_count(devices.len())?;
        Peers::on(open(devices)?)
    }

    /// Like [`Peers::open`], on devices that are already open.
    ///
    /// # Errors
    /// Those of [`Peers::open`], and [`CudaError::Peers`] for clones of one [`Gpu`].
    pub fn on(gpus: Vec<Gpu>) -> Result<Peers, CudaError> {
        check_count(gpus.len())?;
        if (1..gpus.len()).any(|k| gpus[..k].iter().any(|gpu| gpu.is(&gpus[k]))) {
            return Err(CudaError::Peers("two ranks are clones of one device".into()));
        }
        let (link, count) = (Link::Memory(Signals::new(&gpus)?), gpus.len());
        Ok(Peers::linked(link, gpus, (0, count)))
    }

    /// Opens a rank on each of `devices`, by ordinal, that send each other messages by NCCL: for
    /// devices that do not reach each other's memory. Each rank sends a test message to each other
    /// rank.
    ///
    /// NCCL must be allowed to use several devices in one process. It should not use NVLink
    /// multicast, which is not needed here: `NCCL_NVLS_ENABLE=0`.
    ///
    /// # Errors
    /// [`CudaError::NoNccl`] if it is not installed; [`CudaError::Peers`] for no device or more
    /// than 16, a device that is named twice, or an NCCL before 2.14; [`CudaError::Nccl`] if NCCL
    /// refuses something; otherwise as [`Gpu::open`].
    pub fn open_by_nccl(devices: &[usize]) -> Result<Peers, CudaError> {
        check_count(devices.len())?;
        let gpus = open(devices)?;
        let (link, count) = (Link::Messages(Messages::open(&gpus)?), gpus.len());
        Ok(Peers::linked(link, gpus, (0, count)))
    }

    /// [`Peers::open`], or [`Peers::open_by_nccl`] if devices do not reach each other's memory.
    ///
    /// # Errors
    /// [`CudaError::Peers`] with both reasons if neither works, or any other error of
    /// [`Peers::open`].
    pub fn open_any(devices: &[usize]) -> Result<Peers, CudaError> {
        match Peers::open(devices) {
            Err(CudaError::Peers(reason)) if devices.len() > 1 => Peers::open_by_nccl(devices)
                .map_err(|other| CudaError::Peers(format!("{reason}; {other}"))),
            outcome => outcome,
        }
    }

    /// Opens this process's rank, on a device by ordinal, and connects it with the ranks of the
    /// other processes, all of which call this. The ranks meet at the address `HOST:PORT` in the
    /// variable `NCCL_COMM_ID`, where NCCL listens in the process of rank 0. The variable must be
    /// the same in all processes, and set before any of their threads starts.
    ///
    /// If a rank fails or ends, the others notice it within their patience.
    ///
    /// # Errors
    /// See [`Peers::open_by_nccl`]; [`CudaError::Peers`] without an address, and
    /// [`CudaError::Nccl`] if not all ranks have come within the options' patience or two have the
    /// same device.
    pub fn join(options: &RankOptions, device: usize) -> Result<Peers, CudaError> {
        let gpu = Gpu::open(device)?;
        let link = Link::Messages(Messages::join(&gpu, options)?);
        Ok(Peers::linked(link, vec![gpu], (options.rank, options.size)))
    }

    /// Returns the ranks on these devices, given the first of them and the number of ranks in all
    /// processes.
    fn linked(link: Link, gpus: Vec<Gpu>, (first, count): (usize, usize)) -> Peers {
        let launch_lock = ReentrantMutex::default();
        Peers(Arc::new(Ranks { link, gpus, first, count, launch_lock }))
    }

    /// Returns the version of NCCL, if it is on the loader's path and new enough.
    pub fn nccl_version() -> Option<String> {
        nccl::version()
    }

    /// Returns the number of ranks, in all processes.
    pub fn count(&self) -> usize {
        self.0.count
    }

    /// Returns the ranks in this process.
    pub fn local(&self) -> Range<usize> {
        self.0.first..self.0.first + self.0.gpus.len()
    }

    /// Returns a rank's device.
    ///
    /// # Panics
    /// If this process has no such rank.
    pub fn gpu(&self, rank: usize) -> &Gpu {
        &self.0.gpus[rank - self.0.first]
    }

    /// Returns the devices of all ranks, all of which are in this process.
    pub(crate) fn gpus(&self) -> Vec<&Gpu> {
        (0..self.count()).map(|rank| self.gpu(rank)).collect()
    }

    /// Returns how ranks are linked, in words.
    pub fn link(&self) -> String {
        match &self.0.link {
            Link::Memory(_) => "peer access".to_owned(),
            Link::Messages(messages) => format!("NCCL {}", messages.version()),
        }
    }

    /// Waits until everything enqueued so far has run on every rank of this process.
    ///
    /// # Errors
    /// The failure of a device; [`CudaError::PeerMissing`] or [`CudaError::Nccl`] if a rank has
    /// waited in vain for another. Results since the last wait are then worthless, and so are later
    /// results of these ranks.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.0.synchronize()
    }

    /// Like [`Peers::synchronize`] for several ranks; does not wait for a single rank.
    pub(crate) fn wait_for_each_other(&self) -> Result<(), CudaError> {
        if self.count() > 1 { self.synchronize() } else { Ok(()) }
    }

    /// Returns where each rank writes which rank it has waited for in vain: 0, or 1 and that rank.
    /// Returns no address if no rank waits on its device.
    pub(crate) fn missing(&self) -> [Pointer<u32>; MOST_RANKS] {
        match &self.0.link {
            Link::Memory(signals) => signals.missing(),
            Link::Messages(_) => [Pointer::NULL; MOST_RANKS],
        }
    }

    /// Fails, in every process, unless all processes pass the same named values.
    ///
    /// # Errors
    /// [`CudaError::Peers`] with the first value that differs; otherwise as [`Peers::synchronize`].
    pub fn agree(&self, values: &[(&str, String)]) -> Result<(), CudaError> {
        for (name, value) in values {
            let hash = Fnv1a::new().text(name).text(value).finish();
            let all = self.gather(&vec![hash; self.0.gpus.len()])?;
            if let Some(rank) = all.iter().position(|&other| other != all[0]) {
                let reason = format!(
                    "{name} is not the same on rank 0 and on rank {rank}: on rank {} it is {value}",
                    self.0.first
                );
                return Err(CudaError::Peers(reason));
            }
        }
        Ok(())
    }

    /// Returns the numbers of all ranks, given those of this process's ranks, once all processes
    /// have called this.
    pub(crate) fn gather(&self, own: &[u64]) -> Result<Vec<u64>, CudaError> {
        match &self.0.link {
            Link::Messages(messages) => messages.gather(self.0.first, self.0.count, own),
            Link::Memory(_) => Ok(own.to_vec()),
        }
    }

    /// Whether ranks write into each other's memory.
    fn reach_memory(&self) -> bool {
        matches!(self.0.link, Link::Memory(_))
    }

    /// Refuses ranks that do not reach each other's memory, for work done in the memory of all.
    pub(crate) fn check_reach(&self) -> Result<(), CudaError> {
        if self.reach_memory() { Ok(()) } else { Err(self.no_reach()) }
    }

    fn no_reach(&self) -> CudaError {
        let by = self.link();
        CudaError::Peers(format!("this needs devices that reach each other's memory, not {by}"))
    }

    /// Makes all ranks wait for each other: work enqueued next on any of them runs after everything
    /// that was enqueued on each before. Not in a capture.
    pub(crate) fn barrier(&self) -> Result<(), CudaError> {
        let Link::Memory(signals) = &self.0.link else { return Err(self.no_reach()) };
        if self.count() == 1 {
            return Ok(());
        }
        // A thread that captures locks a device, and a thread that holds this lock may wait for
        // that device.
        if self.0.gpus.iter().any(Gpu::is_capturing) {
            return Err(CudaError::Capturing);
        }
        let _launching = self.launch_lock();
        signals.wait_for_all(&self.0.gpus)
    }

    /// Enqueues a barrier in a capture of a rank's stream: later work there runs after everything
    /// that other ranks enqueued before their barrier of the same number. Graphs of all ranks are
    /// launched by [`Peers::launch`].
    pub(crate) fn barrier_on(&self, rank: usize) -> Result<(), CudaError> {
        match &self.0.link {
            Link::Memory(_) if self.count() == 1 => Ok(()),
            Link::Memory(signals) => signals.barrier(self.gpu(rank), rank),
            Link::Messages(_) => Err(self.no_reach()),
        }
    }

    /// Returns, for each rank, a graph of the work that `body` enqueues. All are launched equally
    /// often.
    ///
    /// # Safety
    /// See [`Graph::capture`].
    pub(crate) unsafe fn graphs(
        &self,
        mut body: impl FnMut(usize) -> Result<(), CudaError>,
    ) -> Result<Vec<Graph>, CudaError> {
        let _launching = self.launch_lock();
        // SAFETY: the caller's promise; other threads enqueue no work of several devices meanwhile.
        let graph = |rank| unsafe { Graph::capture(self.gpu(rank), || body(rank)) };
        (0..self.count()).map(graph).collect()
    }

    /// Launches a graph of each rank. The graphs have equally many barriers, and no other thread's
    /// barriers come between.
    pub(crate) fn launch(&self, graphs: &mut [Graph]) -> Result<(), CudaError> {
        let _launching = self.launch_lock();
        graphs.iter_mut().try_for_each(Graph::launch)
    }

    /// While this is held no other thread enqueues barriers. In some calls, such as loading code
    /// and making graphs, the driver may wait for all of a device's work, and so for a rank that
    /// itself waits. A thread may hold the lock more than once. `None` for one rank, which waits
    /// for no other.
    pub(crate) fn launch_lock(&self) -> Option<ReentrantMutexGuard<'_, ()>> {
        (self.count() > 1).then(|| self.0.launch_lock.lock())
    }

    /// Enqueues the transfers between ranks, for each of this process's ranks; not for ranks that
    /// reach each other's memory.
    ///
    /// # Safety
    /// The memory is of the ranks' devices and lives until their streams have passed this. Until
    /// then no one writes the memory to be sent or uses the memory to be received.
    unsafe fn exchange(&self, transfers: &[Vec<Transfer>]) -> Result<(), CudaError> {
        match &self.0.link {
            // SAFETY: the caller's promise.
            Link::Messages(messages) => unsafe { messages.exchange(transfers) },
            Link::Memory(_) => Err(CudaError::Peers("these ranks send no messages".to_owned())),
        }
    }
}

fn check_count(found: usize) -> Result<(), CudaError> {
    if (1..=MOST_RANKS).contains(&found) {
        return Ok(());
    }
    Err(CudaError::Peers(format!("{found} ranks: expected 1 to {MOST_RANKS}")))
}

fn open(devices: &[usize]) -> Result<Vec<Gpu>, CudaError> {
    devices.iter().map(|&device| Gpu::open(device)).collect()
}

impl Ranks {
    fn synchronize(&self) -> Result<(), CudaError> {
        match &self.link {
            Link::Memory(signals) => signals.synchronize(&self.gpus),
            Link::Messages(messages) => messages.synchronize(),
        }
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        // Work on another rank's stream may write a flag in one rank's memory.
        if self.count > 1 {
            let _ = self.synchronize();
        }
    }
}
