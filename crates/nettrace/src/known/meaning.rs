//! Meanings: what well-known events and their fields stand for.

use ichnos_model::meaning::EventRole;

use crate::{FieldType, PayloadField};

/// Field path: an index, then the index within that object, and so on.
pub type PayloadPath = Vec<usize>;

/// Meaning of an event and its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventMeaning {
    /// Event role in time.
    pub role: EventRole,
    /// Span name, shared by the [`EventRole::Begin`] and [`EventRole::End`] events. Both are matched within a provider
    /// and an activity, or a thread if there is no activity.
    pub span: Option<String>,
    /// Fields in an [`EventRole::Counter`] event.
    pub counter: Option<CounterFields>,
    /// Weight field in an [`EventRole::Sample`] event. Without it, each sample has the weight 1.
    pub weight: Option<PayloadPath>,
    /// Thread state field in an [`EventRole::Sample`] event.
    pub thread_state: Option<PayloadPath>,
    /// Field with a message for people.
    pub message: Option<PayloadPath>,
    /// Field with the message severity: 0 trace, 1 debug, 2 information, 3 warning, 4 error, 5 critical.
    pub severity: Option<PayloadPath>,
}

/// Event fields that form a counter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CounterFields {
    /// Name.
    pub name: PayloadPath,
    /// Meter in which the name is unique. Without it, the name is unique in the provider.
    pub group: Option<PayloadPath>,
    /// Labels, as text `key=value,…`.
    pub tags: Option<PayloadPath>,
    /// Unit.
    pub unit: Option<PayloadPath>,
    /// Value: a number, or a number as text (`System.Diagnostics.Metrics`, empty if nothing was measured). With
    /// [`CounterFields::is_text_of_quantiles`], a text with several numbers.
    pub value: PayloadPath,
    /// `true` if the value is the increase since the previous event, not the state.
    pub is_increment: bool,
    /// `true` if the value is a text like `0.5=1.5;0.95=3;0.99=7`.
    pub is_text_of_quantiles: bool,
}

/// Returns a field's path in `fields`, or in the unnamed outer object of a self-describing event.
fn path_of(fields: &[PayloadField], name: &str) -> Option<PayloadPath> {
    if let [PayloadField { name: around, kind: FieldType::Object(fields), .. }] = fields
        && around.is_empty()
    {
        return Some([vec![0], path_of(fields, name)?].concat());
    }
    Some(vec![fields.iter().position(|field| field.name == name)?])
}

/// Returns the fields in the object at `path`.
fn object_at<'a>(fields: &'a [PayloadField], path: &[usize]) -> Option<&'a [PayloadField]> {
    path.iter().try_fold(fields, |fields, &index| match &fields.get(index)?.kind {
        FieldType::Object(inside) => Some(inside.as_slice()),
        _ => None,
    })
}

