// Writes that depend on what is stored: upserts and deletes with conditions, and patches. Several run at the same time. Those that change
// something have the outcome that they have one after another in the order of their records. The others have one that they have between two
// of those.
import type { Collection, ConditionalReply, WriteConditions, WriteResult } from '@annal/engine'
import fc from 'fast-check'
import { filter, id, name, object } from './arbitraries.ts'
import { type Command, check, inputOf, onCollection } from './command.ts'
import type { Life, Model } from './lives.ts'
import { asInput, type ModelFilter, type ModelObject, matches } from './model.ts'

/** `seen` is the LSN that the object had when the calls began, and `other` one that it does not have. */
type Condition = 'none' | 'absent' | 'seen' | 'other' | ModelFilter

interface Patch {
  readonly meta?: { readonly n: number }
  readonly filter?: { readonly tag?: string | null; readonly on?: boolean | null }
  readonly increment?: { readonly n?: number; readonly tag?: number }
}

type Write =
  | { readonly kind: 'upsert'; readonly atomic: boolean; readonly entries: readonly Entry<ModelObject>[] }
  | { readonly kind: 'patch'; readonly atomic: boolean; readonly entries: readonly Entry<Patch>[] }
  | { readonly kind: 'delete'; readonly id: string; readonly condition: 'seen' | 'other' }

interface Entry<T> {
  readonly id: string
  readonly value: T
  readonly condition: Condition
}

/** The objects at one position of the serial order, with the LSN of each. */
type Stored = ReadonlyMap<string, { readonly object: ModelObject; readonly lsn: number }>

/** What a write does to the stored objects. */
interface Effect {
  readonly results: readonly Pick<WriteResult, 'id' | 'status'>[]
  /** Undefined: deleted. Empty if nothing changes. */
  readonly changed: ReadonlyMap<string, ModelObject | undefined>
  readonly isRefused: boolean
}

const eventKinds = { upsert: 'objects-upserted', patch: 'objects-patched', delete: 'objects-deleted' } as const

function runTogether(target: string, writes: readonly Write[]): Command {
  const label = writes.map((write) => `${write.kind}${'atomic' in write && write.atomic ? ' all or none' : ''}`)
  return onCollection(`conditional ${label.join(' and ')}`, target, async (life, real, model) => {
    const seen = storedIn(life)
    const replies = await Promise.allSettled(writes.map((write) => send(real, write, seen)))
    const done = writes.map((write, i) => ({ write, reply: replies[i] as PromiseSettledResult<Reply> }))
    const states: Stored[] = [seen]
    const effective = done.flatMap(({ write, reply }) =>
      reply.status === 'fulfilled' && reply.value.count > 0 ? [{ write, ...reply.value }] : [],
    )
    for (const { write, ...reply } of effective.sort((a, b) => a.lsn - b.lsn)) {
      const before = states.at(-1) as Stored
      const effect = effectOf(write, before, seen)
      check(!effect.isRefused && effect.changed.size === reply.count, `${write.kind} changed ${reply.count} objects`)
      checkResults(write, effect, reply, before)
      apply(model, life, write, effect, reply.lsn)
      states.push(storedIn(life))
    }
    for (const { write, reply } of done) {
      if (reply.status === 'fulfilled' && reply.value.count > 0) continue
      check(
        states.some((state) => isIneffective(write, reply, state, seen)),
        `${write.kind} changed nothing: ${JSON.stringify(reply)}`,
      )
    }
  })
}

interface Reply extends ConditionalReply {
  readonly lsn: number
  readonly count: number
}

