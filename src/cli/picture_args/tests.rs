use super::*;

#[test]
fn ranges_have_names_where_they_are_several() {
    let range = |text: &str| text.parse::<RangeArg>();
    assert_eq!(range("0:1.5").unwrap(), RangeArg { name: None, ends: (0.0, 1.5) });
    let named = RangeArg { name: Some("field_x".to_owned()), ends: (-1.0, 1.0) };
    assert_eq!(range("field_x=-1:1").unwrap(), named);
    for wrong in ["1:0", "0:nan", "density=", "0", ":", "a=b=0:1"] {
        assert!(range(wrong).is_err(), "{wrong}");
    }
    assert_eq!(common_ends([(0.0, 1.0), (-1.0, 0.5)].into_iter()), Some((-1.0, 1.0)));
}
