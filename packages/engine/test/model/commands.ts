// The operations of a model run. Each changes the model and the engine in the same way and compares their results.
import type { Precision } from '@annal/engine'
import fc from 'fast-check'
import { combine, filter, filterValues, id, name, object, terms, vector, words } from './arbitraries.ts'
import { type Command, check, codeOf, command, inputOf, onCollection, sparseInput } from './command.ts'
import { conditionCommands } from './condition-commands.ts'
import { controlCommands } from './control-commands.ts'
import { defaultTtl, expiryCommands } from './expiry-commands.ts'
import { feedCommands, listCursors } from './feed-commands.ts'
import { Life, type Model, type Written } from './lives.ts'
import {
  asInput,
  type Combine,
  dimension,
  type ModelCollection,
  type ModelFilter,
  type ModelObject,
  matches,
  maxSim,
  similarity,
  sparseScore,
  type Terms,
  textScores,
} from './model.ts'
import { momentCommands } from './moment-commands.ts'
import { nameCommands } from './name-commands.ts'

function create(
  target: string,
  spaceType: ModelCollection['spaceType'],
  precision: Precision,
  ttl: number | undefined,
): Command {
  return command(
    `create ${target} ${spaceType} ${precision}${ttl ? ` for ${ttl} s` : ''}`,
    async (model, { engine }) => {
      const params = { dimension, spaceType, precision, M: 4, efConstruction: 16 }
      const fields = [
        { name: 'v', type: 'vector', params },
        { name: 'm', type: 'multi_vector', params },
        { name: 's', type: 'sparse' },
        { name: 't', type: 'text' },
      ] as const
      const code = await codeOf(
        engine.database().createCollection({ name: target, fields, ttlSeconds: ttl }, { actor: model.actor() }),
      )
      const expected = model.has(target) ? 'collection_exists' : model.aliases.has(target) ? 'alias_exists' : 'none'
      check(code === expected, `create answered ${code}`)
      if (code !== 'none') return
      const lsn = engine.database().collection(target).describe().lsn
      model.set(target, new Life({ spaceType, precision }, lsn, { ttl }))
      model.record({ lsn, kind: 'collection-created', collection: target })
    },
  )
}

function drop(target: string): Command {
  return command(`drop ${target}`, async (model, { engine }) => {
    const life = model.resolve(target)
    const deleting = engine.database().deleteCollection(target, { actor: model.actor() })
    const expected = !life
      ? 'collection_not_found'
      : model.aliasesOf(life).length > 0
        ? 'collection_has_aliases'
        : 'none'
    check((await codeOf(deleting)) === expected, `drop answered ${await codeOf(deleting)}`)
    if (!life || expected !== 'none') return
    life.isDropped = true
    model.delete(target)
    model.record({ lsn: (await deleting).lsn, kind: 'collection-dropped', collection: target })
  })
}

function upsert(target: string, objects: readonly (readonly [string, ModelObject])[]): Command {
  return onCollection(`upsert ${objects.map(([key]) => key).join(', ')}`, target, async (life, real, model) => {
    const input = objects.map(([key, value]) => inputOf(key, value))
    if (new Set(objects.map(([key]) => key)).size < objects.length) {
      check((await codeOf(real.upsert(input))) === 'invalid_argument', 'duplicate ids in one call were taken')
      return
    }
    const actor = model.actor()
    const { upserted, lsn } = await real.upsert(input, { actor })
    check(upserted === objects.length, 'upserted')
    for (const [key, value] of objects)
      life.put(key, life.withDefault(value, model.nowMs), life.objects.has(key) ? 'written' : 'created', { lsn, actor })
    const written = objects.map(([key]) => key)
    model.record({ lsn, kind: 'objects-upserted', collection: model.nameOf(life), written })
  })
}

function remove(target: string, ids: readonly string[]): Command {
  return onCollection(`delete ${ids.join(', ')}`, target, async (life, real, model) => {
    const expected = [...new Set(ids)].filter((key) => life.objects.has(key))
    const actor = model.actor()
    const { deleted, lsn } = await real.delete(ids, { actor })
    check(JSON.stringify(deleted) === JSON.stringify(expected), 'deleted ids')
    noteDeleted(model, life, expected, { lsn, actor })
  })
}

