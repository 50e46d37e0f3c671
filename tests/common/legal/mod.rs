//! A test kit for legalization that shares no code with it: a checker, designs that are generated
//! from a known solution, and a greedy algorithm to compare with.

mod check;
mod generate;
mod greedy;
mod sites;

pub use check::faults;
pub use generate::{Generated, heap, macros};
pub use greedy::greedy;
pub use sites::FreeSites;
