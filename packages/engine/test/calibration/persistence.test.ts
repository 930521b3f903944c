// Calibrations continue after a restart, as long as the rows of the field are mostly those that were measured. Files that are damaged,
// missing, or of another directory or collection only lead to another measurement, and no file of a deleted collection remains.
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Collection, type FieldCalibration, openEngine, type Precision } from '@annal/engine'
import { type Test, test } from 'tap'
import { denseField, openDirectory } from '../search/rig.ts'
import { createRandom } from '../vector/world.ts'

const seed = Number(process.env.ANNAL_SEED ?? 1)
const dimension = 16
const rows = 1_000

function createSource(from = seed) {
  const random = createRandom(from)
  return () => Float32Array.from({ length: dimension }, () => random() - 0.5)
}

async function upsert(collection: Collection, make: () => Float32Array, from: number, to: number) {
  await collection.upsert(
    Array.from({ length: to - from }, (_, i) => ({ id: `${from + i}`, fields: { dense: make() } })),
  )
}

/** Runs `work` with the only collection of the directory, and closes the engine. */
async function withCollection<T>(
  dataDir: string,
  work: (collection: Collection, notices: string[]) => Promise<T>,
): Promise<T> {
  const notices: string[] = []
  const onNotice = (sentence: string) => void notices.push(sentence)
  const engine = await openEngine({ dataDir, threads: 1, fsync: 'none', onNotice })
  try {
    return await work(engine.database().collection('things'), notices)
  } finally {
    await engine.close()
  }
}

async function createCalibrated(t: Test, precision: Precision = 'float32') {
  t.comment(`seed ${seed}`)
  const dataDir = await openDirectory(t)
  const engine = await openEngine({ dataDir, threads: 1, fsync: 'none' })
  const fields = [denseField(dimension, { precision })]
  const collection = await engine.database().createCollection({ name: 'things', fields })
  await upsert(collection, createSource(), 0, rows)
  const calibration = await collection.calibrate({ sample: 40 })
  await engine.close()
  return { dataDir, calibration }
}

const files = (dataDir: string) => {
  const dir = join(dataDir, 'calibrations')
  return existsSync(dir) ? readdirSync(dir) : []
}

async function choiceOf(collection: Collection) {
  const { recall } = await collection.search({ fields: { dense: { query: { id: '0' }, recall: 0.95 } } })
  return recall?.dense
}

/** Without what belongs to one process. */
const measuredOf = (calibrations: readonly FieldCalibration[]) => calibrations.map(({ received: _, ...rest }) => rest)

for (const precision of ['float32', 'int8', 'int4', 'binary'] as const)
  test(`${precision}: a restart keeps the calibrations`, async (t) => {
    const { dataDir, calibration } = await createCalibrated(t, precision)
    t.strictSame(files(dataDir), ['collection-1.json'])
    const chosen = await withCollection(dataDir, async (collection) => {
      t.strictSame(measuredOf(collection.calibrations()), measuredOf([calibration]))
      const choice = await choiceOf(collection)
      t.match(choice, { calibrated: true })
      t.equal(collection.calibrations()[0]?.state, 'current', 'no measurement is started')
      return choice
    })
    await withCollection(dataDir, async (collection) => t.strictSame(await choiceOf(collection), chosen))
  })

test('a crash keeps them, and they are no part of the state', async (t) => {
  const { dataDir } = await createCalibrated(t)
  const copy = `${dataDir}-copy`
  const digest = await withCollection(dataDir, async (collection) => {
    await upsert(collection, createSource(2), rows, rows + 10)
    await collection.calibrate({ limit: 1, sample: 20 })
    cpSync(dataDir, copy, { recursive: true, filter: (path) => !path.endsWith('LOCK') })
    return collection.stateDigest()
  })
  await withCollection(copy, async (collection) => {
    t.strictSame(
      collection.calibrations().map(({ limit, state }) => [limit, state]),
      [
        [10, 'current'],
        [1, 'current'],
      ],
    )
    t.equal(collection.stateDigest(), digest)
  })
})

