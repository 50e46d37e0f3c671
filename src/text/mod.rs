//! Code that readers of text files share: files, compressed or not; words and their positions; maps
//! from names to indices; and columns that parts of a file fill.

pub(crate) mod columns;
pub(crate) mod compression;
pub(crate) mod error;
pub(crate) mod file;
pub(crate) mod index;
pub(crate) mod loaded;
pub(crate) mod notes;
pub(crate) mod parts;
pub(crate) mod scan;
