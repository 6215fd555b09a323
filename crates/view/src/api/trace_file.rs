//! Trace downloads: events of a range as a trace.

use std::fs::File;
use std::io::{self, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Mutex;

use ichnos::Pass;
use ichnos::convert::{ConvertError, ConvertOptions, Target, common_target};
use ichnos::io::{CreateError, MessageOrder};
use ichnos::model::locks::IgnorePoison as _;
use ichnos::model::{Event, Window};

use super::scan::window;
use crate::app_state::AppState;
use crate::options::ViewOptions;
use crate::private_directory::PrivateDirectory;
use crate::query::Query;
use crate::response::{ApiError, ChunkedBody, write_head};

/// Compressed file extensions.
const COMPRESSED: [&str; 4] = [".gz", ".zst", ".xz", ".bz2"];

/// Maximum file name length in bytes.
const MOST_NAME: usize = 60;

fn failed(error: impl ToString) -> ApiError {
    ApiError::failed(error.to_string())
}

/// Sends the events of a range as a trace, like `ichnos cut`: one file, or an archive for a directory.
pub(super) fn export(shared: &AppState, query: &Query, stream: &mut TcpStream) -> Result<(), ApiError> {
    let (begin, end) = query.range()?;
    if shared.session.is_live() {
        return Err(ApiError::bad("live traces do not end: record them into a file"));
    }
    let busy =
        || ApiError { status: 503, ..ApiError::bad("another trace is being written: try again later") };
    let _exporting = shared.exports.begin().ok_or_else(busy)?;
    let target = target(shared)?;
    let directory = PrivateDirectory::create_in(&shared.options.temporary).map_err(failed)?;
    let name = file_name(&shared.options.title);
    let name =
        if target.writer.is_directory() { name } else { with_extension(name, target.writer.extensions()) };
    let path = directory.path().join(&name);
    let window = shared.options.within(window(begin, end));
    write(shared, query, target, window, &path)?;
    directory.restrict(&name).map_err(failed)?;
    // This fails if the client has disconnected or gets an incomplete file.
    let _ = match path.is_dir() {
        true => send_archive(&path, &name, stream),
        false => send_file(&path, &name, stream),
    };
    Ok(())
}

/// Returns the common format of the traces, or the format for directories if they differ.
fn target(shared: &AppState) -> Result<Target, ApiError> {
    let common = common_target(shared.session.traces().iter().map(AsRef::as_ref));
    let other = || ichnos::convert::target(None, Path::new(""), None);
    common.or_else(other).ok_or_else(|| ApiError::failed("no format can be written"))
}

/// Converts a title to a file name.
fn file_name(title: &str) -> String {
    // Headers are ASCII.
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = title.chars().map(plain).collect();
    let name = name.get(..name.len().min(MOST_NAME)).unwrap_or_default();
    let name = name.trim_start_matches(['.', '-']);
    if name.is_empty() { "trace".to_owned() } else { name.to_owned() }
}

/// Appends the extension of a format unless the name has one. `trace.fxt.gz` becomes `trace.fxt`, because the file is
/// not compressed.
fn with_extension(name: String, extensions: &[&str]) -> String {
    let has_extension = |name: &str| {
        let ends = |extension: &&str| name.strip_suffix(*extension).is_some_and(|rest| rest.ends_with('.'));
        extensions.iter().any(ends)
    };
    if has_extension(&name) {
        return name;
    }
    let plain =
        COMPRESSED.iter().find_map(|ending| name.strip_suffix(ending)).filter(|name| has_extension(name));
    match (plain, extensions.first()) {
        (Some(plain), _) => plain.to_owned(),
        (None, Some(extension)) => format!("{name}.{extension}"),
        (None, None) => name,
    }
}

/// Writes the events of a window, and the events that name processes, modules and functions.
fn write(
    shared: &AppState,
    query: &Query,
    target: Target,
    window: Window,
    path: &Path,
) -> Result<(), ApiError> {
    let session = &*shared.session;
    let selector = match query.text("filter") {
        Some(text) => Some(Mutex::new(shared.filter(text)?.selector())),
        None => None,
    };
    let keeps_rundown = session.has_rundown();
    let has_filter = selector.is_some();
    let wants = move |event: &Event<'_>| {
        let is_in = !keeps_rundown || is_within(event, window) || event.class.is_rundown;
        let selects = |selector: &Mutex<ichnos::Selector>| selector.lock().ignore_poison().selects(event);
        is_in && selector.as_ref().is_none_or(selects)
    };
    let own = shared.options.selection.clone();
    let is_by_time = keeps_rundown && own.wants_all_events() && !has_filter;
    let selection = match keeps_rundown || has_filter {
        true => own.condition(wants).losses_in(window),
        false => own,
    };
    let read = if keeps_rundown { Window::default() } else { window };
    let reading = ViewOptions { window: read, selection: selection.clone(), ..shared.options.clone() };
    let is_by_stream = target.writer.order() == MessageOrder::ByStream;
    let reader = match is_by_stream {
        true => reading.stream_reader(session, read),
        false => reading.reader(session, read),
    };
    let reader = reader.map_err(failed)?;
    let mut options = ConvertOptions::default();
    options.write.dialect = target.dialect.map(str::to_owned);
    options.write.selected_by.extend(query.text("filter").map(str::to_owned));
    options.write.cut = (is_by_time && !shared.options.stream_intersection).then_some(window);
    options.pass = Pass::new(selection).stop(shared.options.stop);
    let mut written = reader.convert(target.writer, Some(path.to_owned()), &options);
    if let Err(ConvertError::Create(CreateError::Unsupported { .. })) = &written
        && options.write.dialect.take().is_some()
    {
        written = reader.convert(target.writer, Some(path.to_owned()), &options);
    }
    if let Err(ConvertError::Create(CreateError::Unsorted { .. })) = &written {
        options.write.sorts = true;
        written = reader.convert(target.writer, Some(path.to_owned()), &options);
    }
    written.map(|_| ()).map_err(failed)
}