async function send(real: Collection, write: Write, seen: Stored): Promise<Reply> {
  if (write.kind === 'delete') {
    const { lsn, deleted } = await real.delete([write.id], { ifLsn: lsnFor(write.condition, write.id, seen, 1) })
    return { lsn, count: deleted.length }
  }
  const { atomic } = write
  if (write.kind === 'upsert') {
    const input = write.entries.map((entry) => ({ ...inputOf(entry.id, entry.value), ...conditionsOf(entry, seen) }))
    const { upserted, ...reply } = await real.upsert(input, { atomic })
    return { ...reply, count: upserted }
  }
  const patches = write.entries.map((entry) => ({ id: entry.id, ...entry.value, ...conditionsOf(entry, seen) }))
  const { updated, ...reply } = await real.patch(patches, { atomic })
  return { ...reply, count: updated }
}

function lsnFor(condition: 'seen' | 'other', key: string, seen: Stored, leastLsn = 0): number {
  const lsn = seen.get(key)?.lsn ?? 0
  // A delete takes no 0, because it changes nothing without an object.
  return condition === 'seen' ? lsn || leastLsn : lsn + 1
}

function conditionsOf({ id: key, condition }: Entry<unknown>, seen: Stored): WriteConditions {
  if (condition === 'none') return {}
  if (condition === 'absent') return { ifAbsent: true }
  if (condition === 'seen' || condition === 'other') return { ifLsn: lsnFor(condition, key, seen) }
  return { ifMatch: asInput(condition) }
}

function holds({ id: key, condition }: Entry<unknown>, stored: Stored, seen: Stored): boolean {
  const found = stored.get(key)
  if (condition === 'none') return true
  if (condition === 'absent') return found === undefined
  if (condition === 'seen' || condition === 'other') return (found?.lsn ?? 0) === lsnFor(condition, key, seen)
  return found !== undefined && matches(condition, found.object)
}

function effectOf(write: Write, stored: Stored, seen: Stored): Effect {
  if (write.kind === 'delete') {
    const isThere = stored.has(write.id)
    const isHeld = stored.get(write.id)?.lsn === lsnFor(write.condition, write.id, seen, 1)
    const changed = new Map(isThere && isHeld ? [[write.id, undefined]] : [])
    return { results: [], changed, isRefused: isThere && !isHeld }
  }
  const changed = new Map<string, ModelObject>()
  const results: Effect['results'][number][] = []
  for (const entry of write.entries) {
    const { id: key } = entry
    const after =
      write.kind === 'upsert' ? (entry.value as ModelObject) : patched(entry.value as Patch, stored.get(key))
    const status = !holds(entry, stored, seen) ? 'conflict' : after === undefined ? 'error' : 'ok'
    results.push({ id: key, status })
    if (status === 'ok') changed.set(key, after as ModelObject)
  }
  const isRefused = write.atomic && changed.size < results.length
  return { results, changed: isRefused ? new Map() : changed, isRefused }
}

/** Undefined: the patch does not fit, or there is no object. */
function patched({ meta, filter: changes, increment }: Patch, found: { readonly object: ModelObject } | undefined) {
  if (found === undefined) return undefined
  const values: Record<string, unknown> = { ...found.object.filter }
  for (const [key, value] of Object.entries(changes ?? {})) {
    if (value === null) delete values[key]
    else values[key] = value
  }
  for (const [key, by] of Object.entries(increment ?? {})) {
    const before = values[key] ?? 0
    if (typeof before !== 'number') return undefined
    values[key] = before + by
  }
  return { ...found.object, meta: { ...found.object.meta, ...meta }, filter: values as ModelObject['filter'] }
}

function isIneffective(write: Write, reply: PromiseSettledResult<Reply>, stored: Stored, seen: Stored): boolean {
  const effect = effectOf(write, stored, seen)
  if (reply.status === 'rejected') {
    const { code } = reply.reason as { code?: string }
    const ids = 'entries' in write ? write.entries.map((entry) => entry.id) : []
    if (new Set(ids).size < ids.length) return code === 'invalid_argument'
    return code === 'conflict' && effect.isRefused
  }
  if (effect.isRefused || effect.changed.size > 0) return false
  try {
    checkResults(write, effect, reply.value, stored)
    return true
  } catch {
    return false
  }
}

