//! Wirelength and its gradient on a device: `kernels/place/wirelength.cu`.
//!
//! This operator computes HPWL of all nets and the weighted average (WA) of the nets that take part
//! in it (Hsu, Chang and Balabanov, DAC 2011; see [`crate::wirelength`]). It also computes the
//! average's gradient on every movable cell. All are in layout units and net weights. The operator
//! sorts the nets: small ones first, some thousands at a time by number of pins. It cuts them into
//! chunks that a warp processes, so that its lanes take the same number of turns. Every sum runs in
//! a fixed order: the result is bit-identical on every run, and for any number of devices. Each
//! device processes an interval of the nets and makes the sums of the cells in its share
//! ([`BodyDivision`]).

use super::nets::{DeviceNets, NetOrder, WARP};
use crate::cuda::bodies::BodyDivision;
use crate::cuda::device::bindings::place::{
    Average, LengthSums, NetLists, Piece, PinGradients, WirelengthGather, WirelengthHuge,
    WirelengthNets, WirelengthPieces,
};
use crate::cuda::device::constants::MOST_RANKS;
#[cfg(test)]
use crate::cuda::device::constants::PIECE_PINS;
use crate::cuda::device::{
    Array, BLOCK, Branch, CudaError, CudaReal, DeviceSlice, DeviceVec, Gpu, Kernel, MOST_PINS,
    Pointer, blocks_for, check_length, grid_of, pointers,
};
use crate::wirelength::{Netlist, Wirelength};
use std::ops::Range;
use std::sync::Arc;

/// Blocks that add up the intervals' lengths.
const ADDERS: usize = 64;

/// The weighted-average wirelength of one netlist on a device.
pub struct CudaWirelength<T: CudaReal> {
    gpu: Gpu,
    /// Number of bodies with positions, movable cells first.
    bodies: usize,
    nets: DeviceNets<T>,
    lengths_and_pins: Kernel<WirelengthNets<T>>,
    /// Kernels for nets of more than one piece; `None` without such nets.
    huge: Option<Huge<T>>,
    lists: NetLists,
    /// HPWL of every interval, then WA, in memory of the first rank.
    parts: Arc<DeviceVec<f64>>,
    /// Sums of the intervals' lengths, and the ticket of the blocks that make these sums.
    partial: DeviceVec<f64>,
    ticket: DeviceVec<u32>,
    /// The number of blocks that make these sums: zero except on the first rank.
    adders: usize,
    gather: Kernel<WirelengthGather<T>>,
    /// The cells whose pins this rank sums.
    cells: Range<usize>,
    /// Cells of many pins, and their number.
    heavy: DeviceVec<u32>,
    heavies: u32,
    /// A pair per pin.
    pin_gradient: DeviceVec<T>,
    /// Pin gradients of all ranks.
    pin_gradients: PinGradients<T>,
    gradient: [DeviceVec<T>; 2],
    /// HPWL and WA.
    lengths: DeviceVec<f64>,
    /// With several ranks, for each movable cell a bit for every rank that has a net of the cell.
    needed: Option<DeviceVec<u16>>,
    fixed_hpwl: f64,
}

/// Nets of more than one piece.
struct Huge<T: CudaReal> {
    sums: Kernel<WirelengthPieces<T>>,
    gradients: Kernel<WirelengthHuge<T>>,
    /// Both may run at the same time as the kernel for the other nets.
    branch: Branch,
    pieces: DeviceVec<Piece>,
    /// For each piece the edges and sums along both axes.
    found: DeviceVec<Average<T>>,
}

impl<T: CudaReal> CudaWirelength<T> {
    /// Uploads a netlist whose movable cells are the first of `bodies` bodies. Positions are
    /// counted from `origin`, x and y in layout units: the
    /// [`Charge::origin`](crate::charge::Charge::origin) of the engine that takes the same
    /// positions, or `[0.0; 2]`.
    ///
    /// # Errors
    /// [`CudaError::Length`] if the netlist has more movable cells than there are bodies; if there
    /// are about 2³² pins or more, kernels cannot be compiled or memory runs out.
    pub fn new(
        gpu: &Gpu,
        netlist: &Netlist,
        bodies: usize,
        origin: [f64; 2],
    ) -> Result<Self, CudaError> {
        Ok(Self::on_each(&[gpu], netlist, bodies, origin)?.remove(0))
    }

