//! `placefield info`: engines and devices found, and why one is missing.

use super::Failure;
use clap::Args;
use std::io::{self, Write};

/// Options of `placefield info`.
#[derive(Args)]
pub(crate) struct InfoArgs {}

/// Lists engines and devices.
pub(crate) fn run(_: &InfoArgs) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    writeln!(out, "placefield {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "cpu   {threads} threads; pipelines row-column, fused; f32, f64")?;
    writeln!(out, "cuda  {}", why_no_cuda())?;
    Ok(())
}

/// Why the CUDA engine cannot be used.
pub(crate) fn why_no_cuda() -> String {
    "the CUDA engine is not part of this version".to_owned()
}
