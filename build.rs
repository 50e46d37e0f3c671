//! Embeds the CUDA kernels: their source always, and compiled code as well when
//! `PLACEFIELD_PRECOMPILE` asks for it (needs `nvcc`, on the path or in `$NVCC`),
//! so that the program then runs without NVRTC. It is 1 for every supported
//! architecture that this `nvcc` knows, or names some by their compute capability times
//! ten, as in `80,90`.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Architectures that get machine code unless others are asked for.
const MACHINE_CODE: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];

/// Architectures that get PTX, for every other and later one; of a list of others, its
/// oldest does.
const PTX: [u32; 2] = [75, 90];

/// Lines of these lengths are compiled for, those of the solve.
const LENGTHS: [usize; 8] = [64, 128, 256, 512, 1024, 2048, 4096, 8192];

#[path = "src/cuda/lines/instances.rs"]
mod lines;
#[path = "src/cuda/lines/shapes.rs"]
#[allow(dead_code)]
mod shapes;

/// A set of macros that a kernel file is compiled with: name and value, by name.
type Defines = Vec<(&'static str, String)>;

/// The sets of macros with which a kernel file gets compiled code for architecture `sm`
/// in a precision (`float` or `double`). What is not among them is compiled at run time,
/// or something else stands in for it.
fn instances(unit: &str, real: &str, target: Target) -> Vec<Defines> {
    let kernels = lines::solve(false);
    if unit != "transform" && kernels.iter().all(|(of, ..)| *of != unit) {
        return lines::others(unit);
    }
    let bytes = if real == "double" { 8 } else { 4 };
    let mut limits = vec![lines::limits_of(target.architecture())];
    if let Target::Ptx(90) = target {
        limits.push(lines::limits_of(120));
    }
    let lengths = LENGTHS.iter().flat_map(|&n| limits.iter().map(move |&limits| (n, limits)));
    let of = |(n, limits)| lines::of_length(unit, &kernels, (bytes, n), limits);
    let mut all: Vec<Defines> = lengths.flat_map(of).collect();
    all.sort();
    all.dedup();
    all
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=kernels");
    println!("cargo::rerun-if-changed=src/cuda/lines");
    println!("cargo::rerun-if-env-changed=PLACEFIELD_PRECOMPILE");
    println!("cargo::rerun-if-env-changed=NVCC");
    if env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return;
    }
    let kernels = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("kernels");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let units = files(&kernels, "cu");
    let mut stems: Vec<&str> = units.iter().map(|unit| stem(unit)).collect();
    stems.sort_unstable();
    assert!(stems.windows(2).all(|pair| pair[0] != pair[1]), "two kernel files share a name");
    let headers = files(&kernels, "cuh");

    let constants = std::fs::read_to_string(kernels.join("device/constants.cuh"));
    std::fs::write(out.join("constants.rs"), shared(&constants.expect("the shared constants")))
        .unwrap();
    let sources: Vec<Source> =
        units.iter().chain(&headers).map(|file| Source::new(&kernels, file)).collect();
    std::fs::write(out.join("bindings.rs"), Bindings::of(&sources)).unwrap();
    let mut code = String::new();
    table(&mut code, "UNITS", &units, stem);
    table(&mut code, "HEADERS", &headers, |header| {
        header.strip_prefix(&kernels).unwrap().to_str().expect("a kernel file's name is UTF-8")
    });
    let asked = env::var("PLACEFIELD_PRECOMPILE").unwrap_or_default();
    let nvcc = (!matches!(asked.as_str(), "" | "0")).then(Nvcc::find);
    let images = nvcc.as_ref().map(|nvcc| images(&units, &targets(&asked, nvcc)));
    let images = images.unwrap_or_default();
    if let Some(nvcc) = &nvcc {
        at_once(&images, |image| nvcc.assemble(&kernels, &out, image));
    }
    let compiler = nvcc.map(|nvcc| nvcc.version);
    writeln!(code, "pub(crate) const COMPILER: Option<(i32, i32)> = {compiler:?};").unwrap();
    code.push_str("pub(crate) const IMAGES: &[(&str, Precision, &str, Target, &[u8])] = &[\n");
    for image in &images {
        let (unit, precision) =
            (stem(image.unit), if image.real == "float" { "F32" } else { "F64" });
        let (defined, target, path) = (image.defined(), image.target, image.path(&out));
        writeln!(
            code,
            "    ({unit:?}, Precision::{precision}, {defined:?}, Target::{target:?}, \
             include_bytes!({path:?})),"
        )
        .unwrap();
    }
    code.push_str("];\n");
    std::fs::write(out.join("kernels.rs"), code).unwrap();
}

