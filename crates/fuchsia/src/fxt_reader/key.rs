//! Event record class keys, from record kind, names and argument types.

ichnos_model::named_enum! {
    /// Kind of a record that becomes an event, with its class name.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u8)]
    pub(crate) enum RecordKind {
        Event = "event",
        Blob = "blob",
        UserspaceObject = "userspace_object",
        KernelObject = "kernel_object",
        LegacySwitch = "legacy_context_switch",
        Switch = "context_switch",
        Wakeup = "thread_wakeup",
        Log = "log",
        Module = "module",
        Mapping = "mapping",
        Backtrace = "backtrace",
        LargeBlob = "large_blob",
        BareLargeBlob = "large_blob",
        Unknown = "unknown_record",
        LargeUnknown = "unknown_record",
    }
}

impl RecordKind {
    /// Returns `true` for records with arguments, for which the number of classes is unlimited.
    pub(crate) fn has_arguments(self) -> bool {
        use RecordKind::{Event, KernelObject, LargeBlob, Switch, UserspaceObject, Wakeup};
        matches!(self, Event | KernelObject | UserspaceObject | Switch | Wakeup | LargeBlob)
    }
}

/// Record properties that determine the class, apart from names and arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordForm {
    pub(crate) kind: RecordKind,
    /// Event type.
    pub(crate) event: u8,
    /// `true` for an instant event with a scope.
    pub(crate) has_scope: bool,
    /// `true` for records beyond the class limit, where names and arguments are values.
    pub(crate) is_any: bool,
}

impl RecordForm {
    pub(crate) fn new(kind: RecordKind) -> Self {
        Self { kind, event: 0, has_scope: false, is_any: false }
    }

    /// Returns the form for records beyond the class limit.
    pub(super) fn any(self) -> Self {
        Self { is_any: true, ..self }
    }

    /// Starts a key with this form.
    pub(super) fn write(self, key: &mut Vec<u8>) {
        key.clear();
        key.extend([self.kind as u8, self.event, u8::from(self.has_scope) | u8::from(self.is_any) << 1]);
    }

    /// Reads the form at the start of a key, and returns the rest of the key.
    pub(super) fn read(key: &[u8]) -> Option<(Self, &[u8])> {
        let ([kind, event, flags], rest) = key.split_first_chunk()?;
        let kind = *RecordKind::ALL.get(usize::from(*kind))?;
        Some((Self { kind, event: *event, has_scope: flags & 1 != 0, is_any: flags & 2 != 0 }, rest))
    }
}

/// Appends a name to a key.
pub(super) fn push_name(key: &mut Vec<u8>, name: &[u8]) {
    // Record names have at most 32,767 bytes.
    key.extend_from_slice(&(name.len() as u16).to_le_bytes());
    key.extend_from_slice(name);
}

/// Reads a name from the rest of a key.
pub(super) fn read_name<'k>(key: &mut &'k [u8]) -> Option<&'k [u8]> {
    let (length, rest) = key.split_first_chunk()?;
    let (name, rest) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
    *key = rest;
    Some(name)
}

/// Reads argument types and names from the rest of a key.
pub(super) fn read_arguments(mut key: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (kind, rest) = key.split_first()?;
        key = rest;
        Some((*kind, read_name(&mut key)?))
    })
}
