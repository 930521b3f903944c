// Stored texts with controls of direction, on every page that shows them: each is isolated, and what stands next to it keeps its place.
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { nextText, reordered } from './directions.ts'
import { callServer, realServer } from './real-server.ts'

test('stored texts of any direction leave the rest of each page in order', { skip, timeout: 240_000 }, async (t) => {
  const address = await realServer(t, { NDD_ARCHIVE_HOURS: '1' })
  await callServer(address, 'POST', '/api/v2/collection', {
    name: 'mixed',
    fields: [
      { name: 'v', type: 'vector', params: { dimension: 4, space_type: 'l2', precision: 'float32' } },
      { name: 'body', type: 'text', params: { language: 'english' } },
    ],
  })
  const [key, value] = [nextText(), nextText()]
  const objects = Array.from({ length: 12 }, (_, i) => ({
    id: nextText(),
    meta: { [nextText()]: nextText(), after: i },
    filter: { [key]: i % 2 === 0 ? value : nextText(), number: i },
    fields: { v: [i, 1, 2, 3], body: `${nextText()} sea` },
  }))
  await callServer(address, 'POST', '/api/v2/collection/mixed/objects', { objects })
  const [first, second] = [objects[0]!, objects[1]!]
  await callServer(address, 'POST', '/api/v2/collection/mixed/filters', {
    updates: [{ id: first.id, filter: { [key]: nextText() } }],
  })
  const browser = await browserFor(t)
  const seen = await openPage(browser, address, { width: 1_440, expectedStatus: 404 })
  const shows = async (page: string, places: number) => {
    const { faults, shown } = await reordered(seen)
    t.strictSame(faults, [], page)
    t.ok(shown >= places, `${page} shows stored texts: ${shown}`)
  }
  const idOf = ({ id }: { readonly id: string }) => encodeURIComponent(id)

  await seen.go('#/collections/mixed/objects')
  await seen.page.waitForSelector('.objects td')
  await shows('objects', 60)
  await seen.click('Condition')
  await seen.fill('Key', key)
  await seen.fill('Value', value)
  await seen.sees('5 matching objects')
  await shows('filter', 20)
  await seen.click('Undo matching…')
  await seen.sees('All of it is one write')
  await shows('undo', 20)
  await seen.picture('directions-objects')
  await seen.click('Cancel')

  await seen.go(`#/collections/mixed/objects?id=${idOf(first)}&view=history`)
  await seen.sees('Compare two versions')
  await shows('history', 8)
  await seen.go(`#/collections/mixed/objects?id=${idOf(second)}`)
  await seen.sees('Save changes')
  await shows('object', 1)

  await seen.go(`#/collections/mixed/search?near=${idOf(first)}`)
  await seen.sees('10 hits')
  await shows('hits', 40)
  await seen.tick('body')
  await seen.click('Words')
  await seen.fill('Words to find', 'sea')
  await seen.click('Search')
  await seen.sees('Fused')
  await seen.page.waitForSelector('.hits mark')
  await shows('highlights', 40)
  await seen.picture('directions-hits')

  await seen.go(`#/collections/mixed/map?walk=${idOf(first)}`)
  await seen.sees('is linked to')
  await seen.sees('Drawn')
  await seen.select('Color by', key)
  await seen.page.waitForSelector('.map-legend li')
  await shows('map', 12)
  await seen.picture('directions-map')

  await seen.go('#/log')
  await seen.sees('12 objects written')
  await shows('log', 1)
  await seen.go('#/changes')
  await seen.fill('From LSN', '1')
  await seen.click('Follow from here')
  await seen.sees('12 objects written')
  await shows('changes', 3)
  await fetch(`${address}/api/v2/collection/mixed/objects/${idOf(first)}/field/v/links`)
  await seen.go('#/operations')
  await seen.sees('/field/v/links')
  await shows('operations', 1)
  await seen.go(`#/${idOf(first)}`)
  await seen.sees('Page not found')
  t.strictSame((await reordered(seen)).faults, [], 'title')
  t.strictSame(seen.faults, [])
})
