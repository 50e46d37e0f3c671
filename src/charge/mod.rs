//! What every rectangle weighs.
//!
//! A *body* is a rectangle that moves: the movable cells first, then the
//! fillers. [`Charge`] holds what does not change from one iteration to the
//! next: the bodies' sizes, how each is smoothed, and the area fixed cells
//! take from every bin. Everything here is `f64` and is made once; engines
//! round it to their own precision. Lengths are layout units.

mod fillers;
mod fixed;
pub(crate) mod overlap;
mod smoothing;

pub use fillers::MAX_FILLERS;
pub use smoothing::stretch;

use crate::design::{Design, NodeKind, Row};
use crate::engine::EngineError;
use crate::grid::{BinGrid, Map, Rect};
use crate::real::Real;
use rayon::prelude::*;

/// The bodies of an evaluation and the area that is taken for good.
#[derive(Clone, Debug)]
pub struct Charge {
    /// The bins.
    pub grid: BinGrid,
    /// Target density T, in (0, 1]: the one asked for, or the least at which
    /// the movable cells fit when fillers are on and that is larger.
    pub target_density: f64,
    /// Number of movable cells: bodies `0..movable`.
    pub movable: usize,
    /// Width of every body, layout units.
    pub width: Vec<f64>,
    /// Height of every body, layout units.
    pub height: Vec<f64>,
    /// Weight of a body's smoothed area: the area it adds to a bin is
    /// `ratio` × overlap of its stretched rectangle with the bin.
    pub ratio: Vec<f64>,
    /// Movable macros, by index, ascending. Their `ratio` is T, and so is the
    /// weight of their own area in the exact density; every other cell's is 1.
    pub macros: Vec<u32>,
    /// Where the bodies start, lower-left corners.
    pub initial_x: Vec<f64>,
    /// Where the bodies start, lower-left corners.
    pub initial_y: Vec<f64>,
    /// Fixed area per bin, clamped to the bin's area and scaled by T.
    pub fixed: Map<f64>,
    /// Σ width × height of the movable cells.
    pub movable_area: f64,
    /// Σ over fixed cells of their area inside the die; where they overlap it counts twice.
    pub fixed_area: f64,
    /// Σ over fixed cells of their area outside the die, which counts nowhere.
    pub fixed_clipped_area: f64,
    /// Fixed cells with no area inside the die.
    pub fixed_outside: usize,
    /// Fixed cells that reach beyond the die.
    pub fixed_partly_outside: usize,
    /// Area outside every row and fixed cell that is taken as fixed; zero
    /// without [`ChargeOptions::row_blockage`].
    pub blockage_area: f64,
    /// What a user should know: clipped area, a raised target density.
    pub warnings: Vec<String>,
}

/// How a [`Charge`] is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChargeOptions {
    /// Target density T, in (0, 1].
    pub target_density: f64,
    /// Fill the free space with fillers.
    pub fillers: bool,
    /// Take area outside every row as fixed.
    pub row_blockage: bool,
    /// Seed of the fillers' positions.
    pub seed: u64,
}

impl Default for ChargeOptions {
    fn default() -> Self {
        ChargeOptions { target_density: 1.0, fillers: false, row_blockage: false, seed: 1000 }
    }
}

/// Bare rectangles, for a placer that has no [`Design`]. Lengths in layout
/// units, one entry per movable cell in the first four.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rectangles<'a> {
    /// Widths of the movable cells.
    pub width: &'a [f64],
    /// Heights of the movable cells.
    pub height: &'a [f64],
    /// Where they start, left edges.
    pub x: &'a [f64],
    /// Where they start, bottom edges.
    pub y: &'a [f64],
    /// Cells that stay and block the area under them.
    pub fixed: &'a [Rect],
    /// Height of a row, which is the height of a filler; `None`: the median
    /// height of the movable cells.
    pub row_height: Option<f64>,
    /// Which movable cells are macros; `None`: those of more than 10 times the
    /// mean area and 2 rows' height. Matters only below a target density of 1.
    pub macros: Option<&'a [bool]>,
    /// Where cells may go; read only with [`ChargeOptions::row_blockage`].
    pub rows: &'a [Rect],
}

