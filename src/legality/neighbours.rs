//! Gaps between neighbours in a row: spacings by edge types, and gaps of one site.

use super::rows::{RowIndex, RowsAtY};
use super::{Fault, Found, Violation};
use crate::design::{BlockageKind, Design, NodeKind};
use crate::grid::Rect;
use crate::parallel;

/// A node or an obstacle in one row.
#[derive(Clone, Copy)]
struct Item {
    xl: f64,
    xh: f64,
    /// `None` for a blockage or a halo.
    node: Option<u32>,
    movable: bool,
    /// Types of its left and right edge.
    edges: [Option<u32>; 2],
}

/// Returns the violations of edge spacings, and gaps of one site if `no_one_site_gaps`. Nodes that
/// `counts` refuses are ignored.
pub(super) fn check(
    design: &Design,
    rows: &RowIndex,
    no_one_site_gaps: bool,
    counts: &(dyn Fn(usize) -> bool + Sync),
) -> Found {
    let mut found = Found::default();
    let by_edges = !design.edge_spacing.is_empty();
    if !(by_edges || no_one_site_gaps) {
        return found;
    }
    let items = items(design, rows, no_one_site_gaps, counts);
    let of_row = |k: usize| {
        let (mut items, level) = (items[k].clone(), &rows.levels()[k]);
        items.sort_by(|a, b| a.xl.total_cmp(&b.xl).then(a.node.cmp(&b.node)));
        let mut all = Vec::new();
        if by_edges {
            let nodes = items.iter().filter(|item| item.node.is_some());
            edges(design, level, nodes, rows.tolerance(), &mut all);
        }
        if no_one_site_gaps {
            gaps(level, &items, rows.tolerance(), &mut all);
        }
        all
    };
    let mut all = parallel::map(items.len(), of_row).concat();
    // A pair of cells of several rows keeps one spacing.
    let pair = |v: &Violation| (v.fault, v.node, v.other);
    all.sort_by(|a, b| pair(a).cmp(&pair(b)).then(a.place.yl.total_cmp(&b.place.yl)));
    all.dedup_by(|b, a| a.fault == Fault::EdgeSpacing && pair(a) == pair(b));
    all.into_iter().for_each(|violation| found.add(violation));
    found
}

/// Returns what each row has in it, in no order.
fn items(
    design: &Design,
    rows: &RowIndex,
    with_obstacles: bool,
    counts: &dyn Fn(usize) -> bool,
) -> Vec<Vec<Item>> {
    let mut items: Vec<Vec<Item>> = vec![Vec::new(); rows.levels().len()];
    let mut add = |rect: &Rect, item: Item| {
        for k in rows.reached(rect) {
            items[k].push(Item { xl: rect.xl, xh: rect.xh, ..item });
        }
    };
    let obstacle = Item { xl: 0.0, xh: 0.0, node: None, movable: false, edges: [None; 2] };
    for i in (0..design.nodes.len()).filter(|&i| counts(i)) {
        let orientation = design.placement.orientation[i];
        let master = design.master_of(i);
        let item = Item {
            node: Some(i as u32),
            movable: design.nodes.kind[i] == NodeKind::Movable,
            edges: master.map_or([None; 2], |master| master.edges(orientation)),
            ..obstacle
        };
        design.solid_rects(i).for_each(|rect| add(&rect, item));
    }
    if with_obstacles {
        let hard = design.blockages.iter().filter(|b| b.kind == BlockageKind::Hard);
        hard.for_each(|blockage| add(&blockage.rect, obstacle));
        let fixed = |node: usize| design.nodes.kind[node] == NodeKind::Fixed;
        for halo in design.halos.iter().filter(|halo| !halo.soft && fixed(halo.node as usize)) {
            let node = halo.node as usize;
            let around = halo.around(&design.rect(node), design.placement.orientation[node]);
            add(&around, obstacle);
        }
    }
    items
}

/// Returns the violation of two neighbours, the movable one first, with the gap between them.
fn between(fault: Fault, a: &Item, b: &Item, level: &RowsAtY, amount: f64) -> Option<Violation> {
    let (first, second) = if a.movable { (a, b) } else { (b, a) };
    let node = first.node.filter(|_| first.movable)?;
    let (xl, xh) = (a.xh.min(b.xl), b.xl.max(a.xh));
    let place = Rect { xl, yl: level.y(), xh, yh: level.y() + level.height() };
    Some(Violation { fault, node, other: second.node, amount, place })
}

/// Adds the neighbours in a row that are nearer than their edge types allow.
fn edges<'a>(
    design: &Design,
    level: &RowsAtY,
    items: impl Iterator<Item = &'a Item>,
    near: f64,
    all: &mut Vec<Violation>,
) {
    let mut last: Option<&Item> = None;
    for item in items {
        if let Some(left) = last {
            let (gap, (a, b)) = (item.xl - left.xh, (left.edges[1], item.edges[0]));
            let required = design.edge_spacing.between(a, b);
            let abuts = gap.abs() <= near && design.edge_spacing.may_abut(a, b);
            // Cells that overlap have another fault.
            if gap >= -near && gap < required - near && !abuts {
                all.extend(between(Fault::EdgeSpacing, left, item, level, required - gap));
            }
        }
        if last.is_none_or(|left| item.xh > left.xh) {
            last = Some(item);
        }
    }
}

/// Adds the gaps of exactly one free site beside a movable cell; the ends of the row count as
/// cells.
fn gaps(level: &RowsAtY, items: &[Item], near: f64, all: &mut Vec<Violation>) {
    for (low, high, site) in level.runs() {
        let end = |x: f64| Item { xl: x, xh: x, node: None, movable: false, edges: [None; 2] };
        let within = items.iter().filter(|item| item.xh > low && item.xl < high);
        let mut left = end(low);
        for item in within.copied().chain([end(high)]) {
            let first = ((left.xh - site.x - near) / site.pitch).ceil();
            // The site before the site of the item's left edge.
            let last = ((item.xl - site.x - site.site_width + near) / site.pitch).floor();
            if last == first {
                all.extend(between(Fault::OneSiteGap, &left, &item, level, item.xl - left.xh));
            }
            if item.xh > left.xh {
                left = item;
            }
        }
    }
}
