//! Files that appear whole or not at all.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The temporary files that this process has now. A file is made or gets its name under this lock.
static TEMPORARIES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn temporaries() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes `path` through `write`: into a temporary file beside it, which gets
/// the name only when everything is on it. On failure nothing is left behind.
///
/// A symbolic link stays one, and the file it leads to is replaced, with its permissions kept. A
/// device, a pipe or anything else that is not a regular file is written into.
///
/// # Errors
/// When `path` is a folder, its folder cannot be written, or `write` fails.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    commit(vec![write_pending(path, write)?]).map_err(|(_, error)| error)
}

/// A written file that does not have its name yet; `None` if the existing file was overwritten.
pub(crate) struct PendingFile(Option<(Temporary, PathBuf)>);

/// Writes the file of [`write_whole`] under a temporary name; [`commit`] gives it its own.
///
/// # Errors
/// See [`write_whole`].
pub(crate) fn write_pending(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<PendingFile> {
    let (file, pending) = open(path)?;
    let mut file = BufWriter::with_capacity(1 << 18, file);
    write(&mut file)?;
    file.flush()?;
    Ok(pending)
}

/// Opens the file that `path` is written by.
fn open(path: &Path) -> io::Result<(File, PendingFile)> {
    match destination(path)? {
        Destination::Replace(target, permissions) => {
            let (file, temporary) = Temporary::beside(&target)?;
            if let Some(permissions) = permissions {
                // Not every file system has them; the contents matter more.
                let _ = file.set_permissions(permissions);
            }
            Ok((file, PendingFile(Some((temporary, target)))))
        }
        Destination::Into => Ok((OpenOptions::new().write(true).open(path)?, PendingFile(None))),
    }
}

/// Gives these files their names, in this order, with no interruption between them.
///
/// # Errors
/// When a name cannot be given any more: that one; those before it have theirs.
pub(crate) fn commit(files: Vec<PendingFile>) -> Result<(), (PathBuf, io::Error)> {
    let mut there = temporaries();
    for (temporary, target) in files.iter().filter_map(|file| file.0.as_ref()) {
        fs::rename(&temporary.0, target).map_err(|error| (target.clone(), error))?;
        there.remove(&temporary.0);
    }
    drop(there);
    Ok(())
}

/// Removes the temporary files of this process, which is about to end: from now on none is made,
/// and no file gets its name: a thread that tries either waits until the process ends.
#[cfg(feature = "cli")]
pub(crate) fn abandon() {
    let there = temporaries();
    there.iter().for_each(|path| drop(fs::remove_file(path)));
    std::mem::forget(there);
}

/// Checks that [`write_whole`] could write `path` now; leaves nothing behind.
///
/// # Errors
/// See [`write_whole`].
#[cfg(any(test, feature = "cli"))]
pub(crate) fn check_writable(path: &Path) -> io::Result<()> {
    match destination(path)? {
        Destination::Replace(target, _) => Temporary::beside(&target).map(drop),
        Destination::Into => OpenOptions::new().write(true).open(path).map(drop),
    }
}

/// How a path is written.
enum Destination {
    /// By a new file that takes this name and the permissions of the file that has it.
    Replace(PathBuf, Option<Permissions>),
    /// Into the file or device that is there.
    Into,
}

fn destination(path: &Path) -> io::Result<Destination> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        // A new file would take its name all the same.
        Ok(meta) if meta.is_file() && meta.permissions().readonly() => {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file there is read-only"))
        }
        Ok(meta) if meta.is_file() => {
            Ok(Destination::Replace(path.canonicalize()?, Some(meta.permissions())))
        }
        Ok(_) => Ok(Destination::Into),
        // A link that leads nowhere yet: the file it names is made.
        Err(e) if e.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
            let target = fs::read_link(path)?;
            destination(&path.parent().unwrap_or(Path::new("")).join(target))
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => match missing_folder(path) {
            Some(folder) => Err(no_folder(folder)),
            None => Ok(Destination::Replace(path.to_owned(), None)),
        },
        Err(e) => Err(e),
    }
}

/// Returns the first folder on the way to `path` that is not there.
fn missing_folder(path: &Path) -> Option<&Path> {
    let folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    folders.take_while(|folder| !folder.exists()).last()
}

fn no_folder(folder: &Path) -> io::Error {
    let message = format!("the folder {} does not exist", folder.display());
    io::Error::new(io::ErrorKind::NotFound, message)
}

/// The path of a new file, removed when dropped unless it has got another name.
struct Temporary(PathBuf);

impl Temporary {
    /// In the folder of `path`, under a name that no other file there has.
    fn beside(path: &Path) -> io::Result<(File, Temporary)> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let mut there = temporaries();
        loop {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let name = format!(".placefield-{}-{number}.tmp", std::process::id());
            let path = path.with_file_name(name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    there.insert(path.clone());
                    return Ok((file, Temporary(path)));
                }
                // Left by a process that had the same number.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if temporaries().remove(&self.0) {
            let _ = fs::remove_file(&self.0);
        }
    }
}

#[cfg(test)]
mod tests;
