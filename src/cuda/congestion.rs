//! Congestion maps of a placement on a device: `kernels/congestion/congestion.cu`.

use super::device::bindings::congestion::{
    ArraysMap, ArraysPositions, Axis, Cells, CongestionCells, CongestionFinish,
    CongestionIntegrate, CongestionLargeNets, CongestionMacros, CongestionNets, Finish, Grid,
    Macros, NetSums, Nets, Sums,
};
use super::device::{
    Array, BLOCK, CudaError, CudaReal, DeviceArrays, DeviceSlice, DeviceSliceMut, DeviceVec, Gpu,
    Kernel, MOST_BLOCKS, Pointer, blocks_for, check_length, grid_of,
};
use crate::congestion::{
    CongestionError, CongestionKind, CongestionMaps, CongestionOptions, Convention,
    DREAMPLACE_PIN_CAPACITY, Demand, Directions, RoutingGrid, Tables,
};
use crate::design::Design;
use crate::grid::Map;
use crate::real::Precision;
use cudarc::driver::sys::CUdeviceptr;

/// A net of more pins is a block's.
const MOST_PINS_OF_A_THREAD: u32 = 64;
/// Maps of each bin: the kinds, and long and short nets' demand in both directions.
const MAPS: usize = CongestionKind::ALL.len() + 4;

