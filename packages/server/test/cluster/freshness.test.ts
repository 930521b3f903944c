// How fresh a node says it is: nothing is claimed before it first has everything.
import { StoreUnavailable } from '@annal/wal/replicated'
import { test } from 'tap'
import { Freshness } from '../../src/cluster/freshness.ts'
import { MissingStreamError } from '../../src/cluster/missing-stream.ts'
import { statusOf } from '../../src/cluster/node-status.ts'
import { SharedFreshness } from '../../src/serving/shared-freshness.ts'
import { clusterJson } from '../../src/wire/v2-cluster.ts'

test('a node that never had everything claims no staleness', async (t) => {
  let [now, applied] = [1_000, 0]
  const read = { seq: 4, lsn: 4 }
  const freshness = new Freshness({
    last: async () => 9,
    read: () => read,
    lsnApplied: () => applied,
    nowMs: () => now,
  })
  await freshness.look()
  now += 500
  t.equal(freshness.stalenessMs, Number.POSITIVE_INFINITY)
  t.notOk(freshness.isKnown)
  Object.assign(read, { seq: 9, lsn: 9 })
  t.equal(freshness.stalenessMs, Number.POSITIVE_INFINITY, 'read, but not applied')
  applied = 9
  t.equal(freshness.stalenessMs, 500, 'since the look')
  t.ok(freshness.isKnown)
})

test('an answer that is older than what the node has read does not count, and is believed when it stays', async (t) => {
  let [now, last] = [1_000, 9]
  const freshness = new Freshness({
    last: async () => last,
    read: () => ({ seq: 9, lsn: 9 }),
    lsnApplied: () => 9,
    nowMs: () => now,
  })
  const look = async (ms: number) => {
    now += ms
    await freshness.look()
    return [freshness.stalenessMs, freshness.silenceMs, freshness.loss]
  }
  t.strictSame(await look(0), [0, 0, undefined])
  last = 8
  for (let i = 1; i <= 8; i++) t.strictSame(await look(500), [i * 500, i * 500, undefined], 'one server may be behind')
  last = 9
  t.strictSame(await look(500), [0, 0, undefined])
  last = 8
  t.strictSame(await look(500), [500, 500, undefined])
  t.strictSame(await look(6_000), [6_500, 6_500, undefined], 'two looks')
  for (let i = 0; i < 2; i++) t.equal((await look(1))[2], undefined)
  t.equal((await look(1))[2], 'shorter', 'five looks, and 6 s')
})

test('a log that does not exist is lost if this node has read some of it, and a silent one is not', async (t) => {
  const missing = new MissingStreamError('log', { cause: undefined })
  const lossAfter = async (seq: number, error: Error) => {
    let now = 1_000
    const last = () => Promise.reject(error)
    const freshness = new Freshness({ last, read: () => ({ seq, lsn: seq }), lsnApplied: () => seq, nowMs: () => now })
    for (let i = 0; i < 10; i++) {
      now += 1_000
      await freshness.look()
    }
    return freshness.loss
  }
  t.equal(await lossAfter(9, missing), 'missing')
  t.equal(await lossAfter(0, missing), undefined)
  t.equal(await lossAfter(9, new StoreUnavailable('it does not answer')), undefined)
})

test('neither JSON nor shared memory makes a number of it', (t) => {
  const status = statusOf({ node: 'a', role: 'bootstrapping', failovers: 0, reason: undefined }, undefined)
  t.equal(status.stalenessMs, Number.POSITIVE_INFINITY)
  const view = { status: () => status, nodes: () => [] } as never
  t.notOk('staleness_ms' in clusterJson(view))
  const shared = new SharedFreshness(() => performance.timeOrigin + performance.now())
  const reader = new SharedFreshness(() => performance.timeOrigin + performance.now(), shared.memory)
  shared.publish({ lag: 3, stalenessMs: status.stalenessMs, isServing: true })
  t.strictSame(reader.read(), { lag: 3, stalenessMs: Number.POSITIVE_INFINITY, isServing: true })
  shared.publish({ lag: 0, stalenessMs: 20, isServing: true })
  t.ok(reader.read().stalenessMs < 60_000)
  t.end()
})
