//! Movable cells on rows: widths in sites, and the allowed rows of each.

use super::RowsError;
use super::index::RectIndex;
use super::sites::{Access, Band, MOST_SITES, SiteRow, Sites, TOLERANCE};
use crate::design::{BlockageKind, Design, Master, MasterClass, Orientation, StandsOn, Symmetry};
use crate::lists::Lists;
use crate::parallel;
use std::ops::Range;

/// Most entries of all lists of rows that cells may lie on, together.
const MOST_ALLOWED_ROWS: usize = 1 << 28;

/// A row that a cell may lie on, and the bands that it then covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllowedRow {
    /// The row that the bottom edge is on, by its index in [`Sites::rows`].
    pub row: u32,
    first_band: u32,
    end_band: u32,
}

impl AllowedRow {
    /// Returns the bands that the cell covers.
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
    has_library_cell: bool,
}

impl Footprint {
    /// As [`Design::turns_with_row`].
    fn turns(&self, row: &SiteRow) -> bool {
        let height = f64::from_bits(self.height);
        whole(height, row.height).is_some_and(|h| {
            let rows = (h / row.height).round();
            rows == 1.0 || self.has_library_cell && rows % 2.0 == 1.0
        })
    }
}

/// A movable node with area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The node, by its index.
    pub node: u32,
    /// Sites that it takes, padding at both sides included.
    pub width: i32,
    /// Sites of padding at either side: a cell that takes sites from `k` on lies at `k + padding`.
    pub padding: i32,
    /// The areas that it may lie in.
    pub access: Access,
    /// Whether it is a macro ([`Design::is_macro`]).
    pub is_macro: bool,
    footprint: u32,
}

impl Cell {
    /// Returns a number that cells share which may stand on the same rows.
    pub(crate) fn footprint(&self) -> usize {
        self.footprint as usize
    }
}

/// The movable nodes with area on one lattice, in order of their indices.
#[derive(Clone, Debug)]
pub struct Cells {
    cells: Vec<Cell>,
    rows: Lists<AllowedRow>,
}

impl Cells {
    /// Returns the movable cells of `design` that may lie on rows of `lattice`, each with this
    /// number of padding sites at its left and at its right, and more if its edges need more space
    /// ([`Design::edge_spacing`]). Macros have no padding.
    ///
    /// # Errors
    /// If a cell is wider than 2²⁹ sites, or cells have so many heights that the lists of their
    /// allowed rows do not fit into memory.
    ///
    /// # Panics
    /// Where there is no such lattice, or `sites` are those of another design.
    pub fn new(
        design: &Design,
        sites: &Sites,
        lattice: usize,
        padding: u32,
    ) -> Result<Self, RowsError> {
        Self::of_nodes(design, sites, lattice, padding, &design.movable_nodes())
    }

