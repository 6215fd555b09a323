//! Text files, recognized by their first lines.

use super::{ForeignFormat, json_files};

/// Recognizes text.
pub(super) fn recognize(head: &[u8]) -> Option<ForeignFormat> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The examined bytes can end within a character.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(head.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\x0c' | '\x1b' | '\x1e');
    if text.is_empty() || !text.chars().all(is_plain) {
        return None;
    }
    let begin = text.trim_start_matches(['\u{feff}', '\x1e', ' ', '\n', '\r', '\t']);
    let first = begin.lines().next().unwrap_or_default();
    if let Some(known) = by_first_line(begin, first) {
        return Some(known);
    }
    if begin.starts_with(['{', '[']) {
        return Some(json_files::recognize(begin));
    }
    Some(if are_folded_stacks(begin) {
        ForeignFormat::trace("folded call stacks").advising("https://www.speedscope.app shows them")
    } else {
        ForeignFormat::other("a text file")
    })
}

const SYSLOG: ForeignFormat =
    ForeignFormat::trace("a syslog").advising("`journalctl -o json` prints a journal as JSON Lines");
const PERF_SCRIPT: ForeignFormat = ForeignFormat::trace("the output of `perf script`")
    .advising("`perf data convert --to-ctf DIR` converts the perf.data file to a CTF trace");
const FTRACE: ForeignFormat = ForeignFormat::trace("ftrace output");
const BABELTRACE: ForeignFormat = ForeignFormat::trace("text of babeltrace2 or `ichnos cat`")
    .advising("read the trace itself, or print it as JSON Lines");

/// First words of each text format.
const BEGINNINGS: &[(&str, ForeignFormat)] = &[
    ("# tracer: ", FTRACE),
    ("#Paraver", ForeignFormat::trace("a Paraver trace")),
    ("__CURSOR=", JOURNAL),
    ("__REALTIME_TIMESTAMP=", JOURNAL),
    ("--------- beginning of ", LOGCAT),
    ("$date", VCD),
    ("$version", VCD),
    ("$timescale", VCD),
    ("# callgrind format", ForeignFormat::other("a Callgrind profile")),
    ("version: 1\ncreator: callgrind", ForeignFormat::other("a Callgrind profile")),
    ("v8-version,", ForeignFormat::trace("a V8 log")),
    ("CEF:", ForeignFormat::trace("events in CEF")),
    ("#Software: ", ForeignFormat::trace("a log in W3C's format")),
    ("#separator ", ForeignFormat::trace("a Zeek log")),
    ("=erl_crash_dump", ForeignFormat::other("an Erlang crash dump")),
    ("<?xml", ForeignFormat::other("an XML file")),
    ("<Event ", ForeignFormat::trace("Windows events as XML")),
];

const JOURNAL: ForeignFormat = ForeignFormat::trace("a systemd journal in its export format")
    .advising("`journalctl -o json` prints a journal as JSON Lines");
const LOGCAT: ForeignFormat = ForeignFormat::trace("an Android log (logcat)");
const DMESG: ForeignFormat = ForeignFormat::trace("a kernel log (dmesg)");
const VCD: ForeignFormat = ForeignFormat::trace("a VCD file (signals of a simulation)");

/// First line forms. `9` is a digit, `_` a digit or a space, `A` a letter. Other characters match themselves.
const FORMS: &[(&str, ForeignFormat)] = &[
    ("AAA _9 99:99:99 ", SYSLOG),
    ("99-99 99:99:99.999 ", LOGCAT),
    ("A9999 99:99:99.999999 ", ForeignFormat::trace("a glog or klog log")),
    ("[99:99:99.999999999] (", BABELTRACE),
    ("[9999-99-99 99:99:99.999999999] (", BABELTRACE),
    ("[____9.999999] ", DMESG),
    ("[_____9.999999] ", DMESG),
    ("Attaching 9", ForeignFormat::trace("the output of bpftrace")),
    ("(9999999999.999999) ", ForeignFormat::trace("a candump log (CAN)")),
];

fn by_first_line(begin: &str, first: &str) -> Option<ForeignFormat> {
    if let Some((_, known)) = BEGINNINGS.iter().find(|(text, _)| begin.starts_with(text)) {
        return Some(*known);
    }
    if let Some((_, known)) = FORMS.iter().find(|(form, _)| has_form(first, form)) {
        return Some(*known);
    }
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if first.strip_prefix("cpus=").is_some_and(is_number) {
        return Some(FTRACE);
    }
    Some(if is_of_strace(first) {
        ForeignFormat::trace("strace output")
    } else if begin.get(..15).is_some_and(|begin| begin.eq_ignore_ascii_case("<!doctype html>")) {
        ForeignFormat::other("an HTML page")
    } else if is_of_syslog(first) {
        SYSLOG
    } else if first.starts_with("type=") && first.contains(" msg=audit(") {
        ForeignFormat::trace("an auditd log")
    } else if first
        .find(" [")
        .is_some_and(|at| first.get(at..).is_some_and(|date| has_form(date, " [99/AAA/9999:99:99:99 ")))
    {
        ForeignFormat::trace("an access log of a web server")
    } else if is_logfmt(first) {
        ForeignFormat::trace("a log in logfmt")
    } else {
        return of_events(first);
    })
}

