//! Call stacks, each stored once for all events that share it, and symbols for their addresses.

mod symbols;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::key_hash::KeyState;
use crate::locks::IgnorePoison as _;

use ichnos_json::write::ObjectWriter;

pub use self::symbols::{CodeKind, Resolved, Symbol, Symbols, Validity};

/// A call stack frame: the position where a function was interrupted or called the next function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Frame {
    /// Instruction address.
    pub address: Option<u64>,
    /// Function name, as far as known at the time of the events with this stack.
    pub symbol: Option<Arc<str>>,
    /// Module that contains the function: a library, an executable, an assembly.
    pub module: Option<Arc<str>>,
    /// Address space, for example a process; 0 if there is only one.
    pub address_space: u32,
}

impl Frame {
    /// Creates a frame with a known address.
    #[must_use]
    pub fn at(address: u64) -> Self {
        Self { address: Some(address), ..Self::default() }
    }

    /// Creates a frame with a known function.
    #[must_use]
    pub fn named(symbol: impl Into<Arc<str>>) -> Self {
        Self { symbol: Some(symbol.into()), ..Self::default() }
    }

    /// Sets the address space.
    #[must_use]
    pub fn in_space(self, address_space: u32) -> Self {
        Self { address_space, ..self }
    }

    /// Sets the function name.
    #[must_use]
    pub fn with_symbol(self, symbol: impl Into<Arc<str>>) -> Self {
        Self { symbol: Some(symbol.into()), ..self }
    }

    /// Sets the module name.
    #[must_use]
    pub fn with_module(self, module: impl Into<Arc<str>>) -> Self {
        Self { module: Some(module.into()), ..self }
    }

    /// Writes the frame as members of a JSON object. Unknown parts are omitted.
    pub fn write_members(&self, object: &mut ObjectWriter<'_>) {
        object.unsigned("address", self.address);
        object.string("symbol", self.symbol.as_deref());
        object.string("module", self.module.as_deref());
        object.unsigned("address_space", Some(self.address_space.into()).filter(|space| *space != 0));
    }
}

/// Call stacks of a trace: a prefix tree that only grows. All cursors share it.
///
/// A stack is a number that identifies its innermost frame in the tree. Equal stacks have the same number, and stacks
/// with the same callers share them. A field with the meaning [`Stack`](crate::meaning::Meaning::Stack) contains such a
/// number.
///
/// ```
/// use ichnos_model::stack::{Frame, StackTable};
///
/// let stacks = StackTable::default();
/// let main = stacks.push(None, Frame::named("main")).unwrap();
/// let parse = stacks.push(Some(main), Frame::named("parse")).unwrap();
/// assert_eq!(stacks.push(None, Frame::named("main")), Some(main));
/// let frames = stacks.frames(parse);
/// let names: Vec<&str> = frames.iter().filter_map(|frame| frame.symbol.as_deref()).collect();
/// assert_eq!(names, ["parse", "main"]);
/// ```
#[derive(Debug)]
pub struct StackTable {
    limit: u32,
    inner: Mutex<StackTree>,
}

#[derive(Debug, Default)]
struct StackTree {
    frames: Vec<Frame>,
    /// Frames with only an address space and an address.
    by_address: HashMap<(u32, u64), u32, KeyState>,
    /// All other frames.
    by_frame: HashMap<Frame, u32>,
    /// Caller, or [`NO_CALLER`], and frame of each stack.
    stacks: Vec<(u32, u32)>,
    /// Stacks by caller (upper half) and frame.
    by_top: HashMap<u64, u32, KeyState>,
}

const NO_CALLER: u32 = u32::MAX;

impl Default for StackTable {
    fn default() -> Self {
        Self::new(StackTable::DEFAULT_LIMIT)
    }
}

impl StackTable {
    /// Default maximum number of stacks and of frames.
    pub const DEFAULT_LIMIT: u32 = 1 << 24;

