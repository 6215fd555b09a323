//! Call stacks in separate lines and within events.

use std::collections::{BTreeMap, HashMap};

use ichnos_model::class::Value;
use ichnos_model::stack::{Frame, StackTable};

use crate::members::number;

/// Changed stack numbers: the key is the number in the file, the value the number in the trace's table.
pub(crate) type StackRenumbering = HashMap<u32, u32>;

/// Mapping of a line's stack number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StackNumberMap<'a> {
    Of(&'a StackRenumbering),
    /// Number in the table. The frames are in the line.
    Known(u32),
}

impl StackNumberMap<'_> {
    /// Returns the mapped number, or `None` if it is unchanged.
    pub(crate) fn get(&self, number: u32) -> Option<u32> {
        match self {
            Self::Of(renumbered) => renumbered.get(&number).copied(),
            Self::Known(number) => Some(*number),
        }
    }
}

/// Stack in a line.
struct LineStack {
    number: u32,
    /// Frames, innermost first.
    frames: Vec<Frame>,
    callers: Option<Vec<u32>>,
}

/// Returns `true` if data stream classes use the same number for different stacks. The index is the class.
pub(crate) fn differ<'v>(lines: impl Iterator<Item = (usize, &'v Value)>) -> bool {
    let mut known: HashMap<u32, (usize, &Value)> = HashMap::new();
    for (class, line) in lines {
        let Ok(Some(number)) = number(line, "stack") else { continue };
        let (first, stack) = *known.entry(number).or_insert((class, line));
        if first != class && ["frames", "callers"].iter().any(|name| stack.get(name) != line.get(name)) {
            return true;
        }
    }
    false
}

/// Adds stacks in lines to a table. Keeps their numbers if possible.
pub(crate) fn fill<'v>(table: &StackTable, lines: impl Iterator<Item = &'v Value>) -> StackRenumbering {
    let stacks: Vec<LineStack> = lines.filter_map(stack_of).collect();
    let mut nodes = BTreeMap::new();
    for stack in &stacks {
        let Some(callers) = stack.callers.as_ref().filter(|callers| callers.len() + 1 == stack.frames.len())
        else {
            continue;
        };
        let numbers = [stack.number].into_iter().chain(callers.iter().copied());
        let callers = callers.iter().copied().map(Some).chain([None]);
        for ((number, caller), frame) in numbers.zip(callers).zip(&stack.frames) {
            nodes.insert(number, (caller, frame));
        }
    }
    let mut renumbered = StackRenumbering::new();
    let mut is_filled = false;
    // In a recorded trace, most stacks in the table belong to some event.
    let most = nodes.len() as u64 * 16 + 1024;
    if let Some(last) = nodes.last_key_value().map(|(last, _)| *last).filter(|last| u64::from(*last) < most) {
        is_filled = true;
        for number in 0..=last {
            let found = match nodes.get(&number) {
                Some((None, frame)) => table.push(None, (*frame).clone()),
                Some((Some(caller), frame)) if *caller < number => {
                    let caller = renumbered.get(caller).copied().unwrap_or(*caller);
                    table.push(Some(caller), (*frame).clone())
                }
                // Placeholder for an unused number. It is not equal to any other stack.
                _ => table.push(None, Frame::at(u64::from(number)).in_space(u32::MAX)),
            };
            if let Some(found) = found.filter(|found| *found != number) {
                renumbered.insert(number, found);
            }
        }
    }
    for stack in &stacks {
        if is_filled && nodes.contains_key(&stack.number) {
            continue;
        }
        if let Some(found) = table.intern(stack.frames.iter().rev().cloned()) {
            renumbered.insert(stack.number, found);
        }
    }
    renumbered
}

fn stack_of(line: &Value) -> Option<LineStack> {
    let number = number(line, "stack").ok()??;
    let frames = frames(line.get("frames")?)?;
    let callers = match line.get("callers") {
        Some(Value::Array(callers)) => {
            let caller =
                |caller: &Value| crate::members::integer_of(caller).and_then(|caller| caller.try_into().ok());
            callers.iter().map(caller).collect()
        }
        _ => (frames.len() == 1).then(Vec::new),
    };
    Some(LineStack { number, frames, callers })
}

/// Returns the frames in a list, innermost first.
pub(crate) fn frames(list: &Value) -> Option<Vec<Frame>> {
    let Value::Array(frames) = list else { return None };
    let frame = |value: &Value| {
        let mut frame = Frame::default();
        frame.address = number(value, "address").ok()?;
        frame.symbol = value.get("symbol").and_then(Value::as_text).map(Into::into);
        frame.module = value.get("module").and_then(Value::as_text).map(Into::into);
        // Omitted for address space 0.
        frame.address_space = number(value, "address_space").ok()?.unwrap_or_default();
        Some(frame)
    };
    frames.iter().map(frame).collect()
}
