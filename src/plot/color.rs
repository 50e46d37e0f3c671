//! Perceptual colour scales.
//!
//! The scales come from d3-scale-chromatic. Viridis and magma are by Smith, van der Walt and Firing
//! (matplotlib 2.0). The others are by ColorBrewer (Harrower and Brewer, "ColorBrewer.org", The
//! Cartographic Journal 40, 2003): RdBu with blue for the negative side, PRGn with green for it,
//! YlOrRd without its palest quarter, and the darker half of Reds.

use crate::evaluate::ROUNDING;
use crate::grid::sample::finite_range;
use colorous::Gradient;

/// The kind of values, which determines the values at the ends of the colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scale {
    /// Viridis, from dark to bright: densities. Starts at zero if no value is negative.
    #[default]
    Sequential,
    /// Viridis up to the map's mark, reds above it: densities with a target. Without a mark it
    /// equals [`Scale::Sequential`].
    Target,
    /// Magma, from black to bright: magnitudes of fields. Starts at zero if no value is negative.
    Magnitude,
    /// Grey at zero, and from yellow to dark red for any value above it: amounts above a target.
    Overflow,
    /// Blue, white, red, symmetric about zero: potential and field components.
    Diverging,
}

/// A colour map that replaces the default one of a [`Scale`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Colors {
    /// From dark blue over green to yellow.
    Viridis,
    /// From black over purple to pale yellow.
    Magma,
    /// From white to black, for print without colours.
    Grey,
    /// From blue over white to red, for values of both signs.
    RedBlue,
    /// From green over white to purple, for values of both signs.
    PurpleGreen,
}

/// The distribution of values over a [`Scale`]'s colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Shading {
    /// In proportion, up to the largest value.
    #[default]
    Linear,
    /// In proportion, up to the 99.5 % quantile of the bins that are not zero, if the largest value
    /// is more than twice that. Otherwise a few very large values would leave no shades for all
    /// other bins. For a [`Scale::Overflow`] the end is the 95 % quantile of the bins above zero.
    /// For a [`Scale::Target`] it is the same quantile of the values above the mark, and at most
    /// four times the mark.
    Clipped,
    /// By the logarithm, over four decades below the largest value. A [`Scale::Diverging`] stays
    /// linear.
    Log,
}

/// The colour maps by name.
#[cfg(any(feature = "cli", feature = "python"))]
pub(crate) const COLORS: [(&str, Colors); 5] = [
    ("viridis", Colors::Viridis),
    ("magma", Colors::Magma),
    ("grey", Colors::Grey),
    ("red-blue", Colors::RedBlue),
    ("purple-green", Colors::PurpleGreen),
];

/// The shadings by name.
#[cfg(any(feature = "cli", feature = "python"))]
pub(crate) const SHADINGS: [(&str, Shading); 3] =
    [("linear", Shading::Linear), ("clipped", Shading::Clipped), ("log", Shading::Log)];

/// A colour, red, green, blue.
pub(crate) type Rgb = [u8; 3];

/// The colour of a bin whose value is not a finite number.
pub(super) const NOT_FINITE: Rgb = [0x00, 0xe5, 0xff];
/// The colour of a bin that has no value.
pub(super) const ABSENT: Rgb = [0xc8, 0xcc, 0xd0];
pub(super) const WHITE: Rgb = [0xff; 3];
pub(super) const INK: Rgb = [0x26, 0x26, 0x26];
pub(super) const GREY: Rgb = [0x5c, 0x5c, 0x5c];
pub(super) const GRID: Rgb = [0xe6, 0xe6, 0xe6];
pub(super) const FINE_GRID: Rgb = [0xf3, 0xf3, 0xf3];

/// Colours for curves: Okabe and Ito, "Color Universal Design" (2002), distinguishable with every
/// common colour vision. Their yellow is left out: it is too light for a line on white.
pub(super) const CURVES: [Rgb; 7] = [
    [0x00, 0x72, 0xb2],
    [0xd5, 0x5e, 0x00],
    [0x00, 0x9e, 0x73],
    [0xcc, 0x79, 0xa7],
    [0xe6, 0x9f, 0x00],
    [0x56, 0xb4, 0xe9],
    [0x00, 0x00, 0x00],
];

/// Returns the colour of every series: the colour of the series it is paired with, or otherwise the
/// next of `colors`.
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

/// The colour of bins without overflow in a map of overflow.
const NO_OVERFLOW: Rgb = [0xe4, 0xe6, 0xe8];

/// Shades of a scale, few enough for an image to compress well.
const SHADES: usize = 256;

/// A part of a gradient, from one share of it to another.
#[derive(Clone, Copy)]
struct Stretch(Gradient, f64, f64);

/// Colours above a target.
const REDS: Stretch = Stretch(colorous::REDS, 0.5, 1.0);
/// Number of evenly spaced colours of a gradient's part on a page.
#[cfg(feature = "cli")]
const POINTS: usize = 17;

