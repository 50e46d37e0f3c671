//! The division of lines over threads and blocks, as data.
//!
//! A line of n elements goes through an FFT of three or four stages of radices R, X1, X2 and R
//! (`kernels/lines/block_fft.cuh`). Its elements are in the registers of n/2R threads. [`TABLE`]
//! depends on the kind of pass, precision, length and size of shared memory. It gives the number of
//! elements per thread, the number of lines side by side, and which exchanges go through shared
//! memory in halves. Three questions are separate. [`Shape::runs_on`] says which shapes can run,
//! and no choice changes that. [`choose`] gives the default without a measurement, from the table.
//! `measured` has the measurements on this machine.
//!
//! Depends on nothing else in the crate, so that `build.rs` can include it too.

/// The role of a kernel's lines, which affects their division.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Role {
    /// Rows of a map, to or from panels, or in place.
    Rows,
    /// Columns of a map or of panels.
    Columns,
    /// The second pass of the solve.
    Solve,
    /// The third pass of the solve.
    Fields,
}

impl Role {
    /// All roles.
    pub(crate) const ALL: [Role; 4] = [Role::Rows, Role::Columns, Role::Solve, Role::Fields];

    /// Returns the role's name in files and messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::Rows => "rows",
            Role::Columns => "columns",
            Role::Solve => "solve",
            Role::Fields => "fields",
        }
    }
}

/// Where a block of the solve's second pass keeps the spectra that it processes later: the spectra
/// of half its columns (`kernels/solve/columns.cu`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum SpectrumStorage {
    /// In registers.
    Registers = 0,
    /// A quarter of the spectra in shared memory, the others in registers.
    Mixed = 1,
    /// In shared memory.
    Shared = 2,
    /// P and Q go through separate FFTs, and Q waits in shared memory; blocks are persistent.
    Separate = 3,
}

impl SpectrumStorage {
    /// All kinds of storage.
    pub(crate) const ALL: [SpectrumStorage; 4] = [
        SpectrumStorage::Registers,
        SpectrumStorage::Mixed,
        SpectrumStorage::Shared,
        SpectrumStorage::Separate,
    ];

    /// Returns a thread's real numbers in shared memory, given its elements: `PF_STORED`.
    fn stored(self, elements: usize) -> usize {
        match self {
            SpectrumStorage::Registers => 0,
            SpectrumStorage::Mixed => elements / 4,
            SpectrumStorage::Shared => elements,
            SpectrumStorage::Separate => 2 * elements,
        }
    }
}

/// The division of lines of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    /// The kind of pass.
    pub(crate) role: Role,
    /// Elements of a line.
    pub(crate) n: usize,
    /// Elements per thread: twice the radix of the first and last stage.
    pub(crate) elements: usize,
    /// Radices of the middle stages; 1 if there is no such stage.
    pub(crate) middle: [usize; 2],
    /// Lines side by side in a group of threads.
    pub(crate) lanes: usize,
    /// Groups of threads in a block.
    pub(crate) groups: usize,
    /// Whether exchanges go through shared memory in halves.
    pub(crate) split: bool,
    /// Whether values that depend only on the thread are computed twice, to save registers.
    pub(crate) recompute: bool,
    /// For [`Role::Solve`].
    pub(crate) keep: SpectrumStorage,
    /// Threads per multiprocessor that registers must suffice for.
    pub(crate) resident: usize,
    /// Bytes of a real number.
    pub(crate) real: usize,
}

/// Limits of a device that affect shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Bytes of shared memory that a block can have.
    pub(crate) shared: usize,
    /// Threads that a multiprocessor can have.
    pub(crate) threads: usize,
}

/// A row of [`TABLE`], for lines of up to `most` elements on devices whose blocks can have `shared`
/// KB.
struct Row {
    shared: usize,
    most: usize,
    /// A divisor of the lengths.
    of: usize,
    /// Pairs of lines of the smallest map that the row is for.
    fewest: usize,
    /// The shape has its number of elements per thread if the length allows it, else the next best
    /// number. `n`, `middle` and `groups` follow from the length.
    shape: Shape,
}

impl Row {
    const fn of(self, of: usize) -> Row {
        Row { of, ..self }
    }

    /// Only for columns of single transforms: ranks of a solve by slabs have different numbers of
    /// lines and must agree on their shape.
    const fn fewest(self, fewest: usize) -> Row {
        assert!(matches!(self.shape.role, Role::Columns));
        Row { fewest, ..self }
    }
}

/// Shortest line.
pub(crate) const SHORTEST: usize = 16;
/// Longest line, in either precision.
pub(crate) const LONGEST: usize = 16384;

