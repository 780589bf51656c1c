"""The A2A extension for large files."""

from __future__ import annotations

FILES_EXTENSION = "urn:a2a-adapters:extension:files:v1"
"""URI of the A2A extension for files that are uploaded before a message refers to them.

Its parameters in the card are `address`, relative to the agent's URL, `inline_bytes`, above which
clients should upload, and `file_bytes`, the maximum size of a file. A client sends `filename`,
`media_type` and `size` as JSON with POST to the address. The answer has the `url` for the file part
of the message, and `upload`, a URL with the placeholder `{part}`. The client sends the content
there with PUT in pieces of `part_bytes`, the last one shorter, with their numbers from 0 as `part`.
"""
