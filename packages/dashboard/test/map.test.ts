// The map: drawn in a worker under the strict policy, zoomed, and objects selected with a lasso.
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { makeArticles } from './fixture.ts'
import { callServer, realServer } from './real-server.ts'

test('a map is drawn when the page opens, zoomed and selected with a lasso, and a point leads to its neighbors', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t)
  await makeArticles(address)
  const seen = await openPage(await browserFor(t), address)
  await seen.go('#/collections/articles/map')
  await seen.sees('Drawn')
  await seen.sees('300 objects')
  t.equal(await seen.valueOf('Color by'), 'color')
  await seen.select('Color by', 'color')
  await seen.sees('green')
  await seen.picture('map')
  await seen.page.waitForSelector('canvas')
  const colors = await seen.page.$eval('canvas', (canvas) => {
    const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height)
    const found = new Set<string>()
    for (let i = 0; i < data.length; i += 4)
      if (data[i + 3]! > 200) found.add(`${data[i]},${data[i + 1]},${data[i + 2]}`)
    return found.size
  })
  t.ok(colors >= 3, 'points of three colors')

  await seen.click('Zoom in')
  await seen.click('All')
  await seen.click('Lasso')
  const box = await (await seen.page.waitForSelector('canvas'))!.boundingBox()
  const corners = [
    [2, 2],
    [box!.width - 2, 2],
    [box!.width - 2, box!.height - 2],
    [2, box!.height - 2],
  ] as const
  const { mouse } = seen.page
  await mouse.move(box!.x + corners[0][0], box!.y + corners[0][1])
  await mouse.down()
  for (const [x, y] of corners) await mouse.move(box!.x + x, box!.y + y, { steps: 4 })
  await mouse.up()
  await seen.sees('300 within the lasso')
  await seen.picture('map-lasso')

  await seen.fill('From object', 'article-3')
  await seen.click('Start')
  await seen.sees('is linked to')

  // The tab of the objects has the same name.
  await seen.fillAt('::-p-aria([name="Objects"][role="spinbutton"])', '150')
  await seen.click('Draw')
  await seen.sees('150 objects, a random sample of 300')
  await seen.page.waitForFunction(() => /Drawn/.test(document.querySelector('.shown-first')?.textContent ?? ''))
  const counts = await seen.page.$$eval('.map-legend .muted', (found) =>
    found.map(({ textContent }) => Number(textContent)),
  )
  t.equal(
    counts.reduce((sum, count) => sum + count, 0),
    150,
  )
  const last = await seen.page.$$eval('.map-legend li', (found) => found.length)
  t.equal(last, 3)
  // The first 150 objects would have 50 of each of the three colors.
  t.notSame(counts, [50, 50, 50], 'not the first objects')
  await seen.click('Edit as JSON')
  await seen.fill('Filter as JSON', '[{"color":{"$eq":"none"}}]')
  await seen.click('Draw')
  await seen.sees('No object matches the filter.')
  t.strictSame(seen.faults, [])
})

test('clusters of objects with texts are labeled with their words', { skip, timeout: 120_000 }, async (t) => {
  const address = await realServer(t)
  await callServer(address, 'POST', '/api/v2/collection', {
    name: 'subjects',
    fields: [
      { name: 'meaning', type: 'vector', params: { dimension: 3, space_type: 'cosine', precision: 'float32' } },
      { name: 'text', type: 'text', params: { language: 'english' } },
    ],
  })
  const objects = Array.from({ length: 60 }, (_, i) => ({
    id: `o${i}`,
    fields:
      i % 2 === 0
        ? { meaning: [1, Math.sin(i) / 10, 0], text: `Whales of the ocean, number ${i}.` }
        : { meaning: [Math.cos(i) / 10, 0, 1], text: `Trains with an engine, number ${i}.` },
  }))
  await callServer(address, 'POST', '/api/v2/collection/subjects/objects', { objects })
  const seen = await openPage(await browserFor(t), address)
  await seen.go('#/collections/subjects/map')
  // The map draws itself by neighborhood, in which the subjects may be one cluster.
  await seen.sees('Drawn')
  await seen.click('By spread (PCA)')
  await seen.click('Draw')
  await seen.page.waitForFunction(() => {
    const labels = [...document.querySelectorAll('.cluster-labels li')].map(({ textContent }) => textContent ?? '')
    const isOnly = (one: RegExp, other: RegExp) => labels.some((label) => one.test(label) && !other.test(label))
    return isOnly(/whales/, /trains/) && isOnly(/trains/, /whales/)
  })
  await seen.picture('map-labels')
  t.strictSame(await seen.barriers(), [])
  t.strictSame(seen.faults, [])
})
