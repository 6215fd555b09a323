//! Log levels on the command line and in the environment.

use crate::command::LogLevel;

/// Parses a log level: a letter or a name.
pub(crate) fn parse_log_level(text: &str) -> Option<LogLevel> {
    Some(match text {
        "T" | "TRACE" => LogLevel::Trace,
        "D" | "DEBUG" => LogLevel::Debug,
        "I" | "INFO" => LogLevel::Info,
        "W" | "WARN" | "WARNING" => LogLevel::Warning,
        "E" | "ERROR" => LogLevel::Error,
        "F" | "FATAL" => LogLevel::Fatal,
        "N" | "NONE" => LogLevel::None,
        _ => return None,
    })
}

/// Raises a log level if the other level has more details.
pub(crate) fn raise(level: &mut Option<LogLevel>, other: LogLevel) {
    *level = Some(level.map_or(other, |level| level.min(other)));
}

/// Applies the environment variables that equal `--debug` and `--verbose`.
pub(crate) fn raise_by_environment(level: &mut Option<LogLevel>, variable: &dyn Fn(&str) -> Option<String>) {
    for (name, other) in [("BABELTRACE_DEBUG", LogLevel::Trace), ("BABELTRACE_VERBOSE", LogLevel::Info)] {
        if variable(name).as_deref() == Some("1") {
            raise(level, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels() {
        let names = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "NONE"];
        let mut levels: Vec<LogLevel> = Vec::new();
        for name in names {
            assert_eq!(parse_log_level(&name[..1]), parse_log_level(name));
            levels.push(parse_log_level(name).unwrap());
        }
        assert!(levels.is_sorted());
        assert_eq!(parse_log_level("WARNING"), Some(LogLevel::Warning));
        for wrong in ["", "w", "Q", "warning", " W"] {
            assert_eq!(parse_log_level(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_environment_raises_the_level() {
        let set = |names: &[&str], level: Option<LogLevel>| {
            let mut level = level;
            raise_by_environment(&mut level, &|name| names.contains(&name).then(|| "1".to_owned()));
            level
        };
        assert_eq!(set(&[], None), None);
        assert_eq!(set(&["BABELTRACE_VERBOSE"], Some(LogLevel::Error)), Some(LogLevel::Info));
        assert_eq!(set(&["BABELTRACE_VERBOSE"], Some(LogLevel::Debug)), Some(LogLevel::Debug));
        assert_eq!(set(&["BABELTRACE_VERBOSE", "BABELTRACE_DEBUG"], None), Some(LogLevel::Trace));
    }
}
