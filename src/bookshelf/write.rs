//! Writes `.pl` files without loss, and has helpers of all writers of Bookshelf files.

use crate::design::{Design, NodeKind};
use crate::output::write_whole;
use crate::parallel::{self, join};
use crate::text::error::{ErrorKind, FileError, quoted, unwritable};
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

/// Nodes or nets formatted into one buffer.
const BLOCK: usize = 1 << 14;

/// Writes the positions of the nodes of `design`, in node order, to `path`.
///
/// Coordinates are written with as many digits as it takes to read the same
/// `f64` back. Fixed nodes are marked `/FIXED` or `/FIXED_NI`. The file is
/// written beside `path` and renamed: it appears whole or not at all.
///
/// # Errors
/// When the file cannot be written, the design's columns do not fit together ([`Design::check`]), a
/// coordinate is not finite, or a name is absent, empty or has a blank in it.
pub fn write_pl(path: &Path, design: &Design) -> Result<(), FileError> {
    check(design).map_err(|kind| FileError::whole(path, kind))?;
    write_whole(path, |out| write_places(out, design)).map_err(|e| FileError::io(path, e))
}

/// Refuses what would not read back.
pub(super) fn check(design: &Design) -> Result<(), ErrorKind> {
    design.check().map_err(ErrorKind::Design)?;
    const WORD: &str = "a name of one word";
    if design.nodes.names.len() != design.nodes.len() {
        return unwritable(WORD, "nodes without names".to_owned());
    }
    let check = |i: usize| {
        let name = design.nodes.names.get(i);
        let (x, y) = (design.placement.x[i], design.placement.y[i]);
        match (x.is_finite() && y.is_finite(), is_word(name)) {
            (false, _) => unwritable("finite coordinates", format!("{} at {x} {y}", quoted(name))),
            (_, false) => unwritable(WORD, quoted(name)),
            _ => Ok(()),
        }
    };
    parallel::first(design.nodes.len(), |i| check(i).err()).map_or(Ok(()), Err)
}

/// Whether a name is one word that no reader takes for a comment.
pub(crate) fn is_word(name: &str) -> bool {
    let is_clear = |b: u8| !b.is_ascii_whitespace() && !b.is_ascii_control();
    !name.is_empty() && !name.starts_with('#') && name.bytes().all(is_clear)
}

/// Writes the text of a `.pl` file: the positions of the nodes of `design`, in node order.
pub(crate) fn write_places(out: &mut dyn Write, design: &Design) -> io::Result<()> {
    let (nodes, at) = (&design.nodes, &design.placement);
    header(out, "pl")?;
    blocks(out, nodes.len(), |i, text| {
        let mark = match nodes.kind[i] {
            NodeKind::Movable => "",
            NodeKind::Fixed => " /FIXED",
            NodeKind::FixedOverlappable => " /FIXED_NI",
        };
        let (x, y) = (Shortest(at.x[i]), Shortest(at.y[i]));
        let orientation = at.orientation[i].name();
        writeln!(text, "{}\t{x}\t{y}\t: {orientation}{mark}", nodes.names.get(i))
    })
}

/// The comment near the beginning of the files that this program writes, before its version.
pub(crate) const MARK: &str = "# Written by placefield";

/// The first lines of a file.
pub(crate) fn header(out: &mut dyn Write, kind: &str) -> io::Result<()> {
    writeln!(out, "UCLA {kind} 1.0")?;
    writeln!(out, "{MARK} {}\n", env!("CARGO_PKG_VERSION"))
}

/// Formats `count` records in parallel, a block to a buffer, and writes the buffers in order.
pub(crate) fn blocks(
    out: &mut dyn Write,
    count: usize,
    record: impl Fn(usize, &mut Vec<u8>) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let block = |range: Range<usize>| -> io::Result<Vec<u8>> {
        let mut text = Vec::with_capacity(64 * range.len());
        range.into_iter().try_for_each(|i| record(i, &mut text))?;
        Ok(text)
    };
    // A few blocks at a time, so that memory does not grow with the design.
    let starts: Vec<usize> = (0..count).step_by(BLOCK).collect();
    let mut groups = starts.chunks(4 * parallel::threads());
    let mut texts: Vec<io::Result<Vec<u8>>> = Vec::new();
    loop {
        let group = groups.next().unwrap_or_default();
        let text = |k: usize| block(group[k]..count.min(group[k] + BLOCK));
        // This thread writes a group while others format the next.
        let write = || texts.drain(..).try_for_each(|text| out.write_all(&text?));
        let (written, next) = join(|| parallel::map(group.len(), text), write);
        written?;
        texts = next;
        if texts.is_empty() {
            return Ok(());
        }
    }
}

/// A number in its shortest form that reads back to the same `f64`.
pub(crate) struct Shortest(pub(crate) f64);

impl std::fmt::Display for Shortest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let whole = self.0 as i64;
        // Most numbers are whole, and integers are formatted several times faster.
        if (whole as f64).to_bits() == self.0.to_bits() {
            write!(f, "{whole}")
        } else if (1e-5..1e16).contains(&self.0.abs()) {
            write!(f, "{}", self.0)
        } else {
            write!(f, "{:e}", self.0)
        }
    }
}

#[cfg(test)]
mod tests;
