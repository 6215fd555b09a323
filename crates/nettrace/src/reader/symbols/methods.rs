//! Methods and modules of the .NET runtime.
//!
//! A method is compiled at its first call, and perhaps again later at another address. Each time there is a load event,
//! if the session has enabled these events. At the end of a session (or at its start), the runtime lists all existing
//! methods. This list is called rundown. A listed method without a load event has existed since before the session, or
//! since another method was unloaded at its address.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_model::stack::{CodeKind, Symbol};

use super::context::{SymbolContext, SymbolTexts, file_name};
use crate::wire::Wire;

/// Event about a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MethodEvent {
    action: MethodAction,
    /// `true` if the event contains the method name.
    is_verbose: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MethodAction {
    Load,
    Unload,
    /// The method exists.
    Rundown,
}

impl MethodEvent {
    pub(super) const fn load(is_verbose: bool) -> Self {
        Self { action: MethodAction::Load, is_verbose }
    }

    pub(super) const fn unload(is_verbose: bool) -> Self {
        Self { action: MethodAction::Unload, is_verbose }
    }

    pub(super) const fn rundown(is_verbose: bool) -> Self {
        Self { action: MethodAction::Rundown, is_verbose }
    }
}

/// Field layout of events about modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModuleForm {
    Module,
    /// Like `Module`, with an application domain.
    DomainModule,
}

/// Methods and modules in a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Methods {
    /// Methods in file order.
    rows: Vec<MethodRow>,
    /// Module names over time, by address space and id.
    modules: HashMap<(u32, u64), ValidFrom<Arc<str>>>,
}

/// Values with the times in ticks from which on they are valid.
type ValidFrom<T> = Vec<(u64, T)>;

/// Data of an event about a method. The name stays in the file until it is needed.
#[derive(Clone, Copy, Debug)]
struct MethodRow {
    event: MethodEvent,
    context: SymbolContext,
    method: u64,
    module: u64,
    begin: u64,
    end: u64,
    token: u32,
}

/// Number of bytes before the texts in an event about a method.
const BEFORE_TEXTS: usize = 36;

impl Methods {
    /// Adds an event. Skips it if fields are missing.
    pub(super) fn add(&mut self, event: MethodEvent, context: SymbolContext, bytes: &[u8]) {
        let mut wire = Wire::new(context.payload(bytes));
        let mut read = || {
            let (method, module, begin) = (wire.u64()?, wire.u64()?, wire.u64()?);
            let (size, token, _flags) = (wire.u32()?, wire.u32()?, wire.u32()?);
            let end = begin.checked_add(size.into()).filter(|end| *end > begin)?;
            Some(MethodRow { event, context, method, module, begin, end, token })
        };
        if let Some(row) = read()
            && (!event.is_verbose || row.texts(bytes).is_some())
        {
            self.rows.push(row);
        }
    }

    /// Adds an event about a module.
    pub(super) fn add_module(
        &mut self,
        form: ModuleForm,
        context: SymbolContext,
        bytes: &[u8],
        texts: &mut SymbolTexts,
    ) {
        let mut wire = Wire::new(context.payload(bytes));
        let before_paths = match form {
            // Assembly, flags, a reserved field.
            ModuleForm::Module => 16,
            ModuleForm::DomainModule => 24,
        };
        let (Some(module), Some(_)) = (wire.u64(), wire.take(before_paths)) else { return };
        let Some(name) = module_name(wire.rest()) else { return };
        let name = texts.get(&name);
        let names = self.modules.entry((context.space, module)).or_default();
        // A module may be listed repeatedly.
        if let Some((since, _)) = names.iter_mut().find(|(_, other)| *other == name) {
            *since = context.ticks.min(*since);
        } else if names.len() < MOST_NAMES {
            names.push((context.ticks, name));
        }
    }

