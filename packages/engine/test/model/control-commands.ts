// Operations on databases, tokens, and settings.
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { type Command, check, codeOf, command } from './command.ts'

const database = fc.constantFrom('x', 'y')
const name = fc.constantFrom('a', 'b', 'c')
const fields = [
  { name: 'v', type: 'vector', params: { dimension: 2, space_type: 'ip', precision: 'float32' } },
] as const

function hashOf(database: string, token: string): string {
  return createHash('sha256').update(`${database}:${token}`).digest('hex')
}

function create(target: string): Command {
  return command(`create database ${target}`, async ({ databases }, { engine }) => {
    const token = { name: 'first', kind: 'rw' as const, hash: hashOf(target, 'first') }
    const code = await codeOf(engine.control.createDatabase({ name: target, token }))
    check(code === (databases.has(target) ? 'database_exists' : 'none'), `create database answered ${code}`)
    if (code === 'none') databases.set(target, { active: true, collections: new Set(), tokens: new Set(['first']) })
  })
}

function drop(target: string): Command {
  return command(`drop database ${target}`, async ({ databases }, { engine }) => {
    const code = await codeOf(engine.control.deleteDatabase(target))
    check(code === (databases.delete(target) ? 'none' : 'database_not_found'), `drop database answered ${code}`)
  })
}

function setActive(target: string, active: boolean): Command {
  return command(`set ${target} ${active ? 'active' : 'inactive'}`, async ({ databases }, { engine }) => {
    const expected = databases.get(target)
    const code = await codeOf(engine.control.setDatabaseActive(target, active))
    check(code === (expected ? 'none' : 'database_not_found'), `set active answered ${code}`)
    if (expected) expected.active = active
  })
}

function createCollection(target: string, collection: string): Command {
  return command(`create ${collection} in ${target}`, async ({ databases }, { engine }) => {
    const expected = databases.get(target)
    const taken = expected?.collections.has(collection) ? 'collection_exists' : 'none'
    const code = await codeOf((async () => engine.database(target).createCollection({ name: collection, fields }))())
    check(code === (expected ? taken : 'database_not_found'), `create in ${target} answered ${code}`)
    expected?.collections.add(collection)
  })
}

function deleteCollection(target: string, collection: string): Command {
  return command(`delete ${collection} in ${target}`, async ({ databases }, { engine }) => {
    const expected = databases.get(target)
    const there = expected?.collections.delete(collection) ? 'none' : 'collection_not_found'
    const code = await codeOf((async () => engine.database(target).deleteCollection(collection))())
    check(code === (expected ? there : 'database_not_found'), `drop in ${target} answered ${code}`)
  })
}

function putToken(target: string, token: string): Command {
  return command(`put token ${token} of ${target}`, async ({ databases }, { engine }) => {
    const expected = databases.get(target)
    const taken = expected?.tokens.has(token) ? 'token_exists' : 'none'
    const code = await codeOf(engine.control.putToken(target, { name: token, kind: 'r', hash: hashOf(target, token) }))
    check(code === (expected ? taken : 'database_not_found'), `put token answered ${code}`)
    expected?.tokens.add(token)
  })
}

function deleteToken(target: string, token: string): Command {
  return command(`drop token ${token} of ${target}`, async ({ databases }, { engine }) => {
    const expected = databases.get(target)
    const there = expected?.tokens.delete(token) ? 'none' : 'token_not_found'
    const code = await codeOf(engine.control.deleteToken(target, token))
    check(code === (expected ? there : 'database_not_found'), `drop token answered ${code}`)
  })
}

function list(): Command {
  return command('list databases', async ({ databases }, { engine }) => {
    const found = engine.control
      .databases()
      .filter((one) => one.name !== 'default')
      .map(({ name: target, active }) => {
        const collections = engine.database(target).collections()
        return summaryOf(target, {
          active,
          collections: collections.map((one) => one.name),
          tokens: engine.control.tokens(target).map((one) => one.name),
        })
      })
    const expected = [...databases].map(([target, one]) => summaryOf(target, one))
    check(JSON.stringify(found.sort()) === JSON.stringify(expected.sort()), `databases ${found.join('; ')}`)
    for (const target of ['x', 'y']) {
      const owner = engine.control.findToken(hashOf(target, 'first'))
      check(
        (owner?.database.name === target) === (databases.get(target)?.tokens.has('first') ?? false),
        `the first token of ${target}`,
      )
    }
  })
}

function summaryOf(
  target: string,
  state: { readonly active: boolean; readonly collections: Iterable<string>; readonly tokens: Iterable<string> },
): string {
  return `${target} ${state.active} ${[...state.collections].sort()} ${[...state.tokens].sort()}`
}

function putSetting(value: number): Command {
  return command(`put setting ${value}`, async (_, { engine }) => {
    await engine.control.putSetting('fact', `${value}`)
    check(engine.control.setting('fact') === `${value}`, 'the setting')
  })
}

export const controlCommands: fc.Arbitrary<Command>[] = [
  ...Array.from({ length: 2 }, () => database.map(create)),
  database.map(drop),
  fc.tuple(database, fc.boolean()).map((args) => setActive(...args)),
  fc.tuple(database, name).map((args) => createCollection(...args)),
  fc.tuple(database, name).map((args) => deleteCollection(...args)),
  fc.tuple(database, fc.constantFrom('first', 'second')).map((args) => putToken(...args)),
  fc.tuple(database, fc.constantFrom('first', 'second')).map((args) => deleteToken(...args)),
  fc.integer({ min: 0, max: 9 }).map(putSetting),
  fc.constant(list()),
]
