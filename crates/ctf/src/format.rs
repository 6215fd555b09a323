//! The CTF entry in the format registry.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ichnos_io::{
    EnclosingTrace, Format, FormatInfo, FormatOption, Hint, OpenedTraces, OptionConflict, OptionHint,
    OptionValue, PacketIndexes, ReadOptions, RefusedTrace, SchemaLanguage, Tree, WrittenSchema,
};
use ichnos_model::TraceClass;
use ichnos_model::trace::Limits;

use crate::metadata::write::ENVIRONMENT;
use crate::metadata::{Dialect, write_metadata};
use crate::quirks::{Quirk, TRACER_QUIRKS};
use crate::trace::{self, CtfOptions};
use crate::writer::CtfWriter;

/// The Common Trace Format.
#[derive(Clone, Copy, Debug)]
pub struct Ctf;

const METADATA: &str = "metadata";
const METADATA_OPTION: &str = "ctf.metadata";

const OPTIONS: &[FormatOption] = &[
    FormatOption::choice(
        "dialect",
        "Read the metadata as DIALECT instead of detecting it",
        &[
            OptionValue::new(Dialect::Ctf18.name(), "CTF 1.8: metadata in TSDL").aliases(&["ctf1", "tsdl"]),
            OptionValue::new(Dialect::Prop1.name(), "CTF 2 as in its first proposal"),
            OptionValue::new(Dialect::Prop2.name(), "CTF 2 as in its second proposal"),
            OptionValue::new(Dialect::Spec2.name(), "CTF 2 as specified").aliases(&["ctf2"]),
        ],
    )
    .value_name("DIALECT")
    .unprefixed(),
    FormatOption::file(METADATA, "Read the metadata from FILE if PATH has none")
        .details("PATH is then a single data stream file, or a directory of such files.")
        .unprefixed(),
];

const LANGUAGES: &[SchemaLanguage] = &[
    SchemaLanguage::new("tsdl", "CTF 1.8 metadata", |class, limits| schema(class, Dialect::Ctf18, limits))
        .aliases(&["ctf1", "ctf1.8"]),
    SchemaLanguage::new("prop1", "CTF 2 metadata as in its first proposal", |class, limits| {
        schema(class, Dialect::Prop1, limits)
    }),
    SchemaLanguage::new("prop2", "CTF 2 metadata as in its second proposal", |class, limits| {
        schema(class, Dialect::Prop2, limits)
    }),
    SchemaLanguage::new("spec2", "CTF 2 metadata as specified", |class, limits| {
        schema(class, Dialect::Spec2, limits)
    })
    .aliases(&["ctf2"]),
];

