use super::*;

#[test]
fn every_curve_visits_quarters_in_the_same_order() {
    for bits in 1..=6 {
        let quarter = 1u64 << (2 * bits - 2);
        let half = 1u32 << (bits - 1);
        let quarters = [(false, false), (false, true), (true, true), (true, false)];
        for (k, expected) in (0..).zip(quarters) {
            for place in k * quarter..(k + 1) * quarter {
                let (x, y): (u32, u32) = h2xy(place, bits);
                assert_eq!((x >= half, y >= half), expected, "{bits} bits, {place}");
            }
        }
    }
}

#[test]
fn cells_come_back_from_their_places() {
    let die = Rect::at(100.0, 50.0, 80.0, 24.0);
    for cells in [1, 2, 3, 7, 1000] {
        let hidden = Hidden::new(die, cells);
        for cell in 0..cells {
            assert_eq!(hidden.cell_at(hidden.curve_of_cell(cell)), cell);
            let (x, y) = hidden.cell_point(cell);
            assert!(die.xl < x && x < die.xh && die.yl < y && y < die.yh);
            assert_eq!(hidden.curve_of_point(x, y), hidden.curve_of_cell(cell));
        }
    }
}
