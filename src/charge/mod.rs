//! Charges: the rectangles of a design, with their weights in the density.
//!
//! A *body* is a movable rectangle: the movable cells first, then the fillers. [`Charge`] has
//! the data that iterations do not change: the bodies' sizes, their smoothing,
//! and the fixed area of every bin. All numbers are `f64` and are computed once; engines
//! round them to their own precision. Lengths are layout units.

mod blocked;
mod change;
mod edges;
mod error;
mod fences;
mod fillers;
pub(crate) mod fixed;
mod origin;
pub(crate) mod overlap;
mod rectangles;
pub(crate) mod smoothing;

pub use error::ChargeError;
pub use origin::origin_for;
pub use rectangles::Rectangles;
pub use smoothing::stretch;

use crate::design::{BlockageKind, Design, NodeKind, Row};
use crate::grid::{BinGrid, Map, Rect};
use crate::memory::require;
use crate::parallel::{self, chunks_mut};
use crate::real::Real;
use crate::setters::setters;
use crate::warning::{Warning, WarningCode};
pub(crate) use fences::region_count;
use fences::{Fence, Region};

/// Largest number of bodies of a [`Charge`]: engines use signed 32-bit indices.
pub const MAX_BODIES: usize = i32::MAX as usize;

/// Largest number of fillers. If movable cells were tiny compared with the die, fillers would not
/// fit into memory. The largest contest design needs 1/25 of this number.
pub const MAX_FILLERS: usize = 1 << 26;

/// Additional width of a large cell's body for each doubling of the mean area, and its maximum
/// ([`ChargeOptions::widen_large`]).
const WIDER_PER_DOUBLING: f64 = 0.04;
const MOST_WIDER: f64 = 0.15;

/// The bodies of an evaluation and the fixed area.
///
/// To change it while a placer runs, change a copy and give it to the engine
/// ([`Engine::set_charge`](crate::engine::Engine::set_charge)): sizes ([`Charge::set_sizes`]),
/// fixed cells ([`Charge::set_fixed_cells`]), blocked area ([`Charge::set_blocked_area`]), target
/// densities by bin ([`Charge::set_target_densities`]), and fillers ([`Charge::refill`]).
///
/// Each fence region ([`Charge::set_fences`]) has a separate density over the same
/// bins. Without fences there is one region, the die.
///
/// Every `Charge` is consistent: the columns by body have one finite value each, the map of fixed
/// area has the bins of the grid, and indices are within range. Its constructors and methods ensure
/// this, and nothing else can change it, because engines rely on it when they read memory:
///
/// ```compile_fail,E0616
/// # use placefield::charge::Charge;
/// # fn shrink(mut charge: Charge) {
/// charge.ratio = Vec::new();
/// # }
/// ```
///
/// ```compile_fail,E0451
/// # use placefield::charge::Charge;
/// # fn shorten(charge: Charge) -> Charge {
/// Charge { width: Vec::new(), ..charge }
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Charge {
    grid: BinGrid,
    /// Where positions in an engine's precision are counted from.
    origin: [f64; 2],
    /// One at least.
    regions: Vec<Region>,
    /// For every body; empty where there is one region.
    region: Vec<u32>,
    movable: usize,
    width: Vec<f64>,
    height: Vec<f64>,
    ratio: Vec<f64>,
    /// By how much the body of each movable cell is larger than the cell: left, below, right and
    /// above; empty: by nothing.
    margin: Vec<[f64; 4]>,
    macros: Vec<u32>,
    initial_x: Vec<f64>,
    initial_y: Vec<f64>,
    movable_area: f64,
    fixed_area: f64,
    fixed_clipped: Clipped,
    blockage_area: f64,
    warnings: Vec<Warning>,
    source: Source,
}

