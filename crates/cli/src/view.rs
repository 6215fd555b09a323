//! `ichnos view`: shows traces in a browser.

use std::sync::Arc;

use ichnos::Session;
use ichnos_view::{ViewOptions, ViewServer};

use crate::args::{Arithmetic, Global, ViewVerb};
use crate::browser;
use crate::exit::{Exit, Failure};
use crate::filtering;
use crate::input;
use crate::interrupt;
use crate::output;
use crate::report::Report;
use crate::scan;
use crate::selection::Selection;
use crate::view_in;

pub(crate) fn run(args: &ViewVerb, global: &Global, report: Report) -> Result<Exit, Failure> {
    if let Some(viewer) = args.viewer {
        return view_in::run(args, viewer, global, report);
    }
    let mut selection = Selection::new(&args.selecting, None)?;
    if selection.stream_intersection {
        return Err(Failure::new("--stream-intersection: `view` cannot show this").help(
            "choose a range by --begin and --end; `ichnos info` shows when each data stream begins and ends",
        ));
    }
    let session =
        input::open(&args.reading, Arithmetic::Exact, scan::progress(global.progress, report), report)?;
    input::report_problems(&session, report);
    let window = selection.prepare(&session, report)?;
    // Before the server is there: a trace that cannot be read needs no page.
    selection.reader(&session, window)?;
    interrupt::watch();
    let session = Arc::new(session);
    let mut options = ViewOptions::new(title(args), interrupt::flag());
    options.arguments = arguments(args);
    options.port = args.port;
    options.keep = args.keep;
    options.selection = selection.selected.clone();
    options.window = window;
    options.warnings = input::problems(&session);
    if !args.selecting.clock_gmt {
        options.zone = "local".to_owned();
    }
    let (times, gmt) = (Arc::clone(&session), args.selecting.clock_gmt);
    options.resolve_time = Arc::new(move |text| filtering::resolve_time(text, &times, gmt));
    let view = bind(session, options, args.port)?;
    let address = view.address();
    output::print_as_it_is(&format!("{address}\n"))?;
    if !args.no_open {
        browser::open(&address, report);
    }
    view.run()?;
    Ok(Exit::Success)
}

fn bind(session: Arc<Session>, options: ViewOptions, port: u16) -> Result<ViewServer, Failure> {
    ViewServer::bind(session, options).map_err(|error| {
        let failure = Failure::new(format!("cannot listen on port {port} of 127.0.0.1: {error}"));
        if port == 0 { failure } else { failure.help("leave out --port for a free one") }
    })
}

/// Returns the names of the traces.
fn title(args: &ViewVerb) -> String {
    let name = |path: &std::path::PathBuf| {
        path.file_name()
            .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
    };
    args.reading.paths.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// Returns the paths as arguments of a shell.
fn arguments(args: &ViewVerb) -> String {
    let quoted = |path: &std::path::PathBuf| {
        let path = path.display().to_string();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./,:@%+=".contains(c);
        if !path.is_empty() && path.chars().all(is_plain) {
            path
        } else {
            format!("'{}'", path.replace('\'', r"'\''"))
        }
    };
    args.reading.paths.iter().map(quoted).collect::<Vec<_>>().join(" ")
}
