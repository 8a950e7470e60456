"""OpenAI's interface, spoken to a server on this machine."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.engines.loopback import json_service
from vecstore import ConfigurationError, Document, EmbeddingError, SimpleVectorStore
from vecstore.embedders import OpenAIEmbedder, open_embedder

Answer = Callable[[dict[str, Any]], tuple[int, Any]]
KEY = "sk-very-secret"


def vector_of(text: str, dimensions: int = 3) -> list[float]:
    return [float(len(text)), float(text.count("a")), 1.0, 0.5][:dimensions]


def usual(body: dict[str, Any]) -> tuple[int, Any]:
    """What the API answers, its vectors not in the order of the texts, which it need not keep."""
    data = [
        {
            "object": "embedding",
            "index": place,
            "embedding": vector_of(text, body.get("dimensions", 3)),
        }
        for place, text in enumerate(body["input"])
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return 200, {"object": "list", "data": data[::-1], "model": body["model"], "usage": usage}


class Service:
    """The server's address, what it was asked, and what it is to answer."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.answer: Answer = usual
        self.address = ""

    def __call__(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        assert (method, path) == ("POST", "/v1/embeddings")
        self.asked.append(body)
        return self.answer(body)

    def embedder(self, **options: Any) -> OpenAIEmbedder:
        given = {"api_key": KEY, "base_url": self.address, "max_retries": 0, "timeout": 20}
        return OpenAIEmbedder("small", **{**given, **options})


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    with json_service(service) as address:
        service.address = f"{address}/v1"
        yield service


def test_vectors_come_in_the_order_of_the_texts(service: Service) -> None:
    texts = ["a", "bb", "aaa", "", "ça va"]
    with service.embedder() as embedder:
        found = embedder.embed_documents(texts)
        assert found.dtype == "float32"
        assert found.tolist() == [vector_of(text) for text in texts]
        assert embedder.embed_query("aa").tolist() == vector_of("aa")
    assert service.asked[0]["model"] == "small"
    assert "dimensions" not in service.asked[0]


def test_requests_hold_so_many_texts_and_ask_for_so_many_dimensions(service: Service) -> None:
    texts = ["a" * length for length in range(7)]
    with service.embedder(max_inputs=3, dimensions=2) as embedder:
        assert embedder.embed_documents(texts).tolist() == [vector_of(text, 2) for text in texts]
    assert [len(one["input"]) for one in service.asked] == [3, 3, 1]
    assert {one["dimensions"] for one in service.asked} == {2}


def test_a_store_embeds_with_it_called_and_awaited(service: Service) -> None:
    texts = ["a banana", "an avocado and a banana", "fig"]
    with service.embedder() as embedder, SimpleVectorStore(embedder) as store:
        store.add(map(Document, texts))
        best = store.search("a banana", top_k=1)[0].text

        async def twice() -> list[str]:
            found = [(await store.aio.search("a banana", top_k=1))[0].text for _ in range(2)]
            await embedder.aclose()
            return found

        assert asyncio.run(twice()) == [best, best]
        assert asyncio.run(twice()) == [best, best]  # another loop, other connections
    assert len(service.asked) == 6


def test_each_event_loop_has_connections_of_its_own(service: Service) -> None:
    loops = [asyncio.new_event_loop() for _ in range(2)]
    with service.embedder() as embedder:
        for loop in [*loops, *loops]:
            found = loop.run_until_complete(embedder.aembed_query("aa"))
            assert found.tolist() == vector_of("aa")
        assert len(set(embedder._awaiting.values())) == 2
        for loop in loops:
            loop.run_until_complete(embedder.aclose())
            loop.close()
        assert not embedder._awaiting


def test_a_failure_for_a_moment_is_tried_again(service: Service) -> None:
    def once(body: dict[str, Any]) -> tuple[int, Any]:
        service.answer = usual
        return 503, {"error": {"message": "busy"}}

    service.answer = once
    with service.embedder(max_retries=2) as embedder:
        assert embedder.embed_query("a").tolist() == vector_of("a")
    assert len(service.asked) == 2


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (
            401,
            {"error": {"message": f"wrong key {KEY}", "code": "invalid_api_key"}},
            "key was refu",
        ),
        (404, {"error": {"message": "no model"}}, "there is no such model"),
        (429, {"error": {"message": "slow down", "code": "rate_limit"}}, "429 (rate_limit)"),
        (
            400,
            {"error": {"message": "too long: a secret text", "code": "a secret"}},
            "a text may be",
        ),
        (500, "what?", "answered 500"),
        (200, {"object": "list", "data": [], "model": "small"}, "did not answer with vectors"),
        (200, {"data": [{"index": 5, "embedding": [1.0]}]}, "1 vectors for 1 texts, 0 of them"),
        (200, {"data": [{"index": 0, "embedding": ["x"]}]}, "not lists of numbers"),
        (200, {"data": [{"index": 0, "embedding": None}]}, "not lists of numbers"),
        (200, {"data": None}, "did not answer with vectors"),
        (200, [], "usually ends with /v1"),
    ],
)
def test_an_error_says_what_to_do_and_quotes_nothing(
    service: Service, status: int, body: Any, told: str, awaited: bool
) -> None:
    service.answer = lambda _: (status, body)
    with service.embedder() as embedder, pytest.raises(EmbeddingError) as caught:
        if awaited:

            async def ask() -> None:
                try:
                    await embedder.aembed_query("a secret text")
                finally:
                    await embedder.aclose()

            asyncio.run(ask())
        else:
            embedder.embed_query("a secret text")
    assert told in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_server_that_is_not_there_or_slow() -> None:
    with json_service(lambda *_: (200, {})) as address:
        gone = address
    with OpenAIEmbedder("m", api_key=KEY, base_url=f"{gone}/v1", max_retries=0) as embedder:
        with pytest.raises(EmbeddingError, match=r"m at 127\.0\.0\.1 cannot be reached"):
            embedder.embed_query("a")


