// The part of a JSON search reply that explains the search.
import type { Explanation, SearchResult } from '@annal/engine'
import { asOfMember } from './moment.ts'

/** The members of a search reply besides its hits. */
export function accountJson({ complete, recall, explain, lsn, asOf }: SearchResult) {
  const moment = asOfMember(asOf)
  return { complete, ...(recall && { recall }), ...(explain && { explain: explainJson(explain) }), lsn, ...moment }
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
