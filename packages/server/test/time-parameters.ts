// Every parameter of the operations that read the past, follow changes, and write with conditions: where it is sent, and which values are
// wrong. time-bad-input.test.ts sends the values, and compares the names with the description of the API.
import { expiresAtMax, ttlSecondsMax } from '@annal/engine'
import type { AnyCode } from '../src/errors.ts'

/** Limits that the guide states. */
const filterKeysMax = 256
const undoIdsMax = 10_000
const versionsMax = 500

/** Sent as the JSON text 1e999, which a parser reads as Infinity. */
export const infinite = '@1e999@'

/** A wrong value, and the error that refuses it. */
export interface Wrong {
  readonly value: unknown
  readonly code: AnyCode
  readonly limit?: number
  /** Of the error; by default the name of the parameter. */
  readonly field?: string
  /** Of the error, where it is no form of the sent value: the length of a list, the names of two keys. */
  readonly shown?: unknown
}

export interface Parameter {
  readonly operation: string
  readonly place: 'body' | 'query' | 'path' | 'header'
  /** Path in the body, as errors name it. */
  readonly name: string
  readonly wrong: readonly Wrong[]
}

type Codes = { readonly type?: AnyCode; readonly range?: AnyCode }

const of = (code: AnyCode, values: readonly unknown[]): Wrong[] => values.map((value) => ({ value, code }))
const notObjects = of('invalid_argument', [1, 'x', '', true, [1]])
const huge = 1e300

/** A whole number from `min` to `max`. */
function whole(min: number, max: number, isNullable: boolean, { type, range }: Codes = {}): Wrong[] {
  const types: unknown[] = ['5', 'NaN', 'Infinity', '', true, [1], {}, min + 0.5, infinite]
  const code = range ?? 'limit_exceeded'
  return [
    ...of(type ?? 'invalid_argument', isNullable ? types : [...types, null]),
    { value: min - 1, code, limit: min },
    { value: -huge, code, limit: min },
    { value: max + 1, code, limit: max },
    { value: huge, code, limit: max },
  ]
}

const lsn = (isNullable: boolean, min = 0) => whole(min, Number.MAX_SAFE_INTEGER, isNullable)
const flag = of('invalid_argument', ['true', '', 'NaN', 0, 1, huge, [], {}])
/** The name of something that is created. */
const newName: Wrong[] = [
  ...of('invalid_argument', [
    1,
    huge,
    true,
    null,
    [],
    {},
    '',
    'a b',
    '../x',
    '-a',
    'é',
    '__proto__',
    'constructor',
    'a\n',
  ]),
  { value: 'a'.repeat(65), code: 'limit_exceeded', limit: 64 },
  { value: 'a'.repeat(100_000), code: 'limit_exceeded', limit: 64 },
]
const types = of('invalid_argument', [1, huge, true, null, [], {}])
/** The name of something that exists. */
const knownName = (code: AnyCode): Wrong[] => [...types, ...of(code, ['', 'none', 'a b', '__proto__', 'a'.repeat(65)])]
const texts = ['x', 'NaN', '-1', '1.5', '0x10', '1e3', ' 1', '١']
const digits = of('invalid_argument', [...texts, ''])
const pathNames: Wrong[] = [
  ...of('invalid_argument', ['a b', '-a', 'é', '__proto__', '..x']),
  { value: 'a'.repeat(65), code: 'limit_exceeded', limit: 64 },
]
const missingNames = (code: AnyCode) => of(code, ['none', 'a b', '__proto__', 'a'.repeat(65)])
/** Conditions that name the place within the filter. */
const filterOf = (name: string): Wrong[] => [
  ...of('invalid_filter', [1, true, {}]),
  { value: [1], code: 'invalid_filter', field: `${name}[0]`, shown: 1 },
  { value: [{ n: 1 }], code: 'invalid_filter', field: `${name}[0]`, shown: 1 },
  { value: [{ n: { $eq: {} } }], code: 'invalid_filter', field: `${name}[0]` },
  { value: [{ n: { $no: 1 } }], code: 'invalid_filter', field: `${name}[0]`, shown: 1 },
  { value: [{ n: { $gt: 'NaN' } }], code: 'invalid_filter', field: `${name}[0]`, shown: 'NaN' },
]

