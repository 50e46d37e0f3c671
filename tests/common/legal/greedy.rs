//! The simple algorithm that a legalizer has to be as good as.

use super::check::{master, may_lie, may_stand};
use super::sites::FreeSites;
use placefield::design::{Design, Orientation, Placement};

/// Puts the tallest cells first, of these the widest, each at the nearest free position by
/// |Δx| + |Δy| of the lower-left corner. Returns the placement and the nodes that found no place.
pub fn greedy(design: &Design) -> (Placement, Vec<usize>) {
    let mut free = FreeSites::of(design);
    let mut placement = design.placement.clone();
    let (width, height) = (&design.nodes.width, &design.nodes.height);
    let mut order: Vec<usize> =
        design.movable().filter(|&i| width[i] > 0.0 && height[i] > 0.0).collect();
    order.sort_by(|&a, &b| {
        height[b].total_cmp(&height[a]).then(width[b].total_cmp(&width[a])).then(a.cmp(&b))
    });
    let mut failed = Vec::new();
    for node in order {
        let Some((row, site, orientation)) = nearest(design, &free, node) else {
            failed.push(node);
            continue;
        };
        let (rows, sites) = size(design, &free, node);
        free.take((row, rows), site, sites);
        placement.x[node] = free.x + free.pitch * site as f64;
        placement.y[node] = free.rows[row].y;
        placement.orientation[node] = orientation;
    }
    (placement, failed)
}

/// Returns the rows and sites that a node takes.
fn size(design: &Design, free: &FreeSites, node: usize) -> (usize, usize) {
    let whole = |length: f64, of: f64| (length / of - 1e-3).ceil().max(1.0) as usize;
    let (w, h) = (design.nodes.width[node], design.nodes.height[node]);
    (whole(h, free.rows[0].height), whole(w, free.pitch))
}

/// Returns the row, the site and the orientation of the nearest free position.
fn nearest(design: &Design, free: &FreeSites, node: usize) -> Option<(usize, usize, Orientation)> {
    let (rows, sites) = size(design, free, node);
    let (x, y) = (design.placement.x[node], design.placement.y[node]);
    let fence = design.nodes.fence_of(node).map(|fence| fence as u32);
    let of = master(design, node);
    let kinds = |site| free.rows.iter().any(|row| row.site == Some(site));
    let now = design.placement.orientation[node];
    let ways = [now, now.mirrored(), now.flipped(), now.mirrored().flipped()];
    let mut best: Option<(f64, (usize, usize, Orientation))> = None;
    for row in 0..(free.rows.len() + 1).saturating_sub(rows) {
        let stands_on = &free.rows[row];
        let away = (stands_on.y - y).abs();
        if best.is_some_and(|(least, _)| away >= least) || !may_stand(stands_on, of, kinds) {
            continue;
        }
        let lies = |o: &&Orientation| may_lie(stands_on, of, design.nodes.height[node], **o);
        let Some(&orientation) = ways.iter().find(lies) else { continue };
        let mut site = 0;
        while site < free.sites[row].len() {
            let run = free.run((row, rows), site, fence, usize::MAX);
            if run >= sites {
                let wish = ((x - free.x) / free.pitch).round();
                let at = wish.max(site as f64).min((site + run - sites) as f64);
                let distance = away + (free.x + free.pitch * at - x).abs();
                if best.is_none_or(|(least, _)| distance < least) {
                    best = Some((distance, (row, at as usize, orientation)));
                }
            }
            site += run + 1;
        }
    }
    best.map(|(_, place)| place)
}
