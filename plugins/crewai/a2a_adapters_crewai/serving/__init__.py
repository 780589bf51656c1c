"""CrewAI crews, flows and agents as A2A agents."""
