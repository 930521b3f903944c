// Reads as of a moment, the history of objects, differences between moments, and undo, compared with the list that the run keeps.
import type { Collection, PastCollection } from '@annal/engine'
import fc from 'fast-check'
import { filter, id, name, pick, picked } from './arbitraries.ts'
import { type Command, check, codeOf, command, onCollection } from './command.ts'
import { settle } from './expiry-commands.ts'
import type { Life } from './lives.ts'
import { asInput, type ModelFilter, type ModelObject, matches } from './model.ts'

/** Keeps what the collection answers now, for `readPast`. */
function remember(target: string): Command {
  return onCollection('remember answers', target, async (_, real, model) => {
    const text = await answersOf(real)
    const lsn = model.records.at(-1)?.lsn ?? 0
    model.answers.push({ lsn, name: target, text })
  })
}

function readRemembered(place: number): Command {
  return command('read a remembered moment', async (model, { engine }) => {
    const answer = picked(model.answers, place)
    if (answer === undefined) return
    const past = await engine.database().asOf(answer.name, { lsn: answer.lsn })
    const text = await answersOf(past)
    check(text === answer.text, `${answer.name} as of LSN ${answer.lsn} answers ${text}, it answered ${answer.text}`)
  })
}

const query = [0.5, -0.25, 1, 0.75, -1, 0.25]
const where: ModelFilter = { kind: 'range', from: -2, to: 3 }

/** Exact searches: an approximate one may find other objects. */
async function answersOf(collection: Collection | PastCollection): Promise<string> {
  const { objects } = await collection.scroll({ limit: 100 })
  const search = async (fields: object, limited: boolean) => {
    const { results } = await collection.search({ fields, exact: true, ...(limited && { filter: asInput(where) }) })
    return results
  }
  return JSON.stringify({
    objects,
    counts: [(await collection.count()).count, (await collection.count(asInput(where))).count],
    facets: (await collection.facets({ key: 'tag', filter: asInput(where) })).values,
    dense: await search({ v: { query, limit: 6 } }, false),
    members: await search({ m: { query: [query], limit: 6 } }, true),
    words: await search({ t: { query: 'ant bee', limit: 6 } }, true),
    sparse: await search({ s: { query: { indices: [1, 2, 3, 4], values: [1, 1, 0.5, 0.25] }, limit: 6 } }, true),
  })
}

/** The content of any moment, also of collections that were deleted or renamed since. */
function readPast(target: string, place: number, conditions: ModelFilter): Command {
  return command(`read the past of ${target}`, async (model, { engine }) => {
    const moment = picked(model.records, place)
    if (moment === undefined) return
    const { lsn, timeMs } = moment
    const life = model.resolveAt(target, lsn)
    const opening = engine.database().asOf(target, { lsn })
    check(
      (await codeOf(opening)) === (life ? 'none' : 'collection_not_found'),
      `as of answered ${await codeOf(opening)}`,
    )
    if (!life) return
    const past = await opening
    // Some had expired, and were still stored.
    const content = new Map([...life.contentAt(lsn)].filter(([, { expiresAt = Infinity }]) => expiresAt > timeMs))
    const { objects } = await past.scroll({ limit: 100 })
    const found = objects.map(
      (one) => [one.id, JSON.stringify([one.lsn, one.meta, one.filter, one.expiresAt])] as const,
    )
    const expected = [...content].map(([key, { meta, filter: values, expiresAt }]) => {
      const own = life.versions.get(key)?.findLast((version) => version.lsn <= lsn)?.lsn
      return [key, JSON.stringify([own, meta, values, expiresAt])] as const
    })
    check(
      JSON.stringify(found.sort()) === JSON.stringify(expected.sort()),
      `${target} as of LSN ${lsn} has ${found.join('; ')}, it had ${expected.join('; ')}`,
    )
    const matching = [...content.values()].filter((one) => matches(conditions, one)).length
    check((await past.count(asInput(conditions))).count === matching, `count as of LSN ${lsn}`)
  })
}

function readVersions(target: string, key: string): Command {
  return onCollection(`history of ${key}`, target, async (life, _real, _model, engine) => {
    const { versions, next } = await engine.database().history.versions({ collection: target, id: key, limit: 500 })
    check(next === undefined, 'the history has one page')
    const found = versions.map(({ lsn, kind, exists, author }) => `${lsn} ${kind} ${exists} ${author?.actor ?? ''}`)
    if (versions.length === 1 && versions[0]?.kind === 'earlier') found[0] = 'earlier'
    const expected = expectedVersions(life, key)
    check(`${found}` === `${expected}`, `history ${found}, expected ${expected}`)
  })
}

function expectedVersions(life: Life, key: string): string[] {
  const lines: string[] = []
  // A branch does not know what its first objects were before.
  let known: 'absent' | 'unknown' | 'known' = life.parent ? 'unknown' : 'absent'
  const existedBefore = new Set(['deleted', 'expired', 'filter-updated', 'patched'])
  for (const { lsn, kind, object, actor } of life.versions.get(key) ?? []) {
    if (kind === 'branched') continue
    if (known === 'unknown' && existedBefore.has(kind)) lines.push(`${lsn - 1} earlier true `)
    const said = kind === 'created' && known === 'unknown' ? 'written' : kind
    lines.push(`${lsn} ${said} ${object !== undefined} ${actor ?? ''}`)
    known = object === undefined ? 'absent' : 'known'
  }
  if (lines.length === 0 && life.objects.has(key)) lines.push('earlier')
  return lines
}

