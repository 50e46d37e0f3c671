//! Lines of a field: equipotential contours and streamlines.

use super::sample::{finite_range, shrink_present};
use super::{Map, Rect};
use crate::Real;
use std::collections::{HashMap, VecDeque};

/// A point, along x and along y.
type Point = (f64, f64);

/// Bins along an axis that contours and streamlines are traced on at most; maps with more are
/// averaged down.
const MOST_BINS: usize = 256;
/// Squares along the longer side, in each of which a streamline may begin.
const SEEDS: usize = 24;
/// Squares along the longer side, each of which one streamline may pass: they keep this apart.
const SQUARES: usize = 48;
/// Steps of a streamline over a bin.
const STEPS: f64 = 4.0;
/// Length of the shortest streamline that is drawn, over the map's width.
const SHORTEST: f64 = 0.03;
/// Values along a line at most.
const MOST_STEPS: f64 = 20_000.0;

/// Returns the lines along which a map has each of `levels` evenly spaced values between its
/// extremes, from 0 to 1 along x and along y, with the value of each.
///
/// Marching squares between the bins' centres (Lorensen and Cline, "Marching Cubes", 1987, in two
/// dimensions); at a saddle the mean of the corners decides.
pub(crate) fn contours<T: Real>(map: &Map<T>, levels: usize) -> Vec<(f64, Vec<Vec<Point>>)> {
    let map = shrink_present(map, MOST_BINS, MOST_BINS);
    let Some((lo, hi)) = finite_range(map.as_slice()) else { return Vec::new() };
    let level = |k: usize| lo + (hi - lo) * (k + 1) as f64 / (levels + 1) as f64;
    let lines = (0..levels).map(|k| (level(k), joined(contour(&map, level(k)))));
    lines.filter(|(_, lines)| !lines.is_empty()).collect()
}

/// Joins segments that share an end into lines.
fn joined(segments: Vec<[Point; 2]>) -> Vec<Vec<Point>> {
    // Ends on one edge of the grid differ by rounding alone.
    let key = |(x, y): Point| [x, y].map(|v| (v * 1e7).round() as i64);
    let mut at: HashMap<[i64; 2], Vec<usize>> = HashMap::new();
    for (k, ends) in segments.iter().enumerate() {
        ends.iter().for_each(|end| at.entry(key(*end)).or_default().push(k));
    }
    let mut used = vec![false; segments.len()];
    let mut lines = Vec::new();
    for first in 0..segments.len() {
        if std::mem::replace(&mut used[first], true) {
            continue;
        }
        let mut line = VecDeque::from(segments[first]);
        for ahead in [true, false] {
            loop {
                let end = if ahead { line[line.len() - 1] } else { line[0] };
                let next = at[&key(end)].iter().copied().find(|&k| !used[k]);
                let Some(next) = next else { break };
                used[next] = true;
                let [a, b] = segments[next];
                let far = if key(a) == key(end) { b } else { a };
                if ahead { line.push_back(far) } else { line.push_front(far) }
            }
        }
        lines.push(line.into());
    }
    lines
}

fn contour(map: &Map<f64>, level: f64) -> Vec<[Point; 2]> {
    let (nx, ny) = (map.nx(), map.ny());
    let at = |x: f64, y: f64| ((x + 0.5) / nx as f64, (y + 0.5) / ny as f64);
    let mut segments = Vec::new();
    for i in 0..nx.saturating_sub(1) {
        for j in 0..ny.saturating_sub(1) {
            // Corners and edges counter-clockwise from the lower left; edge k begins at corner k.
            let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
            let values = corners.map(|bin| map[bin] - level);
            if !values.iter().all(|v| v.is_finite()) {
                continue;
            }
            let crossing = |k: usize| {
                let (a, b) = (values[k], values[(k + 1) % 4]);
                let share = a / (a - b);
                let [(x0, y0), (x1, y1)] =
                    [corners[k], corners[(k + 1) % 4]].map(|(i, j)| (i as f64, j as f64));
                at(x0 + share * (x1 - x0), y0 + share * (y1 - y0))
            };
            let crossed: Vec<usize> =
                (0..4).filter(|&k| (values[k] > 0.0) != (values[(k + 1) % 4] > 0.0)).collect();
            match crossed[..] {
                [a, b] => segments.push([crossing(a), crossing(b)]),
                [a, b, c, d] => {
                    let above = values.iter().sum::<f64>() > 0.0;
                    let pairs = match above == (values[0] > 0.0) {
                        true => [(a, b), (c, d)],
                        false => [(d, a), (b, c)],
                    };
                    segments.extend(pairs.map(|(a, b)| [crossing(a), crossing(b)]));
                }
                _ => {}
            }
        }
    }
    segments
}

