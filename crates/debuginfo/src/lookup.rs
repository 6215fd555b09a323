//! Debug information for single events.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, RwLock};

use ichnos_model::cursor::EventLookup;
use ichnos_model::event::EventValues;
use ichnos_model::field::FieldRef;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::stack::Validity;
use ichnos_model::{Event, OpenedTrace, Scope};

use crate::address_spaces::AddressSpaces;
use crate::class::{self, ADDRESS, DebugInfoTexts, PROCESS};
use crate::texts::TextMaker;

/// Texts by process, address and time in a trace.
pub(crate) struct AddressTexts {
    trace: Arc<dyn OpenedTrace>,
    maker: Arc<TextMaker>,
    spaces: OnceLock<AddressSpaces>,
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
        Self { trace, maker, spaces: OnceLock::new(), known: RwLock::default(), unknown: Arc::default() }
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
        let texts = match spaces.find(process, address, time) {
            Some(mapped) => Arc::new(self.maker.texts(mapped, address)),
            None => Arc::clone(&self.unknown),
        };
        let validity = spaces.validity(process, address, time);
        let mut known = self.known.write().ignore_poison();
        if known.len() >= Self::MOST {
            known.clear();
        }
        known.insert(key, KnownTexts { validity, texts: Arc::clone(&texts) });
        texts
    }
}

/// Looks up debug information for the events in a data stream.
pub(crate) struct DebugInfoLookup {
    texts: Arc<AddressTexts>,
    /// Process and address fields by event class index.
    fields: Vec<Option<[FieldRef; 2]>>,
    /// Texts in the values.
    current: Option<Arc<DebugInfoTexts>>,
}

impl DebugInfoLookup {
    pub(crate) fn new(texts: Arc<AddressTexts>) -> Self {
        Self { texts, fields: Vec::new(), current: None }
    }

    fn process_and_address(&mut self, event: &Event<'_>) -> Option<(i64, u64)> {
        let class = event.class_index()?;
        if self.fields.len() <= class {
            self.fields.resize(class + 1, None);
        }
        let known = self.fields.get_mut(class)?;
        if known.is_none() {
            let find = |name| FieldRef::within(event, Scope::CommonContext, name);
            *known = Some([find(PROCESS)?, find(ADDRESS)?]);
        }
        let [process, address] = known.as_ref()?;
        Some((event.get(process)?.as_i64()?, event.get(address)?.as_u64()?))
    }
}

impl EventLookup for DebugInfoLookup {
    fn look_up(&mut self, event: &Event<'_>, values: &mut EventValues) {
        let texts = match self.process_and_address(event) {
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
