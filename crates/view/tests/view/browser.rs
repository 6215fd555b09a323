//! The page in a real browser: Node.js runs the tests in `page/test`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use ichnos::OpenOptions;
use ichnos_testing::is_complete_sweep;
use ichnos_view::ViewOptions;

use crate::client::{Server, example};
use crate::large::{EVENTS, ITEMS, write_large};

/// Recorded traces: a kernel, CTF 2, .NET, a processor, X-Trace.
const RECORDED: [&str; 5] = [
    "ctf/real/tracecompass/many-threads",
    "ctf/real/ctf2/session-rot",
    "nettrace/runtime/net10.0-small.nettrace",
    "fuchsia/magic-trace/trace.fxt",
    "xtrace/brown/text/small.txt",
];

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("page")
}

/// Returns `true` if Node.js and its packages are installed.
fn has_packages(test: &str) -> bool {
    let has_node = Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success());
    let has_packages = page().join("node_modules/playwright-core").is_dir();
    if !(has_node && has_packages) {
        println!("skipped: {test}: node or the packages of the page are not installed");
    }
    has_node && has_packages
}

/// Runs a program in the page's directory, and prints its output.
fn run(program: &str, arguments: &[&str], url: Option<&str>) {
    let variables: Vec<_> = url.map(|url| ("PAGE_URL", url)).into_iter().collect();
    run_in(program, arguments, &variables);
}

/// Runs a program with environment variables.
fn run_in(program: &str, arguments: &[&str], variables: &[(&str, &str)]) {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(page()).env_remove("PAGE_URL").envs(variables.iter().copied());
    let output = command.output().unwrap();
    println!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_page_is_built_from_its_sources() {
    if has_packages("the_page_is_built_from_its_sources") {
        run("./build.sh", &["--check"], None);
        run("node_modules/.bin/tsc", &["--noEmit"], None);
    }
}

/// Defines one test per group of page tests, and the list of the groups. They use a mock server without a trace, which
/// can have any state.
macro_rules! groups {
    ($($test:ident: $group:literal,)*) => {
        const GROUPS: &[&str] = &[$($group),*];
        $(
            #[test]
            fn $test() {
                if has_packages(stringify!($test)) {
                    run("node", &["test/all.mjs", concat!($group, ":")], None);
                }
            }
        )*
    };
}

groups! {
    the_timeline_in_a_browser: "timeline",
    the_drawing_in_a_browser: "drawing",
    the_threads_in_a_browser: "threads",
    the_keyboard_in_a_browser: "keyboard",
    the_panels_in_a_browser: "panels",
    the_leads_in_a_browser: "leads",
    the_safety_in_a_browser: "safety",
    the_states_in_a_browser: "states",
}

/// Groups that need a file or a large trace. Other tests run them.
const OTHER_GROUPS: [&str; 2] = ["saved", "large"];

#[test]
fn all_groups_run() {
    let all = std::fs::read_to_string(page().join("test/all.mjs")).unwrap();
    let listed = all.split("const groups = { ").nth(1).unwrap().split(" };").next().unwrap();
    assert_eq!(listed.split(", ").collect::<Vec<_>>(), [GROUPS, &OTHER_GROUPS].concat());
}

/// Runs tests with an example's server, in one browser: tests whose names contain one of `parts`. In a complete sweep,
/// runs these groups. The other tests do not depend on the server.
fn run_with(name: &str, groups: &[&str], parts: &[&str]) {
    let server = Server::of(&example(name));
    let address = format!("http://127.0.0.1:{}/{}/", server.port, server.token);
    let parts = if is_complete_sweep() { groups } else { parts };
    run("node", &[&["test/all.mjs"][..], parts].concat(), Some(&address));
}

/// A small recorded kernel trace with running threads.
#[test]
fn the_page_shows_running_threads() {
    let Some(path) = crate::client::recorded("ctf/real/tracecompass/bug446190") else { return };
    if has_packages("the_page_shows_running_threads") {
        let server = Server::of(&path);
        let address = format!("http://127.0.0.1:{}/{}/", server.port, server.token);
        run("node", &["test/all.mjs", "threads:"], Some(&address));
    }
}

/// Recorded traces from each family. They take minutes, so the test runs only on request.
#[test]
fn the_page_shows_recorded_traces() {
    if std::env::var_os("ICHNOS_ALL_PAGES").is_none() || !has_packages("the_page_shows_recorded_traces") {
        return;
    }
    let recorded = RECORDED.into_iter().filter_map(crate::client::recorded);
    for path in recorded.chain([example("hello-fuchsia"), example("hello-jsonl")]) {
        let server = Server::of(&path);
        let address = format!("http://127.0.0.1:{}/{}/", server.port, server.token);
        run("node", &["test/all.mjs", "timeline:", "keyboard:"], Some(&address));
    }
}

/// Ten million generated events. They take minutes, so the test runs only on request.
#[test]
fn the_page_shows_ten_million_events() {
    if std::env::var_os("ICHNOS_ALL_PAGES").is_none() || !has_packages("the_page_shows_ten_million_events") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("large.fxt");
    let begun = Instant::now();
    write_large(&path);
    let written = begun.elapsed();
    let server = Server::of(path.to_str().unwrap());
    println!("written in {written:.1?}, all read after {:.1?}", begun.elapsed() - written);
    assert_eq!(server.json("api/trace")["events"], EVENTS);
    let address = format!("http://127.0.0.1:{}/{}/", server.port, server.token);
    let [events, items] = [EVENTS, ITEMS].map(|number| number.to_string());
    let variables =
        [("PAGE_URL", address.as_str()), ("LARGE", "1"), ("LARGE_EVENTS", &events), ("LARGE_ITEMS", &items)];
    for group in ["large:", "timeline:", "keyboard:"] {
        run_in("node", &["test/all.mjs", group], &variables);
    }
}

/// A saved page has the arrows, and does not contain directory names.
#[test]
fn the_saved_page_does_not_contain_directories() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let path = std::fs::canonicalize(example("hello-xtrace")).unwrap();
    let session = ichnos::open([&path], &OpenOptions::default()).unwrap();
    let mut options = ViewOptions::new("proxy", &STOP);
    options.arguments = ichnos_view::ViewArguments::new(path.to_str().unwrap());
    let page = ichnos_view::page_file(Arc::new(session), options).unwrap();
    let html = String::from_utf8(page.html).unwrap();
    let directory = path.parent().unwrap().to_str().unwrap();
    assert!(!html.contains(directory), "{directory}");
    let saved = html.split("id=\"saved\">").nth(1).unwrap().split("</script>").next().unwrap();
    let saved: serde_json::Value = serde_json::from_str(saved).unwrap();
    assert!(!saved["flows"]["flows"].as_array().unwrap().is_empty());
    assert!(saved["trace"]["command"].as_str().unwrap().contains("hello-xtrace"));
}

