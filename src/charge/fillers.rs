//! Fillers: movable rectangles without pins that fill the free area.
//!
//! With fillers the total area equals the capacity of the die at the target density, so cells
//! stay together instead of spreading over the whole die (ePlace, Lu et al., TODAES 2015). Size
//! and number are DREAMPlace's. A filler is as tall as a row. Its width is the mean width of
//! movable cells, without the narrowest and the widest twentieth. If there would be too many,
//! fillers are larger ([`ChargeOptions::many_fillers`](super::ChargeOptions::many_fillers)).

use super::smoothing::LEAST_EXTENT;
use super::{Charge, ChargeError, MAX_FILLERS};
use crate::grid::{BinGrid, Rect};
use crate::memory::require;
use crate::parallel::{self, Groups, chunks_mut, cut, each_mut, group};
use crate::warning::{Warning, WarningCode};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;

/// Bins along x of a stripe of fillers that follow one another.
const STRIPE: f64 = 32.0;

/// How the movable area compares with the space there is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Die area that nothing fixed covers.
    pub(super) space: f64,
    /// Area that `space` may hold: every bin's free area times its own target density, where bins
    /// have one.
    pub(super) room: Option<f64>,
    /// Area of movable macros.
    pub(super) macro_area: f64,
    /// Area of the other movable cells.
    pub(super) cell_area: f64,
}

impl Budget {
    /// Returns the least density at which the cells fit beside the macros.
    pub(super) fn least_density(&self) -> f64 {
        if self.cell_area <= 0.0 {
            return 0.0;
        }
        let left = self.space - self.macro_area;
        if left > 0.0 { self.cell_area / left } else { f64::INFINITY }
    }

    pub(super) fn filler_area(&self, target: f64) -> f64 {
        let room = match self.room {
            Some(room) => room - self.macro_area * target,
            None => (self.space - self.macro_area) * target,
        };
        (room - self.cell_area).max(0.0)
    }
}

/// Returns the mean of the widths between the 5th and the 95th percentile.
fn mean_width(mut sorted: Vec<f64>) -> f64 {
    sorted.par_sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    let middle = &sorted[(n as f64 * 0.05) as usize..(n as f64 * 0.95) as usize];
    let middle = if middle.is_empty() { &sorted[..] } else { middle };
    middle.iter().sum::<f64>() / middle.len().max(1) as f64
}

/// Returns width and height of the fillers that take up `area`, which are of the given size unless
/// there would be very many.
fn size(charge: &Charge, [width, height]: [f64; 2], area: f64) -> [f64; 2] {
    let times = area / (width * height) / charge.source.many_fillers as f64;
    let macro_moves = charge.source.macros.iter().any(|&i| !charge.is_fixed(i as usize));
    if times <= 1.0 || macro_moves {
        return [width, height];
    }
    let (grid, die) = (&charge.grid, charge.grid.die());
    let larger = |length: f64, bin: f64, most: f64| {
        (length * times.sqrt()).min(LEAST_EXTENT * bin).min(most).max(length)
    };
    [larger(width, grid.bin_x(), die.width()), larger(height, grid.bin_y(), die.height())]
}

/// Adds the fillers of a region's `budget`, uniformly over its rectangles `over`, which do not
/// overlap. Consecutive fillers are near each other. So engines read their data from adjacent
/// memory, and with several devices each device holds most of the fillers that it processes.
pub(super) fn add(
    charge: &mut Charge,
    region: usize,
    budget: &Budget,
    over: &[Rect],
) -> Result<(), ChargeError> {
    let (row_height, seed) = (charge.source.row_height, charge.source.seed);
    let area = budget.filler_area(charge.region_target_density(region));
    let moving = parallel::filter(charge.movable, |i| charge.moves_in(region, i));
    let width = mean_width(parallel::map(moving.len(), |k| charge.width[moving[k]]));
    if width * row_height <= 0.0 {
        if area > 0.0 {
            let of = charge.warned_of(region);
            let warning = format!("{of}no fillers: the movable cells have no width or height");
            charge.warnings.push(Warning::new(WarningCode::NoFillers, warning));
        }
        return Ok(());
    }
    let [width, height] = size(charge, [width, row_height], area);
    let count = (area / (width * height)).round();
    if count > MAX_FILLERS as f64 {
        return Err(ChargeError::TooManyFillers { count, width, height });
    }
    // Their positions, and those again while they are sorted.
    require("the fillers", 56 * count as u64)?;
    // One sequence of random numbers, two a filler, whose blocks are drawn in parallel.
    const BLOCK: usize = 1 << 16;
    let random = Pcg64::seed_from_u64(seed.wrapping_add(region as u64));
    let (mut x, mut y) = (vec![0.0; count as usize], vec![0.0; count as usize]);
    let ends = shares(over, count as usize);
    let blocks = (chunks_mut(&mut x, BLOCK), chunks_mut(&mut y, BLOCK));
    parallel::for_each(blocks, |block, (x, y)| {
        let mut random = random.clone();
        random.advance((2 * BLOCK * block) as u128);
        for (k, (x, y)) in x.iter_mut().zip(y).enumerate() {
            let at = over[ends.partition_point(|&end| end <= BLOCK * block + k)];
            *x = at.xl + random.random::<f64>() * (at.width() - width).max(0.0);
            *y = at.yl + random.random::<f64>() * (at.height() - height).max(0.0);
        }
    });
    let (x, y) = in_stripes(&charge.grid, &x, &y);
    charge.add_fillers_in(region, width, height, &x, &y)
}

/// Returns the same points, one stripe of the bins after the other, by y in each.
fn in_stripes(grid: &BinGrid, x: &[f64], y: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (low, width) = (grid.die().xl, STRIPE * grid.bin_x());
    let stripes = (grid.die().width() / width) as usize + 1;
    let stripe = |i: usize| (((x[i] - low) / width) as u32).min(stripes as u32 - 1);
    let Groups { start, items } = group(stripes, x.len(), stripe);
    let point = |i: u32| (y[i as usize], x[i as usize]);
    let mut points: Vec<(f64, f64)> = parallel::map(items.len(), |k| point(items[k]));
    let mut stripes = cut(&mut points, start[1..].iter().map(|&end| end as usize));
    parallel::for_each(each_mut(&mut stripes), |_, points| {
        points.sort_unstable_by(|(y, x), (v, u)| y.total_cmp(v).then(x.total_cmp(u)));
    });
    (parallel::map(points.len(), |k| points[k].1), parallel::map(points.len(), |k| points[k].0))
}

/// Returns where each rectangle's share of `count` things ends when they are divided by area.
fn shares(over: &[Rect], count: usize) -> Vec<usize> {
    let all: f64 = over.iter().map(Rect::area).sum();
    let mut area = 0.0;
    let end = |rect: &Rect| {
        area += rect.area();
        (area / all * count as f64).round() as usize
    };
    let mut ends: Vec<usize> = over.iter().map(end).collect();
    if let Some(last) = ends.last_mut() {
        *last = count;
    }
    ends
}

#[cfg(test)]
mod tests;