/// The inputs of a charge besides sizes and positions of the bodies.
#[derive(Clone, Debug, Default)]
struct Source {
    /// The target density given, and those of bins if they have their own.
    requested_density: f64,
    targets: Option<Map<f64>>,
    /// Whether there are fillers, how many before they get larger, and the seed of their positions.
    fillers: bool,
    many_fillers: usize,
    seed: u64,
    row_height: f64,
    /// Macros, by index, also at a target density of 1.
    macros: Vec<u32>,
    /// Whether each movable cell is fixed; empty: none is.
    fixed_cells: Vec<bool>,
    fixed: Vec<Rect>,
    row_blockage: bool,
    /// Blocked rectangles under no fixed cell.
    blocked_rects: Vec<Rect>,
    /// Area of every bin that partial blockages take.
    partial: Option<Map<f64>>,
    /// Other blocked area of every bin: [`Charge::set_blocked_area`].
    blocked_map: Option<Map<f64>>,
    /// Warnings that no change affects.
    base_warnings: Vec<Warning>,
    /// The fence of every region, and the region of every movable cell; empty: one region, the die.
    fences: Vec<Fence>,
    region: Vec<u32>,
    /// Regions whose fences admit the cells of the last region, those of no fence.
    open: Vec<usize>,
    /// Whether a region whose cells do not fit is a warning, not an error.
    allows_overfull: bool,
    /// Names of the fences; empty where they have none.
    fence_names: Vec<String>,
}

impl Source {
    /// Checks the cells and options, and copies all but their columns.
    fn new(
        grid: &BinGrid,
        cells: &Rectangles<'_>,
        options: &ChargeOptions,
    ) -> Result<Self, ChargeError> {
        let requested_density = options.target_density;
        if !(requested_density > 0.0 && requested_density <= 1.0) {
            return Err(ChargeError::TargetDensity(requested_density));
        }
        cells.check()?;
        check_bodies(cells.width.len())?;
        let row_height = cells.row_height.unwrap_or_else(|| median(&mut cells.height.to_vec()));
        let movable_area = parallel::sum(cells.width.len(), |i| cells.width[i] * cells.height[i]);
        check_total("movable cells", movable_area)?;
        let blocked_rects = blocked::rects(cells, options.row_blockage, &grid.die());
        let partial = blocked::partial(cells, &blocked_rects, grid);
        Ok(Source {
            requested_density,
            fillers: options.fillers,
            many_fillers: options.many_fillers,
            seed: options.seed,
            row_height,
            macros: smoothing::macros(cells, movable_area, row_height),
            fixed: cells.fixed.to_vec(),
            row_blockage: options.row_blockage,
            allows_overfull: options.allow_overfull,
            blocked_rects,
            partial,
            ..Source::default()
        })
    }
}

/// Options of a [`Charge`].
///
/// ```
/// use placefield::charge::ChargeOptions;
/// let options = ChargeOptions::default().target_density(0.9).fillers(true);
/// assert_eq!(options.seed, 1000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChargeOptions {
    /// Target density T, in (0, 1]; 1 by default.
    pub target_density: f64,
    /// Fill the free space with fillers; off by default.
    pub fillers: bool,
    /// Where there would be more fillers than this, and no macro moves, they are made larger: up to
    /// √2 bins along each axis, since smaller ones are smoothed to that. No number by default: in
    /// DREAMPlace all are of the cells' mean width and the rows' height.
    pub many_fillers: usize,
    /// Count area outside every row as fixed; off by default.
    pub row_blockage: bool,
    /// Seed of the fillers' positions; 1000 by default.
    pub seed: u64,
    /// Whether a fence whose members do not fit is a warning, and not an error; no by default.
    pub allow_overfull: bool,
    /// So many sites at both sides of every cell of a design that is no macro belong to its body,
    /// or fewer where the cells would not fit; 0 by default. See [`Charge::margin`].
    pub padding: u32,
    /// Whether cells larger than the mean, except macros, have bodies that are wider than the
    /// cells: by 4 % for each doubling of the area, at most by 15 %, or less if the cells would not
    /// fit. The default is no. Legalization then moves large cells less far, because it finds free
    /// sites near them.
    pub widen_large: bool,
    /// Whether the halos of movable nodes, hard and soft, belong to their bodies, or a part of the
    /// halos if the cells would not fit. The default is no: halos then take no area in the density.
    pub halos: bool,
}

