//! Pictures: what stands where, in both formats, and every odd shape of input.

mod charts;
mod files;
mod heat_map;
mod read;