fn is_within(event: &Event<'_>, window: Window) -> bool {
    let time = event.nanoseconds();
    time.is_some() && time >= window.begin && window.end.is_none_or(|end| time <= Some(end))
}

/// Media type for formats that browsers do not know.
const BINARY: &str = "application/octet-stream";

fn disposition(name: &str) -> String {
    format!("Content-Disposition: attachment; filename=\"{name}\"\r\n")
}

fn send_file(path: &Path, name: &str, stream: &mut TcpStream) -> io::Result<()> {
    let mut file = File::open(path)?;
    write_head(stream, 200, BINARY, Some(file.metadata()?.len()), &disposition(name))?;
    io::copy(&mut file, stream)?;
    stream.flush()
}

fn send_archive(path: &Path, name: &str, stream: &mut TcpStream) -> io::Result<()> {
    let body = ChunkedBody::begin(stream, BINARY, &disposition(&format!("{name}.tar")))?;
    let mut archive = tar::Builder::new(body);
    archive.mode(tar::HeaderMode::Deterministic);
    archive.append_dir_all(name, path)?;
    archive.into_inner()?.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_names_of_files() {
        assert_eq!(file_name("a/b c\"\r\n.tar, שלום"), "a-b-c---.tar------");
        assert_eq!((file_name("../x"), file_name("")), ("x".to_owned(), "trace".to_owned()));
        assert!(file_name(&"é".repeat(100)).len() <= MOST_NAME);
    }

    #[test]
    fn files_have_one_extension() {
        let named = |name: &str| with_extension(name.to_owned(), &["fxt", "ftf"]);
        for (name, wanted) in [
            ("trace", "trace.fxt"),
            ("trace.fxt", "trace.fxt"),
            ("trace.ftf", "trace.ftf"),
            ("trace.fxt.gz", "trace.fxt"),
            ("trace.tar.gz", "trace.tar.gz.fxt"),
            ("fxt", "fxt.fxt"),
        ] {
            assert_eq!(named(name), wanted);
        }
    }
}
