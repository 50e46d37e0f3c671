//! A large text, cut where entries begin and read on all threads.

use super::error::Miss;
use super::file::Large;
use super::lexer;
use super::notes::Tally;
use crate::design::{Names, NamesTooLong};
use num_traits::Zero;
use rayon::prelude::*;
use std::ops::Range;

/// Bytes of one chunk: what is read of it stays in the cache of second level until it is taken.
const CHUNK: usize = 1 << 18;
/// Chunks of a batch, for each thread.
const BATCH: usize = 8;
/// Bytes behind a chunk of a file that are looked through for the end of its last entry.
const MOST_BEHIND: usize = 4 << 20;

/// What a file's parser is given.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// The text.
    Held(&'a [u8]),
    /// A file of which each thread holds the chunk it works on. Whatever there is to complain of or to
    /// tell with its place is met as [`Miss::not_held`], for which the file is to be read again, whole.
    File(&'a Large),
}

/// What follows a file's head.
#[derive(Clone, Copy)]
pub(super) struct Body<'a> {
    source: Source<'a>,
    /// All of it, or as much of it as is held.
    pub(super) held: &'a [u8],
}

impl<'a> Source<'a> {
    /// The text's beginning, with all of its head; the whole text where it is held.
    pub(super) fn head(self) -> &'a [u8] {
        match self {
            Source::Held(text) => text,
            Source::File(file) => file.head(),
        }
    }

    /// What follows the head, of which `held` is the part of [`Source::head`].
    pub(super) fn body(self, held: &'a [u8]) -> Result<Body<'a>, Miss<'a>> {
        // Else the head may go on behind what was looked at.
        let whole = matches!(self, Source::Held(_)) || held.contains(&b'\n');
        if whole { Ok(Body { source: self, held }) } else { Err(Miss::not_held()) }
    }
}

impl Body<'_> {
    /// Bytes of it.
    pub(super) fn len(&self) -> usize {
        match self.source {
            Source::Held(_) => self.held.len(),
            Source::File(file) => file.len() - self.start(),
        }
    }

    /// Where it begins in its file.
    fn start(&self) -> usize {
        self.source.head().len() - self.held.len()
    }
}

/// Part of a text that one thread reads.
enum Chunk<'a> {
    Held(&'a [u8]),
    /// From the first entry that begins in this range to the first behind it.
    InFile(&'a Large, Range<usize>),
}

/// Reads `body` chunk by chunk and hands the results over in file order.
///
/// `boundary` finds, from some place in the text, the next place where an
/// entry begins (the end of the text at the latest). `parse` reads one chunk, and counts what is
/// odd in it; `take` gets what was read of a batch of them, and may use all threads for it.
/// While one batch of chunks is taken the next is already parsed, so at most two batches are held.
/// Gives what was odd in all of them.
///
/// The complaint about the earliest chunk wins, however threads were scheduled.
pub(super) fn read<'a, T: Send>(
    body: Body<'a>,
    boundary: impl Fn(&[u8]) -> &[u8] + Sync,
    parse: impl for<'c> Fn(&'c [u8]) -> Result<(T, Tally<'c>), Miss<'c>> + Sync,
    take: impl FnMut(Vec<T>) -> Result<(), Miss<'a>> + Send,
) -> Result<Tally<'a>, Miss<'a>> {
    read_in(CHUNK, body, boundary, parse, take)
}

