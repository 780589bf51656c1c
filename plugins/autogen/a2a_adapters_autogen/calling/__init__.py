"""Remote agents as AutoGen's model clients, agents and tools."""
