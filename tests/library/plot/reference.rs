//! Pictures beside references: small, and with a tolerance, so that text that overlaps or is cut
//! fails, and rounding does not.
//!
//! What is drawn is written to cargo's folder for temporary files of tests (`target/tmp`). If it is
//! right, copy it to `tests/data/pictures`.

use super::read::png;
use crate::common::png::Png;
use placefield::design::LengthUnit;
use placefield::grid::{BinGrid, Map, Rect};
use placefield::plot::{
    Arrows, BarSeries, Bars, Curves, HeatMap, Histogram, Layer, Picture, Scale, Series, Size,
};
use std::path::Path;

/// Largest mean difference of the channels, of 255.
const MEAN: f64 = 1.0;
/// A pixel is wrong if one of its channels differs by more than this.
const FAR: u8 = 96;
/// Largest share of wrong pixels.
const SHARE: f64 = 0.004;

fn check(name: &str, picture: &Picture) {
    let drawn = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).with_extension("png");
    picture.write(&drawn).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pictures");
    let (found, expected) = (png(picture), Png::open(&folder.join(name).with_extension("png")));
    assert_eq!((found.width, found.height), (expected.width, expected.height), "{name}");
    let differences: Vec<[u8; 3]> = found
        .pixels()
        .zip(expected.pixels())
        .map(|((_, _, a), (_, _, b))| [0, 1, 2].map(|k| a[k].abs_diff(b[k])))
        .collect();
    let sum: f64 = differences.iter().flatten().map(|d| f64::from(*d)).sum();
    let mean = sum / (3 * differences.len()) as f64;
    let far = differences.iter().filter(|d| d.iter().any(|c| *c > FAR)).count();
    let share = far as f64 / differences.len() as f64;
    assert!(mean <= MEAN && share <= SHARE, "{name}: mean {mean:.3}, {:.3} % far", 100.0 * share);
}

/// A column of a paper, at few dots to the inch.
fn size() -> Size {
    Size::print(85.0, 8.0).unwrap().dpi(100.0)
}

#[test]
fn a_map_with_everything_on_it() {
    let (nx, ny) = (24, 16);
    let grid = BinGrid::new(Rect::at(0.0, 0.0, 240_000.0, 160_000.0), nx, ny).unwrap();
    let at = |k: usize| ((k / ny) as f64 - 8.0, (k % ny) as f64 - 6.0);
    let of = |value: &dyn Fn(f64, f64) -> f64| {
        Map::from_vec(nx, ny, (0..nx * ny).map(|k| value(at(k).0, at(k).1)).collect())
    };
    let hill = of(&|x, y| 1.4 * (-(x * x + y * y) / 60.0).exp());
    let (x, y) = (of(&|x, _| x), of(&|_, y| y));
    let layer = |name: &str, rect, color, opacity| Layer {
        name: name.to_owned(),
        rects: vec![rect],
        names: vec![name.to_owned()],
        color,
        opacity,
    };
    let layers = [
        layer("macros", Rect::at(150e3, 90e3, 60e3, 50e3), [0xd5, 0x5e, 0x00], 0.7),
        layer("fence", Rect::at(20e3, 20e3, 90e3, 60e3), [0xcc, 0x79, 0xa7], 0.0),
    ];
    let map = HeatMap {
        title: "design: density".to_owned(),
        subtitle: "24 × 16 bins, overflow 0.1234 smoothed, 0.0567 exact, and more words than fit \
                   into one line"
            .to_owned(),
        label: "density ρ (area / bin area)".to_owned(),
        mark: Some((1.0, "T")),
        layers: &layers,
        unit: LengthUnit::microns(1000.0),
        size: size(),
        ..HeatMap::new(&hill, grid, Scale::Target)
    };
    check("map_layers", &map.draw().unwrap());
    let map = HeatMap {
        arrows: Some(Arrows { x: &x, y: &y }),
        layers: &[],
        mark: None,
        scale: Scale::Magnitude,
        ..map
    };
    check("map_arrows", &map.draw().unwrap());
    check("map_streamlines", &HeatMap { streamlines: true, ..map.clone() }.draw().unwrap());
    let map = HeatMap { arrows: None, contours: 6, scale: Scale::Diverging, ..map };
    check("map_contours", &map.draw().unwrap());
}

#[test]
fn curves_of_all_kinds() {
    let series = |name: &str, power: f64| Series {
        name: name.to_owned(),
        points: (1..=60).map(|k| (f64::from(k), f64::from(k).powf(power))).collect(),
        ..Series::default()
    };
    let dots =
        Series { points: vec![(10.0, 40.0), (40.0, 300.0)], dots: true, ..series("runs", 1.0) };
    let curves = Curves {
        title: "design: curves".to_owned(),
        subtitle: "a second line that is longer than the picture on paper is wide by far"
            .to_owned(),
        x_label: "iteration".to_owned(),
        y_label: "time (ms)".to_owned(),
        log_y: true,
        series: vec![
            series("linear", 1.0),
            Series { paired_with: Some(0), ..series("√", 0.5) },
            dots,
            series("a long name of a series in the legend", 1.5),
        ],
        size: size(),
        ..Curves::default()
    };
    check("curves", &curves.draw());
}

#[test]
fn bars_with_long_names() {
    let series = |name: &str, by: f64| BarSeries {
        name: name.to_owned(),
        values: (1..=8).map(|k| Some(by * f64::from(k))).collect(),
        ..BarSeries::default()
    };
    let bars = Bars {
        title: "how far cells moved".to_owned(),
        x_label: "|Δx| + |Δy| of the centre (µm)".to_owned(),
        y_label: "cells".to_owned(),
        categories: (0..8).map(|k| format!("< {}", 0.1875 * f64::from(1 << k))).collect(),
        mark: Some(10.0),
        series: vec![series("", 2.0)],
        size: size(),
        ..Bars::default()
    };
    check("bars", &bars.draw());
    let two = vec![series("paper", 2.0), BarSeries { paired_with: Some(0), ..series("here", 1.0) }];
    let categories = (0..8).map(|k| k.to_string()).collect();
    check("bars_legend", &Bars { series: two, categories, ..bars }.draw());
}

#[test]
fn histograms_with_values_beyond() {
    let values = (0..1000).map(|k| f64::from(k * k % 997) / 700.0);
    let histogram = Histogram {
        title: "bins by density".to_owned(),
        x_label: "density (area / bin area)".to_owned(),
        y_label: "bins".to_owned(),
        mark: Some((1.0, "target density".to_owned())),
        size: size(),
        ..Histogram::of(values, (0.0, 1.2), false, 24)
    };
    check("histogram", &histogram.draw());
}
