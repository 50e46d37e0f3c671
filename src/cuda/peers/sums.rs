//! The density's sums, from every rank to the owners of the bins: `kernels/peers/sums.cu`.

use super::{MOST_RANKS, Peers};
use crate::cuda::bodies::Density;
use crate::cuda::device::{
    BLOCK, CudaError, CudaReal, Gpu, KernelArgument, Launch, blocks_at_once, function,
};
use cudarc::driver::CudaFunction;

/// `struct AllSums` of `kernels/peers/sums.cu`, a kernel's argument by value.
#[repr(C)]
#[derive(Clone, Copy)]
struct AllSums {
    values: [u64; MOST_RANKS],
    rest: [u64; MOST_RANKS],
    first: [u32; MOST_RANKS + 1],
    count: u32,
    rank: u32,
    unused: u32,
}

const _: () = assert!(size_of::<AllSums>() == 2 * MOST_RANKS * 8 + (MOST_RANKS + 4) * 4);

// SAFETY: laid out as the kernel declares it (both sides follow the C rules).
unsafe impl KernelArgument for AllSums {}

/// Sends the sums of the densities of all ranks to those that own the bins.
pub(in crate::cuda) struct SendSums {
    send: Vec<CudaFunction>,
    all: AllSums,
}

impl SendSums {
    /// Between densities of all ranks, over the same bins, of which those from `first[rank]` on,
    /// and before the next rank's, are a rank's own: multiples of four, and the number of bins.
    pub(in crate::cuda) fn new<T: CudaReal>(
        peers: &Peers,
        densities: &[&Density<T>],
        first: &[usize],
    ) -> Result<Self, CudaError> {
        let of = |rank| function(&peers.gpu(rank).kernels::<T>("sums")?, "send_sums");
        let mut all = AllSums {
            values: [0; MOST_RANKS],
            rest: [0; MOST_RANKS],
            first: [0; MOST_RANKS + 1],
            count: densities.len() as u32,
            rank: 0,
            unused: 0,
        };
        for (rank, density) in densities.iter().enumerate() {
            let (values, rest) = density.sums();
            (all.values[rank], all.rest[rank]) = (*values.address(), *rest.address());
        }
        for (to, &bin) in all.first.iter_mut().zip(first) {
            *to = bin as u32;
        }
        Ok(SendSums { send: (0..peers.count()).map(of).collect::<Result<_, _>>()?, all })
    }

    /// Enqueues a rank's part.
    ///
    /// # Safety
    /// The densities live where they are until it has run; every rank has deposited its bodies
    /// before, and none finishes bins, or deposits bodies of another step, before the barrier after
    /// it.
    pub(in crate::cuda) unsafe fn run(&self, gpu: &Gpu, rank: usize) -> Result<(), CudaError> {
        let all = AllSums { rank: rank as u32, ..self.all };
        let fours = (all.first[all.count as usize] as usize / 2).div_ceil(BLOCK as usize);
        let config = blocks_at_once(gpu, &self.send[rank], fours)?;
        // SAFETY: the argument is that of send_sums in kernels/peers/sums.cu; sums are two of every
        // bin, in memory that this rank reaches (`Peers::open`), and the caller promises the rest.
        unsafe { Launch::new(gpu, &self.send[rank]).arg(&all).launch(config) }
    }
}
