//! Places movable macros on free sites without overlap, with small displacements.
//!
//! First all macros are pushed apart (`apart`), which moves macros of a global placement little. If
//! this fails, or rows differ, the next step starts from the original positions. Macros move to the
//! nearest free place one after the other. Then each moves again to the
//! nearest place that the others leave free, until no macro gets nearer. Several orders are tried,
//! and the best result has the most placed macros, then the least displacement times pins. If there
//! are cells without halos among them, the only order is the highest and widest first.

use super::apart::{Block, apart};
use super::shelf::Wish;
use super::spread::spread;
use super::watch::Watch;
use super::{LegalizeOptions, outwards};
use crate::design::{Design, Halo, NodeKind, Orientation, Placement};
use crate::grid::Rect;
use crate::rows::{Access, Cell, Cells, Run, SiteRow, Sites, orientation_on, shared, without};

/// Rounds in which macros look for nearer places.
const ROUNDS: usize = 8;
/// More macros are placed in one order and look for nearer places once.
const MOST_OF_ALL_ORDERS: usize = 1024;

/// A macro to be placed.
struct Macro {
    cell: Cell,
    /// Where it was, lower-left corner.
    wish: (f64, f64),
    size: (f64, f64),
    room: Room,
    /// Its pins, and one.
    pins: f64,
}

/// The distances that a node keeps from macros.
#[derive(Clone, Copy, Default, PartialEq)]
struct Room {
    halo: Halo,
    /// Distance from other macros along x and along y; 0 for a node that is no macro.
    channel: [f64; 2],
}

impl Room {
    /// Returns the least distances to a node to the left, below, to the right and above. Halos may
    /// share area with one another, but not with nodes.
    fn beside(&self, other: &Room) -> [f64; 4] {
        let [x, y] = [0, 1].map(|axis| self.channel[axis].min(other.channel[axis]));
        let (a, b) = (&self.halo, &other.halo);
        [
            a.left.max(b.right).max(x),
            a.bottom.max(b.top).max(y),
            a.right.max(b.left).max(x),
            a.top.max(b.bottom).max(y),
        ]
    }

    /// Returns the longest of its distances.
    fn most(&self) -> f64 {
        let Halo { left, bottom, right, top, .. } = self.halo;
        [left, bottom, right, top].into_iter().chain(self.channel).fold(0.0, f64::max)
    }
}

/// An area in which no macro may lie, with the distances from it.
#[derive(Clone, Copy)]
struct Obstacle {
    rect: Rect,
    room: Room,
}