test('what changed before and after a restart counts together', async (t) => {
  const { dataDir } = await createCalibrated(t)
  const make = createSource(3)
  await withCollection(dataDir, async (collection) => {
    await upsert(collection, make, 0, 150)
    t.match(await choiceOf(collection), { calibrated: true })
  })
  await withCollection(dataDir, async (collection) => {
    t.match(await choiceOf(collection), { calibrated: true }, 'fewer than a fifth of the rows changed')
    // Of 1,000 rows 230 changed, or were added.
    await upsert(collection, make, 150, 180)
    await upsert(collection, make, rows, rows + 80)
  })
  await withCollection(dataDir, async (collection) => {
    t.equal(collection.calibrations()[0]?.state, 'outdated')
    t.match(await choiceOf(collection), { calibrated: false })
    t.match(await collection.calibrate({ sample: 40 }), { state: 'current', rows: rows + 80 })
  })
  await withCollection(dataDir, async (collection) => {
    await collection.delete(Array.from({ length: 300 }, (_, i) => `${i}`))
  })
  await withCollection(dataDir, async (collection) => t.equal(collection.calibrations()[0]?.state, 'outdated'))
})

test('a write that repeats the same vectors, or changes filters, is no change', async (t) => {
  const { dataDir, calibration } = await createCalibrated(t)
  await withCollection(dataDir, async (collection) => {
    for (let round = 0; round < 3; round++) await upsert(collection, createSource(), 0, rows)
    await collection.updateFilters(Array.from({ length: rows }, (_, i) => ({ id: `${i}`, filter: { i } })))
    await choiceOf(collection)
    // The rows are compared in the background, where measurements run: after this one of another limit.
    await collection.calibrate({ limit: 1, sample: 20 })
    t.match(await choiceOf(collection), { calibrated: true })
    const [compared] = collection.calibrations()
    t.match(compared, { limit: 10, state: 'current', measuredAt: calibration.measuredAt })
  })
  await withCollection(dataDir, async (collection) => t.match(await choiceOf(collection), { calibrated: true }))
})

test('a rebuilt field is measured again', async (t) => {
  const { dataDir } = await createCalibrated(t)
  await withCollection(dataDir, (collection) => collection.rebuild())
  await withCollection(dataDir, async (collection) => t.strictSame(collection.calibrations(), []))
})

test('a file that is damaged, or belongs to others, is not used', async (t) => {
  const [one, other] = [await createCalibrated(t), await createCalibrated(t)]
  const path = join(one.dataDir, 'calibrations', 'collection-1.json')
  const good = readFileSync(path, 'utf8')
  const foreign = readFileSync(join(other.dataDir, 'calibrations', 'collection-1.json'), 'utf8')
  for (const [name, text] of [
    ['a flipped character', good.replace('"rows":1000', '"rows":9000')],
    ['half of it', good.slice(0, good.length / 2)],
    ['nothing', ''],
    ['of another directory', foreign],
    ['of a newer version', good.replace('"format":1', '"format":2')],
  ] as const) {
    writeFileSync(path, text)
    await withCollection(one.dataDir, async (collection, notices) => {
      t.strictSame(collection.calibrations(), [], name)
      t.match(notices, [/collection-1\.json is not used/], name)
      t.match(await collection.search({ fields: { dense: { query: { id: '1' }, recall: 0.9 } } }), {
        recall: { dense: { calibrated: false } },
      })
    })
  }
  writeFileSync(path, good)
  await withCollection(one.dataDir, async (collection, notices) => {
    t.match(await choiceOf(collection), { calibrated: true })
    t.strictSame(notices, [])
  })
})

test('files of deleted collections are removed', async (t) => {
  const { dataDir } = await createCalibrated(t)
  const folder = join(dataDir, 'calibrations')
  for (const name of ['collection-7.json', 'collection-1.json.tmp', 'other']) writeFileSync(join(folder, name), 'x')
  await withCollection(dataDir, async () => t.strictSame(files(dataDir), ['collection-1.json']))
  const engine = await openEngine({ dataDir, threads: 1, fsync: 'none' })
  await engine.database().deleteCollection('things')
  await engine.close()
  t.strictSame(files(dataDir), [])
})
