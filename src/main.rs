//! The `placefield` command: parse, run, exit code.

#[global_allocator]
static ALLOCATOR: placefield::cli::Allocator = placefield::cli::Allocator;

/// Set before `main`, and before the standard library opens `/dev/null` where standard output is
/// closed.
#[cfg(target_os = "linux")]
static OUTPUT_IS_CLOSED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

#[cfg(target_os = "linux")]
#[used]
// SAFETY: the section holds functions that the loader calls once before `main`.
#[unsafe(link_section = ".init_array")]
static LOOK_AT_OUTPUT: extern "C" fn() = {
    extern "C" fn look() {
        // SAFETY: it asks for the flags of a descriptor, open or not.
        let closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1;
        OUTPUT_IS_CLOSED.store(closed, std::sync::atomic::Ordering::Relaxed);
    }
    look
};

fn main() -> std::process::ExitCode {
    #[cfg(target_os = "linux")]
    if OUTPUT_IS_CLOSED.load(std::sync::atomic::Ordering::Relaxed) {
        placefield::cli::standard_output_is_closed();
    }
    let command = match placefield::cli::CommandLine::read() {
        Ok(command) => command,
        Err(code) => return code,
    };
    let mut variables = command.variables();
    // Ranks send messages from one to another: NCCL needs no NVLink multicast for that.
    if cfg!(feature = "cuda") && std::env::var_os("NCCL_NVLS_ENABLE").is_none() {
        variables.push(("NCCL_NVLS_ENABLE", "0".to_owned()));
    }
    for (name, value) in variables {
        // SAFETY: no other thread has been started.
        unsafe { std::env::set_var(name, value) };
    }
    // Writing beyond `ulimit -f` is an error of the write, as on a full disk, and does not end the
    // program.
    #[cfg(target_os = "linux")]
    // SAFETY: no code of this program's handles the signal.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN)
    };
    command.run()
}
