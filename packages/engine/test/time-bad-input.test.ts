// Wrong values for every parameter of the library that reads the past, follows changes, or sets conditions: a coded error with the field, the
// value, and the limit; nothing changes, and the engine keeps working. packages/server/test/time-bad-input.test.ts does the same over HTTP.
import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { type Database, type Engine, EngineError, type EngineErrorCode } from '../src/index.ts'
import { at, openThings } from './expiry/rig.ts'

/** A wrong value, and the error that refuses it. */
interface Wrong {
  readonly value: unknown
  readonly code: EngineErrorCode
  readonly limit?: number
  /** By default the name of the parameter. */
  readonly field?: string
  readonly shown?: unknown
}

interface Call {
  readonly name: string
  /** A right argument. */
  readonly argument: object
  call(argument: never): unknown
  /** Wrong values by the path of their parameter in the argument. */
  readonly wrong: Readonly<Record<string, readonly Wrong[]>>
}

const of = (code: EngineErrorCode, values: readonly unknown[]): Wrong[] => values.map((value) => ({ value, code }))
const huge = 1e300
const safe = Number.MAX_SAFE_INTEGER
const notNumbers = ['5', 'NaN', '', true, [1], {}, null, 0.5, Number.NaN, Infinity, -Infinity, 5n, () => 5, Symbol('5')]
/** A whole number from `min` to `max`. */
const whole = (min: number, max: number, types: readonly unknown[] = notNumbers): Wrong[] => [
  ...of('invalid_argument', types),
  ...[min - 1, -huge].map((value): Wrong => ({ value, code: 'limit_exceeded', limit: min })),
  ...[max + 1, huge].map((value): Wrong => ({ value, code: 'limit_exceeded', limit: max })),
]
const flags = of('invalid_argument', ['true', '', 0, 1, Number.NaN, null, [], {}])
/** Null counts as absent. */
const someFlags = flags.filter(({ value }) => value !== null)
const newNames: Wrong[] = [
  ...of('invalid_argument', [
    1,
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
    Symbol('a'),
  ]),
  { value: 'a'.repeat(65), code: 'limit_exceeded', limit: 64 },
]
const knownNames = (code: EngineErrorCode) =>
  of(code, [1, true, null, [], {}, '', 'none', 'a b', '__proto__', 'a'.repeat(65)])
const moments = [
  1,
  'x',
  null,
  [],
  {},
  { lsn: -1 },
  { lsn: 1.5 },
  { lsn: '1' },
  { lsn: huge },
  { lsn: 1, timeMs: 1 },
  { timeMs: 'x' },
  { timeMs: Number.NaN },
]
const conditions = (item: string): Record<string, Wrong[]> => ({
  [`${item}.ifAbsent`]: flags,
  [`${item}.ifLsn`]: whole(0, safe),
  [`${item}.ifMatch`]: [
    ...of('invalid_filter', [1, true, {}, 'x', null]),
    { value: [1], code: 'invalid_filter', field: `${item}.ifMatch[0]`, shown: 1 },
    { value: [{ n: { $no: 1 } }], code: 'invalid_filter', field: `${item}.ifMatch[0]`, shown: 1 },
  ],
  [`${item}.ttlSeconds`]: whole(
    1,
    3_155_760_000,
    notNumbers.filter((value) => value !== null),
  ),
  [`${item}.expiresAt`]: [
    ...of('invalid_argument', [
      true,
      [1],
      {},
      '',
      'x',
      'NaN',
      '5',
      '2020-13-01T00:00:00Z',
      '1969-12-31T23:59:59Z',
      new Date(5),
      0.5,
      Number.NaN,
    ]),
    { value: -1, code: 'limit_exceeded', limit: 0 },
    { value: 253_402_300_800_000, code: 'limit_exceeded', limit: 253_402_300_799_999 },
  ],
})

