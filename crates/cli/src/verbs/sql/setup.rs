//! SQL statements that open traces.

use std::path::{Path, PathBuf};

use ichnos::query::SQL_VIEWS;

use crate::args::SqlArgs;
use crate::exit::Failure;

/// Views of the traces, and their functions. The first three functions take a selection of events.
const VIEWS: [(&str, &str); 10] = [
    ("trace", "read_trace"),
    ("events", "trace_events"),
    ("spans", "trace_spans"),
    ("stacks", "trace_stacks"),
    ("frames", "trace_frames"),
    ("tasks", "trace_tasks"),
    ("edges", "trace_edges"),
    ("classes", "trace_classes"),
    ("info", "trace_info"),
    ("losses", "trace_losses"),
];
const SELECTING: usize = 3;

/// Start of a macro in the views.
const MACRO: &str = "CREATE OR REPLACE TEMP MACRO ";

/// Arguments of the functions, in SQL.
#[derive(Clone, Debug)]
pub(super) struct Selected {
    paths: String,
    reading: String,
    selecting: String,
}

impl Selected {
    pub(super) fn new(args: &SqlArgs, paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut reading = String::new();
        let mut selecting = String::new();
        let maps: Vec<&str> = args.map.iter().map(|path| text_of(path)).collect::<Result<_, _>>()?;
        add_list(&mut reading, "map", maps.into_iter());
        add_list(&mut reading, "clock_offset", args.offset.iter().map(String::as_str));
        if args.assume_correlated {
            reading.push_str(", assume_correlated := true");
        }
        add_list(&mut selecting, "event", args.event.iter().map(String::as_str));
        for (name, text) in [("filter", &args.filter), ("begin", &args.begin), ("\"end\"", &args.end)] {
            if let Some(text) = text {
                selecting.push_str(&format!(", {name} := {}", quoted(text)));
            }
        }
        let paths: Vec<&str> = paths.iter().map(|path| text_of(path)).collect::<Result<_, _>>()?;
        Ok(Self { paths: list(paths.into_iter()), reading, selecting })
    }
}

/// Returns the statements that load the extension and create the views that the query names, or all views without a
/// query. Others would be opened in vain: DuckDB asks for the columns of a view when it is created.
pub(super) fn statements(
    extension: &Path,
    selected: &Selected,
    query: Option<&str>,
) -> Result<String, Failure> {
    let Selected { paths, reading, selecting } = selected;
    let mut text = format!("LOAD {};\n", quoted(text_of(extension)?));
    let is_named = |name: &str| query.is_none_or(|query| mentions(query, name));
    for (index, (view, function)) in VIEWS.into_iter().enumerate() {
        if is_named(view) {
            let selecting = if index < SELECTING { selecting } else { "" };
            text.push_str(&format!(
                "CREATE OR REPLACE TEMP VIEW {view} AS FROM {function}({paths}{selecting}{reading});\n"
            ));
        }
    }
    // A macro is not opened before it is called.
    let called: Vec<&str> = macros().filter(|name| is_named(name)).collect();
    if let Some(name) = called.first().filter(|_| query.is_some() && !selecting.is_empty()) {
        return Err(Failure::new(format!("`{name}` answers for whole traces, but options select events")).help(
            "leave out --event, --filter, --begin and --end, and select rows: FROM span_times WHERE name = 'x'",
        ));
    }
    if !called.is_empty() {
        text.push_str(&views(reading));
    }
    for name in called.iter().filter(|_| query.is_some()) {
        text.push_str(&format!("CREATE OR REPLACE TEMP VIEW {name} AS FROM {name}({paths});\n"));
    }
    Ok(text)
}

/// Returns the macros, whose functions read the traces with these arguments.
fn views(reading: &str) -> String {
    let line = |line: &str| match line.strip_prefix(MACRO) {
        Some(_) => format!("{line}\n"),
        None => format!("{}\n", line.replace("(path", &format!("(path{reading}"))),
    };
    SQL_VIEWS.lines().map(line).collect()
}

/// Returns the names of the macros that answer questions.
fn macros() -> impl Iterator<Item = &'static str> {
    SQL_VIEWS.lines().filter_map(|line| line.strip_prefix(MACRO)?.split('(').next())
}

/// Returns `true` if a query contains a name as a word.
fn mentions(query: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    query.split(|c| !is_word(c)).any(|word| word.eq_ignore_ascii_case(name))
}

fn text_of(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| Failure::new(format!("{}: SQL needs a path in UTF-8", path.display())))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn list<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let texts: Vec<String> = texts.map(quoted).collect();
    format!("[{}]", texts.join(", "))
}

fn add_list<'t>(text: &mut String, name: &str, mut texts: impl Iterator<Item = &'t str>) {
    if let Some(first) = texts.next() {
        text.push_str(&format!(", {name} := {}", list(std::iter::once(first).chain(texts))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_views_are_created() {
        let selected = Selected {
            paths: list(["it's"].into_iter()),
            reading: String::new(),
            selecting: ", filter := 'x'".to_owned(),
        };
        let made = |query| statements(Path::new("e"), &selected, query).unwrap();
        // The view would be wrong, and so would the other one with fewer events.
        let failure = statements(Path::new("e"), &selected, Some("FROM gaps, spans")).unwrap_err();
        assert!(failure.message.contains("`gaps` answers for whole traces"), "{failure}");
        assert_eq!(
            made(Some("SELECT spans FROM Trace, my_events")),
            "LOAD 'e';\nCREATE OR REPLACE TEMP VIEW trace AS FROM read_trace(['it''s'], filter := 'x');\n\
            CREATE OR REPLACE TEMP VIEW spans AS FROM trace_spans(['it''s'], filter := 'x');\n"
        );
        let shifted =
            Selected { reading: ", map := ['m']".to_owned(), selecting: String::new(), ..selected.clone() };
        let gaps = statements(Path::new("e"), &shifted, Some("FROM gaps")).unwrap();
        assert!(gaps.ends_with("CREATE OR REPLACE TEMP VIEW gaps AS FROM gaps(['it''s']);\n"), "{gaps}");
        assert!(gaps.contains("MACRO gaps(path) AS TABLE\n"), "{gaps}");
        assert!(gaps.contains("FROM trace_events(path, map := ['m'])\n"), "{gaps}");
        assert!(gaps.contains("trace_events(path, map := ['m'], event := "), "{gaps}");
        let all = made(None);
        assert!(VIEWS.iter().all(|(view, _)| all.contains(&format!("VIEW {view} AS"))), "{all}");
        assert!(!all.contains("VIEW gaps"), "{all}");
        assert!(macros().any(|name| name == "gaps"));
    }
}