/// Returns the Rust constants of the numbers that a header shares with the host.
///
/// # Panics
/// When a line defines something else.
fn shared(header: &str) -> String {
    let mut code = String::new();
    for line in header.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let definition = match line.starts_with("//") {
            true => line.starts_with("///").then(|| line.to_owned()),
            false => {
                let (name, value) = line
                    .strip_prefix("constexpr ")
                    .and_then(|rest| rest.strip_suffix(';')?.split_once(" = "))
                    .unwrap_or_else(|| panic!("device/constants.cuh: {line}"));
                let name = name.rsplit(' ').next().unwrap();
                let value: usize = value.parse().expect("a number");
                Some(format!("pub(crate) const {name}: usize = {value};"))
            }
        };
        definition.iter().for_each(|line| writeln!(code, "{line}").unwrap());
    }
    code
}

/// A kernel file: its text without comments and its includes.
struct Source {
    /// Its path below `kernels`.
    path: String,
    text: String,
    includes: Vec<String>,
}

/// A field of a struct, or a parameter of a kernel, as C++ declares it.
struct Declared {
    kind: String,
    is_pointer: bool,
    name: String,
    /// Of an array.
    length: Option<String>,
    /// Only some instances of the kernel have it.
    conditional: bool,
}

/// Returns the declarations of `text`, which are separated by commas: `typed` ones with a type and a
/// name each, else with the type of the one before where there is a name alone.
///
/// # Panics
/// When one is of another form.
fn declarations(text: &str, typed: bool) -> Vec<Declared> {
    let mut kind = String::new();
    let mut declared = Vec::new();
    for one in text.split(',').map(str::trim).filter(|one| !one.is_empty()) {
        let (one, length) = match one.split_once('[') {
            Some((one, rest)) => (one, Some(rest.trim_end().trim_end_matches(']').to_owned())),
            None => (one, None),
        };
        let is_pointer = one.contains('*');
        let (one, conditional) = (one.trim_start_matches('?'), one.starts_with('?'));
        let plain = one.replace('*', " ");
        let qualifiers = ["const", "__restrict__", "__grid_constant__", "PF_ALONE"];
        let words: Vec<&str> =
            plain.split_whitespace().filter(|word| !qualifiers.contains(word)).collect();
        let name = match words[..] {
            [of, name] => {
                of.clone_into(&mut kind);
                name
            }
            [name] if !typed && !kind.is_empty() => name,
            _ => panic!("kernels: expected a type and a name: {one}"),
        };
        let name = if name == "in" { "r#in" } else { name }.to_owned();
        declared.push(Declared { kind: kind.clone(), is_pointer, name, length, conditional });
    }
    declared
}

