//! Legal placements: cells on rows and sites, without overlap, near where they are.
//!
//! [`legalize`] takes a placement, as global placement leaves it or any other, and gives each
//! movable node a legal place near its own: macros first, pushed apart and onto free sites
//! (`macros`); then cells from left to right by Abacus (`abacus`): of the rows nearby each takes
//! the one where it and those it pushes go the least way. Where a cell fits nowhere any more, or
//! rows overlap, it is put between others, which are pushed aside (`shelf`) or change rows
//! (`repair`). Last, cells that had to go far look for a nearer place.
//!
//! Distances are |Δx| + |Δy| of the lower-left corner, in sites, weighted alike along x and y.
//! Wirelength is not looked at: `benchmarks/experiments.md` says what weighing it brought. The
//! result is judged by [`crate::legality`], which knows nothing of this module.
//!
//! The same result for any number of threads. Rows are dealt with in stripes, as many as cells
//! ask for, and cells of one stripe go to its rows.
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
pub(crate) mod limits;
mod macros;
mod repair;
mod shelf;
pub mod sites;
mod stage;

use crate::design::{Design, DesignError, Placement};
use crate::setters::setters;
use sites::{Cells, Sites};
use std::fmt;
use std::ops::ControlFlow;

/// How [`legalize`] works: the default, and what is to differ from it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LegalizeOptions {
    /// Sites that stay free at either side of every cell that is no macro. None by default.
    pub padding: u32,
    /// The largest displacement of a cell, |Δx| + |Δy| of its centre, in heights of the most
    /// frequent rows. No limit by default.
    pub max_displacement: Option<f64>,
    /// Whether gaps of one site between neighbours are forbidden; no by default.
    pub no_one_site_gaps: bool,
}

impl LegalizeOptions {
    setters! {
        /// With so many sites free at either side of every cell.
        padding: u32,
        /// With this largest displacement of a cell, in heights of rows.
        max_displacement: Option<f64>,
        /// With gaps of one site forbidden, or not.
        no_one_site_gaps: bool,
    }
}

/// How far legalization is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Cells that have a legal place.
    pub placed: usize,
    /// Movable nodes with area.
    pub cells: usize,
}

/// A cell for which no legal place was found, or none within the options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Failed {
    /// The node, by its index in the design.
    pub node: u32,
    /// Why.
    pub reason: Reason,
}

/// Why no legal place was found for a cell, or none within the options.
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
    /// Its place is farther away than [`LegalizeOptions::max_displacement`].
    TooFar {
        /// Its displacement, in heights of rows.
        rows: f64,
    },
    /// Beside it is a gap of one site.
    OneSiteGap,
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
            Reason::TooFar { rows } => {
                write!(f, "its place is {rows:.2} rows away, farther than the limit")
            }
            Reason::OneSiteGap => f.write_str("a gap of one site is beside it"),
        }
    }
}

/// A legal placement, but for the cells that failed.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Legalized {
    /// Where all nodes lie. Those that failed are where they were.
    pub placement: Placement,
    /// Cells for which no legal place was found, by node.
    pub failed: Vec<Failed>,
    /// Cells whose legal place is beyond [`LegalizeOptions::max_displacement`] or leaves a gap of
    /// one site where that is forbidden, by node.
    pub too_far: Vec<Failed>,
    /// Movable macros among the nodes, with cells of more than four rows.
    pub macros: usize,
    /// Whether it was ended from outside: some cells are where they were then.
    pub interrupted: bool,
}

/// Cells of more rows than this are placed with the macros, before others.
const MOST_ROWS_OF_OTHERS: f64 = 4.0;

