"""Reads a running fabric and plots how long its paths are.

    path_lengths.py umad lengths.svg
    path_lengths.py ring:/run/sapphire/ring lengths.svg
"""

import sys

import numpy as np

import sapphire_sa as sa


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    via, out = sys.argv[1:]
    try:
        fabric = sa.Fabric.read(via)
    except sa.SapphireError as error:
        print(f"{via}: {error}", file=sys.stderr)
        return 4 if isinstance(error, sa.UnreachableError) else 1
    lengths = sa.path_lengths(fabric)
    pairs = lengths[~np.eye(len(lengths), dtype=bool)]
    for links, count in zip(*np.unique(pairs, return_counts=True)):
        print(f"{'no path' if links == 255 else f'{links} links'}: {count} pairs")
    with open(out, "w", encoding="utf-8") as file:
        file.write(fabric.plot_path_lengths())
    return 0


if __name__ == "__main__":
    sys.exit(main())
