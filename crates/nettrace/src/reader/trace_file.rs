//! State shared by all cursors of a file.

use std::sync::OnceLock;

use ichnos_io::Bytes;
use ichnos_model::clock::ClockOffsets;
use ichnos_model::{Event, Scope, Trace};

use super::class::{PayloadForm, raw_kind};
use super::index::{NettraceIndex, content, release};
use super::nettrace_options::NettraceOptions;
use super::payload::{PayloadWidths, bytes_behind};
use super::processes::{ProcessNameReader, ProcessNames};
use super::stack_numbers::StackNumbers;
use super::tables::{self, StackBlocks};
use super::walk::{Walker, walk};
use crate::{BlockKind, Container, EventMetadata, EventRows, FileItem, RowEncoding, TraceBlock, Version};

/// State shared by all cursors of a file.
#[derive(Debug)]
pub(crate) struct FileState {
    pub(super) name: String,
    pub(super) bytes: Bytes,
    /// Number of bytes that were removed from the start of `bytes`, in a stream that is still arriving.
    pub(super) removed: u64,
    /// `false` while further bytes may arrive.
    pub(super) is_all: bool,
    /// Container at the first block.
    pub(super) container: Container,
    pub(super) index: NettraceIndex,
    /// Payload forms by event kind.
    pub(super) forms: Vec<PayloadForm>,
    /// Nanoseconds at tick 0, if a tick is a nanosecond.
    pub(super) nanoseconds: Option<i128>,
    pub(super) options: NettraceOptions,
    pub(super) are_stacks_interned: OnceLock<()>,
    /// Version 6 only. Created on demand.
    pub(super) process_names: OnceLock<ProcessNames>,
    /// Created when the file is compared with the output.
    pub(super) hashes_of_kinds: OnceLock<Vec<u64>>,
}

impl FileState {
    pub(crate) fn version(&self) -> Version {
        self.index.version
    }

    pub(crate) fn trace_block(&self) -> &TraceBlock {
        &self.index.trace
    }

    /// Returns all bytes of the file if opening it found no fault, and its times are read unchanged.
    pub(crate) fn whole_bytes(&self) -> Option<&Bytes> {
        let is_whole = self.index.is_complete && self.index.fault_count == 0;
        (is_whole && self.is_as_recorded()).then_some(&self.bytes)
    }

    /// Returns `true` if the event descriptions are valid, and the file's times are read unchanged.
    pub(crate) fn is_as_recorded(&self) -> bool {
        let NettraceOptions { clock_zero, clock_offsets, .. } = &self.options;
        self.index.metadata_faults.is_empty()
            && !self.container.is_rest()
            && clock_zero.is_none()
            && *clock_offsets == ClockOffsets::default()
    }

    /// Returns all bytes of the file.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Returns the container at the first block.
    pub(crate) fn container(&self) -> Container {
        self.container.clone()
    }

    /// Returns an event kind's metadata.
    pub(crate) fn metadata_of_kind(&self, kind: usize) -> Option<&EventMetadata> {
        self.index.classes.get(kind)
    }

    /// Returns `true` if an event's payload does not match the fields of its kind. The event must belong to the file.
    pub(crate) fn is_misfit(&self, kind: usize, event: &Event<'_>) -> bool {
        event.class.is_undescribed && !matches!(self.forms.get(kind), Some(PayloadForm::Raw))
    }

    /// Returns the number of payload bytes after the last field of an event.
    pub(crate) fn bytes_behind(&self, event: &Event<'_>) -> usize {
        let payload = event.scopes.bits.bytes();
        let form = event.class_index().and_then(|index| self.forms.get(index));
        let slots = event.scopes.slots;
        let layout = event.plan(Scope::Payload).map(|plan| (plan, slots, *event.scopes.limits));
        form.map_or(0, |form| bytes_behind(payload, form, layout, PayloadWidths::from_index(&self.index)))
    }

    /// Returns `true` if the file has event kinds from a provider.
    pub(crate) fn has_provider(&self, name: &str) -> bool {
        self.index.classes.iter().any(|metadata| metadata.provider == name)
    }

    pub(crate) fn process_id(&self) -> Option<u64> {
        self.index.trace.process_id
    }

    /// Returns `true` if events are read in file order.
    pub(crate) fn is_unsorted(&self) -> bool {
        self.index.version == Version::V3 || self.options.unsorted
    }

    /// Returns a hash of each event kind. `hash` must be the same function in all calls.
    pub(crate) fn hashes_of_kinds(&self, hash: impl Fn(&EventMetadata) -> u64) -> &[u64] {
        self.hashes_of_kinds.get_or_init(|| self.index.classes.iter().map(hash).collect())
    }

    /// Returns the event kind's index for an event in the file. Returns `None` if it is unknown.
    pub(crate) fn kind_of(&self, event: &Event<'_>) -> Option<usize> {
        let is_kind = |index: &usize| *index < self.index.classes.len();
        let declared = event.class_index().filter(is_kind);
        declared.or_else(|| usize::try_from(raw_kind(event.class)?).ok().filter(is_kind))
    }

    /// Passes all blocks and events to a walker.
    pub(super) fn walk(&self, walker: &mut impl Walker) {
        walk(&self.bytes, &self.container, &self.index, walker);
    }

    /// Returns the process names. Reads the whole file first, so that the names do not depend on the event that is read
    /// first.
    pub(super) fn process_names(&self, trace: &Trace) -> &ProcessNames {
        self.process_names.get_or_init(|| {
            let Some(mut names) = ProcessNameReader::new(&self.bytes, &self.index) else {
                return ProcessNames::default();
            };
            // Most files have both, so read them in one pass.
            let mut is_read = false;
            self.are_stacks_interned.get_or_init(|| {
                is_read = true;
                self.walk(&mut (&mut names, &mut self.stack_numbers(trace)));
            });
            if !is_read {
                self.walk(&mut names);
            }
            names.finish()
        })
    }

    fn stack_numbers<'f>(&'f self, trace: &'f Trace) -> StackNumbers<'f> {
        let pointer_size = self.index.trace.pointer_size;
        StackNumbers { bytes: &self.bytes, pointer_size, trace, stacks: StackBlocks::default() }
    }

    /// Numbers all stacks in file order. The numbers must not depend on the event that is read first.
    pub(super) fn intern_stacks(&self, trace: &Trace) {
        self.are_stacks_interned.get_or_init(|| {
            let pointer_size = self.index.trace.pointer_size;
            if matches!(self.index.version, Version::V6(_)) {
                // A stack in two processes is two stacks, and only events reveal the process.
                return self.walk(&mut self.stack_numbers(trace));
            }
            let mut container = self.container.clone();
            let mut frames = Vec::new();
            loop {
                let block = match container.next(&self.bytes, 0, true) {
                    FileItem::Block(block) => block,
                    FileItem::Fault(_) => continue,
                    FileItem::More | FileItem::End => return,
                };
                release(&self.bytes, &block);
                let content = content(&self.bytes, &block);
                match block.kind {
                    BlockKind::Stack => drop(tables::intern(content, pointer_size, trace)),
                    BlockKind::Event if self.index.version == Version::V3 => {
                        let mut rows = EventRows::new(
                            RowEncoding::V3,
                            0..content.len(),
                            block.content.start + self.index.missing,
                        );
                        while let Some(row) = rows.next(content) {
                            // Rows are within the content.
                            let stack = content.get(row.stack.clone()).unwrap_or_default();
                            tables::intern_stack(stack, pointer_size, trace, &mut frames);
                        }
                    }
                    _ => {}
                }
            }
        });
    }
}
