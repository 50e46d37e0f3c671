use super::*;

const ROW: Row = Row {
    x: 0.0,
    y: 0.0,
    height: 10.0,
    site_width: 2.0,
    pitch: 3.0,
    sites: 10,
    orientation: Orientation::N,
    symmetry: crate::design::Symmetry { x: false, y: true, r90: false },
    site: None,
};

#[test]
fn rows_are_cut_to_the_area_in_whole_sites() {
    // Row 1 reaches into the notch between 8 and 17, row 2 lies above all.
    let area = [
        Rect::at(0.0, 0.0, 30.0, 15.0),
        Rect::at(0.0, 15.0, 8.0, 5.0),
        Rect::at(17.0, 15.0, 13.0, 5.0),
    ];
    let rows = [0.0, 10.0, 20.0].map(|y| Row { y, ..ROW }).to_vec();
    let (inside, cut) = clipped(rows, &area);
    assert_eq!(cut, 2);
    let found: Vec<_> = inside.iter().map(|row| (row.x, row.y, row.sites)).collect();
    assert_eq!(found, [(0.0, 0.0, 10), (0.0, 10.0, 3), (18.0, 10.0, 4)]);
}

#[test]
fn rows_in_the_area_stay_as_they_are() {
    let rows = vec![ROW; 2];
    assert_eq!(clipped(rows.clone(), &[Rect::at(-1.0, -1.0, 40.0, 40.0)]), (rows, 0));
}

#[test]
fn patterns_are_mirrored_with_their_row() {
    let site = |name: &str, width, height| Site {
        name: name.to_owned(),
        width,
        height,
        ..Site::default()
    };
    let of = |name: &str, lies| (name.to_owned(), lies);
    let sites = vec![site("f", 4.0, 7.0), site("l", 6.0, 7.0), site("p", 10.0, 7.0)];
    let mut library = Library { sites, ..Library::default() };
    library.sites[2].pattern = vec![of("f", Orientation::N), of("l", Orientation::FS)];
    let row = |orientation| RowStatement {
        site: 2,
        at: (100.0, 50.0),
        orientation,
        count: (3, 1),
        step: (0.0, 0.0),
    };
    let found = |library: &Library, orientation| {
        let (rows, left_out) = rows(library, &[row(orientation)], 100, |length| length);
        assert_eq!(left_out, 0);
        let of = |row: &Row| (row.x, row.y, row.site_width, row.pitch, row.orientation);
        rows.iter().map(of).collect::<Vec<_>>()
    };
    use Orientation::{FN, FS, N, S};
    let upright = [(100.0, 50.0, 4.0, 10.0, N), (104.0, 50.0, 6.0, 10.0, FS)];
    assert_eq!(found(&library, N), upright);
    let mirrored = [(106.0, 50.0, 4.0, 10.0, FN), (100.0, 50.0, 6.0, 10.0, S)];
    assert_eq!(found(&library, FN), mirrored);
    // As high as its sites together: one above the other.
    (library.sites[2].width, library.sites[2].height) = (4.0, 14.0);
    let stacked = [(100.0, 57.0, 4.0, 4.0, FS), (100.0, 50.0, 6.0, 4.0, N)];
    assert_eq!(found(&library, FS), stacked);
}
