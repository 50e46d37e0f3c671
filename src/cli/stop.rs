//! Ctrl-C, SIGTERM and SIGHUP: the stages of a placement, a comparison and a benchmark end after
//! the current step or table, so that results so far are written. All other commands, and these
//! after a second interruption, end at once, and leave no incomplete file.

use crate::cli::failure::Failure;
use crate::cli::log;
use crate::output::abandon;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Whether the run looks at [`ASKED`].
static LISTENING: AtomicBool = AtomicBool::new(false);

/// Whether the user has interrupted.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Signals of one interruption come within this time: `timeout` sends one to the program and one to
/// its group.
const ONE_INTERRUPTION: Duration = Duration::from_millis(300);

/// The exit code expected of a program ended by SIGINT.
pub(in crate::cli) const INTERRUPTED: u8 = 130;

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

/// From now on an interruption does not end the program: [`is_asked`] returns it.
pub(in crate::cli) fn listen() -> Result<(), Failure> {
    end_when_asked()?;
    LISTENING.store(true, Ordering::Relaxed);
    log::begin("an interruption ends the run with what there is");
    Ok(())
}

/// Whether the user has interrupted, since [`listen`].
pub(in crate::cli) fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

fn handle() -> Result<(), ctrlc::Error> {
    let ignored = Ignored::now();
    let mut first: Option<Instant> = None;
    ctrlc::set_handler(move || {
        if !LISTENING.load(Ordering::Relaxed) {
            end("placefield: interrupted\n");
        }
        if first.get_or_insert_with(Instant::now).elapsed() > ONE_INTERRUPTION {
            end("placefield: interrupted again: nothing more is written\n");
        }
        ASKED.store(true, Ordering::Relaxed);
    })?;
    ignored.keep();
    Ok(())
}

/// Ends the program, with a message where standard error takes a line at once.
#[cfg(target_os = "linux")]
fn end(line: &str) -> ! {
    abandon();
    let mut stderr = libc::pollfd { fd: libc::STDERR_FILENO, events: libc::POLLOUT, revents: 0 };
    // SAFETY: one `pollfd` is read and written, `line` is read; exit handlers of libraries are
    // skipped, for other threads still work.
    unsafe {
        if libc::poll(&raw mut stderr, 1, 0) == 1 {
            libc::write(stderr.fd, line.as_ptr().cast(), line.len());
        }
        libc::_exit(INTERRUPTED.into())
    }
}

#[cfg(not(target_os = "linux"))]
fn end(line: &str) -> ! {
    abandon();
    eprint!("{line}");
    std::process::exit(INTERRUPTED.into())
}

/// The signals that were ignored when the program started, as `nohup` and the `&` of scripts have
/// it: they stay so.
struct Ignored(#[cfg(target_os = "linux")] Vec<libc::c_int>);

#[cfg(target_os = "linux")]
impl Ignored {
    fn now() -> Ignored {
        let ignored = |&signal: &libc::c_int| {
            // SAFETY: all zero bytes are a `sigaction`, which is only written to.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
                    && action.sa_sigaction == libc::SIG_IGN
            }
        };
        Ignored([libc::SIGINT, libc::SIGTERM, libc::SIGHUP].into_iter().filter(ignored).collect())
    }

    fn keep(&self) {
        for &signal in &self.0 {
            // SAFETY: no code of this program's handles the signal.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Ignored {
    fn now() -> Ignored {
        Ignored()
    }

    fn keep(&self) {}
}
