#!/usr/bin/env python3
"""deterministic-link, for fat trees, as a process: fabricd up --routing exec:./fw.py. See docs/reference/exec.md."""
import json, sys

NORMAL, AFTER_U_TURN = 0, 1  # virtual channels
HELLO = {"version": 1, "name": "fw.py", "about": "fat trees: deterministic-link", "on": "trees", "vcs": 2,
         "tolerates": ["links"], "destination_based": True, "requeue": True}
trees = {}

def to(port, vc, rule, turn="straight"):
    return {"candidates": [] if port is None else [{"port": port, "vc": vc}], "rule": rule, "turn": turn}

def route(tree, q):
    up, down, number, came, vc = tree["up"], tree["down"], q["header"]["number"], q["in_port"], q["vc"]
    above, dead = q["from"] == "above", q.get("dead_ports", ())
    first = lambda ports: next((p for p in ports if p not in dead), None)  # that is live
    if number // tree["above"] != tree["prefix"]:  # the destination is not below this switch
        if above and vc == NORMAL:
            return to(first(p for p in up if p != came), AFTER_U_TURN, "3a: U-turn", "u-turn")
        if above:
            return to(first(up[up.index(came) + 1:]), AFTER_U_TURN, "3b: next U-turn", "u-turn")
        i = number // tree["below"] % len(up)
        p = first(up[i:] + up[:i])
        return to(p, NORMAL, "1: up", "straight" if p == up[i] else "reroute")
    i = number % tree["above"] // tree["below"]
    if down[i] not in dead:
        return to(down[i], NORMAL if above else vc, "2: down")
    if tree["tier"] == tree["tiers"] - 1:
        return to(None, 0, "the link to the NIC is dead")
    if not above and came not in dead:
        return to(came, vc, "2: back to the same lower switch", "reroute")
    return to(first(down[i + 1:] + down[:i]), NORMAL if above else vc, "2: another down port", "reroute")

for line in sys.stdin:
    m, say = json.loads(line), HELLO
    if "place" in m:
        trees[m["place"]] = m["tree"]
        continue
    if "batch" in m:
        say = {"batch": m["batch"], "answers": [route(trees[q["place"]], q) for q in m["questions"]]}
    print(json.dumps(say), flush=True)
