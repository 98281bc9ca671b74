"""What happens while a question is answered, in one line for a person who waits."""

from __future__ import annotations

from core.ask.events import Event


def in_words(event: Event) -> str:
    """The event in words; empty for the last ones, whose answer is shown anyway."""
    told = event.data
    match event.name:
        case "grounding":
            return f"read the graph: {told['classes']} classes"
        case "route":
            return f"route: {told['kind']} ({told['confidence']:.2f})"
        case "step":
            rows = f" ({told['rows']} rows)" if "rows" in told else ""
            return f"{told['n']}. {told['tool']}: {told['input']}{rows if told['ok'] else ' (failed)'}"
        case _:
            return ""
