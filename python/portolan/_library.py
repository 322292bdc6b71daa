"""The shared library: where it is, whether it is the one that the declarations are of, and how its errors are raised."""

import ctypes
import os
import subprocess

from . import _declarations as declared
from ._declarations import PTO_ERR_IO, pto_error_t, pto_machine_find_t

NAME, SONAME = f"libportolan.so.{declared.VERSION}", "libportolan.so.0"
HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))  # of an uninstalled module


class Error(Exception):
    """What portolan reports. `status` is the status's text; `file`, `line` and `column` are None outside of files."""

    def __init__(self, status, message, file=None, line=None, column=None):
        place = ":".join(str(part) for part in (file, line, column) if part)
        super().__init__(f"{place}: {message}" if place else message)
        self.status, self.message, self.file, self.line, self.column = status, message, file, line, column


class LibraryError(ImportError):
    """No shared library, or one that this module was not made for."""


def candidates():
    """Paths and names of the library, in the order in which they are tried."""
    named = os.environ.get("PORTOLAN_LIBRARY")
    if named:
        yield named
        return
    for folder in (HERE, os.path.join(TREE, "build")):
        for name in (SONAME, NAME):
            if os.path.exists(os.path.join(folder, name)):
                yield os.path.join(folder, name)
    yield SONAME
    try:
        found = subprocess.run(["pkg-config", "--variable=libdir", "portolan"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True, check=True)
        yield os.path.join(found.stdout.strip(), SONAME)
    except (OSError, subprocess.CalledProcessError):
        pass


def check(library, name):
    """The version, and the size of every struct that crosses."""
    for function in ("pto_version", "pto_struct_sizes"):
        if not hasattr(library, function):
            raise LibraryError(f"{name} is not portolan's library: it has no {function}")
    bind(library, ["pto_version", "pto_struct_sizes"])
    version = library.pto_version().decode()
    if version != declared.VERSION:
        raise LibraryError(f"{name} is portolan {version}, and this module is for {declared.VERSION}")
    sizes, table = {}, library.pto_struct_sizes()
    while table[len(sizes)].name:
        entry = table[len(sizes)]
        sizes[entry.name.decode()] = entry.bytes
    for struct in declared.STRUCTS:
        if sizes.get(struct.__name__) != ctypes.sizeof(struct):
            raise LibraryError(f"{name}: {struct.__name__} has {sizes.get(struct.__name__)} bytes there, and "
                               f"{ctypes.sizeof(struct)} in this module")


def bind(library, names=None):
    for name in names or declared.FUNCTIONS:
        if hasattr(library, name):
            function = getattr(library, name)
            function.restype, function.argtypes = declared.FUNCTIONS[name]


def load():
    reasons = []
    for name in candidates():
        try:
            library = ctypes.CDLL(name)
        except OSError as error:
            reasons.append(str(error))
            continue
        return prepare(library, name)
    raise LibraryError("no libportolan.so: set PORTOLAN_LIBRARY to its path, or install portolan; " + "; ".join(reasons))


def prepare(library, name):
    check(library, name)
    bind(library)
    for find_by, find in FINDERS.items():
        getattr(library, find_by)(find)
    return library


# --- files by name ---------------------------------------------------------------------------------------------------

def folder_of_library():
    """The folder of the loaded library, as the system knows it."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            path = line.rstrip("\n").partition("/")[2]
            if os.path.basename(path).startswith("libportolan.so"):
                return os.path.dirname("/" + path)
    return HERE


def folders(kind):
    """Where files are looked up by name, as portolan's programs do."""
    data, beside = os.environ.get("PORTOLAN_DATA"), folder_of_library()
    found = [os.path.join(data, kind)] if data else []
    found += [os.path.join("scenarios", kind), os.path.join(beside, "..", "share", "portolan", kind),
              os.path.join(beside, "..", "..", "share", "portolan", kind), os.path.join(beside, "..", "scenarios", kind),
              os.path.join("/usr/local/share/portolan", kind)]
    return [os.path.normpath(folder) for folder in found if os.path.isdir(folder)]


def find(kind, name, beside=None):
    """The file that `name` refers to: a path, also from the folder of the file `beside`, or a name."""
    base = os.path.dirname(beside) if beside else ""
    tried = [os.path.join(base, name)]
    if "/" not in name and not name.endswith(".yaml"):
        tried += [os.path.join(base, name + ".yaml")] + [os.path.join(folder, name + ".yaml") for folder in folders(kind)]
    for path in tried:
        if os.path.isfile(path):
            return path
    raise Error("cannot read or write", f"no file '{name}' in {kind}: looked for {', '.join(tried)}")


def finder(kind):
    """`find` for the library, which frees the path."""
    duplicate = ctypes.CDLL(None).strdup
    duplicate.restype, duplicate.argtypes = ctypes.c_void_p, [ctypes.c_char_p]

    def find_for_library(name, beside, path, err):
        try:
            path[0] = duplicate(os.fsencode(find(kind, os.fsdecode(name), beside and os.fsdecode(beside))))
            return 0
        except Error as error:
            if err:
                err[0].status, err[0].line, err[0].column, err[0].file = PTO_ERR_IO, 0, 0, b""
                err[0].message = str(error).encode()[:type(err[0]).message.size - 1]
            return PTO_ERR_IO

    return pto_machine_find_t(find_for_library)


FINDERS = {"pto_machine_find_by": finder("machines"), "pto_library_find_by": finder("libraries"),
           "pto_topology_find_by": finder("topologies")}

# --- calls -----------------------------------------------------------------------------------------------------------

lib = load()
free = ctypes.CDLL(None).free
free.restype, free.argtypes = None, [ctypes.c_void_p]


def load_beside(stem):
    """Another library of portolan's, in the folder of the first: libportolan-fit, which needs GSL, or libportolan-exec."""
    for name in (f"{stem}.so.0", f"{stem}.so.{declared.VERSION}"):
        path = os.path.join(folder_of_library(), name)
        if os.path.exists(path):
            library = ctypes.CDLL(path)
            if stem == "libportolan-fit":
                return prepare(library, path)
            bind(library)
            return library
    raise LibraryError(f"no {stem}.so.0 in {folder_of_library()}")


def call(function, *arguments):
    """Call a fallible function, which takes an error last."""
    error = pto_error_t()
    if function(*arguments, ctypes.byref(error)) != 0:
        text = lambda value: value.decode(errors="replace")
        raise Error(text(lib.pto_status_text(error.status)), text(error.message), text(error.file) or None, error.line or None,
                    error.column or None)


def take_text(address):
    """A text of the library's, which is freed."""
    text = ctypes.string_at(address).decode(errors="replace")
    free(address)
    return text
