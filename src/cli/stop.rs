//! Ctrl-C, SIGTERM and SIGHUP: a placement, a comparison and a benchmark end after the iteration or
//! table at hand, so that what there is is written. All else, and whoever is asked again, ends at
//! once, and leaves no file that is half written.

use crate::cli::failure::Failure;
use crate::cli::results::say;
use crate::output::abandon;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Whether the run looks at [`ASKED`].
static LISTENING: AtomicBool = AtomicBool::new(false);

/// Whether the user has asked.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Signals of one interruption come within this time: `timeout` sends one to the program and one to its group.
const ONE_INTERRUPTION: Duration = Duration::from_millis(300);

/// What a program ended by SIGINT is expected to return.
const INTERRUPTED: i32 = 130;

/// Has an interruption end the program from now on, with nothing half written left behind.
pub(in crate::cli) fn end_when_asked() -> Result<(), Failure> {
    static HANDLER: Once = Once::new();
    let mut set = Ok(());
    HANDLER.call_once(|| set = handle());
    set.map_err(|error| match error {
        ctrlc::Error::System(why) => {
            format!("no thread could be started for interruptions: {why}").into()
        }
        other => other.into(),
    })
}

/// Has an interruption be asked for by [`is_asked`] from now on.
pub(in crate::cli) fn listen() -> Result<(), Failure> {
    LISTENING.store(true, Ordering::Relaxed);
    end_when_asked()
}

/// Whether the user has asked, since [`listen`].
pub(in crate::cli) fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

fn handle() -> Result<(), ctrlc::Error> {
    let hang_up = HangUp::now();
    let mut first: Option<Instant> = None;
    ctrlc::set_handler(move || {
        if !LISTENING.load(Ordering::Relaxed) {
            end("placefield: interrupted");
        }
        if first.get_or_insert_with(Instant::now).elapsed() > ONE_INTERRUPTION {
            end("placefield: interrupted again: nothing more is written");
        }
        ASKED.store(true, Ordering::Relaxed);
    })?;
    hang_up.keep();
    Ok(())
}

fn end(line: &str) -> ! {
    abandon();
    say(line);
    // What libraries do at the end of a process is not for one whose threads still work.
    #[cfg(target_os = "linux")]
    // SAFETY: it runs nothing of this program's.
    unsafe {
        libc::_exit(INTERRUPTED)
    }
    #[cfg(not(target_os = "linux"))]
    std::process::exit(INTERRUPTED)
}

/// Whether SIGHUP was ignored when the program started, as `nohup` has it; then it stays so.
struct HangUp {
    ignored: bool,
}

#[cfg(target_os = "linux")]
impl HangUp {
    fn now() -> HangUp {
        // SAFETY: all zero bytes are a `sigaction`, which is only written to.
        let ignored = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGHUP, std::ptr::null(), &raw mut action) == 0
                && action.sa_sigaction == libc::SIG_IGN
        };
        HangUp { ignored }
    }

    fn keep(&self) {
        if self.ignored {
            // SAFETY: no code of this program's handles the signal.
            unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl HangUp {
    fn now() -> HangUp {
        HangUp { ignored: false }
    }

    fn keep(&self) {
        let HangUp { ignored: _ } = self;
    }
}
