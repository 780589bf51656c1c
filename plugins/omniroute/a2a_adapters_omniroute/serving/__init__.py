"""The server side: OmniRoute's clients get answers from the agents served here."""
