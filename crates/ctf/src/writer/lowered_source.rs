//! Sources adapted to a dialect.

use std::sync::Arc;

use ichnos_io::{CreateError, WriteOptions, WriteSource};
use ichnos_model::class::{ByteOrder, DataStreamClass, FieldClass, Role, Roles, UuidOf};
use ichnos_model::lower::{Capabilities, ExtendedScopes, Feature, LossKind, LowerOptions, LoweredTrace};
use ichnos_model::{Scope, Trace, TraceClass, Window};

use super::capabilities::capabilities;
use super::frame::{add_fields, add_packets, add_stream_ids, add_times, packet_header};
use super::names::derived_uuid;
use super::packet_clock::{ClockContinuity, PacketClock};
use super::packet_sizes::adapt_sizes;
use super::source_frame::{AddedFields, LostRoles, SourceFrame};
use crate::metadata::Dialect;
use crate::quirks::Quirk;

/// Adapts a trace to a dialect, with the fields that its packets and event records need.
///
/// # Errors
/// Returns an error if the lowered classes cannot be compiled.
pub(super) fn lower(
    source: &WriteSource,
    options: &WriteOptions,
    dialect: Dialect,
) -> Result<LoweredTrace, CreateError> {
    let mut capabilities = capabilities(dialect);
    // Clocks stay as they are within the same dialect.
    if source.trace.class.dialect == dialect.title() {
        capabilities.features = capabilities.features.with(&[Feature::SeveralClocks]);
    }
    let separates_scopes = source.format != "ctf" && !source.format.is_empty();
    let adaptation = Adaptation::new(source, options, dialect, capabilities);
    let Adaptation { frame, clocks, .. } = &adaptation;
    let added = || adaptation.streams.iter().map(|(_, added)| added);
    let adds = |role| added().any(|added| added.has(role));
    let extends = |scope| added().any(|added| added.in_scope(scope).next().is_some());
    let lower_options = LowerOptions {
        annotates: separates_scopes || source.trace.is_mapped(),
        separates_scopes,
        // If added fields contain the class ids, they may differ from the source's ids.
        numbers_classes: added().all(|added| added.has(Role::EventRecordClassId)),
        numbers_streams: !frame.is_ctf || !frame.mirrors || adds(Role::DataStreamClassId),
        extended: ExtendedScopes {
            packet_header: extends(Scope::PacketHeader),
            packet_context: extends(Scope::PacketContext) || clocks.iter().any(|clock| clock.adds_begin),
            event_record_header: extends(Scope::EventRecordHeader),
        },
        dropped_counters: options.all_recounted(),
        limits: options.limits,
    };
    let widened_roles: Vec<Roles> = clocks.iter().map(|clock| clock.widened).collect();
    let complete = |class: &mut TraceClass| adaptation.complete(class, source, options, dialect);
    let lowered =
        LoweredTrace::new(&source.trace, &adaptation.capabilities, lower_options, &widened_roles, complete);
    let lowered =
        lowered.map_err(|error| CreateError::Classes { trace: source.trace.path.clone(), error })?;
    if keeps_packets(options) {
        record_whole_times(&lowered, clocks);
    }
    for (stream, added) in &adaptation.streams {
        for (field, what) in added.changes(stream) {
            lowered.record_loss(LossKind::Lowered, "", field, what);
        }
    }
    record_origins(&lowered);
    let leaves_out = options.leaves_out || options.leaves_out_packets || options.window != Window::default();
    record_other_clocks(&lowered, frame.is_ctf, leaves_out);
    Ok(lowered)
}

/// Changes to a source's packets and event record headers for a dialect.
struct Adaptation {
    frame: SourceFrame,
    /// Data stream classes without the roles that they lose, and the fields added to them.
    streams: Vec<(DataStreamClass, AddedFields)>,
    /// Packet times by data stream class, if packets are created from source packets.
    clocks: Vec<PacketClock>,
    capabilities: Capabilities,
}

impl Adaptation {
    fn new(
        source: &WriteSource,
        options: &WriteOptions,
        dialect: Dialect,
        capabilities: Capabilities,
    ) -> Self {
        let class = &source.trace.class;
        let frame = SourceFrame::for_trace(source.format, class, options);
        let goes_on = ClockContinuity::for_trace(class, dialect);
        let (mut streams, mut clocks) = (Vec::new(), Vec::new());
        for stream in &class.data_streams {
            let (lost, stream) = LostRoles::for_stream(class, stream, &capabilities);
            if frame.mirrors {
                clocks.push(PacketClock::for_stream(&stream, options, goes_on, frame.is_ctf, &lost));
            }
            let added = frame.added_fields(&stream, &lost, options);
            streams.push((stream, added));
        }
        Self { frame, streams, clocks, capabilities }
    }

