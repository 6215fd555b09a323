//! Metadata in CTF2-SPEC-2.0.
//!
//! Other dialects for the same data, as far as they can express it, come from the writers of `ichnos-ctf`.

mod field_class;
mod json_text;
mod metadata_output;

use core::fmt::{self, Write};

use self::field_class::{structure_members, unsigned};
use self::json_text::JsonText;
use self::metadata_output::MetadataOutput;
use crate::description::{EventDescription, MemberDescription};
use crate::event_set::EventSet;

/// Clock of a trace.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ClockDescription<'a> {
    /// Name.
    pub name: &'a str,
    /// Cycles per second.
    pub frequency: u64,
    /// Time of cycle 0 in seconds since the Unix epoch, and further cycles. `None` if nobody knows it.
    pub epoch: Option<(i64, u64)>,
    /// How far the clock can be wrong, in cycles.
    pub precision: Option<u64>,
}

impl<'a> ClockDescription<'a> {
    /// Describes a clock that starts at an unknown time.
    #[must_use]
    pub const fn new(name: &'a str, frequency: u64) -> Self {
        Self { name, frequency, epoch: None, precision: None }
    }

    /// Sets the time of cycle 0: seconds since the Unix epoch, and further cycles, less than a second.
    #[must_use]
    pub const fn since_epoch(mut self, seconds: i64, cycles: u64) -> Self {
        self.epoch = Some((seconds, cycles));
        self
    }

    /// Sets how far the clock can be wrong, in cycles.
    #[must_use]
    pub const fn with_precision(mut self, cycles: u64) -> Self {
        self.precision = Some(cycles);
        self
    }
}

/// What a trace says about itself, apart from its events.
#[derive(Clone, Copy, Debug)]
pub struct TraceDescription<'a> {
    /// Clock of all data streams.
    pub clock: ClockDescription<'a>,
    /// Name and value of each entry of the trace environment.
    pub environment: &'a [(&'a str, EnvironmentValue<'a>)],
    has_annotations: bool,
    /// Members that all events have.
    pub(crate) common_context: &'a [MemberDescription<'a>],
}

/// Value of an entry in the trace environment.
#[derive(Clone, Copy, Debug)]
pub enum EnvironmentValue<'a> {
    /// Integer.
    Integer(i64),
    /// Text.
    Text(&'a str),
}

impl<'a> TraceDescription<'a> {
    /// Describes a trace with a clock.
    #[must_use]
    pub const fn new(clock: ClockDescription<'a>) -> Self {
        Self { clock, environment: &[], has_annotations: true, common_context: &[] }
    }

    /// Leaves out what only ichnos reads: roles, meanings, and which members are lengths. CTF 1.8 has no place for it.
    #[must_use]
    pub const fn without_annotations(mut self) -> Self {
        self.has_annotations = false;
        self
    }

    /// Writes the metadata of a program with all events of a set, in CTF2-SPEC-2.0.
    ///
    /// A build script or a test can write other dialects for the same data, with `ichnos`:
    ///
    /// ```
    /// use ichnos::ctf::metadata::{Dialect, MetadataOptions, parse, write_metadata};
    /// use ichnos_tracer::{ClockDescription, TraceDescription, TraceEvent};
    ///
    /// #[derive(TraceEvent)]
    /// struct Tick { number: u32 }
    /// ichnos_tracer::event_set! { struct Events { Tick } }
    ///
    /// let mut text = String::new();
    /// let trace = TraceDescription::new(ClockDescription::new("cycles", 1_000_000));
    /// trace.without_annotations().write::<Events>(&mut text)?;
    /// let read = parse(text.as_bytes(), &MetadataOptions::default()).map_err(|error| format!("{error:?}"))?;
    /// // CTF 1.8 has no Booleans, options, flags and BLOBs. The error names the fields.
    /// let written = write_metadata(&read.trace, Dialect::Ctf18, &Default::default());
    /// let tsdl = written.map_err(|unsupported| format!("{unsupported:?}"))?.text;
    /// # assert!(tsdl.starts_with("/* CTF 1.8 */"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Errors of the output.
    pub fn write<S: EventSet>(&self, out: &mut dyn Write) -> fmt::Result {
        self.write_head(out)?;
        let out = &mut MetadataOutput { out, has_annotations: self.has_annotations };
        for (id, class) in S::CLASSES.iter().enumerate() {
            write_class(out, id, class)?;
        }
        Ok(())
    }

