// What an anonymized search names: the same tokens as the objects that it finds.
import { test } from 'tap'
import { Anonymizer } from '../src/anonymize.ts'
import type { TraceEntry } from '../src/trace.ts'

test('the key of groups becomes the token that the filters of objects have', async (t) => {
  const anonymizer = new Anonymizer({ rotate: false })
  const params = { language: 'none', analyzer: 1, k1: 1.2, b: 0.75 }
  const created = {
    ...{ kind: 'collection-created', timeMs: 0, collectionId: 1, databaseId: 0, name: 'things' },
    fields: [{ kind: 'text', name: 'body', params }],
  }
  anonymizer.entry({ kind: 'event', lsn: 1, event: created } as unknown as TraceEntry)
  const request = {
    ...{ fields: { body: { query: 'word' } }, filter: [{ document: { $eq: 'secret' } }] },
    groupBy: { key: 'document', limit: 3, hits: 2 },
  }
  const query = { kind: 'query', lsn: 1, timeMs: 0, collectionId: 1, request } as const
  const entry = anonymizer.entry(query as unknown as TraceEntry)
  const anonymous = entry?.kind === 'query' ? entry.request : undefined
  const [key] = Object.keys(anonymous?.filter?.[0] ?? {})
  t.ok(key !== undefined && key !== 'document')
  t.strictSame(anonymous?.groupBy, { key, limit: 3, hits: 2 })
})
