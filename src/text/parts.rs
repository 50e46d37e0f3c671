//! Divides a text at the begin of entries and reads the parts on all threads.

use super::error::{ErrorKind, Fault, FileError, Reason, offset, show};
use super::file::Source;
use super::scan::{Read, first_word};
use crate::parallel::{self, each_mut};
use std::ops::Range;
use std::path::Path;

/// Bytes of one part: a part's results stay in the cache of second level until they are taken.
pub(crate) const PART: usize = 1 << 18;
/// Parts of a batch, for each thread.
const BATCH: usize = 8;

/// Part of a text, and its offset in the file.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'t> {
    pub(crate) text: &'t [u8],
    start: usize,
}

impl Piece<'_> {
    /// Returns the offset in the file of `at`, which is a part of the text.
    pub(crate) fn offset(&self, at: &[u8]) -> usize {
        self.start + offset(self.text, at)
    }
}

impl Source<'_> {
    /// Returns the result of reading the head of the file: `read` gives a value and the number of
    /// bytes that are left. Also returns the offset of the rest of the file.
    pub(crate) fn head<T>(
        self,
        read: impl Fn(&[u8]) -> Read<'_, (T, usize)>,
    ) -> Result<(T, usize), Fault> {
        let mut length = PART;
        loop {
            let end = self.len().min(length);
            let text = self.bytes(0..end)?;
            match read(&text) {
                // Otherwise the head may go on behind these bytes.
                Ok((value, left)) if end == self.len() || text[end - left..].contains(&b'\n') => {
                    return Ok((value, end - left));
                }
                Err(miss) if end == self.len() => return Err(miss.within(&text, 0)),
                _ => length = length.saturating_mul(16),
            }
        }
    }

    /// Returns the text from `at` on, as much as a message shows, and its line and column, counted
    /// from 1. What cannot be read counts as empty.
    pub(crate) fn position(self, at: usize) -> (u64, u64, Vec<u8>) {
        const SHOWN: usize = 1 << 10;
        let at = at.min(self.len());
        let (mut line, mut line_start) = (1, 0);
        for start in (0..at).step_by(PART) {
            let Ok(text) = self.bytes(start..at.min(start + PART)) else { break };
            line += memchr::memchr_iter(b'\n', &text).count() as u64;
            line_start = memchr::memrchr(b'\n', &text).map_or(line_start, |end| start + end + 1);
        }
        let rest = self.bytes(at..self.len().min(at + SHOWN));
        let rest = rest.map_or(Vec::new(), |text| text.to_vec());
        (line, (at - line_start) as u64 + 1, rest)
    }

    /// Returns the error in the file at `path`, which has this text.
    #[cold]
    pub(crate) fn error(self, path: &Path, Fault { at, reason }: Fault) -> FileError {
        let (line, column, rest) = self.position(at);
        let kind = match reason {
            Reason::Known(ErrorKind::Io(error)) => return FileError::io(path, error),
            Reason::Known(kind) => kind,
            Reason::Expected(expected) => {
                let found = match (rest.first(), first_word(&rest)) {
                    (None, _) => "end of file".to_owned(),
                    (Some(_), []) => "end of line".to_owned(),
                    (Some(_), word) => format!("`{}`", show(word)),
                };
                ErrorKind::Syntax { expected: expected.into(), found }
            }
            Reason::Duplicate { first } => {
                let (name, first_line) = (show(first_word(&rest)), self.position(first).0);
                ErrorKind::Duplicate { name, first_line }
            }
        };
        FileError { path: path.to_owned(), line, column, kind }
    }

    /// Returns where the first entry begins behind about `size` bytes from `start` on, or the end
    /// of the text.
    fn cut(
        self,
        start: usize,
        size: usize,
        boundary: impl Fn(&[u8]) -> &[u8],
    ) -> Result<usize, Fault> {
        /// Longer than a word that tells a boundary.
        const WORD: usize = 64;
        let from = self.len().min(start.saturating_add(size));
        let mut length = 1 << 10;
        loop {
            let end = match self {
                Source::Held(text) => text.len(),
                Source::File(_) => self.len().min(from.saturating_add(length)),
            };
            let left = boundary(&self.bytes(from..end)?).len();
            // Otherwise bytes that are not here may decide whether an entry begins.
            if end == self.len() || left >= WORD {
                return Ok(end - left);
            }
            length *= 16;
        }
    }
}

