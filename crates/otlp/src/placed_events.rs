//! Reads the events of a data stream.

use std::sync::Arc;

use ichnos_io::Bytes;
use ichnos_model::Source;
use ichnos_model::event::EventValues;
use ichnos_model::message::{Damage, DamageKind, DataPosition};
use ichnos_model::source::{NextRecord, Record};

use crate::class::DraftOrigin;
use crate::context_table::ContextTable;
use crate::draft_reader::DraftReader;
use crate::event_indexer::ElementPlace;
use crate::input::RequestEncoding;
use crate::rule::RequestRule;

/// A file with requests.
#[derive(Debug)]
pub(crate) struct RequestFile {
    pub(crate) name: String,
    pub(crate) bytes: Bytes,
    pub(crate) encoding: RequestEncoding,
}

/// Files of a trace, and the origins of their elements.
#[derive(Debug)]
pub(crate) struct RequestFiles {
    pub(crate) files: Vec<RequestFile>,
    pub(crate) contexts: ContextTable,
}

/// Reads the events of a data stream, sorted by time.
#[derive(Debug)]
pub(crate) struct PlacedEvents {
    files: Arc<RequestFiles>,
    places: Arc<[ElementPlace]>,
    next: usize,
    reader: DraftReader,
    values: EventValues,
    /// `true` if it reports files that have become shorter.
    reports_loss: bool,
}

impl PlacedEvents {
    pub(crate) fn new(files: &Arc<RequestFiles>, places: &Arc<[ElementPlace]>, reports_loss: bool) -> Self {
        Self {
            files: Arc::clone(files),
            places: Arc::clone(places),
            next: 0,
            reader: DraftReader::default(),
            values: EventValues::default(),
            reports_loss,
        }
    }

    /// Returns a place with its file.
    fn place(&self, index: usize) -> Option<(&ElementPlace, &RequestFile)> {
        let place = self.places.get(index)?;
        let (context, ..) = self.files.contexts.get(place.context)?;
        Some((place, self.files.files.get(context.file as usize)?))
    }

    /// Reads the next event.
    fn read(&mut self, record: &mut Record) -> Option<NextRecord> {
        let index = self.next;
        self.next += 1;
        let files = Arc::clone(&self.files);
        let place = self.places.get(index)?;
        let (context, scope, _) = files.contexts.get(place.context)?;
        let file = files.files.get(context.file as usize)?;
        let resource = files.contexts.resources().get(context.resource as usize)?;
        let (element, part) = match place.element(&file.bytes, file.encoding, &files.contexts) {
            Ok(found) => found,
            Err(fault) => {
                let rule = RequestRule::Element.broken(fault.message.into_owned());
                return Some(NextRecord::Damage(Damage::new(&*file.name, fault.at as u64 * 8, rule.into())));
            }
        };
        let origin = DraftOrigin { resource, scope };
        let draft = element.into_draft(part);
        let time = draft.time;
        let Some(class) = self.reader.read(draft, origin, &record.stream, &mut self.values) else {
            let kind =
                DamageKind::Unreadable("the limits are too low for the class of this event".to_owned());
            let damage = Damage::new(&*file.name, place.range().start as u64 * 8, kind);
            return Some(NextRecord::Damage(damage));
        };
        record.set_dynamic_class(&class);
        if time != 0 {
            record.set_cycles(time);
        }
        std::mem::swap(&mut record.values, &mut self.values);
        Some(NextRecord::Event)
    }

    /// Reports a file that has become shorter.
    fn loss(&mut self) -> Option<Damage> {
        if !std::mem::take(&mut self.reports_loss) {
            return None;
        }
        let lost = self.files.files.iter().find_map(|file| {
            let lost = file.bytes.look_for_loss();
            (!lost.is_empty()).then_some((file, lost))
        });
        let (file, lost) = lost?;
        let damage = Damage::new(&*file.name, lost.start as u64 * 8, DamageKind::Lost { reported: true });
        Some(damage.skipping(lost.len() as u64 * 8))
    }
}

impl Source for PlacedEvents {
    fn next(&mut self, record: &mut Record) -> NextRecord {
        match self.read(record) {
            Some(read) => read,
            None => self.loss().map_or(NextRecord::End, NextRecord::Damage),
        }
    }

    fn has_fitting_events(&self) -> bool {
        // Values are appended by the shapes that the class was made from.
        true
    }

    fn position(&self) -> Option<DataPosition> {
        let (place, file) = self.place(self.next.checked_sub(1)?)?;
        Some(DataPosition::at_byte(&*file.name, place.range().start as u64))
    }
}
