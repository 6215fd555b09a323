//! Conversions between dialects, and their losses.

use core::fmt;

use super::trace_state::MAX_VALUE;
use super::{TraceParent, TraceState, Version2};
use crate::hex;
use crate::id::{OpId, TaskId};
use crate::metadata::{MAX_TEXT_LENGTH, Metadata, ValidMetadata};
use crate::option::Severity;

/// Conversion losses: differences after converting back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ConversionLoss {
    /// Number of bytes lost from the end of the task: 4 or 0.
    pub task_bytes: usize,
    /// `true` if the task id length is lost, because zeros were added before or after the id.
    pub task_length: bool,
    /// `true` if the operation id length is lost, in the same way.
    pub op_length: bool,
    /// `true` if options are lost.
    pub options: bool,
    /// `true` if version 0 is lost.
    pub version: bool,
}

impl ConversionLoss {
    /// Returns `true` if the conversion is exact.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    fn between(before: &Metadata, after: &Metadata) -> Self {
        let (task, task_after) = (before.task_id(), after.task_id());
        Self {
            task_bytes: if task.as_bytes().len() == 20 && task != task_after { 4 } else { 0 },
            task_length: task.as_bytes().len() != task_after.as_bytes().len(),
            op_length: before.op_id().as_bytes().len() != after.op_id().as_bytes().len(),
            options: before.as_ref().options_bytes() != after.as_ref().options_bytes(),
            version: before.version() != after.version(),
        }
    }
}

impl fmt::Display for ConversionLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.task_bytes > 0, "the last 4 bytes of the task"),
            (self.task_length, "the length of the task"),
            (self.op_length, "the length of the operation"),
            (self.options, "options"),
            (self.version, "the version"),
        ];
        let mut lost = parts.into_iter().filter(|part| part.0).map(|part| part.1);
        f.write_str(lost.next().unwrap_or("nothing"))?;
        lost.try_for_each(|part| write!(f, ", {part}"))
    }
}

/// Error for an identifier that is or would become all zeros, which the target dialect does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZeroId;

impl fmt::Display for ZeroId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an all-zero identifier cannot be converted")
    }
}

impl core::error::Error for ZeroId {}

/// Tracestate member for data that does not fit into a traceparent: X-Trace metadata or version 2, as text.
const MEMBER: &str = "xtrace";
/// Tracestate member for AppOptics and SolarWinds.
const SW: &str = "sw";

/// A traceparent with additional tracestate members.
#[derive(Clone, Debug)]
pub struct WithState {
    /// Traceparent.
    pub parent: TraceParent,
    /// Losses if the receiver also gets the tracestate.
    pub loss: ConversionLoss,
    /// Losses if the receiver only gets the traceparent.
    pub loss_without_state: ConversionLoss,
    sw: Option<SwMember>,
    member: [u8; MAX_VALUE],
    member_length: usize,
}

impl WithState {
    /// Converts metadata. Leading zeros are added to shorter identifiers. The first 16 bytes of a 20-byte task become
    /// the trace id.
    ///
    /// # Errors
    /// If the operation is missing, or the first 16 bytes of the task are all zeros.
    pub fn from_metadata(metadata: &ValidMetadata) -> Result<Self, ZeroId> {
        let is_sampled = Severity::threshold_of(metadata.as_ref()) != Severity::NONE;
        let trace = trace_of(metadata.task_id());
        let parent = TraceParent::new(trace, op_of(metadata.op_id()), is_sampled).ok_or(ZeroId)?;
        let loss = ConversionLoss::between(metadata, &parent.to_metadata(&TraceState::default()));
        let mut with_state = Self {
            parent,
            loss,
            loss_without_state: loss,
            sw: None,
            member: [0; MAX_VALUE],
            member_length: 0,
        };
        if !loss.is_none() {
            let mut text = [0; MAX_TEXT_LENGTH];
            if !with_state.set_member(metadata.write_text(&mut text)) {
                let without = Metadata::new(metadata.task_id(), metadata.op_id());
                with_state.set_member(without.write_text(&mut text));
            }
            let member = hex::as_str(&with_state.member[..with_state.member_length]);
            with_state.loss = ConversionLoss::between(metadata, &parent.with_member(Some(member)));
        }
        Ok(with_state)
    }

