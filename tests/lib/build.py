# SPDX-License-Identifier: Apache-2.0
"""The build folder under test: the paths of its artefacts, and a compiler for small programs.

For another architecture ALIQUOT_EMULATOR (a command line) runs the programs, and ALIQUOT_CC
compiles.
"""
import os
import pathlib
import shlex
import subprocess

from hang import HANG_SECONDS

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def machine_of(path):
    """The architecture's number in an ELF header; None for any other file."""
    try:
        with open(path, "rb") as file:
            head = file.read(20)
    except OSError:
        return None
    return head[18:20] if head.startswith(b"\x7fELF") else None


class Build:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.source = SOURCE
        self.library = self.folder / "src/shim/libaliquot.so"
        self.shims = self.folder / "src/shim/shims"
        self.driver = self.folder / "src/sim/driver"
        self.runtimes = {major: self.folder / f"src/cudart/so{major}" for major in (12, 13)}
        self.path_library = self.folder / "src/addpath/libaliquot-path.so"
        self.aliquot = self.folder / "src/cli/aliquot"
        self.emulator = shlex.split(os.environ.get("ALIQUOT_EMULATOR", ""))
        self.compiler = shlex.split(os.environ.get("ALIQUOT_CC", "cc"))

    def program(self, name):
        """A test program by its name under tests/programs, for example "sim/alloc"."""
        path = self.folder / "tests/programs" / name
        assert path.exists(), f"{path} was not built"
        return path

    def command(self, words):
        """`words` as a command to start: a program of another architecture by the emulator."""
        words = [str(word) for word in words]
        if self.emulator and machine_of(words[0]) == machine_of(self.library):
            return [*self.emulator, *words]
        return words

    def compile_c(self, output, text, *flags):
        """Compiles `text` with src/ on the include path; the caller adds -shared and the like."""
        source = output.with_suffix(output.suffix + ".c")
        source.write_text(text)
        command = [*self.compiler, "-std=gnu17", "-D_GNU_SOURCE", "-g", "-I", str(SOURCE / "src"),
                   "-o", str(output), str(source), *map(str, flags)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        return output
