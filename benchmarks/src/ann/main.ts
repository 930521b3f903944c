// Compares recall, speed, build, and memory of Annal's index with other libraries: the same data, M, and ef_construction, one thread, measured
// alternately for each ef by CPU time, so that other work on the machine affects all of them equally.
// A peer that is not on this machine and cannot be installed is named and skipped. Sets that are named clustered-200k, clustered-1m,
// embeddings-100k-768, or embeddings-10k-100-seed2 (count, dimension, seed) are generated; `--keep FOLDER` keeps them with their answers.
// Building a million rows takes a peer several minutes. `--together` builds peers that are separate processes while Annal builds: the cost
// is the same for both, and it is faster on two cores. `--build-threads N` gives N threads to the builds of peers that support it; these build
// times must not be compared. A set may also be the path of an HDF5 file of ann-benchmarks, of a folder with fvecs and ivecs, or of a folder
// with the files of a kept set. `--pictures FOLDER` writes one picture for each set, `--markdown FILE` a table for each set.
//   npm run bench:ann -- --data DIR [--sets a,b] [--peers hnswlib,usearch,hnswlib-node] [--precisions float32,int8] [--rounds 3]
//     [--queries 2000] [--k 10,100] [--keep FOLDER] [--together] [--build-threads 1] [--json FILE] [--markdown FILE] [--pictures FOLDER]

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { Precision } from '@annal/engine'
import { openPublicSet } from '../formats/open.ts'
import { listOf, readOptions } from '../options.ts'
import { type Dataset, makeClustered, readDataset, writeDataset } from '../sets/dataset.ts'
import { exactAnswers } from '../sets/exact.ts'
import { openAnnal } from './annal.ts'
import type { Contender, Point } from './contender.ts'
import { makeEmbeddings, parseEmbeddingsName } from './embeddings.ts'
import { openHnswlib } from './peers/hnswlib.ts'
import { openHnswlibNode } from './peers/hnswlib-node.ts'
import { openUsearch } from './peers/usearch.ts'
import { type Curve, drawCurves } from './picture.ts'
import { buildRatio, type Measured, speedRatios, tableOf } from './ratios.ts'

const values = readOptions({
  data: String,
  sets: 'fashion-mnist,sift-bsds-a',
  peers: 'hnswlib,usearch,hnswlib-node',
  precisions: 'float32,int8',
  rounds: 3,
  queries: 2_000,
  keep: String,
  together: false,
  'build-threads': 1,
  k: '10',
  json: String,
  markdown: String,
  pictures: String,
})
const efs = [10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512]
const warmMs = 4_000
/** The largest ef for k = 10. More results need more candidates. */
const efMaxAtTen = 256
const ks = values.k.split(',').map(Number)
const buildThreads = values['build-threads']
const peers: Readonly<Record<string, (set: Dataset, buildThreads: number) => Promise<Contender>>> = {
  hnswlib: openHnswlib,
  usearch: openUsearch,
  'hnswlib-node': openHnswlibNode,
}
for (const peer of formatName(values.peers))
  if (!(peer in peers)) throw new Error(`unknown peer "${peer}"; known: ${Object.keys(peers).join(', ')}`)
const lines: string[] = []
const say = (line: object) => {
  lines.push(JSON.stringify(line))
  console.log(lines.at(-1))
}

say({ machine: cpus()[0]?.model, cores: cpus().length, node: process.version, rounds: values.rounds })
const tables: string[] = []
for (const name of values.sets.split(',')) await measure(await openSet(name))
if (values.json !== undefined) writeFileSync(values.json, `${lines.join('\n')}\n`)
if (values.markdown !== undefined) writeFileSync(values.markdown, tables.join('\n'))

async function openSet(name: string): Promise<Dataset> {
  const [, count, unit = ''] = /^clustered-(\d+)([km]?)$/.exec(name) ?? []
  const units: Readonly<Record<string, number>> = { k: 1_000, m: 1_000_000 }
  if (count !== undefined) {
    const rows = Number(count) * (units[unit] ?? 1)
    return openGenerated(`clustered-${rows}`, () => makeClustered(rows, 128, 1))
  }
  const embeddings = parseEmbeddingsName(name)
  if (embeddings !== undefined) return openGenerated(name, () => makeEmbeddings(name, embeddings))
  if (existsSync(join(name, 'meta.json'))) return atMostQueries(await readDataset(dirname(name), basename(name)))
  if (/[/.]/.test(name)) return openPublicSet(name)
  if (values.data === undefined) throw new Error('--data DIR is required for sets that are not generated')
  return atMostQueries(await readDataset(values.data, name))
}

