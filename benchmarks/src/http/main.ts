// The cost of serving over HTTP: throughput, CPU time of the server for each request, latencies, and recall, as clients of two processes see
// them, for loads from one connection to a thousand. Servers that are compared run by turns, and start in another order in each session.
// Linux only.
//
// Every server is warm before the first measurement: it has answered 60,000 requests (--warm) and more until V8 has compiled what they use, and 10,000
// of each row (warm.ts); a batch counts as its searches. The rounds of all rows are by turns, in another order each time, so no row is measured first. Each round has new connections;
// the table states how they were divided among the serving threads.
//
//   npm run bench:http -- [--data DIR] [--dir DIR, kept and used again] [--quick] [--rows NAME,NAME | --grid] [--rounds 20] [--sessions 2]
//     [--seconds 1] [--sets 20, as many rounds of .25 s] [--warm 60000] [--threads 1,2,4] [--against CHECKOUT[@THREADS]] [--url http://HOST:PORT [--token TOKEN]] [--ef EF] [--with NAME=VALUE,NAME=VALUE]
//     [--profile DIR] [--json FILE]
//
// --data names the folder with fashion-mnist; without it the vectors are generated. --against names another checkout, which must be built; it
// runs with each number of --threads, or with THREADS. --with adds this server with environment variables. --url names a server that runs already and speaks the protocol of the published
// clients. --ef is used instead of the smallest ef that reaches the recall of a row.
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { listOf, readOptions } from '../options.ts'
import { startClients } from './clients.ts'
import { type Contender, type ContenderPlan, directoryOf, fill, startContender } from './contender.ts'
import { type Corpus, type CorpusName, readCorpus } from './corpus.ts'
import { efFor, isAccepted, type Measurement, measure, requestsOf } from './measure.ts'
import { countOf, isOther } from './requests.ts'
import { type RowResult, ratioText, resultOf, tableHead, tableLine } from './results.ts'
import { gridRows, type Row, rows } from './rows.ts'
import { type Warmth, warmUp } from './warm.ts'

const values = readOptions({
  data: String,
  dir: String,
  quick: false,
  grid: false,
  rows: String,
  rounds: Number,
  sessions: Number,
  seconds: Number,
  sets: Number,
  warm: Number,
  threads: '',
  against: [],
  url: [],
  token: String,
  ef: Number,
  with: [],
  profile: String,
  json: String,
})
const rounds = values.sets ?? values.rounds ?? (values.quick ? 3 : 20)
const sessions = values.sessions ?? (values.quick || values.sets !== undefined ? 1 : 2)
const seconds = values.seconds ?? (values.sets === undefined ? (values.quick ? 0.4 : 1) : 0.25)
const warmLeast = values.warm ?? 60_000
const warmMost = 3 * warmLeast
/** Of each row, less in proportion with a smaller --warm. */
const warmOfRow = Math.min(10_000, warmLeast)

