#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare our declarations of a driver interface with the real header.

    check-abi.py cuda|nvml [--header FILE] [--cc COMPILER] [--exact]

Both headers are read the same way: the compiler preprocesses them, a small parser takes out types,
enumerators, members and prototypes, and one generated program a header prints what only a compiler
knows: sizes, offsets and values. What both headers name must agree:

  - size of every type; offset, size and type of every member
  - value of every enumerator and of every constant macro
  - prototype of every function, through all typedefs

A real header may be older or newer than ours. What only one of them names, what grew at its end and
what is known to have moved (MOVED below) is then counted as drift, not failed; VERBOSE=1 lists it.
With --exact, or when both are of one release, nothing is forgiven.

Exit status: 0 they agree, 1 they differ, 2 called wrongly or a header could not be read,
77 no real header (or no compiler) was found, which Meson takes as skipped.
"""
import argparse
import os
import re
import shlex
import shutil
import sys

from c_header import Misread, measure, read_header, resolve

SKIPPED = 77
ABI = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'src', 'abi')

# What makes the real header show the exported names instead of its renaming macros; the files that
# make up the interface; the names of its constants; and those that tell one release from another.
INTERFACES = {
    'cuda': {
        'defines': ['-D__CUDA_API_VERSION_INTERNAL'],
        'real': ['cuda.h', 'cudaProfiler.h'],
        'constant': r'CU[A-Z]*_\w+$',
        'release': ['CUDA_VERSION'],
    },
    'nvml': {
        'defines': ['-DNVML_NO_UNVERSIONED_FUNC_DEFS'],
        'real': ['nvml.h'],
        'constant': r'(NVML|nvml|MAX_CLK|INVALID_GPU)\w+$',
        'release': ['NVML_API_VERSION', 'NVML_FI_MAX'],
    },
}

# Facts that the maker changes from release to release, seen in headers from CUDA 11.8 to 13.5. None
# of them may be relied on without knowing the driver's version.
MOVED = [re.compile(p) for p in (
    # Ends of lists, sums of flags, lengths of arrays: they grow with the list.
    r'\w+_(MAX|COUNT|NUM_OPTIONS|NUM_INPUT_TYPES|MAX_LINKS|FLAGS_MASK|NUM_PROFILE_PARAMS)$',
    r'nvml\w+All$',
    r'CU_COREDUMP_LIGHTWEIGHT_FLAGS$',
    r'nvmlGpmMetricsGet_t\b',
    # Renumbered between CUDA 12.9 and 13.0.
    r'NVML_FI_(PWR_SMOOTHING|DEV_CLOCKS_EVENT_REASON|DEV_POWER_SYNC)_\w+$',
    # CUDA 12 gave these names to the second version of the operations.
    r'CU_DEVICE_ATTRIBUTE_CAN_USE_(64_BIT_STREAM_MEM_OPS|STREAM_WAIT_VALUE_NOR)$',
    # Plain char until CUDA 12.2.
    r'nvmlGpuFabricInfo_t clusterUuid$',
)]
RESERVED = re.compile(r'(^|[._])(reserved\d*|pad|_?oversize|_internal_padding)$')

# Exported, and thus declared by us, though the real header only has them as macros.
OURS_ALONE = {'nvmlGetBlacklistDeviceCount', 'nvmlGetBlacklistDeviceInfoByIndex',
              # Of cudaGL.h and cudaVDPAU.h, which do not compile without OpenGL's and VDPAU's own.
              'cuGLCtxCreate', 'cuGLCtxCreate_v2', 'cuVDPAUCtxCreate', 'cuVDPAUCtxCreate_v2'}

# Macros of one header only that are no constants of the interface.
NOT_CONSTANT = {'CUDAAPI', 'CUDA_CB', 'CU_UUID_HAS_BEEN_DEFINED', 'NVML_NO_UNVERSIONED_FUNC_DEFS',
                'NVML_MCDM_SUPPORT', 'NVML_API_VERSION_STR', 'nvmlEccBitType_t',
                'NVML_VGPU_VIRTUALIZATION_CAP_MIGRATION',
                'NVML_VGPU_PGPU_VIRTUALIZATION_CAP_MIGRATION'}


class Comparison:
    def __init__(self, ours, real, exact):
        self.ours, self.real, self.exact = ours, real, exact
        self.differences, self.drift = [], []
        self.compared = 0

    def same_type(self, a, b):
        """Equal through the typedefs of either header: names for one thing drift with versions."""
        if not self.exact and a == b:
            return True
        mine, theirs = resolve(self.ours, a), resolve(self.real, b)
        return theirs in (mine, resolve(self.real, mine)) or mine == resolve(self.ours, theirs)

    def names(self, what, ours, real):
        """Names in both, in our order. One header alone having a name is drift."""
        for title, some, other in (('only ours', ours, real), ('only real', real, ours)):
            for n in some:
                if n not in other and n not in OURS_ALONE:
                    self.differ('%s: %s %s' % (title, what, n), None, None, drifted=True)
        return [n for n in ours if n in real]

    def differ(self, name, ours, real, drifted=False):
        text = name if ours is None else '%s\n    ours  %s\n    real  %s' % (name, ours, real)
        forgiven = not self.exact and (drifted or any(m.match(name) for m in MOVED))
        (self.drift if forgiven else self.differences).append(text)

    def measured(self, name, *key, drifted=False):
        self.compared += 1
        a, b = self.ours.measured.get(key), self.real.measured.get(key)
        if a != b:
            self.differ(name, '%s %s' % (key[0], a), '%s %s' % (key[0], b), drifted)

    def grown(self, kind):
        """Whether a type has members in one header that it lacks in the other."""
        mine, theirs = resolve(self.ours, kind), resolve(self.real, kind)
        paths = [{p for p, _ in header.members.get(name.rstrip('[]'), []) if not RESERVED.search(p)}
                 for header, name in ((self.ours, mine), (self.real, theirs))]
        return mine != theirs or paths[0] != paths[1]

    def types(self):
        for name in self.names('type', self.ours.typedefs, self.real.typedefs):
            if ('size', name) in self.ours.measured:
                self.measured(name, 'size', name, drifted=self.grown(name))
            elif not self.same_type(name, name):
                self.differ(name, resolve(self.ours, name), resolve(self.real, name))
        for name in self.names('members of', self.ours.members, self.real.members):
            self.members(name, dict(self.ours.members[name]), dict(self.real.members[name]))

    def members(self, name, mine, theirs):
        if self.exact and list(mine) != list(theirs):
            self.differ('order of members of ' + name, ', '.join(mine), ', '.join(theirs))
        for path in self.names('member ' + name, mine, theirs):
            label = '%s %s' % (name, path)
            filler = bool(RESERVED.search(path))
            self.measured(label, 'offset', name, path, drifted=filler)
            self.measured(label, 'length', name, path, drifted=filler or self.grown(mine[path]))
            if not self.same_type(mine[path], theirs[path]):
                self.differ(label, mine[path], theirs[path], filler)

    def values(self, constants):
        for name in self.names('enumerator', self.ours.enums, self.real.enums):
            self.measured(name, 'value', name)
        for name in self.names('constant', self.ours.macros, self.real.macros):
            if name not in constants:
                continue
            if ('value', name) in self.ours.measured:
                self.measured(name, 'value', name)
            elif self.ours.macros[name] != self.real.macros[name]:
                self.differ(name, self.ours.macros[name], self.real.macros[name])

    def functions(self):
        for name in self.names('function', self.ours.functions, self.real.functions):
            self.compared += 1
            (result, mine), (real_result, theirs) = (self.ours.functions[name],
                                                     self.real.functions[name])
            if (len(mine) != len(theirs) or not self.same_type(result, real_result)
                    or not all(map(self.same_type, mine, theirs))):
                self.differ(name, '%s (%s)' % (result, ', '.join(mine)),
                            '%s (%s)' % (real_result, ', '.join(theirs)))

    def report(self, real_file):
        if os.environ.get('VERBOSE'):
            print('\n'.join('drift: ' + d for d in self.drift))
        print('\n'.join(self.differences + [
            '%s: %d facts compared%s, %d differ, %d drifted'
            % (real_file, self.compared, ' exactly' if self.exact else '', len(self.differences),
               len(self.drift))]))
        return 1 if self.differences else 0


# ---- The program --------------------------------------------------------------------------------

def find_header(interface):
    roots = [os.environ.get('CUDA_HOME') or '/usr/local/cuda', '/usr/local/cuda', '/usr']
    for root in roots:
        path = os.path.join(root, 'include', interface['real'][0])
        if os.path.exists(path):
            return path
    return None


def real_files(path, interface):
    """The header given, and those beside it that belong to the same interface."""
    folder = os.path.dirname(os.path.realpath(path))
    rest = [os.path.join(folder, f) for f in interface['real'][1:]]
    return [os.path.realpath(path)] + [f for f in rest if os.path.exists(f)]


def plain_constants(ours, real):
    """Macros of both headers that a compiler can print as a number."""
    both = [n for n in ours.macros if n in real.macros]
    return both, [n for n in both if not any('"' in h.macros[n] for h in (ours, real))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('interface', choices=sorted(INTERFACES))
    parser.add_argument('--header', help='the real header; else it is looked for')
    parser.add_argument('--cc', default=os.environ.get('CC'), help='the C compiler')
    parser.add_argument('--exact', action='store_true', help='names in one header only fail too')
    args = parser.parse_args()
    interface = INTERFACES[args.interface]

    path = args.header or find_header(interface)
    if not path:
        print('no %s found: nothing to compare with' % interface['real'][0])
        return SKIPPED
    if not os.path.exists(path):
        print('%s: no such header' % path, file=sys.stderr)
        return 2
    cc = shlex.split(args.cc) if args.cc else [shutil.which('cc') or shutil.which('gcc')
                                               or shutil.which('clang')]
    if not cc[0] or not shutil.which(cc[0]):
        print('no C compiler found')
        return SKIPPED

    def read(files):
        return read_header(cc, files, interface['defines'],
                           lambda name: re.match(interface['constant'], name)
                           and name not in NOT_CONSTANT)

    ours, our_include, our_base = read(
        [os.path.realpath(os.path.join(ABI, args.interface + '.h'))])
    real, real_include, real_base = read(real_files(path, interface))
    macros, numbers = plain_constants(ours, real)
    measure(ours, our_include, our_base, numbers)
    measure(real, real_include, real_base, numbers)

    release = interface['release']
    exact = args.exact or all(ours.macros.get(m) == real.macros.get(m) for m in release)
    comparison = Comparison(ours, real, exact)
    comparison.types()
    comparison.values({m for m in macros if m not in release})
    comparison.functions()
    return comparison.report(path)


if __name__ == '__main__':
    try:
        sys.exit(main())
    except Misread as e:
        print('cannot read a header: %s' % e, file=sys.stderr)
        sys.exit(2)
