//! LEF and DEF files: readers for a library and a design, and a writer that puts placements into a
//! DEF file and leaves all else as it is.
//!
//! [`read_design`] gives a [`Design`] whose layout unit is the DEF file's; lengths of LEF, which
//! are in micrometres, are put into it and rounded once, as `f64`. The languages are those of the
//! LEF/DEF 5.8 Language Reference and its predecessors from 5.3 on. Words are separated by blanks
//! alone; which of them are keywords depends on their position. Counts in the headers of sections
//! are not looked at. Large files are read part by part on all threads.
//!
//! With the features `gzip`, `xz` and `bzip2` a file may be compressed by these, whatever it is
//! called.
//!
#![doc = include_str!("statements.md")]

mod assemble;
mod counts;
mod edges;
mod lef;
mod nets;
mod polygon;
mod read;
mod rows;
mod statements;
mod write;
mod write_design;

pub use crate::text::error::{ErrorKind, FileError};
pub use crate::text::loaded::{
    DefSummary, GcellGrid, GridAxis, LayerDirection, LefSummary, Loaded, LoadedPlacement,
    PinPosition, ReadOptions, RoutingLayer,
};
#[cfg(feature = "cli")]
pub(crate) use write::round_positions;
pub use write::write_placement;
pub use write_design::{Written, write_design};

use crate::bookshelf;
#[allow(unused_imports)] // named in the documentation
use crate::design::{Design, Fence, Master};
use crate::design::{MAX_COUNT, Names, Nets, NodeKind, Nodes, Orientation, Placement};
use crate::parallel;
use crate::text::error::{Fault, Reason};
use crate::text::file::{self, Input, Source, Text};
use crate::text::index::NameIndex;
use crate::text::loaded::Format;
use crate::text::parts::PART;
use crate::warning::{Warning, WarningCode};
use lef::Library;
use nets::{CellPins, Netlist, UNPLACED};
use read::{Gathered, room_for_nets};
use statements::{Known, Section, Status};
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Layout units in a micrometre where the file has none (LEF/DEF 5.8 Language Reference, `UNITS`).
const DEFAULT_UNITS: f64 = 100.0;

/// Reads the DEF file `def` with the LEF files of `options`.
///
/// # Errors
/// At the first file that cannot be read or is not as the format has it, and when the DEF file
/// names a macro, a site, a component or a pin that there is not.
pub fn read_design(def: &Path, options: &ReadOptions) -> Result<Loaded, FileError> {
    // On a thread of the pool from the beginning, and not handed over for each part.
    let mut loaded = rayon::scope(|_| read_on_pool(def, options))?;
    if let Some(other) = &options.placement {
        let nodes = &loaded.design.nodes;
        let mut placed = match Format::of(other) {
            Format::Bookshelf => bookshelf::read_placement(other, nodes)?,
            Format::Def => read_placement(other, nodes, options.pin_position)?,
        };
        replace_placement(&mut loaded, &mut placed);
        loaded.own_placement = loaded.files.last().cloned();
        loaded.files.push(placed.file);
    }
    Ok(loaded)
}

/// Replaces the placement of a design by another one. A file with some of the nodes leaves the
/// others where the design has them.
fn replace_placement(loaded: &mut Loaded, placed: &mut LoadedPlacement) {
    let own =
        std::mem::replace(&mut loaded.design.placement, std::mem::take(&mut placed.placement));
    let own_unplaced =
        std::mem::replace(&mut loaded.unplaced, std::mem::take(&mut placed.unplaced));
    loaded.design.nodes.kind = std::mem::take(&mut placed.kind);
    loaded.warnings.retain(|warning| warning.code != WarningCode::NotPlaced);
    if placed.missing.is_empty() {
        loaded.warnings.append(&mut placed.warnings);
        return;
    }
    let at = &mut loaded.design.placement;
    for node in placed.missing.iter().map(|&node| node as usize) {
        (at.x[node], at.y[node]) = (own.x[node], own.y[node]);
        at.orientation[node] = own.orientation[node];
    }
    let is_missing = |node: &u32| placed.missing.binary_search(node).is_ok();
    loaded.unplaced.retain(|node| !is_missing(node));
    let at_origin = loaded.unplaced.len();
    loaded.unplaced.extend(own_unplaced.into_iter().filter(is_missing));
    let in_the_middle = loaded.unplaced.len() - at_origin;
    loaded.unplaced.sort_unstable();
    placed.warnings.retain(|warning| warning.code != WarningCode::NotPlaced);
    loaded.warnings.append(&mut placed.warnings);
    let counts = [
        (placed.missing.len(), "nodes are not in it and keep the design's own positions"),
        (at_origin, "components are not placed and lie at (0, 0)"),
        (in_the_middle, "components are placed by no file and lie in the middle of the die"),
    ];
    for (count, are) in counts.into_iter().filter(|(count, _)| *count > 0) {
        let message = format!("{}: {count} {are}", placed.file.display());
        loaded.warnings.push(Warning::new(WarningCode::NotPlaced, message));
    }
}