const plans = planContenders()
const selected = selectRows()
const dir = values.dir ?? (await mkdtemp(path.join(tmpdir(), 'annal-http-')))
const corpora = new Map<CorpusName, Corpus>()
for (const name of new Set(selected.map(({ corpus }) => corpus))) corpora.set(name, await readCorpus(name, values.data))
const clients = startClients(2)
const writer = startClients(1)
const measurements = new Map<string, Measurement[]>()
const efOf = new Map<string, number>()
const results: RowResult[] = []
process.once('SIGTERM', () => {
  // What was measured until now. The servers, which share a terminal or a group with this process, get the signal too.
  printResults()
  process.exit(1)
})
console.log([...corpora.values()].map(({ title }) => title).join('; '))
console.log(
  `${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.version}, load ${load().toFixed(2)}; ${rounds} rounds of ${seconds} s in ${sessions} sessions`,
)
try {
  for (let session = 0; session < sessions; session++) {
    // Writers leave other data behind, so they work on copies.
    await runSession(session, { isWriting: false })
    await runSession(session, { isWriting: true })
  }
} finally {
  clients.stop()
  writer.stop()
  if (values.dir === undefined) await rm(dir, { recursive: true, force: true })
}
printResults()
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(report(), undefined, 1)}\n`)

/** The server of this checkout comes first; the others are compared with the first. */
function planContenders(): ContenderPlan[] {
  const threads = listOf(values.threads).map(Number)
  const each = (name: string, options: Partial<ContenderPlan>, counts = threads): ContenderPlan[] =>
    counts.length === 0
      ? [{ name, ...options }]
      : counts.map((count) => ({ name: `${name}, ${count} threads`, threads: count, ...options }))
  const profile = values.profile === undefined ? {} : { profileDir: values.profile }
  const token = values.token === undefined ? {} : { token: values.token }
  return [
    ...values.against.flatMap((against) => {
      const [, folder = against, count] = /^(.*)@(\d+)$/.exec(against) ?? []
      const checkout = path.resolve(folder)
      return each(`against ${path.basename(checkout)}`, { checkout }, count === undefined ? threads : [Number(count)])
    }),
    ...each('this', profile),
    ...values.with.flatMap((text) => {
      const environment = Object.fromEntries(
        text.split(',').map((setting) => [setting.replace(/=.*/, ''), setting.replace(/^[^=]*=/, '')]),
      )
      return each(`this with ${text}`, { ...profile, environment })
    }),
    ...values.url.map((url): ContenderPlan => ({ name: url, url: new URL(url), ...token })),
  ]
}

function selectRows(): readonly Row[] {
  const known = values.grid ? gridRows() : rows
  if (values.rows === undefined) return known
  const names = values.rows.split(',').map((name) => name.trim())
  const missing = names.filter((name) => !known.some((row) => row.name === name))
  if (missing.length > 0)
    throw new Error(`no such rows: ${missing.join(', ')}; there are ${known.map(({ name }) => name).join(', ')}`)
  return known.filter((row) => names.includes(row.name))
}

async function runSession(session: number, { isWriting }: { readonly isWriting: boolean }): Promise<void> {
  const own = selected.filter(({ hasWriter = false }) => hasWriter === isWriting)
  if (own.length === 0) return
  const contenders = new Map<ContenderPlan, Contender>()
  const used = isWriting ? await copyDirectories(dir) : dir
  try {
    for (const plan of rotated(plans, session)) {
      const contender = await startContender(plan, used)
      contenders.set(plan, contender)
      await prepare(contender)
    }
    const loads: Load[] = []
    for (const row of own) {
      for (const [plan, contender] of contenders) {
        const load = await prepareRow(row, plan, contender)
        if (load !== undefined) loads.push(load)
      }
    }
    for (let round = 0; round < rounds / sessions; round++) await runRound(own, loads, session + round)
  } finally {
    for (const contender of contenders.values()) await contender.stop()
    if (isWriting) await rm(used, { recursive: true, force: true })
  }
}

/** The load of a row on one server. */
interface Load {
  readonly row: Row
  readonly plan: ContenderPlan
  readonly contender: Contender
  readonly requests: readonly Buffer[]
  readonly perSecond?: number
}

/** Measures every row on every server once. The servers of a row follow each other. */
async function runRound(own: readonly Row[], loads: readonly Load[], round: number): Promise<void> {
  for (const row of rotated(own, round)) {
    for (const load of rotated(
      loads.filter((one) => one.row === row),
      round,
    )) {
      const { contender, plan } = load
      const options = { ...load, corpus: corpora.get(row.corpus)!, clients, writer, seconds, seed: 1 + round }
      measurementsOf(row, plan).push(await measure(contender, options))
    }
  }
}

async function copyDirectories(from: string): Promise<string> {
  const copy = await mkdtemp(path.join(tmpdir(), 'annal-http-written-'))
  for (const plan of plans.filter(({ url }) => url === undefined)) {
    const source = directoryOf(plan, from)
    await cp(source, directoryOf(plan, copy), { recursive: true }).catch((error: NodeJS.ErrnoException) => {
      // Without other rows, the copy is filled instead.
      if (error.code !== 'ENOENT') throw error
    })
  }
  return copy
}

async function prepare(contender: Contender): Promise<void> {
  for (const corpus of corpora.values()) {
    const filled = await fill(contender, corpus)
    if (filled === undefined) continue
    const cpu = contender.server === undefined ? '' : `${filled.cpuSeconds.toFixed(2)} s of CPU, `
    console.log(`${contender.name}: loaded ${corpus.name} in ${cpu}${filled.seconds.toFixed(2)} s by the clock`)
  }
  const row: Row = { name: 'warm', corpus: selected[0]!.corpus, connections: 16, form: 'json', recall: 0 }
  const requests = requestsOf(row, contender, corpora.get(row.corpus)!, 32)
  const warmth = await warmUp(contender, { requests, clients, least: warmLeast, most: warmMost })
  printWarmth(contender.name, warmth)
}

function printWarmth(name: string, { requests, compileUs }: Warmth): void {
  const compiling = compileUs === undefined ? '' : `; V8 took ${compileUs.toFixed(1)} us for each of the last 10,000`
  console.log(`${name}: warm after ${requests} requests${compiling}`)
}

/** Undefined if the server does not accept such requests. */
async function prepareRow(row: Row, plan: ContenderPlan, contender: Contender): Promise<Load | undefined> {
  const corpus = corpora.get(row.corpus)!
  const ef = needsEf(row) ? await knownEf(row, contender, corpus) : undefined
  const requests = requestsOf(row, contender, corpus, ef ?? 0)
  if (!(await isAccepted(requests, contender, clients))) {
    console.log(`${row.name}: ${contender.name} does not accept such requests`)
    return undefined
  }
  const least = Math.ceil(warmOfRow / countOf(row.form))
  await warmUp(contender, { requests, clients, least, most: 3 * least })
  const { openShare, openPerSecond } = row
  const options = { row: { ...row, hasWriter: false }, corpus, requests, clients, writer, seconds, seed: 0 }
  const { round } = openShare ? await measure(contender, options) : {}
  const perSecond = openShare && round ? openShare * round.perSecond : openPerSecond
  return { row, plan, contender, requests, ...(perSecond && { perSecond }) }
}

function printResults(): void {
  for (const row of selected) {
    const measured = plans.filter((plan) => measurementsOf(row, plan).length > 0)
    for (const plan of measured) {
      const ef = needsEf(row) ? efOf.get(efKey(row, plan.name)) : undefined
      results.push(resultOf({ row: row.name, contender: plan.name, ef, load: load() }, measurementsOf(row, plan)))
    }
    for (const plan of measured.slice(1)) printRatio(plan.name, [row, measured[0]!], [row, plan])
    const first = selected.find(({ name }) => name === row.comparedWith)
    for (const plan of first === undefined ? [] : measured) printRatio(row.name, [first!, plan], [row, plan])
  }
  for (const line of ['', ...tableHead, ...results.map(tableLine)]) console.log(line)
}

type Measured = readonly [row: Row, plan: ContenderPlan]

function printRatio(name: string, first: Measured, second: Measured): void {
  const [[firstRow, firstPlan], [row, plan]] = [first, second]
  const other = row === firstRow ? firstPlan.name : firstRow.name
  const where = row === firstRow ? row.name : plan.name
  console.log(`${where}: ${name} to ${other}: ${ratioText(measurementsOf(...first), measurementsOf(...second))}`)
}

/** Health and reads by id have none. */
function needsEf({ form }: Row): boolean {
  return !isOther(form) || form.startsWith('batch')
}

async function knownEf(row: Row, contender: Contender, corpus: Corpus): Promise<number> {
  const key = efKey(row, contender.name)
  const fixed = row.ef ?? values.ef
  const ef = efOf.get(key) ?? fixed ?? (await efFor(row, contender, corpus, clients))
  efOf.set(key, ef)
  return ef
}

function efKey({ corpus, recall, filter }: Row, contender: string): string {
  return [contender, corpus, recall, filter].join()
}

function measurementsOf(row: Row, plan: ContenderPlan): Measurement[] {
  const key = `${row.name} ${plan.name}`
  const known = measurements.get(key) ?? []
  measurements.set(key, known)
  return known
}

function rotated<T>(list: readonly T[], by: number): T[] {
  const start = by % Math.max(1, list.length)
  return [...list.slice(start), ...list.slice(0, start)]
}

function report() {
  const figures = results
    .filter(({ contender, cpuUs }) => contender.startsWith('this') && cpuUs !== undefined)
    .map(({ row, contender, cpuUs }) => {
      const name = contender === 'this' ? row : `${row}, ${contender}`
      return { name, value: cpuUs!, unit: 'us of server CPU', more: 'worse' as const }
    })
  return { figures, results }
}

function load(): number {
  return loadavg()[0] ?? 0
}
