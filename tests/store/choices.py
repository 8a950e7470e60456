"""What ``make test`` runs of a suite that stands on one engine more, or around it.

Every class of ``StoreSuite`` runs whole in ``make test-wide``; see ``tests/conftest.py``.
"""

from __future__ import annotations

from vecstore.testing.store_suite.adding import Adding
from vecstore.testing.store_suite.closing import Closing
from vecstore.testing.store_suite.deleting import Deleting
from vecstore.testing.store_suite.embedding import Embedding
from vecstore.testing.store_suite.ids import Ids
from vecstore.testing.store_suite.lengths import Lengths
from vecstore.testing.store_suite.lifecycle import Lifecycle
from vecstore.testing.store_suite.limits import Limits
from vecstore.testing.store_suite.ordered import Ordered
from vecstore.testing.store_suite.paging import Paging
from vecstore.testing.store_suite.processes import Processes
from vecstore.testing.store_suite.reading import Reading
from vecstore.testing.store_suite.refusing import Refusing
from vecstore.testing.store_suite.searching import Searching
from vecstore.testing.store_suite.statistics import Statistics
from vecstore.testing.store_suite.updating import Updating

AWAITED = (
    "test_ids_stay_with_their_documents_across_batches",
    "test_a_backend_that_fails_half_way",
    "test_known_scores",
    "test_get_keeps_the_order_asked_for",
    "test_scan_while_others_write",
    "test_set_and_unset",
    "test_delete_by_filter_and_by_both",
    "test_two_stores_share_nothing",
)
"""On an engine: each operation from a thread of the pool. All of it is awaited on the store in
memory; cancelling and closing are in the suite that is not awaited."""

SCOPED = (
    "test_one_id_twice_in_a_call",
    "test_a_random_life",
    "test_scan_sees_every_document_once",
    "test_get_by_filter_and_by_both",
    "test_set_and_unset",
    "test_delete_by_filter_and_by_both",
    "test_clear",
    "test_grouping_and_negation",
)
"""On an engine: the scope joined to every filter. All of it is scoped on the store in memory, and
the suite that is not scoped has tests of scopes."""

OBSERVED = (Adding, Deleting, Updating, Searching, Reading, Statistics, Ordered, Closing)
"""On the store in memory: every operation under the eyes of an observer."""

OTHER_METRIC = (
    Searching,
    Paging,
    Lengths,
    "test_a_given_vector_of_zeros",
    "test_an_embedder_that_returns_zeros",
    "test_the_nearest_among_those_that_match",
    "test_texts_and_vectors_stay",
    "test_keeps_norm",
    "test_max_dimension",
    "test_texts_of_every_kind",
    "test_a_random_life",
)
"""Under one metric more: where scores, lengths and directions are looked at."""

OF_EVERY_METRIC = ("test_scores_and_order", "test_many_searches_at_once", "test_known_scores")
"""Each class makes stores of all metrics for these, whatever its own is: once for an engine will do."""

OTHER_IDS = (Ids, Adding, Updating, Deleting, Limits, "test_a_random_life", "test_eight_threads")
"""With ids of another kind."""

OTHER_OPENING = (
    Lifecycle,
    Processes,
    "test_what_a_store_says_of_itself",
    "test_a_store_takes_its_dimension_from_the_first_vector",
    "test_progress",
    "test_a_random_life",
)
"""The same store, made in another way."""

OTHER_INDEX = (
    *OTHER_METRIC,
    "test_replace_changes_the_whole_document",
    "test_skip_leaves_what_is_there",
    "test_one_of_many_writers_wins",
    "test_random_filters",
    "test_delete_selects_the_same",
    "test_ten_thousand_documents",
    "test_clear",
)
"""The same rows, found by an index of another kind."""

ON_AN_ENGINE_REPEATED = (
    Embedding,
    Refusing,
    "test_max_cost",
    "test_every_operator",
    "test_keys_inside_objects_and_odd_keys",
    "test_lists_of_literals",
    "test_grouping_and_negation",
    "test_delete_selects_the_same",
    "test_update_metadata_selects_the_same",
    "test_what_is_evaluated_selects_the_same",
    "test_what_diverse_results_are_chosen_from",
    "test_no_list_reaches_the_view_of_another",
)
"""On an engine: what is refused before any of its hooks is called; what the base decides about what
hooks answer, at length (the last three; shorter tests of each stay); filters one by one (as in
:data:`OF_THE_DIALECT`); and random ones in two more methods than the four that
``test_random_filters`` asks: these change by filter in tests of their own."""

OF_THE_BASE = (
    "test_many_searches_at_once",
    "test_documents_come_in_order",
    "test_values_of_every_kind_in_order",
    "test_values_are_those_of_the_documents",
    "test_values_are_counted_as_filters_count",
    "test_bounds_are_those_of_the_documents",
)
"""At length what the base does for a store that has no hook for it: one search after the other, and
order and statistics over ``_scan_metadata``. Shorter tests of order and statistics stay, and the
store with the fewest hooks runs all of them."""

OF_THE_DIALECT = (
    "test_every_operator",
    "test_keys_inside_objects_and_odd_keys",
    "test_lists_of_literals",
    "test_grouping_and_negation",
)
"""Filters one by one, which the dialect's conformance suite runs on the same engine, or the suite that
is not awaited; random ones, hostile texts and constants stay."""
