#!/usr/bin/env python3
"""Counts the instructions that ichnos executes for an event: instructions.py [--dev] [--write]

Time depends on what else a machine does, instructions hardly. So they are compared with those in
instructions.txt beside this script; more than a tenth above them is an error. They depend on the
compiler, too: with another one they are only printed. `--write` writes instructions.txt. Needs the
release build, or with `--dev` the build of the tests, and valgrind."""
import json, os, re, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# Each line has a name, and the counts of both builds.
KNOWN = os.path.join(HERE, "instructions.txt")
BUILDS = ["release", "debug"]
BUILD = int("--dev" in sys.argv[1:])
EVENTS = 10_000
# How each input is made, and what is done with it.
INPUTS = {"ctf": ["make_trace.py", "{}", "2", "{events}"], "log": ["make_log.py", "{}", "{events}"],
          "components": ["make_log.py", "{}", "{events}", "20"]}
WORK = {
    "null": ("ctf", ["cat", "--threads=1", "--format=null"]),
    "pretty": ("ctf", ["cat", "--threads=1", "--clock-gmt"]),
    "jsonl": ("ctf", ["cat", "--threads=1", "--format=jsonl"]),
    "csv": ("ctf", ["cat", "--threads=1", "--format=csv"]),
    "details": ("ctf", ["cat", "--threads=1", "--format=details"]),
    "count": ("ctf", ["info", "--count"]),
    "filter": ("ctf", ["cat", "--threads=1", "--format=null", "--filter=i == 5"]),
    "perfetto": ("ctf", ["convert", "--threads=1", "--to=perfetto", "--force", "--output=OUT"]),
    "chrome": ("ctf", ["convert", "--threads=1", "--to=chrome", "--force", "--output=OUT"]),
    "table": ("ctf", ["convert", "--threads=1", "--event=bench:rich", "--to=arrow", "--force", "--output=OUT"]),
    "log-null": ("log", ["cat", "--threads=1", "--format=null"]),
    "log": ("log", ["cat", "--threads=1", "--format=log"]),
    "log-components": ("components", ["cat", "--threads=1", "--format=log"]),
}


def built():
    command = ["cargo", "metadata", "--no-deps", "--offline", "--format-version=1"]
    about = json.loads(subprocess.check_output(command, cwd=HERE))
    return os.path.join(about["target_directory"], BUILDS[BUILD], "ichnos")


def has_tables():
    return "parquet" in subprocess.check_output([built(), "convert", "--help"], text=True)


def count(arguments):
    # Callgrind would count the same in a quarter more time.
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    run = subprocess.run([*valgrind, built(), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 0, run.stderr
    return int(re.search(r"I +refs: +([\d,]+)", run.stderr).group(1).replace(",", ""))


def read_known():
    compiler, *lines = open(KNOWN).read().splitlines()
    return compiler, {name: counts for name, *counts in map(str.split, lines)}


def main():
    if not shutil.which("valgrind"):
        return print("skipped: instruction counts: `valgrind` is not installed")
    compiler = subprocess.check_output(["rustc", "--version"], text=True).strip()
    with tempfile.TemporaryDirectory() as directory:
        inputs = {}
        for kind, (script, *arguments) in INPUTS.items():
            for events in (EVENTS, 2 * EVENTS):
                path = inputs[kind, events] = os.path.join(directory, f"{kind}{events}")
                arguments_now = [argument.format(path, events=events) for argument in arguments]
                subprocess.check_call([sys.executable, os.path.join(HERE, script), *arguments_now])
        output = f"--output={directory}/written"
        found = {}
        for name, (kind, work) in WORK.items():
            if name == "table" and not has_tables():
                print("table: skipped, since the build lacks the feature `table`")
                continue
            work = [output if argument == "--output=OUT" else argument for argument in work]
            one, two = (count(work + [inputs[kind, events]]) for events in (EVENTS, 2 * EVENTS))
            # The difference of the two has no starting up in it.
            found[name] = (two - one) // EVENTS
    if "--write" in sys.argv[1:]:
        before, known = read_known()
        if before != compiler:
            known = {}
        for name, number in found.items():
            known.setdefault(name, ["-", "-"])[BUILD] = str(number)
        with open(KNOWN, "w") as file:
            file.write(f"{compiler}\n" + "".join(f"{name} {' '.join(counts)}\n" for name, counts in known.items()))
    known_compiler, known = read_known()
    failed = False
    for name, number in found.items():
        if known.get(name, ["-", "-"])[BUILD] == "-":
            print(f"{name}: {number} instructions for each event, not known before")
            continue
        ratio = number / int(known[name][BUILD])
        failed |= ratio > 1.1
        print(f"{name}: {number} instructions for each event, {(ratio - 1) * 100:+.1f} %")
    if known_compiler != compiler:
        print(f"not compared: the known ones are of {known_compiler}")
    elif failed:
        sys.exit("more instructions than there were")


main()
