//! Texts about an address.

use crate::DebugInfoOptions;
use crate::address_spaces::MappedBinary;
use crate::binaries::{Binaries, Lookup};
use crate::binary::OpenSettings;
use crate::files::Directories;

/// Texts about an address, empty if unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DebugInfoTexts {
    /// Binary, and the address in it: `libfoo.so+0x2349`, `program@0x401234`.
    pub binary: String,
    /// Function, and the offset in it: `foo+0xd2`.
    pub function: String,
    /// Source file and line: `foo.c:35`.
    pub source: String,
}

/// Writer of texts.
#[derive(Debug)]
pub(crate) struct TextMaker {
    binaries: Binaries,
    target_prefix: String,
    full_path: bool,
    verified_only: bool,
}

impl TextMaker {
    pub(crate) fn new(options: &DebugInfoOptions) -> Self {
        let directories = Directories {
            target_prefix: options.target_prefix.clone(),
            debug_info: options.debug_info_dir.clone(),
        };
        let settings = OpenSettings { directories, limits: options.limits, decompress: options.decompress };
        let prefix = options.target_prefix.as_ref();
        Self {
            binaries: Binaries::new(settings),
            target_prefix: prefix.map(|prefix| prefix.display().to_string()).unwrap_or_default(),
            full_path: options.full_path,
            verified_only: options.verified_only,
        }
    }

    pub(crate) fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// Writes the texts about an address in a binary.
    pub(crate) fn texts(&self, mapped: MappedBinary<'_>, address: u64) -> DebugInfoTexts {
        let MappedBinary { binary, base, is_position_independent } = mapped;
        let lookup = self.binaries.find(binary, base, is_position_independent, address);
        if self.verified_only && !lookup.is_found && binary.build_id.is_some() {
            return DebugInfoTexts::default();
        }
        let path = match self.full_path && !self.target_prefix.is_empty() {
            true => {
                let prefix = self.target_prefix.trim_end_matches('/');
                format!("{prefix}/{}", binary.path.trim_start_matches('/'))
            }
            false => binary.path.to_string(),
        };
        DebugInfoTexts {
            binary: binary_text(self.shown(&path), &lookup),
            function: function_text(&lookup).unwrap_or_default(),
            source: self.source_text(&lookup).unwrap_or_default(),
        }
    }

    fn source_text(&self, lookup: &Lookup) -> Option<String> {
        let source = lookup.location.frames.last()?.source.as_ref()?;
        Some(format!("{}:{}", self.shown(&source.path), source.line))
    }

    fn shown<'p>(&self, path: &'p str) -> &'p str {
        if self.full_path { path } else { file_name(path) }
    }
}

fn binary_text(path: &str, lookup: &Lookup) -> String {
    let sign = if lookup.is_relative { '+' } else { '@' };
    format!("{path}{sign}{}", hexadecimal(lookup.address))
}

fn function_text(lookup: &Lookup) -> Option<String> {
    let name = lookup.location.frames.last()?.name.as_ref()?;
    Some(format!("{name}+{}", hexadecimal(lookup.location.offset?)))
}

/// Returns a number as C's format `%#x` does: zero has no prefix.
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
    use crate::binary::BinaryId;

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
        let options = |full_path, verified_only| DebugInfoOptions {
            full_path,
            verified_only,
            target_prefix: Some("/nowhere/".into()),
            ..DebugInfoOptions::default()
        };
        for (build_id, options, relative, address, expected) in [
            (None, options(false, true), Some(true), 0x1010, "exist.so+0x10"),
            (None, options(false, true), None, 0x1000, "exist.so+0"),
            (None, options(true, true), Some(false), 0x1010, "/nowhere/does/not/exist.so@0x1010"),
            (Some(&[1, 2][..]), options(false, true), None, 0x1010, ""),
            (Some(&[1, 2][..]), options(false, false), None, 0x1010, "exist.so+0x10"),
        ] {
            let binary = Arc::new(id(build_id));
            let mapped = MappedBinary { binary: &binary, base: 0x1000, is_position_independent: relative };
            let texts = TextMaker::new(&options).texts(mapped, address);
            let expected = DebugInfoTexts { binary: expected.to_owned(), ..DebugInfoTexts::default() };
            assert_eq!(texts, expected);
        }
    }
}