fn read_on_pool(def: &Path, options: &ReadOptions) -> Result<Loaded, FileError> {
    let (library, mut files, mut bytes_read, warnings) = read_library(options)?;
    let (path, text, Everything { gathered, names, cell, nets }) =
        read_def(def, |source, size| everything(source, size, &library, options))?;
    bytes_read += text;
    files.push(path.clone());
    let keep = options.keep_fillers;
    let mut loaded = assemble::assemble((&path, text), &library, gathered, names, cell, nets, keep);
    loaded.warnings.splice(0..0, warnings);
    loaded.layers = library.layers;
    (loaded.bytes_read, loaded.files) = (bytes_read, files);
    Ok(loaded)
}

/// Reads where the DEF file `def` has the nodes of a design that was read from another one.
///
/// Coordinates are taken as they are, in the units of this file. Components that are not placed lie
/// at (0, 0). Pins of several shapes lie as `pin_position` has it.
///
/// # Errors
/// When the file cannot be read, is not as the format has it, or has a component that is no node.
pub fn read_placement(
    def: &Path,
    nodes: &Nodes,
    pin_position: PinPosition,
) -> Result<LoadedPlacement, FileError> {
    let library = Library::default();
    let position = pin_position;
    let known = Known { library: &library, cells: None, position, netlist: None, slots: false };
    let (path, _, mut gathered) = read_def(def, |source, size| {
        let (mut gathered, mut nets) = (Gathered::new(source.len()), room_for_nets(0));
        let start = (source.start()?, Section::Top);
        let (_, section) = read::read(size, source, start, &known, &mut gathered, &mut nets)?;
        if section != Section::Nets {
            ended(source, section)?;
        }
        Ok(gathered)
    })?;
    let index = NameIndex::new(&nodes.names);
    let names = gathered.components.take_names();
    let components = NameIndex::new(&names);
    let count = nodes.len();
    let mut kind = nodes.kind.clone();
    let is_movable = |node: usize| nodes.kind[node] == NodeKind::Movable;
    let mut placement = Placement {
        x: vec![0.0; count],
        y: vec![0.0; count],
        orientation: vec![Orientation::N; count],
    };
    let mut mentioned = vec![false; count];
    let [x, y] = [gathered.components.x, gathered.components.y].map(|column| column.into_vec());
    let mut unplaced = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let Some(node) = index.find(name.as_bytes()).map(|node| node as usize) else {
            let message = format!("component {name} is none of the design's");
            return Err(FileError::whole(&path, ErrorKind::Name(message)));
        };
        let place = gathered.components.place[i];
        (placement.x[node], placement.y[node]) = (x[i], y[i]);
        placement.orientation[node] = place.orientation;
        mentioned[node] = true;
        if place.status == Status::Unplaced && is_movable(node) {
            unplaced.push(node as u32);
        }
        if place.status == Status::Fixed && kind[node] == NodeKind::Movable {
            kind[node] = NodeKind::Fixed;
        }
    }
    for (i, name) in gathered.plan.ports.names.iter().enumerate() {
        let name = port_name(&components, name);
        if let (Some(node), Some((x, y))) = (index.find(name.as_bytes()), gathered.plan.ports.at[i])
        {
            (placement.x[node as usize], placement.y[node as usize]) = (x, y);
            mentioned[node as usize] = true;
        }
    }
    let mut warnings = Vec::new();
    let mut warn = |count: usize, are: &str| {
        if count > 0 {
            let message = format!("{}: {count} {are}", path.display());
            warnings.push(Warning::new(WarningCode::NotPlaced, message));
        }
    };
    warn(unplaced.len(), "components are not placed and lie at (0, 0)");
    let absent: Vec<u32> =
        (0..).zip(&mentioned).filter(|(_, met)| !**met).map(|(i, _)| i).collect();
    warn(absent.len(), "nodes of the design are not in it and lie at (0, 0)");
    unplaced.extend(absent.iter().filter(|&&node| is_movable(node as usize)));
    unplaced.sort_unstable();
    Ok(LoadedPlacement { placement, kind, unplaced, missing: absent, warnings, file: path })
}

