"""Signed links to files."""

from __future__ import annotations

import hmac
import re
import secrets
import time
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import parse_qs, quote, urlsplit

from a2a_adapters import InvalidInputError

PATH = "/files"
"""The path of the links on the server."""

_ID = re.compile(r"([0-9a-f]{32})\.(\d{1,12})\.([0-9a-f]{32})", re.ASCII)
_LINK = re.compile(rf"{PATH}/([0-9a-f.]+)/[^/]+$")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f/\\]")
_NAME_LENGTH = 150


@dataclass(frozen=True, slots=True)
class FileId:
    """The id of a stored file.

    Attributes:
        owner: A digest of the owner.
        expires: The time at which the file expires, in seconds since 1970.
        random: 128 random bits.
    """

    owner: str
    expires: int
    random: str

    def __str__(self) -> str:
        return f"{self.owner}.{self.expires}.{self.random}"

    @property
    def folder(self) -> str:
        """The prefix of the file's objects in the storage."""
        return f"{self.owner}/{self.expires}.{self.random}"

    @property
    def is_expired(self) -> bool:
        """Whether the file has expired."""
        return self.expires <= time.time()

    @classmethod
    def parse(cls, text: str) -> FileId | None:
        """Return the id that a text is, or None."""
        found = _ID.fullmatch(text)
        return cls(found[1], int(found[2]), found[3]) if found else None


class Links:
    """Creates and verifies links.

    Args:
        secret: The key of the signatures.
    """

    def __init__(self, secret: str) -> None:
        self._key = secret.encode()

    def owner(self, name: str) -> str:
        """Return the digest of an owner's name."""
        return self._digest("owner", name)[:32]

    def new_id(self, owner: str, seconds: float) -> FileId:
        """Return an id for a new file of an owner."""
        return FileId(self.owner(owner), int(time.time() + seconds), secrets.token_hex(16))

    def download(self, base: str, file_id: FileId, name: str) -> str:
        """Return the link for reading a file."""
        signature = self._digest("get", str(file_id))
        return f"{base}{PATH}/{file_id}/{quote(safe_name(name), safe='')}?signature={signature}"

    def upload(self, base: str, file_id: FileId, size: int) -> str:
        """Return the link for writing a file of this size, with a placeholder for the part."""
        signature = self._digest("put", f"{file_id} {size}")
        return f"{base}{PATH}/{file_id}/{{part}}?size={size}&signature={signature}"

    def may_read(self, file_id: FileId, signature: str) -> bool:
        """Return whether a signature allows to read a file."""
        return self._is(signature, self._digest("get", str(file_id)))

    def may_write(self, file_id: FileId, size: int, signature: str) -> bool:
        """Return whether a signature allows writing a file of this size."""
        return self._is(signature, self._digest("put", f"{file_id} {size}"))

    def referred(self, url: str, owner: str | None) -> FileId | None:
        """Return the file to which a link of this store refers, or None for other URLs.

        Args:
            url: The URL; untrusted input.
            owner: The name of the owner whose file it must be; None for any.

        Raises:
            InvalidInputError: The link has expired, is forged, or belongs to another owner.
        """
        try:
            address = urlsplit(url)
            query = parse_qs(address.query, max_num_fields=10)
        except ValueError:
            return None
        found = _LINK.search(address.path)
        file_id = FileId.parse(found[1]) if found else None
        if file_id is None:
            return None
        is_signed = self.may_read(file_id, query.get("signature", [""])[0])
        if not is_signed or (owner is not None and file_id.owner != self.owner(owner)):
            raise InvalidInputError("the link to a file is invalid, or belongs to another user")
        if file_id.is_expired:
            raise InvalidInputError("the link to a file has expired; upload the file again")
        return file_id

    def _digest(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose}\n{text}".encode(), sha256).hexdigest()

    @staticmethod
    def _is(given: str, expected: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())


def safe_name(name: str) -> str:
    """Return a file name without folders and control characters, of limited length."""
    name = _UNSAFE.sub("_", name.replace("\\", "/").rpartition("/")[2])
    name = name.encode("utf-8", "replace").decode().strip()
    if len(name) > _NAME_LENGTH:
        stem, dot, suffix = name.rpartition(".")
        ending = dot + suffix if 0 < len(suffix) <= 16 else ""
        name = (stem if ending else name)[: _NAME_LENGTH - len(ending)] + ending
    return "file" if name in {"", ".", ".."} else name
