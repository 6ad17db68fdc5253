"""Run minorminer in processes of its own, within a time limit."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading

import numpy as np
import orjson

from qcompile.embedding.kernel_input import KernelInput, Owner, trimmed

__all__ = ["Minorminer"]


_log = logging.getLogger("qcompile")


class Minorminer:
    """A process that runs minorminer once."""

    def __init__(self, inputs: KernelInput, seed: int, seconds: float) -> None:
        task = {
            "variables": inputs.variables,
            "pairs": np.column_stack([inputs.qubo.first, inputs.qubo.second]),
            "qubits": inputs.qubits,
            "couplers": np.ascontiguousarray(inputs.machine.edges),
            "seed": seed,
            "seconds": max(1, int(seconds)),
        }
        # json takes seconds for the couplers of a large machine
        text = orjson.dumps(task, option=orjson.OPT_SERIALIZE_NUMPY)
        # A session of its own: Ctrl-C reaches the parent only, which then decides.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "qcompile.embedding.minorminer_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._answer, self._errors = b"", b""
        self._thread = threading.Thread(target=self._communicate, args=(text,))
        self._thread.daemon = True
        self._thread.start()

    def _communicate(self, task: bytes) -> None:
        self._answer, self._errors = self._process.communicate(task)

    @property
    def finished(self) -> bool:
        """Whether the process has ended."""
        return not self._thread.is_alive()

    def owner(self, inputs: KernelInput) -> Owner | None:
        """Return the chains that were found, trimmed, or None."""
        if self._process.returncode:
            last = self._errors.decode(errors="replace").strip().rpartition("\n")[2]
            _log.warning("minorminer failed: %s", last or f"exit {self._process.returncode}")
            return None
        chains = orjson.loads(self._answer)
        return trimmed(inputs, chains) if chains else None

    def stop(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._thread.join()
