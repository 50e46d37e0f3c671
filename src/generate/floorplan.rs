//! The die, its rows, and the fixed nodes: macros, blocks and pads.
//!
//! Inside the die everything is on the lattice of sites and rows. Slicing (recursive cuts by area)
//! divides the die into one slot for each macro and some open regions, so macros cannot overlap at
//! any density; each macro fills most of its slot. Blocks are placed in the open regions.

use super::random::{Stream, random_stream};
use super::spec::{GenerateError, Spec};
use crate::design::Row;
use crate::grid::Rect;
use rand::RngExt;
use rand::seq::{SliceRandom, index};
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64;

/// Height of a row and of a cell, in layout units. A site is 1 wide.
pub(super) const ROW_HEIGHT: f64 = 12.0;
/// Most rows of a die; the densest packing of the most cells takes a fraction of them.
const MOST_ROWS: u64 = 1 << 20;
/// Lower-left corner of adaptec1's die; the pads lie below and left of it.
const ORIGIN: f64 = 459.0;
/// Extent of a pad along the die's edge and away from it, and its distance from the edge.
const PAD: (f64, f64, f64) = (72.0, 432.0, 5.0);
/// Area of a macro over that of its slot where the die has room.
const MACRO_FILL: f64 = 0.9;
/// A macro's slot is at most this many times the median, as in adaptec1.
const MOST_WEIGHT: f64 = 10.0;
/// Share of the die that macro slots may take.
const MOST_SLOTS: f64 = 0.95;
/// Sites and rows a block has to itself, and the widths it may have.
const BLOCK_PITCH: (u64, u64) = (24, 2);
const BLOCK_WIDTHS: std::ops::RangeInclusive<u64> = 4..=20;

/// The die and the fixed nodes on and around it.
pub(super) struct Floorplan {
    /// Bounding box of the rows.
    pub(super) die: Rect,
    /// One row for each 12 units of height.
    pub(super) rows: Vec<Row>,
    /// Macros, then blocks, then pads.
    pub(super) fixed: Vec<Rect>,
}

impl Floorplan {
    /// Sizes the die for `spec`'s ratios and these cells, and lays the fixed nodes.
    pub(super) fn new(spec: &Spec, cell_width: &[f64]) -> Result<Self, GenerateError> {
        let movable = cell_width.iter().sum::<f64>() * ROW_HEIGHT;
        let widest = cell_width.iter().copied().fold(1.0, f64::max);
        let (sites, rows) = lattice(spec, movable, widest);
        if rows > MOST_ROWS {
            return Err(GenerateError::Contradiction("so few cells leave a die without end"));
        }
        let die = Rect::at(ORIGIN, ORIGIN, sites as f64, rows as f64 * ROW_HEIGHT);
        let no_room = GenerateError::DoesNotFit { fixed: spec.macros + spec.blocks, rows, sites };

        let mut random = random_stream(spec.seed, Stream::Floorplan, 0);
        let fixed_area = spec.density * die.area() - movable;
        let inside = inside(spec, (sites, rows), fixed_area / ROW_HEIGHT, &mut random);
        let mut fixed: Vec<Rect> = inside.ok_or(no_room)?.iter().map(Span::rect).collect();
        fixed.extend(pads(die, spec.pads));
        Ok(Floorplan { die, rows: rows_of(die, rows, sites), fixed })
    }
}

/// Returns the sites and rows of a nearly square die: `A = M (1 − U) / (U (1 − D))`.
fn lattice(spec: &Spec, movable: f64, widest: f64) -> (u64, u64) {
    let (d, u) = (spec.density, spec.utilisation);
    let area = movable * (1.0 - u) / (u * (1.0 - d));
    let rows = (area / area.sqrt().max(widest) / ROW_HEIGHT).round().max(1.0);
    let sites = (area / (rows * ROW_HEIGHT)).ceil().max(widest);
    (sites as u64, rows as u64)
}

fn rows_of(die: Rect, rows: u64, sites: u64) -> Vec<Row> {
    (0..rows)
        .map(|r| Row {
            x: die.xl,
            y: die.yl + r as f64 * ROW_HEIGHT,
            height: ROW_HEIGHT,
            site_width: 1.0,
            pitch: 1.0,
            sites,
            ..Row::default()
        })
        .collect()
}

