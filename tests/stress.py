"""Hard use of a store: everything at once, interrupted anywhere, and a hundred thousand times.

For tests of any store; each takes ``open_store``, a function without arguments that opens the store
on one place (and that raises nothing when the place was closed before)::

    def test_everything_at_once(tmp_path):
        everything_at_once(lambda: MyStore(tmp_path / "docs", dimension=DIMENSION), seconds=2)


    @pytest.mark.heavy
    def test_interrupted(tmp_path):
        interrupted(
            lambda: MyStore(tmp_path / "docs", dimension=DIMENSION), add_and_change, times=10_000
        )


    @pytest.mark.heavy
    def test_memory(store):
        memory_flat(store, calls=100_000)

Stores are opened with ``dimension=DIMENSION`` and need no embedder. All of them are closed at the end.
"""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from vecstore import Document, F
from vecstore.errors import DuplicateDocumentError, StoreClosedError
from vecstore.store.base import VectorStore

DIMENSION = 4
IDS = 40
PATIENCE = 60.0

Open = Callable[[], VectorStore]


class Interrupted(BaseException):
    """What is raised in the middle of a call; as little an ``Exception`` as Ctrl-C."""


# --- everything at once -----------------------------------------------------------------------


def everything_at_once(
    open_store: Open, seconds: float = 1.0, threads: int = 8, *, seed: int = 1
) -> Counter[str]:
    """Let threads call every method while others close the store and open it again.

    Each call returns what is consistent in itself, or raises :class:`StoreClosedError`.

    Returns:
        How many calls of each method came back, and under ``"closed"`` how many were refused.

    Raises:
        AssertionError: If a call fails otherwise, if a document mixes two versions, or if a thread
            does not come back within a minute.
    """
    place = _Place(open_store)
    end = time.monotonic() + seconds
    done: Counter[str] = Counter()
    numbers = count(1)

    def work(thread: int) -> None:
        random, own = Random(seed * 1_000 + thread), Counter[str]()
        calls = [*_CALLS, "close"] if thread < 2 else [*_CALLS]
        while time.monotonic() < end:
            name = random.choice(calls)
            if name == "close" and random.random() < 0.7:
                continue
            try:
                if name == "close":
                    place.open_again()
                else:
                    _CALLS[name](place.store, random, next(numbers))
                own[name] += 1
            except StoreClosedError:
                own["closed"] += 1
                time.sleep(0.001)  # let the one that opens it again come to its turn
        done.update(own)

    try:
        with ThreadPoolExecutor(threads) as pool:
            for future in [pool.submit(work, number) for number in range(threads)]:
                future.result(seconds + PATIENCE)
        check_whole(place.store)
    finally:
        place.store.close()
    return done


class _Place:
    """One place, on which a store is open or about to be."""

    def __init__(self, open_store: Open) -> None:
        self._open, self._turn = open_store, threading.Lock()
        self.store = open_store()

    def open_again(self) -> None:
        with self._turn:
            self.store.close()
            self.store = self._open()


def _some_ids(random: Random, most: int = 4) -> list[str]:
    return [f"stress-{random.randrange(IDS)}" for _ in range(random.randint(1, most))]


def version_of(id: str, version: int) -> Document:
    """A document all of whose parts tell its version."""
    vector = [1.0, version % 97 + 1.0, 0.5, 0.25]
    metadata = {"version": version, "again": [str(version), id], "group": version % 5}
    return Document(f"{id} {version}", metadata, id, vector)


def _same_version(found: Iterable[Document]) -> list[Document]:
    listed = list(found)
    for one in listed:
        version = one.metadata["version"]
        assert one.text == f"{one.id} {version}", f"{one.id}: parts of two versions"
        assert one.metadata["again"] == [str(version), one.id], f"{one.id}: parts of two versions"
    return listed


def _add(store: VectorStore, random: Random, number: int) -> None:
    mode: Any = random.choice(["replace", "replace", "skip", "error"])
    documents = [version_of(id, number) for id in dict.fromkeys(_some_ids(random))]
    with suppress(DuplicateDocumentError):
        store.add(documents, on_conflict=mode)


def _search(store: VectorStore, random: Random, number: int) -> None:
    filter = random.choice([None, F.group == number % 5, "version > 3"])
    _same_version(store.search(vector=[1, number % 7, 0, 1], top_k=5, filter=filter))


def _get(store: VectorStore, random: Random, number: int) -> None:
    _same_version(store.get(_some_ids(random), include_embedding=True))
    _same_version(store.get(filter=F.group == number % 5, limit=3))


def _update(store: VectorStore, random: Random, number: int) -> None:
    store.update_metadata(_some_ids(random), set={f"mark{number % 3}": number})
    store.update_metadata(filter=F.group == number % 5, unset=["mark1"])


