// A window forgets what is older than it may be, and never what a read that runs needs.
import { test } from 'tap'
import { EarlierRecords } from '../../src/replica/earlier-records.ts'
import { Pins } from '../../src/replica/pins.ts'
import { type VersionPlace, VersionWindow, type WindowedParts } from '../../src/replica/version-window.ts'

function windowed() {
  const pins = new Pins()
  const earlierRecords = new EarlierRecords()
  const objects = {
    metaCopy: () => new Uint8Array(8),
    filterText: () => '{}',
    idAt: (ordinal: number) => `o${ordinal}`,
    lsnAt: () => 1,
    sparse: () => [],
    textBytesAt: () => 10,
    recordBytesAt: () => 22,
  }
  const parts = { objects, dense: [], originals: [], earlierRecords, pins } as unknown as WindowedParts
  let nowMs = 0
  const window = new VersionWindow(parts)
  window.open(place(0), { ageMsMax: 1_000, now: () => nowMs, onGrown: () => undefined })
  return { window, earlierRecords, pins, wait: (ms: number) => (nowMs += ms) }
}

function place(version: number): VersionPlace {
  const definition = { name: 'a', fields: [] }
  return { version, lsn: 10 + version * 2, count: 1, rows: [], end: 100, definition }
}

test('records lead to versions, as far back as the window reaches', (t) => {
  const { window, wait } = windowed()
  for (let version = 1; version <= 5; version++) {
    wait(300)
    window.note(place(version))
  }
  t.equal(window.placeAt(20)?.version, 5)
  t.equal(window.placeAt(19)?.version, 4)
  t.equal(window.placeAt(12)?.version, 1, 'the last one before the age is the state at that time')
  t.equal(window.placeAt(11), undefined)
  wait(5_000)
  window.prune()
  t.equal(window.placeAt(18), undefined)
  t.equal(window.placeAt(1_000)?.version, 5)
  t.end()
})

test('removed objects are seen from their birth to before their death', async (t) => {
  const { window, wait } = windowed()
  window.died(7, 1)
  window.note(place(1))
  window.took(Uint32Array.of(7, 8), 8, 2)
  window.note(place(2))
  window.died(7, 3)
  window.note(place(3))
  const at = (version: number) =>
    window.removedAt({ version, end: 8 }).map(({ ordinal, birth, death }) => [ordinal, birth, death])
  t.same(at(0), [[7, 0, 1]])
  t.same(at(1), [])
  t.same(at(2), [[7, 2, 3]])
  t.notOk(window.wasThere(7, { version: 1, end: 8 }))
  t.ok(window.wasThere(7, { version: 2, end: 8 }))
  t.notOk(window.wasThere(8, { version: 1, end: 8 }))
  await window.release([7])
  t.equal(window.removedAt({ version: 2, end: 8 })[0]?.held?.id, 'o7')
  t.ok(window.bytes > 0)
  const leave = window.enter()
  wait(5_000)
  window.prune()
  t.equal(window.placeAt(15), undefined, 'new reads do not reach it')
  t.same(at(2), [[7, 2, 3]], 'a read that runs has what it needs')
  leave()
  await window.idle()
  await new Promise(setImmediate)
  t.same(at(2), [])
})

test('more removed objects than are kept end the window before them', (t) => {
  const { window } = windowed()
  for (let version = 1; version <= 3; version++) {
    for (let i = 0; i < 4_000; i++) window.died(i, version)
    window.note(place(version))
  }
  t.equal(window.placeAt(10), undefined)
  t.equal(window.placeAt(12)?.version, 1)
  for (let i = 0; i < 20_000; i++) window.died(i, 4)
  window.note(place(4))
  t.equal(window.placeAt(16), undefined)
  t.equal(window.placeAt(18)?.version, 4)
  window.close()
  t.equal(window.placeAt(18), undefined)
  t.equal(window.bytes, 0)
  t.end()
})

test('earlier texts stay as long as the window or a search needs them', async (t) => {
  const { window, earlierRecords, pins, wait } = windowed()
  const record = { filter: '{"n":1}', lsn: 1, meta: undefined }
  const release = pins.pin(0)
  earlierRecords.keep({ version: 1, records: new Map([[3, record]]) })(pins)
  window.replaced(1, 1, 14)
  window.note(place(1))
  release()
  await new Promise(setImmediate)
  t.equal(earlierRecords.recordAt(3, 0), record)
  wait(500)
  window.note(place(2))
  wait(5_000)
  window.prune()
  await new Promise(setImmediate)
  t.equal(earlierRecords.recordAt(3, 0), undefined)
})
