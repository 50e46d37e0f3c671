//! Micrometres beside the lengths and areas of JSON documents, and in their schema.

use serde_json::{Map, Value, json};

/// Keys of lengths (1) and areas (2) in layout units, wherever they are.
const KEYS: [(&str, i32); 14] = [
    ("hpwl", 1),
    ("hpwl_weighted", 1),
    ("die", 1),
    ("bin_size", 1),
    ("window", 1),
    ("gamma", 1),
    ("movable_area", 2),
    ("fixed_area", 2),
    ("overflow_area", 2),
    ("overlap_area", 2),
    ("total_area", 2),
    ("clipped_area", 2),
    ("blocked_area", 2),
    ("edge_loss_area", 2),
];
/// Keys of lengths in an object that has all of one of these lists.
const TOGETHER: [&[&str]; 3] =
    [&["distance", "from", "to"], &["from", "to", "cells"], &["mean", "p95", "max"]];
/// More keys of the last of these objects.
const DISTANCES: [&str; 2] = ["total", "median"];
/// The object whose distances are counted in rows.
const IN_ROWS: &str = "rows";

/// Returns the key of the micrometres beside `key` in an object of these keys, and the power of a
/// length that it is; `None` if it is none.
fn twin(key: &str, has: &dyn Fn(&str) -> bool) -> Option<(String, i32)> {
    let everywhere = KEYS.iter().find(|(of, _)| *of == key).map(|(_, power)| *power);
    let here = || {
        let list = TOGETHER.into_iter().find(|list| list.iter().all(|key| has(key)))?;
        let more = list == TOGETHER[2] && DISTANCES.contains(&key);
        let is_length = key != "cells" && (list.contains(&key) || more);
        is_length.then_some(1)
    };
    let power = everywhere.or_else(here)?;
    Some((format!("{key}_um{}", if power == 2 { "2" } else { "" }), power))
}

/// Adds micrometres to a document whose design says how long its layout units are.
pub(super) fn add(document: &mut Value) {
    let known = ["/design/units_per_micron", "/units_per_micron"];
    let units = known.iter().find_map(|at| document.pointer(at)).and_then(Value::as_f64);
    if let Some(units) = units {
        add_below(document, "", units);
    }
}

fn add_below(value: &mut Value, parent: &str, units: f64) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|v| add_below(v, parent, units)),
        Value::Object(of) => {
            let whole = std::mem::take(of);
            let keys: Vec<String> = whole.keys().cloned().collect();
            let has = |key: &str| parent != IN_ROWS && keys.iter().any(|own| own == key);
            for (key, mut value) in whole {
                let microns = twin(&key, &has)
                    .and_then(|(name, power)| Some((name, scaled(&value, units.powi(power))?)));
                add_below(&mut value, &key, units);
                of.insert(key, value);
                of.extend(microns);
            }
        }
        _ => {}
    }
}

/// Returns a number over `unit`, or a list of numbers.
fn scaled(value: &Value, unit: f64) -> Option<Value> {
    match value {
        Value::Number(number) => Some(json!(number.as_f64()? / unit)),
        Value::Array(all) => all.iter().map(|one| scaled(one, unit)).collect(),
        _ => None,
    }
}

/// Adds the keys that [`add`] may add to the properties of a schema's object.
pub(super) fn add_to_schema(properties: &mut Map<String, Value>) {
    let keys: Vec<String> = properties.keys().cloned().collect();
    let has = |key: &str| keys.iter().any(|own| own == key);
    for key in &keys {
        let Some((name, power)) = twin(key, &has) else { continue };
        let kind =
            if key == "hpwl" || power == 2 { json!("number") } else { json!(["number", "array"]) };
        let unit = if power == 2 { "micrometres squared" } else { "micrometres" };
        let text = format!("{key} in {unit}, if the length of a layout unit is known.");
        properties.insert(name, json!({"type": kind, "description": text}));
    }
}

#[cfg(test)]
mod tests;
