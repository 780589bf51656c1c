"""LangChain runnables and LangGraph graphs as A2A agents."""
