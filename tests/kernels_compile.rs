//! Every kernel compiles for every architecture we support, with no registers
//! spilled. Needs NVRTC and no GPU: `scripts/kernels-check` brings it and runs
//! these tests.
#![cfg(feature = "cuda")]

use placefield::Precision;
use placefield::cuda::internals::compile::{Compiled, Target, compile, nvrtc_version, units};
use placefield::cuda::{CudaError, probe};
use rayon::prelude::*;

#[path = "../src/cuda/lines/instances.rs"]
mod instances;
#[allow(dead_code)]
#[path = "../src/cuda/lines/shapes.rs"]
mod shapes;

/// Architectures, and the line lengths of which every one gets kernels here: sm_90 has all powers
/// of two, every other class of shared memory the lengths of usual maps and its longest.
const ARCHITECTURES: [(u32, &[usize]); 7] = [
    (75, &[512, 1024, 2048, 4096]),
    (80, &[1024, 8192]),
    (86, &[512, 2048, 4096]),
    (89, &[512]),
    (90, &[64, 128, 256, 512, 1024, 2048, 4096, 8192]),
    (100, &[512, 4096]),
    (120, &[512]),
];

/// Lengths of which the solve's kernels for several maps and for several devices are compiled too.
const ALL_FORMS: [usize; 2] = [512, 4096];

/// A kernel file with its macros.
struct Case {
    unit: &'static str,
    precision: Precision,
    sm: u32,
    options: Vec<String>,
    /// Must not spill.
    hot: bool,
}

/// Kernels that a 2-D DCT and its inverses take beyond the first pass of the solve.
fn transforms() -> [(&'static str, shapes::Role, instances::Defines); 3] {
    use instances::{FIRST, Pass};
    let last = Pass { halves: 2, ..FIRST };
    let back = Pass { forward: false, ..FIRST };
    let [rows, columns] = [shapes::Role::Rows, shapes::Role::Columns];
    let pass = |role, pass: Pass<'_>| ("transform", role, pass.defines());
    let panel = ["PanelColumns", "MapColumns"];
    let last_rows = Pass { places: ["PanelRows", "MapRows"], input: "cplx", halves: 2, ..back };
    [
        pass(columns, Pass { places: panel, input: "cplx", ..last }),
        pass(columns, Pass { places: ["MapColumns", "PanelColumns"], ..back }),
        pass(rows, last_rows),
    ]
}

/// How much is compiled.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    /// The lengths of [`ARCHITECTURES`]; transforms of integers through cuFFT in their largest
    /// form, of three axes.
    Usual,
    /// Every length and every instance.
    All,
}

/// The instances of one file for an architecture, of lines of these lengths.
fn cases(
    unit: &'static str,
    precision: Precision,
    (sm, lengths): (u32, &[usize]),
    extent: Extent,
) -> Vec<Case> {
    let real = if precision == Precision::F64 { 8 } else { 4 };
    let slabs = instances::slabs(2, 64 / real, 16 / real);
    let [single, batch] = [false, true].map(instances::solve);
    let usual: Vec<_> = single.into_iter().chain(transforms()).collect();
    let kernels = [usual.clone(), batch.into(), slabs.into()].concat();
    let with = |options| Case { unit, precision, sm, options, hot: true };
    let options = |defines: instances::Defines| -> Vec<String> {
        let option = |(name, value)| format!("--define-macro={name}={value}");
        defines.into_iter().map(option).collect()
    };
    let bodies = ["order", "density", "force"].contains(&unit);
    let several = bodies && unit != "density" || unit == "wirelength";
    if bodies || several {
        let other =
            |name, wanted: bool| wanted.then(|| with(vec![format!("--define-macro={name}=1")]));
        // Few designs have macros thinner than two bins: what these kernels spill does not matter.
        let thin = other("PF_THIN_MACROS", unit == "density");
        let thin = thin.map(|thin| Case { hot: false, ..thin });
        let others = [other("PF_REGIONS", bodies), other("PF_SEVERAL", several), thin];
        return [with(Vec::new())].into_iter().chain(others.into_iter().flatten()).collect();
    }
    if kernels.iter().all(|(of, ..)| *of != unit) {
        let integers_of_three = instances::INTEGERS.map(|input| instances::spectral(3, input));
        let of_real = |of: &instances::Defines| {
            of.iter().all(|(name, value)| *name != "PF_INPUT" || value == "real")
        };
        let taken = |of: &instances::Defines| {
            extent == Extent::All || of_real(of) || integers_of_three.contains(of)
        };
        let others = instances::others(unit).into_iter().filter(taken);
        // Searches of refinement keep their candidates in a thread's own memory.
        let hot = !["swap", "rows", "commit"].contains(&unit);
        return others.map(|of| Case { hot, ..with(options(of)) }).collect();
    }
    let limits = instances::limits_of(sm);
    let of_length = |n: usize| {
        let has_all = extent == Extent::All || ALL_FORMS.contains(&n);
        let kernels = if has_all { &kernels } else { &usual };
        let of = instances::of_length(unit, kernels, (real, n), limits);
        of.into_iter().map(move |defines| (n, defines))
    };
    let case = |(n, defines): (usize, instances::Defines)| {
        let hot = n.is_power_of_two() && n <= 8192;
        Case { hot, ..with(options(defines)) }
    };
    lengths.iter().copied().flat_map(of_length).map(case).collect()
}

