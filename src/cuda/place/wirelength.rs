//! Wirelength and its gradient on a device: `kernels/place/wirelength.cu`.
//!
//! HPWL of all nets, the weighted average of those that take part in it (Hsu, Chang and Balabanov,
//! DAC 2011; see [`crate::wirelength`]), and the average's gradient on every movable cell, in
//! layout units and net weights. Nets are brought to an order of this operator's own: small ones
//! first, some thousands at a time by number of pins, and cut into chunks that a warp takes, so
//! that its lanes take the same number of turns. Every sum runs in a fixed order: the same bits on
//! every run, and for any number of devices, of which each takes an interval of the nets and makes
//! the sums of the cells in its share ([`BodyBlocks`]).

use super::nets::{DeviceNets, Layout, NetLists, WARP};
use crate::cuda::bodies::{Addresses, BodyBlocks, Shares};
use crate::cuda::device::{
    BLOCK, Branch, CudaError, CudaReal, DeviceSlice, DeviceVec, Gpu, KernelArgument, Launch,
    MOST_PINS, blocks_for, check_length, grid_of,
};
use crate::wirelength::{Netlist, Wirelength};
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaFunction, LaunchConfig};
use std::ops::Range;
use std::sync::Arc;

/// Blocks that add up the intervals' lengths.
const ADDERS: usize = 64;

/// The weighted-average wirelength of one netlist on a device.
pub struct CudaWirelength<T: CudaReal> {
    gpu: Gpu,
    /// Bodies that positions are given of, movable cells first.
    bodies: usize,
    nets: DeviceNets<T>,
    lengths_and_pins: CudaFunction,
    config: LaunchConfig,
    /// Kernels for nets of more than one piece; none without such nets.
    huge: Option<Huge<T>>,
    lists: NetLists,
    /// HPWL of every interval, then WA, in memory of the first rank.
    parts: Arc<DeviceVec<f64>>,
    /// Sums of them, and the ticket of the blocks that make these.
    partial: DeviceVec<f64>,
    ticket: DeviceVec<u32>,
    /// The number of blocks that do: none but on the first rank.
    adders: usize,
    gather: CudaFunction,
    /// The cells that it sums the pins of.
    cells: Range<usize>,
    /// Cells of many pins, and how many.
    heavy: DeviceVec<u32>,
    heavies: u32,
    /// A pair per pin.
    pin_gradient: DeviceVec<T>,
    /// Pin gradients of all ranks.
    pin_gradients: PinGradients,
    gradient: [DeviceVec<T>; 2],
    /// HPWL and WA.
    lengths: DeviceVec<f64>,
    /// With several ranks, of each movable cell a bit for every rank that has a net of it.
    needed: Option<DeviceVec<u16>>,
    fixed_hpwl: f64,
}

/// Nets of more than one piece.
struct Huge<T: CudaReal> {
    sums: CudaFunction,
    gradients: CudaFunction,
    /// Both run beside the kernel for the other nets.
    branch: Branch,
    /// [`Piece`](super::nets::Piece)s, and how many.
    pieces: DeviceVec<u32>,
    count: usize,
    /// Of each piece the edges and sums along both axes, [`AVERAGE`] numbers each.
    found: DeviceVec<T>,
}

/// Numbers in `Average` in `kernels/place/wirelength.cu`.
const AVERAGE: usize = 6;

/// `PinGradients` in `kernels/place/wirelength.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
struct PinGradients {
    of: Addresses,
    shares: Shares,
    rank: u32,
    unused: u32,
}

// SAFETY: addresses and numbers in C order, as the kernels declare them.
unsafe impl KernelArgument for PinGradients {}

/// `LengthSums` in `kernels/place/wirelength.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
struct LengthSums {
    sums: CUdeviceptr,
    partial: CUdeviceptr,
    lengths: CUdeviceptr,
    ticket: CUdeviceptr,
    count: u32,
    blocks: u32,
}

