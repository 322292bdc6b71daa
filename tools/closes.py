#!/usr/bin/env python3
"""closes.py [FILE.c ...]: name every place that closes or flushes what it has written without looking at the result.

A full disk is often noticed only there. Statements such as `fclose(file);` or `(void)fflush(file);` are refused, with two
exceptions: the stream is opened for reading (a mode that begins with "r" and has no "+") in the same function or, if it is
a member of a struct, in the same source file; or it is standard output or error, which the programs check at their end.
Without files: all of the project but its tests.
"""

import pathlib
import re
import sys

# gzclose returns 0 after a gzflush(Z_FINISH) that failed (findings/gzclose.sh).
CLOSES = "fclose|fflush|pclose|gzclose|gzflush|pto_output_close|row_file_close|preload_rows_close"
# As a statement of its own: behind the end of another one, a brace, a label, a condition or `else`.
STATEMENT = re.compile(r"(?:^|[;{}:)]|\belse)\s*(?:\(void\)\s*)?\b(" + CLOSES + r")\(\s*([^;]*?)\)\s*;", re.M)
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*', re.S)
# Opening functions, and where their mode is.
OPENED = r"\b%s\s*=[^;]*?\b(?:fopen|fdopen|popen|gzopen|gzdopen)\([^;]*?\"r[^\"+]*\"\)"


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def unchecked(text):
    text = NOT_CODE.sub(blank, text)
    for found in STATEMENT.finditer(text):
        name, arguments = found.groups()
        stream = arguments.split(",")[0].strip()
        function = text[text.rfind("\n}", 0, found.start()) + 1:found.end()]
        reads = re.search(OPENED % re.escape(stream), text if "->" in stream else function)
        dropped = name == "pto_output_close" and ", false," in arguments
        if stream not in ("stdout", "stderr") and not reads and not dropped:
            yield text.count("\n", 0, found.start(1)) + 1, f"{name}({arguments})"


def main():
    files = sys.argv[1:] or sorted(str(path) for folder in pathlib.Path().glob("[a-z]*/")
                                   if not re.match("tests|build", folder.name) for path in folder.glob("**/*.c"))
    count = 0
    for name in files:
        with open(name, encoding="utf-8") as source:
            for line, call in unchecked(source.read()):
                print(f"{name}:{line}: the result of {call} is ignored")
                count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
