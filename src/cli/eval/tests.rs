use super::*;

#[test]
fn no_cell_of_a_csv_file_is_a_formula() {
    for (text, cell) in [
        ("=1+2", "'=1+2"),
        ("@SUM(a,b)", "\"'@SUM(a,b)\""),
        ("+a", "'+a"),
        ("-a\"", "\"'-a\"\"\""),
        ("\tx", "'\\tx"),
        ("\rx\ny", "'\\rx\\ny"),
        ("'a", "''a"),
        ("-1.5e3", "-1.5e3"),
        ("a=1", "a=1"),
        ("", ""),
    ] {
        assert_eq!(csv_cell(text), cell, "{text:?}");
    }
}