impl Source {
    fn new(kernels: &Path, file: &Path) -> Source {
        let path =
            file.strip_prefix(kernels).unwrap().to_str().expect("a kernel file's name is UTF-8");
        let text = std::fs::read_to_string(file).unwrap();
        let quoted =
            |line: &str| Some(line.strip_prefix("#include \"")?.strip_suffix('"')?.to_owned());
        let includes = text.lines().filter_map(quoted).collect();
        let text: String = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or("").to_owned() + "\n")
            .collect();
        Source { path: path.to_owned(), text: text.replace("\\\n", " "), includes }
    }

    fn folder(&self) -> &str {
        self.path.split('/').next().unwrap()
    }

    /// Returns the fields of a struct that it defines.
    fn fields(&self, name: &str) -> Option<Vec<Declared>> {
        let is_head = |head: &str| head.ends_with(&format!(" {name} "));
        let mut found = self.text.split("struct").skip(1).filter_map(|after| {
            let (head, body) = after.split_once('{')?;
            is_head(head).then_some(body)
        });
        let body = found.find(|body| !body.starts_with('}'))?;
        let (mut depth, mut statement, mut fields) = (0, String::new(), Vec::new());
        for c in body.chars() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => {
                    depth -= 1;
                    statement.clear(); // a function
                }
                ';' if depth == 0 => {
                    fields.extend(declarations(&std::mem::take(&mut statement), false));
                }
                _ => statement.push(c),
            }
        }
        Some(fields)
    }

    /// Returns its kernels: names and parameters. Of macros that define kernels, each use.
    fn kernels(&self) -> Vec<(String, Vec<Declared>)> {
        let mut text = String::new();
        let (mut kernels, mut optional) = (Vec::new(), Vec::new());
        for line in self.text.lines() {
            let Some(macro_of) = line.strip_prefix("#define ") else {
                text.push_str(line);
                text.push('\n');
                continue;
            };
            let head = macro_of.split([' ', '(']).next().unwrap();
            if let Some((_, body)) = macro_of.split_once("PF_KERNEL") {
                let parameter = macro_of.split(['(', ',']).nth(1).unwrap();
                let uses =
                    self.text.lines().filter_map(|line| line.strip_prefix(head)?.strip_prefix('('));
                for name in uses.map(|used| used.split(',').next().unwrap()) {
                    let body = body.replace(&format!("##{parameter}##"), name);
                    let body = body.replace(&format!("##{parameter}"), name);
                    kernels.push(format!(
                        "PF_KERNEL{}",
                        body.replace(&format!(" {parameter}("), &format!(" {name}("))
                    ));
                }
            } else if macro_of[head.len()..].starts_with(" ,") {
                optional.push((head, macro_of[head.len()..].replace(',', ",?")));
            }
        }
        kernels.extend(text.split("PF_KERNEL").skip(1).map(|after| format!("PF_KERNEL{after}")));
        let parse = |kernel: &String| {
            let after_bounds = &kernel[closing(kernel, 0)? + 1..];
            let (name, _) = after_bounds.split_once('(')?;
            let mut parameters =
                after_bounds[name.len() + 1..closing(after_bounds, name.len())?].to_owned();
            for (name, text) in &optional {
                parameters = parameters.replace(name, text);
            }
            let mut conditional = false;
            let mut plain = String::new();
            for line in parameters.lines() {
                match line.split(' ').next() {
                    Some("#if") => conditional = true,
                    Some("#else") => plain.push(','),
                    Some("#endif") => conditional = false,
                    _ if conditional => {
                        plain.push_str(&format!("?{}", line.trim().replace(", ", ",?")))
                    }
                    _ => plain.push_str(line),
                }
            }
            Some((name.trim().to_owned(), declarations(&plain, true)))
        };
        kernels.iter().filter_map(parse).collect()
    }
}

/// Returns where the bracket is closed that opens first from `start` on.
fn closing(text: &str, start: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < start) {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The Rust side of the kernels' structs and parameters.
struct Bindings<'a> {
    sources: &'a [Source],
    /// By folder and name: the code of structs, and whether they depend on the precision.
    structs: BTreeMap<(String, String), (String, bool)>,
}

/// A type on the Rust side.
enum Kind {
    /// Its name, and whether it depends on the precision.
    Known(String, bool),
    /// An instance's macros say which.
    Instance,
}

