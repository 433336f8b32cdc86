"""The JavaScript client's memory: one charged answer an epoch, the same bytes until they arrive."""

from __future__ import annotations

import gzip
import hmac
import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

import lapwing as lw
from lapwing.protocol.messages.batch import MEDIA_TYPE, Batch
from lapwing.service.security import UPLOAD_PREFIX, new_token
from tests.clients_js.played import GENEROUS, SURVEYS, TEXTS
from tests.clients_js.played import play as _play
from tests.clients_js.programs import FOLDER, ask, node, program
from tests.clients_js.scripted_collector import (
    LOST,
    Scripted,
    problem,
    scripted_collector,
)
from tests.survey.test_survey_notice import BAD_NOTICES, SPOKEN, with_notice
from tests.vectors.text_vectors import BATCH, EPOCH

pytestmark = pytest.mark.service

VECTORS = Path(__file__).parent.parent / "vectors" / "v1"
TOKEN = new_token(UPLOAD_PREFIX)


@pytest.fixture
def collector() -> Iterator[Scripted]:
    with scripted_collector() as script:
        yield script


def _sent(script: Scripted) -> list[Batch]:
    """Return the batches that arrived, as Python reads them."""
    return [
        Batch.from_bytes(body, segments=SURVEYS["kept"].segments) for _, _, body in script.uploads
    ]


def test_an_answer_is_kept_then_sent_as_a_batch_that_python_reads(collector: Scripted) -> None:
    answer, sent, ledger = _play(
        collector,
        ["answer", "color", "2026-w47", "red", {"uploadToken": TOKEN}],
        ["send"],
        ["ledger"],
    )
    assert answer["state"] == "waiting" and sent[0]["state"] == "stored" and sent[0]["body"] is None
    ((path, headers, body),) = collector.uploads
    survey = SURVEYS["color"]
    prefix = f"/v1/surveys/{survey.fingerprint}/epochs/2026-w47/batches/"
    assert path == f"{prefix}{answer['batch']}?text={survey.text_fingerprint}"
    assert len(answer["batch"]) == 32
    assert headers["content-type"] == MEDIA_TYPE and headers["authorization"] == f"Bearer {TOKEN}"
    assert not {"cookie", "referer", "origin"} & set(headers)
    batch = Batch.from_bytes(body)
    assert batch.survey == survey.fingerprint and batch.segment == 0 and batch.reports == 1
    assert survey.tally(batch.to_reports(survey.randomizer.fingerprint)).total == 1
    assert body.hex() == answer["body"]
    assert ledger["spent"] == "1" and ledger["answers"][0]["state"] == "stored"


def test_a_device_answers_a_survey_that_asks_questions(collector: Scripted) -> None:
    survey = SURVEYS["asking"]
    assert [each["question"] for each in json.loads(TEXTS["asking"])["asks"]] == ["share"]
    incomes = [40_000, 50_000, 50_001, 499_000]
    steps = [["answer", "asking", f"day-{day}", each] for day, each in enumerate(incomes)]
    options = {"epsilonCap": 20}
    *_, sent, ledger = _play(collector, *steps, ["send"], ["ledger"], options=options)
    assert len(sent) == 4 and ledger["spent"] == "80"
    batches = [Batch.from_bytes(body) for _, _, body in collector.uploads]
    reports = [batch.to_reports(survey.randomizer.fingerprint) for batch in batches]
    tally = sum(map(survey.tally, reports[1:]), survey.tally(reports[0]))
    assert survey.decode(tally).answer(survey.questions[0]).value == pytest.approx(0.5, abs=1e-3)


def test_a_repeat_within_an_epoch_sends_nothing_new_whatever_the_value(collector: Scripted) -> None:
    steps = [["answer", "income", "a", value / 20] for value in range(20)]
    *answers, _, after, ledger = _play(
        collector, *steps, ["send"], ["answer", "income", "a", 0.9], ["ledger"]
    )
    assert len({answer["body"] for answer in answers}) == 1
    assert len({answer["batch"] for answer in answers}) == 1
    assert after["state"] == "stored" and after["batch"] == answers[0]["batch"]
    assert len(collector.uploads) == 1 and ledger["spent"] == "1"


def test_each_epoch_is_a_fresh_charged_answer(collector: Scripted) -> None:
    steps = [["answer", "income", f"day-{day}", 0.5] for day in range(8)]
    *answers, sent, ledger = _play(collector, *steps, ["send"], ["ledger"])
    assert len({answer["batch"] for answer in answers}) == 8 and len(sent) == 8
    # Of 256 bins: that eight reports agree has a probability below 1e-9.
    assert len({batch.records for batch in _sent(collector)}) > 1
    assert ledger["spent"] == "8"


