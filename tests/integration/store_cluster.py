#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A store of two ClickHouse servers and ZooKeeper, each in a network namespace of its own: agents send to both while
one is killed by SIGKILL and started again, and each hit counts once."""
import atexit
import ctypes
import os
import pathlib
import shutil
import socket
import subprocess
import time
import unittest

import clickhouse
import harness
import store_agents
from harness import text

CLONE_NEWNET = 0x40000000
KEEPER, KEEPER_PORT, REPLICAS_PORT, SERVERS = "10.77.0.1", 2181, 9009, ("10.77.0.11", "10.77.0.12")
JARS = "/usr/share/java"
KILLS = 3

CLUSTER = """
<interserver_http_port>{replicas_port}</interserver_http_port><interserver_http_host>{host}</interserver_http_host>
<zookeeper><node><host>{keeper}</host><port>{keeper_port}</port></node><session_timeout_ms>3000</session_timeout_ms>
</zookeeper><remote_servers><fleet>{shards}</fleet></remote_servers>
<macros><shard>{shard}</shard><replica>{replica}</replica></macros>
<distributed_ddl><path>/clickhouse/ddl</path></distributed_ddl>"""
SHARD = "<shard><internal_replication>true</internal_replication>{replicas}</shard>"
REPLICA = "<replica><host>{host}</host><port>{port}</port></replica>"


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Namespace:
    """A network namespace with one address, on the bridge of this one."""

    def __init__(self, number, address):
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        atexit.register(self.end)
        own = os.readlink("/proc/self/ns/net")
        harness.wait_for(lambda: os.readlink(f"/proc/{self.holder.pid}/ns/net") != own, "a network namespace")
        self.within = ["nsenter", "-t", str(self.holder.pid), "-n"]
        ip("link", "add", f"side{number}", "type", "veth", "peer", "name", "eth0", "netns", str(self.holder.pid))
        ip("link", "set", f"side{number}", "master", "bridge0", "up")
        for words in (("link", "set", "lo", "up"), ("addr", "add", f"{address}/24", "dev", "eth0"),
                      ("link", "set", "eth0", "up")):
            subprocess.run([*self.within, "ip", *words], check=True)

    def end(self):
        self.holder.kill()
        self.holder.wait()


@unittest.skipUnless(harness.is_root(), "only root makes network namespaces")
class Cluster(store_agents.AgentsCase):
    namespaces = []

    def setUp(self):
        super().setUp()
        if not self.namespaces:
            self.make_network()

    @classmethod
    def make_network(cls):
        """This process gets a network of its own, in which the others are."""
        if not pathlib.Path(f"{JARS}/zookeeper.jar").exists() or shutil.which("java") is None:
            raise unittest.SkipTest("no ZooKeeper is installed")
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
            raise unittest.SkipTest(f"no network namespace can be made here: {os.strerror(ctypes.get_errno())}")
        ip("link", "set", "lo", "up")
        ip("link", "add", "bridge0", "type", "bridge")
        ip("addr", "add", f"{KEEPER}/24", "dev", "bridge0")
        ip("link", "set", "bridge0", "up")
        cls.namespaces = [Namespace(number, address) for number, address in enumerate(SERVERS)]

    def start_keeper(self):
        settings = self.folder / "zoo.cfg"
        settings.write_text(f"tickTime=500\ndataDir={self.folder}/keeper\nclientPort={KEEPER_PORT}\n"
                            f"clientPortAddress={KEEPER}\nadmin.enableServer=false\n")
        keeper = subprocess.Popen(["java", "-Xmx256m", "-cp", f"{JARS}/zookeeper.jar:{JARS}/*",
                                   "org.apache.zookeeper.server.quorum.QuorumPeerMain", settings],
                                  cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(keeper.wait)
        self.addCleanup(keeper.kill)

        def answers():
            self.assertIsNone(keeper.poll(), "ZooKeeper ended")
            try:
                socket.create_connection((KEEPER, KEEPER_PORT), 1).close()
                return True
            except OSError:
                return False
        harness.wait_for(answers, "ZooKeeper")

    def start_servers(self, shards):
        """shards: whether the servers are two shards, not two replicas of one."""
        port = harness.free_port()
        replicas = [REPLICA.format(host=host, port=port) for host in SERVERS]
        listed = "".join(SHARD.format(replicas=replica) for replica in (replicas if shards else ["".join(replicas)]))
        servers = []
        for number, host in enumerate(SERVERS):
            more = CLUSTER.format(host=host, replicas_port=REPLICAS_PORT, keeper=KEEPER, keeper_port=KEEPER_PORT,
                                  shards=listed, shard=number if shards else 0, replica=number)
            server = clickhouse.Server(self.folder / f"server{number}", host, "::/0", more,
                                       self.namespaces[number].within, port)
            self.addCleanup(server.kill)
            self.restart(server)
            servers.append(server)
        return servers

    def init(self, servers, url):
        """Debian's server may crash at its first query of the cluster: it is started again, as by systemd."""
        made = self.ntprof("store", "init", "--cluster", "fleet", url)
        for server in servers:
            if server.process.poll() is not None:
                self.restart(server)
                made = self.ntprof("store", "init", "--cluster", "fleet", url)
        return made

    def make_store(self, shards):
        self.start_keeper()
        servers = self.start_servers(shards)
        urls = [f"clickhouse://{server.address()}/fleet?timeout=20s" for server in servers]
        made = self.init(servers, urls[0])
        if b"without libcurl" in made.stderr:
            self.skipTest("this ntprof was built without libcurl")
        self.assertEqual(made.returncode, 0, text(made.stderr))
        return servers, urls

    def restart(self, server):
        """It may not start, as while ZooKeeper believes that a killed one runs: it is tried again as by systemd."""
        end = time.monotonic() + 60
        while True:
            try:
                server.start()
                return
            except unittest.SkipTest as failure:
                server.kill()
                self.assertLess(time.monotonic(), end, failure)
            time.sleep(0.5)

    def run_and_kill(self, servers, urls, while_dead):
        """Agents send to both servers, of which the second is killed KILLS times."""
        kills = []

        def disturb(chance):
            time.sleep(chance.random())
            if len(kills) == KILLS:
                return
            servers[1].kill()
            kills.append(time.monotonic())
            while_dead()
            self.restart(servers[1])

        agents = self.run_round(urls, 7, 0, disturb)
        self.assertGreater(len(kills), 0)
        return agents

    def wait_for_replicas(self, servers):
        """The replicas have the same rows, which takes a while."""
        for server in servers:
            for table in ("windows", "accounting", "hits", "places", "images"):
                server.ask(f"SYSTEM SYNC REPLICA fleet.{table}_local")

    def prune(self, url):
        """Replicas that have just started may still choose a leader, and refuse meanwhile: they are asked again."""
        end = time.monotonic() + 60
        while True:
            removed = self.ntprof("store", "prune", url, "--before", "2000-01-01")
            if removed.returncode == 0:
                return
            self.assertIn("Leader was suddenly changed", text(removed.stderr))
            self.assertLess(time.monotonic(), end)
            time.sleep(0.5)

    def test_two_replicas__one_is_killed__queries_go_on_and_each_hit_counts_once(self):
        servers, urls = self.make_store(shards=False)
        answers = []

        def ask():
            answers.append(self.ntprof("report", urls[0], "--json").returncode)

        agents = self.run_and_kill(servers, urls, ask)
        self.assertEqual(answers[-1], 0)
        self.wait_for_replicas(servers)
        for url in urls:
            self.check_sums(url, agents)
        servers[1].kill()
        self.check_sums(urls[0], agents)
        self.restart(servers[1])
        self.prune(urls[1])
        self.wait_for_replicas(servers)
        for url in urls:
            self.assertIn(b"windows   0 ", self.ntprof("store", "stat", url).stdout)

    def test_two_shards__one_is_killed__each_hit_counts_once(self):
        servers, urls = self.make_store(shards=True)
        refusals = []

        def ask():
            refusals.append(self.ntprof("report", urls[0]))

        agents = self.run_and_kill(servers, urls, ask)
        for refused in refusals:
            self.assertEqual(refused.returncode, 125)
            self.assertEqual(len(refused.stderr.splitlines()), 1, text(refused.stderr))
        for url in urls:
            self.check_sums(url, agents)
        counts = [int(server.ask("SELECT count() FROM fleet.windows_local")) for server in servers]
        self.assertTrue(all(counts), counts)

    def check_upgrade(self, shards):
        servers, urls = self.make_store(shards)
        columns = {"places": ("definition", "has_address", "function_address", "caller_definitions",
                              "caller_has_addresses", "caller_addresses"), "accounting": ("outside_kernel",)}
        with_rows = servers if shards else servers[:1]  # replicas follow
        for server in servers:
            for table, names in columns.items():
                for name in names:
                    server.ask(f"ALTER TABLE fleet.{table} DROP COLUMN {name}")
        for server in with_rows:
            for table, names in columns.items():
                for name in names:
                    server.ask(f"ALTER TABLE fleet.{table}_local DROP COLUMN {name}")
            server.ask("TRUNCATE TABLE fleet.ntprof_local")
        servers[0].ask("INSERT INTO fleet.ntprof_local VALUES (2)")
        refused = self.ntprof("report", urls[0])
        self.assertIn("to convert it, once: ntprof store upgrade clickhouse:", text(refused.stderr))
        for _ in range(2):
            upgraded = self.ntprof("store", "upgrade", urls[0])
            self.assertEqual(upgraded.returncode, 0, text(upgraded.stderr))
        agents = self.run_round(urls, 3, 0, lambda chance: time.sleep(0.1))
        if not shards:
            self.wait_for_replicas(servers)
        for url in urls:
            self.check_sums(url, agents)

    def test_shards_of_the_version_before__upgraded_on_all_servers(self):
        self.check_upgrade(shards=True)

    def test_replicas_of_the_version_before__upgraded_on_all_servers(self):
        self.check_upgrade(shards=False)

    def test_refusals__say_what_is_missing(self):
        servers, urls = self.make_store(shards=False)
        for words, said in ((("init", "--cluster", "fleet", urls[0]), "exists already"),
                            (("init", "--cluster", "other", urls[0].replace("/fleet", "/more")), "other"),
                            (("init", "--cluster", "a'b", urls[0].replace("/fleet", "/more")), "letters"),
                            (("init", "--cluster", "fleet", f"sqlite:{self.folder}/x.db"), "has no cluster"),
                            (("fold", urls[0]), "not folded")):
            with self.subTest(words):
                refused = self.ntprof("store", *words)
                self.assertEqual(refused.returncode, 125)
                self.assertIn(said, text(refused.stderr))
                self.assertEqual(len(refused.stderr.splitlines()), 1)
        alone = clickhouse.Server(self.folder / "alone")
        self.addCleanup(alone.kill)
        alone.start()
        refused = self.ntprof("store", "init", "--cluster", "fleet", f"clickhouse://{alone.address()}/fleet")
        self.assertEqual(refused.returncode, 125)
        self.assertEqual(len(refused.stderr.splitlines()), 1, text(refused.stderr))
        servers[0].kill()
        refused = self.ntprof("report", urls[0])
        self.assertEqual(refused.returncode, 125)


if __name__ == "__main__":
    harness.main()