const body = (operation: string, rows: Readonly<Record<string, readonly Wrong[]>>): Parameter[] =>
  rowsOf(operation, 'body', rows)
const query = (operation: string, rows: Readonly<Record<string, readonly Wrong[]>>): Parameter[] =>
  rowsOf(operation, 'query', rows)

function rowsOf(
  operation: string,
  place: Parameter['place'],
  rows: Readonly<Record<string, readonly Wrong[]>>,
): Parameter[] {
  return Object.entries(rows).map(([name, wrong]) => ({ operation, place, name, wrong }))
}

/** Moments of reads. The newest LSN is known to the test only, so it adds the moment after it. */
const asOfRows = {
  as_of: [...notObjects, ...of('invalid_argument', [{}, { lsn: 1, time: '2020-01-01T00:00:00Z' }])],
  'as_of.lsn': [
    ...of('invalid_argument', ['1', 'NaN', '', true, [1], {}, 1.5, null, infinite]),
    ...[0, -1, -huge].map((value) => ({ value, code: 'invalid_argument' as const, limit: 1 })),
    ...of('invalid_argument', [huge, 2 ** 53]),
  ],
  'as_of.time': of('invalid_argument', [
    1,
    huge,
    true,
    [1],
    {},
    null,
    '',
    'x',
    'NaN',
    '2020',
    '2020-13-01T00:00:00Z',
    '2020-01-01T25:00:00Z',
    '1969-12-31T23:59:59Z',
    '2999-01-01T00:00:00Z',
  ]),
  'as_of.keep_expired': flag,
  wait: [
    ...of('invalid_argument', ['1', 'true', '', 'NaN', [], {}]),
    ...[-1, -0.001].map((value) => ({ value, code: 'limit_exceeded' as const, limit: 0 })),
    ...[60.001, 61, huge].map((value) => ({ value, code: 'limit_exceeded' as const, limit: 60 })),
  ],
} satisfies Record<string, Wrong[]>

/** Neither LSNs nor times. */
const noMoments = of('invalid_argument', [
  ...['', 'x', 'NaN', '-1', '0x10', '1e3', '1.5', '1700000000.5', '9'.repeat(16)],
  ...['2020-13-01', '2020-02-30', '2020-01', '2020-01-01T10:00:00', '2020-01-01 10:00:00Z'],
])
const times = of('invalid_argument', [
  ...['2020-02-30', '2020-01', '2020-01-01T10:00:00'],
  true,
  [1],
  {},
  '',
  'x',
  'NaN',
  'Infinity',
  '-1',
  '2020-13-01',
  -1,
  -huge,
  infinite,
])
const momentRows = (prefix: string) => ({
  [`${prefix}lsn`]: lsn(true),
  [`${prefix}time`]: times,
})

const ttl = whole(1, ttlSecondsMax, true)
const conditionRows = (item: string) => ({
  [`${item}.if_absent`]: flag,
  [`${item}.if_lsn`]: lsn(true),
  [`${item}.if_match`]: filterOf(`${item}.if_match`),
  [`${item}.ttl_seconds`]: ttl,
  [`${item}.expires_at`]: [
    ...of('invalid_argument', [
      true,
      [1],
      {},
      1.5,
      '',
      'x',
      'NaN',
      '5',
      '2020-13-01T00:00:00Z',
      '1969-12-31T23:59:59Z',
      infinite,
    ]),
    { value: -1, code: 'limit_exceeded' as const, limit: 0 },
    { value: expiresAtMax + 1, code: 'limit_exceeded' as const, limit: expiresAtMax },
    { value: huge, code: 'limit_exceeded' as const, limit: expiresAtMax },
  ],
})

const reads = ['search', 'objects/query', 'objects/scroll', 'objects/count', 'facets', 'search/batch']
const collection = '/api/v2/collection/{name}'
const names = (of: string) =>
  rowsOf(of, 'path', { name: missingNames('collection_not_found').map((wrong) => ({ ...wrong, field: 'collection' })) })

