"""Remote agents as models, tools and handoffs of the OpenAI Agents SDK."""
