//! Expressions that select events: their text is the input, or they are made of it; the events are always the same.

use std::cell::OnceCell;
use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use ichnos::filter::FilterScope;
use ichnos::flow::Merge;
use ichnos::io::{Entry, Tree};
use ichnos::model::field::FieldValue;
use ichnos::model::{Cursor, Event, Message, OpenedTrace, Trace, Window};
use ichnos::{Expression, Filter, OpenOptions};

const LTTNG: &[u8] = include_bytes!("../../examples/hello-lttng/trace/ust/uid/65534/64-bit/chan_1");
const LTTNG_METADATA: &[u8] =
    include_bytes!("../../examples/hello-lttng/trace/ust/uid/65534/64-bit/metadata");
const CTF2: &[u8] = include_bytes!("../../examples/hello-ctf2/trace/thermometer");
const CTF2_METADATA: &[u8] = include_bytes!("../../examples/hello-ctf2/trace/metadata");
const LOG: &[u8] = include_bytes!("../../examples/hello-fuchsia/boot.log");

/// Traces of several formats: with classes that are declared, and with others that are only met.
fn traces() -> Vec<Box<dyn OpenedTrace>> {
    let tree = |files: &[(&str, &[u8])]| Tree {
        name: "t".to_owned(),
        entries: files.iter().map(|(path, bytes)| Entry::from_bytes(*path, bytes.to_vec())).collect(),
        problems: Vec::new(),
    };
    let trees = [
        tree(&[("metadata", LTTNG_METADATA), ("chan_1", LTTNG)]),
        tree(&[("metadata", CTF2_METADATA), ("thermometer", CTF2)]),
        tree(&[("boot.log", LOG)]),
    ];
    let options = OpenOptions::default().read;
    let open = |tree: &Tree| {
        let format = ichnos::FORMATS.iter().find(|format| format.probe(tree, &options)).expect("a format");
        format.open(&[tree], &options).traces
    };
    trees.iter().flat_map(open).collect()
}

/// Returns, for each event, `true` if an expression selects it.
fn selected(filter: &Filter, traces: &[Box<dyn OpenedTrace>]) -> Vec<bool> {
    let mut selector = filter.selector();
    for_each_event(traces, |event| {
        let is_selected = selector.selects(event);
        let window = filter.window();
        if let Some(time) = event.nanoseconds().filter(|_| is_selected) {
            assert!(window.begin.is_none_or(|begin| begin <= time), "before the window");
            assert!(window.end.is_none_or(|end| time <= end), "behind the window");
        }
        is_selected
    })
}

