"""A ledger under other names, replaced or without its lock, by real processes: nothing is lost.

Every payment costs half of the budget, so two fit and a third one must be refused.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from lapwing.atomic_files import replacing
from lapwing.errors import BudgetError
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.ledger import Ledger, LedgerFile
from lapwing.privacy.privacy_loss import PrivacyLoss

BUDGET = Guarantee(Fraction(1), Fraction(0), "replace-one", "central")
HALF = Guarantee(Fraction(1, 2), Fraction(0), "replace-one", "central")

# Pays, says so, goes on when a line comes in, and says whether that ended well.
PAYER = """
import sys
from pathlib import Path
from lapwing.errors import LapwingError
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.ledger import Ledger
path, name, wait = sys.argv[1:]
half = Guarantee("1/2", 0, "replace-one", "central")
try:
    with Ledger.open(Path(path), wait=float(wait)).paying(name, half, loss=None, release=name):
        print("paid", flush=True)
        sys.stdin.readline()
except LapwingError as error:
    print(type(error).__name__, flush=True)
else:
    print("released", flush=True)
"""


class Payer:
    """A process that pays for a release."""

    def __init__(self, path: Path, name: str, wait: float = 0) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PAYER, str(path), name, str(wait)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def go_on(self) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.said()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=60)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@contextmanager
def payers(*wanted: tuple[Path, str, float]) -> Iterator[list[Payer]]:
    made = [Payer(path, name, wait) for path, name, wait in wanted]
    try:
        yield made
    finally:
        for payer in made:
            payer.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    Ledger(BUDGET).save(tmp_path / "budget.json")
    return tmp_path / "budget.json"


def entries(path: Path) -> dict[str, str]:
    return {entry.name: entry.state for entry in Ledger.load(path).entries}


def pay(path: Path, name: str) -> None:
    with Ledger.open(path, wait=0).paying(name, HALF, loss=None, release=name):
        pass


def before_writing(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen at the last moment before a ledger's new content is written."""

    @contextmanager
    def late(*arguments: Any, **options: Any) -> Iterator[Any]:
        act()
        with replacing(*arguments, **options) as stream:
            yield stream

    monkeypatch.setattr("lapwing.privacy.locked_file.replacing", late)


def refused(file: LedgerFile, step: str, *, name: str, loss: PrivacyLoss, match: str) -> None:
    """A round of "a", or a payment, is refused before what it would pay for is done."""
    ran = False
    with pytest.raises(BudgetError, match=match):
        if step == "round":
            file.begin_round("a", after=1, loss=loss)
        else:
            with file.paying(name, HALF, loss=None, release=name):
                ran = True
    assert not ran


@pytest.mark.parametrize("where", ["beside", "in another folder", "of the folder", "of a link"])
def test_all_symbolic_links_share_one_budget(tmp_path: Path, path: Path, where: str) -> None:
    (tmp_path / "other").mkdir()
    link = {
        "beside": tmp_path / "link.json",
        "in another folder": tmp_path / "other" / "budget.json",
        "of the folder": tmp_path / "again" / "budget.json",
        "of a link": tmp_path / "second.json",
    }[where]
    if where == "of the folder":
        (tmp_path / "again").symlink_to(tmp_path)
    elif where == "of a link":
        (tmp_path / "first.json").symlink_to(path)
        link.symlink_to("first.json")
    else:
        link.symlink_to(path)
    pay(link, "a")
    pay(path, "b")
    assert not path.is_symlink() and (where == "of the folder" or link.is_symlink())
    for name in (link, path):
        with pytest.raises(BudgetError, match="would be"):
            pay(name, "c")
        assert entries(name) == {"a": "released", "b": "released"}