impl Default for ChargeOptions {
    fn default() -> Self {
        ChargeOptions {
            target_density: 1.0,
            fillers: false,
            many_fillers: usize::MAX,
            row_blockage: false,
            seed: 1000,
            allow_overfull: false,
            padding: 0,
            widen_large: false,
            halos: false,
        }
    }
}

impl ChargeOptions {
    setters! {
        /// Sets the target density T, in (0, 1].
        target_density: f64,
        /// Sets whether fillers fill the free area.
        fillers: bool,
        /// Sets beyond which number fillers are made larger.
        many_fillers: usize,
        /// Sets whether area outside every row counts as fixed.
        row_blockage: bool,
        /// Sets the seed of the fillers' positions.
        seed: u64,
        /// Sets whether a fence whose members do not fit is a warning.
        allow_overfull: bool,
        /// Sets how many sites at both sides of a cell belong to its body.
        padding: u32,
        /// Sets whether bodies of large cells are wider than the cells.
        widen_large: bool,
        /// Sets whether halos of movable nodes belong to their bodies.
        halos: bool,
    }
}

/// Area of cells outside the die, which is in no map.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clipped {
    /// Their area outside, layout units squared.
    pub area: f64,
    /// Cells with no area inside the die.
    pub wholly: usize,
    /// Cells that lie in the die in part.
    pub partly: usize,
}

impl Charge {
    /// Returns the charge of a design. `FixedOverlappable` nodes block nothing. Blockages, hard and
    /// soft, and the halos of fixed nodes block area as fixed cells do, partial blockages a share
    /// of theirs. The fences that movable nodes belong to are regions ([`Charge::set_fences`]);
    /// other fences are blocked. Area outside every row is blocked if the options or the design ask
    /// for it. Halos of movable nodes take no area without [`ChargeOptions::halos`];
    /// [`Charge::warnings`] then has their number.
    ///
    /// # Errors
    /// A design whose columns do not fit together ([`Design::check`]), a target
    /// density outside (0, 1], a size or position that is not finite or a negative
    /// size (named by node index), areas that overflow, too many bodies or fillers; what
    /// [`Charge::set_fences`] refuses, with the design's numbers of fences.
    pub fn from_design(
        design: &Design,
        grid: BinGrid,
        options: &ChargeOptions,
    ) -> Result<Self, ChargeError> {
        let made = |share| Charge::padded(design, grid, options, share);
        let charge = made(1.0)?;
        match charge.most_padding() {
            share if share < 1.0 => made(share),
            _ => Ok(charge),
        }
    }

