use super::*;
use crate::cli::command;

#[test]
fn every_example_is_a_command_line() {
    let all = command();
    for (name, lines) in EXAMPLES.iter().filter(|(name, _)| all.find_subcommand(name).is_some()) {
        for line in *lines {
            assert!(line.starts_with(&format!("placefield {name}")), "{line}");
            let parsed = command().try_get_matches_from(line.split(' '));
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }
    for of in all.get_subcommands().filter(|of| of.get_name() != "help") {
        assert!(EXAMPLES.iter().any(|(name, _)| *name == of.get_name()), "{}", of.get_name());
    }
}

#[test]
fn grouped_options_are_options() {
    let all = command();
    let has = |name: &str| {
        let mut args = all.get_subcommands().flat_map(|of| of.get_arguments());
        args.any(|arg| arg.get_long() == Some(name))
    };
    // A build without pictures or without a GPU lacks some.
    let missing: Vec<&str> = GROUPS
        .iter()
        .flat_map(|(_, names)| names.iter().copied())
        .filter(|name| cfg!(feature = "plot") && !has(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    let place = all.find_subcommand("place").unwrap();
    for (heading, _) in GROUPS.iter().filter(|(heading, _)| *heading != "Pictures") {
        assert!(place.get_arguments().any(|a| a.get_help_heading() == Some(heading)), "{heading}");
    }
}

#[test]
fn every_output_is_o() {
    let all = command();
    for of in all.get_subcommands() {
        let output =
            of.get_arguments().find(|arg| OUTPUT.iter().any(|l| arg.get_long() == Some(l)));
        let short = output.map(|arg| arg.get_short());
        assert!(short.is_none_or(|short| short == Some('o')), "{}", of.get_name());
    }
    for line in [
        "placefield plot design.aux -o pictures",
        "placefield plot design.aux --output pictures",
        "placefield generate --cells 10 -o design",
        "placefield report design.aux -o page.html",
        "placefield place design.aux --out placed.pl",
    ] {
        let parsed = command().try_get_matches_from(line.split(' '));
        assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
    }
}
