//! Conversion from a design to cells on rows, and back.

use super::density::Density;
use super::shift;
use super::state::{Cell, Kind, Row, Spot, State};
use super::wires::Wires;
use super::{RefineError, RefineOptions};
use crate::design::{Design, Nets, NodeKind, Nodes, Orientation, Placement};
use crate::displacement;
use crate::memory::copied;
use crate::parallel::{self, Groups, chunks, chunks_mut, each_mut, group};
use crate::rows::{self, Cells, Lattice, Occupant, RowCells, SiteRow, Sites, Span};
use rayon::prelude::*;
use std::borrow::Cow;

/// A gain below this share of the wirelength per cell is rounding.
const ROUNDING: f64 = 1e-9;

/// Returns `design` without nets and names, which this module does not use.
pub(super) fn without_nets(design: &Design) -> Design {
    let Nodes { width, height, kind, master, fence, .. } = &design.nodes;
    let Placement { x, y, orientation } = &design.placement;
    Design {
        nodes: Nodes {
            width: copied(width),
            height: copied(height),
            kind: copied(kind),
            master: copied(master),
            fence: copied(fence),
            ..Nodes::default()
        },
        placement: Placement { x: copied(x), y: copied(y), orientation: copied(orientation) },
        rows: design.rows.clone(),
        masters: design.masters.clone(),
        fences: design.fences.clone(),
        blockages: design.blockages.clone(),
        halos: design.halos.clone(),
        edge_spacing: design.edge_spacing.clone(),
        ..Design::default()
    }
}

/// Returns the movable nodes with area.
pub(super) fn with_area(design: &Design) -> impl Iterator<Item = usize> + '_ {
    let has_area = |&i: &usize| design.nodes.width[i] > 0.0 && design.nodes.height[i] > 0.0;
    design.movable().filter(has_area)
}

/// Returns the cells of `design`, which [`without_nets`] has made, on one lattice, and the nets
/// that connect them. All other nodes are fixed. So are macros, cells on their side, cells with too
/// little padding and cells with a halo.
///
/// `sites` are the sites of the design. `turned` says whether cells lie as their rows require.
pub(super) fn state(
    design: &Design,
    nets: &Nets,
    sites: &Sites,
    lattice: usize,
    turned: bool,
    options: &RefineOptions<'_>,
) -> Result<State, RefineError> {
    let (mut fixing, mut sites) = (Cow::Borrowed(design), Cow::Borrowed(sites));
    let mut has_halo = vec![false; design.nodes.len()];
    design.halos.iter().for_each(|halo| has_halo[halo.node as usize] = true);
    loop {
        let cells = Cells::new(&fixing, &sites, lattice, options.padding)?;
        let has_halo = &has_halo;
        let start = Start { design: &fixing, sites: &sites, cells: &cells, turned, has_halo };
        let (mut state, mut stays) = start.state(lattice);
        set_down(&mut state, &mut stays);
        if stays.is_empty() {
            let node_of = |cell: usize| state.cells[cell].node;
            let Groups { start, items } = group(design.nodes.len(), state.cells.len(), node_of);
            let cell_of = parallel::map(design.nodes.len(), |node| {
                items[start[node] as usize..start[node + 1] as usize].first().copied()
            });
            state.wires = Wires::new(design, nets, &cell_of, state.cells.len());
            state.cell_of = cell_of;
            let most = options.wire_price.map_or(1.0, |of| of.most_factor());
            design.die().iter().for_each(|die| state.wires.count_in_units(*die, shift::RUN, most));
            state.least_gain = ROUNDING * state.wires.hpwl() / design.nodes.len().max(1) as f64;
            let origins = parallel::map(state.cells.len(), |cell| {
                let Cell { node, home, .. } = state.cells[cell];
                let at_home = state.pose(cell as u32, home);
                let origin =
                    options.origin.map(|from| displacement::centre(design, from, node as usize));
                origin.unwrap_or((at_home.x, at_home.y))
            });
            parallel::for_each(each_mut(&mut state.cells), |k, cell| cell.origin = origins[k]);
            let limit = options.max_displacement.zip(design.row_height());
            state.limit =
                limit.map_or(f64::INFINITY, |(rows, height)| rows * height * (1.0 + 1e-9));
            state.no_one_site_gaps = options.no_one_site_gaps;
            state.density = options.density.map(|charge| Density::new(charge, design));
            return Ok(state);
        }
        // Fixed nodes take sites from others, and so do their halos.
        let kinds = &mut fixing.to_mut().nodes.kind;
        stays.iter().for_each(|&node| kinds[node as usize] = NodeKind::Fixed);
        sites = Cow::Owned(Sites::new(&fixing)?);
    }
}

