//! Fast recognition of reports with the same keys in the same order.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_model::Trace;
use ichnos_model::class::DynamicClass;

use super::class::{self, ANY_KEY, LineRole, ReportKey};

/// Maximum number of lines in a report with its own class.
const MOST_LINES: usize = 256;
/// Maximum total key size in bytes for such a report.
const MOST_BYTES: usize = 16 << 10;

/// Common layout of all reports with the same keys in the same order.
#[derive(Debug)]
pub(super) struct ReportShape {
    pub(super) class: Arc<DynamicClass>,
    /// Line roles.
    pub(super) roles: Box<[LineRole]>,
    /// Payload members, or `None` for an array of keys and values.
    pub(super) members: Option<Box<[ShapeMember]>>,
    /// Line indexes for the members.
    pub(super) lines: Box<[u32]>,
    /// Specific context numbers.
    pub(super) numbers: Box<[LineRole]>,
}

/// A payload member.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShapeMember {
    /// Number of entries in [`ReportShape::lines`].
    pub(super) lines: u32,
    pub(super) is_array: bool,
}

/// Report keys in line order, each after its length, for comparison.
#[derive(Debug, Default)]
pub(super) struct KeySequence {
    bytes: Vec<u8>,
    lines: usize,
}

/// Size of a length in a [`KeySequence`] in bytes.
const LENGTH: usize = 4;

impl KeySequence {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.lines = 0;
    }

    #[inline]
    pub(super) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(key);
        self.lines += 1;
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            let (length, behind) = rest.split_first_chunk::<LENGTH>()?;
            let (key, behind) = behind.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            rest = behind;
            Some(key)
        })
    }
}

/// Known shapes. All are dropped when there are too many.
#[derive(Debug)]
pub(super) struct Shapes {
    by_keys: HashMap<Box<[u8]>, usize>,
    shapes: Vec<Arc<ReportShape>>,
    /// Last used shape and its keys.
    last: Option<usize>,
    last_keys: Vec<u8>,
    most: usize,
    /// Class for reports with any keys.
    any: Option<Arc<DynamicClass>>,
    /// Class key for the lookup.
    key: Vec<u8>,
}

impl Shapes {
    pub(super) fn new(most: usize) -> Self {
        Self {
            by_keys: HashMap::new(),
            shapes: Vec::new(),
            last: None,
            last_keys: Vec::new(),
            most,
            any: None,
            key: Vec::new(),
        }
    }

    /// Returns the shape for a report with these keys, or `None` if the limits are too low for any class.
    #[inline]
    pub(super) fn get(&mut self, keys: &KeySequence, trace: &Trace) -> Option<Arc<ReportShape>> {
        if self.last.is_none() || self.last_keys != keys.bytes {
            let known = self.by_keys.get(&keys.bytes[..]).copied();
            self.last = Some(match known {
                Some(known) => known,
                None => self.add(keys, trace)?,
            });
            self.last_keys.clone_from(&keys.bytes);
        }
        self.shapes.get(self.last?).cloned()
    }

    #[inline(never)]
    fn add(&mut self, keys: &KeySequence, trace: &Trace) -> Option<usize> {
        if self.shapes.len() >= self.most {
            self.shapes.clear();
            self.by_keys.clear();
        }
        self.last = None;
        let shape = match self.shape_of(keys, trace) {
            Some(shape) => shape,
            None => ReportShape {
                class: self.any(trace)?,
                roles: keys.keys().map(LineRole::from_key).collect(),
                members: None,
                lines: Box::default(),
                numbers: [LineRole::Process, LineRole::Thread, LineRole::Severity].into(),
            },
        };
        // Long sequences are unlikely to repeat.
        if keys.bytes.len() <= 2 * MOST_BYTES {
            self.by_keys.insert(keys.bytes[..].into(), self.shapes.len());
        }
        self.shapes.push(Arc::new(shape));
        Some(self.shapes.len() - 1)
    }

    /// Returns `None` if the report needs the shared class.
    fn shape_of(&mut self, keys: &KeySequence, trace: &Trace) -> Option<ReportShape> {
        if keys.lines > MOST_LINES || keys.bytes.len() > MOST_BYTES {
            return None;
        }
        let mut by_name: HashMap<&[u8], usize> = HashMap::new();
        let mut members: Vec<(&[u8], Vec<u32>)> = Vec::new();
        for (line, key) in (0..).zip(keys.keys()) {
            let member = *by_name.entry(key).or_insert(members.len());
            match members.get_mut(member) {
                Some((_, lines)) => lines.push(line),
                None => members.push((key, vec![line])),
            }
        }
        let of_class = |(name, lines): &(&'_ [u8], Vec<u32>)| lines.len() > 1 || class::is_list(name);
        self.key.clear();
        for member in &members {
            class::push_key(&mut self.key, ReportKey { name: member.0, is_array: of_class(member) });
        }
        let classes = trace.dynamic_classes(0)?;
        let class = classes.get(classes.index(&self.key, false)?).ok().flatten()?;
        let all = members.iter().map(|member| ReportKey { name: member.0, is_array: of_class(member) });
        Some(ReportShape {
            class,
            roles: keys.keys().map(LineRole::from_key).collect(),
            numbers: class::numbers(all).collect(),
            lines: members.iter().flat_map(|(_, lines)| lines.iter().copied()).collect(),
            members: Some(
                members
                    .iter()
                    .map(|member| ShapeMember { lines: member.1.len() as u32, is_array: of_class(member) })
                    .collect(),
            ),
        })
    }

    fn any(&mut self, trace: &Trace) -> Option<Arc<DynamicClass>> {
        if self.any.is_none() {
            let classes = trace.dynamic_classes(0)?;
            self.any = classes.get(classes.index(ANY_KEY, true)?).ok().flatten();
        }
        self.any.clone()
    }
}
