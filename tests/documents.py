"""The documents and their code blocks, for tests that run or read them."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(document: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def policies() -> list[str]:
    return [text for document in DOCUMENTS for text in blocks(document, "yaml") if "dataset:" in text]