const _: () = assert!(size_of::<LengthSums>() == 40); // as there

// SAFETY: addresses and numbers in C order, as the kernels declare them.
unsafe impl KernelArgument for LengthSums {}

impl<T: CudaReal> CudaWirelength<T> {
    /// Uploads a netlist whose movable cells are the first of `bodies` bodies. Positions are counted
    /// from `origin`, x and y in layout units: the
    /// [`Charge::origin`](crate::charge::Charge::origin) of the engine that takes the same
    /// positions, or `[0.0; 2]`.
    ///
    /// # Errors
    /// [`CudaError::Length`] when the netlist has more movable cells than there are bodies; when
    /// there are 2³² − 256 pins or more, kernels cannot be compiled or memory runs out.
    pub fn new(
        gpu: &Gpu,
        netlist: &Netlist,
        bodies: usize,
        origin: [f64; 2],
    ) -> Result<Self, CudaError> {
        Ok(Self::on_each(&[gpu], netlist, bodies, origin)?.remove(0))
    }

    /// Makes the operators of several devices that reach each other's memory.
    pub(super) fn on_each(
        gpus: &[&Gpu],
        netlist: &Netlist,
        bodies: usize,
        origin: [f64; 2],
    ) -> Result<Vec<Self>, CudaError> {
        let netlist = &*netlist.counted_from(origin);
        let cells = netlist.movable();
        if cells > bodies {
            return Err(CudaError::Length {
                what: "bodies of the netlist",
                expected: bodies,
                found: cells,
            });
        }
        check_pins(netlist.pins())?;
        let layout = Layout::new(netlist);
        let lists = layout.lists(netlist);
        let parts = Arc::new(gpus[0].zeros(2 * lists.sums as usize)?);
        let division = BodyBlocks::new(cells, bodies);
        let heavy = layout.heavy(netlist);
        let several = gpus.len() > 1;
        let needed = several.then(|| layout.needed(netlist, lists, gpus.len()));
        let all = Gpu::on_each(gpus, |rank, gpu| {
            let defines = [("PF_SEVERAL", "1".to_owned())];
            let module = gpu.instance::<T>("wirelength", if several { &defines } else { &[] })?;
            let load = |name: &str| module.load_function(name);
            let lengths_and_pins = load("wirelength_nets")?;
            let lists = lists.of_rank(rank, gpus.len());
            let [share, _] = division.share(rank, gpus.len());
            let heavy: Vec<u32> =
                heavy.iter().copied().filter(|&cell| share.contains(&(cell as usize))).collect();
            let pieces = layout.pieces(&lists);
            let huge = match pieces.len() {
                0 => None,
                count => Some(Huge {
                    sums: load("wirelength_pieces")?,
                    gradients: load("wirelength_huge")?,
                    branch: Branch::new(gpu)?,
                    pieces: gpu.upload(pieces.as_flattened())?,
                    found: gpu.zeros(2 * AVERAGE * count)?,
                    count,
                }),
            };
            Ok::<_, CudaError>(CudaWirelength {
                huge,
                config: lists.config(gpu, &lengths_and_pins)?,
                lengths_and_pins,
                lists,
                parts: parts.clone(),
                partial: gpu.zeros(2 * ADDERS)?,
                ticket: gpu.zeros(1)?,
                adders: if rank == 0 { ADDERS } else { 0 },
                needed: match &needed {
                    Some(needed) => Some(gpu.upload(needed)?),
                    None => None,
                },
                gather: load("wirelength_gather")?,
                cells: share,
                heavy: gpu.upload(&heavy)?,
                heavies: heavy.len() as u32,
                nets: layout.upload(gpu, netlist)?,
                pin_gradient: gpu.zeros(2 * layout.smooth_pins)?,
                pin_gradients: PinGradients {
                    of: Addresses::NONE,
                    shares: division.shares(gpus.len()),
                    rank: rank as u32,
                    unused: 0,
                },
                gradient: [gpu.zeros(cells)?, gpu.zeros(cells)?],
                lengths: gpu.zeros(2)?,
                fixed_hpwl: netlist.fixed_hpwl(),
                gpu: gpu.clone(),
                bodies,
            })
        });
        let mut all = all?;
        let of = Addresses::of(all.iter().map(|rank| &rank.pin_gradient));
        all.iter_mut().for_each(|rank| rank.pin_gradients.of = of);
        Ok(all)
    }

