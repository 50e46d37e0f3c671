//! DEF files with new placements: a copy of the file, in which only the placements of movable
//! components are others.

use super::PinPosition;
use super::lef::Library;
use super::read::{Gathered, read, room_for_nets};
use super::statements::{Known, PlaceSlot, Section, Slot};
use crate::design::{Design, Names, NodeKind};
use crate::output::write_whole;
use crate::text::error::{ErrorKind, Fault, FileError};
use crate::text::file::{self, Source, Text};
use crate::text::index::NameIndex;
use crate::text::parts::PART;
use std::io::{self, Write};
use std::path::Path;

/// Largest coordinate that is written.
const LARGEST: f64 = 1e15;

/// Writes the DEF file `source_def` to `out` with the movable components of `design` at their
/// positions in it.
///
/// All else is copied byte for byte, but fillers that are left out ([`Design::is_left_out_filler`])
/// become `UNPLACED`: where a component has a placement, its coordinates and its
/// orientation are replaced; `UNPLACED` is replaced by `PLACED ( x y ) O`; where there is neither,
/// `+ PLACED ( x y ) O` is put before the end of the statement. Coordinates are rounded to whole
/// units. With the feature `gzip` a file whose name ends in `.gz` is compressed. The file is
/// written beside `out` and renamed: it appears whole or not at all.
///
/// # Errors
/// When `source_def` cannot be read or is not as the format has it, when it lacks a movable
/// component of the design, when a coordinate is not finite, and when `out` cannot be written.
pub fn write_placement(out: &Path, source_def: &Path, design: &Design) -> Result<(), FileError> {
    design.check().map_err(|e| FileError::whole(out, ErrorKind::Design(e)))?;
    let packing = Packing::of(out)?;
    let source = file::find(source_def).unwrap_or_else(|| source_def.to_owned());
    let text = Text::open(&source).map_err(|e| FileError::io(&source, e))?;
    let slots = slots(&text, &source, design)?;
    write_whole(out, |file| packing.write(file, |file| copy(file, &text, &slots, design)))
        .map_err(|e| FileError::io(out, e))
}

/// How the file that is written is compressed.
enum Packing {
    None,
    #[cfg(feature = "gzip")]
    Gzip,
}

impl Packing {
    /// Returns the packing that the name of the file implies.
    fn of(out: &Path) -> Result<Packing, FileError> {
        let name = out.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let ending = [".gz", ".xz", ".bz2", ".zst"].into_iter().find(|end| name.ends_with(end));
        match ending {
            None => Ok(Packing::None),
            #[cfg(feature = "gzip")]
            Some(".gz") => Ok(Packing::Gzip),
            Some(ending) => {
                let expected = if cfg!(feature = "gzip") {
                    "a name that ends in .def or .def.gz"
                } else {
                    "a name that ends in .def"
                };
                let found = format!("one that ends in {ending}");
                Err(FileError::whole(out, ErrorKind::Unwritable { expected, found }))
            }
        }
    }

    fn write(
        &self,
        file: &mut dyn Write,
        copy: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        match self {
            Packing::None => copy(file),
            #[cfg(feature = "gzip")]
            Packing::Gzip => {
                let level = flate2::Compression::default();
                let mut encoder = flate2::write::GzEncoder::new(file, level);
                copy(&mut encoder)?;
                encoder.finish().map(drop)
            }
        }
    }
}

/// Returns the names of the components of a DEF file, and their offsets in it.
pub(super) fn components(source: Source<'_>, size: usize) -> Result<(Names, Vec<Slot>), Fault> {
    let library = Library::default();
    let position = PinPosition::default();
    let known = Known { library: &library, cells: None, position, netlist: None, slots: true };
    let (mut gathered, mut nets) = (Gathered::new(source.len()), room_for_nets(0));
    read(size, source, (source.start()?, Section::Top), &known, &mut gathered, &mut nets)?;
    Ok((gathered.components.take_names(), gathered.components.slots))
}

