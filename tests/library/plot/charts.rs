//! Curves and bars.

use super::read::{area, assert_well_formed, png, svg};
use crate::common::png::Png;
use placefield::plot::{BarSeries, Bars, Curves, Format, Series, Size};

fn line(name: &str, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.to_owned(), points, ..Series::default() }
}

/// Share of the chart's width and height at which pixels of `color` lie, at
/// the left and right end of the area.
fn heights(image: &Png, color: [u8; 3]) -> [f64; 2] {
    // The corner of the chart's area is free of curves.
    let middle = (image.width / 2, image.height / 2);
    let [left, top, right, bottom] = area(image, middle);
    [left + 4, right - 5].map(|x| {
        let column: Vec<u32> = (top..bottom).filter(|&y| image.at(x, y) == color).collect();
        let mean = column.iter().sum::<u32>() as f64 / column.len() as f64;
        1.0 - (mean - f64::from(top)) / f64::from(bottom - top)
    })
}

#[test]
fn curves_rise_upward_and_to_the_right() {
    let blue = [0x00, 0x72, 0xb2];
    let points = (0..=100).map(|k| (f64::from(k), f64::from(k))).collect();
    let mut chart = Curves { series: vec![line("", points)], ..Curves::default() };
    let [start, end] = heights(&png(&chart.draw()), blue);
    assert!(start < 0.02 && end > 0.98, "from {start} to {end}");

    // 1 to 10^4 on a logarithmic axis: a straight line, so half way at the middle of its range.
    chart.series[0].points =
        (0..=100).map(|k| (f64::from(k), 10_f64.powf(f64::from(k) / 25.0))).collect();
    chart.log_y = true;
    let image = png(&chart.draw());
    let [start, end] = heights(&image, blue);
    assert!(start < 0.02 && end > 0.98, "from {start} to {end}");
    let [left, top, right, bottom] = area(&image, (image.width / 2, image.height / 4));
    let (x, y) = ((left + right) / 2, (top + bottom) / 2);
    let near = (y - 4..y + 4).any(|y| image.at(x, y) == blue);
    assert!(near, "the curve passes the middle");
}

#[test]
fn bars_are_grouped_and_as_high_as_their_values() {
    let series = |name: &str, values: &[Option<f64>]| BarSeries {
        name: name.to_owned(),
        values: values.to_vec(),
        ..BarSeries::default()
    };
    let bars = Bars {
        categories: vec!["first".to_owned(), "second".to_owned()],
        series: vec![series("paper", &[Some(4.0), Some(1.0)]), series("here", &[Some(2.0), None])],
        ..Bars::default()
    };
    let image = png(&bars.draw());
    let [paper, here] = [[0x00, 0x72, 0xb2], [0xd5, 0x5e, 0x00]];
    // Columns of a colour, left of the legend, and how high each is.
    let heights = |color: [u8; 3]| -> Vec<(u32, usize)> {
        let is = |x, y| image.at(x, y) == color;
        let column = |x: u32| (0..image.height).filter(|&y| is(x, y)).count();
        (0..image.width - 250).map(|x| (x, column(x))).filter(|c| c.1 > 40).collect()
    };
    let (paper, here) = (heights(paper), heights(here));
    let highest = paper.iter().map(|c| c.1).max().unwrap() as f64;
    let lowest = paper.iter().map(|c| c.1).min().unwrap() as f64;
    assert!((highest / lowest - 4.0).abs() < 0.1, "{highest} {lowest}");
    assert!((highest / here[here.len() / 2].1 as f64 - 2.0).abs() < 0.05);
    // The gap: of "here" only the first category has a bar, between those of "paper".
    let (first, last) = (here[0].0, here[here.len() - 1].0);
    assert!(paper[0].0 < first && last < paper[paper.len() - 1].0);
    assert!((here.len() as f64 / (paper.len() as f64 / 2.0) - 1.0).abs() < 0.05);
    for odd in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
        let bars = Bars { series: vec![series("odd", &[Some(odd)])], ..Bars::default() };
        bars.draw().encode(Format::Png).unwrap();
    }
}