    /// Converts version 2 metadata. The first 16 bytes of the task become the trace id. The tracestate gets the member
    /// `sw` for AppOptics and SolarWinds.
    ///
    /// # Errors
    /// If the operation or the first 16 bytes of the task are all zeros.
    pub fn from_version_2(metadata: &Version2) -> Result<Self, ZeroId> {
        let (trace, rest) = metadata.task.split_first_chunk().ok_or(ZeroId)?;
        let parent = TraceParent::new(*trace, metadata.op, metadata.sampled).ok_or(ZeroId)?;
        let is_lost = rest != [0; 4];
        let mut with_state = Self {
            parent,
            loss: ConversionLoss::default(),
            loss_without_state: ConversionLoss {
                task_bytes: if is_lost { 4 } else { 0 },
                ..ConversionLoss::default()
            },
            sw: Some(SwMember { op: metadata.op, flags: u8::from(metadata.sampled) }),
            member: [0; MAX_VALUE],
            member_length: 0,
        };
        if is_lost {
            let mut text = [0; 2 * Version2::LENGTH];
            hex::encode(&metadata.to_bytes(), &mut text);
            with_state.set_member(hex::as_str(&text));
        }
        Ok(with_state)
    }

    fn set_member(&mut self, text: &str) -> bool {
        let Some(place) = self.member.get_mut(..text.len()) else { return false };
        place.copy_from_slice(text.as_bytes());
        self.member_length = text.len();
        true
    }

    /// Returns the value of the member `xtrace`, if the traceparent cannot hold all data.
    #[must_use]
    pub fn member(&self) -> Option<&str> {
        (self.member_length > 0).then(|| hex::as_str(&self.member[..self.member_length]))
    }

    /// Writes a tracestate: the members of this value, then the incoming members with other keys. An empty header
    /// should be omitted.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub fn write_state(&self, incoming: &TraceState<'_>, out: &mut impl fmt::Write) -> fmt::Result {
        let mut count = 0;
        let mut write = |out: &mut dyn fmt::Write, key: &str, value: &dyn fmt::Display| {
            count += 1;
            match count {
                1 => write!(out, "{key}={value}"),
                2..=32 => write!(out, ",{key}={value}"),
                _ => Ok(()),
            }
        };
        if let Some(sw) = self.sw {
            write(out, SW, &sw)?;
        }
        if let Some(member) = self.member() {
            write(out, MEMBER, &member)?;
        }
        // Old members with these keys are replaced, because they can belong to another task.
        let is_ours = |key: &str| key == SW && self.sw.is_some() || key == MEMBER;
        for (key, value) in incoming.members().filter(|member| !is_ours(member.0)) {
            write(out, key, &value)?;
        }
        Ok(())
    }
}

impl TraceParent {
    /// Converts to X-Trace metadata, including data from the tracestate.
    ///
    /// Without tracestate data, leading zeros of identifiers are removed if a shorter valid length remains. A task
    /// cannot have 16 bytes, so such a trace id becomes a 20-byte task, padded with zeros at the end. If the trace is
    /// not sampled, the threshold is [`Severity::NONE`], so that nothing is reported.
    #[must_use]
    pub fn to_metadata(&self, state: &TraceState<'_>) -> ValidMetadata {
        self.with_member(state.get(MEMBER))
    }

    fn with_member(&self, member: Option<&str>) -> ValidMetadata {
        let parent = self.parent_id();
        let op = OpId::from_bytes(without_zeros(&parent, &[4])).unwrap_or(OpId::from(parent));
        let mut metadata = self.kept(member).unwrap_or_else(|| Metadata::new(self.task(), op));
        // A program that does not know the member can have replaced the operation since then.
        if op_of(metadata.op_id()) != self.parent_id() {
            metadata.set_op_id(op);
        }
        let threshold = Severity::threshold_of(metadata.as_ref());
        if self.is_sampled() && threshold == Severity::NONE {
            metadata.remove_option(Severity::NUMBER);
        } else if !self.is_sampled() && threshold != Severity::NONE {
            // If it does not fit, the program reports more than wanted.
            let _ = Severity::NONE.set(&mut metadata);
        }
        ValidMetadata::from_nonzero(metadata)
    }

    /// Returns the task without tracestate data.
    fn task(&self) -> TaskId {
        let trace = self.trace_id();
        TaskId::from_bytes(without_zeros(&trace, &[4, 8, 12])).unwrap_or_else(|_| {
            let mut task = [0; 20];
            task[..16].copy_from_slice(&trace);
            TaskId::from(task)
        })
    }