/// Places the macros among `cells` on free sites; those that fit nowhere are given back.
pub(super) fn place(
    design: &Design,
    sites: &Sites,
    cells: &Cells,
    options: &LegalizeOptions,
    placement: &mut Placement,
    watch: &mut Watch<'_>,
) -> Vec<Cell> {
    let halo_of = halos(design);
    let row_height = design.usual_height();
    let room_of = |node: usize, ways: &[Orientation]| Room {
        halo: halo_of(node, ways),
        channel: match design.is_macro(node, row_height) {
            true => options.macro_channel,
            false => [0.0; 2],
        },
    };
    let orientation = |node: usize| design.placement.orientation[node];
    let mut pins = vec![1.0; design.nodes.len()];
    for &node in design.nets.iter().flat_map(|nets| &nets.pin_node) {
        pins[node as usize] += 1.0;
    }
    let pad = |cell: &Cell| {
        let lattice = sites.lattices()[row_of(sites, cells, cell, 0).lattice as usize];
        f64::from(cell.padding) * lattice.pitch
    };
    let macros: Vec<Macro> = cells
        .cells()
        .iter()
        .map(|&cell| {
            let node = cell.node as usize;
            let pad = pad(&cell);
            let wish = (design.placement.x[node] - pad, design.placement.y[node]);
            // Rows turn cells that are no macros.
            let turned = [Orientation::N, Orientation::S];
            let ways = if cell.is_macro { &[orientation(node)][..] } else { &turned };
            let (width, height) = design.nodes.size(node, ways[0]);
            let size = (width + 2.0 * pad, height);
            Macro { cell, wish, size, room: room_of(node, ways), pins: pins[node] }
        })
        .collect();
    if macros.is_empty() {
        return Vec::new();
    }
    let fixed: Vec<Obstacle> = (0..design.nodes.len())
        .filter(|&i| design.nodes.kind[i] == NodeKind::Fixed)
        .map(|i| Obstacle { rect: design.rect(i), room: room_of(i, &[orientation(i)]) })
        .filter(|obstacle| obstacle.rect.area() > 0.0)
        .collect();
    let any_other = macros.iter().any(|m| !m.cell.is_macro && m.room.halo == Halo::default());
    let few = macros.len() <= MOST_OF_ALL_ORDERS && !any_other;
    let pushed = if few { pushed(sites, &macros, &fixed) } else { None };
    // The free sites exclude fixed nodes, but not the distances of macros from fixed nodes.
    let any_room = macros.iter().any(|m| m.room != Room::default());
    let fixed = if any_room { fixed } else { Vec::new() };
    let grid = MacroGrid { sites, cells, slabs: slabs(sites), fixed };

    let area = |m: &Macro| m.size.0 * m.size.1;
    let indices = || (0..macros.len()).collect::<Vec<usize>>();
    let by = |key: &dyn Fn(&Macro) -> f64| {
        let mut order = indices();
        order.sort_by(|&a, &b| key(&macros[a]).total_cmp(&key(&macros[b])).then(a.cmp(&b)));
        order
    };
    let mut orders = vec![
        by(&|m| -area(m)),
        by(&|m| m.wish.0),
        by(&|m| m.wish.1),
        by(&|m| -m.wish.0 - m.size.0),
        by(&|m| -m.wish.1 - m.size.1),
    ];
    let mut wishes: Vec<(f64, f64)> = macros.iter().map(|m| m.wish).collect();
    if any_other {
        let mut highest = by(&|m| -m.size.0);
        highest.sort_by(|&a, &b| macros[b].size.1.total_cmp(&macros[a].size.1));
        orders = vec![highest];
    }
    if !few {
        orders.truncate(1);
        spread_wishes(sites, cells, &mut wishes);
    }
    let rounds = if few { ROUNDS } else { 1 };
    let mut tried = Vec::new();
    for pushed in pushed.iter() {
        tried.push(grid.place(&macros, pushed, &orders[0], rounds, watch));
    }
    for order in &orders {
        tried.push(grid.place(&macros, &wishes, order, rounds, watch));
    }
    let best = tried.into_iter().min_by(|a, b| {
        let score = |places: &[Option<(f64, f64)>]| {
            let far = |m: &Macro, at: (f64, f64)| (at.0 - m.wish.0).abs() + (at.1 - m.wish.1).abs();
            let missing = places.iter().filter(|place| place.is_none()).count();
            let pairs = macros.iter().zip(places);
            let sum: f64 = pairs.filter_map(|(m, at)| at.map(|at| far(m, at) * m.pins)).sum();
            (missing, sum)
        };
        let (a, b) = (score(a), score(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    let mut failed = Vec::new();
    for (m, place) in macros.iter().zip(best.unwrap_or_default()) {
        let node = m.cell.node as usize;
        match place {
            Some((x, y)) => {
                (placement.x[node], placement.y[node]) = (x + pad(&m.cell), y);
                let mut rows = cells.rows(&m.cell).iter().map(|row| row.row as usize);
                let row = rows.find(|&row| sites.rows()[row].y == y);
                let turned = row.and_then(|row| orientation_on(design, sites, node, row));
                placement.orientation[node] = turned.unwrap_or(placement.orientation[node]);
            }
            None => failed.push(m.cell),
        }
    }
    failed
}

/// Returns the nth row that a cell may lie on.
fn row_of<'a>(sites: &'a Sites, cells: &Cells, cell: &Cell, nth: usize) -> &'a SiteRow {
    &sites.rows()[cells.rows(cell)[nth].row as usize]
}

/// Spreads the lower-left corners, layout units, where many more macros want to be than fit.
fn spread_wishes(sites: &Sites, cells: &Cells, wishes: &mut [(f64, f64)]) {
    let row = row_of(sites, cells, &cells.cells()[0], 0);
    let lattice = sites.lattices()[row.lattice as usize];
    let wish = |&(x, y): &(f64, f64)| Wish { x: lattice.site(x), y: y / lattice.pitch };
    let mut spreading: Vec<Wish> = wishes.iter().map(wish).collect();
    spread(sites, cells, lattice.pitch, &mut spreading);
    for (wish, Wish { x, y }) in wishes.iter_mut().zip(spreading) {
        *wish = (lattice.origin + x * lattice.pitch, y * lattice.pitch);
    }
}

/// Returns lower-left corners of the macros, pushed apart from each other and from `fixed`
/// rectangles, on sites and rows if all rows are equal; `None` if no solution was found.
fn pushed(sites: &Sites, macros: &[Macro], fixed: &[Obstacle]) -> Option<Vec<(f64, f64)>> {
    let lattice = sites.lattices()[0];
    let rows = || (0..sites.rows().len()).filter(|&row| sites.rows()[row].lattice == 0);
    let bottom = rows().map(|row| sites.rows()[row].y).fold(f64::INFINITY, f64::min);
    let top = rows().map(|row| sites.rows()[row].y + sites.rows()[row].height);
    let top = top.fold(f64::NEG_INFINITY, f64::max);
    let runs = || rows().flat_map(|row| sites.segments(Access::default(), row));
    let (left, right) = (runs().map(|run| run.start).min()?, runs().map(|run| run.end).max()?);
    let unit = [lattice.pitch, sites.usual_height()];
    // From layout units to sites and rows.
    let at = |x: f64, y: f64| [lattice.site(x), (y - bottom) / unit[1]];
    const NEAR: f64 = 1e-3;
    let up = |length: f64, axis: usize| (length / unit[axis] - NEAR).ceil();
    let halo_of = |Room { halo, .. }: &Room| {
        [[up(halo.left, 0), up(halo.right, 0)], [up(halo.bottom, 1), up(halo.top, 1)]]
    };
    let channel_of = |room: &Room| [0, 1].map(|axis| up(room.channel[axis], axis));
    let moving = macros.iter().map(|m| Block {
        wish: at(m.wish.0, m.wish.1),
        size: [up(m.size.0, 0), up(m.size.1, 1)],
        halo: halo_of(&m.room),
        channel: channel_of(&m.room),
        weight: Some(m.pins),
    });
    let standing = fixed.iter().map(|Obstacle { rect, room }| {
        let (low, high) = (at(rect.xl, rect.yl), at(rect.xh, rect.yh));
        let [low, high] = [low.map(|v| (v + NEAR).floor()), high.map(|v| (v - NEAR).ceil())];
        let size = [high[0] - low[0], high[1] - low[1]];
        Block { wish: low, size, halo: halo_of(room), channel: channel_of(room), weight: None }
    });
    let blocks: Vec<Block> = moving.chain(standing).collect();
    let high = [f64::from(right), ((top - bottom) / unit[1] + NEAR).floor()];
    let places = apart(&blocks, [f64::from(left), 0.0], high)?;
    let layout = |[x, y]: [f64; 2]| (lattice.x(x as i32), bottom + y * unit[1]);
    Some(places[..macros.len()].iter().map(|&at| layout(at)).collect())
}

/// Returns the halo of each node in any of some orientations.
fn halos(design: &Design) -> impl Fn(usize, &[Orientation]) -> Halo {
    let mut halos: Vec<Halo> = design.halos.iter().filter(|h| !h.soft).copied().collect();
    halos.sort_by_key(|halo| halo.node);
    move |node, ways| match halos.binary_search_by_key(&(node as u32), |halo| halo.node) {
        Ok(at) => {
            let sides = ways.iter().map(|way| halos[at].sides(*way));
            let most = |a: [f64; 4], b: [f64; 4]| std::array::from_fn(|k| a[k].max(b[k]));
            let [left, bottom, right, top] = sides.fold([0.0; 4], most);
            Halo { node: node as u32, left, bottom, right, top, soft: false }
        }
        Err(_) => Halo::default(),
    }
}

/// Returns, by band, the number of the list of free runs that it has: neighbours with the same runs
/// share one.
fn slabs(sites: &Sites) -> Vec<u32> {
    let mut slabs: Vec<u32> = Vec::with_capacity(sites.bands().len());
    for band in 0..sites.bands().len() {
        let same = band > 0 && sites.free(band) == sites.free(band - 1);
        slabs.push(if same { slabs[band - 1] } else { band as u32 });
    }
    slabs
}

/// The free sites for macros.
struct MacroGrid<'a> {
    sites: &'a Sites,
    cells: &'a Cells,
    slabs: Vec<u32>,
    fixed: Vec<Obstacle>,
}

impl MacroGrid<'_> {
    /// Lower-left corners of the macros, near these wishes, placed in this order. In `rounds` more
    /// rounds each looks for a nearer place.
    fn place(
        &self,
        macros: &[Macro],
        wishes: &[(f64, f64)],
        order: &[usize],
        rounds: usize,
        watch: &mut Watch<'_>,
    ) -> Vec<Option<(f64, f64)>> {
        let mut places: Vec<Option<(f64, f64)>> = vec![None; macros.len()];
        let mut obstacles = Obstacles::new(macros, &self.fixed, self.sites);
        let placed = |k: usize, at: (f64, f64)| {
            let m = &macros[k];
            Obstacle { rect: Rect::at(at.0, at.1, m.size.0, m.size.1), room: m.room }
        };
        for round in 0..=rounds {
            let mut nearer = false;
            for &k in order {
                if watch.step(1) {
                    return places;
                }
                let (m, wish) = (&macros[k], wishes[k]);
                let far = |at: (f64, f64)| (at.0 - wish.0).abs() + (at.1 - wish.1).abs();
                let now = places[k].map_or(f64::INFINITY, far);
                if now == 0.0 || (round > 0 && places[k].is_none()) {
                    continue;
                }
                places[k].iter().for_each(|&at| obstacles.remove(&placed(k, at)));
                if let Some((place, cost)) = self.nearest(m, wish, &obstacles, now)
                    && cost < now
                {
                    places[k] = Some(place);
                    nearer = true;
                }
                places[k].iter().for_each(|&at| obstacles.insert(placed(k, at)));
            }
            if !nearer {
                break;
            }
        }
        places
    }

    /// Returns the place of a macro nearest to a wish, if one is nearer than `most`.
    fn nearest(
        &self,
        m: &Macro,
        wish: (f64, f64),
        obstacles: &Obstacles,
        most: f64,
    ) -> Option<((f64, f64), f64)> {
        let allowed = self.cells.rows(&m.cell);
        let rows = self.sites.rows();
        let y = |nth: usize| rows[allowed[nth].row as usize].y;
        let lattice = self.sites.lattices()[rows[allowed[0].row as usize].lattice as usize];
        let above = allowed.partition_point(|row| rows[row.row as usize].y < wish.1);
        let (mut best, mut bound) = (None, most);
        for (nth, dy) in outwards(above, allowed.len(), |nth| (y(nth) - wish.1).abs()) {
            if dy >= bound {
                break;
            }
            let row = allowed[nth];
            let access = m.cell.access;
            let mut runs = self.sites.segments(access, row.row as usize).to_vec();
            let mut before = None;
            for band in row.bands() {
                if before != Some(self.slabs[band]) {
                    runs = shared(&runs, self.sites.free_for(access, band), false);
                    before = Some(self.slabs[band]);
                }
            }
            runs.retain(|run| run.fits(access, m.cell.width));
            let window = (wish.0 - (bound - dy), wish.0 + (bound - dy));
            let blocked = self.blocked(m, y(nth), window, obstacles);
            for Run { start, end, .. } in without(&widened(&runs, m), &blocked) {
                // Here a run is of first sites, its end the last one possible and one more.
                if start >= end {
                    continue;
                }
                let site = lattice.site(wish.0).round();
                let site = site.max(f64::from(start)).min(f64::from(end - 1)) as i32;
                let x = lattice.x(site);
                let cost = dy + (x - wish.0).abs();
                if cost < bound {
                    (best, bound) = (Some(((x, y(nth)), cost)), cost);
                }
            }
        }
        best
    }

    /// Returns the first sites at which a macro on this height would overlap others,
    /// ascending, within a `window` of its left edge.
    fn blocked(
        &self,
        m: &Macro,
        y: f64,
        window: (f64, f64),
        obstacles: &Obstacles,
    ) -> Vec<(i32, i32)> {
        let row = row_of(self.sites, self.cells, &m.cell, 0);
        let lattice = self.sites.lattices()[row.lattice as usize];
        let near = lattice.near;
        let (w, h) = m.size;
        let mut blocked: Vec<(i32, i32)> = Vec::new();
        obstacles.each_near(m, y, window, |Obstacle { rect, room }| {
            let [left, under, right, over] = m.room.beside(room);
            if y - under >= rect.yh - near || y + h + over <= rect.yl + near {
                return;
            }
            let low = rect.xl - w - right;
            let high = rect.xh + left;
            let first = lattice.site(low + near).floor() as i32 + 1;
            let end = lattice.site(high - near).ceil() as i32;
            if first < end {
                blocked.push((first, end));
            }
        });
        blocked.sort_unstable();
        blocked
    }
}

