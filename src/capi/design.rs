//! Designs: from files (Bookshelf, or DEF with its LEF files) and from arrays.

use super::engine::{EngineHandle, check_count};
use super::memory::{Span, initialise, optional, output, outputs, structure, values};
use super::status::{ErrorText, Failure, Status, call, write_text};
use super::{Checked, Options, handles, options};
use crate::bookshelf::{self, PinOffset};
use crate::charge::{Charge, ChargeOptions};
use crate::congestion::{
    Capacity, CongestionKind, CongestionMaps, CongestionOptions, Convention, RoutingGrid,
};
use crate::design::{Design, NodeKind, Placement};
use crate::ffi::open_any_engine;
use crate::formats::{self, FileError, Format, ReadOptions};
use crate::grid::BinGrid;
use crate::lefdef::PinPosition;
use crate::legality::{LegalityOptions, LegalityReport};
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};

/// A design: nodes, their placement, nets and rows.
pub struct DesignHandle;

/// A design with its file, its own placement and its warnings.
pub(super) struct Read {
    pub(super) design: Design,
    /// The file that it was read from; empty if it was made from arrays.
    source: PathBuf,
    /// Where the design's own placement has the nodes, and which of them it fixes.
    home: (Placement, Vec<NodeKind>),
    /// Movable nodes without a position, ascending.
    pub(super) unplaced: Vec<u32>,
    warnings: Vec<String>,
}

impl Read {
    pub(super) fn of_memory(design: Design) -> Self {
        Read {
            source: PathBuf::new(),
            home: (design.placement.clone(), design.nodes.kind.clone()),
            unplaced: Vec::new(),
            warnings: Vec::new(),
            design,
        }
    }

    /// Takes another placement of the design, in which `unplaced` nodes have no position.
    pub(super) fn take(&mut self, design: Design, unplaced: &[u32]) {
        self.design = design;
        self.unplaced = unplaced.to_vec();
    }

    /// Adds warnings, each once.
    pub(super) fn warn(&mut self, warnings: Vec<String>) {
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// Returns the legality of another placement of this design: fixed cells belong where its own
    /// placement has them. `unplaced` nodes have no position.
    pub(super) fn legality(
        &self,
        design: &Design,
        unplaced: &[u32],
    ) -> Result<LegalityReport, Failure> {
        let options = LegalityOptions::default().unplaced(unplaced);
        let (home, kinds) = &self.home;
        Ok(LegalityReport::of_other_placement(design, (home, kinds), &options)?)
    }
}

/// Counts of a design, and its die.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DesignCounts {
    /// Cells, macros and pads.
    pub nodes: usize,
    /// Number of nodes that move: an engine's movable cells, in this order.
    pub movable: usize,
    /// Number of nets; 0 if they are unknown.
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
    /// Layout units in a micrometre; 0 if this is unknown.
    pub units_per_micron: f64,
}

/// Numbers of `convention`: the formulas of congestion maps.
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

/// Returns a string that ends in a zero.
///
/// # Safety
/// A pointer that is not null is that of such a string, which nothing writes for `'a`.
pub(super) unsafe fn string<'a>(text: *const c_char, what: &str) -> Result<&'a CStr, Failure> {
    if text.is_null() {
        return Err(Failure::new(Status::NullPointer, format!("{what} is NULL")));
    }
    // SAFETY: not null, and the caller's promise.
    Ok(unsafe { CStr::from_ptr(text) })
}

/// Returns the path in a string that ends in a zero.
///
/// # Safety
/// See [`string`].
unsafe fn path<'a>(text: *const c_char, what: &str) -> Result<&'a Path, Failure> {
    // SAFETY: the caller's promise.
    let text = unsafe { string(text, what) }?;
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

/// Numbers of `design_options.pin_offset`: the origin of pin offsets in a .nets file.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinOffsetName {
    /// The centre of the node, as in the format.
    Center = 0,
    /// The lower-left corner of the node.
    LowerLeft = 1,
}

/// Numbers of `design_options.pin_position`: the position of a pin of a LEF macro.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinPositionName {
    /// The centre of the bounding box of its shapes.
    Center = 0,
    /// The mean of the centres of its shapes.
    Mean = 1,
}