function callsOf(engine: Engine, database: Database): readonly Call[] {
  const things = database.collection('things')
  const newest = engine.lsnApplied
  const asOf: Record<string, Wrong[]> = {
    asOf: of('invalid_argument', [1, 'x', null, [], {}, { lsn: 1, time: '2020-01-01T00:00:00Z' }]).map((wrong) => ({
      ...wrong,
      field: 'as_of',
    })),
    'asOf.lsn': [
      ...of('invalid_argument', notNumbers),
      ...[0, -1].map((value): Wrong => ({ value, code: 'invalid_argument', limit: 1 })),
      { value: newest + 1, code: 'invalid_argument' as const, limit: newest },
    ].map((wrong) => ({ ...wrong, field: 'as_of.lsn' })),
    'asOf.time': of('invalid_argument', [
      1,
      true,
      null,
      [],
      {},
      '',
      'x',
      'NaN',
      '2020-13-01T00:00:00Z',
      '1969-12-31T23:59:59Z',
      '2999-01-01T00:00:00Z',
      new Date(Number.NaN),
    ]).map((wrong) => ({ ...wrong, field: 'as_of.time' })),
    'asOf.keepExpired': of('invalid_argument', ['true', '', 0, 1, null, [], {}]).map((wrong) => ({
      ...wrong,
      field: 'as_of.keep_expired',
    })),
  }
  const search = { fields: { dense: { query: [0, 0, 0, 0] } } }
  const read = { asOf: { lsn: newest } }
  return [
    { name: 'search', argument: { ...search, ...read }, call: (request) => things.search(request), wrong: asOf },
    { name: 'scroll', argument: read, call: (request) => things.scroll(request), wrong: asOf },
    { name: 'facets', argument: { key: 'n', ...read }, call: (request) => things.facets(request), wrong: asOf },
    { name: 'recall', argument: read, call: (request) => things.recall(request), wrong: asOf },
    { name: 'asOf', argument: read, call: (given: { asOf: never }) => things.asOf(given.asOf), wrong: asOf },
    {
      name: 'history.versions',
      argument: { collection: 'things', id: 'a' },
      call: (request) => database.history.versions(request),
      wrong: {
        collection: knownNames('collection_not_found'),
        id: [
          ...of('invalid_argument', [1, true, null, [], {}, '']),
          { value: 'a'.repeat(513), code: 'limit_exceeded', limit: 512, shown: 513 },
        ],
        from: whole(
          0,
          safe,
          notNumbers.filter((value) => value !== null),
        ),
        to: whole(
          0,
          safe,
          notNumbers.filter((value) => value !== null),
        ),
        limit: whole(
          1,
          500,
          notNumbers.filter((value) => value !== null),
        ),
      },
    },
    {
      name: 'history.diff',
      argument: { collection: 'things', from: { lsn: 1 } },
      call: (request) => database.history.diff(request).next(),
      wrong: {
        collection: knownNames('collection_not_found'),
        from: of('invalid_argument', moments),
        to: of('invalid_argument', moments),
      },
    },
    {
      name: 'history.undo',
      argument: { collection: 'things', ids: ['a'], asOf: { lsn: 1 } },
      call: (request) => database.history.undo(request),
      wrong: {
        collection: knownNames('collection_not_found'),
        ids: [
          ...of('invalid_argument', [1, true, 'a', {}, null]),
          { value: [''], code: 'invalid_argument', field: 'ids[0]', shown: '' },
          { value: new Array(10_001).fill('a'), code: 'limit_exceeded', limit: 10_000, shown: 10_001 },
        ],
        asOf: of('invalid_argument', moments),
        dryRun: flags,
        keepExpired: flags,
      },
    },
    {
      name: 'putAlias',
      argument: { name: 'free', collection: 'things' },
      call: ({ name, collection }: { name: never; collection: never }) => database.putAlias(name, collection),
      wrong: { name: newNames, collection: knownNames('collection_not_found') },
    },
    {
      name: 'deleteAlias',
      argument: { name: 'none' },
      call: ({ name }: { name: never }) => database.deleteAlias(name),
      wrong: { name: knownNames('alias_not_found') },
    },
    {
      name: 'branch',
      argument: { name: 'free' },
      call: (request) => database.branch('things', request),
      wrong: { name: newNames, asOf: of('invalid_argument', moments) },
    },
    {
      name: 'promote',
      argument: { over: 'other', keepAs: 'old' },
      call: (request) => database.promote('things', request),
      wrong: {
        over: knownNames('collection_not_found'),
        keepAs: newNames.map((wrong) => ({ ...wrong, field: 'keep_as' })),
      },
    },
    {
      name: 'backups.clone',
      argument: { target: 'free', keepExpired: false },
      call: ({ target, keepExpired }: { target: never; keepExpired: never }) =>
        database.backups.clone('things', target, { keepExpired }),
      wrong: { target: newNames, keepExpired: someFlags },
    },
    {
      name: 'backups.restorePast',
      argument: { target: 'free', moment: { lsn: 1 }, keepExpired: false },
      call: ({ target, moment, keepExpired }: { target: never; moment: never; keepExpired: never }) =>
        database.backups.restorePast('things', target, moment, { keepExpired }),
      wrong: { target: newNames, moment: of('invalid_argument', moments), keepExpired: someFlags },
    },
    {
      name: 'changes',
      argument: {},
      call: (request) => database.changes(request).batches()[Symbol.asyncIterator]().next(),
      wrong: {
        from: whole(0, safe),
        cursor: newNames,
        collections: [
          ...of('invalid_argument', [1, 'things', {}, [], null]),
          { value: [1], code: 'invalid_argument', field: 'collections[0]', shown: 1 },
          { value: new Array(1_001).fill('a'), code: 'limit_exceeded', limit: 1_000, shown: 1_001 },
        ],
        kinds: [
          ...of('invalid_argument', [1, 'x', {}, [], null]),
          { value: ['x'], code: 'invalid_argument', field: 'kinds[0]', shown: 'x' },
        ],
        filter: of('invalid_filter', [1, 'x', {}, null]),
        includeVectors: flags,
      },
    },
    {
      name: 'cursors.acknowledge',
      argument: { name: 'reader', lsn: 1 },
      call: ({ name, lsn }: { name: never; lsn: never }) => database.cursors.acknowledge(name, lsn),
      wrong: {
        name: newNames,
        lsn: [
          ...of('invalid_argument', notNumbers),
          ...[-1, -huge].map((value): Wrong => ({ value, code: 'limit_exceeded', limit: 0 })),
          // The limit is the newest record of the log, which can be one of its markers.
          ...of('limit_exceeded', [newest + 100, huge]),
        ],
      },
    },
    {
      name: 'cursors.delete',
      argument: { name: 'none' },
      call: ({ name }: { name: never }) => database.cursors.delete(name),
      wrong: { name: knownNames('feed_cursor_not_found').map((wrong) => ({ ...wrong, field: 'cursor' })) },
    },
    {
      name: 'upsert',
      argument: { objects: [{ id: 'a', fields: at(1) }] },
      call: ({ objects }: { objects: never }) => things.upsert(objects),
      wrong: {
        ...conditions('objects[0]'),
        'objects[0].filter': [
          ...of('invalid_argument', [1, true, []]),
          { value: { k: 2 ** 60 }, code: 'invalid_argument', field: 'objects[0].filter.k', shown: 2 ** 60 },
        ],
      },
    },
    {
      name: 'upsert atomic',
      argument: { atomic: true },
      call: ({ atomic }: { atomic: never }) => things.upsert([{ id: 'a', fields: at(1) }], { atomic }),
      wrong: { atomic: someFlags },
    },
    {
      name: 'patch',
      argument: { patches: [{ id: 'a', increment: { n: 1 } }] },
      call: ({ patches }: { patches: never }) => things.patch(patches),
      wrong: {
        ...conditions('patches[0]'),
        patches: [
          ...of('invalid_argument', [1, true, 'x', {}, null]),
          { value: [1], code: 'invalid_argument', field: 'patches[0]', shown: 1 },
          { value: [{ id: 'a' }], code: 'invalid_argument', field: 'patches[0]' },
          {
            value: [
              { id: 'a', meta: {} },
              { id: 'a', meta: {} },
            ],
            code: 'invalid_argument',
            field: 'patches[1].id',
            shown: 'a',
          },
        ],
        'patches[0].id': of('invalid_argument', [1, true, null, [], {}, '']),
        'patches[0].meta': of('invalid_argument', [1, true, 'x', [], null]),
        'patches[0].filter': of('invalid_argument', [1, true, 'x', [], null]),
        'patches[0].increment': [
          ...of('invalid_argument', [1, true, 'x', [], null]),
          ...['1', Number.NaN, Infinity, null, [], {}].map(
            (value): Wrong => ({
              value: { n: value },
              code: 'invalid_argument',
              field: 'patches[0].increment.n',
              shown: value,
            }),
          ),
        ],
      },
    },
    {
      name: 'delete',
      argument: { ifLsn: 1 },
      call: ({ ifLsn }: { ifLsn: never }) => things.delete(['a'], { ifLsn }),
      wrong: { ifLsn: whole(1, safe) },
    },
    {
      name: 'updateDefaults',
      argument: { changes: { ttlSeconds: 5 } },
      call: ({ changes }: { changes: never }) => things.updateDefaults(changes),
      wrong: {
        changes: of('invalid_argument', [1, 'x', null, []]),
        'changes.ttl': of('invalid_argument', [5]),
        'changes.ttlSeconds': whole(
          1,
          3_155_760_000,
          notNumbers.filter((value) => value !== null),
        ),
      },
    },
    {
      name: 'createCollection',
      argument: { ttlSeconds: 5 },
      call: (argument: object) =>
        database.createCollection({
          name: 'free',
          fields: [{ name: 'v', type: 'vector', params: { dimension: 2 } }],
          ...argument,
        }),
      wrong: {
        ttlSeconds: whole(
          1,
          3_155_760_000,
          notNumbers.filter((value) => value !== null),
        ).map((wrong) => ({ ...wrong, field: 'ttl_seconds' })),
      },
    },
  ]
}