fn schema(class: &TraceClass, dialect: Dialect, limits: &Limits) -> Result<WrittenSchema, Vec<String>> {
    let written = write_metadata(class, dialect, limits)
        .map_err(|unsupported| unsupported.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let mut schema = WrittenSchema::new(written.text);
    for stream in &written.aux_streams {
        let what = match stream.file == ENVIRONMENT {
            true => "the environment is".to_owned(),
            false => format!("the auxiliary stream {} is", stream.file),
        };
        let title = dialect.title();
        schema.notices.push(format!("{what} not part of {title} metadata: it is a separate file"));
    }
    Ok(schema)
}

static INFO: FormatInfo = FormatInfo {
    versions: "CTF 1.8; CTF 2: PROP-1.0, PROP-2.0, SPEC-2.0 and its release candidates",
    detection: "a file called `metadata`",
    writer: Some(&CtfWriter),
    options: OPTIONS,
    quirks: &TRACER_QUIRKS,
    schema_languages: LANGUAGES,
    ..FormatInfo::new("ctf", "Common Trace Format")
};

impl Format for Ctf {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn probe(&self, tree: &Tree, options: &ReadOptions) -> bool {
        trace::probe(tree) || options.formats.file(INFO.name, METADATA).is_some()
    }

    fn own_files(&self, tree: &Tree, files: &[usize], options: &ReadOptions) -> Vec<usize> {
        match options.formats.file(INFO.name, METADATA) {
            Some(_) => files.to_vec(),
            None => trace::own_files(tree, files),
        }
    }

    fn open(&self, trees: &[&Tree], options: &ReadOptions) -> OpenedTraces {
        let found = trace::open(trees, &CtfOptions::from(options));
        let mut opened = OpenedTraces::default();
        opened.traces.extend(found.traces.into_iter().map(|trace| Box::new(trace) as _));
        let refused = found.errors.into_iter().map(|error| RefusedTrace::new(error.path, error.diagnostics));
        opened.refused.extend(refused);
        opened.notices = found.notices;
        opened
    }

    fn packet_indexes(&self, tree: &Tree, options: &ReadOptions) -> Option<PacketIndexes> {
        Some(trace::packet_indexes(tree, &CtfOptions::from(options)))
    }

    fn enclosing_trace(&self, path: &Path, options: &ReadOptions) -> Option<EnclosingTrace> {
        // Metadata from an option applies to this file only.
        if options.formats.file(INFO.name, METADATA).is_some() {
            return None;
        }
        let directory = trace_directory(path)?;
        let trace = EnclosingTrace::new(directory.clone(), &["", "index"], notice(path, &directory));
        let is_part = path.file_name().is_some_and(|name| name == METADATA) || path.is_dir();
        Some(if is_part { trace.into_part() } else { trace })
    }

    fn reads_all_files(&self, directory: &Path) -> bool {
        let is_index = || name_of(directory).is_some_and(|name| *name == *"index");
        directory.join(METADATA).is_file() || is_index() && directory.join("..").join(METADATA).is_file()
    }

    fn conflict(&self, tree: &Tree, options: &ReadOptions) -> Option<OptionConflict> {
        let (given, _) = options.formats.file(INFO.name, METADATA)?;
        let own = tree.entries.iter().find(|entry| entry.name() == METADATA)?;
        let message = format!("the trace has its own metadata (`{}`): {given} would not be used", own.path);
        let help = "name a data stream file, or a directory without `metadata`";
        Some(OptionConflict::new(METADATA_OPTION, message, help))
    }

    fn describe_file(&self, beginning: &[u8]) -> Option<Hint> {
        const STREAM: &str = "a CTF data stream file without its metadata";
        const DESCRIBED: &str = "a trace is a directory with a file called `metadata`";
        let has_magic = |magics: &[[u8; 4]]| magics.iter().any(|magic| beginning.starts_with(magic));
        if has_magic(&[[0xc1, 0x1f, 0xfc, 0xc1], [0xc1, 0xfc, 0x1f, 0xc1]]) {
            let option = OptionHint::new(METADATA_OPTION, "FILE", "names its metadata");
            return Some(Hint::new(STREAM).with_option(option));
        }
        if has_magic(&[[0x75, 0xd1, 0x1d, 0x57], [0x57, 0x1d, 0xd1, 0x75]]) {
            return Some(Hint::new(format!("CTF 1.8 metadata in packets; {DESCRIBED}")));
        }
        if has_magic(&[[0xc1, 0xf1, 0xdc, 0xc1]]) {
            let index = "an LTTng packet index without its trace";
            return Some(Hint::new(format!(
                "{index}; its trace is the directory that contains the directory `index`"
            )));
        }
        let dialect = dialect_of_text(beginning)?;
        Some(Hint::new(format!("{dialect} metadata; {DESCRIBED}")))
    }

    fn why_unrecognized(&self, tree: &Tree) -> Option<Hint> {
        Some(match tree.entries.len() {
            0 => return None,
            1 => Hint::new("a single CTF data stream file can only be read with its metadata")
                .with_option(OptionHint::new(METADATA_OPTION, "FILE", "names it")),
            files => {
                Hint::new(format!("none of its {files} files is called `metadata`, which a CTF trace needs"))
            }
        })
    }

    fn suggest_path(&self, path: &Path) -> Option<Hint> {
        let above = path.parent().filter(|above| above.join(METADATA).is_file());
        if !path.is_dir() {
            let above = above?;
            let option = OptionHint::new(
                METADATA_OPTION,
                above.join(METADATA).to_string_lossy(),
                "reads this file alone",
            )
            .for_path(path.to_string_lossy());
            let message = format!("the file is part of the trace `{}`", shown(above));
            return Some(Hint::new(message).with_option(option));
        }
        Some(Hint::new(match (similar_metadata(path), above) {
            (Some(found), _) => format!(
                "a CTF trace is a directory with a file called exactly `metadata`; found `{}`",
                found.display()
            ),
            (None, Some(above)) => {
                format!("the directory above has a file called `metadata`: did you mean `{}`?", shown(above))
            }
            (None, None) => "a CTF trace is a directory with a file called `metadata` and data stream files \
                next to it"
                .to_owned(),
        }))
    }
}

impl From<&ReadOptions> for CtfOptions {
    fn from(options: &ReadOptions) -> Self {
        Self {
            dialect: options.formats.choice(INFO.name, "dialect").and_then(|name| name.parse().ok()),
            strict: options.strict,
            without_annotations: options.without_annotations,
            limits: options.limits,
            without_quirks: Quirk::ALL
                .into_iter()
                .filter(|quirk| options.without_quirks.contains(&quirk.name()))
                .collect(),
            clock_offsets: options.clock_offsets.clone(),
            class_map: options.class_map.clone(),
            clock_arithmetic: options.clock_arithmetic,
            babeltrace: options.babeltrace.clone(),
            metadata: options
                .formats
                .file(INFO.name, METADATA)
                .map(|(name, bytes)| (name.to_owned(), bytes.clone())),
            progress: options.progress.clone(),
            ..Self::default()
        }
    }
}

/// Returns the dialect of a metadata text, detected from its start.
fn dialect_of_text(beginning: &[u8]) -> Option<&'static str> {
    let text = match std::str::from_utf8(beginning) {
        Ok(text) => text,
        // The excerpt may end within a character.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(beginning.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    let text = text.trim_start_matches(['\u{feff}', '\x1e', ' ', '\n', '\r', '\t']);
    if text.starts_with("/* CTF") {
        return Some("CTF 1.8");
    }
    let is_preamble =
        text.starts_with(['{', '[']) && text.contains("\"preamble\"") && text.contains("\"version\"");
    is_preamble.then_some("CTF 2")
}

/// Returns the trace directory for a path: the path may be the metadata, the index, a file inside either, or a file
/// next to the metadata.
fn trace_directory(path: &Path) -> Option<PathBuf> {
    let above = |path: &Path| match (path.file_name(), path.parent()) {
        (Some(_), Some(above)) if above.as_os_str().is_empty() => PathBuf::from("."),
        (Some(_), Some(above)) => above.to_owned(),
        _ if path == Path::new(".") => PathBuf::from(".."),
        // The parent of `..` cannot be found by removing it from the path.
        _ => path.join(".."),
    };
    let is_index = |path: &Path| name_of(path).is_some_and(|name| *name == *"index");
    let mut directory = above(path);
    if path.is_dir() {
        if !is_index(path) || path.join(METADATA).exists() {
            return None;
        }
    } else if !path.is_file() {
        return None;
    } else if is_index(&directory) && !directory.join(METADATA).is_file() {
        directory = above(&directory);
    }
    directory.join(METADATA).is_file().then_some(directory)
}

/// Returns a file or directory name, also for `.` and similar paths.
fn name_of(path: &Path) -> Option<Cow<'_, OsStr>> {
    match path.file_name() {
        Some(name) => Some(name.into()),
        None => Some(path.canonicalize().ok()?.file_name()?.to_owned().into()),
    }
}

