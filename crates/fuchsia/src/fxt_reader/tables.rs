//! String and thread tables of a provider at a position in the file.

use crate::fxt::{ProcessRef, StringRecord, StringRef, ThreadRecord, ThreadRef};

/// Position of a string in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct StringPlace {
    begin: usize,
    length: u32,
    is_registered: bool,
}

/// Page of strings whose indexes share the upper bits.
type StringPage = [StringPlace; 1 << PAGE_BITS];

/// Pages are small so that an isolated index takes only a few hundred bytes.
const PAGE_BITS: u32 = 5;

/// Table entries at a position in the file.
#[derive(Clone, Debug)]
pub(super) struct TableSnapshot {
    strings: Box<[(u16, StringPlace)]>,
    threads: Box<[Option<(u64, u64)>]>,
}

impl TableSnapshot {
    /// Returns the number of strings and threads.
    pub(super) fn count(&self) -> usize {
        self.strings.len() + self.threads.len()
    }
}

/// Strings and threads registered so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    /// Strings by index, in pages, so that a single index takes little memory.
    strings: Vec<Option<Box<StringPage>>>,
    /// Process and thread by index.
    threads: Vec<Option<(u64, u64)>>,
    /// Unregistered indexes that were reported: one bit for each string, then one for each thread.
    reported: Vec<u64>,
}

/// Number of strings, where the threads start in [`Tables::reported`].
const STRINGS: usize = 1 << 15;

impl Tables {
    /// Returns the tables at the position of a snapshot.
    pub(super) fn at(snapshot: Option<&TableSnapshot>) -> Self {
        let mut tables = Self::default();
        if let Some(snapshot) = snapshot {
            snapshot.strings.iter().for_each(|(index, place)| tables.set_place((*index).into(), *place));
            tables.threads = snapshot.threads.to_vec();
        }
        tables
    }

    /// Returns a snapshot of all strings and threads registered so far.
    pub(super) fn snapshot(&self) -> TableSnapshot {
        let pages =
            self.strings.iter().zip(0u16..).filter_map(|(page, number)| Some((page.as_deref()?, number)));
        let places = pages.flat_map(|(page, number)| {
            let registered = page.iter().zip(0u16..).filter(|(place, _)| place.is_registered);
            registered.map(move |(place, index)| (number << PAGE_BITS | index, *place))
        });
        TableSnapshot { strings: places.collect(), threads: self.threads.as_slice().into() }
    }

    #[inline(always)]
    fn place(&self, index: u16) -> Option<StringPlace> {
        let page = self.strings.get(usize::from(index >> PAGE_BITS))?.as_deref()?;
        page.get(usize::from(index) % page.len()).copied().filter(|place| place.is_registered)
    }

    /// Returns `true` if a record changes an earlier registration (in the file `bytes`), or registers an index that was
    /// used before.
    pub(super) fn is_changed_by(&self, record: &StringRecord<'_>, bytes: &[u8]) -> bool {
        match self.place(record.index) {
            Some(place) => text(bytes, place) != record.string,
            None => self.is_reported(record.index.into()),
        }
    }

    /// Returns `true` if a record changes an earlier thread registration.
    pub(super) fn is_changed_by_thread(&self, record: &ThreadRecord) -> bool {
        let thread = self.threads.get(usize::from(record.index)).copied().flatten();
        thread.is_some_and(|thread| thread != (record.process, record.thread))
    }

    /// Registers a string whose record is at this offset.
    #[inline]
    pub(super) fn add_string(&mut self, record: &StringRecord<'_>, offset: usize) {
        // The string follows the header.
        let place =
            StringPlace { begin: offset + 8, length: record.string.len() as u32, is_registered: true };
        if record.index != 0 {
            self.set_place(record.index.into(), place);
        }
    }

    fn set_place(&mut self, index: usize, new: StringPlace) {
        let page = index >> PAGE_BITS;
        if self.strings.len() <= page {
            self.strings.resize_with(page + 1, || None);
        }
        let Some(page) = self.strings.get_mut(page) else { return };
        let page = page.get_or_insert_with(|| Box::new([StringPlace::default(); 1 << PAGE_BITS]));
        if let Some(place) = page.get_mut(index % (1 << PAGE_BITS)) {
            *place = new;
        }
    }

    /// Registers a thread.
    pub(super) fn add_thread(&mut self, record: &ThreadRecord) {
        let index = usize::from(record.index);
        if index == 0 {
            return;
        }
        if self.threads.len() <= index {
            self.threads.resize(index + 1, None);
        }
        if let Some(thread) = self.threads.get_mut(index) {
            *thread = Some((record.process, record.thread));
        }
    }

    /// Returns the string, or `None` if its index is not registered.
    #[inline(always)]
    pub(super) fn string<'a>(&self, reference: StringRef<'a>, bytes: &'a [u8]) -> Option<&'a [u8]> {
        match reference {
            StringRef::Inline(text) => Some(text),
            StringRef::Index(index) => Some(text(bytes, self.place(index)?)),
        }
    }

    /// Returns the process id and the thread id, or `None` if the index is not registered.
    #[inline(always)]
    pub(super) fn thread(&self, reference: ThreadRef) -> Option<(u64, u64)> {
        match reference {
            ThreadRef::Inline { process, thread } => Some((process, thread)),
            ThreadRef::Index(index) => self.threads.get(usize::from(index)).copied().flatten(),
        }
    }

    /// Returns the process id, or `None` if the index is not registered.
    pub(super) fn process(&self, reference: ProcessRef) -> Option<u64> {
        match reference {
            ProcessRef::Inline(process) => Some(process),
            ProcessRef::Index(index) => self.thread(ThreadRef::Index(index)).map(|(process, _)| process),
        }
    }

    /// Marks a string index as reported. Returns `true` the first time.
    #[cold]
    pub(super) fn report_string(&mut self, index: u16) -> bool {
        self.report(index.into())
    }

    /// Marks a thread index as reported. Returns `true` the first time.
    #[cold]
    pub(super) fn report_thread(&mut self, index: u8) -> bool {
        self.report(STRINGS + usize::from(index))
    }

    fn is_reported(&self, number: usize) -> bool {
        self.reported.get(number / 64).is_some_and(|word| word & 1 << (number % 64) != 0)
    }

    fn report(&mut self, number: usize) -> bool {
        let (word, bit) = (number / 64, 1 << (number % 64));
        if self.reported.len() <= word {
            self.reported.resize(word + 1, 0);
        }
        let Some(word) = self.reported.get_mut(word) else { return false };
        std::mem::replace(word, *word | bit) & bit == 0
    }
}

#[inline(always)]
fn text(bytes: &[u8], place: StringPlace) -> &[u8] {
    // The string was stored in these bytes.
    bytes.get(place.begin..place.begin + place.length as usize).unwrap_or_default()
}
