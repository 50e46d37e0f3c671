//! `placefield completions` and `placefield man`: shell completions and manual pages.

use super::failure::Failure;
use super::outputs::{Names, Outputs};
use super::results::{list, write_output};
use clap::{Args, Command};
use clap_complete::Shell;
use std::path::{Path, PathBuf};

/// Options of `placefield completions`.
#[derive(Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// Writes a completion script to standard output.
pub(crate) fn completions(args: &CompletionsArgs, mut command: Command) -> Result<(), Failure> {
    Outputs::default().check(&[])?;
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    write_output(Path::new("-"), |out| out.write_all(&script))
}

/// Options of `placefield man`.
#[derive(Args)]
pub(crate) struct ManArgs {
    /// Write the page of the program and one page per command into this folder [default: print the
    /// page of the program]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Writes manual pages.
pub(crate) fn man(args: &ManArgs, command: Command) -> Result<(), Failure> {
    let pages = Names::Ending(&["1"]);
    Outputs::default().folder("--out", args.out.as_ref(), pages).check(&[])?;
    let Some(folder) = &args.out else {
        return write_output(Path::new("-"), |out| clap_mangen::Man::new(command).render(out));
    };
    let mut pages = Vec::new();
    collect(command, String::new(), &mut pages);
    let mut files = Vec::new();
    for (name, page) in pages {
        let path = folder.join(format!("{name}.1"));
        write_output(&path, |out| page.render(out))?;
        files.push(path);
    }
    Ok(list(&files)?)
}

/// The page of `command` and those of its subcommands, called `placefield-eval` and so on.
fn collect(command: Command, above: String, pages: &mut Vec<(String, clap_mangen::Man)>) {
    let name = match above.is_empty() {
        true => command.get_name().to_owned(),
        false => format!("{above}-{}", command.get_name()),
    };
    for below in command.get_subcommands().filter(|c| c.get_name() != "help") {
        collect(below.clone(), name.clone(), pages);
    }
    // The synopsis has blanks, as in a command line.
    let command = command.bin_name(name.replacen('-', " ", 1)).disable_help_subcommand(true);
    let command = command.version(env!("CARGO_PKG_VERSION"));
    pages.push((name.clone(), clap_mangen::Man::new(command).title(name)));
}
