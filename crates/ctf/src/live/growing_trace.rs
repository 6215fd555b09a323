//! Metadata of a trace that grows while the trace is read.

use std::sync::{Arc, OnceLock};

use ichnos_model::clock::ClockClass;
use ichnos_model::decode::DecodeLimits;
use ichnos_model::message::DamageKind;
use ichnos_model::trace::{FileDiagnostic, Limits, Severity};
use ichnos_model::{DataStream, Trace};

use crate::class_additions::{add_clock_offsets, complete_class, correct_quirks, trace_name};
use crate::ctf_options::CtfOptions;
use crate::data_limits::{DataLimits, PacketLimits};
use crate::event_class::EventRecords;
use crate::metadata::{self, MetadataOptions};
use crate::packet::PacketDecoder;
use crate::packet_times::most_cycles;
use crate::quirks::Quirk;
use crate::stream_input::StreamRules;

/// Number of data bytes for which limits are computed, because the total number is unknown.
const ASSUMED_BYTES: u64 = 64 << 20;

/// Number of packets in these bytes, for limits on each packet.
const ASSUMED_PACKETS: u64 = ASSUMED_BYTES / 4096;

/// Bytes that may be parsed in total, however often metadata grows: this number, and the second one for each byte of
/// metadata.
const PARSED_BYTES: (u64, u64) = (1 << 30, 64);

/// A trace whose metadata arrives in parts.
#[derive(Debug)]
pub(super) struct GrowingTrace {
    path: Arc<str>,
    text: Vec<u8>,
    /// Length of the text that was parsed last.
    parsed: usize,
    /// Total number of parsed bytes.
    work: u64,
    newest: Option<Arc<TraceVersion>>,
    /// Reason why the text cannot be read.
    problem: Option<String>,
    /// Number of open data streams.
    pub(super) streams: usize,
    /// `true` if no further metadata and data streams follow.
    pub(super) has_ended: bool,
}

impl GrowingTrace {
    pub(super) fn new(path: &str) -> Self {
        Self {
            path: path.into(),
            text: Vec::new(),
            parsed: 0,
            work: 0,
            newest: None,
            problem: None,
            streams: 0,
            has_ended: false,
        }
    }

    pub(super) fn path(&self) -> &Arc<str> {
        &self.path
    }

    /// Returns the number of metadata bytes so far.
    pub(super) fn metadata_bytes(&self) -> u64 {
        self.text.len() as u64
    }

    /// Appends metadata. Other traces have `others` bytes of it.
    ///
    /// # Errors
    /// Returns a sentence without the full stop if there is too much metadata.
    pub(super) fn append(&mut self, bytes: &[u8], others: u64, limits: &Limits) -> Result<(), String> {
        let most = limits.metadata_bytes;
        let own = self.metadata_bytes().saturating_add(bytes.len() as u64);
        if own > most {
            return Err(format!("{}: the metadata has more than {most} bytes, the limit", self.path));
        }
        if own.saturating_add(others) > most {
            let path = &self.path;
            return Err(format!("{path}: the metadata of all traces has more than {most} bytes, the limit"));
        }
        self.text.extend_from_slice(bytes);
        Ok(())
    }

    /// Returns the trace with all metadata so far, or `None` if it cannot be read: it may end in the middle of a
    /// declaration.
    pub(super) fn newest(&mut self, options: &CtfOptions) -> Option<Arc<TraceVersion>> {
        if self.parsed < self.text.len() {
            self.parsed = self.text.len();
            self.problem = match self.read(options) {
                Ok(version) => {
                    self.newest = Some(Arc::new(version));
                    None
                }
                Err(problem) => Some(problem),
            };
        }
        if self.problem.is_some() { None } else { self.newest.clone() }
    }

    /// Returns the reason why the metadata could never be read, if some has arrived.
    pub(super) fn unread_metadata(&mut self, options: &CtfOptions) -> Option<String> {
        if self.text.is_empty() || self.newest(options).is_some() || self.newest.is_some() {
            return None;
        }
        self.problem.clone()
    }

    fn read(&mut self, options: &CtfOptions) -> Result<TraceVersion, String> {
        let length = self.text.len() as u64;
        self.work = self.work.saturating_add(length);
        let (few, for_each) = PARSED_BYTES;
        match self.work > length.saturating_mul(for_each).saturating_add(few) {
            true => Err(format!("{}: the metadata has arrived in too many parts", self.path)),
            false => TraceVersion::read(&self.text, &self.path, options),
        }
    }

    /// Returns the reason why packets cannot be read: one sentence without the full stop.
    pub(super) fn problem(&self) -> String {
        match &self.problem {
            Some(problem) => problem.clone(),
            None => format!("{}: no metadata has arrived", self.path),
        }
    }
}

