//! Sources for inputs without a component: directories with CTF metadata, at any depth.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::command::{ComponentClass, ComponentKind, Failure, FoundSource};
use crate::components::live_url::is_session_address;
use crate::components::query::ctf_support;
use crate::native_text::{path_of, text_of};
use crate::value::ParameterValue;

/// Source for inputs of the same group.
struct Found {
    class: &'static str,
    group: Option<String>,
    inputs: Vec<String>,
    original_inputs: Vec<usize>,
}

/// Finds the sources that read inputs. Traces with the same identity are parts of one source.
///
/// # Errors
/// If a directory has invalid metadata, or cannot be read.
pub(crate) fn find_sources(inputs: &[String]) -> Result<Vec<FoundSource>, Failure> {
    let mut found = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        if is_session_address(input) {
            add(&mut found, "lttng-live", None, input.clone(), index);
            continue;
        }
        let mut visited = HashSet::new();
        visit(path_of(input), index, &mut visited, &mut found)?;
    }
    let sources = found.into_iter().map(|found| FoundSource {
        class: ComponentClass {
            kind: ComponentKind::Source,
            plugin: "ctf".to_owned(),
            name: found.class.to_owned(),
        },
        inputs: found.inputs.into_iter().map(ParameterValue::Text).collect(),
        original_inputs: found.original_inputs,
    });
    Ok(sources.collect())
}

/// Searches a directory. `visited` has the directories above, so that links cannot lead in circles.
fn visit(
    path: PathBuf,
    index: usize,
    visited: &mut HashSet<PathBuf>,
    found: &mut Vec<Found>,
) -> Result<(), Failure> {
    let mut waiting = vec![path];
    while let Some(path) = waiting.pop() {
        if !path.is_dir() || !visited.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
            continue;
        }
        let support = ctf_support(&path)
            .map_err(|failure| failure.in_context("babeltrace.support-info query failed."))?;
        match support {
            Some(group) => add(found, "fs", group, text_of(path.as_os_str()), index),
            None => waiting.extend(subdirectories(&path)?.into_iter().rev()),
        }
    }
    Ok(())
}

/// Returns the directories in a directory, sorted by name. A directory that may not be read has none.
fn subdirectories(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let items = match std::fs::read_dir(path) {
        Ok(items) => items,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return Ok(Vec::new()),
        Err(error) => {
            let path = path.display();
            return Err(Failure::from_cause(format!("Failed to open directory {path}: {error}")));
        }
    };
    let mut paths: Vec<PathBuf> = items.filter_map(|item| Some(item.ok()?.path())).collect();
    paths.retain(|path| path.is_dir());
    paths.sort();
    Ok(paths)
}

fn add(found: &mut Vec<Found>, class: &'static str, group: Option<String>, input: String, index: usize) {
    let known =
        found.iter_mut().find(|known| known.class == class && group.is_some() && known.group == group);
    let Some(known) = known else {
        found.push(Found { class, group, inputs: vec![input], original_inputs: vec![index] });
        return;
    };
    known.inputs.push(input);
    if known.original_inputs.last() != Some(&index) {
        known.original_inputs.push(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LTTNG: &str = "hello-lttng/trace/ust/uid/65534/64-bit";

    #[test]
    fn directories_are_searched() {
        let examples = format!("{}/../../examples", env!("CARGO_MANIFEST_DIR"));
        let trace = format!("{examples}/{LTTNG}");
        let inputs =
            [trace.clone(), "net://localhost/host/a/b".to_owned(), examples, "/does/not/exist".to_owned()];
        let found = find_sources(&inputs).unwrap();
        assert_eq!(found[0].class.name, "fs");
        assert_eq!(found[0].original_inputs, [0, 2]);
        assert_eq!(found[0].inputs[0], ParameterValue::Text(trace));
        assert_eq!(
            (found[1].class.name.as_str(), found[1].original_inputs.as_slice()),
            ("lttng-live", &[1][..])
        );
        assert!(found[2..].iter().all(|source| source.original_inputs == [2]));
    }
}
