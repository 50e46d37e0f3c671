//! Writes `.pl` files that read back as they were.

use super::error::{BookshelfError, ErrorKind};
use crate::design::{Design, NodeKind};

use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes where the nodes of `design` lie, in node order, to `path`.
///
/// Coordinates are written with as many digits as it takes to read the same
/// `f64` back. Fixed nodes are marked `/FIXED` or `/FIXED_NI`. The file is
/// written beside `path` and renamed: it appears whole or not at all.
///
/// # Errors
/// When the file cannot be written, a coordinate is not finite, or a name is
/// empty or has a blank in it.
pub fn write_pl(path: &Path, design: &Design) -> Result<(), BookshelfError> {
    check(design).map_err(|kind| BookshelfError::whole(path, kind))?;
    write_whole(path, |out| write_places(out, design)).map_err(|e| BookshelfError::io(path, e))
}

/// Refuses what would not read back.
fn check(design: &Design) -> Result<(), ErrorKind> {
    for (i, name) in design.nodes.names.iter().enumerate() {
        let (x, y) = (design.placement.x[i], design.placement.y[i]);
        if !(x.is_finite() && y.is_finite()) {
            let found = format!("`{}` at {x} {y}", name.escape_debug());
            return Err(ErrorKind::Unwritable { expected: "finite coordinates", found });
        }
        let clear = |b: u8| !b.is_ascii_whitespace() && !b.is_ascii_control();
        if name.is_empty() || name.starts_with('#') || !name.bytes().all(clear) {
            let found = format!("`{}`", name.escape_debug());
            return Err(ErrorKind::Unwritable { expected: "a name of one word", found });
        }
    }
    Ok(())
}

fn write_places(out: &mut impl Write, design: &Design) -> io::Result<()> {
    writeln!(out, "UCLA pl 1.0\n")?;
    for (i, name) in design.nodes.names.iter().enumerate() {
        write!(out, "{name}\t")?;
        write_number(out, design.placement.x[i])?;
        out.write_all(b"\t")?;
        write_number(out, design.placement.y[i])?;
        let mark = match design.nodes.kind[i] {
            NodeKind::Movable => "",
            NodeKind::Fixed => " /FIXED",
            NodeKind::FixedNoImage => " /FIXED_NI",
        };
        writeln!(out, "\t: {}{mark}", design.placement.orientation[i].name())?;
    }
    Ok(())
}

/// The shortest decimal that reads back as `value`.
fn write_number(out: &mut impl Write, value: f64) -> io::Result<()> {
    if value == 0.0 || (1e-5..1e16).contains(&value.abs()) {
        write!(out, "{value}")
    } else {
        write!(out, "{value:e}")
    }
}

/// Creates `path` with what `fill` writes, once all of it is written.
fn write_whole(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&mut std::fs::File>) -> io::Result<()>,
) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".placefield-").suffix(".part");
    #[cfg(unix)]
    {
        // As any new file, and not private as a temporary one: the umask applies.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut part = builder.tempfile_in(folder)?;
    let mut out = BufWriter::with_capacity(1 << 16, part.as_file_mut());
    fill(&mut out)?;
    out.flush()?;
    drop(out);
    part.as_file().sync_all()?;
    part.persist(path).map_err(|e| e.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{Names, Nodes, Orientation, Placement};

    fn design(name: &str, x: f64, y: f64) -> Design {
        let mut names = Names::default();
        names.push(name);
        let nodes = Nodes {
            names,
            width: vec![1.0],
            height: vec![2.0],
            kind: vec![NodeKind::FixedNoImage],
        };
        let placement = Placement { x: vec![x], y: vec![y], orientation: vec![Orientation::FE] };
        Design { nodes, placement, ..Design::default() }
    }

    #[test]
    fn a_place_is_one_line() {
        let mut out = Vec::new();
        write_places(&mut out, &design("|a[0]", -0.1, 459.0)).unwrap();
        assert_eq!(out, b"UCLA pl 1.0\n\n|a[0]\t-0.1\t459\t: FE /FIXED_NI\n");
    }

    #[test]
    fn numbers_read_back_as_the_same_bits() {
        let values = [0.0, -0.0, 0.1, 1.0 / 3.0, -1e300, 5e-324, f64::MAX, 123_456_789.123_456_79];
        for value in values {
            let mut out = Vec::new();
            write_number(&mut out, value).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits(), "{text}");
            assert!(text.len() < 26, "{text}");
        }
    }

    #[test]
    fn what_would_not_read_back_is_refused_and_nothing_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pl");
        std::fs::write(&path, "before").unwrap();
        for bad in [design("a", f64::NAN, 0.0), design("a b", 0.0, 0.0), design("", 0.0, 0.0)] {
            let message = write_pl(&path, &bad).unwrap_err().to_string();
            assert!(message.contains("a.pl: expected"), "{message}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"before");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        let error = write_pl(Path::new("/nonexistent/a.pl"), &design("a", 0.0, 0.0)).unwrap_err();
        assert!(error.to_string().starts_with("/nonexistent/a.pl: "), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_as_readable_as_any_new_one() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mode = |p: &Path| std::fs::metadata(p).unwrap().permissions().mode();
        let (ours, plain) = (folder.path().join("a.pl"), folder.path().join("b"));
        write_pl(&ours, &design("a", 0.0, 0.0)).unwrap();
        std::fs::write(&plain, "").unwrap();
        assert_eq!(mode(&ours), mode(&plain));
    }
}
