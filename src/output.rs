//! Files that appear whole or not at all.

use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes `path` through `write`: into a temporary file beside it, which gets
/// the name only when everything is on it. On failure nothing is left behind.
///
/// # Errors
/// When the folder cannot be written or `write` fails.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Temporary files are private by default; this one becomes an ordinary file.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = BufWriter::with_capacity(1 << 18, builder.tempfile_in(folder)?);
    write(&mut file)?;
    file.into_inner()?.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write_whole(&path, |w| w.write_all(b"first")).unwrap();
        let failed = write_whole(&path, |w| {
            w.write_all(b"second")?;
            Err(io::Error::other("no"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
