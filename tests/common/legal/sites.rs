//! The free sites of a design whose rows share one height, pitch and phase.

use super::check::{pitch, uncovered};
use placefield::design::{BlockageKind, Design, NodeKind, Row};
use placefield::grid::Rect;

/// The fence of a site; `Some(None)` for a free site outside of fences, `None` for one that is
/// taken, or cut by the edge of a fence.
pub type Site = Option<Option<u32>>;

/// The sites of every row, upwards.
#[derive(Clone, Debug)]
pub struct FreeSites {
    /// Left edge of site 0, layout units.
    pub x: f64,
    /// From one site to the next, layout units.
    pub pitch: f64,
    /// The bottom edges of rows, layout units, each with one of its parts.
    pub rows: Vec<Row>,
    /// By row, then by site.
    pub sites: Vec<Vec<Site>>,
}

impl FreeSites {
    /// Returns what fixed nodes, their halos, hard blockages and the edges of fences leave free.
    pub fn of(design: &Design) -> FreeSites {
        let pitch = pitch(design);
        let x = design.rows.iter().map(|row| row.x).fold(f64::INFINITY, f64::min);
        let mut rows = design.rows.clone();
        rows.sort_by(|a, b| a.y.total_cmp(&b.y));
        rows.dedup_by(|b, a| a.y == b.y);
        assert!(design.rows.iter().all(|row| row.height == rows[0].height && row.pitch == pitch));
        let end = design.rows.iter().map(|row| row.rect().xh).fold(x, f64::max);
        let count = ((end - x) / pitch).round() as usize;
        let mut free = FreeSites { x, pitch, sites: vec![vec![None; count]; rows.len()], rows };
        for row in &design.rows {
            free.each(&row.rect(), |site| *site = Some(None));
        }
        for (k, fence) in (0u32..).zip(&design.fences) {
            let around = fence.rects.iter().copied().reduce(|a, b| a.union(&b));
            let Some(around) = around else { continue };
            for (row, site) in free.touched(&around) {
                let rect = free.rect(row, site);
                let here = fence.rects.iter().filter(|other| other.overlap(&rect) > 0.0);
                let left = uncovered(&rect, here.clone().copied());
                if here.count() > 0 && free.sites[row][site].is_some() {
                    let inside = left.iter().map(Rect::area).sum::<f64>() < 1e-6 * rect.area();
                    free.sites[row][site] = inside.then_some(Some(k));
                }
            }
        }
        let fixed = |i: &usize| design.nodes.kind[*i] == NodeKind::Fixed;
        let of_nodes = (0..design.nodes.len()).filter(fixed).map(|i| design.rect(i));
        let halos = design.halos.iter().filter(|halo| !halo.soft && fixed(&(halo.node as usize)));
        let around = halos.map(|halo| {
            let node = halo.node as usize;
            halo.around(&design.rect(node), design.placement.orientation[node])
        });
        let hard = design.blockages.iter().filter(|b| b.kind == BlockageKind::Hard);
        for rect in of_nodes.chain(around).chain(hard.map(|b| b.rect)) {
            free.each(&rect, |site| *site = None);
        }
        free
    }

    /// Returns the area of a site.
    fn rect(&self, row: usize, site: usize) -> Rect {
        let Row { y, height, .. } = self.rows[row];
        Rect::at(self.x + self.pitch * site as f64, y, self.pitch, height)
    }

    /// Returns the sites that share area with `rect`.
    fn touched(&self, rect: &Rect) -> Vec<(usize, usize)> {
        let count = self.sites[0].len();
        let near = |row: &Row| 1e-6 * row.height;
        let within =
            |row: &Row| row.y < rect.yh - near(row) && row.y + row.height > rect.yl + near(row);
        let low = ((rect.xl - self.x) / self.pitch + 1e-6).floor().max(0.0) as usize;
        let high = ((rect.xh - self.x) / self.pitch - 1e-6).ceil().max(0.0) as usize;
        let rows = (0..self.rows.len()).filter(|&row| within(&self.rows[row]));
        rows.flat_map(|row| (low..high.min(count)).map(move |site| (row, site))).collect()
    }

    fn each(&mut self, rect: &Rect, mut set: impl FnMut(&mut Site)) {
        for (row, site) in self.touched(rect) {
            set(&mut self.sites[row][site]);
        }
    }

    /// Returns how many sites from `site` on, `most` at most, are free for a cell of this fence in
    /// so many rows from `row` on.
    pub fn run(
        &self,
        (row, height): (usize, usize),
        site: usize,
        fence: Option<u32>,
        most: usize,
    ) -> usize {
        if row + height > self.rows.len() {
            return 0;
        }
        let free = |site: &usize| {
            self.sites[row..row + height].iter().all(|row| row[*site] == Some(fence))
        };
        (site..self.sites[row].len()).take(most).take_while(free).count()
    }

    /// Takes sites.
    pub fn take(&mut self, (row, height): (usize, usize), site: usize, width: usize) {
        for row in &mut self.sites[row..row + height] {
            row[site..site + width].fill(None);
        }
    }
}
