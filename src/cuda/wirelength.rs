//! Wirelength and its gradient on a device: `kernels/wirelength.cu`, typed.
//!
//! HPWL of all nets, the weighted average of those that take part in it (Hsu,
//! Chang and Balabanov, DAC 2011; see [`crate::wirelength`]), and the average's
//! gradient on every movable cell, in layout units and net weights. Nets are
//! brought to an order of this operator's own: small ones first, in chunks that
//! a block takes, within a chunk by number of pins, so that a warp's threads
//! take the same number of turns. Every sum runs in a fixed order: the same
//! bits on every run of a device.

use super::bodies::{blocks_for, upload};
use super::device::Gpu;
use super::error::CudaError;
use super::launch::{BLOCK, address, check_length};
use super::real::CudaReal;
use crate::wirelength::{Netlist, Wirelength};
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaFunction, CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg};

/// A thread takes nets of at most this many pins, a warp those of more.
const SMALL_NET: usize = 16;
/// Most pins of a chunk: `CHUNK_PINS` in `kernels/wirelength.cu`.
const CHUNK_PINS: usize = 1024;
/// A thread sums the pins of a cell of at most this many: `HEAVY` in `kernels/wirelength.cu`.
const HEAVY: u32 = 64;

/// Threads of a warp.
const WARP: u32 = 32;

/// The weighted-average wirelength of one netlist on a device.
pub struct CudaWirelength<T: CudaReal> {
    gpu: Gpu,
    /// Bodies that positions are given of, movable cells first.
    bodies: usize,
    nets: DeviceNets<T>,
    lengths_and_pins: CudaFunction,
    config: LaunchConfig,
    partial: CudaSlice<f64>,
    ticket: CudaSlice<u32>,
    gather: CudaFunction,
    gather_config: LaunchConfig,
    /// Blocks of `gather` that take a cell per thread.
    light: u32,
    /// Cells of many pins, and how many.
    heavy: CudaSlice<u32>,
    heavies: u32,
    /// A pair per pin.
    pin_gradient: CudaSlice<T>,
    gradient: [CudaSlice<T>; 2],
    /// HPWL and WA.
    lengths: CudaSlice<f64>,
    fixed_hpwl: f64,
}

struct DeviceNets<T: CudaReal> {
    net_start: CudaSlice<u32>,
    weight: CudaSlice<T>,
    pin_body: CudaSlice<u32>,
    pin_x: CudaSlice<T>,
    pin_y: CudaSlice<T>,
    chunk_net: CudaSlice<u32>,
    chunks: u32,
    /// Nets below `small` are small, those from there to `smooth` large, the
    /// others, up to `all`, left out of the weighted average.
    small: u32,
    smooth: u32,
    all: u32,
    body_start: CudaSlice<u32>,
    body_pin: CudaSlice<u32>,
    cells: u32,
}

/// At most `blocks` blocks, and no more than the device runs at once.
pub(super) fn at_once(
    gpu: &Gpu,
    kernel: &CudaFunction,
    blocks: usize,
) -> Result<LaunchConfig, CudaError> {
    let each = kernel.occupancy_max_active_blocks_per_multiprocessor(BLOCK, 0, None)?;
    let most = (each * gpu.info().multiprocessors.max(1) as u32).max(1);
    Ok(LaunchConfig {
        grid_dim: ((blocks.max(1)).min(most as usize) as u32, 1, 1),
        block_dim: (BLOCK, 1, 1),
        shared_mem_bytes: 0,
    })
}

/// `Nets` in `kernels/wirelength.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
struct NetAddresses {
    net_start: CUdeviceptr,
    weight: CUdeviceptr,
    pin_body: CUdeviceptr,
    pin_x: CUdeviceptr,
    pin_y: CUdeviceptr,
}

// SAFETY: addresses in C order, as the kernels declare them.
unsafe impl DeviceRepr for NetAddresses {}

/// `Corners` in `kernels/wirelength.cu`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Corners {
    x: CUdeviceptr,
    y: CUdeviceptr,
}

// SAFETY: as above.
unsafe impl DeviceRepr for Corners {}

