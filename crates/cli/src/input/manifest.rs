//! Manifests: files that list traces and their clock offsets.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ichnos::ClockOffset;
use ichnos::query::{QueryError, TomlText, TomlValue};

use crate::args::time;
use crate::args::time::Offset;

/// Maximum number of paths.
const MOST_PATHS: usize = 1_000_000;

/// Keys at the top level of the file, and in a trace's table.
const KEYS: [&str; 1] = ["trace"];
const KEYS_OF_TRACE: [&str; 3] = ["path", "offset", "clocks"];

/// Contents of a manifest.
#[derive(Debug, Default)]
pub(crate) struct Manifest {
    /// Paths to open, in file order. Paths that match a pattern are sorted by name.
    pub(crate) paths: Vec<PathBuf>,
    /// Clock offsets for these paths.
    pub(crate) offsets: Vec<ClockOffset>,
    /// Byte offset of each clock name in the file.
    clocks: HashMap<String, usize>,
    text: TomlText,
}

impl Manifest {
    /// Reads a manifest.
    pub(crate) fn read(path: &Path) -> Result<Self, QueryError> {
        let text = TomlText::read(path, "manifests")?;
        let directory = path.parent().unwrap_or_else(|| Path::new(""));
        let parser =
            ManifestParser { text: &text, directory, real: HashMap::new(), manifest: Self::default() };
        let manifest = parser.parse()?;
        Ok(Self { text, ..manifest })
    }

    /// Returns the position of a clock name in the file.
    pub(crate) fn place_of_clock(&self, name: &str) -> Option<String> {
        Some(self.text.place(*self.clocks.get(name)?))
    }
}

struct ManifestParser<'t> {
    text: &'t TomlText,
    /// Base directory for relative paths.
    directory: &'t Path,
    /// Byte offset of each path in the file, by canonical path.
    real: HashMap<PathBuf, usize>,
    manifest: Manifest,
}

impl ManifestParser<'_> {
    fn parse(mut self) -> Result<Manifest, QueryError> {
        let table = self.text.parse()?;
        self.text.check_keys(table.get_ref(), &KEYS)?;
        let traces = self.text.tables(table.get_ref(), "trace")?;
        for trace in traces {
            self.add(trace)?;
        }
        self.check_nesting()?;
        Ok(self.manifest)
    }

    /// Adds a trace, or all paths that match a pattern.
    fn add(&mut self, trace: &TomlValue<'_>) -> Result<(), QueryError> {
        let table = trace.get_ref().as_table().ok_or_else(|| self.text.wrong(trace, "a table"))?;
        self.text.check_keys(table, &KEYS_OF_TRACE)?;
        let Some(path) = table.get("path") else {
            return Err(self.text.failure(trace.span().start, "expected `path` in this table, found none"));
        };
        let at = path.span().start;
        let text = path.get_ref().as_str().filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| self.text.wrong(path, "a path as text"))?;
        let paths = find(self.directory, text).map_err(|what| self.text.failure(at, &what))?;
        let offset = table.get("offset").map(|offset| self.offset(offset)).transpose()?;
        let mut clocks = Vec::new();
        if let Some(value) = table.get("clocks") {
            let named = value.get_ref().as_table();
            let named = named.ok_or_else(|| self.text.wrong(value, "a table of offsets by clock name"))?;
            for (name, offset) in named {
                clocks.push((name.get_ref().to_string(), self.offset(offset)?));
                self.manifest.clocks.entry(name.get_ref().to_string()).or_insert(name.span().start);
            }
        }
        for path in paths {
            self.add_path(at, &path)?;
            let offsets = &mut self.manifest.offsets;
            offsets.extend(offset.map(|offset| offset.for_path(&path)));
            let of_clock = |(name, offset): &(String, Offset)| offset.for_path(&path).of_clock(name);
            offsets.extend(clocks.iter().map(of_clock));
            self.manifest.paths.push(path);
        }
        Ok(())
    }

    fn add_path(&mut self, at: usize, path: &Path) -> Result<(), QueryError> {
        if self.manifest.paths.len() >= MOST_PATHS {
            return Err(self.text.failure(at, &format!("there are more than {MOST_PATHS} paths")));
        }
        let real = path.canonicalize().map_err(|error| {
            self.text.failure(at, &format!("`{}` cannot be opened: {error}", path.display()))
        })?;
        if let Some(before) = self.real.insert(real, at) {
            let line = self.text.line(before);
            let what = format!("duplicate path `{}`, first in line {line}", path.display());
            return Err(self.text.failure(at, &what).help("merge the tables: a trace can have only one"));
        }
        Ok(())
    }

    /// Checks that no path contains another path: a nested trace would be read twice, with different offsets.
    fn check_nesting(&self) -> Result<(), QueryError> {
        let nested = self.real.iter().filter_map(|(path, at)| {
            let (above, first) = path.ancestors().skip(1).find_map(|above| self.real.get_key_value(above))?;
            Some((*at, path, above, *first))
        });
        match nested.min_by_key(|(at, ..)| *at) {
            Some((at, path, above, first)) => {
                let (path, above) = (path.display(), above.display());
                let line = self.text.line(first);
                let what = format!("`{path}` is inside `{above}` in line {line}");
                Err(self.text.failure(at, &what).help("directories are searched at any depth"))
            }
            None => Ok(()),
        }
    }

    /// Parses an offset in nanoseconds.
    fn offset(&self, value: &TomlValue<'_>) -> Result<Offset, QueryError> {
        let expected = "a time as text, such as \"-1.5s\", \"+250ms\" or \"+7ns\"";
        let text = value.get_ref().as_str().ok_or_else(|| self.text.wrong(value, expected))?;
        time::clock_offset_from(text).map_err(|what| self.text.failure(value.span().start, &what))
    }
}

