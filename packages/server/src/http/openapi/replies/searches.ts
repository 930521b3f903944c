// Replies to searches, and to measurements of their recall.
import { flag, integer, list, map, number, object, oneOfTexts, orNull, ref, scalar, text } from '../build.ts'
import { asOfMoment, expiry, member, numbers, objectHead, type Schemas, storedMeta } from './parts.ts'

const hit = {
  ...objectHead,
  similarity: number('Higher is nearer.'),
  distance: number('Lower is nearer.'),
  norm: number(),
}
const texts = map(text(), 'Only with include_texts: the texts of the object, by field.')
const searchAccount = {
  complete: flag('Whether every field has as many results as requested, or all that exist.'),
  lsn: integer('The newest event that the results reflect.'),
}
export const searchReplies = {
  Hit: object(hit, {
    ...storedMeta,
    expires_at: expiry,
    vector: numbers,
    vectors: list(member),
    texts,
    highlight: ref('Highlight'),
  }),
  Highlight: object({
    fragment: text('The part of the text around most of the words.'),
    start: integer('Where the fragment begins in the text, in UTF-16 units.'),
    ranges: list(list(integer()), 'For each word in the fragment, its first UTF-16 unit and the one after its last.'),
  }),
  FusedHit: object(
    {
      ...objectHead,
      score: number(),
      fields: map(
        object({ rank: integer(), similarity: number() }, { highlight: ref('Highlight') }),
        'Rank and similarity in each list with the hit, and its highlight there.',
      ),
    },
    { ...storedMeta, expires_at: expiry, texts },
  ),
  HitGroup: object({
    value: scalar('The value under the key.'),
    hits: list(object({ id: text(), similarity: number() }), 'Best first. Each is in the list of the field.'),
  }),
  FusedHitGroup: object({
    value: scalar('The value under the key.'),
    hits: list(object({ id: text(), score: number() }), 'Best first. Each is in the fused list.'),
  }),
  IndexSearchResult: object({ ...searchAccount, results: list(ref('Hit')) }, { explain: ref('Explanation') }),
  SearchResult: object(
    { ...searchAccount, results: map(list(ref('Hit')), 'Hits by field, best first.') },
    {
      fused: list(ref('FusedHit')),
      groups: map(list(ref('HitGroup')), 'Only with group_by: groups by field, in the order of their best hits.'),
      fused_groups: list(ref('FusedHitGroup'), 'Only with group_by and fusion.'),
      recall: map(ref('SearchRecall'), 'For fields whose query states a recall.'),
      explain: ref('Explanation'),
      ...asOfMoment,
    },
  ),
  SearchResults: object({ searches: list(ref('SearchResult'), 'In the order of the searches.') }),
  Explanation: object({
    filter: orNull(object({ matches: integer(), ms: number() })),
    fields: map(
      object(
        {
          plan: oneOfTexts(['nothing', 'scan', 'walk', 'lists']),
          reason: text(),
          visited: integer(),
          distances: integer(),
          ms: number(),
        },
        {
          ef: integer(),
          costs: object({ scan: number(), walk: number() }),
          rescored: integer(),
          searches: integer('With group_by: the number of searches that found the groups.'),
          terms: list(
            object({ term: text(), rows: integer() }),
            'Of a text field: terms, and how many texts have each.',
          ),
        },
      ),
    ),
    decorate_ms: number(),
    fuse_ms: number(),
    total_ms: number(),
  }),
  Recall: object(
    {
      field: text(),
      sample: integer(),
      recall: number(),
      recall_worst: number(),
      lsn: integer(),
    },
    asOfMoment,
  ),
  SearchRecall: object(
    {
      target: number('The recall that the search states.'),
      ef: integer('The chosen ef.'),
      calibrated: flag('Whether ef was measured on the current field. Otherwise it is a careful default.'),
    },
    {
      expected: number('Expected recall, as measured.'),
      reachable: flag('false: no ef reaches the target, and the best measured one was used.'),
    },
  ),
  Calibration: object(
    {
      field: text(),
      limit: integer('Searches with this limit or a smaller one use it.'),
      rescore: flag('Whether results are ordered by their original vectors.'),
      state: oneOfTexts(['none', 'running', 'current', 'outdated', 'failed']),
      received: integer('Number of queries so far that state a recall.'),
    },
    {
      progress: object({ done: integer(), queries: integer() }),
      error: text('Why the newest measurement ended early.'),
      queries: integer('Number of queries of the newest measurement.'),
      source: oneOfTexts(['received', 'rows']),
      rows: integer('Rows of the field when it was measured.'),
      measured_at: integer('Milliseconds since 1970.'),
      took_ms: number('Duration of the newest measurement, including pauses for other work.'),
      curves: list(
        object({
          share: number('Share of matching rows; 1 without a filter.'),
          points: list(object({ ef: integer(), recall: number(), error: number('Standard error of recall.') })),
        }),
      ),
    },
  ),
  Calibrations: object({ calibrations: list(ref('Calibration')) }),
  Neighbors: object({ id: text(), field: text(), neighbors: list(text()) }),
  Links: object({ id: text(), field: text(), links: list(text()) }),
} satisfies Schemas
