//! The cache of compiled kernels on disk: `$PLACEFIELD_CACHE`, else `$XDG_CACHE_HOME/placefield`,
//! else `~/.cache/placefield`. Its files are in a folder for each format. A file's name consists of
//! the description of the compiled code and a hash. The file begins with the key, which lists
//! everything that the code depends on, and a hash of the code. The key must be identical and the
//! hash must match.
//!
//! Files are written atomically, so any number of processes may use the folder at once. If the
//! files exceed [`MOST_BYTES`] or [`MOST_FILES`], the least recently used ones are removed.

use crate::hash::Fnv1a;
use crate::output::write_whole;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The folder of the files; its name contains the number of their format.
const FOLDER: &str = "placefield-code-1";

/// The first bytes of a file.
const MAGIC: &[u8] = b"placefield-code\n";

/// The largest total size of the files, in bytes.
const MOST_BYTES: u64 = 512 << 20;

/// The largest number of files.
const MOST_FILES: usize = 2000;

/// A use renews a file's time of last use only if it is older than this. The limit is a day, so
/// that a start that compiles nothing writes nothing either.
const RENEWED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns the parent folder of the cache's folders, which need not exist; `None` if the
/// environment does not define one.
pub fn cache_folder() -> Option<PathBuf> {
    cache_folder_in(|name| std::env::var_os(name))
}

/// Returns the cache's folder, given a function that looks up environment variables.
fn cache_folder_in(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("PLACEFIELD_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("placefield")))
        .or_else(|| set("HOME").map(|dir| dir.join(".cache").join("placefield")))
}

/// One file of the cache.
pub(super) struct CacheEntry {
    /// The parent folder; `None` if no folder is available for a cache.
    root: Option<PathBuf>,
    file: String,
    key: String,
}

impl CacheEntry {
    /// `name` describes the code for people who look into the folder; `key` lists everything that
    /// the code depends on.
    pub(super) fn new(name: &str, key: String) -> CacheEntry {
        let file = format!("{name}-{:016x}", hash(key.as_bytes()));
        CacheEntry { root: cache_folder(), file, key }
    }

    #[cfg(test)]
    pub(super) fn name(&self) -> &str {
        &self.file
    }

    fn path(&self) -> Option<PathBuf> {
        Some(self.root.as_ref()?.join(FOLDER).join(&self.file))
    }

    /// Returns the code if the file exists and is complete.
    pub(super) fn read(&self) -> Option<Vec<u8>> {
        let path = self.path()?;
        let mut bytes = fs::read(&path).ok()?;
        let rest = bytes.strip_prefix(MAGIC)?.strip_prefix(self.key.as_bytes())?;
        let (sum, code) = rest.strip_prefix(b"\n\0")?.split_first_chunk::<8>()?;
        if hash(code) != u64::from_le_bytes(*sum) {
            return None;
        }
        let start = bytes.len() - code.len();
        let _ = renew(&path);
        Some(bytes.split_off(start))
    }

    /// Stores the code. A failure is not an error: it only makes the next start slower.
    pub(super) fn write(&self, code: &[u8]) {
        let (Some(root), Some(path)) = (&self.root, self.path()) else { return };
        let folder = path.parent().unwrap_or(root);
        let sum = hash(code).to_le_bytes();
        let parts: [&[u8]; 5] = [MAGIC, self.key.as_bytes(), b"\n\0", &sum, code];
        let kept = fs::create_dir_all(folder).and_then(|()| {
            write_whole(&path, |file| parts.iter().try_for_each(|part| file.write_all(part)))
        });
        if kept.is_ok() {
            let _ = shrink(folder, MOST_BYTES, MOST_FILES);
        }
    }
}

/// Marks a file as used now.
fn renew(path: &Path) -> io::Result<()> {
    let file = fs::File::options().append(true).open(path)?;
    let used = file.metadata()?.modified()?;
    match used.elapsed() {
        Ok(age) if age < RENEWED_AFTER => Ok(()),
        // Also renews a time in the future.
        _ => file.set_modified(SystemTime::now()),
    }
}

/// Removes the least recently used files of `folder` until the rest are few and small enough.
fn shrink(folder: &Path, most_bytes: u64, most_files: usize) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        // Another process may remove the file meanwhile.
        let Ok(entry) = entry else { continue };
        let Ok(about) = entry.metadata() else { continue };
        if about.is_file() {
            files.push((about.modified()?, about.len(), entry.path()));
        }
    }
    files.sort();
    let mut bytes: u64 = files.iter().map(|(_, length, _)| length).sum();
    let mut count = files.len();
    for (_, length, path) in files {
        if bytes <= most_bytes && count <= most_files {
            break;
        }
        let _ = fs::remove_file(path);
        bytes -= length;
        count -= 1;
    }
    Ok(())
}

/// Returns a hash of bytes that is the same for every build.
fn hash(bytes: &[u8]) -> u64 {
    Fnv1a::new().bytes(bytes).finish()
}

#[cfg(test)]
mod tests;
