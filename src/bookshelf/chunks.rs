//! A large text, cut where entries begin and read on all threads.

use super::error::Miss;
use super::lexer;
use rayon::prelude::*;

/// Bytes of one chunk. From 64 KiB to 16 MiB the time to read 427 MB is the
/// same; the peak of memory, 720 MB at 1 MiB, is 10 % higher at 16 MiB.
const CHUNK: usize = 1 << 20;

/// Reads `body` chunk by chunk and hands the results over in file order.
///
/// `boundary` finds, from some place in the text, the next place where an
/// entry begins (the end of the text at the latest). `parse` reads one chunk;
/// `take` gets what it read. While one batch of chunks is taken the next is
/// already parsed, so at most two batches are held.
///
/// The complaint about the earliest chunk wins, however threads were scheduled.
pub(super) fn read<'a, T: Send>(
    body: &'a [u8],
    boundary: impl Fn(&'a [u8]) -> &'a [u8],
    parse: impl Fn(&'a [u8]) -> Result<T, Miss<'a>> + Sync,
    take: impl FnMut(T) -> Result<(), Miss<'a>> + Send,
) -> Result<(), Miss<'a>> {
    read_in(CHUNK, body, boundary, parse, take)
}

fn read_in<'a, T: Send>(
    size: usize,
    body: &'a [u8],
    boundary: impl Fn(&'a [u8]) -> &'a [u8],
    parse: impl Fn(&'a [u8]) -> Result<T, Miss<'a>> + Sync,
    mut take: impl FnMut(T) -> Result<(), Miss<'a>> + Send,
) -> Result<(), Miss<'a>> {
    let batch = 2 * rayon::current_num_threads();
    let mut rest = body;
    let mut parsed: Vec<Result<T, Miss<'a>>> = Vec::new();
    loop {
        let mut chunks = Vec::with_capacity(batch);
        while chunks.len() < batch && !rest.is_empty() {
            let behind = boundary(&rest[size.min(rest.len())..]);
            chunks.push(&rest[..rest.len() - behind.len()]);
            rest = behind;
        }
        let ready = std::mem::take(&mut parsed);
        if chunks.is_empty() && ready.is_empty() {
            return Ok(());
        }
        let (next, taken) = rayon::join(
            || chunks.into_par_iter().map(&parse).collect(),
            || ready.into_iter().try_for_each(|chunk| take(chunk?)),
        );
        taken?;
        parsed = next;
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

/// Appends `part`, which a chunk read, to the column `whole`.
pub(super) fn append<T>(whole: &mut Vec<T>, mut part: Vec<T>) {
    if whole.capacity() == 0 { *whole = part } else { whole.append(&mut part) }
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

    fn words(size: usize, text: &[u8]) -> Result<Vec<String>, Miss<'_>> {
        let mut all = Vec::new();
        read_in(
            size,
            text,
            at_line,
            |chunk| {
                if let Some(i) = chunk.iter().position(|&b| b == b'!') {
                    return Err(Miss::expected(&chunk[i..], "no `!`"));
                }
                Ok(String::from_utf8(chunk.to_vec()).unwrap())
            },
            |chunk| {
                all.extend(chunk.lines().map(str::to_owned));
                Ok(())
            },
        )?;
        Ok(all)
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

    #[test]
    fn the_first_complaint_wins() {
        let text = b"a\nb\n!c\nd\n!e\n";
        assert_eq!(words(1, text).unwrap_err().at[..2], *b"!c");
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