impl Bindings<'_> {
    /// Returns the Rust code of all kernels: for each folder a module with the structs that they
    /// take, and for each kernel a struct of its arguments.
    fn of(sources: &[Source]) -> String {
        let mut bindings = Bindings { sources, structs: BTreeMap::new() };
        let mut folders: BTreeMap<&str, String> = BTreeMap::new();
        for source in sources {
            let code = folders.entry(source.folder()).or_default();
            let mut alike: Vec<(Vec<String>, String)> = Vec::new();
            for (name, parameters) in source.kernels() {
                let body = bindings.arguments(source, &parameters);
                match alike.iter_mut().find(|(_, other)| *other == body) {
                    Some((names, _)) => names.push(name),
                    None => alike.push((vec![name], body)),
                }
            }
            for (names, body) in alike {
                let camel = names[0].split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
                let body = body.replace("$NAMES", &format!("{names:?}"));
                code.push_str(&body.replace("$STRUCT", &camel.collect::<String>()));
            }
        }
        for ((folder, _), (code, _)) in &bindings.structs {
            folders.entry(folder).or_default().push_str(code);
        }
        let module = |(folder, code): (&str, String)| {
            format!("pub(crate) mod {folder} {{\n    use super::*;\n{code}}}\n")
        };
        folders.into_iter().filter(|(_, code)| !code.is_empty()).map(module).collect()
    }

    /// Returns the struct and the trait of a kernel's arguments.
    fn arguments(&mut self, source: &Source, parameters: &[Declared]) -> String {
        let (mut fields, mut list, mut generics) = (String::new(), String::new(), Vec::new());
        let mut precise = false;
        for parameter in parameters {
            let (kind, name) = (self.kind(source, parameter), &parameter.name);
            let kind = match kind {
                Kind::Known(kind, of_real) => {
                    precise |= of_real;
                    if parameter.is_pointer { format!("Array<{kind}>") } else { kind }
                }
                Kind::Instance if parameter.is_pointer => "Array<Any>".to_owned(),
                Kind::Instance => {
                    generics.push("I: KernelArgument");
                    "I".to_owned()
                }
            };
            let (kind, add) = match parameter.conditional {
                true => (format!("Option<{kind}>"), "add_if"),
                false => (kind, "add"),
            };
            writeln!(fields, "    pub(crate) {name}: {kind},").unwrap();
            writeln!(list, "        list.{add}(&self.{name})?;").unwrap();
        }
        if precise {
            generics.insert(0, "T: CudaReal");
        }
        let bracketed = |all: Vec<&str>| match all.is_empty() {
            true => String::new(),
            false => format!("<{}>", all.join(", ")),
        };
        let names = bracketed(generics.iter().map(|of| &of[..1]).collect());
        let generics = bracketed(generics);
        format!(
            "/// Arguments of kernels of `kernels/{}`.\n\
             pub(crate) struct $STRUCT{generics} {{\n{fields}}}\n\
             // SAFETY: made of the kernels' declarations.\n\
             unsafe impl{generics} Arguments for $STRUCT{names} {{\n    \
             const NAMES: &'static [&'static str] = &$NAMES;\n    \
             fn list<'a>(&'a self, list: &mut ArgumentList<'a>) -> Result<(), CudaError> {{\n\
             {list}        Ok(())\n    }}\n}}\n",
            source.path
        )
    }

    /// Returns the type of a field or parameter; of a pointer the type that it points to.
    fn kind(&mut self, source: &Source, of: &Declared) -> Kind {
        let known = |name: &str, of_real| Kind::Known(name.to_owned(), of_real);
        match (of.kind.as_str(), of.is_pointer) {
            (number @ ("u8" | "u16" | "u32" | "u64" | "i64"), _) => known(number, false),
            ("int", _) => known("i32", false),
            ("double", _) | ("double2", true) => known("f64", false),
            ("uint2", true) => known("u32", false),
            ("real", _) | ("real2", true) => known("T", true),
            ("cplx", _) => known("T::Complex", true),
            ("Sum" | "IdOf<real>::type", _) => known("T::Word", true),
            ("Input", _) => Kind::Instance,
            (name, _) if name.starts_with("PF_") => Kind::Instance,
            (name, _) => self.of_struct(source, name),
        }
    }

    /// Returns the type of a struct as a file knows it, and adds it to those there are.
    fn of_struct(&mut self, source: &Source, name: &str) -> Kind {
        let (mut known, mut k) = (vec![source.path.clone()], 0);
        while let Some(path) = known.get(k) {
            let of = self.sources.iter().find(|other| other.path == *path).expect("it is included");
            if let Some(fields) = of.fields(name) {
                if fields
                    .iter()
                    .any(|field| field.length.as_ref().is_some_and(|n| n.contains("PF_")))
                {
                    return Kind::Instance;
                }
                return self.add_struct(of, name, &fields);
            }
            let new: Vec<String> =
                of.includes.iter().filter(|path| !known.contains(path)).cloned().collect();
            known.extend(new);
            k += 1;
        }
        panic!("kernels/{}: no struct {name}", source.path);
    }

    fn add_struct(&mut self, source: &Source, name: &str, fields: &[Declared]) -> Kind {
        let key = (source.folder().to_owned(), name.to_owned());
        if !self.structs.contains_key(&key) {
            let (mut code, mut precise) = (String::new(), false);
            for field in fields {
                let Kind::Known(kind, of_real) = self.kind(source, field) else {
                    panic!("kernels/{}: {name}::{} has no known type", source.path, field.name);
                };
                precise |= of_real;
                let kind = if field.is_pointer { format!("Pointer<{kind}>") } else { kind };
                let kind = match &field.length {
                    Some(length) => format!("[{kind}; {length}]"),
                    None => kind,
                };
                writeln!(code, "    pub(crate) {}: {kind},", field.name).unwrap();
            }
            let (generics, of) = if precise { ("<T: CudaReal>", "<T>") } else { ("", "") };
            let code = format!(
                "/// `{name}` of `kernels/{}`.\n#[repr(C)]\n#[derive(Clone, Copy, Debug)]\n\
                 pub(crate) struct {name}{generics} {{\n{code}}}\n\
                 impl{generics} Sealed for {name}{of} {{}}\n\
                 impl{generics} DeviceValue for {name}{of} {{}}\n",
                source.path
            );
            self.structs.insert(key.clone(), (code, precise));
        }
        let precise = self.structs[&key].1;
        let of = if precise { "<T>" } else { "" };
        Kind::Known(format!("super::{}::{name}{of}", key.0), precise)
    }
}

