//! The rectangles of an engine.

use super::memory::{Span, initialise, values};
use super::status::{ErrorText, Failure, Status, call};
use crate::charge::{Charge, ChargeOptions, Rectangles};
use crate::grid::{BinGrid, Rect};

/// The rectangles of a design, in layout units. Filled by placefield_bodies_init, then changed. The
/// engine copies the arrays, so they can be freed once it is made.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bodies {
    /// Set by placefield_bodies_init.
    pub struct_size: u32,
    /// Not 0: fillers fill the free area at the target density.
    pub fillers: i32,
    /// Number of movable cells, the length of the next four arrays.
    pub movable: usize,
    /// Widths of the movable cells.
    pub width: *const f64,
    /// Heights.
    pub height: *const f64,
    /// Lower-left corners of their start; NULL: the lower-left corner of the die.
    pub x: *const f64,
    /// Likewise.
    pub y: *const f64,
    /// For each movable cell, not 0 if it is a macro; NULL: large cells are macros. Used only below
    /// a target density of 1.
    pub macros: *const u8,
    /// Number of fixed cells, the length of the next four arrays.
    pub fixed: usize,
    /// Lower-left corners of the fixed cells.
    pub fixed_x: *const f64,
    /// Like `fixed_x`.
    pub fixed_y: *const f64,
    /// Widths of the fixed cells.
    pub fixed_width: *const f64,
    /// Heights of the fixed cells.
    pub fixed_height: *const f64,
    /// Height of a row, and so of a filler; 0: the median height of the movable cells.
    pub row_height: f64,
    /// The largest share of a bin that placement should fill, above 0 and at most 1.
    pub target_density: f64,
    /// Seed of the fillers' positions.
    pub seed: u64,
    /// Number of fences; 0: all cells are in one region, the die. The cells of each fence have a
    /// separate density, in which everything outside the fence is blocked. The cells without a
    /// fence have another one, in which the fences are blocked.
    pub fences: usize,
    /// For each movable cell the number of its fence, or `fences` if it has none; NULL: no cell has
    /// a fence.
    pub region: *const u32,
    /// Number of rectangles of all fences, the length of the next five arrays.
    pub fence_rects: usize,
    /// For each rectangle the number of its fence. A fence is the union of its rectangles.
    pub fence_of_rect: *const u32,
    /// Lower-left corners of the rectangles.
    pub fence_x: *const f64,
    /// Like `fence_x`.
    pub fence_y: *const f64,
    /// Widths of the rectangles.
    pub fence_width: *const f64,
    /// Heights of the rectangles.
    pub fence_height: *const f64,
}

impl Bodies {
    /// Returns the memory of all arrays.
    pub(super) fn spans(&self) -> [Span<'static>; 15] {
        let (n, fixed, rects) = (self.movable, self.fixed, self.fence_rects);
        [
            Span::new(self.width, n, "bodies.width"),
            Span::new(self.height, n, "bodies.height"),
            Span::new(self.x, n, "bodies.x"),
            Span::new(self.y, n, "bodies.y"),
            Span::new(self.macros, n, "bodies.macros"),
            Span::new(self.fixed_x, fixed, "bodies.fixed_x"),
            Span::new(self.fixed_y, fixed, "bodies.fixed_y"),
            Span::new(self.fixed_width, fixed, "bodies.fixed_width"),
            Span::new(self.fixed_height, fixed, "bodies.fixed_height"),
            Span::new(self.region, n, "bodies.region"),
            Span::new(self.fence_of_rect, rects, "bodies.fence_of_rect"),
            Span::new(self.fence_x, rects, "bodies.fence_x"),
            Span::new(self.fence_y, rects, "bodies.fence_y"),
            Span::new(self.fence_width, rects, "bodies.fence_width"),
            Span::new(self.fence_height, rects, "bodies.fence_height"),
        ]
    }

