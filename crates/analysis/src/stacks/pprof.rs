//! The format of `pprof`: one protocol buffer message, compressed.
//!
//! Field numbers are from `profile.proto` of <https://github.com/google/pprof>.

use std::collections::HashMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use super::StackWeight;
use super::profile::StackProfile;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Profile {
    #[prost(message, repeated, tag = "1")]
    pub(super) sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    pub(super) sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    pub(super) location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    pub(super) function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    pub(super) string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    pub(super) time_nanos: i64,
    #[prost(int64, repeated, tag = "13")]
    pub(super) comment: Vec<i64>,
    #[prost(int64, tag = "14")]
    pub(super) default_sample_type: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ValueType {
    #[prost(int64, tag = "1")]
    pub(super) r#type: i64,
    #[prost(int64, tag = "2")]
    pub(super) unit: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Sample {
    /// Innermost location first.
    #[prost(uint64, repeated, tag = "1")]
    pub(super) location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub(super) value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    pub(super) label: Vec<Label>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Label {
    #[prost(int64, tag = "1")]
    pub(super) key: i64,
    #[prost(int64, tag = "2")]
    pub(super) str: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Location {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(message, repeated, tag = "4")]
    pub(super) line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Line {
    #[prost(uint64, tag = "1")]
    pub(super) function_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Function {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(int64, tag = "2")]
    pub(super) name: i64,
    #[prost(int64, tag = "3")]
    pub(super) system_name: i64,
    #[prost(int64, tag = "4")]
    pub(super) filename: i64,
}

/// String table without duplicates.
struct Strings {
    texts: Vec<String>,
    indexes: HashMap<String, i64>,
}

impl Strings {
    fn index(&mut self, text: &str) -> i64 {
        if let Some(index) = self.indexes.get(text) {
            return *index;
        }
        let index = self.texts.len() as i64;
        self.texts.push(text.to_owned());
        self.indexes.insert(text.to_owned(), index);
        index
    }
}

/// Writes the message in parts: concatenated messages are one, with joined lists. So stacks need not all be
/// in memory.
pub(super) fn write(profile: &StackProfile, out: &mut dyn Write) -> io::Result<()> {
    let mut encoder = GzEncoder::new(out, Compression::default());
    let mut bytes = Vec::new();
    let mut part = |message: Profile| {
        bytes.clear();
        // Encoding into a vector does not fail.
        let _ = message.encode(&mut bytes);
        encoder.write_all(&bytes)
    };
    // The format requires the first string to be empty.
    let mut strings = Strings { texts: vec![String::new()], indexes: HashMap::from([(String::new(), 0)]) };
    let mut sample_type = vec![ValueType { r#type: strings.index("samples"), unit: strings.index("count") }];
    match &profile.weight {
        StackWeight::Samples => {}
        StackWeight::Time | StackWeight::TimeBefore => {
            sample_type.push(ValueType { r#type: strings.index("time"), unit: strings.index("nanoseconds") });
        }
        StackWeight::Field(name) => {
            sample_type.push(ValueType { r#type: strings.index(name), unit: strings.index("count") });
        }
    }
    let keys = [strings.index("process"), strings.index("thread")];
    for thread in &profile.threads {
        let known = &thread.thread;
        let is_known = [
            known.process.is_some() || known.process_name.is_some(),
            known.thread.is_some() || known.thread_name.is_some(),
        ];
        let labels = [known.process_label(), known.thread_label()].map(|label| strings.index(&label));
        let labels = keys.into_iter().zip(labels).zip(is_known).filter(|(_, is)| *is);
        let label: Vec<Label> = labels.map(|((key, str), _)| Label { key, str }).collect();
        for (call, total) in thread.sorted() {
            // The weight, and the number of samples if that differs.
            let values = match profile.weight {
                StackWeight::Samples => &[total.weight][..],
                _ => &[total.samples, total.weight],
            };
            let sample = Sample {
                location_id: profile.calls.path(call).map(|(_, function)| u64::from(function) + 1).collect(),
                value: values.iter().map(|value| i64::try_from(*value).unwrap_or(i64::MAX)).collect(),
                label: label.clone(),
            };
            part(Profile { sample: vec![sample], ..Profile::default() })?;
        }
    }
    for (known, id) in profile.calls.functions.iter().zip(1..) {
        let name = strings.index(&known.label);
        let filename = known.module.as_ref().map_or(0, |module| strings.index(module));
        // With the same name in both fields, readers would demangle it as C++.
        let function = Function { id, name, system_name: 0, filename };
        let location = Location { id, line: vec![Line { function_id: id }] };
        part(Profile { location: vec![location], function: vec![function], ..Profile::default() })?;
    }
    let default_sample_type = sample_type.last().map_or(0, |kind| kind.r#type);
    let comment = if profile.title.is_empty() { Vec::new() } else { vec![strings.index(&profile.title)] };
    let time_nanos = profile.begin.filter(|_| profile.has_dates).unwrap_or_default();
    part(Profile {
        sample_type,
        string_table: strings.texts,
        time_nanos: i64::try_from(time_nanos).unwrap_or_default(),
        comment,
        default_sample_type,
        ..Profile::default()
    })?;
    encoder.finish()?.flush()
}
