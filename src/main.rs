//! The `placefield` command: parse, run, exit code.

fn main() -> std::process::ExitCode {
    placefield::cli::main()
}
