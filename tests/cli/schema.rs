//! `schema`: what every command writes as JSON is as its schema says, and holds nothing besides.

use crate::tiny::Tiny;
use crate::{Words, generated, json_of, placefield, run, run_json};
use serde_json::Value;

/// Returns the parts of `value` that do not follow `schema`. Keys that the schema does not name are
/// faults, too, and so is a keyword that is not checked here.
fn faults(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let mut here = Vec::new();
    let mut wrong = |what: String| here.push(format!("{at}: {what}"));
    let is = |kind: &Value| match kind.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other}"),
    };
    let fits = |of: &Value| {
        let mut found = Vec::new();
        faults(root, of, value, at, &mut found);
        found.is_empty()
    };
    for (word, of) in schema.as_object().into_iter().flatten() {
        let list = || of.as_array().unwrap().iter();
        match word.as_str() {
            "$schema" | "$defs" | "title" | "description" | "format" | "properties" => {}
            "$ref" => {
                let part = root.pointer(of.as_str().unwrap().strip_prefix('#').unwrap());
                faults(root, part.expect("a part"), value, at, found);
                continue;
            }
            "type" if of.is_array() => {
                if !list().any(is) {
                    wrong(format!("{value} is none of {of}"));
                }
            }
            "type" => {
                if !is(of) {
                    wrong(format!("{value} is no {of}"));
                }
            }
            "const" => {
                if value != of {
                    wrong(format!("{value} is not {of}"));
                }
            }
            "enum" => {
                if !list().any(|one| one == value) {
                    wrong(format!("{value} is none of {of}"));
                }
            }
            "minimum" | "maximum" => {
                if let (Some(v), Some(end)) = (value.as_f64(), of.as_f64())
                    && (if word == "minimum" { v < end } else { v > end })
                {
                    wrong(format!("{value}: {word} {of}"));
                }
            }
            "minItems" | "maxItems" => {
                let (many, end) = (value.as_array().map_or(0, Vec::len) as u64, of.as_u64());
                let off = if word == "minItems" { Some(many) < end } else { Some(many) > end };
                if value.is_array() && off {
                    wrong(format!("{many} items: {word} {of}"));
                }
            }
            "anyOf" | "oneOf" => {
                let many = list().filter(|one| fits(one)).count();
                if many == 0 || (word == "oneOf" && many > 1) {
                    wrong(format!("{value} fits {many} of {word}"));
                }
            }
            "required" => {
                for key in list().map(|key| key.as_str().unwrap()) {
                    if value.is_object() && value.get(key).is_none() {
                        wrong(format!("`{key}` is missing"));
                    }
                }
            }
            "items" | "prefixItems" => {
                for (k, item) in value.as_array().into_iter().flatten().enumerate() {
                    let of = if word == "items" { of } else { &of[k] };
                    faults(root, of, item, &format!("{at}/{k}"), found);
                }
                continue;
            }
            "additionalProperties" => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    faults(root, of, value, &format!("{at}/{key}"), found);
                }
                continue;
            }
            other => panic!("{at}: the keyword {other} is not checked"),
        }
    }
    found.extend(here);
    if let (Some(Value::Object(known)), Value::Object(entries)) = (schema.get("properties"), value)
    {
        for (key, value) in entries {
            match known.get(key) {
                Some(of) => faults(root, of, value, &format!("{at}/{key}"), found),
                None => found.push(format!("{at}: `{key}` is in no schema")),
            }
        }
    }
}

fn schema(of: &str) -> Value {
    run_json(&[&"schema", &of])
}

/// The JSON must be as its command's schema has it, and as that of all commands.
fn check(of: &str, json: &Value) {
    let all = run_json(&[&"schema"]);
    for schema in [schema(of), all] {
        let mut found = Vec::new();
        faults(&schema, &schema, json, "", &mut found);
        assert!(found.is_empty(), "{of}: {found:#?}\n{json:#}");
    }
    for one in json.as_array().unwrap_or(&vec![json.clone()]) {
        assert_eq!((&one["command"], &one["schema"]), (&of.into(), &3.into()));
        assert!(!one.to_string().contains("-0.0,"), "{one}");
    }
}