impl Stretch {
    /// Returns the colour at a share of the stretch.
    fn at(self, share: f64) -> Rgb {
        let Stretch(gradient, from, to) = self;
        gradient.eval_continuous(from + share.clamp(0.0, 1.0) * (to - from)).into_array()
    }

    #[cfg(feature = "cli")]
    fn points(self) -> impl Iterator<Item = Rgb> {
        (0..POINTS).map(move |k| self.at(k as f64 / (POINTS - 1) as f64))
    }
}

impl Scale {
    /// Returns evenly spaced colours, lowest first; for [`Scale::Target`] only up to the mark.
    #[cfg(feature = "cli")]
    pub(crate) fn points(self) -> impl Iterator<Item = Rgb> {
        self.stretch(None).points()
    }

    /// Returns the colours of [`Scale::Target`] above the mark.
    #[cfg(feature = "cli")]
    pub(crate) fn points_above_mark() -> impl Iterator<Item = Rgb> {
        REDS.points()
    }

    fn stretch(self, colors: Option<Colors>) -> Stretch {
        match (self, colors) {
            (Scale::Diverging, Some(Colors::PurpleGreen)) => {
                Stretch(colorous::PURPLE_GREEN, 1.0, 0.0)
            }
            (Scale::Diverging, _) => Stretch(colorous::RED_BLUE, 1.0, 0.0),
            (_, Some(Colors::Viridis)) => Stretch(colorous::VIRIDIS, 0.0, 1.0),
            (_, Some(Colors::Magma)) => Stretch(colorous::MAGMA, 0.0, 1.0),
            (_, Some(Colors::Grey)) => Stretch(colorous::GREYS, 0.0, 1.0),
            // Colour maps for both signs are only for such values.
            (Scale::Sequential | Scale::Target, _) => Stretch(colorous::VIRIDIS, 0.0, 1.0),
            (Scale::Magnitude, _) => Stretch(colorous::MAGMA, 0.0, 1.0),
            (Scale::Overflow, _) => Stretch(colorous::YELLOW_ORANGE_RED, 0.25, 1.0),
        }
    }

    /// Whether its low values are bright, so that marks on it must be dark.
    pub(super) fn is_bright(self, colors: Option<Colors>) -> bool {
        let grey = colors == Some(Colors::Grey);
        matches!(self, Scale::Diverging | Scale::Overflow) || grey
    }
}

/// A scale with its ends fixed to values.
#[derive(Clone, Debug)]
pub(crate) struct Palette {
    pub(crate) lo: f64,
    pub(crate) hi: f64,
    log: bool,
    /// Whether zero has a separate shade, the first.
    zero_apart: bool,
    shades: [Rgb; SHADES],
    /// The colour of NaN.
    pub(super) odd: Rgb,
}

/// Settings besides the values that determine the colours of a map.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    pub(crate) scale: Scale,
    pub(crate) shading: Shading,
    pub(crate) colors: Option<Colors>,
    /// A value that the scale must include if any value reaches it; a target density.
    pub(crate) mark: Option<f64>,
    /// The ends of the scale; by default from the values.
    pub(crate) range: Option<(f64, f64)>,
}

impl Look {
    /// Returns a palette for `values`.
    pub(crate) fn palette(&self, values: &[f64]) -> Palette {
        let given = self.range.filter(|(lo, hi)| lo < hi && lo.is_finite() && hi.is_finite());
        let is_log = self.shading == Shading::Log && self.scale != Scale::Diverging;
        let (lo, hi, log) = match given {
            // Four decades if the low end has no logarithm.
            Some((lo, hi)) if is_log && hi > 0.0 => {
                (if lo > 0.0 { lo } else { hi * LEAST_OF_LOG }, hi, true)
            }
            Some((lo, hi)) => (lo, hi, false),
            None => self.ends(values),
        };
        Palette::new(self, lo, hi, log)
    }

    /// Returns the ends for `values`, and whether colours are logarithmic.
    fn ends(&self, values: &[f64]) -> (f64, f64, bool) {
        let scale = self.scale;
        let (lo, hi) = ends(scale, finite_range(values).unwrap_or((0.0, 1.0)));
        // If any value reaches the mark, so does the scale.
        let with_mark = |end: f64| self.mark.map_or(end, |mark| end.max(1.1 * mark).min(hi));
        match (self.shading, scale, self.mark) {
            (Shading::Clipped, Scale::Target, Some(mark)) if hi > mark => {
                let above = values.iter().map(|v| v - mark).filter(|v| *v > ROUNDING);
                let end = clipped(above, 0.95, hi - mark).map_or(hi, |end| mark + end);
                (lo, with_mark(end.min(MOST_TARGETS * mark).max(lo + f64::MIN_POSITIVE)), false)
            }
            (Shading::Clipped, _, _) => {
                let held = if scale == Scale::Overflow { 0.95 } else { 0.995 };
                let sizes = values.iter().map(|v| v.abs());
                match clipped(sizes, held, lo.abs().max(hi.abs())) {
                    Some(end) if scale == Scale::Diverging => (-end, end, false),
                    Some(end) if end > lo => (lo, with_mark(end), false),
                    _ => (lo, hi, false),
                }
            }
            (Shading::Log, Scale::Diverging, _) => (lo, hi, false),
            (Shading::Log, _, _) if hi > 0.0 => {
                let least = values.iter().copied().filter(|v| *v > 0.0).fold(hi, f64::min);
                (least.max(hi * LEAST_OF_LOG).min(hi / 10.0), hi, true)
            }
            _ => (lo, hi, false),
        }
    }
}

