//! Compressed files, recognised by their first bytes.

#[cfg(not(feature = "bzip2"))]
use absent as bunzip2;
#[cfg(not(feature = "gzip"))]
use absent as gunzip;
#[cfg(not(feature = "xz"))]
use absent as unxz;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Appends the bytes before compression.
type Unpack = fn(&[u8], &mut Unpacked) -> io::Result<()>;

/// Most bytes of unpacked texts that are held at once, unless set.
pub(crate) const MOST_UNPACKED: u64 = 64_000_000_000;
static MOST: AtomicU64 = AtomicU64::new(MOST_UNPACKED);
/// Bytes of unpacked texts that are held.
static HELD: AtomicU64 = AtomicU64::new(0);

/// Sets the most bytes that all compressed files together may unpack to while their texts are held.
#[cfg(feature = "cli")]
pub(crate) fn set_most_unpacked(bytes: u64) {
    MOST.store(bytes, Relaxed);
}

/// An unpacked text, whose bytes count while it is held.
pub(crate) struct Unpacked {
    pub(crate) text: Vec<u8>,
    counted: u64,
    /// Bytes of the pieces at its end that have only blanks and lines of comment.
    idle: usize,
    /// Its last line.
    line: Line,
}

impl Unpacked {
    /// Appends a piece, if all texts together still hold no more bytes than they may.
    #[cfg_attr(not(any(feature = "bzip2", feature = "gzip", feature = "xz")), allow(dead_code))]
    fn append(&mut self, piece: &[u8]) -> io::Result<()> {
        let piece = self.shortened(piece);
        let more = piece.len() as u64;
        self.counted += more;
        let most = MOST.load(Relaxed);
        if HELD.fetch_add(more, Relaxed) + more > most {
            let message = format!(
                "it unpacks to more than the {} GB that are allowed (--max-unpacked)",
                most as f64 / 1e9
            );
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        self.text.try_reserve(piece.len())?;
        self.text.extend_from_slice(piece);
        Ok(())
    }

    /// Returns the part of a piece that is held: no more of blanks and comments than [`MOST_IDLE`]
    /// at a place. Lines behind more of them are counted without those left out.
    fn shortened<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        let mut lines = piece.split(|&b| b == b'\n');
        let first = self.line.and(Line::of(lines.next().unwrap_or_default()));
        let is_idle = first != Line::Other && lines.clone().all(|l| Line::of(l) != Line::Other);
        self.idle = if is_idle { self.idle + piece.len() } else { 0 };
        let last = lines.next_back().map(Line::of);
        self.line = last.unwrap_or(first);
        match (self.idle > MOST_IDLE, last) {
            (false, _) => piece,
            (true, None) => &[],
            (true, Some(Line::Comment)) => b"\n#",
            (true, Some(_)) => b"\n",
        }
    }
}

/// What a line is by its beginning.
#[derive(Clone, Copy, PartialEq)]
enum Line {
    Blank,
    Comment,
    Other,
}

impl Line {
    fn of(line: &[u8]) -> Line {
        match line.trim_ascii_start() {
            [] => Line::Blank,
            [b'#', ..] => Line::Comment,
            _ => Line::Other,
        }
    }

    /// The same line with a rest behind it. A word before blanks is no reason to hold these.
    fn and(self, rest: Line) -> Line {
        match (self, rest) {
            (Line::Blank, rest) => rest,
            (Line::Other, Line::Blank) => Line::Blank,
            (line, _) => line,
        }
    }
}

impl From<Vec<u8>> for Unpacked {
    /// A text that was not compressed, and is not counted.
    fn from(text: Vec<u8>) -> Self {
        Unpacked { text, counted: 0, idle: 0, line: Line::Blank }
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        HELD.fetch_sub(self.counted, Relaxed);
    }
}

/// A compression.
pub(crate) struct Compression {
    /// Bytes that its files begin with.
    magic: &'static [u8],
    name: &'static str,
    /// How its files' names end.
    ending: &'static str,
    /// Function that decompresses, if the library reads such files.
    unpack: Option<Unpack>,
}

/// Compressions that are read, and others that are distinguished from damaged text.
const ALL: [Compression; 4] = [
    Compression {
        magic: &[0x1f, 0x8b], // RFC 1952, §2.3.1
        name: "gzip",
        ending: ".gz",
        unpack: Some(gunzip),
    },
    Compression {
        magic: &[0xfd, b'7', b'z', b'X', b'Z', 0], // the .xz file format, §2.1.1.1
        name: "xz",
        ending: ".xz",
        unpack: Some(unxz),
    },
    Compression { magic: b"BZh", name: "bzip2", ending: ".bz2", unpack: Some(bunzip2) },
    Compression {
        magic: &[0x28, 0xb5, 0x2f, 0xfd], // RFC 8878, §3.1.1
        name: "zstd",
        ending: ".zst",
        unpack: None,
    },
];

/// Bytes that are unpacked at a time.
#[cfg_attr(not(any(feature = "bzip2", feature = "gzip", feature = "xz")), allow(dead_code))]
const PIECE: usize = 1 << 18;

/// Most bytes of blanks and comments that are held at a place.
const MOST_IDLE: usize = 1 << 20;