/// Returns the file at a path, or all files that match a pattern, sorted. Every component can be a pattern. In each
/// directory, a file or directory with exactly this name takes precedence.
fn find(directory: &Path, text: &str) -> Result<Vec<PathBuf>, String> {
    let path = directory.join(text);
    if path.symlink_metadata().is_ok() {
        return Ok(vec![not_standard_input(path)]);
    }
    if !is_pattern(text) {
        return Err(format!("there is no file or directory `{}`", path.display()));
    }
    let mut found = vec![directory.to_owned()];
    for component in Path::new(text).components() {
        let name = match component {
            Component::Normal(name) => name.to_str().unwrap_or_default(),
            other => {
                found.iter_mut().for_each(|path| path.push(other));
                continue;
            }
        };
        let (exact, others) = found.into_iter().partition::<Vec<_>, _>(|above| has(above, name));
        found = exact.into_iter().map(|above| above.join(name)).collect();
        if !is_pattern(name) || others.is_empty() {
            continue;
        }
        match GlobBuilder::new(name).build() {
            Ok(glob) => add_matches(&mut found, &others, &glob.compile_matcher(), name.starts_with('.'))?,
            // The text is a name, not a pattern.
            Err(_) if !found.is_empty() => {}
            Err(error) => return Err(format!("invalid pattern `{text}`: {error}")),
        }
        if found.len() > MOST_PATHS {
            return Err(format!("`{text}` matches more than {MOST_PATHS} paths"));
        }
        found.sort();
    }
    // Opening a pipe matched by chance would wait for a writer.
    found.retain(|path| path.metadata().is_ok_and(|found| found.is_file() || found.is_dir()));
    match found.is_empty() {
        true => Err(format!("no file or directory matches `{}`", path.display())),
        false => Ok(found.into_iter().map(not_standard_input).collect()),
    }
}

/// Returns a path of the same file that does not mean standard input, as `-` alone does.
fn not_standard_input(path: PathBuf) -> PathBuf {
    if path.as_os_str() == "-" { PathBuf::from("./-") } else { path }
}

/// Returns `true` if a directory contains a name.
fn has(directory: &Path, name: &str) -> bool {
    directory.join(name).symlink_metadata().is_ok()
}

