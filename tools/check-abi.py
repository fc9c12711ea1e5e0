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
import subprocess
import sys
import tempfile

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

TOKEN = re.compile(r'[A-Za-z_]\w*|\d[\w.]*|"(?:[^"\\]|\\.)*"|\.\.\.|<<|>>|[^\s\w]')
QUALIFIERS = {'const', 'volatile', 'restrict', '__restrict', 'extern', '__extension__', 'static',
              'inline', '__inline', '__inline__'}
BASE_WORDS = {'void', 'char', 'short', 'int', 'long', 'float', 'double', 'signed', 'unsigned'}


class Misread(Exception):
    """A header holds something this parser does not know."""


class Header:
    """What one header declares: names to facts, in order of declaration."""

    def __init__(self):
        self.typedefs = {}      # name -> type as text
        self.tags = {}          # 'struct X_st' -> name of its typedef
        self.members = {}       # type name -> [(path, type as text)]
        self.enums = {}         # enumerator -> enum it is in
        self.functions = {}     # name -> (return type, [parameter types])
        self.macros = {}        # name -> replacement text
        self.measured = {}      # (what, name[, path]) -> number as text


# ---- Reading: tokens of a declaration to text of a type -----------------------------------------

def closing(tokens, i):
    """Index of the bracket that closes the one at i."""
    pairs = {'(': ')', '{': '}', '[': ']'}
    depth = 0
    for j in range(i, len(tokens)):
        if tokens[j] in pairs:
            depth += 1
        elif tokens[j] in pairs.values():
            depth -= 1
            if depth == 0:
                return j
    raise Misread('unclosed ' + tokens[i])


def split_at(tokens, separator):
    """Split at separators outside all brackets."""
    parts, part, depth = [], [], 0
    for t in tokens:
        depth += (t in '({[') - (t in ')}]')
        if t == separator and depth == 0:
            parts.append(part)
            part = []
        else:
            part.append(t)
    return parts + [part] if part else parts


def strip_attributes(tokens):
    out, i = [], 0
    while i < len(tokens):
        if tokens[i] in ('__attribute__', '_Alignas', '__asm__'):
            i = closing(tokens, i + 1) + 1
        else:
            out.append(tokens[i])
            i += 1
    return out


def base_type(words):
    """One spelling for each way to spell a basic type: 'long long unsigned int' and so on."""
    if not set(words) <= BASE_WORDS:
        return ' '.join(words)
    if 'char' in words:
        return ' '.join(w for w in ('signed', 'unsigned', 'char') if w in words)
    if not set(words) & {'short', 'int', 'long', 'signed', 'unsigned'} or 'double' in words:
        return ' '.join(sorted(words))
    size = ['long'] * words.count('long') or (['short'] if 'short' in words else ['int'])
    return ' '.join((['unsigned'] if 'unsigned' in words else []) + size)


def specifier(header, tokens):
    """Take the type that a declaration begins with. Gives (type, body tokens or None, rest)."""
    const, words, body, i = False, [], None, 0
    while i < len(tokens):
        t = tokens[i]
        if t in QUALIFIERS:
            const = const or t == 'const'
        elif t in ('struct', 'union', 'enum') and not words:
            words = [t]
            if tokens[i + 1] != '{':
                i += 1
                words.append(tokens[i])
            if i + 1 < len(tokens) and tokens[i + 1] == '{':
                end = closing(tokens, i + 1)
                body = tokens[i + 2:end]
                i = end
        elif t in BASE_WORDS and (not words or words[0] in BASE_WORDS):
            words.append(t)
        elif re.match(r'[A-Za-z_]', t) and not words:
            words.append(t)
        else:
            break
        i += 1
    if not words:
        raise Misread('no type in: ' + ' '.join(tokens[:12]))
    return ('const ' if const else '') + base_type(words), body, tokens[i:]


def declarator(header, base, tokens):
    """Apply *, [] and () around a name to a type. Gives (name or '', type)."""
    i = 0
    while i < len(tokens) and (tokens[i] == '*' or tokens[i] in QUALIFIERS):
        if tokens[i] == '*':
            base += '*'
        elif tokens[i] == 'const':
            base += ' const'
        i += 1
    inner, name = None, ''
    if i < len(tokens) and tokens[i] == '(' and tokens[i + 1:i + 2] == ['*']:
        end = closing(tokens, i)
        inner, i = tokens[i + 1:end], end + 1
    elif i < len(tokens) and re.match(r'[A-Za-z_]', tokens[i]):
        name, i = tokens[i], i + 1
    while i < len(tokens):
        end = closing(tokens, i)
        if tokens[i] == '[':
            base += '[]'
        else:
            base = '%s(%s)' % (base, ', '.join(parameters(header, tokens[i + 1:end])))
        i = end + 1
    return declarator(header, base, inner) if inner else (name, base)


def parameters(header, tokens):
    """Types of parameters; an array is what it becomes, a pointer."""
    types = []
    for p in split_at(tokens, ','):
        base, _, rest = specifier(header, p)
        types.append(declarator(header, base, rest)[1].replace('[]', '*'))
    return [] if types == ['void'] else types


# ---- Reading: a whole header --------------------------------------------------------------------

