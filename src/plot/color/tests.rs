use super::*;

fn shaded(scale: Scale, shading: Shading, values: &[f64], mark: Option<f64>) -> Palette {
    Look { scale, shading, mark, ..Look::default() }.palette(values)
}

fn over(scale: Scale, values: &[f64]) -> Palette {
    shaded(scale, Shading::Linear, values, None)
}

#[test]
fn overflow_ends_within_the_bins_above_zero() {
    // One bin in two hundred is above the target, and few of them far above.
    let mut values = vec![0.0; 20_000];
    (0..100).for_each(|k| values[k * 200] = 0.1 + 0.01 * k as f64);
    (0..4).for_each(|k| values[k * 200] = 11.0);
    let p = shaded(Scale::Overflow, Shading::Clipped, &values, None);
    assert!((1.0..1.2).contains(&p.hi), "{}", p.hi);
    assert_eq!((p.color(0.0), p.shade(1e-12)), (NO_OVERFLOW, Some(1)));
    assert_eq!(p.shade(11.0), Some(255));
}

#[test]
fn above_the_target_is_another_hue() {
    let values = [0.0, 0.5, 0.8, 0.9, 1.0];
    for shading in [Shading::Linear, Shading::Clipped, Shading::Log] {
        let p = shaded(Scale::Target, shading, &values, Some(0.8));
        let [below, at, above] = [0.5, 0.8, 0.82].map(|v| p.color(v));
        assert!(below[1] > below[0] && at[1] > 0xc0, "{shading:?} {below:?} {at:?}");
        assert!(above[0] > 0xe0 && above[1] < 0x80, "{shading:?} {above:?}");
        assert_eq!(p.color(0.8 + 1e-10), at, "rounded");
    }
    let p = shaded(Scale::Target, Shading::Clipped, &[0.0, 0.5, 900.0], Some(0.8));
    assert_eq!(p.hi, 3.2);
    let p = shaded(Scale::Target, Shading::Clipped, &[0.0, 0.5], Some(0.8));
    assert_eq!((p.lo, p.hi, p.color(0.5)), (0.0, 0.5, [0xfd, 0xe7, 0x25]));
}

#[test]
fn a_range_keeps_the_logarithm() {
    let range = Some((0.0, 100.0));
    let look = Look { shading: Shading::Log, range, ..Look::default() };
    let p = look.palette(&[5.0]);
    assert_eq!((p.lo, p.hi, p.is_log()), (0.01, 100.0, true));
    let p = Look { scale: Scale::Diverging, ..look }.palette(&[5.0]);
    assert_eq!((p.lo, p.hi, p.is_log()), (0.0, 100.0, false));
}

#[test]
fn clipped_scales_leave_out_few_bins() {
    let mut values = vec![1.0; 1000];
    values[7] = 9.0;
    values[3] = 0.5;
    let ends = |values: &[f64], mark| {
        let p = shaded(Scale::Sequential, Shading::Clipped, values, mark);
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
    let p = shaded(Scale::Diverging, Shading::Clipped, &values, None);
    assert_eq!((p.lo, p.hi), (-2.0, 2.0));
}

#[test]
fn logarithmic_scales_span_four_decades() {
    let p = shaded(Scale::Sequential, Shading::Log, &[0.0, 1e-9, 1e4], None);
    assert_eq!((p.lo, p.hi, p.is_log()), (1.0, 1e4, true));
    assert_eq!(p.shade(0.0), Some(0));
    assert_eq!(p.shade(100.5), Some(128));
    assert_eq!((p.shade(1e9), p.shade(f64::NAN)), (Some(255), None));
    let p = shaded(Scale::Diverging, Shading::Log, &[-3.0, 1.0], None);
    assert_eq!((p.lo, p.hi, p.is_log()), (-3.0, 3.0, false));
}

#[test]
fn scales_end_in_their_published_colours() {
    let p = over(Scale::Sequential, &[0.0, 2.0]);
    assert_eq!(p.color(0.0), [0x44, 0x01, 0x54]);
    assert_eq!(p.color(2.0), [0xfd, 0xe7, 0x25]);
    let p = over(Scale::Diverging, &[-1.0, 4.0]);
    assert_eq!((p.lo, p.hi), (-4.0, 4.0));
    // The scale's curve is rounded down.
    let is_near = |color: Rgb, published: Rgb| (0..3).all(|k| color[k].abs_diff(published[k]) <= 1);
    assert!(is_near(p.color(-4.0), [0x05, 0x30, 0x61]));
    assert!(is_near(p.color(4.0), [0x67, 0x00, 0x1f]));
    assert!(p.color(0.0).iter().all(|&c| c > 0xe8), "zero is nearly white");
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
    for scale in
        [Scale::Sequential, Scale::Target, Scale::Magnitude, Scale::Overflow, Scale::Diverging]
    {
        for value in extremes {
            let p = over(scale, &[value]);
            assert!(p.lo < p.hi, "{scale:?} at {value}: {} {}", p.lo, p.hi);
            p.color(value);
        }
    }
}
