//! Commands on NumPy arrays: the solve of a given density, and single transforms.

pub(crate) mod dct;
mod order;
mod read;
pub(crate) mod solve;

use super::failure::Failure;
use super::maps::Element;
use super::options::{precision, thread_count};
use crate::Precision;
use crate::bookshelf::write::Shortest;
use crate::engines::EngineChoice;
use clap::Args;
use read::Array;

/// The options that both commands share.
#[derive(Args)]
pub(crate) struct ArrayArgs {
    /// Engine: auto, cpu, cuda or cuda:N; for `solve` also cuda:N,M… or cuda:all
    #[arg(long, value_name = "ENGINE", default_value = "auto")]
    engine: EngineChoice,
    /// Working precision [default: the precision of the file; f64 for integers]
    #[arg(long, value_parser = precision(), value_name = "TYPE")]
    precision: Option<Precision>,
    /// Threads on the CPU; 0 uses all processors
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = thread_count)]
    threads: usize,
}

impl ArrayArgs {
    /// Returns the precision given, or else that of `array`.
    fn precision(&self, array: &Array) -> Precision {
        self.precision.unwrap_or(array.precision)
    }
}

/// Shape as in `512 x 256`.
fn sizes(shape: &[usize]) -> String {
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ")
}

/// Rounds to the precision that is computed in.
///
/// # Errors
/// At the first value that is not finite, or not in that precision.
fn rounded<T: Element>(array: &Array, less: f64) -> Result<Vec<T>, Failure> {
    match array.values.iter().position(|&v| !T::cast(v).is_finite()) {
        None => Ok(array.values.iter().map(|v| T::cast(v - less)).collect()),
        Some(at) => {
            let index = order::index_of(at, &array.shape);
            let index: Vec<String> = index.iter().map(usize::to_string).collect();
            Err(format!(
                "{}: value [{}] is {}: expected a finite number of {}",
                array.path,
                index.join(", "),
                Shortest(array.values[at]),
                T::PRECISION
            )
            .into())
        }
    }
}

/// Fails where a result is beyond the numbers it is computed in.
fn check_result<T: Element>(what: &str, values: &[T]) -> Result<(), Failure> {
    if values.iter().all(|v| v.is_finite()) {
        return Ok(());
    }
    Err(format!("{what} of these values is beyond what {} holds", T::PRECISION).into())
}
