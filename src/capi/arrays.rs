//! Designs from arrays.

use super::design::{DesignHandle, Read, string};
use super::handles;
use super::memory::{Span, initialise, output, structure, values};
use super::status::{ErrorText, Failure, Status, call};
use crate::design::columns::{self, Columns, ROW};
use crate::design::{Names, Nets, NodeKind, Orientation};
use crate::grid::Rect;
use std::ffi::{CStr, c_char};

/// Numbers of `design_arrays.kind`: whether a node moves.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKindName {
    /// A placer may move it.
    Movable = 0,
    /// It is fixed and blocks the area under it.
    Fixed = 1,
    /// It is fixed, and cells may overlap it.
    FixedOverlappable = 2,
}

/// Numbers of orientations: the eight of the DEF format, a rotation by quarter turns, flipped or not.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the compass names of the format
pub enum OrientationName {
    N = 0,
    S = 1,
    E = 2,
    W = 3,
    FN = 4,
    FS = 5,
    FE = 6,
    FW = 7,
}

/// A design in arrays, in layout units. Filled by placefield_design_arrays_init, then changed. The
/// design copies the arrays, so they can be freed once it is made.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DesignArrays {
    /// Set by placefield_design_arrays_init.
    pub struct_size: u32,
    /// Not 0: area outside every row is blocked.
    pub row_blockage: i32,
    /// Number of nodes, the length of the next seven arrays.
    pub nodes: usize,
    /// Widths of the nodes in their orientations.
    pub width: *const f64,
    /// Heights.
    pub height: *const f64,
    /// Lower-left corners; NULL: at 0.
    pub x: *const f64,
    /// Likewise.
    pub y: *const f64,
    /// For each node a placefield_node_kind; NULL: all are movable.
    pub kind: *const u8,
    /// For each node a placefield_orientation; NULL: all are N.
    pub orientation: *const u8,
    /// Distinct names of the nodes in UTF-8; NULL: no names, so no placement of the design can be
    /// written.
    pub names: *const *const c_char,
    /// Number of nets; 0: the design has none.
    pub nets: usize,
    /// First pin of every net, and the number of pins: `nets` + 1 values.
    pub net_start: *const u32,
    /// Weight of every net, at least 0: `nets` values; NULL: all are 1.
    pub net_weight: *const f64,
    /// Number of pins, the length of the next three arrays.
    pub pins: usize,
    /// The node of every pin.
    pub pin_node: *const u32,
    /// Offsets of pins from the centres of their nodes in their orientations; NULL: 0.
    pub pin_dx: *const f64,
    /// Likewise.
    pub pin_dy: *const f64,
    /// Number of rows.
    pub rows: usize,
    /// Five numbers for every row: x, y, height, site width, number of sites.
    pub row: *const f64,
    /// For each row a placefield_orientation; NULL: all are N.
    pub row_orientation: *const u8,
    /// Left edge of the die. All four edges 0: the die is the bounding box of the rows.
    pub xl: f64,
    /// Bottom edge.
    pub yl: f64,
    /// Right edge.
    pub xh: f64,
    /// Top edge.
    pub yh: f64,
    /// Layout units in a micrometre; 0: unknown.
    pub units_per_micron: f64,
}

/// Fills `design_arrays` with the defaults: no nodes, nets or rows. `struct_size` is
/// sizeof(placefield_design_arrays).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_arrays_init(
    design_arrays: *mut DesignArrays,
    struct_size: usize,
    error: *mut ErrorText,
) -> Status {
    let (none, no_bytes, no_indices) = (std::ptr::null(), std::ptr::null(), std::ptr::null());
    let defaults = DesignArrays {
        struct_size: size_of::<DesignArrays>() as u32,
        row_blockage: 0,
        nodes: 0,
        width: none,
        height: none,
        x: none,
        y: none,
        kind: no_bytes,
        orientation: no_bytes,
        names: std::ptr::null(),
        nets: 0,
        net_start: no_indices,
        net_weight: none,
        pins: 0,
        pin_node: no_indices,
        pin_dx: none,
        pin_dy: none,
        rows: 0,
        row: none,
        row_orientation: no_bytes,
        xl: 0.0,
        yl: 0.0,
        xh: 0.0,
        yh: 0.0,
        units_per_micron: 0.0,
    };
    call(error, || initialise(design_arrays, struct_size, "design_arrays", defaults))
}

