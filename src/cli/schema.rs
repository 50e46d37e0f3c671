//! `placefield schema`: the schema of the commands' JSON documents.

use super::arrays::{dct, solve};
use super::document::{Content, Document, SCHEMA, write_json};
use super::failure::{Failure, usage};
use super::microns;
use super::outputs::Outputs;
use super::{compare, compress, convert, diff, info, legalize, place, refine};
use clap::Args;
use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Options of `placefield schema`.
#[derive(Args)]
pub(crate) struct SchemaArgs {
    /// Command that writes the JSON [default: one schema for all commands]
    #[arg(
        value_name = "COMMAND",
        value_parser = PossibleValuesParser::new(SCHEMAS.iter().map(|of| of.0))
    )]
    of: Option<String>,
    /// Write the schema to a file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Makes the schema of a command's documents, which is at a path of the whole.
type Make = fn(&mut SchemaGenerator, &str) -> Schema;

/// Every kind of document.
const SCHEMAS: &[(&str, Make)] = &[
    entry::<crate::evaluate::Report>(),
    entry::<diff::DiffReport>(),
    entry::<compare::Table>(),
    entry::<place::PlaceReport<'_>>(),
    entry::<place::HistoryReport<'_>>(),
    entry::<legalize::LegalizeReport<'_>>(),
    entry::<refine::RefineReport<'_>>(),
    entry::<solve::SolveReport>(),
    entry::<dct::DctReport>(),
    entry::<convert::ConvertReport>(),
    entry::<compress::CompressReport>(),
    entry::<crate::paper::bench::Report>(),
    entry::<info::Info>(),
    #[cfg(feature = "cuda")]
    entry::<super::tune::TuneReport>(),
];

const fn entry<T: Content>() -> (&'static str, Make) {
    (T::COMMAND, schema_of::<T>)
}

fn schema_of<T: Content>(generator: &mut SchemaGenerator, path: &str) -> Schema {
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
    if T::LISTS {
        // Keywords of objects say nothing about lists, and those of lists nothing about objects.
        schema.insert("type".to_owned(), json!(["object", "array"]));
        schema.insert("items".to_owned(), json!({"$ref": path, "type": "object"}));
    }
    schema
}

/// Prints or writes a schema.
pub(crate) fn run(args: &SchemaArgs) -> Result<(), Failure> {
    let out = args.out.as_deref().unwrap_or(Path::new("-"));
    Outputs::default().file("--out", Some(out)).check(&[])?;
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
            make(&mut generator, "#")
        }
        None => {
            let mut all = Map::new();
            for &(command, make) in SCHEMAS {
                let path = format!("#/$defs/{command}");
                all.insert(command.to_owned(), make(&mut generator, &path).into());
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
    WithMicrons.transform(&mut schema);
    Plain.transform(&mut schema);
    Ok(schema.into())
}

/// Adds the micrometres that documents have beside lengths.
#[derive(Clone)]
struct WithMicrons;

impl Transform for WithMicrons {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            microns::add_to_schema(properties);
        }
        transform_subschemas(self, schema);
    }
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