fn compiled(case: &Case, target: Target, more: &[&str]) -> Compiled {
    let options: Vec<&str> = case.options.iter().map(String::as_str).chain(more.to_vec()).collect();
    let compiled = compile(case.unit, case.precision, target, &options);
    compiled.unwrap_or_else(|e| panic!("{} {:?}: {e}", case.unit, case.options))
}

/// The oldest NVRTC that knows an architecture: release notes of CUDA 12.8 and 13.0.
fn first_release(sm: u32) -> (i32, i32) {
    if sm >= 100 { (12, 8) } else { (12, 0) }
}

/// Compiles every file for every architecture that this NVRTC knows.
fn compile_all(extent: Extent) {
    let version = nvrtc_version().expect("NVRTC is on the loader's path");
    let (known, unknown): (Vec<_>, Vec<_>) =
        ARCHITECTURES.into_iter().partition(|&(sm, _)| version >= first_release(sm));
    for (sm, _) in unknown {
        println!("NVRTC {}.{} does not know sm_{sm}: not checked", version.0, version.1);
    }
    let mut all: Vec<Case> = Vec::new();
    for (unit, &(sm, usual)) in units().flat_map(|unit| known.iter().map(move |of| (unit, of))) {
        let lengths = match extent {
            Extent::Usual => usual.to_vec(),
            Extent::All => (shapes::SHORTEST..=shapes::LONGEST).collect(),
        };
        for precision in [Precision::F32, Precision::F64] {
            all.extend(cases(unit, precision, (sm, &lengths), extent));
        }
    }
    let check = |case: &Case| {
        let compiled = compiled(case, Target::Cubin(case.sm), &["--ptxas-options=-v"]);
        assert!(compiled.image.starts_with(b"\x7fELF"));
        let usage = resources(&compiled.log);
        assert!(!usage.is_empty(), "{}: no resource usage in\n{}", case.unit, compiled.log);
        let mut spilling = 0;
        for kernel in &usage {
            let what = format!(
                "{} {} sm_{} {}: {kernel:?}",
                case.unit,
                case.precision,
                case.sm,
                case.options.join(" ").replace("--define-macro=PF_", "")
            );
            println!("{what}");
            let spills = (kernel.stack, kernel.spilled) != (0, 0);
            // The table was made by CUDA 13's compiler; an older one may want a few registers more.
            assert!(!(spills && case.hot && version.0 >= 13), "{what}");
            spilling += usize::from(spills);
        }
        (usage.len(), spilling)
    };
    let counts: Vec<_> = all.par_iter().with_max_len(1).map(check).collect();
    let kernels: usize = counts.iter().map(|(kernels, _)| kernels).sum();
    let spilling: usize = counts.iter().map(|(_, spilling)| spilling).sum();
    println!(
        "{kernels} kernels compiled by NVRTC {}.{}, of which {spilling} spill",
        version.0, version.1
    );
    assert!(kernels >= 2 * known.len() * units().count());
}

