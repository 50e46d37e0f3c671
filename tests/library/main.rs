//! The library on the CPU: readers, transforms, the field solve, density and force,
//! the placer's pieces and pictures.

mod bookshelf;
mod causes;
mod changes;
#[path = "../common/mod.rs"]
mod common;
mod conformance;
mod congestion;
mod density_golden;
mod design;
mod fences;
mod flat;
#[cfg(feature = "cli")]
mod generated;
mod golden;
mod history;
mod layouts;
mod lefdef;
mod legalize;
mod memory;
mod off_die;
mod place;
#[cfg(feature = "cli")]
mod placer;
#[cfg(feature = "plot")]
mod plot;
mod readers;
mod scipy;
mod transforms;
