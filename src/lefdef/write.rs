//! Writes DEF files with new placements: a copy in which only the placements of movable components
//! differ.

use super::PinPosition;
use super::read::{in_parts, without_library};
use super::statements::PlaceSlot;
use crate::design::{Design, NodeKind};
use crate::output::write_whole;
use crate::text::error::{ErrorKind, FileError, unwritable};
use crate::text::file::{self, Source, Text};
use crate::text::index::NameIndex;
use std::io::{self, Write};
use std::ops::Range;
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
    let packed = is_packed(out)?;
    let source = file::found(source_def);
    let text = Text::open(&source).map_err(|e| FileError::io(&source, e))?;
    let slots = slots(&text, &source, design)?;
    write_whole(out, |file| write_packed(file, packed, |file| copy(file, &text, &slots, design)))
        .map_err(|e| FileError::io(out, e))
}

/// Returns whether the name of the file that is written asks for gzip.
fn is_packed(out: &Path) -> Result<bool, FileError> {
    let name = out.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    match [".gz", ".xz", ".bz2", ".zst"].into_iter().find(|end| name.ends_with(end)) {
        None => Ok(false),
        Some(".gz") if cfg!(feature = "gzip") => Ok(true),
        Some(ending) => {
            let expected = match cfg!(feature = "gzip") {
                true => "a name that ends in .def or .def.gz",
                false => "a name that ends in .def",
            };
            let refused = unwritable(expected, format!("one that ends in {ending}"));
            refused.map_err(|kind| FileError::whole(out, kind))
        }
    }
}

/// Writes by `copy`, through gzip if the file is to be `packed`.
fn write_packed(
    file: &mut dyn Write,
    packed: bool,
    copy: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    #[cfg(feature = "gzip")]
    if packed {
        let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        copy(&mut encoder)?;
        return encoder.finish().map(drop);
    }
    debug_assert!(!packed, "the name was refused");
    copy(file)
}

/// Returns the slots of the components of `design` that are movable, or fillers that are left out,
/// with their nodes.
fn slots(text: &[u8], path: &Path, design: &Design) -> Result<Vec<(u32, PlaceSlot)>, FileError> {
    let nodes = &design.nodes;
    let index = NameIndex::new(&nodes.names);
    let movable = |node: u32| nodes.kind.get(node as usize) == Some(&NodeKind::Movable);
    let known = |node: u32| (node as usize) < nodes.len();
    let source = Source::Held(text);
    let position = PinPosition::default();
    let mut found =
        in_parts(source, path, |size| without_library(source, size, position, true))?.components;
    let mut slots = Vec::new();
    let mut next = 0;
    for (name, slot) in found.take_names().iter().zip(found.slots) {
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
    let refused =
        |expected, found| unwritable(expected, found).map_err(|kind| FileError::whole(path, kind));
    for node in design.movable() {
        let (x, y) = (design.placement.x[node], design.placement.y[node]);
        let name = || match nodes.names.is_empty() {
            true => format!("node {node}"),
            false => format!("component {}", nodes.names.get(node)),
        };
        if !met[node] {
            return refused("the components of the design", format!("no {}", name()));
        }
        if x.abs().max(y.abs()) > LARGEST || x.is_nan() || y.is_nan() {
            return refused("finite coordinates", format!("{} at {x} {y}", name()));
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
    let mut replace = |range: Range<usize>, by: &str| {
        file.write_all(&text[from..range.start])?;
        from = range.end;
        file.write_all(by.as_bytes())
    };
    for (node, slot) in slots {
        let (node, at) = (*node as usize, &design.placement);
        let [x, y] = [at.x[node], at.y[node]].map(|v| (v.round() as i64).to_string());
        let orientation = at.orientation[node].name();
        let left_out = design.is_left_out_filler(node);
        match slot.clone() {
            PlaceSlot::Words([keyword, .., of_orientation]) if left_out => {
                replace(keyword.start..of_orientation.end, "UNPLACED")?;
            }
            _ if left_out => {}
            PlaceSlot::Words([_, of_x, of_y, of_orientation]) => {
                replace(of_x, &x)?;
                replace(of_y, &y)?;
                replace(of_orientation, orientation)?;
            }
            PlaceSlot::Unplaced(range) => {
                replace(range, &format!("PLACED ( {x} {y} ) {orientation}"))?;
            }
            PlaceSlot::Before(place) => {
                replace(place..place, &format!("+ PLACED ( {x} {y} ) {orientation} "))?;
            }
        }
    }
    file.write_all(&text[from..])
}
