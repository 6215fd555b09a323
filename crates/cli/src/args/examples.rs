//! Examples at the end of each verb's help.

use clap::{Command, CommandFactory as _};

use super::LowArgs;

/// Example command lines by verb.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("info", &["ichnos info TRACE", "ichnos info --count --begin -30s TRACE"]),
    (
        "cat",
        &[
            "ichnos cat --event 'sched_*' --begin 13:45 --end 13:46 TRACE",
            "ichnos cat --format csv --fields time,event,next_tid --filter 'next_tid > 5' TRACE",
        ],
    ),
    ("convert", &["ichnos convert --dry-run --losses TRACE", "ichnos convert TRACE -o OUT.jsonl --verify"]),
    (
        "cut",
        &[
            "ichnos cut --begin +5s --end +10s TRACE -o OUT",
            "ichnos cut --around 'level >= error' 2s TRACE -o OUT",
        ],
    ),
    ("filter", &["ichnos filter 'event == \"sched_switch\" && next_tid in [1, 2]' TRACE -o OUT"]),
    ("merge", &["ichnos merge TRACE TRACE -o OUT", "ichnos merge --offset 'TRACE=+1.5s' TRACE TRACE -o OUT"]),
    ("split", &["ichnos split --by time=10s TRACE -o OUT", "ichnos split --by vtid TRACE -o OUT"]),
    ("repair", &["ichnos repair TRACE -o OUT", "ichnos repair --verify --losses TRACE -o OUT"]),
    ("index", &["ichnos index TRACE"]),
    (
        "sql",
        &[
            "ichnos sql TRACE 'SELECT event, count(*) FROM trace GROUP BY event'",
            "ichnos sql --format csv TRACE 'FROM slowest_spans'",
        ],
    ),
    ("stacks", &["ichnos stacks --top 20 TRACE", "ichnos stacks --weight time TRACE -o profile.svg"]),
    (
        "stats",
        &[
            "ichnos stats --by thread --timeline TRACE",
            "ichnos stats --pair 'syscall_entry_*' 'syscall_exit_*' --key tid TRACE",
        ],
    ),
    ("task", &["ichnos task list TRACE...", "ichnos task path latest TRACE..."]),
    ("task list", &["ichnos task list --min-nodes 10 TRACE TRACE"]),
    ("task show", &["ichnos task show latest TRACE TRACE"]),
    ("task graph", &["ichnos task graph latest TRACE -o picture.svg"]),
    ("task path", &["ichnos task path latest TRACE TRACE"]),
    ("task diff", &["ichnos task diff 44F3 5A01 TRACE"]),
    ("task decode", &["ichnos task decode 14CAFEBABE0202020204C1020007"]),
    ("task export", &["ichnos task export 44F3 TRACE TRACE -o OUT"]),
    ("threads", &["ichnos threads TRACE", "ichnos threads --path 2673 --during +1s,+1.5s TRACE"]),
    #[cfg(feature = "view")]
    ("view", &["ichnos view TRACE", "ichnos view --port 7070 --no-open TRACE TRACE"]),
    ("collect", &["ichnos collect -o DIR --tcp 7831 --udp 0.0.0.0:7831"]),
    #[cfg(all(feature = "dotnet", target_os = "linux"))]
    (
        "record",
        &["ichnos record dotnet:4711 --profile gc -o FILE", "ichnos record -o FILE -- dotnet app.dll"],
    ),
    #[cfg(feature = "babeltrace2")]
    ("babeltrace2", &["ichnos babeltrace2 --clock-gmt TRACE", "ichnos babeltrace2 list-plugins"]),
    ("check", &["ichnos check --fail-on loss TRACE", "ichnos check --strict --metadata-only TRACE"]),
    ("schema", &["ichnos schema --event 'sched_*' TRACE"]),
    ("formats", &["ichnos formats --json"]),
    ("completions", &["ichnos completions bash"]),
    ("man", &["ichnos man cat | man -l -", "ichnos man --directory DIR"]),
];

/// Returns the command with examples for all verbs.
pub(crate) fn command() -> Command {
    EXAMPLES.iter().fold(LowArgs::command(), |command, (verb, lines)| match verb.split_once(' ') {
        None => command.mut_subcommand(verb, |verb| with_examples(verb, lines)),
        Some((verb, sub)) => {
            command.mut_subcommand(verb, |verb| verb.mut_subcommand(sub, |sub| with_examples(sub, lines)))
        }
    })
}

/// Adds examples after a verb's notes. Only the long help contains the notes.
fn with_examples(verb: Command, lines: &[&str]) -> Command {
    let heading = if lines.len() == 1 { "Example:" } else { "Examples:" };
    let examples = lines.iter().fold(heading.to_owned(), |text, line| format!("{text}\n  {line}"));
    let notes = verb.get_after_long_help().map(|notes| format!("{notes}\n\n")).unwrap_or_default();
    verb.after_help(examples.clone()).after_long_help(notes + &examples)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits a line as a shell does, with single quotes only.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        for c in line.chars() {
            match c {
                '\'' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        words
    }

    #[test]
    fn examples_are_valid() {
        for (verb, lines) in EXAMPLES {
            for line in *lines {
                let line = line.split(" | ").next().unwrap();
                assert!(line.starts_with(&format!("ichnos {verb} ")), "{line}");
                let parsed = command().try_get_matches_from(words(line));
                assert!(parsed.is_ok(), "{line}: {parsed:?}");
            }
        }
    }

    /// The short help of every verb must have the same sections and fit on a screen.
    #[test]
    fn short_help_is_short() {
        const SECTIONS: [&str; 7] =
            ["Arguments:", "Commands:", "Options:", "Selection:", "Reading:", "General options:", "Example"];
        fn check(command: &mut Command) {
            let help = command.render_help().to_string();
            let name = command.get_name().to_owned();
            assert!(help.lines().count() <= 40, "{name}: {} lines: {help}", help.lines().count());
            assert!(help.contains("\nExample"), "{name}: {help}");
            for heading in help.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')) {
                assert!(SECTIONS.iter().any(|section| heading.starts_with(section)), "{name}: {heading}");
            }
            command.get_subcommands_mut().filter(|sub| sub.get_name() != "help").for_each(check);
        }
        let mut command = command();
        command.build();
        command.get_subcommands_mut().filter(|verb| verb.get_name() != "help").for_each(check);
    }
}