/// Radices of the middle stages.
const RADICES: [usize; 10] = [2, 3, 4, 5, 6, 8, 10, 12, 15, 16];
/// Possible numbers of elements per thread. They are multiples of 4, so lengths are too.
const ELEMENTS: [usize; 7] = [4, 8, 12, 16, 20, 24, 32];
/// Returns the most elements that a thread has registers for, by bytes of a real number.
const fn most_elements(real: usize) -> usize {
    if real == 8 { 24 } else { 40 }
}

/// Threads in a warp.
const WARP: usize = 32;
/// Bytes of shared memory that one access of a warp serves.
const WAVEFRONT: usize = 128;

impl Shape {
    /// Returns the number of threads of a line.
    pub(crate) fn per_line(&self) -> usize {
        self.n / self.elements
    }

    /// Returns the number of threads of a block.
    pub(crate) fn threads(&self) -> usize {
        self.per_line() * self.lanes * self.groups
    }

    /// Returns the number of lines (pairs of real lines) of a block.
    pub(crate) fn lines(&self) -> usize {
        self.lanes * self.groups
    }

    /// Returns the elements that a thread has room for: `ROOM` of `kernels/lines/block_fft.cuh`.
    fn room(&self) -> usize {
        room(self.n, self.elements, self.middle)
    }

    /// Returns the shared memory of a block in bytes. The kernels count the same and check it.
    pub(crate) fn bytes(&self) -> usize {
        let slot = if self.split { self.real } else { 2 * self.real };
        let at_once = (WAVEFRONT / slot / self.lanes).max(1);
        let radix = self.elements / 2;
        let padded = |length: usize, next: usize| {
            let every = at_once.div_ceil(length * next) * length * next;
            let pad = if length < at_once { length } else { 0 };
            self.n + self.n / every * pad
        };
        let [x1, x2] = self.middle;
        let slots = padded(1, radix)
            .max(if x1 > 1 { padded(radix, x1) } else { 0 })
            .max(if x2 > 1 { padded(radix * x1, x2) } else { 0 });
        let kept = self.keep.stored(self.elements) * self.real;
        slots * self.lanes * slot * self.groups + self.per_line() * self.lanes * kept
    }

    /// Returns the number of blocks that a multiprocessor's registers must suffice for.
    pub(crate) fn blocks(&self, limits: Limits) -> usize {
        let threads = self.threads().next_multiple_of(WARP);
        (self.resident / threads).min(limits.threads / threads).clamp(1, 16)
    }

    /// Whether the shape is valid and a device with these limits can run it.
    pub(crate) fn runs_on(&self, limits: Limits) -> bool {
        let [x1, x2] = self.middle;
        let stage = |radix: usize| radix == 1 || RADICES.contains(&radix);
        let solve = self.role == Role::Solve;
        ELEMENTS.contains(&self.elements)
            && matches!(self.real, 4 | 8)
            && stage(x1)
            && stage(x2)
            && (x1 > 1 || x2 == 1)
            && self.n == (self.elements / 2).pow(2) * x1 * x2
            && self.n.is_multiple_of(self.elements)
            && matches!(self.lanes, 1 | 2 | 4)
            && (1..=32).contains(&self.groups)
            // A block of the solve holds part of a panel's columns, and copies 16 bytes at once
            // asynchronously.
            && (!solve || self.groups == 1 && 4 * self.lanes * self.real <= 64)
            && (solve || self.keep == SpectrumStorage::Registers)
            && (self.real == 4 || self.keep != SpectrumStorage::Separate)
            && self.room() <= most_elements(self.real)
            && self.threads() <= 1024
            // One warp of a block of the fields sums up the energy.
            && (self.role != Role::Fields || self.threads() >= WARP)
            // Each group of whole warps has a numbered barrier, and there are 16 numbers.
            && (self.groups < 16 || !(self.per_line() * self.lanes).is_multiple_of(WARP))
            && self.bytes() <= limits.shared
    }

    /// Returns the macros for the kernels' compilation.
    pub(crate) fn defines(&self, limits: Limits) -> Vec<(&'static str, String)> {
        let flag = |is: bool| u8::from(is).to_string();
        vec![
            ("PF_N", self.n.to_string()),
            ("PF_E", self.elements.to_string()),
            ("PF_X1", self.middle[0].to_string()),
            ("PF_X2", self.middle[1].to_string()),
            ("PF_C", self.lanes.to_string()),
            ("PF_GROUPS", self.groups.to_string()),
            ("PF_SPLIT", flag(self.split)),
            ("PF_RECOMPUTE", flag(self.recompute)),
            ("PF_BLOCKS", self.blocks(limits).to_string()),
            ("PF_BYTES", self.bytes().to_string()),
            ("PF_SEPARATE", flag(self.keep == SpectrumStorage::Separate)),
            ("PF_STORED", self.keep.stored(self.elements).to_string()),
        ]
    }
}

