//! Batches of spans, log records and values.

use std::collections::HashMap;

use super::encoding::{OtlpEncoding, OtlpField};
use super::origins::EncodedOrigin;
use super::schema::{data, metric};

/// Default minimum size of a full request in bytes.
pub(super) const FULL: usize = 128 << 10;

/// Number of groups that are kept for the next request.
const MOST_KEPT: usize = 256;

/// Maximum size of the elements in a kept group, and of its buffer.
const MOST_KEPT_BYTES: usize = 64 << 10;

/// Size of a group without its elements, in bytes.
const GROUP: usize = 128;

ichnos_model::named_enum! {
    /// OpenTelemetry signal.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum OtlpSignal: "signal" {
        /// Spans.
        Traces = "traces",
        /// Log records.
        Logs = "logs",
        /// Counter values.
        Metrics = "metrics",
    }
}

/// Request with the elements of one signal, in protobuf.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TelemetryRequest {
    /// Signal.
    pub signal: OtlpSignal,
    /// Number of spans, log records or counter values.
    pub elements: u64,
    /// Encoded request.
    pub bytes: Vec<u8>,
}

impl OtlpSignal {
    /// Returns the fields of the resources, their scopes, and the scope elements.
    const fn fields(self) -> [OtlpField; 3] {
        match self {
            Self::Traces => [data::RESOURCE_SPANS, data::SCOPE_SPANS, data::SPANS],
            Self::Logs => [data::RESOURCE_LOGS, data::SCOPE_LOGS, data::LOG_RECORDS],
            Self::Metrics => [data::RESOURCE_METRICS, data::SCOPE_METRICS, data::METRICS],
        }
    }

    /// Returns the field of the group elements. For metrics, these are data points.
    pub(super) const fn element(self) -> OtlpField {
        match self {
            Self::Metrics => metric::POINTS,
            Self::Traces | Self::Logs => self.fields()[2],
        }
    }
}

/// Key of elements with the same resource and scope. Data points also have the same metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct GroupKey {
    pub(super) resource: u64,
    /// Scope name number, 0 without a name.
    pub(super) scope: u32,
    /// Metric number, 0 without a metric.
    pub(super) metric: u64,
}

/// Kind of a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum MetricData {
    #[default]
    Gauge,
    Sum {
        temporality: u64,
        is_monotonic: bool,
    },
    Histogram {
        temporality: u64,
    },
    Exponential {
        temporality: u64,
    },
    Summary,
}

/// Properties of a metric.
#[derive(Clone, Debug, Default)]
pub(super) struct MetricHead {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) unit: String,
    pub(super) data: MetricData,
}

impl MetricData {
    /// Returns the number of a metric. `texts` are the keys of its name, unit and description.
    pub(super) fn metric_key(self, texts: [u64; 3]) -> u64 {
        let (kind, temporality) = match self {
            Self::Gauge => (0, 0),
            Self::Sum { temporality, is_monotonic } => (1 + 2 * u64::from(is_monotonic), temporality),
            Self::Histogram { temporality } => (2, temporality),
            Self::Exponential { temporality } => (4, temporality),
            Self::Summary => (5, 0),
        };
        let data = temporality.wrapping_mul(8).wrapping_add(kind);
        texts.into_iter().rev().fold(data.rotate_left(32), |key, text| key.rotate_left(1) ^ text)
    }
}

#[derive(Debug)]
struct Group {
    key: GroupKey,
    metric: MetricHead,
    elements: Vec<u8>,
}

/// Elements of a signal that are not written yet.
#[derive(Debug)]
pub(super) struct RequestBatch {
    signal: OtlpSignal,
    encoding: OtlpEncoding,
    groups: Vec<Group>,
    indexes: HashMap<GroupKey, usize>,
    /// Last group and its index.
    last: Option<(GroupKey, usize)>,
    /// Size of all groups in bytes.
    bytes: usize,
    /// Minimum size of a full request in bytes.
    full: usize,
    /// Number of elements.
    elements: u64,
}

impl RequestBatch {
    pub(super) fn new(signal: OtlpSignal, encoding: OtlpEncoding, full: usize) -> Self {
        let (groups, indexes) = (Vec::new(), HashMap::new());
        Self { signal, encoding, groups, indexes, last: None, bytes: 0, full, elements: 0 }
    }

    pub(super) fn signal(&self) -> OtlpSignal {
        self.signal
    }

    /// Returns the number of elements.
    pub(super) fn elements(&self) -> u64 {
        self.elements
    }

    /// Adds an element that `push` appends. If `push` returns `false`, nothing is added. `metric` returns the
    /// metric of a new group.
    pub(super) fn add(
        &mut self,
        key: GroupKey,
        metric: impl FnOnce() -> MetricHead,
        push: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> bool {
        let index = match self.last {
            Some((last, index)) if last == key => index,
            _ => self.index(key, metric),
        };
        let Some(group) = self.groups.get_mut(index) else { return false };
        let before = group.elements.len();
        let is_whole = push(&mut group.elements);
        if !is_whole {
            group.elements.truncate(before);
        }
        self.bytes += group.elements.len() - before;
        self.elements += u64::from(is_whole);
        is_whole
    }

    /// Returns the index of a group, which is added if it is new.
    fn index(&mut self, key: GroupKey, metric: impl FnOnce() -> MetricHead) -> usize {
        let index = *self.indexes.entry(key).or_insert_with(|| {
            let group = Group { key, metric: metric(), elements: Vec::new() };
            let MetricHead { name, description, unit, .. } = &group.metric;
            self.bytes += GROUP + name.len() + description.len() + unit.len();
            self.groups.push(group);
            self.groups.len() - 1
        });
        self.last = Some((key, index));
        index
    }

    /// Returns `true` if a request should be written.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= self.full
    }

