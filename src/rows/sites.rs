//! The free sites of a design.

use super::RowsError;
use super::cells::edge_padding;
use crate::charge::fixed::clip;
use crate::design::{BlockageKind, Design, NodeKind, Orientation, Placement, Row, Symmetry};
use crate::grid::Rect;
use crate::lists::Lists;
use crate::parallel;
use std::ops::Range;

/// Lengths below this share of the shortest length of a row count as 0: files hold decimal numbers.
pub(crate) const TOLERANCE: f64 = 1e-3;
/// Most sites along one axis, so that sums of them fit into 32 bits.
pub(super) const MOST_SITES: f64 = (1 << 29) as f64;

/// Sites of one pitch and phase: the one with number k begins at `origin + k · pitch`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lattice {
    /// Left edge of site 0, layout units.
    pub origin: f64,
    /// From one site's left edge to the next one's.
    pub pitch: f64,
    /// By how much a site is narrower than its pitch: a cell keeps as much free at its right.
    gap: f64,
    /// Lengths up to this one count as 0, layout units. A row of one site has no pitch, and a
    /// pitch may be much longer than the height of a row.
    pub(crate) near: f64,
}

impl Lattice {
    /// Returns the left edge of a site, layout units.
    pub fn x(&self, site: i32) -> f64 {
        self.origin + f64::from(site) * self.pitch
    }

    /// Returns the number of sites, not whole, from site 0 to `x`: at most 2^30, beyond every row.
    pub fn site(&self, x: f64) -> f64 {
        limited((x - self.origin) / self.pitch)
    }

    /// Returns the sites that `[low, high]` touches.
    fn touched(&self, low: f64, high: f64) -> (i32, i32) {
        (floor(self.site(low + self.near)), ceil(self.site(high - self.near)))
    }

    /// Returns the sites that lie within `[low, high]`.
    fn within(&self, low: f64, high: f64) -> (i32, i32) {
        (ceil(self.site(low - self.near)), floor(self.site(high + self.near)))
    }

    /// Returns the sites that a width takes.
    pub(super) fn width(&self, width: f64) -> Option<i32> {
        let sites = ((width + self.gap - self.near) / self.pitch).ceil().max(1.0);
        (sites < MOST_SITES).then_some(sites as i32)
    }
}

/// Limits a number of sites: no row reaches as far, and the limit plus the width of a cell fits
/// into 32 bits.
pub(crate) fn limited(sites: f64) -> f64 {
    sites.clamp(-2.0 * MOST_SITES, 2.0 * MOST_SITES)
}

fn floor(v: f64) -> i32 {
    v.floor() as i32
}

fn ceil(v: f64) -> i32 {
    v.ceil() as i32
}

/// Subrows that differ in x alone.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteRow {
    /// Bottom edge.
    pub y: f64,
    /// Row height.
    pub height: f64,
    /// How the sites lie.
    pub orientation: Orientation,
    /// How else a cell may lie on them.
    pub symmetry: Symmetry,
    /// The kind of the sites.
    pub site: Option<u32>,
    /// The lattice of its sites, by its index.
    pub lattice: u32,
    /// The first of its bands.
    first_band: u32,
    /// One more than the last.
    end_band: u32,
}

impl SiteRow {
    /// Returns the bands that it is made of.
    pub fn bands(&self) -> Range<usize> {
        self.first_band as usize..self.end_band as usize
    }
}

/// A strip of a lattice that no edge of a row divides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// Bottom edge.
    pub yl: f64,
    /// Top edge.
    pub yh: f64,
    /// Its lattice, by its index.
    pub lattice: u32,
}

/// Where a cell may lie: within its fence, and off soft blockages or not ([`Sites::access`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Access {
    /// The fence that it must lie in, if any.
    pub fence: Option<u32>,
    /// The [`View`] of the sites.
    view: u8,
}

impl Access {
    /// That of a cell without a fence that may use soft blockages.
    pub const ALL: Access = Access { fence: None, view: 0 };

    /// Returns the number of the view of the sites, below [`Sites::views`].
    pub(crate) fn view(&self) -> usize {
        self.view as usize
    }
}

/// Neighbouring sites that are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first site.
    pub start: i32,
    /// One more than the last.
    pub end: i32,
    /// The fence that they are within, if any.
    pub fence: Option<u32>,
}

