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
mod tests {
    use super::*;

    #[test]
    fn lengths_have_twins_beside_them() {
        let mut document = json!({
            "design": {"units_per_micron": 2000.0, "die": [0, 0, 4000, 8000], "movable_area": 4e6},
            "hpwl": 1000.0,
            "hpwl_weighted": null,
            "displacement": {
                "mean": 200.0, "median": 100.0, "max": 800.0, "p95": 600.0, "cells": 3,
                "rows": {"mean": 2.0, "p95": 6.0, "max": 8.0},
                "farthest": [{"distance": 800.0, "from": [0.0, 0.0], "to": [800.0, 0.0]}],
            },
            "from": {"hpwl": 500.0},
        });
        add(&mut document);
        let at = |path: &str| document.pointer(path).cloned().unwrap_or_default();
        assert_eq!(at("/design/die_um"), json!([0.0, 0.0, 2.0, 4.0]));
        assert_eq!(at("/design/movable_area_um2"), 1.0);
        assert_eq!((at("/hpwl_um"), at("/from/hpwl_um")), (json!(0.5), json!(0.25)));
        assert_eq!(
            (at("/displacement/max_um"), at("/displacement/p95_um")),
            (json!(0.4), json!(0.3))
        );
        assert_eq!(at("/displacement/farthest/0/to_um"), json!([0.4, 0.0]));
        for none in ["/hpwl_weighted_um", "/displacement/rows/mean_um", "/displacement/cells_um"] {
            assert_eq!(at(none), Value::Null, "{none}");
        }
        let keys: Vec<&String> = document["design"].as_object().unwrap().keys().collect();
        assert_eq!(keys[1..3], ["die", "die_um"], "beside it");
        let mut other = json!({"design": {"die": [0, 0, 1, 1]}, "hpwl": 1.0});
        let before = other.clone();
        add(&mut other);
        assert_eq!(other, before, "no length is known");
    }
}