/// Runs a command, whatever its exit code, and checks the JSON that it prints.
fn printed(args: &[&dyn Words]) -> Value {
    let output = placefield(&[&args, &"--json -"]).output().unwrap();
    let json = serde_json::from_slice(&output.stdout);
    let json: Value =
        json.unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    check(args.words()[0].to_str().unwrap(), &json);
    json
}

#[test]
fn values_against_the_schema_are_found() {
    let schema = schema("eval");
    let tiny = Tiny::new();
    let good = printed(&[&"eval", &tiny.aux(), &"--bins 8x4"]);
    let change = |pointer: &str, to: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = to;
        let mut found = Vec::new();
        faults(&schema, &schema, &bad, "", &mut found);
        found
    };
    assert_eq!(change("/result/hpwl", 22.into()), Vec::<String>::new());
    for (pointer, to) in [
        ("/result/hpwl", "22".into()),
        ("/command", "diff".into()),
        ("/density", serde_json::json!({})),
        ("/design/die", serde_json::json!([0.0, 1.0])),
        ("/warnings/0/code", "nonsense".into()),
        ("/design/nodes", Value::from(-1)),
        ("/field", serde_json::json!({"energy": 1.0, "other": 2.0})),
    ] {
        assert!(!change(pointer, to).is_empty(), "{pointer}");
    }
}

