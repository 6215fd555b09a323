//! Changes to a trace class after its metadata was parsed.

use ichnos_model::TraceClass;
use ichnos_model::class::Value;
use ichnos_model::trace::Limits;

use crate::ctf_options::CtfOptions;
use crate::known_events::add_known_events;
use crate::log_role::add_log_roles;
use crate::metadata;
use crate::quirks::Quirk;

/// Adds the clock offsets from the options.
///
/// # Errors
/// Returns a sentence without the full stop if an offset is out of range.
pub(crate) fn add_clock_offsets(class: &mut TraceClass, options: &CtfOptions) -> Result<(), String> {
    let wrong = class.clocks.iter_mut().find_map(|clock| {
        let is_in_range = options.clock_offsets.add_to(clock);
        (!is_in_range).then(|| clock.id.clone())
    });
    match wrong {
        Some(id) => Err(format!("the offset of the clock `{id}` is out of range")),
        None => Ok(()),
    }
}

/// Corrects the effects of known tracer bugs on a class. Returns these bugs.
pub(crate) fn correct_quirks(class: &mut TraceClass, options: &CtfOptions) -> Vec<Quirk> {
    let mut quirks = Quirk::for_trace(class);
    quirks.retain(|quirk| !options.without_quirks.contains(quirk));
    quirks.iter().for_each(|quirk| quirk.correct(class));
    quirks
}

/// Adds to a class what the metadata says in annotations, and what is known about events of common tracers.
pub(crate) fn complete_class(class: &mut TraceClass, options: &CtfOptions, limits: &Limits) {
    if !options.without_annotations {
        metadata::take_over_annotations(class, limits);
    }
    add_known_events(class);
    add_log_roles(class);
}

/// Returns Babeltrace's name for a trace: its host, and a further name.
pub(crate) fn trace_name(class: &TraceClass, further: Option<&str>) -> String {
    let host = class.environment("hostname").and_then(Value::as_text).unwrap_or_default();
    let separator = if host.is_empty() || further.is_none() { "" } else { "/" };
    format!("{host}{separator}{}", further.unwrap_or_default())
}
