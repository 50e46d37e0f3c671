//! Transforms in `f64` that tests of a device compare with.

pub(crate) use crate::common::lines::Line;
use placefield::transform::oracle;

/// The 1-D transform: by the definition where the line is short.
pub(crate) fn line(kind: Line, x: &[f64]) -> Vec<f64> {
    if x.len() > 64 {
        return crate::common::lines::line(kind, x);
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

/// Returns a transform along every axis of an array, slowest axis first.
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
