//! Transcript of a test: everything that the command prints, compared with a file.
//!
//! `SNAPSHOTS=overwrite cargo nextest run -p ichnos-cli` writes these files again.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use snapbox::assert::DEFAULT_ACTION_ENV;
use snapbox::data::DataFormat;
use snapbox::{Assert, Data};

use crate::support::{Run, root};

thread_local! {
    static CURRENT: RefCell<Option<Transcript>> = const { RefCell::new(None) };
}

/// From here to the end of the scope, records each run of the command: the command line, both outputs and the exit
/// code. At the end, compares the record with `snapshots/MODULE/TEST.txt`.
macro_rules! transcript {
    () => {{
        fn here() {}
        $crate::transcript::Guard::new(std::any::type_name_of_val(&here))
    }};
}
pub(crate) use transcript;

struct Transcript {
    path: PathBuf,
    text: String,
}

#[must_use = "it ends where it is dropped"]
pub struct Guard(());

impl Guard {
    /// Starts a transcript. `here` is the path of a function in the test.
    pub fn new(here: &str) -> Self {
        let (_, test) = here.split_once("::").unwrap();
        let test = test.strip_suffix("::here").unwrap().replace("::", "/").replace("{{closure}}/", "");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/snapshots").join(test + ".txt");
        let before = CURRENT.replace(Some(Transcript { path, text: String::new() }));
        assert!(before.is_none(), "one test has one transcript");
        Self(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let transcript = CURRENT.take();
        if std::thread::panicking() {
            return;
        }
        let Some(transcript) = transcript else { return };
        let assert = Assert::new().action_env(DEFAULT_ACTION_ENV);
        if std::env::var_os(DEFAULT_ACTION_ENV).is_some_and(|action| action == "overwrite") {
            std::fs::create_dir_all(transcript.path.parent().unwrap()).unwrap();
        }
        // The text must not be used as a pattern.
        let expected = Data::read_from(&transcript.path, Some(DataFormat::Text)).raw();
        assert.eq(Data::text(transcript.text), expected);
    }
}

/// Records a run, if a transcript is active.
pub fn record(arguments: &[OsString], run: &Run) {
    CURRENT.with_borrow_mut(|transcript| {
        let Some(Transcript { text, .. }) = transcript else { return };
        let line: Vec<String> =
            arguments.iter().map(|argument| quoted(&argument.to_string_lossy())).collect();
        writeln!(text, "{}", shown(format!("$ ichnos {}", line.join(" ")).trim_end())).unwrap();
        let mut section = |content: &str| {
            text.push_str(&shown(content));
            if !content.is_empty() && !content.ends_with('\n') {
                text.push_str("[no end of line]\n");
            }
        };
        section(&run.out);
        if !run.err.is_empty() {
            section("--- stderr\n");
            section(&run.err);
        }
        writeln!(text, "--- exit code {}\n", run.code).unwrap();
    });
}

/// Quotes an argument for a shell.
fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=,:+@%*".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', "'\\''"))
}

/// Replaces everything that depends on the machine or the time with readable placeholders.
pub fn shown(text: &str) -> String {
    let mut text = text.replace(root().to_str().unwrap(), "[PROJECT]");
    for (before, after) in [("ichnos ", ""), ("\"version\": \"", "\"")] {
        let version = format!("{before}{}{after}", env!("CARGO_PKG_VERSION"));
        text = text.replace(&version, &format!("{before}[VERSION]{after}"));
    }
    let text = without_random_names(&text);
    let lines = text.split_inclusive('\n').map(|line| match line.rsplit_once(" in ") {
        // Elapsed time.
        Some((before, time)) if is_duration(time) => format!("{before} in [TIME]\n"),
        _ => line.to_owned(),
    });
    let mut shown = String::new();
    for c in lines.flat_map(|line| line.chars().collect::<Vec<_>>()) {
        match c {
            '\n' | '\t' => shown.push(c),
            c if c.is_control() => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
}

fn is_duration(text: &str) -> bool {
    text.trim_end().strip_suffix(" s").is_some_and(|number| number.parse::<f64>().is_ok())
}

/// Replaces test directories with `/tmp/NAME`, wherever they are and whatever random suffix they have.
fn without_random_names(text: &str) -> String {
    const PREFIX: &str = "ichnos-cli-";
    let text = text.replace(std::env::temp_dir().join(PREFIX).to_str().unwrap(), &format!("/tmp/{PREFIX}"));
    let mut parts = text.split(PREFIX);
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // `NAME-RANDOM`, then the rest of the path or line.
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        let name = name.rsplit_once('-').map_or(name, |(name, _)| name);
        result.extend([name, rest]);
    }
    result
}

/// Every snapshot belongs to a test.
#[test]
fn each_file_has_its_test() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
    for module in std::fs::read_dir(tests.join("snapshots")).unwrap() {
        let module = module.unwrap().path();
        let source =
            std::fs::read_to_string(tests.join(module.file_name().unwrap()).with_extension("rs")).unwrap();
        for file in std::fs::read_dir(&module).unwrap() {
            let file = file.unwrap().path();
            let test =
                format!("fn {}() {{\n    let _transcript", file.file_stem().unwrap().to_str().unwrap());
            assert!(source.contains(&test), "{} is of no test", file.display());
        }
    }
}
