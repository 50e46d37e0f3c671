//! The cache of compiled kernels on disk: `$PLACEFIELD_CACHE`, else
//! `$XDG_CACHE_HOME/placefield`, else `~/.cache/placefield`, and in it a folder
//! for each format. A file's name is what was compiled, and a hash; it begins with the
//! key, everything that the code depends on, which must be the same to the
//! letter, and a hash of the code, which must fit.
//!
//! Files appear whole or not at all, so that any number of processes may use the
//! folder at once. When they take more than [`MOST_BYTES`] or are more than
//! [`MOST_FILES`], those go that have not been used for longest.

use crate::output::write_whole;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What the folder of files of one format is called; the format's number follows.
const FOLDER: &str = "placefield-code-";

/// The format of the files. Those of lower numbers are removed.
const FORMAT: u32 = 2;

/// What a file begins with, whatever its format.
const MAGIC: &[u8] = b"placefield-code\n";

/// What a file of the first format began with; they lay in the root.
const FIRST_MAGIC: &[u8] = b"placefield-cubin";

/// Most bytes that the files take together.
const MOST_BYTES: u64 = 512 << 20;

/// Most files.
const MOST_FILES: usize = 2000;

/// How old a file's time of last use may become before a use renews it: a day, so that
/// a start that compiles nothing writes nothing either.
const RENEWED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// The folder that the cache's folders are in; `None` when the environment
/// names no place for one. It need not exist.
pub fn cache_folder() -> Option<PathBuf> {
    cache_folder_in(|name| std::env::var_os(name))
}

