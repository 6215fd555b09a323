//! Compares recorded files with the reference reader's baselines: the number of each event, and its first occurrence.

use std::collections::BTreeMap;
use std::path::Path;

use ichnos_model::Message;

use crate::comparison::{Comparison, OwnEvent};
use crate::reference::{Element, element};
use crate::support::{Opened, bytes_of, find};

/// Baseline line.
struct Line {
    /// Provider and event name.
    name: String,
    count: u64,
    first: Element,
}

impl Line {
    fn parse(line: &str) -> Self {
        let (name, rest) = line.split_once(", ").expect("a name");
        let (count, event) = rest.split_once(", ").expect("a number");
        // Line breaks within an event are escaped, and events are cut after 1,000 characters.
        let mut first = element(&event.replace("\\r\\n", "\r\n"));
        if !event.trim_end().ends_with('>') {
            first.children.pop();
            first.is_cut = true;
        }
        Self { name: name.to_owned(), count: count.parse().unwrap(), first }
    }
}

fn lines(path: &Path) -> Vec<Line> {
    let text = String::from_utf8(bytes_of(path).to_vec()).unwrap();
    text.trim_start_matches('\u{feff}').lines().filter(|line| !line.is_empty()).map(Line::parse).collect()
}

/// Events that baselines lack. They were made from TraceLog, which keeps these events in its code table.
const REMOVED: &[&str] = &["Method/DCStopVerbose", "Method/ILToNativeMapDCStop", "Method/ILToNativeMap"];

/// Events that TraceEvent took from the manifest in Windows, which lacks names for their opcodes.
pub const OF_WINDOWS: &[&str] = &["IncreaseMemoryPressure", "DecreaseMemoryPressure"];

/// Compares a file with its baseline.
fn compare(traces: &Path, name: &str) -> Comparison {
    let expected = lines(&traces.join("perfview").join(format!("{name}.baseline.txt")));
    let opened = Opened::new(&find(traces, name));
    let mut found: BTreeMap<String, (u64, OwnEvent)> = BTreeMap::new();
    opened.each(|message| match message {
        Message::Event(event) => {
            let own = OwnEvent::new(&opened, event);
            if REMOVED.contains(&&*own.reference_name) {
                return;
            }
            let mut own = own;
            if OF_WINDOWS.contains(&&*own.name) {
                own.reference_name = "GC".to_owned();
            }
            let name = format!("{}/{}", own.provider, own.reference_name);
            found.entry(name).or_insert((0, own)).0 += 1;
        }
        Message::Damage(damage) => panic!("{damage}"),
        _ => {}
    });
    let mut comparison = Comparison::default();
    for line in &expected {
        let Some((count, own)) = found.remove(&line.name) else {
            comparison.add(format!("{}: there is none", line.name));
            continue;
        };
        if count != line.count {
            comparison.add(format!("{}: {count} instead of {}", line.name, line.count));
        }
        comparison.one(&own, &line.first);
    }
    for (name, (count, _)) in found {
        comparison.add(format!("{name}: {count}, which the reference does not have"));
    }
    comparison
}

macro_rules! baselines {
    ($($test:ident: $name:literal;)*) => {
        $(
            #[test]
            fn $test() {
                let Some(traces) = ichnos_testing::recorded("nettrace") else { return };
                compare(&traces, $name).report($name);
            }
        )*

        /// Returns all comparisons.
        pub fn all(traces: &Path) -> Vec<Comparison> {
            vec![$(compare(traces, $name)),*]
        }
    };
}

baselines! {
    a_netperf_of_a_process: "eventpipe-dotnetcore2.1-linux-x64-objver3.netperf";
    a_netperf_of_event_sources: "eventpipe-dotnetcore2.1-linux-x64-tracelogging.netperf";
    many_kinds_of_events: "eventpipe-dotnetcore3.0-win-x64-objver4.nettrace";
    array_types: "eventpipe-dotnetcore5.0-win-x64-arraytypes.nettrace";
    execution_checkpoints: "eventpipe-dotnetcore6.0-win-x64-executioncheckpoints.nettrace";
}
