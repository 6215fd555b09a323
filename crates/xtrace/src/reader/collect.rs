//! Collects reports from running programs.

use ichnos_io::{CollectSettings, TaskKey};

use crate::report::{Part, Report, Reports, task_of_metadata};

/// Default port for reports, the same as in the original libraries.
const PORT: u16 = 7831;

/// Maximum report size in bytes, the size of a datagram. The original C++ library sends at most 2,048 bytes, the Java
/// library 4,096.
const LONGEST: usize = 64 << 10;

/// Settings for collecting reports.
pub(super) const COLLECT: CollectSettings = CollectSettings::new(PORT, LONGEST, store);

/// Stores a report with its lines as received, except empty lines. Readers ignore empty lines in received reports, but
/// they end a report in a file.
fn store(message: &[u8], buffer: &mut Vec<u8>) -> Result<TaskKey, &'static str> {
    let mut parts = Reports::new(message);
    let Some(Part::Report(report)) = parts.next() else { return Err("not a report") };
    if !report.has_known_version() {
        return Err("unknown report version");
    }
    let mut rest = parts.peekable();
    if rest.peek().is_none() {
        // The usual case, without other lines.
        let task = task(&report)?;
        let lines = report.as_bytes();
        buffer.extend_from_slice(lines);
        buffer.extend_from_slice(if lines.ends_with(b"\n") { b"\n" } else { b"\n\n" });
        return Ok(task);
    }
    // Lines after an empty line still belong to the report, unless they start another report.
    if rest.any(|part| matches!(part, Part::Report(_))) {
        return Err("more than one report");
    }
    let from = buffer.len();
    // The report was found in the message.
    let lines = message.get(report.offset()..).unwrap_or_default().split(|byte| *byte == b'\n');
    for line in lines.filter(|line| !line.iter().all(|byte| *byte <= b' ')) {
        buffer.extend_from_slice(line);
        buffer.push(b'\n');
    }
    buffer.push(b'\n');
    // The report was appended to the buffer.
    let stored = Reports::new(buffer.get(from..).unwrap_or_default()).next();
    let task = match stored {
        Some(Part::Report(report)) => task(&report),
        _ => Err("not a report"),
    };
    if task.is_err() {
        buffer.truncate(from);
    }
    task
}

