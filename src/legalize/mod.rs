//! Legalization: moves every cell to a nearby legal place, on rows and sites, without overlap.
//!
//! [`legalize`] works on the result of global placement or on any other placement, in these steps:
//!
//! 1. Macros are pushed apart and onto free sites (`macros`).
//! 2. Desired positions of cells are spread in overfull areas (`spread`).
//! 3. Abacus places cells from left to right (`abacus`), each on the nearby row in which it and the
//!    cells that it pushes move least.
//! 4. A cell that fits nowhere is inserted between others, which are pushed aside (`shelf`), change
//!    rows, or exchange places with it (`repair`).
//! 5. Cells with large displacements look for a nearer place. If cells are still unplaced or far
//!    away, other orders are tried (`stage`).
//!
//! Distances are |Δx| + |Δy| of the lower-left corner, in sites, with equal weights for x and y.
//! Wirelength is not considered; `benchmarks/experiments.md` has experiments with it.
//! [`crate::legality`], which does not use this module, checks the result.
//!
//! The result does not depend on the number of threads. Rows are divided into stripes, whose number
//! depends on the cells, and each cell goes to the rows of its stripe.
//!
//! ```
//! use placefield::design::{Design, NodeKind, Nodes, Orientation, Placement, Row};
//! use placefield::legality::{self, LegalityOptions};
//! use placefield::legalize::{LegalizeOptions, legalize};
//! use std::ops::ControlFlow;
//!
//! // Three cells of 4 × 10 in a heap, on two rows.
//! let row = Row { height: 10.0, site_width: 1.0, pitch: 1.0, sites: 9, ..Row::default() };
//! let mut design = Design {
//!     nodes: Nodes {
//!         width: vec![4.0; 3],
//!         height: vec![10.0; 3],
//!         kind: vec![NodeKind::Movable; 3],
//!         ..Nodes::default()
//!     },
//!     placement: Placement {
//!         x: vec![2.2, 2.6, 3.1],
//!         y: vec![1.0, 2.0, 3.0],
//!         orientation: vec![Orientation::N; 3],
//!     },
//!     rows: vec![row, Row { y: 10.0, ..row }],
//!     ..Design::default()
//! };
//! let options = LegalizeOptions::default();
//! let legalized = legalize(&design, &options, &mut |_| ControlFlow::Continue(()))?;
//! assert!(legalized.failed.is_empty());
//! design.placement = legalized.placement;
//! assert!(legality::check(&design, &LegalityOptions::default())?.is_legal());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod abacus;
mod apart;
mod gaps;
mod macros;
mod repair;
mod shelf;
mod spread;
mod stage;
mod watch;

use crate::design::{Design, Halo, NodeKind, Placement};
use crate::displacement;
use crate::parallel;
use crate::rows::{Cells, RowsError, Sites};
use crate::setters::setters;
use std::fmt;
use std::ops::ControlFlow;
use watch::Watch;

/// Designs of more cells are not placed in one order of all cells where cells with halos leave too
/// little room for others.
const MOST_CELLS_IN_ONE_ORDER: usize = 1 << 14;

/// Options of [`legalize`]; the methods change the defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LegalizeOptions {
    /// Free sites at either side of every cell except macros; 0 by default.
    pub padding: u32,
    /// Largest displacement of cells, |Δx| + |Δy| of their centres in row heights. A cell that
    /// moves farther is listed in [`Legalized::too_far`], but is legal. No limit by default.
    pub max_displacement: Option<f64>,
    /// Whether gaps of one site between cells are closed or widened; no by default.
    pub no_one_site_gaps: bool,
    /// Least distances between two macros along x and along y, layout units; 0 by default. Two
    /// macros keep the distance along one axis at least, and other cells may lie between them. A
    /// macro that keeps a larger distance by its halo does so still.
    pub macro_channel: [f64; 2],
}

impl LegalizeOptions {
    setters! {
        /// Sets the number of free sites at either side of every cell.
        padding: u32,
        /// Sets the largest displacement of cells, in row heights.
        max_displacement: Option<f64>,
        /// Without gaps of one site, or with.
        no_one_site_gaps: bool,
        /// Sets the least distances between two macros along x and along y, layout units.
        macro_channel: [f64; 2],
    }
}

/// Progress of a legalization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Cells that were placed or looked at again.
    pub placed: usize,
    /// Cells to be placed.
    pub cells: usize,
}

/// A cell for which no legal place was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Failed {
    /// The node, by its index in the design.
    pub node: u32,
    /// Why.
    pub reason: Reason,
}

