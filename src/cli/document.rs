//! The JSON documents of commands: their first keys.

use super::failure::Failure;
use super::microns;
use super::results::write_output;
use super::terminal::Escaping;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The version of all documents. It grows when a key is removed or changes its meaning, but not for
/// a new key.
pub(crate) const SCHEMA: u32 = 3;

/// The files of a command that reads or writes none but the document.
pub(crate) const NO_FILES: &[&Path] = &[];

/// The content of a command's JSON document.
pub(crate) trait Content: Serialize + JsonSchema {
    /// The command.
    const COMMAND: &'static str;
    /// Whether the command writes a list of documents for several inputs.
    const LISTS: bool = false;

    /// Returns the program that found the numbers.
    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }
}

/// A whole document.
#[derive(Serialize, JsonSchema)]
pub(super) struct Document<'a, T> {
    /// The version of this schema: it grows when a key is removed or changes its meaning.
    schema: u32,
    /// The command that wrote the document.
    command: &'a str,
    /// The program's version.
    version: &'a str,
    /// The input files.
    inputs: Vec<String>,
    /// The written files, except this one.
    outputs: Vec<String>,
    #[serde(flatten)]
    content: &'a T,
}

/// Writes pretty JSON to the file that an option names, if it names one (`-`: standard output).
pub(crate) fn write_document<T: Content>(
    path: Option<&PathBuf>,
    inputs: &[impl AsRef<Path>],
    outputs: &[impl AsRef<Path>],
    content: &T,
) -> Result<(), Failure> {
    path.map_or(Ok(()), |path| {
        write_json(path, &finished(&document(path, inputs, outputs, content))?)
    })
}

/// Writes a list of several documents, each with its own inputs.
pub(crate) fn write_documents<T: Content>(
    path: &Path,
    all: &[(&[PathBuf], &T)],
    outputs: &[impl AsRef<Path>],
) -> Result<(), Failure> {
    let each = all.iter().map(|(inputs, content)| document(path, inputs, outputs, *content));
    let each = each.map(|document| finished(&document)).collect::<Result<Vec<_>, _>>()?;
    write_json(path, &each)
}

/// Returns a document with micrometres beside its lengths, if these are known, and without `-0.0`.
fn finished(document: &impl Serialize) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(document).map_err(|e| e.to_string())?;
    microns::add(&mut value);
    without_negative_zeros(&mut value);
    Ok(value)
}

fn without_negative_zeros(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() && number.as_f64() == Some(0.0) => {
            *value = 0.0.into();
        }
        Value::Array(values) => values.iter_mut().for_each(without_negative_zeros),
        Value::Object(entries) => entries.values_mut().for_each(without_negative_zeros),
        _ => {}
    }
}

fn document<'a, T: Content>(
    path: &Path,
    inputs: &[impl AsRef<Path>],
    outputs: &[impl AsRef<Path>],
    content: &'a T,
) -> Document<'a, T> {
    let name = |path: &Path| path.display().to_string();
    let others = outputs.iter().map(AsRef::as_ref).filter(|other| *other != path);
    Document {
        schema: SCHEMA,
        command: T::COMMAND,
        version: content.version(),
        inputs: inputs.iter().map(|path| name(path.as_ref())).collect(),
        outputs: others.map(name).collect(),
        content,
    }
}

/// Writes pretty JSON that is no document to `path`, with hidden characters escaped.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Failure> {
    write_output(path, |out| {
        serde_json::to_writer_pretty(Escaping::json(&mut *out), value)?;
        writeln!(out)
    })
}
