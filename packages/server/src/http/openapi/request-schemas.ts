// What bodies are made of: filters, definitions of fields, vectors, objects. Readers in wire/ and the engine check these parts, so that
// numbers are visited once and errors name the place; here they are only described.
import {
  boostMax,
  dimensionMax,
  dimensionMin,
  editsMax,
  efConstructionMax,
  efConstructionMin,
  efMax,
  fieldsMax,
  k1Max,
  membersMax,
  mMax,
  mMin,
  poolings,
  precisions,
  queryMembersMax,
  recallTargetMax,
  recallTargetMin,
  slopMax,
  spaceTypes,
  sparseDimensionMax,
  sparseModels,
  textOperators,
  ttlSecondsMax,
  wordListMax,
  wordPrefixMax,
} from '@annal/engine'
import {
  anyOf,
  constant,
  flag,
  integer,
  type JsonSchema,
  list,
  map,
  number,
  object,
  oneOfTexts,
  ref,
  text,
} from './build.ts'

const ordered = { type: ['number', 'string'], description: 'A number, or a point in time as RFC 3339 text.' }
/** Conditions of a write of an object. All given ones must hold. */
const writeConditions = {
  if_absent: flag('There is no object with this id.'),
  if_lsn: { ...integer('LSN of the stored object; 0 if there must be none.'), minimum: 0 },
  if_match: { $ref: '#/components/schemas/Filter', description: 'There is an object, and its filter values match.' },
}
/** When an object expires. At most one of the two. */
const writeExpiry = {
  ttl_seconds: {
    type: ['integer', 'null'],
    minimum: 1,
    maximum: ttlSecondsMax,
    description:
      'The object expires this many seconds after the write; null: never, whatever the default of the collection is.',
  },
  expires_at: {
    type: ['string', 'integer', 'null'],
    description: 'When the object expires, as RFC 3339 text or in milliseconds since 1970; null: never.',
  },
}
const filterValue = { type: ['string', 'number', 'boolean'] }

/** One operator: an object with one key. */
function operator(name: string, operand: JsonSchema, description: string): JsonSchema {
  return { ...object({ [name]: operand }), additionalProperties: false, description }
}

const tests = [
  operator('$eq', filterValue, 'Equal to the value.'),
  operator('$ne', filterValue, 'Not equal to the value; also true if the object lacks the key.'),
  operator('$in', list(filterValue), 'Equal to one of the values.'),
  operator('$nin', list(filterValue), 'Equal to none of the values; also true if the object lacks the key.'),
  operator(
    '$range',
    { type: 'array', prefixItems: [ordered, ordered], items: ordered, minItems: 2, maxItems: 2 },
    'From the first value to the second, both included.',
  ),
  operator('$gt', ordered, 'Greater.'),
  operator('$gte', ordered, 'Greater or equal.'),
  operator('$lt', ordered, 'Less.'),
  operator('$lte', ordered, 'Less or equal.'),
  operator('$exists', flag(), 'Whether the object has the key.'),
]

const precision = oneOfTexts(precisions, 'Encoding of vectors in memory; default int8.')

const graphParams = {
  space_type: oneOfTexts(spaceTypes, 'How similarity is computed; default cosine.'),
  precision,
  M: { ...integer('Links per node of the graph; default 16.'), minimum: mMin, maximum: mMax },
  ef_con: {
    ...integer('Candidates considered while a node is linked; default 128.'),
    minimum: efConstructionMin,
    maximum: efConstructionMax,
  },
}
const dimension = { ...integer('Number of dimensions.'), minimum: dimensionMin, maximum: dimensionMax }
const fieldName = text('A letter or digit, then letters, digits, underscores, and hyphens; at most 64 characters.')
const numbers = list(number())
const vector = ref('VectorValue')
const textClauses = {
  must: list(ref('TextClause'), 'Each must match.'),
  should: list(ref('TextClause'), 'Raise the score; without must, one must match.'),
  must_not: list(ref('TextClause'), 'None may match.'),
}
const boost = { ...number('Multiplies its part of the score; default 1.'), minimum: 0, maximum: boostMax }

