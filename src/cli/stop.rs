//! Ctrl-C during a placement or a benchmark: the first one ends it after the iteration or table at
//! hand, so that what there is is written; the second one ends the program.

use crate::cli::failure::Failure;
use std::sync::atomic::{AtomicU32, Ordering};

/// How often the user has asked.
static ASKED: AtomicU32 = AtomicU32::new(0);

/// What a program ended by SIGINT is expected to return.
const INTERRUPTED: i32 = 130;

/// Listens from now on, to SIGTERM and SIGHUP too.
pub(in crate::cli) fn listen() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        if ASKED.fetch_add(1, Ordering::Relaxed) > 0 {
            std::process::exit(INTERRUPTED);
        }
    })?;
    Ok(())
}

/// Whether the user has asked, since [`listen`].
pub(in crate::cli) fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed) > 0
}
