use super::*;

#[test]
fn a_failed_write_leaves_only_the_old_file() {
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

#[cfg(unix)]
#[test]
fn dangling_links_are_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let (link, target) = (folder.path().join("link"), folder.path().join("there"));
    std::os::unix::fs::symlink("there", &link).unwrap();
    write_whole(&link, |w| w.write_all(b"x")).unwrap();
    assert!(link.is_symlink());
    assert_eq!(std::fs::read(&target).unwrap(), b"x");
    let circle = folder.path().join("circle");
    std::os::unix::fs::symlink("circle", &circle).unwrap();
    assert!(write_whole(&circle, |w| w.write_all(b"x")).is_err());
}

#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    for mode in [0o640, 0o600, 0o664] {
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        write_whole(&path, |w| w.write_all(b"new")).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode);
    }
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    let error = write_whole(&path, |w| w.write_all(b"newer")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[cfg(unix)]
#[test]
fn links_and_devices_stay_what_they_are() {
    use std::os::unix::fs::FileTypeExt;
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("a"), folder.path().join("link"));
    fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    write_whole(&link, |w| w.write_all(b"new")).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&file).unwrap(), b"new");

    // Through a link, so that a mistake here replaces the link and not the device.
    let null = folder.path().join("null");
    std::os::unix::fs::symlink("/dev/null", &null).unwrap();
    write_whole(&null, |w| w.write_all(b"gone")).unwrap();
    assert!(fs::symlink_metadata(&null).unwrap().is_symlink());
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}

#[test]
fn unwritable_paths_are_found_before_writing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    check_writable(&path).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(check_writable(folder.path()).is_err());
    fs::write(&path, "").unwrap();
    let error = check_writable(&path.join("b")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    let none = folder.path().join("none");
    let error = check_writable(&none.join("deeper/b")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert_eq!(error.to_string(), format!("the folder {} does not exist", none.display()));
}
