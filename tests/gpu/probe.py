# SPDX-License-Identifier: Apache-2.0
"""The books, read from outside the program under check, by a process that we do not stand before.
The card is the one of CUDA_VISIBLE_DEVICES, which the runner sets to one card.

    books.ledger(session)    bytes that the session is charged on the card
    books.process(pid)       NVML's bytes of a process; None: NVML does not list it
    books.card()             NVML's used bytes of the card, all processes and the driver's own
    books.read(program)      all of them at once
"""
import ctypes
import json
import os
import subprocess
import time

STILL_SECONDS, PATIENCE_SECONDS, PATIENCE_WITH_OTHERS_SECONDS = 0.06, 3, 0.3
NVML_SUCCESS = 0
NOT_AVAILABLE = (1 << 64) - 1


class Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong),
                ("used", ctypes.c_ulonglong)]


class ProcessInfo(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong),
                ("instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


class Nvml:
    def __init__(self):
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        rc = self.library.nvmlInit_v2()
        if rc != NVML_SUCCESS:
            raise OSError(f"nvmlInit answered {rc}")
        self.device, card = ctypes.c_void_p(), os.environ.get("CUDA_VISIBLE_DEVICES", "0")
        if card.isdigit():
            self.call("nvmlDeviceGetHandleByIndex_v2", int(card), ctypes.byref(self.device))
        else:
            self.call("nvmlDeviceGetHandleByUUID", card.encode(), ctypes.byref(self.device))
        self.uuid = self.text("nvmlDeviceGetUUID", self.device)

    def call(self, name, *arguments):
        rc = getattr(self.library, name)(*arguments)
        if rc != NVML_SUCCESS:
            raise OSError(f"{name} answered {rc}")

    def text(self, name, *first):
        room = ctypes.create_string_buffer(128)
        self.call(name, *first, room, 128)
        return room.value.decode(errors="replace")

    def memory(self):
        memory = Memory()
        self.call("nvmlDeviceGetMemoryInfo", self.device, ctypes.byref(memory))
        return memory

    def processes(self):
        """{pid: bytes}; bytes None where the driver does not tell."""
        room = (ProcessInfo * 256)()
        count = ctypes.c_uint(256)
        self.call("nvmlDeviceGetComputeRunningProcesses_v3", self.device, ctypes.byref(count), room)
        return {info.pid: None if info.used == NOT_AVAILABLE else info.used
                for info in room[:count.value]}


def knows_pids():
    """The number of the first PID namespace is the same on every machine (linux/proc_ns.h)."""
    return os.stat("/proc/self/ns/pid").st_ino == 0xEFFFFFFC


class Books:
    def __init__(self, teller):
        self.teller, self.opened = teller, None

    @property
    def nvml(self):
        """Opened when first asked for: a story without it needs no NVML."""
        self.opened = self.opened or Nvml()
        return self.opened

    def processes(self, pids):
        """Bytes of each, all from one list. None where NVML does not list that process, and may know it by another
        number."""
        listed = self.nvml.processes()
        return [listed.get(pid, 0 if knows_pids() else None) for pid in pids]

    def process(self, pid):
        return self.processes([pid])[0]

    def card(self):
        return self.nvml.memory().used

    def settle(self, ended):
        """Waits until NVML lists none of the ended pids any more and the card's used bytes stand still:
        then what is used later was taken later. Beside other processes the used bytes may never stand still;
        they are waited for briefly then, as NVML lists processes here and bytes are read for each of them."""
        began, used = time.monotonic(), None
        while (waited := time.monotonic() - began) < PATIENCE_SECONDS:
            before, used, listed = used, self.card(), set(self.nvml.processes())
            patience = PATIENCE_WITH_OTHERS_SECONDS if listed else PATIENCE_SECONDS
            if not ended & listed and (used == before or waited >= patience):
                return
            time.sleep(STILL_SECONDS)

    def ledger(self, session):
        """0 for a session that is not there any more: with its last process it is gone."""
        shown = json.loads(self.command("show", session, "--json") or '{"devices": []}')
        return self.of_card(shown["devices"], "used_bytes")

    def holders(self, session):
        """{pid: bytes charged}"""
        shown = self.command("ps", session, "--json")
        return {row["pid"]: self.of_card(row["devices"], "bytes") for row in json.loads(shown or "[]")}

    def of_card(self, devices, field):
        return next((row[field] for row in devices if row["uuid"] == self.nvml.uuid), 0)

    def read(self, program):
        """Also `taken`: NVML's bytes of the process, or where it may know it by another number (a container,
        say), what the card has used since just before the program's start; `by` says which."""
        process, card = self.process(program.pid), self.card()
        return {"ledger": self.ledger(program.session) if program.limit is not None else None,
                "process": process, "card": card, "by": "card" if process is None else "process",
                "taken": card - program.card_before if process is None else process}

    def command(self, *words):
        done = subprocess.run([self.teller.aliquot, *words], capture_output=True, text=True,
                              timeout=60, check=False)
        return done.stdout if done.returncode == 0 else ""