impl Run {
    /// Returns the number of sites.
    pub fn sites(&self) -> i32 {
        self.end - self.start
    }

    /// Returns whether a cell with this access and so many sites may lie here.
    #[inline]
    pub(crate) fn fits(&self, access: Access, sites: i32) -> bool {
        self.sites() >= sites && self.fence == access.fence
    }
}

/// The free runs of all bands and of all rows as some cells may use them. Cells differ in that they
/// have to stay in a region that admits others, or keep off soft blockages.
#[derive(Clone, Debug)]
struct View {
    free: Lists<Run>,
    segments: Lists<Run>,
}

/// The free sites of a design.
#[derive(Clone, Debug)]
pub struct Sites {
    lattices: Vec<Lattice>,
    rows: Vec<SiteRow>,
    bands: Vec<Band>,
    /// The first one is that of cells that use all free sites.
    views: Vec<View>,
    /// The view of cells that have to stay in a region that admits others, or need not, each
    /// without and with soft blockages.
    view_of: [[u8; 2]; 2],
    /// By fence, whether it admits others.
    open: Vec<bool>,
    overlapping: bool,
    /// The height that most rows have.
    pub(super) usual: f64,
}

impl Sites {
    /// The free sites of `design`.
    ///
    /// # Errors
    /// When the design's columns do not fit together, it has no rows with sites, a number is not
    /// finite, or there are more sites along an axis than 2²⁹.
    pub fn new(design: &Design) -> Result<Self, RowsError> {
        design.check()?;
        check_numbers(design)?;
        Self::beside(design, &|_| false, &design.placement)
    }

    /// The sites that are free where more nodes are fixed than the design has, placed like this.
    pub(crate) fn beside(
        design: &Design,
        placed: &(dyn Fn(usize) -> bool + Sync),
        placement: &Placement,
    ) -> Result<Self, RowsError> {
        let (lattices, rows, covered) = rows_of(&design.rows)?;
        let mut sites = Sites {
            lattices,
            rows,
            bands: Vec::new(),
            views: Vec::new(),
            view_of: [[0; 2]; 2],
            open: design.fences.iter().map(|fence| fence.admits_others).collect(),
            overlapping: false,
            usual: design.row_height().ok_or(RowsError::NoRows)?,
        };
        sites.divide();
        let on_rows = sites.on_rows(&covered);
        let taken = sites.taken(design, placed, placement);
        let soft = sites.soft(design);
        let any_soft = soft.iter().any(|soft| !soft.is_empty());
        for members in 0..=usize::from(sites.open.contains(&true)) {
            let fenced = sites.fenced(design, members == 1);
            for keeps_off in 0..=usize::from(any_soft) {
                let mut view = View { free: Lists::new(), segments: Lists::new() };
                for (band, runs) in on_rows.iter().enumerate() {
                    let runs = with_fences(&without(&unfenced(runs), &taken[band]), &fenced[band]);
                    let soft = if keeps_off == 1 { &soft[band][..] } else { &[] };
                    view.free.values.extend(without(&runs, soft));
                    view.free.end();
                }
                for (row, covered) in covered.iter().enumerate() {
                    let bands = sites.rows[row].bands();
                    let mut runs = unfenced(covered);
                    for (nth, band) in bands.enumerate() {
                        runs = shared(&runs, view.free.get(band), nth == 0);
                    }
                    view.segments.values.extend(runs);
                    view.segments.end();
                }
                sites.view_of[members][keeps_off] = sites.views.len() as u8;
                sites.views.push(view);
            }
        }
        for view_of in &mut sites.view_of {
            view_of[1] = if any_soft { view_of[1] } else { view_of[0] };
        }
        Ok(sites)
    }

    /// Returns the access of a cell that belongs to a fence, or to none. It keeps off soft
    /// blockages unless it may use them.
    ///
    /// # Panics
    /// Where there is no such fence.
    pub fn access(&self, fence: Option<u32>, may_use_soft: bool) -> Access {
        let open = fence.is_some_and(|fence| self.open[fence as usize]);
        Access { fence, view: self.view_of[usize::from(open)][usize::from(!may_use_soft)] }
    }

    /// Returns the lattices, in order of pitch and phase.
    pub fn lattices(&self) -> &[Lattice] {
        &self.lattices
    }