/// Explains that the trace containing a path is read.
fn notice(given: &Path, directory: &Path) -> Hint {
    let (path, shown) = (given.display(), directory.display());
    match name_of(given).map(|name| name.to_string_lossy().into_owned()).as_deref() {
        Some(METADATA) => Hint::new(format!("{path}: metadata of the trace {shown}; reading that trace")),
        Some(name) if name == "index" || name.ends_with(".idx") => {
            Hint::new(format!("{path}: packet index of the trace {shown}; reading that trace"))
        }
        _ => {
            let metadata = format!("{shown}/{METADATA}");
            let option = OptionHint::new(METADATA_OPTION, metadata, "reads this file alone");
            Hint::new(format!("{path}: reading the whole trace {shown}"))
                .with_option(option.for_path(path.to_string()))
        }
    }
}

fn shown(path: &Path) -> String {
    if path.as_os_str().is_empty() { ".".to_owned() } else { path.display().to_string() }
}

/// Returns a file that may be metadata under another name.
fn similar_metadata(directory: &Path) -> Option<PathBuf> {
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(directory).ok()?.flatten().map(|item| item.path()).collect();
    names.sort();
    names.into_iter().find(|path| {
        // Paths of directory entries end with a name.
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        name != METADATA && name.starts_with(METADATA) && path.is_file()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_trace() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let index = root.join("t/index");
        std::fs::create_dir_all(&index).unwrap();
        std::fs::create_dir_all(root.join("t/sub")).unwrap();
        for file in ["t/metadata", "t/chan", "t/index/chan.idx", "t/sub/other"] {
            std::fs::write(root.join(file), b"x").unwrap();
        }
        let found = |path: &str| trace_directory(&root.join(path));
        let trace = Some(root.join("t"));
        for path in ["t/metadata", "t/chan", "t/index", "t/index/chan.idx"] {
            assert_eq!(found(path), trace, "{path}");
        }
        for path in ["t", "t/sub", "t/sub/other", "t/none/x"] {
            assert_eq!(found(path), None, "{path}");
        }
        // Paths within the index.
        let inside = |path: &str| {
            trace_directory(&index.join(path)).map(|directory| directory.canonicalize().unwrap())
        };
        assert_eq!(inside("."), Some(root.join("t").canonicalize().unwrap()));
        assert_eq!(inside("../index/../index"), inside("."));
    }

    #[test]
    fn says_how_to_read_the_file_alone() {
        let option = |path: &str| notice(Path::new(path), Path::new("t")).option;
        let alone = OptionHint::new("ctf.metadata", "t/metadata", "reads this file alone").for_path("t/chan");
        assert_eq!(option("t/chan"), Some(alone));
        assert!(option("t/metadata").is_none() && option("t/index").is_none());
    }

    #[test]
    fn parts_by_their_beginnings() {
        let what = |bytes: &[u8]| Ctf.describe_file(bytes).map(|hint| hint.message).unwrap_or_default();
        assert!(what(b"\xc1\x1f\xfc\xc1").starts_with("a CTF data stream file"));
        assert!(what(b"\xc1\xfc\x1f\xc1\xff").starts_with("a CTF data stream file"));
        assert!(what(b"\x57\x1d\xd1\x75").starts_with("CTF 1.8 metadata in packets"));
        assert!(what(b"\xc1\xf1\xdc\xc1").starts_with("an LTTng packet index"));
        assert!(what(b"/* CTF 1.8 */\ntrace {").starts_with("CTF 1.8 metadata;"));
        assert!(what(b"\x1e{\"type\":\"preamble\",\"version\":2}\xc3").starts_with("CTF 2 metadata;"));
        for other in [&b"\xc1\x1f\xfc"[..], b"{}", b"\xff", b""] {
            assert_eq!(what(other), "");
        }
    }

    /// Every listed value must be accepted.
    #[test]
    fn every_dialect_can_be_set() {
        let values = OPTIONS[0].values();
        assert_eq!(values.len(), Dialect::ALL.len());
        for (value, dialect) in values.iter().zip(Dialect::ALL) {
            for name in std::iter::once(&value.name).chain(value.aliases) {
                let mut options = ReadOptions::default();
                options.formats.set(INFO.name, OPTIONS, "dialect", OsStr::new(name)).unwrap();
                assert_eq!(CtfOptions::from(&options).dialect, Some(dialect));
            }
        }
    }
}
