//! The `placefield` command: parse, run, exit code.

mod out_of_memory;

#[global_allocator]
static ALLOCATOR: out_of_memory::Allocator = out_of_memory::Allocator;

fn main() -> std::process::ExitCode {
    placefield::cli::main()
}