fn read_in<'a, T: Send>(
    size: usize,
    body: Body<'a>,
    boundary: impl Fn(&[u8]) -> &[u8] + Sync,
    parse: impl for<'c> Fn(&'c [u8]) -> Result<(T, Tally<'c>), Miss<'c>> + Sync,
    mut take: impl FnMut(Vec<T>) -> Result<(), Miss<'a>> + Send,
) -> Result<Tally<'a>, Miss<'a>> {
    let batch = BATCH * rayon::current_num_threads();
    let mut chunks = chunks(size, body, &boundary);
    let mut parsed: Vec<Result<(T, Tally<'a>), Miss<'a>>> = Vec::new();
    let mut odd = Tally::default();
    let parse = |chunk| match chunk {
        Chunk::Held(text) => parse(text),
        Chunk::InFile(file, range) => {
            let text = entries(file, range, body.start(), &boundary).ok_or_else(Miss::not_held)?;
            match parse(&text.bytes[text.entries]) {
                Ok((part, tally)) if tally.is_empty() => Ok((part, Tally::default())),
                _ => Err(Miss::not_held()),
            }
        }
    };
    loop {
        let next: Vec<Chunk> = chunks.by_ref().take(batch).collect();
        let ready = std::mem::take(&mut parsed);
        if next.is_empty() && ready.is_empty() {
            return Ok(odd);
        }
        let (next, taken) = rayon::join(
            || next.into_par_iter().map(&parse).collect(),
            || {
                let (mut parts, mut complaint) = (Vec::with_capacity(ready.len()), Ok(()));
                for part in ready {
                    match part {
                        Ok((part, tally)) => {
                            parts.push(part);
                            odd.merge(tally);
                        }
                        Err(miss) => {
                            complaint = Err(miss);
                            break;
                        }
                    }
                }
                // What was read before the first complaint may give an earlier one.
                take(parts)?;
                complaint
            },
        );
        taken?;
        parsed = next;
    }
}

/// Cuts `body` in chunks of about `size` bytes.
fn chunks<'a>(
    size: usize,
    body: Body<'a>,
    boundary: impl Fn(&[u8]) -> &[u8],
) -> impl Iterator<Item = Chunk<'a>> {
    let (mut rest, mut at) = (body.held, body.start());
    std::iter::from_fn(move || match body.source {
        Source::Held(_) if rest.is_empty() => None,
        Source::Held(_) => {
            let behind = boundary(&rest[size.min(rest.len())..]);
            let (chunk, behind) = rest.split_at(rest.len() - behind.len());
            rest = behind;
            Some(Chunk::Held(chunk))
        }
        Source::File(file) if at >= file.len() => None,
        Source::File(file) => {
            let range = at..file.len().min(at.saturating_add(size));
            at = range.end;
            Some(Chunk::InFile(file, range))
        }
    })
}

/// Bytes of a file, and where in them whole entries are.
struct Entries {
    bytes: Vec<u8>,
    entries: Range<usize>,
}

/// The entries that begin in `range`, the first of the file being at `start`. `None` when they
/// cannot be read or the last of them is too long.
fn entries(
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
        // Where an entry begins at or behind a place, unless that may be decided by bytes that are not here.
        let from = |place: usize| {
            let found = boundary(&bytes[place..]).len();
            (end == file.len() || found >= WORD).then_some(bytes.len() - found)
        };
        let first = if range.start == start { Some(0) } else { from(0) };
        match (first, from(length)) {
            (Some(first), Some(last)) => return Some(Entries { bytes, entries: first..last }),
            _ if behind >= MOST_BEHIND => return None,
            _ => behind *= 16,
        }
    }
}

/// A boundary at every line.
pub(super) fn at_line(i: &[u8]) -> &[u8] {
    lexer::skip_line(i)
}

/// A boundary at every line whose first word is `key`.
pub(super) fn at_keyword<'a>(mut i: &'a [u8], key: &'static str) -> &'a [u8] {
    loop {
        i = lexer::skip_line(i);
        if i.is_empty() || lexer::keyword(key)(i).is_ok() {
            return i;
        }
    }
}

/// A column that grows by what chunks read, copied there by all threads: to touch its memory for the
/// first time takes about as long as to parse its text.
pub(super) struct Column<T> {
    /// The values, and zeros behind them.
    values: Vec<T>,
    len: usize,
}

impl<T: Zero + Copy + Send + Sync> Column<T> {
    /// Empty, with room for `capacity` values, whose memory is touched as it is filled.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Column { values: vec![T::zero(); capacity], len: 0 }
    }

    /// The values.
    pub(super) fn into_vec(mut self) -> Vec<T> {
        self.values.truncate(self.len);
        self.values
    }

    /// Number of values.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends what `of` gives of each of `parts`.
    pub(super) fn append<P: Sync>(&mut self, parts: &[P], of: impl Fn(&P) -> &[T] + Sync) {
        self.append_changed(parts, of, |_| (), |(), value| value);
    }

    /// Appends what `of` gives of each of `parts`, changed by `change`, which gets what `before`
    /// gives of the parts before as well.
    pub(super) fn append_changed<P: Sync, B: Send>(
        &mut self,
        parts: &[P],
        of: impl Fn(&P) -> &[T] + Sync,
        mut before: impl FnMut(&P) -> B,
        change: impl Fn(&B, T) -> T + Sync,
    ) {
        let start = self.len;
        self.len += parts.iter().map(|part| of(part).len()).sum::<usize>();
        if self.values.len() < self.len {
            self.values.resize(self.len, T::zero());
        }
        let mut rest = &mut self.values[start..self.len];
        let copies = parts.iter().map(|part| {
            let (to, behind) = std::mem::take(&mut rest).split_at_mut(of(part).len());
            rest = behind;
            (part, before(part), to)
        });
        copies.collect::<Vec<_>>().into_par_iter().for_each(|(part, before, to)| {
            to.iter_mut().zip(of(part)).for_each(|(to, &value)| *to = change(&before, value));
        });
    }
}

