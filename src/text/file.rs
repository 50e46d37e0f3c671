//! Reads files, plain or compressed: regular files, pipes and standard input.

use super::compression::{self, LONGEST_MAGIC, Unpacked};
use super::scan::unmarked;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::JoinHandle;

/// The name of standard input.
const STANDARD_INPUT: &str = "-";

/// A file's bytes, read into memory at once and decompressed. (A file mapped into memory could
/// change while it is parsed, when another process writes to it.)
pub(crate) struct Text(Unpacked);

impl Text {
    /// Reads the file at `path`; `-` is standard input.
    pub(crate) fn open(path: &Path) -> io::Result<Text> {
        let mut text = Vec::new();
        if path == Path::new(STANDARD_INPUT) {
            io::stdin().lock().read_to_end(&mut text)?;
        } else {
            check_readable(path)?;
            text = fs::read(path)?;
        }
        match compression::of(&text) {
            Some(compression) => compression.unpack(&text).map(Text),
            None => Ok(Text(text.into())),
        }
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0.text
    }
}

/// A large file that is not compressed and can be read at any offset. Each part is read when it is
/// parsed. Memory for the whole text would have to come from the system, be filled with
/// zeros, then with the text, and be loaded into the cache again.
pub(crate) struct Large {
    file: File,
    length: usize,
    /// Memory that is not needed any more: new one would be filled with zeros first.
    spare: Mutex<Vec<Vec<u8>>>,
}

impl Large {
    /// Shorter files are read at once.
    const LEAST: usize = 1 << 20;

    /// Returns the file at `path` if it is such a file. Errors of other files are found when they
    /// are read.
    pub(crate) fn open(path: &Path) -> Option<Large> {
        Large::of_any_length(path).filter(|large| large.length >= Self::LEAST)
    }

    /// [`Large::open`], however short the file is.
    #[cfg(unix)]
    pub(crate) fn of_any_length(path: &Path) -> Option<Large> {
        // To open a pipe would take it from who reads it.
        if path == Path::new(STANDARD_INPUT) || !fs::metadata(path).ok()?.is_file() {
            return None;
        }
        let file = File::open(path).ok()?;
        let length = usize::try_from(file.metadata().ok()?.len()).ok()?;
        let large = Large { file, length, spare: Mutex::default() };
        let mut head = Vec::new();
        large.read(0..length.min(LONGEST_MAGIC), &mut head).ok()?;
        compression::of(&head).is_none().then_some(large)
    }

    /// No file is read in parts here.
    #[cfg(not(unix))]
    pub(crate) fn of_any_length(_: &Path) -> Option<Large> {
        None
    }

    /// Reads the bytes in `range` into `bytes`, which holds nothing else then.
    #[cfg(unix)]
    fn read(&self, range: Range<usize>, bytes: &mut Vec<u8>) -> io::Result<()> {
        use std::os::unix::fs::FileExt;
        bytes.resize(range.len(), 0);
        self.file.read_exact_at(bytes, range.start as u64)
    }

    /// Never called.
    #[cfg(not(unix))]
    fn read(&self, _: Range<usize>, _: &mut Vec<u8>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A file that is held, or read part by part.
pub(crate) enum Input {
    Held(Text),
    Large(Large),
}

impl Input {
    /// Opens the file at `path`; `read` reads one that is held.
    pub(crate) fn open(
        path: &Path,
        read: impl FnOnce(&Path) -> io::Result<Text>,
    ) -> io::Result<Input> {
        match Large::open(path) {
            Some(large) => Ok(Input::Large(large)),
            None => read(path).map(Input::Held),
        }
    }

    /// Returns its text.
    pub(crate) fn source(&self) -> Source<'_> {
        match self {
            Input::Held(text) => Source::Held(text),
            Input::Large(large) => Source::File(large),
        }
    }
}

/// The text of a file.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Held(&'a [u8]),
    File(&'a Large),
}

impl<'a> Source<'a> {
    /// Bytes of the text.
    pub(crate) fn len(self) -> usize {
        match self {
            Source::Held(text) => text.len(),
            Source::File(file) => file.length,
        }
    }

    /// Returns the offset behind a byte order mark.
    pub(crate) fn start(self) -> io::Result<usize> {
        let head = self.bytes(0..self.len().min(3))?;
        Ok(head.len() - unmarked(&head).len())
    }

    /// Returns the bytes in `range`.
    ///
    /// # Errors
    /// If the file cannot be read, or was cut.
    pub(crate) fn bytes(self, range: Range<usize>) -> io::Result<Bytes<'a>> {
        match self {
            Source::Held(text) => Ok(Bytes::Held(&text[range])),
            Source::File(file) => {
                let spare = file.spare.lock().ok().and_then(|mut spare| spare.pop());
                let mut bytes = Bytes::Read(spare.unwrap_or_default(), file);
                if let Bytes::Read(bytes, _) = &mut bytes {
                    file.read(range, bytes)?;
                }
                Ok(bytes)
            }
        }
    }
}

