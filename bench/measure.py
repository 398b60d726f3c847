"""Runs commands: counted ones under the stopwatch, the others plainly."""

import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import statistics
import subprocess

TIMEOUT = 900


class Failed(Exception):
    """A command did not do its work; the text says which and why."""


@dataclasses.dataclass(frozen=True)
class Sample:
    wall_ms: float
    user_ms: float
    system_ms: float
    peak_kib: int
    minor_faults: int
    voluntary: int
    involuntary: int


def call(*command, env=None, timeout=TIMEOUT, cwd=None):
    """Runs a command whose cost does not matter and returns its output."""
    command = [str(word) for word in command]
    try:
        child = subprocess.Popen(
            command, env=env, cwd=cwd, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="backslashreplace", start_new_session=True)
    except OSError as error:
        raise Failed(f"{command[0]}: {error.strerror}") from error
    try:
        output, errors = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{command[0]}: still running after {timeout} s") \
            from error
    finally:
        # Ctrl-C and a timeout must not leave half a tool running. A session of
        # its own keeps the terminal's signal from reaching it twice.
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    if child.returncode != 0:
        lines = errors.strip().splitlines() or ["no message"]
        raise Failed(f"{pathlib.Path(command[0]).name}: exit "
                     f"{child.returncode}: {lines[-1]}")
    return output


class Stopwatch:
    """Runs a command and says what it took."""

    def __init__(self, program, scratch):
        self._program = program
        self._out = scratch / "stopwatch.json"

    def run(self, command, env=None):
        """Returns the sample and what the command printed."""
        self._out.unlink(missing_ok=True)
        output = call(self._program, self._out, *command, env=env)
        return Sample(**json.loads(self._out.read_text())), output


def summary(samples):
    """One row: medians, and the standard deviation of the wall time."""
    walls = [sample.wall_ms for sample in samples]

    def median(field):
        return statistics.median(getattr(sample, field) for sample in samples)
    return {
        "runs": len(samples),
        "median_ms": round(statistics.median(walls), 3),
        "sigma_ms": round(statistics.stdev(walls), 3) if len(walls) > 1
        else None,
        "user_ms": round(median("user_ms"), 3),
        "system_ms": round(median("system_ms"), 3),
        "peak_kib": round(median("peak_kib")),
        "minor_faults": round(median("minor_faults")),
        "voluntary": round(median("voluntary")),
        "involuntary": round(median("involuntary")),
        "samples_ms": walls,
    }