    /// Makes the operators of several devices that reach each other's memory.
    pub(crate) fn on_each(
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
        let order = NetOrder::new(netlist);
        let lists = order.lists(netlist);
        let parts = Arc::new(gpus[0].zeros(2 * lists.sums as usize)?);
        let division = BodyDivision::new(cells, bodies);
        let heavy = order.heavy(netlist);
        let several = gpus.len() > 1;
        let needed = several.then(|| order.needed(netlist, lists, gpus.len()));
        let all = Gpu::on_each(gpus, |rank, gpu| {
            let defines = [("PF_SEVERAL", "1".to_owned())];
            let module = gpu.instance::<T>("wirelength", if several { &defines } else { &[] })?;
            let lengths_and_pins = Kernel::new(&module)?;
            let lists = lists.of_rank(rank, gpus.len());
            let [share, _] = division.share(rank, gpus.len());
            let heavy: Vec<u32> =
                heavy.iter().copied().filter(|&cell| share.contains(&(cell as usize))).collect();
            let pieces = order.pieces(&lists);
            let huge = match pieces.len() {
                0 => None,
                count => Some(Huge {
                    sums: Kernel::new(&module)?.with(grid_of(count)),
                    gradients: Kernel::new(&module)?.with(grid_of(count)),
                    branch: Branch::new(gpu)?,
                    pieces: gpu.upload(&pieces)?,
                    found: gpu.zeros(2 * count)?,
                }),
            };
            Ok::<_, CudaError>(CudaWirelength {
                huge,
                lengths_and_pins: {
                    let config = lists.config(gpu, &lengths_and_pins)?;
                    lengths_and_pins.with(config)
                },
                lists,
                parts: parts.clone(),
                partial: gpu.zeros(2 * ADDERS)?,
                ticket: gpu.zeros(1)?,
                adders: if rank == 0 { ADDERS } else { 0 },
                needed: needed.as_ref().map(|needed| gpu.upload(needed)).transpose()?,
                gather: Kernel::new(&module)?,
                cells: share,
                heavy: gpu.upload(&heavy)?,
                heavies: heavy.len() as u32,
                nets: order.upload(gpu, netlist)?,
                pin_gradient: gpu.zeros(2 * order.smooth_pins)?,
                pin_gradients: PinGradients {
                    of: [Pointer::NULL; MOST_RANKS],
                    shares: division.shares(gpus.len()),
                    rank: rank as u32,
                    padding: 0,
                },
                gradient: [gpu.zeros(cells)?, gpu.zeros(cells)?],
                lengths: gpu.zeros(2)?,
                fixed_hpwl: netlist.fixed_hpwl(),
                gpu: gpu.clone(),
                bodies,
            })
        });
        let mut all = all?;
        let of = pointers(all.iter().map(|rank| &rank.pin_gradient));
        all.iter_mut().for_each(|rank| rank.pin_gradients.of = of);
        Ok(all)
    }

    /// Copies the net weights of `netlist`, which must be the uploaded netlist with other weights
    /// ([`Netlist::set_weights`]).
    ///
    /// # Errors
    /// If `netlist` has another number of nets, or the copy fails.
    pub fn set_weights(&mut self, netlist: &Netlist) -> Result<(), CudaError> {
        self.nets.set_weights(&self.gpu, netlist)?;
        self.fixed_hpwl = netlist.fixed_hpwl();
        Ok(())
    }

