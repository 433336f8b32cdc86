"""A ledger on disk: locks, crashes between payment and output, and refusals that change nothing."""

import os
import signal
import subprocess
import sys
import textwrap
from fractions import Fraction

import pytest

from lapwing.errors import ArgumentError, BudgetError, FormatError
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.ledger import Ledger
from lapwing.privacy.privacy_loss import PrivacyLoss

BUDGET = Guarantee(Fraction(1), Fraction(0), "replace-one", "central")
HALF = Guarantee(Fraction(1, 2), Fraction(0), "replace-one", "central")


@pytest.fixture
def file(tmp_path):
    ledger = Ledger.open(tmp_path / "budget.json", wait=0)
    Ledger(BUDGET).save(ledger.path)
    return ledger


def states(file):
    return [entry.state for entry in file.read().entries]


def test_a_payment_is_on_the_disk_before_the_block_runs(file):
    with file.paying("a", HALF, loss=None, release="1"):
        assert states(file) == ["reserved"]
    assert states(file) == ["released"]
    assert file.read().remaining == HALF


def test_a_print_says_what_is_spent_and_left(file):
    said = str(file)
    assert said.startswith("budget.json: budget epsilon = 1, pure")
    assert "spent: nothing" in said and "left: epsilon = 1, pure" in said
    with file.paying("a", HALF, loss=None, release="1"):
        pass
    assert "spent: epsilon = 0.5, pure" in str(file) and "left: epsilon = 0.5, pure" in str(file)
    with file.paying("b", HALF, loss=None, release="2"):
        pass
    assert str(file).endswith("left: nothing")
    file.path.unlink()
    assert "there is no file" in str(file)


def test_losses_are_kept(file):
    loss = PrivacyLoss(epsilon=Fraction(499, 1000))
    with file.paying("a", HALF, loss=loss, release="1"):
        pass
    assert file.read().cost == loss


def test_a_loss_of_less_than_the_guarantee_is_not_what_is_paid(file):
    with file.paying("a", HALF, loss=PrivacyLoss(epsilon=Fraction(1, 4)), release="1"):
        pass
    assert file.read().cost == PrivacyLoss(epsilon=Fraction(1, 2))


def test_an_error_in_the_block_leaves_it_spent(file):
    with pytest.raises(RuntimeError), file.paying("a", HALF, loss=None, release="1"):
        raise RuntimeError
    assert states(file) == ["reserved"]
    assert file.read().remaining == HALF


def test_overspending_changes_nothing_and_runs_nothing(file):
    for name in "ab":
        with file.paying(name, HALF, loss=None, release=name):
            pass
    before = file.path.read_bytes()
    ran = False
    with pytest.raises(BudgetError), file.paying("c", HALF, loss=None, release="c"):
        ran = True
    assert not ran and file.path.read_bytes() == before


def test_two_cannot_pay_at_once(file):
    with (
        file.paying("a", HALF, loss=None, release="1"),
        pytest.raises(BudgetError, match="in use by another process"),
        file.paying("b", HALF, loss=None, release="2"),
    ):
        pass
    assert len(states(file)) == 1


def test_a_killed_process_has_paid_and_leaves_no_lock(file, tmp_path):
    output = tmp_path / "output"
    script = textwrap.dedent(
        f"""
        import os, signal
        from fractions import Fraction
        from pathlib import Path
        from lapwing.privacy.guarantee import Guarantee
        from lapwing.privacy.ledger import Ledger
        half = Guarantee(Fraction(1, 2), Fraction(0), "replace-one", "central")
        with Ledger.open(Path({str(file.path)!r})).paying("a", half, loss=None, release="1"):
            os.kill(os.getpid(), signal.SIGKILL)
        Path({str(output)!r}).write_text("released")
        """
    )
    done = subprocess.run([sys.executable, "-c", script], check=False, env=os.environ)
    assert done.returncode == -signal.SIGKILL
    assert states(file) == ["reserved"] and not output.exists()
    # What is tried again is paid again, and then nothing is left.
    with file.paying("a", HALF, loss=None, release="2"):
        output.write_text("released")
    assert states(file) == ["reserved", "released"]
    with pytest.raises(BudgetError), file.paying("a", HALF, loss=None, release="3"):
        pass


def test_what_was_spent_is_not_forgotten(file):
    with pytest.raises(FileExistsError, match="choose another name") as caught:
        Ledger(BUDGET).save(file.path)
    assert caught.value.filename == str(file.path)


def test_a_foreign_file_is_refused(tmp_path):
    path = tmp_path / "other.json"
    path.write_text("{}")
    with pytest.raises(FormatError):
        Ledger.load(path)


def test_a_snapshot_does_not_pay(file, tmp_path):
    snapshot = Ledger.load(file.path)
    assert snapshot == file.read() == Ledger(BUDGET)
    with pytest.raises(ArgumentError, match=r"cannot pay. Pass the path .*Ledger\.open"):
        Ledger.open(snapshot)
    with file.paying("a", HALF, loss=None, release="1"):
        pass
    assert snapshot.entries == () and len(Ledger.load(file.path).entries) == 1
    Ledger.load(file.path).save(tmp_path / "copy.json")
    assert (tmp_path / "copy.json").read_text() == file.path.read_text() == file.read().to_json()
    assert Ledger.open(file) is file and Ledger.open(str(file.path)).path == file.path