/// Makes a design from arrays. Freed by placefield_design_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_from_arrays(
    design_arrays: *const DesignArrays,
    design: *mut *mut DesignHandle,
    error: *mut ErrorText,
) -> Status {
    call(error, || {
        let arrays = structure(design_arrays, "design_arrays", |a: &DesignArrays| a.struct_size)?;
        // The lengths are checked here, before the memory of that length is listed.
        let columns = arrays.columns()?;
        let mut inputs = vec![Span::new(design_arrays, 1, "design_arrays")];
        inputs.extend(arrays.spans());
        let texts = arrays.texts()?;
        inputs.extend(texts.iter().map(|name| {
            let bytes = name.to_bytes_with_nul();
            Span::new(bytes.as_ptr(), bytes.len(), "design_arrays.names")
        }));
        let to = output(design, "design", &inputs)?;
        let made = columns.design();
        let made = made.map_err(|text| Failure::argument(format!("design_arrays.{text}")))?;
        made.check()?;
        to.write(handles::add(Read::of_memory(made)));
        Ok(())
    })
}

/// The variants with the numbers that `values` are, or `count` defaults for NULL.
///
/// # Safety
/// A pointer that is not null is that of `count` values.
unsafe fn named<T: Copy>(
    start: *const u8,
    count: usize,
    what: &str,
    all: &[T],
) -> Result<Vec<T>, Failure> {
    if start.is_null() {
        return Ok(vec![all[0]; count]);
    }
    // SAFETY: the caller's promise.
    let numbers = unsafe { values(start, count, what) }?;
    let of = |(at, &number): (usize, &u8)| {
        all.get(number as usize).copied().ok_or_else(|| {
            let most = all.len() - 1;
            Failure::argument(format!("{what} {at}: {number}: expected a number from 0 to {most}"))
        })
    };
    numbers.iter().enumerate().map(of).collect()
}

/// Values, or `count` times `default` for NULL.
///
/// # Safety
/// A pointer that is not null is that of `count` values.
unsafe fn or<T: Copy>(
    start: *const T,
    count: usize,
    what: &str,
    default: T,
) -> Result<Vec<T>, Failure> {
    match start.is_null() {
        true => Ok(vec![default; count]),
        // SAFETY: the caller's promise.
        false => Ok(unsafe { values(start, count, what) }?.to_vec()),
    }
}

impl DesignArrays {
    /// Returns the memory of all arrays.
    fn spans(&self) -> [Span<'static>; 14] {
        let (nodes, pins) = (self.nodes, self.pins);
        [
            Span::new(self.width, nodes, "design_arrays.width"),
            Span::new(self.height, nodes, "design_arrays.height"),
            Span::new(self.x, nodes, "design_arrays.x"),
            Span::new(self.y, nodes, "design_arrays.y"),
            Span::new(self.kind, nodes, "design_arrays.kind"),
            Span::new(self.orientation, nodes, "design_arrays.orientation"),
            Span::new(self.names, nodes, "design_arrays.names"),
            Span::new(self.net_start, self.nets.saturating_add(1), "design_arrays.net_start"),
            Span::new(self.net_weight, self.nets, "design_arrays.net_weight"),
            Span::new(self.pin_node, pins, "design_arrays.pin_node"),
            Span::new(self.pin_dx, pins, "design_arrays.pin_dx"),
            Span::new(self.pin_dy, pins, "design_arrays.pin_dy"),
            Span::new(self.row, self.rows.saturating_mul(ROW), "design_arrays.row"),
            Span::new(self.row_orientation, self.rows, "design_arrays.row_orientation"),
        ]
    }

