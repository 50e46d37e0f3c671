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

/// How values spread over a [`Scale`]'s colours where no range is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Shading {
    /// In proportion, up to the largest value.
    #[default]
    Linear,
    /// In proportion, up to the value that 99.5 % of the bins that are not zero stay below, where
    /// the largest is more than twice that: a few bins far above all others leave no shades for them.
    Clipped,
    /// By the logarithm, over four decades below the largest value. A [`Scale::Diverging`] stays linear.
    Log,
}

/// A colour, red, green, blue.
pub(crate) type Rgb = [u8; 3];

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

/// The colour of every series: that of the one it is paired with, else the next of `colors`.
pub(super) fn paired(
    pairs: impl Iterator<Item = Option<usize>>,
    mut colors: impl Iterator<Item = Rgb>,
) -> Vec<Rgb> {
    let mut given: Vec<Rgb> = Vec::new();
    for pair in pairs {
        let own = || colors.next().unwrap_or(INK);
        given.push(pair.and_then(|k| given.get(k).copied()).unwrap_or_else(own));
    }
    given
}

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

impl Scale {
    /// Its control points, evenly spaced, lowest first.
    #[cfg(feature = "cli")]
    pub(crate) fn points(self) -> impl Iterator<Item = Rgb> {
        self.table().iter().map(|p| [16, 8, 0].map(|shift| (p >> shift & 0xff) as u8))
    }

    fn table(self) -> &'static [u32] {
        match self {
            Scale::Sequential => &VIRIDIS,
            Scale::Magnitude => &MAGMA,
            Scale::Diverging => &RED_BLUE,
        }
    }
}

/// A scale with its ends fixed to values.
#[derive(Clone, Debug)]
pub(crate) struct Palette {
    pub(crate) lo: f64,
    pub(crate) hi: f64,
    log: bool,
    shades: [Rgb; SHADES],
}

impl Palette {
    /// A palette with its ends at `lo < hi`.
    pub(crate) fn between(scale: Scale, lo: f64, hi: f64) -> Palette {
        let points = scale.table();
        let shades = std::array::from_fn(|k| interpolate(points, k as f64 / (SHADES - 1) as f64));
        Palette { lo, hi, log: false, shades }
    }

    /// A palette for `values`, and for the value `mark`, which the scale shall hold where any
    /// value reaches it.
    pub(crate) fn shaded(
        scale: Scale,
        shading: Shading,
        values: &[f64],
        mark: Option<f64>,
    ) -> Palette {
        let (lo, hi) = ends(scale, range(values).unwrap_or((0.0, 1.0)));
        let with_mark = |end: f64| mark.map_or(end, |mark| end.max(1.1 * mark).min(hi));
        match (shading, scale) {
            (Shading::Clipped, _) => match clipped(values, lo.abs().max(hi.abs())) {
                Some(end) if scale == Scale::Diverging => Palette::between(scale, -end, end),
                Some(end) if end > lo => Palette::between(scale, lo, with_mark(end)),
                _ => Palette::between(scale, lo, hi),
            },
            (Shading::Log, Scale::Sequential | Scale::Magnitude) if hi > 0.0 => {
                let least = values.iter().copied().filter(|v| *v > 0.0).fold(hi, f64::min);
                let lo = least.max(hi * 10f64.powi(-DECADES)).min(hi / 10.0);
                Palette { log: true, ..Palette::between(scale, lo, hi) }
            }
            _ => Palette::between(scale, lo, hi),
        }
    }

    /// Whether shades follow the values' logarithm.
    pub(crate) fn is_log(&self) -> bool {
        self.log
    }

    /// The shade of `value`, from 0; beyond the ends, the end's. None for what is not finite.
    pub(crate) fn shade(&self, value: f64) -> Option<u8> {
        let at = if self.log {
            (value.max(self.lo) / self.lo).ln() / (self.hi / self.lo).ln()
        } else {
            // Halved, for the difference of two finite numbers need not be finite.
            (value / 2.0 - self.lo / 2.0) / (self.hi / 2.0 - self.lo / 2.0)
        };
        // A shade per equal share of the range.
        value.is_finite().then(|| ((at * SHADES as f64) as usize).min(SHADES - 1) as u8)
    }

    /// The colour of `value`; beyond the ends, the end's colour.
    pub(super) fn color(&self, value: f64) -> Rgb {
        self.shade(value).map_or(NOT_FINITE, |shade| self.shades[usize::from(shade)])
    }