const documented = new Set(
  [
    ...readFileSync(new URL('../../../docs/reference/errors.md', import.meta.url), 'utf8').matchAll(/^\| `(\w+)` \|/gm),
  ].map(([, code]) => code),
)

/** The argument with another value at a path such as `objects[0].ifLsn`. */
function withValue(argument: object, path: string, value: unknown): object {
  const parts = path.split(/[.[\]]+/).filter((part) => part !== '')
  const last = parts.pop() as string
  const whole = structuredClone(argument)
  let holder = whole as Record<string, unknown>
  for (const part of parts) holder = holder[part] as Record<string, unknown>
  if (last === 'time') delete holder.lsn
  holder[last] = value
  return whole
}

function faultsOf(error: unknown, path: string, { code, limit, field = path, ...wrong }: Wrong): string[] {
  if (!(error instanceof EngineError)) return [`not refused by name: ${String(error)}`]
  const { details } = error
  const shown = 'shown' in wrong ? wrong.shown : wrong.value
  return [
    ...(error.code === code && documented.has(code) ? [] : [`code ${error.code} instead of ${code}`]),
    ...(details.field === field ? [] : [`field ${String(details.field)} instead of ${field}`]),
    ...('value' in details && isShown(details.value, shown) ? [] : [`value ${String(details.value)}`]),
    ...(details.limit === limit || (limit === undefined && typeof details.limit !== 'object')
      ? []
      : [`limit ${String(details.limit)}`]),
  ].map((fault) => `${fault}: ${error.message}`)
}