def test_two_answers_at_once_are_one(collector: Scripted) -> None:
    both, ledger = _play(collector, ["both", "income", "a", 0.1], ["ledger"])
    assert both[0] == both[1] and ledger["spent"] == "1"


def test_pauses_grow_and_retry_after_is_kept(collector: Scripted) -> None:
    until = format_datetime(datetime.now(UTC) + timedelta(days=400), usegmt=True)
    collector.answers = [LOST] * 12 + [
        (429, {"retry-after": "50000"}, b""),
        (503, {"retry-after": until}, b""),
        (503, {"retry-after": "soon"}, b""),
    ]
    _, pauses, ledger = _play(collector, ["answer", "color", "a", "red"], ["settle"], ["ledger"])
    assert ledger["answers"][0]["state"] == "stored" and len(collector.uploads) == 16
    assert len({body for _, _, body in collector.uploads}) == 1
    # A pause is cut at an hour, before the clock is asked again; here they are joined.
    first = pauses[:8]
    for number, pause in enumerate(first):
        assert 5_000 * 2**number <= pause <= 10_000 * 2**number
    # The doubling waits, then 50,000 s, a day at most, and 6 hours where nothing could be read.
    seconds = sum(pauses) / 1000
    asked = 50_000 + 86_400
    assert 5 * 4095 + asked + 10_800 <= seconds <= 10 * 4095 + 1.25 * asked + 21_600


def test_a_busy_collector_is_left_alone_by_all_that_waits_for_it(collector: Scripted) -> None:
    collector.answers = [(503, {"retry-after": "500"}, b"")]
    steps = [["answer", "color", f"e{number}", "red"] for number in range(5)]
    *_, first, second, _, third = _play(
        collector, *steps, ["send"], ["send"], ["clock", 625_000], ["send"]
    )
    assert len(first) == 1 and second == []
    assert [answer["state"] for answer in third] == ["stored"] * 5
    assert len(collector.uploads) == 6


def test_one_that_comes_too_early_does_not_hold_the_others(collector: Scripted) -> None:
    collector.answers = [problem("epoch-not-open", 425)]
    steps = [["answer", "color", f"e{number}", "red"] for number in range(5)]
    *_, sent = _play(collector, *steps, ["send"])
    assert [answer["state"] for answer in sent] == ["waiting", *["stored"] * 4]


def test_an_answer_that_does_not_end_is_none(collector: Scripted) -> None:
    """The collector has the report, and says so without end; it is sent once more."""
    collector.answers = [(201, {"content-length": "1000"}, b'{"batch": ')]
    *_, early, _, sent = _play(
        collector,
        ["answer", "color", "a", "red"], ["send"], ["clock", 86_400_000], ["send"],
        options={"timeoutSeconds": 0.5},
    )  # fmt: skip
    assert early[0]["state"] == "waiting" and sent[0]["state"] == "stored"
    assert collector.uploads[0][2] == collector.uploads[1][2]


def test_an_answer_that_is_far_too_long_is_none(collector: Scripted) -> None:
    collector.answers = [(201, {}, b" " * 2_000_000)]
    collector.pages["/v1/surveys/" + "1" * 64] = ("application/json", b"[" * 70_000_000)
    *_, early, _, sent, survey = _play(
        collector,
        ["answer", "color", "a", "red"], ["send"], ["clock", 86_400_000], ["send"],
        ["survey", "1" * 64],
    )  # fmt: skip
    assert early[0]["state"] == "waiting" and sent[0]["state"] == "stored"
    assert survey["error"] == "LapwingError"


def test_an_encoded_answer_is_cut_where_a_long_one_is(collector: Scripted) -> None:
    """Browsers decode what they fetch, so what is decoded is counted: 1 GB in 2 kB is not read."""
    zeros = gzip.compress(gzip.compress(bytes(10**7), 9) * 100, 9)
    encoded = {"content-encoding": "gzip, gzip"}
    collector.answers = [(201, encoded, zeros)]
    _, early, memory = _play(collector, ["answer", "color", "a", "red"], ["send"], ["memory"])
    assert early[0]["state"] == "waiting" and memory < 200


