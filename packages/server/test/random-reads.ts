// Random bodies of reads by id, as text and MessagePack: usual ones, rare ones, and wrong ones.
import type { Random } from '@annal/wal/testing'
import { encode } from '@msgpack/msgpack'
import { mutated, pick, type RandomSearch } from './random-searches.ts'

const rare: readonly unknown[] = [
  7,
  7.5,
  -1,
  999_999_999,
  1e9,
  true,
  null,
  '',
  'none',
  [],
  {},
  '\u0000',
  'x'.repeat(70_000),
]

/** `ids` are of stored objects. */
export function randomRead(random: Random, version: 'v1' | 'v2', ids: readonly string[]): RandomSearch {
  const id = () => (random.chance(0.97) ? pick(random, ids) : pick(random, rare))
  const count = random.chance(0.9) ? random.below(5) : pick(random, [16, 63, 64, 65, 1_000, 1_001])
  const list = random.chance(0.98) ? Array.from({ length: count }, id) : pick(random, [null, 'a', { a: 1 }])
  const body = {
    ...(random.chance(0.98) && (version === 'v1' ? { id: id() } : { ids: list })),
    ...(random.chance(0.2) && {
      min_lsn: random.chance(0.9) ? random.below(4) : pick(random, [-1, 1.5, null, '1', 2 ** 53]),
    }),
    ...(random.chance(0.02) && { [pick(random, ['include_vectors', 'id', 'ids', 'x'])]: true }),
  }
  const accept = pick(random, [undefined, 'application/json', '*/*', 'application/json;q=1'])
  if (random.chance(0.3)) {
    return { type: 'application/msgpack', accept, body: mutated(random, Buffer.from(encode(body))) }
  }
  const type = random.chance(0.97) ? 'application/json' : pick(random, ['application/octet-stream', 'text/plain'])
  const text = random.chance(0.8) ? JSON.stringify(body) : JSON.stringify(body, undefined, 1)
  const escaped = random.chance(0.05)
    ? text.replace(/[a-z](?=[^"]*"\})/, (c) => `\\u00${c.charCodeAt(0).toString(16)}`)
    : text
  return { type, accept, body: mutated(random, Buffer.from(escaped)) }
}
