//! Recognizes a CTF writer's output, so that other files are never replaced.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ichnos_io::{Tree, TreeOptions, foreign_file, plain_files};
use ichnos_model::class::{FieldKind, Role};
use ichnos_model::cursor::StreamCursor as _;
use ichnos_model::trace::{FileDiagnostic, Severity};
use ichnos_model::{Message, OpenedTrace as _, Window};

use super::index_file;
use crate::metadata::Dialect;
use crate::stack_file::is_stack_file;
use crate::trace::{CtfOptions, CtfTrace, open};

/// Returns a directory's files if all of them belong to CTF traces, at any depth.
///
/// # Errors
/// Returns an error if any other file exists, or if the directory cannot be read.
pub(super) fn written_files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let files = plain_files(root)?;
    let mut by_directory: BTreeMap<&Path, Vec<&Path>> = BTreeMap::new();
    for file in &files {
        by_directory.entry(file.parent().unwrap_or(Path::new(""))).or_default().push(file);
    }
    let is_trace = |directory: &Path| {
        let files = by_directory.get(directory);
        files.is_some_and(|files| files.iter().any(|file| file.ends_with("metadata")))
    };
    for (directory, files) in &by_directory {
        if is_trace(directory) {
            check_trace(root, directory, files)?;
        } else if directory.ends_with("index") && directory.parent().is_some_and(is_trace) {
            files.iter().try_for_each(|file| check_index(root, file))?;
        } else if let Some(file) = files.first() {
            return Err(foreign_file(file, "it is not part of a CTF trace"));
        }
    }
    Ok(files)
}

/// Checks the files in a directory with metadata.
fn check_trace(root: &Path, directory: &Path, files: &[&Path]) -> io::Result<()> {
    let metadata = directory.join("metadata");
    let mut options = TreeOptions::default();
    options.depth = Some(0);
    let tree = Tree::open_with(&root.join(directory), &options).map_err(io::Error::other)?;
    let opened = open(&[&tree], &CtfOptions::default());
    let ([trace], []) = (&opened.traces[..], &opened.errors[..]) else {
        return Err(foreign_file(&metadata, "it is not valid metadata"));
    };
    let mut data_files = data_files(trace);
    if !has_magic(trace) {
        // Any bytes could be a packet, so all bytes must be events.
        damaged_files(trace).iter().for_each(|file| {
            data_files.remove(file);
        });
    }
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let shown = format!("{}/{name}", tree.name.trim_end_matches('/'));
        let is_written = match &*name {
            "metadata" => true,
            name if name.ends_with(".json") && trace.auxiliary_files().contains(&shown) => {
                trace.dialect == Dialect::Prop2 && !has_error(trace, &shown)
            }
            name if is_stack_file(name) => !has_problem(trace, &shown),
            _ => data_files.contains(&shown),
        };
        if !is_written && is_stack_file(&name) {
            return Err(foreign_file(file, "its call stacks cannot be read completely"));
        }
        if !is_written {
            return Err(foreign_file(file, "it is not a data stream of the trace"));
        }
    }
    Ok(())
}

fn check_index(root: &Path, file: &Path) -> io::Result<()> {
    let head = index_file::header();
    let mut beginning = Vec::new();
    File::open(root.join(file))?.take(4).read_to_end(&mut beginning)?;
    let is_index =
        file.extension().is_some_and(|extension| extension == "idx") && head.starts_with(&beginning);
    let is_index = is_index && beginning.len() == 4;
    if is_index { Ok(()) } else { Err(foreign_file(file, "it is not a packet index")) }
}

/// Returns the data stream files with packets.
fn data_files(trace: &CtfTrace) -> HashSet<String> {
    let mut files = HashSet::new();
    trace.for_each_stream(&mut |summary| files.extend(summary.files));
    files
}

fn has_magic(trace: &CtfTrace) -> bool {
    let header = trace.trace().class.packet_header.as_deref().map(|header| &header.kind);
    matches!(header, Some(FieldKind::Structure { members, .. })
        if members.iter().any(|member| member.class.roles.has(Role::PacketMagicNumber)))
}

/// Returns the data stream files with damage.
fn damaged_files(trace: &CtfTrace) -> HashSet<String> {
    let mut damaged = HashSet::new();
    for mut cursor in trace.cursors(Window::default()) {
        if cursor.next_head().is_some() {
            cursor.drain_all(&mut |message| {
                if let Message::Damage(damage) = message {
                    damaged.insert(damage.file.to_string());
                }
                ControlFlow::Continue(())
            });
        }
    }
    damaged.extend(trace.damage().iter().map(|damage| damage.file.to_string()));
    damaged
}

/// Returns `true` if a file cannot be read. An auxiliary stream with a warning was copied with it.
fn has_error(trace: &CtfTrace, file: &str) -> bool {
    let is_error = |problem: &FileDiagnostic| problem.diagnostic.severity == Severity::Error;
    trace.diagnostics().iter().any(|problem| *problem.file == *file && is_error(problem))
}

fn has_problem(trace: &CtfTrace, file: &str) -> bool {
    let is_of_file = |diagnostic: &FileDiagnostic| *diagnostic.file == *file;
    trace.diagnostics().iter().any(is_of_file)
}