def test_a_clock_that_is_set_back_does_not_put_a_report_off_for_years(collector: Scripted) -> None:
    collector.answers = [LOST]
    years = 10 * 365 * 86_400_000
    *_, early, _, sent = _play(
        collector,
        ["clock", years], ["answer", "color", "a", "red"], ["send"], ["send"],
        ["clock", -years], ["send"],
    )  # fmt: skip
    assert early == [] and sent[0]["state"] == "stored"


def test_a_delay_holds_the_first_sending_back(collector: Scripted) -> None:
    steps = [["answer", "color", f"e{number}", "red"] for number in range(64)]
    *_, first, _, rest = _play(
        collector, *steps, ["send"], ["clock", 3_600_000], ["send"],
        options={"delaySeconds": 3600},
    )  # fmt: skip
    # That none of 64 uniform waits is above a minute has a probability below 1e-100.
    assert len(first) < 64 and len(first) + len(rest) == 64


def test_the_budget_is_exact_and_over_all_surveys(collector: Scripted) -> None:
    *fits, over, sent, ledger = _play(
        collector,
        ["answer", "third", "a", "red"], ["answer", "third", "b", "red"],
        ["answer", "color", "a", "red"], ["answer", "third", "c", "red"],
        ["answer", "color", "b", "red"], ["send"], ["ledger"],
        options={"budget": "2"},
    )  # fmt: skip
    assert all(answer["state"] == "waiting" for answer in fits)
    assert over["error"] == "BudgetError" and "Nothing was spent" in over["message"]
    assert len(sent) == len(collector.uploads) == 4
    assert ledger["spent"] == "2" and ledger["budget"] == "2"


def test_a_survey_above_the_largest_epsilon_is_not_answered(collector: Scripted) -> None:
    answer, ledger = _play(
        collector, ["answer", "color", "a", "red"], ["ledger"],
        options={"epsilonCap": "0.999999999999"},
    )  # fmt: skip
    assert answer["error"] == "PrivacyError" and ledger["spent"] == "0"


def test_a_survey_read_without_a_cap_meets_the_device_s_own(collector: Scripted) -> None:
    free, ledger, sent = _play(
        collector, ["answerFree", "color", "a", "red"], ["ledger"], ["send"],
        options={"epsilonCap": "0.999999999999"},
    )  # fmt: skip
    # The survey was read: it is the device that says so.
    assert free["error"] == "PrivacyError" and "this device answers" in free["message"]
    assert ledger == {"spent": "0", "budget": "100", "answers": []}
    assert sent == [] and collector.uploads == []
    free, ledger = _play(
        collector, ["answerFree", "color", "a", "red"], ["ledger"], options={"epsilonCap": 1}
    )
    assert free["state"] == "waiting" and ledger["spent"] == "1"


def test_a_value_that_is_refused_costs_nothing(collector: Scripted) -> None:
    *refused, ledger, right = _play(
        collector,
        ["answer", "color", "a", "a secret"], ["answer", "color", "a", None],
        ["answer", "color", "No Epoch", "red"], ["ledger"], ["answer", "color", "a", "red"],
    )  # fmt: skip
    assert [answer["error"] for answer in refused] == ["DomainError"] * 2 + ["ArgumentError"]
    assert not any("secret" in answer["message"] for answer in refused)
    assert ledger["spent"] == "0" and ledger["answers"] == [] and right["state"] == "waiting"


@pytest.mark.parametrize("number", [9, 32_400, 0.375])
def test_a_number_for_a_time_of_day_is_refused_and_costs_nothing(
    collector: Scripted, number: float
) -> None:
    hour = lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True)
    day = lw.Interval("2026-11-01", "2026-12-01", bins=30, unit="date")
    pair = lw.Product(ms=lw.Interval(0, 5000, bins=8), hour=hour)
    domains = {"hour": hour, "day": day, "pair": pair}
    texts = {
        name: lw.Survey(name, lw.randomizers.SubsetSelection(domain, 1)).to_json()
        for name, domain in domains.items()
    }
    *refused, ledger, one, other = _play(
        collector,
        ["answer", "hour", "a", number], ["answer", "day", "a", number],
        ["answer", "pair", "a", [800, number]], ["answer", "pair", "a", {"hour": number, "ms": 8}],
        ["ledger"], ["answer", "hour", "a", "09:00"],
        ["answer", "pair", "a", {"hour": "09:00", "ms": 800}],
        surveys=texts,
    )  # fmt: skip
    assert [each["error"] for each in refused] == ["DomainError"] * 4
    assert refused[0]["message"].endswith('Write it as a string, such as "09:30"')
    assert refused[2]["message"] == f"axis hour: {refused[0]['message']}" == refused[3]["message"]
    assert ledger["spent"] == "0" and one["state"] == other["state"] == "waiting"


