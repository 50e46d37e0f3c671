//! Axes: round ticks and short numbers.

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// A range of values along one axis, with its ticks.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    lo: f64,
    hi: f64,
    log: bool,
    /// Values of the ticks and their texts; finer ticks of a logarithmic axis have no text.
    pub(crate) ticks: Vec<(f64, String)>,
    /// Power of ten that the written numbers leave out.
    exponent: i32,
    /// Extra room that upright names below a chart take, if they are upright.
    pub(super) upright: Option<f64>,
}

impl Axis {
    /// Makes an axis from `lo` to `hi`, with at most `most` round ticks (three at least).
    pub(crate) fn linear(lo: f64, hi: f64, most: usize) -> Axis {
        let (lo, hi) = widen(lo, hi);
        Axis::with_exponent(lo, hi, most, exponent_of(lo.abs().max(hi.abs())))
    }

    /// Returns two axes that leave the same power of ten out of their numbers, as is best for a
    /// map, unless one of them is far longer.
    pub(crate) fn pair(x: (f64, f64), y: (f64, f64), most: [usize; 2]) -> [Axis; 2] {
        let ends = [x, y].map(|(lo, hi)| widen(lo, hi));
        let mut exponents = ends.map(|(lo, hi)| exponent_of(lo.abs().max(hi.abs())));
        if exponents[0].abs_diff(exponents[1]) <= 3 {
            exponents = [exponents[0].max(exponents[1]); 2];
        }
        [0, 1].map(|k| Axis::with_exponent(ends[k].0, ends[k].1, most[k], exponents[k]))
    }

    fn with_exponent(lo: f64, hi: f64, most: usize, exponent: i32) -> Axis {
        let mut step = round_step((hi / 2.0 - lo / 2.0) / (most.max(3) - 1) as f64 * 2.0);
        if (hi / step).floor() - (lo / step).ceil() < 1.0 {
            step = round_step(0.39 * step); // one number alone gives no scale
        }
        let unit = 10_f64.powi(exponent);
        let decimals = (-(step / unit).log10().floor()).clamp(0.0, 12.0) as usize;
        let slack = step * 1e-6;
        let first = ((lo - slack) / step).ceil();
        let last = ((hi + slack) / step).floor();
        let count = (last - first).clamp(0.0, 100.0) as usize;
        let ticks = (0..=count).map(|k| (first + k as f64) * step);
        let ticks = ticks.map(|v| (v, number(v / unit, decimals))).collect();
        Axis { lo, hi, log: false, ticks, exponent, upright: None }
    }

    /// Makes an axis from `lo` to `hi`, both above zero, with ticks at powers of ten.
    pub(crate) fn logarithmic(lo: f64, hi: f64, most: usize) -> Axis {
        let first = lo.log10().floor() as i32;
        let last = (hi.log10().ceil() as i32).max(first + 1);
        let decades = (last - first) as usize;
        let every = decades.div_ceil(most.max(2)).max(1);
        let mut ticks = Vec::new();
        for decade in first..=last {
            // The marked decades include 1, because most shares and ratios begin or end there.
            let marked = decade.rem_euclid(every as i32) == 0;
            let text = if marked { power(decade) } else { String::new() };
            ticks.push((10_f64.powi(decade), text));
            if decade < last && decades <= 8 {
                let fine = (2..10).map(|m| f64::from(m) * 10_f64.powi(decade));
                ticks.extend(fine.map(|v| (v, String::new())));
            }
        }
        let (lo, hi) = (10_f64.powi(first), 10_f64.powi(last));
        Axis { lo, hi, log: true, ticks, exponent: 0, upright: None }
    }

    /// Returns the part of a logarithmic axis from `lo` to `hi`, which need not be powers of ten.
    pub(crate) fn logarithmic_between(lo: f64, hi: f64, most: usize) -> Axis {
        let mut axis = Axis::logarithmic(lo, hi, most);
        axis.ticks.retain(|(v, _)| (lo * 0.999..=hi * 1.001).contains(v));
        Axis { lo, hi, ..axis }
    }

    /// Returns the same axis over the ticks' full range: its ends become ticks.
    pub(crate) fn rounded(lo: f64, hi: f64, most: usize) -> Axis {
        let axis = Axis::linear(lo, hi, most);
        let [(first, _), (second, _), ..] = &axis.ticks[..] else { return axis };
        let step = second - first;
        let (lo, hi) = ((axis.lo / step).floor() * step, (axis.hi / step).ceil() * step);
        Axis::linear(lo, hi, most + 2)
    }

    /// Returns the position of `value` on the axis: 0 at the low end, 1 at the high end.
    pub(crate) fn share(&self, value: f64) -> f64 {
        if self.log {
            (value / self.lo).log10() / (self.hi / self.lo).log10()
        } else {
            (value / 2.0 - self.lo / 2.0) / (self.hi / 2.0 - self.lo / 2.0)
        }
    }