/// Whether a node is placed before others.
fn comes_first(design: &Design, sites: &Sites, node: usize) -> bool {
    sites.is_macro(design, node)
        || design.nodes.height[node] > 1.001 * MOST_ROWS_OF_OTHERS * sites.usual_height()
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

/// Where the macros stand, and what is free beside them.
struct WithMacros {
    sites: Sites,
    done: Legalized,
    /// Nodes that take sites, and those that there were rows for.
    placed: Vec<bool>,
    standing: Vec<bool>,
}

fn with_macros(design: &Design, padding: u32) -> Result<WithMacros, LegalizeError> {
    let mut sites = Sites::new(design)?;
    let mut done = Legalized { placement: design.placement.clone(), ..Legalized::default() };
    // Macros stand on the first lattice that has rows for them, each once.
    let mut placed = vec![false; design.nodes.len()];
    let mut standing = vec![false; design.nodes.len()];
    for lattice in 0..sites.lattices().len() {
        let waiting = design.movable().filter(|&i| comes_first(design, &sites, i) && !standing[i]);
        let cells = Cells::of_nodes(design, &sites, lattice, padding, waiting)?;
        if cells.cells().is_empty() {
            continue;
        }
        let failed = macros::place(design, &sites, &cells, &mut done.placement);
        done.macros += cells.cells().len();
        for cell in cells.cells() {
            (placed[cell.node as usize], standing[cell.node as usize]) = (true, true);
        }
        for cell in failed {
            placed[cell.node as usize] = false;
            // Others may give way to what is no macro.
            match cell.is_macro {
                true => done.failed.push(Failed { node: cell.node, reason: Reason::Full }),
                false => standing[cell.node as usize] = false,
            }
        }
        sites = Sites::beside(design, &|i| placed[i], &done.placement)?;
    }
    Ok(WithMacros { sites, done, placed, standing })
}

/// Gives every movable macro of `design`, and what is placed with them, a legal place near where it
/// is; other nodes stay where they are. Returns those nodes; none where no place was found for a
/// macro, and the design stays as it is.
///
/// # Errors
/// As [`legalize`].
pub(crate) fn legalize_macros(
    design: &mut Design,
    options: &LegalizeOptions,
) -> Result<Vec<usize>, LegalizeError> {
    let WithMacros { done, placed, .. } = with_macros(design, options.padding)?;
    if !done.failed.is_empty() {
        return Ok(Vec::new());
    }
    design.placement = done.placement;
    Ok((0..placed.len()).filter(|&i| placed[i]).collect())
}

/// Gives every movable node with area of `design` a legal place near where it is. On all threads
/// of the current rayon pool.
///
/// `watch` is called before the first cell, now and then, and after the last one. When it breaks,
/// the placement so far is the result.
///
/// # Errors
/// When the design's columns do not fit together, it has no rows with sites, a number is not
/// finite, or sites are too many to count.
pub fn legalize(
    design: &Design,
    options: &LegalizeOptions,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Legalized, LegalizeError> {
    design.check()?;
    let has_area = |i: &usize| design.nodes.width[*i] > 0.0 && design.nodes.height[*i] > 0.0;
    let cells = design.movable().filter(has_area).count();
    let mut watched = |placed: usize| watch(&Progress { placed, cells }).is_break();
    if watched(0) {
        let placement = design.placement.clone();
        return Ok(Legalized { placement, interrupted: true, ..Legalized::default() });
    }
    let WithMacros { mut sites, mut done, mut placed, mut standing } =
        with_macros(design, options.padding)?;
    let lattices = sites.lattices().len();
    let first = placed.clone();
    let homes = if lattices > 1 { Some(stage::homes(design, &sites)?) } else { None };
    for lattice in 0..lattices {
        done.interrupted = watched(standing.iter().filter(|&&stands| stands).count());
        if done.interrupted {
            return Ok(done);
        }
        let here = |i: &usize| homes.as_ref().is_none_or(|homes| homes[*i] == lattice as u32);
        let nodes =
            design.movable().filter(|i| !(sites.is_macro(design, *i) || first[*i]) && here(i));
        let cells = Cells::of_nodes(design, &sites, lattice, options.padding, nodes)?;
        stage::place(design, &sites, &cells, &mut done, &mut standing);
        if lattice + 1 < lattices {
            for cell in cells.cells() {
                placed[cell.node as usize] = true;
            }
            done.failed.iter().for_each(|failed| placed[failed.node as usize] = false);
            sites = Sites::beside(design, &|i| placed[i], &done.placement)?;
        }
    }
    let rowless = design.movable().filter(|i| has_area(i) && !standing[*i]);
    done.failed.extend(rowless.map(|i| Failed { node: i as u32, reason: Reason::NoRow }));
    done.failed.sort_unstable_by_key(|failed| failed.node);
    let LegalizeOptions { max_displacement, no_one_site_gaps, .. } = *options;
    done.too_far = limits::exceeded(design, &done.placement, max_displacement, no_one_site_gaps);
    let is_placed =
        |far: &Failed| done.failed.binary_search_by_key(&far.node, |failed| failed.node).is_err();
    done.too_far.retain(is_placed);
    // All is done, whatever the answer.
    let _ = watched(cells - done.failed.len());
    Ok(done)
}

/// Why a design cannot be legalised at all.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LegalizeError {
    /// The columns of the design do not fit together.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// Without rows nothing says where cells may go.
    #[error("the design has no rows with sites, so nothing says where cells may stand")]
    NoRows,
    /// A number that is not finite, or a size that is negative or, of a row, 0.
    #[error(
        "{what} {index}: {value}: expected a finite number, of sizes not below 0, of rows above 0"
    )]
    BadNumber {
        /// The column that has the number.
        what: &'static str,
        /// Its index in the design.
        index: usize,
        /// The number.
        value: f64,
    },
    /// Rows, cells or padding of more sites than are counted.
    #[error("more than {} sites side by side", 1 << 29)]
    TooManySites,
    /// The lists of the rows that cells of every height may stand on are too long.
    #[error("cells of too many heights for so many rows")]
    TooManyHeights,
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
