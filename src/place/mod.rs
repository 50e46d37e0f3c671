//! A global placer in the style of ePlace, on the public API of the other rooms.

pub mod backend;
pub mod bounds;
