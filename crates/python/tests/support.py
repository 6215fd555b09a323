"""What all tests use: the command, the traces, and a count of failures."""
import os
import subprocess
import sys

import ichnos

command = sys.argv[1] if len(sys.argv) > 1 else "ichnos"
recorded = sys.argv[2] if len(sys.argv) > 2 and os.path.isdir(sys.argv[2]) else None
here = os.path.dirname(os.path.abspath(__file__))
examples = os.path.normpath(os.path.join(here, "../../../examples"))

LTTNG = os.path.join(examples, "hello-lttng/trace")
FXT = os.path.join(examples, "hello-fxt/frames.fxt")
DOTNET = os.path.join(examples, "hello-dotnet/hello.nettrace.zst")


def run(*arguments):
    return subprocess.run([command, *arguments], capture_output=True, check=False)


def raises(call, *parts, of=ichnos.Error):
    """Returns the exception that a call must raise, with these texts in its message."""
    try:
        call()
    except of as error:
        for part in parts:
            assert part in str(error), (part, str(error))
        return error
    raise AssertionError("no exception")