    /// # Safety
    /// Arrays have the lengths given.
    pub(super) unsafe fn charge(&self, grid: BinGrid) -> Result<Charge, Failure> {
        let n = self.movable;
        // SAFETY: the caller's promise, for all of them.
        let column = |start, what| unsafe { values(start, n, what) };
        let (width, height) =
            (column(self.width, "bodies.width")?, column(self.height, "bodies.height")?);
        let die = grid.die();
        let corner = |start: *const f64, what, at| match start.is_null() {
            true => Ok(vec![at; n]),
            false => column(start, what).map(<[f64]>::to_vec),
        };
        let (x, y) = (corner(self.x, "bodies.x", die.xl)?, corner(self.y, "bodies.y", die.yl)?);
        let marks = if self.macros.is_null() { 0 } else { n };
        // SAFETY: the caller's promise.
        let marks = unsafe { values(self.macros, marks, "bodies.macros") }?;
        let macros: Vec<bool> = marks.iter().map(|&mark| mark != 0).collect();
        // SAFETY: the caller's promise, for all of them.
        let column = |start, what| unsafe { values(start, self.fixed, what) };
        let fixed_x = column(self.fixed_x, "bodies.fixed_x")?;
        let fixed_y = column(self.fixed_y, "bodies.fixed_y")?;
        let fixed_width = column(self.fixed_width, "bodies.fixed_width")?;
        let fixed_height = column(self.fixed_height, "bodies.fixed_height")?;
        let rect = |i: usize| Rect::at(fixed_x[i], fixed_y[i], fixed_width[i], fixed_height[i]);
        let fixed: Vec<Rect> = (0..self.fixed).map(rect).collect();
        let cells = Rectangles::movable(width, height, &x, &y)
            .fixed(&fixed)
            .row_height((self.row_height != 0.0).then_some(self.row_height))
            .macros((!self.macros.is_null()).then_some(&macros[..]));
        let options = ChargeOptions::default()
            .target_density(self.target_density)
            .fillers(self.fillers != 0)
            .seed(self.seed);
        let mut charge = Charge::from_rectangles(grid, &cells, &options)?;
        if self.fences > 0 {
            // SAFETY: the caller's promise.
            let (fences, region) = unsafe { self.fences() }?;
            charge.set_fences(&fences, &region)?;
        }
        Ok(charge)
    }

    /// Returns every fence's rectangles, and the region of every movable cell.
    ///
    /// # Safety
    /// Arrays have the lengths given.
    unsafe fn fences(&self) -> Result<(Vec<Vec<Rect>>, Vec<u32>), Failure> {
        // SAFETY: the caller's promise, for all of them.
        let column = |start, what| unsafe { values(start, self.fence_rects, what) };
        let x = column(self.fence_x, "bodies.fence_x")?;
        let y = column(self.fence_y, "bodies.fence_y")?;
        let width = column(self.fence_width, "bodies.fence_width")?;
        let height = column(self.fence_height, "bodies.fence_height")?;
        // SAFETY: the caller's promise.
        let of = unsafe { values(self.fence_of_rect, self.fence_rects, "bodies.fence_of_rect") }?;
        // Every fence has a rectangle at least: no more are made than there are.
        if self.fences > self.fence_rects {
            let (fences, rects) = (self.fences, self.fence_rects);
            return Err(Failure::argument(format!("{fences} fences of {rects} rectangles")));
        }
        let mut fences = vec![Vec::new(); self.fences];
        for (i, &fence) in of.iter().enumerate() {
            let fence = fences.get_mut(fence as usize).ok_or_else(|| {
                let fences = self.fences;
                Failure::argument(format!(
                    "bodies.fence_of_rect {i}: {fence}: expected a number below {fences}"
                ))
            })?;
            fence.push(Rect::at(x[i], y[i], width[i], height[i]));
        }
        let region = match self.region.is_null() {
            true => vec![self.fences as u32; self.movable],
            // SAFETY: the caller's promise.
            false => unsafe { values(self.region, self.movable, "bodies.region") }?.to_vec(),
        };
        Ok((fences, region))
    }
}

/// Fills `bodies` with the defaults: none, target density 1, no fillers, seed 1000.
/// `struct_size` is sizeof(placefield_bodies).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_bodies_init(
    bodies: *mut Bodies,
    struct_size: usize,
    error: *mut ErrorText,
) -> Status {
    let none = std::ptr::null();
    let defaults = Bodies {
        struct_size: size_of::<Bodies>() as u32,
        fillers: 0,
        movable: 0,
        width: none,
        height: none,
        x: none,
        y: none,
        macros: std::ptr::null(),
        fixed: 0,
        fixed_x: none,
        fixed_y: none,
        fixed_width: none,
        fixed_height: none,
        row_height: 0.0,
        target_density: 1.0,
        seed: 1000,
        fences: 0,
        region: std::ptr::null(),
        fence_rects: 0,
        fence_of_rect: std::ptr::null(),
        fence_x: none,
        fence_y: none,
        fence_width: none,
        fence_height: none,
    };
    call(error, || initialise(bodies, struct_size, "bodies", defaults))
}
