#!/usr/bin/env python3
"""Write the Python module's declarations for ctypes from the public headers: python_declarations.py [--check].

Declared are the functions, constants and types that python/portolan/*.py mention, and all that these consist of. The
sizes of the structs are compared with the library's own at each import (pto_struct_sizes); the executor's structs stay
opaque. --check compares the file with the headers, and fails if it is not what this program would write."""

import os
import re
import subprocess
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADERS = os.path.join(ROOT, "model", "include", "portolan")
EXEC_HEADERS = os.path.join(ROOT, "impl", "include", "portolan")
PACKAGE = os.path.join(ROOT, "python", "portolan")
OUTPUT = os.path.join(PACKAGE, "_declarations.py")
NUMBERS = {"void": "None", "int": "c_int", "unsigned": "c_uint", "double": "c_double", "bool": "c_bool", "_Bool": "c_bool",
           "char": "c_char", "size_t": "c_size_t", "uint64_t": "c_uint64", "int64_t": "c_int64", "int32_t": "c_int32",
           "int16_t": "c_int16", "uint8_t": "c_uint8"}


def preprocessed(folder, names):
    """The text of the headers of a folder alone, with macros expanded."""
    source = "".join(f"#include <portolan/{name}>\n" for name in names)
    command = [os.environ.get("CC", "cc"), "-std=c11", "-E", "-I", os.path.dirname(HEADERS), "-I", os.path.dirname(EXEC_HEADERS), "-"]
    text = subprocess.run(command, input=source, text=True, check=True, stdout=subprocess.PIPE).stdout
    kept, ours = [], False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            ours = marker.group(1).startswith(folder)
        elif ours and not line.startswith("#"):
            kept.append(re.sub(r"__attribute__ *\(\(.*?\)\)\)?", "", line))
    return "\n".join(kept)


def split(text, separator):
    """Split at a separator that is outside of brackets. A function's body is a part of its own."""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "({[") - (c in ")}]")
        inline = separator == ";" and c == "}" and depth == 0 and "(" in text[begin:i].split("{")[0]
        if depth == 0 and (c == separator or inline):
            parts.append(text[begin:i].strip())
            begin = i + 1
    return [part for part in parts + [text[begin:].strip()] if part]


class Headers:
    def __init__(self):
        self.structs, self.enums, self.constants, self.functions, self.callbacks, self.aliases = {}, set(), {}, {}, {}, {}

    def read(self, text, opaque=False):
        for part in split(text, ";"):
            self.read_part(" ".join(part.split()), opaque)

    def value(self, text):
        text = re.sub(r"\((int|unsigned|int64_t)\)", "", text)
        names = {name: self.constants[name] for name in re.findall(r"[A-Za-z_]\w*", text) if name in self.constants}
        return eval(re.sub(r"(?<=\d)[UL]+\b", "", text), {"__builtins__": {}}, names)  # of our own headers

    def read_part(self, part, opaque):
        enum = re.match(r"(typedef )?enum \{(.*)\} ?(\w*)$", part)
        struct = re.match(r"(typedef )?struct ?(\w*) ?\{(.*)\} ?(\w*)$", part)
        callback = re.match(r"typedef (.*?)\(\*(\w+)\) ?\((.*)\)$", part)
        alias = re.match(r"typedef struct (\w+) (\w+)$", part)
        function = re.match(r"([\w *]+?[ *])(pto_\w+) ?\((.*)\)$", part)
        if enum:
            self.enums.add(enum.group(3))
            last = -1
            for item in split(enum.group(2), ","):
                name, _, value = item.partition("=")
                last = self.value(value) if value else last + 1
                self.constants[name.strip()] = last
        elif struct and not opaque:
            self.structs[struct.group(4) or struct.group(2)] = struct.group(3)
        elif alias:
            self.aliases[alias.group(2)] = alias.group(1)
        elif callback:
            self.callbacks[callback.group(2)] = (callback.group(1), callback.group(3))
        elif function and not part.startswith(("static", "typedef")):
            self.functions[function.group(2)] = (function.group(1), function.group(3))


