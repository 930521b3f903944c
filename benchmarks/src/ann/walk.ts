// `npm run bench:walk -- --data DIR --set NAME`: what a search of one segment compares and how long it takes, without the call through a
// field: recall, expanded rows, heads and codes compared for a query, and CPU time, for each ef. `--without-heads` measures the same graph
// without heads next to it, `--against FILE,FILE` other builds of the kernel with the same interface (kernel/annal-relaxed.wasm of another
// checkout). They take turns of 50 queries, each with other queries than the others, so that no one finds the rows of another in the cache.
// `--precision`, `--k`, `--efs 10,16,32`, `--queries N` at most, `--seconds` of turns; 0 seconds only count.
import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { Precision } from '@annal/engine'
import {
  AttachedArena,
  graphQuery,
  header,
  instantiateKernel,
  openWorkerPool,
  rulesNewest,
  Segment,
  VectorRows,
} from '@annal/engine/testing'
import { dataFolder, listOf, readOptions } from '../options.ts'
import { type Dataset, readDataset } from '../sets/dataset.ts'
import { exactAnswers } from '../sets/exact.ts'
import { norms } from '../sets/fill.ts'
import { median, type Point, recallOf, speedAt } from './contender.ts'
import { makeEmbeddings, parseEmbeddingsName } from './embeddings.ts'
import { targets } from './ratios.ts'

const values = readOptions({
  data: dataFolder(),
  set: 'fashion-mnist',
  precision: 'int8',
  k: 10,
  efs: '10,12,16,24,32,48,64,96,128',
  queries: 2_000,
  seconds: 30,
  'without-heads': false,
  against: '',
})
const { k } = values
const efs = values.efs.split(',').map(Number)
const version = 1e6
const turnQueries = 50
const batchRows = 10_000

/** One way to search the arena. */
interface Mode {
  readonly name: string
  readonly hasHeads: boolean
  readonly attached: AttachedArena
  takeHeads(): number
}

const set = await openSet(values.set)
const { dimension, queries } = set
const count = queries.length / dimension
const pool = await openWorkerPool({ threads: 1 })
const segment = await buildSegment()
const { arena } = segment
const modes = await openModes()
const counted = modes.map((mode) => efs.map((ef) => countAt(mode, ef)))
const times = modes.map(() => efs.map((): number[] => []))
for (const end = Date.now() + values.seconds * 1000; Date.now() < end; ) takeTurns()
print()
segment.close()
await pool.close()

async function openSet(name: string): Promise<Dataset> {
  const generated = parseEmbeddingsName(name)
  const whole = generated
    ? await exactAnswers(makeEmbeddings(name, generated))
    : await readDataset(name.includes('/') ? dirname(name) : values.data, basename(name))
  return { ...whole, queries: whole.queries.subarray(0, values.queries * whole.dimension) }
}

async function buildSegment(): Promise<Segment> {
  const precision = values.precision as Precision
  const params = { dimension, spaceType: set.metric, precision, M: 16, efConstruction: 128, rules: rulesNewest }
  const built = new Segment(params, pool)
  const rows = set.base.length / dimension
  for (let from = 0; from < rows; from += batchRows) {
    const to = Math.min(rows, from + batchRows)
    const vectors = set.base.subarray(from * dimension, to * dimension)
    built.reserve(to)
    await built.insert({
      ordinals: Uint32Array.from({ length: to - from }, (_, i) => from + i),
      births: new Uint32Array(to - from).fill(1),
      norms: norms(vectors, dimension),
      vectors: new VectorRows(vectors, dimension),
    })
  }
  return built
}

async function openModes(): Promise<Mode[]> {
  const own = { attached: arena.attached, takeHeads: () => arena.kernel.takeHeads() }
  const opened: Mode[] = [{ name: 'kernel', hasHeads: arena.hasHeads, ...own }]
  if (values['without-heads']) opened.push({ name: 'without heads', hasHeads: false, ...own })
  for (const file of listOf(values.against)) {
    const module = await WebAssembly.compile(await readFile(file))
    const kernel = instantiateKernel(module, arena.memory)
    const attached = new AttachedArena(arena.handle, module, arena.ownThread, kernel)
    opened.push({ name: file, hasHeads: arena.hasHeads, attached, takeHeads: () => kernel.takeHeads() })
  }
  return opened
}

