//! Files as bytes: as they are or compressed by gzip, regular files, pipes and standard input.

use super::error::BookshelfError;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// Stands for standard input.
const STANDARD_INPUT: &str = "-";
/// The first bytes of what gzip writes (RFC 1952, §2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The first bytes of what xz writes.
const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
/// The first bytes of what bzip2 writes.
const BZIP2: [u8; 3] = *b"BZh";
/// The first bytes of what zstd writes.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A file's bytes, read into memory at once and decompressed. (A file mapped into memory could
/// change while it is parsed, when another process writes to it.)
pub(super) struct Text(Vec<u8>);

impl Text {
    /// Reads the file at `path`; `-` is standard input.
    pub(super) fn open(path: &Path) -> Result<Text, BookshelfError> {
        Self::read(path).map_err(|e| BookshelfError::io(path, e))
    }

    fn read(path: &Path) -> io::Result<Text> {
        let mut text = Vec::new();
        if path == Path::new(STANDARD_INPUT) {
            io::stdin().lock().read_to_end(&mut text)?;
        } else {
            check(path)?;
            File::open(path)?.read_to_end(&mut text)?;
        }
        decompressed(text).map(Text)
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// An error for what is neither a file nor a pipe. (A device such as a terminal or `/dev/zero`
/// may never end.)
fn check(path: &Path) -> io::Result<()> {
    let kind = fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    #[cfg(unix)]
    let is_pipe = {
        use std::os::unix::fs::FileTypeExt;
        kind.is_fifo() || kind.is_socket()
    };
    #[cfg(not(unix))]
    let is_pipe = false;
    if kind.is_file() || is_pipe {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a file nor a pipe"))
}

/// Where the file called `path` is: there, or else, compressed, at the same name with `.gz` behind.
/// `None` when it is nowhere.
pub(super) fn find(path: &Path) -> Option<PathBuf> {
    // What cannot be looked at for another reason is left to be complained of when it is opened.
    let there =
        |p: &Path| fs::metadata(p).map_or_else(|e| e.kind() != io::ErrorKind::NotFound, |_| true);
    if path == Path::new(STANDARD_INPUT) || there(path) {
        return Some(path.to_owned());
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    Some(PathBuf::from(name)).filter(|p| there(p))
}

/// The name of a file without the ending of its compression.
pub(super) fn without_compression(name: &str) -> &str {
    let cut = name.len().saturating_sub(3);
    match name.get(cut..) {
        Some(ending) if cut > 0 && ending.eq_ignore_ascii_case(".gz") => &name[..cut],
        _ => name,
    }
}

/// Compressed files that are being read, each by a thread of its own, while others are parsed.
#[derive(Default)]
pub(super) struct Ahead(Vec<(PathBuf, JoinHandle<io::Result<Text>>)>);

impl Ahead {
    /// Starts to read those of `paths` that are compressed.
    pub(super) fn start(paths: impl Iterator<Item = PathBuf>) -> Ahead {
        let compressed = paths.filter(|path| is_compressed(path));
        Ahead(
            compressed
                .map(|path| {
                    let thread = std::thread::spawn({
                        let path = path.clone();
                        move || Text::read(&path)
                    });
                    (path, thread)
                })
                .collect(),
        )
    }

    /// The file at `path`, as soon as it is there.
    pub(super) fn open(&mut self, path: &Path) -> Result<Text, BookshelfError> {
        let Some(place) = self.0.iter().position(|(started, _)| started == path) else {
            return Text::open(path);
        };
        let (path, thread) = self.0.swap_remove(place);
        let text = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        text.map_err(|e| BookshelfError::io(&path, e))
    }
}

/// Whether a regular file begins as gzip's do. What cannot be read is complained of later.
fn is_compressed(path: &Path) -> bool {
    let regular = fs::metadata(path).is_ok_and(|meta| meta.is_file());
    let begins = || -> io::Result<[u8; 2]> {
        let mut first = [0; 2];
        File::open(path)?.read_exact(&mut first)?;
        Ok(first)
    };
    regular && begins().is_ok_and(|first| first == GZIP)
}

/// `text` as it was before compression, if it was compressed.
fn decompressed(text: Vec<u8>) -> io::Result<Vec<u8>> {
    let refused = |what: &str, how: &str| {
        let message = format!("compressed by {what}: expected plain text or gzip ({how})");
        Err(io::Error::new(io::ErrorKind::InvalidData, message))
    };
    if text.starts_with(&GZIP) {
        return gunzip(&text);
    }
    for (magic, what, how) in [
        (&XZ[..], "xz", "xz -dk unpacks it"),
        (&BZIP2, "bzip2", "bzip2 -dk unpacks it"),
        (&ZSTD, "zstd", "zstd -d unpacks it"),
    ] {
        if text.starts_with(magic) {
            return refused(what, how);
        }
    }
    Ok(text)
}

#[cfg(feature = "gzip")]
fn gunzip(compressed: &[u8]) -> io::Result<Vec<u8>> {
    /// A trailer is not believed beyond this many times the compressed length.
    const MOST: usize = 16;
    let trailer = compressed.last_chunk::<4>().map_or(0, |size| u32::from_le_bytes(*size));
    let capacity = (trailer as usize).min(MOST * compressed.len());
    let mut text = Vec::with_capacity(capacity.saturating_add(1));
    flate2::read::MultiGzDecoder::new(compressed).read_to_end(&mut text).map_err(|e| {
        io::Error::new(io::ErrorKind::InvalidData, format!("damaged gzip data: {e}"))
    })?;
    Ok(text)
}

#[cfg(not(feature = "gzip"))]
fn gunzip(_: &[u8]) -> io::Result<Vec<u8>> {
    let message = "compressed by gzip, which this build without the gzip feature cannot read";
    Err(io::Error::new(io::ErrorKind::Unsupported, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_of_compression_are_cut_off() {
        for (name, want) in [
            ("a.nodes.gz", "a.nodes"),
            ("a.NODES.GZ", "a.NODES"),
            ("a.nodes", "a.nodes"),
            (".gz", ".gz"),
            ("é", "é"),
        ] {
            assert_eq!(without_compression(name), want);
        }
    }

    #[test]
    fn other_compressions_are_named() {
        for (bytes, name) in [(&XZ[..], "xz"), (b"BZh9", "bzip2"), (&ZSTD, "zstd")] {
            let error = decompressed(bytes.to_vec()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("compressed by {name}: expected")), "{error}");
        }
        assert_eq!(decompressed(b"UCLA".to_vec()).unwrap(), b"UCLA");
    }

    #[cfg(feature = "gzip")]
    #[test]
    fn gzip_is_read_whole_or_not_at_all() {
        use std::io::Write;
        let pack = |text: &[u8]| {
            let level = flate2::Compression::default();
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        };
        let text: Vec<u8> =
            (0..100_000u32).flat_map(|i| format!("o{i} {}\n", i % 7).into_bytes()).collect();
        let packed = pack(&text);
        assert_eq!(decompressed(packed.clone()).unwrap(), text);
        // Files that were packed one after the other, as `cat a.gz b.gz` gives.
        let both = [packed.clone(), pack(b"end")].concat();
        assert_eq!(decompressed(both).unwrap(), [&text[..], b"end"].concat());
        for cut in [packed.len() - 1, packed.len() / 2, 11, 3] {
            let error = decompressed(packed[..cut].to_vec()).unwrap_err().to_string();
            assert!(error.starts_with("damaged gzip data: "), "{error}");
        }
        let mut wrong = packed;
        let middle = wrong.len() / 2;
        wrong[middle] ^= 0xff;
        assert!(decompressed(wrong).is_err());
    }
}
