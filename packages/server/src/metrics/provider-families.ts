// What metrics show of the providers of vectors.
import { callBounds, type ProviderFigures } from '../embed/provider.ts'
import { type Family, family, histogram } from './family.ts'

export function providerFamilies(providers: readonly ProviderFigures[]): Family[] {
  const each = (type: Family['type'], name: string, help: string, read: (one: ProviderFigures) => number) =>
    family(
      type,
      name,
      help,
      providers.map((one) => ({ labels: { provider: one.name }, value: read(one) })),
    )
  const calls = providers.flatMap(({ name: provider, calls: { ok, failed } }) => [
    { labels: { provider, result: 'ok' }, value: ok },
    { labels: { provider, result: 'failed' }, value: failed },
  ])
  return [
    family('counter', 'annal_embedding_calls_total', 'Calls of providers of vectors, by result.', calls),
    histogram(
      'annal_embedding_call_seconds',
      'Duration of calls of providers.',
      callBounds,
      providers.map(({ name: provider, buckets, seconds }) => ({ labels: { provider }, buckets, sum: seconds })),
    ),
    each(
      'counter',
      'annal_embedding_calls_repeated_total',
      'Calls of providers that repeated a failed one.',
      ({ repeated }) => repeated,
    ),
    each(
      'counter',
      'annal_embedding_texts_total',
      'Texts that were sent to providers, with repetitions.',
      ({ texts }) => texts,
    ),
    each(
      'counter',
      'annal_embedding_cache_hits_total',
      'Texts whose vectors were in the cache of a provider.',
      ({ cacheHits }) => cacheHits,
    ),
    each('gauge', 'annal_embedding_cache_bytes', 'Memory of the caches of vectors.', ({ cacheBytes }) => cacheBytes),
    each(
      'gauge',
      'annal_embedding_texts_waiting',
      'Texts that wait for a call of a provider.',
      ({ waiting }) => waiting,
    ),
  ]
}
