#!/usr/bin/env python3
"""Writes src/known/runtime_events.txt from the manifest of the .NET runtime's events.

    generate_runtime_events.py --source WHAT [--added FILE] MANIFEST > src/known/runtime_events.txt

MANIFEST is src/coreclr/vm/ClrEtwAll.man of the repository dotnet/runtime, WHAT says of when it is. FILE has lines in the form of the output;
they give what an older MANIFEST does not have yet, and win over what it has.
The form of the output is described in src/known/table.rs. Standard library only.
"""

import argparse
import collections
import re
import sys
import xml.etree.ElementTree

TYPES = {
    "win:Boolean": "bool", "win:Int8": "i8", "win:UInt8": "u8", "win:Int16": "i16", "win:UInt16": "u16",
    "win:Int32": "i32", "win:UInt32": "u32", "win:Int64": "i64", "win:UInt64": "u64", "win:Float": "f32",
    "win:Double": "f64", "win:Pointer": "pointer", "win:GUID": "guid", "win:FILETIME": "filetime",
    "win:UnicodeString": "utf16", "win:AnsiString": "utf8", "win:HexInt32": "u32x", "win:HexInt64": "u64x",
}
LEVELS = {"win:LogAlways": 0, "win:Critical": 1, "win:Error": 2, "win:Warning": 3, "win:Informational": 4,
          "win:Verbose": 5}
OPCODES = {"win:Info": (0, "Info"), "win:Start": (1, "Start"), "win:Stop": (2, "Stop")}


def local(tag):
    return tag.rsplit("}", 1)[-1]


def children(element, *path):
    """All elements at `path` below `element`, whatever their namespaces."""
    found = [element]
    for name in path:
        found = [child for parent in found for child in parent if local(child.tag) == name]
    return found


class Manifest:
    def __init__(self, path):
        self.root = xml.etree.ElementTree.parse(path).getroot()
        self.strings = {e.get("id"): e.get("value") for e in self.root.iter() if local(e.tag) == "string"}
        self.providers = [e for e in self.root.iter() if local(e.tag) == "provider"]

    def name(self, message, fallback):
        """A message as a name: its text if that is one word, otherwise the name in its identifier."""
        match = re.fullmatch(r"\$\(string\.(.*)\)", message or "")
        if not match:
            return fallback
        text = self.strings.get(match[1]) or ""
        if re.fullmatch(r"\w+", text):
            return text
        return re.sub(r"(Map)?Message$", "", match[1].rsplit(".", 1)[-1])


def field(data):
    """A field: name, type, then `x` for hexadecimal and `=` with the map of its values."""
    kind = data.get("inType")
    size, count = data.get("length"), data.get("count")
    if kind == "win:Binary":
        text = f"{data.get('name')}:u8[{size}]"
    else:
        text = f"{data.get('name')}:{TYPES[kind]}"
    if (data.get("outType") or "").startswith("win:Hex") and kind != "win:Pointer":
        text += "x"
    # A count of 1 is no array. The frames of a stack walk are as many as the field before says; the manifest's 2 is
    # for tools that need a number.
    if count == "2" and data.get("name") == "Stack":
        count = "FrameCount"
    if count not in (None, "1"):
        text += f"[{count}]"
    if data.get("map"):
        text += "=" + map_name(data.get("map"))
    return text


def map_name(name):
    return re.sub(r"Map$", "", name)


def template(element):
    parts = []
    for child in element:
        if local(child.tag) == "data":
            parts.append(field(child))
        elif local(child.tag) == "struct":
            parts.append(f"{child.get('name')}[{child.get('count')}]{{")
            parts += [field(data) for data in child]
            parts.append("}")
    return " ".join(parts)