/// Returns evenly spaced lines along the field `(x, y)`, in its direction, from 0 to 1 along x and
/// along y; `aspect` is the map's height over its width.
///
/// A line goes through the middle of every square that no other line has passed, both ways, until it
/// meets another one, leaves the map or comes to where there is no field. Steps follow the midpoint
/// rule.
pub(crate) fn streamlines<T: Real>(x: &Map<T>, y: &Map<T>, aspect: f64) -> Vec<Vec<Point>> {
    let x = shrink_present(x, MOST_BINS, MOST_BINS);
    let y = shrink_present(y, MOST_BINS, MOST_BINS);
    let longer = aspect.max(1.0);
    let squares = |count: usize| {
        let along = |length: f64| ((count as f64 * length / longer).round() as usize).max(1);
        [along(1.0), along(aspect)]
    };
    let [across, up] = squares(SQUARES);
    let square = |(x, y): Point| {
        let at = |v: f64, n: usize| ((v * n as f64) as usize).min(n - 1);
        at(x, across) * up + at(y, up)
    };
    // Unit vectors of the drawing in shares of the map's sides.
    let direction = |at: Point| {
        let (fx, fy) = (interpolated(&x, at), interpolated(&y, at));
        let size = fx.hypot(fy);
        (size.is_finite() && size > 0.0).then(|| (fx / size, fy / size / aspect))
    };
    let step = 1.0 / (STEPS * x.nx().max(2) as f64);
    let mut passed = vec![false; across * up];
    let mut lines = Vec::new();
    let [columns, rows] = squares(SEEDS);
    for seed in 0..columns * rows {
        let (i, j) = (seed / rows, seed % rows);
        let start = ((i as f64 + 0.5) / columns as f64, (j as f64 + 0.5) / rows as f64);
        if passed[square(start)] {
            continue;
        }
        let mut own = vec![square(start)];
        let mut halves = [-1.0, 1.0].map(|sign| {
            let mut line = vec![start];
            let mut at = start;
            let most = (4.0 * longer / step) as usize;
            while line.len() < most {
                let advance = |from: Point, by: f64| {
                    direction(from).map(|(dx, dy)| (at.0 + sign * by * dx, at.1 + sign * by * dy))
                };
                let Some(next) = advance(at, step / 2.0).and_then(|middle| advance(middle, step))
                else {
                    break;
                };
                let inside = (0.0..1.0).contains(&next.0) && (0.0..1.0).contains(&next.1);
                if !inside || passed[square(next)] {
                    break;
                }
                // A line that turns back in its own square has come to an end.
                let here = square(next);
                if own.last() != Some(&here) {
                    if own.contains(&here) && here != square(start) {
                        break;
                    }
                    own.push(here);
                }
                at = next;
                line.push(at);
            }
            line
        });
        own.into_iter().for_each(|square| passed[square] = true);
        let [back, ahead] = &mut halves;
        back.reverse();
        back.extend(ahead.drain(1..));
        if back.len() > 2 && back.len() as f64 * step > SHORTEST {
            lines.push(std::mem::take(back));
        }
    }
    lines
}

/// Returns the value between the centres of four bins, by their shares.
fn interpolated<T: Real>(map: &Map<T>, (x, y): Point) -> f64 {
    let along = |share: f64, n: usize| {
        let at = (share * n as f64 - 0.5).clamp(0.0, n as f64 - 1.0);
        let low = at as usize;
        (low, (low + 1).min(n - 1), at - low as f64)
    };
    let (i0, i1, u) = along(x, map.nx());
    let (j0, j1, v) = along(y, map.ny());
    let value = |i, j| map[(i, j)].widen();
    (value(i0, j0) * (1.0 - v) + value(i0, j1) * v) * (1.0 - u)
        + (value(i1, j0) * (1.0 - v) + value(i1, j1) * v) * u
}

/// Returns the values of a map over `die` along the line between two points of it, layout units:
/// pairs of the distance from the first point and the value, two at least for every bin.
///
/// Between the centres of bins values are interpolated; points off the die have the value at its
/// edge.
pub fn profile<T: Real>(map: &Map<T>, die: &Rect, from: Point, to: Point) -> Vec<(f64, f64)> {
    let share = |(x, y): Point| ((x - die.xl) / die.width(), (y - die.yl) / die.height());
    let (a, b) = (share(from), share(to));
    let bins = ((b.0 - a.0) * map.nx() as f64).hypot((b.1 - a.1) * map.ny() as f64);
    let steps = (2.0 * bins).ceil().clamp(1.0, MOST_STEPS) as usize;
    let length = (to.0 - from.0).hypot(to.1 - from.1);
    let at = |k: usize| {
        let along = k as f64 / steps as f64;
        let point = (a.0 + along * (b.0 - a.0), a.1 + along * (b.1 - a.1));
        (along * length, interpolated(map, point))
    };
    (0..=steps).map(at).collect()
}

#[cfg(test)]
mod tests;