    /// Returns the metadata from a tracestate member if it belongs to this task.
    fn kept(&self, member: Option<&str>) -> Option<Metadata> {
        let member = member?;
        let metadata = match Version2::parse(member) {
            Ok(metadata) => Metadata::new(metadata.task_id(), metadata.op_id()),
            Err(_) => Metadata::parse(member).ok()?,
        };
        (trace_of(metadata.task_id()) == self.trace_id()).then_some(metadata)
    }

    /// Converts to version 2 metadata. The last 4 bytes of the task come from the tracestate if available, otherwise
    /// they are zeros.
    #[must_use]
    pub fn to_version_2(&self, state: &TraceState<'_>) -> Version2 {
        let mut metadata = Version2 { task: [0; 20], op: self.parent_id(), sampled: self.is_sampled() };
        metadata.task[..16].copy_from_slice(&self.trace_id());
        let kept = self.kept(state.get(MEMBER)).map(|kept| kept.task_id());
        if let Some(task) = kept.and_then(|task| <[u8; 20]>::try_from(task.as_bytes()).ok()) {
            metadata.task = task;
        }
        metadata
    }
}

impl Version2 {
    /// Converts to X-Trace metadata without losses. If the task is not sampled, the threshold is [`Severity::NONE`], so
    /// that nothing is reported.
    ///
    /// # Errors
    /// If the task is all zeros.
    pub fn to_metadata(&self) -> Result<ValidMetadata, crate::Invalid> {
        let mut metadata = Metadata::new(self.task_id(), self.op_id());
        if !self.sampled {
            // It always fits, because there are no other options.
            let _ = Severity::NONE.set(&mut metadata);
        }
        metadata.validate()
    }

    /// Converts X-Trace metadata, and returns the losses. Shorter tasks are padded as in a traceparent, then with 4
    /// zeros.
    #[must_use]
    pub fn from_metadata(metadata: &ValidMetadata) -> (Self, ConversionLoss) {
        let task = metadata.task_id();
        let task = <[u8; 20]>::try_from(task.as_bytes()).unwrap_or_else(|_| {
            let mut long = [0; 20];
            long[..16].copy_from_slice(&trace_of(task));
            long
        });
        let sampled = Severity::threshold_of(metadata.as_ref()) != Severity::NONE;
        let converted = Self { task, op: op_of(metadata.op_id()), sampled };
        let loss = match converted.to_metadata() {
            Ok(back) => ConversionLoss::between(metadata, &back),
            // A valid task remains valid.
            Err(_) => ConversionLoss::default(),
        };
        (converted, loss)
    }
}

/// Tracestate member `sw`: the last operation in AppOptics or SolarWinds, and its flags.
///
/// If the operation differs from the traceparent, other systems have taken part since then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SwMember {
    /// Operation.
    pub op: [u8; 8],
    /// Flags, as in a traceparent.
    pub flags: u8,
}

impl SwMember {
    /// Returns the member from a tracestate, or `None` unless it is 16 lowercase hexadecimal digits, `-` and 2 digits.
    #[must_use]
    pub fn from_state(state: &TraceState<'_>) -> Option<Self> {
        let value = <&[u8; 19]>::try_from(state.get(SW)?.as_bytes()).ok()?;
        let (mut op, mut flags) = ([0; 8], [0]);
        hex::decode(&value[..16], &mut op)?;
        hex::decode(&value[17..], &mut flags)?;
        let is_small = value[16] == b'-' && !value.iter().any(u8::is_ascii_uppercase);
        is_small.then_some(Self { op, flags: flags[0] })
    }
}

impl fmt::Display for SwMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{:02x}", u64::from_be_bytes(self.op), self.flags)
    }
}

/// Returns the trace id for a task.
pub(crate) fn trace_of(task: TaskId) -> [u8; 16] {
    let task = task.as_bytes();
    let mut trace = [0; 16];
    let kept = &task[..task.len().min(16)];
    trace[16 - kept.len()..].copy_from_slice(kept);
    trace
}

/// Returns the operation padded to 8 bytes.
fn op_of(op: OpId) -> [u8; 8] {
    let op = op.as_bytes();
    let mut long = [0; 8];
    long[8 - op.len()..].copy_from_slice(op);
    long
}

/// Strips leading zeros down to the shortest of these lengths that keeps all other bytes. Returns all bytes if no
/// length fits.
pub(crate) fn without_zeros<'a>(bytes: &'a [u8], lengths: &[usize]) -> &'a [u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let length = lengths.iter().copied().find(|length| bytes.len() - length <= zeros);
    &bytes[bytes.len() - length.unwrap_or(bytes.len())..]
}
