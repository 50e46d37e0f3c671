use super::super::error::Miss;
use super::super::file::Large;
use super::super::scan::skip_line;
use super::*;
use std::io::Write;

/// A search from every part to the end of the text would take minutes.
#[test]
fn a_long_text_without_entries_is_searched_once() {
    let text = [&[b' '; 4 << 20][..], b"\n- u1 inv ;\n"].concat();
    let begun = std::time::Instant::now();
    assert_eq!(read_words(16, Source::Held(&text)).unwrap().len(), 2);
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
}

fn read_words(size: usize, source: Source) -> Result<Vec<String>, Fault> {
    let mut all = Vec::new();
    fn parse<'t>(piece: Piece<'t>, part: &mut String) -> Read<'t, ((), usize)> {
        part.clear();
        match piece.text.iter().position(|&b| b == b'!') {
            Some(i) => return Err(Miss::expected(&piece.text[i..], "no `!`")),
            None => part.push_str(std::str::from_utf8(piece.text).unwrap()),
        }
        Ok(((), 0))
    }
    read_in(
        size,
        source,
        (0, ()),
        skip_line,
        |_, ()| (),
        |piece, (), part| parse(piece, part),
        |parts| {
            all.extend(parts.iter().flat_map(|part| part.lines()).map(str::to_owned));
            Ok(())
        },
    )?;
    Ok(all)
}

fn words(size: usize, text: &[u8]) -> Result<Vec<String>, Fault> {
    read_words(size, Source::Held(text))
}

fn file_of(text: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    file
}

#[test]
fn parts_of_any_size_give_the_same_lines() {
    let text: String = (0..500).map(|i| format!("line {i}\n")).collect::<String>() + "end";
    let want: Vec<_> = text.lines().collect();
    for size in [0, 1, 7, 64, 4096, usize::MAX] {
        assert_eq!(words(size, text.as_bytes()).unwrap(), want, "{size}");
    }
    assert!(words(8, b"").unwrap().is_empty());
}

#[cfg(unix)]
#[test]
fn parts_of_a_file_give_the_lines_of_its_text() {
    let long = "x".repeat(100_000);
    let lines = |i| format!("line {i} {}\n", if i % 300 == 7 { &long } else { "" });
    let text: String = (0..1000).map(lines).collect::<String>() + "end";
    let file = file_of(text.as_bytes());
    let large = Large::of_any_length(file.path()).unwrap();
    let want: Vec<_> = text.lines().collect();
    for size in [5, 9, 64, 4096, 300_000, usize::MAX] {
        assert_eq!(read_words(size, Source::File(&large)).unwrap(), want, "{size}");
    }
    let file = file_of((text.clone() + "\n!").as_bytes());
    let large = Large::of_any_length(file.path()).unwrap();
    let fault = read_words(4096, Source::File(&large)).unwrap_err();
    let error = Source::File(&large).error(Path::new("d"), fault);
    assert_eq!(error.to_string(), "d:1002:1: expected no `!`, found `!`");
}

#[test]
fn first_error_of_a_text_is_reported() {
    assert_eq!(words(1, b"a\nb\n!c\nd\n!e\n").unwrap_err().at, 4);
}

#[test]
fn parts_before_an_error_are_taken_first() {
    let text = b"a\nb\n!c\n";
    let mut taken = Vec::new();
    let result = read_in(
        0,
        Source::Held(text),
        (0, ()),
        skip_line,
        |_, ()| (),
        |piece, (), part: &mut u8| match piece.text[0] {
            b'!' => Err(Miss::expected(piece.text, "no `!`")),
            first => {
                *part = first;
                Ok(((), 0))
            }
        },
        |batch| {
            taken.extend_from_slice(batch);
            Ok(())
        },
    );
    assert_eq!((result.unwrap_err().at, &taken[..]), (4, &b"ab"[..]));
}

/// Lines that begin with a digit set the state; a part whose guess is wrong is read again, and
/// reading ends where a part leaves bytes.
#[test]
fn wrong_guesses_are_read_again_and_ends_are_kept() {
    let text = b"a\n1\nb\nb\n2\nc\n.d\ne\n";
    for size in [0, 3, 5, 100] {
        for right in [false, true] {
            let mut all = Vec::new();
            let step = |state: u8, line: &[u8]| {
                if line[0].is_ascii_digit() { line[0] - b'0' } else { state }
            };
            let lines = |text: &[u8]| {
                text.split_inclusive(|&b| b == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>()
            };
            let end = read_in(
                size,
                Source::Held(text),
                (0, 0u8),
                skip_line,
                |text, state| {
                    let next = lines(text).iter().fold(state, |s, line| step(s, line));
                    if right { next } else { 9 }
                },
                |piece, mut state, part: &mut Vec<(u8, u8)>| {
                    part.clear();
                    let mut left = piece.text.len();
                    for line in lines(piece.text) {
                        if line[0] == b'.' {
                            return Ok((state, left));
                        }
                        state = step(state, &line);
                        part.push((state, line[0]));
                        left -= line.len();
                    }
                    Ok((state, 0))
                },
                |parts| {
                    all.extend(parts.concat());
                    Ok(())
                },
            );
            let states = [(0, b'a'), (1, b'1'), (1, b'b'), (1, b'b'), (2, b'2'), (2, b'c')];
            assert_eq!((end.unwrap(), &all[..]), ((12, 2), &states[..]), "{size} {right}");
        }
    }
}

fn message(text: &[u8], at: usize) -> String {
    let fault = Fault::expected(at, "a width");
    Source::Held(text).error(Path::new("d.nodes"), fault).to_string()
}

#[test]
fn errors_are_one_line_with_file_and_column() {
    let text = b"UCLA\n\to1 x\x07y 4\n\to2\n";
    assert_eq!(message(text, 9), "d.nodes:2:5: expected a width, found `x\\u{7}y`");
    assert_eq!(message(text, 18), "d.nodes:3:4: expected a width, found end of line");
    assert_eq!(message(text, 19), "d.nodes:4:1: expected a width, found end of file");
}

#[test]
fn long_words_are_cut_short_in_messages() {
    let long = message(&[b'z'; 5000], 0);
    assert!(long.len() < 120, "{long}");
}
