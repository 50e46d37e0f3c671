use super::*;

fn unpack(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let compression = of(bytes).expect("compressed");
    let unpacked = compression.unpack(bytes).map_err(|e| e.to_string())?;
    Ok(unpacked.text.clone())
}

#[test]
fn other_compressions_are_named() {
    let error = unpack(&[0x28, 0xb5, 0x2f, 0xfd]).unwrap_err();
    assert!(error.starts_with("compressed by zstd: expected plain text"), "{error}");
    assert!(of(b"UCLA").is_none() && of(b"").is_none());
    assert_eq!(ALL.iter().map(|c| c.magic.len()).max(), Some(LONGEST_MAGIC));
}

#[cfg(any(feature = "bzip2", feature = "gzip", feature = "xz"))]
#[test]
fn long_blanks_and_comments_are_not_held() {
    let most = 2 * MOST_IDLE;
    for (idle, kept) in [
        (b" ".repeat(most), true),
        (b" \t\r\n".repeat(most / 4), true),
        ([b"\n # a".to_vec(), b" word".repeat(most / 5), b"\n".to_vec()].concat(), true),
        ([b"# comment\n\n".repeat(most / 11), b"#".to_vec()].concat(), true),
        (b"word\n# comment\n".repeat(most / 15), false),
        (b"word # comment".repeat(most / 14), false),
    ] {
        let text = [b"first", &idle[..], b"last\nend"].concat();
        let mut unpacked = Unpacked::from(Vec::new());
        text.chunks(1000).for_each(|piece| unpacked.append(piece).unwrap());
        let held = &unpacked.text;
        assert!(held.starts_with(&text[..1000]) && held.ends_with(b"last\nend"));
        assert_eq!(held.len() < most * 3 / 4, kept, "{} of {}", held.len(), text.len());
        let words = |text: &[u8]| -> Vec<u8> {
            let lines = text.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
            let lines = lines.filter(|line| !line.starts_with(b"#"));
            lines.flatten().copied().filter(|b| !b.is_ascii_whitespace()).collect()
        };
        assert!(words(held) == words(&text), "what is no comment stays");
    }
}

/// `packed` holds `text`, and no part of it is taken for the whole.
#[cfg(any(feature = "bzip2", feature = "gzip", feature = "xz"))]
fn whole_or_not_at_all(name: &str, packed: &[u8], text: &[u8]) {
    assert_eq!(unpack(packed).unwrap(), text);
    // Files that were packed one after the other, as `cat a.gz b.gz` gives.
    assert_eq!(unpack(&[packed, packed].concat()).unwrap(), [text, text].concat());
    for cut in [packed.len() - 1, packed.len() / 2, 13, 7] {
        let error = unpack(&packed[..cut]).unwrap_err();
        assert!(error.starts_with(&format!("damaged {name} data: ")), "{error}");
    }
    for at in [packed.len() / 3, packed.len() / 2, packed.len() - 9] {
        let mut wrong = packed.to_vec();
        wrong[at] ^= 0xff;
        assert!(unpack(&wrong).is_err(), "byte {at} is wrong");
    }
    let error = unpack(&[packed, b"and more"].concat()).unwrap_err();
    assert!(error.starts_with(&format!("damaged {name} data: ")), "{error}");
}

#[cfg(feature = "gzip")]
#[test]
fn gzip_is_read_whole_or_not_at_all() {
    use std::io::Write;
    let text: Vec<u8> =
        (0..100_000u32).flat_map(|i| format!("o{i} {}\n", i % 7).into_bytes()).collect();
    let level = flate2::Compression::default();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
    encoder.write_all(&text).unwrap();
    let packed = encoder.finish().unwrap();
    whole_or_not_at_all("gzip", &packed, &text);
    assert_eq!(unpack(&[&packed[..], &[0; 500]].concat()).unwrap(), text);
    assert!(unpack(&[&packed[..], &[0; 3], &packed].concat()).is_err(), "zeros end a file");
}

#[cfg(feature = "bzip2")]
#[test]
fn bzip2_is_read_whole_or_not_at_all() {
    use std::io::Write;
    let text: Vec<u8> =
        (0..100_000u32).flat_map(|i| format!("o{i} {}\n", i % 7).into_bytes()).collect();
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    encoder.write_all(&text).unwrap();
    whole_or_not_at_all("bzip2", &encoder.finish().unwrap(), &text);
}

#[cfg(feature = "xz")]
#[test]
fn xz_is_read_whole_or_not_at_all() {
    let text: Vec<u8> = (0..60u32).flat_map(|i| format!("o{i} {}\n", i % 7).into_bytes()).collect();
    let packed = b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4F\x02\0!\x01\x1c\0\0\0\x10\xcfX\xcc\xe0\
        \x01]\0\x95]\x007\x8c\0\
        \x031`\xcd\x0eg\x0e\xf1\xe7\xc7\x88\xaf\x9cC\xe2m\x15)\x02F?\xdc\x8f\x9f4W\x06\xbe\x08J\
        \x94\xc9\xa0\x12g\x9fF\x89\xd7\x17\x03\x18\xaa\x19\x85np\x1dH\xd2x=\xc1JF*\x1b\x16$\x16\
        \xb5K\xe2w\xf2cW\x12\xd8\x0b\xe0\x0bk\x99a\x86\x97\xa8\xa0G\xca\x19\xb5\xff\x9f\xadtP\
        \xcc\xe1\x1a\xd5tF\xee\xd7\xf9\xa9\xf6)\xf7\xec\xc3\xbb\xdc\x082\x0d7c\xf1\xf3S\xe1\x9d\
        \x8bM\xc9\xe1]Q\xc5\x13%\xc2\xafR\xb5q\x002\xac;,\x8f\x1e\xb7\xe2S\x04@\xd4\x14\xf2\xf9\
        \x7f\0\0\0\0\xf0\x07\x8c\xbfSb\xf1\xfb\0\x01\xb1\x01\xde\x02\0\0y'\xac\xea\xb1\xc4g\xfb\
        \x02\0\0\0\0\x04YZ";
    whole_or_not_at_all("xz", packed, &text);
    let padded = [&packed[..], &[0; 8], packed, &[0; 4]].concat();
    assert_eq!(unpack(&padded).unwrap(), [&text[..], &text].concat());
    assert!(unpack(&[&packed[..], &[0; 3]].concat()).is_err(), "padding is of four");
}
