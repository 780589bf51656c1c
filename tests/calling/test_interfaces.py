"""Calls use the interface that a2a-sdk's own client would choose."""

from __future__ import annotations

from unittest.mock import create_autospec

import pytest
from a2a.client import ClientConfig, ClientFactory
from a2a.client.transports.base import ClientTransport
from a2a.types import AgentCard, AgentInterface
from hypothesis import given
from hypothesis import strategies as st

from a2a_adapters import RemoteAnswerError
from a2a_adapters.calling.interfaces import GRPC, HTTP_JSON, JSONRPC, choose_interface

VERSIONS = ["1.0", "1.0.1", "1", "1.1", "2.0", "0.3", "0.3.0", "0.4", "0.2.9", "0", "", "newest"]
BINDINGS = [JSONRPC, HTTP_JSON, GRPC]
TRANSPORT = create_autospec(ClientTransport)


def card(*interfaces):
    return AgentCard(
        supported_interfaces=[
            AgentInterface(protocol_binding=binding, protocol_version=version, url=f"http://{n}")
            for n, (binding, version) in enumerate(interfaces)
        ]
    )


def chosen_by_the_sdk(about, bindings, *, by_the_caller):
    called = []

    def note(_card, url, _config):
        called.append(url)
        return TRANSPORT

    config = ClientConfig(supported_protocol_bindings=bindings, use_client_preference=by_the_caller)
    factory = ClientFactory(config)
    for binding in bindings:
        factory.register(binding, note)
    factory.create(about)
    return called[0]


@given(
    st.lists(
        st.tuples(st.sampled_from([*BINDINGS, "OTHER"]), st.sampled_from(VERSIONS)), min_size=1
    ),
    st.lists(st.sampled_from(BINDINGS), unique=True),
)
def test_it_is_the_one_that_the_sdk_chooses(interfaces, wanted):
    about = card(*interfaces)
    offered = {binding for binding, _ in interfaces}
    preferred = [binding for binding in wanted if binding in offered]
    usual = [JSONRPC, HTTP_JSON] if offered & {JSONRPC, HTTP_JSON} else [GRPC]
    try:
        expected = chosen_by_the_sdk(about, preferred or usual, by_the_caller=bool(preferred))
    except ValueError:  # it considers a single binding only
        return
    assert choose_interface(about, wanted).url == expected


def test_an_unsupported_version_lists_the_supported_ones():
    with pytest.raises(RemoteAnswerError, match=r"offers JSONRPC 0\.1; .* of A2A 0\.2"):
        choose_interface(card((JSONRPC, "0.1")), [])


def test_a_binding_with_an_unsupported_version_is_skipped():
    assert (
        choose_interface(card((JSONRPC, "0.1"), (HTTP_JSON, "1.0")), []).protocol_binding
        == HTTP_JSON
    )
