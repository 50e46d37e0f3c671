//! `--help` and the manual pages: groups of options, and after them examples, exit codes and
//! environment variables.

use clap::{Arg, Command};

/// Headings of `--help`, with the options under each in any command. The others have the default
/// heading or that of their module.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Input",
        &[
            "init",
            "keep-fillers",
            "lef",
            "max-unpacked",
            "net-weights",
            "pin-offset",
            "pin-position",
            "pl",
            "region",
            "row-blockage",
        ],
    ),
    (
        "Density and engine",
        &[
            "bins",
            "deterministic",
            "engine",
            "fillers",
            "no-fillers",
            "pipeline",
            "precision",
            "raise-density",
            "seed",
            "target-density",
            "threads",
        ],
    ),
    (
        "Stages",
        &[
            "capacity",
            "effort",
            "keep-density",
            "keep-placed",
            "macro-channel",
            "macro-halo",
            "max-displacement",
            "no-mirror",
            "no-one-site-gaps",
            "padding",
            "rounds",
            "routability",
            "routability-area",
            "routability-rounds",
            "seeds",
            "until",
        ],
    ),
    (
        "Stopping and limits",
        &[
            "checkpoint",
            "checkpoint-every",
            "iterations",
            "max-hpwl-rise",
            "require-legal",
            "require-on-die",
            "resume",
            "stop-overflow",
            "time-limit",
            "tolerance",
        ],
    ),
    (
        "Pictures",
        &[
            "also",
            "colors",
            "contours",
            "cut",
            "dpi",
            "font-size",
            "format",
            "no-title",
            "pictures",
            "range",
            "scale",
            "streamlines",
            "width",
        ],
    ),
    (
        "Output",
        &[
            "csv",
            "frame-every",
            "frames",
            "history",
            "json",
            "maps",
            "maps-as",
            "out",
            "output",
            "plots",
            "report",
            "trajectory",
        ],
    ),
];

/// Long names of the option that says where a command writes its result. Each has the other as an
/// alias, and `-o`.
const OUTPUT: [&str; 2] = ["out", "output"];

/// Examples of every command, each a whole command line.
const EXAMPLES: [(&str, &[&str]); 20] = [
    (
        "eval",
        &[
            "placefield eval chip.def --lef tech.lef --lef cells.lef --legality",
            "placefield eval design.aux --pl a.pl --pl b.pl --csv table.csv --json all.json",
            "placefield eval design.aux --region 0,0,500,500 --require-legal --json -",
        ],
    ),
    (
        "diff",
        &[
            "placefield diff design.aux before.pl after.pl --max-hpwl-rise 1%",
            "placefield diff first.json second.json third.json --report runs.html",
        ],
    ),
    ("compare", &["placefield compare design.aux --iterations 100 --engine cuda --with-cpu"]),
    (
        "plot",
        &[
            "placefield plot design.aux --out pictures --pictures density,overflow --scale log",
            "placefield plot design.aux --out figures --format pdf --width 88 --no-title",
        ],
    ),
    ("report", &["placefield report design.aux --out page.html"]),
    (
        "place",
        &[
            "placefield place design.aux -o placed.pl --history run.csv --json run.json",
            "placefield place design.aux -o placed.pl --time-limit 600 --checkpoint run.ck",
            "placefield place design.aux -o placed.pl --config options.toml --quiet --log run.log",
        ],
    ),
    (
        "legalize",
        &[
            "placefield legalize design.aux --pl spread.pl -o legal.pl",
            "placefield legalize changed.def --lef cells.lef --keep-placed -o legal.def",
        ],
    ),
    ("refine", &["placefield refine design.aux --pl legal.pl -o refined.pl"]),
    ("solve", &["placefield solve density.npy --out fields"]),
    ("dct", &["placefield dct values.npy -o coefficients.npy --axes 0,1"]),
    ("convert", &["placefield convert chip.def chip.aux --lef tech.lef --lef cells.lef"]),
    ("generate", &["placefield generate --cells 20000 --out design"]),
    ("compress", &["placefield compress photo.png -o small.png --threshold 1000"]),
    ("demo", &["placefield demo"]),
    ("bench", &["placefield bench all --quick --json tables.json"]),
    ("info", &["placefield info --json -"]),
    ("schema", &["placefield schema eval", "placefield schema --out placefield.schema.json"]),
    ("completions", &["placefield completions bash"]),
    ("man", &["placefield man --out man1"]),
    ("tune", &["placefield tune"]),
];

/// Exit codes and environment variables of every command.
const COMMON: &str = "\
Exit codes:
  0    done
  1    the input is wrong, the run failed, or a requested limit is exceeded (--require-legal,
       --max-hpwl-rise …); one line on standard error names file, line, column and what was
       expected
  2    wrong usage: an unknown option, a value out of range, an output over an input
  3    the placement stopped before its goal or is not legal although that was requested; it is
       written
  130  interrupted by SIGINT, SIGTERM or SIGHUP: place, legalize, refine, compare and bench write
       partial results; other commands write nothing

Environment:
  PLACEFIELD_PROGRESS      seconds between lines of progress if standard error is no terminal
                           [default: 10; 0 for none]
  PLACEFIELD_SIMD          widest vectors that the CPU engine may use: portable, avx2 or avx512
  PLACEFIELD_CACHE         folder of compiled kernels [default: ~/.cache/placefield]
  PLACEFIELD_DEVICE_LIMIT  KB of shared memory of a block to assume on a GPU, for tests";

/// Returns an option under its heading; that of a result is also `-o`.
fn grouped(arg: Arg) -> Arg {
    let Some(name) = arg.get_long().map(str::to_owned) else { return arg };
    let group = GROUPS.iter().find(|(_, names)| names.contains(&&*name));
    let arg = match group.filter(|_| arg.get_help_heading().is_none()) {
        Some((heading, _)) => arg.help_heading(*heading),
        None => arg,
    };
    match OUTPUT.iter().position(|of| *of == name) {
        Some(k) => arg.short('o').alias(OUTPUT[1 - k]),
        None => arg,
    }
}

/// Returns the command line with groups of options, and with examples, exit codes and environment
/// variables after them.
pub(crate) fn with_more(command: Command) -> Command {
    let mut command = command.mut_subcommands(|of| of.mut_args(grouped));
    for (name, lines) in EXAMPLES {
        if command.find_subcommand(name).is_some() {
            let examples = format!("Examples:\n  {}", lines.join("\n  "));
            command = command.mut_subcommand(name, |of| {
                of.after_long_help(format!("{examples}\n\n{COMMON}")).after_help(examples.clone())
            });
        }
    }
    command.after_long_help(COMMON)
}

#[cfg(test)]
mod tests;
