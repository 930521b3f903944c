// Numbers that are read from the bytes of a body equal those of JSON.parse, rounded to 32 bits; other values are left to JSON.parse.
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import { parseJsonBody, parseQuery } from '../src/wire/json-body.ts'
import { scanNumbers } from '../src/wire/number-scan.ts'
import { floatsFrom, ScannedNumbers } from '../src/wire/numbers.ts'
import { createIndex, runningApp } from './running-app.ts'

const seed = chosenSeed()
const rounds = process.env.ANNAL_LONG === '1' ? 200_000 : 3_000

/** Bits, because -0 and 0 are equal and not identical. */
function bitsOf(value: unknown): number[] {
  const floats = floatsFrom(value, 'vector')
  return Array.from(new Uint32Array(floats.buffer, floats.byteOffset, floats.length))
}

function scanned(numbers: string): ScannedNumbers | undefined {
  return scanNumbers(Buffer.from(`{"k":1,"vector":[${numbers}]}`), '"vector"')?.numbers
}

test(`numbers of every kind are read like JSON.parse reads them, seed ${seed}`, (t) => {
  const random = seededRandom(seed)
  const unit = () => random.below(2 ** 32) / 2 ** 32 + random.below(2 ** 21) / 2 ** 53
  const sign = () => (random.below(2) === 0 ? 1 : -1)
  const kinds: (() => string)[] = [
    () => String(random.below(256)),
    () => `${random.below(256)}.0`,
    () => String(sign() * unit()),
    () => String(Math.fround(sign() * unit())),
    () => (sign() * unit()).toFixed(random.below(20)),
    () => (sign() * unit() * 10 ** (random.below(90) - 50)).toExponential(random.below(18)),
    () => String(sign() * (random.below(2 ** 32) * 2 ** 21 + random.below(2 ** 21))),
    // Midpoints of two floats, and their neighbors.
    () =>
      String(
        (1 + (2 * random.below(2 ** 23) + 1) * 2 ** -24 + (random.below(3) - 1) * 2 ** -52) * 2 ** random.below(40),
      ),
    () => `${random.below(10)}E+${random.below(40)}`,
    // More digits than 64 bits hold: exact expansions, midpoints with other digits behind them, and zeros at either end.
    () => (sign() * unit()).toFixed(20 + random.below(40)),
    () => String(Math.fround(unit())).padEnd(30, '0'),
    () => {
      const middle = (1 + (2 * random.below(2 ** 23) + 1) * 2 ** -24) * 2 ** -random.below(20)
      return `${middle.toFixed(45)}${['', '1', '0000001'][random.below(3)]}`
    },
    () =>
      `${random.below(2 ** 32)}${random.below(2 ** 32)}${random.below(2 ** 32)}.${random.below(2 ** 32)}e-${random.below(50)}`,
    () => `0.${'0'.repeat(random.below(30))}${random.below(2 ** 32)}${random.below(2 ** 32)}${random.below(2 ** 32)}`,
    () => (sign() * unit() * 10 ** -random.below(37)).toExponential(17),
    () => `${random.below(10)}.${'0123456789'.repeat(3).slice(random.below(10), 10 + random.below(20))}`,
    () => '-0',
    () => '0.000000000000000000000000000012345',
    () => `${random.below(2 ** 32)}${random.below(2 ** 32)}${random.below(2 ** 32)}`,
  ]
  let read = 0
  for (let i = 0; i < rounds; i++) {
    const kind = kinds[i % kinds.length]!
    const numbers = Array.from({ length: 1 + random.below(40) }, kind)
    const text = numbers.join([',', ', ', ' ,\n\t'][random.below(3)])
    const numbersRead = scanned(text)
    if (numbersRead === undefined) continue
    read += 1
    const expected = bitsOf(JSON.parse(`[${text}]`))
    if (String(bitsOf(numbersRead)) !== String(expected)) t.same(bitsOf(numbersRead), expected, text)
  }
  t.ok(read > rounds / 2, `${read} of ${rounds} were read`)
  t.end()
})

test('long and small numbers are read', (t) => {
  const random = seededRandom(1)
  // 53 random bits: numbers with few bits are often in the middle between two floats.
  const unit = () => random.next() + random.next() * 2 ** -32
  const notations: (() => string)[] = [
    // The mean of two floats is often exactly in the middle between two others.
    () => String((Math.fround(unit()) + Math.fround(unit())) / 2),
    () => String(random.below(2 ** 25) * 2 ** -24),
    () => (unit() * 1e38).toPrecision(17),
    () => (unit() * 1e-41).toExponential(17),
    () => unit().toFixed(17),
    () => unit().toPrecision(30),
    () => (unit() * 1e-30).toExponential(17),
    () => String(unit() * 1e-20),
  ]
  for (const notation of notations) {
    let read = 0
    for (let i = 0; i < 200; i++) if (scanned(Array.from({ length: 50 }, notation).join()) !== undefined) read += 1
    t.ok(read > 195, `${read} of 200 arrays such as ${notation()}`)
  }
  t.end()
})

