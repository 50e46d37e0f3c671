//! Numbers in the format of a page: bytes that compress well, as zlib in base64.
//!
//! `page.js` decodes each of these.

use crate::grid::Map;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use std::io::Write;

/// Returns any bytes in this format.
pub(super) fn bytes(bytes: &[u8]) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    encoder.write_all(bytes).expect("memory takes bytes");
    STANDARD.encode(encoder.finish().expect("memory takes bytes"))
}

/// Returns the numbers in `f32`, their bytes sorted by significance, the lowest first.
pub(super) fn floats(values: impl ExactSizeIterator<Item = f64> + Clone) -> String {
    let plane = |b: usize| values.clone().map(move |v| (v as f32).to_le_bytes()[b]);
    bytes(&(0..4).flat_map(plane).collect::<Vec<u8>>())
}

/// Returns an image file as the URL of a picture.
pub(super) fn image(kind: &str, file: &[u8]) -> String {
    format!("data:image/{kind};base64,{}", STANDARD.encode(file))
}

/// A map in a number of levels between its extremes: `value = lo + level · (hi − lo) / levels`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Levels {
    lo: f64,
    hi: f64,
    /// One less than their number.
    levels: u16,
    /// Each level less the prediction from its neighbours, in 16 bits: all low bytes, then all high
    /// ones.
    data: String,
}

/// The level of a value that is not finite.
const NOT_FINITE: u16 = u16::MAX;

impl Levels {
    /// `levels` is below [`NOT_FINITE`].
    pub(super) fn of(map: &Map<f64>, levels: u16) -> Levels {
        let finite = map.as_slice().iter().copied().filter(|v| v.is_finite());
        let (lo, hi) =
            finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (v.min(l), v.max(h)));
        let (lo, hi) = if lo <= hi { (lo, hi) } else { (0.0, 0.0) };
        let step = if hi > lo { (hi - lo) / f64::from(levels) } else { 1.0 };
        let level = |v: &f64| match v.is_finite() {
            true => ((v - lo) / step).round() as u16,
            false => NOT_FINITE,
        };
        let values: Vec<u16> = map.as_slice().iter().map(level).collect();
        let ny = map.ny();
        let mut planes = vec![0; 2 * values.len()];
        for (k, &value) in values.iter().enumerate() {
            let (i, j) = (k / ny, k % ny);
            let left = if i > 0 { values[k - ny] } else { 0 };
            let below = if j > 0 { values[k - 1] } else { 0 };
            let corner = if i > 0 && j > 0 { values[k - ny - 1] } else { 0 };
            let foretold = left.wrapping_add(below).wrapping_sub(corner);
            let [low, high] = value.wrapping_sub(foretold).to_le_bytes();
            (planes[k], planes[values.len() + k]) = (low, high);
        }
        Levels { lo, hi, levels, data: bytes(&planes) }
    }
}

#[cfg(test)]
mod tests;
