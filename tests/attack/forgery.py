"""An identity provider's keys, and forged tokens."""

from __future__ import annotations

import base64
import json
import time
from functools import cache

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ISSUER, AUDIENCE = "https://login.example.org", "https://agent.example.org"

_KEY, _OTHER = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))


def _public(key: rsa.RSAPrivateKey) -> dict[str, str]:
    algorithm = jwt.get_algorithm_by_name("RS256")
    return json.loads(algorithm.to_jwk(key.public_key())) | {"kid": "one", "use": "sig"}


KEYS = {"keys": [_public(_KEY)]}


def token(
    key: rsa.RSAPrivateKey | str | None = _KEY,
    algorithm: str = "RS256",
    header: dict[str, object] | None = None,
    **claims: object,
) -> str:
    """Return a token that is valid except for the arguments."""
    content = {"sub": "ann", "iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 600} | claims
    content = {name: value for name, value in content.items() if value is not None}
    return jwt.encode(content, key, algorithm, {"kid": "one"} | (header or {}))


def _pieces(*pieces: object) -> str:
    return ".".join(
        base64.urlsafe_b64encode(json.dumps(piece).encode()).rstrip(b"=").decode()
        for piece in pieces
    )


@cache
def forged() -> dict[str, str]:
    """Return invalid tokens by their fault."""
    good = token()
    head, claims, signature = good.split(".")
    pem = _KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    # Encoded by hand, because the library refuses to sign with a public key.
    content = {"sub": "ann", "iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 600}
    confused = _pieces({"alg": "HS256", "kid": "one"}, content)
    mac = jwt.get_algorithm_by_name("HS256").sign(confused.encode(), pem)
    return {
        "no algorithm": _pieces({"alg": "none", "kid": "one"}, content) + ".",
        "no algorithm, in capitals": _pieces({"alg": "NONE", "kid": "one"}, content) + ".",
        "the public key as a secret": confused
        + "."
        + base64.urlsafe_b64encode(mac).rstrip(b"=").decode(),
        "another key": token(_OTHER),
        "another key, in the header": token(_OTHER, header={"jwk": _public(_OTHER)}),
        "another address of keys": token(_OTHER, header={"jku": "https://evil.example/keys"}),
        "an unknown key": token(header={"kid": "two"}),
        "a path for a key": token(_OTHER, header={"kid": "../../../../dev/null"}),
        "another algorithm": token(algorithm="RS512"),
        "a critical extension": token(header={"crit": ["exp"]}),
        "another issuer": token(iss="https://evil.example"),
        "no issuer": token(iss=None),
        "another audience": token(aud="https://other.example.org"),
        "no audience": token(aud=None),
        "no user": token(sub=None),
        "no end": token(exp=None),
        "over": token(exp=time.time() - 600),
        "not yet": token(nbf=time.time() + 600),
        "no signature": f"{head}.{claims}.",
        "half a signature": f"{head}.{claims}.{signature[: len(signature) // 2]}",
        "other claims": f"{head}.{_pieces(content | {'sub': 'root'})}.{signature}",
        "not a token": "a.b.c",
        "a large one": "a" * 30_000,
    }
