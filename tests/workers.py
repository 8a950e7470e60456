"""Less talk between pytest-xdist's processes: of 15,000 short tests it takes half a minute.

For each test a worker sends six messages, of which three are news: what became of it, that it is
over, and that the next one may come. With options that show more, everything is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def send_news_only(config: pytest.Config) -> None:
    """In a worker, keep to itself that a test begins, and that it was set up and put away well."""
    option = config.option
    more = option.verbose > 0 or option.durations is not None or getattr(option, "xmlpath", None)
    if more or {*option.reportchars} & {*"AP"}:
        return
    for plugin in config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor":
            plugin.sendevent = _news_through(plugin.sendevent)


def _news_through(send: Callable[..., None]) -> Callable[..., None]:
    def send_news(name: str, **kwargs: Any) -> None:
        if name == "logstart":
            return
        if name == "testreport":
            report = kwargs["data"]
            if report["when"] != "call" and report["outcome"] == "passed":
                return
        send(name, **kwargs)

    return send_news
