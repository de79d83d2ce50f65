#!/usr/bin/env python3
"""Prints what dead links cost each routing, from the runs of fabricd sweep faults.yaml.

Each row of runs.csv is a run, each column a variable, so a notebook reads it as it is:
pandas.read_csv("runs.csv"). This script takes the standard library alone.
"""
import csv
import statistics
import sys
from collections import defaultdict


def read(path):
    """Returns the throughputs of all runs, in packets per cycle, by routing and number of dead links."""
    runs = defaultdict(list)
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            runs[row["method"], int(row["faults"])].append(float(row["accepted"]))
    return runs


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: analyse.py runs.csv")
    try:
        runs = read(sys.argv[1])
    except (OSError, KeyError, ValueError) as error:
        sys.exit(f"analyse.py: {sys.argv[1]}: {error!r}: give runs.csv of fabricd sweep faults.yaml")
    print(f"{'routing':<15}{'dead links':>10}{'packets/cycle':>15}{'spread':>9}{'of healthy':>12}")
    for (method, faults), throughputs in sorted(runs.items()):
        mean = statistics.mean(throughputs)
        spread = statistics.stdev(throughputs) if len(throughputs) > 1 else 0
        healthy = statistics.mean(runs[method, 0])
        print(f"{method:<15}{faults:>10}{mean:>15.3f}{spread:>9.3f}{mean / healthy:>11.0%}")


if __name__ == "__main__":
    main()
