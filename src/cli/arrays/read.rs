//! Reading a NumPy file of real numbers.

use super::order;
use crate::Precision;
use crate::cli::failure::Failure;
use crate::cli::outputs::read_input;
use npyz::{DType, NpyFile, Order, TypeChar};
use std::path::Path;

/// Most axes of an array, as in NumPy before its version 2.
const MOST_AXES: usize = 32;

/// An array, the last axis contiguous.
pub(super) struct Array {
    /// Its source, for messages.
    pub(super) path: String,
    pub(super) shape: Vec<usize>,
    pub(super) values: Vec<f64>,
    /// The file's; `f32` for floats of 16 bits, `f64` for integers and truth values.
    pub(super) precision: Precision,
}

impl Array {
    /// Reads `path`; `-` is standard input.
    ///
    /// # Errors
    /// When it cannot be read, is no NumPy file, is cut short, empty, or of anything but real
    /// numbers.
    pub(super) fn read(path: &Path) -> Result<Array, Failure> {
        let bytes = read_input(path)?;
        let name = path.display().to_string();
        Self::parse(&bytes, &name).map_err(|what| format!("{name}: {what}").into())
    }

    fn parse(bytes: &[u8], path: &str) -> Result<Array, String> {
        if !bytes.starts_with(b"\x93NUMPY") {
            return Err("not a NumPy file: expected \\x93NUMPY at its beginning".to_owned());
        }
        let damaged = |e: std::io::Error| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                "damaged NumPy file: expected more than it holds".to_owned()
            }
            // Some messages show the header below their first line.
            _ => {
                format!("damaged NumPy file: {}", e.to_string().lines().next().unwrap_or_default())
            }
        };
        let file = NpyFile::new(bytes).map_err(damaged)?;
        let shape = file.shape().iter().map(|&n| usize::try_from(n));
        let shape: Vec<usize> = shape.collect::<Result<_, _>>().map_err(|e| e.to_string())?;
        let (kind, size) = element(&file.dtype())?;
        let product = shape.iter().try_fold(1usize, |all, &n| all.checked_mul(n));
        let values = product.filter(|n| n.checked_mul(size).is_some_and(|b| b <= bytes.len()));
        let values = values.ok_or_else(|| {
            format!(
                "cut short: the header says {shape:?} values, the file has {} bytes",
                bytes.len()
            )
        })?;
        if values == 0 || shape.is_empty() || shape.len() > MOST_AXES {
            return Err(format!(
                "shape {shape:?}: expected 1 to {MOST_AXES} axes and no size of 0"
            ));
        }
        let fortran = file.order() == Order::Fortran;
        macro_rules! read {
            ($t:ty) => {
                read!($t, |v| v as f64)
            };
            ($t:ty, $wide:expr) => {
                file.into_vec::<$t>().map(|v| v.into_iter().map($wide).collect::<Vec<f64>>())
            };
        }
        let values = match (kind, size) {
            (TypeChar::Bool, _) => read!(bool, f64::from),
            (TypeChar::Float, 2) => read!(half::f16, f64::from),
            (TypeChar::Float, 4) => read!(f32),
            (TypeChar::Float, _) => read!(f64),
            (TypeChar::Int, 1) => read!(i8),
            (TypeChar::Int, 2) => read!(i16),
            (TypeChar::Int, 4) => read!(i32),
            (TypeChar::Int, _) => read!(i64),
            (_, 1) => read!(u8),
            (_, 2) => read!(u16),
            (_, 4) => read!(u32),
            (_, _) => read!(u64),
        };
        let mut values = values.map_err(damaged)?;
        if fortran {
            let reversed: Vec<usize> = shape.iter().rev().copied().collect();
            let axes: Vec<usize> = (0..shape.len()).rev().collect();
            values = order::permuted(&values, &reversed, &axes);
        }
        let single = kind == TypeChar::Float && size <= 4;
        let precision = if single { Precision::F32 } else { Precision::F64 };
        Ok(Array { path: path.to_owned(), shape, values, precision })
    }
}

/// Kind and bytes of an element of real numbers.
fn element(dtype: &DType) -> Result<(TypeChar, usize), String> {
    let plain = match dtype {
        DType::Plain(plain) => plain,
        other => return Err(format!("elements {}: expected real numbers", other.descr())),
    };
    let (kind, size) = (plain.type_char(), plain.num_bytes().unwrap_or(0));
    match (kind, size) {
        (TypeChar::Bool, 1)
        | (TypeChar::Float, 2 | 4 | 8)
        | (TypeChar::Int | TypeChar::Uint, 1 | 2 | 4 | 8) => Ok((kind, size)),
        _ => Err(format!(
            "elements '{plain}': expected f2, f4, f8, bool or integers of 1 to 8 bytes"
        )),
    }
}

#[cfg(test)]
mod tests;
