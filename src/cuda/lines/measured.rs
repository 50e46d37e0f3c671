//! The best division of lines on a device, as [`tune`](crate::cuda::tuning::tune) has measured it.
//!
//! A file next to the kernel cache stores the best shapes, and can be deleted without loss. A file
//! for another device, version or set of kernels is ignored. The file's content is checked like
//! every choice, so it can cost time but never correctness.

use super::shapes::{Limits, Role, Shape, SpectrumStorage};
use crate::cuda::device::Gpu;
use crate::cuda::device::compile::{cache_folder, source_hash};
use crate::output::write_whole;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Returns the first line of the file: its format and columns, this version, its kernels and the
/// device.
fn made_for(gpu: &Gpu) -> String {
    let (version, kernels, info) = (env!("CARGO_PKG_VERSION"), source_hash(), gpu.info());
    let (count, shared) = (info.multiprocessors, info.shared_memory);
    let device = format!("{}, {count} multiprocessors, {shared} bytes", info.name);
    format!("format 3, placefield {version}, kernels {kernels:016x}, {device}")
}

/// The best division of the lines of one pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Tuned {
    /// `rows`, `columns`, `solve` or `fields`.
    pub role: String,
    /// Bytes of a real number.
    pub real: usize,
    /// Elements of a line.
    pub n: usize,
    /// Elements in a thread.
    pub elements: usize,
    /// Radices of the stages between the first and the last.
    pub middle: [usize; 2],
    /// Lines side by side.
    pub lanes: usize,
    /// Groups of threads in a block.
    pub groups: usize,
    /// Whether exchanges go through shared memory in halves.
    pub split: bool,
    /// Whether addresses are computed twice.
    pub recompute: bool,
    /// 0: in registers; 1: a quarter in shared memory; 2: in shared memory; 3: separate FFTs.
    pub keep: u8,
    /// Threads per multiprocessor that registers must suffice for.
    pub resident: usize,
    /// Microseconds of the timed operation (a solve, a DCT and an IDCT, or both): first with this
    /// shape, then with the table's choice.
    pub microseconds: [f64; 2],
    /// The number of timed candidates, and of those that failed to compile or gave other results.
    pub candidates: [usize; 2],
}

impl Tuned {
    pub(crate) fn new(shape: &Shape, microseconds: [f64; 2], candidates: [usize; 2]) -> Self {
        Tuned {
            role: shape.role.name().into(),
            real: shape.real,
            n: shape.n,
            elements: shape.elements,
            middle: shape.middle,
            lanes: shape.lanes,
            groups: shape.groups,
            split: shape.split,
            recompute: shape.recompute,
            keep: shape.keep as u8,
            resident: shape.resident,
            microseconds,
            candidates,
        }
    }

