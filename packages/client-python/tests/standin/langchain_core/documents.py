from __future__ import annotations

from typing import Any, Dict, Optional


class Document:
    def __init__(
        self, page_content: str, *, id: Optional[str] = None, metadata: Optional[Dict[str, Any]] = None
    ) -> None:
        self.page_content = page_content
        self.id = id
        self.metadata = metadata or {}
