//! Sources adapted to a dialect.

use std::sync::Arc;

use ichnos_io::{CreateError, WriteOptions, WriteSource};
use ichnos_model::lower::{ExtendedScopes, Feature, LossKind, LowerOptions, LoweredTrace};
use ichnos_model::{ByteOrder, DataStreamClass, FieldClass, Role, Roles, TraceClass, Window};

use super::capabilities::capabilities;
use super::frame::{add_fields, add_packets, add_stream_ids, add_times, packet_header};
use super::names::derived_uuid;
use super::packet_clock::{GoesOn, PacketClock};
use super::packet_sizes::adapt_sizes;
use super::source_frame::{LostRoles, SourceFrame};
use crate::metadata::Dialect;
use crate::quirks::Quirk;

/// Adapts a trace to a dialect, with the fields that its packets and event records need.
///
/// # Errors
/// If the lowered classes cannot be compiled.
pub(super) fn lower(
    source: &WriteSource,
    options: &WriteOptions,
    dialect: Dialect,
) -> Result<LoweredTrace, CreateError> {
    let mut capabilities = capabilities(dialect);
    // The same dialect keeps its clocks.
    if source.trace.class.dialect == dialect.title() {
        capabilities = capabilities.with(Feature::SeveralClocks);
    }
    let separates_scopes = source.format != "ctf" && !source.format.is_empty();
    let annotates = separates_scopes || source.trace.is_mapped();
    let original = &source.trace.class;
    let (frame, has_dynamic_classes) =
        (SourceFrame::of(source.format, original, options), source.has_dynamic_classes);
    // If added fields contain the ids of classes, they need not be those of the source.
    let placed: Vec<(LostRoles, DataStreamClass)> =
        original.data_streams.iter().map(|class| LostRoles::of(original, class, &capabilities)).collect();
    let numbers_classes = placed.iter().all(|(lost, class)| frame.added_fields(class, lost).class_id);
    let goes_on = GoesOn::of(original, dialect);
    let clocks: Vec<PacketClock> = match frame.mirrors {
        true => {
            let clock = |(lost, stream): &(LostRoles, DataStreamClass)| {
                PacketClock::of(stream, options, goes_on, frame.is_ctf, lost)
            };
            placed.iter().map(clock).collect()
        }
        false => Vec::new(),
    };
    let widened_roles: Vec<Roles> = clocks.iter().map(|clock| clock.widened).collect();
    let added: Vec<_> = placed.iter().map(|(lost, class)| frame.added_fields(class, lost)).collect();
    let numbers_streams = !frame.is_ctf || !frame.mirrors || added.iter().any(|added| added.stream_class_id);
    let extended = ExtendedScopes {
        packet_header: added.iter().any(|added| added.are_in_packet_headers()),
        packet_context: added.iter().any(|added| added.are_in_packet_contexts())
            || clocks.iter().any(|clock| clock.adds_begin),
        event_record_header: added.iter().any(|added| added.are_in_events()),
    };
    let limits = options.limits;
    let lower_options =
        LowerOptions { annotates, separates_scopes, numbers_classes, numbers_streams, extended, limits };
    let lowered = LoweredTrace::new(&source.trace, &capabilities, lower_options, &widened_roles, |class| {
        dialect.title().clone_into(&mut class.dialect);
        class.default_byte_order.get_or_insert(ByteOrder::LittleEndian);
        let gets_no_stream = original.data_streams.is_empty() && !source.format.is_empty();
        let is_kept = original.dialect == dialect.title() && !options.repair;
        if gets_no_stream && dialect != Dialect::Ctf18 && !is_kept {
            // CTF 2 needs one. A source that is not a trace gets its classes later.
            class.data_streams.push(ichnos_model::DataStreamClass::default());
        }
        if !options.selected_by.is_empty() {
            identify_part(class, &options.selected_by);
        }
        if !frame.mirrors {
            add_packets(class, &capabilities);
        } else if frame.lacks_header {
            class.packet_header = Some(Arc::new(packet_header(class.uuid.is_some(), &capabilities)));
        }
        if let Some((lost, source)) = placed.first() {
            add_stream_ids(class, frame.added_fields(source, lost), &capabilities);
        }
        for (stream, (lost, source)) in class.data_streams.iter_mut().zip(&placed) {
            add_fields(stream, frame.added_fields(source, lost), &capabilities, has_dynamic_classes);
            adapt_sizes(stream, &original.dialect, dialect);
        }
        for (stream, clock) in class.data_streams.iter_mut().zip(&clocks) {
            add_times(stream, *clock, &capabilities);
        }
    });
    let lowered =
        lowered.map_err(|error| CreateError::Classes { trace: source.trace.path.clone(), error })?;
    if keeps_packets(options) {
        let added = [
            ("begin", "begins", clocks.iter().filter(|clock| clock.adds_begin).count()),
            ("end", "ends", clocks.iter().filter(|clock| clock.adds_end).count()),
        ];
        for (name, verb, count) in added.into_iter().filter(|(.., count)| *count > 0) {
            let what = format!("added: the value of the clock when the packet {verb}, with all bits");
            let field = format!("packet.context.timestamp_{name}");
            lowered.record_losses(LossKind::Lowered, "", &field, &what, count as u64);
        }
    }
    for (lost, stream) in &placed {
        for (field, what) in frame.added_fields(stream, lost).changes(stream) {
            lowered.record_loss(LossKind::Lowered, "", field, what);
        }
    }
    note_origins(&lowered);
    let leaves_out = options.leaves_out || options.leaves_out_packets || options.window != Window::default();
    note_other_clocks(&lowered, frame.is_ctf, leaves_out);
    Ok(lowered)
}