/// A trace as its metadata describes it at one time.
#[derive(Debug)]
pub(super) struct TraceVersion {
    pub(super) trace: Arc<Trace>,
    quirks: Box<[Quirk]>,
    allowed: DataLimits,
    limits: PacketLimits,
    options: CtfOptions,
    /// Rules by data stream class.
    rules: Vec<OnceLock<Option<Arc<StreamRules>>>>,
}

impl TraceVersion {
    fn read(text: &[u8], path: &str, options: &CtfOptions) -> Result<Self, String> {
        let limits = options.limits.for_metadata(text.len() as u64, None);
        let metadata_options = MetadataOptions {
            dialect: options.dialect,
            strict: options.strict,
            ignores_unknown_fields: options.babeltrace.is_some(),
            limits,
        };
        let in_metadata =
            |diagnostic| FileDiagnostic::new(format!("{path}/metadata"), diagnostic).to_string();
        let parsed = metadata::parse(text, &metadata_options).map_err(|error| {
            let mut problems = error.diagnostics;
            let worst = problems.iter().position(|problem| problem.severity == Severity::Error);
            in_metadata(problems.swap_remove(worst.unwrap_or(0)))
        })?;
        let mut class = parsed.trace;
        let mut limits = limits;
        limits.description_bytes = parsed.left;
        add_clock_offsets(&mut class, options).map_err(|problem| format!("{path}: {problem}"))?;
        let quirks = correct_quirks(&mut class, options);
        complete_class(&mut class, options, &limits);
        // Babeltrace gives names only to traces of files.
        let name = match options.babeltrace {
            Some(_) => String::new(),
            None => trace_name(&class, Some(path).filter(|path| !path.is_empty())),
        };
        let mut trace = Trace::with_class_map(class, name, &limits, options.class_map.as_ref())
            .map_err(|error| in_metadata(metadata::plan_diagnostic(&error)))?;
        path.clone_into(&mut trace.path);
        let allowed = DataLimits { bits: 8 * ASSUMED_BYTES, fields: limits.fields(ASSUMED_BYTES, None) };
        let limits = allowed.packets(&trace.class, DecodeLimits::from(&limits));
        let rules = trace.class.data_streams.iter().map(|_| OnceLock::new()).collect();
        let trace = Arc::new(trace);
        Ok(Self { trace, quirks: quirks.into(), allowed, limits, options: options.clone(), rules })
    }

    /// Returns the decoder for packet headers and contexts.
    pub(super) fn decoder(&self) -> PacketDecoder<'_> {
        PacketDecoder { class: &self.trace.class, plans: &self.trace.plans, limits: self.limits.heads }
    }

    /// Returns the reason to refuse all packets, if there is one.
    pub(super) fn refused(&self) -> Option<&DamageKind> {
        self.limits.refused.as_ref()
    }

    /// Returns the rules for reading data streams with a class.
    pub(super) fn rules(&self, class: usize) -> Option<Arc<StreamRules>> {
        let create = || {
            let clock = self.clock(class);
            let records = EventRecords::for_class(&self.trace, class, &self.allowed)?;
            let limits = self.limits.for_events(ASSUMED_PACKETS);
            let rules = StreamRules::new(records, &self.quirks, limits, most_cycles(clock), &self.options);
            Some(Arc::new(rules))
        };
        self.rules.get(class)?.get_or_init(create).clone()
    }

    fn clock(&self, class: usize) -> Option<&ClockClass> {
        let clock = self.trace.class.data_streams.get(class)?.default_clock?;
        self.trace.class.clocks.get(usize::from(clock))
    }

    /// Returns the time of a value of the default clock, in a data stream class with this id.
    pub(super) fn nanoseconds(&self, class_id: u128, cycles: u64) -> Option<i128> {
        let class = self.trace.class.data_streams.iter().position(|class| class.id == class_id)?;
        Some(self.clock(class)?.nanoseconds_in(self.options.clock_arithmetic, cycles))
    }

    /// Returns `true` if a data stream of another version can be read as before: the metadata has only grown by what
    /// the data stream does not need.
    pub(super) fn describes(&self, stream: &DataStream) -> bool {
        let (new, old) = (&self.trace.class, &stream.trace.class);
        new.dialect == old.dialect
            && new.uuid == old.uuid
            && new.packet_header == old.packet_header
            && self.has_clocks_of(stream)
            && new.data_streams.get(stream.class_index) == Some(stream.class())
    }

    /// Returns `true` if a data stream of another version has the same clocks.
    pub(super) fn has_clocks_of(&self, stream: &DataStream) -> bool {
        self.trace.class.clocks == stream.trace.class.clocks
    }
}
