from pathlib import Path

__path__.append(str(Path(__file__).resolve().parents[4] / "big-ann" / "neurips23" / "sparse"))
