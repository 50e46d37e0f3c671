//! Ctrl-C during a placement or a benchmark: the first one ends it after the iteration or table at
//! hand, so that what there is is written; the second one ends the program.

use crate::cli::failure::Failure;
use crate::cli::results::say;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Whether the user has asked.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Signals of one interruption come within this time: `timeout` sends one to the program and one to its group.
const ONE_INTERRUPTION: Duration = Duration::from_millis(300);

/// What a program ended by SIGINT is expected to return.
const INTERRUPTED: i32 = 130;

/// Listens from now on, to SIGTERM and SIGHUP too.
pub(in crate::cli) fn listen() -> Result<(), Failure> {
    let mut first: Option<Instant> = None;
    ctrlc::set_handler(move || {
        if first.get_or_insert_with(Instant::now).elapsed() > ONE_INTERRUPTION {
            say("placefield: interrupted again: nothing more is written");
            std::process::exit(INTERRUPTED);
        }
        ASKED.store(true, Ordering::Relaxed);
    })?;
    Ok(())
}

/// Whether the user has asked, since [`listen`].
pub(in crate::cli) fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
