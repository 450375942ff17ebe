"""A private cluster of six nodes for tests."""

import subprocess
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from private_redis import STARTED, Server, client_binary, free_port
from redis.exceptions import ClusterDownError


class Cluster:
    """Three primaries with a replica each."""

    def __init__(self, path, *options):
        self.nodes = [
            Server(
                path / f"node-{number}",
                "--cluster-enabled",
                "yes",
                "--cluster-node-timeout",
                "1500",
                *options,
                port=free_port(10_000),  # its bus is 10,000 above
            )
            for number in range(6)
        ]

    def start(self):
        for node in self.nodes:
            node.start()
        hosts = [f"127.0.0.1:{node.port}" for node in self.nodes]
        words = [client_binary(), "--cluster", "create", *hosts, "--cluster-replicas", "1"]
        subprocess.run([*words, "--cluster-yes"], check=True, capture_output=True, timeout=60)
        deadline = time.monotonic() + 30
        while not all(self._settled(node) for node in self.nodes):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        return self

    def _settled(self, node):
        with node.client() as client:
            facts = client.execute_command("CLUSTER INFO")
            facts = facts if isinstance(facts, dict) else {}
            linked = client.info("replication")
        replica_linked = linked["role"] == "master" or linked["master_link_status"] == "up"
        return facts.get("cluster_state") == "ok" and replica_linked

    @property
    def url(self):
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def owner(self, slot):
        """The node that holds a slot, and another primary."""
        with self.nodes[-1].client() as client:
            ranges = client.execute_command("CLUSTER SLOTS")
        ports = {(each[0], each[1]): each[2][1] for each in ranges}
        by_port = {node.port: node for node in self.nodes}
        mine = next(port for (first, last), port in ports.items() if first <= slot <= last)
        other = next(port for port in ports.values() if port != mine)
        return by_port[mine], by_port[other]

    def keys(self):
        """All keys with their types."""
        found = {}
        for node in self.nodes:
            with node.client() as client:
                if client.info("replication")["role"] == "master":
                    found |= {key: client.type(key) for key in client.scan_iter(count=1000)}
        return found

    def stop(self):
        for node in self.nodes:
            node.stop()


def node_id(node):
    with node.client() as client:
        return client.execute_command("CLUSTER MYID").decode()


def move_slot(slot, source, target):
    """Move a slot while calls go on."""
    source_id, target_id = node_id(source), node_id(target)
    with source.client() as one, target.client() as two:
        two.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", source_id)
        one.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", target_id)
        while keys := one.execute_command("CLUSTER GETKEYSINSLOT", slot, 1):
            # On a busy machine the nodes may lose sight of each other for a moment.
            with suppress(ClusterDownError):
                one.execute_command("MIGRATE", "127.0.0.1", target.port, keys[0], 0, 5000)
            time.sleep(0.02)
        two.execute_command("CLUSTER SETSLOT", slot, "NODE", target_id)
        one.execute_command("CLUSTER SETSLOT", slot, "NODE", target_id)


@cache
def shared_cluster():
    """One cluster for all tests that need no fault; each uses a namespace of its own."""
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="oxmill-cluster-")))
    STARTED.append(cluster)
    return cluster.start()