export const requestSchemas = {
  Filter: list(ref('Condition'), 'Conditions that must all be true.'),
  Condition: anyOf(
    [
      { ...object({ $and: list(ref('Condition')) }), additionalProperties: false },
      { ...object({ $or: list(ref('Condition')) }), additionalProperties: false },
      { ...object({ $not: ref('Condition') }), additionalProperties: false },
      { ...map(ref('Test')), minProperties: 1, maxProperties: 1 },
    ],
    'A test of one key, such as {"color":{"$eq":"red"}}, or a combination of conditions.',
  ),
  Test: anyOf(tests, 'One operator and its operand.'),
  FilterValues: map(
    anyOf([filterValue, list(filterValue), { type: 'null' }]),
    'Values to filter by. A list matches if one of its values does.',
  ),
  Meta: { type: 'object', additionalProperties: true, description: 'Any JSON object, at most 64 KiB.' },
  VectorValue: anyOf(
    [
      numbers,
      {
        type: 'string',
        contentEncoding: 'base64',
        description: 'The numbers as 32-bit floats in little-endian byte order.',
      },
    ],
    'A vector: its numbers, or its bytes in base64. In MessagePack, the bytes are binary data.',
  ),
  SparseVector: object({
    indices: list(integer(), 'Unique, each below the dimension of the field.'),
    values: list(number(), 'One for each index.'),
  }),
  FieldDefinition: anyOf([ref('DenseField'), ref('SparseField'), ref('TextField'), ref('MultiVectorField')]),
  DenseField: object({
    name: fieldName,
    type: constant('vector'),
    params: object(
      { dimension },
      {
        ...graphParams,
        keep_originals: flag('Whether the original vectors are kept on disk; default true.'),
        recall: {
          ...number('Recall of searches that state neither ef_search nor recall.'),
          minimum: recallTargetMin,
          maximum: recallTargetMax,
        },
        embed: object(
          {
            provider: text('Name of a provider in the configuration of the server.'),
            from: text('A text field of the same collection.'),
          },
          { model: text('The model of the provider; by default the one that it has now.') },
        ),
      },
    ),
  }),
  SparseField: object(
    { name: fieldName, type: constant('sparse') },
    {
      sparse_model: oneOfTexts(sparseModels, 'endee_bm25 weighs the terms of a query by how rare they are.'),
      params: object(
        {},
        {
          model: oneOfTexts(sparseModels),
          dimension: { ...integer('Indices are below this; default 2^32.'), minimum: 1, maximum: sparseDimensionMax },
        },
      ),
    },
  ),
  TextField: object(
    { name: fieldName, type: constant('text') },
    {
      params: object(
        {},
        {
          language: text(
            'Name of the language, such as english, or its ISO code; default none: no stemming, no stop words.',
          ),
          k1: {
            ...number('Higher: repeated words in a text raise its score more; default 1.2.'),
            minimum: 0,
            maximum: k1Max,
          },
          b: { ...number('Higher: the length of a text lowers its score more; default 0.75.'), minimum: 0, maximum: 1 },
          stop_words: {
            ...list(text(), 'Stop words, instead of those of the language.'),
            maxItems: wordListMax,
          },
          kept_words: { ...list(text(), 'Words that are not stemmed.'), maxItems: wordListMax },
          prefixes: object({
            min: {
              ...integer('Also finds words by their first characters, at least min of them.'),
              minimum: 1,
              maximum: wordPrefixMax,
            },
            max: { ...integer(), minimum: 1, maximum: wordPrefixMax },
          }),
          analyzer: integer('Version of the analyzer; default the newest.'),
        },
      ),
    },
  ),
  MultiVectorField: object({
    name: fieldName,
    type: constant('multi_vector'),
    params: object(
      { dimension },
      { ...graphParams, pooling: oneOfTexts(poolings, 'How the vectors of an object are combined; default mean.') },
    ),
  }),
  FieldDefinitions: { ...list(ref('FieldDefinition')), minItems: 1, maxItems: fieldsMax },
  FieldValue: anyOf(
    [
      vector,
      object({ vector }, { norm: number('Stored and returned with the vector.') }),
      ref('SparseVector'),
      object({ sparse_indices: list(integer()), sparse_values: numbers }),
      { ...list(vector), maxItems: membersMax },
      object({ vectors: { ...list(vector), maxItems: membersMax } }),
      text('The text of a text field, at most 512 KiB of UTF-8.'),
    ],
    'The vector of a dense field, a sparse vector, a text, or the vectors of a multi-vector field.',
  ),
  ObjectInput: object(
    {
      id: { type: ['string', 'integer'], description: 'Unique in the collection, 1 to 512 bytes.' },
      fields: map(ref('FieldValue'), 'A value for at least one field.'),
    },
    {
      meta: anyOf([ref('Meta'), text()]),
      filter: anyOf([ref('FilterValues'), text('The same as JSON text.')]),
      ...writeConditions,
      ...writeExpiry,
      lsn: integer('Of an object that was read. It has no meaning here.'),
    },
  ),
  ObjectPatch: object(
    { id: { type: ['string', 'integer'] } },
    {
      meta: {
        type: 'object',
        additionalProperties: true,
        description: 'Merged into the stored meta; null removes a key.',
      },
      filter: {
        type: 'object',
        additionalProperties: true,
        description: 'Merged into the stored filter values; null removes a key.',
      },
      increment: map(number(), 'Added to filter values; a missing one counts as 0.'),
      ...writeConditions,
      ...writeExpiry,
    },
  ),
  TextClause: anyOf(
    [
      text('Its words: all of them in must, one by one in should, any of them in must_not.'),
      object({ words: text() }, { operator: oneOfTexts(textOperators), boost }),
      object(
        { phrase: text('Words one after another.') },
        {
          slop: {
            ...integer('By how many positions the words may be shifted, in total; default 0.'),
            minimum: 0,
            maximum: slopMax,
          },
          boost,
        },
      ),
      object({ prefix: text('The beginning of an indexed term.') }, { boost }),
      object(
        { fuzzy: text('A word, and terms that differ in a few letters.') },
        { edits: { ...integer('Letters that differ; default by length.'), minimum: 0, maximum: editsMax }, boost },
      ),
    ],
    'A part of a query of a text field.',
  ),
  TextQuery: anyOf(
    [
      object({ must: textClauses.must }, { should: textClauses.should, must_not: textClauses.must_not }),
      object({ should: textClauses.should }, { must_not: textClauses.must_not }),
    ],
    'Clauses, with must or should or both.',
  ),
  FieldQuery: object(
    {
      query: anyOf(
        [
          vector,
          { ...list(vector), maxItems: queryMembersMax },
          ref('SparseVector'),
          object({ sparse_indices: list(integer()), sparse_values: numbers }),
          text('The words of a text field.'),
          ref('TextQuery'),
          object({ text: text('A text whose vector the provider of the field makes; for fields with embed.') }),
          object({ id: text('Uses the vector or text of this object, and leaves the object out of the results.') }),
        ],
        'A vector, the vectors of a multi-vector field, a sparse vector, words, clauses of a text field, or the id of an object.',
      ),
    },
    {
      limit: { ...integer('Number of results; default 10.'), minimum: 1 },
      ef_search: {
        ...integer('Number of candidates that the graph walk keeps; default 128.'),
        minimum: 1,
        maximum: efMax,
      },
      ef: { ...integer('The same as ef_search.'), minimum: 1, maximum: efMax },
      operator: oneOfTexts(
        textOperators,
        'For words of a text field: a text needs one of them (or, the default) or all (and).',
      ),
      highlight: flag('Adds to each hit of a text field the part of its text with the words.'),
      k1: { ...number('For this query of a text field, instead of k1 of the field.'), minimum: 0, maximum: k1Max },
      b: { ...number('For this query of a text field, instead of b of the field.'), minimum: 0, maximum: 1 },
      recall: {
        ...number(
          'Recall to reach, instead of ef_search. The server measures which ef reaches it. Not for multi-vector fields.',
        ),
        minimum: recallTargetMin,
        maximum: recallTargetMax,
      },
      score_threshold: number('Results with a lower similarity are left out.'),
    },
  ),
  FieldQueries: anyOf([map(ref('FieldQuery')), list(map(ref('FieldQuery')))], 'A query for each searched field.'),
  TextMatch: {
    ...map(
      object(
        { query: anyOf([text('Words.'), ref('TextQuery')]) },
        { operator: oneOfTexts(textOperators, 'For words: a text needs one of them (or, the default) or all (and).') },
      ),
      'By text field: what its text must match, as the query of a search. All conditions must hold; scores do not matter.',
    ),
    minProperties: 1,
  },
  FilterUpdate: object({
    id: { type: ['string', 'integer'] },
    filter: anyOf([ref('FilterValues'), text('The same as JSON text.')]),
  }),
} satisfies { readonly [name: string]: JsonSchema }
