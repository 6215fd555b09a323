"""Reads samples of unknown processors from a Perfetto trace with Perfetto's own messages.

Prints time, process, thread, names of functions from the outermost one on, and whether there is a unit, as lines of JSON.
"""

import json
import sys

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket


def main():
    trace = Trace.FromString(open(sys.argv[1], "rb").read())
    sequences = {}
    for packet in trace.packet:
        known = sequences.setdefault(packet.trusted_packet_sequence_id, ({}, {}, {}))
        if packet.sequence_flags & TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
            for names in known:
                names.clear()
        functions, frames, stacks = known
        data = packet.interned_data
        functions.update((name.iid, name.str.decode()) for name in data.function_names)
        frames.update((frame.iid, functions[frame.function_name_id]) for frame in data.frames)
        stacks.update((stack.iid, [frames[frame] for frame in stack.frame_ids]) for stack in data.callstacks)
        if packet.HasField("stack_sample"):
            sample = packet.stack_sample
            task = sample.task_context
            stack = stacks[sample.callstack_iid]
            row = [packet.timestamp, task.pid, task.tid, stack, sample.HasField("primary_descriptor")]
            print(json.dumps(row))


main()