/// [`Names`] that grow by what chunks read.
pub(super) struct NameColumn {
    text: Column<u8>,
    ends: Column<u32>,
}

impl NameColumn {
    /// Empty, with room for `names` names of `bytes` bytes in all.
    pub(super) fn with_capacity(names: usize, bytes: usize) -> Self {
        NameColumn { text: Column::with_capacity(bytes), ends: Column::with_capacity(names) }
    }

    /// Appends what `of` gives of each of `parts`.
    ///
    /// # Errors
    /// When the names together would pass 4 GiB.
    pub(super) fn append<P: Sync>(
        &mut self,
        parts: &[P],
        of: impl Fn(&P) -> &Names + Sync,
    ) -> Result<(), NamesTooLong> {
        let mut bytes = self.text.len();
        self.text.append(parts, |part| of(part).text());
        u32::try_from(self.text.len()).map_err(|_| NamesTooLong)?;
        let before = |part: &P| {
            let before = bytes as u32;
            bytes += of(part).text().len();
            before
        };
        self.ends.append_changed(parts, |part| of(part).ends(), before, |start, end| start + end);
        Ok(())
    }

    /// The names.
    pub(super) fn into_names(self) -> Names {
        Names::from_parts(self.text.into_vec(), self.ends.into_vec())
    }
}

