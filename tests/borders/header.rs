//! `src/capi/placefield.h` is what cbindgen makes of the code: every exported function with its
//! parameters and its comment, every structure, every number.

use cbindgen::{
    Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, Language, RenameRule, Style,
};
use std::path::Path;

const FIRST_PAGE: &str = include_str!("first_page.txt");

/// Names in Rust and in C.
const TYPES: [(&str, &str); 28] = [
    ("Bodies", "placefield_bodies"),
    ("ConventionName", "placefield_convention"),
    ("DesignArrays", "placefield_design_arrays"),
    ("DesignCounts", "placefield_design_counts"),
    ("DesignHandle", "placefield_design"),
    ("DesignOptions", "placefield_design_options"),
    ("EngineHandle", "placefield_engine"),
    ("ErrorText", "placefield_error"),
    ("EvaluationResult", "placefield_evaluation"),
    ("Grid", "placefield_grid"),
    ("Iteration", "placefield_iteration"),
    ("LegalityCounts", "placefield_legality"),
    ("MapName", "placefield_map"),
    ("NodeKindName", "placefield_node_kind"),
    ("Options", "placefield_options"),
    ("OrientationName", "placefield_orientation"),
    ("OutcomeName", "placefield_outcome"),
    ("PinOffsetName", "placefield_pin_offset"),
    ("PinPositionName", "placefield_pin_position"),
    ("PipelineName", "placefield_pipeline"),
    ("PlaceOptions", "placefield_place_options"),
    ("PlaceResult", "placefield_place_result"),
    ("PrecisionName", "placefield_precision"),
    ("SolverHandle", "placefield_solver"),
    ("StageName", "placefield_stage"),
    ("Status", "placefield_status"),
    ("WirelengthHandle", "placefield_wirelength"),
    ("WirelengthResult", "placefield_wirelength_result"),
];

fn generated() -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/capi");
    let [major, minor, patch] = [
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
        env!("CARGO_PKG_VERSION_PATCH"),
    ];
    let versions = format!(
        "\n/* The version of this header; placefield_version is that of the library. */\n\
         #define PLACEFIELD_VERSION_MAJOR {major}\n\
         #define PLACEFIELD_VERSION_MINOR {minor}\n\
         #define PLACEFIELD_VERSION_PATCH {patch}\n"
    );
    let mut config = Config {
        language: Language::C,
        header: Some(FIRST_PAGE.trim_end().to_owned()),
        include_guard: Some("PLACEFIELD_H".to_owned()),
        no_includes: true,
        sys_includes: vec!["stddef.h".to_owned(), "stdint.h".to_owned()],
        after_includes: Some(versions),
        usize_is_size_t: true,
        cpp_compat: true,
        style: Style::Both,
        line_length: 100,
        tab_width: 4,
        documentation_style: DocumentationStyle::C99,
        enumeration: EnumConfig {
            prefix_with_name: true,
            rename_variants: RenameRule::ScreamingSnakeCase,
            ..EnumConfig::default()
        },
        ..Config::default()
    };
    config.export = ExportConfig {
        include: TYPES.map(|(rust, _)| rust.to_owned()).to_vec(),
        rename: TYPES
            .into_iter()
            .chain([("CPU", "PLACEFIELD_CPU")])
            .map(|(rust, c)| (rust.to_owned(), c.to_owned()))
            .collect(),
        ..ExportConfig::default()
    };
    // It goes on to the modules that this one names.
    let builder = Builder::new().with_config(config).with_src(source.join("mod.rs"));
    let mut header = Vec::new();
    builder.generate().expect("the functions can be declared in C").write(&mut header);
    String::from_utf8(header).unwrap()
}

#[test]
fn the_header_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/capi/placefield.h");
    let made = generated();
    let committed = std::fs::read_to_string(&path).unwrap();
    let beside = Path::new(env!("CARGO_TARGET_TMPDIR")).join("placefield.h");
    std::fs::write(&beside, &made).unwrap();
    let differing = made.lines().zip(committed.lines()).find(|(a, b)| a != b);
    assert!(
        made == committed,
        "placefield.h is not what the code has ({differing:?}): take {} in its place",
        beside.display()
    );
}

/// Every function that the source exports is declared, and no other.
#[test]
fn every_exported_function_is_declared() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/capi");
    let mut exported: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(&source).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let after = text.split("#[unsafe(no_mangle)]").skip(1);
            let name = |rest: &str| rest.split("fn ").nth(1)?.split('(').next().map(str::to_owned);
            exported.extend(after.map(|rest| name(rest).expect("a function")));
        }
    }
    let header = std::fs::read_to_string(source.join("placefield.h")).unwrap();
    let code = header.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = code.collect::<Vec<_>>().join("\n");
    let code = &code[code.find("extern \"C\"").expect("declarations")..];
    let mut declared: Vec<String> = code
        .split('(')
        .filter_map(|before| before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next())
        .filter(|name| name.starts_with("placefield_"))
        .map(str::to_owned)
        .collect();
    exported.sort();
    declared.sort();
    assert!(exported.len() >= 20);
    assert_eq!(exported, declared);
}
