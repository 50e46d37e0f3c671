//! The model of rows: free sites, the allowed rows of every movable cell, and the cells
//! on them.
//!
//! A *lattice* is all sites of one pitch and phase along x; on it a position is a whole number
//! ([`Lattice::x`]). A [`SiteRow`] is all subrows of one lattice, bottom edge, height, orientation,
//! symmetry and kind of sites together: fragments of a row that meet have the same phase, and a
//! cell may lie across them. Rows of one lattice may overlap (hybrid rows). So occupied sites are
//! recorded by *band*: the bands divide each lattice along y at every edge of a row, and a cell
//! occupies sites of all bands that it covers. If rows do not overlap, every row is one band.
//!
//! [`Sites::free`] returns the free runs of sites of a band: on rows, without fixed nodes, hard
//! blockages, halos of fixed nodes, sites that the edge of a fence cuts, and the stripes that keep
//! a partial blockage below its limit. Each run names the fence that it is within. The [`Access`] of
//! a cell says which of these it may use. [`Sites::segments`] returns the runs of a row, which are
//! free in all of its bands. A cell of one row needs one of these; a higher cell needs its sites
//! free in every band of [`AllowedRow::bands`].
//!
//! [`Cells`] are the movable nodes with area on one lattice: width in sites, padding, access to
//! areas, and allowed rows. [`orientation_on`] returns the orientation of a cell on a row.
//! `RowCells` holds the cells of a band in order. Legalization and detailed placement move cells
//! in it.
//!
//! Legality shares the rules about tolerance, orientations, rails and kinds of sites. It takes edges
//! and sites from the rows of the design, without lattices: a lattice rounds the phase of a subrow,
//! and a cell that reaches over rows of several lattices may be legal.
//!
//! ```
//! use placefield::design::{Blockage, BlockageKind, Design, NodeKind, Nodes, Orientation};
//! use placefield::design::{Placement, Row};
//! use placefield::grid::Rect;
//! use placefield::rows::{Access, Cells, Sites};
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
//! let runs: Vec<_> = sites.segments(Access::default(), 1).iter().map(|run| (run.start, run.end)).collect();
//! assert_eq!(runs, [(0, 5), (7, 20)]);
//! let cells = Cells::new(&design, &sites, 0, 0)?;
//! assert_eq!(cells.cells()[0].width, 3);
//! // The second is two rows high, and may lie on the lower one alone.
//! let rows = cells.rows(&cells.cells()[1]);
//! assert_eq!((rows.len(), rows[0].row, rows[0].bands()), (1, 0, 0..2));
//! # Ok::<(), placefield::rows::RowsError>(())
//! ```

mod cells;
mod index;
mod occupancy;
mod sites;

pub use cells::{AllowedRow, Cell, Cells, orientation_on};
pub(crate) use cells::{site_kinds, site_needed};
pub(crate) use index::RectIndex;
pub(crate) use occupancy::{Exchange, Occupant, RowCells, Span};
pub use sites::{Access, Band, Lattice, Run, SiteRow, Sites};
pub(crate) use sites::{TOLERANCE, limited, shared, shortest, without};

use crate::design::DesignError;

/// The reason why a design has no model of rows.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RowsError {
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
    /// At its coordinates an `f64` does not tell the edges of its sites apart.
    #[error("row {index} at ({x:e}, {y:e}): too far from (0, 0) for the size of its sites")]
    TooFar {
        /// Its index in the design.
        index: usize,
        /// Left edge, layout units.
        x: f64,
        /// Bottom edge, layout units.
        y: f64,
    },
    /// Rows, cells or padding of more sites than are counted.
    #[error("more than {} sites side by side", 1 << 29)]
    TooManySites,
    /// The lists of the rows that cells of every height may stand on are too long.
    #[error("cells of too many heights for so many rows")]
    TooManyHeights,
}

#[cfg(test)]
mod tests;
