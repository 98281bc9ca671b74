from core.ports import Answer
def answer_from(question, subgraph, now):
    return Answer("")
