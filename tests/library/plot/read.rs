//! Pictures read back: pixels, and what an SVG is made of.

use crate::common::png::Png;
use placefield::plot::{Format, Picture};

const INK: [u8; 3] = [0x26, 0x26, 0x26];

pub(crate) fn png(picture: &Picture) -> Png {
    let bytes = picture.encode(Format::Png).unwrap();
    let image = Png::decode(&bytes);
    assert_eq!((image.width, image.height), picture.size());
    image
}

pub(crate) fn svg(picture: &Picture) -> String {
    String::from_utf8(picture.encode(Format::Svg).unwrap()).unwrap()
}

/// Left, top, right and bottom of the framed area around `inside`, frame excluded.
pub(crate) fn area(image: &Png, inside: (u32, u32)) -> [u32; 4] {
    let ink = |x: u32, y: u32| image.at(x, y) == INK;
    let (x, y) = inside;
    let left = (0..x).rev().find(|&x| ink(x, y)).unwrap() + 1;
    let right = (x..image.width).find(|&x| ink(x, y)).unwrap();
    let top = (0..y).rev().find(|&y| ink(x, y)).unwrap() + 1;
    let bottom = (y..image.height).find(|&y| ink(x, y)).unwrap();
    [left, top, right, bottom]
}

/// The images in an SVG, with their left and top corner in pixels of the PNG.
pub(crate) fn embedded(svg: &str) -> Vec<(u32, u32, Png)> {
    svg.lines()
        .filter(|line| line.starts_with("<image"))
        .map(|line| {
            let data = attribute(line, "href").strip_prefix("data:image/png;base64,").unwrap();
            let image = Png::decode(&unbase64(data));
            let at = |name| attribute(line, name).parse::<u32>().unwrap();
            (at("x"), at("y"), image)
        })
        .collect()
}

fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    let (_, rest) = element.split_once(&format!(" {name}=\"")).unwrap();
    rest.split_once('"').unwrap().0
}

fn unbase64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        b'=' => 0,
        _ => panic!("not base64: {c}"),
    };
    let groups = text.as_bytes().chunks(4);
    groups
        .flat_map(|g| {
            let bits = g.iter().fold(0_u32, |bits, &c| bits << 6 | u32::from(value(c)));
            bits.to_be_bytes()[1..].to_vec()
        })
        .collect()
}

/// Panics unless every element is closed, every attribute quoted and every
/// reserved letter escaped.
pub(crate) fn assert_well_formed(xml: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml;
    while let Some((text, after)) = rest.split_once('<') {
        assert_text(text);
        let (tag, after) = after.split_once('>').expect("a tag that ends");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
            continue;
        }
        let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |t| (t, true));
        let mut parts = tag.split('"');
        let head = parts.next().unwrap();
        let name = head.split_whitespace().next().unwrap();
        let mut before = head.strip_prefix(name).unwrap();
        while let Some(value) = parts.next() {
            let attribute = before.trim().strip_suffix('=').expect("an attribute's name");
            assert!(
                attribute.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
                "{attribute}"
            );
            assert_text(value);
            before = parts.next().expect("a quote that ends");
        }
        assert!(before.trim().is_empty(), "in <{name}>: {before}");
        if !closed {
            open.push(name);
        }
    }
    assert_eq!(rest.trim(), "");
    assert!(open.is_empty(), "left open: {open:?}");
}

fn assert_text(text: &str) {
    for (at, _) in text.match_indices('&') {
        let known = ["&lt;", "&gt;", "&amp;", "&quot;", "&apos;"];
        assert!(known.iter().any(|k| text[at..].starts_with(k)), "{text}");
    }
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
}