/// Returns the name of the node of a pin of the design: the pin's, unless a component has it.
fn port_name<'a>(components: &NameIndex, name: &'a str) -> Cow<'a, str> {
    let mut unique = Cow::Borrowed(name);
    while components.find(unique.as_bytes()).is_some() {
        unique = format!("PIN/{unique}").into();
    }
    unique
}

/// Returns the library of all LEF files together, the files, their bytes and what is odd in them.
fn read_library(
    options: &ReadOptions,
) -> Result<(Library, Vec<PathBuf>, u64, Vec<Warning>), FileError> {
    let position = options.pin_position;
    let read = |lef: usize| {
        let lef = &options.lef[lef];
        let path = file::find(lef).unwrap_or_else(|| lef.clone());
        let text = Text::open(&path).map_err(|e| FileError::io(&path, e))?;
        let library = lef::parse(&text, position)
            .map_err(|miss| Source::Held(&text).error(&path, miss.within(&text, 0)))?;
        Ok((library, path, text.len() as u64))
    };
    let (mut all, mut files, mut bytes) = (Library::default(), Vec::new(), 0);
    let (mut known, mut warnings) = (HashSet::new(), Vec::new());
    for read in parallel::map(options.lef.len(), read) {
        let (library, path, length): (_, PathBuf, _) = read?;
        if path.canonicalize().is_ok_and(|path| !known.insert(path)) {
            let message = format!("{}: it is given twice and read once", path.display());
            warnings.push(Warning::new(WarningCode::NotRead, message));
            continue;
        }
        let too_long = |_| {
            let message = "names of more than 4 GiB in all".to_owned();
            FileError::whole(&path, ErrorKind::Name(message))
        };
        all.append(library).map_err(too_long)?;
        files.push(path);
        bytes += length;
    }
    let mut warn = |count: u64, are: &str| {
        if count > 0 {
            let message = format!("LEF: {count} {are}");
            warnings.push(Warning::new(WarningCode::LibrarySimplified, message));
        }
    };
    let index = NameIndex::new(&all.names);
    if index.has_repeats() {
        let repeated = all.names.iter().enumerate();
        let repeated = repeated.filter(|(i, name)| index.find(name.as_bytes()) != Some(*i as u32));
        warn(repeated.count() as u64, "macros are there already under the same name and left out");
    }
    warn(all.odd_classes, "macros are of an unknown class and stay where they are placed");
    Ok((all, files, bytes, warnings))
}

