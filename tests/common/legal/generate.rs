//! Designs made from a solution, so that all of their cells are known to fit.

use super::sites::FreeSites;
use placefield::design::{
    Blockage, BlockageKind, Design, Fence, Master, NodeKind, Nodes, Orientation, Placement, Row,
    StandsOn, Symmetry,
};
use placefield::grid::Rect;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64;

/// Most cells of a design, about.
const MOST_CELLS: usize = 3000;

/// A design with a placement to start from, and one that is legal.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The design; its movable cells are where a legalizer is to start.
    pub design: Design,
    /// A legal placement of the same design.
    pub solution: Placement,
    /// What the design is like, for messages.
    pub text: String,
}

/// A cell of the solution, in rows and sites.
struct Cell {
    row: usize,
    site: usize,
    rows: usize,
    sites: usize,
    fence: Option<u32>,
}

/// Returns a whole number of `low..=high`.
fn whole(random: &mut Pcg64, low: usize, high: usize) -> usize {
    random.random_range(low..=high.max(low))
}

fn chance(random: &mut Pcg64, share: f64) -> bool {
    random.random::<f64>() < share
}

fn one_of<T: Copy>(random: &mut Pcg64, all: &[T]) -> T {
    all[whole(random, 0, all.len() - 1)]
}

/// Rows, by number of rows and sites, and their sizes in layout units.
struct Die {
    x: f64,
    y: f64,
    pitch: f64,
    height: f64,
    rows: usize,
    sites: usize,
    /// Whether edges of areas are off the sites.
    ragged: bool,
}

impl Die {
    /// Returns a random area of at most this share of the die along each axis. The sites are the
    /// same, whether its edges are off them or not: with `grow` they lie beyond, else within.
    fn area(&self, random: &mut Pcg64, share: f64, grow: bool) -> Rect {
        let most = |count: usize| ((count as f64 * share) as usize).max(1);
        let (w, h) = (whole(random, 1, most(self.sites)), whole(random, 1, most(self.rows)));
        let (site, row) = (whole(random, 0, self.sites - w), whole(random, 0, self.rows - h));
        let mut off = || match self.ragged {
            true => 0.4 * random.random::<f64>() * if grow { -1.0 } else { 1.0 },
            false => 0.0,
        };
        let [left, right, bottom, top] = [off(), off(), off(), off()];
        Rect {
            xl: self.x + self.pitch * (site as f64 + left),
            xh: self.x + self.pitch * ((site + w) as f64 - right),
            yl: self.y + self.height * (row as f64 + bottom),
            yh: self.y + self.height * ((row + h) as f64 - top),
        }
    }

    /// Returns rows that alternate, some in parts with sites missing between, in random order.
    fn statements(&self, random: &mut Pcg64) -> Vec<Row> {
        let first = usize::from(chance(random, 0.5));
        let broken = if chance(random, 0.3) { 0.4 } else { 0.0 };
        // Rows above have sites of another kind.
        let other = if chance(random, 0.2) { self.rows / 2 } else { self.rows };
        let mut rows = Vec::new();
        for k in 0..self.rows {
            let mut parts = vec![(0, self.sites)];
            if chance(random, broken) && self.sites > 12 {
                let end = whole(random, 1, self.sites - 8);
                let gap = whole(random, 0, 5);
                parts = vec![(0, end), (end + gap, self.sites)];
            }
            for (start, end) in parts {
                rows.push(Row {
                    x: self.x + self.pitch * start as f64,
                    y: self.y + self.height * k as f64,
                    height: self.height,
                    site_width: self.pitch,
                    pitch: self.pitch,
                    sites: (end - start) as u64,
                    orientation: [Orientation::N, Orientation::FS][(k + first) % 2],
                    site: Some(u32::from(k >= other)),
                    ..Row::default()
                });
            }
        }
        rows.shuffle(random);
        rows
    }
}

