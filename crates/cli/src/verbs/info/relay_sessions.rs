//! `ichnos info net://HOST`: lists the live sessions of an LTTng relay daemon.

use std::path::PathBuf;

use ichnos::export::text::TextTable;
use ichnos::json::write::ObjectWriter;
use ichnos::live::lttng::{self, LttngLiveOptions, RelayAddress, RelaySession};

use crate::args::Info;
use crate::exit::{Exit, Failure};
use crate::input::live;
use crate::output::{self, line_width, safe};
use crate::progress::Console;

/// Returns the address if a relay daemon is the only input.
pub(super) fn address(paths: &[PathBuf]) -> Option<&str> {
    let [path] = paths else { return None };
    live::address(path).filter(|address| address.starts_with("net"))
}

/// Prints all sessions, or the session in the address.
pub(super) fn run(address: &str, args: &Info, console: Console) -> Result<Exit, Failure> {
    let failure = |error: String| Failure::new(format!("{address}: {}", safe(&error)));
    let relay: RelayAddress = address.parse().map_err(|error| failure(format!("{error}")))?;
    let all = lttng::sessions(&relay, &LttngLiveOptions::default());
    let all = all.map_err(|error| failure(error.to_string()))?;
    let is_wanted =
        |session: &&RelaySession| relay.session.as_ref().is_none_or(|wanted| wanted.matches(session));
    let found: Vec<&RelaySession> = all.iter().filter(is_wanted).collect();
    if args.report.json {
        output::print_document("info", args.report.integers, |object| write_json(object, &relay, &found))?;
    } else if found.is_empty() {
        console.warning_with_help(
            "the relay daemon has no such session",
            "`lttng create NAME --live --set-url=net://HOST` creates one",
        );
    } else {
        let mut text = String::new();
        table(&relay, &found).push(&mut text, line_width(), console.paint());
        output::print(&text, console.paint())?;
    }
    Ok(if found.is_empty() { Exit::Nothing } else { Exit::Success })
}

/// Returns the address of a session.
fn path(relay: &RelayAddress, session: &RelaySession) -> String {
    let relay = RelayAddress { session: None, ..relay.clone() };
    format!("{}/host/{}/{}", relay.to_string().trim_end_matches('/'), session.host, session.name)
}

fn table(relay: &RelayAddress, sessions: &[&RelaySession]) -> TextTable {
    let mut table = TextTable::new(&["data streams", "live timer", "readers"], &["session"]);
    for session in sessions {
        let timer = match session.live_timer {
            0 => "not live".to_owned(),
            timer => format!("{} s", f64::from(timer) / 1e6),
        };
        let numbers = [session.streams.to_string(), timer, session.clients.to_string()];
        table.rows.push(numbers.into_iter().chain([safe(&path(relay, session)).into_owned()]).collect());
    }
    table
}

fn write_json(object: &mut ObjectWriter<'_>, relay: &RelayAddress, sessions: &[&RelaySession]) {
    let mut list = object.member("sessions").array();
    for session in sessions {
        let mut entry = list.element().object();
        entry.member("address").string(&path(relay, session));
        entry.member("host").string(&session.host);
        entry.member("name").string(&session.name);
        entry.member("live_timer_us").unsigned(session.live_timer.into());
        entry.member("streams").unsigned(session.streams.into());
        entry.member("clients").unsigned(session.clients.into());
        entry.end();
    }
    list.end();
}
