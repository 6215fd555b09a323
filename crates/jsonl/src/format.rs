//! JSON Lines in the registry of formats.

use std::sync::Arc;

use ichnos_io::{Entry, Format, OpenedTraces, ReadFiles, ReadOptions, Refused, TraceWriter, Tree};
use ichnos_model::{Damage, DamageKind, Diagnostic, FileDiagnostic, TextPosition};

use crate::open;
use crate::recognition::{files, has_lines};
use crate::stream::File;
use crate::trace::JsonTrace;
use crate::writer::JsonLinesWriter;

/// Traces as JSON Lines.
#[derive(Clone, Copy, Debug)]
pub struct JsonLinesFormat;

impl Format for JsonLinesFormat {
    fn name(&self) -> &'static str {
        "jsonl"
    }

    fn title(&self) -> &'static str {
        "JSON Lines"
    }

    fn versions(&self) -> &'static str {
        "JSON Lines from ichnos; event lines from any program"
    }

    fn recognised_by(&self) -> &'static str {
        "files with an object in the first line that has a `type` of the format, or `ts` and `name`"
    }

    fn probe(&self, tree: &Tree, options: &ReadOptions) -> bool {
        let has_bytes = |entry: &Entry| entry.beginning(1).is_ok_and(|first| !first.is_empty());
        files(tree).any(|entry| options.force && has_bytes(entry) || has_lines(entry))
    }

    fn writer(&self) -> Option<&'static dyn TraceWriter> {
        Some(&JsonLinesWriter)
    }

    fn open(&self, trees: &[&Tree], options: &ReadOptions) -> OpenedTraces {
        let mut opened = OpenedTraces::default();
        let mut read = ReadFiles::default();
        for tree in trees {
            let mut damage = Vec::new();
            let mut all = Vec::new();
            for entry in files(tree) {
                open_file(tree, entry, options, &mut read, &mut opened, &mut all, &mut damage);
            }
            if let Some(first) = all.first_mut() {
                first.add_damage(std::mem::take(&mut damage));
            }
            opened.traces.extend(all.into_iter().map(|trace| Box::new(trace) as _));
            if !damage.is_empty() {
                let reasons = damage.iter().map(|damage| {
                    let text = Diagnostic::error(TextPosition::default(), damage.kind.to_string());
                    FileDiagnostic::new(&damage.file, text)
                });
                opened.refused.push(Refused::new(&tree.name, reasons.collect()));
            }
        }
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
    damage: &mut Vec<Damage>,
) {
    let name = tree.path_of(entry);
    if !options.force && !has_lines(entry) {
        // The contents of an unreadable file are unknown.
        if let Some(found) = entry.special() {
            damage.push(Damage::new(name, 0, DamageKind::NotAFile(found)));
        } else if let Err(error) = entry.beginning(1) {
            damage.push(Damage::new(name, 0, DamageKind::Unreadable(error.to_string())));
        }
        return;
    }
    let bytes = match entry.read_or_damage() {
        Ok(bytes) => bytes,
        Err(kind) => return damage.push(Damage::new(name, 0, kind)),
    };
    if bytes.is_empty() {
        return;
    }
    if let Err(notice) = read.add(&name, entry) {
        return opened.notices.push(notice);
    }
    let file = Arc::new(File {
        name: name.as_str().into(),
        bytes,
        clock_offsets: options.clock_offsets.clone(),
        class_map: options.class_map.clone(),
        clock_arithmetic: options.clock_arithmetic,
        limits: options.limits,
    });
    match open::open(&file) {
        Ok(traces) => all.extend(traces),
        Err(error) => opened.refused.push(Refused::because(&name, error)),
    }
}
