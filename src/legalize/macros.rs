//! Movable macros: on free sites, apart from one another, each as near as may be to where it was.
//!
//! One after the other goes to the nearest free place, and then each again to the nearest place
//! that the others leave, until none gets nearer. That is done in several orders, and the best
//! result is kept: most macros placed, then the least displacement times area.

use super::sites::{Cell, Cells, Run, Sites, shared};
use crate::design::{Design, Halo, NodeKind, Placement};
use crate::grid::Rect;

/// Rounds in which macros look for nearer places.
const ROUNDS: usize = 8;

/// A macro to be placed.
struct Macro {
    cell: Cell,
    /// Where it was, lower-left corner.
    wish: (f64, f64),
    size: (f64, f64),
    halo: Halo,
}

/// An area that others keep off, with its own halo.
#[derive(Clone, Copy)]
struct Kept {
    rect: Rect,
    halo: Halo,
}

/// Places the macros among `cells` on free sites; those that fit nowhere are given back.
pub(super) fn place(
    design: &Design,
    sites: &Sites,
    cells: &Cells,
    placement: &mut Placement,
) -> Vec<Cell> {
    let halo_of = halos(design);
    let macros: Vec<Macro> = cells
        .cells()
        .iter()
        .filter(|cell| cell.is_macro)
        .map(|&cell| {
            let node = cell.node as usize;
            let wish = (design.placement.x[node], design.placement.y[node]);
            Macro { cell, wish, size: design.size(node), halo: halo_of(node) }
        })
        .collect();
    if macros.is_empty() {
        return Vec::new();
    }
    // Fixed nodes are off the free sites already; halos of macros keep off them too.
    let any_halo = macros.iter().any(|m| m.halo != Halo::default());
    let is_fixed = |i: &usize| any_halo && design.nodes.kind[*i] == NodeKind::Fixed;
    let fixed: Vec<Kept> = (0..design.nodes.len())
        .filter(is_fixed)
        .map(|i| Kept { rect: design.rect(i), halo: halo_of(i) })
        .filter(|kept| kept.rect.area() > 0.0)
        .collect();
    let floor = Floor { sites, cells, slabs: slabs(sites), fixed };

    let area = |m: &Macro| m.size.0 * m.size.1;
    let indices = || (0..macros.len()).collect::<Vec<usize>>();
    let by = |key: &dyn Fn(&Macro) -> f64| {
        let mut order = indices();
        order.sort_by(|&a, &b| key(&macros[a]).total_cmp(&key(&macros[b])).then(a.cmp(&b)));
        order
    };
    let orders = [
        by(&|m| -area(m)),
        by(&|m| m.wish.0),
        by(&|m| m.wish.1),
        by(&|m| -m.wish.0 - m.size.0),
        by(&|m| -m.wish.1 - m.size.1),
    ];
    let tried = orders.iter().map(|order| floor.place(&macros, order));
    let best = tried.min_by(|a, b| {
        let score = |places: &[Option<(f64, f64)>]| {
            let far = |m: &Macro, at: (f64, f64)| (at.0 - m.wish.0).abs() + (at.1 - m.wish.1).abs();
            let missing = places.iter().filter(|place| place.is_none()).count();
            let pairs = macros.iter().zip(places);
            let sum: f64 = pairs.filter_map(|(m, at)| at.map(|at| far(m, at) * area(m))).sum();
            (missing, sum)
        };
        let (a, b) = (score(a), score(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    let mut failed = Vec::new();
    for (m, place) in macros.iter().zip(best.unwrap_or_default()) {
        let node = m.cell.node as usize;
        match place {
            Some((x, y)) => (placement.x[node], placement.y[node]) = (x, y),
            None => failed.push(m.cell),
        }
    }
    failed
}

/// The halo of each node as it lies.
fn halos(design: &Design) -> impl Fn(usize) -> Halo {
    let mut halos: Vec<Halo> = design.halos.iter().filter(|h| !h.soft).copied().collect();
    halos.sort_by_key(|halo| halo.node);
    let orientation = design.placement.orientation.clone();
    move |node| match halos.binary_search_by_key(&(node as u32), |halo| halo.node) {
        Ok(at) => {
            let around = halos[at].around(&Rect::at(0.0, 0.0, 0.0, 0.0), orientation[node]);
            let Rect { xl, yl, xh, yh } = around;
            Halo { node: node as u32, left: -xl, bottom: -yl, right: xh, top: yh, soft: false }
        }
        Err(_) => Halo::default(),
    }
}

/// By band, the number of the list of free runs that it has: neighbours with the same runs share
/// one.
fn slabs(sites: &Sites) -> Vec<u32> {
    let mut slabs: Vec<u32> = Vec::with_capacity(sites.bands().len());
    for band in 0..sites.bands().len() {
        let same = band > 0 && sites.free(band) == sites.free(band - 1);
        slabs.push(if same { slabs[band - 1] } else { band as u32 });
    }
    slabs
}

/// What macros stand on.
struct Floor<'a> {
    sites: &'a Sites,
    cells: &'a Cells,
    slabs: Vec<u32>,
    fixed: Vec<Kept>,
}

impl Floor<'_> {
    /// Lower-left corners of the macros, placed in this order.
    fn place(&self, macros: &[Macro], order: &[usize]) -> Vec<Option<(f64, f64)>> {
        let mut places: Vec<Option<(f64, f64)>> = vec![None; macros.len()];
        for round in 0..=ROUNDS {
            let mut nearer = false;
            for &k in order {
                let m = &macros[k];
                let far = |at: (f64, f64)| (at.0 - m.wish.0).abs() + (at.1 - m.wish.1).abs();
                let now = places[k].map_or(f64::INFINITY, far);
                if now == 0.0 || (round > 0 && places[k].is_none()) {
                    continue;
                }
                let others = places.iter().enumerate().filter(|(other, _)| *other != k);
                let others = others.filter_map(|(other, at)| {
                    let (m, at) = (&macros[other], (*at)?);
                    let rect = Rect::at(at.0, at.1, m.size.0, m.size.1);
                    Some(Kept { rect, halo: m.halo })
                });
                let kept: Vec<Kept> = others.chain(self.fixed.iter().copied()).collect();
                if let Some((place, cost)) = self.nearest(m, &kept, now)
                    && cost < now
                {
                    places[k] = Some(place);
                    nearer = true;
                }
            }
            if !nearer {
                break;
            }
        }
        places
    }

    /// The place nearest to where a macro was, if one is nearer than `most`.
    fn nearest(&self, m: &Macro, kept: &[Kept], most: f64) -> Option<((f64, f64), f64)> {
        let stands = self.cells.stands(&m.cell);
        let rows = self.sites.rows();
        let y = |nth: usize| rows[stands[nth].row as usize].y;
        let lattice = self.sites.lattices()[rows[stands[0].row as usize].lattice as usize];
        let above = stands.partition_point(|stand| rows[stand.row as usize].y < m.wish.1);
        let (mut low, mut high) = (above, above);
        let (mut best, mut bound) = (None, most);
        loop {
            let below = low.checked_sub(1).map_or(f64::INFINITY, |n| m.wish.1 - y(n));
            let over = if high < stands.len() { y(high) - m.wish.1 } else { f64::INFINITY };
            let dy = below.min(over);
            if dy >= bound || dy == f64::INFINITY {
                return best;
            }
            let nth = if below <= over { low - 1 } else { high };
            if below <= over {
                low -= 1
            } else {
                high += 1
            }
            let stand = stands[nth];
            let mut runs = self.sites.segments(stand.row as usize).to_vec();
            let mut before = None;
            for band in stand.bands() {
                if before != Some(self.slabs[band]) {
                    runs = shared(&runs, self.sites.free(band), false);
                    before = Some(self.slabs[band]);
                }
            }
            runs.retain(|run| run.fence == m.cell.fence);
            let blocked = self.blocked(m, y(nth), kept);
            for Run { start, end, .. } in super::sites::without(&widened(&runs, m), &blocked) {
                // Here a run is of first sites, its end the last one possible and one more.
                if start >= end {
                    continue;
                }
                let wish = lattice.site(m.wish.0).round();
                let site = wish.max(f64::from(start)).min(f64::from(end - 1)) as i32;
                let x = lattice.x(site);
                let cost = dy + (x - m.wish.0).abs();
                if cost < bound {
                    (best, bound) = (Some(((x, y(nth)), cost)), cost);
                }
            }
        }
    }

    /// The first sites at which a macro on this height would be in the way of others, ascending.
    fn blocked(&self, m: &Macro, y: f64, kept: &[Kept]) -> Vec<(i32, i32)> {
        let rows = self.sites.rows();
        let stand = self.cells.stands(&m.cell)[0];
        let lattice = self.sites.lattices()[rows[stand.row as usize].lattice as usize];
        let near = 1e-3;
        let (w, h) = m.size;
        let mut blocked: Vec<(i32, i32)> = Vec::new();
        for Kept { rect, halo } in kept {
            // Halos may share area with one another, but not with nodes.
            let under = m.halo.bottom.max(halo.top);
            let over = m.halo.top.max(halo.bottom);
            let scale = near * lattice.pitch;
            if y - under >= rect.yh - scale || y + h + over <= rect.yl + scale {
                continue;
            }
            let low = rect.xl - w - m.halo.right.max(halo.left);
            let high = rect.xh + m.halo.left.max(halo.right);
            let first = (lattice.site(low) + near).floor() as i32 + 1;
            let end = (lattice.site(high) - near).ceil() as i32;
            if first < end {
                blocked.push((first, end));
            }
        }
        blocked.sort_unstable();
        blocked
    }
}

/// The first sites that a macro may have within each run, as runs of these.
fn widened(runs: &[Run], m: &Macro) -> Vec<Run> {
    let fits = runs.iter().filter(|run| run.end - run.start >= m.cell.width);
    fits.map(|run| Run { end: run.end - m.cell.width + 1, ..*run }).collect()
}
