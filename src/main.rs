//! The `placefield` command: parse, run, exit code.

#[global_allocator]
static ALLOCATOR: placefield::cli::Allocator = placefield::cli::Allocator;

fn main() -> std::process::ExitCode {
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