    /// Writes the metadata without event record classes.
    pub(crate) fn write_head(&self, out: &mut dyn Write) -> fmt::Result {
        let out = &mut MetadataOutput { out, has_annotations: self.has_annotations };
        out.write_str("\u{1e}{\"type\":\"preamble\",\"version\":2}\n")?;
        self.write_trace(out)?;
        self.write_clock(out)?;
        self.write_stream(out)
    }

    fn write_trace(&self, out: &mut MetadataOutput<'_>) -> fmt::Result {
        out.write_str("\u{1e}{\"type\":\"trace-class\",\"environment\":{")?;
        let tracer = ("tracer_name", EnvironmentValue::Text("ichnos-tracer"));
        for (index, (name, value)) in core::iter::once(&tracer).chain(self.environment).enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match value {
                EnvironmentValue::Integer(value) => write!(out, "{comma}{}:{value}", JsonText(name))?,
                EnvironmentValue::Text(text) => write!(out, "{comma}{}:{}", JsonText(name), JsonText(text))?,
            }
        }
        out.write_str("},\"packet-header-field-class\":{\"type\":\"structure\",\"member-classes\":[")?;
        unsigned(out, "magic", 32, 4, "packet-magic-number")?;
        out.write_str(",")?;
        unsigned(out, "stream_id", 16, 2, "data-stream-class-id")?;
        out.write_str(",")?;
        unsigned(out, "stream_instance_id", 16, 2, "data-stream-id")?;
        out.write_str("]}}\n")
    }

    fn write_clock(&self, out: &mut dyn Write) -> fmt::Result {
        let ClockDescription { name, frequency, epoch, precision } = self.clock;
        let name = JsonText(name);
        write!(
            out,
            "\u{1e}{{\"type\":\"clock-class\",\"id\":{name},\"name\":{name},\"frequency\":{frequency}"
        )?;
        if let Some((seconds, cycles)) = epoch {
            write!(
                out,
                ",\"origin\":\"unix-epoch\",\"offset-from-origin\":{{\"seconds\":{seconds},\"cycles\":{cycles}}}"
            )?;
        }
        if let Some(cycles) = precision {
            write!(out, ",\"precision\":{cycles}")?;
        }
        out.write_str("}\n")
    }

    fn write_stream(&self, out: &mut MetadataOutput<'_>) -> fmt::Result {
        let clock = JsonText(self.clock.name);
        write!(out, "\u{1e}{{\"type\":\"data-stream-class\",\"id\":0,\"default-clock-class-id\":{clock}")?;
        out.write_str(",\"packet-context-field-class\":{\"type\":\"structure\",\"member-classes\":[")?;
        const CONTEXT: [(&str, u8, &str); 6] = [
            ("packet_size", 32, "packet-total-length"),
            ("content_size", 32, "packet-content-length"),
            ("timestamp_begin", 64, "default-clock-timestamp"),
            ("timestamp_end", 64, "packet-end-default-clock-timestamp"),
            ("packet_seq_num", 32, "packet-sequence-number"),
            ("events_discarded", 32, "discarded-event-record-counter-snapshot"),
        ];
        for (index, (name, bits, role)) in CONTEXT.iter().enumerate() {
            out.write_str(if index == 0 { "" } else { "," })?;
            unsigned(out, name, *bits, usize::from(bits / 8), role)?;
        }
        out.write_str("]},\"event-record-header-field-class\":{\"type\":\"structure\",\"member-classes\":[")?;
        unsigned(out, "id", 16, 1, "event-record-class-id")?;
        out.write_str(",")?;
        unsigned(out, "timestamp", 32, 1, "default-clock-timestamp")?;
        out.write_str("]}")?;
        if !self.common_context.is_empty() {
            out.write_str(
                ",\"event-record-common-context-field-class\":{\"type\":\"structure\",\"member-classes\":[",
            )?;
            structure_members(out, self.common_context)?;
            out.write_str("]}")?;
        }
        out.write_str("}\n")
    }
}

