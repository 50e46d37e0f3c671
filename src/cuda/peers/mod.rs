//! Work that several devices of a machine share.
//!
//! [`Peers`] are ranks, a device each, that can write into each other's memory: over NVLink or
//! PCIe, as the driver allows. [`SlabSolver`] solves one large map on all of them,
//! [`PeersEngine`] takes whole steps of one design, and [`BatchSolver`] solves independent maps side by
//! side. One thread drives all ranks: what it asks for is
//! enqueued on every rank's stream, and ranks wait for each other on the devices, by flags in each
//! other's memory (`kernels/peers`), not on the host.
//!
//! Ranks may share a device; then they are as many streams on it, which is good for tests alone.

mod batch;
mod choose;
mod engine;
mod reach;
mod shared;
mod slabs;
mod step;
mod sums;

pub use batch::BatchSolver;
pub use choose::Work;
pub use engine::PeersEngine;
pub(in crate::cuda) use engine::Stage;
pub use slabs::SlabSolver;

use crate::cuda::bodies::Addresses;
use crate::cuda::device::{CudaError, DeviceVec, Gpu, KernelArgument, Launch, function};
use cudarc::driver::{CudaFunction, LaunchConfig};
use std::sync::Arc;
use std::time::Duration;

/// Most ranks: `MOST_RANKS` of `kernels/peers/meet.cu`.
const MOST_RANKS: usize = 16;
/// Numbers between signals: `WORDS` of `kernels/peers/meet.cu`.
const WORDS: usize = 32;
/// Where each of `parts` intervals of `0..count` begins, and their end.
fn divide(count: usize, parts: usize) -> Vec<usize> {
    (0..=parts).map(|k| count * k / parts).collect()
}

/// Where the rank stands that one has waited for in vain: `MISSING` there.
const MISSING: usize = 1;
/// Signals before those of each rank.
const ANNOUNCED: usize = 2;
/// How long a rank waits for another. What takes longest on the way to a meeting is a pass of the
/// largest solve, some 50 ms.
const PATIENCE: Duration = Duration::from_secs(4);

/// Devices that write into each other's memory, and wait for each other. Clones share them.
#[derive(Clone)]
pub struct Peers(Arc<Ranks>);

/// The ranks, which wait for each other's work before their memory goes.
struct Ranks(Vec<Rank>);

struct Rank {
    gpu: Gpu,
    meet: CudaFunction,
    /// In units of [`WORDS`]: how often it has met the others, whom it missed, and what each rank
    /// has announced.
    signals: DeviceVec<u32>,
}

/// `struct Signals` of `kernels/peers/meet.cu`, a kernel's argument by value.
#[repr(C)]
struct Signals([u64; MOST_RANKS]);

// SAFETY: as many addresses as the kernel declares.
unsafe impl KernelArgument for Signals {}

impl Peers {
    /// Opens a rank on each of `devices`, by ordinal; one may be named more than once.
    ///
    /// Every rank writes to the memory of every other one, which checks what arrived, and reads
    /// it back: some machines claim that devices reach each other and lose data.
    ///
    /// # Errors
    /// [`CudaError::Peers`] for no device or more than 16, for devices that do not reach
    /// each other's memory or get wrong data there; else as [`Gpu::open`].
    pub fn open(devices: &[usize]) -> Result<Peers, CudaError> {
        check_count(devices.len())?;
        Peers::on(devices.iter().map(|&d| Gpu::open(d)).collect::<Result<_, _>>()?)
    }

    /// The same on devices that are open.
    ///
    /// # Errors
    /// As [`Peers::open`].
    pub fn on(gpus: Vec<Gpu>) -> Result<Peers, CudaError> {
        check_count(gpus.len())?;
        reach::connect(&gpus)?;
        let count = gpus.len();
        let rank = |gpu: Gpu| {
            let module = gpu.kernels::<f32>("meet")?;
            let signals = gpu.zeros((ANNOUNCED + count) * WORDS)?;
            // They must be zero before another rank announces itself.
            gpu.synchronize()?;
            Ok(Rank { meet: function(&module, "meet")?, signals, gpu })
        };
        let ranks = gpus.into_iter().map(rank).collect::<Result<Vec<_>, CudaError>>()?;
        let peers = Peers(Arc::new(Ranks(ranks)));
        // A kernel's first launch may wait for all of a device's work: for none that waits itself.
        for rank in 0..peers.count() {
            peers.meet_first(rank, 0)?;
            peers.gpu(rank).synchronize()?;
        }
        for _ in 0..3 {
            peers.meet()?;
        }
        peers.synchronize()?;
        Ok(peers)
    }

