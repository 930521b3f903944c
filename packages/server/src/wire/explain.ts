// What a JSON reply tells of a search besides its hits.
import type { Explanation, SearchResult } from '@annal/engine'

export function accountJson({ complete, explain, lsn }: SearchResult) {
  return { complete, ...(explain && { explain: explainJson(explain) }), lsn }
}

function explainJson({ filter, fields, decorateMs, fuseMs, totalMs }: Explanation) {
  return {
    filter: filter ?? null,
    fields,
    decorate_ms: decorateMs,
    fuse_ms: fuseMs,
    total_ms: totalMs,
  }
}
