// Log and time: events are drawn and described, the slider selects any time, and deleted data can be restored.
import { test } from 'tap'
import { browserFor, openPage, skip } from './browser.ts'
import { makeArticles } from './fixture.ts'
import { callServer, realServer } from './real-server.ts'
import { paintedColors, submit } from './steps.ts'

interface LogReply {
  readonly events: readonly { readonly lsn: number; readonly type: string }[]
}

test('the slider and the keyboard select a time, and a deleted collection is restored to it', {
  skip,
  timeout: 120_000,
}, async (t) => {
  const address = await realServer(t)
  await makeArticles(address, 40)
  await callServer(address, 'DELETE', '/api/v2/collection/articles/objects/article-7')
  await callServer(address, 'DELETE', '/api/v2/collection/articles')
  const { events } = (await callServer(address, 'GET', '/api/v2/log/events')) as LogReply
  const seen = await openPage(await browserFor(t), address)
  await seen.go('#/log')
  await seen.sees('collection deleted')
  await seen.sees('40 objects written')
  await seen.sees('Any time from the first record can be restored.')
  await seen.sees('NDD_ARCHIVE_HOURS=24')
  await seen.click('Events')
  await seen.click('Bytes')
  await seen.click('Objects')
  const bars = await seen.page.waitForSelector('[role=img][aria-label^="Activity from"]')
  t.match(await bars!.evaluate((plot) => plot.ariaLabel), /40 written, 0 filters updated, 1 deleted$/)
  // The chart is loaded after the rest of the page.
  await seen.page.waitForSelector('canvas')
  t.ok((await paintedColors(seen)).length >= 2, 'bars of written and of deleted objects')

  const slider = (await seen.page.waitForSelector('input[type=range]'))!
  await slider.focus()
  await seen.page.keyboard.press('Home')
  await seen.sees(`As of LSN ${events[0]?.lsn}`)
  await seen.sees('collection created with embedding, text, passages')
  const written = events.find(({ type }) => type === 'objects-upserted')!
  await seen.fill('LSN', String(written.lsn))
  await seen.sees(`As of LSN ${written.lsn}`)
  await seen.sees('and 30 more')
  await seen.picture('log-event')

  await seen.click('Restore to here…')
  await seen.sees('New collection name')
  await seen.picture('log-restore')
  t.strictSame(await seen.barriers(), [])
  await submit(seen, { 'New collection name': 'articles_back' }, 'Restore', 'Restored as articles_back.')
  t.match(await callServer(address, 'GET', '/api/v2/collection/articles_back'), { total_elements: 40 })

  await seen.go('#/log?collection=articles_back')
  await seen.sees('collection restored')
  await seen.click('Time')
  await seen.page.waitForSelector('input[type=range][aria-label="Time"]')
  t.strictSame(await seen.barriers(), [])
  await seen.picture('log-time')
  t.strictSame(seen.faults, [])
})