impl<T: CudaReal> CudaWirelength<T> {
    /// Uploads a netlist whose movable cells are the first of `bodies` bodies.
    ///
    /// # Errors
    /// [`CudaError::Length`] when the netlist has more movable cells than there
    /// are bodies; when kernels cannot be compiled or memory runs out.
    pub fn new(gpu: &Gpu, netlist: &Netlist, bodies: usize) -> Result<Self, CudaError> {
        let cells = netlist.movable();
        if cells > bodies {
            return Err(CudaError::Length {
                what: "bodies of the netlist",
                expected: bodies,
                found: cells,
            });
        }
        let layout = Layout::new(netlist);
        let module = gpu.kernels::<T>("wirelength")?;
        let load = |name: &str| module.load_function(name);
        let nets = layout.upload(gpu, netlist)?;
        let warps = BLOCK / WARP;
        let work =
            (nets.all - nets.smooth) + (nets.smooth - nets.small).div_ceil(warps) + nets.chunks;
        let lengths_and_pins = load("wirelength_nets")?;
        let config = at_once(gpu, &lengths_and_pins, work as usize)?;
        let heavy = layout.heavy(netlist);
        let light = blocks_for(cells).grid_dim.0;
        let heavies = heavy.len() as u32;
        Ok(CudaWirelength {
            partial: gpu.zeros(2 * config.grid_dim.0 as usize)?,
            ticket: gpu.zeros(1)?,
            lengths_and_pins,
            config,
            gather: load("wirelength_gather")?,
            gather_config: LaunchConfig {
                grid_dim: (light + heavies.div_ceil(warps), 1, 1),
                block_dim: (BLOCK, 1, 1),
                shared_mem_bytes: 0,
            },
            light,
            heavy: upload(gpu, &heavy)?,
            heavies,
            nets,
            pin_gradient: gpu.zeros((2 * layout.smooth_pins).max(1))?,
            gradient: [gpu.zeros(cells.max(1))?, gpu.zeros(cells.max(1))?],
            lengths: gpu.zeros(2)?,
            fixed_hpwl: netlist.fixed_hpwl(),
            gpu: gpu.clone(),
            bodies,
        })
    }

    /// Enqueues HPWL, WA and its gradient for lower-left corners `x` and `y` of
    /// the bodies, with the smoothing length γ (one number, layout units) read
    /// from device memory when the kernels run.
    ///
    /// # Errors
    /// When an array has the wrong length, or a launch fails.
    pub fn run(
        &mut self,
        gamma: &CudaSlice<f64>,
        (x, y): (&CudaSlice<T>, &CudaSlice<T>),
    ) -> Result<(), CudaError> {
        check_length("x of bodies", x.len(), self.bodies.max(1))?;
        check_length("y of bodies", y.len(), self.bodies.max(1))?;
        if gamma.is_empty() {
            return Err(CudaError::Length { what: "smoothing length", expected: 1, found: 0 });
        }
        let gpu = &self.gpu;
        let at = Corners { x: address(gpu, x), y: address(gpu, y) };
        let nets = self.nets.addresses(gpu);
        // SAFETY: arguments are those of wirelength_nets. Bodies of pins are below
        // `cells`, at most the length of x and y (`new` and here); nets below
        // `smooth` have their pins below the length of pin_gradient; a chunk has
        // at most BLOCK nets and CHUNK_PINS pins (`Layout`); partial has two
        // values per block.
        unsafe {
            gpu.stream()
                .launch_builder(&self.lengths_and_pins)
                .arg(&nets)
                .arg(&at)
                .arg(gamma)
                .arg(&self.nets.small)
                .arg(&self.nets.smooth)
                .arg(&self.nets.all)
                .arg(&self.nets.chunks)
                .arg(&self.nets.chunk_net)
                .arg(&mut self.pin_gradient)
                .arg(&mut self.partial)
                .arg(&mut self.ticket)
                .arg(&mut self.lengths)
                .launch(self.config)?;
        }
        self.gather()
    }

