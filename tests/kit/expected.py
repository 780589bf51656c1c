"""Expected failures of the official test kit, with reasons."""

from __future__ import annotations

DESELECTED = (
    # Expects a blocking send to return a task in `submitted` or `working`.
    "tests/optional/quality/test_task_state_quality.py::test_task_state_transitions",
)

NOT_FOR_PLAIN = (
    "tests/compatibility/core_operations/test_artifacts.py",
    *(
        f"tests/{test}"
        for test in (
            "mandatory/protocol/test_a2a_v030_new_methods.py::TestMethodMappingCompliance::test_core_method_mapping_compliance",
            "mandatory/protocol/test_message_send_method.py::test_message_send_continue_task",
            "mandatory/protocol/test_state_transitions.py::test_task_history_length",
            "mandatory/protocol/test_tasks_cancel_method.py::test_tasks_cancel_valid",
            "optional/capabilities/test_message_send_capabilities.py::test_message_send_continue_with_contextid",
            "optional/quality/test_resilience.py::test_partial_update_recovery",
            "optional/quality/test_task_state_quality.py::test_task_cancel_state_handling",
        )
    ),
)
"""Tests that require the kit's prefixes, or tasks that stay open."""

_CODES = "A2A 1.0.1 changed the code of this error; the kit follows 1.0.0"
_MEDIA_TYPE = "A2A 1.0.1 has the media type application/a2a+json; the kit follows 1.0.0"
_NAMES = (
    "the kit's client for HTTP+JSON sends or reads names in snake case, which JSON does not have"
)

EXPECTED = {
    "1.0": {
        "TestAgentCardStructure::test_agent_card_validates_against_schema": "the kit refuses the "
        "fields of 0.3 in a card, which 1.0 lets be ignored (section 5.7)",
        "TestRestErrorStructure::test_error_uses_aip193_format": _MEDIA_TYPE,
        "TestRestFormat::test_response_content_type": _MEDIA_TYPE,
        "TestAIP193ErrorFormat::test_error_content_type": _MEDIA_TYPE,
        "TestGrpcStatusCodes::test_push_not_supported_returns_unimplemented": _CODES,
        "TestGrpcStatusCodes::test_version_not_supported_returns_unimplemented": _CODES,
        "TestHttpJsonStatusCodes::test_content_type_not_supported_returns_415": _CODES,
        **{
            f"test_requirements::test_must_requirement[CORE-SEND-003-{transport}]": "the kit does "
            "not know that a refusal is what it asks for"
            for transport in ("grpc", "jsonrpc", "http_json")
        },
    },
    "0.3": {
        "test_state_transitions::test_task_history_length": _NAMES,
        "test_edge_cases::test_boundary_values": _NAMES,
        "test_sdk_limitations::test_history_length_parameter_compliance": _NAMES,
        "test_message_send_capabilities::test_message_send_continue_with_contextid": _NAMES,
    },
}
"""Reasons by version and test."""