export const parameters: readonly Parameter[] = [
  ...reads.flatMap((read) => body(`POST ${collection}/${read}`, asOfRows)),
  ...body(
    `POST ${collection}/search/batch`,
    Object.fromEntries(
      Object.entries(asOfRows).map(([name, wrong]) => [
        `searches[0].${name}`,
        wrong.map((one) => ({ field: name, ...one })),
      ]),
    ),
  ),
  ...body(`POST ${collection}/objects/scroll`, {
    cursor: of('invalid_argument', [1, huge, true, [], {}, '', 'x', 't', 't1.', 't1.o', 'tzzzzzzzzzzzz.o1', 'NaN']),
  }),
  ...query(`GET ${collection}/recall`, {
    as_of: of('invalid_argument', ['', ...texts, '99999999999999999', '2020-13-01T00:00:00Z', '2999-01-01T00:00:00Z']),
    wait: of('invalid_argument', ['', 'x', 'NaN', '0x10', 'TRUE']).concat([
      { value: '-1', code: 'limit_exceeded', limit: 0, shown: -1 },
      { value: '61', code: 'limit_exceeded', limit: 60, shown: 61 },
      { value: '1e300', code: 'limit_exceeded', limit: 60, shown: 1e300 },
    ]),
  }),
  ...names(`GET ${collection}/history`),
  ...query(`GET ${collection}/history`, {
    id: [
      { value: '', code: 'invalid_argument' },
      { value: 'a'.repeat(513), code: 'limit_exceeded', limit: 512, shown: 513 },
    ],
    from: [...digits, ...of('invalid_argument', ['9'.repeat(16)])],
    to: [...digits, ...of('invalid_argument', ['9'.repeat(16)])],
    limit: [
      ...digits,
      { value: '0', code: 'limit_exceeded', limit: 1, shown: 0 },
      { value: `${versionsMax + 1}`, code: 'limit_exceeded', limit: versionsMax, shown: versionsMax + 1 },
      { value: '99999', code: 'limit_exceeded', limit: versionsMax, shown: 99_999 },
    ],
  }),
  ...names(`GET ${collection}/diff`),
  ...query(`GET ${collection}/diff`, {
    from: noMoments.concat({
      value: '9'.repeat(41),
      code: 'limit_exceeded',
      limit: 40,
    }),
    to: noMoments.concat({
      value: '9'.repeat(41),
      code: 'limit_exceeded',
      limit: 40,
    }),
  }),
  ...names(`POST ${collection}/undo`),
  ...body(`POST ${collection}/undo`, {
    ids: [
      ...of('invalid_argument', [1, true, {}, 'a', '']),
      { value: [1], code: 'invalid_argument', field: 'ids[0]', shown: 1 },
      { value: [''], code: 'invalid_argument', field: 'ids[0]', shown: '' },
      { value: ['a'.repeat(513)], code: 'limit_exceeded', field: 'ids[0]', shown: 513, limit: 512 },
      { value: new Array(undoIdsMax + 1).fill('a'), code: 'limit_exceeded', shown: undoIdsMax + 1, limit: undoIdsMax },
    ],
    filter: [
      ...of('invalid_argument', [1, true, {}, '']),
      ...filterOf('filter').slice(3),
      { value: [], code: 'invalid_argument' },
    ],
    as_of: [
      ...of('invalid_argument', [1, 'x', '', true, [1], null]),
      { value: {}, code: 'invalid_argument' },
      { value: { lsn: 1, time: 1 }, code: 'invalid_argument', field: 'as_of.time', shown: 1 },
    ],
    ...momentRows('as_of.'),
    dry_run: flag,
    keep_expired: flag,
  }),
  ...rowsOf('PUT /api/v2/alias/{name}', 'path', { name: pathNames }),
  ...body('PUT /api/v2/alias/{name}', { collection: knownName('collection_not_found') }),
  ...rowsOf('DELETE /api/v2/alias/{name}', 'path', { name: missingNames('alias_not_found') }),
  ...names(`GET ${collection}/branches`),
  ...names(`POST ${collection}/branch`),
  ...body(`POST ${collection}/branch`, {
    name: newName,
    as_of: [
      ...notObjects,
      { value: null, code: 'invalid_argument' },
      { value: {}, code: 'invalid_argument' },
      { value: { lsn: 1, time: 1 }, code: 'invalid_argument', field: 'as_of.time', shown: 1 },
    ],
    ...momentRows('as_of.'),
    keep_expired: flag,
  }),
  ...names(`POST ${collection}/promote`),
  ...body(`POST ${collection}/promote`, { over: knownName('collection_not_found'), keep_as: newName }),
  ...names(`POST ${collection}/clone`),
  ...body(`POST ${collection}/clone`, { target_collection_name: newName, keep_expired: flag }),
  ...names(`POST ${collection}/restore`),
  ...body(`POST ${collection}/restore`, { target_collection_name: newName, ...momentRows(''), keep_expired: flag }),
  ...['backup', 'backups'].flatMap((word) =>
    body(`POST /api/v2/${word}/{backup}/restore`, {
      target_collection_name: newName,
      ...momentRows(''),
      keep_expired: flag,
    }),
  ),
  ...query('GET /api/v2/changes', {
    from: [...digits, ...of('invalid_argument', ['9'.repeat(16)])],
    cursor: [
      ...of('invalid_argument', ['', 'a b', '__proto__', 'é']),
      { value: 'none', code: 'feed_cursor_not_found' },
      { value: 'a'.repeat(65), code: 'limit_exceeded', limit: 64 },
    ],
    collection: ['', 'a b', '__proto__']
      .map((value): Wrong => ({ value, code: 'invalid_argument', field: 'collection[0]' }))
      .concat([
        { value: 'docs,,x', code: 'invalid_argument', field: 'collection[1]', shown: '' },
        { value: 'a'.repeat(65), code: 'limit_exceeded', field: 'collection[0]', limit: 64 },
        { value: new Array(1_001).fill('a').join(','), code: 'limit_exceeded', shown: 1_001, limit: 1_000 },
      ]),
    kind: ['', 'x', 'NaN', 'UPSERT']
      .map((value): Wrong => ({ value, code: 'invalid_argument', field: 'kind[0]' }))
      .concat([
        { value: new Array(1_001).fill('upsert').join(','), code: 'limit_exceeded', shown: 1_001, limit: 1_000 },
      ]),
    filter: [
      ...of('invalid_json', ['x', '[', 'NaN', '']),
      ...of('invalid_filter', ['1', '{}', 'null', 'true']),
      { value: '[1]', code: 'invalid_filter', field: 'filter[0]', shown: 1 },
      { value: '[{"n":{"$no":1}}]', code: 'invalid_filter', field: 'filter[0]', shown: 1 },
      { value: 'x'.repeat(8_193), code: 'limit_exceeded', limit: 8_192 },
    ],
    vectors: of('invalid_argument', ['', 'x', '1', 'TRUE', 'NaN']),
  }),
  ...rowsOf('GET /api/v2/changes', 'header', {
    'Last-Event-ID': of('invalid_argument', ['x', 'NaN', '-1', '1.5', '1e3', '9'.repeat(16)]),
  }),
  ...rowsOf('PUT /api/v2/cursors/{name}', 'path', { name: pathNames }),
  ...body('PUT /api/v2/cursors/{name}', {
    lsn: [
      ...of('invalid_argument', ['1', 'NaN', '', true, null, [], {}, 0.5, infinite]),
      { value: -1, code: 'limit_exceeded', limit: 0 },
    ],
  }),
  ...rowsOf('DELETE /api/v2/cursors/{name}', 'path', { name: missingNames('feed_cursor_not_found') }),
  ...body(`POST ${collection}/objects`, {
    ...conditionRows('objects[0]'),
    objects: [
      ...of('invalid_argument', [1, true, {}, 'x', null]),
      {
        value: [
          { id: 'a', fields: { v: [1, 2] }, if_lsn: 0 },
          { id: 'a', fields: { v: [1, 2] } },
        ],
        code: 'invalid_argument',
        field: 'objects[1].id',
        shown: 'a',
      },
    ],
    atomic: flag,
  }),
  ...rowsOf(`POST ${collection}/objects`, 'header', {
    'X-Annal-Actor': ['a'.repeat(129), 'a'.repeat(7_000), '\xe9', 'a\tb'].map((value) => ({
      value,
      code: 'invalid_argument',
      limit: 128,
    })),
  }),
  ...query(`POST ${collection}/objects`, { atomic: of('invalid_argument', ['', 'x', '1', 'TRUE', 'NaN']) }),
  ...names(`PATCH ${collection}/objects`),
  ...body(`PATCH ${collection}/objects`, {
    patches: [
      ...of('invalid_argument', [1, true, {}, 'x', '', null]),
      { value: [1], code: 'invalid_argument', field: 'patches[0]', shown: 1 },
      { value: new Array(1_001).fill({ id: 'a', meta: {} }), code: 'limit_exceeded', shown: 1_001, limit: 1_000 },
      {
        value: [
          { id: 'a', meta: {} },
          { id: 'a', meta: {} },
        ],
        code: 'invalid_argument',
        field: 'patches[1].id',
        shown: 'a',
      },
      { value: [{ id: 'a' }], code: 'invalid_argument', field: 'patches[0]' },
    ],
    'patches[0].id': [
      ...of('invalid_argument', [0.5, true, null, [], {}, '']),
      { value: 'a'.repeat(513), code: 'limit_exceeded', limit: 512, shown: 513 },
    ],
    'patches[0].meta': [
      ...of('invalid_argument', [1, true, [], 'x', '']),
      { value: { k: 'a'.repeat(70_000) }, code: 'limit_exceeded', limit: 65_536, shown: 70_008 },
    ],
    'patches[0].filter': [
      ...of('invalid_argument', [1, true, [], 'x', '']),
      {
        value: { k: 'a'.repeat(1_025) },
        code: 'limit_exceeded',
        field: 'patches[0].filter.k',
        limit: 1_024,
        shown: 1_025,
      },
      {
        value: Object.fromEntries(Array.from({ length: filterKeysMax + 1 }, (_, i) => [`k${i}`, 1])),
        code: 'limit_exceeded',
        limit: filterKeysMax,
        shown: filterKeysMax + 1,
      },
      { value: { k: 2 ** 60 }, code: 'invalid_argument', field: 'patches[0].filter.k', shown: 2 ** 60 },
    ],
    'patches[0].increment': [
      ...of('invalid_argument', [1, true, [], 'x', '']),
      ...['1', 'NaN', true, null, [], {}, infinite].map(
        (by): Wrong => ({ value: { n: by }, code: 'invalid_argument', field: 'patches[0].increment.n', shown: by }),
      ),
      { value: { n: 2 ** 60 }, code: 'invalid_argument', field: 'patches[0].increment.n', shown: 2 ** 60 },
      {
        value: Object.fromEntries(Array.from({ length: filterKeysMax + 1 }, (_, i) => [`k${i}`, 1])),
        code: 'limit_exceeded',
        limit: filterKeysMax,
        shown: filterKeysMax + 1,
      },
      { value: { ['k'.repeat(257)]: 1 }, code: 'limit_exceeded', limit: 256, shown: 257 },
    ],
    ...conditionRows('patches[0]'),
    atomic: flag,
  }),
  ...query(`PATCH ${collection}/objects`, { atomic: of('invalid_argument', ['', 'x', '1', 'TRUE', 'NaN']) }),
  ...query(`DELETE ${collection}/objects/{id}`, {
    if_lsn: of('invalid_argument', ['', '0', ...texts, '9'.repeat(17)]).concat({
      value: '9007199254740993',
      code: 'limit_exceeded',
      limit: Number.MAX_SAFE_INTEGER,
      shown: 2 ** 53,
    }),
  }),
  ...names(`POST ${collection}/defaults`),
  ...body(`POST ${collection}/defaults`, { ttl_seconds: ttl }),
  ...body('POST /api/v2/collection', { ttl_seconds: ttl }),
]
