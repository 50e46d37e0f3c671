//! Files as bytes: as they are or compressed, regular files, pipes and standard input.

use super::compression::{self, LONGEST_MAGIC, Unpacked};
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::JoinHandle;

/// Stands for standard input.
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

/// A large file that is not compressed and can be read at any place: its text is read chunk by
/// chunk where it is parsed. Memory for all of it would have to come from the system, be filled
/// with zeros, then with the text, and be fetched back into the cache.
pub(crate) struct Large {
    file: File,
    length: usize,
    head: Vec<u8>,
    /// Memory that is not needed any more: new one would be filled with zeros first.
    spare: Mutex<Vec<Vec<u8>>>,
}

impl Large {
    /// Shorter files are read at once.
    const LEAST: usize = 1 << 20;
    /// Bytes that are held of its beginning.
    const HEAD: usize = 1 << 16;

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
        let mut large = Large { file, length, head: Vec::new(), spare: Mutex::default() };
        large.head = large.bytes(0..length.min(Self::HEAD))?;
        compression::of(&large.head).is_none().then_some(large)
    }

    /// No file is read in parts here.
    #[cfg(not(unix))]
    pub(crate) fn of_any_length(_: &Path) -> Option<Large> {
        None
    }

    /// Bytes of the file.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Its beginning.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns the bytes in `range`, if they can be read.
    #[cfg(unix)]
    pub(crate) fn bytes(&self, range: Range<usize>) -> Option<Vec<u8>> {
        use std::os::unix::fs::FileExt;
        let spare = self.spare.lock().ok().and_then(|mut spare| spare.pop());
        let mut bytes = spare.unwrap_or_else(|| vec![0; range.len()]);
        bytes.resize(range.len(), 0);
        self.file.read_exact_at(&mut bytes, range.start as u64).ok()?;
        Some(bytes)
    }

    /// Takes back what [`Large::bytes`] gave, to be used again.
    pub(crate) fn take_back(&self, bytes: Vec<u8>) {
        if let Ok(mut spare) = self.spare.lock() {
            spare.push(bytes);
        }
    }

    /// Never asked for.
    #[cfg(not(unix))]
    pub(crate) fn bytes(&self, _: Range<usize>) -> Option<Vec<u8>> {
        None
    }
}

/// An error for what is neither a file nor a pipe. (A device such as a terminal or `/dev/zero`
/// may never end.)
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

/// Returns where the file called `path` is: there, or else, compressed, at the same name with `.gz`
/// or `.xz` behind. `None` when it is nowhere.
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

/// Returns the name of a file without the ending of its compression.
pub(crate) fn without_compression(name: &str) -> &str {
    let cut = |ending: &str| {
        let (stem, end) = name.split_at_checked(name.len().checked_sub(ending.len())?)?;
        (!stem.is_empty() && end.eq_ignore_ascii_case(ending)).then_some(stem)
    };
    compression::endings().find_map(cut).unwrap_or(name)
}

/// Compressed files that are being read, each by a thread of its own, while others are parsed.
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

    /// Returns the file at `path`, as soon as it is there.
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
            ("a.aux.zst", "a.aux.zst"),
            ("a.nodes", "a.nodes"),
            (".gz", ".gz"),
            ("é", "é"),
        ] {
            assert_eq!(without_compression(name), want);
        }
    }
}
