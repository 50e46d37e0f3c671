//! Field arrows over a coarse grid.

use super::color::Rgb;
use super::drawing::Drawing;
use super::geometry::{Area, Point};
use crate::Real;
use crate::grid::Map;
use crate::grid::sample::shrink_present;

/// A vector field to draw over a heat map.
#[derive(Clone, Copy, Debug)]
pub struct Arrows<'a, T> {
    /// Component along x, `[nx][ny]`.
    pub x: &'a Map<T>,
    /// Component along y, `[nx][ny]`.
    pub y: &'a Map<T>,
}

/// Arrows along the longer side of the map.
const ALONG: f64 = 32.0;
/// Length of the longest arrow over the distance between arrows.
const LONGEST: f64 = 0.92;
/// Arrows shorter than this many picture units are left out.
const SHORTEST: f64 = 5.0;
/// Width of the rim, which shows an arrow on shades of the arrow's own colour.
const RIM: f64 = 1.0;
/// Share of the arrows that are drawn at full length, so that a few bins with a very strong field
/// do not shrink all others to dots.
const CUT: f64 = 0.02;

/// Returns how many arrows fit along an axis of `length`, the longer one being `longer`.
fn count(length: f64, longer: f64) -> usize {
    ((ALONG * length / longer).round() as usize).max(1)
}

/// Draws the mean field of each block of bins as an arrow in its middle. The length grows with the
/// square root of the magnitude: fields are strong at a few places and still have a direction
/// everywhere else. `colors` are the colours of an arrow and of its rim.
pub(super) fn draw<T: Real>(
    drawing: &mut Drawing,
    area: &Area,
    field: &Arrows<'_, T>,
    colors: (Rgb, Rgb),
) {
    let longer = area.width().max(area.height());
    let counts = (count(area.width(), longer), count(area.height(), longer));
    let x = shrink_present(field.x, counts.0, counts.1);
    let y = shrink_present(field.y, counts.0, counts.1);
    let Some(full) = full_length(&x, &y) else { return };
    let cell = (area.width() / x.nx() as f64, area.height() / x.ny() as f64);
    // With few bins, arrows are as long as with many.
    let length = LONGEST * cell.0.min(cell.1).min(longer / ALONG * 2.0);
    for i in 0..x.nx() {
        for j in 0..x.ny() {
            let (ex, ey) = (x[(i, j)] / full, y[(i, j)] / full);
            let size = ex.hypot(ey);
            let drawn = size.sqrt().min(1.0) * length;
            if !size.is_finite() || drawn < SHORTEST {
                continue;
            }
            let middle =
                (area.left + (i as f64 + 0.5) * cell.0, area.bottom - (j as f64 + 0.5) * cell.1);
            // The rim first, then the arrow.
            for (color, rim) in [(colors.1, RIM), (colors.0, 0.0)] {
                let direction = (ex / size, -ey / size);
                let points = shape(drawn, rim).map(|p| place(middle, direction, p));
                drawing.polygon(points.into(), color, 1.0);
            }
        }
    }
}

/// Returns the magnitude drawn at full length; `None` if there is no field.
fn full_length(x: &Map<f64>, y: &Map<f64>) -> Option<f64> {
    let pairs = x.as_slice().iter().zip(y.as_slice());
    let mut sizes: Vec<f64> = pairs.map(|(x, y)| x.hypot(*y)).filter(|s| s.is_finite()).collect();
    sizes.sort_by(f64::total_cmp);
    let at = sizes.len().checked_sub(1)? - (CUT * sizes.len() as f64) as usize;
    sizes.get(at).copied().filter(|&size| size > 0.0).or(sizes.last().copied().filter(|&s| s > 0.0))
}

/// Returns the outline of an arrow along x, its middle at the origin, grown by `rim`.
fn shape(length: f64, rim: f64) -> [Point; 7] {
    let head = (0.42 * length).min(14.0);
    let wing = 0.42 * head + rim;
    let shaft = (0.045 * length).clamp(0.7, 1.6) + rim;
    let (tail, tip) = (-length / 2.0 - rim, length / 2.0 + 1.5 * rim);
    let neck = length / 2.0 - head - rim;
    [
        (tail, -shaft),
        (neck, -shaft),
        (neck, -wing - rim),
        (tip, 0.0),
        (neck, wing + rim),
        (neck, shaft),
        (tail, shaft),
    ]
}

fn place(middle: Point, (dx, dy): Point, (x, y): Point) -> Point {
    (middle.0 + x * dx - y * dy, middle.1 + x * dy + y * dx)
}