    /// Every shade, lowest first.
    pub(crate) fn shades(&self) -> &[Rgb] {
        &self.shades
    }
}

/// Decades of a logarithmic scale.
const DECADES: i32 = 4;
/// Share of the bins with a value that a clipped scale holds.
const HELD: f64 = 0.995;

/// Smallest and largest finite value; `None` where there is none.
fn range(values: &[f64]) -> Option<(f64, f64)> {
    let finite = values.iter().copied().filter(|v| v.is_finite());
    finite.fold(None, |range, v| {
        let (lo, hi) = range.unwrap_or((v, v));
        Some((v.min(lo), v.max(hi)))
    })
}

/// Where a clipped scale ends, by magnitude, when that is less than half of `largest`.
fn clipped(values: &[f64], largest: f64) -> Option<f64> {
    let sizes = values.iter().map(|v| v.abs()).filter(|v| v.is_finite() && *v > 0.0);
    let mut sizes: Vec<f64> = sizes.collect();
    let held = ((HELD * sizes.len() as f64) as usize).min(sizes.len().checked_sub(1)?);
    let (_, end, _) = sizes.select_nth_unstable_by(held, f64::total_cmp);
    (2.0 * *end < largest).then_some(*end)
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

    fn over(scale: Scale, values: &[f64]) -> Palette {
        Palette::shaded(scale, Shading::Linear, values, None)
    }

    #[test]
    fn a_clipped_scale_leaves_out_a_few_bins_and_no_more() {
        let mut values = vec![1.0; 1000];
        values[7] = 9.0;
        values[3] = 0.5;
        let ends = |values: &[f64], mark| {
            let p = Palette::shaded(Scale::Sequential, Shading::Clipped, values, mark);
            (p.lo, p.hi)
        };
        assert_eq!(ends(&values, None), (0.0, 1.0));
        assert_eq!(ends(&values, Some(1.0)), (0.0, 1.1));
        values[7] = 1.9;
        assert_eq!(ends(&values, None), (0.0, 1.9), "not far above");
        values[..20].fill(9.0);
        assert_eq!(ends(&values, None), (0.0, 9.0), "not a few");
        values.fill(0.0);
        values[5] = 1e4;
        assert_eq!(ends(&values, None), (0.0, 1e4), "one bin holds all");
        values[..300].fill(-2.0);
        let p = Palette::shaded(Scale::Diverging, Shading::Clipped, &values, None);
        assert_eq!((p.lo, p.hi), (-2.0, 2.0));
    }

    #[test]
    fn a_logarithmic_scale_gives_every_decade_its_share() {
        let p = Palette::shaded(Scale::Sequential, Shading::Log, &[0.0, 1e-9, 1e4], None);
        assert_eq!((p.lo, p.hi, p.is_log()), (1.0, 1e4, true));
        assert_eq!(p.shade(0.0), Some(0));
        assert_eq!(p.shade(100.5), Some(128));
        assert_eq!((p.shade(1e9), p.shade(f64::NAN)), (Some(255), None));
        let p = Palette::shaded(Scale::Diverging, Shading::Log, &[-3.0, 1.0], None);
        assert_eq!((p.lo, p.hi, p.is_log()), (-3.0, 3.0, false));
    }

    #[test]
    fn scales_begin_and_end_at_their_published_colours() {
        let p = over(Scale::Sequential, &[0.0, 2.0]);
        assert_eq!(p.color(0.0), [0x44, 0x01, 0x54]);
        assert_eq!(p.color(2.0), [0xfd, 0xe7, 0x25]);
        let p = over(Scale::Diverging, &[-1.0, 4.0]);
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
            let p = over(scale, &[0.0, 1.0]);
            assert!(p.shades().windows(2).all(|w| light(&w[0]) <= light(&w[1]) + 1e-3));
        }
    }

    #[test]
    fn ends_are_never_equal_and_never_reversed() {
        let extremes = [0.0, 1.0, -1.0, f64::MAX, -f64::MAX, f64::MIN_POSITIVE];
        for scale in [Scale::Sequential, Scale::Magnitude, Scale::Diverging] {
            for value in extremes {
                let p = over(scale, &[value]);
                assert!(p.lo < p.hi, "{scale:?} at {value}: {} {}", p.lo, p.hi);
                p.color(value);
            }
        }
    }
}
