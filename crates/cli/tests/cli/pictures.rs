//! Pictures in the documents, made by the command.
//!
//! `SNAPSHOTS=overwrite cargo nextest run -p ichnos-cli pictures` writes them again.

use std::fs;
use std::path::Path;

use anstyle_svg::Term;
use snapbox::assert::DEFAULT_ACTION_ENV;
use snapbox::data::DataFormat;
use snapbox::{Assert, Data};

use crate::support::{Directory, command, root};

/// Clock offset for the log, which counts from the start of its machine.
const OFFSET: &str = "--offset=*.log=2026-11-23T00:38:18.978261652Z";
/// Maximum width of a picture in a document.
const MOST_WIDTH: f64 = 700.0;
/// Terminal width.
const COLUMNS: usize = 80;

/// Compares a picture with the file in `docs/images`.
#[track_caller]
fn compare(name: &str, picture: String) {
    let svg = picture.split_once("<svg ").unwrap().1;
    let width = svg.split_once("width=\"").unwrap().1;
    let (width, _) = width.split_once('"').unwrap();
    let width: f64 = width.trim_end_matches("px").parse().unwrap();
    assert!(width <= MOST_WIDTH, "{name}: {width} pixels");
    let path = root().join("docs/images").join(name);
    let expected = Data::read_from(&path, Some(DataFormat::Text)).raw();
    Assert::new().action_env(DEFAULT_ACTION_ENV).eq(Data::text(picture), expected);
}

/// Runs the command in a directory.
fn run(directory: &Path, line: &str) -> String {
    let output = command()
        .args(line.split_whitespace())
        .env("COLUMNS", COLUMNS.to_string())
        .env("LC_ALL", "C.UTF-8")
        .current_dir(directory)
        .output()
        .unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// Returns a picture of a terminal with a command and its output.
fn terminal(directory: &Path, line: &str) -> String {
    let output = run(directory, &format!("{line} --color always"));
    // The picture includes a background, so that it does not depend on the page's.
    Term::new().min_width_px(0).render_svg(&wrapped(&format!("$ \u{1b}[1michnos {line}\u{1b}[0m\n{output}")))
}

/// Breaks lines at spaces to fit the terminal.
fn wrapped(text: &str) -> String {
    let (mut wrapped, mut column, mut blank, mut is_escape) = (String::new(), 0, None, false);
    for c in text.chars() {
        match c {
            '\n' => (column, blank) = (0, None),
            '\u{1b}' => is_escape = true,
            'm' if is_escape => is_escape = false,
            _ if is_escape => {}
            _ => column += 1,
        }
        if c == ' ' {
            blank = Some((wrapped.len(), column));
        }
        wrapped.push(c);
        if column > COLUMNS
            && let Some((at, before)) = blank.take()
        {
            wrapped.replace_range(at..=at, "\n");
            column -= before;
        }
    }
    wrapped
}

/// The picture of a request contains all its tracers, operations and joined events.
#[test]
fn one_request() {
    let traces = ["prices.nettrace.zst", "printer.log", "shop.reports", "stock"];
    let traces = traces.map(|name| format!("examples/one-request/trace/{name}")).join(" ");
    let picture = run(root(), &format!("task graph latest --gmt --format svg --width 700 {OFFSET} {traces}"));
    let tracers = ["X-Trace", "lttng-ust", "NetTrace", "Fuchsia"];
    let listed = run(root(), &format!("task show latest --gmt --json {OFFSET} {traces}"));
    let document: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let operations = document["graph"]["nodes"].as_array().unwrap();
    let operations = operations.iter().map(|node| node["label"].as_str().unwrap().to_owned());
    let shown = run(root(), &format!("task show latest --gmt {OFFSET} {traces}"));
    let joined =
        shown.lines().filter_map(|line| Some(line.split_once(" · ")?.1.split_once("  ")?.0.to_owned()));
    let names: Vec<String> = tracers.map(str::to_owned).into_iter().chain(operations).chain(joined).collect();
    assert_eq!(names.len(), 4 + 10 + 7);
    for name in names {
        assert!(picture.contains(&format!(">{name}")), "{name}: {picture}");
    }
    compare("one-request.svg", picture);
}

#[test]
fn flame_graph() {
    let trace = "examples/hello-dotnet/hello.nettrace.zst";
    let picture = run(root(), &format!("stacks --samples Type=Managed --format svg --width 700 {trace}"));
    compare("flame-graph.svg", picture);
}

#[test]
fn stats_in_the_terminal() {
    compare("stats.svg", terminal(root(), "stats --timeline --by thread examples/hello-lttng"));
}

/// Draws what `docs/record-live.sh` recorded: the inputs run only there.
#[test]
fn live_in_the_terminal() {
    let recorded = fs::read_to_string(root().join("docs/images/live.txt")).unwrap();
    for source in ["hello:tick", "System.Runtime/EventCounters", "order 1 is paid"] {
        assert!(recorded.contains(source), "{source}: {recorded}");
    }
    compare("live.svg", Term::new().min_width_px(0).render_svg(&wrapped(&recorded)));
}

/// Copies a trace and truncates it.
#[test]
fn check_in_the_terminal() {
    let directory = Directory::new("picture");
    let copy = directory.join("copy");
    let source = root().join("examples/hello-ctf2/trace");
    fs::create_dir(&copy).unwrap();
    for name in ["metadata", "thermometer"] {
        fs::copy(source.join(name), copy.join(name)).unwrap();
    }
    fs::OpenOptions::new().write(true).open(copy.join("thermometer")).unwrap().set_len(300).unwrap();
    compare("check.svg", terminal(&directory, "check copy"));
}