/** Makes the arena that of a mode. Each kernel numbers its walks from 1, so the marks of the others are cleared. */
function enter({ hasHeads }: Mode): void {
  arena.setWord(header.heads, hasHeads ? 1 : 0)
  const marks = arena.u32[arena.ownScratch.descriptor / 4] as number
  arena.u8.fill(0, marks, marks + (arena.u32[marks / 4 - 4] as number))
}

function search({ attached }: Mode, ef: number, i: number): number {
  const query = queries.subarray(i * dimension, (i + 1) * dimension)
  return attached.run(
    graphQuery({ memory: arena.id, rows: segment.rows, isCutOff: false }, query, { k, ef, version }, undefined),
  )
}

function countAt(mode: Mode, ef: number) {
  enter(mode)
  mode.takeHeads()
  mode.attached.takeVisited()
  mode.attached.takeDistances()
  const found = new Uint32Array(count * k)
  for (let i = 0; i < count; i++) {
    const hits = search(mode, ef, i)
    for (let j = 0; j < hits; j++) found[i * k + j] = mode.attached.ordinalAt(j)
  }
  return {
    recall: recallOf(found, set.truth, { queries: count, k }),
    hops: mode.attached.takeVisited() / count,
    heads: mode.takeHeads() / count,
    codes: mode.attached.takeDistances() / count,
  }
}

function takeTurns(): void {
  const turns = Math.max(1, Math.floor(count / turnQueries))
  const apart = Math.max(1, Math.floor(turns / modes.length))
  const turn = times[0]?.[0]?.length ?? 0
  for (const [e, ef] of efs.entries())
    for (let i = 0; i < modes.length; i++) {
      const m = (i + turn) % modes.length
      const first = ((turn * 7 + i * apart + e * 3) % turns) * turnQueries
      const last = Math.min(count, first + turnQueries)
      const mode = modes[m] as Mode
      enter(mode)
      const before = process.cpuUsage()
      for (let q = first; q < last; q++) search(mode, ef, q)
      const { user, system } = process.cpuUsage(before)
      times[m]?.[e]?.push((user + system) / (last - first))
    }
}

function print(): void {
  const turns = times[0]?.[0]?.length ?? 0
  console.log(`${set.name}, ${values.precision}, k = ${k}, ${count} queries, ${turns} turns of ${turnQueries}`)
  console.log('| | ef | recall | hops | heads | codes | us of CPU, median | ratio |\n|---|---|---|---|---|---|---|---|')
  const curves = modes.map((_, m) =>
    efs.map((__, e): Point => ({ recall: counted[m]?.[e]?.recall ?? 0, speed: 1 / timeOf(m, e) })),
  )
  for (const [m, { name }] of modes.entries())
    for (const [e, ef] of efs.entries()) {
      const { recall = 0, hops = 0, heads = 0, codes = 0 } = counted[m]?.[e] ?? {}
      const [time, ratio] = [timeOf(m, e), timeOf(0, e) / timeOf(m, e)]
      const cells = [name, ef, recall.toFixed(4), hops.toFixed(0), heads.toFixed(0), codes.toFixed(0)]
      console.log(`| ${[...cells, time.toFixed(1), ratio.toFixed(3)].join(' | ')} |`)
    }
  for (const [m, { name }] of modes.entries()) {
    const ratios = targets.map((recall) => {
      const [own, first] = [speedAt(curves[m] ?? [], recall), speedAt(curves[0] ?? [], recall)]
      return `${recall}: ${own === undefined || first === undefined ? '-' : (own / first).toFixed(3)}`
    })
    console.log(`${name}: queries per CPU second relative to the first at recall ${ratios.join(', ')}`)
  }
}

function timeOf(m: number, e: number): number {
  return median(times[m]?.[e] ?? [])
}
