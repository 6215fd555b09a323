//! Dependency cycles between the files of a crate.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::{crates, root, sources};

/// Returns the files that each file in a crate uses, by module: `plan::steps` uses `bits`. A use of a re-exported item
/// counts as a use of the item's file, and a file that only re-exports uses nothing.
fn uses(krate: &str) -> BTreeMap<String, BTreeSet<String>> {
    let root = root(krate);
    let mut texts = BTreeMap::new();
    for (path, lines) in sources(krate) {
        let path = path.strip_prefix(&root).unwrap().with_extension("");
        let mut names: Vec<&str> = path.iter().map(|name| name.to_str().unwrap()).collect();
        if matches!(names.last(), Some(&("lib" | "main" | "mod"))) {
            names.pop();
        }
        let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
        texts.insert(names.join("::"), lines.join("\n"));
    }
    // Re-exports in a module: name and path.
    let mut exports: BTreeMap<(String, String), String> = BTreeMap::new();
    // Modules from which a module re-exports everything.
    let mut globs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, text) in &texts {
        for statement in text.split(';') {
            let is_export = ["\npub use ", "\npub(crate) use ", "\npub(super) use "]
                .into_iter()
                .find_map(|export| statement.rfind(export).map(|at| &statement[at + export.len()..]));
            if let Some(all_of) = is_export.and_then(|tree| tree.strip_suffix("::*")) {
                globs.entry(module.clone()).or_default().push(absolute(all_of, module, &texts));
                continue;
            }
            if let Some(tree) = is_export {
                let mut all = Vec::new();
                paths(tree, "", &mut all);
                for path in all {
                    let (path, name) = match path.split_once(" as ") {
                        Some((path, name)) => (path.to_owned(), name.to_owned()),
                        None => (path.clone(), path.rsplit("::").next().unwrap_or_default().to_owned()),
                    };
                    exports.insert((module.clone(), name), absolute(&path, module, &texts));
                }
                continue;
            }
            for begin in ["crate::", "super::", "self::"] {
                for (at, _) in statement.match_indices(begin) {
                    let before = statement[..at].chars().next_back();
                    if before.is_some_and(|before| before == ':' || before == '_' || before.is_alphanumeric())
                    {
                        continue;
                    }
                    let mut all = Vec::new();
                    paths(&statement[at..], "", &mut all);
                    let all = all.iter().map(|path| path.split(" as ").next().unwrap_or_default());
                    let all = all.map(|path| absolute(path, module, &texts));
                    used.entry(module.clone()).or_default().extend(all);
                }
            }
        }
    }
    let file_of = |path: &String| {
        let mut path = path.clone();
        loop {
            let mut module = path.as_str();
            let mut name = None;
            while !texts.contains_key(module) {
                let (before, last) = module.rsplit_once("::").unwrap_or(("", module));
                (module, name) = (before, Some(last));
            }
            let Some(name) = name else { return module.to_owned() };
            let is_whole = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            let has = |target: &&String| {
                let kinds = ["struct", "enum", "trait", "fn", "const", "type"];
                let declares = |kind| {
                    let declaration = format!("\npub {kind} {name}");
                    let text = &texts[*target];
                    text.match_indices(&declaration).any(|(at, found)| is_whole(&text[at + found.len()..]))
                };
                exports.contains_key(&((*target).clone(), name.to_owned())) || kinds.into_iter().any(declares)
            };
            // A macro is re-exported by its own file.
            let export = exports.get(&(module.to_owned(), name.to_owned()));
            if let Some(target) = export.filter(|target| **target != path) {
                path.clone_from(target);
            } else if let Some(target) = globs.get(module).into_iter().flatten().find(has) {
                path = format!("{target}::{name}");
            } else {
                return module.to_owned();
            }
        }
    };
    let files_of = |(module, paths): (&String, &BTreeSet<String>)| {
        let files: BTreeSet<String> = paths.iter().map(file_of).filter(|file| file != module).collect();
        (module.clone(), files)
    };
    used.iter().map(files_of).collect()
}

/// Adds the paths in a `use` tree: `a::{b, c::d}` is `a::b` and `a::c::d`. Returns the text after the tree.
fn paths<'a>(tree: &'a str, before: &str, all: &mut Vec<String>) -> &'a str {
    let tree = tree.trim_start();
    let end = tree.find(|c: char| !(c.is_alphanumeric() || "_: ".contains(c))).unwrap_or(tree.len());
    let (path, mut rest) = tree.split_at(end);
    let path = format!("{before}{}", path.trim_end());
    if !rest.starts_with('{') || !path.ends_with("::") {
        all.push(path.trim_end_matches("::").to_owned());
        return rest;
    }
    while let Some(next) = rest.strip_prefix(['{', ',']) {
        if next.trim_start().starts_with('}') {
            rest = next.trim_start();
            break;
        }
        rest = paths(next, &path, all).trim_start();
    }
    rest.strip_prefix('}').unwrap_or(rest)
}