/// Puts the cells on their present sites. Adds to `stays` the nodes of cells that do not fit beside
/// the previous cells.
fn set_down(state: &mut State, stays: &mut Vec<u32>) {
    let entries = parallel::map_blocks(state.cells.len(), super::CELLS_AT_ONCE, |cells| {
        let of_cell = |cell: usize| {
            let bands = state.bands(cell as u32, state.cells[cell].spot.row);
            bands.into_iter().flatten().map(move |band| [band as u32, cell as u32])
        };
        cells.flat_map(of_cell).collect()
    });
    let entries: Vec<[u32; 2]> = parallel::concat(&entries);
    let Groups { start, items } = group(state.bands.len(), entries.len(), |k| entries[k][0]);
    let cells = parallel::map(state.bands.len(), |band| {
        let occupant = |&item: &u32| {
            let cell = entries[item as usize][1];
            Occupant { span: state.span(cell, state.cells[cell as usize].spot.site), cell }
        };
        let items = &items[start[band] as usize..start[band + 1] as usize];
        let mut cells: Vec<Occupant> = items.iter().map(occupant).collect();
        cells.sort_unstable_by_key(|occupant| occupant.span.left);
        cells
    });
    state.bands.iter_mut().zip(cells).for_each(|(band, cells)| band.cells = cells);
    let apart = |band: &RowCells| band.cells.is_sorted_by(|a, b| a.span.right <= b.span.left);
    let fits = |cell: usize| {
        let (spot, cell) = (state.cells[cell].spot, cell as u32);
        state.fits(cell, spot, |other| other == cell)
    };
    let misplaced = |cell: usize| (!fits(cell)).then_some(());
    if state.bands.iter().all(apart) && parallel::first(state.cells.len(), misplaced).is_none() {
        return;
    }
    state.bands.iter_mut().for_each(|band| band.cells.clear());
    for cell in 0..state.cells.len() as u32 {
        let spot = state.cells[cell as usize].spot;
        if state.fits(cell, spot, |_| false) {
            state.set_down(cell, spot);
        } else {
            stays.push(state.cells[cell as usize].node);
        }
    }
}

/// A design whose cells stand on rows.
struct Start<'a> {
    design: &'a Design,
    sites: &'a Sites,
    cells: &'a Cells,
    turned: bool,
    /// By node.
    has_halo: &'a [bool],
}

/// The properties that distinguish kinds of cells: their allowed sites, whether the library cell
/// may be mirrored, whether rows turn it upside down, and which other orientations the row allows.
type KindKey = (usize, bool, bool, [bool; 2]);

