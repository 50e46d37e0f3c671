//! Pictures: what stands where, in all formats, and every odd shape of input.

mod canvas;
mod charts;
mod files;
mod heat_map;
mod read;
mod reference;
