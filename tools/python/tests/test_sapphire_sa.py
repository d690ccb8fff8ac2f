"""The package against files and a running daemon.

Started by tests/tests/python/main.rs with a torus of 3x3x3 switches with two hosts each in the
current directory (net, torus-2QoS.conf, policy.conf, broken.conf) and a daemon at ./ring.
"""

import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import xml.etree.ElementTree as tree
from importlib import resources

import numpy as np

import sapphire_sa as sa

FABRIC = sa.Fabric.compile("net", torus_conf="torus-2QoS.conf", policy="policy.conf")
EXAMPLE = os.environ["SAPPHIRE_EXAMPLE"]


class Fabrics(unittest.TestCase):
    def test_a_fabric_is_compiled_proved_and_drawn(self):
        self.assertEqual((FABRIC.engine, FABRIC.switches, len(FABRIC.hosts())), ("torus-2qos", 27, 54))
        told = sa.check(FABRIC)
        self.assertIsNone(told["credit_loop"])
        self.assertEqual((told["lost_pairs"], told["publishable"]), (0, True))
        picture = tree.fromstring(FABRIC._repr_svg_())
        self.assertEqual(len(list(picture.iter("{http://www.w3.org/2000/svg}circle"))), 27)

    def test_path_lengths_are_those_of_a_torus(self):
        lengths = sa.path_lengths(FABRIC)
        self.assertEqual((lengths.shape, lengths.dtype), ((54, 54), np.uint8))
        self.assertTrue((lengths.diagonal() == 0).all() and (lengths == lengths.T).all())
        # Of 27 switches one is 0, six 1, twelve 2 and eight 3 links away, with two hosts each.
        counted = dict(zip(*np.unique(lengths, return_counts=True)))
        self.assertEqual(counted, {0: 54, 2: 54, 3: 54 * 12, 4: 54 * 24, 5: 54 * 16})
        plot = tree.fromstring(FABRIC.plot_path_lengths())
        titles = [title.text for title in plot.iter("{http://www.w3.org/2000/svg}title")]
        self.assertTrue(any("1296" in (title or "") for title in titles), titles)

    def test_hops_are_those_that_explain_counts(self):
        hosts, lengths = FABRIC.hosts(), sa.path_lengths(FABRIC)
        for to in (1, 2, 17, 53):
            why = sa.explain(FABRIC, hosts[0][0], hosts[to][0])
            # A hop is a switch; one link more than switches.
            self.assertEqual(len(why["hops"]) + 1, lengths[0, to], why["hops"])

    def test_explain_names_the_rule(self):
        why = sa.explain(FABRIC, "1", "9", service_id=0x1061144)
        self.assertEqual(why["status"], "0x0000")
        self.assertIn("nvme", str(why["policy"]))
        with self.assertRaises(sa.InputError):
            sa.explain(FABRIC, "nobody", "9")

    def test_options_are_those_of_the_tool(self):
        # Two LIDs a port; the second switch is the root.
        with open("net", encoding="utf-8") as net:
            guids = [line.split("=")[1].split("(")[0].strip() for line in net if line.startswith("switchguid")]
        with open("roots", "w", encoding="utf-8") as roots:
            roots.write(guids[1] + "\n")
        host = FABRIC.hosts()[7][0]
        other = sa.Fabric.compile("net", engine="updn", root_guids="roots", lmc=1, sm_node=host, partitions_as_groups=True)
        lids = {name: lid for name, _, lid in other.hosts()}
        self.assertEqual((other.engine, lids[host]), ("updn", 2))
        self.assertTrue(all(lid % 2 == 0 for lid in lids.values()), lids)
        for wrong in ({"lmc": 8}, {"dialect": "yaml"}, {"echo": "loud"}, {"scope_precedence": "second"}):
            with self.assertRaises(sa.InputError):
                sa.Fabric.compile("net", policy="policy.conf", **wrong)
        with self.assertRaises(sa.InputError):
            sa.Fabric.compile("net", root_guids="no-such-file", engine="updn")

    def test_routes_are_dumped_and_read_again(self):
        FABRIC.route("dumps")
        again = sa.Fabric.compile("dumps")
        self.assertTrue((sa.path_lengths(again) == sa.path_lengths(FABRIC)).all())

    def test_a_damaged_fabric_has_longer_paths_or_is_refused(self):
        with open("net", encoding="utf-8") as net:
            names = [line.split('"')[1] for line in net if line.startswith("Switch")]
        left = sa.Fabric.compile("net", torus_conf="torus-2QoS.conf", fail=[names[13]])
        self.assertEqual((left.switches, len(left.hosts())), (26, 52))
        self.assertTrue((sa.path_lengths(left) < 255).all())
        # The configuration begins with the first one.
        with self.assertRaises(sa.RefusedError) as caught:
            sa.Fabric.compile("net", torus_conf="torus-2QoS.conf", fail=[names[0]])
        self.assertEqual((caught.exception.file, caught.exception.line), ("torus-2QoS.conf", 2))
        with self.assertRaises(sa.SapphireError):
            sa.Fabric.compile("net", torus_conf="torus-2QoS.conf", fail=["no-such-switch"])


