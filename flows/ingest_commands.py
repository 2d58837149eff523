"""``calibrary ingest …``: options in, one data set ingested under its name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.command import CommandContext, with_global_options
from flows.corpora.edgar_filings import FIRST_YEAR, EdgarLayout
from flows.corpora.layouts import (
    FilingsLayout,
    ForecastsLayout,
    GenerationsLayout,
    StoriesLayout,
    TextsLayout,
    VectorsLayout,
)
from flows.ingest_stages import FileLayout, IngestStageReport, StudyChanges, ingest_named
from flows.study import ALL

ingest_app = typer.Typer(
    help="Bring stories, generations, ready vectors, forecasts, texts or filings in.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

EDGAR_TEST_SET = "edgar"
"""Name of what is fetched from EDGAR, where no other is given."""

PathArgument = Annotated[str, typer.Argument(help="File or folder (.gz and .zst too).")]
NameOption = Annotated[
    str | None,
    typer.Option("--name", help="Study: one name for what is compared; else the file's name."),
]
PromptsOption = Annotated[
    str | None, typer.Option("--prompts", help="File with the prompts, joined on the prompt id.")
]
DelimiterOption = Annotated[
    str | None, typer.Option("--delimiter", help="Separator of a CSV file.")
]
FormatOption = Annotated[
    str | None, typer.Option("--format", help="jsonl, csv, tsv or parquet, against the ending.")
]
PromptIdColumn = Annotated[str | None, typer.Option("--prompt-id-column")]
PromptColumn = Annotated[str | None, typer.Option("--prompt-column")]
TextColumn = Annotated[str | None, typer.Option("--text-column")]
LanguageModelColumn = Annotated[
    str | None,
    typer.Option("--language-model-column", help="One column, or several joined by + signs."),
]
DecodingStrategyColumn = Annotated[str | None, typer.Option("--decoding-strategy-column")]
EmbeddingModel = Annotated[str | None, typer.Option("--embedding-model")]
EmbeddingMaxTokens = Annotated[int | None, typer.Option("--embedding-max-tokens")]
TaggingModel = Annotated[str | None, typer.Option("--tagging-model")]


@ingest_app.command("stories")
@with_global_options
def stories_command(
    context: CommandContext,
    path: Annotated[
        str, typer.Argument(help="File, folder (also *.wp_source/*.wp_target) or hf:owner/name.")
    ],
    name: NameOption = None,
    prompts: PromptsOption = None,
    prompt_id_column: PromptIdColumn = None,
    prompt_column: PromptColumn = None,
    text_column: TextColumn = None,
    delimiter: DelimiterOption = None,
    record_format: FormatOption = None,
    split: Annotated[str | None, typer.Option("--split", help="Split of a hub data set.")] = None,
    stories_per_prompt: Annotated[
        int | None, typer.Option("--stories-per-prompt", help="Stories drawn; 10 if not given.")
    ] = None,
    prompt_count: Annotated[
        str | None,
        typer.Option("--prompt-count", help="Prompts kept at most, or all; 500 if not given."),
    ] = None,
    minimum_prompt_characters: Annotated[
        int | None, typer.Option("--minimum-prompt-characters", help="20 if not given.")
    ] = None,
    maximum_prompt_characters: Annotated[
        int | None, typer.Option("--maximum-prompt-characters", help="500 if not given.")
    ] = None,
    minimum_story_tokens: Annotated[
        int | None, typer.Option("--minimum-story-tokens", help="52 if not given.")
    ] = None,
    maximum_story_tokens: Annotated[
        int | None, typer.Option("--maximum-story-tokens", help="987 if not given.")
    ] = None,
    tokenizer: Annotated[
        str | None, typer.Option("--tokenizer", help="Counts story tokens in the selection.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of the draw.")] = None,
    embedding_model: EmbeddingModel = None,
    embedding_max_tokens: EmbeddingMaxTokens = None,
    tagging_model: TaggingModel = None,
) -> None:
    """Ingest human stories and select prompts and stories for a study."""
    layout = StoriesLayout(
        path=path,
        prompts=prompts,
        prompt_id_column=prompt_id_column,
        prompt_column=prompt_column,
        text_column=text_column,
        delimiter=delimiter,
        record_format=record_format,
        split=split,
    )
    changes: StudyChanges = {
        "stories_per_prompt": stories_per_prompt,
        "prompt_count": _count_or_all(prompt_count),
        "minimum_prompt_characters": minimum_prompt_characters,
        "maximum_prompt_characters": maximum_prompt_characters,
        "minimum_story_tokens": minimum_story_tokens,
        "maximum_story_tokens": maximum_story_tokens,
        "tokenizer_name": tokenizer,
        "selection_seed": seed,
        "embedding_model_name": embedding_model,
        "embedding_max_tokens": embedding_max_tokens,
        "tagging_model_name": tagging_model,
    }
    _ingest(context, name, layout, changes)


@ingest_app.command("generations")
@with_global_options
def generations_command(
    context: CommandContext,
    path: PathArgument,
    name: NameOption = None,
    prompts: PromptsOption = None,
    prompt_id_column: PromptIdColumn = None,
    prompt_column: PromptColumn = None,
    text_column: TextColumn = None,
    language_model: Annotated[
        str | None,
        typer.Option("--language-model", help="Name, or what a column's value is joined to."),
    ] = None,
    language_model_column: LanguageModelColumn = None,
    decoding_strategy: Annotated[
        str | None, typer.Option("--decoding-strategy", help="Name, where no column has it.")
    ] = None,
    decoding_strategy_column: DecodingStrategyColumn = None,
    sample_index_column: Annotated[str | None, typer.Option("--sample-index-column")] = None,
    seed_column: Annotated[str | None, typer.Option("--seed-column")] = None,
    stop_reason_column: Annotated[str | None, typer.Option("--stop-reason-column")] = None,
    sampling_temperature_column: Annotated[
        str | None, typer.Option("--sampling-temperature-column")
    ] = None,
    delimiter: DelimiterOption = None,
    record_format: FormatOption = None,
    samples_per_prompt: Annotated[
        int | None, typer.Option("--samples-per-prompt", help="Samples that should be there.")
    ] = None,
    embedding_model: EmbeddingModel = None,
    embedding_max_tokens: EmbeddingMaxTokens = None,
    tagging_model: TaggingModel = None,
) -> None:
    """Ingest texts that language models wrote elsewhere; what is missing is never filled in."""
    layout = GenerationsLayout(
        path=path,
        prompts=prompts,
        prompt_id_column=prompt_id_column,
        prompt_column=prompt_column,
        text_column=text_column,
        language_model=language_model,
        language_model_column=language_model_column,
        decoding_strategy=decoding_strategy,
        decoding_strategy_column=decoding_strategy_column,
        sample_index_column=sample_index_column,
        seed_column=seed_column,
        stop_reason_column=stop_reason_column,
        sampling_temperature_column=sampling_temperature_column,
        delimiter=delimiter,
        record_format=record_format,
    )
    changes: StudyChanges = {
        "samples_per_prompt": samples_per_prompt,
        "embedding_model_name": embedding_model,
        "embedding_max_tokens": embedding_max_tokens,
        "tagging_model_name": tagging_model,
    }
    _ingest(context, name, layout, changes)


@ingest_app.command("diversity-vectors")
@with_global_options
def diversity_vectors_command(
    context: CommandContext,
    path: PathArgument,
    name: NameOption = None,
    prompt_id_column: PromptIdColumn = None,
    story_source_column: Annotated[str | None, typer.Option("--story-source-column")] = None,
    language_model_column: LanguageModelColumn = None,
    decoding_strategy_column: DecodingStrategyColumn = None,
    delimiter: DelimiterOption = None,
    record_format: FormatOption = None,
) -> None:
    """Ingest ready diversity vectors: long, or human and model columns side by side."""
    layout = VectorsLayout(
        path=path,
        prompt_id_column=prompt_id_column,
        story_source_column=story_source_column,
        language_model_column=language_model_column,
        decoding_strategy_column=decoding_strategy_column,
        delimiter=delimiter,
        record_format=record_format,
    )
    _ingest(context, name, layout, {})


@ingest_app.command("forecasts")
@with_global_options
def forecasts_command(
    context: CommandContext,
    path: Annotated[
        str, typer.Argument(help="File or folder of forecasts, or an .npz of softmax and labels.")
    ],
    name: NameOption = None,
    language_model: Annotated[
        str | None, typer.Option("--language-model", help="What made them; else the file's name.")
    ] = None,
    true_label_column: Annotated[str | None, typer.Option("--true-label-column")] = None,
    pred_label_column: Annotated[str | None, typer.Option("--pred-label-column")] = None,
    confidence_column: Annotated[str | None, typer.Option("--confidence-column")] = None,
    probabilities_column: Annotated[
        str | None,
        typer.Option("--probabilities-column", help="Lists of probabilities of all labels."),
    ] = None,
    delimiter: DelimiterOption = None,
    record_format: FormatOption = None,
) -> None:
    """Ingest forecasts made elsewhere: label, top label and confidence, or whole softmax rows."""
    layout = ForecastsLayout(
        path=path,
        language_model=language_model,
        true_label_column=true_label_column,
        pred_label_column=pred_label_column,
        confidence_column=confidence_column,
        probabilities_column=probabilities_column,
        delimiter=delimiter,
        record_format=record_format,
    )
    _ingest(context, name, layout, {})


@ingest_app.command("texts")
@with_global_options
def texts_command(
    context: CommandContext,
    path: Annotated[
        str, typer.Argument(help="Records, or plain text files that are one document each.")
    ],
    name: Annotated[
        str | None, typer.Option("--name", help="Test set; else the file's name.")
    ] = None,
    text_column: TextColumn = None,
    context_column: Annotated[
        str | None,
        typer.Option("--context-column", help="What stands before each text and is not scored."),
    ] = None,
    delimiter: DelimiterOption = None,
    record_format: FormatOption = None,
) -> None:
    """Ingest texts as a test set, for `calibrary score`."""
    chosen = _name_of(path) if name is None else name
    layout = TextsLayout(
        path=path,
        test_set_name=chosen,
        text_column=text_column,
        context_column=context_column,
        delimiter=delimiter,
        record_format=record_format,
    )
    _ingest(context, chosen, layout, {})


@ingest_app.command("filings")
@with_global_options
def filings_command(
    context: CommandContext,
    path: Annotated[
        str | None,
        typer.Argument(help="Filings (.txt, .html, .gz), or records of sections cut elsewhere."),
    ] = None,
    companies: Annotated[
        list[str] | None,
        typer.Option("--company", help="Fetched from EDGAR: a CIK or ticker; may be repeated."),
    ] = None,
    years: Annotated[
        list[int] | None,
        typer.Option(
            "--year",
            min=FIRST_YEAR,
            help="Year in which the period of report ends; may be repeated.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Test set; else the file's name, or edgar.")
    ] = None,
    has_tables: Annotated[
        bool, typer.Option("--tables/--no-tables", help="Keep rows of figures in Item 7.")
    ] = False,
) -> None:
    """Ingest Item 7 of filings as a test set; every filing gets a row, with or without one."""
    if path is not None and not (companies or years):
        chosen = _name_of(path) if name is None else name
        _ingest(context, chosen, FilingsLayout(path, chosen, has_tables), {})
        return
    if path is not None or not companies or not years:
        raise typer.BadParameter(
            "filings must be a PATH, or the annual reports of at least one --company and --year."
        )
    chosen = EDGAR_TEST_SET if name is None else name
    access = context.settings.edgar_access
    layout = EdgarLayout(tuple(companies), tuple(years), chosen, access, has_tables)
    _show(context, ingest_named(context.settings, chosen, layout, {}))


def _ingest(
    context: CommandContext,
    name: str | None,
    layout: FileLayout,
    changes: StudyChanges,
) -> None:
    chosen = _name_of(layout.path) if name is None else name
    _show(context, ingest_named(context.settings, chosen, layout, changes))


def _show(context: CommandContext, report: IngestStageReport) -> None:
    context.show(report.as_record(), report.as_text())


def _count_or_all(given: str | None) -> int | str | None:
    if given is None or given == ALL:
        return given
    if not (given.isascii() and given.isdecimal()):
        raise typer.BadParameter(f"--prompt-count must be a whole number or all, got {given!r}.")
    return int(given)


def _name_of(path: str) -> str:
    """Return a data set name made of the file's own, without its endings."""
    return Path(path.removeprefix("hf:")).name.split(".")[0]
