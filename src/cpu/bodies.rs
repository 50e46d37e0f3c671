//! Sizes and weights of the bodies, and the footprint each leaves on the bins:
//! kept once for density and force, which must agree to the last bit on what
//! overlaps what.

use crate::charge::Charge;
use crate::charge::overlap::{Axis, Span};
use crate::real::Real;

/// What a kernel needs to know of one body, in `f64` in either precision: the
/// rounding of a size or weight would be that of all fillers, or of all cells of
/// one kind. Where ρ is flat that is an error of long wavelength, and φ is most
/// sensitive to those.
#[derive(Clone, Copy, Debug)]
struct Body {
    width: f64,
    height: f64,
    /// Weight of its stretched area.
    ratio: f64,
    /// Weight of its own area: T for a macro, 1 for every other.
    own: f64,
}

/// Which of a body's two rectangles is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Stretched to √2 bins, weighing `ratio`.
    Smoothed,
    /// Its exact size.
    Exact,
}

/// The bins a body covers: the product of two spans, times a weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Footprint {
    pub(super) x: Span,
    pub(super) y: Span,
    pub(super) weight: f64,
}

/// Sizes and weights of all bodies, and the grid they are measured on.
#[derive(Clone, Debug)]
pub(super) struct Bodies {
    bodies: Vec<Body>,
    pub(super) movable: usize,
    x: Axis,
    y: Axis,
    /// Bins along each axis.
    pub(super) bins: [usize; 2],
    /// Area of a bin, layout units squared.
    pub(super) bin_area: f64,
}

impl Bodies {
    pub(super) fn new(charge: &Charge) -> Self {
        let mut bodies: Vec<Body> = (0..charge.bodies())
            .map(|i| Body {
                width: charge.width()[i],
                height: charge.height()[i],
                ratio: charge.ratio()[i],
                own: 1.0,
            })
            .collect();
        for &i in charge.macros() {
            bodies[i as usize].own = charge.target_density();
        }
        let grid = charge.grid();
        let (x, y) = Axis::of(&grid);
        Bodies {
            bodies,
            movable: charge.movable(),
            x,
            y,
            bins: [grid.nx(), grid.ny()],
            bin_area: grid.bin_area(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.bodies.len()
    }

    /// Width of body `i`, layout units, not stretched.
    #[inline(always)]
    pub(super) fn width(&self, i: usize) -> f64 {
        self.bodies[i].width
    }

    /// The columns of bins that body `i` covers with its left edge at `x`.
    #[inline(always)]
    pub(super) fn columns<T: Real>(&self, i: usize, extent: Extent, x: T) -> Option<Span> {
        let width = self.bodies[i].width;
        match extent {
            Extent::Smoothed => self.x.stretched_span(x.wide(), width),
            Extent::Exact => self.x.span(x.wide(), width),
        }
    }

    /// The bins that body `i` covers with its lower-left corner at `(x, y)`:
    /// `None` outside the die.
    #[inline(always)]
    pub(super) fn footprint<T: Real>(
        &self,
        i: usize,
        extent: Extent,
        x: T,
        y: T,
    ) -> Option<Footprint> {
        let body = &self.bodies[i];
        let height = body.height;
        let columns = self.columns(i, extent, x)?;
        let (rows, weight) = match extent {
            Extent::Smoothed => (self.y.stretched_span(y.wide(), height)?, body.ratio),
            Extent::Exact => (self.y.span(y.wide(), height)?, body.own),
        };
        Some(Footprint { x: columns, y: rows, weight })
    }
}

/// The overlaps with the `N ≤ 4` bins from a span's first on, zero beyond its
/// end: what a window of set size needs. The span ends at the `last`-th of them.
///
/// Picked from tables, without a branch: whether a body covers 2 or 3 bins is as
/// good as random, and a misprediction costs more than adding zeros.
#[inline(always)]
pub(super) fn window<const N: usize>(last: usize, head: f64, tail: f64) -> [f64; N] {
    const BETWEEN: [[f64; 4]; 4] = [[0.0; 4], [0.0; 4], [0.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0]];
    const LAST: [[f64; 4]; 4] =
        [[0.0; 4], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    let (between, at_last) = (&BETWEEN[last & 3], &LAST[last & 3]);
    let mut overlaps = std::array::from_fn(|k| between[k] + at_last[k] * tail);
    overlaps[0] = head;
    overlaps
}