class Files(unittest.TestCase):
    def test_errors_have_their_place(self):
        for read in (sa.Policy.read, lambda file: sa.Fabric.compile("net", policy=file)):
            with self.assertRaises(sa.InputError) as caught:
                read("broken.conf")
            error = caught.exception
            self.assertEqual((error.file, error.line), ("broken.conf", 4), str(error))
            self.assertGreater(error.column, 0)
            self.assertIsInstance(error, sa.SapphireError)
        with self.assertRaises(sa.InputError) as caught:
            sa.Snapshot.open("no-such.snap")
        self.assertEqual((caught.exception.file, caught.exception.line), ("no-such.snap", None))
        with self.assertRaises(sa.InputError):
            sa.Fabric.compile("net", engine="no-such-engine")

    def test_a_policy_is_read_and_judged(self):
        policy = sa.Policy.read("policy.conf")
        self.assertEqual((policy.levels, policy.rules), (3, 2))
        checks = [check for check, *_ in policy.lint(FABRIC)]
        self.assertTrue(all(check.startswith("L") for check in checks), checks)

    def test_a_snapshot_goes_through_its_file(self):
        snapshot = FABRIC.snapshot()
        snapshot.write("python.snap")
        told = sa.Snapshot.open("python.snap").info()
        self.assertEqual(told, snapshot.info())
        self.assertEqual((told["hosts"], told["switches"], told["rules"]), (54, 27, 2))
        with open("python.snap", "r+b") as file:
            file.seek(5000)
            file.write(b"damaged")
        with self.assertRaises(sa.InputError):
            sa.Snapshot.open("python.snap")

    def test_types_are_told(self):
        for name in ("py.typed", "_native.pyi"):
            self.assertTrue(resources.files(sa).joinpath(name).is_file())