#[test]
#[ignore = "needs NVRTC: run scripts/kernels-check"]
fn kernels_compile_and_hot_ones_do_not_spill() {
    compile_all(Extent::Usual);
}

#[test]
#[ignore = "takes an hour or two: run scripts/kernels-check --all"]
fn every_length_compiles() {
    compile_all(Extent::All);
}

#[test]
#[ignore = "needs NVRTC: run scripts/kernels-check"]
fn the_portable_form_compiles() {
    for unit in units() {
        let cases = cases(unit, Precision::F32, (75, &[512]), Extent::Usual);
        assert!(!cases.is_empty(), "{unit}");
        for case in cases {
            let text = String::from_utf8(compiled(&case, Target::Ptx(75), &[]).image).unwrap();
            assert!(text.contains(".target sm_75") && text.contains(".entry"), "{unit}");
        }
    }
}

/// On every class of device a solve of every power of two that it must have.
#[test]
fn every_device_has_shapes_for_all_lengths() {
    for (sm, _) in ARCHITECTURES {
        let limits = instances::limits_of(sm);
        let has = |real, n| {
            shapes::Role::ALL
                .into_iter()
                .all(|role| shapes::choose(role, real, (n, n / 2), limits).is_some())
        };
        let longest = if limits.shared >= 163 << 10 { [8192, 8192] } else { [4096, 2048] };
        for (real, longest) in [4, 8].into_iter().zip(longest) {
            for n in (6..14).map(|k| 1 << k).filter(|&n| n <= longest) {
                assert!(has(real, n), "{n}, {real} bytes, sm_{sm}");
            }
        }
        // Up to 8192 where there is shared memory: 2^a with 1, 3, 5, 9, 15 and 25, and divisors of
        // 10000.
        let odd = [1usize, 3, 5, 9, 15, 25].into_iter();
        let powers = odd.flat_map(|odd| (1..14).map(move |k| odd << k));
        let hundreds = [1, 2, 4, 5, 10, 20, 25, 50].map(|d| 100 * d);
        for n in powers.filter(|n| (64..=8192).contains(n)).chain(hundreds) {
            for (real, longest) in [4, 8].into_iter().zip(longest) {
                assert!(n > longest || has(real, n), "{n}, {real} bytes, sm_{sm}");
            }
        }
        assert!(limits.shared < 163 << 10 || has(4, 10000), "sm_{sm}");
        // In f64 a column of the solve takes 1 KB more than blocks have on an A100.
        assert!(limits.shared < 227 << 10 || has(8, 10000), "sm_{sm}");
    }
}

/// All candidates are sound, and the shapes of the table are among them or variants of them.
#[test]
fn candidates_can_run() {
    let limits = instances::limits_of(90);
    for (role, real, n) in
        shapes::Role::ALL.into_iter().flat_map(|r| [(r, 4, 1000), (r, 8, 2048), (r, 4, 8192)])
    {
        let all = shapes::candidates(role, real, n, limits);
        assert!(all.len() > 10, "{role:?} {n}: {}", all.len());
        for shape in all {
            assert!(shape.runs_on(limits) && shape.bytes() <= limits.shared);
            assert!(shape.threads() <= 1024 && shape.blocks(limits) >= 1, "{shape:?}");
            assert!(!shapes::Shape { lanes: 3, ..shape }.runs_on(limits));
            assert!(!shapes::Shape { n: n + 2, ..shape }.runs_on(limits));
        }
    }
}

#[test]
#[ignore = "needs NVRTC: run scripts/kernels-check"]
fn compile_errors_show_the_compiler_log() {
    let refused =
        compile("spectral", Precision::F32, Target::Cubin(90), &["--define-macro=cplx=+"]);
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("kernel file spectral.cu does not compile for sm_90"), "{message}");
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

/// The report of ptxas on one kernel.
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
