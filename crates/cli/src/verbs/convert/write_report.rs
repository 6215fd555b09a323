//! Report after writing: output and losses.

use std::fmt::Write as _;

use ichnos::export::documents::write_damages;
use ichnos::export::text::{Paint, count, grouped};
use ichnos::io::WriteReport;
use ichnos::json::write::ObjectWriter;
use ichnos::model::lower::{LossEntry, LossKind};
use ichnos::model::message::Damage;

use crate::args::Writing;
use crate::exit::Failure;
use crate::output::{self, json_document, safe};
use crate::progress::Console;

/// Report about the input.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InputReport<'a> {
    /// Skipped damaged places, if the report should contain them.
    pub(crate) left_out: Option<&'a [Damage]>,
    /// Number of packets in several files, as in overlapping snapshots.
    pub(crate) repeated_packets: u64,
    /// `true` if events in copied packets were also read, so that damage in these packets is known.
    pub(crate) reads_copied_packets: bool,
}

/// Prints a report about the output and the losses.
pub(crate) fn print(
    writing: &Writing,
    written: &WriteReport,
    read: &InputReport<'_>,
    console: Console,
) -> Result<(), Failure> {
    let losses = &written.losses;
    // The report must not be mixed with a trace on standard output.
    let has_output = !writing.prints_trace();
    let is_listed = writing.report.json || writing.losses;
    if writing.report.json {
        let integers = writing.report.integers;
        let write = |object: &mut ObjectWriter<'_>| write_json(object, written, read);
        if has_output {
            output::print_document("convert", integers, write)?;
        } else {
            let mut text = Vec::new();
            json_document::write_document(&mut text, "convert", integers, |object, _| {
                write(object);
                Ok(())
            })?;
            console.print(String::from_utf8_lossy(&text).trim_end());
        }
    } else if writing.losses {
        let mut text = String::new();
        for (loss, count) in losses.iter() {
            let _ = writeln!(text, "{}", line_of(loss, count));
        }
        match has_output {
            true => output::print(&text, Paint::PLAIN)?,
            false => text.lines().for_each(|line| console.print(line)),
        }
    }
    match read.repeated_packets {
        0 => {}
        1 => console.notice("1 packet is in several files, as in overlapping snapshots: it is written once"),
        several => console.notice(&format!(
            "{} packets are in several files, as in overlapping snapshots: each is written once",
            grouped(several)
        )),
    }
    if !losses.is_empty() {
        let counts: Vec<String> = LossKind::ALL
            .into_iter()
            .filter(|kind| losses.count(*kind) > 0)
            .map(|kind| format!("{} {kind}", grouped(losses.count(kind))))
            .collect();
        let more = if is_listed { "" } else { "; --losses lists them" };
        console.notice(&format!("not converted exactly: {}{more}", counts.join(", ")));
    }
    if let Some(sent) = &written.sent {
        console.notice(&sent.to_string());
    }
    let is_unread = written.copied_packets > 0 && !read.reads_copied_packets;
    let line = format!(
        "{}, {} of them copied{}; {} encoded; {}",
        count(written.packets, "packet"),
        grouped(written.copied_packets),
        if is_unread { " without reading their events (--verify reads them)" } else { "" },
        count(written.events, "event"),
        count(written.bytes, "byte"),
    );
    match is_unread {
        true => console.notice(&line),
        false => console.note(&line),
    }
    Ok(())
}

/// Warns if all events were dropped from the output, or from the part with this name. Returns `true` in this case.
pub(crate) fn warn_of_missing_events(written: &WriteReport, part: &str, console: Console) -> bool {
    if !written.lacks_all_events() {
        return false;
    }
    let place = match part {
        "" => "the output".to_owned(),
        part => format!("part `{part}`"),
    };
    let all = match written.selected_events {
        1 => "the only event was".to_owned(),
        several => format!("all {} events were", grouped(several)),
    };
    console.warning_with_help(
        &format!("{all} dropped: {place} does not contain events"),
        "--losses lists the reasons; another format or dialect may support them",
    );
    true
}

/// Returns a line in the table of losses.
fn line_of(loss: &LossEntry, count: u64) -> String {
    let place = match (loss.class.as_str(), loss.field.as_str()) {
        ("", "") => "trace".to_owned(),
        ("", field) => field.to_owned(),
        (class, "") => class.to_owned(),
        (class, field) => format!("{class}: {field}"),
    };
    format!("{:<8} {:>8}  {}  {}", loss.kind, grouped(count), safe(&place), safe(&loss.what))
}

fn write_json(object: &mut ObjectWriter<'_>, written: &WriteReport, read: &InputReport<'_>) {
    object.member("paths").strings(written.paths.iter().map(|path| path.display().to_string()));
    object.member("bytes").unsigned(written.bytes);
    object.member("packets").unsigned(written.packets);
    object.member("copied_packets").unsigned(written.copied_packets);
    object.member("repeated_packets").unsigned(read.repeated_packets);
    object.member("encoded_events").unsigned(written.events);
    let mut losses = object.member("losses").array();
    for (loss, count) in written.losses.iter() {
        let mut entry = losses.element().object();
        entry.member("kind").string(loss.kind.name());
        entry.member("class").string(&loss.class);
        entry.member("field").string(&loss.field);
        entry.member("what").string(&loss.what);
        entry.member("count").unsigned(count);
        entry.end();
    }
    losses.end();
    if let Some(sent) = &written.sent {
        let mut counts = object.member("sent").object();
        counts.member("answered").unsigned(sent.answered);
        counts.member("retries").unsigned(sent.retries);
        counts.member("acknowledged").unsigned(sent.acknowledged);
        counts.member("rejected").unsigned(sent.rejected);
        counts.member("unanswered").unsigned(sent.unanswered);
        counts.member("unknown").unsigned(sent.unknown);
        counts.end();
    }
    if let Some(damages) = read.left_out {
        write_damages(object.member("left_out"), damages);
    }
}