/// Reads the DEF file by `read`, which gets the size of parts; returns its path, its bytes, and the
/// result.
fn read_def<T>(
    def: &Path,
    read: impl Fn(Source<'_>, usize) -> Result<T, Fault>,
) -> Result<(PathBuf, u64, T), FileError> {
    let path = file::find(def).unwrap_or_else(|| def.to_owned());
    let input = Input::open(&path, Text::open).map_err(|e| FileError::io(&path, e))?;
    let source = input.source();
    // In parts first; errors are reported when all is read as one part.
    let parts = (source.len() > PART).then(|| read(source, PART).ok()).flatten();
    let value = match parts {
        Some(value) => value,
        None => read(source, usize::MAX).map_err(|fault| source.error(&path, fault))?,
    };
    Ok((path, source.len() as u64, value))
}

/// Fails when a file ends within a section.
fn ended(source: Source<'_>, section: Section) -> Result<(), Fault> {
    match section {
        Section::Top | Section::Ended => Ok(()),
        section => Err(Fault::expected(source.len(), format!("`END {}`", section.name()))),
    }
}

/// The content of a DEF file, its components' names and macros apart. Pins have the names of their
/// nodes.
struct Everything {
    gathered: Gathered,
    names: Names,
    cell: Vec<u32>,
    nets: Option<Nets>,
}

/// Reads all of a DEF file.
fn everything(
    source: Source<'_>,
    size: usize,
    library: &Library,
    options: &ReadOptions,
) -> Result<Everything, Fault> {
    let position = options.pin_position;
    let cells = NameIndex::new(&library.names);
    let mut known = Known { library, cells: Some(&cells), position, netlist: None, slots: false };
    let bytes = source.len();
    let (mut gathered, mut nets) = (Gathered::new(bytes), room_for_nets(bytes));
    let start = (source.start()?, Section::Top);
    let mut end = read::read(size, source, start, &known, &mut gathered, &mut nets)?;
    let names = gathered.components.take_names();
    let cell = gathered.components.take_cells();
    let components = NameIndex::new(&names);
    if components.has_repeats() {
        return Err(repeated(source)?);
    }
    let mut port_names = Names::default();
    for name in gathered.plan.ports.names.iter() {
        port_names.push(&port_name(&components, name));
    }
    let have_nets = end.1 == Section::Nets;
    if have_nets {
        let ports = NameIndex::new(&gathered.plan.ports.names);
        let placed = gathered.plan.ports.at.iter().scan(cell.len(), |node, at| {
            let of = at.map(|_| *node as u32);
            *node += usize::from(at.is_some());
            Some(of)
        });
        let port_node: Vec<Option<u32>> = placed.collect();
        if cell.len() + port_node.len() > MAX_COUNT {
            return Err(Fault::expected(0, "fewer than 4294967295 components and pins"));
        }
        let located = |(cell, place): (&u32, &statements::Place)| {
            let unplaced = place.status == Status::Unplaced;
            let stays = !library.macros[*cell as usize].class.moves(options.keep_fillers);
            if unplaced && stays { UNPLACED } else { *cell }
        };
        let placed_cell: Vec<u32> =
            cell.iter().zip(&gathered.components.place).map(located).collect();
        let pins = CellPins::new(library, gathered.plan.units.unwrap_or(DEFAULT_UNITS));
        let netlist = Netlist {
            components,
            cell: &placed_cell,
            ports,
            port_node: &port_node,
            pins: &pins,
            most_by_star: PART,
        };
        let mut rest = Gathered::new(0);
        known.netlist = Some(&netlist);
        end = read::read(size, source, end, &known, &mut rest, &mut nets)?;
        drop(netlist);
        let too_long = |_| Fault::expected(0, "names of less than 4 GiB in all");
        gathered.plan.add(rest.plan).map_err(too_long)?;
    }
    ended(source, end.1)?;
    gathered.plan.ports.names = port_names;
    let nets = have_nets.then(|| nets.into_nets());
    Ok(Everything { gathered, names, cell, nets })
}

/// Names the first component that occurs a second time.
#[cold]
fn repeated(source: Source<'_>) -> Result<Fault, Fault> {
    let (names, slots) = write::components(source, PART)?;
    let index = NameIndex::new(&names);
    let again = |i: &usize| index.find(names.get(*i).as_bytes()) != Some(*i as u32);
    let Some(i) = (0..names.len()).find(again) else {
        return Ok(Fault::expected(source.len(), "each component once"));
    };
    let message = format!("component {} stands a second time", names.get(i));
    Ok(Fault { at: slots[i].name, reason: Reason::Name(message) })
}

#[cfg(test)]
mod tests;