/// Returns `true` if a text starts in this form.
fn has_form(text: &str, form: &str) -> bool {
    let mut bytes = text.bytes();
    form.bytes().all(|expected| {
        bytes.next().is_some_and(|found| match expected {
            b'9' => found.is_ascii_digit(),
            b'_' => found.is_ascii_digit() || found == b' ',
            b'A' => found.is_ascii_alphabetic(),
            expected => found == expected,
        })
    })
}

/// Returns `true` if a line has the form `[pid 1] 12:00:00 name(arguments) = result`.
fn is_of_strace(line: &str) -> bool {
    let Some((before, after)) = line.split_once('(') else { return false };
    let name = before.rsplit(' ').next().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !name.is_empty() && name.chars().all(is_name) && (after.contains(") = ") || after.contains("<unfinished"))
}

/// Returns `true` for `<34>1 2003-10-11T22:14:15Z host`, `<34>Oct 11 22:14:15 host`, `2003-10-11T22:14:15+01:00 host
/// name[1]: `, and container log lines: `2003-10-11T22:14:15Z stdout F `.
fn is_of_syslog(line: &str) -> bool {
    const DATE: &str = "9999-99-99T99:99:99";
    if let Some((priority, rest)) = line.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        let is_priority =
            (1..=3).contains(&priority.len()) && priority.bytes().all(|byte| byte.is_ascii_digit());
        return is_priority && (has_form(rest, "AAA _9 99:99:99 ") || has_form(rest, "9 "));
    }
    let mut words = line.split(' ');
    let is_date = words.next().is_some_and(|date| has_form(date, DATE));
    let (second, third) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    is_date && (third.ends_with(':') || matches!((second, third), ("stdout" | "stderr", "F" | "P")))
}

/// Recognizes lines of the form `COMM PID [CPU] FLAGS SECONDS: EVENT`.
fn of_events(line: &str) -> Option<ForeignFormat> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (before, rest) = line.split_once(" [")?;
    let (processor, after) = rest.split_once("] ")?;
    let is_time = |word: &str| {
        let parts = word.strip_suffix(':').and_then(|word| word.split_once('.'));
        parts.is_some_and(|(seconds, fraction)| is_number(seconds) && is_number(fraction))
    };
    let before = before.trim_end();
    let at = before.rfind([' ', '-', '/'])?;
    let (command, process) = before.split_at_checked(at)?;
    let is_event = is_number(process.get(1..)?)
        && is_number(processor)
        && after.split_ascii_whitespace().take(2).any(is_time);
    let kind = if process.starts_with('-') { FTRACE } else { PERF_SCRIPT };
    (is_event && !command.is_empty()).then_some(kind)
}

/// Returns `true` if a line consists of `key=value` pairs, among them a time, level or message.
fn is_logfmt(line: &str) -> bool {
    let mut rest = line.trim_end();
    let (mut count, mut is_log) = (0, false);
    while !rest.is_empty() {
        let Some((key, value)) = rest.split_once('=') else { return false };
        let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if key.is_empty() || !key.chars().all(is_key) {
            return false;
        }
        count += 1;
        is_log |= matches!(key, "time" | "ts" | "timestamp" | "t" | "level" | "lvl" | "severity" | "msg");
        let end = match value.strip_prefix('"') {
            Some(quoted) => {
                let mut is_escaped = false;
                let close = |c: char| {
                    let closes = c == '"' && !is_escaped;
                    is_escaped = c == '\\' && !is_escaped;
                    closes
                };
                quoted.find(close).map_or(value.len(), |at| at + 2)
            }
            None => value.find(' ').unwrap_or(value.len()),
        };
        rest = value.get(end..).unwrap_or_default().trim_start();
    }
    count >= 2 && is_log
}

/// Returns `true` if all lines are names separated by `;`, and a count. The last line can be truncated.
fn are_folded_stacks(text: &str) -> bool {
    /// Maximum number of examined lines.
    const MOST: usize = 32;
    let is_stack = |line: &str| {
        line.rsplit_once(' ').is_some_and(|(stack, count)| {
            !stack.is_empty() && !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let (whole, _) = text.rsplit_once('\n').unwrap_or((text, ""));
    let mut lines = whole.lines().take(MOST);
    whole.contains(';') && lines.all(is_stack)
}
