//! Detailed placement on a device, with the bits of the CPU: `kernels/refine`.

use super::device::bindings::refine::{
    BandOfSites, Batch, Cell, Change, CountCells, Counters, FindStretches, Judge, KindOfCell,
    ListCells, Listed, Member, OfRows, Outermost, Pin, Pose, ProposeMirror, ProposeReorder,
    ProposeShift, ProposeSwap, Refine, RefineExtremes, RefineSlopes, RefineStart, RowOfSites,
    RunOfSites, Slopes, Spot, Stretch,
};
use super::device::constants::{FEW_PINS, GAIN_SUMS, PUSHED_CELLS, STRETCH_CELLS, WINDOW_CELLS};
use super::device::{
    CudaError, DeviceArrays, DeviceVec, Gpu, Kernel, Pinned, blocks_for, blocks_with,
};
use super::lines::others;
use crate::refine::{Device, Engine, OnDevice, Pass, Start, Tasks, sealed};
use crate::rows::Run;
use cudarc::driver::LaunchConfig;

const _: () = assert!(
    Pass::Swap.most_changes() == 1 + PUSHED_CELLS
        && Pass::Reorder(0).most_changes() == WINDOW_CELLS
        && Pass::Shift(0).most_changes() == STRETCH_CELLS
);

/// Stands for no fence and no band.
const NONE: u32 = u32::MAX;
/// Threads in a block of kernels that propose and commit, and warps.
const THREADS: usize = 128;
const WARPS: usize = THREADS / 32;
/// Lanes of a warp that search in a swap, each for a cell. All 32 would wait for one another, and
/// few cells search at the same time. Refinement of 2.2 million and of 200,000 cells takes 1218 and
/// 700 ms with 32 lanes, 1151 and 571 with 16, 1179 and 545 with 8, 1259 and 559 with 4 (H200).
const LANES: u32 = 8;
/// Most turns of a batch that are enqueued at once.
const MOST_TURNS: u32 = 12;

impl sealed::Sealed for Gpu {}