class Writer:
    def __init__(self, headers):
        self.headers, self.done, self.bodies = headers, [], {}

    def type_of(self, base, stars):
        """The ctypes expression of `stars` pointers to a type. Texts that the caller frees stay addresses."""
        base = base.replace("const ", "").replace("struct ", "").strip()
        headers = self.headers
        name = headers.aliases.get(base, base)
        if name in headers.callbacks or base in headers.callbacks:
            result = "c_void_p"
        elif base in NUMBERS:
            known = {("char", 1): ("c_char_p", 0), ("char", 2): ("c_void_p", 1), ("void", stars): ("c_void_p", stars - 1)}
            result, stars = known.get((base, stars), (NUMBERS[base], stars)) if stars else (NUMBERS[base], 0)
        elif base in headers.enums:
            result = "c_int"
        elif name in headers.structs:
            self.struct(base)
            result = base
        elif stars:  # to an incomplete type
            result, stars = "c_void_p", stars - 1
        else:
            raise SystemExit(f"python_declarations.py: unknown type '{base}'")
        return "POINTER(" * stars + result + ")" * stars

    def declared(self, text):
        """(name, type) of each declarator of a field or of a parameter."""
        pointer = re.match(r".*\(\*(\w*)\)", text)
        if pointer:
            return [(pointer.group(1), "c_void_p")]
        first, *others = split(text, ",")
        base, stars, name, sizes = re.match(r"((?:const )?(?:struct )?\w+(?: const)?) ?([* ]*)(?:const )?(\w*)((?:\[.*\])?)$", first).groups()
        found = []
        for stars, name, sizes in [(stars, name, sizes)] + [re.match(r"([* ]*)(\w+)((?:\[.*\])?)$", other).groups() for other in others]:
            kind = self.type_of(base, stars.count("*"))
            for size in reversed(re.findall(r"\[(.*?)\]", sizes)):
                kind = f"({kind} * {self.headers.value(size)})"
            found.append((name, kind))
        return found

    def struct(self, name):
        if name not in self.bodies:
            self.bodies[name] = None  # it may point to itself
            self.bodies[name] = self.fields(name, self.headers.structs[self.headers.aliases.get(name, name)])
            self.done.append(name)

    def fields(self, owner, text):
        found = []
        for field in split(text, ";"):
            nested = re.match(r"struct \{(.*)\} (\w+)$", field)
            if nested:
                inner = f"{owner}_{nested.group(2)}"
                self.bodies[inner] = self.fields(inner, nested.group(1))
                self.done.append(inner)
                found.append((nested.group(2), inner))
            else:
                found += self.declared(field)
        return found

    def function(self, result, parameters):
        kinds = [] if parameters == "void" else [self.declared(one)[0][1] for one in split(parameters, ",")]
        return self.declared(result.strip() + " f")[0][1], [re.sub(r"^\((.*) \* \d+\)$", r"POINTER(\1)", kind) for kind in kinds]


def written():
    headers = Headers()
    headers.read(preprocessed(HEADERS, sorted(name for name in os.listdir(HEADERS) if name.endswith(".h"))))
    headers.read(preprocessed(EXEC_HEADERS, ["exec.h"]), opaque=True)
    writer = Writer(headers)
    sources = ""
    for name in sorted(os.listdir(PACKAGE)):
        if name.endswith(".py") and name != os.path.basename(OUTPUT):
            with open(os.path.join(PACKAGE, name), encoding="utf-8") as source:
                sources += source.read()
    used = sorted(set(re.findall(r"\b(?:pto|PTO)_\w+", sources)))
    for name in used:
        if name in headers.structs or name in headers.aliases and headers.aliases[name] in headers.structs:
            writer.struct(name)
        elif name not in headers.functions and name not in headers.constants and name not in headers.callbacks and \
                name not in headers.aliases:
            raise SystemExit(f"python_declarations.py: the headers do not declare '{name}'")
    functions = [f'    "{name}": ({kind[0]}, [{", ".join(kind[1])}]),' for name in used if name in headers.functions
                 for kind in [writer.function(*headers.functions[name])]]
    callbacks = [f'{name} = CFUNCTYPE({", ".join([kind[0], *kind[1]])})' for name in used if name in headers.callbacks
                 for kind in [writer.function(*headers.callbacks[name])]]
    with open(os.path.join(HEADERS, "api.h"), encoding="utf-8") as source:
        version = re.search(r'PTO_VERSION_TEXT "(.*)"', source.read()).group(1)
    lines = ['"""Written by tools/python_declarations.py from the public headers."""', "", "from ctypes import *", "",
             f'VERSION = "{version}"'] + [f"{name} = {headers.constants[name]}" for name in used if name in headers.constants]
    for name in writer.done:
        fields = ", ".join(f'("{field}", {kind})'.replace(" ", "~") for field, kind in writer.bodies[name])
        block = [line.replace("~", " ") for line in textwrap.wrap(f"_fields_ = [{fields}]", 116, subsequent_indent=" " * 12)]
        recursive = re.search(rf"\b{name}\b", fields)
        lines += ["", "", f"class {name}(Structure):"]
        lines += ["    pass", "", "", f"{name}.{block[0]}", *block[1:]] if recursive else ["    " + line for line in block]
    top = [name for name in writer.done if name in headers.structs or name in headers.aliases]
    lines += ["", "", *callbacks, *textwrap.wrap(f"STRUCTS = [{', '.join(top)}]", 116, subsequent_indent="           ")]
    return "\n".join([*lines, "FUNCTIONS = {", *functions, "}"]) + "\n"


def main():
    text = written()
    if sys.argv[1:] == ["--check"]:
        with open(OUTPUT, encoding="utf-8") as output:
            if output.read() != text:
                raise SystemExit("python/portolan/_declarations.py differs from the headers: `make python` writes it")
    else:
        with open(OUTPUT, "w", encoding="utf-8") as output:
            output.write(text)


main()
