from tests.engines.fixtures import milvus_rows as milvus_rows
from tests.engines.fixtures import milvus_uri as milvus_uri
from tests.engines.fixtures import postgres_rows as postgres_rows
from tests.engines.fixtures import qdrant_rows as qdrant_rows
from tests.engines.fixtures import sqlite_rows as sqlite_rows
from tests.engines.fixtures import weaviate_address as weaviate_address
