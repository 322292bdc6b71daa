#!/usr/bin/env python3
"""export_hidden.py OBJECT: make the hidden symbols of a relocatable ELF64 file visible, in place.

Tests are linked with a shared library of the objects that the project is made of, and call functions that the installed
libraries hide. No linker exports a hidden symbol, and objcopy changes visibility only from LLVM 19 on.
"""

import struct
import sys

SECTION_HEADERS_AT, SECTION_COUNT_AT = 40, 58  # in the file's header
TYPE_AT, OFFSET_AT = 4, 24  # in a section's header
SYMBOL_TABLE, SYMBOL_BYTES, OTHER_AT = 2, 24, 5
VISIBILITY, HIDDEN = 3, 2


def main():
    with open(sys.argv[1], "r+b") as file:
        data = bytearray(file.read())
        assert data[:6] == b"\x7fELF\x02\x01", "not a little-endian ELF64 file"
        (headers,) = struct.unpack_from("<Q", data, SECTION_HEADERS_AT)
        header_bytes, count = struct.unpack_from("<HH", data, SECTION_COUNT_AT)
        for header in range(headers, headers + header_bytes * count, header_bytes):
            if struct.unpack_from("<I", data, header + TYPE_AT)[0] != SYMBOL_TABLE:
                continue
            first, size = struct.unpack_from("<QQ", data, header + OFFSET_AT)
            for other in range(first + OTHER_AT, first + size, SYMBOL_BYTES):
                if data[other] & VISIBILITY == HIDDEN:
                    data[other] &= ~VISIBILITY
        file.seek(0)
        file.write(data)


main()