    /// Enqueues the sums over every cell's pins.
    fn gather(&mut self) -> Result<(), CudaError> {
        let [gx, gy] = &mut self.gradient;
        // SAFETY: arguments are those of wirelength_gather; body_start has one
        // value more than there are cells, and the pins in body_pin belong to
        // nets of the weighted average, each of which has a pair in pin_gradient.
        unsafe {
            self.gpu
                .stream()
                .launch_builder(&self.gather)
                .arg(&self.nets.cells)
                .arg(&self.light)
                .arg(&self.heavies)
                .arg(&self.heavy)
                .arg(&self.nets.body_start)
                .arg(&self.nets.body_pin)
                .arg(&self.pin_gradient)
                .arg(gx)
                .arg(gy)
                .launch(self.gather_config)?;
        }
        Ok(())
    }

    /// ∂WA/∂x and ∂WA/∂y of every movable cell, as the last
    /// [`CudaWirelength::run`] leaves them; one value each where there is none.
    pub fn gradient(&self) -> (&CudaSlice<T>, &CudaSlice<T>) {
        (&self.gradient[0], &self.gradient[1])
    }

    /// Two numbers on the device, HPWL and WA, without the nets that no movement
    /// changes ([`CudaWirelength::fixed_hpwl`]).
    pub fn lengths(&self) -> &CudaSlice<f64> {
        &self.lengths
    }

    /// Weighted HPWL of the nets that no movement changes, layout units.
    pub fn fixed_hpwl(&self) -> f64 {
        self.fixed_hpwl
    }

    /// HPWL, those that no movement changes included, and WA; waits for them.
    ///
    /// # Errors
    /// What failed on the device since the last wait.
    pub fn read(&self) -> Result<Wirelength, CudaError> {
        let l = self.gpu.download(&self.lengths)?;
        Ok(Wirelength { hpwl: self.fixed_hpwl + l[0], smooth: l[1] })
    }
}

impl<T: CudaReal> DeviceNets<T> {
    fn addresses(&self, gpu: &Gpu) -> NetAddresses {
        NetAddresses {
            net_start: address(gpu, &self.net_start),
            weight: address(gpu, &self.weight),
            pin_body: address(gpu, &self.pin_body),
            pin_x: address(gpu, &self.pin_x),
            pin_y: address(gpu, &self.pin_y),
        }
    }
}

/// Where a netlist's nets and pins go on the device.
#[derive(Debug)]
struct Layout {
    /// Net of the netlist at every place, small ones first.
    net: Vec<u32>,
    small: usize,
    /// First net of every chunk of small nets, and their end.
    chunk_net: Vec<u32>,
    /// First pin of every net, and their end.
    net_start: Vec<u32>,
    /// Place of every pin of the netlist.
    pin_place: Vec<u32>,
    /// Pins of nets that take part in the weighted average; they stand first.
    smooth_pins: usize,
}

impl Layout {
    fn new(netlist: &Netlist) -> Self {
        let degree = |net: u32| netlist.pins_of(net as usize).len();
        let (mut net, large): (Vec<u32>, Vec<u32>) =
            (0..netlist.smooth() as u32).partition(|&e| degree(e) <= SMALL_NET);
        let small = net.len();
        let chunk_net = chunks(&net, degree);
        for ends in chunk_net.windows(2) {
            net[ends[0] as usize..ends[1] as usize].sort_by_key(|&e| degree(e));
        }
        net.extend(large);
        net.extend(netlist.smooth() as u32..netlist.nets() as u32);

        let mut net_start = Vec::with_capacity(net.len() + 1);
        let mut pin_place = vec![0; netlist.pins()];
        let mut place = 0;
        net_start.push(0);
        for &e in &net {
            for pin in netlist.pins_of(e as usize) {
                pin_place[pin] = place;
                place += 1;
            }
            net_start.push(place);
        }
        let smooth_pins = net_start[netlist.smooth()] as usize;
        Layout { net, small, chunk_net, net_start, pin_place, smooth_pins }
    }

    /// Cells of more pins than a thread sums.
    fn heavy(&self, netlist: &Netlist) -> Vec<u32> {
        let pins =
            |b: &u32| netlist.body_start()[*b as usize + 1] - netlist.body_start()[*b as usize];
        (0..netlist.movable() as u32).filter(|b| pins(b) > HEAVY).collect()
    }

