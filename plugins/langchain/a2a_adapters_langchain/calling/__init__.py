"""Remote A2A agents as LangChain models, tools and runnables."""