def _delete(store: VectorStore, random: Random, number: int) -> None:
    if number % 5:
        store.delete(_some_ids(random, 2))
    else:
        store.delete(filter=F.version < number - 200)


def _count(store: VectorStore, random: Random, number: int) -> None:
    assert 0 <= store.count(F.group == number % 5) <= IDS
    assert 0 <= store.count() <= IDS


def _scan(store: VectorStore, random: Random, number: int) -> None:
    scan = store.scan(batch_size=random.choice([1, 7, 256]))
    left_after = random.choice([1, 3, IDS + 1])
    for place, one in enumerate(scan, 1):
        _same_version([one])
        if place == left_after:
            break


def _scoped(store: VectorStore, random: Random, number: int) -> None:
    view = store.scoped(F.group == number % 5)
    found = _same_version(view.get())
    assert not [one for one in found if one.metadata["group"] != number % 5]
    view.count()


def _clear(store: VectorStore, random: Random, number: int) -> None:
    if random.random() < 0.05:
        store.clear()


_CALLS: dict[str, Callable[[VectorStore, Random, int], None]] = {
    "add": _add,
    "search": _search,
    "get": _get,
    "update_metadata": _update,
    "delete": _delete,
    "count": _count,
    "scan": _scan,
    "scoped": _scoped,
    "clear": _clear,
}


def check_whole(store: VectorStore) -> None:
    """Fail unless every way of reading tells of the same documents."""
    documents = _same_version(store.scan(batch_size=7, include_embedding=True))
    ids = sorted(one.id for one in documents)
    assert len(set(ids)) == len(ids), "a scan that names a document twice"
    assert store.count() == len(ids)
    assert store.count("version IS NOT NULL") == len(ids)
    assert sorted(one.id for one in _same_version(store.get())) == ids
    assert [one.id for one in store.get(ids)] == ids
    if ids:
        found = _same_version(store.search(vector=[1, 1, 0.5, 0.25], top_k=len(ids)))
        assert sorted(one.id for one in found) == ids
    for one in documents:
        assert one.embedding is not None
        right = version_of(one.id, one.metadata["version"]).embedding
        assert right is not None
        dot = sum(float(a) * float(b) for a, b in zip(one.embedding, right, strict=True))
        lengths = (sum(float(a) ** 2 for a in v) ** 0.5 for v in (one.embedding, right))
        first, second = lengths
        assert abs(dot / (first * second) - 1) < 1e-4, f"{one.id}: the vector of another version"


# --- interrupted anywhere -----------------------------------------------------------------------


def add_and_change(store: VectorStore, number: int) -> None:
    """One of each call that writes; what :func:`interrupted` is mostly given."""
    ids = [f"stress-{(number * 3 + step) % IDS}" for step in range(6)]
    store.add([version_of(id, number) for id in ids])
    store.update_metadata(ids[:3], set={"mark": number})
    store.delete(ids[4:])


def interrupted(
    open_store: Open,
    call: Callable[[VectorStore, int], object],
    times: int = 200,
    *,
    check: Callable[[VectorStore], None] = check_whole,
    check_each: int = 1,
    seed: int = 1,
) -> int:
    """Break off a call at random points, as Ctrl-C does, and see what state the store is left in.

    A signal arrives in the middle of the call, whose handler raises :class:`Interrupted`. Needs the
    main thread of the process, as signals do.

    Args:
        open_store: Opens the store.
        call: What to break off: gets the store, and the number of the attempt.
        times: How many attempts.
        check: What has to hold afterwards.
        check_each: After how many attempts to check.
        seed: Of everything random.

    Returns:
        How many of the attempts were broken off inside the call.

    Raises:
        AssertionError: If a check fails, if closing from another thread hangs, or if what was
            stored is not whole when the place is opened again.
    """
    random, inside = Random(seed), 0
    store = open_store()
    try:
        durations = []
        for number in range(8):
            began = time.perf_counter()
            call(store, number)
            durations.append(time.perf_counter() - began)
        usual = sorted(durations)[2]  # the first calls, and some on a busy machine, take longer
        with _interrupter() as send_after:
            for number in range(times):
                inside += _broken_off(
                    send_after, random.uniform(0, usual * 1.2), store, call, number
                )
                if number % check_each == check_each - 1:
                    check(store)
    finally:
        closing = threading.Thread(target=store.close, daemon=True)
        closing.start()
        closing.join(PATIENCE)
        assert not closing.is_alive(), "closing hangs after interruptions"
    again = open_store()
    try:
        check(again)
    finally:
        again.close()
    return inside