def test_a_remembered_report_is_drawn_and_charged_once(collector: Scripted) -> None:
    colors = ["red", "green", "blue"]
    steps = [["answer", "kept", f"day-{day}", colors[day % 3]] for day in range(40)]
    *answers, _, ledger = _play(collector, *steps, ["send"], ["ledger"])
    batches = _sent(collector)
    # Fresh answers of three labels would agree with a probability below 1e-11.
    assert len(batches) == 40 and len({batch.records for batch in batches}) == 1
    assert len({answer["batch"] for answer in answers}) == 40
    assert ledger["spent"] == "1" and {a["epsilon"] for a in ledger["answers"]} == {"0"}


def test_segments_are_sent_by_their_number(collector: Scripted) -> None:
    labels = ["south", "north", "elsewhere", None, "other"]
    steps = [
        ["answer", "kept", f"e{number}", "red", {"segment": label}]
        for number, label in enumerate(labels)
    ]
    *_, warned = _play(collector, *steps, ["send"], ["warned"])
    assert [batch.segment for batch in _sent(collector)] == [2, 1, 0, 0, 0]
    (said,) = warned
    assert 'counts as "other". Its segments: "north", "south". ' in said and "elsewhere" not in said


def test_sending_is_given_up_when_asked_to_and_goes_on_later(collector: Scripted) -> None:
    _, given_up, ledger, pauses = _play(
        collector, ["answer", "color", "a", "red"], ["aborted"], ["ledger"], ["settle"]
    )
    assert given_up == "AbortError" and ledger["answers"][0]["state"] == "waiting"
    assert pauses == [] and len(collector.uploads) == 1


def test_one_survey_or_one_epoch_is_sent_alone(collector: Scripted) -> None:
    *_, first, second, rest = _play(
        collector,
        ["answer", "color", "a", "red"], ["answer", "color", "b", "red"],
        ["answer", "third", "a", "red"], ["send", "color", "a"], ["send", "third"], ["send"],
    )  # fmt: skip
    sent = [[(one["survey"], one["epoch"]) for one in part] for part in (first, second, rest)]
    color, third = SURVEYS["color"].fingerprint, SURVEYS["third"].fingerprint
    assert sent == [[(color, "a")], [(third, "a")], [(color, "b")]]
    assert len(collector.uploads) == 3


def test_answers_to_a_fetched_survey_go_to_its_collector_only(collector: Scripted) -> None:
    survey = SURVEYS["color"]
    body = survey.to_json().encode()
    collector.pages[f"/v1/surveys/{survey.fingerprint}"] = ("application/json", body)
    with scripted_collector() as other:
        *_, elsewhere, here = _play(
            collector,
            ["survey", survey.fingerprint], ["answer", "color", "a", "red"],
            ["send", None, None, other.address],
            ["send", None, None, f"{collector.address.upper()}/"],
        )  # fmt: skip
        assert other.uploads == []
    (waits,) = elsewhere
    assert waits["state"] == "waiting"
    assert waits["problem"] == f"waits for another collector: {collector.address}"
    assert [one["state"] for one in here] == ["stored"] and len(collector.uploads) == 1


def test_two_names_of_this_machine_are_two_collectors(collector: Scripted) -> None:
    survey = SURVEYS["color"]
    body = survey.to_json().encode()
    collector.pages[f"/v1/surveys/{survey.fingerprint}"] = ("application/json", body)
    named = collector.address.replace("127.0.0.1", "LOCALHOST")
    *_, sent, of_another, ledger = _play(
        collector,
        ["survey", survey.fingerprint], ["answer", "color", "a", "red"],
        ["answer", "third", "a", "red"], ["send", None, None, named], ["send", "third"], ["ledger"],
    )  # fmt: skip
    # What was not fetched goes to any collector.
    assert [one["state"] for one in sent] == ["stored", "waiting"] and of_another == []
    assert sent[1]["problem"] == f"waits for another collector: {collector.address}"
    assert [one["problem"] for one in ledger["answers"]] == [None, None]


def test_an_address_has_the_spelling_of_the_vectors() -> None:
    cases = json.loads((VECTORS / "addresses.json").read_text("utf-8"))["addresses"]
    found = ask(*(("address", typed) for typed, _ in cases))
    for (typed, normal), spelling in zip(cases, found, strict=True):
        refused = isinstance(spelling, dict) and spelling["error"] == "ArgumentError"
        assert refused if normal is None else spelling == normal, typed


