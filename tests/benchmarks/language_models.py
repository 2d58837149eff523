"""The small language models against what a user would pick instead.

``python -m tests.benchmarks.language_models``: the trigram beside nltk's (which only scores the
token that came, no row; a sample is timed and scaled up), ten penalties of the bigram beside
scipy's L-BFGS at one of them, and the training of decoder seeds.
"""

from __future__ import annotations

import argparse
import time

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


def _trigram(corpora) -> None:  # type: ignore[no-untyped-def]
    started = time.perf_counter()
    vocabulary = vocabulary_of(corpora.training)
    training = encode(vocabulary, corpora.training)
    trigram = kneser_ney_trigram(vocabulary, training)
    built = time.perf_counter()
    text = encode(vocabulary, corpora.continuation)
    forecasts = trigram.forecast(text)
    scored = scored_tokens(forecasts)
    done = time.perf_counter()
    print(
        f"trigram, V = {vocabulary.outcome_count}: built on {len(training)} tokens in "
        f"{built - started:.2f} s, {len(text)} tokens scored from "
        f"{len(forecasts.log_probabilities)} rows in {done - built:.2f} s; "
        f"mean log loss {-scored.log_probability_nats.mean():.3f} nats"
    )
    per_token, build, count = _nltk(corpora)
    scaled = build + per_token * len(text)
    print(
        f"nltk: counted in {build:.1f} s, {count} tokens at {per_token * 1000:.0f} ms each, so "
        f"{scaled:.0f} s for the same text: {scaled / (done - started):.0f} times as long"
    )


def _nltk(corpora) -> tuple[float, float, int]:  # type: ignore[no-untyped-def]
    """Return seconds per token, seconds to count, and how many tokens were timed."""
    started = time.perf_counter()
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
    build = time.perf_counter() - started
    started, count = time.perf_counter(), 0
    for document in corpora.continuation:
        for sentence in document.sentences:
            line = ("<s>", "<s>", *sentence, "</s>")
            for place in range(2, len(line)):
                oracle.score(line[place], line[place - 2 : place])
                count += 1
                if time.perf_counter() - started > NLTK_SECONDS:
                    return (time.perf_counter() - started) / count, build, count
    return (time.perf_counter() - started) / count, build, count


def _bigrams(corpora) -> None:  # type: ignore[no-untyped-def]
    vocabulary = vocabulary_of(corpora.training, 512)
    training = encode(vocabulary, corpora.training)
    started = time.perf_counter()
    bigrams = fit_loglinear_bigrams(vocabulary, training)
    seconds = time.perf_counter() - started
    farthest = max(
        abs(DistinctRows(each.forecast(training)).at(1.0).gradient - each.derivative_by_theorem)
        for each in bigrams
    )
    print(f"bigrams: {len(bigrams)} penalties in {seconds:.2f} s, identity to {farthest:.0e}")
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

    started = time.perf_counter()
    (ours,) = fit_loglinear_bigrams(vocabulary, training, [SCIPY_PENALTY])
    newton = time.perf_counter() - started
    started = time.perf_counter()
    found = minimize(
        objective,
        np.zeros(counts.size),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 2_000, "maxfun": 10_000, "ftol": 1e-15, "gtol": 1e-8},
    )
    scipy = time.perf_counter() - started
    print(
        f"at penalty {SCIPY_PENALTY:g}: Newton {newton:.2f} s to |gradient| "
        f"{ours.gradient_norm:.0e}; L-BFGS {scipy:.1f} s, {found.nit} iterations, to "
        f"{np.linalg.norm(found.jac):.0e}: {scipy / newton:.0f} times as long"
    )


def _decoders(corpora, seed_count: int) -> None:  # type: ignore[no-untyped-def]
    vocabulary = vocabulary_of(corpora.training, 512)
    training = encode(vocabulary, corpora.training)
    for seed in range(seed_count):
        wall, cpu = time.perf_counter(), time.process_time()
        trained = train_decoder(vocabulary, training, seed)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        on_training = fitted_temperature(trained.decoder.forecast(training))
        print(
            f"decoder seed {seed}: trained in {wall:.0f} s ({cpu:.0f} s of CPU), log loss "
            f"{trained.log_loss_nats:.3f} nats, |gradient| {trained.gradient_norm:.4f}, fitted "
            f"temperature on its training text {on_training.fitted_temperature:.3f}"
        )


if __name__ == "__main__":
    main()