function removeWhere(target: string, where: ModelFilter): Command {
  return onCollection(`delete where ${JSON.stringify(where)}`, target, async (life, real, model) => {
    const expected = [...life.objects].filter(([, value]) => matches(where, value)).map(([key]) => key)
    const actor = model.actor()
    const { deleted, lsn } = await real.deleteWhere(asInput(where), { actor })
    check(deleted === expected.length, 'deleted by filter')
    noteDeleted(model, life, expected, { lsn, actor })
  })
}

function noteDeleted(model: Model, life: Life, ids: readonly string[], written: Written): void {
  if (ids.length === 0) return
  for (const key of ids) life.put(key, undefined, 'deleted', written)
  model.record({ lsn: written.lsn, kind: 'objects-deleted', collection: model.nameOf(life), deleted: ids })
}

function updateFilters(target: string, updates: readonly (readonly [string, ModelObject['filter']])[]): Command {
  return onCollection(`filters of ${updates.map(([key]) => key).join(', ')}`, target, async (life, real, model) => {
    const found = [...new Map(updates)].filter(([key]) => life.objects.has(key))
    const actor = model.actor()
    const input = updates.map(([key, values]) => ({ id: key, filter: values }))
    const { updated, lsn } = await real.updateFilters(input, { actor })
    check(updated === found.length, 'updated filters')
    if (found.length === 0) return
    for (const [key, values] of found) {
      const object = { ...(life.objects.get(key) as ModelObject), filter: values }
      life.put(key, object, 'filter-updated', { lsn, actor })
    }
    const written = found.map(([key]) => key)
    model.record({ lsn, kind: 'filters-replaced', collection: model.nameOf(life), written })
  })
}

function get(target: string, ids: readonly string[]): Command {
  return onCollection(`get ${ids.join(', ')}`, target, async (model, real) => {
    const found = await real.getMany(ids)
    const expected = ids.filter((key) => model.objects.has(key))
    check(JSON.stringify(found.map((one) => one.id)) === JSON.stringify(expected), 'ids got')
    for (const one of found) {
      const { meta, filter: values, vector: v, members: m, text } = model.objects.get(one.id) as ModelObject
      const { expiresAt } = model.objects.get(one.id) as ModelObject
      check(one.expiresAt === expiresAt, `${one.id} expires at ${one.expiresAt}, not ${expiresAt}`)
      check(one.lsn === model.lsnOf(one.id), `LSN of ${one.id} is ${one.lsn}, not ${model.lsnOf(one.id)}`)
      check(JSON.stringify([one.meta, one.filter]) === JSON.stringify([meta, values]), `meta and filter of ${one.id}`)
      const largest = Math.max(...v.map(Math.abs))
      const tolerance = model.precision === 'float32' ? 1e-5 : largest / 20 + 1e-5
      check(
        one.dense.v?.vector.every((x, i) => Math.abs(x - (v[i] as number)) <= tolerance) === true,
        `vector of ${one.id}`,
      )
      const got = one.multi.m?.map((member) => [...member.vector]) ?? []
      check(JSON.stringify(got) === JSON.stringify(m), `members of ${one.id}`)
      check((one.text.t ?? null) === text, `text of ${one.id}`)
    }
  })
}

function search(target: string, query: readonly number[], limit: number, where: ModelFilter | undefined): Command {
  return onCollection(
    `search ${limit}${where ? ` where ${JSON.stringify(where)}` : ''}`,
    target,
    async (model, real) => {
      const request = { fields: { v: { query: [...query], limit } }, ...(where && { filter: asInput(where) }) }
      const hits = (await real.search(request)).results.v ?? []
      const eligible = [...model.objects].filter(([, value]) => !where || matches(where, value))
      check(
        hits.length === Math.min(limit, eligible.length),
        `${hits.length} hits of ${eligible.length} eligible, limit ${limit}`,
      )
      const scores = eligible.map(([, value]) => similarity(model.spaceType, query, value.vector)).sort((x, y) => y - x)
      const scale = Math.max(1, ...scores.map(Math.abs))
      const tolerance = model.precision === 'float32' ? 1e-4 * scale : 0.1 * scale
      hits.forEach((hit, i) => {
        const value = model.objects.get(hit.id)
        check(value !== undefined && (!where || matches(where, value)), `${hit.id} should not be among the hits`)
        check(JSON.stringify(hit.meta) === JSON.stringify(value?.meta), `meta of ${hit.id}`)
        check(hit.expiresAt === value?.expiresAt, `expiry of ${hit.id}`)
        const exact = similarity(model.spaceType, query, (value as ModelObject).vector)
        check(
          Math.abs(hit.similarity - exact) <= tolerance,
          `similarity of ${hit.id} is ${hit.similarity}, exactly ${exact}`,
        )
        // With so few objects the walk visits all of them: the k-th hit is as good as the k-th best, within the precision.
        check(
          hit.similarity >= (scores[i] as number) - tolerance,
          `hit ${i} has ${hit.similarity}, the best has ${scores[i]}`,
        )
      })
      check(new Set(hits.map((hit) => hit.id)).size === hits.length, 'an id came twice')
    },
  )
}

