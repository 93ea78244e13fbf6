#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Idle resident memory and start time of a card, beyond a machine without.

Starts machines with 0, 1, 8 and 64 cards that have no guest, and prints one
line of memory and one of time for each number of cards; the baselines are the
aims, 24 MiB and 20 ms a card. Medians over the repetitions.
"""
import json
import os
import socket
import statistics
import subprocess
import tempfile
import time

QEMU = os.environ.get('QTEST_QEMU_BINARY',
                      os.environ['B'] + '/qemu/qemu-system-x86_64')
RUNS = int(os.environ.get('A350_BENCH_RUNS', '5'))


def resident(pid):
    """KiB, without what is in HBM: nothing is, in a card just started."""
    with open('/proc/%d/status' % pid, encoding='ascii') as f:
        for line in f:
            if line.startswith('VmRSS:'):
                return int(line.split()[1])
    return 0


def measure(cards, where):
    path = where + '/qmp'
    argv = [QEMU, '-M', 'q35', '-m', '128M', '-nodefaults', '-display', 'none',
            '-accel', 'qtest', '-qmp', 'unix:%s,server=on,wait=off' % path]
    for i in range(cards):
        argv += ['-device', 'atlas350,hbm-size=256M,num-sq=2016,addr=%x.%x,'
                 'multifunction=on' % (4 + i // 8, i % 8)]
    start = time.monotonic()
    with subprocess.Popen(argv, cwd=os.path.dirname(QEMU)) as qemu:
        try:
            with socket.socket(socket.AF_UNIX) as s:
                while True:
                    try:
                        s.connect(path)
                        break
                    except OSError:
                        if qemu.poll() is not None:
                            raise
                        time.sleep(0.0005)
                reader = s.makefile()
                reader.readline()
                s.sendall(b'{"execute":"qmp_capabilities"}\n')
                assert 'return' in json.loads(reader.readline())
                taken = time.monotonic() - start
                time.sleep(0.2)
                size = resident(qemu.pid)
                s.sendall(b'{"execute":"quit"}\n')
                qemu.wait(20)
        finally:
            qemu.kill()
    return taken, size


def main():
    with tempfile.TemporaryDirectory() as where:
        none = [measure(0, where) for _ in range(RUNS)]
        base_time = statistics.median(t for t, _ in none)
        base_size = statistics.median(k for _, k in none)
        for cards in (1, 8, 64):
            got = [measure(cards, where) for _ in range(RUNS)]
            ms = statistics.median(t for t, _ in got) - base_time
            kib = statistics.median(k for _, k in got) - base_size
            print('bench cards.%d.memory %.3f MiB aim 24' %
                  (cards, kib / 1024 / cards))
            print('bench cards.%d.start %.3f ms aim 20' %
                  (cards, ms * 1000 / cards))


main()