    /// Enqueues HPWL, WA and its gradient for the lower-left `corners` of the bodies, x and y of
    /// each side by side. Kernels read the smoothing length γ (one number above 0, layout units)
    /// from device memory when they run. The host cannot check numbers on the device: a position
    /// that is not finite, or a γ that is not above 0, makes WA NaN or meaningless.
    ///
    /// # Errors
    /// If an array has the wrong length, or a launch fails.
    pub fn run<'a>(
        &mut self,
        gamma: impl Into<DeviceSlice<'a, f64>>,
        corners: &DeviceVec<T>,
    ) -> Result<(), CudaError> {
        // SAFETY: pins' gradients go to memory of this device.
        unsafe { self.nets(gamma, corners) }?;
        self.gather()
    }

    /// Enqueues the gradients of the pins of this rank's nets, and the lengths of its intervals.
    /// The gradients go to the ranks that have the cells in their share, and the lengths to the
    /// first rank.
    ///
    /// # Safety
    /// Other ranks of the same [`CudaWirelength::on_each`] live until this has run. They use the
    /// values written to them only once ranks have met after this. Ranks have also met after all
    /// earlier uses.
    pub(crate) unsafe fn nets<'a>(
        &mut self,
        gamma: impl Into<DeviceSlice<'a, f64>>,
        corners: &DeviceVec<T>,
    ) -> Result<(), CudaError> {
        let gamma = gamma.into();
        check_length("lower-left corners", corners.len(), 2 * self.bodies)?;
        check_length("smoothing length", gamma.len(), 1)?;
        let (nets, corners, gamma) = (self.nets.pointers(), corners.into(), (&gamma).into());
        let (smooth, gradients) = (self.nets.smooth, self.pin_gradients);
        let sums = Array::at(*self.parts.address()); // of the first rank
        let arguments = WirelengthNets {
            nets,
            corners,
            gamma,
            small: self.nets.small,
            smooth,
            chunk: (&self.nets.chunk).into(),
            gradients,
            of: self.lists,
            sums,
        };
        // SAFETY: bodies of pins are below `cells`, which is at most the number of pairs of corners
        // (`on_each` and here). Nets below `smooth` have their pins below the length of every
        // pin_gradient. A chunk has at most WARP nets and CHUNK_PINS pins (`NetOrder`). The first
        // rank's `parts` have two values per interval of all ranks.
        let of_all = || unsafe { self.lengths_and_pins.launch(&self.gpu, &arguments) };
        let Some(huge) = &self.huge else { return of_all() };
        let (pieces, found, intervals) =
            ((&huge.pieces).into(), (&huge.found).into(), self.lists.sums);
        // SAFETY: there is a block for each of `pieces`, and `found` has two averages for each.
        // Their nets, pins and places among the sums are this rank's (`NetOrder::pieces`). The rest
        // is as above.
        let of_pieces = || unsafe {
            let first = WirelengthPieces { nets, corners, gamma, smooth, pieces, found };
            huge.sums.launch(&self.gpu, &first)?;
            let second = WirelengthHuge {
                nets,
                corners,
                gamma,
                smooth,
                pieces,
                found,
                gradients,
                intervals,
                sums,
            };
            huge.gradients.launch(&self.gpu, &second)
        };
        // SAFETY: a net either has pieces or is among the others. Each side writes gradients only
        // at its own nets' pins, and its own sums.
        unsafe { huge.branch.fork(&mut (), |()| of_pieces(), |()| of_all()) }
    }

    /// Enqueues the sums over the pins of the cells in this rank's share, and on the first rank the
    /// sums of all intervals' lengths.
    pub(crate) fn gather(&mut self) -> Result<(), CudaError> {
        let light = blocks_for(self.cells.len()).grid_dim.0;
        let (first, end) = (self.cells.start as u32, self.cells.end as u32);
        let blocks = light + self.heavies.div_ceil(BLOCK / WARP);
        let config = grid_of(self.adders + blocks as usize);
        let lengths = LengthSums {
            sums: (&*self.parts).into(),
            partial: (&self.partial).into(),
            lengths: (&self.lengths).into(),
            ticket: (&self.ticket).into(),
            count: self.lists.sums,
            blocks: self.adders as u32,
        };
        let [gx, gy] = self.gradient.each_ref().map(Array::from);
        let arguments = WirelengthGather {
            lengths,
            first,
            cells: end,
            light,
            heavies: self.heavies,
            heavy: (&self.heavy).into(),
            body_start: (&self.nets.body_start).into(),
            body_pin: (&self.nets.body_pin).into(),
            pin_gradient: (&self.pin_gradient).into(),
            gx,
            gy,
        };
        // SAFETY: body_start has one value more than there are cells. The pins in body_pin belong
        // to nets of the weighted average, each of which has a pair in pin_gradient. `parts` have
        // two values per interval, and `partial` two per block that adds them; the ticket of these
        // blocks is zero between launches.
        unsafe { self.gather.launch_as(&self.gpu, config, &arguments) }
    }

    /// Returns, with several ranks, for each movable cell a bit for every rank that has a net of
    /// the cell.
    pub(crate) fn needed(&self) -> Option<&DeviceVec<u16>> {
        self.needed.as_ref()
    }

    /// Returns ∂WA/∂x and ∂WA/∂y of every movable cell, computed by the last
    /// [`CudaWirelength::run`].
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

    /// Returns HPWL, including nets that no movement changes, and WA, in layout units; waits for
    /// them.
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
    fn pin_counts_leave_room_for_a_block_and_a_piece_in_u32() {
        let beyond = |count: usize| u32::try_from(MOST_PINS + count).is_ok();
        assert!(check_pins(MOST_PINS).is_ok() && beyond(BLOCK as usize) && beyond(PIECE_PINS));
        let refused = check_pins(MOST_PINS + 1).unwrap_err().to_string();
        let expected = format!("{} pins of a netlist: at most {MOST_PINS} are", MOST_PINS + 1);
        assert!(refused.starts_with(&expected), "{refused}");
    }
}
