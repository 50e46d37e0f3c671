use super::*;

#[test]
fn hidden_characters_are_escaped_and_others_stay() {
    for (text, want) in [
        ("a\u{1b}[31m\u{7f}b", "a\\u{1b}[31m\\u{7f}b"),
        ("\u{9b}2J", "\\u{9b}2J"),
        ("\u{202e}gpj\u{2066}\u{200b}\u{feff}", "\\u{202e}gpj\\u{2066}\\u{200b}\\u{feff}"),
        ("\u{e0041}\u{ad}", "\\u{e0041}\\u{ad}"),
        ("two\nlines\tand\r", "two\\nlines\\tand\\r"),
        ("µ é ² e\u{301} 字 \\ '\"", "µ é ² e\u{301} 字 \\ '\""),
    ] {
        assert_eq!(escaped(text), want);
        let mut lines = Vec::new();
        let escape = |c: char| c.escape_debug().to_string();
        Escaping { to: &mut lines, escape }.write_all(text.as_bytes()).unwrap();
        let lines = String::from_utf8(lines).unwrap();
        assert_eq!(lines.replace('\n', "\\n"), want);
    }
}

#[test]
fn json_means_the_same_and_hides_nothing() {
    let text = "a\u{1b}\u{7f}\u{9b}\u{202e}\u{e0041}\"\\é\n";
    let mut json = Vec::new();
    serde_json::to_writer_pretty(Escaping::json(&mut json), &[text]).unwrap();
    let json = String::from_utf8(json).unwrap();
    assert!(!json.contains(|c| c != '\n' && is_hidden(c)), "{json:?}");
    assert_eq!(serde_json::from_str::<[String; 1]>(&json).unwrap(), [text]);
}
