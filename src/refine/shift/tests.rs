use super::*;

fn bends(all: &[(i32, i64)]) -> Bends {
    let rises = all.iter().map(|bend| bend.1).sum();
    Bends { all: all.to_vec(), rises, ..Bends::default() }
}

#[test]
fn the_flat_part_of_a_convex_function() {
    // |x − 3| + |x − 5|, and with a third |x − 9|.
    let mut two = bends(&[(3, 2), (5, 2)]);
    assert_eq!(two.flat_part(0), (3, 5));
    two.add(&bends(&[(9, 2)]), 0);
    assert_eq!(two.flat_part(0), (5, 5));
    // With two more such functions at 2, and one at 1.
    two.add(&bends(&[(3, 2), (4, 4)]), -2);
    assert_eq!(two.all, [(1, 2), (2, 4), (3, 2), (5, 2), (9, 2)]);
    assert_eq!(two.flat_part(0), (2, 3));
    assert_eq!(bends(&[]).flat_part(7), (7, 7));
}

#[test]
fn a_joined_clump_is_where_both_cost_least() {
    // |x − 4| for a cell of 3 sites and 2·|x − 5| for its neighbour at the right, each sum by
    // the left edge of the first: 3 |·| slopes at 4 and 2.
    let clump =
        |first, sites, all: &[(i32, i64)], at| Clump { first, sites, bends: bends(all), at };
    let (a, b) = (clump(0, 3, &[(4, 2)], 4), clump(1, 2, &[(5, 4)], 5));
    let joined = a.joined(b, &mut Vec::new());
    assert_eq!((joined.first, joined.sites, joined.at), (0, 5, 2));
    assert_eq!(joined.bends.all, [(2, 4), (4, 2)]);
}
