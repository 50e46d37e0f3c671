//! The free sites of a design, and which of them every movable cell may stand on.
//!
//! A *lattice* is all sites of one pitch and phase along x; on it a position is a whole number
//! ([`Lattice::x`]). A [`SiteRow`] is all subrows of one lattice, bottom edge, height, orientation,
//! symmetry and kind of sites together: fragments of a row that meet have the same phase, and a
//! cell may stand across them. Rows of one lattice may overlap (hybrid rows), so what is taken is
//! kept by
//! *band*: the bands divide each lattice along y at every edge of a row, and a cell takes sites of
//! all bands that it reaches into. Where rows do not overlap there is one band to a row.
//!
//! [`Sites::free`] gives the free runs of sites of a band: on rows, without fixed nodes, hard
//! blockages, halos of fixed nodes, and sites that the edge of a fence cuts. Each run says the
//! fence that it is within. [`Sites::segments`] gives the runs of a row, which are free in all of
//! its bands. For a cell of one row that is all; one that is higher needs its sites free in every
//! band from [`Stand::bands`], too.
//!
//! [`Cells`] are the movable nodes with area, as they stand on one lattice: width in sites, fence,
//! and where they may stand. Macros are cells like others here. [`orientation_on`] says how a cell
//! lies on a row.
//!
//! ```
//! use placefield::design::{Blockage, BlockageKind, Design, NodeKind, Nodes, Orientation};
//! use placefield::design::{Placement, Row};
//! use placefield::grid::Rect;
//! use placefield::legalize::sites::{Cells, Sites};
//!
//! // Two rows of 20 sites of 2 × 10, and a blockage over sites 5 and 6 of the upper one.
//! let row = Row { height: 10.0, site_width: 2.0, pitch: 2.0, sites: 20, ..Row::default() };
//! let rect = Rect::at(11.0, 14.0, 2.0, 3.0);
//! let design = Design {
//!     nodes: Nodes {
//!         width: vec![5.0, 4.0],
//!         height: vec![10.0, 20.0],
//!         kind: vec![NodeKind::Movable; 2],
//!         ..Nodes::default()
//!     },
//!     placement: Placement {
//!         x: vec![0.0; 2],
//!         y: vec![0.0; 2],
//!         orientation: vec![Orientation::N; 2],
//!     },
//!     rows: vec![row, Row { y: 10.0, ..row }],
//!     blockages: vec![Blockage { rect, kind: BlockageKind::Hard }],
//!     ..Design::default()
//! };
//! let sites = Sites::new(&design)?;
//! assert_eq!(sites.rows().len(), 2);
//! let runs: Vec<_> = sites.segments(1).iter().map(|run| (run.start, run.end)).collect();
//! assert_eq!(runs, [(0, 5), (7, 20)]);
//! let cells = Cells::new(&design, &sites, 0, 0)?;
//! assert_eq!(cells.cells()[0].width, 3);
//! // The second is two rows high, and stands on the lower one alone.
//! let stands = cells.stands(&cells.cells()[1]);
//! assert_eq!((stands.len(), stands[0].row, stands[0].bands()), (1, 0, 0..2));
//! # Ok::<(), placefield::legalize::LegalizeError>(())
//! ```

use super::LegalizeError;
use crate::design::{
    BlockageKind, Design, Master, MasterClass, NodeKind, Orientation, Placement, Row, StandsOn,
    Symmetry,
};
use crate::grid::Rect;
use crate::lists::Lists;
use std::collections::HashMap;
use std::ops::Range;

/// Of a site's pitch, what counts as no length: files hold decimal numbers.
const TOLERANCE: f64 = 1e-3;
/// Most sites along one axis, so that sums of them fit into 32 bits.
const MOST_SITES: f64 = (1 << 29) as f64;
/// Most entries of all lists of rows that cells may stand on, together.
const MOST_STANDS: usize = 1 << 28;

