//! A DEF file, part by part on all threads.
//!
//! A part ends where a line begins as entries do. Which section its first statement is in is known
//! for certain only when all parts before are read; it is guessed from the `END` of sections in
//! them, and a part whose guess was wrong is read again. A part that ends within a statement,
//! because something only looked like an entry, is an error at first, and the file is read again as
//! one part.

use super::lexer::{Def, Read};
use super::statements::{Floorplan, Known, Parsed, Part, Place, Section, parse};
use crate::design::{Halo, Names};
use crate::parallel::{self, each_mut};
use crate::text::columns::{Column, NameColumn, NetColumns};
use crate::text::entries::entries;
use crate::text::error::Miss;
use crate::text::file::Large;
use memchr::memchr;
use memchr::memmem::find_iter;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

/// Bytes of one part: a part's results stay in the cache of second level.
pub(super) const PART: usize = 1 << 18;
/// Parts of a batch, for each thread.
const BATCH: usize = 4;

/// The text of a DEF file.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// The text, and how many bytes a part is to have.
    Held(&'a [u8], usize),
    /// A file of which each thread holds the part it works on. Errors come without their position.
    File(&'a Large),
}

impl<'a> Source<'a> {
    pub(super) fn len(self) -> usize {
        match self {
            Source::Held(text, _) => text.len(),
            Source::File(file) => file.len(),
        }
    }

    /// Returns the part with this number. `None` when the file cannot be read in parts.
    fn part(self, number: usize) -> Option<Piece<'a>> {
        let range = |size: usize| {
            let start = number.saturating_mul(size).min(self.len());
            start..start.saturating_add(size).min(self.len())
        };
        let (bytes, range) = match self {
            Source::Held(text, size) => {
                let Range { start, end } = range(size);
                let from = |place: usize| text.len() - boundary(&text[place..]).len();
                // A part in which no entry begins is empty. Only the part before searches for the
                // next entry, so that a long text without entries is searched once.
                let start = match boundary_within(&text[start..], end - start) {
                    _ if start == 0 => Some(0),
                    found => found.map(|entry| text.len() - entry.len()),
                };
                (Cow::Borrowed(text), start.map_or(end..end, |start| start..from(end)))
            }
            Source::File(file) => {
                let read = entries(file, range(PART), 0, boundary)?;
                (Cow::Owned(read.bytes), read.entries)
            }
        };
        let last_end = last_end(&bytes[range.clone()]);
        Some(Piece { bytes, range, last_end })
    }

    /// Takes back the memory of a part that was read.
    fn take_back(self, piece: Piece<'a>) {
        if let (Source::File(file), Cow::Owned(bytes)) = (self, piece.bytes) {
            file.take_back(bytes);
        }
    }

    /// Returns the number of parts.
    fn parts(self) -> usize {
        let size = if let Source::Held(_, size) = self { size } else { PART };
        self.len().div_ceil(size)
    }
}

/// Returns the text from the next line that begins as an entry or a row does.
fn boundary(text: &[u8]) -> &[u8] {
    boundary_within(text, text.len()).unwrap_or_default()
}

/// Returns the text of [`boundary`] if the line before it ends within `bytes` of `text`.
fn boundary_within(text: &[u8], bytes: usize) -> Option<&[u8]> {
    let mut at = 0;
    while let Some(end) = memchr(b'\n', &text[at..bytes]) {
        at += end + 1;
        let line = &text[at..];
        let word = line.iter().position(|&b| b != b' ' && b != b'\t').unwrap_or(line.len());
        match &line[word..] {
            [b'-', blank, ..] if *blank <= b' ' => return Some(line),
            [b'R', b'O', b'W', b' ', ..] => return Some(line),
            _ => {}
        }
    }
    None
}

/// Behind the last `END` that begins a line.
fn last_end(text: &[u8]) -> Option<usize> {
    // Forwards, for which all bytes of a vector are compared at once.
    find_iter(text, b"\nEND ").last().map(|at| at + b"\nEND ".len())
}

/// A part of a file.
struct Piece<'a> {
    bytes: Cow<'a, [u8]>,
    range: Range<usize>,
    last_end: Option<usize>,
}

impl Piece<'_> {
    fn text(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }

    /// Returns the section at its end, very likely, when it begins in `section`.
    fn guess(&self, section: Section) -> Section {
        let from = match (self.last_end, section) {
            (Some(end), _) => end,
            (None, Section::Top) => 0,
            (None, section) => return section,
        };
        let mut lexer = Def::new(&self.text()[from..]);
        if self.last_end.is_some() {
            lexer.word();
        }
        loop {
            match lexer.word() {
                [] => return Section::Top,
                word => {
                    if let Some(section) = Section::of(word) {
                        return section;
                    }
                }
            }
            if lexer.end_statement().is_err() {
                return Section::Top;
            }
        }
    }
}

