// A head that repeats the last one of its connection, but for its Content-Length, is read as any other head is.
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import { type KnownHead, readHead } from '../src/serving/request-head.ts'

const seed = chosenSeed()
const sequences = 300

test('a head is read alike, whatever head was read before it', async (t) => {
  t.comment(`ANNAL_SEED=${seed}`)
  const random = seededRandom(seed)
  const pick = <T>(list: readonly T[]): T => list[random.below(list.length)] as T
  const lengths = [
    '0',
    '7',
    '07',
    '12',
    '3120',
    '999999999999',
    '1000000000000',
    '',
    '-1',
    '+5',
    '1 2',
    '1,2',
    'x',
    '5\t',
  ]
  const lines = (): string[] => [
    pick(['POST /api/v1/index/a/search HTTP/1.1', 'POST /12/ HTTP/1.1', 'GET /api/v1/health HTTP/1.1']),
    pick(['Host: a:1', 'Host: 12', 'X-Host: a']),
    ...(random.chance(0.8)
      ? [pick(['Content-Length:', 'content-length: ', 'CONTENT-LENGTH: \t']) + pick(lengths)]
      : []),
    ...(random.chance(0.5)
      ? [pick(['Accept: 12', 'Connection: close', 'X-12: 3120', 'Content-Length: 12', 'Accept: 7'])]
      : []),
  ]
  let repeats = 0
  for (let sequence = 0; sequence < sequences; sequence++) {
    let known: KnownHead | undefined
    let last = lines()
    for (let i = 0; i < 20; i++) {
      // Mostly the same lines with another number.
      if (random.chance(0.2)) last = lines()
      else last = last.map((line) => (/^content-length/i.test(line) ? line.replace(/[^:\s]*$/, pick(lengths)) : line))
      const bytes = Buffer.from(`${last.join('\r\n')}\r\n\r\nbody`, 'latin1')
      const alone = readHead(bytes, undefined)
      const read = readHead(bytes, known)
      if (typeof read === 'string' || typeof alone === 'string') t.equal(read, alone, last.join('\n'))
      else {
        if (known !== undefined && read !== known && read.head.headers === known.head.headers) repeats++
        t.same(read, alone, last.join('\n'))
        known = read
      }
    }
  }
  t.ok(repeats > 100, `${repeats} heads repeated the one before them with another length`)
})
