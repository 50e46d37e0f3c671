//! Reports of a run: numbers with stable names, and pages to open in a browser.

pub(crate) mod assemble;
mod command;
pub(crate) mod difference;
mod maps;
mod pack;
pub(crate) mod page;
pub(crate) mod part;
pub(crate) mod run;

pub(crate) use command::{ReportArgs, run as run_command};
pub(crate) use maps::{MOST_BINS, WIDTH, path};