    /// Returns the rows, by lattice and then upwards.
    pub fn rows(&self) -> &[SiteRow] {
        &self.rows
    }

    /// Returns the bands, by lattice and then upwards.
    pub fn bands(&self) -> &[Band] {
        &self.bands
    }

    /// Returns the number of different views that cells have of the free sites.
    pub(crate) fn views(&self) -> usize {
        self.views.len()
    }

    /// Returns the free runs of bands, and of rows, as cells of a view may use them.
    #[cfg(feature = "cuda")]
    pub(crate) fn view(&self, view: usize) -> [&Lists<Run>; 2] {
        [&self.views[view].free, &self.views[view].segments]
    }

    /// Returns the free runs of a band, ascending; adjacent runs have different fences. They
    /// include soft blockages, and regions that admit other cells.
    ///
    /// # Panics
    /// Where there is no such band.
    pub fn free(&self, band: usize) -> &[Run] {
        self.views[0].free.get(band)
    }

    /// Returns the free runs of a band that a cell with this access may use. The cell may lie in
    /// the runs of its own fence.
    ///
    /// # Panics
    /// Where there is no such band.
    pub fn free_for(&self, access: Access, band: usize) -> &[Run] {
        self.views[access.view()].free.get(band)
    }

    /// Returns the runs of a row that are free in all of its bands and that a cell with this
    /// access may use, ascending. The cell may lie in the runs of its own fence.
    ///
    /// # Panics
    /// Where there is no such row.
    #[inline]
    pub fn segments(&self, access: Access, row: usize) -> &[Run] {
        self.views[access.view()].segments.get(row)
    }

    /// Whether some rows of one lattice share bands, so that cells of one row's height can be in
    /// the way of those of another row.
    pub fn rows_overlap(&self) -> bool {
        self.overlapping
    }

    /// Returns the height that most rows have.
    pub fn usual_height(&self) -> f64 {
        self.usual
    }

    /// Returns the left edge of a site of a row, layout units.
    ///
    /// # Panics
    /// Where there is no such row.
    pub fn x(&self, row: usize, site: i32) -> f64 {
        self.lattices[self.rows[row].lattice as usize].x(site)
    }

    /// Returns the bands from the bottom of `row` that a cell of this height reaches into; none
    /// where the rows end below its top.
    pub(super) fn bands_below(&self, row: &SiteRow, height: f64) -> Option<Range<u32>> {
        let near = self.lattices[row.lattice as usize].near;
        let top = row.y + height - near;
        let mut end = row.first_band;
        loop {
            end += 1;
            let below = self.bands[end as usize - 1];
            if below.yh >= top {
                return Some(row.first_band..end);
            }
            let above = self.bands.get(end as usize)?;
            if above.lattice != row.lattice || above.yl - below.yh > near {
                return None;
            }
        }
    }

    /// Makes the bands, and says which each row has.
    fn divide(&mut self) {
        let of_lattice: Vec<Range<usize>> = chunks(&self.rows, |row| row.lattice);
        for range in of_lattice {
            let lattice = self.rows[range.start].lattice;
            let near = self.lattices[lattice as usize].near;
            let rows = &mut self.rows[range];
            let mut edges: Vec<f64> = rows.iter().flat_map(|r| [r.y, r.y + r.height]).collect();
            edges.sort_by(f64::total_cmp);
            edges.dedup_by(|b, a| *b - *a <= near);
            let nearest = |y: f64| edges.partition_point(|edge| *edge < y - near);
            // Rows are sorted upwards: a band belongs to some row if one reaches over it.
            let mut held = vec![0i32; edges.len()];
            for row in rows.iter() {
                held[nearest(row.y)] += 1;
                held[nearest(row.y + row.height)] -= 1;
            }
            let (mut index, mut depth) = (vec![0u32; edges.len()], 0);
            for (k, edge) in edges.iter().enumerate() {
                depth += held[k];
                index[k] = self.bands.len() as u32;
                if depth > 0 && k + 1 < edges.len() {
                    self.bands.push(Band { yl: *edge, yh: edges[k + 1], lattice });
                    self.overlapping |= depth > 1;
                }
            }
            for row in rows.iter_mut() {
                row.first_band = index[nearest(row.y)];
                row.end_band = index[nearest(row.y + row.height)];
            }
        }
    }

