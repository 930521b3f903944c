// Hostile input: names that are properties of every object, and bodies that declare or nest more than they contain. Everything is stored
// and returned or refused, and no object of the process changes.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { encode } from '@msgpack/msgpack'
import { test } from 'tap'
import { createIndex, runningApp, type SendOptions } from './running-app.ts'

const accept = 'application/json'
/** How often each body is sent to each route; the long form sends more than a thousand. */
const rounds = process.env.ANNAL_LONG === '1' ? 15 : 1
const nasty = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '0',
  '__defineGetter__',
  'then',
  'toJSON',
]

function ownNames(): string {
  return [Object.prototype, Array.prototype, Function.prototype, String.prototype, Map.prototype]
    .map((prototype) => Reflect.ownKeys(prototype).map(String).join())
    .join('\n')
}

test('names, ids, keys, and values that are properties of every object are returned unchanged or refused', async (t) => {
  const running = await runningApp(t)
  const before = ownNames()
  await createIndex(running)
  let stored = 0
  for (const word of nasty) {
    const made = await running.send('POST', '/api/v1/index/create', {
      json: { index_name: word, dim: 4, space_type: 'l2' },
    })
    t.ok([200, 400].includes(made.status), `an index named ${word}: ${made.status}`)
    const info = await running.send('GET', `/api/v1/index/${word}/info`)
    t.ok(made.status === 200 ? info.status === 200 : [400, 404].includes(info.status), `asking for it: ${info.status}`)
    // Written as text, because an object literal would set the prototype instead of the key.
    const json = `{"id":"${word}","meta":{"${word}":{"${word}":"${word}"}},"filter":{"${word}":"${word}"},"vector":[1,2,3,4]}`
    const inserted = await running.send('POST', '/api/v1/index/docs/vector/insert', {
      body: json,
      type: 'application/json',
    })
    if (word === '__proto__') {
      t.match([inserted.status, inserted.json().code], [400, 'invalid_argument'])
      continue
    }
    t.equal(inserted.status, 200, `keys named ${word}: ${inserted.text}`)
    const read = await running.send('POST', '/api/v1/index/docs/vector/get', { accept, json: { id: word } })
    t.ok(read.text.includes(`"meta":{"${word}":{"${word}":"${word}"}}`), `${word} in meta comes back`)
    t.ok(read.text.includes(`"filter":{"${word}":"${word}"}`), `${word} in the filter comes back`)
    const found = await running.send('POST', '/api/v1/index/docs/search', {
      accept,
      json: { k: 10, vector: [1, 2, 3, 4], filter: `[{"${word}":{"$eq":"${word}"}}]` },
    })
    t.match(found.json(), { results: [{ id: word }] })
    stored += 1
  }
  const packed = encode([['p', new Uint8Array(0), '{"__proto__":{"polluted":1},"a":1}', 1, [1, 0, 0, 0]]])
  const tuple = await running.send('POST', '/api/v1/index/docs/vector/insert', {
    body: packed,
    type: 'application/msgpack',
  })
  t.ok([200, 400].includes(tuple.status), 'a filter text with the key __proto__')
  const map = Buffer.concat([
    Buffer.from('81a9', 'hex'),
    Buffer.from('__proto__'),
    Buffer.from('81a8', 'hex'),
    Buffer.from('polluted'),
    Buffer.from([1]),
  ])
  t.equal(
    (await running.send('POST', '/api/v1/index/docs/search', { body: map, type: 'application/msgpack' })).status,
    400,
  )
  const fields = await running.send('POST', '/api/v2/collection/docs/search', {
    json: { fields: { constructor: { query: [1, 2, 3, 4] }, toString: { query: [1] } } },
  })
  t.match([fields.status, fields.json().code], [400, 'field_not_found'])
  t.equal(ownNames(), before, 'no prototype changed')
  t.equal((Object.prototype as { polluted?: unknown }).polluted, undefined)
  t.match((await running.send('GET', '/api/v1/index/docs/info')).json(), {
    total_elements: stored + (tuple.status === 200 ? 1 : 0),
  })
})

test('bodies that declare, nest, or repeat without end are refused, and the server continues', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const json = (body: string): SendOptions => ({ body, type: 'application/json' })
  const msgpack = (body: Uint8Array): SendOptions => ({ body, type: 'application/msgpack' })
  const bombs: [string, SendOptions][] = [
    ...[100, 10_000, 500_000].flatMap((depth): [string, SendOptions][] => [
      [`arrays ${depth} deep`, json(`${'['.repeat(depth)}${']'.repeat(depth)}`)],
      [`arrays ${depth} deep and never closed`, json('['.repeat(depth))],
      [`MessagePack ${depth} deep`, msgpack(Buffer.alloc(depth, 0x91))],
    ]),
    ['objects 80,000 deep', json(`${'{"a":'.repeat(80_000)}1${'}'.repeat(80_000)}`)],
    ['100,000 keys', json(`{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":${i}`).join()}}`)],
    ['an array of 400,000 numbers', json(`{"k":1,"vector":[${'1,'.repeat(400_000)}1]}`)],
    ['a text of 900 kB', json(`{"k":1,"vector":"${'x'.repeat(900_000)}"}`)],
    ['a number of 900,000 digits', json(`{"k":${'9'.repeat(900_000)},"vector":[1,2,3,4]}`)],
    ['the same key 50,000 times', json(`{${'"vector":[1],'.repeat(50_000)}"k":0}`)],
    ['array16 heads', msgpack(Buffer.alloc(900_000, Buffer.from('dcffff', 'hex')))],
    ['array32 heads', msgpack(Buffer.alloc(900_000, Buffer.from('dd7fffffff', 'hex')))],
    ['map32 heads', msgpack(Buffer.alloc(900_000, Buffer.from('df7fffffff', 'hex')))],
    ['empty arrays', msgpack(Buffer.concat([Buffer.from('dd000dbba0', 'hex'), Buffer.alloc(900_000, 0x90)]))],
    ['a binary of four billion bytes', msgpack(Buffer.from('c6ffffffff', 'hex'))],
    ['a text of four billion bytes', msgpack(Buffer.from('dbffffffff', 'hex'))],
    ['half of UTF-8', json('{"k":1,"vector":[1,2,3,4],"x":"\u00e9"}'.slice(0, -3))],
  ]
  const before = process.memoryUsage().rss
  const pauses = monitorEventLoopDelay({ resolution: 1 })
  pauses.enable()
  let slowest = 0
  for (const [name, options] of Array.from({ length: rounds }, () => bombs).flat()) {
    for (const route of [
      '/api/v1/index/docs/search',
      '/api/v1/index/docs/vector/insert',
      '/api/v2/collection/docs/objects',
    ]) {
      const begun = performance.now()
      const answer = await running.send('POST', route, options)
      slowest = Math.max(slowest, performance.now() - begun)
      t.ok(
        answer.status >= 400 && answer.status < 500,
        `${name} to ${route}: ${answer.status} ${answer.text.slice(0, 120)}`,
      )
    }
  }
  const grown = process.memoryUsage().rss - before
  t.ok(grown < 512 * 1_048_576, 'memory stays bounded')
  t.comment(
    `${bombs.length * 3 * rounds} bombs: the slowest answer ${slowest.toFixed(0)} ms, the longest pause of server and client together ${(pauses.max / 1e6).toFixed(0)} ms, ${(grown / 1_048_576).toFixed(0)} MiB more`,
  )
  t.equal(
    (await running.send('POST', '/api/v1/index/docs/search', { json: { k: 1, vector: [1, 0, 0, 0] } })).status,
    200,
  )
})
