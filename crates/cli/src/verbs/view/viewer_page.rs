//! `ichnos view --viewer`: shows traces on the page of another viewer.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use ichnos::Pass;
use ichnos::analysis::{StackCollector, StackFormat, StackOptions, StackRoots};
use ichnos::convert::{ConvertError, ConvertOptions, target};
use ichnos_view::{FileServer, PrivateDirectory, ViewerPage};

use super::browser;
use crate::args::ViewVerb;
use crate::exit::{Exit, Failure};
use crate::opened_run::OpenedRun;
use crate::output;
use crate::progress::{Console, Follower, interrupt};
use crate::select::{Selection, running_threads};

/// Returns the name of the served file.
fn file_name(page: ViewerPage) -> &'static str {
    match page {
        ViewerPage::Perfetto => "trace.pftrace",
        ViewerPage::Firefox => "profile.json",
        _ => "stacks.speedscope.json",
    }
}

pub(crate) fn run(args: &ViewVerb, page: ViewerPage, console: Console) -> Result<Exit, Failure> {
    let selection = Selection::new(&args.selecting, None)?;
    let session = running_threads::open_request(&args.reading, &args.selecting).open(console)?;
    if session.is_live() {
        return Err(Failure::new("--viewer: live input does not end")
            .help("record them into a file, or leave out --viewer"));
    }
    let mut opened = OpenedRun::new(&args.reading, &session, selection, console)?;
    let temporary = args.reading.temporary();
    let directory = PrivateDirectory::create_in(&temporary).map_err(|error| {
        let place = temporary.display();
        Failure::new(format!("{place}: cannot create a directory for the viewer's file: {error}"))
            .help("--temp-dir names another place")
    })?;
    let path = directory.path().join(file_name(page));
    let server = bind(args, page, &path)?;
    interrupt::watch();
    match page {
        ViewerPage::Perfetto => write("perfetto", &opened, &path)?,
        ViewerPage::Firefox => write("firefox", &opened, &path)?,
        _ => write_stacks(&mut opened, &path)?,
    }
    directory.restrict(file_name(page))?;
    let origin = page.origin();
    console.notice(&format!(
        "the page comes from {origin}; the trace stays on this machine: the page reads it from {}",
        server.address()
    ));
    let link = server.link();
    output::print_as_it_is(&format!("{link}\n"))?;
    let _file = (!args.no_open).then(|| browser::open(&link, &temporary, console));
    server.run(interrupt::flag())?;
    Ok(Exit::Success)
}

/// Binds the server. Must be called before writing, so that errors are reported at once.
fn bind(args: &ViewVerb, page: ViewerPage, path: &Path) -> Result<FileServer, Failure> {
    let origin = page.origin();
    let port = match (args.port, page.port()) {
        (0, own) => own.unwrap_or(0),
        (port, Some(own)) if port != own => {
            return Err(Failure::new(format!("--port {port}: {origin} reads files from port {own} only"))
                .help("leave out --port"));
        }
        (port, _) => port,
    };
    FileServer::bind(page, path, file_name(page), port).map_err(|error| {
        let failure = Failure::new(format!("cannot listen on port {port} of 127.0.0.1: {error}"));
        match page.port() {
            Some(_) => failure.help(format!(
                "end the program that uses it: {origin} reads files only from this \
                port"
            )),
            None => failure,
        }
    })
}

/// Writes the file for a viewer.
fn write(format: &str, opened: &OpenedRun<'_>, path: &Path) -> Result<(), Failure> {
    let Some(target) = target(Some(format), path, None) else {
        return Err(Failure::new("no format can be written"));
    };
    let reader = opened.reader()?;
    let follower = Follower::new(opened.progress(false), opened.console, false);
    let mut options = ConvertOptions::default();
    options.pass = Pass::new(opened.selection.selected.clone()).stop(interrupt::flag());
    options.threads = std::thread::available_parallelism().map_or(1, usize::from);
    options.observer = &follower;
    let written = reader.convert(target.writer, Some(PathBuf::from(path)), &options);
    drop(options);
    follower.into_progress().finish();
    match written {
        Ok(_) => Ok(()),
        Err(ConvertError::Stopped) => Err(interrupt::end()),
        Err(error) => Err(Failure::new(error.to_string())),
    }
}

/// Writes event call stacks for a viewer.
fn write_stacks(opened: &mut OpenedRun<'_>, path: &Path) -> Result<(), Failure> {
    let mut options = StackOptions::default();
    options.with_times = true;
    // Readable stacks should be shown even if the trace is damaged.
    opened.is_strict = false;
    let profile = opened.collect(StackCollector::new(options))?.finish();
    if profile.weight() == 0 {
        return Err(Failure::new("no selected event has a call stack")
            .help("--viewer perfetto and --viewer firefox show other events"));
    }
    let write = || -> io::Result<()> {
        let mut file = BufWriter::new(File::create_new(path)?);
        profile.write(StackFormat::Speedscope, StackRoots::None, &mut file)?;
        file.flush()
    };
    Ok(write()?)
}