/// The cache's folder, given a way to look up environment variables.
fn cache_folder_in(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("PLACEFIELD_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("placefield")))
        .or_else(|| set("HOME").map(|dir| dir.join(".cache").join("placefield")))
}

/// One file of the cache.
pub(super) struct CacheEntry {
    /// The folder of all formats; `None` when there is nowhere to keep a cache.
    root: Option<PathBuf>,
    file: String,
    key: String,
}

impl CacheEntry {
    /// `name` says what the code is, for whoever looks into the folder; `key` all that
    /// it depends on.
    pub(super) fn new(name: &str, key: String) -> CacheEntry {
        let file = format!("{name}-{:016x}", hash(&key));
        CacheEntry { root: cache_folder(), file, key }
    }

    #[cfg(test)]
    pub(super) fn name(&self) -> &str {
        &self.file
    }

    fn path(&self) -> Option<PathBuf> {
        Some(self.root.as_ref()?.join(format!("{FOLDER}{FORMAT}")).join(&self.file))
    }

    /// The code, if it is there and whole.
    pub(super) fn read(&self) -> Option<Vec<u8>> {
        let path = self.path()?;
        let mut bytes = fs::read(&path).ok()?;
        let rest = bytes.strip_prefix(MAGIC)?.strip_prefix(self.key.as_bytes())?;
        let (sum, code) = rest.strip_prefix(b"\n\0")?.split_first_chunk::<8>()?;
        if hash(&code) != u64::from_le_bytes(*sum) {
            return None;
        }
        let start = bytes.len() - code.len();
        let _ = renew(&path);
        Some(bytes.split_off(start))
    }

    /// Keeps the code; a failure is no error, only a slower next start.
    pub(super) fn write(&self, code: &[u8]) {
        let (Some(root), Some(path)) = (&self.root, self.path()) else { return };
        let folder = path.parent().unwrap_or(root);
        let sum = hash(&code).to_le_bytes();
        let parts: [&[u8]; 5] = [MAGIC, self.key.as_bytes(), b"\n\0", &sum, code];
        let kept = fs::create_dir_all(folder).and_then(|()| {
            write_whole(&path, |file| parts.iter().try_for_each(|part| file.write_all(part)))
        });
        if kept.is_ok() {
            let _ = shrink(folder, MOST_BYTES, MOST_FILES);
            let _ = remove_older(root);
        }
    }
}

/// Marks a file as used now.
fn renew(path: &Path) -> io::Result<()> {
    let file = fs::File::options().append(true).open(path)?;
    let used = file.metadata()?.modified()?;
    match used.elapsed() {
        Ok(age) if age < RENEWED_AFTER => Ok(()),
        // A time in the future too.
        _ => file.set_modified(SystemTime::now()),
    }
}

/// Removes the files of `folder` that have not been used for longest, until those left
/// are few and small enough.
fn shrink(folder: &Path, most_bytes: u64, most_files: usize) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        // Another process may remove it meanwhile.
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

/// Removes what programs before this one kept: the files of the first format, and
/// folders of formats since. What does not begin as such a file does stays.
fn remove_older(root: &Path) -> io::Result<()> {
    for entry in fs::read_dir(root)? {
        let Ok(entry) = entry else { continue };
        let (name, path) = (entry.file_name(), entry.path());
        let name = name.to_string_lossy();
        let format = name.strip_prefix(FOLDER).and_then(|n| n.parse::<u32>().ok());
        if format.is_some_and(|format| format < FORMAT) {
            for file in fs::read_dir(&path).into_iter().flatten().flatten() {
                remove_if(&file.path(), MAGIC);
            }
            // Fails where anything is left.
            let _ = fs::remove_dir(&path);
        } else if name.ends_with(".cubin") {
            remove_if(&path, FIRST_MAGIC);
        }
    }
    Ok(())
}

/// Removes a file that begins with `magic`.
fn remove_if(path: &Path, magic: &[u8]) {
    let mut start = [0; 16];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    if read.is_ok() && start == *magic {
        let _ = fs::remove_file(path);
    }
}

pub(super) fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(root: &Path, name: &str, key: &str) -> CacheEntry {
        CacheEntry { root: Some(root.into()), ..CacheEntry::new(name, key.into()) }
    }

    #[test]
    fn the_cache_folder_follows_the_environment() {
        let find = |set: &[(&str, &str)]| {
            let set: Vec<(String, String)> =
                set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
            cache_folder_in(|name| set.iter().find(|(k, _)| k == name).map(|(_, v)| v.into()))
        };
        let all = [("PLACEFIELD_CACHE", "/a"), ("XDG_CACHE_HOME", "/b"), ("HOME", "/c")];
        assert_eq!(find(&all), Some("/a".into()));
        assert_eq!(find(&all[1..]), Some("/b/placefield".into()));
        assert_eq!(find(&all[2..]), Some("/c/.cache/placefield".into()));
        assert_eq!(find(&[("PLACEFIELD_CACHE", "")]), None);
    }

    #[test]
    fn what_is_cached_comes_back_and_damage_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let entry = entry(&folder.path().join("new"), "kernels", "key");
        let path = entry.path().unwrap();
        assert_eq!(entry.read(), None);
        entry.write(b"machine code");
        assert_eq!(entry.read().as_deref(), Some(&b"machine code"[..]));
        let whole = fs::read(&path).unwrap();
        let cut = whole.len() - 1;
        let flipped: Vec<u8> = (0..whole.len()).map(|k| whole[k] ^ u8::from(k == cut)).collect();
        for damaged in [&whole[..cut], &whole[..20], b"", &flipped, b"not ours"] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(entry.read(), None, "{} bytes", damaged.len());
        }
        entry.write(b"again");
        assert_eq!(entry.read().as_deref(), Some(&b"again"[..]));
        // A file in its place that is of another key: as if two hashes were the same.
        let other = self::entry(&folder.path().join("new"), "kernels", "another key");
        fs::copy(&path, other.path().unwrap()).unwrap();
        assert_eq!(other.read(), None);
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"").unwrap();
        let blocked = entry(&file.join("under"), "kernels", "key");
        blocked.write(b"machine code");
        assert_eq!(blocked.read(), None);
        CacheEntry { root: None, ..blocked }.write(b"machine code");
    }

    #[test]
    fn what_was_used_last_stays() {
        let folder = tempfile::tempdir().unwrap();
        let name = |k: u64| folder.path().join(k.to_string());
        let fill = || {
            for k in 0..10 {
                fs::write(name(k), [0; 100]).unwrap();
                // The higher the number, the longer ago.
                let used = SystemTime::now() - Duration::from_secs(3600 * 24 * k);
                fs::File::options().append(true).open(name(k)).unwrap().set_modified(used).unwrap();
            }
        };
        let left = || (0..10).filter(|&k| name(k).exists()).collect::<Vec<_>>();
        fill();
        shrink(folder.path(), 1000, 10).unwrap();
        assert_eq!(left().len(), 10);
        shrink(folder.path(), 350, 10).unwrap();
        assert_eq!(left(), [0, 1, 2]);
        fill();
        renew(&name(9)).unwrap();
        shrink(folder.path(), 1000, 2).unwrap();
        assert_eq!(left(), [0, 9]);
    }

    #[test]
    fn older_formats_go_and_what_is_not_ours_stays() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("fused-f32-sm_90-0123.cubin", "placefield-cubin and more");
        write("another's.cubin", "placefield-not-a-cubin");
        write("placefield-code-0/kernels", "placefield-code\nand more");
        write("placefield-code-1/kernels", "placefield-code\nand more");
        write("placefield-code-1/notes", "somebody's");
        write("placefield-code-99/kernels", "placefield-code\nand more");
        write("tuned.json", "{}");
        entry(root, "kernels", "key").write(b"machine code");
        let names = |path: &Path| {
            let entries = fs::read_dir(path).unwrap();
            let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let left = [
            "another's.cubin",
            "placefield-code-1",
            "placefield-code-2",
            "placefield-code-99",
            "tuned.json",
        ];
        assert_eq!(names(root), left);
        assert_eq!(names(&root.join(left[1])), ["notes"]);
        assert_eq!(names(&root.join(left[3])), ["kernels"]);
    }

    #[test]
    fn several_writers_and_readers_get_along() {
        let folder = tempfile::tempdir().unwrap();
        let code = vec![7; 100_000];
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let entry = entry(folder.path(), "kernels", "key");
                        entry.write(&code);
                        assert_eq!(entry.read().as_ref(), Some(&code));
                    }
                });
            }
        });
        let files = fs::read_dir(folder.path().join("placefield-code-2")).unwrap().count();
        assert_eq!(files, 1, "and nothing temporary");
    }
}
