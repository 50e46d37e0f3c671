//! Barriers of ranks that reach each other's memory: by flags in graphs (`kernels/peers/meet.cu`),
//! and by events elsewhere.

use super::reach;
use crate::cuda::device::bindings::peers::{self as kernels, Meet};
use crate::cuda::device::constants::{MOST_RANKS, SIGNAL_WORDS as WORDS};
use crate::cuda::device::{CudaError, DeviceVec, Gpu, Kernel, Pointer, blocks_with, pointers};
use cudarc::driver::CudaEvent;
use std::time::Duration;

/// Index of the rank that one has waited for in vain: `MISSING` there.
const MISSING: usize = 1;
/// Number of signals before the signals from each rank.
const ANNOUNCED: usize = 2;
/// How long a rank waits for another in a graph. The longest work before a barrier is a pass of the
/// largest solve, some 50 ms. Graphs begin once all ranks have finished their earlier work.
const PATIENCE: Duration = Duration::from_secs(4);

/// The signals of all ranks. A single rank waits for no other and has none.
pub(super) struct Signals(Vec<Own>);

struct Own {
    meet: Kernel<Meet>,
    /// In units of [`WORDS`]: the number of the rank's barriers, the rank that it missed, and the
    /// announcements from each rank.
    words: DeviceVec<u32>,
    /// The progress of the rank's stream when ranks last waited for each other by events.
    reached: CudaEvent,
}

impl Signals {
    /// Makes a rank on each of `gpus`: checks that they reach each other, and enqueues a first
    /// barrier.
    pub(super) fn new(gpus: &[Gpu]) -> Result<Self, CudaError> {
        if gpus.len() == 1 {
            return Ok(Signals(Vec::new()));
        }
        reach::connect(gpus)?;
        let own = |gpu: &Gpu| {
            let module = gpu.kernels::<f32>("meet")?;
            let words = gpu.zeros((ANNOUNCED + gpus.len()) * WORDS)?;
            // The flags must be zero before another rank announces itself.
            gpu.synchronize()?;
            let reached = gpu.context().new_event(None)?;
            Ok(Own { meet: Kernel::new(&module)?.with(blocks_with(32, 1)), words, reached })
        };
        let signals = Signals(gpus.iter().map(own).collect::<Result<_, CudaError>>()?);
        // A kernel's first launch may wait for all of a device's work, so it comes while no work
        // waits itself.
        for (rank, gpu) in gpus.iter().enumerate() {
            signals.barrier_of(gpu, rank, 0)?;
            gpu.synchronize()?;
        }
        for _ in 0..3 {
            for (rank, gpu) in gpus.iter().enumerate() {
                signals.barrier(gpu, rank)?;
            }
        }
        signals.synchronize(gpus)?;
        Ok(signals)
    }

    /// Enqueues a wait on all ranks' streams: later work there runs after everything that was
    /// enqueued on any of them before. This never blocks a device, however far apart the ranks are.
    pub(super) fn wait_for_all(&self, gpus: &[Gpu]) -> Result<(), CudaError> {
        for (gpu, Own { reached, .. }) in gpus.iter().zip(&self.0) {
            let stream = gpu.stream_guard()?;
            stream.check_not_capturing()?;
            stream.record(reached)?;
        }
        for (k, gpu) in gpus.iter().enumerate() {
            let stream = gpu.stream_guard()?;
            let mut others = self.0.iter().enumerate().filter(|(other, _)| *other != k);
            others.try_for_each(|(_, own)| stream.wait_for(&own.reached))?;
        }
        Ok(())
    }

    /// Enqueues a barrier on a rank's stream: later work there runs after everything that other
    /// ranks enqueued before their barrier of the same number.
    pub(super) fn barrier(&self, gpu: &Gpu, rank: usize) -> Result<(), CudaError> {
        self.barrier_of(gpu, rank, self.0.len())
    }

    /// Enqueues a barrier of the first `count` ranks.
    fn barrier_of(&self, gpu: &Gpu, rank: usize, count: usize) -> Result<(), CudaError> {
        let arguments = Meet {
            signals: kernels::Signals { of: pointers(self.0.iter().map(|own| &own.words)) },
            rank: rank as u32,
            count: count as u32,
            limit: PATIENCE.as_nanos() as u64,
        };
        // SAFETY: every rank has as many signals as the kernel assumes. They live as long as
        // `self`, whose owner waits for all ranks before they are freed, and can be reached from
        // here (`Signals::new`). Only this kernel writes them.
        unsafe { self.0[rank].meet.launch(gpu, &arguments) }
    }

    /// Returns where each rank writes which rank it has waited for in vain: 0, or 1 and that rank.
    pub(super) fn missing(&self) -> [Pointer<u32>; MOST_RANKS] {
        let mut words = [Pointer::NULL; MOST_RANKS];
        for (word, own) in words.iter_mut().zip(&self.0) {
            *word = (&own.words.slice(MISSING * WORDS..MISSING * WORDS + 1)).into();
        }
        words
    }

    /// Waits for all ranks, and reports the first rank that waited in vain for one that itself
    /// missed none. A missed rank that misses another may be late only for that reason.
    pub(super) fn synchronize(&self, gpus: &[Gpu]) -> Result<(), CudaError> {
        if let [gpu] = gpus {
            return gpu.synchronize();
        }
        let (mut first, mut missed) = (Ok(()), vec![None; gpus.len()]);
        // Waits for all ranks, even if one fails: their memory may be freed next.
        for (k, (gpu, Own { words, .. })) in gpus.iter().zip(&self.0).enumerate() {
            let word = words.slice(MISSING * WORDS..MISSING * WORDS + 1);
            let outcome = match gpu.download(word) {
                Ok(word) => {
                    missed[k] = (word[0] as usize).checked_sub(1);
                    Ok(())
                }
                Err(error) => Err(CudaError::OnRank { rank: k, source: Box::new(error) }),
            };
            // The missed rank itself failed, and reports the cause.
            first = first.and(outcome);
        }
        first?;
        who_missed(&missed)
            .map_or(Ok(()), |(rank, peer)| Err(CudaError::PeerMissing { rank, peer }))
    }
}

/// Returns the first rank whose missed peer missed none, with that peer. Without such a rank,
/// returns the first rank that missed one, with its peer.
fn who_missed(missed: &[Option<usize>]) -> Option<(usize, usize)> {
    let all = || missed.iter().enumerate().filter_map(|(rank, &peer)| Some((rank, peer?)));
    all().find(|&(_, peer)| missed[peer].is_none()).or_else(|| all().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_and_late_ranks_are_distinguished() {
        assert_eq!(who_missed(&[None; 3]), None);
        assert_eq!(who_missed(&[Some(1), None, Some(1)]), Some((0, 1)));
        assert_eq!(who_missed(&[Some(2), None, Some(1)]), Some((2, 1)));
        assert_eq!(who_missed(&[Some(1), Some(0)]), Some((0, 1)));
    }
}