    /// Returns the value at a position on the axis; inverse of [`Axis::share`].
    pub(super) fn value(&self, share: f64) -> f64 {
        match self.log {
            true => self.lo * (self.hi / self.lo).powf(share),
            false => self.lo + share * (self.hi - self.lo),
        }
    }

    /// Returns an axis of names, the first between 0 and 1.
    pub(super) fn of_names(names: impl ExactSizeIterator<Item = String>) -> Axis {
        let hi = names.len().max(1) as f64;
        let ticks = names.enumerate().map(|(k, name)| (k as f64 + 0.5, name)).collect();
        Axis { lo: 0.0, hi, log: false, ticks, exponent: 0, upright: None }
    }

    /// Returns the axis with upright names, which take this much more room. At zero, names are not
    /// upright.
    pub(super) fn upright(self, extra: f64) -> Axis {
        Axis { upright: Some(extra).filter(|extra| *extra > 0.0), ..self }
    }

    /// Returns an axis that is longer by this share; the middle of the added part has a name.
    pub(super) fn longer(mut self, share: f64, name: &str) -> Axis {
        self.ticks.push((self.value(1.0 + 0.6 * share), name.to_owned()));
        Axis { hi: self.value(1.0 + share), ..self }
    }

    /// Returns the values at the ends of a linear axis.
    pub(super) fn ends(&self) -> Option<[f64; 2]> {
        (!self.log).then_some([self.lo, self.hi])
    }

    /// Returns `label` with the power of ten that the ticks leave out.
    pub(crate) fn label(&self, label: &str) -> String {
        match (self.exponent, label.is_empty()) {
            (0, _) => label.to_owned(),
            (e, true) => format!("×{}", power(e)),
            (e, false) => format!("{label} ×{}", power(e)),
        }
    }
}

/// The axis in the interface of plotters: bold key points have numbers, light ones have none.
impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let share = self.share(*value).clamp(-1.0, 2.0);
        from + (share * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let light = hint.weight().allow_light_points();
        let ticks = self.ticks.iter().filter(|(_, text)| text.is_empty() == light);
        ticks.map(|(value, _)| *value).collect()
    }

    fn range(&self) -> Range<f64> {
        self.lo..self.hi
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let tick = self.ticks.iter().find(|(at, _)| at == value);
        tick.map_or(String::new(), |(_, text)| text.clone())
    }
}

/// Returns a range that is finite and not empty.
fn widen(lo: f64, hi: f64) -> (f64, f64) {
    let (lo, hi) =
        (lo.clamp(f64::MIN / 4.0, f64::MAX / 4.0), hi.clamp(f64::MIN / 4.0, f64::MAX / 4.0));
    let least = lo.abs().max(hi.abs()) * 1e-9;
    if hi - lo > least && hi - lo >= f64::MIN_POSITIVE * 1e3 {
        return (lo, hi);
    }
    let half = if lo == 0.0 || least < f64::MIN_POSITIVE * 1e3 { 0.5 } else { lo.abs() / 2.0 };
    (lo - half, lo + half)
}

/// Returns the smallest of 1, 2 and 5 times a power of ten that is at least `step`.
fn round_step(step: f64) -> f64 {
    let decade = 10_f64.powi(step.log10().floor() as i32);
    let round = [1.0, 2.0, 5.0].map(|m| m * decade);
    round.into_iter().find(|&r| r >= step * (1.0 - 1e-9)).unwrap_or(10.0 * decade)
}

/// Returns the power of ten, a multiple of three, to leave out of numbers up to `largest`; zero if
/// the numbers are readable without it.
fn exponent_of(largest: f64) -> i32 {
    let digits = largest.log10().floor() as i32;
    if (-2..=4).contains(&digits) { 0 } else { digits.div_euclid(3) * 3 }
}

/// Returns `value` with `decimals` places and a true minus sign; never "−0".
fn number(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let zero = text.chars().all(|c| matches!(c, '0' | '.'));
    if value < 0.0 && !zero { format!("−{text}") } else { text }
}

/// Returns 10ⁿ in superscript digits, but plain 1 and 10.
fn power(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let superscript = |c: char| c.to_digit(10).map_or('⁻', |d| DIGITS[d as usize]);
    match exponent {
        0 => "1".to_owned(),
        1 => "10".to_owned(),
        e => format!("10{}", e.to_string().chars().map(superscript).collect::<String>()),
    }
}

/// Returns a value to three significant digits: 0.0123, 4.56, 789, 1.23×10⁶.
pub(crate) fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return number(value, 0);
    }
    let scientific = format!("{value:.2e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse().unwrap_or(0) {
        digits @ -3..=4 => number(value, (2 - digits).max(0) as usize),
        digits => format!("{}×{}", mantissa.replace('-', "−"), power(digits)),
    }
}

#[cfg(test)]
mod tests;
