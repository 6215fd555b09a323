//! Rejects options without an effect, because users give an option for a reason.

use clap::ArgMatches;
use clap::parser::ValueSource;
use ichnos::analysis::{GraphFormat, StackFormat};

use crate::args::{Cat, LowArgs, PROPERTIES, Selecting, TaskVerb, TextFormat, Verb};
use crate::exit::Failure;
use crate::suggestions::{alternatives, did_you_mean};

/// Checks that all options on the command line have an effect.
pub(crate) fn check(args: &LowArgs, matches: &ArgMatches) -> Result<(), Failure> {
    let Some((_, matches)) = matches.subcommand() else { return Ok(()) };
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let wrong = match &args.verb {
        Verb::Cat(cat) => {
            let wrong = TextFormat::limited_options().into_iter();
            let wrong = wrong.filter(|id| is_given(id) && !applies(id, cat));
            Failure::all(wrong.map(|id| not_applying(id, cat.format()))).or_else(|| no_property(cat))
        }
        Verb::Info(info) if info.report.json && is_given("clock_gmt") && !has_times(&info.selecting) => Some(
            Failure::new("`--clock-gmt` does not apply to JSON: its times are numbers, in nanoseconds")
                .help("leave it out, or leave out --json"),
        ),
        Verb::Check(check) if check.metadata_only && check.needs_data() => Some(
            Failure::new(
                "`--fail-on loss` and `--fail-on damage` need the data streams, which `--metadata-only` \
                skips",
            )
            .help("leave out one of them"),
        ),
        Verb::Stacks(stacks) if !matches!(stacks.format(), StackFormat::Svg(_)) => no_picture(stacks.width),
        Verb::Task(task) => match &task.verb {
            TaskVerb::Graph(graph) if !matches!(graph.format(), GraphFormat::Svg(_)) => {
                no_picture(graph.width)
            }
            _ => None,
        },
        _ => None,
    };
    wrong.map_or(Ok(()), Err)
}

/// Returns the error for an option that does not apply to a format.
fn not_applying(id: &str, format: &TextFormat) -> Failure {
    let formats: Vec<&str> = formats_of(id).map(|format| format.name).collect();
    let plural = if formats.len() > 1 { "s" } else { "" };
    let names = alternatives(formats);
    let failure = Failure::new(format!(
        "`{}` does not apply to the format `{}`, only to the format{plural} {names}",
        option(id),
        format.name
    ));
    match id {
        "clock_gmt" => {
            failure.help("leave it out, or give a time of day to --begin, --end, --timerange or --filter")
        }
        _ => failure.help(format!("leave it out, or choose the format {names} with --format")),
    }
}

/// Returns the formats to which an option applies.
fn formats_of(id: &str) -> impl Iterator<Item = &'static TextFormat> {
    TextFormat::all().filter(move |format| format.has_option(id))
}

/// Returns the error for `--width` with an output that is not a picture.
fn no_picture(width: Option<u16>) -> Option<Failure> {
    width.map(|_| {
        Failure::new("`--width` only applies to the format `svg`")
            .help("leave it out, or choose the format with --format or by the name of FILE")
    })
}

/// Returns the error for an unknown property in `--fields`. Only for the format pretty, which has fixed properties.
fn no_property(cat: &Cat) -> Option<Failure> {
    let wrong = cat
        .text
        .properties()
        .err()
        .filter(|_| !cat.format().has_columns && cat.format().has_option("fields"))?;
    let known = || PROPERTIES.iter().map(|(name, _)| *name);
    let help = did_you_mean(wrong, known()).unwrap_or_else(|| format!("use {}", alternatives(known())));
    let failure = Failure::new(format!("`--fields`: unknown property `{wrong}` for the format `pretty`"));
    Some(failure.help(format!("{help}; event fields are columns in the formats `csv` and `tsv`")))
}

/// Returns `true` if a `cat` option applies to the selected format.
fn applies(id: &str, cat: &Cat) -> bool {
    // The time zone is also used for reading times.
    let has_times = has_times(&cat.selecting);
    cat.format().has_option(id) || (id == "clock_gmt" && has_times)
}