/// Why a device gives no maps.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaCongestionError {
    /// There are none.
    #[error(transparent)]
    Congestion(#[from] CongestionError),
    /// The device cannot make them.
    #[error(transparent)]
    Cuda(#[from] CudaError),
}

/// Congestion maps of one design, by one convention and over the same bins, wherever its nodes lie.
///
/// The maps have the bits of [`CongestionMaps`], which are computed on the CPU.
pub struct CudaCongestion {
    gpu: Gpu,
    bins: [usize; 2],
    options: CongestionOptions,
    kernels: Kernels,
    /// Arguments of the kernels, without the positions.
    grid: Grid,
    nets: Nets,
    cells: Cells,
    macros: Macros,
    finish: Finish,
    /// The memory that they lead to, that of positions, sums and maps left out.
    _tables: DeviceArrays,
    /// Nets of few pins, and the others.
    order: [DeviceVec<u32>; 2],
    /// Where the design has the nodes, and where a caller has them if not as doubles of all of
    /// them.
    home: [DeviceVec<f64>; 2],
    at: [DeviceVec<f64>; 2],
    /// The numbers of all nodes, and of those that move.
    nodes: [DeviceVec<u32>; 2],
    sums: DeviceVec<u64>,
    /// `[MAPS][nx][ny]`.
    maps: DeviceVec<f64>,
}

struct Kernels {
    nets: Kernel<CongestionNets>,
    large_nets: Kernel<CongestionLargeNets>,
    cells: Kernel<CongestionCells>,
    macros: Kernel<CongestionMacros>,
    integrate: Kernel<CongestionIntegrate>,
    finish: Kernel<CongestionFinish>,
}

/// Numbers of an entry of the sums, all sums together: wires of bins and their differences, wires
/// within a bin and pins have two each; density, pin utilization and macros one, twice.
const NUMBERS: usize = 4 * 2 + 3 * 2;

impl CudaCongestion {
    /// Uploads all data that does not change while nodes move, and allocates the rest.
    ///
    /// # Errors
    /// See [`CongestionMaps::of`]; [`CudaError`] when kernels cannot be compiled or memory runs
    /// out.
    pub fn new(
        gpu: &Gpu,
        design: &Design,
        grid: &RoutingGrid,
        options: &CongestionOptions,
    ) -> Result<Self, CudaCongestionError> {
        let capacity = options.checked_capacity()?;
        let tables = Tables::of(design, grid, options.convention).map_err(CongestionError::from)?;
        let bins = [grid.nx(), grid.ny()];
        let entries = (bins[0] + 1) * (bins[1] + 1);
        let sums = gpu.zeros(NUMBERS * entries)?;
        let maps = gpu.zeros(MAPS * bins[0] * bins[1])?;
        let mut next = *sums.address();
        let mut take = |numbers: usize| {
            let at = next;
            next += (numbers * entries * size_of::<u64>()) as CUdeviceptr;
            Pointer::at(at)
        };
        let mut sums_of = |numbers| Sums { bins: take(numbers), differences: take(numbers) };
        let (wires, density) = (sums_of(2), sums_of(1));
        let (pin_utilization, macro_sums) = (sums_of(1), sums_of(1));
        let net_sums = NetSums { wires, within: take(2), pins: take(2) };
        let mut arrays = DeviceArrays::new(gpu);
        let mut axis = |edges: &[f64], (per_bin, mean): (Option<f64>, f64)| {
            let (bins, per_bin) = (edges.len() as u32 - 1, per_bin.unwrap_or(0.0));
            let edges = arrays.upload(edges)?;
            Ok::<_, CudaError>(Axis { edges, per_bin, mean, bins, padding: 0 })
        };
        let [along_x, along_y] = grid.widths();
        let device_grid = Grid {
            x: axis(grid.x_edges(), along_x)?,
            y: axis(grid.y_edges(), along_y)?,
            but_the_last: u32::from(options.convention == Convention::CircuitNet),
            convention: options.convention as u32,
        };
        let size = arrays.upload(&tables.size)?;
        let (x, y) = (Pointer::NULL, Pointer::NULL);
        let [least_x, least_y] = tables.least;
        let nets = Nets {
            start: arrays.upload(&tables.net_start)?,
            weight: arrays.upload(&tables.net_weight)?,
            pin_node: arrays.upload(&tables.pin_node)?,
            pin_offset: arrays.upload(&tables.pin_offset)?,
            size,
            x,
            y,
            wires_scale: tables.wires_scale,
            pins_scale: tables.pins_scale,
            least_x,
            least_y,
        };
        let cells = Cells {
            size,
            x,
            y,
            pins: arrays.upload(&tables.node_pins)?,
            density,
            pin_utilization,
            density_scale: tables.density_scale,
            pins_scale: tables.utilization_scale,
            count: tables.node_pins.len() as u32,
            padding: 0,
        };
        let macros = Macros {
            size,
            x,
            y,
            node: arrays.upload(&tables.macros)?,
            halo: arrays.upload(&tables.halo)?,
            sums: macro_sums,
            scale: tables.macros_scale,
            count: tables.macros.len() as u32,
            padding: 0,
        };
        let finish = Finish {
            nets: net_sums,
            density,
            pin_utilization,
            macros: macro_sums,
            wires_unit: 1.0 / tables.wires_scale,
            pins_unit: 1.0 / tables.pins_scale,
            density_unit: 1.0 / tables.density_scale,
            utilization_unit: 1.0 / tables.utilization_scale,
            macros_unit: 1.0 / tables.macros_scale,
            horizontal: capacity.map_or(1.0, |c| c.horizontal),
            vertical: capacity.map_or(1.0, |c| c.vertical),
            wire_percent: capacity.map_or(0.0, |c| 100.0 * c.wire_width()),
            pin_capacity: DREAMPLACE_PIN_CAPACITY,
            maps: (&maps).into(),
        };
        let pins = |net: &u32| {
            let net = *net as usize;
            tables.net_start[net + 1] - tables.net_start[net]
        };
        let (few, many): (Vec<u32>, Vec<u32>) =
            (0..tables.net_weight.len() as u32).partition(|net| pins(net) <= MOST_PINS_OF_A_THREAD);
        let places = || -> Result<[DeviceVec<f64>; 2], CudaError> {
            Ok([gpu.upload(&design.placement.x)?, gpu.upload(&design.placement.y)?])
        };
        let all: Vec<u32> = (0..design.nodes.len() as u32).collect();
        let module = gpu.kernels::<f64>("congestion")?;
        let mut of_bins = blocks_for(bins[1]);
        of_bins.grid_dim.1 = bins[0].min(MOST_BLOCKS as usize) as u32;
        let movable: Vec<u32> = design.movable().map(|node| node as u32).collect();
        Ok(CudaCongestion {
            kernels: Kernels {
                nets: Kernel::new(&module)?.with(blocks_for(few.len())),
                large_nets: Kernel::new(&module)?.with(grid_of(many.len().max(1))),
                cells: Kernel::new(&module)?.with(blocks_for(cells.count as usize)),
                macros: Kernel::new(&module)?.with(blocks_for(macros.count as usize)),
                integrate: Kernel::new(&module)?,
                finish: Kernel::new(&module)?.with(of_bins),
            },
            grid: device_grid,
            nets,
            cells,
            macros,
            finish,
            _tables: arrays,
            order: [gpu.upload(&few)?, gpu.upload(&many)?],
            home: places()?,
            at: places()?,
            nodes: [gpu.upload(&all)?, gpu.upload(&movable)?],
            sums,
            maps,
            gpu: gpu.clone(),
            bins,
            options: *options,
        })
    }

    /// Returns the number of nodes that have a position.
    pub fn nodes(&self) -> usize {
        self.cells.count as usize
    }

    /// Enqueues the maps with all nodes, or the movable ones, at `x` and `y`, lower-left corners in
    /// layout units, turned as the design has them. Of the movable ones alone, the others are where
    /// the design has them.
    ///
    /// # Errors
    /// When there is not a position for each node or each movable one, memory is another device's,
    /// or a launch fails.
    pub fn enqueue<'a, T: CudaReal>(
        &mut self,
        x: impl Into<DeviceSlice<'a, T>>,
        y: impl Into<DeviceSlice<'a, T>>,
    ) -> Result<(), CudaError> {
        let (x, y) = (x.into(), y.into());
        let [all, movable] = &self.nodes;
        let nodes = if x.len() == movable.len() { movable } else { all };
        self.gpu.check("x of nodes", x, nodes.len())?;
        self.gpu.check("y of nodes", y, nodes.len())?;
        if T::PRECISION == Precision::F64 && nodes.len() == all.len() {
            return self.enqueue_at([x, y].map(|at| Pointer::at(*at.address())));
        }
        let unit = self.gpu.kernels::<T>("arrays")?;
        let place = Kernel::new(&unit)?.with(blocks_for(nodes.len()));
        let count = nodes.len() as u32;
        for ((from, home), at) in [x, y].iter().zip(&self.home).zip(&mut self.at) {
            self.gpu.copy(home, &mut *at)?;
            let (to, from, nodes) = ((&*at).into(), from.into(), nodes.into());
            // SAFETY: there are as many positions as `nodes`, which are numbers of nodes, and `at`
            // has one of every node.
            unsafe { place.launch(&self.gpu, &ArraysPositions { to, from, nodes, count }) }?;
        }
        self.enqueue_at(self.at.each_ref().map(Pointer::from))
    }

    /// Enqueues the maps with a double of every node at both addresses.
    fn enqueue_at(&mut self, [x, y]: [Pointer<f64>; 2]) -> Result<(), CudaError> {
        self.gpu.clear(&mut self.sums)?;
        let CudaCongestion { gpu, kernels, grid, finish, .. } = &*self;
        let (grid, sums, of) = (*grid, finish.nets, *finish);
        let nets = Nets { x, y, ..self.nets };
        let cells = CongestionCells { grid, cells: Cells { x, y, ..self.cells } };
        let macros = CongestionMacros { grid, macros: Macros { x, y, ..self.macros } };
        let [few, many] = &self.order;
        let (order, count) = (few.into(), few.len() as u32);
        // SAFETY: nets, pins and nodes are those of a design whose columns fit together
        // (`Tables::of`), with a position each (checked above); orders name nets, and macros nodes;
        // sums have an entry for every bin and one more along each axis.
        unsafe {
            kernels.nets.launch(gpu, &CongestionNets { grid, nets, sums, order, count })?;
            if !many.is_empty() {
                let order = many.into();
                kernels.large_nets.launch(gpu, &CongestionLargeNets { grid, nets, sums, order })?;
            }
            kernels.cells.launch(gpu, &cells)?;
            kernels.macros.launch(gpu, &macros)?;
        }
        for (differences, numbers) in
            [(sums.wires, 2), (of.density, 1), (of.pin_utilization, 1), (of.macros, 1)]
        {
            for number in 0..numbers {
                self.integrate(differences.differences.0 + 8 * number, numbers)?;
            }
        }
        // SAFETY: as above; there are MAPS values for each bin.
        unsafe { kernels.finish.launch(gpu, &CongestionFinish { grid, of }) }
    }

    /// Enqueues that second differences become sums, along both axes. Of an entry's so many numbers
    /// the one at `address` is meant.
    fn integrate(&self, address: CUdeviceptr, numbers: u64) -> Result<(), CudaError> {
        let [nx, ny] = self.bins.map(|bins| bins as u32 + 1);
        let column = numbers * u64::from(ny);
        let values = Array::at(address);
        for (lines, length, across, step) in [(nx, ny, column, numbers), (ny, nx, numbers, column)]
        {
            let config = grid_of(lines.div_ceil(BLOCK / 32) as usize);
            let arguments = CongestionIntegrate { values, lines, length, across, step };
            // SAFETY: lines of so many entries are within the sums.
            unsafe { self.kernels.integrate.launch_as(&self.gpu, config, &arguments) }?;
        }
        Ok(())
    }

    /// Returns the map of a kind, `[nx][ny]`, as last enqueued.
    pub fn map(&self, kind: CongestionKind) -> DeviceSlice<'_, f64> {
        self.values_of(kind as usize)
    }

    /// Enqueues a copy of the map of a kind, as last enqueued.
    ///
    /// # Errors
    /// When `to` has not a value for each bin, is another device's, or the launch fails.
    pub fn copy_map<'a, T: CudaReal>(
        &self,
        kind: CongestionKind,
        to: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<(), CudaError> {
        self.copy_sum(kind as usize, None, to.into())
    }

    /// Enqueues a copy of the demand of all nets, horizontal and vertical, as last enqueued.
    ///
    /// # Errors
    /// See [`CudaCongestion::copy_map`].
    pub fn copy_demand<'a, T: CudaReal>(
        &self,
        horizontal: impl Into<DeviceSliceMut<'a, T>>,
        vertical: impl Into<DeviceSliceMut<'a, T>>,
    ) -> Result<(), CudaError> {
        // After the kinds: long nets', then short nets', horizontal before vertical.
        let long = CongestionKind::ALL.len();
        self.copy_sum(long, Some(long + 2), horizontal.into())?;
        self.copy_sum(long + 1, Some(long + 3), vertical.into())
    }

    fn copy_sum<T: CudaReal>(
        &self,
        first: usize,
        second: Option<usize>,
        to: DeviceSliceMut<'_, T>,
    ) -> Result<(), CudaError> {
        let bins = self.bins[0] * self.bins[1];
        check_length("map", to.len(), bins)?;
        let unit = self.gpu.kernels::<T>("arrays")?;
        let copy = Kernel::new(&unit)?.with(blocks_for(bins));
        let (a, two) = (self.values_of(first), u32::from(second.is_some()));
        let b = self.values_of(second.unwrap_or(first));
        let (to, a, b, count) = ((&to).into(), (&a).into(), (&b).into(), bins as u32);
        // SAFETY: all three have a value per bin.
        unsafe { copy.launch(&self.gpu, &ArraysMap { to, a, b, two, count }) }
    }

    /// Copies of all maps in host memory; waits for them.
    ///
    /// # Errors
    /// If work on the device failed.
    pub fn download(&self) -> Result<CongestionMaps, CudaError> {
        let get = |k: usize| {
            let [nx, ny] = self.bins;
            Ok::<_, CudaError>(Map::from_vec(nx, ny, self.gpu.download(self.values_of(k))?))
        };
        let kinds = CongestionKind::ALL.len();
        let directions = |k| {
            let (horizontal, vertical) = (get(kinds + k)?, get(kinds + k + 1)?);
            Ok::<_, CudaError>(Directions { horizontal, vertical })
        };
        Ok(CongestionMaps {
            maps: [get(0)?, get(1)?, get(2)?, get(3)?, get(4)?, get(5)?, get(6)?],
            demand: Demand { long: directions(0)?, short: directions(2)? },
            capacity: self.options.checked_capacity().ok().flatten(),
        })
    }

    fn values_of(&self, map: usize) -> DeviceSlice<'_, f64> {
        let bins = self.bins[0] * self.bins[1];
        self.maps.slice(map * bins..(map + 1) * bins)
    }
}
