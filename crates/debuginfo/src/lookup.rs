//! Debug information for single events.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, RwLock};

use ichnos_model::cursor::EventLookup;
use ichnos_model::event::EventValues;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::stack::Validity;
use ichnos_model::{Event, OpenedTrace};

use crate::address_fields::AddressFields;
use crate::address_spaces::AddressSpaces;
use crate::class::{self, DebugInfoTexts};
use crate::first_lookups::FirstLookups;
use crate::texts::TextMaker;

/// Texts by process, address and time in a trace.
pub(crate) struct AddressTexts {
    trace: Arc<dyn OpenedTrace>,
    maker: Arc<TextMaker>,
    spaces: OnceLock<AddressSpaces>,
    first_lookups: OnceLock<FirstLookups>,
    known: RwLock<HashMap<(i64, u64), KnownTexts>>,
    unknown: Arc<DebugInfoTexts>,
}

struct KnownTexts {
    validity: Validity,
    texts: Arc<DebugInfoTexts>,
}

impl AddressTexts {
    /// Maximum number of addresses with known texts. Beyond it, all texts are forgotten.
    const MOST: usize = 1 << 14;

    pub(crate) fn new(trace: Arc<dyn OpenedTrace>, maker: Arc<TextMaker>) -> Self {
        Self {
            trace,
            maker,
            spaces: OnceLock::new(),
            first_lookups: OnceLock::new(),
            known: RwLock::default(),
            unknown: Arc::default(),
        }
    }

    /// Returns the texts about an address in a process.
    fn find(&self, process: i64, address: u64, time: i128) -> Arc<DebugInfoTexts> {
        let key = (process, address);
        if let Some(known) = self.known.read().ignore_poison().get(&key)
            && known.validity.contains(time)
        {
            return Arc::clone(&known.texts);
        }
        let spaces = self.spaces.get_or_init(|| self.maker.address_spaces(&*self.trace));
        let first = if self.maker.keeps_first_texts() { self.first_texts(spaces, key, time) } else { None };
        let (texts, validity) = first
            .unwrap_or_else(|| (self.texts_at(spaces, key, time), spaces.validity(process, address, time)));
        let texts = texts.map_or_else(|| Arc::clone(&self.unknown), Arc::new);
        let mut known = self.known.write().ignore_poison();
        if known.len() >= Self::MOST {
            known.clear();
        }
        known.insert(key, KnownTexts { validity, texts: Arc::clone(&texts) });
        texts
    }

    /// Returns the texts about an address as its binary is known at a time.
    fn texts_at(&self, spaces: &AddressSpaces, key: (i64, u64), time: i128) -> Option<DebugInfoTexts> {
        self.maker.texts(spaces.find(key.0, key.1, time)?, key.1)
    }

    /// Returns the first texts about an address since its process listed its binaries, and the time range in which they
    /// are used. Returns `None` if its binary stays the same, so that the first texts need not be found.
    fn first_texts(
        &self,
        spaces: &AddressSpaces,
        key: (i64, u64),
        time: i128,
    ) -> Option<(Option<DebugInfoTexts>, Validity)> {
        let (process, address) = key;
        let mut epoch = spaces.epoch(process, time);
        let own = spaces.validity(process, address, time);
        if own.and(epoch) == epoch {
            return None;
        }
        let read = || FirstLookups::read(&*self.trace, self.maker.window(), spaces);
        let lookups = self.first_lookups.get_or_init(read).times(process, address, epoch)?;
        for first in lookups {
            let Some(texts) = self.texts_at(spaces, key, first) else { continue };
            if first > time {
                epoch.until = Some(first);
                break;
            }
            epoch.from = first;
            return Some((Some(texts), epoch));
        }
        Some((None, epoch))
    }
}

/// Looks up debug information for the events in a data stream.
pub(crate) struct DebugInfoLookup {
    texts: Arc<AddressTexts>,
    fields: AddressFields,
    /// Texts in the values.
    current: Option<Arc<DebugInfoTexts>>,
}

impl DebugInfoLookup {
    pub(crate) fn new(texts: Arc<AddressTexts>) -> Self {
        Self { texts, fields: AddressFields::default(), current: None }
    }
}

impl EventLookup for DebugInfoLookup {
    fn look_up(&mut self, event: &Event<'_>, values: &mut EventValues) {
        let texts = match self.fields.read(event) {
            // Without a clock, all events have the same time.
            Some((process, address)) => {
                self.texts.find(process, address, event.nanoseconds().unwrap_or_default())
            }
            None => Arc::clone(&self.texts.unknown),
        };
        if self.current.as_ref().is_none_or(|current| !Arc::ptr_eq(current, &texts)) {
            class::set(values, &texts);
            self.current = Some(texts);
        }
    }
}
