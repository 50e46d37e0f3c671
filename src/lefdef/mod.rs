//! LEF and DEF files: readers for a library and a design, and a writer that puts placements into a
//! DEF file and leaves all else as it is.
//!
//! [`read_design`] gives a [`Design`] whose layout unit is the DEF file's; lengths of LEF, which
//! are in micrometres, are put into it and rounded once, as `f64`. The languages are those of the
//! LEF/DEF 5.8 Language Reference and its predecessors from 5.3 on. Words are separated by blanks
//! alone; which of them are keywords depends on their position. Counts in the headers of sections
//! are not looked at. Large files are read part by part on all threads.
//!
//! With the features `gzip` and `xz` a file may be compressed by these, whatever it is called.
//!
#![doc = include_str!("statements.md")]

mod assemble;
mod counts;
mod edges;
mod lef;
mod lexer;
mod nets;
mod polygon;
mod read;
mod rows;
mod statements;
mod write;
mod write_design;

pub use crate::formats::{ErrorKind, FileError, Loaded, LoadedPlacement, ReadOptions};
#[cfg(feature = "cli")]
pub(crate) use write::round_positions;
pub use write::write_placement;
pub use write_design::{Written, write_design};

#[allow(unused_imports)] // named in the documentation
use crate::design::{Design, Fence, Master};
use crate::design::{MAX_COUNT, Names, Nets, NodeKind, Nodes, Orientation, Placement};
use crate::formats;
use crate::parallel;
use crate::text::error::Miss;
use crate::text::file::{self, Large, Text};
use crate::text::index::NameIndex;
use crate::warning::{Warning, WarningCode};
use lef::Library;
use lexer::Read;
use nets::{CellPins, Netlist, UNPLACED};
use read::{Gathered, PART, Parts, Source, room_for_nets};
use serde::{Deserialize, Serialize};
use statements::{Known, Section, Status};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The position assumed for a pin of several shapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PinPosition {
    /// The centre of the bounding box of all shapes.
    #[default]
    Center,
    /// The mean of the centres of all rectangles, as OpenROAD reports wirelengths.
    Mean,
}

/// Counts of what a DEF file holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DefSummary {
    /// `VERSION`, as it is written; `None` if there is none.
    pub version: Option<String>,
    /// Layout units in a micrometre.
    pub units: f64,
    /// Components.
    pub components: u64,
    /// Pins of the design.
    pub pins: u64,
    /// Nets, supply nets among `NETS` too.
    pub nets: u64,
    /// Pins of components in these nets.
    pub connections: u64,
    /// Nets in `SPECIALNETS`.
    pub special_nets: u64,
    /// Statements `ROW`.
    pub rows: u64,
    /// Components that are not placed.
    pub unplaced: u64,
    /// Regions, of whatever type.
    pub regions: u64,
    /// Entries of `BLOCKAGES`.
    pub blockages: u64,
    /// Statements passed over, by section, by statement, or by section and option, and how often.
    pub skipped: BTreeMap<String, u64>,
}

/// Counts of what LEF files hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LefSummary {
    /// Statements passed over, by statement, or by block and statement in it, and how often.
    pub skipped: BTreeMap<String, u64>,
}

/// Lines of a routing grid: `count` lines from `start`, `step` apart, in layout units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GcellGrid {
    /// Along which axis the lines follow one another.
    pub axis: GridAxis,
    /// The first line.
    pub start: f64,
    /// Number of lines.
    pub count: u64,
    /// From one line to the next.
    pub step: f64,
}

/// An axis of a [`GcellGrid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum GridAxis {
    X,
    Y,
}

/// A routing layer of LEF, in micrometres.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoutingLayer {
    /// Its name.
    pub name: String,
    /// How wires run on it.
    pub direction: LayerDirection,
    /// From wire to wire along x and y; 0 where the library has none.
    pub pitch: [f64; 2],
    /// Default width of wires; 0 where the library has none.
    pub width: f64,
}