def test_options_are_checked_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, service: Service
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="set the variable OPENAI_API_KEY"):
        OpenAIEmbedder("m")
    for options in ({"dimensions": 0}, {"dimensions": True}, {"max_inputs": 1.5}):
        with pytest.raises(ConfigurationError, match="a whole number from 1 on"):
            service.embedder(**options)
    with pytest.raises(ConfigurationError, match="model is the model's name"):
        OpenAIEmbedder("", api_key=KEY)


def test_no_key_is_shown_and_no_pickle_made(service: Service) -> None:
    with service.embedder(dimensions=2) as embedder:
        assert repr(embedder) == "OpenAIEmbedder('small', dimensions=2)"
        assert embedder.fingerprint == "openai small 2"
        with pytest.raises(TypeError, match=r"make it in the worker: OpenAIEmbedder\('small'\)"):
            pickle.dumps(embedder)


def test_a_client_of_ones_own_stays_open(service: Service) -> None:
    import openai

    client = openai.OpenAI(api_key=KEY, base_url=service.address, max_retries=0)
    with OpenAIEmbedder("small", client=client) as embedder, SimpleVectorStore(embedder) as store:
        store.add([Document("a"), Document("b")])
        assert asyncio.run(store.aio.count()) == 2
        assert asyncio.run(store.aio.search("a", top_k=1))[0].text == "a"
    assert client.embeddings.create(input=["a"], model="small").data[0].embedding
    client.close()


def test_a_client_of_ones_own_is_not_used_in_a_forked_child(service: Service) -> None:
    import openai

    with openai.OpenAI(api_key=KEY, base_url=service.address, max_retries=0) as client:
        embedder = OpenAIEmbedder("small", client=client)
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()

        def ask() -> None:
            try:
                theirs.send(embedder.embed_query("a").tolist())
            except ConfigurationError as error:
                theirs.send(str(error))

        child = context.Process(target=ask)
        child.start()
        assert ours.poll(60)
        assert "make the embedder in the child" in ours.recv()
        child.join()
        ours.close(), theirs.close()
        assert embedder.embed_query("a").tolist() == vector_of("a")


def test_threads_and_a_fork_have_what_they_need(service: Service) -> None:
    with service.embedder() as embedder:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(embedder.embed_query, ["a" * n for n in range(40)]))
        assert [one.tolist() for one in found] == [vector_of("a" * n) for n in range(40)]

        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()

        def ask() -> None:
            theirs.send(json.dumps(embedder.embed_query("aaa").tolist()))

        with embedder._lock:  # as when another thread of the parent is about to ask
            child = context.Process(target=ask)
            child.start()
        assert ours.poll(60)
        assert json.loads(ours.recv()) == vector_of("aaa")
        child.join()
        ours.close(), theirs.close()
        assert embedder.embed_query("aa").tolist() == vector_of("aa")


def test_by_name(service: Service) -> None:
    with open_embedder("openai:small", base_url=service.address, api_key=KEY) as embedder:
        assert embedder.embed_query("a").tolist() == vector_of("a")