/// Returns the number of elements that a thread has room for. It exceeds the thread's share if the
/// butterflies of a middle stage do not divide evenly.
fn room(n: usize, elements: usize, middle: [usize; 2]) -> usize {
    let threads = n / elements;
    let stage = |radix: usize| if radix > 1 { (n / radix).div_ceil(threads) * radix } else { 0 };
    elements.max(stage(middle[0])).max(stage(middle[1]))
}

/// Returns the middle stages for n elements with `elements` per thread: the pair of radices with
/// the least work, and of two equal ones the more even. `None` if there is no such pair.
fn middle(n: usize, elements: usize) -> Option<[usize; 2]> {
    let ends = (elements / 2).pow(2);
    if elements < 4 || !n.is_multiple_of(ends) || !n.is_multiple_of(elements) {
        return None;
    }
    let product = n / ends;
    let first = [1].into_iter().chain(RADICES).filter(|x1| product.is_multiple_of(*x1));
    let pairs = first
        .map(|x1| [x1, product / x1])
        .filter(|&[x1, x2]| (x2 == 1 || RADICES.contains(&x2) && x1 > 1) && x1 >= x2);
    let work = |pair: &[usize; 2]| {
        let stages = 2 + pair.iter().filter(|&&x| x > 1).count();
        (stages * room(n, elements, *pair), pair[0])
    };
    pairs.min_by_key(work)
}

/// Registers.
const R: SpectrumStorage = SpectrumStorage::Registers;
/// A quarter in shared memory.
const M: SpectrumStorage = SpectrumStorage::Mixed;
/// Shared memory.
const S: SpectrumStorage = SpectrumStorage::Shared;
/// P and Q separately.
const PQ: SpectrumStorage = SpectrumStorage::Separate;

const fn row(
    role: Role,
    (real, shared, most): (usize, usize, usize),
    (elements, lanes, split): (usize, usize, bool),
    (keep, recompute, resident): (SpectrumStorage, bool, usize),
) -> Row {
    let (n, middle, groups) = (most, [1, 1], 1);
    let shape =
        Shape { role, n, elements, middle, lanes, groups, split, recompute, keep, resident, real };
    Row { shared, most, of: 1, fewest: 0, shape }
}