#[test]
fn the_saved_page() {
    if has_packages("the_saved_page") {
        static STOP: AtomicBool = AtomicBool::new(false);
        let session = ichnos::open([example("hello-fxt")], &OpenOptions::default()).unwrap();
        let page = ichnos_view::page_file(Arc::new(session), ViewOptions::new("frames", &STOP)).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("page.html");
        std::fs::write(&path, page.html).unwrap();
        run_in("node", &["test/all.mjs", "saved:"], &[("SAVED_PAGE", path.to_str().unwrap())]);
    }
}

#[test]
fn the_page_shows_a_trace() {
    if has_packages("the_page_shows_a_trace") {
        let parts = [
            "timeline: address restores",
            "timeline: requests end",
            "timeline: select",
            "timeline: zoom to single",
            "keyboard: events",
        ];
        run_with("hello-fxt", &["timeline:", "keyboard:"], &parts);
    }
}

#[test]
fn the_panels_show_a_trace() {
    if has_packages("the_panels_show_a_trace") {
        let parts = [
            "panels: events",
            "panels: exports",
            "panels: filter completes",
            "panels: filter errors",
            "panels: filter events",
            "panels: flows",
            "panels: links",
            "panels: log",
            "panels: panels follow",
            "panels: search for names",
            "panels: statistics",
        ];
        run_with("hello-fxt", &["panels:"], &parts);
    }
}

#[test]
fn the_panels_show_tasks() {
    if has_packages("the_panels_show_tasks") {
        let parts = ["panels: tasks", "panels: links", "panels: flows", "panels: details"];
        run_with("hello-xtrace", &["panels:"], &parts);
    }
}

#[test]
fn the_panels_show_call_stacks() {
    if has_packages("the_panels_show_call_stacks") {
        run_with("hello-dotnet", &["panels:"], &["panels: flame", "panels: statistics"]);
    }
}
