//! JSON Lines in the registry of formats.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_io::{Entry, FileId, Format, OpenedTraces, ReadOptions, Refused, TraceWriter, Tree};
use ichnos_json::read::Reader;
use ichnos_model::{Damage, DamageKind, Diagnostic, FileDiagnostic, TextPosition};

use crate::index::{byte_order_mark, line_at};
use crate::line::{self, Kind, Line};
use crate::open;
use crate::stream::File;
use crate::trace::JsonTrace;
use crate::writer::JsonLinesWriter;

/// Traces as JSON Lines.
#[derive(Clone, Copy, Debug)]
pub struct JsonLinesFormat;

/// Number of bytes of a file to check for lines of a trace.
const PROBED: usize = 64 << 10;

/// Number of bytes of a file to check for anything else.
const FIRST: usize = 512;

impl Format for JsonLinesFormat {
    fn name(&self) -> &'static str {
        "jsonl"
    }

    fn title(&self) -> &'static str {
        "JSON Lines"
    }

    fn versions(&self) -> &'static str {
        "JSON Lines of ichnos; lines of events from any program"
    }

    fn recognised_by(&self) -> &'static str {
        "files whose first line is an object with a `type` of the format, or with `ts` and `name`"
    }

    fn probe(&self, tree: &Tree, options: &ReadOptions) -> bool {
        let has_bytes = |entry: &Entry| entry.beginning(1).is_ok_and(|first| !first.is_empty());
        files(tree).any(|entry| options.force && has_bytes(entry) || recognise(entry))
    }

    fn writer(&self) -> Option<&'static dyn TraceWriter> {
        Some(&JsonLinesWriter)
    }

    fn open(&self, trees: &[&Tree], options: &ReadOptions) -> OpenedTraces {
        let mut opened = OpenedTraces::default();
        let mut read = HashMap::new();
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
    read: &mut HashMap<FileId, String>,
    opened: &mut OpenedTraces,
    all: &mut Vec<JsonTrace>,
    damage: &mut Vec<Damage>,
) {
    let name = path_of(tree, entry);
    if !options.force && !recognise(entry) {
        // The contents of an unreadable file are unknown.
        if let Some(found) = entry.special() {
            damage.push(Damage::new(name, 0, DamageKind::NotAFile(found)));
        } else if let Err(error) = entry.beginning(1) {
            damage.push(Damage::new(name, 0, DamageKind::Unreadable(error.to_string())));
        }
        return;
    }
    let bytes = match entry.read() {
        Ok(bytes) => bytes,
        Err(error) => {
            let kind = match entry.special() {
                Some(found) => DamageKind::NotAFile(found),
                None => DamageKind::Unreadable(error.to_string()),
            };
            return damage.push(Damage::new(name, 0, kind));
        }
    };
    if bytes.is_empty() {
        return;
    }
    if let Some(identity) = entry.status().and_then(|status| status.identity) {
        if let Some(first) = read.get(&identity) {
            return opened.notices.push(match *first == name {
                true => format!("{name}: this file is given more than once: it is read once"),
                false => format!("{name}: this is the same file as {first}: it is read once"),
            });
        }
        read.insert(identity, name.clone());
    }
    let file = Arc::new(File {
        name: name.as_str().into(),
        bytes,
        check: options.check,
        clock_offsets: options.clock_offsets.clone(),
        clock_arithmetic: options.clock_arithmetic,
        limits: options.limits,
    });
    match open::open(&file) {
        Ok(traces) => all.extend(traces),
        Err(error) => {
            let diagnostic = Diagnostic::error(TextPosition::default(), error.to_string());
            opened.refused.push(Refused::new(&*name, vec![FileDiagnostic::new(&*name, diagnostic)]));
        }
    }
}

fn files(tree: &Tree) -> impl Iterator<Item = &Entry> {
    tree.entries.iter().filter(|entry| entry.repeats().is_none())
}

/// Returns the path of a file, as far as the tree contains it.
fn path_of(tree: &Tree, entry: &Entry) -> String {
    let is_itself = tree.name.rsplit('/').next() == Some(&*entry.path);
    if is_itself { tree.name.clone() } else { format!("{}/{}", tree.name.trim_end_matches('/'), entry.path) }
}

