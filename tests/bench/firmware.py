#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Start of the firmware in QEMU, and the HBM it uses with all seven cores.

Prints the median time from the machine's start to the status READY, against
the aim of 50 ms, and what is used of HBM, against the aim of 32 MiB.
"""
import json
import os
import re
import socket
import statistics
import subprocess
import tempfile
import time

BUILD = os.environ['B']
QEMU = BUILD + '/qemu/qemu-system-x86_64'
FIRMWARE = BUILD + '/firmware/atlas350-firmware.elf'
RUNS = int(os.environ.get('A350_BENCH_RUNS', '5'))
READY = 4                       # enum a350_fw_status


def wait_socket(s, path):
    for _ in range(10000):
        try:
            s.connect(path)
            return
        except OSError:
            time.sleep(0.001)
    raise SystemExit('bench: QEMU does not start')


def start_time(where):
    path = where + '/qmp'
    argv = [QEMU, '-M', 'q35', '-m', '128M', '-nodefaults', '-display', 'none',
            '-accel', 'qtest', '-S', '-qmp', 'unix:%s,server=on,wait=off' %
            path, '-device', 'atlas350,hbm-size=1G,firmware=' + FIRMWARE]
    with subprocess.Popen(argv, cwd=os.path.dirname(QEMU)) as qemu, \
            socket.socket(socket.AF_UNIX) as s:
        try:
            wait_socket(s, path)
            reader = s.makefile()

            def command(name):
                s.sendall(json.dumps({'execute': name}).encode() + b'\n')
                while True:
                    reply = json.loads(reader.readline())
                    if 'return' in reply:
                        return reply['return']

            reader.readline()
            command('qmp_capabilities')
            start = time.monotonic()
            command('cont')
            while True:
                status = command('query-atlas350')[0]['firmware-status']
                if status >= READY:
                    break
                time.sleep(0.0005)
            taken = time.monotonic() - start
            if status != READY:
                raise SystemExit('bench: firmware status 0x%x' % status)
            return taken * 1000
        finally:
            qemu.kill()


def memory():
    out = subprocess.run([BUILD + '/qemu/aicpu-run', '--firmware', FIRMWARE,
                          '--cores', '7', '--hbm', '1G', '--script', '-'],
                         input='stats\n', capture_output=True, text=True,
                         check=True).stdout
    return int(re.search(r'heap (\d+) of', out).group(1)) / 1024


def main():
    with tempfile.TemporaryDirectory() as where:
        took = statistics.median(start_time(where) for _ in range(RUNS))
    print('bench boot.firmware %.1f ms aim 50' % took)
    print('bench boot.firmware.hbm %.1f MiB aim 32' % memory())


main()