def _broken_off(
    send_after: Callable[[float], None],
    delay: float,
    store: VectorStore,
    call: Callable[[VectorStore, int], object],
    number: int,
) -> bool:
    inside = True
    try:
        send_after(delay)
        call(store, number)
        inside = False
        # Whatever is still on its way arrives here; some code may have swallowed it.
        time.sleep(0.2)
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            time.sleep(0.01)
    except Interrupted:
        pass
    return inside


@contextmanager
def _interrupter() -> Iterator[Callable[[float], None]]:
    """A function that has a signal sent to this process after so many seconds."""

    def raise_it(*_: object) -> None:
        raise Interrupted

    def send_after(delay: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, max(delay, 1e-6))

    def unraisable(told: sys.UnraisableHookArgs) -> None:
        # Python calls finalizers in between, which let no exception out.
        if told.exc_type is not Interrupted:
            told_before(told)

    told_before, sys.unraisablehook = sys.unraisablehook, unraisable
    # A test's own time limit may be using this timer; it goes on afterwards.
    began = time.monotonic()
    before = signal.signal(signal.SIGALRM, raise_it)
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        yield send_after
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = told_before
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - began), 1e-3))


def broken_off_inside_locks(store: VectorStore) -> int:
    """Break off each method at each lock of Python's own that the main thread takes for it.

    The ``with`` of a ``threading.Condition`` (of an event, a queue, a future, a pool) enters a
    function of Python. A signal that arrives when that has the lock and has not returned leaves it
    taken for ever, and whoever needs it next waits for ever. Afterwards another thread counts.

    Args:
        store: The store; closed at the end.

    Returns:
        How many of the locks were met.

    Raises:
        AssertionError: If the call of the other thread does not come back.
    """
    entering, main = threading.Condition.__enter__, threading.get_ident()
    random, met, left = Random(1), 0, 0

    def interrupted(condition: threading.Condition) -> bool:
        nonlocal left
        entered = entering(condition)
        if threading.get_ident() == main and left:
            left -= 1
            if not left:
                raise Interrupted
        return entered

    _fill(store)
    for name in METHODS:
        for place in range(1, 200):
            left = place
            threading.Condition.__enter__ = interrupted  # type: ignore[method-assign]
            try:
                _CALLS[name](store, random, place)
            except Interrupted:
                met += 1
            finally:
                threading.Condition.__enter__ = entering  # type: ignore[method-assign]
            if left:
                break
            counting = threading.Thread(target=store.count, args=("version >= 0",), daemon=True)
            counting.start()
            counting.join(PATIENCE)
            assert not counting.is_alive(), f"{name}, broken off at lock {place}, leaves it taken"
    left = 0
    store.close()
    return met


# --- flat -------------------------------------------------------------------------------------


METHODS = tuple(_CALLS)
"""What :func:`memory_flat` calls."""
_EMPTYING = ("delete", "clear")
_REFILLED_AFTER = 20
"""Calls after which the documents are there again, so that those which empty a store find some."""


def memory_flat(
    store: VectorStore,
    calls: int = 2_000,
    *,
    methods: Iterable[str] = METHODS,
    allowed: int = 6 * 1024 * 1024,
    seed: int = 1,
) -> dict[str, int]:
    """Call each method so many times, and see that the process does not grow.

    Measured is the memory of the whole process, so that what a driver or a C library keeps counts
    as well. A tenth of the calls comes before, to fill what is bounded.

    Args:
        store: The store; closed at the end.
        calls: How many calls of each method.
        methods: Which of :data:`METHODS`.
        allowed: Bytes of growth that count as none.
        seed: Of everything random.

    Returns:
        Bytes of growth by method.

    Raises:
        AssertionError: Naming the method that keeps something.
    """
    random, grown = Random(seed), {}

    def run(name: str, calls: int) -> None:
        for number in range(calls):
            if name in _EMPTYING and number % _REFILLED_AFTER == 0:
                _fill(store)
            _CALLS[name](store, random, number)

    gc.freeze()  # what is there before is not walked each time
    try:
        for name in methods:
            _fill(store)
            run(name, max(20, calls // 10))
            before = _resident()
            run(name, calls)
            grown[name] = _resident() - before
            assert grown[name] <= allowed, (
                f"{calls:,} calls of {name} keep {grown[name] / 1e6:.1f} MB"
            )
    finally:
        store.close()
    return grown


def _fill(store: VectorStore) -> None:
    store.add([version_of(f"stress-{number}", number) for number in range(IDS)])


def _resident() -> int:
    """Bytes of this process in memory."""
    gc.collect()
    status = Path("/proc/self/statm")
    if status.exists():
        import resource

        return int(status.read_text().split()[1]) * resource.getpagesize()
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