    /// Creates a table for at most `limit` stacks.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        Self { limit, inner: Mutex::default() }
    }

    /// Returns the stack that consists of a caller's stack and a frame. Without a caller, the frame is the outermost.
    /// `None` if the table is full, or the caller does not exist.
    pub fn push(&self, caller: Option<u32>, frame: Frame) -> Option<u32> {
        let mut inner = self.lock();
        let caller = match caller {
            Some(caller) if (caller as usize) < inner.stacks.len() => caller,
            Some(_) => return None,
            None => NO_CALLER,
        };
        let frame = match frame {
            Frame { address: Some(address), symbol: None, module: None, address_space } => {
                inner.address(address_space, address, self.limit)?
            }
            frame => inner.frame(frame, self.limit)?,
        };
        inner.push(caller, frame, self.limit)
    }

    /// Returns the stack with these frames, outermost first. `None` if there are no frames, or the table is full.
    pub fn intern(&self, frames: impl IntoIterator<Item = Frame>) -> Option<u32> {
        let mut stack = None;
        for frame in frames {
            stack = Some(self.push(stack, frame)?);
        }
        stack
    }

    /// Returns the stack with the frames at these addresses, innermost first. `space` is the address space (0 if there
    /// is only one). Like [`StackTable::intern`], but faster. `None` if there are no frames, or the table is full.
    pub fn intern_addresses(&self, space: u32, addresses: &[u64]) -> Option<u32> {
        let mut inner = self.lock();
        let mut stack = None;
        for address in addresses.iter().rev() {
            let frame = inner.address(space, *address, self.limit)?;
            stack = Some(inner.push(stack.unwrap_or(NO_CALLER), frame, self.limit)?);
        }
        stack
    }

    /// Returns the frames of a stack, innermost first. Empty if the stack does not exist.
    #[must_use]
    pub fn frames(&self, stack: u32) -> Vec<Frame> {
        self.view().frames(stack).map(|(_, frame)| frame.clone()).collect()
    }

    /// Returns the caller's stack, if the innermost frame has a caller.
    #[must_use]
    pub fn caller(&self, stack: u32) -> Option<u32> {
        self.view().caller(stack)
    }

    /// Returns the number of stacks, including callers' stacks. Stack numbers are below it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().stacks.len()
    }

    /// Returns `true` if there are no stacks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a view of all stacks, to read many of them without locking for each. All other users of the table wait
    /// while the view exists: it must not be kept, and its owner must not use the table meanwhile.
    #[must_use]
    pub fn view(&self) -> StackView<'_> {
        StackView { inner: self.lock() }
    }

    fn lock(&self) -> MutexGuard<'_, StackTree> {
        self.inner.lock().ignore_poison()
    }
}

/// All stacks of a [`StackTable`], locked.
#[derive(Debug)]
pub struct StackView<'a> {
    inner: MutexGuard<'a, StackTree>,
}

impl StackView<'_> {
    /// Returns the number of stacks, including callers' stacks. Stack numbers are below it.
    #[must_use]
    pub fn stack_count(&self) -> usize {
        self.inner.stacks.len()
    }

    /// Returns the number of different frames. Frame numbers are below it.
    #[must_use]
    pub fn frame_count(&self) -> usize {
        self.inner.frames.len()
    }

    /// Returns the innermost frame's number, and the caller's stack. The caller's number is below the stack's.
    #[inline]
    #[must_use]
    pub fn top(&self, stack: u32) -> Option<(u32, Option<u32>)> {
        let (caller, frame) = *self.inner.stacks.get(stack as usize)?;
        Some((frame, (caller != NO_CALLER).then_some(caller)))
    }

    /// Returns the caller's stack, if the innermost frame has a caller.
    #[inline]
    #[must_use]
    pub fn caller(&self, stack: u32) -> Option<u32> {
        self.top(stack)?.1
    }

    /// Returns the frame with this number.
    #[inline]
    #[must_use]
    pub fn frame(&self, number: u32) -> Option<&Frame> {
        self.inner.frames.get(number as usize)
    }

    /// Returns the frames of a stack with their numbers, innermost first. Empty if the stack does not exist.
    pub fn frames(&self, stack: u32) -> impl Iterator<Item = (u32, &Frame)> {
        let mut next = Some(stack);
        // Callers have lower numbers than the stacks above them, so the loop ends.
        std::iter::from_fn(move || {
            let (number, caller) = self.top(next?)?;
            next = caller;
            Some((number, self.frame(number)?))
        })
    }
}

impl StackTree {
    /// Number of the frame at an address.
    #[inline]
    fn address(&mut self, space: u32, address: u64, limit: u32) -> Option<u32> {
        if let Some(number) = self.by_address.get(&(space, address)) {
            return Some(*number);
        }
        let number = next(self.frames.len(), limit)?;
        self.frames.push(Frame::at(address).in_space(space));
        self.by_address.insert((space, address), number);
        Some(number)
    }