/// Adds the files in directories that match a pattern, until there are too many.
fn add_matches(
    found: &mut Vec<PathBuf>,
    directories: &[PathBuf],
    glob: &GlobMatcher,
    with_hidden: bool,
) -> Result<(), String> {
    for directory in directories {
        let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        // Skip anything that is not a directory.
        let Ok(items) = fs::read_dir(listed) else { continue };
        for item in items {
            let item = item.map_err(|error| format!("`{}` cannot be read: {error}", listed.display()))?;
            let name = item.file_name();
            // As in a shell, `*` does not match hidden files.
            let is_hidden = name.as_encoded_bytes().starts_with(b".");
            if glob.is_match(&name) && (!is_hidden || with_hidden) {
                found.push(directory.join(name));
            }
            if found.len() > MOST_PATHS {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Manifest, String> {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a", "b", "nodes/n1", "nodes/n2", "nodes/.hidden", "st[a]r", "x[y/n3"] {
            fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        let path = directory.path().join("m.toml");
        fs::write(&path, text).unwrap();
        let prefix = format!("{}/", directory.path().display());
        let mut manifest = Manifest::read(&path).map_err(|failure| {
            let help = failure.help.map_or_else(String::new, |help| format!("; {help}"));
            format!("{}{help}", failure.message).replace(&prefix, "")
        })?;
        let below = |path: &PathBuf| path.strip_prefix(directory.path()).unwrap().to_owned();
        manifest.paths = manifest.paths.iter().map(below).collect();
        manifest.offsets.iter_mut().for_each(|offset| offset.path = below(&offset.path));
        Ok(manifest)
    }

    #[test]
    fn paths_and_offsets() {
        let text = "# Two machines.\n[[trace]]\npath = 'b'\noffset = \"-1.5s\"\nclocks = { mono = '+7ns' }\n\
                    [[trace]]\npath = \"nodes/*\"\noffset = '250ms'\n[[trace]]\npath = \"st[a]r\"\n\
                    [[trace]]\npath = 'x[y/*'\n";
        let manifest = read(text).unwrap();
        assert_eq!(manifest.paths, ["b", "nodes/n1", "nodes/n2", "st[a]r", "x[y/n3"].map(PathBuf::from));
        assert_eq!(
            manifest.offsets,
            [
                ClockOffset::new("b", -1_500_000_000),
                ClockOffset::new("b", 7).of_clock("mono"),
                ClockOffset::new("nodes/n1", 250_000_000),
                ClockOffset::new("nodes/n2", 250_000_000),
            ]
        );
        assert!(manifest.place_of_clock("mono").unwrap().ends_with("m.toml:5:12"));
    }

    #[test]
    fn an_exact_name_comes_first_in_its_own_directory() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let names = ["n1/st[a]r.log", "n1/star.log", "n2/star.log", "n3/star.log", "n3/[x"];
        for name in names {
            fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            fs::write(path(name), "").unwrap();
        }
        let expected = ["n1/st[a]r.log", "n2/star.log", "n3/star.log"].map(path);
        assert_eq!(find(directory.path(), "n*/st[a]r.log"), Ok(expected.to_vec()));
        assert_eq!(find(directory.path(), "n*/[x"), Ok(vec![path("n3/[x")]));
        assert_eq!(
            find(directory.path(), "n[12]/star.log"),
            Ok(["n1/star.log", "n2/star.log"].map(path).to_vec())
        );
        // Relative to an empty path, `-` would mean standard input.
        assert_eq!(not_standard_input(PathBuf::from("-")), PathBuf::from("./-"));
        assert!(find(directory.path(), "n[12]/[x").unwrap_err().starts_with("invalid pattern `n[12]/[x`: "));
    }

    #[test]
    fn patterns_match_files_and_directories_only() {
        let directory = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo").arg(directory.path().join("n1")).status();
        assert!(made.unwrap().success());
        std::os::unix::fs::symlink("n1", directory.path().join("n2")).unwrap();
        std::os::unix::net::UnixListener::bind(directory.path().join("n3")).unwrap();
        fs::write(directory.path().join("n4"), "").unwrap();
        assert_eq!(find(directory.path(), "n*"), Ok(vec![directory.path().join("n4")]));
        assert!(find(directory.path(), "n[1-3]").unwrap_err().starts_with("no file or directory matches"));
        assert_eq!(find(directory.path(), "n1"), Ok(vec![directory.path().join("n1")]));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, expected) in [
            ("", "m.toml:1:1: expected at least one table `[[trace]]`, found none"),
            ("trace = 5", "m.toml:1:9: expected tables: `[[trace]]`, one for each, found integer `5`"),
            ("trace = [5]", "m.toml:1:10: expected a table, found integer `5`"),
            ("[[traces]]", "m.toml:1:3: expected `trace`, found the key `traces`; did you mean `trace`?"),
            ("[[trace]]\npath", "m.toml:2:5: "),
            ("[[trace]]\npath = 'a'\npath = 'b'", "m.toml:3:1: "),
            ("[[trace]]\n", "m.toml:1:1: expected `path` in this table, found none"),
            (
                "[[trace]]\npath = 'a'\nofset = ''",
                "m.toml:3:1: expected `path`, `offset` or `clocks`, found the key `ofset`; did you mean `offset`?",
            ),
            ("[[trace]]\npath = 7", "m.toml:2:8: expected a path as text, found integer `7`"),
            ("[[trace]]\npath = 'c'", "m.toml:2:8: there is no file or directory `c`"),
            ("[[trace]]\npath = 'c*'", "m.toml:2:8: no file or directory matches `c*`"),
            ("[[trace]]\npath = '[*'", "m.toml:2:8: invalid pattern `[*`: "),
            (
                "[[trace]]\npath = 'a'\noffset = -5",
                "m.toml:3:10: expected a time as text, such as \"-1.5s\", \"+250ms\" or \"+7ns\", found integer `-5`",
            ),
            ("[[trace]]\npath = 'a'\noffset = 'soon'", "m.toml:3:10: `soon` is not a time"),
            ("[[trace]]\npath = 'a'\nclocks = 'x'", "m.toml:3:10: expected a table of offsets by clock name"),
            ("[[trace]]\npath = 'a'\n[trace.clocks]\nmono = 1", "m.toml:4:8: expected a time as text"),
            (
                "[[trace]]\npath = 'a'\n[[trace]]\npath = './a'",
                "m.toml:4:8: duplicate path `./a`, first in line 2; ",
            ),
            (
                "[[trace]]\npath = 'nodes/n2'\n[[trace]]\npath = 'nodes/n*'",
                "m.toml:4:8: duplicate path `nodes/n2`",
            ),
            (
                "[[trace]]\npath = 'nodes/n2'\n[[trace]]\npath = 'nodes'",
                "m.toml:2:8: `nodes/n2` is inside `nodes` in line 4",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(expected), "{text:?}\nfound:    {error}\nexpected: {expected}");
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("m.toml");
        fs::write(&path, b"# \xff").unwrap();
        assert!(Manifest::read(&path).unwrap_err().message.contains("byte 2: expected text in UTF-8"));
        assert!(Manifest::read(&directory.path().join("no")).unwrap_err().message.contains("cannot be read"));
        assert!(Manifest::read(directory.path()).is_err());
    }
}