function searchMembers(target: string, query: readonly (readonly number[])[], where: ModelFilter | undefined): Command {
  return onCollection(
    `search members${where ? ` where ${JSON.stringify(where)}` : ''}`,
    target,
    async (model, real) => {
      const request = { fields: { m: { query, limit: 8, ef: 64 } }, ...(where && { filter: asInput(where) }) }
      const hits = (await real.search(request)).results.m ?? []
      const eligible = [...model.objects].filter(([, { members: m }]) => m.length > 0)
      const scores = eligible
        .filter(([, value]) => !where || matches(where, value))
        .map(([, value]) => maxSim(model.spaceType, query, value.members))
        .sort((x, y) => y - x)
      check(hits.length === Math.min(8, scores.length), `${hits.length} hits of ${scores.length} with members`)
      hits.forEach((hit, i) => {
        const value = model.objects.get(hit.id) as ModelObject
        check(!where || matches(where, value), `${hit.id} should not be among the hits`)
        const exact = maxSim(model.spaceType, query, value.members)
        // The pool has every object, so the result is exact for any precision of the graph.
        const fits = Math.abs(hit.similarity - exact) <= 1e-4 && Math.abs(exact - (scores[i] as number)) <= 1e-4
        check(fits, `hit ${i} has ${hit.similarity}, exactly ${exact}, the best has ${scores[i]}`)
      })
    },
  )
}

/** Exact for any precision: weights are quarters, so sums of their products have no error. */
function searchTerms(target: string, query: Terms, where: ModelFilter | undefined): Command {
  return onCollection(`search terms${where ? ` where ${JSON.stringify(where)}` : ''}`, target, async (model, real) => {
    const request = { fields: { s: { query: sparseInput(query), limit: 8 } }, ...(where && { filter: asInput(where) }) }
    const hits = (await real.search(request)).results.s ?? []
    const scores = [...model.objects.values()]
      .filter((value) => !where || matches(where, value))
      .flatMap((value) => sparseScore(query, value.terms) ?? [])
      .sort((x, y) => y - x)
    check(
      JSON.stringify(hits.map(({ similarity: found }) => found)) === JSON.stringify(scores.slice(0, 8)),
      `scores ${hits.map(({ similarity: found }) => found)}, the best are ${scores.slice(0, 8)}`,
    )
    for (const hit of hits) {
      const value = model.objects.get(hit.id) as ModelObject
      check(!where || matches(where, value), `${hit.id} should not be among the hits`)
      check(sparseScore(query, value.terms) === hit.similarity, `score of ${hit.id}`)
    }
  })
}

/** Objects that expired and are not deleted yet count in the lists, so then only which texts are found is compared. */
function searchWords(target: string, wanted: readonly string[], combine: Combine): Command {
  return onCollection(`search ${combine} ${wanted.join(' ')}`, target, async (model, real) => {
    const query = wanted.join(' ')
    const condition = combine === 'phrase' ? { query: { must: [{ phrase: query }] } } : { query, operator: combine }
    const { results } = await real.search({ fields: { t: { ...condition, limit: 50 } } })
    const hits = results.t ?? []
    const texts = new Map(
      [...model.objects].flatMap(([key, { text }]) => (text === null ? [] : [[key, text] as const])),
    )
    const scores = textScores(texts, wanted, combine)
    const expected = new Map(scores)
    const found = hits.map((hit) => hit.id).sort()
    check(`${found}` === `${[...expected.keys()].sort()}`, `texts ${found}, expected ${[...expected.keys()].sort()}`)
    const { count } = await real.count({ match: { t: condition } })
    check(count === expected.size, `${count} texts match, expected ${expected.size}`)
    const everExpires = [...model.versions.values()].some((list) =>
      list.some((one) => one.object?.expiresAt !== undefined),
    )
    if (everExpires) return
    for (const [at, { id: key, similarity: score }] of hits.entries()) {
      const near = (other: number | undefined) => Math.abs(score - (other ?? Number.NaN)) <= 1e-5 * score
      check(near(expected.get(key)) && near(scores[at]?.[1]), `score of ${key} is ${score}, not ${expected.get(key)}`)
    }
  })
}

