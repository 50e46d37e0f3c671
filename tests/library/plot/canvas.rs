//! A user's own chart of plotters on the canvas, in every format.

use super::read::{assert_well_formed, png, svg};
use placefield::plot::plotters::prelude::*;
use placefield::plot::plotters::style::text_anchor::{HPos, Pos, VPos};
use placefield::plot::{Canvas, Format, Picture, Size};

const U: i32 = Canvas::UNIT;

#[test]
fn every_kind_of_element_is_recorded() {
    let mut picture = Picture::new(Size::default(), 0.5).unwrap();
    let root = picture.canvas().into_drawing_area();
    assert_eq!(root.dim_in_pixel(), (1600 * U as u32, 800 * U as u32));
    let at = |x: i32, y: i32| (x * U, y * U);
    root.draw(&Rectangle::new([at(100, 100), at(200, 300)], RED.filled())).unwrap();
    root.draw(&Circle::new(at(400, 200), 50 * U, BLUE.filled())).unwrap();
    let line = vec![at(600, 100), at(700, 100)];
    root.draw(&PathElement::new(line, GREEN.stroke_width(20 * U as u32))).unwrap();
    root.draw(&Polygon::new(vec![at(800, 100), at(900, 100), at(900, 200)], BLACK.mix(0.5)))
        .unwrap();
    // One end, the middle and the other end of a text at one point, along and across.
    let style = TextStyle::from(("serif", 40 * U).into_font());
    let middle = style.pos(Pos::new(HPos::Center, VPos::Center));
    root.draw(&Text::new("mid <1>", at(400, 600), middle.clone())).unwrap();
    for turn in [FontTransform::Rotate90, FontTransform::Rotate180, FontTransform::Rotate270] {
        root.draw(&Text::new("turned", at(1200, 600), middle.transform(turn))).unwrap();
    }
    drop(root);
    // Ten units wide and high, the upper half in another colour than the lower.
    let side = 10 * U as usize;
    let half = |color: [u8; 3]| color.repeat(side * side / 2);
    let bitmap = [half([255, 0, 255]), half([0, 255, 255])].concat();
    let size = (side as u32, side as u32);
    picture.canvas().blit_bitmap(at(1000, 100), size, &bitmap).unwrap();

    let image = png(&picture);
    assert_eq!([image.at(1005, 102), image.at(1005, 108)], [[255, 0, 255], [0, 255, 255]]);
    assert_eq!((image.width, image.height), (1600, 800));
    assert_eq!(image.at(150, 200), [255, 0, 0]);
    assert_eq!([image.at(400, 200), image.at(445, 200)], [[0, 0, 255]; 2]);
    assert_eq!(image.at(455, 200), [255; 3]);
    assert_eq!([image.at(650, 92), image.at(650, 108)], [[0, 255, 0]; 2]);
    assert_eq!(image.at(650, 112), [255; 3]);
    assert!(image.at(880, 120)[0].abs_diff(128) <= 1, "half black over white");
    // The middle of a text lies on its point, however it is turned.
    let extent = |x: u32, y: u32| {
        let near = image.pixels().filter(|p| p.2 == [0; 3]);
        let near = near.filter(|p| p.0.abs_diff(x) < 120 && p.1.abs_diff(y) < 120);
        near.fold([u32::MAX, u32::MAX, 0, 0], |[l, t, r, b], (x, y, _)| {
            [l.min(x), t.min(y), r.max(x), b.max(y)]
        })
    };
    for (x, y) in [(400, 600), (1200, 600)] {
        let [left, top, right, bottom] = extent(x, y);
        assert!((left + right).abs_diff(2 * x) < 12 && (top + bottom).abs_diff(2 * y) < 24, "{x}");
    }
    let text = svg(&picture);
    assert_well_formed(&text);
    for part in ["mid &lt;1&gt;", "rotate(90 ", "rotate(180 ", "rotate(-90 ", "opacity=\"0.5\""] {
        assert!(text.contains(part), "{part}");
    }
    assert!(picture.encode(Format::Pdf).unwrap().starts_with(b"%PDF"));
}

#[test]
fn a_chart_has_its_size_on_paper() {
    let mut picture = Picture::new(Size::print(88.0, 8.0).unwrap().dpi(300.0), 0.6).unwrap();
    let root = picture.canvas().into_drawing_area();
    let mut chart = ChartBuilder::on(&root)
        .margin(30 * U)
        .caption("c", ("sans-serif", 30 * U))
        .set_left_and_bottom_label_area_size(80 * U)
        .build_cartesian_2d(0.0..1.0, 0.0..1.0)
        .unwrap();
    chart.configure_mesh().label_style(("sans-serif", 25 * U)).x_desc("the axis").draw().unwrap();
    let points = (0..=10).map(|k| (f64::from(k) / 10.0, f64::from(k * k) / 100.0));
    let series = LineSeries::new(points, RED.stroke_width(3 * U as u32));
    chart.draw_series(series).unwrap().label("square");
    chart.configure_series_labels().label_font(("sans-serif", 25 * U)).draw().unwrap();
    drop((chart, root));
    let (width, height) = picture.size();
    assert!(width.abs_diff(1039) <= 1 && height.abs_diff(624) <= 2, "{width} x {height}");
    let text = svg(&picture);
    for part in ["width=\"249.45pt\"", ">the axis<", ">0.5<", ">square<", ">c<"] {
        assert!(text.contains(part), "{part}");
    }
    for aspect in [0.0, -1.0, f64::NAN, 1e9] {
        assert!(Picture::new(Size::default(), aspect).is_err(), "{aspect}");
    }
}
