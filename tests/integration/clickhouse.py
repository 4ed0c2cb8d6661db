# SPDX-License-Identifier: MIT
"""A ClickHouse server of Debian's package on loopback, in a folder of its own, for tests."""
import pathlib
import shutil
import signal
import subprocess
import time
import unittest
import urllib.request

from harness import free_port

SERVER = shutil.which("clickhouse-server", path="/usr/sbin:/usr/bin")

CONFIG = """<yandex>
<logger><level>error</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
<http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><listen_host>{host}</listen_host>
<path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><user_files_path>{folder}/files/</user_files_path>
<users_config>{folder}/users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database><mark_cache_size>10000000</mark_cache_size>
<max_concurrent_queries>100</max_concurrent_queries>
<merge_tree><old_parts_lifetime>1</old_parts_lifetime></merge_tree><timezone>UTC</timezone>{more}
</yandex>"""

USERS = """<yandex>
<profiles><default><max_memory_usage>4000000000</max_memory_usage><max_threads>2</max_threads></default></profiles>
<users>
<default><password></password><networks><ip>{clients}</ip></networks><profile>default</profile>
<quota>default</quota></default>
<secret><password>se'cret</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
<quota>default</quota></secret>
</users>
<quotas><default></default></quotas>
</yandex>"""


class Server:
    """Started and killed at will; its data stay in the folder."""

    def __init__(self, folder, host="127.0.0.1", clients="127.0.0.1", more="", within=(), tcp=None):
        """more: XML of its configuration; within: a command that executes it in a namespace."""
        if SERVER is None:
            raise unittest.SkipTest("no clickhouse-server is installed")
        self.folder = pathlib.Path(folder)
        self.host, self.within = host, list(within)
        self.http, self.tcp = free_port(), tcp or free_port()
        self.process = None
        for name in ("data", "tmp", "files"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "config.xml").write_text(
            CONFIG.format(folder=self.folder, http=self.http, tcp=self.tcp, host=host, more=more))
        (self.folder / "users.xml").write_text(USERS.format(clients=clients))

    def address(self):
        return f"{self.host}:{self.http}"

    def ask(self, sql, timeout=60):
        request = urllib.request.Request(f"http://{self.address()}/", data=sql.encode())
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        return opener.open(request, timeout=timeout).read().decode()

    def answers(self):
        try:
            return self.ask("SELECT 1", timeout=5) == "1\n"
        except OSError:
            return False

    def start(self):
        self.process = subprocess.Popen([*self.within, SERVER, f"--config-file={self.folder}/config.xml"],
                                        cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while not self.answers():
            if self.process.poll() is not None:
                raise unittest.SkipTest("clickhouse-server does not start here: "
                                        + str((self.folder / "errors").read_text()[-300:]
                                              if (self.folder / "errors").exists() else self.process.returncode))
            if time.monotonic() > end:
                raise AssertionError("clickhouse-server does not answer")
            time.sleep(0.05)

    def kill(self, number=signal.SIGKILL):
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait()
            self.process = None