    /// Writes all elements as a request. `resources` are the encoded resources, and `scope` returns scopes.
    pub(super) fn write<'n>(
        &mut self,
        resources: &HashMap<u64, EncodedOrigin>,
        scope: impl Fn(u32) -> Option<&'n EncodedOrigin>,
        out: &mut Vec<u8>,
    ) {
        self.groups.sort_unstable_by_key(|group| group.key);
        let groups: Vec<&Group> = self.groups.iter().filter(|group| !group.elements.is_empty()).collect();
        if !groups.is_empty() {
            self.write_request(&groups, resources, scope, out);
        }
        // Buffer sizes depend on how elements were appended, so they must not decide.
        self.groups.retain_mut(|group| {
            let is_small = group.elements.len() <= MOST_KEPT_BYTES;
            group.elements.clear();
            group.elements.shrink_to(MOST_KEPT_BYTES);
            is_small
        });
        self.groups.truncate(MOST_KEPT);
        self.last = None;
        self.indexes.clear();
        self.indexes.extend(self.groups.iter().enumerate().map(|(index, group)| (group.key, index)));
        self.bytes = 0;
        self.elements = 0;
    }

    fn write_request<'n>(
        &self,
        groups: &[&Group],
        resources: &HashMap<u64, EncodedOrigin>,
        scope: impl Fn(u32) -> Option<&'n EncodedOrigin>,
        out: &mut Vec<u8>,
    ) {
        let encoding = self.encoding;
        let [resource_field, scope_field, element_field] = self.signal.fields();
        if encoding == OtlpEncoding::Json {
            out.push(b'{');
        }
        encoding.begin_list(out, resource_field);
        for of_resource in groups.chunk_by(|a, b| a.key.resource == b.key.resource) {
            let at = encoding.begin_element(out, resource_field);
            let inner = encoding.begin(out, data::RESOURCE);
            let key = of_resource.first().map(|group| group.key.resource);
            let resource = key.and_then(|key| resources.get(&key));
            resource.into_iter().for_each(|resource| out.extend_from_slice(&resource.message));
            encoding.end(out, inner);
            encoding.begin_list(out, scope_field);
            for of_scope in of_resource.chunk_by(|a, b| a.key.scope == b.key.scope) {
                let at = encoding.begin_element(out, scope_field);
                let inner = encoding.begin(out, data::SCOPE);
                let scope = of_scope.first().and_then(|group| scope(group.key.scope));
                scope.into_iter().for_each(|scope| out.extend_from_slice(&scope.message));
                encoding.end(out, inner);
                encoding.begin_list(out, element_field);
                of_scope.iter().for_each(|group| self.write_group(group, element_field, out));
                encoding.end_list(out);
                self.write_schema(scope, out);
                encoding.end(out, at);
            }
            encoding.end_list(out);
            self.write_schema(resource, out);
            encoding.end(out, at);
        }
        encoding.end_list(out);
        if encoding == OtlpEncoding::Json {
            out.extend_from_slice(b"}\n");
        }
    }

    /// Writes the URL of the schema of a resource or a scope.
    fn write_schema(&self, origin: Option<&EncodedOrigin>, out: &mut Vec<u8>) {
        let url = origin.map_or(&[][..], |origin| origin.schema_url.as_bytes());
        self.encoding.set_text(out, data::SCHEMA_URL, url);
    }

    fn write_group(&self, group: &Group, element_field: OtlpField, out: &mut Vec<u8>) {
        let encoding = self.encoding;
        if self.signal != OtlpSignal::Metrics {
            if encoding == OtlpEncoding::Json && out.last() != Some(&b'[') {
                out.push(b',');
            }
            return out.extend_from_slice(&group.elements);
        }
        let at = encoding.begin_element(out, element_field);
        let MetricHead { name, description, unit, data } = &group.metric;
        encoding.text(out, metric::NAME, name.as_bytes());
        encoding.set_text(out, metric::DESCRIPTION, description.as_bytes());
        encoding.set_text(out, metric::UNIT, unit.as_bytes());
        let (field, temporality, is_monotonic) = match *data {
            MetricData::Gauge => (metric::GAUGE, 0, false),
            MetricData::Sum { temporality, is_monotonic } => (metric::SUM, temporality, is_monotonic),
            MetricData::Histogram { temporality } => (metric::HISTOGRAM, temporality, false),
            MetricData::Exponential { temporality } => (metric::EXPONENTIAL, temporality, false),
            MetricData::Summary => (metric::SUMMARY, 0, false),
        };
        let data = encoding.begin(out, field);
        encoding.elements(out, metric::POINTS, &group.elements);
        encoding.count(out, metric::TEMPORALITY, temporality);
        if is_monotonic {
            encoding.boolean(out, metric::IS_MONOTONIC, true);
        }
        encoding.end(out, data);
        encoding.end(out, at);
    }
}