/// Sites of one pitch and phase: the one with number k begins at `origin + k · pitch`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lattice {
    /// Left edge of site 0, layout units.
    pub origin: f64,
    /// From one site's left edge to the next one's.
    pub pitch: f64,
    /// By how much a site is narrower than its pitch: a cell keeps as much free at its right.
    gap: f64,
}

impl Lattice {
    /// Returns the left edge of a site, layout units.
    pub fn x(&self, site: i32) -> f64 {
        self.origin + f64::from(site) * self.pitch
    }

    /// Returns the number of sites, not whole, from site 0 to `x`.
    pub fn site(&self, x: f64) -> f64 {
        (x - self.origin) / self.pitch
    }

    /// Returns the sites that `[low, high]` touches.
    fn touched(&self, low: f64, high: f64) -> (i32, i32) {
        (floor(self.site(low) + TOLERANCE), ceil(self.site(high) - TOLERANCE))
    }

    /// Returns the sites that lie within `[low, high]`.
    fn within(&self, low: f64, high: f64) -> (i32, i32) {
        (ceil(self.site(low) - TOLERANCE), floor(self.site(high) + TOLERANCE))
    }

    /// Returns the sites that a width takes.
    fn width(&self, width: f64) -> Option<i32> {
        let sites = ((width + self.gap) / self.pitch - TOLERANCE).ceil().max(1.0);
        (sites < MOST_SITES).then_some(sites as i32)
    }
}

/// Whole numbers beyond the limits of `i32` become the limits.
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

/// The free sites of a design.
#[derive(Clone, Debug)]
pub struct Sites {
    lattices: Vec<Lattice>,
    rows: Vec<SiteRow>,
    bands: Vec<Band>,
    free: Lists<Run>,
    segments: Lists<Run>,
    overlapping: bool,
    /// The height that most rows have.
    usual: f64,
}

impl Sites {
    /// The free sites of `design`.
    ///
    /// # Errors
    /// When the design's columns do not fit together, it has no rows with sites, a number is not
    /// finite, or there are more sites along an axis than 2²⁹.
    pub fn new(design: &Design) -> Result<Self, LegalizeError> {
        design.check()?;
        check_numbers(design)?;
        Self::beside(design, &|_| false, &design.placement)
    }