    /// Takes the net weights of `netlist`, which is the one that was uploaded, with other weights
    /// ([`Netlist::set_weights`]).
    ///
    /// # Errors
    /// When `netlist` has another number of nets, or the copy fails.
    pub fn set_weights(&mut self, netlist: &Netlist) -> Result<(), CudaError> {
        self.nets.set_weights(&self.gpu, netlist)?;
        self.fixed_hpwl = netlist.fixed_hpwl();
        Ok(())
    }

    /// Enqueues HPWL, WA and its gradient for the lower-left `corners` of the bodies, x and y of
    /// each side by side, with the smoothing length γ (one number above 0, layout units) read
    /// from device memory when the kernels run. The host cannot check numbers that are there: a
    /// position that is not finite, or a γ that is not above 0, makes WA NaN or meaningless.
    ///
    /// # Errors
    /// When an array has the wrong length, or a launch fails.
    pub fn run<'a>(
        &mut self,
        gamma: impl Into<DeviceSlice<'a, f64>>,
        corners: &DeviceVec<T>,
    ) -> Result<(), CudaError> {
        // SAFETY: pins' gradients go to memory of this device.
        unsafe { self.nets(gamma, corners) }?;
        self.gather()
    }

    /// Enqueues the gradients of the pins of this rank's nets, which go to the ranks that have the
    /// cells in their share, and the lengths of its intervals, which go to the first.
    ///
    /// # Safety
    /// Other ranks of the same [`CudaWirelength::on_each`] live until this has run, and use what
    /// goes to them once ranks have met after it; none has used it before, that ranks have not met
    /// after.
    pub(super) unsafe fn nets<'a>(
        &mut self,
        gamma: impl Into<DeviceSlice<'a, f64>>,
        corners: &DeviceVec<T>,
    ) -> Result<(), CudaError> {
        let gamma = gamma.into();
        check_length("lower-left corners", corners.len(), 2 * self.bodies)?;
        check_length("smoothing length", gamma.len(), 1)?;
        let nets = self.nets.addresses();
        let parts = *self.parts.address();
        // SAFETY: arguments are those of wirelength_nets. Bodies of pins are below
        // `cells`, at most the pairs of corners (`on_each` and here); nets below
        // `smooth` have their pins below the length of every pin_gradient; a chunk has
        // at most WARP nets and CHUNK_PINS pins (`Layout`); the first rank's `parts` have two
        // values per interval of all ranks.
        let of_all = || unsafe {
            Launch::new(&self.gpu, &self.lengths_and_pins)
                .arg(&nets)
                .arg(corners)
                .arg(&gamma)
                .arg(&self.nets.small)
                .arg(&self.nets.smooth)
                .arg(&self.nets.chunk)
                .arg(&self.pin_gradients)
                .arg(&self.lists)
                .arg(&parts)
                .launch(self.config)
        };
        let Some(Huge { sums, gradients, pieces, count, found, branch }) = &self.huge else {
            return of_all();
        };
        // SAFETY: arguments are those of wirelength_pieces and wirelength_huge, a block for each
        // of `pieces`, of which `found` has two averages each; their nets, pins and places among
        // the sums are this rank's (`Layout::pieces`); the rest as above.
        let of_pieces = || unsafe {
            let (mut first, mut second) =
                (Launch::new(&self.gpu, sums), Launch::new(&self.gpu, gradients));
            for launch in [&mut first, &mut second] {
                launch.arg(&nets).arg(corners).arg(&gamma);
                launch.arg(&self.nets.smooth).arg(pieces).arg(found);
            }
            first.launch(grid_of(*count))?;
            second.arg(&self.pin_gradients).arg(&self.lists.sums).arg(&parts);
            second.launch(grid_of(*count))
        };
        // SAFETY: a net has pieces or is among the others; either side writes gradients at its own
        // nets' pins and its own sums.
        unsafe { branch.join(&mut (), |()| of_pieces(), |()| of_all()) }
    }

    /// Enqueues the sums over the pins of the cells in this rank's share, and on the first rank
    /// those of all intervals' lengths.
    pub(super) fn gather(&mut self) -> Result<(), CudaError> {
        let light = blocks_for(self.cells.len()).grid_dim.0;
        let (first, end) = (self.cells.start as u32, self.cells.end as u32);
        let blocks = light + self.heavies.div_ceil(BLOCK / WARP);
        let config = grid_of(self.adders + blocks as usize);
        let lengths = LengthSums {
            sums: *self.parts.address(),
            partial: *self.partial.address(),
            lengths: *self.lengths.address(),
            ticket: *self.ticket.address(),
            count: self.lists.sums,
            blocks: self.adders as u32,
        };
        let [gx, gy] = &mut self.gradient;
        // SAFETY: arguments are those of wirelength_gather; body_start has one value more than
        // there are cells, and the pins in body_pin belong to nets of the weighted average, each of
        // which has a pair in pin_gradient; `parts` have two values per interval, `partial` per
        // block that adds them, whose ticket is zero between launches.
        unsafe {
            Launch::new(&self.gpu, &self.gather)
                .arg(&lengths)
                .arg(&first)
                .arg(&end)
                .arg(&light)
                .arg(&self.heavies)
                .arg(&self.heavy)
                .arg(&self.nets.body_start)
                .arg(&self.nets.body_pin)
                .arg(&self.pin_gradient)
                .arg(gx)
                .arg(gy)
                .launch(config)
        }
    }

    /// With several ranks, of each movable cell a bit for every rank that has a net of it.
    pub(super) fn needed(&self) -> Option<&DeviceVec<u16>> {
        self.needed.as_ref()
    }

    /// Returns ∂WA/∂x and ∂WA/∂y of every movable cell, as the last [`CudaWirelength::run`] leaves
    /// them.
    pub fn gradient(&self) -> (&DeviceVec<T>, &DeviceVec<T>) {
        (&self.gradient[0], &self.gradient[1])
    }

    /// Returns two numbers on the device, HPWL and WA, without the nets that no movement changes
    /// ([`CudaWirelength::fixed_hpwl`]).
    pub fn lengths(&self) -> &DeviceVec<f64> {
        &self.lengths
    }

    /// Returns the weighted HPWL of the nets that no movement changes, layout units.
    pub fn fixed_hpwl(&self) -> f64 {
        self.fixed_hpwl
    }

    /// Returns HPWL, nets that no movement changes included, and WA, layout units; waits for them.
    ///
    /// # Errors
    /// If work on the device has failed since the last wait.
    pub fn read(&self) -> Result<Wirelength, CudaError> {
        let l = self.gpu.download(&self.lengths)?;
        Ok(Wirelength { hpwl: self.fixed_hpwl + l[0], smooth: l[1] })
    }
}

/// Refuses more pins than the kernels' loops over them can count.
fn check_pins(pins: usize) -> Result<(), CudaError> {
    if pins > MOST_PINS { Err(CudaError::TooManyPins(pins)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pin_counts_leave_room_for_a_block_in_u32() {
        assert!(check_pins(MOST_PINS).is_ok() && (MOST_PINS as u32).checked_add(BLOCK).is_some());
        let refused = check_pins(MOST_PINS + 1).unwrap_err().to_string();
        assert_eq!(refused, "4294967040 pins of a netlist: at most 4294967039 are possible");
    }
}
