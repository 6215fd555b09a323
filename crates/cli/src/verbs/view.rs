//! `ichnos view`: shows traces in a browser.

mod browser;
mod view_traces;
mod viewer_page;

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ichnos::Session;
use ichnos::export::text::count;
use ichnos::io::ScanProgress;
use ichnos::model::Window;
use ichnos_view::{PrivateDirectory, ResolveTime, TimelineCache, ViewOptions, ViewServer, ViewSource};

use self::view_traces::ViewTraces;
use crate::args::listen::ListenAddress;
use crate::args::{Reading, Selecting, ViewVerb};
use crate::exit::{Exit, Failure};
use crate::input::{self, InputState};
use crate::output::{self, OutputPath};
use crate::progress::{Console, interrupt};
use crate::select::{Selection, filters, running_threads};

pub(crate) fn run(args: &ViewVerb, console: Console) -> Result<Exit, Failure> {
    PrivateDirectory::remove_abandoned(&args.reading.temporary());
    if let Some(viewer) = args.viewer {
        return viewer_page::run(args, viewer, console);
    }
    let paths = input::paths(&args.reading)?;
    // Read before the traces are opened, so that data added meanwhile count as a change.
    let mut state = args.follow.then(|| InputState::new(&paths));
    let session = running_threads::open_request(&args.reading, &args.selecting).open(console)?;
    input::report_problems(&session, console);
    let session = Arc::new(session);
    let source = select(&args.selecting, &session, console)?;
    interrupt::watch();
    let options = view_options(args, &paths, &session, source, console);
    if let Some(path) = &args.export {
        return export(args, path, session, options, console);
    }
    let view = bind(session, options, args.port)?;
    let address = view.address();
    output::print_as_it_is(&format!("{address}\n"))?;
    let _file = (!args.no_open).then(|| browser::open(&address, &args.reading.temporary(), console));
    view.run_following(|| {
        let known = state.as_mut()?;
        let now = InputState::new(&paths);
        if std::mem::replace(known, now) == now {
            return None;
        }
        // Metadata can be incomplete while they are written. The next attempt will find them complete.
        open_again(&args.reading, &args.selecting, console).ok()
    })?;
    for address in &args.reading.listen {
        if let ListenAddress::Socket(socket) = address {
            // Removed here, because the thread that waits for datagrams never ends.
            let _ = std::fs::remove_file(socket);
        }
    }
    Ok(Exit::Success)
}

/// Returns the server options.
fn view_options(
    args: &ViewVerb,
    paths: &[PathBuf],
    session: &Arc<Session>,
    source: ViewSource,
    console: Console,
) -> ViewOptions {
    let (traces, session) = (ViewTraces::new(args), Arc::clone(session));
    let mut options = ViewOptions::new(title(args), interrupt::flag());
    options.arguments = traces.arguments();
    options.port = args.port;
    options.keep = args.keep_running;
    options.follow = args.follow;
    let cache = args.cache.as_ref();
    options.cache =
        cache.map(|directory| TimelineCache::new(directory, cache_key(args, paths, source.window)));
    options.selection = source.selection;
    options.window = source.window;
    options.stream_intersection = args.selecting.stream_intersection;
    options.temporary = args.reading.temporary();
    options.warnings = source.warnings;
    if !args.selecting.clock_gmt {
        options.zone = "local".to_owned();
    }
    options.resolve_time = resolve_time(&session, args.selecting.clock_gmt);
    (options.error_help, options.warning_help) = (filters::error_help, filters::warning_help);
    options.open_with_offsets = Some(Arc::new(move |offsets| {
        let moved = traces.with_offsets(&session, offsets)?;
        let opened = open_again(&moved.reading, &moved.selecting, console);
        let mut source = opened.map_err(|failure| failure.message)?;
        source.arguments = Some(moved.arguments());
        Ok(source)
    }));
    options
}

/// Returns the key of a cached timeline. It depends on the traces, the state of their files, and the options.
fn cache_key(args: &ViewVerb, paths: &[PathBuf], window: Window) -> u64 {
    let ViewVerb { reading, selecting, .. } = args;
    let mut key = DefaultHasher::new();
    let absolute = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    let absolute: Vec<PathBuf> = paths.iter().map(absolute).collect();
    InputState::new(absolute.iter().chain(&reading.map).chain(&reading.manifest)).hash(&mut key);
    absolute.hash(&mut key);
    // The options can contain local times.
    format!("{reading:?} {selecting:?} {window:?} {:?}", std::env::var_os("TZ")).hash(&mut key);
    key.finish()
}

/// Writes the page for `--export`.
fn export(
    args: &ViewVerb,
    path: &Path,
    session: Arc<Session>,
    options: ViewOptions,
    console: Console,
) -> Result<Exit, Failure> {
    let output = OutputPath::for_page(path, args.force);
    output.check_new()?;
    output.check_apart(&session)?;
    let mut output = output.create()?;
    let is_damaged = !session.problems().is_empty();
    let page = match ichnos_view::page_file(session, options) {
        Ok(page) => page,
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(interrupt::exit()),
        Err(error) => return Err(Failure::new(error.to_string())),
    };
    output.write_all(&page.html)?;
    output.finish()?;
    if page.not_shown > 0 {
        let events = count(page.not_shown, "event");
        console.warning(&format!("{events} not shown: more than 292 years from the clock origin"));
    }
    let is_incomplete = is_damaged || page.is_damaged || page.not_shown > 0;
    Ok(if is_incomplete { Exit::Damaged } else { Exit::Success })
}

/// Opens the traces again.
fn open_again(reading: &Reading, selecting: &Selecting, console: Console) -> Result<ViewSource, Failure> {
    let opened =
        running_threads::open_request(reading, selecting).try_open(ScanProgress::default(), console)?;
    let session = opened.map_err(|error| input::failure(&error))?;
    select(selecting, &Arc::new(session), console)
}

/// Returns the function that converts times in expressions.
fn resolve_time(session: &Arc<Session>, gmt: bool) -> ResolveTime {
    let times = Arc::clone(session);
    Arc::new(move |text| filters::resolve_time(text, &times, gmt))
}

/// Applies the selection to the opened traces.
fn select(selecting: &Selecting, session: &Arc<Session>, console: Console) -> Result<ViewSource, Failure> {
    let mut selection = Selection::new(selecting, None)?;
    let mut source = ViewSource::new(Arc::clone(session));
    source.window = selection.prepare(session, console)?;
    // Checked before the server starts, so that errors are printed in the terminal.
    selection.reader(session, source.window)?;
    source.selection = selection.selected;
    source.warnings = input::problems(session);
    source.resolve_time = Some(resolve_time(session, selecting.clock_gmt));
    Ok(source)
}

fn bind(session: Arc<Session>, options: ViewOptions, port: u16) -> Result<ViewServer, Failure> {
    ViewServer::bind(session, options).map_err(|error| {
        let failure = Failure::new(format!("cannot listen on port {port} of 127.0.0.1: {error}"));
        if port == 0 { failure } else { failure.help("leave out --port to use a free port") }
    })
}

/// Returns the page title: the trace names.
fn title(args: &ViewVerb) -> String {
    let listened = args.reading.listen.iter().map(ToString::to_string);
    let name = |path: &std::path::PathBuf| {
        path.file_name()
            .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
    };
    listened.chain(args.reading.paths.iter().map(name)).collect::<Vec<_>>().join(", ")
}
