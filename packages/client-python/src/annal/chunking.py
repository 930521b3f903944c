"""Splits a text into chunks that are searched one by one. The client for TypeScript has the same function with the same results."""

from __future__ import annotations

import re
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple

from .errors import InvalidArgumentError
from .types import Chunk, ChunkBy


class _Span(NamedTuple):
    start: int
    end: int
    tokens: int


_Splitter = Callable[[str, int, int], List[_Span]]

_SIZE_MAX = 10_000
_KINDS = ("sentences", "tokens", "markdown", "code")

# The classes are those of the client for TypeScript (packages/client/src/chunking/tokens.ts), not those of the version of Python.
_SPACES = "\t-\r \x85\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff"
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u064b-\u065f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece"
    "\u102b-\u103e\u17b4-\u17d3\u200c\u200d\u20d0-\u20ff\u3099\u309a\ufe00-\ufe0f"
)
_PUNCTUATION = (
    r"!-/:-@\[-\^`{-~" + "\xa1-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\xd7\xf7\u055a-\u055f\u0589\u058a\u05be\u05c0\u05c3\u060c\u061b\u061f"
    "\u066a-\u066d\u06d4\u0964\u0965\u1361-\u1368\u2010-\u2027\u2030-\u205e\u2190-\u23ff\u2500-\u25ff\u3001-\u3003\u3008-\u3020"
    "\u3030\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
)
_SINGLE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fff\u3005-\u3007\u3021-\u302f\u3031-\u3096\u309b-\u31ff\u3400-\u9fff"
    "\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_TOKEN = re.compile(
    f"[^{_SPACES}{_MARKS}{_PUNCTUATION}{_SINGLE}][^{_SPACES}{_PUNCTUATION}{_SINGLE}]{{0,23}}|[^{_SPACES}][{_MARKS}]{{0,23}}"
)
_LEADING = re.compile(f"[{_SPACES}]*")
_SPACE = re.compile(f"[{_SPACES}]")

_BOUNDARY = re.compile(
    "\n[ \t\r]*\n"
    "|\n(?=[ \t]*(?:[-*+\u2022|]|[0-9]{1,3}[.)])[ \t])"
    "|[.!?\u2026]+[\"'\u201d\u2019\xbb)\\]]*"
    "|[\u3002\uff01\uff1f\uff61\u0964]+[\"\u201d\u2019\u300d\u300f\uff09)\\]]*"
)
_GOES_ON = re.compile(f"[^{_SPACES}]|[{_SPACES}]+[a-z]")
"""What follows punctuation within a sentence: no space, or a small letter."""
_ABBREVIATIONS = frozenset(
    ["mr", "mrs", "ms", "dr", "prof", "st", "sr", "jr", "vs", "fig", "vol", "pp", "approx", "inc", "ltd", "co", "al"]
)
_LAST_WORD = re.compile(r"[A-Za-z]+\Z")
_ITEM_NUMBER = re.compile(r"(?:\A|\n)[ \t]*[0-9]{1,3}\Z")

_BLANK = re.compile("[ \t\r\f\v]*")
_FENCE = re.compile(" {0,3}(`{3,}|~{3,})")
_FENCE_END = re.compile(" {0,3}(`{3,}|~{3,})[ \t]*")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|\Z)")
_UNDERLINE = re.compile(" {0,3}(={2,}|-{2,})[ \t]*")
_NO_TITLE = re.compile("(?: {4}|\t| {0,3}(?:[-*+>|]|[0-9]{1,9}[.)]))")
_FRONT_MATTER = re.compile("---[ \t]*")


def chunk_text(
    text: str,
    *,
    by: ChunkBy = "sentences",
    size: int = 200,
    overlap: int = 0,
    parent: Optional[str] = None,
) -> List[Chunk]:
    """Splits a text into chunks, which cover everything but white space, in order.

    ``by`` says where chunks may end: between ``sentences``, between any ``tokens``, between sections and blocks of ``markdown``, or
    between blocks of source ``code``. What is larger than a chunk is split further. ``size`` is the maximum number of tokens of a chunk,
    1 to 10,000, where tokens are words and punctuation marks. A chunk repeats up to ``overlap`` tokens from the end of the one before.
    Each chunk gets ``parent``, the id of the document.

    ``start`` and ``end`` are offsets in code points, as slices of ``str`` take them.
    """
    _check(text, by, size, overlap, parent)
    parts: List[Tuple[Optional[List[str]], List[_Span]]] = []
    if by == "markdown":
        for headings, blocks in _sections(text):
            units: List[_Span] = []
            for span, code in blocks:
                finer: Sequence[_Splitter] = (_code_lines, _tokens) if code else (_sentences, _tokens)
                units += _fitting(text, [span], size, finer)
            parts.append((headings, _pack(text, units, size, overlap)))
    else:
        parts.append((None, _pack(text, _units(text, by, size), size, overlap)))
    chunks: List[Chunk] = []
    for path, spans in parts:
        for start, end, tokens in spans:
            chunk: Chunk = {"text": text[start:end], "start": start, "end": end, "index": len(chunks), "tokens": tokens}
            if parent is not None:
                chunk["parent"] = parent
            if path is not None:
                chunk["headings"] = path
            chunks.append(chunk)
    return chunks