/// Returns the slots of the components of `design` that are movable, or fillers that are left out,
/// with their nodes.
fn slots(text: &[u8], path: &Path, design: &Design) -> Result<Vec<(u32, PlaceSlot)>, FileError> {
    let nodes = &design.nodes;
    let index = NameIndex::new(&nodes.names);
    let movable = |node: u32| nodes.kind.get(node as usize) == Some(&NodeKind::Movable);
    let known = |node: u32| (node as usize) < nodes.len();
    let source = Source::Held(text);
    let found = components(source, PART).or_else(|_| components(source, usize::MAX));
    let (names, found) = found.map_err(|fault| source.error(path, fault))?;
    let mut slots = Vec::new();
    let mut next = 0;
    for (name, slot) in names.iter().zip(found) {
        // Components are most often in the order of the design.
        let same = (next as usize) < nodes.names.len() && nodes.names.get(next as usize) == name;
        let node = if same { Some(next) } else { index.find(name.as_bytes()) };
        if let Some(node) = node {
            next = node + 1;
            if movable(node) || known(node) && design.is_left_out_filler(node as usize) {
                slots.push((node, slot.place));
            }
        }
    }
    let mut met = vec![false; nodes.len()];
    slots.iter().for_each(|(node, _)| met[*node as usize] = true);
    let unwritable =
        |expected, found| Err(FileError::whole(path, ErrorKind::Unwritable { expected, found }));
    for node in design.movable() {
        let (x, y) = (design.placement.x[node], design.placement.y[node]);
        let name = || match nodes.names.is_empty() {
            true => format!("node {node}"),
            false => format!("component {}", nodes.names.get(node)),
        };
        if !met[node] {
            return unwritable("the components of the design", format!("no {}", name()));
        }
        if x.abs().max(y.abs()) > LARGEST || x.is_nan() || y.is_nan() {
            return unwritable("finite coordinates", format!("{} at {x} {y}", name()));
        }
    }
    Ok(slots)
}

/// Rounds the positions of movable nodes to whole units, as [`write_placement`] does; returns how
/// many of them change.
#[cfg(feature = "cli")]
pub(crate) fn round_positions(design: &mut Design) -> usize {
    let movable = design.movable_nodes();
    let at = &mut design.placement;
    let round = |&node: &usize| {
        let (x, y) = (at.x[node], at.y[node]);
        (at.x[node], at.y[node]) = (x.round(), y.round());
        (at.x[node], at.y[node]) != (x, y)
    };
    movable.iter().map(round).filter(|&changes| changes).count()
}

/// Writes `text` with the placements of `design` in these slots.
fn copy(
    file: &mut dyn Write,
    text: &[u8],
    slots: &[(u32, PlaceSlot)],
    design: &Design,
) -> io::Result<()> {
    let mut from = 0;
    for (node, slot) in slots {
        let node = *node as usize;
        let (x, y) = (design.placement.x[node].round(), design.placement.y[node].round());
        let (x, y) = (x as i64, y as i64);
        let orientation = design.placement.orientation[node].name();
        if design.is_left_out_filler(node) {
            if let PlaceSlot::Words([keyword, .., of_orientation]) = slot {
                file.write_all(&text[from..keyword.start])?;
                file.write_all(b"UNPLACED")?;
                from = of_orientation.end;
            }
            continue;
        }
        match slot {
            PlaceSlot::Words([_, of_x, of_y, of_orientation]) => {
                file.write_all(&text[from..of_x.start])?;
                write!(file, "{x}")?;
                file.write_all(&text[of_x.end..of_y.start])?;
                write!(file, "{y}")?;
                file.write_all(&text[of_y.end..of_orientation.start])?;
                file.write_all(orientation.as_bytes())?;
                from = of_orientation.end;
            }
            PlaceSlot::Unplaced(range) => {
                file.write_all(&text[from..range.start])?;
                write!(file, "PLACED ( {x} {y} ) {orientation}")?;
                from = range.end;
            }
            PlaceSlot::Before(place) => {
                file.write_all(&text[from..*place])?;
                write!(file, "+ PLACED ( {x} {y} ) {orientation} ")?;
                from = *place;
            }
        }
    }
    file.write_all(&text[from..])
}