#[test]
fn designs_in_numbers_are_as_their_schema() {
    let tiny = Tiny::new();
    let (aux, at) = (tiny.aux(), |name: &str| tiny.folder().join(name));
    let with = |args: &[&dyn Words]| printed(&[&args, &"--bins 8x4"]);
    let maps = at("maps");
    let all = "--legality --scaled-hpwl --congestion dreamplace --capacity 1,1 --fillers \
               --target-density 0.9 --maps";
    let json = with(&[&"eval", &aux, &all, &maps]);
    // Files read and files written.
    let name = |kind: &str| tiny.file(kind).display().to_string();
    let inputs: Vec<&str> =
        json["inputs"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
    assert!(inputs.contains(&&*name("nets")) && inputs.len() == 6, "{inputs:?}");
    let map = maps.join("density.npy").display().to_string();
    assert!(json["outputs"].as_array().unwrap().contains(&map.into()), "{}", json["outputs"]);
    assert_eq!(json["warnings"][0]["code"], "no_area");

    std::fs::write(at("to.pl"), tiny.text("pl").replace("c 18 5", "c 4 12")).unwrap();
    let both = with(&[&"eval", &aux, &"--pl", &tiny.file("pl"), &"--pl", &at("to.pl")]);
    assert_eq!(both.as_array().map(Vec::len), Some(2));
    with(&[&"diff", &aux, &tiny.file("pl"), &at("to.pl")]);
    with(&[&"compare", &aux, &"--iterations 2 --engine cpu"]);
    with(&[&"compare", &aux, &"--iterations 2 --engine cpu --trajectory place"]);
    printed(&[&"convert", &aux, &at("out.def")]);
    let legal = printed(&[&"legalize", &aux, &"-o", &at("legal.pl"), &"--max-displacement 9"]);
    assert_eq!(legal["result"]["hpwl"], legal["stages"]["legal"]["hpwl"]);
    assert_eq!(
        (&legal["result"]["stage"], &legal["options"]["max_displacement"]),
        (&"legal".into(), &9.0.into())
    );
    let refined = with(&[&"refine", &aux, &"--pl", &at("legal.pl"), &"-o", &at("refined.pl")]);
    assert_eq!(refined["result"]["hpwl"], refined["stages"]["detailed"]["hpwl"]);
    let [first, second] = ["first.json", "second.json"].map(at);
    run(&[&"eval", &aux, &"--bins 8x4 --json", &first]);
    run(&[&"eval", &aux, &"--pl", &at("to.pl"), &"--bins 8x4 --json", &second]);
    printed(&[&"diff", &first, &second]);
}

#[test]
fn placements_are_as_their_schema() {
    let (folder, aux) = generated(200);
    let at = |name: &str| folder.path().join(name);
    let (pl, history) = (at("out.pl"), at("h.json"));
    let json = printed(&[&"place", &aux, &"-o", &pl, &"--engine cpu --history", &history]);
    check("place-history", &json_of(&history));
    let outputs = json["outputs"].as_array().unwrap();
    assert_eq!(outputs, &[pl.display().to_string(), history.display().to_string()]);
    // One name for a quantity, wherever it stands.
    let again = printed(&[&"eval", &aux, &"--pl", &pl, &"--engine cpu"]);
    for key in ["/options/fillers", "/options/filler_count", "/timings_ms/parse"] {
        let kind = |json: &Value| std::mem::discriminant(json.pointer(key).unwrap());
        assert_eq!(kind(&json), kind(&again), "{key}");
    }
    assert_eq!(json["design"], again["design"]);
    let few: &[&dyn Words] = &[&"place", &aux, &"-o", &pl, &"--engine cpu --iterations 20"];
    printed(&[&few, &"--seeds 2"]);
    let routed = printed(&[&few, &"--routability --capacity 1,2 --padding 1 --until legal"]);
    let options = &routed["options"];
    assert_eq!(options["routability"]["capacity"]["vertical"], 2.0, "{options}");
    assert_eq!((&options["padding"], &options["until"]), (&1.into(), &"legal".into()));
    assert_eq!(
        (&json["options"]["routability"], &json["options"]["until"]),
        (&Value::Null, &"detailed".into())
    );
    let lost = printed(&[&few, &"--target-density 0.05"]);
    assert_eq!(lost["warnings"][0]["code"], "target_density_raised", "{}", lost["warnings"]);
}

#[test]
fn arrays_and_images_are_as_their_schema() {
    let tiny = Tiny::new();
    let (maps, at) = (tiny.folder().join("maps"), |name: &str| tiny.folder().join(name));
    run(&[&"eval", &tiny.aux(), &"--bins 8x4 --maps", &maps, &"--plots", &maps]);
    let rho = maps.join("density.npy");
    printed(&[&"solve", &rho, &"--out", &at("solved"), &"--engine cpu"]);
    printed(&[&"dct", &rho, &"-o", &at("dct.npy"), &"--kind idct --engine cpu"]);
    let image = maps.join("density.png");
    printed(&[&"compress", &image, &"--threshold 5 --engine cpu -o", &at("small.png")]);
    printed(&[&"info"]);
    let table = printed(&[&"bench reordering --quick --engine cpu"]);
    assert_eq!(table["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn every_command_with_json_has_a_schema() {
    let help = run(&[&"--help"]);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let commands: Vec<&str> = listed
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert!(commands.contains(&"diff") && commands.contains(&"schema"), "{commands:?}");
    for command in commands {
        let options = match command {
            "bench" => run(&[&"bench all --help"]),
            _ => run(&[&command, &"--help"]),
        };
        let known = placefield(&[&"schema", &command]).output().unwrap().status.success();
        assert_eq!(known, options.contains("--json"), "{command}");
    }
    placefield(&[&"schema nonsense"]).assert().code(2);
}

#[test]
fn every_key_of_a_schema_is_described() {
    fn look(schema: &Value, at: &str, missing: &mut Vec<String>) {
        if let Some(Value::Object(keys)) = schema.get("properties") {
            for (key, of) in keys {
                if of.get("description").is_none() {
                    missing.push(format!("{at}/{key}"));
                }
            }
        }
        match schema {
            Value::Object(parts) => {
                parts.iter().for_each(|(key, part)| look(part, &format!("{at}/{key}"), missing));
            }
            Value::Array(parts) => parts.iter().for_each(|part| look(part, at, missing)),
            _ => {}
        }
    }
    let all = run_json(&[&"schema"]);
    let mut missing = Vec::new();
    look(&all, "", &mut missing);
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(!all.to_string().contains("[`"), "no links into the code");
}
