#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_prototypes.py PROTOTYPES [HEADER]: the stand-in runtime's functions against the real header's.

Each parameter must agree in the depth of its pointers and in its type; enums are ints to us, and a
few types have the name here that theirs is a typedef of. PROTOTYPES is generated from the table of
calls; a header of another major version is not compared. Exit status: 0 they agree, 1 they differ,
77 no header of that version was found, which Meson takes as skipped.
"""
import pathlib
import re
import sys

SKIPPED = 77
SAME = {"unsigned int": "unsigned", "cudaStreamAttrID": "int", "cudaKernelNodeAttrID": "int",
        "cudaStreamAttrValue": "cudaLaunchAttributeValue",
        "cudaKernelNodeAttrValue": "cudaLaunchAttributeValue"}
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
DEFAULT = re.compile(r"__dv\([^()]*(\([^()]*\))?[^()]*\)|=[^,)]*")  # of C++ parameters


def parameter(text):
    """(depth of pointers, type) of one parameter with its name."""
    depth = text.count("*") + text.count("[")
    words = [w for w in re.sub(r"\[\d*\]|\*", " ", text).split() if w not in ("const", "struct")]
    name = "int" if words[0] == "enum" else " ".join(words[:-1] or words)
    return depth, SAME.get(name, name)


def parameters(text):
    text = re.sub(r"\s+", " ", DEFAULT.sub("", text)).strip()
    return [] if text in ("", "void") else [parameter(p) for p in text.split(",")]


def functions(text, start):
    """Name -> the lists of parameters it is declared with: the header has some for C++ besides."""
    found = {}
    for name, args in re.findall(start + r"\s*(\w+)\s*\(([^;{]*?)\)\s*;", text):
        found.setdefault(name, []).append(parameters(args))
    return found


def main():
    path = pathlib.Path(sys.argv[1])
    header = pathlib.Path((sys.argv[2:] or ["/usr/local/cuda/include/cuda_runtime_api.h"])[0])
    text = COMMENT.sub("", header.read_text()) if header.exists() else ""
    version = re.search(r"#define CUDART_VERSION\s+(\d+)", text)
    if not version or f"so{int(version[1]) // 1000}" != path.parent.name:
        print(f"{header}: not there, or of another version than {path.parent.name}")
        return SKIPPED
    ours, real = functions(path.read_text(), "cudaError_t"), functions(text, "CUDARTAPI(?:_CDECL)?")
    both = [name for name in ours if re.sub("_ptsz$|_ptds$", "", name) in real]
    bad = [name for name in both
           if ours[name][0] not in real[re.sub("_ptsz$|_ptds$", "", name)]]
    print("\n".join([f"{name}: {ours[name][0]}" for name in bad]
                    + [f"{header}: {len(both)} prototypes compared, {len(bad)} differ"]))
    return 1 if bad or not both else 0


if __name__ == "__main__":
    sys.exit(main())
