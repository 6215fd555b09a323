//! Command lines for the traces in `ichnos view`, and changes to their clock offsets.

use std::path::{Path, PathBuf};

use ichnos::Session;
use ichnos_view::ViewArguments;

use crate::args::time::Offset;
use crate::args::{OptionText, Reading, Selecting, ViewVerb};

/// Options that select a time range.
const TIMES: [&str; 3] = ["begin", "end", "timerange"];

/// Traces and options, as given or with additional clock offsets.
#[derive(Clone, Debug)]
pub(crate) struct ViewTraces {
    pub(crate) reading: Reading,
    pub(crate) selecting: Selecting,
    option_texts: Vec<OptionText>,
}

/// Quotes a word for a shell.
fn quoted(word: String) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./,:@%+=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

impl ViewTraces {
    /// Returns the traces and options from the command line.
    pub(crate) fn new(args: &ViewVerb) -> Self {
        let ViewVerb { reading, selecting, option_texts, .. } = args;
        Self { reading: reading.clone(), selecting: selecting.clone(), option_texts: option_texts.clone() }
    }

    /// Returns the arguments for commands with the same traces and selection.
    pub(crate) fn arguments(&self) -> ViewArguments {
        let word = |OptionText { name, value }: &OptionText| match value {
            Some(value) => quoted(format!("--{name}={value}")),
            None => format!("--{name}"),
        };
        let (times, others): (Vec<_>, Vec<_>) =
            self.option_texts.iter().partition(|option| TIMES.contains(&option.name.as_str()));
        let options = others.into_iter().filter(|option| option.name != "filter").map(word);
        let paths = self.reading.paths.iter().map(|path| quoted(path.display().to_string()));
        let mut arguments = ViewArguments::new(options.chain(paths).collect::<Vec<_>>().join(" "));
        arguments.paths = self.named_paths();
        arguments.times = times.into_iter().map(word).collect::<Vec<_>>().join(" ");
        arguments.filter.clone_from(&self.selecting.filter);
        arguments
    }

    /// Returns the paths that the arguments name.
    fn named_paths(&self) -> Vec<String> {
        let Reading { paths, map, manifest, temp_dir, offset, .. } = &self.reading;
        let paths =
            paths.iter().chain(map).chain(manifest).chain(temp_dir).map(|path| path.display().to_string());
        paths.chain(offset.iter().map(|(text, _)| text.clone())).collect()
    }

    /// Adds clock offsets in nanoseconds to traces, named by their paths.
    ///
    /// # Errors
    /// If a trace cannot be opened again, or not separately.
    pub(crate) fn with_offsets(&self, session: &Session, offsets: &[(String, i64)]) -> Result<Self, String> {
        if self.reading.paths.iter().any(|path| path.as_os_str() == "-") {
            return Err("the standard input can be read only once".to_owned());
        }
        let mut moved = self.clone();
        let mut left = offsets.to_vec();
        while let Some((path, nanoseconds)) = left.first().cloned() {
            let in_manifest = || format!("{path}: the manifest has the offsets of its traces");
            let given = self.path_of(&path).ok_or_else(in_manifest)?;
            let is_beside = |trace: &str| self.path_of(trace) == Some(given);
            let beside: Vec<&str> =
                session.traces().iter().map(|trace| trace.path()).filter(|path| is_beside(path)).collect();
            let offset_of =
                |trace: &str| offsets.iter().find(|(path, _)| path == trace).map(|(_, offset)| *offset);
            left.retain(|(path, _)| !is_beside(path));
            if beside.iter().all(|trace| offset_of(trace) == Some(nanoseconds)) {
                moved.add(given, nanoseconds);
                continue;
            }
            // An offset applies to a whole path. Here, each trace inside the path must be named separately.
            moved.replace(given, &beside)?;
            for trace in beside {
                if let Some(nanoseconds) = offset_of(trace) {
                    moved.add(Path::new(trace), nanoseconds);
                }
            }
        }
        Ok(moved)
    }

    /// Returns the given path that contains a trace, or that the trace contains.
    fn path_of(&self, trace: &str) -> Option<&Path> {
        let trace = Path::new(trace);
        let mut paths = self.reading.paths.iter().map(PathBuf::as_path);
        paths.find(|path| trace.starts_with(path) || path.starts_with(trace))
    }

    fn replace(&mut self, given: &Path, traces: &[&str]) -> Result<(), String> {
        let given_text = given.display();
        if !self.reading.offset.is_empty() {
            return Err(format!(
                "{given_text} has several traces, and --offset was given: give the paths of its traces one by one"
            ));
        }
        if let Some(trace) = traces.iter().find(|trace| !Path::new(trace).exists()) {
            return Err(format!("{trace} cannot be read without the rest of {given_text}"));
        }
        let paths = std::mem::take(&mut self.reading.paths).into_iter();
        self.reading.paths = paths
            .flat_map(|path| match path == given {
                true => traces.iter().map(PathBuf::from).collect(),
                false => vec![path],
            })
            .collect();
        Ok(())
    }

    fn add(&mut self, path: &Path, nanoseconds: i64) {
        let path = path.to_string_lossy().into_owned();
        let value = Some(format!("{path}={nanoseconds}ns"));
        self.option_texts.push(OptionText { name: "offset".to_owned(), value });
        self.reading.offset.push((path, Offset::Duration(nanoseconds.into())));
    }
}