def _units(text: str, by: ChunkBy, size: int) -> List[_Span]:
    if by == "tokens":
        return _tokens(text, 0, len(text))
    if by == "sentences":
        return _fitting(text, _sentences(text, 0, len(text)), size, (_tokens,))
    return _fitting(text, _top_blocks(text, 0, len(text)), size, (_paragraphs, _code_lines, _tokens))


def _check(text: Any, by: Any, size: Any, overlap: Any, parent: Any) -> None:
    if not isinstance(text, str):
        raise InvalidArgumentError("text must be a str", field="text", value=repr(text)[:100])
    if by not in _KINDS:
        raise InvalidArgumentError(f"by must be sentences, tokens, markdown, or code, not {by}", field="by", value=by, limit=_KINDS)
    if not _is_int(size) or not 1 <= size <= _SIZE_MAX:
        message = f"size must be a whole number from 1 to {_SIZE_MAX}, not {size}"
        raise InvalidArgumentError(message, field="size", value=size, limit=_SIZE_MAX)
    if not _is_int(overlap) or not 0 <= overlap < size:
        message = f"overlap must be a whole number from 0 to {size - 1}, not {overlap}"
        raise InvalidArgumentError(message, field="overlap", value=overlap, limit=size - 1)
    if parent is not None and (not isinstance(parent, str) or parent == ""):
        raise InvalidArgumentError("parent must be a non-empty str", field="parent", value=parent)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _tokens(text: str, start: int, end: int) -> List[_Span]:
    return [_Span(found.start(), found.end(), 1) for found in _TOKEN.finditer(text, start, end)]


def _span(text: str, start: int, end: int) -> _Span:
    return _Span(start, end, sum(1 for _ in _TOKEN.finditer(text, start, end)))


def _trimmed(text: str, start: int, end: int) -> Optional[_Span]:
    found = _LEADING.match(text, start, end)
    return _end_trimmed(text, found.end() if found else start, end)


def _end_trimmed(text: str, start: int, end: int) -> Optional[_Span]:
    while end > start and _SPACE.match(text[end - 1]):
        end -= 1
    return None if end == start else _span(text, start, end)


def _sentences(text: str, start: int, end: int) -> List[_Span]:
    part = text[start:end]
    spans: List[_Span] = []
    first = 0
    ends = [found.end() for found in _BOUNDARY.finditer(part) if _ends_sentence(part, found.start(), found.group())]
    for last in [*ends, len(part)]:
        span = _trimmed(text, start + first, start + last)
        if span is not None:
            spans.append(span)
        first = last
    return spans


def _ends_sentence(text: str, index: int, found: str) -> bool:
    if found[0] not in ".!?\u2026":
        return True
    after = index + len(found)
    if _GOES_ON.match(text[after : after + 20]):
        return False
    if found != ".":
        return True
    before = text[max(0, index - 12) : index]
    word = _LAST_WORD.search(before)
    if word is not None:
        return len(word.group()) > 1 and word.group().lower() not in _ABBREVIATIONS
    return _ITEM_NUMBER.search("x" + before if index > 12 else before) is None


class _Line(NamedTuple):
    start: int
    end: int
    blank: bool


def _lines(text: str, start: int, end: int) -> List[_Line]:
    lines: List[_Line] = []
    at = start
    while at < end:
        line_end = text.find("\n", at, end)
        if line_end < 0:
            line_end = end
        lines.append(_Line(at, line_end, _BLANK.fullmatch(text, at, line_end) is not None))
        at = line_end + 1
    return lines


def _top_blocks(text: str, start: int, end: int) -> List[_Span]:
    return _blocks(text, start, end, lambda first: first not in " \t)]}")


def _paragraphs(text: str, start: int, end: int) -> List[_Span]:
    return _blocks(text, start, end, lambda first: True)


def _blocks(text: str, start: int, end: int, begins: Callable[[str], bool]) -> List[_Span]:
    starts: List[int] = []
    after_blank = False
    for line in _lines(text, start, end):
        if not line.blank and (not starts or (after_blank and begins(text[line.start]))):
            starts.append(line.start)
        after_blank = line.blank
    spans = [_end_trimmed(text, first, last) for first, last in zip(starts, [*starts[1:], end])]
    return [span for span in spans if span is not None]