/// Most bytes at a file's beginning that tell its compression.
pub(crate) const LONGEST_MAGIC: usize = 6;

/// Returns the endings of the compressed files that are read.
pub(crate) fn endings() -> impl Iterator<Item = &'static str> {
    ALL.iter().filter(|c| c.unpack.is_some()).map(|c| c.ending)
}

/// Returns the compression of a file that begins with these bytes, if it has one.
pub(crate) fn of(bytes: &[u8]) -> Option<&'static Compression> {
    ALL.iter().find(|c| bytes.starts_with(c.magic))
}

impl Compression {
    /// Returns the bytes before compression.
    ///
    /// # Errors
    /// When they are damaged, do not fit into memory, are more than is allowed
    /// (`set_most_unpacked`), or cannot be read by this build.
    pub(crate) fn unpack(&self, compressed: &[u8]) -> io::Result<Unpacked> {
        // Each is also the name of a command, and of a feature of this library.
        let name = self.name;
        let Some(unpack) = self.unpack else {
            let expected = "expected plain text, gzip, xz or bzip2";
            let message = format!("compressed by {name}: {expected} ({name} -dk unpacks it)");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        };
        let mut unpacked = Unpacked::from(Vec::new());
        let done = unpack(compressed, &mut unpacked);
        done.map(|()| unpacked).map_err(|e| match e.kind() {
            io::ErrorKind::Unsupported => {
                let message = format!("compressed by {name}: {e} ({name} -dk unpacks it)");
                io::Error::new(e.kind(), message)
            }
            io::ErrorKind::OutOfMemory | io::ErrorKind::FileTooLarge => e,
            _ => io::Error::new(io::ErrorKind::InvalidData, format!("damaged {name} data: {e}")),
        })
    }
}

/// Appends what a decoder gives.
#[cfg(any(feature = "bzip2", feature = "gzip"))]
fn append_all(mut decoder: impl io::Read, unpacked: &mut Unpacked) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        match decoder.read(&mut piece)? {
            0 => return Ok(()),
            given => unpacked.append(&piece[..given])?,
        }
    }
}

/// Files that were packed one after the other give their texts one after the other, and zeros
/// behind them, as tapes leave them, nothing, as `gzip -d` does.
#[cfg(feature = "gzip")]
fn gunzip(mut compressed: &[u8], unpacked: &mut Unpacked) -> io::Result<()> {
    loop {
        append_all(flate2::bufread::GzDecoder::new(&mut compressed), unpacked)?;
        if compressed.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
    }
}

/// Files that were packed one after the other give their texts one after the other.
#[cfg(feature = "bzip2")]
fn bunzip2(mut compressed: &[u8], unpacked: &mut Unpacked) -> io::Result<()> {
    while !compressed.is_empty() {
        append_all(bzip2::bufread::BzDecoder::new(&mut compressed), unpacked)?;
    }
    Ok(())
}

/// Files that were packed one after the other, with padding between or behind them, give their
/// texts one after the other, as `xz -d` does.
#[cfg(feature = "xz")]
fn unxz(mut compressed: &[u8], unpacked: &mut Unpacked) -> io::Result<()> {
    use xz4rust::{XzDecoder, XzError, XzNextBlockResult};
    /// Most bytes of a dictionary, whatever the header asks for; `xz -9` takes a quarter of it.
    const MOST: usize = 256 << 20;
    let cut_short = || io::Error::new(io::ErrorKind::UnexpectedEof, "unexpected end of file");
    let refused = |e: &XzError| {
        // The crate's errors are names such as `Sha256NotSupported`.
        let name = e.to_string();
        let option = ["NotSupported", "Unsupported", "DictionaryTooLarge"];
        match option.iter().any(|part| name.contains(part)) {
            true => io::Error::new(io::ErrorKind::Unsupported, name),
            false => io::Error::new(io::ErrorKind::InvalidData, name),
        }
    };
    let mut decoder = XzDecoder::in_heap_with_alloc_dict_size(0, MOST);
    let mut piece = vec![0; PIECE];
    loop {
        let (taken, given, ended) = match decoder.decode(compressed, &mut piece) {
            Ok(XzNextBlockResult::NeedMoreData(taken, given)) => (taken, given, false),
            Ok(XzNextBlockResult::EndOfStream(taken, given)) => (taken, given, true),
            Err(XzError::NeedsLargerInputBuffer) => return Err(cut_short()),
            Err(e) => return Err(refused(&e)),
        };
        compressed = &compressed[taken..];
        unpacked.append(&piece[..given])?;
        if ended {
            // Padding comes by four zeros (§2.2 of the format).
            while let Some(rest) = compressed.strip_prefix(&[0; 4]) {
                compressed = rest;
            }
            if compressed.is_empty() {
                return Ok(());
            }
            decoder.reset();
        } else if (taken, given) == (0, 0) {
            return Err(cut_short());
        }
    }
}

/// Refuses a compression whose feature this build lacks.
#[cfg(not(all(feature = "bzip2", feature = "gzip", feature = "xz")))]
fn absent(_: &[u8], _: &mut Unpacked) -> io::Result<()> {
    let message = "this build without the feature of that name cannot read it";
    Err(io::Error::new(io::ErrorKind::Unsupported, message))
}

#[cfg(test)]
mod tests;
