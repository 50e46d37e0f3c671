use super::*;

#[test]
fn titles_break_at_spaces_and_in_long_words() {
    let fits = |part: &str| part.chars().count() <= 8;
    assert_eq!(broken("one two three", 5, fits), ["one two", "three"]);
    assert_eq!(
        broken("a design_of_a_long_name b", 9, fits),
        ["a", "design_o", "f_a_long", "_name b"]
    );
    let last = ["one two", "three four five"];
    assert_eq!(broken("one two three four five", 2, fits), last, "the last line takes the rest");
}

#[test]
fn text_is_made_smaller_before_it_is_cut() {
    let text = Text::new("y (layout units)", (0.0, 0.0), 25.0, INK);
    let wide = text.width();
    for share in [1.2, 1.0, 0.9, 0.61] {
        let fitted = text.clone().within(share * wide);
        assert_eq!(fitted.text, text.text, "{share}");
        assert!(fitted.width() <= f64::min(share, 1.0) * wide + 0.1, "{share}");
    }
    let cut = text.clone().within(0.3 * wide);
    assert!(cut.text.ends_with('…') && cut.width() <= 0.3 * wide + 0.1);
    assert_eq!(cut.em, 25.0);
}
