"""The server side: Agno's clients get answers from the agents served here."""