/// Returns an event's meaning. Its fields are known ([`super::find`]) or described by metadata.
///
/// `opcode`: 1 for a start, 2 for a stop. 0 if missing in the metadata.
pub fn meaning(provider: &str, name: &str, opcode: u8, fields: &[PayloadField]) -> EventMeaning {
    let field = |name: &str| path_of(fields, name);
    let sample = |weight| EventMeaning { role: EventRole::Sample, weight, ..EventMeaning::default() };
    let message = |message| EventMeaning { message, ..EventMeaning::default() };
    let counts = |counter| EventMeaning {
        role: EventRole::Counter,
        counter: Some(counter),
        ..EventMeaning::default()
    };
    match (provider, name) {
        // An EventSource reports that it could not write an event, with any id. Before .NET 5, the field is named.
        (_, "EventSourceMessage") => {
            return message(field("message").or_else(|| field("")));
        }
        (_, "EventCounters") => {
            if let Some(counter) = event_counter(fields) {
                return counts(counter);
            }
        }
        ("Microsoft-DotNETCore-SampleProfiler", _) => {
            return EventMeaning { thread_state: field("Type"), ..sample(None) };
        }
        // The field contains the weight. For a context switch, this is a time.
        ("Universal.Events", _) => return sample(field("Value")),
        ("Microsoft-Windows-DotNETRuntime", "GCAllocationTick") => {
            return sample(field("AllocationAmount64").or_else(|| field("AllocationAmount")));
        }
        ("Microsoft-Windows-DotNETRuntime", "AllocationSampled") => return sample(field("ObjectSize")),
        (
            "Microsoft-Windows-DotNETRuntime",
            "GCSampledObjectAllocationHigh" | "GCSampledObjectAllocationLow",
        ) => return sample(field("TotalSizeForTypeSample")),
        ("Microsoft-Windows-DotNETRuntime", "ProfilerMessage")
        | ("Microsoft-Windows-DotNETRuntimeStress", "StressLogEvent")
        | ("Microsoft-Diagnostics-DiagnosticSource" | "System.Diagnostics.Metrics", "Message") => {
            return message(field("Message"));
        }
        ("Microsoft-Windows-DotNETRuntimePrivate", "FailFast") => {
            return message(field("FailFastUserMessage"));
        }
        ("System.Diagnostics.Metrics", "Error") => return message(field("errorMessage")),
        ("System.Diagnostics.Metrics", _) => {
            if let Some(counter) = metric(name, fields) {
                return counts(counter);
            }
        }
        ("Microsoft-Extensions-Logging", "FormattedMessage" | "MessageJson") => {
            let text = field("FormattedMessage").or_else(|| field("EventName"));
            return EventMeaning { message: text, severity: field("Level"), ..EventMeaning::default() };
        }
        _ => {}
    }
    let mut meaning = EventMeaning::default();
    if name == "ExceptionThrown" {
        meaning.message = field("ExceptionMessage");
    }
    // The names of the runtime's events do not identify spans. Their table does.
    if !provider.starts_with("Microsoft-Windows-DotNETRuntime")
        && let Some((role, span)) = span_of(name, opcode)
    {
        meaning.role = role;
        meaning.span = Some(span.to_owned());
    }
    meaning
}

/// Returns the span name for an event name, if such an event starts or ends a span.
fn span_of(name: &str, opcode: u8) -> Option<(EventRole, &str)> {
    let (role, suffixes): (_, &[&str]) = match opcode {
        1 => (EventRole::Begin, &["Start", "Begin"]),
        2 => (EventRole::End, &["Stop", "End"]),
        // Before .NET 5, metadata lacks opcodes.
        _ if name.len() > 5 && name.ends_with("Start") => (EventRole::Begin, &["Start"]),
        _ if name.len() > 4 && name.ends_with("Stop") => (EventRole::End, &["Stop"]),
        _ => return None,
    };
    let span = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix)).filter(|span| !span.is_empty());
    Some((role, span.unwrap_or(name)))
}

/// Returns the counter in an `EventCounters` event: an object `Payload` with a mean or an increment.
fn event_counter(fields: &[PayloadField]) -> Option<CounterFields> {
    let payload = path_of(fields, "Payload")?;
    let inside = object_at(fields, &payload)?;
    let field = |name: &str| Some([payload.clone(), path_of(inside, name)?].concat());
    let increment = field("Increment");
    Some(CounterFields {
        name: field("Name")?,
        group: None,
        tags: field("Metadata"),
        unit: field("DisplayUnits"),
        is_increment: increment.is_some(),
        value: increment.or_else(|| field("Mean"))?,
        is_text_of_quantiles: false,
    })
}

