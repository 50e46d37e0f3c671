//! Designs in files: Bookshelf, or DEF with its LEF files.

use super::engine::EngineHandle;
use super::memory::{Span, output, outputs, values};
use super::status::{ErrorText, Failure, Status, call};
use super::{Checked, Options, handles, options};
use crate::charge::{Charge, ChargeOptions};
use crate::congestion::{
    Capacity, CongestionKind, CongestionMaps, CongestionOptions, Convention, RoutingGrid,
};
use crate::design::Design;
use crate::ffi::open_any_engine;
use crate::formats::{self, FileError, ReadOptions};
use crate::grid::BinGrid;
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};

/// A design that was read from files: nodes, their placement, nets and rows.
pub struct DesignHandle;

/// A design, and the file that it was read from.
struct Read {
    design: Design,
    source: PathBuf,
}

/// Counts of a design, and its die.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DesignCounts {
    /// Cells, macros and pads.
    pub nodes: usize,
    /// Number of nodes that move: an engine's movable cells, in this order.
    pub movable: usize,
    /// Nets; 0 where they are not known.
    pub nets: usize,
    /// Pins of all nets.
    pub pins: usize,
    /// The die, the bounding box of the rows: left edge, layout units.
    pub xl: f64,
    /// Bottom edge.
    pub yl: f64,
    /// Right edge.
    pub xh: f64,
    /// Top edge.
    pub yh: f64,
    /// Layout units in a micrometre; 0 where that is not known.
    pub units_per_micron: f64,
}

/// Numbers of `convention`: whose formulas congestion maps follow.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConventionName {
    /// CircuitNet's features.
    CircuitNet = 0,
    /// DREAMPlace's operators.
    DreamPlace = 1,
    /// OpenROAD's global router.
    OpenRoad = 2,
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Failure::new(Status::FileFailed, error.to_string())
    }
}

/// Returns the path in a string that ends in a zero.
///
/// # Safety
/// A pointer that is not null is that of such a string, which nothing writes for `'a`.
unsafe fn path<'a>(text: *const c_char, what: &str) -> Result<&'a Path, Failure> {
    if text.is_null() {
        return Err(Failure::new(Status::NullPointer, format!("{what} is NULL")));
    }
    // SAFETY: not null, and the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    #[cfg(unix)]
    let text = {
        use std::os::unix::ffi::OsStrExt;
        std::ffi::OsStr::from_bytes(text.to_bytes())
    };
    #[cfg(not(unix))]
    let text = text.to_str().map_err(|_| Failure::argument(format!("{what} is not UTF-8")))?;
    Ok(Path::new(text))
}

/// Returns the memory of a string that [`path`] gave, its final zero included.
fn text<'a>(path: &Path, name: &'a str) -> Span<'a> {
    let bytes = path.as_os_str().as_encoded_bytes();
    Span::new(bytes.as_ptr(), bytes.len() + 1, name)
}

/// Reads a design: the Bookshelf files that an .aux file names, or a .def file with `lefs` LEF
/// files, the one with the technology first. `placement`, which may be NULL, is a .pl or .def file
/// that is read in place of the design's own placement. Freed by placefield_design_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_new(
    file: *const c_char,
    lef: *const *const c_char,
    lefs: usize,
    placement: *const c_char,
    design: *mut *mut DesignHandle,
    error: *mut ErrorText,
) -> Status {
    call(error, || {
        let source = path(file, "file")?;
        let named = values(lef, lefs, "lef")?.iter().map(|&one| path(one, "lef"));
        let named = named.collect::<Result<Vec<_>, _>>()?;
        let mut inputs = vec![text(source, "file"), Span::new(lef, lefs, "lef")];
        inputs.extend(named.iter().map(|one| text(one, "lef")));
        let mut options = ReadOptions::default().lef(named);
        if !placement.is_null() {
            let placement = path(placement, "placement")?;
            inputs.push(text(placement, "placement"));
            options = options.placement(placement);
        }
        let design = output(design, "design", &inputs)?;
        let read = formats::read_design(source, &options)?.design;
        design.write(handles::add(Read { design: read, source: source.to_owned() }));
        Ok(())
    })
}

/// Frees a design. NULL is nothing; a handle freed before is PLACEFIELD_STATUS_BAD_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_free(
    design: *mut DesignHandle,
    error: *mut ErrorText,
) -> Status {
    call(error, || handles::remove::<Read, _>(design, "design"))
}

/// Calls `body` with the design of `handle`.
///
/// # Safety
/// `error` is null or points to an [`ErrorText`].
unsafe fn on_design(
    handle: *const DesignHandle,
    error: *mut ErrorText,
    body: impl FnOnce(&mut Read) -> Result<(), Failure>,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { call(error, || handles::with(handle, "design", body)) }
}

/// Writes the counts of a design.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_count(
    design: *const DesignHandle,
    counts: *mut DesignCounts,
    error: *mut ErrorText,
) -> Status {
    on_design(design, error, |Read { design, .. }| {
        let counts = output(counts, "counts", &[])?;
        let (nets, die) = (design.nets.as_ref(), design.die());
        let edge = |of: fn(&crate::grid::Rect) -> f64| die.as_ref().map_or(0.0, of);
        counts.write(DesignCounts {
            nodes: design.nodes.len(),
            movable: design.movable().count(),
            nets: nets.map_or(0, |nets| nets.len()),
            pins: nets.map_or(0, |nets| nets.pins()),
            xl: edge(|die| die.xl),
            yl: edge(|die| die.yl),
            xh: edge(|die| die.xh),
            yh: edge(|die| die.yh),
            units_per_micron: design.units_per_micron.unwrap_or(0.0),
        });
        Ok(())
    })
}