def read_members(header, body, prefix=''):
    """Members of a struct or union, those of nested ones too, by their path from the outermost."""
    members = []
    for part in split_at(body, ';'):
        base, nested, rest = specifier(header, part)
        if ':' in rest:
            continue    # a bit-field has no address
        for d in split_at(rest, ',') if rest else [[]]:
            name, kind = declarator(header, base, d)
            path = prefix + name
            if name:
                members.append((path, '{}' if nested else kind))
            if nested:
                step = path + ('[0]' if kind.endswith('[]') else '') + '.' if name else prefix
                members += read_members(header, nested, step)
    return members


def read_typedef(header, tokens):
    base, body, rest = specifier(header, tokens)
    names = [declarator(header, base, d) for d in split_at(rest, ',')]
    first = names[0][0]
    if body is not None:
        kind = base.split()[0]
        if base != kind:
            header.tags[base] = first
        if kind == 'enum':
            for e in split_at(body, ','):
                header.enums[e[0]] = first
        else:
            header.members[first] = read_members(header, body)
        header.typedefs[first] = first
        names = [(n, k.replace(base, first, 1)) for n, k in names[1:]]
    for name, kind in names:
        header.typedefs[name] = kind


def read_declarations(header, text):
    tokens, i = strip_attributes(TOKEN.findall(text)), 0
    while i < len(tokens):
        start = i
        while i < len(tokens) and tokens[i] != ';':
            i = closing(tokens, i) + 1 if tokens[i] in '({[' else i + 1
        part = tokens[start:i]
        i += 1
        if part and part[0] == '__extension__':
            part = part[1:]
        if part and part[0] == 'typedef':
            read_typedef(header, part[1:])
        elif '(' in part:
            base, _, rest = specifier(header, part)
            open_at = rest.index('(')
            result = base + '*' * rest[:open_at].count('*')
            args = parameters(header, rest[open_at + 1:closing(rest, open_at)])
            header.functions[rest[open_at - 1]] = (result, args)


def own_lines(preprocessed, folders):
    """The lines that come from files in the given folders: not those of the C library."""
    keep, out = False, []
    for line in preprocessed.splitlines():
        m = re.match(r'# \d+ "([^"]*)"', line)
        if m:
            keep = os.path.dirname(os.path.realpath(m.group(1))) in folders
        elif keep:
            out.append(line)
    return '\n'.join(out)


def compile_or_die(command, text, what):
    r = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if r.returncode:
        print('%s: %s failed\n%s' % (what, ' '.join(command), r.stderr), file=sys.stderr)
        sys.exit(2)
    return r.stdout


def read_header(cc, files, interface):
    header = Header()
    include = ''.join('#include "%s"\n' % f for f in files)
    folders = {os.path.dirname(os.path.realpath(f)) for f in files}
    base = cc + ['-std=gnu17', '-w'] + interface['defines'] + ['-I' + d for d in sorted(folders)]
    text = compile_or_die(base + ['-E', '-x', 'c', '-'], include, files[0])
    read_declarations(header, own_lines(text, folders))
    macros = compile_or_die(base + ['-E', '-dM', '-x', 'c', '-'], include, files[0])
    for line in macros.splitlines():
        m = re.match(r'#define (\w+) (.+)$', line)
        if m and re.match(interface['constant'], m.group(1)) and m.group(1) not in NOT_CONSTANT:
            header.macros[m.group(1)] = m.group(2).strip()
    return header, include, base


# ---- Measuring: what only the compiler knows ----------------------------------------------------

def measure(header, include, base, macros):
    """Compile and run a program that prints sizes, offsets and values."""
    body = []
    for name in header.typedefs:
        if '(' not in header.typedefs[name]:
            body.append('printf("size %s %%zu\\n", sizeof(%s));' % (name, name))
    for name, members in header.members.items():
        for path, _ in members:
            body.append('printf("offset %s %s %%zu\\n", offsetof(%s, %s));' % ((name, path) * 2))
            body.append('printf("length %s %s %%zu\\n", sizeof(((%s *)0)->%s));'
                        % ((name, path) * 2))
    for name in list(header.enums) + macros:
        body.append('printf("value %s %%lld\\n", (long long)(%s));' % (name, name))
    program = ('%s#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{\n%s\nreturn 0;\n}\n'
               % (include, '\n'.join(body)))
    with tempfile.TemporaryDirectory() as folder:
        binary = os.path.join(folder, 'measure')
        compile_or_die(base + ['-x', 'c', '-o', binary, '-'], program, 'measuring')
        for line in compile_or_die([binary], '', 'measuring').splitlines():
            *key, value = line.split(' ')
            header.measured[tuple(key)] = value


# ---- Comparing ----------------------------------------------------------------------------------

def resolve(header, kind):
    """Follow typedefs in the text of a type until nothing changes."""
    for _ in range(20):
        new = re.sub(r'(struct|union|enum) \w+',
                     lambda m: header.tags.get(m.group(0), m.group(0)), kind)
        new = re.sub(r'(?<!struct )(?<!union )(?<!enum )\b[A-Za-z_]\w*',
                     lambda m: header.typedefs.get(m.group(0), m.group(0)), new)
        if new == kind:
            return kind
        kind = new
    raise Misread('typedefs go round: ' + kind)


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

    ours, our_include, our_base = read_header(
        cc, [os.path.realpath(os.path.join(ABI, args.interface + '.h'))], interface)
    real, real_include, real_base = read_header(cc, real_files(path, interface), interface)
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