    fn upload<T: CudaReal>(
        &self,
        gpu: &Gpu,
        netlist: &Netlist,
    ) -> Result<DeviceNets<T>, CudaError> {
        let weight: Vec<T> =
            self.net.iter().map(|&e| T::of(netlist.weight()[e as usize])).collect();
        let body_pin: Vec<u32> =
            netlist.body_pin().iter().map(|&pin| self.pin_place[pin as usize]).collect();
        let body_start =
            if netlist.body_start().is_empty() { &[0][..] } else { netlist.body_start() };
        Ok(DeviceNets {
            net_start: gpu.upload(&self.net_start)?,
            weight: upload(gpu, &weight)?,
            pin_body: upload(gpu, &self.placed(netlist.pin_body(), |&body| body))?,
            pin_x: upload(gpu, &self.placed(netlist.pin_x(), |&x| T::of(x)))?,
            pin_y: upload(gpu, &self.placed(netlist.pin_y(), |&y| T::of(y)))?,
            chunk_net: gpu.upload(&self.chunk_net)?,
            chunks: (self.chunk_net.len() - 1) as u32,
            small: self.small as u32,
            smooth: netlist.smooth() as u32,
            all: netlist.nets() as u32,
            body_start: gpu.upload(body_start)?,
            body_pin: upload(gpu, &body_pin)?,
            cells: netlist.movable() as u32,
        })
    }

    /// Values of the netlist's pins at their places.
    fn placed<A, B: Copy + Default>(&self, values: &[A], to: impl Fn(&A) -> B) -> Vec<B> {
        let mut placed = vec![B::default(); values.len()];
        for (value, &place) in values.iter().zip(&self.pin_place) {
            placed[place as usize] = to(value);
        }
        placed
    }
}

/// Cuts nets into runs that a block takes at once.
fn chunks(nets: &[u32], degree: impl Fn(u32) -> usize) -> Vec<u32> {
    let mut ends = vec![0];
    let (mut count, mut pins) = (0, 0);
    for (place, &net) in nets.iter().enumerate() {
        if count == BLOCK || pins + degree(net) > CHUNK_PINS {
            ends.push(place as u32);
            (count, pins) = (0, 0);
        }
        count += 1;
        pins += degree(net);
    }
    if count > 0 {
        ends.push(nets.len() as u32);
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Design;

    #[cfg(feature = "cli")] // it has the generator
    #[test]
    fn every_pin_has_a_place_of_its_own_and_chunks_hold_what_a_block_can() {
        use crate::cli::generate::{Spec, generate};
        let design = generate(&Spec::with_cells(3000)).unwrap();
        let netlist = Netlist::from_design(&design, 30).unwrap();
        let layout = Layout::new(&netlist);
        let mut places = layout.pin_place.clone();
        places.sort_unstable();
        assert!(places.iter().enumerate().all(|(k, &place)| place as usize == k));
        assert!(layout.small < netlist.smooth() && netlist.smooth() < netlist.nets());
        assert_eq!(*layout.chunk_net.last().unwrap() as usize, layout.small);
        for ends in layout.chunk_net.windows(2) {
            let [first, last] = [ends[0] as usize, ends[1] as usize];
            assert!(first < last && last - first <= BLOCK as usize);
            let starts = &layout.net_start[first..=last];
            assert!((starts[last - first] - starts[0]) as usize <= CHUNK_PINS);
            let degrees: Vec<u32> = starts.windows(2).map(|w| w[1] - w[0]).collect();
            assert!(degrees.is_sorted() && degrees[0] >= 2);
        }
        // A net's pins stay together and in order.
        for (place, &net) in layout.net.iter().enumerate() {
            for (k, pin) in netlist.pins_of(net as usize).enumerate() {
                assert_eq!(layout.pin_place[pin], layout.net_start[place] + k as u32);
            }
        }
        let smooth = netlist.body_pin().iter().map(|&pin| layout.pin_place[pin as usize] as usize);
        assert!(smooth.max().unwrap() < layout.smooth_pins);
    }

    #[test]
    fn a_netlist_without_nets_has_a_layout() {
        let design = Design { nets: Some(Default::default()), ..Design::default() };
        let netlist = Netlist::from_design(&design, 100).unwrap();
        let layout = Layout::new(&netlist);
        assert_eq!((layout.chunk_net, layout.net_start), (vec![0], vec![0]));
    }
}
