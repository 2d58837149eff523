"""Language models that were trained here, and what only exact rows give."""

from __future__ import annotations

import sqlalchemy as sa

from warehouse.tables.columns import key, may, metadata, must

trained_language_models = sa.Table(
    "trained_language_models",
    metadata,
    key("language_model_id", "Language model, a key of raw.language_models."),
    must(
        "language_model_kind",
        sa.String,
        "'kneser_ney_trigram', 'loglinear_bigram', 'decoder' or 'fact_model'.",
        one_of=("kneser_ney_trigram", "loglinear_bigram", "decoder", "fact_model"),
    ),
    must("training_sha256", sa.String, "SHA-256 of the training text, 64 hexadecimal digits."),
    must("training_token_count", sa.Integer, "Outcomes in the training text.", minimum=1),
    must("outcome_count", sa.Integer, "Outcomes of a forecast.", minimum=1),
    may("seed", sa.Integer, "Seed of weights and draws. NULL: nothing is drawn."),
    may(
        "discount_factor",
        sa.Double,
        "What Ney's discounts were multiplied by. NULL: capped throughout, or no trigram.",
        is_finite=True,
    ),
    may(
        "is_capped",
        sa.Boolean,
        "Whether every discount stands at its cap of 0.99. NULL: no trigram.",
    ),
    may("trigram_discount", sa.Double, "Discount of trigram counts. NULL: no trigram."),
    may("bigram_discount", sa.Double, "Discount of bigram counts. NULL: no trigram."),
    may("unigram_discount", sa.Double, "Discount of unigram counts. NULL: no trigram."),
    may("penalty", sa.Double, "L2 penalty. NULL: no log-linear bigram.", is_finite=True),
    may(
        "squared_weight_norm",
        sa.Double,
        "Sum of squared weights. NULL: no log-linear bigram.",
        is_finite=True,
    ),
    may(
        "gradient_norm",
        sa.Double,
        "Norm of the objective's gradient where training ended. NULL: counted, not optimised.",
        is_finite=True,
    ),
    may(
        "training_log_loss_nats",
        sa.Double,
        "Mean log loss on the training text. NULL: not computed.",
        is_finite=True,
    ),
    may(
        "training_derivative_at_1_nats",
        sa.Double,
        "dL/dβ at β = 1 on the training text. NULL: not computed.",
        is_finite=True,
    ),
    may(
        "training_fitted_temperature",
        sa.Double,
        "Temperature of least log loss on the training text. NULL: not computed, or none.",
        is_finite=True,
    ),
    may("weights_file_name", sa.String, "File under the home's weights. NULL: none is kept."),
    comment="One row per language model that was trained here, on a text made from a seed.",
)

exact_fits = sa.Table(
    "exact_fits",
    metadata,
    key("scoring_id", "Scoring, a key of raw.scorings."),
    key("token_group", "'all', 'known_words', or a regime of facts."),
    must("token_count", sa.BigInteger, "Tokens of the group.", minimum=1),
    must(
        "fit_status",
        sa.String,
        "'converged', 'no_finite_optimum' or 'flat'.",
        one_of=("converged", "no_finite_optimum", "flat"),
    ),
    may(
        "fitted_temperature",
        sa.Double,
        "Temperature of least log loss over exact rows. NULL: there is none.",
        is_finite=True,
    ),
    may("log_loss_nats", sa.Double, "Mean log loss there. NULL: there is none.", is_finite=True),
    must("log_loss_at_1_nats", sa.Double, "Mean log loss at temperature 1."),
    may(
        "log_loss_at_pooled_nats",
        sa.Double,
        "Mean log loss at the temperature fitted to all tokens. NULL: there is none.",
        is_finite=True,
    ),
    must("derivative_at_1_nats", sa.Double, "dL/dβ at β = 1."),
    must("mean_confidence", sa.Double, "Mean probability of the top label."),
    must("accuracy", sa.Double, "Share of tokens whose top label came."),
    may(
        "temperature_gain_nats",
        sa.Double,
        "Cross-fitted gain of a temperature. NULL: a half has no optimum, or a group of facts.",
        is_finite=True,
    ),
    may(
        "unknown_map_gain_nats",
        sa.Double,
        "Cross-fitted gain of mapping the share of unknown words onto <unk>. NULL: a half has "
        "none, or not all tokens.",
        is_finite=True,
    ),
    may(
        "is_unknown_last",
        sa.Boolean,
        "Whether <unk> is last in every row used. NULL: not all tokens.",
    ),
    may(
        "row_rank_correlation",
        sa.Double,
        "Kendall's tau-b over distinct rows of the confidences at temperatures 1 and 2. NULL: "
        "not all tokens, or undefined.",
        is_finite=True,
    ),
    comment="One row per scoring by a language model trained here and group of tokens: the "
    "temperature fitted to its exact rows.",
)

fact_probes = sa.Table(
    "fact_probes",
    metadata,
    key("scoring_id", "Scoring, a key of raw.scorings."),
    key("token_index", "Place of the probe among the scored tokens, from 0.", sa.Integer),
    must("mention_count", sa.Integer, "Times the training text states the fact.", minimum=0),
    comment="One row per fact that the fact model was asked.",
)