/// What code is for, by ten times a compute capability.
#[derive(Clone, Copy, Debug)]
enum Target {
    Cubin(u32),
    Ptx(u32),
}

impl Target {
    fn architecture(self) -> u32 {
        let (Target::Cubin(sm) | Target::Ptx(sm)) = self;
        sm
    }

    /// As nvcc calls it.
    fn code(self) -> String {
        match self {
            Target::Cubin(sm) => format!("sm_{sm}"),
            Target::Ptx(sm) => format!("compute_{sm}"),
        }
    }
}

/// What is `asked` for.
fn targets(asked: &str, nvcc: &Nvcc) -> Vec<Target> {
    let (machine_code, ptx) = match asked {
        "1" => (MACHINE_CODE.to_vec(), PTX.to_vec()),
        list => {
            let mut found: Vec<u32> = list
                .split(',')
                .map(|sm| match sm.parse() {
                    Ok(sm) if sm >= MACHINE_CODE[0] => sm,
                    _ => {
                        panic!("PLACEFIELD_PRECOMPILE={asked}: expected 1 or a list such as 80,90")
                    }
                })
                .collect();
            found.sort_unstable();
            found.dedup();
            let oldest = found[0];
            (found, vec![oldest])
        }
    };
    let all = machine_code.into_iter().map(Target::Cubin).chain(ptx.into_iter().map(Target::Ptx));
    let (known, unknown): (Vec<_>, Vec<_>) =
        all.partition(|target| nvcc.architectures.contains(&target.architecture()));
    let unknown: Vec<_> = unknown.into_iter().map(Target::code).collect();
    if !unknown.is_empty() {
        let (major, minor) = nvcc.version;
        let lacks = format!("nvcc {major}.{minor} does not know {}", unknown.join(", "));
        assert!(asked == "1", "PLACEFIELD_PRECOMPILE={asked}: {lacks}");
        println!("cargo::warning=PLACEFIELD_PRECOMPILE: no code for some architectures: {lacks}");
    }
    known
}

/// Code to be compiled: one set of kernels for one architecture.
struct Image<'a> {
    unit: &'a Path,
    real: &'static str,
    defines: Defines,
    target: Target,
}

impl Image<'_> {
    fn defined(&self) -> String {
        let defines = self.defines.iter().map(|(name, value)| format!("{name}={value}"));
        defines.collect::<Vec<_>>().join(" ")
    }

    fn path(&self, out: &Path) -> PathBuf {
        // All macros together are too long for the name of a file.
        let mut hasher = DefaultHasher::new();
        self.defines.hash(&mut hasher);
        let (unit, code, hash) = (stem(self.unit), self.target.code(), hasher.finish());
        out.join(format!("{unit}_{}_{code}_{hash:016x}.fatbin", self.real))
    }
}

