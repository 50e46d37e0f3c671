//! Rows, sorted to find the rows below a cell directly.

use crate::design::{Design, Master, Orientation, Row};
use crate::grid::Rect;
use crate::rows::{shortest, site_kinds, site_needed};

/// How a cell stands on the rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RowCheck {
    Fine,
    /// Its bottom edge is this far from the nearest row's.
    OffRow(f64),
    /// Area of it without sites below.
    OutsideRow(f64),
    /// Its left edge is this far from the nearest site's.
    OffSite(f64),
}

/// All rows, by their y.
pub(super) struct RowIndex {
    tolerance: f64,
    /// Whether the sites of every row lie `N`.
    upright: bool,
    /// Kinds of sites that some row has, ascending.
    kinds: Vec<u32>,
    /// The largest height of a row.
    highest: f64,
    /// Ascending in y.
    levels: Vec<RowsAtY>,
}

/// The subrows of one y.
pub(super) struct RowsAtY {
    y: f64,
    height: f64,
    /// Ascending in x.
    rows: Vec<Row>,
    /// The largest right edge of `rows[..=k]`.
    reach: Vec<f64>,
    /// The part that the subrows cover together: intervals that do not touch, ascending.
    spans: Vec<(f64, f64)>,
}

impl RowIndex {
    /// `share` is the tolerance as a share of the shortest length of a row.
    pub(super) fn new(rows: &[Row], share: f64) -> Self {
        let mut sorted: Vec<Row> = rows.iter().filter(|r| r.sites > 0).copied().collect();
        let lengths = sorted.iter().map(shortest).filter(|length| *length > 0.0);
        let length = lengths.fold(f64::INFINITY, f64::min);
        let tolerance = if length.is_finite() { share * length } else { 0.0 };
        sorted.sort_by(|a, b| a.y.total_cmp(&b.y).then(a.x.total_cmp(&b.x)));
        let levels = sorted.chunk_by(|a, b| b.y - a.y <= tolerance);
        let upright = sorted.iter().all(|row| row.orientation == Orientation::N);
        let levels = levels.map(|rows| RowsAtY::new(rows, tolerance)).collect();
        let kinds = site_kinds(sorted.iter().map(|row| row.site));
        let highest = sorted.iter().map(|row| row.height).fold(0.0, f64::max);
        RowIndex { tolerance, upright, kinds, highest, levels }
    }

    /// Whether every row's sites lie `N`: then a cell that does so lies as its row asks.
    pub(super) fn upright(&self) -> bool {
        self.upright
    }

    /// Returns the length that counts as none, layout units.
    pub(super) fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// Returns the subrows of each y, ascending.
    pub(super) fn levels(&self) -> &[RowsAtY] {
        &self.levels
    }

    /// Returns the levels whose rows reach into `rect`, by index.
    pub(super) fn reached(&self, rect: &Rect) -> impl Iterator<Item = usize> {
        let near = self.tolerance;
        let (low, high) = (rect.yl + near, rect.yh - near);
        let end = self.levels.partition_point(|level| level.y < high);
        let highest = self.highest;
        let begin = self.levels.partition_point(|level| level.y + highest <= low);
        (begin..end.max(begin)).filter(move |&k| self.levels[k].y + self.levels[k].height > low)
    }

    /// Returns the nearest level to `y`, if there is any.
    fn nearest(&self, y: f64) -> Option<usize> {
        let above = self.levels.partition_point(|level| level.y < y);
        let distance = |k: &usize| (self.levels[*k].y - y).abs();
        let both = [above.checked_sub(1), (above < self.levels.len()).then_some(above)];
        both.into_iter().flatten().min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// Returns how a cell that covers `rect` stands.
    pub(super) fn check(&self, rect: &Rect) -> RowCheck {
        let Some(bottom) = self.nearest(rect.yl) else { return RowCheck::OffRow(f64::INFINITY) };
        let distance = (self.levels[bottom].y - rect.yl).abs();
        if distance > self.tolerance {
            return RowCheck::OffRow(distance);
        }
        let bare = self.bare(bottom, rect);
        if bare > self.tolerance * rect.width().max(rect.height()) {
            return RowCheck::OutsideRow(bare);
        }
        match self.levels[bottom].off_site(rect.xl) {
            Some(distance) if distance > self.tolerance => RowCheck::OffSite(distance),
            _ => RowCheck::Fine,
        }
    }

    /// Whether one of the rows below the lower left corner of `rect` is one that its library cell
    /// may stand on. True where there is no row.
    pub(super) fn may_stand(&self, master: &Master, rect: &Rect) -> bool {
        let Some(level) = self.nearest(rect.yl).map(|k| &self.levels[k]) else { return true };
        let site = site_needed(master, &self.kinds);
        let below = |row: &&Row| {
            row.x <= rect.xl + self.tolerance && row.rect().xh > rect.xl + self.tolerance
        };
        let fits = |row: &Row| {
            let rails = master.stands_on.admits(row.orientation);
            rails && (site.is_none() || row.site == site)
        };
        level.rows.iter().filter(below).any(fits) || !level.rows.iter().any(|row| below(&row))
    }

    /// Returns the area of a cell on level `bottom` that has no sites below.
    fn bare(&self, bottom: usize, rect: &Rect) -> f64 {
        let (mut covered, mut area) = (rect.yl, 0.0);
        for level in &self.levels[bottom..] {
            if covered >= rect.yh - self.tolerance || level.y >= rect.yh - self.tolerance {
                break;
            }
            // Between two rows there may be a gap.
            area += (level.y - covered).max(0.0) * rect.width();
            let (low, high) = (level.y.max(covered), (level.y + level.height).min(rect.yh));
            if high > low {
                area += (high - low) * level.uncovered(rect.xl, rect.xh);
                covered = high;
            }
        }
        let above = rect.yh - covered;
        if above > self.tolerance { area + above * rect.width() } else { area }
    }

    /// Returns the row that node `i` stands on, if the row decides its orientation
    /// ([`Design::turns_with_row`]).
    pub(super) fn deciding_row<'a>(&'a self, design: &Design, i: usize) -> Option<&'a Row> {
        let (x, y) = (design.placement.x[i], design.placement.y[i]);
        let level = &self.levels[self.nearest(y)?];
        if !design.turns_with_row(i, level.height) || (level.y - y).abs() > self.tolerance {
            return None;
        }
        let after = level.rows.partition_point(|row| row.x <= x + self.tolerance);
        level.rows[..after].last()
    }
}

