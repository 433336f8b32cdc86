"""Reports of the JavaScript client that wait: at whose word they end, until when, how spread."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lapwing as lw
from lapwing.protocol.messages import batch
from lapwing.protocol.messages.problems import Problem
from lapwing.service.security import UPLOAD_PREFIX, new_token
from tests.clients_js.played import SURVEYS, TEXTS, play
from tests.clients_js.programs import node
from tests.clients_js.scripted_collector import (
    BATCH,
    LOST,
    OWN,
    Scripted,
    problem,
    scripted_collector,
)

pytestmark = pytest.mark.service


@pytest.fixture
def collector() -> Iterator[Scripted]:
    with scripted_collector() as script:
        yield script


FINAL = [one for one in Problem if one.final]
FOREIGN = [400, 401, 403, 404, 405, 407, 409, 410, 411, 413, 415, 422, 429, 431, 451, 502]
CLOSED = json.dumps({"type": Problem.CLOSED.urn}).encode()

STORED = b'{"batch": "%s", "reports": 1, "state": "stored"}' % BATCH
OTHER_SHAPES = [
    STORED.replace(old, new)
    for old, new in (
        (b'"stored"', b'"received"'),
        (b'"stored"', b'["stored"]'),
        (b': "stored"', b": null"),
        (b"1", b'"1"'),
        (b"1", b"true"),
        (b"1", b"0"),
        (b"<", b" <"),
    )
]

KEPT = [
    LOST,
    *((status, {}, b"") for status in (408, 425, 429, 500, 502, 503, 507)),
    # Who says that it has stored something else, or nothing, is no collector.
    *((200, {}, body) for body in (b"<html>Welcome to our network</html>", b"{}", b"null", b"[]")),
    (201, {}, b'{"batch": "00000000000000000000000000000000"}'),
    (202, {}, b""),
    # Who names the batch, in another media type or shape, is no collector either.
    *((200, {"content-type": kind}, STORED) for kind in ("text/html", "application/json+html")),
    (201, OWN, STORED),
    (201, {}, STORED),
    *((201, {"content-type": "application/json"}, body) for body in OTHER_SHAPES),
    (302, {"location": "https://collector.example/"}, b""),
    # A proxy, a portal, a firewall: with a page of its own, or with a problem of its own.
    *((status, {"content-type": "text/html"}, b"<h1>No</h1>") for status in FOREIGN),
    *((410, OWN, body) for body in (b"not json", b'{"type": 5}', b"[]", b"null", b"{}")),
    (404, OWN, b'{"type": "about:blank", "title": "Not Found"}'),
    (410, OWN, b'{"type": "https://proxy.example/epoch-closed"}'),
    (410, OWN, b'{"type": ["urn:lapwing:problem:epoch-closed"]}'),
    (410, OWN, b'{"type": "urn:lapwing:problem:epoch-closed-2"}'),
    (410, OWN, b'{"type": "urn:lapwing:problem:constructor"}'),
    # The words of a collector without its status or its media type.
    (404, OWN, CLOSED),
    (410, {"content-type": "application/json"}, CLOSED),
    (410, {"content-type": "application/problem+jsonp"}, CLOSED),
    (410, {}, CLOSED),
    # A collector that may say something else later.
    *(problem(one.value, int(one.status)) for one in Problem if not one.final),
]


def test_what_passes_is_sent_again_with_the_same_bytes(collector: Scripted) -> None:
    own = STORED.replace(b'"stored"', b'"already stored", "more": 1')
    collector.answers = [*KEPT, (200, {"content-type": "Application/JSON; charset=utf-8"}, own)]
    wait = 6 * 3_600_000  # the longest pause
    steps = [["send"] if turn % 2 else ["clock", wait] for turn in range(2 * len(KEPT) + 2)]
    first, *sent, ledger = play(collector, ["answer", "income", "a", 0.5], *steps, ["ledger"])
    for (answer,), given in zip(sent[1::2], KEPT, strict=False):
        assert answer["state"] == "waiting", given
    assert [body.hex() for _, _, body in collector.uploads] == [first["body"]] * (len(KEPT) + 1)
    assert len({path for path, _, _ in collector.uploads}) == 1
    assert ledger["spent"] == "1" and ledger["answers"][0]["state"] == "stored"
    assert ledger["answers"][0]["problem"] is None


def test_problems_that_are_final_are_those_of_python() -> None:
    code = (
        "import {FINAL} from '../../clients/js/lapwing/collector.mjs';"
        "console.log(JSON.stringify(FINAL))"
    )
    found = json.loads(node("--input-type=module", "-e", code))
    assert found == {one.value: int(one.status) for one in FINAL}


def test_what_confirms_a_batch_is_that_of_python() -> None:
    code = (
        "import {CONFIRMED} from '../../clients/js/lapwing/collector.mjs';"
        "console.log(JSON.stringify(CONFIRMED))"
    )
    found = json.loads(node("--input-type=module", "-e", code))
    assert found == [batch.STORED, batch.ALREADY]


def test_what_is_refused_is_dropped_and_stays_spent(collector: Scripted) -> None:
    typed = {"content-type": "Application/Problem+JSON; charset=utf-8"}
    collector.answers = [(int(one.status), typed, problem(one.value, 0)[2]) for one in FINAL]
    steps = [["answer", "color", f"e{number}", "red"] for number in range(len(FINAL))]
    *_, sent, _, again, ledger, repeat = play(
        collector, *steps, ["send"], ["clock", 10**9], ["send"], ["ledger"],
        ["answer", "color", "e0", "blue"],
    )  # fmt: skip
    assert [answer["problem"] for answer in sent] == [one.value for one in FINAL]
    assert all(answer["state"] == "refused" and answer["body"] is None for answer in sent)
    assert again == [] and ledger["spent"] == str(len(FINAL))
    # Nor can a collector refuse until it has drawn a report that it likes.
    assert repeat["state"] == "refused" and repeat["batch"] == sent[0]["batch"]


def test_a_report_that_waits_says_why(collector: Scripted) -> None:
    collector.answers = [problem("unknown-epoch", 404), (403, {}, b"<h1>No</h1>"), LOST]
    steps = [["send"] if turn % 2 == 0 else ["clock", 21_600_000] for turn in range(6)]
    _, *sent, ledger = play(collector, ["answer", "color", "a", "red"], *steps, ["ledger"])
    assert [answer["problem"] for (answer,) in sent[::2]] == [
        "unknown-epoch", "status 403", "no answer"
    ]  # fmt: skip
    assert ledger["answers"][0]["problem"] == "no answer"


DAY = 86_400_000


def test_a_report_waits_for_its_last_day_and_ends_when_a_collector_speaks(
    collector: Scripted, tmp_path: Path
) -> None:
    """Neither a clock nor a proxy nor a silent network ends it."""
    file = tmp_path / "memory"
    unknown = problem("unknown-epoch", 404)

    def on(day: float, *steps: list[Any], said: Any = None, there: float | None = None) -> Any:
        collector.ahead = (day if there is None else there) * 86_400
        collector.answers = [said] * (said is not None)
        return play(collector, ["clock", day * DAY], *steps, file=str(file))[-1]

    answer = on(0, ["answer", "color", "a", "red"])
    no_date = (404, {**unknown[1], "date": "today"}, unknown[2])
    kept = [
        on(0, ["send"], said=unknown),
        on(61, ["send"], said=(404, {}, b"<h1>No</h1>")),
        on(62, ["send"], said=LOST),
        on(63, ["send"], said=problem("busy", 429)),
        on(64, ["send"], said=no_date),
        # By the clock of the collector, and then of the device, it is not over.
        on(5000, ["send"], said=unknown, there=59.9),
        on(59, ["send"], said=unknown, there=65),
    ]
    for (each,) in kept:
        assert each["state"] == "waiting" and each["body"] == answer["body"], each
        assert abs(each["expires"] - answer["expires"]) < 60_000
    (over,) = on(65, ["send"], said=unknown)
    assert over["state"] == "expired" and over["body"] is None
    assert over["problem"] == "unknown-epoch"
    ledger, none = on(65, ["ledger"]), on(66, ["send"])
    assert ledger["spent"] == "1" and none == [] and len(collector.uploads) == 8
    repeat = on(66, ["answer", "color", "a", "blue"])
    assert repeat["state"] == "expired" and repeat["batch"] == answer["batch"]
    assert ledger["answers"] == [over]


@pytest.mark.parametrize("wrong", ["device", "collector"])
def test_no_wrong_clock_alone_ends_a_report(
    collector: Scripted, tmp_path: Path, wrong: str
) -> None:
    """Whatever one of the two clocks says, at each answer and when the report was made."""
    rnd, ended = random.Random(4), 0
    for trace in range(2):
        offsets = [0, 0, rnd.uniform(-300, 300), rnd.uniform(-20_000, 20_000)]
        day, first = 0.0, None
        steps: list[list[Any]] = [["answer", "color", "a", "red"]]
        for turn in range(10):
            offset = rnd.choice(offsets)
            collector.ahead = (day + (offset if wrong == "collector" else 0)) * 86_400
            here = day + (offset if wrong == "device" else 0)
            collector.answers, was = [problem("unknown-epoch", 404)], len(collector.uploads)
            file = str(tmp_path / str(trace))
            *_, sent = play(collector, ["clock", here * DAY], *steps, ["send"], file=file)
            if sent and sent[0]["state"] == "expired":
                since = first if wrong == "device" else 0.0
                assert since is not None and day - since >= 60 - 1e-3, (trace, turn)
                ended += 1
                break
            first = day if first is None and len(collector.uploads) > was else first
            day, steps = day + rnd.uniform(0, 20), []
    assert ended


def test_a_last_day_is_a_choice_and_counted_from_now_where_none_is_kept(
    collector: Scripted, tmp_path: Path
) -> None:
    file = tmp_path / "memory"

    def with_days(day: float, *steps: list[Any]) -> list[Any]:
        collector.ahead = day * 86_400
        collector.answers = [problem("unknown-epoch", 404)]
        options = {"keepDays": 7}
        return play(collector, ["clock", day * DAY], *steps, file=str(file), options=options)[1:]

    (made,) = with_days(0, ["answer", "color", "a", "red"])
    records = json.loads(file.read_text())
    for record in records:
        record.pop("expires", None)
    file.write_text(json.dumps(records))
    kept, (early,) = with_days(100, ["ledger"], ["send"])
    assert early["state"] == "waiting"
    (over,) = with_days(107.01, ["send"])[0]
    assert kept["answers"][0]["state"] == "waiting" and over["state"] == "expired"
    assert kept["answers"][0]["expires"] >= made["expires"] + 100 * DAY
    text = file.read_text()
    assert made["body"] not in text and '"body":null' in text


def test_a_clock_that_is_set_back_puts_no_last_day_off(collector: Scripted, tmp_path: Path) -> None:
    file = str(tmp_path / "memory")
    play(collector, ["clock", 3650 * DAY], ["answer", "color", "a", "red"], file=file)
    for day, state in ((0, "waiting"), (60.01, "expired")):
        collector.ahead, collector.answers = day * 86_400, [problem("unknown-epoch", 404)]
        *_, (sent,) = play(collector, ["clock", day * DAY], ["send"], file=file)
        assert sent["state"] == state


def test_a_crowd_that_was_turned_away_comes_back_spread_out(collector: Scripted) -> None:
    """Retry-After: 60 brought all of them back within 60 ms."""
    collector.answers = [problem("busy", 429, **{"retry-after": "60"})] * 64
    steps = []
    for number in range(64):
        steps += [["answer", "color", f"e{number}", "red"], ["send", None, f"e{number}"]]
    answers, sent = (played[part::2] for played in [play(collector, *steps)] for part in (0, 1))
    # The clock stands, and each report is new when it is turned away.
    pauses = [later["due"] - made["due"] for made, (later,) in zip(answers, sent, strict=True)]
    assert min(pauses) >= 60_000 and max(pauses) <= 75_000
    # That 64 uniform numbers lie within two fifths of their range has a probability below 1e-22.
    assert max(pauses) - min(pauses) >= 6_000


def test_the_least_tried_go_first(collector: Scripted) -> None:
    """A firewall that turns one report away for ever must not hold the others."""
    collector.answers = [(403, {}, b"<h1>No</h1>")]
    steps = [["answer", "color", f"e{number}", "red"] for number in range(3)]
    *_, first, _, sent = play(collector, *steps, ["send"], ["clock", DAY], ["send"])
    assert [answer["epoch"] for answer in first] == ["e0"]
    assert [answer["epoch"] for answer in sent] == ["e1", "e2", "e0"]


def _three(collector: Scripted, *steps: list[Any]) -> list[Any]:
    """Return what becomes of three answers, to two surveys and of two epochs."""
    answers = [
        ["answer", "color", "a", "red"], ["answer", "color", "b", "red"],
        ["answer", "third", "a", "red"],
    ]  # fmt: skip
    return play(collector, *answers, *steps)[3:]


COLOR, THIRD = SURVEYS["color"].fingerprint, SURVEYS["third"].fingerprint


@pytest.mark.parametrize(
    ("survey", "epoch", "which"),
    [
        ("color", "a", [(COLOR, "a")]),
        ("color", None, [(COLOR, "a"), (COLOR, "b")]),
        (THIRD, None, [(THIRD, "a")]),
        (None, "a", [(COLOR, "a"), (THIRD, "a")]),
        (None, None, [(COLOR, "a"), (COLOR, "b"), (THIRD, "a")]),
    ],
)
def test_answers_that_are_withdrawn_are_not_sent_and_stay_spent(
    collector: Scripted, survey: str | None, epoch: str | None, which: list[tuple[str, str]]
) -> None:
    withdrawn, sent, again, ledger = _three(
        collector, ["withdraw", survey, epoch], ["send"], ["withdraw", survey, epoch], ["ledger"]
    )
    assert sorted((one["survey"], one["epoch"]) for one in withdrawn) == sorted(which)
    assert all(one["state"] == "withdrawn" and one["body"] is None for one in withdrawn)
    assert len(sent) == len(collector.uploads) == 3 - len(which)
    # The rest has arrived, and what was withdrawn is not so twice.
    assert again == [] and ledger["spent"] == "7/3"
    states = {(one["survey"], one["epoch"]): one["state"] for one in ledger["answers"]}
    assert sorted(key for key, state in states.items() if state == "withdrawn") == sorted(which)


def test_names_that_a_device_does_not_know_are_not_withdrawn(collector: Scripted) -> None:
    *unknown, ledger = _three(
        collector,
        ["withdraw", "color", "c"], ["withdraw", "third", "b"], ["withdraw", None, "c"],
        ["withdraw", "kept", None], ["withdraw", "colour", None], ["ledger"],
    )  # fmt: skip
    assert {one["error"] for one in unknown} == {"ArgumentError"}
    assert f'gave no answer of epoch "c" to survey {COLOR}' in unknown[0]["message"]
    assert "to survey colour" in unknown[4]["message"]
    assert [one["state"] for one in ledger["answers"]] == ["waiting"] * 3
    (nothing,) = play(collector, ["withdraw", None, None])
    assert nothing == []


def test_what_is_withdrawn_is_wiped_from_the_storage(collector: Scripted, tmp_path: Path) -> None:
    file = tmp_path / "memory"
    _, withdrawn, again = play(
        collector,
        ["answer", "color", "a", "red", {"uploadToken": TOKEN}], ["withdraw", None, None],
        ["answer", "color", "a", "red"], file=str(file),
    )  # fmt: skip
    assert len(withdrawn) == 1 and again["state"] == "withdrawn" and again["body"] is None
    assert TOKEN not in file.read_text() and "$bytes" not in file.read_text()


TOKEN = new_token(UPLOAD_PREFIX)


def _list(collector: Scripted, *names: str, **more: Any) -> None:
    """Let the collector list these epochs of the survey of colors."""
    epochs = [{"name": name, "state": "open"} for name in names]
    body = json.dumps({"epochs": epochs, **more}).encode()
    collector.pages[f"/v1/surveys/{COLOR}/epochs"] = ("application/json", body)


def test_an_epoch_that_the_collector_does_not_list_is_refused_unpaid(collector: Scripted) -> None:
    _list(collector, "a", "b")
    wrong, right, other, unlisted, ledger = play(
        collector,
        ["listed", "color", "c", "red"], ["listed", "color", "b", "red"],
        # Another program has no list: it pays and waits.
        ["answer", "third", "c", "red"], ["answer", "color", "c", "red"], ["ledger"],
    )  # fmt: skip
    assert wrong["error"] == "ArgumentError" and wrong["message"].count("List the epochs") == 1
    assert 'no epoch "c"' in wrong["message"] and "List the epochs again" in wrong["message"]
    assert right["state"] == other["state"] == unlisted["state"] == "waiting"
    assert ledger["spent"] == "7/3"
    # A repeat is the first answer, whether it is listed or not.
    _list(collector, "b")
    (again,) = play(collector, ["listed", "color", "b", "red"])
    assert again["state"] == "waiting"


def test_an_epoch_that_ended_or_asks_another_text_is_refused_unpaid(collector: Scripted) -> None:
    rows: list[dict[str, Any]] = [{"name": name, "state": name} for name in ("closed", "grace")]
    rows += [{"name": "text", "state": "open", "text": "0" * 64}]
    rows += [{"name": "none", "state": "planned", "text": None}]
    body = json.dumps({"epochs": rows}).encode()
    collector.pages[f"/v1/surveys/{COLOR}/epochs"] = ("application/json", body)
    steps = [["listed", "color", row["name"], "red"] for row in rows]
    closed, grace, text, none, ledger = play(collector, *steps, ["ledger"])
    for refused in (closed, grace):
        assert refused["error"] == "ArgumentError" and "takes no new" in refused["message"]
    assert text["error"] == "MismatchError" and "a different text" in text["message"]
    assert none["state"] == "waiting" and len(ledger["answers"]) == 1


BAD_TOKENS = ["", "abc", TOKEN[:-1], TOKEN + "A", " " + TOKEN, TOKEN.replace("lwu_", "lwa_"), 5]


def test_a_token_that_is_none_is_refused_unpaid(collector: Scripted) -> None:
    _list(collector, "a", invited=True)
    bad = [["answer", "color", "a", "red", {"uploadToken": token}] for token in BAD_TOKENS]
    *refused, missing, ledger, right, sent = play(
        collector,
        *bad, ["listed", "color", "a", "red"], ["ledger"],
        ["listed", "color", "a", "red", {"uploadToken": TOKEN}], ["send"],
    )  # fmt: skip
    for answer in (*refused, missing):
        assert answer["error"] == "ArgumentError" and "lwu_ and 43" in answer["message"], answer
    assert ledger["spent"] == "0" and ledger["answers"] == []
    assert right["state"] == "waiting" and sent[0]["state"] == "stored"
    assert collector.uploads[0][1]["authorization"] == f"Bearer {TOKEN}"


def test_a_token_that_comes_later_goes_out_with_the_report_that_waits(
    collector: Scripted,
) -> None:
    collector.answers = [problem("upload-token-needed", 401)]
    paid, *bad, sent, last, kept, (stored,), repeat, ledger = play(
        collector,
        ["answer", "color", "a", "red"],
        *(["answer", "color", "a", "red", {"uploadToken": token}] for token in BAD_TOKENS),
        ["send"],
        ["answer", "color", "a", "green", {"uploadToken": TOKEN}],
        ["answer", "color", "a", "green"],  # takes no token away
        ["send"],
        ["answer", "color", "a", "red", {"uploadToken": TOKEN}],
        ["ledger"],
    )
    assert all("lwu_ and 43" in each["message"] for each in bad)
    assert sent[0]["state"] == last["state"] == kept["state"] == "waiting"
    assert stored["state"] == repeat["state"] == "stored" and ledger["spent"] == "1"
    assert paid["batch"] == last["batch"] and paid["body"] == last["body"]
    first, second = collector.uploads
    assert "authorization" not in first[1] and second[1]["authorization"] == f"Bearer {TOKEN}"
    assert (first[0], first[2]) == (second[0], second[2])


def test_a_token_makes_no_haste_where_the_collector_is_busy(collector: Scripted) -> None:
    collector.answers = [problem("busy", 429, **{"retry-after": "60"})]
    *_, none, _, (stored,) = play(
        collector,
        ["answer", "color", "a", "red"], ["send"],
        ["answer", "color", "a", "red", {"uploadToken": TOKEN}], ["send"], ["clock", 80_000],
        ["send"],
    )  # fmt: skip
    assert none == [] and stored["state"] == "stored"
    assert collector.uploads[1][1]["authorization"] == f"Bearer {TOKEN}"


def test_a_token_for_a_report_that_ended_is_refused(collector: Scripted, tmp_path: Path) -> None:
    collector.answers = [problem("epoch-closed", 410)]
    token, file = {"uploadToken": TOKEN}, tmp_path / "memory"
    *_, refused, withdrawn, ledger = play(
        collector,
        ["answer", "color", "a", "red"], ["send"], ["answer", "color", "b", "red"],
        ["withdraw", "color", "b"], ["answer", "color", "a", "red", token],
        ["answer", "color", "b", "red", token], ["ledger"], file=str(file),
    )  # fmt: skip
    for each, state in ((refused, "refused"), (withdrawn, "withdrawn")):
        assert each["error"] == "ArgumentError"
        assert f"is {state}, so no upload token can be stored" in each["message"]
    assert ledger["spent"] == "2" and TOKEN not in file.read_text()


@pytest.mark.parametrize("more", [{}, {"invited": False}])
def test_a_survey_for_all_needs_no_token(collector: Scripted, more: dict[str, Any]) -> None:
    _list(collector, "a", **more)
    (answer,) = play(collector, ["listed", "color", "a", "red"])
    assert answer["state"] == "waiting"


def test_a_list_of_another_form_is_none(collector: Scripted) -> None:
    _list(collector, "a", invited="yes")
    (answer,) = play(collector, ["listed", "color", "a", "red"])
    assert answer["error"] == "LapwingError" and "lists no epochs" in answer["message"]


def test_a_kept_text_is_the_survey_when_its_collector_is_out_of_reach(
    collector: Scripted, tmp_path: Path
) -> None:
    file = str(tmp_path / "memory")
    page = f"/v1/surveys/{COLOR}"
    collector.pages[page] = ("application/json", TEXTS["color"].encode())
    (online,) = play(collector, ["survey", COLOR], file=file)
    portal = ("text/html", b"<h1>Welcome to our network</h1>")
    other = ("application/json", TEXTS["third"].encode())
    for answer in (None, portal, other):
        del collector.pages[page]
        if answer is not None:
            collector.pages[page] = answer
        copy, unknown = play(collector, ["survey", COLOR], ["survey", THIRD], file=file)
        assert copy == online and unknown["error"] == "LapwingError"
        collector.pages[page] = other
    collector.pages.update({page: portal, f"{page}/epochs": portal})
    for step in (["survey", COLOR], ["epochs", "color"]):
        (nobody,) = play(collector, step)
        assert nobody["error"] == "LapwingError" and "sent a web page" in nobody["message"]
    # What was changed in the storage is not that survey.
    text = Path(file).read_text()
    assert text.count('\\"green\\"') == 1
    Path(file).write_text(text.replace('\\"green\\"', '\\"white\\"'))
    (changed,) = play(collector, ["survey", COLOR], file=file)
    assert changed["error"] == "FormatError" and "does not match" in changed["message"]


def test_a_text_that_the_collector_changed_is_the_new_one(
    collector: Scripted, tmp_path: Path
) -> None:
    """The notice is no part of the fingerprint, so the collector's text comes first."""
    page, file = f"/v1/surveys/{COLOR}", str(tmp_path / "memory")
    for question in ("Which coat?", "Which hat?"):
        text = json.dumps({**json.loads(TEXTS["color"]), "notice": {"question": question}})
        collector.pages[page] = ("application/json", text.encode())
        agreed = {"text": lw.Survey.from_json(text).text_fingerprint}
        (survey,) = play(collector, ["survey", COLOR, agreed], file=file)
        assert survey["question"] == question
    del collector.pages[page]
    (survey,) = play(collector, ["survey", COLOR], file=file)
    assert survey["question"] == "Which hat?"


def test_a_full_storage_is_an_error_of_ours_and_costs_nothing(
    collector: Scripted, tmp_path: Path
) -> None:
    _, full, _, again, ledger = play(
        collector,
        ["full", True], ["answer", "color", "a", "red"], ["full", False],
        ["answer", "color", "a", "red"], ["ledger"], file=str(tmp_path / "memory"),
    )  # fmt: skip
    assert full["error"] == "LapwingError" and "full" in full["message"]
    assert "nothing was kept or spent" in full["message"]
    assert again["state"] == "waiting" and ledger["spent"] == "1"


def test_a_program_without_a_storage_is_told_what_to_give() -> None:
    code = (
        "import {Device} from '../../clients/js/lapwing.mjs';"
        "await new Device({epsilonCap: 1, budget: 1}).ledger()"
        ".catch(({name, message}) => console.log(name, message))"
    )
    said = node("--input-type=module", "-e", code)
    assert said.startswith("LapwingError") and "`storage`" in said and "browser" not in said