def provider_lines(manifest, provider):
    """The lines of a provider, by (kind, key)."""
    lines = {}
    masks = {}
    for keyword in children(provider, "keywords", "keyword"):
        masks[keyword.get("name")] = int(keyword.get("mask"), 0)
        name = re.sub(r"(Rundown|Private)?Keyword$", "", keyword.get("name"))
        lines["keyword", int(keyword.get("mask"), 0)] = f"keyword {int(keyword.get('mask'), 0):#x} {name}"
    # Opcodes of a task, and of the provider.
    tasks, opcodes = {}, {}
    for task in children(provider, "tasks", "task"):
        tasks[task.get("name")] = manifest.name(task.get("message"), task.get("name"))
        for opcode in children(task, "opcodes", "opcode"):
            found = int(opcode.get("value"), 0), manifest.name(opcode.get("message"), opcode.get("name"))
            opcodes[task.get("name"), opcode.get("name")] = found
    for kind in ("valueMap", "bitMap"):
        for element in children(provider, "maps", kind):
            entries = {}
            for value in element:
                number = int(value.get("value"), 0)
                if kind == "valueMap" or number:
                    entries[number] = manifest.name(value.get("message"), None)
            name = map_name(element.get("name"))
            word = "values" if kind == "valueMap" else "flags"
            text = " ".join(f"{number:#x}={label}" for number, label in sorted(entries.items()))
            lines["map", name] = f"{word} {name} {text}"
    for element in children(provider, "templates", "template"):
        lines["template", element.get("tid")] = f"template {element.get('tid')} {template(element)}".rstrip()
    for event in children(provider, "events", "event"):
        mask = 0
        for keyword in (event.get("keywords") or "").split():
            # One keyword in the manifest has no definition.
            mask |= masks.get(keyword, 0)
        task = event.get("task")
        opcode = event.get("opcode") or "win:Info"
        if opcode in OPCODES:
            number, opcode_name = OPCODES[opcode]
        else:
            number, opcode_name = opcodes.get((task, opcode), (0, opcode))
        # As PerfView names it, GC/BulkNode instead of GC/GCBulkNode.
        short = opcode_name.removeprefix(tasks.get(task, "-"))
        if re.match("[A-Z]", short):
            opcode_name = short
        key = int(event.get("value")), int(event.get("version"))
        lines["event", key] = (
            f"event {key[0]} {key[1]} {re.sub(r'_V[0-9]+$', '', event.get('symbol'))} {LEVELS[event.get('level')]} "
            f"{mask:#x} {tasks.get(task, '-')} {number} {opcode_name} {event.get('template') or '-'}")
    return lines


def added_lines(path):
    """The lines of a file in the form of the output, by provider and by (kind, key)."""
    providers = collections.defaultdict(dict)
    current = None
    for line in open(path, encoding="utf-8"):
        words = line.split()
        if not words or words[0] == "#":
            continue
        if words[0] == "provider":
            current = providers[words[1]]
        elif words[0] == "keyword":
            current["keyword", int(words[1], 0)] = line.strip()
        elif words[0] == "event":
            current["event", (int(words[1]), int(words[2]))] = line.strip()
        else:
            kind = "map" if words[0] in ("values", "flags") else words[0]
            current[kind, words[1]] = line.strip()
    return providers


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--added")
    arguments.add_argument("--source", required=True, help="what the manifest is: repository, commit, date")
    arguments.add_argument("manifest")
    options = arguments.parse_args()
    manifest = Manifest(options.manifest)
    added = added_lines(options.added) if options.added else {}
    out = []
    out.append("# Events of the .NET runtime: names, numbers, fields. Written by generate_runtime_events.py.")
    out.append(f"# Facts from {options.source}, src/coreclr/vm/ClrEtwAll.man (MIT, .NET Foundation)")
    if added:
        out.append("# and from later versions of that file: runtime_events_added.txt.")
    out.append("# To write it again, see the head of that script.")
    order = ["keyword", "map", "template", "event"]
    for provider in manifest.providers:
        name = provider.get("name")
        if "DotNETRuntime" not in name:
            continue
        lines = provider_lines(manifest, provider)
        for key, line in added.get(name, {}).items():
            if key[0] == "map" and key in lines:
                # Names of more values of a map that is there.
                more = [word for word in line.split()[2:] if f" {word.split('=')[0]}=" not in lines[key]]
                lines[key] = " ".join([lines[key], *more])
            else:
                lines[key] = line
        out.append("")
        out.append(f"provider {name} {provider.get('guid').strip('{}').lower()}")
        used = {word for key, line in lines.items() if key[0] == "event" for word in line.split()[-1:]}
        for key, line in sorted(lines.items(), key=lambda item: (order.index(item[0][0]), item[0][1])):
            if key[0] == "template" and key[1] not in used:
                continue
            out.append(line)
    sys.stdout.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
