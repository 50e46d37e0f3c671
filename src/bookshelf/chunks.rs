//! A large text, cut where entries begin and read on all threads.

use super::error::Miss;
use super::lexer;
use crate::design::{Names, NamesTooLong};
use crate::memory::zeroed;
use num_traits::Zero;
use rayon::prelude::*;

/// Bytes of one chunk: what is read of it stays in the cache of second level until it is taken.
const CHUNK: usize = 1 << 18;
/// Chunks of a batch, for each thread.
const BATCH: usize = 8;

/// Reads `body` chunk by chunk and hands the results over in file order.
///
/// `boundary` finds, from some place in the text, the next place where an
/// entry begins (the end of the text at the latest). `parse` reads one chunk;
/// `take` gets what was read of a batch of them, and may use all threads for it. While one
/// batch of chunks is taken the next is already parsed, so at most two batches are held.
///
/// The complaint about the earliest chunk wins, however threads were scheduled.
pub(super) fn read<'a, T: Send>(
    body: &'a [u8],
    boundary: impl Fn(&'a [u8]) -> &'a [u8],
    parse: impl Fn(&'a [u8]) -> Result<T, Miss<'a>> + Sync,
    take: impl FnMut(Vec<T>) -> Result<(), Miss<'a>> + Send,
) -> Result<(), Miss<'a>> {
    read_in(CHUNK, body, boundary, parse, take)
}

fn read_in<'a, T: Send>(
    size: usize,
    body: &'a [u8],
    boundary: impl Fn(&'a [u8]) -> &'a [u8],
    parse: impl Fn(&'a [u8]) -> Result<T, Miss<'a>> + Sync,
    mut take: impl FnMut(Vec<T>) -> Result<(), Miss<'a>> + Send,
) -> Result<(), Miss<'a>> {
    let batch = BATCH * rayon::current_num_threads();
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
            || {
                // What was read before the first complaint may give an earlier one.
                let mut complaint = Ok(());
                let mut note = |miss| complaint = Err(miss);
                take(ready.into_iter().map_while(|part| part.map_err(&mut note).ok()).collect())?;
                complaint
            },
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
        Column { values: zeroed(capacity), len: 0 }
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
            |chunks| {
                all.extend(chunks.iter().flat_map(|chunk| chunk.lines()).map(str::to_owned));
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
    fn what_was_read_before_a_complaint_is_taken_first() {
        let text = b"a\nb\n!c\n";
        let mut taken = Vec::new();
        let parse = |chunk: &'static [u8]| match chunk[0] {
            b'!' => Err(Miss::expected(chunk, "no `!`")),
            first => Ok(first),
        };
        let result = read_in(0, text, at_line, parse, |batch| {
            taken.extend(batch);
            Ok(())
        });
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