/// How wires run on a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerDirection {
    /// Along x.
    Horizontal,
    /// Along y.
    Vertical,
    /// Otherwise, or not given by the library.
    Unknown,
}

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
        let mut placed =
            formats::read_placement(other, &loaded.design.nodes, options.pin_position)?;
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
        read_def(def, |source| everything(source, &library, options))?;
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
    let (path, _, (mut gathered, ())) = read_def(def, |source| {
        let known = Known { library: &library, cells: None, position: pin_position, netlist: None };
        let mut gathered = Gathered::new(source.len());
        let mut parts = Parts::new(source);
        parts.read(&known, &mut gathered, &mut room_for_nets(0))?;
        if parts.section() != Section::Nets {
            ended(source, parts.section())?;
        }
        Ok((gathered, ()))
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
        let library = lef::parse(&text, position).map_err(|miss| miss.locate(&path, &text))?;
        Ok((library, path, text.len() as u64))
    };
    let (mut all, mut files, mut bytes) = (Library::default(), Vec::new(), 0);
    for read in parallel::map(options.lef.len(), read) {
        let (library, path, length) = read?;
        let too_long = |_| {
            let message = "names of more than 4 GiB in all".to_owned();
            FileError::whole(&path, ErrorKind::Name(message))
        };
        all.append(library).map_err(too_long)?;
        files.push(path);
        bytes += length;
    }
    let mut warnings = Vec::new();
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

/// Reads the DEF file by `read`, in parts as far as that works; returns its path, its bytes, and
/// the result of `read`.
fn read_def<T>(
    def: &Path,
    read: impl for<'a> Fn(Source<'a>) -> Read<'a, T>,
) -> Result<(PathBuf, u64, T), FileError> {
    let path = file::find(def).unwrap_or_else(|| def.to_owned());
    if let Some(large) = Large::open(&path)
        && let Ok(value) = read(Source::File(&large))
    {
        return Ok((path, large.len() as u64, value));
    }
    let text = Text::open(&path).map_err(|e| FileError::io(&path, e))?;
    // In parts first; errors are reported when all is read as one part.
    let parts = (text.len() > PART).then(|| read(Source::Held(&text, PART)).ok()).flatten();
    let value = match parts {
        Some(value) => value,
        None => read(Source::Held(&text, text.len().max(1)))
            .map_err(|miss| miss.locate(&path, &text))?,
    };
    Ok((path, text.len() as u64, value))
}

/// Fails when a file ends within a section.
fn ended<'a>(source: Source<'a>, section: Section) -> Read<'a, ()> {
    let end = match source {
        Source::Held(text, _) => &text[text.len()..],
        Source::File(_) => &[],
    };
    match section {
        Section::Top => Ok(()),
        section => Err(Miss::expected(end, format!("`END {}`", section.name()))),
    }
}

/// The content of a DEF file, its components' names and macros apart.
struct Everything {
    gathered: Gathered,
    names: Names,
    cell: Vec<u32>,
    nets: Option<Nets>,
}

/// Reads all of a DEF file.
fn everything<'a>(
    source: Source<'a>,
    library: &Library,
    options: &ReadOptions,
) -> Read<'a, Everything> {
    let position = options.pin_position;
    let cells = NameIndex::new(&library.names);
    let mut known = Known { library, cells: Some(&cells), position, netlist: None };
    let bytes = source.len();
    let (mut gathered, mut nets) = (Gathered::new(bytes), room_for_nets(bytes));
    let mut parts = Parts::new(source);
    parts.read(&known, &mut gathered, &mut nets)?;
    let names = gathered.components.take_names();
    let cell = gathered.components.take_cells();
    let components = NameIndex::new(&names);
    if components.has_repeats() {
        return Err(repeated(source));
    }
    let have_nets = parts.section() == Section::Nets;
    if have_nets {
        let ports = NameIndex::new(&gathered.plan.ports.names);
        let placed = gathered.plan.ports.at.iter().scan(cell.len(), |node, at| {
            let of = at.map(|_| *node as u32);
            *node += usize::from(at.is_some());
            Some(of)
        });
        let port_node: Vec<Option<u32>> = placed.collect();
        if cell.len() + port_node.len() > MAX_COUNT {
            return Err(Miss::expected(&[], "fewer than 4294967295 components and pins"));
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
        parts.read(&known, &mut rest, &mut nets)?;
        drop(netlist);
        let too_long = |_| Miss::expected(&[], "names of less than 4 GiB in all");
        gathered.plan.add(rest.plan).map_err(too_long)?;
    }
    ended(source, parts.section())?;
    let nets = have_nets.then(|| nets.into_nets());
    Ok(Everything { gathered, names, cell, nets })
}

/// Names the first component that occurs a second time.
#[cold]
fn repeated<'a>(source: Source<'a>) -> Miss<'a> {
    let Source::Held(text, _) = source else {
        return Miss::expected(&[], "each component once");
    };
    let mut seen = std::collections::HashSet::new();
    let found = write::components(text, |at, _| {
        let name = lexer::first(at);
        if seen.insert(name) {
            return Ok(());
        }
        let name = String::from_utf8_lossy(name);
        Err(Miss::name(at, format!("component {name} stands a second time")))
    });
    found.err().unwrap_or_else(|| Miss::expected(&text[text.len()..], "each component once"))
}

#[cfg(test)]
mod tests;