/// Why no legal place was found for a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// No row has its height, its kind of sites, its rails and an orientation that it may have.
    NoRow,
    /// It is wider than the widest free run of sites that it may lie in.
    TooWide {
        /// Sites that it takes, padding included.
        sites: i32,
        /// Sites of the widest free run; 0 where there is none.
        widest: i32,
    },
    /// Where it may lie others do, and no room could be made.
    Full,
    /// It has a legal place, but farther away than the limit.
    TooFar {
        /// The distance of its centres, row heights.
        rows: f64,
    },
    /// The work was stopped before it was placed.
    Interrupted,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NoRow => {
                f.write_str("no row is made for its height, sites, rails and symmetry")
            }
            Reason::TooWide { widest: 0, .. } => {
                f.write_str("there are no free sites where it may lie")
            }
            Reason::TooWide { sites, widest } => {
                write!(f, "it takes {sites} sites, and the widest free run has {widest}")
            }
            Reason::Full => f.write_str("other cells take the sites where it may lie"),
            Reason::TooFar { rows } => write!(f, "its nearest place is {rows:.1} rows away"),
            Reason::Interrupted => f.write_str("legalization was stopped before it was placed"),
        }
    }
}

/// A placement in which all cells except the failed ones are legal.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Legalized {
    /// Where all nodes lie. Those that failed are where they were.
    pub placement: Placement,
    /// Cells for which no legal place was found, by node.
    pub failed: Vec<Failed>,
    /// Cells whose legal place is beyond [`LegalizeOptions::max_displacement`], by node.
    pub too_far: Vec<Failed>,
    /// Movable macros among the nodes, with cells that have a halo.
    pub macros: usize,
    /// Whether it was stopped from outside.
    pub interrupted: bool,
}

/// Returns which nodes are placed before others: macros, and cells that keep a halo free.
fn first_nodes(design: &Design) -> Vec<bool> {
    let row = design.usual_height();
    let mut first = parallel::map(design.nodes.len(), |i| design.is_macro(i, row));
    for halo in design.halos.iter().filter(|halo| !halo.soft) {
        first[halo.node as usize] = true;
    }
    first
}

/// Returns the numbers below `count` from `above` outwards, the nearer one first, each with its
/// distance.
fn outwards(
    above: usize,
    count: usize,
    distance: impl Fn(usize) -> f64,
) -> impl Iterator<Item = (usize, f64)> {
    let (mut low, mut high) = (above, above);
    std::iter::from_fn(move || {
        let below = if low > 0 { distance(low - 1) } else { f64::INFINITY };
        let over = if high < count { distance(high) } else { f64::INFINITY };
        if low == 0 && high == count {
            return None;
        }
        Some(if below <= over {
            low -= 1;
            (low, below)
        } else {
            high += 1;
            (high - 1, over)
        })
    })
}

/// Placed macros, and the sites that are free beside them.
struct WithMacros {
    sites: Sites,
    done: Legalized,
    /// Nodes that occupy sites, and nodes that there were rows for.
    placed: Vec<bool>,
    standing: Vec<bool>,
}

/// Places the nodes of `first`.
fn with_macros(
    design: &Design,
    first: &[bool],
    options: &LegalizeOptions,
    watch: &mut Watch<'_>,
) -> Result<WithMacros, RowsError> {
    let mut sites = Sites::new(design)?;
    let mut done = Legalized { placement: design.placement.clone(), ..Legalized::default() };
    // Macros are placed on the first lattice that has rows for them, each once.
    let mut placed = vec![false; design.nodes.len()];
    let mut standing = vec![false; design.nodes.len()];
    let movable = |i: usize| design.nodes.kind[i] == NodeKind::Movable;
    for lattice in 0..sites.lattices().len() {
        let waiting = parallel::filter(first.len(), |i| first[i] && movable(i) && !standing[i]);
        let cells = Cells::of_nodes(design, &sites, lattice, options.padding, &waiting)?;
        if cells.cells().is_empty() {
            continue;
        }
        let failed = macros::place(design, &sites, &cells, options, &mut done.placement, watch);
        done.macros += cells.cells().len();
        for cell in cells.cells() {
            (placed[cell.node as usize], standing[cell.node as usize]) = (true, true);
        }
        for cell in failed {
            placed[cell.node as usize] = false;
            let reason = if watch.stopped() { Reason::Interrupted } else { Reason::Full };
            done.failed.push(Failed { node: cell.node, reason });
        }
        sites = Sites::beside(design, &|i| placed[i], &done.placement)?;
    }
    Ok(WithMacros { sites, done, placed, standing })
}

