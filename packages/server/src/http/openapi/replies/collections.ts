// Replies about indexes and collections, and about rebuilds of their graphs.
import { anyOf, constant, flag, integer, list, map, number, object, oneOfTexts, orNull, ref, text } from '../build.ts'
import { acknowledgement, jobTimes, message, type Schemas, seconds } from './parts.ts'

/** The published word for a rebuild that is running. */
const rebuildState = oneOfTexts(['idle', 'in_progress', 'completed', 'failed'])
const graphConfig = orNull(ref('GraphConfig'))
const index = {
  name: text(),
  total_elements: integer(),
  dimension: integer(),
  sparse_model: text('None, default, or endee_bm25.'),
  sparse_dim: integer(),
  space_type: text(),
  precision: text(),
  checksum: integer(),
  M: integer(),
  created_at: integer(seconds),
}
export const collectionReplies = {
  Acknowledged: object({ ...message, ...acknowledgement }),
  IndexCreated: object({ ...message, name: text() }),
  Index: object(index),
  Indexes: object({ indexes: list(ref('Index')) }),
  IndexInfo: object(
    { ...index, index_name: text(), ef_con: integer(), lib_token: text(), version: integer() },
    { keep_originals: flag() },
  ),
  Collection: object(
    {
      name: text(),
      fields: list(ref('CollectionField')),
      created_at: integer(seconds),
      layout_version: integer(),
      total_elements: integer(),
      max_elements: integer(),
      lsn: integer('The newest event of the collection.'),
      condition: oneOfTexts(['ready', 'loading', 'quarantined']),
      memory: map(integer(), 'Bytes by part.'),
    },
    {
      ttl_seconds: integer('The default expiry of objects.'),
      reason: text('The reason why the collection is not ready.'),
    },
  ),
  CollectionField: anyOf([
    object({
      name: text(),
      type: oneOfTexts(['vector', 'multi_vector']),
      params: object(
        { dimension: integer(), space_type: text(), precision: text(), M: integer(), ef_con: integer() },
        {
          keep_originals: flag(),
          recall: number('Recall of searches that state neither ef_search nor recall.'),
          pooling: text(),
          embed: object({ provider: text(), from: text() }, { model: text() }),
        },
      ),
      element_count: integer(),
    }),
    object({
      name: text(),
      type: constant('sparse'),
      sparse_model: text(),
      params: object({ sparse_model: text(), dimension: integer() }),
      element_count: integer(),
    }),
    object({
      name: text(),
      type: constant('text'),
      params: object(
        { language: text(), analyzer: integer('Version of the analyzer.'), k1: number(), b: number() },
        {
          stop_words: list(text(), 'Stop words, instead of those of the language.'),
          kept_words: list(text(), 'Words that are not stemmed.'),
          prefixes: object({ min: integer(), max: integer() }),
        },
      ),
      element_count: integer(),
    }),
  ]),
  Aliases: object({
    aliases: list(
      object({
        name: text(),
        collection: text(),
        lsn: integer('Event since which it leads there.'),
        changed_at: text(),
      }),
    ),
  }),
  AliasPut: object({ name: text(), collection: text(), ...acknowledgement }),
  Branches: object({
    branches: list(
      object(
        {
          id: integer(),
          name: text('The last name of a deleted collection.'),
          parent_id: orNull(integer()),
          parent_lsn: orNull(integer('The branch has the content of its parent as of this event.')),
          created_at: text(),
        },
        { deleted_at: text('Present in a deleted ancestor.'), objects: integer('Absent in a deleted ancestor.') },
      ),
    ),
  }),
  Promoted: object({ ...message, collection: text(), kept_as: text(), ...acknowledgement }),
  Collections: object({ collections: list(ref('Collection')) }),
} satisfies Schemas

export const rebuildReplies = {
  GraphConfig: object({ M: integer(), ef_con: integer() }),
  IndexRebuildStarted: object({
    status: constant('rebuilding'),
    previous_config: graphConfig,
    new_config: graphConfig,
    total_vectors: integer(),
  }),
  IndexRebuildStatus: object(
    { status: rebuildState },
    { vectors_processed: integer(), total_vectors: integer(), percent_complete: number(), ...jobTimes },
  ),
  RebuildStarted: object({
    status: constant('in_progress'),
    fields_total: integer(),
    total_objects: integer(),
    new_config: graphConfig,
    previous_config: graphConfig,
  }),
  RebuildStatus: object(
    {
      status: rebuildState,
      in_progress: flag(),
      fields_done: integer(),
      fields_total: integer(),
      objects_processed: integer(),
      total_objects: integer(),
      percent_complete: number(),
    },
    {
      collection: text(),
      field: orNull(text()),
      current_config: graphConfig,
      new_config: graphConfig,
      previous_config: graphConfig,
      ...jobTimes,
    },
  ),
  Vacuumed: object({ status: constant('ok'), reclaimed_bytes: integer(), ...acknowledgement }),
} satisfies Schemas
