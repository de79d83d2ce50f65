#!/usr/bin/env python3
"""deterministic-link, the firmware for fat trees that re-routes around dead links, as a process.

Run it with: fabricd up --routing exec:./fw.py. The protocol is in docs/reference/exec.md.
"""
import json
import sys

NORMAL, AFTER_U_TURN = 0, 1  # virtual channels


def to(port, vc, rule, turn="straight"):
    return {"candidates": [] if port is None else [{"port": port, "vc": vc}], "rule": rule, "turn": turn}


def route(tree, q):
    dead = q.get("dead_ports", ())
    number, came, vc, above = q["header"]["number"], q["in_port"], q["vc"], q["from"] == "above"
    up, down = tree["up"], tree["down"]

    def first(ports):
        return next((p for p in ports if p not in dead), None)

    if number // tree["above"] != tree["prefix"]:  # the destination is not below this switch
        if not above:
            i = number // tree["below"] % len(up)
            p = first([up[i], *up[i + 1:], *up[:i]])
            return to(p, NORMAL, "1: up", "straight" if p == up[i] else "reroute")
        if vc == NORMAL:
            return to(first(p for p in up if p != came), AFTER_U_TURN, "3a: U-turn", "u-turn")
        return to(first(up[up.index(came) + 1:]), AFTER_U_TURN, "3b: next U-turn", "u-turn")
    i = number % tree["above"] // tree["below"]
    if down[i] not in dead:
        return to(down[i], NORMAL if above else vc, "2: down")
    if tree["tier"] == tree["tiers"] - 1:
        return to(None, 0, "the link to the NIC is dead")
    if not above and came not in dead:
        return to(came, vc, "2: back to the same lower switch", "reroute")
    return to(first(down[i + 1:] + down[:i]), NORMAL if above else vc, "2: another down port", "reroute")


trees = {}
for line in sys.stdin:
    m = json.loads(line)
    if "place" in m:
        trees[m["place"]] = m["tree"]
        continue
    if "batch" in m:
        a = {"batch": m["batch"], "answers": [route(trees[q["place"]], q) for q in m["questions"]]}
    else:
        a = {"version": 1, "name": "fw.py", "about": "fat trees: deterministic-link", "on": "trees", "vcs": 2,
             "tolerates": ["links"], "destination_based": True, "requeue": True}
    print(json.dumps(a), flush=True)