/// Returns `true` if the selection can contain times. Filter expressions can.
fn has_times(selecting: &Selecting) -> bool {
    selecting.begin().is_some() || selecting.end().is_some() || selecting.filter.is_some()
}

/// Returns the option as written on the command line.
fn option(id: &str) -> String {
    format!("--{}", id.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{CommandFactory, FromArgMatches};

    use super::*;

    /// Returns an example value for an option.
    fn example(id: &str) -> &'static [&'static str] {
        match id {
            "fields" => &["all"],
            "names" => &["none"],
            "details" => &["compact"],
            "output" => &["out"],
            "integers" => &["string"],
            "time" => &["iso"],
            _ => &[],
        }
    }

    fn check_words(words: &[&str]) -> Result<(), Failure> {
        let matches = LowArgs::command().try_get_matches_from(words).unwrap();
        check(&LowArgs::from_arg_matches(&matches).unwrap(), &matches)
    }

    /// Checks every option with every format. Options from the table must be errors where they do not apply.
    #[test]
    fn every_option_with_every_format() {
        for id in TextFormat::limited_options() {
            for format in TextFormat::all() {
                let option = option(id);
                let mut words = vec!["ichnos", "cat", "x", "--format", format.name, &option];
                words.extend(example(id));
                let result = check_words(&words);
                assert_eq!(result.is_ok(), format.has_option(id), "{words:?}: {result:?}");
                if let Err(failure) = result {
                    assert!(failure.message.contains(&format!("`{option}`")), "{failure}");
                    for format in formats_of(id) {
                        assert!(failure.message.contains(&format!("`{}`", format.name)), "{failure}");
                    }
                }
            }
        }
    }

    /// The formats that take each option, written down independently of the table.
    #[test]
    fn formats_of_options() {
        let expected = [
            ("clock_cycles", "pretty"),
            ("clock_date", "pretty log"),
            ("clock_gmt", "pretty log"),
            ("clock_seconds", "pretty"),
            ("no_delta", "pretty"),
            ("fields", "pretty csv tsv"),
            ("names", "pretty"),
            ("details", "details"),
            ("packets", "jsonl"),
            ("integers", "jsonl log-json"),
            ("time", "jsonl log-json csv tsv"),
            ("stacks", "pretty details jsonl log log-json"),
        ];
        for (id, formats) in expected {
            let found: Vec<&str> = formats_of(id).map(|format| format.name).collect();
            assert_eq!(found.join(" "), formats, "{id}");
        }
    }

    /// Every `cat` option must be in the table, or apply to all formats and be in the list below.
    #[test]
    fn every_option_is_known() {
        // `--force` needs `--output`, which is checked.
        let everywhere: Vec<&str> =
            "force format json begin end timerange stream event around max_events tail \
            stream_intersection threads chunk_size stats debug_info debug_info_dir target_prefix full_path \
            follow interval until"
                .split(' ')
                .collect();
        let mut command = LowArgs::command();
        command.build();
        let ids = |verb: &str| -> BTreeSet<String> {
            let verb = command.find_subcommand(verb).unwrap();
            verb.get_arguments().map(|argument| argument.get_id().to_string()).collect()
        };
        // Options shared by all verbs that read traces.
        let reading: BTreeSet<String> = ids("schema").intersection(&ids("check")).cloned().collect();
        let limited = TextFormat::limited_options();
        for id in ids("cat").difference(&reading) {
            let is_limited = limited.contains(&id.as_str());
            assert!(is_limited != everywhere.contains(&id.as_str()), "{id}");
        }
        for id in limited {
            assert!(ids("cat").contains(id), "{id}");
        }
    }

    #[test]
    fn several_and_none() {
        let failure =
            check_words(&["ichnos", "cat", "x", "--json", "--clock-date", "--no-delta"]).unwrap_err();
        assert_eq!(failure.others.len(), 1);
        check_words(&["ichnos", "cat", "x", "--json", "--clock-gmt", "--begin", "10:00"]).unwrap();
        check_words(&["ichnos", "cat", "x", "--clock-gmt", "--clock-date", "--fields=all"]).unwrap();
        check_words(&["ichnos", "info", "x", "--clock-gmt"]).unwrap();
        check_words(&["ichnos", "info", "x", "--clock-gmt", "--json"]).unwrap_err();
    }
}