    /// The charge of a design whose cells have this share of their padding.
    fn padded(
        design: &Design,
        grid: BinGrid,
        options: &ChargeOptions,
        share: f64,
    ) -> Result<Self, ChargeError> {
        design.check()?;
        let names = ["width of node", "height of node", "x of node", "y of node"];
        let numbers = |i: usize| {
            let (width, height) = design.size(i);
            [width, height, design.placement.x[i], design.placement.y[i]]
        };
        rectangles::check_all(names, design.nodes.len(), numbers)?;
        let movable = design.movable_nodes();
        let mut columns = [0, 1, 2, 3]
            .map(|k| -> Vec<f64> { parallel::map(movable.len(), |i| numbers(movable[i])[k]) });
        let is_fixed = |i: usize| design.nodes.kind[i] == NodeKind::Fixed;
        let fixed = parallel::filter(design.nodes.len(), is_fixed);
        let fixed: Vec<Rect> = fixed.into_iter().flat_map(|i| design.solid_rects(i)).collect();
        let row_height = design.usual_height();
        let macros: Vec<bool> =
            parallel::map(movable.len(), |i| design.is_macro(movable[i], row_height));
        let pitch = design.rows.iter().map(|row| row.pitch).fold(f64::INFINITY, f64::min);
        let by = Some(f64::from(options.padding) * pitch).filter(|by| by.is_finite());
        let by = by.unwrap_or(0.0);
        let mut margin = match by > 0.0 || options.widen_large {
            true => margins(&columns, &macros, by, options.widen_large, share),
            false => Vec::new(),
        };
        let die = grid.die();
        if options.halos {
            blocked::add_halos(design, &movable, [die.width(), die.height()], share, &mut margin);
        }
        for (i, [left, below, right, above]) in margin.iter().enumerate() {
            columns[0][i] += left + right;
            columns[1][i] += below + above;
            columns[2][i] -= left;
            columns[3][i] -= below;
        }
        let [width, height, x, y] = &columns;
        let on_rows = design.row_blockage && !design.rows.is_empty();
        // Members of a fence may use soft blockages where there is no other room.
        let any_soft = design.blockages.iter().any(|b| b.kind == BlockageKind::Soft);
        let options = options
            .row_blockage(options.row_blockage || on_rows)
            .allow_overfull(options.allow_overfull || any_soft);
        let rows: Vec<Rect> =
            if options.row_blockage { row_rects(&design.rows) } else { Vec::new() };
        let blockages = blocked::of_design(design, &die);
        let rectangles = Rectangles {
            width,
            height,
            x,
            y,
            fixed: &fixed,
            row_height: design.row_height(),
            macros: Some(&macros),
            rows: &rows,
            blockages: &blockages,
        };
        let source = Source::new(&grid, &rectangles, &options)?;
        let mut charge = Charge::from_columns(grid, columns, source)?;
        charge.margin = margin;
        let unread = blocked::unread_halos(design).filter(|_| !options.halos);
        charge.source.base_warnings.extend(unread);
        charge.warnings.extend(charge.source.base_warnings.iter().cloned());
        charge.fence_as(design)?;
        Ok(charge)
    }

    /// Returns the share of the padding with which the cells of every region fit.
    fn most_padding(&self) -> f64 {
        let of_region = |region: usize| {
            let fillers::Budget { space, macro_area, cell_area, .. } = self.budget(region);
            let padding = |i: usize| {
                let [left, below, right, above] = self.margin[i];
                let across = left + right;
                across * self.height[i] + (below + above) * (self.width[i] - across)
            };
            let padding = self.sum_in(region, padding);
            let room = space - macro_area - (cell_area - padding);
            if padding > room { (room / padding).max(0.0) } else { 1.0 }
        };
        match self.margin.is_empty() {
            true => 1.0,
            false => (0..self.regions()).map(of_region).fold(1.0, f64::min),
        }
    }

    /// Makes the charge of rectangles without a design.
    ///
    /// # Errors
    /// A target density outside (0, 1], slices of different lengths, a size or position that is not
    /// finite or a negative size, areas that overflow, too many bodies or fillers.
    pub fn from_rectangles(
        grid: BinGrid,
        cells: &Rectangles<'_>,
        options: &ChargeOptions,
    ) -> Result<Self, ChargeError> {
        let source = Source::new(&grid, cells, options)?;
        let places = || [cells.x.to_vec(), cells.y.to_vec()];
        let sizes = || [cells.width.to_vec(), cells.height.to_vec()];
        let ([width, height], [x, y]) = rayon::join(sizes, places);
        Charge::from_columns(grid, [width, height, x, y], source)
    }

    /// Returns the charge of cells with these widths, heights and lower-left corners.
    fn from_columns(
        grid: BinGrid,
        [width, height, initial_x, initial_y]: [Vec<f64>; 4],
        source: Source,
    ) -> Result<Self, ChargeError> {
        let movable = width.len();
        let thinned = source.partial.as_ref().map_or(0.0, |map| map.as_slice().iter().sum());
        let mut charge = Charge {
            grid,
            origin: [0.0; 2],
            regions: vec![Region::new(source.requested_density)],
            region: Vec::new(),
            movable,
            width,
            height,
            ratio: vec![0.0; movable],
            margin: Vec::new(),
            macros: Vec::new(),
            initial_x,
            initial_y,
            movable_area: 0.0,
            fixed_area: 0.0,
            fixed_clipped: Clipped::default(),
            blockage_area: source.blocked_rects.iter().map(Rect::area).sum::<f64>() + thinned,
            warnings: Vec::new(),
            source,
        };
        charge.fill()?;
        Ok(charge)
    }