    /// Returns, by band, the sites that rows cover.
    fn on_rows(&self, covered: &[Vec<(i32, i32)>]) -> Vec<Vec<(i32, i32)>> {
        let mut on_rows: Vec<Vec<(i32, i32)>> = vec![Vec::new(); self.bands.len()];
        for (row, covered) in self.rows.iter().zip(covered) {
            row.bands().for_each(|band| on_rows[band].extend(covered));
        }
        on_rows.iter_mut().for_each(merge);
        on_rows
    }

    /// The bands that `rect` reaches into, of every lattice.
    fn bands_of(&self, rect: &Rect, touched: &mut impl FnMut(usize, &Lattice)) {
        for range in chunks(&self.bands, |band| band.lattice) {
            let lattice = &self.lattices[self.bands[range.start].lattice as usize];
            let near = lattice.near;
            let bands = &self.bands[range.clone()];
            let first = bands.partition_point(|band| band.yh <= rect.yl + near);
            for (k, _) in
                bands.iter().enumerate().skip(first).take_while(|(_, b)| b.yl < rect.yh - near)
            {
                touched(range.start + k, lattice);
            }
        }
    }

    /// By band, the sites that fixed nodes, their halos and hard blockages reach into.
    fn taken(
        &self,
        design: &Design,
        placed: &(dyn Fn(usize) -> bool + Sync),
        placement: &Placement,
    ) -> Vec<Vec<(i32, i32)>> {
        let mut taken: Vec<Vec<(i32, i32)>> = vec![Vec::new(); self.bands.len()];
        let mut take = |rect: &Rect| {
            self.bands_of(rect, &mut |band, lattice| {
                taken[band].push(lattice.touched(rect.xl, rect.xh));
            });
        };
        let is_fixed = |i: usize| design.nodes.kind[i] == NodeKind::Fixed || placed(i);
        let fixed = parallel::filter(design.nodes.len(), is_fixed);
        let rect_of = |i: usize| {
            let (w, h) = design.nodes.size(i, placement.orientation[i]);
            Rect::at(placement.x[i], placement.y[i], w, h)
        };
        for &i in &fixed {
            let rect = rect_of(i);
            let edges = edge_padding(design, i);
            let mut take =
                |part: Rect| take(&Rect { xl: part.xl - edges, xh: part.xh + edges, ..part });
            if rect.width() > 0.0 && rect.height() > 0.0 {
                match placed(i) {
                    true => take(rect),
                    false => design.solid_rects(i).for_each(take),
                }
            }
        }
        let hard = design.halos.iter().filter(|halo| !halo.soft);
        for halo in hard.filter(|halo| is_fixed(halo.node as usize)) {
            let node = halo.node as usize;
            take(&halo.around(&rect_of(node), placement.orientation[node]));
        }
        for blockage in design.blockages.iter().filter(|b| b.kind == BlockageKind::Hard) {
            take(&blockage.rect);
        }
        for (rect, share) in partial_blockages(design) {
            let fixed: f64 = fixed.iter().map(|&i| rect.overlap(&rect_of(i))).sum();
            for closed in self.closed(design, &rect, (share - fixed / rect.area()).max(0.0)) {
                take(&closed);
            }
        }
        taken.iter_mut().for_each(merge);
        taken
    }

    /// Returns the parts of a partial blockage that stay free of cells, so that cells fill at most
    /// `share` of it: vertical stripes. The strips between them are as wide as the widest cell.
    fn closed(&self, design: &Design, rect: &Rect, share: f64) -> impl Iterator<Item = Rect> {
        const STRIPE_ROWS: f64 = 8.0;
        let cells = design.movable().filter(|&i| !design.is_macro(i, self.usual));
        let widest = cells.map(|i| design.nodes.width[i]).fold(0.0, f64::max);
        let apart = (STRIPE_ROWS * self.usual).max(1.01 * widest / share.max(1e-3));
        let count = (rect.width() / apart).floor().clamp(1.0, MOST_SITES);
        let (period, from) = (rect.width() / count, rect.xl);
        let closed = 0.5 * (1.0 - share) * period;
        (0..=count as usize).map(move |k| {
            let middle = from + k as f64 * period;
            Rect {
                xl: (middle - closed).max(from),
                xh: (middle + closed).min(from + count * period),
                ..*rect
            }
        })
    }

