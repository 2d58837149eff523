"""How a prompt is framed for a language model: its own chat template, or a plain frame.

The begin-of-text token stands in front exactly once where the tokenizer has one for a plain frame,
and as often as the chat template says, but never twice, for a chat.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from flows.language_models.errors import LanguageModelError
from flows.language_models.ready_made import TemplateChoice
from udfs.packaged_models import first_sentence

PLAIN_FRAME = "Prompt: {prompt}\n\nStory:\n"
"""For base models. The story starts on a line of its own: its first token is a whole one."""

CHAT_REQUEST = (
    "Write a short story in response to the prompt below. Give the story only, without a title.\n\n"
    "{prompt}"
)
"""What the user says in a chat."""


@dataclass(frozen=True)
class Template:
    """A frame and the tokenizer that applies it."""

    template_name: str
    template_text: str
    """The frame, and for a chat the tokenizer's template after it."""
    tokenizer: Any

    @property
    def template_sha256(self) -> str:
        """Fingerprint of the text: what a prompt is turned into depends on nothing else."""
        return hashlib.sha256(self.template_text.encode()).hexdigest()

    def refusal(self, prompt_text: str) -> str | None:
        """Return why *prompt_text* cannot be framed, None if it can.

        The tokenizer would read a special token spelled out in it as that token: a prompt could end
        its own turn, or begin a text anew.
        """
        found = [token for token in special_tokens(self.tokenizer) if token in prompt_text]
        if not found:
            return None
        return f"a prompt must not spell out a special token of the tokenizer, has {found[0]!r}"

    def framed(self, prompt_text: str) -> list[int]:
        """Return the token ids of the framed prompt, with one begin-of-text token."""
        if self.template_name == "plain":
            text = PLAIN_FRAME.format(prompt=prompt_text)
            ids = list(self.tokenizer(text, add_special_tokens=False)["input_ids"])
            return with_one_leading(ids, self.tokenizer.bos_token_id)
        text = self.framed_text(prompt_text)
        ids = list(self.tokenizer(text, add_special_tokens=False)["input_ids"])
        return without_repeated_leading(ids, self.tokenizer.bos_token_id)

    def framed_text(self, prompt_text: str) -> str:
        """Return the framed prompt as text, special tokens written out."""
        if self.template_name == "plain":
            return PLAIN_FRAME.format(prompt=prompt_text)
        message = {"role": "user", "content": CHAT_REQUEST.format(prompt=prompt_text)}
        return str(
            self.tokenizer.apply_chat_template(
                [message], add_generation_prompt=True, tokenize=False
            )
        )


def special_tokens(tokenizer: Any) -> list[str]:
    """Return how the special tokens of *tokenizer* are spelled; those of Llama 3 have no name."""
    if tokenizer is None:
        return []
    added = tokenizer.added_tokens_decoder.values()
    found = {*tokenizer.all_special_tokens, *(str(token) for token in added if token.special)}
    return sorted(found - {""})


def choose_template(tokenizer: Any, choice: TemplateChoice, place: str) -> Template:
    """Return the template of *choice*; ``auto`` is a chat where the tokenizer has a template.

    Raises
    ------
    LanguageModelError
        A chat is asked of a tokenizer without a template, or its template does not work.
    """
    chat_template = getattr(tokenizer, "chat_template", None)
    if choice == "plain" or (choice == "auto" and not chat_template):
        return Template("plain", PLAIN_FRAME, tokenizer)
    if not isinstance(chat_template, str):
        raise LanguageModelError(
            f"template chat must have a chat template in the tokenizer, found none in {place}; "
            "write template: plain, or name the instruct version of the model."
        )
    template = Template("chat", f"{CHAT_REQUEST}\n\n{chat_template}", tokenizer)
    try:
        template.framed_text("A prompt.")
    except Exception as error:  # noqa: BLE001 - a template can raise anything
        raise LanguageModelError(
            f"the chat template of {place} must be usable with one message of the user: "
            f"{first_sentence(error)}; write template: plain."
        ) from None
    return template


def with_one_leading(ids: list[int], token_id: int | None) -> list[int]:
    """Return *ids* with *token_id* in front exactly once; as they are where it is None.

    Examples
    --------
    >>> with_one_leading([5, 7], 1), with_one_leading([1, 1, 5], 1)
    ([1, 5, 7], [1, 5])
    """
    if token_id is None:
        return ids
    found = without_repeated_leading(ids, token_id)
    return found if found[:1] == [token_id] else [token_id, *found]


def without_repeated_leading(ids: list[int], token_id: int | None) -> list[int]:
    """Return *ids* with *token_id* in front at most once."""
    start = 0
    while token_id is not None and ids[start : start + 2] == [token_id, token_id]:
        start += 1
    return ids[start:]