/// All that a DEF file holds, but for its nets.
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
    /// Makes empty lists, with room for the content of a file of so many bytes: memory is touched
    /// as it is filled.
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
            },
        }
    }

    /// Adds what parts hold, in their order; their nets go to `nets`.
    fn take<'a>(&mut self, parts: &mut [Part], nets: &mut NetColumns) -> Read<'a, ()> {
        let too_long = |_| Miss::expected(&[], "names of less than 4 GiB in all");
        let components = &mut self.components;
        let first = components.cell.len();
        components.names.append(parts, |part| &part.components.names).map_err(too_long)?;
        components.cell.append(parts, |part| &part.components.cell);
        components.x.append(parts, |part| &part.components.x);
        components.y.append(parts, |part| &part.components.y);
        let mut first = first as u32;
        for part in parts.iter_mut() {
            let of = &mut part.components;
            components.place.append(&mut of.place);
            let moved = |halo: Halo| Halo { node: first + halo.node, ..halo };
            components.halos.extend(of.halos.drain(..).map(moved));
            components.regions.extend(of.regions.drain(..).map(|(i, name)| (first + i, name)));
            first += of.cell.len() as u32;
            self.plan.add(std::mem::take(&mut part.plan)).map_err(too_long)?;
        }
        let more: usize = parts.iter().map(|part| part.nets.pin_node.len()).sum();
        if nets.pins() + more > crate::design::MAX_COUNT {
            return Err(Miss::expected(&[], "fewer than 4294967295 pins in nets"));
        }
        nets.append(parts, |part| &part.nets).map_err(too_long)
    }
}

/// No nets, with room for those that a file of so many bytes may hold.
pub(super) fn room_for_nets(bytes: usize) -> NetColumns {
    let nets = bytes / 64;
    NetColumns::with_capacity(nets, nets, 10 * nets, bytes / 24)
}

/// Reads one part after the other.
pub(super) struct Parts<'a> {
    source: Source<'a>,
    /// The next part.
    next: usize,
    /// Parts that were not read to their end.
    waiting: VecDeque<Piece<'a>>,
    section: Section,
    /// Memory of parts that were taken.
    spare: Vec<Part>,
}

impl<'a> Parts<'a> {
    pub(super) fn new(source: Source<'a>) -> Self {
        Parts {
            source,
            next: 0,
            waiting: VecDeque::new(),
            section: Section::Top,
            spare: Vec::new(),
        }
    }

    /// Returns the section that the next statement is in.
    pub(super) fn section(&self) -> Section {
        self.section
    }

    /// Reads up to where nets begin, or, when these are known, to the end of the file.
    ///
    /// # Errors
    /// An error with its position only when the text is held.
    pub(super) fn read(
        &mut self,
        known: &Known,
        gathered: &mut Gathered,
        nets: &mut NetColumns,
    ) -> Read<'a, ()> {
        while self.next < self.source.parts() || !self.waiting.is_empty() {
            let batch = BATCH * rayon::current_num_threads();
            let more = self.next..self.source.parts().min(self.next + batch);
            let more = if self.waiting.is_empty() { more } else { 0..0 };
            self.next += more.len();
            let loaded = parallel::map(more.len(), |k| self.source.part(more.start + k));
            for piece in loaded {
                self.waiting.push_back(piece.ok_or_else(Miss::not_held)?);
            }
            // Where nets begin, those parts are parsed that end before.
            let mut guess = self.section;
            let mut pieces: Vec<(Piece, Section)> = Vec::new();
            while let Some(piece) = self.waiting.pop_front() {
                let begins = guess;
                guess = piece.guess(begins);
                pieces.push((piece, begins));
            }
            let waits = |section| known.netlist.is_none() && section == Section::Nets;
            self.spare.resize_with(pieces.len(), Part::default);
            let source = self.source;
            let parsed = parallel::map_items(each_mut(&mut self.spare), |k, part| {
                let ((piece, section), part) = (&pieces[k], std::mem::take(part));
                let read = || parse_piece(source, piece, *section, known, part);
                (!waits(*section)).then(read)
            });
            self.spare.clear();
            let (mut parts, mut stopped) = (Vec::with_capacity(pieces.len()), false);
            for ((mut piece, guessed), parsed) in pieces.into_iter().zip(parsed) {
                if stopped || waits(self.section) {
                    stopped = true;
                    self.waiting.push_back(piece);
                    continue;
                }
                let parsed = match parsed {
                    Some(parsed) if guessed == self.section => parsed,
                    _ => parse_piece(self.source, &piece, self.section, known, Part::default()),
                };
                let Parsed { part, section, length } = parsed?;
                parts.push(part);
                self.section = section;
                if length < piece.range.len() {
                    piece.range.start += length;
                    piece.last_end = last_end(piece.text());
                    self.waiting.push_back(piece);
                    stopped = true;
                } else {
                    self.source.take_back(piece);
                }
            }
            gathered.take(&mut parts, nets)?;
            self.spare.extend(parts.into_iter().map(Part::emptied));
            if stopped {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Reads a piece into `part`, which is empty; errors have their position when the text is held.
fn parse_piece<'a>(
    source: Source<'a>,
    piece: &Piece<'a>,
    section: Section,
    known: &Known,
    part: Part,
) -> Read<'a, Parsed> {
    match (source, &piece.bytes) {
        (Source::Held(text, _), _) => parse(&text[piece.range.clone()], section, known, part),
        _ => parse(piece.text(), section, known, part).map_err(|_| Miss::not_held()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search from every part to the end of the text would take minutes.
    #[test]
    fn a_long_text_without_entries_is_searched_once() {
        let text = [&[b' '; 4 << 20][..], b"\n- u1 inv ;\n"].concat();
        let source = Source::Held(&text, 16);
        let parts = source.parts();
        let begun = std::time::Instant::now();
        let lengths: Vec<usize> =
            (0..parts).map(|k| source.part(k).unwrap().text().len()).filter(|n| *n > 0).collect();
        assert_eq!(lengths, [(4 << 20) + 1, text.len() - (4 << 20) - 1]);
        assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
    }
}
