"""Remote agents: call any A2A agent, whatever it is made of."""
