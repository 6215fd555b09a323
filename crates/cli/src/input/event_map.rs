//! Event maps that `--map` names.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use ichnos::model::meaning::{ClassMap, EventRole, Meaning};
use ichnos::query::{EventMap, SHORT_MEANINGS};

use crate::exit::Failure;
use crate::progress::Console;

/// Maximum number of problems to report.
const MOST_PROBLEMS: usize = 20;

/// Map that is applied to the traces.
static LOADED: OnceLock<Arc<EventMap>> = OnceLock::new();

/// Reads map files. Rules apply in file order, then in table order.
pub(crate) fn load(paths: &[PathBuf]) -> Result<Option<ClassMap>, Failure> {
    if paths.is_empty() {
        return Ok(None);
    }
    let map = EventMap::read(paths)?;
    Ok(Some(LOADED.get_or_init(|| Arc::new(map)).class_map()))
}

/// Reports rules that no event matched, and fields that events lack.
pub(crate) fn report_problems(console: Console) {
    let Some(map) = LOADED.get() else { return };
    let all = map.problems();
    for problem in all.iter().take(MOST_PROBLEMS) {
        console.warning(problem);
    }
    if all.len() > MOST_PROBLEMS {
        console.warning(&format!("{} further map problems", all.len() - MOST_PROBLEMS));
    }
}

/// Returns the text of `ichnos help map`.
pub(crate) fn help() -> String {
    let mut text = "\
A map assigns roles to events and meanings to fields, for viewers, statistics and filters. Any command that reads
traces accepts --map FILE. A map is a TOML file with a table for each pattern of event names:

  [[event]]
  match = \"app:request_*\"       # * is any text, ? a character, [a-z] one of them, {a,b} a or b
  role = \"begin\"
  track = \"thread\"              # or process, processor, trace
  name = \"request\"              # instead of the name of the event; also category, color, counter unit
  fields = { key = \"id\", name = \"path\", thread = \"ctx.vtid\" }

All tables that match an event apply, in their order. `ichnos schema --propose-map` drafts a map.

Roles:
"
    .to_owned();
    let column = |text: &mut String, name: &str, about: &str| {
        let _ = writeln!(text, "  {name:20}  {about}");
    };
    EventRole::ALL.into_iter().for_each(|role| column(&mut text, role.name(), about_role(role)));
    text.push_str("\nField meanings, by their short names:\n");
    SHORT_MEANINGS.into_iter().for_each(|(short, meaning)| column(&mut text, short, meaning.name()));
    text.push_str("\nAll meanings:\n");
    let names = Meaning::ALL.map(Meaning::name);
    for line in names.chunks(5) {
        let _ = writeln!(text, "  {}", line.join(", "));
    }
    text
}

fn about_role(role: EventRole) -> &'static str {
    match role {
        EventRole::Begin => "starts a span, nested in its track or identified by `key`",
        EventRole::End => "ends the span in its track, or the span with the same `key`",
        EventRole::Sample => "samples the call stack in the field `stack`",
        EventRole::Counter => "has counter values in the fields `value`",
        EventRole::Send => "sends the message with this `key`",
        EventRole::Receive => "receives the message with this `key`",
        EventRole::Switch => "switches the processor from `previous-thread` to `target-thread`",
        EventRole::Wakeup => "makes the thread `target-thread` runnable",
        EventRole::ThreadStart => "starts the thread `target-thread`, which is then runnable",
        EventRole::Frame => "ends a frame and starts the next frame",
        _ => "any other event",
    }
}