    /// Those of `nodes` that may stand on the lattice.
    pub(crate) fn of_nodes(
        design: &Design,
        sites: &Sites,
        lattice: usize,
        padding: u32,
        nodes: &[usize],
    ) -> Result<Self, RowsError> {
        let padding = i32::try_from(padding).ok().filter(|p| f64::from(*p) < MOST_SITES / 8.0);
        let padding = padding.ok_or(RowsError::TooManySites)?;
        let even = sites.even_bands();
        let soft = design.blockages.iter().filter(|b| b.kind == BlockageKind::Soft);
        let soft = RectIndex::new(soft.map(|blockage| (blockage.rect, ())));
        let kinds = site_kinds(sites.rows().iter().map(|row| row.site));
        let is_macro = |node: usize| design.is_macro(node, sites.usual);
        let size = |node: usize| match is_macro(node) {
            true => design.size(node),
            false => (design.nodes.width[node], design.nodes.height[node]),
        };
        let has_area = |k: usize| {
            let (w, h) = size(nodes[k]);
            w > 0.0 && h > 0.0
        };
        let with_area = parallel::filter(nodes.len(), has_area);
        let footprint = |k: usize| {
            let node = nodes[with_area[k]];
            let (master, height) = (master_of(design, node), size(node).1);
            Footprint {
                // Cells that take the same bands everywhere are of one footprint.
                height: even.map_or(height, |band| whole(height, band).unwrap_or(height)).to_bits(),
                site: site_needed(master, &kinds),
                stands_on: master.stands_on,
                symmetry: master.symmetry,
                is_macro: is_macro(node),
                has_library_cell: design.master_of(node).is_some(),
            }
        };
        let (footprints, of_cells) = parallel::number(with_area.len(), footprint);
        let mut rows = Lists::new();
        for (footprint, _) in footprints {
            rows.values.extend(sites.allowed_rows(&footprint, lattice));
            rows.end();
            if rows.values.len() > MOST_ALLOWED_ROWS {
                return Err(RowsError::TooManyHeights);
            }
        }
        let here =
            parallel::filter(with_area.len(), |k| !rows.get(of_cells[k] as usize).is_empty());
        let lattice = &sites.lattices()[lattice];
        let too_wide = |k: usize| lattice.width(size(nodes[with_area[here[k]]]).0).is_none();
        if parallel::first(here.len(), |k| too_wide(k).then_some(())).is_some() {
            return Err(RowsError::TooManySites);
        }
        let cells = parallel::map(here.len(), |k| {
            let node = nodes[with_area[here[k]]];
            let width = lattice.width(size(node).0).expect("checked above");
            let edges = edge_padding(design, node) / lattice.pitch;
            let edges = (edges - TOLERANCE).ceil() as i32;
            let padding = if is_macro(node) { 0 } else { padding + edges.max(0) };
            let fence = design.nodes.fence_of(node).map(|fence| fence as u32);
            let in_soft = soft.meeting(&design.rect(node), 0.0).next().is_some();
            Cell {
                node: node as u32,
                width: width + 2 * padding,
                padding,
                access: sites.access(fence, in_soft),
                is_macro: is_macro(node),
                footprint: of_cells[here[k]],
            }
        });
        Ok(Cells { cells, rows })
    }

    /// Returns the cells, in order of their nodes.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Returns the rows that a cell may lie on, upwards. At least one.
    ///
    /// # Panics
    /// Where the cell is of another design.
    pub fn rows(&self, cell: &Cell) -> &[AllowedRow] {
        self.rows.get(cell.footprint as usize)
    }

    /// Returns the numbers of the cells that are among these nodes.
    pub(crate) fn of_range(&self, nodes: Range<usize>) -> Range<usize> {
        let first = |node: usize| self.cells.partition_point(|cell| (cell.node as usize) < node);
        first(nodes.start)..first(nodes.end)
    }

    /// Returns the lists of rows that cells may lie on.
    pub(crate) fn row_lists(&self) -> impl Iterator<Item = &[AllowedRow]> {
        self.rows.iter()
    }

    /// Returns the number of entries of all lists of rows.
    pub(crate) fn all_rows(&self) -> usize {
        self.rows.values.len()
    }

    /// Returns where the rows of a cell begin among those of all lists.
    pub(crate) fn first_row(&self, cell: &Cell) -> usize {
        self.rows.start(cell.footprint as usize)
    }
}