impl Start<'_> {
    /// Returns the cells that may move, without wires, and the nodes of all others on the lattice.
    fn state(&self, lattice: usize) -> (State, Vec<u32>) {
        let Lattice { origin: x, pitch, .. } = self.sites.lattices()[lattice];
        let rows = self.sites.rows();
        let mut state = State {
            sites: self.sites.clone(),
            rows: (rows.iter())
                .map(|row| Row {
                    x,
                    pitch,
                    y: row.y,
                    flipped: row.orientation.is_upside_down(),
                    band: row.bands().start as u32,
                })
                .collect(),
            bands: vec![RowCells::default(); self.sites.bands().len()],
            searched: range_of(rows, lattice),
            wires: Wires::default(),
            cells: Vec::new(),
            cell_of: Vec::new(),
            kinds: Vec::new(),
            density: None,
            crowding: None,
            limit: f64::INFINITY,
            no_one_site_gaps: false,
            least_gain: 0.0,
        };
        let all = self.cells.cells();
        let spots = parallel::map(all.len(), |k| self.spot(&all[k], lattice));
        let stays = parallel::filter(all.len(), |k| spots[k].is_none());
        let stays = stays.into_iter().map(|k| all[k].node).collect();
        let placed = parallel::filter(all.len(), |k| spots[k].is_some());
        let placed = parallel::map(placed.len(), |k| {
            let spot = spots[placed[k]].expect("it has one");
            (spot, placed[k])
        });
        let key_of = |k: usize| self.kind_of(&all[placed[k].1], placed[k].0);
        let (kinds, kind_of) = parallel::number(placed.len(), key_of);
        let mirrors = rows[state.searched.clone()].iter().all(|row| row.symmetry.y);
        state.kinds.extend(kinds.into_iter().map(|(key, first)| {
            let (_, library, turns, [along_x, along_y]) = key;
            let mut bands = vec![None; rows.len()];
            for allowed in self.cells.rows(&all[placed[first].1]) {
                let (to, range) = (&rows[allowed.row as usize], allowed.bands());
                let as_key = [to.symmetry.x, to.symmetry.y] == [along_x, along_y];
                if as_key && !to.orientation.swaps_axes() {
                    bands[allowed.row as usize] = Some((range.start as u32, range.end as u32));
                }
            }
            let mirrors = self.turned && library && mirrors;
            Kind { bands, mirrors, follows_rows: self.turned && turns }
        }));
        // Cells that are near each other on the die are near in memory.
        let key = |Spot { row, site, .. }: Spot| (row / 8, site, row);
        let mut order = parallel::map(placed.len(), |k| (key(placed[k].0), k as u32));
        order.par_sort_unstable();
        let pitch = self.sites.lattices()[lattice].pitch;
        state.cells = parallel::map(order.len(), |k| {
            let k = order[k].1 as usize;
            let (spot, of) = (placed[k].0, &all[placed[k].1]);
            let (width, height) = self.design.size(of.node as usize);
            Cell {
                node: of.node,
                sites: of.width,
                centre: f64::from(of.padding) * pitch + width / 2.0,
                half_height: height / 2.0,
                padding: of.padding,
                access: of.access,
                kind: kind_of[k],
                spot,
                home: spot,
                origin: (0.0, 0.0),
            }
        });
        (state, stays)
    }

    /// Returns the kind key of a cell at a spot.
    fn kind_of(&self, of: &rows::Cell, spot: Spot) -> KindKey {
        let (node, row) = (of.node as usize, &self.sites.rows()[spot.row as usize]);
        let turns = self.design.turns_with_row(node, row.height);
        let library = self.design.nodes.master.get(node).copied().flatten();
        let library = library.is_none_or(|m| self.design.masters[m as usize].symmetry.y);
        (of.footprint(), library, turns, [row.symmetry.x, row.symmetry.y])
    }

    /// Returns the spot of a cell, if the cell may move.
    fn spot(&self, cell: &rows::Cell, lattice: usize) -> Option<Spot> {
        let node = cell.node as usize;
        let at = &self.design.placement;
        let (x, y, orientation) = (at.x[node], at.y[node], at.orientation[node]);
        let upright = self.turned || orientation == Orientation::N;
        if self.has_halo[node] || orientation.swaps_axes() || !upright {
            return None;
        }
        let lattice = &self.sites.lattices()[lattice];
        let site = lattice.site(x) - f64::from(cell.padding);
        if (site - site.round()).abs() * lattice.pitch > lattice.near {
            return None;
        }
        let site = site.round() as i32;
        let near = lattice.near;
        let rows = self.sites.rows();
        let allowed = self.cells.rows(cell);
        let first = allowed.partition_point(|at| rows[at.row as usize].y < y - near);
        let here = allowed[first..].iter().take_while(|at| rows[at.row as usize].y <= y + near);
        let span = Span { left: site, right: site + cell.width };
        here.filter(|at| !rows[at.row as usize].orientation.swaps_axes())
            .find(|at| {
                let segments = self.sites.segments(cell.access, at.row as usize);
                span.lies_in(segments, cell.access)
            })
            .map(|at| Spot { row: at.row, site, mirrored: false })
    }
}

/// Returns the rows of one lattice, which are consecutive.
fn range_of(rows: &[SiteRow], lattice: usize) -> std::ops::Range<usize> {
    let lattice = lattice as u32;
    let first = rows.partition_point(|row| row.lattice < lattice);
    first..rows.partition_point(|row| row.lattice <= lattice)
}

/// Writes the present positions of the cells of `state`; positions of cells that have not moved
/// stay bit-identical. Returns how many cells have moved or been mirrored.
pub(super) fn write_back(state: &State, at: &mut Placement) -> usize {
    const NODES: usize = 1 << 12;
    let columns = (
        chunks_mut(&mut at.x, NODES),
        chunks_mut(&mut at.y, NODES),
        chunks_mut(&mut at.orientation, NODES),
        chunks(&state.cell_of, NODES),
    );
    let moved = parallel::map_items(columns, |_, (x, y, orientation, cell_of)| {
        let mut moved = 0;
        for (node, index) in cell_of.iter().enumerate() {
            let Some(index) = *index else { continue };
            let cell = &state.cells[index as usize];
            if cell.spot == cell.home {
                continue;
            }
            moved += 1;
            if (cell.spot.row, cell.spot.site) != (cell.home.row, cell.home.site) {
                let row = &state.rows[cell.spot.row as usize];
                (x[node], y[node]) = (row.left(cell.spot.site + cell.padding), row.y);
            }
            let pose = state.pose(index, cell.spot);
            if pose.flipped {
                orientation[node] = orientation[node].flipped();
            }
            if pose.mirrored {
                orientation[node] = orientation[node].mirrored();
            }
        }
        moved
    });
    moved.into_iter().sum()
}