    /// Returns, by band, the sites that soft blockages reach into.
    fn soft(&self, design: &Design) -> Vec<Vec<(i32, i32)>> {
        let mut soft: Vec<Vec<(i32, i32)>> = vec![Vec::new(); self.bands.len()];
        for blockage in design.blockages.iter().filter(|b| b.kind == BlockageKind::Soft) {
            let rect = &blockage.rect;
            self.bands_of(rect, &mut |band, lattice| {
                soft[band].push(lattice.touched(rect.xl, rect.xh));
            });
        }
        soft.iter_mut().for_each(merge);
        soft
    }

    /// Returns, by band, the sites of fences: those that one holds, and those that its edges cut.
    /// The rectangles of a fence are one area. Regions that admit others count only for `members`.
    fn fenced(&self, design: &Design, members: bool) -> Vec<Fenced> {
        let mut fenced: Vec<Fenced> = vec![Fenced::default(); self.bands.len()];
        let fences = (0u32..).zip(&design.fences).filter(|(_, f)| members || !f.admits_others);
        for (fence, of_fence) in fences {
            let mut parts: Vec<(usize, Rect)> = Vec::new();
            for rect in &of_fence.rects {
                self.bands_of(rect, &mut |band, lattice| {
                    fenced[band].touched.push(lattice.touched(rect.xl, rect.xh));
                    parts.push((band, *rect));
                });
            }
            parts.sort_by_key(|(band, _)| *band);
            for of_band in parts.chunk_by(|a, b| a.0 == b.0) {
                let (band, rects) = (of_band[0].0, of_band.iter().map(|(_, rect)| *rect));
                let Band { yl, yh, lattice } = self.bands[band];
                let lattice = self.lattices[lattice as usize];
                for (low, high) in covered(rects.collect(), (yl, yh), lattice.near) {
                    let (start, end) = lattice.within(low, high);
                    if start < end {
                        fenced[band].within.push((fence, start, end));
                    }
                }
            }
        }
        for Fenced { touched, within } in &mut fenced {
            merge(touched);
            within.sort_unstable();
        }
        fenced
    }
}

/// Returns the intervals of x in which `rects` together cover all of `[yl, yh]`, ascending and
/// apart. Lengths up to `near` count as 0.
fn covered(rects: Vec<Rect>, (yl, yh): (f64, f64), near: f64) -> Vec<(f64, f64)> {
    let mut edges: Vec<f64> = rects.iter().flat_map(|r| [r.xl, r.xh]).collect();
    edges.sort_by(f64::total_cmp);
    let mut covered: Vec<(f64, f64)> = Vec::new();
    for (low, high) in edges.windows(2).map(|edges| (edges[0], edges[1])) {
        let over = |rect: &&Rect| rect.xl <= low && rect.xh >= high;
        let mut spans: Vec<(f64, f64)> = rects.iter().filter(over).map(|r| (r.yl, r.yh)).collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let reach =
            spans.iter().fold(
                yl,
                |reach, &(low, high)| {
                    if low <= reach + near { reach.max(high) } else { reach }
                },
            );
        if reach < yh - near {
            continue;
        }
        match covered.last_mut() {
            Some(before) if low <= before.1 + near => before.1 = high,
            _ => covered.push((low, high)),
        }
    }
    covered
}

/// Returns the parts of partial blockages on the die, each with the share that cells may fill.
fn partial_blockages(design: &Design) -> impl Iterator<Item = (Rect, f64)> {
    let die = design.die();
    design.blockages.iter().filter_map(move |blockage| match blockage.kind {
        BlockageKind::Partial(share) => Some((clip(&blockage.rect, &die?)?, share)),
        _ => None,
    })
}

/// The fences of a band.
#[derive(Clone, Default)]
struct Fenced {
    touched: Vec<(i32, i32)>,
    /// By fence, then ascending.
    within: Vec<(u32, i32, i32)>,
}

/// Returns the ranges of neighbours with the same key.
fn chunks<T>(of: &[T], key: impl Fn(&T) -> u32) -> Vec<Range<usize>> {
    let mut start = 0;
    let chunks = of.chunk_by(|a, b| key(a) == key(b));
    chunks
        .map(|chunk| {
            start += chunk.len();
            start - chunk.len()..start
        })
        .collect()
}

