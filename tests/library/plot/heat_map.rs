//! Maps of bins: what stands where, and every odd shape and value.

use super::read::{area, assert_well_formed, embedded, png, svg};
use crate::common::png::Png;
use placefield::grid::{BinGrid, Map, Rect};
use placefield::plot::{Arrows, Curves, Format, HeatMap, PlotError, Scale, Shading, Size};

const DARK: [u8; 3] = [0x44, 0x01, 0x54];
const BRIGHT: [u8; 3] = [0xfd, 0xe7, 0x25];
const NOT_FINITE: [u8; 3] = [0x00, 0xe5, 0xff];

fn grid(width: f64, height: f64, nx: usize, ny: usize) -> BinGrid {
    BinGrid::new(Rect::at(100.0, 50.0, width, height), nx, ny).unwrap()
}

/// The colour in the middle of bin `(i, j)` of `nx × ny`.
fn bin(image: &Png, area: [u32; 4], (nx, ny): (u32, u32), (i, j): (u32, u32)) -> [u8; 3] {
    let [left, top, right, bottom] = area;
    let x = left + (right - left) * (2 * i + 1) / (2 * nx);
    let y = bottom - (bottom - top) * (2 * j + 1) / (2 * ny) - 1;
    image.at(x, y)
}

#[test]
fn bins_go_from_left_to_right_and_bottom_to_top() {
    // Neither square, nor symmetric, nor of one bin count along both axes.
    let (nx, ny) = (5, 3);
    for hot in [(3, 0), (0, 2), (4, 1), (1, 2)] {
        let mut map = Map::filled(nx, ny, 0.0_f32);
        map[hot] = 2.0;
        let picture = HeatMap::new(&map, grid(700.0, 300.0, nx, ny), Scale::Sequential);
        let image = png(&picture.draw().unwrap());
        let area = area(&image, (image.width / 2, image.height / 2));
        for i in 0..nx {
            for j in 0..ny {
                let color = bin(&image, area, (nx as u32, ny as u32), (i as u32, j as u32));
                let want = if (i, j) == hot { BRIGHT } else { DARK };
                assert_eq!(color, want, "bin ({i}, {j}), hot {hot:?}");
            }
        }
    }
}

#[test]
fn both_axes_have_one_scale() {
    for (width, height) in [(700.0, 300.0), (300.0, 700.0), (512.0, 512.0)] {
        let map = Map::filled(7, 4, 1.0);
        let picture = HeatMap::new(&map, grid(width, height, 7, 4), Scale::Sequential);
        let image = png(&picture.draw().unwrap());
        let [left, top, right, bottom] = area(&image, (300, image.height / 2));
        let drawn = f64::from(right - left) / f64::from(bottom - top);
        assert!((drawn / (width / height) - 1.0).abs() < 0.01, "{width} x {height}: {drawn}");
    }
}

#[test]
fn the_svg_holds_the_same_map_as_the_png() {
    let (nx, ny) = (37, 21);
    let values = (0..nx * ny).map(|k| (k * k % 101) as f64 - 20.0).collect();
    let map = Map::from_vec(nx, ny, values);
    let picture = HeatMap::new(&map, grid(370.0, 210.0, nx, ny), Scale::Diverging).draw().unwrap();
    let (png, images) = (png(&picture), embedded(&svg(&picture)));
    assert_eq!(images.len(), 2, "the map and the colour bar");
    for (left, top, image) in images {
        // Not the outermost pixels, on which the frame lies.
        for y in 2..image.height - 2 {
            for x in 2..image.width - 2 {
                let near = png.at(left + x, top + y);
                let want = image.at(x, y);
                // Where a border between bins cuts a pixel, the PNG has the mean of both.
                let border = image.at(x - 1, y) != want
                    || image.at(x + 1, y) != want
                    || image.at(x, y - 1) != want
                    || image.at(x, y + 1) != want;
                assert!(near == want || border, "at ({x}, {y}): {near:?}, not {want:?}");
            }
        }
    }
}