/// Makes an engine for a design, with its fixed cells, blockages, halos and fences, on nx x ny bins
/// over its die. `fillers` is not 0 where these take the free space that the target density leaves.
/// Freed by placefield_engine_free; it does not need the design any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_engine(
    design: *const DesignHandle,
    nx: u32,
    ny: u32,
    target_density: f64,
    fillers: i32,
    options: *const Options,
    engine: *mut *mut EngineHandle,
    error: *mut ErrorText,
) -> Status {
    on_design(design, error, |Read { design, .. }| {
        let inputs = [Span::new(options, 1, "options")];
        let Checked { precision, device, engine: how } = self::options(options)?;
        let engine = output(engine, "engine", &inputs)?;
        let die = design.die();
        let die = die.ok_or_else(|| Failure::argument("the design has no rows"))?;
        let grid = BinGrid::new(die, nx as usize, ny as usize)?;
        let charging =
            ChargeOptions::default().target_density(target_density).fillers(fillers != 0);
        let charge = Charge::from_design(design, grid, &charging)?;
        engine.write(handles::add(open_any_engine(charge, precision, device, &how)?));
        Ok(())
    })
}

/// Computes the half-perimeter wirelength of a design's nets, layout units;
/// PLACEFIELD_STATUS_BAD_ARGUMENT if the nets are not known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_hpwl(
    design: *const DesignHandle,
    hpwl: *mut f64,
    error: *mut ErrorText,
) -> Status {
    on_design(design, error, |Read { design, .. }| {
        let found = design.hpwl().ok_or_else(|| Failure::argument("the design has no nets"))?;
        output(hpwl, "hpwl", &[])?.write(found.unweighted);
        Ok(())
    })
}

/// Computes the congestion maps of a design at its current positions, over nx x ny bins of its die:
/// `maps` has room for 7 * nx * ny values, map by map with y contiguous, in this order: RUDY, pin
/// RUDY, RUDY of long nets, RUDY of short nets, macro region, cell density, pin density.
/// `convention` is a placefield_convention; `horizontal` and `vertical` are routing tracks per
/// layout unit across them, or 0 both for those that DREAMPlace takes, which only the OpenROAD
/// convention refuses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_congestion(
    design: *const DesignHandle,
    nx: u32,
    ny: u32,
    convention: i32,
    horizontal: f64,
    vertical: f64,
    maps: *mut f64,
    error: *mut ErrorText,
) -> Status {
    on_design(design, error, |Read { design, .. }| {
        let convention = match convention {
            c if c == ConventionName::CircuitNet as i32 => Convention::CircuitNet,
            c if c == ConventionName::DreamPlace as i32 => Convention::DreamPlace,
            c if c == ConventionName::OpenRoad as i32 => Convention::OpenRoad,
            other => return Err(Failure::argument(format!("convention is {other}"))),
        };
        let die = design.die();
        let die = die.ok_or_else(|| Failure::argument("the design has no rows"))?;
        let grid = BinGrid::new(die, nx as usize, ny as usize)?;
        let given = horizontal != 0.0 || vertical != 0.0;
        let capacity = given.then_some(Capacity { horizontal, vertical });
        let options = CongestionOptions::default().convention(convention).capacity(capacity);
        let bins = grid.bins();
        let [to] = outputs([(maps, "maps")], CongestionKind::ALL.len() * bins, &[])?;
        let found = CongestionMaps::of(design, &RoutingGrid::from(&grid), &options)
            .map_err(|error| Failure::argument(error.to_string()))?;
        for (to, map) in to.chunks_mut(bins).zip(&found.maps) {
            to.copy_from_slice(map.as_slice());
        }
        Ok(())
    })
}

/// Moves the movable nodes of a design to these lower-left corners, `movable` values each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_move(
    design: *mut DesignHandle,
    x: *const f64,
    y: *const f64,
    movable: usize,
    error: *mut ErrorText,
) -> Status {
    on_design(design, error, |Read { design, .. }| {
        let expected = design.movable().count();
        if movable != expected {
            let message = format!("movable is {movable}, expected {expected}");
            return Err(Failure::new(Status::BadLength, message));
        }
        let (x, y) = (values(x, movable, "x")?, values(y, movable, "y")?);
        if let Some(value) = x.iter().chain(y).find(|value| !value.is_finite()) {
            return Err(Failure::argument(format!("x or y has {value}")));
        }
        design.settle(x, y);
        Ok(())
    })
}

/// Writes the placement of a design: a path that ends in .def or .def.gz gets a copy of the .def
/// file that it was read from, with its movable cells placed; any other a .pl file. Whole or not at
/// all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_write(
    design: *const DesignHandle,
    file: *const c_char,
    error: *mut ErrorText,
) -> Status {
    on_design(design, error, |Read { design, source }| {
        Ok(formats::write_placement(path(file, "file")?, source, design)?)
    })
}
