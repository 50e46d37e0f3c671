//! What every rectangle weighs.
//!
//! A *body* is a rectangle that moves: the movable cells first, then the
//! fillers. [`Charge`] holds what does not change from one iteration to the
//! next: the bodies' sizes, how each is smoothed, and the area fixed cells
//! take from every bin. Everything here is `f64` and is made once; engines
//! round it to their own precision.

use crate::grid::{BinGrid, Map};

/// The bodies of an evaluation and the area that is taken for good.
#[derive(Clone, Debug)]
pub struct Charge {
    /// The bins.
    pub grid: BinGrid,
    /// Target density T, in (0, 1].
    pub target_density: f64,
    /// Number of movable cells: bodies `0..movable`.
    pub movable: usize,
    /// Width of every body, layout units.
    pub width: Vec<f64>,
    /// Height of every body, layout units.
    pub height: Vec<f64>,
    /// Weight of a body's smoothed area: the area it adds to a bin is
    /// `ratio` × overlap of its stretched rectangle with the bin.
    pub ratio: Vec<f64>,
    /// Where the bodies start, lower-left corners.
    pub initial_x: Vec<f64>,
    /// Where the bodies start, lower-left corners.
    pub initial_y: Vec<f64>,
    /// Fixed area per bin, clamped to the bin's area and scaled by T.
    pub fixed: Map<f64>,
    /// Σ width × height of the movable cells.
    pub movable_area: f64,
}

impl Charge {
    /// Number of bodies, movable cells and fillers.
    pub fn bodies(&self) -> usize {
        self.width.len()
    }

    /// Number of fillers: bodies `movable..bodies()`.
    pub fn fillers(&self) -> usize {
        self.bodies() - self.movable
    }
}
