"""The bindings of the protocol: they map requests to operations of the runtime, and back."""
