//! Every kernel compiles for every architecture we support, with no registers
//! spilled. Needs NVRTC and no GPU: `scripts/kernels-check` brings it and runs
//! these tests.
#![cfg(feature = "cuda")]

use placefield::Precision;
use placefield::cuda::compile::{Target, compile, nvrtc_version, units};
use placefield::cuda::{CudaError, probe};
use rayon::prelude::*;

const ARCHITECTURES: [u32; 4] = [75, 80, 90, 100];

#[test]
#[ignore = "needs NVRTC: run scripts/kernels-check"]
fn every_kernel_compiles_without_spills() {
    let cases: Vec<_> = units()
        .flat_map(|unit| [Precision::F32, Precision::F64].map(|precision| (unit, precision)))
        .flat_map(|(unit, precision)| ARCHITECTURES.map(|sm| (unit, precision, sm)))
        .collect();
    let spill_free = |&(unit, precision, sm): &(&str, Precision, u32)| {
        let compiled = compile(unit, precision, Target::Cubin(sm), &["--ptxas-options=-v"])
            .unwrap_or_else(|e| panic!("{e}"));
        assert!(compiled.image.starts_with(b"\x7fELF"));
        let usage = resources(&compiled.log);
        assert!(!usage.is_empty(), "{unit}: no resource usage in\n{}", compiled.log);
        for kernel in &usage {
            let what = format!("{unit} {precision} sm_{sm}: {kernel:?}");
            println!("{what}");
            assert_eq!((kernel.stack, kernel.spilled), (0, 0), "{what}");
        }
        usage.len()
    };
    let kernels: usize = cases.par_iter().with_max_len(1).map(spill_free).sum();
    assert!(kernels >= 2 * ARCHITECTURES.len() * units().count());
}

#[test]
#[ignore = "needs NVRTC: run scripts/kernels-check"]
fn the_portable_form_compiles() {
    for unit in units() {
        let ptx =
            compile(unit, Precision::F32, Target::Ptx(75), &[]).unwrap_or_else(|e| panic!("{e}"));
        let text = String::from_utf8(ptx.image).unwrap();
        assert!(text.contains(".target sm_75") && text.contains(".entry"), "{unit}");
    }
}

#[test]
#[ignore = "needs NVRTC: run scripts/kernels-check"]
fn a_refusal_shows_the_compilers_words() {
    let refused = compile("fused", Precision::F32, Target::Cubin(90), &["--define-macro=cplx=+"]);
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("kernel file fused.cu does not compile for sm_90"), "{message}");
    assert!(message.contains("error"), "{message}");
}

#[test]
fn without_nvrtc_compiling_is_an_error() {
    match compile("no such file", Precision::F32, Target::Cubin(90), &[]) {
        Err(CudaError::NoNvrtc) => assert_eq!(nvrtc_version(), None),
        Err(CudaError::NoSuchUnit(name)) => assert_eq!(name, "no such file"),
        other => panic!("{other:?}"),
    }
    assert_eq!(probe().nvrtc, nvrtc_version());
}

/// What ptxas says of one kernel.
#[derive(Debug)]
#[allow(dead_code)] // the name is there to be printed
struct Resources {
    name: String,
    registers: u32,
    stack: u32,
    spilled: u32,
}

/// Reads `ptxas -v`: "Compiling entry function 'f'", then "N bytes stack frame,
/// N bytes spill stores, N bytes spill loads", then "Used N registers".
fn resources(log: &str) -> Vec<Resources> {
    let mut found: Vec<Resources> = Vec::new();
    for line in log.lines() {
        let number_before = |what: &str| -> Option<u32> {
            line[..line.find(what)?].split_whitespace().last()?.parse().ok()
        };
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let name = rest.split('\'').next().unwrap_or_default().to_owned();
            let unknown = u32::MAX;
            found.push(Resources { name, registers: unknown, stack: unknown, spilled: unknown });
        } else if let Some(kernel) = found.last_mut() {
            if let Some(stack) = number_before(" bytes stack frame") {
                kernel.stack = stack;
                kernel.spilled = number_before(" bytes spill stores").unwrap()
                    + number_before(" bytes spill loads").unwrap();
            }
            if let Some(registers) = number_before(" registers") {
                kernel.registers = registers;
            }
        }
    }
    found
}

#[test]
fn the_assemblers_report_is_read() {
    let log = "ptxas info    : Compiling entry function 'f' for 'sm_90'\n\
               ptxas info    : Function properties for f\n\
               \x20   8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n\
               ptxas info    : Used 26 registers, used 1 barriers";
    let [kernel] = &resources(log)[..] else { panic!() };
    assert_eq!(
        (kernel.name.as_str(), kernel.registers, kernel.stack, kernel.spilled),
        ("f", 26, 8, 16)
    );
}
