use super::*;

#[test]
fn names_of_maps_differ() {
    let mut names = Kind::ALL.map(Kind::name);
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}
