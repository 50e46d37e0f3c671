use super::*;
use crate::design::{Names, Nodes, Orientation, Placement};

fn design(name: &str, x: f64, y: f64) -> Design {
    let mut names = Names::default();
    names.push(name);
    let nodes = Nodes {
        names,
        width: vec![1.0],
        height: vec![2.0],
        kind: vec![NodeKind::FixedOverlappable],
        ..Nodes::default()
    };
    let placement = Placement { x: vec![x], y: vec![y], orientation: vec![Orientation::FE] };
    Design { nodes, placement, ..Design::default() }
}

#[test]
fn each_node_is_written_on_one_line() {
    let mut out = Vec::new();
    write_places(&mut out, &design("|a[0]", -0.1, 459.0)).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.starts_with("UCLA pl 1.0\n# "), "{text}");
    assert!(text.ends_with("\n\n|a[0]\t-0.1\t459\t: FE /FIXED_NI\n"), "{text}");
}

#[test]
fn numbers_read_back_as_the_same_bits() {
    let values = [0.0, -0.0, 0.1, 1.0 / 3.0, -1e300, 5e-324, f64::MAX, 123_456_789.123_456_79];
    for value in values {
        let text = Shortest(value).to_string();
        assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits(), "{text}");
        assert!(text.len() < 26, "{text}");
    }
}

#[test]
fn unreadable_names_and_numbers_are_not_written() {
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
fn written_files_have_default_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mode = |p: &Path| std::fs::metadata(p).unwrap().permissions().mode();
    let (ours, plain) = (folder.path().join("a.pl"), folder.path().join("b"));
    write_pl(&ours, &design("a", 0.0, 0.0)).unwrap();
    std::fs::write(&plain, "").unwrap();
    assert_eq!(mode(&ours), mode(&plain));
}