/// Area of movable cells outside the die, which no map holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clipped {
    /// Their area outside, layout units squared.
    pub area: f64,
    /// Cells with no area inside the die.
    pub wholly: usize,
    /// Cells that reach beyond the die.
    pub partly: usize,
}

impl Charge {
    /// The charge of a design. `FixedNoImage` nodes block nothing.
    ///
    /// # Errors
    /// A target density outside (0, 1], a size or position that is not a finite
    /// number or a negative size (named by node index), too many fillers.
    pub fn from_design(
        design: &Design,
        grid: BinGrid,
        options: &ChargeOptions,
    ) -> Result<Self, EngineError> {
        let mut columns = [const { Vec::new() }; 4];
        let mut fixed = Vec::new();
        for i in 0..design.nodes.len() {
            let (width, height) = design.size(i);
            let (x, y) = (design.placement.x[i], design.placement.y[i]);
            let names = ["width of node", "height of node", "x of node", "y of node"];
            check(names, i, [width, height, x, y])?;
            match design.nodes.kind[i] {
                NodeKind::Movable => {
                    columns.iter_mut().zip([width, height, x, y]).for_each(|(c, v)| c.push(v));
                }
                NodeKind::Fixed => fixed.push(Rect::at(x, y, width, height)),
                NodeKind::FixedNoImage => {}
            }
        }
        let [width, height, x, y] = &columns;
        let rows: Vec<Rect> =
            if options.row_blockage { row_rects(&design.rows) } else { Vec::new() };
        let rectangles = Rectangles {
            width,
            height,
            x,
            y,
            fixed: &fixed,
            row_height: design.row_height(),
            macros: None,
            rows: &rows,
        };
        Charge::from_rectangles(grid, &rectangles, options)
    }

    /// The charge of bare rectangles.
    ///
    /// # Errors
    /// A target density outside (0, 1], slices of different lengths, a size or
    /// position that is not a finite number or a negative size, too many fillers.
    pub fn from_rectangles(
        grid: BinGrid,
        cells: &Rectangles<'_>,
        options: &ChargeOptions,
    ) -> Result<Self, EngineError> {
        let asked = options.target_density;
        if !(asked > 0.0 && asked <= 1.0) {
            return Err(EngineError::TargetDensity(asked));
        }
        cells.check()?;
        let die = grid.die();
        let row_height = cells.row_height.unwrap_or_else(|| median(cells.height));
        let movable_area = cells.areas().sum();
        let gaps = if options.row_blockage {
            fixed::gaps(&[cells.rows, cells.fixed].concat(), &die)
        } else {
            Vec::new()
        };
        let blockage_area = gaps.iter().map(Rect::area).sum::<f64>();

        let mut warnings = Vec::new();
        let mut target_density = asked;
        let mut macros = smoothing::macros(cells, movable_area, row_height);
        let mut budget = None;
        if options.fillers {
            let macro_area = macros
                .iter()
                .filter(|_| asked < 1.0)
                .map(|&i| cells.width[i as usize] * cells.height[i as usize])
                .sum::<f64>();
            let taken = fixed::union_area(cells.fixed, &die) + blockage_area;
            let space = (die.area() - taken).max(0.0);
            let b = fillers::Budget { space, macro_area, cell_area: movable_area - macro_area };
            target_density = raised(asked, b.least_density(), &mut warnings);
            budget = Some(b);
        }
        if target_density >= 1.0 {
            macros.clear();
        }

        let census = fixed::census(cells.fixed, &die);
        if census.wholly_outside + census.partly_outside > 0 {
            warnings.push(format!(
                "fixed cells reach beyond the die: {} wholly, {} partly; their area outside, {}, is left out",
                census.wholly_outside, census.partly_outside, census.clipped_area
            ));
        }
        let sizes = cells.width.iter().zip(cells.height);
        let mut ratio: Vec<f64> = sizes.map(|(&w, &h)| smoothing::ratio(w, h, &grid)).collect();
        macros.iter().for_each(|&i| ratio[i as usize] = target_density);
        let mut charge = Charge {
            grid,
            target_density,
            movable: cells.width.len(),
            width: cells.width.to_vec(),
            height: cells.height.to_vec(),
            ratio,
            macros,
            initial_x: cells.x.to_vec(),
            initial_y: cells.y.to_vec(),
            fixed: fixed::map(cells.fixed.iter().chain(&gaps), &grid, target_density),
            movable_area,
            fixed_area: census.inside_area,
            fixed_clipped_area: census.clipped_area,
            fixed_outside: census.wholly_outside,
            fixed_partly_outside: census.partly_outside,
            blockage_area,
            warnings,
        };
        if let Some(budget) = budget {
            fillers::add(&mut charge, &budget, row_height, options.seed)?;
        }
        Ok(charge)
    }