fn images<'a>(units: &'a [PathBuf], targets: &[Target]) -> Vec<Image<'a>> {
    let mut found = Vec::new();
    for unit in units {
        for real in ["float", "double"] {
            for &target in targets {
                let all = instances(stem(unit), real, target).into_iter();
                found.extend(all.map(|defines| Image { unit, real, defines, target }));
            }
        }
    }
    found
}

/// Does `work` on every item, as many at a time as cargo allows.
fn at_once<I: Sync>(items: &[I], work: impl Fn(&I) + Sync) {
    let jobs = env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(1);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..items.len().min(jobs) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Relaxed)) {
                    work(item);
                }
            });
        }
    });
}

/// The files with this extension in `folder` and the folders in it, in order.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn stem(path: &Path) -> &str {
    path.file_stem().unwrap().to_str().expect("a kernel file's name is UTF-8")
}

/// A table of (key, source). A unit's key is its file's name without extension; a
/// header's is its path below `kernels`, by which it is included.
fn table<'a>(
    code: &mut String,
    name: &str,
    files: &'a [PathBuf],
    key: impl Fn(&'a Path) -> &'a str,
) {
    writeln!(code, "pub(crate) const {name}: &[(&str, &str)] = &[").unwrap();
    for file in files {
        writeln!(code, "    ({:?}, include_str!({file:?})),", key(file)).unwrap();
    }
    code.push_str("];\n");
}

/// The compiler.
struct Nvcc {
    program: OsString,
    version: (i32, i32),
    /// Those it compiles for, as ten times a compute capability.
    architectures: Vec<u32>,
}

impl Nvcc {
    fn find() -> Nvcc {
        let program = env::var_os("NVCC").unwrap_or_else(|| OsString::from("nvcc"));
        let said = |option| match Command::new(&program).arg(option).output() {
            Ok(run) if run.status.success() => String::from_utf8_lossy(&run.stdout).into_owned(),
            Ok(run) => {
                panic!("PLACEFIELD_PRECOMPILE: {} {option}: {}", program.display(), run.status)
            }
            Err(error) => {
                panic!("PLACEFIELD_PRECOMPILE: cannot run {}: {error}", program.display())
            }
        };
        // "Cuda compilation tools, release 13.0, V13.0.88"
        let about = said("--version");
        let version = about.split_once("release ").and_then(|(_, rest)| {
            let (major, rest) = rest.split_once('.')?;
            Some((major.parse().ok()?, rest.split(',').next()?.parse().ok()?))
        });
        let version = version.unwrap_or_else(|| {
            panic!("PLACEFIELD_PRECOMPILE: no version in what {} says: {about}", program.display())
        });
        let listed = said("--list-gpu-arch");
        let architectures =
            listed.lines().filter_map(|line| line.trim().strip_prefix("compute_")?.parse().ok());
        let architectures = architectures.collect();
        Nvcc { program, version, architectures }
    }

    /// Compiles one image.
    fn assemble(&self, kernels: &Path, out: &Path, image: &Image) {
        let mut command = Command::new(&self.program);
        command.args(["-fatbin", "-std=c++17", "-O3"]).arg(format!("-DPF_REAL={}", image.real));
        command.args(image.defines.iter().map(|(name, value)| format!("-D{name}={value}")));
        // Drivers of CUDA 12 do not all know these ways of compressing.
        if self.version >= (13, 0) {
            command.arg("--compress-mode=size");
        }
        let (sm, code) = (image.target.architecture(), image.target.code());
        command.arg("-gencode").arg(format!("arch=compute_{sm},code={code}"));
        command.arg("-I").arg(kernels).arg("-o").arg(image.path(out)).arg(image.unit);
        let what = || format!("{} for {code} {}", image.unit.display(), image.defined());
        match command.status() {
            Ok(status) if status.success() => {}
            Ok(status) => panic!("PLACEFIELD_PRECOMPILE: nvcc on {}: {status}", what()),
            Err(error) => {
                panic!("PLACEFIELD_PRECOMPILE: cannot run {}: {error}", self.program.display())
            }
        }
    }
}