#[test]
fn odd_curves_make_pictures() {
    let (nan, infinite) = (f64::NAN, f64::INFINITY);
    let series = [
        vec![],
        vec![(1.0, 1.0)],
        vec![(0.0, 0.0), (1.0, -1.0)],
        vec![(nan, 1.0), (1.0, nan), (infinite, -infinite)],
        vec![(0.0, 1.0), (1.0, nan), (2.0, 3.0), (3.0, 0.0), (4.0, 1e300)],
        vec![(f64::MIN, f64::MIN), (f64::MAX, f64::MAX)],
        (0..200_000).map(|k| (f64::from(k), f64::from(k * 7919 % 1009))).collect(),
    ];
    for points in series {
        for (log_x, log_y) in [(false, false), (false, true), (true, true)] {
            let chart = Curves {
                log_x,
                log_y,
                series: vec![line("one", points.clone()), line("<two>", vec![])],
                ..Curves::default()
            };
            let picture = chart.draw();
            png(&picture);
            let text = svg(&picture);
            assert_well_formed(&text);
            assert!(text.len() < 300_000, "{} bytes", text.len());
            assert!(text.contains("&lt;two&gt;"));
        }
    }
    assert!(svg(&Curves::default().draw()).contains("no data"));
    let many = (0..100).map(|k| line(&format!("series {k}"), vec![(0.0, f64::from(k))])).collect();
    png(&Curves { series: many, ..Curves::default() }.draw());
}

#[test]
fn iterations_are_marked_by_whole_numbers() {
    let chart = Curves {
        series: vec![line("", (0..4).map(|k| (f64::from(k), 5.0)).collect())],
        ..Curves::default()
    };
    let text = svg(&chart.draw());
    assert!(!text.contains(">0.5<") && text.contains(">3<"));
}

#[test]
fn labels_of_axes_end_inside_the_picture() {
    for words in 4..16 {
        let label = "a few words ".repeat(words);
        let points = vec![(0.0, 1.0), (1.0, 2.0)];
        let chart = Curves {
            x_label: label.clone(),
            y_label: label,
            series: vec![Series { points, ..Series::default() }],
            size: Size::print(127.0, 9.0).unwrap().dpi(100.0),
            ..Curves::default()
        };
        let image = png(&chart.draw());
        let is_white = |x: u32, y: u32| image.at(x, y) == [255; 3];
        let (right, bottom) = (image.width - 1, image.height - 1);
        assert!((0..=right).all(|x| is_white(x, 0) && is_white(x, bottom)), "{words}: cut");
        assert!((0..=bottom).all(|y| is_white(0, y) && is_white(right, y)), "{words}: cut");
    }
}

#[test]
fn counts_have_whole_numbers() {
    let bars = Bars {
        categories: vec!["a".to_owned(), "b".to_owned()],
        series: vec![BarSeries { values: vec![Some(2.0), Some(3.0)], ..BarSeries::default() }],
        ..Bars::default()
    };
    let text = svg(&bars.draw());
    assert!(!text.contains(">0.5<") && text.contains(">3<"), "{text}");
}

#[test]
fn a_count_of_one_is_a_bar_on_a_logarithmic_axis() {
    let values = vec![Some(1.0), Some(5000.0)];
    let bars = Bars {
        categories: vec!["few".to_owned(), "many".to_owned()],
        series: vec![BarSeries { values, ..BarSeries::default() }],
        log_y: true,
        ..Bars::default()
    };
    let image = png(&bars.draw());
    let rows = |from: u32, to: u32| {
        let is_blue = |x: u32, y: u32| image.at(x, y) == [0x00, 0x72, 0xb2];
        let height = |x: u32| (0..image.height).filter(|&y| is_blue(x, y)).count();
        (from..to).map(height).max().unwrap()
    };
    let middle = image.width / 2;
    assert!(rows(0, middle) > 50, "{}", rows(0, middle));
    assert!(rows(middle, image.width) > 4 * rows(0, middle) - 20);
}