def _code_lines(text: str, start: int, end: int) -> List[_Span]:
    spans = [_end_trimmed(text, line.start, line.end) for line in _lines(text, start, end) if not line.blank]
    return [span for span in spans if span is not None]


_Block = Tuple[_Span, bool]
_Section = Tuple[List[str], List[_Block]]


def _sections(text: str) -> List[_Section]:
    lines = _lines(text, 0, len(text))
    sections: List[_Section] = [([], [])]
    path: List[Tuple[int, str]] = []

    def add(first: int, last: int, code: bool = False) -> None:
        span = _end_trimmed(text, lines[first].start, lines[last].end)
        if span is not None:
            sections[-1][1].append((span, code))

    def begin(level: int, title: str) -> None:
        path[:] = [*[heading for heading in path if heading[0] < level], (level, title)]
        sections.append(([heading[1] for heading in path if heading[1] != ""], []))

    at = 0
    while at < len(lines):
        content = _content(text, lines[at])
        last = _front_matter_end(text, lines) if at == 0 else None
        fence = _FENCE.match(content)
        heading = _heading(content)
        if last is not None:
            add(at, last)
        elif lines[at].blank:
            last = at
        elif fence is not None:
            last = _fence_end(text, lines, at, fence.group(1))
            add(at, last, code=True)
        elif heading is not None:
            begin(*heading)
            last = at
            add(at, last)
        else:
            level = None if _NO_TITLE.match(content) else _underline_level(text, lines, at + 1)
            if level is None:
                last = _paragraph_end(text, lines, at)
            else:
                begin(level, content.strip(" \t"))
                last = at + 1
            add(at, last)
        at = last + 1
    return [section for section in sections if section[1]]


def _content(text: str, line: _Line) -> str:
    content = text[line.start : line.end]
    return content[:-1] if content.endswith("\r") else content


def _heading(content: str) -> Optional[Tuple[int, str]]:
    found = _HEADING.match(content)
    if found is None:
        return None
    rest = content[found.end() :].strip(" \t")
    title = "" if re.fullmatch("#+", rest) else re.sub(r"[ \t]#+\Z", "", rest).strip(" \t")
    return len(found.group(1)), title


def _underline_level(text: str, lines: Sequence[_Line], at: int) -> Optional[int]:
    found = _UNDERLINE.fullmatch(_content(text, lines[at])) if at < len(lines) else None
    if found is None:
        return None
    return 1 if found.group(1).startswith("=") else 2


def _paragraph_end(text: str, lines: Sequence[_Line], first: int) -> int:
    last = first
    for at in range(first + 1, len(lines)):
        content = _content(text, lines[at])
        if lines[at].blank or _heading(content) is not None or _FENCE.match(content):
            break
        last = at
    return last


def _fence_end(text: str, lines: Sequence[_Line], first: int, fence: str) -> int:
    for at in range(first + 1, len(lines)):
        closing = _FENCE_END.fullmatch(_content(text, lines[at]))
        if closing is not None and closing.group(1).startswith(fence):
            return at
    return len(lines) - 1


def _front_matter_end(text: str, lines: Sequence[_Line]) -> Optional[int]:
    if not _FRONT_MATTER.fullmatch(_content(text, lines[0])):
        return None
    for at in range(1, len(lines)):
        if _FRONT_MATTER.fullmatch(_content(text, lines[at])):
            return at
    return None


def _fitting(text: str, units: Sequence[_Span], size: int, splitters: Sequence[_Splitter]) -> List[_Span]:
    if not splitters:
        return list(units)
    fitting: List[_Span] = []
    for unit in units:
        if unit.tokens <= size:
            fitting.append(unit)
        else:
            fitting += _fitting(text, splitters[0](text, unit.start, unit.end), size, splitters[1:])
    return fitting


def _pack(text: str, units: Sequence[_Span], size: int, overlap: int) -> List[_Span]:
    chunks: List[_Span] = []
    first = 0
    tokens = 0
    for at, unit in enumerate(units):
        if at > first and tokens + unit.tokens > size:
            chunks.append(_span(text, units[first].start, units[at - 1].end))
            carried_max = min(overlap, size - unit.tokens)
            carried_from = at
            tokens = 0
            while carried_from - 1 > first and tokens + units[carried_from - 1].tokens <= carried_max:
                carried_from -= 1
                tokens += units[carried_from].tokens
            first = carried_from
        tokens += unit.tokens
    if units:
        chunks.append(_span(text, units[first].start, units[-1].end))
    return chunks