    /// The sites that are free where more nodes are fixed than the design has, placed like this.
    pub(super) fn beside(
        design: &Design,
        placed: &dyn Fn(usize) -> bool,
        placement: &Placement,
    ) -> Result<Self, LegalizeError> {
        let (lattices, rows, covered) = rows_of(&design.rows)?;
        let mut sites = Sites {
            lattices,
            rows,
            bands: Vec::new(),
            free: Lists::new(),
            segments: Lists::new(),
            overlapping: false,
            usual: design.row_height().ok_or(LegalizeError::NoRows)?,
        };
        sites.divide();
        let on_rows = sites.on_rows(&covered);
        let taken = sites.taken(design, placed, placement);
        let fenced = sites.fenced(design);
        for (band, runs) in on_rows.iter().enumerate() {
            let runs = without(&unfenced(runs), &taken[band]);
            sites.free.values.extend(with_fences(&runs, &fenced[band]));
            sites.free.end();
        }
        for (row, covered) in covered.iter().enumerate() {
            let bands = sites.rows[row].bands();
            let mut runs = unfenced(covered);
            for (nth, band) in bands.enumerate() {
                runs = shared(&runs, sites.free.get(band), nth == 0);
            }
            sites.segments.values.extend(runs);
            sites.segments.end();
        }
        Ok(sites)
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

    /// Returns the free runs of a band, ascending, none next to another of the same fence.
    ///
    /// # Panics
    /// Where there is no such band.
    pub fn free(&self, band: usize) -> &[Run] {
        self.free.get(band)
    }

    /// Returns the runs of a row that are free in all of its bands, ascending.
    ///
    /// # Panics
    /// Where there is no such row.
    pub fn segments(&self, row: usize) -> &[Run] {
        self.segments.get(row)
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

    /// Whether a node is a macro: higher than [`MOST_ROWS_OF_A_CELL`] rows of the most usual
    /// height.
    ///
    /// # Panics
    /// Where there is no such node.
    pub fn is_macro(&self, design: &Design, node: usize) -> bool {
        is_macro(design, node, self.usual)
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
    fn bands_below(&self, row: &SiteRow, height: f64) -> Option<Range<u32>> {
        let near = TOLERANCE * self.lattices[row.lattice as usize].pitch;
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
            let near = TOLERANCE * self.lattices[lattice as usize].pitch;
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
            let near = TOLERANCE * lattice.pitch;
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
        placed: &dyn Fn(usize) -> bool,
        placement: &Placement,
    ) -> Vec<Vec<(i32, i32)>> {
        let mut taken: Vec<Vec<(i32, i32)>> = vec![Vec::new(); self.bands.len()];
        let mut take = |rect: &Rect| {
            self.bands_of(rect, &mut |band, lattice| {
                taken[band].push(lattice.touched(rect.xl, rect.xh));
            });
        };
        let fixed = |i: &usize| design.nodes.kind[*i] == NodeKind::Fixed || placed(*i);
        let rect = |i: usize| {
            let (w, h) = design.nodes.size(i, placement.orientation[i]);
            Rect::at(placement.x[i], placement.y[i], w, h)
        };
        for i in (0..design.nodes.len()).filter(fixed) {
            let rect = rect(i);
            if rect.width() > 0.0 && rect.height() > 0.0 {
                take(&rect);
            }
        }
        let hard = design.halos.iter().filter(|halo| !halo.soft);
        for halo in hard.filter(|halo| fixed(&(halo.node as usize))) {
            let node = halo.node as usize;
            take(&halo.around(&rect(node), placement.orientation[node]));
        }
        for blockage in design.blockages.iter().filter(|b| b.kind == BlockageKind::Hard) {
            take(&blockage.rect);
        }
        taken.iter_mut().for_each(merge);
        taken
    }

    /// Returns, by band, the sites of fences: those that one holds, and those that its edges cut.
    fn fenced(&self, design: &Design) -> Vec<Fenced> {
        let mut fenced: Vec<Fenced> = vec![Fenced::default(); self.bands.len()];
        for (fence, rect) in (0u32..)
            .zip(&design.fences)
            .flat_map(|(fence, f)| f.rects.iter().map(move |rect| (fence, rect)))
        {
            self.bands_of(rect, &mut |band, lattice| {
                let near = TOLERANCE * lattice.pitch;
                let Band { yl, yh, .. } = self.bands[band];
                fenced[band].touched.push(lattice.touched(rect.xl, rect.xh));
                let (start, end) = lattice.within(rect.xl, rect.xh);
                if rect.yl <= yl + near && rect.yh >= yh - near && start < end {
                    fenced[band].within.push((fence, start, end));
                }
            });
        }
        for Fenced { touched, within } in &mut fenced {
            merge(touched);
            within.sort_unstable();
        }
        fenced
    }
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

fn check_numbers(design: &Design) -> Result<(), LegalizeError> {
    let bad = |what, index, value| Err(LegalizeError::BadNumber { what, index, value });
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

type Covered = Vec<Vec<(i32, i32)>>;

/// Lattices and rows, and the sites that each row has.
fn rows_of(rows: &[Row]) -> Result<(Vec<Lattice>, Vec<SiteRow>, Covered), LegalizeError> {
    // By pitch and phase; phases are compared around the circle of a pitch.
    let phase = |row: &Row| {
        let phase = row.x.rem_euclid(row.pitch);
        if phase >= (1.0 - TOLERANCE) * row.pitch { phase - row.pitch } else { phase }
    };
    let mut sorted: Vec<(f64, &Row)> =
        rows.iter().filter(|row| row.sites > 0).map(|row| (phase(row), row)).collect();
    if sorted.is_empty() {
        return Err(LegalizeError::NoRows);
    }
    sorted.sort_by(|(p, a), (q, b)| a.pitch.total_cmp(&b.pitch).then(p.total_cmp(q)));
    let same = |(p, a): &(f64, &Row), (q, b): &(f64, &Row)| {
        b.pitch - a.pitch <= 1e-9 * a.pitch && (q - p).abs() <= TOLERANCE * a.pitch
    };
    let (mut lattices, mut keyed) = (Vec::new(), Vec::new());
    for of_lattice in sorted.chunk_by(same) {
        let lattice = lattices.len() as u32;
        let first = of_lattice.iter().map(|(_, row)| row.x).fold(f64::INFINITY, f64::min);
        let pitch = of_lattice[0].1.pitch;
        let narrowest =
            of_lattice.iter().map(|(_, row)| row.site_width).fold(f64::INFINITY, f64::min);
        let gap = (pitch - narrowest).max(0.0);
        lattices.push(Lattice { origin: first, pitch, gap });
        for (_, row) in of_lattice {
            let start = ((row.x - first) / pitch).round();
            if !(start < MOST_SITES && (row.sites as f64) < MOST_SITES) {
                return Err(LegalizeError::TooManySites);
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
        let near = TOLERANCE * a.pitch;
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
pub(super) fn shared(a: &[Run], b: &[Run], adopt: bool) -> Vec<Run> {
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
pub(super) fn without(runs: &[Run], taken: &[(i32, i32)]) -> Vec<Run> {
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

/// Where a cell may stand: on this row, over these bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stand {
    /// The row that the bottom edge is on, by its index in [`Sites::rows`].
    pub row: u32,
    first_band: u32,
    end_band: u32,
}

impl Stand {
    /// Returns the bands that the cell reaches into.
    pub fn bands(&self) -> Range<usize> {
        self.first_band as usize..self.end_band as usize
    }
}

/// All that says which rows a cell may stand on. Cells of one footprint may stand on the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Footprint {
    /// Bits of the height, rounded up to whole bands where those are even.
    height: u64,
    /// The kind of sites that it needs, if there are rows of it.
    site: Option<u32>,
    stands_on: StandsOn,
    symmetry: Symmetry,
    is_macro: bool,
}

/// A cell of more rows than this is a macro: it keeps the orientation it has.
pub const MOST_ROWS_OF_A_CELL: f64 = 6.0;

/// A movable node with area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The node, by its index.
    pub node: u32,
    /// Sites that it takes, padding at both sides included.
    pub width: i32,
    /// The fence that it has to lie in, if any.
    pub fence: Option<u32>,
    /// Whether it is higher than [`MOST_ROWS_OF_A_CELL`] rows of the most usual height.
    pub is_macro: bool,
    footprint: u32,
}

impl Cell {
    /// Returns a number that cells share which may stand on the same rows.
    pub(crate) fn footprint(&self) -> usize {
        self.footprint as usize
    }
}

/// The movable nodes with area as they stand on one lattice, in order of their indices.
#[derive(Clone, Debug)]
pub struct Cells {
    cells: Vec<Cell>,
    stands: Lists<Stand>,
    padding: i32,
}

impl Cells {
    /// The movable cells of `design` that may stand on rows of `lattice`, each with so many sites
    /// of padding at its left and as many at its right. Macros have no padding.
    ///
    /// # Errors
    /// When a cell is wider than 2²⁹ sites, or cells have so many heights that the lists of the
    /// rows they may stand on do not fit into memory.
    ///
    /// # Panics
    /// Where there is no such lattice, or `sites` are those of another design.
    pub fn new(
        design: &Design,
        sites: &Sites,
        lattice: usize,
        padding: u32,
    ) -> Result<Self, LegalizeError> {
        Self::of_nodes(design, sites, lattice, padding, design.movable())
    }

    /// Those of `nodes` that may stand on the lattice.
    pub(super) fn of_nodes(
        design: &Design,
        sites: &Sites,
        lattice: usize,
        padding: u32,
        nodes: impl Iterator<Item = usize>,
    ) -> Result<Self, LegalizeError> {
        let padding = i32::try_from(padding).ok().filter(|p| f64::from(*p) < MOST_SITES / 8.0);
        let padding = padding.ok_or(LegalizeError::TooManySites)?;
        let usual = sites.usual;
        let mut cells = Cells { cells: Vec::new(), stands: Lists::new(), padding };
        cells.cells.reserve(design.nodes.len());
        let even = sites.even_bands();
        let mut kinds: Vec<u32> = sites.rows.iter().filter_map(|row| row.site).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let mut known: HashMap<Footprint, u32> = HashMap::new();
        let mut before: Option<(Footprint, u32)> = None;
        for node in nodes {
            let is_macro = is_macro(design, node, usual);
            let (w, h) = if is_macro {
                design.size(node)
            } else {
                (design.nodes.width[node], design.nodes.height[node])
            };
            if w <= 0.0 || h <= 0.0 {
                continue;
            }
            let master = master_of(design, node);
            let footprint = Footprint {
                // Cells that take the same bands everywhere are of one footprint.
                height: even.map_or(h, |band| whole(h, band).unwrap_or(h)).to_bits(),
                site: master.site.filter(|site| kinds.binary_search(site).is_ok()),
                stands_on: master.stands_on,
                symmetry: master.symmetry,
                is_macro,
            };
            // Cells of one kind often follow one another.
            let index = match before {
                Some((same, index)) if same == footprint => index,
                _ => match known.get(&footprint) {
                    Some(&index) => index,
                    None => {
                        let index = known.len() as u32;
                        let stands = sites.stands(&footprint, lattice);
                        cells.stands.values.extend(stands);
                        cells.stands.end();
                        if cells.stands.values.len() > MOST_STANDS {
                            return Err(LegalizeError::TooManyHeights);
                        }
                        known.insert(footprint, index);
                        index
                    }
                },
            };
            before = Some((footprint, index));
            if cells.stands.get(index as usize).is_empty() {
                continue;
            }
            let width = sites.lattices[lattice].width(w).ok_or(LegalizeError::TooManySites)?;
            cells.cells.push(Cell {
                node: node as u32,
                width: if is_macro { width } else { width + 2 * padding },
                footprint: index,
                fence: design.nodes.fence_of(node).map(|fence| fence as u32),
                is_macro,
            });
        }
        Ok(cells)
    }

    /// Returns the cells, in order of their nodes.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Returns where a cell may stand, as far as rows and their bands go, upwards. At least one.
    ///
    /// # Panics
    /// Where the cell is of another design.
    pub fn stands(&self, cell: &Cell) -> &[Stand] {
        self.stands.get(cell.footprint as usize)
    }

    /// Returns the number of all stands of all footprints.
    pub(super) fn all_stands(&self) -> usize {
        self.stands.values.len()
    }

    /// Returns where the stands of a cell begin among all.
    pub(super) fn first_stand(&self, cell: &Cell) -> usize {
        self.stands.start(cell.footprint as usize)
    }

    /// Returns the sites of padding at either side of a cell that is no macro: one that takes sites
    /// from `k` on lies at `k + padding`.
    pub fn padding(&self) -> i32 {
        self.padding
    }
}

impl Sites {
    /// Returns the height that all bands have, if all have the same.
    fn even_bands(&self) -> Option<f64> {
        let height = |band: &Band| band.yh - band.yl;
        let first = height(self.bands.first()?);
        self.bands.iter().all(|b| (height(b) - first).abs() <= 1e-9 * first).then_some(first)
    }

    /// Returns where a cell with this footprint may stand on a lattice, upwards.
    fn stands(&self, of: &Footprint, lattice: usize) -> Vec<Stand> {
        let height = f64::from_bits(of.height);
        let fits = |row: &SiteRow| {
            let upside_down = row.orientation.is_upside_down();
            let rails = match of.stands_on {
                StandsOn::Any => true,
                StandsOn::Upright => !upside_down,
                StandsOn::UpsideDown => upside_down,
            };
            let turned =
                of.is_macro || orientation(row, height, Orientation::N, &of.symmetry).is_some();
            rails && turned && (of.site.is_none() || of.site == row.site)
        };
        let rows = (0u32..).zip(&self.rows).filter(|(_, row)| fits(row));
        let stand = |(index, row): (u32, &SiteRow)| {
            let bands = self.bands_below(row, height)?;
            Some(Stand { row: index, first_band: bands.start, end_band: bands.end })
        };
        let all: Vec<Stand> = rows.filter_map(stand).collect();
        // A cell is made for rows that it fills; on others it stands only where there are none.
        let row = |stand: &Stand| &self.rows[stand.row as usize];
        let fills = |stand: &Stand| whole(height, row(stand).height).is_some();
        let any_filled = all.iter().any(fills);
        let here = |stand: &Stand| row(stand).lattice as usize == lattice;
        all.into_iter().filter(|s| here(s) && (!any_filled || fills(s))).collect()
    }
}

/// Any orientation.
static ALL_WAYS: Master = Master {
    name: String::new(),
    symmetry: Symmetry { x: true, y: true, r90: true },
    site: None,
    stands_on: StandsOn::Any,
    class: MasterClass::Core,
    edge: [None; 2],
    outline: Vec::new(),
};

fn master_of(design: &Design, node: usize) -> &Master {
    let master = design.nodes.master.get(node).copied().flatten();
    master.map_or(&ALL_WAYS, |index| &design.masters[index as usize])
}

fn is_macro(design: &Design, node: usize, usual: f64) -> bool {
    design.nodes.height[node] > (MOST_ROWS_OF_A_CELL + TOLERANCE) * usual
}

/// `height` as a whole number of `rows`, in layout units; none where it is not one.
fn whole(height: f64, row: f64) -> Option<f64> {
    let rows = (height / row).round().max(1.0);
    ((rows * row - height).abs() <= TOLERANCE * row).then_some(rows * row)
}

/// Returns how a node lies on a row of `sites`: as the row asks, and mirrored left and right as it
/// lies now where it may. One of an even number of rows has the same supply rail at its bottom and
/// its top, and is not turned upside down. `None` where the library cell may not lie as the row
/// asks.
///
/// # Panics
/// Where there is no such node or row.
pub fn orientation_on(
    design: &Design,
    sites: &Sites,
    node: usize,
    row: usize,
) -> Option<Orientation> {
    let now = design.placement.orientation[node];
    if is_macro(design, node, sites.usual) {
        return Some(now);
    }
    let symmetry = &master_of(design, node).symmetry;
    orientation(&sites.rows[row], design.nodes.height[node], now, symmetry)
}

/// As [`orientation_on`], of a node with this height, orientation and symmetry of its library cell.
fn orientation(
    row: &SiteRow,
    height: f64,
    now: Orientation,
    library: &Symmetry,
) -> Option<Orientation> {
    use Orientation::{FE, FN, FS, FW, N, S};
    let may = |o: &Orientation| match o {
        N => true,
        FN => library.y,
        FS => library.x,
        S => library.x && library.y,
        _ => library.r90,
    };
    let even = whole(height, row.height).is_some_and(|h| (h / row.height).round() % 2.0 == 0.0);
    let asked = row.orientation;
    let is_mirrored = |o| matches!(o, FN | S | FE | FW);
    // As the cell lies now, as far as the row leaves it open.
    let base = if even && !now.swaps_axes() && !asked.swaps_axes() { now } else { asked };
    let ways = if even {
        [base, base.mirrored(), base.flipped(), base.mirrored().flipped()]
    } else {
        let same = is_mirrored(now) == is_mirrored(asked) || !row.symmetry.y;
        let first = if same { asked } else { asked.mirrored() };
        let second = if row.symmetry.y { first.mirrored() } else { first };
        let turned = |o: Orientation| if row.symmetry.x { o.flipped() } else { o };
        [first, second, turned(first), turned(second)]
    };
    ways.into_iter().find(may)
}
