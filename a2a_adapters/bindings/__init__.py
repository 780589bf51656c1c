"""The bindings of the protocol: from a request to an operation of the runtime, and back."""