impl Palette {
    fn new(look: &Look, lo: f64, hi: f64, log: bool) -> Palette {
        let scale = look.scale;
        let stretch = scale.stretch(look.colors);
        let share = |k: usize| k as f64 / (SHADES - 1) as f64;
        let plain = || std::array::from_fn(|k| stretch.at(share(k)));
        let empty = Palette { lo, hi, log, zero_apart: false, shades: plain(), odd: NOT_FINITE };
        match (scale, look.mark) {
            (Scale::Overflow, _) => {
                let mut shades = empty.shades;
                shades[0] = if look.colors.is_none() { NO_OVERFLOW } else { shades[0] };
                Palette { zero_apart: true, shades, ..empty }
            }
            (Scale::Target, Some(mark)) if mark > lo && mark < hi => {
                // A shade is above the mark if all of its values are.
                let low_end = |k: usize| k as f64 / SHADES as f64;
                let at = empty.share(mark);
                let darkest = empty.share(hi.max(DARKEST * mark));
                let color = |k: usize| match low_end(k) > at + ROUNDING {
                    true => REDS.at((low_end(k) - at) / (darkest - at)),
                    false => stretch.at(low_end(k) / at),
                };
                Palette { shades: std::array::from_fn(color), ..empty }
            }
            _ => empty,
        }
    }

    /// Returns the same palette, which draws NaN as absent if `absent`.
    pub(crate) fn with_absent(self, absent: bool) -> Palette {
        Palette { odd: if absent { ABSENT } else { NOT_FINITE }, ..self }
    }

    /// Whether shades follow the values' logarithm.
    pub(crate) fn is_log(&self) -> bool {
        self.log
    }

    /// Returns the position of a value between the ends, 0 to 1; outside them it is less or more.
    fn share(&self, value: f64) -> f64 {
        if self.log {
            (value.max(self.lo) / self.lo).ln() / (self.hi / self.lo).ln()
        } else {
            // Halved, because the difference of two finite numbers may be infinite.
            (value / 2.0 - self.lo / 2.0) / (self.hi / 2.0 - self.lo / 2.0)
        }
    }

    /// Returns the shade of `value`, from 0; outside the ends, the shade of the end. `None` if
    /// `value` is not finite.
    pub(crate) fn shade(&self, value: f64) -> Option<u8> {
        // Each shade has an equal share of the range.
        let least = usize::from(self.zero_apart && value > 0.0);
        let shade = ((self.share(value) * SHADES as f64) as usize).max(least);
        value.is_finite().then(|| shade.min(SHADES - 1) as u8)
    }

    /// Returns the colour of `value`; outside the ends, the colour of the end.
    pub(super) fn color(&self, value: f64) -> Rgb {
        self.shade(value).map_or(self.odd, |shade| self.shades[usize::from(shade)])
    }

    /// Returns every shade, lowest first.
    pub(crate) fn shades(&self) -> &[Rgb] {
        &self.shades
    }
}

/// The darkest red is for values of at least this many times the mark, so that a small excess looks
/// small.
const DARKEST: f64 = 1.5;
/// Least ratio of the low end of a logarithmic scale to its high end: four decades.
const LEAST_OF_LOG: f64 = 1e-4;
/// Largest end of a clipped scale with a target, over the target: values below the target keep a
/// quarter of the shades.
const MOST_TARGETS: f64 = 4.0;

/// Returns the end of a clipped scale that includes this share of the sizes above zero, if it is
/// less than half of `largest`.
fn clipped(sizes: impl Iterator<Item = f64>, held: f64, largest: f64) -> Option<f64> {
    let mut sizes: Vec<f64> = sizes.filter(|v| v.is_finite() && *v > 0.0).collect();
    let held = ((held * sizes.len() as f64) as usize).min(sizes.len().checked_sub(1)?);
    let (_, end, _) = sizes.select_nth_unstable_by(held, f64::total_cmp);
    (2.0 * *end < largest).then_some(*end)
}

/// Returns the ends of a scale over values from `lo` to `hi`; never equal.
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

#[cfg(test)]
mod tests;