    /// Returns all symbols with their address spaces. `time` converts ticks to nanoseconds.
    pub(super) fn symbols(
        mut self,
        bytes: &[u8],
        time: &dyn Fn(u64) -> i128,
        texts: &mut SymbolTexts,
    ) -> Vec<(u32, Symbol)> {
        // Stable sort: rows with equal times stay in file order.
        self.rows.sort_by_key(|row| (row.context.space, row.begin, row.context.ticks));
        let mut names = MethodNames::new(&mut self, bytes, texts);
        let mut symbols = Vec::new();
        let same_place =
            |a: &MethodRow, b: &MethodRow| (a.context.space, a.begin) == (b.context.space, b.begin);
        for rows in self.rows.chunk_by(same_place) {
            for (row, from, until) in lifetimes(rows) {
                let symbol = Symbol {
                    begin: row.begin,
                    end: row.end,
                    from: from.map_or(i128::MIN, time),
                    until: until.map(time),
                    name: Some(names.method(&row)),
                    module: names.module(&row),
                    kind: CodeKind::Managed,
                };
                symbols.push((row.context.space, symbol));
            }
        }
        symbols
    }
}

/// Returns the lifetimes of the methods at an address, in ticks. `rows` has the events about that address, sorted by
/// time. `None` stands for a start before the trace, or for an end after the trace.
fn lifetimes(rows: &[MethodRow]) -> Vec<(MethodRow, Option<u64>, Option<u64>)> {
    let mut lives = Vec::new();
    // Current method, and its start time.
    let mut current: Option<(MethodRow, Option<u64>)> = None;
    // End time of the previous method.
    let mut free: Option<u64> = None;
    for row in rows {
        let ticks = row.context.ticks;
        match (&mut current, row.event.action) {
            (Some((known, _)), MethodAction::Load | MethodAction::Rundown) if known.is_same(row) => {
                // Repeated event, perhaps with the name.
                if row.event.is_verbose && !known.event.is_verbose {
                    *known = *row;
                }
            }
            (Some((known, from)), MethodAction::Unload) => {
                let verbose = if known.is_same(row) && row.event.is_verbose { row } else { &*known };
                lives.push((*verbose, *from, Some(ticks)));
                (current, free) = (None, Some(ticks));
            }
            (None, MethodAction::Unload) => {
                lives.push((*row, free, Some(ticks)));
                free = Some(ticks);
            }
            (Some((known, from)), MethodAction::Load | MethodAction::Rundown) => {
                // The current method's end is missing, but another method is at its address now.
                lives.push((*known, *from, Some(ticks)));
                current = Some((*row, Some(ticks)));
            }
            (None, MethodAction::Load) => current = Some((*row, Some(ticks))),
            (None, MethodAction::Rundown) => current = Some((*row, free)),
        }
    }
    lives.extend(current.map(|(row, from)| (row, from, None)));
    lives
}

impl MethodRow {
    /// Returns `true` for the same compiled method.
    fn is_same(&self, other: &Self) -> bool {
        (self.method, self.begin, self.end) == (other.method, other.begin, other.end)
    }

    /// Returns the namespace with type, the name and the signature as UTF-16, if present.
    fn texts<'f>(&self, bytes: &'f [u8]) -> Option<[&'f [[u8; 2]]; 3]> {
        let mut rest = self.context.payload(bytes).get(BEFORE_TEXTS..)?;
        let mut text = || {
            let (text, behind) = split_text(rest)?;
            rest = behind;
            Some(text)
        };
        Some([text()?, text()?, text()?])
    }
}

/// Returns the code units of a terminated text, and the bytes after it.
fn split_text(bytes: &[u8]) -> Option<(&[[u8; 2]], &[u8])> {
    let units = bytes.as_chunks::<2>().0;
    let length = units.iter().position(|unit| *unit == [0, 0])?;
    Some((units.get(..length)?, bytes.get(2 * length + 2..)?))
}