def test_a_link_and_the_file_cannot_pay_at_once(tmp_path: Path, path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(path)
    with payers((link, "a", 0)) as (first,):
        assert first.said() == "paid"
        with pytest.raises(BudgetError, match="in use by another process"):
            pay(path, "b")
        assert first.go_on() == "released"
    assert entries(path) == {"a": "released"}


def test_a_file_of_several_hard_links_does_not_pay(tmp_path: Path, path: Path) -> None:
    other = tmp_path / "other.json"
    os.link(path, other)
    before = path.read_bytes()
    for name in (path, other):
        with pytest.raises(BudgetError, match="hard links"):
            pay(name, "a")
    assert path.read_bytes() == other.read_bytes() == before
    other.unlink()
    pay(path, "a")
    assert entries(path) == {"a": "released"}


def test_a_hard_link_that_is_made_during_a_payment_gets_no_budget(
    tmp_path: Path, path: Path
) -> None:
    with payers((path, "a", 0)) as (first,):
        assert first.said() == "paid"
        os.link(path, tmp_path / "other.json")
        assert first.go_on() == "BudgetError"
    for name in (path, tmp_path / "other.json"):
        assert entries(name) == {"a": "reserved"}
        with pytest.raises(BudgetError, match="hard links"):
            pay(name, "b")


@pytest.mark.parametrize("step", ["payment", "round"])
def test_a_hard_link_that_is_made_before_anything_is_written_gets_no_budget(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    loss = PrivacyLoss(epsilon=HALF.epsilon)
    file = Ledger.open(path, wait=0)
    with file.paying("a", HALF, loss=loss, release="a", rounds=5):
        pass
    before = path.read_bytes()
    before_writing(monkeypatch, lambda: os.link(path, tmp_path / "other.json"))
    refused(file, step, name="b", loss=loss, match="hard links")
    assert path.samefile(tmp_path / "other.json") and path.read_bytes() == before


def test_nothing_that_may_be_tidied_away_holds_the_lock(tmp_path: Path, path: Path) -> None:
    with payers((path, "a", 0)) as (first,):
        assert first.said() == "paid"
        for beside in tmp_path.iterdir():
            if beside != path:
                beside.unlink()
        with payers((path, "b", 0)) as (second,):
            assert second.said() == "BudgetError"
        assert entries(path) == {"a": "reserved"}
        assert first.go_on() == "released"
    pay(path, "b")
    assert entries(path) == {"a": "released", "b": "released"}


@pytest.mark.parametrize("how", ["moved over", "written over"])
@pytest.mark.parametrize("of", ["before the payment", "after the payment"])
def test_a_payment_on_a_file_that_took_its_place_is_not_erased(
    tmp_path: Path, path: Path, how: str, of: str
) -> None:
    copy = tmp_path / "backup.json"
    shutil.copy(path, copy)
    with payers((path, "a", 0)) as (first,):
        assert first.said() == "paid"
        if of == "after the payment":
            shutil.copy(path, copy)
        if how == "moved over":
            copy.replace(path)
            # The lock went with the file that was replaced.
            pay(path, "b")
        else:
            pay(copy, "b")
            path.write_bytes(copy.read_bytes())
        assert first.go_on() == "released"
    assert entries(path) == {"a": "released", "b": "released"}
    with pytest.raises(BudgetError, match="would be"):
        pay(path, "c")


@pytest.mark.parametrize("how", ["moved over", "written over"])
@pytest.mark.parametrize("step", ["payment", "round"])
def test_a_file_that_is_replaced_before_anything_is_written_stays(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch, how: str, step: str
) -> None:
    loss = PrivacyLoss(epsilon=HALF.epsilon)
    file = Ledger.open(path, wait=0)
    with file.paying("a", HALF, loss=loss, release="a", rounds=5):
        pass
    copy = tmp_path / "backup.json"
    shutil.copy(path, copy)
    pay(copy, "b")
    after = copy.read_bytes()

    def swap() -> None:
        if how == "moved over":
            copy.replace(path)
        else:
            path.write_bytes(after)

    before_writing(monkeypatch, swap)
    refused(file, step, name="c", loss=loss, match="was replaced while it was read")
    assert path.read_bytes() == after
    assert entries(path) == {"a": "released", "b": "released"}


def test_a_payment_that_no_ledger_can_take_says_so(tmp_path: Path, path: Path) -> None:
    copy = tmp_path / "backup.json"
    shutil.copy(path, copy)
    with payers((path, "a", 0)) as (first,):
        assert first.said() == "paid"
        copy.replace(path)
        pay(path, "b")
        pay(path, "c")
        assert first.go_on() == "BudgetError"
    assert entries(path) == {"b": "released", "c": "released"}


def test_a_ledger_that_was_deleted_is_not_made_anew(path: Path) -> None:
    with (
        pytest.raises(BudgetError, match="is in no ledger"),
        Ledger.open(path, wait=0).paying("a", HALF, loss=None, release="a"),
    ):
        path.unlink()
    assert not path.exists()


def test_an_error_in_a_payment_on_a_replaced_file_leaves_it_spent(
    tmp_path: Path, path: Path
) -> None:
    copy = tmp_path / "backup.json"
    shutil.copy(path, copy)
    with (
        pytest.raises(RuntimeError),
        Ledger.open(path, wait=0).paying("a", HALF, loss=None, release="a"),
    ):
        copy.replace(path)
        raise RuntimeError
    assert entries(path) == {"a": "reserved"}


def test_a_killed_payer_leaves_no_lock_and_a_reserved_payment(path: Path) -> None:
    with payers((path, "a", 0)) as (first,):
        assert first.said() == "paid"
        first.kill()
    assert entries(path) == {"a": "reserved"}
    pay(path, "b")
    with pytest.raises(BudgetError, match="would be"):
        pay(path, "c")


def test_who_comes_second_waits_for_the_first(path: Path) -> None:
    with payers((path, "a", 0)) as (first,):
        assert first.said() == "paid"
        with payers((path, "b", 120)) as (second,):
            assert first.go_on() == "released"
            assert second.said() == "paid" and second.go_on() == "released"
    assert entries(path) == {"a": "released", "b": "released"}


def test_many_at_once_add_up(tmp_path: Path) -> None:
    # One of them holds the lock at a time, the others wait; whoever finds the budget used up ends.
    path = tmp_path / "budget.json"
    Ledger(Guarantee(2, 0, "replace-one", "central")).save(path)
    with payers(*((path, str(number), 120) for number in range(6))) as made:
        for payer in made:
            assert payer.process.stdin is not None
            payer.process.stdin.write("\n")
            payer.process.stdin.flush()
        said = [line for payer in made for line in payer.process.communicate()[0].split()]
    assert said.count("released") == len(entries(path)) == 4
    assert said.count("BudgetError") == 2


def test_permissions_stay(path: Path) -> None:
    path.chmod(0o600)
    pay(path, "a")
    assert path.stat().st_mode & 0o777 == 0o600


def test_nothing_is_left_beside_it(tmp_path: Path, path: Path) -> None:
    pay(path, "a")
    assert [entry.name for entry in tmp_path.iterdir()] == ["budget.json"]


def test_a_new_ledger_is_not_made_through_a_link_to_nowhere(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "absent.json")
    with pytest.raises(FileExistsError):
        Ledger(BUDGET).save(link)