    /// Adds the fields that the dialect needs to a lowered class.
    fn complete(
        &self,
        class: &mut TraceClass,
        source: &WriteSource,
        options: &WriteOptions,
        dialect: Dialect,
    ) {
        let (original, capabilities) = (&source.trace.class, &self.capabilities);
        dialect.title().clone_into(&mut class.dialect);
        class.default_byte_order.get_or_insert(ByteOrder::LittleEndian);
        let gets_no_stream = original.data_streams.is_empty() && !source.format.is_empty();
        let is_kept = original.dialect == dialect.title() && !options.repair;
        if gets_no_stream && dialect != Dialect::Ctf18 && !is_kept {
            // CTF 2 needs a data stream class. A source that is not a trace gets its classes later.
            class.data_streams.push(DataStreamClass::default());
        }
        if !options.selected_by.is_empty() {
            identify_part(class, &options.selected_by);
        }
        if dialect == Dialect::Spec2 {
            identify_trace(class, &source.trace);
        }
        if !self.frame.mirrors {
            add_packets(class, capabilities);
        } else if self.frame.lacks_header {
            class.packet_header = Some(Arc::new(packet_header(class.uuid.is_some(), capabilities)));
        }
        if let Some((_, added)) = self.streams.first() {
            add_stream_ids(class, *added, capabilities);
        }
        for (stream, (_, added)) in class.data_streams.iter_mut().zip(&self.streams) {
            add_fields(stream, *added, capabilities, source.has_dynamic_classes);
            adapt_sizes(stream, &original.dialect, dialect);
        }
        for (stream, clock) in class.data_streams.iter_mut().zip(&self.clocks) {
            add_times(stream, *clock, capabilities);
        }
    }
}

/// Records the packet times that get full-width fields.
fn record_whole_times(lowered: &LoweredTrace, clocks: &[PacketClock]) {
    let added = [
        ("begin", "begins", clocks.iter().filter(|clock| clock.adds_begin).count()),
        ("end", "ends", clocks.iter().filter(|clock| clock.adds_end).count()),
    ];
    for (name, verb, count) in added {
        let what = format!("added: the value of the clock when the packet {verb}, with all bits");
        let field = format!("packet.context.timestamp_{name}");
        lowered.record_losses(LossKind::Lowered, "", &field, &what, count as u64);
    }
}

/// Records the further clocks' times as a loss. Only the default clock gets all bits at a packet's start, and an
/// added field. `has_fields`: source fields contain the times.
fn record_other_clocks(lowered: &LoweredTrace, has_fields: bool, leaves_out: bool) {
    for stream in &lowered.trace().class.data_streams {
        let is_other = |clock: u16| Some(clock) != stream.default_clock;
        let is_partial = |class: &FieldClass| {
            let is_own = class.roles.has(Role::Timestamp) && class.roles.clock.is_some_and(is_other);
            let updates = class.clock_updates();
            let is_time = is_own || updates.iter().any(|update| is_other(update.clock));
            is_time && class.bits().is_none_or(|bits| bits.length < 64)
        };
        let are_partial = || stream.roots().any(|root| root.exists(&mut |class| is_partial(class)));
        let (kind, what) = match has_fields {
            false if !stream.other_clocks.is_empty() => (LossKind::Dropped, "no field stores them"),
            true if leaves_out && are_partial() => (LossKind::Rounded, "bits from earlier events"),
            _ => continue,
        };
        let what = format!("times from clocks other than the default clock: {what}");
        lowered.record_loss(kind, "", "clock", &what);
    }
}

/// Records clocks that readers assume to start at the Unix epoch, because the environment names a tracer with such
/// clocks.
fn record_origins(lowered: &LoweredTrace) {
    let written = &lowered.trace().class;
    let mut read = written.clone();
    Quirk::for_trace(&read).into_iter().for_each(|quirk| quirk.correct(&mut read));
    let clocks = written.clocks.iter().zip(&read.clocks);
    for (clock, _) in clocks.filter(|(written, read)| written.origin != read.origin) {
        let what = "origin other than the Unix epoch: read as the Unix epoch, as in LTTng traces";
        lowered.record_loss(LossKind::Rounded, "", &format!("clock.{}", clock.id), what);
    }
}

/// Changes the identity of a trace with dropped events, so that it differs from the source.
pub(super) fn identify_part(class: &mut TraceClass, selected_by: &[String]) {
    if let Some(uuid) = &mut class.uuid {
        *uuid = derived_uuid([*uuid].into_iter(), selected_by);
    } else if let (Some(_), Some(uid)) = (&class.name, &mut class.uid) {
        let part = derived_uuid(std::iter::empty(), selected_by);
        uid.push_str(&format!("/{part}"));
    }
}

/// Identifies a trace with a given name by this name and its UUID, as Babeltrace does. In CTF2-SPEC-2.0, the UUID itself
/// belongs to the metadata stream.
fn identify_trace(class: &mut TraceClass, source: &Trace) {
    let uuid = class.uuid.filter(|_| source.class.uuid_of != UuidOf::MetadataStream);
    let (Some(uuid), None, Some(name)) = (uuid, &class.uid, &source.given_name) else { return };
    class.uid = Some(uuid.to_string());
    class.name = Some(name.clone());
    class.namespace = class.namespace.take().or_else(|| source.class.implied_namespace.clone());
}

/// Returns `true` if nothing is dropped, and packets stay as in the source.
pub(super) fn keeps_packets(options: &WriteOptions) -> bool {
    let leaves_out = options.leaves_out || options.leaves_out_packets || options.repair;
    !leaves_out && options.packet_size.is_none() && options.window == Window::default()
}
