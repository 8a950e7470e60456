"""What stores share that keep documents in one table of a SQL database in the process.

Such a store says how its engine opens a table, takes vectors in and ranks them; the hooks that are
left are the same statements everywhere. Parameters are written ``?``, and every value is one.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from vecstore.document import Document, stored_document
from vecstore.errors import ConfigurationError, DocumentError, SchemaMismatchError
from vecstore.filter.convert import Compiled
from vecstore.filter.tree import Expression
from vecstore.filter.values import metadata_text, shown
from vecstore.store.backend import (
    Batch,
    Judge,
    Selection,
    changed,
    id_outside,
    id_parts,
    refuse_unwritable,
)
from vecstore.store.base import VectorStore
from vecstore.store.drivers import misfit
from vecstore.store.foreign import ForeignRecords, fault_of
from vecstore.store.ranking import filled

if TYPE_CHECKING:
    from vecstore.vectors import Matrix, Vector

Result = TypeVar("Result")
Row = tuple[Any, ...]

BATCH: Final = 5_000
"""Documents, or ids, in one statement."""
MOST_ROWS: Final = 2**62
"""More rows than a statement can be asked for."""
CHANGED_AT_ONCE: Final = 50_000
"""Documents whose metadata is read, changed and written together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableNames:
    """The table and its columns, as the user calls them.

    Raises:
        ConfigurationError: For a name that is no text, is empty or holds NUL, or that two columns
            have.

    Example:
        >>> TableNames(table="docs", text="body").column("text")
        '"body"'
    """

    table: str
    namespace: str | None = None
    id: str = "id"
    text: str = "text"
    metadata: str = "metadata"
    embedding: str = "embedding"
    extra: str | None = "extra"
    """None where another column has that name, and nobody named one for it."""

    def __post_init__(self) -> None:
        columns = [self.id, self.text, self.metadata, self.embedding]
        columns += [] if self.extra is None else [self.extra]
        for name in (self.table, *columns, *([] if self.namespace is None else [self.namespace])):
            if not isinstance(name, str) or not name or "\0" in name:
                raise ConfigurationError(f"a table or column has a name, not {shown(name)}")
        if len({name.lower() for name in columns}) < len(columns):
            raise ConfigurationError(f"each column has a name of its own, not {columns}")

    @property
    def quoted(self) -> str:
        """The table in a statement."""
        names = [self.table] if self.namespace is None else [self.namespace, self.table]
        return ".".join([_quoted(name) for name in names])

    def column(self, role: str) -> str:
        """A column in a statement, by what it is for."""
        return _quoted(getattr(self, role) or role)