/// Writes an event record class.
#[cfg(all(feature = "std", target_os = "linux"))]
pub(crate) fn write_event(out: &mut dyn Write, id: usize, class: &EventDescription<'_>) -> fmt::Result {
    write_class(&mut MetadataOutput { out, has_annotations: true }, id, class)
}

fn write_class(out: &mut MetadataOutput<'_>, id: usize, class: &EventDescription<'_>) -> fmt::Result {
    let name = JsonText(class.name);
    write!(
        out,
        "\u{1e}{{\"type\":\"event-record-class\",\"id\":{id},\"data-stream-class-id\":0,\"name\":{name}"
    )?;
    if let Some(namespace) = class.namespace {
        write!(out, ",\"namespace\":{}", JsonText(namespace))?;
    }
    write_attributes(out, class)?;
    out.write_str(",\"payload-field-class\":{\"type\":\"structure\",\"member-classes\":[")?;
    structure_members(out, class.members)?;
    out.write_str("]}}\n")
}

/// Writes the level and the EMF URI as Babeltrace stores them, and what only ichnos knows in its own namespace.
fn write_attributes(out: &mut MetadataOutput<'_>, class: &EventDescription<'_>) -> fmt::Result {
    let mut objects = 0;
    let mut object = |out: &mut dyn Write, name: &str| -> fmt::Result {
        objects += 1;
        write!(out, "{}{}:{{", if objects == 1 { ",\"attributes\":{" } else { "," }, JsonText(name))
    };
    if class.level.is_some() || class.emf_uri.is_some() {
        object(out, "babeltrace.org,2020")?;
        let level = class.level.map(|level| ("log-level", level.name()));
        texts(out, level.into_iter().chain(class.emf_uri.map(|uri| ("emf-uri", uri))))?;
    }
    let has_annotations = out.has_annotations;
    if has_annotations && !class.facts.is_empty() {
        object(out, "ichnos-tracer")?;
        texts(out, class.facts.iter().copied())?;
    }
    let meanings = || class.members.iter().filter_map(|member| Some((member.name, member.meaning?)));
    let has_any = class.role.is_some() || class.span_name.is_some() || meanings().next().is_some();
    if has_annotations && has_any {
        object(out, "ichnos")?;
        let mut comma = "";
        if let Some(role) = class.role {
            write!(out, "\"role\":{}", JsonText(role))?;
            comma = ",";
        }
        if let Some(name) = class.span_name {
            write!(out, "{comma}\"display\":{{\"name\":{}}}", JsonText(name))?;
            comma = ",";
        }
        if meanings().next().is_some() {
            write!(out, "{comma}\"meanings\":[")?;
            for (index, (member, meaning)) in meanings().enumerate() {
                let comma = if index == 0 { "" } else { "," };
                write!(out, "{comma}{{\"scope\":\"event-record-payload\",\"member\":{}", JsonText(member))?;
                write!(out, ",\"meaning\":{}}}", JsonText(meaning))?;
            }
            out.write_str("]")?;
        }
        out.write_str("}")?;
    }
    if objects > 0 { out.write_str("}") } else { Ok(()) }
}

/// Writes the members of an object of texts, and its end.
fn texts<'a>(out: &mut dyn Write, texts: impl Iterator<Item = (&'a str, &'a str)>) -> fmt::Result {
    for (index, (name, text)) in texts.enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}{}:{}", JsonText(name), JsonText(text))?;
    }
    out.write_str("}")
}
