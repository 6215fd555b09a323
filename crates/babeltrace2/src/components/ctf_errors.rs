//! Problems of CTF traces in Babeltrace's words, which scripts look for.

use std::path::Path;

use ichnos::export::printable;
use ichnos::model::decode::DecodeErrorKind;
use ichnos::model::message::{Damage, DamageKind};
use ichnos::model::trace::{Diagnostic, FileDiagnostic, Severity};

/// Rules that Babeltrace does not check, or whose breach it corrects.
const TOLERATED: [&str; 6] =
    ["packet-uuid", "index-packet", "index-data-stream", "packet-copy", "packet-order", "counter-order"];

/// Returns `true` for damage that ends Babeltrace with an error.
pub(crate) fn is_refused(damage: &Damage) -> bool {
    match &damage.kind {
        DamageKind::Rule(rule) => !TOLERATED.contains(&rule.name),
        DamageKind::Unreadable(_) => !is_broken_link(Path::new(&damage.file)),
        DamageKind::NotAFile(_) | DamageKind::UnknownMember { .. } => false,
        _ => true,
    }
}

/// Returns `true` for a symbolic link without a target, which Babeltrace ignores as it ignores pipes.
fn is_broken_link(path: &Path) -> bool {
    path.is_symlink() && !path.exists()
}

/// Returns the cause for damage in a data stream.
pub(crate) fn damage_cause(damage: &Damage) -> String {
    let Damage { bit, file, kind, .. } = damage;
    let file = printable(file);
    match kind {
        DamageKind::EmptyEventRecord => format!("At {bit} bits: Invalid empty event record."),
        DamageKind::Rule(rule) if rule.name == "event-record-class" => {
            match ids(&rule.statement).as_slice() {
                [id, stream_class] => format!(
                    "At {bit} bits: no event record class exists with ID {id} within the data stream class \
                    with ID {stream_class}."
                ),
                _ => format!("At {bit} bits: {}", rule.statement),
            }
        }
        DamageKind::Rule(rule) if rule.name == "data-stream-class" => {
            let id = ids(&rule.statement).first().copied().unwrap_or_default();
            format!("At {bit} bits: no data stream class exists with ID {id}.")
        }
        DamageKind::Field(
            DecodeErrorKind::BeyondData { .. }
            | DecodeErrorKind::BeyondContent { .. }
            | DecodeErrorKind::EndlessString
            | DecodeErrorKind::LengthBeyond { .. },
        )
        | DamageKind::CutOff { .. } => {
            format!("Insufficient data in file to fulfill request: path=\"{file}\", at {bit} bits: {kind}")
        }
        _ => format!("At {bit} bits: {}: path=\"{file}\"", printable(&kind.to_string())),
    }
}

/// Returns the numbers in a statement.
fn ids(statement: &str) -> Vec<&str> {
    let is_number = |text: &&str| text.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
    statement.split(|c: char| !c.is_ascii_digit()).filter(is_number).collect()
}

/// Returns the causes for metadata that cannot be read, the outermost first.
pub(crate) fn metadata_causes(problems: &[FileDiagnostic]) -> Vec<String> {
    let errors = problems.iter().filter(|problem| problem.diagnostic.severity == Severity::Error);
    let mut causes: Vec<String> = errors
        .map(|problem| format!("{}: path=\"{}\"", cause(&problem.diagnostic), printable(&problem.file)))
        .collect();
    // The first error is the reason for the others.
    causes.reverse();
    causes.insert(0, "Failed to parse the metadata stream.".to_owned());
    causes
}

/// Returns the text of a warning about metadata.
pub(crate) fn warning(problem: &FileDiagnostic) -> String {
    format!("{}: path=\"{}\"", cause(&problem.diagnostic), printable(&problem.file))
}

