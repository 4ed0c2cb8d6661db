#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes the pictures of the README from real profiles: the HTML page, and ntprof top in a terminal.

usage: make_pictures.py BUILD [FOLDER, docs/images]

Needs chromium, python3-dbg (names in Python), python3-pyte and pngquant. What is profiled runs in a folder of its own,
so that no path or name of this machine is seen. Shares differ a little each time; what is shown does not.
"""
import fcntl
import html
import os
import pathlib
import pty
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time

try:
    import pyte
except ImportError:
    pyte = None  # main says what to install

TREE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TREE / "tests/browser"))
import browser  # noqa: E402

PAGE_BYTES_MAX, TOP_BYTES_MAX = 150_000, 40_000
PYTHON = "/usr/bin/python3"
WORK = '''import json
import re
import time

end = time.process_time() + SECONDS
while time.process_time() < end:
    words = [f"{number * 7919 % 100003:x}" for number in range(20000)]
    counts = {}
    for word in words:
        counts[word[:3]] = counts.get(word[:3], 0) + 1
    text = json.dumps(sorted(counts.items(), key=lambda item: item[1]) * 5)
    found = re.findall(r"[a-f]+\\d", text)
    json.loads(text)
'''

# The terminal, in pixels and in the colours of a light one.
COLUMNS, LINES = 96, 26
CELL_WIDTH, CELL_HEIGHT, BASELINE, MARGIN = 8.4, 18, 13.5, 14
TEXT, PAPER = "#24292f", "#fffffc"
COLOURS = {"black": "#24292f", "red": "#b3261e", "green": "#1a7f37", "brown": "#9a6700", "blue": "#0b57d0",
           "magenta": "#8250df", "cyan": "#0b7285", "white": "#6e7781"}


def run(command, folder):
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(folder), "TZ": "UTC"}
    subprocess.run([str(word) for word in command], cwd=folder, env=environment, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_page(ntprof, folder, target):
    """The page of a profile of Python, at twice the pixels and with few colours."""
    (folder / "report.py").write_text(WORK.replace("SECONDS", "4"))
    run([ntprof, "run", "-o", "profile.pb.gz", "--", "python3", "report.py"], folder)
    run([ntprof, "export", "--format", "html", "-o", "page.html", "profile.pb.gz"], folder)
    os.environ["TZ"] = "UTC"  # the page names the browser's zone
    with browser.Browser() as chromium:
        page = chromium.open(f"file://{folder}/page.html", width=1180, height=740, scale=2)
        page.wait("document.body.dataset.ready")
        page.screenshot(folder / "page.png")
        shown = page.run("document.body.innerText")
    if "sre_ucs1_match" not in shown:  # a static function
        sys.exit("make_pictures: functions of Python have no names; type: apt-get install python3-dbg")
    run(["pngquant", "--force", "--strip", "--speed", "1", "--output", target, "32", folder / "page.png"], folder)
    return shown


def watch(command, folder, seconds):
    """What a command shows on a terminal after some seconds; then q is typed."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        os.chdir(folder)
        os.execve(command[0], command, {"TERM": "xterm", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"})
    until = time.monotonic() + seconds
    try:
        while time.monotonic() < until:
            if select.select([terminal], [], [], 0.1)[0]:
                stream.feed(os.read(terminal, 1 << 16))
        os.write(terminal, b"q")
    except OSError:
        sys.exit("make_pictures: the command ended at once:\n" + "\n".join(screen.display))
    os.waitpid(pid, 0)
    os.close(terminal)
    return screen


def runs_of(row):
    """Neighbouring characters of one look: the first column, the text, colours and weight."""
    begin, cells = 0, [row[column] for column in range(COLUMNS)]

    def look(cell):
        colours = COLOURS.get(cell.fg, TEXT), COLOURS.get(cell.bg, PAPER)
        return (*(reversed(colours) if cell.reverse else colours), cell.bold)

    for column in range(1, COLUMNS + 1):
        if column == COLUMNS or look(cells[column]) != look(cells[begin]):
            yield begin, "".join(cell.data for cell in cells[begin:column]), look(cells[begin])
            begin = column


def svg_of(screen, title):
    width, height = COLUMNS * CELL_WIDTH + 2 * MARGIN, LINES * CELL_HEIGHT + 2 * MARGIN
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
             f'height="{height:g}" font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" '
             f'font-size="14">', f"<title>{html.escape(title)}</title>",
             f'<rect x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="8" fill="{PAPER}" '
             'stroke="#d0d7de"/>']
    for line in range(LINES):
        top = MARGIN + line * CELL_HEIGHT
        for column, text, (ink, paper, bold) in runs_of(screen.buffer[line]):
            left, length = MARGIN + column * CELL_WIDTH, len(text) * CELL_WIDTH
            if paper != PAPER:
                parts.append(f'<rect x="{left:g}" y="{top}" width="{length:g}" height="{CELL_HEIGHT}" fill="{paper}"/>')
            # Each word has its own place, so that columns stay in line whatever the font is.
            for word in re.finditer(r"\S+(?: \S+)*", text):
                place = left + word.start() * CELL_WIDTH
                weight = ' font-weight="bold"' if bold else ""
                parts.append(f'<text x="{place:g}" y="{top + BASELINE:g}" fill="{ink}"{weight} '
                             f'textLength="{len(word[0]) * CELL_WIDTH:g}">{html.escape(word[0])}</text>')
    return "\n".join(parts + ["</svg>", ""])


def make_top(ntprof, folder, target):
    """A look of top at Python and at the example that computes."""
    (folder / "report.py").write_text(WORK.replace("SECONDS", "300"))
    run(["gcc", "-O2", "-g", "-fno-inline", f"-ffile-prefix-map={TREE}=.", "-o", "busy", TREE / "examples/busy.c"],
        folder)
    workers = [subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
               for command in ([PYTHON, "report.py"], ["./busy", "300"])]
    try:
        pids = ",".join(str(worker.pid) for worker in workers)
        screen = watch([str(ntprof), "top", "-p", pids], folder, 11)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    shown = "\n".join(screen.display)
    if "multiply_matrices" not in shown:
        sys.exit("make_pictures: ntprof top did not show the programs:\n" + shown)
    target.write_text(svg_of(screen, "ntprof top: functions of two programs with their hits, live"))
    return shown


def check(picture, shown, most):
    size = picture.stat().st_size
    print(f"{picture.name}: {size} bytes")
    if size > most:
        sys.exit(f"make_pictures: {picture} has {size} bytes, more than {most}")
    for word in (socket.gethostname(), str(TREE), os.environ.get("HOME", "/nowhere")):
        if len(word) > 1 and word in shown:
            sys.exit(f"make_pictures: {picture} shows {word}, which is of this machine")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.split("\n\n")[1])
    ntprof = (pathlib.Path(sys.argv[1]) / "tool/ntprof").resolve()
    target = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else TREE / "docs/images").resolve()
    missing = [name for name in ("pngquant", "gcc") if shutil.which(name) is None]
    missing += [] if pyte else ["python3-pyte"]
    missing += [] if browser.find() else ["chromium"]
    if missing:
        print("make_pictures: no pictures; type: apt-get install " + " ".join(missing))
        sys.exit(77)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ntprof-pictures-") as name:
        folder = pathlib.Path(name)
        check(target / "page.png", make_page(ntprof, folder, target / "page.png"), PAGE_BYTES_MAX)
        check(target / "top.svg", make_top(ntprof, folder, target / "top.svg"), TOP_BYTES_MAX)


main()
