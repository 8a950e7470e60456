"""Write the fuller sample of the playground: what the demo knows of some docstrings.

    python -m tools.playground_sample

Metadata alone is kept, which is all that a filter looks at; the texts stay where they are. Which
definitions there are depends on the Python that runs this, so the file is made again when somebody
wants it newer, and no test compares the two.
"""

from __future__ import annotations

import json
from pathlib import Path

from vecstore.cli.corpus import collect, library_files

WANTED = 150
PLACE = Path(__file__).resolve().parent.parent / "vecstore/playground/assets/docstrings.json"


def sample(wanted: int = WANTED) -> list[str]:
    """The documents, each as the JSON text of its metadata, spread evenly over the library."""
    documents = collect(library_files())
    step = len(documents) / wanted
    return [
        json.dumps(documents[int(number * step)].metadata, ensure_ascii=False)
        for number in range(wanted)
    ]


if __name__ == "__main__":
    PLACE.write_text("[\n" + ",\n".join(sample()) + "\n]\n", "utf-8")
    print(f"{PLACE.name}: {WANTED} documents, {PLACE.stat().st_size:,} bytes")
