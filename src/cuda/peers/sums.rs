//! Sends the density's sums from every rank to the owners of the bins: `kernels/peers/sums.cu`.

use super::{MOST_RANKS, Peers};
use crate::cuda::bodies::Density;
use crate::cuda::device::bindings::peers::{self as kernels, AllSums};
use crate::cuda::device::{BLOCK, CudaError, CudaReal, Gpu, Kernel, blocks_at_once, pointers};

/// Sends the sums of the densities of all ranks to the ranks that own the bins.
pub(crate) struct SendSums<T: CudaReal> {
    send: Vec<Kernel<kernels::SendSums<T>>>,
    all: AllSums<T>,
}

impl<T: CudaReal> SendSums<T> {
    /// Makes it for densities of all ranks over the same bins. A rank owns the bins from
    /// `first[rank]` on, up to the next rank's first. All values of `first` are multiples of four,
    /// and then comes the number of bins.
    pub(crate) fn new(
        peers: &Peers,
        densities: &[&Density<T>],
        first: &[usize],
    ) -> Result<Self, CudaError> {
        let of = |rank| Kernel::new(&peers.gpu(rank).kernels::<T>("sums")?);
        let mut all = AllSums {
            values: pointers(densities.iter().map(|density| density.sums().0)),
            carry: pointers(densities.iter().map(|density| density.sums().1)),
            first: [0; MOST_RANKS + 1],
            count: densities.len() as u32,
            rank: 0,
            padding: 0,
        };
        for (to, &bin) in all.first.iter_mut().zip(first) {
            *to = bin as u32;
        }
        Ok(SendSums { send: (0..peers.count()).map(of).collect::<Result<_, _>>()?, all })
    }

    /// Enqueues a rank's part.
    ///
    /// # Safety
    /// The densities neither move nor are dropped until it has run. Every rank has deposited its
    /// bodies before. No rank finishes bins, or deposits bodies of another step, before the barrier
    /// after it.
    pub(crate) unsafe fn run(&self, gpu: &Gpu, rank: usize) -> Result<(), CudaError> {
        let all = AllSums { rank: rank as u32, ..self.all };
        let fours = (all.first[all.count as usize] as usize / 2).div_ceil(BLOCK as usize);
        let config = blocks_at_once(gpu, &self.send[rank], fours)?;
        // SAFETY: there are two sums of every bin, in memory that this rank reaches
        // (`Peers::open`), and the caller promises the rest.
        unsafe { self.send[rank].launch_as(gpu, config, &kernels::SendSums { all }) }
    }
}
