//! Texts about an address.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use ichnos_model::stack::Symbols;
use ichnos_model::{OpenedTrace, Window};

use crate::address_spaces::{AddressSpaces, MappedBinary};
use crate::binaries::{Binaries, Lookup};
use crate::binary::{NameSource, OpenSettings};
use crate::class::DebugInfoTexts;
use crate::files::Directories;
use crate::mapping_events::{self, MappingRules};
use crate::options::DebugInfoOptions;

/// Writes the texts.
#[derive(Debug)]
pub(crate) struct TextMaker {
    binaries: Binaries,
    target_prefix: String,
    full_path: bool,
    as_babeltrace: bool,
    /// Maximum number of mappings in a trace.
    most_mappings: usize,
    /// Time of the events about binaries, once it is restricted.
    window: OnceLock<Window>,
    /// `true` if some symbols or binaries in a trace are missing, because there are too many.
    is_incomplete: AtomicBool,
}

impl TextMaker {
    pub(crate) fn new(options: &DebugInfoOptions) -> Self {
        let this_system = || options.as_babeltrace.then(|| "/".into());
        let directories = Directories {
            target_prefix: options.target_prefix.clone().or_else(this_system),
            debug_info: options.debug_info_dir.clone(),
        };
        let settings = OpenSettings {
            directories,
            limits: options.limits,
            decompress: options.decompress,
            only_recorded: options.as_babeltrace,
        };
        let prefix = options.target_prefix.as_ref();
        Self {
            binaries: Binaries::new(settings),
            target_prefix: prefix.map(|prefix| prefix.display().to_string()).unwrap_or_default(),
            full_path: options.full_path,
            as_babeltrace: options.as_babeltrace,
            most_mappings: options.limits.mappings,
            window: OnceLock::new(),
            is_incomplete: AtomicBool::new(false),
        }
    }

    /// Returns `true` if the first texts about an address stay until its process lists its binaries again.
    pub(crate) fn keeps_first_texts(&self) -> bool {
        self.as_babeltrace
    }

    /// Ignores the events about binaries outside a time window.
    pub(crate) fn restrict(&self, window: Window) {
        self.window.get_or_init(|| window);
    }

    /// Returns the time of the events about binaries.
    pub(crate) fn window(&self) -> Window {
        self.window.get().copied().unwrap_or_default()
    }

    /// Reads the binaries of all processes in a trace.
    pub(crate) fn address_spaces(&self, trace: &dyn OpenedTrace) -> AddressSpaces {
        let (most, as_babeltrace) = (self.most_mappings, self.as_babeltrace);
        let rules = MappingRules { most, as_babeltrace, window: self.window() };
        let spaces = mapping_events::read(trace, rules);
        self.is_incomplete.fetch_or(spaces.is_incomplete(), Ordering::Relaxed);
        spaces
    }

    /// Reads the functions, modules and threads of all processes in a trace.
    pub(crate) fn symbols(&self, trace: &dyn OpenedTrace) -> Symbols {
        let spaces = mapping_events::read(trace, MappingRules::all(self.most_mappings));
        let symbols =
            spaces.symbols(|mapped| self.binaries.functions(mapped.binary, (mapped.base, mapped.kind)));
        self.is_incomplete.fetch_or(symbols.is_incomplete(), Ordering::Relaxed);
        symbols
    }

    pub(crate) fn is_incomplete(&self) -> bool {
        self.is_incomplete.load(Ordering::Relaxed)
    }

    pub(crate) fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// Writes the texts about an address in a binary. Returns `None` if another build of the binary was found, or none,
    /// and no texts are wanted then.
    pub(crate) fn texts(&self, mapped: MappedBinary<'_>, address: u64) -> Option<DebugInfoTexts> {
        let MappedBinary { binary, base, kind } = mapped;
        let lookup = self.binaries.find(binary, (base, kind), address);
        if self.as_babeltrace && !lookup.is_found && binary.build_id.is_some() {
            return None;
        }
        let path = match self.full_path && !self.target_prefix.is_empty() {
            true => {
                let prefix = self.target_prefix.trim_end_matches('/');
                format!("{prefix}/{}", binary.path.trim_start_matches('/'))
            }
            false => binary.path.to_string(),
        };
        Some(DebugInfoTexts {
            binary: binary_text(self.shown(&path), &lookup),
            function: self.function_text(&lookup).unwrap_or_default(),
            source: self.source_text(&lookup).unwrap_or_default(),
        })
    }

    fn source_text(&self, lookup: &Lookup) -> Option<String> {
        let location = &lookup.location;
        let source = location.frames.last()?.source.as_ref()?;
        if self.as_babeltrace && location.frames.len() == 1 && !location.is_line_start {
            return None;
        }
        Some(format!("{}:{}", self.shown(&source.path), source.line))
    }

    fn function_text(&self, lookup: &Lookup) -> Option<String> {
        let location = &lookup.location;
        let name = location.frames.last()?.name.as_ref()?;
        let is_shown = matches!(location.name_source, NameSource::Dwarf | NameSource::SymbolTable);
        if self.as_babeltrace && !is_shown {
            return None;
        }
        Some(format!("{name}+{}", hexadecimal(location.offset?)))
    }

    fn shown<'p>(&self, path: &'p str) -> &'p str {
        if self.full_path { path } else { file_name(path) }
    }
}

fn binary_text(path: &str, lookup: &Lookup) -> String {
    let sign = if lookup.is_relative { '+' } else { '@' };
    format!("{path}{sign}{}", hexadecimal(lookup.address))
}

/// Returns a number like C's format `%#x`: zero lacks the prefix.
fn hexadecimal(number: u64) -> String {
    if number == 0 { "0".to_owned() } else { format!("{number:#x}") }
}

/// Returns the part after the last slash, or the whole path if it ends with a slash.
fn file_name(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some((_, name)) if !name.is_empty() => name,
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::binary_id::{BinaryId, MappingBase};

    #[test]
    fn file_names() {
        for (path, name) in [("/a/b.c", "b.c"), ("b.c", "b.c"), ("/a/", "/a/"), ("", ""), ("./a", "a")] {
            assert_eq!(file_name(path), name, "{path}");
        }
    }

    #[test]
    fn unknown_binaries_have_their_address() {
        let id = |build_id: Option<&[u8]>| BinaryId {
            path: "/does/not/exist.so".into(),
            build_id: build_id.map(Arc::from),
            ..BinaryId::default()
        };
        let options = |full_path, as_babeltrace| DebugInfoOptions {
            full_path,
            as_babeltrace,
            target_prefix: Some("/nowhere/".into()),
            ..DebugInfoOptions::default()
        };
        for (build_id, options, kind, address, expected) in [
            (None, options(false, true), MappingBase::PositionIndependent, 0x1010, "exist.so+0x10"),
            (None, options(false, true), MappingBase::Binary, 0x1000, "exist.so+0"),
            (None, options(true, true), MappingBase::Absolute, 0x1010, "/nowhere/does/not/exist.so@0x1010"),
            (Some(&[1, 2][..]), options(false, true), MappingBase::Binary, 0x1010, ""),
            (Some(&[1, 2][..]), options(false, false), MappingBase::Binary, 0x1010, "exist.so+0x10"),
        ] {
            let binary = Arc::new(id(build_id));
            let mapped = MappedBinary { binary: &binary, base: 0x1000, kind };
            let texts = TextMaker::new(&options).texts(mapped, address);
            let expected = DebugInfoTexts { binary: expected.to_owned(), ..DebugInfoTexts::default() };
            assert_eq!(texts, Some(expected).filter(|expected| !expected.binary.is_empty()));
        }
    }
}
