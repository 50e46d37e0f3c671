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