/// Capacity for the `stated` entries of a header, but never more than a text of
/// `bytes` bytes can hold when an entry takes at least `least` of them.
pub(super) fn capacity(stated: Option<u64>, bytes: usize, least: usize) -> usize {
    let most = bytes / least;
    stated.map_or(0, |n| usize::try_from(n).map_or(most, |n| n.min(most)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read_words(size: usize, source: Source) -> Result<Vec<String>, Miss> {
        let mut all = Vec::new();
        read_in(
            size,
            source.body(source.head())?,
            at_line,
            |chunk| {
                if let Some(i) = chunk.iter().position(|&b| b == b'!') {
                    return Err(Miss::expected(&chunk[i..], "no `!`"));
                }
                Ok((String::from_utf8(chunk.to_vec()).unwrap(), Tally::default()))
            },
            |chunks| {
                all.extend(chunks.iter().flat_map(|chunk| chunk.lines()).map(str::to_owned));
                Ok(())
            },
        )?;
        Ok(all)
    }

    fn words(size: usize, text: &[u8]) -> Result<Vec<String>, Miss<'_>> {
        read_words(size, Source::Held(text))
    }

    fn file_of(text: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text).unwrap();
        file
    }

    #[test]
    fn chunks_of_any_size_give_the_same_lines() {
        let text: String = (0..500).map(|i| format!("line {i}\n")).collect::<String>() + "end";
        let want: Vec<_> = text.lines().collect();
        for size in [0, 1, 7, 64, 4096, usize::MAX] {
            assert_eq!(words(size, text.as_bytes()).unwrap(), want, "{size}");
        }
        assert!(words(8, b"").unwrap().is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn chunks_of_a_file_give_the_lines_of_its_text() {
        let long = "x".repeat(100_000);
        let lines = |i| format!("line {i} {}\n", if i % 300 == 7 { &long } else { "" });
        let text: String = (0..1000).map(lines).collect::<String>() + "end";
        let file = file_of(text.as_bytes());
        let large = Large::of_any_length(file.path()).unwrap();
        let want: Vec<_> = text.lines().collect();
        for size in [5, 9, 64, 4096, 300_000, usize::MAX] {
            assert_eq!(read_words(size, Source::File(&large)).unwrap(), want, "{size}");
        }
        let file = file_of((text + "\n!").as_bytes());
        let large = Large::of_any_length(file.path()).unwrap();
        let miss = read_words(4096, Source::File(&large)).unwrap_err();
        assert_eq!(miss, Miss::not_held());
    }

    #[cfg(unix)]
    #[test]
    fn keywords_across_the_end_of_what_is_read_are_found() {
        // Of every length around the bytes that are read behind a chunk.
        for pins in 100..140 {
            let text = format!(
                "Key : 1\n{}KeyX 1\nKey : 2\n{}",
                " pin 1 2\n".repeat(pins),
                "p\n".repeat(600)
            );
            let file = file_of(text.as_bytes());
            let large = Large::of_any_length(file.path()).unwrap();
            for size in [8, 9, 10, 64] {
                let count = |source: Source| {
                    let mut starts = Vec::new();
                    let body = source.body(source.head()).unwrap();
                    read_in(
                        size,
                        body,
                        |i| at_keyword(i, "Key"),
                        |chunk| Ok((chunk.to_vec(), Tally::default())),
                        |chunks| {
                            starts.extend(chunks.into_iter().filter(|chunk| !chunk.is_empty()));
                            Ok(())
                        },
                    )
                    .unwrap();
                    starts
                };
                assert_eq!(count(Source::File(&large)), count(Source::Held(text.as_bytes())));
            }
        }
    }

    #[test]
    fn the_first_complaint_wins() {
        let text = b"a\nb\n!c\nd\n!e\n";
        assert_eq!(words(1, text).unwrap_err().at[..2], *b"!c");
    }

    #[test]
    fn what_was_read_before_a_complaint_is_taken_first() {
        let text = b"a\nb\n!c\n";
        let mut taken = Vec::new();
        let body = Source::Held(text).body(text).unwrap();
        let result = read_in(
            0,
            body,
            at_line,
            |chunk| match chunk[0] {
                b'!' => Err(Miss::expected(chunk, "no `!`")),
                first => Ok((first, Tally::default())),
            },
            |batch| {
                taken.extend(batch);
                Ok(())
            },
        );
        assert_eq!((result.unwrap_err().at, &taken[..]), (&b"!c\n"[..], &b"ab"[..]));
    }

    #[test]
    fn columns_grow_beyond_their_capacity() {
        let parts: Vec<Vec<u32>> = (0..40).map(|k| (0..k).collect()).collect();
        for capacity in [0, 7, 100_000] {
            let (mut copied, mut moved) =
                (Column::with_capacity(capacity), Column::with_capacity(0));
            for parts in parts.chunks(3) {
                copied.append(parts, |part| part);
                let mut count = 0;
                let before = |part: &Vec<u32>| {
                    count += part.len() as u32;
                    count
                };
                moved.append_changed(parts, |part| part, before, |count, v| 1000 * count + v);
            }
            assert_eq!(copied.into_vec(), parts.concat());
            let moved = moved.into_vec();
            assert_eq!((moved.len(), &moved[3..6]), (780, &[3000, 3001, 3002][..]));
        }
    }

    #[test]
    fn names_of_parts_follow_one_another() {
        let parts = [&["a", "bc"][..], &[], &["d", "", "é"]].map(|list| {
            let mut names = Names::default();
            list.iter().for_each(|n| names.push(n));
            names
        });
        let mut all = NameColumn::with_capacity(1, 2);
        all.append(&parts[..1], |part| part).unwrap();
        all.append(&parts[1..], |part| part).unwrap();
        assert!(all.into_names().iter().eq(["a", "bc", "d", "", "é"]));
    }

    #[test]
    fn nets_are_cut_before_their_degree() {
        let text = b"gree : 2\n a\n NetDegreeX\n\tnetdegree: 1\n b";
        assert_eq!(at_keyword(text, "NetDegree"), b"\tnetdegree: 1\n b");
        assert_eq!(at_keyword(b"a\nb", "NetDegree"), b"");
    }

    #[test]
    fn capacity_never_trusts_a_header() {
        assert_eq!(capacity(Some(10), 1000, 2), 10);
        assert_eq!(capacity(Some(1_000_000_000_000), 1000, 2), 500);
        assert_eq!(capacity(Some(u64::MAX), 1000, 2), 500);
        assert_eq!(capacity(None, 1000, 2), 0);
    }
}
