"""The engines that the dialects are held against.

Every engine stands behind one shape, ``Rows`` (rows.py): load documents, select with a native
query, close. PostgreSQL, Qdrant, Milvus, Chroma, DuckDB and SQLite run for real, inside the test process or as a
child of it. Pinecone and Weaviate cannot: ``pinecone_rules`` and ``weaviate_rules`` are small,
strict interpreters of their documented filter rules. An environment variable points each one at a
server instead (fixtures.py lists them).

Nothing in here may import a dialect's emitter: these are the other side of the comparison.
"""