impl Device for Gpu {
    fn begin(&self, start: Start<'_>) -> Result<Box<dyn OnDevice>, String> {
        if u32::try_from(start.state.resources()).is_err() {
            return Err("nets and cells are too many to be counted in 32 bits".into());
        }
        match CudaRefine::new(self, start) {
            Ok(refine) => Ok(Box::new(refine)),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// A placement that is refined.
struct CudaRefine {
    gpu: Gpu,
    kernels: Kernels,
    data: Refine,
    _arrays: DeviceArrays,
    spots: DeviceVec<Spot>,
    counters: DeviceVec<Counters>,
    received: Pinned<Counters>,
    /// Stamps of claims rise with it; even at the first turn of a batch.
    turn: u32,
    /// The turns of the last batch.
    turns: u32,
    pass: Pass,
    lists: Lists,
    /// The band of every row that is searched.
    bands: Vec<u32>,
}

/// Cells and tasks of rows in a pass.
struct Lists {
    counts: DeviceVec<u32>,
    start: DeviceVec<u32>,
    cells: DeviceVec<u32>,
    /// The first task of every row.
    tasks: DeviceVec<u32>,
    /// The first cell of every row, each row with the cells of its band.
    room: DeviceVec<u32>,
    stretches: DeviceVec<Stretch>,
}

struct Kernels {
    slopes: Kernel<RefineSlopes>,
    swap: Kernel<ProposeSwap>,
    count_cells: Kernel<CountCells>,
    list_cells: Kernel<ListCells>,
    stretches: Kernel<FindStretches>,
    reorder: Kernel<ProposeReorder>,
    shift: Kernel<ProposeShift>,
    mirror: Kernel<ProposeMirror>,
    /// `judge`, `hold` and `make`, with a warp for each proposal.
    turn: [Kernel<Judge>; 3],
    /// Those with a block for each.
    turn_of_stretches: [Kernel<Judge>; 3],
}

/// Returns where each of the lists begins, and the end.
fn starts(counts: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut end = 0;
    std::iter::once(0)
        .chain(counts.map(|count| {
            end += count;
            end
        }))
        .collect()
}

fn launch(blocks: usize) -> LaunchConfig {
    blocks_with(THREADS as u32, blocks.max(1))
}

fn run(run: &Run) -> RunOfSites {
    RunOfSites { start: run.start, end: run.end, fence: run.fence.unwrap_or(NONE), padding: 0 }
}

fn no_counters() -> Counters {
    let sums = [0; GAIN_SUMS];
    Counters { waiting: [0; 2], made: 0, ends: 0, turns: 0, padding: 0, low: sums, high: sums }
}

impl CudaRefine {
    fn new(gpu: &Gpu, start: Start<'_>) -> Result<Self, CudaError> {
        let state = start.state;
        let (wires, sites) = (&state.wires, &state.sites);
        let (cells, nets) = (state.cells.len(), wires.len());
        let (rows, bands) = (state.rows.len(), sites.bands().len());
        let by_threads = others("commit");
        let of_commit = by_threads.iter().map(|defines| ("commit", &defines[..]));
        let searches: [(&str, &[_]); 2] = [("swap", &[]), ("rows", &[])];
        let instances: Vec<_> = searches.into_iter().chain(of_commit).collect();
        let modules = gpu.prepare::<f64>(&instances)?;
        let [swap, in_rows, commit, of_block] = &modules[..] else {
            unreachable!("one for each instance")
        };
        let kernels = Kernels {
            slopes: Kernel::new(swap)?,
            swap: Kernel::new(swap)?,
            count_cells: Kernel::new(in_rows)?,
            list_cells: Kernel::new(in_rows)?,
            stretches: Kernel::new(in_rows)?,
            reorder: Kernel::new(in_rows)?,
            shift: Kernel::new(in_rows)?,
            mirror: Kernel::new(in_rows)?,
            turn: Kernel::each(commit, ["judge", "hold", "make"])?,
            turn_of_stretches: Kernel::each(of_block, ["judge", "hold", "make"])?,
        };
        let mut arrays = DeviceArrays::new(gpu);

        // Cells
        let [pin_start, member_start] = wires.starts();
        let pins_of = |cell: usize| pin_start[cell + 1] - pin_start[cell];
        let heavy = |cell: usize| if pins_of(cell) as usize > FEW_PINS { pins_of(cell) } else { 0 };
        let heavy_start = starts((0..cells).map(heavy));
        let heavy_pins = heavy_start[cells] as usize;
        let all = arrays.upload_each(cells, |k| {
            let cell = &state.cells[k];
            Cell {
                centre: cell.centre,
                half_height: cell.half_height,
                origin_x: cell.origin.0,
                origin_y: cell.origin.1,
                nets: wires.bits_of_nets(k as u32),
                sites: cell.sites,
                kind: cell.kind,
                fence: cell.access.fence.unwrap_or(NONE),
                view: cell.access.view() as u32,
                home_row: cell.home.row,
                heavy: heavy_start[k],
            }
        })?;
        let spots = gpu.upload_each(cells, |k| {
            let spot = state.cells[k].spot;
            Spot { row: spot.row, site: spot.site, mirrored: spot.mirrored.into(), padding: 0 }
        })?;
        let poses = arrays.upload_each(cells, |k| {
            let pose = wires.pose(k as u32);
            let (mirrored, flipped) = (pose.mirrored.into(), pose.flipped.into());
            Pose { x: pose.x, y: pose.y, mirrored, flipped }
        })?;

        // Wires
        let count = pin_start[cells] as usize;
        let pins = arrays.upload_each(count, |k| {
            let (net, member, sides) = wires.pin(k);
            Pin { net, member, sides }
        })?;

        // Rows and sites
        let of_rows: Vec<RowOfSites> = (state.rows.iter())
            .map(|row| {
                let (flipped, band) = (row.flipped.into(), row.band);
                RowOfSites { x: row.x, pitch: row.pitch, y: row.y, flipped, band }
            })
            .collect();
        let kinds: Vec<KindOfCell> = (state.kinds.iter())
            .map(|kind| KindOfCell {
                mirrors: kind.mirrors.into(),
                follows_rows: kind.follows_rows.into(),
            })
            .collect();
        let of_kinds = state.kinds.iter().flat_map(|kind| &kind.bands);
        let kind_bands: Vec<u32> =
            of_kinds.flat_map(|bands| bands.map_or([NONE; 2], |(from, to)| [from, to])).collect();
        let views: Vec<_> = (0..sites.views()).map(|view| sites.view(view)).collect();
        let list = |which: usize| {
            let lists = || views.iter().flat_map(|view| view[which].iter());
            let runs: Vec<RunOfSites> = lists().flatten().map(run).collect();
            (starts(lists().map(|runs| runs.len() as u32)), runs)
        };
        let ((free_start, free), (segment_start, segments)) = (list(0), list(1));
        let mut words = 0;
        let of_bands: Vec<BandOfSites> = (0..bands)
            .map(|band| {
                let runs = || views.iter().flat_map(|view| view[0].get(band));
                let first = runs().map(|run| run.start).min().unwrap_or(0);
                let end = runs().map(|run| run.end).max().unwrap_or(0);
                let of = BandOfSites {
                    word: words,
                    words: i64::from(end).abs_diff(i64::from(first)).div_ceil(64) as u32,
                    first,
                };
                words += u64::from(of.words);
                of
            })
            .collect();

        // Proposals
        let passes = [Pass::Swap, Pass::Reorder(0), Pass::Shift(0), Pass::Mirror];
        let at_once = passes.map(|pass| pass.order(cells).1);
        let changes = passes.iter().zip(at_once).map(|(pass, count)| pass.most_changes() * count);
        let changes = changes.max().unwrap_or(0);
        let proposals = at_once.into_iter().max().unwrap_or(0);
        let resources = nets + 2 * cells + bands;
        let counters = gpu.upload(&[no_counters()])?;
        let [length_units, weight_units] = wires.units();
        let data = Refine {
            cells: all,
            spots: (&spots).into(),
            poses,
            pin_start: arrays.upload_each(cells + 1, |cell| pin_start[cell])?,
            pins,
            member_start: arrays.upload_each(nets + 1, |net| member_start[net])?,
            members: arrays.zeros::<Member>(count)?,
            fixed: arrays.upload_each(4 * nets, |k| wires.net(k / 4).0[k % 4])?,
            extremes: arrays.zeros::<Outermost>(2 * nets)?,
            slopes: arrays.zeros::<Slopes>(cells)?,
            stale: arrays.zeros(cells)?,
            rows: arrays.upload(&of_rows)?,
            kinds: arrays.upload(&kinds)?,
            kind_bands: arrays.upload(&kind_bands)?,
            segment_start: arrays.upload(&segment_start)?,
            segments: arrays.upload(&segments)?,
            free_start: arrays.upload(&free_start)?,
            free: arrays.upload(&free)?,
            bands: arrays.upload(&of_bands)?,
            edges: arrays.zeros(words as usize)?,
            standing: arrays.zeros(64 * words as usize)?,
            changed: arrays.zeros(resources)?,
            used: arrays.zeros(resources)?,
            reaches: arrays.zeros(2 * heavy_pins)?,
            breaks: arrays.zeros(2 * heavy_pins)?,
            ends: arrays.zeros(count)?,
            changes: arrays.zeros::<Change>(changes)?,
            counts: arrays.zeros(proposals)?,
            gains: arrays.zeros(proposals)?,
            waiting: [arrays.zeros(proposals)?, arrays.zeros(proposals)?],
            made: arrays.zeros(proposals)?,
            counters: (&counters).into(),
            limit: state.limit,
            least_gain: state.least_gain,
            length_units,
            weight_units,
            cell_count: cells as u32,
            net_count: nets as u32,
            row_count: rows as u32,
            band_count: bands as u32,
            first_row: state.searched.start as u32,
            end_row: state.searched.end as u32,
        };
        let weights = gpu.upload_each(nets, |net| wires.net(net).1)?;
        let of_cells = Kernel::<RefineStart>::new(commit)?;
        let of_nets = Kernel::<RefineExtremes>::new(commit)?;
        // SAFETY: all arrays have an entry for each cell, pin, net, row or band; numbers in them
        // are of these, as `State` has them.
        unsafe {
            of_cells.launch_as(gpu, blocks_for(cells), &RefineStart { s: data })?;
            let extremes = RefineExtremes { s: data, weights: (&weights).into() };
            of_nets.launch_as(gpu, blocks_for(nets), &extremes)?;
        }
        let lists = Lists {
            counts: gpu.zeros(bands.max(rows))?,
            start: gpu.zeros(bands + 1)?,
            cells: gpu.zeros(0)?,
            tasks: gpu.zeros(state.searched.len() + 1)?,
            room: gpu.zeros(state.searched.len() + 1)?,
            stretches: gpu.zeros(0)?,
        };
        let bands = state.rows[state.searched.clone()].iter().map(|row| row.band).collect();
        Ok(CudaRefine {
            received: Pinned::zeros(gpu, 1)?,
            gpu: gpu.clone(),
            kernels,
            data,
            _arrays: arrays,
            spots,
            counters,
            turn: 0,
            turns: 1,
            pass: Pass::Mirror,
            lists,
            bands,
        })
    }

    /// Lists the cells of all bands. Returns the number of cells in the band of each row.
    fn list(&mut self) -> Result<Vec<u32>, CudaError> {
        let CudaRefine { gpu, kernels, data, lists, bands, .. } = self;
        let of_bands = data.band_count as usize;
        let config = launch(of_bands.div_ceil(WARPS));
        let count = CountCells { s: *data, counts: (&lists.counts).into() };
        // SAFETY: there are as many counts as bands, and as many cells as they say.
        unsafe { kernels.count_cells.launch_as(gpu, config, &count) }?;
        let counts = gpu.download(lists.counts.slice(0..of_bands))?;
        let start = starts(counts.iter().copied());
        gpu.write(&start, &mut lists.start)?;
        let cells = start[of_bands] as usize;
        if lists.cells.len() < cells {
            lists.cells = gpu.zeros(cells)?;
        }
        let list = ListCells { s: *data, listed: lists.listed() };
        // SAFETY: as above.
        unsafe { kernels.list_cells.launch_as(gpu, config, &list) }?;
        Ok(bands.iter().map(|band| counts[*band as usize]).collect())
    }

    /// Finds the windows of all rows. Returns their number.
    fn windows(&mut self, offset: usize) -> Result<usize, CudaError> {
        let counts = self.list()?;
        let windows = |count: u32| (count as usize).saturating_sub(offset).div_ceil(WINDOW_CELLS);
        let start = starts(counts.into_iter().map(|count| windows(count) as u32));
        self.gpu.write(&start, &mut self.lists.tasks)?;
        Ok(start.last().map_or(0, |count| *count as usize))
    }

    /// Finds the stretches of all rows. Returns their number.
    fn stretches(&mut self, offset: usize) -> Result<usize, CudaError> {
        let room = starts(self.list()?.into_iter());
        let CudaRefine { gpu, kernels, data, lists, bands, .. } = self;
        gpu.write(&room, &mut lists.room)?;
        let most = room.last().map_or(0, |count| *count as usize);
        if lists.stretches.len() < most {
            lists.stretches = gpu.zeros(most)?;
        }
        let find = FindStretches {
            s: *data,
            listed: lists.listed(),
            room: lists.rows(&lists.room, offset),
            counts: (&lists.counts).into(),
            stretches: (&lists.stretches).into(),
        };
        let config = launch(bands.len().div_ceil(THREADS));
        // SAFETY: each row has room for as many stretches as its band has cells.
        unsafe { kernels.stretches.launch_as(gpu, config, &find) }?;
        let counts = gpu.download(lists.counts.slice(0..bands.len()))?;
        let start = starts(counts.into_iter());
        gpu.write(&start, &mut lists.tasks)?;
        Ok(start.last().map_or(0, |count| *count as usize))
    }

    /// Enqueues that the tasks of a batch propose.
    fn propose(&self, batch: Batch) -> Result<(), CudaError> {
        let CudaRefine { gpu, kernels, data: s, lists, pass, .. } = self;
        let s = *s;
        let threads = launch((batch.count as usize).div_ceil(THREADS));
        let warps = launch((batch.count as usize).div_ceil(WARPS));
        let listed = lists.listed();
        // SAFETY: there are so many tasks, room for the changes of so many proposals, and lists of
        // the pass that was begun.
        unsafe {
            match *pass {
                Pass::Swap => {
                    let config = blocks_for(s.cell_count as usize);
                    kernels.slopes.launch_as(gpu, config, &RefineSlopes { s })?;
                    let warps = (batch.count as usize).div_ceil(batch.lanes as usize);
                    let config = launch(warps.div_ceil(WARPS));
                    kernels.swap.launch_as(gpu, config, &ProposeSwap { s, batch })
                }
                Pass::Reorder(offset) => {
                    let windows = lists.rows(&lists.tasks, offset);
                    let reorder = ProposeReorder { s, batch, listed, windows };
                    kernels.reorder.launch_as(gpu, warps, &reorder)
                }
                Pass::Shift(offset) => {
                    let shift = ProposeShift {
                        s,
                        batch,
                        listed,
                        rows: lists.rows(&lists.tasks, offset),
                        room: lists.rows(&lists.room, offset),
                        stretches: (&lists.stretches).into(),
                    };
                    kernels.shift.launch_as(gpu, warps, &shift)
                }
                Pass::Mirror => kernels.mirror.launch_as(gpu, threads, &ProposeMirror { s, batch }),
                Pass::Insert => unreachable!("such a pass does not begin"),
            }
        }
    }

    /// Has a batch propose, and makes what it proposes. Returns by how many units wires become
    /// shorter.
    fn run(&mut self, tasks: Tasks) -> Result<i128, CudaError> {
        self.gpu.clear(&mut self.counters)?;
        self.turn += self.turn % 2;
        let [all, apart, first, count] =
            [tasks.all, tasks.apart, tasks.first, tasks.count].map(|number| number as u32);
        let stride = self.pass.most_changes() as u32;
        let mut batch = Batch { all, apart, first, count, stride, turn: self.turn, lanes: LANES };
        self.propose(batch)?;
        let blocks = 8 * self.gpu.info().multiprocessors.max(1) as usize;
        let (kernels, of_block) = match self.pass {
            Pass::Shift(_) => (&self.kernels.turn_of_stretches, 1),
            _ => (&self.kernels.turn, WARPS),
        };
        let config = launch(tasks.count.div_ceil(of_block).min(blocks));
        let mut turns = self.turns.clamp(1, MOST_TURNS);
        loop {
            for _ in 0..turns {
                batch.turn = self.turn;
                self.turn += 1;
                for kernel in kernels {
                    // SAFETY: proposals are of this batch, with numbers below its count.
                    unsafe { kernel.launch_as(&self.gpu, config, &Judge { s: self.data, batch }) }?;
                }
            }
            let found = self.received.receive(&self.counters)?[0];
            if found.waiting[self.turn as usize % 2] == 0 {
                self.turns = found.turns;
                let sum = |sums: [u64; GAIN_SUMS]| sums.into_iter().map(i128::from).sum::<i128>();
                return Ok(sum(found.low) + (sum(found.high) << 32));
            }
            turns = 2;
        }
    }
}

impl Lists {
    fn listed(&self) -> Listed {
        Listed { start: (&self.start).into(), cells: (&self.cells).into() }
    }

    fn rows(&self, start: &DeviceVec<u32>, offset: usize) -> OfRows {
        OfRows { start: start.into(), offset: offset as u32, padding: 0 }
    }
}

impl Engine for CudaRefine {
    fn begin(&mut self, pass: Pass) -> Result<usize, String> {
        self.pass = pass;
        self.turns = 1;
        let count = match pass {
            Pass::Swap | Pass::Mirror => Ok(self.spots.len()),
            Pass::Reorder(offset) => self.windows(offset),
            Pass::Shift(offset) => self.stretches(offset),
            Pass::Insert => return Err("cells are inserted on the CPU alone".to_owned()),
        };
        count.map_err(|error| error.to_string())
    }

    fn batch(&mut self, tasks: Tasks) -> Result<f64, String> {
        let units = self.run(tasks).map_err(|error| error.to_string())?;
        Ok(units as f64 / self.data.length_units)
    }
}

impl OnDevice for CudaRefine {
    fn spots(&mut self) -> Result<Vec<(u32, i32, bool)>, String> {
        let mut spots = vec![Spot { row: 0, site: 0, mirrored: 0, padding: 0 }; self.spots.len()];
        self.gpu.read(&self.spots, &mut spots).map_err(|error| error.to_string())?;
        Ok(spots.iter().map(|spot| (spot.row, spot.site, spot.mirrored != 0)).collect())
    }
}
