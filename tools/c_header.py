# SPDX-License-Identifier: Apache-2.0
"""What a C header declares, by the compiler's word.

read_header() has it preprocessed and takes types, enumerators, members, prototypes and constants
out of it with a small parser, which knows what the headers of driver interfaces use; measure() has
one generated program print what only a compiler knows: sizes, offsets and values. Misread: a header
holds something else.
"""
import os
import re
import subprocess
import sys
import tempfile

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


def read_header(cc, files, defines, is_constant):
    """Header, and what measure() wants of it: the program's first lines and the compiler's."""
    header = Header()
    include = ''.join('#include "%s"\n' % f for f in files)
    folders = {os.path.dirname(os.path.realpath(f)) for f in files}
    base = cc + ['-std=gnu17', '-w'] + defines + ['-I' + d for d in sorted(folders)]
    text = compile_or_die(base + ['-E', '-x', 'c', '-'], include, files[0])
    read_declarations(header, own_lines(text, folders))
    macros = compile_or_die(base + ['-E', '-dM', '-x', 'c', '-'], include, files[0])
    for line in macros.splitlines():
        m = re.match(r'#define (\w+) (.+)$', line)
        if m and is_constant(m.group(1)):
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


# ---- Types by any of their names ----------------------------------------------------------------

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
