// `npm run bench:embedded -- --set DIR`: Annal and other databases that run inside a Node.js program, each in a process of its own. They store the
// same objects, then take turns: each answers all queries one after the other at one ef, without a filter and with filters that 10 % and 1 % of
// the objects match. Times are interpolated at equal recall, medians of the rounds. A database that cannot be installed is named and left out.
//   npm run bench:embedded -- --set DIR/fashion-mnist [--databases annal:int8,annal:float32,zvec:float32,...] [--efs 10,16,...] [--rounds 3]
//     [--queries 1000] [--out FILE]
import { fork } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { median, speedAt } from '../ann/contender.ts'
import { dataFolder, listOf, readOptions } from '../options.ts'
import { parts } from './database.ts'
import type { Filled, Ran, Request } from './messages.ts'

const values = readOptions({
  set: dataFolder('fashion-mnist'),
  databases:
    'annal:int8,annal:float32,zvec:float32,zvec:int8,zvec:rabitq,lancedb:codes,lancedb:refined,sqlite-vec:float32',
  efs: '10,16,24,32,48,64,96,128,192,256,384',
  rounds: 3,
  queries: 1_000,
  out: String,
})
const efs = listOf(values.efs).map(Number)
const bounds = [parts, parts / 10, 1]
const recalls = [0.95, 0.99]

interface Runner {
  readonly name: string
  readonly filled: Filled
  run(ef: number, bound: number): Promise<Ran>
  end(): void
}

/** What a database did at one ef and filter, round by round. */
type Rounds = readonly Ran[]

const scratch = mkdtempSync(path.join(os.tmpdir(), 'annal-embedded-'))
const runners: Runner[] = []
for (const name of listOf(values.databases)) {
  const runner = await start(name).catch((error: Error) => console.log(`${name} is left out: ${error.message}`))
  if (runner) runners.push(runner)
}
const curves = new Map<string, Rounds[]>()
for (const bound of bounds) for (const ef of efs) await turn(bound, ef)
for (const runner of runners) runner.end()
rmSync(scratch, { recursive: true, force: true })
const page = [...fillTable(), '', ...bounds.flatMap((bound) => [...searchTable(bound), '']), machine(), ''].join('\n')
console.log(page)
if (values.out !== undefined) writeFileSync(values.out, page)

async function start(name: string): Promise<Runner> {
  const [database = '', variant = ''] = name.split(':')
  const folder = mkdtempSync(path.join(scratch, `${database}-`))
  const program = fileURLToPath(new URL('child.ts', import.meta.url))
  const child = fork(program, [database, variant, folder, path.resolve(values.set), `${values.queries}`])
  const ask = <T>(request: Request) =>
    new Promise<T>((resolve, reject) => {
      const ended = (code: number | null) => reject(new Error(`its process ended with ${code}`))
      child.once('exit', ended)
      child.once('message', (reply) => {
        child.off('exit', ended)
        // What the child sends for this kind of request.
        resolve(reply as T)
      })
      child.send(request)
    })
  const filled = await ask<Filled>({ kind: 'fill' })
  console.log(`${name}: filled in ${filled.seconds.toFixed(1)} s`)
  return {
    name,
    filled,
    run: (ef, bound) => ask({ kind: 'run', ef, bound }),
    end: () => child.disconnect(),
  }
}

/** All databases at one ef and filter. One that compares every row runs once for each filter, because ef does not matter to it. */
async function turn(bound: number, ef: number): Promise<void> {
  const rounds = new Map<string, Ran[]>(runners.map(({ name }) => [name, []]))
  for (let round = 0; round < values.rounds; round++)
    for (const { name, run } of runners) {
      if (name.startsWith('sqlite-vec') && (round > 0 || ef !== efs[0])) continue
      rounds.get(name)?.push(await run(ef, bound))
    }
  for (const [name, ran] of rounds) {
    if (ran.length === 0) continue
    const key = `${name} ${bound}`
    curves.set(key, [...(curves.get(key) ?? []), ran])
    const [recall, cpuMs] = [median(ran.map((one) => one.recall)), median(ran.map((one) => one.cpuMs))]
    console.log(`${name} part < ${bound} ef ${ef}: recall ${recall.toFixed(4)}, ${cpuMs.toFixed(3)} ms of CPU`)
  }
}

function fillTable(): string[] {
  // Memory that was free in the process before is no growth.
  const mebibytes = (bytes: number) => (bytes > 0 ? (bytes / 2 ** 20).toFixed(0) : '-')
  return [
    '| database | stored in, s | CPU s | resident, MiB | on disk, MiB |',
    '|---|---|---|---|---|',
    ...runners.map(({ name, filled: { seconds, cpuSeconds, residentBytes, diskBytes } }) =>
      row(name, seconds.toFixed(1), cpuSeconds.toFixed(1), mebibytes(residentBytes), mebibytes(diskBytes)),
    ),
  ]
}

function searchTable(bound: number): string[] {
  const filter = bound === parts ? 'no filter' : `a filter that ${(100 * bound) / parts} % match`
  const heads = recalls.flatMap((recall) => [`${recall}: us`, `${recall}: CPU us`])
  return [
    `| ${filter}, at a recall of | ${heads.join(' | ')} | largest recall |`,
    `|---|${heads.map(() => '---|').join('')}---|`,
    ...runners.map(({ name }) => {
      const curve = curves.get(`${name} ${bound}`) ?? []
      const cells = recalls.flatMap((recall) => [at(curve, recall, 'medianMs'), at(curve, recall, 'cpuMs')])
      const largest = Math.max(...curve.map((rounds) => median(rounds.map((one) => one.recall))))
      return row(name, ...cells, largest.toFixed(4))
    }),
  ]
}

/** Microseconds for a search at a recall, the median of the rounds; `-` if it is not reached. */
function at(curve: readonly Rounds[], recall: number, figure: 'medianMs' | 'cpuMs'): string {
  const speeds = Array.from({ length: values.rounds }, (_, round) => {
    const points = curve.flatMap((rounds) => rounds[round] ?? [])
    return speedAt(
      points.map((one) => ({ recall: one.recall, speed: 1 / one[figure] })),
      recall,
    )
  }).filter((speed) => speed !== undefined)
  return speeds.length === 0 ? '-' : (1_000 / median(speeds)).toFixed(0)
}

function row(...cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

function machine(): string {
  const load = os.loadavg()[0]?.toFixed(1)
  return `${os.cpus()[0]?.model}, ${os.cpus().length} cores, Node ${process.version}, load ${load} at the end.`
}