/// Sites `x..x + w` of rows `y..y + h`.
#[derive(Clone, Copy)]
struct Span {
    x: u64,
    y: u64,
    w: u64,
    h: u64,
}

impl Span {
    fn rect(&self) -> Rect {
        Rect::at(
            ORIGIN + self.x as f64,
            ORIGIN + self.y as f64 * ROW_HEIGHT,
            self.w as f64,
            self.h as f64 * ROW_HEIGHT,
        )
    }

    fn area(&self) -> f64 {
        (self.w * self.h) as f64
    }
}

/// A leaf of the slicing: its share of the die, and whether it holds a macro.
#[derive(Clone, Copy)]
struct Leaf {
    weight: f64,
    is_macro: bool,
}

/// Returns macros and blocks of `area` sites in all; `None` when they do not fit.
fn inside(spec: &Spec, die: (u64, u64), area: f64, random: &mut Pcg64) -> Option<Vec<Span>> {
    if spec.macros == 0 {
        return Some(Vec::new()); // no blocks either: the spec is checked
    }
    let block_widths: Vec<u64> =
        (0..spec.blocks).map(|_| random.random_range(BLOCK_WIDTHS)).collect();
    let macro_area = area - block_widths.iter().sum::<u64>() as f64;
    let whole = Span { x: 0, y: 0, w: die.0, h: die.1 };
    if macro_area < spec.macros as f64 || macro_area > MOST_SLOTS * whole.area() {
        return None;
    }
    let slots_share = (macro_area / MACRO_FILL / whole.area()).min(MOST_SLOTS);

    let mut leaves = weights(spec.macros, slots_share, 1.0, true, random);
    leaves.extend(weights(1 + spec.macros / 4, 1.0 - slots_share, 0.5, false, random));
    leaves.shuffle(random);
    let mut slots = Vec::with_capacity(leaves.len());
    slice(&leaves, whole, &mut slots)?;

    let (macro_slots, open): (Vec<_>, Vec<_>) = slots.iter().partition(|(_, is_macro)| *is_macro);
    let macro_slots: Vec<Span> = macro_slots.into_iter().map(|(span, _)| span).collect();
    let open: Vec<Span> = open.into_iter().map(|(span, _)| span).collect();
    let mut spans = macros(&macro_slots, whole, macro_area, random);
    spans.extend(blocks(&open, &block_widths, random)?);
    Some(spans)
}

/// Returns `count` leaves of log-normal weights that add up to `share`.
fn weights(count: u64, share: f64, sigma: f64, is_macro: bool, random: &mut Pcg64) -> Vec<Leaf> {
    let law = LogNormal::new(0.0, sigma).expect("sigma is finite");
    let drawn: Vec<f64> = (0..count).map(|_| law.sample(random).min(MOST_WEIGHT)).collect();
    let total: f64 = drawn.iter().sum();
    drawn.into_iter().map(|w| Leaf { weight: share * w / total, is_macro }).collect()
}

/// Divides `span` among `leaves` by weight, cutting across the longer side.
fn slice(leaves: &[Leaf], span: Span, slots: &mut Vec<(Span, bool)>) -> Option<()> {
    if let [leaf] = leaves {
        slots.push((span, leaf.is_macro));
        return Some(());
    }
    let (first, share) = halve(leaves);
    let upright = span.w as f64 >= span.h as f64 * ROW_HEIGHT;
    let (low, high) = cut(span, upright, (first, leaves.len() - first), share)
        .or_else(|| cut(span, !upright, (first, leaves.len() - first), share))?;
    slice(&leaves[..first], low, slots)?;
    slice(&leaves[first..], high, slots)
}

/// Returns how many of the first leaves come nearest to half the weight, and their share of it.
fn halve(leaves: &[Leaf]) -> (usize, f64) {
    let total: f64 = leaves.iter().map(|l| l.weight).sum();
    let mut below = 0.0;
    let mut best = (1, f64::INFINITY);
    for (i, leaf) in leaves[..leaves.len() - 1].iter().enumerate() {
        below += leaf.weight / total;
        if (below - 0.5).abs() < (best.1 - 0.5).abs() {
            best = (i + 1, below);
        }
    }
    best
}

