// Compares recall and speed of Annal's index with other libraries: the same data, M, and ef_construction, one thread, measured alternately for
// each ef by CPU time, so that other work on the machine affects all of them equally.
// A peer that is not on this machine and cannot be installed is named and skipped. Generated sets are named clustered-200k, clustered-1m, or
// clustered-N; `--keep FOLDER` keeps them with their answers for the next run.
// Building a million rows takes a peer several minutes. `--together` builds peers that are separate processes while Annal builds: the cost
// is the same for both, and it is faster on two cores. `--build-threads N` gives N threads to the builds of peers that support it; these build
// times must not be compared. A set may also be the path of an HDF5 file of ann-benchmarks, or of a folder with fvecs and ivecs.
//   npm run bench:ann -- --data DIR [--sets a,b] [--peers hnswlib,usearch,hnswlib-node] [--precisions float32,int8] [--rounds 3]
//     [--queries 2000] [--keep FOLDER] [--together] [--build-threads 1] [--json FILE] [--svg FILE]
import { existsSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openPublicSet } from '../formats/open.ts'
import { openAnnal, type Precision } from './annal.ts'
import { type Contender, median, speedAt } from './contender.ts'
import { type Dataset, makeClustered, readDataset, writeDataset } from './dataset.ts'
import { exactAnswers } from './exact.ts'
import { openHnswlib } from './peers/hnswlib.ts'
import { openHnswlibNode } from './peers/hnswlib-node.ts'
import { openUsearch } from './peers/usearch.ts'
import { drawCurves } from './picture.ts'

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    sets: { type: 'string', default: 'fashion-mnist,sift-bsds-a' },
    peers: { type: 'string', default: 'hnswlib,usearch,hnswlib-node' },
    precisions: { type: 'string', default: 'float32,int8' },
    rounds: { type: 'string', default: '3' },
    queries: { type: 'string', default: '2000' },
    keep: { type: 'string' },
    together: { type: 'boolean', default: false },
    'build-threads': { type: 'string', default: '1' },
    json: { type: 'string' },
    svg: { type: 'string' },
  },
})
const efs = [10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256]
const buildThreads = Number(values['build-threads'])
const peers: Readonly<Record<string, (set: Dataset, buildThreads: number) => Promise<Contender>>> = {
  hnswlib: openHnswlib,
  usearch: openUsearch,
  'hnswlib-node': openHnswlibNode,
}
for (const peer of formatName(values.peers))
  if (!(peer in peers)) throw new Error(`unknown peer "${peer}"; known: ${Object.keys(peers).join(', ')}`)
const targets = [0.95, 0.99, 0.995]
const lines: string[] = []
const say = (line: object) => {
  lines.push(JSON.stringify(line))
  console.log(lines.at(-1))
}

say({ machine: cpus()[0]?.model, cores: cpus().length, node: process.version, rounds: Number(values.rounds) })
const curves: { label: string; points: { recall: number; speed: number }[] }[] = []
for (const name of values.sets.split(',')) await measure(await openSet(name))
if (values.json !== undefined) writeFileSync(values.json, `${lines.join('\n')}\n`)
if (values.svg !== undefined) writeFileSync(values.svg, drawCurves(curves))

async function openSet(name: string): Promise<Dataset> {
  const [, count, unit = ''] = /^clustered-(\d+)([km]?)$/.exec(name) ?? []
  const units: Readonly<Record<string, number>> = { k: 1_000, m: 1_000_000 }
  if (count !== undefined) return openClustered(Number(count) * (units[unit] ?? 1))
  if (/[/.]/.test(name)) return openPublicSet(name)
  if (values.data === undefined) throw new Error('--data DIR is required for sets that are not generated')
  const set = await readDataset(values.data, name)
  const most = Number(values.queries) * set.dimension
  return { ...set, queries: set.queries.subarray(0, most) }
}

async function openClustered(rows: number): Promise<Dataset> {
  const name = `clustered-${rows}`
  if (values.keep !== undefined && existsSync(join(values.keep, name, 'meta.json')))
    return readDataset(values.keep, name)
  const set = await exactAnswers(makeClustered(rows, 128, 1))
  if (values.keep !== undefined) await writeDataset(values.keep, set)
  return set
}

function formatName(list: string): string[] {
  return list.split(',').filter((name) => name !== '')
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
  for (const { name, buildCpuSeconds } of contenders)
    say({ set: set.name, contender: name, build_cpu_s: Number(buildCpuSeconds.toFixed(2)) })
  for (const contender of contenders) await contender.run(32) // compile and warm up
  const nq = set.queries.length / set.dimension
  const rounds = Number(values.rounds)
  const speeds = contenders.map(() => Array.from({ length: rounds }, () => [] as { recall: number; speed: number }[]))
  for (const ef of efs)
    for (let round = 0; round < rounds; round++)
      for (const [i, contender] of contenders.entries()) {
        const { recall, wallSeconds, cpuSeconds } = await contender.run(ef)
        speeds[i]?.[round]?.push({ recall, speed: nq / cpuSeconds })
        if (round > 0) continue
        const [qps, cpu_qps] = [nq / wallSeconds, nq / cpuSeconds].map(Math.round)
        say({ set: set.name, contender: contender.name, ef, recall, qps, cpu_qps })
      }
  contenders.forEach(({ name }, i) => {
    curves.push({ label: `${set.name} ${name}`, points: speeds[i]?.[0] ?? [] })
  })
  printRatios(set, contenders, speeds)
  for (const contender of contenders) await contender.close()
}

/** Prints the median over rounds of the ratio of speeds at equal recall, of each Annal index to each peer. */
function printRatios(
  set: Dataset,
  contenders: readonly Contender[],
  speeds: readonly (readonly (readonly { recall: number; speed: number }[])[])[],
): void {
  const ours = contenders.flatMap(({ name }, i) => (name.startsWith('annal') ? [i] : []))
  const peers = contenders.flatMap(({ name }, i) => (name.startsWith('annal') ? [] : [i]))
  for (const own of ours) {
    const ratios: Record<string, Record<string, number>> = {}
    for (const peer of peers) {
      const byName: Record<string, number> = {}
      for (const target of targets) {
        const perRound = (speeds[own] ?? []).flatMap((points, round) => {
          const [a, b] = [speedAt(points, target), speedAt(speeds[peer]?.[round] ?? [], target)]
          return a === undefined || b === undefined ? [] : [a / b]
        })
        if (perRound.length > 0) byName[target] = Number(median(perRound).toFixed(2))
      }
      const build = (contenders[peer]?.buildCpuSeconds ?? 0) / (contenders[own]?.buildCpuSeconds ?? 1)
      ratios[contenders[peer]?.name ?? ''] = { ...byName, build: Number(build.toFixed(2)) }
    }
    say({ set: set.name, contender: contenders[own]?.name, ratios })
  }
}