/// Returns `true` if a file has lines of a trace.
fn recognise(entry: &Entry) -> bool {
    let Ok(first) = entry.beginning(FIRST) else { return false };
    let begins = first.get(byte_order_mark(&first)..).unwrap_or_default().trim_ascii_start();
    if begins.first() != Some(&b'{') {
        return false;
    }
    if memchr::memchr(b'\n', &first).is_some() || first.len() < FIRST {
        return is_of_trace(&first);
    }
    entry.beginning(PROBED).is_ok_and(|beginning| is_of_trace(&beginning))
}

/// Returns `true` if the first line of a file is one of a trace.
fn is_of_trace(beginning: &[u8]) -> bool {
    let mut at = byte_order_mark(beginning);
    at += beginning.len() - at - beginning.get(at..).unwrap_or_default().trim_ascii_start().len();
    let (line, next) = line_at(beginning, at);
    if let Ok(text) = line::text(line)
        && let Ok(found) = Line::of(line)
    {
        return is_line_of_trace(text, &found);
    }
    // It can be longer than the checked part.
    let is_cut = next >= beginning.len() && beginning.len() >= FIRST;
    let Some(rest) = line.strip_prefix(b"{\"type\":\"").filter(|_| is_cut) else { return false };
    let kind = rest.split(|byte| *byte == b'"').next().and_then(|name| std::str::from_utf8(name).ok());
    kind.and_then(Kind::of).is_some()
}

/// Returns `true` if a readable line differs from other JSON.
fn is_line_of_trace(text: &str, line: &Line) -> bool {
    let has = |names: &[&str]| {
        let mut json = Reader::new(text);
        let mut is_first = true;
        let mut found = 0;
        if !json.take(b'{') {
            return false;
        }
        while let Ok(Some(key)) = json.key(&mut is_first) {
            found += usize::from(names.iter().any(|name| key.is(name)));
            if json.skip().is_err() {
                return false;
            }
        }
        found == names.len()
    };
    match line.kind {
        Kind::Event if !has(&["type"]) => line.time.is_some() && (has(&["name"]) || has(&["id"])),
        Kind::Event => has(&["name"]) || has(&["id"]),
        Kind::Damage => has(&["type", "file", "message"]),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_json_is_not_recognised() {
        for (text, expected) in [
            ("{\"type\":\"stream-begin\",\"stream\":0}\n", true),
            ("\u{feff}\n {\"ts\":5,\"name\":\"x\"}", true),
            ("{\"time\":\"2020-01-01T00:00:00Z\",\"name\":\"x\"}\n{", true),
            ("{\"type\":\"event\",\"id\":1}\n", true),
            ("{\"ts\":5}\n", false),
            ("{\"name\":\"x\"}\n", false),
            // Logs of Fuchsia, metadata of CTF 2, reports of X-Trace, and something else.
            (
                "{\"moniker\":\"a\",\"version\":1,\"data_source\":\"Logs\",\"metadata\":{\"timestamp\":5}}\n",
                false,
            ),
            ("\u{1e}{\"type\":\"preamble\",\"version\":2}\n", false),
            ("{\"type\":\"preamble\",\"version\":2}\n", false),
            ("{\"X-Trace\":[\"1001\"],\"Label\":[\"a\"],\"Timestamp\":[\"5\"]}\n", false),
            ("[{\"id\":\"01\",\"reports\":[]}]\n", false),
            ("{\"id\":\"01\",\"reports\":[{\"ts\":1}]}\n", false),
            ("{\"type\":\"event\"}\n", false),
            ("", false),
        ] {
            assert_eq!(recognise(&Entry::of_bytes("a", text.as_bytes().to_vec())), expected, "{text}");
        }
        let long =
            format!("{{\"type\":\"stream-begin\",\"stream\":0,\"name\":\"{}\"}}\n", "a".repeat(2 * PROBED));
        assert!(recognise(&Entry::of_bytes("a", long.into_bytes())));
    }
}