#[test]
fn maps_finer_than_the_picture_are_averaged() {
    // Stripes one bin wide along y: their mean is everywhere 1, of a range from 0 to 4.
    let n = 2048;
    let map = Map::from_vec(n, n, (0..n * n).map(|k| (k % 2) as f32 * 2.0).collect());
    let mut picture = HeatMap::new(&map, grid(1000.0, 1000.0, n, n), Scale::Sequential);
    picture.range = Some((0.0, 4.0));
    let image = png(&picture.draw().unwrap());
    let [left, top, right, bottom] = area(&image, (image.width / 2, image.height / 2));
    let quarter = [0x3b, 0x52, 0x8b];
    for (x, y) in [(left + 2, top + 2), (right - 3, bottom - 3), (left + 400, top + 401)] {
        let color = image.at(x, y);
        let off = (0..3).map(|c| color[c].abs_diff(quarter[c])).max().unwrap();
        assert!(off <= 2, "{color:?} at ({x}, {y}), expected {quarter:?}");
    }
}

#[test]
fn a_large_map_makes_a_small_svg() {
    let n = 2048;
    let noise = (0..n * n).map(|k| (k as u32).wrapping_mul(2_654_435_761) as f32).collect();
    let map = Map::from_vec(n, n, noise);
    let mut picture = HeatMap::new(&map, grid(1000.0, 1000.0, n, n), Scale::Sequential);
    let field = Map::filled(n, n, 1.0);
    picture.arrows = Some(Arrows { x: &field, y: &field });
    let picture = picture.draw().unwrap();
    let text = svg(&picture);
    assert!(text.len() < 3 << 20, "{} bytes of the least compressible map", text.len());
    assert!(text.lines().count() < 4000, "{} lines", text.lines().count());
}

#[test]
fn outlines_stand_where_the_blocks_are() {
    let map = Map::filled(64, 64, 0.0);
    let mut picture = HeatMap::new(&map, grid(640.0, 640.0, 64, 64), Scale::Sequential);
    // The die begins at (100, 50). One block inside, one beyond it, one with no numbers.
    let nan = f64::NAN;
    let blocks = [
        Rect::at(100.0 + 64.0, 50.0 + 320.0, 128.0, 64.0),
        Rect::at(2000.0, 2000.0, 10.0, 10.0),
        Rect { xl: nan, yl: 0.0, xh: nan, yh: nan },
    ];
    picture.outlines = &blocks;
    let image = png(&picture.draw().unwrap());
    let [left, top, right, bottom] = area(&image, (image.width * 3 / 4, image.height / 4));
    let white: Vec<(u32, u32)> = image
        .pixels()
        .filter(|(x, y, p)| {
            *p == [255; 3] && (left..right).contains(x) && (top..bottom).contains(y)
        })
        .map(|(x, y, _)| (x, y))
        .collect();
    let share =
        |v: u32, lo: u32, hi: u32| (f64::from(v) + 0.5 - f64::from(lo)) / f64::from(hi - lo);
    let (x, y): (Vec<u32>, Vec<u32>) = white.iter().copied().unzip();
    let near = |got: f64, want: f64| assert!((got - want).abs() < 0.003, "{got}, not {want}");
    near(share(*x.iter().min().unwrap(), left, right), 0.1);
    near(share(*x.iter().max().unwrap(), left, right), 0.3);
    near(1.0 - share(*y.iter().max().unwrap(), top, bottom), 0.5);
    near(1.0 - share(*y.iter().min().unwrap(), top, bottom), 0.6);
}

