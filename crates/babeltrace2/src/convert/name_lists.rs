//! Name lists: `--names` and `--fields`.

use crate::command::Failure;

/// Fields that `--fields` knows.
const FIELDS: [&str; 9] = [
    "trace",
    "trace:hostname",
    "trace:domain",
    "trace:procname",
    "trace:vpid",
    "loglevel",
    "emf",
    "callsite",
    "all",
];

/// Returns `sink.text.pretty` parameters for `--names`.
///
/// # Errors
/// If a name is unknown.
pub(super) fn name_parameters(list: &str) -> Result<Vec<(String, &'static str)>, Failure> {
    let mut names = Vec::new();
    for word in words(list)? {
        names.push(match word {
            "payload" | "args" | "arg" => "payload",
            "context" | "ctx" => "context",
            "scope" | "header" | "all" | "none" => word,
            word => return Err(Failure::from_cause(format!("Unknown name: `{word}`."))),
        });
    }
    let has_all = names.contains(&"all");
    let has_none = names.contains(&"none");
    if has_all && has_none {
        let problem = "Only either `all` or `none` can be specified in the list given to the --names option";
        return Err(Failure::from_cause(format!("{problem}, but not both.")));
    }
    Ok(parameters("name", &names))
}

/// Returns `sink.text.pretty` parameters for `--fields`.
///
/// # Errors
/// If a field is unknown.
pub(super) fn field_parameters(list: &str) -> Result<Vec<(String, &'static str)>, Failure> {
    let fields = words(list)?;
    match fields.iter().find(|field| !FIELDS.contains(field)) {
        Some(unknown) => Err(Failure::from_cause(format!("Unknown field: `{unknown}`."))),
        None => Ok(parameters("field", &fields)),
    }
}

/// Returns parameters that show each name. Others are hidden unless the list has `all`.
fn parameters(prefix: &str, names: &[&str]) -> Vec<(String, &'static str)> {
    let parameter = |name: &&str| match *name {
        "all" => (format!("{prefix}-default"), "show"),
        "none" => (format!("{prefix}-default"), "hide"),
        name => (format!("{prefix}-{name}"), "yes"),
    };
    let mut parameters: Vec<_> = names.iter().map(parameter).collect();
    if !names.is_empty() && !names.iter().any(|name| matches!(*name, "all" | "none")) {
        parameters.push((format!("{prefix}-default"), "hide"));
    }
    parameters
}

/// Splits a list at commas and spaces. A word has letters and `_`, after the first one also `-` and `:`.
fn words(list: &str) -> Result<Vec<&str>, Failure> {
    let words = list.split([',', ' ', '\t', '\n']).filter(|word| !word.is_empty());
    let is_word = |word: &str| {
        let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
        word.starts_with(is_letter) && word.chars().all(|c| is_letter(c) || c == ':' || c == '-')
    };
    let words: Vec<&str> = words.collect();
    match words.iter().find(|word| !is_word(word)) {
        Some(wrong) => Err(Failure::from_cause(format!("Invalid list of names: `{wrong}` is not a name."))),
        None => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(parameters: Result<Vec<(String, &'static str)>, Failure>) -> String {
        match parameters {
            Ok(parameters) => {
                let texts: Vec<String> =
                    parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
                texts.join(",")
            }
            Err(failure) => failure.causes.join("|"),
        }
    }

    #[test]
    fn names() {
        let cases = [
            ("", ""),
            ("all", "name-default=show"),
            ("none", "name-default=hide"),
            ("context,header", "name-context=yes,name-header=yes,name-default=hide"),
            (
                "ctx, arg,,args,payload",
                "name-context=yes,name-payload=yes,name-payload=yes,name-payload=yes,name-default=hide",
            ),
            ("scope,all", "name-scope=yes,name-default=show"),
            ("none,scope", "name-default=hide,name-scope=yes"),
            ("salut", "Unknown name: `salut`."),
            ("scope,1", "Invalid list of names: `1` is not a name."),
            (
                "none,all",
                "Only either `all` or `none` can be specified in the list given to the --names option, but not both.",
            ),
        ];
        for (list, expected) in cases {
            assert_eq!(text(name_parameters(list)), expected, "{list}");
        }
    }

    #[test]
    fn fields() {
        let cases = [
            ("", ""),
            ("all", "field-default=show"),
            ("trace:domain,loglevel", "field-trace:domain=yes,field-loglevel=yes,field-default=hide"),
            (
                "trace,trace:hostname,trace:procname,trace:vpid,emf,callsite,all",
                "field-trace=yes,field-trace:hostname=yes,field-trace:procname=yes,field-trace:vpid=yes,field-emf=yes,\
                 field-callsite=yes,field-default=show",
            ),
            ("salut", "Unknown field: `salut`."),
            ("none", "Unknown field: `none`."),
            ("emf;all", "Invalid list of names: `emf;all` is not a name."),
        ];
        for (list, expected) in cases {
            assert_eq!(text(field_parameters(list)), expected, "{list}");
        }
    }
}
