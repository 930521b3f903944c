// How fresh a node says it is: nothing is claimed before it first has everything.
import { test } from 'tap'
import { Freshness } from '../../src/cluster/freshness.ts'
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
    return [freshness.stalenessMs, freshness.silenceMs, freshness.isLogShorter]
  }
  t.strictSame(await look(0), [0, 0, false])
  last = 8
  for (let i = 1; i <= 8; i++) t.strictSame(await look(500), [i * 500, i * 500, false], 'one server may be behind')
  last = 9
  t.strictSame(await look(500), [0, 0, false])
  last = 8
  t.strictSame(await look(500), [500, 500, false])
  t.strictSame(await look(6_000), [6_500, 6_500, false], 'two looks')
  for (let i = 0; i < 2; i++) t.equal((await look(1))[2], false)
  t.equal((await look(1))[2], true, 'five looks, and 6 s')
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
