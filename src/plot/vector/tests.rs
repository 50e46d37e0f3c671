use super::*;

#[test]
fn numbers_are_short() {
    let written = [12.0, 0.125, -0.001, 1e-9, 100.0].map(number);
    assert_eq!(written, ["12", "0.12", "0", "0", "100"]);
    assert_eq!(escaped("a<b & 'c'"), "a&lt;b &amp; &apos;c&apos;");
}
