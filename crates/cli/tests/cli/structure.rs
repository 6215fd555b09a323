//! Project rules that the compiler does not know: allowed dependencies between crates, places of `unsafe`, accepted
//! licenses, and names that must not occur in some places.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sources::{crates, file_name, sources};

mod circles;
mod sizes;
mod sources;

const REGISTRY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../ichnos/src/format.rs");

/// Line in the format registry.
struct Registered {
    /// Package name, for example `ichnos-ctf`.
    package: String,
    /// Feature of the facade crate that enables the format.
    feature: String,
}

/// Returns the lines in the format registry.
fn registered() -> Vec<Registered> {
    let text = std::fs::read_to_string(REGISTRY).unwrap();
    let (_, list) = text.split_once("FORMATS: &[&dyn Format] = &[\n").unwrap();
    let (list, _) = list.split_once("\n];").unwrap();
    let mut lines = list.lines().map(str::trim);
    std::iter::from_fn(|| {
        let condition = lines.next()?;
        let feature = condition.strip_prefix("#[cfg(feature = \"").and_then(|rest| rest.strip_suffix("\")]"));
        let entry =
            lines.next().and_then(|entry| entry.strip_prefix('&')?.strip_suffix(',')?.split_once("::"));
        let (Some(feature), Some((package, _))) = (feature, entry) else {
            panic!("{condition}: not a feature, and in the next line the format");
        };
        Some(Registered { package: package.replace('_', "-"), feature: feature.to_owned() })
    })
    .collect()
}

/// Returns the format packages.
fn formats() -> BTreeSet<String> {
    registered().into_iter().map(|format| format.package).collect()
}

fn is_format(name: &str) -> bool {
    formats().contains(name)
}

/// Returns the workspace crates that a crate may depend on, from top to bottom: the command, its siblings, the facade,
/// formats, stages, input and output, the model, JSON. A text format can be written by a sink.
fn allowed(name: &str) -> Option<Vec<String>> {
    const BASE: [&str; 3] = ["ichnos-io", "ichnos-model", "ichnos-json"];
    const STAGES: [&str; 8] = [
        "ichnos-analysis",
        "ichnos-collect",
        "ichnos-debuginfo",
        "ichnos-export",
        "ichnos-filter",
        "ichnos-flow",
        "ichnos-table",
        "ichnos-viewers",
    ];
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    Some(match name {
        "ichnos-cli" => names(&["ichnos", "ichnos-babeltrace2", "ichnos-view"]),
        "ichnos-babeltrace2" => names(&["ichnos"]),
        "ichnos-view" => names(&["ichnos"]),
        "ichnos" => {
            let clients = names(&["ichnos-dotnet-diagnostics", "ichnos-lttng-live"]);
            names(&BASE).into_iter().chain(names(&STAGES)).chain(clients).chain(formats()).collect()
        }
        "ichnos-io" => names(&["ichnos-model"]),
        "ichnos-model" => names(&["ichnos-json"]),
        "ichnos-tracer" => names(&["ichnos-tracer-derive"]),
        "ichnos-tracer-derive" => vec![],
        "ichnos-dotnet-diagnostics" | "ichnos-json" | "ichnos-lttng-live" | "ichnos-testing" => vec![],
        name if is_format(name) => names(&BASE).into_iter().chain(names(&["ichnos-export"])).collect(),
        "ichnos-analysis" => names(&BASE).into_iter().chain(names(&["ichnos-export"])).collect(),
        "ichnos-viewers" => {
            names(&BASE).into_iter().chain(names(&["ichnos-export", "ichnos-analysis"])).collect()
        }
        // OpenTelemetry's tables.
        "ichnos-table" => names(&BASE).into_iter().chain(names(&["ichnos-otlp"])).collect(),
        name if STAGES.contains(&name) => names(&BASE),
        _ => return None,
    })
}

/// Returns crates (name prefixes) that a crate must not depend on, even indirectly.
fn forbidden(name: &str) -> Vec<&'static str> {
    let mut forbidden = vec![];
    let is_base = name == "ichnos-model" || name == "ichnos-json";
    if is_base {
        forbidden.extend(["serde", "memmap"]);
    }
    if is_base || is_format(name) {
        forbidden.extend(["clap", "serde_json"]);
    }
    if name != "ichnos-table" && name != "ichnos" && name != "ichnos-cli" {
        forbidden.extend(["arrow", "parquet", "datafusion", "tokio"]);
    }
    forbidden
}

