//! Whole entries of a file that is read in parts.

use super::file::Large;
use std::ops::Range;

/// Bytes behind a part of a file that are looked through for the end of its last entry.
const MOST_BEHIND: usize = 4 << 20;

/// Bytes of a file, and where in them whole entries are.
pub(crate) struct Entries {
    pub(crate) bytes: Vec<u8>,
    pub(crate) entries: Range<usize>,
}

/// Returns the entries that begin in `range`, the first of the file being at `start`. `None` when
/// they cannot be read or the last of them is too long.
pub(crate) fn entries(
    file: &Large,
    range: Range<usize>,
    start: usize,
    boundary: impl Fn(&[u8]) -> &[u8],
) -> Option<Entries> {
    /// A word that tells a boundary is shorter.
    const WORD: usize = 64;
    let length = range.len();
    let mut behind = 1 << 10;
    loop {
        let end = file.len().min(range.end + behind);
        let bytes = file.bytes(range.start..end)?;
        // Where an entry begins at or behind a place, unless that may be decided by bytes that are
        // not here.
        let from = |place: usize| {
            let found = boundary(&bytes[place..]).len();
            (end == file.len() || found >= WORD).then_some(bytes.len() - found)
        };
        let first = if range.start == start { Some(0) } else { from(0) };
        match (first, from(length)) {
            (Some(first), Some(last)) => return Some(Entries { bytes, entries: first..last }),
            _ if behind >= MOST_BEHIND => return None,
            _ => {
                file.take_back(bytes);
                behind *= 16;
            }
        }
    }
}