def extra_column_of(given: str | None, *others: str) -> str | None:
    """What the column for ``extra`` is called: as somebody says, or so unless another one is.

    Example:
        >>> extra_column_of(None, "id", "text"), extra_column_of(None, "id", "Extra")
        ('extra', None)
    """
    if given is not None:
        return given
    taken = [name.lower() for name in others if isinstance(name, str)]
    return None if "extra" in taken else "extra"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class TableStore(VectorStore):
    """Base of stores on one table; a subclass sets ``_names`` before a hook is called."""

    _among: ClassVar[str]
    """What stands behind IN for a parameter that holds a list of ids."""
    _extra_type: ClassVar[str]
    """The type of a column that keeps any text."""
    _documents_only: ClassVar[str]
    """A condition on ``{id}`` and ``{metadata}`` that holds of rows that are documents."""

    _names: TableNames
    _extra_given = False
    """Whether the caller named the column for extras."""
    _made_by_us = True

    # --- what an engine does in its own way -------------------------------------------------

    @abstractmethod
    def _in_transaction(
        self, operation: str, work: Callable[[Any], Result], *, writing: bool = False
    ) -> Result:
        """Run something in one transaction: on one state, and whole or not at all.

        It may run more than once, where the engine asks for that.
        """

    @abstractmethod
    def _is_there(self, session: Any) -> bool:
        """Whether there is the table, which another store may have made meanwhile."""

    @abstractmethod
    def _read_table(self, session: Any) -> bool:
        """Look at the table anew: whether it is there, and what it has.

        Raises:
            SchemaMismatchError: Naming every difference.
        """

    @abstractmethod
    def _make_table(self, session: Any, dimension: int) -> None:
        """Make the table, for vectors of this length."""

    @abstractmethod
    def _insert(self, session: Any, rows: Columns, *, replacing: bool) -> None:
        """Write rows; ``replacing`` where some of the ids may be stored already.

        A matrix without columns stands for rows without vectors.
        """

    @abstractmethod
    def _rewrite(self, session: Any, ids: list[str], metadata: list[str]) -> None:
        """Put other metadata into rows."""

    @abstractmethod
    def _nearest_rows(
        self, session: Any, vector: Vector, where: str, params: list[Any], count: int, wide: bool
    ) -> list[Row]:
        """What ``_columns`` names, the vector NULL unless ``wide``, and the score; in order."""

    @abstractmethod
    def _as_vector(self, value: Any) -> Vector | None:
        """A vector as the column gives it; None where there is none of the store's length."""

    def _ids_bound(self, ids: Sequence[str]) -> Any:
        """A list of ids as one parameter."""
        return list(ids)

    def _pages(
        self, columns: Callable[[], str], filter: Any, batch_size: int, operation: str
    ) -> Iterator[list[Row]]:
        """Rows that match in pages, by id, each read in a transaction of its own."""
        after = ""
        while True:
            where, params = self._where(Selection(filter=filter), ("{id} > ?", after))
            order = f" ORDER BY {self._id} LIMIT ?"
            page = self._rows(operation, columns, where, [*params, batch_size], order)
            yield page
            if len(page) < batch_size:
                return
            after = page[-1][0]

    # --- the hooks ---------------------------------------------------------------------------

    def _compile_filter(self, filter: Expression) -> Compiled:
        raise NotImplementedError(f"{type(self).__name__} has a dialect")

    def _add(self, batch: Batch) -> Iterable[str]:
        metadata = [encoded(one) for one in batch.metadata]

        def work(session: Any) -> tuple[list[str], set[str]]:
            self._make_ready(session, batch)
            known = self._known(session, batch.ids)
            if batch.within is not None and known:
                inside = self._known(session, list(known), batch.within)
                if outside := sorted(known - inside):
                    raise id_outside(outside)
            free = batch.free_rows(known)
            if free:
                rows = Columns(
                    ids=[batch.ids[row] for row in free],
                    texts=[batch.texts[row] for row in free],
                    metadata=[metadata[row] for row in free],
                    extras=[batch.extras[row] for row in free] if batch.extras else (),
                    vectors=batch.vectors if len(free) == len(batch) else batch.vectors[free],
                )
                self._insert(session, rows, replacing=bool(known))
            return [batch.ids[row] for row in free], known

        written, known = self._in_transaction("add", work, writing=True)
        if batch.on_conflict == "replace":
            batch.replaced.extend(sorted(known))
        if self.dimension is None:
            # The table was made by this call, which is known to have worked only now.
            self._settle(dimension=batch.vectors.shape[1])
        return written

    def _make_ready(self, session: Any, batch: Batch) -> None:
        """See to it that there is a table for the vectors of a batch."""
        if self._is_there(session):
            if not self.capabilities.keeps_extra and self._names.extra is not None:
                # Somebody may have added the column meanwhile: what it holds of a document that
                # is replaced would stay.
                self._read_table(session)
            batch.check_dimension(self.dimension)
            if not self.capabilities.keeps_extra:
                batch.check_extras(self._extra_remedy())
            if batch.vectorless and not self.capabilities.vectorless:  # others made it meanwhile
                raise DocumentError(
                    f"{self._title} takes no row without a vector: {self._vectorless_remedy()}"
                )
            return
        # Made anew where the transaction that made it was rolled back.
        dimension = self.dimension if batch.vectorless else batch.vectors.shape[1]
        if dimension is None:
            raise ConfigurationError(
                f"{self._title} is still to be made, and documents without a vector do not say "
                "how long vectors are: open the store with dimension=..."
            )
        self._make_table(session, dimension)

    def _stored_ids(self, ids: tuple[str, ...]) -> set[str]:
        def work(session: Any) -> set[str]:
            return self._known(session, ids) if self._is_there(session) else set()

        return self._in_transaction("add", work)

    def _known(self, session: Any, ids: Sequence[str], filter: Any = None) -> set[str]:
        where, params = self._where(Selection(ids=tuple(ids), filter=filter))
        return {row[0] for row in session.rows(self._select(self._id, where), params)}

    def _search(
        self, vector: Vector, *, top_k: int, filter: Any, include_embedding: bool
    ) -> Iterable[Document]:
        return self._nearest(vector, Selection(filter=filter), top_k, include_embedding)

    def _search_selected(
        self, vectors: Matrix, selection: Selection, *, top_k: int, include_embedding: bool
    ) -> Iterable[Iterable[Document]]:
        for vector in vectors:
            yield self._nearest(vector, selection, top_k, include_embedding)

    def _nearest(
        self, vector: Vector, selection: Selection, top_k: int, include_embedding: bool
    ) -> list[Document]:
        where, params = self._where(selection)
        foreign = self._foreign()

        def ask(count: int) -> list[Row]:
            def work(session: Any) -> list[Row]:
                if not self._is_there(session):
                    return []
                return self._nearest_rows(session, vector, where, params, count, include_embedding)

            return self._in_transaction("search", work)

        def read(rows: Sequence[Row]) -> list[Document]:
            # Those without a vector, or without a direction, are near nothing.
            near = [row for row in rows if row[-1] is not None]
            return list(self._documents(near, foreign, scored=True))

        return filled(ask, read, min(top_k, MOST_ROWS), MOST_ROWS)

    def _get(
        self, selection: Selection, *, limit: int | None, include_embedding: bool
    ) -> Iterable[Document]:
        where, params = self._where(selection)
        foreign = self._foreign()
        columns = partial(self._columns, embedding=include_embedding)

        def ask(count: int | None) -> list[Row]:
            limited = "" if count is None else " LIMIT ?"
            bound = params if count is None else [*params, count]
            return self._rows("get", columns, where, bound, limited)

        def read(rows: Sequence[Row]) -> list[Document]:
            return list(self._documents(rows, foreign))

        return read(ask(None)) if limit is None else filled(ask, read, limit, MOST_ROWS)

    def _scan(self, filter: Any, *, batch_size: int, include_embedding: bool) -> Iterator[Document]:
        columns = partial(self._columns, embedding=include_embedding)
        return self._scanned(columns, filter, batch_size)

    def _scan_textless(
        self, filter: Any, *, batch_size: int, include_embedding: bool
    ) -> Iterator[Document]:
        columns = partial(self._columns, text=False, embedding=include_embedding)
        return self._scanned(columns, filter, batch_size)

    def _scan_metadata(
        self, filter: Any, *, batch_size: int
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        columns = partial(self._columns, text=False, embedding=False)
        for one in self._scanned(columns, filter, batch_size):
            yield one.id, one.metadata

    def _scanned(
        self, columns: Callable[[], str], filter: Any, batch_size: int
    ) -> Iterator[Document]:
        foreign = self._foreign()
        for page in self._pages(columns, filter, batch_size, "scan"):
            yield from self._documents(page, foreign)

    def _count(self, filter: Any) -> int:
        where, params = self._where(Selection(filter=filter))
        rows = self._rows("count", lambda: "count(*)", where, params)
        return int(rows[0][0]) if rows else 0

    def _delete(self, selection: Selection) -> int:
        def work(session: Any) -> int:
            where, params = self._where(selection, documents=True)
            count: int = session.change(f"DELETE FROM {self._names.quoted}{where}", params)
            return count

        return self._changing("delete", 0, selection, work)

    def _delete_filtered(self, filter: Any) -> int:
        return self._delete(Selection(filter=filter))

    def _delete_ids(self, selection: Selection, judge: Judge | None = None) -> list[str]:
        def work(session: Any) -> list[str]:
            ids = self._judged(session, selection, judge)
            for part in id_parts(ids, BATCH):
                where, params = self._where(Selection(ids=part), documents=True)
                session.change(f"DELETE FROM {self._names.quoted}{where}", params)
            return list(ids)

        nothing: list[str] = []
        return self._changing("delete", nothing, selection, work)

    def _delete_judged(self, selection: Selection, judge: Judge) -> int:
        return len(self._delete_ids(selection, judge))

    def _update_metadata(
        self, selection: Selection, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        return self._changing(
            "update_metadata",
            0,
            selection,
            lambda found: self._update(found, selection, set, unset),
        )

    def _update_judged(
        self, selection: Selection, judge: Judge, *, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        def work(session: Any) -> int:
            chosen = Selection(ids=self._judged(session, selection, judge))
            return self._update(session, chosen, set, unset)

        return self._changing("update_metadata", 0, selection, work)

    def _clear(self) -> None:
        self._clear_counted()

    def _clear_counted(self) -> int:
        def work(session: Any) -> int:
            if not self._is_there(session):
                return 0
            count: int = session.change(f"DELETE FROM {self._names.quoted}")
            return count

        return self._in_transaction("clear", work, writing=True)

    # --- what they share ---------------------------------------------------------------------

    @property
    def _id(self) -> str:
        return self._names.column("id")

    @property
    def _title(self) -> str:
        return f"the table {self._names.quoted}"

    def _gone(self) -> SchemaMismatchError:
        """The error where there is no more table, which the store has looked at."""
        return SchemaMismatchError(
            f"{self._title} was there and is gone: somebody dropped it; open the store again"
        )

    def _foreign(self) -> ForeignRecords:
        return ForeignRecords(self._title)

    def _roles(self) -> list[str]:
        """The columns that are written, in the order of :class:`Columns`, the vector last."""
        extra = ["extra"] if self.capabilities.keeps_extra else []
        return ["id", "text", "metadata", *extra, "embedding"]

    def _extra_remedy(self) -> str:
        """How to get the column; nobody takes one of others for it that is not named."""
        column = self._names.column("extra")
        ours = self._made_by_us and self._names.extra is not None
        named = "" if ours else ' with extra_column="..."'
        return (
            f"{self._title} has no column for it; run ALTER TABLE {self._names.quoted} ADD COLUMN "
            f"{column if ours else '...'} {self._extra_type}; and open the store again{named}"
        )

    def _finds_extra(self, held: tuple[Any, ...] | None, *, fits: bool, made_by_us: bool) -> bool:
        """Whether the table has a column for extras, which takes any text and needs none.

        Raises:
            SchemaMismatchError: Where one is named, and there is none such.
        """
        self._made_by_us = made_by_us
        if self._extra_given and not fits:
            what = "it has no column" if held is None else f"it has as {held[0]} the column"
            raise misfit(
                self._title,
                [
                    f"{what} {self._names.extra!r}, and extra_column= names a nullable "
                    f"{self._extra_type}"
                ],
            )
        return fits and (self._extra_given or made_by_us)

    def _columns(self, *, text: bool = True, embedding: bool) -> str:
        """What is read of a document, in this order."""
        column = self._names.column
        read = [column("text") if text else "''", column("metadata")]
        # With the table before it: SQLite takes a quoted name that no column has for a text.
        extra = [f"{self._names.quoted}.{column('extra')}"]
        if not text or not self.capabilities.keeps_extra:
            extra = []
        return ", ".join([self._id, *read, column("embedding") if embedding else "NULL", *extra])

    def _select(self, columns: str, where: str, more: str = "") -> str:
        return f"SELECT {columns} FROM {self._names.quoted}{where}{more}"

    def _rows(
        self,
        operation: str,
        columns: Callable[[], str],
        where: str,
        params: Sequence[Any],
        more: str = "",
    ) -> list[Row]:
        """Rows of the table; the columns are asked for once it is known which ones it has."""

        def work(session: Any) -> list[Row]:
            if not self._is_there(session):
                return []
            found: list[Row] = session.rows(self._select(columns(), where, more), params)
            return found

        return self._in_transaction(operation, work)

    def _where(
        self, selection: Selection, *more: tuple[str, Any], documents: bool = False
    ) -> tuple[str, list[Any]]:
        """A condition with its parameters, in the order in which they stand."""
        conditions: list[str] = []
        params: list[Any] = []
        if selection.ids is not None:
            conditions.append(f"{self._id} IN {self._among}")
            params.append(self._ids_bound(selection.ids))
        if selection.excluded:
            conditions.append(f"{self._id} NOT IN {self._among}")
            params.append(self._ids_bound(selection.excluded))
        if selection.filter is not None:
            conditions.append(selection.filter.query)
            params += selection.filter.params
        for condition, value in more:
            conditions.append(condition.format(id=self._id))
            params.append(value)
        if documents:
            conditions.append(self._is_document())
        return (f" WHERE {' AND '.join(conditions)}" if conditions else ""), params

    def _is_document(self) -> str:
        metadata = self._names.column("metadata")
        return self._documents_only.format(id=self._id, metadata=metadata)

    def _changing(
        self,
        operation: str,
        nothing: Result,
        selection: Selection,
        work: Callable[[Any], Result],
    ) -> Result:
        """Change documents of a selection, and tell of the rows in it that are none."""
        where, params = self._where(selection)
        joint = " AND" if where else " WHERE"
        strangers = self._select(
            f"{self._id}, ''", where, f"{joint} NOT ({self._is_document()}) LIMIT 1"
        )

        def changing(session: Any) -> tuple[Result, list[Row]]:
            if not self._is_there(session):
                return nothing, []
            found: list[Row] = session.rows(strangers, params)
            return work(session), found

        result, found = self._in_transaction(operation, changing, writing=True)
        for row in found:
            self._foreign().leave_out(row[0], fault_of(row[0], None) or "its metadata is no object")
        return result

    def _update(
        self, session: Any, selection: Selection, set: dict[str, Any], unset: tuple[str, ...]
    ) -> int:
        count, after = 0, ""
        while True:
            # By id: what has been changed may match once more.
            where, params = self._where(selection, ("{id} > ?", after), documents=True)
            columns = f"{self._id}, {self._names.column('metadata')}"
            statement = self._select(columns, where, f" ORDER BY {self._id} LIMIT ?")
            rows = session.rows(statement, [*params, CHANGED_AT_ONCE])
            if rows:
                held = _objects(rows)
                new = {id: changed(metadata, set, unset) for id, metadata in held.items()}
                try:
                    texts = [encoded(metadata) for metadata in new.values()]
                except ValueError as error:
                    refuse_unwritable(new.items(), error)
                self._rewrite(session, list(held), texts)
                count, after = count + len(held), rows[-1][0]
            if len(rows) < CHANGED_AT_ONCE:
                return count

    def _judged(self, session: Any, selection: Selection, judge: Judge | None) -> tuple[str, ...]:
        where, params = self._where(selection, documents=True)
        columns = f"{self._id}, {self._names.column('metadata')}"
        rows = session.rows(self._select(columns, where), params)
        return tuple([id for id, held in _objects(rows).items() if judge is None or judge(held)])

    def _documents(
        self, rows: Iterable[Row], foreign: ForeignRecords, *, scored: bool = False
    ) -> Iterator[Document]:
        for row in rows:
            metadata = decoded(row[2])
            fault = fault_of(row[0], metadata)
            if fault is not None:
                foreign.leave_out(row[0], fault)
                continue
            vector = None if row[3] is None else self._as_vector(row[3])
            text = row[1] if isinstance(row[1], str) else ""
            score = row[-1] if scored else None
            extra = row[4] if len(row) > 4 + scored and isinstance(row[4], str) else None
            yield stored_document(row[0], text, metadata or {}, vector, score, extra)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Rows on their way into a table: equally long columns, metadata and extras as JSON text."""

    ids: list[str]
    texts: list[str]
    metadata: list[str]
    vectors: Matrix
    extras: Sequence[str | None] = ()
    """Empty where no row has one, and for a table without a column for them."""


def _objects(rows: Iterable[Row]) -> dict[str, dict[str, Any]]:
    """Metadata by id; without what an engine takes for an object and JSON does not."""
    held = {row[0]: decoded(row[1]) or {} for row in rows}
    return {id: metadata for id, metadata in held.items() if isinstance(metadata, dict)}


def encoded(metadata: Mapping[str, Any]) -> str:
    """Metadata as JSON text, which is read back with the same types."""
    return metadata_text(metadata, allow_nan=False)


def decoded(text: Any) -> Any:
    """What JSON text holds; what is no JSON comes back as it is, and is no metadata."""
    if not isinstance(text, str):
        return text
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return text


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_no_number)
