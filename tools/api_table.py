# SPDX-License-Identifier: Apache-2.0
"""The table of an API (*.api), read: src/shim/cuda/cuda.api says at its head what a line means."""
import collections
import pathlib
import re
import sys

CLASSES = ('pass', 'hook')
PROTOTYPE = re.compile(r'^(\w+) (\w+)\(([^()]*)\);', re.MULTILINE)
Row = collections.namedtuple('Row', 'symbol since kind why base is_per_thread made')
Made = collections.namedtuple('Made', 'names shape arguments')
Shape = collections.namedtuple('Shape', 'name state is_again is_call')
STRUCT = re.compile(r'struct (\w+)')


class Table:
    def __init__(self, name, path, prototypes):
        self.name, self.rows, self.moved, self.version, self.shapes = name, [], [], 0, {}
        header = pathlib.Path(prototypes).read_text()
        self.typed = set(re.findall(r'\b([A-Za-z_]\w*)\s*\(', header))
        self.prototypes = {symbol: (answer, [' '.join(p.split()) for p in parameters.split(',')])
                           for answer, symbol, parameters in PROTOTYPE.findall(header)}
        begun = ''  # of the lines that make a hook
        for number, line in enumerate([*pathlib.Path(path).read_text().splitlines(), '# end'], 1):
            words = line.split()
            try:
                if words and line[0].isspace():
                    begun = self.make(f'{begun} {line.strip()}'.strip())
                elif begun:
                    raise ValueError(f'expected: (NAMES) SHAPE(ARGUMENTS), not {begun}')
                elif words and not words[0].startswith('#'):
                    self.take(words)
            except (ValueError, IndexError) as e:
                sys.exit(f'{path}:{number}: {e}')

    def take(self, words):
        if words[0] == '!':
            self.version = int(words[1])
        elif words[0] == '=':
            self.moved.append((words[1], int(words[2]), words[3]))
        elif words[0] == '~':
            is_again = words[-1] == 'again'
            state = '' if words[2] == '-' else ' '.join(words[2:len(words) - is_again])
            if is_again and not STRUCT.fullmatch(state):
                raise ValueError(f'shape {words[1]}: only a struct can decide about the call')
            self.shapes[words[1]] = Shape(words[1], '' if state == 'call' else state, is_again, state == 'call')
        else:
            symbol, since, kind, why = *words[:3], ' '.join(words[3:])
            if kind not in CLASSES:
                raise ValueError(f'class {kind}: expected one of {", ".join(CLASSES)}')
            if kind != 'pass' and not why:
                raise ValueError(f'{symbol}: a {kind} row says why')
            if kind == 'hook' and symbol not in self.typed:
                raise ValueError(f'{symbol}: a hook needs a prototype in src/abi')
            if self.rows and symbol <= self.rows[-1].symbol:
                raise ValueError(f'{symbol}: unsorted or repeated')
            base, suffix = re.fullmatch(r'(.+?)(?:_v\d+)?(_ptsz|_ptds)?', symbol).groups()
            self.rows.append(Row(symbol, 0 if since == '-' else int(since), kind, why, base,
                                 bool(suffix), None))

    def make(self, text):
        """What makes a hook, (names of its parameters) SHAPE(ARGUMENTS), from the lines after its row. Returns
        the text as long as it goes on in the next line."""
        match = re.fullmatch(r'\(([\w, ]*)\) (\w+)\((.*)\)', text)
        row = self.rows[-1] if self.rows else None
        if not row or row.kind != 'hook' or row.made:
            raise ValueError('a hook is made once, after its row')
        if not match or text.count('(') != text.count(')'):
            return text
        names, shape, arguments = match.groups()
        names = names.split(', ')
        if shape not in self.shapes:
            raise ValueError(f'{row.symbol}: no shape {shape} was declared')
        if len(names) != len(self.prototypes.get(row.symbol, (None, ()))[1]):
            raise ValueError(f'{row.symbol}: not as many names as its prototype has parameters')
        self.rows[-1] = row._replace(made=Made(names, self.shapes[shape], arguments.strip()))
        return ''
