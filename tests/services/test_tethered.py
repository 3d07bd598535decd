from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.marks import linux
from tests.services import tethered
from tests.services.processes import alive

ROOT = Path(__file__).resolve().parents[2]
STARTS_BOTH_AND_DIES = """
import os, signal, sys
from pathlib import Path
from tests.services.postgres_server import PostgresServer
from tests.services.processes import children_of
from tests.services.redis_server import RedisServer
folder = Path(sys.argv[1])
redis, postgres = RedisServer(folder / "r").start(), PostgresServer(folder / "p").start()
print(redis.process.pid, postgres.process.pid, *children_of(postgres.process.pid), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@linux
def test_services_end_with_a_test_process_that_is_killed(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", STARTS_BOTH_AND_DIES, tmp_path], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL
    processes = [int(number) for number in done.stdout.split()]
    assert len(processes) > 4
    deadline = time.monotonic() + 20
    while any(map(alive, processes)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_service_outlives_the_thread_that_asked_for_it(tmp_path):
    started: list[subprocess.Popen[bytes]] = []
    thread = threading.Thread(
        target=lambda: started.append(tethered.start(["/bin/cat"], tmp_path / "log", given=b"read"))
    )
    thread.start()
    thread.join()
    assert started[0].wait(10) == 0
    assert (tmp_path / "log").read_bytes() == b"read"


def test_one_that_does_not_come_up_shows_its_log(tmp_path):
    log = tmp_path / "log"
    process = tethered.start(["/bin/ls", "/no/such/folder"], log)
    with pytest.raises(tethered.ServiceFailed, match="No such file or directory"):
        tethered.wait_until(lambda: False, process, log)
