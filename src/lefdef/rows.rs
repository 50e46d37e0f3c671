//! Rows of sites from `ROW` statements, clipped to the die area.

use super::lef::{Library, Site};
use super::statements::RowStatement;
use crate::design::{Orientation, Row};
use crate::grid::Rect;

/// A site of a row's pattern: its offset from the row's corner, its size, its orientation and its
/// number in [`Library::sites`]. Lengths are those of the library.
struct PatternSite {
    at: (f64, f64),
    size: (f64, f64),
    orientation: Orientation,
    site: u32,
}

/// Returns the size of a site that lies so.
fn size_of(site: &Site, orientation: Orientation) -> (f64, f64) {
    let turned = orientation.swaps_axes();
    if turned { (site.height, site.width) } else { (site.width, site.height) }
}

/// Returns the sites that one step of a row has: its site, or the sites of that site's pattern.
///
/// A pattern is a sequence along x. One whose site is as high as all of its sites together is a
/// sequence along y, as OpenROAD has it for hybrid rows.
fn pattern(library: &Library, site: u32, orientation: Orientation) -> Vec<PatternSite> {
    let whole = &library.sites[site as usize];
    let (width, height) = size_of(whole, orientation);
    if whole.pattern.is_empty() || orientation.swaps_axes() {
        return vec![PatternSite { at: (0.0, 0.0), size: (width, height), orientation, site }];
    }
    let named = |name: &str| library.sites.iter().rposition(|site| site.name == name);
    let known = whole.pattern.iter().filter_map(|(name, lies)| Some((named(name)?, *lies)));
    let sites: Vec<_> =
        known.map(|(k, lies)| (k as u32, lies, size_of(&library.sites[k], lies))).collect();
    let total = sites.iter().fold((0.0, 0.0), |sum, (.., size)| (sum.0 + size.0, sum.1 + size.1));
    let upwards = (total.1 - height).abs() < (total.0 - width).abs();
    let by_x = matches!(orientation, Orientation::S | Orientation::FS);
    let by_y = matches!(orientation, Orientation::S | Orientation::FN);
    let mut next = (0.0, 0.0);
    let place = |(site, lies, size): (u32, Orientation, (f64, f64))| {
        let (x, y) = next;
        next = if upwards { (x, y + size.1) } else { (x + size.0, y) };
        let lies = if by_x { lies.flipped() } else { lies };
        PatternSite {
            at: (
                if by_y { width - x - size.0 } else { x },
                if by_x { height - y - size.1 } else { y },
            ),
            size,
            orientation: if by_y { lies.mirrored() } else { lies },
            site,
        }
    };
    sites.into_iter().map(place).collect()
}

/// Returns the rows of sites, and the number of statements that are left out since columns of sites
/// would be more than `more` rows. Rows of pad sites are left out. `scale` turns lengths of the
/// library into layout units.
pub(super) fn rows(
    library: &Library,
    statements: &[RowStatement],
    mut more: u64,
    scale: impl Fn(f64) -> f64,
) -> (Vec<Row>, u64) {
    let (mut rows, mut left_out) = (Vec::new(), 0);
    for of in statements.iter().filter(|of| !library.sites[of.site as usize].pad) {
        let (width, height) = size_of(&library.sites[of.site as usize], of.orientation);
        let sites = pattern(library, of.site, of.orientation);
        if of.count.1 > 1 {
            let count = of.count.1.saturating_mul(sites.len() as u64);
            if count > more {
                left_out += 1;
                continue;
            }
            more -= count;
        }
        let along = |step: f64, size: f64| if step == 0.0 { scale(size) } else { step };
        let step = (along(of.step.0, width), along(of.step.1, height));
        for up in 0..of.count.1 {
            rows.extend(sites.iter().map(|one| Row {
                x: of.at.0 + scale(one.at.0),
                y: of.at.1 + up as f64 * step.1 + scale(one.at.1),
                height: scale(one.size.1),
                site_width: scale(one.size.0),
                pitch: step.0,
                sites: of.count.0,
                orientation: one.orientation,
                symmetry: library.sites[one.site as usize].symmetry,
                site: Some(one.site),
            }));
        }
    }
    (rows, left_out)
}

/// Returns the intervals of x in which `area` covers all of `[low, high]` along y, ascending.
fn spans(area: &[Rect], low: f64, high: f64) -> Vec<(f64, f64)> {
    let edges = area.iter().flat_map(|rect| [rect.yl, rect.yh]);
    let mut cuts: Vec<f64> = edges.filter(|y| *y > low && *y < high).chain([low, high]).collect();
    cuts.sort_by(f64::total_cmp);
    cuts.dedup();
    let of_slab = |slab: &[f64]| {
        let middle = (slab[0] + slab[1]) / 2.0;
        let here = area.iter().filter(|rect| rect.yl <= middle && middle < rect.yh);
        let mut spans: Vec<(f64, f64)> = here.map(|rect| (rect.xl, rect.xh)).collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        spans.dedup_by(|next, last| {
            let touches = next.0 <= last.1;
            last.1 = if touches { last.1.max(next.1) } else { last.1 };
            touches
        });
        spans
    };
    let both = |a: Vec<(f64, f64)>, b: Vec<(f64, f64)>| {
        let pairs = a.iter().flat_map(|a| b.iter().map(|b| (a.0.max(b.0), a.1.min(b.1))));
        pairs.filter(|(low, high)| low < high).collect::<Vec<_>>()
    };
    cuts.windows(2).map(of_slab).reduce(both).unwrap_or_default()
}

/// Returns the parts of the rows that lie in `area`, whole sites only, and how many rows it cuts.
pub(super) fn clipped(rows: Vec<Row>, area: &[Rect]) -> (Vec<Row>, u64) {
    /// Share of a site that counts as none: files hold decimal numbers.
    const NEAR: f64 = 1e-3;
    let (mut inside, mut cut) = (Vec::with_capacity(rows.len()), 0);
    for row in rows {
        let (rect, near) = (row.rect(), NEAR * row.pitch);
        let spans = spans(area, rect.yl + near, rect.yh - near);
        let holds = |span: &(f64, f64)| span.0 <= rect.xl + near && span.1 >= rect.xh - near;
        if row.pitch <= 0.0 || rect.height() <= 2.0 * near || spans.iter().any(holds) {
            inside.push(row);
            continue;
        }
        cut += 1;
        for (low, high) in spans {
            let first = ((low - row.x - near) / row.pitch).ceil().max(0.0);
            let end = ((high - row.x - row.site_width + near) / row.pitch).floor() + 1.0;
            let sites = end.min(row.sites as f64) - first;
            if sites >= 1.0 {
                inside.push(Row { x: row.x + first * row.pitch, sites: sites as u64, ..row });
            }
        }
    }
    (inside, cut)
}

#[cfg(test)]
mod tests;