test('values other than an array of finite numbers are left to JSON.parse', (t) => {
  const wrong = [
    '',
    ' ',
    ',',
    '1,',
    ',1',
    '01',
    '-',
    '+1',
    '.5',
    '1.',
    '1.e3',
    '1e',
    '1e+',
    '0x1',
    '1 2',
    '1,,2',
    'NaN',
    'null',
  ]
  wrong.push('1e39', '-3.4028235677973366e38', '1e99999', '"1"', '[1]', '1}', '1x', '\\u0031', '1\u00a0', 'Infinity')
  for (const numbers of wrong) t.equal(scanned(numbers), undefined, JSON.stringify(numbers))
  t.equal(scanNumbers(Buffer.from('{"vector":[1,2'), '"vector"'), undefined, 'a body that ends in between')
  t.equal(scanNumbers(Buffer.from('{"vector":'), '"vector"'), undefined)
  t.equal(scanNumbers(Buffer.from('{"vector":[1e'), '"vector"'), undefined)
  t.end()
})

test('the maximum number of numbers of any body is read, and a larger body is parsed', (t) => {
  const most = 393_216 - 65_536 - 1
  const body = (count: number) => Buffer.from(`{"vector":[${'1,'.repeat(count - 1)}1]}`)
  const fits = body((most - 2) / 2)
  t.equal(scanNumbers(fits, '"vector"')?.numbers.floats.length, Math.floor((most - 2) / 2))
  t.equal(scanNumbers(body(most), '"vector"'), undefined)
  t.end()
})

test('the numbers are at the place of the value, and nowhere else', (t) => {
  const same = [
    '{"k":1,"vector":[1,2.5,-3]}',
    '{"k": 1, "vector": [1, 2.5, -3], "filter": "[{\\"a\\":1}]"}',
    '{"vector":[1],"vector":[2,3]}',
    '{"vector":[1],"vector":[]}',
    '{"vector":[1],"vect\\u006fr":[2]}',
    '{"a":{"vector":[1,2]},"vector":[3]}',
    '{"a":{"vector":[1,2]},"vector":[]}',
    '{"a":"\\"vector\\":[1,2]"}',
    '{"vector":[1,"x"]}',
    '{"filter":[{"vector":{"$in":[1,2]}}],"vector":[3]}',
    '[{"vector":[1]}]',
    '{"vector":[1]',
    '{"vector":[1]} x',
    '{"vector":[1],"__proto__":{}}',
    '{"vector":[1e400]}',
    '{"vector":[1],"a":"\u00e9"}',
  ]
  const fields = [
    '{"fields":{"f":{"query":[1,2],"limit":3}}}',
    '{"fields":[{"f":{"query":[1,2]}},{"g":{"query":[3]}}]}',
    '{"fields":{"f":{"query":[[1,2],[3,4]]}}}',
    '{"query":[1],"fields":{"f":{"query":[2]}}}',
    '{"fields":{"f":{"limit":{"query":[1]},"query":[2]}}}',
  ]
  for (const text of same) t.same(outcome(text, '"vector"'), outcome(text), text)
  for (const text of fields) t.same(outcome(text, '"query"'), outcome(text), text)
  const { vector } = parseQuery(Buffer.from(same[0]!), '"vector"') as { readonly vector: unknown }
  t.ok(vector instanceof ScannedNumbers)
  t.end()
})

/** The value with its numbers written out, or its error. */
function outcome(text: string, key?: '"vector"' | '"query"'): unknown {
  try {
    const value = key === undefined ? parseJsonBody(Buffer.from(text)) : parseQuery(Buffer.from(text), key)
    return JSON.parse(
      JSON.stringify(value, (_, part) => (part instanceof ScannedNumbers ? Array.from(part.floats) : part)),
    )
  } catch (error) {
    return String(error)
  }
}

test('a search finds the same for any notation of its numbers', async (t) => {
  const running = await runningApp(t)
  await createIndex(running)
  const json = [
    { id: 'a', vector: [1, 0, 0, 0] },
    { id: 'b', vector: [0, 1, 0, 0] },
  ]
  await running.send('POST', '/api/v1/index/docs/vector/insert', { json })
  const search = async (vector: string) => {
    const body = `{"k":2,"vector":${vector}}`
    const { status, text } = await running.send('POST', '/api/v1/index/docs/search', {
      body,
      type: 'application/json',
      accept: 'application/json',
    })
    return [status, text.replace(/"request_id":"[^"]*"/, '')]
  }
  const plain = await search('[1,0,0,0]')
  t.equal(plain[0], 200)
  t.same(await search('[ 1.0 , 0e0,\n0.000,-0]'), plain)
  t.same(await search(`[1,0,0,0.${'0'.repeat(60)}]`), plain)
  t.match(await search('[1,0,0]'), [400, /vector/])
  t.match(await search('[1,0,0,1e39]'), [400, /vector\[3\]/])
})