def test_a_survey_is_fetched_by_its_fingerprint(collector: Scripted) -> None:
    color, kept = SURVEYS["color"], SURVEYS["kept"]
    for asked, given in ((color, color), (kept, color)):
        body = given.to_json().encode()
        collector.pages[f"/v1/surveys/{asked.fingerprint}"] = ("application/json", body)
    epochs = [{"name": "a", "opens": None, "closes": None, "grace_until": None, "state": "open"}]
    collector.pages[f"/v1/surveys/{color.fingerprint}/epochs"] = (
        "application/json",
        json.dumps({"epochs": epochs}).encode(),
    )
    right, other, absent, wrong, listed = _play(
        collector,
        ["survey", color.fingerprint], ["survey", kept.fingerprint], ["survey", "0" * 64],
        ["survey", "../metrics"], ["epochs", "color"],
    )  # fmt: skip
    assert right["fingerprint"] == color.fingerprint and listed == epochs
    assert other["error"] == "FormatError" and "was requested" in other["message"]
    assert absent["error"] == "LapwingError" and wrong["error"] == "ArgumentError"
    assert all(not {"cookie", "referer"} & set(headers) for _, headers in collector.fetched)


def test_the_text_of_a_survey_is_read_as_python_reads_it() -> None:
    texts = [
        SPOKEN.to_json(),
        lw.Survey("color", SURVEYS["color"].randomizer, question="🐦" * 1000).to_json(),
    ]
    spoken, longest = ask(*(("read", text) for text in texts))
    income = lw.Survey("income", SURVEYS["income"].randomizer, measured_in="euros a month 🐦")
    (measured,) = ask(("read", income.to_json()))
    assert measured["notice"] == {"measured_in": income.measured_in}
    day = lw.RandomizedResponse(lw.Interval("2026-01-01", "2026-01-05", bins=4, unit="date"), 1)
    for survey, unit in ((income, "x" * 21), (lw.Survey("day", day), "ms")):
        document = {**survey.to_document(), "notice": {"measured_in": unit}}
        assert ask(("read", json.dumps(document)))[0]["error"] == "FormatError"
    assert spoken["notice"] == SPOKEN.notice and spoken["fingerprint"] == SPOKEN.fingerprint
    assert longest["notice"] == {"question": "🐦" * 1000}
    refused = ask(*(("read", with_notice(notice)) for _, notice in BAD_NOTICES))
    for (why, _), answer in zip(BAD_NOTICES, refused, strict=True):
        assert answer.get("error") == "FormatError", why


def test_the_text_is_kept_with_each_answer(collector: Scripted, tmp_path: Path) -> None:
    texts = {"first": SPOKEN, "second": replace(SPOKEN, question="Which hat?")}
    surveys = {name: survey.to_json() for name, survey in texts.items()}
    agreed = {"text": texts["second"].text_fingerprint}
    steps = [["answer", "first", "a", "red"], ["answer", "second", "b", "red", agreed]]
    file = str(tmp_path / "memory")
    _play(collector, *steps, surveys=surveys, file=file)
    again = [["answer", "first", "a", "red"], ["send"], ["ledger"]]
    first, _, ledger = _play(collector, *again, surveys=surveys, file=file)
    assert first["notice"] == SPOKEN.notice and first["name"] == "color"
    shown = [one["notice"]["question"] for one in ledger["answers"]]
    assert shown == [SPOKEN.question, "Which hat?"]


def test_texts_have_the_fingerprints_of_the_vectors() -> None:
    cases = json.loads((VECTORS / "texts.json").read_text())["texts"]
    found = ask(*(("text", json.dumps(case["survey"])) for case in cases))
    assert found == [case["text_fingerprint"] for case in cases]


def test_an_upload_names_the_text_that_was_answered_as_in_the_vectors(
    collector: Scripted,
) -> None:
    for case in json.loads((VECTORS / "texts.json").read_text())["texts"]:
        surveys = {"asked": json.dumps(case["survey"])}
        steps = [["answer", "asked", EPOCH, 5], ["send"]]
        answer, (sent,) = _play(collector, *steps, surveys=surveys)
        (path, _, _) = collector.uploads.pop()
        assert path.replace(answer["batch"], BATCH) == case["upload"], case["why"]
        assert sent["state"] == "stored"