fn check_numbers(design: &Design) -> Result<(), RowsError> {
    let bad = |what, index, value| Err(RowsError::BadNumber { what, index, value });
    if let Some((what, index, value)) = design.bad_number_of_node() {
        return bad(what, index, value);
    }
    for (index, row) in design.rows.iter().enumerate().filter(|(_, row)| row.sites > 0) {
        let sizes = [row.height, row.site_width, row.pitch];
        let wrong = sizes.into_iter().find(|v| !(v.is_finite() && *v > 0.0));
        let wrong = wrong.or([row.x, row.y].into_iter().find(|v| !v.is_finite()));
        if let Some(value) = wrong {
            return bad("row", index, value);
        }
        let farthest = row.x.abs().max(row.y.abs());
        if farthest * f64::EPSILON > tolerance(row) {
            return Err(RowsError::TooFar { index, x: row.x, y: row.y });
        }
    }
    let of_halos = design.halos.iter().map(|h| [h.left, h.bottom, h.right, h.top]);
    for (index, sides) in of_halos.enumerate() {
        if let Some(&value) = sides.iter().find(|v| !(v.is_finite() && **v >= 0.0)) {
            return bad("halo", index, value);
        }
    }
    let fences = design.fences.iter().enumerate();
    let fences = fences.flat_map(|(k, f)| f.rects.iter().map(move |r| ("fence", k, r)));
    let blockages = design.blockages.iter().enumerate().map(|(k, b)| ("blockage", k, &b.rect));
    for (what, index, rect) in fences.chain(blockages) {
        let edges = [rect.xl, rect.yl, rect.xh, rect.yh];
        if let Some(value) = edges.into_iter().find(|v| !v.is_finite()) {
            return bad(what, index, value);
        }
    }
    Ok(())
}

/// Returns the distance from a site of a row to the next site. In a row of one site it is the width
/// of the site.
fn pitch(row: &Row) -> f64 {
    if row.sites == 1 { row.site_width } else { row.pitch }
}

/// Returns the shortest length of a row, layout units: tolerances are shares of it.
pub(crate) fn shortest(row: &Row) -> f64 {
    pitch(row).min(row.site_width).min(row.height)
}

/// Returns the length of a row that counts as 0, layout units.
fn tolerance(row: &Row) -> f64 {
    TOLERANCE * shortest(row)
}

type Covered = Vec<Vec<(i32, i32)>>;

/// Lattices and rows, and the sites that each row has.
fn rows_of(rows: &[Row]) -> Result<(Vec<Lattice>, Vec<SiteRow>, Covered), RowsError> {
    // By pitch and phase; phases are compared around the circle of a pitch.
    let pitched = |row: &Row| Row { pitch: pitch(row), ..*row };
    let phase = |row: &Row| {
        let phase = row.x.rem_euclid(row.pitch);
        if phase >= row.pitch - tolerance(row) { phase - row.pitch } else { phase }
    };
    let rows = rows.iter().filter(|row| row.sites > 0).map(pitched);
    let mut sorted: Vec<(f64, Row)> = rows.map(|row| (phase(&row), row)).collect();
    if sorted.is_empty() {
        return Err(RowsError::NoRows);
    }
    sorted.sort_by(|(p, a), (q, b)| a.pitch.total_cmp(&b.pitch).then(p.total_cmp(q)));
    let same = |(p, a): &(f64, Row), (q, b): &(f64, Row)| {
        b.pitch - a.pitch <= 1e-9 * a.pitch && (q - p).abs() <= tolerance(a)
    };
    let (mut lattices, mut keyed) = (Vec::new(), Vec::new());
    for of_lattice in sorted.chunk_by(same) {
        let lattice = lattices.len() as u32;
        let first = of_lattice.iter().map(|(_, row)| row.x).fold(f64::INFINITY, f64::min);
        let pitch = of_lattice[0].1.pitch;
        let narrowest =
            of_lattice.iter().map(|(_, row)| row.site_width).fold(f64::INFINITY, f64::min);
        let gap = (pitch - narrowest).max(0.0);
        let near = of_lattice.iter().map(|(_, row)| tolerance(row)).fold(f64::INFINITY, f64::min);
        lattices.push(Lattice { origin: first, pitch, gap, near });
        for (_, row) in of_lattice {
            let start = ((row.x - first) / pitch).round();
            if !(start < MOST_SITES && (row.sites as f64) < MOST_SITES) {
                return Err(RowsError::TooManySites);
            }
            let start = start as i32;
            keyed.push((lattice, *row, (start, start + row.sites as i32)));
        }
    }
    let kinds = |r: &Row| {
        let Symmetry { x, y, r90 } = r.symmetry;
        (r.orientation as u8, r.site, x, y, r90)
    };
    keyed.sort_by(|(k, a, s), (l, b, t)| {
        let edges = a.y.total_cmp(&b.y).then(a.height.total_cmp(&b.height));
        k.cmp(l).then(edges).then(kinds(a).cmp(&kinds(b))).then(s.cmp(t))
    });
    let (mut merged, mut covered) = (Vec::new(), Vec::new());
    for subrows in keyed.chunk_by(|(k, a, _), (l, b, _)| {
        let near = lattices[*k as usize].near;
        k == l && b.y - a.y <= near && (b.height - a.height).abs() <= near && kinds(a) == kinds(b)
    }) {
        let (lattice, row, _) = &subrows[0];
        merged.push(SiteRow {
            y: row.y,
            height: row.height,
            orientation: row.orientation,
            symmetry: row.symmetry,
            site: row.site,
            lattice: *lattice,
            first_band: 0,
            end_band: 0,
        });
        let mut sites: Vec<(i32, i32)> = subrows.iter().map(|(_, _, sites)| *sites).collect();
        merge(&mut sites);
        covered.push(sites);
    }
    Ok((lattices, merged, covered))
}

