//! A DEF file, part by part on all threads.
//!
//! A part ends before a line that begins like an entry. The section of its first statement is
//! certain only when all previous parts are read. Until then the `END`s of sections in
//! them give a guess, and a part with a wrong guess is read again. If a part ends within a
//! statement, because a line only looked like an entry, its reader fails and the file is read again
//! as one part.

use super::PinPosition;
use super::lef::Library;
use super::statements::{Floorplan, Known, Part, Place, Section, Slot, parse};
use crate::design::{Halo, Names};
use crate::text::columns::{Column, NameColumn, NetColumns};
use crate::text::error::{Fault, FileError};
use crate::text::file::Source;
use crate::text::parts::{self, PART};
use crate::text::scan::Scanner;
use memchr::memchr;
use memchr::memmem::find_iter;
use std::path::Path;

/// Returns the text from the next line that begins as an entry or a row does.
fn boundary(mut i: &[u8]) -> &[u8] {
    while let Some(end) = memchr(b'\n', i) {
        i = &i[end + 1..];
        let word = i.iter().position(|&b| b != b' ' && b != b'\t').unwrap_or(i.len());
        match &i[word..] {
            [b'-', blank, ..] if *blank <= b' ' => return i,
            [b'R', b'O', b'W', b' ', ..] => return i,
            _ => {}
        }
    }
    &i[i.len()..]
}

/// Behind the last `END` that begins a line.
fn last_end(text: &[u8]) -> Option<usize> {
    // Forwards, for which all bytes of a vector are compared at once.
    find_iter(text, b"\nEND ").last().map(|at| at + b"\nEND ".len())
}

/// Returns the section at the end of a part, very likely, when it begins in `section`.
fn guess(text: &[u8], section: Section) -> Section {
    let last_end = last_end(text);
    let from = match (last_end, section) {
        (Some(end), _) => end,
        (None, Section::Top) => 0,
        (None, section) => return section,
    };
    let mut scanner = Scanner::new(&text[from..]);
    if last_end.is_some() {
        scanner.word();
    }
    loop {
        match scanner.word() {
            [] => return Section::Top,
            word => {
                if let Some(section) = Section::of(word) {
                    return section;
                }
            }
        }
        if scanner.end_statement().is_err() {
            return Section::Top;
        }
    }
}

/// The content of a DEF file except its nets.
pub(super) struct Gathered {
    pub(super) plan: Floorplan,
    pub(super) components: GatheredComponents,
}

pub(super) struct GatheredComponents {
    names: NameColumn,
    pub(super) cell: Column<u32>,
    pub(super) x: Column<f64>,
    pub(super) y: Column<f64>,
    pub(super) place: Vec<Place>,
    pub(super) halos: Vec<Halo>,
    pub(super) regions: Vec<(u32, String)>,
    /// The offsets of each in the file, if [`Known::slots`] is set.
    pub(super) slots: Vec<Slot>,
}

impl GatheredComponents {
    /// Takes the macros of all components.
    pub(super) fn take_cells(&mut self) -> Vec<u32> {
        std::mem::replace(&mut self.cell, Column::with_capacity(0)).into_vec()
    }

    /// Takes the names of all components.
    pub(super) fn take_names(&mut self) -> Names {
        std::mem::replace(&mut self.names, NameColumn::with_capacity(0, 0)).into_names()
    }
}

impl Gathered {
    /// Makes empty lists with capacity for a file of this many bytes. Their memory is touched only
    /// when it is filled.
    pub(super) fn new(bytes: usize) -> Self {
        let components = bytes / 64;
        Gathered {
            plan: Floorplan::default(),
            components: GatheredComponents {
                names: NameColumn::with_capacity(components, 10 * components),
                cell: Column::with_capacity(components),
                x: Column::with_capacity(components),
                y: Column::with_capacity(components),
                place: Vec::new(),
                halos: Vec::new(),
                regions: Vec::new(),
                slots: Vec::new(),
            },
        }
    }

    /// Adds what parts hold, in their order; their nets go to `nets`.
    fn take(&mut self, parts: &mut [Part], nets: &mut NetColumns) -> Result<(), Fault> {
        let components = &mut self.components;
        let first = components.cell.len();
        components.names.append(parts, |part| &part.components.names)?;
        components.cell.append(parts, |part| &part.components.cell);
        components.x.append(parts, |part| &part.components.x);
        components.y.append(parts, |part| &part.components.y);
        let mut first = first as u32;
        for part in parts.iter_mut() {
            let of = &mut part.components;
            components.place.append(&mut of.place);
            components.slots.append(&mut of.slots);
            let moved = |halo: Halo| Halo { node: first + halo.node, ..halo };
            components.halos.extend(of.halos.drain(..).map(moved));
            components.regions.extend(of.regions.drain(..).map(|(i, name)| (first + i, name)));
            first += of.cell.len() as u32;
            self.plan.add(std::mem::take(&mut part.plan))?;
        }
        let more: usize = parts.iter().map(|part| part.nets.pin_node.len()).sum();
        if nets.pins() + more > crate::design::MAX_COUNT {
            return Err(Fault::expected(0, "fewer than 4294967295 pins in nets"));
        }
        Ok(nets.append(parts, |part| &part.nets)?)
    }
}

/// No nets, with room for those that a file of so many bytes may hold.
pub(super) fn room_for_nets(bytes: usize) -> NetColumns {
    let nets = bytes / 64;
    NetColumns::with_capacity(nets, nets, 10 * nets, bytes / 24)
}

/// Reads all up to where nets begin, in parts of about `size` bytes, without a library: macros are
/// not known. `slots` is that of [`Known`].
pub(super) fn without_library(
    source: Source<'_>,
    size: usize,
    position: PinPosition,
    slots: bool,
) -> Result<Gathered, Fault> {
    let library = Library::default();
    let known = Known { library: &library, cells: None, position, netlist: None, slots };
    let (mut gathered, mut nets) = (Gathered::new(source.len()), room_for_nets(0));
    let start = (source.start()?, Section::Top);
    let (_, section) = read(size, source, start, &known, &mut gathered, &mut nets)?;
    if section != Section::Nets {
        ended(source, section)?;
    }
    Ok(gathered)
}

/// Fails when a file ends within a section.
pub(super) fn ended(source: Source<'_>, section: Section) -> Result<(), Fault> {
    match section {
        Section::Top | Section::Ended => Ok(()),
        section => Err(Fault::expected(source.len(), format!("`END {}`", section.name()))),
    }
}

/// Reads in parts first. Errors are reported when all is read as one part: a part may end within a
/// statement. `read` gets the size of parts.
pub(super) fn in_parts<T>(
    source: Source<'_>,
    path: &Path,
    read: impl Fn(usize) -> Result<T, Fault>,
) -> Result<T, FileError> {
    let parts = (source.len() > PART).then(|| read(PART).ok()).flatten();
    parts.map_or_else(|| read(usize::MAX), Ok).map_err(|fault| source.error(path, fault))
}

/// Reads from an offset, which is in a section, in parts of about `size` bytes, up to where nets
/// begin, or, when these are known, to the end of the file. Returns the offset and the section there.
pub(super) fn read(
    size: usize,
    source: Source<'_>,
    from: (usize, Section),
    known: &Known,
    gathered: &mut Gathered,
    nets: &mut NetColumns,
) -> Result<(usize, Section), Fault> {
    parts::read_in(
        size,
        source,
        from,
        boundary,
        guess,
        |piece, section, part| parse(piece, section, known, part),
        |parts| gathered.take(parts, nets),
    )
}