/// Options of reading a design. Filled by placefield_design_options_init, then changed. The library
/// copies them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DesignOptions {
    /// Set by placefield_design_options_init.
    pub struct_size: u32,
    /// A placefield_pin_offset, of Bookshelf designs.
    pub pin_offset: i32,
    /// A placefield_pin_position, of .def designs.
    pub pin_position: i32,
    /// Not 0: area outside every row is blocked.
    pub row_blockage: i32,
    /// Not 0: filler cells of a .def design that are not fixed are movable cells like others.
    pub keep_fillers: i32,
    /// Number of LEF files, the length of the next array.
    pub lefs: usize,
    /// The LEF files of a .def design, the one with the technology first.
    pub lef: *const *const c_char,
    /// A .pl or .def file that replaces the design's own placement; NULL: none.
    pub placement: *const c_char,
    /// A file of net weights in the format of a .wts file; NULL: none.
    pub net_weights: *const c_char,
}

/// Fills `design_options` with the defaults: no LEF files, pin offsets and positions from centres,
/// the design's own placement and net weights. `struct_size` is sizeof(placefield_design_options).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_options_init(
    design_options: *mut DesignOptions,
    struct_size: usize,
    error: *mut ErrorText,
) -> Status {
    let defaults = DesignOptions {
        struct_size: size_of::<DesignOptions>() as u32,
        pin_offset: PinOffsetName::Center as i32,
        pin_position: PinPositionName::Center as i32,
        row_blockage: 0,
        keep_fillers: 0,
        lefs: 0,
        lef: std::ptr::null(),
        placement: std::ptr::null(),
        net_weights: std::ptr::null(),
    };
    call(error, || initialise(design_options, struct_size, "design_options", defaults))
}

impl DesignOptions {
    /// Returns the reader's options, and adds all memory that they are in to `inputs`.
    ///
    /// # Safety
    /// Strings and arrays are as the header says, for `'a`.
    unsafe fn checked<'a>(&self, inputs: &mut Vec<Span<'a>>) -> Result<ReadOptions, Failure> {
        let pin_offset = match self.pin_offset {
            o if o == PinOffsetName::Center as i32 => PinOffset::Center,
            o if o == PinOffsetName::LowerLeft as i32 => PinOffset::LowerLeft,
            other => return Err(Failure::argument(format!("design_options.pin_offset {other}"))),
        };
        let pin_position = match self.pin_position {
            p if p == PinPositionName::Center as i32 => PinPosition::Center,
            p if p == PinPositionName::Mean as i32 => PinPosition::Mean,
            other => return Err(Failure::argument(format!("design_options.pin_position {other}"))),
        };
        inputs.push(Span::new(self.lef, self.lefs, "design_options.lef"));
        let mut named = |start: *const c_char, name| -> Result<&'a Path, Failure> {
            // SAFETY: the caller's promise.
            let path = unsafe { path(start, name) }?;
            inputs.push(text(path, name));
            Ok(path)
        };
        // SAFETY: the caller's promise.
        let lef = unsafe { values(self.lef, self.lefs, "design_options.lef") }?;
        let lef: Result<Vec<&Path>, Failure> =
            lef.iter().map(|&one| named(one, "design_options.lef")).collect();
        let mut options = ReadOptions::default()
            .lef(lef?)
            .pin_offset(pin_offset)
            .pin_position(pin_position)
            .keep_fillers(self.keep_fillers != 0);
        if !self.placement.is_null() {
            options = options.placement(named(self.placement, "design_options.placement")?);
        }
        if !self.net_weights.is_null() {
            options = options.net_weights(named(self.net_weights, "design_options.net_weights")?);
        }
        Ok(options)
    }
}

/// Reads a design: the Bookshelf files that an .aux file names, or a .def file with the LEF files
/// of `design_options`, which may be NULL: the defaults. Freed by placefield_design_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_new(
    file: *const c_char,
    design_options: *const DesignOptions,
    design: *mut *mut DesignHandle,
    error: *mut ErrorText,
) -> Status {
    call(error, || {
        let source = path(file, "file")?;
        let mut inputs = vec![text(source, "file"), Span::new(design_options, 1, "design_options")];
        let (mut options, mut row_blockage) = (ReadOptions::default(), false);
        if !design_options.is_null() {
            let given =
                structure(design_options, "design_options", |o: &DesignOptions| o.struct_size)?;
            (options, row_blockage) = (given.checked(&mut inputs)?, given.row_blockage != 0);
        }
        let design = output(design, "design", &inputs)?;
        let is_def = Format::of(source) == Format::Def;
        for (name, is_wrong, kind) in [
            ("pin_offset", is_def && options.pin_offset != PinOffset::default(), ".aux"),
            ("pin_position", !is_def && options.pin_position != PinPosition::default(), ".def"),
            ("keep_fillers", !is_def && options.keep_fillers, ".def"),
        ] {
            if is_wrong {
                let file = source.display();
                let text = format!("design_options.{name} is for {kind} designs: {file}");
                return Err(Failure::argument(text));
            }
        }
        let loaded = formats::read_design(source, &options)?;
        let mut read = Read::of_memory(loaded.design);
        read.design.row_blockage |= row_blockage;
        read.source = source.to_owned();
        read.unplaced = loaded.unplaced;
        let mut warnings = loaded.warnings;
        if !is_def {
            warnings.extend(bookshelf::pin_offset_hint(&read.design, options.pin_offset));
        }
        read.warnings = warnings.iter().map(ToString::to_string).collect();
        if let Some(own) = &loaded.own_placement {
            let own = formats::read_placement(own, &read.design.nodes, options.pin_position)?;
            read.home = (own.placement, own.kind);
        }
        design.write(handles::add(read));
        Ok(())
    })
}