    /// Adds fillers to the first region, the only one without fences ([`Charge::add_fillers_in`]).
    ///
    /// # Errors
    /// See [`Charge::add_fillers_in`].
    pub fn add_fillers(
        &mut self,
        width: f64,
        height: f64,
        x: &[f64],
        y: &[f64],
    ) -> Result<(), ChargeError> {
        self.add_fillers_in(0, width, height, x, y)
    }

    /// Appends fillers of one size, layout units, at the given lower-left corners, to a region.
    ///
    /// # Errors
    /// When there is no such region, `x` and `y` differ in length, a number is not finite, a size
    /// is negative, the fillers' area overflows, or there are more than [`MAX_BODIES`] bodies. The
    /// charge is then unchanged.
    pub fn add_fillers_in(
        &mut self,
        region: usize,
        width: f64,
        height: f64,
        x: &[f64],
        y: &[f64],
    ) -> Result<(), ChargeError> {
        let regions = self.regions();
        if region >= regions {
            return Err(ChargeError::NoSuchRegion { what: "fillers", index: 0, region, regions });
        }
        check_length("y of fillers", x.len(), y.len())?;
        let names = ["width of filler", "height of filler", "x of filler", "y of filler"];
        rectangles::check_all(names, x.len(), |i| [width, height, x[i], y[i]])?;
        let bodies = self.bodies().saturating_add(x.len());
        check_bodies(bodies)?;
        // Five columns, which may have to be copied as they grow.
        require("the fillers", 80 * x.len() as u64)?;
        check_total("fillers", self.filler_area() + x.len() as f64 * (width * height))?;
        if regions > 1 {
            self.region.resize(bodies, region as u32);
        }
        let ratio = smoothing::ratio(width, height, &self.grid);
        parallel::extend(&mut self.width, x.len(), |_| width);
        parallel::extend(&mut self.height, x.len(), |_| height);
        parallel::extend(&mut self.ratio, x.len(), |_| ratio);
        parallel::extend(&mut self.initial_x, x.len(), |i| x[i]);
        parallel::extend(&mut self.initial_y, x.len(), |i| y[i]);
        Ok(())
    }

    /// Sets where the bodies start: lower-left corners, layout units, movable cells first, then
    /// fillers.
    ///
    /// # Errors
    /// When a slice does not have one value per body or a value is not finite. The charge is then
    /// unchanged.
    pub fn set_initial(&mut self, x: &[f64], y: &[f64]) -> Result<(), ChargeError> {
        check_length("x of bodies", self.bodies(), x.len())?;
        check_length("y of bodies", self.bodies(), y.len())?;
        for (what, values) in [("x of body", x), ("y of body", y)] {
            if let Some(index) = values.iter().position(|v| !v.is_finite()) {
                let value = values[index];
                return Err(ChargeError::BadNumber { what, index, value, non_negative: false });
            }
        }
        self.initial_x.copy_from_slice(x);
        self.initial_y.copy_from_slice(y);
        Ok(())
    }

    /// Returns the bins.
    pub fn grid(&self) -> BinGrid {
        self.grid
    }

    /// Returns the target density T, in (0, 1]: the one given, or the least at which the movable
    /// cells fit when fillers are on and that is larger. With fences, the first region's
    /// ([`Charge::region_target_density`]).
    pub fn target_density(&self) -> f64 {
        self.region_target_density(0)
    }

    /// Returns the target density of every bin, `nx × ny`, where they have their own
    /// ([`Charge::set_target_densities`]); [`Charge::target_density`] is their mean then.
    pub fn target_densities(&self) -> Option<&Map<f64>> {
        self.source.targets.as_ref()
    }

