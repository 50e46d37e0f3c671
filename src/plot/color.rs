//! Perceptual colour scales.
//!
//! Control points, joined by straight lines in sRGB. Viridis and magma are
//! sampled from the tables of Smith, van der Walt and Firing (matplotlib 2.0,
//! CC0) and stay within 6/255 of them; red-blue is ColorBrewer's 11-class RdBu
//! (Harrower and Brewer, "ColorBrewer.org", The Cartographic Journal 40, 2003)
//! with blue for the negative side.

/// How values become colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scale {
    /// Viridis, from dark to bright: densities. Starts at zero where no value is negative.
    #[default]
    Sequential,
    /// Magma, from black to bright: magnitudes of fields. Starts at zero where no value is negative.
    Magnitude,
    /// Blue, white, red, symmetric about zero: potential and field components.
    Diverging,
}

/// A colour, red, green, blue.
pub(super) type Rgb = [u8; 3];

/// What a bin looks like whose value is not a finite number.
pub(super) const NOT_FINITE: Rgb = [0x00, 0xe5, 0xff];
pub(super) const WHITE: Rgb = [0xff; 3];
pub(super) const INK: Rgb = [0x26, 0x26, 0x26];
pub(super) const GREY: Rgb = [0x5c, 0x5c, 0x5c];
pub(super) const GRID: Rgb = [0xe6, 0xe6, 0xe6];

/// Colours for curves: Okabe and Ito, "Color Universal Design" (2002), told
/// apart with every common colour vision; their yellow is left out, being too
/// light for a line on white.
pub(super) const CURVES: [Rgb; 7] = [
    [0x00, 0x72, 0xb2],
    [0xd5, 0x5e, 0x00],
    [0x00, 0x9e, 0x73],
    [0xcc, 0x79, 0xa7],
    [0xe6, 0x9f, 0x00],
    [0x56, 0xb4, 0xe9],
    [0x00, 0x00, 0x00],
];

const VIRIDIS: [u32; 17] = [
    0x440154, 0x48186a, 0x472d7b, 0x424086, 0x3b528b, 0x33638d, 0x2c728e, 0x26818e, 0x21908c,
    0x1f9f88, 0x28ae80, 0x3ebc74, 0x5dc963, 0x82d34c, 0xabdc32, 0xd5e21a, 0xfde725,
];
const MAGMA: [u32; 17] = [
    0x000004, 0x0a0822, 0x1d1146, 0x36106a, 0x50127c, 0x691c81, 0x822681, 0x9c2e7f, 0xb63779,
    0xcf4170, 0xe65163, 0xf5695c, 0xfb8761, 0xfea571, 0xfec387, 0xfde0a2, 0xfcfdbf,
];
const RED_BLUE: [u32; 11] = [
    0x053061, 0x2166ac, 0x4393c3, 0x92c5de, 0xd1e5f0, 0xf7f7f7, 0xfddbc7, 0xf4a582, 0xd6604d,
    0xb2182b, 0x67001f,
];

/// Shades a scale is divided into; few enough for an image to compress well.
const SHADES: usize = 256;

/// A scale with its ends fixed to values.
pub(super) struct Palette {
    pub(super) lo: f64,
    pub(super) hi: f64,
    shades: [Rgb; SHADES],
}

impl Palette {
    /// A palette for values that fill `range`; without one, for none.
    pub(super) fn over(scale: Scale, range: Option<(f64, f64)>) -> Palette {
        let (lo, hi) = ends(scale, range.unwrap_or((0.0, 1.0)));
        Palette::between(scale, lo, hi)
    }

    /// A palette with its ends at `lo < hi`.
    pub(super) fn between(scale: Scale, lo: f64, hi: f64) -> Palette {
        let points: &[u32] = match scale {
            Scale::Sequential => &VIRIDIS,
            Scale::Magnitude => &MAGMA,
            Scale::Diverging => &RED_BLUE,
        };
        let shades = std::array::from_fn(|k| interpolate(points, k as f64 / (SHADES - 1) as f64));
        Palette { lo, hi, shades }
    }

    /// The colour of `value`; beyond the ends, the end's colour.
    pub(super) fn color(&self, value: f64) -> Rgb {
        if !value.is_finite() {
            return NOT_FINITE;
        }
        // Halved, for the difference of two finite numbers need not be finite.
        let at = (value / 2.0 - self.lo / 2.0) / (self.hi / 2.0 - self.lo / 2.0);
        // A shade per equal share of the range.
        self.shades[((at * SHADES as f64) as usize).min(SHADES - 1)]
    }

    /// Every shade, lowest first.
    pub(super) fn shades(&self) -> &[Rgb] {
        &self.shades
    }
}

/// The ends of a scale over values from `lo` to `hi`; never equal.
fn ends(scale: Scale, (lo, hi): (f64, f64)) -> (f64, f64) {
    match scale {
        Scale::Diverging => {
            let largest = lo.abs().max(hi.abs());
            if largest > 0.0 { (-largest, largest) } else { (-1.0, 1.0) }
        }
        _ if lo >= 0.0 => (0.0, if hi > 0.0 { hi } else { 1.0 }),
        _ if lo < hi => (lo, hi),
        _ => (2.0 * lo, 0.0),
    }
}

fn interpolate(points: &[u32], at: f64) -> Rgb {
    let x = at * (points.len() - 1) as f64;
    let k = (x as usize).min(points.len() - 2);
    let channel = |p: u32, shift: u32| f64::from(p >> shift & 0xff);
    [16, 8, 0].map(|shift| {
        let (a, b) = (channel(points[k], shift), channel(points[k + 1], shift));
        (a + (b - a) * (x - k as f64)).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_begin_and_end_at_their_published_colours() {
        let p = Palette::over(Scale::Sequential, Some((0.0, 2.0)));
        assert_eq!(p.color(0.0), [0x44, 0x01, 0x54]);
        assert_eq!(p.color(2.0), [0xfd, 0xe7, 0x25]);
        let p = Palette::over(Scale::Diverging, Some((-1.0, 4.0)));
        assert_eq!((p.lo, p.hi), (-4.0, 4.0));
        assert_eq!(p.color(-4.0), [0x05, 0x30, 0x61]);
        assert_eq!(p.color(4.0), [0x67, 0x00, 0x1f]);
        assert!(p.color(0.0).iter().all(|&c| c > 0xf0), "zero is white");
    }

    #[test]
    fn brightness_of_a_sequential_scale_only_rises() {
        let light = |c: &Rgb| {
            let linear = |v: u8| (f64::from(v) / 255.0).powf(2.2);
            0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2])
        };
        for scale in [Scale::Sequential, Scale::Magnitude] {
            let p = Palette::over(scale, Some((0.0, 1.0)));
            assert!(p.shades().windows(2).all(|w| light(&w[0]) <= light(&w[1]) + 1e-3));
        }
    }

    #[test]
    fn ends_are_never_equal_and_never_reversed() {
        let extremes = [0.0, 1.0, -1.0, f64::MAX, -f64::MAX, f64::MIN_POSITIVE];
        for scale in [Scale::Sequential, Scale::Magnitude, Scale::Diverging] {
            for value in extremes {
                let p = Palette::over(scale, Some((value, value)));
                assert!(p.lo < p.hi, "{scale:?} at {value}: {} {}", p.lo, p.hi);
                p.color(value);
            }
        }
    }
}