/// Problems that scripts look for: a part of ichnos' statement, and Babeltrace's.
const STATEMENTS: [(&str, &str); 4] = [
    (
        "the length field is not an unsigned integer",
        "Sequence field class's length field class is not an unsigned integer field class",
    ),
    (
        "the tag of a variant is not an enumeration",
        "Variant field class's tag field class is not an enumeration field class",
    ),
    (
        "the metadata ends within a packet header",
        "Remaining buffer isn't large enough to hold a packet header",
    ),
    ("at least one data stream class", "Missing data stream class fragment in metadata stream."),
];

/// Punctuation of TSDL, with Babeltrace's names.
const TOKENS: [(&str, &str); 16] = [
    ("[", "CTF_LSBRAC"),
    ("]", "CTF_RSBRAC"),
    ("(", "CTF_LPAREN"),
    (")", "CTF_RPAREN"),
    ("{", "CTF_LBRAC"),
    ("}", "CTF_RBRAC"),
    ("->", "CTF_RARROW"),
    ("*", "CTF_STAR"),
    ("<", "CTF_LT"),
    (">", "CTF_GT"),
    (":=", "CTF_TYPEASSIGN"),
    (":", "CTF_COLON"),
    (";", "CTF_SEMICOLON"),
    ("...", "CTF_DOTDOTDOT"),
    ("=", "CTF_EQUAL"),
    (",", "CTF_COMMA"),
];

fn cause(problem: &Diagnostic) -> String {
    let line = problem.position.line;
    let statement = printable(&problem.statement()).into_owned();
    if problem.message == "a syntax error" {
        let found = problem.found.as_deref().unwrap_or_default();
        let token = found.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).unwrap_or(found);
        let name = TOKENS.iter().find(|(text, _)| *text == token).map_or("IDENTIFIER", |(_, name)| name);
        let token = printable(token);
        return format!(
            "At line {line} in metadata stream: syntax error, unexpected {name}: token=\"{token}\": {statement}"
        );
    }
    match STATEMENTS.iter().find(|(part, _)| problem.message.contains(part)) {
        Some((_, words)) => format!("{words}: {statement}"),
        None if line > 0 => format!("At line {line} in metadata stream: {statement}"),
        None => statement,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ichnos::model::trace::TextPosition;

    #[test]
    fn problems_have_the_words_of_babeltrace() {
        let position = TextPosition { line: 3, column: 58, offset: 90 };
        let cases = [
            (
                Diagnostic::error(position, "a syntax error").expected("an attribute", "`]`"),
                "At line 3 in metadata stream: syntax error, unexpected CTF_RSBRAC: token=\"]\"",
            ),
            (
                Diagnostic::error(position, "a syntax error").expected("`}`", "the end of the text"),
                "At line 3 in metadata stream: syntax error, unexpected IDENTIFIER: token=\"the end of the text\"",
            ),
            (
                Diagnostic::error(
                    position,
                    "field location a/b: the length field is not an unsigned integer",
                ),
                "Sequence field class's length field class is not an unsigned integer field class: ",
            ),
            (Diagnostic::error(position, "other"), "At line 3 in metadata stream: other"),
            (Diagnostic::error(TextPosition::default(), "other"), "other"),
        ];
        for (problem, expected) in cases {
            let found = cause(&problem);
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn damage_has_the_words_of_babeltrace() {
        let cases = [
            (DamageKind::EmptyEventRecord, "At 24 bits: Invalid empty event record."),
            (
                DamageKind::CutOff { total: 8, available: 4 },
                "Insufficient data in file to fulfill request: path=\"f\"",
            ),
            (DamageKind::Field(DecodeErrorKind::EndlessString), "Insufficient data in file"),
            (DamageKind::ClockBackwards { from: 2, to: 1 }, "At 24 bits: the clock goes backwards"),
        ];
        for (kind, expected) in cases {
            let damage = Damage::new("f", 24, kind);
            assert!(is_refused(&damage));
            assert!(damage_cause(&damage).starts_with(expected), "{damage}");
        }
        assert_eq!(ids("unknown event record class 255 of data stream class 0"), ["255", "0"]);
    }
}