function checkResults(write: Write, effect: Effect, { results, lsn }: Reply, stored: Stored): void {
  if (write.kind === 'delete') return
  const isExpected =
    write.kind === 'patch' || write.atomic || write.entries.some(({ condition }) => condition !== 'none')
  const expected = effect.results.map(({ id: key, status }) => ({
    ...{ id: key, status },
    lsn: status === 'ok' ? lsn : (stored.get(key)?.lsn ?? 0),
  }))
  const found = results?.map(({ id: key, status, lsn: own }) => ({ id: key, status, lsn: own }))
  check(
    JSON.stringify(found) === JSON.stringify(isExpected ? expected : undefined),
    `results ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`,
  )
}

function apply(model: Model, life: Life, write: Write, { changed }: Effect, lsn: number): void {
  const kind = { patch: 'patched', delete: 'deleted' } as const
  for (const [key, changedTo] of changed) {
    const isThere = life.objects.has(key)
    const value = write.kind === 'upsert' && changedTo ? life.withDefault(changedTo, model.nowMs) : changedTo
    life.put(key, value, write.kind === 'upsert' ? (isThere ? 'written' : 'created') : kind[write.kind], {
      lsn,
      actor: undefined,
    })
  }
  const ids = [...changed.keys()]
  const objects = write.kind === 'delete' ? { deleted: ids } : { written: ids }
  model.record({ lsn, kind: eventKinds[write.kind], collection: model.nameOf(life), ...objects })
}

function storedIn(life: Life): Stored {
  return new Map([...life.objects].map(([key, value]) => [key, { object: value, lsn: life.lsnOf(key) }]))
}

const someId = fc.integer({ min: 0, max: 7 }).map((n) => `object ${n} ä`)
const key = fc.oneof(someId, id)
const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.constantFrom('none' as const, 'absent' as const, 'seen' as const, 'other' as const),
  filter,
)
const patch: fc.Arbitrary<Patch> = fc.oneof(
  fc.record({ meta: fc.record({ n: fc.integer() }) }),
  fc.record({
    filter: fc.record(
      { tag: fc.constantFrom('red', 'blue', null), on: fc.constantFrom(true, null) },
      { requiredKeys: [] },
    ),
    increment: fc.record({ n: fc.integer({ min: -3, max: 3 }) }),
  }),
  fc.constantFrom({ increment: { tag: 1 } }, { increment: { n: 1 } }, { filter: { tag: null } }),
)
const entries = <T>(value: fc.Arbitrary<T>) =>
  fc.array(fc.record({ id: key, value, condition }), { minLength: 1, maxLength: 5 })
const write: fc.Arbitrary<Write> = fc.oneof(
  fc.record({ kind: fc.constant('upsert' as const), atomic: fc.boolean(), entries: entries(object) }),
  fc.record({ kind: fc.constant('patch' as const), atomic: fc.boolean(), entries: entries(patch) }),
  fc.record({
    kind: fc.constant('delete' as const),
    id: key,
    condition: fc.constantFrom('seen' as const, 'other' as const),
  }),
)

/** Counters: every increment counts once. */
function increments(target: string, counts: readonly (readonly [string, number])[]): Command {
  return runTogether(
    target,
    counts.map(([one, by]) => ({
      kind: 'patch',
      atomic: false,
      entries: [{ id: one, value: { increment: { n: by } }, condition: 'none' }],
    })),
  )
}

export const conditionCommands: fc.Arbitrary<Command>[] = [
  ...Array.from({ length: 3 }, () =>
    fc.tuple(name, fc.array(write, { minLength: 1, maxLength: 3 })).map((args) => runTogether(...args)),
  ),
  fc
    .tuple(name, fc.array(fc.tuple(someId, fc.integer({ min: -3, max: 3 })), { minLength: 2, maxLength: 5 }))
    .map((args) => increments(...args)),
]
