//! Tasks, of the examples: one of them is one request in traces of four formats.

use crate::support::{ichnos_in, root};
use crate::transcript::transcript;

const TRACE: &str = "examples/one-request/trace";
/// When the clock of the log was 0.
const OFFSET: &str = "--offset=*.log=2026-11-23T00:38:18.978261652Z";

/// Runs a verb on all traces of the request.
fn of_request(arguments: &[&str]) {
    let paths =
        ["prices.nettrace.zst", "printer.log", "shop.reports", "stock"].map(|name| format!("{TRACE}/{name}"));
    let paths = paths.iter().map(String::as_str);
    ichnos_in(
        root(),
        ["task"].into_iter().chain(arguments.iter().copied()).chain(["--gmt", OFFSET]).chain(paths),
    );
}

#[test]
fn one_request() {
    let _transcript = transcript!();
    of_request(&["list"]);
    of_request(&["list", "--json"]);
    of_request(&["show", "latest"]);
    of_request(&["show", "44f3"]);
    of_request(&["show", "latest", "--json"]);
    of_request(&["path", "latest"]);
    of_request(&["graph", "latest"]);
    of_request(&["graph", "latest", "--format=svg"]);
    of_request(&["diff", "latest", "latest"]);
    // The programs are tasks of their own, or are not there.
    of_request(&["list", "--no-search"]);
    of_request(&["show", "latest", "--no-search"]);
}

/// What a part of the traces shows: operations that only texts name.
#[test]
fn parts_of_one_request() {
    let _transcript = transcript!();
    for name in ["shop.reports", "stock", "prices.nettrace.zst", "printer.log"] {
        ichnos_in(root(), ["task", "show", "--gmt", "44f3", &format!("{TRACE}/{name}")]);
    }
    // What only texts name may be there by chance, but is listed where there is nothing else.
    for arguments in [&["list"][..], &["list", "--all", "--gmt"], &["show", "latest"]] {
        ichnos_in(root(), [&["task"], arguments, &[&format!("{TRACE}/stock")]].concat());
    }
    // Formats fill identifiers up with zeros in front.
    for (id, name) in [("44f3", "prices.nettrace.zst"), ("000000000000000044f31a6cbd1f5451", "shop.reports")]
    {
        ichnos_in(root(), ["task", "path", "--gmt", id, &format!("{TRACE}/{name}")]);
    }
    // Nothing says when the clock of the log was 0.
    ichnos_in(root(), ["task", "list", &format!("{TRACE}/stock"), &format!("{TRACE}/printer.log")]);
    ichnos_in(root(), ["task", "show", "none", &format!("{TRACE}/stock")]);
}

#[test]
fn reports() {
    let _transcript = transcript!();
    for verb in ["show", "path", "graph"] {
        ichnos_in(root(), ["task", verb, "--gmt", "latest", "examples/hello-xtrace"]);
    }
    ichnos_in(
        root(),
        ["task", "list", "--gmt", "examples/hello-xtrace", "examples/hello-dotnet/hello.nettrace.zst"],
    );
    ichnos_in(root(), ["task", "list", "examples/hello-lttng"]);
}
