#!/usr/bin/env python3
"""Attacks on the program: command lines and files that nobody should write, made by a recorded seed.

    scripts/attacks.py --fe-bench target/release/fe-bench --seed 1 --count 1000 --jobs 2
    scripts/attacks.py --fe-bench target/release/fe-bench --seed 1 --only data --first 17 --count 1 --keep /tmp/attack

Kinds:

    commands   flags and values out of each command's --help: ordinary, extreme, malformed, no UTF-8
    data       data files with few values, huge ones, words, gaps, quotes, changed bytes; models fitted to them
    studies    study files, those of scenarios/ changed and others made up
    problems   functions and laws made up, and the files of scenarios/problems changed
    truths     built-in scenarios beside the same ones in files, also far outside of their axes
    models     stored models of the tests with changed bytes or numbers
    results    results folders, journals and shards, of which something was changed
    engines    engines that answer garbage, too much, too late, or die; and requests to the program as one

Each attack has a folder of its own, in which it finds its inputs. Small work is asked for, so that all of these are
failures:

    - a status but 0 (done), 1 (a check failed, nothing could be computed) and 2 (refused); a panic, a signal
    - more than 20 seconds, of the processor where others are at work as well; where a lot is asked for (a number from 1e5 to
      1e9 that may be meant, `check`, `--values` and `--indices`, which are dozens of integrals, regions, whose population's trees are
      searched, or splines with thousands of coefficients), it may take longer if standard error says so until then. Whatever takes too long is tried a second time alone
    - more than 2 GiB of memory
    - text that is no UTF-8, control characters, or characters that turn the direction of writing, on a stream or in a file
    - an input that changed, folders like `.unfinished` or `.merging-…` and temporary files that stay, processes that
      stay, and new files after a refusal
    - JSON, CSV, SVG and PNG that are none, and numbers that are not finite with status 0
    - a refusal without a message, with one of many lines, or with one that names nothing of what was given
    - status 0 with a number that means nothing: truths of one function asked for in two ways that contradict each other,
      means that a simulation contradicts, an effect of a boosted model that leaves its range by far, results that were
      changed and are taken for those that were written

What makes an attack is drawn from its seed, its kind and its number alone. A failure is printed with the line that runs
it again and with its own command line; --keep leaves its folder. The exit status is 1 where there was a failure.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import csv
import hashlib
import io
import json
import math
import os
import pathlib
import random
import re
import resource
import selectors
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import tomllib
import xml.etree.ElementTree

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
STORED = REPOSITORY / "crates/fe-models/tests/stored"
SECONDS = 20.0
MEMORY = 2 << 30
ADDRESSES = 6 << 30
LARGEST_FILE = 1 << 30
KEPT_OUTPUT = 8 << 20
# Seconds in which a program that is asked to end does so.
ENDING = 5.0

# Values that mean something somewhere, and others that mean nothing anywhere.
SMALL = ["0", "1", "2", "3", "5", "7", "10", "20", "50"]
ABSURD = [
    "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616",
    "-9223372036854775808", "1e18", "1e308", "1e309", "-1e308", "1099511627776", "1e15",
    "340282366920938463463374607431768211456",
]
LARGE = ["100000", "1e6", "10000000", "2147483648", "4294967295"]
NUMBERS = [
    "0.5", "-1", "-0.5", "0.1", "-0", "1e-320", "5e-324", "1e-9", "1e9", "1e-300", "1e300", "1.7976931348623157e308",
    "inf", "-inf", "NaN", "nan", "1e", "0x10", "1_000", "1,5", "1.", ".5", "+3", "--3", "1e3", "3/4", "１２", "½", "∞",
    "1e-400", "-1e-320",
]
WORDS = [
    "", " ", "\t", "\n", "a\nb", "x1", "x0", "x2", "x999", "none", "all", "all-pairs", "true", "false", "data",
    "scenario", "y", "=1+1", "+1", "-", "--", "@x", "'", '"', "a,b", "a:b", "a=b", "x1,x1", "x1:x1", "x1:x2", "x+1",
    "∑", "ﬀ", "é" * 300, "x" * 5000, "\u202eabc", "a\u200fb", "\ufeffx1", "\ufffe", "\x1b[31mred\x1b[0m", "\x07",
    "\x7f", "\u009b31m", "a\rb", "\u2028", "<script>alert(1)</script>", "&amp;", "$(id)", "`id`", "%s%n", "../..", "/",
    "/dev/null", "/dev/full", "/dev/zero", ".", "..", "missing.csv", "missing/", "a|b", "a;b", "\\", "{}", "[]",
    "null", "😀", "x1=", "=x1", "x1=0,1", ":", ",", ",,", "0,1", "1,0", "0,0", "1,NaN", "-inf,inf", "-1e308,1e308",
    "0,1:0,1", "type-7:0.05,0.95", "law:0,1", "data:0,1", "11x21", "0x0", "3x",
]
NOT_TEXT = [b"\xff", b"caf\xe9", b"\xc3(", b"\xed\xa0\x80", b"x1\x80", b"a\xf0\x9f", b"\xe9.csv", b"\xe9.toml"]


def token(rng: random.Random) -> bytes:
    """A value for any flag."""
    kind = rng.random()
    if kind < 0.25:
        return rng.choice(SMALL).encode()
    if kind < 0.37:
        return rng.choice(ABSURD).encode()
    if kind < 0.39:
        return rng.choice(LARGE).encode()
    if kind < 0.6:
        return rng.choice(NUMBERS).encode()
    if kind < 0.7:
        return ",".join(rng.choice(NUMBERS + SMALL) for _ in range(rng.randint(2, 5))).encode()
    if kind < 0.96:
        return rng.choice(WORDS).encode()
    return rng.choice(NOT_TEXT)


def scrambled(rng: random.Random, data: bytes, times: int | None = None) -> bytes:
    """Bytes, some of which were changed, removed, repeated or moved."""
    data = bytearray(data)
    for _ in range(times or rng.choice([1, 1, 2, 3, 8])):
        if not data:
            break
        at = rng.randrange(len(data))
        length = rng.choice([1, 1, 2, 4, 16, 100])
        match rng.randrange(9):
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at] = rng.choice(b"\0\n\r\t\"',;:={}[]<>-+.eE09azNI\x1b\x7f\x80\xff")
            case 2:
                del data[at : at + length]
            case 3:
                data[at:at] = data[at : at + length] * rng.choice([1, 2, 30])
            case 4:
                piece = data[at : at + length]
                to = rng.randrange(len(data))
                data[to:to] = piece
            case 5:
                if rng.random() < 0.3:
                    del data[at:]
            case 6:
                data[at:at] = rng.choice(WORDS + NUMBERS).encode()
            case 7:
                lines = bytes(data).split(b"\n")
                one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
                lines[one], lines[other] = lines[other], lines[one]
                data = bytearray(b"\n".join(lines))
            case 8:
                data = bytearray(other_numbers(rng, bytes(data), 1))
    return bytes(data)


def other_numbers(rng: random.Random, data: bytes, times: int, pool: list[str] | None = None) -> bytes:
    """Bytes, some numbers in which were replaced."""
    for _ in range(times):
        places = [match.span() for match in re.finditer(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?", data)]
        if not places:
            break
        start, end = rng.choice(places)
        new = rng.choice(pool or NUMBERS + ABSURD + SMALL).encode()
        data = data[:start] + new + data[end:]
    return data


# TOML, as far as studies and problems need it.


def toml_value(value: object) -> str:
    match value:
        case Raw():
            return value.text
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list():
            return "[" + ", ".join(map(toml_value, value)) + "]"
        case dict():
            return "{ " + ", ".join(f"{toml_key(key)} = {toml_value(inner)}" for key, inner in value.items()) + " }"
        case float() if math.isinf(value) or math.isnan(value):
            return "inf" if value > 0 else "-inf" if value < 0 else "nan"
        case _:
            return repr(value)


def toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def toml(table: dict, prefix: str = "") -> str:
    """A file of a table."""
    plain, tables = [], []
    for key, value in table.items():
        name = prefix + toml_key(key)
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            tables += [f"[[{name}]]\n" + toml(item, name + ".") for item in value]
        elif isinstance(value, dict) and prefix == "":
            tables.append(f"[{name}]\n" + toml(value, name + "."))
        else:
            plain.append(f"{toml_key(key)} = {toml_value(value)}\n")
    return "".join(plain) + "".join(tables)


class Raw:
    """A value as it is to stand in the file."""

    def __init__(self, text: str) -> None:
        self.text = text


def odd_value(rng: random.Random) -> object:
    """A value that stands for another one in a study."""
    return rng.choice(
        [
            lambda: Raw(rng.choice(SMALL)),
            lambda: Raw(
                rng.choice(
                    ["0", "-1", "1.5", "-0.0", "1e308", "-1e308", "5e-324", "inf", "nan", "0x7fffffffffffffff", "1e18"]
                )
            ),
            lambda: Raw("9223372036854775807"),
            lambda: rng.choice(WORDS),
            lambda: [],
            lambda: [[]],
            lambda: {},
            lambda: [Raw(rng.choice(SMALL)), Raw(rng.choice(SMALL))],
            lambda: True,
            lambda: Raw("1979-05-27T07:32:00Z"),
            lambda: {
                "from": Raw(rng.choice(SMALL)),
                "to": Raw(rng.choice(["20", "30", "1000000", "9223372036854775807", "-5", "1e308", "nan"])),
            },
            lambda: {
                "from": 1, "to": Raw(rng.choice(["1e9", "50"])),
                "points": Raw(rng.choice(["3", "0", "-1", "9223372036854775807", "1e9"])),
            },
            lambda: {"from": 0, "to": 1, "step": Raw(rng.choice(["0.5", "0", "-1", "1e-300", "nan", "1e-9"]))},
            lambda: "cv:" + rng.choice(["2", "0", "1", "100", "100000000", "9223372036854775807", "-3", "x"]),
        ]
    )()


def odd_places(rng: random.Random, table: object, times: int) -> None:
    """Replaces, removes, renames or repeats entries of a table."""
    for _ in range(times):
        inner, places = table, []
        stack = [table]
        while stack:
            inner = stack.pop()
            if isinstance(inner, dict):
                places += [(inner, key) for key in inner]
                stack += inner.values()
            elif isinstance(inner, list):
                places += [(inner, at) for at in range(len(inner))]
                stack += inner
        if not places:
            return
        where, key = rng.choice(places)
        action = rng.random()
        old = where[key]
        is_number = isinstance(old, (int, float)) and not isinstance(old, bool)
        if action < 0.6 and is_number and rng.random() < 0.7:
            where[key] = Raw(
                rng.choice(
                    SMALL + ["0.5", "-1", "1e308", "5e-324", "9223372036854775807", "1e-9", "inf", "nan", "1e18", "0.0"]
                )
            )
        elif action < 0.6:
            where[key] = odd_value(rng)
        elif action < 0.75:
            where.pop(key)
        elif isinstance(where, dict):
            new = (
                rng.choice(WORDS + [key + "s", key.upper(), key[:-1]]) if rng.random() < 0.5 else rng.choice(STUDY_KEYS)
            )
            where[new] = where[key] if rng.random() < 0.5 else where.pop(key)
        else:
            where.append(where[key])


STUDY_KEYS = [
    "about", "scenario", "set", "features", "N", "replicates", "metrics", "grid", "keep", "compare", "estimator",
    "name", "binning", "bins", "until", "population", "model", "snr", "split", "pairs", "fresh", "limits", "axis",
    "center", "preset", "indices", "engine", "band", "title", "rows", "columns", "where", "baseline", "of",
    "subsample", "background", "resamples", "depth", "permutations", "outer",
]


# The program's own words.


class Program:
    """The program, with what it says about itself."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self.commands = {}
        names = re.findall(
            r"^  ([a-z]+) ", self.said("--help").partition("Commands:")[2].partition("\nOptions:")[0], re.M
        )
        for name in [*names, "help"]:
            self.commands[name] = self.flags(self.said(name, "--help") if name != "help" else "")
        listed = lambda what: list(csv.DictReader(io.StringIO(self.said("list", what, "--format", "csv"))))
        self.scenarios = [row["scenario"].split("@")[0] for row in listed("scenarios")]
        self.parameters = {
            row["scenario"].split("@")[0]: re.findall(r"^(\w+)=([^:\n]*):", row["parameters"], re.M)
            for row in listed("scenarios")
        }
        self.estimators = {row["name"]: row["options"].split() for row in listed("estimators")}
        self.metrics = [row["name"] for row in listed("metrics")]
        self.models = sorted({row["model"] for row in listed("models")})
        self.model_options = [(row["model"], row["option"]) for row in listed("models") if row["option"]]
        self.indices = [row["name"] for row in listed("indices")]
        self.presets = sorted({row["name"] for row in listed("presets")})
        self.options = listed("options")
        self.lists = "scenarios problems estimators pairs options binnings metrics indices presets models".split()

    def said(self, *arguments: str) -> str:
        done = subprocess.run([self.path, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return done.stdout

    @staticmethod
    def flags(text: str) -> list[tuple[str, bool, list[str]]]:
        """The flags of a help: name, whether it takes a value, its values where they are listed."""
        found = []
        for match in re.finditer(
            r"^ {2,6}(?:-\w, )?(--[a-z][a-z-]*)(\[?[ =]<[^>]*>\]?)?(.*?)(?=^ {2,6}(?:-\w, )?--[a-z]|\Z)", text,
            re.M | re.S,
        ):
            name, value, about = match.groups()
            possible = re.search(r"\[possible values: ([^\]]*)\]", about)
            values = re.split(r",\s+", possible.group(1)) if possible else re.findall(r"^ {10}- ([\w-]+):", about, re.M)
            found.append((name, bool(value), values))
        return [flag for flag in found if flag[0] not in ("--help", "--version")]


# Inputs that attacks begin from, made once.

STUDY = """about = ""
[[block]]
scenario = "poly3"
N = [20, 30, 40]
replicates = 2
metrics = ["mse", "L_mu", "empty_bins"]
features = ["x1"]
keep = ["curves", "bins"]
estimator = [{name = "dale", bins = [2, 3, 5]}, {name = "ale"}]
[[table]]
rows = ["estimator", "K"]
columns = ["N"]
where = { metric = "mse" }
"""

PROBLEMS = """about = ""
[[block]]
population = { seed = 1, count = 3, features = [2, 2], dependence = ["none"] }
features = ["x1"]
N = [30]
replicates = 2
metrics = ["mse"]
estimator = [{name = "pdp"}, {name = "ale"}]
"""

TREES = """about = ""
[[block]]
scenario = "effector-regional"
N = 60
replicates = 2
features = ["x1"]
metrics = ["leaf_mse", "leaves"]
keep = ["trees"]
estimator = [{name = "regional-pdp", grid = 5}]
[[block]]
scenario = "poly3"
N = 40
replicates = 3
features = ["x1"]
metrics = ["mse", "coverage"]
compare = "Err"
keep = ["decomposition"]
estimator = [{name = "pdp", center = "integral", band = "analytic"}]
"""

LONG = """about = ""
[[block]]
scenario = "poly3"
N = 40
replicates = 100000
features = ["x1"]
metrics = ["mse"]
estimator = [{name = "pdp"}]
"""

ENGINES = """[[engine]]
name = "own"
about = ""
version = ["{fe-bench}", "--version"]
run = ["{fe-bench}", "serve"]
effects.pdp.truth = "pd"
"""

PROBLEM = """about = "a problem"
f = "10*sin(pi*a*b) + if(c < t, 5*abs(d - 0.5), 2*c)"
[parameters]
t = 0.2
[law]
a = "uniform(0, 1)"
b = "uniform(0, 1)"
c = "normal(0, 1)"
d = "c + normal(0, 0.3)"
[copula]
gaussian = [["a", "b", 0.6]]
"""


def make_inputs(program: Program, folder: pathlib.Path) -> None:
    """Writes what attacks begin from."""
    write = lambda name, text: (folder / name).write_text(text)
    write("study.toml", STUDY)
    write("problems.toml", PROBLEMS)
    write("trees.toml", TREES)
    write("long.toml", LONG)
    write("engines.toml", ENGINES)
    write("problem.toml", PROBLEM)
    write("curves.csv", "feature,x,effect,lower,upper\nx1,-0.5,0,-1,1\nx1,0,0.1,-1,1\nx1,0.5,0.2,-1,1\n")
    write(
        "many.csv",
        "method,replicate,N,feature,x,effect\n"
        + "".join(f"m{m},{r},50,x1,{x},{x * m + r}\n" for m in range(2) for r in range(2) for x in (-0.5, 0, 0.5)),
    )
    write("data.csv", "a,b\n1,2\n2,1\n3,5\n4,4\n")
    rng = random.Random(1)
    rows = "".join(
        f"{i / 60},{i * i % 17},{'red' if i % 3 else 'blue'},{i % 2},{i % 7 + rng.random()}\n" for i in range(60)
    )
    write("more.csv", "a,b,colour,flag,t\n" + rows)
    write(
        "threes.csv",
        "x1,x2,x3\n" + "".join(f"{rng.uniform(-1, 1)},{rng.uniform(-1, 1)},{rng.uniform(-1, 1)}\n" for _ in range(30)),
    )
    run = lambda *arguments: (
        subprocess.run(
            [program.path, *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=True, text=True
        ).stdout
    )
    run("run", "study.toml", "--out", "done")
    run("run", "problems.toml", "--out", "members")
    run("run", "trees.toml", "--out", "kept")
    run("run", "study.toml", "--shard", "1/2", "--out", "shard1")
    run("run", "study.toml", "--shard", "2/2", "--out", "shard2")
    write(
        "tree.json",
        run(
            "effect", "effector-regional", "--n", "60", "--seed", "1", "--estimator", "regional-pdp", "--feature",
            "x1", "--format", "json",
        ),
    )
    write("effects.json", run("effect", "poly3", "--n", "30", "--seed", "1", "--estimator", "ale", "--format", "json"))
    run("plan", "--data", "data.csv", "--estimator", "pdp", "--out", "query.csv")
    asked = len((folder / "query.csv").read_text().splitlines()) - 1
    write("answers.csv", "prediction\n" + "".join(f"{i}\n" for i in range(asked)))
    # A journal with some datasets, as a killed run leaves it.
    stopped = subprocess.Popen(
        [program.path, "run", "long.toml", "--jobs", "1", "--out", "stopped"], cwd=folder, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    log = folder / "stopped.unfinished/000000.log"
    while stopped.poll() is None and not (log.exists() and log.stat().st_size > 2000):
        time.sleep(0.002)
    stopped.kill()
    stopped.wait()
    # So many replicates were to be stopped, and fewer are to be resumed.
    head = folder / "stopped.unfinished/journal.json"
    if not head.exists():
        raise SystemExit("no journal was left by a run that was killed")


class Attack:
    """Files, and the command lines that read them."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.copies: dict[str, str] = {}
        self.lines: list[list[bytes]] = []
        self.input: bytes | None = None
        self.environment: dict[str, str] = {}
        self.prepare = None
        self.check = None
        self.changed_results = False

    def line(self, *arguments: str | bytes) -> None:
        self.lines.append([argument if isinstance(argument, bytes) else argument.encode() for argument in arguments])


class Drawer:
    """What attacks are drawn from."""

    def __init__(self, program: Program, inputs: pathlib.Path) -> None:
        self.program = program
        self.inputs = inputs
        self.study_files = sorted(
            path for path in (REPOSITORY / "scenarios").rglob("*.toml") if "block" in tomllib.loads(path.read_text())
        )
        self.problem_files = sorted((REPOSITORY / "scenarios").rglob("problems/*.toml")) + sorted(
            (REPOSITORY / "scenarios/levels").glob("*.toml")
        )
        self.model_files = sorted(path for path in STORED.iterdir() if not path.name.startswith("predictions"))
        self.names = sorted(path.name for path in inputs.iterdir())

    def draw(self, kind: str, seed: int, number: int) -> Attack:
        rng = random.Random(f"{seed}:{kind}:{number}")
        attack = Attack()
        getattr(self, kind)(rng, attack)
        return attack

    # Command lines

    def commands(self, rng: random.Random, attack: Attack) -> None:
        name = rng.choice(list(self.program.commands))
        flags = self.program.commands[name]
        lines = [line for line in LINES if line.split()[0] == name]
        words = (
            [word.encode() for word in rng.choice(lines).split()] if lines and rng.random() < 0.8 else [name.encode()]
        )
        for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 5])):
            action = rng.random()
            if action < 0.7 and flags:
                flag, takes, values = rng.choice(flags)
                if not takes:
                    words.append(flag.encode())
                    continue
                value = self.value(rng, flag, values)
                if rng.random() < 0.5:
                    words.append(flag.encode() + b"=" + value)
                else:
                    words += [flag.encode(), value]
            elif action < 0.85 and len(words) > 1:
                at = rng.randrange(1, len(words))
                before = words[at - 1].decode(errors="replace")
                words[at] = self.value(rng, before, []) if rng.random() < 0.6 else token(rng)
            elif action < 0.9 and len(words) > 1:
                words.pop(rng.randrange(1, len(words)))
            else:
                words.insert(rng.randint(0 if rng.random() < 0.1 else 1, len(words)), self.value(rng, "", []))
        # Files are not written to whatever there is outside of the folder.
        words = [word for at, word in enumerate(words) if not self.goes_outside(words, at)]
        attack.lines.append(words)
        if rng.random() < 0.1:
            attack.environment = {
                rng.choice(
                    [
                        "RAYON_NUM_THREADS", "FE_BENCH_SIMD", "NO_COLOR", "COLUMNS", "SLURM_ARRAY_TASK_ID",
                        "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "LC_ALL", "TZ",
                    ]
                ): rng.choice([value for value in SMALL[:5] + NUMBERS + WORDS if "\0" not in value])
            }
        if any(word == b"-" or word.endswith(b"=-") for word in words) or rng.random() < 0.05:
            attack.input = rng.choice(
                [
                    b"", b"a,b\n1,2\n", b"\xff\xfe\n", bytes(1000), b"a,b\n1,2\n" * 1000,
                    scrambled(rng, (self.inputs / "more.csv").read_bytes()),
                ]
            )

    @staticmethod
    def goes_outside(words: list[bytes], at: int) -> bool:
        whole = words[at]
        value = whole.partition(b"=")[2] or whole
        before = words[at - 1] if at else b""
        is_out = any(flag in before or whole.startswith(flag) for flag in (b"--out", b"--plot", b"--extend")) or words[
            0
        ] in (b"new", b"manual")
        return is_out and (value.startswith((b"/", b"..")))

    def value(self, rng: random.Random, flag: str, values: list[str]) -> bytes:
        """A value that suits a flag, mostly."""
        if rng.random() < 0.3:
            return token(rng)
        if values:
            return rng.choice(values).encode()
        program = self.program
        pool = {
            "--estimator": list(program.estimators) + ["ale,pdp", "pdp,pdp", "regional-pdp,ale"],
            "--effect": [
                "pd", "dpd", "mplot", "ale", "ale-derivative", "mu", "sigma", "h-pdp", "h-dpdp", "main", "shap",
                "shap-variance", "ale-limit",
            ],
            "--feature": ["x1", "x2", "x3", "3", "a", "b", "colour", "x1:x2", "all-pairs", "a:b", "x9"],
            "--scenario": program.scenarios + ["problem.toml"],
            "--model": program.models,
            "--data": ["data.csv", "more.csv", "threes.csv", "curves.csv", "tree.json", "done", "-"],
            "--target": ["a", "b", "t", "flag", "colour"],
            "--ignore": ["a", "b", "colour,flag"],
            "--weights": ["a", "b", "flag"],
            "--kind": ["a=nominal", "colour=nominal", "x1=ordinal", "flag=ordinal,b=nominal", "b=date"],
            "--levels": ["colour=red,blue", "colour=red", "x1=1,2", "flag=1,0"],
            "--metric": program.metrics,
            "--indices": program.indices + ["all", ",".join(program.indices[:4])],
            "--preset": program.presets,
            "--center": ["none", "start", "integral", "data", "bins"],
            "--regional": ["pdp", "dpdp", "ale", "rhale", "shapdp"],
            "--set": [
                "rho=0.5", "rho=2", "noise_sd=0.1", "noise_sd=0", "sigma2=1e6", "t=0.5", "depth=1", "rounds=3",
                "lambda=nan",
            ],
            "--where": [
                "x3 > 0", "x1 <= 0.2 and x2 > 0", "x1 > 1e9", "N=30", "estimator=ale", "K=2", "metric=mse", "x1 =",
                "x1 > x2",
            ],
            "--rows": ["estimator", "K", "N", "estimator,K", "metric"],
            "--cols": ["N", "K", "metric"],
            "--against": ["estimator=ale", "K=2"],
            "--out": [
                "out", "out.csv", "out.toml", "out/", "out.svg", "no/out", "data.csv", "study.toml", "done",
                "done/more", "query.csv", "problem.toml",
            ],
            "--plot": [
                "out.svg", "out.png", "out.pdf", "out.eps", "out", "out.jpg", "data.csv", "more.csv", "no/out.svg",
            ],
            "--at": ["0", "0,0.5", "-1,1", "1e10", "1e200", "0:1", "0,1:0,1", "nan", "1e308"],
            "--bins": ["1", "2", "10", "0,0.5,1", "0,1", "10,1e16", "1e5,1e12", "0", "1000"],
            "--limits": ["0,0.5,1", "x1=0,0.5,1", "1,0", "0,0"],
            "--grid": ["1", "2", "3", "11", "11x21", "0", "1000"],
            "--range": ["0,1", "1,0", "0,0", "-1e308,1e308", "0,1:0,1"],
            "--axis": ["data", "scenario", "0,1", "type-7:0.05,0.95", "law:0.1,0.9", "1,0"],
            "--band": ["analytic", "bootstrap", "bins"],
            "--over": ["rho=0,0.5", "noise_sd=0.1,0.2", "sigma2=1"],
            "--distance": ["pd,ale", "ale,mplot", "pd"],
            "--try": ["own:pdp", "own:ale", "none:pdp", "own"],
            "--engines": ["engines.toml", "study.toml", "missing.toml"],
            "--shard": ["1/2", "2/2", "0/2", "3/2", "auto", "1/9223372036854775807", "1/0"],
            "--jobs": ["1", "2", "0", "1000000", "9223372036854775807"],
            "--n": ["5", "20", "50"],
            "--width": ["3.3in", "84mm", "1e9in", "0mm", "-1in", "10"],
            "--height": ["2in", "1e-9in", "5"],
            "--font": ["Arial", "missing.ttf", "data.csv"],
            "--dpi": ["1", "72", "0", "1e9"],
            "--extend": ["done", "kept", "shard1", "data.csv"],
            "--background-rows": ["threes.csv", "data.csv", "missing.csv"],
            "--predictions": ["answers.csv", "query.csv", "data.csv"],
            "--timings": ["done/timings.csv", "data.csv"],
            "--order": ["N", "K", "name", "1,0", "given"],
            "--resamples": ["2", "20", "0"],
            "--runs": ["1", "2", "0"],
            "--replicates": ["3", "2", "0"],
            "--most": ["10", "1e4", "1e5"],
            "--tolerance": ["0.01", "0", "1"],
            "": self.names + program.scenarios + program.lists + ["x1", "out"],
        }
        known = pool.get(flag.partition("=")[0])
        return rng.choice(known or SMALL + NUMBERS).encode()

    # Data files

    def table(self, rng: random.Random) -> tuple[list[str], list[list[str]]]:
        """Names and rows of a made-up data file; the last column is the target."""
        columns, rows = rng.choice([1, 2, 3, 3, 4, 6]), rng.choice([0, 1, 2, 3, 5, 10, 30, 60])
        names = [
            f"x{i + 1}" if rng.random() < 0.85 else rng.choice(WORDS + ["a b", "y", "x1", "weight", "größe"])
            for i in range(columns)
        ] + ["t"]
        made, most = [], rng.choice([4, 8, 8, 16])
        for at, _ in enumerate(names):
            # Half of the files have numbers and words alone, and nothing to refuse.
            kind = (
                rng.choice([0, 1, 2, 5, 5, 13, 14, 15, 3, 7, 11][: 11 if at < len(names) - 1 else 8])
                if most < 16
                else rng.randrange(16)
            )
            scale = rng.choice([1, 1, 1, 1e-300, 1e300, 1e-9, 1e12])
            levels = [rng.uniform(-1, 1) for _ in range(rng.choice([2, 3, 5]))]
            word = lambda i: rng.choice(
                ["red", "blue", "green", "", "NaN", "=1+1", "\x1b[31m", "\u202e", "<b>", "a,b", 'a"b', "a\nb", "1"]
            )
            make = {
                0: lambda i: "3", 1: lambda i: str(i % 2), 2: lambda i: repr(rng.choice(levels)),
                3: lambda i: rng.choice(["red", "blue", "green"]), 4: word, 5: lambda i: repr(scale * rng.gauss(0, 1)),
                6: lambda i: rng.choice(["1.7e308", "-1.7e308", "0", "5e-324"]),
                7: lambda i: str(2 ** rng.randrange(70)), 8: lambda i: rng.choice(["", "NA", "NaN", "1", "2.5", "3"]),
                9: lambda i: f"2012-{i % 12 + 1:02}-{i % 28 + 1:02}",
                10: lambda i: rng.choice(["inf", "1", "-inf", "2"]), 11: lambda i: repr(1e9 + rng.random() * 1e-6),
                12: lambda i: rng.choice(NUMBERS),
            }.get(kind, lambda i: repr(rng.uniform(-1, 1)))
            made.append([make(i) for i in range(rows)])
        return names, [list(row) for row in zip(*made)] if rows else []

    @staticmethod
    def text(rng: random.Random, names: list[str], rows: list[list[str]]) -> bytes:
        out = io.StringIO()
        writer = csv.writer(
            out, delimiter=rng.choice([",", ",", ",", ";", "\t"]), lineterminator=rng.choice(["\n", "\n", "\r\n"])
        )
        writer.writerow(names)
        writer.writerows(rows)
        return out.getvalue().encode()

    def data(self, rng: random.Random, attack: Attack) -> None:
        names, rows = self.table(rng)
        content = self.text(rng, names, rows)
        kind = rng.random()
        if kind < 0.15:
            content = scrambled(rng, content)
        elif kind < 0.3:
            content = b"\xef\xbb\xbf" + content
        elif kind < 0.33:
            content = rng.choice(
                [
                    b"", b"\n", b"PAR1" + content, b"ARROW1\0\0" + content, b"\x1f\x8b\x08" + content, b"x1,t",
                    b",\n,\n", b"t\n1\n2\n",
                ]
            )
        attack.files["d.csv"] = content
        is_plain = kind >= 0.3
        feature = rng.choice(names[:-1] or ["t"])
        more = []
        for _ in range(rng.choice([0, 0, 0, 0, 1, 1, 2, 3])):
            flag, takes, values = rng.choice(
                [
                    flag
                    for flag in self.program.commands["effect"]
                    if flag[0]
                    not in (
                        "--plot", "--data", "--model", "--target", "--n", "--seed", "--set", "--verbose", "--format",
                    )
                ]
            )
            value = self.value(rng, flag, values)
            more.append(flag.encode() + (b"=" + value if takes else b""))
        target = ["--target", "t"]
        match rng.randrange(10):
            case 0:
                attack.line(
                    "describe", "--data", "d.csv", "--format", rng.choice(["json", "csv", "table"]),
                    *(["--plot", "o.svg"] if rng.random() < 0.3 else []),
                )
            case 1:
                attack.line(
                    "plan", "--data", "d.csv", "--estimator", rng.choice(list(self.program.estimators)), "--out",
                    "q.csv",
                )
                attack.files["answers.csv"] = b"f\n" + b"".join(
                    b"%d\n" % (i % 11) for i in range(rng.choice([0, 5, 100, 400]))
                )
                if rng.random() < 0.5:
                    # As many answers as questions.
                    attack.prepare = lambda folder: (
                        (folder / "answers.csv").write_bytes(
                            b"f\n" + b"1\n" * max(0, len(list(csv.reader((folder / "q.csv").open(newline="")))) - 1)
                        )
                        if (folder / "q.csv").exists()
                        else None
                    )
                attack.line("finish", "q.csv", "--predictions", "answers.csv", "--format", rng.choice(["json", "csv"]))
            case 2:
                attack.line(
                    "reconstruct", "--data", "d.csv", *target, "--model", rng.choice(self.program.models),
                    "--estimator", rng.choice(["ale", "pdp", "shapdp", "rhale"]),
                )
            case 3:
                attack.line(
                    "agree", "--data", "d.csv", *target, "--model", rng.choice(self.program.models), "--n", "10",
                    "--runs", "2", "--bins", "2,3", "--reference-bins", "4",
                )
            case 4:
                attack.line(
                    "effect", "--data", "d.csv", *target, "--model", rng.choice(self.program.models), "--indices",
                    rng.choice(self.program.indices + ["all"]), "--outer", "10", "--background", "10", "--format",
                    rng.choice(["json", "csv"]),
                )
            case 5:
                attack.line(
                    "score", "d.csv", "--scenario", rng.choice(["poly3", "friedman1"]), "--effect",
                    rng.choice(["pd", "ale"]),
                )
                if rng.random() < 0.7:
                    base = self.inputs / rng.choice(["curves.csv", "many.csv", "effects.json", "tree.json"])
                    attack.files.pop("d.csv")
                    attack.files["d" + base.suffix] = scrambled(rng, base.read_bytes())
                    attack.lines[-1] = (
                        [
                            b"score", b"d" + base.suffix.encode(), b"--scenario",
                            b"poly3" if base.stem != "tree" else b"effector-regional",
                        ]
                        + ([] if base.stem == "tree" else [b"--effect", b"pd"])
                        + ([b"--out", b"o"] if rng.random() < 0.3 else [])
                    )
            case _:
                model = rng.choice(self.program.models)
                estimator = rng.choice(list(self.program.estimators))
                format = rng.choice(["json", "json", "csv", "table"])
                pair = f"{feature}:{rng.choice(names)}" if rng.random() < 0.1 else feature
                attack.line(
                    "effect",
                    "--data",
                    "d.csv",
                    *target,
                    "--model",
                    model,
                    "--estimator",
                    estimator,
                    "--format",
                    format,
                    *(["--feature", pair] if rng.random() < 0.7 else []),
                    *more,
                    *(["--plot", rng.choice(["o.svg", "o.png", "o.pdf", "o.eps"])] if rng.random() < 0.1 else []),
                    *(
                        ["--bins", rng.choice(["2", "4", "20", "40", "400"])]
                        if estimator in ("ale", "dale", "rhale") and not more
                        else []
                    ),
                )
                if (
                    is_plain
                    and model == "gbdt"
                    and format == "json"
                    and estimator in ("pdp", "ale", "mplot")
                    and not more
                ):
                    try:
                        targets = [float(row[-1]) for row in rows]
                    except (ValueError, IndexError):
                        targets = []
                    if targets and all(map(math.isfinite, targets)):
                        attack.check = lambda answers, spread=max(targets) - min(targets): within(answers, spread)

    # Studies

    def shrunk(self, study: dict) -> dict:
        """A study of small work."""

        def small(value, most):
            match value:
                case dict():
                    return most
                case list():
                    return [min(item, most) if isinstance(item, (int, float)) else item for item in value[:2]]
                case bool():
                    return value
                case int() | float():
                    return min(value, most)
            return value

        for block in study.get("block", []):
            block["N"] = small(block.get("N", 30), 40)
            if isinstance(block["N"], list):
                block["N"] = sorted(set(block["N"]))
            block["replicates"] = 2
            block.pop("until", None)
            if "fresh" in block:
                block["fresh"] = 2
            if isinstance(block.get("scenario"), list):
                block["scenario"] = block["scenario"][:2]
            if isinstance(block.get("population"), dict):
                block["population"] |= {"count": 2, "features": [2, 2]}
            if isinstance(block.get("features"), list):
                block["features"] = block["features"][:2]
            for key in ("estimator", "model"):
                if isinstance(block.get(key), list):
                    block[key] = block[key][:3]
                    for item in block[key]:
                        for name, most in (
                            ("bins", 50), ("resamples", 20), ("rounds", 5), ("trees", 5), ("background", 20),
                            ("outer", 20), ("epochs", 3),
                        ):
                            if name in item:
                                item[name] = small(item[name], most)
            for name, value in block.get("set", {}).items():
                if isinstance(value, list):
                    block["set"][name] = value[:2]
        study["block"] = study.get("block", [])[:2]
        return study

    def made_study(self, rng: random.Random) -> dict:
        program = self.program
        blocks = []
        for _ in range(rng.choice([1, 1, 2])):
            scenario = rng.choice(program.scenarios)
            plain = [name for name in program.estimators if not name.startswith("regional")]
            names = rng.sample(plain if rng.random() < 0.8 else list(program.estimators), rng.choice([1, 1, 2, 3]))
            estimators = []
            for name in names:
                estimator = {"name": name}
                for option in rng.sample(program.estimators[name], rng.choice([0, 0, 1, 2, 4])):
                    row = next((row for row in program.options if row["option"] == option), {})
                    allowed = row.get("allowed", "")
                    words = re.split(r",\s*", allowed) if "," in allowed else []
                    estimator[option] = (
                        rng.choice(words)
                        if words and rng.random() < 0.7
                        else Raw(rng.choice(SMALL))
                        if rng.random() < 0.6
                        else odd_value(rng)
                    )
                    if rng.random() < 0.2:
                        estimator[option] = [estimator[option], odd_value(rng)]
                if rng.random() < 0.1:
                    estimator["preset"] = rng.choice(program.presets)
                estimators.append(estimator)
            if rng.random() < 0.1:
                estimators = [{"indices": rng.sample(program.indices, 2), "outer": 10}]
            block = {
                "scenario": scenario,
                "N": rng.choice([20, 30, [20, 30]]),
                "replicates": rng.choice([1, 2, 3]),
                "metrics": rng.sample(program.metrics, rng.choice([1, 2, 4])) if rng.random() < 0.3 else ["mse"],
                "features": rng.choice(
                    [["x1"], ["x1"], ["x2"], ["x2"], ["x1", "x2"], ["x1", "x2"], ["x1:x2"], ["all-pairs"]]
                ),
                "estimator": estimators,
            }
            if rng.random() < 0.2:
                block["set"] = {
                    name: (Raw(default) if re.fullmatch(r"[-\d.e]+", default) else default)
                    if rng.random() < 0.6
                    else odd_value(rng)
                    for name, default in program.parameters[scenario]
                }
            if rng.random() < 0.2:
                block["keep"] = rng.sample(["curves", "bins", "decomposition", "trees"], rng.choice([1, 2]))
            if rng.random() < 0.15:
                block["model"] = [{"name": rng.choice(program.models)}]
                block["snr"] = rng.choice([5, 0.1])
            if rng.random() < 0.1:
                block["until"] = {"metric": "mse", "relative_se": rng.choice([0.5, 2.0, 0.2]), "batch": 2, "most": 6}
                block.pop("replicates")
            if rng.random() < 0.1:
                block["compare"] = rng.choice(["Err", "Err_c"])
            if rng.random() < 0.1:
                block["grid"] = rng.choice([1, 2, 5, {"points": 5, "drop_ends": True}, {"quantiles": 5}])
            blocks.append(block)
        study = {"about": "made up", "block": blocks}
        if rng.random() < 0.2:
            study["table"] = [{"title": rng.choice(WORDS), "rows": ["estimator"], "columns": ["N"]}]
        if rng.random() < 0.2:
            study["labels"] = {rng.choice(["ale", "pdp", "mse", "N", *WORDS]): rng.choice(WORDS)}
        return study

    def studies(self, rng: random.Random, attack: Attack) -> None:
        if rng.random() < 0.5:
            path = rng.choice(self.study_files)
            study = self.shrunk(tomllib.loads(path.read_text()))
            for block in study["block"]:
                # Scenarios in files are found from the study's own folder.
                names = block.get("scenario", [])
                names = names if isinstance(names, list) else [names]
                for name in names:
                    if isinstance(name, str) and name.endswith(".toml") and (path.parent / name).exists():
                        attack.files[os.path.normpath(name).replace("../", "")] = (path.parent / name).read_bytes()
                if names and isinstance(block.get("scenario"), list):
                    block["scenario"] = [
                        os.path.normpath(name).replace("../", "")
                        if isinstance(name, str) and name.endswith(".toml")
                        else name
                        for name in names
                    ]
                elif names:
                    block["scenario"] = (
                        os.path.normpath(names[0]).replace("../", "") if str(names[0]).endswith(".toml") else names[0]
                    )
        else:
            study = self.made_study(rng)
        odd_places(rng, study, rng.choice([0, 0, 1, 1, 2]))
        text = toml(study).encode()
        if rng.random() < 0.1:
            text = scrambled(rng, text)
        attack.files["s.toml"] = text
        action = rng.random()
        if action < 0.25:
            attack.line("list", "s.toml", "--format", rng.choice(["json", "csv", "table"]))
        elif action < 0.4:
            attack.line("run", "s.toml", "--dry-run", "--jobs", "1", "--format", rng.choice(["json", "csv", "table"]))
        else:
            attack.line(
                "run", "s.toml", "--out", "o", "--jobs", "1",
                *(["--seed", rng.choice(["1", "18446744073709551615", "-1"])] if rng.random() < 0.1 else []),
            )
            if rng.random() < 0.3:
                attack.line(
                    *rng.choice(
                        [
                            ("report", "o"), ("plot", "o"), ("table", "o", "--format", "latex"),
                            ("table", "o", "--format", "csv"), ("compare", "o", "o"), ("league", "o"),
                        ]
                    )
                )

    # Problems

    def expression(self, rng: random.Random, names: list[str], depth: int) -> str:
        inner = lambda: self.expression(rng, names, depth - 1)
        if depth == 0 or rng.random() < 0.15:
            return rng.choice([*names, *names, rng.choice(["0", "1", "2", "0.5", "-1", "pi", "e", "1e-9", "1e9", "3"])])
        kind = rng.random()
        if kind < 0.5:
            return f"({inner()} {rng.choice('+-*+-*/')} {inner()})"
        if kind < 0.6:
            return f"({inner()})^{rng.choice(['2', '3', '0.5', '-1', '0', '(' + inner() + ')', '1e3'])}"
        if kind < 0.85:
            return f"{rng.choice('sin cos tan asin acos atan sinh cosh tanh exp ln log10 sqrt abs sign floor'.split())}({inner()})"
        if kind < 0.92:
            return f"{rng.choice(['min', 'max', 'atan2'])}({inner()}, {inner()})"
        return f"if({inner()} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {inner()}{rng.choice(['', ' and ' + names[0] + ' > 0', ' or not ' + names[0] + ' > 0'])}, {inner()}, {inner()})"

    def law(self, rng: random.Random, earlier: list[str]) -> str:
        is_odd = rng.random() < 0.06
        odd = ["0", "-1", "1e300", "nan", "1e-300", "x9", "1/0"]
        number = lambda: rng.choice(
            odd
            if is_odd and rng.random() < 0.5
            else [
                "0", "1", "-1", "0.5", "2", "10", "1e-6", "1e6", f"{rng.uniform(-2, 2):.3g}",
                f"{rng.uniform(-2, 2):.3g}",
            ]
            + earlier
        )
        positive = lambda: rng.choice(
            odd
            if is_odd and rng.random() < 0.5
            else ["1", "0.5", "2", "3", "0.1", "10", "1e-3", f"{rng.uniform(0.1, 3):.3g}"]
        )

        def between() -> str:
            if is_odd:
                return f"{number()}, {number()}"
            low, high = sorted(
                rng.choice([rng.uniform(0.01, 3), rng.choice([0.1, 1, 2, 10, 1e-6, 1e6])]) for _ in range(2)
            )
            return f"{low:.4g}, {2 * high:.4g}"

        plain = lambda: rng.choice(
            [
                lambda: f"uniform({between()})", lambda: f"uniform(-{positive()}, {positive()})",
                lambda: f"normal({number()}, {positive()})", lambda: f"normal({number()}, {positive()})",
                lambda: f"lognormal({number()}, {positive()})", lambda: f"loguniform({between()})",
                lambda: f"exponential({positive()})", lambda: f"gamma({positive()}, {positive()})",
                lambda: f"beta({positive()}, {positive()})", lambda: f"triangular(0, {number()}, 3)",
                lambda: f"weibull({positive()}, {positive()})", lambda: f"gumbel({number()}, {positive()})",
                lambda: f"student({positive()})",
            ]
        )()
        kind = rng.random()
        if kind < 0.65:
            return plain()
        if kind < 0.72:
            return f"truncated({plain()}, {between()})"
        if kind < 0.8:
            return f"mixture({rng.choice(['0.3', '0.3', '0.3', '1'])}: {plain()}, {rng.choice(['0.7', '0.7', '0.7', '0'])}: {plain()})"
        if kind < 0.95 and earlier:
            return f"{self.expression(rng, earlier, 1)} + {plain()}"
        if kind < 0.99 or not is_odd:
            return f"categorical({rng.choice(['a: 0.5, b: 0.5', '1: 0.2, 2: 0.3, 4: 0.5', 'a: 1', 'a: 0.5, b: 0.6'])})"
        return rng.choice(WORDS + [plain() + " + " + plain()])

    def problems(self, rng: random.Random, attack: Attack) -> None:
        if rng.random() < 0.4:
            path = rng.choice(self.problem_files)
            text = path.read_text()
            names = list(tomllib.loads(text).get("law", {"x1": ""}))
            text = (
                (
                    other_numbers(rng, text.encode(), rng.choice([1, 2]))
                    if rng.random() < 0.5
                    else scrambled(rng, text.encode())
                )
                if rng.random() < 0.85
                else text.encode()
            )
        else:
            names = [f"x{i + 1}" for i in range(rng.choice([1, 2, 2, 3, 4]))]
            table = {"about": "made up", "f": self.expression(rng, names, rng.choice([1, 2, 3, 4])), "law": {}}
            for at, name in enumerate(names):
                table["law"][name] = self.law(rng, names[:at])
            if rng.random() < 0.2 and len(names) > 1:
                table["copula"] = {
                    "gaussian": [
                        [
                            names[0], names[1],
                            rng.choice([0.5, -0.9, 0.99, 0.1, 0.999999, 0, rng.choice([1, 2, Raw("nan")])]),
                        ]
                    ]
                }
            if rng.random() < 0.05:
                table["axis"] = {rng.choice(names): rng.choice([[0, 1], [1, 0], [0, 0], [-1e308, 1e308], ["a", 1]])}
            if rng.random() < 0.1:
                table["parameters"] = {
                    "p": rng.choice([1, {"default": 0.2, "from": 0, "to": 1}, 0.5, rng.choice([Raw("nan"), "x"])])
                }
            if rng.random() < 0.04:
                odd_places(rng, table, 1)
            text = toml(table).encode()
            if rng.random() < 0.03:
                deep = rng.choice([10, 500, 100000])
                text = text.replace(b'f = "', b'f = "' + rng.choice([b"(", b"-", b"sin(", b"2^", b"not "]) * deep, 1)
        attack.files["p.toml"] = text
        feature = rng.choice(names)
        at = ",".join(
            rng.choice(["0", "0.5", "1", "-1", "2", "1e3", "1e-9", "0.3"]) for _ in range(rng.choice([1, 2, 3]))
        )
        match rng.randrange(9):
            case 0 | 1 | 2:
                effect = rng.choice(
                    [
                        "pd", "dpd", "mplot", "ale", "ale-derivative", "mu", "sigma", "h-pdp", "h-dpdp", "main",
                        "shap", "shap-variance",
                    ]
                )
                attack.line(
                    "truth", "p.toml", "--effect", effect, "--feature", feature,
                    *([f"--at={at}"] if rng.random() < 0.6 else ["--grid", "5"]), "--most", "1e5",
                    *(["--center", rng.choice(["start", "integral", "data"])] if rng.random() < 0.3 else []),
                    "--format", rng.choice(["json", "csv"]),
                )
            case 3:
                attack.line("truth", "p.toml", "--values", "--most", "1e5", "--format", "csv")
                attack.line("sample", "p.toml", "--n", "4000", "--seed", "1")
                attack.check = same_mean
            case 4:
                attack.line("truth", "p.toml", "--indices", "--most", "1e5", "--format", "json")
            case 5:
                attack.line("sample", "p.toml", "--n", "20", "--seed", "1", "--format", rng.choice(["json", "csv"]))
            case 6:
                attack.line(
                    "effect", "p.toml", "--n", "20", "--seed", "1", "--estimator",
                    rng.choice(list(self.program.estimators)), "--feature", feature, "--no-truth", "--grid", "5",
                    "--format", "json",
                )
            case 7:
                attack.line(
                    "truth", "p.toml", "--regional", rng.choice(["pdp", "ale", "rhale", "dpdp"]), "--feature", feature,
                    "--candidates", "3", *rng.choice([[], ["--depth", "1"], ["--depth", "2"]]),
                )
            case 8:
                attack.line(
                    "truth", "p.toml", "--effect", rng.choice(["pd", "ale"]), "--feature",
                    ":".join(rng.sample(names, 2)) if len(names) > 1 else "all-pairs", "--grid", "3", "--most", "1e5",
                )

    # Truths in two ways

    def truths(self, rng: random.Random, attack: Attack) -> None:
        name = rng.choice(
            [name for name in self.program.scenarios if (REPOSITORY / f"scenarios/problems/{name}.toml").exists()]
        )
        attack.files[f"{name}.toml"] = (REPOSITORY / f"scenarios/problems/{name}.toml").read_bytes()
        names = list(tomllib.loads(attack.files[f"{name}.toml"].decode())["law"])
        feature = rng.randrange(len(names)) + 1
        far = 10.0 ** rng.choice([-3, 0, 0, 1, 2, 4, 7, 10, 15, 20, 100, 200, 300])
        points = sorted(
            {
                rng.choice([rng.uniform(-far, far), rng.uniform(-1, 1), rng.uniform(0, 1), far, -far, 0.0, 0.5])
                for _ in range(rng.choice([1, 2, 4]))
            }
        )
        at = ",".join(map(repr, points))
        if rng.random() < 0.3 and len(points) > 1:
            what = [f"--bins={at}"]
        else:
            effect = rng.choice(
                [
                    "pd", "dpd", "mplot", "ale", "ale-derivative", "mu", "sigma", "h-pdp", "h-dpdp", "main", "shap",
                    "shap-variance",
                ]
            )
            what = ["--effect", effect, f"--at={at}"]
            if rng.random() < 0.3:
                what += ["--center", rng.choice(["start", "integral", "data"])]
        for scenario in (name, f"{name}.toml"):
            attack.line("truth", scenario, *what, "--feature", str(feature), "--format", "csv")
        attack.check = same_truths

    # Stored models

    def models(self, rng: random.Random, attack: Attack) -> None:
        path = rng.choice(self.model_files)
        content = path.read_bytes()
        for beside in STORED.glob(path.name + ".data"):
            attack.files[beside.name] = beside.read_bytes()
        suffix = path.suffix if path.suffix != ".data" else ".onnx"
        kind = rng.random()
        if kind < 0.1:
            pass
        elif suffix == ".json" and kind < 0.6:
            tree = json.loads(content)
            for _ in range(rng.choice([1, 1, 2, 4])):
                odd_json(rng, tree)
            content = json.dumps(tree, allow_nan=False).encode()
        elif suffix in (".txt", ".json") and kind < 0.8:
            content = other_numbers(
                rng,
                content,
                rng.choice([1, 2, 5]),
                ["0", "1", "2", "3", "-1", "7", "0.5", "1e300", "-1e308", "65536", "4294967296"]
                if rng.random() < 0.7
                else None,
            )
        elif kind < 0.6:
            # Values, but no lengths, as far as that can be guessed.
            content = bytearray(content)
            for _ in range(rng.choice([1, 2, 4])):
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            content = bytes(content)
        elif kind < 0.9:
            content = scrambled(rng, content, 1)
        else:
            # A length or a shape in binary.
            content = bytearray(content)
            at = rng.randrange(len(content))
            content[at : at + rng.choice([0, 1, 4, 8])] = rng.choice(
                [
                    b"\xff" * 9 + b"\x01", b"\xff\xff\xff\xff\x0f", struct.pack(">q", 1 << 40), struct.pack("<q", -1),
                    struct.pack(">i", 1 << 30), b"\x80" * 9 + b"\x01",
                ]
            )
            content = bytes(content)
        attack.files["m" + suffix] = content
        names = ["width", "height", "depth"] if "categories" not in path.name else ["width", "colour", "depth"]
        recorded = json.loads(
            (STORED / ("predictions-categories.json" if "categories" in path.name else "predictions.json")).read_text()
        )
        rows = recorded.get("rows") or [[0, 1, 2]]
        as_text = lambda value: "" if value is None else str(value)
        attack.files["d.csv"] = (
            self.text(random.Random(1), names, [list(map(as_text, row)) for row in rows[:30]])
            .replace(b";", b",")
            .replace(b"\t", b",")
            .replace(b"\r", b"")
        )
        more = (
            [["--missing", "keep"]] if "categories" in path.name else [[], [], [], ["--missing", "keep"], ["--brute"]]
        )
        attack.line(
            "effect",
            "--data",
            "d.csv",
            "--model",
            "m" + suffix,
            "--estimator",
            rng.choice(
                ["pdp", "pdp", "ale", "ale", "shapdp", "ice", "mplot", "rhale" if suffix == ".onnx" else "regional-pdp"]
            ),
            *(["--feature", rng.choice(names)] if rng.random() < 0.8 else []),
            *rng.choice(more),
            "--grid",
            "5",
            "--format",
            rng.choice(["json", "csv"]),
        )

    # Results

    def results(self, rng: random.Random, attack: Attack) -> None:
        folder = rng.choice(["done", "done", "members", "kept", "shard1", "stopped.unfinished"])
        attack.copies["r.unfinished" if folder == "stopped.unfinished" else "r"] = folder
        goal = "r.unfinished" if folder == "stopped.unfinished" else "r"
        files = sorted(path.name for path in (self.inputs / folder).iterdir() if path.is_file())
        name = rng.choice(files)
        content = (self.inputs / folder / name).read_bytes()
        kind = rng.random()
        special = None
        if kind < 0.05:
            special = rng.choice(["gone", "folder", "link", "fifo", "empty", "nowhere"])
        elif name.endswith(".json") and kind < 0.7:
            try:
                tree = json.loads(content)
                for _ in range(rng.choice([1, 1, 2])):
                    odd_json(rng, tree)
                content = json.dumps(tree).encode()
            except ValueError:
                content = scrambled(rng, content)
        elif kind < 0.95:
            content = rng.choice([scrambled, lambda rng, content: other_numbers(rng, content, 1)])(rng, content)
        is_changed = special is not None or content != (self.inputs / folder / name).read_bytes()

        def prepare(root: pathlib.Path) -> None:
            path = root / goal / name
            if special:
                path.unlink()
                if special == "folder":
                    path.mkdir()
                elif special == "link":
                    path.symlink_to("/dev/zero")
                elif special == "fifo":
                    os.mkfifo(path)
                elif special == "empty":
                    path.write_bytes(b"")
                elif special == "nowhere":
                    path.symlink_to("nowhere")
            else:
                path.write_bytes(content)

        attack.prepare = prepare
        if folder == "stopped.unfinished":
            attack.copies["long.toml"] = "long.toml"
            attack.line("run", "long.toml", "--jobs", "1", "--out", "r", "--resume")
            attack.environment["ATTACK_STOP"] = "1"
            return
        if folder == "shard1":
            attack.copies["shard2"] = "shard2"
            attack.line("merge", "r", "shard2", "--out", "o")
            if is_changed and name not in ("manifest.json",):
                attack.changed_results = True
            return
        attack.copies["done"] = "done"
        command = rng.choice(
            ["table", "table", "plot", "report", "compare", "league", "population", "extend", "bands", "timings"]
        )
        match command:
            case "table":
                attack.line(
                    "table",
                    "r",
                    "--format",
                    rng.choice(["md", "latex", "csv"]),
                    *rng.choice(
                        [
                            [], ["--rows", "estimator", "--metric", "mse"], ["--order", "N"],
                            ["--against", "estimator=ale"], ["--decomposition"],
                        ]
                    ),
                )
            case "plot":
                attack.line("plot", "r", "--out", "o")
            case "report":
                attack.line("report", "r", "--out", "o.html")
            case "compare":
                attack.line("compare", "r", "done")
            case "league":
                attack.line("league", "r")
            case "population":
                attack.line("population", "r")
            case "extend":
                attack.line("run", "--extend", "r", "--replicates", "3", "--out", "o", "--jobs", "1")
            case "bands":
                attack.line("table", "r", "--bands")
            case "timings":
                attack.line("table", "r", "--timings", "r/timings.csv", "--format", "csv")
        # What is printed of values is made of cells.csv.
        if (
            is_changed
            and name == "cells.csv"
            and command in ("table", "report", "compare")
            and b"--decomposition" not in attack.lines[-1]
        ):
            attack.changed_results = True

    # Engines

    def engines(self, rng: random.Random, attack: Attack) -> None:
        kind = rng.random()
        if kind < 0.25:
            # Requests to the program as an engine.
            base = {
                "protocol": 1, "id": 7, "effect": rng.choice(["pdp", "ale", "rhale", "shapdp", "regional-pdp"]),
                "feature": "x1", "options": {}, "scenario": {"name": "none@1", "parameters": ""}, "rows": 4,
                "features": 2, "data": "data.f64", "axis": [0.0, 1.0], "grid": "grid.f64", "points": 3,
                "model": ["multiply", "x1", ["sin", "x2"]],
                "partials": [["sin", "x2"], ["multiply", "x1", ["cos", "x2"]]], "probe": [[0.5, 0.5]],
                "repetitions": 1, "seconds": 0.01, "folder": ".",
            }
            attack.files["data.f64"] = struct.pack("<8d", 0.0, 0.2, 0.7, 1.0, 1.0, 0.5, 0.5, 0.0)
            attack.files["grid.f64"] = struct.pack("<3d", 0.0, 0.5, 1.0)
            lines = []
            for number in range(rng.choice([1, 2, 3])):
                request = json.loads(json.dumps(base | {"id": number}))
                for _ in range(rng.choice([0, 1, 1, 2])):
                    odd_json(rng, request)
                # Who asks for years of repetitions gets them.
                if isinstance(request, dict) and "seconds" in request:
                    request["seconds"] = 0.01
                line = json.dumps(request).encode()
                lines.append(scrambled(rng, line, 1) if rng.random() < 0.3 and b"seconds" not in line else line)
            attack.input = b"\n".join(lines) + rng.choice([b"\n", b"", b"\n\n\n", b"\xff\n"])
            attack.line("serve")
            return
        deeds = rng.choice([1, 1, 2])
        script = ENGINE.replace("DEEDS", repr([rng.choice(DEEDS) for _ in range(deeds)])).replace(
            "SEED", str(rng.randrange(1 << 30))
        )
        attack.files["engine.py"] = script.encode()
        version = rng.choice(
            [["sh", "-c", "echo 1.0"]] * 6
            + [
                ["sh", "-c", "sleep 100 & echo 1.0"], ["sh", "-c", "head -c 2000000 /dev/zero | tr '\\0' a"],
                ["sh", "-c", "printf '\\033[31m'"], ["false"], ["missing"], [], ["sh", "-c", "echo"],
            ]
        )
        declaration = {
            "engine": [
                {
                    "name": "bad", "about": rng.choice(["", *WORDS[:20]]), "version": version,
                    "run": [sys.executable, "-S", "-E", "engine.py"], "time_limit": 1.5,
                    "effects": {"pdp": {"truth": "pd", "heterogeneity": "h-pdp", "band": True}},
                }
            ]
        }
        declaration["engine"][0]["effects"] = {
            "pdp": {"truth": "pd"}
            | rng.choice([{}, {"heterogeneity": "h-pdp"}, {"band": True}, {"heterogeneity": "h-pdp", "band": True}])
        }
        if rng.random() < 0.2:
            odd_places(rng, declaration, 1)
        text = toml(declaration).encode()
        attack.files["engines.toml"] = scrambled(rng, text) if rng.random() < 0.05 else text
        if rng.random() < 0.6:
            attack.line(
                "engines", "--engines", "engines.toml", "--try", "bad:pdp", "--scenario",
                rng.choice(["null-feature", "poly3"]), "--feature", "x1", "--n", "20",
            )
        elif rng.random() < 0.3:
            attack.line("engines", "--engines", "engines.toml", *rng.choice([[], ["--capabilities"]]))
        else:
            attack.files["s.toml"] = (
                b'about = ""\n[[block]]\nscenario = "poly3"\nN = 20\nreplicates = 2\nmetrics = ["mse"]\nfeatures = ["x1"]\nestimator = [{name = "bad:pdp"}, {name = "pdp"}]\n'
            )
            attack.line("run", "s.toml", "--engines", "engines.toml", "--out", "o", "--jobs", "1")
            attack.line("league", "o")


def odd_json(rng: random.Random, tree: object) -> None:
    """Replaces or removes an entry of a JSON value."""
    places, stack = [], [tree]
    while stack:
        inner = stack.pop()
        if isinstance(inner, dict):
            places += [(inner, key) for key in inner]
            stack += inner.values()
        elif isinstance(inner, list):
            places += [(inner, at) for at in range(len(inner))]
            stack += inner
    if not places:
        return
    where, key = rng.choice(places)
    old = where[key]
    if rng.random() < 0.1:
        where.pop(key)
    elif rng.random() < 0.2 and isinstance(where, list):
        where.insert(key, json.loads(json.dumps(old)))
    elif isinstance(old, str) and rng.random() < 0.5:
        where[key] = rng.choice(WORDS + ABSURD + NUMBERS)
    else:
        where[key] = rng.choice(
            [
                0, 1, -1, 2, 3, 0.5, 1e308, -1e308, 5e-324, 1 << 31, 1 << 40, 1 << 63, -(1 << 63), 1 << 64, "", [], {},
                None, True, "1e999", "x", [old], {"a": old},
            ]
        )


LINES = """
list scenarios
list study.toml
list options --format csv
truth poly3 --effect pd --feature x1 --grid 3
truth friedman1 --effect ale --feature x1 --at=0,0.5
truth piecewise-linear --feature x1 --bins 0,0.2,0.45,1
truth sin-indicator --set noise_sd=0.1 --effect ale --feature x1 --grid 5 --center integral
truth poly3 --values
truth friedman1 --indices
truth poly3 --shap-at 0.5,1,-0.4
truth effector-regional --regional rhale --feature x1
truth general-interaction --regional rhale --depth 2 --leaves
truth friedman1 --effect ale --feature x1:x2 --grid 3
truth liu-product --distance pd,ale --over rho=0,0.5 --plot out.svg
truth problem.toml --effect ale --feature a --grid 3
truth effector-regional --effect pd --feature x1 --grid 3
sample poly3 --n 5 --seed 1
sample problem.toml --n 5 --seed 1
effect poly3 --n 30 --seed 1 --estimator ale --feature x1 --band analytic
effect poly3 --n 30 --seed 1 --estimator pdp --feature x1 --plot out.svg
effect poly3 --n 30 --seed 1 --estimator ale,pdp,rhale --feature x1 --format csv
effect poly3 --n 30 --seed 1 --estimator shapdp --feature x1
effect effector-regional --n 60 --seed 1 --estimator regional-pdp --feature x1
effect friedman1 --n 30 --seed 1 --indices h2.overall,sobol.total --outer 10 --background 10
effect poly3 --data threes.csv --estimator ale
effect --data more.csv --target t --model gbdt --estimator ale --feature a
effect --data more.csv --target t --ignore colour --model linear --estimator rhale --feature b
effect --data more.csv --target t --model gam --estimator pdp --feature a:b
describe --data more.csv
describe --data more.csv --plot out.svg
reconstruct poly3 --n 30 --seed 1 --estimator ale --plot out.svg
reconstruct --data more.csv --target t --ignore colour --model linear --estimator ale
agree --data more.csv --target t --ignore colour --model linear --n 30 --runs 2 --bins 2,3 --reference-bins 4
score curves.csv --scenario poly3 --effect pd
score many.csv --scenario poly3 --effect pd --out out
score tree.json --scenario effector-regional
score effects.json --scenario poly3
plan --data data.csv --estimator pdp --out out.csv
plan --data more.csv --ignore t,colour --estimator ale --out out.csv
finish query.csv --predictions answers.csv
run study.toml --out out
run study.toml --dry-run
run study.toml --shard 1/2 --out out
run --extend done --replicates 3 --out out
merge shard1 shard2 --out out
table done
table done --rows estimator,K --metric mse --where N=30
table kept --decomposition
table kept --bands
compare done done
check problem.toml --quick
plot done --out out
plot kept --out out --png
report done --out out.html
report members --out out.html
engines --engines engines.toml
engines --engines engines.toml --try own:pdp --scenario poly3 --n 20
league done
new out.toml
problem --seed 1 --index 3
population members
manual out
help truth
""".strip().splitlines()

DEEDS = [
    "garbage", "blanks", "huge", "nothing", "die", "die-late", "mutate", "mutate", "mutate", "mutate", "control",
    "stderr", "grandchild", "spoil", "twice", "wrong-id", "hang", "close", "link", "fifo", "sparse", "folder",
    "not-utf8", "deep", "tree", "message", "remove", "slow-bytes",
]

ENGINE = r"""
import json, os, random, struct, sys, time, subprocess
rng = random.Random(SEED)
deeds = DEEDS
sys.path.insert(0, ".")
WORDS = ["", "\x1b[31m", "\u202e", "x" * 5000, "a\nb", "NaN", "<script>"]
def odd(value):
    places, stack = [], [value]
    while stack:
        inner = stack.pop()
        if isinstance(inner, dict):
            places += [(inner, key) for key in inner]; stack += inner.values()
        elif isinstance(inner, list):
            places += [(inner, at) for at in range(len(inner))]; stack += inner
    where, key = rng.choice(places)
    if rng.random() < 0.1: where.pop(key)
    else: where[key] = rng.choice([0, 1, -1, 1e308, -1e308, 5e-324, 1 << 63, "", [], {}, None, True, "x.f64", "../data.f64", "/etc/passwd", "data.f64", float("nan"), float("inf"), [0] * 3, *WORDS])
def evaluate(tree, row):
    if isinstance(tree, (int, float)): return tree
    if isinstance(tree, str): return row[int(tree[1:]) - 1]
    op, *rest = tree
    values = [evaluate(inner, row) for inner in rest]
    if op == "add": return sum(values)
    if op == "multiply":
        product = 1.0
        for value in values: product *= value
        return product
    if op == "power": return values[0] ** values[1]
    if op == "subtract": return values[0] - values[1]
    return 0.0
out = sys.stdout.buffer
for number, line in enumerate(sys.stdin):
    request = json.loads(line)
    deed = deeds[number % len(deeds)]
    folder = request["folder"]
    lo, hi = request["axis"] or (-1, 1)
    reply = {"protocol": 1, "id": request["id"], "status": "ok", "samples": [0.1], "model_samples": [0.05], "model_rows": 10,
             "probe": [evaluate(request["model"], row) for row in request["probe"]], "x": [lo, (lo + hi) / 2, hi], "effect": [0.0, 1.0, 2.0]}
    if rng.random() < 0.3: reply |= {"heterogeneity": [0.0, 0.5, None], "lower": [-1.0, 0.0, None], "upper": [1.0, 2.0, None]}
    send = lambda: (out.write(json.dumps(reply).encode() + b"\n"), out.flush())
    if deed == "garbage": out.write(rng.randbytes(500) + b"\n"); out.flush()
    elif deed == "blanks":
        try:
            for _ in range(100000): out.write(b"\n" * 1000); out.flush()
        except OSError: pass
        time.sleep(30)
    elif deed == "huge":
        try: out.write(b"[" + b"1," * (4 << 20) + b"1]\n"); out.flush()
        except OSError: pass
    elif deed == "nothing": pass
    elif deed == "die": sys.exit(rng.choice([0, 1, 3, 77]))
    elif deed == "die-late": out.write(b'{"protocol": 1, '); out.flush(); os.kill(os.getpid(), rng.choice([9, 11, 15, 6]))
    elif deed == "mutate":
        for _ in range(rng.choice([1, 1, 2])): odd(reply)
        send()
    elif deed == "control": reply["status"] = "error"; reply["message"] = "\x1b[2J\x1b]0;t\x07 \u202e bad \x9b31m"; reply = {key: reply[key] for key in ("protocol", "id", "status", "message")}; send()
    elif deed == "message": reply = {"protocol": 1, "id": request["id"], "status": rng.choice(["error", "unsupported", "", "OK", 3]), "message": rng.choice([*WORDS, None, 3])}; send()
    elif deed == "stderr": sys.stderr.write("\x1b[31merror\x07\n" * 20000); sys.stderr.flush(); send()
    elif deed == "grandchild": subprocess.Popen(["sleep", "100"]); send()
    elif deed == "spoil":
        try: open(request["data"], "r+b").write(b"\0" * 8)
        except OSError: pass
        send()
    elif deed == "twice": send(); send()
    elif deed == "wrong-id": reply["id"] += 1; send()
    elif deed == "hang": time.sleep(60)
    elif deed == "close": out.close(); os.close(1); time.sleep(30)
    elif deed in ("link", "fifo", "sparse", "folder"):
        path = os.path.join(folder, "e.f64")
        if deed == "link": os.symlink("/dev/zero", path)
        elif deed == "fifo": os.mkfifo(path)
        elif deed == "folder": os.mkdir(path)
        else:
            with open(path, "wb") as file: file.truncate(1 << 36 if rng.random() < 0.5 else 24)
        reply["effect"] = "e.f64"; send()
    elif deed == "not-utf8": out.write(json.dumps(reply).encode().replace(b"ok", b"o\xff") + b"\n"); out.flush()
    elif deed == "deep": out.write(b"[" * 200000 + b"\n"); out.flush()
    elif deed == "tree":
        reply["tree"] = {"nodes": [{}, {"parent": 0, "rule": {"feature": "x3", "at-most": 0.1}, "x": [lo, hi], "effect": [0, 1]}]}; send()
    elif deed == "remove":
        for name in os.listdir(folder):
            try: os.remove(os.path.join(folder, name))
            except OSError: pass
        send()
    elif deed == "slow-bytes":
        for byte in json.dumps(reply).encode()[:40]: out.write(bytes([byte])); out.flush(); time.sleep(0.1)
        time.sleep(30)
"""


# What is expected of answers.


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def same_truths(answers: list) -> str | None:
    """Truths of one function from two sources, whose bounds must meet."""
    if any(answer.status != 0 for answer in answers) or len(answers) < 2:
        return None
    one, other = (rows_of(answer.text) for answer in answers[:2])
    if len(one) != len(other):
        return f"{len(one)} and {len(other)} rows"
    for first, second in zip(one, other):
        bound = "abs_error"
        for key in ("value", "mu", "sigma2", "sigma2_star", "bin_error"):
            if not first.get(key) or not second.get(key):
                continue
            a, b = float(first[key]), float(second[key])
            least = float(first[bound] or 0) + float(second[bound] or 0)
            if not (math.isfinite(a) and math.isfinite(b)):
                return f"{key}: {a} and {b}"
            # What both say may be rounded once more where it is printed.
            if abs(a - b) > least + 4e-16 * max(abs(a), abs(b)):
                return f"{key} at {first.get('x', first.get('z_lo'))}: {a} ± {first[bound]} and {b} ± {second[bound]}"
    return None


def same_mean(answers: list) -> str | None:
    """The exact mean of f beside that of a sample."""
    if any(answer.status != 0 for answer in answers) or len(answers) < 2:
        return None
    values = {row["name"]: row for row in rows_of(answers[0].text)}
    mean, sd = values.get("mean_f"), values.get("sd_f")
    if not mean or not sd or not mean.get("value") or not sd.get("value"):
        return None
    try:
        ys = [float(row["y"]) for row in rows_of(answers[1].text)]
    except (KeyError, ValueError):
        return None
    exact, spread = float(mean["value"]), float(sd["value"])
    error = float(mean.get("abs_error") or 0)
    sampled = math.fsum(ys) / len(ys)
    if abs(sampled - exact) > error + 10 * (spread + float(sd.get("abs_error") or 0)) / math.sqrt(len(ys)) + 1e-9 * abs(
        exact
    ):
        return f"mean {exact} ± {error}, sd {spread}, but the mean of {len(ys)} rows is {sampled}"
    return None


def within(answers: list, spread: float) -> str | None:
    """Effects of a model that does not leave the range of its target stay within some ranges of it."""
    if answers[0].status != 0:
        return None
    for effect in json.loads(answers[0].text):
        values = [value for value in effect.get("effect", []) if isinstance(value, (int, float))]
        if values and max(map(abs, values)) > 10 * spread * (1 + 1e-9) + 1e-300:
            return f"effect {max(map(abs, values))} of a model whose target spans {spread}"
    return None


# Running them


class Answer:
    def __init__(self, line, status, out, err, seconds, memory, is_ended, is_cut):
        self.line, self.status, self.out, self.err = line, status, out, err
        self.seconds, self.memory, self.is_ended, self.is_cut = seconds, memory, is_ended, is_cut
        self.text = out.decode(errors="replace")
        self.said = err.decode(errors="replace")


def limits() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def execute(program: str, line: list[bytes], folder: pathlib.Path, attack: Attack, mark: str, seconds: float) -> Answer:
    environment = {
        "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TMPDIR": str(folder / ".temporary"), "ATTACK": mark,
    }
    environment |= {name: value for name, value in attack.environment.items() if name != "ATTACK_STOP"}
    stops = "ATTACK_STOP" in attack.environment
    begun = time.monotonic()
    process = subprocess.Popen(
        [program.encode(), *line], cwd=folder, env=environment, preexec_fn=limits,
        stdin=subprocess.PIPE if attack.input is not None else subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    selector = selectors.DefaultSelector()
    kept = {process.stdout: bytearray(), process.stderr: bytearray()}
    is_cut = False
    for stream in kept:
        os.set_blocking(stream.fileno(), False)
        selector.register(stream, selectors.EVENT_READ)
    left = memoryview(attack.input or b"")
    if process.stdin:
        os.set_blocking(process.stdin.fileno(), False)
        selector.register(process.stdin, selectors.EVENT_WRITE)
    is_ended, ending, usage, status = None, None, None, None
    longest = 0.4 if stops else seconds
    while True:
        for key, _ in selector.select(0.02 if selector.get_map() else 0):
            stream = key.fileobj
            if stream is process.stdin:
                try:
                    left = left[os.write(stream.fileno(), left[:65536]) :] if left else left
                except OSError:
                    left = left[:0]
                if not left:
                    selector.unregister(stream)
                    try:
                        stream.close()
                    except OSError:
                        pass
                continue
            try:
                piece = os.read(stream.fileno(), 1 << 20)
            except BlockingIOError:
                continue
            if not piece:
                selector.unregister(stream)
            elif len(kept[stream]) < KEPT_OUTPUT:
                kept[stream] += piece
            else:
                is_cut = True
        if status is None:
            pid, code, usage_now = os.wait4(process.pid, os.WNOHANG)
            if pid:
                status, usage = os.waitstatus_to_exitcode(code), usage_now
                process.returncode = status
                finished = time.monotonic()
        if status is not None and (
            not any(
                stream in selector.get_map().values() or stream in {key.fileobj for key in selector.get_map().values()}
                for stream in kept
            )
            or time.monotonic() > finished + 1
        ):
            break
        now = time.monotonic() - begun
        if status is None and is_ended is None and now > longest and (stops or is_too_long(process.pid, now, seconds)):
            is_ended, ending = "SIGTERM", time.monotonic()
            process.send_signal(signal.SIGTERM)
        elif status is None and is_ended == "SIGTERM" and time.monotonic() > ending + ENDING:
            is_ended = "SIGKILL"
            process.kill()
        if status is None and not selector.get_map():
            time.sleep(0.002)
    selector.close()
    for stream in (process.stdin, *kept):
        if stream and not stream.closed:
            try:
                stream.close()
            except OSError:
                pass
    return Answer(
        line, status, bytes(kept[process.stdout]), bytes(kept[process.stderr]), time.monotonic() - begun,
        usage.ru_maxrss * 1024, is_ended, is_cut,
    )


def is_too_long(pid: int, elapsed: float, seconds: float) -> bool:
    """Whether a process has taken too long: by its processor time, where others have the processors too."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return True
    used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return used > seconds or used < 0.05 * elapsed or elapsed > 6 * seconds


def contents(folder: pathlib.Path) -> dict[str, str]:
    """The hashes of all there is in a folder."""
    found = {}
    for root, folders, files in os.walk(folder):
        if ".temporary" in folders:
            folders.remove(".temporary")
        for name in folders:
            path = os.path.join(root, name)
            found[os.path.relpath(path, folder)] = "link" if os.path.islink(path) else "folder"
        for name in files:
            path = os.path.join(root, name)
            if os.path.islink(path):
                content = "link to " + os.readlink(path)
            elif not os.path.isfile(path):
                content = "special"
            else:
                content = hashlib.sha256(pathlib.Path(os.fsdecode(path)).read_bytes()).hexdigest()
            found[os.path.relpath(path, folder)] = content
    return found


UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]")
TYPES = re.compile(
    r"\b(u8|u16|u32|u64|i8|i16|i32|i64|f32|(?<!\.)f64|usize|isize|Vec<|Option<|tuple variant|unit variant|ParseIntError|invalid digit found|unit variant|untagged|called `|unwrap|Utf8Error|expected struct)\b"
)
LEFT = re.compile(r"\.unfinished|\.merging|\.extending|\.tmp|\.partial|\.writing|~$")


def wrong(answer: Answer, attack: Attack, before: dict[str, str], folder: pathlib.Path, seconds: float) -> list[str]:
    """What is wrong with an answer."""
    line = [word.decode(errors="replace") for word in answer.line]
    found = []
    say = found.append
    if b"\0" in b"".join(answer.line):
        return found
    stops = "ATTACK_STOP" in attack.environment
    if answer.is_ended == "SIGKILL":
        say("did not end on SIGTERM")
    elif answer.is_ended and not stops:
        asks_for_much = (
            any(number in word for word in line for number in LARGE + ["1000000", "1e9", "4294967296"])
            or any(word in line for word in ("check", "--values", "--indices"))
            or any(slow in content for content in attack.files.values() for slow in (b"regional-", b"overfitting splines"))
        )
        is_quiet = "--quiet" in line or "-q" in line
        if not (asks_for_much and (is_quiet or re.search(r"at work|left", answer.said))):
            say(f"took more than {seconds:g} s")
    if answer.memory > MEMORY:
        say(f"took {answer.memory / 2**30:.1f} GiB")
    if answer.status < 0 and not answer.is_ended:
        say(f"ended by signal {-answer.status}")
    elif answer.status not in (0, 1, 2) and not answer.is_ended:
        say(f"status {answer.status}")
    if re.search(r"panicked|a defect of the program, at", answer.said + answer.text):
        say(
            "a defect: "
            + re.search(r".*(?:panicked|a defect of the program, at).*", answer.said + answer.text).group()[:300]
        )
    for name, stream in (("standard output", answer.out), ("standard error", answer.err)):
        text = stream[:KEPT_OUTPUT]
        try:
            decoded = text.decode()
        except UnicodeDecodeError as error:
            if not (answer.is_cut and error.start > len(text) - 4):
                say(f"{name} is no UTF-8")
            continue
        if match := UNSEEN.search(decoded):
            say(
                f"{name} has the character {match.group()!r}: {decoded[max(0, match.start() - 60) : match.end() + 20]!r}"
            )
    after = contents(folder)
    outs = outputs(line)
    for path, content in before.items():
        if after.get(path) != content and path not in outs and not (stops and path.startswith("r.unfinished")):
            say(f"{path} was {'changed' if path in after else 'removed'}")
    new = [path for path in after if path not in before]
    if answer.status == 2 and new:
        say(f"refused, and left {', '.join(sorted(new)[:5])}")
    if not answer.is_ended:
        if rest := [path for path in new if LEFT.search(path)]:
            say(f"left {', '.join(rest[:5])}")
    if temporary := list((folder / ".temporary").iterdir()):
        say(f"left temporary files {', '.join(path.name for path in temporary[:5])}")
        for path in temporary:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() and not path.is_symlink() else path.unlink()
    found += wrong_files(folder, [path for path in after if path not in before or after[path] != before[path]])
    if answer.status in (1, 2) and not answer.is_ended:
        found += wrong_refusal(answer, line, before, attack)
    if answer.status == 0 and not answer.is_ended and not answer.is_cut:
        found += wrong_output(answer, line, attack)
    return found


def outputs(line: list[str]) -> set[str]:
    """Files that a command may write anew: those named as output, and as nothing else."""
    named, flags = [], ("--plot", "--out", "--extend")
    for at, word in enumerate(line):
        for flag in flags:
            if word.startswith(flag + "="):
                named.append(word.partition("=")[2])
            elif at and line[at - 1] == flag:
                named.append(word)
    if "new" in line[:2]:
        named += line[1:]
    given = set(named)
    # Figures go to a folder, and the page to a file with its name.
    return {os.path.normpath(name) for name in given if sum(name in word for word in line) == 1}


def wrong_refusal(answer: Answer, line: list[str], before: dict[str, str], attack: Attack) -> list[str]:
    found = []
    lines = answer.said.strip().splitlines()
    if not lines:
        return ["refused without a word"]
    if len(lines) > 60 or len(answer.said) > 20000:
        found.append(f"a message of {len(lines)} lines and {len(answer.said)} characters")
    heads = [
        number for number, text in enumerate(lines) if text.startswith(("fe-bench: ", "error: ")) or "Usage:" in text
    ]
    if not heads:
        if "Usage:" not in answer.said and "Examples" not in answer.said:
            found.append(f"no message: {answer.said[-300:]!r}")
        return found
    message = "\n".join(lines[heads[0] :])
    if answer.status == 2:
        given = {piece for word in line for piece in [word, *re.split(r"[=,:/]|--", word)] if piece.strip()}
        # A word of nothing but blanks can be shown, too.
        given |= {word for word in line if word and not word.strip()}
        given |= {pathlib.PurePath(path).name for path in before}
        # Columns and features by their names.
        given |= {
            name
            for content in attack.files.values()
            for name in re.findall(r"[\w.]+", content[:2000].decode(errors="ignore"))
        }
        shown = (
            {piece.strip() for piece in given}
            | {escaped(piece)[:40] for piece in given}
            | {named(piece)[:40] for piece in given}
            | {piece[:100] for piece in given}
            # Options have their names in study files, too.
            | {piece.replace("-", "_") for piece in given}
        )
        if not any(piece and piece in message for piece in shown):
            found.append(f"names nothing that was given: {message[:300]!r}")
    told = re.sub(r"`[^`]*`|\"[^\"]*\"|'[^']*'", "", message)
    if match := TYPES.search(told):
        found.append(f"speaks of {match.group()}: {message[:300]!r}")
    return found


def escaped(text: str) -> str:
    return "".join(f"\\u{{{ord(c):x}}}" if UNSEEN.match(c) or c in "\n\t" else c for c in text)


def named(text: str) -> str:
    """As `escaped`, with the short forms of ends of lines and tabs."""
    return "".join({"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(c) or escaped(c) for c in text)


def finite(value: object) -> bool:
    stack = [value]
    while stack:
        inner = stack.pop()
        if isinstance(inner, float) and not math.isfinite(inner):
            return False
        if isinstance(inner, dict):
            stack += inner.values()
        elif isinstance(inner, list):
            stack += inner
    return True


def no_number(text: str) -> None:
    raise ValueError(f"{text} in JSON")


def wrong_output(answer: Answer, line: list[str], attack: Attack) -> list[str]:
    format = None
    for at, word in enumerate(line):
        if word.startswith("--format="):
            format = word.partition("=")[2]
        elif word == "--format" and at + 1 < len(line):
            format = line[at + 1]
    if (
        "--help" in line
        or "-h" in line
        or "--version" in line
        or "-V" in line
        or line[0] in ("help", "manual", "plot", "report", "new")
    ):
        return []
    if format is None:
        format = {"effect": "json", "truth": "csv", "sample": "csv"}.get(line[0])
    if line[0] == "serve":
        for reply in answer.text.splitlines():
            try:
                if not finite(json.loads(reply, parse_constant=no_number)):
                    return [f"a number that is not finite: {reply[:200]}"]
            except ValueError as error:
                return [f"no JSON: {error}: {reply[:200]}"]
        return []
    if not answer.text:
        return (
            []
            if line[0] in ("plan", "run", "merge", "population")
            or "--plot" in " ".join(line)
            or "--out" in " ".join(line)
            else ["status 0 and nothing printed"]
        )
    try:
        if format == "json":
            if not finite(json.loads(answer.text, parse_constant=no_number)):
                return ["a number that is not finite in JSON"]
        elif format == "csv" and line[0] in (
            "effect", "truth", "sample", "describe", "table", "list", "score", "finish",
        ):
            return wrong_csv(answer.text, attack)
    except ValueError as error:
        return [f"{error}"]
    except RecursionError:
        return []
    return []


def wrong_csv(text: str, attack: Attack) -> list[str]:
    rows = list(csv.reader(io.StringIO(text)))
    widths = {len(row) for row in rows if row}
    if len(widths) > 1:
        return [f"CSV with rows of {sorted(widths)} fields"]
    given = {b"".join(attack.files.values()).lower()}
    for row in rows[1:]:
        for field in row:
            if field.strip().lower() in ("nan", "inf", "-inf", "infinity", "-infinity") and not any(
                field.strip().lower().encode() in content for content in given
            ):
                return [f"{field} in CSV: {','.join(row)[:200]}"]
    return []


def wrong_files(folder: pathlib.Path, paths: list[str]) -> list[str]:
    found = []
    for path in paths:
        full = folder / path
        if full.is_symlink() or not full.is_file():
            continue
        content = full.read_bytes()
        try:
            if path.endswith(".png"):
                if not content.startswith(b"\x89PNG"):
                    found.append(f"{path} is no PNG")
            elif path.endswith(".svg"):
                xml.etree.ElementTree.fromstring(content)
            elif path.endswith(".json"):
                json.loads(content, parse_constant=no_number)
            if path.endswith((".svg", ".json", ".html", ".md", ".toml", ".tex", ".txt")) and (
                match := UNSEEN.search(content.decode())
            ):
                found.append(f"{path} has the character {match.group()!r}")
            if path.endswith(".html") and b"<script>alert(1)" in content.replace(b"\\u003c", b"<"):
                place = content.find(b"<script>alert(1)")
                if place >= 0:
                    found.append(f"{path} has a script: {content[max(0, place - 60) : place + 40]!r}")
        except (ValueError, UnicodeDecodeError, xml.etree.ElementTree.ParseError) as error:
            found.append(f"{path}: {error}")
    return found


def left_processes(mark: str) -> list[str]:
    """Command lines of processes that bear a mark."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if f"ATTACK={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(
                    (int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
                )
        except OSError:
            continue
    return found


def shell(line: list[bytes]) -> str:
    """A command line for bash."""

    def quoted(word: bytes) -> str:
        if re.fullmatch(rb"[A-Za-z0-9_@%+=:,./-]+", word):
            return word.decode()
        if re.fullmatch(rb"[ -~]+", word) and b"'" not in word:
            return "'" + word.decode() + "'"
        return "$'" + "".join(chr(b) if 32 <= b < 127 and chr(b) not in "'\\" else f"\\x{b:02x}" for b in word) + "'"

    text = " ".join(map(quoted, line))
    return text if len(text) < 2000 else text[:2000] + " …"


def attempt(
    drawer: Drawer, kind: str, seed: int, number: int, keep: str | None, seconds: float
) -> tuple[list[str], list[str], collections.Counter]:
    """Carries an attack out: what is wrong, and its command lines."""
    attack = drawer.draw(kind, seed, number)
    root = pathlib.Path(keep) / f"{kind}-{seed}-{number}" if keep else pathlib.Path(tempfile.mkdtemp(prefix="attack-"))
    if keep:
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
    folder = root
    found, statuses = [], collections.Counter()
    try:
        (folder / ".temporary").mkdir()
        for name, content in attack.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        text = b" ".join(word for line in attack.lines for word in line)
        for name in drawer.names:
            # What a command line names is there, unless the attack has its own.
            if kind == "commands" and name.encode() in text:
                attack.copies.setdefault(name, name)
        for name, source in attack.copies.items():
            source = drawer.inputs / source
            shutil.copytree(source, folder / name) if source.is_dir() else shutil.copy(source, folder / name)
        if attack.prepare and len(attack.lines) == 1:
            attack.prepare(folder)
        mark = f"{os.getpid()}-{time.monotonic_ns()}"
        answers = []
        for at, line in enumerate(attack.lines):
            if b"\0" in b"".join(line):
                continue
            if at and attack.prepare:
                attack.prepare(folder)
            before = contents(folder)
            answer = execute(drawer.program.path, line, folder, attack, mark, seconds)
            answers.append(answer)
            statuses[answer.status] += 1
            mistakes = wrong(answer, attack, before, folder, seconds)
            if attack.changed_results and answer.status == 0 and not mistakes:
                if line[0] == b"merge" or "not as" not in answer.said:
                    mistakes.append("results that were changed are taken for those that were written")
            if kind == "engines" or answer.is_ended:
                deadline = time.monotonic() + 3
                while (rest := left_processes(mark)) and time.monotonic() < deadline:
                    time.sleep(0.05)
                if rest:
                    mistakes.append(f"left the process {rest[0][1][:100]}")
                    for pid, _ in rest:
                        os.kill(pid, signal.SIGKILL)
            found += [
                f"{mistake}\n      fe-bench {shell(line)}\n      status {answer.status} after {answer.seconds:.1f} s, {answer.memory >> 20} MiB: {answer.said[-400:]!r}"
                for mistake in mistakes
            ]
            if answer.status != 0 and len(attack.lines) > 1 and kind != "truths":
                break
        if attack.check and not found and (mistake := attack.check(answers)):
            found.append(f"{mistake}\n" + "\n".join(f"      fe-bench {shell(line)}" for line in attack.lines))
    finally:
        if not keep:
            shutil.rmtree(root, ignore_errors=True)
    return found, [shell(line) for line in attack.lines], statuses


KINDS = ["commands", "data", "studies", "problems", "truths", "models", "results", "engines"]
DRAWER: Drawer | None = None


def begin(path: str, inputs: str) -> None:
    global DRAWER
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    DRAWER = Drawer(Program(path), pathlib.Path(inputs))


def task(kind: str, seed: int, numbers: list[int], keep: str | None, seconds: float) -> list:
    results = []
    for number in numbers:
        begun = time.monotonic()
        try:
            found, _, statuses = attempt(DRAWER, kind, seed, number, keep, seconds)
        except Exception as error:  # noqa: BLE001: a mistake of this script is one, and told
            import traceback

            found, statuses = [f"this script: {error!r}: {traceback.format_exc()[-600:]}"], {}
        results.append((number, found, statuses, time.monotonic() - begun))
    return results


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=__doc__.partition("\n\n")[2],
    )
    parser.add_argument(
        "--fe-bench", default=str(REPOSITORY / "target/release/fe-bench"), metavar="PATH",
        help="the program [default: target/release/fe-bench]",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of all attacks [default: 1]")
    parser.add_argument("--count", type=int, default=100, help="attacks of each kind [default: 100]")
    parser.add_argument("--first", type=int, default=0, help="number of the first attack [default: 0]")
    parser.add_argument("--jobs", type=int, default=1, help="attacks at a time [default: 1]")
    parser.add_argument(
        "--only", action="append", choices=KINDS, metavar="KIND",
        help="only this kind; may be given several times: " + ", ".join(KINDS),
    )
    parser.add_argument("--keep", metavar="DIR", help="leave the folders of the attacks here")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="longest time of a command [default: 20]")
    options = parser.parse_args()
    if not os.access(options.fe_bench, os.X_OK):
        parser.error(
            f"{options.fe_bench} is no program; build it with cargo build --release, or name it with --fe-bench"
        )
    failures = 0
    if options.keep:
        options.keep = os.path.abspath(options.keep)
    with tempfile.TemporaryDirectory(prefix="attacks-") as inputs:
        make_inputs(Program(options.fe_bench), pathlib.Path(inputs))
        with concurrent.futures.ProcessPoolExecutor(
            options.jobs, initializer=begin, initargs=(options.fe_bench, inputs)
        ) as pool:
            for kind in options.only or KINDS:
                begun, statuses, bad, longest = time.monotonic(), collections.Counter(), 0, (0.0, 0)
                numbers = list(range(options.first, options.first + options.count))
                pieces = [numbers[at : at + 20] for at in range(0, len(numbers), 20)]
                futures = [
                    pool.submit(task, kind, options.seed, piece, options.keep, options.seconds) for piece in pieces
                ]
                again = []
                for future in futures:
                    for number, found, counted, seconds in future.result():
                        statuses.update(counted)
                        longest = max(longest, (seconds, number))
                        if any(mistake.startswith("took more than") for mistake in found):
                            again.append(number)
                        elif found:
                            bad += 1
                            told(options, kind, number, found)
                for number in again:
                    # On a busy machine: once more, and nothing beside it.
                    _, found, _, _ = pool.submit(
                        task, kind, options.seed, [number], options.keep, options.seconds
                    ).result()[0]
                    if found:
                        bad += 1
                        told(options, kind, number, found)
                failures += bad
                shares = ", ".join(f"{count} of status {status}" for status, count in sorted(statuses.items()))
                print(
                    f"{kind}: {len(numbers)} attacks with seed {options.seed}, {bad} failures; {shares}; {time.monotonic() - begun:.0f} s, the longest {longest[0]:.1f} s (number {longest[1]})",
                    flush=True,
                )
    return 1 if failures else 0


def told(options: argparse.Namespace, kind: str, number: int, found: list[str]) -> None:
    print(
        f"{kind} {number}: scripts/attacks.py --fe-bench {options.fe_bench} --seed {options.seed} --only {kind} --first {number} --count 1 --keep DIR"
    )
    for mistake in found:
        print(f"    {mistake}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