/// The first row that accepts a length and runs on a device is used. For every role and precision,
/// rows are ordered by kind of length, then from shorter to longer lines, then from larger to
/// smaller shared memory. The rows for 163 and 227 KB were measured on an H200.
#[rustfmt::skip]
const TABLE: &[Row] = {
    use Role::{Columns, Fields, Rows, Solve};
    &[
        //           bytes  KB  most       elements, lanes, split   keep, recompute, threads
        row(Rows,    (4,  48,  1000),     (20, 2, false), (R, true,   768)).of(100),
        row(Rows,    (4, 227, 10000),     (20, 1, false), (R, false,  640)).of(100),
        row(Rows,    (4,  48,  1024),     ( 8, 1, false), (R, false, 1024)),
        row(Rows,    (4,  48,  2048),     (16, 1, false), (R, true,  1024)),
        row(Rows,    (4,  48,  4096),     (16, 1, false), (R, false, 1024)),
        row(Rows,    (4, 163, 16384),     (32, 1, false), (R, false,  512)),
        row(Rows,    (4,  48, 16384),     (32, 1, true),  (R, false,  512)),
        row(Rows,    (8, 227, 10000),     (20, 1, false), (R, false,  384)).of(100),
        row(Rows,    (8,  48,   512),     ( 8, 1, false), (R, false,  640)),
        row(Rows,    (8,  48,  1024),     (16, 1, false), (R, false,  384)),
        row(Rows,    (8,  48, 10000),     (16, 1, true),  (R, false,  512)),

        row(Columns, (4,  48,  1000),     (20, 4, false), (R, true,   768)).of(100),
        row(Columns, (4, 227,  3000),     (20, 4, false), (R, false,  512)).of(100).fewest(528),
        row(Columns, (4, 227,  5000),     (20, 2, false), (R, true,   640)).of(100),
        row(Columns, (4, 227, 10000),     (20, 1, false), (R, true,   640)).of(100),
        row(Columns, (4,  48,   256),     ( 8, 4, false), (R, true,  1024)),
        row(Columns, (4,  48,  1024),     (16, 4, false), (R, false,  512)),
        row(Columns, (4, 227,  4096),     (32, 4, false), (R, true,   512)),
        row(Columns, (4,  99,  4096),     (32, 4, true),  (R, true,   512)),
        row(Columns, (4,  48,  2048),     (32, 4, true),  (R, true,   512)),
        row(Columns, (4, 227,  8192),     (32, 2, false), (R, true,   512)),
        row(Columns, (4,  48,  8192),     (32, 2, true),  (R, true,   512)),
        row(Columns, (4,  48, 16384),     (32, 1, true),  (R, true,   512)),
        row(Columns, (8, 227,  2500),     (20, 2, false), (R, true,   384)).of(100),
        row(Columns, (8, 227,  5000),     (20, 2, true),  (R, true,   384)).of(100),
        row(Columns, (8, 227, 10000),     (20, 1, false), (R, true,   384)).of(100),
        row(Columns, (8,  48,   256),     ( 8, 2, false), (R, true,   384)),
        row(Columns, (8,  48,   512),     (16, 2, false), (R, false,  512)),
        row(Columns, (8, 163,  1024),     (16, 4, false), (R, true,   512)),
        row(Columns, (8, 163,  4096),     (16, 2, false), (R, true,   512)),
        row(Columns, (8,  99,  4096),     (16, 2, true),  (R, true,   512)),
        row(Columns, (8,  48,  2048),     (16, 2, true),  (R, true,   512)),
        row(Columns, (8,  48, 10000),     (16, 1, true),  (R, true,   512)),

        row(Solve,   (4,  48,   256),     ( 8, 4, false), (R, false,  512)),
        row(Solve,   (4,  48,   512),     ( 8, 2, false), (PQ, true,  768)),
        row(Solve,   (4,  48,  1024),     (16, 4, false), (R, true,   512)),
        row(Solve,   (4, 163,  2048),     (32, 4, false), (S, true,   512)),
        row(Solve,   (4,  99,  2048),     (32, 4, true),  (S, true,   512)),
        row(Solve,   (4,  48,  2048),     (32, 2, true),  (S, true,   512)),
        row(Solve,   (4, 163,  3000),     (20, 4, false), (S, false,  512)),
        row(Solve,   (4,  99,  4096),     (32, 2, true),  (PQ, true,  512)),
        row(Solve,   (4, 227,  8192),     (32, 2, true),  (PQ, true,  512)),
        row(Solve,   (4,  48, 16384),     (32, 1, true),  (PQ, true,  512)),
        row(Solve,   (8,  48,   512),     ( 8, 2, false), (R, false,  512)),
        row(Solve,   (8, 163,  1024),     (16, 2, false), (S, false,  512)),
        row(Solve,   (8,  48,  1024),     (16, 2, true),  (S, true,   512)),
        row(Solve,   (8, 227,  4096),     (16, 2, false), (M, true,   512)),
        row(Solve,   (8, 163,  2048),     (16, 2, true),  (S, false,  512)),
        row(Solve,   (8, 163,  4096),     (16, 2, true),  (S, true,   512)),
        row(Solve,   (8, 227,  8192),     (16, 1, false), (M, true,   512)),
        row(Solve,   (8,  48, 10000),     (16, 1, true),  (S, true,   512)),

        row(Fields,  (4,  48,   512),     ( 8, 1, false), (R, true,   512)),
        row(Fields,  (4,  48,  1024),     (16, 2, false), (R, true,   512)),
        row(Fields,  (4,  48,  2048),     (32, 2, false), (R, false,  512)),
        row(Fields,  (4,  99,  4096),     (32, 2, false), (R, false,  512)),
        row(Fields,  (4,  99, 16384),     (32, 1, false), (R, false,  512)),
        row(Fields,  (4,  48, 16384),     (32, 1, true),  (R, false,  512)),
        row(Fields,  (8,  48,   256),     ( 8, 1, false), (R, false,  768)),
        row(Fields,  (8,  48,   512),     ( 8, 2, false), (R, false,  384)),
        row(Fields,  (8,  99,  1024),     (16, 2, false), (R, false,  512)),
        row(Fields,  (8,  99,  2048),     (16, 2, false), (R, true,   384)),
        row(Fields,  (8,  99,  3000),     (20, 1, false), (R, false,  512)),
        row(Fields,  (8,  48, 10000),     (16, 1, true),  (R, false,  512)),
    ]
};

impl Row {
    fn takes(&self, role: Role, real: usize, (n, count): (usize, usize)) -> bool {
        let Shape { role: own, real: bytes, .. } = self.shape;
        let lines = n <= self.most && n.is_multiple_of(self.of) && count >= self.fewest;
        (own, bytes) == (role, real) && lines
    }