impl RowsAtY {
    fn new(rows: &[Row], tolerance: f64) -> Self {
        let mut rows = rows.to_vec();
        rows.sort_by(|a, b| a.x.total_cmp(&b.x));
        let (mut spans, mut reach): (Vec<(f64, f64)>, Vec<f64>) = (Vec::new(), Vec::new());
        for row in &rows {
            let Rect { xl, xh, .. } = row.rect();
            reach.push(reach.last().map_or(xh, |&before| xh.max(before)));
            match spans.last_mut() {
                Some((_, end)) if xl <= *end + tolerance => *end = end.max(xh),
                _ => spans.push((xl, xh)),
            }
        }
        let height = rows.iter().map(|row| row.height).fold(0.0, f64::max);
        RowsAtY { y: rows[0].y, height, rows, reach, spans }
    }

    pub(super) fn y(&self) -> f64 {
        self.y
    }

    pub(super) fn height(&self) -> f64 {
        self.height
    }

    /// Returns the parts that the subrows cover, each with one of the subrows in it.
    pub(super) fn runs(&self) -> impl Iterator<Item = (f64, f64, &Row)> {
        let first = |low: f64| &self.rows[self.rows.partition_point(|row| row.x < low)];
        let runs = self.spans.iter().map(move |&(low, high)| (low, high, first(low)));
        runs.filter(|(.., row)| row.pitch > 0.0)
    }

    /// Returns the length of `[low, high]` that no subrow covers.
    fn uncovered(&self, low: f64, high: f64) -> f64 {
        let first = self.spans.partition_point(|span| span.1 <= low);
        let within = self.spans[first..].iter().take_while(|span| span.0 < high);
        let covered: f64 = within.map(|span| span.1.min(high) - span.0.max(low)).sum();
        (high - low - covered).max(0.0)
    }

    /// Returns the distance from `x` to the nearest site of the subrows that hold it; `None` if
    /// none does.
    fn off_site(&self, x: f64) -> Option<f64> {
        let after = self.rows.partition_point(|row| row.x <= x);
        let mut nearest: Option<f64> = None;
        for k in (0..after.max(1)).rev() {
            let row = &self.rows[k];
            if row.pitch > 0.0 {
                let sites = (x - row.x) / row.pitch;
                let distance = (sites - sites.round()).abs() * row.pitch;
                nearest = Some(nearest.map_or(distance, |n| n.min(distance)));
            }
            // Subrows may overlap, but none further left reaches as far as here.
            if nearest == Some(0.0) || k == 0 || self.reach[k - 1] <= x {
                break;
            }
        }
        nearest
    }
}

/// Whether a cell of one row's height may lie so on `row`. `N` is always right where orientations
/// are not `assigned`.
pub(super) fn may_lie(orientation: Orientation, row: &Row, assigned: bool) -> bool {
    if orientation == Orientation::N && !assigned {
        return true;
    }
    if orientation.swaps_axes() != row.orientation.swaps_axes() {
        return row.symmetry.r90;
    }
    if orientation.swaps_axes() {
        return true; // Which side is up is not told for sites that lie on their side.
    }
    // Mirrored by the x axis, by the y axis or both against the site: S is FS mirrored by y.
    let left_right = |o| matches!(o, Orientation::S | Orientation::FN);
    let by_x = orientation.is_upside_down() != row.orientation.is_upside_down();
    let by_y = left_right(orientation) != left_right(row.orientation);
    (row.symmetry.x || !by_x) && (row.symmetry.y || !by_y)
}
