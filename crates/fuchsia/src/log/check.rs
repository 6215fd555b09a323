//! Checks a record against all rules.

use super::argument::{Argument, Meaning, Value};
use super::error::{LogError, Rule};
use super::printf::{self, ProblemPosition, Role};
use super::record::Record;

/// Record forms that a check accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckOptions {
    /// `true` to accept [tags](Record::tag) and [extended](super::Attribution) records, which the document lacks. On by
    /// default.
    pub newer_forms: bool,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { newer_forms: true }
    }
}

impl Record<'_> {
    /// Reports each broken rule from the start of the record to its end, then printf rules. It stops after an
    /// unreadable argument.
    pub fn check(&self, options: CheckOptions, report: &mut dyn FnMut(LogError)) {
        let begin = self.offset();
        let tag = self.tag_bits();
        if tag != 0 && !options.newer_forms {
            report(LogError::new(Rule::RecordTag, begin, begin + 2, 0, tag.into()));
        }
        let reserved = self.reserved_bits();
        if reserved != 0 {
            report(LogError::new(Rule::RecordReserved, begin, begin + 6, 0, reserved.into()));
        }

        let is_printf = self.is_printf();
        let mut arguments = self.arguments();
        let mut is_whole = true;
        let mut format = None;
        let mut report_and_note = |error: LogError| {
            is_whole &= !error.rule.is_fatal();
            report(error);
        };
        while let Some(argument) = arguments.next_examined(&mut report_and_note) {
            if argument.name.is_empty() && !is_printf {
                report_and_note(self.empty(&argument, Rule::NameEmpty));
            }
            if let (Meaning::Message, Value::Text(message)) = (argument.meaning(), argument.value) {
                format = Some((message, argument.value_offset()));
            }
        }
        if !is_printf || !is_whole {
            return;
        }
        for (role, argument) in self.roles() {
            if role == Role::Pair && argument.name.is_empty() {
                report(self.empty(&argument, Rule::PrintfArgumentOrder));
            }
        }
        let (format, offset) = format.map_or((&b""[..], 0), |(text, offset)| (text.as_bytes(), offset));
        printf::check(self, format, &mut |problem| {
            let at = match problem.position {
                ProblemPosition::Format(at) => offset + at,
                ProblemPosition::Record(at) => at,
            };
            let (expected, found) = (problem.expected, problem.found);
            report(LogError::new(problem.rule, begin, begin + at as u64, expected, found));
        });
    }

    /// Returns `true` if all arguments are plain, so that all rules hold.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        let mut arguments = self.arguments();
        while arguments.next_plain().is_some() {}
        arguments.is_at_end()
    }

    /// Returns the error that makes the record unreadable, or else the first argument error. Messages may be invalid
    /// UTF-8.
    pub(super) fn first_broken(&self) -> Option<LogError> {
        let mut first = None;
        let mut note = |error: LogError| {
            if error.rule.is_fatal() || first.is_none() && error.rule != Rule::MessageUtf8 {
                first = Some(error);
            }
        };
        let mut arguments = self.arguments();
        while arguments.next_plain().is_some() || arguments.next_examined(&mut note).is_some() {}
        first
    }

    fn empty(&self, argument: &Argument<'_>, rule: Rule) -> LogError {
        LogError::new(rule, self.offset(), self.offset() + argument.offset() as u64, 1, 0)
    }
}
