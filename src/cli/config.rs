//! `--config FILE.toml`: options from a file, as if they came before the others on the command
//! line.

use super::failure::{Failure, named, usage};
use crate::text::file::check_readable;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The option's own name.
const CONFIG: &str = "--config";

/// Returns the words of the command line with those that the file of `--config` adds. An option on
/// the command line is not taken from the file.
///
/// # Errors
/// A file that cannot be read, is not TOML, or has an unknown option; with line and column.
pub(crate) fn with_config(words: Vec<OsString>, cli: &Command) -> Result<Vec<OsString>, Failure> {
    let Some(path) = value_of(&words, CONFIG)? else { return Ok(words) };
    let path = Path::new(&path);
    let bytes =
        check_readable(path).and_then(|()| std::fs::read(path)).map_err(|e| named(path, e))?;
    let wrong = |at: usize, what: &str| -> Failure {
        let before = bytes.get(..at).unwrap_or(&bytes);
        let line = 1 + before.iter().filter(|b| **b == b'\n').count();
        let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |k| k + 1);
        let column = 1 + String::from_utf8_lossy(&before[start..]).chars().count();
        format!("{}:{line}:{column}: {}", path.display(), what.replace('\n', " ")).into()
    };
    let text = std::str::from_utf8(&bytes).map_err(|e| wrong(e.valid_up_to(), "expected UTF-8"))?;
    let table = DeTable::parse(text)
        .map_err(|e| wrong(e.span().map_or(0, |span| span.start), e.message()))?;

    let Some((command, chain, at)) = called(&words, cli) else { return Ok(words) };
    let has = |name: &str| value_names(&words).any(|given| given == name);
    let mut added: Vec<OsString> = Vec::new();
    for (key, value) in table.get_ref() {
        let name = &**key.get_ref();
        // For one command, or for all that have it.
        let of_command = cli.get_subcommands().find(|of| of.get_name() == name);
        let entries: Vec<(&Spanned<_>, &Spanned<DeValue<'_>>)> = match value.get_ref() {
            DeValue::Table(entries) if of_command.is_some() => entries.iter().collect(),
            _ => vec![(key, value)],
        };
        for (key, value) in entries {
            let option = key.get_ref().replace('_', "-");
            let known = match of_command {
                Some(of) => options_of(of, &option),
                None => cli.get_subcommands().flat_map(|of| options_of(of, &option)).collect(),
            };
            if known.is_empty() || option == CONFIG[2..] {
                let of = of_command.map_or("any command".to_owned(), |of| of.get_name().to_owned());
                let what = format!("`{}` is no option of {of}", key.get_ref());
                return Err(wrong(key.span().start, &what));
            }
            let mine = of_command.is_none_or(|of| chain.contains(&of.get_name()));
            let own = command.get_arguments().find(|arg| arg.get_long() == Some(&*option));
            let short = known.iter().find_map(|arg| arg.get_short()).map(|s| format!("-{s}"));
            if has(&format!("--{option}")) || short.is_some_and(|short| has(&short)) {
                continue;
            }
            let words = words_of(&option, value, own.unwrap_or(known[0]))
                .map_err(|e| wrong(value.span().start, &e))?;
            if own.is_some() && mine {
                added.extend(words);
            }
        }
    }
    let mut all = words;
    all.splice(at + 1..at + 1, added);
    Ok(all)
}

/// Returns the options of a command and of those below it that are called so.
fn options_of<'a>(command: &'a Command, name: &str) -> Vec<&'a Arg> {
    let own = command.get_arguments().filter(|arg| arg.get_long() == Some(name));
    own.chain(command.get_subcommands().flat_map(|below| options_of(below, name))).collect()
}

/// Returns how an option with this value is written on a command line.
fn words_of(
    option: &str,
    value: &Spanned<DeValue<'_>>,
    arg: &Arg,
) -> Result<Vec<OsString>, String> {
    let takes = arg.get_action().takes_values();
    let one = |value: &DeValue<'_>| match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Float(number) => Ok(number.to_string()),
        _ => Err(format!("expected a text or a number for `{option}`")),
    };
    let values = match value.get_ref() {
        DeValue::Boolean(on) if !takes => {
            return Ok(on.then(|| format!("--{option}").into()).into_iter().collect());
        }
        _ if !takes => return Err(format!("expected true or false for `{option}`")),
        DeValue::Array(items) if matches!(arg.get_action(), ArgAction::Append) => {
            items.iter().map(|item| one(item.get_ref())).collect::<Result<Vec<_>, _>>()?
        }
        value => vec![one(value)?],
    };
    values.iter().try_for_each(|value| check(arg, option, value))?;
    Ok(values.into_iter().map(|value| format!("--{option}={value}").into()).collect())
}

/// Fails unless the option takes this value.
fn check(arg: &Arg, option: &str, value: &str) -> Result<(), String> {
    let mut value_alone = Arg::new("value").value_parser(arg.get_value_parser().clone());
    if let Some(delimiter) = arg.get_value_delimiter() {
        value_alone = value_alone.value_delimiter(delimiter);
    }
    let alone = Command::new("placefield").no_binary_name(true);
    let alone = alone.arg(value_alone.allow_hyphen_values(true));
    match alone.try_get_matches_from([value]) {
        Ok(_) => Ok(()),
        Err(e) => {
            let text = e.to_string().replace("'[value]'", &format!("'--{option}'"));
            let lines = text.lines().take_while(|line| !line.starts_with("For more"));
            let words = lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
            Err(words.trim_start_matches("error: ").to_owned())
        }
    }
}

/// Returns the names of the options among the words, without their values.
fn value_names(words: &[OsString]) -> impl Iterator<Item = String> + '_ {
    words.iter().skip(1).filter_map(|word| {
        let word = word.to_string_lossy();
        let name = word.split_once('=').map_or(&*word, |(name, _)| name);
        name.starts_with('-').then(|| match name.starts_with("--") {
            true => name.to_owned(),
            false => name.chars().take(2).collect(),
        })
    })
}

/// Returns the value of an option, wherever it is.
fn value_of(words: &[OsString], name: &str) -> Result<Option<OsString>, Failure> {
    for (k, word) in words.iter().enumerate().skip(1) {
        if word == OsStr::new("--") {
            break;
        }
        if word == OsStr::new(name) {
            let missing = || usage(ErrorKind::InvalidValue, "'--config' needs the name of a file");
            return words.get(k + 1).cloned().map(Some).ok_or_else(missing);
        }
        if let Some(value) =
            word.to_str().and_then(|word| word.strip_prefix(name)?.strip_prefix('='))
        {
            return Ok(Some(value.into()));
        }
    }
    Ok(None)
}

/// Returns the command that is called, the names that lead to it, and the place of the last of
/// them.
fn called<'a>(words: &[OsString], cli: &'a Command) -> Option<(&'a Command, Vec<&'a str>, usize)> {
    let (mut command, mut chain, mut at) = (cli, Vec::new(), 0);
    let mut k = 1;
    while let Some(word) = words.get(k) {
        let text = word.to_string_lossy();
        if let Some(found) = command.find_subcommand(&*text) {
            (command, at) = (found, k);
            chain.push(found.get_name());
        } else if !chain.is_empty() {
            break;
        } else if [CONFIG, "--log"].contains(&&*text) {
            k += 1; // and its value
        }
        k += 1;
    }
    (!chain.is_empty()).then_some((command, chain, at))
}