impl Generated {
    /// Returns the design of a seed.
    pub fn new(seed: u64) -> Generated {
        let random = &mut Pcg64::seed_from_u64(seed);
        let most_rows = one_of(random, &[6, 15, 60]);
        let rows = whole(random, 3, most_rows);
        let widest = one_of(random, &[3, 8, 15, 40]);
        let most_sites = (MOST_CELLS * (2 + widest) / 3 / rows).clamp(20, 300);
        let sites = whole(random, 20.max(most_sites / 8), most_sites);
        let die = Die {
            x: one_of(random, &[0.0, -380.0, 1234.0]),
            y: one_of(random, &[0.0, -2700.0, 560.0]),
            pitch: one_of(random, &[0.5, 1.0, 2.0, 190.0]),
            height: one_of(random, &[9.0, 12.0, 1400.0]),
            rows,
            sites,
            ragged: chance(random, 0.5),
        };
        let mut design = Design { rows: die.statements(random), ..Design::default() };
        let fixed = if chance(random, 0.6) { whole(random, 1, 4) } else { 0 };
        for _ in 0..fixed {
            let rect = die.area(random, 0.25, false);
            add_node(&mut design, &rect, NodeKind::Fixed, None, None);
        }
        let blocked = if chance(random, 0.5) { whole(random, 1, 3) } else { 0 };
        for _ in 0..blocked {
            let rect = die.area(random, 0.2, false);
            design.blockages.push(Blockage { rect, kind: BlockageKind::Hard });
        }
        if chance(random, 0.5) {
            let rect = die.area(random, 0.6, true);
            let mut rects = vec![rect];
            if chance(random, 0.6) {
                // The second one begins beside the first, above it, or reaches into it.
                let right = die.pitch * whole(random, 0, 4) as f64 - 2.0 * die.pitch;
                let up = die.height * whole(random, 0, 2) as f64 - die.height;
                let (dx, dy) = match chance(random, 0.5) {
                    true => (rect.width() + right.min(0.0), up),
                    false => (right, rect.height() + up.min(0.0)),
                };
                rects.push(Rect::at(rect.xl + dx, rect.yl + dy, rect.width(), rect.height()));
            }
            design.fences.push(Fence { name: "fence".to_owned(), rects });
        }
        let free = FreeSites::of(&design);
        let high = one_of(random, &[0.0, 0.1, 0.3, 0.6]);
        let full = 0.30 + 0.67 * random.random::<f64>();
        let cells = solution(random, &free, widest, high, full);
        let count = cells.len();
        add_cells(random, &mut design, &free, &cells, die.ragged);
        let solution = design.placement.clone();
        let start = start(random, &die, &mut design);
        let text = format!(
            "{rows} rows of {sites} sites, {count} cells, {high} of several rows, {full:.2} full, \
             {fixed} fixed, {blocked} blockages, {} fence areas, start: {start}",
            design.fences.iter().map(|fence| fence.rects.len()).sum::<usize>(),
        );
        Generated { design, solution, text }
    }
}

/// Fills the free sites, and takes cells out until `full` of the sites are taken.
fn solution(
    random: &mut Pcg64,
    free: &FreeSites,
    widest: usize,
    high: f64,
    full: f64,
) -> Vec<Cell> {
    let mut left = free.clone();
    let mut cells = Vec::new();
    for row in 0..free.rows.len() {
        let mut site = 0;
        while site < free.sites[row].len() {
            let Some(fence) = left.sites[row][site] else {
                site += 1;
                continue;
            };
            let share = random.random::<f64>();
            let wanted = 1 + ((widest - 1) as f64 * share * share).round() as usize;
            let tall = if chance(random, high) { whole(random, 2, 4) } else { 1 };
            let run = |rows| left.run((row, rows), site, fence, wanted);
            let rows = if run(tall) * 2 > wanted { tall } else { 1 };
            let sites = run(rows);
            left.take((row, rows), site, sites);
            cells.push(Cell { row, site, rows, sites, fence });
            site += sites;
        }
    }
    let area = |cell: &Cell| cell.rows * cell.sites;
    let most = full * cells.iter().map(area).sum::<usize>() as f64;
    cells.shuffle(random);
    let mut taken = 0;
    cells.retain(|cell| {
        let fits = (taken + area(cell)) as f64 <= most;
        taken += if fits { area(cell) } else { 0 };
        fits
    });
    cells
}

fn add_node(
    design: &mut Design,
    rect: &Rect,
    kind: NodeKind,
    master: Option<u32>,
    fence: Option<u32>,
) {
    let Nodes { width, height, kind: kinds, master: masters, fence: fences, .. } =
        &mut design.nodes;
    width.push(rect.width());
    height.push(rect.height());
    kinds.push(kind);
    masters.push(master);
    fences.push(fence);
    design.placement.x.push(rect.xl);
    design.placement.y.push(rect.yl);
    design.placement.orientation.push(Orientation::N);
}

