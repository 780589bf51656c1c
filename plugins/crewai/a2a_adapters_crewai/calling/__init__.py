"""Remote A2A agents as CrewAI's own models, tools and agents."""
