use super::*;

#[test]
fn axes_change_places_and_back() {
    let (shape, axes) = ([2, 3, 4], [2, 0, 1]);
    let values: Vec<usize> = (0..24).collect();
    let turned = permuted(&values, &shape, &axes);
    for (at, &value) in turned.iter().enumerate() {
        let [c, a, b] = index_of(at, &[4, 2, 3])[..] else { panic!() };
        assert_eq!(value, (a * 3 + b) * 4 + c);
    }
    assert_eq!(permuted(&turned, &[4, 2, 3], &inverse(&axes)), values);
    assert_eq!(permuted(&values, &[24], &[0]), values);
}