function diff(target: string, place: number, other: number): Command {
  return command(`diff of ${target}`, async (model, { engine }) => {
    const to = picked(model.records, Math.max(place, other))?.lsn
    const life = to === undefined ? undefined : model.resolveAt(target, to)
    if (to === undefined || !life) return
    const moments = model.records.filter(({ lsn }) => lsn >= life.lsnCreated && lsn <= to)
    const from = picked(moments, Math.min(place, other))?.lsn as number
    const found: string[] = []
    for await (const { id: key, change } of engine
      .database()
      .history.diff({ collection: target, from: { lsn: from }, to: { lsn: to } }))
      found.push(`${key} ${change}`)
    const [before, after] = [life.contentAt(from), life.contentAt(to)]
    const expected = [...new Set([...before.keys(), ...after.keys()])].flatMap((key) => {
      const [was, is] = [before.get(key), after.get(key)]
      if (was && is) return contentOf(was) === contentOf(is) ? [] : [`${key} changed`]
      return [`${key} ${was ? 'removed' : 'added'}`]
    })
    check(`${found.sort()}` === `${expected.sort()}`, `diff from ${from} to ${to} is ${found}, expected ${expected}`)
  })
}

function contentOf({ vector: v, members, terms, text, meta, filter: values, expiresAt }: ModelObject): string {
  return JSON.stringify([v, members, text, [...terms].sort(([a], [b]) => a - b), meta, values, expiresAt])
}

type Chosen = { readonly ids: readonly string[] } | { readonly where: ModelFilter }

interface UndoFlags {
  readonly dryRun: boolean
  readonly keepExpired: boolean
}

function undo(target: string, chosen: Chosen, place: number, { dryRun, keepExpired }: UndoFlags): Command {
  const label = 'ids' in chosen ? chosen.ids.join(', ') : JSON.stringify(chosen.where)
  const what = `${dryRun ? 'count' : 'undo'} ${label}${keepExpired ? ' without expiry' : ''}`
  return onCollection(what, target, async (life, _, model, engine, real) => {
    const lsn = picked(
      model.records.filter((one) => one.lsn >= life.lsnCreated),
      place,
    )?.lsn as number
    const then = life.contentAt(lsn)
    const ids = 'ids' in chosen ? new Set(chosen.ids) : matching([then, life.objects], chosen.where)
    const isCleared = (key: string) => keepExpired && then.get(key)?.expiresAt !== undefined
    const isOther = (key: string) => !life.objects.has(key) || life.lsnOf(key) > lsn || isCleared(key)
    const restored = [...ids].filter((key) => then.has(key) && isOther(key))
    const deleted = [...ids].filter((key) => !then.has(key) && life.objects.has(key))
    const which = 'ids' in chosen ? { ids: chosen.ids } : { filter: asInput(chosen.where) }
    const request = { collection: target, ...which, asOf: { lsn }, dryRun, keepExpired }
    const actor = model.actor()
    const undone = await engine.database().history.undo(request, { actor })
    check(
      undone.restored === restored.length && undone.deleted === deleted.length,
      `undo to LSN ${lsn} restored ${undone.restored} and deleted ${undone.deleted}, expected ${restored.length} and ${deleted.length}`,
    )
    if (dryRun || restored.length + deleted.length === 0) return
    for (const key of restored) {
      const { expiresAt, ...object } = then.get(key) as ModelObject
      const expiry = expiresAt === undefined || keepExpired ? {} : { expiresAt }
      life.put(key, { ...object, ...expiry }, 'restored', { lsn: undone.lsn, actor })
    }
    for (const key of deleted) life.put(key, undefined, 'restored', { lsn: undone.lsn, actor })
    const collection = model.nameOf(life)
    model.record({ lsn: undone.lsn, kind: 'objects-restored', collection, written: restored, deleted })
    await settle(model, real)
  })
}

function matching(contents: readonly ReadonlyMap<string, ModelObject>[], conditions: ModelFilter): Set<string> {
  return new Set(
    contents.flatMap((one) => [...one].filter(([, value]) => matches(conditions, value)).map(([key]) => key)),
  )
}

const chosenObjects: fc.Arbitrary<Chosen> = fc.oneof(
  fc.record({ ids: fc.uniqueArray(id, { minLength: 1, maxLength: 6 }) }),
  fc.record({ where: filter }),
)

export const momentCommands: fc.Arbitrary<Command>[] = [
  name.map(remember),
  pick.map(readRemembered),
  fc.tuple(name, pick, filter).map((args) => readPast(...args)),
  fc.tuple(name, id).map((args) => readVersions(...args)),
  fc.tuple(name, pick, pick).map((args) => diff(...args)),
  fc
    .tuple(name, chosenObjects, pick, fc.record({ dryRun: fc.boolean(), keepExpired: fc.boolean() }))
    .map((args) => undo(...args)),
]
