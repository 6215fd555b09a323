//! Resolves stacks to function calls.

use std::collections::HashMap;
use std::fmt::Write as _;

use ichnos_model::stack::{CodeKind, Frame, StackView, Symbols, Validity};

use super::calls::{Calls, NO_CALL};
use super::{MOST_FRAMES, StackFrames};

/// Resolves stacks to calls. Symbols of an address can change, so results are cached with the time range in
/// which they are valid.
#[derive(Debug, Default)]
pub(super) struct CallResolver {
    frames: StackFrames,
    /// By stack: frame count, and the stack to which it is cut.
    depths: Vec<(u32, u32)>,
    known_stacks: HashMap<u32, CachedResult>,
    known_frames: HashMap<u32, CachedResult>,
    /// Buffer for a frame label.
    label: String,
    /// Buffer for stacks to resolve, innermost first.
    path: Vec<(u32, u32)>,
}

/// Cached result for a stack or a frame.
#[derive(Clone, Copy, Debug)]
struct CachedResult {
    validity: Validity,
    /// Call or function. [`NO_CALL`] if all frames are dropped.
    is: u32,
}

impl CallResolver {
    pub(super) fn new(frames: StackFrames) -> Self {
        Self { frames, ..Self::default() }
    }

    /// Returns the call for a stack at a time. [`NO_CALL`] if all its frames are dropped.
    pub(super) fn call(
        &mut self,
        stack: u32,
        time: i128,
        view: &StackView<'_>,
        symbols: &Symbols,
        calls: &mut Calls,
    ) -> u32 {
        self.measure(view);
        let Some((_, stack)) = self.depths.get(stack as usize).copied() else { return NO_CALL };
        self.path.clear();
        let mut found = CachedResult { validity: Validity::EVER, is: NO_CALL };
        let mut next = Some(stack);
        while let Some(stack) = next {
            if let Some(known) = self.known_stacks.get(&stack).filter(|known| known.validity.contains(time)) {
                found = *known;
                break;
            }
            let Some((frame, caller)) = view.top(stack) else { break };
            self.path.push((stack, frame));
            next = caller;
        }
        while let Some((stack, number)) = self.path.pop() {
            let function = match self.known_frames.get(&number) {
                Some(known) if known.validity.contains(time) => *known,
                _ => {
                    let frame = view.frame(number);
                    let known = frame.map(|frame| self.function(frame, time, symbols, calls));
                    let known = known.unwrap_or(CachedResult { validity: Validity::EVER, is: NO_CALL });
                    self.known_frames.insert(number, known);
                    known
                }
            };
            let is = if function.is == NO_CALL { found.is } else { calls.call(found.is, function.is) };
            found = CachedResult { validity: found.validity.and(function.validity), is };
            self.known_stacks.insert(stack, found);
        }
        found.is
    }

    /// Measures the depth of new stacks.
    fn measure(&mut self, view: &StackView<'_>) {
        for stack in self.depths.len()..view.stack_count() {
            let stack = stack as u32;
            let caller = view.caller(stack).and_then(|caller| self.depths.get(caller as usize));
            let depth = caller.map_or((1, stack), |(depth, cut)| {
                let depth = depth.saturating_add(1);
                (depth, if depth > MOST_FRAMES { *cut } else { stack })
            });
            self.depths.push(depth);
        }
    }

    fn function(&mut self, frame: &Frame, time: i128, symbols: &Symbols, calls: &mut Calls) -> CachedResult {
        let space = frame.address_space;
        let (resolved, validity) = match frame.address {
            Some(address) => (symbols.resolve(space, address, time), symbols.validity(space, address, time)),
            None => (None, Validity::EVER),
        };
        let found = resolved.and_then(|resolved| resolved.symbol.name.as_ref());
        let name = frame.symbol.as_ref().or(found);
        let module = frame.module.as_ref().or(resolved.and_then(|resolved| resolved.module));
        let is_managed = resolved.is_some_and(|resolved| resolved.kind == CodeKind::Managed);
        let is_kept = match self.frames {
            StackFrames::All => true,
            StackFrames::Named => name.is_some(),
            StackFrames::Managed => is_managed,
        };
        if !is_kept {
            return CachedResult { validity, is: NO_CALL };
        }
        let label = &mut self.label;
        label.clear();
        if let Some(module) = module {
            label.push_str(module);
            label.push('!');
        }
        match (name, module, frame.address) {
            (Some(name), ..) => label.push_str(name),
            (None, None, Some(address)) => {
                // Writing to a string does not fail.
                let _ = write!(label, "{address:#x}");
            }
            // All unknown functions in a module share one label.
            _ => label.push('?'),
        }
        CachedResult { validity, is: calls.function(label, module, is_managed) }
    }
}