/// Returns the task of a report that readers accept. Only valid metadata can be reported (section 2.2).
fn task(report: &Report<'_>) -> Result<TaskKey, &'static str> {
    if report.is_too_large() {
        return Err("too many lines");
    }
    let line = report.lines().find(|line| line.key == b"X-Trace").ok_or("missing line `X-Trace`")?;
    let task = task_of_metadata(line.value).ok_or("unreadable metadata")?;
    if !task.is_valid() {
        return Err("all-zero task");
    }
    TaskKey::new(task.as_bytes()).ok_or("task identifier too long")
}

#[cfg(test)]
mod tests {
    use ichnos_testing::cases;

    use super::*;

    use crate::report::MAX_REPORT_LINES;

    const HEAD: &str = "X-Trace Report ver 1.0\n";

    fn stored(message: &[u8]) -> Result<(String, String), &'static str> {
        let mut buffer = b"before\n\n".to_vec();
        let result = store(message, &mut buffer);
        let text = String::from_utf8_lossy(&buffer).strip_prefix("before\n\n").unwrap().to_owned();
        match result {
            Ok(task) => {
                // The stored text ends once, and storing it again changes nothing.
                assert!(text.ends_with("\n\n") && text.find("\n\n") == Some(text.len() - 2), "{text:?}");
                let mut again = Vec::new();
                assert_eq!(store(&buffer[8..], &mut again), Ok(task));
                assert_eq!(again, buffer[8..]);
                Ok((task.to_string(), text))
            }
            Err(why) => {
                assert!(text.is_empty());
                Err(why)
            }
        }
    }

    #[test]
    fn reports_end_with_one_empty_line() {
        let report = format!("{HEAD}X-Trace: 10CAFEBABE01020304\nLabel: a\n");
        let expected = Ok(("CAFEBABE".to_owned(), format!("{report}\n")));
        for message in [
            report.clone(),
            report.trim_end().to_owned(),
            format!("{report}\n\n \n"),
            format!("\u{FEFF}\n{report}"),
            report.replace("Label", "\n\t\n\nLabel"),
            report.replace("X-Trace: ", "\nX-Trace :\t"),
        ] {
            let found = stored(message.as_bytes());
            if message.contains('\t') && message.contains(":\t") {
                assert!(found.unwrap().1.contains("X-Trace :\t10CAFEBABE01020304\nLabel"));
            } else {
                assert_eq!(found, expected, "{message:?}");
            }
        }
        // The maximum number of lines.
        let most = format!("{report}{}", "a: b\n".repeat(MAX_REPORT_LINES - 2));
        assert_eq!(stored(most.as_bytes()), Ok(("CAFEBABE".to_owned(), format!("{most}\n"))));
        // Line endings are kept.
        let windows = report.replace('\n', "\r\n");
        assert_eq!(stored(windows.as_bytes()), Ok(("CAFEBABE".to_owned(), format!("{windows}\n"))));
        let long = format!("{HEAD}X-Trace: 1b{}0102030405060708", "ab".repeat(20));
        assert_eq!(stored(long.as_bytes()).unwrap().0, "AB".repeat(20));
        let version_2 = format!("{HEAD}X-Trace: 2B{}010203040506070801\n", "AB".repeat(20));
        assert_eq!(stored(version_2.as_bytes()).unwrap().0, "AB".repeat(20));
    }

    #[test]
    fn messages_other_than_reports() {
        let metadata = "X-Trace: 10CAFEBABE01020304\n";
        for (message, why) in [
            (String::new(), "not a report"),
            ("garbage".to_owned(), "not a report"),
            (format!("garbage\n{HEAD}{metadata}"), "not a report"),
            (format!("X-Trace Report ver 9.0\n{metadata}"), "unknown report version"),
            (HEAD.to_owned(), "missing line `X-Trace`"),
            (format!("{HEAD}Label: a\n"), "missing line `X-Trace`"),
            (format!("{HEAD}X-Trace: 10CAFE\n{metadata}"), "unreadable metadata"),
            (format!("{HEAD}X-Trace: \n"), "unreadable metadata"),
            (format!("{HEAD}X-Trace: 100000000001020304\n"), "all-zero task"),
            (format!("{HEAD}{metadata}{}", "a: b\n".repeat(MAX_REPORT_LINES)), "too many lines"),
            (format!("{HEAD}{metadata}\n{}", "a: b\n".repeat(MAX_REPORT_LINES)), "too many lines"),
            (format!("{HEAD}{metadata}{HEAD}{metadata}"), "more than one report"),
            (format!("{HEAD}{metadata}\n{HEAD}{metadata}"), "more than one report"),
            (format!("{HEAD}{metadata}\nLabel: a\n\n{HEAD}"), "more than one report"),
        ] {
            assert_eq!(stored(message.as_bytes()), Err(why), "{message:?}");
        }
    }

    /// Any stored input is read as one report with the same task.
    #[test]
    fn any_lines() {
        const LINES: &[&str] = &[
            "X-Trace Report ver 1.0",
            "X-Trace: 10CAFEBABE01020304",
            "",
            " ",
            "\r",
            "a: b\r",
            "\0",
            "c",
            ": \u{FEFF}",
        ];
        let mut taken = 0;
        cases(3_000, |random| {
            let lines: Vec<&str> = (0..random.below(8)).map(|_| random.pick(LINES)).collect();
            let message = format!("{HEAD}{}", lines.join("\n"));
            if let Ok((task, text)) = stored(message.as_bytes()) {
                taken += 1;
                assert_eq!(task, "CAFEBABE");
                let is_blank = |line: &&str| line.bytes().all(|byte| byte <= b' ');
                let kept: Vec<&str> = message.split('\n').filter(|line| !is_blank(line)).collect();
                assert_eq!(text, format!("{}\n\n", kept.join("\n")));
                assert_eq!(Reports::new(text.as_bytes()).count(), 1);
            }
        });
        assert!(taken > 500 || std::env::var_os("ICHNOS_SEED").is_some(), "{taken}");
    }
}
