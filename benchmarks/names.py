"""Names of a question among 100,000: CPU time of a phrase, and of reading the names.

    python -m benchmarks.names [--names 100000] [--most 15]

Made-up people, companies, universities and notes, their words drawn with Zipf's law; 600 phrases of six kinds: whole
names, parts, one and two wrong letters, acronyms, whole questions that name two, and names that are not there. The same
phrases against a scan of all names with RapidFuzz tell how much the index saves. CPU is that of this process. The names
are read twice: into the index alone, and from a graph through the view, with a commit after it. Exit code 1 when the
95th of a hundred phrases takes more than `--most` milliseconds.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

from core.config import Config
from core.names.index import Name, NameIndex
from core.names.kinds import kind_of
from core.names.link import link
from core.rdf.ports import Load, Loaded
from gligabao_mcp.wiring import open_core

EACH_KIND = 100
SCANNED = 30
CLASS, RECORD, LABEL = "https://x.test/class/", "https://x.test/record/", "http://www.w3.org/2000/01/rdf-schema#label"


class MadeUp:
    """Names of a seeded chance: of 30,000 words, some are far more frequent than others."""

    def __init__(self, seed: int = 7) -> None:
        self.chance = random.Random(seed)
        syllables = [a + b for a in "bcdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "in", "ol")]
        words: dict[str, None] = {}
        while len(words) < 30_000:
            words["".join(self.chance.choices(syllables, k=self.chance.randint(2, 4))).title()] = None
        self.words = list(words)
        self.weights = [1 / (rank + 20) for rank in range(len(self.words))]

    def draw(self, count: int) -> list[str]:
        return self.chance.choices(self.words, self.weights, k=count)

    def name(self, number: int) -> tuple[str, str]:
        """A name and its class."""
        one, two, three = self.draw(3)
        return (
            (f"{one} {two}", "Person"),
            (f"{one} {two} {self.chance.choice(('GmbH', 'Inc.', 'AG'))}", "Company"),
            (f"Technische Universität {one} {two}", "University"),
            (f"{one} {two} {three} notes", "Note"),
        )[number % 4]

    def misspelled(self, word: str) -> str:
        """The word with a letter left out, another one, or two that changed places."""
        at = self.chance.randrange(len(word) - 1)
        changed = (word[at + 1], word[at + 1] + word[at], self.chance.choice("aeiou") + word[at + 1])
        return word[:at] + self.chance.choice(changed) + word[at + 2 :]

    def phrase(self, kind: int, names: Sequence[str]) -> str:
        name, other = self.chance.choice(names), self.chance.choice(names)
        words = name.split()
        return (
            name,
            words[-1] if words[-1] not in ("GmbH", "Inc.", "AG", "notes") else words[0],
            " ".join(self.misspelled(word) if len(word) > 4 else word for word in words[:2]),
            f"TU {words[-2]} {words[-1]}",
            f"What did {name} and {self.misspelled(words[0])} {words[1]} deliver to {other} since last year?",
            " ".join(word[::-1] for word in words),
        )[kind]


def cpu_ms(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return 1000 * (time.process_time() - began)


def scan(phrase: str, names: Sequence[str]) -> None:
    from rapidfuzz import fuzz, process

    process.extract(phrase, names, scorer=fuzz.token_set_ratio, limit=3, score_cutoff=80)


async def read_through_the_view(names: Sequence[tuple[str, str]]) -> tuple[float, float, float]:
    """Seconds of CPU in this process and on the wall for reading the names of a graph, and wall time after a commit."""
    rows = (f'<{RECORD}{n}> a <{CLASS}{kind}> ; <{LABEL}> "{name}" .' for n, (name, kind) in enumerate(names))
    with tempfile.TemporaryDirectory() as home:
        async with open_core(Config(home=Path(home))) as core:
            load = Load("bench", "main", BytesIO("\n".join(rows).encode()), "turtle")
            loaded = await core.triples.load(load, core.clock)
            assert isinstance(loaded, Loaded)
            await core.descriptions.get(core, loaded.dataset, None, 600)  # brings the view up
            began, cpu = time.perf_counter(), time.process_time()
            while await core.names.get(core, loaded.dataset) is None:
                pass
            read, used = time.perf_counter() - began, time.process_time() - cpu
            text = f'INSERT DATA {{ <{RECORD}new> a <{CLASS}Person> ; <{LABEL}> "Zebulon Quark" }}'
            updated = await core.triples.update("bench", "main", text, core.clock)
            assert isinstance(updated, Loaded)
            began = time.perf_counter()
            await core.names.get(core, updated.dataset, updated.dataset.head_seq)
            return used, read, time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", type=int, default=100_000)
    parser.add_argument("--most", type=float, default=15.0, help="milliseconds of the 95th percentile")
    args = parser.parse_args()
    made_up = MadeUp()
    named = [made_up.name(number) for number in range(args.names)]
    labels = [name for name, _ in named]
    index = NameIndex()

    def fill() -> None:
        for number, (name, kind) in enumerate(named):
            index.add(Name(f"{RECORD}{number}", name, CLASS + kind, kind_of(CLASS + kind, {})))

    print(f"{args.names:,} names taken in: {cpu_ms(fill) / 1000:.2f} s of CPU")
    phrases = [made_up.phrase(kind, labels) for kind in range(6) for _ in range(EACH_KIND)]
    link(phrases[0], index)  # imports RapidFuzz
    taken = [cpu_ms(lambda text=text: link(text, index)) for text in phrases]
    p95 = statistics.quantiles(taken, n=20)[-1]
    print(f"a phrase: median {statistics.median(taken):.2f}, p95 {p95:.2f}, most {max(taken):.2f} ms of CPU")
    found = sum(bool(link(text, index)) for text in phrases[: 5 * EACH_KIND])
    print(f"phrases that name a record and link: {found} of {5 * EACH_KIND}")
    some = made_up.chance.sample(range(len(phrases)), SCANNED)
    scanned = statistics.mean(cpu_ms(lambda at=at: scan(phrases[at], labels)) for at in some)
    print(f"a scan with RapidFuzz takes {scanned / statistics.mean(taken[at] for at in some):.0f} times as long")
    used, read, after = asyncio.run(read_through_the_view(named))
    print(f"read through the view: {used:.1f} s of CPU here, {read:.1f} s; after a commit {1000 * after:.0f} ms")
    return 0 if p95 <= args.most else 1


if __name__ == "__main__":
    sys.exit(main())