/// Moves every movable macro of `design`, and the nodes that are placed with macros, to a nearby
/// legal place; other nodes do not move. Returns the indices of these nodes. If no place was found
/// for a macro, or `watch` broke, returns no nodes and does not change the design.
///
/// # Errors
/// As [`legalize`].
pub(crate) fn legalize_macros(
    design: &mut Design,
    options: &LegalizeOptions,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Vec<usize>, RowsError> {
    let watch = &mut Watch::new(design.nodes.len(), watch);
    let first = first_nodes(design);
    let moves = |i: usize| (first[i] && design.nodes.kind[i] == NodeKind::Movable).then_some(());
    if parallel::first(first.len(), moves).is_none() {
        return Ok(Vec::new());
    }
    let WithMacros { done, placed, .. } = with_macros(design, &first, options, watch)?;
    if !done.failed.is_empty() || watch.stopped() {
        return Ok(Vec::new());
    }
    design.placement = done.placement;
    Ok((0..placed.len()).filter(|&i| placed[i]).collect())
}

/// Moves every movable node with area of `design` to a nearby legal place. Uses all threads of the
/// current rayon pool.
///
/// `watch` is called with the progress from time to time; when it breaks, the placement so far is
/// the result: nodes without a place are where they were.
///
/// # Errors
/// When the design's columns do not fit together, it has no rows with sites, a number is not
/// finite, or sites are too many to count.
pub fn legalize(
    design: &Design,
    options: &LegalizeOptions,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Legalized, RowsError> {
    let count = design.movable().count();
    let watch = &mut Watch::new(count, watch);
    let mut done = legalize_after(design, &first_nodes(design), options, watch)?;
    let is_halo_of_cell = |halo: &Halo| {
        let node = halo.node as usize;
        !halo.soft
            && design.nodes.kind[node] == NodeKind::Movable
            && !design.is_macro(node, design.usual_height())
    };
    let few = count <= MOST_CELLS_IN_ONE_ORDER;
    if few && !done.failed.is_empty() && design.halos.iter().any(is_halo_of_cell) {
        let all = vec![true; design.nodes.len()];
        let other = legalize_after(design, &all, options, watch)?;
        if other.failed.len() < done.failed.len() {
            done = Legalized { macros: done.macros, ..other };
        }
    }
    let limit = options.max_displacement;
    done.too_far = too_far(design, &design.placement, &done.placement, limit);
    let is_placed =
        |far: &Failed| done.failed.binary_search_by_key(&far.node, |failed| failed.node).is_err();
    done.too_far.retain(is_placed);
    done.interrupted |= watch.stopped();
    Ok(done)
}

/// Places the nodes of `first`, then all others beside them.
fn legalize_after(
    design: &Design,
    first: &[bool],
    options: &LegalizeOptions,
    watch: &mut Watch<'_>,
) -> Result<Legalized, RowsError> {
    let WithMacros { mut sites, mut done, mut placed, mut standing } =
        with_macros(design, first, options, watch)?;
    let lattices = sites.lattices().len();
    let homes = if lattices > 1 { Some(stage::homes(design, &sites)?) } else { None };
    for lattice in 0..lattices {
        let here = |i: usize| homes.as_ref().is_none_or(|homes| homes[i] == lattice as u32);
        let waits = |i: usize| design.nodes.kind[i] == NodeKind::Movable && !first[i] && here(i);
        let nodes = parallel::filter(first.len(), waits);
        let cells = Cells::of_nodes(design, &sites, lattice, options.padding, &nodes)?;
        stage::place(design, &sites, &cells, options, &mut done, &mut standing, watch);
        if lattice + 1 < lattices {
            for cell in cells.cells() {
                placed[cell.node as usize] = true;
            }
            done.failed.iter().for_each(|failed| placed[failed.node as usize] = false);
            sites = Sites::beside(design, &|i| placed[i], &done.placement)?;
        }
    }
    let nodes = &design.nodes;
    let has_area = |i: usize| nodes.width[i] > 0.0 && nodes.height[i] > 0.0;
    let is_rowless = |i: usize| nodes.kind[i] == NodeKind::Movable && has_area(i) && !standing[i];
    let rowless = parallel::filter(nodes.len(), is_rowless).into_iter();
    done.failed.extend(rowless.map(|i| Failed { node: i as u32, reason: Reason::NoRow }));
    done.failed.sort_unstable_by_key(|failed| failed.node);
    Ok(done)
}

/// Returns the movable nodes of `design` that are farther from their places in `from`, in `to`,
/// than so many heights of the most frequent rows.
pub(crate) fn too_far(
    design: &Design,
    from: &Placement,
    to: &Placement,
    limit: Option<f64>,
) -> Vec<Failed> {
    let (Some(limit), Some(row)) = (limit, design.row_height()) else { return Vec::new() };
    let far = |node: usize| {
        let rows = displacement::of(design, node, from, to) / row;
        let failed = Failed { node: node as u32, reason: Reason::TooFar { rows } };
        (rows > limit * (1.0 + 1e-9)).then_some(failed)
    };
    design.movable().filter_map(far).collect()
}

#[cfg(test)]
mod properties;