/// Returns the kinds of sites that some row has, ascending.
pub(crate) fn site_kinds(of_rows: impl Iterator<Item = Option<u32>>) -> Vec<u32> {
    let mut kinds: Vec<u32> = of_rows.flatten().collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Returns the kind of sites that a cell must stand on; `None` if no row has sites of its kind.
pub(crate) fn site_needed(master: &Master, kinds: &[u32]) -> Option<u32> {
    master.site.filter(|site| kinds.binary_search(site).is_ok())
}

/// Returns the length at each side of a node that keeps its edges apart from all others, if these
/// keep theirs: half of the largest spacing. A cell may be mirrored, so both sides get the larger.
pub(super) fn edge_padding(design: &Design, node: usize) -> f64 {
    let edges = design.master_of(node).map_or([None; 2], |master| master.edge);
    let spacings = edges.into_iter().flatten().map(|edge| design.edge_spacing.largest(edge));
    spacings.fold(0.0, f64::max) / 2.0
}

impl Sites {
    /// Returns the height that all bands have, if all have the same.
    fn even_bands(&self) -> Option<f64> {
        let height = |band: &Band| band.yh - band.yl;
        let first = height(self.bands().first()?);
        self.bands().iter().all(|b| (height(b) - first).abs() <= 1e-9 * first).then_some(first)
    }

    /// Returns the rows of a lattice that a cell with this footprint may lie on, upwards.
    fn allowed_rows(&self, of: &Footprint, lattice: usize) -> Vec<AllowedRow> {
        let height = f64::from_bits(of.height);
        let fits = |row: &SiteRow| {
            let rails = of.stands_on.admits(row.orientation);
            let turned = of.is_macro
                || orientation(row, of.turns(row), Orientation::N, &of.symmetry).is_some();
            rails && turned && (of.site.is_none() || of.site == row.site)
        };
        let rows = (0u32..).zip(self.rows()).filter(|(_, row)| fits(row));
        let stand = |(index, row): (u32, &SiteRow)| {
            let bands = self.bands_below(row, height)?;
            Some(AllowedRow { row: index, first_band: bands.start, end_band: bands.end })
        };
        let all: Vec<AllowedRow> = rows.filter_map(stand).collect();
        // A cell is made for rows that it fills; on others it stands only where there are none.
        let row = |stand: &AllowedRow| &self.rows()[stand.row as usize];
        let fills = |stand: &AllowedRow| whole(height, row(stand).height).is_some();
        let any_filled = all.iter().any(fills);
        let here = |stand: &AllowedRow| row(stand).lattice as usize == lattice;
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
    design.master_of(node).unwrap_or(&ALL_WAYS)
}

/// Returns `height`, in layout units, as a whole number of `rows`; `None` if it is not one.
fn whole(height: f64, row: f64) -> Option<f64> {
    let rows = (height / row).round().max(1.0);
    ((rows * row - height).abs() <= TOLERANCE * row).then_some(rows * row)
}

/// Returns how a node lies on a row of `sites`: as the row asks, and mirrored left and right as it
/// lies now where it may. A node that no row turns ([`Design::turns_with_row`]) keeps the
/// orientation that it has. `None` where the library cell may not lie as the row
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
    if design.is_macro(node, sites.usual) {
        return Some(now);
    }
    let row = &sites.rows()[row];
    let turns = design.turns_with_row(node, row.height);
    orientation(row, turns, now, &master_of(design, node).symmetry)
}

/// As [`orientation_on`], of a node with this orientation and symmetry of its library cell. `turns`
/// says whether the row decides if it is upside down.
fn orientation(
    row: &SiteRow,
    turns: bool,
    now: Orientation,
    library: &Symmetry,
) -> Option<Orientation> {
    use Orientation::{FE, FN, FW, S};
    let asked = row.orientation;
    let is_mirrored = |o| matches!(o, FN | S | FE | FW);
    // As the cell lies now, as far as the row leaves it open.
    let base = if !turns && !now.swaps_axes() && !asked.swaps_axes() { now } else { asked };
    let ways = if !turns {
        [base, base.mirrored(), base.flipped(), base.mirrored().flipped()]
    } else {
        let same = is_mirrored(now) == is_mirrored(asked) || !row.symmetry.y;
        let first = if same { asked } else { asked.mirrored() };
        let second = if row.symmetry.y { first.mirrored() } else { first };
        let turned = |o: Orientation| if row.symmetry.x { o.flipped() } else { o };
        [first, second, turned(first), turned(second)]
    };
    ways.into_iter().find(|way| library.admits(*way))
}