    /// Whether movable cell `i` is fixed ([`Charge::set_fixed_cells`]).
    pub fn is_fixed(&self, i: usize) -> bool {
        self.source.fixed_cells.get(i).is_some_and(|&fixed| fixed)
    }

    /// Returns the number of movable cells: bodies `0..movable()`.
    pub fn movable(&self) -> usize {
        self.movable
    }

    /// Returns the width of every body, layout units.
    pub fn width(&self) -> &[f64] {
        &self.width
    }

    /// Returns by how much movable cell `i` begins right of its body's left edge and above its bottom
    /// edge, layout units ([`ChargeOptions::padding`], [`ChargeOptions::halos`]).
    pub fn margin(&self, i: usize) -> [f64; 2] {
        self.margin.get(i).map_or([0.0; 2], |&[left, below, ..]| [left, below])
    }

    /// Returns by how much the body of every movable cell is larger than the cell, left, below,
    /// right and above; empty where no body is.
    pub(crate) fn margins(&self) -> &[[f64; 4]] {
        &self.margin
    }

    /// Moves the movable nodes of `design`, which the charge is of, to where their bodies have their
    /// lower-left corners: the first values of `x` and `y`, layout units.
    ///
    /// # Panics
    /// When `x` or `y` has fewer values than there are movable cells, or `design` more of them.
    pub fn set_movable_positions(&self, design: &mut Design, x: &[f64], y: &[f64]) {
        design.set_movable_positions(|i| {
            let [left, below] = self.margin(i);
            (x[i] + left, y[i] + below)
        });
    }

    /// Sets the first values of `x` and `y`, layout units, to the lower-left corners of the bodies
    /// of the movable nodes of `design`: the inverse of [`Charge::set_movable_positions`].
    ///
    /// # Panics
    /// When `x` or `y` has fewer values than `design` has movable nodes.
    pub fn corners(&self, design: &Design, x: &mut [f64], y: &mut [f64]) {
        const CELLS: usize = 1 << 12;
        let nodes = design.movable_nodes();
        let (x, y) = (&mut x[..nodes.len()], &mut y[..nodes.len()]);
        parallel::for_each((chunks_mut(x, CELLS), chunks_mut(y, CELLS)), |block, (x, y)| {
            for ((cell, x), y) in (block * CELLS..).zip(x).zip(y) {
                let [left, below] = self.margin(cell);
                *x = design.placement.x[nodes[cell]] - left;
                *y = design.placement.y[nodes[cell]] - below;
            }
        });
    }

    /// Returns the height of every body, layout units.
    pub fn height(&self) -> &[f64] {
        &self.height
    }

    /// Returns the weight of every body's smoothed area, without unit: the area it adds to a bin is
    /// `ratio` × overlap of its stretched rectangle with the bin. Zero for a fixed cell, whose area
    /// is part of [`Charge::fixed`].
    pub fn ratio(&self) -> &[f64] {
        &self.ratio
    }

    /// Returns all movable macros, by index, ascending, whatever the target density of their region.
    pub(crate) fn movable_macros(&self) -> &[u32] {
        &self.source.macros
    }

    /// Returns the movable macros in regions with a target density below 1, by index, ascending.
    /// Their [`Charge::ratio`] is T of their region, and so is the weight of their area in the exact
    /// density; every other cell's is 1.
    pub fn macros(&self) -> &[u32] {
        &self.macros
    }

    /// Returns where every body starts, left edges, layout units.
    pub fn initial_x(&self) -> &[f64] {
        &self.initial_x
    }

    /// Returns where every body starts, bottom edges, layout units.
    pub fn initial_y(&self) -> &[f64] {
        &self.initial_y
    }

    /// Returns where the bodies start, x and y of their lower-left corners from [`Charge::origin`],
    /// layout units, in the precision of an engine.
    pub fn initial_positions<T: Real>(&self) -> (Vec<T>, Vec<T>) {
        let [x, y] = self.origin;
        let round = |column: &[f64], from: f64| column.iter().map(|&v| T::cast(v - from)).collect();
        (round(&self.initial_x, x), round(&self.initial_y, y))
    }