    /// Appends fillers of one size at the given lower-left corners.
    ///
    /// # Panics
    /// When `x` and `y` differ in length.
    pub fn add_fillers(&mut self, width: f64, height: f64, x: &[f64], y: &[f64]) {
        assert_eq!(x.len(), y.len(), "fillers' positions");
        let bodies = self.bodies() + x.len();
        self.width.resize(bodies, width);
        self.height.resize(bodies, height);
        self.ratio.resize(bodies, smoothing::ratio(width, height, &self.grid));
        self.initial_x.extend_from_slice(x);
        self.initial_y.extend_from_slice(y);
    }

    /// Number of bodies, movable cells and fillers.
    pub fn bodies(&self) -> usize {
        self.width.len()
    }

    /// Number of fillers: bodies `movable..bodies()`.
    pub fn fillers(&self) -> usize {
        self.bodies() - self.movable
    }

    /// Area of the fillers together.
    pub fn filler_area(&self) -> f64 {
        let sizes = self.width.iter().zip(&self.height);
        sizes.skip(self.movable).map(|(w, h)| w * h).sum()
    }

    /// A constant that engines take off ρ before they round it: about its mean
    /// when every body is on the die, and at most 1.
    ///
    /// φ and E are those of ρ less any constant. What rounding does to ρ is small
    /// beside its mean, but not beside what remains of φ where ρ has become flat:
    /// an error of all waves alike, while φ is mostly the longest ones. A multiple
    /// of 1/1024, so that empty and full bins stay exact.
    pub fn background(&self) -> f64 {
        const STEPS: f64 = 1024.0;
        let size = |i: usize| self.width[i] * self.height[i];
        let macros: f64 = self.macros.iter().map(|&i| size(i as usize)).sum();
        let bodies: f64 = (0..self.bodies()).map(size).sum();
        let fixed: f64 = self.fixed.as_slice().iter().sum();
        let area = fixed + bodies - (1.0 - self.target_density) * macros;
        ((area / self.grid.die().area()).min(1.0) * STEPS).round() / STEPS
    }

    /// How much of the movable cells, at their own sizes, lies outside the die
    /// when they are at the lower-left corners `x`, `y` (those of fillers, if
    /// given, are not looked at). The same for any number of threads.
    pub fn clipped_area<T: Real>(&self, x: &[T], y: &[T]) -> Clipped {
        const BLOCK: usize = 16_384;
        let die = self.grid.die();
        let count = self.movable.min(x.len()).min(y.len());
        let blocks: Vec<Clipped> = (0..count.div_ceil(BLOCK))
            .into_par_iter()
            .map(|b| {
                let mut block = Clipped::default();
                for i in b * BLOCK..count.min((b + 1) * BLOCK) {
                    let at = (x[i].wide(), y[i].wide());
                    block.add(&Rect::at(at.0, at.1, self.width[i], self.height[i]), &die);
                }
                block
            })
            .collect();
        blocks.iter().fold(Clipped::default(), |a, b| Clipped {
            area: a.area + b.area,
            wholly: a.wholly + b.wholly,
            partly: a.partly + b.partly,
        })
    }
}

