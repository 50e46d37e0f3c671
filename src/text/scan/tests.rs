use super::super::error::Reason;
use super::*;

fn miss<'a, T>(parsed: Parsed<'a, T>) -> (&'a [u8], String) {
    let Err(error) = parsed else { panic!("it was read") };
    match Miss::from(error) {
        Miss { at, reason: Reason::Expected(what) } => (at, what.into()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn words_stop_at_blanks_and_tokens_at_signs() {
    assert_eq!(word::<Lines>("")(b"\t a:b|c\r\n").unwrap(), (&b"\r\n"[..], &b"a:b|c"[..]));
    assert_eq!(Lines::token("")(b" N:x").unwrap(), (&b":x"[..], &b"N"[..]));
    let missing = miss(word::<Lines>("a name")(b"  \n next"));
    assert_eq!(missing, (&b"\n next"[..], "a name".into()));
    assert_eq!(word::<Def>("")(b" \n# c\n a;b ").unwrap(), (&b" "[..], &b"a;b"[..]));
    let mut rest = &b"a;b ;;c"[..];
    let words: [&[u8]; 6] = std::array::from_fn(|_| {
        let (behind, found) = word::<Lef>("")(rest).unwrap();
        rest = behind;
        found
    });
    assert_eq!(words, [&b"a"[..], b";", b"b", b";", b";", b"c"]);
}

#[test]
fn words_of_any_length_end_at_any_of_their_ends() {
    for length in 0..40 {
        for other in [b'x', b'!', 1, 0x1f, 0x7f, 0x80, 0xff, 0xa0] {
            let mut text = vec![b'a'; length];
            text.iter_mut().step_by(3).for_each(|b| *b = other);
            assert_eq!(word_length(&text), length);
            for end in [b' ', b'\t', b'\r', 0x0b, 0x0c, b'\n'] {
                let text = [&text[..], &[end, b'z', end], b"and some more"].concat();
                assert_eq!(word_length(&text), length, "{text:?}");
            }
        }
    }
}

#[test]
fn names_are_text() {
    assert_eq!(Lines::name("")(b"|a[0].b 1").unwrap(), (&b" 1"[..], "|a[0].b"));
    for length in 1..40 {
        for at in 0..length {
            for (byte, fits) in [(b'!', true), (b'~', true), (0, false), (0x1f, false)] {
                let mut text = vec![b'a'; length];
                text[at] = byte;
                assert_eq!(as_name(&text).is_some(), fits, "{text:?}");
                text[at] = 0x7f;
                assert_eq!(as_name(&text), None);
                text[at] = 0xff;
                assert_eq!(as_name(&text), None);
            }
        }
    }
    assert_eq!(as_name("aé".as_bytes()), Some("aé"));
    assert_eq!((as_name(b""), as_name(&[b'x'; MAX_NAME + 1])), (None, None));
    assert!(Lines::name("")(b"; x").is_ok() && Def::name("")(b"; x").is_err());
}

#[test]
fn numbers_are_decimal_or_scientific_and_finite() {
    let cases = [("12", 12.0), ("-7.33333", -7.33333), ("1.428e+06", 1.428e6), ("+.5", 0.5)];
    for (text, value) in cases {
        assert_eq!(Lines::number("")(text.as_bytes()).unwrap().1, value, "{text}");
        assert_eq!(Def::number("")(text.as_bytes()).unwrap().1, value, "{text}");
    }
    for bad in ["nan", "inf", "-inf", "1e999", "0x10", "1,5", "12a", "", "--1", "1e"] {
        assert_eq!(miss(Lines::number("a width")(bad.as_bytes())).1, "a width", "{bad}");
        assert!(Def::number("")(bad.as_bytes()).is_err(), "{bad}");
    }
    assert_eq!(Lines::number("")(b"0:").unwrap().0, b":");
    assert_eq!(Lef::number("")(b"0.25;").unwrap(), (&b";"[..], 0.25));
    assert!(Def::number("")(b"0; ").is_err() && Def::number("")(b"1e101").is_err());
}

#[test]
fn decimals_have_the_bits_of_f64_parse() {
    let mut state = 1u64;
    for round in 0..200_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round);
        let digits = (state >> 11).to_string();
        let mut text = digits[..1 + (state >> 5) as usize % digits.len().min(15)].to_owned();
        text.insert((state >> 17) as usize % (text.len() + 1), '.');
        text.insert_str(0, if state & 1 == 0 { "-" } else { "" });
        let want = text.parse::<f64>().unwrap();
        let (rest, got) = Lines::number("")(text.as_bytes()).unwrap();
        assert_eq!((got.to_bits(), rest.len()), (want.to_bits(), 0), "{text}");
        let (short, padded) = (text.trim_start_matches('-').len() <= 8, text + "\t0 : N\nabc");
        let got = short_decimal::<Lines>(padded.as_bytes());
        let got = got.map(|(rest, v)| (rest, v.to_bits()));
        let want = (&b"\t0 : N\nabc"[..], want.to_bits());
        assert_eq!(got, short.then_some(want), "{padded}");
    }
    for other in ["", "-", ".", "-.", "1e3", "1.2.3", "+1", "1234567890123456", "0x1"] {
        let padded = format!("{other} .......");
        assert_eq!(short_decimal::<Lines>(padded.as_bytes()), None, "{other}");
    }
    let ends = |&b: &u8| !Lines::ends(b) && b != b'.' && !b.is_ascii_digit();
    for byte in (0..=u8::MAX).filter(ends) {
        for at in 0..7 {
            let mut text = *b"12.3456 ....";
            text[at] = byte;
            let read = short_decimal::<Lines>(&text).is_some();
            assert_eq!(read, at == 0 && byte == b'-', "{text:?}");
        }
    }
    for zero in [&b"-0"[..], b"-0 behind it"] {
        assert!(Lines::number("")(zero).unwrap().1.is_sign_negative());
    }
    for text in [&b"12: N"[..], b"12: N and more"] {
        assert_eq!(Lines::number("")(text).unwrap(), (&text[2..], 12.0));
    }
}

#[test]
fn counts_are_whole() {
    assert_eq!(Lines::count("")(b"1000000000000 ").unwrap().1, 1_000_000_000_000);
    assert_eq!(Lines::count("")(b"60.00:").unwrap(), (&b":"[..], 60));
    for bad in ["-1", "1.5", "1e3", "99999999999999999999", "x", ".0", "1.0.0", ""] {
        assert!(Lines::count("")(bad.as_bytes()).is_err(), "{bad}");
    }
}

#[test]
fn keywords_are_whole_words_in_any_case() {
    let keyword = |key, text| Lines::behind_keyword(text, key);
    assert_eq!(keyword("NumRows", b" Numrows : 8"), Some(&b" : 8"[..]));
    assert_eq!(keyword("NumRows", b"NUMROWS:8"), Some(&b":8"[..]));
    assert_eq!(keyword("NumRow", b"NumRows : 8"), None);
}

#[test]
fn all_orientations_are_read() {
    for o in Orientation::ALL {
        assert_eq!(orientation(o.name().as_bytes()), Some(o));
        assert_eq!(orientation(o.name().to_lowercase().as_bytes()), Some(o));
    }
    assert_eq!(["R90", "MXR90", "mx"].map(|name| orientation(name.as_bytes())), {
        use Orientation::*;
        [Some(W), Some(FW), Some(FS)]
    });
    assert!(["", "X", "FNN", "MXR900", "R"].iter().all(|o| orientation(o.as_bytes()).is_none()));
}

#[test]
fn lines_end_in_any_of_the_usual_ways() {
    assert_eq!(end_of_line(b" \r\nx").unwrap(), (&b"x"[..], &b""[..]));
    assert_eq!(end_of_line(b" # o1\nx").unwrap(), (&b"x"[..], &b""[..]));
    assert_eq!(end_of_line(b" R90 Y\nx").unwrap(), (&b"x"[..], &b"R90 Y"[..]));
    assert_eq!(end_of_line(b"").unwrap(), (&b""[..], &b""[..]));
    assert_eq!(next_line(b"\r\n # c\n\n#d\n\to1 2"), b"o1 2");
    assert_eq!(next_line(b"\n# c"), b"");
}
