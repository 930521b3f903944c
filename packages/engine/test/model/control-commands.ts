// Operations on databases, tokens and settings.
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { type Command, check, codeOf, command } from './command.ts'

const database = fc.constantFrom('x', 'y')
const name = fc.constantFrom('a', 'b', 'c')
const fields = [{ name: 'v', type: 'vector', params: { dimension: 2, space_type: 'ip', precision: 'float32' } }]

function hashOf(database: string, token: string): string {
  return createHash('sha256').update(`${database}:${token}`).digest('hex')
}

function create(at: string): Command {
  return command(`create database ${at}`, async ({ databases }, { engine }) => {
    const token = { name: 'first', kind: 'rw' as const, hash: hashOf(at, 'first') }
    const code = await codeOf(engine.control.createDatabase({ name: at, token }))
    check(code === (databases.has(at) ? 'database_exists' : 'none'), `create database answered ${code}`)
    if (code === 'none') databases.set(at, { active: true, collections: new Set(), tokens: new Set(['first']) })
  })
}

function drop(at: string): Command {
  return command(`drop database ${at}`, async ({ databases }, { engine }) => {
    const code = await codeOf(engine.control.deleteDatabase(at))
    check(code === (databases.delete(at) ? 'none' : 'database_not_found'), `drop database answered ${code}`)
  })
}

function setActive(at: string, active: boolean): Command {
  return command(`set ${at} ${active ? 'active' : 'inactive'}`, async ({ databases }, { engine }) => {
    const expected = databases.get(at)
    const code = await codeOf(engine.control.setDatabaseActive(at, active))
    check(code === (expected ? 'none' : 'database_not_found'), `set active answered ${code}`)
    if (expected) expected.active = active
  })
}

function createCollection(at: string, collection: string): Command {
  return command(`create ${collection} in ${at}`, async ({ databases }, { engine }) => {
    const expected = databases.get(at)
    const taken = expected?.collections.has(collection) ? 'collection_exists' : 'none'
    const code = await codeOf((async () => engine.database(at).createCollection({ name: collection, fields }))())
    check(code === (expected ? taken : 'database_not_found'), `create in ${at} answered ${code}`)
    expected?.collections.add(collection)
  })
}

function deleteCollection(at: string, collection: string): Command {
  return command(`drop ${collection} in ${at}`, async ({ databases }, { engine }) => {
    const expected = databases.get(at)
    const there = expected?.collections.delete(collection) ? 'none' : 'collection_not_found'
    const code = await codeOf((async () => engine.database(at).deleteCollection(collection))())
    check(code === (expected ? there : 'database_not_found'), `drop in ${at} answered ${code}`)
  })
}

function putToken(at: string, token: string): Command {
  return command(`put token ${token} of ${at}`, async ({ databases }, { engine }) => {
    const expected = databases.get(at)
    const taken = expected?.tokens.has(token) ? 'token_exists' : 'none'
    const code = await codeOf(engine.control.putToken(at, { name: token, kind: 'r', hash: hashOf(at, token) }))
    check(code === (expected ? taken : 'database_not_found'), `put token answered ${code}`)
    expected?.tokens.add(token)
  })
}

function deleteToken(at: string, token: string): Command {
  return command(`drop token ${token} of ${at}`, async ({ databases }, { engine }) => {
    const expected = databases.get(at)
    const there = expected?.tokens.delete(token) ? 'none' : 'token_not_found'
    const code = await codeOf(engine.control.deleteToken(at, token))
    check(code === (expected ? there : 'database_not_found'), `drop token answered ${code}`)
  })
}

function list(): Command {
  return command('list databases', async ({ databases }, { engine }) => {
    const found = engine.control
      .databases()
      .filter((one) => one.name !== 'default')
      .map(({ name: at, active }) => {
        const collections = engine.database(at).collections()
        return told(at, {
          active,
          collections: collections.map((one) => one.name),
          tokens: engine.control.tokens(at).map((one) => one.name),
        })
      })
    const expected = [...databases].map(([at, one]) => told(at, one))
    check(JSON.stringify(found.sort()) === JSON.stringify(expected.sort()), `databases ${found.join('; ')}`)
    for (const at of ['x', 'y']) {
      const owner = engine.control.findToken(hashOf(at, 'first'))
      check(
        (owner?.database.name === at) === (databases.get(at)?.tokens.has('first') ?? false),
        `the first token of ${at}`,
      )
    }
  })
}

function told(
  at: string,
  of: { readonly active: boolean; readonly collections: Iterable<string>; readonly tokens: Iterable<string> },
): string {
  return `${at} ${of.active} ${[...of.collections].sort()} ${[...of.tokens].sort()}`
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