    /// Number of ranks.
    pub fn count(&self) -> usize {
        self.0.0.len()
    }

    /// A rank's device.
    ///
    /// # Panics
    /// When there is no such rank.
    pub fn gpu(&self, rank: usize) -> &Gpu {
        &self.0.0[rank].gpu
    }

    /// Waits until everything enqueued so far has run on every rank.
    ///
    /// # Errors
    /// What failed on a device; [`CudaError::PeerMissing`] when a rank has waited in vain for
    /// another: what was computed since then is worth nothing, nor is what these ranks compute
    /// later.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.0.synchronize()
    }

    /// Where each rank says whom it has waited for in vain: 0, or 1 and that rank.
    pub(in crate::cuda) fn missing(&self) -> Addresses {
        let mut words = Addresses::of(self.0.0.iter().map(|rank| &rank.signals));
        for word in &mut words.0[..self.count()] {
            *word += (MISSING * WORDS * size_of::<u32>()) as u64;
        }
        words
    }

    /// Enqueues [`Peers::meet_on`] on every rank.
    fn meet(&self) -> Result<(), CudaError> {
        (0..self.count()).try_for_each(|rank| self.meet_on(rank))
    }

    /// Enqueues on a rank's stream: what comes next there runs after everything that was enqueued on
    /// other ranks before they met as often.
    fn meet_on(&self, rank: usize) -> Result<(), CudaError> {
        self.meet_first(rank, self.count())
    }

    /// The same, with the first `count` ranks.
    fn meet_first(&self, rank: usize, count: usize) -> Result<(), CudaError> {
        let mut signals = Signals([0; MOST_RANKS]);
        for (address, rank) in signals.0.iter_mut().zip(&self.0.0) {
            *address = *rank.signals.address();
        }
        let (number, count) = (rank as u32, count as u32);
        let limit = PATIENCE.as_nanos() as u64;
        let one_warp =
            LaunchConfig { grid_dim: (1, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: 0 };
        let Rank { gpu, meet, .. } = &self.0.0[rank];
        // SAFETY: the arguments are those of meet in kernels/peers/meet.cu; every rank's signals
        // are as many as it counts on, live as long as `self`, whose last owner waits for all ranks
        // before they go, and can be reached from here (`Peers::open`); nothing but this kernel
        // writes them.
        unsafe {
            Launch::new(gpu, meet)
                .arg(&signals)
                .arg(&number)
                .arg(&count)
                .arg(&limit)
                .launch(one_warp)
        }
    }
}

fn check_count(found: usize) -> Result<(), CudaError> {
    if (1..=MOST_RANKS).contains(&found) {
        return Ok(());
    }
    Err(CudaError::Peers(format!("{found} ranks: expected 1 to {MOST_RANKS}")))
}

impl Ranks {
    fn synchronize(&self) -> Result<(), CudaError> {
        let mut first = Ok(());
        // All of them, whatever one says: their memory may be freed next.
        for (k, Rank { gpu, signals, .. }) in self.0.iter().enumerate() {
            let word = signals.slice(MISSING * WORDS..MISSING * WORDS + 1);
            let outcome = match gpu.download(word) {
                Ok(word) if word[0] == 0 => Ok(()),
                Ok(word) => Err(CudaError::PeerMissing { rank: k, peer: word[0] as usize - 1 }),
                Err(error) => Err(error),
            };
            first = match (first, outcome) {
                // Who was missed failed itself, and says at what.
                (Err(CudaError::PeerMissing { .. }), Err(error)) => Err(error),
                (first, outcome) => first.and(outcome),
            };
        }
        first
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        // What announces itself in one rank's memory may run on another one's stream.
        let _ = self.synchronize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::device::kernel_constant;

    #[test]
    fn signals_stand_where_the_kernels_look() {
        let constant = |name| kernel_constant("meet", name);
        assert_eq!(constant("MOST_RANKS"), MOST_RANKS.to_string());
        assert_eq!(constant("WORDS"), WORDS.to_string());
    }
}
