//! A large text, cut where entries begin and read on all threads.

use super::lexer;
use super::notes::Tally;
use crate::parallel;
use crate::text::entries::entries;
use crate::text::error::Miss;
use crate::text::file::Large;
use std::ops::Range;

/// Bytes of one chunk: a chunk's results stay in the cache of second level until they are taken.
const CHUNK: usize = 1 << 18;
/// Chunks of a batch, for each thread.
const BATCH: usize = 8;

/// The input of a file's parser.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// The text.
    Held(&'a [u8]),
    /// A file of which each thread holds the chunk it works on. Errors and warnings with a position
    /// end in [`Miss::not_held`], for which the file is to be read again, whole.
    File(&'a Large),
}

/// The text after a file's head.
#[derive(Clone, Copy)]
pub(super) struct Body<'a> {
    source: Source<'a>,
    /// All of it, or as much of it as is held.
    pub(super) held: &'a [u8],
}

impl<'a> Source<'a> {
    /// Returns the text's beginning, with all of its head; the whole text where it is held.
    pub(super) fn head(self) -> &'a [u8] {
        match self {
            Source::Held(text) => text,
            Source::File(file) => file.head(),
        }
    }

    /// Returns the text after the head, of which `held` is the part of [`Source::head`].
    pub(super) fn body(self, held: &'a [u8]) -> Result<Body<'a>, Miss<'a>> {
        // Else the head may go on behind the text that was searched.
        let whole = matches!(self, Source::Held(_)) || held.contains(&b'\n');
        if whole { Ok(Body { source: self, held }) } else { Err(Miss::not_held()) }
    }
}

impl Body<'_> {
    /// Returns the number of bytes of it.
    pub(super) fn len(&self) -> usize {
        match self.source {
            Source::Held(_) => self.held.len(),
            Source::File(file) => file.len() - self.start(),
        }
    }

    /// Returns where it begins in its file.
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
/// `boundary` finds, from some place in the text, the next place where an entry begins (the end of
/// the text at the latest). `parse` reads one chunk, and counts what is odd in it; `take` gets what
/// was read of a batch of them, and may use all threads for it. While one batch of chunks is taken
/// the next is already parsed, so at most two batches are held. Gives what was odd in all of them.
///
/// The error of the earliest chunk wins, however threads were scheduled.
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
    let parse = |chunk: &Chunk<'a>| match chunk {
        Chunk::Held(text) => parse(text),
        Chunk::InFile(file, range) => {
            let range = range.clone();
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
            || parallel::map(next.len(), |k| parse(&next[k])),
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
                // Parts read before the first error may give an earlier one.
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

/// Returns the text from the next line on.
pub(super) fn at_line(i: &[u8]) -> &[u8] {
    lexer::skip_line(i)
}

/// Returns the text from the next line on whose first word is `key`.
pub(super) fn at_keyword<'a>(mut i: &'a [u8], key: &'static str) -> &'a [u8] {
    loop {
        i = lexer::skip_line(i);
        if i.is_empty() || lexer::keyword(key)(i).is_ok() {
            return i;
        }
    }
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
    fn keywords_across_chunk_ends_are_found() {
        // For every length around the bytes that are read behind a chunk.
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
    fn first_error_of_a_text_is_reported() {
        let text = b"a\nb\n!c\nd\n!e\n";
        assert_eq!(words(1, text).unwrap_err().at[..2], *b"!c");
    }

    #[test]
    fn chunks_before_an_error_are_taken_first() {
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
    fn nets_are_cut_before_their_degree() {
        let text = b"gree : 2\n a\n NetDegreeX\n\tnetdegree: 1\n b";
        assert_eq!(at_keyword(text, "NetDegree"), b"\tnetdegree: 1\n b");
        assert_eq!(at_keyword(b"a\nb", "NetDegree"), b"");
    }
}
