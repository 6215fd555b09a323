//! Call stacks: each of them once, however many events have it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A frame of a call stack: where a function was when it was interrupted or called the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Frame {
    /// Address of the instruction.
    pub address: Option<u64>,
    /// Name of the function, as far as it is known at the time of the events that have the stack.
    pub symbol: Option<Arc<str>>,
    /// Name of the module that has the function: a library, an executable, an assembly.
    pub module: Option<Arc<str>>,
}

impl Frame {
    /// A frame of which the address is known.
    #[must_use]
    pub fn at(address: u64) -> Self {
        Self { address: Some(address), ..Self::default() }
    }

    /// A frame of which the function is known.
    #[must_use]
    pub fn named(symbol: impl Into<Arc<str>>) -> Self {
        Self { symbol: Some(symbol.into()), ..Self::default() }
    }

    /// The same with the name of its function.
    #[must_use]
    pub fn with_symbol(self, symbol: impl Into<Arc<str>>) -> Self {
        Self { symbol: Some(symbol.into()), ..self }
    }

    /// The same with the name of its module.
    #[must_use]
    pub fn with_module(self, module: impl Into<Arc<str>>) -> Self {
        Self { module: Some(module.into()), ..self }
    }
}

/// The call stacks of a trace: a prefix tree that only grows, shared by all cursors.
///
/// A stack is a number: that of its innermost frame in the tree. Equal stacks have the same number, and
/// stacks with the same callers share them. A field with the meaning
/// [`Stack`](crate::Meaning::Stack) has such a number.
///
/// ```
/// use ichnos_model::{Frame, StackTable};
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
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    frames: Vec<Frame>,
    by_frame: HashMap<Frame, u32>,
    /// Caller, or [`NO_CALLER`], and frame of each stack.
    stacks: Vec<(u32, u32)>,
    by_top: HashMap<(u32, u32), u32>,
}

const NO_CALLER: u32 = u32::MAX;

impl Default for StackTable {
    fn default() -> Self {
        Self::new(StackTable::DEFAULT_LIMIT)
    }
}

impl StackTable {
    /// The number of stacks and frames that a table has room for by default.
    pub const DEFAULT_LIMIT: u32 = 1 << 24;

    /// A table of at most this number of stacks.
    #[must_use]
    pub fn new(limit: u32) -> Self {
        Self { limit, inner: Mutex::default() }
    }

    /// The stack of a frame above a caller's stack; `None` as the caller: the frame is the outermost one.
    /// None if the table is full, or has no such caller.
    pub fn push(&self, caller: Option<u32>, frame: Frame) -> Option<u32> {
        let mut inner = self.lock();
        let caller = match caller {
            Some(caller) if (caller as usize) < inner.stacks.len() => caller,
            Some(_) => return None,
            None => NO_CALLER,
        };
        let number = match inner.by_frame.get(&frame) {
            Some(number) => *number,
            None => {
                let number = self.next(inner.frames.len())?;
                inner.frames.push(frame.clone());
                inner.by_frame.insert(frame, number);
                number
            }
        };
        let top = (caller, number);
        if let Some(stack) = inner.by_top.get(&top) {
            return Some(*stack);
        }
        let stack = self.next(inner.stacks.len())?;
        inner.stacks.push(top);
        inner.by_top.insert(top, stack);
        Some(stack)
    }

    /// The stack of these frames, the outermost one first. None if there are none, or the table is full.
    pub fn intern(&self, frames: impl IntoIterator<Item = Frame>) -> Option<u32> {
        let mut stack = None;
        for frame in frames {
            stack = Some(self.push(stack, frame)?);
        }
        stack
    }

    /// The frames of a stack, the innermost one first; none if there is no such stack.
    #[must_use]
    pub fn frames(&self, stack: u32) -> Vec<Frame> {
        let inner = self.lock();
        let mut frames = Vec::new();
        let mut next = stack;
        // Callers come before those that they call, so this ends.
        while let Some((caller, frame)) = inner.stacks.get(next as usize) {
            frames.extend(inner.frames.get(*frame as usize).cloned());
            next = *caller;
        }
        frames
    }

    /// The stack of the caller of the innermost frame; None if it has none.
    #[must_use]
    pub fn caller(&self, stack: u32) -> Option<u32> {
        let caller = self.lock().stacks.get(stack as usize)?.0;
        (caller != NO_CALLER).then_some(caller)
    }

    /// How many stacks there are, those of callers included: their numbers are those below this.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().stacks.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn next(&self, len: usize) -> Option<u32> {
        u32::try_from(len).ok().filter(|number| *number < self.limit)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
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
