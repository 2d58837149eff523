"""What synthetic filings are made of: templates, boilerplate, and the words of every slot.

The words are hyphenated compounds, so that thousands of distinct types still read as a filing. The
order of a lexicon is its order of frequency, shuffled once so that neighbours share no part.
"""

from __future__ import annotations

from itertools import product

import numpy as np

LEXICON_SEED = 3
"""Of the order of frequency: part of the language, the same for every corpus."""

TEMPLATES = (
    "net sales of {noun} {verb} by {number} compared with the prior year",
    "the {adjective} {noun} {verb} because of lower {noun} in {geography}",
    "cost of {noun} as a percentage of net sales was {number}",
    "{company} conducts its business from its head office in {place}",
    "gross margin on {noun} {verb} to {number} of revenue",
    "we expect {adjective} {noun} to continue in {geography}",
    "{company} acquired the {adjective} {noun} business of {company}",
    "operating expenses related to {noun} {verb} from {number} to {number}",
    "demand for {noun} in {geography} {verb} during the fourth quarter",
    "our {noun} segment recorded {adjective} charges of {number}",
    "the increase was primarily due to {adjective} {noun} and {noun}",
    "the decrease was partially offset by higher {noun} in {geography}",
    "cash provided by operating activities {verb} as a result of {noun}",
    "capital expenditures for {noun} were {number} and were funded by {noun}",
    "interest expense {verb} because the {adjective} facility was repaid",
    "{company} opened a {noun} plant near {place}",
    "the effective tax rate was {number} compared with {number}",
    "we {verb} our {noun} inventories ahead of the {adjective} season",
    "sales to {company} accounted for {number} of total revenue",
    "management believes that {noun} will remain {adjective}",
    "working capital {verb} to {number} at the end of the year",
    "the {noun} agreement with {company} expires in {place}",
    "foreign currency reduced {noun} in {geography} by {number}",
    "research on {adjective} {noun} {verb} at our site in {place}",
)
"""One is drawn, each as likely, for a sentence that is not boilerplate."""

BOILERPLATE = (
    "actual results could differ materially from those projected in the forward looking statements",
    "the following discussion should be read in conjunction with the consolidated financial "
    "statements and notes thereto",
    "there were no material changes in our critical accounting policies during the year",
    "inflation has not had a significant effect on our operations in the periods presented",
    "we do not have any off balance sheet arrangements as defined by the rules of the commission",
    "management believes that existing cash will be sufficient to meet its requirements",
    "certain prior year amounts have been reclassified to conform to the current presentation",
)


def _words(line: str) -> list[str]:
    return line.split()


_QUALIFIERS = _words(
    "retail store service product license contract freight energy fuel labor pension lease export "
    "import component software network storage consumer dealer franchise catalog warranty rental "
    "mortgage premium claims loan deposit equity advisory insurance chemical paper steel grain "
    "dairy apparel footwear tobacco beverage medical dental optical aviation marine"
)
_HEADS = _words(
    "revenues costs volumes prices margins orders shipments fees royalties expenses receivables "
    "payables balances commissions rebates discounts returns backlogs reserves provisions accruals "
    "credits charges settlements programs initiatives channels customers suppliers units lines "
    "brands projects assets liabilities earnings losses yields spreads allowances"
)
_MANNERS = _words(
    "market price volume weather trade tax rate cost cycle credit cash debt export labor energy "
    "season policy growth demand supply margin asset capital currency project product customer "
    "vendor region fleet"
)
_BENDS = _words(
    "driven related adjusted linked sensitive based neutral weighted backed led exposed intensive "
    "dependent heavy light bound indexed averse friendly specific oriented limited protected "
    "matched secured rich poor free wide ready"
)
_DEGREES = _words(
    "sharply slightly modestly broadly steadily slowly rapidly notably barely largely partly "
    "clearly evenly freshly newly doubly suddenly mildly strongly gently"
)
_MOVES = _words(
    "increased decreased improved declined grew fell rose dropped recovered stabilized expanded "
    "contracted advanced retreated strengthened weakened doubled slowed accelerated moderated "
    "rebounded slipped climbed softened firmed widened narrowed shifted settled eased"
)
_SIDES = _words(
    "northern southern eastern western central coastal inland upper lower greater inner outer "
    "rural urban maritime"
)
_REGIONS = _words(
    "europe asia africa america australia canada mexico brazil germany france italy spain china "
    "japan india korea texas florida california ontario"
)
_STEMS = _words(
    "allied bright cedar delta eagle falcon granite harbor ivory juniper keystone lakeside "
    "meridian noble orchard pioneer quarry redwood summit trident"
)
_TRADES = _words("mills foods motors labs stores lines power paper steel media")
_TOWN_STARTS = _words("ash brook clay dover elm fair glen hart king lin")
_TOWN_ENDS = _words("ton ville field burg ford wood port dale mont ham")


def _compounds(first: list[str], second: list[str], joint: str = "-") -> list[str]:
    return [f"{start}{joint}{end}" for start, end in product(first, second)]


def _numbers() -> list[str]:
    return [f"{tenths // 10}.{tenths % 10}%" for tenths in range(1, 401)]


def _in_order_of_frequency() -> dict[str, tuple[str, ...]]:
    """Return the words of every slot, the likeliest first."""
    rng = np.random.default_rng(LEXICON_SEED)
    words = {
        "noun": _compounds(_QUALIFIERS, _HEADS),
        "adjective": _compounds(_MANNERS, _BENDS),
        "verb": _compounds(_DEGREES, _MOVES),
        "geography": _compounds(_SIDES, _REGIONS),
        "company": _compounds(_STEMS, _TRADES),
        "place": _compounds(_TOWN_STARTS, _TOWN_ENDS, ""),
        "number": _numbers(),
    }
    return {
        slot: tuple(lexicon[place] for place in rng.permutation(len(lexicon)))
        for slot, lexicon in words.items()
    }


SLOT_WORDS = _in_order_of_frequency()
"""By slot: 1,800 nouns, 900 adjectives, 600 verbs, 300 regions, 200 companies, 100 places, 400
numbers. No text of 70,000 tokens uses them all; shifted text draws more of the rare ones."""
