// Ids in paths: unencoded, encoded, or in the query. Either the right object is used, or none.
import { test } from 'tap'
import { decodablePath } from '../src/wire/path-id.ts'
import { createIndex, type RunningApp, runningApp } from './running-app.ts'

const nasty = [
  '50%',
  '%',
  '%%',
  'a%2',
  '%zz',
  '%ff',
  '%E9',
  'a b',
  'a%20b',
  'a/b',
  'a%2Fb',
  '.',
  '..',
  '%2e',
  '-',
  'é',
  '100%25',
  '?',
  'a?b',
  '#',
]

async function stored(running: RunningApp, ids: readonly string[]): Promise<void> {
  const json = ids.map((id, i) => ({ id, vector: [i + 1, 1, 0, 0] }))
  await running.send('POST', '/api/v1/index/docs/vector/insert', { json })
}

async function left(running: RunningApp): Promise<string[]> {
  const page = await running.engine.database().collection('docs').scroll({ limit: 1_000 })
  return page.objects.map(({ id }) => id).sort()
}

/** The segment as some published clients write it: unencoded except for characters that no URL has. */
function unencoded(id: string): string {
  return id.replaceAll(' ', '%20').replaceAll('é', '%C3%A9')
}

const paths = [
  (segment: string) => `/api/v1/index/docs/vector/${segment}/delete`,
  (segment: string) => `/api/v2/collection/docs/objects/${segment}`,
]

test('an id is found unencoded in the path, and decoded', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  for (const path of paths) {
    for (const id of nasty) {
      // Clients remove these segments, and a path ends before these characters.
      const asItIs = ['.', '..', '%2e', '?', 'a?b', '#'].includes(id) ? [] : [unencoded(id)]
      for (const segment of [...asItIs, encodeURIComponent(id)]) {
        if (/^\.\.?$/.test(segment)) continue
        await stored(running, [id, 'other'])
        const answer = await running.send('DELETE', path(segment))
        t.equal(answer.status, 200, `${path(segment)}: ${answer.text}`)
        t.strictSame(await left(running), ['other'], segment)
      }
      await stored(running, [id, 'other'])
      const named = await running.send('DELETE', `${path('-')}?id=${encodeURIComponent(id)}`)
      t.equal(named.status, 200, `${id} in the query: ${named.text}`)
      t.strictSame(await left(running), ['other'], id)
    }
    t.match((await running.send('DELETE', path('50%'))).json(), { code: 'object_not_found' })
  }
})

test('if both objects exist nothing is deleted, and the query selects one', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const both = ['a b', 'a%20b']
  for (const path of paths) {
    await stored(running, both)
    const refused = await running.send('DELETE', path('a%20b'))
    t.match([refused.status, refused.json()], [409, { code: 'id_ambiguous', field: 'id' }])
    t.strictSame(await left(running), both)
    t.equal((await running.send('DELETE', path('a%2520b'))).status, 200, 'encoded once more it has one meaning')
    t.strictSame(await left(running), ['a b'])
    t.equal((await running.send('DELETE', path('a%20b'))).status, 200, 'one exists, that one')
    t.strictSame(await left(running), [])
    await stored(running, ['a%20b'])
    t.equal((await running.send('DELETE', path('a%20b'))).status, 200)
    t.strictSame(await left(running), [])
  }
  await stored(running, [...both, 'c'])
  const links = (id: string, query = '') =>
    running.send('GET', `/api/v2/collection/docs/objects/${id}/field/dense/links${query}`)
  t.match((await links('a%20b')).json(), { code: 'id_ambiguous' })
  t.match((await links('-', '?id=a%20b')).json(), { id: 'a b' })
  t.match((await links('a%2520b')).json(), { id: 'a%20b' })
  const neighbors = await running.send('GET', '/api/v2/collection/docs/objects/c/field/dense/neighbors')
  t.strictSame(neighbors.json(), { id: 'c', field: 'dense', neighbors: (await links('c')).json().links })
})

test('a path that lost its segments does not delete everything if the query names the object', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  await stored(running, ['..', 'other'])
  for (const path of ['/api/v1/index/docs/delete', '/api/v2/collection/docs']) {
    for (const id of ['..', 'a/../..', '']) {
      const answer = await running.send('DELETE', `${path}?id=${encodeURIComponent(id)}`)
      t.match([answer.status, answer.json()], [400, { code: 'invalid_argument', field: 'id' }], `${path} ${id}`)
    }
    t.strictSame(await left(running), ['..', 'other'])
  }
  t.equal((await running.send('DELETE', '/api/v2/collection/docs')).status, 200)
})

test('only invalid percent-encoding is changed, and only in the place of an id', (t) => {
  const path = '/api/v1/index/docs/vector/'
  for (const [given, wanted] of [
    ['a%20b', 'a%20b'],
    ['50%', '50%25'],
    ['%zz%41', '%25zz%41'],
    ['%C3%A9', '%C3%A9'],
    ['%C3', '%25C3'],
    ['a?b=%', 'a?b=%'],
  ]) {
    t.equal(decodablePath(path + given), path + wanted)
  }
  t.equal(decodablePath('/api/v1/index/%/info'), '/api/v1/index/%/info')
  t.end()
})
