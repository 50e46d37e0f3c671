//! Memory that a run will need, compared with what there is before it is taken.

use super::engines::with_precision;
use super::failure::Failure;
use crate::Precision;
use crate::cpu::engine::CpuEngine;
use crate::grid::BinGrid;

/// Below this size nothing is checked: 1 GiB.
const ALWAYS: u64 = 1 << 30;

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
    check(&what, (grid.bins() as u64).saturating_mul((regions * each) as u64))
}

/// Fails when `needed` bytes for `what` are more than there are.
pub(crate) fn check(what: &str, needed: u64) -> Result<(), Failure> {
    match available() {
        Some(there) if needed > ALWAYS && needed > there => Err(format!(
            "{what} need about {} of memory, and {} are available",
            gigabytes(needed),
            gigabytes(there)
        )
        .into()),
        _ => Ok(()),
    }
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// Returns the most bytes of memory that this process has had at a time, where the system says.
pub(crate) fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(1024 * kibibytes)
}

/// Returns the bytes that this process could still take, where the system says.
#[cfg(target_os = "linux")]
pub(crate) fn available() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let number = |path: &str| read(path)?.trim().parse::<u64>().ok();
    let field = |text: &str, key: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let memory = field(&read("/proc/meminfo")?, "MemAvailable:")? * 1024;
    // A control group may allow less (the second version's files), and so may `ulimit -v`.
    let group = || {
        let limit = number("/sys/fs/cgroup/memory.max")?;
        Some(limit.saturating_sub(number("/sys/fs/cgroup/memory.current")?))
    };
    let address_space = || {
        let limits = read("/proc/self/limits")?;
        let limit = field(&limits, "Max address space")?;
        let taken = field(&read("/proc/self/status")?, "VmSize:")? * 1024;
        Some(limit.saturating_sub(taken))
    };
    [Some(memory), group(), address_space()].into_iter().flatten().min()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn available() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_memory_is_refused_with_its_size() {
        assert!(check("nothing", 0).is_ok() && check("little", ALWAYS).is_ok());
        if available().is_some() {
            let error = check("all", 1 << 60).unwrap_err().to_string();
            assert!(error.starts_with("all need about 1152921504.6 GB of memory, and "), "{error}");
        }
    }
}
