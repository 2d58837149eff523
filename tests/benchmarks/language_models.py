"""The small language models against what a user would pick instead.

``python -m tests.benchmarks.language_models``: the trigram beside nltk's (which only scores the
token that came, no row; a sample is timed and scaled up), ten penalties of the bigram beside
scipy's L-BFGS at one of them, and the training of decoder seeds. Beside every wall time stands the
processor's, over all threads, which other work on the machine changes little.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from nltk.lm import KneserNeyInterpolated
from nltk.lm.vocabulary import Vocabulary as NltkVocabulary
from scipy.optimize import minimize

from flows.corpora.synthetic_filings import synthetic_corpora
from flows.language_models.decoder_training import train_decoder
from flows.language_models.forecast_losses import DistinctRows, fitted_temperature
from flows.language_models.kneser_ney import kneser_ney_trigram
from flows.language_models.loglinear_bigram import fit_loglinear_bigrams
from flows.language_models.scored_tokens import scored_tokens
from flows.language_models.vocabulary import encode, vocabulary_of

NLTK_SECONDS = 20.0
"""Of scoring, after its counting; its cost per token differs by context."""

SCIPY_PENALTY = 1e-3


def main() -> None:
    """Run all and print seconds and ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--decoder-seeds", type=int, default=1)
    arguments = parser.parse_args()
    corpora = synthetic_corpora(1)
    _trigram(corpora)
    _bigrams(corpora)
    _decoders(corpora, arguments.decoder_seeds)


@dataclass
class Taken:
    """Seconds of a piece of work, once it is done."""

    wall: float = 0.0
    cpu: float = 0.0

    def __str__(self) -> str:
        return f"{self.wall:.2f} s ({self.cpu:.2f} s of CPU)"


@contextmanager
def clocked() -> Iterator[Taken]:
    """Measure what is done inside."""
    taken = Taken()
    wall, cpu = time.perf_counter(), time.process_time()
    yield taken
    taken.wall, taken.cpu = time.perf_counter() - wall, time.process_time() - cpu


def _trigram(corpora) -> None:  # type: ignore[no-untyped-def]
    with clocked() as building:
        vocabulary = vocabulary_of(corpora.training)
        training = encode(vocabulary, corpora.training)
        trigram = kneser_ney_trigram(vocabulary, training)
    with clocked() as scoring:
        text = encode(vocabulary, corpora.continuation)
        forecasts = trigram.forecast(text)
        scored = scored_tokens(forecasts)
    print(
        f"trigram, V = {vocabulary.outcome_count}: built on {len(training)} tokens in "
        f"{building}, {len(text)} tokens scored from "
        f"{len(forecasts.log_probabilities)} rows in {scoring}; "
        f"mean log loss {-scored.log_probability_nats.mean():.3f} nats"
    )
    per_token, build, count = _nltk(corpora)
    scaled = build + per_token * len(text)
    ours = building.cpu + scoring.cpu
    print(
        f"nltk: counted in {build:.1f} s of CPU, {count} tokens at {per_token * 1000:.0f} ms each, "
        f"so {scaled:.0f} s for the same text: {scaled / ours:.0f} times as long"
    )


def _nltk(corpora) -> tuple[float, float, int]:  # type: ignore[no-untyped-def]
    """Return CPU seconds per token and to count, and how many tokens were timed."""
    started = time.process_time()
    padded = [
        ("<s>", "<s>", *sentence, "</s>")
        for document in corpora.training
        for sentence in document.sentences
    ]
    words = {word for sentence in padded for word in sentence}
    oracle = KneserNeyInterpolated(
        3, discount=0.75, vocabulary=NltkVocabulary(sorted(words), unk_cutoff=1)
    )
    oracle.fit(
        [line[place + 3 - size : place + 3] for place in range(len(line) - 2) for size in (1, 2, 3)]
        for line in padded
    )
    build = time.process_time() - started
    started, count = time.process_time(), 0
    for document in corpora.continuation:
        for sentence in document.sentences:
            line = ("<s>", "<s>", *sentence, "</s>")
            for place in range(2, len(line)):
                oracle.score(line[place], line[place - 2 : place])
                count += 1
                if time.process_time() - started > NLTK_SECONDS:
                    return (time.process_time() - started) / count, build, count
    return (time.process_time() - started) / count, build, count


def _bigrams(corpora) -> None:  # type: ignore[no-untyped-def]
    vocabulary = vocabulary_of(corpora.training, 512)
    training = encode(vocabulary, corpora.training)
    with clocked() as fitting:
        bigrams = fit_loglinear_bigrams(vocabulary, training)
    farthest = max(
        abs(DistinctRows(each.forecast(training)).at(1.0).gradient - each.derivative_by_theorem)
        for each in bigrams
    )
    print(f"bigrams: {len(bigrams)} penalties in {fitting}, identity to {farthest:.0e}")
    counts = np.zeros((vocabulary.outcome_count + 1, vocabulary.outcome_count))
    np.add.at(counts, (training.previous(vocabulary.begin_id), training.token_id), 1)

    def objective(flat):  # type: ignore[no-untyped-def]
        weights = flat.reshape(counts.shape)
        powers = np.exp(weights - weights.max(axis=1, keepdims=True))
        totals = powers.sum(axis=1, keepdims=True)
        log_totals = np.log(totals) + weights.max(axis=1, keepdims=True)
        value = (counts * (log_totals - weights)).sum() / len(training)
        slope = (counts.sum(axis=1, keepdims=True) * powers / totals - counts) / len(training)
        slope += SCIPY_PENALTY * weights
        return value + 0.5 * SCIPY_PENALTY * (weights**2).sum(), slope.ravel()

    with clocked() as newton:
        (ours,) = fit_loglinear_bigrams(vocabulary, training, [SCIPY_PENALTY])
    with clocked() as scipy:
        found = minimize(
            objective,
            np.zeros(counts.size),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 2_000, "maxfun": 10_000, "ftol": 1e-15, "gtol": 1e-8},
        )
    print(
        f"at penalty {SCIPY_PENALTY:g}: Newton {newton} to |gradient| "
        f"{ours.gradient_norm:.0e}; L-BFGS {scipy}, {found.nit} iterations, to "
        f"{np.linalg.norm(found.jac):.0e}: {scipy.cpu / newton.cpu:.0f} times as long"
    )


def _decoders(corpora, seed_count: int) -> None:  # type: ignore[no-untyped-def]
    vocabulary = vocabulary_of(corpora.training, 512)
    training = encode(vocabulary, corpora.training)
    for seed in range(seed_count):
        with clocked() as training_time:
            trained = train_decoder(vocabulary, training, seed)
        on_training = fitted_temperature(trained.decoder.forecast(training))
        print(
            f"decoder seed {seed}: trained in {training_time}, log loss "
            f"{trained.log_loss_nats:.3f} nats, |gradient| {trained.gradient_norm:.4f}, fitted "
            f"temperature on its training text {on_training.fitted_temperature:.3f}"
        )


if __name__ == "__main__":
    main()
