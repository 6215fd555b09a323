//! Call stack samples.

use ichnos_model::Event;

use super::packet_writer::{PacketWriter, process_and_thread, push_interned};
use super::schema::{interned, packet, sample, stack_sample, task_context};
use super::sequence::{SampleNames, has_weights};
use crate::protobuf::{begin, end, push_unsigned};
use ichnos_analysis::events::class::{EventPlace, ViewerClass};

/// Maximum number of processors in Perfetto.
pub(super) const MOST_PROCESSORS: u64 = 4096;

impl PacketWriter<'_> {
    /// Writes a sample. Without a processor, it uses the message that Perfetto added in July 2026. Returns `false` if
    /// the call stack, process or thread is missing, and for samples with weights: Perfetto would count an allocation
    /// as time on a processor.
    pub(super) fn sample(&mut self, event: &Event<'_>, class: &ViewerClass, place: &EventPlace<'_>) -> bool {
        if has_weights(event) {
            return false;
        }
        let stack = self.stack(event, class);
        let (Some(stack), Some((process, thread))) = (stack, process_and_thread(place)) else { return false };
        // The track names process and thread.
        self.track(event.stream, place);
        let at = self.begin_packet();
        if !self.sequence.samples.has(stack) {
            let data = begin(self.out, packet::INTERNED_DATA);
            self.call_stack(event, stack);
            end(self.out, data);
        }
        let call_stack = u64::from(stack) + 1;
        let out = &mut *self.out;
        let sample = match place.processor.filter(|cpu| *cpu < MOST_PROCESSORS) {
            Some(processor) => {
                let sample = begin(out, packet::PERF_SAMPLE);
                push_unsigned(out, sample::PROCESSOR, processor);
                push_unsigned(out, sample::PROCESS, process);
                push_unsigned(out, sample::THREAD, thread);
                push_unsigned(out, sample::CALL_STACK, call_stack);
                sample
            }
            None => {
                let sample = begin(out, packet::STACK_SAMPLE);
                let task = begin(out, stack_sample::TASK);
                push_unsigned(out, task_context::PROCESS, process);
                push_unsigned(out, task_context::THREAD, thread);
                end(out, task);
                push_unsigned(out, stack_sample::CALL_STACK, call_stack);
                sample
            }
        };
        self.end_packet([at, sample])
    }

    /// Returns the call stack number of an event, if that call stack exists. A trace can contain invalid numbers.
    #[inline]
    pub(super) fn stack(&self, event: &Event<'_>, class: &ViewerClass) -> Option<u32> {
        let stack = class.stack(event)?;
        let is_known = self.sequence.samples.has(stack);
        (is_known || (stack as usize) < event.stream.stacks().table.len()).then_some(stack)
    }

    /// Announces a call stack.
    pub(super) fn call_stack(&mut self, event: &Event<'_>, stack: u32) {
        self.sequence.samples.add(stack);
        let stacks = event.stream.stacks();
        let time = event.nanoseconds().unwrap_or(i128::MAX);
        // Loading symbols can read the trace, which uses the table.
        let symbols = stacks.symbols();
        let view = stacks.table.view();
        let SampleNames { frames, functions, modules, .. } = &mut self.sequence.samples;
        let out = &mut *self.out;
        // The outermost frame comes first.
        let mut numbers: Vec<u32> = Vec::new();
        for (number, frame) in view.frames(stack) {
            numbers.push(number);
            if !frames.add(number) {
                continue;
            }
            let resolved =
                frame.address.and_then(|address| symbols.resolve(frame.address_space, address, time));
            let symbol = frame.symbol.as_deref();
            let symbol = symbol.or_else(|| resolved.as_ref()?.symbol.name.as_deref());
            let module = frame.module.as_deref();
            let module = module.or_else(|| resolved.as_ref()?.module.map(|module| &**module));
            let text;
            let symbol = match (symbol, frame.address) {
                (Some(symbol), _) => symbol,
                (None, Some(address)) => {
                    text = format!("{address:#x}");
                    &text
                }
                (None, None) => "(unknown)",
            };
            let known = (functions.count(), modules.count());
            let (function, module_number) = (functions.number(symbol), modules.number(module.unwrap_or("")));
            if functions.count() > known.0 {
                push_interned(out, interned::FUNCTION_NAMES, function.into(), symbol);
            }
            if modules.count() > known.1 {
                push_interned(out, interned::MAPPING_PATHS, module_number.into(), module.unwrap_or(""));
                let at = begin(out, interned::MAPPINGS);
                push_unsigned(out, interned::IID, module_number.into());
                push_unsigned(out, interned::MAPPING_PATH, module_number.into());
                end(out, at);
            }
            let at = begin(out, interned::FRAMES);
            push_unsigned(out, interned::IID, u64::from(number) + 1);
            push_unsigned(out, interned::FRAME_FUNCTION, function.into());
            push_unsigned(out, interned::FRAME_MAPPING, module_number.into());
            if let Some(address) = frame.address {
                push_unsigned(out, interned::FRAME_ADDRESS, address);
            }
            end(out, at);
        }
        let at = begin(out, interned::CALL_STACKS);
        push_unsigned(out, interned::IID, u64::from(stack) + 1);
        for number in numbers.iter().rev() {
            push_unsigned(out, interned::STACK_FRAMES, u64::from(*number) + 1);
        }
        end(out, at);
    }
}