impl Clipped {
    fn add(&mut self, cell: &Rect, die: &Rect) {
        if fixed::contains(die, cell) {
            return;
        }
        let inside = cell.overlap(die);
        self.area += (cell.area() - inside).max(0.0);
        if inside > 0.0 {
            self.partly += 1;
        } else {
            self.wholly += 1;
        }
    }
}

impl Rectangles<'_> {
    fn areas(&self) -> impl Iterator<Item = f64> + '_ {
        self.width.iter().zip(self.height).map(|(w, h)| w * h)
    }

    fn check(&self) -> Result<(), EngineError> {
        let expected = self.width.len();
        let macros = self.macros.map_or(expected, <[bool]>::len);
        let lengths = [
            ("heights of movable cells", self.height.len()),
            ("x of movable cells", self.x.len()),
            ("y of movable cells", self.y.len()),
            ("macro marks", macros),
        ];
        if let Some(&(what, found)) = lengths.iter().find(|(_, found)| *found != expected) {
            return Err(EngineError::Length { what, expected, found });
        }
        for i in 0..expected {
            let names = [
                "width of movable cell",
                "height of movable cell",
                "x of movable cell",
                "y of movable cell",
            ];
            check(names, i, [self.width[i], self.height[i], self.x[i], self.y[i]])?;
        }
        for (what, rects) in [("fixed cell", self.fixed), ("row", self.rows)] {
            let names = match what {
                "row" => ["width of row", "height of row", "x of row", "y of row"],
                _ => [
                    "width of fixed cell",
                    "height of fixed cell",
                    "x of fixed cell",
                    "y of fixed cell",
                ],
            };
            for (i, r) in rects.iter().enumerate() {
                check(names, i, [r.width(), r.height(), r.xl, r.yl])?;
            }
        }
        match self.row_height {
            Some(value) if !(value.is_finite() && value >= 0.0) => Err(EngineError::BadNumber {
                what: "row height",
                index: 0,
                value,
                non_negative: true,
            }),
            _ => Ok(()),
        }
    }
}

/// Refuses a width, height, x or y that is not finite and a size that is
/// negative or whose area overflows.
fn check(names: [&'static str; 4], index: usize, values: [f64; 4]) -> Result<(), EngineError> {
    for (k, (what, value)) in names.into_iter().zip(values).enumerate() {
        let non_negative = k < 2;
        if !value.is_finite() || (non_negative && value < 0.0) {
            return Err(EngineError::BadNumber { what, index, value, non_negative });
        }
    }
    let area = values[0] * values[1];
    if !area.is_finite() {
        let what = "width × height of cell";
        return Err(EngineError::BadNumber { what, index, value: area, non_negative: true });
    }
    Ok(())
}

/// The target density to use: `asked`, or the least that fits, at most 1.
fn raised(asked: f64, least: f64, warnings: &mut Vec<String>) -> f64 {
    if least <= asked {
        return asked;
    }
    let used = least.min(1.0);
    let raised = match used > asked {
        true => format!("target density raised from {asked} to {used}: "),
        false => String::new(),
    };
    let fit = if least > 1.0 { " and cannot fit" } else { "" };
    warnings.push(match least.is_finite() {
        true => format!("{raised}the movable cells fill {least:.4} of the free space{fit}"),
        false => format!("{raised}there is no free space, and the movable cells cannot fit"),
    });
    used
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// The area rows cover: abutting sites and what lies between their pitch.
fn row_rects(rows: &[Row]) -> Vec<Rect> {
    rows.iter().map(Row::rect).collect()
}

#[cfg(test)]
mod tests;