/// Reads the entries of `source` from the offset `from` on, part by part, and hands them over in
/// the file's order.
///
/// `boundary` finds, from some place in the text, the next place where an entry begins (the end of
/// the text at the latest). `parse` reads one part into a value, and first removes the content of
/// another part from that value. `take` gets a batch of parts and may use all threads for it. While
/// one batch is taken the next is already parsed, so at most two batches are held.
///
/// The error of the earliest part wins, however threads were scheduled.
pub(crate) fn read<P: Default + Send>(
    source: Source<'_>,
    from: usize,
    boundary: impl Fn(&[u8]) -> &[u8],
    parse: impl for<'t> Fn(Piece<'t>, &mut P) -> Read<'t, ()> + Sync,
    take: impl FnMut(&mut [P]) -> Result<(), Fault> + Send,
) -> Result<(), Fault> {
    read_in(
        PART,
        source,
        (from, ()),
        boundary,
        |_, ()| (),
        |piece, (), part| {
            parse(piece, part)?;
            Ok(((), 0))
        },
        take,
    )
    .map(drop)
}

/// Reads like [`read`] parts of about `size` bytes, in which entries depend on a state, such as the
/// section that they are in.
///
/// `guess` tells from a part's text and the state at its beginning the state at its end, very
/// likely. `parse` gives the true one, and the number of bytes that it leaves; there reading ends.
/// A part whose guess was wrong is parsed again. Returns the offset of the end and the state there.
pub(crate) fn read_in<S: Copy + PartialEq + Send + Sync, P: Default + Send>(
    size: usize,
    source: Source<'_>,
    (from, state): (usize, S),
    boundary: impl Fn(&[u8]) -> &[u8],
    guess: impl Fn(&[u8], S) -> S + Sync,
    parse: impl for<'t> Fn(Piece<'t>, S, &mut P) -> Read<'t, (S, usize)> + Sync,
    mut take: impl FnMut(&mut [P]) -> Result<(), Fault> + Send,
) -> Result<(usize, S), Fault> {
    struct Task<'s, S, P> {
        range: Range<usize>,
        begins: S,
        text: Option<super::file::Bytes<'s>>,
        part: P,
        end: Result<(S, usize), Fault>,
    }
    let run = |task: &mut Task<'_, S, P>| {
        let text = match task.text.take() {
            Some(text) => text,
            None => source.bytes(task.range.clone())?,
        };
        let piece = Piece { text: &text, start: task.range.start };
        parse(piece, task.begins, &mut task.part).map_err(|miss| miss.within(&text, piece.start))
    };
    let batch = BATCH * rayon::current_num_threads();
    let (mut next, mut guessed, mut known) = (from, state, state);
    let (mut parsed, mut spare): (Vec<Task<S, P>>, Vec<P>) = (Vec::new(), Vec::new());
    loop {
        let mut tasks = Vec::new();
        while next < source.len() && tasks.len() < batch {
            let range = next..source.cut(next, size, &boundary)?;
            next = range.end;
            let (part, end) = (spare.pop().unwrap_or_default(), Ok((guessed, 0)));
            tasks.push(Task { range, begins: guessed, text: None, part, end });
        }
        let ready = std::mem::take(&mut parsed);
        if tasks.is_empty() && ready.is_empty() {
            return Ok((next, known));
        }
        let take_all = || -> Result<Option<usize>, Fault> {
            let (mut parts, mut end) = (Vec::with_capacity(ready.len()), Ok(None));
            for mut task in ready {
                if task.begins != known {
                    task.begins = known;
                    task.end = run(&mut task);
                }
                match task.end {
                    Ok((state, left)) => {
                        known = state;
                        parts.push(task.part);
                        end = Ok((left > 0).then_some(task.range.end - left));
                    }
                    Err(fault) => end = Err(fault),
                }
                if !matches!(end, Ok(None)) {
                    break;
                }
            }
            // Parts read before the first error may give an earlier one.
            take(&mut parts)?;
            spare.extend(parts);
            end
        };
        let parse_next = || -> Result<Vec<Task<S, P>>, Fault> {
            if size_of::<S>() > 0 {
                let load = |_, task: &mut Task<'_, S, P>| source.bytes(task.range.clone());
                let texts = parallel::map_items(each_mut(&mut tasks), load);
                for (task, text) in tasks.iter_mut().zip(texts) {
                    task.begins = guessed;
                    guessed = guess(task.text.insert(text?), guessed);
                }
            }
            parallel::for_each(each_mut(&mut tasks), |_, task| task.end = run(task));
            Ok(tasks)
        };
        let (taken, next) = rayon::join(take_all, parse_next);
        if let Some(end) = taken? {
            return Ok((end, known));
        }
        parsed = next?;
    }
}

#[cfg(test)]
mod tests;