function atMostQueries(set: Dataset): Dataset {
  return { ...set, queries: set.queries.subarray(0, values.queries * set.dimension) }
}

async function openGenerated(name: string, make: () => Omit<Dataset, 'truth'>): Promise<Dataset> {
  if (values.keep !== undefined && existsSync(join(values.keep, name, 'meta.json')))
    return readDataset(values.keep, name)
  const set = await exactAnswers(make())
  if (values.keep !== undefined) await writeDataset(values.keep, set)
  return set
}

function formatName(list: string): string[] {
  return listOf(list)
}

async function build(set: Dataset): Promise<Contender[]> {
  const before: readonly string[] = values.together ? formatName(values.peers).filter((peer) => peer === 'hnswlib') : []
  const besides = before.map((peer) => buildPeer(set, peer))
  const contenders: Contender[] = []
  for (const precision of formatName(values.precisions))
    contenders.push(await openAnnal(set, precision as Precision, buildThreads))
  for (const peer of besides) contenders.push(...(await peer))
  for (const peer of formatName(values.peers).filter((one) => !before.includes(one)))
    contenders.push(...(await buildPeer(set, peer)))
  return contenders
}

/** Returns no contender if the peer is not on this machine. */
async function buildPeer(set: Dataset, peer: string): Promise<Contender[]> {
  const open = peers[peer]
  try {
    return open === undefined ? [] : [await open(set, buildThreads)]
  } catch (error) {
    say({ set: set.name, left_out: peer, why: String(error).split('\n', 1)[0] })
    return []
  }
}

async function measure(set: Dataset): Promise<void> {
  const contenders = await build(set)
  for (const { name, buildCpuSeconds, bytesPerRow } of contenders)
    say({ set: set.name, contender: name, build_cpu_s: round(buildCpuSeconds), bytes_per_row: bytesPerRow })
  for (const contender of contenders) await warmUp(contender)
  const measured = contenders.map(({ name, buildCpuSeconds, bytesPerRow }) => {
    const curves = new Map<number, Point[][]>()
    return { name, buildCpuSeconds, bytesPerRow, curves }
  })
  for (const k of ks)
    for (const [i, curve] of (await measureAt(set, contenders, k)).entries()) measured[i]?.curves.set(k, curve)
  printRatios(set, measured)
  tables.push(tableOf(set.name, measured, ks))
  console.log(tables.at(-1))
  if (values.pictures !== undefined) draw(values.pictures, set.name, measured)
  for (const contender of contenders) await contender.close()
}

/** Searches until what is compiled at run time is compiled: the first searches take up to twice as long. */
async function warmUp({ run }: Contender): Promise<void> {
  const from = performance.now()
  while (performance.now() - from < warmMs) await run(32, 10)
}

/** The points of each contender in each round. */
async function measureAt(set: Dataset, contenders: readonly Contender[], k: number): Promise<Point[][][]> {
  const nq = set.queries.length / set.dimension
  const { rounds } = values
  const points = contenders.map(() => Array.from({ length: rounds }, (): Point[] => []))
  for (const ef of efs.filter((one) => one >= k && (k > 10 || one <= efMaxAtTen)))
    for (let round = 0; round < rounds; round++)
      for (const [i, contender] of contenders.entries()) {
        const { recall, wallSeconds, cpuSeconds } = await contender.run(ef, k)
        points[i]?.[round]?.push({ recall, speed: nq / cpuSeconds })
        if (round > 0) continue
        const [qps, cpu_qps] = [nq / wallSeconds, nq / cpuSeconds].map(Math.round)
        say({ set: set.name, contender: contender.name, k, ef, recall, qps, cpu_qps })
      }
  return points
}

/** Prints the ratios of each Annal index to each peer. */
function printRatios(set: Dataset, measured: readonly Measured[]): void {
  const ours = measured.filter(({ name }) => name.startsWith('annal'))
  const others = measured.filter(({ name }) => !name.startsWith('annal'))
  for (const k of ks)
    for (const own of ours) {
      const ratios = Object.fromEntries(
        others.map((peer) => [peer.name, { ...speedRatios(own, peer, k), build: buildRatio(own, peer) }]),
      )
      say({ set: set.name, contender: own.name, k, ratios })
    }
}

function draw(folder: string, set: string, measured: readonly Measured[]): void {
  mkdirSync(folder, { recursive: true })
  for (const k of ks) {
    const curves = measured.map(({ name, curves }): Curve => ({ label: name, points: curves.get(k)?.[0] ?? [] }))
    writeFileSync(join(folder, k === 10 ? `${set}.svg` : `${set}-k${k}.svg`), drawCurves(`${set}, k = ${k}`, curves))
  }
}

function round(value: number): number {
  return Number(value.toFixed(2))
}