/// Truth of a condition for each of the events.
fn for_each_event(traces: &[Box<dyn OpenedTrace>], mut is: impl FnMut(&Event<'_>) -> bool) -> Vec<bool> {
    /// All classes are among this many of the first.
    const MOST: usize = 60;
    let mut found = Vec::new();
    for trace in traces {
        let mut merge = Merge::new(trace.cursors(Window::default()));
        let mut left = MOST;
        while left > 0 && merge.advance() {
            if let Some(Message::Event(event)) = merge.current() {
                found.push(is(&event));
                left -= 1;
            }
        }
    }
    found
}

thread_local! {
    static TRACES: OnceCell<Vec<Box<dyn OpenedTrace>>> = const { OnceCell::new() };
}

/// An expression is parsed, checked and evaluated. Printed, it is the same; its opposite selects no event that it
/// selects. If the first byte is 0, an expression is made of the others, and selects what the same conditions select
/// that are evaluated one by one, as plainly as they can be.
pub fn expression(bytes: &[u8]) {
    match bytes.split_first() {
        Some((0, rest)) => {
            let mut input = Unstructured::new(rest);
            if let Ok(condition) = Condition::arbitrary(&mut input, 4) {
                check(&condition.text(), Some(&condition));
            }
        }
        _ => {
            if let Ok(text) = std::str::from_utf8(bytes) {
                check(text, None);
            }
        }
    }
}

fn check(text: &str, condition: Option<&Condition>) {
    let expression = match Expression::parse(text) {
        Ok(expression) => expression,
        Err(error) => {
            assert!(condition.is_none(), "{text}: {error}");
            assert!(error.span.start <= error.span.end && error.span.end <= text.len().max(error.span.end));
            let _ = error.excerpt();
            return;
        }
    };
    let printed = expression.to_string();
    match Expression::parse(&printed) {
        Ok(again) => assert_eq!(again, expression, "{printed}"),
        // All parentheses are more than there were.
        Err(error) => assert!(printed.len() > Expression::MOST_BYTES, "{printed}: {error}"),
    }
    let resolve = |text: &str| match text.strip_prefix('@').map(str::parse) {
        Some(Ok(time)) => Ok(time),
        _ if text.len() % 3 == 0 => Err("it is none".to_owned()),
        _ => Ok(1_795_247_584_000_000_000 + text.len() as i128),
    };
    TRACES.with(|traces| {
        let traces = traces.get_or_init(self::traces);
        let all: Vec<Arc<Trace>> = traces.iter().map(|trace| Arc::clone(trace.trace())).collect();
        for (traces, all, has_dynamic_classes) in
            [(&traces[..2], &all[..2], false), (&traces[..], &all[..], true)]
        {
            let scope = FilterScope { traces: all, has_dynamic_classes };
            let filter = match Filter::new(&expression, scope, &resolve) {
                Ok(filter) => filter,
                Err(error) => {
                    let _ = error.excerpt();
                    continue;
                }
            };
            let opposite = Expression::parse(&format!("!({text}\n)")).ok();
            let opposite = opposite.and_then(|opposite| Filter::new(&opposite, scope, &resolve).ok());
            let found = selected(&filter, traces);
            let review = filter.review();
            assert!(has_dynamic_classes || review == Ok(Vec::new()), "{text} was checked before");
            if let Some(condition) = condition {
                let expected = for_each_event(traces, |event| {
                    condition.holds(event, !has_dynamic_classes) == Some(true)
                });
                assert_eq!(found, expected, "{text}");
                for printed in [&printed, &expression.text().replace(" and ", " AND ")] {
                    let again =
                        Expression::parse(printed).and_then(|again| Filter::new(&again, scope, &resolve));
                    assert_eq!(selected(&again.expect("the same expression"), traces), expected, "{printed}");
                }
            }
            if let Some(opposite) = opposite {
                let others = selected(&opposite, traces);
                assert!(!found.iter().zip(&others).any(|(a, b)| *a && *b), "both {text} and its opposite");
            }
        }
    });
}

/// A condition of what is in an expression, which can be evaluated without it.
#[derive(Debug)]
enum Condition {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Part { name: &'static str, word: &'static str, not: bool, part: &'static str },
    Label { word: &'static str, not: bool, part: &'static str },
    Among { name: &'static str, not: bool, ranges: Vec<(Option<i64>, Option<i64>)> },
    Time { ranges: Vec<(i64, i64)> },
}

/// Fields of strings and of numbers of the traces, some of them in several; none is a property where it is no field.
const TEXTS: [&str; 4] = ["text", "procname", "tag", "port"];
const NUMBERS: [&str; 9] = ["number", "balance", "vtid", "cpu_id", "hash", "load", "bytes", "celsius", "tid"];
const PARTS: [&str; 12] = ["", "h", "hello", "thread 0", "0", "*", "LO", "é", "netstack", "o", "C", "AN"];
/// The labels of a field, with the values that have them.
const MOODS: [(&str, i128, i128); 3] = [("CALM", 0, 0), ("BUSY", 1, 1), ("FRANTIC", 2, 9)];

impl Condition {
    fn arbitrary(input: &mut Unstructured<'_>, depth: u32) -> Result<Self> {
        let words = ["contains", "startswith", "endswith", "matches"];
        let several = |input: &mut Unstructured<'_>| -> Result<Vec<Self>> {
            let count = input.int_in_range(1..=3)?;
            (0..count).map(|_| Self::arbitrary(input, depth - 1)).collect()
        };
        let number = |input: &mut Unstructured<'_>| -> Result<i64> {
            let small = [-1, 0, 1, 2, 3, 10, 72, 500, 1105, 1400, 11_296, 11_297, i64::MAX, i64::MIN];
            Ok(*input.choose(&small)?)
        };
        let kind = if depth == 0 { input.int_in_range(3..=6)? } else { input.int_in_range(0..=6)? };
        Ok(match kind {
            0 => Self::All(several(input)?),
            1 => Self::Any(several(input)?),
            2 => Self::Not(Box::new(Self::arbitrary(input, depth - 1)?)),
            3 => Self::Part {
                name: input.choose(&TEXTS)?,
                word: input.choose(&words)?,
                not: input.arbitrary()?,
                part: input.choose(&PARTS)?,
            },
            4 => Self::Label {
                word: input.choose(&words)?,
                not: input.arbitrary()?,
                part: input.choose(&["C", "A", "CALM", "Y", "FRAN"])?,
            },
            5 => {
                let count = input.int_in_range(1..=3)?;
                let range = |input: &mut Unstructured<'_>| {
                    Ok(match (number(input)?, number(input)?, input.int_in_range(0..=3)?) {
                        (a, _, 0) => (Some(a), None),
                        (a, _, 1) => (None, Some(a)),
                        (a, _, 2) => (Some(a), Some(a)),
                        (a, b, _) => (Some(a.min(b)), Some(a.max(b))),
                    })
                };
                Self::Among {
                    name: input.choose(&NUMBERS)?,
                    not: input.arbitrary()?,
                    ranges: (0..count).map(|_| range(input)).collect::<Result<_>>()?,
                }
            }
            _ => {
                /// Within the first trace.
                const BEGIN: i64 = 1_795_252_931_955_000_000;
                let range = |input: &mut Unstructured<'_>| {
                    let (begin, length): (u32, u32) = (input.arbitrary()?, input.arbitrary()?);
                    let begin = BEGIN + i64::from(begin % 2_000_000);
                    Ok((begin, begin + i64::from(length % 2_000_000)))
                };
                let count = input.int_in_range(1..=2)?;
                Self::Time { ranges: (0..count).map(|_| range(input)).collect::<Result<_>>()? }
            }
        })
    }

    /// The expression.
    fn text(&self) -> String {
        let joined = |all: &[Self], word: &str| {
            let all: Vec<String> = all.iter().map(|one| format!("({})", one.text())).collect();
            all.join(word)
        };
        let list = |ranges: Vec<String>| format!("[{}]", ranges.join(", "));
        let negation = |not: &bool| if *not { "not " } else { "" };
        match self {
            Self::All(all) => joined(all, " and "),
            Self::Any(all) => joined(all, " or "),
            Self::Not(one) => format!("not ({})", one.text()),
            Self::Part { name, word, not, part } => {
                let part = if *word == "matches" { part.replace('*', "\\*") } else { (*part).to_owned() };
                format!("{name} {}{word} \"{part}\"", negation(not))
            }
            Self::Label { word, not, part } => format!("mood {}{word} \"{part}\"", negation(not)),
            Self::Among { name, not, ranges } => {
                let end = |end: &Option<i64>| end.map(|end| end.to_string()).unwrap_or_default();
                let ranges = ranges.iter().map(|(begin, last)| match (begin, last) {
                    (Some(begin), Some(last)) if begin == last => begin.to_string(),
                    _ => format!("{}..{}", end(begin), end(last)),
                });
                format!("{name} {}in {}", negation(not), list(ranges.collect()))
            }
            Self::Time { ranges } => {
                let ranges = ranges.iter().map(|(begin, last)| format!("@{begin}..@{last}"));
                format!("time in {}", list(ranges.collect()))
            }
        }
    }

    /// Returns `true` if it holds; `None` if a field is missing. `has_aliases`: `tid` is that of LTTng's context.
    fn holds(&self, event: &Event<'_>, has_aliases: bool) -> Option<bool> {
        let is_part = |word: &str, whole: &[u8], part: &[u8]| match word {
            "startswith" => whole.len() >= part.len() && whole[..part.len()] == *part,
            "endswith" => whole.len() >= part.len() && whole[whole.len() - part.len()..] == *part,
            _ => part.is_empty() || (0..whole.len()).any(|at| whole[at..].starts_with(part)),
        };
        match self {
            Self::All(all) => {
                let all: Vec<_> = all.iter().map(|one| one.holds(event, has_aliases)).collect();
                let is_false = all.contains(&Some(false));
                if is_false { Some(false) } else { (!all.contains(&None)).then_some(true) }
            }
            Self::Any(all) => {
                let all: Vec<_> = all.iter().map(|one| one.holds(event, has_aliases)).collect();
                let is_true = all.contains(&Some(true));
                if is_true { Some(true) } else { (!all.contains(&None)).then_some(false) }
            }
            Self::Not(one) => one.holds(event, has_aliases).map(|known| !known),
            Self::Part { name, word, not, part } => match event.field(name)? {
                FieldValue::Text(text) => Some(is_part(word, text, part.as_bytes()) != *not),
                // In other classes it is a number.
                _ => None,
            },
            Self::Label { word, not, part } => {
                let value = event.field("mood")?.as_i128()?;
                let mut labels = MOODS.iter().filter(|(_, first, last)| (*first..=*last).contains(&value));
                Some(labels.any(|(label, ..)| is_part(word, label.as_bytes(), part.as_bytes())) != *not)
            }
            Self::Among { name, not, ranges } => {
                let name = if has_aliases && *name == "tid" { "vtid" } else { name };
                let value = event.field(name)?;
                let is_in = |(begin, last): &(Option<i64>, Option<i64>)| match value {
                    FieldValue::Real(real) => {
                        let real = real.to_f64();
                        begin.is_none_or(|begin| real >= begin as f64)
                            && last.is_none_or(|last| real <= last as f64)
                    }
                    value => value.as_i128().is_some_and(|value| {
                        begin.is_none_or(|begin| value >= begin.into())
                            && last.is_none_or(|last| value <= last.into())
                    }),
                };
                matches!(value, FieldValue::Real(_) | FieldValue::Unsigned(_) | FieldValue::Signed(_))
                    .then(|| ranges.iter().any(is_in) != *not)
            }
            Self::Time { ranges } => {
                let time = event.nanoseconds()?;
                Some(
                    ranges
                        .iter()
                        .any(|(begin, last)| i128::from(*begin) <= time && time <= i128::from(*last)),
                )
            }
        }
    }
}
