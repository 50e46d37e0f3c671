//! Compares the memory that a run needs with the available memory before it allocates.

use super::failure::Failure;
use crate::Precision;
use crate::cpu::engine::CpuEngine;
use crate::grid::BinGrid;
use crate::memory;
use crate::real::with_precision;

/// Fails when the maps of `grid` for so many regions will not fit into memory.
pub(crate) fn check_bins(
    grid: &BinGrid,
    regions: usize,
    precision: Precision,
) -> Result<(), Failure> {
    let of = match regions {
        1 => String::new(),
        _ => format!(" (--bins) for each of {regions} regions"),
    };
    let what = format!("{} x {} bins{of}", grid.nx(), grid.ny());
    let each = with_precision!(precision, T => CpuEngine::<T>::BYTES_PER_BIN);
    Ok(memory::require(&what, (grid.bins() as u64).saturating_mul((regions * each) as u64))?)
}

/// Returns the most bytes of memory that this process has had at a time, where the system says.
pub(crate) fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(1024 * kibibytes)
}