def test_an_answer_of_an_older_version_names_no_text(collector: Scripted, tmp_path: Path) -> None:
    file = tmp_path / "memory"
    _play(collector, ["answer", "color", "a", "red"], file=str(file))
    records = json.loads(file.read_text())
    for record in records:
        record.pop("notice", None)
    file.write_text(json.dumps(records))
    ((sent,),) = _play(collector, ["send"], file=str(file))
    assert sent["state"] == "stored" and "?" not in collector.uploads[0][0]


def test_another_text_is_answered_only_when_the_person_agrees(
    collector: Scripted, tmp_path: Path
) -> None:
    texts = {"first": SPOKEN, "second": replace(SPOKEN, question="Which hat?")}
    surveys = {name: survey.to_json() for name, survey in texts.items()}
    one, two = (survey.text_fingerprint for survey in texts.values())
    path = f"/v1/surveys/{SPOKEN.fingerprint}"
    collector.pages[path] = ("application/json", surveys["second"].encode())
    # Each in a program of its own: what is remembered is in the file.
    file = str(tmp_path / "memory")
    refused = [
        ["answer", "second", "a", "red"],  # in the epoch of the first
        ["answer", "second", "a", "red", {"text": two}],  # whatever is agreed to later
        ["answer", "second", "b", "red"],
        ["answer", "second", "b", "red", {"text": one}],
        ["survey", SPOKEN.fingerprint],
        ["survey", SPOKEN.fingerprint, {"text": one}],
    ]
    _play(collector, ["answer", "first", "a", "red"], surveys=surveys, file=file)
    *found, ledger = _play(collector, *refused, ["ledger"], surveys=surveys, file=file)
    assert [each["error"] for each in found] == ["MismatchError"] * len(refused)
    assert "answered under another text" in found[0]["message"] and two in found[2]["message"]
    assert ledger["spent"] == "1" and len(ledger["answers"]) == 1
    agreed, later, former = _play(
        collector,
        ["survey", SPOKEN.fingerprint, {"text": two}],
        ["answer", "second", "b", "red"],
        ["answer", "first", "c", "red"],
        surveys=surveys,
        file=file,
    )
    assert agreed["textFingerprint"] == two and later["notice"] == texts["second"].notice
    assert former["error"] == "MismatchError"
    (wrong,) = _play(collector, ["survey", SPOKEN.fingerprint, {"text": "yes"}])
    assert wrong["error"] == "ArgumentError"


def test_a_memoized_report_answers_no_other_question(collector: Scripted) -> None:
    """As in Python: it would be counted as the answer to what nobody was asked."""
    first = replace(SURVEYS["kept"], question="Which hat?", owner="Hats Ltd.")
    texts = {
        "first": first,
        "same": replace(first, owner="Hats Inc."),
        "other": replace(first, question="Which coat?"),
        "none": replace(first, question=None),
    }
    steps = [
        ["answer", name, name, "red", {"text": survey.text_fingerprint}]
        for name, survey in texts.items()
    ]
    surveys = {name: survey.to_json() for name, survey in texts.items()}
    one, same, other, none, ledger = _play(collector, *steps, ["ledger"], surveys=surveys)
    assert one["body"] == same["body"] and len(ledger["answers"]) == 2
    for refused in (other, none):
        assert refused["error"] == "MismatchError" and "new survey" in refused["message"]


WRONG_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({}, "PrivacyError"),
    ({"epsilonCap": 1}, "PrivacyError"),
    ({"budget": 1}, "PrivacyError"),
    ({"epsilonCap": "much", "budget": 1}, "PrivacyError"),
    ({"epsilonCap": 1, "budget": -1}, "PrivacyError"),
    ({"epsilonCap": 1, "budget": None}, "PrivacyError"),
    ({"epsilonCap": 1, "budget": 1, "delaySeconds": -1}, "ArgumentError"),
    ({"epsilonCap": 1, "budget": 1, "delaySeconds": "an hour"}, "ArgumentError"),
    ({"epsilonCap": 1, "budget": 1, "timeoutSeconds": 0}, "ArgumentError"),
]


def test_a_device_is_told_what_its_person_allows(collector: Scripted) -> None:
    answers = _play(collector, *(["new", options] for options, _ in WRONG_OPTIONS))
    for (options, error), answer in zip(WRONG_OPTIONS, answers, strict=True):
        assert answer["error"] == error, options