/// Returns the maximum number of packages that a small crate may need, including itself.
fn most_packages(name: &str) -> Option<usize> {
    match name {
        "ichnos-json" => Some(3),
        "ichnos-model" => Some(14),
        // With `tracing` and `log`. Most of them are for the derive macros and files.
        "ichnos-tracer" => Some(25),
        // With contexts in `tracing`, `tower` and OpenTelemetry. The command uses only the format, which needs 47.
        "ichnos-xtrace" => Some(65),
        name if is_format(name) => Some(60),
        _ => None,
    }
}

/// Returns the licenses that `deny.toml` allows. `cargo deny`, if installed, and this test use the same list.
fn licences() -> BTreeSet<String> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../deny.toml")).unwrap();
    let (_, list) = text.split_once("[licenses]\nallow = [\n").unwrap();
    let (list, _) = list.split_once("]\n").unwrap();
    list.lines().map(|line| line.trim().trim_matches(['"', ',']).to_owned()).collect()
}

struct Package {
    name: String,
    licence: String,
    is_ours: bool,
    /// Library and binary sources.
    roots: Vec<String>,
    /// Ids of the dependencies for building and running, without tests.
    dependencies: Vec<String>,
}

/// Returns the packages by id, for all systems or only for this one. Prints a reason and returns `None` if cargo fails.
fn packages(for_all_systems: bool) -> Option<BTreeMap<String, Package>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let host = format!("--filter-platform={}-unknown-linux-gnu", std::env::consts::ARCH);
    // Packages for other systems may be missing on this machine. Then only this system is checked.
    let all = for_all_systems.then_some(&["--locked"][..]);
    let output = all.into_iter().chain([&["--locked", "--offline", &host][..]]).find_map(|arguments| {
        let output = Command::new(&cargo)
            .args(["metadata", "--format-version=1"])
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .ok()?;
        output.status.success().then_some(output.stdout)
    });
    let Some(output) = output else {
        eprintln!("skipped: `cargo metadata` cannot be run");
        return None;
    };
    let metadata: Value = serde_json::from_slice(&output).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let ours: BTreeSet<String> = list(&metadata["workspace_members"]).iter().map(text).collect();
    let mut packages = BTreeMap::new();
    for package in list(&metadata["packages"]) {
        let is_built = |target: &&Value| {
            list(&target["kind"]).iter().any(|kind| ["lib", "bin"].contains(&kind.as_str().unwrap_or("")))
        };
        let roots = list(&package["targets"]);
        let id = text(&package["id"]);
        let new = Package {
            name: text(&package["name"]),
            licence: text(&package["license"]),
            is_ours: ours.contains(&id),
            roots: roots.iter().filter(is_built).map(|target| text(&target["src_path"])).collect(),
            dependencies: Vec::new(),
        };
        packages.insert(id, new);
    }
    for node in list(&metadata["resolve"]["nodes"]) {
        let needed = list(&node["deps"]).into_iter().filter(|dependency| {
            list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].as_str() != Some("dev"))
        });
        let needed = needed.map(|dependency| text(&dependency["pkg"])).collect();
        packages.get_mut(&text(&node["id"])).unwrap().dependencies = needed;
    }
    Some(packages)
}

