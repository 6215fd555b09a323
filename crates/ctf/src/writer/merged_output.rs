//! Merges packets from several traces.

use std::collections::HashSet;

use ichnos_io::{CreateError, WriteSource};
use ichnos_model::class::Role;
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::{DataStream, TraceClass};

use super::capabilities::capabilities;
use super::encoder_config::{EncoderConfig, HeaderConfig};
use super::merged::{MergePart, MergeProblem, MergedClass, bits_of_role, merge};
use super::role_values::RoleValues;
use crate::metadata::Dialect;
use crate::packet::Clocks;

/// Trace to be merged with others.
#[derive(Debug)]
pub(super) struct MergeInput {
    /// Trace path.
    pub(super) path: String,
    /// Lowered class, with all dynamic classes found so far.
    pub(super) class: TraceClass,
    /// `true` if its packets are created from source packets.
    pub(super) mirrors: bool,
    /// `true` if fields depend on packet header fields.
    pub(super) needs_header: bool,
    /// `true` if it has call stacks now.
    pub(super) has_stacks: bool,
}

/// Rules for merging traces.
#[derive(Clone, Copy, Debug)]
pub(super) struct MergeRules {
    correlated: bool,
    replaces_header: bool,
}

impl HeaderConfig {
    /// Returns a data stream's packet header values, if its trace is not merged.
    pub(super) fn for_stream(class: &TraceClass, stream: &DataStream, number: usize) -> Self {
        Self {
            is_common: false,
            replaced: RoleValues::default(),
            class_id: class.data_streams.get(stream.class_index).map_or(0, |class| class.id as u64),
            stream_id: (number as u64) << 8,
            uuid: class.uuid,
        }
    }

    /// Returns the data stream id in a part's packets. All bits are set if they lack an id.
    pub(super) fn written_stream_id(&self, config: &EncoderConfig, part: usize) -> u64 {
        let is_own = config.frame.mirrors && !self.is_common && self.replaced.data_stream_id.is_none();
        match config.stream.id {
            id if is_own => id.map_or(u64::MAX, |id| id as u64),
            _ => self.stream_id | part as u64,
        }
    }
}

/// Returns the class of all traces combined.
pub(super) fn merged(
    inputs: &[MergeInput],
    rules: MergeRules,
    dialect: Dialect,
) -> Result<MergedClass, CreateError> {
    let unmergeable = |part: usize, problem: String| {
        let trace = inputs.get(part).map_or_else(String::new, |input| input.path.clone());
        CreateError::Unmergeable { trace, problem }
    };
    let parts = inputs.iter().map(|input| {
        let MergeInput { path, class, mirrors, needs_header, has_stacks } = input;
        // Stack numbers refer to different tables, and the stack numbers of an unread source are unknown.
        let shares_classes = *mirrors && !has_stacks;
        MergePart { path, class, mirrors: *mirrors, shares_classes, needs_header: *needs_header }
    });
    let parts: Vec<MergePart<'_>> = parts.collect();
    let MergeRules { correlated, replaces_header } = rules;
    let merged = merge(&parts, &capabilities(dialect), correlated, replaces_header);
    let merged = merged.map_err(|MergeProblem { part, problem }| unmergeable(part, problem))?;
    let has_times = |class: &TraceClass| class.data_streams.iter().any(|class| class.default_clock.is_some());
    let mirrored = inputs.iter().enumerate().filter(|(_, input)| input.mirrors && has_times(&input.class));
    for (number, input) in mirrored {
        let goes_on = |class: &TraceClass| Clocks::for_trace(class).go_on;
        if goes_on(&input.class) != goes_on(&merged.class) {
            let problem = "some packets have begin times, and others do not".to_owned();
            return Err(unmergeable(number, problem));
        }
    }
    Ok(merged)
}

/// Plans how to merge all sources into one trace. Sets the packet header values, and returns the changes.
pub(super) fn plan(
    inputs: &[MergeInput],
    sources: &[WriteSource],
    correlated: bool,
    dialect: Dialect,
    headers: &mut [HeaderConfig],
) -> Result<(MergeRules, LossTable), CreateError> {
    let mut rules = MergeRules { correlated, replaces_header: false };
    let mut all = merged(inputs, rules, dialect)?;
    let kept = headers.to_vec();
    if !number(&mut all, inputs, sources, headers) {
        headers.copy_from_slice(&kept);
        rules.replaces_header = true;
        all = merged(inputs, rules, dialect)?;
        number(&mut all, inputs, sources, headers);
    }
    Ok((rules, all.changes))
}

/// Sets the packet header values. Returns `false` if ids do not fit the existing fields.
fn number(
    merged: &mut MergedClass,
    inputs: &[MergeInput],
    sources: &[WriteSource],
    headers: &mut [HeaderConfig],
) -> bool {
    let uuid = merged.class.uuid;
    let header = merged.class.packet_header.as_deref();
    let bits = header.and_then(|header| bits_of_role(header, Role::DataStreamId));
    let most = match bits {
        Some(bits) if bits < 64 && !merged.has_common_header => (1u64 << bits) - 1,
        _ => u64::MAX,
    };
    let mut taken: HashSet<(u64, u64)> = HashSet::new();
    let mut next = 0;
    let all = sources.iter().zip(inputs).zip(&merged.data_streams);
    let streams = all.flat_map(|((source, part), classes)| {
        source.streams.iter().map(move |stream| (source, part, classes, stream))
    });
    for ((source, part, classes, stream), config) in streams.zip(headers.iter_mut()) {
        let class = classes.get(stream.class_index).and_then(|index| merged.class.data_streams.get(*index));
        let Some(class_id) = class.and_then(|class| u64::try_from(class.id).ok()) else { return false };
        config.is_common = part.mirrors && (config.is_common || merged.has_common_header);
        (config.uuid, config.class_id) = (uuid, class_id);
        if source.trace.class.uuid != uuid {
            config.replaced.uuid = uuid;
        }
        if u128::from(class_id) != stream.class().id {
            config.replaced.data_stream_class_id = Some(class_id);
        }
        if !part.mirrors {
            continue;
        }
        // Without ids, each file is a data stream.
        if bits.is_none() {
            continue;
        }
        let own = stream.id.and_then(|id| u64::try_from(id).ok());
        let own = own.filter(|id| taken.insert((class_id, *id)));
        let id = own.unwrap_or_else(|| {
            while !taken.insert((class_id, next)) {
                next += 1;
            }
            next
        });
        if id > most {
            return false;
        }
        config.stream_id = id;
        if own.is_none() {
            config.replaced.data_stream_id = Some(id);
            if let Some(before) = stream.id {
                let what = format!("{}: data stream {before} -> {id}", stream.name);
                let (kind, field) = (LossKind::Renamed, "data stream".to_owned());
                merged.changes.note(kind, "", field, what);
            }
        }
    }
    true
}
