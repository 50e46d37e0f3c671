//! Ways of dividing lines that are timed on a device.

use crate::device::gpu;
use placefield::cuda::internals::tuning::tune;
use placefield::cuda::{CudaReal, Gpu};

/// A candidate that does not compile, or gives other results than the table's choice, has failed.
fn every_pass_is_timed<T: CudaReal>(gpu: &Gpu, n: usize) {
    let mut seen = Vec::new();
    let rows = tune::<T>(gpu, n, |row| seen.push(row.clone())).unwrap();
    assert_eq!(rows, seen);
    let roles: Vec<_> = rows.iter().map(|row| row.role.as_str()).collect();
    assert_eq!(roles, ["solve", "fields", "rows", "columns"]);
    for row in &rows {
        println!("{row:?}");
        assert_eq!((row.n, row.real), (n, size_of::<T>()));
        let [least, table] = row.microseconds;
        assert!(0.0 < least && least <= table, "{row:?}");
        let [timed, failed] = row.candidates;
        assert!(timed > 1 && failed == 0, "{row:?}");
    }
}

#[test]
fn every_pass_of_a_length_is_timed() {
    let gpu = gpu();
    every_pass_is_timed::<f32>(&gpu, 64);
    every_pass_is_timed::<f64>(&gpu, 64);
}
