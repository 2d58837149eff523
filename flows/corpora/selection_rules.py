"""The settings of a selection, and the sentence that says which of them left something out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SelectionRules:
    """The settings a selection depends on; limits are inclusive."""

    stories_per_prompt: int
    prompt_count: int | None
    minimum_prompt_characters: int
    maximum_prompt_characters: int
    minimum_story_tokens: int
    maximum_story_tokens: int
    selection_seed: int
    tokenizer_name: str


def prompt_detail(
    reason: str, rules: SelectionRules, *, character_count: int, unique_count: int, rank: int
) -> str:
    """Return why a prompt was rejected, with its values; *rank* is 0-based."""
    match reason:
        case "prompt_too_short":
            least = rules.minimum_prompt_characters
            return f"The prompt has {character_count} characters; at least {least} are needed."
        case "prompt_too_long":
            most = rules.maximum_prompt_characters
            return f"The prompt has {character_count} characters; at most {most} are allowed."
        case "no_stories":
            return "No story answers the prompt."
        case "too_few_stories":
            return (
                f"The prompt has {unique_count} unique stories within the limits; "
                f"{rules.stories_per_prompt} are needed."
            )
        case _:
            return (
                f"The prompt ranks {rank + 1} by spread of story length; "
                f"the first {rules.prompt_count} are kept."
            )


def story_detail(
    reason: str, rules: SelectionRules, *, token_count: int, prompt_reason: str, first_copy: str
) -> str:
    """Return why a story was rejected, with its values."""
    match reason:
        case "prompt_rejected":
            return f"Its prompt was rejected: {prompt_reason}."
        case "empty_story":
            return "The story has no word."
        case "story_too_short":
            least = rules.minimum_story_tokens
            return f"The story has {token_count} tokens; at least {least} are needed."
        case "story_too_long":
            most = rules.maximum_story_tokens
            return f"The story has {token_count} tokens; at most {most} are allowed."
        case "duplicate_story":
            return f"The story equals story {first_copy}, which stays."
        case _:
            return (
                f"Its prompt has more stories than the {rules.stories_per_prompt} that seed "
                f"{rules.selection_seed} draws."
            )