/// Bytes of a [`Source`]. Those read from a file are memory that is used again.
pub(crate) enum Bytes<'a> {
    Held(&'a [u8]),
    Read(Vec<u8>, &'a Large),
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Held(text) => text,
            Bytes::Read(bytes, _) => bytes,
        }
    }
}

impl Drop for Bytes<'_> {
    fn drop(&mut self) {
        if let Bytes::Read(bytes, file) = self
            && let Ok(mut spare) = file.spare.lock()
        {
            spare.push(std::mem::take(bytes));
        }
    }
}

/// An error for a path that is neither a file nor a pipe. (A device such as a terminal or
/// `/dev/zero` may never end.)
pub(crate) fn check_readable(path: &Path) -> io::Result<()> {
    let kind = fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if kind.is_file() || is_pipe(&kind) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a file nor a pipe"))
}

/// Whether it is a pipe or a socket.
#[cfg(unix)]
pub(crate) fn is_pipe(kind: &fs::FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_fifo() || kind.is_socket()
}

/// Pipes have no names here.
#[cfg(not(unix))]
pub(crate) fn is_pipe(_: &fs::FileType) -> bool {
    false
}

/// Returns where the file called `path` is: there, or else, compressed, at the same name with `.gz`,
/// `.xz` or `.bz2` behind. `None` when it is nowhere.
pub(crate) fn find(path: &Path) -> Option<PathBuf> {
    // Other errors are reported when the file is opened.
    let there =
        |p: &Path| fs::metadata(p).map_or_else(|e| e.kind() != io::ErrorKind::NotFound, |_| true);
    if path == Path::new(STANDARD_INPUT) || there(path) {
        return Some(path.to_owned());
    }
    let with = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    compression::endings().map(with).find(|p| there(p))
}

/// Returns where the file called `path` is; `path` itself if it is nowhere.
pub(crate) fn found(path: &Path) -> PathBuf {
    find(path).unwrap_or_else(|| path.to_owned())
}

/// Returns the name of a file without the ending of its compression.
pub(crate) fn without_compression(name: &str) -> &str {
    let cut = |ending: &str| {
        let (stem, end) = name.split_at_checked(name.len().checked_sub(ending.len())?)?;
        (!stem.is_empty() && end.eq_ignore_ascii_case(ending)).then_some(stem)
    };
    compression::endings().find_map(cut).unwrap_or(name)
}

/// Compressed files that threads read, one thread per file, while other files are parsed.
#[derive(Default)]
pub(crate) struct Prefetch(Vec<(PathBuf, JoinHandle<io::Result<Text>>)>);

impl Prefetch {
    /// Starts to read those of `paths` that are compressed.
    pub(crate) fn start(paths: impl Iterator<Item = PathBuf>) -> Prefetch {
        let compressed = paths.filter(|path| is_compressed(path));
        Prefetch(
            compressed
                .filter_map(|path| {
                    let read = {
                        let path = path.clone();
                        move || Text::open(&path)
                    };
                    // Without a thread it is read when it is opened.
                    Some((path, std::thread::Builder::new().spawn(read).ok()?))
                })
                .collect(),
        )
    }

    /// Waits for the file at `path` and returns it.
    pub(crate) fn open(&mut self, path: &Path) -> io::Result<Text> {
        let Some(place) = self.0.iter().position(|(started, _)| started == path) else {
            return Text::open(path);
        };
        let (_, thread) = self.0.swap_remove(place);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Whether a regular file begins as compressed ones do. Errors of reading are reported later.
fn is_compressed(path: &Path) -> bool {
    let regular = fs::metadata(path).is_ok_and(|meta| meta.is_file());
    let begins = || -> io::Result<Vec<u8>> {
        let mut first = Vec::new();
        File::open(path)?.take(LONGEST_MAGIC as u64).read_to_end(&mut first)?;
        Ok(first)
    };
    regular && begins().is_ok_and(|first| compression::of(&first).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_of_compression_are_cut_off() {
        for (name, want) in [
            ("a.nodes.gz", "a.nodes"),
            ("a.NODES.GZ", "a.NODES"),
            ("a.aux.xz", "a.aux"),
            ("a.aux.bz2", "a.aux"),
            ("a.aux.zst", "a.aux.zst"),
            ("a.nodes", "a.nodes"),
            (".gz", ".gz"),
            ("é", "é"),
        ] {
            assert_eq!(without_compression(name), want);
        }
    }
}