    /// Number of a frame with more than an address.
    fn frame(&mut self, frame: Frame, limit: u32) -> Option<u32> {
        if let Some(number) = self.by_frame.get(&frame) {
            return Some(*number);
        }
        let number = next(self.frames.len(), limit)?;
        self.frames.push(frame.clone());
        self.by_frame.insert(frame, number);
        Some(number)
    }

    /// Number of the stack that consists of a caller's stack and a frame.
    #[inline]
    fn push(&mut self, caller: u32, frame: u32, limit: u32) -> Option<u32> {
        let top = u64::from(caller) << 32 | u64::from(frame);
        if let Some(stack) = self.by_top.get(&top) {
            return Some(*stack);
        }
        let stack = next(self.stacks.len(), limit)?;
        self.stacks.push((caller, frame));
        self.by_top.insert(top, stack);
        Some(stack)
    }
}

fn next(len: usize, limit: u32) -> Option<u32> {
    // This excludes the largest number, which marks a missing caller.
    u32::try_from(len).ok().filter(|number| *number < limit)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ichnos_testing::{Random, in_cpu_time};

    use super::*;

    #[test]
    fn stacks_with_the_same_callers_share_them() {
        let stacks = StackTable::default();
        let [a, b, c] = ["a", "b", "c"].map(Frame::named);
        let ab = stacks.intern([a.clone(), b.clone()]).unwrap();
        let ac = stacks.intern([a.clone(), c.clone()]).unwrap();
        assert_eq!(stacks.intern([a.clone(), b.clone()]), Some(ab));
        assert_eq!((stacks.len(), stacks.caller(ab)), (3, stacks.caller(ac)));
        assert_eq!(stacks.frames(ac), [c, a]);
        assert_eq!(stacks.caller(stacks.caller(ac).unwrap()), None);
        assert_ne!(stacks.intern([b.with_module("x")]), None);
        assert_eq!(stacks.len(), 4);
    }

    #[test]
    fn addresses_are_interned_as_frames_are() {
        let stacks = StackTable::default();
        let stack = stacks.intern_addresses(3, &[10, 20, 30]).unwrap();
        let frames = [30, 20, 10].map(|address| Frame::at(address).in_space(3));
        assert_eq!((stacks.intern(frames.clone()), stacks.len()), (Some(stack), 3));
        assert_eq!(stacks.intern_addresses(3, &[20, 30]), stacks.caller(stack));
        assert_ne!(stacks.intern_addresses(4, &[20, 30]), stacks.caller(stack));
        assert_eq!(stacks.intern_addresses(3, &[]), None);
        let view = stacks.view();
        assert_eq!((view.stack_count(), view.frame_count()), (5, 5));
        assert!(view.frames(stack).map(|(_, frame)| frame).eq(frames.iter().rev()));
        assert_eq!(view.frame(view.top(stack).unwrap().0), Some(&frames[2]));
        assert!(view.top(5).is_none() && view.frame(5).is_none());
    }

    #[test]
    fn many_stacks_are_interned_quickly() {
        let mut random = Random::new(1);
        let addresses: Vec<u64> = (0..3_000).map(|_| random.number()).collect();
        // As in a program, most callers are shared.
        let mut stack = vec![0; 30];
        let stacks: Vec<Vec<u64>> = (0..12_000)
            .map(|_| {
                let changed = random.index(12);
                stack[..changed].fill_with(|| addresses[random.index(addresses.len())]);
                stack.clone()
            })
            .collect();
        let table = StackTable::default();
        in_cpu_time(Duration::from_secs(2), "360,000 frames", || {
            stacks.iter().for_each(|stack| assert!(table.intern_addresses(0, stack).is_some()));
        });
    }

    #[test]
    fn what_is_not_there_is_none() {
        let stacks = StackTable::new(2);
        assert!(stacks.is_empty() && stacks.frames(0).is_empty() && stacks.caller(7).is_none());
        assert_eq!(stacks.intern([]), None);
        assert_eq!(stacks.push(Some(0), Frame::at(1)), None);
        assert_eq!(stacks.intern([Frame::at(1), Frame::at(2)]), Some(1));
        assert_eq!(stacks.push(None, Frame::at(2)), None);
        assert_eq!(stacks.push(None, Frame::at(1)), Some(0));
        assert_eq!(stacks.push(Some(1), Frame::at(3)), None);
    }
}