function rebuild(target: string, isVacuum: boolean): Command {
  return onCollection(isVacuum ? 'vacuum' : 'rebuild', target, async (life, real, model) => {
    const { lsn } = await (isVacuum ? real.vacuum() : real.rebuild({ v: { M: 6 } }))
    model.record({ lsn, kind: 'collection-rebuilt', collection: model.nameOf(life) })
  })
}

function list(): Command {
  return command('list', async (model, { engine }) => {
    const found = engine
      .database()
      .collections()
      .map((one) => `${one.name} ${one.objects}`)
    check(
      JSON.stringify(found.sort()) ===
        JSON.stringify([...model].map(([key, one]) => `${key} ${one.objects.size}`).sort()),
      `list ${found.join('; ')}`,
    )
  })
}

/** Digests before and after must be equal, regardless of how the state was restored. */
function restart(options: { readonly keepCheckpoints: boolean }): Command {
  return command(options.keepCheckpoints ? 'restart' : 'restart by replay', async (model, real) => {
    const digests = () => [
      real.engine.control.digest(),
      ...[...model.keys()].map((key) => real.engine.database().collection(key).stateDigest()),
    ]
    // A close writes the places of cursors.
    if (model.hasWaitingCursor) await real.restart({ keepCheckpoints: true })
    model.hasWaitingCursor = false
    const before = digests()
    await real.restart(options)
    check(JSON.stringify(digests()) === JSON.stringify(before), 'digests after a restart')
    listCursors(model, real.engine)
  })
}

export const commands: fc.Arbitrary<Command>[] = [
  fc
    .tuple(name, fc.constantFrom('cosine', 'l2', 'ip'), fc.constantFrom('float32', 'int8'), defaultTtl)
    .map((args) => create(...(args as Parameters<typeof create>))),
  name.map(drop),
  ...Array.from({ length: 5 }, () =>
    fc.tuple(name, fc.array(fc.tuple(id, object), { minLength: 1, maxLength: 20 })).map((args) => upsert(...args)),
  ),
  ...Array.from({ length: 2 }, () =>
    fc.tuple(name, fc.array(id, { minLength: 1, maxLength: 6 })).map((args) => remove(...args)),
  ),
  fc.tuple(name, filter).map((args) => removeWhere(...args)),
  fc
    .tuple(name, fc.array(fc.tuple(id, filterValues), { minLength: 1, maxLength: 6 }))
    .map((args) => updateFilters(...args)),
  fc.tuple(name, fc.array(id, { minLength: 1, maxLength: 6 })).map((args) => get(...args)),
  ...Array.from({ length: 3 }, () =>
    fc
      .tuple(name, vector, fc.integer({ min: 1, max: 12 }), fc.option(filter, { nil: undefined }))
      .map((args) => search(...args)),
  ),
  fc
    .tuple(name, fc.array(vector, { minLength: 1, maxLength: 3 }), fc.option(filter, { nil: undefined }))
    .map((args) => searchMembers(...args)),
  ...Array.from({ length: 2 }, () =>
    fc
      .tuple(
        name,
        terms.filter((one) => one.length > 0),
        fc.option(filter, { nil: undefined }),
      )
      .map((args) => searchTerms(...args)),
  ),
  ...Array.from({ length: 2 }, () => fc.tuple(name, words, combine).map((args) => searchWords(...args))),
  fc.tuple(name, fc.boolean()).map(([target, isVacuum]) => rebuild(target, isVacuum)),
  fc.constant(list()),
  ...controlCommands,
  ...conditionCommands,
  ...feedCommands,
  ...momentCommands,
  ...nameCommands,
  ...expiryCommands,
  fc.constant(command('checkpoint', async (_, { engine }) => void (await engine.checkpoint()))),
  fc.constantFrom(restart({ keepCheckpoints: true }), restart({ keepCheckpoints: false })),
]