/// Mean position of dark pixels about the middle of a one-bin map with field
/// `(x, y)`, x to the right, y upward, and the extent of them.
fn arrow(x: f64, y: f64) -> ((f64, f64), (u32, u32)) {
    let map = Map::filled(1, 1, 0.0);
    let (x, y) = (Map::filled(1, 1, x), Map::filled(1, 1, y));
    let mut picture = HeatMap::new(&map, grid(10.0, 10.0, 1, 1), Scale::Diverging);
    picture.arrows = Some(Arrows { x: &x, y: &y });
    let image = png(&picture.draw().unwrap());
    // The arrow stands in the middle: look for the frame beside it, and stay clear of that.
    let [left, top, right, bottom] = area(&image, (400, 300));
    let inside = |x, y| (left + 3..right - 3).contains(&x) && (top + 3..bottom - 3).contains(&y);
    let dark: Vec<(f64, f64)> = image
        .pixels()
        .filter(|&(x, y, p)| inside(x, y) && p[0] < 0x80)
        .map(|(x, y, _)| (f64::from(x) + 0.5, f64::from(y) + 0.5))
        .collect();
    assert!(!dark.is_empty());
    let middle = (f64::from(left + right) / 2.0, f64::from(top + bottom) / 2.0);
    let mean = |of: fn(&(f64, f64)) -> f64| dark.iter().map(of).sum::<f64>() / dark.len() as f64;
    let extent = |of: fn(&(f64, f64)) -> f64| {
        let (lo, hi) =
            dark.iter().map(of).fold((f64::MAX, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
        (hi - lo) as u32
    };
    ((mean(|p| p.0) - middle.0, middle.1 - mean(|p| p.1)), (extent(|p| p.0), extent(|p| p.1)))
}

#[test]
fn arrows_point_where_the_field_does() {
    // The head is the heavy end.
    let ((x, y), (width, height)) = arrow(2.0, 0.0);
    assert!(x > 1.0 && y.abs() < 1.0 && width > 3 * height, "({x}, {y}) {width} x {height}");
    let ((x, y), (width, height)) = arrow(0.0, 3.0);
    assert!(y > 1.0 && x.abs() < 1.0 && height > 3 * width, "({x}, {y}) {width} x {height}");
    let ((x, y), (width, height)) = arrow(-1.0, 1.0);
    assert!(x < -1.0 && y > 1.0 && width.abs_diff(height) <= 2, "({x}, {y}) {width} x {height}");
}

#[test]
fn nonfinite_values_are_marked_and_counted() {
    let mut map = Map::filled(6, 4, 1.0);
    map[(1, 3)] = f64::NAN;
    map[(4, 0)] = f64::INFINITY;
    map[(5, 2)] = f64::NEG_INFINITY;
    for scale in [Scale::Sequential, Scale::Magnitude, Scale::Diverging] {
        let picture = HeatMap::new(&map, grid(60.0, 40.0, 6, 4), scale).draw().unwrap();
        let image = png(&picture);
        let area = area(&image, (image.width / 2, image.height / 2));
        for i in 0..6 {
            for j in 0..4 {
                let marked = bin(&image, area, (6, 4), (i, j)) == NOT_FINITE;
                let finite = map[(i as usize, j as usize)].is_finite();
                assert_eq!(marked, !finite, "bin ({i}, {j})");
            }
        }
        assert!(svg(&picture).contains("3 bins not finite"));
    }
}

#[test]
fn absent_values_are_grey_and_have_no_arrow() {
    let nan = f64::NAN;
    let map = Map::from_vec(2, 1, vec![1.0, nan]);
    let still = Map::from_vec(2, 1, vec![0.0, nan]);
    let mut picture = HeatMap::new(&map, grid(20.0, 10.0, 2, 1), Scale::Magnitude);
    picture.absent = Some("no cells");
    picture.arrows = Some(Arrows { x: &map, y: &still });
    let picture = picture.draw().unwrap();
    let text = svg(&picture);
    assert!(
        text.contains(">no cells<") && text.contains(">min 1.00") && !text.contains("not finite")
    );
    assert_eq!(text.matches("<polygon").count(), 2 + 1, "an arrow and its rim, and the swatch");
    let image = png(&picture);
    let area = area(&image, (image.width / 2, image.height / 2));
    assert_eq!(bin(&image, area, (2, 1), (1, 0)), [0xc8, 0xcc, 0xd0]);
}

#[test]
fn a_clipped_bar_ends_in_an_arrow() {
    let mut map = Map::filled(64, 64, 0.0);
    (0..2000).for_each(|k| map[(k / 64, k % 64)] = 1.0);
    map[(63, 63)] = 50.0;
    let mut picture = HeatMap::new(&map, grid(64.0, 64.0, 64, 64), Scale::Overflow);
    let arrows =
        |picture: &HeatMap<'_, f64>| svg(&picture.draw().unwrap()).matches("<polygon").count();
    assert_eq!(arrows(&picture), 0);
    picture.shading = Shading::Clipped;
    assert_eq!((arrows(&picture), picture.colors_end()), (1, (0.0, 1.0)));
    picture.range = Some((0.5, 60.0));
    assert_eq!(arrows(&picture), 1, "below");
    let text = svg(&picture.draw().unwrap());
    assert!(text.contains("colours end at 0.500 and 60.0"));
    picture.note = false;
    assert!(!svg(&picture.draw().unwrap()).contains("colours end"));
}

#[test]
fn a_picture_on_paper_has_its_width() {
    let shapes = [(700.0, 300.0), (300.0, 300.0), (10.0, 300.0)];
    for (font, dpi) in [(8.0, 300.0), (6.0, 600.0)] {
        for (width, height) in shapes {
            let map = Map::filled(7, 4, 1.0);
            let mut picture = HeatMap::new(&map, grid(width, height, 7, 4), Scale::Sequential);
            picture.title = "a long title that is not wider than the picture ".repeat(9);
            picture.size = Size::print(88.0, font).unwrap().dpi(dpi);
            let picture = picture.draw().unwrap();
            let pixels = 88.0 / 25.4 * dpi;
            assert!((f64::from(picture.size().0) - pixels).abs() <= 1.0, "{:?}", picture.size());
            assert!(f64::from(picture.size().1) < 1.6 * pixels, "{:?}", picture.size());
            let text = svg(&picture);
            assert_well_formed(&text);
            assert!(text.contains("width=\"249.45pt\""), "{}", text.lines().next().unwrap());
            assert!(picture.encode(Format::Pdf).unwrap().starts_with(b"%PDF"));
        }
    }
}

#[test]
fn any_shape_and_values_make_a_bounded_picture() {
    let shapes = [
        (1, 1, 10.0, 10.0),
        (1, 50, 1.0, 50.0),
        (50, 1, 50.0, 1.0),
        (100, 10_000, 100.0, 10_000.0),
        (10_000, 100, 1e7, 1.0),
        (3, 1601, 1e-6, 1e-6),
        (2, 2, 1e100, 1e100),
    ];
    let fillings = [0.0, 1.0, -3.5, 1e300, -1e-300, f64::MAX, f64::NAN, f64::INFINITY];
    for (k, (nx, ny, width, height)) in shapes.into_iter().enumerate() {
        let grid = grid(width, height, nx, ny);
        for (l, value) in fillings.into_iter().enumerate() {
            // Every value on one shape, every shape with one value.
            if l > 0 && k > 0 {
                continue;
            }
            let map = Map::filled(nx, ny, value);
            for scale in [Scale::Sequential, Scale::Magnitude, Scale::Diverging] {
                let mut picture = HeatMap::new(&map, grid, scale);
                picture.title = "a title much longer than a narrow picture is wide ".repeat(3);
                picture.arrows = Some(Arrows { x: &map, y: &map });
                let picture = picture.draw().unwrap();
                let (w, h) = picture.size();
                assert!(w.max(h) <= 2200 && w.min(h) >= 400, "{nx} x {ny}: {w} x {h}");
                assert_well_formed(&svg(&picture));
                if scale == Scale::Sequential {
                    png(&picture);
                    picture.encode(Format::Pdf).unwrap();
                }
            }
        }
    }
}

#[test]
fn cells_are_drawn_unless_they_are_too_many() {
    let map = Map::filled(8, 8, 0.0);
    let mut picture = HeatMap::new(&map, grid(80.0, 80.0, 8, 8), Scale::Sequential);
    // Covers bin (6, 1), of which the die's corner is (100, 50).
    let cell = [Rect::at(160.0, 60.0, 10.0, 10.0)];
    picture.cells = &cell;
    let image = png(&picture.draw().unwrap());
    let area = area(&image, (image.width / 2, image.height / 2));
    for i in 0..8 {
        for j in 0..8 {
            let covered = bin(&image, area, (8, 8), (i, j)) != DARK;
            assert_eq!(covered, (i, j) == (6, 1), "bin ({i}, {j})");
        }
    }
    let many = vec![cell[0]; 20_001];
    picture.cells = &many;
    let text = svg(&picture.draw().unwrap());
    assert!(text.contains("20001 cells not drawn") && text.len() < 50_000);
}

#[test]
fn a_range_asked_for_is_kept() {
    let map = Map::filled(2, 2, 3.0);
    let mut picture = HeatMap::new(&map, grid(2.0, 2.0, 2, 2), Scale::Sequential);
    for (range, want) in [((3.0, 5.0), DARK), ((1.0, 3.0), BRIGHT)] {
        picture.range = Some(range);
        let image = png(&picture.draw().unwrap());
        assert_eq!(image.at(image.width / 2, image.height / 2), want);
    }
}

#[test]
fn opposite_extremes_make_a_picture() {
    let map = Map::from_vec(2, 1, vec![f64::MIN, f64::MAX]);
    let mut picture = HeatMap::new(&map, grid(20.0, 10.0, 2, 1), Scale::Sequential);
    for range in [None, Some((3.0, 3.0)), Some((5.0, -5.0)), Some((f64::NAN, 1.0))] {
        picture.range = range;
        png(&picture.draw().unwrap());
    }
}

#[test]
fn maps_of_other_shapes_are_refused() {
    let map = Map::filled(3, 4, 0.0);
    let turned = Map::filled(4, 3, 0.0);
    let error = HeatMap::new(&turned, grid(3.0, 4.0, 3, 4), Scale::Sequential).draw().unwrap_err();
    assert_eq!(error.to_string(), "values: 4 x 3 bins, expected the grid's 3 x 4");
    let mut picture = HeatMap::new(&map, grid(3.0, 4.0, 3, 4), Scale::Sequential);
    picture.arrows = Some(Arrows { x: &map, y: &turned });
    assert!(picture.draw().unwrap_err().to_string().starts_with("arrows along y: 4 x 3 bins"));
}

#[test]
fn text_is_escaped() {
    let map = Map::filled(2, 2, 0.0);
    let mut picture = HeatMap::new(&map, grid(2.0, 2.0, 2, 2), Scale::Sequential);
    picture.title = "a<b> & \"c\" 'd' \u{0} \n ρ φ ²".to_owned();
    let text = svg(&picture.draw().unwrap());
    assert_well_formed(&text);
    assert!(text.contains("a&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;"));
    assert!(text.contains("ρ φ ²"), "letters beyond ASCII stay as they are");
    assert!(text.contains("font-family=\"DejaVu Sans"));
}

#[test]
fn pictures_of_too_many_pixels_are_refused() {
    // 2 m at 2400 dots to the inch are 189,000 pixels a side.
    let map = Map::filled(2, 2, 1.0);
    let mut picture = HeatMap::new(&map, grid(100.0, 100.0, 2, 2), Scale::Sequential);
    picture.size = Size::print(2000.0, 8.0).unwrap().dpi(2400.0);
    let error = picture.draw().unwrap_err();
    assert!(matches!(error, PlotError::Pixels { .. }), "{error}");
    // Curves have pixels in a PNG alone.
    let curves = Curves { size: picture.size, ..Curves::default() }.draw();
    let error = curves.encode(Format::Png).unwrap_err();
    assert!(matches!(error, PlotError::Pixels { .. }), "{error}");
    assert!(curves.encode(Format::Svg).is_ok());
}