def test_an_address_that_is_none_gets_nothing(collector: Scripted) -> None:
    addresses = [
        "", "collector.example", "ftp://a/", "file:///etc", "https://a:b@c/", "https://a/?b", 5,
        "http://collector.example", "http://127.0.0.1.example",
    ]  # fmt: skip
    *answers, ledger = _play(
        collector,
        ["answer", "color", "a", "red"],
        *(["send", None, None, address] for address in addresses),
        ["ledger"],
    )
    assert [answer.get("state") for answer in answers[:1]] == ["waiting"]
    for address, answer in zip(addresses, answers[1:], strict=True):
        assert answer["error"] == "ArgumentError", address
    assert ledger["answers"][0]["state"] == "waiting"


# Killed on the way.


def _killed(script: Scripted, file: Path, *steps: list[Any]) -> None:
    """Play steps in a program that must be killed in one of them."""
    options = {**GENEROUS, "collector": script.address}
    task = {"options": options, "surveys": TEXTS, "steps": steps, "file": str(file)}
    done = subprocess.run(
        [program("node", package="nodejs"), "device_driver.mjs"],
        input=json.dumps(task),
        cwd=FOLDER,
        text=True,
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == -9, done.stderr[-2000:]


def test_killed_between_spending_and_sending_it_sends_the_same_bytes(
    collector: Scripted, tmp_path: Path
) -> None:
    file = tmp_path / "memory"
    _killed(collector, file, ["dies", "sending"], ["answer", "income", "a", 0.1])
    assert collector.uploads == []
    (kept,) = (each for each in json.loads(file.read_text()) if "body" in each)
    again, sent, ledger = _play(
        collector, ["answer", "income", "a", 0.9], ["send"], ["ledger"], file=str(file)
    )
    assert bytes(kept["body"]["$bytes"]).hex() == again["body"]
    assert again["batch"] == kept["batch"] and sent[0]["state"] == "stored"
    assert [body.hex() for _, _, body in collector.uploads] == [again["body"]]
    assert ledger["spent"] == "1"


def test_killed_while_it_stores_it_has_neither_spent_nor_sent(
    collector: Scripted, tmp_path: Path
) -> None:
    file = tmp_path / "memory"
    _killed(collector, file, ["dies", "storing"], ["answer", "income", "a", 0.1], ["send"])
    assert collector.uploads == [] and not file.exists()
    *_, ledger = _play(
        collector, ["answer", "income", "a", 0.1], ["send"], ["ledger"], file=str(file)
    )
    assert len(collector.uploads) == 1 and ledger["spent"] == "1"


def test_killed_after_sending_it_sends_the_same_bytes_once_more(
    collector: Scripted, tmp_path: Path
) -> None:
    """The collector counts them once: the same id with the same bytes."""
    file = tmp_path / "memory"
    _play(collector, ["answer", "income", "a", 0.1], file=str(file))
    _killed(collector, file, ["dies", "storing"], ["send"])
    assert len(collector.uploads) == 1
    sent, ledger = _play(collector, ["send"], ["ledger"], file=str(file))
    assert sent[0]["state"] == "stored" and ledger["spent"] == "1"
    assert collector.uploads[0][0] == collector.uploads[1][0]
    assert collector.uploads[0][2] == collector.uploads[1][2]


# The batch by itself.


def test_batches_of_the_vectors_are_made_and_read_and_bad_ones_refused() -> None:
    document = json.loads((VECTORS / "batches.json").read_text(encoding="utf-8"))
    good = document["batches"]
    names = ("survey", "segment", "records", "reports")
    fields = [{name: case[name] for name in names} for case in good]
    made = ask(*(("batch", each, document["segments"]) for each in fields))
    assert made == [[case["packed"], case["json"]] for case in good]
    assert ask(*(("readBatch", case["packed"]) for case in good)) == fields
    refused = ask(*(("readBatch", case["packed"]) for case in document["bad"]))
    for case, answer in zip(document["bad"], refused, strict=True):
        assert answer["error"] in ("FormatError", "ArgumentError"), case["why"]


def test_batches_are_python_s_in_both_forms() -> None:
    segments = ["north", "süd 🐦"]
    batches = [
        Batch("0123456789abcdef" * 4, 0, bytes(range(6)), 3),
        Batch("f" * 64, 2, b"\xff" * 33, 1),
        Batch("0" * 64, 1, bytes(1000) * 60, 60_000),
    ]
    fields = [
        {"survey": b.survey, "segment": b.segment, "records": b.records.hex(), "reports": b.reports}
        for b in batches
    ]
    made = ask(*(("batch", each, segments) for each in fields))
    for batch, (packed, text) in zip(batches, made, strict=True):
        assert bytes.fromhex(packed) == batch.to_bytes()
        assert text.encode() == batch.to_json(segments=segments)
    read = ask(*(("readBatch", batch.to_bytes().hex()) for batch in batches))
    assert read == fields


def test_a_damaged_batch_is_refused() -> None:
    sound = Batch("0" * 64, 1, bytes(6), 3).to_bytes()
    damaged = [
        sound[:position] + bytes([sound[position] ^ 1]) + sound[position + 1 :]
        for position in range(len(sound))
    ]
    cut = [sound[:end] for end in range(len(sound))]
    for answer in ask(*(("readBatch", data.hex()) for data in [*damaged, *cut, sound + b"0"])):
        assert answer["error"] == "FormatError"


def test_what_is_no_batch_is_refused() -> None:
    sound = {"survey": "0" * 64, "segment": 0, "records": "00" * 6, "reports": 3}
    wrong: list[dict[str, Any]] = [
        {"survey": "0" * 63}, {"survey": "F" * 64}, {"segment": 65_536}, {"segment": -1},
        {"reports": 0}, {"reports": 4}, {"reports": 65_537}, {"records": ""}, {"segment": 0.5},
    ]  # fmt: skip
    answers = ask(*(("batch", {**sound, **fields}, []) for fields in wrong))
    for fields, answer in zip(wrong, answers, strict=True):
        assert answer["error"] == "ArgumentError", fields


def test_a_budget_cannot_change(collector: Scripted, tmp_path: Path) -> None:
    """A memory that was opened again with 100 went on. The first answer fixes the budget."""
    file = str(tmp_path / "memory")

    def play(budget: Any, *steps: list[Any]) -> list[Any]:
        return _play(collector, *steps, file=file, options={"budget": budget})

    before, _ = play(100, ["ledger"], ["answerFree", "color", "1", "white"])  # refused: no answer
    assert before["budget"] == "100"
    play("1.5", ["answer", "color", "1", "red"])
    for budget in (100, 2, "1.4"):
        tried = play(
            budget,
            ["answer", "third", "2", "red"],
            ["send"],
            ["ledger"],
            ["withdraw", "color", "1"],
            ["answer", "color", "1", "red"],
        )
        assert {each["error"] for each in tried} == {"MismatchError"}
        assert "declared as an epsilon of 1.5 and cannot change" in tried[0]["message"]
    answer, ledger = play(1.5, ["answer", "third", "3", "red"], ["ledger"])
    assert answer["state"] == "waiting" and ledger["budget"] == "1.5"


@pytest.mark.parametrize("changed", ["keep", "refuse"])
def test_a_change_of_a_remembered_value(collector: Scripted, tmp_path: Path, changed: str) -> None:
    """As in Python: the first report goes on, or the changed value is refused."""
    file = str(tmp_path / "memory")
    options = {"onChange": changed}
    steps = [["answer", "kept", f"w{n}", value] for n, value in enumerate(["red", "red", "blue"])]
    first, same, other = _play(collector, *steps, file=file, options=options)
    assert first["body"] == same["body"]
    text = Path(file).read_text()
    assert "red" not in text and "blue" not in text
    if changed == "keep":
        assert other["body"] == first["body"]
        (later,) = _play(
            collector, ["answer", "kept", "w9", "red"], file=file, options={"onChange": "refuse"}
        )
        assert later["error"] == "PrivacyError" and "cannot be noticed" in later["message"]
        assert 'make the Device with onChange "keep"' in later["message"]
    else:
        assert other["error"] == "PrivacyError" and "differs from the first one" in other["message"]
        (again,) = _play(collector, ["answer", "kept", "w2", "red"], file=file, options=options)
        assert again["body"] == first["body"] and again["epsilon"] == "0"
    (wrong,) = _play(collector, ["ledger"], file=file, options={"onChange": "sometimes"})
    assert wrong["error"] == "ArgumentError"


def test_keyed_hashes_are_hmac() -> None:
    code = (
        "import {hmacOfText} from '../../clients/js/lapwing/sha256.mjs';"
        "console.log(hmacOfText('ab'.repeat(32), 'a text \\u00e9'))"
    )
    made = hmac.digest(b"\xab" * 32, "a text \u00e9".encode(), "sha256").hex()
    assert node("--input-type=module", "-e", code).strip() == made
