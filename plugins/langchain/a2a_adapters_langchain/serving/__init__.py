"""LangChain runnables and LangGraph graphs as A2A agents.

| modules                                        | idea                                            |
|------------------------------------------------|-------------------------------------------------|
| `adapt`                                        | chooses the adapter of a target                 |
| `runnable`; `graph`, `remote`                  | the adapters                                    |
| `input`, `config`; `content`                   | a request as the input of a run; parts          |
| `graph_run`, `progress`, `watch`               | a run as events                                 |
| `result`, `transcript`, `sent`                 | the answer from its state, and what was sent    |
| `answer_nodes`, `guards`, `checked`            | which text is the answer, and when it is sent   |
| `schema`, `references`, `packages`             | the parts of a target                           |
| `thread`, `memory`, `checkpointer`             | conversations                                   |
| `interrupts`, `recovery`                       | questions, and runs of dead processes           |
"""
