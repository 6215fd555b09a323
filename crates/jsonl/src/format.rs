//! Registers the JSON Lines format.

use std::sync::Arc;

use ichnos_io::{
    Entry, Format, FormatInfo, OpenedTraces, ReadFile, ReadFiles, ReadOptions, RefusedTrace, Tree,
};
use ichnos_model::message::{Damage, DamageKind};
use ichnos_model::trace::{Diagnostic, FileDiagnostic, TextPosition};

use crate::open;
use crate::recognition::has_lines;
use crate::stream::LineFile;
use crate::trace::JsonTrace;
use crate::writer::JsonLinesWriter;

/// Traces as JSON Lines.
#[derive(Clone, Copy, Debug)]
pub struct JsonLinesFormat;

static INFO: FormatInfo = FormatInfo {
    versions: "JSON Lines from ichnos; event lines from any program",
    detection: "files whose first line is an object with a `type` of the format, or with `ts` and `name`",
    writer: Some(&JsonLinesWriter),
    ..FormatInfo::new("jsonl", "JSON Lines")
};

impl Format for JsonLinesFormat {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn probe(&self, tree: &Tree, options: &ReadOptions) -> bool {
        let has_bytes = |entry: &Entry| entry.beginning(1).is_ok_and(|first| !first.is_empty());
        tree.files().any(|entry| options.force && has_bytes(entry) || has_lines(entry))
    }

    fn open(&self, trees: &[&Tree], options: &ReadOptions) -> OpenedTraces {
        let mut opened = OpenedTraces::default();
        let mut read = ReadFiles::default();
        for tree in trees {
            let mut all = Vec::new();
            for entry in tree.files() {
                open_file(tree, entry, options, &mut read, &mut opened, &mut all);
            }
            let mut damage = std::mem::take(&mut read.damage);
            if let Some(first) = all.first_mut() {
                first.add_damage(std::mem::take(&mut damage));
            }
            opened.traces.extend(all.into_iter().map(|trace| Box::new(trace) as _));
            if !damage.is_empty() {
                let reasons = damage.iter().map(|damage| {
                    let text = Diagnostic::error(TextPosition::default(), damage.kind.to_string());
                    FileDiagnostic::new(&damage.file, text)
                });
                opened.refused.push(RefusedTrace::new(&tree.name, reasons.collect()));
            }
        }
        opened.notices = read.notices;
        opened
    }
}

fn open_file(
    tree: &Tree,
    entry: &Entry,
    options: &ReadOptions,
    read: &mut ReadFiles,
    opened: &mut OpenedTraces,
    all: &mut Vec<JsonTrace>,
) {
    if !options.force && !has_lines(entry) {
        // An unreadable file has unknown contents.
        let kind = match (entry.special(), entry.beginning(1)) {
            (Some(found), _) => DamageKind::NotAFile(found),
            (None, Err(error)) => DamageKind::Unreadable(error.to_string()),
            (None, Ok(_)) => return,
        };
        return read.damage.push(Damage::new(tree.path_of(entry), 0, kind));
    }
    let file = read.read(tree, entry, |bytes| (!bytes.is_empty()).then_some(()));
    let Some(ReadFile { name, mut bytes, .. }) = file else { return };
    if options.growing {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        bytes = bytes.slice(0..whole);
    }
    let file = Arc::new(LineFile {
        name: name.as_str().into(),
        bytes,
        clock_offsets: options.clock_offsets.clone(),
        class_map: options.class_map.clone(),
        clock_arithmetic: options.clock_arithmetic,
        limits: options.limits,
        kept: options.kept.clone(),
    });
    match open::open(&file) {
        Ok(traces) => all.extend(traces),
        Err(error) => opened.refused.push(RefusedTrace::because(&name, error)),
    }
}
