// SIGKILL during operations on whole collections: create, delete, branch, clone, backup, restore, rebuild, vacuum, and switches of an alias,
// between upserts. After each kill every collection has what was acknowledged, or what the interrupted operation would have made, never a
// part of it, and reads as of earlier moments give what was stored then. `ANNAL_ROUNDS` sets the number of kills.
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { type Answer, send, temporaryDirectory } from './running-app.ts'
import { type RunningProcess, startProcess } from './running-process.ts'

const seed = chosenSeed()
const rounds = Number(process.env.ANNAL_ROUNDS ?? (process.env.ANNAL_LONG === '1' ? 300 : 4))
const timeout = 120_000 + rounds * 30_000
tap.setTimeout(timeout)

/** Objects by id; their numbers are unique. */
type Content = Readonly<Record<string, number>>

interface State {
  readonly collections: Readonly<Record<string, Content>>
  /** The collection of the alias. */
  readonly live: string | undefined
  readonly backups: Readonly<Record<string, Content>>
}

interface Operation {
  readonly label: string
  readonly after: State
  run(url: string): Promise<Answer>
}

const ids = Array.from({ length: 60 }, (_, i) => `o${i}`)
const params = { dimension: 4, space_type: 'l2', precision: 'int8', M: 4, ef_con: 8 }
const fields = [{ name: 'v', type: 'vector', params }]
const collectionsMax = 6
let numbers = 0

test(`${rounds} kills during operations on collections lose nothing, seed ${seed}`, { timeout }, async (t) => {
  const random = seededRandom(seed)
  const dataDir = path.join(await temporaryDirectory(t), 'data')
  let running: RunningProcess | undefined
  t.teardown(() => running?.child.kill('SIGKILL'))
  let state: State = { collections: {}, live: undefined, backups: {} }
  const past: { lsn: number; content: Content }[] = []
  const faults: string[] = []
  const counts: Record<string, number> = {}
  for (let round = 0; round < rounds && faults.length === 0; round++) {
    running = startProcess({ NDD_DATA_DIR: dataDir, NDD_ARCHIVE_HOURS: '24' })
    const url = await running.serving
    let pending: Operation | undefined
    // Some operations as a whole, then one that is killed.
    for (let left = 3 + random.below(4); left >= 0; left--) {
      const operation: Operation = nextOperation(state, random)
      const answering = operation.run(url).catch(() => undefined)
      if (left === 0) {
        await Promise.race([answering, sleep(random.below(2) * random.below(120))])
        running.child.kill('SIGKILL')
      }
      const answer = await answering
      counts[`${operation.label.split(' ')[0]}`] = (counts[`${operation.label.split(' ')[0]}`] ?? 0) + 1
      if (answer === undefined) pending = operation
      else if (answer.status >= 300) faults.push(`${operation.label} was answered ${answer.status} ${answer.text}`)
      else {
        state = operation.after
        const docs = state.collections.docs
        if (operation.label === 'upsert into docs' && docs)
          past.push({ lsn: Number(answer.json().lsn), content: ordered(docs) })
      }
    }
    await running.ended
    running = startProcess({ NDD_DATA_DIR: dataDir, NDD_ARCHIVE_HOURS: '24' })
    const again = await running.serving
    const found = await stateOf(again, faults)
    const allowed = [state, ...(pending ? [pending.after] : [])].map(textOf)
    if (!allowed.includes(textOf(found)))
      faults.push(`round ${round}, ${pending?.label}: there is ${textOf(found)}, allowed is ${allowed.join(' or ')}`)
    state = found
    for (let reads = 0; reads < 3 && past.length > 0; reads++) {
      const { lsn, content } = past[random.below(past.length)] as (typeof past)[number]
      const then = await contentOf(again, 'docs', { lsn })
      if (JSON.stringify(then) !== JSON.stringify(content))
        faults.push(`as of ${lsn} docs was not ${JSON.stringify(content)}`)
    }
    running.child.kill(random.chance(0.3) ? 'SIGTERM' : 'SIGKILL')
    await running.ended
  }
  t.strictSame(faults, [], `seed ${seed}`)
  t.comment(JSON.stringify({ seed, rounds, ...counts }))
})

function nextOperation(state: State, random: Random): Operation {
  const names = Object.keys(state.collections)
  if (!names.includes('docs')) return create(state, 'docs')
  const others = names.filter((name) => name !== 'docs' && name !== state.live)
  const some = (list: readonly string[]) => list[random.below(list.length)] ?? 'docs'
  const fresh = `c${numbers++}`
  const kind = random.below(12)
  if (names.length >= collectionsMax && others.length > 0 && kind > 3) return remove(state, some(others))
  if (kind === 4) return create(state, fresh)
  if (kind === 5) return derive(state, 'branch', some(names), fresh)
  if (kind === 6) return derive(state, 'clone', some(names), fresh)
  if (kind === 7) return alias(state, some(names))
  if (kind === 8) return backup(state, some(names), fresh)
  if (kind === 9 && Object.keys(state.backups).length > 0)
    return restore(state, some(Object.keys(state.backups)), fresh)
  if (kind === 10) return maintain(state, random.chance(0.5) ? 'rebuild' : 'vacuum', some(names))
  if (kind === 11 && others.length > 0) return remove(state, some(others))
  return upsert(state, random.chance(0.6) ? 'docs' : some(names), random)
}

