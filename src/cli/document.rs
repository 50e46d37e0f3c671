//! The JSON documents of commands: their first keys, and their schema.

use super::arrays::{dct, solve};
use super::failure::{Failure, usage};
use super::results::write_output;
use super::{compare, compress, convert, diff, info, legalize, paper, place, refine, report, runs};
use clap::Args;
use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The version of all documents. It grows when a key is removed or changes its meaning; a new key
/// leaves it as it is.
pub(crate) const SCHEMA: u32 = 1;

/// The content of a command's JSON document.
pub(crate) trait Content: Serialize + JsonSchema {
    /// The command.
    const COMMAND: &'static str;

    /// Returns the program that found the numbers.
    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }
}

/// A whole document.
#[derive(Serialize, JsonSchema)]
struct Document<'a, T> {
    /// The version of this schema: it grows when a key is removed or changes its meaning.
    schema: u32,
    /// The command that wrote it.
    command: &'a str,
    /// The program's version.
    version: &'a str,
    /// The files that were read.
    inputs: Vec<String>,
    /// The files that were written, this one left out.
    outputs: Vec<String>,
    #[serde(flatten)]
    content: &'a T,
}

/// Writes pretty JSON to `path` (`-`: standard output).
pub(crate) fn write_document<T: Content>(
    path: &Path,
    inputs: &[impl AsRef<Path>],
    outputs: &[impl AsRef<Path>],
    content: &T,
) -> Result<(), Failure> {
    write_json(path, &document(path, inputs, outputs, content))
}

/// Writes a list of several documents, each with inputs of its own.
pub(crate) fn write_documents<T: Content>(
    path: &Path,
    all: &[(&[PathBuf], &T)],
    outputs: &[impl AsRef<Path>],
) -> Result<(), Failure> {
    let each = all.iter().map(|(inputs, content)| document(path, inputs, outputs, *content));
    write_json(path, &each.collect::<Vec<_>>())
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

/// Writes pretty JSON that is no document to `path`.
fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Failure> {
    write_output(path, |out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        writeln!(out)
    })
}

/// Options of `placefield schema`.
#[derive(Args)]
pub(crate) struct SchemaArgs {
    /// The command whose JSON it is; one schema for all of them unless given
    #[arg(value_name = "COMMAND", value_parser = PossibleValuesParser::new(SCHEMAS.iter().map(|of| of.0)))]
    of: Option<String>,
    /// Write it to a file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Makes the schema of a command's documents.
type Make = fn(&mut SchemaGenerator) -> Schema;

/// Every kind of document.
const SCHEMAS: &[(&str, Make)] = &[
    entry::<report::Report>(),
    entry::<diff::DiffReport>(),
    entry::<compare::command::Table>(),
    entry::<runs::RunsReport>(),
    entry::<place::PlaceReport<'_>>(),
    entry::<place::HistoryReport<'_>>(),
    entry::<legalize::LegalizeReport<'_>>(),
    entry::<refine::RefineReport<'_>>(),
    entry::<solve::SolveReport>(),
    entry::<dct::DctReport>(),
    entry::<convert::ConvertReport>(),
    entry::<compress::command::CompressReport>(),
    entry::<paper::Report>(),
    entry::<info::Info>(),
    #[cfg(feature = "cuda")]
    entry::<super::tune::TuneReport>(),
];

const fn entry<T: Content>() -> (&'static str, Make) {
    (T::COMMAND, schema_of::<T>)
}

fn schema_of<T: Content>(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = Document::<T>::json_schema(generator);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let mut fix = |key: &str, value: Value| {
            if let Some(Value::Object(of)) = properties.get_mut(key) {
                of.insert("const".to_owned(), value);
            }
        };
        fix("schema", SCHEMA.into());
        fix("command", T::COMMAND.into());
    }
    schema.insert("title".to_owned(), format!("placefield {}", T::COMMAND).into());
    schema.remove("description");
    schema
}

/// Prints or writes a schema.
pub(crate) fn run(args: &SchemaArgs) -> Result<(), Failure> {
    let out = args.out.as_deref().unwrap_or(Path::new("-"));
    super::outputs::Outputs::default().file("--out", Some(out)).check(&[])?;
    write_json(out, &schema(args.of.as_deref())?)
}

/// Returns the schema of a command's document, or one that takes those of all.
fn schema(of: Option<&str>) -> Result<Value, Failure> {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema: Schema = match of {
        Some(of) => {
            let known = SCHEMAS.iter().find(|(command, _)| *command == of);
            let (_, make) =
                known.ok_or_else(|| usage(ErrorKind::InvalidValue, "expected a command"))?;
            make(&mut generator)
        }
        None => {
            let mut all = Map::new();
            for &(command, make) in SCHEMAS {
                all.insert(command.to_owned(), make(&mut generator).into());
            }
            let any: Vec<Value> =
                SCHEMAS.iter().map(|(of, _)| json!({"$ref": format!("#/$defs/{of}")})).collect();
            let whole = json!({"title": "placefield", "anyOf": any, "$defs": all});
            Schema::try_from(whole)?
        }
    };
    let parts = generator.take_definitions(false);
    if let Value::Object(defs) = schema.ensure_object().entry("$defs").or_insert(json!({})) {
        defs.extend(parts);
    }
    let mut head = Map::new();
    head.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    head.append(schema.ensure_object());
    let mut schema = Schema::from(head);
    Plain.transform(&mut schema);
    Ok(schema.into())
}

/// Makes descriptions of doc comments: without links into the code, each in one line.
#[derive(Clone)]
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::String(text)) = schema.get_mut("description") {
            let mut plain = String::new();
            let mut rest = &*text.replace('\n', " ");
            while let Some(at) = rest.find("[`") {
                plain += &rest[..at];
                let Some(end) = rest[at..].find("`]") else { break };
                plain += rest[at + 2..at + end].rsplit("::").next().unwrap_or_default();
                rest = &rest[at + end + 2..];
                if let Some(target) = rest.strip_prefix('(') {
                    rest = target.split_once(')').map_or(rest, |(_, after)| after);
                }
            }
            *text = plain + rest;
        }
        transform_subschemas(self, schema);
    }
}
