//! Nothing to build yet: the kernels' embedding comes with the CUDA engine.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
