use super::*;

fn names<'a>(list: impl IntoIterator<Item = &'a str>) -> Names {
    let mut names = Names::default();
    list.into_iter().for_each(|n| names.push(n));
    names
}

#[test]
fn names_are_appended_in_order() {
    let mut all = names(["a", "", "bc"]);
    all.append(&names(["d", "", "é"])).unwrap();
    all.append(&Names::default()).unwrap();
    assert_eq!(all, names(["a", "", "bc", "d", "", "é"]));
    assert_eq!(all.iter().len(), 6);
    assert_eq!((all.get(1), all.get(5)), ("", "é"));
}

#[test]
fn the_row_height_is_the_most_frequent_one() {
    let of = |heights: &[f64]| {
        let row = |&height| Row { height, site_width: 1.0, pitch: 1.0, sites: 1, ..Row::default() };
        Design { rows: heights.iter().map(row).collect(), ..Design::default() }.row_height()
    };
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[9.0, 12.0, 12.0]), Some(12.0));
    assert_eq!(of(&[12.0, 9.0, 12.0, 9.0, 1.0]), Some(9.0));
}

#[test]
fn the_die_holds_all_rows_with_their_pitch() {
    let row = Row {
        x: -5.0,
        y: 2.0,
        height: 3.0,
        site_width: 1.0,
        pitch: 4.0,
        sites: 3,
        ..Row::default()
    };
    assert_eq!(row.rect(), Rect { xl: -5.0, yl: 2.0, xh: 4.0, yh: 5.0 });
    let rows = vec![row, Row { x: 1.0, y: 7.0, sites: 1, ..row }];
    let design = Design { rows, ..Design::default() };
    assert_eq!(design.die(), Some(Rect { xl: -5.0, yl: 2.0, xh: 4.0, yh: 10.0 }));
}