/// Cuts a span so that each part has a lattice cell for each of its leaves.
fn cut(span: Span, upright: bool, leaves: (usize, usize), share: f64) -> Option<(Span, Span)> {
    let (along, across) = if upright { (span.w, span.h) } else { (span.h, span.w) };
    let least = (leaves.0 as u64).div_ceil(across);
    let most = along.checked_sub((leaves.1 as u64).div_ceil(across))?;
    if least > most {
        return None;
    }
    let at = ((share * along as f64).round() as u64).clamp(least, most);
    Some(if upright {
        (Span { w: at, ..span }, Span { x: span.x + at, w: along - at, ..span })
    } else {
        (Span { h: at, ..span }, Span { y: span.y + at, h: along - at, ..span })
    })
}

/// Returns a macro in each slot, of `area` sites in all: rounding remainders go to the next one.
fn macros(slots: &[Span], die: Span, area: f64, random: &mut Pcg64) -> Vec<Span> {
    let fill = area / slots.iter().map(Span::area).sum::<f64>();
    let mut owed = 0.0;
    slots
        .iter()
        .map(|slot| {
            owed += fill * slot.area();
            // Never below the rows it takes to hold the area within the slot's width.
            let least = (owed / slot.w as f64).ceil().clamp(1.0, slot.h as f64);
            let h = (slot.h as f64 * fill.min(1.0).sqrt()).round().clamp(least, slot.h as f64);
            let w = (owed / h).round().clamp(1.0, slot.w as f64);
            owed -= w * h;
            let (w, h) = (w as u64, h as u64);
            let x = slot.x + anchor(slot.x, slot.w, w, die.w, random);
            let y = slot.y + anchor(slot.y, slot.h, h, die.h, random);
            Span { x, y, w, h }
        })
        .collect()
}

/// Returns how far into its slot a macro stands: flush with the die's border where the slot touches
/// it.
fn anchor(start: u64, slot: u64, size: u64, die: u64, random: &mut Pcg64) -> u64 {
    let free = slot - size;
    if start == 0 {
        0
    } else if start + slot == die {
        free
    } else {
        random.random_range(0..=free)
    }
}

/// Returns the blocks of one row's height at distinct places in the open regions.
fn blocks(open: &[Span], widths: &[u64], random: &mut Pcg64) -> Option<Vec<Span>> {
    let places = |span: &Span| (span.w / BLOCK_PITCH.0) * (span.h / BLOCK_PITCH.1);
    let total: u64 = open.iter().map(places).sum();
    if total < widths.len() as u64 {
        return None;
    }
    let mut chosen = index::sample(random, total as usize, widths.len()).into_vec();
    chosen.sort_unstable();
    let (mut region, mut passed) = (0, 0);
    let blocks = chosen.into_iter().zip(widths).map(|(place, &w)| {
        while place as u64 >= passed + places(&open[region]) {
            passed += places(&open[region]);
            region += 1;
        }
        let columns = open[region].w / BLOCK_PITCH.0;
        let place = place as u64 - passed;
        Span {
            x: open[region].x + place % columns * BLOCK_PITCH.0,
            y: open[region].y + place / columns * BLOCK_PITCH.1,
            w,
            h: 1,
        }
    });
    Some(blocks.collect())
}

/// Returns a ring of `count` pads around the die, clear of the rows.
fn pads(die: Rect, count: u64) -> Vec<Rect> {
    let (along, deep, gap) = PAD;
    let per_side = |side: u64| count / 4 + u64::from(side < count % 4);
    let room = die.width().min(die.height()) / per_side(0).max(1) as f64;
    // Whole units where the die has them, so that the files stay in integers.
    let whole = |v: f64| if room >= 1.0 { v.floor() } else { v };
    let breadth = whole(room.min(along));
    let depth = breadth * (deep / along);
    let start = |low: f64, extent: f64, i: u64, n: u64| low + whole(i as f64 * extent / n as f64);
    (0..4)
        .flat_map(|side| (0..per_side(side)).map(move |i| (side, i, per_side(side))))
        .map(|(side, i, n)| {
            let x = start(die.xl, die.width(), i, n);
            let y = start(die.yl, die.height(), i, n);
            match side {
                0 => Rect::at(die.xl - gap - depth, y, depth, breadth),
                1 => Rect::at(die.xh + gap, y, depth, breadth),
                2 => Rect::at(x, die.yl - gap - depth, breadth, depth),
                _ => Rect::at(x, die.yh + gap, breadth, depth),
            }
        })
        .collect()
}
