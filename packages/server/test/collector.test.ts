import { mock } from 'node:test'
import { getHeapSpaceStatistics } from 'node:v8'
import { test } from 'tap'
import { Collector, collectGarbage } from '../src/collector.ts'

const mebibyte = 1_048_576

test('garbage is collected once, five seconds after the last body of a load', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  let collections = 0
  const collector = new Collector(() => {
    collections++
  })
  for (let i = 0; i < 31; i++) collector.received(mebibyte)
  mock.timers.tick(60_000)
  t.equal(collections, 0, 'a few bodies are no load')
  for (let i = 0; i < 20; i++) {
    collector.received(mebibyte)
    mock.timers.tick(4_999)
  }
  t.equal(collections, 0, 'the load continues')
  mock.timers.tick(1)
  t.equal(collections, 1)
  mock.timers.tick(60_000)
  t.equal(collections, 1)
  collector.received(40 * mebibyte)
  collector.stop()
  mock.timers.tick(60_000)
  t.equal(collections, 1, 'a server that stops collects nothing')
})

test('a collection makes the young generation as small as it can be', async (t) => {
  const bytes = () => getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')?.space_size ?? 0
  let kept: unknown[] = []
  while (bytes() < 16 * mebibyte)
    kept = kept.length > 300_000 ? [] : [...kept.slice(-1_000), ...Array.from({ length: 50_000 }, () => [{}])]
  collectGarbage()
  t.ok(bytes() <= 4 * mebibyte, `${bytes()} bytes`)
  t.ok(kept.length > 0)
})
