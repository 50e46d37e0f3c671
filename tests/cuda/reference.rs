//! Transforms in `f64` that tests of a device compare with.

use placefield::transform::oracle;
use rustdct::DctPlanner;

/// A one-dimensional transform.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Line {
    Dct,
    Idct,
    Idxst,
}

/// The 1-D transform by a library, for lines too long for the definition.
fn library(line: Line, x: &[f64]) -> Vec<f64> {
    let mut planner = DctPlanner::new();
    let mut y = x.to_vec();
    match line {
        Line::Dct => planner.plan_dct2(y.len()).process_dct2(&mut y),
        Line::Idct => planner.plan_dct3(y.len()).process_dct3(&mut y),
        Line::Idxst => {
            // DST-III counts from sin 1; ours has sin 0 first and none at N.
            y.rotate_left(1);
            *y.last_mut().unwrap() = 0.0;
            planner.plan_dst3(y.len()).process_dst3(&mut y);
        }
    }
    y
}

/// The 1-D transform: by the definition where the line is short.
pub(crate) fn line(kind: Line, x: &[f64]) -> Vec<f64> {
    if x.len() > 64 {
        return library(kind, x);
    }
    match kind {
        Line::Dct => oracle::dct(x),
        Line::Idct => oracle::idct(x),
        Line::Idxst => oracle::idxst(x),
    }
}

/// One transform along x, another along y, of an `[nx][ny]` map.
pub(crate) fn transform_2d(
    x: &[f64],
    nx: usize,
    ny: usize,
    along_x: Line,
    along_y: Line,
) -> Vec<f64> {
    let rows: Vec<f64> = x.chunks(ny).flat_map(|row| line(along_y, row)).collect();
    let mut out = vec![0.0; nx * ny];
    for j in 0..ny {
        let column: Vec<f64> = (0..nx).map(|i| rows[i * ny + j]).collect();
        for (i, value) in line(along_x, &column).into_iter().enumerate() {
            out[i * ny + j] = value;
        }
    }
    out
}

/// The same transform along every axis of an array, slowest axis first.
pub(crate) fn transform_nd(x: &[f64], shape: &[usize], kind: Line) -> Vec<f64> {
    let mut x = x.to_vec();
    for axis in 0..shape.len() {
        let n = shape[axis];
        let stride: usize = shape[axis + 1..].iter().product();
        for start in (0..x.len()).filter(|k| (k / stride).is_multiple_of(n)) {
            let values: Vec<f64> = (0..n).map(|k| x[start + k * stride]).collect();
            for (k, value) in line(kind, &values).into_iter().enumerate() {
                x[start + k * stride] = value;
            }
        }
    }
    x
}