class Paths(unittest.TestCase):
    def test_all_pairs_by_lid_guid_and_gid_are_the_same(self):
        client = sa.Client("ring")
        _, guids, lids = (np.array(column) for column in zip(*FABRIC.hosts()))
        by_lid = sa.resolve(client, *sa.all_pairs(lids))
        self.assertEqual((by_lid.found, by_lid.unanswered), (54 * 53, 0), by_lid)
        self.assertTrue((by_lid.paths["status"] == 0).all())
        self.assertTrue((by_lid.paths["dlid"] == sa.all_pairs(lids)[1]).all())
        self.assertEqual(set(by_lid.paths["mtu"]), {2048})
        by_guid = sa.resolve(client, *sa.all_pairs(guids))
        self.assertTrue((by_guid.paths["sl"] == by_lid.paths["sl"]).all())
        self.assertTrue((by_guid.paths["slid"] == by_lid.paths["slid"]).all())
        gid = f"fe80::{guids[3] >> 48:x}:{guids[3] >> 32 & 0xffff:x}:{guids[3] >> 16 & 0xffff:x}:{guids[3] & 0xffff:x}"
        mixed = sa.resolve(client, [f"0x{guids[0]:016x}", int(lids[1])], [gid, gid])
        self.assertEqual(list(mixed.paths["dlid"]), [lids[3]] * 2)
        self.assertEqual(bytes(mixed.paths["dgid"][0])[8:], int(guids[3]).to_bytes(8, "big"))

    def test_answers_are_those_that_the_fabric_explains(self):
        client, hosts = sa.Client("ring"), FABRIC.hosts()
        for wish, name in ({}, "DEFAULT"), ({"service_id": 0x1061144}, "nvme"), ({"qos_class": 32}, "class"):
            path = sa.resolve(client, hosts[0][2], [hosts[30][2]], **wish).paths[0]
            record = sa.explain(FABRIC, hosts[0][0], hosts[30][0], **wish)["record"]
            self.assertEqual((path["sl"], path["mtu"]), (record["sl"], record["mtu_bytes"]), record)
            life = {"DEFAULT": 15, "nvme": 10, "class": 11}[name]
            self.assertEqual(path["packet_life"], life)

    def test_what_is_not_there_is_a_status_and_what_is_no_end_an_error(self):
        client = sa.Client("ring")
        told = sa.resolve(client, 1, [2, 999, 9999999999])
        self.assertEqual((told.found, told.refused), (1, 2))
        self.assertEqual(list(told.paths["status"] > 0), [False, True, True])
        one, other = (lid for _, _, lid in FABRIC.hosts()[:2])
        self.assertEqual(sa.resolve(client, one, other, min_mtu=4096).refused, 1)
        rate = sa.resolve(client, one, other, min_mtu=2048, min_rate=2.5).paths["rate"][0]
        self.assertEqual(sa.resolve(client, one, other, min_rate=rate).found, 1)
        self.assertEqual(sa.resolve(client, one, other, min_rate=rate + 1).refused, 1)
        told = sa.resolve(client, 1, [2, 3], requester=998, deadline=0.05)
        self.assertEqual(list(told.paths["status"]), [sa.NO_ANSWER] * 2)
        for ends in ([0], [0xC000], ["node7"]):
            with self.assertRaises(sa.InputError):
                sa.resolve(client, 1, ends)
        for ends in ([-1], [1, 2]):
            with self.assertRaises(ValueError):
                sa.resolve(client, [1], ends)
        with self.assertRaises(sa.InputError):
            sa.resolve(client, 1, [2], qos_class=4096)
        with self.assertRaises(sa.UnreachableError):
            sa.Client("no-such-ring")
        self.assertEqual(len(sa.resolve(client, 1, []).paths), 0)

    def test_ctrl_c_ends_a_bulk_and_other_threads_go_on_meanwhile(self):
        client, began = sa.Client("ring"), time.monotonic()
        turns = []
        stop = threading.Event()

        def others():
            while not stop.is_set():
                turns.append(1)
                if len(turns) == 1000:
                    signal.raise_signal(signal.SIGINT)
                time.sleep(0)

        thread = threading.Thread(target=others)
        thread.start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                sa.resolve(client, 1, [2], requester=998, deadline=60)
        finally:
            stop.set()
            thread.join()
        self.assertGreaterEqual(len(turns), 1000)
        self.assertLess(time.monotonic() - began, 50)
        self.assertEqual(sa.resolve(client, 1, [2]).found, 1)

    def test_the_example_reads_the_running_fabric(self):
        ran = subprocess.run(
            [sys.executable, EXAMPLE, "ring:ring", "lengths.svg"], capture_output=True, text=True
        )
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("4 links: 1296 pairs", ran.stdout)
        tree.parse("lengths.svg")
        nobody = subprocess.run([sys.executable, EXAMPLE, "ring:none", "x.svg"], capture_output=True)
        self.assertEqual(nobody.returncode, 4)


if __name__ == "__main__":
    unittest.main()