    /// Returns the fixed area per bin, layout units squared, clamped to the bin's area and scaled
    /// by T; `nx × ny`, y contiguous. With fences, the first region's ([`Charge::region_fixed`]).
    pub fn fixed(&self) -> &Map<f64> {
        self.region_fixed(0)
    }

    /// Returns Σ width × height of the movable cells, without those that are fixed.
    pub fn movable_area(&self) -> f64 {
        self.movable_area
    }

    /// Returns Σ over fixed cells of their area inside the die; where they overlap it counts twice.
    pub fn fixed_area(&self) -> f64 {
        self.fixed_area
    }

    /// Returns [`Charge::movable_area`] and [`Charge::fixed_area`], as a report has them.
    pub(crate) fn areas(&self) -> [f64; 2] {
        [self.movable_area, self.fixed_area]
    }

    /// Returns how much of the fixed cells lies outside the die.
    pub fn fixed_clipped(&self) -> Clipped {
        self.fixed_clipped
    }

    /// Returns the blocked area under no fixed cell: in blockages, partial ones in part, and with
    /// [`Charge::row_blockage`] outside every row.
    pub fn blockage_area(&self) -> f64 {
        self.blockage_area
    }

    /// Whether area outside every row is blocked.
    pub fn row_blockage(&self) -> bool {
        self.source.row_blockage
    }

    /// Returns warnings for the user: clipped area, a raised target density.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns the number of bodies, movable cells and fillers.
    pub fn bodies(&self) -> usize {
        self.width.len()
    }

    /// Returns the number of fillers: bodies `movable..bodies()`.
    pub fn fillers(&self) -> usize {
        self.bodies() - self.movable
    }

    /// Returns the area of the fillers together.
    pub fn filler_area(&self) -> f64 {
        let sizes = self.width.iter().zip(&self.height);
        sizes.skip(self.movable).map(|(w, h)| w * h).sum()
    }

    /// Returns a constant that engines take off ρ before they round it: about its mean when every
    /// body is on the die, and at most 1. With fences, the first region's
    /// ([`Charge::backgrounds`]).
    ///
    /// φ and E are those of ρ less any constant. The rounding error of ρ is small beside its mean,
    /// but not beside the rest of φ where ρ has become flat: an error of all waves alike, while φ
    /// is mostly the longest ones. A multiple of 1/1024, so that empty and full bins stay exact.
    pub fn background(&self) -> f64 {
        self.backgrounds()[0]
    }

    /// Returns how much of the movable cells, at their exact sizes, lies outside the die when they
    /// are at the lower-left corners `x`, `y`, from [`Charge::origin`] (those of fillers, if given,
    /// are ignored). The result does not depend on the number of threads.
    pub fn clipped_area<T: Real>(&self, x: &[T], y: &[T]) -> Clipped {
        let die = self.grid.die();
        let add = |block: &mut Clipped, [x, y, width, height]: [f64; 4]| {
            block.add(&Rect::at(x, y, width, height), &die);
        };
        let blocks = self.by_blocks(x, y, add);
        blocks.iter().fold(Clipped::default(), |a, b| Clipped {
            area: a.area + b.area,
            wholly: a.wholly + b.wholly,
            partly: a.partly + b.partly,
        })
    }

    /// Combines the results of `add` on the movable cells that are not fixed, each given by
    /// lower-left corner, width and height. Cells are taken in fixed blocks, so that the result
    /// does not depend on the number of threads.
    fn by_blocks<T: Real, S: Default + Send>(
        &self,
        x: &[T],
        y: &[T],
        add: impl Fn(&mut S, [f64; 4]) + Sync,
    ) -> Vec<S> {
        const BLOCK: usize = 16_384;
        let count = self.movable.min(x.len()).min(y.len());
        parallel::map_blocks(count, BLOCK, |cells| {
            let mut block = S::default();
            for i in cells.filter(|&i| !self.is_fixed(i)) {
                let (x, y) = (x[i].widen() + self.origin[0], y[i].widen() + self.origin[1]);
                add(&mut block, [x, y, self.width[i], self.height[i]]);
            }
            block
        })
    }
}