    /// Returns the row's shape for lines of n elements. Among the numbers of elements per thread
    /// that n has stages for, it uses the one nearest to the row's.
    fn shape(&self, n: usize) -> Option<Shape> {
        let Shape { role, elements: wanted, lanes, resident, real, .. } = self.shape;
        let stages = ELEMENTS.iter().filter_map(|&e| Some((e, middle(n, e)?)));
        let cost = |&(elements, middle): &(usize, [usize; 2])| {
            let stages = 2 + middle.iter().filter(|&&x| x > 1).count();
            let work = (stages * room(n, elements, middle)) as f64 / elements as f64;
            work * (1.0 + (elements as f64 / wanted as f64).ln().abs())
        };
        let allowed = stages.filter(|&(e, m)| room(n, e, m) <= most_elements(real));
        let (elements, middle) = allowed.min_by(|a, b| cost(a).total_cmp(&cost(b)))?;
        let groups = groups(role, WARP, n / elements * lanes);
        let resident = resident * wanted / wanted.max(room(n, elements, middle));
        Some(Shape { n, elements, middle, groups, resident, ..self.shape })
    }
}

/// Returns the number of groups of `of` threads in a block of `threads` or slightly more threads;
/// one in the solve.
fn groups(role: Role, threads: usize, of: usize) -> usize {
    if role == Role::Solve { 1 } else { threads.div_ceil(of) }
}

/// Returns every division of lines of n elements that is worth timing on a device with these
/// limits.
pub(crate) fn candidates(role: Role, real: usize, n: usize, limits: Limits) -> Vec<Shape> {
    let keeps: &[SpectrumStorage] = if role == Role::Solve { &SpectrumStorage::ALL } else { &[R] };
    let residents: &[usize] = if real == 8 { &[384, 512, 768] } else { &[512, 768, 1024] };
    let Row { shape: any, .. } = row(role, (real, 0, n), (0, 0, false), (R, false, 0));
    let of = |elements| Some(Shape { elements, middle: middle(n, elements)?, ..any });
    let all: Vec<Shape> = ELEMENTS.into_iter().filter_map(of).collect();
    let all = varied(&all, &[1, 2, 4], |lanes, shape| Shape { lanes, ..shape });
    let all = varied(&all, keeps, |keep, shape| Shape { keep, ..shape });
    let all = varied(&all, &[false, true], |split, shape| Shape { split, ..shape });
    let all = varied(&all, &[false, true], |recompute, shape| Shape { recompute, ..shape });
    let all = varied(&all, residents, |resident, shape| Shape { resident, ..shape });
    let mut all = varied(&all, &[32, 128], |threads, shape| {
        let groups = groups(role, threads, shape.per_line() * shape.lanes);
        Shape { groups, ..shape }
    });
    all.retain(|shape| shape.runs_on(limits));
    // Shapes whose registers suffice for the same number of blocks are the same kernel.
    let mut found: Vec<Shape> = Vec::new();
    for shape in all {
        let alike = |other: &Shape| {
            let blocks = other.blocks(limits) == shape.blocks(limits);
            blocks && Shape { resident: shape.resident, ..*other } == shape
        };
        if !found.iter().any(alike) {
            found.push(shape);
        }
    }
    found
}

/// Returns each of `shapes` with each of `values`.
fn varied<V: Copy>(shapes: &[Shape], values: &[V], with: impl Fn(V, Shape) -> Shape) -> Vec<Shape> {
    shapes
        .iter()
        .flat_map(|&shape| values.iter().map(|&v| with(v, shape)).collect::<Vec<_>>())
        .collect()
}

/// Returns the table's division of lines of n elements, of which a map has `count` pairs, on a
/// device with these limits; `None` if no row fits, for any count. `real` is the size of a real
/// number in bytes.
pub(crate) fn choose(
    role: Role,
    real: usize,
    (n, count): (usize, usize),
    limits: Limits,
) -> Option<Shape> {
    if !(SHORTEST..=LONGEST).contains(&n) {
        return None;
    }
    let rows = || TABLE.iter().filter(|row| row.takes(role, real, (n, count)));
    let fitting = rows().filter(|row| row.shared << 10 <= limits.shared);
    let as_they_are = fitting.filter_map(|row| row.shape(n));
    // If no shape fits, use as little shared memory as possible.
    let smallest = rows().filter_map(|row| {
        Row { shape: Shape { lanes: 1, split: true, ..row.shape }, ..*row }.shape(n)
    });
    as_they_are.chain(smallest).find(|shape| shape.runs_on(limits))
}