/// Lists the times of further clocks as a loss: only the default clock gets all bits where a packet begins, and a field
/// that is added. `has_fields`: fields of the source contain the times.
fn note_other_clocks(lowered: &LoweredTrace, has_fields: bool, leaves_out: bool) {
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
            false if !stream.other_clocks.is_empty() => (LossKind::Dropped, "no field has them"),
            true if leaves_out && are_partial() => (LossKind::Rounded, "bits that the events before had"),
            _ => continue,
        };
        let what = format!("times of other clocks than the default one: {what}");
        lowered.record_loss(kind, "", "clock", &what);
    }
}

/// Notes clocks that readers assume to have the Unix epoch as origin, as clocks of the tracer in the environment do.
fn note_origins(lowered: &LoweredTrace) {
    let written = &lowered.trace().class;
    let mut read = written.clone();
    Quirk::of(&read).into_iter().for_each(|quirk| quirk.correct(&mut read));
    let clocks = written.clocks.iter().zip(&read.clocks);
    for (clock, _) in clocks.filter(|(written, read)| written.origin != read.origin) {
        let what = "origin that is not the Unix epoch: read as the Unix epoch, like that of LTTng";
        lowered.record_loss(LossKind::Rounded, "", &format!("clock.{}", clock.id), what);
    }
}

/// Changes the identity of a trace from which events are dropped, so that it differs from the source's.
pub(super) fn identify_part(class: &mut TraceClass, selected_by: &[String]) {
    if let Some(uuid) = &mut class.uuid {
        *uuid = derived_uuid([*uuid].into_iter(), selected_by);
    } else if let (Some(_), Some(uid)) = (&class.name, &mut class.uid) {
        let part = derived_uuid(std::iter::empty(), selected_by);
        uid.push_str(&format!("/{part}"));
    }
}

/// Returns `true` if nothing is dropped, and packets are those of the source.
pub(super) fn keeps_packets(options: &WriteOptions) -> bool {
    let leaves_out = options.leaves_out || options.leaves_out_packets || options.repair;
    !leaves_out && options.packet_size.is_none() && options.window == Window::default()
}
