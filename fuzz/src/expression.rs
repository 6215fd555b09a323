//! Expressions that select events: their text is the input, the events are always the same.

use std::cell::OnceCell;
use std::sync::Arc;

use ichnos::flow::{FilterScope, Merge};
use ichnos::io::{Entry, Tree};
use ichnos::model::{Cursor, Message, Trace, TraceInput, Window};
use ichnos::{Expression, Filter, OpenOptions};

const LTTNG: &[u8] = include_bytes!("../../examples/hello-lttng/trace/ust/uid/65534/64-bit/chan_1");
const LTTNG_METADATA: &[u8] = include_bytes!("../../examples/hello-lttng/trace/ust/uid/65534/64-bit/metadata");
const CTF2: &[u8] = include_bytes!("../../examples/hello-ctf2/trace/thermometer");
const CTF2_METADATA: &[u8] = include_bytes!("../../examples/hello-ctf2/trace/metadata");
const LOG: &[u8] = include_bytes!("../../examples/hello-fuchsia/boot.log");

/// Traces of several formats: with classes that are declared, and with others that are only met.
fn traces() -> Vec<Box<dyn TraceInput>> {
    let tree = |files: &[(&str, &[u8])]| Tree {
        name: "t".to_owned(),
        entries: files.iter().map(|(path, bytes)| Entry::of_bytes(*path, bytes.to_vec())).collect(),
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

/// Whether an expression selects each of the events, by a selector for each.
fn selected(filter: &Filter, traces: &[Box<dyn TraceInput>]) -> Vec<bool> {
    /// All classes are among this many of the first.
    const MOST: usize = 60;
    let mut selector = filter.selector();
    let mut found = Vec::new();
    for trace in traces {
        let mut merge = Merge::new(trace.cursors(Window::default()));
        let mut left = MOST;
        while left > 0 && merge.advance() {
            if let Some(Message::Event(event)) = merge.current() {
                let is_selected = selector.selects(&event);
                let window = filter.window();
                if let Some(time) = event.nanoseconds().filter(|_| is_selected) {
                    assert!(window.begin.is_none_or(|begin| begin <= time), "before the window");
                    assert!(window.end.is_none_or(|end| time <= end), "behind the window");
                }
                found.push(is_selected);
                left -= 1;
            }
        }
    }
    found
}

thread_local! {
    static TRACES: OnceCell<Vec<Box<dyn TraceInput>>> = const { OnceCell::new() };
}

/// An expression is parsed, checked and evaluated. Printed, it is the same; its opposite selects no event that it
/// selects.
pub fn expression(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let expression = match Expression::parse(text) {
        Ok(expression) => expression,
        Err(error) => {
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
        for (traces, all, has_dynamic_classes) in [(&traces[..2], &all[..2], false), (&traces[..], &all[..], true)] {
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
            if let Some(opposite) = opposite {
                let others = selected(&opposite, traces);
                assert!(!found.iter().zip(&others).any(|(a, b)| *a && *b), "both {text} and its opposite");
            }
        }
    });
}