/// Resolves a path in a module to a path from the crate root.
fn absolute(path: &str, module: &str, texts: &BTreeMap<String, String>) -> String {
    if let Some(path) = path.strip_prefix("crate::") {
        return path.to_owned();
    }
    let (mut path, mut module) = (path.strip_prefix("self::").unwrap_or(path), module);
    while let Some(rest) = path.strip_prefix("super::") {
        (path, module) = (rest, module.rsplit_once("::").map_or("", |(around, _)| around));
    }
    let inner = if module.is_empty() { path.to_owned() } else { format!("{module}::{path}") };
    let first = inner[..inner.len() - path.len()].to_owned() + path.split("::").next().unwrap_or_default();
    // A path into another crate starts with a name that is not a module here.
    if texts.contains_key(&first) || module.is_empty() || inner != path { inner } else { path.to_owned() }
}

/// Returns file groups in which all files use each other, directly or indirectly.
fn circles(uses: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<BTreeSet<String>> {
    let reached = |file: &String| {
        let mut reached = BTreeSet::new();
        let mut open = vec![file];
        while let Some(file) = open.pop() {
            let used = uses.get(file).into_iter().flatten();
            open.extend(used.filter(|used| reached.insert((*used).clone())));
        }
        reached
    };
    let reached: BTreeMap<&String, BTreeSet<String>> =
        uses.keys().map(|file| (file, reached(file))).collect();
    let circle = |(file, used): (&&String, &BTreeSet<String>)| {
        let circle = used.iter().filter(|used| reached.get(used).is_some_and(|back| back.contains(*file)));
        circle.cloned().collect::<BTreeSet<String>>()
    };
    reached.iter().map(circle).filter(|circle| !circle.is_empty()).collect()
}

/// Accepted cycles: crate, a use that closes the cycle, and the reason.
const ALLOWED: &[(&str, [&str; 2], &str)] = &[
    ("ichnos", ["session", "reader"], "a session makes readers, which borrow it"),
    ("io", ["create", "output"], "a writer of traces makes the output that it is written through"),
    ("jsonl", ["stream", "class_ids"], "class ids are given while the lines of a stream are read"),
    (
        "model",
        ["log", "event"],
        "the class of an event can have a function that writes the message of events",
    ),
];

/// The files of a crate do not use each other in a cycle: each file can be read after the files that it uses.
#[test]
fn no_circles_among_files() {
    for krate in crates() {
        let mut uses = uses(&krate);
        for (_, [file, used], reason) in ALLOWED.iter().filter(|(allowed, ..)| *allowed == krate) {
            let is_circle = |circle: &BTreeSet<String>| circle.contains(*file) && circle.contains(*used);
            assert!(circles(&uses).iter().any(is_circle), "{krate}: no circle any more: {file}: {reason}");
            let removed = uses.get_mut(*file).is_some_and(|all| all.remove(*used));
            assert!(removed, "{krate}: `{file}` does not use `{used}`: {reason}");
        }
        let circles = circles(&uses);
        assert!(circles.is_empty(), "{krate}: files use each other: {circles:#?}");
    }
}

#[test]
fn uses_and_circles() {
    assert!(by_folder(uses("cli"))["verbs"].contains("progress"));
    assert!(uses("model")["decode::visit"].contains("plan::steps"));
    // Through a module that re-exports it, and through the crate's re-export of this module.
    assert!(uses("model")["log"].contains("event"));
    let files = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    let graph = [("a", &["b", "d"][..]), ("b", &["c"]), ("c", &["a"]), ("e", &["a"])];
    let graph = graph.map(|(file, used)| (file.to_owned(), files(used)));
    assert_eq!(circles(&graph.into()), BTreeSet::from([files(&["a", "b", "c"])]));
}

/// Classes are compiled into steps, which know nothing else about plans. The code that runs the steps does not depend
/// on the compiler.
#[test]
fn steps_do_not_depend_on_plans() {
    for (file, used) in uses("model") {
        let is_running = file.starts_with("decode::");
        let is_step = file == "plan::steps";
        let is_wrong = |used: &&String| {
            let compiles = used.starts_with("plan") && *used != "plan::steps";
            (is_running || is_step) && compiles || is_step && used.starts_with("decode")
        };
        let wrong: Vec<&String> = used.iter().filter(is_wrong).collect();
        assert!(wrong.is_empty(), "{file} uses {wrong:?}");
    }
}

/// The command's folders do not use each other in a cycle: each can be read after the folders that it uses.
#[test]
fn no_circles_among_folders_of_the_command() {
    let circles = circles(&by_folder(uses("cli")));
    assert!(circles.is_empty(), "folders use each other: {circles:#?}");
}

/// Treats a file as part of its folder.
fn by_folder(uses: BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    let module = |name: &str| name.split("::").next().unwrap_or_default().to_owned();
    let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, used) in uses {
        let name = module(&name);
        let used = used.iter().map(|used| module(used)).filter(|used| *used != name);
        modules.entry(name.clone()).or_default().extend(used);
    }
    modules
}