/// Sorts intervals and makes one of those that meet.
fn merge(intervals: &mut Vec<(i32, i32)>) {
    intervals.sort_unstable();
    intervals.dedup_by(|next, before| {
        let meets = next.0 <= before.1;
        if meets {
            before.1 = before.1.max(next.1);
        }
        meets
    });
}

/// Runs of no fence.
fn unfenced(intervals: &[(i32, i32)]) -> Vec<Run> {
    intervals.iter().map(|&(start, end)| Run { start, end, fence: None }).collect()
}

/// Returns the free runs of a band with the fence that each is within, ascending.
fn with_fences(runs: &[Run], fenced: &Fenced) -> Vec<Run> {
    let mut all = without(runs, &fenced.touched);
    for of_fence in fenced.within.chunk_by(|a, b| a.0 == b.0) {
        let mut inside: Vec<(i32, i32)> =
            of_fence.iter().map(|&(_, low, high)| (low, high)).collect();
        merge(&mut inside);
        let here = without(runs, &others(&inside));
        all.extend(here.into_iter().map(|run| Run { fence: Some(of_fence[0].0), ..run }));
    }
    all.sort_unstable_by_key(|run| run.start);
    all
}

/// Returns all that `intervals`, ascending, do not hold.
fn others(intervals: &[(i32, i32)]) -> Vec<(i32, i32)> {
    let mut others = Vec::with_capacity(intervals.len() + 1);
    let mut from = i32::MIN;
    for &(start, end) in intervals {
        others.push((from, start));
        from = end;
    }
    others.push((from, i32::MAX));
    others
}

/// Returns the parts that two lists of runs share, of the same fence. With `adopt`, the first
/// list's runs take the fences of the second's.
pub(crate) fn shared(a: &[Run], b: &[Run], adopt: bool) -> Vec<Run> {
    let (mut shared, mut i, mut j) = (Vec::new(), 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let (start, end) = (x.start.max(y.start), x.end.min(y.end));
        if start < end && (adopt || x.fence == y.fence) {
            shared.push(Run { start, end, fence: y.fence });
        }
        if x.end < y.end { i += 1 } else { j += 1 }
    }
    shared
}

/// Returns the runs without the sites of `taken`, both ascending.
pub(crate) fn without(runs: &[Run], taken: &[(i32, i32)]) -> Vec<Run> {
    let mut left = Vec::with_capacity(runs.len() + taken.len());
    let mut k = 0;
    for run in runs {
        let mut start = run.start;
        while k < taken.len() && taken[k].1 <= start {
            k += 1;
        }
        for &(low, high) in taken[k..].iter().take_while(|(low, _)| *low < run.end) {
            if low > start {
                left.push(Run { start, end: low, ..*run });
            }
            start = start.max(high);
        }
        if start < run.end {
            left.push(Run { start, ..*run });
        }
    }
    left
}
