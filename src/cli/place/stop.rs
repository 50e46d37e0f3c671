//! Ctrl-C during a placement: the first one ends it after the iteration at
//! hand, so that the placement is written; the second one ends the program.

use crate::cli::failure::Failure;
use std::sync::atomic::{AtomicU32, Ordering};

/// How often the user has asked.
static ASKED: AtomicU32 = AtomicU32::new(0);

/// What a program ended by SIGINT is expected to return.
const INTERRUPTED: i32 = 130;

/// The user's wish to stop.
pub(super) struct Stop(());

/// Listens from now on, to SIGTERM and SIGHUP too.
pub(super) fn listen() -> Result<Stop, Failure> {
    ctrlc::set_handler(|| {
        if ASKED.fetch_add(1, Ordering::Relaxed) > 0 {
            std::process::exit(INTERRUPTED);
        }
    })?;
    Ok(Stop(()))
}

impl Stop {
    pub(super) fn is_asked(&self) -> bool {
        ASKED.load(Ordering::Relaxed) > 0
    }
}
