"""Writing a generated file, or checking that the one in the tree is current."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def deliver(files):
    """files: {path from the repository's root: text}. Returns the exit status."""
    if sys.argv[1:] not in ([], ["--check"]):
        print(f"usage: {sys.argv[0]} [--check]", file=sys.stderr)
        return 2
    stale = 0
    for name, text in files.items():
        path = ROOT / name
        if sys.argv[1:] == []:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(
                f"{name} differs from what {pathlib.Path(sys.argv[0]).name} writes: run it", file=sys.stderr
            )
            stale = 1
    return stale