function isShown(shown: unknown, value: unknown): boolean {
  if (typeof value === 'string') return typeof shown === 'string' && shown.startsWith(value.slice(0, 40))
  if (typeof value === 'object' && value !== null) return true
  return String(shown) === String(value)
}

test('wrong values of every parameter are refused with field, value, and limit, and change nothing', async (t) => {
  const { engine, things } = await openThings(t)
  const database = engine.database()
  await database.createCollection({ name: 'other', fields: [{ name: 'v', type: 'vector', params: { dimension: 2 } }] })
  await things.upsert([
    { id: 'a', fields: at(1), filter: { n: 1 } },
    { id: 'b', fields: at(2), filter: { n: 2 } },
  ])
  await database.cursors.acknowledge('reader', 1)
  const state = async () => ({
    lsn: engine.lsnApplied,
    collections: database.collections(),
    aliases: database.aliases(),
    cursors: database.cursors.list(),
    objects: (await things.scroll({})).objects,
  })
  const before = await state()
  let count = 0
  for (const { name, argument, call, wrong: parameters } of callsOf(engine, database)) {
    for (const [path, values] of Object.entries(parameters)) {
      for (const wrong of values) {
        count++
        let error: unknown
        try {
          error = `it returned ${JSON.stringify(await call(withValue(argument, path, wrong.value) as never))}`
        } catch (thrown) {
          error = thrown
        }
        const faults = faultsOf(error, path, wrong)
        if (faults.length > 0) t.fail(`${name} ${path} = ${describe(wrong.value)}: ${faults.join('; ')}`)
      }
    }
    t.strictSame(await state(), before, `${name} changed nothing`)
  }
  t.ok(count > 400, `${count} calls`)
  t.equal((await things.upsert([{ id: 'c', fields: at(3) }])).upserted, 1, 'the engine still writes')
})

function describe(value: unknown): string {
  return typeof value === 'object' ? (JSON.stringify(value)?.slice(0, 60) ?? '') : String(value).slice(0, 60)
}