    /// Returns the names of the nodes.
    ///
    /// # Safety
    /// Arrays have the lengths given, and hold strings that end in a zero.
    unsafe fn texts(&self) -> Result<Vec<&CStr>, Failure> {
        let count = if self.names.is_null() { 0 } else { self.nodes };
        // SAFETY: the caller's promise, for both.
        unsafe {
            let names = values(self.names, count, "design_arrays.names")?;
            names.iter().map(|&name| string(name, "design_arrays.names")).collect()
        }
    }

    /// # Safety
    /// Arrays have the lengths given, and hold strings that end in a zero.
    unsafe fn columns(&self) -> Result<Columns, Failure> {
        let too_many = |name: &str, count: usize| {
            Failure::new(Status::BadLength, format!("design_arrays.{name}: {count} values"))
        };
        let starts = self.nets.checked_add(1).ok_or_else(|| too_many("net_start", self.nets))?;
        let numbers = self.rows.checked_mul(ROW).ok_or_else(|| too_many("row", self.rows))?;
        let (nodes, pins) = (self.nodes, self.pins);
        let kinds = [NodeKind::Movable, NodeKind::Fixed, NodeKind::FixedOverlappable];
        // SAFETY: the caller's promise, for all of them. The arrays that must not be NULL come first:
        // a length is believed once memory of that length was found.
        unsafe {
            let width = values(self.width, nodes, "design_arrays.width")?.to_vec();
            let height = values(self.height, nodes, "design_arrays.height")?.to_vec();
            let rows = values(self.row, numbers, "design_arrays.row")?.to_vec();
            let pin_node = values(self.pin_node, pins, "design_arrays.pin_node")?.to_vec();
            let nets = match (self.nets, pins) {
                (0, 0) => None,
                (0, _) => return Err(Failure::argument("design_arrays.pins: there are no nets")),
                (nets, _) => Some(Nets {
                    names: Names::default(),
                    net_start: values(self.net_start, starts, "design_arrays.net_start")?.to_vec(),
                    weight: or(self.net_weight, nets, "design_arrays.net_weight", 1.0)?,
                    pin_node,
                    pin_dx: or(self.pin_dx, pins, "design_arrays.pin_dx", 0.0)?,
                    pin_dy: or(self.pin_dy, pins, "design_arrays.pin_dy", 0.0)?,
                }),
            };
            let texts = self.texts()?.into_iter().map(CStr::to_str).collect::<Result<Vec<_>, _>>();
            let texts =
                texts.map_err(|e| Failure::argument(format!("design_arrays.names: {e}")))?;
            let names = columns::names(&texts);
            let names =
                names.map_err(|e| Failure::argument(format!("design_arrays.names: {e}")))?;
            let ways = &Orientation::ALL;
            let row_ways = (self.row_orientation, "design_arrays.row_orientation");
            let edges = [self.xl, self.yl, self.xh, self.yh];
            let [xl, yl, xh, yh] = edges;
            Ok(Columns {
                name: String::new(),
                names,
                width,
                height,
                x: or(self.x, nodes, "design_arrays.x", 0.0)?,
                y: or(self.y, nodes, "design_arrays.y", 0.0)?,
                orientation: named(self.orientation, nodes, "design_arrays.orientation", ways)?,
                kind: named(self.kind, nodes, "design_arrays.kind", &kinds)?,
                rows,
                row_orientation: named(row_ways.0, self.rows, row_ways.1, ways)?,
                die: (edges != [0.0; 4]).then_some(Rect { xl, yl, xh, yh }),
                row_blockage: self.row_blockage != 0,
                units_per_micron: (self.units_per_micron != 0.0).then_some(self.units_per_micron),
                nets,
            })
        }
    }
}
