"""Runs a command in the warm process and represents it: forwards signals and its exit."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from contextlib import suppress

HANDED_ON = {signal.SIGINT, signal.SIGTERM}


def main(address, *arguments):
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDED_ON)
    order = [arguments, os.getcwd(), dict(os.environ)]  # noqa: PTH109 - pathlib takes its time
    with socket.socket(socket.AF_UNIX) as warm:
        warm.connect(address)
        body = json.dumps(order).encode()
        socket.send_fds(warm, [len(body).to_bytes(8)], [0, 1, 2])
        warm.sendall(body)
        report = warm.makefile()
        pid = int(report.readline())

        def hand_on(number, _):
            with suppress(ProcessLookupError):  # already ended
                os.kill(pid, number)

        for number in HANDED_ON:
            signal.signal(number, hand_on)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDED_ON)
        code = int(report.readline())
    if code < 0:
        with suppress(OSError):  # SIGKILL has no handler
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


main(*sys.argv[1:])