/// Returns the counter in a `System.Diagnostics.Metrics` event.
fn metric(name: &str, fields: &[PayloadField]) -> Option<CounterFields> {
    let field = |name: &str| path_of(fields, name);
    let (value, is_increment) = match name {
        "CounterRateValuePublished" | "UpDownCounterRateValuePublished" => match field("value") {
            Some(value) => (value, false),
            None => (field("rate")?, true),
        },
        "GaugeValuePublished" => (field("lastValue")?, false),
        "HistogramValuePublished" => (field("quantiles")?, false),
        "Base2ExponentialHistogramValuePublished" => (field("sum")?, false),
        _ => return None,
    };
    Some(CounterFields {
        name: field("instrumentName")?,
        group: field("meterName"),
        tags: field("tags"),
        unit: field("unit"),
        value,
        is_increment,
        is_text_of_quantiles: name == "HistogramValuePublished",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, kind: FieldType) -> PayloadField {
        PayloadField::new(name, kind)
    }

    fn utf16(name: &str) -> PayloadField {
        field(name, FieldType::Utf16String)
    }

    #[test]
    fn counters_are_found_in_their_object() {
        // Described as in .NET 10: an unnamed outer object.
        let counter = |names: &[(&str, FieldType)]| {
            let inside = names.iter().map(|(name, kind)| field(name, kind.clone())).collect();
            vec![field("", FieldType::Object(vec![field("Payload", FieldType::Object(inside))]))]
        };
        let mean =
            counter(&[("Name", FieldType::Utf16String), ("Mean", FieldType::F64), ("Count", FieldType::I32)]);
        let meaning = meaning("System.Runtime", "EventCounters", 0, &mean);
        assert_eq!(meaning.role, EventRole::Counter);
        let counter_fields = meaning.counter.expect("a counter");
        assert_eq!((counter_fields.name, counter_fields.value), (vec![0, 0, 0], vec![0, 0, 1]));
        assert!(!counter_fields.is_increment);

        let increment = counter(&[("Name", FieldType::Utf16String), ("Increment", FieldType::F64)]);
        let meaning = super::meaning("System.Runtime", "EventCounters", 0, &increment);
        assert!(meaning.counter.is_some_and(|counter| counter.is_increment && counter.value == [0, 0, 1]));

        let other = super::meaning("My-Source", "EventCounters", 0, &[utf16("Name")]);
        assert_eq!(other, EventMeaning::default());
    }

    #[test]
    fn metrics_are_counters() {
        let names = ["sessionId", "meterName", "meterVersion", "instrumentName", "unit", "tags", "rate"];
        let mut fields: Vec<_> = names.into_iter().map(utf16).collect();
        let metric =
            |name, fields: &[PayloadField]| meaning("System.Diagnostics.Metrics", name, 0, fields).counter;
        let counter = metric("CounterRateValuePublished", &fields).expect("a counter");
        assert_eq!((counter.name, counter.group, counter.unit), (vec![3], Some(vec![1]), Some(vec![4])));
        assert_eq!((counter.value, counter.is_increment), (vec![6], true));
        // Newer versions also have the value.
        fields.push(utf16("value"));
        let counter = metric("CounterRateValuePublished", &fields).expect("a counter");
        assert_eq!((counter.value, counter.is_increment), (vec![7], false));
        assert_eq!(metric("HistogramValuePublished", &fields), None);
        fields.push(utf16("quantiles"));
        assert!(
            metric("HistogramValuePublished", &fields).is_some_and(|counter| counter.is_text_of_quantiles)
        );
        assert_eq!(metric("BeginInstrumentReporting", &fields), None);
        let span = meaning("System.Diagnostics.Metrics", "CollectionStart", 1, &fields);
        assert_eq!((span.role, span.span.as_deref()), (EventRole::Begin, Some("Collection")));
    }

    #[test]
    fn what_an_event_source_says_of_itself_is_a_message() {
        // First .NET 3.1, then .NET 10.
        let around = vec![field("", FieldType::Object(vec![utf16("message")]))];
        assert_eq!(meaning("My-Source", "EventSourceMessage", 0, &around).message, Some(vec![0, 0]));
        assert_eq!(meaning("My-Source", "EventSourceMessage", 0, &[utf16("")]).message, Some(vec![0]));
        assert_eq!(meaning("My-Source", "EventSourceMessage", 0, &[]).message, None);
    }

    #[test]
    fn names_tell_what_starts_and_stops() {
        let span = |name, opcode| {
            let meaning = meaning("My-Source", name, opcode, &[]);
            (meaning.role, meaning.span)
        };
        let request = Some("Request".to_owned());
        assert_eq!(span("RequestStart", 1), (EventRole::Begin, request.clone()));
        assert_eq!(span("RequestStop", 2), (EventRole::End, request.clone()));
        // Without an opcode in the file.
        assert_eq!(span("RequestStart", 0), (EventRole::Begin, request.clone()));
        assert_eq!(span("RequestStop", 0), (EventRole::End, request.clone()));
        assert_eq!(span("Request", 1), (EventRole::Begin, request));
        for name in ["Start", "Stop", "Restarted", ""] {
            assert_eq!(span(name, 0), (EventRole::Instant, None));
        }
    }
}