/// Writes the number of warnings: those of reading the design, then those of placefield_place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_warnings(
    design: *const DesignHandle,
    warnings: *mut usize,
    error: *mut ErrorText,
) -> Status {
    on_design(design, error, |read| {
        output(warnings, "warnings", &[])?.write(read.warnings.len());
        Ok(())
    })
}

/// Copies warning `index`, counted from 0, to `message`, which has room for `size` bytes: one line,
/// ended by a zero, cut at a character's end if it is too long. `length`, if not NULL, gets the
/// bytes of the whole line without the zero; with `size` 0 nothing else is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_warning(
    design: *const DesignHandle,
    index: usize,
    message: *mut c_char,
    size: usize,
    length: *mut usize,
    error: *mut ErrorText,
) -> Status {
    on_design(design, error, |read| {
        let count = read.warnings.len();
        let warning = read.warnings.get(index).ok_or_else(|| {
            Failure::argument(format!("index {index}: expected a number below {count}"))
        })?;
        let others = [Span::new(length, 1, "length")];
        let length = optional(length, "length", &[])?;
        let [message] = outputs([(message, "message")], size, &others)?;
        write_text(message, warning);
        length.into_iter().for_each(|to| to.write(warning.len()));
        Ok(())
    })
}

/// Frees a design. NULL has no effect; a freed handle is PLACEFIELD_STATUS_BAD_HANDLE.
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
pub(super) unsafe fn on_design(
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
/// over its die. If `fillers` is not 0, fillers fill the free area at the target density. Freed by
/// placefield_engine_free; it does not need the design any more.
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
/// PLACEFIELD_STATUS_BAD_ARGUMENT if the nets are unknown.
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
    on_design(design, error, |Read { design, unplaced, .. }| {
        check_count("movable cells", movable, design.movable().count())?;
        let (x, y) = (values(x, movable, "x")?, values(y, movable, "y")?);
        if let Some(value) = x.iter().chain(y).find(|value| !value.is_finite()) {
            return Err(Failure::argument(format!("x or y has {value}")));
        }
        design.set_movable_positions(|i| (x[i], y[i]));
        unplaced.clear();
        Ok(())
    })
}

/// Writes the lower-left corners, widths and heights of the movable nodes of a design in their
/// orientations, layout units: `movable` values each. An array may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_cells(
    design: *const DesignHandle,
    x: *mut f64,
    y: *mut f64,
    width: *mut f64,
    height: *mut f64,
    movable: usize,
    error: *mut ErrorText,
) -> Status {
    on_design(design, error, |Read { design, .. }| {
        check_count("movable cells", movable, design.movable().count())?;
        let places = [(x, "x"), (y, "y"), (width, "width"), (height, "height")];
        let spans = places.map(|(start, name)| Span::new(start, movable, name));
        let mut columns = Vec::new();
        for (k, (start, name)) in places.into_iter().enumerate() {
            let wanted = if start.is_null() { 0 } else { movable };
            let [column] = outputs([(start, name)], wanted, &spans[..k])?;
            columns.push(column);
        }
        for (at, node) in design.movable().enumerate() {
            let (width, height) = design.size(node);
            let (x, y) = (design.placement.x[node], design.placement.y[node]);
            for (column, value) in columns.iter_mut().zip([x, y, width, height]) {
                column.get_mut(at).into_iter().for_each(|to| *to = value);
            }
        }
        Ok(())
    })
}

/// Writes the placement of a design. A path that ends in .def or .def.gz gets a copy of the
/// design's .def file with its movable cells placed; any other path gets a .pl file. The file
/// appears whole or not at all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn placefield_design_write(
    design: *const DesignHandle,
    file: *const c_char,
    error: *mut ErrorText,
) -> Status {
    on_design(design, error, |Read { design, source, .. }| {
        Ok(formats::write_placement(path(file, "file")?, source, design)?)
    })
}