/// Adds the cells of a solution with library cells that allow it.
fn add_cells(
    random: &mut Pcg64,
    design: &mut Design,
    free: &FreeSites,
    cells: &[Cell],
    ragged: bool,
) {
    let library = chance(random, 0.8);
    for cell in cells {
        let row = &free.rows[cell.row];
        let upside_down = row.orientation == Orientation::FS;
        let even = cell.rows % 2 == 0;
        let symmetry = Symmetry {
            // Some can not be turned upside down, and stand where they need not be.
            x: even || upside_down || chance(random, 0.9),
            y: chance(random, 0.9),
            r90: false,
        };
        let stands_on = match (even && chance(random, 0.8), upside_down) {
            (false, _) => StandsOn::Any,
            (true, false) => StandsOn::Upright,
            (true, true) => StandsOn::UpsideDown,
        };
        let site = row.site.filter(|_| chance(random, 0.9));
        let master = Master { name: String::new(), symmetry, stands_on, site };
        let known = design.masters.iter().position(|other| *other == master);
        let index = known.unwrap_or(design.masters.len());
        if known.is_none() && library {
            design.masters.push(master);
        }
        let x = free.x + free.pitch * cell.site as f64;
        // A cell takes whole sites, also where it is narrower.
        let less = if ragged && chance(random, 0.3) { 0.8 * random.random::<f64>() } else { 0.0 };
        let width = free.pitch * (cell.sites as f64 - less);
        let rect = Rect::at(x, row.y, width, row.height * cell.rows as f64);
        let of = library.then_some(index as u32);
        add_node(design, &rect, NodeKind::Movable, of, cell.fence);
        if let (false, Some(last)) = (even, design.placement.orientation.last_mut()) {
            *last = row.orientation;
        }
    }
}

/// Moves the cells to where a legalizer is to start. Returns the way in words.
fn start(random: &mut Pcg64, die: &Die, design: &mut Design) -> String {
    let (w, h) = (die.pitch * die.sites as f64, die.height * die.rows as f64);
    let way = whole(random, 0, 6);
    let noise = [0.0, 0.3, 2.0, 10.0].get(way).map(|rows| rows * die.height);
    let point = (die.x + w * random.random::<f64>(), die.y + h * random.random::<f64>());
    let corner = [chance(random, 0.5), chance(random, 0.5)];
    let movable: Vec<usize> = design.movable().collect();
    let unturned = way > 0 && chance(random, 0.5);
    for i in movable {
        let at = &mut design.placement;
        let (x, y) = match (noise, way) {
            (Some(noise), _) => {
                let mut step = || noise * random.sample::<f64, _>(StandardNormal);
                (at.x[i] + step(), at.y[i] + step())
            }
            (None, 4) => point,
            (None, 5) => (die.x + w * random.random::<f64>(), die.y + h * random.random::<f64>()),
            _ => {
                let mut near = |far: bool, span: f64| {
                    let share = random.random::<f64>().powi(4);
                    span * if far { 1.0 - share } else { share }
                };
                (die.x + near(corner[0], w), die.y + near(corner[1], h))
            }
        };
        (at.x[i], at.y[i]) = (x, y);
        if unturned {
            at.orientation[i] = Orientation::N;
        }
    }
    let names = ["solution", "0.3 rows off", "2 rows off", "10 rows off", "point", "random"];
    (*names.get(way).unwrap_or(&"corner")).to_owned()
}

/// Returns so many cells of one row and 4 to 12 sites at one point, on rows that they fill to 70 %.
pub fn heap(cells: usize) -> Design {
    let random = &mut Pcg64::seed_from_u64(cells as u64);
    let sizes: Vec<(usize, usize)> = (0..cells).map(|_| (whole(random, 4, 12), 1)).collect();
    large(&sizes, 0.7, |w, h| (w / 2.0, h / 2.0))
}

/// Returns so many macros of 7 to 12 rows anywhere, on rows that they fill to 50 %.
pub fn macros(count: usize) -> Design {
    let random = &mut Pcg64::seed_from_u64(count as u64);
    let mut sizes = Vec::new();
    for _ in 0..count {
        sizes.push((whole(random, 40, 120), whole(random, 7, 12)));
    }
    large(&sizes, 0.5, |w, h| (w * random.random::<f64>(), h * random.random::<f64>()))
}

/// Returns cells of these sites and rows on a square die, each with its corner at a place that
/// `at` chooses of the die's width and height.
fn large(
    sizes: &[(usize, usize)],
    full: f64,
    mut at: impl FnMut(f64, f64) -> (f64, f64),
) -> Design {
    const SITES_TO_A_ROW: f64 = 8.0;
    let area: usize = sizes.iter().map(|(sites, rows)| sites * rows).sum();
    let rows = (area as f64 / full / SITES_TO_A_ROW).sqrt().ceil();
    let sites = (area as f64 / full / rows).ceil();
    let row = |k: u32| Row {
        y: SITES_TO_A_ROW * f64::from(k),
        height: SITES_TO_A_ROW,
        site_width: 1.0,
        pitch: 1.0,
        sites: sites as u64,
        orientation: [Orientation::N, Orientation::FS][k as usize % 2],
        ..Row::default()
    };
    let mut design = Design { rows: (0..rows as u32).map(row).collect(), ..Design::default() };
    for &(w, h) in sizes {
        let (x, y) = at(sites, SITES_TO_A_ROW * rows);
        let rect = Rect::at(x, y, w as f64, SITES_TO_A_ROW * h as f64);
        add_node(&mut design, &rect, NodeKind::Movable, None, None);
    }
    design
}