impl Clipped {
    /// Adds a cell's area outside the die; returns that inside.
    fn add(&mut self, cell: &Rect, die: &Rect) -> f64 {
        if fixed::contains(die, cell) {
            return cell.area();
        }
        let inside = cell.overlap(die);
        self.area += (cell.area() - inside).max(0.0);
        if inside > 0.0 {
            self.partly += 1;
        } else {
            self.wholly += 1;
        }
        inside
    }
}

fn check_bodies(bodies: usize) -> Result<(), ChargeError> {
    if bodies > MAX_BODIES { Err(ChargeError::TooManyBodies(bodies)) } else { Ok(()) }
}

fn check_length(what: &'static str, expected: usize, found: usize) -> Result<(), ChargeError> {
    if found == expected { Ok(()) } else { Err(ChargeError::Length { what, expected, found }) }
}

fn check_total(what: &'static str, area: f64) -> Result<(), ChargeError> {
    if area.is_finite() { Ok(()) } else { Err(ChargeError::TotalArea(what)) }
}

/// Returns the target density to use: `requested_density`, or the least that fits, at most 1;
/// warnings begin with `of`.
fn raised(requested_density: f64, least: f64, of: &str, warnings: &mut Vec<Warning>) -> f64 {
    if least <= requested_density {
        return requested_density;
    }
    let used = least.min(1.0);
    let raised = match used > requested_density {
        true => format!("target density raised from {requested_density} to {used}: "),
        false => String::new(),
    };
    let fit = if least > 1.0 { " and cannot fit" } else { "" };
    let message = match least.is_finite() {
        true => format!("{of}{raised}the movable cells fill {least:.4} of the free space{fit}"),
        false => format!("{of}{raised}there is no free space, and the movable cells cannot fit"),
    };
    let code = match least > 1.0 {
        true => WarningCode::CellsCannotFit,
        false => WarningCode::TargetDensityRaised,
    };
    warnings.push(Warning::new(code, message));
    used
}

/// Returns the additional size of each cell's body, left, below, right and above; empty if no body
/// is wider. It is this share of `padding`. With `widen_large` a large cell also gets this share of
/// its own additional width. Macros are not wider.
fn margins(
    [width, height, ..]: &[Vec<f64>; 4],
    macros: &[bool],
    padding: f64,
    widen_large: bool,
    share: f64,
) -> Vec<[f64; 4]> {
    let area = |i: usize| width[i] * height[i];
    let cells = || (0..width.len()).filter(|&i| !macros[i]);
    let mean = cells().map(area).sum::<f64>() / cells().count() as f64;
    let wider = |i: usize| match widen_large {
        true => (WIDER_PER_DOUBLING * (area(i) / mean).log2()).clamp(0.0, MOST_WIDER),
        false => 0.0,
    };
    let of = |i: usize| match macros[i] {
        true => 0.0,
        false => share * (padding + wider(i) * width[i] / 2.0),
    };
    let all: Vec<[f64; 4]> = (0..width.len()).map(of).map(|by| [by, 0.0, by, 0.0]).collect();
    if all.iter().all(|[by, ..]| *by == 0.0) { Vec::new() } else { all }
}

/// Returns the value in the middle, the upper one of two, or 0 without any; `values` are
/// rearranged.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    match values.is_empty() {
        true => 0.0,
        false => *values.select_nth_unstable_by(middle, f64::total_cmp).1,
    }
}

/// Returns the area that rows cover: abutting sites and the gaps within their pitch.
fn row_rects(rows: &[Row]) -> Vec<Rect> {
    rows.iter().map(Row::rect).collect()
}

#[cfg(test)]
mod tests;
