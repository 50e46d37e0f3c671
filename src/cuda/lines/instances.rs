//! Macros that the kernels are compiled with, as one set for each instance.
//!
//! Depends only on the shapes in the rest of the crate, so that `build.rs` and the check that every
//! kernel compiles can include it too.

use super::shapes::{Limits, Role, Shape, choose};

/// Names and values of macros.
pub(crate) type Defines = Vec<(&'static str, String)>;

/// Returns the macros, by name, of a kernel for `lines` lines. `shape` gives the division of the
/// lines, and `does` the kernel's operations.
pub(crate) fn instance(shape: &Shape, limits: Limits, lines: usize, does: Defines) -> Defines {
    // The solve's second pass does not use it. Without this there would be two of the same kernel.
    let whole = shape.role == Role::Solve || lines.is_multiple_of(shape.lines());
    let mut defines = shape.defines(limits);
    defines.extend(does);
    defines.push(("PF_WHOLE", u8::from(whole).to_string()));
    defines.sort();
    defines
}

/// The kernels' names of the integers that a transform can read: `src/cuda/device/input.rs`.
#[allow(dead_code)] // the crate asks the types
pub(crate) const INTEGERS: [&str; 6] = ["u8", "i8", "u16", "i16", "u32", "i32"];

/// Returns the macros of `kernels/fft/transforms.cu` and `kernels/solve/spectral.cu` for transforms
/// of `axes` axes at once that read values of type `input`.
pub(crate) fn spectral(axes: usize, input: &str) -> Defines {
    vec![("PF_INPUT", input.to_owned()), ("PF_RANK", axes.to_string())]
}

/// Returns the instances of a file whose kernels do not depend on the length.
pub(crate) fn others(unit: &str) -> Vec<Defines> {
    let of = |axes| move |input: &&str| spectral(axes, input);
    match unit {
        "transforms" => {
            let inputs = [&["real"][..], &INTEGERS].concat();
            (1..=3).flat_map(|axes| inputs.iter().map(of(axes)).collect::<Vec<_>>()).collect()
        }
        "spectral" => vec![spectral(1, "real"), spectral(2, "real")],
        "density" => vec![Vec::new(), vec![("PF_THIN_MACROS", "1".to_owned())]],
        // A proposal of detailed placement has a warp, or a block if it has many changes.
        "commit" => [32, 128].map(|threads| vec![("PF_THREADS", threads.to_string())]).into(),
        _ => vec![Vec::new()],
    }
}

/// One pass of a transform: `kernels/lines/transform.cu`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass<'a> {
    /// Whether it is a DCT, not an inverse.
    pub(crate) forward: bool,
    /// The layout of lines before and after: `kernels/lines/places.cuh`.
    pub(crate) places: [&'a str; 2],
    /// Type of the values read.
    pub(crate) input: &'a str,
    /// Whether the number of rows is odd.
    pub(crate) odd: bool,
    /// The number of factors ½ of transforms that the stores compensate for.
    pub(crate) halves: usize,
    /// Whether small coefficients become zero.
    pub(crate) threshold: bool,
    /// Whether input and output may be the same memory.
    pub(crate) in_place: bool,
    /// Whether there is more than one map.
    pub(crate) batch: bool,
}

impl Pass<'_> {
    pub(crate) fn defines(&self) -> Defines {
        let flag = |is: bool| u8::from(is).to_string();
        let [from, to] = self.places;
        vec![
            ("PF_FORWARD", flag(self.forward)),
            ("PF_FROM", from.into()),
            ("PF_TO", to.into()),
            ("PF_INPUT", self.input.into()),
            ("PF_ODD", flag(self.odd)),
            ("PF_HALVES", self.halves.to_string()),
            ("PF_THRESHOLD", flag(self.threshold)),
            ("PF_IN_PLACE", flag(self.in_place)),
            ("PF_BATCH", flag(self.batch)),
        ]
    }
}

/// The first pass of the solve and of a DCT.
pub(crate) const FIRST: Pass<'static> = Pass {
    forward: true,
    places: ["MapRows", "PanelRows"],
    input: "real",
    odd: false,
    halves: 0,
    threshold: false,
    in_place: false,
    batch: false,
};

/// Returns the kernels of the solve of one map, or with `batch` of several: file, role, operations.
pub(crate) fn solve(batch: bool) -> [(&'static str, Role, Defines); 3] {
    let several = || if batch { vec![("PF_BATCH", "1".to_owned())] } else { Vec::new() };
    [
        ("transform", Role::Rows, Pass { batch, ..FIRST }.defines()),
        ("columns", Role::Solve, several()),
        ("fields", Role::Fields, several()),
    ]
}

/// Returns the kernels of the solve by slabs on `ranks` devices. Panels have `read` columns from
/// the first pass to the second, and `written` columns from the second to the third.
#[allow(dead_code)] // not precompiled
pub(crate) fn slabs(
    ranks: usize,
    read: usize,
    written: usize,
) -> [(&'static str, Role, Defines); 3] {
    let of = |name, value: usize| (name, value.to_string());
    let panel = |columns| of("PF_PANEL", columns);
    let mut first = Pass { places: ["MapRows", "SlabPanelRows"], ..FIRST }.defines();
    first.extend([of("PF_PEERS", ranks), panel(read)]);
    let columns = vec![of("PF_PEERS", ranks), panel(read), of("PF_WRITTEN", written)];
    [
        ("transform", Role::Rows, first),
        ("columns", Role::Solve, columns),
        ("fields", Role::Fields, vec![panel(written)]),
    ]
}

/// Returns the limits of devices of architecture `sm` (ten times the compute capability). Source:
/// NVIDIA, CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
#[allow(dead_code)] // the crate asks the device
pub(crate) fn limits_of(sm: u32) -> Limits {
    let (shared, threads) = match sm {
        ..80 => (64, 1024),
        80 | 87 => (163, 2048),
        90..120 => (227, 2048),
        _ => (99, 1536),
    };
    Limits { shared: shared << 10, threads }
}

/// Returns the kernels of `unit` among `kernels` for square maps of n bins along an axis, on
/// devices with these limits; empty if there are none.
#[allow(dead_code)] // the crate's plans choose theirs one by one
pub(crate) fn of_length(
    unit: &str,
    kernels: &[(&'static str, Role, Defines)],
    (real, n): (usize, usize),
    limits: Limits,
) -> Vec<Defines> {
    let of = |(_, role, does): &(&str, Role, Defines)| {
        let shape = choose(*role, real, (n, n / 2), limits)?;
        Some(instance(&shape, limits, n / 2, does.clone()))
    };
    kernels.iter().filter(|(of, ..)| *of == unit).filter_map(of).collect()
}
