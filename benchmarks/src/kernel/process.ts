// The bytes of a whole process for each row of one precision, against what the engine counts. Two directories have few and many objects
// (128 dimensions, ids of 8 bytes, no filter). A process opens one of them, frees what it does not need, and reports its resident memory.
// The difference of two such processes has nothing that a process takes once. Heaps of V8's threads grow by up to 2 MB until there are about
// 60,000 rows, and not after that, so there are at least as many. They differ from one process to the next by megabytes with the same
// data, so each directory is opened several times, and the process with the median counts.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { openEngine, type Precision } from '@annal/engine'
import { type Mappings, mappingsOf } from '../load/mappings.ts'
import { readOptions } from '../options.ts'
import { makeClustered } from '../sets/dataset.ts'
import { progress } from '../sets/progress.ts'
import { printFigures } from './figure.ts'
import { residentBytes } from './resident.ts'

const values = readOptions({
  few: 60_000,
  rows: 160_000,
  precision: 'int8',
  opens: 5,
  measure: String,
  parts: false,
})
const dimension = 128
const batch = 1_000
/** Of what the engine counts. */
const timesMax = 1.03

interface Measured {
  readonly resident: number
  readonly counted: number
  readonly memory: Readonly<Record<string, number>>
  readonly mappings: Mappings
}

if (values.measure === undefined) compareProcesses(values.precision as Precision)
else console.log(JSON.stringify(await measure(values.measure)))

function compareProcesses(precision: Precision): void {
  const [few, many] = [values.few, values.rows].map((rows) => measureRows(precision, rows)) as [Measured, Measured]
  const grown = values.rows - values.few
  const counted = (many.counted - few.counted) / grown
  const resident = (many.resident - few.resident) / grown
  if (values.parts) {
    const perRow = (all: object, before: object) =>
      Object.entries(all).map(
        ([part, bytes]) => `${part} ${((bytes - (before as Mappings)[part as 'heap']) / grown).toFixed(1)}`,
      )
    console.error(`${precision}: counted ${perRow(many.memory, few.memory).join(', ')}`)
    console.error(`${precision}: resident ${perRow(many.mappings, few.mappings).join(', ')}`)
  }
  const name = `${precision}, ${dimension} dimensions, a process`
  printFigures([
    { name: `${name}, as the engine counts`, value: counted, unit: 'bytes a row', more: 'worse' },
    { name: `${name}, resident`, value: resident, unit: 'bytes a row', more: 'worse' },
    {
      name: `${name}, resident against counted`,
      value: resident / counted,
      unit: 'times',
      more: 'worse',
      limit: timesMax,
    },
  ])
}

function measureRows(precision: Precision, rows: number): Measured {
  const dir = mkdtempSync(path.join(tmpdir(), 'annal-process-'))
  try {
    run('fill', dir, precision, rows)
    const opens = Array.from({ length: values.opens }, () => JSON.parse(run('open', dir, precision, rows)) as Measured)
    return opens.sort((a, b) => a.resident - b.resident)[opens.length >> 1]!
  } finally {
    rmSync(dir, { recursive: true })
  }
}

/** A process of its own fills the directory, so that the measured one has only opened it. */
function run(step: 'fill' | 'open', dir: string, precision: Precision, rows: number): string {
  const args = ['--measure', `${step}:${dir}`, '--precision', precision, '--rows', `${rows}`]
  const script = fileURLToPath(import.meta.url)
  return execFileSync(process.execPath, [...process.execArgv, script, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

async function measure(step: string): Promise<Measured | undefined> {
  const dataDir = step.slice(step.indexOf(':') + 1)
  if (step.startsWith('fill:')) {
    await fill(dataDir, values.rows)
    return undefined
  }
  const engine = await openEngine({ dataDir, threads: 2, fsync: 'none' })
  const resident = await residentBytes()
  const { memory } = engine.stats()
  const mappings = await mappingsOf(process.pid)
  await engine.close()
  return { resident, mappings, memory, counted: Object.values(memory).reduce((sum, bytes) => sum + bytes, 0) }
}

async function fill(dataDir: string, rows: number): Promise<void> {
  const engine = await openEngine({ dataDir, threads: 2, fsync: 'none' })
  const precision = values.precision as Precision
  // Lists take the same space for any neighbors, and are filled faster with few candidates.
  const params = { dimension, spaceType: 'l2', precision, M: 16, efConstruction: 24 } as const
  const fields = [{ name: 'v', type: 'vector', params }] as const
  const collection = await engine.database().createCollection({ name: 'rows', fields })
  const report = progress(`${precision}, a process`, rows)
  for (let from = 0; from < rows; from += batch) {
    const count = Math.min(batch, rows - from)
    const { base } = makeClustered(count, dimension, from)
    await collection.upsert(
      Array.from({ length: count }, (_, i) => ({
        id: String(from + i).padStart(8, '0'),
        fields: { v: base.subarray(i * dimension, (i + 1) * dimension) },
      })),
    )
    report(from + count)
  }
  await engine.checkpoint()
  await engine.close()
}
