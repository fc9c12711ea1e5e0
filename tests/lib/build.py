# SPDX-License-Identifier: Apache-2.0
"""The build folder under test: where each artefact lies, and a compiler for small programs."""
import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]


class Build:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.source = SOURCE
        self.library = self.folder / "src/shim/libaliquot.so"
        self.shims = self.folder / "src/shim/shims"
        self.driver = self.folder / "src/sim/driver"
        self.path_library = self.folder / "src/addpath/libaliquot-path.so"
        self.aliquot = self.folder / "src/cli/aliquot"

    def program(self, name):
        """A test program by its name under tests/programs, for example "sim/alloc"."""
        path = self.folder / "tests/programs" / name
        assert path.exists(), f"{path} was not built"
        return path

    def compile_c(self, output, text, *flags):
        """Compiles `text` with src/ on the include path; the caller adds -shared and the like."""
        source = output.with_suffix(output.suffix + ".c")
        source.write_text(text)
        command = ["cc", "-std=gnu17", "-D_GNU_SOURCE", "-g", "-I", str(SOURCE / "src"),
                   "-o", str(output), str(source), *map(str, flags)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return output