/// Returns the packages that a package with all its features needs to be built and run, including itself. Only features
/// that it enables itself count: unlike `cargo metadata`, `cargo tree` does not add features that other packages
/// enable.
fn needed(name: &str) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--locked", "--offline", "--all-features", "--edges=normal,build", "--prefix=none"])
        .args(["--format={p}", "--package", name])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn dependencies_point_down() {
    let Some(packages) = packages(false) else { return };
    let mut problems = Vec::new();
    for package in packages.values().filter(|package| package.is_ours) {
        let name = &package.name;
        let Some(allowed) = allowed(name) else {
            problems.push(format!("{name}: this test does not know where that crate belongs"));
            continue;
        };
        for dependency in &package.dependencies {
            let dependency = &packages[dependency];
            if dependency.is_ours && !allowed.contains(&dependency.name) {
                problems.push(format!("{name} must not depend on {}", dependency.name));
            }
        }
        let needed = needed(name);
        for other in &needed {
            if forbidden(name).iter().any(|begin| other.starts_with(begin)) {
                problems.push(format!("{name} must not need {other}, not even indirectly"));
            }
        }
        if let Some(most) = most_packages(name)
            && needed.len() > most
        {
            problems.push(format!("{name} needs {} packages, which are more than {most}", needed.len()));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Files of the tracer with `unsafe` code: stores to mapped files, readings of clocks, and `fork`.
const UNSAFE_TRACER: [&str; 3] = ["clock_reading.rs", "fork.rs", "packet_file.rs"];

#[test]
fn only_io_and_the_tracers_ring_have_unsafe_code() {
    let Some(packages) = packages(false) else { return };
    for package in packages.values().filter(|package| package.is_ours) {
        let may_allow = ["ichnos-io", "ichnos-tracer"].contains(&package.name.as_str());
        for root in &package.roots {
            let text = std::fs::read_to_string(Path::new(root)).unwrap();
            let forbids = text.contains("#![forbid(unsafe_code)]");
            assert_eq!(forbids, !may_allow, "{root}: `#![forbid(unsafe_code)]`");
            let denies = text.contains("#![deny(unsafe_code)]");
            assert_eq!(denies, package.name == "ichnos-tracer", "{root}: `#![deny(unsafe_code)]`");
        }
    }
    let mut allowing = BTreeSet::new();
    for (path, lines) in sources("tracer") {
        if lines.iter().any(|(_, line)| line.contains("allow(unsafe_code)")) {
            allowing.insert(file_name(&path).to_owned());
        }
    }
    assert_eq!(allowing, UNSAFE_TRACER.map(str::to_owned).into());
}

/// Returns `true` if the list satisfies a license expression. It is an SPDX expression, or has the older form with `/`
/// for "or".
fn is_welcome(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let verdict = any_of(&mut words);
    words.next().is_none() && verdict
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(words: &mut Words<'_>) -> bool {
    let mut verdict = all_of(words);
    while words.next_if_eq(&"OR").is_some() {
        verdict |= all_of(words);
    }
    verdict
}

fn all_of(words: &mut Words<'_>) -> bool {
    let mut verdict = one(words);
    while words.next_if_eq(&"AND").is_some() {
        verdict &= one(words);
    }
    verdict
}

fn one(words: &mut Words<'_>) -> bool {
    match words.next() {
        Some("(") => {
            let verdict = any_of(words);
            words.next() == Some(")") && verdict
        }
        Some(licence) => {
            // An exception only allows more.
            if words.next_if_eq(&"WITH").is_some() {
                words.next();
            }
            licences().contains(licence)
        }
        None => false,
    }
}

#[test]
fn licence_expressions() {
    for welcome in ["MIT", "MIT/Apache-2.0", "(MIT OR GPL-3.0) AND ISC", "Apache-2.0 WITH LLVM-exception"] {
        assert!(is_welcome(welcome), "{welcome}");
    }
    for unwelcome in ["", "MPL-2.0", "MIT AND GPL-2.0-only", "(MIT", "AGPL-3.0 OR CDDL-1.0", "MIT AND"] {
        assert!(!is_welcome(unwelcome), "{unwelcome}");
    }
}

#[test]
fn licences_are_welcome() {
    let Some(packages) = packages(true) else { return };
    let problems: Vec<String> = packages
        .values()
        .filter(|package| !is_welcome(&package.licence))
        .map(|package| format!("{}: `{}`", package.name, package.licence))
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// A format is a dependency, a feature and a line in the registry. Otherwise, only re-exports may name its crate.
#[test]
fn a_format_is_one_line_in_the_facade() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../ichnos/Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).unwrap();
    let sources = sources("ichnos");
    let registered = registered();
    // A crate can have several formats.
    let features: BTreeSet<&str> = registered.iter().map(|format| &*format.feature).collect();
    assert_eq!(registered.len(), features.len(), "a format is registered twice");
    for Registered { package, feature } in registered {
        assert!(manifest.contains(&format!("\n{feature} = [\"dep:{package}\"")), "no feature `{feature}`");
        let default = manifest.lines().find(|line| line.starts_with("default = ")).unwrap();
        assert!(default.contains(&format!("\"{feature}\"")), "`{feature}` is not on by default");
        let name = package.replace('-', "_");
        for (path, lines) in &sources {
            for (number, line) in lines.iter().filter(|(_, line)| line.contains(&name)) {
                let is_entry = file_name(path) == "format.rs" && line.trim().starts_with('&');
                let is_export =
                    file_name(path) == "lib.rs" && line.starts_with(&format!("pub use {name} as "));
                assert!(is_entry || is_export, "{}:{number}: {line}", path.display());
            }
        }
    }
}

/// Files in the command that name a format, with the reason.
const NAMES_FORMATS: &[(&str, &str)] = &[
    ("babeltrace_compat.rs", "what `babeltrace2` calls its components and formats of output"),
    ("listen.rs", "each receiver has addresses of its own"),
    ("live.rs", "each kind of live input has addresses and options of its own"),
    ("requests.rs", "requests are collected in another way than reports"),
    ("relay_sessions.rs", "the sessions of an LTTng relay daemon"),
];

/// The command names neither format crates, nor formats, nor anything specific to one format. (Help texts are
/// comments.)
#[test]
fn the_command_names_no_format() {
    let mut words = ["Dialect", "Quirk::", ".idx", "lttng"].map(str::to_owned).to_vec();
    words.extend(registered().into_iter().map(|format| format.feature));
    words.extend(formats().iter().map(|package| package.trim_start_matches("ichnos-").to_owned()));
    // JSON Lines are also a text format of `cat`: the command names the text format, not the input format.
    words.retain(|word| word != "jsonl");
    let mut found = BTreeSet::new();
    for (path, lines) in sources("cli") {
        for (number, line) in lines {
            let names = |word: &String| match word.contains(char::is_uppercase) {
                true => line.contains(word.as_str()),
                false => line.to_lowercase().contains(word.as_str()),
            };
            if words.iter().any(names) {
                let is_allowed = NAMES_FORMATS.iter().any(|(file, _)| *file == file_name(&path));
                assert!(is_allowed, "{}:{number}: {line}", path.display());
                found.insert(file_name(&path).to_owned());
            }
        }
    }
    for (file, why) in NAMES_FORMATS {
        assert!(found.contains(*file), "{file} names no format any more: {why}");
    }
}

/// Sinks may show a trace's original format, but not depend on it. Properties that they need must be in the trace
/// class.
#[test]
fn sinks_do_not_compare_dialects() {
    /// Lines that show the dialect.
    const SHOWN: [&str; 3] = [
        r#"member("format").string(&class.dialect);"#,
        r#"member("dialect").string(&class.dialect);"#,
        r#"let mut first = format!("{} trace class", class.dialect);"#,
    ];
    let json_lines =
        sources("jsonl").into_iter().filter(|(path, _)| path.to_string_lossy().contains("json_lines"));
    let rooms = ["export", "analysis", "viewers"].into_iter().flat_map(sources);
    for (path, lines) in rooms.chain(json_lines) {
        for (number, line) in lines.iter().filter(|(_, line)| line.contains("dialect")) {
            let is_shown = SHOWN.iter().any(|shown| line.ends_with(shown));
            assert!(is_shown, "{}:{number}: {line}", path.display());
        }
    }
}

/// Traits that other crates can implement explain how.
#[test]
fn traits_explain_how_to_implement_them() {
    let crates = ["model", "io", "filter", "flow", "export", "analysis", "viewers", "collect", "ichnos"]
        .map(str::to_owned)
        .into_iter();
    let formats = formats();
    let formats = formats.iter().map(|package| package.trim_start_matches("ichnos-").to_owned());
    let mut traits = 0;
    for (path, _) in crates.chain(formats).flat_map(|krate| sources(&krate)) {
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("pub trait ")) {
            let before = lines[..at].iter().rev();
            let mut docs = before.take_while(|line| line.starts_with("///") || line.starts_with("#["));
            let is_said = docs.any(|line| *line == "/// # For implementations");
            assert!(is_said || line.contains("sealed::"), "{}:{}: {line}", path.display(), at + 1);
            traits += 1;
        }
    }
    assert!(traits > 5, "traits are not found");
}

/// Loops over messages are library passes, so that all of them select, count and end in the same way.
#[test]
fn the_command_has_no_loop_over_messages() {
    for (path, lines) in sources("cli") {
        for (number, line) in lines {
            let is_loop = ["drain_all", "next_head()", "advance()"].iter().any(|call| line.contains(call));
            assert!(!is_loop, "{}:{number}: {line}", path.display());
        }
    }
}

/// The command passes over readers and into outputs: cursors, merge and chunks belong to the library.
#[test]
fn the_command_names_no_cursor() {
    const NAMES: [&str; 8] =
        ["Merged", "Checkpoint", "SplitPoint", "DrainEnd", "SourceCursor", "Lane", "JoinResult", "Head"];
    for (path, lines) in sources("cli") {
        for (number, line) in lines {
            let words = line.split(|character: char| !character.is_ascii_alphanumeric());
            let named = words
                .into_iter()
                .find(|word| NAMES.contains(word) || word.ends_with("Cursor") || word.starts_with("Chunk"));
            let is_merge = line.contains("flow::") || line.contains(".cursor(") || line.contains(".cursors(");
            assert!(named.is_none() && !is_merge, "{}:{number}: {line}", path.display());
        }
    }
}

/// Texts in libraries describe their interface, not the command's options.
#[test]
fn libraries_do_not_mention_command_options() {
    /// Words for other programs.
    const OTHERS: &[&str] = &["`perf data convert --to-ctf DIR`"];
    let crates = ["model", "io", "filter", "flow", "export", "analysis", "viewers", "collect", "ichnos"]
        .map(str::to_owned)
        .into_iter();
    let formats = formats();
    let formats = formats.iter().map(|package| package.trim_start_matches("ichnos-").to_owned());
    for krate in crates.chain(formats) {
        for (path, lines) in sources(&krate) {
            for (number, line) in lines {
                let text = OTHERS.iter().fold(line.clone(), |line, other| line.replace(other, ""));
                let is_option = |(at, _): (usize, &str)| {
                    let before = text[..at].chars().next_back();
                    let after = text[at + 2..].chars().next();
                    before.is_none_or(|before| " `(\"".contains(before))
                        && after.is_some_and(|after| after.is_ascii_lowercase())
                };
                assert!(!text.match_indices("--").any(is_option), "{}:{number}: {line}", path.display());
            }
        }
    }
}

/// Returns the type name that a line defines at the top level of a file.
fn defined_type(line: &str) -> Option<&str> {
    let rest = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => line,
    };
    let (keyword, rest) = rest.split_once(' ')?;
    let name = rest.split(|character: char| !character.is_ascii_alphanumeric()).next()?;
    let is_type = ["struct", "enum", "trait", "union", "type"].contains(&keyword);
    (is_type && name.starts_with(|first: char| first.is_ascii_uppercase())).then_some(name)
}

#[test]
fn lines_that_define_types() {
    assert_eq!(defined_type("pub(super) struct Label<'a> {"), Some("Label"));
    assert_eq!(defined_type("pub(in crate::log) enum Label {"), Some("Label"));
    assert_eq!(defined_type("pub trait Label: Sized {"), Some("Label"));
    assert_eq!(defined_type("type Label = u32;"), Some("Label"));
    assert_eq!(defined_type("struct Label;"), Some("Label"));
    assert_eq!(defined_type("    type Label = u32;"), None);
    assert_eq!(defined_type("pub fn label() {"), None);
    assert_eq!(defined_type("impl Label {"), None);
}

/// Maximum number of type names that three or more modules define. They must mean the same everywhere, like `Event`.
const MOST_COMMON_NAMES: usize = 5;

#[test]
fn names_of_types_are_distinct() {
    let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for krate in crates() {
        for (path, lines) in sources(&krate) {
            for name in lines.iter().filter_map(|(_, line)| defined_type(line)) {
                modules.entry(name.to_owned()).or_default().insert(path.display().to_string());
            }
        }
    }
    assert!(modules.len() > 500, "only {} types were found", modules.len());
    modules.retain(|_, modules| modules.len() >= 3);
    let common: Vec<_> = modules
        .iter()
        .map(|(name, modules)| format!("{name}: {}", modules.iter().cloned().collect::<Vec<_>>().join(", ")))
        .collect();
    assert!(
        common.len() <= MOST_COMMON_NAMES,
        "too many modules name different types alike; name them for what they are:\n{}",
        common.join("\n")
    );
}

/// `./test.sh quick` excludes only existing test modules.
#[test]
fn quick_tests_exclude_existing_modules() {
    let config = std::fs::read_to_string(crate::support::root().join(".config/nextest.toml")).unwrap();
    let mut modules = 0;
    for line in config.lines() {
        let package = line.split_once("package(").and_then(|(_, rest)| rest.split_once(')'));
        let (Some((name, _)), Some((_, rest))) = (package, line.split_once("test(/^(")) else { continue };
        let folder = name.strip_prefix("ichnos-").unwrap_or(name);
        let tests = crate::support::root().join(format!("crates/{folder}/tests/{folder}"));
        for module in rest.split_once(")::").unwrap().0.split('|') {
            let path = tests.join(module.replace("::", "/"));
            assert!(path.is_dir() || path.with_extension("rs").is_file(), "{name}: {module}");
            modules += 1;
        }
    }
    assert!(modules > 50, "{modules}");
}
