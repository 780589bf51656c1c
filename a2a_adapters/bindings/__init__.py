"""The protocol over HTTP: from a request to an operation of the runtime, and back."""
