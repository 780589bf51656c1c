"""Commands for other people's agents, as the a2a-cli specification 0.2 has them."""