fn push_text(to: &mut String, units: &[[u8; 2]]) {
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
    to.extend(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
}

/// Maximum number of names per module. Its id can be reused after it is unloaded.
const MOST_NAMES: usize = 16;

/// Returns the name of a module from its paths. Uses the file with intermediate language, without its extension, or
/// else the file with machine code.
fn module_name(mut paths: &[u8]) -> Option<String> {
    for _ in 0..2 {
        let (path, rest) = split_text(paths)?;
        let mut text = String::new();
        push_text(&mut text, path);
        let name = file_name(&text);
        let stem = [".dll", ".exe", ".winmd"].iter().find_map(|extension| without(name, extension));
        // Precompiled modules may have this extension, too.
        let name = stem.map_or(name, |stem| without(stem, ".ni").unwrap_or(stem));
        if !name.is_empty() {
            return Some(name.to_owned());
        }
        paths = rest;
    }
    None
}

/// Removes an extension from a name. Returns `None` if the name lacks it.
fn without<'n>(name: &'n str, extension: &str) -> Option<&'n str> {
    let (stem, end) = name.split_at_checked(name.len().checked_sub(extension.len())?)?;
    end.eq_ignore_ascii_case(extension).then_some(stem)
}

/// Method and module names.
struct MethodNames<'a> {
    bytes: &'a [u8],
    texts: &'a mut SymbolTexts,
    /// Module names sorted by time, by address space and id.
    modules: HashMap<(u32, u64), ValidFrom<Arc<str>>>,
    /// Events with a name, by address space and method, for events without a name.
    verbose: HashMap<(u32, u64), MethodRow>,
    /// Finished method names. A method without names in its events can be at many addresses.
    named: HashMap<(u32, u64), Arc<str>>,
    buffer: String,
}

impl<'a> MethodNames<'a> {
    fn new(methods: &mut Methods, bytes: &'a [u8], texts: &'a mut SymbolTexts) -> Self {
        let mut modules = std::mem::take(&mut methods.modules);
        modules.values_mut().for_each(|names| names.sort_by_key(|(since, _)| *since));
        let mut verbose = HashMap::new();
        if methods.rows.iter().any(|row| !row.event.is_verbose) {
            for row in methods.rows.iter().filter(|row| row.event.is_verbose) {
                verbose.insert((row.context.space, row.method), *row);
            }
        }
        Self { bytes, texts, modules, verbose, named: HashMap::new(), buffer: String::new() }
    }

    /// Returns `Namespace.Type.Method(parameters)`.
    fn method(&mut self, row: &MethodRow) -> Arc<str> {
        let key = (row.context.space, row.method);
        if row.event.is_verbose {
            return self.verbose_method(row);
        }
        if let Some(name) = self.named.get(&key) {
            return Arc::clone(name);
        }
        let Some(verbose) = self.verbose.get(&key).copied() else {
            // The token identifies the method in the module's metadata.
            return self.texts.get(&format!("{:#010x}", row.token));
        };
        let name = self.verbose_method(&verbose);
        self.named.insert(key, Arc::clone(&name));
        name
    }

    fn verbose_method(&mut self, row: &MethodRow) -> Arc<str> {
        self.buffer.clear();
        if let Some([namespace, name, signature]) = row.texts(self.bytes) {
            push_text(&mut self.buffer, namespace);
            if !self.buffer.is_empty() {
                self.buffer.push('.');
            }
            push_text(&mut self.buffer, name);
            push_text(&mut self.buffer, parameters(signature));
        }
        self.texts.get(&self.buffer)
    }

    fn module(&self, row: &MethodRow) -> Option<Arc<str>> {
        let names = self.modules.get(&(row.context.space, row.module))?;
        let behind = names.partition_point(|(since, _)| *since <= row.context.ticks);
        // Rundown lists methods before modules.
        names.get(behind.saturating_sub(1)).map(|(_, name)| Arc::clone(name))
    }
}

/// Returns the parameters in a signature, with their parentheses. Skips the return type, which can contain parentheses
/// itself.
fn parameters(signature: &[[u8; 2]]) -> &[[u8; 2]] {
    let mut depth = 0u32;
    for (index, unit) in signature.iter().enumerate().rev() {
        match unit {
            [b')', 0] => depth += 1,
            // The index is in the signature.
            [b'(', 0] if depth == 1 => return signature.get(index..).unwrap_or_default(),
            [b'(', 0] => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    &[]
}
