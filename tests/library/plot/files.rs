//! Pictures as files.

use placefield::plot::{Animation, Curves, Format, Picture, PlotError, Size};
use std::path::Path;

#[test]
fn files_appear_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let chart = Curves { title: "t".to_owned(), ..Curves::default() };
    for name in ["a.png", "b.SVG", "c.pdf"] {
        let path = dir.path().join(name);
        std::fs::write(&path, "an older file").unwrap();
        chart.draw().write(&path).unwrap();
        let format = Format::of(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), chart.draw().encode(format).unwrap());
    }
    let names = |dir: &Path| std::fs::read_dir(dir).unwrap().count();
    assert_eq!(names(dir.path()), 3);

    let error = chart.draw().write(&dir.path().join("a.jpeg")).unwrap_err();
    assert!(matches!(error, PlotError::Extension(_)), "{error}");
    assert!(
        error.to_string().ends_with("a.jpeg: expected a file name that ends in .png, .svg or .pdf")
    );

    let nowhere = dir.path().join("missing").join("a.png");
    let error = chart.draw().write(&nowhere).unwrap_err();
    assert!(matches!(error, PlotError::Write { .. }), "{error}");
    assert!(error.to_string().contains("missing"), "{error}");

    // A folder stands where the file should go: nothing is left behind.
    std::fs::create_dir(dir.path().join("folder.png")).unwrap();
    chart.draw().write(&dir.path().join("folder.png")).unwrap_err();
    assert_eq!(names(dir.path()), 4);
}

#[cfg(unix)]
#[test]
fn picture_files_follow_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
    let (ours, plain) = (dir.path().join("a.svg"), dir.path().join("plain"));
    Curves::default().draw().write(&ours).unwrap();
    std::fs::write(&plain, "").unwrap();
    assert_eq!(mode(&ours), mode(&plain));
}

#[test]
fn an_animation_has_pictures_of_one_size() {
    let dir = tempfile::tempdir().unwrap();
    let picture = |title: &str| {
        let size = Size::pixels(301);
        let curves = Curves { title: title.to_owned(), size, ..Curves::default() }.draw();
        Picture::beside(&[curves.clone(), curves])
    };
    let (width, height) = picture("a").size();
    assert!(width.is_multiple_of(2) && height.is_multiple_of(2) && width >= 602);
    let mut animation = Animation::new(100);
    animation.push(&picture("a")).unwrap();
    animation.push(&picture("b")).unwrap();
    animation.push(&Curves::default().draw()).unwrap_err();
    let path = dir.path().join("a.gif");
    animation.write(&path).unwrap();
    let mut gif = gif::DecodeOptions::new().read_info(std::fs::File::open(&path).unwrap()).unwrap();
    assert_eq!((u32::from(gif.width()), u32::from(gif.height())), (width, height));
    let first = gif.read_next_frame().unwrap().unwrap().buffer.to_vec();
    assert!(first != gif.read_next_frame().unwrap().unwrap().buffer.to_vec());
    assert!(gif.read_next_frame().unwrap().is_none());
    assert!(Animation::new(100).write(&path).is_err(), "no picture");
}
