#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Write epf/_cffi.py, which describes libepf.so.1 to cffi, from the library's own header.

usage: bindings.py HEADER OUTPUT

The output is Python for every architecture: cffi's backend computes the layout of structs when it
is imported (cffi's "out-of-line ABI mode"). So neither a compiler nor cffi itself is needed then.
"""
import re
import sys

import cffi

# https://arrow.apache.org/docs/format/CDataInterface.html, "Structure definitions", and its
# page about streams.
ARROW = """
struct ArrowSchema {
	const char *format;
	const char *name;
	const char *metadata;
	int64_t flags;
	int64_t n_children;
	struct ArrowSchema **children;
	struct ArrowSchema *dictionary;
	void (*release)(struct ArrowSchema *);
	void *private_data;
};
struct ArrowArray {
	int64_t length;
	int64_t null_count;
	int64_t offset;
	int64_t n_buffers;
	int64_t n_children;
	const void **buffers;
	struct ArrowArray **children;
	struct ArrowArray *dictionary;
	void (*release)(struct ArrowArray *);
	void *private_data;
};
struct ArrowArrayStream {
	int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
	int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
	const char *(*get_last_error)(struct ArrowArrayStream *);
	void (*release)(struct ArrowArrayStream *);
	void *private_data;
};
"""


def constants(text):
    """"#define NAME NUMBER" for each number of the header, which may be an expression."""
    for name, value in re.findall(r"^#define (LIBEPF_\w+) (.+)$", text, re.M):
        value = re.sub(r"UINT64_C\((\d+)\)", r"\1", value).replace("UINT64_MAX", str(2**64 - 1))
        value = re.sub(r"(\d)u\b", r"\1", value)
        if re.fullmatch(r"[\d()< ]+", value):
            yield f"#define {name} {eval(value)}"


def declarations(header):
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    numbers = list(constants(re.sub(r"[ \t]+$", "", text, flags=re.M)))
    text = re.sub(r"^#ifdef __cplusplus.*?^#endif", "", text, flags=re.S | re.M)
    text = re.sub(r"^#.*$", "", text, flags=re.M).replace("LIBEPF_API ", "")
    return "\n".join(numbers) + text + ARROW


def main():
    ffi = cffi.FFI()
    with open(sys.argv[1], encoding="utf-8") as header:
        ffi.cdef(declarations(header.read()))
    ffi.set_source("epf._cffi", None)
    ffi.emit_python_code(sys.argv[2])


if __name__ == "__main__":
    main()
