//! LEF and DEF files: readers for a library and a design, and a writer that changes only the
//! placements in a DEF file.
//!
//! [`read_design`] returns a [`Design`] in the DEF file's layout unit. Lengths of LEF are in
//! micrometres; they are converted and rounded once, as `f64`. The languages are those of the
//! LEF/DEF 5.8 Language Reference and its predecessors from 5.3 on. Only blanks separate words,
//! and the position of a word determines whether it is a keyword. Counts in the headers of sections
//! are ignored. Large files are read part by part on all threads.
//!
//! With the features `gzip`, `xz` and `bzip2` a file may be compressed by these, under any name.
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
use crate::design::{MAX_COUNT, Names, Nets, NodeKind, Nodes, Orientation};
use crate::parallel;
use crate::text::error::{Fault, Reason};
use crate::text::file::{self, Input, Source, Text};
use crate::text::index::NameIndex;
use crate::text::loaded::Format;
use crate::text::notes::Notes;
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
        let placed = match Format::of(other) {
            Format::Bookshelf => bookshelf::read_placement(other, nodes)?,
            Format::Def => read_placement(other, nodes, options.pin_position)?,
        };
        replace_placement(&mut loaded, placed);
    }
    Ok(loaded)
}

/// Replaces the placement of a design by another one. A file with some of the nodes leaves the
/// others where the design has them.
fn replace_placement(loaded: &mut Loaded, mut placed: LoadedPlacement) {
    let Loaded { design, warnings, unplaced, files, .. } = loaded;
    warnings.retain(|warning| warning.code != WarningCode::NotPlaced);
    if !placed.missing.is_empty() {
        let missing = placed.missing.len();
        let is_there = |node: &&u32| placed.missing.binary_search(node).is_err();
        let at_origin = placed.unplaced.iter().filter(is_there).count();
        placed.fill(&LoadedPlacement {
            placement: std::mem::take(&mut design.placement),
            kind: std::mem::take(&mut design.nodes.kind),
            unplaced: std::mem::take(unplaced),
            ..LoadedPlacement::default()
        });
        placed.warnings.retain(|warning| warning.code != WarningCode::NotPlaced);
        let mut notes = Notes::default();
        for (count, are) in [
            (missing, "nodes are not in it and keep the design's own positions"),
            (at_origin, AT_ORIGIN),
            (
                placed.unplaced.len() - at_origin,
                "components are placed by no file and lie in the middle of the die",
            ),
        ] {
            notes.count(WarningCode::NotPlaced, count as u64, are);
        }
        placed.warnings.extend(notes.warnings(&placed.file, Source::Held(&[])));
    }
    warnings.append(&mut placed.warnings);
    (design.placement, design.nodes.kind) = (placed.placement, placed.kind);
    *unplaced = placed.unplaced;
    loaded.own_placement = files.last().cloned();
    files.push(placed.file);
}

/// How components without a position in the file of another placement lie.
const AT_ORIGIN: &str = "components are not placed and lie at (0, 0)";

fn read_on_pool(def: &Path, options: &ReadOptions) -> Result<Loaded, FileError> {
    let library = read_library(options)?;
    let (path, bytes, Everything { gathered, names, cell, nets }) =
        read_def(def, |source, size| everything(source, size, &library, options))?;
    let keep = options.keep_fillers;
    let mut loaded =
        assemble::assemble((&path, bytes), &library, gathered, names, cell, nets, keep);
    loaded.warnings.splice(0..0, library.warnings);
    loaded.layers = library.layers;
    loaded.bytes_read = library.bytes + bytes;
    loaded.files = library.files;
    loaded.files.push(path);
    Ok(loaded)
}