/// Obstacles by slabs of the die, so that those near a place are found soon.
struct Obstacles {
    low: f64,
    height: f64,
    /// Of each slab the obstacles that reach into it, by left edge.
    slabs: Vec<Vec<Obstacle>>,
    /// The longest distance from an obstacle, and the widest obstacle.
    room: f64,
    width: f64,
}

impl Obstacles {
    /// The `fixed` ones, with slabs for `macros` on all rows of `sites`.
    fn new(macros: &[Macro], fixed: &[Obstacle], sites: &Sites) -> Self {
        let rooms = macros.iter().map(|m| &m.room).chain(fixed.iter().map(|o| &o.room));
        let room = rooms.map(Room::most).fold(0.0, f64::max);
        let sizes = macros.iter().map(|m| m.size.0);
        let width = sizes.chain(fixed.iter().map(|o| o.rect.width())).fold(0.0, f64::max);
        let (low, high) =
            sites.rows().iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), row| {
                (low.min(row.y), high.max(row.y))
            });
        let mean = macros.iter().map(|m| m.size.1).sum::<f64>() / macros.len().max(1) as f64;
        let height = mean.max(sites.usual_height()).max((high - low) / 4096.0);
        let count = ((high - low) / height).ceil().max(0.0) as usize + 1;
        let mut obstacles = Obstacles { low, height, slabs: vec![Vec::new(); count], room, width };
        fixed.iter().for_each(|fixed| obstacles.insert(*fixed));
        obstacles
    }

    /// Returns the slabs from `low` to `high`. The first and the last reach beyond all others.
    fn slabs_of(&self, low: f64, high: f64) -> std::ops::RangeInclusive<usize> {
        let of = |y: f64| ((y - self.low) / self.height) as usize;
        let last = self.slabs.len() - 1;
        of(low).min(last)..=of(high).min(last)
    }

    fn insert(&mut self, obstacle: Obstacle) {
        for slab in self.slabs_of(obstacle.rect.yl, obstacle.rect.yh) {
            let at = self.slabs[slab].partition_point(|o| o.rect.xl < obstacle.rect.xl);
            self.slabs[slab].insert(at, obstacle);
        }
    }

    fn remove(&mut self, obstacle: &Obstacle) {
        for slab in self.slabs_of(obstacle.rect.yl, obstacle.rect.yh) {
            let from = self.slabs[slab].partition_point(|o| o.rect.xl < obstacle.rect.xl);
            let same = self.slabs[slab][from..].iter().position(|o| o.rect == obstacle.rect);
            if let Some(at) = same {
                self.slabs[slab].remove(from + at);
            }
        }
    }

    /// Calls `each` with the obstacles that may be in the way of a macro at height `y` with its
    /// left edge within `window`. An obstacle of several slabs comes several times.
    fn each_near(&self, m: &Macro, y: f64, window: (f64, f64), mut each: impl FnMut(&Obstacle)) {
        let (left, right) = (window.0 - self.width - self.room, window.1 + m.size.0 + self.room);
        for slab in self.slabs_of(y - self.room, y + m.size.1 + self.room) {
            let from = self.slabs[slab].partition_point(|o| o.rect.xl < left);
            self.slabs[slab][from..].iter().take_while(|o| o.rect.xl <= right).for_each(&mut each);
        }
    }
}

/// Returns the first sites that a macro may have within each run, as runs of these.
fn widened(runs: &[Run], m: &Macro) -> Vec<Run> {
    let fits = runs.iter().filter(|run| run.end - run.start >= m.cell.width);
    fits.map(|run| Run { end: run.end - m.cell.width + 1, ..*run }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Row;

    /// Macros that all lie at one point before are spread over all rows.
    #[test]
    fn obstacles_are_divided_over_all_rows() {
        let row = Row { height: 10.0, site_width: 1.0, pitch: 1.0, sites: 20, ..Row::default() };
        let rows = (0..50).map(|k| Row { y: 10.0 * f64::from(k), ..row }).collect();
        let sites = Sites::new(&Design { rows, ..Design::default() }).unwrap();
        assert_eq!(Obstacles::new(&[], &[], &sites).slabs.len(), 50);
    }
}