    /// Returns the shape if this device can run it.
    fn shape(&self, limits: Limits) -> Option<Shape> {
        let shape = Shape {
            role: Role::ALL.into_iter().find(|role| role.name() == self.role)?,
            n: self.n,
            elements: self.elements,
            middle: self.middle,
            lanes: self.lanes,
            groups: self.groups,
            split: self.split,
            recompute: self.recompute,
            keep: SpectrumStorage::ALL.get(usize::from(self.keep)).copied()?,
            resident: self.resident,
            real: self.real,
        };
        Some(shape).filter(|shape| shape.runs_on(limits))
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct File {
    made_for: String,
    rows: Vec<Tuned>,
}

/// Returns the file of a device; `None` if there is no cache.
pub fn file(gpu: &Gpu) -> Option<PathBuf> {
    let name: String =
        gpu.info().name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    cache_folder().map(|folder| folder.join(format!("tuned-{name}.json")))
}

fn read(gpu: &Gpu) -> Option<File> {
    let found: File = serde_json::from_slice(&std::fs::read(file(gpu)?).ok()?).ok()?;
    (found.made_for == made_for(gpu)).then_some(found)
}

/// Returns the shapes measured on a device that it can run.
pub(super) fn measured(gpu: &Gpu, limits: Limits) -> Vec<Shape> {
    let rows = read(gpu).map_or(Vec::new(), |file| file.rows);
    rows.iter().filter_map(|row| row.shape(limits)).collect()
}

/// Stores `rows` in the device's file, which keeps its entries for other lengths.
///
/// # Errors
/// [`std::io::Error`] if there is no folder for the file, or it cannot be written.
pub fn keep(gpu: &Gpu, rows: &[Tuned]) -> std::io::Result<PathBuf> {
    let path = file(gpu).ok_or_else(|| {
        let none = "no cache: neither PLACEFIELD_CACHE nor a home is set";
        std::io::Error::new(std::io::ErrorKind::NotFound, none)
    })?;
    let key = |row: &Tuned| (row.role.clone(), row.real, row.n);
    let mut all = read(gpu).map_or(Vec::new(), |file| file.rows);
    all.retain(|old| rows.iter().all(|new| key(new) != key(old)));
    all.extend_from_slice(rows);
    all.sort_by_key(key);
    let text = serde_json::to_string_pretty(&File { made_for: made_for(gpu), rows: all })?;
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    write_whole(&path, |file| file.write_all(text.as_bytes()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::super::shapes::choose;
    use super::*;

    const LIMITS: Limits = Limits { shared: 227 << 10, threads: 2048 };

    #[test]
    fn tuned_rows_survive_json() {
        for (role, real, n) in
            [(Role::Rows, 8, 1000), (Role::Solve, 4, 4096), (Role::Fields, 4, 96)]
        {
            let shape = choose(role, real, (n, n / 2), LIMITS).unwrap();
            let row = Tuned::new(&shape, [1.0, 2.0], [10, 1]);
            let text = serde_json::to_string(&row).unwrap();
            let read: Tuned = serde_json::from_str(&text).unwrap();
            assert_eq!(read, row);
            assert_eq!(read.shape(LIMITS), Some(shape));
        }
    }

    /// A file can have any content.
    #[test]
    fn shapes_that_cannot_run_are_not_counted() {
        let shape = choose(Role::Solve, 4, (2048, 1024), LIMITS).unwrap();
        let row = Tuned::new(&shape, [1.0, 2.0], [10, 1]);
        let wrong = [
            Tuned { role: "roles".into(), ..row.clone() },
            Tuned { elements: 0, ..row.clone() },
            Tuned { elements: usize::MAX, ..row.clone() },
            Tuned { n: 0, ..row.clone() },
            Tuned { n: usize::MAX, ..row.clone() },
            Tuned { middle: [0, 8], ..row.clone() },
            Tuned { middle: [1, 8], ..row.clone() },
            Tuned { lanes: 3, ..row.clone() },
            Tuned { groups: 0, ..row.clone() },
            Tuned { groups: 2, ..row.clone() },
            Tuned { real: 2, ..row.clone() },
            Tuned { keep: 4, ..row.clone() },
            Tuned { real: 8, keep: 3, ..row.clone() },
        ];
        for row in wrong {
            assert_eq!(row.shape(LIMITS), None, "{row:?}");
        }
        let shape = choose(Role::Fields, 4, (64, 32), LIMITS).unwrap();
        let fields = Tuned::new(&shape, [1.0, 2.0], [10, 1]);
        assert!(shape.groups > 1 && fields.shape(LIMITS).is_some());
        let part_of_a_warp = Tuned { groups: 1, ..fields };
        assert_eq!(part_of_a_warp.shape(LIMITS), None, "its energy is a whole warp's sum");
        let small = Limits { shared: 48 << 10, threads: 1024 };
        assert!(row.shape(LIMITS).is_some() && row.shape(small).is_none());
        let any = Tuned { resident: usize::MAX, ..row };
        assert!(any.shape(LIMITS).is_some_and(|shape| (1..=16).contains(&shape.blocks(LIMITS))));
    }
}