/// Reads where the DEF file `def` has the nodes of a design that was read from another one.
///
/// Coordinates are in the units of this file. Components that are not placed have the position
/// (0, 0). `pin_position` selects the position of pins with several shapes.
///
/// # Errors
/// When the file cannot be read, is not as the format has it, or has a component that is no node.
pub fn read_placement(
    def: &Path,
    nodes: &Nodes,
    pin_position: PinPosition,
) -> Result<LoadedPlacement, FileError> {
    let (path, _, mut gathered) =
        read_def(def, |source, size| read::without_library(source, size, pin_position, false))?;
    let index = NameIndex::new(&nodes.names);
    let names = gathered.components.take_names();
    let components = NameIndex::new(&names);
    let mut placed = LoadedPlacement::of_kinds(&nodes.kind);
    let mut mentioned = vec![false; nodes.len()];
    let [x, y] = [gathered.components.x, gathered.components.y].map(|column| column.into_vec());
    for (i, name) in names.iter().enumerate() {
        let Some(node) = index.find(name.as_bytes()).map(|node| node as usize) else {
            let message = format!("component {name} is none of the design's");
            return Err(FileError::whole(&path, ErrorKind::Name(message)));
        };
        let place = gathered.components.place[i];
        placed.place(node, (x[i], y[i]), place.orientation);
        mentioned[node] = true;
        match (nodes.kind[node], place.status) {
            (NodeKind::Movable, Status::Unplaced) => placed.unplaced.push(node as u32),
            (NodeKind::Movable, Status::Fixed) => placed.kind[node] = NodeKind::Fixed,
            _ => {}
        }
    }
    let ports = gathered.plan.ports.names.iter().zip(&gathered.plan.ports.at);
    for (name, at) in ports {
        let name = port_name(&components, name);
        if let (Some(node), Some(at)) = (index.find(name.as_bytes()), *at) {
            placed.place(node as usize, at, Orientation::N);
            mentioned[node as usize] = true;
        }
    }
    let mut notes = Notes::default();
    notes.count(WarningCode::NotPlaced, placed.unplaced.len() as u64, AT_ORIGIN);
    placed.leave_out(&mentioned);
    let absent = "nodes of the design are not in it and lie at (0, 0)";
    notes.count(WarningCode::NotPlaced, placed.missing.len() as u64, absent);
    let warnings = notes.warnings(&path, Source::Held(&[]));
    Ok(LoadedPlacement { warnings, file: path, ..placed })
}

/// Returns the name of the node of a pin of the design: the pin's, unless a component has it.
fn port_name<'a>(components: &NameIndex, name: &'a str) -> Cow<'a, str> {
    let mut unique = Cow::Borrowed(name);
    while components.find(unique.as_bytes()).is_some() {
        unique = format!("PIN/{unique}").into();
    }
    unique
}

/// Returns the library of all LEF files together.
fn read_library(options: &ReadOptions) -> Result<Library, FileError> {
    let (mut all, mut known) = (Library::default(), HashSet::new());
    for path in options.lef.iter().map(|lef| file::found(lef)) {
        if path.canonicalize().is_ok_and(|path| !known.insert(path)) {
            let message = format!("{}: it is given twice and read once", path.display());
            all.warnings.push(Warning::new(WarningCode::NotRead, message));
        } else {
            all.files.push(path);
        }
    }
    let read = |lef: usize| {
        let path = &all.files[lef];
        let text = Text::open(path).map_err(|e| FileError::io(path, e))?;
        lef::parse(&text, options.pin_position)
            .map_err(|miss| Source::Held(&text).error(path, miss.within(&text, 0)))
    };
    for (lef, library) in parallel::map(all.files.len(), read).into_iter().enumerate() {
        all.append(library?).map_err(|e| Source::Held(&[]).error(&all.files[lef], e.into()))?;
    }
    let mut notes = Notes::default();
    let index = NameIndex::new(&all.names);
    if index.has_repeats() {
        let names = all.names.iter().enumerate();
        let repeated = names.filter(|(i, name)| index.find(name.as_bytes()) != Some(*i as u32));
        let are = "macros are there already under the same name and left out";
        notes.count(WarningCode::LibrarySimplified, repeated.count() as u64, are);
    }
    let are = "macros are of an unknown class and stay where they are placed";
    notes.count(WarningCode::LibrarySimplified, all.odd_classes, are);
    all.warnings.extend(notes.warnings(Path::new("LEF"), Source::Held(&[])));
    Ok(all)
}

/// Reads the DEF file by `read`, which gets the size of parts; returns its path, its bytes, and the
/// result.
fn read_def<T>(
    def: &Path,
    read: impl Fn(Source<'_>, usize) -> Result<T, Fault>,
) -> Result<(PathBuf, u64, T), FileError> {
    let path = file::found(def);
    let input = Input::open(&path, Text::open).map_err(|e| FileError::io(&path, e))?;
    let source = input.source();
    let value = read::in_parts(source, &path, |size| read(source, size))?;
    Ok((path, source.len() as u64, value))
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
        gathered.plan.add(rest.plan)?;
    }
    read::ended(source, end.1)?;
    gathered.plan.ports.names = port_names;
    let nets = have_nets.then(|| nets.into_nets());
    Ok(Everything { gathered, names, cell, nets })
}

/// Names the first component that occurs a second time.
#[cold]
fn repeated(source: Source<'_>) -> Result<Fault, Fault> {
    let mut found = read::without_library(source, PART, PinPosition::Center, true)?;
    let names = found.components.take_names();
    let index = NameIndex::new(&names);
    let again = |i: &usize| index.find(names.get(*i).as_bytes()) != Some(*i as u32);
    let Some(i) = (0..names.len()).find(again) else {
        return Ok(Fault::expected(source.len(), "each component once"));
    };
    let message = format!("component {} stands a second time", names.get(i));
    Ok(Fault {
        at: found.components.slots[i].name,
        reason: Reason::Known(ErrorKind::Name(message)),
    })
}

#[cfg(test)]
mod tests;