const v2 = '/api/v2/collection'
const withCollection = (state: State, name: string, content: Content): State => {
  return { ...state, collections: { ...state.collections, [name]: content } }
}

function create(state: State, name: string): Operation {
  const run = (url: string) => send(url, 'POST', v2, { json: { name, fields } })
  return { label: `create ${name}`, after: withCollection(state, name, {}), run }
}

function remove(state: State, name: string): Operation {
  const { [name]: _, ...collections } = state.collections
  return {
    label: `delete ${name}`,
    after: { ...state, collections },
    run: (url) => send(url, 'DELETE', `${v2}/${name}`),
  }
}

function upsert(state: State, name: string, random: Random): Operation {
  const first = random.below(ids.length - 20)
  const objects = ids.slice(first, first + 1 + random.below(20)).map((id) => {
    const n = numbers++
    return { id, meta: { n }, fields: { v: [n, 1, 2, 3] } }
  })
  const content = { ...state.collections[name], ...Object.fromEntries(objects.map(({ id, meta }) => [id, meta.n])) }
  const run = (url: string) => send(url, 'POST', `${v2}/${name}/objects`, { json: { objects } })
  return { label: `upsert into ${name}`, after: withCollection(state, name, content), run }
}

function derive(state: State, how: 'branch' | 'clone', from: string, name: string): Operation {
  const json = how === 'branch' ? { name } : { target_collection_name: name }
  const run = (url: string) => send(url, 'POST', `${v2}/${from}/${how}`, { json })
  return { label: `${how} ${from} as ${name}`, after: withCollection(state, name, state.collections[from] ?? {}), run }
}

function alias(state: State, collection: string): Operation {
  const run = (url: string) => send(url, 'PUT', '/api/v2/alias/live', { json: { collection } })
  return { label: `alias to ${collection}`, after: { ...state, live: collection }, run }
}

function backup(state: State, from: string, name: string): Operation {
  const run = async (url: string) => {
    const begun = await send(url, 'POST', `/api/v1/index/${from}/backup`, { json: { name } })
    for (;;) {
      const active = await send(url, 'GET', '/api/v1/backups/active')
      if (begun.status >= 300 || active.json().active !== true) return begun
      await sleep(5)
    }
  }
  const backups = { ...state.backups, [name]: state.collections[from] ?? {} }
  return { label: `backup ${from} as ${name}`, after: { ...state, backups }, run }
}

function restore(state: State, from: string, name: string): Operation {
  const json = { target_index_name: name }
  const run = (url: string) => send(url, 'POST', `/api/v1/backups/${from}/restore`, { json })
  return { label: `restore ${from} as ${name}`, after: withCollection(state, name, state.backups[from] ?? {}), run }
}

/** Changes no content, and may still run when the next operation begins. */
function maintain(state: State, how: 'rebuild' | 'vacuum', name: string): Operation {
  const run = async (url: string) => {
    const json = how === 'rebuild' ? { fields: [{ field: 'v', M: 4 }] } : {}
    const answer = await send(url, 'POST', `${v2}/${name}/${how}`, { json })
    // One of the operations before it may have begun one.
    return answer.status === 409 ? { ...answer, status: 200 } : answer
  }
  return { label: `${how} ${name}`, after: state, run }
}

async function contentOf(url: string, name: string, asOf?: object): Promise<Content> {
  const json = { ids, ...(asOf && { as_of: asOf }) }
  const answer = await send(url, 'POST', `${v2}/${name}/objects/query`, { json, accept: 'application/json' })
  if (answer.status !== 200) throw new Error(`reading ${name} was answered ${answer.status} ${answer.text}`)
  const { objects } = answer.json() as { objects: { id: string; meta: { n: number } }[] }
  return ordered(Object.fromEntries(objects.map(({ id, meta }) => [id, meta.n])))
}

async function stateOf(url: string, faults: string[]): Promise<State> {
  const health = (await send(url, 'GET', '/api/v2/health')).json()
  if (health.status !== 'ok') faults.push(`health is ${JSON.stringify(health)}`)
  const list = (await send(url, 'GET', v2)).json() as { collections: { name: string; total_elements: number }[] }
  const collections: Record<string, Content> = {}
  for (const { name, total_elements: total } of list.collections) {
    const content = await contentOf(url, name)
    collections[name] = content
    if (Object.keys(content).length !== total) faults.push(`${name} counts ${total}`)
  }
  const aliases = (await send(url, 'GET', '/api/v2/alias')).json() as { aliases: { collection: string }[] }
  const backups: Record<string, Content> = {}
  for (const name of Object.keys((await send(url, 'GET', '/api/v1/backups')).json())) {
    const made = await send(url, 'POST', `/api/v1/backups/${name}/restore`, { json: { target_index_name: 'proof' } })
    if (made.status >= 300) faults.push(`backup ${name}: ${made.text}`)
    backups[name] = await contentOf(url, 'proof')
    await send(url, 'DELETE', `${v2}/proof`)
  }
  return { collections, live: aliases.aliases[0]?.collection, backups }
}

function ordered(content: Content): Content {
  return Object.fromEntries(Object.entries(content).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function textOf({ collections, live, backups }: State): string {
  const plain = (all: Readonly<Record<string, Content>>) =>
    Object.keys(all)
      .sort()
      .map((name) => [name, ordered(all[name] ?? {})])
  return JSON.stringify([plain(collections), live ?? null, plain(backups)])
}
