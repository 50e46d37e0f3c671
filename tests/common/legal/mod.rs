//! A test kit for legalization that shares no code with it: a checker, designs that are generated
//! from a known solution, and a greedy algorithm to compare with.

pub mod check;
pub mod generate;
pub mod greedy;
pub mod sites;
